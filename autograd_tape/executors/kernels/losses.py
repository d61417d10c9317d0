"""Losses of elements that torch makes of several steps, in one pass (``compiled/losses.py``): of half precision, which is rounded after
each step, and, where results have NumPy's bits, of all floating dtypes."""

from __future__ import annotations

import numpy as np

from ._on_demand import state
from .handy import Exact

__all__ = ["Loss"]


class Loss:
    """What becomes of the elements of arrays that lie alike, and of two numbers.

    Args:
        name: that of the kernel.
        exact: whether it has the bits of its steps; else it is for half precision, and as many elements as are surely compiled.
    """

    __slots__ = ("_exact", "_kernel")

    def __init__(self, name: str, exact: bool = False) -> None:
        self._kernel, self._exact = Exact("losses", name), exact

    def __call__(self, *arrays: np.ndarray, numbers: tuple[float, ...] = (0.0, 0.0)) -> np.ndarray | None:
        """The losses in the order of the arrays; None where NumPy is to compute them, step by step."""
        x = arrays[0]
        n, char, half = x.size, x.dtype.char, x.itemsize == 2
        least = state.half if half else state.fused
        if not self._exact and not (half and n >= least) or (run := self._kernel.over(char, n, least)) is None:
            return None
        rows = arrays if x.flags.c_contiguous else [a.T for a in arrays]
        y = np.empty(rows[0].shape, x.dtype)
        try:
            run(n, 1, *rows, y, *numbers)
        except TypeError:  # memory that is not aligned
            return None
        return y if rows is arrays else y.T
