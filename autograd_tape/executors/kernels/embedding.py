"""Row gathering and its vjp, and adding into rows or elements that an index names.

Additions happen in the order of the index for every target, so results are the same on every run and thread count.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ._on_demand import LazyModule, compute_array, contiguous, state, within
from .sharing import parallel_for, parallel_rows, share_rows, zeros
from .reduce import add_at

__all__ = ["embedding", "embedding_backward", "index_add", "scatter_add"]

_compiled = LazyModule("embedding")


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
    if y.size >= state.fused and weight.dtype.char in "fd":
        try:
            share_rows(_compiled.take_rows, weight.dtype.char, flat.size, width, 2, rows, flat, y)
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
    if rows.size >= state.fused and target.dtype.char in "fd" and target.flags.carray:
        run = _compiled.add_rows[target.dtype.char]
        # Every slice owns a range of columns, whole cache lines of them, and sees all of the index.
        width = rows.shape[1]
        lines = -(-width // 16)
        grain = max(1, 2048 // max(1, len(index)))
        parallel_for(lines, grain, lambda start, stop: run(target, index, rows, start * 16, min(stop * 16, width)))
        return
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    target[ordered[starts]] += np.add.reduceat(rows[order], starts, axis=0)


def index_add(out: np.ndarray, axis: int, index: np.ndarray, source: np.ndarray, alpha: float = 1) -> None:
    """``out[..., index[i], ...] += alpha * source[..., i, ...]`` along ``axis``, in place.

    >>> out = np.zeros(3)
    >>> index_add(out, 0, np.array([2, 2]), np.array([1.0, 5.0]))
    >>> out
    array([0., 0., 6.])
    """
    if index.size and (index.min() < 0 or index.max() >= out.shape[axis]):
        raise IndexError("index out of range in self")
    scaled = source if alpha == 1 else source * source.dtype.type(alpha)
    if out.ndim == 2 and axis in (0, -2) and out.flags.c_contiguous and out.dtype.kind == "f":
        _add_rows(out, np.ascontiguousarray(index, np.int64), contiguous(scaled.astype(out.dtype, copy=False)))
        return
    add_at(np.moveaxis(out, axis, 0), index, np.moveaxis(scaled, axis, 0))


def scatter_add(out: np.ndarray, axis: int, index: np.ndarray, source: np.ndarray) -> None:
    """``out[.., index[i, j], ..] += source[i, j]`` with the index replacing the coordinate of ``axis``, in place.

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
    low, high = index.min(), index.max()
    if low < 0 or high >= out.shape[axis]:
        bad = low if low < 0 else high
        raise IndexError(f"index {bad} is out of bounds for dimension {axis} with size {out.shape[axis]}")
    part = source[tuple(slice(0, n) for n in index.shape)].astype(out.dtype, copy=False)
    around = index.shape[:axis] == out.shape[:axis] and index.shape[axis + 1 :] == out.shape[axis + 1 :]
    if around and index.size >= state.fused and out.dtype.char in "fd" and out.flags.carray:
        outer, inner = prod(out.shape[:axis]), prod(out.shape[axis + 1 :])
        target3 = out.reshape(outer, out.shape[axis], inner)
        where3 = contiguous(index.astype(np.int64, copy=False)).reshape(outer, -1, inner)
        source3 = contiguous(part).reshape(where3.shape)
        cols = where3.shape[1] * inner
        share_rows(_compiled.scatter_add, out.dtype.char, outer, cols, 2, target3, where3, source3)
        return
    steps = np.ones(out.ndim, np.int64)
    for i in range(out.ndim - 2, -1, -1):
        steps[i] = steps[i + 1] * out.shape[i + 1]
    flat = index * steps[axis]
    for i in range(out.ndim):
        if i != axis:
            shape = [1] * out.ndim
            shape[i] = index.shape[i]
            flat = flat + np.arange(index.shape[i]).reshape(shape) * steps[i]
    where, values = np.ascontiguousarray(flat, np.int64).reshape(-1), np.ascontiguousarray(part).reshape(-1)
    target = out if out.flags.c_contiguous else out.copy(order="C")
    line = target.reshape(-1)
    if values.size >= state.fused and line.dtype.char in "fd" and line.flags.carray:
        _compiled.add_elements[line.dtype.char](line, where, values)
    else:
        add_at(line, where, values)
    if target is not out:
        out[...] = target
