"""Formulas of one number in double precision, to less than a unit in the last place, of which LLVM makes vectors as of those of single
precision (`_single`): without branches, nothing fused or reordered."""

from __future__ import annotations

import math

import numpy as np

from ...executors.kernels import formulas
from ...executors.kernels.formulas import exponent, many, polynomial, two_to, up_to

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
_LOG = (1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01, 2.857142874366239149e-01,
        3.999999999940941908e-01, 6.666666666666735130e-01, 0.0)
#: Numbers up to which sines and cosines are found so.
LARGEST = 1.5e6


def _nearest(x: float) -> float:
    return (x + _INTEGERS) - _INTEGERS


def _sine(x: float, turned: float) -> float:
    """The sine of a number and so many quarters of a turn."""
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
    n = exponent(x * 1.3333333333333333)
    f = x * two_to(-n) - 1.0
    s = f / (2.0 + f)
    half = 0.5 * f * f
    return n * _LN2[0] - ((half - (s * (half + polynomial(_LOG, s * s)) + n * _LN2[1])) - f)


sines, cosines = many(np.sin, up_to(LARGEST, sin, formulas.sin)), many(np.cos, up_to(LARGEST, cos, formulas.cos))
