"""Integers by those of NumPy's loops that make vectors: division by one number is such a loop, what it leaves and shifts of narrow integers
are not. Sums of narrow integers are products by ones, where NumPy converts each number. Many numbers go in blocks that stay in
the cache.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["remainder", "shifted", "summed", "trunc_divide"]

_FEW = 4096
"""Numbers that NumPy's own loop takes as fast."""
_BLOCK = 1 << 17
"""Bytes of a block."""

Step = Callable[[np.ndarray, np.ndarray, np.ndarray], object]
"""What makes of numbers, and their quotients rounded down, results in place of the latter, with room for as many more."""


def _divisor(x: np.ndarray, z: np.ndarray) -> int:
    """The one integer by which an array of many of its dtype is divided; 0 where it is another, or NumPy would warn."""
    if x.size < _FEW or z.size != 1 or z.ndim > x.ndim or x.dtype != z.dtype or x.dtype.kind not in "iu":
        return 0
    number: int = z.item()
    return 0 if number == -1 else number


def _divided(x: np.ndarray, z: np.ndarray, step: Step) -> np.ndarray:
    if x.nbytes <= _BLOCK or not x.flags.forc:
        found: np.ndarray = np.floor_divide(x, z)
        step(x, found, np.empty_like(found))
        return found
    out, z = np.empty_like(x), z.reshape(())
    flat, into, block = x.ravel("K"), out.ravel("K"), _BLOCK // x.itemsize
    room = np.empty(block, x.dtype)
    for start in range(0, x.size, block):
        part = flat[start:start + block]
        step(part, np.floor_divide(part, z, into[start:start + block]), room[:part.size])
    return out


def remainder(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """What division of integers leaves, with the sign of the divisor.

    >>> remainder(np.arange(-3, 5000), np.array(5))[:3]
    array([2, 3, 4])
    """
    if not (number := _divisor(x, z)):
        return np.remainder(x, z)
    if number > 0 and not number & (number - 1):
        return np.bitwise_and(x, z - z.dtype.type(1))

    def step(part: np.ndarray, quotient: np.ndarray, room: np.ndarray) -> None:
        np.subtract(part, np.multiply(quotient, number, room), quotient)

    return _divided(x, z, step)


def trunc_divide(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The quotient of integers, rounded to zero.

    >>> trunc_divide(np.arange(-3, 5000), np.array(5))[:3]
    array([0, 0, 0])
    """
    if x.dtype.kind == "u" and x.dtype == z.dtype:
        return np.floor_divide(x, z)
    if not (number := _divisor(x, z)):
        quotient = np.floor_divide(x, z)
        return quotient + ((quotient < 0) & (quotient * z != x))

    def step(part: np.ndarray, quotient: np.ndarray, room: np.ndarray) -> None:
        down = np.not_equal(np.multiply(quotient, number, room), part)
        down &= np.less(quotient, 0)
        np.add(quotient, down, quotient)

    return _divided(x, z, step)


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


def summed(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray | None:
    """The sums of a matrix of many integers of one or two bytes, in rows, along either dimension, in int64; None of others.

    >>> summed(np.full((100, 100), 200, np.uint8), (1,))[:2]
    array([20000, 20000])
    """
    if x.ndim != 2 or len(axes) != 1 or x.itemsize > 2 or x.dtype.kind not in "iu" or x.size < _FEW or not x.flags.c_contiguous:
        return None
    rows, width = x.shape
    step, along = max(1, _FEW * 8 // width), axes[0] == 0
    many = step if along else width
    number = np.float32 if many << 8 * x.itemsize <= 1 << 24 else np.float64  # in which no sum is rounded
    found = np.zeros(width if along else rows, np.int64)
    ones = np.ones(min(step, rows) if along else width, number)
    for start in range(0, rows, step):
        part = x[start:start + step].astype(number)
        if along:
            found += ones[:len(part)].dot(part).astype(np.int64)
        else:
            found[start:start + step] = part.dot(ones)
    return found
