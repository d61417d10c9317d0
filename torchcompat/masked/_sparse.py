"""Sparse tensors that are masked, and their reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torchcompat as torch
from autograd_tape.dtypes import DType

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor


def _flat(indices: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Rows of indices as places in order of rows."""
    flat = indices.new_zeros(indices.size(1))
    for row, n in zip(indices, shape):
        flat = flat * n + row
    return flat


def where(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    """The elements that a sparse mask lets in, zeros where the input has none; in order, each once.

    Args:
        mask: booleans, in coordinates (COO), whose dense dimensions are as many as the input's, or in rows (CSR).
        input: of the same layout and shape.
        fill_value: a number, for what the mask leaves out of the dense part of an element.

    Raises:
        AssertionError: the two differ in layout, in shape, or in dense dimensions.
    """
    if mask.layout == torch.sparse_csr:
        found: Tensor = where(mask.to_sparse_coo(), input.to_sparse_coo(), fill_value).to_sparse_csr()
        return found
    if input.layout != torch.sparse_coo:
        raise AssertionError(f"input.layout must be sparse_coo, got {input.layout}")
    if mask.shape != input.shape:
        raise AssertionError(f"mask.shape must match input.shape: {mask.shape} vs {input.shape}")
    if mask.dense_dim() != input.dense_dim():
        raise AssertionError(f"mask.dense_dim() must match input.dense_dim(): {mask.dense_dim()} vs {input.dense_dim()}")
    mask, input = mask.coalesce(), input.coalesce()
    inside = mask.values()
    kept = inside.flatten(1).any(1) if inside.ndim > 1 else inside
    at, inside = mask.indices()[:, kept], inside[kept]
    places = torch.sparse_coo_tensor(at, inside, input.shape, is_coalesced=True)
    found = input.sparse_mask(places)
    if inside.ndim == 1:
        return found
    sizes = tuple(input.shape[:input.sparse_dim()])
    there = torch.isin(_flat(at, sizes), _flat(input.indices(), sizes)).reshape(-1, *[1] * (inside.ndim - 1))
    values = torch.where(inside | ~there, found.values(), fill_value)
    return torch.sparse_coo_tensor(at, values, input.shape, is_coalesced=True)


def _grouped(name: str, values: Tensor, groups: Tensor, count: int) -> Tensor:
    """Each group of values reduced to one; half precision in float32."""
    wide = values.to(torch.float32) if values.dtype in (torch.float16, torch.bfloat16) else values
    at = groups.reshape(-1, *[1] * (values.ndim - 1)).expand(values.shape)
    made = wide.new_empty((count, *values.shape[1:])).scatter_reduce_(0, at, wide, name, include_self=False)
    return made.to(values.dtype)


def reduced_coordinates(name: str, x: Tensor, dims: tuple[int, ...], keepdim: bool, dtype: DType | None, identity: Tensor | None) -> object:
    """A sum, product, maximum or minimum of the elements that a tensor in coordinates (COO) has, along some of its dimensions.

    Args:
        name: of the reduction.
        dims: counted from the front; one that a number does not have is left out.
        dtype: of the result.
        identity: what is the reduction of nothing, where the operation refuses that.

    Returns:
        Coordinates; those of a single number where no dimension with indices is left. NotImplemented of dense dimensions, but for sums.
    """
    values, indices, sparse_dim = x._values().to(dtype=dtype), x._indices(), x.sparse_dim()
    dims = tuple([d for d in dims if d < x.ndim])
    dense = [d - sparse_dim + 1 for d in dims if d >= sparse_dim]
    along = [d for d in dims if d < sparse_dim]
    operation = getattr(torch, name)
    if dense and name != "sum":
        return NotImplemented
    if dense:
        values = operation(values, dim=dense, keepdim=keepdim)
    if len(along) == sparse_dim:
        total = identity if identity is not None and not values.size(0) else operation(values, dim=0)
        return total.reshape((1,) * (sparse_dim * keepdim) + tuple(total.shape)).to(dtype=dtype).to_sparse()
    if keepdim:
        indices = indices.clone()
        indices[along, :] = 0
    else:
        indices = indices[[d for d in range(sparse_dim) if d not in along]]
    if indices.numel():
        indices, groups = torch.unique(indices, return_inverse=True, dim=1)
        values = _grouped(name, values, groups, indices.shape[1])
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]
    return torch.sparse_coo_tensor(indices, values, shape, dtype=dtype, device=x.device)


def reduced_rows(name: str, x: Tensor, dims: tuple[int, ...], dtype: DType | None) -> Tensor:
    """A reduction of the elements that a matrix in rows (CSR) has, along rows, columns or both, which stay with size 1.

    Rows and columns without elements have none in the result.
    """
    values, crow, columns = x.values().to(dtype=dtype), x.crow_indices(), x.col_indices()
    if len(dims) == 2:
        found = min(1, values.numel())
        shape = [1, 1 if name in ("sum", "prod") else found]
        values = getattr(torch, name)(values, 0, keepdim=True)[:found] if found else values
        crow, columns = torch.tensor([0, found]), columns.new_zeros(found)
    elif dims == (0,):
        columns, groups = torch.unique(columns, return_inverse=True)
        values = _grouped(name, values, groups, len(columns))
        crow, shape = torch.tensor([0, len(columns)]), [1, x.size(1)]
    else:
        counts = crow.diff()
        there = counts != 0
        if name in ("sum", "prod"):
            rows = torch.repeat_interleave(there.cumsum(0) - 1, counts)
            values = _grouped(name, values, rows, int(there.sum()))
        else:
            values = torch._segment_reduce(values, name, offsets=crow)[there]
        columns, shape = columns.new_zeros(int(there.sum())), [x.size(0), 1]
        crow = torch.cat((crow.new_zeros(1), there.cumsum(0)))
    return torch.sparse_csr_tensor(crow, columns, values, shape, dtype=dtype, device=x.device)
