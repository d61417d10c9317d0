"""Sums and extrema of rows, and running sums."""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from .base import REORDER, extreme, kernel, rounded, row_total, wide

#: Columns that running sums go along together, and those of which each goes by itself.
TILE, FEW = 128, 8


@kernel("r2[n,m] w1[n] :n")
def sum_rows(x, y, start, stop):
    for r in range(start, stop):
        y[r] = row_total(x[r])


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


# An array (outer, n, inner) whose middle dimension something runs along; items are pairs of an outer index and a tile of inner ones.


@kernel("r0[outer*n*inner] w0[outer*n*inner] i i i i (outer>=0) (n>=0) (inner>=0) (float(outer)*n*inner<9e18) :outer*((inner+127)//128)")
def running_total(x, y, outer, n, inner, product, start, stop):
    """Running sums, or products."""
    tiles = (inner + TILE - 1) // TILE
    total = totals(x)
    if inner == 1:  # several rows at once, for each waits for its last sum
        total[0] = 1 if product else 0
        begin, item = total[0], start
        while item < stop:
            s0, s1, s2, s3 = begin, begin, begin, begin
            a, rows = item * n, min(4, stop - item)
            b, c, d = a + (n if rows > 1 else 0), a + (2 * n if rows > 2 else 0), a + (3 * n if rows > 3 else 0)
            for r in range(n):
                v0, v1, v2, v3 = wide(x[a + r]), wide(x[b + r]), wide(x[c + r]), wide(x[d + r])
                s0, s1, s2, s3 = (s0 * v0, s1 * v1, s2 * v2, s3 * v3) if product else (s0 + v0, s1 + v1, s2 + v2, s3 + v3)
                y[a + r] = rounded(y, s0)
                if rows > 1:
                    y[b + r] = rounded(y, s1)
                if rows > 2:
                    y[c + r] = rounded(y, s2)
                if rows > 3:
                    y[d + r] = rounded(y, s3)
            item += rows
        return
    for item in range(start, stop):
        a = (item % tiles) * TILE
        width, first = min(TILE, inner - a), item // tiles * n * inner + a
        for i in range(width):
            total[i] = 1 if product else 0
        if width < FEW:
            for i in range(width):
                s0 = total[i]
                for at in range(first + i, first + i + n * inner, inner):
                    v0 = wide(x[at])
                    s0 = s0 * v0 if product else s0 + v0
                    y[at] = rounded(y, s0)
            continue
        for r in range(n):
            at = first + r * inner
            if product:
                for i in range(width):
                    total[i] *= wide(x[at + i])
                    y[at + i] = rounded(y, total[i])
            else:
                for i in range(width):
                    total[i] += wide(x[at + i])
                    y[at + i] = rounded(y, total[i])


@kernel("r0[outer*n*inner] w0[outer*n*inner] Q0[outer*n*inner] i i i i (outer>=0) (n>=0) (inner>=0) (float(outer)*n*inner<9e18) "
        ":outer*((inner+127)//128)")
def running_extreme(x, values, index, outer, n, inner, smallest, start, stop):
    """Running maxima (or minima), and the last place that was as good as any before it, or NaN."""
    tiles = (inner + TILE - 1) // TILE
    for item in range(start, stop):
        a = (item % tiles) * TILE
        width, first = min(TILE, inner - a), item // tiles * n * inner + a
        for i in range(width if width < FEW and n > 0 else 0):
            at, best, place, r = first + i, x[first + i], 0, 0
            while r < n:  # a branch that is seldom taken: selections would wait for one another
                v, w = wide(x[at]), wide(best)
                if (not v > w) if smallest else (not v < w):
                    best, place = x[at], r
                    if v != v:
                        break
                values[at], index[at] = best, place
                at, r = at + inner, r + 1
            while r < n:
                v = wide(x[at])
                if v != v:
                    best, place = x[at], r
                values[at], index[at] = best, place
                at, r = at + inner, r + 1
        if width < FEW:
            continue
        for r in range(n):
            at, before = first + r * inner, first + max(r - 1, 0) * inner
            for i in range(width):
                v, w = wide(x[at + i]), wide(values[before + i] if r else x[at + i])
                better = v != v or (v <= w if smallest else v >= w)
                values[at + i] = x[at + i] if better else values[before + i]
                index[at + i] = r if better else index[before + i]
