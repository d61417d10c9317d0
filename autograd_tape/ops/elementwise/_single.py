"""Formulas of one number for results in single precision: in double precision, to nine places or more.

Of branches LLVM makes selections, since all that is called is written here, and so vectors of these; nothing is fused or reordered, so that
Python's results have the same bits. Polynomials interpolate at Chebyshev's points over the range that is given, brought to [-1, 1], and
ratios of polynomials (of the tails of erf's inverse) as well.
"""

from __future__ import annotations

import math

from ...executors.kernels.formulas import Split, copysign, exponent, polynomial, sqrt, two_to
from ._double import log as log_double

_INTEGERS = 6755399441055744.0
"""1.5 * 2**52: what is added to it is rounded to an integer."""
_LOG2E, _LN2_HIGH, _LN2_LOW, _LN2 = 1 / math.log(2), 6.93145751953125e-1, 1.42860682030941723212e-6, math.log(2)
_ROOT = math.sqrt(2)
#: (exp(r) - 1) / r up to log(2) / 2, and log((1 + s) / (1 - s)) / s in s**2 up to 3 - 2 * sqrt(2).
GROWTH = (0.00019899285575896282, 0.0013941118895837, 0.00833329846980059, 0.04166635277111221, 0.16666666719028936,
          0.5000000047146057, 1.0)
HALVES = (0.23616504319718873, 0.2853504356313236, 0.4000038479011479, 0.6666666524691081, 2.0000000000083635)
_SIN = tuple([(-1) ** k / math.factorial(2 * k + 1) for k in range(7, -1, -1)])
_COS = tuple([(-1) ** k / math.factorial(2 * k) for k in range(10, -1, -1)])
_PI = (3.141592651605606, 1.9841871548575973e-09, 4.503483548312435e-18)
"""In parts of 29 bits, so that multiples up to 2**24 are exact."""
_TURNS = 1 / math.pi
#: Numbers up to which sines and cosines are found so.
LARGEST = 5e7


def _nearest(x: float) -> float:
    return (x + _INTEGERS) - _INTEGERS


def to_single(x: float) -> float:
    """Rounded to 24 bits (Dekker), for steps that torch rounds."""
    c = x * (2.0 ** 29 + 1.0)
    return c - (c - x)


def exp(x: float) -> float:
    """No less than that of -700, which is none in single precision."""
    value = _exp(-700.0 if x < -700.0 else 700.0 if x > 700.0 else x)
    return math.inf if x > 700.0 else value


def _exp(x: float) -> float:
    """Within these bounds."""
    n = _nearest(x * _LOG2E)
    r = x - n * _LN2_HIGH - n * _LN2_LOW
    power = two_to(n)
    return power * (r * polynomial(GROWTH, r)) + power


def log(x: float) -> float:
    """Of numbers within 1e-300 and 1e300."""
    e = exponent(x * _ROOT)
    m = x * two_to(-e)
    s = (m - 1.0) / (m + 1.0)
    return e * _LN2 + s * polynomial(HALVES, s * s)


def sin(x: float) -> float:
    n = _nearest(x * _TURNS)
    r = x - n * _PI[0] - n * _PI[1] - n * _PI[2]
    s = r * polynomial(_SIN, r * r)
    return s if n == 2.0 * _nearest(n * 0.5) else -s


def cos(x: float) -> float:
    n = _nearest(x * _TURNS)
    r = x - n * _PI[0] - n * _PI[1] - n * _PI[2]
    c = polynomial(_COS, r * r)
    return c if n == 2.0 * _nearest(n * 0.5) else -c


#: (asin(r) / r - 1) / r**2 in r**2 up to 1/4 (Sun's fdlibm).
_ASIN_P = (3.47933107596021167570e-05, 7.91534994289814532176e-04, -4.00555345006794114027e-02, 2.01212532134862925881e-01,
           -3.25565818622400915405e-01, 1.66666666666666657415e-01)
_ASIN_Q = (7.70381505559019352791e-02, -6.88283971605453293030e-01, 2.02094576023350569471e+00, -2.40339491173441421878e+00, 1.0)


def acos(x: float) -> float:
    """Of numbers within [-1, 1], to the last place but one."""
    a = abs(x)
    square = 0.5 * (1.0 - a) if a > 0.5 else a * a
    r = sqrt(square)
    asin = r + r * square * (polynomial(_ASIN_P, square) / polynomial(_ASIN_Q, square))
    if a > 0.5:
        return asin + asin if x > 0.0 else math.pi - (asin + asin)
    return 0.5 * math.pi - copysign(asin, x)


# -- error functions ----------------------------------------------------------------------------------------------------

#: exp(a**2) erfc(a) in t = 4 / (4 + a), up to 10.3.
_ERFC = (
    -2.735246845945553e-06, -1.2787299165968584e-05, 1.5581657003152957e-05, 0.0004088942524547377, 0.0024077794427855045,
    0.009315960867416392, 0.02758839845804956, 0.06613304968161622, 0.13169549069032585, 0.2204489961837263, 0.3110349360287596,
    0.23096643514078544,
)
_LEAST = 4.0 / 14.3
_WIDTH = 1.0 / (1.0 - _LEAST)


def erfc(x: float) -> float:
    a = abs(x)
    a = 10.3 if a > 10.3 else a
    tail = polynomial(_ERFC, (8.0 / (4.0 + a) - _LEAST - 1.0) * _WIDTH) * _exp(-a * a)
    return 2.0 - tail if x < 0.0 else tail


#: erf's inverse at a over a, in a**2, up to 0.85; that of erfc at c in sqrt(-log(c)), from there down to 1e-45.
_NEAR_P = (-0.004100268987368638, 0.14074721294641648, -0.9217843980082723, 2.26573739469521, -2.365043783192, 0.8862269254528082)
_NEAR_Q = (-0.019504578279259832, 0.31942533387907607, -1.548487799610719, 3.179873222075873, -2.930465522002991, 1.0)
_FAR_P = (0.03412828135918071, 1.9136333221103226, 25.005077201595267, 91.72468444019287, 74.82040327253141, 2.5411695412622466,
          19.226636477715864, -6.515970327724835, 1.0139349019363035)
_FAR_Q = (0.034127873028743136, 1.9137718636659118, 25.09986555040544, 95.36234504530415, 106.52053673149643, 65.78201266119946,
          33.73320487972629, 1.0)


def _erfinv_near(x: float) -> float:
    return x * (polynomial(_NEAR_P, x * x) / polynomial(_NEAR_Q, x * x))


def _erfcinv(c: float) -> float:
    """y with erfc(y) = c, far from 0."""
    r = sqrt(-log(c if c > 1e-50 else 1e-50))
    y = polynomial(_FAR_P, r) / polynomial(_FAR_Q, r)
    return y if c > 0.0 else math.inf if c == 0.0 else math.nan


def _is_far(x: float) -> bool:
    return not abs(x) <= 0.85


erfinv = Split(_erfinv_near, ((_is_far, lambda x: copysign(_erfcinv(1.0 - abs(x)), x)),))


def ndtr(x: float) -> float:
    return 0.5 * erfc(x * -math.sqrt(0.5))


def _ndtri_near(p: float) -> float:
    return math.sqrt(2.0) * _erfinv_near(2.0 * p - 1.0)


def _ndtri_far(p: float) -> float:
    return copysign(math.sqrt(2.0) * _erfcinv(2.0 * (p if p < 0.5 else 1.0 - p)), p - 0.5)


ndtri = Split(_ndtri_near, ((lambda p: _is_far(2.0 * p - 1.0), _ndtri_far),))


# -- the gamma family ---------------------------------------------------------------------------------------------------

#: lgamma(v) / (v - 2) in v from 1.5 to 3, and y (lgamma(y) - (y - 1/2) log(y) + y - log(2 pi) / 2) in 1 / y**2 from 3 on.
_LGAMMA = (
    -1.01812804606495e-08, 3.265431724750264e-08, -6.71096454917615e-08, 2.1920011048628694e-07, -7.796731441647557e-07,
    2.5912786802708865e-06, -8.688659071527243e-06, 2.9830840137598675e-05, -0.00010503717739582296, 0.0003832210463593029,
    -0.0014752841860107672, 0.006196636459542377, -0.030541164667752276, 0.21917882116536405, 0.4994868595695864,
)
_STIRLING = (5.263343170896631e-11, -4.374469171618377e-10, 4.740462728157211e-09, -7.748236554549668e-08, 2.183424492779692e-06,
             -0.00014970021922706958, 0.08318136697655062)
#: sin(pi f) / f and cos(pi f) in f**2 up to 1/4.
_SINE = (1.7070468326858595e-09, -2.1448933131205813e-07, 1.895682915233493e-05, -0.0010924319966714592, 0.03645310559709542,
         -0.5697036803087105, 2.5343242626615754)
_COSINE = (-4.788230143572755e-11, 7.019064508457801e-09, -7.444329403295998e-07, 5.3624630362572037e-05, -0.002385850182174453,
           0.05593052802435969, -0.49761340533700293, 0.4440158403262113)
#: (digamma(y) - log(y) + 1 / 2y) y**2, and (trigamma(y) - 1 / y - 1 / 2y**2) y**3, in 1 / y**2 from 6 on.
_PSI = (-2.3553715395898114e-10, 1.0144151309088592e-08, -7.335817137433761e-07, 0.00011424218942728241, -0.0832183471819735)
_TRIGAMMA = (2.276338553633539e-09, -7.93075101292387e-08, 4.340685095020438e-06, -0.00045403441154585986, 0.16620820998002514)
#: y (y + 1) ... (y + 5), with its derivatives.
_RISING = (1.0, 15.0, 85.0, 225.0, 274.0, 120.0, 0.0)
_RISING1 = (6.0, 75.0, 340.0, 675.0, 548.0, 120.0)
_RISING2 = (30.0, 300.0, 1020.0, 1350.0, 548.0)
_LOG_PI, _HALF_LOG_2PI = math.log(math.pi), 0.5 * math.log(2 * math.pi)
_MOST = 1e45  # beyond what single precision has


def _is_left(x: float) -> bool:
    return x <= 0.0


def _sine(x: float) -> tuple[float, float]:
    """That of pi times a number of which whole ones are left out, and 8 times the square of what is left, less 1."""
    f = x - _nearest(x)
    w = 8.0 * f * f - 1.0
    return f * polynomial(_SINE, w), w


def _lgamma_right(x: float) -> float:
    """Above 0."""
    y = _MOST if x > _MOST else x
    logarithm = log(y * (y + 1.0) if y < 0.5 else y)
    v = y + 2.0 if y < 0.5 else y + 1.0 if y < 1.5 else y
    value = polynomial(_LGAMMA, (v - 2.25) / 0.75) * (v - 2.0)
    value = value - logarithm if y < 1.5 else value
    far = (y - 0.5) * logarithm - y + _HALF_LOG_2PI + polynomial(_STIRLING, 18.0 / (y * y) - 1.0) / y
    return math.inf if x == math.inf else value if y < 3.0 else far


def _lgamma_left(x: float) -> float:
    sine = abs(_sine(x)[0])
    return _LOG_PI - log(sine) - _lgamma_right(1.0 - x) if sine > 0.0 else math.inf


lgamma = Split(_lgamma_right, ((_is_left, _lgamma_left),))


def _digamma_right(x: float) -> float:
    y = _MOST if x > _MOST else x
    v = 6.0 if y > 6.0 else y
    z = y + 6.0 if y < 6.0 else y
    square = 1.0 / (z * z)
    value = log(z) - 0.5 / z + square * polynomial(_PSI, 72.0 * square - 1.0)
    value = value - polynomial(_RISING1, v) / polynomial(_RISING, v) if y < 6.0 else value
    return math.inf if x == math.inf else value


def _digamma_left(x: float) -> float:
    sine, w = _sine(x)
    if abs(sine) > 0.0:
        return _digamma_right(1.0 - x) - math.pi * polynomial(_COSINE, w) / sine
    return copysign(math.inf, -x) if x == 0.0 else math.nan


digamma = Split(_digamma_right, ((_is_left, _digamma_left),))


def _trigamma_right(x: float) -> float:
    y = _MOST if x > _MOST else x
    v = 6.0 if y > 6.0 else y
    z = y + 6.0 if y < 6.0 else y
    square = 1.0 / (z * z)
    value = (1.0 + 0.5 / z + square * polynomial(_TRIGAMMA, 72.0 * square - 1.0)) / z
    p, q = polynomial(_RISING, v), polynomial(_RISING1, v)
    value = value + (q * q - p * polynomial(_RISING2, v)) / (p * p) if y < 6.0 else value
    return 0.0 if x == math.inf else value


def _trigamma_left(x: float) -> float:
    """Infinite at the poles."""
    sine = _sine(x)[0]
    if abs(sine) > 0.0:
        return math.pi * math.pi / (sine * sine) - _trigamma_right(1.0 - x)
    return math.inf if x > -math.inf else math.nan


trigamma = Split(_trigamma_right, ((_is_left, _trigamma_left),))


def _power(z: float, s: float) -> float:
    """z**-s, whose logarithm is exact to more places than `log` is."""
    return exp(-s * log_double(z))


def _three(z: float, s: float) -> float:
    return _power(z, s) + _power(z + 1.0, s) + _power(z + 2.0, s)


def _tail(s: float, w: float, k: float, number: float, rest: float) -> float:
    """Bernoulli's k-th number of Euler and Maclaurin's sum, and the rest of it in w = 1 / z**2."""
    return number + (s + (2.0 * k - 1.0)) * (s + 2.0 * k) * (w / ((2.0 * k + 1.0) * (2.0 * k + 2.0))) * rest


def hurwitz(s: float, q: float) -> float:
    """Of s from 1 to 300, and positive q up to 1e30."""
    z = q + 9.0
    last, w = _power(z, s), 1.0 / (z * z)
    rest = _tail(s, w, 5.0, 5 / 66, _tail(s, w, 6.0, -691 / 2730, 7 / 6))
    rest = _tail(s, w, 1.0, 1 / 6, _tail(s, w, 2.0, -1 / 30, _tail(s, w, 3.0, 1 / 42, _tail(s, w, 4.0, -1 / 30, rest))))
    return _three(q, s) + _three(q + 3.0, s) + _three(q + 6.0, s) + last * (z / (s - 1.0) + 0.5 + 0.5 * s / z * rest)
