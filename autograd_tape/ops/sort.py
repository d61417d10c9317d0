"""Order: sort, topk, medians, modes, quantiles, distinct elements, binning, and search in sorted sequences."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..dtypes import BOOL, FLOATING, INTEGER, SCALAR_TYPE_NAMES
from ..errors import AutogradError, type_name
from ..executors.kernels import reduce as shared
from ..modes import GradMode, grad_mode
from ..node import TapeEntry, edge_of
from ..tensor import TensorRef, next_id
from . import _batch as batches
from . import _selection
from . import _mindspore as kernels
from . import _shapes as shapes
from ._dims import wrap_dim
from ._host import need_values, on_host, values_of
from ._losses import constant
from ._out import EXPECTED, POSITIONS, QUANTILE, OutRule, without_out
from ._overloads import no_match
from ._record import Sample, dynamic_shape, op
from ._refusals import no_kernel, on_meta
from ._strided import empty_in_order
from .extremes import along, need_elements
from .reduce import finish


# -- sorting ------------------------------------------------------------------------------------------------------------


def _order(input: np.ndarray, d: int, descending: bool) -> np.ndarray:
    """The stable sorting permutation along `d`, NaN as the largest."""
    if input.dtype.char == "E":
        input = input.astype(np.float32)
    if not descending:
        return input.argsort(d, kind="stable")
    # Ascending order of the reversed sequence, read backwards, keeps equal elements in their order.
    n = input.shape[d]
    back = (slice(None),) * d + (slice(None, None, -1),)
    return n - 1 - input[back].argsort(d, kind="stable")[back]


def _ordered(input: np.ndarray, d: int, descending: bool) -> np.ndarray:
    """The elements in the order of `_order`. Sorting them beside the permutation is quicker than gathering by it."""
    if input.dtype.char == "E":
        return _ordered(input.astype(np.float32), d, descending).astype(input.dtype)
    result = input.copy()
    result.sort(d, kind="stable")
    return result[(slice(None),) * d + (slice(None, None, -1),)] if descending else result


def _like(result: np.ndarray, input: np.ndarray) -> np.ndarray:
    """`result` in the layout of `input` where that is dense."""
    if input.flags.c_contiguous or result.flags.c_contiguous and input.ndim < 2:
        return np.ascontiguousarray(result)

    out = empty_in_order(input, result.dtype)
    np.copyto(out, result)
    return out


def _sort(input: np.ndarray, dim: int, descending: bool, stable: bool) -> Any:
    if not input.ndim:
        wrap_dim(dim, 0)
        return input.copy(), np.zeros((), np.int64)
    d = wrap_dim(dim, input.ndim)
    return _like(_ordered(input, d, descending), input), _like(_order(input, d, descending), input)


@op("sort_along(Tensor input, int dim=-1, bool descending=False, bool stable=False) -> (Tensor values, Index indices)", quiet="all",
    method=False, namespace="_internal", node="SortBackward0", dtypes="float int bool half",
    complex="RuntimeError:  Sort does not support complex dtypes on CPU")
class sort_along:
    """The elements in order along a dimension, and where they were."""

    meta_layout = "input"
    nodes = {"stable": "SortBackward1"}
    numpy = _sort
    mindspore = kernels.sort
    compose = on_host(_sort)
    def shape(input, dim, descending, stable): return input, input
    def vjp(F, grad, indices, input_shape, dim): return F.at_indices(grad, indices, tuple(input_shape), dim, True)
    def aten(stable, **_):
        return "sort.stable(input, stable=True, dim=None if dim == -1 else dim, descending=descending or None)" if stable else "sort"
    known_as = "sort"

    def check(input, **rest):
        if input.dtype.is_complex and not on_meta(input):
            raise AutogradError(" Sort does not support complex dtypes on CPU")

    def samples(rng):
        yield ((1.0 * rng.permutation(6)).reshape(2, 3),)
        yield (1.0 * rng.permutation(6)).reshape(2, 3), 0, True


@op("sort(Tensor input, int dim=-1, bool descending=False, bool stable=False) -> (Tensor values, Index indices)",
    dtypes="float int bool half")
class sort:
    """The elements in order along a dimension, and where they were; equal ones keep their order.

    >>> torch.sort(torch.tensor([3., 1., 2.])).indices
    tensor([1, 2, 0])
    """

    out_dtype = EXPECTED
    def function(F, input, dim=-1, descending=False, stable=False, *, out=None):
        return along(F, "sort", F.sort_along(input, dim, descending, bool(stable)), out)

    def samples(rng):
        yield ((1.0 * rng.permutation(6)).reshape(2, 3),)
        yield (1.0 * rng.permutation(6)).reshape(2, 3).T, 0, True


@op("argsort(Tensor input, int dim=-1, bool descending=False, bool stable=False) -> Tensor", out=False, dtypes="float int")
class argsort:
    """The indices that sort along a dimension.

    >>> torch.argsort(torch.tensor([3., 1., 2.]))
    tensor([1, 2, 0])
    """

    def function(F, input, dim=-1, descending=False, stable=False): return F.sort_along(input, dim, descending, stable)[1]
    def samples(rng): yield rng.permutation(np.arange(6.0)).reshape(2, 3), 0, True


@op("msort(Tensor input) -> Tensor")
class msort:
    """The elements in order along dimension 0.

    >>> torch.msort(torch.tensor([3., 1., 2.]))
    tensor([1., 2., 3.])
    """

    out_dtype = EXPECTED
    def function(F, input):
        values = F.sort_along(input, 0)[0]
        return values

    def samples(rng): yield (rng.permutation(np.arange(6.0)).reshape(2, 3),)


UNSTABLE = 1 << 13
"""The number of integers up to which equal ones are told apart as torch does, step by step; of more the first ones are taken."""


def _tied(input: np.ndarray, d: int) -> bool:
    """Whether some row along dimension `d` has equal elements."""
    rows = np.sort(np.moveaxis(input, d, -1), -1)
    return bool((rows[..., 1:] == rows[..., :-1]).any())


def _each_row(input: np.ndarray, d: int, count: int, select: Callable[[list[int]], list[int]]) -> np.ndarray:
    """The `count` positions that `select` finds in each row along dimension `d`."""
    rows = np.moveaxis(input, d, -1)
    found = np.array([select(row) for row in rows.reshape(prod(rows.shape[:-1]), rows.shape[-1]).tolist()], np.int64)
    return np.moveaxis(found.reshape(*rows.shape[:-1], count), -1, d)


def _topk(input: np.ndarray, k: int, dim: int, largest: bool, sorted: bool) -> Any:
    d = wrap_dim(dim, input.ndim)
    if not 0 <= k <= (input.shape[d] if input.ndim else 1):
        raise AutogradError("selected index k out of range")
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    if shared.fits_topk(input, k):
        return shared.topk(input, k, d, largest)
    if input.dtype.kind in "iu" and input.size <= UNSTABLE and (not sorted or _tied(input, d)):
        indices = _each_row(input, d, k, lambda row: _selection.top(row, k, largest, sorted))
        return np.ascontiguousarray(np.take_along_axis(input, indices, d)), np.ascontiguousarray(indices)
    head = (slice(None),) * d + (slice(0, k),)
    n = input.shape[d]
    if k and n > 256 and k < n // 8 and input.dtype.kind == "f":
        # Selection is linear in n where sorting is not; NaN is the largest.
        key = -input if largest else input
        chosen = np.argpartition(np.where(np.isnan(key), -np.inf, key) if largest else key, k - 1, d)[head]
        within = _order(np.take_along_axis(input, chosen, d), d, largest)
        indices = np.take_along_axis(chosen, within, d)
        return np.ascontiguousarray(np.take_along_axis(input, indices, d)), np.ascontiguousarray(indices)
    return np.ascontiguousarray(_ordered(input, d, largest)[head]), np.ascontiguousarray(_order(input, d, largest)[head])


@op("topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Index indices)", quiet="all",
    dtypes="float int half", complex="RuntimeError:  topk does not support complex dtypes on CPU")
class topk:
    """The `k` largest or smallest elements along a dimension, and where they are.

    >>> torch.topk(torch.tensor([1., 4., 3.]), 2)
    torch.return_types.topk(
    values=tensor([4., 3.]),
    indices=tensor([1, 2]))
    """

    out_dtype = EXPECTED
    numpy = _topk
    shape = shapes.topk
    compose = on_host(_topk)
    def vjp(F, grad, indices, input_shape, dim): return F.at_indices(grad, indices, tuple(input_shape), dim, True)

    refuses_bool = True

    def check(input, **rest):
        if input.dtype.category == BOOL and not on_meta(input):
            raise AutogradError("topk does not support bool dtypes on CPU")

    def samples(rng):
        yield (1.0 * rng.permutation(6)).reshape(2, 3), 2
        yield (1.0 * rng.permutation(6)).reshape(2, 3), 1, 0, False

    def errors(rng): yield (np.ones(3), 9), RuntimeError, "selected index k out of range"


def _kthvalue(input: np.ndarray, k: int, dim: int, keepdim: bool) -> Any:
    d = wrap_dim(dim, input.ndim)
    need_elements("kthvalue", input.shape, d)
    if not 1 <= k <= (input.shape[d] if input.ndim else 1):
        raise AutogradError(f"kthvalue(): selected number k out of range for dimension {d}")
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    if input.dtype.kind in "iu" and input.size <= UNSTABLE and _tied(input, d):
        return _picked(input, _each_row(input, d, 1, lambda row: [_selection.kth(row, k - 1)]), d, keepdim)
    return _picked(input, _order(input, d, False).take([k - 1], d), d, keepdim)


def _picked(input: np.ndarray, indices: np.ndarray, d: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    values = np.take_along_axis(input, indices, d)
    if keepdim:
        return tuple([finish(a.squeeze(d), input).reshape(a.shape) for a in (values, indices)])
    return (finish(values.squeeze(d), input), finish(indices.squeeze(d), input))


@op("kthvalue(Tensor input, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Index indices)", quiet="all", dtypes="float int",
    complex="kthvalue_cpu")
class kthvalue:
    """The `k`-th smallest element along a dimension, and where it is.

    >>> torch.kthvalue(torch.tensor([3., 1., 2.]), 2).values
    tensor(2.)
    """

    out_dtype = OutRule("output values must be of same type as input"), OutRule("output indices must be of scalar type {wanted}")
    numpy = _kthvalue
    compose = on_host(_kthvalue)
    def vjp(F, grad, indices, input_shape, dim, keepdim): return F.at_indices(grad, indices, tuple(input_shape), dim, keepdim)

    refuses_bool = True

    def check(input, **rest):
        if input.dtype.category == BOOL:
            no_kernel("kthvalue_cpu", input)

    def samples(rng):
        yield (1.0 * rng.permutation(6)).reshape(2, 3), 2
        yield (1.0 * rng.permutation(6)).reshape(2, 3), 1, 0, True

    def errors(rng): yield (np.ones(3), 9), RuntimeError, "kthvalue(): selected number k out of range for dimension 0"


# -- middle and most frequent -----------------------------------------------------------------------------------------------


def _median_along(name: str, skip_nan: bool) -> Any:
    def kernel(input: np.ndarray, dim: int, keepdim: bool) -> Any:
        if not input.ndim:
            wrap_dim(dim, 0)
            return input.copy(), np.zeros((), np.int64)
        d = wrap_dim(dim, input.ndim)
        need_elements(name, input.shape, d)
        order, n = _order(input, d, False), input.shape[d]
        if input.dtype.kind in "iu":
            at = np.full((), (n - 1) // 2)
        else:
            missing = np.add.reduce(input != input, d, None, None, True)
            # NaN sort last: among the numbers the middle is that of a shorter sequence; else the first NaN is the median.
            at = np.maximum(n - missing - 1, 0) // 2 if skip_nan else np.where(missing > 0, n - missing, (n - 1) // 2)
        indices = np.take_along_axis(order, np.broadcast_to(at, [1 if i == d else m for i, m in enumerate(input.shape)]), d)
        return _picked(input, indices, d, keepdim)

    return kernel


_median_dim, _nanmedian_dim = _median_along("median", False), _median_along("nanmedian", True)


def _nothing(dtype: np.dtype) -> np.ndarray:
    """The median of no elements: NaN, or for integers what a processor makes of it."""
    return np.array(np.nan if dtype.kind in "fcV" else np.iinfo(dtype).min if dtype.kind in "iu" else True, dtype)


def _median_all(input: np.ndarray) -> Any:
    return _median_dim(input.reshape(-1), 0, False)[0] if input.size else _nothing(input.dtype)


def _nanmedian_all(input: np.ndarray) -> Any:
    return _nanmedian_dim(input.reshape(-1), 0, False)[0] if input.size else _nothing(input.dtype)


def _evenly(F: Any, grad: Any, input: Any, result: Any) -> Any:
    shape = tuple(input.shape)
    return F.expand(grad, shape) * F.tie_weights(input, F.expand(result, shape), None)


def _no_bool(name: str) -> Any:
    def check(input: Any, **rest: Any) -> None:
        if input.dtype.category == BOOL or input.dtype.is_complex:
            no_kernel(name, input)

    return check


@op("median_all(Tensor input) -> Tensor", quiet="all", method=False, namespace="_internal", node="MedianBackward0", dtypes="float int",
    complex="median_cpu")
class median_all:
    """The lower median of all elements."""

    numpy = _median_all
    compose = on_host(_median_all)
    check, refuses_bool = _no_bool("median_cpu"), True
    def vjp(F, grad, input, result): return _evenly(F, grad, input, result)
    def batch(F, call): return F.median_along(batches.flattened(F, call.input), 1, False)[0]
    aten = "median"
    def samples(rng): yield ((1.0 * rng.permutation(6)).reshape(2, 3),)


@op("nanmedian_all(Tensor input) -> Tensor", quiet="all", method=False, namespace="_internal", node="NanmedianBackward0",
    dtypes="float int", complex="median_cpu")
class nanmedian_all:
    """The lower median of all elements that are not NaN."""

    numpy = _nanmedian_all
    compose = on_host(_nanmedian_all)
    check, refuses_bool = _no_bool("median_cpu"), True
    def vjp(F, grad, input, result): return _evenly(F, grad, input, result)
    def batch(F, call): return F.nanmedian_along(batches.flattened(F, call.input), 1, False)[0]
    aten = "nanmedian"
    def samples(rng): yield ((1.0 * rng.permutation(6)).reshape(2, 3),)


@op("median_along(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Index indices)", quiet="all", method=False,
    namespace="_internal", node="MedianBackward1", dtypes="float int", complex="median_out")
class median_along:
    """The lower median along a dimension, and where it is."""

    numpy = _median_dim
    compose = on_host(_median_dim)
    check, refuses_bool = _no_bool("median_out"), True
    def vjp(F, grad, indices, input_shape, dim, keepdim): return F.at_indices(grad, indices, tuple(input_shape), dim, keepdim)
    aten = "median.dim"
    def samples(rng): yield (1.0 * rng.permutation(6)).reshape(2, 3), 1


@op("nanmedian_along(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Index indices)", quiet="all", method=False,
    namespace="_internal", node="NanmedianBackward1", dtypes="float int", complex="median_out")
class nanmedian_along:
    """The lower median along a dimension of the elements that are not NaN, and where it is."""

    numpy = _nanmedian_dim
    compose = on_host(_nanmedian_dim)
    check, refuses_bool = _no_bool("median_out"), True
    def vjp(F, grad, indices, input_shape, dim, keepdim): return F.at_indices(grad, indices, tuple(input_shape), dim, keepdim)
    aten = "nanmedian.dim"
    def samples(rng): yield (1.0 * rng.permutation(6)).reshape(2, 3), 0, True


_MEDIAN = (OutRule("Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type {found} does not equal "
                   "{wanted} (while checking arguments for median)"),
           OutRule("Expected tensor for argument #1 'indices' to have scalar type {wanted}; but got {found} instead (while checking "
                   "arguments for median)"))


@op("median(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Index indices)", dtypes="float int")
class median:
    """The median, the lower one of two; along a dimension, (values, indices).

    >>> torch.median(torch.tensor([3., 1., 2., 4.]))
    tensor(2.)
    """

    out_dtype = _MEDIAN
    def function(F, input, dim=None, keepdim=False, *, out=None):
        if dim is None and out is not None:
            raise without_out("median")
        return F.median_all(input) if dim is None else along(F, "median", F.median_along(input, dim, keepdim), out)

    def samples(rng):
        yield (rng.permutation(np.arange(6.0)).reshape(2, 3),)
        yield rng.permutation(np.arange(6.0)).reshape(2, 3), 1, True


@op("nanmedian(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Index indices)", dtypes="float int")
class nanmedian:
    """The median of the elements that are not NaN; along a dimension, (values, indices).

    >>> torch.nanmedian(torch.tensor([1., float('nan'), 2.]))
    tensor(1.)
    """

    out_dtype = _MEDIAN
    def function(F, input, dim=None, keepdim=False, *, out=None):
        if dim is None and out is not None:
            raise without_out("nanmedian")
        return F.nanmedian_all(input) if dim is None else along(F, "nanmedian", F.nanmedian_along(input, dim, keepdim), out)

    def samples(rng):
        yield (rng.permutation(np.arange(6.0)).reshape(2, 3),)
        yield rng.permutation(np.arange(6.0)).reshape(2, 3), 1, True


def _mode(input: np.ndarray, dim: int, keepdim: bool) -> Any:
    if not input.ndim:
        wrap_dim(dim, 0)
        return input.copy(), np.zeros((), np.int64)
    d = wrap_dim(dim, input.ndim)
    need_elements("mode", input.shape, d)
    order = np.moveaxis(_order(input, d, False), d, -1)
    ordered = np.take_along_axis(np.moveaxis(input, d, -1), order, -1)
    n = ordered.shape[-1]
    starts = np.concatenate([np.ones_like(ordered[..., :1], bool), ordered[..., 1:] != ordered[..., :-1]], -1)
    at = np.arange(n)
    start = np.maximum.accumulate(np.where(starts, at, 0), -1)
    length = at - start + 1
    last = length.argmax(-1)[..., None]  # the first longest run is that of the smallest value; torch gives its last index
    indices = np.moveaxis(np.take_along_axis(order, last, -1), -1, d)
    return _picked(input, indices, d, keepdim)


@op("mode(Tensor input, int dim=-1, bool keepdim=False) -> (Tensor values, Index indices)", quiet="all", dtypes="float int",
    complex="mode_cpu")
class mode:
    """The most frequent element along a dimension, the smallest of several, and its last index.

    >>> torch.mode(torch.tensor([2., 1., 2., 3.])).values
    tensor(2.)
    """

    out_dtype = tuple([OutRule(f"expected scalar type '{{wanted}}' but got '{{found}}' for {part} output")
                       for part in ("values", "indices")])
    numpy = _mode
    compose = on_host(_mode)
    def vjp(F, grad, indices, input_shape, dim, keepdim): return F.at_indices(grad, indices, tuple(input_shape), dim, keepdim)

    def samples(rng):
        yield ((1.0 * rng.permutation(6)).reshape(2, 3),)
        yield rng.integers(0, 3, (4, 5)), 0


# -- quantiles ----------------------------------------------------------------------------------------------------------------


def _quantile(F: Any, name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, skip_nan: bool) -> Any:
    if input._k.dtype.name not in ("float32", "float64"):
        raise AutogradError(f"{name}() input tensor must be either float or double dtype")
    scalar = not isinstance(q, TensorRef)
    if scalar and not 0 <= q <= 1:
        raise AutogradError(f"{name}() q must be in the range [0, 1] but got {q}")
    values = np.asarray(q, input._k.np) if scalar else values_of(q)
    if values.ndim > 1:
        raise AutogradError(f"{name}() q must be a scalar or 1D tensor")
    if not scalar and q._k.dtype is not input._k.dtype:
        raise AutogradError(f"{name}() q tensor must be same dtype as the input tensor")
    if not ((values >= 0) & (values <= 1)).all():
        raise AutogradError(f"{name}() q values must be in the range [0, 1]")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise AutogradError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}")
    if not input._data.size:
        raise AutogradError(f"{name}() input tensor must be non-empty")
    rank = input.ndim
    if dim is None:
        d, flat = 0, F.reshape(input, (-1,))
    else:
        d = wrap_dim(dim, rank)
        flat = F.movedim(input, d, -1) if rank else F.reshape(input, (1,))
    ordered = F.sort_along(flat, -1)[0]
    data = ordered._data
    missing = np.add.reduce(data != data, -1, None, None, True)
    counts = np.broadcast_to(data.shape[-1] - missing, (*data.shape[:-1], values.size))
    at = values.reshape(-1) * np.maximum(counts - 1, 0).astype(values.dtype)
    if not skip_nan:
        at = np.where(missing > 0, data.shape[-1] - 1, at)  # the last of a row with NaN is NaN
    if interpolation in ("lower", "higher", "nearest"):
        rounding: dict[str, Any] = {"lower": np.floor, "higher": np.ceil, "nearest": np.round}
        at = rounding[interpolation](at)
    low = np.floor(at).astype(np.int64)
    result = F.gather(ordered, -1, constant(F, input, low))
    if interpolation in ("linear", "midpoint"):
        high = F.gather(ordered, -1, constant(F, input, np.ceil(at).astype(np.int64)))
        if interpolation == "linear" and not scalar:  # q may have a gradient, or a tangent
            last = constant(F, input, np.maximum(counts - 1, 0).astype(values.dtype))
            weight = F.reshape(q, (-1,)) * last - constant(F, input, low.astype(values.dtype))
        else:
            weight = constant(F, input, np.asarray(np.full_like(at, 0.5) if interpolation == "midpoint" else at - low, input._k.np))
        result = F.lerp(result, high, weight)
    # The quantiles come first, what was reduced stays as 1 where asked.
    result = F.movedim(result, -1, 0)
    if keepdim and rank:
        result = F.reshape(result, (values.size,) + (1,) * rank) if dim is None else F.unsqueeze(result, d + 1)
    elif dim is not None and not rank:
        result = F.reshape(result, (values.size,))
    if not values.ndim:
        result = F.squeeze(result, 0)
    return result


def _batched_quantiles(F: Any, call: Any) -> Any:
    """Along one dimension further. Where each example has quantiles of its own, all are computed for all, and its own picked."""
    x, rank, dim, q = call.whole("input"), call.ranks["input"], call.dim, call.q
    keepdim, several = call.keepdim, call.ranks.get("q", 0)
    if dim is None or not rank:
        if dim is not None:
            batches.shifted(dim, 0)
        x, at, keep = F.reshape(x, (call.size, prod(x.shape[1:]))), 1, False
    else:
        at, keep = batches.shifted(dim, rank), keepdim
    if call.is_batched["q"]:
        q = F.reshape(q, (-1,))
    result = call(input=x, q=q, dim=at, keepdim=keep)
    if call.is_batched["q"]:
        shape = tuple(result.shape)[2:]
        result = F.reshape(result, (call.size, -1, *((call.size,) + shape)))
        result = F.movedim(F.diagonal(result, 0, 0, 2), -1, 0)
        result = result if several else F.squeeze(result, 1)
    elif several:
        result = F.movedim(result, 0, 1)
    if keepdim and rank and dim is None:
        result = F.reshape(result, (*result.shape, *(1,) * rank))
    return result


@op("quantile(Tensor input, Any q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor")
class quantile:
    """The q-th quantiles of all elements, or along a dimension.

    >>> torch.quantile(torch.tensor([1., 2., 4.]), 0.75)
    tensor(3.)
    """

    out_dtype = QUANTILE
    amp = "float32"
    def function(F, input, q, dim=None, keepdim=False, *, interpolation="linear"):
        return _quantile(F, "quantile", input, q, dim, keepdim, interpolation, False)
    batch = _batched_quantiles

    def samples(rng):
        yield (1.0 * rng.permutation(6)).reshape(2, 3), 0.3
        yield (1.0 * rng.permutation(6)).reshape(2, 3), 0.6, 1, True

    def errors(rng):
        yield (np.ones(3), 1.5), RuntimeError, "quantile() q must be in the range [0, 1] but got 1.5"
        yield (np.ones(3, np.int64), 0.5), RuntimeError, "quantile() input tensor must be either float or double dtype"


@op("nanquantile(Tensor input, Any q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor",
    complex="RuntimeError: quantile() input tensor must be either float or double dtype")
class nanquantile:
    """The q-th quantiles of the elements that are not NaN.

    >>> torch.nanquantile(torch.tensor([1., float('nan'), 2.]), 0.5)
    tensor(1.5000)
    """

    amp = "float32"
    complex_on_meta = True
    out_dtype = QUANTILE
    def function(F, input, q, dim=None, keepdim=False, *, interpolation="linear"):
        return _quantile(F, "nanquantile", input, q, dim, keepdim, interpolation, True)
    batch = _batched_quantiles

    def samples(rng): yield rng.permutation(np.arange(6.0)).reshape(2, 3), 0.3, 1


# -- distinct elements ------------------------------------------------------------------------------------------------------------


class _NoDerivative(TapeEntry):
    """The history of values that are not differentiated: it refuses."""

    __slots__ = ()
    frees = False
    what = ""

    def raw(self, grad: Any, F: Any) -> Any:
        """Raises."""
        raise NotImplementedError(f"the derivative for '{self.what}' is not implemented.")

    recorded = raw


class _Unique2(_NoDerivative):
    __slots__ = ()
    what = "_unique2"


class _UniqueDim(_NoDerivative):
    __slots__ = ()
    what = "unique_dim"


class _UniqueConsecutive(_NoDerivative):
    __slots__ = ()
    what = "unique_consecutive"


for _node, _name in ((_Unique2, "Unique2"), (_UniqueDim, "UniqueDim"), (_UniqueConsecutive, "UniqueConsecutive")):
    _node.__name__ = f"{_name}Backward0"


def _results(F: Any, parts: tuple[np.ndarray, ...], wanted: tuple[bool, ...], input: Any, node: type[_NoDerivative]) -> Any:
    found = tuple([F.wrap(p, input._k if i == 0 else None) for i, (p, w) in enumerate(zip(parts, wanted)) if w])
    if input._node is not None and grad_mode() is GradMode.ENABLED:
        entry = node()
        entry.id, entry.edges, entry.saved, entry.meta = next_id(), (edge_of(input),), (), None
        found[0]._node = entry
    return found if len(found) > 1 else found[0]


def _check_zero_sizes(data: np.ndarray, d: int) -> None:
    """torch's refusals of slices without elements, which it cannot tell apart."""
    if data.shape.count(0) > 1:
        raise AutogradError("Number of zero sized dimensions is more than one, so unique cannot be applied ")
    if not data.size and data.shape[d]:
        raise AutogradError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")


@op("unique(Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor", out=False,
    dtypes="float int bool")
class unique:
    """The distinct elements, in order; where asked also where each element went, and how often each occurs.

    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """

    def no_forward(dim, **_): return "_unique2" if dim is None else "unique_dim"
    def no_vmap(dim, **_): return dynamic_shape("_unique2" if dim is None else "unique_dim")

    def function(F, input, sorted=True, return_inverse=False, return_counts=False, dim=None):
        data = need_values(input)
        if dim is None:
            # Each NaN is distinct, as NaN equals nothing.
            values, inverse, counts = np.unique(data, return_inverse=True, return_counts=True, equal_nan=False)
            return _results(F, (values, inverse.reshape(data.shape), counts), (True, return_inverse, return_counts), input, _Unique2)
        d = wrap_dim(dim, data.ndim)
        if not data.ndim:
            return _results(F, (data.copy(), np.zeros((), np.int64), np.ones((), np.int64)), (True, return_inverse, return_counts),
                            input, _UniqueDim)
        _check_zero_sizes(data, d)
        # torch moves the dimension to the front, and what it returns is a view that moves it back.
        values, inverse, counts = np.unique(np.moveaxis(data, d, 0), return_inverse=True, return_counts=True, axis=0)
        values = np.moveaxis(np.ascontiguousarray(values), 0, d)
        return _results(F, (values, inverse.reshape(-1), counts), (True, return_inverse, return_counts), input, _UniqueDim)

    def samples(rng):
        yield rng.integers(0, 3, (2, 4)), True, True, True
        yield Sample((rng.integers(0, 3, (2, 4)) / 2, True), no_gradient="torch differentiates no sets")
        yield rng.integers(0, 2, (4, 2)), True, True, True, 0

    def errors(rng):
        yield (np.ones((2, 3)), True, False, False, 9), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 9)"


@op("unique_consecutive(Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor", out=False,
    dtypes="float int bool")
class unique_consecutive:
    """The elements without repetitions of the one before; where asked also where each went, and how often it was repeated.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """

    no_forward = "unique_consecutive"
    no_vmap = dynamic_shape("unique_consecutive")

    def function(F, input, return_inverse=False, return_counts=False, dim=None):
        data = need_values(input)
        if dim is not None and data.ndim:
            _check_zero_sizes(data, wrap_dim(dim, data.ndim))
        rows = data.reshape(-1, 1) if dim is None else np.moveaxis(data, wrap_dim(dim, data.ndim), 0) if data.ndim else data.reshape(1)
        n = rows.shape[0]
        changes = np.ones(n, bool)
        if n > 1:
            changes[1:] = (rows[1:] != rows[:-1]).reshape(n - 1, -1).any(1)
        at = np.flatnonzero(changes)
        inverse = np.cumsum(changes) - 1
        values = rows[at].reshape(-1) if dim is None else np.moveaxis(np.ascontiguousarray(rows[at]), 0, wrap_dim(dim, data.ndim))
        if dim is None:
            inverse = inverse.reshape(data.shape)
        return _results(F, (values, inverse, np.diff(np.append(at, n))), (True, return_inverse, return_counts), input, _UniqueConsecutive)

    def samples(rng):
        yield rng.integers(0, 2, (2, 4)), True, True
        yield Sample((rng.integers(0, 2, (2, 4)) / 2, True), no_gradient="torch differentiates no sets")
        yield rng.integers(0, 2, (4, 1)), True, True, 0


# -- counting in bins -------------------------------------------------------------------------------------------------------------


@op("bincount(Tensor input, Tensor? weights=None, int minlength=0) -> Tensor", out=False, dtypes="int")
class bincount:
    """How often each number from 0 on occurs, or the sum of its weights.

    >>> torch.bincount(torch.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """

    no_forward = "aten::bincount"

    def function(F, input, weights=None, minlength=0):
        if input._k.dtype.category not in (INTEGER, BOOL):
            no_kernel("bincount_cpu", input)
        data = need_values(input)
        if data.ndim != 1 or data.size and data.min() < 0:
            raise AutogradError("bincount only supports 1-d non-negative integral inputs.")
        if minlength < 0:
            raise AutogradError("minlength should be >= 0")
        if not data.size:
            return constant(F, input, np.zeros(minlength, np.int64))
        if weights is not None and weights.shape != input.shape:
            raise AutogradError("weights should be 1-d and have the same length as input")
        result = np.bincount(data.astype(np.int64, copy=False), None if weights is None else values_of(weights).real, minlength)
        single = weights is not None and weights._k.dtype.name == "float32"
        return constant(F, input, result.astype(np.float32) if single else result)

    def samples(rng):
        yield (rng.integers(0, 4, 6),)
        yield Sample((rng.integers(0, 4, 6), rng.random(6), 7), no_gradient="torch differentiates no weights")

    def errors(rng):
        yield (np.array([-1]),), RuntimeError, "bincount only supports 1-d non-negative integral inputs."


@op("histc(Tensor input, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", dtypes="float")
class histc:
    """How many elements fall into each of `bins` bins of equal width from `min` to `max`, or over all elements where these are equal.

    >>> torch.histc(torch.tensor([1., 2., 1.]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """

    out_dtype = OutRule("torch.histogram: input tensor and hist tensor should have the same dtype, but got input {wanted_c} and hist "
                        "{found_c}")
    def function(F, input, bins=100, min=0, max=0):
        if input._k.dtype.category != FLOATING:
            no_kernel("histogram_cpu", input)
        if bins <= 0:
            raise AutogradError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
        data = values_of(input)
        low, high = float(min), float(max)
        if low == high and data.size:
            low, high = float(data.min()), float(data.max())
        if low == high:
            low, high = low - 1, high + 1
        if not (np.isfinite(low) and np.isfinite(high)):
            raise AutogradError(f"torch.histc: range of [{low}, {high}] is not finite")
        if low > high:
            raise AutogradError("torch.histc: max must be larger than min")
        values = data[(data >= low) & (data <= high)]
        # More than float32 holds, or integers, which are taken on the meta device.
        if values.dtype.kind in "iu" or not (high - low) * bins < float(np.finfo(np.float32).max):
            values = values.astype(np.float64)
        exact = values.dtype.type
        with np.errstate(all="ignore"):
            place = (values - exact(low)) * exact(bins) / exact(high - low)
        # NaN: numbers so large that adding 1 is nothing.
        at = np.where(np.isnan(place), place.dtype.type(bins // 2), place).astype(np.int64)
        counts = np.bincount(np.minimum(at, bins - 1), minlength=bins).astype(data.dtype)
        result = F.wrap(counts, input._k)
        return result

    def samples(rng):
        yield rng.standard_normal(20), 5
        yield rng.standard_normal(20), 4, -1, 1

    def errors(rng):
        yield (np.ones(3), 0), RuntimeError, "torch.histogram(): bins must be > 0, but got 0 for dimension 0"
        yield (np.ones(3), 5, 3, 1), RuntimeError, "torch.histc: max must be larger than min"


# -- search -------------------------------------------------------------------------------------------------------------------------


def bisect(sequence: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray:
    """Where `values` would go into `sequence`, or those of each row into its row: before equal elements, or behind where `right`.

    Where `sequence` is not sorted, or has NaN, halving finds the place that it finds in torch; NumPy's search would find another.

    >>> bisect(np.array([1.0, np.nan, np.nan]), np.array([1.0, 5.0]), False)
    array([3, 3])
    """
    n = sequence.shape[-1]
    if sequence.ndim == 1 and (sequence[1:] >= sequence[:-1]).all() and not (n == 1 and sequence[0] != sequence[0]):
        return np.searchsorted(sequence, values, "right" if right else "left")
    low, high = np.zeros(values.shape, np.int64), np.full(values.shape, n)
    for _ in range(n.bit_length()):
        middle = low + high >> 1
        at = np.minimum(middle, n - 1)
        element = sequence[at] if sequence.ndim == 1 else np.take_along_axis(sequence, at, -1)
        behind = element > values if right else element >= values
        low, high = np.where(behind | (low == high), low, middle + 1), np.where(behind, middle, high)
    return low


_SEARCH = "bool out_int32 = False, bool right = False"
_SIDES = f"{_SEARCH}, str side = None, Tensor sorter = None, Tensor out = None"
SEARCHSORTED = (f"Tensor sorted_sequence, Tensor input, *, {_SIDES}", f"Tensor sorted_sequence, Number self, *, {_SIDES}")
BUCKETIZE = (f"Tensor input, Tensor boundaries, *, {_SEARCH}, Tensor out = None", f"Number self, Tensor boundaries, *, {_SEARCH}")


def _sought(name: str, overloads: tuple[str, ...], given: tuple[Any, Any], at: int, dtype: Any = None) -> np.ndarray:
    """The values that `name` is to find: argument `at` of `given`, a tensor or a number."""
    value = given[at]
    if isinstance(value, TensorRef):
        return values_of(value)
    if not isinstance(value, (int, float, complex, np.number)) or not isinstance(given[1 - at], TensorRef):
        raise no_match(name, overloads, given, [type_name(v) for v in given])
    if isinstance(value, (complex, np.complexfloating)):
        raise NotImplementedError("\"searchsorted_out_cpu\" not implemented for 'ComplexFloat'")
    return np.asarray(value, dtype)


@op("searchsorted(Tensor sorted_sequence, Operand input, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) "
    "-> Tensor",
    method=False, dtypes="float int", complex="searchsorted_out_cpu")
class searchsorted:
    """Where each value would go into the sorted last dimension, before equal elements, or behind where `right`.

    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    tensor([1, 3])
    """

    lacks = {"bool": "searchsorted_out_cpu if any"}
    out_dtype = POSITIONS
    def function(F, sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
        if side not in (None, "left", "right"):
            raise AutogradError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
        if side == "left" and right:
            raise AutogradError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True")
        side = "right" if right or side == "right" else "left"
        sequence = values_of(sorted_sequence)
        values = _sought("searchsorted", SEARCHSORTED, (sorted_sequence, input), 1, sequence.dtype)
        if isinstance(input, TensorRef) and input._k.dtype is not sorted_sequence._k.dtype:
            raise AutogradError("torch.searchsorted(): boundary tensor and input value tensor should have same dtype, but got boundary "
                                "tensor "
                                f"dtype {SCALAR_TYPE_NAMES[sorted_sequence._k.dtype.name]} and input value tensor dtype "
                                f"{SCALAR_TYPE_NAMES[input._k.dtype.name]}")
        if sequence.ndim == 0:
            raise AutogradError("torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension")
        if sorter is not None:
            if sorter.shape != sorted_sequence.shape:
                raise AutogradError(f"torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                                    f"{list(sequence.shape)} and got sorter tensor {list(sorter.shape)}")
            sequence = np.take_along_axis(sequence, sorter._data, -1)
        if sequence.ndim > 1 and (values.ndim != sequence.ndim or values.shape[:-1] != sequence.shape[:-1]):
            raise AutogradError(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
                f"value tensor must match, but we got boundaries tensor {list(sequence.shape)} and input value tensor "
                f"{list(values.shape)}")
        found = bisect(sequence, values, side == "right")
        return constant(F, sorted_sequence, np.asarray(found, np.int32 if out_int32 else np.int64))

    def batch(F, call):
        """Rows of sequences, with as many rows of values."""
        sequence, values, rank = call.sorted_sequence, call.input, call.ranks["sorted_sequence"]
        if not call.is_batched["sorted_sequence"] and not call.is_batched["sorter"] and rank == 1:
            return call()
        if not rank or rank > 1 and call.ranks.get("input") != rank:
            return NotImplemented
        sequence = call.whole("sorted_sequence")
        if "input" not in call.ranks:
            values = F.full((call.size,), values, dtype=sequence.dtype)
        else:
            values = call.whole("input")
        shape = tuple(values.shape)
        if rank == 1:
            values = F.reshape(values, (call.size, prod(shape[1:])))
        return F.reshape(call(sorted_sequence=sequence, input=values, sorter=None if call.sorter is None else call.whole("sorter")), shape)

    def samples(rng):
        yield np.arange(5.0), rng.uniform(-1, 6, (2, 3))
        yield np.sort(rng.standard_normal((2, 5))), rng.standard_normal((2, 3))

    def errors(rng):
        yield (np.ones((3, 4)), np.ones(4)), RuntimeError, (
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
            "value tensor must match, but we got boundaries tensor [3, 4] and input value tensor [4]")


@op("bucketize(Operand input, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", method=False, dtypes="float int",
    complex="searchsorted_out_cpu")
class bucketize:
    """The bucket each value falls into; bucket i ends with boundary i, or begins behind it where `right`.

    >>> torch.bucketize(torch.tensor([3., 6.]), torch.tensor([1., 3., 5.]))
    tensor([1, 3])
    """

    lacks = {"bool": "searchsorted_out_cpu if any"}
    out_dtype = POSITIONS
    def function(F, input, boundaries, *, out_int32=False, right=False):
        if boundaries.ndim != 1:
            raise AutogradError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
        values = _sought("bucketize", BUCKETIZE, (input, boundaries), 0)
        found = bisect(values_of(boundaries), values, right)
        result = constant(F, boundaries, np.asarray(found, np.int32 if out_int32 else np.int64))
        return result

    def batch(F, call):
        """Boundaries of each example are sequences to search."""
        if call.ranks["boundaries"] != 1:
            return NotImplemented
        if not call.is_batched["boundaries"]:
            return call()
        boundaries = call.boundaries
        values = call.whole("input") if "input" in call.ranks else F.full((call.size,), call.input, dtype=boundaries.dtype)
        if values.dtype is not boundaries.dtype:
            return NotImplemented
        shape = tuple(values.shape)
        flat = F.reshape(values, (call.size, prod(shape[1:])))
        return F.reshape(F.searchsorted(boundaries, flat, out_int32=call.out_int32, right=call.right), shape)

    def samples(rng): yield rng.uniform(-1, 6, (2, 3)), np.arange(5.0)
    def errors(rng): yield (np.ones(3), np.ones((2, 2))), RuntimeError, "boundaries tensor must be 1 dimension, but got dim(2)"


@op("isin(Operand elements, Operand test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor", method=False,
    dtypes="float int")
class isin:
    """Whether each element is among the test elements.

    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 3]))
    tensor([False,  True,  True])
    """

    out_dtype = EXPECTED
    def function(F, elements, test_elements, *, assume_unique=False, invert=False):
        a, b = [values_of(x) if isinstance(x, TensorRef) else np.asarray(x) for x in (elements, test_elements)]
        like = elements if isinstance(elements, TensorRef) else test_elements
        found = constant(F, like, np.asarray(np.isin(a, b, assume_unique=assume_unique and a.ndim == 1, invert=invert)))
        return found

    def samples(rng): yield rng.integers(0, 9, (2, 3)), rng.integers(0, 9, 4)
