"""Normalization together with its statistics, as ATen has it: `native_layer_norm`, `native_group_norm`, `native_batch_norm`.

Each is the computation of `layer_norm`, `group_norm` and `channel_norm`, with the mean and the reciprocal standard deviation as further
results.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ...annotations import Functions, Values
from ...dtypes import FLOATING
from ...errors import AutogradError, ShapeMismatchError
from ...executors.kernels import norm as fused
from ...functions.refusals import averaged, no_kernel
from ...record import get_record, op
from ...tensor import TensorRef
from .. import _batch as batches
from . import normalization

if TYPE_CHECKING:
    from collections.abc import Sequence

_of_layers, _of_groups, _of_channels = get_record("layer_norm").field, get_record("group_norm").field, get_record("channel_norm").field


def _in_dtype(statistics: Sequence[np.ndarray], input: np.ndarray, *parameters: np.ndarray | None) -> list[np.ndarray]:
    """In the dtype of the parameters, which may be wider than that of the input."""
    dtype = input.dtype
    for p in reversed(parameters):
        if p is not None:
            dtype = p.dtype
    return [s if s.dtype is dtype else s.astype(dtype, copy=False) for s in statistics]


def _plain(input: np.ndarray, *parameters: np.ndarray | None) -> bool:
    """Whether there are numbers, and all arrays are of one dtype with a fraction."""
    dtype = input.dtype
    for p in parameters:
        if p is not None and p.dtype is not dtype:
            return False
    return dtype.char in "fdeE" and input.size > 0


# -- layers ---------------------------------------------------------------------------------------------------------------------------


def _layers(input: np.ndarray, normalized_shape: Sequence[int], weight: np.ndarray | None, bias: np.ndarray | None, eps: float
            ) -> tuple[np.ndarray, ...]:
    y, *statistics = normalization._layer_norm(input, normalized_shape, weight, bias, eps)
    mean, rstd = _in_dtype(statistics, input, weight, bias)
    if mean.ndim != input.ndim:  # those of rows
        mean, rstd = [s.reshape(*input.shape[:-1], 1) for s in (mean, rstd)]
    return y, mean, rstd


@op("layer_norm_statistics(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
    "(Tensor result, Constant mean, Constant rstd)", namespace="_internal", method=False, out=False, quiet="all",
    node="NativeLayerNormBackward0", dtypes="float half", complex="LayerNormKernelImpl")
class layer_norm_statistics:
    """`layer_norm`, the means and the reciprocal standard deviations, through which no gradients flow."""

    lacks = _of_layers("lacks")
    complex_on_meta = _of_layers("complex_on_meta")
    saved_as = _of_layers("saved_as")
    layout = "rows"
    def sharding(call): return call.composed()
    numpy = _layers
    def shape(input, normalized_shape, *rest):
        kept = (*input[:len(input) - len(normalized_shape)], *(1,) * len(normalized_shape))
        return input, kept, kept
    def compose(F, input, normalized_shape, weight, bias, eps):
        axes = tuple(range(input.ndim - len(normalized_shape), input.ndim))
        mean = F.mean(input, axes, True)
        d = input - mean
        rstd = F.rsqrt(F.mean(d * d, axes, True) + eps)
        y = d * rstd if weight is None else d * rstd * weight
        return y if bias is None else y + bias, mean, rstd
    def check(input, normalized_shape, weight, bias, eps): _of_layers("check")(input, normalized_shape, weight, bias, eps, True)
    vjp = _of_layers("vjp")

    def batch(F, call):
        """The last dimensions of each example; weights that differ are applied afterwards."""
        if not call.is_batched["weight"] and not call.is_batched["bias"]:
            return tuple(call())
        y, *statistics = call(input=call.whole("input"), weight=None, bias=None)
        return normalization.scaled_after(F, call, y, call.ranks["input"] - len(call.normalized_shape)), *statistics
    aten = "native_layer_norm(input, dims(normalized_shape), weight, bias, eps)"

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 3, 4)), (4,), r(4), r(4), 1e-5
        yield r((2, 3)), (2, 3), None, None, 1e-5


@op("native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
    "(Tensor result, Constant mean, Constant rstd)", method=False, out=False)
class native_layer_norm:
    """`layer_norm`, the mean of each row and the reciprocal of its standard deviation.

    >>> torch.native_layer_norm(torch.tensor([[1., 3.]]), (2,), None, None, 0.)
    (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """

    lacks = _of_layers("lacks")
    def function(F, input, normalized_shape, weight, bias, eps):
        return tuple(F.layer_norm_statistics(input, normalized_shape, weight, bias, eps))

    def quick(input, normalized_shape, weight, bias, eps):
        if _plain(input, weight, bias):
            found = _layers(input, normalized_shape, weight, bias, eps)
            return found if found[0].flags.c_contiguous else (np.ascontiguousarray(found[0]), *found[1:])

    samples = get_record("layer_norm_statistics").field("samples")
    def errors(rng):
        yield (np.ones((2, 3)), (4,), None, None, 1e-5), RuntimeError, (
            "Given normalized_shape=[4], expected input with shape [*, 4], but got input of size[2, 3]")


# -- groups ---------------------------------------------------------------------------------------------------------------------------


def _groups(input: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, N: int, C: int, HxW: int, group: int, eps: float
            ) -> tuple[np.ndarray, ...]:
    if input.dtype.kind in "iub" or group < 1 or C % group or input.size != N * C * HxW or any(
            [t is not None and t.shape != (C,) for t in (weight, bias)]):
        raise ValueError("shapes do not match")
    y, *statistics = fused.group_norm(input.reshape(N, C, HxW), group, weight, bias, eps)
    return y.reshape(input.shape), *_in_dtype(statistics, input, weight, bias)


@op("group_norm_statistics(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) -> "
    "(Tensor result, Tensor mean, Tensor rstd)", namespace="_internal", method=False, out=False, quiet="all",
    node="NativeGroupNormBackward0", complex="GroupNormKernelImpl")
class group_norm_statistics:
    """`group_norm` of an input that counts as (N, C, HxW), the means (N, group) and the reciprocal standard deviations."""

    lacks = _of_groups("lacks")
    saved_as = {"input": "input", "mean": "result1", "rstd": "result2"}
    def sharding(call): return call.composed()
    numpy = _groups
    def shape(input, weight, bias, N, C, HxW, group, eps): return input, (N, group), (N, group)
    def compose(F, input, weight, bias, N, C, HxW, group, eps):
        rows = F.reshape(input, (N, group, C // group * HxW))
        mean = F.mean(rows, 2, True)
        d = rows - mean
        rstd = F.rsqrt(F.mean(d * d, 2, True) + eps)
        y = F.reshape(d * rstd, (N, C, HxW))
        y = y if weight is None else y * F.reshape(weight, (1, C, 1))
        y = y if bias is None else y + F.reshape(bias, (1, C, 1))
        return F.reshape(y, input.shape), F.reshape(mean, (N, group)), F.reshape(rstd, (N, group))
    def check(input, weight, bias, N, C, HxW, group, eps):
        _check_groups(input, weight, bias, C, group)
        if prod(input.shape) != N * C * HxW:
            raise AutogradError("Expected X.numel() == N * C * HxW to be true, but got false.  (Could this error message be improved?  If "
                                "so, please report an enhancement request to PyTorch.)")
        if input.dtype.category < FLOATING:
            no_kernel("GroupNormKernelImpl", input, meta=averaged)
    def vjp(F, grad, input, mean, rstd, weight, N, C, HxW, group, eps, needs):
        y, of_mean, of_rstd = grad
        found: list[Values | None] = [None, None, None]
        x = F.reshape(input, (N, C, HxW))
        if y is not None:
            found = list(F.group_norm_backward(F.reshape(y, (N, C, HxW)), x, mean, rstd, weight, group, eps, needs))
        if needs[0]:
            dx = found[0]
            if of_mean is not None or of_rstd is not None:
                more = _statistics_gradient(F, F.reshape(x, (N, group, C // group * HxW)), mean, rstd, of_mean, of_rstd)
                dx = F.reshape(more, (N, C, HxW)) if dx is None else dx + F.reshape(more, (N, C, HxW))
            found[0] = None if dx is None else F.reshape(dx, input.shape)
        return tuple(found)

    def batch(F, call):
        """A bigger batch; weights that differ are applied afterwards."""
        if not call.size:
            return NotImplemented
        x, rows = call.whole("input"), (call.size * call.N, call.C, call.HxW)
        shared = not call.is_batched["weight"] and not call.is_batched["bias"]
        parameters = {} if shared else {"weight": None, "bias": None}
        y, *statistics = [batches.parted(F, call, t) for t in call(input=F.reshape(x, rows), N=rows[0], **parameters)]
        return F.reshape(y if shared else normalization.scaled_after(F, call, y, 1), x.shape), *statistics
    aten = "native_group_norm(input, weight, bias, N, C, HxW, group, eps)"

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 4, 3)), r(4), r(4), 2, 4, 3, 2, 1e-5
        yield r((2, 6)), None, None, 2, 6, 1, 3, 1e-5


def _statistics_gradient(F: Functions, rows: Values, mean: Values, rstd: Values, of_mean: Values | None,
                         of_rstd: Values | None) -> Values | None:
    """The gradient for rows (N, G, n) through their means and reciprocal standard deviations (N, G)."""
    count = rows.shape[2]
    through_mean = None if of_mean is None else F.expand(F.unsqueeze(of_mean, 2) / count, rows.shape)
    if of_rstd is None:
        return through_mean
    through_rstd = F.unsqueeze(of_rstd * rstd * rstd * rstd, 2) / -count * (rows - F.unsqueeze(mean, 2))
    return through_rstd if through_mean is None else through_mean + through_rstd


def _check_groups(input: TensorRef, weight: TensorRef | None, bias: TensorRef | None, channels: int, groups: int) -> None:
    shape = list(input.shape)
    if groups <= 0:
        raise AutogradError(f"Expected num groups to be greater than 0, got {groups}")
    if channels % groups:
        raise ShapeMismatchError("Expected number of channels in input to be divisible by num_groups, but got input of shape "
                                 f"{shape} and num_groups={groups}")
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and list(t.shape) != [channels]:
            raise ShapeMismatchError(f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} "
                                     f"of shape {list(t.shape)} and input of shape {shape}")


@op("native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) -> "
    "(Tensor result, Tensor mean, Tensor rstd)", method=False, out=False)
class native_group_norm:
    """`group_norm` of an input that counts as (N, C, HxW), the mean of each group and the reciprocal of its standard deviation.

    >>> torch.native_group_norm(torch.tensor([[1., 3.]]), None, None, 1, 2, 1, 1, 0.)
    (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """

    lacks = _of_groups("lacks")
    def function(F, input, weight, bias, N, C, HxW, group, eps):
        return tuple(F.group_norm_statistics(input, weight, bias, N, C, HxW, group, eps))

    def quick(input, weight, bias, N, C, HxW, group, eps):
        if _plain(input, weight, bias):
            return _groups(input, weight, bias, N, C, HxW, group, eps)

    samples = get_record("group_norm_statistics").field("samples")


# -- batches --------------------------------------------------------------------------------------------------------------------------


@op("channel_norm_statistics(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float momentum, float eps, str called='native_batch_norm') -> (Tensor result, Constant mean, Constant rstd, Saved used_mean, "
    "Saved used_rstd)", namespace="_internal", method=False, out=False, quiet="all", node="NativeBatchNormBackward0",
    complex="batch_norm")
class channel_norm_statistics:
    """`channel_norm`, and in training the batch's means and reciprocal standard deviations, through which no gradients flow; in evaluation
    torch keeps none."""

    lacks = {"float8": "batch_norm"}
    nodes = {"called == '_native_batch_norm_legit'": "NativeBatchNormLegitBackward0",
             "called == '_native_batch_norm_legit_no_training'": "NativeBatchNormLegitNoTrainingBackward0",
             "called == '_native_batch_norm_legit.no_stats'": "NativeBatchNormLegitBackward1",
             "called == '_batch_norm_with_update'": "BatchNormWithUpdateBackward0",
             "called == '_batch_norm_no_update'": "BatchNormNoUpdateBackward0"}
    saved_as = {"input": "input", "used_mean": "result1", "used_rstd": "result2"}
    def sharding(call): return call.composed()
    def numpy(input, weight, bias, running_mean, running_var, training, momentum, eps, called):
        y, mean, rstd = _of_channels("numpy")(input, weight, bias, running_mean, running_var, training, momentum, eps)
        kept = [s.copy() if training else s[:0] for s in _in_dtype((mean, rstd), input, weight, bias, running_mean)]
        return y, *kept, mean, rstd
    def shape(input, weight, bias, running_mean, running_var, training, *rest):
        n = input[1]
        return input, (n * training,), (n * training,), (n,), (n,)
    def compose(F, input, weight, bias, running_mean, running_var, training, momentum, eps, called):
        y, mean, rstd = _of_channels("compose")(F, input, weight, bias, running_mean, running_var, training, momentum, eps)
        return (y, *([mean, rstd] if training else [F.slice(t, 0, 0, 0) for t in (running_mean, running_var)]), mean, rstd)
    def vjp(F, grad, input, used_mean, used_rstd, weight, training, eps, needs):
        return (*F.channel_norm_backward(grad, input, used_mean, used_rstd, weight, None, None, training, eps, needs), None, None)

    def batch(F, call):
        """More channels, as `channel_norm` has them."""
        found = normalization.more_channels(F, call)
        if found is NotImplemented:
            return found
        y, *statistics = found
        return batches.from_channels(F, call, y), *[F.reshape(t, (call.size, t.shape[0] // call.size)) for t in statistics]
    def aten(called, **_):
        running = "" if called.endswith("no_stats") else ", running_mean, running_var"
        training = ", training" if called in ("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit.no_stats") else ""
        return f"{called}(input, weight, bias{running}{training}, momentum, eps)"

    def samples(rng):
        r = rng.standard_normal
        yield r((3, 2, 4)), r(2), r(2), None, None, True, 0.1, 1e-5
        yield r((3, 2)), None, None, r(2).astype("f4"), rng.uniform(0.5, 1, 2).astype("f4"), False, 0.1, 1e-5  # constants


_statistics = get_record("channel_norm_statistics").field("numpy")


def _with_statistics(F: Functions, name: str, input: TensorRef, weight: TensorRef | None, bias: TensorRef | None,
                     running_mean: TensorRef | None, running_var: TensorRef | None, training: bool, momentum: float,
                     eps: float) -> tuple[TensorRef, ...]:
    if input.ndim < 2:
        raise AutogradError(f"{name}: expected an input with channels, of 2 dimensions or more, but got {input.ndim}")
    channels = input.shape[1]
    for given, t in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if t is not None and prod(t.shape) != channels:
            raise ShapeMismatchError(f"{given} should contain {channels} elements not {prod(t.shape)}")
        if t is None and not training and given.startswith("running"):
            raise AutogradError(f"{given} must be defined in evaluation mode", remedy=f"pass {given}, or training=True")
    if input._k.dtype.category < FLOATING:
        no_kernel("batch_norm", input, meta=averaged)
    return tuple(F.channel_norm_statistics(input, weight, bias, running_mean, running_var, training, momentum, eps, name))


def _quickly(input: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, running_mean: np.ndarray | None,
             running_var: np.ndarray | None, training: bool, momentum: float, eps: float) -> tuple[np.ndarray, ...] | None:
    """`_with_statistics` of plain arrays of one floating dtype, of which none changes."""
    if input.ndim < 2 or not input.size or input.dtype.char not in "fdeE" or (
            running_mean is not None or running_var is not None if training else running_mean is None or running_var is None):
        return None
    dtype, shape = input.dtype, input.shape[1:2]
    for t in (weight, bias, running_mean, running_var):
        if t is not None and (t.dtype is not dtype or t.shape != shape):
            return None
    found: tuple[np.ndarray, ...] = _statistics(input, weight, bias, running_mean, running_var, training, momentum, eps, "")
    return found[:3]


def _constant(step: str) -> dict[str, str]:
    """Of the running statistics: that they must not require grad."""
    return dict.fromkeys(("running_mean", "running_var"), f"{step} if any")


@op("native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float momentum, float eps) -> (Tensor result, Constant mean, Constant rstd)", method=False, out=False)
class native_batch_norm:
    """`batch_norm`, and in training the mean of each channel and the reciprocal of its standard deviation.

    >>> torch.native_batch_norm(torch.tensor([[1.], [3.]]), None, None, None, None, True, 0.1, 0.)
    (tensor([[-1.],
            [ 1.]]), tensor([2.]), tensor([1.]))
    """

    lacks = {"float8": "batch_norm"}
    refuses_grad = _constant("native_batch_norm")
    def function(F, input, weight, bias, running_mean, running_var, training, momentum, eps):
        return _with_statistics(F, "native_batch_norm", input, weight, bias, running_mean, running_var, training, momentum, eps)

    quick = _quickly

    def samples(rng): yield rng.standard_normal((3, 2, 4)), rng.standard_normal(2), None, None, None, True, 0.1, 1e-5


@op("_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, "
    "float momentum, float eps) -> (Tensor result, Constant mean, Constant rstd)", method=False, out=False)
class _native_batch_norm_legit_no_training:
    """`native_batch_norm` with the running statistics.

    >>> torch._native_batch_norm_legit_no_training(torch.tensor([[3.]]), None, None, torch.ones(1), torch.ones(1), 0.1, 0.)[0]
    tensor([[2.]])
    """

    lacks = {"float8": "batch_norm"}
    refuses_grad = _constant("_native_batch_norm_legit_no_training")
    def function(F, input, weight, bias, running_mean, running_var, momentum, eps):
        return _with_statistics(F, "_native_batch_norm_legit_no_training", input, weight, bias, running_mean, running_var, False, momentum,
                                eps)

    def quick(input, weight, bias, running_mean, running_var, momentum, eps):
        return _quickly(input, weight, bias, running_mean, running_var, False, momentum, eps)

    def samples(rng): yield rng.standard_normal((3, 2)), None, None, np.zeros(2), np.ones(2), 0.1, 1e-5


@op("_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Any running_mean=None, Any running_var=None, Any training=None, "
    "float? momentum=None, float? eps=None) -> (Tensor result, Constant mean, Constant rstd)", method=False, out=False)
class _native_batch_norm_legit:
    """`native_batch_norm`, whose running statistics are given or left out, no argument standing in their place.

    >>> torch._native_batch_norm_legit(torch.tensor([[1.], [3.]]), None, None, True, 0.1, 0.)[1]
    tensor([2.])
    """

    lacks = {"float8": "batch_norm"}
    refuses_grad = _constant("_native_batch_norm_legit")
    def function(F, input, weight, bias, running_mean=None, running_var=None, training=None, momentum=None, eps=None):
        name = "_native_batch_norm_legit"
        if isinstance(running_mean, bool):  # the signature without statistics
            running_mean, running_var, training, momentum, eps = None, None, running_mean, running_var, training
        if running_mean is None:
            name += ".no_stats"
        return _with_statistics(F, name, input, weight, bias, running_mean, running_var, training, momentum, eps)

    def quick(input, weight, bias, running_mean, running_var, training, momentum, eps):
        if running_mean is True and running_var.__class__ is training.__class__ is float and momentum is eps is None:
            return _quickly(input, weight, bias, None, None, True, running_var, training)

    def samples(rng):
        yield rng.standard_normal((3, 2)), None, None, np.zeros(2), np.ones(2), True, 0.1, 1e-5
        yield rng.standard_normal((3, 2)), None, None, True, 0.1, 1e-5
