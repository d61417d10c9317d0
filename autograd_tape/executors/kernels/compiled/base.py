"""How a loop becomes a ``Kernel``, and the scalar functions the loops share.

``exp``, ``expm1``, ``erf`` ... are branch-free polynomials, because LLVM turns those (and no libm call) into SIMD code.
Each is written once per precision; ``exp(x)`` in a kernel picks by the type of ``x``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic, overload, register_jitable

from ....annotations import Fn
from .._kernel import Kernel

# a*b+c may be fused, and in kernels that sum, sums reordered (SIMD needs it); NaN, infinity and -0 keep their meaning.
FUSE = frozenset({"contract"})
REORDER = frozenset({"contract", "reassoc"})
# As written: kernels whose results have the bits of NumPy's.
EXACT: frozenset[str] = frozenset()
# Reordering would cancel the two-step range reductions below, so the polynomials allow fusing only.
_POLY: Any = {"nogil": True, "fastmath": set(FUSE), "error_model": "numpy", "forceinline": True}

f4, f8, i4, i8, u4, u8 = np.float32, np.float64, np.int32, np.int64, np.uint32, np.uint64


def kernel(spec: str, fastmath: frozenset[str] = FUSE, dtypes: str = "", fresh: bool = False, lists: bool = False
           ) -> Callable[[Fn], Kernel]:
    """Decorator: a loop with the arguments ``spec`` (see ``Spec``). ``dtypes`` are those that it is written for (else single and double
    precision, and half where it says ``wide``), which `compile_all` asks; ``fresh`` promises that nothing it reads is in what it writes;
    ``lists`` that it is called with lists, too."""

    def register(function: Fn) -> Kernel:
        made = Kernel(function, spec, fastmath, dtypes=dtypes, fresh=fresh, lists=lists)
        Kernel.registry[made.name] = made
        return made

    return register


def _by_type(single: Fn, double: Fn) -> Fn:
    """A function that in compiled code means ``single`` for float32 (or an array of it), else ``double``."""

    def stub(x: Any) -> object:  # a loop may be run as Python, to be examined
        return (single if x.dtype == np.float32 else double)(x)

    @overload(stub, jit_options=_POLY, strict=False)
    def choose(x: object) -> object:
        return single if getattr(x, "dtype", x) == types.float32 else double

    return stub


def _by_type2(single: Fn, double: Fn) -> Fn:
    """``_by_type`` for a function with an argument more."""

    def stub(x: Any, option: Any) -> object:
        return (single if x.dtype == np.float32 else double)(x, option)

    @overload(stub, jit_options={**_POLY, "forceinline": False}, strict=False)
    def choose(x: Any, option: object) -> object:
        return single if getattr(x, "dtype", x) == types.float32 else double

    return stub


#: ``like(v, number)``: a number in the precision of ``v``.
like = _by_type2(lambda v, number: f4(number), lambda v, number: f8(number))


@intrinsic
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, rounded once."""
    return a(a, b, c), lambda context, builder, signature, args: builder.fma(*args)


# Half precision in registers: bfloat16 as uint16, the upper half of a float32; float16 as int16, whose exponent is 112 less. Rounding
# is to the even neighbour. What is too small for the exponents of float16 is aligned by an addition, which rounds it, too.


def _from_bfloat16(x):
    return u4(u4(x) << u4(16)).view(f4)


def _to_bfloat16(v):
    u = f4(v).view(u4)
    up = u + u4(0x7FFF) + ((u >> u4(16)) & u4(1))
    return np.uint16((up if v == v else (u | u4(0x7FFFFFFF)) - u4(0x3FFFFF)) >> u4(16))  # one NaN of each sign


def _from_float16(x):
    u = u4(x) & u4(0xFFFF)
    low = (u & u4(0x7FFF)) << u4(13)
    v = u4(low).view(f4) * f4(5.192296858534828e33)  # 2**112
    v = u4(low | u4(0x7F800000)).view(f4) if low >= u4(0x0F800000) else v
    return u4(f4(v).view(u4) | ((u & u4(0x8000)) << u4(16))).view(f4)


def _to_float16(v):
    u = f4(v).view(u4)
    a = u & u4(0x7FFFFFFF)
    small = f4(u4(a).view(f4) + f4(0.5)).view(u4) - u4(0x3F000000)
    usual = (a - u4(0x38000000) + u4(0xFFF) + ((a >> u4(13)) & u4(1))) >> u4(13)
    large = u4(0x7E00) if a > u4(0x7F800000) else u4(0x7C00)
    half = small if a < u4(0x38800000) else (usual if a < u4(0x47800000) else large)
    return np.int16(half | ((u >> u4(16)) & u4(0x8000)))


@intrinsic
def _extend(typing: Any, x: Any) -> Any:
    """``_from_float16``, of a processor that has it."""
    return types.float32(types.int16), lambda context, builder, signature, values: builder.fpext(
        builder.bitcast(values[0], ir.HalfType()), ir.FloatType())


@intrinsic
def _truncate(typing: Any, v: Any) -> Any:
    """``_to_float16``, of a processor that has it."""
    return types.int16(types.float32), lambda context, builder, signature, values: builder.bitcast(
        builder.fptrunc(values[0], ir.HalfType()), ir.IntType(16))


_HAS_HALF = bool(binding.get_host_cpu_features().get("f16c"))


def wide(x: Any) -> Any:
    """An element of an array as a number to compute with."""
    return x


def rounded(array: Any, v: Any) -> Any:
    """A number as an element of an array."""
    return v


def working(array: Any, v: Any) -> Any:
    """A number in the precision in which elements of an array are computed with."""
    return v


@overload(wide, jit_options=_POLY, strict=False)
def _wide(x: object) -> object:
    if x == types.uint16:
        return _from_bfloat16
    return (lambda x: x) if x != types.int16 else (lambda x: _extend(x)) if _HAS_HALF else _from_float16  # type: ignore[call-arg]  # its first is the compiler


@overload(rounded, jit_options=_POLY, strict=False)
def _rounded(array: Any, v: object) -> object:
    if array.dtype == types.uint16:
        return lambda array, v: _bfloat16(v)
    if array.dtype == types.int16:
        return (lambda array, v: _truncate(f4(v))) if _HAS_HALF else lambda array, v: _float16(v)  # type: ignore[call-arg]
    return lambda array, v: v


@overload(working, jit_options=_POLY, strict=False)
def _working(array: Any, v: object) -> object:
    return (lambda array, v: f8(v)) if array.dtype == types.float64 else lambda array, v: f4(v)


_bfloat16, _float16 = register_jitable(**_POLY)(_to_bfloat16), register_jitable(**_POLY)(_to_float16)


# exp: x = n ln2 + r with |r| <= ln2 / 2, ln2 in two parts (Cody and Waite), a polynomial for exp(r), and 2**n as two
# factors, so that overflow and denormal results come out right.  float32: coefficients of Cephes expf (Moshier);
# float64: the Taylor series to r**13, whose remainder is 4e-18.

_LOG2E4, _LN2_HI4, _LN2_LO4 = f4(1.44269504088896341), f4(0.693359375), f4(-2.12194440e-4)
_ROUND4 = f4(12582912.0)  # 1.5 * 2**23: adding and subtracting it rounds to an integer
_LOG2E8, _LN2_HI8, _LN2_LO8 = 1.4426950408889634, 6.93145751953125e-1, 1.42860682030941723212e-6
_ROUND8 = 6755399441055744.0  # 1.5 * 2**52


def _exp4(x):
    x = f4(-104.0) if x < f4(-104.0) else x
    x = f4(89.0) if x > f4(89.0) else x
    n = (x * _LOG2E4 + _ROUND4) - _ROUND4
    r = x - n * _LN2_HI4
    r = r - n * _LN2_LO4
    p = f4(1.9875691500e-4)
    p = p * r + f4(1.3981999507e-3)
    p = p * r + f4(8.3334519073e-3)
    p = p * r + f4(4.1665795894e-2)
    p = p * r + f4(1.6666665459e-1)
    p = p * r + f4(5.0000001201e-1)
    p = p * (r * r) + r + f4(1.0)
    i = i4(n)
    half = i >> i4(1)
    return p * i4((half + i4(127)) << i4(23)).view(f4) * i4((i - half + i4(127)) << i4(23)).view(f4)


def _taylor8(r):
    """(exp(r) - 1 - r) / r**2 for |r| <= ln2 / 2."""
    p = 1.6059043836821613e-10
    p = p * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 1.984126984126984e-04
    p = p * r + 1.3888888888888889e-03
    p = p * r + 8.333333333333333e-03
    p = p * r + 4.1666666666666664e-02
    p = p * r + 1.6666666666666666e-01
    return p * r + 0.5


def _exp8(x):
    x = -746.0 if x < -746.0 else x
    x = 710.0 if x > 710.0 else x
    n = (x * _LOG2E8 + _ROUND8) - _ROUND8
    r = x - n * _LN2_HI8
    r = r - n * _LN2_LO8
    p = taylor8(r) * (r * r) + r + 1.0
    i = i4(n)
    half = i >> i4(1)
    low, high = i8(half) + i8(1023), i8(i - half) + i8(1023)
    return p * i8(low << i8(52)).view(f8) * i8(high << i8(52)).view(f8)


# exp(x) - 1 for x >= 0, where 2**n (exp(r) - 1) + (2**n - 1) loses nothing.


def _expm1_pos4(x):
    x = f4(88.0) if x > f4(88.0) else x
    n = (x * _LOG2E4 + _ROUND4) - _ROUND4
    r = x - n * _LN2_HI4
    r = r - n * _LN2_LO4
    p = f4(1.9875691500e-4)
    p = p * r + f4(1.3981999507e-3)
    p = p * r + f4(8.3334519073e-3)
    p = p * r + f4(4.1665795894e-2)
    p = p * r + f4(1.6666665459e-1)
    p = p * r + f4(5.0000001201e-1)
    p = p * (r * r) + r
    power = i4((i4(n) + i4(127)) << i4(23)).view(f4)
    return p * power + (power - f4(1.0))


def _expm1_pos8(x):
    x = 709.0 if x > 709.0 else x
    n = (x * _LOG2E8 + _ROUND8) - _ROUND8
    r = x - n * _LN2_HI8
    r = r - n * _LN2_LO8
    p = taylor8(r) * (r * r) + r
    power = i8((i8(i4(n)) + i8(1023)) << i8(52)).view(f8)
    return p * power + (power - 1.0)


# erf: float32, x P(x**2) / Q(x**2), all coefficients positive, up to 3.9 where it rounds to 1; float64, below 1 an odd
# polynomial, above it 1 - erfc with erfc(x) exp(x**2) as a polynomial in 4 / (4 + x).  The coefficients are fits
# computed for this file in 40- and 50-digit arithmetic; the relative errors are 2e-8 and 1e-16.


def _erf4(x):
    a = abs(x)
    a = f4(3.95) if a > f4(3.95) else a
    u = a * a
    p = f4(2.025901526789212e-06)
    p = p * u + f4(0.0002846881947866171)
    p = p * u + f4(0.0038081887937412916)
    p = p * u + f4(0.052875532554591105)
    p = p * u + f4(0.1915509640038858)
    p = p * u + f4(1.1283791437483497)
    q = f4(3.7831757133105266e-05)
    q = q * u + f4(0.0011707320319961794)
    q = q * u + f4(0.015055145392882061)
    q = q * u + f4(0.11455989313413738)
    q = q * u + f4(0.5030902975283063)
    q = q * u + f4(1.0)
    r = a * p / q
    r = f4(1.0) if a > f4(3.9) else r
    return math.copysign(r, x)


def _erf8(x):
    a = abs(x)
    u = a * a
    p = 5.957176147748911e-11
    p = p * u + -1.1372848856791674e-09
    p = p * u + 1.4659775274047436e-08
    p = p * u + -1.6350312701054695e-07
    p = p * u + 1.6461000484121368e-06
    p = p * u + -1.4925595266831182e-05
    p = p * u + 0.0001205533111164271
    p = p * u + -0.000854832698083379
    p = p * u + 0.0052239776248180145
    p = p * u + -0.026866170645076792
    p = p * u + 0.11283791670954879
    p = p * u + -0.3761263890318375
    p = p * u + 1.1283791670955126
    c = 6.0 if a > 6.0 else a
    t = 4.0 / (4.0 + c)
    q = 0.03680586735275375
    q = q * t + -0.22837311879222372
    q = q * t + 0.5496182867014191
    q = q * t + -0.6801549507138632
    q = q * t + 0.5115793664038011
    q = q * t + -0.008381530754629331
    q = q * t + -0.19586099827423542
    q = q * t + 0.390752745855695
    q = q * t + -0.10544100333197641
    q = q * t + 0.20596410701178558
    q = q * t + 0.09936173636752985
    q = q * t + 0.14287076376941116
    q = q * t + 0.1401337144391073
    q = q * t + 0.14112830499484957
    q = q * t + -3.2791099665047813e-06
    far = 1.0 - q * exp(-c * c)
    far = far if x > 0.0 else -far
    return x * p if a < 1.0 else (x if x != x else far)


# log(1 + u) for 0 <= u <= 1 as 2 atanh(s), s = u / (2 + u) <= 1/3: the series to s**17 / s**33.


def _log1p_unit4(u):
    s = u / (f4(2.0) + u)
    z = s * s
    p = f4(1.0 / 17.0)
    p = p * z + f4(1.0 / 15.0)
    p = p * z + f4(1.0 / 13.0)
    p = p * z + f4(1.0 / 11.0)
    p = p * z + f4(1.0 / 9.0)
    p = p * z + f4(1.0 / 7.0)
    p = p * z + f4(1.0 / 5.0)
    p = p * z + f4(1.0 / 3.0)
    return (s + s) + (s + s) * (z * p)


def _log1p_unit8(u):
    s = u / (2.0 + u)
    z = s * s
    p = 1.0 / 33.0
    p = p * z + 1.0 / 31.0
    p = p * z + 1.0 / 29.0
    p = p * z + 1.0 / 27.0
    p = p * z + 1.0 / 25.0
    p = p * z + 1.0 / 23.0
    p = p * z + 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 1.0 / 5.0
    p = p * z + 1.0 / 3.0
    return (s + s) + (s + s) * (z * p)


def _tanh4(x):
    e = expm1_pos(f4(2.0) * min(abs(x), f4(20.0)))
    t = e / (e + f4(2.0))
    return x if x != x else math.copysign(t, x)


def _tanh8(x):
    e = expm1_pos(2.0 * min(abs(x), 40.0))
    t = e / (e + 2.0)
    return x if x != x else math.copysign(t, x)


def _relu4(x):
    return f4(0.0) if x < f4(0.0) else x


def _relu8(x):
    return 0.0 if x < 0.0 else x


def _sigmoid4(x):
    return f4(1.0) / (f4(1.0) + exp(-x))


def _sigmoid8(x):
    return 1.0 / (1.0 + exp(-x))


exp = _by_type(_exp4, _exp8)
expm1_pos = _by_type(_expm1_pos4, _expm1_pos8)
erf = _by_type(_erf4, _erf8)
log1p_unit = _by_type(_log1p_unit4, _log1p_unit8)
tanh = _by_type(_tanh4, _tanh8)
relu = _by_type(_relu4, _relu8)
sigmoid = _by_type(_sigmoid4, _sigmoid8)
taylor8 = register_jitable(**_POLY)(_taylor8)


# Extrema of rows, by comparing bit patterns as integers: LLVM makes SIMD code of that, but none of a floating-point
# maximum.  Signed integers are in the order of non-negative numbers, unsigned ones of magnitudes with the negative
# numbers on top; NaNs lie beyond the infinities of their sign.


def _largest4(row):
    bits = row.view(i4)
    top = i4(-2147483648)
    for i in range(bits.size):
        top = max(top, bits[i])
    if top < i4(0):  # all negative: the least magnitude
        top = i4(2147483647)
        for i in range(bits.size):
            top = min(top, bits[i])
    return i4(top).view(f4)


def _largest8(row):
    bits = row.view(i8)
    top = i8(-9223372036854775808)
    for i in range(bits.size):
        top = max(top, bits[i])
    if top < i8(0):
        top = i8(9223372036854775807)
        for i in range(bits.size):
            top = min(top, bits[i])
    return i8(top).view(f8)


def _extreme4(row, smallest):
    signed, unsigned = row.view(i4), row.view(u4)
    top, high = i4(-2147483648), u4(0)
    for i in range(signed.size):
        top = max(top, signed[i])
        high = max(high, unsigned[i])
    if top > i4(0x7F800000) or high > u4(0xFF800000):
        return f4(math.nan)
    if smallest and high >= u4(0x80000000):
        return u4(high).view(f4)
    if not smallest and top >= i4(0):
        return i4(top).view(f4)
    low = u4(0xFFFFFFFF)  # all of one sign: the least magnitude
    for i in range(unsigned.size):
        low = min(low, unsigned[i])
    return u4(low).view(f4)


def _extreme8(row, smallest):
    signed, unsigned = row.view(i8), row.view(u8)
    top, high = i8(-9223372036854775808), u8(0)
    for i in range(signed.size):
        top = max(top, signed[i])
        high = max(high, unsigned[i])
    if top > i8(0x7FF0000000000000) or high > u8(0xFFF0000000000000):
        return f8(math.nan)
    if smallest and high >= u8(0x8000000000000000):
        return u8(high).view(f8)
    if not smallest and top >= i8(0):
        return i8(top).view(f8)
    low = u8(0xFFFFFFFFFFFFFFFF)
    for i in range(unsigned.size):
        low = min(low, unsigned[i])
    return u8(low).view(f8)


#: The maximum of a row; that or a NaN for a row with NaNs (callers subtract it from the row, so a NaN survives).
largest = _by_type(_largest4, _largest8)
#: ``extreme(row, smallest)``: the minimum or maximum of a row, NaN if there is one.
extreme = _by_type2(_extreme4, _extreme8)


# Sums over rows of any length: short runs in the array's precision (SIMD), added up in double precision.

_SUMS = {**_POLY, "fastmath": set(REORDER), "forceinline": False}


@register_jitable(**_SUMS)
def row_total(row):
    total = 0.0
    for begin in range(0, row.size, 4096):
        part = row[begin : begin + 4096]
        s = row.dtype.type(0)
        for i in range(part.size):
            s += part[i]
        total += f8(s)
    return total


@register_jitable(**_SUMS)
def row_squares(row):
    """Of numbers of half precision, too."""
    total = 0.0
    for begin in range(0, row.size, 4096):
        part = row[begin : begin + 4096]
        s = working(row, 0.0)
        for i in range(part.size):
            s += wide(part[i]) * wide(part[i])
        total += f8(s)
    return total


@register_jitable(**_SUMS)
def row_mean(row):
    """In double precision throughout: that of equal float32 numbers is the number itself."""
    total = 0.0
    for i in range(row.size):
        total += f8(row[i])
    return total / row.size


@register_jitable(**_SUMS)
def row_spread(row, centre):
    """The means of ``row - centre`` and of its square. Those of a number close to the mean give mean and variance to the last digits,
    however large the mean is."""
    first, second = 0.0, 0.0
    for begin in range(0, row.size, 4096):
        part = row[begin : begin + 4096]
        s, q = row.dtype.type(0), row.dtype.type(0)
        for i in range(part.size):
            d = part[i] - centre
            s += d
            q += d * d
        first += f8(s)
        second += f8(q)
    return first / row.size, second / row.size


@register_jitable(**_SUMS)
def row_moments(row):
    """Mean and biased variance, in double precision."""
    mean = row_mean(row)
    centre = row.dtype.type(mean)
    shift, square = row_spread(row, centre)
    rounded = mean - f8(centre)
    if rounded != 0.0:  # of float32, whose double-precision mean is the best that there is
        shift = rounded
    variance = square - shift * shift
    return f8(centre) + shift, 0.0 if variance < 0.0 else variance
