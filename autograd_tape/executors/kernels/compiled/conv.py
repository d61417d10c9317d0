"""Gathering convolution windows into columns, adding columns back, and depthwise convolution without columns."""

from __future__ import annotations

import numpy as np

from .base import REORDER, kernel


@kernel("r3 w3 i i i i i i i i i i i i")
def im2col(x, cols, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow, start, stop):
    """``cols[c, (i, j), (r, s)] = x[c, r*sh - ph + i*dh, s*sw - pw + j*dw]``, zero outside, for channels [start, stop)."""
    T = x.dtype.type
    height, width = x.shape[1], x.shape[2]
    for c in range(start, stop):
        for i in range(kh):
            for j in range(kw):
                out = cols[c, i * kw + j]
                shift = j * dw - pw
                # columns s with 0 <= s * sw + shift < width
                low = min(ow, max(0, (sw - 1 - shift) // sw))
                high = max(low, min(ow, (width - shift + sw - 1) // sw))
                for r in range(oh):
                    row = r * sh - ph + i * dh
                    ys = out[r * ow : (r + 1) * ow]
                    if row < 0 or row >= height:
                        ys[:] = T(0)
                        continue
                    ys[:low] = T(0)
                    ys[high:] = T(0)
                    inner = ys[low:high]
                    if inner.size == 0:
                        continue
                    first = low * sw + shift
                    if sw == 1:
                        xs = x[c, row, first : first + inner.size]
                        for s in range(inner.size):
                            inner[s] = xs[s]
                    else:
                        xs = x[c, row, first:]
                        for s in range(inner.size):
                            inner[s] = xs[s * sw]


@kernel("r3 w3 i i i i i i i i i i i i")
def col2im(cols, dx, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow, start, stop):
    """The transpose of ``im2col``: adds every column entry to the pixel it came from; ``dx`` is overwritten."""
    T = dx.dtype.type
    height, width = dx.shape[1], dx.shape[2]
    for c in range(start, stop):
        dx[c] = T(0)
        for i in range(kh):
            for j in range(kw):
                out = cols[c, i * kw + j]
                shift = j * dw - pw
                low = min(ow, max(0, (sw - 1 - shift) // sw))
                high = max(low, min(ow, (width - shift + sw - 1) // sw))
                if high == low:
                    continue
                first = low * sw + shift
                for r in range(oh):
                    row = r * sh - ph + i * dh
                    if row < 0 or row >= height:
                        continue
                    ys = out[r * ow + low : r * ow + high]
                    if sw == 1:
                        xs = dx[c, row, first : first + ys.size]
                        for s in range(ys.size):
                            xs[s] += ys[s]
                    else:
                        xs = dx[c, row, first:]
                        for s in range(ys.size):
                            xs[s * sw] += ys[s]


@kernel("r3 r3 w3 i i i i i i i i i")
def depthwise(x, w, y, multiplier, sh, sw, ph, pw, dh, dw, start, stop):
    """Planes [start, stop) of ``y``; plane p of n * channels * multiplier reads plane p // multiplier of ``x``."""
    T = x.dtype.type
    height, width, oh, ow = x.shape[1], x.shape[2], y.shape[1], y.shape[2]
    filters, kh, kw = w.shape
    for p in range(start, stop):
        source, taps = x[p // multiplier], w[p % filters]
        for r in range(oh):
            ys = y[p, r]
            ys[:] = T(0)
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
                    t = taps[i, j]
                    inner = ys[low:high]
                    first = low * sw + shift
                    if sw == 1:
                        xs = source[row, first : first + inner.size]
                        for s in range(inner.size):
                            inner[s] += t * xs[s]
                    else:
                        xs = source[row, first:]
                        for s in range(inner.size):
                            inner[s] += t * xs[s * sw]


@kernel("r3 r3 w3 i i i i i i i i i")
def depthwise_dx(grad, w, dx, multiplier, sh, sw, ph, pw, dh, dw, start, stop):
    """Planes [start, stop) of ``dx``, each from ``multiplier`` planes of ``grad``."""
    T = dx.dtype.type
    height, width, oh, ow = dx.shape[1], dx.shape[2], grad.shape[1], grad.shape[2]
    filters, kh, kw = w.shape
    for p in range(start, stop):
        target = dx[p]
        target[:] = T(0)
        for q in range(p * multiplier, (p + 1) * multiplier):
            taps = w[q % filters]
            for r in range(oh):
                gs = grad[q, r]
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
                        t = taps[i, j]
                        inner = gs[low:high]
                        first = low * sw + shift
                        if sw == 1:
                            xs = target[row, first : first + inner.size]
                            for s in range(inner.size):
                                xs[s] += t * inner[s]
                        else:
                            xs = target[row, first:]
                            for s in range(inner.size):
                                xs[s * sw] += t * inner[s]


@kernel("r3 r3 w3 i i i i i i i i i i", REORDER)
def depthwise_dw(grad, x, dw_out, n, multiplier, sh, sw, ph, pw, dh, dw, start, stop):
    """Filters [start, stop) of ``dw_out``, each summed over the ``n`` samples."""
    T = x.dtype.type
    height, width, oh, ow = x.shape[1], x.shape[2], grad.shape[1], grad.shape[2]
    filters, kh, kw = dw_out.shape
    for f in range(start, stop):
        for i in range(kh):
            for j in range(kw):
                shift = j * dw - pw
                low = min(ow, max(0, (sw - 1 - shift) // sw))
                high = max(low, min(ow, (width - shift + sw - 1) // sw))
                total = 0.0
                if high > low:
                    first = low * sw + shift
                    for sample in range(n):
                        q = sample * filters + f
                        source = x[q // multiplier]
                        for r in range(oh):
                            row = r * sh - ph + i * dh
                            if row < 0 or row >= height:
                                continue
                            gs = grad[q, r, low:high]
                            part = T(0)
                            if sw == 1:
                                xs = source[row, first : first + gs.size]
                                for s in range(gs.size):
                                    part += gs[s] * xs[s]
                            else:
                                xs = source[row, first:]
                                for s in range(gs.size):
                                    part += gs[s] * xs[s * sw]
                            total += np.float64(part)
                dw_out[f, i, j] = T(total)
