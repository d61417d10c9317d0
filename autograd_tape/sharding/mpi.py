"""Meshes whose devices are the processes of MPI, one device for each: `mpiexec -n 4 python script.py`.

    mesh = Mesh({"data": 4}, carrier="mpi")

All processes run the same program on the same values: `shard` takes from them what is the process's own. What communicates are
collectives: all operations that move shards, `shard` and `gather`, `item`, a draw of random numbers. What only tells of a tensor (`repr`,
`len`, shapes, shardings) does not.

A process that waits gives up the processor, so that there may be more processes than cores. It waits until all have come, until one is
known to be gone, or for `timeout` seconds; then it raises `CollectiveError`, which names those who did not come. A process that ends by an
error tells the others, which raise as well, and all of them are ended.
"""

from __future__ import annotations

import atexit
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from ..errors import ExecutorUnavailableError
from .ranks import CollectiveError, Header, Ranked, named

HEADER = 512
"""The bytes of a header; what is beyond them is not compared."""

SPIN, DOZE, LONGEST = 0.00005, 0.00002, 0.001
"""A process asks for so many seconds whether a message has come, giving way to others in between, then sleeps in between: so many seconds,
and a fiftieth of the time that it has waited, up to the last. Sleeping gives way to more than `sched_yield`, after which others may keep
the processor for milliseconds."""

MOVING = 3e-9
"""For so many seconds more a byte, since large messages go on only while both sides ask."""

GRACE = 2.0
"""Seconds for which a process that ends by an error waits for others to hear of it."""


def _library() -> Any:
    try:
        from mpi4py import MPI as library
    except (ImportError, RuntimeError) as e:
        raise ExecutorUnavailableError("Meshes over processes need MPI", expected="mpi4py, and an MPI that it finds", found=str(e),
                                       remedy="pip install autograd-tape[distributed]") from None
    return library


def _place() -> tuple[str, ...]:
    """What processes have in common that can see each other's process ids."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return socket.gethostname(), file.read(), os.readlink("/proc/self/ns/pid")
    except OSError:
        return (socket.gethostname(),)


def _lives(pid: int) -> bool:
    """Whether a process of this machine runs; one that its launcher has not yet looked after does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        return not os.path.exists("/proc/self/stat")


class _Line:
    """The headers of some processes, sent and received again and again."""

    def __init__(self, comm: Any, rank: int, ranks: tuple[int, ...]) -> None:
        self.others = [r for r in ranks if r != rank]
        self.sent = np.zeros(HEADER, np.uint8)
        self.found = np.zeros((len(self.others), HEADER), np.uint8)
        self.receipts = [comm.Recv_init(row, r) for r, row in zip(self.others, self.found)]
        self.requests = [*self.receipts, *[comm.Send_init(self.sent, r) for r in self.others]]


class MPI(Ranked):
    """The processes of a communicator of MPI, each of them a device. There is one carrier for each communicator.

    Args:
        comm: a communicator of mpi4py, that of all processes unless given.

    Attributes:
        timeout: how many seconds a process waits for others.

    Raises:
        ExecutorUnavailableError: mpi4py is not installed, or finds no MPI.
        CollectiveError: processes have not made their carriers.
    """

    name = "mpi"
    timeout = 300.0
    _made: dict[int, MPI] = {}

    def __new__(cls, comm: Any = None) -> MPI:
        library = _library()
        comm = library.COMM_WORLD if comm is None else comm
        key = comm.handle
        if key not in cls._made:
            cls._made[key] = self = object.__new__(cls)
            self._open(library, comm)
        return cls._made[key]

    def __init__(self, comm: object = None) -> None:
        """See the class; what there is once for each communicator is made by `__new__`."""

    def __reduce__(self) -> tuple[object, ...]:
        return MPI, ()

    def _open(self, library: Any, comm: Any) -> None:
        super().__init__()
        self._mpi, self.rank, self.count = library, comm.rank, comm.size
        self._lines: dict[tuple[int, ...], _Line] = {}
        self._pid, self._peers = os.getpid(), []
        self._over, self._stuck = "", False  # why this process has parted from the others; whether it waits for headers no more
        self._comm, request = comm.Idup()
        self._wait([request])
        mine = np.frombuffer(repr((_place(), self._pid)).encode().ljust(HEADER), np.uint8)
        found = np.empty((self.count, HEADER), np.uint8)
        self._wait([self._comm.Iallgather(mine, found)])
        self._peers = [int(row.tobytes().rpartition(b",")[2].strip(b" )")) if row.tobytes().rpartition(b",")[0] ==
                       mine.tobytes().rpartition(b",")[0] else 0 for row in found]
        sys.excepthook = self._failing(sys.excepthook)
        atexit.register(self._ending)

    # Waiting

    def _gone(self, ranks: Sequence[int]) -> list[int]:
        """Those that are no more, as far as this process can see."""
        return [r for r in ranks if self._peers and self._peers[r] and not _lives(self._peers[r])]

    def _wait(self, requests: list[Any], missing: Callable[[], list[int]] | None = None, limit: float | None = -1.0,
              spin: float = SPIN) -> None:
        """Returns when all of these are complete.

        Args:
            missing: the processes that have not come, all others unless given.
            limit: the number of seconds to wait, `timeout` unless given; None for any.
            spin: the number of seconds to wait without sleep.
        """
        done = self._mpi.Request.Testall
        if done(requests):
            return
        start = last = time.monotonic()
        limit = self.timeout if limit == -1.0 else limit
        while not done(requests):
            now = time.monotonic()
            if now - start < spin:
                os.sched_yield()
                continue
            time.sleep(min(DOZE + (now - start) / 50, LONGEST))
            if now - last > 0.1:
                last = now
                late = [r for r in range(self.count) if r != self.rank] if missing is None else missing()
                gone = self._gone(late)
                if gone:
                    self._over = f"{named(gone)} of {self.count} ended without a word"
                elif limit is not None and now - start > limit:
                    self._over = f"{named(late)} of {self.count} did not come within {limit:g} s" if missing is not None else (
                        f"some of {named(late)} of {self.count} did not go on within {limit:g} s")
                if self._over:
                    self._stuck = True
                    raise CollectiveError(self._over)

    def heads(self, ranks: tuple[int, ...], mine: bytes) -> Mapping[int, bytes]:
        """See `Ranked`."""
        return self._heads(ranks, mine, -1.0)

    def _heads(self, ranks: tuple[int, ...], mine: bytes, limit: float | None) -> Mapping[int, bytes]:
        if self._over:
            raise CollectiveError(f"This process has parted from the others: {self._over}", remedy="start all of them anew")
        line = self._lines.get(ranks)
        if line is None:
            line = self._lines[ranks] = _Line(self._comm, self.rank, ranks)
        mine = mine[:HEADER]
        line.sent[:len(mine)] = np.frombuffer(mine, np.uint8)
        line.sent[len(mine):] = 0
        self._mpi.Prequest.Startall(line.requests)
        try:
            self._wait(line.requests, lambda: [r for r, receipt in zip(line.others, line.receipts) if not receipt.Test()], limit)
        except CollectiveError as e:
            raise CollectiveError(f"{named([self.rank])} waits in {Header.unpack(mine)}, but {e.message}",
                                  remedy="see what these ranks do, or did last") from None
        found = {self.rank: mine}
        for rank, row in zip(line.others, line.found):
            found[rank] = row.tobytes().rstrip(b"\0")
            if found[rank] != mine and found[rank].startswith(b"||!"):
                self._over = f"{named([rank])} of {self.count} {Header.unpack(found[rank]).what[1:]}"
        if self._over:
            raise CollectiveError(f"{named([self.rank])} has come to {Header.unpack(mine)}, but {self._over}",
                                  remedy="see what these ranks did")
        return {r: found[r] for r in ranks}

    # The ends of processes

    def _leave(self, why: str, limit: float | None) -> None:
        self._heads(tuple(range(self.count)), Header((), "", f"!{why}").pack(), limit)

    def _ending(self) -> None:
        """All end together; where others are elsewhere, they hear that this one ended."""
        if os.getpid() != self._pid or self._mpi.Is_finalized():
            return
        if not self._over:
            try:
                self._leave("has ended its program", None)
                return
            except CollectiveError as e:
                print(e, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        self._mpi.COMM_WORLD.Abort(1)

    def _failing(self, before: Callable[..., Any]) -> Callable[..., Any]:
        def failing(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
            before(kind, error, trace)
            if os.getpid() != self._pid or self._mpi.Is_finalized():
                return
            print(f"{named([self.rank])} of {self.count} failed: {kind.__name__}: {error}", file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            try:
                if self._stuck:
                    time.sleep(GRACE / 4)  # in which others, too, may say what they wait for
                else:
                    self._over = ""
                    for _ in range(2):  # that it failed; then until the others have failed of it
                        self._leave(f"failed: {kind.__name__}: {error}", GRACE)
            except CollectiveError:
                pass
            finally:
                self._mpi.COMM_WORLD.Abort(1)

        return failing

    # Moving bytes

    def send(self, out: Sequence[tuple[int, np.ndarray]], into: Sequence[tuple[int, np.ndarray]]) -> None:
        """See `Ranked`."""
        comm = self._comm
        size = sum([b.size for _, b in into]) + sum([b.size for _, b in out])
        self._wait([*[comm.Irecv(b, r, 1) for r, b in into if b.size], *[comm.Isend(b, r, 1) for r, b in out if b.size]],
                   spin=SPIN + size * MOVING)


__all__ = ["MPI"]
