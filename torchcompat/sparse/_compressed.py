"""Tensors of rows, or columns, of elements or of blocks: made, turned into other layouts and back."""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

import numpy as np

from autograd_tape.annotations import DeviceLike, Dims, Fn, Number, Sizes
from autograd_tape.codegen import execute
from autograd_tape.dtypes import CPU, DType, Device, int32, int64, result_dtype

from .._calls.above import above
from .._making.conversion import checked_dtype
from .._memory.layout import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from .._tensor import Tensor, frontend
from ._arithmetic import add_coo, times
from ._buffers import NAMES, Compressed, Coo, flat_index, is_sparse, sparse
from ._checks import WORDS, bounded, compressed_parts, wanted
from ._coo import _as_tensor, dense_of, in_order, index_tensor, leaf, nonzeros
from ._door import COMPRESSED, composite, could_not_run, kernel, unrecorded
from ._nodes import picked, plain, recorded

F = frontend
LAYOUTS = (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)
NODES = {lay: f"To{NAMES[lay]}Backward0" for lay in LAYOUTS}


# -- made -----------------------------------------------------------------------------------------------------------------------


def _estimated(lay: layout, compressed: Tensor, plain_: Tensor, values: Tensor) -> tuple[int, ...]:
    batch, blocked = compressed._data.shape[:-1], lay is sparse_bsr or lay is sparse_bsc
    at, have = len(batch) + 1, values._data.ndim
    if not compressed._data.ndim:
        raise RuntimeError(f"{WORDS[lay][0]} must have dimensionality >= 1 but got 0")
    if have < at + 2 * blocked:
        raise RuntimeError(f"values must have dimensionality > sum of batch and block dimensionalities (={len(batch)} + {2 * blocked}) but "
                           f"got {have}")
    block = values._data.shape[at:at + 2] if blocked else (1, 1)
    dense = values._data.shape[at + 2 * blocked:]
    n = compressed._data.shape[-1] - 1
    m = int(plain_._data.max()) + 1 if plain_._data.size else 0
    rows, cols = (n, m) if lay is sparse_csr or lay is sparse_bsr else (m, n)
    return (*batch, rows * block[0], cols * block[1], *dense)


def _compressed(name: str, fixed: layout | None, parts: Sequence[object], values: object, size: Sizes | None, dtype: DType | None,
                layout: layout | None, requires_grad: bool, check_invariants: bool | None) -> Tensor:
    lay = fixed if fixed is not None else layout
    if fixed is not None and layout is not None and layout is not fixed:
        raise RuntimeError(f"{name}: layout must be {NAMES[fixed]} but got {NAMES.get(layout, 'Strided')}")
    if lay not in LAYOUTS:
        raise RuntimeError(f"{name} expected sparse compressed tensor layout but got "
                           f"{'none' if lay is None else NAMES.get(lay, 'Strided')}")
    values = _as_tensor(values, checked_dtype(dtype, name))
    indices = [plain(x if isinstance(x, Tensor) and x._k.dtype in (int32, int64) else _as_tensor(x, int64)) for x in parts]
    sizes = _estimated(lay, indices[0], indices[1], values) if size is None else tuple([int(n) for n in size])
    bounded(sizes)
    t = made(lay, sizes, indices[0], indices[1], values)
    if wanted(check_invariants):
        checked(t._data)
    return leaf(t, requires_grad)


def _factory(name: str, fixed: layout | None, compressed: str, plain_: str) -> Fn:
    doc = (f"A tensor of {'rows or columns' if fixed is None else WORDS[fixed][2] + 's'} one after the other: where each begins, the place "
           "of each element in it, the elements; sizes as small as those allow where left out.")
    source = (f"def {name}({compressed}, {plain_}, values, size=None, *, dtype=None, layout=None, device=None, "
              "pin_memory=False, requires_grad=False, check_invariants=None):\n"
              f"    return build({name!r}, fixed, ({compressed}, {plain_}), values, size, dtype, layout, requires_grad, "
              "check_invariants)\n")
    function = execute(source, name, f"<{name}>", {"build": _compressed, "fixed": fixed})
    function.__doc__, function.__module__ = doc, __name__
    return function


def checked(b: Compressed) -> Compressed:
    """The buffer, whose parts fit each other; an error where they do not. Looked at once: who reads indices asks."""
    if not b.checked:
        compressed_parts(b.layout, b.compressed, b.plain, b.values, b.shape)
        b.checked = True
    return b


def made(lay: layout, size: Sequence[int], compressed: Tensor, plain_: Tensor, values: Tensor) -> Tensor:
    """A tensor of parts that nobody looked at yet, with the history of its values."""
    buffer = Compressed(lay, size, compressed, plain_, plain(values), False)
    return recorded(sparse(buffer), "SparseCompressedTensorBackward0", (values, lambda g: picked(g, buffer)))


sparse_compressed_tensor = _factory("sparse_compressed_tensor", None, "compressed_indices", "plain_indices")
sparse_csr_tensor = _factory("sparse_csr_tensor", sparse_csr, "crow_indices", "col_indices")
sparse_csc_tensor = _factory("sparse_csc_tensor", sparse_csc, "ccol_indices", "row_indices")
sparse_bsr_tensor = _factory("sparse_bsr_tensor", sparse_bsr, "crow_indices", "col_indices")
sparse_bsc_tensor = _factory("sparse_bsc_tensor", sparse_bsc, "ccol_indices", "row_indices")


def empty(lay: layout, size: tuple[int, ...], dtype: DType | None = None, device: DeviceLike | None = None) -> Compressed:
    """No elements."""
    if len(size) < 2 or lay is sparse_bsr or lay is sparse_bsc:
        raise RuntimeError(f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {list(size)}")
    place = CPU if device is None else Device(device)
    rows = size[-2] if lay is sparse_csr else size[-1]
    batch = size[:-2]
    return Compressed(lay, size, F.zeros((*batch, rows + 1), dtype=int64, device=place), F.empty((*batch, 0), dtype=int64, device=place),
                      F.empty((*batch, 0), dtype=checked_dtype(dtype, "empty"), device=place))


def _validate_sparse_compressed_tensor_args(compressed: Tensor, plain_: Tensor, values: Tensor, size: Sequence[int], layout: Any) -> None:
    """Raises where parts do not make a tensor of a layout."""
    compressed_parts(layout, compressed, plain_, values, tuple(size))


def _validator(lay: layout) -> Fn:
    def function(compressed: Tensor, plain_: Tensor, values: Tensor, size: Sequence[int]) -> None:
        compressed_parts(lay, compressed, plain_, values, tuple(size))

    function.__name__ = function.__qualname__ = f"_validate_{lay.name}_tensor_args"
    function.__doc__ = f"Raises where parts do not make a tensor of the layout {lay}."
    return function


(_validate_sparse_csr_tensor_args, _validate_sparse_csc_tensor_args, _validate_sparse_bsr_tensor_args,
 _validate_sparse_bsc_tensor_args) = map(_validator, LAYOUTS)


# -- to coordinates ---------------------------------------------------------------------------------------------------------------


def coordinates(b: Compressed) -> Coo:
    """The elements, one for one in the order of `values`, as coordinates."""
    checked(b)
    batch, (bh, bw) = b.batch, b.block
    n = int(np.prod(batch, dtype=np.int64))
    c, p = b.compressed._data.reshape(n, -1), b.plain._data.reshape(n, b.nnz)
    first = np.concatenate([np.repeat(np.arange(c.shape[1] - 1), np.diff(row)) for row in c]) if n else np.zeros(0, np.int64)
    rows, cols = (first, p.reshape(-1)) if b.by_rows else (p.reshape(-1), first)
    which = np.repeat(np.arange(n), b.nnz)
    if b.blocked:
        rows = (rows[:, None, None] * bh + np.arange(bh)[:, None] + np.zeros((1, 1, bw), np.int64)).reshape(-1)
        cols = (cols[:, None, None] * bw + np.arange(bw) + np.zeros((1, bh, 1), np.int64)).reshape(-1)
        which = np.repeat(which, bh * bw)
    lead = np.stack([*np.unravel_index(which, batch), rows, cols]) if batch else np.stack([rows, cols])
    dense = b.values._data.shape[len(batch) + 1 + 2 * b.blocked:]
    with unrecorded():
        values = F.reshape(b.values, (len(rows), *dense))
    return Coo(b.shape, index_tensor(lead), values, b.layout is sparse_csr)


def dense_of_compressed(b: Compressed) -> Tensor:
    """All elements."""
    return dense_of(coordinates(b))


def to_coordinates(x: Tensor) -> Tensor:
    """A compressed tensor as one of coordinates; recorded."""
    return recorded(sparse(coordinates(x._data)), "ToSparseBackward1", (x, lambda g: in_layout(g, x._k.special, x)))


# -- from coordinates -------------------------------------------------------------------------------------------------------------


def compressed_of(b: Coo, lay: layout, blocksize: Sequence[int] | None = None, index: object = np.int64) -> Compressed:
    """Coordinates of a matrix, or of a batch of them, as rows or columns."""
    b = in_order(b)
    batch = b.shape[:b.sparse_dim - 2]
    n = int(np.prod(batch, dtype=np.int64))
    height, width = b.shape[b.sparse_dim - 2:b.sparse_dim]
    bh, bw = blocksize or (1, 1)
    *lead, rows, cols = b.indices._data
    which = flat_index(np.stack(lead), batch) if lead else np.zeros(len(rows), np.int64)
    by_rows = lay is sparse_csr or lay is sparse_bsr
    major, minor = (rows // bh, cols // bw) if by_rows else (cols // bw, rows // bh)
    n_major, n_minor = (height // bh, width // bw) if by_rows else (width // bw, height // bh)
    dense = b.values._data.shape[1:]
    with unrecorded():
        if blocksize is None:
            values = b.values
            if not by_rows:  # in which order coordinates are
                order = np.lexsort((minor, major, which))
                values, which, major, minor = F.index_select(values, 0, index_tensor(order)), which[order], major[order], minor[order]
        else:
            places, groups = np.unique((which * n_major + major) * n_minor + minor, return_inverse=True)
            flat = F.zeros((len(places) * bh * bw, *dense), dtype=b.dtype)
            at = (groups.reshape(-1) * bh + rows % bh) * bw + cols % bw
            values = F.reshape(F.index_copy(flat, 0, index_tensor(at), b.values), (len(places), bh, bw, *dense))
            which, rest = np.divmod(places, max(n_major * n_minor, 1))
            major, minor = np.divmod(rest, max(n_minor, 1))
        counts = np.bincount(which, minlength=n) if n else np.zeros(0, np.int64)
        if n and (counts != counts[0]).any():
            raise RuntimeError("Expect the same number of specified elements per batch.")
        nnz = int(counts[0]) if n else 0
        starts = np.bincount(which * (n_major + 1) + major + 1, minlength=n * (n_major + 1)).reshape(n, n_major + 1)
        values = F.reshape(values, (*batch, nnz, *values._data.shape[1:]))
    return Compressed(lay, b.shape, F.wrap(np.cumsum(starts, 1).reshape(*batch, -1).astype(index)),
                      F.wrap(minor.reshape(*batch, nnz).astype(index)), values)


def _name(lay: layout) -> str:
    return lay.name.replace("sparse_", "")


def _from_dense(x: Tensor, lay: layout, blocksize: Sizes | None, dense_dim: int) -> Compressed:
    ndim = x._data.ndim
    if ndim < 2:  # torch looks for the second dimension
        raise IndexError(f"select(): index 1 out of range for tensor of size {[*x.shape, 1]} at dimension 1" if ndim and lay is sparse_csr
                         else f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, {max(ndim, 1) - 1}], but got 1)")
    b = nonzeros(x, ndim - dense_dim)
    return compressed_of(b, lay, blocksize)


def convertible(x: Tensor, lay: layout, blocksize: Sizes | None, dense_dim: int | None, suffix: str = "") -> None:
    """Raises where torch has no conversion of a tensor to a layout, in the order in which torch looks.

    Args:
        suffix: of the method that was called, "_csr" of `to_sparse_csr`.
    """
    own, has = x._k.special if is_sparse(x) else strided, x._data
    blocked, was_blocked = lay in (sparse_bsr, sparse_bsc), own in (sparse_bsr, sparse_bsc)
    where = ("to_sparse" if lay is own else "dense_to_sparse" if own is strided else "sparse_compressed_to_sparse" if own is not sparse_coo
             else "coo_to_sparse" if suffix else "sparse_coo_to_sparse") + suffix
    way = f"{where}: conversion from {NAMES.get(own, 'Strided')} to {NAMES.get(lay, 'Strided')} "
    if own is sparse_coo and lay is not sparse_coo and has.sparse_dim != 2:
        raise RuntimeError(way + "for input tensors with sparse_dim()!=2 is not supported")
    if own in (sparse_csr, sparse_csc) and blocked and has.batch:
        raise RuntimeError(way + "for batched inputs is not supported")
    if blocksize is None:
        if blocked:
            raise RuntimeError(way + "without blocksize argument given is not supported")
    elif len(blocksize) != 2:
        raise RuntimeError(f"{where}: blocksize needs to be a tuple of size 2, but got {len(blocksize)}")
    elif min(blocksize) <= 0:
        raise RuntimeError(f"{where}: blocksize needs to be positive, but got {list(blocksize)}")
    elif not blocked:
        raise RuntimeError(way + "with blocksize argument given is not supported")
    elif was_blocked:
        if tuple(blocksize) != tuple(has.block):
            raise RuntimeError(way + f"with blocksize changed from {list(has.block)} to {list(blocksize)} is not supported")
    else:
        at = -2 - (has.dense_dim if own is not strided else max(dense_dim or 0, 0))
        if at < -has.ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-has.ndim}, {has.ndim - 1}], but got {at})")
        h, w = has.shape[at], has.shape[at + 1]
        if h % blocksize[0] or w % blocksize[1]:
            raise RuntimeError(f"{where}: tensor sparse size ({h},{w}) must be divisible by given blocksize "
                               f"({blocksize[0]},{blocksize[1]})")
    if dense_dim is not None:
        if own is not strided:
            raise RuntimeError(way + "with dense_dim argument given is not supported")
        most = has.ndim - (0 if lay is sparse_coo else 2)
        if not 0 <= dense_dim <= most:
            raise RuntimeError(f"{where}: dense_dim argument must be in [0,{most}] range, but {dense_dim} is given")


def in_layout(x: Any, lay: layout, like: Tensor | None = None, blocksize: Any = None, dense_dim: Any = None) -> Any:
    """A tensor in another layout; recorded. `like` is one whose blocks, and dense dimensions, it is to have. Whether torch has such a
    conversion, `convertible` says."""
    if like is not None and not is_sparse(x):
        dense_dim = like._data.dense_dim
    if lay is strided:
        return above.sparse_methods().to_dense(x)
    if lay is sparse_coo:
        lead = None if like is None or is_sparse(x) else like._data.sparse_dim
        return above.sparse_methods().to_sparse(x, lead)
    if like is not None and like._data.blocked:
        blocksize = like._data.block
    if x._k.special is lay:
        return x
    if not is_sparse(x):
        made = _from_dense(plain(x), lay, blocksize, dense_dim or 0)
    else:
        own = x._data
        if own.__class__ is Compressed and own.blocked and not blocksize:
            raise RuntimeError(f"sparse_compressed_to_sparse_{_name(lay)}: expected SparseCsr or SparseCsc layout but got "
                               f"{NAMES[x._k.special]}")
        made = compressed_of(own if own.__class__ is Coo else coordinates(own), lay, blocksize,
                             np.int64 if own.__class__ is Coo else own.plain._k.np)

    def back(g: Tensor) -> Tensor:
        return above.sparse_methods().to_dense(g) if not is_sparse(x) else in_layout(g, x._k.special, x)

    return recorded(sparse(made), NODES[lay], (x, back))


def compressed_mask(x: Tensor, mask: Tensor) -> Tensor:
    """The elements of a tensor where a compressed one has some."""
    m = mask._data
    if m.blocked and not is_sparse(x):
        at = coordinates(m)
    else:
        at = coordinates(m)
    from_ = above.sparse_methods().sparse_mask(x, sparse(at))

    def shaped(values: Tensor) -> Tensor:
        return F.reshape(values, tuple(m.values.shape))

    with unrecorded():
        made = m.over(shaped(from_._data.values))

    def back(g: Tensor) -> Tensor:
        g = compressed_mask(g, mask)
        return g if is_sparse(x) else above.sparse_methods().to_dense(g)

    return recorded(sparse(made), "SparseMaskBackward0", (x, back))


# -- operations -------------------------------------------------------------------------------------------------------------------


@kernel("cast", on=(COMPRESSED,))
def _cast(input: Tensor, dtype: DType | None) -> Tensor:
    return sparse(input._data.over(F.cast(input._data.values, dtype)))


@kernel("clone", on=(COMPRESSED,))
def _clone(input: Tensor, memory_format: Any = None) -> Tensor:
    return sparse(input._data.copy())


def _turned(b: Compressed, a: int, c: int) -> Compressed:
    """Two dimensions exchanged: rows become columns, with the same parts."""
    if b.dense_dim:
        raise RuntimeError("transpose(): hybrid sparse compressed tensors with dense dimensions are not supported")
    batch, turns = len(b.batch), {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}
    shape = list(b.shape)
    shape[a], shape[c] = shape[c], shape[a]
    if a == c:
        return b.over(b.values)
    if {a, c} == {batch, batch + 1}:
        values = F.transpose(b.values, batch + 1, batch + 2) if b.blocked else b.values
        return Compressed(turns[b.layout], shape, b.compressed, b.plain, values, b.checked)
    if max(a, c) < batch:
        compressed, plain_, values = [F.transpose(t, a, c) for t in b.parts()]
        return Compressed(b.layout, shape, compressed, plain_, values, b.checked)
    raise RuntimeError(f"transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got {a}({_sort(b, a)}) and "
                       f"{c}({_sort(b, c)})")


def _sort(b: Compressed, d: int) -> str:
    batch = len(b.batch)
    return "Batch" if d < batch else "Sparse" if d < batch + 2 else "Dense"


@kernel("transpose", on=(COMPRESSED,), views=True)
def _transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    n = input._data.ndim
    for d in (dim0, dim1):
        if not -n <= d < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    return sparse(_turned(input._data, dim0 % n, dim1 % n))


@kernel("t", on=(COMPRESSED,), views=True)
def _t(input: Tensor) -> Tensor:
    if input._data.ndim != 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {input._data.sparse_dim} sparse and "
                           f"{input._data.dense_dim} dense dimensions")
    return sparse(_turned(input._data, 0, 1))


@kernel("permute", on=(COMPRESSED,))
def _permute(input: Tensor, dims: Any) -> Tensor:
    if input._data.ndim == 2 and tuple([d % 2 for d in dims]) == (1, 0):
        return sparse(_turned(input._data, 0, 1))
    if tuple([d % input._data.ndim for d in dims]) == tuple(range(input._data.ndim)):
        return sparse(input._data.over(input._data.values))
    raise could_not_run("permute", "SparseCsrCPU")


@kernel("sum", on=(COMPRESSED,))
def _sum(input: Tensor, dim: Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Tensor:
    if dim is None:
        return F.sum(input._data.values, dtype=dtype)
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    b = coordinates(input._data)
    if b.ndim != 2 or b.sparse_dim != 2:
        raise RuntimeError("input_dim == 2 INTERNAL ASSERT FAILED: reductions of matrices alone are supported")
    dims = tuple([d % 2 for d in ((dim,) if isinstance(dim, int) else dim)])
    rows = b.indices._data.copy()
    rows[list(dims)] = 0
    size = [1 if d in dims else n for d, n in enumerate(b.shape)]
    values = b.values if dtype is None else F.cast(b.values, dtype)
    if dtype is None and values._k.np.kind in "biu":
        values = F.cast(values, F.sum(values)._k.dtype)
    return sparse(compressed_of(Coo(size, index_tensor(rows), values), sparse_csr))


@composite("select", on=(COMPRESSED,))
def _select(input: Tensor, dim: int, index: int) -> Tensor:
    b = input._data
    dim %= b.ndim
    if dim < len(b.batch):
        n = b.shape[dim]
        if not -n <= index < n:
            raise IndexError(f"select(): index {index} out of range for tensor of size {list(b.shape)} at dimension {dim}")
        shape = b.shape[:dim] + b.shape[dim + 1:]
        return sparse(Compressed(b.layout, shape, *[F.select(t, dim, index) for t in b.parts()]))
    if b.batch:
        raise RuntimeError("select(): selecting sparse dimensions is not supported for batched sparse compressed tensors.")
    return F.select(to_coordinates(input), dim, index)


@composite("getitem", on=(COMPRESSED,))
def _getitem(input: Tensor, index: object) -> Tensor:
    result = input
    for key in index if isinstance(index, tuple) else (index,):
        if not isinstance(key, (int, np.integer)) or isinstance(key, bool):
            raise RuntimeError("Sparse CSR tensors do not have strides") if isinstance(key, slice) else could_not_run(
                "index.Tensor", "SparseCsrCPU")
        n = result.shape[0]
        if not -n <= key < n:
            raise IndexError(f"index {key} is out of bounds for dimension 0 with size {n}")
        result = F.select(result, 0, int(key))
    return result


@composite("unbind", on=(COMPRESSED,))
def _unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    return tuple([F.select(input, dim, i) for i in range(input.shape[dim])])


def _common(input: Any, other: Any) -> Any:
    return result_dtype([(t._k.dtype, t._data.ndim) for t in (input, other)])


@kernel("add", on=(COMPRESSED,))
def _add(input: Tensor, other: Tensor | Number, alpha: Number = 1) -> Tensor:
    if not isinstance(other, Tensor) or not is_sparse(other) or not is_sparse(input):
        if not isinstance(other, Tensor) or tuple(input.shape) != tuple(other.shape):
            size = list(getattr(other, "shape", ()))
            raise RuntimeError(f"add: expected 'self' and 'other' to have same size, but self has size {list(input.shape)} while "
                               f"other has size {size} (FYI: op2-sparse addition does not currently support broadcasting)")
        a, b = [dense_of_compressed(t._data) if is_sparse(t) else t for t in (input, other)]
        return F.add(a, b, alpha=alpha)
    if other._k.special is not input._k.special:
        raise RuntimeError(f"add(): expected both tensors to have the same layout, but got {input.layout} and {other.layout}")
    if tuple(input.shape) != tuple(other.shape):
        raise RuntimeError("torch.add: Expected input tensors to have the same shape, but got tensor `self` with shape "
                           f"{list(input.shape)} and tensor `other` with shape {list(other.shape)}")
    total = add_coo(in_order(coordinates(input._data)), in_order(coordinates(other._data)), alpha)
    return sparse(compressed_of(total, input._k.special, input._data.block if input._data.blocked else None))


@kernel("mul", on=(COMPRESSED,))
def _mul(input: Any, other: Any) -> Tensor:
    def number(x: object) -> bool:
        return not isinstance(x, Tensor) or not x._data.ndim

    if number(other):
        return sparse(input._data.over(F.mul(input._data.values, other)))
    if number(input):
        return sparse(other._data.over(F.mul(other._data.values, input)))
    if is_sparse(input) and is_sparse(other):
        if input._k.special is not other._k.special:
            raise RuntimeError(f"mul(sparse_csr, sparse) requires both operands to have one layout, got {input.layout} and {other.layout}")
        a, b = coordinates(input._data), coordinates(other._data)
        return sparse(compressed_of(times(a, b), input._k.special, input._data.block if input._data.blocked else None))
    x, d = (input, other) if is_sparse(input) else (other, input)
    b = coordinates(x._data)
    at = F.expand(d, b.shape)[tuple([F.wrap(row) for row in b.indices._data])]
    return sparse(x._data.over(F.reshape(F.mul(b.values, at), tuple(x._data.values.shape))))


def _like(name: str) -> None:
    def function(input: Tensor, *rest: object) -> Tensor:
        value, options = (rest[0], rest[1:]) if name == "full_like" else (None, rest)
        dtype = options[0] if options else None
        values = getattr(F, name)(input._data.values, *(() if value is None else (value,)), dtype=dtype)
        return sparse(input._data.over(values))

    composite(name, on=(COMPRESSED,))(function)


@composite("zeros_like", on=(COMPRESSED,))
def _zeros_like(input: Tensor, dtype: DType | None = None, layout: layout | None = None, device: object = None, pin_memory: object = None,
                requires_grad: bool = False, *_: object) -> Tensor:
    if layout is not None and layout is not input._k.special:
        if layout in (sparse_bsr, sparse_bsc) and input._data.blocked:
            return in_layout(sparse(without_elements(input._data, dtype)), layout)
        return F.zeros(input._data.shape, dtype=dtype or input._k.dtype, layout=layout)
    return leaf(sparse(without_elements(input._data, dtype)), requires_grad)


def without_elements(b: Compressed, dtype: DType | None = None) -> Compressed:
    """None of a buffer's elements."""
    at = len(b.batch)
    shape = b.values._data.shape
    return Compressed(b.layout, b.shape, F.zeros_like(b.compressed), F.zeros((*b.batch, 0), dtype=b.plain._k.dtype),
                      F.zeros((*shape[:at], 0, *shape[at + 1:]), dtype=dtype or b.dtype))


@kernel("fill_", on=(COMPRESSED,))
def _fill_(input: Tensor, value: Tensor | Number) -> Tensor:
    return sparse(input._data.over(F.fill(input._data.values, value)))


@composite("zero_", on=(COMPRESSED,))
def _zero_(input: Tensor) -> Tensor:
    frontend.check_inplace(input, ())
    input._data = without_elements(input._data)
    frontend.bump(input)
    return input


@composite("empty_like", on=(COMPRESSED,))
def _empty_like(input: Tensor, dtype: DType | None = None, layout: layout | None = None, device: object = None, pin_memory: object = None,
                requires_grad: bool = False, *_: object) -> Tensor:
    if layout is not None and layout is not input._k.special:
        raise RuntimeError("empty_like with different sparse layout is not supported (self is "
                           f"{NAMES[input._k.special]} but you requested {NAMES.get(layout, 'Strided')})")
    return leaf(sparse(input._data.over(F.empty_like(input._data.values, dtype=dtype)).copy()), requires_grad)


for _named in ("ones_like", "full_like", "rand_like", "randn_like"):
    _like(_named)
__all__ = ["LAYOUTS", "compressed_of", "coordinates", "in_layout", "made", "to_coordinates"]
