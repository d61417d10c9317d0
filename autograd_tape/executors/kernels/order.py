"""Orders along an axis by compiled code.  Numbers of every dtype become int64 keys in the same order, so that there is one kernel of each
kind: NaN is the largest and equal to itself, -0 is 0.

Results are those of the NumPy compositions in `ops/reductions/order.py`, so kernels that are at hand already serve small arrays, too.
"""

from __future__ import annotations

from math import prod

import numpy as np

from . import sharing
from ._on_demand import LazyModule, at_hand, state

__all__ = ["fits", "keys", "kth", "modes", "ordered", "picked", "rows_of", "top"]

_compiled = LazyModule("order")


def fits(size: int) -> bool:
    """Whether compiled code is worth its loading for so many elements, or loaded."""
    return size >= state.fused or size >= 64 and state.mode == "auto" and at_hand()


def keys(x: np.ndarray) -> np.ndarray:
    """Integers (int64) in the order of real numbers.

    >>> keys(np.array([0.0, -0.0, -np.nan], np.float32)).tolist()
    [0, 0, 2139095041]
    """
    if x.dtype.kind == "u" and x.itemsize == 8:
        return (x ^ np.uint64(1 << 63)).view(np.int64)
    if x.dtype.kind in "iub":
        return x.astype(np.int64, copy=False)
    wide: np.ndarray = x if x.dtype.char in "fd" and x.dtype.isnative else x.astype(np.float64 if x.itemsize > 4 else np.float32)
    if fits(wide.size) and wide.flags.c_contiguous and wide.flags.aligned:
        made = np.empty(wide.shape, np.int64)
        sharing.share_elements(_compiled.keys_of, wide.dtype.char, wide.size, wide.reshape(-1), made.reshape(-1))
        return made
    single = wide.itemsize == 4
    bits: np.ndarray = (wide + 0.0).view(np.int32 if single else np.int64)  # -0 + 0 is 0
    found: np.ndarray = bits >> (31 if single else 63)
    found &= 0x7FFFFFFF if single else 0x7FFFFFFFFFFFFFFF
    found ^= bits
    nan = 0x7F800001 if single else 0x7FF0000000000001  # one above infinity
    if found.size and (np.maximum.reduce(found, None) >= nan or np.minimum.reduce(found, None) <= -nan):
        np.putmask(found, wide != wide, nan)
    return found.astype(np.int64, copy=False)


def rows_of(x: np.ndarray, d: int) -> np.ndarray:
    """(rows, elements) with the axis `d` last, C-contiguous."""
    if d != x.ndim - 1:
        x = np.moveaxis(x, d, -1)
    return np.ascontiguousarray(x).reshape(prod(x.shape[:-1]), x.shape[-1])


def picked(rows: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The elements of each row at the places in the same row of `index`, or at its one place."""
    if len(rows) > 1:
        index = index + np.arange(0, rows.size, rows.shape[1]).reshape((-1,) + (1,) * (index.ndim - 1))
    return rows.reshape(-1).take(index)


def ordered(rows: np.ndarray, descending: bool) -> np.ndarray:
    """The places of each row's elements in order, equal ones as they come."""
    index, key = np.empty(rows.shape, np.int64), keys(rows)
    if rows.size:
        sharing.share_rows(_compiled.ordered, "f", *rows.shape, 16, ~key if descending else key, index)
    return index


def top(rows: np.ndarray, k: int, largest: bool, in_order: bool) -> np.ndarray:
    """The places of the `k` best of each row, as torch finds them."""
    index, key = np.empty((len(rows), k), np.int64), keys(rows)
    if index.size:
        sharing.share_rows(_compiled.top, "f", *rows.shape, 8, ~key if largest else key, index, in_order)
    return index


def kth(rows: np.ndarray, wanted: np.ndarray, stable: bool) -> np.ndarray:
    """The place of the element at the place `wanted` in the order of each row: as torch finds it, or in the stable order."""
    index = np.empty(len(rows), np.int64)
    if rows.size:
        sharing.share_rows(_compiled.kth, "f", *rows.shape, 8, keys(rows), wanted, index, stable)
    return index


def modes(rows: np.ndarray) -> np.ndarray:
    """The place of the most frequent element of each row, as torch finds it; of numbers that are none NaN."""
    index = np.empty(len(rows), np.int64)
    if rows.size:
        sharing.share_rows(_compiled.modes, "f", *rows.shape, 16, keys(rows), index)
    return index
