"""What tensors tell about being sparse or not, and how they become it: methods of Tensor, sparse or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_tape.annotations import Arguments, DeviceLike, Fn, Keywords, Sizes
from autograd_tape.dtypes import DType
from autograd_tape.errors import AutogradError
from autograd_tape.modes import GradMode, grad_mode

from .._calls.above import above
from .._memory.layout import _mkldnn, layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from .._memory.size import Size
from .._tensor import Tensor, frontend
from .._tensor_str import array_str, with_suffixes
from ._buffers import NAMES, Compressed, Coo, copied, is_sparse, sparse
from ._checks import WORDS
from ._compressed import empty as empty_compressed
from ._compressed import compressed_mask, convertible, dense_of_compressed, in_layout, to_coordinates
from ._coo import alias, coalesce, dense_of, empty, in_order, index_tensor, made, nonzeros, of_layout, picked_dense, picked_sparse
from ._door import COMPRESSED, COO, composite, could_not_run, unrecorded
from ._nodes import plain, recorded, values_of
from ._opaque import empty as empty_opaque
from ._opaque import is_opaque
from ._opaque import to_dense as opaque_to_dense
from ._opaque import to_mkldnn as to_mkldnn
from ._arithmetic import add_coo
from ._legacy import legacy
from ._products import smm, sspaddmm
from ._shapes import narrow_copy

F = frontend


def _backend(x: Tensor) -> str:
    return "MkldnnCPU" if is_opaque(x) else "CPU" if not is_sparse(x) else "SparseCPU" if x._k.special is sparse_coo else "SparseCsrCPU"


def indices(x: Tensor) -> Tensor:
    """The indices of a tensor whose indices are in order."""
    of_layout(x, "indices", sparse_coo)
    if not x._data.coalesced:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return alias(x._data.indices)


def values(x: Tensor) -> Tensor:
    """The values of a tensor, whose gradient is sparse."""
    if x.is_nested:
        return above.nested_methods().values(x)
    of_layout(x, "values", *NAMES, words="sparse tensor layout")
    if x._data.__class__ is Coo and not x._data.coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return values_of(x)


def _indices(x: Tensor) -> Tensor:
    """The indices, in order or not."""
    if x._k.special is not sparse_coo:
        raise could_not_run("_indices", _backend(x))
    return alias(x._data.indices)


def _values(x: Tensor) -> Tensor:
    """The values, of indices in order or not."""
    if x._k.special is not sparse_coo:
        raise could_not_run("_values", _backend(x))
    return alias(x._data.values)


def _nnz(x: Tensor) -> int:
    """How many elements are there."""
    if not is_sparse(x):
        raise could_not_run("_nnz", "CPU")
    return x._data.nnz


def _compressed_part(name: str, part: str, *layouts: layout) -> Fn:
    words = f"sparse {'row' if name in ('crow_indices', 'col_indices') else 'column'} compressed tensor layout"

    def method(x: Tensor) -> Tensor:
        of_layout(x, name, *layouts, words=words)
        return alias(getattr(x._data, part))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The {name.replace('_', ' ')} of a tensor of such a layout."
    return method


crow_indices = _compressed_part("crow_indices", "compressed", sparse_csr, sparse_bsr)
col_indices = _compressed_part("col_indices", "plain", sparse_csr, sparse_bsr)
ccol_indices = _compressed_part("ccol_indices", "compressed", sparse_csc, sparse_bsc)
row_indices = _compressed_part("row_indices", "plain", sparse_csc, sparse_bsc)


def is_coalesced(x: Tensor) -> bool:
    """Whether indices are known to be in order, each once."""
    of_layout(x, "is_coalesced", sparse_coo)
    return x._data.coalesced


def _coalesced_(x: Tensor, coalesced: bool) -> Tensor:
    """Says that indices are in order, or not, in place."""
    if x._k.special is not sparse_coo:
        raise could_not_run("_coalesced_", _backend(x))
    x._data.coalesced = bool(coalesced)
    frontend.bump(x)
    return x


def sparse_dim(x: Tensor) -> int:
    """How many dimensions have indices."""
    return x._data.sparse_dim if is_sparse(x) else 0


def dense_dim(x: Tensor) -> int:
    """How many dimensions have none."""
    return x._data.dense_dim if is_sparse(x) else x._data.ndim


def _dimI(x: Tensor) -> int:
    """How many dimensions have indices, of a tensor of coordinates."""
    if x._k.special is not sparse_coo:
        raise could_not_run("_dimI", _backend(x))
    return x._data.sparse_dim


def _dimV(x: Tensor) -> int:
    """How many dimensions values have, of a tensor of coordinates."""
    if x._k.special is not sparse_coo:
        raise could_not_run("_dimV", _backend(x))
    return x._data.dense_dim


# -- to other layouts -----------------------------------------------------------------------------------------------------------


def to_dense(x: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """All elements, in an ordinary tensor. The gradient is where the sparse tensor has elements, unless `masked_grad` is False."""
    if not is_sparse(x):
        return opaque_to_dense(x, dtype)
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense" if x._k.special is sparse_coo else
                           "dtype argument is not supported by sparse_csr_to_dense")
    b = x._data
    dense = dense_of(b) if b.__class__ is Coo else dense_of_compressed(b)

    def back(g: Tensor) -> Tensor:
        if masked_grad is False:
            return to_layout(g, x)
        return sparse_mask(g, sparse(in_order(b) if b.__class__ is Coo else b))

    return recorded(dense, "ToDenseBackward0", (x, back))


def to_layout(g: Tensor, like: Tensor) -> Tensor:
    """A dense gradient in the layout of a tensor."""
    return g if is_sparse(g) and g._k.special is like._k.special else in_layout(g, like._k.special, like)


def to_sparse(x: Tensor, sparse_dim: int | None = None, *, layout: layout | None = None, blocksize: Sizes | None = None,
              dense_dim: int | None = None) -> Tensor:
    """The elements that are not zero: coordinates of the first `sparse_dim` dimensions, or another sparse layout."""
    if sparse_dim is not None:
        if layout is not None or blocksize is not None or dense_dim is not None:
            raise TypeError("to_sparse() takes 0 positional arguments but 1 was given")
        if is_sparse(x) and (x._k.special is not sparse_coo and sparse_dim != 2
                             or x._k.special is sparse_coo and sparse_dim != x._data.sparse_dim):
            where, most = ("to_sparse", "self.sparse_dim()") if x._k.special is sparse_coo else ("sparse_compressed_to_sparse", "2")
            raise RuntimeError(f"{where}: conversion from {NAMES[x._k.special]} to Sparse with sparse_dim argument !={most} is not "
                               "supported")
    lay = sparse_coo if layout is None else layout
    convertible(x, lay, blocksize, dense_dim)
    if lay is not sparse_coo:
        return in_layout(x, lay, None, blocksize, dense_dim) if lay is not strided else x if not is_sparse(x) else to_dense(x)
    if is_sparse(x):
        return x if x._k.special is sparse_coo else to_coordinates(x)
    if dense_dim is not None:
        sparse_dim = x._data.ndim - dense_dim
    found = nonzeros(plain(x), sparse_dim, dense_dim is not None)
    return recorded(sparse(found), "ToSparseBackward0" if sparse_dim is not None else "ToSparseBackward1", (x, lambda g: to_dense(g)))


def _to(lay: layout) -> Any:
    blocked, suffix = lay is sparse_bsr or lay is sparse_bsc, lay.name.removeprefix("sparse")

    def method(x: Any, *args: Any, **options: Any) -> Any:
        given = dict(zip(("blocksize", "dense_dim") if blocked else ("dense_dim",), args)) | options
        if blocked and "blocksize" not in given:
            raise TypeError(f'to_{lay.name}() missing 1 required positional arguments: "blocksize"')
        blocksize = given.get("blocksize")
        if isinstance(blocksize, int):
            blocksize = (blocksize, blocksize)
        convertible(x, lay, blocksize, given.get("dense_dim"), suffix)
        return in_layout(x, lay, None, blocksize, given.get("dense_dim"))

    method.__name__ = method.__qualname__ = f"to_{lay.name}"
    method.__doc__ = f"The tensor in the layout {lay}."
    return method


to_sparse_csr, to_sparse_csc, to_sparse_bsr, to_sparse_bsc = map(_to, (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc))


def sparse_mask(x: Tensor, mask: Tensor) -> Tensor:
    """The elements of a tensor where a sparse tensor has some, be they zero or not."""
    if not is_sparse(mask):
        raise could_not_run("_nnz" if is_sparse(x) else "sparse_mask", "CPU")
    m: Any = mask._data
    if tuple(x.shape) != m.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(x.shape)} but mask has size "
                           f"{list(m.shape)}")
    if m.__class__ is Compressed:
        return compressed_mask(x, mask)
    y = x if not is_sparse(x) or x._k.special is sparse_coo else to_coordinates(x)
    if is_sparse(y) and y._data.sparse_dim != m.sparse_dim:
        raise RuntimeError("sparse_mask(): the number of sparse dimensions in `self` should match that of the `mask`. Got "
                           f"`self.sparse_dim() == {y._data.sparse_dim}` != `mask.sparse_dim() == {m.sparse_dim}`.")
    with unrecorded():
        at = picked_sparse(y._data, m) if is_sparse(y) else picked_dense(plain(y), m)
    found = Coo(m.shape, m.indices, at, m.coalesced)

    def back(g: Tensor) -> Tensor:
        there = sparse_mask(g, mask)
        return there if is_sparse(x) else to_dense(there)

    return recorded(sparse(found), "SparseMaskBackward0", (y, back))


def made_in_layout(name: str, shape: tuple[int, ...], dtype: DType | None, lay: layout, device: DeviceLike | None,
                   requires_grad: bool) -> Tensor:
    """What the factory `name` makes in a sparse layout: no elements."""
    if lay is _mkldnn:
        return empty_opaque(name, shape, dtype, requires_grad)
    if name == "empty_like":
        raise could_not_run("empty_strided", "SparseCPU" if lay is sparse_coo else "SparseCsrCPU")
    if name not in ("zeros", "zeros_like", "empty"):
        raise RuntimeError("full(...) is not implemented for sparse layout")
    made = sparse(empty(shape, dtype, device) if lay is sparse_coo else empty_compressed(lay, shape, dtype, device))
    return made.requires_grad_() if requires_grad else made


# -- in place -------------------------------------------------------------------------------------------------------------------


def _check(x: Tensor, *others: Tensor) -> None:
    try:
        frontend.check_inplace(x, others)
    except AutogradError as error:
        raise frontend.error(error) from None


@composite("zero_")
def zero_(x: Tensor) -> Tensor:
    """No elements any more, in place."""
    _check(x)
    b = x._data
    recording = grad_mode() is GradMode.ENABLED and x._node is not None
    if b.__class__ is Coo:
        x._data = empty(b.shape, b.dtype, x._k.device, b.sparse_dim)
    else:
        F.zero_(b.values)
    frontend.bump(x)
    if recording:
        x._node = None
    return x


def _compressed_copy(x: Tensor, src: Tensor) -> None:
    """Raises where the elements of a compressed tensor do not fit another's places."""
    if x._k.special is not src._k.special:
        raise RuntimeError("copy of sparse compressed tensors having different layouts is not supported.")
    a, b = x._data, src._data
    if a.nnz != b.nnz:
        raise RuntimeError("copy_sparse_compressed_: only sparse compressed tensors with the same number of specified elements are "
                           "supported.")
    at = 0 if a.by_rows else 1
    rows = [t.shape[len(t.batch) + at] for t in (a, b)]
    if rows[0] != rows[1]:
        raise RuntimeError(f"copy_sparse_compressed_: expected shapes of self and src to match along dimension {len(a.batch) + at} for "
                           f"{x.layout} layout but the corresponding dimensions of self and src are {rows[0]} and {rows[1]}, respecitvely.")
    if a.block != b.block:
        raise RuntimeError("copy_sparse_compressed_: copy of sparse compressed tensors having different block sizes is not supported. self "
                           f"and src block sizes are {list(a.block)} and {list(b.block)}, respectivly.")


@composite("copy_", on=(COO, COMPRESSED))
def copy_(x: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """The elements of another sparse tensor, in place. Gradients go there; what was here before gets zeros."""
    if any([t._data.__class__ is Compressed for t in (x, src)]):
        _compressed_copy(x, src)
    if not (is_sparse(x) and is_sparse(src) and x._k.special is src._k.special):
        if is_sparse(x) and is_sparse(src):
            raise RuntimeError(f"copy_() between {x.layout} and {src.layout} tensors is not supported")
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = "
                           f"{x.type()} and src type = {src.type()}")
    _check(x, src)
    b = src._data.copy().astype(x._k.np, copy=False)
    if b.__class__ is Compressed:
        b.shape = x._data.shape
    if b.__class__ is Coo and b.shape != x._data.shape:
        resized(x._data, b.shape, b.sparse_dim, b.dense_dim)
    before, dtype = None if x._node is None else F.zeros_like(plain(x)), src.dtype
    copy = recorded(sparse(b), "CopyBackwards", (x, lambda g: before), (src, lambda g: g if g.dtype is dtype else g.to(dtype)))
    x._data = b
    frontend.bump(x)
    if copy._node is not None:
        frontend.rebase(x, copy._node)
    return x


def drawn(x: Tensor, name: str, args: Arguments, options: Keywords) -> Tensor:
    """Draws the values of a compressed tensor anew, in place: from a normal distribution, which is the one that torch has for them."""
    if x._data.__class__ is not Compressed or name != "normal_":
        forms = {"bernoulli_": "bernoulli_.float", "random_": ("random_", "random_.to", "random_.from")[min(len(args), 2)]}
        raise refused(x, forms.get(name, name))
    x._data.values.normal_(*args, **options)
    frontend.bump(x)
    return x


def sparse_resize_(x: Tensor, size: Sizes, sparse_dim: int, dense_dim: int) -> Tensor:
    """Other sizes, in place; elements stay."""
    x._data = resized(_resizable(x, "sparse_resize_"), tuple(size), sparse_dim, dense_dim)
    frontend.bump(x)
    return x


def resized(b: Coo, size: tuple[int, ...], sparse_dim: int, dense_dim: int) -> Coo:
    """The elements of a buffer in one of other sizes; an error where some would have no place."""
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, "
                           f"dense_dim = {dense_dim}")
    if b.nnz:
        if sparse_dim != b.sparse_dim:
            raise RuntimeError(f"changing the number of sparse dimensions (from {b.sparse_dim} to {sparse_dim}) on a non-empty sparse "
                               "tensor is not supported.")
        if dense_dim != b.dense_dim:
            raise RuntimeError(f"changing the number of dense dimensions (from {b.dense_dim} to {dense_dim}) on a non-empty sparse "
                               "tensor is not supported.")
        old, new = list(b.shape[:sparse_dim]), list(size[:sparse_dim])
        if any([m < n for m, n in zip(new, old)]):
            raise RuntimeError(f"shrinking the size of sparse dimensions (from {old} to {new}) on a non-empty sparse tensor is not "
                               "supported.")
        if any([m < n for m, n in zip(size[sparse_dim:], b.shape[sparse_dim:])]):
            raise RuntimeError(f"shrinking the size of dense dimensions (from {list(b.shape[sparse_dim:])} to "
                               f"{list(size[sparse_dim:])}) on a non-empty sparse tensor is not supported.")
        grown = b.values if size[sparse_dim:] == b.shape[sparse_dim:] else resized_to(b.values, (b.nnz, *size[sparse_dim:]))
        return Coo(size, b.indices, grown, b.coalesced)
    return empty(size, b.dtype, b.kind.device, sparse_dim)


def sparse_resize_and_clear_(x: Tensor, size: Sizes, sparse_dim: int, dense_dim: int) -> Tensor:
    """Other sizes, in place, and no elements."""
    b = _resizable(x, "sparse_resize_and_clear_")
    x._data = empty(tuple(size), b.dtype, x._k.device, sparse_dim)
    frontend.bump(x)
    return x


def _resizable(x: Tensor, name: str) -> Coo:
    if x._k.special is not sparse_coo:
        raise could_not_run(name, _backend(x))
    if x._node is not None and grad_mode() is GradMode.ENABLED:
        raise RuntimeError("cannot resize variables that require grad")
    return x._data


def resize_(x: Tensor, *sizes: Any, size: Sizes | None = None, memory_format: object = None) -> Tensor:
    """Other sizes of a compressed tensor, in place: rows are added or cut off, and with them elements; none moves.

    Raises:
        RuntimeError: there are fewer columns, or no matrix is left.
    """
    if x._k.special is sparse_coo or is_opaque(x):
        raise refused(x, "resize_")
    b: Compressed = x._data
    new = tuple(size if size is not None else sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)
    if len(new) < 2:
        raise RuntimeError(f"torch.resize_: Only batched sparse CSR matrices are supported, but got size {list(new)}")
    columns = b.shape[-1]
    minor, major = (new[-1], new[-2]) if b.by_rows else (new[-2], new[-1])
    if new[-1] < columns:
        raise RuntimeError("torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. The original number "
                           f"of columns is {columns} while the requested new number of columns is {new[-1]}.")
    nnz, have = min(b.nnz, major * minor), b.compressed._data.shape[-1]
    compressed = resized_to(b.compressed, (*new[:-2], major + 1))._data
    compressed[..., have:] = b.nnz
    np.minimum(compressed, nnz, out=compressed)
    compressed[..., -1] = nnz
    x._data = Compressed(b.layout, new, F.wrap(compressed), resized_to(b.plain, (*new[:-2], nnz)),
                         resized_to(b.values, (*new[:-2], nnz)), False)
    frontend.bump(x)
    return x


def resized_to(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The elements of a tensor in memory of their own and of other sizes, one behind the other; zeros behind them."""
    new, flat = np.zeros(shape, t._k.np), t._data.reshape(-1)
    n = min(new.size, flat.size)
    new.reshape(-1)[:n] = flat[:n]
    return F.wrap(new, t._k)


def resize_as_sparse_(x: Any, other: Any) -> Tensor:
    """The sizes of another sparse tensor, in place; of compressed ones, the sizes of its parts, too."""
    if any([t._data.__class__ is Compressed for t in (x, other)]):
        for name, t in (("self", x), ("src", other)):
            if t._data.__class__ is not Compressed:
                raise RuntimeError(f"resize_as_sparse_compressed_: {name}  expected sparse compressed tensor layout but got "
                                   f"{NAMES.get(t._k.special, 'Strided')}")
        a, b = x._data, other._data
        if a.layout is not b.layout:
            raise RuntimeError("resize_as_sparse_compressed_tensor_: self and src must have the same layout, but got: self "
                               f"({NAMES[a.layout]}) and source ({NAMES[b.layout]})")
        if a.shape != b.shape:
            rows, cols = [F.cast(own, mine._k.dtype) for own, mine in zip((copied(b.compressed), copied(b.plain)), a.parts())]
            x._data = Compressed(b.layout, b.shape, rows, cols, resized_to(a.values, tuple(b.values.shape)), b.checked)
            frontend.bump(x)
        return x
    if tuple(x.shape) == tuple(other.shape) and sparse_dim(x) == sparse_dim(other):
        return x
    return sparse_resize_(x, other.shape, sparse_dim(other), dense_dim(other))


def resize_as_(x: Tensor, other: Tensor) -> Tensor:
    """The sizes of another tensor, in place: of a dense one, too, where rows or columns are compressed."""
    return resize_(x, other.shape) if x._data.__class__ is Compressed and not is_sparse(other) else resize_as_sparse_(x, other)


# -- numbers and text -----------------------------------------------------------------------------------------------------------


def item(x: Tensor) -> Any:
    """The one element of a sparse tensor with a single one, as a number."""
    if is_opaque(x):
        raise refused(x, "_local_scalar_dense")
    return plain(to_dense(x)).item() if x._k.special is not sparse_coo or x._data.nnz else np.zeros((), x._k.np).item()


def text(x: Tensor, prefix: str, is_default_dtype: bool, ends: list[str]) -> str:
    """How a tensor that is not strided is printed."""
    b = x._data
    indent = len(prefix)
    if is_opaque(x):
        empty = [] if b.size else [f"size={b.shape}"]
        return with_suffixes(prefix + array_str(b, indent), [*empty, f"layout={x._k.special!r}", *ends], indent, False)
    suffixes = [f"size={tuple(b.shape)}", f"nnz={b.nnz}"]
    if x._k.device.type != "cpu":
        suffixes.insert(0, f"device='{x._k.device}'")
    if not is_default_dtype:
        suffixes.append(f"dtype={x._k.dtype!r}")
    suffixes.append(f"layout={x._k.special!r}")
    names = ("indices", "values") if b.__class__ is Coo else (*WORDS[b.layout][:2], "values")
    parts = []
    for name, t in zip(names, b.parts()):
        body = array_str(t._data, indent + len(f"{name}=tensor("))
        parts.append(f"{name}=tensor({body}" + (f", size={tuple(t._data.shape)}" if not t._data.size else "") + ")")
    return with_suffixes(prefix + (",\n" + " " * indent).join(parts), suffixes + ends, indent, b.__class__ is Coo)


def saved_parts(x: Tensor, kind: type = Size) -> tuple[Any, ...]:
    """(layout, parts) of a tensor, as files have them; `kind` is that of the sizes."""
    if is_opaque(x):
        x.untyped_storage()  # which raises
    b = x._data
    parts = tuple([alias(t) for t in b.parts()])
    return x._k.special, (*parts, kind(b.shape), b.coalesced) if b.__class__ is Coo else (*parts, kind(b.shape))


def deep_copy(x: Tensor) -> Tensor:
    """A leaf with memory of its own, without a gradient."""
    if is_opaque(x):
        x.untyped_storage()  # which raises
    if x._data.__class__ is Compressed:
        raise NotImplementedError("Cannot access storage of SparseCsrTensorImpl")
    twin = sparse(x._data.copy())
    return twin.requires_grad_() if x.requires_grad else twin


def new(x: Tensor, *args: object, **named: object) -> Tensor:
    """`x.new(...)` of a tensor of coordinates: one of these indices, values and sizes; of these sizes; or with none."""
    return legacy(x._k.dtype, "new()", "SparseTensor.new(sequence)", args, named)


def refused(x: Tensor, name: str) -> Exception:
    """The error of an operation that torch does not have for sparse tensors."""
    return could_not_run(name, _backend(x))


# -- gradients ------------------------------------------------------------------------------------------------------------------


def added_gradients(a: Any, b: Any) -> Any:
    """The sum of two gradients, sparse buffers or arrays, as torch adds them."""
    with unrecorded():
        if isinstance(a, Coo) and isinstance(b, Coo):
            return add_coo(a, b)
        x, y = [frontend.wrap(g) for g in (a, b)]
        if is_sparse(x) and not is_sparse(y):
            x, y = y, x
        return (x + y)._data


def accumulate(leaf: Tensor, g: Tensor, owned: bool) -> None:
    """Adds a gradient to a leaf's where one of the three is sparse. One of coordinates that is taken as it is does not know any more, as
    in torch, that its indices are in order."""
    have = getattr(leaf, "_grad", None)
    recording = grad_mode() is GradMode.ENABLED
    if have is None:
        b = g._data
        if recording:
            leaf._grad = g
        elif b.__class__ is Coo and owned and b.values._data.flags.c_contiguous:
            leaf._grad = sparse(Coo(b.shape, b.indices, b.values))
        else:
            leaf._grad = g if owned and not is_sparse(g) and b.base is None and b.flags.writeable else frontend.wrap(b.copy())
    elif recording or is_sparse(have) and not is_sparse(g):
        leaf._grad = g + have if is_sparse(have) and not is_sparse(g) else have + g
    else:
        F.add_(have, g)


def sparse_rows(grad: Any, rows: Any, count: int, padding_idx: int, by_frequency: bool) -> Any:
    """The gradient for a table of `count` rows of which some were looked up: a buffer of a buffer, a tensor of a tensor."""
    if by_frequency:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    g = grad if isinstance(grad, Tensor) else frontend.wrap(grad)
    at = rows._data if isinstance(rows, Tensor) else rows
    at = at.reshape(-1).astype(np.int64)
    width = g._data.shape[-1]
    values = F.reshape(g, (len(at), width))
    if padding_idx >= 0:
        kept = np.flatnonzero(at != padding_idx)
        if len(kept) < len(at):
            at, values = at[kept], F.index_select(values, 0, index_tensor(kept))
    t = made((count, width), index_tensor(at[None]), values)
    return t if isinstance(grad, Tensor) else t._data


def sparse_elements(grad: Any, dim: int, index: Any, shape: tuple[int, ...]) -> Any:
    """The gradient for a tensor of which elements were picked along a dimension: a buffer of a buffer, a tensor of a tensor."""
    g = grad if isinstance(grad, Tensor) else frontend.wrap(grad)
    at = np.asarray(index._data if isinstance(index, Tensor) else index)
    rows = np.zeros((len(shape), at.size), np.int64)
    if shape:
        dim %= len(shape)
        for d, row in enumerate(np.indices(at.shape or (1,) * len(shape))):
            rows[d] = at.reshape(-1) if d == dim else row.reshape(-1)
    t = made(shape, index_tensor(rows), F.reshape(g, (at.size,)))
    return t if isinstance(grad, Tensor) else t._data


__all__ = ["NAMES", "coalesce", "in_order", "narrow_copy", "smm", "sspaddmm"]
