"""Losses of distances, margins and rankings. Those of probabilities are in `entropy`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...dims import broadcast_shape
from ...dtypes import FLOATING, SCALAR_TYPE_NAMES
from ...errors import AutogradError, ShapeMismatchError
from ...executors.kernels import elementwise as fused, reduce
from ...executors.kernels.halves import narrow, ufunc, widened
from ...executors.kernels.losses import Loss
from ...executors.kernels.pairs import halved, ufunc2
from ...functions.refusals import MetaRefusal, no_kernel, on_meta, subtracted
from ...record import Sample, op
from .. import _batch as batches
from .. import _shapes as shapes
from .._precision import in_halves, in_single
from .._samples import refuse_complex_gradient
from ..elementwise._elementary import logarithms_of_1_more
from ..reductions.norms import quick_distance
from ..reductions.sums import _sum, loss_of
from ._losses import (
    REDUCTIONS, aligned, arrays_only, check_fits, in_order_of, reduced, reduction_name, sharded, share_of, size_text, warn_sizes,
)
from ...annotations import Functions
from ...tensor import TensorRef

LARGE = 1 << 18  # elements from which the shared kernels are worth their set-up


def _pair(rng: np.random.Generator) -> Any:
    yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
    yield Sample((rng.standard_normal((2, 3)), rng.standard_normal((2, 3))), {"reduction": "sum"})
    yield Sample((rng.standard_normal((2, 3)), rng.standard_normal((2, 3))), {"reduction": "none"})


def _check_floating(kernel: str, *tensors: TensorRef, meta: MetaRefusal = subtracted) -> None:
    if max([t.dtype.category for t in tensors]) < FLOATING:
        no_kernel(kernel, tensors[0], meta=meta)


# -- differences ------------------------------------------------------------------------------------------------------


def _mse(input: np.ndarray, target: np.ndarray, reduction: str) -> np.ndarray:
    if input.size >= LARGE and reduction != "none" and reduce.fits_distance(input, target):
        large = reduce.square_distance(input, target)
        return large if reduction == "sum" else large / input.dtype.type(input.size)
    d = input - target
    if reduction == "none":
        return np.multiply(d, d, d) if d.__class__ is np.ndarray else d * d
    flat = d.ravel()
    total = flat.dot(flat)
    return total if reduction == "sum" else total / flat.dtype.type(flat.size)


def _mse_grad(F: Functions, grad: Any, input: Any, target: Any, reduction: str, needs: tuple[bool, bool]) -> Any:
    if input.__class__ is np.ndarray and input.size >= LARGE and reduction != "none" and reduce.fits_distance(input, target):
        return reduce.square_distance_backward(float(grad) / (input.size if reduction == "mean" else 1), input, target, needs)
    share = share_of(input, target, reduction, 2.0)
    pairs = (input, target), (target, input)
    return [_mse_slope(F, grad, *pair, share) if needed else None for pair, needed in zip(pairs, needs)]


@fused.difference_vjp(fused.SQUARE)
@in_halves
def _mse_slope(F: Functions, grad: Any, input: Any, target: Any, share: float) -> Any:
    return (input - target) * share * grad


def _mse_half(input: Any, target: Any, reduction: str) -> Any:
    """`mse` of half precision, which torch rounds after the difference and after the square."""
    d = halved(np.subtract, input, target)
    return loss_of(halved(np.multiply, d, d), reduction)


@op("mse(Tensor input, Tensor target, str reduction) -> Tensor", namespace="_internal", method=False, out=False, promotion="promote",
    result="same", broadcasts=True, node="MseLossBackward0", complex="mse_cpu")
class mse:
    """(input - target)^2, reduced."""

    sharding = sharded
    numpy = _mse
    half = _mse_half
    shape = shapes.reduced_pair
    def compose(F, input, target, reduction): return reduced(F, (input - target) * (input - target), reduction)
    vjp = _mse_grad
    jvp = "transposed"

    batch = batches.each_loss
    aten = "mse_loss(input, target, *[number(reduction)] * (reduction != 'mean'))"

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), "mean"
        yield rng.standard_normal((2, 3)), rng.standard_normal(3), "none"


def _weighted(F: Functions, loss: Any, weight: Any, input: Any, reduction: str) -> Any:
    """The weighted mean, where torch's losses of differences take a weight."""
    if tuple(weight.shape) != tuple(input.shape):
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    if reduction == "mean":
        return F.sum(loss) / F.sum(weight)
    return reduced(F, loss, reduction)


@op("mse_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', "
    "Tensor? weight=None) -> Tensor",
    namespace="nn.functional", method=False, out=False)
class mse_loss:
    """The mean of (input - target)^2.

    >>> torch.nn.functional.mse_loss(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
    tensor(2.)
    """

    lacks = {"float8": "mse_cpu"}
    amp = "float32"
    def quick(input, target, size_average, reduce, reduction, weight):
        if size_average is None and reduce is None and reduction in REDUCTIONS and weight is None and (
                both := aligned(input, target, half=True)) is not None:
            return np.asarray((_mse if input.itemsize != 2 else _mse_half)(*both, reduction))

    def function(F, input, target, size_average=None, reduce=None, reduction="mean", weight=None):
        if size_average is not None or reduce is not None or reduction not in ("mean", "sum", "none"):
            reduction = reduction_name(reduction, size_average, reduce)
        if input._data.shape != target._data.shape:
            warn_sizes(input, target)
        if weight is not None:
            return _weighted(F, F.mse(input, target, "none"), weight, input, reduction)
        if input._k.dtype.category < FLOATING:
            _check_floating("mse_cpu", input, target)
        return F.mse(input, target, reduction)

    samples = _pair


@op("l1_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', Tensor? weight=None) -> Tensor",
    namespace="nn.functional", method=False, out=False)
class l1_loss:
    """The mean of |input - target|.

    >>> torch.nn.functional.l1_loss(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
    tensor(1.)
    """

    lacks = {"uint float8": "add_stub"}
    amp = "float32"
    def quick(input, target, size_average, reduce, reduction, weight):
        if size_average is None and reduce is None and reduction in REDUCTIONS and weight is None and (
                both := aligned(input, target)) is not None:
            return np.asarray(loss_of(_apart(*both), reduction))

    def function(F, input, target, size_average=None, reduce=None, reduction="mean", weight=None):
        reduction = reduction_name(reduction, size_average, reduce)
        warn_sizes(input, target)
        loss = F.abs(input - target)
        return reduced(F, loss, reduction) if weight is None else _weighted(F, loss, weight, input, reduction)

    samples = _pair


def _apart(input: np.ndarray, target: np.ndarray) -> np.ndarray:
    """|input - target|, a new array."""
    d = np.asarray(input - target)
    return np.abs(d, d)


@fused.one_pass_vjp("huber", exact=True)
def _bent(input: np.ndarray, target: np.ndarray, delta: float) -> np.ndarray:
    """d^2 / 2 up to `delta`, then delta * (d - delta / 2), without a choice: m * (d - m / 2) for m, the lesser of d and delta."""
    d = _apart(input, target)
    m = np.minimum(d, d.dtype.type(delta))
    d -= m * d.dtype.type(0.5)
    return np.multiply(d, m, d)


def _bent_at(input: np.ndarray, target: np.ndarray, beta: float) -> np.ndarray:
    if beta == 1:
        return _bent(input, target, 1.0)
    if input.itemsize == 2:
        return narrow(_bent_at(widened(input), widened(target), beta), input.dtype)
    d = _apart(input, target)
    half, bend = d.dtype.type(0.5), d.dtype.type(beta)
    return np.where(d < bend, half * d * d / bend, d - half * bend)


@fused.difference_vjp(fused.SMOOTH, lambda beta: beta)
@in_single
def _smooth_slope(F: Functions, grad: Any, input: Any, target: Any, share: float, beta: float) -> Any:
    return F.clamp((input - target) / beta, -1.0, 1.0) * share * grad


@op("smooth_l1(Tensor input, Tensor target, float beta, str reduction) -> Tensor", namespace="_internal", method=False, out=False,
    promotion="promote", result="same", broadcasts=True, node="SmoothL1LossBackward0", complex="smooth_l1_cpu")
class smooth_l1:
    """d^2 / (2 beta) where |d| < beta, else |d| - beta / 2, for d = input - target, reduced."""

    @fused.takes_half
    def numpy(input, target, beta, reduction): return loss_of(_bent_at(input, target, beta), reduction, input, target)
    sharding = sharded
    shape = shapes.reduced_pair
    def compose(F, input, target, beta, reduction):
        d = F.abs(input - target)
        return reduced(F, F.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta), reduction)
    def vjp_input(F, grad, input, target, beta, reduction):
        return _smooth_slope(F, grad, input, target, share_of(input, target, reduction, single=True), beta)
    def vjp_target(F, grad, input, target, beta, reduction):
        return _smooth_slope(F, grad, target, input, share_of(input, target, reduction, single=True), beta)
    jvp = "transposed"
    batch = batches.each_loss
    aten = "smooth_l1_loss(input, target, *but([number(reduction), beta], [1, 1.0]))"

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal(3) * 3, 0.7, "none"
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3)) * 3, 1.0, "mean"


@op("smooth_l1_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean', float beta=1.0) -> "
    "Tensor",
    namespace="nn.functional", method=False, out=False)
class smooth_l1_loss:
    """The mean of |input - target|, squared below `beta` (Girshick, "Fast R-CNN").

    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0., 0.]), torch.tensor([1., 3.]))
    tensor(1.5000)
    """

    lacks = {"float8": "smooth_l1_cpu"}
    amp = "float32"
    def quick(input, target, size_average, reduce, reduction, beta):
        if size_average is None and reduce is None and reduction in REDUCTIONS and beta > 0 and (
                both := aligned(input, target, half=True)) is not None:
            return np.asarray(loss_of(_bent_at(*both, beta), reduction))

    def function(F, input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
        warn_sizes(input, target)
        reduction = reduction_name(reduction, size_average, reduce)
        if beta < 0:
            raise AutogradError("smooth_l1_loss does not support negative values for beta.")
        _check_floating("smooth_l1_cpu", input, target)
        return reduced(F, F.abs(input - target), reduction) if beta == 0 else F.smooth_l1(input, target, beta, reduction)

    samples = _pair


@fused.difference_vjp(fused.HUBER, lambda delta: delta)
@in_halves
def _bent_slope(F: Functions, grad: Any, input: Any, target: Any, share: float, delta: float) -> Any:
    return F.clamp(input - target, -delta, delta) * share * grad


def _refuse_unlike(expected: str, found: str) -> None:
    raise AutogradError(f"Found dtype {found} but expected {expected}", remedy="convert one of them with .to(dtype)")


@op("huber(Tensor input, Tensor target, float delta, str unlike, str reduction) -> Tensor", namespace="_internal", method=False, out=False,
    promotion="promote", result="same", broadcasts=True, node="HuberLossBackward0", complex="huber_cpu")
class huber:
    """d^2 / 2 where |d| <= delta, else delta * (|d| - delta / 2), for d = input - target, reduced. `unlike` names two dtypes, for which
    there is no gradient, as in torch."""

    saved_as = {"unlike": None}
    @fused.takes_half
    def numpy(input, target, delta, unlike, reduction): return loss_of(_bent(input, target, delta), reduction, input, target)
    sharding = sharded
    shape = shapes.reduced_pair
    def compose(F, input, target, delta, unlike, reduction):
        d = F.abs(input - target)
        return reduced(F, F.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)
    def vjp_input(F, grad, input, target, delta, unlike, reduction):
        if unlike:
            _refuse_unlike(*unlike.split())
        return _bent_slope(F, grad, input, target, share_of(input, target, reduction), delta)
    def vjp_target(F, grad, input, target, delta, unlike, reduction):
        if unlike:
            _refuse_unlike(*reversed(unlike.split()))
        return _bent_slope(F, grad, target, input, share_of(input, target, reduction), delta)
    jvp = "transposed"
    batch = batches.each_loss
    aten = "huber_loss(input, target, *but([number(reduction), delta], [1, 1.0]))"

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal(3) * 3, 0.7, "", "none"
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3)) * 3, 0.7, "", "mean"


@op("huber_loss(Tensor input, Tensor target, str reduction='mean', float delta=1.0, Tensor? weight=None) -> Tensor",
    namespace="nn.functional", method=False, out=False)
class huber_loss:
    """The mean of |input - target|^2 / 2, linear beyond `delta` (Huber, "Robust estimation of a location parameter").

    >>> torch.nn.functional.huber_loss(torch.tensor([0., 0.]), torch.tensor([1., 3.]))
    tensor(1.5000)
    """

    lacks = {"float8": "huber_cpu"}
    amp = "float32"
    def quick(input, target, reduction, delta, weight):
        if reduction in REDUCTIONS and delta > 0 and weight is None and (both := aligned(input, target, half=True)) is not None:
            return np.asarray(loss_of(_bent(*both, delta), reduction))

    def function(F, input, target, reduction="mean", delta=1.0, weight=None):
        warn_sizes(input, target)
        reduction = reduction_name(reduction)
        if delta <= 0:
            raise AutogradError("huber_loss does not support non-positive values for delta.")
        if input._k.dtype is target._k.dtype:
            _check_floating("huber_cpu", input)
            if weight is None:
                return F.huber(input, target, delta, "", reduction)
            loss = F.huber(input, target, delta, "", "none")
        else:
            check_fits(input, target)
            _check_floating("huber_cpu", input, target)
            names = [SCALAR_TYPE_NAMES[t._k.dtype.name] for t in (input, target)]
            loss = F.cast(F.huber(input, target, delta, " ".join(names), "none"), input._k.dtype)
        return reduced(F, loss, reduction) if weight is None else _weighted(F, loss, weight, input, reduction)

    samples = _pair


# -- margins ----------------------------------------------------------------------------------------------------------


_of_margins = Loss("soft_margin")


def _soft_margin(input: Any, target: Any, reduction: str) -> Any:
    """Rounded after each step where it is half precision, as in torch; the sum is not."""
    if input.itemsize == 2 and (both := aligned(input, target, half=True)) is not None and (loss := _of_margins(*both)) is not None:
        return loss_of(loss, reduction)
    z = ufunc(np.exp, ufunc(np.multiply, ufunc(np.negative, input), target))
    loss = ufunc(np.log1p, z) if z.itemsize == 2 else logarithms_of_1_more(z)
    if reduction == "none":
        return loss
    total = np.add.reduce(loss, None, np.float32 if loss.itemsize == 2 else None)
    return (total / loss.size if reduction == "mean" else total).astype(loss.dtype)


def _soft_margin_backward(grad: np.ndarray, input: np.ndarray, target: np.ndarray, reduction: str) -> np.ndarray:
    z, dtype = ufunc(np.exp, ufunc(np.multiply, ufunc(np.negative, target), input)), input.dtype
    share = np.asarray(ufunc(np.multiply, target, z))
    share = (share.astype(np.float32 if dtype.itemsize == 2 else dtype) * _share(share, reduction)).astype(dtype)
    return ufunc(np.multiply, ufunc(np.divide, share, ufunc(np.add, z, np.ones((), dtype))), grad)


def _share(x: Any, reduction: str) -> float:
    return -1 / max(prod(x.shape), 1) if reduction == "mean" else -1.0


@op("soft_margin_backward(Tensor cotangent, Tensor input, Tensor target, str reduction) -> Tensor", namespace="_internal", method=False,
    out=False, node="SoftMarginLossBackwardBackward0", complex="explicit")
class soft_margin_backward:
    """-target / (1 + exp(target * input)) * grad, in torch's steps, each of which rounds half precision."""

    numpy = half = _soft_margin_backward
    shape = shapes.like_second
    def compose(F, cotangent, input, target, reduction):
        z = F.exp(-target * input)
        return F.mul(target * z, _share(z, reduction)) / F.add(z, 1) * cotangent
    def vjp_cotangent(F, grad, cotangent_shape, input, target, reduction):
        return F.reduce_to_shape(F.soft_margin_backward(grad, input, target, reduction), tuple(cotangent_shape))
    def vjp_input(F, grad, cotangent, input, target, reduction):
        z = F.exp(input * -target)
        y, found = F.add(z, 1), grad * cotangent * (target * target) * z
        return found / (y * y) if reduction != "mean" else F.div(found / (y * y), max(prod(found.shape), 1))

    def sharding(call):
        return call.composed() if call["reduction"] == "mean" else call.elementwise()
    def batch(F, call):
        found = call(**{**batches.aligned(F, call), "input": call.whole("input")}, reduction="none")
        return F.div(found, max(prod(found.shape[1:]), 1)) if call.reduction == "mean" else found

    def samples(rng):
        grad, x, signs = rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), np.sign(rng.standard_normal((2, 3)))
        yield grad, x, signs, "none"
        yield grad[0, 0], x, signs, "mean"


@op("soft_margin(Tensor input, Tensor target, str reduction) -> Tensor", namespace="_internal", method=False, out=False,
    promotion="promote", result="same", broadcasts=True, node="SoftMarginLossBackward0", complex="explicit")
class soft_margin:
    """log(1 + exp(-target * input)), reduced; the target has no gradient."""

    sharding = sharded
    numpy = half = _soft_margin
    shape = shapes.reduced_pair
    def compose(F, input, target, reduction): return reduced(F, F.log1p(F.exp(-input * target)), reduction)
    def vjp_input(F, grad, input, target, reduction): return F.soft_margin_backward(grad, input, target, reduction)

    def jvp(F, outputs, arguments, tangents):
        each = F.soft_margin_backward(tangents["input"], arguments["input"], arguments["target"], "none")
        return reduced(F, each, arguments["reduction"])
    aten = "soft_margin_loss(input, target, *[number(reduction)] * (reduction != 'mean'))"
    batch = batches.each_loss

    def samples(rng):
        yield rng.standard_normal((2, 3)), np.sign(rng.standard_normal((2, 3))), "mean"
        yield rng.standard_normal((2, 3)), np.sign(rng.standard_normal(3)), "none"

@op("soft_margin_loss(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor",
    namespace="nn.functional", method=False, out=False)
class soft_margin_loss:
    """The mean of log(1 + exp(-target * input)) for targets 1 and -1.

    >>> torch.nn.functional.soft_margin_loss(torch.tensor([0.]), torch.tensor([1.]))
    tensor(0.6931)
    """

    lacks = {"uint float8": "neg_cpu", "chalf": "exp_vml_cpu",
             "int": "RuntimeError: result type Float can't be cast to the desired output type {dtype}"}
    refuses_grad = {"target": "soft_margin_loss"}
    amp = "float32"
    def function(F, input, target, size_average=None, reduce=None, reduction="mean"):
        refuse_complex_gradient("soft_margin_loss", input)
        if input._k.dtype.name == "bool":
            return F.neg(input)  # which says so
        both = broadcast_shape(tuple(input.shape), tuple(target.shape))
        if both != tuple(input.shape):
            raise ShapeMismatchError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(both)}")
        if target._k.dtype is not input._k.dtype:  # each of torch's steps is written in the dtype of the input
            check_fits(input, target)
            target = F.cast(target, input._k.dtype)
        return F.soft_margin(input, target, reduction_name(reduction, size_average, reduce))

    def quick(input, target, size_average, reduce, reduction):
        if size_average is not None or reduce is not None or reduction not in REDUCTIONS or (
                found := aligned(input, target, half=True) if reduction == "none" else aligned(target, input, half=True)) is None:
            return None
        input, target = found if reduction == "none" else reversed(found)  # torch adds up in the order of the target
        return np.asarray(_soft_margin(input, target, reduction))

    def samples(rng): yield rng.standard_normal((2, 3)), np.sign(rng.standard_normal((2, 3)))


_of_signs = Loss("hinge", exact=True)


def _hinge(F: Functions, input: Any, target: Any, margin: float, zeros: Any) -> Any:
    return F.where(target != 1, F.clamp_min(margin - input, 0), zeros) + F.where(target != -1, input, zeros)


@op("hinge_embedding_loss(Tensor input, Tensor target, float margin=1.0, bool? size_average=None, bool? reduce=None, "
    "str reduction='mean') -> Tensor", namespace="nn.functional", method=False, out=False)
class hinge_embedding_loss:
    """`input` where target is 1, max(0, margin - input) where it is -1.

    >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.5, 0.5]), torch.tensor([1., -1.]))
    tensor(0.5000)
    """

    lacks = {"uint float8": "add_stub"}
    amp = "float32"
    def function(F, input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
        reduction = reduction_name(reduction, size_average, reduce)
        refused = subtracted(input._k.dtype)
        if refused is not None:
            raise AutogradError("Attempting to cast from torch.int64 to out tensor with dtype torch.bool, but this can't be cast because "
                                "it is not safe!") if on_meta(input) else refused
        if input._k.dtype.category < FLOATING:
            margin = int(margin)
        return reduced(F, _hinge(F, input, target, margin, F.zeros_like(input)), reduction)

    def quick(input, target, margin, size_average, reduce, reduction):
        if size_average is not None or reduce is not None or reduction not in REDUCTIONS or target.shape != input.shape or (
                not target.flags.forc or aligned(input, half=True) is None):
            return None
        target, input = in_order_of(target, target, input)  # as the result lies, too
        each = _of_signs(input, target, numbers=(float(margin),)) if target.dtype.char == "l" else None
        if each is None:
            if input.itemsize == 2:
                return None
            each = _hinge(arrays_only(), input, target, float(margin), np.zeros_like(input))
        return np.asarray(loss_of(each, reduction))

    def samples(rng): yield rng.standard_normal((2, 3)), np.sign(rng.standard_normal((2, 3))).astype(int)


_of_ranks = Loss("ranked", exact=True)


def _ranked(F: Functions, input1: Any, input2: Any, target: Any, margin: float) -> Any:
    return F.clamp_min(-target * (input1 - input2) + margin, 0)


@op("margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, bool? size_average=None, bool? reduce=None, "
    "str reduction='mean') -> Tensor", namespace="nn.functional", method=False, out=False)
class margin_ranking_loss:
    """max(0, -target * (input1 - input2) + margin).

    >>> torch.nn.functional.margin_ranking_loss(torch.tensor([1.]), torch.tensor([3.]), torch.tensor([1.]))
    tensor(2.)
    """

    lacks = {"uint float8": "add_stub"}
    amp = "float32"
    def function(F, input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
        reduction = reduction_name(reduction, size_average, reduce)
        if not input1.ndim == input2.ndim == target.ndim:
            raise ShapeMismatchError("margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                                     f"{size_text(input1)}, input2: {size_text(input2)}, target: {size_text(target)} ")
        return reduced(F, _ranked(F, input1, input2, target, margin), reduction)

    def quick(input1, input2, target, margin, size_average, reduce, reduction):
        if size_average is not None or reduce is not None or reduction not in REDUCTIONS:
            return None
        if (found := aligned(target, input1, input2, half=True)) is not None:
            target, input1, input2 = found  # as the result lies, too
            each = _of_ranks(input1, input2, target, numbers=(float(margin), 0.0))
            if each is None:
                if input1.itemsize == 2:
                    return None
                each = _ranked(arrays_only(), input1, input2, target, float(margin))
            return np.asarray(loss_of(each, reduction))
        if margin.__class__ is float and input1.size and input1.shape == input2.shape == target.shape and all(
                [a.dtype.char == "l" and a.flags.c_contiguous for a in (input1, input2, target)]):
            apart = (target * (input2 - input1)).astype(np.float32)
            return np.asarray(loss_of(np.maximum(apart + np.float32(margin), np.float32(0)), reduction))

    def samples(rng): yield rng.standard_normal(4), rng.standard_normal(4), np.sign(rng.standard_normal(4)), 0.3


def _turned(F: Functions, product: Any, square1: Any, square2: Any, target: Any, margin: float) -> Any:
    """The losses of angles, by products and squares of vectors."""
    cos = product / F.sqrt((square1 + 1e-12) * (square2 + 1e-12))
    zeros = np.zeros_like(cos) if cos.__class__ is np.ndarray else F.zeros_like(cos)
    return F.where(target == 1, 1 - cos, zeros) + F.where(target == -1, F.clamp_min(cos - margin, 0), zeros)


@op("cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, bool? size_average=None, bool? reduce=None, "
    "str reduction='mean') -> Tensor", namespace="nn.functional", method=False, out=False)
class cosine_embedding_loss:
    """1 - cos(input1, input2) where target is 1, max(0, cos - margin) where it is -1.

    >>> torch.nn.functional.cosine_embedding_loss(torch.tensor([[1., 0.]]), torch.tensor([[0., 1.]]), torch.tensor([1.]))
    tensor(1.)
    """

    lacks = {"float8 chalf": "sum_cpu"}
    amp = "float32"
    def function(F, input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
        reduction = reduction_name(reduction, size_average, reduce)
        if target.ndim > 1:
            raise AutogradError("0D or 1D target tensor expected, multi-target not supported")
        if target.ndim == 1 and (input1.ndim != 2 or input2.ndim != 2):
            raise AutogradError(f"1D target tensor expects 2D input tensors, but found inputs with sizes {list(input1.shape)} and "
                                f"{list(input2.shape)}.")
        if target.ndim == 0 and (input1.ndim != 1 or input2.ndim != 1):
            raise AutogradError(f"0D target tensor expects 1D input tensors, but found inputs with sizes {list(input1.shape)} and "
                                f"{list(input2.shape)}.")
        sums = [F.sum(x * y, target.ndim) for x, y in ((input1, input2), (input1, input1), (input2, input2))]
        return reduced(F, _turned(F, *sums, target, margin), reduction)

    def quick(input1, input2, target, margin, size_average, reduce, reduction):
        if size_average is not None or reduce is not None or reduction not in REDUCTIONS or target.ndim != 1 or input1.ndim != 2 or (
                input1.shape != input2.shape or input1.dtype is not input2.dtype or input1.dtype.char not in "fdl?" or not input1.size
                or input1.strides != input2.strides or len(target) != len(input1)):
            return None
        sums = [np.asarray(_sum(ufunc2(np.multiply, x, y), 1, False)) for x, y in ((input1, input2), (input1, input1), (input2, input2))]
        if input1.dtype.kind != "f":
            sums = [s.astype(np.float32) for s in sums]
        return np.asarray(loss_of(_turned(arrays_only(), *sums, target, margin), reduction))

    def samples(rng): yield rng.standard_normal((4, 3)), rng.standard_normal((4, 3)), np.array([1.0, -1.0, 1.0, -1.0])


def _quick_triplets(anchor: np.ndarray, positive: np.ndarray, negative: np.ndarray, margin: float, p: float, eps: float, swap: bool,
                    reduction: str) -> np.ndarray | None:
    if not margin > 0 or reduction not in REDUCTIONS or anchor.ndim < 2 or not anchor.shape == positive.shape == negative.shape or (
            not anchor.flags.forc or not anchor.size):
        return None
    _, first, second = in_order_of(anchor, anchor, positive, negative)
    near, far = quick_distance(anchor, first, p, eps, False), quick_distance(anchor, second, p, eps, False)
    if near is None or far is None or near.dtype is not far.dtype:
        return None
    half = near.itemsize == 2
    if swap:
        other = quick_distance(positive, negative, p, eps, False)
        if other is None or other.dtype is not far.dtype:
            return None
        far = halved(np.minimum, far, other) if half else np.minimum(far, other)
    if half:
        margin = float(np.float32(margin).astype(near.dtype))  # as torch rounds a number that it adds
        apart = halved(np.subtract, fused.with_number(np.add, near, margin, False), far)
    else:
        apart = near.dtype.type(margin) + near - far
    return np.asarray(loss_of(np.maximum(apart, apart.dtype.type(0)), reduction))


@op("triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-6, bool swap=False, "
    "bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor", namespace="nn.functional", method=False, out=False)
class triplet_margin_loss:
    """max(0, |anchor - positive| - |anchor - negative| + margin), distances of order `p`.

    >>> torch.nn.functional.triplet_margin_loss(torch.zeros(1, 2), torch.tensor([[3., 4.]]), torch.zeros(1, 2))
    tensor(6.0000)
    """

    lacks = {"uint float8": "add_stub"}
    amp = "float32"
    def function(F, anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
        reduction = reduction_name(reduction, size_average, reduce)
        if margin <= 0:
            raise ValueError(f"margin must be greater than 0, got {margin}")
        if not anchor.ndim == positive.ndim == negative.ndim:
            raise ShapeMismatchError("The anchor, positive, and negative tensors are expected to have the same number of dimensions, but "
                                     "got: "
                                     f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs")
        near, far = F.pairwise_distance(anchor, positive, p, eps), F.pairwise_distance(anchor, negative, p, eps)
        if swap:
            far = F.minimum(far, F.pairwise_distance(positive, negative, p, eps))
        return reduced(F, F.clamp_min(margin + near - far, 0), reduction)

    def quick(anchor, positive, negative, margin, p, eps, swap, size_average, reduce, reduction):
        if size_average is None and reduce is None:
            return _quick_triplets(anchor, positive, negative, margin, p, eps, swap, reduction)

    def samples(rng):
        r = rng.standard_normal
        yield r((3, 4)), r((3, 4)), r((3, 4))
        yield Sample((r((3, 4)), r((3, 4)), r((3, 4))), {"swap": True, "margin": 2.0, "reduction": "none"})


@op("triplet_margin_with_distance_loss(Tensor anchor, Tensor positive, Tensor negative, *, Any distance_function=None, float margin=1.0, "
    "bool swap=False, str reduction='mean') -> Tensor", namespace="nn.functional", method=False, out=False)
class triplet_margin_with_distance_loss:
    """`triplet_margin_loss` with a distance of the caller's.

    >>> torch.nn.functional.triplet_margin_with_distance_loss(torch.zeros(1, 2), torch.tensor([[3., 4.]]), torch.zeros(1, 2))
    tensor(6.0000)
    """

    lacks = {"uint float8": "add_stub"}
    def function(F, anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        reduction = reduction_name(reduction)
        if margin <= 0:
            raise ValueError(f"margin must be greater than 0, got {margin}")
        if not anchor.ndim == positive.ndim == negative.ndim:
            raise ShapeMismatchError("The anchor, positive, and negative tensors are expected to have the same number of dimensions, but "
                                     "got: "
                                     f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs")
        distance = F.pairwise_distance if distance_function is None else distance_function
        near, far = distance(anchor, positive), distance(anchor, negative)
        if swap:
            far = F.minimum(far, distance(positive, negative))
        return reduced(F, F.clamp_min(margin + near - far, 0), reduction)

    def quick(anchor, positive, negative, distance_function, margin, swap, reduction):
        if distance_function is None:
            return _quick_triplets(anchor, positive, negative, margin, 2.0, 1e-6, swap, reduction)

    def samples(rng): yield rng.standard_normal((3, 4)), rng.standard_normal((3, 4)), rng.standard_normal((3, 4))
