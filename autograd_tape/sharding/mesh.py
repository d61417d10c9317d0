"""Meshes: devices in a grid whose axes have names, and how an array is laid over one.

A dimension may be split over several axes of a mesh, the first the outermost. Where sizes do not go up, shards are cut as torch's
DTensor does it, with `torch.chunk`: an axis of k devices cuts n elements into pieces of ceil(n / k), the last ones shorter, or empty.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from dataclasses import dataclass

from ..dtypes import Device
from ..errors import ArgumentError, ShapeMismatchError, type_name
from ..locks import fork_safe_lock
from ..tensor import above
from .carriers import SIMULATED, Carrier, piece

_meshes: list[Mesh] = []
_lock = fork_safe_lock()


class Mesh:
    """Devices in a grid with named axes.

    Args:
        axes: the size of each axis by name, outermost first.
        carrier: who holds the shards and moves them: see `autograd_tape.sharding.carriers`. A simulation in this process where left out;
            "mpi" for the processes of `mpiexec`, one device for each.

    Attributes:
        axes: sizes by name.
        size: the number of devices.
        device: that of tensors on it: `device(type='mesh', index=...)`. Equal meshes with one carrier have one.

    Raises:
        ArgumentError: names are no strings, sizes no positive ints, there is no such carrier, or it has another number of devices.

    >>> mesh = Mesh({"data": 2, "model": 4})
    >>> mesh, mesh.size, mesh.coordinates(6)
    (Mesh(data=2, model=4), 8, {'data': 1, 'model': 2})
    """

    __slots__ = ("axes", "names", "size", "carrier", "device", "_groups", "__weakref__")

    axes: dict[str, int]
    names: tuple[str, ...]
    size: int
    carrier: Carrier
    device: Device
    _groups: dict[tuple[str, ...], list[list[int]]]

    def __new__(cls, axes: Mapping[str, int], carrier: Carrier | str = SIMULATED) -> Mesh:
        if not isinstance(axes, Mapping) or not axes:
            raise ArgumentError("A mesh has axes", expected='names and sizes, as {"data": 2, "model": 4}', found=type_name(axes),
                                remedy="pass a dict of them")
        for name, size in axes.items():
            if not isinstance(name, str) or not name:
                raise ArgumentError("Axes of a mesh have names", expected="a non-empty str", found=repr(name), remedy="name the axis")
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                raise ArgumentError(f"The axis '{name}' of a mesh has devices", expected="an int of 1 or more", found=repr(size),
                                    remedy="pass the number of devices along it")
        if isinstance(carrier, str):
            carrier = _carrier(carrier)
        with _lock:
            for mesh in _meshes:
                if list(mesh.axes.items()) == list(axes.items()) and mesh.carrier is carrier:
                    return mesh
            self = object.__new__(cls)
            self.axes, self.names, self.size = dict(axes), tuple(axes), 1
            for size in axes.values():
                self.size *= size
            if carrier.count is not None and carrier.count != self.size:
                raise ArgumentError(f"A mesh of {self.size} devices needs a carrier with as many", expected=str(self.size),
                                    found=str(carrier.count), remedy="choose other sizes, or start as many processes")
            self.carrier, self._groups = carrier, {}
            self.device = Device("mesh", len(_meshes))
            _meshes.append(self)
            return self

    def __repr__(self) -> str:
        return f"Mesh({', '.join([f'{name}={size}' for name, size in self.axes.items()])})"

    def __reduce__(self) -> tuple[object, ...]:
        return Mesh, (self.axes, self.carrier)

    def coordinates(self, device: int) -> dict[str, int]:
        """Where a device stands, by axis; devices are numbered with the last axis running fastest."""
        found = {}
        for name in reversed(self.names):
            device, found[name] = divmod(device, self.axes[name])
        return {name: found[name] for name in self.names}

    def groups(self, axes: Sequence[str]) -> list[list[int]]:
        """The devices that differ in their coordinates on these axes alone, group by group, in the order of these, the first the outermost.

        >>> Mesh({"data": 2, "model": 2}).groups(["data"])
        [[0, 2], [1, 3]]
        """
        key = tuple(axes)
        if key not in self._groups:
            step, steps = 1, {}
            for name in reversed(self.names):
                steps[name] = step
                step *= self.axes[name]
            inside = [sum(at) for at in itertools.product(*[range(0, self.axes[a] * steps[a], steps[a]) for a in key])]
            outside = [sum(at) for at in itertools.product(*[range(0, self.axes[a] * steps[a], steps[a])
                                                             for a in self.names if a not in key])]
            self._groups[key] = [[start + i for i in inside] for start in outside]
        return self._groups[key]

    def count(self, axes: Iterable[str]) -> int:
        """The number of devices in a group along these axes."""
        found = 1
        for axis in axes:
            found *= self.axes[axis]
        return found


def _carrier(name: str) -> Carrier:
    if name == "simulated":
        return SIMULATED
    if name == "mpi":
        from .mpi import MPI  # which may not be installed
        return MPI()
    if name == "mindspore":
        from .mindspore import MindSpore
        return MindSpore()
    raise ArgumentError("There is no such carrier", expected='"simulated", "mpi" or "mindspore"', found=repr(name),
                        remedy="name one of these, or pass a Carrier")


def mesh_of(device: Device) -> Mesh:
    """The mesh that a device stands for."""
    assert device.index is not None
    return _meshes[device.index]


def _entries(mesh: Mesh, dims: Iterable[Any]) -> tuple[tuple[str, ...], ...]:
    found = tuple([() if d is None else (d,) if isinstance(d, str) else tuple(d) for d in dims])
    seen: set[str] = set()
    for axis in itertools.chain(*found):
        if axis not in mesh.axes:
            raise ArgumentError(f"{mesh} has no axis {axis!r}", expected=" or ".join([repr(a) for a in mesh.names]), found=repr(axis),
                                remedy="name an axis of the mesh, or None for a dimension that is not split")
        if axis in seen:
            raise ArgumentError(f"The axis '{axis}' of a mesh cannot split two dimensions", expected="each axis once", found=str(found),
                                remedy="leave it out of one of them")
        seen.add(axis)
    return found


@dataclass(frozen=True, repr=False, init=False, slots=True)
class Sharding:
    """How a tensor lies over a mesh.

    Args:
        mesh: the mesh.
        dims: for each dimension the axis it is split over, a tuple of axes, or None.
        partial_sum_axes: the axes over which devices hold parts that are still to be added.

    Raises:
        ArgumentError: an axis that the mesh has not, or one that is there twice.

    >>> mesh = Mesh({"data": 2, "model": 4})
    >>> Sharding(mesh, ("data", None)), Sharding(mesh, (("data", "model"), None))
    (Sharding(data, - over data=2, model=4), Sharding(data+model, - over data=2, model=4))
    >>> Sharding(mesh, (), ["model"])
    Sharding(; partial sums over model; over data=2, model=4)
    """

    mesh: Mesh
    dims: tuple[tuple[str, ...], ...]
    partial_sum_axes: frozenset[str]

    def __init__(self, mesh: Mesh, dims: Iterable[object], partial_sum_axes: Iterable[str] = ()) -> None:
        if not isinstance(mesh, Mesh):
            raise ArgumentError("A sharding is over a mesh", expected="Mesh", found=type_name(mesh), remedy='make one: Mesh({"data": 2})')
        entries, partial = _entries(mesh, dims), frozenset(partial_sum_axes)
        _entries(mesh, (*entries, sorted(partial)))
        for name, value in (("mesh", mesh), ("dims", entries), ("partial_sum_axes", partial)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Sharding({self.text}{';' if self.partial_sum_axes else ''} over {repr(self.mesh)[5:-1]})"

    @property
    def text(self) -> str:
        """How each dimension is split, and the partial sums: `data, -; partial sums over model`."""
        dims = ", ".join(["+".join(axes) or "-" for axes in self.dims])
        return dims + (f"; partial sums over {', '.join(self.partial)}" if self.partial_sum_axes else "")

    @property
    def partial(self) -> tuple[str, ...]:
        """The axes of partial sums in the mesh's order."""
        return tuple([a for a in self.mesh.names if a in self.partial_sum_axes])

    @property
    def split(self) -> tuple[str, ...]:
        """The axes that split some dimension."""
        return tuple(itertools.chain(*self.dims))

    @property
    def replicated(self) -> bool:
        """Whether every device holds the whole tensor."""
        return not self.partial_sum_axes and not any(self.dims)

    def with_dims(self, dims: Iterable[tuple[str, ...]], partial: Iterable[str] | None = None) -> Sharding:
        """Another sharding over the same mesh."""
        return Sharding(self.mesh, dims, self.partial_sum_axes if partial is None else partial)

    def whole(self, ndim: int | None = None) -> Sharding:
        """That of a tensor which every device holds whole."""
        return replicated(self.mesh, len(self.dims) if ndim is None else ndim)

    @property
    def summed(self) -> Sharding:
        """Without partial sums."""
        return Sharding(self.mesh, self.dims) if self.partial_sum_axes else self

    def check(self, shape: Sequence[int]) -> None:
        """Raises ShapeMismatchError where a tensor of this shape has another number of dimensions."""
        if len(shape) != len(self.dims):
            raise ShapeMismatchError("A sharding has one entry for each dimension", expected=f"{len(shape)} entries, for {list(shape)}",
                                     found=f"{len(self.dims)}: {self}", remedy="write None for dimensions that are not split")

    def bounds(self, shape: Sequence[int], device: int) -> tuple[slice, ...]:
        """What a device holds of a tensor of this shape.

        >>> Sharding(Mesh({"data": 2, "model": 4}), ("data", None)).bounds((3, 5), 7)
        (slice(2, 3, None), slice(0, 5, None))
        """
        return _bounds(self, tuple(shape), device)

    def draw(self, shape: Sequence[int], file: object = None) -> Any:
        """A picture of an array of this shape: see `autograd_tape.sharding.draw_sharding`."""
        return above.draw_sharding(self, shape, file)

    def local_shape(self, shape: Sequence[int], device: int) -> tuple[int, ...]:
        """The shape of what a device holds of a tensor of this shape."""
        return tuple([b.stop - b.start for b in self.bounds(shape, device)])


@lru_cache(10000)
def replicated(mesh: Mesh, ndim: int) -> Sharding:
    """The sharding of a tensor that every device holds whole."""
    return Sharding(mesh, [None] * ndim)


@lru_cache(100000)
def _bounds(sharding: Sharding, shape: tuple[int, ...], device: int) -> tuple[slice, ...]:
    at, found = sharding.mesh.coordinates(device), []
    for n, axes in zip(shape, sharding.dims):
        start, stop = 0, n
        for axis in axes:
            start, stop = piece(start, stop, sharding.mesh.axes[axis], at[axis])
        found.append(slice(start, stop))
    return tuple(found)


def needs_reshard(a: Sharding | None, b: Sharding | None) -> bool:
    """Whether a tensor sharded as `a` must be moved, or summed, to be sharded as `b`; None stands for a tensor on no mesh.

    >>> mesh = Mesh({"data": 2})
    >>> needs_reshard(Sharding(mesh, ("data",)), Sharding(mesh, (None,))), needs_reshard(None, None)
    (True, False)
    """
    return a != b


__all__ = ["Mesh", "Sharding", "mesh_of", "needs_reshard", "piece", "replicated"]
