"""Large draws of random numbers, equal to torch's to the last bit; see `autograd_tape/random`."""

from __future__ import annotations

import math
from types import FunctionType

import numpy as np
from numba.extending import overload, register_jitable

from ....annotations import Fn
from ....random import polynomials as poly
from ....random import rejection
from ....random.rejection import SMALL, STIRLING, THIRD, wide  # noqa: F401  # its functions, below, look for them here
from .base import fma, kernel, rounded, working
from .base import wide as of_array

_EXACT: frozenset[str] = frozenset()  # every rounding is torch's


f32, u32, i32 = np.float32, np.uint32, np.int32
log_p0, log_p1, log_p2, log_p3, log_p4, log_p5, log_p6, log_p7, log_p8 = poly.LOG
sin_0, sin_1, sin_2 = poly.SIN
cos_0, cos_1, cos_2 = poly.COS
pi4_0, pi4_1, pi4_2 = poly.MINUS_QUARTER_PI
sqrt_half, ln2_low, ln2_high = poly.SQRT_HALF, poly.LN2_LOW, poly.LN2_HIGH
four_over_pi, two_pi, half, one = poly.FOUR_OVER_PI, poly.TWO_PI, f32(0.5), f32(1)
unit32, unit64 = f32(2.0**-24), 2.0**-53
upper, lower, matrix = u32(0x80000000), u32(0x7FFFFFFF), u32(0x9908B0DF)


@register_jitable
def twist(first, second, ahead, new):
    # Of arrays that do not overlap, so that the compiler makes vector code.
    for i in range(new.size):
        y = u32((first[i] & upper) | (second[i] & lower))
        new[i] = u32(ahead[i] ^ u32(y >> u32(1)) ^ u32(u32(-i32(y & u32(1))) & matrix))


@register_jitable
def temper(key, out):
    for i in range(out.size):
        y = key[i]
        y = u32(y ^ u32(y >> u32(11)))
        y = u32(y ^ u32(u32(y << u32(7)) & u32(0x9D2C5680)))
        y = u32(y ^ u32(u32(y << u32(15)) & u32(0xEFC60000)))
        out[i] = u32(y ^ u32(y >> u32(18)))


@kernel("U1[624] u1[624] i U1[n] U1[624] (left>=0) (left<=624)", _EXACT)
def stream(key, block, left, out, last):
    """The next words of the stream: the `left` ones at the end of `block`, then those of new blocks, for which `key` advances; the words
    of the last of these, of which some may be left, are in `last`, too."""
    new = np.empty(624, np.uint32)
    at = min(left, out.size)
    for i in range(at):
        out[i] = block[624 - left + i]
    while at < out.size:
        twist(key[:227], key[1:228], key[397:], new[:227])
        twist(key[227:454], key[228:455], new[:227], new[227:454])
        twist(key[454:623], key[455:], new[227:396], new[454:623])
        y = u32((key[623] & upper) | (new[0] & lower))
        new[623] = u32(new[396] ^ (y >> u32(1)) ^ u32(u32(-i32(y & u32(1))) & matrix))
        for i in range(624):
            key[i] = new[i]
        if out.size - at >= 1248:  # not the last one
            temper(new, out[at : at + 624])
        else:
            temper(new, last)
            count = min(624, out.size - at)
            for i in range(count):
                out[at + i] = last[i]
        at += 624


@register_jitable
def box_muller(u1, u2, mean, std):
    # Flat loops over separate arrays, without branches: what the compiler turns into vector code.
    for i in range(u1.size):
        u = one - u1[i]
        bits = f32(u).view(np.uint32)
        m = u32((bits & u32(0x807FFFFF)) | u32(0x3F000000)).view(np.float32)
        small = m < sqrt_half
        e = f32(i32(i32(bits >> u32(23)) - i32(126))) - (one if small else f32(0))
        x = (m - one) + (m if small else f32(0))
        z = x * x
        y = fma(log_p0, x, log_p1)
        y = fma(y, x, log_p2)
        y = fma(y, x, log_p3)
        y = fma(y, x, log_p4)
        y = fma(y, x, log_p5)
        y = fma(y, x, log_p6)
        y = fma(y, x, log_p7)
        y = fma(y, x, log_p8)
        y = fma(y * x, z, e * ln2_low) - z * half
        radius = np.sqrt(f32(-2) * ((x + y) + e * ln2_high))

        theta = two_pi * u2[i]
        octant = i32(i32(i32(theta * four_over_pi) + i32(1)) & i32(-2))
        k = f32(octant)
        x = fma(k, pi4_2, fma(k, pi4_1, fma(k, pi4_0, theta)))
        z = x * x
        c = fma(fma(cos_0, z, cos_1), z, cos_2)
        c = fma(c * z, z, -(z * half)) + one
        s = fma(fma(sin_0, z, sin_1), z, sin_2)
        s = fma(s * z, x, x)
        swap = (octant & i32(2)) != 0
        sine = c if swap else s
        cosine = s if swap else c
        sine = -sine if (octant & i32(4)) != 0 else sine
        cosine = cosine if (i32(octant - i32(2)) & i32(4)) != 0 else -cosine
        u1[i] = fma(radius * cosine, std, mean)
        u2[i] = fma(radius * sine, std, mean)


@kernel("u3[n,2,8] E3[n,2,8] s s", _EXACT)
def normal_f32(words, out, mean, std):
    """Blocks of 16 words (both arguments of shape (blocks, 2, 8), the same memory allowed) to blocks of 16 normals."""
    chunk = 64
    centre, spread = f32(mean), f32(std)
    u1, u2 = np.empty(8 * chunk, np.float32), np.empty(8 * chunk, np.float32)
    for start in range(0, len(words), chunk):
        stop = min(start + chunk, len(words))
        for b in range(start, stop):
            for j in range(8):
                u1[8 * (b - start) + j] = f32(i32(words[b, 0, j] & u32(0xFFFFFF))) * unit32
                u2[8 * (b - start) + j] = f32(i32(words[b, 1, j] & u32(0xFFFFFF))) * unit32
        box_muller(u1, u2, centre, spread)
        for b in range(start, stop):
            for j in range(8):
                out[b, 0, j] = u1[8 * (b - start) + j]
                out[b, 1, j] = u2[8 * (b - start) + j]


@kernel("d1[n] D1[n] s s (n%16==0)", _EXACT)
def box_muller_f64(u, out, mean, std):
    """Blocks of 16 uniforms in `u` to blocks of 16 normals in `out` (the same sizes, a multiple of 16)."""
    for i in range(0, u.size, 16):
        for j in range(i, i + 8):
            radius = math.sqrt(-2.0 * math.log(1.0 - u[j]))
            theta = 2.0 * math.pi * u[j + 8]
            out[j] = fma(radius * math.cos(theta), std, mean)
            out[j + 8] = fma(radius * math.sin(theta), std, mean)


@kernel("d1[n] D1[n] (n%2==0)", _EXACT)
def box_muller_pairs(u, out):
    for i in range(0, u.size, 2):
        radius = math.sqrt(-2.0 * math.log1p(-u[i + 1]))
        theta = 2.0 * math.pi * u[i]
        out[i] = radius * math.cos(theta)
        out[i + 1] = radius * math.sin(theta)


@kernel("d1[n] s s D1[n]", _EXACT)
def fma_f64(a, b, c, out):
    for i in range(a.size):
        out[i] = fma(a[i], b, c)


@kernel("d1[n] D1[n]", _EXACT)
def log(x, out):
    for i in range(x.size):
        out[i] = math.log(x[i])


@kernel("d1[n] D1[n]", _EXACT)
def log1p(x, out):
    for i in range(x.size):
        out[i] = math.log1p(x[i])


@kernel("d1[n] D1[n]", _EXACT)
def exp(x, out):
    for i in range(x.size):
        out[i] = math.exp(x[i])


@kernel("d1[n] D1[n]", _EXACT)
def tan(x, out):
    for i in range(x.size):
        out[i] = math.tan(x[i])


@kernel("u1[m] Q1[n] (m>=n-1)", _EXACT)
def shuffle(words, out):
    """Fisher-Yates over `out`, one word per step."""
    n = out.size
    for i in range(n - 1):
        j = i + np.int64(words[i] % u32(n - i))
        kept = out[i]
        out[i] = out[j]
        out[j] = kept


@kernel("u1[n] E1[n]", _EXACT)
def uniform_f32(words, out):
    """24 bits a number; `out` may be the memory of `words`."""
    some = np.empty(256, np.uint32)  # of memory of their own the compiler makes vector code
    for start in range(0, out.size, 256):
        given, made = words[start : start + 256], out[start : start + 256]
        for i in range(given.size):
            some[i] = given[i]
        for i in range(made.size):
            made[i] = f32(i32(some[i] & u32(0xFFFFFF))) * unit32


@kernel("u1[2*n] D1[n]", _EXACT)
def uniform_f64(words, out):
    """53 bits a number, of two words, the high one first; `out` may be the memory of `words`."""
    some = np.empty(512, np.uint32)
    for start in range(0, out.size, 256):
        given, made = words[2 * start : 2 * start + 512], out[start : start + 256]
        for i in range(given.size):
            some[i] = given[i]
        for i in range(made.size):
            high = np.int64(some[2 * i] & u32(0x1FFFFF))
            made[i] = np.float64((high << np.int64(32)) | np.int64(some[2 * i + 1])) * unit64


def _here(function: Fn) -> Fn:
    """A function of `rejection` as one of this module: machine code is kept with the modules' names, which those that compute by NumPy
    lack among their globals (see `warned.silence`)."""
    return FunctionType(function.__code__, globals())


@overload(wide)
def _wide(x):
    return lambda x: np.float64(x)


floor, stirling = register_jitable(_here(rejection.floor)), register_jitable(_here(rejection.stirling))
poisson = kernel("d1[n] d1[m] D1[n] Q1[2]", _EXACT)(_here(rejection.poisson))
_poisson = register_jitable(_here(rejection.poisson))
binomial = kernel("r1[n] r1[n] d1[n] d1[m] D1[n] Q1[2]", _EXACT)(_here(rejection.binomial))
gamma = kernel("r1[n] d1[m] D1[n] Q1[2] D1[1]", _EXACT)(_here(rejection.gamma))


@kernel("r0[n] u1[m] w0[n] Q1[2]", _EXACT, dtypes="fdEe")
def few_poisson(rates, words, out, place):
    """Poisson numbers of any dtype, of words that may be too few: as many as ``place`` says then; -1 where a rate is none."""
    given, uniforms, found = np.empty(rates.size), np.empty(words.size // 2), np.empty(rates.size)
    for i in range(rates.size):
        given[i] = of_array(rates[i])
        if not given[i] >= 0:
            place[0] = -1
            return
    for i in range(uniforms.size):
        high = np.int64(words[2 * i] & u32(0x1FFFFF))
        uniforms[i] = np.float64((high << np.int64(32)) | np.int64(words[2 * i + 1])) * unit64
    _poisson(given, uniforms, found, place)
    for i in range(out.size):
        out[i] = rounded(out, working(out, found[i]))
