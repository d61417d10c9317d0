"""How long the operations of a tape take, forward and backward."""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from ..annotations import Fn
from ..calls import Call, Interceptor, listen, unlisten
from ..engine import observers
from ..held import tensors_in
from ..node import TapeEntry
from ..saved import saved_bytes
from ..tape import Tape
from ..tensor import next_id

if TYPE_CHECKING:
    import numpy as np


class Clock(Interceptor):
    """Times what a tape records, and then each pass back through it for as long as the tape lives.

    A call's time is all that it takes, with what recording costs.

    Attributes:
        backward: seconds by entry, of all passes together.
        saved: by entry the bytes that it saved, which are known when they were freed, too.
    """

    place = "profile"

    def __init__(self, tape: Tape) -> None:
        self._tape = weakref.ref(tape)
        self._inside = False
        self._calls: list[tuple[int, int, float]] = []  # (an id before those of the call, one after them, seconds)
        self.backward: dict[int, float] = {}
        self.saved: dict[int, int | None] = {}
        look = _looking(weakref.ref(self))
        observers.append(look)
        weakref.finalize(tape, observers.remove, look)

    def start(self) -> None:
        """The tape records."""
        listen(self)

    def stop(self) -> None:
        """It does no more."""
        unlisten(self)

    def __call__(self, call: Call) -> Any:
        tape = self._tape()
        if tape is None or not tape.is_recording or self._inside:  # parts of an operation are part of its time
            return NotImplemented
        self._inside, first, result = True, next_id(), None
        started = perf_counter_ns()
        try:
            result = call.proceed()
            return result
        finally:
            ended = perf_counter_ns()
            self._inside = False
            self._calls.append((first, next_id(), (ended - started) / 1e9))
            for entry in [t.creator for t in tensors_in(result)]:
                if entry is not None:
                    self.saved[entry.id] = saved_bytes(entry)

    def times(self, ids: Sequence[int]) -> dict[int, tuple[float | None, float | None]]:
        """Seconds (forward, backward) of entries. Where one call made several, the last one has its time."""
        firsts = [first for first, _, _ in self._calls]
        forward: dict[int, tuple[int, float]] = {}
        for id in sorted(ids):
            at = bisect_right(firsts, id) - 1
            if at >= 0 and id < self._calls[at][1]:
                forward[at] = id, self._calls[at][2]
        found: dict[int, float] = dict(forward.values())
        return {id: (found.get(id), self.backward.get(id)) for id in ids}


def _looking(clock: Callable[[], Clock | None]) -> Fn:
    def look(entry: TapeEntry, grad: np.ndarray, compute: Callable[[], Any]) -> list[np.ndarray | None]:
        started = perf_counter_ns()
        try:
            return compute()
        finally:
            ended, found = perf_counter_ns(), clock()
            id = getattr(entry, "entry", entry).id  # of what stands for it in the pass
            tape = None if found is None else found._tape()
            if found is not None and tape is not None and id in tape._entries:
                found.backward[id] = found.backward.get(id, 0.0) + (ended - started) / 1e9

    return look
