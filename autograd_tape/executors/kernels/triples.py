"""Element-wise operations of three arrays in one pass, which NumPy does in three: addcmul, addcdiv and lerp, with the same bits."""

from __future__ import annotations

import numpy as np

from ._common import BETWEEN, PRODUCT, QUOTIENT
from .handy import Exact

__all__ = ["BETWEEN", "PRODUCT", "QUOTIENT", "triple"]

_triples = Exact("arithmetic", "triples")


def triple(op: int, value: float, x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """``x + a * value * b`` (PRODUCT), ``x + a * value / b`` (QUOTIENT), or ``x`` moved by ``value`` of the way to ``a`` (BETWEEN); None
    where NumPy is to compute it: for arrays that are not of one shape and of float32 or float64 in rows, and for few numbers."""
    dtype, shape = x.dtype, x.shape
    if a.shape != shape or b.shape != shape or a.dtype is not dtype or b.dtype is not dtype or dtype not in _DTYPES:
        return None
    n = x.size
    run = _triples.over(dtype.char, n)
    if run is None or not x.flags.c_contiguous:
        return None
    y = np.empty(shape, dtype)
    try:
        run(n, 1, op, value, x.reshape(-1), a.reshape(-1), b.reshape(-1), y.reshape(-1))
    except TypeError:  # memory that is not aligned, a number that is complex
        return None
    return y


_DTYPES = frozenset([np.dtype(np.float32), np.dtype(np.float64)])
