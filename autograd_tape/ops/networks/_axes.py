"""Linear maps along axes as matrix products: how executors without a pooling or resampling kernel compute them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ...annotations import Functions


def along_axes(F: Functions, x: np.ndarray, matrices: Sequence[np.ndarray]) -> np.ndarray:
    """`x` with a matrix (n, m) applied along each of its last dimensions, which it maps from size n to size m.

    >>> from autograd_tape.executors import cpu_executor
    >>> along_axes(cpu_executor().F, np.arange(4.0), [np.ones((4, 1))])
    array([6.])
    """
    ndim = len(x.shape)
    for axis, matrix in enumerate(matrices, ndim - len(matrices)):
        moved = F.transpose(x, axis, ndim - 1)
        shape = tuple(moved.shape)
        rows = F.matmul(F.reshape(moved, (-1, shape[-1])), matrix.astype(x.dtype))
        x = F.transpose(F.reshape(rows, (*shape[:-1], matrix.shape[1])), axis, ndim - 1)
    return np.ascontiguousarray(x)


def window_matrix(n: int, out: int, kernel: int, stride: int, padding: int) -> np.ndarray:
    """(n, out), with ones where element i lies in window j.

    >>> window_matrix(3, 2, 2, 1, 0).tolist()
    [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    offset = np.arange(n)[:, None] - (np.arange(out) * stride - padding)
    return ((offset >= 0) & (offset < kernel)).astype(float)


def cell_matrix(n: int, out: int) -> np.ndarray:
    """(n, out), with 1 / size where element i lies in cell j of `out` evenly spread ones.

    >>> cell_matrix(3, 2).tolist()
    [[0.5, 0.0], [0.5, 0.5], [0.0, 0.5]]
    """
    at, cell = np.arange(n)[:, None], np.arange(out)
    inside = (at >= cell * n // out) & (at < -(-(cell + 1) * n // out))
    return inside / np.maximum(inside.sum(0), 1)


def table_matrix(length: int, index: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """(length, m), with the weight of element i in the j-th weighted sum: weight[j, t] where index[j, t] is i."""
    matrix = np.zeros((length, len(index)))
    for tap in range(index.shape[1]):
        np.add.at(matrix, (index[:, tap], np.arange(len(index))), 1 if weight is None else weight[:, tap])
    return matrix
