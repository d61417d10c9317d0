"""Elements that keep their values and change places."""

from __future__ import annotations

from .base import kernel, u8


@kernel("r3[o,n,m] w3[o,n,m] :o", dtypes="fdHB")
def turn(x, y, start, stop):
    """``y[o, i] = x[o, n - 1 - i]`` for o in [start, stop)."""
    n = x.shape[1]
    for o in range(start, stop):
        if x.shape[2] == 1:
            xs, ys = x[o].reshape(-1), y[o].reshape(-1)
            for i in range(n):
                ys[u8(i)] = xs[u8(n - 1 - i)]  # unsigned, or each is asked whether it counts from the end
            continue
        for i in range(n):
            xs, ys = x[o, n - 1 - i], y[o, i]
            for j in range(ys.size):
                ys[j] = xs[j]


@kernel("r2[r,m] w2[r,m] i i i (n>0) :r", dtypes="fdHB")
def triangle(x, y, n, k, lower, start, stop):
    """Rows [start, stop) of matrices of ``n`` rows: column j of row i is kept where j - i <= k, with ``lower``; else where it is not."""
    m = x.shape[1]
    for r in range(start, stop):
        xs, ys = x[r], y[r]
        edge = min(max(r % n + k + 1, 0), m)
        if lower != 0:
            for j in range(edge):
                ys[j] = xs[j]
            for j in range(edge, m):
                ys[j] = 0
        else:
            for j in range(edge):
                ys[j] = 0
            for j in range(edge, m):
                ys[j] = xs[j]


@kernel("b2[r,c] Q1[n] Q1[n] i")
def places(mask, rows, columns, both):
    """Where a mask is set: in ``columns``, and in ``rows`` with ``both``, which have as many numbers as it has set elements."""
    at, end = u8(0), u8(columns.size)
    for r in range(mask.shape[0]):
        ms = mask[r]
        for i in range(ms.size):
            if at == end:
                return
            if both:
                rows[at] = r
            columns[at] = i
            at += u8(ms[i])  # without a branch that nobody foresees
