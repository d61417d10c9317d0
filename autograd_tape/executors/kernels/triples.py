"""Element-wise operations of three arrays in one pass, which NumPy does in three or more: addcmul, addcdiv and lerp, with the same bits."""

from __future__ import annotations

from functools import lru_cache, wraps
from math import prod
from typing import Any

import numpy as np

from ...annotations import Fn
from ._common import BETWEEN, PRODUCT, QUOTIENT, SCALED, WEIGHED
from .elementwise import spread, takes_half
from .halves import narrow, widened
from .handy import LITTLE, Exact, Handy
from .pairs import steps_of
from .sharing import apart
from ._on_demand import _NEVER, contiguous, state

__all__ = ["BETWEEN", "PRODUCT", "QUOTIENT", "SCALED", "WEIGHED", "of_halves", "triple"]

_triples, _of_lines = Exact("arithmetic", "triples"), Handy("arithmetic", "triples_of_lines")
_ready = _triples.at_hand
_MOVED = 2048  # elements that are turned without looking how they lie


def of_halves(formula: Fn) -> Fn:
    """A record's kernel of three arrays that takes half precision: by `triple`, where the formula asks that first, else in single."""
    @wraps(formula)
    def kernel(x: np.ndarray, a: np.ndarray, b: np.ndarray, *how: Any) -> Any:
        if (found := formula(x, a, b, *how)) is not None:
            return found
        half = x.dtype if x.itemsize == 2 else a.dtype
        return narrow(formula(*[widened(y) if y.itemsize == 2 else y for y in (x, a, b)], *how), half)

    kernel.takes_number = True  # type: ignore[attr-defined]  # in single precision, beside them
    return takes_half(kernel)


def triple(op: int, value: float, x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """``x + a * value * b`` (PRODUCT), ``x + a * value / b`` (QUOTIENT), ``x + value * (a * b)`` (SCALED), or ``x`` moved by ``value``
    (BETWEEN) or by ``b`` (WEIGHED) of the way to ``a``; half precision is rounded once. None where NumPy is to compute it: for arrays that
    are not of one dtype, float32, float64 or half precision, for results that do not lie in rows, and for few numbers."""
    dtype, shape, char = x.dtype, x.shape, x.dtype.char
    if (run := _ready.get(char)) is not None and a.dtype is dtype and b.dtype is dtype and a.shape == shape == b.shape and (
            n := x.size) < LITTLE and state.fused != _NEVER:
        rows = x.flags.c_contiguous
        if not rows and n < _MOVED and x.flags.f_contiguous and 1 not in shape:
            one, x, a = b is a, x.T, _column(a)
            b = a if one else _column(b)
        if x.flags.c_contiguous and a.flags.c_contiguous and b.flags.c_contiguous:
            out = np.empty(x.shape, dtype)
            try:
                run(n, 1, op, value, x, a, b, out)
            except TypeError:  # memory that is not aligned, a number that is complex
                return None
            return out if rows else out.T
    if a.dtype is not dtype or b.dtype is not dtype or char not in "fdeE":
        return None
    if a.shape != shape or b.shape != shape:
        if (found := _joint(shape, a.shape, b.shape)) is None:
            return None
        joint, n, steps = found
        if steps is not None and x.flags.c_contiguous and a.flags.c_contiguous and b.flags.c_contiguous and (
                run := _of_lines.of(char, n) if n < state.fused else _of_lines.surely(char)) is not None:
            out = np.empty(joint, dtype)
            try:
                if n < LITTLE:
                    run(steps[0] * steps[1], 1, op, value, x, a, b, out, *steps)
                else:
                    _of_lines.share(char, steps[0] * steps[1], steps[2], 1, op, value, x, a, b, out, *steps)
            except TypeError:  # memory that is not aligned, a number that is complex
                return None
            return out
        if joint != shape:
            shape, x = joint, _in_rows(x, joint)
        one, large = a is b, _in_rows if x.flags.c_contiguous else _as_first
        a = a if a.shape == shape else large(a, shape, x)
        b = a if one else b if b.shape == shape else large(b, shape, x)
    columns = False
    if not (x.flags.c_contiguous and a.flags.c_contiguous and b.flags.c_contiguous):
        one, columns = a is b, x.flags.fnc
        if not columns and not x.flags.c_contiguous and not apart(x):
            return None
        x, a, b = (x.T, a.T, a if one else b.T) if columns else (x, a, b)
        x, a = contiguous(x), contiguous(a)
        b = a if one else contiguous(b)
    if (run := _triples.over(char, n := x.size)) is None:
        return None
    out = np.empty(x.shape, dtype)
    try:
        run(n, 1, op, value, x, a, b, out)
    except TypeError:  # memory that is not aligned, a number that is complex
        return None
    return out.T if columns else out


def _column(a: np.ndarray) -> np.ndarray:
    """The transposed, in rows."""
    return a.T if a.flags.f_contiguous else a.T.copy()


def _in_rows(a: np.ndarray, shape: tuple[int, ...], x: np.ndarray | None = None) -> np.ndarray:
    """A copy of ``a`` of a shape to which it is broadcast, in rows."""
    out = np.empty(shape, a.dtype)
    if a.itemsize == 2:  # which NumPy moves as bits, and not number by number
        out.view(np.uint16)[...] = a.view(np.uint16)
    else:
        out[...] = a
    return out


def _as_first(a: np.ndarray, shape: tuple[int, ...], x: np.ndarray) -> np.ndarray:
    """The same, lying in memory as ``x`` does."""
    return spread(a, x)


@lru_cache(1024)
def _joint(*shapes: tuple[int, ...]) -> tuple[tuple[int, ...], int, tuple[int, ...] | None] | None:
    """What operands are broadcast to, its elements, and their sizes and steps where the first has one for each place along a line; None
    where they do not fit, or there are no elements."""
    try:
        joint = np.broadcast_shapes(*shapes)
    except ValueError:
        return None
    steps = None if 0 in joint else steps_of(joint, *shapes)
    return None if 0 in joint else (joint, prod(joint), steps if steps is not None and steps[5] == 1 else None)
