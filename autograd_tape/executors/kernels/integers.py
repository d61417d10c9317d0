"""Integers by those of NumPy's loops that make vectors: division by one number is such a loop, what it leaves and shifts of narrow integers
are not. Sums of narrow integers are those of lanes in words, or products by ones, where NumPy converts each number. Many numbers go in
blocks that stay in the cache.
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


_LANES = {1: (0x00FF00FF00FF00FF, 0x8080808080808080, 128, np.dtype(np.uint16)),
          2: (0x0000FFFF0000FFFF, 0x8000800080008000, 16384, np.dtype(np.uint32)),
          4: (0x00000000FFFFFFFF, 0x8000000080000000, 16384, np.dtype(np.uint64))}
"""By bytes of integers: every other one of a word, their signs, how many words' sums do not leave lanes twice as wide, and those lanes."""
_WORDS = 1 << 14
"""Words of a block."""


def summed(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray | None:
    """The sum of many integers of up to four bytes that lie closely, in int64, over all dimensions, or of a matrix of one or two bytes in
    rows over either; None of others.

    >>> summed(np.full((100, 100), 200, np.uint8), (0, 1))
    array(2000000)
    """
    if x.size < _FEW or x.dtype.kind not in "iu" or not x.dtype.isnative:
        return None
    if len(axes) == x.ndim:
        return _total(x.ravel("K")) if x.itemsize < 8 and x.flags.forc else None
    if x.ndim != 2 or x.itemsize > 2 or not x.flags.c_contiguous:
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


def _total(flat: np.ndarray) -> np.ndarray | None:
    low, signs, run, lane = _LANES[flat.itemsize]
    whole = flat.size * flat.itemsize // (8 * run) * (8 * run) // flat.itemsize
    words = flat[:whole].view(np.uint64)
    if not whole or not words.flags.aligned:
        return None
    mask, flip, shift = np.uint64(low), np.uint64(signs), np.uint64(8 * flat.itemsize)
    total = int(np.add.reduce(flat[whole:], dtype=np.int64))
    for start in range(0, words.size, _WORDS):
        part = words[start:start + _WORDS]
        if flat.dtype.kind == "i":
            part = part ^ flip
        odd = part >> shift
        odd &= mask
        odd += part & mask
        total += int(np.add.reduce(np.add.reduce(odd.reshape(-1, run), 1).view(lane), dtype=np.uint64))
    return np.array(total - (whole << (8 * flat.itemsize - 1) if flat.dtype.kind == "i" else 0))
