"""Pooling over planes (height, width), a row of outputs at a time so that the inner loops run along memory."""

from __future__ import annotations

import math

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
