"""The largest and smallest elements: max, min, amax, amin, aminmax, argmax, argmin."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any
from collections.abc import Sequence

import numpy as np

from ...dtypes import as_bits
from ...dims import expand_reduced, normalize_dims, within, wrap_dim
from ...errors import AutogradError, IndexRangeError
from ...executors.kernels import folds, reduce as shared
from ...executors.kernels._on_demand import is_half
from ...executors.kernels.halves import cast, widened
from ...executors.kernels.pairs import halved
from ...functions.out import CAN_CAST, EXPECTED, INPUT_AND_OUT
from ...functions.overloads import EXTREME, no_match
from ...functions.refusals import no_kernel, on_meta
from ...record import RECORDS, Sample, op
from ...tensor import TensorRef
from .. import _batch as batches
from .. import _mindspore as kernels
from .._host import on_host
from .. import _shapes as shapes
from .sums import LARGE, finish
from ...annotations import Dims, Fn, Functions, Values
from ...warned import ignoring

if TYPE_CHECKING:
    from ...return_types import median, nanmedian, sort

_BESIDE = 64  # elements beside a reduced dimension from which on they are compared side by side
SHORT = 4096  # elements up to which finding the position of an extreme is quicker than reducing
_SEARCHED = frozenset("fdlq")  # of these dtypes


# -- what gradients need ----------------------------------------------------------------------------------------------------


def _tie_weights(input: np.ndarray, result: np.ndarray, dim: Dims) -> np.ndarray:
    half = is_half(input.dtype)
    equal = halved(np.equal, input, result) if half else input == result
    if dim is None and input.dtype.kind not in "iub":
        equal |= halved(np.isnan, input) & halved(np.isnan, result) if half else (input != input) & (result != result)
    axes = normalize_dims(dim, input.ndim)
    whole = axes is None or len(axes) == input.ndim
    counts = np.array(np.count_nonzero(equal)) if whole else np.add.reduce(equal, axes, None, None, True)
    weights = cast(np.asarray(equal), input.dtype)
    if counts.size and np.minimum.reduce(counts, None) == np.maximum.reduce(counts, None) == 1:
        return weights
    with ignoring():  # there are none where NaN is the extreme
        share = 1 / counts
        if half:
            return np.asarray(halved(np.multiply, weights, np.asarray(share).astype(np.float32).astype(input.dtype)))
        return np.asarray(weights * share.astype(input.dtype))


@op("tie_weights(Tensor input, Tensor result, int[]? dim) -> Tensor", method=False, namespace="_internal", out=False)
class tie_weights:
    """Where `input` equals `result`, one over the number of such places along `dim`; else zero. Extremes share gradients so. NaN equals
    NaN where there is no `dim`; along one, a NaN as the extreme makes them all NaN, as in torch."""

    sharding = "composed"
    numpy = half = _tie_weights
    def shape(input, result, dim): return input
    def samples(rng): yield Sample((np.array([[1.0, 2.0, 2.0]]), np.array([[2.0, 2.0, 2.0]]), 1), no_gradient="weights are constants")
    def compose(F, input, result, dim):
        equal = F.eq(input, result)
        if dim is None:
            equal = F.logical_or(equal, F.logical_and(F.ne(input, input), F.ne(result, result)))
        weights = F.where(equal, F.ones_for(input, tuple(input.shape)), 0)
        return (weights / F.sum(weights, dim, True)).astype(input.dtype)

    def batch(F, call):
        """Along dimensions, all of an example where none are named."""
        rank = call.ranks["input"]
        x, result = (call.whole(n) if call.ranks[n] else F.unsqueeze(call.whole(n), 1) for n in ("input", "result"))
        dims = range(rank or 1) if call.dim is None else (call.dim,) if isinstance(call.dim, int) else call.dim
        found = call(input=x, result=result, dim=tuple([batches.shifted(d, rank) for d in dims]))
        return found if rank else F.reshape(found, (call.size,))


def _shared(F: Functions, grad: Values, input: Values, result: Values, dim: Dims, keepdim: bool) -> Values:
    shape = tuple(input.shape)
    if isinstance(grad, np.ndarray) and isinstance(input, np.ndarray) and isinstance(result, np.ndarray) and (
            input.size >= SHORT and grad.itemsize == 2 and input.dtype is result.dtype is grad.dtype):
        return _shared_half(grad.view(np.ndarray), input.view(np.ndarray), result.view(np.ndarray), dim)
    over = tuple(range(len(shape))) if dim is None else dim
    return expand_reduced(F, grad, shape, dim, keepdim) * F.tie_weights(input, expand_reduced(F, result, shape, dim, keepdim), over)


def _shared_half(grad: np.ndarray, input: np.ndarray, result: np.ndarray, dim: Dims) -> Any:
    """The same of arrays of half precision: what extremes get and what others get, a product by zero, is computed once for each result."""
    axes = normalize_dims(dim, input.ndim)
    kept = tuple([1 if axes is None or d in axes else n for d, n in enumerate(input.shape)])
    grad, result = grad.reshape(kept), result.reshape(kept)
    equal = halved(np.equal, input, result)
    counts = np.asarray(shared.exactly(np.add, equal.view(np.uint8), axes, True, _COUNTS))
    share = np.asarray(1, input.dtype)
    with ignoring():  # there are none where NaN is the extreme
        if not (counts.size and np.minimum.reduce(counts, None) == np.maximum.reduce(counts, None) == 1):
            share = (1 / counts).astype(np.float32).astype(input.dtype)
        gets, others = [as_bits(np.asarray(grad * by)) for by in (share, share * np.asarray(0, input.dtype))]
    return np.where(equal, gets, others).view(input.dtype)


#: What equal elements are counted as.
_COUNTS = np.dtype(np.int64)


def _at_indices(grad: np.ndarray, indices: np.ndarray, shape: Sequence[int], dim: int, keepdim: bool) -> np.ndarray:
    result = np.zeros(shape, grad.dtype)
    if not shape:
        result[()] = grad.reshape(())
        return result
    d = dim % len(shape)
    within(indices, shape[d], d)
    if d == len(shape) - 1 and result.size:  # what put_along_axis does, with half of its work
        rows = result.reshape(-1, shape[d])
        rows[np.arange(len(rows))[:, None], indices.reshape(len(rows), -1)] = grad.reshape(len(rows), -1)
        return result
    if indices.size and result.size:
        if np.maximum.reduce(indices, None) >= shape[d]:
            raise IndexRangeError(f"index {indices.max()} is out of bounds for dimension {d} with size {shape[d]}")
        many = indices.size > _STARTS
        starts, inner = (_starts.__wrapped__ if many else _starts)(tuple(shape), d)
        places = starts + (indices if keepdim else np.expand_dims(indices, d)) * inner
        as_bits(result).reshape(-1)[places.reshape(-1)] = as_bits(grad.reshape(-1))
    return result


@op("at_indices(Tensor grad, Index indices, int[] shape, int dim, bool keepdim) -> Tensor", method=False, namespace="_internal", out=False)
class at_indices:
    """Zeros of `shape` with `grad` at the indices that a reduction along `dim` chose, all different."""

    def sharding(call):
        shape = tuple(call["shape"])
        if not shape:
            return call.whole()
        made = [None if d == call["dim"] % len(shape) else d for d in range(len(shape))]
        given = [d for d in made if d is not None or call["keepdim"]]
        return call.sized(call.propagate([given, given], [made], shapes=[shape]), "shape", shape)

    numpy = _at_indices
    def shape(grad, indices, shape, dim, keepdim): return tuple(shape)
    compose = on_host(_at_indices)
    def vjp(F, grad, indices, dim, keepdim): return F.from_indices(grad, indices, dim, keepdim)
    jvp = "linear"

    def batch(F, call):
        """What spreads a gradient over picked places."""
        rank = len(call.shape)
        if not rank:
            return F.reshape(call.whole("grad"), (call.size,))
        return call(grad=call.whole("grad"), indices=call.whole("indices"), shape=(call.size, *call.shape), **call.shifted(rank))

    def samples(rng): yield rng.standard_normal(3), np.array([1, 0, 1]), (2, 3), 0, False


def _from_indices(input: np.ndarray, indices: np.ndarray, dim: int, keepdim: bool) -> np.ndarray:
    if not input.ndim:
        return input.reshape(indices.shape)
    d = dim % input.ndim
    within(indices, input.shape[d], d)
    if keepdim:
        return np.take_along_axis(input, indices, d)
    return np.take_along_axis(input, np.expand_dims(indices, d), d).squeeze(d)


@op("from_indices(Tensor input, Index indices, int dim, bool keepdim) -> Tensor", method=False, namespace="_internal", out=False,
    quiet="all")
class from_indices:
    """The elements at the indices that a reduction along `dim` chose."""

    sharding = "gathers dim indices"
    numpy = _from_indices
    def shape(input, indices, dim, keepdim): return indices
    compose = on_host(_from_indices)
    def vjp(F, grad, indices, input_shape, dim, keepdim): return F.at_indices(grad, indices, tuple(input_shape), dim, keepdim)
    jvp = "linear"

    def batch(F, call):
        """What collects picked places."""
        if not call.ranks["input"]:
            return call.whole("input")
        return call(input=call.whole("input"), indices=call.whole("indices"), dim=batches.shifted(call.dim, call.ranks["input"]))

    def samples(rng):
        yield rng.standard_normal((2, 3)), np.array([1, 0, 1]), 0, False
        yield rng.standard_normal((2, 3)), np.array([[2, 0], [1, 0]]), 1, True


# -- values ---------------------------------------------------------------------------------------------------------------------


def need_elements(name: str, shape: Sequence[int], dim: Any, meta: bool = False) -> None:
    """Raises where a reduction without an identity meets an empty dimension; as torch's meta functions do with `meta`."""
    if 0 not in shape:
        return
    axes, called = normalize_dims(dim, len(shape)), name if meta else f"{name}()"
    if axes is None:
        error = IndexRangeError if name.startswith("arg") and not meta else AutogradError
        hint = "" if name.startswith("arg") else " Specify the reduction dim with the 'dim' argument."
        raise error(f"{called}: Expected reduction dim to be specified for input.numel() == 0.{hint}")
    for a in axes:
        if not shape[a]:
            raise IndexRangeError(f"{called}: Expected reduction dim {a} to have non-zero size.")


def _check_extreme(input: TensorRef, dim: int | tuple[int, ...] | None, keepdim: bool) -> None:
    if on_meta(input) and not input._data.size and (not dim and dim != 0 or not all(
            [input._data.shape[d] for d in normalize_dims(dim, input.ndim) or ()] if input.ndim else ())):
        raise AutogradError("reducing over zero-size dimension for reduction operation without identity")


_HALVES = 256  # elements from which half precision is compared as integers
_MANY_HALVES = 1 << 15  # and those of bfloat16
_HALF = np.uint32(16)


def _half_extremes(input: np.ndarray, dim: tuple[int, ...] | None, keepdim: bool, which: str) -> list[np.ndarray]:
    """The least ("<") and the largest (">") of half precision by the order of its bits, which NumPy compares as fast as it reads them: as
    integers without a sign those of negative numbers are the largest, and grow with the magnitude."""
    signed, plain = input.view(np.int16), input.view(np.uint16)
    if dim is None and not keepdim:  # numbers of Python's, which are compared at once
        signed, plain = signed.ravel("K"), plain.ravel("K")
        top, last = int(signed[signed.argmax()]), int(plain[plain.argmax()])  # which is quicker found than reduced to
        inf, none = _HALF_ENDS[input.dtype.char]
        ends = []
        for sign in which:
            if top > inf or last > inf + 0x8000:
                ends.append(none)
            elif sign == ">":
                ends.append(top if top >= 0 else int(plain[plain.argmin()]))
            else:
                ends.append(last if last >= 0x8000 else int(signed[signed.argmin()]))
        return [np.array(x, np.uint16).view(input.dtype) for x in ends]
    high, far = [shared.exactly(np.maximum, bits, dim, keepdim) for bits in (signed, plain)]
    infinite, nan = np.array([np.inf, np.nan], input.dtype).view(np.uint16)
    missing = (high > infinite.astype(np.int16)) | (far > infinite + _HALF_SIGN)
    found = []
    for sign in which:
        best, side, other = (high.view(np.uint16), plain, high < 0) if sign == ">" else (far, signed, far < _HALF_SIGN)
        if np.count_nonzero(other):  # all are negative, or none is
            best = np.where(other, shared.exactly(np.minimum, side, dim, keepdim).view(np.uint16), best)
        found.append(finish(np.where(missing, nan, best).view(input.dtype), input))
    return found


_HALF_SIGN = np.uint16(0x8000)
#: The bits of infinity, and of what is no number, of bfloat16 and float16.
_HALF_ENDS = {"E": (0x7F80, 0x7FC0), "e": (0x7C00, 0x7E00)}


def _extreme(ufunc: np.ufunc, name: str) -> Fn:
    smallest, sign = ufunc is np.minimum, "<" if ufunc is np.minimum else ">"

    def _along(input: np.ndarray, dim: int | None, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
        """Few numbers of half precision."""
        found = folds.extremes(input, dim, keepdim, smallest)
        if found is not None:
            return found
        wide = widened(input)
        if dim is None:
            at = wide.argmin() if smallest else wide.argmax()
            return np.array(input.flat[at]).reshape((1,) * input.ndim if keepdim else ()), np.asarray(at)
        index = position(wide, dim, None, keepdims=True)
        values = np.take_along_axis(input, index, dim)
        return (values if keepdim else values.reshape(shapes.reduced(input.shape, dim, False))), index

    position = np.ndarray.argmax if ufunc is np.maximum else np.ndarray.argmin

    def kernel(input: np.ndarray, dim: Dims = None, keepdim: bool = False) -> np.ndarray:
        if dim is None and not keepdim and (size := input.size) < LARGE:
            if size < SHORT and input.dtype.char in _SEARCHED and input.flags.c_contiguous and size:
                flat = input.ravel()
                return flat[position(flat)]  # NaN counts as an extreme to both, and this takes a quarter of the time
            if (ends := folds.whole_ends(input, sign)) is not None:
                return ends[0]
        return by_layout(input, dim, keepdim)

    def along(input: np.ndarray, dim: Dims, keepdim: bool) -> np.ndarray:
        if input.dtype.kind == "c":
            raise TypeError("complex numbers have no order")
        if (rows := folds.closely(input)) is not input:
            return kernel(rows, dim, keepdim)
        if input.size < LARGE and (ends := folds.ends(input, dim, keepdim, sign)) is not None:
            return ends[0]
        if dim is not None:
            dim = normalize_dims(dim, input.ndim)
        if not input.size:
            need_elements(name, input.shape, dim)
        if input.dtype.char in "eE" and 0 < input.size < (_HALVES if dim is None else _MANY_HALVES) and (dim is None or len(dim) == 1):
            return _along(input, None if dim is None else dim[0], keepdim)[0]
        if input.dtype.char == "E" and input.size < _HALVES:  # of which float32 makes the fewest calls
            wide = (input.view(np.uint16).astype(np.uint32) << _HALF).view(np.float32)
            return finish(shared.exactly(ufunc, wide, dim, keepdim).astype(input.dtype), input)
        if input.dtype.char in "eE" and input.size >= _HALVES:
            return _half_extremes(input, dim, keepdim, sign)[0]
        if input.size >= LARGE and input.dtype.kind == "f" and (dim is None or input.shape[dim[-1]] > 64 and (
                dim[-1] == input.ndim - 1 or input.shape[-1] >= _BESIDE)):
            return getattr(shared, "amax" if ufunc is np.maximum else "amin")(input, dim, keepdim)
        return finish(shared.exactly(ufunc, input, dim, keepdim), input)

    by_layout = folds.kept(along, lambda input, dim, keepdim: folds.way_to_end(input, dim, keepdim, sign), "fdleE?")
    return kernel


_amax, _amin = _extreme(np.maximum, "amax"), _extreme(np.minimum, "amin")
_max, _min = _extreme(np.maximum, "max"), _extreme(np.minimum, "min")


@op("amax(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor", quiet="all", dtypes="float int bool half",
    complex="max_values_cpu")
class amax:
    """The largest element, or along dimensions; equal ones share the gradient.

    >>> torch.amax(torch.tensor([[1., 4.], [3., 2.]]), 1)
    tensor([4., 3.])
    """

    lacks = {"uint float8": "max_values_cpu"}
    sharding = "reduces dim by maximum"
    out_dtype = INPUT_AND_OUT
    numpy = _amax
    mindspore = kernels.extreme("ReduceMax")
    compose = on_host(_amax)
    shape = shapes.reduced
    check = _check_extreme
    def vjp(F, grad, input, result, dim, keepdim): return _shared(F, grad, input, result, dim, keepdim)

    def samples(rng):
        yield ((1.0 * rng.permutation(6)).reshape(2, 3),)
        yield (1.0 * rng.permutation(12)).reshape(2, 3, 2), (0, -1), True

    def errors(rng):
        yield (np.ones((0, 3)), 0), IndexError, "amax(): Expected reduction dim 0 to have non-zero size."
        yield (np.ones(0),), RuntimeError, (
            "amax(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.")


@op("amin(Tensor input, int[]? dim=None, bool keepdim=False) -> Tensor", quiet="all", dtypes="float int bool half",
    complex="min_values_cpu")
class amin:
    """The smallest element, or along dimensions; equal ones share the gradient.

    >>> torch.amin(torch.tensor([[1., 4.], [3., 2.]]), 1)
    tensor([1., 2.])
    """

    lacks = {"uint float8": "min_values_cpu"}
    sharding = "reduces dim by minimum"
    out_dtype = INPUT_AND_OUT
    numpy = _amin
    mindspore = kernels.extreme("ReduceMin")
    compose = on_host(_amin)
    shape = shapes.reduced
    check = _check_extreme
    def vjp(F, grad, input, result, dim, keepdim): return _shared(F, grad, input, result, dim, keepdim)

    def samples(rng):
        yield ((1.0 * rng.permutation(6)).reshape(2, 3),)
        yield (1.0 * rng.permutation(12)).reshape(2, 3, 2), (0, -1), True


@op("max_all(Tensor input) -> Tensor", quiet="all", method=False, namespace="_internal", node="MaxBackward1", complex="max_all")
class max_all:
    """The largest element."""

    lacks = {"uint float8": "max_all"}
    sharding = "reduces by maximum"
    out_dtype = CAN_CAST
    numpy = _max
    def check(input): _check_ordered("max", input)
    mindspore = kernels.extreme("ReduceMax")
    compose = on_host(_max)
    def shape(input): return ()
    def vjp(F, grad, input, result): return F.expand(grad, tuple(input.shape)) * F.tie_weights(input, F.expand(result, input.shape), None)
    def batch(F, call): return F.amax(batches.flattened(F, call.input), (1,))
    aten = "max"
    def samples(rng): yield ((1.0 * rng.permutation(6)).reshape(2, 3),)


@op("min_all(Tensor input) -> Tensor", quiet="all", method=False, namespace="_internal", node="MinBackward1", complex="min_all")
class min_all:
    """The smallest element."""

    lacks = {"uint float8": "min_all"}
    sharding = "reduces by minimum"
    out_dtype = CAN_CAST
    numpy = _min
    def check(input): _check_ordered("min", input)
    mindspore = kernels.extreme("ReduceMin")
    compose = on_host(_min)
    def shape(input): return ()
    def vjp(F, grad, input, result): return F.expand(grad, tuple(input.shape)) * F.tie_weights(input, F.expand(result, input.shape), None)
    def batch(F, call): return F.amin(batches.flattened(F, call.input), (1,))
    aten = "min"
    def samples(rng): yield ((1.0 * rng.permutation(6)).reshape(2, 3),)


_SHORT, _STARTS = 8, 4096  # elements of a row that NumPy searches slowly, and results whose places in memory are kept by geometry


@lru_cache(256)
def _starts(shape: tuple[int, ...], dim: int) -> tuple[np.ndarray, int]:
    """Where what is searched along `dim` begins in memory, with that dimension kept, and how far its elements lie apart."""
    inner = prod(shape[dim + 1:])
    starts = np.arange(0, prod(shape), shape[dim] * inner)[:, None] + np.arange(inner)
    return starts.reshape(*shape[:dim], 1, *shape[dim + 1:]), inner


def _extreme_along(ufunc: np.ufunc, name: str) -> Fn:
    smallest = ufunc is np.minimum
    position = np.ndarray.argmin if smallest else np.ndarray.argmax

    def kernel(input: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
        if not input.ndim:
            wrap_dim(dim, 0)
            return input.copy(), np.zeros((), np.int64)
        dim = wrap_dim(dim, input.ndim)
        if not input.size:
            need_elements(name, input.shape, dim)
            shape = shapes.reduced(input.shape, dim, keepdim)
            return np.empty(shape, input.dtype), np.empty(shape, np.int64)
        half, input = input.dtype.char in "eE", folds.closely(input)
        # NumPy searches long rows in vectors, and copies columns to rows.
        if half or input.size < _SHORTER or input.size < LARGE and (input.shape[dim] <= _SHORT or input.strides[dim] > input.itemsize):
            given = input if input.dtype.char != "?" else input.astype(np.float32)
            if (found := folds.extremes(given, dim, keepdim, smallest)) is not None:
                return found if given is input else (found[0].astype(input.dtype), found[1])
        # NumPy compares float16 slowly, and ml_dtypes' comparison does not order NaN; that of float32 does both.
        indices = position(widened(input) if half else input, dim, None, keepdims=True)
        if input.flags.c_contiguous and indices.size <= _STARTS and indices.flags.c_contiguous:
            starts, inner = _starts(input.shape, dim)
            values = input.reshape(-1).take(starts + (indices if inner == 1 else indices * inner))
        else:
            values = np.take_along_axis(input, indices, dim)
        if not keepdim:
            values, indices = values.reshape(kept := shapes.reduced(input.shape, dim, False)), indices.reshape(kept)
        return (values, indices) if input.ndim == 1 else (finish(values, input), finish(indices, input))

    return kernel


_max_along, _min_along = _extreme_along(np.maximum, "max"), _extreme_along(np.minimum, "min")


@op("max_along(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Index indices)", quiet="all", method=False,
    namespace="_internal", node="MaxBackward0", complex="RuntimeError: max(): does not support complex input")
class max_along:
    """The largest elements along a dimension, and where they are."""

    lacks = {"uint float8": "max_cpu"}
    sharding = "along dim"
    out_dtype = EXPECTED
    overloads = EXTREME
    numpy = _max_along
    mindspore = kernels.extreme_along("ArgMaxWithValue")
    compose = on_host(_max_along)
    def shape(input, dim, keepdim): return (shapes.reduced(input, dim, keepdim),) * 2
    def vjp(F, grad, indices, input_shape, dim, keepdim): return F.at_indices(grad, indices, tuple(input_shape), dim, keepdim)
    aten = "max.dim"

    def samples(rng):
        yield (1.0 * rng.permutation(6)).reshape(2, 3), 1
        yield (1.0 * rng.permutation(6)).reshape(2, 3), 0, True


@op("min_along(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Index indices)", quiet="all", method=False,
    namespace="_internal", node="MinBackward0", complex="RuntimeError: min(): does not support complex input")
class min_along:
    """The smallest elements along a dimension, and where they are."""

    lacks = {"uint float8": "min_cpu"}
    sharding = "along dim"
    out_dtype = EXPECTED
    overloads = EXTREME
    numpy = _min_along
    mindspore = kernels.extreme_along("ArgMinWithValue")
    compose = on_host(_min_along)
    def shape(input, dim, keepdim): return (shapes.reduced(input, dim, keepdim),) * 2
    def vjp(F, grad, indices, input_shape, dim, keepdim): return F.at_indices(grad, indices, tuple(input_shape), dim, keepdim)
    aten = "min.dim"

    def samples(rng):
        yield (1.0 * rng.permutation(6)).reshape(2, 3), 1
        yield (1.0 * rng.permutation(6)).reshape(2, 3), 0, True


def along(F: Functions, name: str, result: sort | median | nanmedian, outs: object = None) -> Any:
    """(values, indices) of operation `name`; copied to `outs` where given."""
    return result if outs is None else F.write_out(RECORDS[name], outs, tuple(result))


def _dispatch(F: Functions, name: str, pair: str, input: TensorRef, dim: TensorRef, keepdim: bool, other: object, out: object) -> TensorRef:
    if not isinstance(input, TensorRef):
        raise no_match(name, EXTREME, (input, dim if other is None else other))
    if other is not None or isinstance(dim, TensorRef):
        return getattr(F, pair)(input, dim if other is None else other, out=out)
    if not isinstance(dim, int):
        raise no_match(name, EXTREME, (input, dim))
    return along(F, f"{name}_along", getattr(F, f"{name}_along")(input, dim, keepdim), out)


def _check_ordered(name: str, input: TensorRef) -> None:
    if input._k.dtype.is_complex:
        no_kernel(f"{name}_all", input)


@op("max(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Index indices)", dtypes="float int bool half")
class max_:
    """The largest element; along a dimension, (values, indices); with another tensor, the larger of each two elements.

    >>> torch.max(torch.tensor([1., 3., 2.]))
    tensor(3.)
    >>> torch.max(torch.tensor([[1., 3.], [4., 2.]]), 1).indices
    tensor([1, 0])
    """

    several_types = ("input", "dim")
    quick_if = "dim is None and other is None"
    def quick(input, dim, keepdim, other): return np.asarray(_max(input))
    def function(F, input, dim=None, keepdim=False, *, other=None, out=None):
        if dim is None and other is None:
            return F.max_all(input) if out is None else F.max_all(input, out=out)
        if dim.__class__ is int and out is None:
            return F.max_along(input, dim, keepdim)
        return _dispatch(F, "max", "maximum", input, dim, keepdim, other, out)

    def samples(rng):
        yield ((1.0 * rng.permutation(6)).reshape(2, 3),)
        yield (1.0 * rng.permutation(6)).reshape(2, 3), -1

    def errors(rng):
        yield (np.ones(0),), RuntimeError, (
            "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.")
        yield (np.ones((0, 3)), 0), IndexError, "max(): Expected reduction dim 0 to have non-zero size."
        yield (np.ones((2, 3)), 5), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 5)"


@op("min(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Index indices)", dtypes="float int bool half")
class min_:
    """The smallest element; along a dimension, (values, indices); with another tensor, the smaller of each two elements.

    >>> torch.min(torch.tensor([[1., 3.], [4., 2.]]), 1).values
    tensor([1., 2.])
    """

    several_types = ("input", "dim")
    quick_if = "dim is None and other is None"
    def quick(input, dim, keepdim, other): return np.asarray(_min(input))
    def function(F, input, dim=None, keepdim=False, *, other=None, out=None):
        if dim is None and other is None:
            return F.min_all(input) if out is None else F.min_all(input, out=out)
        if dim.__class__ is int and out is None:
            return F.min_along(input, dim, keepdim)
        return _dispatch(F, "min", "minimum", input, dim, keepdim, other, out)

    def samples(rng):
        yield ((1.0 * rng.permutation(6)).reshape(2, 3),)
        yield (1.0 * rng.permutation(6)).reshape(2, 3), -1


def _aminmax(input: np.ndarray, dim: int | None, keepdim: bool) -> tuple[np.ndarray, ...]:
    if dim is None and not keepdim and (size := input.size) < LARGE:
        few = size < SHORT and input.dtype.char in _SEARCHED and input.flags.c_contiguous  # the first of equal ones, as the search has it
        if (ends := folds.whole_ends(input, "<>", few)) is not None:
            return ends
        if few and size:
            flat = input.ravel()
            return np.array(flat[flat.argmin()]), np.array(flat[flat.argmax()])
    if not input.size:
        if dim is None:
            raise AutogradError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
        if not input.shape[wrap_dim(dim, input.ndim)]:
            raise IndexRangeError(f"aminmax: Expected reduction dim {dim} to have non-zero size.")
    if input.size < LARGE and (ends := folds.ends(input, dim, keepdim, "<>")) is not None:
        return ends
    if input.dtype.char in "eE" and input.size >= _HALVES:
        least, largest = _half_extremes(input, None if dim is None else normalize_dims(dim, input.ndim), keepdim, "<>")
        return least, largest
    return np.asarray(_amin(input, dim, keepdim)), np.asarray(_amax(input, dim, keepdim))


@op("aminmax(Tensor input, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", quiet="all", dtypes="float int bool",
    complex="aminmax_cpu")
class aminmax:
    """The smallest and the largest element, or along a dimension.

    >>> torch.aminmax(torch.tensor([3., 1., 2.])).max
    tensor(3.)
    """

    lacks = {"uint float8": "aminmax_cpu"}
    def sharding(call):
        return call.of(lambda F, input, dim, keepdim: (F.amin(input, dim, keepdim), F.amax(input, dim, keepdim)))

    out_dtype = EXPECTED
    numpy = _aminmax
    def shape(input, dim, keepdim): return (shapes.reduced(input, dim, keepdim),) * 2
    def compose(F, input, dim, keepdim): return F.amin(input, dim, keepdim), F.amax(input, dim, keepdim)

    def vjp(F, grad, input, min, max, dim, keepdim):
        parts = [_shared(F, g, input, r, dim, keepdim) for g, r in zip(grad, (min, max)) if g is not None]
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    def samples(rng): yield ((1.0 * rng.permutation(6)).reshape(2, 3),)


# -- positions --------------------------------------------------------------------------------------------------------------------


_SHORTER = 256  # elements up to which NumPy's search takes longer to begin


def _position(name: str) -> Fn:
    smallest = name == "argmin"
    method = getattr(np.ndarray, name)

    def kernel(input: np.ndarray, dim: int | None, keepdim: bool) -> np.ndarray:
        if dim is not None:
            dim = wrap_dim(dim, input.ndim) if input.ndim else wrap_dim(dim, 0) and None
        if not input.size:
            need_elements(name, input.shape, dim)
        if input.size < _SHORTER and input.dtype.char in "eE" and (found := folds.extremes(input, dim, keepdim, smallest)) is not None:
            return found[1]
        wide = input if input.dtype.char not in "eE" else widened(input)
        return finish(method(wide, dim, None, keepdims=keepdim), input)

    return folds.kept(kernel, lambda input, dim, keepdim: folds.way_to_place(input, dim, keepdim, smallest), "eE", _SHORTER - 1)


_argmax, _argmin = _position("argmax"), _position("argmin")


def _check_position(name: str) -> Fn:
    def check(input: TensorRef, **rest: Any) -> None:
        if not on_meta(input):
            if input.dtype.name == "bool":
                raise AutogradError(f"{name}(): does not support bool input", remedy="convert it with .int()")
        elif not input._data.size:  # torch's meta function is that of the other
            need_elements("argmax", input._data.shape, rest["dim"], True)

    return check


@op("argmax(Tensor input, int? dim=None, bool keepdim=False) -> Tensor", quiet="all", result="int64", dtypes="float int",
    complex="RuntimeError: argmax(): does not support complex input")
class argmax:
    """The position of the largest element, in the flattened tensor or along a dimension.

    >>> torch.argmax(torch.tensor([[1., 3.], [4., 2.]]), dim=1)
    tensor([1, 0])
    """

    lacks = {"uint float8": "argmax_cpu"}
    sharding = "along dim"
    out_dtype = EXPECTED
    numpy = _argmax
    mindspore = kernels.position("ArgMaxWithValue")
    compose = on_host(_argmax)
    shape = shapes.reduced
    check, refuses_bool = _check_position("argmax"), True
    def samples(rng): yield rng.standard_normal((2, 3)), 1

    def errors(rng):
        yield (np.ones(0),), IndexError, "argmax(): Expected reduction dim to be specified for input.numel() == 0."
        yield (np.ones((0, 3)), 0), IndexError, "argmax(): Expected reduction dim 0 to have non-zero size."


@op("argmin(Tensor input, int? dim=None, bool keepdim=False) -> Tensor", quiet="all", result="int64", dtypes="float int",
    complex="RuntimeError: argmin(): does not support complex input")
class argmin:
    """The position of the smallest element, in the flattened tensor or along a dimension.

    >>> torch.argmin(torch.tensor([[1., 3.], [4., 2.]]), dim=1)
    tensor([0, 1])
    """

    lacks = {"uint float8": "argmin_cpu"}
    sharding = "along dim"
    out_dtype = EXPECTED
    numpy = _argmin
    mindspore = kernels.position("ArgMinWithValue")
    compose = on_host(_argmin)
    shape = shapes.reduced
    check, refuses_bool = _check_position("argmin"), True
    def samples(rng): yield rng.standard_normal((2, 3)), 1
