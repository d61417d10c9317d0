"""Sums and extrema of rows, and running sums."""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from .base import EXACT, REORDER, extreme, kernel, rounded, row_total, u8, wide, working

#: Columns that running sums go along together, and those of which each goes by itself.
TILE, FEW = 128, 8


@kernel("r2[n,m] w1[n] :n")
def sum_rows(x, y, start, stop):
    for r in range(start, stop):
        y[r] = row_total(x[r])


@kernel("r0[k] w0[o*total] i i i i i i (o>0) (count>0) (size>=0) (step>=0) (pitch>=0) (total>=0) ((count-1)*step+size<=total) "
        "((o*count-1)*pitch+size<=k) :o", EXACT)
def overlap(x, y, o, count, size, step, pitch, total, start, stop):
    """Rows [start, stop) of ``y``: sums of ``count`` windows of ``size`` numbers, ``step`` apart there and ``pitch`` in ``x``, the last one
    first."""
    for r in range(start, stop):
        row = y[r * total : (r + 1) * total]
        row[:] = 0
        for p in range(count - 1, -1, -1):
            xs, ys = x[(r * count + p) * pitch : (r * count + p) * pitch + size], row[p * step : p * step + size]
            for i in range(ys.size):
                ys[i] += xs[i]


@kernel("r3[o,n,m] w3[o,b,m] i (per_block>0) :o*b")
def sum_blocks(x, parts, per_block, start, stop):
    """Sums over the middle axis of ``x`` (outer, n, inner) in blocks of ``per_block``: ``parts`` (outer, blocks, inner)."""
    blocks = parts.shape[1]
    for item in range(start, stop):
        outer, block = item // blocks, item % blocks
        r, last = block * per_block, min((block + 1) * per_block, x.shape[1])
        ys = parts[outer, block]
        ys[:] = 0
        while r + 4 <= last:  # four rows at once: sums are read and written a quarter as often
            x0, x1, x2, x3 = x[outer, r], x[outer, r + 1], x[outer, r + 2], x[outer, r + 3]
            for i in range(ys.size):
                ys[i] += (x0[i] + x1[i]) + (x2[i] + x3[i])
            r += 4
        while r < last:
            xs = x[outer, r]
            for i in range(ys.size):
                ys[i] += xs[i]
            r += 1


@kernel("r1[n] r1[n] D1[b] :b", REORDER)
def square_distances(x, z, parts, start, stop):
    """``sum((x - z)**2)`` over blocks [start, stop) of 4096 elements."""
    T = x.dtype.type
    for block in range(start, stop):
        xs, zs = x[block * 4096 : (block + 1) * 4096], z[block * 4096 : (block + 1) * 4096]
        s = T(0)
        for i in range(xs.size):
            d = xs[i] - zs[i]
            s += d * d
        parts[block] = s


@kernel("r2[n,m] w1[n] i :n")
def extreme_rows(x, y, smallest, start, stop):
    """The maximum of each row (or the minimum); NaN if there is one."""
    for r in range(start, stop):
        y[r] = extreme(x[r], smallest)


def totals(x):
    """What running totals over an array are kept in: double precision for float32, float32 for half precision, int64."""
    return np.empty(TILE, np.int64 if x.dtype.kind == "i" else np.float64)


@overload(totals, strict=False)
def _totals(x):
    kind = np.int64 if x.dtype == types.int64 else np.float32 if x.dtype in (types.uint16, types.int16) else np.float64
    return lambda x: np.empty(TILE, kind)


# An array (outer, n, inner) whose middle dimension something runs along, and which lies in memory by a step along each; items are pairs of
# an outer index and a tile of inner ones. Results lie in order. Places are unsigned, or each is asked whether it counts from the end.
_LINES = ("i i i i i i i (outer>=0) (n>=0) (inner>=0) (s0>=0) (s1>=0) (s2>=0) "
          "((outer*n*inner==0)|((outer-1)*s0+(n-1)*s1+(inner-1)*s2<span)) "
          ":outer*((inner+127)//128)")


@register_jitable(inline="always")
def _total(x, y, n, inner, s0, s1, s2, product, start, stop):
    tiles = (inner + TILE - 1) // TILE
    total, count, step, item = totals(x), u8(n), u8(s1), start
    total[0] = 1 if product else 0
    one = total[0]
    while inner == 1 and item < stop:  # several rows at once, for each waits for its last sum
        at, b, c, d = u8(item * s0), u8(s0), u8(2 * s0), u8(3 * s0)
        to, e, f, g = u8(item * n), count, count * u8(2), count * u8(3)
        t0, t1, t2, t3 = one, one, one, one
        if item + 4 <= stop and product:
            for _ in range(count):
                t0, t1, t2, t3 = t0 * wide(x[at]), t1 * wide(x[at + b]), t2 * wide(x[at + c]), t3 * wide(x[at + d])
                y[to], y[to + e], y[to + f], y[to + g] = rounded(y, t0), rounded(y, t1), rounded(y, t2), rounded(y, t3)
                at, to = at + step, to + u8(1)
        elif item + 4 <= stop:
            for _ in range(count):
                t0, t1, t2, t3 = t0 + wide(x[at]), t1 + wide(x[at + b]), t2 + wide(x[at + c]), t3 + wide(x[at + d])
                y[to], y[to + e], y[to + f], y[to + g] = rounded(y, t0), rounded(y, t1), rounded(y, t2), rounded(y, t3)
                at, to = at + step, to + u8(1)
        else:
            for _ in range(count):
                t0 = t0 * wide(x[at]) if product else t0 + wide(x[at])
                y[to] = rounded(y, t0)
                at, to = at + step, to + u8(1)
        item += 4 if item + 4 <= stop else 1
    for item in range(start, stop if inner > 1 else start):
        a = (item % tiles) * TILE
        width, first, begin = min(TILE, inner - a), u8(item // tiles * n * inner + a), u8(item // tiles * s0 + a * s2)
        for i in range(width):
            total[i] = one
        for i in range(width if width < FEW else 0):
            t0, at, to = one, begin + u8(i * s2), first + u8(i)
            for _ in range(count):
                t0 = t0 * wide(x[at]) if product else t0 + wide(x[at])
                y[to] = rounded(y, t0)
                at, to = at + step, to + u8(inner)
        for r in range(n if width >= FEW else 0):
            at, to = begin + u8(r * s1), first + u8(r * inner)
            if s2 != 1:
                for i in range(width):
                    v = wide(x[at + u8(i) * u8(s2)])
                    total[i] = total[i] * v if product else total[i] + v
                    y[to + u8(i)] = rounded(y, total[i])
            elif product:
                for i in range(width):
                    total[i] *= wide(x[at + u8(i)])
                    y[to + u8(i)] = rounded(y, total[i])
            else:
                for i in range(width):
                    total[i] += wide(x[at + u8(i)])
                    y[to + u8(i)] = rounded(y, total[i])


@kernel(f"r0[span] w0[outer*n*inner] {_LINES}", dtypes="fdEel")
def running_total(x, y, outer, n, inner, s0, s1, s2, product, start, stop):
    """Running sums, or products."""
    _total(x, y, n, inner, s0, s1, s2, product, start, stop)


@kernel("w0[outer*n*inner] i i i i (outer>=0) (n>=0) (inner>=0) :outer*((inner+127)//128)", dtypes="fdEel")
def running_total_within(y, outer, n, inner, product, start, stop):
    """The same over the array itself: the compiler knows that what is read and written is the same."""
    _total(y, y, n, inner, n * inner, inner, 1, product, start, stop)


@kernel(f"r0[span] w0[outer*n*inner] Q0[outer*n*inner] {_LINES}")
def running_extreme(x, values, index, outer, n, inner, s0, s1, s2, smallest, start, stop):
    """Running maxima (or minima), and the last place that was as good as any before it, or NaN."""
    tiles, count = (inner + TILE - 1) // TILE, u8(n)
    for item in range(start, stop):
        a = (item % tiles) * TILE
        width, first, begin = min(TILE, inner - a), u8(item // tiles * n * inner + a), u8(item // tiles * s0 + a * s2)
        for i in range(width if width < FEW and n > 0 else 0):
            at, to, place, r = begin + u8(i * s2), first + u8(i), u8(0), u8(0)
            best = x[at]
            while r < count:  # a branch that is seldom taken: selections would wait for one another
                v, w = wide(x[at]), wide(best)
                if (not v > w) if smallest else (not v < w):
                    best, place = x[at], r
                    if v != v:
                        break
                values[to], index[to] = best, place
                at, to, r = at + u8(s1), to + u8(inner), r + u8(1)
            while r < count:
                v = wide(x[at])
                if v != v:
                    best, place = x[at], r
                values[to], index[to] = best, place
                at, to, r = at + u8(s1), to + u8(inner), r + u8(1)
        if width < FEW:
            continue
        for r in range(n):
            at, to, before = begin + u8(r * s1), first + u8(r * inner), first + u8(max(r - 1, 0) * inner)
            for i in range(width):
                number = x[at + u8(i) * u8(s2)] if s2 != 1 else x[at + u8(i)]
                v, w = wide(number), wide(values[before + u8(i)] if r else number)
                better = v != v or (v <= w if smallest else v >= w)
                values[to + u8(i)] = number if better else values[before + u8(i)]
                index[to + u8(i)] = r if better else index[before + u8(i)]


@kernel("r0[n] Q1[bins] i s s (bins>0)", EXACT)
def binned(x, counts, bins, low, high):
    """How many numbers fall into each of the bins between two numbers."""
    least, most, last = working(x, low), working(x, high), bins - 1
    many, span = working(x, bins), working(x, high - low)
    for i in range(x.size):
        v = x[i]
        if v >= least and v <= most:
            place = (v - least) * many / span
            counts[bins // 2 if place != place else np.int64(place) if place < last else last] += 1
