"""Elements that keep their values and change places: dimensions turned round, and triangles of matrices."""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from ._on_demand import LazyModule, state
from .handy import LITTLE, Handy
from .sharing import MOVED, copy

__all__ = ["clear_outside", "fill_where", "lying", "places", "triangle", "turned"]

_compiled = LazyModule("moved")
_turn, _triangle, _cut = Handy("moved", "turn"), Handy("moved", "triangle"), Handy("moved", "cut")
_where, _lying = Handy("moved", "fill_where"), Handy("moved", "lying")
_FEW = 16384  # elements that nobody shares
_NEAR = 64  # lines of columns that a cache holds side by side
_KINDS = {c: c for c in "fdlHB"} | {"E": "H", "?": "B"}  # of dtypes that kernels of what is written anew take as they are
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


def triangle(x: np.ndarray, k: int, lower: bool) -> np.ndarray | None:
    """The matrices ``x`` (..., n, m), which lie in rows or in columns, up to diagonal ``k``, or from it on, in rows; the rest zero. None
    where the array is small, or lies otherwise.

    >>> triangle(np.ones((0, 2)), 0, True) is None
    True
    """
    char, size, flags = _KINDS.get(x.dtype.char) or MOVED.get(x.itemsize), x.size, x.flags
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
    char, size = MOVED.get(x.itemsize), x.size
    if char is None or not size or (run := _cut.of(char, size)) is None and size < state.fused:
        return False
    n, m = x.shape[-2:]
    if not x.flags.c_contiguous:
        x, n, m, k, lower = x.swapaxes(-1, -2), m, n, -k, not lower
    if size > _FEW and (m < _SHORT or not x.flags.carray):  # many short rows NumPy cuts column by column
        return False
    rows, first = size // m, max(-n, min(k, m)) - (not lower)
    x = x if x.dtype.char in _AS_THEY_ARE else x.view(char)
    try:
        if run is None or size > _FEW:
            _cut.share(char, rows, m, 1, x, rows, m, n, first, int(lower))
        else:  # a frame less
            run(rows, 1, x, rows, m, n, first, int(lower))
    except TypeError:  # what lies in another order, or is not aligned
        return False
    return True


def fill_where(x: np.ndarray, mask: np.ndarray, value: np.ndarray) -> bool:
    """Sets elements to a 0-dim array of the same dtype where a mask is set that is broadcast to them; False where they lie in such an order
    that there is no kernel, or none is at hand.

    >>> fill_where(np.ones((2, 2))[:, :1], np.ones(2, bool), np.zeros(()))
    False
    """
    char = MOVED.get(x.itemsize)
    if char is None or (run := _where.of(char, x.size)) is None and x.size < state.fused:
        return False
    rows = x.flags.c_contiguous
    sizes = _repeated(x.shape, mask.shape, rows)
    if not rows:
        x = x.T
        if mask.ndim > 1:
            mask = mask.T
    if sizes is None or not x.flags.carray or not mask.flags.carray:
        return False
    if x.dtype.char not in _AS_THEY_ARE:
        x, value = x.view(char), value.view(char)
    if run is not None and x.size < _FEW:
        run(sizes[0], 1, x, mask, value, *sizes)
    else:
        _where.share(char, sizes[0], sizes[1] * sizes[2], 1, x, mask, value, *sizes)
    return True


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
    run(index.size, 1, index, y, *_steps(array.shape, array.strides, array.itemsize), array.size)
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
def _steps(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> tuple[np.ndarray, np.ndarray]:
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
