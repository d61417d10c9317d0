"""Tensors of coordinates: made, put in order, made dense and back."""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

import numpy as np

from autograd_tape.annotations import DeviceLike
from autograd_tape.dtypes import CPU, DType, Device, complex32, complex64, int64
from autograd_tape.executors.kernels.embedding import index_add
from autograd_tape.modes import GradMode, grad_mode

from .._making.conversion import checked_dtype, convert
from .._making.creation import tensor
from .._memory.layout import layout, sparse_coo
from .._tensor import Tensor, frontend
from ._buffers import NAMES, Coo, flat_index, is_sparse, sparse
from ._checks import bounded, coo_indices, coo_shapes, wanted
from ._door import COO, kernel, unrecorded
from ._nodes import picked, plain, recorded, values_of

F = frontend


def _as_tensor(data: object, dtype: DType | None) -> Tensor:
    if isinstance(data, Tensor):
        return data if dtype is None else convert(data, dtype, None, False, None)
    return tensor(data, dtype=dtype)


def index_tensor(array: np.ndarray) -> Tensor:
    """An index array as a tensor."""
    return F.wrap(np.ascontiguousarray(array, np.int64))


def sparse_coo_tensor(*args: Any, dtype: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
                      check_invariants: bool | None = None, is_coalesced: bool | None = None, **named: Any) -> Tensor:
    """A tensor of values at coordinates: `sparse_coo_tensor(indices, values, size=None)`, or an empty one, `sparse_coo_tensor(size)`.

    Args:
        indices: (sparse dimensions, elements), integers.
        values: (elements, *dense sizes); their memory is shared.
        size: the sizes; as small as indices allow where left out.
        dtype, device, requires_grad: as of `tensor`.
        check_invariants: whether indices are compared with the sizes; else `torch.sparse.check_sparse_tensor_invariants` says.
        is_coalesced: that indices are in order, each once.

    Raises:
        RuntimeError: the parts do not fit each other.

    >>> import torchcompat as torch
    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    given = dict(zip(("indices", "values", "size"), args)) | named
    if "values" not in given:
        size = given.get("size", given.get("indices"))
        if size is None:
            raise TypeError("sparse_coo_tensor() received an invalid combination of arguments - got (), but expected one of:\n * (object "
                            "indices, object values, *, torch.dtype dtype = None, torch.device device = None, bool requires_grad = False, "
                            "bool check_invariants = None)\n * (object indices, object values, tuple of ints size, *, torch.dtype dtype = "
                            "None, torch.device device = None, bool requires_grad = False, bool check_invariants = None, bool is_coalesced "
                            "= None)\n * (tuple of ints size, *, torch.dtype dtype = None, torch.device device = None, bool requires_grad "
                            "= False, bool check_invariants = None)\n")
        return leaf(sparse(empty(tuple(size), dtype, device)), requires_grad)
    values = _as_tensor(given["values"], checked_dtype(dtype, "sparse_coo_tensor"))
    if not values._data.ndim:
        values = values.reshape(1)
    indices = plain(_as_tensor(given["indices"], int64))
    size = given.get("size")
    size = None if size is None else tuple([int(n) for n in size])
    coo_shapes(indices._data.shape, values._data.shape, size)
    if size is None:
        size = _sizes(indices._data, values._data.shape)
    if wanted(check_invariants):
        coo_indices(indices._data, size, is_coalesced)
    return leaf(made(size, indices, values, bool(is_coalesced)), requires_grad)


def _validate_sparse_coo_tensor_args(indices: Tensor, values: Tensor, size: Sequence[int], is_coalesced: bool | None = None) -> None:
    """Raises where parts do not make a tensor of coordinates."""
    coo_shapes(indices._data.shape, values._data.shape, tuple(size))
    coo_indices(indices._data, tuple(size), is_coalesced)


def made(size: Sequence[int], indices: Tensor, values: Tensor, coalesced: bool = False) -> Tensor:
    """A tensor of parts that fit, with the history of its values."""
    buffer = Coo(size, alias(indices), alias(values), coalesced)
    return recorded(sparse(buffer), "SparseCooTensorWithDimsAndTensorsBackward0", (values, lambda g: picked(g, buffer)))


def alias(t: Tensor) -> Tensor:
    """The same memory, without history."""
    other = F.wrap(t._data, t._k)
    other._v = t._v
    return other


def leaf(t: Tensor, requires_grad: bool) -> Tensor:
    """The tensor, which is to require grad, or not."""
    if requires_grad:  # nothing of how it was made is part of a leaf
        t = t.detach()
        t._node = F.leaf_node(t, True)
    return t


def _sizes(indices: np.ndarray, values: tuple[int, ...]) -> tuple[int, ...]:
    if not indices.shape[1]:
        return (0,) * len(indices) + values[1:]
    for dim, least in enumerate(indices.min(1)):
        if least < 0:
            raise RuntimeError(f"found negative index {least} for dim {dim}")
    return tuple([int(n) + 1 for n in indices.max(1)]) + values[1:]


def empty(size: tuple[int, ...], dtype: DType | None = None, device: DeviceLike | None = None, sparse_dim: int | None = None) -> Coo:
    """No elements."""
    bounded(size)
    sparse_dim = len(size) if sparse_dim is None else sparse_dim
    place = CPU if device is None else Device(device)
    return Coo(size, F.empty((sparse_dim, 0), dtype=int64, device=place),
               F.empty((0, *size[sparse_dim:]), dtype=checked_dtype(dtype, "sparse_coo_tensor"), device=place), True)


def empty_like(x: Tensor, dtype: DType | None = None) -> Tensor:
    """No elements, of the sizes of a sparse tensor."""
    b = x._data
    return sparse(empty(b.shape, b.dtype if dtype is None else dtype, x._k.device, b.sparse_dim))


# -- in order -------------------------------------------------------------------------------------------------------------------


def summed(values: Tensor, groups: np.ndarray, n: int) -> Tensor:
    """Sums of values by group number: (n, *dense sizes)."""
    if values._k.np.kind == "b":
        total = np.zeros((n, *values._data.shape[1:]), bool)
        np.logical_or.at(total, groups, values._data)
        return F.wrap(total)
    if in_numpy(values) and (values._node is None or grad_mode() is not GradMode.ENABLED):
        total = np.zeros((n, *values._data.shape[1:]), values._k.np)
        add_rows(total, groups, values._data)
        return F.wrap(total, values._k)
    if values._k.dtype is complex32:  # of which nobody adds elements
        return F.cast(summed(F.cast(values, complex64), groups, n), complex32)
    zeros = F.zeros((n, *values._data.shape[1:]), dtype=values._k.dtype)
    return F.index_add(zeros, 0, index_tensor(groups), values)


def in_numpy(values: Tensor) -> bool:
    """Whether NumPy knows how to add such numbers."""
    return values._k.np.kind in "fciu"


def add_rows(total: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """Adds values to the rows of an array in order of rows, in place: total[rows[i]] += values[i]."""
    if values.size:
        index_add(total.reshape(len(total), -1), 0, rows, values.reshape(len(values), -1))


def unraveled(flat: np.ndarray, sizes: tuple[int, ...]) -> Tensor:
    """Places in order of rows as indices."""
    rows = np.empty((len(sizes), len(flat)), np.int64)
    for d in range(len(sizes) - 1, -1, -1):
        flat, rows[d] = np.divmod(flat, sizes[d]) if sizes[d] else (flat, 0)
    return F.wrap(rows)


def in_order(b: Coo) -> Coo:
    """The same elements with their indices in order, each once."""
    if b.coalesced:
        return b
    with unrecorded():
        flat = b.flat()
        places, groups = np.unique(flat, return_inverse=True)
        groups = groups.reshape(-1)
        if len(places) == len(flat):
            order = np.argsort(flat, kind="stable")
            values = F.index_select(b.values, 0, index_tensor(order))
        else:
            values = summed(b.values, groups, len(places))
    return Coo(b.shape, unraveled(places, b.shape[:b.sparse_dim]), values, True)


def coalesce(x: Tensor) -> Tensor:
    """The tensor with its indices in order, each once; itself where they are."""
    of_layout(x, "coalesce", sparse_coo)
    if x._data.coalesced:
        return x
    return recorded(sparse(in_order(x._data)), "CoalesceBackward0", (x, lambda g: g))


def of_layout(x: Tensor, name: str, *layouts: layout, words: str = "sparse coordinate tensor layout") -> None:
    """Raises where a tensor has none of the layouts."""
    if x._k.special not in layouts:
        raise RuntimeError(f"{name} expected {words} but got {NAMES.get(x._k.special, 'Strided')}")


# -- dense and back ---------------------------------------------------------------------------------------------------------------


def dense_of(b: Coo) -> Tensor:
    """All elements, those with several values their sum."""
    with unrecorded():
        lead = b.shape[:b.sparse_dim]
        count = int(np.prod(lead, dtype=np.int64))
        return F.reshape(summed(b.values, b.flat(), count), b.shape)


def not_zero(data: np.ndarray) -> np.ndarray:
    """Which elements are not zero, of dtypes that NumPy does not compare, too."""
    if data.dtype.names:
        return (data["real"] != 0) | (data["imag"] != 0)
    return (data.astype(np.float32) if data.dtype.kind == "V" else data) != 0


def nonzeros(x: Tensor, sparse_dim: int | None, by_dense: bool = False) -> Coo:
    """The elements of a dense tensor that are not zero, as coordinates of its first dimensions; `by_dense` where the
    others were counted."""
    data, ndim = x._data, x._data.ndim
    n = ndim if sparse_dim is None else sparse_dim
    if not n and ndim:
        raise RuntimeError("dense_to_sparse: " + ("sparse_dim argument must be in >0" if sparse_dim is not None and not by_dense else
                                                  "dense_dim argument must be !=self.dim()") + " when self.dim()>0")
    if not 0 <= n <= ndim:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{ndim}] range, but {n} is given")
    there = not_zero(data)
    if n < ndim:
        there = there.any(tuple(range(n, ndim)))
    rows = np.stack(np.nonzero(there)) if n else np.zeros((0, int(there)), np.int64)
    flat = flat_index(rows, data.shape[:n])
    with unrecorded():
        values = F.index_select(F.reshape(x, (-1, *data.shape[n:]) if data.size else (there.size, *data.shape[n:])), 0, index_tensor(flat))
    return Coo(data.shape, F.wrap(rows.astype(np.int64, copy=False)), values, True)


# -- picked at the coordinates of another -----------------------------------------------------------------------------------------


def picked_dense(x: Tensor, mask: Coo) -> Tensor:
    """The values of a dense tensor at the coordinates of another; recorded."""
    lead = mask.shape[:mask.sparse_dim]
    count = int(np.prod(lead, dtype=np.int64))
    flat = F.reshape(x, (count, *mask.shape[mask.sparse_dim:]))
    return F.index_select(flat, 0, index_tensor(mask.flat()))


def picked_sparse(x: Coo, mask: Coo) -> Tensor:
    """The values of a sparse tensor at the coordinates of another; zero where it has none."""
    x = in_order(x)
    have, want = x.flat(), mask.flat()
    at = np.searchsorted(have, want)
    if not len(have):
        return F.zeros((len(want), *x.values._data.shape[1:]), dtype=x.dtype)
    at = np.minimum(at, len(have) - 1)
    found = have[at] == want
    values = F.index_select(x.values, 0, index_tensor(at))
    if found.all():
        return values
    shape = (len(want),) + (1,) * (values._data.ndim - 1)
    return F.where(F.wrap(found.reshape(shape)), values, F.zeros((), dtype=x.dtype))


@kernel("cast")
def _cast(input: Tensor, dtype: DType | None) -> Tensor:
    return sparse(input._data.over(F.cast(input._data.values, dtype)))


@kernel("clone")
def _clone(input: Tensor, memory_format: Any = None) -> Tensor:
    if memory_format is not None and str(memory_format) != "torch.preserve_format":
        raise RuntimeError("unsupported memory format option " + str(memory_format)[6:].removesuffix("_format").capitalize())
    return sparse(input._data.copy())


__all__ = ["COO", "coalesce", "sparse_coo_tensor", "is_sparse", "values_of"]
