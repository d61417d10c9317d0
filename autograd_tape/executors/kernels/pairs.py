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
from .sharing import BIG, get_num_threads, parallel_for

__all__ = ["FEW", "LEAST", "OF_UFUNC", "SLOW", "Pairs", "geometry", "halved", "pairwise", "ufunc2"]

_MOST = 1024
#: Fewest elements of a first operand of which another makes a big result, by a column or a table; and of a result for which machine code
#: is looked for.
FEW, LEAST = 128, 1024
#: Elements of lines that take NumPy no longer.
_SHORT, _LONG = 8, 48
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
        cheap: whether NumPy makes one pass of numbers that it need not convert.
    """

    __slots__ = ("_chars", "_cheap", "_exact", "_kernel", "_result")

    def __init__(self, name: str, chars: str = "fdeE", exact: bool = True, test: bool = False, cheap: bool = False) -> None:
        self._kernel, self._chars, self._exact, self._cheap = Exact("pairs", name), frozenset(chars), exact, cheap
        self._result = np.dtype(bool) if test else None

    def __call__(self, x: np.ndarray, z: np.ndarray, least: int = 0) -> np.ndarray | None:
        """The function of two arrays; None where NumPy is to compute it, as where NumPy does
        it well, and results have fewer than `least` elements."""
        dtype = x.dtype
        char = dtype.char
        if dtype is not z.dtype or char not in self._chars or (found := geometry(x.shape, z.shape)) is None:
            return None
        shape, n, sizes = found
        many = state.cheap if self._cheap and char not in "eE" else state.fused
        if not x.flags.c_contiguous and x.ndim > 1 and x.strides == z.strides and x.shape == z.shape:  # in another order
            order = sorted(range(x.ndim), key=lambda axis: -x.strides[axis])
            if (turned := x.transpose(order)).flags.c_contiguous:
                result = self(turned, z.transpose(order), least)
                return None if result is None else result.transpose([order.index(axis) for axis in range(x.ndim)])
        if n < least or least and _SHORT <= sizes[2] < _LONG or not self._exact and n < (many if char not in "eE" else many >> 4):
            return None
        run = self._kernel.over("B" if char == "?" else char, n, many)
        if run is None:
            return None
        y = np.empty(shape, self._result or dtype)
        try:
            run(n, 1, x if x.flags.c_contiguous else x.ravel(), z if z.flags.c_contiguous else z.ravel(), y, *sizes)
        except TypeError:  # memory that is not aligned
            return None
        return y


#: NumPy's functions by the kernels that compute them: of half precision, and where operands are broadcast.
OF_UFUNC: dict[object, Pairs] = {
    **{f: Pairs(f.__name__, "fdeEl", cheap=True) for f in (np.add, np.subtract, np.multiply)},
    np.divide: Pairs("divide", cheap=True),
    # Of equal zeros NumPy takes either.
    **{f: Pairs(f.__name__, "fdeEl", False, cheap=True) for f in (np.maximum, np.minimum, np.fmax, np.fmin)},
    **{f: Pairs(f.__name__, "fdeEl?", test=True, cheap=True) for f in (
        np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.logical_and, np.logical_or, np.logical_xor)},
    **{f: Pairs(f.__name__, "l?", cheap=True) for f in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)},
    np.left_shift: Pairs("left_shift", "l"),
    np.right_shift: Pairs("right_shift", "l"),
    np.copysign: Pairs("copysign"),
    np.nextafter: Pairs("nextafter", "fd"),
}
#: Those whose loops in NumPy make no vectors.
SLOW = frozenset([np.copysign, np.nextafter, np.left_shift, np.right_shift])


def halved(function: Fn, *arrays: np.ndarray) -> np.ndarray:
    """NumPy's function of arrays of half precision, of which there are many numbers."""
    pair = OF_UFUNC.get(function)
    found = pair(*arrays) if pair is not None and len(arrays) == 2 else None
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


def ufunc2(function: np.ufunc, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """NumPy's function of two arrays, shared by the pool where they are big and lie in rows: broadcast in any way where there is machine
    code for the function, else of one shape, or one of them a scalar or a row.

    >>> ufunc2(np.add, np.array([1.0, 4.0]), np.array([1.0, 1.0]))
    array([2., 5.])
    """
    full, part = (a, b) if a.size >= b.size else (b, a)
    if not full.flags.c_contiguous or not part.flags.c_contiguous or a.dtype is not b.dtype and a.dtype != b.dtype:
        return function(a, b)
    pair = OF_UFUNC.get(function)
    if pair is not None and (found := pair(a, b, LEAST)) is not None:
        return found
    if full.size < BIG or part.shape != full.shape[full.ndim - part.ndim :]:
        return function(a, b)
    if get_num_threads() == 1:
        return function(a, b)
    # The first call on empty slices lets NumPy itself choose the result dtype.
    out = np.empty(full.shape, function(a.reshape(-1)[:0], b.reshape(-1)[:0]).dtype)
    if full.size == part.size:
        x, z, y = a.reshape(-1), b.reshape(-1), out.reshape(-1)

        def run(start: int, stop: int) -> None:
            function(x[start:stop], z[start:stop], out=y[start:stop])
    else:
        x, z, y = full.reshape(-1, part.size), part.reshape(-1), out.reshape(-1, part.size)
        if part.size == 1:
            x, z, y = x.reshape(-1), part.reshape(()), y.reshape(-1)

        def run(start: int, stop: int) -> None:
            if full is b:
                function(z, x[start:stop], out=y[start:stop])
            else:
                function(x[start:stop], z, out=y[start:stop])

    parallel_for(len(x), max(1, len(x) // (2 * get_num_threads())), run)
    return out
