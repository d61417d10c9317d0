"""Order: sort, topk, medians, modes, and quantiles."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...dims import wrap_dim
from ...dtypes import BOOL
from ...errors import AutogradError
from ...executors.kernels import order as compiled
from ...executors.kernels import selection
from ...executors.kernels.halves import recast, widened
from ...functions.out import EXPECTED, QUANTILE, OutRule, without_out
from ...functions.refusals import no_kernel, on_meta
from ...record import get_record, op
from ...strided import empty_in_order
from ...tensor import TensorRef
from .. import _batch as batches
from .. import _mindspore as kernels
from .. import _shapes as shapes
from .._host import on_host, values_of
from ..networks._losses import constant
from .extremes import along, need_elements
from .sums import finish
from ...annotations import Fn, Functions, Values
from .._batch import BatchedCall


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


def _ordered(input: np.ndarray, d: int) -> np.ndarray:
    """The elements in the order of `_order`, ascending. Sorting them beside the permutation is quicker than gathering by it."""
    if input.dtype.char == "E":
        return _ordered(input.astype(np.float32), d).astype(input.dtype)
    result = input.copy()
    result.sort(d, kind="stable")
    return result


def _like(result: np.ndarray, input: np.ndarray) -> np.ndarray:
    """`result` in the layout of `input` where that is dense."""
    if input.flags.c_contiguous or result.flags.c_contiguous and input.ndim < 2:
        return np.ascontiguousarray(result)

    out = empty_in_order(input, result.dtype)
    np.copyto(out, result)
    return out


#: Elements up to which NumPy's two sorts are quicker than places.
_SMALL = 64


def _sort(input: np.ndarray, dim: int, descending: bool, stable: bool) -> tuple[np.ndarray, np.ndarray]:
    if not input.ndim:
        wrap_dim(dim, 0)
        return input.copy(), np.zeros((), np.int64)
    d = wrap_dim(dim, input.ndim)
    if (found := compiled.arranged(input, d, descending)) is not None:
        return found
    if input.size < _SMALL and not descending:
        return _like(_ordered(input, d), input), _like(_order(input, d, False), input)
    rows = compiled.rows_of(input, d)
    at = compiled.ordered(rows, descending)
    values, indices = [_like(_back(a, input, d), input) for a in (compiled.picked(rows, at), at)]
    return values, indices


def _back(rows: np.ndarray, input: np.ndarray, d: int) -> np.ndarray:
    """What was found in the rows of `input` along `d`, with the dimensions in their places."""
    if d == input.ndim - 1:
        return rows.reshape(*input.shape[:-1], rows.shape[1])
    last = input.ndim - 1
    moved = rows.reshape(*input.shape[:d], *input.shape[d + 1:], rows.shape[1]).transpose(*range(d), last, *range(d, last))
    return rows.reshape(moved.shape) if moved.flags.c_contiguous else moved  # with the strides of rows where sizes are 1


@op("sort_along(Tensor input, int dim=-1, bool descending=False, bool stable=False) -> (Tensor values, Index indices)", quiet="all",
    method=False, namespace="_internal", node="SortBackward0", dtypes="float int bool half",
    complex="RuntimeError:  Sort does not support complex dtypes on CPU")
class sort_along:
    """The elements in order along a dimension, and where they were."""

    sharding = "along dim"
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


@op("sort(Tensor input, int dim=-1, bool descending=False, bool? stable=False) -> (Tensor values, Index indices)",
    dtypes="float int bool half")
class sort:
    """The elements in order along a dimension, and where they were; equal ones keep their order.

    >>> torch.sort(torch.tensor([3., 1., 2.])).indices
    tensor([1, 2, 0])
    """

    lacks = {"float8": "sorting_kernel_method_name"}
    out_dtype = EXPECTED
    quick_named = True
    def quick(input, dim, descending, stable): return _sort(input, dim, descending, False)

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

    lacks = {"float8": "sorting_kernel_method_name"}
    def quick(input, dim, descending, stable):
        found = compiled.arranged(input, wrap_dim(dim, input.ndim), descending, values=False) if input.ndim else None
        return _sort(input, dim, descending, False)[1] if found is None else found[1]

    def function(F, input, dim=-1, descending=False, stable=False): return F.sort_along(input, dim, descending, stable)[1]
    def samples(rng): yield rng.permutation(np.arange(6.0)).reshape(2, 3), 0, True


@op("msort(Tensor input) -> Tensor")
class msort:
    """The elements in order along dimension 0.

    >>> torch.msort(torch.tensor([3., 1., 2.]))
    tensor([1., 2., 3.])
    """

    lacks = {"float8": "sorting_kernel_method_name"}
    out_dtype = EXPECTED
    def quick(input):
        if input.ndim and (found := compiled.arranged(input, 0, False, places=False)) is not None:
            return found[0]
        flags, size = input.flags, input.size
        # Nobody sees where equal numbers were, but zeros have signs.
        if input.ndim and size and 1 not in input.shape and (flags.c_contiguous or flags.f_contiguous) and (
                input.dtype.kind in "iub" or np.count_nonzero(input) == size):
            return recast(np.sort(widened(input), 0), input.dtype) if input.dtype.char in "eE" else np.sort(input, 0)

    def function(F, input):
        values = F.sort_along(input, 0)[0]
        return values

    def samples(rng): yield (rng.permutation(np.arange(6.0)).reshape(2, 3),)


UNSTABLE = 1 << 13
"""The number of elements up to which equal ones are told apart as torch does, step by step, without compiled code; of more the first ones
are taken."""


def _as_torch(indices: np.ndarray, rows: np.ndarray, unsettled: np.ndarray, select: Callable[[list[int], list[int]], None]) -> None:
    """Puts positions in rows, those of the rows that are not settled by the values alone: what `select` brings to the front."""
    for i in np.flatnonzero(unsettled):
        at = list(range(rows.shape[1]))
        select(compiled.keys(rows[i]).tolist(), at)
        indices[i] = at[:indices.shape[1]]


def _topk(input: np.ndarray, k: int, dim: int, largest: bool, sorted: bool) -> tuple[np.ndarray, np.ndarray]:
    d = wrap_dim(dim, input.ndim)
    if not 0 <= k <= (input.shape[d] if input.ndim else 1):
        raise AutogradError("selected index k out of range")
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    if not k:
        nothing = (*input.shape[:d], 0, *input.shape[d + 1:])
        return np.empty(nothing, input.dtype), np.empty(nothing, np.int64)
    if (found := compiled.top(input, d, k, largest, sorted)) is not None:
        return found
    rows = compiled.rows_of(input, d)
    at = _top_of(rows, k, largest, sorted)
    return np.ascontiguousarray(_back(compiled.picked(rows, at), input, d)), np.ascontiguousarray(_back(at, input, d))


def _top_of(rows: np.ndarray, k: int, largest: bool, in_order: bool) -> np.ndarray:
    """The places of the `k` best of each row."""
    indices = _first_topk(rows, k, largest)
    if rows.size <= UNSTABLE:
        unsettled = _unsettled(rows, compiled.picked(rows, indices), k, largest)
        if not in_order and rows.size <= UNSTABLE >> 3:
            unsettled = np.ones(len(rows), bool)
        if unsettled is not None:
            def select(v: list[int], at: list[int]) -> None: selection.top([~x for x in v] if largest else v, at, k, in_order)

            _as_torch(indices, rows, unsettled, select)
    return indices


def _unsettled(rows: np.ndarray, best: np.ndarray, k: int, largest: bool) -> np.ndarray | None:
    """Which rows leave open where their best are: two of those are equal, or others equal the last, or NaN is there. None: no row does."""
    after = np.less if largest else np.greater
    worse, apart = after(rows, best[..., -1:]), after(best[..., 1:], best[..., :-1])
    if np.count_nonzero(worse) + best.size == rows.size and np.count_nonzero(apart) == apart.size:
        return None
    return np.not_equal(worse.sum(-1) + k, rows.shape[-1]) | ~apart.all(-1)


def _first_topk(rows: np.ndarray, k: int, largest: bool) -> np.ndarray:
    """The places of the best of each row in order, the first of equal ones."""
    n = rows.shape[1]
    if n > 256 and k < n // 8 and rows.dtype.kind == "f":
        # Selection is linear in n where sorting is not; NaN is the largest.
        key = -rows if largest else rows
        chosen = np.argpartition(np.where(np.isnan(key), -np.inf, key) if largest else key, k - 1)[:, :k]
        within = _order(np.take_along_axis(rows, chosen, 1), 1, largest)
        return np.take_along_axis(chosen, within, 1)
    return np.array(_order(rows, 1, largest)[:, :k], order="C")


@op("topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Index indices)", quiet="all",
    dtypes="float int half", complex="RuntimeError:  topk does not support complex dtypes on CPU")
class topk:
    """The `k` largest or smallest elements along a dimension, and where they are.

    >>> torch.topk(torch.tensor([1., 4., 3.]), 2)
    torch.return_types.topk(
    values=tensor([4., 3.]),
    indices=tensor([1, 2]))
    """

    lacks = {"uint float8": "topk_cpu"}
    sharding = "along dim"
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


_LONG = 64  # elements of a row from which one is selected, and not all sorted


def _nth(rows: np.ndarray, k: int) -> np.ndarray:
    """The place of the element at `k` of each row in its stable order; nowhere is NaN."""
    found = np.partition(rows, k, 1)[:, k, None]
    equal = np.equal(rows, found)
    before = k - np.add.reduce(np.less(rows, found), 1)
    at: np.ndarray = equal.argmax(1)
    for i in np.flatnonzero(before):  # of equal ones not the first
        at[i] = np.flatnonzero(equal[i])[before[i]]
    return at


def _kthvalue(input: np.ndarray, k: int, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    d = wrap_dim(dim, input.ndim)
    need_elements("kthvalue", input.shape, d)
    if not 1 <= k <= (input.shape[d] if input.ndim else 1):
        raise AutogradError(f"kthvalue(): selected number k out of range for dimension {d}")
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    if (found := compiled.kth(input, d, k - 1, (1,) * keepdim)) is not None:
        return found
    rows = compiled.rows_of(input, d)
    selects = rows.shape[1] >= _LONG and rows.dtype.char in "fdli" and not np.not_equal(rows, rows).any()
    indices = _nth(rows, k - 1) if selects else _order(rows, 1, False)[:, k - 1]
    if input.size <= UNSTABLE:
        last = compiled.picked(rows, indices)
        unsettled = np.not_equal((rows == last[:, None]).sum(1), 1)
        if unsettled.any():
            def select(v: list[int], at: list[int]) -> None:
                selection.kth(v, at, k - 1)
                at[0] = at[k - 1]

            _as_torch(indices[:, None], rows, unsettled, select)
    return _picked(input, rows, indices, d, keepdim)


def _picked(input: np.ndarray, rows: np.ndarray, indices: np.ndarray, d: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    """The elements at one place of each row along `d`, and the places."""
    shape = input.shape[:d] + input.shape[d + 1:]
    found = [finish(a.reshape(shape), input) for a in (compiled.picked(rows, indices), indices)]
    return tuple([a.reshape(*shape[:d], 1, *shape[d:]) for a in found] if keepdim else found)


@op("kthvalue(Tensor input, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Index indices)", quiet="all", dtypes="float int",
    complex="kthvalue_cpu")
class kthvalue:
    """The `k`-th smallest element along a dimension, and where it is.

    >>> torch.kthvalue(torch.tensor([3., 1., 2.]), 2).values
    tensor(2.)
    """

    lacks = {"uint float8": "kthvalue_cpu"}
    sharding = "along dim"
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


def _median_along(name: str, skip_nan: bool) -> Fn:
    def kernel(input: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
        if not input.ndim:
            wrap_dim(dim, 0)
            return input.copy(), np.zeros((), np.int64)
        d = wrap_dim(dim, input.ndim)
        need_elements(name, input.shape, d)
        if (found := compiled.median(input, d, (1,) * keepdim, skip_nan)) is not None:
            return found
        rows, n = compiled.rows_of(input, d), input.shape[d]
        if input.dtype.kind in "iub":
            at = np.full(len(rows), (n - 1) // 2)
        else:
            missing = np.add.reduce(rows != rows, 1)
            # NaN sort last: among the numbers the middle is that of a shorter sequence; else the first NaN is the median.
            at = np.maximum(n - missing - 1, 0) // 2 if skip_nan else np.where(missing > 0, n - missing, (n - 1) // 2)
        if n >= _LONG and rows.dtype.char in "fdli" and np.minimum.reduce(at, None) == (k := int(np.maximum.reduce(at, None))) and (
                rows.dtype.char in "li" or not missing.any()):
            return _picked(input, rows, _nth(rows, k), d, keepdim)
        return _picked(input, rows, compiled.picked(_order(rows, 1, False), at), d, keepdim)

    return kernel


_median_dim, _nanmedian_dim = _median_along("median", False), _median_along("nanmedian", True)


def _nothing(dtype: np.dtype) -> np.ndarray:
    """The median of no elements: NaN, or for integers what a processor makes of it."""
    return np.array(np.nan if dtype.kind in "fcV" else np.iinfo(dtype).min if dtype.kind in "iu" else True, dtype)


def _of_all(along: Fn) -> Fn:
    """The median of all elements, nobody asking where it is: as NumPy selects it, or along a line where NaN or a zero, which has two signs,
    may be it."""
    def kernel(input: np.ndarray) -> np.ndarray:
        n = input.size
        if 0 < n < _FEW and input.dtype.kind in "iufV":
            numbers = sorted(input.ravel("K").tolist())
            if (found := numbers[(n - 1) // 2]) and (total := sum(numbers)) == total:  # none is NaN
                return np.array(found, input.dtype)
        if (_FEW <= n < _SOME or n >= _FEW and input.itemsize == 2) and (middle := compiled.selected(input, (n - 1) // 2)) is not None and (
                input.dtype.kind == "i" or middle):
            return middle
        if n >= _FEW and input.dtype.kind in "iufV" and input.dtype.char != "g" and not (n >= _SOME and compiled.fits(n)):
            flat = input.ravel("K")
            best = np.partition(widened(flat) if input.itemsize == 2 and input.dtype.char in "eE" else flat, (n - 1) // 2)
            found = best[(n - 1) // 2]
            if input.dtype.kind in "iu" or found and not np.isnan(np.maximum.reduce(best[(n - 1) // 2:])):
                return np.asarray(found).astype(input.dtype)
        result: np.ndarray = along(input.reshape(-1), 0, False)[0] if n else _nothing(input.dtype)
        return result

    return kernel


#: Elements that Python puts in order before NumPy has begun, and from which on a line is narrowed sooner than it is gone over byte by byte.
_FEW, _SOME = 32, 4096
_median_all, _nanmedian_all = _of_all(_median_dim), _of_all(_nanmedian_dim)


def _evenly(F: Functions, grad: Values, input: Values, result: Values) -> Values:
    shape = tuple(input.shape)
    return F.expand(grad, shape) * F.tie_weights(input, F.expand(result, shape), None)


def _no_bool(name: str) -> Fn:
    def check(input: TensorRef, **rest: object) -> None:
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

    sharding = "along dim"
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

    sharding = "along dim"
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

    lacks = {"uint float8": lambda dim, **_: "median_cpu" if dim is None else "median_out"}
    out_dtype = _MEDIAN
    quick_if = "dim is None"
    def quick(input, dim, keepdim): return np.asarray(_median_all(input)) if input.dtype.char != "?" else None

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

    lacks = {"uint float8": lambda dim, **_: "median_cpu" if dim is None else "median_out"}
    out_dtype = _MEDIAN
    quick_if = "dim is None"
    def quick(input, dim, keepdim): return np.asarray(_nanmedian_all(input)) if input.dtype.char != "?" else None

    def function(F, input, dim=None, keepdim=False, *, out=None):
        if dim is None and out is not None:
            raise without_out("nanmedian")
        return F.nanmedian_all(input) if dim is None else along(F, "nanmedian", F.nanmedian_along(input, dim, keepdim), out)

    def samples(rng):
        yield (rng.permutation(np.arange(6.0)).reshape(2, 3),)
        yield rng.permutation(np.arange(6.0)).reshape(2, 3), 1, True


def _mode(input: np.ndarray, dim: int, keepdim: bool) -> tuple[np.ndarray, np.ndarray]:
    if not input.ndim:
        wrap_dim(dim, 0)
        return input.copy(), np.zeros((), np.int64)
    d = wrap_dim(dim, input.ndim)
    need_elements("mode", input.shape, d)
    if input.shape[d] <= _STABLE or input.dtype.kind in "iub" or not (input != input).any():
        if (modes := compiled.modes(input, d, (1,) * keepdim)) is not None:
            return modes
    rows = compiled.rows_of(input, d)
    order = _order(rows, 1, False)
    ordered = compiled.picked(rows, order)
    n = ordered.shape[-1]
    starts = np.concatenate([np.ones_like(ordered[..., :1], bool), ordered[..., 1:] != ordered[..., :-1]], -1)
    at = np.arange(n)
    start = np.maximum.accumulate(np.where(starts, at, 0), -1)
    length = at - start + 1
    last = length.argmax(-1)  # the first longest run is that of the smallest value; torch gives its last index
    found = compiled.picked(order, last)
    if n > _STABLE:
        for i in range(len(rows)):
            if length[i, last[i]] > 1 and (rows[i] == rows[i]).all():
                found[i] = _unstably_at(rows[i], int(last[i]))
    return _picked(input, rows, found, d, keepdim)


_STABLE = 16
"""Up to how many elements the sort below leaves equal ones in their order."""


def _unstably_at(row: np.ndarray, place: int) -> int:
    """The index of the element that the C++ library's sort, by which torch finds modes, puts at `place`, the last among its equals.

    That is introsort (Musser 1997): parts of more than 16 elements are split around the median of the second, the middle and the last one,
    which changes places with the first, by Hoare's exchanges from both ends; then insertion sorts, in order. Only the parts that hold the
    place are split here.
    """
    order, low, high = np.arange(row.size), 0, row.size
    for _ in range(2 * (row.size.bit_length() - 1)):  # beyond that a heap sorts, which takes rows made to provoke it
        if high - low <= _STABLE:
            break
        three = low + 1, low + (high - low) // 2, high - 1
        a, b, c = row[order[list(three)]]
        middle = three[(1 if b < c else 2 if a < c else 0) if a < b else 0 if a < c else 2 if b < c else 1]
        order[[low, middle]] = order[[middle, low]]
        pivot, rest = row[order[low]], row[order[low + 1:high]]
        left, right = np.flatnonzero(rest >= pivot), np.flatnonzero(rest <= pivot)[::-1]
        pairs = min(left.size, right.size)
        crossed = left[:pairs] >= right[:pairs]
        pairs = int(crossed.argmax()) if crossed.any() else pairs
        i, j = left[:pairs] + low + 1, right[:pairs] + low + 1
        order[i], order[j] = order[j], order[i]
        cut = low + 1 + int(min([*left[pairs:pairs + 1], *right[max(pairs - 1, 0):pairs]]))
        low, high = (cut, high) if place >= cut else (low, cut)
    part = order[low:high]
    return int(part[row[part] == np.sort(row)[place]][-1])


@op("mode(Tensor input, int dim=-1, bool keepdim=False) -> (Tensor values, Index indices)", quiet="all", dtypes="float int",
    complex="mode_cpu")
class mode:
    """The most frequent element along a dimension, the smallest of several, and its last index.

    >>> torch.mode(torch.tensor([2., 1., 2., 3.])).values
    tensor(2.)
    """

    lacks = {"uint float8": "mode_cpu"}
    sharding = "along dim"
    out_dtype = tuple([OutRule(f"expected scalar type '{{wanted}}' but got '{{found}}' for {part} output")
                       for part in ("values", "indices")])
    numpy = _mode
    compose = on_host(_mode)
    def vjp(F, grad, indices, input_shape, dim, keepdim): return F.at_indices(grad, indices, tuple(input_shape), dim, keepdim)

    def samples(rng):
        yield ((1.0 * rng.permutation(6)).reshape(2, 3),)
        yield rng.integers(0, 3, (4, 5)), 0


# -- quantiles ----------------------------------------------------------------------------------------------------------------


def _check_quantiles(input: TensorRef, q: float | TensorRef, rank: int) -> None:
    """Raises where a tensor has no quantiles `q`, of `rank` dimensions."""
    if input._k.dtype.name not in ("float32", "float64"):
        raise AutogradError("quantile() input tensor must be either float or double dtype")
    if not isinstance(q, TensorRef):
        if not 0 <= q <= 1:
            raise AutogradError(f"quantile() q must be in the range [0, 1] but got {q}")
        return
    if rank > 1:
        raise AutogradError("quantile() q must be a scalar or 1D tensor")
    if q._k.dtype is not input._k.dtype:
        raise AutogradError("quantile() q tensor must be same dtype as the input tensor")


def _quantile(F: Functions, name: str, input: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool) -> TensorRef:
    scalar = not isinstance(q, TensorRef)
    _check_quantiles(input, q, 0 if scalar else q.ndim)
    values = np.asarray(q, input._k.np) if scalar else values_of(q)
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
    data = values_of(ordered)
    missing = np.add.reduce(data != data, -1, None, None, True)
    counts = np.broadcast_to(data.shape[-1] - missing, (*data.shape[:-1], values.size))
    at = values.reshape(-1) * np.maximum(counts - 1, 0).astype(values.dtype)
    if not skip_nan:
        at = np.where(missing > 0, data.shape[-1] - 1, at)  # the last of a row with NaN is NaN
    if interpolation in ("lower", "higher", "nearest"):
        at = _ROUNDED[interpolation](at)
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


def _quick_quantile(input: np.ndarray, q: float, dim: int | None, keepdim: bool, interpolation: str) -> np.ndarray | None:
    """Quantiles of numbers among which there is no NaN: the kernels of `_quantile` on plain arrays."""
    if q.__class__ is not float or input.dtype.char not in "fd" or not (input.ndim and input.size) or not 0 <= q <= 1:
        return None
    d = 0 if dim is None else wrap_dim(dim, input.ndim)
    data = input.reshape(-1) if dim is None else input
    found = compiled.arranged(data, d, False, places=False)
    if found is None or interpolation not in ("linear", "midpoint", *_ROUNDED):
        return None
    n, before, ordered = data.shape[d], (slice(None),) * d, found[0]

    def place(i: int) -> np.ndarray: return ordered[(*before, slice(i, i + 1))].copy()

    last = place(n - 1)
    if np.count_nonzero(last != last):
        return None
    at = np.asarray(q, data.dtype) * np.asarray(n - 1, data.dtype)
    at = _ROUNDED[interpolation](at) if interpolation in _ROUNDED else at
    low = int(np.floor(at))
    result = place(low)
    if interpolation in ("linear", "midpoint"):
        weight = np.full(result.shape, 0.5 if interpolation == "midpoint" else at - low, data.dtype)
        result = _lerp(result, place(int(np.ceil(at))), weight)
    if keepdim:
        return result.reshape((1,) * input.ndim) if dim is None else result
    return result.reshape((*data.shape[:d], *data.shape[d + 1:]))


_ROUNDED: dict[str, Fn] = {"lower": np.floor, "higher": np.ceil, "nearest": np.round}


def _lerp(input: np.ndarray, end: np.ndarray, weight: np.ndarray) -> np.ndarray:
    found: np.ndarray = get_record("lerp").field("numpy")(input, end, weight)
    return found


def _batched_quantiles(F: Functions, call: BatchedCall) -> TensorRef:
    """Along one dimension further. Where each example has quantiles of its own, all are computed for all, and its own picked."""
    _check_quantiles(call.input, call.q, call.ranks.get("q", 0))
    if not call.size:
        return NotImplemented
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
    quick = _quick_quantile
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
    quick = _quick_quantile
    def function(F, input, q, dim=None, keepdim=False, *, interpolation="linear"):
        return _quantile(F, "nanquantile", input, q, dim, keepdim, interpolation, True)
    batch = _batched_quantiles

    def samples(rng): yield rng.permutation(np.arange(6.0)).reshape(2, 3), 0.3, 1
