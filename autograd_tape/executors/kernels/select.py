"""Choosing between arrays by a mask without branches: of big ones compiled and shared by the pool, else by bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import as_bits
from ._on_demand import LazyModule, state
from .sharing import MOVED, fill, share_elements

__all__ = ["FEW", "choose", "where"]

_compiled = LazyModule("arithmetic")
#: Elements from which NumPy's choice, which guesses each, takes longer than passes over bits, and those of a block of these.
FEW, _BLOCK = 8192, 65536
#: As what elements are seen, by their bytes.
_BITS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def where(mask: np.ndarray, a: Any, b: Any) -> np.ndarray:
    """``np.where(mask, a, b)``; fast where one of the two is an array of the mask's shape, or both are, of one dtype, and the other one of
    the same dtype that is expanded to it, or a number.

    >>> where(np.array([True, False]), np.array([1.0, 2.0]), 0.0)
    array([1., 0.])
    """
    size = mask.size
    if size < FEW and size < state.cheap or mask.dtype != np.bool_ or not mask.flags.forc:
        return np.where(mask, a, b)
    if not mask.flags.c_contiguous:
        if not all([x.shape == mask.shape if isinstance(x, np.ndarray) and x.ndim else True for x in (a, b)]):
            return np.where(mask, a, b)
        return where(mask.T, *[x.T if isinstance(x, np.ndarray) else x for x in (a, b)]).T
    dtype = next((x.dtype for x in (a, b) if isinstance(x, np.ndarray) and x.ndim), None)
    if dtype is None or dtype.itemsize not in MOVED or not dtype.isnative or not dtype.isbuiltin:
        return np.where(mask, a, b)
    one, other = _like(a, mask, dtype), _like(b, mask, dtype)
    if one is None or other is None:
        return np.where(mask, a, b)
    m, y = mask.reshape(-1), np.empty(mask.shape, dtype)
    out, char = y.reshape(-1), MOVED[dtype.itemsize]
    if size < state.cheap:
        choose(m, one, other, out)
    elif one.ndim and other.ndim:
        share_elements(_compiled.select, char, size, m, one.view(char), other.view(char), out.view(char))
    elif dtype.char not in "fd":
        number = np.empty(size, dtype)
        fill(number, other if one.ndim else one)
        one, other = (one, number) if one.ndim else (number, other)
        share_elements(_compiled.select, char, size, m, one.view(char), other.view(char), out.view(char))
    elif one.ndim:
        share_elements(_compiled.select_or, char, size, m, one, float(other), out)
    else:
        share_elements(_compiled.fill_where, char, size, m, other, float(one), out)
    return y


def _like(x: Any, mask: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """A flat array as large as the mask, or a 0-dim one, of the values of an array that is expanded to it, or of a number; None where
    NumPy finds another dtype or shape for the result."""
    if not isinstance(x, (np.ndarray, np.generic)):
        return np.asarray(x, dtype) if type(x) in (int, float) and dtype.char in "fd" else None
    if x.dtype != dtype or x.ndim > mask.ndim:
        return None
    if x.ndim and (x.shape != mask.shape or not x.flags.c_contiguous or not x.flags.aligned):
        whole = np.empty(mask.shape, dtype)
        try:
            as_bits(whole)[...] = as_bits(np.asarray(x))
        except ValueError:
            return None
        x = whole
    return np.asarray(x).reshape(-1) if x.ndim else np.asarray(x)


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
