"""Sums and extrema of rows, and running sums."""

from __future__ import annotations

import numpy as np

from .base import REORDER, extreme, kernel, row_total

#: Columns that running sums go along together.
TILE = 128


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


@kernel("r3[o,n,m] w3[o,n,m] :o*((m+127)//128)")
def cumsum(x, y, start, stop):
    """Running sums over the middle axis, in double precision; items are (outer, tile) pairs."""
    T = x.dtype.type
    inner = x.shape[2]
    tiles = (inner + TILE - 1) // TILE
    total = np.empty(TILE, np.float64)
    for item in range(start, stop):
        outer, a = item // tiles, (item % tiles) * TILE
        b = min(a + TILE, inner)
        if inner == 1:
            s = 0.0
            for r in range(x.shape[1]):
                s += np.float64(x[outer, r, 0])
                y[outer, r, 0] = T(s)
            continue
        ts = total[: b - a]
        ts[:] = 0.0
        for r in range(x.shape[1]):
            xs, ys = x[outer, r, a:b], y[outer, r, a:b]
            for i in range(ts.size):
                ts[i] += np.float64(xs[i])
                ys[i] = T(ts[i])


@kernel("r3[o,n,m] w3[o,n,m] Q3[o,n,m] i :o*((m+127)//128)")
def running_extreme(x, values, index, smallest, start, stop):
    """Running maxima (or minima) over the middle axis, and the last place that was as good as any before it, or NaN."""
    inner = x.shape[2]
    tiles = (inner + TILE - 1) // TILE
    for item in range(start, stop):
        outer, a = item // tiles, (item % tiles) * TILE
        b = min(a + TILE, inner)
        if inner == 1:
            for r in range(x.shape[1]):
                v = x[outer, r, 0]
                if r == 0:
                    best, at = v, r
                elif v != v or (v <= best if smallest else v >= best):
                    best, at = v, r
                values[outer, r, 0], index[outer, r, 0] = best, at
            continue
        for r in range(x.shape[1]):
            xs, vs, ks = x[outer, r, a:b], values[outer, r, a:b], index[outer, r, a:b]
            if r == 0:
                for i in range(xs.size):
                    vs[i], ks[i] = xs[i], 0
                continue
            before, places = values[outer, r - 1, a:b], index[outer, r - 1, a:b]
            for i in range(xs.size):
                v, w = xs[i], before[i]
                better = v != v or (v <= w if smallest else v >= w)
                vs[i] = v if better else w
                ks[i] = r if better else places[i]
