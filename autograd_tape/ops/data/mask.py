"""Masks: choice and filling by a mask, masked_select, masked_scatter; and where a tensor is not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import BOOL, INTEGER, SCALAR_TYPE_NAMES, DType, c_name, fitting, result_dtype
from ...errors import AutogradError
from ...executors.kernels import select
from ...executors.kernels.moved import fill_where, places as places_of, put_where
from ...executors.kernels.sharing import copy
from ...executors.meta import meta_array
from ...dims import broadcast_shape
from ...functions.out import SELF_AND_RESULT, OutRule
from ...functions.refusals import on_meta
from ...record import RECORDS, Sample, dynamic_shape, op
from ...strided import empty_strided
from ...tensor import TensorRef
from .. import _batch as batches
from .._host import data_dependent, on_host, values_of
from .._samples import IN_ALL, check_number, takes_floats
from ..elementwise.arithmetic import broadcast_shapes
from ..networks._losses import constant
from ..views.shape import _common_shape, _expand
from ...annotations import Sizes, Values

_np_where = getattr(np.where, "_implementation", np.where)  # what is behind NumPy's dispatcher
_may_share = getattr(np.may_share_memory, "_implementation", np.may_share_memory)
_count = getattr(np.count_nonzero, "_implementation", np.count_nonzero)


def _where(condition: np.ndarray, input: np.ndarray | float, other: np.ndarray | float) -> np.ndarray:
    try:
        large = condition.size >= select.FEW
    except AttributeError:  # a Python bool, in compositions
        large = False
    return select.where(condition, input, other) if large else _np_where(condition, input, other)


def _where_half(condition: np.ndarray, input: np.ndarray, other: np.ndarray) -> Any:
    half = next(x.dtype for x in (input, other) if isinstance(x, (np.ndarray, np.generic)) and x.dtype.itemsize == 2)
    return _where(condition, *[x if isinstance(x, np.ndarray) else np.array(x, half) for x in (input, other)])


def _where_meta(condition: np.ndarray, input: np.ndarray, other: np.ndarray | int) -> np.ndarray:
    dtype = next((x.dtype for x in (input, other) if hasattr(x, "dtype")), np.dtype(float))  # compositions give numbers, too
    return meta_array(broadcast_shapes(*[np.shape(x) for x in (condition, input, other)]), dtype)


@op("where(Mask condition, Operand input=None, Operand other=None) -> Tensor", promotion="promote", result="same", quiet="all",
    broadcasts=True, dtypes="float int bool half")
class where:
    """input where condition is true, other elsewhere; with the condition alone, the indices of what is true.

    >>> torch.where(torch.tensor([True, False]), torch.tensor([1., 2.]), 0.)
    tensor([1., 0.])
    """

    out_dtype = OutRule("Expected out type to be {wanted} but got {found}")
    def no_out(input, other, **_): return not (isinstance(input, TensorRef) and isinstance(other, TensorRef))
    saved_as = {"condition": "condition"}
    numpy = _where
    half = _where_half  # bfloat16 and numbers have no common dtype in NumPy
    meta = _where_meta

    mindspore = "ops.Select"

    def redirect(condition, input, other): return ("nonzero", (condition, True)) if input is None and other is None else None
    def method(F, input, condition, other): return F.where(condition, input, other)

    def check(condition, input, other):
        if condition._k.dtype.name not in ("bool", "uint8"):
            raise AutogradError("where expected condition to be a boolean tensor, but got a tensor with dtype "
                                f"{SCALAR_TYPE_NAMES[condition._k.dtype.name]}", remedy="compare it with something")
        for number, tensor in ((input, other), (other, input)):
            if isinstance(number, int) and isinstance(tensor, TensorRef) and tensor._k.dtype.category == INTEGER:
                if not -1 << 63 <= number < 1 << 63:
                    raise OverflowError("int too big to convert")
                check_number(number, tensor._k.dtype)

    number_fits = True
    def vjp_input(F, grad, condition): return F.where(condition, grad, 0 if grad.ndim else F.zero_gradient(grad))
    def vjp_other(F, grad, condition): return F.masked_fill(grad, condition, 0)
    aten = ".self"

    def decompose(F, condition, input, other):
        tensors = [x for x in (input, other) if isinstance(x, TensorRef)]
        if len(tensors) != 1:
            return NotImplemented
        dtype = result_dtype([(t._k.dtype, t.ndim) for t in tensors], [x for x in (input, other) if not isinstance(x, TensorRef)])
        return F.where(condition, *[x if isinstance(x, TensorRef) else F.scalar_tensor(x, dtype=dtype, device=condition.device)
                                    for x in (input, other)])


    def samples(rng):
        yield rng.random((2, 3)) > 0.5, rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
        yield rng.random((2, 1)) > 0.5, rng.standard_normal((4, 1, 3)), rng.standard_normal(3)
        yield rng.random((2, 3)) > 0.5, rng.standard_normal((2, 1)), 2.0

    def errors(rng):
        yield (np.ones(2, np.float32), np.ones(2), np.ones(2)), RuntimeError, (
            "where expected condition to be a boolean tensor, but got a tensor with dtype Float")


def _value_text(value: Values) -> str:
    return f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."


def _masked_fill(input: np.ndarray, mask: np.ndarray, value: np.ndarray | float) -> np.ndarray:
    if value.__class__ is np.ndarray and value.ndim:
        raise AutogradError(_value_text(value))
    if value.__class__ is not np.ndarray or value.dtype is not input.dtype:
        if value.__class__ is float and abs(value) > IN_ALL:  # the general path has looked at those for integers
            check_number(value, DType.by_np[input.dtype])
        value = fitting(np.asarray(value), input.dtype).astype(input.dtype)
    found: np.ndarray = _where(mask, value, input)
    return found if found.flags.c_contiguous else found.copy()  # in rows in gradients, too, since torch fills a contiguous copy


def _fill_part(a: np.ndarray, mask: np.ndarray, value: np.ndarray | float) -> None:
    if mask.ndim > a.ndim:
        raise ValueError("NumPy would drop leading dimensions of size one")
    if value.__class__ is float and abs(value) > IN_ALL:
        check_number(value, DType.by_np[a.dtype])
    if not (value.__class__ is np.ndarray and not value.ndim and value.dtype is a.dtype and fill_where(a, mask, value)):
        np.copyto(a, value, casting="unsafe", where=mask)


@op("masked_fill(Tensor input, Mask mask, Operand value) -> Tensor", result="numpy", quiet="all", broadcasts=True, inplace=True,
    out=False,
    dtypes="float int bool half", node="MaskedFillBackward1")
class masked_fill:
    """input with `value`, a number or 0-dim tensor, where the mask is true.

    >>> torch.masked_fill(torch.tensor([1., 2.]), torch.tensor([True, False]), -1.)
    tensor([-1.,  2.])
    """

    lacks = {"uint float8": "masked_fill"}
    layout = "rows"
    number_fits = True
    numbers = {"value": "MaskedFillBackward0"}
    numpy = _masked_fill
    may_share = "itself"
    warns_expanded = "masked_fill_", "tensor[mask] = scalar"
    store_part = _fill_part

    def compose(F, input, mask, value): return F.where(mask, np.asarray(value, input.dtype), input)
    def meta(input, mask, value): return _where_meta(mask, input, input)

    def check(input, mask, value):
        if mask._k.dtype.category != BOOL:
            raise AutogradError(f"masked_fill_ only supports boolean masks, but got mask with dtype {c_name(mask._k.dtype)}",
                                remedy="compare it with something")
        if isinstance(value, TensorRef) and value.ndim:
            raise AutogradError(_value_text(value), remedy="use where")
        other = isinstance(value, TensorRef) and value._k.dtype is not input._k.dtype and not on_meta(value)
        number = values_of(value).item() if other else value
        if input._k.dtype.category == INTEGER or number.__class__ is complex or number.__class__ is float and abs(number) > IN_ALL:
            check_number(number, input._k.dtype)

    def vjp_input(F, grad, mask): return F.masked_fill(grad, mask, 0)
    def vjp_value(F, grad, mask): return F.where(mask, grad, 0)

    def batch(F, call):
        """With a value of its own for each example, a choice between the two."""
        if not call.is_batched["value"]:
            return call(**batches.aligned(F, call))
        return F.cast(F.where(*[{**call.values, **batches.aligned(F, call)}[n] for n in ("mask", "value", "input")]), call.input.dtype)
    def no_vmap_(value, **_): return None if value else "arithmetic"

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.random((2, 3)) > 0.5, 1.5
        yield rng.standard_normal((2, 3)), np.array([True, False, True]), rng.standard_normal(())

    def errors(rng):
        yield (np.ones(2, np.float32), np.ones(2, np.float32), 1), RuntimeError, (
            "masked_fill_ only supports boolean masks, but got mask with dtype float")
        yield (np.ones(2), np.array([True, False]), np.ones(1)), RuntimeError, (
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with 1 dimension(s).")


def _check_mask(mask: TensorRef, name: str) -> None:
    if mask._k.dtype.name != "bool":
        raise AutogradError("masked_select: expected BoolTensor for mask" if name == "masked_select" else
                            f"{name} only supports boolean masks, but got mask with dtype {SCALAR_TYPE_NAMES[mask._k.dtype.name]}",
                            expected="a bool tensor", found=mask._k.dtype.name,
                            remedy="compare it with something, or convert it with .bool()")


def _both(input: TensorRef, mask: TensorRef, **rest: object) -> None:
    broadcast_shape(tuple(mask.shape), tuple(input.shape))


def _select(input: np.ndarray, mask: np.ndarray) -> np.ndarray:
    if input.shape != mask.shape:
        if mask.ndim == 1 < input.ndim and mask.size == input.shape[-1]:  # the same positions of each row
            return input.compress(mask, -1).reshape(-1)
        shape = _common_shape(input.shape, mask.shape)
        input, mask = _expand(input, shape), _expand(mask, shape)
    return input[mask] if input.ndim else input.reshape(1)[mask.reshape(1)]


@op("masked_select(Tensor input, Mask mask) -> Tensor", quiet="all")
class masked_select:
    """The elements where `mask` is true, in one dimension.

    >>> torch.masked_select(torch.tensor([1., 2., 3.]), torch.tensor([True, False, True]))
    tensor([1., 3.])
    """

    lacks = {"uint": "masked_select"}
    out_apart = "single"
    out_dtype = SELF_AND_RESULT
    saved_as = {"input_shape": None}
    numpy = _select
    meta = data_dependent
    def mindspore(ms, input, mask): return ms.ops.masked_select(input, mask)
    compose = on_host(_select)
    def check(input, mask):
        _check_mask(mask, "masked_select")
        _both(input, mask)

    def vjp(F, grad, input_shape, mask): return F.reduce_to_shape(F.masked_place(grad, mask, tuple(input_shape)), tuple(input_shape))
    jvp = "linear"

    def batch(F, call):
        if call.is_batched["mask"]:
            raise RuntimeError("vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for "
                               "each batch this would return a differently shaped Tensor. Please file an issue at "
                               "https://github.com/pytorch/pytorch/issues if you need this feature.")
        return NotImplemented

    def samples(rng):
        yield rng.standard_normal((2, 3)), np.array([[True, False, True], [False, False, True]])
        yield rng.standard_normal((2, 3)), np.array([True, False, True])
        yield rng.standard_normal((1, 3)), np.array([[True], [False]])

    def errors(rng): yield (np.ones((3, 4)), np.ones(3, np.int64)), RuntimeError, "masked_select: expected BoolTensor for mask"


def _place(values: np.ndarray, mask: np.ndarray, shape: Sizes) -> np.ndarray:
    shape = np.broadcast_shapes(shape, mask.shape)
    result = np.zeros(shape, values.dtype)
    result[np.broadcast_to(mask, shape)] = values
    return result


@op("masked_place(Tensor values, Mask mask, int[] shape) -> Tensor", quiet="all", method=False, namespace="_internal", out=False)
class masked_place:
    """Zeros of the broadcast shape with `values` where `mask` is true."""

    numpy = _place
    def shape(values, mask, shape): return np.broadcast_shapes(tuple(shape), mask)
    compose = on_host(_place)
    def vjp(F, grad, mask): return F.masked_select(grad, mask)
    jvp = "linear"
    def samples(rng): yield rng.standard_normal(2), np.array([True, False, True]), (3,)


def _scatter(input: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    if input.shape != mask.shape:
        input = np.broadcast_to(input, np.broadcast_shapes(input.shape, mask.shape))
    result = np.array(input, order="C")
    _scatter_part(result, mask, source)
    return result


def _scatter_part(a: np.ndarray, mask: np.ndarray, source: np.ndarray) -> None:
    if a.shape != mask.shape:
        if mask.ndim > a.ndim:
            raise ValueError("NumPy would drop leading dimensions of size one")
        mask = np.broadcast_to(mask, a.shape)
    if source.size < mask.size and source.size < (n := _count(mask)):
        raise AutogradError("Number of elements of source < number of ones in mask", expected=f"at least {n}", found=str(source.size))
    if (a.base is not None or source.base is not None or source is a) and _may_share(a, source):
        source = source.copy()  # parts of which would be overwritten before they are read
    if source.dtype is a.dtype:
        if put_where(a, mask, source):
            return
        if a.dtype.isbuiltin == 2:  # moved as they are
            a, source = a.view(f"u{a.itemsize}"), source.view(f"u{a.itemsize}")
    a[mask] = source.reshape(-1)[:_count(mask)]


@op("masked_scatter(Tensor input, Mask mask, Tensor source) -> Tensor", quiet="all", inplace=True, out=False)
class masked_scatter:
    """`input` with the elements of `source`, one after the other, where `mask` is true.

    >>> torch.masked_scatter(torch.zeros(3), torch.tensor([True, False, True]), torch.tensor([1., 2.]))
    tensor([1., 0., 2.])
    """

    lacks = {"rare": "masked_scatter"}
    saved_as = {"input_shape": None, "source_shape": "source_sym_sizes"}
    numpy = _scatter
    store_part = _scatter_part
    compose = on_host(_scatter)

    @takes_floats
    def check(input, mask, source):
        _check_mask(mask, "masked_scatter_")
        if source._k.dtype is not input._k.dtype:
            names = [SCALAR_TYPE_NAMES[t._k.dtype.name] for t in (input, source)]
            raise AutogradError(f"masked_scatter: expected self and source to have same dtypes but got{names[0]} and {names[1]}")
        _both(input, mask)

    def vjp_input(F, grad, mask, input_shape): return F.reduce_to_shape(F.masked_fill(grad, mask, 0), tuple(input_shape))

    def vjp_source(F, grad, mask, source_shape):
        used = F.masked_select(grad, mask)
        size = 1
        for n in source_shape:
            size *= n
        if used.shape[0] < size:
            used = F.cat([used, F.zeros_for(grad, (size - used.shape[0],))])
        return F.reshape(used, tuple(source_shape))
    jvp = "linear"

    def samples(rng):
        yield rng.standard_normal((2, 3)), np.array([[True, False, True], [False, False, True]]), rng.standard_normal(4)

    def errors(rng):
        yield (np.ones((3, 4)), np.ones((3, 4), bool), np.zeros(1)), RuntimeError, "Number of elements of source < number of ones in mask"


# -- where it is not zero -------------------------------------------------------------------------------------------------------


def _nonzero(input: np.ndarray) -> np.ndarray:
    if input.itemsize == 2 and input.dtype.kind not in "iu":  # all bits but the sign's
        input = input.view(np.uint16) & np.uint16(0x7FFF)
    if not input.ndim:
        return _without(int(input != 0), 0)
    if input.size <= _FEW:
        found = input.nonzero()
        first = found[0]
        if not first.size:
            return _without(0, input.ndim)
        # torch's memory runs along the positions of one dimension, NumPy's along those of one element.
        if (rows := first.base) is not None and rows.shape == (first.size, len(found)):
            return rows.copy("F")
        return np.array(found, np.int64).T
    mask = input if input.dtype.char == "?" else input != 0
    mask = mask if mask.flags.c_contiguous else copy(mask)
    if (at := places_of(mask)) is not None:
        return at.T if at.size else _without(0, input.ndim)
    # NumPy is quick to find what is true in a vector.
    left = mask.reshape(-1).nonzero()[0]
    if not left.size:
        return _without(0, input.ndim)
    lines = np.empty((input.ndim, left.size), np.int64)
    for i in range(input.ndim - 1, 0, -1):
        above = left // input.shape[i]
        np.subtract(left, above * input.shape[i], lines[i])
        left = above
    lines[0] = left
    return lines.T


def _without(count: int, dims: int) -> np.ndarray:
    """Positions that are none, or have no numbers, with torch's strides."""
    return empty_strided((count, dims), (1, count), np.dtype(np.int64))


_FEW = 64  # elements up to which the fewest calls are the quickest


@op("argwhere(Tensor input) -> Tensor", quiet="all", result="int64", dtypes="float int bool", out=False)
class argwhere:
    """The indices of all elements that are not zero, a row each.

    >>> torch.argwhere(torch.tensor([[1, 0], [0, 2]]))
    tensor([[0, 0],
            [1, 1]])
    """

    lacks = {"uint float8": "nonzero_count_cpu"}
    numpy = _nonzero
    meta = data_dependent
    aten = "nonzero"
    compose = on_host(_nonzero)
    def samples(rng): yield (rng.integers(0, 2, (2, 3)),)


@op("nonzero(Tensor input, *, bool as_tuple=False) -> Tensor", dtypes="float int bool")
class nonzero:
    """The indices of all elements that are not zero: a row each, or with `as_tuple` a vector for each dimension.

    >>> torch.nonzero(torch.tensor([0, 3, 0, 4]))
    tensor([[1],
            [3]])
    """

    gives = {"as_tuple": "Tensor[]"}
    lacks = {"uint float8": "nonzero_count_cpu"}
    out_dtype = OutRule("nonzero: Expected out tensor to have scalar type {wanted} but got scalar type{found}")
    def no_vmap(as_tuple, **_): return "aten::nonzero_numpy" if as_tuple else dynamic_shape("nonzero")

    def quick(input, as_tuple): return None if as_tuple else _nonzero(input)

    def function(F, input, as_tuple=False, *, out=None):
        if as_tuple:
            if out is not None:
                raise AutogradError("nonzero does not support the out kwarg when as_tuple is True", remedy="leave one of them out")
            at = F.argwhere(F.reshape(input, (1,)) if not input.ndim else input)
            return F.list_type(RECORDS["broadcast_tensors"])(F.unbind(at, 1))
        result = F.argwhere(input)
        return result if out is None else F.give("nonzero", out, result)

    def samples(rng):
        yield (rng.integers(0, 2, (2, 3)),)
        yield rng.integers(0, 2, (2, 3)), True


@op("nonzero_static(Tensor input, *, int size, int fill_value=-1) -> Tensor", dtypes="float int bool")
class nonzero_static:
    """The indices of the first `size` elements that are not zero, a row each, and rows of `fill_value` behind the last.

    >>> torch.nonzero_static(torch.tensor([0, 3, 0, 4]), size=3)
    tensor([[ 1],
            [ 3],
            [-1]])
    """

    out_dtype = OutRule("nonzero_static: Expected out tensor to have scalar type {wanted} but got scalar type{found}")
    reads = "input"

    def quick(input, size, fill_value):
        if size < 0:
            return None
        found, places = np.empty((size, input.ndim), np.int64), _nonzero(input)[:size]
        found[:len(places)] = places
        if len(places) < size:
            found[len(places):] = fill_value
        return found

    def function(F, input, *, size, fill_value=-1):
        if size < 0:
            raise AutogradError("nonzero_static: 'size' must be an non-negative integer", expected="0 or more", found=str(size))
        if on_meta(input):
            return constant(F, input, meta_array((size, input.ndim), np.dtype(np.int64)))
        found = np.full((size, input.ndim), fill_value, np.int64)
        places = _nonzero(values_of(input))[:size]
        found[:len(places)] = places
        return constant(F, input, found)

    def samples(rng): yield Sample((rng.integers(0, 2, (2, 3)),), {"size": 4})

    def errors(rng):
        yield Sample((np.ones(2),), {"size": -1}), RuntimeError, "nonzero_static: 'size' must be an non-negative integer"
