"""Functions of two numbers over arrays that are broadcast, in one pass (``compiled/pairs.py``), half precision included.

A record's kernel enters by ``pairwise("name")``, or NumPy's function that is named so here. What has NumPy's bits serves few elements, too,
once its machine code is at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from ...annotations import Fn
from ._on_demand import state
from .halves import narrow, ufunc, widened
from .handy import Exact

__all__ = ["Pairs", "geometry", "halved", "pairwise"]

_BITS = {"e": np.dtype(np.int16), "E": np.dtype(np.uint16)}
_MOST = 1024
Geometry = tuple[tuple[int, ...], int, tuple[int, ...]]
#: By the operands' shapes: the result's, its elements, and its three sizes with each operand's steps; None where three do not do.
_known: dict[tuple[tuple[int, ...], tuple[int, ...]], Geometry | None] = {}


def geometry(x: tuple[int, ...], z: tuple[int, ...]) -> Geometry | None:
    """How two arrays in rows are broadcast: the shape of the result, its elements, and its sizes in three dimensions with the steps of the
    first and of the second; None where it takes more dimensions, or where they do not fit, or there are no elements.

    >>> geometry((2, 1), (3,))
    ((2, 3), 6, (1, 2, 3, 0, 1, 0, 0, 0, 1))
    """
    try:
        return _known[x, z]
    except KeyError:
        if len(_known) > _MOST:
            _known.clear()
        found = _known[x, z] = _geometry(x, z)
        return found


def _geometry(x: tuple[int, ...], z: tuple[int, ...]) -> Geometry | None:
    ndim = max(len(x), len(z))
    x, z = (1,) * (ndim - len(x)) + x, (1,) * (ndim - len(z)) + z
    if 0 in x or 0 in z or not all([n == m or 1 in (n, m) for n, m in zip(x, z)]):
        return None
    axes: list[tuple[int, int, int]] = []  # size, and steps
    across, along = prod(x), prod(z)
    for n, m in zip(x, z):
        across, along = across // n, along // m
        size, s, t = max(n, m), across if n > 1 else 0, along if m > 1 else 0
        if size == 1:
            continue
        if axes and axes[-1][1] == size * s and axes[-1][2] == size * t:
            axes[-1] = axes[-1][0] * size, s, t
        else:
            axes.append((size, s, t))
    if len(axes) > 3:
        return None
    axes = [(1, 0, 0)] * (3 - len(axes)) + axes if axes else [(1, 0, 0), (1, 0, 0), (1, 1, 1)]
    sizes = tuple([a[i] for i in range(3) for a in axes])
    return tuple([max(n, m) for n, m in zip(x, z)]), prod(sizes[:3]), sizes


class Pairs:
    """A function of two numbers. What it gives has the dtype of its operands, or is true or false.

    Args:
        name: that of the kernel.
        chars: the dtypes that it takes.
        exact: whether it has NumPy's bits; else it serves many elements only.
        test: whether results are truth values.
    """

    __slots__ = ("_chars", "_exact", "_kernel", "_result")

    def __init__(self, name: str, chars: str = "fdeE", exact: bool = True, test: bool = False) -> None:
        self._kernel, self._chars, self._exact = Exact("pairs", name), frozenset(chars), exact
        self._result = np.dtype(bool) if test else None

    def __call__(self, x: np.ndarray, z: np.ndarray) -> np.ndarray | None:
        """The function of two arrays; None where NumPy is to compute it."""
        dtype = x.dtype
        char = dtype.char
        if dtype is not z.dtype or char not in self._chars or (found := geometry(x.shape, z.shape)) is None:
            return None
        shape, n, sizes = found
        if not self._exact and n < (state.fused if char in "fd" else state.fused >> 4):
            return None
        run = self._kernel.over(char, n)
        if run is None:
            return None
        y = np.empty(shape, self._result or dtype)
        a, b, c = x.ravel(), z.ravel(), y.ravel()
        if char in "eE":
            bits = _BITS[char]
            a, b, c = a.view(bits), b.view(bits), c if self._result is not None else c.view(bits)
        try:
            run(n, 1, a, b, c, *sizes)
        except TypeError:  # memory that is not aligned
            return None
        return y


#: NumPy's functions of half precision by the kernels that compute them.
_OF_HALF: dict[object, Pairs] = {
    **{f: Pairs(f.__name__, "eE") for f in (np.add, np.subtract, np.multiply, np.divide)},
    **{f: Pairs(f.__name__, "eE", False) for f in (np.maximum, np.minimum, np.fmax, np.fmin)},  # of equal zeros NumPy takes either
    **{f: Pairs(f.__name__, "eE", True, True) for f in (
        np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)},
}


def halved(function: Fn, *arrays: np.ndarray) -> np.ndarray:
    """NumPy's function of arrays of half precision, of which there are many numbers."""
    pair = _OF_HALF.get(function)
    found = None if pair is None else pair(*arrays)
    return ufunc(function, *arrays) if found is None else found


def pairwise(name: str, chars: str = "fdeE", exact: bool = True) -> Callable[[Fn], Fn]:
    """Decorator of a record's kernel of two arrays, which serves where there is no machine code; of half precision in single."""
    whole = Pairs(name, chars, exact)
    takes_half = "E" in chars

    def decorate(formula: Fn) -> Fn:
        @wraps(formula)
        def kernel(x: Any, z: Any) -> Any:
            try:
                found = whole(x, z)
            except AttributeError:  # a Python number
                return formula(x, z)
            if found is not None:
                return found
            if takes_half and x.__class__ is np.ndarray and x.dtype is z.dtype and x.dtype.char in "eE":
                return narrow(formula(widened(x), widened(z)), x.dtype)
            return formula(x, z)

        kernel.takes_half = takes_half  # type: ignore[attr-defined]
        return kernel

    return decorate
