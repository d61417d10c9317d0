"""Sums of weighted elements at given places, one place of each result at a time, so that the inner loops run along the results; and the
places and weights of grids, step by step as NumPy finds them, so that either may. Half precision is rounded at each step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from .base import EXACT, kernel, rounded, wide
from .simd import borrowed


def _step(array: Any, v: float) -> Any:
    """A number in double precision as the elements of an array round it."""
    return np.float64(array.dtype.type(v))


@overload(_step, jit_options={"error_model": "numpy"}, strict=False)
def _compiled_step(array: Any, v: float) -> Any:
    if array.dtype == types.float64:
        return lambda array, v: v
    if array.dtype == types.float32:
        return lambda array, v: np.float64(np.float32(v))
    return lambda array, v: np.float64(wide(rounded(array, np.float32(v))))


def _sum(array: Any, v: float) -> Any:
    """A sum, or what is added up, which half precision rounds but once."""
    return _step(array, v)


@overload(_sum, jit_options={"error_model": "numpy"}, strict=False)
def _compiled_sum(array: Any, v: float) -> Any:
    return (lambda array, v: _step(array, v)) if array.dtype in (types.float32, types.float64) else lambda array, v: v


def _scratch(array: Any, shape: Any) -> Any:
    """Memory for steps: an operation on float32 rounded from double precision is that of float32, and the compiler knows it."""
    return np.empty(shape, np.float64)


@overload(_scratch, strict=False)
def _compiled_scratch(array: Any, shape: Any) -> Any:
    if array.dtype == types.float32:
        return lambda array, shape: np.empty(shape, np.float32)
    return lambda array, shape: np.empty(shape, np.float64)


@register_jitable
def _position(a, x, size, align):
    """Where -1 to 1 of a grid lies among `size` elements."""
    x = _step(a, x + 1.0)
    if align:
        return _step(a, x * ((size - 1) / 2.0))
    return _step(a, _step(a, _step(a, x * size) - 1.0) * 0.5)


@register_jitable
def _even(flips):
    return np.floor(flips * 0.5) * 2.0 == flips  # a remainder is a call of the C library


@register_jitable
def _reflected(a, x, size, align):
    low, span = (0.0, size - 1.0) if align else (-0.5, size * 1.0)
    distance = abs(_step(a, x - low))
    flips = np.floor(_step(a, distance / span))
    rest = _step(a, distance - _step(a, flips * span))
    return _step(a, (rest if _even(flips) else _step(a, span - rest)) + low)


# Each step is a loop of its own over a block of places, without branches: vectors.


@register_jitable
def _positions(a, grid, d, first, places, size, align, xs):
    """Where places of a grid, from the `first` on, lie among `size` elements along dimension `d`; x comes first in the grid."""
    for i in range(places):
        xs[i] = _position(a, np.float64(wide(grid[np.uint64(first + i), np.uint64(grid.shape[1] - 1 - d)])), size, align)


@register_jitable
def _pad(a, xs, places, size, padding, align):
    """Positions after padding: 1 for that of borders, 2 for reflection."""
    if padding == 2 and size == 1 and align:
        for i in range(places):
            xs[i] = xs[i] * 0.0
        return
    if padding == 2:
        for i in range(places):
            xs[i] = _reflected(a, xs[i], size, align)
    if padding > 0:
        last = _step(a, size - 1.0)
        for i in range(places):
            xs[i] = 0.0 if xs[i] <= 0.0 else (last if xs[i] >= size - 1.0 else xs[i])


@register_jitable
def _slopes(a, xs, places, size, padding, align, made):
    """The derivatives of what `_pad` makes of positions."""
    for i in range(places):
        made[i] = 1.0
    low, span = (0.0, size - 1.0) if align else (-0.5, size * 1.0)
    if padding == 2:
        for i in range(places):
            shift = _step(a, xs[i] - low)
            slope = 1.0 if shift > 0.0 else (-1.0 if shift < 0.0 else shift)
            made[i] = slope if _even(np.floor(_step(a, abs(shift) / span))) else -slope
    if padding > 0:
        for i in range(places):
            x = _reflected(a, xs[i], size, align) if padding == 2 else xs[i]
            made[i] = 0.0 if x <= 0.0 or x >= size - 1.0 else made[i]
    if padding == 2 and span == 0.0:
        for i in range(places):
            made[i] = 0.0


@register_jitable
def _near_slope(a, x):
    return _step(a, _step(a, _step(a, 3.75 * x) - 4.5) * x)


@register_jitable
def _far_slope(a, x):
    return _step(a, _step(a, _step(a, _step(a, -2.25 * x) + 7.5) * x) - 6.0)


@register_jitable
def _cubic_near(a, x):
    return _step(a, _step(a, _step(a, _step(a, _step(a, 1.25 * x) - 2.25) * x) * x) + 1.0)


@register_jitable
def _cubic_far(a, x):
    return _step(a, _step(a, _step(a, _step(a, _step(a, _step(a, -0.75 * x) + 3.75) * x) - 6.0) * x) + 3.0)


@register_jitable
def _inside(p, size):
    """A position as a number, -1 for those that are none."""
    return int(p) if p >= 0.0 and p < size else -1


@register_jitable
def _along(a, grid, d, first, places, size, taps, padding, align, at, by, xs):
    """Along dimension `d` the positions that places of a grid read, from the `first` on, -1 for none, and their weights: (taps, places)."""
    _positions(a, grid, d, first, places, size, align, xs)
    if taps < 4:
        _pad(a, xs, places, size, padding, align)
    if taps == 1:
        for i in range(places):
            at[0, i], by[0, i] = _inside(np.rint(xs[i]), size), 1.0
    elif taps == 2:
        for i in range(places):
            low = np.floor(xs[i])
            t = _step(a, xs[i] - low)
            at[0, i], by[0, i] = _inside(low, size), _step(a, 1.0 - t)
            at[1, i], by[1, i] = _inside(_step(a, low + 1.0), size), t
    else:
        for i in range(places):
            by[3, i] = np.floor(xs[i])
            by[0, i] = _step(a, xs[i] - by[3, i])
        for j in range(4):
            for i in range(places):
                xs[i] = _step(a, by[3, i] + (j - 1.0))
            _pad(a, xs, places, size, padding, align)
            for i in range(places):
                at[j, i] = _inside(xs[i], size)
        for i in range(places):
            t = by[0, i]
            by[0, i], by[1, i] = _cubic_far(a, _step(a, t + 1.0)), _cubic_near(a, t)
            by[2, i], by[3, i] = _cubic_near(a, _step(a, 1.0 - t)), _cubic_far(a, _step(a, 2.0 - t))


@register_jitable
def _steepness(a, grid, d, first, places, size, taps, padding, align, steep, xs):
    """The derivatives of the weights of `_along`."""
    if taps == 1:
        for i in range(places):
            steep[0, i] = 0.0
        return
    _positions(a, grid, d, first, places, size, align, xs)
    slopes, scale = steep[taps - 1], _step(a, (size - 1) / 2.0 if align else size * 0.5)
    _slopes(a, xs, places, size, 0 if taps == 4 else padding, align, slopes)
    for i in range(places):
        slope = _step(a, slopes[i] * scale)
        if taps == 2:
            steep[0, i], steep[1, i] = -slope, slope
            continue
        t = _step(a, xs[i] - np.floor(xs[i]))
        steep[0, i] = _step(a, _far_slope(a, _step(a, t + 1.0)) * slope)
        steep[1, i] = _step(a, _near_slope(a, t) * slope)
        steep[2, i] = _step(a, -_near_slope(a, _step(a, 1.0 - t)) * slope)
        steep[3, i] = _step(a, -_far_slope(a, _step(a, 2.0 - t)) * slope)


@register_jitable
def _corners(at, s, places, taps, sd, sh, sw, index):
    """The flat positions of all taps, -1 for none, x fastest, along dimensions whose elements are `sd`, `sh` and `sw` apart."""
    for k in range(index.shape[0]):
        xs, ys, zs = at[s - 1, k % taps], at[s - 2, k // taps % taps], at[0, k // (taps * taps)]
        for i in range(places):
            x, y, z = xs[i], ys[i], zs[i] if s == 3 else 0
            index[k, i] = -1 if x < 0 or y < 0 or z < 0 else z * sd + y * sh + x * sw


@register_jitable
def _products(a, places, taps, along, made):
    """Products of what taps have along x, y and z, each rounded."""
    us, vs, ws = along
    for k in range(made.shape[0]):
        u, v, w = us[k % taps], vs[k // taps % taps], ws[k // (taps * taps)]
        for i in range(places):
            made[k, i] = rounded(made, _step(a, _step(a, u[i] * v[i]) * w[i]))


_GRID = ("i i i i i i ((taps==1)|(taps==2)|(taps==4)) ((s==2)|(s==3)) (depth>=0) (height>=0) (width>=0) "
         "(depth*height*width==size)")


@register_jitable(forceinline=True)
def _term(a, share, x, base, spot, reach):
    """A tap's share of what is read from `base` on; of none, whose spot is more than any as an unsigned number, that of zero. Something is
    read anyway: a branch would be guessed."""
    j = np.uint64(spot)
    value = x[base + (j if j < reach else np.uint64(0))]
    return rounded(a, wide(share) * wide(value if j < reach else x.dtype.type(0)))


@register_jitable(forceinline=True)
def _more(a, total, share, x, base, spot, reach):
    return rounded(a, wide(total) + wide(_term(a, share, x, base, spot, reach)))


@register_jitable(forceinline=True)
def _channels(x, base, reach, index, weight, i, sums):
    """What one place reads of all channels, which lie side by side."""
    for k in range(index.shape[0]):
        j, share = np.uint64(index[k, i]), wide(weight[k, i])
        if j >= reach:
            nothing = rounded(sums, share * wide(x.dtype.type(0)))
            for c in range(sums.size):
                sums[c] = rounded(sums, wide(sums[c]) + wide(nothing)) if k > 0 else nothing
            continue
        values = x[base + j : base + j + np.uint64(sums.size)]
        if k == 0:
            for c in range(sums.size):
                sums[c] = rounded(sums, share * wide(values[c]))
        else:
            for c in range(sums.size):
                sums[c] = rounded(sums, wide(sums[c]) + wide(rounded(sums, share * wide(values[c]))))


_LIES = ("(sn>=0) (sc>=0) (sd>=0) (sh>=0) (sw>=0) (n>0) (c>0) "
         "((n-1)*sn+(c-1)*sc+(depth-1)*sd+(height-1)*sh+(width-1)*sw<total)")
_SIZED = "i i i i i i ((taps==1)|(taps==2)|(taps==4)) ((s==2)|(s==3)) (depth>0) (height>0) (width>0)"


@kernel(f"r3[n,l,s] r0[total] w3[n,c,l] {_SIZED} i i i i i {_LIES} i i (block>0) (blocks>0) (block*blocks>=l) :n*blocks", EXACT)
def grid_sampled(grid, x, y, depth, height, width, taps, padding, align, sn, sc, sd, sh, sw, block, blocks, start, stop):
    """Images at the places of a grid, a block of places after another; of planes `depth` is 1. Elements of images are `sn`, `sc`, `sd`,
    `sh` and `sw` apart, in whatever order they lie."""
    x, y = borrowed(x), borrowed(y)
    s, length, count = grid.shape[2], grid.shape[1], taps * taps * (taps if grid.shape[2] == 3 else 1)
    at, by, xs = np.empty((3, taps, block), np.int64), _scratch(y, (3, taps, block)), _scratch(y, block)
    by[:] = 1.0
    index, weight = np.empty((count, block), np.int64), np.empty((count, block), y.dtype)
    reach, channels = np.uint64((depth - 1) * sd + (height - 1) * sh + (width - 1) * sw + 1), y.shape[1]
    side_by_side = sc == 1 and channels >= 8
    of_all = np.empty(channels if side_by_side else 0, y.dtype)
    for item in range(start, stop):
        n, first = item // blocks, item % blocks * block
        places = min(block, length - first)
        for d in range(s):
            along = width if d == s - 1 else (height if d == s - 2 else depth)
            _along(y, grid[n], d, first, places, along, taps, padding, align, at[d], by[d], xs)
        _corners(at, s, places, taps, sd, sh, sw, index)
        _products(y, places, taps, (by[s - 1], by[s - 2], by[0 if s == 3 else 2]), weight)
        for i in range(places if side_by_side else 0):
            _channels(x, np.uint64(n * sn), reach, index, weight, i, of_all)
            for c in range(channels):
                y[np.uint64(n), np.uint64(c), np.uint64(first + i)] = of_all[c]
        for c in range(0 if side_by_side else channels):
            base, sums = np.uint64(n * sn + c * sc), y[n, c, first : first + places]
            if count == 4:  # sums that stay in registers
                at0, at1, at2, at3 = index[0], index[1], index[2], index[3]
                by0, by1, by2, by3 = weight[0], weight[1], weight[2], weight[3]
                for i in range(sums.size):
                    total = _term(sums, by0[i], x, base, at0[i], reach)
                    total = _more(sums, total, by1[i], x, base, at1[i], reach)
                    total = _more(sums, total, by2[i], x, base, at2[i], reach)
                    sums[i] = _more(sums, total, by3[i], x, base, at3[i], reach)
                continue
            for k in range(count):
                spots, shares = index[k], weight[k]
                for i in range(sums.size):
                    term = _term(sums, shares[i], x, base, spots[i], reach)
                    sums[i] = rounded(sums, wide(sums[i]) + wide(term)) if k > 0 else term


@kernel("r2[p,size] x3[k,n,l] r3[k,n,l] w2[p,l] i (channels>0) (p==n*channels) :p", EXACT)
def weighted_sums(x, index, weight, y, channels, start, stop):
    zero = wide(x.dtype.type(0))
    for p in range(start, stop):
        values, sums, n = x[p], y[p], p // channels
        for k in range(index.shape[0]):
            at, by = index[k, n], weight[k, n]
            for i in range(sums.size):
                j = at[i]
                if j >= values.size:
                    return False
                term = rounded(sums, wide(by[i]) * (wide(values[j]) if j >= 0 else zero))
                sums[i] = rounded(sums, wide(sums[i]) + wide(term)) if k > 0 else term
    return True


@kernel("r3[n,c,l] r3[n,c,size] x3[k,n,l] r3[k,n,l] w3[n,c,size]? w3[k,n,l]? :n")
def weighted_sums_backward(grad, x, index, weight, dx, dw, start, stop):
    T = x.dtype.type
    for n in range(start, stop):
        if dw.size > 0:
            for k in range(index.shape[0]):
                dw[k, n] = T(0)
        for c in range(x.shape[1]):
            g, values = grad[n, c], x[n, c]
            if dx.size > 0:
                dx[n, c] = T(0)
            for k in range(index.shape[0]):
                at, by = index[k, n], weight[k, n]
                if dx.size > 0:
                    target = dx[n, c]
                    for i in range(g.size):
                        j = at[i]
                        if j >= target.size:
                            return False
                        if j >= 0:
                            target[j] += by[i] * g[i]
                if dw.size > 0:
                    sums = dw[k, n]
                    for i in range(g.size):
                        j = at[i]
                        if j >= values.size:
                            return False
                        if j >= 0:
                            sums[i] += g[i] * values[j]
    return True


@kernel("r0[outer*length*inner] w0[outer*m*inner] x2[m,t] r2[m,t] i i i (t>0) (outer>=0) (length>=0) (inner>=0) :outer", EXACT)
def resampled(x, y, index, weight, outer, length, inner, start, stop):
    """Element i along the middle of three dimensions is the sum over t of ``weight[i, t] * x[index[i, t]]``, added up in order."""
    m, taps = index.shape
    for o in range(start, stop):
        xs, ys = x[o * length * inner : (o + 1) * length * inner], y[o * m * inner : (o + 1) * m * inner]
        for i in range(m):
            for t in range(taps):
                if index[i, t] < 0 or index[i, t] >= length:
                    return False
            if inner == 1:
                total = xs[np.uint64(index[i, 0])] * weight[i, 0]
                for t in range(1, taps):
                    total += xs[np.uint64(index[i, t])] * weight[i, t]
                ys[i] = total
                continue
            row = ys[i * inner : (i + 1) * inner]
            for t in range(taps):
                w, values = weight[i, t], xs[index[i, t] * inner : (index[i, t] + 1) * inner]
                if t == 0:
                    for j in range(row.size):
                        row[j] = values[j] * w
                else:
                    for j in range(row.size):
                        row[j] += values[j] * w
    return True


@kernel(f"r3[n,l,s] r3[n,c,l] r3[n,c,size] w3[n,c,size]? w3[n,l,s]? {_GRID} i (block>0) :n", EXACT)
def grid_gradients(grid, grad, x, dx, dgrid, depth, height, width, taps, padding, align, block, start, stop):
    """The gradients of reading images at the places of a grid, for the images and for the grid, by blocks of places; steps are rounded as
    in `grid_sampled`, and what comes to one element is added up in double precision."""
    grad, x = borrowed(grad), borrowed(x)
    s, length, channels = grid.shape[2], grid.shape[1], x.shape[1]
    count = taps * taps * (taps if s == 3 else 1)
    at, by, steep = np.empty((3, taps, block), np.int64), _scratch(x, (3, taps, block)), _scratch(x, (3, taps, block))
    by[:] = 1.0
    index, weight, found = np.empty((count, block), np.int64), _scratch(x, (count, block)), _scratch(x, (count, block))
    found[:] = 0.0
    slopes, totals, xs = _scratch(x, (3, count, block)), _scratch(x, block), _scratch(x, block)
    sums = np.empty((channels if dx.size > 0 else 0, x.shape[2]))
    size = np.uint64(x.shape[2])
    for n in range(start, stop):
        sums[:] = 0.0
        for first in range(0, length, block):
            places = min(block, length - first)
            for d in range(s):
                along = width if d == s - 1 else (height if d == s - 2 else depth)
                _along(grad, grid[n], d, first, places, along, taps, padding, align, at[d], by[d], xs)
                if dgrid.size > 0:
                    _steepness(grad, grid[n], d, first, places, along, taps, padding, align, steep[d], xs)
            _corners(at, s, places, taps, height * width, width, 1, index)
            last = by[0 if s == 3 else 2]
            if dx.size > 0:
                _products(grad, places, taps, (by[s - 1], by[s - 2], last), weight)
            if dgrid.size > 0:
                _products(grad, places, taps, (steep[s - 1], by[s - 2], last), slopes[0])
                _products(grad, places, taps, (by[s - 1], steep[s - 2], last), slopes[1])
                if s == 3:
                    _products(grad, places, taps, (by[2], by[1], steep[0]), slopes[2])
            for c in range(channels):
                g, values = grad[n, c, first : first + places], x[n, c]
                if dx.size > 0:
                    target = sums[c]
                    for k in range(count):
                        spots, shares = index[k], weight[k]
                        for i in range(g.size):
                            j = np.uint64(spots[i])
                            if j < size:
                                target[j] += _step(grad, shares[i] * np.float64(wide(g[i])))
                if dgrid.size > 0:
                    for k in range(count):
                        spots, products = index[k], found[k]
                        for i in range(g.size):
                            j = np.uint64(spots[i])
                            v = np.float64(wide(values[j])) if j < size else 0.0
                            term = _sum(grad, v * np.float64(wide(g[i])))
                            products[i] = term if c == 0 else _sum(grad, products[i] + term)
            if dgrid.size > 0:
                for d in range(s):
                    for k in range(count):
                        products, steps = found[k], slopes[d, k]
                        for i in range(places):
                            term = _sum(grad, products[i] * steps[i])
                            totals[i] = term if k == 0 else _sum(grad, totals[i] + term)
                    for i in range(places):
                        dgrid[n, first + i, d] = rounded(dgrid, totals[i])
        for c in range(sums.shape[0]):
            for j in range(sums.shape[1]):
                dx[n, c, j] = rounded(dx, sums[c, j])
