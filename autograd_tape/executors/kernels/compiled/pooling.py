"""Pooling over planes (height, width), a row of outputs at a time so that the inner loops run along memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from .base import kernel, like, rounded, wide


def _lowest(x: Any) -> Any:
    """What no element of an array is below, as a number to compute with."""
    return np.iinfo(x.dtype).min if x.dtype.kind == "i" else like(wide(x.dtype.type(0)), -math.inf)


@overload(_lowest, strict=False)
def _lowest_of(x: Any) -> object:
    if x.dtype == types.int64:
        return lambda x: np.int64(-(2**63))
    return lambda x: like(wide(x.dtype.type(0)), -math.inf)


@register_jitable(forceinline=True)
def _raise_by(best, xs, step):
    """The maxima of ``best`` and of each so many elements; of NaNs, the last."""
    for s in range(best.size):
        v, most = wide(xs[s * step]), wide(best[s])
        best[s] = xs[s * step] if v > most or v != v else best[s]


@register_jitable(forceinline=True)
def _raise_with(best, arg, xs, at, step):
    """The same with places, of which the first is ``at``."""
    for s in range(best.size):
        v, most = wide(xs[s * step]), wide(best[s])
        better = v > most or v != v
        best[s] = xs[s * step] if better else best[s]
        arg[s] = at + s * step if better else arg[s]


@kernel("r3[p,h,v] w3[p,oh,ow] Q3[p,oh,ow]? i i i i i i i i (kw>0) (sw>0) (dh>0) (dw>0) :p")
def max_pool(x, y, index, kh, kw, sh, sw, ph, pw, dh, dw, start, stop):
    """Without memory for indices these are left out."""
    places = index.size > 0
    height, width = x.shape[1], x.shape[2]
    oh, ow = y.shape[1], y.shape[2]
    lowest = rounded(y, _lowest(x))
    lows, highs = np.empty(kw, np.int64), np.empty(kw, np.int64)
    for j in range(kw):  # the windows of a row that see something at each tap
        shift = j * dw - pw
        lows[j] = min(ow, max(0, (sw - 1 - shift) // sw))
        highs[j] = max(lows[j], min(ow, (width - shift + sw - 1) // sw))
    for p in range(start, stop):
        for r in range(oh):
            ys = y[p, r]
            for s in range(ow):
                ys[s] = lowest
            if places:
                top = r * sh - ph
                while top < 0:
                    top += dh
                ks = index[p, r]
                for s in range(ow):
                    left = s * sw - pw
                    while left < 0:
                        left += dw
                    ks[s] = top * width + left
            for i in range(kh):
                row = r * sh - ph + i * dh
                if row < 0 or row >= height:
                    continue
                for j in range(kw):
                    low, high = lows[j], highs[j]
                    if high <= low:
                        continue
                    first = low * sw + j * dw - pw
                    best, xs = ys[low:high], x[p, row, first:]
                    if not places:  # the loads of a stride known here can be vectorized, and selections too
                        if sw == 1:
                            _raise_by(best, xs, 1)
                        elif sw == 2:
                            _raise_by(best, xs, 2)
                        else:
                            _raise_by(best, xs, sw)
                        continue
                    arg, at = index[p, r, low:high], row * width + first
                    if sw == 1:
                        _raise_with(best, arg, xs, at, 1)
                    elif sw == 2:
                        _raise_with(best, arg, xs, at, 2)
                    else:
                        _raise_with(best, arg, xs, at, sw)


@kernel("r2[p,n] x2[p,n] w2[p,m] i (channels>0) (n%channels==0) (m%channels==0) :p")
def max_pool_backward(grad, index, dx, channels, start, stop):
    """Of planes, or of images whose channels lie innermost."""
    T, places = dx.dtype.type, dx.shape[1] // channels
    for p in range(start, stop):
        target, gs, ks = dx[p], grad[p], index[p]
        target[:] = T(0)
        for first in range(0, gs.size, channels):
            for s in range(channels):
                k = ks[first + s]
                if k < 0 or k >= places:
                    return False
                target[k * channels + s] += gs[first + s]
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


@register_jitable(forceinline=True)
def _add_to(row, low, high, g):
    """Adds a number to a few elements, of which two and three are the rule: a loop over those costs more to enter than to run."""
    k = np.uint64(low)
    if high - low == 2:
        row[k] += g
        row[k + np.uint64(1)] += g
    elif high - low == 3:
        row[k] += g
        row[k + np.uint64(1)] += g
        row[k + np.uint64(2)] += g
    else:
        for i in range(low, high):
            row[np.uint64(i)] += g


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
                    _add_to(dx[p, row], low, high, g)


# Windows over three dimensions, given by their bounds (see `Windows` in `kernels/pooling.py`), of planes, or of images whose channels lie
# innermost, where loops run over them.


_GIVEN, _MADE = "planes*depth*height*width", "planes*od*oh*ow"
_BOUNDS = ("x1[od] x1[od] x1[oh] x1[oh] x1[ow] x1[ow] i i i (planes>=0) (depth>=0) (height>=0) (width>=0) (sd>0) (sh>0) (sw>0) "
           "(float(planes)*depth*height*width<9e18) (float(planes)*od*oh*ow<9e18) :planes")
#: Channels up to which each is walked through alone: loops over fewer cost more to enter than to run.
_FEW = 4
_INNER = "(channels>0) (float(planes)*depth*height*width*channels<9e18) (float(planes)*od*oh*ow*channels<9e18)"


@kernel(f"r0[{_GIVEN}*channels] w0[{_MADE}*channels] Q0[{_MADE}*channels]? i i i i i {_INNER} {_BOUNDS}")
def max_windows(x, y, index, planes, depth, height, width, channels, d0, d1, h0, h1, w0, w1, sd, sh, sw, start, stop):
    """Without memory for indices these are left out."""
    size, o, places = depth * height * width * channels, start * d0.size * h0.size * w0.size * channels, index.size > 0
    for p in range(start, stop):
        plane = x[p * size : (p + 1) * size]
        for a in range(d0.size):
            d_low, d_high = d0[a], d1[a]
            for b in range(h0.size):
                h_low, h_high = h0[b], h1[b]
                for c in range(w0.size):
                    w_low, w_high = w0[c], w1[c]
                    if d_low < 0 or d_high > depth or h_low < 0 or h_high > height or w_low < 0 or w_high > width:
                        return False
                    first = (d_low * height + h_low) * width + w_low
                    if channels <= _FEW:
                        for s in range(channels):
                            top, at = _lowest(x), first
                            for i in range(d_low, d_high, sd):
                                for j in range(h_low, h_high, sh):
                                    row = (i * height + j) * width
                                    k = row + w_low
                                    while k < row + w_high:  # a range would divide to count its steps
                                        v = wide(plane[np.uint64(k * channels + s)])
                                        if not (v <= top):  # a branch that is foreseen, where selections wait for one another
                                            if v > top or v != v:
                                                top, at = v, k
                                        k += sw
                            y[o] = rounded(y, top)
                            if places:
                                index[o] = at
                            o += 1
                        continue
                    best, arg = y[o : o + channels], index[o : o + channels]
                    o += channels
                    best[:] = rounded(y, _lowest(x))
                    if places:
                        arg[:] = first
                    for i in range(d_low, d_high, sd):
                        for j in range(h_low, h_high, sh):
                            for k in range(w_low, w_high, sw):
                                here = (i * height + j) * width + k
                                values = plane[here * channels : (here + 1) * channels]
                                for s in range(channels):
                                    v, most = wide(values[s]), wide(best[s])
                                    better = v > most or v != v
                                    best[s] = values[s] if better else best[s]
                                    if places:
                                        arg[s] = here if better else arg[s]
    return True


@kernel(f"r0[{_GIVEN}*channels] w0[{_MADE}*channels] d0[od*oh*ow] i i i i i {_INNER} {_BOUNDS}")
def mean_windows(x, y, counts, planes, depth, height, width, channels, d0, d1, h0, h1, w0, w1, sd, sh, sw, start, stop):
    """Half precision, which is to be rounded once, has few channels."""
    size, o = depth * height * width * channels, start * counts.size * channels
    for p in range(start, stop):
        plane, at = x[p * size : (p + 1) * size], 0
        for a in range(d0.size):
            d_low, d_high = d0[a], d1[a]
            for b in range(h0.size):
                h_low, h_high = h0[b], h1[b]
                for c in range(w0.size):
                    w_low, w_high = w0[c], w1[c]
                    if d_low < 0 or d_high > depth or h_low < 0 or h_high > height or w_low < 0 or w_high > width:
                        return False
                    zero = like(wide(x.dtype.type(0)), 0)
                    count = like(zero, counts[at])
                    at += 1
                    if channels <= _FEW:
                        for s in range(channels):
                            total = zero
                            for i in range(d_low, d_high):
                                for j in range(h_low, h_high):
                                    row = (i * height + j) * width
                                    for k in range(row + w_low, row + w_high):
                                        total += wide(plane[np.uint64(k * channels + s)])
                            y[o] = rounded(y, total / count)
                            o += 1
                        continue
                    sums = y[o : o + channels]
                    o += channels
                    sums[:] = rounded(y, zero)
                    for i in range(d_low, d_high):
                        for j in range(h_low, h_high):
                            for k in range(w_low, w_high):
                                here = ((i * height + j) * width + k) * channels
                                values = plane[here : here + channels]
                                for s in range(channels):
                                    sums[s] = rounded(y, wide(sums[s]) + wide(values[s]))
                    for s in range(channels):
                        sums[s] = rounded(y, wide(sums[s]) / count)
    return True


@kernel(f"r0[{_MADE}*channels] w0[{_GIVEN}*channels] d0[od*oh*ow] i i i i i {_INNER} {_BOUNDS}")
def mean_windows_backward(grad, dx, counts, planes, depth, height, width, channels, d0, d1, h0, h1, w0, w1, sd, sh, sw, start, stop):
    T = dx.dtype.type
    size, o, shares = depth * height * width * channels, start * counts.size * channels, np.empty(channels, dx.dtype)
    for p in range(start, stop):
        plane, at = dx[p * size : (p + 1) * size], 0
        plane[:] = T(0)
        for a in range(d0.size):
            d_low, d_high = d0[a], d1[a]
            for b in range(h0.size):
                h_low, h_high = h0[b], h1[b]
                for c in range(w0.size):
                    w_low, w_high = w0[c], w1[c]
                    if d_low < 0 or d_high > depth or h_low < 0 or h_high > height or w_low < 0 or w_high > width:
                        return False
                    count = T(counts[at])
                    at += 1
                    if channels == 1:
                        g = grad[o] / count
                        o += 1
                        for i in range(d_low, d_high):
                            for j in range(h_low, h_high):
                                row = (i * height + j) * width
                                _add_to(plane, row + w_low, row + w_high, g)
                        continue
                    for s in range(channels):
                        shares[s] = grad[o + s] / count
                    o += channels
                    for i in range(d_low, d_high):
                        for j in range(h_low, h_high):
                            for k in range(w_low, w_high):
                                here = ((i * height + j) * width + k) * channels
                                pixel = plane[here : here + channels]
                                for s in range(channels):
                                    pixel[s] += shares[s]
    return True
