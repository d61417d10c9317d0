"""Sums of weighted elements at given places, one place of each result at a time, so that the inner loops run along the results; and the
places and weights of grids, step by step as NumPy finds them, so that either may. Half precision is rounded at each step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from .base import EXACT, kernel, rounded, wide


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


@register_jitable
def _position(a, x, size, align):
    """Where -1 to 1 of a grid lies among `size` elements."""
    x = _step(a, x + 1.0)
    if align:
        return _step(a, x * ((size - 1) / 2.0))
    return _step(a, _step(a, _step(a, x * size) - 1.0) * 0.5)


@register_jitable
def _reflected(a, x, size, align):
    low, span = (0.0, size - 1.0) if align else (-0.5, size * 1.0)
    distance = abs(_step(a, x - low))
    flips = np.floor(_step(a, distance / span))
    rest = _step(a, distance - _step(a, flips * span))
    return _step(a, (rest if flips % 2.0 == 0.0 else _step(a, span - rest)) + low)


@register_jitable
def _padded(a, x, size, padding, align):
    """A position after padding: 1 for that of borders, 2 for reflection."""
    if padding == 2:
        low, span = (0.0, size - 1.0) if align else (-0.5, size * 1.0)
        if span == 0.0:
            return x * 0.0
        x = _reflected(a, x, size, align)
    if padding > 0:
        x = 0.0 if x <= 0.0 else (_step(a, size - 1.0) if x >= size - 1.0 else x)
    return x


@register_jitable
def _slope(a, x, size, padding, align):
    """The derivative of what `_padded` makes of a position."""
    slope = 1.0
    if padding == 2:
        low, span = (0.0, size - 1.0) if align else (-0.5, size * 1.0)
        if span == 0.0:
            return 0.0
        shift = _step(a, x - low)
        slope = 1.0 if shift > 0.0 else (-1.0 if shift < 0.0 else shift)
        if not np.floor(_step(a, abs(shift) / span)) % 2.0 == 0.0:
            slope = -slope
    if padding > 0:
        x = _reflected(a, x, size, align) if padding == 2 else x
        if x <= 0.0 or x >= size - 1.0:
            slope = 0.0
    return slope


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


@kernel("r3[n,l,s] Q3[k,n,l] w3[k,n,l] i i i i i i ((taps==1)|(taps==2)|(taps==4)) ((s==2)|(s==3)) (k==taps**s) :n", EXACT)
def grid_taps(grid, index, weight, depth, height, width, taps, padding, align, start, stop):
    """For each place of a grid the flat positions that it reads, -1 for none, and their weights; of planes `depth` does not count."""
    s = grid.shape[2]
    at, by = np.empty((3, 4), np.int64), np.empty((3, 4), np.float64)
    for n in range(start, stop):
        for i in range(grid.shape[1]):
            for d in range(s):  # x comes first in the grid but last in memory
                which = 3 - s + d
                size = depth if which == 0 else (height if which == 1 else width)
                x = _position(weight, np.float64(wide(grid[n, i, s - 1 - d])), size, align)
                if taps == 1:
                    at[d, 0], by[d, 0] = _inside(np.rint(_padded(weight, x, size, padding, align)), size), 1.0
                    continue
                x = x if taps == 4 else _padded(weight, x, size, padding, align)
                first = np.floor(x)
                t = _step(weight, x - first)
                if taps == 2:
                    at[d, 0], by[d, 0] = _inside(first, size), _step(weight, 1.0 - t)
                    at[d, 1], by[d, 1] = _inside(_step(weight, first + 1.0), size), t
                    continue
                for j in range(4):
                    at[d, j] = _inside(_padded(weight, _step(weight, first + (j - 1.0)), size, padding, align), size)
                by[d, 0], by[d, 1] = _cubic_far(weight, _step(weight, t + 1.0)), _cubic_near(weight, t)
                by[d, 2], by[d, 3] = _cubic_near(weight, _step(weight, 1.0 - t)), _cubic_far(weight, _step(weight, 2.0 - t))
            for k in range(index.shape[0]):
                kx, ky, kz = k % taps, k // taps % taps, k // (taps * taps)
                x, y, z = at[s - 1, kx], at[s - 2, ky], at[0, kz] if s == 3 else 0
                w = _step(weight, by[s - 1, kx] * by[s - 2, ky])
                weight[k, n, i] = rounded(weight, _step(weight, w * by[0, kz]) if s == 3 else w)
                index[k, n, i] = -1 if x < 0 or y < 0 or z < 0 else (z * height + y) * width + x


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


@kernel("r0[outer*length*inner] w0[outer*m*inner] x2[m,t] r2[m,t] i i i (t>0) (outer>=0) (length>=0) (inner>=0) "
        "(float(outer)*length*inner<9e18) (float(outer)*m*inner<9e18) :outer", EXACT)
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


@kernel("r3[n,l,s] r3[n,c,l] r3[n,c,size] w3[n,c,size]? w3[n,l,s]? i i i i i i ((taps==1)|(taps==2)|(taps==4)) ((s==2)|(s==3)) "
        "(depth>=0) (height>=0) (width>=0) (float(depth)*height*width<9e18) (depth*height*width==size) :n", EXACT)
def grid_gradients(grid, grad, x, dx, dgrid, depth, height, width, taps, padding, align, start, stop):
    """The gradients of reading images at the places of a grid, for the images and for the grid; steps are rounded as in `grid_taps`, and
    what comes to one element is added up in double precision."""
    s, length, channels = grid.shape[2], grid.shape[1], x.shape[1]
    count = taps * taps * (taps if s == 3 else 1)
    at, by, steep = np.empty((3, 4), np.int64), np.empty((3, 4), np.float64), np.empty((3, 4), np.float64)
    index, weight, found = np.empty((count, length), np.int64), np.empty((count, length)), np.empty((count, length))
    slopes, sums = np.empty((3, count, length)), np.empty(x.shape[2])
    for n in range(start, stop):
        for i in range(length):
            for d in range(s):  # x comes first in the grid but last in memory
                which = 3 - s + d
                size = depth if which == 0 else (height if which == 1 else width)
                p = _position(grad, np.float64(wide(grid[n, i, s - 1 - d])), size, align)
                if taps == 1:
                    at[d, 0], by[d, 0], steep[d, 0] = _inside(np.rint(_padded(grad, p, size, padding, align)), size), 1.0, 0.0
                    continue
                slope = _slope(grad, p, size, 0 if taps == 4 else padding, align)
                slope = _step(grad, slope * _step(grad, (size - 1) / 2.0 if align else size * 0.5))
                p = p if taps == 4 else _padded(grad, p, size, padding, align)
                first = np.floor(p)
                t = _step(grad, p - first)
                if taps == 2:
                    at[d, 0], by[d, 0], steep[d, 0] = _inside(first, size), _step(grad, 1.0 - t), -slope
                    at[d, 1], by[d, 1], steep[d, 1] = _inside(_step(grad, first + 1.0), size), t, slope
                    continue
                for j in range(4):
                    at[d, j] = _inside(_padded(grad, _step(grad, first + (j - 1.0)), size, padding, align), size)
                after, far = _step(grad, 1.0 - t), _step(grad, 2.0 - t)
                by[d, 0], by[d, 1] = _cubic_far(grad, _step(grad, t + 1.0)), _cubic_near(grad, t)
                by[d, 2], by[d, 3] = _cubic_near(grad, after), _cubic_far(grad, far)
                steep[d, 0] = _step(grad, _far_slope(grad, _step(grad, t + 1.0)) * slope)
                steep[d, 1] = _step(grad, _near_slope(grad, t) * slope)
                steep[d, 2] = _step(grad, -_near_slope(grad, after) * slope)
                steep[d, 3] = _step(grad, -_far_slope(grad, far) * slope)
            for k in range(count):
                kx, ky, kz = k % taps, k // taps % taps, k // (taps * taps)
                px, py, pz = at[s - 1, kx], at[s - 2, ky], at[0, kz] if s == 3 else 0
                index[k, i] = -1 if px < 0 or py < 0 or pz < 0 else (pz * height + py) * width + px
                wx, wy, wz = by[s - 1, kx], by[s - 2, ky], by[0, kz] if s == 3 else 1.0
                weight[k, i] = _step(grad, _step(grad, wx * wy) * wz)
                slopes[0, k, i] = _step(grad, _step(grad, steep[s - 1, kx] * wy) * wz)
                slopes[1, k, i] = _step(grad, _step(grad, wx * steep[s - 2, ky]) * wz)
                slopes[2, k, i] = _step(grad, _step(grad, wx * wy) * steep[0, kz]) if s == 3 else 0.0
        for c in range(channels):
            g, values = grad[n, c], x[n, c]
            if dx.size > 0:
                sums[:] = 0.0
                for k in range(count):
                    for i in range(length):
                        j = index[k, i]
                        if j >= 0 and j < sums.size:
                            sums[j] += _step(grad, weight[k, i] * np.float64(wide(g[i])))
                target = dx[n, c]
                for j in range(sums.size):
                    target[j] = rounded(dx, sums[j])
            if dgrid.size > 0:
                for k in range(count):
                    for i in range(length):
                        j = index[k, i]
                        v = np.float64(wide(values[j])) if j >= 0 and j < values.size else 0.0
                        term = _sum(grad, v * np.float64(wide(g[i])))
                        found[k, i] = term if c == 0 else _sum(grad, found[k, i] + term)
        if dgrid.size > 0:
            for i in range(length):
                for d in range(s):
                    total = 0.0
                    for k in range(count):
                        term = _sum(grad, (found[k, i] if channels > 0 else 0.0) * slopes[d, k, i])
                        total = term if k == 0 else _sum(grad, total + term)
                    dgrid[n, i, d] = rounded(dgrid, total)
