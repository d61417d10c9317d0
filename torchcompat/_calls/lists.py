"""Lists of plain tensors, computed with by one call of machine code: what `foreach` has for a row, where nothing is recorded or looked at.

Of each operation it is said here which of the kernel's changes it is: by a number, by a tensor in each row, or by two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from autograd_tape.dtypes import Kind
from autograd_tape.executors.kernels._common import (
    AT_LEAST, AT_MOST, BETWEEN, CEILED, COPIED, DIVIDED, FILLED, FLOORED, INVERTED, LARGER, MAGNITUDE, MORE, MULTIPLIED, NEGATED, OVER,
    PRODUCT, QUOTIENT, RAISED, ROOTED, ROUNDED, SCALED, SIGNED, SMALLER, TIMES, TRUNCATED, WEIGHED, WITHIN,
)
from autograd_tape.executors.kernels.handy import Listed
from autograd_tape.executors.kernels.sharing import BIG, get_num_threads
from autograd_tape.modes import GradMode, grad_mode
from autograd_tape.version import Version

from .._tensor import Tensor, frontend

__all__ = ["CHANGES", "CLIPPED", "Change", "changed"]

_ENABLED = GradMode.ENABLED
_ONE, _TWO = Listed("arithmetic", "change"), Listed("arithmetic", "change_by_two")
_MOST = 1e4
"""The largest number that all dtypes hold and all operations take."""


def _rounded(value: float, kind: Kind) -> float:
    return float(kind.scalar(value)) if kind.np.itemsize == 2 else value


def _lowered(value: float, kind: Kind) -> float:
    return -float(_rounded(value, kind))  # of zero, too


def _as_it_is(value: float, kind: Kind) -> float:
    return value


class Change(NamedTuple):
    """What becomes of the first of each row.

    Attributes:
        kernel: what changes it, by one tensor beside it or by two.
        op: the kernel's name for it.
        number: what the kernel is given for the number that goes with them, which is 1 where there is none.
        half: the kernel's name for it in half precision, where that is another.
    """

    kernel: Listed
    op: int
    number: Callable[[float, Kind], float] = _as_it_is
    half: int | None = None


CHANGES: dict[tuple[str, int], Change] = {
    ("add", 0): Change(_ONE, RAISED, _rounded), ("add", 1): Change(_ONE, MORE, _rounded),
    ("sub", 0): Change(_ONE, RAISED, _lowered), ("sub", 1): Change(_ONE, MORE, _lowered),
    ("mul", 0): Change(_ONE, MULTIPLIED), ("mul", 1): Change(_ONE, TIMES),
    ("div", 0): Change(_ONE, DIVIDED), ("div", 1): Change(_ONE, OVER),
    **{(name, 0): Change(_ONE, AT_LEAST) for name in ("clamp_min", "maximum")},
    **{(name, 1): Change(_ONE, LARGER) for name in ("clamp_min", "maximum")},
    **{(name, 0): Change(_ONE, AT_MOST) for name in ("clamp_max", "minimum")},
    **{(name, 1): Change(_ONE, SMALLER) for name in ("clamp_max", "minimum")},
    ("addcmul", 2): Change(_TWO, PRODUCT, half=SCALED), ("addcdiv", 2): Change(_TWO, QUOTIENT),
    ("lerp", 1): Change(_TWO, BETWEEN), ("lerp", 2): Change(_TWO, WEIGHED),
    **{(name, 0): Change(_ONE, op) for name, op in (
        ("abs", MAGNITUDE), ("neg", NEGATED), ("sqrt", ROOTED), ("reciprocal", INVERTED), ("sign", SIGNED), ("floor", FLOORED),
        ("ceil", CEILED), ("trunc", TRUNCATED), ("round", ROUNDED))},
    ("zero", 0): Change(_ONE, FILLED, lambda value, kind: 0.0), ("copy", 1): Change(_ONE, COPIED),
}
"""By the operation's name, and how many tensors there are beside the first of a row."""
CLIPPED = Change(_ONE, WITHIN)
"""`clamp` to a number on both sides of zero."""


def changed(change: Change, lists: Sequence[Sequence[Tensor]], value: Any, inplace: bool = True) -> Sequence[Tensor] | None:
    """The tensors of the first list, of which there is one, changed in place, or what they become, by a number, or a tensor of one, whose
    value is asked for where nobody looks; None, and nothing has happened, where
    the rows are to be gone through one by one: they are not of one plain floating-point dtype, of one shape and in rows; somebody looks, or
    is to have gradients; or they are so big that threads should share them."""
    try:
        return _changed(change, lists, value, inplace)
    except (AttributeError, TypeError, ValueError):  # what the kernel does not take
        return None


def _changed(change: Change, lists: Sequence[Sequence[Tensor]], value: Any, inplace: bool) -> Sequence[Tensor] | None:
    first, kind, sets = lists[0], lists[0][0]._k, frontend.namespace
    if kind not in sets["Q_FLOAT"] and kind not in sets["Q_HALF"]:
        return None
    if value.__class__ is Tensor:
        if value._k is not kind or value._data.ndim or value._node is not None:
            return None
        value = float(value._data)
    if value.__class__ is not float and value.__class__ is not int or not -_MOST <= value <= _MOST:
        return None
    recording, data = grad_mode() is _ENABLED, []
    for x in first:
        if x._k is not kind or recording and (x._node is not None or inplace and (base := x._base) is not None and base._node is not None):
            return None
        data.append(x._data)
    others: list[list[Any]] = []
    for tensors in lists[1:]:
        others.append(operand := [])
        for x, z in zip(first, tensors):
            if z._k is not kind or recording and z._node is not None or inplace and z._v is x._v is not None and z is not x:
                return None
            operand.append(z._data)
    run = change.kernel.rows(kind.np.char, len(first))
    if run is None or get_num_threads() > 1 and any([x.size >= BIG for x in data]):
        return None
    if not inplace:
        if not all([x.flags.c_contiguous for x in data]):
            return None
        data = [x.copy() for x in data]
    target = tuple(data)
    given = [tuple(operand) for operand in others] or [target]
    run(change.op if change.half is None or kind.np.itemsize > 2 else change.half, change.number(value, kind), *given,
        *given[:change.kernel is _TWO and len(given) < 2], target)
    if inplace:
        Version.count_all(first)
        return first
    new = frontend.wrap
    return [new(x, kind) for x in target]
