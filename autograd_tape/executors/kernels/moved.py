"""Elements that keep their values and change places: dimensions turned round, and triangles of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ._on_demand import LazyModule, state
from .sharing import BIG, MOVED, share_rows

__all__ = ["places", "triangle", "turned"]

_compiled = LazyModule("moved")
_SHORT = 16


def turned(x: np.ndarray, axes: Sequence[int], y: np.ndarray) -> bool:
    """Writes ``x`` (C-contiguous) with the order of neighbouring ``axes`` reversed to ``y``; False where it did not.

    >>> y = np.empty(3)
    >>> turned(np.arange(3.0), (0,), y) and y.tolist() != [2, 1, 0]
    False
    """
    first, last = min(axes), max(axes) + 1
    char = MOVED.get(x.itemsize)
    if x.size < state.fused or char is None or last - first != len(axes) or not x.flags.aligned:
        return False
    shape = prod(x.shape[:first]), prod(x.shape[first:last]), prod(x.shape[last:])
    if x.size < BIG and shape[2] >= _SHORT:  # what NumPy copies in long runs it copies as fast
        return False
    rows, cols = (shape[0], shape[1] * shape[2])
    share_rows(_compiled.turn, char, rows, cols, 1, x.view(char).reshape(shape), y.view(char).reshape(shape))
    return True


def triangle(x: np.ndarray, k: int, lower: bool) -> np.ndarray | None:
    """The matrices ``x`` (..., n, m), which lie in rows or in columns, up to diagonal ``k``, or from it on; the rest zero. None where the
    array is small, or lies otherwise.

    >>> triangle(np.ones((2, 2)), 0, True) is None
    True
    """
    char = MOVED.get(x.itemsize)
    if x.size < state.fused or char is None or not x.flags.aligned:
        return None
    if not x.flags.c_contiguous:
        flipped = x.swapaxes(-1, -2)
        if not flipped.flags.c_contiguous:
            return None
        found = triangle(flipped, -k, not lower)
        return None if found is None else found.swapaxes(-1, -2)
    y = np.empty(x.shape, x.dtype)
    n, m = x.shape[-2:]
    kept = max(-n, min(k, m))
    flat = x.view(char).reshape(-1, m), y.view(char).reshape(-1, m)
    share_rows(_compiled.triangle, char, x.size // m, m, 1, *flat, n, kept if lower else kept - 1, int(lower))
    return y


def places(mask: np.ndarray) -> np.ndarray | None:
    """Where a mask is set: the coordinates of each element in a column, one dimension below the other; None where the mask is small, or
    lies otherwise.

    >>> places(np.ones(3, bool)) is None
    True
    """
    if mask.size < state.fused or not mask.ndim or not mask.flags.c_contiguous:
        return None
    n = mask.ndim
    found = np.empty((n, int(np.count_nonzero(mask))), np.int64)
    _compiled.places["f"](mask.reshape(-1, mask.shape[-1]), found[max(n - 2, 0)], found[n - 1], int(n > 1))
    for i in range(n - 2, 0, -1):
        found[i - 1] = found[i] // mask.shape[i]
        found[i] -= found[i - 1] * mask.shape[i]
    return found
