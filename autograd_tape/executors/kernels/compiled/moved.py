"""Elements that keep their values and change places."""

from __future__ import annotations

from .base import kernel


@kernel("r3[o,n,m] w3[o,n,m] :o")
def turn(x, y, start, stop):
    """``y[o, i] = x[o, n - 1 - i]`` for o in [start, stop)."""
    n = x.shape[1]
    for o in range(start, stop):
        if x.shape[2] == 1:
            xs, ys = x[o].reshape(-1), y[o].reshape(-1)
            for i in range(n):
                ys[i] = xs[n - 1 - i]
            continue
        for i in range(n):
            xs, ys = x[o, n - 1 - i], y[o, i]
            for j in range(ys.size):
                ys[j] = xs[j]


@kernel("r2[r,m] w2[r,m] i i i (n>0) :r")
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
