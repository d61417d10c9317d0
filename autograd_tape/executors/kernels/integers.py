"""Integers by those of NumPy's loops that make vectors: division by one number is such a loop, what it leaves and shifts of narrow integers
are not. Many numbers go in blocks that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["remainder", "shifted", "trunc_divide"]

_FEW = 512
"""Numbers that NumPy's own loop takes as fast."""
_BLOCK = 1 << 17
"""Bytes of a block."""

Step = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], object]
"""What makes results of numbers, with their quotients, rounded down, and room for as many more."""


def _divisor(x: np.ndarray, z: np.ndarray) -> np.generic | None:
    """The one integer by which an array of many of its dtype, without gaps, is divided; None where it is another, or NumPy would warn."""
    if x.size < _FEW or z.size != 1 or z.ndim > x.ndim or x.dtype != z.dtype or x.dtype.kind not in "iu" or not x.flags.forc:
        return None
    number: np.generic = z.reshape(())[()]
    return number if number > 0 or number < -1 else None


def _in_blocks(x: np.ndarray, number: np.generic, step: Step) -> np.ndarray:
    out = np.empty_like(x)
    flat, into = x.ravel("K"), out.ravel("K")
    block = _BLOCK // x.itemsize
    quotients, room = np.empty((2, min(block, x.size)), x.dtype)
    for start in range(0, x.size, block):
        part = flat[start:start + block]
        step(part, np.floor_divide(part, number, quotients[:part.size]), room[:part.size], into[start:start + block])
    return out


def remainder(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """What division of integers leaves, with the sign of the divisor.

    >>> remainder(np.arange(-512, 512), np.array(5))[:3]
    array([3, 4, 0])
    """
    if (number := _divisor(x, z)) is None:
        return np.remainder(x, z)
    if number > 0 and not number & (number - 1):
        return np.bitwise_and(x, number - number.dtype.type(1))

    def step(part: np.ndarray, quotient: np.ndarray, room: np.ndarray, out: np.ndarray) -> None:
        np.subtract(part, np.multiply(quotient, number, room), out)

    return _in_blocks(x, number, step)


def trunc_divide(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The quotient of integers, rounded to zero.

    >>> trunc_divide(np.arange(-512, 512), np.array(5))[:3]
    array([-102, -102, -102])
    """
    if x.dtype.kind == "u" and x.dtype == z.dtype:
        return np.floor_divide(x, z)
    if (number := _divisor(x, z)) is None:
        quotient = np.floor_divide(x, z)
        return quotient + ((quotient < 0) & (quotient * z != x))

    def step(part: np.ndarray, quotient: np.ndarray, room: np.ndarray, out: np.ndarray) -> None:
        down = np.not_equal(np.multiply(quotient, number, room), part)
        down &= np.less(quotient, 0)
        np.add(quotient, down, out)

    return _in_blocks(x, number, step)


def shifted(function: np.ufunc, x: np.ndarray, z: np.ndarray) -> np.ndarray | None:
    """An array of narrow integers whose bits are moved by one number, as products and quotients are vectors; None where NumPy does it well.

    >>> shifted(np.left_shift, np.array([1, 3], np.int8), np.array(1, np.int8))
    array([2, 6], dtype=int8)
    """
    left = function is np.left_shift
    if z.ndim or x.dtype != z.dtype or x.dtype.kind not in "iu" or x.itemsize > (4 if left else 2):
        return None
    by, bits = int(z), 8 * x.itemsize
    if not 0 <= by < bits - (x.dtype.kind == "i" and not left):
        return None
    power = np.array(1 << by).astype(x.dtype)  # that of the sign is negative
    return np.multiply(x, power) if left else np.floor_divide(x, power)
