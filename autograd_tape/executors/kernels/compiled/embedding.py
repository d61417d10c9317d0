"""Taking from, and adding into, rows and elements that an index names: False where there is no such row or element."""

from __future__ import annotations

from .base import kernel


@kernel("r2[v,m] x1[n] w2[n,m] :n")
def take_rows(table, index, y, start, stop):
    """``y[i] = table[index[i]]``."""
    for i in range(start, stop):
        k = index[i]
        if k < 0 or k >= table.shape[0]:
            return False
        xs, ys = table[k], y[i]
        for j in range(ys.size):
            ys[j] = xs[j]
    return True


@kernel("w2[v,m] x1[n] r2[n,m] |m")
def add_rows(target, index, rows, start, stop):
    """Columns [start, stop) of ``target[index[i]] += rows[i]``."""
    for i in range(index.size):
        k = index[i]
        if k < 0 or k >= target.shape[0]:
            return False
        ts, rs = target[k, start:stop], rows[i, start:stop]
        for j in range(ts.size):
            ts[j] += rs[j]
    return True


@kernel("w3[o,v,m] x1[k] r3[o,k,m] :o")
def add_parts(target, index, parts, start, stop):
    """``target[o, index[i]] += parts[o, i]`` for o in [start, stop)."""
    for o in range(start, stop):
        for i in range(index.size):
            k = index[i]
            if k < 0 or k >= target.shape[1]:
                return False
            ts, ps = target[o, k], parts[o, i]
            for j in range(ts.size):
                ts[j] += ps[j]
    return True


@kernel("r3[>=o,v,>=m] x3[o,k,m] w3[o,k,m] :o")
def gather(source, index, y, start, stop):
    """``y[o, k, i] = source[o, index[o, k, i], i]`` for o in [start, stop)."""
    size = source.shape[1]
    for o in range(start, stop):
        for k in range(index.shape[1]):
            ks, ys = index[o, k], y[o, k]
            for i in range(ks.size):
                row = ks[i]
                if row < 0 or row >= size:
                    return False
                ys[i] = source[o, row, i]
    return True


@kernel("w3[>=o,v,>=m] x3[o,k,m] r3[o,k,m] :o")
def scatter(out, index, source, start, stop):
    """``out[o, index[o, k, i], i] = source[o, k, i]`` for o in [start, stop)."""
    size = out.shape[1]
    for o in range(start, stop):
        for k in range(index.shape[1]):
            ks, ss = index[o, k], source[o, k]
            for i in range(ks.size):
                row = ks[i]
                if row < 0 or row >= size:
                    return False
                out[o, row, i] = ss[i]
    return True


@kernel("w1[v] x1[n] r1[n]")
def add_elements(target, index, values):
    for i in range(index.size):
        k = index[i]
        if k < 0 or k >= target.size:
            return False
        target[k] += values[i]
    return True


@kernel("w3[>=o,v,>=m] x3[o,k,m] r3[o,k,m] :o")
def scatter_add(out, index, source, start, stop):
    """``out[o, index[o, k, i], i] += source[o, k, i]`` for o in [start, stop)."""
    size = out.shape[1]
    for o in range(start, stop):
        if out.shape[2] == 1:
            ts, column, values = out[o].reshape(-1), index[o].reshape(-1), source[o].reshape(-1)
            for k in range(column.size):
                row = column[k]
                if row < 0 or row >= size:
                    return False
                ts[row] += values[k]
            continue
        for k in range(index.shape[1]):
            ks, ss = index[o, k], source[o, k]
            for i in range(ks.size):
                row = ks[i]
                if row < 0 or row >= size:
                    return False
                out[o, row, i] += ss[i]
    return True
