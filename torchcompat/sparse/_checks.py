"""What torch demands of the parts of sparse tensors, in its words, and whether it is checked."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from autograd_tape.annotations import Fn

from .._tensor import Tensor
from .._memory.layout import layout, sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from .._calls.shown import shown_in


class check_sparse_tensor_invariants:
    """Switches checks of the parts of new sparse tensors on or off: by `enable` and `disable`, for a block, or for a function.

    >>> import torchcompat as torch
    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse_coo_tensor([[5]], [1.], (2,))
    Traceback (most recent call last):
    RuntimeError: size is inconsistent with indices: for dim 0, size is 2 but found index 5
    """

    _on = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether new sparse tensors are checked."""
        return check_sparse_tensor_invariants._on

    @staticmethod
    def enable() -> None:
        """New sparse tensors are checked from now on."""
        check_sparse_tensor_invariants._on = True

    @staticmethod
    def disable() -> None:
        """New sparse tensors are not checked from now on."""
        check_sparse_tensor_invariants._on = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError("This context manager instance is already activated. Use a different context manager instance for context "
                               "nesting.")
        self.saved_state = self.is_enabled()
        check_sparse_tensor_invariants._on = self.state

    def __exit__(self, *exc: object) -> None:
        check_sparse_tensor_invariants._on, self.saved_state = bool(self.saved_state), None

    def __call__(self, function: Fn) -> Fn:
        def checked(*args: object, **kwargs: object) -> object:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


shown_in("torchcompat.sparse", check_sparse_tensor_invariants)


def wanted(given: bool | None) -> bool:
    """Whether to check, where a call says so or not."""
    return check_sparse_tensor_invariants.is_enabled() if given is None else given


def require(holds: object, text: str) -> None:
    """RuntimeError with torch's text unless something holds."""
    if not holds:
        raise RuntimeError(text)


# -- coordinates --------------------------------------------------------------------------------------------------------------


def coo_shapes(indices: tuple[int, ...], values: tuple[int, ...], size: Sequence[int] | None) -> None:
    """Raises where the shapes of indices and values do not fit each other, or the sizes; always checked."""
    require(len(indices) == 2, f"indices must be sparse_dim x nnz, but got: {list(indices)}")
    if size is not None and len(size) != indices[0] + max(len(values) - 1, 0):
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {indices[0]}, "
                           f"dense_dim = {max(len(values) - 1, 0)}")
    nnz = values[0] if values else 0
    require(indices[1] == nnz, f"indices and values must have same nnz, but got nnz from indices: {indices[1]}, nnz from values: {nnz}")
    if size is not None:
        bounded(size)
        dense = tuple(size[indices[0]:])
        require(tuple(values[1:]) == dense, f"values has incorrect size, expected {[nnz, *dense]}, got {list(values)}")


def bounded(size: Sequence[int]) -> None:
    """Raises where places in order of rows would be no int64."""
    require(all([n >= 0 for n in size]) and math.prod(size) < 2**63, "numel: integer multiplication overflow")


def coo_indices(indices: np.ndarray, size: Sequence[int], coalesced: bool | None) -> None:
    """Raises where indices point outside the sizes."""
    if not indices.shape[1]:
        return
    for dim, (row, n) in enumerate(zip(indices, size)):
        require(row.min() >= 0, f"found negative index {row.min()} for dim {dim}")
        require(row.max() < n, f"size is inconsistent with indices: for dim {dim}, size is {n} but found index {row.max()}")
    if coalesced:
        flat = np.ravel_multi_index(tuple(indices), tuple(size[:len(indices)])) if len(indices) else np.zeros(indices.shape[1])
        require((np.diff(flat) > 0).all(), "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


# -- rows and columns ---------------------------------------------------------------------------------------------------------

WORDS = {sparse_csr: ("crow_indices", "col_indices", "row"), sparse_bsr: ("crow_indices", "col_indices", "row block"),
         sparse_csc: ("ccol_indices", "row_indices", "column"), sparse_bsc: ("ccol_indices", "row_indices", "column block")}
"""What torch calls the compressed indices, the plain ones, and what is compressed."""


def compressed_parts(lay: layout, compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int]) -> None:
    """Raises where the parts of a compressed tensor do not make one."""
    c_name, p_name, _ = WORDS[lay]
    block = 2 * (lay is sparse_bsr or lay is sparse_bsc)
    cd, pd, vd = compressed.ndim, plain.ndim, values.ndim
    require(cd >= 1, f"{c_name} must have dimensionality >= 1 but got {cd}")
    require(pd == cd, f"{c_name} and {p_name} dimensionalities must be equal but got {cd} and {pd}, respectively")
    batch = cd - 1
    require(vd >= batch + 1 + block or not block,
            f"values must have dimensionality > sum of batch and block dimensionalities (={batch} + {block}) but got {vd}")
    dense = vd - batch - 1 - block
    require(len(size) == batch + 2 + dense, "tensor dimensionality must be sum of batch, base, and dense dimensionalities "
                                            f"(={batch} + 2 + {dense}) but got {len(size)}")
    bounded(size)
    batchsize = tuple(size[:batch])
    require(batchsize == tuple(compressed.shape[:-1]) == tuple(plain.shape[:-1]) == tuple(values.shape[:batch]),
            f"all batch dimensions of {c_name} (={list(compressed.shape[:-1])}), {p_name} (={list(plain.shape[:-1])}), and values "
            f"(={list(values.shape[:batch])}) must be equal to tensor batch dimensions (={list(batchsize)})")
    blocks = tuple(values.shape[batch + 1:batch + 3]) if block else (1, 1)
    rows, cols = size[batch:batch + 2]
    if block:
        for i, (n, b) in enumerate(zip((rows, cols), blocks)):
            require(n % b == 0 if b else n == 0, f"tensor shape[{batch + i}] (={n}) must be divisible with blocksize[{i}] (={b}) as "
                                                 "defined by values shape")
    by_rows = lay is sparse_csr or lay is sparse_bsr
    height, width = rows // max(blocks[0], 1), cols // max(blocks[1], 1)
    n_compressed, n_plain = (height, width) if by_rows else (width, height)
    nnz = plain.shape[-1]
    require(compressed.shape[-1] == n_compressed + 1,
            f"{c_name}.shape[-1] must be equal to the number of {'rows' if by_rows else 'columns'} + 1 (={n_compressed + 1}), but got "
            f"{compressed.shape[-1]}" if not block else
            f"{c_name}.shape[-1] must be equal to the number of {'row' if by_rows else 'column'} blocks + 1 (={n_compressed + 1}), but got "
            f"{compressed.shape[-1]}")
    require(values.shape[batch] == nnz, f"{p_name}.shape[-1] must be equal to nnz (={values.shape[batch]}) as defined by "
                                        f"values.shape[{batch}], but got {nnz}")
    require(tuple(values.shape[batch + 1 + block:]) == tuple(size[batch + 2:]),
            f"values.shape[{batch + 1 + block}:] must be equal to tensor dense dimensions (={list(size[batch + 2:])}), but got "
            f"{list(values.shape[batch + 1 + block:])}")
    compressed_indices(lay, compressed._data, plain._data, n_compressed, n_plain, nnz)


def compressed_indices(lay: layout, compressed: np.ndarray, plain: np.ndarray, rows: int, cols: int, nnz: int) -> None:
    """Raises where indices are not in order or point outside."""
    c_name, p_name, _ = WORDS[lay]
    count = math.prod(compressed.shape[:-1])
    c, p = compressed.reshape(count, rows + 1), plain.reshape(count, nnz)
    c_dim, p_dim = ("nrows", "ncols") if c_name == "crow_indices" else ("ncols", "nrows")
    require((c[:, 0] == 0).all(), f"`{c_name}[..., 0] == 0` is not satisfied.")
    require((c[:, -1] == nnz).all(), f"`{c_name}[..., -1] == nnz` is not satisfied.")
    step = np.diff(c, axis=1)
    require((step >= 0).all() and (step <= cols).all(),
            f"`0 <= {c_name}[..., 1:] - {c_name}[..., :-1] <= {'ncols' if p_dim == 'ncols' else 'nrows'}` is not satisfied.")
    require(not p.size or p.min() >= 0, f"`0 <= {p_name} < {p_dim}` is not satisfied.")
    require(not p.size or p.max() < cols, f"`0 <= {p_name} < {p_dim}` is not satisfied.")
    for starts, row in zip(c, p):
        inner = np.ones(len(row), bool)
        inner[starts[:-1][starts[:-1] < len(row)]] = False
        require((np.diff(row, prepend=-1) > 0)[inner].all() if len(row) else True,
                f"`{p_name}[..., {c_name}[..., i - 1]:{c_name}[..., i]] for all i = 1, ..., {c_dim} are sorted and distinct along the last "
                "dimension values` is not satisfied.")
