"""Element by element: sums, products, and functions of zero that are zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_tape.annotations import Fn, Number
from autograd_tape.dims import broadcast_shape
from autograd_tape.dtypes import SCALAR_TYPE_NAMES, DType, result_dtype
from autograd_tape.record import RECORDS, Record

from .._memory.layout import layout, sparse_coo
from .._tensor import Tensor, frontend
from ._buffers import Coo, flat_index, is_sparse, sparse
from ._coo import add_rows, in_numpy, in_order, index_tensor, picked_dense, picked_sparse, unraveled
from ._door import COMPRESSED, COO, composite, could_not_run, kernel, unrecorded
from ._nodes import recorded

F = frontend

# -- of one ---------------------------------------------------------------------------------------------------------------------

def _unary(rec: Record) -> None:
    """Enters an operation that leaves 0 as it is, by what its record says."""
    name, ordered, rest = rec.name, rec.field("sparse") == "in order", [p.name for p in rec.params[1:]]

    def function(input: Tensor, *args: object) -> Tensor:
        b: Any = input._data
        if ordered and b.__class__ is Coo:
            b = in_order(b)
        return sparse(b.over(getattr(F, name)(b.values, **dict(zip(rest, args)))))

    def in_place(input: Tensor, *args: object) -> Tensor:
        if input._k.special is sparse_coo and not input._data.coalesced:
            raise RuntimeError(f"{name}_ requires coalesced input")
        return function(input, *args)

    kernel(name, on=(COO, COMPRESSED))(function)
    if ordered:
        kernel(name + "_", on=(COO,))(in_place)


for _record in [rec for rec in RECORDS.values() if rec.field("sparse")]:
    _unary(_record)


@kernel("angle", on=(COMPRESSED,))
def _angle(input: Tensor) -> Tensor:
    return sparse(input._data.over(F.angle(input._data.values)))


@composite("positive", on=(COO, COMPRESSED))
def _positive(input: Tensor) -> Tensor:
    return input


@composite("square")
def _square(input: Tensor) -> Tensor:
    return F.pow(input, 2)


@composite("log1p")
def _log1p(input: Tensor) -> Tensor:
    """Its gradient needs one more than each element, which torch computes for all."""
    b = in_order(input._data)
    with unrecorded():
        made = sparse(b.over(F.log1p(b.values)))
    return recorded(made, "Log1PBackward0", (input, lambda g, x: g / (x + 1) if not is_sparse(g) else F.mul(
        g, F.reciprocal(x.to_dense() + 1))), saves=(input,))


def _part(name: str) -> None:
    def function(input: Tensor) -> Tensor:
        return sparse(input._data.over(F.clone(getattr(F, name)(input._data.values))))

    kernel(name, on=(COO, COMPRESSED))(function)


for _name in ("real_part", "imag_part"):
    _part(_name)


@kernel("threshold_backward")
def _threshold_backward(grad: Tensor, input: Tensor, threshold: Number = 0) -> Tensor:
    if not is_sparse(input) or not is_sparse(grad):
        raise RuntimeError("is_coalesced expected sparse coordinate tensor layout but got Strided")
    b = in_order(grad._data)
    return sparse(b.over(F.threshold_backward(b.values, picked_sparse(input._data, b), threshold)))


# -- sums -----------------------------------------------------------------------------------------------------------------------


def same_sizes(name: str, a: Tensor, b: Tensor) -> None:
    """Raises where two tensors have other sizes."""
    if tuple(a.shape) != tuple(b.shape):
        raise RuntimeError(f"{name}: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}")


def merged(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(places, those of a among them, those of b) of two lists gone through side by side: equal ones meet, as in a merge of lists in "
      "order."""
    if len(a) == len(b) and (a == b).all():
        return a, np.arange(len(a)), np.arange(len(b))
    if (np.diff(a) > 0).all() and (np.diff(b) > 0).all():
        union = np.union1d(a, b)
        return union, np.searchsorted(union, a), np.searchsorted(union, b)
    places: list[int] = []
    at_a: list[int] = []
    at_b: list[int] = []
    i = j = 0
    left, right = a.tolist(), b.tolist()
    while i < len(left) or j < len(right):
        order = -1 if j >= len(right) else 1 if i >= len(left) else (left[i] > right[j]) - (left[i] < right[j])
        if order <= 0:
            at_a.append(len(places))
        if order >= 0:
            at_b.append(len(places))
        places.append(left[i] if order <= 0 else right[j])
        i, j = i + (order <= 0), j + (order >= 0)
    return np.array(places, np.int64), np.array(at_a, np.int64), np.array(at_b, np.int64)


def _cast(values: Tensor, dtype: DType | None) -> Tensor:
    return values if values._k.dtype is dtype else F.cast(values, dtype)


def add_coo(a: Coo, b: Coo, alpha: Number = 1) -> Coo:
    """a + alpha b."""
    dtype = result_dtype([(a.dtype, a.ndim), (b.dtype, b.ndim)])
    if not b.nnz or not a.nnz and a.sparse_dim != b.sparse_dim:
        return a.over(_cast(a.values, dtype)).copy() if not b.nnz else b.over(F.mul(_cast(b.values, dtype), alpha))
    if a.sparse_dim != b.sparse_dim:
        raise RuntimeError(f"add: expected 'self' and 'other' to have same density, but 'self' has {a.sparse_dim} sparse dimensions while "
                           f"'other' has {b.sparse_dim} sparse dimensions")
    lead = a.shape[:a.sparse_dim]
    places, at_a, at_b = merged(a.flat(), b.flat())
    other = F.mul(_cast(b.values, dtype), alpha) if alpha != 1 else _cast(b.values, dtype)
    mine = _cast(a.values, dtype)
    if not (a.values._data.flags.c_contiguous and b.values._data.flags.c_contiguous):  # torch puts these one behind the other
        return Coo(a.shape, index_tensor(np.concatenate([a.indices._data, b.indices._data], 1)), F.cat([mine, other]))
    if len(at_a) == len(at_b) == len(places):
        values = F.add(mine, other) if dtype.np.kind != "b" else F.logical_or(mine, other)
        return Coo(a.shape, a.indices, values, a.coalesced and b.coalesced)
    total = F.zeros((len(places), *a.shape[a.sparse_dim:]), dtype=dtype)
    total = F.index_add(total, 0, index_tensor(at_a), mine) if dtype.np.kind != "b" else F.index_copy(total, 0, index_tensor(at_a), mine)
    total = F.index_add(total, 0, index_tensor(at_b), other) if dtype.np.kind != "b" else F.logical_or(
        total, F.index_copy(F.zeros_like(total), 0, index_tensor(at_b), other))
    return Coo(a.shape, unraveled(places, lead), total, a.coalesced and b.coalesced)


def _dense_plus(x: Tensor, y: Any, alpha: Number, into: Tensor | None = None) -> Tensor:
    """A dense tensor plus a sparse one; written over the dense one where `into` is that."""
    b: Coo = y._data
    if tuple(x.shape) != b.shape:
        raise RuntimeError(f"add: expected 'self' and 'other' to have same size, but self has size {list(x.shape)} while other has size "
                           f"{list(b.shape)} (FYI: dense-sparse addition does not currently support broadcasting)")
    dtype = result_dtype([(x._k.dtype, x.ndim), (b.dtype, b.ndim)])
    values = F.mul(_cast(b.values, dtype), alpha) if alpha != 1 else _cast(b.values, dtype)
    rows, dense = int(np.prod(b.shape[:b.sparse_dim], dtype=np.int64)), b.shape[b.sparse_dim:]
    total = _cast(x, dtype) if into is None else into
    if into is not None and (not into._data.flags.c_contiguous or dtype is not into._k.dtype or dtype.np.kind == "b"):
        return F.add_(into, _cast(y.to_dense(), dtype), alpha=alpha)
    if into is not None and in_numpy(into):
        add_rows(into._data.reshape(rows, *dense), b.flat(), values._data)  # the rows that are there, whatever the size
        return into
    if dtype.np.kind == "b":
        return F.logical_or(total, y.to_dense())
    flat = F.reshape(total, (rows, *dense))
    if into is not None:
        return F.index_add_(flat, 0, index_tensor(b.flat()), values)
    return F.reshape(F.index_add(flat, 0, index_tensor(b.flat()), values), b.shape)


def _add(name: str) -> None:
    sign = -1 if name == "sub" else 1

    def function(input: Any, other: Any, alpha: Any = 1) -> Tensor:
        alpha = sign * alpha
        if not is_sparse(other):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        if not is_sparse(input):
            return _dense_plus(input, other, alpha)
        same_sizes("add", input, other)
        return sparse(add_coo(input._data, other._data, alpha))

    def in_place(input: Tensor, other: Tensor | Number, alpha: Number = 1) -> Tensor:
        if is_sparse(input):
            return function(input, other, alpha)
        return _dense_plus(input, other, sign * alpha, input)

    kernel(name)(function)
    kernel(name + "_")(in_place)


_add("add")
_add("sub")


# -- products -------------------------------------------------------------------------------------------------------------------


def _number(x: object) -> bool:
    return not isinstance(x, Tensor) or x._data.ndim == 0 and not is_sparse(x)


def _scaled(b: Coo, number: Tensor | Number, function: Fn) -> Tensor:
    values = function(b.values, number)
    return sparse(Coo(b.shape, b.indices, values, b.coalesced))


@kernel("mul")
def _mul(input: Any, other: Any) -> Tensor:
    if _number(other):
        return _scaled(input._data, other, F.mul)
    if _number(input):
        return _scaled(other._data, input, F.mul)
    if is_sparse(input) and is_sparse(other):
        for x, scalar in ((input, other), (other, input)):
            if not scalar._data.ndim and x._data.ndim:
                return _scaled(x._data, scalar.to_dense(), F.mul)
        return sparse(times(input._data, other._data))
    x, d = (input, other) if is_sparse(input) else (other, input)
    b: Coo = x._data
    shape = broadcast_shape(d._data.shape, b.shape)
    if shape != b.shape:
        b = _spread(b, shape)
    values = F.mul(b.values, _at(F.expand(d, shape), b))
    return sparse(Coo(shape, b.indices, values, b.coalesced))


def _spread(b: Coo, shape: tuple[int, ...]) -> Coo:
    """The elements of a sparse tensor repeated as broadcasting does."""
    lead = len(shape) - b.ndim
    old = (1,) * lead + b.shape[:b.sparse_dim]
    new = shape[:len(old)]
    rows = np.concatenate([np.zeros((lead, b.nnz), np.int64), b.indices._data])
    values = b.values
    for d, (n, m) in enumerate(zip(old, new)):
        if n != m:
            count = rows.shape[1]
            rows = np.tile(rows, m)
            rows[d] = np.repeat(np.arange(m), count)
            values = F.cat([values] * m) if m else values[:0]
    flat = flat_index(rows, new)
    order = np.argsort(flat, kind="stable")
    values = F.index_select(F.expand(values, (values._data.shape[0], *shape[len(old):])), 0, index_tensor(order))
    return Coo(shape, index_tensor(rows[:, order]), values, bool((flat[order][1:] > flat[order][:-1]).all()))


@kernel("mul_")
def _mul_(input: Tensor, other: Tensor | Number) -> Tensor:
    if is_sparse(input):
        return _mul(input, other)
    return F.copy_(input, _mul(input, other).to_dense())


def _at(dense: Tensor, b: Coo) -> Tensor:
    """The values of a dense tensor at the coordinates of another, also where it was expanded."""
    rows = b.indices._data
    keys = tuple([F.wrap(row) for row in rows])
    return dense[keys] if keys else F.unsqueeze(dense, 0)


def times(a: Coo, b: Coo) -> Coo:
    """a b: where both have elements."""
    if a.ndim != b.ndim or a.sparse_dim != b.sparse_dim or a.shape[:a.sparse_dim] != b.shape[:b.sparse_dim]:
        raise RuntimeError("sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse "
                           "dimensions, and shape of sparse dimensions")
    if not a.nnz or not b.nnz:
        shape, dtype = a.shape, result_dtype([(a.dtype, a.ndim), (b.dtype, b.ndim)])
        return Coo(shape, index_tensor(np.zeros((a.sparse_dim, 0))), F.zeros((0, *shape[a.sparse_dim:]), dtype=dtype))
    # As torch does: the elements of one, times those of the other there, or zero.
    if a.coalesced is b.coalesced and a.nnz < b.nnz or not a.coalesced and b.coalesced:
        a, b = b, a
    values = F.mul(picked_sparse(a, b), b.values)
    return Coo(b.shape[:b.sparse_dim] + tuple(values._data.shape[1:]), b.indices, values, b.coalesced)


def _divided(name: str) -> None:
    def function(input: Any, other: Any, rounding_mode: Any = None) -> Tensor:
        if not isinstance(input, Tensor):
            raise could_not_run("reciprocal", "SparseCPU")
        if not _number(other) or is_sparse(other):
            word = "floor division" if name == "floor_divide" else "division"
            raise RuntimeError(f"Sparse {word} requires a scalar or zero-dim dense tensor divisor (got shape "
                               f"{list(other.shape)} for divisor)")
        b = input._data
        if name == "floor_divide":
            b = in_order(b)
            return _scaled(b, other, F.floor_divide)
        if rounding_mode is not None:
            b = in_order(b)
        return _scaled(b, other, lambda v, o: F.div(v, o, rounding_mode=rounding_mode))

    kernel(name)(function)


_divided("div")
_divided("floor_divide")


@kernel("pow")
def _pow(input: Tensor, exponent: Tensor | Number) -> Tensor:
    if not is_sparse(input) or isinstance(exponent, Tensor) and exponent._data.ndim:
        raise could_not_run("pow.Scalar" if not isinstance(input, Tensor) else "pow.Tensor_Tensor", "SparseCPU")
    number = exponent.item() if isinstance(exponent, Tensor) else exponent
    if number == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    b = in_order(input._data)
    return sparse(b.over(F.pow(b.values, number)))


# -- masks ----------------------------------------------------------------------------------------------------------------------


def masked(x: Tensor, mask: Coo) -> Tensor:
    """The values of a tensor, sparse or dense, at the coordinates of a mask."""
    return picked_sparse(x._data, mask) if is_sparse(x) else picked_dense(x, mask)


def category_name(x: Tensor) -> str:
    """What torch's messages call a tensor's dtype."""
    return SCALAR_TYPE_NAMES[x._k.dtype.name]


__all__ = ["add_coo", "layout", "masked", "same_sizes", "times"]
