"""Sums of weighted elements at places that differ from sample to sample, with their vjp: what `grid_sample` is made of.

``x`` (N, C, S), places ``index`` (K, N, L) within S, -1 for none, and ``weight`` (K, N, L): the result is (N, C, L), with
K elements added up in order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ._on_demand import LazyModule, contiguous, state
from .sharing import share, share_rows

__all__ = ["weighted_sums", "weighted_sums_backward"]

_compiled = LazyModule("sampling")
#: Elements that NumPy gathers at once.
_PART = 1 << 16
_OUTSIDE = "weighted_sums: an index is outside of {} elements"


def weighted_sums(x: np.ndarray, index: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The sums over k of ``weight[k, n, l] * x[n, c, index[k, n, l]]``.

    >>> weighted_sums(np.array([[[1.0, 2.0, 3.0]]]), np.array([[[0, 2]], [[1, -1]]]), np.full((2, 1, 2), 0.5))
    array([[[1.5, 1.5]]])
    """
    (n, channels, size), (taps, _, length) = x.shape, index.shape
    x = contiguous(x)
    y = np.zeros((n, channels, length), x.dtype)
    if y.size * taps >= state.fused:
        rows = n * channels
        planes, out = x.reshape(rows, size), y.reshape(rows, length)
        try:
            share_rows(_compiled.weighted_sums, x.dtype.char, rows, length * taps, 2, planes, index, weight, out, channels)
        except IndexError:
            raise IndexError(_OUTSIDE.format(size)) from None
        return y
    _check(index, size)
    for values, part in _gathered(x, index):
        values *= weight[part, :, None]
        for term in values:  # in order
            y += term
    return y


def _check(index: np.ndarray, size: int) -> None:
    if index.size and index.max() >= size:
        raise IndexError(_OUTSIDE.format(size))


def _gathered(x: np.ndarray, index: np.ndarray) -> Iterator[tuple[np.ndarray, slice]]:
    """Some of the K elements at a time, (k, N, C, L), 0 where there is none, and which."""
    (n, channels, size), (taps, _, length) = x.shape, index.shape
    flat, step = x.reshape(-1), max(1, _PART // max(1, n * channels * length))
    first = np.arange(0, flat.size, max(size, 1)).reshape(n, channels, 1)
    for k in range(0, taps, step):
        part = index[k : k + step, :, None]
        outside = part < 0
        values = flat.take(np.maximum(part, 0) + first)
        if outside.any():
            np.copyto(values, 0, where=outside)
        yield values, slice(k, k + step)


def weighted_sums_backward(
    grad: np.ndarray, x: np.ndarray, index: np.ndarray, weight: np.ndarray, needs: tuple[bool, bool]
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The gradients of ``x`` and of ``weight``, or None."""
    (n, channels, size), taps = x.shape, len(index)
    g, x = contiguous(grad), contiguous(x)
    dx: np.ndarray | None = None
    dw: np.ndarray | None = None
    if g.size * taps >= state.fused:
        none = np.empty((0, 0, 0), x.dtype)
        dx = np.empty(x.shape, x.dtype) if needs[0] else none
        dw = np.empty(weight.shape, x.dtype) if needs[1] else none
        try:
            share(_compiled.weighted_sums_backward, x.dtype.char, n, 1, g, x, index, weight, dx, dw)
        except IndexError:
            raise IndexError(_OUTSIDE.format(size)) from None
        return dx if needs[0] else None, dw if needs[1] else None
    _check(index, size)
    if needs[0]:
        kept = index >= 0
        places = (np.maximum(index, 0)[:, :, None] + np.arange(0, x.size, max(size, 1)).reshape(n, channels, 1)).reshape(-1)
        shares = np.where(kept, weight, 0)[:, :, None] * g
        dx = np.bincount(places, shares.reshape(-1), x.size).astype(x.dtype).reshape(x.shape)
    if needs[1]:
        dw = np.empty(weight.shape, x.dtype)
        for values, part in _gathered(x, index):
            values *= g
            np.add.reduce(values, 2, out=dw[part])
    return dx, dw
