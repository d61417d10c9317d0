"""Normalizations, as kernels over rows: a row is what one mean and one variance are taken over (or a channel of it)."""

from __future__ import annotations

import math

import numpy as np

from .base import REORDER, kernel, row_moments


@kernel("r2[n,m] r1[m]? r1[m]? w2[n,m] w1[n] w1[n] s :n", REORDER)
def layer_norm(x, weight, bias, y, mean, rstd, eps, start, stop):
    """``weight`` and ``bias`` are empty for none."""
    T = x.dtype.type
    scaled, shifted = weight.size > 0, bias.size > 0
    for r in range(start, stop):
        xs, ys = x[r], y[r]
        centre, variance = row_moments(xs)
        m, s = T(centre), T(1.0 / math.sqrt(variance + eps))
        mean[r], rstd[r] = m, s
        if scaled and shifted:
            for i in range(ys.size):
                ys[i] = (xs[i] - m) * s * weight[i] + bias[i]
        elif scaled:
            for i in range(ys.size):
                ys[i] = (xs[i] - m) * s * weight[i]
        elif shifted:
            for i in range(ys.size):
                ys[i] = (xs[i] - m) * s + bias[i]
        else:
            for i in range(ys.size):
                ys[i] = (xs[i] - m) * s


@kernel("r2[n,m] r2[n,m] r1[n] r1[n] r1[m]? w2[n,m] :n", REORDER)
def layer_norm_dx(grad, x, mean, rstd, weight, dx, start, stop):
    T = x.dtype.type
    scaled = weight.size > 0
    for r in range(start, stop):
        gs, xs, ds, m, s = grad[r], x[r], dx[r], mean[r], rstd[r]
        a = T(0)
        b = T(0)
        if scaled:
            for i in range(ds.size):
                v = gs[i] * weight[i]
                a += v
                b += v * ((xs[i] - m) * s)
            a, b = a / T(ds.size), b / T(ds.size)
            for i in range(ds.size):
                ds[i] = s * (gs[i] * weight[i] - a - (xs[i] - m) * s * b)
        else:
            for i in range(ds.size):
                a += gs[i]
                b += gs[i] * ((xs[i] - m) * s)
            a, b = a / T(ds.size), b / T(ds.size)
            for i in range(ds.size):
                ds[i] = s * (gs[i] - a - (xs[i] - m) * s * b)


@kernel("r2[n,m] r2[n,m] r1[n] r1[n] w2[b,m] w2[b,m] i (rows_per_block>0) :b")
def layer_norm_params(grad, x, mean, rstd, dw, db, rows_per_block, start, stop):
    """Partial sums for weight and bias, one row of ``dw`` and ``db`` per block of rows."""
    n = grad.shape[0]
    for block in range(start, stop):
        ws, bs = dw[block], db[block]
        ws[:] = 0
        bs[:] = 0
        for r in range(block * rows_per_block, min((block + 1) * rows_per_block, n)):
            gs, xs, m, s = grad[r], x[r], mean[r], rstd[r]
            for i in range(ws.size):
                ws[i] += gs[i] * ((xs[i] - m) * s)
                bs[i] += gs[i]


@kernel("r2[n,m] D1[n] D1[n] :n", REORDER)
def moments(x, mean, variance, start, stop):
    """Mean and biased variance of each row, in double precision."""
    for r in range(start, stop):
        mean[r], variance[r] = row_moments(x[r])


@kernel("r3[o,n,m] D3[o,b,m] D3[o,b,m] i (per_block>0) :o*b", REORDER)
def moments_blocks(x, mean, variance, per_block, start, stop):
    """Mean and biased variance over blocks of ``per_block`` of the middle axis of ``x`` (outer, n, inner), of shape
    (outer, blocks, inner) and in double precision. A block is read twice, the second time from the cache."""
    blocks = mean.shape[1]
    T = x.dtype.type
    inner = x.shape[2]
    centre = np.empty(inner, x.dtype)
    for item in range(start, stop):
        outer, block = item // blocks, item % blocks
        begin, end = block * per_block, min((block + 1) * per_block, x.shape[1])
        n = end - begin
        ms, vs = mean[outer, block], variance[outer, block]
        ms[:] = 0.0
        vs[:] = 0.0
        for r in range(begin, end):
            xs = x[outer, r]
            for i in range(inner):
                ms[i] += np.float64(xs[i])
        for i in range(inner):
            centre[i] = T(ms[i] / n)
            ms[i] = 0.0
        for r in range(begin, end):
            xs = x[outer, r]
            for i in range(inner):
                d = np.float64(xs[i] - centre[i])
                ms[i] += d
                vs[i] += d * d
        for i in range(inner):
            shift = ms[i] / n
            variance_ = vs[i] / n - shift * shift
            ms[i] = np.float64(centre[i]) + shift
            vs[i] = 0.0 if variance_ < 0.0 else variance_


@kernel("r2[n,m] r1[n] r1[n] r1[n] w2[n,m] :n")
def scale_shift(x, centre, scale, shift, y, start, stop):
    for r in range(start, stop):
        xs, ys, m, a, b = x[r], y[r], centre[r], scale[r], shift[r]
        for i in range(ys.size):
            ys[i] = (xs[i] - m) * a + b


@kernel("r2[n,m] r2[n,m] r1[n] D1[n] D1[n] :n", REORDER)
def grad_sums(grad, x, centre, total, dot, start, stop):
    """Per row: the sum of ``grad`` and of ``grad * (x - centre)``, in blocks added up in double precision."""
    T = x.dtype.type
    for r in range(start, stop):
        m = centre[r]
        a, b = 0.0, 0.0
        for begin in range(0, x.shape[1], 4096):
            gs, xs = grad[r, begin : begin + 4096], x[r, begin : begin + 4096]
            p, q = T(0), T(0)
            for i in range(gs.size):
                p += gs[i]
                q += gs[i] * (xs[i] - m)
            a += np.float64(p)
            b += np.float64(q)
        total[r], dot[r] = a, b


@kernel("r2[n,m] r2[n,m] r1[n] r1[n] r1[n] r1[n] w2[n,m] :n")
def grad_affine(grad, x, centre, a, b, c, dx, start, stop):
    """``dx = a * grad + b * (x - centre) + c`` with the coefficients of the row."""
    for r in range(start, stop):
        gs, xs, ds, m, p, q, s = grad[r], x[r], dx[r], centre[r], a[r], b[r], c[r]
        for i in range(ds.size):
            ds[i] = p * gs[i] + q * (xs[i] - m) + s
