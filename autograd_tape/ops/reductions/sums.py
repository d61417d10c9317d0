"""Reductions: sums, means, products, moments, and logical ones. (Largest, smallest and their kin: `extremes.py`.)"""

from __future__ import annotations

from functools import lru_cache
from math import inf, nan, prod as _product
from typing import TYPE_CHECKING, Any
from collections.abc import Sequence

import numpy as np

from ...dims import expand_reduced, normalize_dims, wrap_dim
from ...dtypes import FLOATING, SCALAR_TYPE_NAMES, bool_
from ...errors import ArgumentError, AutogradError
from ...executors.kernels import folds, reduce as shared
from ...executors.kernels.elementwise import takes_half
from ...executors.kernels.halves import recast, ufunc, widened
from ...executors.kernels.moments import moments
from ...executors.kernels.pairs import halved
from ...functions.constants import COLUMNS, NARROW, NUMBERS, ONES, SMALL, SQUARES, divided, typed
from ...functions.out import BOOL_OR_BYTE, castable, EXPECTED, floating, OutRule, without_out
from ...functions.refusals import on_meta
from ...record import Sample, op
from ...strided import laid_out
from ...tensor import TensorRef
from .. import _mindspore as kernels
from .. import _shapes as shapes
from .._host import on_host
from .._precision import in_single
from ..elementwise._elementary import exponentials
from ..elementwise.arithmetic import is_complex
from ...annotations import Dims, Fn, Functions, Keywords, Values

if TYPE_CHECKING:
    from ...dtypes import DType
    from ...tensor import TensorRef

_ndarray = np.ndarray
_add, _multiply, _sqrt = np.add.reduce, np.multiply.reduce, np.sqrt
# What sums and products of a dtype (by its character) are computed in where that is another: integers in int64, halves in float32.
_WIDE = {c: np.dtype(np.int64) for c in "?bhiBHILlqQ" if np.dtype(c) != np.int64} | {"e": np.dtype(np.float32), "E": np.dtype(np.float32)}
LARGE = 1 << 18  # elements from which the shared kernels are worth their set-up


def finish(result: np.ndarray, input: np.ndarray) -> Any:
    """A reduction's result as torch lays it out: row-major whatever the input's strides."""
    return result if result.__class__ is not _ndarray or result.flags.c_contiguous else np.ascontiguousarray(result)


def _is_long(input: np.ndarray, dim: Dims) -> bool:
    """Whether sums are shared among threads in blocks."""
    return input.size >= LARGE and (dim is None or dim.__class__ is int) and input.dtype.char in "fd" and input.flags.c_contiguous


def _sum(input: np.ndarray, dim: Dims, keepdim: bool) -> np.ndarray:
    if input.size <= SMALL and input.dtype.char in "fd" and input.flags.c_contiguous and (not keepdim or dim is not None):
        if dim is None:
            flat = input.ravel()
            return flat.dot(ONES[flat.dtype.char, flat.size])
        if input.ndim and (dim == -1 or dim == input.ndim - 1):
            return input.dot((COLUMNS if keepdim else ONES)[input.dtype.char, input.shape[-1]])
        if dim == 0 and input.ndim == 2:
            found = ONES[input.dtype.char, input.shape[0]].dot(input)
            return found.reshape(1, -1) if keepdim else found
    return _sum_of_any(input, dim, keepdim)


def _long_sum(input: np.ndarray, dim: Dims, keepdim: bool) -> np.ndarray:
    if (rows := folds.closely(input)) is not input:
        return _sum(rows, dim, keepdim)
    # Few expanded numbers, as gradients of sums are, would only be looked at there.
    found = None if input.size <= SMALL and 0 in input.strides or _is_long(input, dim) else folds.fold(input, dim, keepdim)
    if found is not None:
        return found
    if dim is not None:
        dim = normalize_dims(dim, input.ndim)
    wide = _WIDE.get(input.dtype.char)
    if wide is not None:
        if wide.kind == "i" and input.dtype.char == "?":
            return finish(_counted(input, dim, keepdim), input)
        if wide.kind == "i":
            return finish(shared.exactly(np.add, input, dim, keepdim, wide), input)
        return finish(np.asarray(shared.add(widened(input), dim, None, keepdim)).astype(input.dtype), input)
    if input.size >= LARGE and input.dtype.kind == "f":
        return finish(shared.sum(input, dim, keepdim), input)
    result = shared.add(input, dim, None, keepdim)
    return result if dim is None else finish(result, input)


def _way_to_sum(input: np.ndarray, dim: Dims, keepdim: bool) -> folds.Way | bool:
    if input.dtype.char != "?":
        return folds.way_to_fold(input, dim, keepdim)
    if normalize_dims(dim, input.ndim) is None or input.size > _COUNTED:
        return True
    way = folds.way_to_fold(input.astype(np.int64), dim, keepdim)
    return way if way.__class__ is bool else lambda x: way(x.astype(np.int64))  # type: ignore[operator]


_sum_of_any = folds.kept(_long_sum, _way_to_sum, "fdleE?")


def sum_of_products(x: np.ndarray, z: np.ndarray, dim: int) -> np.ndarray | None:
    """``sum(x * z, dim)`` without the products in memory, of which those of half precision are rounded; None where they are to be made."""
    return None if x.size <= SMALL or _is_long(x, dim) else folds.fold_products(x, z, dim)


def _counted(input: np.ndarray, axes: tuple[int, ...] | None, keepdim: bool) -> np.ndarray:
    """How many are true."""
    if axes is None:
        return np.array(np.count_nonzero(input)).reshape((1,) * input.ndim if keepdim else ())
    if input.size <= _COUNTED and (found := folds.fold(input.astype(np.int64), axes, keepdim)) is not None:
        return found
    n = count(input.shape, axes)
    return shared.exactly(np.add, input.view(np.uint8), axes, keepdim, _COUNTERS[n > 255]).astype(np.int64)


_COUNTERS = np.dtype(np.uint8), np.dtype(np.int64)
_COUNTED = 4096  # truth values that are sooner made numbers than counted by NumPy


def _overload(name: str) -> Fn:
    """The field `aten` of a reduction: that of all elements, or `name`."""
    def aten(dim, keepdim, **_): return "" if dim is None and not keepdim else f".{name}"

    return aten


@op("sum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor", quiet="all", dtypes="float int bool half")
class sum_:
    """The sum of all elements, or along dimensions.

    >>> torch.sum(torch.tensor([[1., 2.], [3., 4.]]), dim=0)
    tensor([4., 6.])
    """

    lacks = {"float8 chalf": "sum_cpu"}
    sharding = "reduces dim by add"
    out_dtype = EXPECTED
    computed_in_out = True
    def no_out(dim, keepdim, **_): return dim is None and not keepdim
    saved_as = {"SumBackward0.dim": None, "SumBackward0.keepdim": None}
    nodes = {"dim is not None": "SumBackward1"}
    numpy = _sum
    mindspore = kernels.total("ReduceSum")
    mindspore_takes = "complex"
    compose = on_host(_sum)
    shape = shapes.reduced
    def vjp(F, grad, input_shape, dim, keepdim): return expand_reduced(F, grad, input_shape, dim, keepdim)
    jvp = "linear"
    aten = _overload("dim_IntList")

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3, 4)), 1
        yield rng.standard_normal((2, 3, 4)), (0, -1), True

    def errors(rng):
        yield (np.ones((2, 3)), 5), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 5)"
        yield (np.ones((2, 3)), (0, 0)), RuntimeError, "dim 0 appears multiple times in the list of dims"


def _refuse_integers(dtype: DType, name: str, what: str) -> None:
    if dtype.category < FLOATING:
        raise AutogradError(f"{name}(): could not infer output dtype. {what} dtype must be either a floating point or complex dtype. "
                            f"Got: {SCALAR_TYPE_NAMES[dtype.name]}", expected="a floating-point tensor", found=dtype.name,
                            remedy="convert it with .float(), or pass dtype=")


def _mean(input: np.ndarray, dim: Dims, keepdim: bool) -> np.ndarray:
    if dim.__class__ is int and input.size <= SMALL and -input.ndim <= dim < input.ndim and input.itemsize > 2:
        return _sum(input, dim, keepdim) / NUMBERS[input.dtype.char, input.shape[dim]]
    if dim is None:
        n = input.size
        if n <= SMALL and input.dtype.char in "fd":
            return _sum(input, None, keepdim) / input.dtype.type(n)
    else:
        dim = normalize_dims(dim, input.ndim)
        n = input.size if dim is None else count(input.shape, dim)
        if input.size <= SMALL and dim is not None and len(dim) == 1 and input.itemsize > 2:
            return _sum(input, dim[0], keepdim) / NUMBERS[input.dtype.char, n]
    return _mean_of_any(input, dim, keepdim)


def _long_mean(input: np.ndarray, dim: tuple[int, ...] | None, keepdim: bool) -> np.ndarray:
    n, input = count(input.shape, dim), folds.closely(input)
    if _is_long(input, dim if dim is None or len(dim) > 1 else dim[0]):
        return finish(shared.mean(input, dim, keepdim), input)
    found = folds.fold(input, dim, keepdim, folds.SUM, n) if n else None
    if found is not None:
        return found
    if input.dtype.char in "eE":
        return finish(np.asarray(shared.add(widened(input), dim, None, keepdim) / np.float32(n)).astype(input.dtype), input)
    return finish(shared.add(input, dim, None, keepdim) / input.dtype.type(n), input)


_mean_of_any = folds.kept(_long_mean, lambda input, dim, keepdim: not input.size or folds.way_to_fold(
    input, dim, keepdim, folds.SUM, count(input.shape, dim)))


def loss_of(each: np.ndarray, reduction: str, *operands: np.ndarray) -> Any:
    """What the losses of elements come to, which are added up in the order in which those of `operands` lie."""
    if operands and not operands[0].flags.c_contiguous:
        each = laid_out(each, *operands)
    return each if reduction == "none" else _mean(each, None, False) if reduction == "mean" else _sum(each, None, False)


def count(shape: Sequence[int], dim: Dims) -> int:
    """How many elements a reduction over `dim` joins into one."""
    if dim is None or not shape:
        return _product(shape)
    dims = (dim,) if isinstance(dim, int) else dim
    return _product([shape[d] for d in dims]) if dims else _product(shape)


@op("mean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
class mean:
    """The mean of all elements, or along dimensions.

    >>> torch.mean(torch.tensor([[1., 2.], [3., 4.]]), dim=1)
    tensor([1.5000, 3.5000])
    """

    lacks = {"float8 chalf": "sum_cpu"}
    def sharding(call):
        n = 1
        for d in call.dims("dim", call["input"].ndim):
            n *= call.shape("input")[d]
        return call.of(lambda F, input, dim=None, keepdim=False: F.div(F.sum(input, dim, keepdim), n))

    out_dtype = OutRule("mean.dtype_out(): input types can't be cast to the desired output type {found}", castable)
    saved_also = {"self_sym_numel": "prod(input_shape)"}
    saved_as = {"MeanBackward0.dim": None, "MeanBackward0.keepdim": None}
    nodes = {"dim is not None": "MeanBackward1"}
    numpy = takes_half(_mean)
    mindspore = kernels.total("ReduceMean")
    def compose(F, input, dim, keepdim): return F.sum(input, dim, keepdim) / input.dtype.type(count(input.shape, dim))
    shape = shapes.reduced
    def check(input, dim, keepdim, dtype): _refuse_integers(dtype or input.dtype, "mean", "Optional" if dtype else "Input")

    def vjp(F, grad, input_shape, dim, keepdim):
        return expand_reduced(F, divided(grad, count(input_shape, dim)), input_shape, dim, keepdim)
    jvp = "linear"
    aten = _overload("dim")

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3, 4)), -1
        yield rng.standard_normal((2, 3, 4)), (0, 2), True

    def errors(rng):
        yield (np.ones(3, np.int64),), RuntimeError, (
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long")


def _long_nansum(input: np.ndarray, dim: Dims, keepdim: bool) -> np.ndarray:
    input = folds.closely(input)
    found = folds.fold(input, dim, keepdim, folds.HELD)
    if found is not None:
        return found
    total = _sum(input, dim, keepdim)
    if not (total != total).any():  # there was none
        return total
    return _sum(np.where(np.isnan(input), input.dtype.type(0), input), dim, keepdim)


_nansum = folds.kept(_long_nansum, lambda input, dim, keepdim: folds.way_to_fold(input, dim, keepdim, folds.HELD))


@op("nansum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor", quiet="all",
    complex="RuntimeError: nansum on CPU does not support complex inputs")
class nansum:
    """The sum with NaN counted as zero.

    >>> torch.nansum(torch.tensor([1., float('nan'), 2.]))
    tensor(3.)
    """

    lacks = {"float8": "nansum_cpu"}
    sharding = "reduces dim by add"
    out_dtype = EXPECTED
    computed_in_out = True
    saved_as = {"input_shape": None}

    numpy = _nansum
    def compose(F, input, dim, keepdim): return F.sum(F.where(F.ne(input, input), 0, input), dim, keepdim)
    shape = shapes.reduced

    def vjp(F, grad, input, input_shape, dim, keepdim):
        return F.masked_fill(expand_reduced(F, grad, input_shape, dim, keepdim), F.ne(input, input), 0)

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3)), 1, True


@op("nanmean(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
class nanmean:
    """The mean of the elements that are not NaN.

    >>> torch.nanmean(torch.tensor([1., float('nan'), 2.]))
    tensor(1.5000)
    """

    lacks = {"float8": "nansum_cpu"}
    def quick(input, dim, keepdim, dtype):
        char = input.dtype.char
        if char in "fdeE" and dtype is None and input.size and (dim.__class__ is int or dim is None):
            wide = input if char in "fd" else widened(input)
            total = np.asarray(_sum(wide, dim, keepdim))
            if not (total != total).any():
                n = np.asarray(count(input.shape, dim)).astype(input.dtype)
                return np.asarray(total / n if char in "fd" else ufunc(np.divide, recast(total, input.dtype), n), input.dtype)

    def function(F, input, dim=None, keepdim=False, *, dtype=None, out=None):
        if input.dtype.category < FLOATING:
            raise AutogradError("nanmean(): expected input to have floating point or complex dtype but got "
                                + SCALAR_TYPE_NAMES[input.dtype.name])
        total = F.nansum(input, dim, keepdim, dtype=dtype)
        return F.div(total, F.cast(F.sum(F.eq(input, input), dim, keepdim), total._k.dtype), out=out)

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3)), 1, True


# -- products -----------------------------------------------------------------------------------------------------------


def _long_prod(input: np.ndarray, dim: int | None, keepdim: bool) -> np.ndarray:
    if dim is not None:
        axis = wrap_dim(dim, input.ndim)
        dim = axis if input.ndim else None  # a number has no dimension, but may be asked for its first
    if input.dtype.char not in "eE":  # whose parts torch multiplies one after the other, rounding each time, where rows are taken in lanes
        input = folds.closely(input)
    wide = _WIDE.get(input.dtype.char)
    if _by_columns(input, dim):
        if input.dtype.char == "?":
            return finish(shared.exactly(np.bitwise_and, input, dim, keepdim).astype(np.int64), input)
        return finish(shared.exactly(np.multiply, input, dim, keepdim, wide), input)
    found = folds.fold(input, dim, keepdim, folds.PRODUCT)
    if found is not None:
        return found
    # torch rounds products of half precision after each factor. NumPy does so with bfloat16, with float16 only where it keeps them all.
    if input.dtype.char == "e" and dim is None and input.size:
        return np.multiply.accumulate(input.ravel())[-1:].reshape((1,) * input.ndim if keepdim else ())
    if input.dtype.char == "e" and dim is not None and input.shape[dim]:
        products = np.multiply.accumulate(input, dim)
        last = products[(slice(None),) * dim + (slice(-1, None) if keepdim else -1,)]
        return np.ascontiguousarray(last) if last.__class__ is _ndarray else last
    return finish(_multiply(input, dim, wide if wide is not None and wide.kind == "i" else None, None, keepdim), input)


def _by_columns(input: np.ndarray, dim: Dims) -> bool:
    """Whether factors are integers that go side by side."""
    return input.dtype.kind in "iub" and input.size >= shared.NARROW and dim is not None


_prod = folds.kept(_long_prod, lambda input, dim, keepdim: _by_columns(input, dim) or folds.way_to_fold(input, dim, keepdim, folds.PRODUCT))


def _others(F: Functions, input: Values, d: int) -> Values:
    """At each position, the product of all other elements along dimension `d`."""
    n = input.shape[d]
    one = F.ones_for(input, tuple([1 if i == d else m for i, m in enumerate(input.shape)]))
    before = F.cumprod(F.cat([one, F.slice(input, d, 0, n - 1)], d), d)
    after = F.flip(F.cumprod(F.cat([one, F.slice(F.flip(input, (d,)), d, 0, n - 1)], d), d), (d,))
    return before * after


@op("prod(Tensor input, int? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor", quiet="all", dtypes="float int bool half")
class prod:
    """The product of all elements, or along a dimension.

    >>> torch.prod(torch.tensor([[1., 2.], [3., 4.]]), 1)
    tensor([ 2., 12.])
    """

    lacks = {"float8 chalf": "prod_out_cpu"}
    sharding = "reduces dim by multiply"
    out_dtype = EXPECTED
    computed_in_out = True
    def no_out(dim, **_): return dim is None
    amp = "float32"
    saved_as = {"ProdBackward0.dim": None, "ProdBackward0.keepdim": None}
    nodes = {"dim is not None": "ProdBackward1"}
    numpy = _prod
    mindspore = kernels.total("ReduceProd")
    compose = on_host(_prod)
    shape = shapes.reduced

    @in_single(again=lambda F, input, dim, keepdim: F.prod(input, dim, keepdim) if dim is not None else F.prod(input))
    def vjp(F, grad, input, result, dim, keepdim):
        shape = tuple(input.shape)
        grad = expand_reduced(F, grad, shape, dim, keepdim)
        if bool(F.all(F.ne(input, 0))):
            return grad * expand_reduced(F, result, shape, dim, keepdim) / input
        if dim is not None and shape:
            return grad * _others(F, input, dim % len(shape))
        flat = F.reshape(input, (-1,))
        return grad * F.reshape(_others(F, flat, 0), shape)
    aten = _overload("dim_int")

    def samples(rng):
        yield (rng.uniform(0.5, 2, (2, 3)),)
        yield rng.uniform(0.5, 2, (2, 3)), -1, True
        yield np.array([[1.5, 0.0, 2.0], [0.0, 3.0, 0.0]]), 1
        yield (np.array([1.5, 0.0, 2.0]),)


# -- logical -----------------------------------------------------------------------------------------------------------


def _truths(input: np.ndarray) -> np.ndarray:
    """Which elements are not zero; of half precision by its bits, of which all but the sign are 0."""
    if input.dtype.char == "?":
        return input
    return (input.view(np.uint16) << _ONE_BIT if input.dtype.char in "eE" else input).astype(bool)


_ONE_BIT = np.uint16(1)
_JOINED = 1 << 18  # truth values up to which one kernel joins them


def _joined(input: np.ndarray, axes: tuple[int, ...] | None, keepdim: bool, side: str) -> np.ndarray | None:
    """The least of truth values (side "<"), which says whether all are true, or the largest; None where NumPy is to serve."""
    if not 0 < input.size <= _JOINED or input.dtype.char != "?" and input.size < shared.NARROW:
        return None
    ends = folds.ends(folds.closely(_truths(input)), axes, keepdim, side)
    return None if ends is None else ends[0]


def _logical(ufunc: np.ufunc) -> Fn:
    reduce = ufunc.reduce
    bits, side = (np.bitwise_and, "<") if ufunc is np.logical_and else (np.bitwise_or, ">")

    def kernel(input: np.ndarray, dim: Dims, keepdim: bool) -> np.ndarray:
        if dim is None:
            result = reduce(input, None, None, None, keepdim)
        else:
            axes = normalize_dims(dim, input.ndim)
            if axes is None and input.ndim:  # an empty tuple reduces nothing, unlike elsewhere
                result = input.astype(bool)
            elif (found := _joined(input, axes, keepdim, side)) is not None:
                result = found
            else:
                result = finish(reduce(input, axes, None, None, keepdim) if input.size < shared.NARROW else
                                shared.exactly(bits, _truths(input), axes, keepdim), input)
        return result.astype(np.uint8) if input.dtype.char == "B" else result

    return folds.kept(kernel, lambda input, dim, keepdim: dim == () or folds.way_to_end(input, dim, keepdim, side), "?", _JOINED, False)


def _logical_overload(dim: int | tuple[int, ...] | None, keepdim: bool, **_: TensorRef) -> str:
    return "" if dim is None and not keepdim else ".dim(input, dim, *[True] * keepdim)" if isinstance(dim, int) else ".dims"


_all, _any = _logical(np.logical_and), _logical(np.logical_or)


@op("all(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor", quiet="all", dtypes="float int bool")
class all_:
    """Whether all elements are true.

    >>> torch.all(torch.tensor([[True, False], [True, True]]), dim=1)
    tensor([False,  True])
    """

    sharding = "reduces dim by logical_and"
    out_dtype = BOOL_OR_BYTE
    numpy = _all
    shape = shapes.logical
    mindspore = kernels.logical("ReduceAll")
    compose = on_host(_all)
    aten = _logical_overload

    def samples(rng):
        yield (rng.integers(0, 2, (2, 3)).astype(bool),)
        yield rng.integers(0, 2, (2, 3)).astype(bool), 1, True


@op("any(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor", quiet="all", dtypes="float int bool")
class any_:
    """Whether any element is true.

    >>> torch.any(torch.tensor([[True, False], [False, False]]), dim=1)
    tensor([ True, False])
    """

    sharding = "reduces dim by logical_or"
    out_dtype = BOOL_OR_BYTE
    numpy = _any
    shape = shapes.logical
    mindspore = kernels.logical("ReduceAny")
    compose = on_host(_any)
    aten = _logical_overload

    def samples(rng):
        yield (rng.integers(0, 2, (2, 3)).astype(bool),)
        yield rng.integers(0, 2, (2, 3)).astype(bool), (0, 1)


def _check_bools(input: TensorRef) -> None:
    if input._k.dtype is not bool_:
        raise AutogradError("self.scalar_type() == at::kBool INTERNAL ASSERT FAILED, please report a bug to PyTorch. ",
                            expected="a tensor of bools", found=repr(input._k.dtype), remedy="use all() or any()")


@op("_is_all_true(Tensor input) -> Tensor", quiet="all", dtypes="bool", out=False)
class _is_all_true:
    """Whether all elements of a tensor of bools are true.

    >>> torch._is_all_true(torch.tensor([True, False]))
    tensor(False)
    """

    check = _check_bools
    sharding = "composed"
    def numpy(input): return np.logical_and.reduce(input, None)
    def shape(input): return ()
    def compose(F, input): return F.all(input)
    def samples(rng): yield (np.array([True, True]),)


@op("_is_any_true(Tensor input) -> Tensor", quiet="all", dtypes="bool", out=False)
class _is_any_true:
    """Whether any element of a tensor of bools is true.

    >>> torch._is_any_true(torch.tensor([True, False]))
    tensor(True)
    """

    check = _check_bools
    sharding = "composed"
    def numpy(input): return np.logical_or.reduce(input, None)
    def shape(input): return ()
    def compose(F, input): return F.any(input)
    def samples(rng): yield (np.array([True, False]),)


def _count_nonzero(input: np.ndarray, dim: int | list[int]) -> np.ndarray:
    axes = normalize_dims(dim, input.ndim)
    if axes is None and input.dtype.char in "eE":
        return np.array(np.count_nonzero(input.view(np.uint16) << _ONE_BIT))
    found = _truths(folds.closely(input))
    return np.array(np.count_nonzero(found)) if axes is None else finish(_counted(found, axes, False), input)


@op("count_nonzero(Tensor input, int[]? dim=None) -> Tensor", varargs="dim", quiet="all", result="int64", dtypes="float int bool",
    out=False)
class count_nonzero:
    """How many elements are not zero.

    >>> torch.count_nonzero(torch.tensor([[1, 0], [2, 3]]), dim=1)
    tensor([1, 2])
    """

    lacks = {"uint float8": lambda input, dim: "nonzero_count_cpu" if dim is None or dim == () else None}
    sharding = "reduces dim by add"
    numpy = _count_nonzero
    shape = shapes.reduced
    def compose(F, input, dim): return F.sum(F.ne(input, 0), dim)
    def samples(rng): yield rng.integers(0, 2, (2, 3)), 1


# -- moments -----------------------------------------------------------------------------------------------------------


_FEW = 8192  # elements from which the shared kernels are worth their set-up here
_OVERFLOWS = 1e36  # variances near which squares of float32 overflow


def _small_var(input: np.ndarray, dim: int | None, correction: float) -> np.ndarray:
    """The variance of all of a few elements, or of rows of them, by dot products. Around the first element: large means cost no digits,
    and that of equal elements is 0."""
    char, n = input.dtype.char, input.shape[-1]
    if dim is None:
        center = input.ravel()
        n = center.size
        center = center - center[0]
        total = float(center.dot(ONES[char, n]))
        square = float(center.dot(center))
        excess = total * total / n
        if excess < 0.5 * square:  # else digits would cancel
            return input.dtype.type((square - excess) / (n - correction))
        center -= NUMBERS[char, total / n]
        return center.dot(center) / input.dtype.type(n - correction)
    center = input - input[..., :1]
    center -= center.dot(SQUARES[char, n]) / NUMBERS[char, n]
    return (center * center).dot(ONES[char, n]) / NUMBERS[char, n - correction]


def _moments(input: np.ndarray, axes: tuple[int, ...] | None, keepdim: bool) -> tuple[Any, Any]:
    """Mean and biased variance in double precision."""
    axes = tuple(range(input.ndim)) if axes is None else axes
    if input.dtype.kind == "c":
        (real, a), (imag, b) = moments(input.real, axes), moments(input.imag, axes)
        found = real + 1j * imag, a + b
    else:
        found = moments(input, axes)
    if keepdim:
        return found
    kept = tuple([n for i, n in enumerate(input.shape) if i not in axes])
    return found[0].reshape(kept), found[1].reshape(kept)


def _spread_mean(input: np.ndarray, dim: Dims, correction: float, keepdim: bool, root: bool) -> tuple[np.ndarray, np.ndarray]:
    """(variance, or its root; mean), rounded to the dtype once: the root is finite where the variance is too large for it."""
    axes = normalize_dims(dim, input.ndim)
    n = count(input.shape, axes)
    # Never divides by less than nothing: too few elements for the correction make NaN.
    divisor = np.float64(max(n - correction, 0))
    if 0 < input.size < _FEW and input.dtype.char in "fd":
        found = folds.spread(input, dim, keepdim, float(divisor), root)
        if found is not None:
            return found
    if 0 < input.size < _FEW and axes is not None and 1 < len(axes) < input.ndim:  # in rows
        axes = tuple(sorted(axes))
        kept = [d for d in range(input.ndim) if d not in axes]
        rows = np.ascontiguousarray(input.transpose(*kept, *axes)).reshape(*[input.shape[d] for d in kept], n)
        both, shape = _spread_mean(rows, -1, correction, keepdim, root), shapes.reduced(input.shape, axes, keepdim)
        return both[0].reshape(shape), both[1].reshape(shape)
    if 0 < input.size < _FEW and input.dtype.kind == "f":  # around the first numbers, in double precision
        wide = input.astype(np.float64)
        first = wide[tuple([slice(1) if axes is None or i in axes else slice(None) for i in range(input.ndim)])]
        wide = wide - first
        mean = _add(wide, axes, None, None, True) / n
        wide -= mean
        mean = mean + first
        spread = _add(wide * wide, axes, None, None, keepdim) / divisor
        if not keepdim:
            mean = mean.reshape(spread.shape)
    else:
        mean, variance = _moments(input, axes, keepdim)
        spread = variance * n / divisor
    return finish((_sqrt(spread) if root else spread).astype(input.real.dtype), input), finish(mean.astype(input.dtype), input)


def _var(input: np.ndarray, dim: Dims, correction: float, keepdim: bool, root: bool = False) -> np.ndarray:
    if input.size <= SMALL and not keepdim and input.ndim and input.dtype.char in "fd" and input.flags.c_contiguous and (
            dim is None and input.size > correction or (dim == -1 or dim == input.ndim - 1) and NARROW >= input.shape[-1] > correction):
        found = _small_var(input, dim, correction)
        if float(found.sum()) < _OVERFLOWS:  # false for NaN
            return _sqrt(found) if root else found
    return _spread_mean(input, dim, correction, keepdim, root)[0]


def _half_spread(input: np.ndarray, dim: Dims, correction: float, keepdim: bool, root: bool) -> tuple[np.ndarray, np.ndarray]:
    """`_spread_mean` of half precision, which is rounded to float32 in between."""
    if 0 < input.size < _FEW:
        found = folds.spread(input, dim, keepdim, float(max(count(input.shape, normalize_dims(dim, input.ndim)) - correction, 0)), root)
        if found is not None:
            return found
    wide = [recast(np.asarray(x), input.dtype) for x in _spread_mean(widened(input), dim, correction, keepdim, root)]
    return wide[0], wide[1]


@lru_cache(64)
def _half_moments(correction: float, root: bool) -> Fn:
    """`_half_spread` of few numbers, by the way that is kept for a layout."""
    def way(input: np.ndarray, dim: Dims, keepdim: bool) -> folds.Way | bool:
        divisor = float(max(count(input.shape, normalize_dims(dim, input.ndim)) - correction, 0))
        return not input.size or folds.way_to_spread(input, dim, keepdim, divisor, root)

    return folds.kept(lambda input, dim, keepdim: _half_spread(input, dim, correction, keepdim, root), way, "eE", _FEW - 1)


def _std(input: np.ndarray, dim: Sequence[int] | None, correction: float, keepdim: bool) -> np.ndarray:
    return _var(input, dim, correction, keepdim, True)


def _check_moment(input: TensorRef, **rest: object) -> None:
    if input.dtype.category < FLOATING and not on_meta(input):
        raise AutogradError("std and var only support floating point and complex dtypes", expected="a floating-point tensor",
                            found=input.dtype.name, remedy="convert it with .float()")


def _var_gradient(F: Functions, grad: Values, input: Values, dim: Dims, correction: float, keepdim: bool) -> Values:
    n = count(input.shape, dim)
    if n <= correction:  # a division by nothing
        slope = F.where(F.eq(input, F.mean(input, dim, True)), F.zeros_for(grad, ()) + nan, inf)
        return expand_reduced(F, grad, tuple(input.shape), dim, keepdim) * slope
    scale = typed(grad, 2 / (n - correction))
    return expand_reduced(F, grad * scale, tuple(input.shape), dim, keepdim) * (input - F.mean(input, dim, True))


def _root_gradient(F: Functions, grad: np.ndarray, root: Values) -> np.ndarray:
    """The gradient of a root's square; nothing where the root is 0, nor by any further derivative."""
    zero = F.eq(root, 0)
    return F.masked_fill(grad, zero, 0) / (F.masked_fill(root, zero, 1) * 2)


_CORRECTION = (".correction(input, *[dims(dim)] * (dim is not None), correction=None if dim is None and correction == 1 else correction, "
               "keepdim=keepdim or None)")


# torch has no number where none was given for all elements.
_SHOWN = {"correction": "None if dim is None and correction == 1 else correction"}


@op("var_of(Tensor input, int[]? dim=None, Scalar correction=1, bool keepdim=False) -> Tensor", method=False, namespace="_internal",
    node="VarBackward0")
class var_of:
    """The variance, with the count less `correction` as divisor."""

    sharding = "along dim or composed"
    saved_as, saved_also = {"correction": None}, _SHOWN
    numpy = _var
    def half(input, dim, correction, keepdim): return _half_spread(input, dim, correction, keepdim, False)[0]
    def compose(F, input, dim, correction, keepdim):
        center = F.abs(input - F.mean(input, dim, True))
        return F.sum(center * center, dim, keepdim) / center.dtype.type(max(count(input.shape, dim) - correction, 0))
    def shape(input, dim, correction, keepdim): return shapes.reduced(input, dim, keepdim)
    check = _check_moment
    @in_single
    def vjp(F, grad, input, dim, correction, keepdim): return _var_gradient(F, grad, input, dim, correction, keepdim)
    aten = "var" + _CORRECTION

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3, 2)), (0, -1), 0, True


@op("std_of(Tensor input, int[]? dim=None, Scalar correction=1, bool keepdim=False) -> Tensor", method=False, namespace="_internal",
    node="StdBackward0")
class std_of:
    """The standard deviation, with the count less `correction` as divisor."""

    sharding = "along dim or composed"
    saved_as, saved_also = {"correction": None}, _SHOWN
    numpy = _std
    def half(input, dim, correction, keepdim): return _half_spread(input, dim, correction, keepdim, True)[0]
    def compose(F, input, dim, correction, keepdim): return F.sqrt(F.var_of(input, dim, correction, keepdim))
    def shape(input, dim, correction, keepdim): return shapes.reduced(input, dim, keepdim)
    check = _check_moment

    @in_single
    def vjp(F, grad, input, result, dim, correction, keepdim):
        return _var_gradient(F, _root_gradient(F, grad, result), input, dim, correction, keepdim)
    aten = "std" + _CORRECTION

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3, 2)), (0, -1), 0, True


def _mean_gradient(F: Functions, grad: np.ndarray, input: Values, dim: Dims, keepdim: bool) -> Values:
    n = count(input.shape, dim)
    if not n:  # an empty gradient, but a tangent of nothing by nothing
        return expand_reduced(F, grad / typed(grad, 0), tuple(input.shape), dim, keepdim)
    return expand_reduced(F, grad, tuple(input.shape), dim, keepdim) / typed(grad, n)


def _mean_tangents(F: Functions, arguments: Keywords, tangents: Keywords) -> tuple[TensorRef, TensorRef]:
    """The tangents of variance and mean, as torch has them: a transposed gradient would round what every element is multiplied by."""
    t, (input, dim, correction, keepdim) = tangents["input"], arguments.values()
    n = count(input.shape, dim)
    scale = 2 / (n - correction) if n != correction else inf
    var = F.sum((F.conj(t) if is_complex(t) else t) * scale * (input - F.mean(input, dim, True)), dim, keepdim)
    return F.real(var) if is_complex(var) else var, F.mean(t, dim, keepdim)


def _both(first: Values, second: Values | None) -> Values:
    """The sum of two gradients, either of which may be None."""
    return second if first is None else first if second is None else first + second


@op("var_mean_of(Tensor input, int[]? dim=None, Scalar correction=1, bool keepdim=False) -> (Tensor var, Tensor mean)", method=False,
    namespace="_internal", out=False, node="VarMeanBackward0", complex="explicit")
class var_mean_of:
    """The variance, with the count less `correction` as divisor, and the mean."""

    sharding = "along dim or composed"
    saved_as, saved_also = {"correction": None}, _SHOWN
    def numpy(input, dim, correction, keepdim): return _spread_mean(input, dim, correction, keepdim, False)
    def compose(F, input, dim, correction, keepdim): return F.var_of(input, dim, correction, keepdim), F.mean(input, dim, keepdim)
    def shape(input, dim, correction, keepdim): return (shapes.reduced(input, dim, keepdim),) * 2
    check = _check_moment

    @in_single
    def vjp(F, grad, input, dim, correction, keepdim):
        var, mean = grad
        return _both(None if var is None else _var_gradient(F, var, input, dim, correction, keepdim),
                     None if mean is None else _mean_gradient(F, mean, input, dim, keepdim))

    def jvp(F, outputs, arguments, tangents): return _mean_tangents(F, arguments, tangents)

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3, 2)), (0, -1), 0, True


@op("std_mean_of(Tensor input, int[]? dim=None, Scalar correction=1, bool keepdim=False) -> (Tensor std, Tensor mean)", method=False,
    namespace="_internal", out=False, node="StdMeanBackward0", complex="explicit")
class std_mean_of:
    """The standard deviation, with the count less `correction` as divisor, and the mean."""

    sharding = "along dim or composed"
    saved_as, saved_also = {"std": "result0", "correction": None}, _SHOWN

    def numpy(input, dim, correction, keepdim): return _spread_mean(input, dim, correction, keepdim, True)
    def compose(F, input, dim, correction, keepdim): return F.std_of(input, dim, correction, keepdim), F.mean(input, dim, keepdim)
    def shape(input, dim, correction, keepdim): return (shapes.reduced(input, dim, keepdim),) * 2
    check = _check_moment

    @in_single
    def vjp(F, grad, input, std, dim, correction, keepdim):
        first, mean = grad
        first = None if first is None else _root_gradient(F, first, std)
        return _both(None if first is None else _var_gradient(F, first, input, dim, correction, keepdim),
                     None if mean is None else _mean_gradient(F, mean, input, dim, keepdim))

    def jvp(F, outputs, arguments, tangents):
        var, mean = _mean_tangents(F, arguments, tangents)
        return _root_gradient(F, var, outputs[0]), mean

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3, 2)), (0, -1), 0, True


def _moment_arguments(name: str, dim: object, unbiased: bool | None, correction: int | None) -> tuple[Any, Any]:
    """(dim, correction) from torch's three ways to give them: (unbiased), (dim, unbiased), (dim, *, correction)."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None and not isinstance(unbiased, bool):
        raise ArgumentError(f"{name}(): argument 'unbiased' must be bool, not {type(unbiased).__name__}")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    return dim, correction


def _quick_moment(root: bool, both: bool) -> Fn:
    """What variances, or their roots, perhaps with means, are of plain arrays: the same kernel, of half precision in float32."""

    def quick(input: np.ndarray, dim: Any, unbiased: object, keepdim: bool, correction: float | None) -> Any:
        char = input.dtype.char
        if char not in "fdeE" or dim.__class__ is bool or keepdim.__class__ is not bool:
            return None
        if correction is None:
            correction = 1 if unbiased is None else 1 if unbiased is True else 0 if unbiased is False else None
        if correction.__class__ not in (int, float):
            return None
        if char not in "fd":
            found = _half_moments(correction, root)(input, dim, keepdim)
        elif both:
            found = _spread_mean(input, dim, correction, keepdim, root)
        else:
            return np.asarray(_var(input, dim, correction, keepdim, root))
        return found if both else found[0]

    return quick


def _std_lacks(dim: Any, **_: object) -> str:
    return "RuntimeError: std_var_all: Unsupported dtype {dtype}" if dim is None or isinstance(dim, bool) else "std_cpu"


@op("var(Tensor input, int[]? dim=None, bool? unbiased=None, bool keepdim=False, *, Scalar? correction=None) -> Tensor")
class var:
    """The variance of all elements, or along dimensions; the divisor is the count less `correction`.

    >>> torch.var(torch.tensor([1., 2., 3.])), torch.var(torch.tensor([1., 3.]), correction=0)
    (tensor(1.), tensor(1.))
    """

    lacks = {"float8": _std_lacks}
    several_types = ("dim",)
    quick = _quick_moment(False, False)

    def function(F, input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
        if dim.__class__ is int and unbiased is None and correction is None:
            correction = 1
        else:
            if out is not None and (dim.__class__ is bool or dim is None and unbiased is not None):
                raise without_out("var")
            dim, correction = _moment_arguments("var", dim, unbiased, correction)
        return F.var_of(input, dim, correction, keepdim, out=out)

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3)), 1, False, True
        yield Sample((rng.standard_normal((2, 3)), (0, 1)), {"correction": 2})

    def errors(rng): yield (np.ones(3, np.int64),), RuntimeError, "std and var only support floating point and complex dtypes"


@op("std(Tensor input, int[]? dim=None, bool? unbiased=None, bool keepdim=False, *, Scalar? correction=None) -> Tensor")
class std:
    """The standard deviation of all elements, or along dimensions.

    >>> torch.std(torch.tensor([1., 2., 3.]))
    tensor(1.)
    """

    lacks = {"float8": _std_lacks}
    several_types = ("dim",)
    quick = _quick_moment(True, False)

    def function(F, input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
        if dim.__class__ is int and unbiased is None and correction is None:
            correction = 1
        else:
            if out is not None and (dim.__class__ is bool or dim is None and unbiased is not None):
                raise without_out("std")
            dim, correction = _moment_arguments("std", dim, unbiased, correction)
        return F.std_of(input, dim, correction, keepdim, out=out)

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3)), False

    def errors(rng): yield (np.ones(3, np.int64),), RuntimeError, "std and var only support floating point and complex dtypes"


@op("var_mean(Tensor input, int[]? dim=None, bool? unbiased=None, bool keepdim=False, *, Scalar? correction=None) -> (Tensor var, Tensor "
    "mean)",
    method=False, out=False)
class var_mean:
    """The variance and the mean.

    >>> torch.var_mean(torch.tensor([1., 2., 3.]))
    (tensor(1.), tensor(2.))
    """

    lacks = {"float8": "std_cpu", "uint int bool": "RuntimeError: var_mean only support floating point and complex dtypes"}
    several_types = ("dim",)
    quick = _quick_moment(False, True)

    def function(F, input, dim=None, unbiased=None, keepdim=False, *, correction=None):
        dim, correction = _moment_arguments("var_mean", dim, unbiased, correction)
        return tuple(F.var_mean_of(input, dim, correction, keepdim))

    def samples(rng): yield rng.standard_normal((2, 3)), 1


@op("std_mean(Tensor input, int[]? dim=None, bool? unbiased=None, bool keepdim=False, *, Scalar? correction=None) -> (Tensor std, Tensor "
    "mean)",
    method=False, out=False)
class std_mean:
    """The standard deviation and the mean.

    >>> torch.std_mean(torch.tensor([1., 2., 3.]))
    (tensor(1.), tensor(2.))
    """

    lacks = {"float8": "std_cpu", "uint int bool": "RuntimeError: std_mean only support floating point and complex dtypes"}
    several_types = ("dim",)
    quick = _quick_moment(True, True)

    def function(F, input, dim=None, unbiased=None, keepdim=False, *, correction=None):
        dim, correction = _moment_arguments("std_mean", dim, unbiased, correction)
        return tuple(F.std_mean_of(input, dim, correction, keepdim))

    def samples(rng): yield rng.standard_normal((2, 3)), 1


# -- logarithms of sums ------------------------------------------------------------------------------------------


def _logsumexp(input: np.ndarray, dim: int | Sequence[int], keepdim: bool) -> np.ndarray:
    axes = normalize_dims(dim, input.ndim)
    if input.size >= 2 * _STAYS and axes == (input.ndim - 1,) and input.ndim > 1 and input.flags.c_contiguous and input.dtype.char in "fd":
        result = np.empty((*input.shape[:-1], 1), input.dtype)
        step = max(1, _STAYS * len(input) // input.size)
        for start in range(0, len(input), step):
            result[start:start + step] = _log_of_sum(input[start:start + step], axes)
    else:
        result = _log_of_sum(input, axes)
    if keepdim:
        return finish(result, input)
    return finish(result.reshape(shapes.reduced(input.shape, axes)), input)


#: Elements whose differences and exponentials stay in a cache, and from which on exponentials are vectors everywhere.
_STAYS, _MANY = 1 << 15, 1 << 10


def _log_of_sum(input: np.ndarray, axes: tuple[int, ...] | None) -> Any:
    """The logarithms of sums of exponentials along axes, which stay."""
    if input.size:
        found = folds.ends(input, axes, True, ">") if input.size < LARGE else None
        # The imaginary part of the result stays within (-pi, pi].
        top = shared.exactly(np.maximum, input.real, axes, True) if found is None else found[0]
        np.putmask(top, np.logical_not(np.isfinite(top)), 0)
    else:
        top = np.zeros((1,) * input.ndim, input.dtype)
    powers = np.asarray(input - top)
    powers = exponentials(powers) if powers.size >= _MANY and powers.dtype.char in "fd" else np.exp(powers, powers)
    return np.log(shared.add(powers, axes, None, True)) + top


@op("logsumexp(Tensor input, int[] dim, bool keepdim=False) -> Tensor", promotion="float", result="same", alias="special.logsumexp")
class logsumexp:
    """The logarithm of the sum of exponentials, without overflow.

    >>> torch.logsumexp(torch.tensor([1000., 1000.]), 0)
    tensor(1000.6932)
    """

    lacks = {"float8": "max_values_cpu", "chalf": "exp_vml_cpu"}
    sharding = "along dim or composed"
    out_dtype = OutRule("logsumexp(): Expected floating point type for result tensor, but got: {found}", floating)
    numpy = _logsumexp

    def half(input, dim, keepdim):
        """Rounded after each step, as torch does."""
        axes = normalize_dims(dim, input.ndim)
        found = folds.ends(input, axes, True, ">") if 0 < input.size < LARGE else None
        top = found[0] if found is not None else recast(
            shared.exactly(np.maximum, widened(input), axes, True) if input.size else np.zeros((1,) * input.ndim, np.float32), input.dtype)
        np.putmask(top, np.logical_not(np.isfinite(top)), 0)
        powers = ufunc(np.exp, np.asarray(halved(np.subtract, input, top)))
        total = recast(np.asarray(shared.add(widened(powers), axes, None, True)), input.dtype)
        result = ufunc(np.add, ufunc(np.log, total), top)
        return np.asarray(result if keepdim else result.reshape(shapes.reduced(input.shape, axes)), order="C")

    def compose(F, input, dim, keepdim):
        top = F.amax(F.real(input) if is_complex(input) else input, dim, True) if input.size else np.zeros((1,) * input.ndim, input.dtype)
        top = F.where(F.isfinite(top), top, 0)
        return F.reshape(F.log(F.sum(F.exp(input - top), dim, True)) + top, shapes.reduced(input.shape, dim, keepdim))
    shape = shapes.reduced

    def vjp(F, grad, input, result, dim, keepdim):
        shape = tuple(input.shape)
        return expand_reduced(F, grad, shape, dim, keepdim) * F.exp(input - expand_reduced(F, result, shape, dim, keepdim))

    def jvp(F, outputs, arguments, tangents):
        """As torch: of a large result the exponential's argument would have few places."""
        input, dim, keepdim = arguments["input"], arguments["dim"], arguments["keepdim"]
        detached = input.detach()
        top = F.amax(F.real(detached) if is_complex(input) else detached, dim, True) if input.numel() else F.zeros_like(detached)
        e = F.exp(input - F.where(F.isfinite(top), top, 0))
        return F.sum(e * tangents["input"], dim, keepdim) / F.sum(e, dim, keepdim)

    def samples(rng):
        yield rng.standard_normal((2, 3)), 1
        yield rng.standard_normal((2, 3, 2)), (0, -1), True


@lru_cache(1024)
def _summed(shape: tuple[int, ...], size: tuple[int, ...]) -> Dims:
    """The dimensions that are summed to give an array of `shape` another size of as many; None where it cannot be."""
    if len(size) != len(shape) or any([n != m and n != 1 for n, m in zip(size, shape)]):
        return None
    dims = tuple([d for d, n in enumerate(size) if n != shape[d]])
    return dims if len(dims) > 1 else dims[0]


@op("sum_to_size(Tensor input, int[] size) -> Tensor", varargs="size", out=False, namespace="Tensor")
class sum_to_size:
    """The tensor summed to a shape that broadcasts to its own.

    >>> torch.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """

    lacks = {"float8 chalf": "sum_cpu"}

    gives_input = True
    def quick(input, size):
        shape = input.shape
        if not size:
            return None  # a single element is summed, too, which makes integers int64
        if shape == size:
            return input
        if (dim := _summed(shape, size)) is not None:
            return _sum(input, dim, True)

    def function(F, input, size):
        size, shape = (size,) if isinstance(size, int) else tuple([int(n) for n in size]), tuple(input.shape)
        lead = len(shape) - len(size)
        if lead < 0 or any([n != m and n != 1 for n, m in zip(size, shape[lead:])]):
            raise AutogradError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.", expected="a shape that broadcasts "
                                "to it",
                                found=str(list(size)))
        if not size:
            return F.sum(input)  # which makes integers int64
        return input if shape == size else F.reduce_to_shape(input, size)

    def samples(rng): yield rng.standard_normal((2, 3)), (1, 3)
