"""Two-dimensional convolution and its gradients by compiled tiles (see ``compiled/direct.py``), without columns."""

from __future__ import annotations

from math import prod

import numpy as np

from . import sharing
from ._on_demand import LazyModule

__all__ = ["convolve", "fits", "weight_grad"]

_compiled = LazyModule("direct")
#: Fewest samples: whole samples are shared.
_SAMPLES = 4
#: Parts of a weight's gradient, added up in order: the result does not depend on the threads.
_PARTS = 8
_TILE, _PIXELS = 4, 24
#: Fewest pixels of a result.
_FEWEST = 64
#: Longest sum; beyond it, blocks of a matrix product make better use of the cache.
_LONGEST, _LONGEST_POINTWISE = 640, 16

Ints = tuple[int, ...]


def _wide(width: int, stride: Ints, padding: Ints) -> int:
    return -(-(width + 2 * padding[1]) // stride[1])


def fits(n: int, width: int, w_shape: Ints, size: Ints, stride: Ints, padding: Ints) -> bool:
    """Whether tiles are faster than a matrix product: for ``n`` samples with rows of ``width``, results of ``size``."""
    longest = _LONGEST_POINTWISE if prod(w_shape[2:]) == 1 else _LONGEST
    if n < _SAMPLES or prod(w_shape[1:]) > longest:
        return False
    computed = -(-size[0] * _wide(width, stride, padding) // _PIXELS) * _PIXELS
    return prod(size) >= _FEWEST and 3 * prod(size) >= 2 * computed


class _Geometry:
    """Where taps lie in planes, and how long these are."""

    def __init__(self, shape: Ints, w_shape: Ints, size: Ints, stride: Ints, padding: Ints, dilation: Ints) -> None:
        (_, height, width), (_, per_group, kh, kw) = shape, w_shape
        (sh, sw), (ph, _), (dh, dw) = stride, padding, dilation
        wide = _wide(width, stride, padding)
        length = -(-(height + 2 * ph) // sh) * wide
        # Results up to a whole number of tiles; a channel's last shift begins within its plane.
        self.per_plane = -(-size[0] * wide // _PIXELS) * _PIXELS
        down, right = np.arange(kh)[:, None] * dh, np.arange(kw) * dw
        taps = (down % sh * sw + right % sw) * length + down // sh * wide + right // sw
        planes = np.arange(per_group)[:, None, None] * (sh * sw * length)
        self.offsets = np.ascontiguousarray((planes + taps).reshape(-1), np.int64)
        self.numbers = length, wide, self.per_plane, *stride, *padding


def convolve(
    x: np.ndarray, w: np.ndarray, b: np.ndarray | None, y: np.ndarray, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> None:
    """Writes the convolution of ``x`` (N, C, H, W) with ``w`` (O, C // groups, KH, KW), plus ``b``, to ``y``: all
    C-contiguous and of one dtype."""
    geometry = _Geometry(x.shape[1:], w.shape, y.shape[2:], stride, padding, dilation)
    out, taps = len(w), geometry.offsets.size
    tiles = -(-(out // groups) // _TILE)
    padded = np.zeros((groups, tiles * _TILE, taps), w.dtype)
    padded[:, : out // groups] = w.reshape(groups, out // groups, taps)
    weights = np.ascontiguousarray(padded.reshape(groups * tiles, _TILE, taps).swapaxes(1, 2)).reshape(-1)
    bias = np.empty(0, x.dtype) if b is None else b
    args = x, weights, bias, geometry.offsets, y, groups, *geometry.numbers
    sharing.share_rows(_compiled.forward, x.dtype.char, len(x), prod(y.shape[1:]) * taps, 1, *args)


def weight_grad(
    grad: np.ndarray, x: np.ndarray, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The gradient for a weight of ``shape``.  Where ``x`` is not finite, neither need be what it should not touch."""
    geometry = _Geometry(x.shape[1:], shape, grad.shape[2:], stride, padding, dilation)
    n = len(x)
    # Adding up the vectors of a part takes as long as some hundred pixels: fewer parts where there are few.
    n_parts = min(n, _PARTS if n * geometry.per_plane >= 512 * _PARTS else _PARTS // 2)
    bounds = np.array([n * i // n_parts for i in range(n_parts + 1)])
    parts = np.empty((n_parts, shape[0], shape[1], prod(shape[2:])), x.dtype)
    args = grad, x, parts, geometry.offsets, bounds, groups, *geometry.numbers
    work = -(-n // n_parts) * prod(grad.shape[1:]) * geometry.offsets.size
    sharing.share_rows(_compiled.weight_grad, x.dtype.char, n_parts, work, 1, *args)
    return parts.sum(0).reshape(shape)
