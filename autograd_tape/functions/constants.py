"""Constants as arrays, by dtype: NumPy takes a 0-dim array in half the time of a Python number, and sums a few numbers with a
dot product by ones in a third of the time of a reduction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..annotations import Values
from ..tensor import TensorRef


class _Constant(dict[str, np.ndarray]):
    """From a dtype's `char` to the constant."""

    def __init__(self, value: int) -> None:
        super().__init__({c: np.array(value, c) for c in "efdFDbhilqBHILQ?"})
        for array in self.values():
            array.flags.writeable = False


ZERO, ONE = _Constant(0), _Constant(1)

SMALL = 512  # elements up to which a sum is a dot product
NARROW = 32  # columns up to which sums of rows come spread over the rows, from a product with a square of ones


class _Ones(dict[tuple[str, int], np.ndarray]):
    """From (a dtype's `char`, a length up to SMALL) to a row of ones."""

    def __missing__(self, key: tuple[str, int]) -> np.ndarray:
        row = np.ones(key[1], key[0])
        row.flags.writeable = False
        self[key] = row
        return row


ONES = _Ones()


class _Squares(dict[tuple[str, int], np.ndarray]):
    """From (a dtype's `char`, a length up to NARROW) to a square of ones. A product with it holds the sum of each row in all of the
    row's places, and so spares the next operation NumPy's broadcasting, which costs more than the product."""

    def __missing__(self, key: tuple[str, int]) -> np.ndarray:
        square = np.ones((key[1], key[1]), key[0])
        square.flags.writeable = False
        self[key] = square
        return square


SQUARES = _Squares()


class _Columns(dict[tuple[str, int], np.ndarray]):
    """From (a dtype's `char`, a length up to SMALL) to a column of ones."""

    def __missing__(self, key: tuple[str, int]) -> np.ndarray:
        column = np.ones((key[1], 1), key[0])
        column.flags.writeable = False
        self[key] = column
        return column


COLUMNS = _Columns()


BLOCKS: dict[tuple[int, ...], np.ndarray | None] = {}


def block(shape: tuple[int, ...]) -> np.ndarray | None:
    """Float32 ones of a shape of one dimension or more and up to SMALL elements; None for other shapes. They are in BLOCKS from then on:
    NumPy adds them in less than two thirds of the time that it takes with a 0-dim array."""
    ones = None
    if shape and math.prod(shape) <= SMALL:
        ones = np.ones(shape, np.float32)
        ones.flags.writeable = False
    if len(BLOCKS) > 1000:
        BLOCKS.clear()
    BLOCKS[shape] = ones
    return ones


class _Numbers(dict[tuple[str, float], np.ndarray]):
    """From (a dtype's `char`, a number) to the number as a 0-dim array."""

    def __missing__(self, key: tuple[str, float]) -> np.ndarray:
        number = np.array(key[1], key[0])
        number.flags.writeable = False
        if len(self) > 1000:
            self.clear()
        self[key] = number
        return number


NUMBERS = _Numbers()


def divided(x: Values, count: float) -> Any:
    """`x` by a count, in the dtype of `x`: half precision is rounded here, and not when it has been expanded."""
    quotient = x / typed(x, count)
    return quotient if isinstance(x, TensorRef) or quotient.dtype is x.dtype else quotient.astype(x.dtype)


def typed(x: Values, value: float) -> Any:
    """`value` as a number that leaves the dtype of `x`, which Python's do not for 0-dim arrays before NumPy 2; as it is where `x` is a
    tensor. Numbers beside half precision are float32.

    >>> (np.float32(3) * typed(np.float32(3), 0.5)).dtype
    dtype('float32')
    """
    if isinstance(x, TensorRef):
        return value
    dtype = x.dtype
    return dtype.type(value) if dtype.itemsize > 2 else np.float32(value)
