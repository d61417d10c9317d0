"""Losses of margins between the logits of classes: `multi_margin_loss`, `multilabel_margin_loss`, `multilabel_soft_margin_loss`."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...dtypes import FLOATING, SCALAR_TYPE_NAMES, float32
from ...errors import AutogradError, ShapeMismatchError
from ...executors.kernels import loops
from ...record import Sample, no_derivative, op
from .._host import on_host
from ._losses import REDUCTIONS, reduced, reduction_name
from ...tensor import TensorRef
from ...warned import ignoring
from ...annotations import Functions

_forward, _backward = loops.Loop(loops.multi_margin, 3), loops.Loop(loops.multi_margin_backward, 4)
_forward_labels, _backward_labels = loops.Loop(loops.multilabel_margin, 2, 3, 4), loops.Loop(loops.multilabel_margin_backward, 4, 5)


_NONE = {char: np.empty(0, char) for char in "fd"}


def _rows(input: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logits (N, C), (C,) or () as (N, C), C-contiguous; targets in a row."""
    x = np.ascontiguousarray(input)
    return x if x.ndim == 2 else x.reshape(1, -1), np.ascontiguousarray(target, np.int64).reshape(-1)


def _reduced(losses: np.ndarray, reduction: str, shape: tuple[int, ...]) -> np.ndarray:
    if reduction == "none":
        return losses.reshape(shape)
    total = np.add.reduce(losses)
    return np.array(total if reduction == "sum" else total / losses.dtype.type(losses.size))


def _shares(grad: np.ndarray, rows: int, reduction: str) -> np.ndarray:
    """The cotangent of each row's loss."""
    if reduction == "none":
        return np.ascontiguousarray(grad).reshape(-1)
    shares = np.empty(rows, grad.dtype)
    shares.fill(grad / grad.dtype.type(rows) if reduction == "mean" and rows else grad)
    return shares


def _above(x: np.ndarray, index: np.ndarray, margin: float) -> np.ndarray:
    """max(0, margin - x[target] + x) for other classes, 0 for the target; without a NaN."""
    if index.size and not (0 <= index.min() and index.max() < x.shape[1]):
        raise IndexError
    each = np.arange(len(x))
    with ignoring():
        z = margin - x[each, index].astype(np.float64)[:, None] + x
    z[~(z > 0)] = 0
    z[each, index] = 0
    return z


def _multi_margin(input: np.ndarray, target: np.ndarray, weight: np.ndarray | None, p: int, margin: float,
                  reduction: str) -> np.ndarray:
    x = input if input.flags.carray else input.copy()
    index = target if target.flags.carray and target.dtype.char == "l" else np.ascontiguousarray(target, np.int64)
    size, rows, classes, dtype = x.size, index.size, x.shape[-1] if x.ndim else 1, x.dtype
    try:
        if loops.takes(size):
            losses = np.empty(rows, dtype)
            factors = _NONE[dtype.char] if weight is None else np.ascontiguousarray(weight)
            _forward(dtype.char, rows, size, x, index, factors, losses, classes, p, margin)
        else:
            x, index = x.reshape(rows, classes), index.reshape(-1)
            z = _above(x, index, margin)
            z = (z if p == 1 else z * z).sum(1) / classes
            losses = (z if weight is None else z * weight[index]).astype(dtype)
    except IndexError:
        raise AutogradError("target out of range", expected=f"0 to {classes - 1}", found=str(index.reshape(-1).tolist()[:8])) from None
    return _reduced(losses, reduction, target.shape)


def _multi_margin_backward(grad: np.ndarray, input: np.ndarray, target: np.ndarray, weight: np.ndarray | None, p: int, margin: float,
                           reduction: str) -> np.ndarray:
    x, index = _rows(input, target)
    (rows, classes), char = x.shape, x.dtype.char
    g = _shares(grad, rows, reduction)
    if loops.takes(x.size):
        out = np.empty(input.shape, x.dtype)
        factors = np.empty(0, x.dtype) if weight is None else np.ascontiguousarray(weight)
        _backward(char, rows, x.size, g, x.reshape(-1), index, factors, out.reshape(-1), classes, int(p), margin)
        return out
    z = _above(x, index, margin)
    z = (np.sign(z) if p == 1 else 2 * z) * ((g if weight is None else g * weight[index]) / classes)[:, None]
    z[np.arange(rows), index] = 0.0 - z.sum(1)
    return z.astype(x.dtype).reshape(input.shape)


def _multilabel_margin(input: np.ndarray, target: np.ndarray, reduction: str) -> tuple[np.ndarray, np.ndarray]:
    x, index = _rows(input, target)
    rows, classes = x.shape
    losses, marks = np.empty(rows, x.dtype), np.empty(target.shape, x.dtype)
    try:
        if loops.takes(4 * x.size):
            _forward_labels(x.dtype.char, rows, 4 * x.size, x, index, losses, marks, np.empty(x.size), classes)
        else:
            if index.size and not (-1 <= index.min() and index.max() < classes):
                raise IndexError
            marks.fill(0)
            for r, (row, chosen, marked) in enumerate(zip(x, _chosen(index, classes), marks.reshape(rows, classes))):
                marked[chosen] = 1
                losses[r] = _pairs(row, chosen, marked).sum() / classes
    except IndexError:
        raise AutogradError("argument #2 'target' is out of range") from None
    return _reduced(losses, reduction, target.shape[:-1]), marks


def _chosen(index: np.ndarray, classes: int) -> list[np.ndarray]:
    """The targets of each row, which end before the first that is negative."""
    ends = np.logical_and.accumulate(index.reshape(-1, classes) >= 0, 1).sum(1)
    return [row[:end] for row, end in zip(index.reshape(-1, classes), ends.tolist())]


def _pairs(row: np.ndarray, chosen: np.ndarray, marked: np.ndarray) -> np.ndarray:
    """max(0, 1 - x[target] + x) of each target and each class, 0 for those that are targets; without a NaN."""
    with ignoring():
        z = 1.0 - row[chosen].astype(np.float64)[:, None] + row
    z[~(z > 0) | (marked != 0)] = 0
    return z


def _multilabel_margin_backward(grad: np.ndarray, input: np.ndarray, target: np.ndarray, is_target: np.ndarray,
                                reduction: str) -> np.ndarray:
    x, index = _rows(input, target)
    rows, classes = x.shape
    g, marks, out = _shares(grad, rows, reduction), np.ascontiguousarray(is_target), np.zeros(input.shape, x.dtype)
    if loops.takes(4 * x.size):
        _backward_labels(x.dtype.char, rows, 4 * x.size, g, x.reshape(-1), index, marks.reshape(-1), out.reshape(-1),
                         np.empty(x.size), classes)
        return out
    for row, chosen, marked, share, dx in zip(x, _chosen(index, classes), marks.reshape(rows, classes), g, out.reshape(rows, classes)):
        counts = _pairs(row, chosen, marked) > 0
        dx += counts.sum(0) * (share / classes)
        np.subtract.at(dx, chosen, counts.sum(1) * (share / classes))
    return out


def _floating(F: Functions, input: TensorRef) -> Any:
    """Integers, which meta tensors alone may hold here, as what torch averages them to."""
    return input if input._k.dtype.category >= FLOATING else F.cast(input, float32)


@op("multi_margin_backward(Tensor cotangent, Tensor input, Index target, Tensor? weight, int p, float margin, str reduction) -> Tensor",
    namespace="_internal", method=False, out=False, quiet="none", node="NotImplemented")
class multi_margin_backward:
    """The gradient of `multi_margin` for its input."""

    lacks = {"half int bool complex rare": "multi_margin_loss_backward_cpu_kernel"}
    numpy = _multi_margin_backward
    compose = on_host(_multi_margin_backward)
    def shape(cotangent, input, *rest): return input
    vjp = no_derivative("multi_margin_loss_backward")
    def samples(rng):
        x = rng.standard_normal((3, 4))
        yield Sample((np.ones(()), x, np.array([0, 3, 1]), None, 2, 1.0, "sum"), no_gradient="torch has none")


@op("multi_margin(Tensor input, Index target, Tensor? weight, int p, float margin, str reduction) -> Tensor", namespace="_internal",
    method=False, out=False, node="MultiMarginLossBackward0")
class multi_margin:
    """The loss of `multi_margin_loss` for logits (N, C), (C,) or (), of order 1 or 2."""

    lacks = {"half int bool complex rare": "multi_margin_loss_cpu_kernel"}
    no_forward = "multi_margin_loss"
    numpy = _multi_margin
    compose = on_host(_multi_margin)
    aten = "multi_margin_loss(input, target, p, margin, weight, number(reduction))"
    def shape(input, target, weight, p, margin, reduction): return target if reduction == "none" else ()
    def vjp_input(F, grad, input, target, weight, p, margin, reduction):
        return F.multi_margin_backward(grad, input, target, weight, p, margin, reduction)
    def samples(rng): yield Sample((rng.standard_normal((3, 4)), np.array([0, 3, 1]), None, 1, 1.0, "mean"))


@op("multilabel_margin_backward(Tensor cotangent, Tensor input, Index target, Tensor is_target, str reduction) -> Tensor",
    namespace="_internal", method=False, out=False, quiet="none", node="NotImplemented")
class multilabel_margin_backward:
    """The gradient of `multilabel_margin` for its input."""

    lacks = {"half int bool complex rare": "multilabel_margin_loss_backward_cpu_kernel"}
    numpy = _multilabel_margin_backward
    compose = on_host(_multilabel_margin_backward)
    def shape(cotangent, input, *rest): return input
    vjp = no_derivative("multilabel_margin_loss_backward")
    def samples(rng):
        x, target = rng.standard_normal((2, 3)), np.array([[2, 0, -1], [1, -1, 0]])
        yield Sample((np.ones(()), x, target, _multilabel_margin(x, target, "sum")[1], "sum"), no_gradient="torch has none")


@op("multilabel_margin(Tensor input, Index target, str reduction) -> (Tensor result, Saved is_target)", namespace="_internal",
    method=False, out=False, node="MultilabelMarginLossBackward0")
class multilabel_margin:
    """The loss of `multilabel_margin_loss` for logits (N, C), (C,) or (); targets are 1 in `is_target`."""

    lacks = {"half int bool complex rare": "multilabel_margin_loss_forward_out_frame"}
    no_forward = "multilabel_margin_loss_forward"
    numpy = _multilabel_margin
    compose = on_host(_multilabel_margin)
    aten = "multilabel_margin_loss_forward(input, target, number(reduction))[0]"
    def shape(input, target, reduction): return target[:-1] if reduction == "none" else (), target
    def vjp_input(F, grad, input, target, is_target, reduction):
        return F.multilabel_margin_backward(grad, input, target, is_target, reduction)
    def samples(rng): yield Sample((rng.standard_normal((2, 4)), np.array([[3, 0, -1, 1], [1, 2, 0, -1]]), "mean"))


def _classes_and_rows(input: TensorRef) -> tuple[int, int]:
    """The sizes of (N, C), (C,) or () inputs."""
    shape = tuple(input.shape)
    if len(shape) > 2 or shape and not shape[-1]:
        raise ShapeMismatchError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(shape)}")
    return shape[-1] if shape else 1, shape[0] if len(shape) == 2 else 1


def _is_plain(input: np.ndarray, target: np.ndarray, size_average: object, reduce: object, reduction: str) -> bool:
    """Whether rows of logits and their classes are what the kernels take, and the reduction is named in torch's present way."""
    return (input.dtype.char in "fd" and target.dtype.char == "l" and 0 < input.ndim <= 2 and input.size > 0
            and size_average is None and reduce is None and reduction in REDUCTIONS)


@op("multi_margin_loss(Tensor input, Index target, float p=1, float margin=1.0, Tensor? weight=None, bool? size_average=None, "
    "bool? reduce=None, str reduction='mean') -> Tensor", namespace="nn.functional", method=False, out=False,
    complex="multi_margin_loss_cpu_kernel")
class multi_margin_loss:
    """sum over other classes i of max(0, margin - input[target] + input[i])^p / C.

    >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0., 1.]]), torch.tensor([1]))
    tensor(0.)
    """

    refuses_grad = {"weight": "multi_margin_loss"}
    lacks = {"half int bool uint float8": "multi_margin_loss_cpu_kernel if any"}
    no_forward = "multi_margin_loss"

    amp = "float32"

    def function(F, input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
        reduction = reduction_name(reduction, size_average, reduce)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        classes, rows = _classes_and_rows(input)
        if weight is not None and (weight.ndim != 1 or weight.shape[0] != classes):
            raise ValueError("weight must be one-dimensional") if weight.ndim != 1 else ShapeMismatchError(
                f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
        if target.ndim > 1 or prod(target.shape) != rows:
            raise ShapeMismatchError("multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
                                     f"size). Expected target size [{rows}], but got {list(target.shape)}. Input has shape "
                                     f"{list(input.shape)}.")
        if target.dtype.name != "int64":
            raise AutogradError(f"expected scalar type Long but found {SCALAR_TYPE_NAMES[target.dtype.name]}")
        if weight is not None and weight._k.dtype is not input._k.dtype:
            names = [SCALAR_TYPE_NAMES[t._k.dtype.name] for t in (input, weight)]
            raise AutogradError(f"expected scalar type {names[0]} but found {names[1]}", remedy="convert the weight")
        return F.multi_margin(_floating(F, input), target, weight, int(p), float(margin), reduction)

    def quick(input, target, p, margin, weight, size_average, reduce, reduction):
        if not _is_plain(input, target, size_average, reduce, reduction) or p not in (1, 2) or target.ndim > 1 or (
                target.size * input.shape[-1] != input.size
                or weight is not None and (weight.shape != input.shape[-1:] or weight.dtype is not input.dtype)):
            return None
        return _multi_margin(input, target, weight, int(p), float(margin), reduction)

    def samples(rng):
        yield rng.standard_normal((3, 4)), np.array([0, 3, 1])
        yield Sample((rng.standard_normal((3, 4)), np.array([0, 3, 1]), 2), {"weight": rng.uniform(0.5, 1, 4), "reduction": "none"})


@op("multilabel_margin_loss(Tensor input, Index target, bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor",
    namespace="nn.functional", method=False, out=False, complex="multilabel_margin_loss_forward_out_frame")
class multilabel_margin_loss:
    """sum over target classes j and other classes i of max(0, 1 - input[j] + input[i]) / C; targets end at the first -1.

    >>> torch.nn.functional.multilabel_margin_loss(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]]))
    tensor(0.8500)
    """

    lacks = {"half int bool uint float8": "multilabel_margin_loss_forward_out_frame if any"}
    no_forward = "multilabel_margin_loss_forward"

    amp = "float32"

    def function(F, input, target, size_average=None, reduce=None, reduction="mean"):
        reduction = reduction_name(reduction, size_average, reduce)
        classes, rows = _classes_and_rows(input)
        if tuple(target.shape) != tuple(input.shape):
            raise ShapeMismatchError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
        if target.dtype.name != "int64":
            raise AutogradError(f"expected scalar type Long but found {SCALAR_TYPE_NAMES[target.dtype.name]}")
        return F.multilabel_margin(_floating(F, input), target, reduction)

    def quick(input, target, size_average, reduce, reduction):
        if _is_plain(input, target, size_average, reduce, reduction) and target.shape == input.shape:
            return _multilabel_margin(input, target, reduction)[0]

    def samples(rng): yield rng.standard_normal((2, 4)), np.array([[3, 0, -1, 1], [1, 2, 0, -1]])


@op("multilabel_soft_margin_loss(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, "
    "str reduction='mean') -> Tensor", namespace="nn.functional", method=False, out=False)
class multilabel_soft_margin_loss:
    """The mean over classes of binary cross entropy with logits.

    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.tensor([[0., 0.]]), torch.tensor([[1., 0.]]))
    tensor(0.6931)
    """

    lacks = {"float8": "log_sigmoid_cpu"}
    def function(F, input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
        if size_average is not None or reduce is not None:
            reduction = reduction_name(reduction, size_average, reduce)
        loss = -(target * F.logsigmoid(input) + (1 - target) * F.logsigmoid(-input))
        if weight is not None:
            loss = loss * weight
        loss = F.sum(loss, input.ndim - 1) / input.shape[-1]
        if reduction not in ("none", "mean", "sum"):
            raise ValueError(reduction + " is not valid")
        return reduced(F, loss, reduction)

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.uniform(0, 1, (2, 3))
        yield Sample((rng.standard_normal((2, 3)), rng.uniform(0, 1, (2, 3)), rng.uniform(0.5, 1, 3)), {"reduction": "none"})
