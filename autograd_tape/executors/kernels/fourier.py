"""Fourier transforms of many lines at once, where there are enough of them; pocketfft, which takes one after another, has the rest."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ._on_demand import state
from .handy import Handy

__all__ = ["transformed"]

_transform = Handy("fourier", "transform")
#: How many lines are transformed side by side, and how many of them take as long by pocketfft.
_LANES, _FEW = 8, 4
#: The longest line whose scratch stays near the processor, and the largest prime factor of a length, all products of which are made. In
#: double precision, the sum of more products would be less exact than others are.
_LONG, _LARGE = 4096, {"f": 400, "d": 256}


def transformed(x: np.ndarray, axis: int, n: int, length: int, dtype: np.dtype, inverse: bool, factor: float, own: bool = False
                ) -> np.ndarray | None:
    """The transforms of lines of ``n`` numbers along a dimension, times ``factor``, of which ``length`` elements are wanted: all, or the
    first half where the numbers are real. Of complex numbers there is the first half alone where the result, of ``dtype``, is real. What is
    the caller's ``own`` may be overwritten with the result. None where pocketfft is to compute it.

    >>> transformed(np.ones((1, 4)), 1, 4, 3, np.dtype(complex), False, 1.0) is None
    True
    """
    if x.size < state.fused:
        return None
    plan = _plan(x.shape, x.strides, x.flags.c_contiguous, x.dtype.char, axis, n, length, dtype.char)
    if plan is None:
        return None
    order, shape, char, blocks, numbers = plan
    source = x if order is None else x.transpose(order)
    if not source.flags.c_contiguous or not source.flags.aligned:
        return transformed(x.copy("C"), axis, n, length, dtype, inverse, factor, True)
    y = x if own and order is None and x.dtype is dtype and x.shape == shape else np.empty(shape, dtype)
    _transform.share(char, blocks, _LANES * n, 16, source.view(char), y.view(char), *numbers, int(inverse), factor)
    return y


@lru_cache(1024)
def _plan(shape: tuple[int, ...], strides: tuple[int, ...], in_rows: bool, char: str, axis: int, n: int, length: int, result: str
          ) -> tuple[tuple[int, ...] | None, tuple[int, ...], str, int, tuple[Any, ...]] | None:
    """(the order of dimensions in memory, where that has the last dimension, which is the lines', before others; the result's shape; the
    kernel's dtype, how many times eight lines there are, and its arguments)."""
    lines, roots, last = prod(shape) // shape[axis], _roots(n, _LARGE.get(char.lower(), 0)), len(shape) - 1
    if lines < _FEW or roots is None:
        return None
    at = axis if in_rows or axis < last else len([s for s in strides if s > strides[-1]])
    order = None if at == axis else (*range(at), last, *range(at, last))
    sizes = shape if order is None else [shape[d] for d in order]
    have, give = [size * (1 + c.isupper()) for c, size in ((char, shape[axis]), (result, length))]
    arguments = roots, prod(sizes[:at]), prod(sizes[at + 1:]), n, have, give, int(order is not None)
    return order, (*shape[:axis], length, *shape[axis + 1:]), char.lower(), -(-lines // _LANES), arguments


@lru_cache(64)
def _roots(n: int, largest: int) -> np.ndarray | None:
    """The powers of exp(-2 pi i / n), real and imaginary parts in turn; None for lengths that are pocketfft's."""
    left, prime = n, 2
    while left > 1 and prime <= largest:
        if left % prime:
            prime += 1
        else:
            left //= prime
    if left > 1 or not 1 < n <= _LONG:
        return None
    angles = np.arange(n) * (8 * np.arctan(np.longdouble(1)) / n)  # in more than double precision, where there is more
    return np.stack([np.cos(angles), -np.sin(angles)], -1).astype(np.float64).reshape(-1)
