"""Element-wise functions that write over their first operand, of which the compiler knows that what is read and written is the same.

``op`` names the function, chosen outside of the loops. The first operand lies in rows, of three dimensions; others lie in rows of their
own, and have a step along each of them, none where they are repeated. Items of what has several operands are lines.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from ....annotations import Fn
from .._in_place import (
    ALL_BITS, ALL_TRUE, ANY_BITS, ANY_TRUE, BOUNDED, EQUAL, FINITE, FRACTION, GREATER, GREATER_EQUAL, INVERTED, LESS, LESS_EQUAL, MAGNITUDE,
    NOT_EQUAL, ONE_BIT, ONE_TRUE, ROOTED, ROOT_INVERTED, SHIFTED_LEFT, SHIFTED_RIGHT, SIGNED, SQUARED,
)
from .arithmetic import _triple
from .base import EXACT, i4, kernel, like, rounded, u8, wide
from .simd import borrowed

SHORT = 8
"""Elements of a line that takes longer to begin than to do."""
BLOCK = 1024
"""Elements of lines that are copied at a time."""
LOOKED = 32
"""Elements that are looked at before all are."""
_INLINE: Any = {"nogil": True, "error_model": "numpy", "forceinline": True}
_LINES = ("i r0[nz] w0[n1*n2*n3] i i i i i i (n1>0) (n2>0) (n3>0) (n1*n2<=2147483648) (z1>=0) (z2>=0) (z3>=0) (z3<2) "
          "((n1-1)*z1+(n2-1)*z2+(n3-1)*z3<nz) :n1*n2")


@kernel("i s s s s w0[n] :n", EXACT)
def alone(op, low, high, value, zero, y, start, stop):
    """What is brought into bounds (BOUNDED), or has ``value`` in the place of NaN and the bounds in that of infinities (FINITE); what is
    behind the point; 1 / the root; the square, the root and the inverse. ``zero`` is that, which the compiler does not know: of a number
    that stays as it is it would spare the writing, by stores under a mask."""
    ys = y[start:stop]
    if ys.size == 0:
        return
    first = wide(ys[0])
    a, b, c, d, one = like(first, low), like(first, high), like(first, value), like(first, zero), like(first, 1)
    if op == BOUNDED:
        for i in range(ys.size):
            v = wide(ys[i]) - d
            v = a if v < a else v
            ys[i] = rounded(ys, b if v > b else v)
    elif op == FINITE:
        top = like(first, np.inf)
        for i in range(ys.size):
            v = wide(ys[i]) - d
            ys[i] = rounded(ys, c if v != v else b if v == top else a if v == -top else v)
    elif op == FRACTION:
        for i in range(ys.size):
            v = wide(ys[i])
            ys[i] = rounded(ys, v - np.trunc(v))
    elif op == ROOT_INVERTED:
        for i in range(ys.size):
            ys[i] = rounded(ys, one / np.sqrt(wide(ys[i])))
    elif op == SQUARED:
        for i in range(ys.size):
            v = wide(ys[i])
            ys[i] = rounded(ys, v * v)
    elif op == ROOTED:
        for i in range(ys.size):
            ys[i] = rounded(ys, np.sqrt(wide(ys[i])))
    elif op == INVERTED:
        for i in range(ys.size):
            ys[i] = rounded(ys, one / wide(ys[i]))


@kernel("i i i i w0[n] :n", EXACT, "l")
def alone_whole(op, low, high, zero, y, start, stop):
    """The same of integers: in bounds, the magnitude, and the sign."""
    ys = y[start:stop]
    if op == BOUNDED:
        for i in range(ys.size):
            v = ys[i] - zero
            v = low if v < low else v
            ys[i] = high if v > high else v
    elif op == MAGNITUDE:
        for i in range(ys.size):
            v = ys[i] - zero
            ys[i] = -v if v < 0 else v
    elif op == SIGNED:
        for i in range(ys.size):
            v = ys[i]
            ys[i] = (1 if v > 0 else 0) - (1 if v < 0 else 0)


@register_jitable(**_INLINE)
def _rests(low, high, nans, x):
    return (x == low) | (x == high) | nans & (x != x)


@kernel("s s i s r0[n] w0[m] (n<=65536) (m==n+1) :1", EXACT, "fd")
def moving(low, high, nans, value, ys, zs, start, stop):
    """Numbers, but ``value`` in the place of those that are ``low``, ``high``, or NaN where those count, and last how many these are: which
    is all that is written if none is among some that are looked at first."""
    if ys.size == 0:
        return
    zs[ys.size] = 0
    first = ys[0]
    a, b, c, any_nan, found = like(first, low), like(first, high), like(first, value), nans != 0, 0
    for i in range(0, ys.size, ys.size // LOOKED + 1):
        found += _rests(a, b, any_nan, ys[i])
    if found == 0:
        return
    zero, one = i4(0), i4(1)
    number = zero  # of 32 bits, as those of the elements or half as many
    for i in range(ys.size):
        rests = _rests(a, b, any_nan, ys[i])
        number = i4(number + (one if rests else zero))
        zs[i] = c if rests else ys[i]
    zs[ys.size] = number


@kernel("s s i r0[m] w0[n] (m==n+1) :n", EXACT, "fd")
def moved(low, high, nans, z, y, start, stop):
    """Puts ``z`` in the place of numbers that do not rest; see `moving`."""
    zs, ys = z[start:stop], y[start:stop]
    if ys.size == 0:
        return
    a, b, any_nan = like(ys[0], low), like(ys[0], high), nans != 0
    for i in range(ys.size):
        v = ys[i]
        ys[i] = v if _rests(a, b, any_nan, v) else zs[i]


def _over_lines(formula: Fn, truth: bool) -> Fn:
    """A loop over lines of ``formula(a, b)``, for operands like its arguments; of `truth` values, zeros and ones."""
    number = register_jitable(**_INLINE)(formula)

    @register_jitable(**_INLINE)
    def line(z, y, step):
        """One line, in all of which the other operand is one number where there is no `step`."""
        if y.size == 0:
            return
        first = wide(y[0])
        yes, no = rounded(y, like(first, 1)), rounded(y, like(first, 0))
        if step:
            for i in range(y.size):
                y[i] = (yes if number(wide(y[i]), wide(z[i])) else no) if truth else number(y[i], z[i])
        else:
            b, own = wide(z[0]), z[0]
            for i in range(y.size):
                y[i] = (yes if number(wide(y[i]), b) else no) if truth else number(y[i], own)

    @register_jitable(**_INLINE)
    def run(z, y, n2, n3, z1, z2, z3, start, stop):
        at = start
        while at < stop:
            plane, row = at // n2, at % n2
            rows, by = min(n2 - row, stop - at), plane * z1 + row * z2
            if n3 >= SHORT or rows < SHORT:
                for j in range(rows):
                    of, to = by + j * z2, (at + j) * n3
                    line(z[of : of + 1 + (n3 - 1) * z3], y[to : to + n3], z3)
            else:  # one place of all lines after another
                first = wide(y[0])
                yes, no = rounded(y, like(first, 1)), rounded(y, like(first, 0))
                for i in range(n3):
                    for j in range(rows):
                        of, to = by + j * z2 + i * z3, (at + j) * n3 + i
                        y[to] = (yes if number(wide(y[to]), wide(z[of])) else no) if truth else number(y[to], z[of])
            at += rows

    return run


_equal, _not_equal = _over_lines(lambda a, b: a == b, True), _over_lines(lambda a, b: a != b, True)
_less, _less_equal = _over_lines(lambda a, b: a < b, True), _over_lines(lambda a, b: a <= b, True)
_greater, _greater_equal = _over_lines(lambda a, b: a > b, True), _over_lines(lambda a, b: a >= b, True)
_all_true, _any_true = _over_lines(lambda a, b: (a != 0) & (b != 0), True), _over_lines(lambda a, b: (a != 0) | (b != 0), True)
_one_true = _over_lines(lambda a, b: (a != 0) ^ (b != 0), True)
_all_bits, _any_bits = _over_lines(lambda a, b: a & b, False), _over_lines(lambda a, b: a | b, False)
_one_bit = _over_lines(lambda a, b: a ^ b, False)
_shifted_left = _over_lines(lambda a, b: a << b if (b >= 0) & (b < 64) else 0, False)
_shifted_right = _over_lines(lambda a, b: a >> (b if (b >= 0) & (b < 64) else 63), False)


@kernel(_LINES, EXACT, "fdEelB")
def tested(op, z, y, n1, n2, n3, z1, z2, z3, start, stop):
    """One where a comparison with ``z``, or a conjunction, is true, else zero."""
    z, y = borrowed(z), borrowed(y)
    if op == EQUAL:
        _equal(z, y, n2, n3, z1, z2, z3, start, stop)
    elif op == NOT_EQUAL:
        _not_equal(z, y, n2, n3, z1, z2, z3, start, stop)
    elif op == LESS:
        _less(z, y, n2, n3, z1, z2, z3, start, stop)
    elif op == LESS_EQUAL:
        _less_equal(z, y, n2, n3, z1, z2, z3, start, stop)
    elif op == GREATER:
        _greater(z, y, n2, n3, z1, z2, z3, start, stop)
    elif op == GREATER_EQUAL:
        _greater_equal(z, y, n2, n3, z1, z2, z3, start, stop)
    elif op == ALL_TRUE:
        _all_true(z, y, n2, n3, z1, z2, z3, start, stop)
    elif op == ANY_TRUE:
        _any_true(z, y, n2, n3, z1, z2, z3, start, stop)
    elif op == ONE_TRUE:
        _one_true(z, y, n2, n3, z1, z2, z3, start, stop)


@kernel(_LINES, EXACT, "lB")
def combined(op, z, y, n1, n2, n3, z1, z2, z3, start, stop):
    """Bits of both, or shifted by as many as ``z`` says."""
    z, y = borrowed(z), borrowed(y)
    if op == ALL_BITS:
        _all_bits(z, y, n2, n3, z1, z2, z3, start, stop)
    elif op == ANY_BITS:
        _any_bits(z, y, n2, n3, z1, z2, z3, start, stop)
    elif op == ONE_BIT:
        _one_bit(z, y, n2, n3, z1, z2, z3, start, stop)
    elif op == SHIFTED_LEFT:
        _shifted_left(z, y, n2, n3, z1, z2, z3, start, stop)
    elif op == SHIFTED_RIGHT:
        _shifted_right(z, y, n2, n3, z1, z2, z3, start, stop)


@register_jitable(**_INLINE)
def _lay(lines, to, z, at, rows, n, by, step):
    """Puts rows of ``n`` elements into `lines`, from the place `to` on, of those of ``z`` that are steps `by` rows and along them apart."""
    if n >= SHORT or rows < SHORT:
        for j in range(rows):
            for i in range(n):
                lines[u8(to + j * n + i)] = z[u8(at + j * by + i * step)]
    else:  # one place of all lines after another
        for i in range(n):
            for j in range(rows):
                lines[u8(to + j * n + i)] = z[u8(at + j * by + i * step)]


@kernel(
    "i s r0[na] r0[nb] w0[n1*n2*n3] i i i i i i i i i (n1>0) (n2>0) (n3>0) (n1*n2<=2147483648) (a1>=0) (a2>=0) (a3>=0) (b1>=0) "
    "(b2>=0) (b3>=0) ((n1-1)*a1+(n2-1)*a2+(n3-1)*a3<na) ((n1-1)*b1+(n2-1)*b2+(n3-1)*b3<nb) :n1*n2", EXACT, "fdEe",
)
def by_two(op, value, a, b, y, n1, n2, n3, a1, a2, a3, b1, b2, b3, start, stop):
    """What `arithmetic.change_by_two` does, by operands that are broadcast, or lie in another order. Of what is repeated along a line there
    is a line; of short lines, and of those of other orders, there are copies, some lines at a time."""
    a, b, y = borrowed(a), borrowed(b), borrowed(y)
    plane, row = start // n2, start % n2
    line, copied = start, n3 < SHORT or a3 > 1 or b3 > 1 or a3 + b3 == 0
    some = max(1, min(BLOCK // n3, stop - start)) if copied else 1
    f, g = np.empty(some * n3, y.dtype), np.empty(some * n3 if copied else 0, y.dtype)
    same_a, same_b = copied and a1 == 0 and a2 == 0, copied and b1 == 0 and b2 == 0
    if same_a:
        _lay(f, 0, a, 0, some, n3, 0, a3)
    if same_b:
        _lay(g, 0, b, 0, some, n3, 0, b3)
    while line < stop:
        lines, done = min(some, stop - line), 0
        ys = y[line * n3 : (line + lines) * n3]
        while done < lines:
            at, by, rows = plane * a1 + row * a2, plane * b1 + row * b2, min(n2 - row, lines - done)
            if not copied:
                if a3 and b3:
                    _triple(op, value, ys, a[at : at + n3], b[by : by + n3], ys)
                elif a3:
                    f[:] = b[by]
                    _triple(op, value, ys, a[at : at + n3], f, ys)
                else:
                    f[:] = a[at]
                    _triple(op, value, ys, f, b[by : by + n3], ys)
            else:
                if not same_a:
                    _lay(f, done * n3, a, at, rows, n3, a2, a3)
                if not same_b:
                    _lay(g, done * n3, b, by, rows, n3, b2, b3)
            done, row = done + rows, row + rows
            if row == n2:
                plane, row = plane + 1, 0
        if copied:
            _triple(op, value, ys, f[: ys.size], g[: ys.size], ys)
        line += lines
