"""Pooling over planes (height, width), a row of outputs at a time so that the inner loops run along memory."""

from __future__ import annotations

import math

import numpy as np

from .base import kernel


@kernel("r3[p,h,v] w3[p,oh,ow] Q3[p,oh,ow] i i i i i i i i (sw>0) (dh>0) (dw>0) :p")
def max_pool(x, y, index, kh, kw, sh, sw, ph, pw, dh, dw, start, stop):
    T = x.dtype.type
    height, width = x.shape[1], x.shape[2]
    oh, ow = y.shape[1], y.shape[2]
    for p in range(start, stop):
        for r in range(oh):
            ys, ks = y[p, r], index[p, r]
            top = r * sh - ph
            while top < 0:
                top += dh
            for s in range(ow):
                left = s * sw - pw
                while left < 0:
                    left += dw
                ys[s] = T(-math.inf)
                ks[s] = top * width + left
            for i in range(kh):
                row = r * sh - ph + i * dh
                if row < 0 or row >= height:
                    continue
                for j in range(kw):
                    shift = j * dw - pw
                    low = min(ow, max(0, (sw - 1 - shift) // sw))
                    high = max(low, min(ow, (width - shift + sw - 1) // sw))
                    if high == low:
                        continue
                    first = low * sw + shift
                    best, arg, xs = ys[low:high], ks[low:high], x[p, row, first:]
                    at = row * width + first
                    if sw == 2:  # the loads of a stride known here can be vectorized, and selections too
                        for s in range(best.size):
                            v, top_value = xs[s * 2], best[s]
                            better = v > top_value or v != v
                            best[s] = v if better else top_value
                            arg[s] = at + s * 2 if better else arg[s]
                    else:
                        for s in range(best.size):
                            v, top_value = xs[s * sw], best[s]
                            better = v > top_value or v != v
                            best[s] = v if better else top_value
                            arg[s] = at + s * sw if better else arg[s]


@kernel("r2[p,n] x2[p,n] w2[p,m] :p")
def max_pool_backward(grad, index, dx, start, stop):
    T = dx.dtype.type
    for p in range(start, stop):
        target, gs, ks = dx[p], grad[p], index[p]
        target[:] = T(0)
        for i in range(gs.size):
            k = ks[i]
            if k < 0 or k >= target.size:
                return False
            target[k] += gs[i]
    return True


@kernel("r3[p,h,v] w3[p,oh,ow] i i i i i i i i (sw>0) :p")
def avg_pool(x, y, kh, kw, sh, sw, ph, pw, include_pad, divisor, start, stop):
    T = x.dtype.type
    height, width = x.shape[1], x.shape[2]
    oh, ow = y.shape[1], y.shape[2]
    for p in range(start, stop):
        for r in range(oh):
            ys = y[p, r]
            ys[:] = T(0)
            top = r * sh - ph
            for i in range(max(0, -top), min(kh, height - top)):
                for j in range(kw):
                    shift = j - pw
                    low = min(ow, max(0, (sw - 1 - shift) // sw))
                    high = max(low, min(ow, (width - shift + sw - 1) // sw))
                    if high == low:
                        continue
                    total, xs = ys[low:high], x[p, top + i, low * sw + shift :]
                    for s in range(total.size):
                        total[s] += xs[s * sw]
            high_rows = min(top + kh, height + ph) - top
            rows_inside = min(top + kh, height) - max(top, 0)
            for s in range(ow):
                left = s * sw - pw
                if divisor != 0:
                    count = divisor
                elif include_pad:
                    count = high_rows * (min(left + kw, width + pw) - left)
                else:
                    count = rows_inside * (min(left + kw, width) - max(left, 0))
                ys[s] /= T(count)


@kernel("r3[p,oh,ow] w3[p,h,v] i i i i i i i i :p")
def avg_pool_backward(grad, dx, kh, kw, sh, sw, ph, pw, include_pad, divisor, start, stop):
    T = dx.dtype.type
    height, width = dx.shape[1], dx.shape[2]
    oh, ow = grad.shape[1], grad.shape[2]
    for p in range(start, stop):
        dx[p] = T(0)
        for r in range(oh):
            top = r * sh - ph
            row_low, row_high = max(top, 0), min(top + kh, height)
            high_rows = min(top + kh, height + ph) - top
            for s in range(ow):
                left = s * sw - pw
                low, high = max(left, 0), min(left + kw, width)
                if divisor != 0:
                    count = divisor
                elif include_pad:
                    count = high_rows * (min(left + kw, width + pw) - left)
                else:
                    count = (row_high - row_low) * (high - low)
                g = grad[p, r, s] / T(count)
                for row in range(row_low, row_high):
                    for column in range(low, high):
                        dx[p, row, column] += g


# Windows over three dimensions, given by their bounds (see `Windows` in `kernels/pooling.py`), of planes, or of images whose channels lie
# innermost, where loops run over them.


@kernel("r5[p,d,h,v,n] w5[p,od,oh,ow,n] Q5[p,od,oh,ow,n] x1[od] x1[od] x1[oh] x1[oh] x1[ow] x1[ow] i i i (sd>0) (sh>0) (sw>0) :p")
def max_windows(x, y, index, d0, d1, h0, h1, w0, w1, sd, sh, sw, start, stop):
    T = x.dtype.type
    depth, height, width, channels = x.shape[1], x.shape[2], x.shape[3], x.shape[4]
    for p in range(start, stop):
        plane = x[p].reshape(-1)
        for a in range(y.shape[1]):
            d_low, d_high = d0[a], d1[a]
            for b in range(y.shape[2]):
                h_low, h_high = h0[b], h1[b]
                for c in range(y.shape[3]):
                    w_low, w_high = w0[c], w1[c]
                    if d_low < 0 or d_high > depth or h_low < 0 or h_high > height or w_low < 0 or w_high > width:
                        return False
                    first = (d_low * height + h_low) * width + w_low
                    if channels == 1:
                        top, at = T(-math.inf), first
                        for i in range(d_low, d_high, sd):
                            for j in range(h_low, h_high, sh):
                                row = (i * height + j) * width
                                k = row + w_low
                                while k < row + w_high:  # a range would divide to count its steps
                                    v = plane[np.uint64(k)]
                                    if not (v <= top):  # a branch that is foreseen, where selections wait for one another
                                        if v > top or v != v:
                                            top, at = v, k
                                    k += sw
                        y[p, a, b, c, 0], index[p, a, b, c, 0] = top, at
                        continue
                    best, arg = y[p, a, b, c], index[p, a, b, c]
                    best[:] = T(-math.inf)
                    arg[:] = first
                    for i in range(d_low, d_high, sd):
                        for j in range(h_low, h_high, sh):
                            for k in range(w_low, w_high, sw):
                                values, here = x[p, i, j, k], (i * height + j) * width + k
                                for s in range(best.size):
                                    v, most = values[s], best[s]
                                    better = v > most or v != v
                                    best[s] = v if better else most
                                    arg[s] = here if better else arg[s]
    return True


@kernel("r5[p,d,h,v,n] w5[p,od,oh,ow,n] r3[od,oh,ow] x1[od] x1[od] x1[oh] x1[oh] x1[ow] x1[ow] i i i :p")
def mean_windows(x, y, counts, d0, d1, h0, h1, w0, w1, sd, sh, sw, start, stop):
    T = x.dtype.type
    depth, height, width, channels = x.shape[1], x.shape[2], x.shape[3], x.shape[4]
    for p in range(start, stop):
        plane = x[p].reshape(-1)
        for a in range(y.shape[1]):
            d_low, d_high = d0[a], d1[a]
            for b in range(y.shape[2]):
                h_low, h_high = h0[b], h1[b]
                for c in range(y.shape[3]):
                    w_low, w_high = w0[c], w1[c]
                    if d_low < 0 or d_high > depth or h_low < 0 or h_high > height or w_low < 0 or w_high > width:
                        return False
                    count = counts[a, b, c]
                    if channels == 1:
                        total = T(0)
                        for i in range(d_low, d_high):
                            for j in range(h_low, h_high):
                                row = (i * height + j) * width
                                for k in range(row + w_low, row + w_high):
                                    total += plane[np.uint64(k)]
                        y[p, a, b, c, 0] = total / count
                        continue
                    sums = y[p, a, b, c]
                    sums[:] = T(0)
                    for i in range(d_low, d_high):
                        for j in range(h_low, h_high):
                            for k in range(w_low, w_high):
                                values = x[p, i, j, k]
                                for s in range(sums.size):
                                    sums[s] += values[s]
                    for s in range(sums.size):
                        sums[s] /= count
    return True


@kernel("r4[p,od,oh,ow] w4[p,d,h,v] r3[od,oh,ow] x1[od] x1[od] x1[oh] x1[oh] x1[ow] x1[ow] i i i :p")
def mean_windows_backward(grad, dx, counts, d0, d1, h0, h1, w0, w1, sd, sh, sw, start, stop):
    T = dx.dtype.type
    depth, height, width = dx.shape[1], dx.shape[2], dx.shape[3]
    for p in range(start, stop):
        dx[p] = T(0)
        for a in range(grad.shape[1]):
            d_low, d_high = d0[a], d1[a]
            for b in range(grad.shape[2]):
                h_low, h_high = h0[b], h1[b]
                for c in range(grad.shape[3]):
                    w_low, w_high = w0[c], w1[c]
                    if d_low < 0 or d_high > depth or h_low < 0 or h_high > height or w_low < 0 or w_high > width:
                        return False
                    g = grad[p, a, b, c] / counts[a, b, c]
                    for i in range(d_low, d_high):
                        for j in range(h_low, h_high):
                            for k in range(w_low, w_high):
                                dx[p, i, j, k] += g
    return True
