"""Mean and variance over any axes of any layout, exact however large the mean: where all numbers are equal, the variance is 0.

Two passes around a number close to the mean, corrected by the mean of what is left (Chan, Golub and LeVeque, "Algorithms for computing
the sample variance", 1983); means and variances of blocks are joined in double precision.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from ._on_demand import LazyModule, contiguous, state
from .sharing import share_rows
from .reduce import add
from ...warned import ignoring

__all__ = ["join", "moments", "of_rows"]

_compiled = LazyModule("norm")
#: Rows of fewer than 16 are cut into blocks of this many numbers, columns into blocks of this many rows or numbers.
_BLOCK = 1 << 16
_ROWS, _NUMBERS = 256, 1 << 14


def moments(x: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and biased variance of a float32 or float64 ``x`` over ``axes`` (not negative), in float64 with those axes of size 1.

    >>> mean, variance = moments(np.array([[1e8, 1e8 + 2], [5, 5]], np.float32), (1,))
    >>> mean.tolist(), variance.tolist()
    ([[100000000.0], [5.0]], [[0.0], [0.0]])
    """
    if not x.size:
        kept = tuple([1 if a in axes else n for a, n in enumerate(x.shape)])
        nothing = np.full(kept, np.nan) if prod(kept) else np.empty(kept)
        return nothing, nothing.copy()
    order, shape, lined, back = _geometry(x.shape, x.strides, x.itemsize, axes)
    mean, variance = _table(contiguous(x.transpose(order)).reshape(shape))
    return mean.reshape(lined).transpose(back), variance.reshape(lined).transpose(back)


@lru_cache(1024)
def _geometry(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int,
              axes: tuple[int, ...]) -> tuple[list[int], tuple[int, int, int], tuple[int, ...], list[int]]:
    """The dimensions as they lie in memory, or else rows of what belongs together; (outer, n, inner) of these, the shape of what is found
    in them, and the order that turns it back."""
    order = sorted(range(len(shape)), key=lambda a: -abs(strides[a]))
    at = [i for i, a in enumerate(order) if a in axes and shape[a] > 1] or [0]
    between = [order[i] for i in range(at[0], at[-1]) if order[i] not in axes and shape[order[i]] > 1]
    closely = [itemsize * prod([shape[b] for b in order[i + 1:]]) for i in range(len(order))]
    if between or [a for a, step in zip(order, closely) if shape[a] > 1 and strides[a] != step]:  # no run of memory
        order = [a for a in range(len(shape)) if a not in axes] + list(axes)
        at = [i for i, a in enumerate(order) if a in axes] or [0]
    reduced = [a in axes for a in order]
    n = prod([shape[a] for a in axes])
    outer = prod([shape[a] for i, a in enumerate(order) if not reduced[i] and i < at[0]])
    back = sorted(range(len(order)), key=order.__getitem__)
    return order, (outer, n, prod(shape) // (outer * n)), tuple([1 if yes else shape[a] for a, yes in zip(order, reduced)]), back


def of_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`moments` of each row of a contiguous matrix, flat.

    >>> [v.tolist() for v in of_rows(np.array([[1.0, 3.0], [5, 5]]))]
    [[2.0, 5.0], [1.0, 0.0]]
    """
    n, size = rows.shape
    if not size:
        return np.full(n, np.nan), np.full(n, np.nan)
    mean, variance = _table(rows.reshape(n, size, 1))
    return mean.reshape(-1), variance.reshape(-1)


def join(means: np.ndarray, variances: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance over axis 1 of parts whose means and variances are given, with ``counts`` (parts, 1) numbers each."""
    if means.shape[1] == 1:
        return means[:, 0], variances[:, 0]
    share = counts / counts.sum()
    first = means[:, :1]
    mean = first + ((means - first) * share).sum(1, keepdims=True)
    return mean[:, 0], ((variances + (means - mean) ** 2) * share).sum(1)


def _table(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of (outer, n, inner) over the middle axis: two arrays (outer, inner)."""
    outer, n, inner = table.shape
    if table.size < state.fused:
        return _small(table)
    char = table.dtype.char
    if inner == 1 and (outer >= 16 or n < 2 * _BLOCK):
        mean, variance = np.empty(outer), np.empty(outer)
        share_rows(_compiled.moments, char, outer, n, 1, table.reshape(outer, n), mean, variance)
        return mean.reshape(outer, 1), variance.reshape(outer, 1)
    if inner == 1:  # a few long rows: blocks of them are rows again
        whole = n - n % _BLOCK
        parts = [_table(table[:, :whole].reshape(-1, _BLOCK, 1))]
        counts = [float(_BLOCK)] * (whole // _BLOCK)
        if whole < n:
            parts.append(_table(contiguous(table[:, whole:])))
            counts.append(float(n - whole))
        means, variances = (np.concatenate([p[i].reshape(outer, -1, 1) for p in parts], 1) for i in (0, 1))
        return join(means, variances, np.array(counts)[:, None])
    if inner < 8 and n >= 64:  # so few columns: each becomes a row
        first, second = _table(contiguous(table.swapaxes(1, 2)).reshape(outer * inner, n, 1))
        return first.reshape(outer, inner), second.reshape(outer, inner)
    per_block = min(n, max(_ROWS, _NUMBERS // inner))
    blocks = -(-n // per_block)
    mean3, variance3 = np.empty((outer, blocks, inner)), np.empty((outer, blocks, inner))
    share_rows(_compiled.moments_blocks, char, outer * blocks, per_block * inner, 1, table, mean3, variance3, per_block)
    counts = [float(per_block)] * (blocks - 1) + [float(n - (blocks - 1) * per_block)]
    return join(mean3, variance3, np.array(counts)[:, None])


def _small(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = table.shape[1]
    wide = table.astype(np.float64)
    with ignoring():
        mean = add(wide, (1,), None, True)
        mean /= n
        wide -= mean
        shift = add(wide, (1,)) / n if table.dtype.char == "d" else 0.0  # what float32 is added up in is exact enough
        np.multiply(wide, wide, wide)
        variance = add(wide, (1,))
        variance /= n
        variance -= shift * shift
        return mean[:, 0] + shift, np.maximum(variance, 0.0, out=variance)
