"""A carrier for looking ahead: device 0 of a mesh alone, whose parts have shapes and no elements.

Shards are cut so that the first device has the largest, so what it holds and computes is what a device needs at most. Nothing is computed
and nothing moved, so meshes may have any number of devices.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..annotations import Keywords
from ..errors import AutogradError
from ..executors import Executor
from ..executors.meta import MetaExecutor, meta_array
from ..held import root_of
from ..record import Record
from .carriers import Carrier, Parts, piece
from .mesh import Mesh
from .rules import parsed

LIMIT = 1 << 22
"""Elements up to which NumPy's functions that say nothing of shapes alone are tried on zeros."""


class Ledger:
    """What a device of a planned mesh holds and does, as long as `keeping` says so.

    Attributes:
        live, peak: bytes that are held now, and that were held at most.
        done: of each operation its multiplications and additions, and the bytes that it reads and writes.
    """

    def __init__(self) -> None:
        self.live = self.peak = 0
        self.done: list[tuple[float, float]] = []
        self._known: dict[int, weakref.ref[object]] = {}

    def holds(self, array: np.ndarray) -> None:
        """Memory is held until nobody has it any more; that of a view is its base's."""
        root, size = root_of(array), array.nbytes
        if id(root) not in self._known and size:
            self._known[id(root)] = weakref.ref(root, self._freed(id(root), size))
            self.live += size
            self.peak = max(self.peak, self.live)

    def _freed(self, key: int, size: int) -> Callable[[Any], None]:
        def freed(_: object) -> None:
            self.live -= size
            del self._known[key]

        return freed

    def computes(self, rec: Record, values: Keywords, results: Sequence[np.ndarray]) -> None:
        """An operation is carried out on parts."""
        if rec.family in ("view", "view?"):
            self.done.append((0.0, 0.0))
        else:
            size = sum([a.nbytes for v in [*values.values(), list(results)] for a in (v if isinstance(v, (list, tuple)) else [v])
                        if isinstance(a, np.ndarray)])
            self.done.append((flops(rec, values, results[0]), float(size)))

    @property
    def flops(self) -> float:
        """Multiplications and additions in all."""
        return sum([n for n, _ in self.done])

    def time(self, flops: float, bandwidth: float, call: float) -> float:
        """Seconds, of a device that does so many multiplications and additions, or reads and writes so many bytes, in a second, and takes
        `call` seconds for an operation of any size."""
        return sum([call + max(n / flops, size / bandwidth) for n, size in self.done])


class _Thread(threading.local):
    ledger: Ledger | None = None


_thread = _Thread()


@contextmanager
def keeping() -> Iterator[Ledger]:
    """Inside, what planned devices of this thread hold and do is written down."""
    before, _thread.ledger = _thread.ledger, Ledger()
    try:
        yield _thread.ledger
    finally:
        _thread.ledger = before


def flops(rec: Record, values: Keywords, result: np.ndarray) -> float:
    """How many multiplications and additions an operation takes: two for each term of a product, otherwise one for
    each element of the largest operand or result."""
    found = products(rec, values, result)
    if found is not None:
        return found
    return max([float(getattr(result, "size", 1)), *[float(v.size) for v in values.values() if isinstance(v, np.ndarray)]])


def products(rec: Record, values: Keywords, result: np.ndarray) -> float | None:
    """The same of an operation whose record tells it, or has a notation of a product; None of others."""
    told, lies = rec.field("flops"), rec.field("sharding")
    if callable(told):
        return float(told(result, **values))
    if told is not None:
        return 2.0 * float(getattr(result, "size", 1)) * values[told].shape[-1]
    if not isinstance(lies, str) or "," not in lies.partition("->")[0]:
        return None
    arrays = [v for p in rec.tensor_params if isinstance(v := values.get(p.name), np.ndarray)]
    sizes = {letter: n for a, letters in zip(arrays, parsed(lies, [a.ndim for a in arrays])[0])
             for n, letter in zip(a.shape, letters) if n != 1}
    return 2.0 * np.prod(list(sizes.values()), dtype=float)


def made(array: np.ndarray) -> Part:
    """An array of a part's geometry, as a part."""
    part = array.view(Part)
    if _thread.ledger is not None:
        _thread.ledger.holds(part)
    return part


def part(shape: Sequence[int], dtype: np.dtype) -> Part:
    """A part of this shape, without elements."""
    return made(meta_array(tuple(shape), dtype))


class Part(np.ndarray):
    """What a planned device has in place of an array: shape, dtype and strides. What is computed of it are parts again."""

    def copy(self, order: object = "C") -> Part:
        """Another one."""
        return part(self.shape, self.dtype)

    def astype(self, dtype: np.dtype, *args: object, copy: bool = True, **kwargs: object) -> Part:  # type: ignore[override]
        """With another dtype."""
        return self if not copy and self.dtype == dtype else part(self.shape, np.dtype(dtype))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is not None:
            return out[0] if len(out) == 1 else out
        if method != "__call__" or ufunc.signature is not None:
            return _tried(getattr(ufunc, method), inputs, kwargs)
        kwargs.pop("where", None)
        ones = [np.ones((1,) * x.ndim, x.dtype) if isinstance(x, np.ndarray) else x for x in inputs]
        shape = np.broadcast_shapes(*[np.shape(x) for x in inputs])
        found = ufunc(*ones, **kwargs)
        return tuple([part(shape, f.dtype) for f in found]) if isinstance(found, tuple) else part(shape, found.dtype)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.copyto:
            return None
        if function in (np.zeros_like, np.ones_like, np.empty_like):
            return part(self.shape, np.dtype(kwargs.get("dtype") or self.dtype))
        return _tried(function, args, kwargs)


def _tried(function: Callable[..., Any], args: Sequence[object], kwargs: dict[str, Any]) -> Any:
    """What NumPy makes of zeros."""
    def plain(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)([plain(x) for x in value])
        if isinstance(value, Part):
            if value.size > LIMIT and function not in (np.may_share_memory, np.shape, np.ndim, np.size, np.broadcast_to, np.transpose):
                raise AutogradError(f"numpy.{function.__name__} of a planned array of {value.size} elements would compute it",
                                    expected="operations of autograd_tape", found=f"numpy.{function.__name__}",
                                    remedy="use the operation of the same name on tensors")
            return value.view(np.ndarray)
        return value

    found = function(*plain(tuple(args)), **{k: plain(v) for k, v in kwargs.items()})
    return made(found) if isinstance(found, np.ndarray) else found


class PlannedExecutor(MetaExecutor):
    """The meta executor, on parts, and what it would have to do is written down."""

    def run(self, rec: Record, arrays: dict[str, Any]) -> Any:
        """See `Executor`."""
        given = {name: [_bare(x) for x in v] if isinstance(v, list) else _bare(v) for name, v in arrays.items()}
        found = super().run(rec, given)
        several = found if isinstance(found, (tuple, list)) else (found,)
        if _thread.ledger is not None:
            _thread.ledger.computes(rec, given, several)
        results = [made(np.asarray(r)) if isinstance(r, (np.ndarray, np.generic)) else r for r in several]
        return type(found)(results) if isinstance(found, (tuple, list)) else results[0]


def _bare(value: object) -> Any:
    return value.view(np.ndarray) if isinstance(value, Part) else value


EXECUTOR = PlannedExecutor()


class Planned(Carrier):
    """Device 0 of any mesh."""

    name, empty = "planned", True

    def executor(self) -> Executor:
        """One that computes no elements."""
        return EXECUTOR

    def part(self, array: np.ndarray) -> np.ndarray:
        """See `Carrier`."""
        return part(array.shape, array.dtype)

    def held(self, mesh: Mesh) -> Sequence[int]:
        """The first device."""
        return (0,)

    def all_reduce(self, mesh: Mesh, parts: Parts, axes: Sequence[str], operation: str = "add") -> Parts:
        """See `Carrier`."""
        return [parts[0].copy()]

    def all_gather(self, mesh: Mesh, parts: Parts, axes: Sequence[str], dim: int) -> Parts:
        """See `Carrier`. As if all shards were as large as the first."""
        return [_resized(parts[0], dim, parts[0].shape[dim] * mesh.count(axes))]

    def reduce_scatter(self, mesh: Mesh, parts: Parts, axes: Sequence[str], dim: int, operation: str = "add") -> Parts:
        """See `Carrier`."""
        return [_resized(parts[0], dim, _first(mesh, axes, parts[0].shape[dim]))]

    def all_to_all(self, mesh: Mesh, parts: Parts, axes: Sequence[str], split: int, join: int) -> Parts:
        """See `Carrier`."""
        cut = _resized(parts[0], split, _first(mesh, axes, parts[0].shape[split]))
        return [_resized(cut, join, cut.shape[join] * mesh.count(axes))]

    def broadcast(self, mesh: Mesh, parts: Parts, axes: Sequence[str], root: int = 0) -> Parts:
        """See `Carrier`."""
        return [parts[0].copy()]

    def exchange(self, mesh: Mesh, parts: Parts, pairs: Sequence[tuple[int, int]]) -> list[np.ndarray | None]:
        """See `Carrier`."""
        return [parts[0].copy() if any([target == 0 for _, target in pairs]) else None]

    def barrier(self, mesh: Mesh) -> None:
        """Nobody is waited for."""


def _resized(array: np.ndarray, dim: int, size: int) -> Part:
    return part((*array.shape[:dim], size, *array.shape[dim + 1:]), array.dtype)


def _first(mesh: Mesh, axes: Sequence[str], size: int) -> int:
    for axis in axes:
        size = piece(0, size, mesh.axes[axis], 0)[1]
    return size


PLANNED = Planned()

__all__ = ["PLANNED", "Ledger", "Part", "Planned", "flops", "keeping", "part", "products"]
