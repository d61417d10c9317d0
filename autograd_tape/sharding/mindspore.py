"""Meshes whose devices are the processes of MindSpore's communication, one device for each: `msrun --worker_num 4 script.py`.

    mesh = Mesh({"data": 4}, carrier="mindspore")

For Ascend, where processes have HCCL between them. The protocol is that of `ranks`, on two of MindSpore's collectives: AllGather of
words of four bytes and, where there is one, AlltoAll; without it, as on the CPU, each process gets all that is swapped, and takes its
own. The CPU build has neither groups, nor sending, nor receiving: there meshes have one axis of more than one device, and all goes
through all processes, at several times the cost of MPI. Time limits, and what becomes of processes when one ends, are MindSpore's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import AutogradError, ExecutorUnavailableError
from ..executors.mindspore import load
from ..locks import fork_safe_lock
from .ranks import Ranked

HEADER = 512
"""The bytes of a header; what is beyond them is not compared."""


def words(array: np.ndarray, size: int) -> np.ndarray:
    """Bytes as integers of four bytes, filled up to `size` bytes.

    >>> words(np.frombuffer(b"abcde", np.uint8), 8).tobytes()
    b'abcde\\x00\\x00\\x00'
    """
    made = np.zeros(-(-size // 4) * 4, np.uint8)
    made[:array.size] = array
    return made.view(np.int32)


class MindSpore(Ranked):
    """The processes of MindSpore's communication, each of them a device. There is one such carrier.

    Raises:
        ExecutorUnavailableError: MindSpore is not installed, or its processes were not started together.
    """

    name = "mindspore"
    _made: MindSpore | None = None
    _making = fork_safe_lock()

    def __new__(cls) -> MindSpore:
        with cls._making:
            if cls._made is None:
                self = object.__new__(cls)
                self._open(load())
                cls._made = self
            return cls._made

    def __init__(self) -> None:
        """See the class; what there is once is made by `__new__`."""

    def __reduce__(self) -> tuple[object, ...]:
        return MindSpore, ()

    def _open(self, library: Any) -> None:
        super().__init__()
        self._library, self._communication = library, library.communication
        self._cpu = library.get_context("device_target") == "CPU"
        try:
            self._communication.init("mccl" if self._cpu else "hccl")
        except (RuntimeError, ValueError, TypeError) as e:
            raise ExecutorUnavailableError("MindSpore's communication does not start", expected="processes started by msrun",
                                           found=str(e).strip().partition("\n")[0],
                                           remedy="start them so: msrun --worker_num 4 --local_worker_num 4 script.py") from None
        self.rank, self.count = self._communication.get_rank(), self._communication.get_group_size()
        self._groups: dict[tuple[int, ...], str] = {}

    def _named(self, ranks: tuple[int, ...]) -> dict[str, str]:
        """How operations are told of a group, which has its processes in order."""
        if len(ranks) == self.count:
            return {}
        if self._cpu:
            raise AutogradError("MindSpore's communication on the CPU has no groups", expected=f"all {self.count} processes",
                                found=str(ranks), remedy='use carrier="mpi", or a mesh with one axis')
        if ranks not in self._groups:
            self._groups[ranks] = "autograd_tape_" + "_".join(map(str, ranks))
            self._communication.create_group(self._groups[ranks], list(ranks))
        return {"group": self._groups[ranks]}

    def _gathered(self, ranks: tuple[int, ...], mine: np.ndarray, size: int) -> np.ndarray:
        """Bytes of all, a row each, of which the longest are so many."""
        order = tuple(sorted(ranks))
        given = self._library.Tensor.from_numpy(words(mine, max(size, 4)))
        found = self._library.ops.AllGather(**self._named(order))(given).asnumpy().view(np.uint8).reshape(len(ranks), -1)
        return found[[order.index(r) for r in ranks]]

    def heads(self, ranks: tuple[int, ...], mine: bytes) -> Mapping[int, bytes]:
        """See `Ranked`."""
        if len(ranks) == 1:
            return {self.rank: mine}
        rows = self._gathered(ranks, np.frombuffer(mine[:HEADER], np.uint8), HEADER)
        return {r: row.tobytes().rstrip(b"\0") for r, row in zip(ranks, rows)}

    def spread(self, group: tuple[int, ...], mine: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
        """See `Ranked`."""
        if len(group) == 1:
            return mine.copy()
        return np.concatenate([row[:size] for row, size in zip(self._gathered(group, mine, max(sizes)), sizes)])

    def swap(self, group: tuple[int, ...], pieces: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
        """See `Ranked`."""
        if len(group) == 1:
            return pieces[0].copy()
        # The sizes of all pieces, since those that others swap may be the longest.
        lengths = self._gathered(group, np.array([p.size for p in pieces], np.int64).view(np.uint8), 8 * len(group)).view(np.int64)
        width = -(-int(lengths.max()) // 4) * 4
        mine = np.zeros((len(group), width), np.uint8)
        for row, own in zip(mine, pieces):
            row[:own.size] = own
        at = group.index(self.rank)
        if self._cpu:
            found = self._gathered(group, mine.reshape(-1), mine.size)[:, at * width:(at + 1) * width]
        else:
            order = tuple(sorted(group))
            mine = mine[[group.index(r) for r in order]]
            operation = self._library.ops.AlltoAll(len(group), 0, 0, **self._named(order))
            found = operation(self._library.Tensor.from_numpy(mine.view(np.int32))).asnumpy().view(np.uint8).reshape(len(group), width)
            found = found[[order.index(r) for r in group]]
        return np.concatenate([row[:size] for row, size in zip(found, sizes)])

    def send(self, out: Sequence[tuple[int, np.ndarray]], into: Sequence[tuple[int, np.ndarray]]) -> None:
        """See `Ranked`. All processes come here with each `exchange` and `broadcast`, so that it is a swap among all of them."""
        everyone, empty = tuple(range(self.count)), np.empty(0, np.uint8)
        given, taken = dict(out), dict(into)
        sizes = [taken[r].size if r in taken else 0 for r in everyone]
        found = self.swap(everyone, [given.get(r, empty) for r in everyone], sizes)
        start = 0
        for rank, size in zip(everyone, sizes):
            if rank in taken:
                taken[rank][:] = found[start:start + size]
            start += size


__all__ = ["MindSpore", "words"]
