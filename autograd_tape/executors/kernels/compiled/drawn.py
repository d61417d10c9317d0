"""Words of the generator that become numbers of any dtype in one pass, with the bits of `autograd_tape/random`'s compositions."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from ....random._made import CAUCHY, EXPONENTIAL, GEOMETRIC
from .base import fma, kernel, rounded, wide, working
from .random import box_muller

_EXACT: frozenset[str] = frozenset()  # every rounding is torch's
f32, u32, i32 = np.float32, np.uint32, np.int32
unit32, unit64 = f32(2.0**-24), 2.0**-53


@register_jitable(inline="always")
def single(word):
    """A uniform number of 24 bits."""
    return f32(i32(word & u32(0xFFFFFF))) * unit32


@register_jitable(inline="always")
def double(high, low):
    """A uniform number of 53 bits, by what vectors can convert."""
    below = np.float64(i32(low ^ u32(0x80000000))) + 2147483648.0
    return np.float64(i32(high & u32(0x1FFFFF))) * 2.0**-21 + below * unit64


def whole(array, v):
    """An integer as an element of an array."""
    return v


@overload(whole)
def _whole(array, v):
    if array.dtype in (types.uint16, types.int16):
        return lambda array, v: rounded(array, f32(v))
    return lambda array, v: v


@kernel("u1[m] s s s s w0[n] ((m==n)|(m==2*n))", _EXACT, dtypes="fdEe", fresh=True)
def uniforms(words, low, spread, first, end, out):
    """``low + u * spread``, rounded once, of a word each in single precision, of two in double; what rounds to ``end`` is ``first``."""
    if words.size == out.size:
        a, b = f32(low), f32(spread)
        for i in range(out.size):
            out[i] = rounded(out, working(out, fma(single(words[i]), b, a)))
    else:
        for i in range(out.size):
            out[i] = rounded(out, working(out, fma(double(words[2 * i], words[2 * i + 1]), spread, low)))
    last = working(out, end)
    for i in range(out.size):
        if wide(out[i]) == last:
            out[i] = rounded(out, working(out, first))


@kernel("i u1[2*n] s s w0[n]", _EXACT, dtypes="fdEe")
def numbers(op, words, a, b, out):
    """Of uniform numbers: exponential ones of the rate ``-1 / a``, Cauchy's about ``b`` as wide as ``a``, trials up to a success of the
    chance ``1 - exp(a)``, or successes of the chance ``a``."""
    for i in range(out.size):
        u = double(words[2 * i], words[2 * i + 1])
        if op == EXPONENTIAL:
            v = math.log1p(-u) * a
        elif op == CAUCHY:
            v = fma(math.tan(math.pi * (u - 0.5)), a, b)
        elif op == GEOMETRIC:
            v = math.ceil(math.log(u) / a) if u > 0.0 else np.inf
        else:
            v = 1.0 if u < a else 0.0
        out[i] = rounded(out, working(out, v))


@kernel("u1[m] s s w0[n] (n>=16) (m>=n//16*16+(n%16>0)*16)", _EXACT, dtypes="fEe")
def normals(words, mean, std, out):
    """Normal numbers of blocks of 16 words; the last 16 are drawn anew, of the last words, where they are no multiple of 16."""
    centre, spread, n, chunk = f32(mean), f32(std), out.size, 64
    u1, u2 = np.empty(8 * chunk, np.float32), np.empty(8 * chunk, np.float32)
    blocks = n // 16
    for start in range(0, blocks + (n % 16 > 0), chunk):
        stop = min(start + chunk, blocks + (n % 16 > 0))
        for b in range(start, stop):
            at = 16 * b if b < blocks else words.size - 16
            for j in range(8):
                u1[8 * (b - start) + j] = single(words[at + j])
                u2[8 * (b - start) + j] = single(words[at + 8 + j])
        box_muller(u1, u2, centre, spread)
        for b in range(start, stop):
            to = 16 * b if b < blocks else n - 16
            for j in range(8):
                out[to + j] = rounded(out, working(out, u1[8 * (b - start) + j]))
                out[to + 8 + j] = rounded(out, working(out, u2[8 * (b - start) + j]))


@kernel("u1[m] i i w0[n] ((m==n)|(m==2*n))", _EXACT, dtypes="fdEelB", fresh=True)
def integers(words, spread, low, out):
    """``low`` and the remainders of words by ``spread``, which is below 2**32: its quotient is a product, at most one off, and that is
    vector code; or of two words each by a ``spread`` whose bits are those of an unsigned number, 0 where all 64 bits count."""
    if words.size == out.size:
        share = 1.0 / spread if spread > 0 else 1.0
        for i in range(out.size):
            word = np.int64(words[i])
            left = word - np.int64(np.float64(word) * share) * spread
            left += spread if left < 0 else 0
            out[i] = whole(out, low + (left - (spread if left >= spread else 0)))
    else:
        by, first = np.int64(spread).view(np.uint64), np.int64(low).view(np.uint64)
        for i in range(out.size):
            word = (np.uint64(words[2 * i]) << np.uint64(32)) | np.uint64(words[2 * i + 1])
            rest = word % by if by != np.uint64(0) else word
            out[i] = whole(out, np.uint64(rest + first).view(np.int64))


@kernel("r0[n] u1[m] w0[n] Q1[1] ((m==n)|(m==2*n))", _EXACT, dtypes="fdEe")
def coins(chances, words, out, fine):
    """1 with each chance, else 0, by a uniform number of the chance's precision; ``fine`` says whether all are chances, or nothing is
    written."""
    fine[0] = 1
    for i in range(chances.size):
        p = wide(chances[i])
        if not (p >= 0) & (p <= 1):
            fine[0] = 0
    if fine[0] == 0:
        return
    for i in range(out.size):
        if words.size == out.size:
            heads = single(words[i]) < wide(chances[i])
        else:
            heads = double(words[2 * i], words[2 * i + 1]) < wide(chances[i])
        out[i] = rounded(out, working(out, 1.0 if heads else 0.0))


@kernel("r2[rows,n] u1[2*rows*count] Q2[rows,count] Q1[1] (n>0)", _EXACT, dtypes="fdEe")
def choices(weights, words, out, fine):
    """For each row of weights places that are drawn with them, with replacement; ``fine`` says whether all are weights."""
    fine[0] = 1
    n, count, at = weights.shape[1], out.shape[1], 0
    sums = np.empty(n)
    for r in range(weights.shape[0]):
        total = working(weights, 0.0)
        for i in range(n):
            w = wide(weights[r, i])
            if not (w >= 0) & (w < np.inf):
                fine[0] = 0
            total = working(weights, total + w)
            sums[i] = total
        if not (total > 0) & (total < np.inf):
            fine[0] = 0
        if fine[0] == 0:
            return
        for j in range(count):
            u = double(words[at], words[at + 1])
            at += 2
            low, high = 0, n - 1  # the sum of all is no less than any
            while low < high:
                mid = (low + high) // 2
                if working(weights, working(weights, sums[mid]) / total) < u:
                    low = mid + 1
                else:
                    high = mid
            out[r, j] = low


@kernel("r0[n] u1[2*n] D0[n] Q1[2]", _EXACT, dtypes="fdEe")
def races(weights, words, out, fine):
    """Weights by exponential numbers; ``fine`` says whether all are weights, and how many are none at all."""
    fine[0], fine[1] = 1, 0
    for i in range(out.size):
        w = wide(weights[i])
        if not (w >= 0) & (w < np.inf):
            fine[0] = 0
        fine[1] += w == 0
        noise = wide(rounded(weights, working(weights, -math.log1p(-double(words[2 * i], words[2 * i + 1])))))
        out[i] = wide(rounded(weights, working(weights, w / noise)))
