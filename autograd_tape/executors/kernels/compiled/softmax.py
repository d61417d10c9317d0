"""Softmax, log-softmax and cross entropy over rows (the last axis), and softmax over a middle axis in column tiles."""

from __future__ import annotations

import math

import numpy as np
from numba.extending import register_jitable

from .base import FUSE, REORDER, kernel, largest, rounded, wide, working
from .base import exp as exp_

#: Columns one tile of a middle-axis kernel works on: its running maxima and sums stay in the first-level cache.
TILE = 128


#: Elements of several rows whose exponentials are computed in one loop: of what is left of vectors at the ends of rows there is less then.
BLOCK = 1024
#: Columns of a middle axis of which loops make no vectors.
FEW = 8
#: Bytes of a vector, of which shorter rows have none.
NARROW = 32


@register_jitable(nogil=True, error_model="numpy", fastmath=set(REORDER), forceinline=True)
def _exponentials(x, y, m, begin, end):
    """Of what short rows have beside their maxima, all of them in one loop."""
    for at in range(begin, end, m):
        xs, ys = x[at : at + m], y[at : at + m]
        top = largest(xs)
        for i in range(ys.size):
            ys[i] = xs[i] - top
    es = y[begin:end]
    for i in range(es.size):
        es[i] = exp_(es[i])


@kernel("r0[size] w0[size] i (m>0) (size%m==0) :size//m", REORDER, fresh=True)
def softmax(x, y, m, start, stop):
    T = x.dtype.type
    while m * x.itemsize < NARROW and start < stop:
        begin, end = start * m, min(start + BLOCK // m, stop) * m
        _exponentials(x, y, m, begin, end)
        for at in range(begin, end, m):
            ys, total = y[at : at + m], T(0)
            for i in range(ys.size):
                total += ys[i]
            scale = T(1) / total
            for i in range(ys.size):
                ys[i] *= scale
        start += BLOCK // m
    for at in range(start * m, stop * m, m):
        xs, ys = x[at : at + m], y[at : at + m]
        top = largest(xs)
        total = T(0)
        for i in range(ys.size):
            e = exp_(xs[i] - top)
            ys[i] = e
            total += e
        scale = T(1) / total
        for i in range(ys.size):
            ys[i] *= scale


@kernel("r0[size] r0[size] w0[size] i (m>0) (size%m==0) :size//m", REORDER, fresh=True)
def softmax_backward(grad, y, dx, m, start, stop):
    T = y.dtype.type
    for at in range(start * m, stop * m, m):
        gs, ys, ds = grad[at : at + m], y[at : at + m], dx[at : at + m]
        dot = T(0)
        for i in range(ds.size):
            dot += gs[i] * ys[i]
        for i in range(ds.size):
            ds[i] = ys[i] * (gs[i] - dot)


@kernel("r0[size] w0[size] i (m>0) (size%m==0) :size//m", REORDER, fresh=True)
def log_softmax(x, y, m, start, stop):
    T = x.dtype.type
    while m * x.itemsize < NARROW and start < stop:
        begin, end = start * m, min(start + BLOCK // m, stop) * m
        _exponentials(x, y, m, begin, end)
        for at in range(begin, end, m):
            xs, ys, total = x[at : at + m], y[at : at + m], T(0)
            for i in range(ys.size):
                total += ys[i]
            top, log_total = largest(xs), T(math.log(total))
            for i in range(ys.size):
                z = xs[i] - top
                ys[i] = z - log_total
        start += BLOCK // m
    for at in range(start * m, stop * m, m):
        xs, ys = x[at : at + m], y[at : at + m]
        top = largest(xs)
        total = T(0)
        for i in range(ys.size):
            total += exp_(xs[i] - top)
        log_total = T(math.log(total))
        for i in range(ys.size):
            z = xs[i] - top
            ys[i] = z - log_total


@kernel("r0[size] r0[size] w0[size] i (m>0) (size%m==0) :size//m", REORDER, fresh=True)
def log_softmax_backward(grad, y, dx, m, start, stop):
    T = y.dtype.type
    while start < stop:
        begin, rows = start * m, min(max(1, BLOCK // m), stop - start)
        es, ls = dx[begin : begin + rows * m], y[begin : begin + rows * m]
        for i in range(es.size):
            es[i] = exp_(ls[i])
        for at in range(begin, begin + rows * m, m):
            gs, ds, total = grad[at : at + m], dx[at : at + m], T(0)
            for i in range(ds.size):
                total += gs[i]
            for i in range(ds.size):
                ds[i] = gs[i] - ds[i] * total
        start += rows


@kernel("r0[size] w0[size] i i (m>0) (size%m==0) :size//m", REORDER, fresh=True)
def softmax_rounded(x, y, m, log, start, stop):
    """Of half precision in float32, rounded once; before its logarithm the sum is rounded, and after it, as in torch."""
    row = np.empty(m, np.float32)
    for at in range(start * m, stop * m, m):
        xs, ys = x[at : at + m], y[at : at + m]
        for i in range(row.size):
            row[i] = wide(xs[i])
        top = largest(row)
        total = np.float32(0)
        if log:
            for i in range(row.size):
                row[i] -= top
                total += exp_(row[i])
            ys[0] = rounded(ys, total)
            ys[0] = rounded(ys, np.float32(math.log(wide(ys[0]))))
            log_total = wide(ys[0])
            for i in range(row.size):
                ys[i] = rounded(ys, row[i] - log_total)
        else:
            for i in range(row.size):
                e = exp_(row[i] - top)
                row[i] = e
                total += e
            scale = np.float32(1) / total
            for i in range(row.size):
                ys[i] = rounded(ys, row[i] * scale)


@kernel("r0[size] r0[size] w0[size] i i (m>0) (size%m==0) :size//m", REORDER, dtypes="eE", fresh=True)
def softmax_rounded_backward(grad, y, dx, m, log, start, stop):
    for at in range(start * m, stop * m, m):
        gs, ys, ds = grad[at : at + m], y[at : at + m], dx[at : at + m]
        total = np.float32(0)
        if log:
            for i in range(ds.size):
                total += wide(gs[i])
            for i in range(ds.size):
                ds[i] = rounded(ds, wide(gs[i]) - exp_(wide(ys[i])) * total)
        else:
            for i in range(ds.size):
                total += wide(gs[i]) * wide(ys[i])
            for i in range(ds.size):
                ds[i] = rounded(ds, wide(ys[i]) * (wide(gs[i]) - total))


@register_jitable(nogil=True, error_model="numpy", fastmath=set(FUSE))
def _few_columns(x, y, c, m, log, start, stop):
    """``softmax_middle`` of few columns, column by column, added up in the same order; exponentials of several matrices in one loop."""
    T, size = x.dtype.type, c * m
    while start < stop:
        end = min(start + BLOCK // size * size, stop)
        for first in range(start, end, size):
            for i in range(first, first + m):
                top = x[i]
                for at in range(i, first + size, m):
                    top = x[at] if x[at] > top else top
                for at in range(i, first + size, m):
                    y[at] = x[at] - top
        es = y[start:end]
        for i in range(es.size):
            es[i] = exp_(es[i])
        for first in range(start, end, size):
            for i in range(first, first + m):
                total, top = T(0), x[i]
                for at in range(i, first + size, m):
                    total += y[at]
                if log:
                    total = T(math.log(total))
                    for at in range(i, first + size, m):
                        top = x[at] if x[at] > top else top
                    for at in range(i, first + size, m):
                        z = x[at] - top
                        y[at] = z - total
                else:
                    scale = T(1) / total
                    for at in range(i, first + size, m):
                        y[at] *= scale
        start = end


@kernel("r0[size] w0[size] i i i (c>0) (m>0) (c<=1000000000) (m<=1000000000) (size%(c*m)==0)"
        " :size//(c*m)*((m+127)//128)", REORDER, fresh=True)
def softmax_middle(x, y, c, m, log, start, stop):
    """Items are (outer, tile) pairs of ``x`` of shape (outer, ``c`` classes, ``m`` behind each); ``log`` selects log-softmax."""
    T = x.dtype.type
    if m < FEW and c * m <= BLOCK:
        _few_columns(x, y, c, m, log, start * c * m, stop * c * m)
        return
    tiles = (m + TILE - 1) // TILE
    top, total = np.empty(TILE, x.dtype), np.empty(TILE, x.dtype)
    for item in range(start, stop):
        first, a = item // tiles * c * m, (item % tiles) * TILE
        last, count = first + c * m, min(TILE, m - a)
        ms, ts = top[:count], total[:count]
        xs = x[first + a : first + a + count]
        for i in range(ms.size):
            ms[i] = xs[i]
        ts[:] = T(0)
        for at in range(first + a, last, m):
            xs = x[at : at + count]
            for i in range(ms.size):
                ms[i] = xs[i] if xs[i] > ms[i] else ms[i]
        for at in range(first + a, last, m):
            xs, ys = x[at : at + count], y[at : at + count]
            for i in range(ms.size):
                ys[i] = xs[i] - ms[i]
            if tiles > 1:
                for i in range(ts.size):
                    ys[i] = exp_(ys[i])
        if tiles == 1:  # all that lies side by side at once
            es = y[first:last]
            for i in range(es.size):
                es[i] = exp_(es[i])
        for at in range(first + a, last, m):
            ys = y[at : at + count]
            for i in range(ts.size):
                ts[i] += ys[i]
        if log:
            for i in range(ts.size):
                ts[i] = math.log(ts[i])
            for at in range(first + a, last, m):
                xs, ys = x[at : at + count], y[at : at + count]
                for i in range(ts.size):
                    z = xs[i] - ms[i]
                    ys[i] = z - ts[i]
        else:
            for i in range(ts.size):
                ts[i] = T(1) / ts[i]
            for at in range(first + a, last, m):
                ys = y[at : at + count]
                for i in range(ts.size):
                    ys[i] *= ts[i]


@kernel("r0[size] w0[size] i i i (c>0) (m>0) (c<=1000000000) (m<=1000000000) (size%(c*m)==0)"
        " :size//(c*m)*((m+127)//128)", REORDER, dtypes="eE", fresh=True)
def softmax_middle_rounded(x, y, c, m, log, start, stop):
    """The same of half precision, in which exponentials are kept, as in torch, but not their sum; with ``log`` rounded once."""
    tiles = (m + TILE - 1) // TILE
    top, total = np.empty(TILE, np.float32), np.empty(TILE, np.float32)
    for item in range(start, stop):
        first, a = item // tiles * c * m, (item % tiles) * TILE
        last, count = first + c * m, min(TILE, m - a)
        ms, ts = top[:count], total[:count]
        xs = x[first + a : first + a + count]
        for i in range(ms.size):
            ms[i] = wide(xs[i])
        ts[:] = np.float32(0)
        for at in range(first + a, last, m):
            xs = x[at : at + count]
            for i in range(ms.size):
                ms[i] = wide(xs[i]) if wide(xs[i]) > ms[i] else ms[i]
        for at in range(first + a, last, m):
            xs, ys = x[at : at + count], y[at : at + count]
            for i in range(ts.size):
                e = exp_(wide(xs[i]) - ms[i])
                ts[i] += e
                ys[i] = rounded(ys, e)
        if log:
            for i in range(ts.size):
                ts[i] = math.log(ts[i])
        for at in range(first + a, last, m):
            xs, ys = x[at : at + count], y[at : at + count]
            if log:
                for i in range(ts.size):
                    z = wide(xs[i]) - ms[i]
                    ys[i] = rounded(ys, z - ts[i])
            else:
                for i in range(ts.size):
                    ys[i] = rounded(ys, wide(ys[i]) / ts[i])


@register_jitable(nogil=True, error_model="numpy", fastmath=set(FUSE))
def _few_columns_backward(grad, y, dx, c, m, log, start, stop):
    """``softmax_middle_backward`` as `_few_columns`."""
    e, size = np.full(BLOCK, working(y, 0.0)), c * m
    while start < stop:
        end = min(start + BLOCK // size * size, stop)
        if log:
            ls, es = y[start:end], e[: end - start]
            for i in range(es.size):
                es[i] = exp_(wide(ls[i]))
        for first in range(start, end, size):
            for i in range(first, first + m):
                total = working(y, 0.0)
                if log:
                    for at in range(i, first + size, m):
                        total += wide(grad[at])
                    for at in range(i, first + size, m):
                        dx[at] = rounded(dx, wide(grad[at]) - e[at - start] * total)
                else:
                    for at in range(i, first + size, m):
                        total += wide(grad[at]) * wide(y[at])
                    for at in range(i, first + size, m):
                        dx[at] = rounded(dx, wide(y[at]) * (wide(grad[at]) - total))
        start = end


@kernel("r0[size] r0[size] w0[size] i i i (c>0) (m>0) (c<=1000000000) (m<=1000000000) (size%(c*m)==0)"
        " :size//(c*m)*((m+127)//128)", REORDER, fresh=True)
def softmax_middle_backward(grad, y, dx, c, m, log, start, stop):
    if m < FEW and c * m <= BLOCK:
        _few_columns_backward(grad, y, dx, c, m, log, start * c * m, stop * c * m)
        return
    tiles = (m + TILE - 1) // TILE
    total = np.full(TILE, working(y, 0.0))
    for item in range(start, stop):
        first, a = item // tiles * c * m, (item % tiles) * TILE
        last, count = first + c * m, min(TILE, m - a)
        ts = total[:count]
        ts[:] = working(y, 0.0)
        for at in range(first + a, last, m):
            gs, ys = grad[at : at + count], y[at : at + count]
            if log:
                for i in range(ts.size):
                    ts[i] += wide(gs[i])
            else:
                for i in range(ts.size):
                    ts[i] += wide(gs[i]) * wide(ys[i])
        for at in range(first + a, last, m):
            gs, ys, ds = grad[at : at + count], y[at : at + count], dx[at : at + count]
            if log:
                for i in range(ts.size):
                    ds[i] = rounded(ds, wide(gs[i]) - exp_(wide(ys[i])) * ts[i])
            else:
                for i in range(ts.size):
                    ds[i] = rounded(ds, wide(ys[i]) * (wide(gs[i]) - ts[i]))


@kernel("r2[n,c] x1[n] r1[c]? w1[n] w1[n] w1[n] i s :n", REORDER)
def cross_entropy(x, target, weight, loss, top, log_total, ignore, smoothing, start, stop):
    """Losses of the rows, and the maximum and log-sum-exp (after subtracting it) that the vjp needs.

    A row's log-probabilities are ``x - top - log_total``; the two are kept apart because their sum would round away
    digits of large logits.  ``weight`` is empty for none.
    """
    T = x.dtype.type
    classes = x.shape[1]
    weighted = weight.size > 0
    for r in range(start, stop):
        xs = x[r]
        m = largest(xs)
        total = T(0)
        for i in range(xs.size):
            total += exp_(xs[i] - m)
        lse = T(math.log(total))
        top[r], log_total[r] = m, lse
        t = target[r]
        if t == ignore:
            loss[r] = T(0)
            continue
        if t < 0 or t >= classes:
            return False
        value = -((xs[t] - m) - lse)
        if weighted:
            value *= weight[t]
        if smoothing > 0.0:
            spread = T(0)
            if weighted:
                for i in range(xs.size):
                    z = xs[i] - m
                    spread += (lse - z) * weight[i]
            else:
                for i in range(xs.size):
                    z = xs[i] - m
                    spread += lse - z
            value = T(1.0 - smoothing) * value + T(smoothing / classes) * spread
        loss[r] = value
    return True


@kernel("r2[n,c] x1[n] r1[c]? r1[n] r1[n] r1[n] w2[n,c] i s s :n")
def cross_entropy_backward(x, target, weight, grad, top, log_total, dx, ignore, smoothing, weight_sum, start, stop):
    """``dx[r] = grad[r] * (sum(q) * p - q)`` for the (smoothed, weighted) target distribution ``q``."""
    T = x.dtype.type
    classes = x.shape[1]
    weighted = weight.size > 0
    for r in range(start, stop):
        ds = dx[r]
        t = target[r]
        if t == ignore:
            ds[:] = T(0)
            continue
        if t < 0 or t >= classes:
            return False
        xs, g, m, lse = x[r], grad[r], top[r], log_total[r]
        hit = T(1.0 - smoothing) * (weight[t] if weighted else T(1))
        rest = T(smoothing / classes)
        scale = g * (hit + rest * T(weight_sum))
        for i in range(ds.size):
            z = xs[i] - m
            ds[i] = exp_(z - lse) * scale
        if smoothing > 0.0:
            if weighted:
                for i in range(ds.size):
                    ds[i] -= g * rest * weight[i]
            else:
                for i in range(ds.size):
                    ds[i] -= g * rest
        ds[t] -= g * hit
    return True


@kernel("r3[o,c,m] x2[o,m] r1[c]? w2[o,m] w2[o,m] w2[o,m] i s (c>0) :o*((m+127)//128)", REORDER)
def cross_entropy_middle(x, target, weight, loss, top, log_total, ignore, smoothing, start, stop):
    """``cross_entropy`` for (outer, classes, inner) logits; items are (outer, tile) pairs as in ``softmax_middle``."""
    T = x.dtype.type
    classes, inner = x.shape[1], x.shape[2]
    tiles = (inner + TILE - 1) // TILE
    weighted = weight.size > 0
    spread = np.empty(TILE, x.dtype)
    for item in range(start, stop):
        outer, a = item // tiles, (item % tiles) * TILE
        b = min(a + TILE, inner)
        ms, ts, ls, us = top[outer, a:b], log_total[outer, a:b], loss[outer, a:b], spread[: b - a]
        xs = x[outer, 0, a:b]
        for i in range(ms.size):
            ms[i] = xs[i]
        ts[:] = T(0)
        us[:] = T(0)
        for c in range(classes):
            xs = x[outer, c, a:b]
            for i in range(ms.size):
                ms[i] = xs[i] if xs[i] > ms[i] else ms[i]
        for c in range(classes):
            xs = x[outer, c, a:b]
            for i in range(ts.size):
                ts[i] += exp_(xs[i] - ms[i])
        for i in range(ts.size):
            ts[i] = math.log(ts[i])
        if smoothing > 0.0:
            for c in range(classes):
                xs = x[outer, c, a:b]
                w = weight[c] if weighted else T(1)
                for i in range(us.size):
                    z = xs[i] - ms[i]
                    us[i] += (ts[i] - z) * w
        for i in range(ls.size):
            t = target[outer, a + i]
            if t == ignore:
                ls[i] = T(0)
                continue
            if t < 0 or t >= classes:
                return False
            value = -((x[outer, t, a + i] - ms[i]) - ts[i])
            if weighted:
                value *= weight[t]
            if smoothing > 0.0:
                value = T(1.0 - smoothing) * value + T(smoothing / classes) * us[i]
            ls[i] = value
    return True


@kernel("r3[o,c,m] x2[o,m] r1[c]? r2[o,m] r2[o,m] r2[o,m] w3[o,c,m] i s s :o*((m+127)//128)", REORDER)
def cross_entropy_middle_backward(
    x, target, weight, grad, top, log_total, dx, ignore, smoothing, weight_sum, start, stop
):
    T = x.dtype.type
    classes, inner = x.shape[1], x.shape[2]
    tiles = (inner + TILE - 1) // TILE
    weighted = weight.size > 0
    rest = T(smoothing / classes)
    scales, classes_of = np.empty(TILE, x.dtype), np.empty(TILE, np.int64)  # targets are read once: they may change
    for item in range(start, stop):
        outer, a = item // tiles, (item % tiles) * TILE
        b = min(a + TILE, inner)
        ms, ts, gs, ss = top[outer, a:b], log_total[outer, a:b], grad[outer, a:b], scales[: b - a]
        for i in range(ss.size):
            t = target[outer, a + i]
            if t != ignore and (t < 0 or t >= classes):
                return False
            classes_of[i] = t
            hit = T(0) if t == ignore else T(1.0 - smoothing) * (weight[t] if weighted else T(1))
            ss[i] = gs[i] * (hit + rest * T(weight_sum))
        for c in range(classes):
            xs, ds = x[outer, c, a:b], dx[outer, c, a:b]
            w = rest * weight[c] if weighted else rest
            for i in range(ds.size):
                z = xs[i] - ms[i]
                ds[i] = exp_(z - ts[i]) * ss[i] - gs[i] * w
        for i in range(ss.size):
            t = classes_of[i]
            if t == ignore:
                for c in range(classes):
                    dx[outer, c, a + i] = T(0)
            else:
                dx[outer, t, a + i] -= gs[i] * (T(1.0 - smoothing) * (weight[t] if weighted else T(1)))
    return True
