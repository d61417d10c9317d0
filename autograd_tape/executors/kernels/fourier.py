"""Fourier transforms of many lines at once, where there are enough of them; pocketfft, which takes one after another, has the rest."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ...strided import strided
from ._on_demand import state
from .handy import Exact, Handy

__all__ = ["frequencies", "transform_of", "transformed"]

_transform, _frequencies = Handy("fourier", "transform"), Exact("fourier", "frequencies")
#: How many lines are transformed side by side, and how many of them take as long by pocketfft.
_LANES, _FEW = 8, 4
#: The longest line whose scratch stays near the processor, and the largest prime factor of a length, all products of which are made. In
#: double precision, the sum of more products would be less exact than others are.
_LONG, _LARGE = 4096, {"f": 400, "d": 256}
#: Elements that places in memory may be apart.
_FAR = 1 << 31
_REAL: dict[str, Any] = {"f": np.dtype(np.float32), "d": np.dtype(np.float64)}
_NO_WINDOW = np.empty(0)
#: Up to how many numbers a dtype holds each that they are counted by, and 32 bits do.
_MOST = {"f": 1 << 24, "d": 1 << 30}


def transformed(x: np.ndarray, axis: int, n: int, length: int, dtype: np.dtype, inverse: bool, factor: float,
                own: bool = False, window: np.ndarray = _NO_WINDOW) -> np.ndarray | None:
    """The transforms of lines of ``n`` numbers along a dimension, times ``window`` before and ``factor`` after, of which ``length``
    elements are wanted: all, or the first half where the numbers are real. Of complex numbers there is the first half alone where the
    result, of ``dtype``, is real. The inverse of real numbers is the conjugate of their transform, and what is no inverse, but real, that
    of conjugates. Lines that are shorter end with zeros. What is the caller's ``own`` may be overwritten with the result. None where
    pocketfft is to compute it.

    >>> transformed(np.ones((1, 4)), 1, 4, 3, np.dtype(complex), False, 1.0) is None
    True
    """
    transform = transform_of(x, axis, n, length, dtype, inverse, factor, own)
    return None if transform is None else transform(x, window)


def transform_of(x: np.ndarray, axis: int, n: int, length: int, dtype: np.dtype, inverse: bool, factor: float, own: bool = False
                 ) -> Callable[..., np.ndarray] | None:
    """What computes `transformed` of an array with the shape and strides of ``x``, and of a window.

    >>> transform_of(np.ones((1, 4)), 1, 4, 3, np.dtype(complex), False, 1.0) is None
    True
    """
    if x.size < state.fused or (plan := _plan(x.shape, x.strides, x.dtype.char, axis, n, length, dtype.char)) is None:
        return None
    shape, span, kind, blocks, roots, numbers = plan
    in_rows, item, whole = x.flags.c_contiguous, (x.itemsize,), (span,)
    own = own and in_rows and x.dtype is dtype and x.shape == shape

    def transform(x: np.ndarray, window: np.ndarray = _NO_WINDOW) -> np.ndarray:
        if not span or not x.flags.aligned:
            copy = x.copy("C")
            of_copy = transform_of(copy, axis, n, length, dtype, inverse, factor, True)
            assert of_copy is not None
            return of_copy(copy, window)
        source = (x if in_rows else strided(x, whole, item)).view(kind)
        y = x if own else np.empty(shape, dtype)
        _transform.share(kind.char, blocks, _LANES * n, 16, source, y.view(kind), roots, window, *numbers, int(inverse), factor)
        return y

    return transform


def frequencies(count: int, rising: int, step: float, dtype: np.dtype) -> np.ndarray | None:
    """``count`` multiples of ``step``, ``rising`` from 0 on and then from the negative ones up to -1; None where NumPy is to count.

    >>> found = frequencies(4, 2, 0.25, np.dtype(float))
    >>> found is None or found.tolist() == [0.0, 0.25, -0.5, -0.25]
    True
    """
    if dtype.char not in _MOST or count > _MOST[dtype.char] or (run := _frequencies.over(dtype.char, count)) is None:
        return None
    y = np.empty(count, dtype)
    run(count, 1, step, rising, y)
    return y


@lru_cache(1024)
def _plan(shape: tuple[int, ...], strides: tuple[int, ...], char: str, axis: int, n: int, length: int, result: str
          ) -> tuple[tuple[int, ...], int, Any, int, np.ndarray, tuple[int, ...]] | None:
    """(the result's shape, how many elements of memory there are from the first to the last, 0 where lines lie in no two steps, the
    kernel's dtype, how many times eight lines there are, the kernel's roots, and its numbers)."""
    count, kind = prod(shape) // shape[axis], _REAL.get(char.lower())
    roots = None if kind is None or count < _FEW or prod(shape) >= _FAR else _roots(n, _LARGE[kind.char])
    if kind is None or roots is None:
        return None
    item, levels = kind.itemsize * (1 + char.isupper()), [[1, 1]]
    for d in reversed(range(len(shape))):
        size, step = shape[d], strides[d] / item
        if d == axis or size == 1:
            continue
        if levels[-1][0] == 1:
            levels[-1] = [size, step]
        elif step == levels[-1][0] * levels[-1][1]:
            levels[-1][0] *= size
        else:
            levels.append([size, step])
    (lines, small), big, along = levels[0], levels[-1][1] * (len(levels) > 1), strides[axis] / item if shape[axis] > 1 else 1
    steps = [int(step) for step in (big, small, along)]
    span = 1 + sum([(size - 1) * stride // item for size, stride in zip(shape, strides)])
    if len(levels) > 2 or min(steps[1:]) < 1 or steps[0] < 0 or steps != [big, small, along] or span >= _FAR:
        span = 0
    needed = n if char.islower() or result.isupper() else n // 2 + 1
    have, give = [size * (1 + c.isupper()) for c, size in ((char, needed), (result, length))]
    o, m = prod(shape[:axis]), prod(shape[axis + 1:])
    of = m if m > _LANES else o * m  # what does not lie side by side is moved number by number
    numbers = o, m, n, of, lines, *steps, shape[axis], have, give
    return (*shape[:axis], length, *shape[axis + 1:]), span, kind, count // of * -(-of // _LANES), roots, numbers


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
    roots = np.stack([np.cos(angles), -np.sin(angles)], -1).astype(np.float64).reshape(-1)
    roots[np.abs(roots) < 1e-15] = 0
    return roots
