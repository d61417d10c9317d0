"""Reductions by one loop: over any dimensions of what lies closely in memory, in any order, of float32, float64, half precision and int64.

Few numbers are added in NumPy's order (see ``compiled/folds.py``), so machine code that is at hand serves them (``handy.py``). From
``state.cheap`` elements on, or where NumPy does badly, the loop always runs, and long sums are taken in parts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...dims import normalize_dims
from . import _on_demand
from ._on_demand import state
from .halves import recast, widened
from .handy import Handy
from ...annotations import Dims
from ...dtypes import as_bits, bfloat16

__all__ = ["HELD", "MAGNITUDES", "PRODUCT", "ROOT", "SQUARES", "SUM", "closely", "dot_rows", "ends", "extremes", "fold", "fold_products",
           "in_memory", "kept", "spread", "way_to_end", "way_to_fold", "way_to_place", "way_to_spread", "whole_ends", "within"]

#: What is added up, or that numbers are multiplied; and that the root is taken of the sum.
SUM, MAGNITUDES, SQUARES, HELD, PRODUCT = range(5)
ROOT = -1
#: Most rows of columns that are added one after another, numbers of a row after which NumPy begins anew, and columns that go together.
_SUM_RUN, _SUM_BLOCK, _SUM_TILE = 256, 8192, 128
#: The same of few numbers, whose bits are NumPy's: from 2.3 on it goes through a row in one piece.
_SUM_FEW = _SUM_BLOCK if tuple(map(int, np.__version__.split(".")[:2])) < (2, 3) else sys.maxsize
#: The same of many rows of half precision: float32 has 13 bits more than float16, of which so many additions spoil few.
_HALF_RUN = 2048
#: Elements up to which a call asks for no company; and from which on NumPy adds slabs of a few numbers.
_ALONE, _SLABS = 32768, 4096
#: Elements from which on columns in tiles are read slower than products are made in the order of memory.
_FAR = 1 << 18
#: Elements of a row that a loop takes as long to begin; and of an index that Python looks at in the time of a call.
_NARROW, _LISTED = 16, 32
#: The dtypes, in the processor's order of bytes, of which `whole_ends` has kernels.
_WHOLE = {np.dtype(c): c for c in "fdle"} | {bfloat16.np: "E"}
_empty = np.empty
#: What joins two numbers.
_JOINED: dict[int, np.ufunc] = {SUM: np.add, PRODUCT: np.multiply}


class _Plan(NamedTuple):
    """How the elements of a layout are reduced."""

    char: str
    #: The dimensions as they lie in memory, where that is not as they are counted.
    order: tuple[int, ...] | None
    #: (items, numbers in each, outer, n, inner, per_block) of each call.
    steps: tuple[tuple[int, int, int, int, int, int], ...]
    shape: tuple[int, ...]
    #: The shape in which results lie, and how they are turned, where that is not the shape.
    lying: tuple[tuple[int, ...], tuple[int, ...]] | None
    #: Whether NumPy adds in this order, and whether another is worth it.
    exact: bool
    many: bool
    #: Where one call without company is all: its items, outer, n, inner, per_block.
    alone: tuple[int, int, int, int, int] | None
    #: Where NumPy adds so few numbers after one another quicker: outer, n, inner.
    slabs: tuple[int, int, int] | None
    #: Outer, n, inner of each call that takes all of what lies together; whether NumPy does better with the first; and where one without
    #: company is all, its items, outer, n, inner, and what stands for a result that is left out.
    whole: tuple[tuple[int, int, int], ...]
    narrow: bool
    once: tuple[int, int, int, int, np.ndarray] | None
    #: Of several dimensions, but not all: the others before them, and how many elements those have, and these.
    joined: tuple[tuple[int, ...], int, int] | None


def in_memory(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> list[int] | None:
    """The dimensions from the outermost in memory on; None where elements do not lie closely."""
    order = sorted(range(len(shape)), key=lambda d: (-strides[d] if shape[d] > 1 else 0, d))
    order = [d for d in order if shape[d] > 1]
    for d in reversed(order):
        if strides[d] != itemsize:
            return None
        itemsize *= shape[d]
    return order


_lies = lru_cache(1024)(lambda *layout: in_memory(*layout) is not None)
"""Whether elements lie closely, or are fewer than their positions."""


def closely(x: np.ndarray) -> np.ndarray:
    """An array, in rows where it is a part of another that has gaps in memory. What is reduced is the copy, so that sums are those of
    numbers that lie closely, and are added in their order.

    >>> closely(np.zeros((4, 6))[:, :3]).strides
    (24, 8)
    """
    if x.flags.forc or x.size > _FAR or 0 in x.strides or _lies(x.shape, x.strides, x.itemsize):
        return x
    return in_rows(x)


def in_rows(x: np.ndarray) -> np.ndarray:
    """A copy of few elements in the order of their dimensions."""
    return np.ascontiguousarray(x) if x.dtype.isbuiltin == 1 else np.ascontiguousarray(as_bits(x)).view(x.dtype)


def _plan(shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype, dim: Dims, keepdim: bool) -> _Plan | None:
    axes = normalize_dims(dim, len(shape))
    reduced = frozenset(range(len(shape)) if axes is None else axes)
    order = in_memory(shape, strides, dtype.itemsize) if dtype.isnative and 0 not in shape else None
    if order is None or dtype.char not in "fdlEe?":
        return None
    sizes: list[tuple[bool, int]] = []
    for d in order:
        if sizes and sizes[-1][0] == (d in reduced):
            sizes[-1] = d in reduced, sizes[-1][1] * shape[d]
        else:
            sizes.append((d in reduced, shape[d]))
    parts = [n for yes, n in sizes if yes]
    if not parts:
        return None
    innermost = sizes[-1][0]
    exact = prod(parts[:-1] if innermost else parts) <= _SUM_RUN and (innermost or len(parts) == 1)
    steps, whole, many = [], [], prod(shape) >= state.cheap
    left = [m for _, m in sizes]
    for at in [i for i, (yes, _) in enumerate(sizes) if yes][::-1]:
        whole.append((prod(left[:at]), left.pop(at), prod(left[at:])))
    while (at := max([i for i, (yes, _) in enumerate(sizes) if yes], default=-1)) >= 0:
        outer, n, inner = prod([m for _, m in sizes[:at]]), sizes[at][1], prod([m for _, m in sizes[at + 1:]])
        per_block = n
        if inner > 1 and n > (run := _SUM_RUN if dtype.itemsize > 2 or not many else _HALF_RUN):
            per_block = run
        elif inner == 1 and n > (_SUM_BLOCK if many else _SUM_FEW) and not (many and (dtype.itemsize == 2 or prod(shape) < _ALONE)):
            per_block = _SUM_BLOCK
        blocks = -(-n // per_block)
        steps.append((outer * blocks * -(-inner // _SUM_TILE), per_block * min(_SUM_TILE, inner), outer, n, inner, per_block))
        sizes[at:at + 1] = [(True, blocks)] if blocks > 1 else []
        exact = exact and (blocks == 1 or inner == 1 and blocks < 8)
    kept = [d for d in range(len(shape)) if d not in reduced]
    found = tuple([1 if d in reduced else m for d, m in enumerate(shape)]) if keepdim else tuple([shape[d] for d in kept])
    lie = [d for d in order if d not in reduced]
    lying = None
    if lie != sorted(lie):
        by_size = lie + [d for d in kept if shape[d] == 1]
        lying = tuple([shape[d] for d in by_size]), tuple([by_size.index(d) for d in kept])
    ways = None if order == sorted(order) else tuple(order + [d for d in range(len(shape)) if shape[d] == 1])
    plain = len(steps) == 1 and lying is None
    alone = (steps[0][0], *steps[0][2:]) if plain and prod(shape) < _ALONE else None
    _, _, outer, n, inner, _ = steps[0]
    slabs = (outer, n, inner) if plain and 1 < n < 8 and inner < 8 and prod(shape) >= _SLABS and dtype.itemsize > 2 else None
    joined = None
    if axes is not None and 1 < len(axes) < len(shape):
        joined = (*kept, *sorted(reduced)), prod([shape[d] for d in kept]), prod(parts)
    outer, n, inner = whole[0]
    narrow = prod(shape) > _SLABS and (n < _NARROW if inner == 1 else inner < 8)
    single = len(whole) == 1 and lying is None and prod(shape) < _ALONE and not narrow
    once = (outer * -(-inner // _SUM_TILE), outer, n, inner, np.empty(0, dtype)) if single else None
    return _Plan(dtype.char.replace("?", "B"), ways, tuple(steps), found, lying, exact, many, alone, slabs, tuple(whole), narrow, once,
                 joined)


_plans: dict[tuple[object, ...], _Plan | None] = {}
_INT = {int}


def _is_plain(dim: object) -> bool:
    """Whether several dimensions are given by integers: True and 1.0 are 1 as keys, and what NumPy's way refuses."""
    return dim.__class__ is tuple and {*map(type, dim)} <= _INT


def _plan_of(x: np.ndarray, dim: Dims, keepdim: bool) -> _Plan | None:
    """The plan of an array, which is kept by its layout; None where NumPy is to serve."""
    if dim.__class__ is list:
        dim = tuple(dim)
    if dim is not None and dim.__class__ is not int and not _is_plain(dim):
        hash(dim)  # what has no hash is no dimension, and NumPy takes an empty one: TypeError
        return None
    if not x.flags.aligned:
        return None
    key = (state.cheap, x.dtype, x.shape, x.strides, dim, keepdim)
    plan = _plans.get(key, ...)
    if plan is ...:
        if len(_plans) > 1000:
            _plans.clear()
        plan = _plans[key] = _plan(x.shape, x.strides, x.dtype, dim, keepdim)
    return plan


def fold(x: np.ndarray, dim: Dims, keepdim: bool, term: int = SUM, last: int = 0) -> np.ndarray | None:
    """Sums, or products, over `dim` (None, or nothing, for all), in the dtype of `x`, divided by `last`, or their root; None where NumPy
    is to serve."""
    plan = _plan_of(x, dim, keepdim)
    if plan is None or (char := plan.char) == "B":
        return None
    _, order, steps, shape, lying, exact, many, alone, slabs, *_ = plan
    half = char in "eE"
    if slabs is not None and term in _JOINED and last >= 0:
        ufunc, columns = _JOINED[term], (x if order is None else x.transpose(order)).reshape(slabs)
        y = ufunc(columns[:, 0], columns[:, 1])
        for i in range(2, slabs[1]):
            ufunc(y, columns[:, i], y)
        return (np.divide(y, last, y) if last else y).reshape(shape)
    if term == PRODUCT:  # of one dimension, or all: one factor after another
        many, exact = x.size >= (state.fused >> 4 if half else state.fused), True
        if alone is None:
            _, _, outer, n, inner, _ = steps[0]
            steps = ((outer * -(-inner // _SUM_TILE), n * min(_SUM_TILE, inner), outer, n, inner, n),)
    run = _fold.of(char, x.size)
    if not many and (not exact or run is None):
        return None
    if alone is not None:
        y = np.empty(shape, x.dtype)
        (run or _fold.surely(char))(alone[0], 1, x if order is None else x.transpose(order), y, *alone[1:], term, last, many)
        return y
    a = x if order is None else x.transpose(order)
    if half and len(steps) > 1:
        given, a, char, half = x.dtype, widened(a), "f", False
    else:
        given = None
    for i, (items, numbers, outer, n, inner, per_block) in enumerate(steps):
        is_last = i + 1 == len(steps)
        y = np.empty((shape if lying is None else lying[0]) if is_last else outer * -(-n // per_block) * inner, a.dtype)
        _fold.share(char, items, numbers, 1, a, y, outer, n, inner, per_block, term if i == 0 or term == PRODUCT else SUM,
                    last if is_last else 0, many)
        a = y
    if given is not None:
        a = recast(a, given)
    return a if lying is None else np.ascontiguousarray(a.transpose(lying[1])).reshape(shape)


def fold_products(x: np.ndarray, z: np.ndarray, dim: int, keepdim: bool = False) -> np.ndarray | None:
    """What `fold` makes of ``x * z``, where that is as large as `x` and lies as it does, by the same steps, without the products in memory.
    None where these are to be made.

    >>> found = fold_products(np.ones((2, 512)), np.ones(512), 1)
    >>> found is None or found.tolist() == [512.0, 512.0]
    True
    """
    if x.dtype is not z.dtype or not z.flags.forc or not z.flags.aligned:
        return None
    plan = _plan_of(x, dim, keepdim)
    if plan is None or (char := plan.char) not in "fdeE" or plan.slabs is not None or char in "eE" and len(plan.steps) > 1:
        return None
    if not plan.many and (not plan.exact or _fold_products.of(char, x.size) is None):
        return None
    steps = _steps_beside(x.shape, x.strides, z.shape, z.strides, x.itemsize, dim)
    if steps is None:
        return None
    _, order, ((items, numbers, outer, n, inner, per_block), *others), shape, lying, *_ = plan
    if inner > _SUM_TILE and x.size >= _FAR:
        return None
    y = np.empty((shape if lying is None else lying[0]) if not others else outer * -(-n // per_block) * inner, x.dtype)
    x, z = x if order is None else x.transpose(order), z if z.flags.c_contiguous else z.T
    _fold_products.share(char, items, numbers, 2, x, z, y, outer, n, inner, per_block, *steps, plan.many)
    for i, (items, numbers, outer, n, inner, per_block) in enumerate(others):
        a, is_last = y, i + 1 == len(others)
        y = np.empty((shape if lying is None else lying[0]) if is_last else outer * -(-n // per_block) * inner, x.dtype)
        _fold.share(char, items, numbers, 1, a, y, outer, n, inner, per_block, SUM, 0, plan.many)
    return y if lying is None else np.ascontiguousarray(y.transpose(lying[1])).reshape(shape)


@lru_cache(1024)
def _steps_beside(x: tuple[int, ...], of_x: tuple[int, ...], z: tuple[int, ...], of_z: tuple[int, ...], item: int, dim: int
                  ) -> tuple[int, int, int] | None:
    """The steps of an array that is broadcast to another along what lies before a dimension of that in memory, along it, and along what
    lies behind it; None where dimensions do not fit in one, or do not fit at all."""
    lead, dim, order = len(x) - len(z), dim % len(x), in_memory(x, of_x, item)
    if order is None or dim not in order or lead < 0 or not all([m in (1, n) for n, m in zip(x[lead:], z)]):
        return None
    strides = [0] * lead + [s // item if m > 1 else 0 for s, m in zip(of_z, z)]
    at, found = order.index(dim), []
    for group in (order[:at], order[at:at + 1], order[at + 1:]):
        step = strides[group[-1]] if group else 0
        if any([strides[d] != strides[e] * x[e] for d, e in zip(group, group[1:])]) or step < 0:
            return None
        found.append(step)
    return found[0], found[1], found[2]


def dot_rows(x: np.ndarray, z: np.ndarray) -> np.ndarray | None:
    """``x @ z`` of a matrix, or a vector, and a vector of half precision or int64: sums in single precision, which are rounded once. None
    where BLAS is to multiply converted numbers.

    >>> found = dot_rows(np.ones((2, 512), np.int64), np.ones(512, np.int64))
    >>> found is None or found.tolist() == [512, 512]
    True
    """
    char = x.dtype.char
    if char not in "eEl" or x.dtype is not z.dtype or x.shape[-1:] != z.shape or not (x.flags.carray and z.flags.carray):
        return None
    run = _dot_rows.of(char, x.size)
    if run is None and x.size < state.fused:
        return None
    m, rows = len(z), prod(x.shape[:-1])
    y = np.empty(x.shape[:-1], x.dtype)
    _dot_rows.share(char, rows, m, 1, x, z, y, m, m, 0)
    return y


def extremes(x: np.ndarray, dim: int | None, keepdim: bool, smallest: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """The largest numbers along `dim` (None for all), or the smallest, and where they are: the first of equal ones, or the first NaN. None
    where NumPy is to serve."""
    plan = _plan_of(x, dim, keepdim)
    if plan is None or plan.char == "B" or plan.whole[0][1] >= 1 << 31:
        return None
    if plan.order is not None and dim is None or plan.lying is not None:  # which places count in rows, and results would be turned
        return extremes(in_rows(x), dim, keepdim, smallest) if x.size <= _FAR else None
    if _extremes.of(plan.char, x.size) is None and x.size < state.cheap:
        return None
    outer, n, inner = plan.whole[0]
    y, index = np.empty(plan.shape, x.dtype), np.empty(plan.shape, np.int64)
    if plan.order is not None:
        x = x.transpose(plan.order)
    _extremes.share(plan.char, outer * -(-inner // _SUM_TILE), n * min(_SUM_TILE, inner), 2, x, y, index, outer, n, inner, smallest)
    return y, index


def ends(x: np.ndarray, dim: Dims, keepdim: bool, which: str) -> tuple[np.ndarray, ...] | None:
    """The least ("<") and the largest (">") over `dim`, or one of them: NaN where there is one. None where NumPy is to serve."""
    plan = _plan_of(x, dim, keepdim)
    if plan is None:
        return None
    char, order, _, shape, lying, *_, whole, narrow, once, joined = plan
    run = _ends.of(char, x.size)
    if run is None and x.size < state.cheap or narrow:
        return None
    if once is None and joined is not None and x.size < _SLABS:  # few are copied into rows sooner than reduced twice
        (order, outer, n), lying = joined, None
        a, once = in_rows(x.transpose(order)), (outer, outer, n, 1, _left_out(x.dtype))
    else:
        a = x if order is None else x.transpose(order)
    if once is not None:
        items, outer, n, inner, nothing = once
        run, y = run or _ends.surely(char), np.empty(shape, x.dtype)
        if which == "<":
            run(items, 1, a, y, nothing, outer, n, inner)
            return y,
        if which == ">":
            run(items, 1, a, nothing, y, outer, n, inner)
            return y,
        largest = np.empty(shape, x.dtype)
        run(items, 1, a, y, largest, outer, n, inner)
        return y, largest
    given, nothing = dict.fromkeys(which, a), np.empty(0, x.dtype)
    for i, (outer, n, inner) in enumerate(whole):
        made = {s: np.empty(outer * inner if i + 1 < len(whole) else shape if lying is None else lying[0], x.dtype) for s in which}
        for sides in which if i else (which,):  # of what is given both at once
            to = [made[s] if s in sides else nothing for s in "<>"]
            _ends.share(char, outer * -(-inner // _SUM_TILE), n * min(_SUM_TILE, inner), 1, given[sides[0]], *to, outer, n, inner)
        given = made
    return tuple([y if lying is None else np.ascontiguousarray(y.transpose(lying[1])).reshape(shape) for y in given.values()])


def whole_ends(x: np.ndarray, which: str, first: bool = False) -> tuple[np.ndarray, ...] | None:
    """`ends` of all of what lies closely; with `first` the first of equal ones, as zeros are, and the first NaN as it is. None where NumPy
    is to serve."""
    kind, flags = x.dtype, x.flags
    if (char := _WHOLE.get(kind)) is None or not flags.aligned or (size := x.size) < 2:
        return None
    a = x if flags.c_contiguous else x.T if flags.f_contiguous and not first else None
    if a is None or (run := _whole.of(char, size)) is None and size < state.cheap:
        return None
    run, y = run or _whole.surely(char), _empty((), kind)
    if which == "<>":
        run(1, 1, a, y, largest := _empty((), kind), first)
        return y, largest
    run(1, 1, a, *((y, _left_out(kind)) if which == "<" else (_left_out(kind), y)), first)
    return y,


def within(index: np.ndarray, size: int) -> bool:
    """Whether all of ``index`` (int64) lies in ``range(size)``, by the least and the largest where their machine code is at hand.

    >>> within(np.arange(99), 99), within(np.arange(99), 98), within(np.arange(-1, 98), 98)
    (True, False, False)
    """
    if index.ndim == 1 and index.size < _LISTED:
        found = index.tolist()
        return not found or min(found) >= 0 and max(found) < size
    if index.size >= _LISTED and (run := _whole.of("l", index.size)) is not None:
        least, largest = _empty((), np.int64), _empty((), np.int64)
        try:
            run(1, 1, index, least, largest, False)
            return least.item() >= 0 and largest.item() < size
        except TypeError:  # what does not lie in rows
            pass
    return _on_demand.within(index, size)


@lru_cache(64)
def _left_out(dtype: np.dtype) -> np.ndarray:
    """What stands for a result that is left out."""
    return np.empty(0, dtype)


def spread(x: np.ndarray, dim: Dims, keepdim: bool, divisor: float, root: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """Variances of few numbers that are no integers, or their roots, and means; None where NumPy is to serve."""
    plan = _plan_of(x, dim, keepdim)
    if plan is None or plan.char in "lB":
        return None
    order: tuple[int, ...] | None
    if plan.joined is not None:  # copied into rows
        (order, outer, n), inner = plan.joined, 1
    elif plan.alone is not None and plan.exact and not plan.many:
        order, (_, outer, n, inner, _) = plan.order, plan.alone
    else:
        return None
    if inner > 1 and n > _APART or (run := _spread.of(plan.char, x.size)) is None:
        return None
    y, mean = np.empty(plan.shape, x.dtype), np.empty(plan.shape, x.dtype)
    if order is not None:
        x = np.ascontiguousarray(x.transpose(order))
    run(outer * inner, 1, x, y, mean, outer, n, inner, divisor, root)
    return y, mean


# -- the way of a layout ----------------------------------------------------------------------------------------------------------


Way = Callable[[np.ndarray], Any]
"""Reduces what lies as an array did, by one call of machine code."""


def kept(kernel: Callable[..., Any], way: Callable[[np.ndarray, Dims, bool], Way | bool], chars: str = "fdleE", most: int = 1 << 62,
         whole: bool = True) -> Callable[..., Any]:
    """A reduction's kernel, which goes the way that it found once for a layout: few numbers are reduced sooner than all that decides where
    they go is asked for. `way`, of such dtypes and up to so many elements, of all of them only with ``whole``, says True where that is
    longer, and False where no machine code is at hand yet."""
    ways: dict[tuple[object, ...], Way | bool] = {}

    def reduced(input: np.ndarray, dim: Dims = None, keepdim: bool = False) -> Any:
        if (dtype := input.dtype).char not in chars or input.size > most or dim is None and not whole:
            return kernel(input, dim, keepdim)
        if dim is not None and dim.__class__ is not int:
            dim = tuple(dim) if dim.__class__ is list else dim
            if not _is_plain(dim):
                return kernel(input, dim, keepdim)
        key = state.cheap, dtype, input.shape, input.strides, dim, keepdim
        found = ways.get(key, False)
        if found is False:
            result, found = kernel(input, dim, keepdim), way(input, dim, keepdim)
            if found is not False:
                if len(ways) > 1000:
                    ways.clear()
                ways[key] = found
            return result
        if found is not True:
            try:
                return found(input)
            except TypeError:  # out of step with the processor's words
                pass
        return kernel(input, dim, keepdim)

    return reduced


def _written(run: Any, items: int, order: tuple[int, ...] | None, shape: tuple[int, ...], dtype: np.dtype, before: tuple[Any, ...],
             after: tuple[Any, ...]) -> Way:
    def way(x: np.ndarray) -> np.ndarray:
        y = _empty(shape, dtype)
        run(items, 1, x if order is None else x.transpose(order), *before, y, *after)
        return y

    return way


def way_to_fold(x: np.ndarray, dim: Dims, keepdim: bool, term: int = SUM, last: int = 0) -> Way | bool:
    """The way of `fold`."""
    plan = _plan_of(x, dim, keepdim)
    if plan is None or plan.char == "B" or plan.slabs is not None or x.size >= _ALONE:
        return True
    half, shape, dtype, lying = plan.char in "eE", plan.shape, x.dtype, plan.lying
    many = plan.many if term != PRODUCT else x.size >= (state.fused >> 4 if half else state.fused)
    if len(plan.steps) > 1 and (half or term == PRODUCT) or not many and not plan.exact and term != PRODUCT:
        return True
    run = _fold.of(plan.char, x.size)
    if run is None:
        return False
    if plan.alone is not None:
        return _written(run, plan.alone[0], plan.order, shape, dtype, (), (*plan.alone[1:], term, last, many))
    if term == PRODUCT:
        return True
    order, steps = plan.order, []
    for i, (items, _, outer, n, inner, per_block) in enumerate(plan.steps):
        is_last = i + 1 == len(plan.steps)
        size = (lying[0] if lying else shape) if is_last else outer * -(-n // per_block) * inner
        steps.append((items, size, (outer, n, inner, per_block, SUM if i else term, last if is_last else 0, many)))

    def way(x: np.ndarray) -> np.ndarray:
        a = x if order is None else x.transpose(order)
        for items, size, numbers in steps:
            y = _empty(size, dtype)
            run(items, 1, a, y, *numbers)
            a = y
        return a if lying is None else np.ascontiguousarray(a.transpose(lying[1])).reshape(shape)

    return way


def way_to_end(x: np.ndarray, dim: Dims, keepdim: bool, which: str) -> Way | bool:
    """The way of `ends` to one of them."""
    plan = _plan_of(x, dim, keepdim)
    if plan is None or plan.once is None:
        return True
    items, *sizes, nothing = plan.once
    run, before, after = _ends.of(plan.char, x.size), (nothing,) if which == ">" else (), (nothing,) if which == "<" else ()
    return False if run is None else _written(run, items, plan.order, plan.shape, x.dtype, before, (*after, *sizes))


def way_to_place(x: np.ndarray, dim: Dims, keepdim: bool, smallest: bool) -> Way | bool:
    """The way of `extremes` to the place."""
    plan = _plan_of(x, dim, keepdim)
    if plan is None or plan.char == "B" or plan.once is None or plan.order is not None and dim is None:
        return True
    items, outer, n, inner, _ = plan.once
    order, shape, kind, run = plan.order, plan.shape, x.dtype, _extremes.of(plan.char, x.size)

    def way(x: np.ndarray) -> np.ndarray:
        index = _empty(shape, np.int64)
        run(items, 1, x if order is None else x.transpose(order), _empty(shape, kind), index, outer, n, inner, smallest)  # type: ignore[misc]
        return index

    return run is not None and way


def way_to_spread(x: np.ndarray, dim: Dims, keepdim: bool, divisor: float, root: bool) -> Way | bool:
    """The way of `spread`."""
    plan = _plan_of(x, dim, keepdim)
    if plan is None or plan.char in "lB" or plan.joined is not None or plan.alone is None or plan.many or not plan.exact:
        return True
    order, (_, outer, n, inner, _) = plan.order, plan.alone
    if inner > 1 and n > _APART:
        return True
    shape, dtype, run = plan.shape, x.dtype, _spread.of(plan.char, x.size)

    def way(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y, mean = _empty(shape, dtype), _empty(shape, dtype)
        x = x if order is None else np.ascontiguousarray(x.transpose(order))
        run(outer * inner, 1, x, y, mean, outer, n, inner, divisor, root)  # type: ignore[misc]
        return y, mean

    return run is not None and way


#: Most numbers of a column.
_APART = 128
_fold, _extremes, _ends, _spread = [Handy("folds", name) for name in ("fold", "extremes", "ends", "spread")]
_fold_products, _dot_rows, _whole = Handy("folds", "fold_products"), Handy("folds", "dot_rows"), Handy("ends", "whole")
