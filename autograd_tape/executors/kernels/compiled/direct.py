"""Convolution without columns: tiles of four channels times 24 pixels, or of cotangents times taps, in registers.

A sample's channels are copied into planes with zeros around them, for strides (sh, sw) into sh * sw planes of every
sh-th row and sw-th column.  There, a tap of all windows is one shift of a flat vector (see ``compiled/conv.py``); the
offsets of the shifts, C * KH * KW of them, are all that the inner loops know about geometry.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from .base import kernel
from .simd import LANES, every_other, load, multiply_add, spread, store
from .simd import total as sum_of

#: Channels of a tile, and its pixels.
CHANNELS = 4
PIXELS = 3 * LANES
#: Taps of a tile of the weight's gradient.
TAPS = 3


@register_jitable
def _spread_out(x, planes, size, wide, sh, sw, ph, pw):
    """Copies channels ``x`` (C, H, W) into their planes of ``size`` elements each, with rows of ``wide``."""
    channels, height, width = x.shape
    flat = x.reshape(-1)
    for c in range(channels):
        for r in range(height):
            source = (c * height + r) * width
            row = ((c * sh + (r + ph) % sh) * sw) * size + (r + ph) // sh * wide
            if sw == 1 and width >= LANES:
                at = row + pw
                for s in range(0, width - LANES, LANES):
                    store(planes, at + s, load(flat, source + s))
                store(planes, at + width - LANES, load(flat, source + width - LANES))
                continue
            if sw == 2 and width >= 2 * LANES and width % 2 == 0:
                even, odd = row + pw % 2 * size + pw // 2, row + (1 + pw) % 2 * size + (1 + pw) // 2
                for begin in range(0, width, 2 * LANES):
                    s = min(begin, width - 2 * LANES)
                    a, b = load(flat, source + s), load(flat, source + s + LANES)
                    store(planes, even + s // 2, every_other(a, b, 0))
                    store(planes, odd + s // 2, every_other(a, b, 1))
                continue
            for phase in range(sw):
                first = (phase - pw) % sw
                xs, at = flat[source + first : source + width], row + phase * size + (first + pw) // sw
                ys = planes[at : at + (xs.size + sw - 1) // sw]
                for s in range(ys.size):
                    ys[s] = xs[s * sw]


@register_jitable
def _within(numbers, last):
    for i in range(numbers.size):
        if numbers[i] < 0 or numbers[i] > last:
            return False
    return True


@register_jitable
def _store_row(results, at, v0, v1, v2):
    store(results, at, v0)
    store(results, at + LANES, v1)
    store(results, at + 2 * LANES, v2)


@register_jitable
def _tile(planes, offsets, first, last, at, weights, w, results, step):
    """Adds up four channels times 24 pixels over offsets [first, last)."""
    zero = spread(planes.dtype.type(0))
    a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = zero
    for k in range(first, last):
        q = at + offsets[k]
        x0, x1, x2 = load(planes, q), load(planes, q + LANES), load(planes, q + 2 * LANES)
        t = spread(weights[w])
        a0, a1, a2 = multiply_add(t, x0, a0), multiply_add(t, x1, a1), multiply_add(t, x2, a2)
        t = spread(weights[w + 1])
        b0, b1, b2 = multiply_add(t, x0, b0), multiply_add(t, x1, b1), multiply_add(t, x2, b2)
        t = spread(weights[w + 2])
        c0, c1, c2 = multiply_add(t, x0, c0), multiply_add(t, x1, c1), multiply_add(t, x2, c2)
        t = spread(weights[w + 3])
        d0, d1, d2 = multiply_add(t, x0, d0), multiply_add(t, x1, d1), multiply_add(t, x2, d2)
        w += CHANNELS
    _store_row(results, at, a0, a1, a2)
    _store_row(results, at + step, b0, b1, b2)
    _store_row(results, at + 2 * step, c0, c1, c2)
    _store_row(results, at + 3 * step, d0, d1, d2)


@kernel(
    "r4[n,c,h,v] r1[groups*((o//groups+3)//4)*4*t] r1[o]? x1[t] w4[n,o,oh,ow] i i i i i i i i (groups>0) (c%groups==0) "
    "(o%groups==0) (size>0) (wide>0) (per_plane>0) (per_plane%24==0) (sh>0) (sw>0) (ph>=0) (pw>=0) (wide*sw>=v+pw) "
    "(((h-1+ph)//sh+1)*wide<=size) ((oh-1)*wide+ow<=per_plane) :n",
)
def forward(x, weights, bias, offsets, y, groups, size, wide, per_plane, sh, sw, ph, pw, start, stop):
    """Samples [start, stop) of ``y``; ``weights`` (tiles, C KH KW, CHANNELS) of each group, filled up with zeros.

    ``size`` is the length of a channel's plane and ``per_plane`` that of results; a plane of the last channel may be
    read beyond its end, so there is room.
    """
    T = x.dtype.type
    channels, out, oh, ow = x.shape[1], y.shape[1], y.shape[2], y.shape[3]
    if not _within(offsets, channels // groups * sh * sw * size + per_plane):
        return False
    planes = np.zeros(channels * sh * sw * size + 2 * per_plane, x.dtype)
    results = np.empty(CHANNELS * per_plane, x.dtype)
    length, of_group = offsets.size, out // groups
    tiles = (of_group + CHANNELS - 1) // CHANNELS
    for sample in range(start, stop):
        _spread_out(x[sample], planes, size, wide, sh, sw, ph, pw)
        for tile in range(groups * tiles):
            group, first = tile // tiles, tile % tiles * CHANNELS
            shifted = planes[group * (channels // groups) * sh * sw * size :]
            for q in range(0, per_plane, PIXELS):
                _tile(shifted, offsets, 0, length, q, weights, tile * length * CHANNELS, results, per_plane)
            for o in range(min(CHANNELS, of_group - first)):
                channel = group * of_group + first + o
                b = bias[channel] if bias.size else T(0)
                ys, more = y[sample, channel].reshape(-1), spread(b)
                one = spread(T(1))
                for r in range(oh):
                    source, target = o * per_plane + r * wide, r * ow
                    if ow >= LANES:
                        for begin in range(0, ow, LANES):
                            s = min(begin, ow - LANES)
                            store(ys, target + s, multiply_add(load(results, source + s), one, more))
                    else:
                        for s in range(ow):
                            ys[target + s] = results[source + s] + b
    return True


@kernel(
    "r4[n,o,oh,ow] r4[n,c,h,v] w4[p,o,c//groups,t] x1[c//groups*t] x1[p+1] i i i i i i i i (groups>0) (c%groups==0) "
    "(o%groups==0) (size>0) (wide>0) (per_plane>0) (per_plane%24==0) (sh>0) (sw>0) (ph>=0) (pw>=0) (wide*sw>=v+pw) "
    "(((h-1+ph)//sh+1)*wide<=size) ((oh-1)*wide+ow<=per_plane) :p",
)
def weight_grad(grad, x, parts, offsets, bounds, groups, size, wide, per_plane, sh, sw, ph, pw, start, stop):
    """Parts [start, stop) of the gradient of the weight, (parts, O, C / groups, KH KW): sums over samples between
    ``bounds``."""
    channels, out, oh, ow = x.shape[1], grad.shape[1], grad.shape[2], grad.shape[3]
    of_group, length = out // groups, offsets.size
    if not _within(offsets, channels // groups * sh * sw * size + per_plane) or not _within(bounds, x.shape[0]):
        return False
    rows = (of_group + CHANNELS - 1) // CHANNELS * CHANNELS
    # Some samples at once, as many as fit into the second level of the cache, share the cost of adding up vectors.
    each_x, each_g = channels * sh * sw * size + 2 * per_plane, groups * rows * per_plane
    together = max(1, (1 << 17) // (each_x + each_g))
    planes, cotangents = np.zeros(together * each_x, x.dtype), np.zeros(together * each_g, x.dtype)
    for part in range(start, stop):
        parts[part] = 0
        sums = parts[part].reshape(-1)
        for begin in range(bounds[part], bounds[part + 1], together):
            n = min(together, bounds[part + 1] - begin)
            for i in range(n):
                _spread_out(x[begin + i], planes[i * each_x :], size, wide, sh, sw, ph, pw)
                for o in range(out):
                    gs = grad[begin + i, o].reshape(-1)
                    at = i * each_g + (o // of_group * rows + o % of_group) * per_plane
                    for r in range(oh):
                        if ow >= LANES:
                            for s in range(0, ow, LANES):
                                s = min(s, ow - LANES)
                                store(cotangents, at + r * wide + s, load(gs, r * ow + s))
                        else:
                            for s in range(ow):
                                cotangents[at + r * wide + s] = gs[r * ow + s]
            for group in range(groups):
                base = group * (channels // groups) * sh * sw * size
                for first in range(0, of_group, CHANNELS):
                    g0 = (group * rows + first) * per_plane
                    target = (group * of_group + first) * length
                    here = min(CHANNELS, of_group - first)
                    for k in range(0, length, TAPS):
                        k1, k2 = min(k + 1, length - 1), min(k + 2, length - 1)
                        places = (base + offsets[k], base + offsets[k1], base + offsets[k2])
                        taps = (k, k1, k2)
                        sizes = (n, each_g, each_x, per_plane)
                        _dots(cotangents, planes, g0, places, sizes, sums, target, length, taps, here)
    return True


@register_jitable
def _dots(gs, xs, g0, places, sizes, sums, target, length, taps, here):
    """Adds products of four channels' cotangents with three shifts of the planes to ``sums``."""
    zero = spread(xs.dtype.type(0))
    a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = zero
    p0, p1, p2 = places
    n, each_g, each_x, per_plane = sizes
    for i in range(n):
        g, shift = g0 + i * each_g, i * each_x
        for q in range(0, per_plane, LANES):
            x0, x1, x2 = load(xs, p0 + shift + q), load(xs, p1 + shift + q), load(xs, p2 + shift + q)
            t = load(gs, g + q)
            a0, a1, a2 = multiply_add(t, x0, a0), multiply_add(t, x1, a1), multiply_add(t, x2, a2)
            t = load(gs, g + per_plane + q)
            b0, b1, b2 = multiply_add(t, x0, b0), multiply_add(t, x1, b1), multiply_add(t, x2, b2)
            t = load(gs, g + 2 * per_plane + q)
            c0, c1, c2 = multiply_add(t, x0, c0), multiply_add(t, x1, c1), multiply_add(t, x2, c2)
            t = load(gs, g + 3 * per_plane + q)
            d0, d1, d2 = multiply_add(t, x0, d0), multiply_add(t, x1, d1), multiply_add(t, x2, d2)
    _add_row(sums, target, taps, a0, a1, a2)
    if here > 1:
        _add_row(sums, target + length, taps, b0, b1, b2)
    if here > 2:
        _add_row(sums, target + 2 * length, taps, c0, c1, c2)
    if here > 3:
        _add_row(sums, target + 3 * length, taps, d0, d1, d2)


@register_jitable
def _add_row(sums, at, taps, v0, v1, v2):
    k0, k1, k2 = taps
    sums[at + k0] += sum_of(v0)
    if k1 > k0:
        sums[at + k1] += sum_of(v1)
    if k2 > k1:
        sums[at + k2] += sum_of(v2)
