"""Parts of sparse tensors, and the same elements in other shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd_tape.annotations import DeviceLike, Dims, Fn, Number, Sizes
from autograd_tape.dtypes import DType

from .._memory.layout import layout, sparse_coo, strided
from .._tensor import Tensor, frontend
from ._buffers import Coo, copied, flat_index, is_sparse, sparse
from ._coo import coalesce, empty, empty_like, in_numpy, in_order, index_tensor, made, picked_dense, picked_sparse, summed
from ._door import COMPRESSED, COO, composite, could_not_run, kernel, unrecorded
from ._nodes import picked, recorded

F = frontend


def dim_of(dim: int, ndim: int) -> int:
    """A dimension counted from the first; IndexError in torch's words where there is none."""
    n = max(ndim, 1)
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def permuted(b: Coo, dims: tuple[int, ...]) -> Coo:
    """Dimensions in another order; those with indices stay among themselves."""
    lead = b.sparse_dim
    if sorted(dims[:lead]) != list(range(lead)):
        raise RuntimeError(f"permute(): transpositions between sparse and dense dimensions are not allowed.Got {list(dims)} with "
                           f"sparse_dim: {lead}")
    values = b.values if dims[lead:] == tuple(range(lead, b.ndim)) else F.permute(b.values, (0, *[d - lead + 1 for d in dims[lead:]]))
    same = dims == tuple(range(b.ndim))
    return Coo([b.shape[d] for d in dims], index_tensor(b.indices._data[list(dims[:lead])]), values,
               b.coalesced if same or dims[:lead] == tuple(range(lead)) else b.nnz < 2)


@kernel("permute")
def _permute(input: Tensor, dims: Any) -> Tensor:
    b = input._data
    dims = (dims,) if isinstance(dims, int) else tuple(dims)
    if len(dims) != b.ndim:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
                           f"ordering of dimensions i.e. input.dim() = {b.ndim} is not equal to len(dims) = {len(dims)}")
    dims = tuple([dim_of(d, b.ndim) for d in dims])
    if len(set(dims)) != len(dims):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return sparse(permuted(b, dims))


@kernel("transpose")
def _transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    b = input._data
    a, c = dim_of(dim0, b.ndim), dim_of(dim1, b.ndim)
    if a != c and (a < b.sparse_dim) is not (c < b.sparse_dim):
        raise RuntimeError(f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {b.sparse_dim}, d0: {a}, d1: {c}")
    dims = list(range(b.ndim))
    if dims:
        dims[a], dims[c] = dims[c], dims[a]
    return sparse(permuted(b.over(copied(b.values)), tuple(dims)))


@kernel("t")
def _t(input: Tensor) -> Tensor:
    if input._data.ndim > 2 or input._data.sparse_dim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {input._data.sparse_dim} sparse and "
                           f"{input._data.dense_dim} dense dimensions")
    return _transpose(input, 0, 1) if input._data.ndim == 2 else sparse(input._data.over(input._data.values))


@kernel("unsqueeze")
def _unsqueeze(input: Tensor, dim: int) -> Tensor:
    b = input._data
    dim = dim_of(dim, b.ndim + 1)
    shape = (*b.shape[:dim], 1, *b.shape[dim:])
    if dim > b.sparse_dim:
        return sparse(Coo(shape, b.indices, F.unsqueeze(b.values, dim - b.sparse_dim + 1), b.coalesced))
    rows = np.insert(b.indices._data, dim, 0, axis=0)
    return sparse(Coo(shape, index_tensor(rows), b.values, b.nnz < 2))


# -- parts ----------------------------------------------------------------------------------------------------------------------


def _where(b: Coo, keep: np.ndarray, rows: np.ndarray, shape: Sizes, coalesced: bool | None = None) -> Coo:
    """The elements at some places, under other indices."""
    values = F.index_select(b.values, 0, index_tensor(np.flatnonzero(keep)))
    return Coo(shape, index_tensor(rows), values, b.coalesced if coalesced is None else coalesced)


@kernel("select")
def _select(input: Tensor, dim: int, index: int) -> Tensor:
    b = input._data
    if not b.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = dim_of(dim, b.ndim)
    n = b.shape[dim]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(b.shape)} at dimension {dim}")
    index %= n
    shape = b.shape[:dim] + b.shape[dim + 1:]
    if dim >= b.sparse_dim:
        return sparse(Coo(shape, b.indices, F.select(b.values, dim - b.sparse_dim + 1, index), b.coalesced))
    keep = b.indices._data[dim] == index
    if b.sparse_dim == 1:  # what is left is dense
        return F.sum(F.index_select(b.values, 0, index_tensor(np.flatnonzero(keep))), 0, dtype=b.dtype)
    return sparse(_where(b, keep, np.delete(b.indices._data[:, keep], dim, axis=0), shape))


@kernel("index_select")
def _index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    if not is_sparse(input):
        raise could_not_run("index_select", "SparseCPU")
    b = input._data
    if not b.ndim:
        raise IndexError("index_select() cannot be applied to a 0-dim tensor.")
    if index._data.ndim != 1 or is_sparse(index) or index._k.np.kind not in "iu":
        raise IndexError("index_select() argument index must be 1-D strided (non-sparse) long-tensor.")
    dim = dim_of(dim, b.ndim)
    n, picks = b.shape[dim], index._data.astype(np.int64)
    for i in picks[(picks < -n) | (picks >= n)][:1]:
        raise IndexError(f"index_select(): index contains {i} that is out of range for tensor of size {list(b.shape)} at dimension {dim}")
    picks = np.where(picks < 0, picks + n, picks)
    shape = (*b.shape[:dim], len(picks), *b.shape[dim + 1:])
    if dim >= b.sparse_dim:
        return sparse(Coo(shape, b.indices, F.index_select(b.values, dim - b.sparse_dim + 1, index_tensor(picks)), b.coalesced))
    row = b.indices._data[dim]
    order = np.argsort(row, kind="stable")
    first, last = np.searchsorted(row[order], picks), np.searchsorted(row[order], picks, side="right")
    counts = last - first
    at = order[np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)]
    rows = b.indices._data[:, at]
    rows[dim] = np.repeat(np.arange(len(picks)), counts)
    if b.coalesced and dim:
        back = np.lexsort(rows[::-1])
        rows, at = rows[:, back], at[back]
    return sparse(Coo(shape, index_tensor(rows), F.index_select(b.values, 0, index_tensor(at)), b.coalesced))


@kernel("narrow_copy")
def _narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    return narrow_copy(input, dim, start, length)


def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """The elements in a range of one dimension."""
    b = input._data
    if not 0 <= dim < b.ndim:
        raise RuntimeError(f"Dimension {dim} out of range. Expecting 0 <= dim < {b.ndim}.")
    n = b.shape[dim]
    start = start + n if start < 0 else start
    if not 0 <= start <= start + length <= n:
        raise RuntimeError("Invalid range to narrow. range(start, start+length) must be a subset of range(0, " f"{n}).")
    shape = (*b.shape[:dim], length, *b.shape[dim + 1:])
    if dim >= b.sparse_dim:
        return sparse(Coo(shape, b.indices, F.narrow(b.values, dim - b.sparse_dim + 1, start, length), b.coalesced))
    row = b.indices._data[dim]
    keep = (row >= start) & (row < start + length)
    rows = b.indices._data[:, keep]
    rows[dim] -= start
    return sparse(_where(b, keep, rows, shape))


@composite("getitem")
def _getitem(input: Tensor, index: object) -> Tensor:
    """Numbers and None, which select and unsqueeze; anything else torch does not have."""
    keys = index if isinstance(index, tuple) else (index,)
    if not is_sparse(input):
        raise could_not_run("index.Tensor", "SparseCPU")
    result, dim, gone = input, 0, 0
    taken = sum([k is not None and k is not Ellipsis for k in keys])
    for key in keys:
        if key is None:
            result = F.unsqueeze(result, dim)
            dim += 1
        elif key is Ellipsis:
            dim += input._data.ndim - taken
            if len(keys) == 1:
                raise NotImplementedError("Cannot access storage of SparseTensorImpl")
        elif isinstance(key, slice):
            if key != slice(None):
                raise could_not_run("as_strided", "SparseCPU")
            dim += 1
        elif isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            n = result.shape[dim] if dim < result._data.ndim else 0
            if dim >= result._data.ndim:
                raise IndexError(f"too many indices for tensor of dimension {input._data.ndim}")
            if not -n <= key < n:
                raise IndexError(f"index {key} is out of bounds for dimension {dim + gone} with size {n}")
            result = F.select(result, dim, int(key))
            gone += 1
        else:
            raise could_not_run("index.Tensor", "SparseCPU")
    if all([k == slice(None) for k in keys if isinstance(k, slice)]) and all([isinstance(k, slice) for k in keys]):
        raise NotImplementedError("Cannot access storage of SparseTensorImpl")
    return result


@composite("setitem", "basic_select", on=(COO, COMPRESSED))
def _setitem(input: Tensor, index: object, value: Tensor | Number | None = None) -> Tensor:
    if is_sparse(input):
        raise TypeError("Cannot assign to a sparse tensor")
    return F.copy_(input[index], value)


@composite("unbind")
def _unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    dim = dim_of(dim, input._data.ndim)
    return tuple([F.select(input, dim, i) for i in range(input.shape[dim])])


def _sparse_broadcast_to(input: Tensor, size: Sizes) -> Tensor:
    """A tensor of coordinates in larger sizes, as broadcasting makes it: the copies of an element are one behind the other."""
    if not is_sparse(input) or input._k.special is not sparse_coo:
        raise could_not_run("_sparse_broadcast_to", "SparseCsrCPU" if is_sparse(input) else "CPU")
    b, size = input._data, tuple(size)
    new = len(size) - b.ndim
    if new < 0:
        raise RuntimeError("the requested broadcast shape has fewer dimensions than the input")
    old = (1,) * new + b.shape
    for d, (n, m) in enumerate(zip(old, size)):
        if n != m and n != 1:
            raise RuntimeError(f"The input's length {n} at dimension {d - new} does not broadcast over the requested shape of length {m} "
                               f"at dimension {d}")
    lead = new + b.sparse_dim
    spread = [d for d in range(lead) if d < new or old[d] != size[d]]
    copies = math.prod([size[d] for d in spread])
    rows = np.repeat(np.concatenate([np.zeros((new, b.nnz), np.int64), b.indices._data]), copies, axis=1)
    for d, places in zip(spread, np.indices([size[d] for d in spread]).reshape(len(spread), copies)):
        rows[d] = np.tile(places, b.nnz)

    def back(g: Tensor) -> Tensor:
        over = [d for d in range(len(size)) if d < new or old[d] != size[d]]
        total = F.reshape(F.sum(g.to_dense() if is_sparse(g) else g, over), b.shape) if over else g
        return picked(total, b) if is_sparse(total) else total.to_sparse(b.sparse_dim)

    with unrecorded():
        values = F.index_select(F.expand(b.values, (b.nnz, *size[lead:])), 0, index_tensor(np.repeat(np.arange(b.nnz), copies)))
    return recorded(sparse(Coo(size, index_tensor(rows), values, b.coalesced and not spread)), "SparseBroadcastToBackward0", (input, back))


# -- joined ---------------------------------------------------------------------------------------------------------------------


@kernel("cat")
def _cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    for at, t in enumerate(tensors):
        if not is_sparse(t) or t._k.special is not sparse_coo:
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {at}.")
    first: Coo = tensors[0]._data
    dim = dim_of(dim, first.ndim)
    for at, t in enumerate(tensors):
        b = t._data
        if b.shape[:dim] + b.shape[dim + 1:] != first.shape[:dim] + first.shape[dim + 1:]:
            raise RuntimeError(f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), "
                               f"but found shape: {list(b.shape)} at position {at}.")
        if (b.sparse_dim, b.dense_dim) != (first.sparse_dim, first.dense_dim):
            raise RuntimeError(f"All tensors must have the same sparse_dim and dense_dim: {first.sparse_dim}, {first.dense_dim}, but "
                               f"tensor at position {at} has {b.sparse_dim}, {b.dense_dim}.")
    sizes = [t.shape[dim] for t in tensors]
    shape = (*first.shape[:dim], sum(sizes), *first.shape[dim + 1:])
    rows, values = [], []
    for t, start in zip(tensors, np.cumsum([0, *sizes])):
        b = t._data
        if dim < b.sparse_dim:
            moved = b.indices._data.copy()
            moved[dim] += start
            rows.append(moved)
            values.append(b.values)
        else:
            at = dim - b.sparse_dim + 1
            before = F.zeros((b.nnz, *b.shape[b.sparse_dim:dim], int(start), *b.shape[dim + 1:]), dtype=b.dtype)
            after = F.zeros((b.nnz, *b.shape[b.sparse_dim:dim], shape[dim] - int(start) - b.shape[dim], *b.shape[dim + 1:]), dtype=b.dtype)
            rows.append(b.indices._data)
            values.append(F.cat([before, b.values, after], at))
    return sparse(Coo(shape, index_tensor(np.concatenate(rows, 1)), F.cat(values, 0), False))


@kernel("stack")
def _stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    for i, t in enumerate(tensors):
        if tuple(t.shape) != tuple(tensors[0].shape):
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                               f"{list(t.shape)} at entry {i}")
    for at, t in enumerate(tensors):
        if not is_sparse(t):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {at}.")
    dim = dim_of(dim, tensors[0]._data.ndim + 1)
    return F.cat([F.unsqueeze(t, dim) for t in tensors], dim)


# -- sums -----------------------------------------------------------------------------------------------------------------------


def _dims(dim: Any, ndim: int) -> tuple[int, ...]:
    dims = tuple([dim_of(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim)])
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return dims


def summed_over(b: Coo, dims: tuple[int, ...], keepdim: bool = False) -> Tensor:
    """Sums over dimensions: a dense tensor where none with indices is left."""
    b = in_order(b)
    inner = tuple([d - b.sparse_dim + 1 for d in dims if d >= b.sparse_dim])
    kept = [d for d in range(b.sparse_dim) if d not in dims]
    values = F.sum(b.values, inner) if inner else b.values
    if not kept:
        total = F.sum(values, 0, dtype=values._k.dtype)
        return F.reshape(total, [1 if d in dims else n for d, n in enumerate(b.shape)]) if keepdim else total
    rows = b.indices._data[kept]
    shape = [n for d, n in enumerate(b.shape) if d not in dims]
    if len(kept) == b.sparse_dim:
        made = Coo(shape, b.indices, values, b.coalesced)
    else:
        made = in_order(Coo(shape, index_tensor(rows), values))
    if keepdim:  # of which torch does not know that indices are in order
        rows = np.zeros((b.sparse_dim, made.nnz), np.int64)
        rows[kept] = made.indices._data
        values = made.values
        for d in sorted(dims):
            if d >= b.sparse_dim:
                values = F.unsqueeze(values, d - b.sparse_dim + 1)
        made = Coo([1 if d in dims else n for d, n in enumerate(b.shape)], index_tensor(rows), values)
    return sparse(made)


@kernel("sum")
def _sum(input: Tensor, dim: Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    b: Coo = input._data
    values = b.values if dtype is None else F.cast(b.values, dtype)
    if dim is None or dim == ():
        if dim is None or not keepdim:
            return F.sum(values, dtype=dtype)
    if dtype is None and values._k.np.kind in "biu":
        values = F.cast(values, F.sum(values)._k.dtype)
    return summed_over(b.over(values), _dims(dim, b.ndim), keepdim)


def sparse_sum(input: Tensor, dim: Dims = None, dtype: DType | None = None) -> Tensor:
    """The sum of a sparse tensor's elements; over some dimensions, a sparse tensor while any with indices is left. Its gradient is sparse.

    >>> import torchcompat as torch
    >>> torch.sparse.sum(torch.sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], (2, 3)), 1)
    tensor(indices=tensor([[0, 1]]),
           values=tensor([3., 4.]),
           size=(2,), nnz=2, layout=torch.sparse_coo)
    """
    x = input if dtype is None else input.to(dtype)
    if dim is None:
        return _whole_sum(coalesce(x))
    dims = _dims(dim, x._data.ndim)
    if not dims:
        return F.clone(x)
    b = in_order(x._data)
    result = summed_over(b, dims)
    left = [d for d in range(b.ndim) if d not in dims]

    def back(g: Tensor) -> Tensor:
        """Each element's gradient is that of the sum it is part of."""
        rows = [d for d in left if d < b.sparse_dim]
        inner = b.shape[b.sparse_dim:]
        if is_sparse(g):
            like = Coo(g._data.shape, index_tensor(b.indices._data[rows]), b.values)
            values = picked_sparse(g._data, like) if len(rows) else g._data.values
        else:
            values = F.expand(F.unsqueeze(g, 0), (b.nnz, *g._data.shape))
        for d in sorted(dims):
            if d >= b.sparse_dim:
                values = F.unsqueeze(values, d - b.sparse_dim + 1)
        return made(b.shape, b.indices, F.contiguous(F.expand(values, (b.nnz, *inner))))

    return recorded(result, "SparseSumBackward0", (x, back))


def _whole_sum(x: Tensor) -> Tensor:
    b = x._data
    with unrecorded():
        total = F.sum(b.values)
    return recorded(total, "SumBackward0", (x, lambda g: made(b.shape, b.indices, F.expand(g, tuple(b.values.shape)), b.coalesced)))


@composite("norm")
def _norm(input: Tensor, p: Number | str = 2, dim: Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    if dim not in (None, ()) and len(_dims(dim, input._data.ndim)) != input._data.ndim:
        raise RuntimeError("norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all "
                           "dimensions of the input")
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    if dtype is not None and p == "fro":
        raise ValueError("dtype argument is not supported in frobenius norm")
    if dtype is not None:
        raise RuntimeError("norm_sparse currently does not support 'dtype' argument")
    with unrecorded():
        result = F.norm(in_order(input._data).values, p)

    def back(g: Tensor) -> Tensor:
        raise could_not_run("masked_fill_.Scalar", "SparseCPU")

    return recorded(result, "NormBackward1", (input, back))


@kernel("any")
def _any(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    if dim is not None:
        raise could_not_run("any.dim", "SparseCPU")
    return F.any(in_order(input._data).values)


# -- softmax --------------------------------------------------------------------------------------------------------------------


def _softmax(name: str, log: bool) -> Fn:
    node = "SparseLogSoftmaxBackward0" if log else "SparseSoftmaxBackward0"

    def function(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
        if input._k.special is not sparse_coo:
            raise could_not_run(f"_sparse_{name}", "CPU" if not is_sparse(input) else "SparseCsrCPU")
        x = input if dtype is None else input.to(dtype)
        d = dim_of(dim, x._data.ndim)
        b = in_order(x._data)
        with unrecorded():
            groups, n = _pools(b, d)
            result = b.over(_pooled_softmax(b, d, groups, n, log))

        def back(g: Tensor) -> Tensor:
            grad = _aligned(g, result)
            inner = result.values
            with unrecorded():
                if d >= b.sparse_dim:
                    at = d - b.sparse_dim + 1
                    total = F.sum(grad if log else F.mul(grad, inner), at, True)
                else:
                    total = F.index_select(summed(grad if log else F.mul(grad, inner), groups, n), 0, index_tensor(groups))
                values = F.sub(grad, F.mul(F.exp(inner), total)) if log else F.mul(inner, F.sub(grad, total))
            return sparse(Coo(b.shape, b.indices, values, False))

        return recorded(sparse(result), node, (x, back))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {name.replace('_', ' of ') if log else name} along a dimension, of the elements that are there alone."
    return function


def _aligned(g: Tensor, b: Coo) -> Tensor:
    return picked_sparse(g._data, b) if is_sparse(g) else picked_dense(g, b)


def _pools(b: Coo, d: int) -> tuple[np.ndarray, int]:
    """(the number of each element's pool, how many): those that differ along dimension `d` alone."""
    if d >= b.sparse_dim:
        return np.arange(b.nnz), b.nnz
    rows = np.delete(b.indices._data, d, axis=0)
    if not len(rows):
        return np.zeros(b.nnz, np.int64), 1
    places, groups = np.unique(flat_index(rows, tuple(np.delete(b.shape[:b.sparse_dim], d).tolist())), return_inverse=True)
    return groups.reshape(-1), len(places)


def _pooled_softmax(b: Coo, d: int, groups: np.ndarray, n: int, log: bool) -> Tensor:
    values = b.values
    if d >= b.sparse_dim:
        return (F.log_softmax if log else F.softmax)(values, d - b.sparse_dim + 1)
    if not b.nnz:
        return values
    at = index_tensor(groups)
    if in_numpy(values):
        order = np.argsort(groups, kind="stable")
        top = F.wrap(np.maximum.reduceat(values._data[order], np.flatnonzero(np.diff(groups[order], prepend=-1)), axis=0), values._k)
    else:
        index = F.expand(F.reshape(at, (-1,) + (1,) * (values._data.ndim - 1)), tuple(values.shape))
        top = F.scatter_reduce(F.zeros((n, *values._data.shape[1:]), dtype=b.dtype), 0, index, values, "amax", include_self=False)
    shifted = F.sub(values, F.index_select(top, 0, at))
    e = F.exp(shifted)
    total = F.index_select(summed(e, groups, n), 0, at)
    return F.sub(shifted, F.log(total)) if log else F.div(e, total)


softmax, log_softmax = _softmax("softmax", False), _softmax("log_softmax", True)


# -- fresh ones like others -----------------------------------------------------------------------------------------------------


def _fresh(name: str) -> None:
    def function(input: Tensor, dtype: DType | None = None, layout: layout | None = None, device: DeviceLike | None = None,
                 pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None) -> Tensor:
        if memory_format is not None and is_sparse(input) and layout is not strided:
            raise RuntimeError("memory format option is only supported by strided tensors")
        if not is_sparse(input) or layout is not None and layout is not sparse_coo:
            shape, place = tuple(input.shape), input._k.device if device is None else device
            return getattr(F, name[:5])(shape, dtype=dtype or input._k.dtype, device=place, layout=layout, requires_grad=requires_grad)
        t = empty_like(input, dtype)
        return t.requires_grad_() if requires_grad else t

    composite(name)(function)


_fresh("zeros_like")
_fresh("empty_like")


def _new(name: str) -> None:
    def function(self: Tensor, sizes: Sizes, dtype: DType | None = None, layout: layout | None = None,
                 device: DeviceLike | None = None, *_: object) -> Tensor:
        while len(sizes) == 1 and not isinstance(sizes[0], (int, np.integer)):
            sizes = sizes[0]
        return sparse(empty(tuple(sizes), self._k.dtype if dtype is None else dtype, device))

    composite(name)(function)


_new("new_zeros")
_new("new_empty")


def _refused(names: dict[str, str]) -> None:
    """Operations that are made of others here, and that torch refuses by another's name."""
    for name, told in names.items():
        def function(*args: object, told: str = told) -> Tensor:
            raise could_not_run(told, "SparseCPU")

        composite(name)(function)


def _unsupported(texts: dict[str, str]) -> None:
    for name, text in texts.items():
        def function(*args: object, text: str = text) -> Tensor:
            raise RuntimeError(text)

        composite(name)(function)


_refused(dict.fromkeys(["narrow", "split", "split_with_sizes", "chunk", "tensor_split", "squeeze", "as_strided", "diagonal", "unfold"],
                       "as_strided") | {
    "ones_like": "fill_.Scalar", "full_like": "fill_.Scalar", "new_ones": "fill_.Scalar", "new_full": "fill_.Scalar",
    "equal": "equal", "isclose": "eq.Tensor", "dot": "dot", "zeros_for": "index_add_", "basic_index_backward": "select_backward",
    "sort": "sort.stable", "argsort": "sort.stable", "softmax": "_softmax", "log_softmax": "_log_softmax", "mean": "mean.dim",
    "view": "view"})
_unsupported({"expand": "expand is unsupported for Sparse tensors", "reshape": "reshape is not implemented for sparse tensors",
              "contiguous": "unsupported memory format option Contiguous", "flatten": "reshape is not implemented for sparse tensors",
              "broadcast_to": "expand is unsupported for Sparse tensors", "repeat": "expand is unsupported for Sparse tensors",
              "masked_fill": "unsupported memory format option Contiguous"})
__all__ = ["_sparse_broadcast_to", "log_softmax", "narrow_copy", "softmax", "sparse_sum"]
