"""Carriers of which each process holds one device: the collectives, from a few ways to move bytes.

Before a collective moves anything, its processes exchange headers that say what each of them is about to do. Those who wait know from them
who has not come; where headers differ, every process raises an error that names the one that is alone with its own; and from them come the
sizes of uneven parts. What is moved are bytes, so that every dtype goes; results are combined by `combined`, in the order of the group, so
that they are the same on all processes, bit for bit, and the same as on a simulated mesh. They are contiguous.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..dtypes import DType
from ..errors import AutogradError
from ..locks import fork_safe_lock
from .carriers import Carrier, Parts, combined, cut, piece

if TYPE_CHECKING:
    from .mesh import Mesh

EVERYONE = 16
"""Meshes of up to so many devices exchange headers among all of them; larger ones within the groups of a collective."""

SMALL = 16_384
"""Sums whose parts have so many bytes together are made by every device, in one step; larger ones in pieces, in two."""


class CollectiveError(AutogradError, RuntimeError):
    """Processes that are to work together do not: one of them is gone, late, or does something else."""


class Header(NamedTuple):
    """What a process is about to do.

    Attributes:
        shape: that of its part.
        dtype: that of its part.
        what: the collective, with what tells it from others of its kind.
        axes: the axes of the mesh that it goes over.
        mesh: the mesh.
    """

    shape: tuple[int, ...]
    dtype: str
    what: str
    axes: str = ""
    mesh: str = ""

    def pack(self) -> bytes:
        """As bytes."""
        return "|".join([",".join(map(str, self.shape)), *self[1:]]).encode()

    @classmethod
    def unpack(cls, packed: bytes) -> Header:
        """From what `pack` gives.

        >>> Header.unpack(Header((2, 3), "float32", "barrier").pack())
        Header(shape=(2, 3), dtype='float32', what='barrier', axes='', mesh='')
        """
        shape, *others = packed.decode(errors="replace").split("|", 4)
        return cls(tuple([int(n) for n in shape.split(",") if n]), *others)

    def __str__(self) -> str:
        return self.what + f" over {self.axes}" * bool(self.axes) + f" of {self.mesh}" * bool(self.mesh)


def named(ranks: Sequence[int]) -> str:
    """What messages call some processes.

    >>> named([1]), named([0, 2])
    ('rank 1', 'ranks 0, 2')
    """
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


def _agreed(ranks: Sequence[int], values: Sequence[object], what: str, remedy: str = "do the same on all ranks, in the same order") -> None:
    """Raises where values differ, and names those whose value is not that of most, or of the first."""
    if any([v != values[0] for v in values]):
        usual = Counter(values).most_common(1)[0][0]
        odd, others = [r for r, v in zip(ranks, values) if v != usual], [r for r, v in zip(ranks, values) if v == usual]
        first = values[list(ranks).index(odd[0])]
        raise CollectiveError(f"{named(odd)} and {named(others)} do not go together: {what}", expected=f"{usual} ({named(others)})",
                              found=f"{first} ({named(odd[:1])})", remedy=remedy)


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


class Ranked(Carrier):
    """The protocol by one process for each device, for transports that have `heads` and `send`.

    Attributes:
        rank: the device that this process holds.
        count: the number of processes.
    """

    rank: int
    count: int

    def __init__(self) -> None:
        self._lock = fork_safe_lock()

    def heads(self, ranks: tuple[int, ...], mine: bytes) -> Mapping[int, bytes]:
        """The headers of these processes, of which this is one, by rank."""
        raise NotImplementedError

    def send(self, out: Sequence[tuple[int, np.ndarray]], into: Sequence[tuple[int, np.ndarray]]) -> None:
        """Sends bytes to processes, and receives bytes from processes into buffers: one message from each to each."""
        raise NotImplementedError

    def spread(self, group: tuple[int, ...], mine: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
        """The bytes of all of a group, of these sizes, one after another."""
        return self.swap(group, [mine] * len(group), sizes)

    def swap(self, group: tuple[int, ...], pieces: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
        """The bytes for this process of all of a group, of these sizes, one after another; `pieces` are those that they get of it."""
        made, into, start = np.empty(sum(sizes), np.uint8), [], 0
        for rank, size, own in zip(group, sizes, pieces):
            place = made[start:start + size]
            start += size
            if rank == self.rank:
                place[:] = own
            else:
                into.append((rank, place))
        self.send([(r, p) for r, p in zip(group, pieces) if r != self.rank], into)
        return made

    def held(self, mesh: Mesh) -> Sequence[int]:
        """That of this process."""
        return (self.rank,)

    def _met(self, ranks: tuple[int, ...], mine: Header) -> Mapping[int, Header]:
        """What these processes are about to do; raises where they do not all go on."""
        packed = mine.pack()
        found = self.heads(ranks, packed)
        heads = {r: mine if h == packed else Header.unpack(h) for r, h in found.items()}
        _agreed(ranks, [str(heads[r]) for r in ranks], "they come to different collectives")
        return heads

    def _group(self, mesh: Mesh, axes: Sequence[str]) -> tuple[int, ...]:
        return tuple(next(g for g in mesh.groups(axes) if self.rank in g))

    def _meet(self, mesh: Mesh, part: np.ndarray, axes: Sequence[str], what: str, uneven: int | None = None,
              ) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
        """The group of this process and the shapes of its parts, when all of it have come to the same collective.

        Args:
            uneven: the dimension in which shapes may differ.
        """
        group = self._group(mesh, axes)
        ranks = tuple(range(mesh.size)) if mesh.size <= EVERYONE else group
        heads = self._met(ranks, Header(part.shape, str(part.dtype), what, ", ".join(axes), repr(mesh)))
        _agreed(ranks, [heads[r].dtype for r in ranks], f"dtypes differ in {what}")
        shapes = [heads[r].shape for r in group]
        _agreed(group, [len(s) for s in shapes], f"numbers of dimensions differ in {what}")
        _agreed(group, [tuple([n for d, n in enumerate(s) if d != uneven]) for s in shapes],
                f"shapes differ in {what}" + (f", beside dimension {uneven}" if uneven is not None else ""))
        return group, shapes

    def all_reduce(self, mesh: Mesh, parts: Parts, axes: Sequence[str], operation: str = "add") -> Parts:
        """See `Carrier`."""
        (part,) = parts
        with self._lock:
            group, _ = self._meet(mesh, part, axes, f"all_reduce by {operation}")
            count = len(group)
            if count == 1:
                return [part]
            mine, item = _bytes(part), part.itemsize
            if mine.size * count <= SMALL:
                found = self.spread(group, mine, [mine.size] * count).view(part.dtype).reshape(count, *part.shape)
                return [combined(list(found), operation)]
            bounds = [piece(0, part.size, count, i) for i in range(count)]
            sizes = [(stop - start) * item for start, stop in bounds]
            share = sizes[group.index(self.rank)]
            pieces = self.swap(group, [mine[a * item:b * item] for a, b in bounds], [share] * count).view(part.dtype).reshape(count, -1)
            return [self.spread(group, _bytes(combined(list(pieces), operation)), sizes).view(part.dtype).reshape(part.shape)]

    def all_gather(self, mesh: Mesh, parts: Parts, axes: Sequence[str], dim: int) -> Parts:
        """See `Carrier`."""
        (part,) = parts
        with self._lock:
            group, shapes = self._meet(mesh, part, axes, f"all_gather along dimension {dim}", dim)
            sizes = [math.prod(s) * part.itemsize for s in shapes]
            return [_joined(self.spread(group, _bytes(part), sizes).view(part.dtype), shapes, dim)]

    def reduce_scatter(self, mesh: Mesh, parts: Parts, axes: Sequence[str], dim: int, operation: str = "add") -> Parts:
        """See `Carrier`."""
        (part,) = parts
        with self._lock:
            group, _ = self._meet(mesh, part, axes, f"reduce_scatter along dimension {dim} by {operation}")
            made, shape = self._swapped(mesh, group, part, axes, dim, [part.shape] * len(group))
            return [combined(list(made.reshape(len(group), *shape[0])), operation)]

    def all_to_all(self, mesh: Mesh, parts: Parts, axes: Sequence[str], split: int, join: int) -> Parts:
        """See `Carrier`."""
        (part,) = parts
        with self._lock:
            group, shapes = self._meet(mesh, part, axes, f"all_to_all from dimension {join} to {split}", join)
            return [_joined(*self._swapped(mesh, group, part, axes, split, shapes), join)]

    def _swapped(self, mesh: Mesh, group: tuple[int, ...], part: np.ndarray, axes: Sequence[str], dim: int,
                 shapes: Sequence[tuple[int, ...]]) -> tuple[np.ndarray, list[tuple[int, ...]]]:
        """This process's pieces along `dim` of all parts of a group, one after another, and their shapes."""
        pieces = cut(part, [mesh.axes[a] for a in axes], dim)
        size = pieces[group.index(self.rank)].shape[dim]
        found = [(*s[:dim], size, *s[dim + 1:]) for s in shapes]
        made = self.swap(group, [_bytes(p) for p in pieces], [math.prod(s) * part.itemsize for s in found])
        return made.view(part.dtype), found

    def broadcast(self, mesh: Mesh, parts: Parts, axes: Sequence[str], root: int = 0) -> Parts:
        """See `Carrier`."""
        (part,) = parts
        with self._lock:
            group, _ = self._meet(mesh, part, axes, f"broadcast from number {root}")
            if group[root] == self.rank:
                made, mine = np.array(part, order="C"), _bytes(part)
                self.send([(r, mine) for r in group if r != self.rank], [])
            else:
                made = np.empty(part.shape, part.dtype)
                self.send([], [(group[root], _bytes(made))])
            return [made]

    def exchange(self, mesh: Mesh, parts: Parts, pairs: Sequence[tuple[int, int]]) -> list[np.ndarray | None]:
        """See `Carrier`."""
        (part,) = parts
        with self._lock:
            ranks = tuple(range(mesh.size))
            heads = self._met(ranks, Header(part.shape, str(part.dtype), f"exchange {zlib.crc32(repr(list(pairs)).encode()):x}",
                                            mesh=repr(mesh)))
            sources = {t: s for s, t in pairs}
            source = sources.get(self.rank)
            made = None if source is None else np.empty(heads[source].shape, DType.by_name[heads[source].dtype].np)
            own = source == self.rank
            self.send([(t, _bytes(part)) for t, s in sources.items() if s == self.rank != t],
                      [] if source is None or own or made is None else [(source, _bytes(made))])
            return [part.copy() if own else made]

    def barrier(self, mesh: Mesh) -> None:
        """See `Carrier`."""
        with self._lock:
            self._met(tuple(range(mesh.size)), Header((), "", "barrier", mesh=repr(mesh)))

    def agree(self, mesh: Mesh, array: np.ndarray, what: str) -> None:
        """See `Carrier`."""
        with self._lock:
            flat = array.reshape(-1) if array.flags.c_contiguous else array[tuple([slice(2)] * array.ndim)].reshape(-1)
            digest = zlib.crc32(flat[:32].tobytes() + flat[-32:].tobytes())
            ranks = tuple(range(mesh.size))
            heads = self._met(ranks, Header((*array.shape, digest), str(array.dtype), what, mesh=repr(mesh)))
            _agreed(ranks, [(h.shape[:-1], h.dtype) for h in heads.values()], f"other shapes or dtypes of {what}")
            _agreed(ranks, [f"elements of checksum {h.shape[-1]:08x}" for h in heads.values()], f"other values of {what}",
                    "give the same arrays on all ranks, and seed random numbers alike")


def _joined(flat: np.ndarray, shapes: Sequence[tuple[int, ...]], dim: int) -> np.ndarray:
    """Pieces of these shapes, one after another, joined along a dimension: without a copy where they lie so."""
    first = shapes[0]
    if math.prod(first[:dim]) == 1:
        return flat.reshape(*first[:dim], sum([s[dim] for s in shapes]), *first[dim + 1:])
    pieces, start = [], 0
    for shape in shapes:
        pieces.append(flat[start:start + math.prod(shape)].reshape(shape))
        start += math.prod(shape)
    return np.concatenate(pieces, dim)


__all__ = ["CollectiveError", "Header", "Ranked", "named"]
