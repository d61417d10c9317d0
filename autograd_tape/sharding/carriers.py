"""Carriers: who holds the shards of a mesh, and moves them between devices.

A carrier knows which devices of a mesh this process holds, and carries out collectives on their parts, given and returned in lists in their
order. One holds all devices, simulated in this process; that of MPI holds one (`autograd_tape.sharding.mpi`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ..executors import Executor, get_executor

if TYPE_CHECKING:
    from .mesh import Mesh

Parts = list[np.ndarray]


class Carrier:
    """The protocol. A group are the devices that differ on `axes` alone (`Mesh.groups`); parts come in the order of `held`.

    Attributes:
        name: what it is called.
        count: the number of devices it has, None where that is any.
        empty: whether parts have no elements.
    """

    name = ""
    count: int | None = None
    empty = False

    def executor(self) -> Executor:
        """What computes parts."""
        return get_executor("numpy")

    def part(self, array: np.ndarray) -> np.ndarray:
        """A part with memory of its own, of these elements."""
        return array.copy("K")

    def held(self, mesh: Mesh) -> Sequence[int]:
        """The devices whose parts this process holds."""
        raise NotImplementedError

    def all_reduce(self, mesh: Mesh, parts: Parts, axes: Sequence[str], operation: str = "add") -> Parts:
        """In each group the parts are combined; every device gets the result."""
        raise NotImplementedError

    def all_gather(self, mesh: Mesh, parts: Parts, axes: Sequence[str], dim: int) -> Parts:
        """In each group the parts are joined along `dim`; every device gets the whole."""
        raise NotImplementedError

    def reduce_scatter(self, mesh: Mesh, parts: Parts, axes: Sequence[str], dim: int, operation: str = "add") -> Parts:
        """In each group the parts are combined; every device gets its piece along `dim`."""
        raise NotImplementedError

    def all_to_all(self, mesh: Mesh, parts: Parts, axes: Sequence[str], split: int, join: int) -> Parts:
        """In each group parts are cut along `split`; every device gets its piece of all, joined along `join`."""
        raise NotImplementedError

    def broadcast(self, mesh: Mesh, parts: Parts, axes: Sequence[str], root: int = 0) -> Parts:
        """In each group every device gets the part of number `root`."""
        raise NotImplementedError

    def exchange(self, mesh: Mesh, parts: Parts, pairs: Sequence[tuple[int, int]]) -> list[np.ndarray | None]:
        """Sends parts from device to device, `pairs` of (source, target); None for devices to which nothing is sent."""
        raise NotImplementedError

    def barrier(self, mesh: Mesh) -> None:
        """Returns when all devices have come here."""
        raise NotImplementedError

    def agree(self, mesh: Mesh, array: np.ndarray, what: str) -> None:
        """Raises where an array that every process is to have the same, which `what` names, is not: judged by shape and some elements."""


def piece(start: int, stop: int, count: int, at: int) -> tuple[int, int]:
    """The bounds of piece number `at` of `count`, as `torch.chunk` cuts.

    >>> [piece(0, 5, 4, i) for i in range(4)]
    [(0, 2), (2, 4), (4, 5), (5, 5)]
    """
    step = -(-(stop - start) // count)
    return min(start + at * step, stop), min(start + at * step + step, stop)


def combined(parts: Sequence[np.ndarray], operation: str) -> np.ndarray:
    """Parts added, or combined by another operation (the name of a ufunc), in order; half precision in float32, rounded once."""
    first = parts[0]
    if len(parts) == 1:
        return first.copy()
    small = first.dtype.itemsize == 2 and first.dtype.kind not in "iu"
    total = reduce(getattr(np, operation), [p.astype(np.float32) for p in parts] if small else parts)
    return np.asarray(total).astype(first.dtype, copy=False)


def cut(part: np.ndarray, sizes: Sequence[int], dim: int) -> list[np.ndarray]:
    """Pieces of an array along a dimension for a group of nested axes of these sizes, in order."""
    bounds = [(0, part.shape[dim])]
    for size in sizes:
        bounds = [piece(start, stop, size, i) for start, stop in bounds for i in range(size)]
    lead = (slice(None),) * dim
    return [part[(*lead, slice(*b))] for b in bounds]


class Simulated(Carrier):
    """All devices in this process, on NumPy arrays; for tests, teaching and planning."""

    name = "simulated"

    def held(self, mesh: Mesh) -> Sequence[int]:
        """All of them."""
        return range(mesh.size)

    def _grouped(self, mesh: Mesh, parts: Parts, axes: Sequence[str], work: Callable[[list[np.ndarray]], Sequence[np.ndarray]]) -> Parts:
        made: list[Any] = [None] * len(parts)
        for group in mesh.groups(axes):
            for device, part in zip(group, work([parts[d] for d in group])):
                made[device] = part
        return made

    def all_reduce(self, mesh: Mesh, parts: Parts, axes: Sequence[str], operation: str = "add") -> Parts:
        """See `Carrier`."""
        return self._grouped(mesh, parts, axes, lambda group: [combined(group, operation)] * len(group))

    def all_gather(self, mesh: Mesh, parts: Parts, axes: Sequence[str], dim: int) -> Parts:
        """See `Carrier`."""
        return self._grouped(mesh, parts, axes, lambda group: [np.concatenate(group, dim)] * len(group))

    def reduce_scatter(self, mesh: Mesh, parts: Parts, axes: Sequence[str], dim: int, operation: str = "add") -> Parts:
        """See `Carrier`."""
        sizes = [mesh.axes[a] for a in axes]
        return self._grouped(mesh, parts, axes, lambda group: [p.copy() for p in cut(combined(group, operation), sizes, dim)])

    def all_to_all(self, mesh: Mesh, parts: Parts, axes: Sequence[str], split: int, join: int) -> Parts:
        """See `Carrier`."""
        sizes = [mesh.axes[a] for a in axes]

        def work(group: list[np.ndarray]) -> list[np.ndarray]:
            return [np.concatenate(pieces, join) for pieces in zip(*[cut(p, sizes, split) for p in group])]

        return self._grouped(mesh, parts, axes, work)

    def broadcast(self, mesh: Mesh, parts: Parts, axes: Sequence[str], root: int = 0) -> Parts:
        """See `Carrier`."""
        return self._grouped(mesh, parts, axes, lambda group: [group[root]] * len(group))

    def exchange(self, mesh: Mesh, parts: Parts, pairs: Sequence[tuple[int, int]]) -> list[np.ndarray | None]:
        """See `Carrier`."""
        made: list[np.ndarray | None] = [None] * len(parts)
        for source, target in pairs:
            made[target] = parts[source].copy()
        return made

    def barrier(self, mesh: Mesh) -> None:
        """All are here."""


SIMULATED = Simulated()
