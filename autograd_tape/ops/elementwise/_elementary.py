"""Elementary functions that NumPy computes number by number where a processor has no AVX-512, as formulas of which LLVM makes vectors: in
double precision to two units in the last place, and for results in single precision to nine places or more.

Selections stand for branches, as in `_double` and `_single`. Polynomials are of Sun's fdlibm, those of the arc tangent of Cephes (Moshier).
"""

from __future__ import annotations

import math

import numpy as np

from ...executors.kernels import formulas
from ...executors.kernels._on_demand import HAS_VECTORS
from ...executors.kernels.elementwise import one_pass
from ...executors.kernels.formulas import (
    Scalar, Split, binary, copysign, exponent, like, many, many_of_passes, polynomial, single, single_exponent, single_rest, single_times,
    sqrt, two_to, up_to)
from ...executors.kernels.sharing import ufunc1
from ._double import _LN2 as _LN2_PARTS
from ._double import _LOG, _ROOT, LARGEST, _nearest, log, quarters
from ._single import _ASIN_P, _ASIN_Q, _COS, _PI, _SIN, _TURNS, GROWTH, HALVES
from ._single import LARGEST as LARGEST_SINGLE

_LOG2E, _LN2 = 1 / math.log(2), math.log(2)


# -- powers and what is made of them ------------------------------------------------------------------------------------

_GROWTH = (4.13813679705723846039e-08, -1.65339022054652515390e-06, 6.61375632143793436117e-05, -2.77777777770155933842e-03,
           1.66666666666666019037e-01, 0.0)
#: Numbers up to which powers are found so.
_LARGEST = 700.0


def _growth(high: float, low: float) -> float:
    """exp(high - low) - 1, of what is left beside a power of 2."""
    r = high - low
    square = r * r
    c = r - polynomial(_GROWTH, square)
    return (r * c / (2.0 - c) - low) + high


def expm1(x: float) -> float:
    n = _nearest(x * _LOG2E)
    power = two_to(n)
    return copysign(power * _growth(x - n * _LN2_PARTS[0], n * _LN2_PARTS[1]) + (power - 1.0), x)


def sinh(x: float) -> float:
    grown = expm1(abs(x))
    return copysign(0.5 * (grown + grown / (grown + 1.0)), x)


def cosh(x: float) -> float:
    power = expm1(abs(x)) + 1.0
    return 0.5 * power + 0.5 / power


def exp2(x: float) -> float:
    n = _nearest(x)
    power = two_to(n)
    return power * _growth((x - n) * _LN2, 0.0) + power


def _within(x: float, largest: float) -> float:
    return -largest if x < -largest else largest if x > largest else x


def expm1_single(x: float) -> float:
    y = _within(x, _LARGEST)
    n = _nearest(y * _LOG2E)
    r = y - n * _LN2_PARTS[0] - n * _LN2_PARTS[1]
    power = two_to(n)
    return copysign(power * (r * polynomial(GROWTH, r)) + (power - 1.0), x)


def sinh_single(x: float) -> float:
    grown = expm1_single(abs(x))
    return copysign(0.5 * (grown + grown / (grown + 1.0)), x)


def cosh_single(x: float) -> float:
    power = expm1_single(abs(x)) + 1.0
    return 0.5 * power + 0.5 / power


#: 2**r up to a half, in single precision (Shibata, "SLEEF").
_POWERS = tuple([np.float32(c) for c in (
    0.1535920892e-3, 0.1339262701e-2, 0.9618384764e-2, 0.5550347269e-1, 0.2402264476, 0.6931471825, 1.0)])
_INTEGERS_SINGLE = 12582912.0
"""1.5 * 2**23: what is added to it in single precision is rounded to an integer."""


def exp2_single(x: float) -> float:
    """In single precision, with the bits of torch's, which does so."""
    least, most, integers = like(x, -150.0), like(x, 128.0), like(x, _INTEGERS_SINGLE)
    y = least if x < least else most if x > most else x
    n = (y + integers) - integers
    return single_times(polynomial(_POWERS, y - n), n)


def _power_single(x: float, y: float) -> float:
    """Of positive numbers, by a logarithm that is exact to more places than the power needs."""
    z = _within(y * log(x), _LARGEST)
    n = _nearest(z * _LOG2E)
    r = z - n * _LN2_PARTS[0] - n * _LN2_PARTS[1]
    return two_to(n) * (r * polynomial(GROWTH, r) + 1.0)


def _is_no_power(x: float, y: float) -> bool:
    return not (x > 0.0 and x < math.inf and abs(y) < math.inf)


# -- logarithms and what is made of them --------------------------------------------------------------------------------

#: 1 / log(2) and 1 / log(10) in parts of which the first has 21 and 32 bits, and log10(2).
_LOG2_PARTS = (1.44269504072144627571e+00, 1.67517131648865118353e-10)
_LOG10_PARTS = (4.34294481878168880939e-01, 2.50829467116452752298e-11)
_LOG10_2 = (3.01029995663611771306e-01, 3.69423907715893078616e-13)
_SPLIT = 134217729.0
"""2**27 + 1, by which numbers are cut in two halves (Dekker)."""


def _parts(x: float) -> tuple[float, float, float]:
    """The exponent of a number, and the logarithm of what is left of it, in two parts."""
    n = exponent(x * _ROOT)
    f = x * two_to(-n) - 1.0
    s = f / (2.0 + f)
    half = 0.5 * f * f
    rest = s * (half + polynomial(_LOG, s * s))
    high = f - half
    cut = high * _SPLIT
    high = cut - (cut - high)
    return n, high, (f - high) - half + rest


def log2(x: float) -> float:
    n, high, low = _parts(x)
    a = high * _LOG2_PARTS[0]
    w = n + a
    return (((n - w) + a) + ((low + high) * _LOG2_PARTS[1] + low * _LOG2_PARTS[0])) + w


def log10(x: float) -> float:
    n, high, low = _parts(x)
    a, b = high * _LOG10_PARTS[0], n * _LOG10_2[0]
    w = b + a
    return (((b - w) + a) + (n * _LOG10_2[1] + ((low + high) * _LOG10_PARTS[1] + low * _LOG10_PARTS[0]))) + w


def _is_no_usual(x: float) -> bool:
    return not (x > 1e-290 and x < 1e300)


def log1p(x: float) -> float:
    """Of numbers above -1."""
    u = 1.0 + x
    n = exponent(u * _ROOT)
    lost = (1.0 - (u - x) if x > 1.0 else x - (u - 1.0)) / u
    f = x if n == 0.0 else u * two_to(-n) - 1.0
    lost = 0.0 if n == 0.0 else lost
    s = f / (2.0 + f)
    half = 0.5 * f * f
    return copysign(n * _LN2_PARTS[0] - ((half - (s * (half + polynomial(_LOG, s * s)) + (n * _LN2_PARTS[1] + lost))) - f), x)


def asinh(x: float) -> float:
    a = abs(x)
    square = a * a
    return copysign(log1p(a + square / (1.0 + sqrt(square + 1.0))), x)


def acosh(x: float) -> float:
    t = x - 1.0
    return log1p(t + sqrt(t + t + t * t))


def atanh(x: float) -> float:
    a = abs(x)
    t = a + a
    return copysign(0.5 * log1p(t + t * a / (1.0 - a)), x)


def _at_ends(value: float, x: float) -> float:
    """The logarithm of a number, which is the value of those within its range."""
    usual = value if x < like(x, math.inf) else x
    return usual if x > like(x, 0.0) else like(x, -math.inf) if x == like(x, 0.0) else like(x, math.nan)


_LEAST = 2.0 ** -126
"""The first number of single precision that is no denormal."""


def _logarithm_single(base: float) -> Scalar:
    """The logarithm to a base of numbers in single precision."""
    factor, halves = math.log(2) / math.log(base), tuple([c / math.log(base) for c in HALVES])

    def log(x: float) -> float:
        denormal = x < like(x, _LEAST)
        y = x * like(x, 2.0 ** 25) if denormal else x
        m, n = single_rest(y), single_exponent(y)
        s = (m - 1.0) / (m + 1.0)
        value = (n - 25.0 if denormal else n) * factor + s * polynomial(halves, s * s)
        return _at_ends(single(value), x)

    return log


log_single, log2_single, log10_single = [_logarithm_single(base) for base in (math.e, 2.0, 10.0)]


def _log1p_single(x: float) -> float:
    u = 1.0 + x
    n = exponent(u * _ROOT)
    f = x if n == 0.0 else u * two_to(-n) - 1.0
    s = f / (f + 2.0)
    return n * _LN2 + s * polynomial(HALVES, s * s)


def log1p_single(x: float) -> float:
    return _at_ends(copysign(_log1p_single(x), x), x + 1.0)


def asinh_single(x: float) -> float:
    a = abs(x)
    y = a if a < math.inf else 1.0
    square = y * y
    value = _log1p_single(y + square / (1.0 + sqrt(square + 1.0)))
    return copysign(value if a < math.inf else a, x)


def acosh_single(x: float) -> float:
    usual = x >= 1.0 and x < math.inf
    t = (x if usual else 2.0) - 1.0
    value = _log1p_single(t + sqrt(t + t + t * t))
    return value if usual else x if x > 1.0 else math.nan


def atanh_single(x: float) -> float:
    a = abs(x)
    y = a if a < 1.0 else 0.5
    t = y + y
    value = 0.5 * _log1p_single(t + t * y / (1.0 - y))
    return copysign(value if a < 1.0 else math.inf if a == 1.0 else math.nan, x)


# -- trigonometry -------------------------------------------------------------------------------------------------------

_ATAN_P = (-8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1, -1.228866684490136173410e2,
           -6.485021904942025371773e1)
_ATAN_Q = (1.0, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2, 4.853903996359136964868e2,
           1.945506571482613964425e2)
_HALF_PI, _MORE = 0.5 * math.pi, 6.123233995736765886130e-17
"""Half of pi, and what is beyond its last place."""


def tan(x: float) -> float:
    sine, cosine, n = quarters(x)
    return -cosine / sine if n != 2.0 * _nearest(0.5 * n) else sine / cosine


def tan_single(x: float) -> float:
    n = _nearest(x * _TURNS)
    r = x - n * _PI[0] - n * _PI[1] - n * _PI[2]
    square = r * r
    return r * polynomial(_SIN, square) / polynomial(_COS, square)


def _atan(t: float) -> float:
    """Up to 2/3."""
    square = t * t
    return t * (square * polynomial(_ATAN_P, square) / polynomial(_ATAN_Q, square)) + t


def atan(x: float) -> float:
    a = abs(x)
    far, near = a > 2.414213562373095, a <= 0.66
    t = (-1.0 if far else a if near else a - 1.0) / (a if far else 1.0 if near else a + 1.0)
    value = _atan(t)
    value = _HALF_PI + (value + _MORE) if far else value if near else 0.5 * _HALF_PI + (value + 0.5 * _MORE)
    return copysign(value, x)


def atan2(y: float, x: float) -> float:
    a, b = abs(y), abs(x)
    most, least = (a if a > b else b), (b if a > b else a)
    most = most if most > 0.0 else 1.0
    near = least <= 0.66 * most
    value = _atan((least if near else least - most) / (most if near else least + most))
    value = value if near else 0.5 * _HALF_PI + (value + 0.5 * _MORE)
    value = (_HALF_PI - value) + _MORE if a > b else value
    value = (math.pi - value) + 2.0 * _MORE if x < 0.0 else value
    return copysign(value, y)


def _is_no_point(y: float, x: float) -> bool:
    a, b = abs(y), abs(x)
    most = a if a > b else b
    return not (most > 1e-290 and most < 1e300 and a == a and b == b or most == 0.0 and copysign(1.0, x) > 0.0)


def _arc(a: float) -> tuple[float, float]:
    """The root of what is left of a magnitude, or of its distance from 1, and the arc sine of that beyond it."""
    square = 0.5 * (1.0 - a) if a > 0.5 else a * a
    root = sqrt(square) if a > 0.5 else a
    return root, root * (square * (polynomial(_ASIN_P, square) / polynomial(_ASIN_Q, square)))


def asin(x: float) -> float:
    root, beyond = _arc(abs(x))
    arc = root + beyond
    return copysign(_HALF_PI - (arc + arc - _MORE) if abs(x) > 0.5 else arc, x)


def acos(x: float) -> float:
    root, beyond = _arc(abs(x))
    arc = root + beyond
    far = arc + arc if x > 0.0 else 2.0 * (_HALF_PI - (root + (beyond - _MORE)))
    return far if abs(x) > 0.5 else _HALF_PI - copysign(root - (_MORE - beyond), x) if x > 0.0 else _HALF_PI + (root + (beyond + _MORE))


# -- what they are at the ends -------------------------------------------------------------------------------------------

# There numbers come to rest that are changed in place again and again, and the C library takes its time for them.
_INVALID = -math.nan
"""NaN with the sign that processors give what is not defined."""


def _ended(of_all: Scalar, least: float, most: float, low: float, high: float) -> Scalar:
    """A function of all numbers, which is `low` and `high` from the `least` and the `most` number on."""
    def ended(x: float) -> float:
        return low if x <= least else high if x >= most else of_all(x)

    return ended


def _from(least: float, of_all: Scalar, value: float, below: float = _INVALID) -> Scalar:
    """A function of all numbers that grows without end, which is `value` at the `least` number that it has, and NaN `below`."""
    def ended(x: float) -> float:
        return of_all(x) if x > least and x < math.inf else x if not x < math.inf else value if x == least else below

    return ended


def _atanh_of_all(x: float) -> float:
    return copysign(math.inf, x) if abs(x) == 1.0 else _INVALID if abs(x) > 1.0 else x


# -- of many numbers ----------------------------------------------------------------------------------------------------


def _exponentials(x: np.ndarray) -> np.ndarray:
    return ufunc1(np.exp, x)


_ANGLES = Split(atan2, ((_is_no_point, formulas.atan2),))
exponentials = many_of_passes(_exponentials if HAS_VECTORS else one_pass("exp")(_exponentials), numpys=HAS_VECTORS)
exponentials_less_1 = many(np.expm1, up_to(_LARGEST, expm1, _ended(formulas.expm1, -_LARGEST, 710.0, -1.0, math.inf)), expm1_single)
powers_of_2 = many(np.exp2, up_to(1000.0, exp2, _ended(formulas.exp2, -1080.0, 1024.0, 0.0, math.inf)), exp2_single, own=True)
hyperbolic_sines = many(np.sinh, up_to(_LARGEST, sinh, _ended(formulas.sinh, -711.0, 711.0, -math.inf, math.inf)), sinh_single)
hyperbolic_cosines = many(np.cosh, up_to(_LARGEST, cosh, _ended(formulas.cosh, -711.0, 711.0, math.inf, math.inf)), cosh_single)
logarithms = many(
    np.log, Split(log, ((_is_no_usual, _from(0.0, formulas.log, -math.inf)),)), log_single, own=True)
logarithms_2 = many(
    np.log2, Split(log2, ((_is_no_usual, _from(0.0, formulas.log2, -math.inf)),)), log2_single, own=True)
logarithms_10 = many(
    np.log10, Split(log10, ((_is_no_usual, _from(0.0, formulas.log10, -math.inf, math.nan)),)), log10_single, vectors=False,
    own=True)
logarithms_of_1_more = many(
    np.log1p, Split(log1p, ((lambda x: not (x > -1.0 and x < 1e300), _from(-1.0, formulas.log1p, -math.inf)),)), log1p_single)
inverse_hyperbolic_sines = many(np.arcsinh, up_to(1e150, asinh, formulas.asinh), asinh_single)
inverse_hyperbolic_cosines = many(
    np.arccosh, Split(acosh, ((lambda x: not (x >= 1.0 and x < 1e150), _from(1.0, formulas.acosh, 0.0)),)), acosh_single)
inverse_hyperbolic_tangents = many(np.arctanh, Split(atanh, ((lambda x: not abs(x) < 1.0, _atanh_of_all),)), atanh_single)
tangents = many(np.tan, up_to(LARGEST, tan, formulas.tan), up_to(LARGEST_SINGLE, tan_single, formulas.tan))
inverse_sines, inverse_cosines = many(np.arcsin, up_to(1e300, asin, formulas.asin), asin), many(
    np.arccos, up_to(1e300, acos, formulas.acos), acos)
inverse_tangents = many(np.arctan, up_to(1e300, atan, formulas.atan), atan)
powers = binary(formulas.power, single=Split(_power_single, ((_is_no_power, formulas.power),)), fused=True)
angles = binary(_ANGLES, single=_ANGLES, fused=True)
