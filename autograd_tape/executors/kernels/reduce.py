"""Large reductions on the worker pool: sum, mean, max and min over all elements or some axes; running sums.

Rows are added by compiled code or by NumPy (pairwise), and the slices of a full reduction are blocks of fixed size, so
results do not depend on the number of threads.  Results have the input's dtype; half precision adds
in float32.  A NaN makes a maximum or minimum NaN.

All sums over axes end in ``sum`` or ``add``: they add half precision in float32, and long columns in parts, so that the
rounding error does not grow with the length (NumPy's own grows with every axis but the innermost).
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from . import folds, integers, order, sharing
from ._on_demand import LazyModule, contiguous, is_half, state
from .halves import SINGLE, cast
from .handy import Exact, Handy
from ...strided import strided
from ...warned import ignoring

__all__ = [
    "NARROW",
    "add",
    "add_at",
    "amax",
    "amin",
    "binned",
    "exactly",
    "fits_distance",
    "mean",
    "overlapped",
    "running_extreme",
    "running_total",
    "running_total_within",
    "square_distance",
    "square_distance_backward",
    "sum",
    "way_to_run",
]

_compiled = LazyModule("reduce")
_adding = LazyModule("embedding")
_arithmetic = LazyModule("arithmetic")
_overlap = Exact("reduce", "overlap")
#: Fewest elements worth sharing, and those of one block of a full reduction.
_SHARED = 1 << 18
_BLOCK = 1 << 16
#: Most numbers that are added one after another, and the parts that longer sums are taken in.
RUN = 256
_PARTS = 64

Axis = int | tuple[int, ...] | None


def _axes(x: np.ndarray, axis: Axis) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(sorted(a % x.ndim for a in ((axis,) if isinstance(axis, int) else axis)))


def _strided(x: np.ndarray, axes: tuple[int, ...]) -> list[int]:
    """Those of ``axes`` along which NumPy adds one number after another: all but the innermost in memory."""
    strides, shape = x.strides, x.shape
    left, step = set(axes), 0
    for a in sorted(range(x.ndim), key=lambda a: -abs(strides[a]))[::-1]:
        if shape[a] == 1:
            continue
        if a not in left or not strides[a] or step and strides[a] != step:
            break
        left.remove(a)
        step = strides[a] * shape[a]
    return [a for a in left if shape[a] > 1]


def add(x: np.ndarray, axes: tuple[int, ...] | None, dtype: np.dtype | None = None, keepdims: bool = False) -> np.ndarray:
    """``np.add.reduce`` over ``axes`` (not negative; ``None`` for all) with a rounding error that does not grow with the length.

    NumPy adds pairwise along the axis that lies innermost in memory, along others one number after another.  Here more than a
    few of those are added in parts.

    >>> x = np.full((1 << 16, 2), 0.1, np.float32)
    >>> float(add(x, (0,))[0]), float(np.add.reduce(x, 0)[0])  # of 6553.6001
    (6553.59423828125, 6557.646484375)
    """
    flags = x.flags
    if x.size <= RUN or axes is None and (flags.c_contiguous or flags.f_contiguous) or flags.c_contiguous and axes and (
            axes[0] == x.ndim - 1 or len(axes) == 1 and x.shape[axes[0]] <= RUN):
        return np.add.reduce(x, axes, dtype, None, keepdims)
    if axes is None:
        axes = tuple(range(x.ndim))
    strided = _strided(x, axes)
    if prod([x.shape[a] for a in strided]) <= RUN:
        return np.add.reduce(x, axes, dtype, None, keepdims)
    longest = max(strided, key=x.shape.__getitem__)
    n, before = x.shape[longest], (slice(None),) * longest
    if n <= _PARTS:
        return add(np.add.reduce(x, longest, dtype, None, True), axes, None, keepdims)
    cut = n - n % _PARTS  # cutting an axis in two is a view, whatever the strides
    head = x[(*before, slice(cut))].reshape(*x.shape[:longest], _PARTS, n // _PARTS, *x.shape[longest + 1 :])
    parts = np.add.reduce(head, longest, dtype)
    if cut < n:
        parts = np.concatenate([parts, np.add.reduce(x[(*before, slice(cut, n))], longest, dtype, None, True)], longest)
    return add(parts, axes, None, keepdims)


def add_at(target: np.ndarray, at: Any, values: np.ndarray) -> None:
    """``target[at] += values`` where positions may occur again and again; half precision is added in float32 and rounded once.

    >>> t = np.zeros(2, np.float16)
    >>> add_at(t, np.zeros(5000, int), np.ones(5000, np.float16))
    >>> t.tolist()
    [5000.0, 0.0]
    """
    if is_half(target.dtype):
        wide = cast(target, SINGLE)
        add_at(wide, at, cast(np.asarray(values), SINGLE))
        target[...] = cast(wide, target.dtype)
    elif (target.ndim == 1 and target.dtype.char in "fdl" and at.__class__ is np.ndarray and at.dtype.char == "l"
          and at.size >= state.fused and target.flags.carray and values.shape == at.shape and values.dtype == target.dtype):
        _adding.add_elements[target.dtype.char](target, contiguous(at), contiguous(values))
    elif target.dtype.char == "?" and target.ndim == 1 and at.__class__ is np.ndarray and values.dtype.char == "?" and (
            values.shape == at.shape):
        target[at[values]] = True
    elif target.dtype.char in "bBhHiI" and at.__class__ is np.ndarray and at.size >= state.fused and at.size >= target.size and (
            values.dtype == target.dtype and values.shape == at.shape):  # modulo a power of two sums are what wider ones end with
        whole = target.astype(np.int64)
        add_at(whole, at, values.astype(np.int64))
        target[...] = whole
    else:
        np.add.at(target, at, values)


def counted(line: np.ndarray, bins: int, low: int = 0) -> np.ndarray:
    """How often each integer of a line is there, from ``low`` on, where all are `bins` at most.

    >>> counted(np.array([5, 7, 5], np.uint8), 3, 5)
    array([2, 0, 1])
    """
    wide = line.astype(np.int64, copy=False)
    if low:
        wide = wide - low
    if line.size < state.fused or not wide.flags.aligned:
        return np.bincount(wide, minlength=bins)
    found, wide, ones = np.zeros(bins, np.int64), contiguous(wide), _ones(_ONES)
    run = _adding.add_elements["l"]
    if line.size <= _ONES:
        run(found, wide, ones[:line.size])
        return found
    for start in range(0, line.size, _ONES):
        part = wide[start:start + _ONES]
        run(found, part, ones[:part.size])
    return found


_ONES = 1 << 14
"""Numbers that are counted at a time."""


@lru_cache(1)
def _ones(n: int) -> np.ndarray:
    return np.ones(n, np.int64)


def overlapped(windows: np.ndarray, total: int, step: int) -> np.ndarray | None:
    """Rows of ``total`` numbers, the sums of windows (..., count, size) that are ``step`` apart in them, the last one first; None where
    NumPy is to add them. All windows may be one that is expanded.

    >>> found = overlapped(np.ones((1, 2, 3)), 4, 1)
    >>> found is None or found.tolist() == [[1, 2, 2, 1]]
    True
    """
    *outer, count, size = windows.shape
    once, char = windows.strides[:-1] == (0,) * len(windows.shape[:-1]), windows.dtype.char.lower()
    one = windows[(0,) * (windows.ndim - 1)] if once and windows.size else windows
    if char not in "fd" or not windows.size or count != (total - size) // step + 1 or not one.flags.c_contiguous:
        return None
    run = _overlap.over(char, windows.size)
    if run is None:
        return None
    y, numbers = np.empty((*outer, total), windows.dtype), 1 + (windows.dtype.kind == "c")
    run(prod(outer), 1, one.view(char), y.view(char), prod(outer), count, size * numbers, step * numbers, 0 if once else size * numbers,
        total * numbers)
    return y


#: Elements from which NumPy's way to reduce short rows, or a few columns, is worth going round, and what it needs to go well: the length
#: of a row, and of what lies beside a reduced dimension; and how few columns are taken one after another.
NARROW, _ROW, _BESIDE, _FEW = 1024, 16, 64, 8
#: How many lines NumPy begins in the time of a call of an operation on columns.
_LINES = 32


def _line(sizes: list[int], reduced: list[bool]) -> int:
    """The elements of a line of NumPy's: along the last dimensions that are all reduced, or all kept."""
    at = len(sizes) - 1
    while at > 0 and reduced[at - 1] == reduced[-1]:
        at -= 1
    return prod(sizes[at:])


def exactly(ufunc: np.ufunc, x: np.ndarray, axes: Axis, keepdims: bool, dtype: np.dtype | None = None) -> np.ndarray:
    """``ufunc.reduce`` where the order of its elements does not matter: extremes, truth values, integers.

    NumPy's loop runs along one dimension in memory and begins anew for each row, which takes as long as fifty elements.  Short rows become
    few operations on columns, and few columns many.

    >>> exactly(np.maximum, np.arange(6000).reshape(2000, 3), 1, False)[:3].tolist()
    [2, 5, 8]
    """
    if dtype is _INT64 and ufunc is np.add and x.size >= _SUMMED:
        reduced = _axes(x, axes)
        if (found := integers.summed(x, reduced)) is not None:
            return found.reshape([1 if d in reduced else n for d, n in enumerate(x.shape)]) if keepdims else found
    if x.size >= NARROW and (x.shape[-1] < _ROW or x.size >= _LINES * _LINES * _ROW):
        reduced = _axes(x, axes)
        if (order := _narrow_order(x.shape, x.strides, x.itemsize, reduced)) is not None:
            close = x.transpose(order + [d for d in range(x.ndim) if x.shape[d] == 1]).reshape([x.shape[d] for d in order])
            found = _narrow(ufunc, close, [d in reduced for d in order], dtype)
            kept = [d for d in order if d not in reduced]
            lying = found.reshape([x.shape[d] for d in kept]).transpose([kept.index(d) for d in sorted(kept)])
            return lying.reshape([1 if d in reduced else n for d, n in enumerate(x.shape) if keepdims or d not in reduced])
    return np.asarray(ufunc.reduce(x, axes, dtype, None, keepdims))


_INT64 = np.dtype(np.int64)
_SUMMED = 8192
"""Fewest integers that are not summed by NumPy's loop."""


@lru_cache(1024)
def _narrow_order(shape: tuple[int, ...], strides: tuple[int, ...], item: int, axes: tuple[int, ...]) -> list[int] | None:
    """The dimensions as they lie in memory, where reducing them one after another, short rows and few columns, is worth it."""
    reduced, size, order = frozenset(axes), prod(shape), folds.in_memory(shape, strides, item)
    if not order or reduced.isdisjoint(order):  # of no more than one element
        return None
    line = _line([shape[d] for d in order], [d in reduced for d in order])
    if size < _LINES * line * min(_ROW, max([shape[d] for d in reduced])):
        return None
    inner = prod([shape[d] for d in order[max([i for i, d in enumerate(order) if d in reduced]) + 1:]])
    return order if (shape[order[-1]] <= _ROW if order[-1] in reduced else inner < _BESIDE) else None


def _narrow(ufunc: np.ufunc, x: np.ndarray, reduced: list[bool], dtype: np.dtype | None) -> np.ndarray:
    """Reduces dimensions as they lie in memory, neighbours as one."""
    sizes: list[tuple[bool, int]] = []
    for yes, n in zip(reduced, x.shape):
        if sizes and sizes[-1][0] == yes:
            sizes[-1] = yes, sizes[-1][1] * n
        else:
            sizes.append((yes, n))
    x = x.reshape([n for _, n in sizes])
    while (at := max([i for i, (yes, _) in enumerate(sizes) if yes], default=-1)) >= 0:
        n, inner = sizes.pop(at)[1], prod([m for _, m in sizes[at:]])
        if inner == 1 and n <= _ROW:
            total = x[..., 0] if dtype is None else x[..., 0].astype(dtype)
            for i in range(1, n):
                total = ufunc(total, x[..., i])
            x = total
        elif n <= _ROW and inner <= _FEW:  # a column after another
            x = x.reshape(-1, n, inner)
            total = np.empty((len(x), inner), x.dtype if dtype is None else dtype)
            for j in range(inner):
                total[:, j] = x[:, 0, j]
                for i in range(1, n):
                    ufunc(total[:, j], x[:, i, j], out=total[:, j])
            x = total
        elif 1 < inner < _BESIDE and n >= 4 * (many := 512 // inner):
            x = x.reshape(-1, n, inner)
            cut = n - n % many
            parts = ufunc.reduce(x[:, :cut].reshape(len(x), cut // many, many * inner), 1, dtype).reshape(len(x), many, inner)
            if cut < n:
                parts = np.concatenate([parts, x[:, cut:].astype(parts.dtype, copy=False)], 1)
            x = ufunc.reduce(parts, 1)
        elif 1 < inner < _BESIDE:  # halves of the rows with one another
            x = x.reshape(-1, n * inner)
            x = x if dtype is None else x.astype(dtype, copy=False)
            while n > 1:
                half = n // 2 * inner
                total = ufunc(x[:, :half], x[:, half:2 * half])
                if n % 2:
                    total[:, :inner] = ufunc(total[:, :inner], x[:, 2 * half:])
                x, n = total, n // 2
        else:
            x = ufunc.reduce(x.reshape(-1, n, inner), 1, dtype)
        x = x.reshape([m for _, m in sizes])
    return x


def binned(x: np.ndarray, bins: int, low: float, high: float) -> np.ndarray:
    """How many numbers of a floating-point `x` fall into each of the bins of one width between two numbers, which are inside.

    >>> binned(np.array([0.0, 0.5, 1.0, 2.0]), 2, 0.0, 1.0).tolist()
    [1, 2]
    """
    wide = not (high - low) * bins < float(np.finfo(np.float32).max)  # more than float32 holds
    if x.dtype.char in "fd" and not wide and x.flags.aligned and order.fits(max(x.size, 64)):
        counts = np.zeros(bins, np.int64)
        _compiled.binned[x.dtype.char](contiguous(x), counts, bins, low, high)
        return counts
    values = x[(x >= low) & (x <= high)]
    if wide or values.dtype.kind in "iu":  # integers are taken on the meta device
        values = values.astype(np.float64)
    exact = values.dtype.type
    with ignoring():
        place = (values - exact(low)) * exact(bins) / exact(high - low)
    # NaN: numbers so large that adding 1 is nothing.
    at = np.where(np.isnan(place), place.dtype.type(bins // 2), place).astype(np.int64)
    return np.bincount(np.minimum(at, bins - 1), minlength=bins)


def _plain(ufunc: np.ufunc, x: np.ndarray, axes: tuple[int, ...], dtype: np.dtype, keepdims: bool) -> np.ndarray:
    return add(x, axes, dtype, keepdims) if ufunc is np.add else ufunc.reduce(x, axes, dtype=dtype, keepdims=keepdims)


def _reduce(ufunc: np.ufunc, x: np.ndarray, axis: Axis, keepdims: bool) -> np.ndarray:
    axes = _axes(x, axis)
    dtype = np.dtype(np.float32) if is_half(x.dtype) and ufunc is np.add else x.dtype
    if x.size < _SHARED or not axes or not x.flags.c_contiguous or axes != tuple(range(axes[0], axes[-1] + 1)):
        return np.asarray(_plain(ufunc, x, axes, dtype, keepdims), x.dtype)
    first, last = axes[0], axes[-1] + 1
    outer, n, inner = prod(x.shape[:first]), prod(x.shape[first:last]), prod(x.shape[last:])
    table = x.reshape(outer, n, inner)
    kept = x.shape[:first] + (1,) * len(axes) + x.shape[last:] if keepdims else x.shape[:first] + x.shape[last:]
    fits = inner == 1 and n > 0 and dtype == x.dtype and dtype.char in "fd"
    if fits and x.size >= state.fused and x.flags.aligned:
        return _rows(ufunc, table.reshape(outer, n)).reshape(kept)
    if dtype == x.dtype and dtype.char in "fd" and ufunc is np.add and x.size >= state.fused and inner >= 16 and n >= 8:
        return _columns(table).reshape(kept)
    y = np.empty((outer, inner), dtype)
    if outer >= 4:

        def over_rows(start: int, stop: int) -> None:
            y[start:stop] = _plain(ufunc, table[start:stop], (1,), dtype, False)

        sharing.parallel_for(outer, max(1, _BLOCK // (n * inner)), over_rows)
    elif n >= 8:
        blocks = min(n, -(-x.size // _BLOCK))
        bounds = [n * i // blocks for i in range(blocks + 1)]
        parts = np.empty((outer, blocks, inner), dtype)

        def over_blocks(start: int, stop: int) -> None:
            for i in range(start, stop):
                parts[:, i] = _plain(ufunc, table[:, bounds[i] : bounds[i + 1]], (1,), dtype, False)

        sharing.parallel_for(blocks, 1, over_blocks)
        y = _plain(ufunc, parts, (1,), dtype, False)
    else:
        y = _plain(ufunc, table, (1,), dtype, False)
    return y.reshape(kept).astype(x.dtype, copy=False)


def _rows(ufunc: np.ufunc, rows: np.ndarray) -> np.ndarray:
    """Row reductions by compiled code; a few long rows are cut into blocks, which are rows again."""
    outer, n = rows.shape
    if outer < 16 and n >= 2 * _BLOCK:
        blocks = n // _BLOCK
        parts = [_rows(ufunc, rows[:, : blocks * _BLOCK].reshape(outer * blocks, _BLOCK)).reshape(outer, blocks)]
        if n % _BLOCK:
            parts.append(ufunc.reduce(rows[:, blocks * _BLOCK :], 1, keepdims=True))
        return ufunc.reduce(np.concatenate(parts, 1), 1)
    y = np.empty(outer, rows.dtype)
    char = rows.dtype.char
    if ufunc is np.add:
        sharing.share_rows(_compiled.sum_rows, char, outer, n, 1, rows, y)
    else:
        sharing.share_rows(_compiled.extreme_rows, char, outer, n, 1, rows, y, ufunc is np.minimum)
    return y


def _columns(table: np.ndarray) -> np.ndarray:
    """Sums over the middle axis by compiled code: (outer, n, inner) to (outer, inner)."""
    outer, n, inner = table.shape
    # A fixed number of blocks, added up in order: the result does not depend on the threads. Blocks are short for exactness.
    per_block = min(-(-n // max(1, min(16 // outer, n * inner // _BLOCK))), RUN)
    parts = np.empty((outer, -(-n // per_block), inner), table.dtype)
    items, cols = outer * parts.shape[1], per_block * inner
    sharing.share_rows(_compiled.sum_blocks, table.dtype.char, items, cols, 1, contiguous(table), parts, per_block)
    return parts[:, 0] if parts.shape[1] == 1 else add(parts, (1,))


def fits_distance(x: np.ndarray, z: np.ndarray) -> bool:
    """Whether the distances of two arrays are worth a compiled pass."""
    fits = x.size >= _SHARED and x.size >= state.fused and x.shape == z.shape and x.dtype == z.dtype and x.dtype.char in "fd"
    return fits and x.flags.c_contiguous and z.flags.c_contiguous and x.flags.aligned and z.flags.aligned


def square_distance(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """``sum((x - z)**2)``, 0-d; needs ``fits_distance``."""
    blocks = -(-x.size // 4096)
    parts = np.empty(blocks)
    sharing.share_rows(_compiled.square_distances, x.dtype.char, blocks, 4096, 1, x.reshape(-1), z.reshape(-1), parts)
    return np.asarray(parts.sum(), x.dtype)


def square_distance_backward(
    grad: float, x: np.ndarray, z: np.ndarray, needs: tuple[bool, bool]
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The gradients ``2 grad (x - z)`` for ``x``, and the opposite for ``z``; needs ``fits_distance``."""
    scale, dx = 2.0 * grad if needs[0] else -2.0 * grad, np.empty(x.shape, x.dtype)
    dz = np.empty(x.shape if needs[0] and needs[1] else 0, x.dtype)
    kernel, flat = _arithmetic.scaled_differences, (v.reshape(-1) for v in (x, z))
    sharing.share_elements(kernel, x.dtype.char, x.size, *flat, scale, dx.reshape(-1), dz.reshape(-1))
    return (dx if needs[0] else None), (dz if needs[0] else dx) if needs[1] else None


def sum(x: np.ndarray, axis: Axis = None, keepdims: bool = False) -> np.ndarray:
    """The sum over ``axis`` (an axis, several, or ``None`` for all); the dtype of ``x``.

    >>> sum(np.ones((2, 3)), 1)
    array([3., 3.])
    """
    return _reduce(np.add, x, axis, keepdims)


def mean(x: np.ndarray, axis: Axis = None, keepdims: bool = False) -> np.ndarray:
    """The mean over ``axis`` of a floating-point ``x``; NaN over nothing.

    >>> mean(np.array([1.0, 2.0]))
    array(1.5)
    """
    count = prod(x.shape[a] for a in _axes(x, axis))
    total = _reduce(np.add, cast(x, SINGLE) if is_half(x.dtype) else x, axis, keepdims)  # a half sum may overflow
    with ignoring():
        return np.asarray(total / total.dtype.type(count), x.dtype)


def amax(x: np.ndarray, axis: Axis = None, keepdims: bool = False) -> np.ndarray:
    """The maximum over ``axis``.

    >>> amax(np.array([1.0, 2.0]))
    array(2.)
    """
    return _reduce(np.maximum, x, axis, keepdims)


def amin(x: np.ndarray, axis: Axis = None, keepdims: bool = False) -> np.ndarray:
    """The minimum over ``axis``."""
    return _reduce(np.minimum, x, axis, keepdims)


@lru_cache(1024)
def _lines(shape: tuple[int, ...], strides: tuple[int, ...], item: int, axis: int) -> tuple[tuple[int, ...], int]:
    """(outer, n, inner) of lines along an axis, the steps along each in memory, and how much of it they reach over, in elements; over none
    where there is no one step."""
    sizes, steps, span, single = [], [], 1, min(strides) >= 0 and not [s for s in strides if s % item]
    for part in (slice(0, axis), slice(axis, axis + 1), slice(axis + 1, None)):
        kept = [(n, s) for n, s in zip(shape[part], strides[part], strict=True) if n != 1]
        single = single and not any([s != n * step for (_, s), (n, step) in zip(kept, kept[1:])])
        sizes.append(prod(shape[part]))
        steps.append(kept[-1][1] // item if kept else 0)
        span += (sizes[-1] - 1) * steps[-1]
    return (*sizes, *steps), span if single else 0


@lru_cache(1024)
def _in_order(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """The same of an array that lies in order."""
    n, inner = shape[axis], prod(shape[axis + 1 :])
    return prod(shape[:axis]), n, inner, n * inner, inner, 1


def _in_lines(x: np.ndarray, axis: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """Memory that holds an array, or a copy of it, and its lines there."""
    flags = x.flags
    if not flags.c_contiguous and flags.aligned and x.size:
        lines, span = _lines(x.shape, x.strides, x.itemsize, axis)
        if span:
            return strided(x, (span,), (x.itemsize,)), lines
    return x if flags.carray else sharing.copy(x), _in_order(x.shape, axis)


def running_total(x: np.ndarray, axis: int, product: bool, within: bool = False) -> np.ndarray | None:
    """Running sums, or products, along ``axis`` (not negative): of float32 in double precision, of half precision in float32; ``within``
    the array, which is in order. None where a kernel is not worth its loading; NumPy gives the same bits."""
    char, size = x.dtype.char, x.size
    if char not in "fdEel" or (run := _total.of(char, size)) is None and size < state.cheap:
        return None
    memory, lines = (x, _in_order(x.shape, axis)) if x.flags.carray else _in_lines(x, axis)
    y = x if within else np.empty(x.shape, x.dtype)
    if run is not None and size <= _ALONE:
        run(lines[0] * -(-lines[2] // 128), 1, memory, y, *lines, product)
        return y
    outer, n, inner, *_ = lines
    _total.share(char, outer * -(-inner // 128), n * min(128, inner), 2, memory, y, *lines, product)
    return y


def way_to_run(x: np.ndarray, axis: int, which: str) -> folds.Way | bool:
    """The way of running sums ("+"), products ("*"), maxima (">") or minima ("<") along ``axis`` of what lies as an array, as `folds.kept`
    has it."""
    extreme, lies = which in "<>", x.flags.carray
    lines, span = (_in_order(x.shape, axis), 0) if lies else _lines(x.shape, x.strides, x.itemsize, axis) if x.size else ((), 0)
    if not x.size or x.size > _ALONE or not lies and (not span or x.flags.c_contiguous):
        return True
    shape, dtype, item, items, last = x.shape, x.dtype, x.itemsize, lines[0] * -(-lines[2] // 128), which in "<*"
    run = (_extreme if extreme else _total).of(dtype.char, x.size)

    def total(x: np.ndarray) -> np.ndarray:
        y = np.empty(shape, dtype)
        run(items, 1, strided(x, (span,), (item,)) if span else x, y, *lines, last)  # type: ignore[misc]
        return y

    def both(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, index = np.empty(shape, dtype), np.empty(shape, np.int64)
        run(items, 1, strided(x, (span,), (item,)) if span else x, values, index, *lines, last)  # type: ignore[misc]
        return values, index

    return run is not None and (both if extreme else total)


def running_total_within(x: np.ndarray, axis: int, product: bool) -> bool:
    """Writes the same over an array that lies in rows or in columns; whether it did."""
    char, size, flags = x.dtype.char, x.size, x.flags
    if char not in "fdEel" or not size or (run := _total_within.of(char, size)) is None and size < state.cheap:
        return False
    if not flags.carray:
        if not flags.farray:
            return False
        x, axis = x.T, x.ndim - 1 - axis
    outer, n, inner, *_ = _in_order(x.shape, axis)
    if run is not None and size <= _ALONE:
        run(outer * -(-inner // 128), 1, x, outer, n, inner, product)
    else:
        _total_within.share(char, outer * -(-inner // 128), n * min(128, inner), 2, x, outer, n, inner, product)
    return True


def running_extreme(x: np.ndarray, axis: int, smallest: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """Running maxima, or minima, of real numbers along ``axis`` (not negative), and where they are: the last of equal ones.

    The compiled code is that for floating-point numbers, bytes and int64, which hold what other dtypes do. None as above.
    """
    given = x.dtype
    own = char = given.char
    if char not in "fdEel":
        if char not in "?bBhHiIqQ":
            return None
        char, own = ("?", "B") if char == "?" else ("l", "l")
    size = x.size
    if (run := _extreme.of(own, size)) is None and not order.fits(size):
        return None
    if given.char != char:
        x = x.astype(char, "C")
    memory, lines = (x, _in_order(x.shape, axis)) if x.flags.carray else _in_lines(x, axis)
    values, index = np.empty(x.shape, x.dtype), np.empty(x.shape, np.int64)
    if run is not None and size <= _ALONE:
        run(lines[0] * -(-lines[2] // 128), 1, memory, values, index, *lines, smallest)
    else:
        outer, n, inner, *_ = lines
        _extreme.share(own, outer * -(-inner // 128), n * min(128, inner), 2, memory, values, index, *lines, smallest)
    return values if values.dtype is given else values.astype(given, copy=False), index


#: Elements up to which running values are one thread's.
_ALONE = 16384
_total, _extreme = Handy("reduce", "running_total"), Handy("reduce", "running_extreme")
_total_within = Handy("reduce", "running_total_within")
