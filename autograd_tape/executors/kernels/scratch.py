"""Arrays that each thread keeps for what it computes between: fresh pages of memory cost more than many a loop over them."""

from __future__ import annotations

from math import prod
from threading import local

import numpy as np

__all__ = ["scratch"]

_kept = local()
#: Bytes of the largest array that a thread keeps.
_KEPT = 1 << 24


def scratch(shape: tuple[int, ...], dtype: np.dtype, name: str) -> np.ndarray:
    """An array of anything, which whoever asks for the same name on this thread gets next.

    >>> scratch((2, 3), np.dtype("f"), "rows").shape
    (2, 3)
    """
    size = prod(shape) * dtype.itemsize
    kept: np.ndarray | None = _kept.__dict__.get(name)
    if kept is None or kept.size < size:
        kept = np.empty(size, np.uint8)
        if size <= _KEPT:  # do not hold on to giants
            _kept.__dict__[name] = kept
    return kept[:size].view(dtype).reshape(shape)
