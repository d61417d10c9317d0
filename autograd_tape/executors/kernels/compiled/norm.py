"""Normalizations, as kernels over rows: a row is what one mean and one variance are taken over (or a channel of it)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from .base import EXACT, REORDER, kernel, rounded, row_moments, row_squares, wide, working
from .simd import LANES, load, multiply_add, spread, store

#: Columns that are done at a time: their sums stay in the first-level cache; positions of which what is left of vectors counts.
TILE, SHORT = 128, 64


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


# Many numbers: group, batch and instance norms are one kernel each way. Rows lie in pieces, one of each of ``o`` samples; of each
# piece, ``m`` numbers at a time belong to one of ``k`` channels, and row r is of group r % groups. Weights come in double precision.


def _short_lines(x: Any, y: Any, centre: Any, by: Any, plus: Any, at: int, k: int, m: int) -> bool:
    """``y = (x - centre) * by + plus`` of ``k`` channels of few positions, in whole vectors: what one writes beyond its channel
    the next channel's overwrite. False where there are no such vectors."""
    return False


@overload(_short_lines, strict=False, jit_options={"fastmath": {"contract"}, "error_model": "numpy"})
def _short_lines_of(x: Any, y: Any, centre: Any, by: Any, plus: Any, at: int, k: int, m: int) -> object:
    if not isinstance(x.dtype, types.Float):
        return lambda x, y, centre, by, plus, at, k, m: False

    def lines(x, y, centre, by, plus, at, k, m):
        end, near = at + k * m, spread(centre)
        for j in range(k):
            i, last = at + j * m, at + (j + 1) * m
            a, b = spread(by[j]), spread(plus[j])
            while i < last and i + LANES <= end:
                store(y, i, multiply_add(load(x, i) - near, a, b))
                i += LANES
            while i < last:
                y[i] = (x[i] - centre) * by[j] + plus[j]
                i += 1
        return True

    return lines


@kernel("r0[o*plane] d1[groups*k]? d1[groups*k]? w0[o*plane] D2[3,n] i i i i i i s i (o>0) (k>0) (m>0) (groups>0) (n<=2147483647)"
        " (row==k*m) (plane==n*row) :n", REORDER)
def normalize_many(x, weight, bias, y, moments, o, plane, row, k, m, groups, eps, given, start, stop):
    """``moments`` are means and variances, ``given`` or else found, and 1 / standard deviations."""
    count = np.float64(o * row)
    by, plus = np.full(k, working(x, 0.0)), np.full(k, working(x, 0.0))
    for r in range(start, stop):
        if not given:
            total = 0.0
            for q in range(r * row, o * plane, plane):
                xs = x[q : q + row]
                for i in range(xs.size):
                    total += np.float64(wide(xs[i]))
            mean = total / count
            near, first, second = working(x, mean), 0.0, 0.0
            for q in range(r * row, o * plane, plane):
                for begin in range(q, q + row, 4096):
                    xs = x[begin : min(begin + 4096, q + row)]
                    s, t = working(x, 0.0), working(x, 0.0)
                    for i in range(xs.size):
                        d = wide(xs[i]) - near
                        s += d
                        t += d * d
                    first += np.float64(s)
                    second += np.float64(t)
            shift = mean - np.float64(near) if np.float64(near) != mean else first / count  # as in ``row_moments``
            variance = second / count - shift * shift
            moments[0, r] = np.float64(near) + shift
            moments[1, r] = 0.0 if variance < 0.0 else variance
        mean, scale = moments[0, r], 1.0 / math.sqrt(moments[1, r] + eps)
        moments[2, r] = scale
        centre, at = working(x, mean), (r % groups) * k
        lost = mean - np.float64(centre)
        for j in range(k):
            a = scale * weight[at + j] if weight.size > 0 else scale
            by[j], plus[j] = a, (bias[at + j] if bias.size > 0 else 0.0) - lost * a
        for q in range(r * row, o * plane, plane):
            if m == 1:
                xs, ys = x[q : q + k], y[q : q + k]
                for i in range(ys.size):
                    ys[i] = rounded(ys, (wide(xs[i]) - centre) * by[i] + plus[i])
            elif m >= SHORT or not _short_lines(x, y, centre, by, plus, q, k, m):
                for j in range(k):
                    xs, ys, a, b = x[q + j * m : q + (j + 1) * m], y[q + j * m : q + (j + 1) * m], by[j], plus[j]
                    for i in range(ys.size):
                        ys[i] = rounded(ys, (wide(xs[i]) - centre) * a + b)


@kernel("r0[o*plane] r0[o*plane] d1[n] d1[n] d1[groups*k]? w0[o*plane] D2[n,k] D2[n,k] i i i i i i i (o>0) (k>0) (m>0) (groups>0)"
        " (n<=2147483647) (row==k*m) (plane==n*row) :n", REORDER)
def normalize_many_gradients(grad, x, mean, rstd, weight, dx, totals, dots, o, plane, row, k, m, groups, found, start, stop):
    """Gradients, and sums of ``grad`` and of ``grad * (x - mean)`` for each row's channels; moments were ``found``, or constants."""
    count = np.float64(o * row)
    by = np.full(k, working(x, 0.0))
    for r in range(start, stop):
        centre, s, at = working(x, mean[r]), rstd[r], (r % groups) * k
        lost = mean[r] - np.float64(centre)
        total_of, dot_of = totals[r], dots[r]
        total_of[:] = 0.0
        dot_of[:] = 0.0
        for q in range(r * row, o * plane, plane):
            if m == 1:
                gs, xs = grad[q : q + k], x[q : q + k]
                for j in range(k):
                    total_of[j] += np.float64(wide(gs[j]))
                    dot_of[j] += np.float64(wide(gs[j]) * (wide(xs[j]) - centre))
            else:
                for j in range(k):
                    for begin in range(q + j * m, q + (j + 1) * m, 4096):
                        end = min(begin + 4096, q + (j + 1) * m)
                        gs, xs = grad[begin:end], x[begin:end]
                        a, b = working(x, 0.0), working(x, 0.0)
                        for i in range(gs.size):
                            a += wide(gs[i])
                            b += wide(gs[i]) * (wide(xs[i]) - centre)
                        total_of[j] += np.float64(a)
                        dot_of[j] += np.float64(b)
        total, dot = 0.0, 0.0
        for j in range(k):
            dot_of[j] -= lost * total_of[j]
            w = weight[at + j] if weight.size > 0 else 1.0
            by[j] = s * w
            total += w * total_of[j]
            dot += w * dot_of[j]
        slope, shift = 0.0, 0.0
        if found:
            slope = -(s * s * s * dot) / count
            shift = -(s * total) / count - slope * lost
        p, c = working(x, slope), working(x, shift)
        for q in range(r * row, o * plane, plane):
            if m == 1:
                gs, xs, ds = grad[q : q + k], x[q : q + k], dx[q : q + k]
                for i in range(ds.size):
                    ds[i] = rounded(ds, by[i] * wide(gs[i]) + p * (wide(xs[i]) - centre) + c)
            else:
                for j in range(k):
                    begin, end, a = q + j * m, q + (j + 1) * m, by[j]
                    gs, xs, ds = grad[begin:end], x[begin:end], dx[begin:end]
                    for i in range(ds.size):
                        ds[i] = rounded(ds, a * wide(gs[i]) + p * (wide(xs[i]) - centre) + c)


# Channels of few positions, over many samples: ``m`` columns of (samples, channels * m) each, a tile of them at a time.


@kernel("r0[n*c*m] d1[c]? d1[c]? w0[n*c*m] D2[3,c] i i i s i (n>0) (m>0) (m<=128) (c<=2147483647) "
        ":(c+128//m-1)//(128//m)", REORDER)
def normalize_columns(x, weight, bias, y, moments, n, m, c, eps, given, start, stop):
    """``moments`` are means and variances, ``given`` or else found, and 1 / standard deviations. Where they are given, rows are gone
    through once, all tiles side by side."""
    count, row, per = np.float64(n * m), c * m, TILE // m
    first, second = np.empty(TILE, np.float64), np.empty(TILE, np.float64)
    many = max(stop - start, 1) if given else 1
    size, none = many * TILE, working(x, 0.0)
    centre, by, plus = np.full(size, none), np.full(size, none), np.full(size, none)
    for item in range(start, stop, many):
        channels = min(many * per, c - item * per)
        begin, width = item * per * m, channels * m
        if not given:
            for i in range(width):
                first[i] = 0.0
            for at in range(begin, n * row, row):
                xs = x[at : at + width]
                for i in range(xs.size):
                    first[i] += np.float64(wide(xs[i]))
            for j in range(channels):
                total = 0.0
                for i in range(j * m, (j + 1) * m):
                    total += first[i]
                moments[0, item * per + j] = total / count
                for i in range(j * m, (j + 1) * m):
                    centre[i] = total / count
                    first[i], second[i] = 0.0, 0.0
            for at in range(begin, n * row, row):
                xs = x[at : at + width]
                for i in range(xs.size):
                    d = np.float64(wide(xs[i]) - centre[i])
                    first[i] += d
                    second[i] += d * d
            for j in range(channels):
                total, square, near = 0.0, 0.0, np.float64(centre[j * m])
                for i in range(j * m, (j + 1) * m):
                    total += first[i]
                    square += second[i]
                mean = moments[0, item * per + j]
                shift = mean - near if near != mean else total / count  # as in ``row_moments``
                variance = square / count - shift * shift
                moments[0, item * per + j] = near + shift
                moments[1, item * per + j] = 0.0 if variance < 0.0 else variance
        for j in range(channels):
            channel = item * per + j
            mean, scale = moments[0, channel], 1.0 / math.sqrt(moments[1, channel] + eps)
            moments[2, channel] = scale
            if weight.size > 0:
                scale *= weight[channel]
            near = working(x, mean)
            shift = (bias[channel] if bias.size > 0 else 0.0) - (mean - np.float64(near)) * scale
            for i in range(j * m, (j + 1) * m):
                centre[i], by[i], plus[i] = near, scale, shift
        for at in range(begin, n * row, row):
            xs, ys = x[at : at + width], y[at : at + width]
            for i in range(ys.size):
                ys[i] = rounded(ys, (wide(xs[i]) - centre[i]) * by[i] + plus[i])


@kernel("r0[n*c*m] r0[n*c*m] d1[c] d1[c] d1[c]? w0[n*c*m] D1[c] D1[c] i i i i (n>0) (m>0) (m<=128) (c<=2147483647)"
        " :(c+128//m-1)//(128//m)", REORDER)
def normalize_columns_gradients(grad, x, mean, rstd, weight, dx, totals, dots, n, m, c, found, start, stop):
    """Gradients, and each channel's sums of ``grad`` and of ``grad * (x - mean)``; moments were ``found``, or constants."""
    count, row, per = np.float64(n * m), c * m, TILE // m
    first, second = np.empty(TILE, np.float64), np.empty(TILE, np.float64)
    centre, by = np.full(TILE, working(x, 0.0)), np.full(TILE, working(x, 0.0))
    slope, shift = np.full(TILE, working(x, 0.0)), np.full(TILE, working(x, 0.0))
    for item in range(start, stop):
        channels = min(per, c - item * per)
        begin, width = item * per * m, channels * m
        for j in range(channels):
            for i in range(j * m, (j + 1) * m):
                centre[i], first[i], second[i] = mean[item * per + j], 0.0, 0.0
        for at in range(begin, n * row, row):
            gs, xs = grad[at : at + width], x[at : at + width]
            for i in range(xs.size):
                g = wide(gs[i])
                first[i] += np.float64(g)
                second[i] += np.float64(g * (wide(xs[i]) - centre[i]))
        for j in range(channels):
            channel, total, dot = item * per + j, 0.0, 0.0
            for i in range(j * m, (j + 1) * m):
                total += first[i]
                dot += second[i]
            s, lost = rstd[channel], mean[channel] - np.float64(centre[j * m])
            dot -= lost * total
            totals[channel], dots[channel] = total, dot
            a, p, q = s * weight[channel] if weight.size > 0 else s, 0.0, 0.0
            if found:
                p = -(a * s * s * dot) / count
                q = -(a * total) / count - p * lost
            for i in range(j * m, (j + 1) * m):
                by[i], slope[i], shift[i] = a, p, q
        for at in range(begin, n * row, row):
            gs, xs, ds = grad[at : at + width], x[at : at + width], dx[at : at + width]
            for i in range(ds.size):
                ds[i] = rounded(ds, by[i] * wide(gs[i]) + slope[i] * (wide(xs[i]) - centre[i]) + shift[i])


@kernel("r0[n*m] d1[m]? w0[n*m] i i s (m>0) (n<=2147483647) :n")
def root_mean_square(x, weight, y, n, m, eps, start, stop):
    """``x / sqrt(mean(x**2) + eps) * weight`` of each row."""
    by = np.full(m, working(x, 1.0))
    if weight.size > 0:
        for i in range(m):
            by[i] = weight[i]
    for r in range(start, stop):
        xs, ys = x[r * m : (r + 1) * m], y[r * m : (r + 1) * m]
        scale = working(x, 1.0 / math.sqrt(row_squares(xs) / m + eps))
        for i in range(ys.size):
            ys[i] = rounded(ys, wide(xs[i]) * scale * by[i])


@kernel("r0[outer*k*inner] r0[outer*inner] r0[outer*inner] w0[outer*k*inner] i i i (k>0) (inner>0) (outer<=2147483647) :outer", EXACT)
def length_gradients(x, lengths, grad, dx, outer, k, inner, start, stop):
    """``x / length * grad`` of lines along the second of three dimensions; the quotient is rounded, and nothing for those of length 0."""
    infinite = working(x, math.inf)
    for o in range(start, stop):
        if inner == 1:
            n, g = wide(lengths[o]), wide(grad[o])
            n = infinite if n == working(x, 0.0) else n
            xs, ds = x[o * k : (o + 1) * k], dx[o * k : (o + 1) * k]
            for i in range(ds.size):
                ds[i] = rounded(ds, wide(rounded(ds, wide(xs[i]) / n)) * g)
            continue
        ns, gs = lengths[o * inner : (o + 1) * inner], grad[o * inner : (o + 1) * inner]
        for at in range(o * k * inner, (o + 1) * k * inner, inner):
            xs, ds = x[at : at + inner], dx[at : at + inner]
            for i in range(ds.size):
                n = wide(ns[i])
                n = infinite if n == working(x, 0.0) else n
                ds[i] = rounded(ds, wide(rounded(ds, wide(xs[i]) / n)) * wide(gs[i]))


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
