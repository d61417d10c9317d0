"""Whether a gradient, or memory, is nobody else's, told by reference counts as this interpreter counts them.

A gradient that nobody else holds becomes `.grad` as it is; one that somebody holds is copied. `Engine.hand_over` decides by comparing
the gradient's reference count with a limit. How many references one holder makes is no constant of Python: CPython 3.11 to 3.13 count
each step of a call, 3.14 borrows references that are on the stack, other interpreters count nothing at all. So the limit is measured
here, once, on the very code that decides, with one holder and with two; where the counts do not tell these apart every gradient is copied.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .annotations import Functions
from .node import TapeEntry
from .tensor import TensorRef

NEVER = -1
"""The limit under which no gradient counts as nobody else's: all are copied."""

count: Callable[[Any], int] = getattr(sys, "getrefcount", lambda thing: 0)
"""References to an object, as this interpreter counts them; 0 where it does not."""


def counts_may_change() -> bool:
    """Whether the same code may count otherwise later: a just-in-time compiler borrows references that bytecode owned, and without
    the global interpreter lock references of other threads are counted late."""
    jit = getattr(sys, "_jit", None)
    return jit is not None and jit.is_enabled() or not getattr(sys, "_is_gil_enabled", lambda: True)()


def holders(item: list[Any]) -> int:
    """How many hold the one thing of a list, the list aside; -1 where counts do not tell.

    >>> thing = object()
    >>> holders([thing]) in (1, -1), holders([object()]) in (0, -1)
    (True, True)
    """
    return count(item[0]) - _by_a_list if _by_a_list >= 0 and not counts_may_change() else -1


def _counted_in_a_list() -> int:
    """The references that `holders` counts of what only its list holds; -1 where they are as many of what somebody else holds."""
    item: list[Any] = [np.empty(0)]
    alone = count(item[0])
    held = item[0]
    return alone if count(item[0]) == alone + 1 and held is item[0] else -1


_by_a_list = _counted_in_a_list()


class _Noted(list[int]):
    """Stands where the limit is and notes the counts that are compared with it."""

    def __ge__(self, counted: Any) -> bool:
        self.append(counted)
        return False


class _Twice(TapeEntry):
    """An entry that gives one new array to both its leaves."""

    __slots__ = ()

    def raw(self, grad: Any, F: Functions) -> Any:
        made = np.zeros(1)
        return made, made


def calibrated(passes: Any) -> int:
    """The limit for `passes.hand_over`: the references it counts of a gradient that nobody else holds; NEVER where it counts as many
    of one that somebody holds.

    Args:
        passes: the module of the engine, which counts with `_getrefcount` and reads the limit from `_alone`.
    """
    if counts_may_change():
        return NEVER
    noted = _Noted()
    entry: Any = _Twice()
    entry.id, entry.saved, entry.edges = 0, None, (TensorRef.of([0.0], requires_grad=True), TensorRef.of([0.0], requires_grad=True))
    before, passes._alone = passes._alone, noted
    try:
        passes.Engine(None, accumulate=lambda leaf, g, owned: None).run([(entry, np.zeros(1))])
    finally:
        passes._alone = before
    held, alone = noted  # the first leaf is handed what the second waits for
    return alone if alone < held else NEVER
