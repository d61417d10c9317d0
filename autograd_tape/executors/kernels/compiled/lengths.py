"""Powers of magnitudes that norms add up."""

from __future__ import annotations

import math

import numpy as np
from numba.extending import overload, register_jitable

from .base import EXACT, fma, kernel, like, u8


def cube(v):
    """The third power of a magnitude."""
    return v * v * v


@overload(cube, strict=False)
def _cube(v):
    if v.bitwidth == 32:
        return lambda v: np.float32(np.float64(v) * np.float64(v) * np.float64(v))
    return _exact


@register_jitable
def _exact(v):
    """With what products lose, as the C library's power has it."""
    s = v * v
    p = s * v
    rest = fma(s, v, -p) + fma(v, v, -s) * v
    return p + rest if p - p == 0.0 and p > 1e-290 else p


@kernel("r0[n] w0[n] i :n", EXACT, "fd")
def powers(x, y, third, start, stop):
    """Powers of magnitudes: the third, or that of 3 / 2."""
    xs, ys = x[start:stop], y[start:stop]
    if third:
        for i in range(ys.size):
            ys[i] = cube(abs(xs[i]))
    else:
        for i in range(ys.size):
            v = abs(xs[i])
            ys[i] = np.float64(v) * math.sqrt(np.float64(v))


@kernel("r0[n] w0[n] s s :n", EXACT, "fd")
def shrinking(lengths, factors, most, little, start, stop):
    """What scales vectors down to a length of at most so much; ``little`` guards against dividing by zero."""
    xs, ys = lengths[start:stop], factors[start:stop]
    for i in range(ys.size):
        v, limit, one = xs[i], like(xs[i], most), like(xs[i], 1)
        ys[i] = limit / (v + like(v, little)) if v > limit else one


@kernel("r0[outer*n*inner] r0[n] w0[outer*n*inner] i i i s s (outer>=0) (n>0) (inner>=0) :outer*n", EXACT, "fd",
        fresh=True)
def shrunk(x, lengths, y, outer, n, inner, most, little, start, stop):
    """Parts along the middle dimension by what scales them down, as `shrinking` has it."""
    for item in range(start, stop):
        v = lengths[u8(item % n)]
        limit, one = like(v, most), like(v, 1)
        factor, first = limit / (v + like(v, little)) if v > limit else one, u8(item) * u8(inner)
        for i in range(inner):
            y[first + u8(i)] = x[first + u8(i)] * factor
