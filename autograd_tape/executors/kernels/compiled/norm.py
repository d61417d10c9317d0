"""Normalizations, as kernels over rows: a row is what one mean and one variance are taken over (or a channel of it)."""

from __future__ import annotations

import math

import numpy as np

from .base import REORDER, kernel, row_total, row_variance


@kernel("r2 r1 r1 w2 w1 w1 s i i", REORDER)
def layer_norm(x, weight, bias, y, mean, rstd, eps, start, stop):
    """``weight`` and ``bias`` are empty for none."""
    T = x.dtype.type
    scaled, shifted = weight.size > 0, bias.size > 0
    for r in range(start, stop):
        xs, ys = x[r], y[r]
        m = T(row_total(xs) / xs.size)
        s = T(1.0 / math.sqrt(row_variance(xs, m) + eps))
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


@kernel("r2 r2 r1 r1 r1 w2 i i", REORDER)
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


@kernel("r2 r2 r1 r1 w2 w2 i i i")
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


@kernel("r2 D1 D1 i i", REORDER)
def moments(x, mean, variance, start, stop):
    """Mean and biased variance of each row, in double precision."""
    for r in range(start, stop):
        m = row_total(x[r]) / x.shape[1]
        mean[r] = m
        # Around the rounded mean, and corrected for the rounding.
        t = x.dtype.type(m)
        variance[r] = row_variance(x[r], t) - (m - np.float64(t)) ** 2


@kernel("r2 r1 r1 r1 w2 i i")
def scale_shift(x, centre, scale, shift, y, start, stop):
    for r in range(start, stop):
        xs, ys, m, a, b = x[r], y[r], centre[r], scale[r], shift[r]
        for i in range(ys.size):
            ys[i] = (xs[i] - m) * a + b


@kernel("r2 r2 r1 D1 D1 i i", REORDER)
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


@kernel("r2 r2 r1 r1 r1 r1 w2 i i")
def grad_affine(grad, x, centre, a, b, c, dx, start, stop):
    """``dx = a * grad + b * (x - centre) + c`` with the coefficients of the row."""
    for r in range(start, stop):
        gs, xs, ds, m, p, q, s = grad[r], x[r], dx[r], centre[r], a[r], b[r], c[r]
        for i in range(ds.size):
            ds[i] = p * gs[i] + q * (xs[i] - m) + s
