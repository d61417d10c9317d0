"""Tables of vectors looked up by index."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ... import warned
from ...dtypes import FLOATING, TENSOR_TYPE_NAMES
from ...errors import AutogradError, IndexRangeError, MissingKernelError, ShapeMismatchError, SizeError, check_rank
from ...executors.kernels import embedding as fused
from ...executors.kernels._on_demand import state
from ...executors.kernels.folds import within
from ...executors.kernels.halves import recast, widened
from ...modes import no_grad
from ...record import Sample, op
from ...views import check_single
from .._host import need_values, on_host, values_of
from .._samples import takes_floats
from ._losses import constant
from ...annotations import Functions
from ...tensor import TensorRef, above
from .._batch import BatchedCall


def _embedding(weight: np.ndarray, indices: np.ndarray, padding_idx: int = -1, scale_grad_by_freq: bool = False,
               sparse: bool = False) -> np.ndarray:
    if weight.ndim != 2:
        raise ValueError("a matrix expected")
    if indices.size * weight.shape[1] >= state.cheap:
        try:
            return fused.embedding(weight, indices)
        except IndexError:
            pass  # for the check below, which says more
    if not within(indices if indices.dtype.char == "l" else indices.astype(np.int64), weight.shape[0]):
        raise IndexRangeError("index out of range in self", expected=f"0 to {weight.shape[0] - 1}", found="another index",
                              remedy="enlarge the table, or correct the index")
    check_rank(indices.ndim + 1)
    return weight.take(indices, 0)


def _scaled_rows(weight: np.ndarray, indices: np.ndarray, padding_idx: int, scale_grad_by_freq: bool) -> np.ndarray:
    rows = weight.take(indices, 0)
    if scale_grad_by_freq and indices.size:
        rows /= np.bincount(indices.reshape(-1))[indices][..., None].astype(rows.dtype)
    rows[indices == padding_idx] = 0
    return rows


@op("embedding_backward(Tensor grad, Index indices, int num_weights, int padding_idx, bool scale_grad_by_freq) -> Tensor",
    namespace="_internal", method=False, out=False)
class embedding_backward:
    """The gradient for a table of `num_weights` rows: each row's cotangents added up."""

    def sharding(call):
        grad, at = call["grad"], [None if call["scale_grad_by_freq"] else i for i in range(call["indices"].ndim)]
        return call.propagate([[*at, "width"], at], [[None, "width"]], shapes=[(call["num_weights"], grad.shape[-1])])

    numpy = fused.embedding_backward
    def shape(grad, indices, num_weights, *rest): return (num_weights, grad[-1])
    compose = on_host(numpy)
    def vjp_grad(F, grad, indices, padding_idx, scale_grad_by_freq): return F.embedding_scaled(grad, indices, padding_idx,
                                                                                               scale_grad_by_freq)
    jvp = "linear"

    def batch(F, call):
        """The tables of all examples, one below the other."""
        grad, rows, real = call.whole("grad"), call.num_weights, _real_rows(F, call)
        result = call(grad=grad if real is None else F.where(real, grad, 0), indices=_rows_of_own(F, call, rows),
                      num_weights=call.size * rows, padding_idx=-1)
        return F.reshape(result, (call.size, rows, result.shape[-1]))

    def samples(rng): yield rng.standard_normal((2, 3, 4)), np.array([[0, 2, 2], [1, 0, 2]]), 5, 1, True


@op("embedding_scaled(Tensor weight, Index indices, int padding_idx, bool scale_grad_by_freq) -> Tensor", namespace="_internal",
    method=False, out=False)
class embedding_scaled:
    """Rows of `weight`, zero at `padding_idx` and divided by how often they occur: the transpose of `embedding_backward`."""

    sharding = "picks 0 indices"
    numpy = _scaled_rows
    def shape(weight, indices, *rest): return (*indices, weight[1])
    compose = on_host(numpy)
    def vjp_weight(F, grad, indices, weight_shape, padding_idx, scale_grad_by_freq):
        return F.embedding_backward(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq)
    def batch(F, call): return _batched_rows(F, call, lambda rows: 0)
    def samples(rng): yield rng.standard_normal((5, 4)), np.array([[0, 2, 2], [1, 0, 2]]), 1, True


def _rows_of_own(F: Functions, call: BatchedCall, rows: int) -> Any:
    """Indices into a table of each example, as indices into all tables one below the other."""
    indices = F.cast(call.whole("indices"), call.indices.dtype)
    first = F.reshape(F.arange(call.size, dtype=indices.dtype) * rows, (call.size, *(1,) * (indices.ndim - 1)))
    return indices + first


def _real_rows(F: Functions, call: BatchedCall) -> Any:
    """Which indices do not point to the row that stands for nothing, or None where there is no such row."""
    return None if call.padding_idx < 0 else F.unsqueeze(F.ne(call.whole("indices"), call.padding_idx), -1)


def _batched_rows(F: Functions, call: BatchedCall, unreal: Any) -> Any:
    """One table for all examples, or theirs one below the other. How often a row occurs is counted for each example. `unreal(rows)` is
    what is picked where an index points to the row that stands for nothing."""
    if not call.is_batched["weight"] and not call.scale_grad_by_freq:
        return call()
    if call.ranks["weight"] != 2:
        return NotImplemented
    weight = call.whole("weight")
    _, rows, width = weight.shape
    result = call(weight=F.reshape(weight, (call.size * rows, width)), indices=_rows_of_own(F, call, rows), padding_idx=-1)
    real = _real_rows(F, call)
    return result if real is None else F.where(real, result, unreal(result))


@op("embedding(Tensor weight, Index indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor", quiet="all",
    method=False, out=False, complex="no gradient")
class embedding:
    """Rows of `weight` (V, D) at `indices`: (..., D). The row `padding_idx` gets no gradient.

    >>> torch.embedding(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1, 1]))
    tensor([[3., 4.],
            [3., 4.]])
    """

    sharding = "picks 0 indices"
    saved_also = {"weight_sym_argsize_0": "weight_shape[0]"}
    saved_as = {"weight_shape": None}
    numpy = _embedding
    def shape(weight, indices, *rest): return (*indices, weight[1])
    compose = on_host(numpy)
    @takes_floats
    def check(weight, indices, padding_idx, scale_grad_by_freq, sparse):
        if weight.ndim != 2:
            raise ShapeMismatchError("'weight' must be 2-D")
        if indices.dtype.name not in ("int64", "int32"):
            raise AutogradError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
                                f"{TENSOR_TYPE_NAMES[indices.dtype.name]} instead (while checking arguments for embedding)")
    def vjp_weight(F, grad, indices, weight_shape, padding_idx, scale_grad_by_freq, sparse):
        if sparse:
            if above.sparse_rows is None:
                raise MissingKernelError("embedding with sparse=True: there are no sparse gradients; use sparse=False, whose gradient "
                                         "is dense")
            return above.sparse_rows(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq)
        return F.embedding_backward(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq)
    def batch(F, call): return _batched_rows(F, call, lambda rows: rows.detach())

    def samples(rng):
        yield rng.standard_normal((5, 3)), np.array([0, 4, 4, 2])
        yield rng.standard_normal((5, 3)), np.array([[0, 4], [4, 2]]), 3

    def errors(rng):
        yield (np.ones((3, 2)), np.array([5])), IndexError, "index out of range in self"
        yield (np.ones((3, 2)), np.array([-1])), IndexError, "index out of range in self"
        yield (np.ones(3), np.array([1])), RuntimeError, "'weight' must be 2-D"


def _renormalized(weight: np.ndarray, indices: np.ndarray, max_norm: float, norm_type: float) -> np.ndarray:
    rows = np.unique(indices)
    if rows.size and (rows[0] < -len(weight) or rows[-1] >= len(weight)):
        raise IndexRangeError("index out of range in self")
    picked = weight[rows]
    norms = np.linalg.norm(picked.astype(np.float64, copy=False), norm_type, 1)
    result = weight.copy()
    result[rows] = (picked * np.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)[:, None]).astype(weight.dtype)
    return result


@op("embedding_renorm(Tensor input, Index indices, float max_norm, float norm_type) -> Tensor", namespace="_internal", method=False,
    out=False, result="same", inplace=True)
class embedding_renorm:
    """A table with those of the rows at `indices` whose norm exceeds `max_norm` scaled down to it.

    >>> torch.embedding_renorm_(torch.tensor([[3., 4.], [1., 0.]]), torch.tensor([0]), 1., 2.)
    tensor([[0.6000, 0.8000],
            [1.0000, 0.0000]])
    """

    numpy = _renormalized
    compose = on_host(_renormalized)
    def shape(input, *rest): return input
    def check(input, indices, max_norm, norm_type):
        if indices._k.dtype.name not in ("int32", "int64"):
            raise AutogradError("Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got "
                                f"{TENSOR_TYPE_NAMES[indices._k.dtype.name]} instead (while checking arguments for "
                                "embedding_renorm_)")
        if input.ndim != 2:
            raise AutogradError(f"Expected 2-dimensional tensor, but got {input.ndim}-dimensional tensor for argument #1 'self' (while "
                                "checking arguments for embedding_renorm_)")

    def vjp(F, grad): raise NotImplementedError("the derivative for 'embedding_renorm' is not implemented.")
    def samples(rng): yield Sample((rng.standard_normal((5, 3)) * 4, np.array([0, 2, 2]), 1.0, 2.0), no_gradient="torch has none")


def _renormalize(F: Functions, weight: TensorRef, indices: TensorRef, max_norm: float, norm_type: float) -> None:
    """Scales looked-up rows whose norm exceeds `max_norm` down to it, in place and unrecorded, as torch does."""
    check_single(weight)
    with no_grad():
        F.embedding_renorm_(weight, indices, float(max_norm), float(norm_type))


def _padding(padding_idx: int | None, rows: int) -> int:
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


@op("nn_functional_embedding(Index input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, "
    "bool scale_grad_by_freq=False, bool sparse=False) -> Tensor", namespace="_internal", alias="nn.functional.embedding", method=False,
    out=False)
class nn_functional_embedding:
    """Rows of `weight` at the indices `input`; rows with a norm above `max_norm` are scaled down to it first, in place.

    >>> torch.nn.functional.embedding(torch.tensor([1]), torch.tensor([[1., 2.], [3., 4.]]))
    tensor([[3., 4.]])
    """

    def composite(input, weight, padding_idx, max_norm, *rest):
        rows = "[-1 if padding_idx is None else padding_idx % weight.shape[0], scale_grad_by_freq, sparse]"
        return None if max_norm is not None else f"embedding(weight, input, *but({rows}, [-1, False, False]))"

    def function(F, input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
        padding_idx = -1 if padding_idx is None else _padding(padding_idx, weight.shape[0])
        if max_norm is not None:
            _renormalize(F, weight, input, max_norm, norm_type)
        return F.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)

    def samples(rng): yield np.array([0, 4, 4, 2]), rng.standard_normal((5, 3)), -2


def _as_offsets(F: Functions, input: TensorRef, offsets: TensorRef) -> TensorRef:
    """Indices in the dtype that they and offsets have together; refuses what is no index."""
    for t in (input, offsets):
        if t._k.dtype.category >= FLOATING:
            raise AutogradError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
                                f"{TENSOR_TYPE_NAMES[t._k.dtype.name]} instead (while checking arguments for embedding_bag)")
    wide = offsets._k.dtype.name == "int64" and input._k.dtype.name != "int64"
    return F.cast(input, offsets._k.dtype) if wide else input


def _check_rows(index: np.ndarray, count: int, fast: bool) -> None:
    """Refuses rows that the table has not, in the words of torch's fast kernel or of the other."""
    wrong = np.flatnonzero((index < 0) | (index >= count)) if isinstance(index, np.ndarray) else ()
    if len(wrong):
        at, row = wrong[0], index[wrong[0]]
        raise AutogradError(f"Index {at} of input takes value {row} which is not in the valid range [0, {count})" if fast else
                            f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {row}")


def _quick_bags(input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
                padding_idx):
    """Bags of plain rows that all count."""
    char, weights = weight.dtype.char, per_sample_weights
    if input.dtype.char != "l" or weight.ndim != 2 or char not in "fdeE" or max_norm is not None or padding_idx is not None or sparse or \
            scale_grad_by_freq or include_last_offset or mode not in ("sum", "mean", "max") or not input.size or not weight.size:
        return None
    if weights is not None and (mode != "sum" or weights.shape != input.shape or weights.dtype is not weight.dtype):
        return None
    flat = np.ascontiguousarray(input).reshape(-1)
    if input.ndim == 2 and offsets is None:
        length = input.shape[1]
        starts, counts = _even_bags(len(input), length)
    elif input.ndim == 1 and offsets is not None and offsets.ndim == 1 and offsets.dtype.char == "l" and offsets.size:
        length, starts = 0, np.ascontiguousarray(offsets)
        counts = np.empty_like(starts)
        np.subtract(starts[1:], starts[:-1], out=counts[:-1])
        counts[-1] = len(flat) - starts[-1]
        if starts[0] != 0:  # what follows is looked at where it is used
            return None
    else:
        return None
    if mode != "max":
        return fused.bag_sums(weight, flat, weights, starts, counts, mode == "mean")
    if char in "fd":
        return fused.bags(weight, flat, starts, counts, True)
    y = fused.bags(widened(fused.embedding(weight, flat)), None, starts, counts, True)
    return None if y is None else recast(y, weight.dtype)


@lru_cache(128)
def _even_bags(bags: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Where bags of one size start, and how long they are; not to be changed."""
    return np.arange(bags) * length, np.full(bags, length)


@op("embedding_bag(Index input, Tensor weight, Index? offsets=None, float? max_norm=None, float norm_type=2, bool "
    "scale_grad_by_freq=False, "
    "str mode='mean', bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None) -> Tensor",
    namespace="nn.functional", method=False, out=False)
class embedding_bag:
    """Sums, means or maxima of bags of rows of `weight`: bags are the rows of a 2-d `input`, or start at `offsets` of a 1-d one.

    >>> torch.nn.functional.embedding_bag(torch.tensor([[0, 1]]), torch.tensor([[1., 2.], [3., 4.]]))
    tensor([[2., 3.]])
    """

    no_forward = "_embedding_bag"
    quick = _quick_bags
    amp = "whole"
    def function(F, input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                 per_sample_weights=None, include_last_offset=False, padding_idx=None):
        if weight._k.dtype.name == "int64" and input._k.dtype.category >= FLOATING:
            warned.warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
                        "deprecated, and should now be `embedding_bag(input, weight, ...)`.")
            weight, input = input, weight
        if per_sample_weights is not None and tuple(per_sample_weights.shape) != tuple(input.shape):
            raise SizeError(f"embedding_bag: If per_sample_weights (torch.Size({list(per_sample_weights.shape)})) is not None, then it "
                            f"must have the same shape as the input (torch.Size({list(input.shape)}))")
        if weight.ndim != 2:
            raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
        if input.ndim == 2:
            if offsets is not None:
                raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                                 "sequences. "
                                 f"However, found offsets of type {type(offsets)}")
            bags, length = tuple(input.shape)
            starts, sizes = np.arange(bags) * length, np.full(bags, length)
        elif input.ndim == 1:
            if offsets is None:
                raise ValueError("offsets has to be a 1D Tensor but got None")
            if offsets.ndim != 1:
                raise ValueError("offsets has to be a 1D Tensor")
            input = _as_offsets(F, input, offsets)
            starts = need_values(offsets).astype(np.int64)
            if starts.size and starts[0] != 0:
                raise AutogradError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
                                    "However, "
                                    f"got {starts[0]}")
            if starts.size and starts[-1] > input.shape[0]:
                raise AutogradError(f"offsets[-1] can not be greater than input's length {input.shape[0]} but got offsets[-1] of "
                                    f"{starts[-1]}")
            ends = starts[1:] if include_last_offset else np.append(starts[1:], input.shape[0])
            starts = starts[:-1] if include_last_offset else starts
            if include_last_offset and ends.size and mode == "max":
                ends = np.append(ends[:-1], input.shape[0])  # as torch has it: the last bag takes what is left
            if ends.size and ends[-1] < input.shape[0]:
                input = input[:ends[-1]]
                per_sample_weights = None if per_sample_weights is None else per_sample_weights[:ends[-1]]
            sizes = ends - starts
        else:
            raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
        if mode not in ("sum", "mean", "max"):
            raise ValueError("mode has to be one of sum, mean or max")
        for unfit, what in ((scale_grad_by_freq, "scaling the gradient by the frequency"), (sparse, "sparse weights")):
            if mode == "max" and unfit:
                raise ValueError(f"max mode does not support {what}")
        if per_sample_weights is not None and mode != "sum":
            raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
                                      f"(got mode='{mode}'). Please open a feature request on GitHub.")
        dtype = weight._k.dtype
        if dtype.category != FLOATING or dtype.group:
            raise AutogradError("Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float"
                                f", Double; but got {TENSOR_TYPE_NAMES[dtype.name]} instead (while "
                                "checking arguments for embedding_bag)")
        if per_sample_weights is not None and per_sample_weights._k.dtype is not dtype:
            raise AutogradError("Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
                                "'per_sample_weights'; "
                                f"but type {TENSOR_TYPE_NAMES[dtype.name]} does not equal "
                                f"{TENSOR_TYPE_NAMES[per_sample_weights._k.dtype.name]} "
                                f"(while "
                                "checking arguments for embedding_bag)")
        count = weight.shape[0]
        if padding_idx is not None and not -count <= padding_idx < count:
            raise AutogradError(f"padding_idx must be within the number of embeddings, {-count} through {count - 1}, but got {padding_idx}")
        padding = _padding(padding_idx, count)
        if max_norm is not None:
            _renormalize(F, weight, input, max_norm, norm_type)
        flat = F.reshape(input, (input._data.size,))
        _check_rows(values_of(flat), count, mode != "max" and padding_idx is None and dtype.name in ("float32", "float16"))
        rows = F.embedding(weight, flat, padding, scale_grad_by_freq, sparse)
        bag_of = np.repeat(np.arange(len(sizes)), sizes)
        kept = values_of(flat) != padding
        counts = np.bincount(bag_of[kept], minlength=len(sizes)) if bag_of.size else np.zeros(len(sizes), int)
        if mode == "max":
            return _bag_maxima(F, rows, bag_of, kept, len(sizes))
        if input.ndim == 2 and rows.shape[0] and kept.all():  # bags of one size
            if per_sample_weights is not None:
                rows = rows * F.reshape(per_sample_weights, (bag_of.size, 1))
            each = F.reshape(rows, (*tuple(input.shape), rows.shape[1]))
            return F.mean(each, 1) if mode == "mean" else F.sum(each, 1)
        # A bag's sum is a row of a matrix of zeros and ones times the rows.
        member = np.zeros((len(sizes), bag_of.size), rows._k.np)
        member[bag_of[kept], np.flatnonzero(kept)] = 1
        if per_sample_weights is not None:
            rows = rows * F.reshape(per_sample_weights, (bag_of.size, 1))
        if mode == "mean":
            member /= np.maximum(counts, 1)[:, None]
        return F.mm(constant(F, rows, member.astype(rows._k.np, copy=False)), rows)

    def batch(F, call):
        """More bags; where each example has a table of its own, the tables one below the other."""
        rank, offsets, padding = call.ranks["input"], call.offsets, call.padding_idx
        if call.is_batched["offsets"] or call.max_norm is not None or call.include_last_offset or rank not in (1, 2) or not call.size or \
                (rank == 1) is (offsets is None):
            return NotImplemented
        rows, weight = call.ranks["weight"] and call.weight.shape[-2], call.weight
        if call.is_batched["weight"] or call.scale_grad_by_freq:
            if padding is not None:
                return NotImplemented
            whole = call.whole("weight")
            weight = F.reshape(whole, (call.size * rows, whole.shape[2]))
            first = F.reshape(F.arange(call.size, dtype=call.input.dtype) * rows, (call.size, *(1,) * rank))
            indices = call.whole("input") + first
        else:
            indices = call.whole("input")
        count = indices.shape[1]
        shape = (call.size * count,) if rank == 1 else (call.size * count, indices.shape[2])
        if rank == 1:
            starts = F.reshape(F.arange(call.size, dtype=offsets.dtype) * count, (call.size, 1))
            offsets = F.reshape(F.unsqueeze(offsets, 0) + starts, (-1,))
        factors = None if call.per_sample_weights is None else F.reshape(call.whole("per_sample_weights"), shape)
        result = call(input=F.reshape(indices, shape), weight=weight, offsets=offsets, per_sample_weights=factors)
        return F.reshape(result, (call.size, result.shape[0] // call.size, result.shape[1]))

    def samples(rng):
        yield np.array([[0, 4], [4, 2]]), rng.standard_normal((5, 3))
        yield Sample((np.array([0, 4, 4, 2]), rng.standard_normal((5, 3)), np.array([0, 1, 1])), {
            "mode": "sum", "per_sample_weights": rng.uniform(0.5, 1, 4)})
        yield Sample((np.array([0, 4, 1, 2]), rng.standard_normal((5, 3)), np.array([0, 2, 2])), {"mode": "max"})


def _bag_maxima(F: Functions, rows: TensorRef, bag_of: np.ndarray, kept: np.ndarray, bags: int) -> TensorRef:
    """The maxima of bags, zeros of those in which no row is kept. Bags of about as many rows are reduced together: the smaller ones have
    their last row once more, which the first of equal ones hides."""
    if not bags:
        return F.index_select(rows, 0, constant(F, rows, np.zeros(0, np.int64)))
    places = np.flatnonzero(kept)
    counts = np.bincount(bag_of[kept], minlength=bags) if places.size else np.zeros(bags, int)
    starts = np.cumsum(counts) - counts
    widths = np.where(counts > 1, 1 << np.ceil(np.log2(np.maximum(counts, 1))).astype(int), counts)
    parts, order = [], []
    for width in np.unique(widths):
        members = np.flatnonzero(widths == width)
        order.append(members)
        if not width:
            parts.append(F.zeros_for(rows, (members.size, rows.shape[1])))
            continue
        longest = int(counts[members].max())
        index = places[starts[members, None] + np.minimum(np.arange(longest), counts[members, None] - 1)]
        picked = F.index_select(rows, 0, constant(F, rows, index.reshape(-1)))
        parts.append(F.max(F.reshape(picked, (members.size, longest, rows.shape[1])), 1)[0])
    if len(parts) == 1:
        none = constant(F, rows, np.zeros(0, np.int64))
        return parts[0] if widths[0] else F.cat([parts[0], F.index_select(rows, 0, none)], 0)  # which has a gradient, too: of zeros
    return F.index_select(F.cat(parts, 0), 0, constant(F, rows, np.argsort(np.concatenate(order), kind="stable")))
