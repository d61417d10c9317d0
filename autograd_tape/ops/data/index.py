"""Indexing: `x[index]` and `x[index] = value`, and the gather and put of elements at index tensors that they are made of.

An index is carried out in torch's order: numbers, ranges, None and Ellipsis first, as one view; then what is left, tensors and lists
of positions and masks, as one gather. (NumPy counts a number among the positions, and so puts dimensions elsewhere in
`x[0, :, [1, 2]]`.)
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import warned
from ...dtypes import BOOL_KIND, INT64_KIND, INTEGER, SCALAR_TYPE_NAMES, DType, as_bits, float16, number_array
from ...errors import ArgumentError, AutogradError, IndexRangeError, SizeError, check_rank, of_rank
from ...executors.kernels.folds import within
from ...executors.kernels.embedding import ONE_PART, PARTS, index_add, put_others
from ...executors.kernels.reduce import add_at
from ...executors.kernels.sharing import copy_into
from ...functions.namespace import KIND_SETS
from ...functions.nodes import node_class
from ...functions.refusals import on_meta
from ...indices import _ALL, Indices
from ...modes import GradMode, grad_mode, recordings
from ...record import op
from ...strided import contiguous_strides, copy_like, dense_strides, empty_strided, strided
from ...tensor import BUFFERS, LEAF, TensorRef, as_dtype, next_id
from ...version import Version
from ...views import check_apart
from .. import _shapes as shapes
from .._host import need_values, on_host, values_of
from .._samples import check_number
from ...annotations import Arguments, Fn, Functions

if TYPE_CHECKING:
    from ...functions.irregular import Irregular

_ndarray = np.ndarray
_MANY_ROWS = 16384  # elements that threads share, column by column
NUMBERED = 1 << 22  # elements up to which numbering the places costs less than NumPy's sum over several dimensions
_INVALID = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})"


# -- basic: one view ----------------------------------------------------------------------------------------------------


def _basic(input: np.ndarray, index: Arguments) -> np.ndarray:
    view = input[index]
    if view.__class__ is not _ndarray:
        view = input[(*index, ...)]
    return _new_axes(input, view, index) if None in index else view


def _basic_on_meta(input: np.ndarray, index: tuple[slice | int | None, ...]) -> np.ndarray:
    """`_basic` of what may have no memory: NumPy reads the element at an index that leaves no dimension, but not with an Ellipsis."""
    view = input[index if any([i is ... for i in index]) else (*index, ...)]
    return _new_axes(input, view, index) if None in index else view


def _new_axes(input: np.ndarray, view: np.ndarray, index: tuple[object, ...]) -> np.ndarray:
    """`view` with torch's strides for new dimensions, where NumPy's are 0: the reach of the dimension of `input` that follows."""
    if not view.size:
        return view
    shape, strides, n, found, d, at = input.shape, input.strides, input.ndim, list(view.strides), 0, 0
    for item in index:
        if item is None:
            found[at] = shape[d] * strides[d] if d < n else input.itemsize
            at += 1
        elif item is ...:
            skip = n - sum([i is not None and i is not ... for i in index])
            d, at = d + skip, at + skip
        else:
            d += 1
            at += item.__class__ is slice
    return strided(view, view.shape, found)


def _axes_first(input: np.ndarray, index: Arguments) -> np.ndarray:
    """A basic index of a contiguous array, with its new dimensions put in before anything is picked, as torch does it: NumPy gives
    them torch's strides then."""
    shape, sizes, key, d = input.shape, [], [], 0
    for item in index:
        if item is None:
            sizes.append(1)
            key.append(_ALL)
        else:
            sizes.append(shape[d])
            key.append(item)
            d += 1
    return input.reshape((*sizes, *shape[d:]))[tuple(key)]


class _BasicIndex:
    """The view at a basic index: numbers, ranges, None and Ellipsis."""

    def numpy(input, index): return _basic(input, index)
    def meta(input, index): return _basic_on_meta(input, index)
    def samples(rng): yield rng.standard_normal((3, 4)), (slice(0, 2), None, -1)
    def vjp(F, grad, input_shape, index): return F.basic_index_backward(grad, input_shape, index)
    def batch(F, call): return call(index=(slice(None), *call.index))
    aten = "alias(input)"  # others are shown in parts
    def put_back(F, base, new, nr, index): return new

    def decompose(F, input, index):
        """An index of numbers, slices, None and dots, one step after the other."""
        if index == (Ellipsis,):
            return NotImplemented
        key = index if isinstance(index, tuple) else (index,)
        taken = sum([k is not None and k is not Ellipsis for k in key])
        result, dim = input, 0
        for k in key:
            if k is None:
                result, dim = F.unsqueeze(result, dim), dim + 1
            elif k is Ellipsis:
                dim += input.ndim - taken
            elif isinstance(k, slice):
                start, stop, step = k.indices(result.shape[dim])
                if (start, step) != (0, 1) or stop < result.shape[dim]:
                    result = F.slice(result, dim, start, 2 ** 63 - 1 if k.stop is None else stop, step)
                dim += 1
            else:
                result = F.select(result, dim, int(k))
        return F.basic_alias(input, (Ellipsis,)) if result is input else result


_VIEWS = {name: op(f"basic_{name}(Tensor input, Any index) -> Tensor", family="view", quiet="all", result="same", method=False,
                   namespace="_internal", node=f"{name.capitalize()}Backward0", out=False)(type(f"basic_{name}", (), {
                       **{k: v for k, v in vars(_BasicIndex).items() if k not in ("__dict__", "__weakref__")}, "known_as": name}))
          for name in ("select", "slice", "unsqueeze", "alias")}


@op("basic_index_backward(Tensor grad, int[] shape, Any index) -> Tensor", quiet="all", method=False, namespace="_internal", out=False)
class basic_index_backward:
    """Zeros of `shape` with `grad` at a basic index."""

    def sharding(call):
        """As those dimensions of the view lie that are dimensions of the whole."""
        shape = tuple(call["shape"])
        kept, made = call.dimensions(shape, lambda probe: _basic(probe, call["index"]))
        whole = [d if d in kept else None for d in range(len(shape))]
        return call.sized(call.propagate([made[0]], [whole], shapes=[shape]), "shape", shape)

    def numpy(grad, shape, index):
        result = np.zeros(shape, grad.dtype)
        if grad.ndim > 1:
            copy_into(grad, result[index])
        else:
            result[index] = grad
        return result
    shape = shapes.like_second
    compose = on_host(numpy)
    def vjp(F, grad, index): return F.basic_slice(grad, index)
    jvp = "linear"

    def batch(F, call):
        """The whole batch dimension before the index."""
        return call(shape=(call.size, *call.shape), index=(slice(None), *call.index))

    def samples(rng): yield rng.standard_normal(2), (3, 4), (slice(0, 2), -1)


def _view_name(items: Sequence[object], shape: Sequence[int], single: bool = False) -> str:
    """Which of torch's views comes last for these items, and so names the node. Ranges that take everything are left out by torch,
    but where one is the whole index."""
    name, d = "alias", 0
    for item in items:
        if item is None:
            name = "unsqueeze"
        elif item is ...:
            d += len(shape) - sum([i is not None and i is not ... for i in items])
        else:
            if item.__class__ is not slice:
                name = "select"
            elif single or item.start or not (item.stop is None or item.stop >= shape[d]) or item.step not in (None, 1):
                name = "slice"
            d += 1
    return name


# -- advanced: gather and put ---------------------------------------------------------------------------------------------


def _bounds_error(shape: Sequence[int], key: Sequence[Any]) -> AutogradError:
    """What is wrong with an index that NumPy refused: first the masks' shapes, then whether all broadcast, then the ranges."""
    arrays: list[np.ndarray] = []
    sizes: list[int] = []
    d = 0
    for item in key:
        if item is _ALL:
            d += 1
        elif item.dtype == bool:
            for i, n in enumerate(item.shape):
                if n != shape[d + i]:
                    return IndexRangeError(
                        f"The shape of the mask {list(item.shape)} at index {i} does not match the shape of the indexed tensor "
                        f"{list(shape)} "
                        f"at index {d + i}", expected=str(list(shape[d:d + item.ndim])), found=str(list(item.shape)))
            arrays += item.nonzero()
            sizes += shape[d:d + item.ndim]
            d += item.ndim
        else:
            arrays.append(item)
            sizes.append(shape[d])
            d += 1
    try:
        np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        return IndexRangeError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                               + ", ".join([str(list(a.shape)) for a in arrays]))
    nr, index, n = next((nr, a, n) for nr, (a, n) in enumerate(zip(arrays, sizes)) if ((a < -n) | (a >= n)).any())
    if not n:
        return IndexRangeError("index is out of bounds for dimension with size 0")
    wrong = index[(index < -n) | (index >= n)].reshape(-1)[0]
    return IndexRangeError(f"index {wrong} is out of bounds for dimension {nr} with size {n}", expected=f"{-n} to {n - 1}",
                           found=str(wrong))


def _single(key: tuple[object, ...]) -> tuple[int, Any]:
    """(dimension, array) of a key with one index array, or (-1, None)."""
    found = -1
    for d, item in enumerate(key):
        if item is not _ALL:
            if found >= 0:
                return -1, None
            found = d
    return found, key[found]


def _picked(input: np.ndarray, key: Arguments) -> np.ndarray:
    """`input[key]`, with torch's errors."""
    try:
        return input[key]
    except (IndexError, ValueError):
        pass  # which index it was, and what torch says of it, is found out below
    result = _first_ones(input, key)
    if result.size:
        raise _bounds_error(input.shape, key)
    return result  # positions are not looked at where nothing is picked


def _first_ones(input: np.ndarray, key: Arguments) -> np.ndarray:
    """What has the shape of `input[key]`, whether or not the positions are there."""
    try:
        return input[tuple([item if item is _ALL or item.dtype == bool else np.zeros_like(item) for item in key])]
    except (IndexError, ValueError) as error:
        raise of_rank(error) or _bounds_error(input.shape, key) from None


def _no_positions(shape: Sequence[int], key: Arguments) -> None:
    """Raises torch's error for positions along dimensions without elements, which NumPy takes where there are none to pick."""
    if not any([item is not _ALL and item.dtype == bool for item in key]) and all([item is _ALL or item.size for item in key]) and any(
            [item is not _ALL and n == 0 for n, item in zip(shape, key)]):
        raise IndexRangeError("index is out of bounds for dimension with size 0")


def _gather(input: np.ndarray, indices: Indices) -> np.ndarray:
    key = indices.key
    if not input.size:
        _no_positions(input.shape, key)
    d, only = _single(key)
    if d >= 0 and only.dtype != bool and input.flags.c_contiguous:
        check_rank(only.ndim + input.ndim - 1)  # NumPy's `take` writes beyond its own memory
        try:
            return input.take(only, d)
        except IndexError:
            pass  # the general path raises torch's error
    result = _picked(input, key)
    if input.flags.c_contiguous:
        return result if result.flags.c_contiguous else result.copy()
    return _laid_out(input, key, result)


@lru_cache(512)
def _strides_of(shape: tuple[int, ...], steps: tuple[int, ...], ranks: tuple[int | None, ...]) -> tuple[int, ...]:
    """The strides of a result of `shape`, by those of the input and the ranks of the key's arrays, of masks inverted."""
    strides: list[int] = []
    at, d, last, rank = -1, 0, None, 0
    for position, item in enumerate(ranks):
        if item is None:
            strides.append(steps[d])
            d += 1
            continue
        if at < 0:
            at = len(strides)
        elif last != position - 1:
            at = 0  # index arrays with a range between them come first
        last = position
        rank = max(rank, 1 if item < 0 else item)
        d += ~item if item < 0 else 1
    strides += steps[d:]
    source = strides[:at] + [0] * rank + strides[at:]
    inner = contiguous_strides(shape[at:at + rank])
    # The index as torch's iterator sees it, (1, ..., index, 1, ...): broadcast where the result is larger.
    index = [inner[0] * shape[at] if n == 1 else 0 for n in shape[:at]] + list(inner) + [int(n == 1) for n in shape[at + rank:]]
    return dense_strides(shape, source, index)


def _laid_out(input: np.ndarray, key: Arguments, result: np.ndarray) -> np.ndarray:
    """`result` in the layout torch's iterator chooses: dimensions that were not indexed in the order of the input's strides."""
    if not result.size:
        return result.copy()
    ranks = tuple([None if item is _ALL else ~item.ndim if item.dtype == bool else item.ndim for item in key])
    wanted, item = _strides_of(result.shape, input.strides, ranks), result.itemsize
    if result.strides == tuple([s * item for s in wanted]):  # as NumPy lays what is picked of columns
        return result
    out = empty_strided(result.shape, wanted, result.dtype)
    np.copyto(out, result)
    return out


def _deeper(indices: Indices) -> tuple[Indices, int]:
    """(index arrays one dimension further, where NumPy then puts the batch dimension): behind what the arrays pick, which comes first,
    where they are apart from each other."""
    key = indices.key
    places = [i for i, k in enumerate(key) if not isinstance(k, slice)]
    apart = places and places[-1] - places[0] + 1 != len(places)
    at = max([1 if key[i].dtype == bool else key[i].ndim for i in places]) if apart else 0
    return type(indices)((_ALL, *key), [t for t, _ in indices.sources], [p + 1 for p in indices.places]), at


def _of_own(F: Functions, call: Any) -> Any:
    """(indices with the example's number in front, dimensions they pick, sliced dimensions that came before those) where examples have
    index tensors of their own; None where all share them; NotImplemented where others are masks."""
    opened = {id(t._data): call.opened(t) for t, _ in call.indices.sources}
    own = [whole for whole, is_batched in opened.values() if is_batched]
    if not own:
        return None
    if any([whole.dtype.name == "bool" for whole in own]):
        raise RuntimeError("vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
                           "indexing with a boolean mask.")
    arrays = [k for k in call.indices.key if not isinstance(k, slice)]
    if call.indices.has_mask:
        return NotImplemented
    rank = max([k.ndim for k in arrays])
    key: list[Any] = [np.arange(call.size).reshape((call.size,) + (1,) * rank)]
    sources, places = [], []
    for k in call.indices.key:
        whole, is_batched = (None, False) if isinstance(k, slice) else opened.get(id(k), (None, False))
        if whole is None:
            key.append(k if isinstance(k, slice) else k.reshape((1,) + (1,) * (rank - k.ndim) + k.shape))
            continue
        size, own_shape = (whole.shape[:1], whole.shape[1:]) if is_batched else ((1,), whole.shape)
        whole = F.reshape(whole, (*size, *(1,) * (rank - len(own_shape)), *own_shape))  # of an example of another vmap, too
        whole = whole if whole._k.dtype.name == "int64" else F.cast(whole, as_dtype("int64"))
        sources.append(whole)
        places.append(len(key))
        key.append(whole._data)
    at = [i for i, k in enumerate(call.indices.key) if not isinstance(k, slice)]
    return Indices(key, sources, places), rank, at[0] if at[-1] - at[0] + 1 == len(at) else 0


def _behind(F: Functions, t: Any, rank: int, lead: int) -> Any:
    """The picked dimensions, right after the batch, moved behind `lead` others; the inverse where `lead` is negative."""
    if not rank or not lead:
        return t
    first = list(range(1, 1 + (rank if lead > 0 else -lead)))
    rest = list(range(1 + len(first), 1 + rank + abs(lead)))
    return F.permute(t, (0, *rest, *first, *range(1 + rank + abs(lead), t.ndim)))


def _picked_shape(F: Functions, x: Any, indices: Indices, at: int) -> tuple[int, ...]:
    """What index arrays pick of one example."""
    shape = tuple(F.index(x.detach(), indices).shape)
    return shape[:at] + shape[at + 1:]


@op("index(Tensor input, Any indices) -> Tensor", quiet="all", method=False, namespace="_internal", out=False)
class index:
    """The elements at index arrays; what `x[tensor]` records."""

    sharding = "indexed"
    numpy = _gather
    compose = on_host(numpy)
    def vjp(F, grad, input_shape, indices): return F.index_backward(grad, input_shape, indices)
    jvp = "linear"

    def batch(F, call):
        own = _of_own(F, call)
        if own is NotImplemented:
            return own
        if own is not None:
            indices, rank, lead = own
            if not call.is_batched["input"]:
                indices = Indices(indices.key[1:], [t for t, _ in indices.sources], [p - 1 for p in indices.places])
                return F.movedim(call(indices=indices), lead, 0)
            return _behind(F, call(input=call.whole("input"), indices=indices), rank, lead)
        indices, at = _deeper(call.indices)
        result = call(indices=indices)
        return F.movedim(result, at, 0) if at else result
    aten = "index.Tensor(input, index_list(indices))"
    def sized_by_values(input, indices): return indices.has_mask

    def samples(rng):
        yield rng.standard_normal((3, 4)), Indices([np.array([0, 2, 0, -1])])
        yield rng.standard_normal((3, 4)), Indices([_ALL, np.array([[1, 0], [3, 1]])])
        yield rng.standard_normal((3, 4, 2)), Indices([np.array([0, 2, 0]), _ALL, np.array([1, 0, 1])])
        yield rng.standard_normal((2, 2)), Indices([np.array([[True, False], [True, True]])])


def _few_rows(target: np.ndarray, index: np.ndarray, values: np.ndarray, accumulate: bool) -> bool:
    """Whether a kernel put not many rows, or added them, at positions from the start on."""
    if index.size * target.size >= _MANY_ROWS * target.shape[0]:
        return False
    how, by = (2 if target.dtype.char == "?" else 0) if accumulate else None, PARTS if values.ndim else ONE_PART
    if accumulate and not values.ndim and values.dtype is target.dtype and (
            values.base is not None or target.base is not None or values is target or target.itemsize == 2):
        # It may be one that is added to, and loops that round read lines sooner than one number.
        values, number, by = np.empty((index.size, *target.shape[1:]), values.dtype), values, PARTS
        as_bits(values).fill(as_bits(number))
    try:
        return put_others(target, 0, index, values, how, True, by)
    except IndexError:  # or from the end
        return False


def put(target: np.ndarray, key: Arguments, values: np.ndarray, accumulate: bool) -> None:
    """`target[key] = values`, or `+=` that counts repeated positions, in place."""
    if not target.size:
        _no_positions(target.shape, key)
    if target.size and len(key) == 1 and (only := key[0]) is not _ALL and only.ndim == 1 and _few_rows(target, only, values, accumulate):
        return
    if not accumulate and values.dtype is target.dtype:
        target, values = as_bits(target), as_bits(values)
    if accumulate and not all([item is _ALL or item.dtype == bool for item in key]):
        d, only = _single(key)
        if d >= 0 and only.ndim == 1 and target.flags.forc:
            n = target.shape[d]
            if not within(only, n):
                if only.min() < -n or only.max() >= n:
                    raise IndexError(f"an index is out of bounds for dimension {d} with size {n}")
                only = np.where(only < 0, only + n, only)
            shape = (*target.shape[:d], only.size, *target.shape[d + 1:])
            parts = values
            if values.shape != shape:
                parts = np.empty(shape, values.dtype)
                parts[...] = values
            if target.flags.c_contiguous:
                index_add(target, d, only, parts)
            else:
                index_add(target.T, target.ndim - 1 - d, only, parts.T)
        elif target.size < NUMBERED and target.flags.c_contiguous:
            # NumPy adds at repeated positions of one dimension much faster than of several.
            at = np.arange(target.size).reshape(target.shape)[key]
            add_at(target.reshape(-1), at.reshape(-1), np.broadcast_to(values, at.shape).reshape(-1))
        else:
            add_at(target, key, values)
    elif accumulate:
        target[key] += values
    else:
        target[key] = values


def _index_backward(grad: np.ndarray, shape: Sequence[int], indices: Indices) -> np.ndarray:
    result = np.zeros(shape, grad.dtype)
    key = indices.current()
    try:
        put(result, key, grad, True)
    except IndexError:
        raise _bounds_error(shape, key) from None
    return result


@op("index_backward(Tensor grad, int[] shape, Any indices) -> Tensor", method=False, namespace="_internal", out=False)
class index_backward:
    """Zeros of `shape` with `grad` added at index arrays."""

    sharding = "taken_back"
    numpy = _index_backward
    shape = shapes.like_second
    compose = on_host(_index_backward)

    def samples(rng):
        yield rng.standard_normal((3, 2)), (4, 2), Indices([np.array([0, 3, 0])])
        yield rng.standard_normal((2, 2)), (4, 2), Indices([np.array([0, 3]), np.array([[1], [1]])])

    compose = on_host(numpy)
    def vjp(F, grad, indices):
        indices.current()
        return F.index(grad, indices)

    jvp = "linear"

    def batch(F, call):
        own = _of_own(F, call)
        if own is NotImplemented:
            return own
        if own is not None:
            indices, rank, lead = own
            grad = _behind(F, call.whole("grad"), rank, -lead)
        else:
            indices, at = _deeper(call.indices)
            grad = F.movedim(call.grad, 0, at) if at else call.grad
        return call(grad=grad, shape=(call.size, *call.shape), indices=indices)


def _check_fits(input: np.ndarray, indices: Indices, values: np.ndarray) -> None:
    """Refuses values that do not broadcast to what is picked."""
    shape = _first_ones(input, indices.key).shape
    try:
        np.broadcast_to(values, shape)
    except ValueError:
        raise AutogradError(f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape "
                            f"{list(shape)}", expected=f"a shape that broadcasts to {list(shape)}", found=str(list(values.shape))) from None


def _put(input: np.ndarray, indices: Indices, values: np.ndarray, accumulate: bool) -> np.ndarray:
    result = copy_like(input)
    try:
        put(result, indices.key, values, accumulate)
    except (IndexError, ValueError):
        _check_fits(input, indices, values)
        _picked(input, indices.key)
        _no_positions(input.shape, indices.key)
    return result


@op("put_at(Tensor input, Any indices, Tensor values, bool accumulate=False) -> Tensor", quiet="all", method=False, namespace="_internal",
    inplace=True, node="IndexPutBackward0", out=False)
class put_at:
    """`input` with `values` put at index arrays; what `x[tensor] = value` records."""

    sharding = "put_at"
    saved_as = {"values_shape": None}
    layout = "input"
    numpy = _put
    shape = shapes.like_first
    may_share = "itself nothing"
    warns_expanded = "index_put_", "tensor[indices] = tensor"
    def store_part(a, indices, values, accumulate): put(a, indices.key, values, accumulate)
    compose = on_host(numpy)

    def vjp_input(F, grad, indices, accumulate, values_shape):
        indices.current()
        return grad if accumulate else F.put_at(grad, indices, F.zeros_for(grad, ()))

    def vjp_values(F, grad, indices, values_shape):
        indices.current()
        return F.reduce_to_shape(F.index(grad, indices), tuple(values_shape))

    jvp = "linear"

    def batch(F, call):
        own, x, values = _of_own(F, call), call.whole("input"), call.values["values"]
        if own is NotImplemented:
            return own
        if own is not None:
            indices, rank, lead = own
            shape = tuple(F.index(x.detach(), indices).shape)
            shape = shape[:1] + shape[1 + rank:1 + rank + lead] + shape[1:1 + rank] + shape[1 + rank + lead:]
        else:
            indices, at = _deeper(call.indices)
            shape = _picked_shape(F, x, indices, at) if at or call.is_batched["values"] else ()
        for _ in range(len(shape) - (own is not None) - call.ranks["values"] if call.is_batched["values"] else 0):
            values = F.unsqueeze(values, 1)
        if own is not None:
            values = _behind(F, F.expand(values, shape), rank, -lead)
        elif at:
            values = F.movedim(F.expand(values, (call.size, *shape)), 0, at)
        return call(input=x, indices=indices, values=values)
    aten = "index_put(input, index_list(indices), values, *[True] * accumulate)"
    no_vmap_ = "name"

    def samples(rng):
        yield rng.standard_normal((3, 4)), Indices([np.array([0, 2])]), rng.standard_normal((2, 4))
        yield rng.standard_normal((3, 4)), Indices([np.array([0, 2, 0])]), rng.standard_normal((3, 1)), True


# -- from Python's indices to these ------------------------------------------------------------------------------------------


def _as_tuple(index: object) -> Arguments:
    """The items of an index. A list that holds tensors, lists or ranges counts as a tuple, as in torch."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) < 32 and any(
            [isinstance(x, (TensorRef, list, tuple, slice, _ndarray)) or x is None or x is ... for x in index]):
        return tuple(index)
    return (index,)


def _array(F: Functions, item: Any) -> tuple[np.ndarray, Any]:
    """An index tensor, list or array as (array of int64 or bool, or an example's geometry, tensor or None)."""
    source = item if isinstance(item, TensorRef) else None
    if source is not None:
        dtype = item._k.dtype
        array = need_values(item) if dtype.name in ("bool", "uint8") else item._data if F.valueless(item) else values_of(item)
        if dtype.category > INTEGER or array.ndim and dtype.name in ("int8", "int16", "uint16", "uint32", "uint64"):
            raise IndexRangeError("tensors used as indices must be long, int, byte or bool tensors", expected="int64, int32, uint8 or bool",
                                  found=dtype.name, remedy="convert the index with .long()")
        if array.__class__ not in BUFFERS:  # an example's geometry: its numbers differ from example to example
            wanted = as_dtype("bool" if dtype.name in ("bool", "uint8") else "int64")
            source = item if dtype is wanted else F.cast(item, wanted)
            return source._data, source
        if dtype.name == "uint8":
            array = array.astype(bool)
    elif isinstance(item, (list, tuple, _ndarray, range)):
        array = np.array([x.item() if isinstance(x, TensorRef) else x for x in item] if not isinstance(item, _ndarray) else item)
        if array.dtype == object or array.dtype.kind in "fc" and array.size:
            raise IndexRangeError("tensors used as indices must be long, int, byte or bool tensors", expected="whole numbers or bools",
                                  found=str(item), remedy="index with whole numbers")
    elif isinstance(item, str):
        raise ArgumentError("new(): invalid data type 'str'", expected="an index", found="str", remedy="index with numbers or tensors")
    else:
        raise IndexRangeError(_INVALID.format(type(item).__name__), expected="an index", found=type(item).__name__,
                              remedy="index with numbers, ranges or tensors")
    if array.dtype != bool and array.dtype != np.int64:
        array = array.astype(np.int64)
    return array, source


def _slice_bounds(item: slice) -> slice:
    parts = []
    for x in (item.start, item.stop, item.step):
        if x is not None and not isinstance(x, int):
            try:
                values = values_of(x) if isinstance(x, TensorRef) else x
                x = operator.index(values if values.__class__ in BUFFERS else x) if isinstance(x, TensorRef) else x.__index__()
            except TypeError:
                raise ArgumentError("only integer tensors of a single element can be converted to an index", found=str(x.dtype)) from None
            except AttributeError:
                raise ArgumentError("slice indices must be integers or None or have an __index__ method", found=type(x).__name__) from None
        parts.append(x)
    return slice(*parts)


def _parse(F: Functions, shape: Sequence[int], index: object) -> tuple[tuple[slice | int | None, ...], Indices | None]:
    """(basic index, index arrays for what it leaves) of any index that torch takes; its errors for others."""
    if index.__class__ is int and shape and -shape[0] <= index < shape[0]:
        return (index,), None
    items = _as_tuple(index)
    n, arrays, consumed = len(shape), {}, 0
    for i, item in enumerate(items):
        if isinstance(item, (bool, np.bool_)) or item is None or item is ...:
            continue
        if isinstance(item, (int, np.integer, slice)):
            consumed += 1
            continue
        arrays[i] = _array(F, item)
        consumed += arrays[i][0].ndim if arrays[i][0].dtype == bool else 1
    if F.numpy_indexing and any([a.ndim for a, *_ in arrays.values()]):
        numbers = [i for i, item in enumerate(items) if isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_))]
        apart = sorted([*arrays, *numbers])
        if apart[-1] - apart[0] >= len(apart):  # apart from each other: numbers then count as arrays, whose dimensions come first
            arrays.update({i: _array(F, [int(items[i])]) for i in numbers})
    if consumed > n:
        if not n and len(items) == 1 and isinstance(items[0], slice):
            raise IndexRangeError("slice() cannot be applied to a 0-dim tensor.")
        if not n and len(items) == 1 and not arrays:
            raise IndexRangeError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert "
                                  "a "
                                  "0-dim tensor to a number", remedy="use .item()")
        raise IndexRangeError(f"too many indices for tensor of dimension {n}", expected=f"at most {n}", found=str(consumed))
    basic: list[Any] = []
    key: list[Any] = []
    sources: list[TensorRef] = []
    places: list[int] = []
    d = 0  # the next dimension of `shape`
    for i, item in enumerate(items):
        if item is None:
            basic.append(None)
            key.append(_ALL)
        elif item is ...:
            skip = n - consumed
            consumed += skip  # a second Ellipsis stands for nothing
            basic += [_ALL] * skip
            key += [_ALL] * skip
            d += skip
        elif isinstance(item, (bool, np.bool_)):
            basic.append(None)
            key.append(np.zeros(1 if item else 0, np.int64))
        elif isinstance(item, slice):
            item = _slice_bounds(item)
            if item.step is not None and item.step <= 0:
                raise _step_error(item.step)
            basic.append(item)
            key.append(_ALL)
            d += 1
        elif i not in arrays or arrays[i][0].ndim == 0 and arrays[i][0].dtype != bool and arrays[i][0].__class__ in BUFFERS:
            at = int(item if i not in arrays else arrays[i][0])
            if not -shape[d] <= at < shape[d]:
                raise IndexRangeError(f"index {at} is out of bounds for dimension {i} with size {shape[d]}",
                                      expected=f"{-shape[d]} to {shape[d] - 1}", found=str(at))
            basic.append(at)
            d += 1
        else:
            array, source = arrays[i]
            if array.dtype == bool and not array.ndim and array.__class__ in BUFFERS:
                basic.append(None)
                key.append(np.zeros(1 if array else 0, np.int64))
                continue
            if source is not None:
                sources.append(source)
                places.append(len(key))
            rank = array.ndim if array.dtype == bool else 1
            basic += [_ALL] * rank
            d += rank
            key.append(array)
    while key and key[-1] is _ALL:
        key.pop()
    return tuple(basic), Indices(key, sources, places) if key else None


class StepError(AutogradError, ValueError):
    """A range with a step that is not positive."""

    builtin = ValueError


def _step_error(step: int) -> AutogradError:
    return StepError("slice step cannot be zero" if step == 0 else "step must be greater than zero", expected="a positive step",
                      found=str(step), remedy="flip the tensor with .flip() for a negative step")


def _goes_back(index: object) -> bool:
    return any([isinstance(i, slice) and i.step is not None and operator.index(i.step) < 0
                for i in (index if isinstance(index, tuple) else (index,))])


def _ahead(F: Functions, self: Any, index: Any) -> tuple[Any, Any]:
    """A tensor, flipped, and an index without ranges that go back, for an index that has some."""
    items = list(index) if isinstance(index, tuple) else [index]
    taken = [0 if i is None or i is Ellipsis else i.ndim if _is_mask(i) else 1 for i in items]
    dim = 0
    for position, (item, count) in enumerate(zip(items, taken)):
        if item is Ellipsis:
            dim += self.ndim - sum(taken)
        elif isinstance(item, slice) and _goes_back(item):
            at = range(*item.indices(self.shape[dim]))
            ahead = slice(at[-1], at[0] + 1, -at.step) if at else slice(0, 0)
            self = F.flip(_get(F, self, (*[_ALL] * dim, ahead)), (dim,))
            items[position] = _ALL
        dim += count
    return self, tuple(items)


def _is_mask(item: object) -> bool:
    return isinstance(item, TensorRef) and item._k.np.kind == "b" or isinstance(item, np.ndarray) and item.dtype.kind == "b"


def _view_at(F: Functions, self: TensorRef, basic: tuple[int | slice | None, ...]) -> TensorRef:
    """The view at a basic index; the tensor itself where it changes nothing."""
    return getattr(F, f"basic_{_view_name(basic, self.shape)}")(self, basic)


def _get(F: Functions, self: TensorRef, index: object) -> TensorRef:
    try:
        basic, indices = _parse(F, self.shape, index)
    except StepError:
        if not F.numpy_indexing or not _goes_back(index):
            raise
        return _get(F, *_ahead(F, self, index))
    if indices is None:
        return getattr(F, f"basic_{_view_name(basic, self.shape, index.__class__ is slice)}")(self, basic)
    if any([item is None or item.__class__ is int or item != _ALL for item in basic]):
        self = _view_at(F, self, basic)
    _warn_of_bytes(indices)
    return F.index(self, indices)


def _warn_of_bytes(indices: Indices) -> None:
    for t, _ in indices.sources:
        if t._k.dtype.name == "uint8":
            warned.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.", UserWarning)


def is_plain_apart(x: Any, a: np.ndarray) -> bool:
    """Whether a tensor is of the dtype of an array that is to be changed, which all kernels know, has no history, and is surely no view of
    the array's memory, nor the array one of its."""
    return (isinstance(x, TensorRef) and x._k.np is a.dtype and a.dtype.char in _KNOWN and x._k in KIND_SETS["Q_ANY"] and x._node is None
            and x._v is None and x._data is not a)


def is_index_apart(index: Any, a: np.ndarray) -> bool:
    """The same of an index of int64."""
    return isinstance(index, TensorRef) and index._k is INT64_KIND and a.dtype.char in _KNOWN and (
        a.dtype.char != "l" or index._v is None and index._data is not a)


_KNOWN = frozenset("fdl?Ee")


def _to_put(F: Functions, input: TensorRef, indices: Indices, values: TensorRef, accumulate: bool = False) -> TensorRef:
    """The values to put at indices: one element at one mask is filled in, whatever its dtype; all others are as `input`, or refused."""
    if not accumulate and values._data.size == 1 and indices.has_mask and sum([item is not _ALL for item in indices.key]) == 1:
        _first_ones(input._data, indices.key)
        if indices.sources and indices.sources[0][0]._k.dtype.name == "uint8":
            raise AutogradError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char",
                                remedy="use a mask of bools")
        if values._k.dtype is input._k.dtype:
            return values
        if not on_meta(input, values):
            check_number(values_of(values).reshape(()).item(), input._k.dtype)
        return F.cast(values, input._k.dtype)
    _warn_of_bytes(indices)
    if values._k.dtype is not input._k.dtype:
        _check_fits(input._data, indices, values._data)
        raise AutogradError("Index put requires the source and destination dtypes match, got "
                            f"{SCALAR_TYPE_NAMES[input._k.dtype.name]} for the destination and "
                            f"{SCALAR_TYPE_NAMES[values._k.dtype.name]} for the source.")
    return values


def _number_fits(F: Functions, self: TensorRef, value: float) -> float:
    """A Python number as what is written into `self`; torch's error where it does not fit. Half precision gets infinities."""
    dtype: DType = self._k.dtype
    if isinstance(value, int) and not -2 ** 63 <= value < 2 ** 63:
        raise SizeError("Overflow when unpacking long long", expected="64 bits", found=str(value), remedy="pass a smaller number")
    if isinstance(value, complex) or dtype.name not in ("float16", "bfloat16"):
        check_number(value, dtype)
    return value.real if isinstance(value, complex) and not dtype.is_complex else value


def _as_element(value: float, dtype: DType) -> np.ndarray:
    """A number as an element of a dtype, 0-dim."""
    return np.asarray(value).astype(dtype.np) if dtype.code is None and dtype is not float16 else number_array(value, dtype)


def _set(F: Functions, self: TensorRef, index: object, value: Any) -> None:
    if not isinstance(value, (TensorRef, int, float, complex, np.generic)):
        raise ArgumentError(f"can't assign a {type(value).__name__} to a torch.{SCALAR_TYPE_NAMES[self._k.dtype.name]}Tensor",
                            expected="a number or a tensor", found=type(value).__name__, remedy="make it a tensor first")
    if index is False:
        return
    basic, indices = ((None,), None) if index is True else _parse(F, self.shape, index)
    if self._base is not None and self._node is None and isinstance(value, TensorRef):
        F.check_inplace(self, [value])  # a view of it would not know how it was made
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, TensorRef):
        value = _number_fits(F, self, value)
    trivial = _takes_all(basic, self.shape)
    view = self if index is ... or trivial and basic else _view_at(F, self, basic)
    if indices is None:
        if not isinstance(value, TensorRef):
            value = F.wrap(_as_element(value, self._k.dtype), self._k)
        if value.ndim or not view.ndim:
            F.copy_(view, _fitted(F, value, view.shape))
        else:
            F.fill_(view, value)
        return
    if isinstance(value, TensorRef):
        value = _without_lead(F, value)
    F.check_inplace(view, [value] if isinstance(value, TensorRef) else [])
    if not isinstance(value, TensorRef):
        value = F.wrap(_as_element(value, self._k.dtype), self._k)
    F.put_at_(view, indices, _to_put(F, view, indices, value))


def _takes_all(basic: Arguments, shape: Sequence[int]) -> bool:
    """Whether a basic index leaves everything as it is."""
    for item, n in zip(basic, shape):
        if item is None or item.__class__ is int or item != _ALL and item.indices(n) != (0, n, 1):
            return False
    return len(basic) <= len(shape)


def _without_lead(F: Functions, value: TensorRef) -> TensorRef:
    """`value` without leading dimensions of size one."""
    shape = value.shape
    lead = 0
    while lead < len(shape) and shape[lead] == 1:
        lead += 1
    return F.view(value, shape[lead:]) if lead else value


def _fitted(F: Functions, value: Any, shape: Sequence[int]) -> TensorRef:
    if value.shape == shape:
        return value
    value = F.view(value, _without_lead(F, value).shape)
    return value if tuple(value.shape) == tuple(shape) else F.expand(value, shape)


def _reads(index: int | tuple[EllipsisType | slice, ...] | slice, **_: TensorRef) -> str:
    """Single booleans among indices decide on the shape."""
    if index.__class__ is int or index.__class__ is slice:
        return ""
    masks = [x for x in _as_tuple(index) if isinstance(x, TensorRef) and x._k.dtype.name in ("bool", "uint8")]
    return "index" if any([not x.ndim for x in masks]) else ""


# -- x[index], x[index] = value ------------------------------------------------------------------------------------------------


def _hot_namespace(F: Functions, ns: Any) -> Arguments:
    return ns, F.Tensor, object.__new__, ns["unwatched_view"], grad_mode, GradMode.ENABLED, next_id


def _unless_held(function: Fn) -> Fn:
    """An operation that a quiet path calls: while a tape records, which holds the whole, not there."""
    def called(*args: object) -> object:
        if recordings:
            raise ValueError
        return function(*args)

    return called


def _plain_key(index: Arguments, Tensor: type[TensorRef], ndim: int) -> Indices:
    """An index of plain tensors of int64 and bool, and of whole ranges; ValueError where it is of something else, too."""
    key: list[Any] = []
    tensors: list[TensorRef] = []
    places: list[int] = []
    for item in index:
        if item.__class__ is Tensor:
            if (item._k is INT64_KIND or item._k is BOOL_KIND) and (rank := item._data.ndim):
                ndim -= rank if item._k is BOOL_KIND else 1
                tensors.append(item)
                places.append(len(key))
                key.append(item._data)
                continue
        elif item.__class__ is slice and item.start is None and item.stop is None and item.step is None:
            ndim -= 1
            key.append(_ALL)
            continue
        raise ValueError
    if ndim < 0:
        raise ValueError
    return Indices(key[:places[-1] + 1], tensors, places)


@op("getitem(Tensor input, Any index) -> Tensor", method=False, out=False, namespace="_internal")
class getitem:
    """`x[index]`, for all indices torch takes: a view where numbers, ranges, None and Ellipsis suffice, else a copy.

    >>> x = torch.tensor([[1., 2.], [3., 4.]])
    >>> x[0], x[:, 1], x[x > 2], x[[1, 0], [0, 0]]
    (tensor([1., 2.]), tensor([2., 4.]), tensor([3., 4.]), tensor([3., 1.]))
    """

    shown_as = "__getitem__"

    def make(F: Functions, namespace: object, general: Irregular | Fn) -> Fn:
        ns, Tensor, new, unwatched_view, grad_mode, ENABLED, next_id = _hot_namespace(F, namespace)
        select, range_, new_node = node_class(_VIEWS["select"]), node_class(_VIEWS["slice"]), object.__new__
        nodes = {name: node_class(rec) for name, rec in _VIEWS.items()}
        gather = F.index if namespace is F.namespace else _unless_held(F.index)

        # The quiet path in one frame: a view of one number, one range, or a tuple of these.
        def getitem(input, index):
            try:
                k = input._k
                if k is ns["Q_F32"] or k in ns["Q_ALL"] or k in ns["Q_HALF"]:
                    c = index.__class__
                    a = input._data
                    if c is int:
                        r, key, Node = a[index, ...], (index,), select
                    elif c is slice:
                        if index.step is not None and index.step <= 0:
                            raise ValueError
                        r, key, Node = a[index], (index,), range_
                    elif c is tuple:
                        Node, after_new, hidden = None, False, False
                        for item in index:
                            c = item.__class__
                            if c is slice:
                                if item.step is not None and item.step <= 0:
                                    raise ValueError
                                if after_new and (item.start is not None or item.stop is not None or item.step is not None):
                                    hidden = True  # the new dimension's stride is not to be read off the result
                                after_new = False
                            elif item is None:
                                if not a.shape:
                                    raise ValueError
                                after_new = True
                            elif c is Tensor:
                                return gather(input, _plain_key(index, Tensor, a.ndim))
                            elif c is not int and item is not ...:
                                raise ValueError
                            elif after_new:
                                hidden = True
                        key = index
                        if hidden and a.flags.c_contiguous and 1 not in a.shape and ... not in index:
                            r = _axes_first(a, index)
                        else:
                            r = a[index]
                            if r.__class__ is not _ndarray:
                                r = a[(*index, ...)]
                            if hidden:
                                r = _new_axes(a, r, index)
                        if r.dtype.char == "E" and None in index and (r.size < 2 or 0 in a.strides):
                            raise ValueError  # NumPy does not know the new dimension's stride
                    elif index is None and a.shape:
                        r, key, Node = a[None], (None,), nodes["unsqueeze"]
                    elif c is Tensor and index._k is INT64_KIND and index._data.ndim and a.ndim:
                        return gather(input, Indices((index._data,), (index,)))
                    elif c is Tensor and index._k is BOOL_KIND and 0 < index._data.ndim <= a.ndim:
                        return gather(input, Indices((index._data,), (index,)))
                    elif c is Tensor and a.ndim and k in ns["Q_HALF"]:
                        return gather(input, _plain_key((index,), Tensor, a.ndim))
                    else:
                        raise ValueError
                    t = new(Tensor)
                    t._data, t._k = r, k
                    v = input._v
                    if v is None:
                        v = Version.of(input)
                    t._v = v
                    base = input._base
                    t._base = input if base is None else base
                    node = input._node
                    if grad_mode() is ENABLED:
                        v.add_view(t)
                        if node is not None:
                            if Node is None:
                                Node = nodes[_view_name(index, a.shape)]
                            n = new_node(Node)
                            n.id = next_id()
                            n.edges = (input if node is LEAF else node,)
                            n.saved = (a.shape, key)
                            n.meta = None
                            t._node = n
                            return t
                    else:
                        unwatched_view(t)
                        return t
                    t._node = None
                    return t
            except (ValueError, TypeError, IndexError, AttributeError):
                pass  # the general path below says what is wrong, or does it
            return general((input, index))

        return getitem

    parts = ("basic_select", "basic_slice", "basic_unsqueeze", "index")
    def recorded(entry, input, index): return input, entry.saved[1]
    reads = _reads

    def function(F, input, index): return _get(F, input, index)
    known_as = ""

    def samples(rng):
        yield rng.standard_normal((3, 4)), 1
        yield rng.standard_normal((3, 4)), (slice(None), slice(0, 4, 2))
        yield rng.standard_normal((3, 4)), (..., None, -1)
        yield rng.standard_normal((3, 4)), [0, 2, 0]
        yield rng.standard_normal((3, 4)), (slice(1, None), [1, 1, 3])
        yield rng.standard_normal((2, 3, 4)), (0, slice(None), [1, 2])
        yield rng.standard_normal((2, 3)), np.array([[True, False, True], [False, False, True]])

    def errors(rng):
        yield (np.ones((3, 4)), 5), IndexError, "index 5 is out of bounds for dimension 0 with size 3"
        yield (np.ones((3, 4)), (0, 9)), IndexError, "index 9 is out of bounds for dimension 1 with size 4"
        yield (np.ones((3, 4)), (0, 0, 0)), IndexError, "too many indices for tensor of dimension 2"
        yield (np.ones((3, 4)), slice(None, None, -1)), ValueError, "step must be greater than zero"
        yield (np.ones((3, 4)), slice(None, None, 0)), ValueError, "slice step cannot be zero"
        yield (np.ones((3, 4)), 1.5), IndexError, _INVALID.format("float")
        yield (np.ones((3, 4)), [7]), IndexError, "index 7 is out of bounds for dimension 0 with size 3"
        yield (np.ones((3, 4)), (slice(None), [7])), IndexError, "index 7 is out of bounds for dimension 0 with size 4"
        yield (np.ones((3, 4)), ([0, 1], [0, 1, 2])), IndexError, (
            "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]")
        yield (np.ones((3, 4)), np.zeros(2, bool)), IndexError, (
            "The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [3, 4] at index 0")
        yield (np.ones(()), 0), IndexError, ("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ "
                                             "to "
                                             "convert a 0-dim tensor to a number")
        yield (np.ones(()), slice(0, 1)), IndexError, "slice() cannot be applied to a 0-dim tensor."


@op("setitem(Tensor input, Any index, Any value) -> Tensor", method=False, out=False, namespace="_internal")
class setitem:
    """`x[index] = value`, in place.

    >>> x = torch.zeros(2, 2)
    >>> x[0] = torch.tensor([1., 2.])
    >>> x[x == 0] = 5
    >>> x
    tensor([[1., 2.],
            [5., 5.]])
    """

    shown_as = "__setitem__"

    def make(F: Functions, namespace: object, general: Irregular) -> Fn:
        ns, Tensor, _, _, grad_mode, ENABLED, _ = _hot_namespace(F, namespace)

        def setitem(input, index, value):
            try:
                k, a, base = input._k, input._data, input._base
                half = False
                if (k is ns["Q_F32"] or k in ns["Q_ALL"] or (half := k in ns["Q_HALF"])) and (
                        input._node is None and (base is None or base._node is None) or grad_mode() is not ENABLED):
                    c = value.__class__
                    if c is bool and k is BOOL_KIND:
                        v = value
                    elif c is float or c is int:
                        v = value
                        if half and (c is float or -128 < value < 128):
                            v = _as_element(value, k.dtype)
                        elif c is float and k.np.kind in "iub" and -1 < value < 128:  # cut off
                            v = int(value) if k is not BOOL_KIND else value != 0
                        elif k not in ns["Q_FLOAT"] and (c is float or k is not INT64_KIND and not (k is BOOL_KIND and value in (0, 1))):
                            raise ValueError
                    elif (value._k is k and (value._node is None or grad_mode() is not ENABLED)
                          and (input._v is None or value._v is not input._v)):
                        v = value._data
                    else:
                        raise ValueError
                    c = index.__class__
                    if c is slice:
                        if index.step is not None and index.step <= 0:
                            raise ValueError
                        key = index
                    elif c is int:
                        key = index
                    elif c is tuple:
                        key, mixed, picked = index, False, False
                        for item in index:
                            c = item.__class__
                            if c is slice:
                                if item.step is not None and item.step <= 0:
                                    raise ValueError
                            elif c is int or item is ...:
                                mixed = True
                            elif c is Tensor and (item._k is INT64_KIND or item._k is BOOL_KIND) and item._data.ndim and (
                                    input._v is None or item._v is not input._v):
                                picked = True
                            elif c is list and item and not [i for i in item if i.__class__ is not int]:
                                picked = True
                            else:
                                raise ValueError
                        if picked:
                            if mixed:  # NumPy takes numbers for index arrays, and an ellipsis of nothing for a range between them
                                raise ValueError
                            key = tuple([item._data if item.__class__ is Tensor else item for item in index])
                    elif c is Tensor and (index._k is INT64_KIND or index._k is BOOL_KIND) and 0 < index._data.ndim <= a.ndim:
                        key = index._data
                    else:
                        raise ValueError
                    if 0 in a.strides:
                        raise ValueError
                    if half:  # moved as its bits
                        a, v = a.view(_BITS), v.view(_BITS)
                    a[key] = v
                    version = input._v
                    if version is None:
                        Version.count(input)
                    else:
                        version.number += 1
                    return
            except (ValueError, TypeError, IndexError, AttributeError, OverflowError):
                pass  # the general path below says what is wrong, or does it
            general((input, index, value))

        return setitem

    parts = ("basic_select", "basic_slice", "put_at", "copy")
    reads = _reads

    def function(F, input, index, value): _set(F, input, index, value)
    known_as = ""
    writes = True

    def samples(rng):
        yield rng.standard_normal((3, 4)), 1, 2.5
        yield rng.standard_normal((3, 4)), (slice(None), [0, 2]), rng.standard_normal((3, 1))

    def errors(rng):
        x = np.ones((3, 4), np.float32)
        yield (x, 0, np.zeros(5, np.float32)), RuntimeError, (
            "The expanded size of the tensor (4) must match the existing size (5) at non-singleton dimension 0.  Target sizes: [4].  "
            "Tensor "
            "sizes: [5]")
        yield (x, 0, "a"), TypeError, "can't assign a str to a torch.FloatTensor"
        yield (x, 0, None), TypeError, "can't assign a NoneType to a torch.FloatTensor"
        yield (x, 5, 1), IndexError, "index 5 is out of bounds for dimension 0 with size 3"
        yield (x, 0, 1j), RuntimeError, "value cannot be converted to type float without overflow"
        yield (x, [0, 1], np.zeros((3, 4), np.float32)), RuntimeError, (
            "shape mismatch: value tensor of shape [3, 4] cannot be broadcast to indexing result of shape [2, 4]")
        yield (x, [0, 1], np.zeros((2, 4))), RuntimeError, (
            "Index put requires the source and destination dtypes match, got Float for the destination and Double for the source.")


@op("index_put(Tensor input, Any indices, Tensor values, bool accumulate=False) -> Tensor", inplace=True, out=False)
class index_put:
    """`input` with `values` put at index tensors, or added where `accumulate`.

    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 2]),), torch.tensor([1., 2.]))
    tensor([1., 0., 2.])
    """

    lacks = {"uint float8_e8m0fnu": "index_put"}

    def quick(input, indices, values, accumulate):
        if values.dtype is not input.dtype or (indices.__class__ is not tuple and indices.__class__ is not list) or not (
                0 < len(indices) <= input.ndim) or [i for i in indices if i._k is not INT64_KIND or not i._data.ndim]:
            return None
        result = copy_like(input)
        put(result, tuple([i._data for i in indices]), values, accumulate)
        return result

    def overwrites(a, indices, values, accumulate):
        if (indices.__class__ is not tuple and indices.__class__ is not list) or accumulate.__class__ is not bool or not (
                0 < len(indices) <= a.ndim) or [i for i in indices if not is_index_apart(i, a) or not i._data.ndim] or not (
                is_plain_apart(values, a)):
            return False
        put(a, tuple([i._data for i in indices]), values._data, accumulate)
        return True

    def function(F, input, indices, values, accumulate=False):
        return F.put_at(input, *_put_arguments(F, input, indices, values, accumulate), accumulate)

    def function_(F, input, indices, values, accumulate=False):
        arguments = _put_arguments(F, input, indices, values, accumulate)
        check_apart(input, indices, True)
        return F.put_at_(input, *arguments, accumulate)

    def samples(rng):
        yield rng.standard_normal((3, 4)), (np.array([0, 2]),), rng.standard_normal((2, 4))
        yield rng.standard_normal((3, 4)), (np.array([0, 2, 0]),), rng.standard_normal(()), True

    def errors(rng):
        yield (np.ones((3, 4)), (np.array([0, 1, 2, 0, 0]),), np.zeros((3, 4))), RuntimeError, (
            "shape mismatch: value tensor of shape [3, 4] cannot be broadcast to indexing result of shape [5, 4]")


_BITS = np.dtype(np.uint16)


def _put_arguments(F: Functions, input: TensorRef, indices: Any, values: TensorRef, accumulate: bool) -> tuple[Indices, TensorRef]:
    if not isinstance(indices, (tuple, list)):
        raise ArgumentError(f"index_put(): argument 'indices' (position 2) must be tuple of Tensors, not {type(indices).__name__}")
    if len(indices) > input.ndim:
        raise IndexRangeError(f"too many indices for tensor of dimension {input.ndim} (got {len(indices)})")
    for at, item in enumerate(indices):
        if not isinstance(item, TensorRef):
            raise ArgumentError(f"expected Tensor as element {at} in argument 1, but got {type(item).__name__}", expected="Tensor",
                                found=type(item).__name__)
    found = [_array(F, i) for i in indices]
    where = Indices([a for a, _ in found], [s for _, s in found])
    return where, _to_put(F, input, where, values, accumulate)
