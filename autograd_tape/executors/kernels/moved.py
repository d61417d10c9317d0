"""Elements that keep their values and change places: dimensions turned round, and triangles of matrices."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ._on_demand import _NEVER, LazyModule, keep, state
from .handy import LITTLE, Handy, Run
from .sharing import MOVED, copy

__all__ = ["clear_outside", "fill_where", "lying", "places", "put_where", "steps_of", "triangle", "turned"]

_compiled = LazyModule("moved")
_turn, _triangle, _cut = Handy("moved", "turn"), Handy("moved", "triangle"), Handy("moved", "cut")
_where, _lying_where, _lying = Handy("moved", "fill_where"), Handy("moved", "write_where"), Handy("moved", "lying")
_FEW = 16384  # elements that nobody shares
_NEAR = 64  # lines of columns that a cache holds side by side
_KINDS = {c: c for c in "fdlHB"} | {"E": "H", "?": "B"}  # of dtypes that kernels of what is written anew take as they are
_in_rows = Handy("embedding", "put_where")
_SHORT, _AS_THEY_ARE = 16, frozenset("fdHBE?")  # elements of a short run, and dtypes that kernels take as they are


def turned(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray | None:
    """``x`` (in rows) with the order of neighbouring ``axes`` reversed; None where NumPy is to do it.

    >>> (y := turned(np.arange(3.0), (0,))) is None or y.tolist() == [2, 1, 0]
    True
    """
    size, own = x.size, x.dtype
    if size < state.fused or (turn := _turn_of(x.shape, own, axes)) is None:
        return None
    char, dtype, shape = turn
    y = np.empty(x.shape, own)
    source, target = (x, y) if dtype is own else (x.reshape(-1).view(dtype), y.reshape(-1).view(dtype))
    try:
        if size < LITTLE:  # a frame less
            (_turn.at_hand.get(char) or _turn.surely(char))(shape[0], 1, source, target, *shape)
        else:
            _turn.share(char, shape[0], shape[1] * shape[2], 1, source, target, *shape)
    except TypeError:  # what is not aligned
        return None
    return y


@lru_cache(1024)
def _turn_of(shape: tuple[int, ...], dtype: np.dtype, axes: tuple[int, ...]) -> tuple[str, np.dtype, tuple[int, int, int]] | None:
    """The kernel's dtype, as what elements are moved, and the sizes before, of and behind neighbouring axes. None where they are no
    neighbours, or there is no kernel."""
    char = _KINDS.get(dtype.char) or MOVED.get(dtype.itemsize)
    if char is None or not axes or (sizes := _lines(shape, *axes)) is None:
        return None
    before, n, behind = sizes
    row = dtype.itemsize * behind
    if 1 < behind < _SHORT and char != "l" and row % 8 == 0:
        return "d", dtype if dtype.char == "d" else np.dtype("d"), (before, n, row // 8)
    return char, dtype if dtype.char in _KINDS else np.dtype(char), sizes


@lru_cache(512)
def _lines(shape: tuple[int, ...], *axes: int) -> tuple[int, int, int] | None:
    """The sizes before, of and behind neighbouring axes; None where they are no neighbours."""
    first, last = min(axes), max(axes) + 1
    return (prod(shape[:first]), prod(shape[first:last]), prod(shape[last:])) if last - first == len(axes) else None


_triangles: dict[tuple[np.dtype, tuple[int, ...], int, bool], tuple[Any, ...]] = {}
"""The way to the kernel for few elements, and what it is told."""


def triangle(x: np.ndarray, k: int, lower: bool) -> np.ndarray | None:
    """The matrices ``x`` (..., n, m), which lie in rows or in columns, up to diagonal ``k``, or from it on, in rows; the rest zero. None
    where the array is small, or lies otherwise.

    >>> triangle(np.ones((0, 2)), 0, True) is None
    True
    """
    flags = x.flags
    if flags.c_contiguous and (plan := _triangles.get((x.dtype, x.shape, k, lower))) is not None and state.fused != _NEVER:
        try:
            run, rows, *rest = plan
            run(rows, 1, x, y := np.empty(x.shape, x.dtype), rows, *rest)
            return y
        except TypeError:  # what is not aligned
            pass
    char, size = _KINDS.get(x.dtype.char) or MOVED.get(x.itemsize), x.size
    if char is None or not flags.aligned or not size or (run := _triangle.of(char, size)) is None and size < state.fused:
        return None
    n, m = x.shape[-2:]
    columns, shape = not flags.c_contiguous, x.shape
    if columns and not (x := x.swapaxes(-1, -2)).flags.c_contiguous:
        return None
    rows, kept = size // m, max(-n, min(k, m))
    edge = kept if lower else kept - 1
    if columns and size > _FEW and min(n, m) > _NEAR and 2 * _box(n, m, kept, lower) > n * m:  # columns are turned in tiles first
        y = copy(x.swapaxes(-1, -2))
        char = MOVED[x.itemsize]
        _cut.share(char, rows, m, 1, y if x.dtype.char in _AS_THEY_ARE else y.view(char), rows, m, n, edge, int(lower))
        return y
    y = np.empty(shape, x.dtype)
    source, target = (x, y) if x.dtype.char in _KINDS else (x.view(char), y.view(char))
    if run is not None and size <= _FEW:
        run(rows, 1, source, target, rows, m, n, edge, lower, columns)
        if source is x and not columns:
            keep(_triangles, (x.dtype, shape, k, lower), (run, rows, m, n, edge, lower, columns), 500)
    else:
        _triangle.share(char, rows, m, 1, source, target, rows, m, n, edge, lower, columns)
    return y


def _box(n: int, m: int, k: int, lower: bool) -> int:
    """The elements of the smallest block of a matrix that has all of a triangle."""
    return (n - max(-k, 0)) * max(min(n + k, m), 0) if lower else max(min(m - k, n), 0) * (m - max(k, 0))


def clear_outside(x: np.ndarray, k: int, lower: bool) -> bool:
    """Zeros outside of triangles, as `triangle` keeps them, in matrices that lie in rows or in columns; False where they do not, or no
    kernel is at hand.

    >>> clear_outside(np.ones((2, 2))[:, :1], 0, True)
    False
    """
    if state.fused == _NEVER:
        return False
    key = x.shape, x.strides, x.dtype.char, k, lower
    if (plan := _plans.get(key)) is None and (plan := _to_cut(key, x)) is None:
        return False
    run, rows, turned, char, rest = plan
    if turned:
        x = x.T if x.ndim == 2 else x.swapaxes(-1, -2)
    try:
        run(rows, 1, x if char is None else x.view(char), *rest)
    except TypeError:  # what lies in another order, or is not aligned
        return False
    return True


_Plan = tuple[Run, int, bool, "str | None", tuple[int, ...]]
"""What runs a kernel, and how many items it has; whether the array is turned before, as what it is taken, and what else it is told."""
_plans: dict[tuple[Any, ...], _Plan] = {}  # by all that they depend on, which costs one look


def _to_cut(key: tuple[Any, ...], x: np.ndarray) -> _Plan | None:
    """The way to the kernel that does what `clear_outside` says, which is kept; None where there is none at hand."""
    *_, own, k, lower = key
    size, char = x.size, _KINDS.get(own) or MOVED.get(x.itemsize)
    if x.ndim < 2 or char is None or not size or (run := _cut.of(char, size)) is None and size < state.fused:
        return None
    n, m = x.shape[-2:]
    if turned := not x.flags.c_contiguous:
        x, n, m, k, lower = x.swapaxes(-1, -2), m, n, -k, not lower
    rows, kept = size // m, max(-n, min(k, m))
    many = rows // n * _box(n, m, kept + (1 if lower else -1), not lower) > _FEW
    if size > _FEW and (m < _SHORT and many or not x.flags.carray):  # many short rows NumPy cuts column by column
        return None
    if many:
        def run(items: int, _: int, *given: Any) -> None:
            _cut.share(char, items, m, 1, *given)
    elif run is None:
        run = _cut.surely(char)
    rest = rows, m, n, kept - (not lower), int(lower)
    return keep(_plans, key, (run, rows, turned, None if own in _KINDS else char, rest))


def fill_where(x: np.ndarray, mask: np.ndarray, value: np.ndarray) -> bool:
    """Sets elements to a 0-dim array of the same dtype where a mask is set that is broadcast to them; False where they do not lie in rows
    or in columns, or no kernel is at hand.

    >>> fill_where(np.ones((2, 2))[:, :1], np.ones(2, bool), np.zeros(()))
    False
    """
    return _write_where(x, mask, value, False)


def put_where(x: np.ndarray, mask: np.ndarray, source: np.ndarray) -> bool:
    """The same by a mask of the same shape with one element of the source, which has enough, after the other, in the order of rows.

    >>> put_where(np.ones((2, 2))[:, :1], np.ones((2, 1), bool), np.zeros(2))
    False
    """
    if x.flags.c_contiguous and (char := _KINDS.get(x.dtype.char)) is not None and (run := _in_rows.of(char, x.size)) is not None:
        try:
            run(x.size, 1, x, mask, source)
            return True
        except TypeError:  # what is not aligned, or lies in another order
            pass
    return _write_where(x, mask, source, True)


def _write_where(x: np.ndarray, mask: np.ndarray, values: np.ndarray, in_order: bool) -> bool:
    if state.fused == _NEVER:
        return False
    key = x.shape, x.strides, x.dtype.char, mask.shape, mask.strides, in_order
    if (way := _ways.get(key)) is None and (way := _to_write(key, x, mask)) is None:
        return False
    run, items, turned, mask_turned, char, rest = way
    if char is not None:
        x, values = x.view(char), values.view(char)
    try:
        run(items, 1, x.T if turned else x, mask.T if mask_turned else mask, values, *rest)
    except TypeError:  # what lies in another order, or is not aligned
        return False
    return True


_ways: dict[tuple[Any, ...], tuple[Run, int, bool, bool, str | None, tuple[Any, ...]]] = {}  # as `_plans`, and whether a mask is turned


def _to_write(key: tuple[Any, ...], x: np.ndarray, mask: np.ndarray) -> tuple[Run, int, bool, bool, str | None, tuple[Any, ...]] | None:
    """The way to the kernel that does what `_write_where` says, which is kept."""
    *_, in_order = key
    own, size, flags, of_mask = x.dtype.char, x.size, x.flags, mask.flags
    char = _KINDS.get(own) or MOVED.get(x.itemsize)
    if char is None or not size or not flags.forc or not of_mask.forc or mask.ndim > x.ndim:
        return None
    rows, items = flags.c_contiguous, 1
    alike = not in_order and (of_mask.c_contiguous if rows else of_mask.f_contiguous)
    sizes = _repeated(x.shape, mask.shape, rows) if alike else None
    hand = _lying_where if sizes is None else _where
    if (run := hand.of(char, size)) is None and (size < state.fused or in_order):
        return None
    rest: tuple[Any, ...]
    if sizes is not None:
        items, rest = sizes[0], sizes
        if run is None or size >= _FEW:
            def run(items: int, _: int, *given: Any) -> None:
                hand.share(char, items, sizes[1] * sizes[2], 1, *given)
    else:
        run = run or hand.surely(char)
        order = slice(None) if in_order or rows else slice(None, None, -1)  # of elements in memory
        of_rows = np.broadcast_to(mask, x.shape).strides
        rest = *steps_of(x.shape[order], x.strides[order], x.itemsize), np.array(of_rows[order], np.int64), 1
    turned_mask = not rows if alike else not of_mask.c_contiguous
    return keep(_ways, key, (run, items, not rows, turned_mask, None if own in _KINDS else char, rest))


@lru_cache(1024)
def _repeated(shape: tuple[int, ...], mask: tuple[int, ...], rows: bool) -> tuple[int, int, int] | None:
    """How often all of a mask is repeated, how many it is, how often each of it is, where it is broadcast to a shape, in the order of rows
    or of columns; None where there are no such numbers, or no elements."""
    if len(mask) > len(shape) or 0 in shape:
        return None
    pairs = list(zip(shape, (1,) * (len(shape) - len(mask)) + mask))
    pairs = [(n, k) for n, k in (pairs if rows else pairs[::-1]) if n != 1 or k != 1]
    first = next((i for i, (n, k) in enumerate(pairs) if k != 1), len(pairs))
    last = next((i for i in range(len(pairs), first, -1) if pairs[i - 1][1] != 1), first)
    if any([n != k for n, k in pairs[first:last]]):
        return None
    return prod([n for n, _ in pairs[:first]]), prod([n for n, _ in pairs[first:last]]), prod([n for n, _ in pairs[last:]])


def lying(index: np.ndarray, array: np.ndarray) -> np.ndarray | None:
    """Where, from its first element on, elements of an array lie that a vector counts in rows, or from the end; `IndexError` where there
    are no such. None where there is no kernel at hand.

    >>> (found := lying(np.array([1, -1]), np.ones((2, 3)).T)) is None or found.tolist() == [3, 5]
    True
    """
    if array.size <= _COUNTED:
        return _places(array.shape, array.strides, array.itemsize)[index]
    run = _lying.of("f", index.size)
    if run is None or not index.flags.carray:
        return None
    y = np.empty(index.size, np.int64)
    run(index.size, 1, index, y, *steps_of(array.shape, array.strides, array.itemsize), array.size)
    return y


_COUNTED = 1024  # elements of which it is kept where they lie


@lru_cache(64)
def _places(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> np.ndarray:
    """Where all elements lie, in the order of rows."""
    found = np.zeros(shape, np.int64)
    for axis, (n, step) in enumerate(zip(shape, strides)):
        found += (np.arange(n) * (step // item)).reshape((-1,) + (1,) * (len(shape) - 1 - axis))
    return found.reshape(-1)


@lru_cache(256)
def steps_of(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> tuple[np.ndarray, np.ndarray]:
    """The sizes of an array, and how many elements it is from one to the next along each dimension, as kernels take them."""
    return np.array(shape, np.int64), np.array([s // item for s in strides], np.int64)


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
