"""Batching rules of operations that pick, put and count elements at positions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autograd_tape.indices import _ALL

from ._batching import Call, F, is_example, rule, shifted
from ._whole import front


@rule("basic_select basic_slice basic_unsqueeze basic_alias")
def basic_index(call: Call) -> Any:
    """The whole batch dimension before the index."""
    return call(index=(slice(None), *call.index))


@rule("basic_index_backward")
def basic_index_backward(call: Call) -> Any:
    """The whole batch dimension before the index."""
    return call(shape=(call.size, *call.shape), index=(slice(None), *call.index))


def _deeper(indices: Any) -> tuple[Any, int]:
    """(index arrays one dimension further, where NumPy then puts the batch dimension): behind what the arrays pick, which comes first,
    where they are apart from each other."""
    key = indices.key
    places = [i for i, k in enumerate(key) if not isinstance(k, slice)]
    apart = places and places[-1] - places[0] + 1 != len(places)
    at = max([1 if key[i].dtype == bool else key[i].ndim for i in places]) if apart else 0
    return type(indices)((_ALL, *key), [t for t, _ in indices.sources]), at


@rule("index")
def index(call: Call) -> Any:
    """Index arrays that all examples share."""
    indices, at = _deeper(call.indices)
    result = call(indices=indices)
    return F.movedim(result, at, 0) if at else result


@rule("index_backward")
def index_backward(call: Call) -> Any:
    """Index arrays that all examples share."""
    indices, at = _deeper(call.indices)
    return call(grad=F.movedim(call.grad, 0, at) if at else call.grad, shape=(call.size, *call.shape), indices=indices)


@rule("put_at")
def put_at(call: Call) -> Any:
    """Index arrays that all examples share."""
    indices, at = _deeper(call.indices)
    x, values = call.whole("input"), call.values["values"]
    if call.is_batched["values"]:
        shape = _picked_shape(x, indices, at)
        for _ in range(len(shape) - call.ranks["values"]):
            values = F.unsqueeze(values, 1)
    if at:
        values = F.movedim(F.expand(values, (call.size, *_picked_shape(x, indices, at))), 0, at)
    return call(input=x, indices=indices, values=values)


def _picked_shape(x: Any, indices: Any, at: int) -> tuple[int, ...]:
    """What index arrays pick of one example."""
    shape = tuple(F.index(x.detach(), indices)._data.shape)
    return shape[:at] + shape[at + 1:]


def _own_indices(call: Call, name: str) -> tuple[Any, int, int] | None:
    """(indices with the example's number in front, dimensions they pick, sliced dimensions that came before those) where each example has
    index tensors of its own; None where these are examples of several vmaps, whose numbers nobody can read."""
    indices = call.values[name]
    sources = {id(t._data): t for t, _ in indices.sources}
    arrays = [k for k in indices.key if not isinstance(k, slice)]
    rank = max(k.ndim for k in arrays)
    key: list[Any] = [np.arange(call.size).reshape((call.size,) + (1,) * rank)]
    kept = []
    for k in indices.key:
        owner = None if isinstance(k, slice) else sources.get(id(k))
        if owner is not None and is_example(owner, call.level):
            whole = front(owner)
            if type(whole) is type(owner):
                return None
            data = whole._data if whole._data.dtype == np.int64 else whole._data.astype(np.int64)
            k = data.reshape((data.shape[0],) + (1,) * (rank - data.ndim + 1) + data.shape[1:])
            owner = whole
        elif not isinstance(k, slice):
            k = k.reshape((1,) + (1,) * (rank - k.ndim) + k.shape)
        if owner is not None:
            kept.append(owner)
        key.append(k)
    places = [i for i, k in enumerate(indices.key) if not isinstance(k, slice)]
    together = places[-1] - places[0] + 1 == len(places)
    return type(indices)(key, kept), rank, places[0] if together else 0


def _behind(t: Any, rank: int, lead: int) -> Any:
    """The picked dimensions, right after the batch, moved behind `lead` others; the inverse where `lead` is negative."""
    if not rank or not lead:
        return t
    first = list(range(1, 1 + (rank if lead > 0 else -lead)))
    rest = list(range(1 + len(first), 1 + rank + abs(lead)))
    return F.permute(t, (0, *rest, *first, *range(1 + rank + abs(lead), t._data.ndim)))


@rule("indices")
def batched_indices(call: Call) -> Any:
    """Index tensors of which each example has its own: the example's number becomes a further index."""
    name = next(n for n, v in call.values.items() if v.__class__.__name__ == "Indices")
    if any(not isinstance(k, slice) and k.dtype == bool for k in call.values[name].key):
        return NotImplemented
    found = _own_indices(call, name)
    if found is None:
        return NotImplemented
    indices, rank, lead = found
    if call.rec.name == "index":
        return _behind(call(input=call.whole("input"), **{name: indices}), rank, lead)
    if call.rec.name == "index_backward":
        return call(grad=_behind(call.whole("grad"), rank, -lead), shape=(call.size, *call.shape), **{name: indices})
    x = call.whole("input")
    shape = tuple(F.index(x.detach(), indices)._data.shape)
    shape = shape[:1] + shape[1 + rank:1 + rank + lead] + shape[1:1 + rank] + shape[1 + rank + lead:]
    values = call.values["values"]
    for _ in range(len(shape) - 1 - call.ranks["values"] if call.is_batched["values"] else 0):
        values = F.unsqueeze(values, 1)
    return call(input=x, values=_behind(F.expand(values, shape), rank, -lead), **{name: indices})


def _lifted(call: Call, name: str) -> Any:
    """An argument with a batch dimension, and at least one more: examples of no dimension count as of one."""
    t = call.whole(name)
    return t if call.ranks[name] else F.unsqueeze(t, 1)


def _shaped(call: Call, result: Any, name: str) -> Any:
    """A result in the shape of examples of the argument `name`."""
    return result if call.ranks[name] else F.reshape(result, (call.size,))


@rule("gather")
def gather(call: Call) -> Any:
    """One dimension further, both with a batch dimension."""
    result = call(input=_lifted(call, "input"), index=_lifted(call, "index"), dim=shifted(call.dim, call.ranks["input"]))
    return _shaped(call, result, "index")


@rule("scatter_src scatter_add scatter_reduce scatter_value")
def scatter(call: Call) -> Any:
    """One dimension further, all with a batch dimension."""
    more = {"src": _lifted(call, "src")} if "src" in call.ranks else {}
    result = call(input=_lifted(call, "input"), index=_lifted(call, "index"), dim=shifted(call.dim, call.ranks["input"]), **more)
    return _shaped(call, result, "input")


def _spread(call: Call, dim: int, shape: tuple[int, ...]) -> Any:
    """An index vector for each example, along `dim` of a batch of `shape`, as an index for every element."""
    index = _lifted(call, "index")
    return F.expand(F.reshape(index, (call.size, *[index._data.shape[1] if d == dim else 1 for d in range(1, len(shape))])),
                    (*shape[:dim], index._data.shape[1], *shape[dim + 1:]))


@rule("index_select")
def index_select(call: Call) -> Any:
    """Along one dimension further; an index for each example picks element by element."""
    if not call.ranks["input"] or call.ranks["index"] > 1:
        return NotImplemented
    dim = shifted(call.dim, call.ranks["input"])
    if not call.is_batched["index"]:
        return call(dim=dim)
    x = call.whole("input")
    return F.gather(x, dim, _spread(call, dim, tuple(x._data.shape)))


@rule("index_add_scaled index_copy index_reduce")
def index_store(call: Call) -> Any:
    """Along one dimension further; by an index for each example element by element."""
    if call.ranks["index"] > 1 or bool(call.ranks["input"]) != bool(call.ranks["source"]):
        return NotImplemented
    x, source, dim = _lifted(call, "input"), _lifted(call, "source"), shifted(call.dim, call.ranks["input"])
    if not call.is_batched["index"]:
        return _shaped(call, call(input=x, source=source, dim=dim), "input")
    index = _spread(call, dim, tuple(x._data.shape))
    if index._data.shape != source._data.shape:
        return NotImplemented
    if call.rec.name == "index_reduce":
        result = F.scatter_reduce(x, dim, index, source, call.values["reduce"], include_self=call.include_self)
    else:
        result = (F.scatter_add if call.rec.name == "index_add_scaled" else F.scatter_src)(x, dim, index, source)
    return _shaped(call, result, "input")


@rule("index_fill_value index_fill_tensor")
def index_fill(call: Call) -> Any:
    """Along one dimension further; by an index, or with a value, for each example element by element."""
    if call.ranks["index"] > 1 or call.ranks.get("value"):
        return NotImplemented
    x, dim = _lifted(call, "input"), shifted(call.dim, call.ranks["input"])
    if not call.is_batched["index"] and not call.is_batched["value"]:
        return _shaped(call, call(input=x, dim=dim), "input")
    index = _spread(call, dim, tuple(x._data.shape))
    if "value" not in call.ranks:
        return _shaped(call, F.scatter_value(x, dim, index, call.value), "input")
    value = F.cast(call.whole("value"), x._k.dtype)
    value = F.expand(F.reshape(value, (call.size, *(1,) * (x._data.ndim - 1))), tuple(index._data.shape))
    return _shaped(call, F.scatter_src(x, dim, index, value), "input")


def _flat_positions(call: Call, n: int) -> Any:
    """Positions in flattened examples, (batch, count), those from the end counted from the start."""
    index = call.whole("index")
    index = F.reshape(index, (call.size, math.prod(index._data.shape[1:])))
    return F.where(F.lt(index, 0), index + n, index)


@rule("take")
def take(call: Call) -> Any:
    """Along the flattened examples."""
    x = call.whole("input")
    n = math.prod(x._data.shape[1:])
    result = F.gather(F.reshape(x, (call.size, n)), 1, _flat_positions(call, n))
    return F.reshape(result, (call.size, *call.whole("index")._data.shape[1:]))


@rule("put")
def put(call: Call) -> Any:
    """Along the flattened examples."""
    x, source = call.whole("input"), call.whole("source")
    n, count = math.prod(x._data.shape[1:]), math.prod(source._data.shape[1:])
    index = _flat_positions(call, n)
    if index._data.shape[1] != count or source._k.dtype is not x._k.dtype:
        return NotImplemented
    store = F.scatter_add if call.accumulate else F.scatter_src
    return F.reshape(store(F.reshape(x, (call.size, n)), 1, index, F.reshape(source, (call.size, count))), tuple(x._data.shape))


@rule("restride")
def restride(call: Call) -> Any:
    """Storage for each example, one behind the other."""
    reach = max(offset + 1 + sum([(n - 1) * s for n, s in zip(shape, strides)]) for shape, strides, offset in (call.source, call.target)
                if 0 not in shape or not shape)
    return call(**{name: ((call.size, *shape), (reach, *strides), offset)
                   for name, (shape, strides, offset) in (("source", call.source), ("target", call.target))})


@rule("at_indices")
def at_indices(call: Call) -> Any:
    """What spreads a gradient over picked places."""
    rank = len(call.shape)
    if not rank:
        return F.reshape(call.whole("grad"), (call.size,))
    return call(grad=call.whole("grad"), indices=call.whole("indices"), shape=(call.size, *call.shape), dim=shifted(call.dim, rank))


@rule("from_indices")
def from_indices(call: Call) -> Any:
    """What collects picked places."""
    if not call.ranks["input"]:
        return call.whole("input")
    return call(input=call.whole("input"), indices=call.whole("indices"), dim=shifted(call.dim, call.ranks["input"]))


@rule("diagonal_backward")
def diagonal_backward(call: Call) -> Any:
    """Dimensions of the result."""
    rank = len(call.shape)
    return call(shape=(call.size, *call.shape), dim1=shifted(call.dim1, rank), dim2=shifted(call.dim2, rank))


@rule("unfold_backward")
def unfold_backward(call: Call) -> Any:
    """A dimension of the result."""
    return call(shape=(call.size, *call.shape), dim=shifted(call.dim, len(call.shape))) if call.shape else NotImplemented


# -- tables -------------------------------------------------------------------------------------------------------------------------


def _rows_of_own(call: Call, rows: int) -> Any:
    """Indices into a table of each example, as indices into all tables one below the other."""
    indices = F.cast(call.whole("indices"), call.indices._k.dtype)
    first = F.reshape(F.arange(call.size, dtype=indices._k.dtype) * rows, (call.size, *(1,) * (indices._data.ndim - 1)))
    return indices + first


def _real_rows(call: Call) -> Any:
    """Which indices do not point to the row that stands for nothing, or None where there is no such row."""
    return None if call.padding_idx < 0 else F.unsqueeze(F.ne(call.whole("indices"), call.padding_idx), -1)


@rule("embedding embedding_scaled")
def embedding(call: Call) -> Any:
    """One table for all examples, or theirs one below the other. How often a row occurs is counted for each example."""
    if not call.is_batched["weight"] and not call.scale_grad_by_freq:
        return call()
    if call.ranks["weight"] != 2:
        return NotImplemented
    weight = call.whole("weight")
    _, rows, width = weight._data.shape
    result = call(weight=F.reshape(weight, (call.size * rows, width)), indices=_rows_of_own(call, rows), padding_idx=-1)
    real = _real_rows(call)
    if real is None:
        return result
    return F.where(real, result, result.detach() if call.rec.name == "embedding" else 0)


@rule("embedding_backward")
def embedding_backward(call: Call) -> Any:
    """The tables of all examples, one below the other."""
    grad, rows, real = call.whole("grad"), call.num_weights, _real_rows(call)
    result = call(grad=grad if real is None else F.where(real, grad, 0), indices=_rows_of_own(call, rows), num_weights=call.size * rows,
                  padding_idx=-1)
    return F.reshape(result, (call.size, rows, result._data.shape[-1]))


@rule("embedding_bag")
def embedding_bag(call: Call) -> Any:
    """More bags; where each example has a table of its own, the tables one below the other."""
    rank, offsets, padding = call.ranks["input"], call.offsets, call.padding_idx
    if call.is_batched["offsets"] or call.max_norm is not None or call.include_last_offset or rank not in (1, 2) or not call.size or \
            (rank == 1) is (offsets is None):
        return NotImplemented
    rows, weight = call.ranks["weight"] and call.weight._data.shape[-2], call.weight
    if call.is_batched["weight"] or call.scale_grad_by_freq:
        if padding is not None:
            return NotImplemented
        whole = call.whole("weight")
        weight = F.reshape(whole, (call.size * rows, whole._data.shape[2]))
        first = F.reshape(F.arange(call.size, dtype=call.input._k.dtype) * rows, (call.size, *(1,) * rank))
        indices = call.whole("input") + first
    else:
        indices = call.whole("input")
    count = indices._data.shape[1]
    shape = (call.size * count,) if rank == 1 else (call.size * count, indices._data.shape[2])
    if rank == 1:
        starts = F.reshape(F.arange(call.size, dtype=offsets._k.dtype) * count, (call.size, 1))
        offsets = F.reshape(F.unsqueeze(offsets, 0) + starts, (-1,))
    factors = None if call.per_sample_weights is None else F.reshape(call.whole("per_sample_weights"), shape)
    result = call(input=F.reshape(indices, shape), weight=weight, offsets=offsets, per_sample_weights=factors)
    return F.reshape(result, (call.size, result._data.shape[0] // call.size, result._data.shape[1]))


@rule("one_hot")
def one_hot(call: Call) -> Any:
    """As many classes for all examples."""
    if call.num_classes == -1:
        raise RuntimeError("When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.")
    return call()


# -- order --------------------------------------------------------------------------------------------------------------------------


@rule("searchsorted")
def searchsorted(call: Call) -> Any:
    """Rows of sequences, with as many rows of values."""
    sequence, values, rank = call.sorted_sequence, call.input, call.ranks["sorted_sequence"]
    if not call.is_batched["sorted_sequence"] and not call.is_batched["sorter"] and rank == 1:
        return call()
    if not rank or rank > 1 and call.ranks.get("input") != rank:
        return NotImplemented
    sequence = call.whole("sorted_sequence")
    if "input" not in call.ranks:
        values = F.full((call.size,), values, dtype=sequence._k.dtype)
    else:
        values = call.whole("input")
    shape = tuple(values._data.shape)
    if rank == 1:
        values = F.reshape(values, (call.size, math.prod(shape[1:])))
    return F.reshape(call(sorted_sequence=sequence, input=values, sorter=None if call.sorter is None else call.whole("sorter")), shape)


@rule("bucketize")
def bucketize(call: Call) -> Any:
    """Boundaries of each example are sequences to search."""
    if call.ranks["boundaries"] != 1:
        return NotImplemented
    if not call.is_batched["boundaries"]:
        return call()
    boundaries = call.boundaries
    values = call.whole("input") if "input" in call.ranks else F.full((call.size,), call.input, dtype=boundaries._k.dtype)
    if values._k.dtype is not boundaries._k.dtype:
        both = F.result_type(values, boundaries)
        values, boundaries = F.cast(values, both), F.cast(boundaries, both)
    shape = tuple(values._data.shape)
    flat = F.reshape(values, (call.size, math.prod(shape[1:])))
    return F.reshape(F.searchsorted(boundaries, flat, out_int32=call.out_int32, right=call.right), shape)


@rule("quantile nanquantile")
def quantile(call: Call) -> Any:
    """Along one dimension further. Where each example has quantiles of its own, all are computed for all, and its own picked."""
    x, rank, dim, q = call.whole("input"), call.ranks["input"], call.dim, call.q
    keepdim, several = call.keepdim, call.ranks.get("q", 0)
    if dim is None or not rank:
        if dim is not None:
            shifted(dim, 0)
        x, at, keep = F.reshape(x, (call.size, math.prod(x._data.shape[1:]))), 1, False
    else:
        at, keep = shifted(dim, rank), keepdim
    if call.is_batched["q"]:
        q = F.reshape(q, (-1,))
    result = call(input=x, q=q, dim=at, keepdim=keep)
    if call.is_batched["q"]:
        shape = tuple(result._data.shape)[2:]
        result = F.reshape(result, (call.size, -1, *((call.size,) + shape)))
        result = F.movedim(F.diagonal(result, 0, 0, 2), -1, 0)
        result = result if several else F.squeeze(result, 1)
    elif several:
        result = F.movedim(result, 0, 1)
    if keepdim and rank and dim is None:
        result = F.reshape(result, (*result._data.shape, *(1,) * rank))
    return result
