"""Functions of two numbers over arrays that are broadcast, in one pass (``compiled/pairs.py``), half precision included.

A record's kernel enters by ``pairwise("name")``, or NumPy's function that is named so here. What has NumPy's bits serves few elements, too,
once its machine code is at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial, wraps
from math import prod
from operator import attrgetter
from typing import Any

import numpy as np

from ...annotations import Fn
from ...strided import contiguous_strides, laid_out, memory_order, stretch
from ._on_demand import keep, state
from .halves import FEW as HALVES
from .halves import TABLES, narrow, ufunc, widened, with_signs
from .handy import LITTLE, Exact, Run
from .integers import shifted
from .sharing import BIG, get_num_threads, parallel_for

__all__ = [
    "FEW", "LEAST", "MANY", "OF_UFUNC", "SHIFTS", "SLOW", "Pairs", "geometry", "gives_many", "halved", "halves_in_order", "in_order",
    "in_rows", "in_three", "joint", "known", "neighbours", "numpys2", "pairwise", "plan_of", "steps_along", "steps_of", "ufunc2",
]

_MOST = 1024
#: Elements that a kernel counts.
_LONGEST = 1 << 31
#: Fewest elements of a first operand of which another makes a big result, by a column or a table; and of a result for which machine code
#: is looked for.
FEW, LEAST = 128, 1024
#: Elements of a row from which on gaps between rows do not count.
_LONG = 256
MANY = 512
"""Fewest elements of which a record's `many` is asked."""
Geometry = tuple[tuple[int, ...], int, tuple[int, ...]]
#: By the operands' shapes: the result's, its elements, and its three sizes with each operand's steps; None where three do not do.
known: dict[tuple[tuple[int, ...], tuple[int, ...]], Geometry | None] = {}


def geometry(x: tuple[int, ...], z: tuple[int, ...]) -> Geometry | None:
    """How two arrays in rows are broadcast: the shape of the result, its elements, and its sizes in three dimensions with the steps of the
    first and of the second; None where it takes more dimensions, or where they do not fit, or there are no elements.

    >>> geometry((2, 1), (3,))
    ((2, 3), 6, (1, 2, 3, 0, 1, 0, 0, 0, 1))
    """
    try:
        return known[x, z]
    except KeyError:
        if len(known) > _MOST:
            known.clear()
        ndim = max(len(x), len(z))
        shape = joint(x, z)
        sizes = None if shape is None else in_three(shape, *[steps_along(a, contiguous_strides(a), ndim) for a in (x, z)])
        found = known[x, z] = None if shape is None or sizes is None else (shape, prod(shape), sizes)
        return found


def gives_many(x: np.ndarray, z: np.ndarray) -> bool:
    """Whether two arrays are broadcast to as many elements as functions of many passes are compiled for.

    >>> gives_many(np.ones((2, 1)), np.ones(3))
    False
    """
    if x.size * z.size < state.fused:
        return False
    found = geometry(x.shape, z.shape)
    return (max(x.size, z.size) if found is None else found[1]) >= state.fused


def joint(x: tuple[int, ...], z: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape of what two are broadcast to; None where they do not fit, or there are no elements."""
    ndim = max(len(x), len(z))
    x, z = (1,) * (ndim - len(x)) + x, (1,) * (ndim - len(z)) + z
    if 0 in x or 0 in z or not all([n == m or 1 in (n, m) for n, m in zip(x, z)]):
        return None
    return tuple([max(n, m) for n, m in zip(x, z)])


def steps_along(shape: tuple[int, ...], strides: Sequence[int], ndim: int) -> list[int]:
    """Strides of so many dimensions, none where an operand is repeated."""
    return [0] * (ndim - len(shape)) + [s if n > 1 else 0 for n, s in zip(shape, strides)]


def in_three(shape: Sequence[int], *steps: Sequence[int]) -> tuple[int, ...] | None:
    """Sizes in three dimensions, the innermost last, with the steps of each operand; None where it takes more."""
    axes: list[tuple[int, ...]] = []  # size, and steps
    for size, *along in zip(shape, *steps):
        if size == 1:
            continue
        if axes and all([before == size * s for before, s in zip(axes[-1][1:], along)]):
            axes[-1] = axes[-1][0] * size, *along
        else:
            axes.append((size, *along))
    if len(axes) > 3:
        return None
    none, one = (1, *[0] * len(steps)), (1, *[1] * len(steps))
    axes = [none] * (3 - len(axes)) + axes if axes else [none, none, one]
    return tuple([a[i] for i in range(1 + len(steps)) for a in axes])


@lru_cache(_MOST)
def steps_of(shape: tuple[int, ...], *operands: tuple[int, ...]) -> tuple[int, ...] | None:
    """The sizes of a result in three dimensions, with the steps of operands in rows that are broadcast to it; None where it takes more.

    >>> steps_of((2, 3), (3,), (2, 1))
    (1, 2, 3, 0, 0, 1, 0, 1, 0)
    """
    return in_three(shape, *[steps_along(a, contiguous_strides(a), len(shape)) for a in operands])


Turn = tuple[tuple[slice, ...] | None, tuple[int, ...], bool, int]
"""What lies in rows of an operand's memory: its parts that are not repeated, None for all, with their axes in order; or of a copy; or so
much of the memory from its first element on, where there are gaps between them."""


_BACKWARDS = [tuple(range(ndim))[::-1] for ndim in range(65)]


@lru_cache(_MOST)
def _in_any_order(x: tuple[int, ...], of_x: tuple[int, ...], z: tuple[int, ...], of_z: tuple[int, ...], item: int
                  ) -> tuple[Turn, Turn, Geometry, tuple[int, ...]] | None:
    """The same of operands of shapes and strides: how each is turned into rows, how the result lies in memory, the first operand that has
    an order deciding, and the order of its axes from there."""
    if (shape := joint(x, z)) is None:
        return None
    operands = [(own, [s // item for s in strides]) for own, strides in ((x, of_x), (z, of_z))]
    whole = not any([s < 0 or s % item for s in of_x + of_z])
    ndim, turns, steps = len(shape), [], []
    order = memory_order(shape, *[steps_along(*a, ndim) for a in operands])[0][::-1]
    for own, strides in operands:
        lead = ndim - len(own)
        turn, found = _turn(own, strides, tuple([d - lead for d in order if d >= lead]), whole)
        turns.append(turn)
        steps.append(steps_along(own, found, ndim))
    sizes = in_three([shape[d] for d in order], [steps[0][d] for d in order], [steps[1][d] for d in order])
    if sizes is None:
        return None
    laid: Geometry = tuple([shape[d] for d in order]), prod(shape), sizes
    return turns[0], turns[1], laid, tuple([order.index(d) for d in range(ndim)])


def _turn(shape: tuple[int, ...], strides: Sequence[int], order: tuple[int, ...], whole: bool) -> tuple[Turn, Sequence[int]]:
    """How an operand is turned into rows, and its strides then: where there are gaps between its elements, its own in the memory that it
    reaches over, or, unless strides are `whole`, those of a copy in an order."""
    axes = sorted([d for d, n in enumerate(shape) if n > 1 and strides[d]], key=lambda d: -strides[d])
    step = 1
    for d in reversed(axes):
        if strides[d] != step:
            if whole:
                return (None, (), False, 1 + sum([(shape[d] - 1) * strides[d] for d in axes])), strides
            laid = contiguous_strides([shape[d] for d in order])
            return (None, order, True, 0), [laid[order.index(d)] for d in range(len(shape))]
        step *= shape[d]
    rest = [d for d in range(len(shape)) if d not in axes]
    parts = tuple([slice(0, 1) if d in rest else slice(None) for d in range(len(shape))])
    return (parts if any([shape[d] > 1 for d in rest]) else None, (*axes, *rest), False, 0), strides


def in_rows(x: np.ndarray, z: np.ndarray, copies: bool = True, gaps: bool = False
            ) -> tuple[np.ndarray, np.ndarray, Geometry, tuple[int, ...] | None] | None:
    """Two operands as kernels take them, in rows: with the geometry of what they are broadcast to, as torch lays it out in memory, and the
    order of its axes from there, None for the same; or None, as `geometry`, and where one would have to be copied that may not, or has
    gaps between its rows, unless there are many short ones and they may have (`gaps`).

    >>> _, _, found, back = in_rows(np.ones((2, 3), order="F"), np.ones((1, 3)))
    >>> found, back
    (((3, 2), 6, (1, 3, 2, 0, 2, 1, 0, 1, 0)), (1, 0))
    """
    if x.flags.c_contiguous and z.flags.c_contiguous:
        found = known.get((x.shape, z.shape)) or geometry(x.shape, z.shape)
        return None if found is None else (x, z, found, None)
    if x.shape == z.shape and x.flags.f_contiguous and z.flags.f_contiguous and 1 not in x.shape and 0 not in x.shape:  # columns
        a = x.T
        found = known.get((a.shape, a.shape)) or geometry(a.shape, a.shape)
        return None if found is None else (a, z.T, found, _BACKWARDS[a.ndim])
    way = _in_any_order(x.shape, x.strides, z.shape, z.strides, x.itemsize)
    if way is None:
        return None
    of_x, of_z, laid, back = way
    if not copies and (of_x[2] or of_z[2] or (of_x[3] or of_z[3]) and not (gaps and laid[1] >= state.cheap and laid[2][2] <= _LONG)):
        return None
    return _turned(x, of_x), _turned(z, of_z), laid, back


def _turned(a: np.ndarray, turn: Turn) -> np.ndarray:
    parts, axes, copied, span = turn
    if span:
        return stretch(a, span)
    rows = (a if parts is None else a[parts]).transpose(axes)
    return rows.copy("C") if copied else rows


_empty = np.empty
Turning = Callable[[np.ndarray], np.ndarray]
_TRANSPOSED: Turning = attrgetter("T")


def _turns(x: np.ndarray, z: np.ndarray) -> tuple[Turning | None, Turning | None]:
    """How `in_rows` turns two operands of their geometry, None for not at all."""
    if x.flags.c_contiguous and z.flags.c_contiguous:
        return None, None
    if x.shape == z.shape and x.flags.f_contiguous and z.flags.f_contiguous and 1 not in x.shape and 0 not in x.shape:
        return _TRANSPOSED, _TRANSPOSED
    way = _in_any_order(x.shape, x.strides, z.shape, z.strides, x.itemsize)
    assert way is not None
    return _turning(x.ndim, way[0]), _turning(z.ndim, way[1])


def _turning(ndim: int, turn: Turn) -> Turning | None:
    if turn == (None, tuple(range(ndim)), False, 0):
        return None
    return _TRANSPOSED if turn == (None, _BACKWARDS[ndim], False, 0) else partial(_turned, turn=turn)


def _with_sizes(run: Run, n: int, n1: int, n2: int, n3: int, x1: int, x2: int, x3: int, z1: int, z2: int, z3: int) -> Fn:
    """A kernel that is called with arrays alone, in less time than with a tuple of sizes."""
    def with_sizes(x: np.ndarray, z: np.ndarray, y: np.ndarray) -> None:
        run(n, 1, x, z, y, n1, n2, n3, x1, x2, x3, z1, z2, z3)

    return with_sizes


Plan = tuple[int, Fn, tuple[int, ...], np.dtype, "Turning | None", "Turning | None", "tuple[int, ...] | None"]
"""How a function of two arrays of a geometry goes: the threshold of compiled kernels for which it does, the kernel, the shape and dtype of
what it writes, how the operands are turned, and the order of the result's axes from there."""


def plan_of(plans: dict[object, Plan], key: object, run: Run, x: np.ndarray, z: np.ndarray, y: np.ndarray, n: int, sizes: tuple[int, ...],
            back: tuple[int, ...] | None) -> None:
    """Keep how `run` went for `n` numbers, by the sizes of a geometry in three dimensions."""
    keep(plans, key, (state.fused, _with_sizes(run, n, *sizes), y.shape, y.dtype, *_turns(x, z), back), _MOST)


class Pairs:
    """A function of two numbers. What it gives has the dtype of its operands, or is true or false.

    Args:
        name: that of the kernel.
        chars: the dtypes that it takes.
        exact: whether it has NumPy's bits; else it serves many elements only.
        test: whether results are truth values.
        cheap: whether NumPy makes one pass of numbers that it need not convert.
    """

    __slots__ = ("_chars", "_cheap", "_kernel", "_plans", "_result", "exact")

    def __init__(self, name: str, chars: str = "fdeE", exact: bool = True, test: bool = False, cheap: bool = False) -> None:
        self._kernel, self._chars, self.exact, self._cheap = Exact("pairs", name), frozenset(chars), exact, cheap
        self._result = np.dtype(bool) if test else None
        #: By whether NumPy does it well, and the operands' geometry and dtype: how few numbers go to machine code.
        self._plans: tuple[dict[object, Plan], dict[object, Plan]] = {}, {}

    def __call__(self, x: np.ndarray, z: np.ndarray, numpys: bool = False) -> np.ndarray | None:
        """The function of two arrays; None where NumPy is to compute it, as where NumPy does it well (`numpys`), and results are few."""
        dtype = x.dtype
        if dtype is not z.dtype:
            return None
        key = ((x.shape, z.shape, dtype) if x.flags.c_contiguous and z.flags.c_contiguous else
               (x.shape, z.shape, x.strides, z.strides, dtype))
        plan = self._plans[numpys].get(key)
        if plan is not None and plan[0] == state.fused:
            _, run, shape, result, turn_x, turn_z, back = plan
            y = _empty(shape, result)
            try:
                run(x if turn_x is None else turn_x(x), z if turn_z is None else turn_z(z), y)
            except TypeError:  # memory that is not aligned
                return None
            return y if back is None else y.transpose(back)
        if dtype.char not in self._chars or (way := in_rows(x, z, not numpys, numpys)) is None:
            return None
        of_x, of_z, (shape, n, sizes), back = way
        least = LEAST if x.shape == z.shape and x.strides == z.strides else 1 if self.exact else FEW
        if numpys and n < least or (found := self._found(dtype, n)) is None:
            return None
        y = np.empty(shape, self._result or dtype)
        try:
            found(n, 1, of_x, of_z, y, *sizes)
        except TypeError:  # memory that is not aligned
            return None
        if n < LITTLE:
            plan_of(self._plans[numpys], key, found, x, z, y, n, sizes, back)
        return y if back is None else y.transpose(back)

    def _found(self, dtype: np.dtype, n: int) -> Run | None:
        """What computes `n` numbers of a dtype; None where NumPy is to."""
        char = dtype.char
        if char not in self._chars:
            return None
        many = state.cheap if self._cheap and char not in "eE" else state.fused
        if not self.exact and n < (many if char not in "eE" else many >> 4):
            return None
        return self._kernel.over("B" if char == "?" else char, n, many)

    def neighbours(self, x: np.ndarray, dim: int) -> np.ndarray | None:
        """The function of each element along a dimension, but the first, and the one before it; None where NumPy is to compute it."""
        dtype, shape, flags = x.dtype, x.shape, x.flags
        if not flags.carray:
            found = self.neighbours(x.T, len(shape) - 1 - dim) if flags.f_contiguous else None
            return None if found is None else found.T
        char, step = dtype.char, prod(shape[dim + 1:])
        line = shape[dim] * step
        outer, n = x.size // line if line else 0, x.size - x.size // (shape[dim] or 1)
        if char not in self._chars or not LEAST <= n < _LONGEST or (
                run := self._kernel.over(char, n, state.cheap if self._cheap and char not in "eE" else state.fused)) is None:
            return None
        y, flat = np.empty((*shape[:dim], shape[dim] - 1, *shape[dim + 1:]), self._result or dtype), x.reshape(-1)
        run(n, 1, flat[step:], flat[:-step], y, 1, outer, line - step, 0, line, 1, 0, line, 1)
        return y

    def table(self, x: np.ndarray, z: np.ndarray) -> np.ndarray | None:
        """The function of all pairs of elements of two vectors, in rows; None where NumPy is to compute it."""
        char, n, m = x.dtype.char, x.size, z.size
        if x.dtype is not z.dtype or char not in self._chars or not 0 < n * m < _LONGEST:
            return None
        run = self._kernel.over(char, n * m, state.cheap if char not in "eE" else state.fused)
        if run is None:
            return None
        y = np.empty((n, m), self._result or x.dtype)
        try:
            run(n * m, 1, x, z, y, 1, n, m, 0, 1, 0, 0, 0, 1)
        except TypeError:  # elements apart
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
SHIFTS = frozenset([np.left_shift, np.right_shift])
#: Those whose loops in NumPy make no vectors.
SLOW = SHIFTS | {np.copysign, np.nextafter}
#: Elements up to which one array is laid out as another before NumPy takes both, also by those that take either of equal zeros, by how many
#: there are and how they lie.
_MOVED, _MOVED_BY = 16384, {np.fmax: 0, np.fmin: 0, np.maximum: LEAST, np.minimum: LEAST}


def halved(function: Fn, *arrays: np.ndarray) -> np.ndarray:
    """NumPy's function of arrays of half precision, of which there are many numbers."""
    if (table := TABLES.get(function)) is not None and len(arrays) == 1 and arrays[0].size >= HALVES[0] and arrays[0].dtype.isnative:
        result: np.ndarray = table(*arrays)
        return result
    if function is np.nextafter:  # of which neighbours in single precision are rounded to the number itself
        return np.nextafter(*arrays)
    if function is np.isnan and arrays[0].flags.forc:
        function, arrays = np.not_equal, (arrays[0], arrays[0])
    pair = OF_UFUNC.get(function)
    found = pair(*arrays) if pair is not None and len(arrays) == 2 else None
    if found is not None:
        return found
    return with_signs(*arrays) if function is np.copysign else ufunc(function, *arrays)


def neighbours(function: np.ufunc, x: np.ndarray, dim: int) -> np.ndarray:
    """NumPy's function of each element along a dimension, but the first, and the one before it, rounded once where they are of half
    precision.

    >>> neighbours(np.subtract, np.array([1.0, 4.0, 9.0]), 0)
    array([3., 5.])
    """
    found = OF_UFUNC[function].neighbours(x, dim)
    if found is not None:
        return found
    before = (slice(None),) * dim
    ends = x[(*before, slice(1, None))], x[(*before, slice(None, -1))]
    return ufunc2(function, *ends) if x.itemsize > 2 else halved(function, *ends)


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
    """NumPy's function of two arrays, shared by the pool where they are big: broadcast and in any order where there is machine code for the
    function, else in rows of one shape, or one of them a scalar or a row.

    >>> ufunc2(np.add, np.array([1.0, 4.0]), np.array([1.0, 1.0]))
    array([2., 5.])
    """
    pair = OF_UFUNC.get(function)
    found = None if pair is None else pair(a, b, True)
    return numpys2(function, a, b) if found is None else found


def numpys2(function: np.ufunc, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same without machine code."""
    if function in SHIFTS and (found := shifted(function, a, b)) is not None:
        return found
    full, part = (a, b) if a.size >= b.size else (b, a)
    if not full.flags.c_contiguous or not part.flags.c_contiguous or a.dtype is not b.dtype and a.dtype != b.dtype:
        return function(a, b)
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


def in_order(function: np.ufunc, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`ufunc2` of a first array that does not lie in rows, in memory as torch has the result. NumPy takes several times as long for two
    arrays of different orders, longer than to lay one of them out as the other before.

    >>> in_order(np.add, np.ones((2, 3), order="F"), np.ones((2, 3))).strides
    (8, 16)
    """
    if (shape := a.shape) == b.shape and a.flags.f_contiguous and 1 not in shape and 0 < (n := a.size) < BIG:
        if not b.flags.f_contiguous and n < _MOVED_BY.get(function, _MOVED):
            b = b.copy("F")
        if b.flags.f_contiguous and (n < LEAST or function not in SLOW):
            return function(a, b)
    return laid_out(function(a, b) if a.size < FEW > b.size else ufunc2(function, a, b), a, b)


def halves_in_order(function: np.ufunc, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`in_order` of half precision."""
    if (shape := a.shape) == b.shape and a.flags.f_contiguous and 1 not in shape and 0 < (n := a.size) < _MOVED:
        if not b.flags.f_contiguous:
            b = b.copy("F")
        return function(a, b) if n < 2 * FEW else laid_out(halved(function, a, b), a, b)
    return laid_out(function(a, b) if a.size < FEW > b.size else halved(function, a, b), a, b)
