"""Formulas of one number in double precision, to less than a unit in the last place, of which LLVM makes vectors as of those of single
precision (`_single`): without branches, nothing fused or reordered."""

from __future__ import annotations

import math

import numpy as np

from ...executors.kernels import formulas
from ...executors.kernels.formulas import Scalar, Split, binary, copysign, exponent, many, polynomial, sqrt, two_to, up_to

_INTEGERS = 6755399441055744.0
"""1.5 * 2**52: what is added to it is rounded to an integer."""
_HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.478427660368899e-32)
"""In parts of 33 bits, so that multiples up to 2**20 are exact, and what is left (Sun's fdlibm, as are the polynomials)."""
_SIN = (1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06, -1.98412698298579493134e-04,
        8.33333333332248946124e-03)
_SIXTH = -1.66666666666666324348e-01
_COS = (-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07, 2.48015872894767294178e-05,
        -1.38888888888741095749e-03, 4.16666666666666019037e-02)
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
_ROOT = math.sqrt(2)
"""Numbers are brought between the root of a half and this, where the logarithm's polynomial holds."""
_LOG = (1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01, 2.857142874366239149e-01,
        3.999999999940941908e-01, 6.666666666666735130e-01, 0.0)
#: Numbers up to which sines and cosines are found so.
LARGEST = 1.5e6


def _nearest(x: float) -> float:
    return (x + _INTEGERS) - _INTEGERS


def quarters(x: float) -> tuple[float, float, float]:
    """The sine and the cosine of what is left of a number without quarters of a turn, and how many these are."""
    n = _nearest(x * (2.0 / math.pi))
    # What is left of the number, in two parts: each difference with its error.
    a, b = x - n * _HALF_PI[0], n * _HALF_PI[1]
    s = a - b
    t = s - a
    error = (a - (s - t)) - (b + t)
    a, b = s, n * _HALF_PI[2]
    s = a - b
    t = s - a
    error = (a - (s - t)) - (b + t) + error - n * _HALF_PI[3]
    r = s + error
    low = (s - r) + error
    r, low = (x, 0.0) if n == 0.0 else (r, low)
    z = r * r
    sine = r - ((z * (0.5 * low - z * r * polynomial(_SIN, z)) - low) - z * r * _SIXTH)
    half = 0.5 * z
    w = 1.0 - half
    cosine = w + (((1.0 - w) - half) + (z * (z * polynomial(_COS, z)) - r * low))
    return sine, cosine, n


def _sine(x: float, turned: float) -> float:
    """The sine of a number and so many quarters of a turn."""
    sine, cosine, n = quarters(x)
    n = n + turned
    pairs = _nearest(n * 0.5)
    is_odd = n != pairs + pairs
    pairs = (n - 1.0) * 0.5 if is_odd else pairs
    value = cosine if is_odd else sine
    return value if pairs == 2.0 * _nearest(pairs * 0.5) else -value


def sin(x: float) -> float:
    return _sine(x, 0.0)


def cos(x: float) -> float:
    return _sine(x, 1.0)


def log(x: float) -> float:
    """Of numbers within 1e-290 and 1e300."""
    n = exponent(x * _ROOT)
    f = x * two_to(-n) - 1.0
    s = f / (2.0 + f)
    half = 0.5 * f * f
    return n * _LN2[0] - ((half - (s * (half + polynomial(_LOG, s * s)) + n * _LN2[1])) - f)


_SCALE = 2.0 ** 600


def _length(x: float, y: float) -> float:
    return sqrt(x * x + y * y)


def _is_extreme(x: float, y: float) -> bool:
    a, b = abs(x), abs(y)
    high = a if a > b else b
    return not (high > 1e-140 and high < 1e150)


def _extreme_length(x: float, y: float) -> float:
    a, b = abs(x), abs(y)
    if a == math.inf or b == math.inf:
        return math.inf
    if a > 1.0 or b > 1.0:
        return _length(a / _SCALE, b / _SCALE) * _SCALE
    return _length(a * _SCALE, b * _SCALE) / _SCALE


lengths = binary(Split(_length, ((_is_extreme, _extreme_length),)))
"""Of two numbers, sqrt(x * x + y * y)."""


#: Erf's inverse at x over x, less 1, in 0.85**2 - x**2; and the normal distribution's at 1/2 + q over q, less 2.5, in 0.425**2 - q**2 (both
#: interpolate at Chebyshev's points). From there quantiles in sqrt(-log(p)) - 1.6, down to exp(-25) (Wichura, "Algorithm AS 241", 1988).
_ERFINV_P = (-0.12233167601556241, -2.8172757184967816, -15.77854969268713, -32.952462447744466, -28.66207254784748, -8.287641349257543,
             1.853102764317349, 1.417498116790695, 0.19753231156709125)
_ERFINV_Q = (0.14340918757944623, 4.415447845022331, 34.27168633694468, 106.6842827681525, 160.82024089026783, 127.7637240724386,
             54.45524337901241, 11.730846723805138, 1.0)
_NDTRI_P = (-19589.153653992656, -106795.92910647564, -136694.6878918898, -59561.60140208829, -7232.218657073823, 1185.2853089003813,
            370.0151221417662, 31.44807353258012, 0.8871328727963667)
_NDTRI_Q = (9398.464517206588, 72342.69749284587, 140376.82723612542, 109244.70555458816, 41169.98166790856, 8176.878340636071,
            871.2838940641985, 46.92338689522055, 1.0)
_FAR_P = (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
          3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0)
_FAR_Q = (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
          6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0)
#: p of quantiles from which on this holds, and |q| up to which they are near.
_LEAST, _NEAR = 1.4e-11, 0.425


def _quantile_far(p: float) -> float:
    """Of the lower half, without its sign."""
    r = sqrt(-log(p)) - 1.6
    return polynomial(_FAR_P, r) / polynomial(_FAR_Q, r)


def _erfinv_near(x: float) -> float:
    r = 4.0 * _NEAR * _NEAR - x * x
    return copysign(x + x * (polynomial(_ERFINV_P, r) / polynomial(_ERFINV_Q, r)), x)  # of -0, too


def _erfinv_far(x: float) -> float:
    return copysign(_quantile_far(0.5 * (1.0 - abs(x))) * math.sqrt(0.5), x)


def erfinv(whole: Scalar) -> Split:
    """Erf's inverse, by the `whole` function at its ends."""
    return Split(_erfinv_near, ((lambda x: abs(x) > 1.0 - 2.0 * _LEAST, whole), (lambda x: abs(x) > 2.0 * _NEAR, _erfinv_far)))


def _ndtri_near(p: float) -> float:
    q = p - 0.5
    r = _NEAR * _NEAR - q * q
    return 2.5 * q + q * (polynomial(_NDTRI_P, r) / polynomial(_NDTRI_Q, r))


def _ndtri_far(p: float) -> float:
    return copysign(_quantile_far(p if p < 0.5 else 1.0 - p), p - 0.5)


def ndtri(whole: Scalar) -> Split:
    """The normal distribution's inverse, by the `whole` function at its ends."""
    return Split(_ndtri_near, ((lambda p: p < _LEAST or p > 1.0 - _LEAST, whole), (lambda p: abs(p - 0.5) > _NEAR, _ndtri_far)))


sines, cosines = [many(function, up_to(LARGEST, near, far), chars="d", vectors=False) for function, near, far in (
    (np.sin, sin, formulas.sin), (np.cos, cos, formulas.cos))]
