"""Pooling over planes (height, width), a row of outputs at a time so that the inner loops run along memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from .base import kernel, like, rounded, wide
from .simd import LANES, beyond, choose, gathered, lane, load, moved_by, spread, store


def _lowest(x: Any) -> Any:
    """What no element of an array is below, as a number to compute with."""
    return np.iinfo(x.dtype).min if x.dtype.kind == "i" else like(wide(x.dtype.type(0)), -math.inf)


@overload(_lowest, strict=False)
def _lowest_of(x: Any) -> object:
    if x.dtype == types.int64:
        return lambda x: np.int64(-(2**63))
    return lambda x: like(wide(x.dtype.type(0)), -math.inf)


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
_BOUNDS = ("x1[od] x1[od] x1[oh] x1[oh] x1[ow] x1[ow] i i i (planes>=0) (depth>=0) (height>=0) (width>=0) (sd>0) (sh>0) (sw>0) :planes")
#: Channels up to which each is walked through alone: loops over fewer cost more to enter than to run.
_FEW = 4
_INNER = "(channels>0)"


@register_jitable
def _side_by_side(w0, w1, step, width, channels, plane, group):
    """Where each tap of the windows in a row of ``group`` planes lies, all channels of a window side by side: in memory, and within a
    plane; taps of shorter windows are their last, once more. And by what step eight of them are apart, or 0. None where one is empty."""
    taps, n = 0, w0.size * channels * group
    for c in range(w0.size):
        if w0[c] < 0 or w1[c] > width or w1[c] <= w0[c]:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
        taps = max(taps, (w1[c] - w0[c] + step - 1) // step)
    blocks = (n + LANES - 1) // LANES
    spots, places, steps = np.empty(taps * n, np.int64), np.empty(taps * n, np.int64), np.empty(taps * blocks, np.int64)
    for c in range(w0.size):
        low = w0[c]
        last = low + (max(w1[c] - low, 1) - 1) // step * step
        for j in range(taps):
            place = max(0, min(low + j * step, last, width - 1))
            for g in range(group):
                for s in range(channels):
                    at = j * n + (g * w0.size + c) * channels + s
                    spots[at], places[at] = g * plane + place * channels + s, place
    for j in range(taps):
        for block in range(blocks):
            at = j * n + min(block * LANES, n - LANES)
            apart = spots[at + 1] - spots[at]
            for s in range(2, LANES):
                apart = apart if spots[at + s] - spots[at + s - 1] == apart else 0
            steps[j * blocks + block] = apart
    return spots, places, steps


@kernel(f"r0[{_GIVEN}*channels] w0[{_MADE}*channels] Q0[{_MADE}*channels]? i i i i i {_INNER} {_BOUNDS}", dtypes="fdEl")
def max_windows(x, y, index, planes, depth, height, width, channels, d0, d1, h0, h1, w0, w1, sd, sh, sw, start, stop):
    """Without memory for indices these are left out. Windows are looked at eight at a time, or eight channels of one, where there are."""
    places, row = index.size > 0, w0.size * channels  # of results
    plane, count = depth * height * width * channels, d0.size * h0.size * row
    lowest = rounded(y, _lowest(x))
    group = 1 if row >= LANES else min(LANES // (row & -row), stop - start)  # planes whose rows are vectors together
    n, many = group * row, channels < LANES and group * row >= LANES
    spots, cells, steps = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    if many:
        spots, cells, steps = _side_by_side(w0, w1, sw, width, channels, plane, group)
        many = steps.size > 0
    blocks = (n + LANES - 1) // LANES
    for begin in range(start, stop, group if many else 1):
        p = min(begin, stop - group) if many else begin
        for a in range(d0.size):
            d_low, d_high = d0[a], d1[a]
            for b in range(h0.size):
                h_low, h_high = h0[b], h1[b]
                if d_low < 0 or d_high > depth or h_low < 0 or h_high > height:
                    return False
                o = p * count + (a * h0.size + b) * row
                top = (d_low * height + h_low) * width
                if many:
                    for block in range(blocks):
                        s = min(block * LANES, n - LANES)
                        best, at = spread(lowest), moved_by(load(cells, s), top)
                        i = d_low
                        while i < d_high:  # ranges would divide to count their steps
                            j = h_low
                            while j < h_high:
                                line, k = (i * height + j) * width, s
                                t = block
                                while t < steps.size:
                                    values = gathered(x, p * plane + line * channels, spots, k, steps[t])
                                    better = beyond(values, best)
                                    best = choose(better, values, best)
                                    if places:
                                        at = choose(better, moved_by(load(cells, k), line), at)
                                    k += n
                                    t += blocks
                                j += sh
                            i += sd
                        if group == 1 or row == count:
                            store(y, o + s, best)
                            if places:
                                store(index, o + s, at)
                            continue
                        for l in range(LANES):
                            e = o + (s + l) // row * count + (s + l) % row
                            y[e] = lane(best, l)
                            if places:
                                index[e] = lane(at, l)
                    continue
                for c in range(w0.size):
                    w_low, w_high = w0[c], w1[c]
                    if w_low < 0 or w_high > width:
                        return False
                    if channels >= LANES:
                        for s in range(0, channels, 2 * LANES):  # two at a time, which do not wait for each other
                            s, t = min(s, channels - LANES), min(s + LANES, channels - LANES)
                            best, at = spread(lowest), spread(top + w_low)
                            other, at_other = best, at
                            i = d_low
                            while i < d_high:
                                j = h_low
                                while j < h_high:
                                    line = (i * height + j) * width
                                    k = line + w_low
                                    while k < line + w_high:
                                        values, more = load(x, p * plane + k * channels + s), load(x, p * plane + k * channels + t)
                                        better, beside = beyond(values, best), beyond(more, other)
                                        best, other = choose(better, values, best), choose(beside, more, other)
                                        if places:
                                            at, at_other = choose(better, spread(k), at), choose(beside, spread(k), at_other)
                                        k += sw
                                    j += sh
                                i += sd
                            store(y, o + s, best)
                            store(y, o + t, other)
                            if places:
                                store(index, o + s, at)
                                store(index, o + t, at_other)
                        o += channels
                        continue
                    for s in range(channels):
                        most, at_most = _lowest(x), top + w_low
                        for i in range(d_low, d_high, sd):
                            for j in range(h_low, h_high, sh):
                                line = (i * height + j) * width
                                k = line + w_low
                                while k < line + w_high:
                                    v = wide(x[np.uint64(p * plane + k * channels + s)])
                                    if not (v <= most):  # a branch that is foreseen, where selections wait for one another
                                        if v > most or v != v:
                                            most, at_most = v, k
                                    k += sw
                        y[o] = rounded(y, most)
                        if places:
                            index[o] = at_most
                        o += 1
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
