"""Rows, parts and elements that an index names: taken, put and added.

Additions happen in the order of the index for every target, so results are the same on every run and thread count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ...dtypes import as_bits
from ...strided import contiguous_strides, strided
from ...warned import ignoring
from ._on_demand import _NEVER, LazyModule, contiguous, is_half, keep, state, within
from .halves import compute_array, recast, widened
from .handy import Handy, Run
from .moved import steps_of
from .sharing import MOVED, parallel_for, parallel_rows, share_rows, zeros
from .reduce import add_at

__all__ = [
    "ELEMENTS", "FLAT", "MEAN", "ONE", "ONE_PART", "PARTS", "bags", "embedding", "embedding_backward", "gather", "gathered",
    "how_added", "index_add", "memory", "neutral_of", "places", "plain_axis", "put_others", "scatter", "scatter_add",
    "segments", "segments_gradient",
]

_compiled = LazyModule("embedding")

#: Which others are put at positions along a dimension: one for each element of an index with as many dimensions, and perhaps more that are
#: left over; as many parts as a vector names; one for each element of an index of the flattened array; one number for all elements of an
#: index, or all parts that a vector names.
ELEMENTS, PARTS, FLAT, ONE, ONE_PART = range(5)
#: What `put_others` reduces to beside sums (0), products, the largest and the least.
MEAN = 4


def embedding(weight: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Rows of ``weight`` (V, D): result ``index.shape + (D,)``.  Raises ``IndexError`` outside ``[0, V)``.

    >>> embedding(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 1]))
    array([[3., 4.],
           [3., 4.]])
    """
    rows = contiguous(weight)
    flat = np.ascontiguousarray(index, np.int64).reshape(-1)
    width = weight.shape[1]
    y = np.empty((flat.size, width), weight.dtype)
    if y.size >= state.fused and (moved := _moved(rows, y)) is not None:
        try:
            share_rows(_compiled.take_rows, moved[0].dtype.char, flat.size, moved[0].shape[1], 2, moved[0], flat, moved[1])
        except IndexError:
            raise IndexError("index out of range in self") from None
        return y.reshape(*index.shape, width)
    if index.size and (index.min() < 0 or index.max() >= weight.shape[0]):
        raise IndexError("index out of range in self")
    # The index is checked, and mode "raise" would gather into a buffer of its own first.
    parallel_rows(
        flat.size, width, lambda start, stop: np.take(rows, flat[start:stop], 0, out=y[start:stop], mode="clip")
    )
    return y.reshape(*index.shape, width)


def _moved(table: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows of two matrices as float64 or float32, in which they are moved whatever they hold; None where they do not fill such numbers."""
    if table.dtype.char in "fd":
        return table, y
    width = y.shape[1] * y.itemsize
    if width & 3:
        return None
    wide = "f" if width & 7 else "d"
    table, y = table.view(wide), y.view(wide)
    return (table, y) if table.flags.aligned and y.flags.aligned else None


def embedding_backward(
    grad: np.ndarray,
    index: np.ndarray,
    num_rows: int,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
) -> np.ndarray:
    """The gradient (num_rows, D) for the weight; the row ``padding_idx`` gets none (``-1``: there is no such row).

    With ``scale_grad_by_freq`` each contribution is divided by how often its index occurs.
    """
    width = grad.shape[-1]
    flat = np.ascontiguousarray(index, np.int64).reshape(-1)
    g = contiguous(compute_array(grad)).reshape(flat.size, width)
    if not within(flat, num_rows):  # it may have changed since the forward pass
        raise IndexError("index out of range in self")
    if scale_grad_by_freq and flat.size:
        counts = np.bincount(flat, minlength=num_rows)
        g = g / counts[flat][:, None].astype(g.dtype)
    if padding_idx >= 0:
        kept = flat != padding_idx
        if not kept.all():
            flat, g = flat[kept], g[kept]
    dw = zeros((num_rows, width), g.dtype)
    _add_rows(dw, flat, g)
    return dw.astype(grad.dtype, copy=False)


def _add_rows(target: np.ndarray, index: np.ndarray, rows: np.ndarray) -> None:
    """``target[index[i]] += rows[i]`` for every ``i``; all C-contiguous, ``index`` checked."""
    if not rows.size:
        return
    if rows.size >= state.fused and target.dtype.char in "fdl" and target.flags.carray:
        run = _compiled.add_rows[target.dtype.char]
        # Every slice owns a range of columns, whole cache lines of them, and sees all of the index.
        width = rows.shape[1]
        lines = -(-width // 16)
        grain = max(1, 2048 // max(1, len(index)))
        parallel_for(lines, grain, lambda start, stop: run(target, index, rows, start * 16, min(stop * 16, width)))
        return
    if target.dtype.char in _NARROW and rows.size >= max(target.size, state.fused):
        wide = target.astype(np.int64)
        _add_rows(wide, index, rows.astype(np.int64))
        target[...] = wide
        return
    if rows.size <= _FEW or rows.dtype.kind not in "fc":
        add_at(target.reshape(-1), (index[:, None] * rows.shape[1] + np.arange(rows.shape[1])).reshape(-1), rows.reshape(-1))
        return
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    target[ordered[starts]] += np.add.reduceat(rows[order], starts, axis=0)


def index_add(out: np.ndarray, axis: int, index: np.ndarray, source: np.ndarray, alpha: float = 1) -> None:
    """``out[..., index[i], ...] += alpha * source[..., i, ...]`` along ``axis``, in place; half precision is added in float32 and
    rounded once.

    >>> out = np.zeros(3)
    >>> index_add(out, 0, np.array([2, 2]), np.array([1.0, 5.0]))
    >>> out
    array([0., 0., 6.])
    """
    axis %= out.ndim
    index = np.ascontiguousarray(index, np.int64)
    if not within(index, out.shape[axis]):
        raise IndexError("index out of range in self")
    if not source.size:
        return
    scaled = source if alpha == 1 else source * source.dtype.type(alpha)
    if not is_half(out.dtype):
        scaled = scaled.astype(out.dtype, copy=False)
    outer, inner = prod(out.shape[:axis]), prod(out.shape[axis + 1 :])
    if outer == 1 and scaled.size >= _ALONE and scaled.size >= state.fused and out.dtype.char != "?" and out.flags.c_contiguous and (
            not is_half(out.dtype)):
        if inner == 1:
            add_at(out.reshape(-1), index, scaled.reshape(-1))
        else:
            _add_rows(out.reshape(-1, inner), index, contiguous(scaled).reshape(-1, inner))
    elif not put_others(out, axis, index, scaled, how_added(out.dtype), by=PARTS) and not _added_in_turns(out, axis, index, scaled):
        spread = np.broadcast_to(index.reshape((-1,) + (1,) * (out.ndim - 1 - axis)), scaled.shape)
        line, at = _line(out, axis, spread)
        add_at(line, at.reshape(-1), scaled.reshape(-1))


#: Elements of a part, and for each turn, from which on adding parts in turns takes NumPy less time than adding elements.
_PART, _TURN = 32, 2048


def _added_in_turns(out: np.ndarray, axis: int, index: np.ndarray, source: np.ndarray) -> bool:
    """`index_add` in NumPy's passes: what is first for its place, then all that is second, and so on, which is the order of the index for
    each of them. Whether it was done: parts of few elements, and many for one place, are added element by element."""
    n, size = index.size, source.size
    if size < n * _PART or size < 8 * _TURN or out.dtype.char == "?" or (most := int(np.bincount(index).max())) * _TURN > size:
        return False
    total = out.astype(np.float32) if is_half(out.dtype) else out
    into, parts = np.moveaxis(total, axis, 0), np.moveaxis(source.astype(total.dtype, copy=False), axis, 0)
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    turn = np.arange(n) - np.repeat(first, np.diff(first, append=n))
    with ignoring():
        for k in range(most):
            chosen = order[turn == k]
            into[index[chosen]] += parts[chosen]
    if total is not out:
        out[...] = total
    return True


def how_added(dtype: np.dtype) -> int:
    """What `put_others` does that adds: half precision is rounded once, and the sum of truth values is the largest."""
    return 2 if dtype.char == "?" else 0


# -- element by element -----------------------------------------------------------------------------------------------------


def places(index: np.ndarray, axis: int, shape: tuple[int, ...], steps: tuple[int, ...] | None = None) -> np.ndarray:
    """Where the elements lie in an array of ``shape`` whose coordinate along ``axis`` is the index, the others its own; C-contiguous, or
    with ``steps`` along its dimensions.

    >>> places(np.array([[2, 0]]), 1, (2, 3)), places(np.array([[1, 0]]), 0, (2, 3))
    (array([[2, 0]]), array([[3, 1]]))
    """
    if len(shape) == 1 and steps is None:
        return index
    step, own = (_kept_grid if index.size <= _KEPT else _grid)(index.shape, axis, shape, steps)
    return index + own if step == 1 else index * step + own


def _grid(size: tuple[int, ...], axis: int, shape: tuple[int, ...], steps: tuple[int, ...] | None) -> tuple[int, np.ndarray]:
    """(the step of ``axis``, what the other coordinates add)."""
    own, steps = np.zeros((), np.int64), steps or contiguous_strides(shape)
    for i in range(len(shape) - 1, -1, -1):
        if i != axis:
            own = own + (np.arange(size[i]) * steps[i]).reshape((-1,) + (1,) * (len(shape) - 1 - i))
    return steps[axis], own


_kept_grid = lru_cache(64)(_grid)


def _step(sizes: Sequence[int], strides: Sequence[int], item: int) -> int:
    """How many elements are from one to the next of dimensions, in order; -1 where there is no such number."""
    counted = [(n, s) for n, s in zip(sizes, strides) if n > 1]
    if any([s != n * t for (_, s), (n, t) in zip(counted, counted[1:])]):
        return -1
    step, rest = divmod(counted[-1][1], item) if counted else (1, 0)
    return -1 if rest else step


@lru_cache(1024)
def _geometry(have: tuple[int, ...], strides: tuple[int, ...], item: int, dim: int, index: tuple[int, ...], size: tuple[int, ...],
              steps: tuple[int, ...], by: int) -> tuple[int, ...] | None:
    """(a, b, c, p, q, r, outer, v, along, inner, alone) of an array, an index and others, as the kernels take them; None where they do not
    fit, there are none, or they lie in such an order that there are no such steps."""
    n = len(have)
    if by == FLAT:
        if 0 in index or prod(index) != prod(size) or (step := _step(size, steps, item)) < 0:
            return None
        return 1, 1, 1, 0, step, 1, 1, prod(have), prod(index), 1, 0
    if not -n <= dim < n or 0 in have or 0 in index or len(index) != (n if by in (ELEMENTS, ONE) else 1):
        return None
    d = dim % n
    if by in (ELEMENTS, ONE):
        region = index
        fits = all([a <= b for i, (a, b) in enumerate(zip(region, have)) if i != d]) and (
            not size if by == ONE else len(size) == n and all([a <= b for a, b in zip(region, size)]))
    else:
        region = (*have[:d], *index, *have[d + 1:])
        fits = not size if by == ONE_PART else size == region
    if not fits or min(*strides, *steps, 0) < 0:
        return None
    cuts = slice(0, d), slice(d, d + 1), slice(d + 1, n)
    found = [_step((have if i == 1 else region)[cut], strides[cut], item) for i, cut in enumerate(cuts)]
    found += [0, 0, 0] if by in (ONE, ONE_PART) else [_step(region[cut], steps[cut], item) for cut in cuts]
    if min(found) < 0:
        return None
    return *found, prod(region[:d]), have[d], region[d], prod(region[d + 1:]), int(by in (PARTS, ONE_PART))


def memory(array: np.ndarray) -> np.ndarray:
    """The memory from an array's first element to its last, in an array that is C-contiguous.

    Raises:
        ValueError: the array leads backwards, or by parts of elements, as no tensor does.
    """
    flags, item = array.flags, array.itemsize
    if flags.c_contiguous:
        return array
    if flags.f_contiguous:
        return array.T
    if any([s < 0 or s % item for s in array.strides]):
        raise ValueError(f"memory: steps forward by whole elements expected, got {array.strides} bytes")
    return strided(array, (sum([(n - 1) * s for n, s in zip(array.shape, array.strides)]) // item + 1,), (item,))


@lru_cache(1024)
def plain_axis(have: tuple[int, ...], dim: int, index: tuple[int, ...]) -> int:
    """The axis of an array of a shape that an index with as many dimensions is for, which is no larger along the others; -1 where there is
    none, or either has no elements.

    >>> plain_axis((3, 4), -1, (3, 9)), plain_axis((3, 4), 0, (1, 9)), plain_axis((3, 4), 2, (3, 4))
    (1, -1, -1)
    """
    n = len(have)
    if not -n <= dim < n or len(index) != n or 0 in have or 0 in index:
        return -1
    dim %= n
    return dim if all([i == dim or a <= b for i, (a, b) in enumerate(zip(index, have))]) else -1


def _char(dtype: np.dtype) -> str:
    """The kernel that moves elements of a dtype as they are, or as what is as wide."""
    return _AS_THEY_ARE.get(dtype.char) or MOVED.get(dtype.itemsize, "")


def gather(source: np.ndarray, axis: int, index: np.ndarray) -> np.ndarray:
    """``source[.., index[i, j], ..]`` with the index replacing the coordinate of ``axis``; ``index`` may be smaller along the others.
    ``IndexError`` where it is out of range.

    >>> gather(np.array([[1.0, 2.0], [3.0, 4.0]]), 1, np.array([[1], [0]]))
    array([[2.],
           [3.]])
    """
    lies = source.shape, source.strides, source.itemsize
    if not source.flags.c_contiguous and _is_apart(*lies):
        if 4 * index.size < source.size:
            if not within(index, source.shape[axis]):
                raise IndexError(f"an index is out of bounds for dimension {axis}")
            grid = [np.arange(n).reshape((n,) + (1,) * (index.ndim - 1 - i)) for i, n in enumerate(index.shape)]
            grid[axis] = index
            return source[tuple(grid)]
        source = np.array(source, order="C")
        lies = source.shape, source.strides, source.itemsize
    flat = source if source.flags.c_contiguous else source.ravel("K")  # picked where it lies
    y = np.empty(index.shape, source.dtype)
    if _taken(source, axis, index, y):
        return y
    if not within(index, source.shape[axis]):
        raise IndexError(f"an index is out of bounds for dimension {axis}")
    at = places(index, axis, source.shape, tuple([s // source.itemsize for s in source.strides]))
    return as_bits(flat).take(at).view(source.dtype)


@lru_cache(1024)
def _is_apart(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> bool:
    """Whether there are gaps between elements, or some stand for several: else they are all that lies from the first on."""
    return min(strides, default=0) <= 0 or sum([(n - 1) * s for n, s in zip(shape, strides)]) + item != prod(shape) * item


def gathered(source: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray | None:
    """`gather` by the machine code that is at hand; None where there is none, or something is unusual."""
    if index.size >= _ALONE or state.fused == _NEVER:
        return None
    if (plan := _plans.get((source.dtype.char, source.shape, source.strides, dim, index.shape))) is not None:
        run, outer, how_taken, _, rest = plan
        y = np.empty(index.shape, source.dtype)
        a, into = _as_taken(source, y, how_taken) if how_taken else (source, y)
        try:
            run(outer, 1, a, index, into, *rest)
            return y
        except TypeError:  # what is not aligned, or an index in another order, or of another dtype
            pass
    if index.dtype.char != "l" or source.dtype.char not in _AS_THEY_ARE:
        return None
    y = np.empty(index.shape, source.dtype)
    return y if _taken(source, dim, index, y) else None


def _taken(source: np.ndarray, dim: int, index: np.ndarray, y: np.ndarray) -> bool:
    """Whether a kernel took elements, as `gather` does, to ``y``, in rows."""
    if state.fused == _NEVER:
        return False
    key = source.dtype.char, source.shape, source.strides, dim, index.shape
    if (plan := _plans.get(key)) is None:
        geometry = _geometry(source.shape, source.strides, source.itemsize, dim, index.shape, index.shape, y.strides, ELEMENTS)
        steps = geometry and (*geometry[:3], *geometry[6:])
        if (plan := _planned(key, _gathered, _char(source.dtype), source, y, steps)) is None:
            return False
    run, outer, how_taken, _, rest = plan
    if how_taken:
        source, y = _as_taken(source, y, how_taken)
    try:
        run(outer, 1, source, index, y, *rest)
    except TypeError:  # what is not aligned, or an index in another order
        if index.flags.carray:
            return False
        run(outer, 1, source, np.array(index, order="C"), y, *rest)
    return True


def put_others(array: np.ndarray, dim: int, index: np.ndarray, others: np.ndarray, how: int | None = None, kept: bool = True,
               by: int = ELEMENTS) -> bool:
    """Others, of its dtype, put into an array that lies in any order, at positions along a dimension; or, as ``how`` says, reduced with
    what is there, or where that is not ``kept`` with one another. Sums and means of half precision are rounded once.

    Whether it was done: not where there is no kernel at hand, or something is unusual. ``IndexError`` where a position is not there: then
    nothing is changed.

    >>> put_others(np.zeros((2, 2)), 5, np.array([1]), np.ones((1, 2)), by=PARTS)
    False
    """
    if state.fused == _NEVER or others.dtype is not array.dtype:
        return False
    if how is not None and (char := array.dtype.char) in _NARROW and how != MEAN and (char != "B" or others.size >= _MANY) and (
            array.size <= _MANY + others.size):
        wide = array.astype(np.int64)  # modulo a power of two sums and products are what wider ones end with
        done = put_others(wide, dim, index, others.astype(np.int64), how, kept, by)
        if done:
            array[...] = wide
        return done
    key = array.dtype.char, array.shape, array.strides, dim, index.shape, others.shape, others.strides, how, kept, by
    if (plan := _plans.get(key)) is None and (plan := _to_put(key, array, others)) is None:
        return not others.flags.c_contiguous and put_others(array, dim, index, contiguous(others), how, kept, by)
    run, outer, how_taken, scratch, rest = plan
    target, given = (array, others) if not how_taken else (array.T, others) if how_taken < 0 else _as_taken(array, others, how_taken)
    try:
        if scratch is None:
            run(outer, 1, target, index, given, *rest)
        else:
            run(outer, 1, target, index, given, *scratch(target.size), *rest)
        return True
    except TypeError:  # what is not aligned, or an index in another order, or of another dtype
        if index.dtype.char != "l" or index.flags.carray and given.flags.aligned:
            return False
        return put_others(array, dim, np.array(index, order="C"), np.array(others, order="C"), how, kept, by)


def _to_put(key: tuple[Any, ...], array: np.ndarray, others: np.ndarray) -> _Plan | None:
    """The way to the kernel that does what `put_others` says."""
    _, shape, strides, dim, size, given, steps, how, kept, by = key
    if by == FLAT and not array.flags.c_contiguous:
        return _to_put_lying(key, array, others)
    geometry, char = _geometry(shape, strides, array.itemsize, dim, size, given, steps, by), array.dtype.char
    if how is None:
        return _planned(key, _scattered, _char(array.dtype), array, others, geometry)
    mean = int(how == MEAN)
    if is_half(array.dtype) and (mean or how == 0):
        return _planned(key, _summed, char, array, others, geometry, _sums_and_counts if mean else _sums, int(kept), mean)
    kernel = (_REDUCED if 0 < how < MEAN else _ADDED).get(char, "")
    if not kernel or mean and char == "?":
        return None
    neutral = np.empty(0, array.dtype) if kept else neutral_of(how, array.dtype)
    if mean:
        return _planned(key, _reduced, kernel, array, others, geometry, lambda n: (neutral, np.empty(n, np.int64)), 0, 1)
    return _planned(key, _reduced, kernel, array, others, geometry, None, neutral, _UNNAMED, how, 0)


def _to_put_lying(key: tuple[Any, ...], array: np.ndarray, others: np.ndarray) -> _Plan | None:
    """The same of an array that is not in rows, whose elements an index counts so; sums of half precision are others'."""
    char, shape, strides, _, size, given, _, how, *_ = key
    n, kernel = prod(size), _char(array.dtype) if how is None else _ADDED.get(char, "")
    if not n or n != prod(given) or min(*strides, *others.strides) < 0 or not others.flags.c_contiguous or not kernel or (
            run := _lying.of(kernel, n)) is None:
        return None
    return keep(_plans, key, (run, 1, _how_taken(array, others), None, (*steps_of(shape, strides, array.itemsize), _HOW[how], 1)))


def _sums(n: int) -> tuple[np.ndarray, ...]:
    """Where half precision is added."""
    return np.empty(n, np.float32), _UNNAMED


def _sums_and_counts(n: int) -> tuple[np.ndarray, ...]:
    return np.empty(n, np.float32), np.empty(n, np.int64)


def neutral_of(how: int, dtype: np.dtype) -> np.ndarray:
    """What changes no other number by a reduction, as `put_others` counts them."""
    if how < 2 or how == MEAN:
        return np.array(how % MEAN).astype(dtype)
    if dtype.kind == "b":
        return np.array(how == 3)
    if dtype.kind in "iu":
        return np.array(np.iinfo(dtype).min if how == 2 else np.iinfo(dtype).max, dtype)
    return np.array(-np.inf if how == 2 else np.inf).astype(dtype)


_Scratch = Callable[[int], tuple[np.ndarray, ...]]
_Plan = tuple[Run, int, int, _Scratch | None, tuple[Any, ...]]
"""What runs a kernel, and how many items it has; how arrays are taken (see `_as_taken`); what gives it memory, and what else it is told."""
_plans: dict[tuple[Any, ...], _Plan] = {}  # by all that they depend on, which costs one look


def _planned(key: tuple[Any, ...], hand: Handy, char: str, array: np.ndarray, others: np.ndarray, geometry: tuple[int, ...] | None,
             scratch: _Scratch | None = None, *first: Any) -> _Plan | None:
    """The way to a kernel, which is kept; None where it is not at hand."""
    if geometry is None or not char:
        return None
    *_, outer, v, along, inner, alone = geometry
    n = outer * along * inner
    run = hand.of(char, n)
    if run is None and n < state.fused:
        return None
    if hand is _reduced and array.ndim == 1 and n >= state.fused and scratch is None and first[1:] == (_UNNAMED, 0, 0) and not (
            first[0].size) and char in "fdl" and array.flags.c_contiguous and others.flags.c_contiguous:
        def run(items: int, _: int, target: np.ndarray, index: np.ndarray, source: np.ndarray, *rest: Any) -> None:
            if not within(index, v):
                raise IndexError("an index is out of bounds")
            add_at(target, index.reshape(-1), source.reshape(-1))
    elif run is None or n >= _ALONE:
        def run(items: int, _: int, target: np.ndarray, index: np.ndarray, *rest: Any) -> None:
            if hand is not _gathered and not alone and not within(index, v):  # before anybody begins to write
                raise IndexError("an index is out of bounds")
            hand.share(char, items, along * inner, 2, target, index, *rest)
    return keep(_plans, key, (run, outer, _how_taken(array, others), scratch, (*first, *geometry)))


def _how_taken(array: np.ndarray, others: np.ndarray) -> int:
    """How arrays are taken (see `_as_taken`), which of columns alone is a view less: -1."""
    if array.flags.f_contiguous and not array.flags.c_contiguous and others.flags.c_contiguous and array.dtype.char in _AS_THEY_ARE:
        return -1
    return (not array.flags.c_contiguous) + 2 * (not others.flags.c_contiguous) + 4 * (array.dtype.char not in _AS_THEY_ARE)


def _as_taken(array: np.ndarray, others: np.ndarray, how: int) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays as kernels take them: the memory of the first (1, 3, ...), of the second (2, 3, ...), as what is as wide (from 4 on)."""
    if how < 0:
        return array.T, others
    array, others = memory(array) if how & 1 else array, memory(others) if how & 2 else others
    return (array, others) if how < 4 else (array.view(char := _char(array.dtype)), others.view(char))


def scatter(out: np.ndarray, axis: int, index: np.ndarray, source: Any) -> None:
    """``out[.., index[i, j], ..] = source[i, j]``, in place; ``source`` has the index's shape, or is a number. Where an index is out of
    range, nothing is changed.

    >>> out = np.zeros(3)
    >>> scatter(out, 0, np.array([2, 0]), np.array([1.0, 5.0]))
    >>> out
    array([5., 0., 1.])
    """
    same = isinstance(source, np.ndarray) and source.dtype == out.dtype
    if same and source.ndim and put_others(out, axis, index, source):
        return
    if not within(index, out.shape[axis]):
        raise IndexError(f"an index is out of bounds for dimension {axis}")
    if same and out.dtype.isbuiltin == 2:  # not one by one through a function for each
        char = MOVED[out.itemsize]
        out, source = out.view(char), source.view(char)
    line, at = _line(out, axis, index)
    line[at] = source


def _line(out: np.ndarray, axis: int, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the memory of an array as a vector, where in it the elements lie that are meant)."""
    if out.flags.c_contiguous:
        return out.reshape(-1), places(index, axis, out.shape)
    return memory(out).reshape(-1), places(index, axis, out.shape, tuple([s // out.itemsize for s in out.strides]))


def scatter_add(out: np.ndarray, axis: int, index: np.ndarray, source: np.ndarray) -> None:
    """``out[.., index[i, j], ..] += source[i, j]`` with the index replacing the coordinate of ``axis``, in place; half precision is added
    in float32 and rounded once.

    ``index`` may be smaller than ``out`` and ``source`` along every axis, as in torch.

    >>> out = np.zeros((2, 2))
    >>> scatter_add(out, 1, np.array([[1, 1], [0, 1]]), np.ones((2, 2)))
    >>> out
    array([[0., 2.],
           [1., 1.]])
    """
    if not index.size:
        return
    axis %= out.ndim
    if not within(index, out.shape[axis]):
        low, high = index.min(), index.max()
        raise IndexError(f"index {low if low < 0 else high} is out of bounds for dimension {axis} with size {out.shape[axis]}")
    if not put_others(out, axis, index, source, how_added(out.dtype)):
        part = source if source.shape == index.shape else source[tuple([slice(0, n) for n in index.shape])]
        line, at = _line(out, axis, index)
        add_at(line, at.reshape(-1), part.reshape(-1))


def _cut_by(hand: Handy, data: np.ndarray, lengths: np.ndarray | None, offsets: np.ndarray | None,
            axis: int) -> tuple[np.ndarray, tuple[int, ...]] | None:
    """The lengths or offsets as a kernel takes them, and outer, n, rest, many, bounds; None where it is not worth its loading, or these
    are none."""
    given, shape, char = lengths if offsets is None else offsets, data.shape, data.dtype.char
    axis += len(shape) if axis < 0 else 0
    if given is None or char not in "fdEe" or given.dtype.char not in "il" or not given.size or given.shape[:-1] != shape[:axis] or (
            given.ndim != axis + 1):
        return None
    if hand.of(char, data.size) is None and data.size < (state.fused if data.itemsize > 2 else state.fused // 16):
        return None
    sizes = prod(shape[:axis]), shape[axis], prod(shape[axis + 1:]), given.shape[-1], int(offsets is not None)
    return np.ascontiguousarray(given, np.int64), sizes


def segments(data: np.ndarray, how: int, lengths: np.ndarray | None, offsets: np.ndarray | None, axis: int, unsafe: bool,
             start: float) -> np.ndarray | None:
    """What segments of an axis are reduced to, from `start` on, step by step: sums (0), products, the largest, the least, means (4), or
    where those of nothing are `start` (5). None where a kernel is not worth its loading, or there are no such segments.

    >>> segments(np.ones(3), 0, np.array([2, 2]), None, 0, False, 0.0) is None
    True
    """
    if (found := _cut_by(_cut, data, lengths, offsets, axis)) is None:
        return None
    given, sizes = found
    outer, n, rest, many, bounds = sizes
    axis %= data.ndim
    y = np.empty((*data.shape[:axis], many - bounds, *data.shape[axis + 1:]), data.dtype)
    try:
        _cut.share(data.dtype.char, outer, n * rest, 2, contiguous(data), given, y, how, start, not (unsafe or bounds), *sizes)
    except IndexError:
        return None
    return y


def segments_gradient(grad: np.ndarray, output: np.ndarray, data: np.ndarray, how: int, lengths: np.ndarray | None,
                      offsets: np.ndarray | None, axis: int) -> np.ndarray | None:
    """The gradient of `segments`; None also of products with zeros, or with what is no number."""
    if (found := _cut_by(_cut_gradient, data, lengths, offsets, axis)) is None or grad.shape != output.shape or (
            grad.dtype is not data.dtype):
        return None
    given, sizes = found
    outer, n, rest, *_ = sizes
    y = np.empty(data.shape, data.dtype)
    try:
        _cut_gradient.share(data.dtype.char, outer, n * rest, 2, contiguous(grad), contiguous(output), contiguous(data), given, y,
                            how, *sizes)
    except (IndexError, ValueError):  # of a gradient of another shape
        return None
    return y


def bags(
    rows: np.ndarray, index: np.ndarray | None, starts: np.ndarray, counts: np.ndarray, largest: bool = False
) -> np.ndarray | None:
    """Sums, or maxima, of ``counts[s]`` rows of float32 or float64 from ``starts[s]`` on, of bags one after another, row by row; zeros of
    none. Of rows that an ``index`` names, if there is one. None where there are no such rows.

    >>> bags(np.ones((3, 1)), None, np.array([0, 2, 2]), np.array([2, 0, 1])).tolist()
    [[2.0], [0.0], [1.0]]
    """
    char, width = rows.dtype.char, rows.shape[1]
    size = width * (len(rows) if index is None else len(index))
    out = np.zeros((len(counts), width), rows.dtype)
    if largest:
        out[counts > 0] = -np.inf
    if size >= state.fused or _segments.of(char, size) is not None:
        try:
            named = _UNNAMED if index is None else index
            _segments.share(char, len(counts), max(1, size // max(1, len(counts))), 2, contiguous(rows), named,
                            starts, counts, out, 2 if largest else 0)
        except IndexError:
            return None
        return out
    if index is not None:
        if not within(index, len(rows)):
            return None
        rows = rows.take(index, 0)
    full = counts > 0
    if not (counts >= 0).all() or full.any() and (starts + counts)[full].max() > len(rows):
        return None
    owners = np.repeat(np.arange(len(counts)), counts)
    where = (owners[:, None] * width + np.arange(width)).reshape(-1)
    if largest:
        np.maximum.at(out.reshape(-1), where, rows[:len(owners)].reshape(-1))
    else:
        add_at(out.reshape(-1), where, rows[:len(owners)].reshape(-1))
    return out


def bag_sums(
    table: np.ndarray, index: np.ndarray, weights: np.ndarray | None, starts: np.ndarray, counts: np.ndarray, mean: bool
) -> np.ndarray | None:
    """Sums, or means, of ``counts[s]`` rows that the index names from ``starts[s]`` on, times their ``weights``, row by row and of half
    precision rounded once. None where there are no such rows.

    >>> bag_sums(np.ones((3, 1)), np.array([0, 2, 1]), None, np.array([0, 2, 2]), np.array([2, 0, 1]), False).tolist()
    [[2.0], [0.0], [1.0]]
    """
    char, width = table.dtype.char, table.shape[1]
    size = width * len(index)
    if size >= state.fused or _bags.of(char, size) is not None:
        out = np.empty((len(counts), width), table.dtype)
        factors = np.empty(0, table.dtype) if weights is None else contiguous(weights).reshape(-1)
        try:
            _bags.share(char, len(counts), max(1, size // max(1, len(counts))), 2, contiguous(table), index, factors, starts, counts, out,
                        int(mean))
        except IndexError:
            return None
        return out
    if not within(index, len(table)):
        return None
    rows = table.take(index, 0)
    wide = widened(rows) if rows.itemsize == 2 else rows
    if weights is not None:
        wide = wide * (widened(weights) if rows.itemsize == 2 else weights).reshape(-1, 1)
    sums = bags(wide, None, starts, counts)
    if sums is not None and mean:
        sums /= np.maximum(counts, 1)[:, None].astype(sums.dtype)
    return None if sums is None else recast(sums, table.dtype)


_UNNAMED = np.empty(0, np.int64)
_bags = Handy("embedding", "bags")
_gathered, _scattered, _reduced = Handy("embedding", "gather"), Handy("embedding", "scatter"), Handy("embedding", "scatter_reduce")
_lying = Handy("embedding", "put_lying")
_HOW = {None: 0, 0: 1, 2: 2}  # what `put_lying` does for what `put_others` is told: puts, adds, or has the largest
_summed = Handy("embedding", "scatter_add")
_segments, _cut, _cut_gradient = [Handy("embedding", name) for name in ("segments", "cut", "cut_gradient")]
_AS_THEY_ARE = {"f": "f", "d": "d", "l": "l", "e": "e", "E": "H", "H": "H", "?": "B", "B": "B"}
_REDUCED = {"f": "f", "d": "d", "l": "l", "e": "e", "E": "E", "?": "B", "B": "B"}  # the dtypes that kernels reduce
_ADDED = {"f": "f", "d": "d", "l": "l", "?": "B"}  # the dtypes that kernels add; the sum of truth values is the largest
_NARROW = "bBhHiI"  # integers that are reduced in wider ones
_MANY = 256  # bytes that are sooner reduced so
_FEW = 512  # elements that are sooner added one by one than put in order
_ALONE = 16384  # elements that nobody shares
_KEPT = 2048  # elements up to which what coordinates add is kept
