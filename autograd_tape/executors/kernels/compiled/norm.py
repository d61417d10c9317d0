"""Normalizations, as kernels over rows: a row is what one mean and one variance are taken over (or a channel of it)."""

from __future__ import annotations

import math

import numpy as np

from .base import EXACT, REORDER, kernel, rounded, row_moments, wide


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


# Few numbers, in double precision and in an order that NumPy can follow, so that either may compute them: sums are of four lanes, each of
# which takes every fourth number of a piece. Rows lie in pieces, one of each of ``o`` samples; of each piece, ``m`` numbers at a time
# belong to one of ``k`` channels.


@kernel("r0[o*plane] r0[groups*k]? r0[groups*k]? w0[o*plane] D2[3,n] i i i i i i s i (o>0) (k>0) (m>0) (groups>0) (n<=2147483647)"
        " (row==k*m) (plane==n*row) :n", EXACT)
def normalize(x, weight, bias, y, moments, o, plane, row, k, m, groups, eps, given, start, stop):
    """``moments`` are means and variances, ``given`` or else found, and 1 / standard deviations."""
    count = np.float64(o * row)
    for r in range(start, stop):
        if not given:
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for q in range(r * row, o * plane, plane):
                xs = x[q : q + row]
                whole = xs.size - xs.size % 4
                for i in range(0, whole, 4):
                    a += np.float64(wide(xs[i]))
                    b += np.float64(wide(xs[i + 1]))
                    c += np.float64(wide(xs[i + 2]))
                    d += np.float64(wide(xs[i + 3]))
                if whole < xs.size:
                    a += np.float64(wide(xs[whole]))
                if whole + 1 < xs.size:
                    b += np.float64(wide(xs[whole + 1]))
                if whole + 2 < xs.size:
                    c += np.float64(wide(xs[whole + 2]))
            first = (a + b + (c + d)) / count
            a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for q in range(r * row, o * plane, plane):
                xs = x[q : q + row]
                whole = xs.size - xs.size % 4
                for i in range(0, whole, 4):
                    u, v = np.float64(wide(xs[i])) - first, np.float64(wide(xs[i + 1])) - first
                    w, z = np.float64(wide(xs[i + 2])) - first, np.float64(wide(xs[i + 3])) - first
                    a, b, c, d = a + u, b + v, c + w, d + z
                    e, f, g, h = e + u * u, f + v * v, g + w * w, h + z * z
                if whole < xs.size:
                    u = np.float64(wide(xs[whole])) - first
                    a, e = a + u, e + u * u
                if whole + 1 < xs.size:
                    v = np.float64(wide(xs[whole + 1])) - first
                    b, f = b + v, f + v * v
                if whole + 2 < xs.size:
                    w = np.float64(wide(xs[whole + 2])) - first
                    c, g = c + w, g + w * w
            shift = (a + b + (c + d)) / count
            variance = (e + f + (g + h)) / count - shift * shift
            moments[0, r] = first + shift
            moments[1, r] = 0.0 if variance < 0.0 else variance
        centre, scale = moments[0, r], 1.0 / math.sqrt(moments[1, r] + eps)
        moments[2, r] = scale
        for q in range(r * row, o * plane, plane):
            if m == 1:
                at = (r % groups) * k
                xs, ys = x[q : q + k], y[q : q + k]
                if weight.size > 0 and bias.size > 0:
                    ws, bs = weight[at : at + k], bias[at : at + k]
                    for i in range(ys.size):
                        ys[i] = rounded(ys, (np.float64(wide(xs[i])) - centre) * (scale * np.float64(wide(ws[i])))
                                        + np.float64(wide(bs[i])))
                    continue
                if weight.size == 0 and bias.size == 0:
                    for i in range(ys.size):
                        ys[i] = rounded(ys, (np.float64(wide(xs[i])) - centre) * scale + 0.0)
                    continue
            for j in range(k):
                at = (r % groups) * k + j
                by = scale * np.float64(wide(weight[at])) if weight.size > 0 else scale
                plus = np.float64(wide(bias[at])) if bias.size > 0 else 0.0
                xs, ys = x[q + j * m : q + (j + 1) * m], y[q + j * m : q + (j + 1) * m]
                for i in range(ys.size):
                    ys[i] = rounded(ys, (np.float64(wide(xs[i])) - centre) * by + plus)


@kernel("r3[o,n,k*m] r3[o,n,k*m] r1[n] r1[n] r1[groups*k]? w3[o,n,k*m] D2[n,k] D2[n,k] i i i i (k>0) (m>0) (groups>0) :n", EXACT)
def normalize_gradients(grad, x, mean, rstd, weight, dx, totals, dots, k, m, groups, found, start, stop):
    """Gradients, and sums of ``grad`` and of ``grad * (x - mean)`` for each row's channels; moments were ``found``, or constants."""
    T = x.dtype.type
    count = np.float64(x.shape[0] * x.shape[2])
    for r in range(start, stop):
        centre, s = np.float64(mean[r]), np.float64(rstd[r])
        total, dot = 0.0, 0.0
        for j in range(k):
            a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for o in range(x.shape[0]):
                gs, xs = grad[o, r, j * m : (j + 1) * m], x[o, r, j * m : (j + 1) * m]
                whole = xs.size - xs.size % 4
                for i in range(0, whole, 4):
                    u, v, w, z = np.float64(gs[i]), np.float64(gs[i + 1]), np.float64(gs[i + 2]), np.float64(gs[i + 3])
                    a, b, c, d = a + u, b + v, c + w, d + z
                    e += u * (np.float64(xs[i]) - centre)
                    f += v * (np.float64(xs[i + 1]) - centre)
                    g += w * (np.float64(xs[i + 2]) - centre)
                    h += z * (np.float64(xs[i + 3]) - centre)
                if whole < xs.size:
                    u = np.float64(gs[whole])
                    a, e = a + u, e + u * (np.float64(xs[whole]) - centre)
                if whole + 1 < xs.size:
                    v = np.float64(gs[whole + 1])
                    b, f = b + v, f + v * (np.float64(xs[whole + 1]) - centre)
                if whole + 2 < xs.size:
                    w = np.float64(gs[whole + 2])
                    c, g = c + w, g + w * (np.float64(xs[whole + 2]) - centre)
            totals[r, j], dots[r, j] = a + b + (c + d), e + f + (g + h)
            by = np.float64(weight[(r % groups) * k + j]) if weight.size > 0 else 1.0
            total, dot = total + by * totals[r, j], dot + by * dots[r, j]
        slope, shift = 0.0, 0.0
        if found:
            slope, shift = -(s * s * s * dot) / count, -(s * total) / count
        for o in range(x.shape[0]):
            for j in range(k):
                by = s * np.float64(weight[(r % groups) * k + j]) if weight.size > 0 else s
                gs, xs, ds = grad[o, r, j * m : (j + 1) * m], x[o, r, j * m : (j + 1) * m], dx[o, r, j * m : (j + 1) * m]
                for i in range(ds.size):
                    ds[i] = T(by * np.float64(gs[i]) + slope * (np.float64(xs[i]) - centre) + shift)
