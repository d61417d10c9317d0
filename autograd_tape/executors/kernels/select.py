"""Choosing between big arrays by a mask: branch-free, and shared by the pool."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._on_demand import LazyModule, state
from .sharing import share_elements

__all__ = ["where"]

_compiled = LazyModule("arithmetic")


def where(mask: np.ndarray, a: Any, b: Any) -> np.ndarray:
    """``np.where(mask, a, b)``; fast where the mask and arrays of one floating-point dtype have one shape, and the other is
    an array like it or a number.

    >>> where(np.array([True, False]), np.array([1.0, 2.0]), 0.0)
    array([1., 0.])
    """
    like = a if isinstance(a, np.ndarray) and a.ndim else b
    if (
        mask.size < state.fused
        or mask.dtype != np.bool_
        or not mask.flags.c_contiguous
        or not _fits(like, mask)
        or like.dtype.char not in "fd"
    ):
        return np.where(mask, a, b)
    char, m, y = like.dtype.char, mask.reshape(-1), np.empty(mask.shape, like.dtype)
    out = y.reshape(-1)
    if _fits(a, mask) and _fits(b, mask) and a.dtype == b.dtype:
        share_elements(_compiled.select, char, m.size, m, a.reshape(-1), b.reshape(-1), out)
    elif like is a and _number(b, like):
        share_elements(_compiled.select_or, char, m.size, m, a.reshape(-1), float(b), out)
    elif like is b and _number(a, like):
        share_elements(_compiled.fill_where, char, m.size, m, b.reshape(-1), float(a), out)
    else:
        return np.where(mask, a, b)
    return y


def _fits(x: object, mask: np.ndarray) -> bool:
    return isinstance(x, np.ndarray) and x.shape == mask.shape and x.flags.c_contiguous and x.flags.aligned


def _number(x: object, like: np.ndarray) -> bool:
    return x.ndim == 0 and x.dtype == like.dtype if isinstance(x, np.ndarray) else type(x) in (int, float)
