"""Losses of predicted probabilities: cross entropy, negative log likelihood, binary cross entropy, Kullback-Leibler divergence."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any
from collections.abc import Sequence

import numpy as np

from ... import warned
from ...dims import within
from ...dtypes import BOOL, FLOATING, SCALAR_TYPE_NAMES, bfloat16, c_name, float16, float32, float64
from ...errors import AutogradError, IndexRangeError, ShapeMismatchError
from ...executors.kernels import loops, softmax as fused
from ...executors.kernels.elementwise import ENTROPY, LOGITS, difference_vjp, one_pass_vjp, takes_half
from ...executors.kernels.halves import SINGLE, narrow, widened
from ...executors.kernels.losses import Loss
from ...executors.kernels.sharing import zeros
from ...executors.kernels._on_demand import _NEVER, state
from ...functions.constants import ONES, SMALL, divided
from ...functions.refusals import MetaRefusal, negated, no_kernel, subtracted
from ...functions.out import CASTS
from ...record import Sample, op
from .. import _shapes as shapes
from .._host import on_host
from .._precision import in_halves, in_single
from .._samples import takes_floats
from ..reductions.sums import loss_of
from ._losses import REDUCTIONS, aligned, arrays_only, constant, reduced, reduction_name, sharded, size_text, weighed
from .softmax import _log_softmax_values
from ...annotations import Functions
from ...tensor import TensorRef
from .. import _batch as batches
from .._batch import BatchedCall
from ...warned import ignoring

if TYPE_CHECKING:
    from ...sharding.array import ShardedArray

_exp, _log, _max, _sum, _min = np.exp, np.log, np.maximum.reduce, np.add.reduce, np.minimum.reduce
_arange = np.arange


# -- class indices as targets -----------------------------------------------------------------------------------------


def _check_classes(name: str, input: TensorRef, target: TensorRef, weight: TensorRef | None) -> None:
    """Raises torch's errors for `input` (C,), (N, C) or (N, C, d1, ...) and class indices `target`."""
    a, b = tuple(input.shape), tuple(target.shape)
    if len(a) < 1:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    classes = a[0] if len(a) == 1 else a[1]
    if len(a) > 1 and a[0] != (b[0] if b else 1):
        raise ValueError(f"Expected input batch_size ({a[0]}) to match target batch_size ({b[0] if b else 1}).")
    if len(a) <= 2 and len(b) > 1:
        raise ShapeMismatchError("0D or 1D target tensor expected, multi-target not supported")
    if len(a) == 4:
        if len(b) != 3:
            raise ShapeMismatchError(f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {len(b)}")
        if b != (a[0], *a[2:]):
            raise ShapeMismatchError(f"size mismatch (got input: {list(a)} , target: {list(b)}")
    elif len(a) > 2 and b != (a[0], *a[2:]):
        raise ShapeMismatchError(f"Expected target size {[a[0], *a[2:]]}, got {list(b)}")
    if len(a) == 1 and b not in ((), (1,)):
        raise ShapeMismatchError(f"size mismatch (got input: {list(a)}, target: {list(b)})")
    if weight is not None:
        if tuple(weight.shape) != (classes,):
            raise ShapeMismatchError(f"weight tensor should be defined either for all {classes} classes or no classes but got weight "
                                     "tensor "
                                     f"of shape: {list(weight.shape)}")
    if target.dtype.name not in ("int64", "uint8"):
        raise AutogradError(f"expected target dtype to be Long or Byte, but got {SCALAR_TYPE_NAMES[target.dtype.name]}",
                            remedy="convert the target with .long()")
    if len(a) > 2 and target.dtype.name != "int64":
        raise AutogradError("expected scalar type Long but found Byte", remedy="convert the target with .long()")
    if weight is not None:
        if weight.dtype is not input.dtype and input.dtype.category >= FLOATING:
            raise AutogradError(f"expected scalar type {SCALAR_TYPE_NAMES[input.dtype.name]} but found "
                                f"{SCALAR_TYPE_NAMES[weight.dtype.name]}")


def _check_floating(kernel: str, input: TensorRef, meta: MetaRefusal) -> None:
    if input.dtype.category < FLOATING:
        no_kernel(kernel, input, meta=meta)


def _checked_target(target: np.ndarray, classes: int, ignore_index: int) -> np.ndarray:
    """Where `target` counts; IndexRangeError for a class that does not exist."""
    kept = target != ignore_index
    bad = kept & ((target < 0) | (target >= classes))
    if bad.any():
        raise IndexRangeError(f"Target {int(target[bad].flat[0])} is out of bounds.", expected=f"0 to {classes - 1}",
                              found=str(int(target[bad].flat[0])), remedy="correct the target, or mark it with ignore_index")
    return kept


def _class_shares(like: np.ndarray, target: np.ndarray, weight: np.ndarray | None, ignore_index: int, smoothing: float, first: int = 0,
                  classes: int | None = None) -> np.ndarray:
    axis = 0 if like.ndim == 1 else 1
    here, classes = like.shape[axis], like.shape[axis] if classes is None else classes
    kept = _checked_target(target, classes, ignore_index)
    if like.ndim == 1:
        target, kept = target.reshape(()), kept.reshape(())
    q = np.zeros(like.shape, like.dtype)
    if not here:
        return q
    hits = kept & (target >= first) & (target < first + here)
    places = np.where(hits, target - first, 0)
    share = np.asarray(hits, q.dtype) if weight is None else np.where(hits, weight[places], 0).astype(q.dtype)
    np.put_along_axis(q, np.expand_dims(places, axis), np.expand_dims(share * q.dtype.type(1 - smoothing), axis), axis)
    if smoothing:
        spread = np.full(here, smoothing / classes, q.dtype) if weight is None else weight * q.dtype.type(smoothing / classes)
        q += np.expand_dims(kept, axis) * spread.reshape([here if d == axis else 1 for d in range(like.ndim)])
    return q


@op("class_shares(Tensor like, Index target, Tensor? weight, int ignore_index, float smoothing, int first=0, int? classes=None) -> Tensor",
    namespace="_internal", method=False, out=False, differentiable=False)
class class_shares:
    """What each log-probability is multiplied by in the sum of all losses, without the sign, for log-probabilities as `like`: those of
    the classes from `first` on, of `classes`."""

    def sharding(call):
        rank = call["like"].ndim
        told = "n c *s, n *s" if rank > 1 else f"c, {'T' * call['target'].ndim}"
        plan = call.letters(f"{told}{'' if call['weight'] is None else ', c'} -> {'n c *s' if rank > 1 else 'c'}", empties=True)
        shape, axis, out = call.shape("like"), int(rank > 1), plan.outputs[0]
        plan.arguments = lambda device, values: {**values, "first": out.bounds(shape, device)[axis].start, "classes": shape[axis]}
        return plan

    numpy = _class_shares
    compose = on_host(_class_shares)
    def shape(like, *rest): return like

    def batch(F, call):
        """More rows; weights that differ are applied afterwards."""
        if not call.size:
            return NotImplemented
        like, target, rank = call.whole("like"), call.whole("target"), call.ranks["like"]
        weight = None if call.is_batched["weight"] else call.weight
        if rank == 1:
            result = call(like=like, target=F.reshape(target, (call.size,)), weight=weight)
        else:
            result = batches.parted(F, call, call(like=batches.merged(F, like), target=batches.merged(F, target), weight=weight))
        if weight is call.weight:
            return result
        return result * F.reshape(call.weight, (call.size, *(1,) * (rank > 1), -1, *(1,) * (rank - 2)))

    def samples(rng): yield Sample((rng.standard_normal((3, 4)), np.array([1, 0, -100]), rng.uniform(0.5, 1, 4), -100, 0.1),
                                   no_gradient="shares are constants")


def _chosen_loss(F: Functions, input: np.ndarray | ShardedArray, log_p: np.ndarray | ShardedArray, target: np.ndarray | ShardedArray,
                 weight: np.ndarray | ShardedArray | None, ignore_index: int, reduction: str,
                 smoothing: float) -> tuple[np.ndarray | ShardedArray, np.ndarray | ShardedArray]:
    """(loss, what the sum is divided by) of log-probabilities, for executors without a kernel."""
    axis, one = 0 if input.ndim == 1 else 1, np.ones((), input.dtype)
    q = F.class_shares(log_p, target, weight, ignore_index, smoothing)
    losses = F.sum(F.where(F.ne(q, 0), log_p * -q, 0), axis)  # an infinite log-probability that does not count makes no NaN
    if reduction == "none":
        return F.reshape(losses, tuple(target.shape)), one
    if reduction == "sum":
        return F.sum(losses), one
    counted = F.ne(target, ignore_index) if weight is None else F.class_shares(log_p, target, weight, ignore_index, 0.0)
    total = F.sum(counted).astype(input.dtype)
    return F.sum(losses) / total, total


def _all_count(input: np.ndarray, index: np.ndarray, axis: int, ignore_index: int) -> np.ndarray | None:
    """The losses of class indices, if all of them are classes and none is ignored."""
    classes = input.shape[axis]
    low, high = (int(index), int(index)) if not index.ndim else (int(_min(index, None)), int(_max(index, None)))
    if low < 0 or high >= classes or 0 <= ignore_index < classes and (index == ignore_index).any():
        return None
    if not index.ndim:
        return np.negative(input[low])
    inner = prod(index.shape[1:])
    if input.flags.c_contiguous:  # by flat places: row n, class, and the place within what follows the classes
        flat = index.reshape(index.shape[0], inner) * np.int64(inner)
        flat += _arange(0, input.size, classes * inner)[:, None]
        if inner > 1:
            flat += _arange(inner)
        picked = input.reshape(-1).take(flat).reshape(index.shape)
    else:
        picked = np.take_along_axis(input, np.expand_dims(index, axis), axis).squeeze(axis)
    return np.negative(picked, picked)


_READ = 16384  # numbers that Python may read to pick some of them
_total = loops.Loop(loops.nll_total, 3, 4, chars="fdeE")
_pick, _pick_back = loops.Loop(loops.nll, 3, 4), loops.Loop(loops.nll_backward, 3)


def _by_loops(n: int) -> bool:
    """Whether loops pick so many numbers: few in double precision, and many where they are compiled."""
    return 0 < n <= state.short or n >= state.fused


def _flat_classes(shape: Sequence[int], dtype: np.dtype, target: np.ndarray, weight: np.ndarray | None) -> tuple[Any, ...]:
    """(class indices in a row, weights or nothing, how many classes there are, how many elements follow each)."""
    factors = np.empty(0, dtype) if weight is None else np.ascontiguousarray(weight, dtype)
    index = np.ascontiguousarray(target, np.int64).reshape(-1)
    return (index, factors, shape[0], 1) if len(shape) == 1 else (index, factors, shape[1], prod(shape[2:]))


def _picked(input: np.ndarray, target: np.ndarray, weight: np.ndarray | None, ignore_index: int) -> tuple[np.ndarray, np.ndarray]:
    """`nll_loss` by the loop, not reduced."""
    shape, dtype = input.shape, input.dtype
    classes, inner = (shape[0], 1) if len(shape) == 1 else (shape[1], prod(shape[2:]))
    index = target if target.dtype.char == "l" and target.flags.carray else np.ascontiguousarray(target, np.int64)
    x = input if input.flags.carray else input.copy()
    factors = _NONE[dtype.char] if weight is None else np.ascontiguousarray(weight, dtype)
    losses, n = np.empty(target.shape, dtype), index.size
    try:
        _pick(dtype.char, n, n, x, index, factors, losses, _NONE[dtype.char], classes, inner, ignore_index)
    except IndexError:
        _checked_target(index, classes, ignore_index)
        raise
    return losses, np.array(1, dtype)


def _nll_loss(input: np.ndarray, target: np.ndarray, weight: np.ndarray | None, size_average: object, ignore_index: int, reduce: object,
              reduction: str) -> tuple[np.ndarray, np.ndarray]:
    if size_average is not None or reduce is not None or reduction not in ("mean", "sum", "none"):
        raise ValueError(reduction)
    given, wanted, dtype, n = input.shape, target.shape, input.dtype, target.size
    axis = 0 if len(given) == 1 else 1
    if weight is not None and weight.shape != given[axis:axis + 1]:
        raise ValueError("a weight for each class")
    whole = given[:1] if len(given) == 2 else given[:1] + given[2:]
    if not given or (wanted not in _ONE if len(given) == 1 else wanted != whole and (wanted or whole != (1,))):
        raise ValueError("shapes do not match")
    index = target.reshape(()) if wanted and len(given) == 1 else target
    if reduction != "none" and n and input.size and dtype.isnative and (
            dtype.char in _total.ready and state.fused != _NEVER
            or n <= state.short and input.size <= _READ or _total.is_compiled(dtype.char, n)):
        return _added(input, index, weight, ignore_index, reduction)
    half, by_loops = dtype.itemsize == 2, reduction == "none" and input.size and _by_loops(n)
    if by_loops and not half:
        return _picked(input, target, weight, ignore_index)
    losses = _all_count(input, index, axis, ignore_index) if weight is None and n and not by_loops else None
    if losses is not None:
        single = SINGLE if half else dtype
        if reduction == "none":
            return losses.reshape(target.shape), np.ones((), single)
        loss, count = _reduced(losses.astype(np.float64), np.float64(n), reduction, single)
        return narrow(loss, dtype) if half else loss, count
    if half:
        loss, count = _nll_loss(widened(input), target, None if weight is None else widened(weight), None, ignore_index, None, reduction)
        return narrow(loss, dtype), count
    kept = _checked_target(index, input.shape[axis], ignore_index)
    safe = np.where(kept, index, 0)
    if input.shape[axis]:
        loss = -np.take_along_axis(input, np.expand_dims(safe, axis), axis).squeeze(axis).astype(np.float64)
    else:
        loss = np.zeros(index.shape)
    counts = kept.astype(np.float64) if weight is None else np.where(kept, weight[safe], 0.0)
    with ignoring():
        loss = np.where(kept, loss * counts, 0.0)
        if reduction == "none":
            return loss.astype(dtype).reshape(target.shape), np.ones((), dtype)
        return _reduced(loss, _in_order(counts), reduction, dtype)


def _in_order(numbers: np.ndarray) -> np.float64:
    """The sum, added up from the first number to the last, as loops do."""
    return np.add.accumulate(numbers.reshape(-1))[-1] + 0.0 if numbers.size else np.float64(0)


def _reduced(losses: np.ndarray, count: np.float64, reduction: str, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """(loss, what the sum is divided by) of losses in double precision."""
    with ignoring():
        total = _in_order(losses)
        loss = np.asarray(total if reduction == "sum" else total / count if count else total * np.inf, dtype)
        return loss, np.ones((), dtype) if reduction == "sum" else np.asarray(count, dtype)


def _added(input: np.ndarray, target: np.ndarray, weight: np.ndarray | None, ignore_index: int,
           reduction: str) -> tuple[np.ndarray, np.ndarray]:
    """The sum or the mean of all losses, by the loop, and what it is divided by."""
    shape, dtype = input.shape, input.dtype
    classes, inner = (shape[0], 1) if len(shape) == 1 else (shape[1], prod(shape[2:]))
    index = target if target.dtype.char == "l" and target.flags.carray else np.ascontiguousarray(target, np.int64)
    x = input if input.flags.carray else input.copy()
    factors = _NONE[dtype.char] if weight is None else np.ascontiguousarray(weight, dtype)
    loss, count = np.empty((), dtype), np.empty(())
    mean = 1 if reduction == "mean" else 0
    try:
        if (run := _total.ready.get(dtype.char)) is not None and state.fused != _NEVER:
            run(loops.ALONE, 1, 1, x, index, factors, loss, count, classes, inner, ignore_index, mean)
        else:
            _total(dtype.char, 1, index.size, x, index, factors, loss, count, classes, inner, ignore_index, mean)
    except IndexError:
        _checked_target(index, classes, ignore_index)
        raise
    one = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
    return loss, count if mean and one.char == "d" else count.astype(one) if mean else np.array(1, one)


_ONE = (), (1,)  # the shapes of targets of one sample
_NONE = {k.np.char: np.empty(0, k.np) for k in (float16, bfloat16, float32, float64)}


def _spread_over_classes(F: Functions, grad: TensorRef, shape: Sequence[int]) -> TensorRef:
    """The cotangent of one loss per target with a dimension for the classes."""
    if not len(grad.shape) or len(shape) == 1:
        return F.reshape(grad, ()) if len(grad.shape) else grad
    return F.reshape(grad, (shape[0], 1, *shape[2:]))


@op("nll_loss_grad(Tensor grad, Index target, Tensor? weight, int[] size, int ignore_index, Tensor denominator) -> Tensor",
    namespace="_internal", method=False, out=False)
class nll_loss_grad:
    """The gradient of `nll_loss`, which does not depend on its input."""

    def numpy(grad, target, weight, size, ignore_index, denominator):
        axis = 0 if len(size) == 1 else 1
        if grad.dtype.char in "fd" and 0 not in size and _by_loops(target.size):
            g = np.ascontiguousarray(np.divide(grad, denominator), grad.dtype).reshape(-1)
            if g.size in (1, target.size):
                index, factors, classes, inner = _flat_classes(size, grad.dtype, target, weight)
                out = zeros(tuple(size), grad.dtype)
                _pick_back(grad.dtype.char, index.size, index.size, g, index, factors, out.reshape(-1), classes, inner, ignore_index)
                return out
        result = np.zeros(size, grad.dtype)
        if len(size) == 1:
            target = target.reshape(())
        kept = target != ignore_index
        safe = within(np.where(kept, target, 0), size[axis], axis)
        with ignoring():
            g = -np.asarray(grad / denominator, grad.dtype)
            g = g.reshape(target.shape) if g.size == target.size else g
            # Only targets that count get a gradient: where none does, the denominator is 0, and 0 / 0 must not spread.
            value = np.where(kept, g if weight is None else g * weight[safe], g.dtype.type(0))
        np.put_along_axis(result, np.expand_dims(safe, axis), np.expand_dims(value, axis), axis)
        return result

    def shape(grad, target, weight, size, *rest): return tuple(size)
    def compose(F, grad, target, weight, size, ignore_index, denominator):
        q = F.class_shares(F.zeros_for(grad, tuple(size)), target, weight, ignore_index, 0.0)
        return F.where(F.ne(q, 0), -q * _spread_over_classes(F, grad / denominator, tuple(size)), 0)
    function = compose
    def samples(rng): yield np.array(1.5), np.array([1, 0, -100]), None, (3, 4), -100, np.array(2.0)


def _nll_step(input: TensorRef) -> str:
    """What torch calls the step of `nll_loss` that it has no derivative of the weight for."""
    return f"nll_loss{'2d' if input.ndim > 2 else ''}_forward"


def _nll_redirect(input: TensorRef, target: TensorRef, weight: TensorRef, size_average: Any, ignore_index: int, reduce: Any,
                  reduction: str) -> Any:
    reduction = reduction_name(reduction, size_average, reduce)
    if size_average is not None or reduce is not None:
        return "nll_loss", (input, target, weight, None, ignore_index, None, reduction)
    return None


def _batched_classes(F: Functions, call: BatchedCall, log: bool) -> Any:
    """Losses of class numbers: one per example of each example, reduced afterwards. With `log`, the input is to be normalized."""
    x, target, rank, weight = call.input, call.target, call.ranks["input"], call.weight
    if target.dtype.is_floating_point or call.size_average is not None or call.values["reduce"] is not None or \
            call.ranks["target"] != max(rank - 1, 0) or rank < 1 or x.dtype.name in ("float16", "bfloat16"):
        return NotImplemented
    x, target = call.whole("input"), call.whole("target")
    log_p = F.log_softmax(x, 1 if rank == 1 else 2) if log else x
    if rank == 1:
        log_p, target = F.unsqueeze(log_p, 1), F.unsqueeze(target, 1)
    classes = log_p.shape[2]
    counted = F.ne(target, call.ignore_index)
    index = F.unsqueeze(F.where(counted, target, 0), 2)
    each = F.neg(F.squeeze(F.gather(log_p, 2, index), 2))
    factor = F.cast(counted, x.dtype)
    if weight is not None:
        rows = F.reshape(call.whole("weight"), (call.size, 1, classes, *(1,) * (log_p.ndim - 3)))
        rows = F.expand(rows, tuple(log_p.shape))
        factor = F.mul(F.squeeze(F.gather(rows, 2, index), 2), factor)
    each = F.where(counted, F.mul(each, factor) if weight is not None else each, 0)
    smoothing = call.values.get("label_smoothing", 0.0)
    if smoothing:
        spread = F.neg(F.sum(log_p if weight is None else F.mul(log_p, rows), 2))
        each = F.add(F.mul(each, 1 - smoothing), F.mul(F.where(counted, spread, 0), smoothing / classes))
    if call.reduction == "none":
        return F.squeeze(each, 1) if rank == 1 else each
    dims = tuple(range(1, each.ndim))
    total = F.sum(each, dims)
    return total if call.reduction == "sum" else F.div(total, F.sum(factor, dims))


@op("nll_loss(Tensor input, Index target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? reduce=None, "
    "str reduction='mean') -> (Tensor result, Saved denominator)", namespace="nn.functional", method=False, out=False,
    complex="nll_loss_out_frame")
class nll_loss:
    """The negative log likelihood of class indices `target` (N, d1, ...) under log-probabilities `input` (N, C, d1, ...).

    `weight` is one factor per class; targets equal to `ignore_index` do not count.

    >>> torch.nn.functional.nll_loss(torch.tensor([[-1., -2.]]), torch.tensor([1]))
    tensor(2.)
    """

    lacks = {"float8": "nll_loss_out_frame"}
    sharding = "composed"
    amp = "float32"
    refuses_grad = {"weight": _nll_step}
    saved_as = {"denominator": "total_weight"}
    nodes = {"input.ndim > 2": "NllLoss2DBackward0"}
    numpy = half = _nll_loss
    def shape(input, target, weight, size_average, ignore_index, reduce, reduction): return target if reduction == "none" else (), ()
    def compose(F, input, target, weight, size_average, ignore_index, reduce, reduction):
        return _chosen_loss(F, input, input, target, weight, ignore_index, reduction, 0.0)
    redirect = _nll_redirect
    @takes_floats
    def check(input, target, weight, size_average, ignore_index, reduce, reduction):
        _check_classes("nll_loss", input, target, weight)
        _check_floating("nll_loss_out_frame", input, negated)
    def vjp_input(F, grad, input, target, weight, ignore_index, denominator, reduction):
        return F.nll_loss_grad(grad, target, weight, tuple(input.shape), ignore_index, denominator)
    def batch(F, call): return _batched_classes(F, call, False)
    aten = "nll_loss_forward(input, target, weight, number(reduction), ignore_index)[0]"

    def samples(rng):
        r = rng.standard_normal
        yield r((3, 4)), np.array([1, 0, 3])
        yield r(4), np.array(2)
        yield Sample((r((3, 4)), np.array([1, -100, 3]), rng.uniform(0.5, 1, 4)), {"reduction": "none"})
        yield Sample((r((2, 4, 3)), rng.integers(0, 4, (2, 3)), rng.uniform(0.5, 1, 4)))

    def errors(rng):
        yield (np.ones((2, 3)), np.array([0, 5])), IndexError, "Target 5 is out of bounds."
        yield (np.ones((2, 3)), np.zeros(3, int)), ValueError, "Expected input batch_size (2) to match target batch_size (3)."


def _cross_entropy(input: np.ndarray, target: np.ndarray, weight: np.ndarray | None, size_average: object, ignore_index: int,
                   reduce: object, reduction: str, label_smoothing: float) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None,
                   np.ndarray | None, np.ndarray | None]:
    if (state.short < input.size < state.fused and input.ndim == 2 and target.ndim == 1 and weight is None and reduction == "mean"
            and not label_smoothing and size_average is None and reduce is None and input.shape[0] == target.shape[0]
            and min(target.tolist()) >= 0):
        n = input.shape[0]
        log_p = _log_softmax_values(input, 1)
        if ignore_index < 0 or not (target == ignore_index).any():
            try:
                hits = log_p[_arange(n), target]
            except IndexError:
                _checked_target(target, input.shape[1], ignore_index)
                raise
            total = hits.dot(ONES[hits.dtype.char, n]) if n <= SMALL else _sum(hits)
            return total / -input.dtype.type(n), log_p, None, None, None
    if size_average is not None or reduce is not None or target.shape != input.shape[:1] * (input.ndim > 1) + input.shape[2:] and not (
            input.ndim == 1 and target.size == 1):
        raise ValueError("arguments for the general path")
    if (label_smoothing and not 0 < label_smoothing <= 1
            or weight is not None and weight.shape != (input.shape[-1 if input.ndim == 1 else 1],)):
        raise ValueError("arguments for the general path")
    try:
        return_, top, log_total, denominator = fused.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
    except IndexError:
        _checked_target(target, input.shape[0 if input.ndim == 1 else 1], ignore_index)
        raise
    return return_, None, top, log_total, denominator


def _cross_entropy_backward(grad: np.ndarray, input: np.ndarray, target: np.ndarray, log_p: np.ndarray | None, top: Any, log_total: Any,
                            denominator: Any, weight: np.ndarray | None, ignore_index: int, smoothing: float) -> np.ndarray:
    if log_p is None:
        return fused.cross_entropy_backward(grad, input, target, top, log_total, denominator, weight, ignore_index, smoothing)
    n = input.shape[0]
    p = _exp(log_p)
    if min(target.tolist()) < 0:
        within(target, input.shape[1], 1)
    try:
        p[_arange(n), target] -= 1
    except IndexError:  # the target has changed since the loss was computed
        _checked_target(target, input.shape[1], ignore_index)
        raise
    p *= grad / n
    return p


@op("cross_entropy_backward(Tensor grad, Tensor input, Index target, Tensor? log_p, Tensor? top, Tensor? log_total, Tensor? denominator, "
    "Tensor? weight, int ignore_index, float label_smoothing) -> Tensor", namespace="_internal", method=False, out=False)
class cross_entropy_backward:
    """The gradient of `cross_entropy`: per row, softmax times the sum of the coefficients less the coefficients."""

    numpy = _cross_entropy_backward
    shape = shapes.like_second
    def compose(F, grad, input, target, log_p, top, log_total, denominator, weight, ignore_index, label_smoothing):
        axis, shape = 0 if input.ndim == 1 else 1, tuple(input.shape)
        q = F.class_shares(input, target, weight, ignore_index, label_smoothing)
        g = grad / (denominator if denominator is not None else shape[0])
        kept = F.reshape(F.ne(target, ignore_index), [1 if i == axis else n for i, n in enumerate(shape)])
        p = F.softmax(input, axis)
        p = (p if weight is None else p * F.sum(q, axis, True)) - q  # without weights, shares of what counts add up to 1
        # Where nothing counts the denominator is 0, and 0 / 0 must not spread.
        return F.where(kept, p * _spread_over_classes(F, g, shape), 0)
    function = in_single(compose)  # p - q cancels
    def samples(rng):
        x, target = rng.standard_normal((3, 4)), np.array([1, 0, -100])
        yield np.array(1.5), x, target, None, *_cross_entropy(x, target, None, None, -100, None, "mean", 0.1)[2:], None, -100, 0.1


def _cross_entropy_redirect(input: TensorRef, target: TensorRef, weight: TensorRef, size_average: Any, ignore_index: int, reduce: Any,
                            reduction: str,
                            label_smoothing: float) -> Any:
    name = reduction_name(reduction, size_average, reduce)
    if tuple(input.shape) == tuple(target.shape) and input.shape:
        return "cross_entropy_of_probabilities", (input, target, weight, ignore_index, name, label_smoothing)
    if size_average is not None or reduce is not None or label_smoothing < 0:  # which torch takes for none
        return "cross_entropy", (input, target, weight, None, ignore_index, None, name, max(label_smoothing, 0.0))
    if input._k.dtype.itemsize == 2 and input._k.dtype.category == FLOATING and input.ndim and not label_smoothing:
        return "cross_entropy_in_steps", (input, target, weight, ignore_index, name)
    return None


@op("cross_entropy_in_steps(Tensor input, Index target, Tensor? weight, int ignore_index, str reduction) -> Tensor", namespace="_internal",
    method=False, out=False)
class cross_entropy_in_steps:
    """`cross_entropy` of half precision: the logarithms of probabilities, which are rounded, and the loss of them, as in torch."""

    def function(F, input, target, weight, ignore_index, reduction):
        _check_classes("cross_entropy", input, target, weight)
        log_p = F.log_softmax(input, 0 if input.ndim == 1 else 1)
        return F.nll_loss(log_p, target, weight, ignore_index=ignore_index, reduction=reduction)

    def samples(rng): yield rng.standard_normal((3, 4)), np.array([1, 0, 3]), None, -100, "mean"


@op("cross_entropy(Tensor input, Index target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? reduce=None, "
    "str reduction='mean', float label_smoothing=0.0) -> (Tensor result, Saved log_p, Saved top, Saved log_total, Saved denominator)",
    namespace="nn.functional", method=False, out=False, node="NllLossBackward0")
class cross_entropy:
    """The cross entropy of logits `input` (N, C, d1, ...) and `target`, class indices (N, d1, ...) or probabilities like `input`.

    >>> torch.nn.functional.cross_entropy(torch.tensor([[0., 0.]]), torch.tensor([1]))
    tensor(0.6931)
    """

    composite = "cross_entropy_loss(input, target, *but([weight, number(reduction), ignore_index, label_smoothing], [None, 1, -100, 0.0]))"
    lacks = {"float8": "log_softmax_lastdim_kernel_impl"}
    sharding = "composed"
    amp = "float32"
    refuses_grad = {"weight": _nll_step}
    saved_as = {"log_p": None, "top": None, "log_total": None, "denominator": "total_weight", "label_smoothing": None}

    def complex_kernel(input, **_): return f"log_softmax_{'lastdim_' if input.ndim < 3 else ''}kernel_impl"
    numpy = _cross_entropy
    def shape(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing):
        return target if reduction == "none" else (), None, None, None, ()
    def compose(F, input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing):
        log_p = F.log_softmax(input, 0 if input.ndim == 1 else 1)
        loss, total = _chosen_loss(F, input, log_p, target, weight, ignore_index, reduction, label_smoothing)
        return loss, None, None, None, total
    redirect = _cross_entropy_redirect
    @takes_floats
    def check(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing):
        if label_smoothing > 1:
            raise AutogradError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
        _check_floating("log_softmax_lastdim_kernel_impl", input, subtracted)
        if input.ndim == 0:
            raise ValueError("Expected 1 or more dimensions (got 0)")
        _check_classes("cross_entropy", input, target, weight)
    def vjp_input(F, grad, input, target, log_p, top, log_total, denominator, weight, ignore_index, reduction, label_smoothing):
        return F.cross_entropy_backward(grad, input, target, log_p, top, log_total, denominator, weight, ignore_index, label_smoothing)
    def batch(F, call): return _batched_classes(F, call, True)

    seen_as = {"label_smoothing": "AddBackward0", "input.ndim > 2": "NllLoss2DBackward0"}

    def unfold(F, input, target, weight, ignore_index, reduction, label_smoothing):
        axis = 0 if input.ndim == 1 else 1
        log_p = F.log_softmax(input, axis)
        loss = F.nll_loss(log_p, target, weight, ignore_index=ignore_index, reduction=reduction)
        if not label_smoothing:
            return loss
        terms = F.log_softmax(input, axis)
        if weight is not None:
            terms = terms * F.reshape(weight, [-1 if i == axis else 1 for i in range(input.ndim)])
        ignored = F.eq(target, ignore_index)
        smooth = F.masked_fill(F.neg(F.sum(terms, axis)), ignored, 0.0)
        if reduction != "none":
            smooth = F.sum(smooth)
        if reduction == "mean":
            counted = F.logical_not(ignored)
            smooth = smooth / F.sum(counted if weight is None else F.where(counted, F.take(weight, F.where(counted, target, 0)), 0.0))
        return F.add(loss * (1 - label_smoothing), smooth * (label_smoothing / input.shape[axis]))

    def decompose(F, input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing):
        if label_smoothing or target._k.dtype.is_floating_point or size_average is not None or reduce is not None:
            return NotImplemented
        log_p = F.log_softmax(input, 0 if input.ndim == 1 else 1)
        return F.nll_loss(log_p, target, weight, ignore_index=ignore_index, reduction=reduction)


    def samples(rng):
        r = rng.standard_normal
        yield r((3, 4)), np.array([1, 0, 3])
        yield r(4), np.array(2)
        yield Sample((r((3, 4)), np.array([1, -100, 3]), rng.uniform(0.5, 1, 4)), {"label_smoothing": 0.1})
        yield Sample((r((2, 4, 3)), rng.integers(0, 4, (2, 3))), {"reduction": "none"})

    def errors(rng):
        yield (np.ones((2, 3)), np.array([0, 5])), IndexError, "Target 5 is out of bounds."
        yield (np.ones((2, 3)), np.zeros(3, int)), ValueError, "Expected input batch_size (2) to match target batch_size (3)."
        yield (np.ones((2, 3)), np.zeros((2, 1), int)), RuntimeError, "0D or 1D target tensor expected, multi-target not supported"
        yield (np.ones((2, 3)), np.zeros(2, int), np.ones(4)), RuntimeError, (
            "weight tensor should be defined either for all 3 classes or no classes but got weight tensor of shape: [4]")


@op("cross_entropy_of_probabilities(Tensor input, Tensor target, Tensor? weight, int ignore_index, str reduction, float label_smoothing) "
    "-> Tensor", namespace="_internal", method=False, out=False)
class cross_entropy_of_probabilities:
    """Cross entropy where `target` gives the probability of each class."""

    def function(F, input, target, weight, ignore_index, reduction, label_smoothing):
        if not target.dtype.is_floating_point:
            raise AutogradError("Expected floating point type for target with class probabilities, got "
                                f"{SCALAR_TYPE_NAMES[target.dtype.name]}")
        if ignore_index >= 0:
            raise AutogradError("ignore_index is not supported for floating point target")
        if label_smoothing > 1:
            raise AutogradError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
        shape = tuple(input.shape)
        axis = 0 if len(shape) == 1 else 1
        classes = shape[axis]
        if weight is not None and (weight.ndim != 1 or weight.shape[0] != classes):
            raise ShapeMismatchError(f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but "
                                     "got "
                                     f"weight tensor of shape: {list(weight.shape)}")
        if label_smoothing > 0:
            target = target * (1 - label_smoothing) + label_smoothing / classes
        terms = F.log_softmax(input, axis) * target
        if weight is not None:
            terms = terms * F.reshape(weight, (1,) * axis + (classes,) + (1,) * (len(shape) - axis - 1))
        if reduction == "none":
            return -F.sum(terms, axis)
        total = -F.sum(terms)
        return total / (prod(shape) / classes) if reduction == "mean" else total

    def samples(rng): yield rng.standard_normal((2, 3)), rng.uniform(0.1, 0.5, (2, 3)), None, -100, "mean", 0.0


# -- two classes ------------------------------------------------------------------------------------------------------


def _check_probabilities(input: np.ndarray) -> None:
    if input.size and not (input.min() >= 0 and input.max() <= 1):
        raise AutogradError("all elements of input should be between 0 and 1", remedy="apply sigmoid, or use the loss with logits")


@difference_vjp(ENTROPY)
@in_halves
def _entropy_slope(F: Functions, grad: Any, input: Any, target: Any, count: float) -> Any:
    return grad * (input - target) / F.clamp_min((1 - input) * input, 1e-12) / count


@in_single
def _entropy_of_targets(F: Functions, grad: Any, input: Any) -> Any:
    return grad * (F.clamp_min(F.log1p(-input), -100.0) - F.clamp_min(F.log(input), -100.0))


def _count(input: Any, reduction: str) -> float:
    """By how many a gradient is divided."""
    return float(max(prod(input.shape), 1)) if reduction == "mean" else 1.0


def _entropies(input: np.ndarray, target: np.ndarray) -> np.ndarray:
    if input.itemsize == 2:
        return narrow(_entropies(widened(input), widened(target)), input.dtype)
    _check_probabilities(input)
    low = np.array(-100).astype(input.dtype)
    return np.asarray((target - 1) * np.maximum(np.log1p(-input), low) - target * np.maximum(np.log(input), low))


@op("bce(Tensor input, Tensor target, str reduction) -> Tensor", namespace="_internal", method=False, out=False, promotion="promote",
    result="same", broadcasts=True, node="BinaryCrossEntropyBackward0", complex="binary_cross_entropy")
class bce:
    """-(target * log(input) + (1 - target) * log(1 - input)), with logarithms of at least -100, reduced."""

    @takes_half
    def numpy(input, target, reduction): return loss_of(_entropies(input, target), reduction, input, target)
    sharding = sharded
    shape = shapes.reduced_pair
    def compose(F, input, target, reduction):
        _check_probabilities(input)
        each = (target - 1) * F.clamp_min(F.log1p(-input), -100.0) - target * F.clamp_min(F.log(input), -100.0)
        return reduced(F, each, reduction)
    def vjp_input(F, grad, input, target, reduction): return _entropy_slope(F, grad, input, target, _count(input, reduction))
    def vjp_target(F, grad, input, reduction): return divided(_entropy_of_targets(F, grad, input), _count(input, reduction))
    jvp = "transposed"
    batch = batches.each_loss
    aten = "binary_cross_entropy(input, target, *but([None, number(reduction)], [None, 1]))"

    def samples(rng):
        yield rng.uniform(0.1, 0.9, (2, 3)), rng.uniform(0.1, 0.9, (2, 3)), "none"
        yield rng.uniform(0.1, 0.9, (2, 3)), rng.uniform(0.1, 0.9, (2, 3)), "mean"
    def errors(rng):
        yield (np.array([2.0]), np.array([1.0]), "none"), RuntimeError, "all elements of input should be between 0 and 1"


@op("binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, "
    "str reduction='mean') -> Tensor", namespace="nn.functional", method=False, out=False)
class binary_cross_entropy:
    """-(target * log(input) + (1 - target) * log(1 - input)) for probabilities `input`.

    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.]))
    tensor(0.6931)
    """

    lacks = {"float8": "binary_cross_entropy"}
    refuses_grad = {"weight": "binary_cross_entropy"}
    amp = "float32"
    def quick(input, target, weight, size_average, reduce, reduction):
        if weight is None and size_average is None and reduce is None and reduction in REDUCTIONS and (
                both := aligned(input, target)) is not None:
            return np.asarray(bce.field("numpy")(*both, reduction))

    def function(F, input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
        reduction = reduction_name(reduction, size_average, reduce)
        if tuple(input.shape) != tuple(target.shape):
            raise ValueError(f"Using a target size ({size_text(target)}) that is different to the input size ({size_text(input)}) is "
                             "deprecated. Please ensure they have the same size.")
        if target.dtype is not input.dtype:
            names = [SCALAR_TYPE_NAMES[t.dtype.name] for t in (target, input)]
            raise AutogradError(f"Found dtype {names[0]} but expected {names[1]}")
        _check_floating("binary_cross_entropy", input, negated)
        if weight is None:
            return F.bce(input, target, reduction)
        return reduced(F, weighed(F, F.bce(input, target, "none"), weight), reduction)

    def samples(rng):
        yield rng.uniform(0.1, 0.9, (2, 3)), rng.uniform(0.1, 0.9, (2, 3))
        yield Sample((rng.uniform(0.1, 0.9, (2, 3)), rng.uniform(0.1, 0.9, (2, 3)), rng.uniform(0.5, 1, 3)), {"reduction": "none"})


@difference_vjp(LOGITS)
@in_halves
def _logits_slope(F: Functions, grad: Any, input: Any, target: Any, count: float) -> Any:
    return (F.sigmoid(input) - target) * grad / count


@one_pass_vjp("logits_loss")
def _logits_loss(input: np.ndarray, target: np.ndarray) -> np.ndarray:
    loss = np.maximum(input, 0) - input * target
    loss += np.log1p(np.exp(-np.abs(input)))
    return loss


@op("bce_with_logits(Tensor input, Tensor target, str reduction) -> Tensor", namespace="_internal", method=False, out=False,
    promotion="promote", result="same", broadcasts=True, node="BinaryCrossEntropyWithLogitsBackward0", complex="log_sigmoid_cpu")
class bce_with_logits:
    """log(1 + exp(input)) - target * input, computed without overflow, reduced."""

    @takes_half
    def numpy(input, target, reduction): return loss_of(_logits_loss(input, target), reduction, input, target)
    sharding = sharded
    shape = shapes.reduced_pair
    def compose(F, input, target, reduction):
        return reduced(F, F.clamp_min(input, 0) - input * target + F.log1p(F.exp(-F.abs(input))), reduction)
    def vjp_input(F, grad, input, target, reduction): return _logits_slope(F, grad, input, target, _count(input, reduction))
    def vjp_target(F, grad, input, reduction): return divided(-(grad * input), _count(input, reduction))
    jvp = "transposed"
    batch = batches.each_loss
    aten = "binary_cross_entropy_with_logits(input, target, *but([None, None, number(reduction)], [None, None, 1]))"

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.uniform(0, 1, (2, 3)), "none"
        yield rng.standard_normal((2, 3)), rng.uniform(0, 1, (2, 3)), "mean"


@in_single
def _weighed(F: Functions, input: TensorRef, target: TensorRef, pos_weight: TensorRef) -> Any:
    """`bce_with_logits` with the loss of positive targets times `pos_weight`."""
    return (1 - target) * input - ((pos_weight - 1) * target + 1) * F.logsigmoid(input)


@op("binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, "
    "str reduction='mean', Tensor? pos_weight=None) -> Tensor", namespace="nn.functional", method=False, out=False)
class binary_cross_entropy_with_logits:
    """Binary cross entropy of sigmoid(input); `pos_weight` multiplies the loss of positive targets.

    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor([0.]), torch.tensor([1.]))
    tensor(0.6931)
    """

    refuses_grad = dict.fromkeys(("weight", "pos_weight"), "binary_cross_entropy_with_logits")
    lacks = {"int bool uint float8": "log_sigmoid_cpu"}
    amp = "float32"
    def function(F, input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
        reduction = reduction_name(reduction, size_average, reduce)
        if tuple(input.shape) != tuple(target.shape):
            raise ValueError(f"Target size ({size_text(target)}) must be the same as input size ({size_text(input)})")
        if target.dtype.category < FLOATING:
            if target.dtype.category == BOOL:
                return target - target  # which says so
            names = [SCALAR_TYPE_NAMES[t.dtype.name] for t in (input, target)]
            raise AutogradError(f"result type {names[0]} can't be cast to the desired output type {names[1]}", remedy="use a float target")
        if weight is None and pos_weight is None and input.dtype is target.dtype:
            return F.bce_with_logits(input, target, reduction)
        loss = F.bce_with_logits(input, target, "none") if pos_weight is None else _weighed(F, input, target, pos_weight)
        if loss.dtype is not target.dtype:  # torch computes in the memory of 1 - target
            CASTS.check("", loss.dtype, target.dtype)
            loss = F.cast(loss, target.dtype)
        if weight is not None:
            loss = weighed(F, loss, weight)
        return reduced(F, loss, reduction)

    def quick(input, target, weight, size_average, reduce, reduction, pos_weight):
        if size_average is not None or reduce is not None or reduction not in REDUCTIONS or (
                both := aligned(input, target, half=True)) is None:
            return None
        if weight is None and pos_weight is None:
            return np.asarray(bce_with_logits.field("numpy")(*both, reduction))
        for factor in (weight, pos_weight):
            if factor is not None and (factor.dtype is not input.dtype or factor.shape not in (input.shape, input.shape[-1:])):
                return None
        if input.itemsize == 2 or not (input.flags.c_contiguous and target.flags.c_contiguous):
            return None
        loss = _logits_loss(input, target) if pos_weight is None else _weighed(arrays_only(), input, target, pos_weight)
        if weight is not None:
            loss = np.multiply(loss, weight, loss)
        return np.asarray(loss_of(loss, reduction))

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 3)), rng.uniform(0, 1, (2, 3))
        yield Sample((r((2, 3)), rng.uniform(0, 1, (2, 3)), rng.uniform(0.5, 1, 3)),
                     {"pos_weight": rng.uniform(0.5, 2, 3), "reduction": "sum"})


# -- distributions ----------------------------------------------------------------------------------------------------


_KL_MEAN = ("reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.")


_of_target, _of_log_target = Loss("divergence"), Loss("divergence_of_log")


def _divergence(F: Functions, input: Any, target: Any, log_target: bool) -> Any:
    return F.exp(target) * (target - input) if log_target else F.xlogy(target, target) - target * input


@op("kl_div(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', "
    "bool log_target=False) -> Tensor",
    namespace="nn.functional", method=False, out=False, complex="RuntimeError: kl_div: Complex inputs not supported.")
class kl_div:
    """target * (log(target) - input): the divergence of `target` from the distribution with log-probabilities `input`.

    >>> torch.nn.functional.kl_div(torch.tensor([-1.]), torch.tensor([1.]), reduction="sum")
    tensor(1.)
    """

    lacks = {"float8": "xlogy_cpu", "int bool uint": "RuntimeError: kl_div: Integral inputs not supported."}
    amp = "float32"
    def function(F, input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
        if reduction == "batchmean" and size_average is None and reduce is None:
            kept = "sum"
        else:
            if reduction == "mean" and size_average is None and reduce is None:
                warned.warn(_KL_MEAN)
            kept = reduction_name(reduction, size_average, reduce)
        if target._k.dtype.category != FLOATING:
            raise AutogradError(f"kl_div: {'Integral' if target._k.dtype.category < FLOATING else 'Complex'} inputs not supported.")
        loss = reduced(F, _divergence(F, input, target, log_target), kept)
        return loss / input.shape[0] if reduction == "batchmean" and input.ndim else loss

    def quick(input, target, size_average, reduce, reduction, log_target):
        if size_average is not None or reduce is not None or reduction not in ("batchmean", *REDUCTIONS) or (
                both := aligned(target, input, half=True)) is None:
            return None
        target, input = both  # as the result lies, too
        each = (_of_log_target if log_target else _of_target)(input, target)
        if each is None:
            if input.itemsize == 2:
                return None
            each = _divergence(arrays_only(), input, target, log_target)
        if reduction == "mean":
            warned.warn(_KL_MEAN)
        if reduction != "batchmean":
            return np.asarray(loss_of(each, reduction))
        return np.asarray(divided(np.asarray(loss_of(each, "sum")), len(input)))

    def samples(rng):
        r = rng.standard_normal
        yield Sample((r((2, 3)), rng.uniform(0.1, 0.9, (2, 3))), {"reduction": "batchmean"})
        yield Sample((r((2, 3)), r((2, 3))), {"log_target": True, "reduction": "sum"})


_of_log_rate, _of_plain_rate, _with_stirling = Loss("rate_of_log"), Loss("rate"), Loss("stirling")


def _of_rate(F: Functions, input: Any, target: Any, log_input: bool, eps: float) -> Any:
    return F.exp(input) - target * input if log_input else input - target * F.log(input + eps)


def _full(F: Functions, loss: Any, target: Any) -> Any:
    """A loss with Stirling's approximation of the logarithm of the factorial of its target."""
    stirling = target * F.log(target) - target + 0.5 * F.log(target * (2 * np.pi))
    return loss + F.masked_fill(stirling, target <= 1, 0)


@op("poisson_nll_loss(Tensor input, Tensor target, bool log_input=True, bool full=False, bool? size_average=None, float eps=1e-8, "
    "bool? reduce=None, str reduction='mean') -> Tensor", namespace="nn.functional", method=False, out=False)
class poisson_nll_loss:
    """The negative log likelihood of counts `target` under Poisson distributions of rate exp(input), or `input`.

    >>> torch.nn.functional.poisson_nll_loss(torch.tensor([0.]), torch.tensor([2.]))
    tensor(1.)
    """

    lacks = {"float8 chalf": "exp_vml_cpu"}
    amp = "float32"
    def function(F, input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
        reduction = reduction_name(reduction, size_average, reduce)
        loss = _of_rate(F, input, target, log_input, eps)
        if full:
            loss = _full(F, loss, target)
        return reduced(F, loss, reduction)

    def quick(input, target, log_input, full, size_average, eps, reduce, reduction):
        if size_average is not None or reduce is not None or reduction not in REDUCTIONS or (
                both := aligned(input, target, half=True)) is None:
            return None
        if input.itemsize == 2:
            each = (_of_log_rate if log_input else _of_plain_rate)(*both, numbers=(float(eps), 0.0))
            each = each if each is None or not full else _with_stirling(each, both[1], numbers=(2 * np.pi, 0.0))
            return None if each is None else np.asarray(loss_of(each, reduction))
        x, t = both if input.flags.c_contiguous else (input.T, both[1].T)
        each = _of_rate(arrays_only(), x, t, log_input, float(eps))
        each = _full(arrays_only(), each, t) if full else each
        return np.asarray(loss_of(each if x is input else each.T, reduction))

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.uniform(2, 5, (2, 3))
        yield Sample((rng.uniform(0.5, 2, (2, 3)), rng.uniform(2, 5, (2, 3))), {"log_input": False, "full": True})


_of_normal = Loss("gaussian")


@op("gaussian_nll_loss(Tensor input, Tensor target, Tensor var, bool full=False, float eps=1e-6, str reduction='mean') -> Tensor",
    namespace="nn.functional", method=False, out=False)
class gaussian_nll_loss:
    """The negative log likelihood of `target` under normal distributions of mean `input` and variance `var`.

    >>> torch.nn.functional.gaussian_nll_loss(torch.tensor([1.]), torch.tensor([3.]), torch.tensor([1.]))
    tensor(2.)
    """

    lacks = {"uint float8": "lt_cpu"}
    def function(F, input, target, var, full=False, eps=1e-6, reduction="mean"):
        if isinstance(var, float):
            if var < 0:
                raise ValueError("var has negative entry/entries")
            var = F.full_like(input, var)
        elif bool(F.any(var < 0)):
            raise ValueError("var has negative entry/entries")
        a, b = tuple(input.shape), tuple(var.shape)
        if a != b:
            if a[:-1] == b:
                var = F.reshape(var, (*b, 1))
            elif not (len(a) == len(b) and sum(x != y for x, y in zip(a, b)) == 1 and any(x != y and y == 1 for x, y in zip(a, b))):
                raise ValueError("var is of incorrect size")
        if reduction not in ("none", "mean", "sum"):
            raise ValueError(reduction + " is not valid")
        if var.dtype.category < FLOATING:
            raise AutogradError(f"result type Float can't be cast to the desired output type {c_name(var.dtype)}")
        # The bound keeps the value from exploding but lets the gradient through, as in torch.
        low = constant(F, var, np.maximum(var._data, var._data.dtype.type(eps)) - var._data)
        var = var + low
        difference = input - target
        loss = 0.5 * (F.log(var) + F.pow(difference, 2) / var)
        if full:
            loss = loss + 0.5 * float(np.log(2 * np.pi))
        return reduced(F, loss, reduction)

    def quick(input, target, var, full, eps, reduction):
        if reduction not in REDUCTIONS or not isinstance(var, np.ndarray) or (found := aligned(var, input, target, half=True)) is None:
            return None
        var, input, target = found  # as the result lies, too
        if np.less(var.view(np.int16) if var.itemsize == 2 else var, 0).any():
            return None
        constant = 0.5 * float(np.log(2 * np.pi)) if full else 0.0
        if input.itemsize == 2:
            each = _of_normal(input, target, var, numbers=(float(eps), constant))
            return None if each is None else np.asarray(loss_of(each, reduction))
        bounded = np.maximum(var, var.dtype.type(eps))
        np.add(var, np.subtract(bounded, var, bounded), bounded)
        apart = np.subtract(input, target)
        np.divide(np.multiply(apart, apart, apart), bounded, apart)
        each = np.add(arrays_only().log(bounded), apart, apart)
        np.multiply(each, each.dtype.type(0.5), each)
        return np.asarray(loss_of(np.add(each, each.dtype.type(constant), each) if full else each, reduction))

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 3)), r((2, 3)), rng.uniform(0.5, 2, (2, 3))
        yield Sample((r((2, 3)), r((2, 3)), rng.uniform(0.5, 2, 2)), {"full": True, "reduction": "sum"})
