"""NumPy's arithmetic on one big array, and selection and copying, for threads to share.

``op`` names the operation (``OPS``): one loop each, chosen outside of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload

from .._common import (
    ABSOLUTE, AT_LEAST, AT_MOST, BETWEEN, CEILED, COPIED, DIVIDED, FILLED, FLOORED, INVERT, INVERTED, LARGER, MAGNITUDE, MORE, MULTIPLIED,
    NEGATE, NEGATED, OVER, PRODUCT, RAISED, ROOTED, SCALED, SIGNED, SMALLER, SQUARE, TILE, TIMES, TRUNCATED, WEIGHED, WITHIN,
)
from .base import EXACT, kernel, like, rounded, u8, wide
from .simd import borrowed


@kernel("i r0[n] w0[n] :n")
def each(op, x, y, start, stop):
    xs, ys = x[start:stop], y[start:stop]
    if op == NEGATE:
        for i in range(ys.size):
            ys[i] = -xs[i]
    elif op == ABSOLUTE:
        for i in range(ys.size):
            ys[i] = abs(xs[i])
    elif op == SQUARE:
        for i in range(ys.size):
            ys[i] = xs[i] * xs[i]
    elif op == INVERT:
        for i in range(ys.size):
            ys[i] = like(xs[i], 1) / xs[i]
    else:
        for i in range(ys.size):
            ys[i] = math.sqrt(xs[i])


@kernel("r1[n] r1[n] s w1[n] w1[n]? :n")
def scaled_differences(x, z, scale, dx, dz, start, stop):
    """``dx = (x - z) * scale``, and ``dz = -dx`` if it is not empty."""
    factor = x.dtype.type(scale)
    xs, zs, ys = x[start:stop], z[start:stop], dx[start:stop]
    if dz.size == 0:
        for i in range(ys.size):
            ys[i] = (xs[i] - zs[i]) * factor
        return
    ws = dz[start:stop]
    for i in range(ys.size):
        d = (xs[i] - zs[i]) * factor
        ys[i] = d
        ws[i] = -d


@kernel("r0[n] w0[n] i i :n", EXACT, "l")
def clamp_whole(x, y, low, high, start, stop):
    """Integers brought into bounds, the upper of which is the stronger."""
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        v = low if xs[i] < low else xs[i]
        ys[i] = high if v > high else v


@kernel("r0[n] w0[n] i i :n", EXACT, "l")
def threshold_whole(x, y, threshold, value, start, stop):
    """Integers that are above a threshold, and a value in the place of others."""
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = xs[i] if xs[i] > threshold else value


@kernel("w0[n] s :n", dtypes="fdHB")
def fill(y, number, start, stop):
    y[start:stop] = y.dtype.type(number)


@kernel("i i i i w2[two,n] (two==2) (row>=0) (col>=0) (row<2147483648) (col<2147483648) (offset<2147483648) (offset>-2147483648) :row",
        dtypes="l")
def triangle(lower, row, col, offset, y, start, stop):
    """Row and column of each element of a triangle, row after row: up to diagonal ``offset``, or from there on."""
    at = 0
    for r in range(stop):
        diagonal = min(max(r + offset + 1 - (not lower), 0), col)
        first, last = (0, diagonal) if lower else (diagonal, col)
        count = min(last - first, y.shape[1] - at)
        if r < start:
            at += count
        elif count < 16:  # too few for vectors
            for i in range(count):
                y[0, u8(at)], y[1, u8(at)] = r, first + i
                at += 1
        else:
            rows, cols = y[0, at : at + count], y[1, at : at + count]
            for i in range(rows.size):
                rows[i] = r
                cols[i] = first + i
            at += count


@kernel(
    "r1[span] w1[size] i i i i i i i (n1>0) (n2>0) (n3>0) (s0>=0) (s1>=0) (s2>=0) (s3>=0) (size%(n1*n2*n3)==0) "
    "((size==0)|((size//(n1*n2*n3)-1)*s0+(n1-1)*s1+(n2-1)*s2+(n3-1)*s3<span)) :size//(n2*n3)*((n2+63)//64)", dtypes="fdHB",
)
def gather(x, y, n1, n2, n3, s0, s1, s2, s3, start, stop):
    """Copies an array of four axes with strides ``s`` into C order; items are blocks of TILE rows of the last two."""
    blocks = (n2 + TILE - 1) // TILE
    for item in range(start, stop):
        outer, block = item // blocks, item % blocks
        source, target = outer // n1 * s0 + outer % n1 * s1, outer * n2 * n3
        for r in range(block * TILE, min(block * TILE + TILE, n2)) if s3 == 1 else range(0):
            xs, ys = x[source + r * s2 :], y[target + r * n3 : target + (r + 1) * n3]
            for i in range(ys.size):
                ys[i] = xs[i]
        for begin in range(0, n3, TILE) if s3 != 1 else range(0):
            for r in range(block * TILE, min(block * TILE + TILE, n2)):
                at, to, step = u8(source + r * s2 + begin * s3), u8(target + r * n3 + begin), u8(s3)
                for i in range(min(TILE, n3 - begin)):
                    y[to + u8(i)] = x[at + u8(i) * step]  # unsigned, or each is asked whether it counts from the end


@kernel("b1[n] r1[n] r1[n] w1[n] :n", dtypes="fdHB")
def select(mask, x, z, y, start, stop):
    ms, xs, zs, ys = mask[start:stop], x[start:stop], z[start:stop], y[start:stop]
    for i in range(ys.size):
        a, b = xs[i], zs[i]
        ys[i] = a if ms[i] else b


@kernel("b1[n] r1[n] s w1[n] :n")
def select_or(mask, x, number, y, start, stop):
    ms, xs, ys, z = mask[start:stop], x[start:stop], y[start:stop], x.dtype.type(number)
    for i in range(ys.size):
        a = xs[i]
        ys[i] = a if ms[i] else z


@kernel("b1[n] r1[n] s w1[n] :n")
def fill_where(mask, x, number, y, start, stop):
    ms, xs, ys, z = mask[start:stop], x[start:stop], y[start:stop], x.dtype.type(number)
    for i in range(ys.size):
        a = xs[i]
        ys[i] = z if ms[i] else a


@kernel("s s s i w1[n] (n<2147483648) :n", frozenset())
def line(first, last, step, half, y, start, stop):
    """``first + i * step`` for the first ``half`` numbers, ``last - (n - 1 - i) * step`` for the others, in the dtype's precision."""
    T = y.dtype.type
    a, b, s, end = T(first), T(last), T(step), y.size - 1
    for i in range(start, min(stop, half)):
        y[u8(i)] = a + T(np.int32(i)) * s  # what vectors can convert, and is not asked whether it counts from the end
    for i in range(max(start, half), stop):
        y[u8(i)] = b - T(np.int32(end - i)) * s


@kernel("s s i w1[n] (lanes>0) (n<2147483648) :n", frozenset())
def apart(first, step, lanes, y, start, stop):
    """``first + i * step`` in double precision, but in whole pairs of so many ``lanes``, a power of two, where each number is so many
    steps from the first of its lanes, rounded."""
    T, whole = y.dtype.type, y.size // (2 * lanes) * 2 * lanes
    for i in range(start, min(stop, whole)):
        k = np.int32(np.int32(i) & np.int32(lanes - 1))  # what vectors can convert
        y[u8(i)] = T(np.float64(T(first + np.float64(np.int32(np.int32(i) - k)) * step)) + np.float64(k) * step)
    for i in range(max(start, whole), stop):
        y[u8(i)] = T(first + np.float64(np.int32(i)) * step)


@kernel("i s r0[n] w0[n] :n", frozenset(), lists=True)
def change(op, value, x, y, start, stop):
    """``y`` in place: ``y + value * x`` (MORE), ``y * x``, ``y / x``, the larger or smaller of both; ``y + value`` (RAISED), ``y * value``,
    ``y / value``, ``y`` but no less or no more than ``value``, or no further from zero (WITHIN); ``value`` (FILLED), or ``x``; or a
    function of ``y`` alone (MAGNITUDE and so on), rounded correctly. Half precision computes in single."""
    xs, ys = x[start:stop], y[start:stop]
    if ys.size == 0:
        return
    v = like(wide(ys[0]), value)
    # Less zero, which the compiler does not know, a number is another: of one that stays as it is it would spare the writing, by stores
    # under a mask, which take six times as long.
    zero = v - v
    if op == MORE:
        for i in range(ys.size):
            ys[i] = rounded(ys, wide(ys[i]) + v * wide(xs[i]))
    elif op == TIMES:
        for i in range(ys.size):
            ys[i] = rounded(ys, wide(ys[i]) * wide(xs[i]))
    elif op == OVER:
        for i in range(ys.size):
            ys[i] = rounded(ys, wide(ys[i]) / wide(xs[i]))
    elif op == LARGER:
        for i in range(ys.size):
            a, b = wide(ys[i]) - zero, wide(xs[i])
            ys[i] = rounded(ys, a if (a > b) | (a != a) else b)
    elif op == SMALLER:
        for i in range(ys.size):
            a, b = wide(ys[i]) - zero, wide(xs[i])
            ys[i] = rounded(ys, a if (a < b) | (a != a) else b)
    elif op == RAISED:
        for i in range(ys.size):
            ys[i] = rounded(ys, wide(ys[i]) + v)
    elif op == MULTIPLIED:
        for i in range(ys.size):
            ys[i] = rounded(ys, wide(ys[i]) * v)
    elif op == DIVIDED:
        for i in range(ys.size):
            ys[i] = rounded(ys, wide(ys[i]) / v)
    elif op == AT_LEAST:
        for i in range(ys.size):
            a = wide(ys[i]) - zero
            ys[i] = rounded(ys, v if a < v else a)
    elif op == AT_MOST:
        for i in range(ys.size):
            a = wide(ys[i]) - zero
            ys[i] = rounded(ys, v if a > v else a)
    elif op == WITHIN:
        for i in range(ys.size):
            a = wide(ys[i]) - zero
            low = -v if a < -v else a
            ys[i] = rounded(ys, v if low > v else low)
    elif op == FILLED:
        for i in range(ys.size):
            ys[i] = rounded(ys, v)
    elif op == COPIED:
        for i in range(ys.size):
            ys[i] = xs[i]
    else:
        _alone(op, ys)


@njit(inline="always")
def _alone(op, ys):
    if op == MAGNITUDE:
        for i in range(ys.size):
            ys[i] = rounded(ys, abs(wide(ys[i])))
    elif op == NEGATED:
        for i in range(ys.size):
            ys[i] = rounded(ys, -wide(ys[i]))
    elif op == ROOTED:
        for i in range(ys.size):
            ys[i] = rounded(ys, np.sqrt(wide(ys[i])))
    elif op == INVERTED:
        one = like(wide(ys[0]), 1)
        for i in range(ys.size):
            ys[i] = rounded(ys, one / wide(ys[i]))
    elif op == SIGNED:
        zero, one = like(wide(ys[0]), 0), like(wide(ys[0]), 1)
        for i in range(ys.size):
            a = wide(ys[i])
            ys[i] = rounded(ys, (one if a > zero else zero) - (one if a < zero else zero))
    elif op == FLOORED:
        for i in range(ys.size):
            ys[i] = rounded(ys, np.floor(wide(ys[i])))
    elif op == CEILED:
        for i in range(ys.size):
            ys[i] = rounded(ys, np.ceil(wide(ys[i])))
    elif op == TRUNCATED:
        for i in range(ys.size):
            ys[i] = rounded(ys, np.trunc(wide(ys[i])))
    else:
        for i in range(ys.size):
            ys[i] = rounded(ys, np.rint(wide(ys[i])))


def _of(x: Any, i: Any) -> Any:
    """An element, or the one number."""
    return x[i] if np.ndim(x) else x


@overload(_of, inline="always", strict=False)
def _of_(x: object, i: object) -> object:
    return (lambda x, i: x[i]) if isinstance(x, types.Array) else (lambda x, i: x)


@njit(inline="always")
def _triple(op, value, xs, fs, gs, ys):
    """``x + a * value * b``, ``x + a * value / b``, ``x + value * (a * b)``, or what is between ``x`` and ``a``, from the nearer end, at
    ``value`` or at ``b``, each of which may be one number for all. Half precision computes in single."""
    if ys.size == 0:
        return
    first = wide(xs[0])
    v, one = like(first, value), like(first, 1)
    rest = one - v
    if op == BETWEEN:
        if like(first, -0.5) < v < like(first, 0.5):
            for i in range(ys.size):
                c = wide(xs[i])
                ys[i] = rounded(ys, c + v * (wide(_of(fs, i)) - c))
        else:
            for i in range(ys.size):
                c = wide(_of(fs, i))
                ys[i] = rounded(ys, c - (c - wide(xs[i])) * rest)
    elif op == WEIGHED:
        for i in range(ys.size):
            c, d, w = wide(xs[i]), wide(_of(fs, i)), wide(_of(gs, i))
            change = d - c
            near, far = c + w * change, d - change * (one - w)  # both, so that there is no branch
            ys[i] = rounded(ys, near if abs(w) < like(first, 0.5) else far)
    elif op == SCALED:
        for i in range(ys.size):
            ys[i] = rounded(ys, wide(xs[i]) + v * (wide(_of(fs, i)) * wide(_of(gs, i))))
    elif op == PRODUCT:
        for i in range(ys.size):
            ys[i] = rounded(ys, wide(xs[i]) + wide(_of(fs, i)) * v * wide(_of(gs, i)))
    else:
        for i in range(ys.size):
            ys[i] = rounded(ys, wide(xs[i]) + wide(_of(fs, i)) * v / wide(_of(gs, i)))


@kernel("i s r0[n] r0[n] r0[n] w0[n] :n", frozenset())
def triples(op, value, x, a, b, y, start, stop):
    _triple(op, value, x[start:stop], a[start:stop], b[start:stop], y[start:stop])


@kernel(
    "i s r0[nx] r0[na] r0[nb] w0[n1*n2*n3] i i i i i i i i i i i i (n1>0) (n2>0) (n3>0) (x1>=0) (x2>=0) (x3==1) (a1>=0) (a2>=0) (a3>=0) "
    "(a3<2) (b1>=0) (b2>=0) (b3>=0) (b3<2) ((n1-1)*x1+(n2-1)*x2+n3<=nx) ((n1-1)*a1+(n2-1)*a2+(n3-1)*a3<na) "
    "((n1-1)*b1+(n2-1)*b2+(n3-1)*b3<nb) :n1*n2", frozenset(), fresh=True,
)
def triples_of_lines(op, value, x, a, b, y, n1, n2, n3, x1, x2, x3, a1, a2, a3, b1, b2, b3, start, stop):
    """The same of operands that are broadcast, with their steps, of which the first has one for each place along a line."""
    x, a, b, y = borrowed(x), borrowed(a), borrowed(b), borrowed(y)
    for line in range(start, stop):
        plane, row = line // n2, line % n2
        of, at, by, to = plane * x1 + row * x2, plane * a1 + row * a2, plane * b1 + row * b2, line * n3
        xs, ys = x[of : of + n3], y[to : to + n3]
        if a3 and b3:
            _triple(op, value, xs, a[at : at + n3], b[by : by + n3], ys)
        elif a3:
            _triple(op, value, xs, a[at : at + n3], b[u8(by)], ys)
        elif b3:
            _triple(op, value, xs, a[u8(at)], b[by : by + n3], ys)
        else:
            _triple(op, value, xs, a[u8(at)], b[u8(by)], ys)


@kernel("i s r0[n] r0[n] w0[n] :n", frozenset(), lists=True)
def change_by_two(op, value, a, b, y, start, stop):
    """The same in place, of which the compiler knows that what is read and written is the same."""
    ys = y[start:stop]
    _triple(op, value, ys, a[start:stop], b[start:stop], ys)
