"""Tensors joined: cat, stack and their relatives; grids and products of tensors."""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

import numpy as np

from ...dims import wrap_dim
from ...dtypes import as_bits
from ...errors import AutogradError
from ...executors.kernels.sharing import copy, copy_into
from ...functions.out import CASTS, CASTS_INPUTS
from ...functions.refusals import check_elements, on_meta
from ...record import RECORDS, Sample, op
from ...strided import in_format, strided, suggests_channels_last, view_strides
from ...warned import warn_once
from .. import _batch as batches
from .. import _shapes as shapes
from .._host import data_dependent, on_host, on_one_device
from ..networks._losses import constant
from ..views.shape import _expand, _unsqueeze, _view
from ...annotations import Functions
from ...tensor import TensorRef

SHORT = 1024  # elements of a tensor up to which NumPy stacks quicker than it concatenates


class _EmptyListError(AutogradError, ValueError):
    """An operation on a list got an empty one."""

    builtin = ValueError


def _in_rows(a: np.ndarray) -> np.ndarray:
    return a if a.flags.c_contiguous else copy(a)


_concatenate = getattr(np.concatenate, "_implementation", np.concatenate)  # what is behind NumPy's dispatcher
_NARROW, _SOME, _FEW = 6, 8, 1 << 15  # numbers up to which a row is a short run, of how many it matters; NumPy copies columns as fast
_NEAR = 1 << 20  # bytes that a cache holds


def _one_by_one(tensors: Sequence[np.ndarray], dim: int) -> np.ndarray | None:
    """The tensors, each copied to its place by itself, where NumPy would join them in short runs: columns as rows, and narrow rows."""
    first = tensors[0]
    d, n = dim, first.ndim
    if d == 0 and not first.flags.c_contiguous and n < 4:
        size, place = first.shape[1:], copy if first.size > _FEW else copy_into
        if [a for a in tensors if a.shape[1:] != size]:
            return None
    elif 1 < n < 4 and d in (n - 1, -1) and first.flags.c_contiguous and first.size >= _SOME * first.shape[-1] and (
            min([a.shape[-1] for a in tensors if a.ndim]) <= _NARROW):
        d, size, place = n - 1, first.shape[:-1], copy_into
        if [a for a in tensors if a.ndim != n or a.shape[:-1] != size]:
            return None
    else:
        return None
    many = sum([a.shape[d] for a in tensors])
    result = np.empty((many, *size) if d == 0 else (*size, many), first.dtype)
    moved, at, pieces = as_bits(result), 0, []
    for a in tensors:
        end = at + a.shape[d]
        pieces.append((as_bits(a), at, end))
        at = end
    if d == 0:
        for a, at, end in pieces:
            place(a, moved[at:end])
        return result
    # A part of the rows at a time, while what one tensor left of a line of memory is near.
    rows = size[0]
    step = rows if result.nbytes < _NEAR else max(1, rows * _NEAR // (4 * result.nbytes))
    for start in range(0, rows, step):
        for a, at, end in pieces:
            place(a[start:start + step], moved[start:start + step, ..., at:end])
    return result


def _cat(tensors: Sequence[np.ndarray], dim: int) -> np.ndarray:
    try:
        if (a := tensors[0]).size > SHORT and (dim != 0 or not a.flags.c_contiguous) and (found := _one_by_one(tensors, dim)) is not None:
            return found
        result = _concatenate(tensors, dim)
        if result.flags.c_contiguous and (result.ndim < 4 or (a := tensors[0]).flags.c_contiguous and a.strides[1] > a.strides[-1]):
            return result
        # NumPy keeps any common order of the axes, torch only row-major and channels-last.
        if result.ndim in (4, 5) and all([suggests_channels_last(a) for a in tensors]):
            return in_format(result.ndim - 2, result, tensors[0])
        return _in_rows(result)
    except (IndexError, ValueError):
        pass  # which torch may take all the same, or say more of
    # A tensor of shape (0,) may stand anywhere, for historical reasons.
    real = [a for a in tensors if a.shape != (0,)]
    if not real:  # whose dimension does not matter, either
        return np.concatenate(tensors) if tensors else np.empty(0)
    for i, a in enumerate(tensors):
        if not a.ndim:
            raise AutogradError(f"zero-dimensional tensor (at position {i}) cannot be concatenated", remedy="use stack, or reshape(1)")
    n = real[0].ndim
    d = wrap_dim(dim, n)
    for i, a in enumerate(tensors):
        if a.shape == (0,):
            continue
        if a.ndim != n:
            raise AutogradError(f"Tensors must have same number of dimensions: got {n} and {a.ndim}", expected=f"{n} dimensions",
                                found=f"{a.ndim} in tensor {i}", remedy="reshape it, or use stack")
        for j in range(n):
            if j != d and a.shape[j] != real[0].shape[j]:
                raise AutogradError(f"Sizes of tensors must match except in dimension {d}. Expected size {real[0].shape[j]} but got size "
                                    f"{a.shape[j]} for tensor number {i} in the list.", expected=str(list(real[0].shape)),
                                    found=str(list(a.shape)))
    return _in_rows(np.concatenate(real, d))


@op("cat(Tensor[] tensors, int dim=0) -> Tensor", alias=("concat", "concatenate"), promotion="promote", result="same", quiet="all",
    method=False)
class cat:
    """The tensors one after another along a dimension.

    >>> torch.cat([torch.tensor([1., 2.]), torch.tensor([3.])])
    tensor([1., 2., 3.])
    """

    def sharding(call):
        arrays = call["tensors"]
        n = max([a.ndim for a in arrays])
        if not n:
            return call.whole()
        letters = [None if d == wrap_dim(call["dim"], n) else d for d in range(n)]
        return call.propagate([letters if a.ndim == n and (n > 1 or a.size) else [None] * a.ndim for a in arrays], [letters])

    out_dtype = CASTS_INPUTS
    amp = "widest"
    saved_as = {"tensors_shape": None}
    numpy = _cat
    shape = shapes.cat
    compose = on_host(numpy)

    def check(tensors, dim):
        if not tensors:
            raise _EmptyListError("torch.cat(): expected a non-empty list of Tensors", expected="at least one tensor", found="none")

    def vjp(F, grad, tensors_shape, dim):
        d = dim % grad.ndim
        pieces = F.split_with_sizes(grad, tuple([0 if len(s) != grad.ndim else s[d] for s in tensors_shape]), d)
        return [p if len(s) == grad.ndim else F.zeros_for(grad, (0,)) for p, s in zip(pieces, tensors_shape)]
    jvp = "linear"

    def batch(F, call):
        wholes = [call.expanded(t, m) for t, m in zip(call.tensors, call.marks["tensors"])]
        kept = [w for w in wholes if w.shape[1:] != (0,)] or wholes[:1]  # torch ignores empty vectors
        return call(tensors=kept, dim=batches.shifted(call.dim, max([w.ndim for w in wholes]) - 1))

    def samples(rng):
        yield ([rng.standard_normal((2, 3)), rng.standard_normal((1, 3))],)
        yield [rng.standard_normal((2, 3)), rng.standard_normal((2, 1)), rng.standard_normal((2, 2))], -1

    def errors(rng):
        yield ([],), ValueError, "torch.cat(): expected a non-empty list of Tensors"
        yield ([np.ones((2, 3)), np.ones(3)],), RuntimeError, "Tensors must have same number of dimensions: got 2 and 1"
        yield ([np.ones((2, 3)), np.ones((2, 4))],), RuntimeError, (
            "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1 in the list.")


def _stack(tensors: Sequence[np.ndarray], dim: int) -> np.ndarray:
    shape = (a := tensors[0]).shape
    if dim == 0 and len(shape) < 4 and (a.size < SHORT or a.flags.c_contiguous and a.dtype.isbuiltin == 1):
        try:
            return np.array(tensors, order="C")  # NumPy keeps a common order of the axes when it joins, torch does not
        except ValueError:
            pass  # which is told below
    for i, a in enumerate(tensors):
        if a.shape != shape:
            raise AutogradError(f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and {list(a.shape)} at "
                                f"entry {i}",
                                expected=str(list(shape)), found=str(list(a.shape)), remedy="use cat, or pad them")
    if len(shape) in (4, 5) and dim % (len(shape) + 1) < len(shape) and not tensors[0].flags.c_contiguous:
        # torch joins along the dimension and splits that, which keeps tensors with the channels innermost so
        d = dim % (len(shape) + 1)
        joined, size = _cat(tensors, d), (*shape[:d], len(tensors), *shape[d:])
        return strided(joined, size, view_strides(joined.shape, joined.strides, size) or joined.strides)
    if dim == 0:
        return np.array(tensors, order="C") if (a := tensors[0]).size < SHORT or a.flags.c_contiguous and a.dtype.isbuiltin == 1 else (
            _in_rows(_concatenate([a[None] for a in tensors])))
    d = wrap_dim(dim, len(shape) + 1)
    at = (slice(None),) * d + (None,)
    result = _concatenate([a[at] for a in tensors], d)
    return _in_rows(result)


@op("stack(Tensor[] tensors, int dim=0) -> Tensor", promotion="promote", result="same", quiet="all", method=False)
class stack:
    """Tensors of one shape joined along a new dimension.

    >>> torch.stack([torch.tensor([1., 2.]), torch.tensor([3., 4.])], 1)
    tensor([[1., 3.],
            [2., 4.]])
    """

    def sharding(call):
        n = call["tensors"][0].ndim
        d = wrap_dim(call["dim"], n + 1)
        return call.propagate([range(n)] * len(call["tensors"]), [[*range(d), None, *range(d, n)]])

    out_dtype = CASTS_INPUTS
    amp = "widest"
    numpy = _stack
    shape = shapes.stack
    compose = on_host(numpy)

    def check(tensors, dim):
        if not tensors:
            raise AutogradError("stack expects a non-empty TensorList", expected="at least one tensor", found="none")

    def vjp(F, grad, dim): return list(F.unbind(grad, dim))
    jvp = "linear"

    def batch(F, call):
        wholes = [call.expanded(t, m) for t, m in zip(call.tensors, call.marks["tensors"])]
        return call(tensors=wholes, dim=batches.shifted(call.dim, wholes[0].ndim))

    def samples(rng):
        yield ([rng.standard_normal((2, 3)), rng.standard_normal((2, 3))],)
        yield [rng.standard_normal((2, 3)) for _ in range(3)], -1
        yield ([rng.standard_normal(()), rng.standard_normal(())],)

    def errors(rng):
        yield ([],), RuntimeError, "stack expects a non-empty TensorList"
        yield ([np.ones((2, 3)), np.ones(3)],), RuntimeError, (
            "stack expects each tensor to be equal size, but got [2, 3] at entry 0 and [3] at entry 1")


def _at_least(F: Functions, x: TensorRef, n: int) -> TensorRef:
    """`x` with at least `n` dimensions: (m,) becomes (1, m) and (1, m, 1); (m, k) becomes (m, k, 1)."""
    d = x.ndim
    if d >= n:
        return x
    if d == 0:
        return F.view(x, (1,) * n)
    if d == 1:
        x = F.unsqueeze(x, 0)
    return F.unsqueeze(x, -1) if n == 3 else x


def _each_at_least(F: Functions, tensors: Sequence[Any], n: int) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    elif len(tensors) == 1:
        return _at_least(F, tensors[0], n)
    return F.list_type(RECORDS["broadcast_tensors"])([_at_least(F, x, n) for x in tensors])


def _with_rank(a: np.ndarray, n: int) -> np.ndarray:
    """The same of an array."""
    if a.ndim >= n:
        return a
    return a.reshape(a.shape + (1,) if a.ndim == 2 else (1, a.size, 1)[:n])


def _each_with_rank(arrays: Sequence[np.ndarray], n: int) -> list[np.ndarray]:
    """Views of several arrays with at least `n` dimensions, as torch's."""
    found = []
    for a in arrays:
        if a.flags.c_contiguous and 1 not in a.shape:  # of which any stride will do
            a = _with_rank(a, n)
        elif a.ndim < n:
            a = _unsqueeze(a, 0) if a.ndim == 1 else a
            a = _unsqueeze(a, -1) if a.ndim < n else a
        found.append(a)
    return found


@op("atleast_1d(Tensor[] tensors) -> Tensor[]", out=False, method=False)
class atleast_1d:
    """Tensors with at least one dimension.

    >>> torch.atleast_1d(torch.tensor(1.))
    tensor([1.])
    """

    home = "functional"
    gives = "Any"
    several_types = ("tensors",)
    alone = True
    def shown(tensors): return _each_with_rank(tensors, 1)
    def function(F, *tensors): return _each_at_least(F, tensors, 1)

    def samples(rng):
        yield (rng.standard_normal(()),)
        yield (rng.standard_normal(3),)
        yield rng.standard_normal((2, 3)), rng.standard_normal(2)


@op("atleast_2d(Tensor[] tensors) -> Tensor[]", out=False, method=False)
class atleast_2d:
    """Tensors with at least two dimensions.

    >>> torch.atleast_2d(torch.tensor([1., 2.]))
    tensor([[1., 2.]])
    """

    home = "functional"
    gives = "Any"
    several_types = ("tensors",)
    alone = True
    def shown(tensors): return _each_with_rank(tensors, 2)
    def function(F, *tensors): return _each_at_least(F, tensors, 2)

    def samples(rng):
        yield (rng.standard_normal(()),)
        yield (rng.standard_normal(3),)
        yield rng.standard_normal((2, 3)), rng.standard_normal(2)


@op("atleast_3d(Tensor[] tensors) -> Tensor[]", out=False, method=False)
class atleast_3d:
    """Tensors with at least three dimensions.

    >>> torch.atleast_3d(torch.zeros(2, 3)).shape
    torch.Size([2, 3, 1])
    """

    home = "functional"
    gives = "Any"
    several_types = ("tensors",)
    alone = True
    def shown(tensors): return _each_with_rank(tensors, 3)
    def function(F, *tensors): return _each_at_least(F, tensors, 3)

    def samples(rng):
        yield (rng.standard_normal(()),)
        yield (rng.standard_normal(3),)
        yield rng.standard_normal((2, 3)), rng.standard_normal(2)


def _joined(F: Functions, name: str, tensors: Sequence[TensorRef], least: int, dim: int, out: object) -> TensorRef:
    if not tensors:
        raise AutogradError(f"{name} expects a non-empty TensorList")
    tensors = [_at_least(F, x, least) for x in tensors]
    return F.cat(tensors, 0 if tensors[0].ndim == 1 else dim, out=out)


@op("hstack(Tensor[] tensors) -> Tensor", result="same", method=False)
class hstack:
    """Tensors joined side by side: along dimension 1, or 0 for vectors.

    >>> torch.hstack([torch.tensor([1., 2.]), torch.tensor([3.])])
    tensor([1., 2., 3.])
    """

    def quick(tensors):
        if (a := tensors[0]).ndim == 1 and a.flags.c_contiguous:
            return _concatenate(tensors)
        return _cat(tensors, 0 if a.ndim == 1 else 1)

    def function(F, tensors, *, out=None): return _joined(F, "hstack", tensors, 1, 1, out)
    def samples(rng): yield ([rng.standard_normal(2), rng.standard_normal(3)],)
    def errors(rng): yield ([],), RuntimeError, "hstack expects a non-empty TensorList"


@op("vstack(Tensor[] tensors) -> Tensor", result="same", method=False, alias="row_stack")
class vstack:
    """Tensors joined below each other, vectors as rows.

    >>> torch.vstack([torch.tensor([1., 2.]), torch.tensor([3., 4.])])
    tensor([[1., 2.],
            [3., 4.]])
    """

    def quick(tensors): return _cat([a if a.ndim > 1 else a.reshape(1, a.size) for a in tensors], 0)
    def function(F, tensors, *, out=None): return _joined(F, "vstack", tensors, 2, 0, out)
    def samples(rng): yield ([rng.standard_normal(3), rng.standard_normal((2, 3))],)


@op("dstack(Tensor[] tensors) -> Tensor", result="same", method=False)
class dstack:
    """Tensors joined along dimension 2.

    >>> torch.dstack([torch.tensor([1., 2.]), torch.tensor([3., 4.])])
    tensor([[[1., 3.],
             [2., 4.]]])
    """

    def quick(tensors): return _cat([a if a.ndim > 2 else _with_rank(a, 3) for a in tensors], 2)
    def function(F, tensors, *, out=None): return _joined(F, "dstack", tensors, 3, 2, out)
    def samples(rng): yield ([rng.standard_normal((2, 3)), rng.standard_normal((2, 3, 2))],)


@op("column_stack(Tensor[] tensors) -> Tensor", result="same", method=False)
class column_stack:
    """Tensors joined side by side, vectors as columns.

    >>> torch.column_stack([torch.tensor([1., 2.]), torch.tensor([3., 4.])])
    tensor([[1., 3.],
            [2., 4.]])
    """

    def quick(tensors): return _cat([a if a.ndim > 1 else a.reshape(a.size, 1) for a in tensors], 1)

    def function(F, tensors, *, out=None):
        if not tensors:
            raise AutogradError("column_stack expects a non-empty TensorList")
        return F.hstack([F.reshape(x, (x._data.size, 1)) if x.ndim <= 1 else x for x in tensors], out=out)

    def samples(rng): yield ([rng.standard_normal(2), rng.standard_normal((2, 3))],)


def _block_diag(tensors: Sequence[np.ndarray]) -> np.ndarray:
    for i, a in enumerate(tensors):
        if a.ndim > 2:
            raise AutogradError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {a.ndim} dimensions")
    blocks = [a.reshape((1,) * (2 - a.ndim) + a.shape) for a in tensors]
    result = np.zeros((sum([b.shape[0] for b in blocks]), sum([b.shape[1] for b in blocks])), blocks[0].dtype)
    row = column = 0
    for b in blocks:
        copy_into(b, result[row:row + b.shape[0], column:column + b.shape[1]])
        row, column = row + b.shape[0], column + b.shape[1]
    return result


@op("block_diag_list(Tensor[] tensors) -> Tensor", promotion="promote", result="same", quiet="all", method=False, namespace="_internal",
    node="BlockDiagBackward0", out=False)
class block_diag_list:
    """The tensors as blocks on the diagonal of a matrix."""

    saved_as = {"tensors_shape": None}
    numpy = _block_diag
    compose = on_host(numpy)

    def vjp(F, grad, tensors_shape):
        grads, row, column = [], 0, 0
        for shape in tensors_shape:
            rows, columns = (1,) * (2 - len(shape)) + tuple(shape)
            part = F.slice(F.slice(grad, 0, row, row + rows), 1, column, column + columns)
            grads.append(F.reshape(part, tuple(shape)))
            row, column = row + rows, column + columns
        return grads
    jvp = "linear"

    def batch(F, call):
        """Blocks of rows, with zeros on both sides, one below the other."""
        wholes = [call.expanded(t, m) for t, m in zip(call.tensors, call.marks["tensors"])]
        blocks = [F.reshape(w, (call.size, *(1,) * (3 - w.ndim), *w.shape[1:])) for w in wholes]
        columns, rows, at = sum([b.shape[2] for b in blocks]), [], 0
        for b in blocks:
            n = b.shape[2]
            rows.append(F.constant_pad_nd(b, (at, columns - at - n)))
            at += n
        return F.cat(rows, 1)

    def samples(rng): yield ([rng.standard_normal((2, 3)), rng.standard_normal(2), rng.standard_normal(())],)


@op("block_diag(Tensor[] tensors) -> Tensor", method=False, out=False)
class block_diag:
    """The tensors as blocks on the diagonal of a matrix.

    >>> torch.block_diag(torch.tensor([[1., 2.]]), torch.tensor(3.))
    tensor([[1., 2., 0.],
            [0., 0., 3.]])
    """

    home = "functional"
    def quick(tensors): return _block_diag(tensors)
    def function(F, *tensors): return F.block_diag_list(tensors) if tensors else F.empty((1, 0))
    def samples(rng): yield rng.standard_normal((2, 3)), rng.standard_normal(2)

    def errors(rng):
        yield (np.ones((2, 2, 2)),), RuntimeError, (
            "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input 0 has 3 dimensions")


@op("meshgrid(Tensor[] tensors, *, str? indexing=None) -> Tensor[]", method=False, out=False)
class meshgrid:
    """The coordinates of a grid: each vector expanded over the others.

    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """

    home = "functional"
    several_types = ("tensors",)

    def shown(tensors, indexing):
        first, swap = tensors[0], indexing == "xy"
        if not swap and indexing != "ij" or [a for a in tensors if a.ndim > 1 or a.dtype is not first.dtype]:
            return None
        order = [tensors[1], first, *tensors[2:]] if swap else tensors
        shape = tuple([a.size for a in order])
        n = len(shape)
        grids = [_expand(_view(a, (1,) * i + (a.size,) + (1,) * (n - 1 - i)), shape) for i, a in enumerate(order)]
        return [grids[1], grids[0], *grids[2:]] if swap else grids

    def function(F, *tensors, indexing=None):
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            tensors = tuple(tensors[0])
        check_elements(tensors, 1)
        if indexing is None:
            warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
        if not tensors:
            raise AutogradError("meshgrid expects a non-empty TensorList")
        if indexing not in (None, "ij", "xy"):
            raise AutogradError(f"torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {indexing}")
        for t in tensors:
            if t.ndim > 1:
                raise AutogradError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t!r}")
            if t._k.dtype is not tensors[0]._k.dtype:
                raise AutogradError("meshgrid expects all tensors to have the same dtype")
            if not on_one_device(t, tensors[0]):
                raise AutogradError("meshgrid expects all tensors to have the same device")
        swap = indexing == "xy" and len(tensors) > 1
        order = (tensors[1], tensors[0], *tensors[2:]) if swap else tensors
        shape = tuple([t._data.size for t in order])
        n = len(shape)
        grids = [F.expand(F.view(t, (1,) * i + (-1,) + (1,) * (n - 1 - i)), shape) for i, t in enumerate(order)]
        if swap:
            grids[0], grids[1] = grids[1], grids[0]
        return F.list_type(RECORDS["broadcast_tensors"])(grids)

    def samples(rng):
        yield Sample((rng.standard_normal(2), rng.standard_normal(3)), {"indexing": "ij"})
        yield Sample((rng.standard_normal(2), rng.standard_normal(3), rng.standard_normal(())), {"indexing": "xy"})


@op("cartesian_prod(Tensor[] tensors) -> Tensor", method=False, out=False)
class cartesian_prod:
    """All combinations of one element of each vector, as rows.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4])).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """

    home = "functional"
    def quick(tensors):
        sizes, n = tuple([a.size for a in tensors]), len(tensors)
        if n == 1 or [a for a in tensors if a.ndim != 1]:
            return None
        rows = np.empty((*sizes, n), tensors[0].dtype)
        moved = as_bits(rows)
        for i, a in enumerate(tensors):
            moved[..., i] = as_bits(a).reshape((-1,) + (1,) * (n - 1 - i))
        return rows.reshape(-1, n)

    def function(F, *tensors):
        for t in tensors:
            if t.ndim != 1:
                raise AutogradError(f"Expect a 1D vector, but got shape {list(t.shape)}")
        if len(tensors) == 1:
            return tensors[0]
        return F.stack([F.reshape(g, (-1,)) for g in F.meshgrid(*tensors, indexing="ij")], 1)

    def samples(rng): yield rng.standard_normal(2), rng.standard_normal(3)


def _chosen(n: int, r: int, repeated: bool) -> np.ndarray:
    """The combinations of `r` (1 or more) of `n` numbers, as rows: those of one number fewer, each followed by all that may follow."""
    rows = np.arange(n)[:, None]
    for _ in range(r - 1):
        follow = rows[:, -1] + (not repeated)
        counts = n - follow
        starts = np.add.accumulate(counts) - counts
        last = np.arange(int(counts.sum())) + (follow - starts).repeat(counts)
        rows = np.concatenate([rows.repeat(counts, 0), last[:, None]], 1)
    return rows


@op("combinations(Tensor input, int r=2, bool with_replacement=False) -> Tensor", method=True, out=False)
class combinations:
    """All combinations of `r` elements of a vector, as rows.

    >>> torch.combinations(torch.tensor([1, 2, 3])).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """

    lacks = {"uint": "masked_select"}

    def quick(input, r, with_replacement):
        if input.ndim == 1 and r > 0:
            return input.take(_chosen(input.size, r, with_replacement))

    def function(F, input, r=2, with_replacement=False):
        if input.ndim != 1:
            raise AutogradError(f"Expect a 1D vector, but got shape {list(input.shape)}")
        if r < 0:
            raise AutogradError(f"Expect a non-negative number, but got {r}")
        if r == 0:
            return F.slice(input, 0, 0, 0)
        if on_meta(input):
            data_dependent()
        at = constant(F, input, _chosen(input.shape[0], r, with_replacement))
        return F.reshape(F.index_select(input, 0, F.reshape(at, (-1,))), at.shape)

    def samples(rng):
        yield (rng.standard_normal(4),)
        yield rng.standard_normal(3), 3, True


@op("_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", method=False)
class _chunk_cat:
    """Tensors cut into `num_chunks` pieces along a dimension, filled up with zeros, and the pieces of each number joined as rows.

    >>> torch._chunk_cat([torch.tensor([1., 2., 3.]), torch.tensor([4.])], 0, 2)
    tensor([[1., 2., 4.],
            [3., 0., 0.]])
    """

    out_dtype = CASTS

    def quick(tensors, dim, num_chunks):
        lead = tensors[0].shape[:dim]
        if num_chunks < 1 or dim < 0 or [a for a in tensors if a.ndim <= dim or not a.size or a.shape[:dim] != lead]:
            return None
        pieces = []
        for a in tensors:
            n = a.shape[dim]
            if missing := -n % num_chunks:
                filled = np.zeros((*lead, n + missing, *a.shape[dim + 1:]), a.dtype)
                filled[(slice(None),) * dim + (slice(0, n),)] = a
                a = filled
            pieces.append(a.reshape(*lead, num_chunks, -1))
        return _cat(pieces, dim + 1)

    def function(F, tensors, dim, num_chunks):
        def refuse_unless(holds: Any, why: str) -> None:
            if not holds:
                raise AutogradError(f"_chunk_cat expects {why}")

        refuse_unless(num_chunks >= 1, "positive num_chunks")
        refuse_unless(tensors, "a non-empty input tensor list")
        first = tensors[0]
        for t in tensors:
            refuse_unless(t._data.size, "non-empty tensor")
            refuse_unless(t._k.dtype is first._k.dtype, "all input tensors with the same dtype")
        alike = all([t.ndim == first.ndim for t in tensors])
        refuse_unless(alike or dim >= 0, "non-negative dim when input tensors have different ndims")
        if alike:
            dim = wrap_dim(dim, first.ndim)
        rows = []
        for t in tensors:
            refuse_unless(dim < t.ndim, "dim < ndim for all input tensors")
            refuse_unless(tuple(t.shape[:dim]) == tuple(first.shape[:dim]), "same sizes of 0,...,dim-1 dimensions for all tensors")
            missing = -t.shape[dim] % num_chunks
            if missing:
                t = F.constant_pad_nd(t, (*(0, 0) * (t.ndim - 1 - dim), 0, missing))
            rows.append(F.reshape(t, (*t.shape[:dim], num_chunks, -1)))
        return F.cat(rows, dim + 1)

    def samples(rng): yield [rng.standard_normal((3, 2)), rng.standard_normal((2, 4))], 0, 2
    def errors(rng): yield ([np.ones(2)], 0, 0), RuntimeError, "_chunk_cat expects positive num_chunks"
