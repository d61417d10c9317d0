"""Choosing between arrays by a mask without branches: of big ones compiled and shared by the pool, else by bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._on_demand import LazyModule, state
from .sharing import share_elements

__all__ = ["FEW", "choose", "where"]

_compiled = LazyModule("arithmetic")
#: Elements from which NumPy's choice, which guesses each, takes longer than passes over bits, and those of a block of these.
FEW, _BLOCK = 8192, 65536
#: As what elements are seen, by their bytes.
_BITS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def where(mask: np.ndarray, a: Any, b: Any) -> np.ndarray:
    """``np.where(mask, a, b)``; fast where the mask and arrays of one dtype have one shape, and one of the two is an array like it or a
    number.

    >>> where(np.array([True, False]), np.array([1.0, 2.0]), 0.0)
    array([1., 0.])
    """
    if mask.size < FEW and mask.size < state.cheap or mask.dtype != np.bool_ or not mask.flags.c_contiguous:
        return np.where(mask, a, b)
    like = a if isinstance(a, np.ndarray) and a.ndim else b
    if not _fits(like, mask):
        return np.where(mask, a, b)
    char, m, y = like.dtype.char, mask.reshape(-1), np.empty(mask.shape, like.dtype)
    out, both = y.reshape(-1), _fits(a, mask) and _fits(b, mask) and a.dtype == b.dtype
    if not both and not _number(b if like is a else a, like):
        return np.where(mask, a, b)
    if mask.size < state.cheap or char not in "fd":
        if like.dtype.kind not in "fiub" or not like.dtype.isnative or like.itemsize not in _BITS:
            return np.where(mask, a, b)
        one, other = [x.reshape(-1) if _fits(x, mask) else np.asarray(x, like.dtype) for x in (a, b)]
        choose(m, one, other, out)
    elif both:
        share_elements(_compiled.select, char, m.size, m, a.reshape(-1), b.reshape(-1), out)
    elif like is a:
        share_elements(_compiled.select_or, char, m.size, m, a.reshape(-1), float(b), out)
    else:
        share_elements(_compiled.fill_where, char, m.size, m, b.reshape(-1), float(a), out)
    return y


def choose(mask: np.ndarray, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Fills `out` with b ^ ((a ^ b) & mask): what is not chosen leaves no trace. Arrays are flat, in order and of one dtype, or numbers."""
    bits = _BITS[out.itemsize]
    mask, a, b, out = mask.view(np.int8), a.view(bits), b.view(bits), out.view(bits)
    for start in range(0, out.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        one, other, into = a[part] if a.ndim else a, b[part] if b.ndim else b, out[part]
        np.bitwise_xor(one, other, into)
        into &= np.negative(np.not_equal(mask[part], 0).view(np.int8)).astype(bits)  # truth values from elsewhere may be of any bits
        into ^= other


def _fits(x: object, mask: np.ndarray) -> bool:
    return isinstance(x, np.ndarray) and x.shape == mask.shape and x.flags.c_contiguous and x.flags.aligned


def _number(x: object, like: np.ndarray) -> bool:
    if isinstance(x, (np.ndarray, np.generic)):
        return x.ndim == 0 and x.dtype == like.dtype
    return type(x) in (int, float) and like.dtype.char in "fd"
