"""Adding into rows and elements that an index names (indices are checked by the caller)."""

from __future__ import annotations

from .base import kernel


@kernel("r2 q1 w2 Q1 i i")
def take_rows(table, index, y, bad, start, stop):
    """``y[i] = table[index[i]]``; sets ``bad[0]`` where there is no such row."""
    for i in range(start, stop):
        k = index[i]
        if k < 0 or k >= table.shape[0]:
            bad[0] = 1
            continue
        xs, ys = table[k], y[i]
        for j in range(ys.size):
            ys[j] = xs[j]


@kernel("w2 q1 r2 i i")
def add_rows(target, index, rows, start, stop):
    """Columns [start, stop) of ``target[index[i]] += rows[i]``."""
    for i in range(index.size):
        ts, rs = target[index[i], start:stop], rows[i, start:stop]
        for j in range(ts.size):
            ts[j] += rs[j]


@kernel("w1 q1 r1")
def add_elements(target, index, values):
    for i in range(index.size):
        target[index[i]] += values[i]


@kernel("w3 q3 r3 i i")
def scatter_add(out, index, source, start, stop):
    """``out[o, index[o, k, i], i] += source[o, k, i]`` for o in [start, stop)."""
    for o in range(start, stop):
        if out.shape[2] == 1:
            ts, column, values = out[o].reshape(-1), index[o].reshape(-1), source[o].reshape(-1)
            for k in range(column.size):
                ts[column[k]] += values[k]
            continue
        for k in range(index.shape[1]):
            ks, ss = index[o, k], source[o, k]
            for i in range(ks.size):
                out[o, ks[i], i] += ss[i]
