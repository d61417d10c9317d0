"""Dropout with a given mask or given random bits; drawing the bits is the random module's work.

Kept elements are multiplied by ``scale`` (``1 / (1 - p)`` for inverted dropout), dropped ones by zero (so a dropped NaN
or infinity becomes NaN, as in torch).
"""

from __future__ import annotations

import numpy as np

from ._on_demand import LazyModule, contiguous, state
from .halves import compute_array
from .sharing import share_elements
from ...warned import ignoring

__all__ = ["apply_mask", "apply_mask_backward", "dropout_from_bits", "dropout_from_uniform"]

_compiled = LazyModule("elementwise")


def apply_mask(x: np.ndarray, keep: np.ndarray, scale: float) -> np.ndarray:
    """``x * scale`` where ``keep`` (bool or uint8, the shape of ``x``), else ``x * 0``.

    >>> apply_mask(np.array([1.0, 2.0]), np.array([True, False]), 2.0)
    array([2., 0.])
    """
    c = compute_array(x)
    if c.size < state.cheap:
        with ignoring():
            return np.asarray(c * (keep.astype(bool, copy=False) * c.dtype.type(scale)), x.dtype)
    c = contiguous(c)
    y = np.empty(c.shape, c.dtype)
    mask = contiguous(keep if keep.dtype == np.bool_ else keep != 0).reshape(-1)
    share_elements(_compiled.mask_scale, c.dtype.char, c.size, c.reshape(-1), mask, y.reshape(-1), float(scale))
    return y.astype(x.dtype, copy=False)


def apply_mask_backward(grad: np.ndarray, keep: np.ndarray, scale: float) -> np.ndarray:
    """The gradient for ``x``: the same mask and scale."""
    return apply_mask(grad, keep, scale)


def dropout_from_uniform(x: np.ndarray, uniform: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Drop where ``uniform`` (floats in [0, 1)) is below ``p``; return ``(y, keep)``.

    >>> dropout_from_uniform(np.array([1.0, 2.0]), np.array([0.2, 0.7]), 0.5)
    (array([0., 4.]), array([False,  True]))
    """
    keep = uniform >= p
    return apply_mask(x, keep, 0.0 if p >= 1 else 1 / (1 - p)), keep


def dropout_from_bits(x: np.ndarray, bits: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Keep where raw 32-bit ``bits`` (uint32) are below ``(1 - p) * 2**32``, in one pass; return ``(y, keep)``.

    >>> dropout_from_bits(np.array([1.0, 2.0]), np.array([0, 2**32 - 1], np.uint32), 0.5)
    (array([2., 0.]), array([ True, False]))
    """
    limit = round((1 - p) * 2**32)
    scale = 0.0 if p >= 1 else 1 / (1 - p)
    c = compute_array(x)
    if c.size < state.cheap:
        keep = bits < limit if limit < 2**32 else np.ones(x.shape, np.bool_)
        return apply_mask(x, keep, scale), keep
    c, raw = contiguous(c), contiguous(bits)
    y, keep = np.empty(c.shape, c.dtype), np.empty(c.shape, np.bool_)
    xs, us, ys, ks = c.reshape(-1), raw.reshape(-1), y.reshape(-1), keep.reshape(-1)
    share_elements(_compiled.dropout_bits, c.dtype.char, c.size, xs, us, ys, ks, scale, limit)
    return y.astype(x.dtype, copy=False), keep
