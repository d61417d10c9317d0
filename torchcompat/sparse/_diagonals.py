"""Matrices by their diagonals."""

from __future__ import annotations

import numpy as np

from autograd_tape.annotations import Sizes

from .._calls.above import above
from .._memory.layout import layout, sparse_coo, sparse_csc, sparse_csr
from .._tensor import Tensor, frontend
from ._buffers import NAMES
from ._coo import index_tensor, made

F = frontend


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sizes, layout: layout | None = None) -> Tensor:
    """A matrix of shape (m, n) whose diagonal number `offsets[i]` holds `diagonals[i]`: element j of it lies in column j.

    Raises:
        RuntimeError: offsets repeat, or parts do not fit.

    >>> import torchcompat as torch
    >>> torch.sparse.spdiags(torch.tensor([[1., 2., 3.]]), torch.tensor([1]), (3, 3)).to_dense()
    tensor([[0., 2., 0.],
            [0., 0., 3.],
            [0., 0., 0.]])
    """
    d = F.unsqueeze(diagonals, 0) if diagonals._data.ndim == 1 else diagonals
    o = F.unsqueeze(offsets, 0) if offsets._data.ndim == 0 else offsets
    if d._data.ndim != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if o._data.ndim != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if d._data.shape[0] != o._data.shape[0]:
        raise RuntimeError(f"Number of diagonals ({d._data.shape[0]}) does not match the number of offsets ({o._data.shape[0]})")
    if layout not in (None, sparse_coo, sparse_csc, sparse_csr):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {NAMES.get(layout, 'Strided')}")
    if len(np.unique(o._data)) != o._data.size:
        raise RuntimeError("Offset tensor contains duplicate values")
    if o._k.np.kind != "i" or o._k.np.itemsize != 8:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {o._k.dtype.name.capitalize()}")
    (m, n), width = shape, d._data.shape[1]
    rows, cols, places = [], [], []
    for i, k in enumerate(o._data.tolist()):
        col = np.arange(max(k, 0), max(min(n, m + k, width), max(k, 0)))
        rows.append(col - k)
        cols.append(col)
        places.append(col + i * width)
    at = [np.concatenate(x) if x else np.zeros(0, np.int64) for x in (rows, cols, places)]
    values = F.index_select(F.reshape(d, (-1,)), 0, index_tensor(at[2]))
    x = made((m, n), index_tensor(np.stack(at[:2])), values)
    return x if layout in (None, sparse_coo) else above.sparse_methods().to_sparse(x, layout=layout)
