"""Single-precision logarithm, sine and cosine by the Cephes polynomials, in fused multiply-adds.

torch's vectorised ``randn`` evaluates exactly these polynomials, so its numbers are reproduced to the last bit only by
evaluating them in the same order with the same roundings (the functions of libm differ in the last place).
Source: S. L. Moshier, Cephes Mathematical Library, ``logf.c`` and ``sinf.c``.
"""

from __future__ import annotations


import numpy as np
import numpy.typing as npt

F32 = np.float32
F64 = np.float64

LOG = tuple(
    F32(c)
    for c in (
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )
)  # fmt: skip
SIN = tuple(F32(c) for c in (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1))
COS = tuple(F32(c) for c in (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2))
MINUS_QUARTER_PI = tuple(F32(c) for c in (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8))
SQRT_HALF = F32(0.707106781186547524)
LN2_LOW = F32(-2.12194440e-4)
LN2_HIGH = F32(0.693359375)
FOUR_OVER_PI = F32(1.27323954473516)
TWO_PI = F32(2 * np.pi)

Array = npt.NDArray[np.float32]


def fma32(a: npt.ArrayLike, b: npt.ArrayLike, c: npt.ArrayLike) -> Array:
    """``a * b + c`` of float32 values, rounded once.

    The product of two float32 is exact in float64; the sum is rounded there and again to float32, which differs from a
    fused operation only where the float64 sum falls on a float32 tie (odds about 2**-29 an operation).
    """
    wide = np.multiply(a, b, dtype=F64)
    wide += c
    return wide.astype(F32)


def _wide(values: tuple[np.generic, ...]) -> tuple[npt.NDArray[np.float64], ...]:
    """Coefficients as 0-dim arrays, which NumPy takes faster than numbers."""
    return tuple(np.array(v, F64) for v in values)


_LOG, _SIN, _COS, _STEPS = _wide(LOG), _wide(SIN), _wide(COS), _wide(MINUS_QUARTER_PI)


def _rounded(wide: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Float64 numbers brought to float32 precision, and float64 again for the next fused operation."""
    return wide.astype(F32).astype(F64)


def _horner(coefficients: tuple[npt.NDArray[np.float64], ...], x: npt.NDArray[np.float64]) -> Array:
    """The polynomial with the highest power first, in fused operations as `fma32` does them."""
    y = x * coefficients[0]
    y += coefficients[1]
    for coefficient in coefficients[2:]:
        y = _rounded(y)
        y *= x
        y += coefficient
    return y.astype(F32)


def log32(x: Array) -> Array:
    """Natural logarithm of normal positive float32 numbers."""
    bits = x.view(np.uint32)
    m = ((bits & np.uint32(0x807FFFFF)) | np.uint32(0x3F000000)).view(F32)
    small = m < SQRT_HALF
    e = ((bits >> np.uint32(23)).astype(np.int32) - (126 + small)).astype(F32)
    x = (m - F32(1)) + m * small
    z = x * x
    y = _horner(_LOG, x.astype(F64))
    y = fma32(y * x, z, e * LN2_LOW) - z * F32(0.5)
    return (x + y) + e * LN2_HIGH


def sincos32(x: Array) -> tuple[Array, Array]:
    """Sine and cosine of float32 angles in ``[0, 2 pi]``."""
    octant = ((x * FOUR_OVER_PI).astype(np.int32) + 1) & -2
    k, wide = octant.astype(F64), x.astype(F64)
    for step in _STEPS:
        wide = _rounded(k * step + wide)
    x = wide.astype(F32)
    z = x * x
    wide = z.astype(F64)
    c, s = _horner(_COS, wide), _horner(_SIN, wide)
    c = fma32(c * z, z, z * F32(-0.5)) + F32(1)
    s = fma32(s * z, x, x)
    swap = (octant & 2) != 0
    sine = np.where(swap, c, s)
    cosine = np.where(swap, s, c)
    np.negative(sine, out=sine, where=(octant & 4) != 0)
    np.negative(cosine, out=cosine, where=((octant - 2) & 4) == 0)
    return sine, cosine
