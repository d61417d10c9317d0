"""Functions of one number, of many integers or truth values in floating point: few different ones, of which each is computed once, and then
looked up. The table is made by the very function, so that the bits are the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...annotations import Fn
from ...dtypes import converted
from ...strided import copy_like
from ...warned import ignoring
from ._on_demand import _NEVER, state
from .handy import Exact
from .sharing import ufunc1

__all__ = ["valued"]

_LOW, _HIGH = -256, 768
"""The integers of a table: as many as a power of 2, so that places within it have no other bits."""
_BEFORE = np.array(-_LOW)
_FEW = 4096
"""Truth values up to which it takes NumPy less to look two values up than to compute their bits."""
_PLACES = frozenset("?bBhHiIl")
"""Dtypes whose numbers are places."""
_looked_up = Exact("valued", "looked_up")


def valued(kernel: Fn, x: np.ndarray, dtype: np.dtype, *how: Any) -> np.ndarray:
    """What a function gives for many integers, or truth values, as numbers of a floating-point dtype, and for others that say how.

    >>> valued(np.exp2, np.array([-1, 3]), np.dtype("f4"))
    array([0.5, 8. ], dtype=float32)
    """
    # Keys see no sign of zeros.
    if x.dtype.char in _PLACES and x.flags.forc and all([v or v is None or v is False for v in how]):
        if not x.flags.c_contiguous:  # columns are rows of the transposed
            return valued(kernel, x.T, dtype, *how).T
        size = 1 << min(max(x.size.bit_length() - 1, 10), 16)
        if x.dtype.char == "?":
            return _either(x, _table(kernel, dtype, size, state.fused, how)[-_LOW : 2 - _LOW])
        slow = _is_slow(kernel, x.size)
        if (slow or x.dtype.char == "l" and x.size >= state.fused) and (
                found := _of_places(x, _table(kernel, dtype, size, state.fused, how), slow)) is not None:
            return found
    return _computed(kernel, converted(copy_like(x) if 0 in x.strides else x, dtype), how)


def _computed(kernel: Fn, x: np.ndarray, how: tuple[Any, ...]) -> np.ndarray:
    result: np.ndarray = ufunc1(kernel, x) if isinstance(kernel, np.ufunc) else kernel(x, *how)
    return result


def _is_slow(kernel: Fn, size: int) -> bool:
    """Whether a kernel takes longer than to look up integers, as NumPy's where it gives what is not finite number by number."""
    return size >= getattr(kernel, "slow_from", _NEVER) or kernel is np.arctanh


def _of_places(x: np.ndarray, table: np.ndarray, slow: bool) -> np.ndarray | None:
    """What a table has of integers in rows, if all are in it: where there is machine code for that, or the function is `slow`."""
    if x.dtype.char == "l" and (run := _looked_up.over(table.dtype.char, x.size)) is not None:
        found = np.empty(x.shape, table.dtype)
        try:
            run(x.size, 1, x, table, found, _LOW)
            return found
        except IndexError:
            return None
        except TypeError:  # memory that is not aligned
            pass
    if not slow:
        return None
    places = np.add(x, _BEFORE, dtype=np.int64)
    return table.take(places, mode="wrap") if 0 <= np.bitwise_or.reduce(places, None) < table.size else None  # the mode without branches


@lru_cache(256)
def _table(kernel: Fn, dtype: np.dtype, size: int, fused: int, how: tuple[Any, ...]) -> np.ndarray:
    """By which kernel a function goes depends on how many numbers there are, by powers of two, and on the threshold `fused`."""
    numbers = np.arange(_LOW, _HIGH).astype(dtype)
    with ignoring():
        return _computed(kernel, np.resize(numbers, size), how)[: numbers.size].copy()


def _either(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The second of two values where `x` is true, and else the first, by their bits: choosing would guess."""
    if x.size < _FEW:
        return values.take(x.view(np.uint8), mode="wrap")
    bits = np.dtype(f"u{values.itemsize}")
    no, yes = values.view(bits).tolist()
    found = np.multiply(x.view(np.uint8), bits.type((yes - no) % (1 << 8 * bits.itemsize)), dtype=bits, casting="unsafe")
    if no:
        found += bits.type(no)
    return found.view(values.dtype)
