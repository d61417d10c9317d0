"""Normalization: layer, batch, instance, group, local response, root mean square.

The gradient of each is one fused kernel on buffers; as an operation on tensors it is the composition below it, so that second
derivatives follow.
"""

from __future__ import annotations

from functools import cache, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any
from collections.abc import Callable, Sequence

import numpy as np

from ...dtypes import FLOATING, SCALAR_TYPE_NAMES, float32
from ...errors import ArgumentError, AutogradError, ShapeMismatchError, UnsupportedDTypeError
from ...executors.kernels import norm as fused
from ...executors.kernels._on_demand import SIZE_FUSED, contiguous, state
from ...executors.kernels.elementwise import takes_half
from ...executors.kernels.reduce import add
from ...functions.constants import NARROW, NUMBERS, ONES, SMALL, SQUARES
from ...functions.refusals import averaged, no_kernel, on_meta
from ...record import Sample, op
from ...strided import in_format
from .. import _batch as batches
from .._precision import in_single
from .._samples import takes_floats
from ..matrices.products import same_scalar_type
from ._losses import size_text
from .softmax import ones_column
from ...annotations import Functions, Values
from ...tensor import TensorRef
from .._batch import BatchedCall

if TYPE_CHECKING:
    pass

_sqrt, _reciprocal = np.sqrt, np.reciprocal


def _check_floating(kernel: str, input: TensorRef) -> None:
    if input.dtype.category < FLOATING:
        no_kernel(kernel, input, meta=averaged)


def _check_dtypes(kernel: str, input: TensorRef, *parameters: TensorRef | None) -> None:
    """Raises where torch has no kernel for an input and parameters of these dtypes: all have one, or all parameters are float32 and the
    input is of half precision. torch looks at the first parameter to know which of the two it should be."""
    given = [p.dtype for p in parameters if p is not None]
    mixed = bool(given) and given[0] is not input.dtype
    if mixed and not on_meta(input):
        if any([dtype is not float32 for dtype in given]):
            raise AutogradError("mixed dtype (CPU): expect parameter to have scalar type of Float")
        if input.dtype.itemsize != 2 or input.dtype.category < FLOATING:
            raise AutogradError("mixed dtype (CPU): all inputs must share same datatype.")
    _check_floating(kernel, input)
    for p in parameters:
        if p is not None and p.dtype is not input.dtype and not mixed and not on_meta(input):
            if input.dtype.is_complex:
                no_kernel(kernel, input)
            same_scalar_type(input, p)


def _for_one_dtype(kernel: str) -> Callable[..., str | None]:
    """What has no kernel for complex numbers where all tensors are; `_check_dtypes` refuses the rest."""
    def said(input: TensorRef, weight: TensorRef | None, bias: TensorRef | None, **_: object) -> str | None:
        return kernel if all([p is None or p.dtype is input.dtype for p in (weight, bias)]) else None

    return said


def _alike(input: np.ndarray, *parameters: np.ndarray | None) -> bool:
    """Whether numbers that a norm takes and its parameters, one for each channel, are plain arrays of one dtype."""
    dtype, channels = input.dtype, input.shape[1:2]
    if dtype.char not in "fdeE" or not input.size or not channels:
        return False
    for p in parameters:
        if p is not None and (p.dtype is not dtype or p.shape != channels):
            return False
    return True


def _floats_only(input: np.ndarray) -> None:
    """Leaves integers to the general path, which says what is wrong."""
    if input.dtype.kind in "iub":
        raise TypeError("floating point expected")


def _normal_grads(F: Functions, grad: TensorRef, normal: TensorRef, rstd: TensorRef, weight: TensorRef | None, axes: tuple[int,
                  ...]) -> TensorRef:
    """The gradient for x of weight * normal, where normal = (x - mean(x)) * rstd over `axes`."""
    v = grad if weight is None else grad * weight
    return rstd * (v - F.mean(v, axes, True) - normal * F.mean(v * normal, axes, True))


def _normal(F: Functions, input: TensorRef, axes: tuple[int, ...], eps: float) -> tuple[Values, Values]:
    """(normalized input, 1 / standard deviation)."""
    d = input - F.mean(input, axes, True)
    rstd = F.rsqrt(F.mean(d * d, axes, True) + eps)
    return d * rstd, rstd


# -- layer norm -------------------------------------------------------------------------------------------------------


def _layer_norm(input: np.ndarray, normalized_shape: Sequence[int], weight: np.ndarray | None, bias: np.ndarray | None, eps: float,
                cudnn_enable: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n_dims, size, char = len(normalized_shape), tuple(normalized_shape), input.dtype.char
    if char not in "fd":
        _floats_only(input)
    if not n_dims or input.shape[-n_dims:] != size or weight is not None and weight.shape != size or (
            bias is not None and bias.shape != size):
        raise ValueError("shapes do not match")
    if 0 < input.size < state.fused <= SIZE_FUSED and char in "fdeE" and input.flags.carray:
        return fused.layer_norm_of_few(input, n_dims, weight, bias, eps)
    if input.size >= state.fused or n_dims > 1 or char != "f" and char != "d":
        return fused.layer_norm(input, n_dims, weight, bias, eps)
    n = input.shape[-1]
    if not n:
        return fused.layer_norm(input, n_dims, weight, bias, eps)
    rows = input if input.ndim == 2 else input.reshape(-1, n)
    if n <= NARROW and input.size <= SMALL:
        # Around the first number of each row: equal numbers become 0, and large means cost no digits.
        average, first = _averages(n, char), rows[:, :1]
        y = rows - first
        mean = y.dot(average)
        y -= mean
        rstd = (y * y).dot(average)
        rstd += NUMBERS[char, eps]
        _reciprocal(_sqrt(rstd, rstd), rstd)
        y *= rstd
        if weight is not None:
            y *= weight
        if bias is not None:
            y += bias
        return y if input.ndim == 2 else y.reshape(input.shape), mean[:, :1] + first, rstd[:, :1].copy()
    average, first = ones_column(n, char, 1 / n), rows[:, :1]
    y = rows - first
    mean = y.dot(average)
    y -= mean
    mean += first
    rstd = (y * y).dot(average)
    rstd += eps
    _sqrt(rstd, rstd)
    _reciprocal(rstd, rstd)
    y *= rstd
    if weight is not None:
        y *= weight
    if bias is not None:
        y += bias
    return y if input.ndim == 2 else y.reshape(input.shape), mean, rstd


@lru_cache(256)
def _averages(n: int, char: str) -> np.ndarray:
    """(n, n) of 1 / n: a product with it holds the mean of each row in all of the row's places."""
    return np.full((n, n), 1 / n, char)


def _layer_norm_backward(grad: np.ndarray, input: np.ndarray, mean: np.ndarray, rstd: np.ndarray, weight: np.ndarray | None, n_dims: int,
                         eps: float, needs: tuple[bool, bool, bool]) -> tuple[np.ndarray | None, ...]:
    n = input.shape[-1]
    if n_dims > 1 or input.size >= state.fused or not n or grad.dtype is not input.dtype or rstd.dtype is not input.dtype or (
            weight is not None and weight.dtype is not input.dtype):
        return fused.layer_norm_backward(grad, input, mean, rstd, weight, n_dims, needs)
    g, x = grad.reshape(-1, n), input.reshape(-1, n)
    rstd = rstd.reshape(-1, 1)
    normal = x - mean.reshape(-1, 1)
    normal *= rstd
    dx = dw = db = None
    if needs[0]:
        average = _averages(n, x.dtype.char) if n <= NARROW else ones_column(n, x.dtype.char, 1 / n)
        v = g if weight is None else g * weight
        dx = v - normal * (v * normal).dot(average)
        dx -= v.dot(average)
        dx *= rstd
        dx = dx.reshape(input.shape)
    if needs[1]:
        dw = _column_sums(g * normal)
    if needs[2]:
        db = _column_sums(g)
    return dx, dw, db


def _column_sums(rows: np.ndarray) -> np.ndarray:
    return ONES[rows.dtype.char, rows.shape[0]].dot(rows) if rows.size <= SMALL else add(rows, (0,))


@op("layer_norm_backward(Tensor grad, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int n_dims, float eps, Any needs) -> "
    "(Tensor grad_input, Tensor grad_weight, Tensor grad_bias)", namespace="_internal", method=False, out=False)
class layer_norm_backward:
    """The gradients of `layer_norm`."""

    numpy = _layer_norm_backward
    def compose(F, grad, input, mean, rstd, weight, n_dims, eps, needs):
        lead, last = tuple(range(input.ndim - n_dims)), tuple(range(input.ndim - n_dims, input.ndim))
        normal, rstd = _normal(F, input, last, eps)
        def summed(x): return F.sum(x, lead) if lead else x
        return (_normal_grads(F, grad, normal, rstd, weight, last) if needs[0] else None, summed(grad * normal) if needs[1] else None,
                summed(grad) if needs[2] else None)
    function = in_single(compose)
    def samples(rng):
        x, w = rng.standard_normal((2, 3, 4)), rng.standard_normal(4)
        yield rng.standard_normal((2, 3, 4)), x, *_layer_norm(x, (4,), w, None, 1e-5)[1:], w, 1, 1e-5, (True, True, True)


def scaled_after(F: Functions, call: BatchedCall, result: TensorRef, places: int) -> TensorRef:
    """A normed batch with the weight and bias of each example, whose dimensions begin `places` behind that of the batch."""
    for name, function in (("weight", F.mul), ("bias", F.add)):
        t = call.values[name]
        if t is not None:
            t, own = call.whole(name), call.ranks[name]
            trailing = result.ndim - 1 - places - own
            result = function(result, F.reshape(t, (call.size, *(1,) * places, *t.shape[1:], *(1,) * trailing)))
    return result


def more_channels(F: Functions, call: BatchedCall) -> Any:
    """What a norm of channels gives with all examples as more of them. Running statistics that training changes are for each example to
    change in turn."""
    if not call.size or call.training and call.running_mean is not None:
        return NotImplemented
    names = ("weight", "bias", "running_mean", "running_var")
    rows = {n: None if call.values[n] is None else F.reshape(call.whole(n), (-1,)) for n in names}
    return call(input=batches.as_channels(F, call.whole("input")), **rows)


@op("layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> "
    "(Tensor result, Saved mean, Saved rstd)", alias="nn.functional.layer_norm", method=False, out=False, quiet="all",
    node="NativeLayerNormBackward0", dtypes="float half", complex="LayerNormKernelImpl")
class layer_norm:
    """(x - mean) / sqrt(variance + eps) * weight + bias, statistics over the last dimensions, which have sizes `normalized_shape`.

    Ba, Kiros and Hinton, "Layer normalization" (arXiv:1607.06450).

    >>> torch.nn.functional.layer_norm(torch.tensor([[1., 3.]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """

    composite = "layer_norm(input, dims(normalized_shape), weight, bias, eps, False)"
    lacks = {"float8": "LayerNormKernelImpl"}
    complex_kernel = _for_one_dtype("LayerNormKernelImpl")
    def sharding(call):
        n, rank = len(call["normalized_shape"]), call["input"].ndim
        if call.is_split("input", range(rank - n, rank)):
            return call.composed()
        rows = range(rank - n)
        return call.propagate([[*rows, *[None] * n], *[[None] * n] * (len(call.operands) - 1)], [[*rows, *[None] * n], rows, rows])
    complex_on_meta = "RuntimeError: native_layer_norm does not support complex inputs"
    saved_as = {"input": "input", "mean": "result1", "rstd": "result2", "eps": None}
    numpy = _layer_norm
    layout = "rows"
    def shape(input, normalized_shape, *rest):
        rows = tuple(input)[:len(input) - len(normalized_shape)]
        return input, rows, rows
    def compose(F, input, normalized_shape, weight, bias, eps, cudnn_enable):
        normal, rstd = _normal(F, input, tuple(range(input.ndim - len(normalized_shape), input.ndim)), eps)
        y = normal if weight is None else normal * weight
        return y if bias is None else y + bias, rstd, rstd
    @takes_floats
    def check(input, normalized_shape, weight, bias, eps, cudnn_enable):
        if isinstance(normalized_shape, int):
            raise ArgumentError("layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int")
        size = list(normalized_shape)
        if not size:
            raise AutogradError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
                                "normalized_shape = []")
        for name, t in (("weight", weight), ("bias", bias)):
            if t is not None and list(t.shape) != size:
                raise ShapeMismatchError(f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                                         f"{list(t.shape)} "
                                         f"and normalized_shape = {size}")
        if list(input.shape)[-len(size):] != size or input.ndim < len(size):
            raise ShapeMismatchError(f"Given normalized_shape={size}, expected input with shape [*, {', '.join(map(str, size))}], but got "
                                     f"input of size{list(input.shape)}")
        _check_dtypes("LayerNormKernelImpl", input, weight, bias)
    def vjp(F, grad, input, mean, rstd, weight, normalized_shape, eps, needs):
        return F.layer_norm_backward(grad, input, mean, rstd, weight, len(normalized_shape), eps, needs)

    def batch(F, call):
        """The last dimensions of each example; weights that differ are applied afterwards."""
        if not call.is_batched["weight"] and not call.is_batched["bias"]:
            return call()
        n = len(call.normalized_shape) if not isinstance(call.normalized_shape, int) else 1
        return scaled_after(F, call, call(input=call.whole("input"), weight=None, bias=None), call.ranks["input"] - n)
    aten = "native_layer_norm(input, dims(normalized_shape), weight, bias, eps)[0]"

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 3, 4)), (4,), r(4), r(4)
        yield r((2, 3)), (2, 3)
        yield r((3, 4)), (4,), r(4)

    def errors(rng):
        yield (np.ones((2, 3)),
               (4,)), RuntimeError, "Given normalized_shape=[4], expected input with shape [*, 4], but got input of size[2, 3]"
        yield (np.ones((2, 3)), (3,), np.ones(4)), RuntimeError, (
            "Expected weight to be of same shape as normalized_shape, but got weight of shape [4] and normalized_shape = [3]")


# -- batch and instance norm ------------------------------------------------------------------------------------------


def _channel_axes(ndim: int) -> tuple[int, ...]:
    return (0, *range(2, ndim))


def _per_channel(F: Functions, x: TensorRef | None, ndim: int) -> TensorRef | None:
    """A vector over channels, shaped to broadcast against (N, C, ...)."""
    return x if x is None or ndim == 2 else F.reshape(x, (1, x.shape[0]) + (1,) * (ndim - 2))


def _in_format(input: np.ndarray, found: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """(result, statistics) with the result in memory as the input is."""
    if input.ndim < 4 or input.flags.c_contiguous:
        return found
    return (in_format(input.ndim - 2, found[0], input), *found[1:])


@op("channel_norm_backward(Tensor grad, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, Tensor? running_mean, Tensor? running_var, "
    "bool training, float eps, Any needs) -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)", namespace="_internal",
    method=False, out=False)
class channel_norm_backward:
    """The gradients of `channel_norm`."""

    @takes_half
    def numpy(grad, input, mean, rstd, weight, running_mean, running_var, training, eps, needs):
        return fused.batch_norm_backward(grad, input, mean, rstd, weight, training, needs[:3])
    def compose(F, grad, input, mean, rstd, weight, running_mean, running_var, training, eps, needs):
        axes, w = _channel_axes(input.ndim), _per_channel(F, weight, input.ndim)
        if training:
            normal, rstd = _normal(F, input, axes, eps)
            dx = _normal_grads(F, grad, normal, rstd, w, axes) if needs[0] else None
        else:
            rstd = _per_channel(F, rstd, input.ndim)  # constants here
            normal = (input - _per_channel(F, mean, input.ndim)) * rstd
            dx = None if not needs[0] else grad * rstd if w is None else grad * w * rstd
        return dx, F.sum(grad * normal, axes) if needs[1] else None, F.sum(grad, axes) if needs[2] else None
    function = in_single(compose)
    def samples(rng):
        x, w = rng.standard_normal((3, 2, 4)), rng.standard_normal(2)
        statistics = fused.batch_norm(x, w, None, None, None, True, 0.1, 1e-5)[1:]
        yield rng.standard_normal((3, 2, 4)), x, *statistics, w, None, None, True, 1e-5, (True, True, True)


def _small_batch_norm(x: np.ndarray, weight: Any, bias: np.ndarray | None, running_mean: Any, running_var: Any, training: bool,
                      momentum: float, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """`channel_norm` of a few elements (N, C), where all tensors have one dtype: statistics come spread over all rows, from products
    with a square of ones."""
    dtype, (n, _) = x.dtype, x.shape
    char = dtype.char
    if char not in "fd" or not x.size or any([t is not None and t.dtype is not dtype for t in (weight, bias, running_mean, running_var)]):
        return None
    if training:
        square, number = SQUARES[char, n], NUMBERS[char, n]
        y = x - x[0]  # equal numbers become 0, and large means cost no digits
        means = square.dot(y)
        means /= number
        y -= means
        variances = square.dot(y * y)
        mean = means[0] + x[0]
        if running_mean is not None:
            running_mean *= NUMBERS[char, 1 - momentum]
            running_mean += mean * NUMBERS[char, momentum]
            running_var *= NUMBERS[char, 1 - momentum]
            running_var += variances[0] * NUMBERS[char, momentum / (n - 1)]
        variances /= number
        variances += NUMBERS[char, eps]
        rstds = _reciprocal(_sqrt(variances, variances), variances)
        y *= rstds
        rstd = rstds[0]
    else:
        mean, rstd = running_mean.copy(), running_var + NUMBERS[char, eps]
        _reciprocal(_sqrt(rstd, rstd), rstd)
        y = x - mean
        if weight is None:
            y *= rstd
        else:
            y *= rstd * weight
            weight = None
    if weight is not None:
        y *= weight
    if bias is not None:
        y += bias
    return y, mean, rstd


def _channel_norm(input: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, running_mean: np.ndarray | None,
                  running_var: np.ndarray | None, training: bool, momentum: float, eps: float) -> tuple[np.ndarray, ...]:
    _floats_only(input)
    if input.ndim == 2 and 1 < input.shape[0] <= NARROW and input.size <= SMALL and input.size < state.fused and input.flags.c_contiguous:
        found = _small_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
        if found is not None:
            return found
    return _in_format(input, fused.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps))


@op("channel_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, "
    "float eps) -> (Tensor result, Saved mean, Saved rstd)", namespace="_internal", method=False, out=False, quiet="all",
    node="NativeBatchNormBackward0", complex="batch_norm")
class channel_norm:
    """Each channel of (N, C, ...) normalized over all other dimensions; in training, running statistics move in place."""

    def sharding(call):
        training, others = call["training"], ", c" * (len(call.operands) - 1)
        if training and (call["running_mean"] is not None or call.is_split("input", _channel_axes(call["input"].ndim))):
            return call.composed()
        return call.letters(f"N c *S{others} -> N c *S, c, c" if training else f"n c *s{others} -> n c *s, c, c")
    saved_as = {"input": "input", "mean": "result1", "rstd": "result2"}

    numpy = _channel_norm
    def shape(input, *rest): return input, (input[1],), (input[1],)
    def vjp(F, grad, input, mean, rstd, weight, training, eps, needs):
        # The running statistics are not saved: they move in place, and the gradient needs only what was used of them.
        return (*F.channel_norm_backward(grad, input, mean, rstd, weight, None, None, training, eps, needs), None, None)

    def batch(F, call):
        found = more_channels(F, call)
        return found if found is NotImplemented else batches.from_channels(F, call, found)
    aten = "native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]"

    def compose(F, input, weight, bias, running_mean, running_var, training, momentum, eps):
        axes, count = _channel_axes(input.ndim), prod(input.shape) // max(input.shape[1], 1)
        if training:
            mean = F.mean(input, axes)
            d = input - _per_channel(F, mean, input.ndim)
            var = F.mean(d * d, axes)
            for running, now in ((running_mean, mean), (running_var, var * (count / max(count - 1, 1)))):
                if isinstance(running, np.ndarray):
                    np.copyto(running, momentum * now + (1 - momentum) * running)
                elif running is not None:
                    running[...] = momentum * now + (1 - momentum) * running
        else:
            mean, var = running_mean.astype(input.dtype), running_var.astype(input.dtype)
            d = input - _per_channel(F, mean, input.ndim)
        rstd = F.rsqrt(var + eps)
        y = d * _per_channel(F, rstd, input.ndim)
        y = y if weight is None else y * _per_channel(F, weight, input.ndim)
        return y if bias is None else y + _per_channel(F, bias, input.ndim), mean, rstd

    def samples(rng):
        r = rng.standard_normal
        yield r((3, 2, 4)), r(2), r(2), None, None, True, 0.1, 1e-5
        yield r((3, 2)), r(2), r(2), r(2).astype("f4"), rng.uniform(0.5, 1, 2).astype("f4"), False, 0.1, 1e-5  # constants
        yield r((3, 2, 2, 2)), None, None, None, None, True, 0.1, 1e-5


def _check_channel_dtypes(input: TensorRef, *parameters: TensorRef | None) -> None:
    if input.dtype.is_complex:
        no_kernel("batch_norm", input, meta=averaged)
    _check_dtypes("batch_norm", input, *parameters)


def _batch_norm(F: Functions, input: TensorRef, weight: TensorRef, bias: TensorRef, running_mean: TensorRef | None,
                running_var: TensorRef | None, training: bool, momentum: float,
                eps: float) -> TensorRef:
    channels, k, mixed = input.shape[1] if input.ndim > 1 else 0, input._k, False
    for name, t in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if t is None:
            if not training and name in ("running_mean", "running_var"):
                raise AutogradError(f"{name} must be defined in evaluation mode", remedy=f"pass {name}, or training=True")
        elif prod(t.shape) != channels:
            raise ShapeMismatchError(f"{name} should contain {channels} elements not {prod(t.shape)}")
        elif t._k is not k:
            mixed = True
    if training and (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if k.dtype.category < FLOATING:
        _check_floating("batch_norm", input)
    if mixed and 0 not in input.shape:
        _check_channel_dtypes(input, weight, bias, running_mean, running_var)
    if input.ndim < 2:  # no channels
        return F.clone(input)
    if 0 in input.shape:  # statistics of nothing: the running ones stay, and weight and bias are seen, and get gradients of zeros
        scaled = F.clone(input) if weight is None else input * F.select(weight, 0, 0)
        return scaled if bias is None else scaled + F.select(bias, 0, 0)
    # The statistics' versions stay, as in torch: nothing saves them.
    return F.channel_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _quick_batch_norm(input: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, running_mean: np.ndarray | None,
                      running_var: np.ndarray | None, training: bool, momentum: float, eps: float) -> np.ndarray | None:
    if (running_mean is None) is not (running_var is None) or not training and running_mean is None or not _alike(
            input, weight, bias, running_mean, running_var):
        return None
    found: np.ndarray = _channel_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]
    return found


def _batch_norm_samples(rng: np.random.Generator) -> Any:
    r = rng.standard_normal
    for shape in (3, 2, 4), (3, 2):  # without statistics, which are constants: no gradients, and no other dtypes than the rest has
        yield Sample((r(shape), None, None, r(2), r(2)), {"training": True})


@op("nn_functional_batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, "
    "bool training=False, float momentum=0.1, float eps=1e-05) -> Tensor", namespace="_internal", alias="nn.functional.batch_norm",
    method=False, out=False)
class nn_functional_batch_norm:
    """Each channel of (N, C, ...) normalized with its batch's statistics (training) or the running ones.

    Ioffe and Szegedy, "Batch normalization" (arXiv:1502.03167). In training, the running statistics move in place.

    >>> torch.nn.functional.batch_norm(torch.tensor([[1.], [3.]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """

    composite = "batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)"
    lacks = {"float8": "batch_norm"}
    refuses_grad = dict.fromkeys(("running_mean", "running_var"), "native_batch_norm if any")
    def function(F, input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
        if training:
            shape = input._data.shape
            if len(shape) > 1 and shape[0] * prod(shape[2:]) == 1:
                raise ValueError(f"Expected more than 1 value per channel when training, got input size {size_text(input)}")
        if eps <= 0 and (training or eps):
            raise ValueError(f"batch_norm eps must be {'positive during training' if training else 'non-negative'}, but got {eps}")
        return _batch_norm(F, input, weight, bias, running_mean, running_var, training, momentum, eps)

    def quick(input, running_mean, running_var, weight, bias, training, momentum, eps):
        if eps > 0 and not (training and input.ndim > 1 and input.shape[0] * prod(input.shape[2:]) == 1):
            return _quick_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)

    samples = _batch_norm_samples

    def errors(rng):
        yield (np.ones((2, 3)), None, None), RuntimeError, "running_mean must be defined in evaluation mode"
        yield (np.ones((2, 3)), np.ones(4), np.ones(3)), RuntimeError, "running_mean should contain 3 elements not 4"
        yield (np.ones((1, 3)), None, None, None, None, True), ValueError, (
            "Expected more than 1 value per channel when training, got input size torch.Size([1, 3])")
        yield (np.ones((2, 3)), None, None, None, None, True, 0.1, 0.0), ValueError, (
            "batch_norm eps must be positive during training, but got 0.0")


@op("batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, "
    "float eps, bool cudnn_enabled) -> Tensor", method=False, out=False)
class batch_norm:
    """`nn.functional.batch_norm` with its arguments in another order.

    >>> torch.batch_norm(torch.tensor([[1.], [3.]]), None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[-1.0000],
            [ 1.0000]])
    """

    lacks = {"float8": "batch_norm"}
    refuses_grad = dict.fromkeys(("running_mean", "running_var"), "native_batch_norm if any")
    def function(F, input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
        return _batch_norm(F, input, weight, bias, running_mean, running_var, training, momentum, eps)

    def quick(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
        return _quick_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)

    def samples(rng): yield rng.standard_normal((3, 2,
                                                 4)), rng.standard_normal(2), rng.standard_normal(2), None, None, True, 0.1, 1e-5, False


def _instance_norm(F: Functions, input: TensorRef, weight: TensorRef | None, bias: TensorRef | None, running_mean: TensorRef | None,
                   running_var: TensorRef | None, use_input_stats: bool, momentum: float, eps: float) -> TensorRef:
    if not use_input_stats and (running_mean is None or running_var is None):
        raise AutogradError("Expected running_mean and running_var to be defined when use_input_stats is false")
    _check_floating("batch_norm", input)
    shape = tuple(input.shape)
    n, c = shape[:2]

    def repeated(x: TensorRef | None) -> TensorRef | None:
        return None if x is None else F.reshape(F.expand(F.reshape(x, (1, c)), (n, c)), (n * c,))

    # torch brings both to the weight's dtype, or the input's, where the means have another.
    wanted = (input if weight is None else weight)._k
    k = None if running_mean is None or running_mean._k is wanted else wanted
    means, variances = [None if x is None else F.wrap(np.tile(x._data, n).astype((k or x._k).np), k or x._k)
                        for x in (running_mean, running_var)]
    _check_channel_dtypes(input, weight, bias, means, variances)
    rows = F.reshape(F.contiguous(input), (1, n * c, *shape[2:]))
    result = F.channel_norm(rows, repeated(weight), repeated(bias), means, variances, use_input_stats, momentum, eps)
    if use_input_stats:
        for kept, rows_ in ((running_mean, means), (running_var, variances)):
            if kept is not None and rows_ is not None:
                np.copyto(kept._data, rows_._data.reshape(n, c).mean(0), casting="unsafe")
                F.bump(kept)
    return F.reshape(result, shape)


def _quick_instance_norm(input: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, running_mean: np.ndarray | None,
                         running_var: np.ndarray | None, use_input_stats: bool, eps: float) -> np.ndarray | None:
    if not use_input_stats or running_mean is not None or running_var is not None or not _alike(input, weight, bias):
        return None
    return fused.group_norm(contiguous(input), input.shape[1], weight, bias, eps)[0]


@op("nn_functional_instance_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? "
    "bias=None, "
    "bool use_input_stats=True, float momentum=0.1, float eps=1e-05) -> Tensor", namespace="_internal", alias="nn.functional.instance_norm",
    method=False, out=False)
class nn_functional_instance_norm:
    """Each channel of each sample of (N, C, ...) normalized on its own.

    Ulyanov, Vedaldi and Lempitsky, "Instance normalization" (arXiv:1607.08022).

    >>> torch.nn.functional.instance_norm(torch.tensor([[[1., 3.]]]))
    tensor([[[-1.0000,  1.0000]]])
    """

    composite = "instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)"
    lacks = {"float8": "batch_norm"}
    refuses_grad = dict.fromkeys(("running_mean", "running_var"), "native_batch_norm if any")
    def function(F, input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
        if use_input_stats and prod(tuple(input.shape)[2:]) == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {size_text(input)}")
        return _instance_norm(F, input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)

    def quick(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps):
        if prod(input.shape[2:]) != 1:
            return _quick_instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, eps)

    def samples(rng):
        r = rng.standard_normal
        yield (r((2, 3, 4)),)
        yield r((2, 3, 4)), None, None, r(3), r(3)


@op("instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, "
    "float momentum, float eps, bool cudnn_enabled) -> Tensor", method=False, out=False)
class instance_norm:
    """`nn.functional.instance_norm` with its arguments in another order.

    >>> torch.instance_norm(torch.tensor([[[1., 3.]]]), None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[[-1.0000,  1.0000]]])
    """

    lacks = {"float8": "batch_norm"}
    refuses_grad = dict.fromkeys(("running_mean", "running_var"), "native_batch_norm if any")
    def function(F, input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
        return _instance_norm(F, input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)

    def quick(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
        return _quick_instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, eps)

    def samples(rng): yield rng.standard_normal((2, 3, 4)), None, None, None, None, True, 0.1, 1e-5, False


# -- group norm -------------------------------------------------------------------------------------------------------


@op("group_norm_backward(Tensor grad, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int num_groups, float eps, Any needs) -> "
    "(Tensor grad_input, Tensor grad_weight, Tensor grad_bias)", namespace="_internal", method=False, out=False)
class group_norm_backward:
    """The gradients of `group_norm`."""

    @takes_half
    def numpy(grad, input, mean, rstd, weight, num_groups, eps, needs):
        return fused.group_norm_backward(grad, input, mean, rstd, num_groups, weight, needs)
    def compose(F, grad, input, mean, rstd, weight, num_groups, eps, needs):
        shape, axes = tuple(input.shape), _channel_axes(input.ndim)
        grouped = (shape[0], num_groups, prod(shape[1:]) // num_groups)
        normal, rstd = _normal(F, F.reshape(input, grouped), (2,), eps)
        v = grad if weight is None else grad * _per_channel(F, weight, input.ndim)
        dx = F.reshape(_normal_grads(F, F.reshape(v, grouped), normal, rstd, None, (2,)), shape) if needs[0] else None
        return dx, F.sum(grad * F.reshape(normal, shape), axes) if needs[1] else None, F.sum(grad, axes) if needs[2] else None
    function = in_single(compose)
    def samples(rng):
        x, w = rng.standard_normal((2, 4, 3)), rng.standard_normal(4)
        yield rng.standard_normal((2, 4, 3)), x, *fused.group_norm(x, 2, w, None, 1e-5)[1:], w, 2, 1e-5, (True, True, True)


def _group_norm(input: np.ndarray, num_groups: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float,
                cudnn_enabled: bool = True) -> tuple[np.ndarray, ...]:
    _floats_only(input)
    shape = input.shape
    if len(shape) < 2 or num_groups < 1 or shape[1] % num_groups or (
            weight is not None and weight.shape != (shape[1],) or bias is not None and bias.shape != (shape[1],)):
        raise ValueError("shapes do not match")
    found = fused.group_norm(input, num_groups, weight, bias, eps)
    return found if len(shape) < 4 else _in_format(input, found)


@op("group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> "
    "(Tensor result, Saved mean, Saved rstd)", method=False, out=False, quiet="all", node="NativeGroupNormBackward0",
    complex="GroupNormKernelImpl")
class group_norm:
    """Each group of channels of each sample of (N, C, ...) normalized on its own.

    Wu and He, "Group normalization" (arXiv:1803.08494).

    >>> torch.group_norm(torch.tensor([[1., 3.]]), 1)
    tensor([[-1.0000,  1.0000]])
    """

    lacks = {"float8": "GroupNormKernelImpl"}
    complex_kernel = _for_one_dtype("GroupNormKernelImpl")
    def sharding(call):
        if call.is_split("input", range(1, call["input"].ndim)):
            return call.composed()
        return call.letters("n C *S" + ", C" * (len(call.operands) - 1) + " -> n C *S, n G, n G")
    saved_also = {"N": "input.shape[0]", "C": "input.shape[1]", "HxW": "prod(input.shape[2:])", "group": "num_groups"}
    saved_as = {"input": "input", "mean": "result1", "rstd": "result2", "num_groups": None}

    numpy = _group_norm
    def shape(input, num_groups, *rest): return input, (input[0], num_groups), (input[0], num_groups)
    def compose(F, input, num_groups, weight, bias, eps, cudnn_enabled):
        shape = tuple(input.shape)
        normal, rstd = _normal(F, F.reshape(input, (shape[0], num_groups, prod(shape[1:]) // num_groups)), (2,), eps)
        y = F.reshape(normal, shape)
        y = y if weight is None else y * _per_channel(F, weight, input.ndim)
        return y if bias is None else y + _per_channel(F, bias, input.ndim), rstd, rstd
    @takes_floats
    def check(input, num_groups, weight, bias, eps, cudnn_enabled):
        shape = list(input.shape)
        if num_groups <= 0:
            raise AutogradError(f"Expected num groups to be greater than 0, got {num_groups}")
        if len(shape) < 2:
            raise AutogradError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
        if shape[1] % num_groups:
            raise ShapeMismatchError("Expected number of channels in input to be divisible by num_groups, but got input of shape "
                                     f"{shape} and num_groups={num_groups}")
        for name, t in (("weight", weight), ("bias", bias)):
            if t is not None and list(t.shape) != shape[1:2]:
                raise ShapeMismatchError(f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} "
                                         f"of shape {list(t.shape)} and input of shape {shape}")
        _check_dtypes("GroupNormKernelImpl", input, weight, bias)
    def vjp(F, grad, input, mean, rstd, weight, num_groups, eps, needs):
        return F.group_norm_backward(grad, input, mean, rstd, weight, num_groups, eps, needs)

    def batch(F, call):
        """A bigger batch; weights that differ are applied afterwards."""
        if not call.size:
            return NotImplemented
        if not call.is_batched["weight"] and not call.is_batched["bias"]:
            return batches.parted(F, call, call(input=batches.merged(F, call.input)))
        plain = call(input=batches.merged(F, call.whole("input")), weight=None, bias=None)
        return scaled_after(F, call, batches.parted(F, call, plain), 1)
    aten = "native_group_norm(input, weight, bias, *input.shape[:2], prod(input.shape[2:]), num_groups, eps)[0]"

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 4, 3)), 2, r(4), r(4)
        yield r((2, 6)), 3

    def errors(rng):
        yield (np.ones((2, 6, 2)), 4), RuntimeError, (
            "Expected number of channels in input to be divisible by num_groups, but got input of shape [2, 6, 2] and num_groups=4")


@op("nn_functional_group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
    namespace="_internal", alias="nn.functional.group_norm", method=False, out=False)
class nn_functional_group_norm:
    """Each group of channels of each sample of (N, C, ...) normalized on its own.

    >>> torch.nn.functional.group_norm(torch.tensor([[1., 3.]]), 1)
    tensor([[-1.0000,  1.0000]])
    """

    composite = "group_norm(input, num_groups, weight, bias, eps, False)"
    lacks = {"float8": "GroupNormKernelImpl"}
    def function(F, input, num_groups, weight=None, bias=None, eps=1e-5):
        shape = list(input.shape)
        if len(shape) < 2:
            raise AutogradError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
        if shape[0] * shape[1] // num_groups * prod(shape[2:]) == 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {shape}")
        return F.group_norm(input, num_groups, weight, bias, eps)

    def quick(input, num_groups, weight, bias, eps):
        if num_groups > 0 and _alike(input, weight, bias) and input.size // num_groups > 1:
            return _group_norm(input, num_groups, weight, bias, eps)[0]

    def samples(rng): yield rng.standard_normal((2, 4, 3)), 2, rng.standard_normal(4), rng.standard_normal(4)


# -- others -----------------------------------------------------------------------------------------------------------


@cache
def _epsilon(dtype: np.dtype) -> float:
    """That of the dtype in which squares are taken."""
    return float(np.finfo(float32.np if dtype.itemsize == 2 else dtype).eps)


@op("rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor", method=False, out=False,
    alias="nn.functional.rms_norm")
class rms_norm:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions; `eps` is the dtype's epsilon where None.

    Zhang and Sennrich, "Root mean square layer normalization" (arXiv:1910.07467).

    >>> torch.nn.functional.rms_norm(torch.tensor([[3., 4.]]), (2,))
    tensor([[0.8485, 1.1314]])
    """

    lacks = {"float8 chalf": "rms_norm"}
    def function(F, input, normalized_shape, weight=None, eps=None):
        size = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        if not size:
            raise AutogradError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
                                "normalized_shape = []")
        if weight is not None and list(weight.shape) != size:
            raise ShapeMismatchError("Expected weight to be of same shape as normalized_shape, but got weight of shape "
                                     f"{list(weight.shape)} "
                                     f"and normalized_shape = {size}")
        if list(input.shape)[-len(size):] != size:
            raise ShapeMismatchError(f"Given normalized_shape={size}, expected input with shape [*{', '.join(map(str, size))}], but got "
                                     f"input of size{list(input.shape)}")
        if input.dtype.category < FLOATING:
            raise UnsupportedDTypeError(f"\"rms_norm\" not implemented for '{SCALAR_TYPE_NAMES[input.dtype.name]}'")
        dtype = input._k.dtype
        x = input
        if dtype.itemsize == 2:  # squares of half precision are taken in float32, as torch does

            x = F.cast(input, float32)
        if eps is None:
            eps = _epsilon(dtype.np)
        axes = tuple(range(input.ndim - len(size), input.ndim))
        x = F.contiguous(x)
        y = x * F.rsqrt(F.mean(x * x, axes, True) + eps)
        if weight is not None:
            if weight._k.dtype is dtype and dtype.itemsize == 2 and weight._node is None:  # or two dtypes would meet
                weight = F.cast(weight, float32)
            y = y * weight
        return y if y._k.dtype is dtype else F.cast(y, dtype)

    def quick(input, normalized_shape, weight, eps):
        size, dtype = (normalized_shape,) if normalized_shape.__class__ is int else tuple(normalized_shape), input.dtype
        if not size or not input.size or dtype.char not in "fdeE" or input.shape[-len(size):] != size or (
                weight is not None and (weight.shape != size or weight.dtype is not dtype)):
            return None
        return fused.rms_norm(input, prod(size), weight, _epsilon(dtype) if eps is None else eps)

    def samples(rng):
        yield rng.standard_normal((2, 3)), (3,), rng.standard_normal(3)
        yield rng.standard_normal((2, 2, 3)), (2, 3), None, 1e-3


@op("local_response_norm(Tensor input, int size, float alpha=0.0001, float beta=0.75, float k=1.0) -> Tensor", namespace="nn.functional",
    method=False, out=False)
class local_response_norm:
    """input / (k + alpha * mean of squares over `size` neighbouring channels)^beta.

    Krizhevsky, Sutskever and Hinton, "ImageNet classification with deep convolutional neural networks" (2012).

    >>> torch.nn.functional.local_response_norm(torch.ones(1, 1, 1), 1, alpha=1., beta=1.)
    tensor([[[0.5000]]])
    """

    lacks = {"uint float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz": "avg_pool2d", "short bool": "avg_pool2d if any"}
    def function(F, input, size, alpha=1e-4, beta=0.75, k=1.0):
        if input.ndim < 3:
            raise ValueError("Expected 3D or higher dimensionality                          input "
                             f"(got {input.ndim} dimensions)")
        if not prod(input.shape):
            return input
        shape = tuple(input.shape)
        if input.dtype.is_complex:  # torch averages the squares by pooling
            name = "avg_pool2d" if len(shape) == 3 else "avg_pool3d_out_frame"
            no_kernel(name, input)
        def zeros(channels): return F.wrap(np.zeros((shape[0], channels, *shape[2:]), input._k.np), input._k)
        padded = F.cat([zeros(size // 2), input * input, zeros((size - 1) // 2)], 1)
        total = F.narrow(padded, 1, 0, shape[1])
        for i in range(1, size):
            total = total + F.narrow(padded, 1, i, shape[1])
        mean = total / size if input._k.dtype.category >= FLOATING else F.floor_divide(total, size)
        return input / F.pow(mean * alpha + k, beta)

    def samples(rng):
        yield Sample((rng.standard_normal((2, 4, 3)), 3), {"alpha": 0.5})
        yield Sample((rng.standard_normal((2, 4, 3, 2)), 2), {"alpha": 0.5, "k": 2.0})
