"""Sums and extrema of rows, running sums, and the best of each row."""

from __future__ import annotations

import numpy as np

from .base import extreme, kernel, row_total

#: Columns that running sums go along together.
TILE = 128


@kernel("r2 w1 i i")
def sum_rows(x, y, start, stop):
    for r in range(start, stop):
        y[r] = row_total(x[r])


@kernel("r2 w1 i i i")
def extreme_rows(x, y, smallest, start, stop):
    """The maximum of each row (or the minimum); NaN if there is one."""
    for r in range(start, stop):
        y[r] = extreme(x[r], smallest)


@kernel("r3 w3 i i")
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


@kernel("r2 w2 Q2 i i i")
def top_rows(x, values, index, largest, start, stop):
    """The best elements of each row in their order, the first of equal ones first; NaN is larger than all."""
    k = values.shape[1]
    for r in range(start, stop):
        xs, vs, ks = x[r], values[r], index[r]
        found = 0
        for i in range(xs.size):
            v = xs[i]
            at = min(found, k - 1)
            if found == k:
                w = vs[at]
                if not ((v > w or (v != v and w == w)) if largest else (v < w or (w != w and v == v))):
                    continue
            else:
                found += 1
            while at > 0:
                w = vs[at - 1]
                if not ((v > w or (v != v and w == w)) if largest else (v < w or (w != w and v == v))):
                    break
                vs[at], ks[at] = w, ks[at - 1]
                at -= 1
            vs[at], ks[at] = v, i
