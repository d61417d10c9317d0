"""Convolution without columns: tiles of channels times pixels, or of cotangents times taps, in registers.

A sample's channels are copied into planes with zeros around them, for strides (sd, sh, sw) into sd * sh * sw planes of every sd-th
slice, sh-th row and sw-th column.  There, a tap of all windows is one shift of a flat vector (see ``compiled/conv.py``).  Where each
tap's shift leads in the planes, and where its weight lies, is all that the inner loops know about geometry: so the gradient of an input
is the same loop with other numbers, once for each place that a pixel can have between strides.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from .base import kernel
from .simd import LANES, MANY, dots, every_other, load, multiply_add, spread, store, tile

#: Pixels of a tile.
PIXELS = 3 * LANES
#: Taps whose weights and pixels stay in the first level of the cache.
BLOCK = 144
#: Vectors of pixels whose cotangents stay there.
SHORT = 128
#: Elements that a weight's gradient reads at once, of several samples: they stay in the second level.
TOGETHER = 1 << 17


@register_jitable
def _spread_out(x, planes, size, plane, wide, sd, sh, sw, pd, ph, pw):
    """Copies channels ``x`` (C, D, H, W) into their planes of ``size`` elements each, with rows of ``wide``."""
    channels, depth, height, width = x.shape
    flat = x.reshape(-1)
    for c in range(channels):
        for z in range(depth):
            for r in range(height):
                source = ((c * depth + z) * height + r) * width
                phase = ((c * sd + (z + pd) % sd) * sh + (r + ph) % sh) * sw
                row = phase * size + (z + pd) // sd * plane + (r + ph) // sh * wide
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
                for part in range(sw):
                    first = (part - pw) % sw
                    at = row + part * size + (first + pw) // sw
                    for s in range(max(0, (width - first + sw - 1) // sw)):
                        planes[at + s] = flat[source + first + s * sw]


@register_jitable
def _within(numbers, last):
    for i in range(numbers.size):
        if numbers[i] < 0 or numbers[i] > last:
            return False
    return True


@register_jitable
def _convolved(rows, planes, shifts, first, last, at, weights, places, base, step, here, results, target, pitch, more, left, long, short):
    """A tile of ``rows`` (8, 4 or 1) channels, in ``long`` registers of twice as many pixels, or ``short`` ones of half as many, which
    leaves room for fewer; ``left`` or more are to be computed."""
    if rows == 1:
        if left > 2 * PIXELS and not short:
            tile(1, 9, planes, shifts, first, last, at, weights, places, base, step, here, results, target, pitch, more)
        elif left > PIXELS:
            tile(1, 6, planes, shifts, first, last, at, weights, places, base, step, here, results, target, pitch, more)
        else:
            tile(1, 3, planes, shifts, first, last, at, weights, places, base, step, here, results, target, pitch, more)
    elif rows == 4:
        if short:
            tile(4, 1, planes, shifts, first, last, at, weights, places, base, step, here, results, target, pitch, more)
        elif left > 2 * LANES:
            tile(4, 3, planes, shifts, first, last, at, weights, places, base, step, here, results, target, pitch, more)
        elif left > LANES:
            tile(4, 2, planes, shifts, first, last, at, weights, places, base, step, here, results, target, pitch, more)
        else:
            tile(4, 1, planes, shifts, first, last, at, weights, places, base, step, here, results, target, pitch, more)
    elif long and left > PIXELS:
        tile(8, 6, planes, shifts, first, last, at, weights, places, base, step, here, results, target, pitch, more)
    elif left > 2 * LANES:
        tile(8, 3, planes, shifts, first, last, at, weights, places, base, step, here, results, target, pitch, more)
    elif left > LANES:
        tile(8, 2, planes, shifts, first, last, at, weights, places, base, step, here, results, target, pitch, more)
    else:
        tile(8, 1, planes, shifts, first, last, at, weights, places, base, step, here, results, target, pitch, more)


@register_jitable
def _written(results, source, ys, target, wide, oh, ow, th, tw, row, b):
    """Copies rows of results to where they belong, plus ``b``."""
    one, more = spread(results.dtype.type(1)), spread(b)
    for r in range(oh):
        at, to = source + r * wide, target + r * th * row
        if tw == 1 and ow >= LANES:
            for begin in range(0, ow, LANES):
                s = min(begin, ow - LANES)
                store(ys, to + s, multiply_add(load(results, at + s), one, more))
        else:
            for s in range(ow):
                ys[to + s * tw] = results[at + s] + b


@kernel(
    "r5[n,c,d,h,v] r1 r1[o]? x1[t] x1[t] w5[n,o,yd,yh,yw] i i i i i i i i i i i i i i i i i i i i i i (groups>0) (c%groups==0) "
    "(o%groups==0) (parts>0) (beside>=0) (step>=0) (sd>0) (sh>0) (sw>0) (pd>=0) (ph>=0) (pw>=0) (deep>0) (high>0) (wide>0) "
    "(deep*high<=2147483648//wide) (oz>0) (oh>0) (ow>0) (oz<=deep) (oh<=high) (ow<=wide) "
    "((d-1+pd)//sd<deep) ((h-1+ph)//sh<high) ((v-1+pw)//sw<wide) (tz>0) (th>0) (tw>0) (az>=0) (ah>=0) (aw>=0) "
    "(az+(oz-1)*tz<yd) (ah+(oh-1)*th<yh) (aw+(ow-1)*tw<yw) :n*parts",
)
def convolve(x, weights, bias, shifts, places, y, groups, parts, beside, step, sd, sh, sw, pd, ph, pw, deep, high, wide, oz, oh, ow,
             tz, th, tw, az, ah, aw, start, stop):
    """Parts [start, stop) of ``y``, ``parts`` for each sample: results (oz, oh, ow) at every (tz, th, tw)-th place from (az, ah, aw) on.

    The weight of tap k for channel j of a group lies at ``places[k] + group * beside + j * step``, and the number that it is multiplied
    by at ``shifts[k]`` in the group's planes: ``size`` is the length of a channel's plane, ``plane`` that of a slice of it.
    """
    T = x.dtype.type
    channels, out = x.shape[1], y.shape[1]
    of_group, phases = out // groups, sd * sh * sw
    plane, size = high * wide, deep * high * wide
    each = channels // groups * phases * size
    span = (oh - 1) * wide + ow
    pitch = (span + 3 * PIXELS - 1) // (3 * PIXELS) * (3 * PIXELS)
    if not _within(shifts, each) or not _within(places, weights.size - (groups - 1) * beside - max(of_group - 1, 0) * step - 1):
        return False
    rows = 1 if of_group == 1 else 4 if of_group <= 4 or not MANY else 8
    tiles = (of_group + rows - 1) // rows
    count = groups * tiles
    planes = np.zeros(channels * phases * size + size + pitch, x.dtype)
    results = np.empty((count // parts + 1) * rows * pitch, x.dtype)
    ys, slices, row = y.reshape(-1), y.shape[3] * y.shape[4], y.shape[4]
    taps, there, long, short = shifts.size, -1, rows == 8 and x.itemsize == 4, not MANY and x.itemsize == 8
    pixels = (2 * PIXELS if short else 3 * PIXELS) if rows == 1 else 2 * PIXELS if long else LANES if short else PIXELS
    for unit in range(start, stop):
        sample, part = unit // parts, unit % parts
        if sample != there:
            _spread_out(x[sample], planes, size, plane, wide, sd, sh, sw, pd, ph, pw)
            there = sample
        begin, end = count * part // parts, count * (part + 1) // parts
        for z in range(oz):
            for first in range(0, max(taps, 1), BLOCK):
                for q in range(0, span, pixels):
                    for t in range(begin, end):
                        group, o = t // tiles, t % tiles * rows
                        at, base = group * each + z * plane + q, group * beside + o * step
                        _convolved(rows, planes, shifts, first, min(first + BLOCK, taps), at, weights, places, base, step,
                                   min(rows, of_group - o), results, (t - begin) * rows * pitch + q, pitch, first > 0, span - q, long,
                                   short)
            for t in range(begin, end):
                group, o = t // tiles, t % tiles * rows
                for j in range(min(rows, of_group - o)):
                    channel = group * of_group + o + j
                    target = (((sample * out + channel) * y.shape[2] + az + z * tz) * slices) + ah * row + aw
                    b = bias[channel] if bias.size else T(0)
                    _written(results, ((t - begin) * rows + j) * pitch, ys, target, wide, oh, ow, th, tw, row, b)
    return True


@kernel(
    "r5[n,o,oz,oh,ow] r5[n,c,d,h,v] w4[p,o,c//groups,t] x1[c//groups*t] x1[p+1] i i i i i i i i i i i (groups>0) (c%groups==0) "
    "(o%groups==0) (pieces>0) (sd>0) (sh>0) (sw>0) (pd>=0) (ph>=0) (pw>=0) (deep>0) (high>0) (wide>0) "
    "(deep*high<=2147483648//wide) (oz<=deep) (oh<=high) (ow<=wide) ((d-1+pd)//sd<deep) ((h-1+ph)//sh<high) ((v-1+pw)//sw<wide) "
    ":p*pieces",
)
def weight_grad(grad, x, parts, shifts, bounds, groups, pieces, sd, sh, sw, pd, ph, pw, deep, high, wide, start, stop):
    """Pieces [start, stop) of the gradient of the weight, (parts, O, C / groups, taps): a part is a sum over samples between ``bounds``,
    and has ``pieces`` of some channels each."""
    channels, out = x.shape[1], grad.shape[1]
    oz, oh, ow = grad.shape[2], grad.shape[3], grad.shape[4]
    of_group, taps, phases = out // groups, shifts.size, sd * sh * sw
    plane, size = high * wide, deep * high * wide
    each = channels // groups * phases * size
    if not _within(shifts, each) or not _within(bounds, x.shape[0]):
        return False
    rows, few, lanes = 4, 6 if MANY else 3 if x.itemsize == 4 else 1, 2 * LANES if MANY and x.itemsize == 4 else LANES
    tiles = (of_group + rows - 1) // rows
    count = groups * tiles
    vectors = max(0, (oh - 1) * wide + ow + lanes - 1) // lanes
    each_x, each_g = channels * phases * size, (count // pieces + 1) * rows * oz * vectors * lanes
    together = max(1, min(TOGETHER // (each_x + each_g + 1), x.shape[0]))
    length = together * oz * vectors
    planes = np.zeros(together * each_x + size + lanes * (vectors + 1), x.dtype)
    cotangents = np.zeros((count // pieces + 1) * rows * length * lanes, x.dtype)
    spots = np.empty(length, np.int64)
    for p in range(length):
        spots[p] = p // (oz * vectors) * each_x + p // vectors % oz * plane + p % vectors * lanes
    one = np.zeros(rows * few, x.dtype)
    for unit in range(start, stop):
        part, piece = unit // pieces, unit % pieces
        begin, end = count * piece // pieces, count * (piece + 1) // pieces
        sums = parts[part].reshape(-1)
        for i in range(begin // tiles * of_group + begin % tiles * rows, min(out, end // tiles * of_group + end % tiles * rows)):
            for k in range(taps):
                sums[i * taps + k] = 0
        for sample in range(bounds[part], bounds[part + 1], together):
            n = max(0, min(together, bounds[part + 1] - sample, x.shape[0] - sample))
            for i in range(n):
                _spread_out(x[sample + i], planes[i * each_x :], size, plane, wide, sd, sh, sw, pd, ph, pw)
                for t in range(begin, end):
                    for j in range(min(rows, of_group - t % tiles * rows)):
                        gs = grad[sample + i, t // tiles * of_group + t % tiles * rows + j].reshape(-1)
                        line = ((t - begin) * rows + j) * length + i * oz * vectors
                        for z in range(oz):
                            for r in range(oh):
                                at, source = (line + z * vectors) * lanes + r * wide, (z * oh + r) * ow
                                if ow >= LANES:
                                    for s in range(0, ow, LANES):
                                        s = min(s, ow - LANES)
                                        store(cotangents, at + s, load(gs, source + s))
                                else:
                                    for s in range(ow):
                                        cotangents[at + s] = gs[source + s]
            used = n * oz * vectors
            for first in range(0, used, SHORT * LANES // lanes):
                last = min(first + SHORT * LANES // lanes, used)
                for t in range(begin, end):
                    group, o = t // tiles, t % tiles * rows
                    here, at = min(rows, of_group - o), (t - begin) * rows * length * lanes
                    shifted = planes[group * each :]
                    for k in range(0, taps, few):
                        target, kept = (group * of_group + o) * taps + k, min(few, taps - k)
                        if here == rows and kept == few:
                            if few == 6:
                                dots(4, 6, cotangents, at, length * lanes, shifted, spots, shifts, k, first, last, sums, target, taps)
                            elif few == 1:
                                dots(4, 1, cotangents, at, length * lanes, shifted, spots, shifts, k, first, last, sums, target, taps)
                            else:
                                dots(4, 3, cotangents, at, length * lanes, shifted, spots, shifts, k, first, last, sums, target, taps)
                            continue
                        # What is over goes by way of tiles that compute some of it once more.
                        wide_tile = taps >= few
                        k0 = taps - few if wide_tile and kept < few else k
                        for i in range(kept if not wide_tile else 1):
                            one[:] = 0
                            if not wide_tile or few == 1:
                                dots(4, 1, cotangents, at, length * lanes, shifted, spots, shifts, k + i, first, last, one, 0, few)
                            elif few == 6:
                                dots(4, 6, cotangents, at, length * lanes, shifted, spots, shifts, k0, first, last, one, 0, few)
                            else:
                                dots(4, 3, cotangents, at, length * lanes, shifted, spots, shifts, k0, first, last, one, 0, few)
                            for j in range(here):
                                for m in range(kept if wide_tile else 1):
                                    sums[target + j * taps + i + m] += one[j * few + k - k0 + m]
    return True
