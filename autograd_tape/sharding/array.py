"""Sharded arrays: what tensors on a mesh have as their buffer.

A `ShardedArray` has shape, dtype and strides of the whole, and the parts of the devices that this process holds. It is no NumPy array, so
that nothing takes it for one: what NumPy cannot be told to do with it is an error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..annotations import Fn
from ..dtypes import Kind, dtype_of, kind
from ..errors import AutogradError
from ..executors.meta import meta_array
from ..modes import active_tapes
from ..strided import dense_strides, empty_strided, storage_offset
from ..tensor import BUFFERS, next_id
from .chain import Step, chain
from .mesh import Mesh, Sharding, replicated


class Collective(NamedTuple):
    """A collective that was carried out.

    Attributes:
        kind: its name: "all_reduce", ...
        axes: the axes of the mesh it went over.
        bytes: what each device sent.
        shape: of the whole tensor.
        cause: the operation that needed it.
    """

    kind: str
    axes: tuple[str, ...]
    bytes: float
    shape: tuple[int, ...]
    cause: str


class Carried(NamedTuple):
    """An operation that was carried out on sharded arrays.

    Attributes:
        operation: its name.
        outputs: (shape, dtype's name, sharding) of each result that is an array; sums that wait are made later, if somebody needs them.
        cause: "gradient of ..." where it is part of one, else its name.
    """

    operation: str
    outputs: tuple[tuple[tuple[int, ...], str, Sharding | None], ...]
    cause: str


class _Thread(threading.local):
    listeners: tuple[Callable[[Any], Any], ...] = ()
    watchers: tuple[Callable[[Carried], Any], ...] = ()
    causes: tuple[str, ...] = ()
    inside = 0


_thread = _Thread()


@contextmanager
def collectives(listener: Callable[[Collective], Any] | None = None) -> Iterator[list[Collective]]:
    """Inside, the collectives of this thread are noted in the list that it gives, and told to `listener`.

    >>> from autograd_tape.sharding import Mesh, gather, shard
    >>> import numpy as np
    >>> with collectives() as found:
    ...     x = gather(shard(np.zeros((4, 4)), Mesh({"data": 2}), ("data", None)))
    >>> [(c.kind, c.axes, c.bytes) for c in found]
    [('all_gather', ('data',), 64.0)]
    """
    found: list[Collective] = []
    before = _thread.listeners
    _thread.listeners = (*before, found.append) if listener is None else (*before, found.append, listener)
    try:
        yield found
    finally:
        _thread.listeners = before


@contextmanager
def cause(name: str) -> Iterator[None]:
    """Inside, collectives are said to be needed by this operation, unless one around it says so."""
    before = _thread.causes
    _thread.causes = (*before, name)
    try:
        yield
    finally:
        _thread.causes = before


@contextmanager
def watched(watcher: Callable[[Any], Any]) -> Iterator[None]:
    """Inside, `watcher` is told of each collective of this thread and then of the operation that it was made for, a `Carried`; operations
    that one is made of are part of it."""
    before = _thread.watchers
    _thread.watchers = (*before, watcher)
    try:
        with collectives(watcher):
            yield
    finally:
        _thread.watchers = before


@contextmanager
def operation(name: str) -> Iterator[Callable[[Any], Any]]:
    """Inside, this is the cause of collectives. What it gives is called with the results, and returns them."""
    _thread.inside += 1
    try:
        with cause(name):
            yield lambda results: _told(name, results) if _thread.watchers and _thread.inside == 1 else results
    finally:
        _thread.inside -= 1


def _told(name: str, results: ShardedArray) -> ShardedArray:
    arrays = [r for r in (results if isinstance(results, (tuple, list)) else [results]) if isinstance(r, (np.ndarray, ShardedArray))]
    made = Carried(name, tuple([(tuple(a.shape), str(a.dtype), getattr(a, "sharding", None)) for a in arrays]), _thread.causes[0])
    for watcher in _thread.watchers:
        watcher(made)
    return results


def note(kind: str, axes: tuple[str, ...], size: float, shape: tuple[int, ...]) -> None:
    """Tells those who listen of a collective, and tapes that record."""
    tapes = active_tapes()
    if _thread.listeners or tapes:
        made = Collective(kind, axes, size, shape, _thread.causes[0] if _thread.causes else "")
        for listener in _thread.listeners:
            listener(made)
        for tape in tapes:
            tape.held.collectives.append((next_id(), made))


class ShardedArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array over a mesh.

    Attributes:
        geometry: an array without data that has shape, dtype and strides of the whole.
        sharding: how it lies.
        shared: whether it is a view of another, or has been viewed.
        origin: (array, function) where it is to be a view, but could not share memory, as its elements lie on other devices: the function
            gives the view of that array in one place. It is read anew from there after writes, and written there.
        writes: how often the memory of `root` was written to, by it or by views.
    """

    F: Any
    """The operations on sharded arrays; from the executor."""
    ufuncs: dict[np.ufunc, str] = {}
    """The names of those that NumPy's ufuncs stand for."""

    __slots__ = ("geometry", "sharding", "shared", "origin", "writes", "_root", "_parts", "_read", "__weakref__")
    __array_priority__ = 2000

    geometry: np.ndarray
    sharding: Sharding
    shared: bool
    origin: tuple[ShardedArray, Callable[[np.ndarray], np.ndarray]] | None
    writes: int

    def __init__(self, geometry: np.ndarray, parts: Sequence[np.ndarray], sharding: Sharding) -> None:
        self.geometry, self.sharding, self.shared, self.origin, self.writes = geometry, sharding, False, None, 0
        self._root: ShardedArray | None = None
        self.parts = list(parts)

    @property
    def root(self) -> ShardedArray:
        """What it is a view of, itself where it is none."""
        return self if self._root is None else self._root

    @property
    def parts(self) -> list[np.ndarray]:
        """The parts of the devices held here, in the order of `mesh.carrier.held(mesh)`; replicas may be one array."""
        if self.origin is not None and self._read != self.root.writes:
            base, view = self.origin
            self.parts = sharded(view(in_place(base)), self.sharding).parts
        return self._parts

    @parts.setter
    def parts(self, parts: list[np.ndarray]) -> None:
        self._parts = parts
        self._read = self.root.writes

    def look_at(self, source: ShardedArray, origin: Callable[[np.ndarray], np.ndarray] | None) -> None:
        """Makes it a view of another, through a function where it shares no memory with that."""
        self._root, self.shared, source.shared = source.root, True, True
        self.origin, self._read = None if origin is None else (source, origin), source.root.writes if self._parts else -1

    def beside(self, array: np.ndarray) -> ShardedArray:
        """An array over its mesh: lying as it does where it has its shape, else whole on every device."""
        return sharded(array, self.sharding.summed if array.shape == self.shape else replicated(self.mesh, array.ndim))

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the whole."""
        return self.geometry.shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype."""
        return self.geometry.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in bytes of the whole."""
        return self.geometry.strides

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.geometry.ndim

    @property
    def size(self) -> int:
        """The number of elements of the whole."""
        return self.geometry.size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.geometry.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the whole."""
        return self.geometry.nbytes

    @property
    def flags(self) -> Any:
        """Those of the geometry."""
        return self.geometry.flags

    @property
    def base(self) -> Any:
        """The memory that stands for that of the whole: views have that of what they are views of."""
        return self.geometry.base

    @property
    def mesh(self) -> Mesh:
        """The mesh."""
        return self.sharding.mesh

    @property
    def kind(self) -> Kind:
        """The kind of tensors over it."""
        return kind(dtype_of(self.geometry), self.mesh.device)

    def __repr__(self) -> str:
        return f"ShardedArray(shape={self.shape}, dtype={self.dtype}, {self.sharding})"

    def shown(self) -> tuple[np.ndarray | None, list[str]]:
        """(the elements that a text of it shows, words that say where they lie): those of the whole where this process holds all parts,
        otherwise those of its own part, None where parts have none. Nothing is moved for it."""
        held, place = self.mesh.carrier.held(self.mesh), [f"sharding={self.sharding}"]
        if self.mesh.carrier.empty:
            return None, place
        if len(held) < self.mesh.size:
            return self.parts[0], [f"part={held[0]}", f"shape={self.shape}", *place]
        whole = np.zeros(self.shape, self.dtype)
        replicas = [a for a in self.mesh.names if a not in self.sharding.split and a not in self.sharding.partial_sum_axes]
        for device, part in zip(held, self.parts):
            at = self.mesh.coordinates(device)
            if not any([at[a] for a in replicas]):
                first = not any([at[a] for a in self.sharding.partial_sum_axes])
                inside = self.sharding.bounds(self.shape, device)
                whole[inside] = part if first else whole[inside] + part
        return whole, place

    def __array__(self, *args: object, **kwargs: object) -> np.ndarray:
        raise TypeError(f"a sharded array of shape {self.shape} is not in one place: gather() it first")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        """What compositions write as operators, by the rules of operations; and sums of gradients."""
        plain = method == "__call__" and not kwargs.keys() - {"casting"}
        if out is None and plain and ufunc in self.ufuncs:
            return getattr(self.F, self.ufuncs[ufunc])(*inputs)
        if ufunc is not np.add or not plain or out != (inputs[0],) or not isinstance(inputs[0], ShardedArray):
            raise TypeError(f"numpy.{ufunc.__name__} does not know sharded arrays: use the operation of the same name on tensors")
        a, b = inputs
        if a.origin is not None:
            return store(a, a + b)
        for x, y in alike(a.parts, placed(b, a.sharding).parts):
            np.add(x, y, out=x, **kwargs)
        a.root.writes += 1
        return a

    def __array_function__(self, function: Any, types: Sequence[type], args: tuple[ShardedArray | np.ndarray, ...], kwargs: Any) -> Any:
        if function is np.copyto:
            target, source = args
            return store(target, source) if isinstance(target, ShardedArray) else np.copyto(target, gathered(source), **kwargs)
        if function in (np.may_share_memory, np.shares_memory):
            return function(*[a.geometry if isinstance(a, ShardedArray) else a for a in args])  # views are over their root's memory
        if function is np.allclose:
            return np.allclose(*[gathered(a) if isinstance(a, ShardedArray) else a for a in args], **kwargs)
        if function in (np.shape, np.ndim, np.size):
            return function(self.geometry, *args[1:], **kwargs)
        raise TypeError(f"numpy.{function.__name__} does not know sharded arrays: use the operation of the same name on tensors")

    def __setitem__(self, key: object, value: Any) -> None:
        if key is not ...:
            raise TypeError("a sharded array is not in one place: gather() it first")
        store(self, value)

    def all(self) -> bool:
        """Whether all elements are true."""
        return bool(self.F.all(self))

    def any(self) -> bool:
        """Whether any element is true."""
        return bool(self.F.any(self))

    def min(self) -> Any:
        """The smallest element."""
        return self.F.min_all(self).item()

    def max(self) -> Any:
        """The largest element."""
        return self.F.max_all(self).item()

    def item(self) -> Any:
        """The only element, as a number."""
        return gathered(self).item()

    def tolist(self) -> Any:
        """The elements as numbers, in lists."""
        return gathered(self).tolist()

    def __bool__(self) -> bool:
        return bool(gathered(self))

    def __int__(self) -> int:
        return int(gathered(self))

    def __float__(self) -> float:
        return float(gathered(self))

    def __complex__(self) -> complex:
        return complex(gathered(self))

    def astype(self, dtype: np.dtype | type, copy: bool = True, **kwargs: Any) -> ShardedArray:
        """With another dtype."""
        if not copy and self.dtype == dtype:
            return self
        return like(self, mapped(lambda p: p.astype(dtype, **kwargs), self.parts))

    def copy(self, order: str = "C") -> ShardedArray:
        """With parts of its own."""
        return like(self, mapped(lambda p: p.copy(order), self.parts))

    def view(self) -> ShardedArray:
        """The same parts, once more."""
        made = ShardedArray(self.geometry, self.parts, self.sharding)
        made.look_at(self, None if self.origin is None else lambda array: array)
        return made

    def __deepcopy__(self, memo: object) -> ShardedArray:
        return self.copy("K")

    @property
    def offset(self) -> int:
        """Where the first element lies in the storage that the geometry stands for, in elements."""
        return storage_offset(self.geometry)

    def zeros(self) -> ShardedArray:
        """Zeros that lie as it does, none of them parts of sums."""
        return ShardedArray(self.geometry, mapped(np.zeros_like, self.parts), self.sharding.summed)

    def whole(self) -> np.ndarray:
        """The elements in one array: a collective."""
        return gathered(self)


BUFFERS.add(ShardedArray)


def mapped(function: Fn, *parts: Sequence[Any]) -> list[Any]:
    """`function` of the parts of each device; once for devices whose parts are the same arrays."""
    known: dict[tuple[int, ...], Any] = {}
    made = []
    for each in zip(*parts):
        key = tuple([id(p) for p in each])
        if key not in known:
            known[key] = function(*each)
        made.append(known[key])
    return made


def alike(targets: Sequence[np.ndarray], sources: Sequence[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of parts, one for each target that is an array of its own."""
    return list({id(t): (t, s) for t, s in zip(targets, sources)}.values())


def geometry(shape: tuple[int, ...], dtype: np.dtype, part: np.ndarray | None = None) -> np.ndarray:
    """That of a whole with this shape, its dimensions in memory in the order that they have in a part."""
    if part is None or part.flags.c_contiguous or part.ndim != len(shape):
        return meta_array(shape, dtype)
    steps = dense_strides(shape, [s // part.itemsize for s in part.strides])
    return meta_array(shape, dtype, tuple([s * dtype.itemsize for s in steps]))


def in_order(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """A part with its dimensions in memory in the order that they have in the whole: itself, or a copy."""
    if part.ndim < 2 or part.flags.c_contiguous and whole.flags.c_contiguous:
        return part
    strides = dense_strides(part.shape, [s // whole.itemsize for s in whole.strides])
    if all([n < 2 or s * part.itemsize == have for n, s, have in zip(part.shape, strides, part.strides)]):
        return part
    made = empty_strided(part.shape, strides, part.dtype)
    np.copyto(made, part)
    return made


def like(model: ShardedArray, parts: Sequence[np.ndarray]) -> ShardedArray:
    """Parts that lie as those of another array do."""
    return ShardedArray(geometry(model.shape, parts[0].dtype, parts[0]), parts, model.sharding)


def sharded(array: np.ndarray, sharding: Sharding) -> ShardedArray:
    """An array that this process has whole, cut: devices hold copies. Of partial sums the first device of an axis has it, others zeros."""
    array = np.asarray(array)
    sharding.check(array.shape)
    mesh, known, parts = sharding.mesh, {}, []
    mesh.carrier.agree(mesh, array, f"the array for {_thread.causes[0] if _thread.causes else 'shard'}")
    for device in mesh.carrier.held(mesh):
        bounds = sharding.bounds(array.shape, device)
        at = mesh.coordinates(device)
        empty = any([at[a] for a in sharding.partial_sum_axes])
        key = (empty, *[(b.start, b.stop) for b in bounds])
        if key not in known:
            known[key] = np.zeros_like(array[bounds]) if empty else mesh.carrier.part(array[bounds])
        parts.append(known[key])
    return ShardedArray(geometry(array.shape, array.dtype, array), parts, sharding)


def placed(array: Any, goal: Sharding) -> ShardedArray:
    """An array sharded as `goal`: itself where it is, else by the cheapest chain of collectives."""
    if not isinstance(array, ShardedArray):
        return sharded(array, goal)
    if array.sharding == goal:
        return array
    goal.check(array.shape)
    if array.mesh is not goal.mesh:
        raise AutogradError(f"A tensor on {array.mesh} does not go to {goal.mesh} by itself", expected=repr(goal.mesh),
                            found=repr(array.mesh), remedy="gather() it, then shard() it")
    parts, at = array.parts, array.sharding
    for step in chain(at, goal, array.shape, array.itemsize):
        parts, at = _carried(step, parts, at, array.shape), step.sharding
        if step.kind not in ("slice", "part"):
            note(step.kind, step.axes, step.bytes, array.shape)
    whole = geometry(array.shape, array.dtype, array.geometry)
    parts = mapped(lambda part: in_order(part, whole), parts)
    if array.sharding.partial_sum_axes and goal == array.sharding.summed and not array.shared:
        array.parts, array.sharding = parts, goal  # the sum is made once, for whoever else needs it
        return array
    return ShardedArray(whole, parts, goal)


def summed(array: object) -> Any:
    """An array whose parts are no sums that wait."""
    return placed(array, array.sharding.summed) if isinstance(array, ShardedArray) else array


def _carried(step: Step, parts: list[np.ndarray], at: Sharding, shape: tuple[int, ...]) -> list[np.ndarray]:
    mesh = at.mesh
    carrier, held = mesh.carrier, mesh.carrier.held(mesh)
    if carrier.empty:
        return [carrier.part(meta_array(step.sharding.local_shape(shape, device), parts[0].dtype)) for device in held]
    if step.kind == "all_reduce":
        return carrier.all_reduce(mesh, parts, step.axes)
    if step.kind == "all_gather":
        return carrier.all_gather(mesh, parts, step.axes, step.dims[0])
    if step.kind == "reduce_scatter":
        return carrier.reduce_scatter(mesh, parts, step.axes, step.dims[0])
    if step.kind == "all_to_all":
        return carrier.all_to_all(mesh, parts, step.axes, *step.dims)
    if step.kind == "part":
        zero = [any([mesh.coordinates(d)[a] for a in step.axes]) for d in held]
        return [z if nothing else p for p, z, nothing in zip(mapped(np.copy, parts), mapped(np.zeros_like, parts), zero)]
    known: dict[Any, np.ndarray] = {}
    made = []
    for device, part in zip(held, parts):
        had, wanted = at.bounds(shape, device), step.sharding.bounds(shape, device)
        inside = tuple([slice(w.start - h.start, w.stop - h.start) for h, w in zip(had, wanted)])
        key = (id(part), *[(b.start, b.stop) for b in inside])
        if key not in known:
            known[key] = part[inside].copy()
        made.append(known[key])
    return made


def gathered(array: np.ndarray | ShardedArray) -> np.ndarray:
    """The whole array: a copy, or what it was where it is no sharded one."""
    if not isinstance(array, ShardedArray):
        return np.asarray(array)
    return placed(array, replicated(array.mesh, array.ndim)).parts[0].copy("K")


def in_place(array: ShardedArray) -> np.ndarray:
    """The whole in memory of its own, laid out as its geometry says."""
    whole = gathered(array)
    if whole.strides == array.strides:
        return whole
    made = empty_strided(whole.shape, [s // array.itemsize for s in array.strides], whole.dtype)
    np.copyto(made, whole)
    return made


def store(target: ShardedArray, source: Any) -> ShardedArray:
    """Writes elements into an array, which goes on to lie as it does."""
    if target.origin is not None:
        base, view = target.origin
        whole = in_place(base)
        np.copyto(view(whole), gathered(source), casting="unsafe")
        return store(base, whole)
    for x, y in alike(target.parts, placed(source, target.sharding).parts):
        np.copyto(x, y, casting="unsafe")
    target.root.writes += 1
    return target


__all__ = ["Carried", "Collective", "ShardedArray", "alike", "cause", "collectives", "gathered", "geometry", "in_order", "in_place", "like",
           "mapped", "note", "operation", "placed", "sharded", "store", "summed", "watched"]
