"""Activation functions."""

from __future__ import annotations

import math
from functools import wraps

import numpy as np

from ...dims import wrap_dim
from ...dtypes import BOOL, SCALAR_TYPE_NAMES
from ...errors import AutogradError, ShapeMismatchError
from ...executors.kernels._common import AT_LEAST
from ...executors.kernels._in_place import BOUNDED
from ...executors.kernels.changes import Change, nothing
from ...executors.kernels import elementwise as fused
from ...executors.kernels.elementwise import one_pass, one_pass_vjp
from ...executors.kernels._on_demand import contiguous, state
from ...executors.kernels.formulas import exp, expm1, few, log1p
from ...executors.kernels.halves import by_element, narrow, ufunc, widened
from ...executors.kernels.pairs import pairwise
from ...executors.kernels.select import where
from ...functions.constants import NUMBERS, ONE, SMALL, ZERO
from ...functions.out import FOUND, OutRule
from ...functions.refusals import cast_unsafely, negated, never, on_meta
from ...record import op
from ...strided import laid_out
from ...tensor import TensorRef
from .. import _batch as batches
from .. import _mindspore as kernels
from .._precision import in_single, is_half, no_half
from .._samples import category, check_number, domain, takes, takes_floats
from ..elementwise.elementary import _sigmoid, _tanh
from ...annotations import Fn, Functions, Values

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


_clip = (np.core if np.__version__.startswith("1.") else np._core).umath.clip  # type: ignore[attr-defined]  # the ufunc behind np.clip


def _between(input: np.ndarray, low: float, high: float) -> np.ndarray:
    """`input` in [low, high], in one pass where numbers leave its dtype."""
    char = input.dtype.char
    if char == "f" or char == "d":
        result: np.ndarray = _clip(input, NUMBERS[char, low], NUMBERS[char, high])
        return result
    if char == "l" and abs(low) < _WHOLE > abs(high):
        found = fused.of_integers(fused.BOUNDED, input, int(low), int(high))
        if found is not None:
            return found
    return np.minimum(np.maximum(input, low), high)


_WHOLE = 1 << 53
"""Below it numbers beside integers are rounded to zero as results are."""


# -- rectifiers ---------------------------------------------------------------------------------------------------------


def _check_relu(input: TensorRef, inplace: bool = False) -> None:
    if category(input) == BOOL and not on_meta(input):
        raise AutogradError("Boolean inputs not supported for relu", remedy="convert to numbers")
    takes("int float", "clamp_min_scalar_cpu")(input=input)


_FEW = 128  # elements up to which NumPy's maximum beside a number is quicker


@fused.takes_half
def _rectified(input: np.ndarray) -> np.ndarray:
    char = input.dtype.char
    return np.maximum(ZERO.get(char, 0), input) if input.size < _FEW and char != "E" and char != "e" else _rectified_many(input)


@one_pass("relu", exact=True, cheap=True)
def _rectified_many(input: np.ndarray) -> np.ndarray:
    return np.maximum(ZERO.get(input.dtype.char, 0), input)  # of equal zeros the second: -0 stays, as in torch


_rectified.simple, _rectified.at_once, _rectified.by = True, _rectified_many.at_once, _rectified_many.by  # type: ignore[attr-defined]


@op("relu(Tensor input, bool inplace=False) -> Tensor", family="unary", result="same", inplace=True, out=False,
    alias="nn.functional.relu",
    dtypes="float int half", complex="NotImplementedError: clamp is not supported for complex types")
class relu:
    """max(0, input).

    >>> torch.relu(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """

    changes = {0: Change(AT_LEAST, nothing, whole=(BOUNDED, lambda value: (0, (1 << 63) - 1)))}
    lacks = {"uint float8": "clamp_min_scalar_cpu"}
    sparse = "in order"
    numpy = _rectified
    mindspore = kernels.without_nan("ReLU")
    def compose(F, input): return F.maximum(input, 0)
    check = _check_relu
    def vjp(F, grad, result): return F.threshold_backward(grad, result, 0)
    samples = domain(-2, 2, kinks=(0,))

    def errors(rng):
        yield (np.array([True]),), RuntimeError, "Boolean inputs not supported for relu"


@op("threshold_backward(Tensor grad_output, Tensor input, Scalar threshold) -> Tensor", family="binary", result="same",
    method=False, namespace="_internal", out=False)
class threshold_backward:
    """grad_output where input > threshold, else zero."""

    @one_pass_vjp("threshold_backward", exact=True)
    def numpy(grad_output, input, threshold): return where(input <= threshold, grad_output.dtype.type(0), grad_output)

    def compose(F, grad_output, input, threshold): return F.where(input <= threshold, 0, grad_output)
    def vjp_grad_output(F, grad, input, threshold): return F.threshold_backward(grad, input, threshold)
    def vjp_input(F, grad): return F.zero_gradient(grad)  # so that a gradient requires grad where the input does, as in torch
    def samples(rng): yield rng.standard_normal((2, 3)), np.array([[0.5, -1.5, 2.0], [-0.25, 1.0, -3.0]]), 0


@op("relu6(Tensor input, bool inplace=False) -> Tensor", family="unary", result="same", inplace=True, out=False, method=False,
    namespace="nn.functional", node="HardtanhBackward0", dtypes="float int half",
    complex="NotImplementedError: clamp is not supported for complex types")
class relu6:
    """min(max(0, input), 6).

    >>> torch.nn.functional.relu6(torch.tensor([-1., 2., 7.]))
    tensor([0., 2., 6.])
    """

    lacks = {"bool": "RuntimeError: Bool inputs not supported for hardtanh", "uint float8": "clamp_scalar_cpu"}
    saved_also = {"min_val": "0", "max_val": "6"}

    @one_pass("clamp", lambda: (0, 6), simple=True)
    def numpy(input): return _between(input, 0, 6)
    def compose(F, input): return F.minimum(F.relu(input), 6)
    check = _check_relu
    def vjp(F, grad, input): return F.hardtanh_backward(grad, input, 0, 6)
    samples = domain(-8, 8, kinks=(0, 6))


@op("hardtanh(Tensor input, float min_val=-1.0, float max_val=1.0, bool inplace=False) -> Tensor", family="unary", result="same",
    inplace=True,
    method=False, out=False, namespace="nn.functional", dtypes="float int half",
    complex="NotImplementedError: clamp is not supported for complex types")
class hardtanh:
    """input brought into [min_val, max_val].

    >>> torch.nn.functional.hardtanh(torch.tensor([-2., 0.5, 2.]))
    tensor([-1.0000,  0.5000,  1.0000])
    """

    lacks = {"bool": "RuntimeError: Bool inputs not supported for hardtanh", "uint float8": "clamp_scalar_cpu"}
    @one_pass("clamp", lambda low, high: (low, high) if low <= high else None, simple=True)
    def numpy(input, min_val, max_val):
        if min_val > max_val:
            raise BoundsError("min_val cannot be greater than max_val")
        return _between(input, min_val, max_val)

    def compose(F, input, min_val, max_val): return F.minimum(F.maximum(input, min_val), max_val)

    def check(input, min_val, max_val, inplace=False):
        if min_val > max_val:
            raise BoundsError("min_val cannot be greater than max_val", remedy="exchange them")
        takes("bool int float", "hardtanh_cpu", never("{dtype} inputs not supported for hardtanh"))(input=input)

    def vjp(F, grad, input, min_val, max_val): return F.hardtanh_backward(grad, input, min_val, max_val)
    samples = domain(-2, 2, kinks=(-1, 1))

    def errors(rng):
        yield (np.ones(2), 1.0, -1.0), ValueError, "min_val cannot be greater than max_val"


@op("hardtanh_backward(Tensor grad_output, Tensor input, Scalar min_val, Scalar max_val) -> Tensor", family="binary", result="same",
    method=False, namespace="_internal", out=False)
class hardtanh_backward:
    """grad_output where input is between the bounds, else zero."""

    @one_pass_vjp("hardtanh_backward", exact=True)
    def numpy(grad_output, input, min_val, max_val):
        return where((input > min_val) & (input < max_val), grad_output, grad_output.dtype.type(0))

    def compose(F, grad_output, input, min_val, max_val): return F.where((input > min_val) & (input < max_val), grad_output, 0)
    def vjp_grad_output(F, grad, input, min_val, max_val): return F.hardtanh_backward(grad, input, min_val, max_val)
    def vjp_input(F, grad): return F.zero_gradient(grad)
    def samples(rng): yield rng.standard_normal((2, 3)), np.array([[0.5, -1.5, 2.0], [-0.25, 0.75, -3.0]]), -1, 1


class BoundsError(AutogradError, ValueError):
    """A lower bound above the upper one."""

    builtin = ValueError


@one_pass("leaky_relu", exact=True)
def _leaky(input: np.ndarray, negative_slope: float) -> np.ndarray:
    if 0 < negative_slope <= 1:
        return np.maximum(input, input * NUMBERS[input.dtype.char, negative_slope])
    return where(input > 0, input, input * negative_slope)


@op("leaky_relu(Tensor input, float negative_slope=0.01, bool inplace=False) -> Tensor", family="unary", result="same", inplace=True,
    method=False, out=False, namespace="nn.functional", dtypes="float half")
class leaky_relu:
    """input where it is positive, negative_slope * input elsewhere.

    >>> torch.nn.functional.leaky_relu(torch.tensor([-1., 2.]), 0.1)
    tensor([-0.1000,  2.0000])
    """

    lacks = {"float8": "leaky_relu_cpu"}
    numpy = _leaky
    def compose(F, input, negative_slope): return F.where(input > 0, input, input * negative_slope)
    check = takes("float", "leaky_relu_cpu", cast_unsafely("negative_slope", ValueError))
    def vjp(F, grad, input, negative_slope): return F.leaky_relu_backward(grad, input, negative_slope)
    samples = domain(-2, 2, 0.2, kinks=(0,))

    def errors(rng):
        yield (np.array([1]),), NotImplementedError, "\"leaky_relu_cpu\" not implemented for 'Long'"


@op("leaky_relu_backward(Tensor grad_output, Tensor input, Scalar negative_slope) -> Tensor", family="binary", result="same", method=False,
    namespace="_internal", out=False)
class leaky_relu_backward:
    """grad_output where input is positive, negative_slope * grad_output elsewhere."""

    @one_pass_vjp("leaky_relu_backward", exact=True)
    def numpy(grad_output, input, negative_slope):
        return where(input > 0, grad_output, grad_output * grad_output.dtype.type(negative_slope))

    def compose(F, grad_output, input, negative_slope): return F.where(input > 0, grad_output, grad_output * negative_slope)
    def vjp_grad_output(F, grad, input, negative_slope): return F.leaky_relu_backward(grad, input, negative_slope)
    def vjp_input(F, grad): return F.zero_gradient(grad)
    def samples(rng): yield rng.standard_normal((2, 3)), np.array([[0.5, -1.5, 2.0], [-0.25, 0.75, -3.0]]), 0.1


@op("rrelu_with_noise(Tensor input, Tensor? noise, float lower=0.125, float upper=0.3333333333333333, bool training=False) -> Tensor",
    result="same", broadcasts=True, inplace=True, method=False, namespace="_internal", out=False)
class rrelu_with_noise:
    """input times `noise` in training; else input where it is positive, and input times the mean of the bounds elsewhere."""

    node_ = "RreluWithNoiseBackward1"
    layout = "input"
    lacks = {"float16": lambda training, **_: "rrelu_with_noise_out_cpu" if training else None,
             "float8": lambda training, **_: "rrelu_with_noise_out_cpu" if training else "leaky_relu_cpu"}
    def numpy(input, noise, lower, upper, training): return input * noise if training else _leaky(input, (lower + upper) / 2)

    def compose(F, input, noise, lower, upper, training):
        return input * noise if training else F.where(input > 0, input, input * ((lower + upper) / 2))

    def shape(input, *rest): return input
    def check(input, noise, lower, upper, training):
        takes("float", "rrelu_with_noise_out_cpu" if training else "leaky_relu_cpu")(input=input)
    def vjp_input(F, grad, input, noise, lower, upper, training):
        return grad * noise if training else F.leaky_relu_backward(grad, input, (lower + upper) / 2)
    def samples(rng):
        yield np.array([[0.5, -1.5, 2.0], [-0.25, 0.75, -3.0]]), None
        yield np.array([0.5, -1.5]), np.array([1, 0.25], np.float64), 0.2, 0.3, True


def _channels(input: TensorRef, weight: TensorRef) -> tuple[int, ...]:
    """The shape in which the weights of prelu broadcast over dimension 1."""
    return (1, -1) + (1,) * (input.ndim - 2) if weight.ndim == 1 and input.ndim >= 2 else (-1,) if input.ndim else ()


@op("prelu(Tensor input, Tensor weight) -> Tensor", out=False, alias="=nn.functional.prelu")
class prelu:
    """input where it is positive, weight * input elsewhere; one weight, or one per channel (dimension 1).

    >>> torch.prelu(torch.tensor([[-1., 2.]]), torch.tensor([0.5]))
    tensor([[-0.5000,  2.0000]])
    """

    lacks = {"float8": "prelu_cpu"}
    amp = "lower"
    def function(F, input, weight):
        if input._k.dtype is not weight._k.dtype:
            raise AutogradError("prelu: Type promoting not supported. Got " +
                                " and ".join(SCALAR_TYPE_NAMES[x._k.dtype.name] for x in (input, weight)), remedy="convert one of them")
        takes("float", "prelu_cpu")(input=input)
        if not input.ndim and weight._data.size != 1:
            raise AutogradError("Not allow zero-dim input tensor.", remedy="pass one weight")
        count, channels = int(weight._data.size), input.shape[1] if input.ndim >= 2 else 1
        if weight.ndim > 1:
            raise AutogradError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
        if count != 1 and count != channels:
            raise ShapeMismatchError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and "
                                     f"channel size = {channels}.", expected=str(channels), found=str(count),
                                         remedy="pass one per channel")
        return F._prelu_kernel(input, F.reshape(weight, _channels(input, weight)) if weight.ndim else weight)

    def quick(input, weight):
        count = weight.size
        if weight.dtype is not input.dtype or weight.ndim > 1 or not count or not input.ndim or not input.flags.forc:
            return None
        if count == 1:
            weight = weight.reshape(())
        elif input.ndim < 2 or input.shape[1] != count:
            return None
        elif input.ndim > 2:
            weight = weight.reshape(_channels(input, weight))
        if input.dtype.char not in "fdeE":
            return None
        if input.flags.c_contiguous:
            return _rectifier(input, weight)
        if (count == 1 or input.ndim == 2) and 0 not in input.shape and 1 not in input.shape:  # columns are rows of the transposed
            return _rectifier(input.T, weight if count == 1 else weight[:, None]).T
        return laid_out(_rectifier(input, weight), input)

    def samples(rng):
        yield np.array([[-1.5, 0.5, 2.0], [0.7, -0.4, -2.0]]), np.array([0.3])
        yield np.array([[-1.5, 0.5, 2.0], [0.7, -0.4, -2.0]]), np.array([0.3, 0.2, 0.1])

    def errors(rng):
        yield (np.ones((2, 3, 4)), np.ones(2)), RuntimeError, (
            "Mismatch of parameter numbers and input channel size. Found parameter numbers = 2 and channel size = 3.")
        yield (np.ones((2, 3), np.float32), np.ones(3, int)), RuntimeError, "prelu: Type promoting not supported. Got Float and Long"


@pairwise("prelu")
def _rectifier(input: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return where(input > 0, input, input * weight)


@op("_prelu_kernel(Tensor input, Tensor weight) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True,
    method=False,
    out=False, namespace="_internal", node="PreluKernelBackward0")
class _prelu_kernel:
    """input where it is positive, weight * input elsewhere, broadcasting."""

    numpy = _rectifier
    def compose(F, input, weight): return F.where(input > 0, input, input * weight)
    def vjp_input(F, grad, input, weight):
        if isinstance(weight, np.ndarray) and weight.size == 1:
            return F.leaky_relu_backward(grad, input, float(weight.item()))
        return F.where(input > 0, grad, grad * weight)

    @one_pass_vjp("prelu_weight", exact=True)
    def vjp_weight(F, grad, input): return F.where(input >= 0, 0, grad * input)  # so that nothing of it is left at 0, as in torch
    def samples(rng): yield np.array([[-1.5, 0.5, 2.0], [0.7, -0.4, -2.0]]), np.array([0.3, 0.2, 0.1])


@op("threshold(Tensor input, Scalar threshold, Scalar value, bool inplace=False) -> Tensor", family="unary", result="same",
    inplace=True,
    method=False, alias="nn.functional.threshold", dtypes="float int half", complex="threshold_cpu")
class threshold:
    """input where it is above the threshold, `value` elsewhere.

    >>> torch.threshold(torch.tensor([-1., 2.]), 0, 9)
    tensor([9., 2.])
    """

    lacks = {"bool uint float8": "threshold_cpu"}
    def check(input, threshold, value, inplace=False):
        for number in (threshold, value):
            check_number(number, input._k.dtype)
    may_share = "itself"
    @one_pass("threshold", exact=True)
    def numpy(input, threshold, value):
        if input.dtype.char == "l" and abs(threshold) < _WHOLE > abs(value):
            found = fused.of_integers(fused.ABOVE, input, math.floor(threshold), int(value))
            if found is not None:
                return found
        if (char := input.dtype.char) == "f" or char == "d":
            return where(input <= NUMBERS[char, threshold], NUMBERS[char, value], input)
        return where(input <= threshold, input.dtype.type(value), input)

    def compose(F, input, threshold, value): return F.where(input <= threshold, value, input)
    def vjp(F, grad, input, threshold): return F.threshold_backward(grad, input, threshold)
    samples = domain(-2, 2, 0.1, 20.0, kinks=(0.1,))


# -- exponential units --------------------------------------------------------------------------------------------------


def _elu_of(x: float, alpha: float) -> float:
    return x if x > 0.0 else expm1(x) * alpha


def _selu_of(x: float) -> float:
    return x * _SELU_SCALE if x > 0.0 else expm1(x) * (_SELU_ALPHA * _SELU_SCALE)


def _celu_of(x: float, alpha: float) -> float:
    return x if x > 0.0 else expm1(x * (1.0 / alpha)) * alpha


def _elu(input: np.ndarray, alpha: float) -> np.ndarray:
    if alpha == 1 and input.size <= SMALL and input.ndim:
        zero = ZERO[input.dtype.char]
        y = np.minimum(input, zero)
        return np.add(np.expm1(y, y), np.maximum(input, zero), y)
    return where(input > 0, input, np.expm1(np.minimum(input, 0)) * alpha)


def _exponential(input: np.ndarray, inner: float, below: float, above: float) -> np.ndarray:
    """`below` times expm1(inner * input) where `input` is negative, `above` times it elsewhere, without a selection: the other is zero."""
    char = input.dtype.char
    zero = ZERO[char]
    y = np.minimum(input, zero)
    if inner != 1:
        np.multiply(y, NUMBERS[char, inner], y)
    np.multiply(np.expm1(y, y), NUMBERS[char, below], y)
    x = np.maximum(input, zero)
    return np.add(y, x if above == 1 else np.multiply(x, NUMBERS[char, above], x), y)


@op("elu(Tensor input, float alpha=1.0, bool inplace=False) -> Tensor", family="unary", result="same",
    inplace=True, method=False, out=False,
    namespace="nn.functional", dtypes="float half")
class elu:
    """input where it is positive, alpha * (exp(input) - 1) elsewhere (Clevert et al., arXiv:1511.07289).

    >>> torch.nn.functional.elu(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """

    lacks = {"float8": "elu_cpu"}
    saved_also = {"scale": "1", "input_scale": "1"}
    numpy = few(_elu_of, numbers=1)(one_pass("elu", lambda alpha: (alpha, 1))(_elu))
    def compose(F, input, alpha): return F.where(input > 0, input, F.expm1(input) * alpha)
    check = takes("float", "elu_cpu", cast_unsafely("input_scale"))
    @one_pass_vjp("elu_backward")
    @in_single
    def vjp(F, grad, input, alpha): return F.where(input > 0, grad, grad * alpha * F.exp(F.clamp_max(input, 0)))
    aten = "elu(input, alpha)"
    samples = domain(-2, 2, 1.5, kinks=(0,))

    def errors(rng):
        yield (np.array([1]),), NotImplementedError, "\"elu_cpu\" not implemented for 'Long'"


@op("selu(Tensor input, bool inplace=False) -> Tensor", family="unary", result="same", inplace=True, method=False, out=False,
    alias="nn.functional.selu", node="EluBackward0", dtypes="float half")
class selu:
    """elu with the scale and alpha that keep activations normalized (Klambauer et al., arXiv:1706.02515).

    >>> torch.selu(torch.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
    """

    lacks = {"float8": "elu_cpu"}
    saved_also = {"alpha": "1.6732632423543772", "scale": "1.0507009873554805", "input_scale": "1.0"}

    @few(_selu_of)
    @one_pass("selu", lambda: (_SELU_SCALE, _SELU_ALPHA * _SELU_SCALE))
    def numpy(input):
        if input.ndim:
            return _exponential(input, 1, _SELU_ALPHA * _SELU_SCALE, _SELU_SCALE)
        return where(input > 0, input * _SELU_SCALE, np.expm1(np.minimum(input, 0)) * (_SELU_ALPHA * _SELU_SCALE))

    def compose(F, input): return F.where(input > 0, input * _SELU_SCALE, F.expm1(input) * (_SELU_ALPHA * _SELU_SCALE))
    check = takes("float", "elu_cpu", cast_unsafely("input_scale"))

    @one_pass_vjp("selu_backward", lambda: (_SELU_SCALE, _SELU_ALPHA * _SELU_SCALE))
    @in_single
    def vjp(F, grad, input):
        return F.where(input > 0, grad * _SELU_SCALE, grad * (_SELU_ALPHA * _SELU_SCALE) * F.exp(F.clamp_max(input, 0)))

    samples = domain(-2, 2, kinks=(0,))


@op("celu(Tensor input, float alpha=1.0, bool inplace=False) -> Tensor", family="unary", result="same",
    inplace=True, method=False, out=False,
    alias="nn.functional.celu", dtypes="float half")
class celu:
    """input where it is positive, alpha * (exp(input / alpha) - 1) elsewhere (Barron, arXiv:1704.07483).

    >>> torch.celu(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """

    lacks = {"float8": "elu_cpu"}
    @few(_celu_of, numbers=1)
    @one_pass("elu", lambda alpha: (alpha, 1 / alpha) if alpha > 0 else None)
    def numpy(input, alpha):
        if 0 < alpha < math.inf and input.ndim and 1 / alpha < 1e30:
            return _exponential(input, 1 / alpha, alpha, 1)
        return where(input > 0, input, np.expm1(np.minimum(input, 0) * (1 / alpha)) * alpha)

    def compose(F, input, alpha): return F.where(input > 0, input, F.expm1(input / alpha) * alpha)

    def check(input, alpha, inplace=False):
        if alpha == 0:
            raise AutogradError("ZeroDivisionError: alpha cannot be 0 for CELU", remedy="pass another alpha")
        takes("float", "elu_cpu", cast_unsafely("alpha", ValueError))(input=input)

    @one_pass_vjp("celu_backward", lambda alpha: (0, 1 / alpha))
    @in_single
    def vjp(F, grad, input, alpha): return F.where(input <= 0, grad * F.exp(F.clamp_max(input, 0) / alpha), grad)  # NaN passes it on
    samples = domain(-2, 2, 1.5, kinks=(0,))


# -- smooth units -------------------------------------------------------------------------------------------------------


def _check_gelu(input: TensorRef, approximate: str) -> None:
    if approximate not in ("none", "tanh"):
        raise AutogradError("approximate argument must be either none or tanh.", found=repr(approximate), remedy="pass one of the two")
    takes("float", "GeluKernelImpl")(input=input)


_K, _C = math.sqrt(2 / math.pi), 0.044715


def _gelu_parts(F: Functions, x: Values) -> tuple[Values, Values, Values]:
    """tanh of the inner polynomial of the tanh form, and the polynomial's first two derivatives."""
    return F.tanh((x + x * x * x * _C) * _K), (x * x * (3 * _C) + 1) * _K, x * (6 * _C * _K)


_SQRT1_2 = math.sqrt(0.5)


def _gelu(input: np.ndarray, approximate: str) -> np.ndarray:
    if input.size > SMALL or input.size >= state.fused or approximate != "none" or not input.ndim or (c := input.dtype.char) not in "fd":
        return fused.gelu(input, approximate)
    y = fused.erf_for_gelu(np.multiply(input, NUMBERS[c, _SQRT1_2]))
    np.add(y, ONE[c], y)
    np.multiply(y, NUMBERS[c, 0.5], y)  # first, so that the largest numbers do not overflow
    return np.multiply(y, input, y)


@op("gelu(Tensor input, *, str approximate='none') -> Tensor", family="unary", result="same", method=False, namespace="nn.functional",
    dtypes="float half")
class gelu:
    """input * Phi(input), Phi the normal distribution function, or its tanh approximation (Hendrycks and Gimpel, arXiv:1606.08415).

    >>> torch.nn.functional.gelu(torch.tensor([-1., 0., 1.]))
    tensor([-0.1587,  0.0000,  0.8413])
    """

    home = "_C._nn"
    lacks = {"float8": "GeluKernelImpl"}
    out_dtype = FOUND
    numpy = fused.takes_half(_gelu)
    check = _check_gelu

    def compose(F, input, approximate):
        return input * ((_gelu_parts(F, input)[0] + 1) / 2 if approximate == "tanh" else (F.erf(input * math.sqrt(0.5)) + 1) / 2)

    def vjp(F, grad, input, approximate): return F.gelu_backward(grad, input, approximate=approximate)

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3)), "tanh"

    def errors(rng):
        yield (np.ones(2), "x"), RuntimeError, "approximate argument must be either none or tanh."
        yield (np.array([1]),), NotImplementedError, "\"GeluKernelImpl\" not implemented for 'Long'"


@op("gelu_backward(Tensor grad_output, Tensor input, *, str approximate='none') -> Tensor", family="binary", result="same",
    method=False,
    out=False, namespace="_internal")
class gelu_backward:
    """The gradient of gelu."""

    numpy = fused.takes_half(fused.gelu_backward)

    def compose(F, grad_output, input, approximate):
        if approximate == "tanh":
            t, du, _ = _gelu_parts(F, input)
            return grad_output * ((t + 1) / 2 + input / 2 * (1 - t * t) * du)
        density = F.exp(input * input * -0.5) * (1 / math.sqrt(2 * math.pi))
        return grad_output * ((F.erf(input * math.sqrt(0.5)) + 1) / 2 + input * density)

    def vjp_grad_output(F, grad, input, approximate): return F.gelu_backward(grad, input, approximate=approximate)

    @in_single
    def vjp_input(F, grad, grad_output, input, approximate):
        if approximate == "tanh":
            t, du, ddu = _gelu_parts(F, input)
            s = 1 - t * t
            return grad * grad_output * (s * du + input / 2 * (s * ddu - t * s * du * du * 2))
        return grad * grad_output * (F.exp(input * input * -0.5) * (1 / math.sqrt(2 * math.pi)) * (2 - input * input))

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), "tanh"


def _silu_of(x: float) -> float:
    return x / (1.0 + exp(-x))


@few(_silu_of)
def _silu(input: np.ndarray) -> np.ndarray:
    if input.size > SMALL or input.size >= state.fused or not input.ndim or (c := input.dtype.char) not in "fd":
        return fused.silu(input) if input.dtype.kind != "c" else input / (1 + np.exp(-input))
    y = np.negative(input)
    np.exp(y, y)
    return np.divide(input, np.add(y, ONE[c], y), y)


@op("silu(Tensor input, bool inplace=False) -> Tensor", family="unary", result="same",
    inplace=True, method=False, out=False, namespace="nn.functional",
    dtypes="float half", complex="no gradient")
class silu:
    """input * sigmoid(input) (Elfwing et al., arXiv:1702.03118).

    >>> torch.nn.functional.silu(torch.tensor([-1., 1.]))
    tensor([-0.2689,  0.7311])
    """

    lacks = {"float8 chalf": "silu_cpu"}
    numpy = _silu
    def compose(F, input): return input * F.sigmoid(input)
    check = takes("float complex", "silu_cpu")
    def vjp(F, grad, input): return F.silu_backward(grad, input)
    samples = domain(-2, 2)

    def errors(rng):
        yield (np.array([1]),), NotImplementedError, "\"silu_cpu\" not implemented for 'Long'"


@op("silu_backward(Tensor grad_output, Tensor input) -> Tensor", family="binary", result="same",
    method=False, out=False, namespace="_internal")
class silu_backward:
    """The gradient of silu."""

    def numpy(grad_output, input):
        if input.dtype.kind == "c":
            s = _sigmoid(input)
            return grad_output * s * (input * (1 - s) + 1)
        return fused.silu_backward(grad_output, input)

    def compose(F, grad_output, input):
        s = F.sigmoid(input)
        return grad_output * s * (input * (1 - s) + 1)

    def vjp_grad_output(F, grad, input): return F.silu_backward(grad, input)

    def vjp_input(F, grad, grad_output, input):
        s = F.sigmoid(input)
        return grad * grad_output * s * (1 - s) * (input * (1 - s * 2) + 2)

    def samples(rng): yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3))


def _softplus_of(x: float, beta: float, threshold: float) -> float:
    return x if x * beta > threshold else log1p(exp(x * beta)) / beta


@op("softplus(Tensor input, float beta=1.0, float threshold=20.0) -> Tensor", family="unary", result="same", method=False,
    namespace="nn.functional", dtypes="float half")
class softplus:
    """log(1 + exp(beta * input)) / beta, and input itself where beta * input is above the threshold.

    >>> torch.nn.functional.softplus(torch.tensor([0., 30.]))
    tensor([ 0.6931, 30.0000])
    """

    home = "_C._nn"
    lacks = {"float8": "softplus_cpu"}
    out_dtype = FOUND
    @few(_softplus_of, numbers=2)
    def numpy(input, beta, threshold):
        if beta == 1 and input.size <= SMALL and input.size < state.fused and input.ndim and input.dtype.char in "fd":
            flat = input.ravel()
            if float(flat.dot(flat)) < threshold * threshold and 0 < threshold < 80:  # then no element is above the threshold
                y = np.exp(input)
                return np.log1p(y, y)
        return fused.softplus(input, beta, threshold)

    def compose(F, input, beta, threshold): return F.where(input * beta > threshold, input, F.log1p(F.exp(input * beta)) / beta)
    def check(input, beta, threshold):
        takes("float", "softplus_cpu", cast_unsafely("beta", ValueError) if beta != 1 else None)(input=input)
    def vjp(F, grad, input, beta, threshold): return F.softplus_backward(grad, input, beta, threshold)

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield np.array([0.5, 1.5, -1.0]), 2.0, 2.0


@op("softplus_backward(Tensor grad_output, Tensor input, float beta, float threshold) -> Tensor", family="binary", result="same",
    method=False,
    out=False, namespace="_internal")
class softplus_backward:
    """The gradient of softplus."""

    numpy = fused.takes_half(fused.softplus_backward)
    def compose(F, grad_output, input, beta, threshold): return F.where(input * beta > threshold, grad_output,
            grad_output * F.sigmoid(input * beta))
    def vjp_grad_output(F, grad, input, beta, threshold): return F.softplus_backward(grad, input, beta, threshold)

    def vjp_input(F, grad, grad_output, input, beta, threshold):
        s = F.sigmoid(input * beta)
        return F.where(input * beta > threshold, 0, grad * grad_output * (s * (1 - s) * beta))

    def samples(rng): yield rng.standard_normal(3), np.array([0.5, 1.5, -1.0]), 2.0, 2.0


def _softplus(input: np.ndarray) -> np.ndarray:
    return np.logaddexp(input, input.dtype.type(0))


def _mish_of(x: float) -> float:
    """Beyond 20 the tangent rounds to 1."""
    if x > 20.0:
        return x
    e = exp(x)
    n = e * (e + 2.0)
    return x * (n / (n + 2.0))


@op("mish(Tensor input, bool inplace=False) -> Tensor", family="unary", result="same",
    inplace=True, method=False, out=False, namespace="nn.functional",
    dtypes="float half")
class mish:
    """input * tanh(softplus(input)) (Misra, arXiv:1908.08681).

    >>> torch.nn.functional.mish(torch.tensor([-1., 1.]))
    tensor([-0.3034,  0.8651])
    """

    lacks = {"float8": "mish_cpu"}
    @few(_mish_of)
    @one_pass("mish")
    def numpy(input): return input * np.tanh(_softplus(input))
    def compose(F, input): return input * F.tanh(F.log1p(F.exp(-F.abs(input))) + F.relu(input))
    check = takes("float", "mish_cpu")

    @one_pass_vjp("mish_backward")
    @in_single
    def vjp(F, grad, input):
        t = F.tanh(F.softplus(input))
        return grad * (t + input * F.sigmoid(input) * (1 - t * t))

    samples = domain(-2, 2)


@in_single
def _logsigmoid_rate(F: Functions, grad: Values, input: Values, small: Values) -> Values:
    """The gradient of `logsigmoid` by exp(-|input|), which torch keeps from the forward pass, rounded."""
    rate = small / (small + 1)
    return grad * F.where(input < 0, 1 - rate, rate)


def _logsigmoid_of(x: float) -> float:
    return (x if x < 0.0 else 0.0) - log1p(exp(-abs(x)))


@op("logsigmoid(Tensor input) -> Tensor", family="unary", result="same", method=False, namespace="nn.functional",
    node="LogSigmoidBackward0", dtypes="float half")
class logsigmoid:
    """log(sigmoid(input)) without overflow.

    >>> torch.nn.functional.logsigmoid(torch.tensor([-100., 0.]))
    tensor([-100.0000,   -0.6931])
    """

    home = "_C._nn"
    lacks = {"float8": "log_sigmoid_cpu"}
    layout, meta_layout = "rows", "input"  # torch's meta kernel has its own mind
    out_dtype = OutRule("expected scalar type {wanted} but found {found}")
    @few(_logsigmoid_of)
    @one_pass("logsigmoid")
    def numpy(input): return np.minimum(input, 0) - np.log1p(np.exp(-np.abs(input)))
    def compose(F, input): return -F.relu(-input) - F.log1p(F.exp(-F.abs(input)))
    check = takes("float", "log_sigmoid_cpu", negated)
    @one_pass_vjp("logsigmoid_backward")
    def vjp(F, grad, input):
        return _logsigmoid_rate(F, grad, input, F.exp(-F.abs(input))) if is_half(grad) else grad * F.sigmoid(-input)

    aten = "log_sigmoid_forward(input)[0]"
    samples = domain(-2, 2)

    def errors(rng):
        yield (np.array([1]),), NotImplementedError, "\"log_sigmoid_cpu\" not implemented for 'Long'"


@op("softsign(Tensor input) -> Tensor", family="unary", promotion="float", result="same",
    method=False, namespace="nn.functional", out=False,
    node="DivBackward0", dtypes="float int half")
class softsign:
    """input / (1 + |input|).

    >>> torch.nn.functional.softsign(torch.tensor([-1., 1.]))
    tensor([-0.5000,  0.5000])
    """

    lacks = {"float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz": "add_stub", "chalf": "div_cpu",
             "bool uint float8_e8m0fnu bool uint": "abs_cpu"}
    def redirect(input): return ("div", (input, input.abs() + 1)) if isinstance(input, TensorRef) and input._k.dtype.is_complex else None
    def numpy(input): return input / (1 + np.abs(input))
    @by_element
    def half(input): return ufunc(np.divide, input, ufunc(np.add, ufunc(np.abs, input), np.asarray(1, input.dtype)))
    def compose(F, input): return input / (F.abs(input) + 1)
    def vjp(F, grad, input):
        below = F.abs(input) + 1
        if is_half(grad):  # by the steps of torch, each of which is rounded; in float32 their difference would only lose digits
            return grad / below - grad * (input / below / below) * F.sgn(input)
        return grad / F.square(below)

    samples = domain(-2, 2, kinks=(0,))


@op("tanhshrink(Tensor input) -> Tensor", family="unary", promotion="float", result="same",
    method=False, namespace="nn.functional", out=False,
    node="SubBackward0", dtypes="float int half")
class tanhshrink:
    """input - tanh(input).

    >>> torch.nn.functional.tanhshrink(torch.tensor([0., 1.]))
    tensor([0.0000, 0.2384])
    """

    lacks = {"bool": "RuntimeError: Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
                     "mask, use the `~` or `logical_not()` operator instead.",
             "float8 chalf": "tanh_vml_cpu"}
    saved_also = {"alpha": "1"}
    saved_as = {"input": None}

    def numpy(input):
        result = _tanh(input)
        return np.subtract(input, result, result) if result.__class__ is np.ndarray and result.strides == input.strides else input - result
    @by_element
    def half(input): return ufunc(np.subtract, input, ufunc(np.tanh, input))
    def compose(F, input): return input - F.tanh(input)
    def vjp(F, grad, input):
        result = F.tanh(input)
        return grad - F.tanh_backward(grad, result) if is_half(grad) else grad * F.square(result)  # as `softsign`

    samples = domain(-2, 2)


# -- piecewise linear units ---------------------------------------------------------------------------------------------


_SIXTH = float(np.float32(1 / 6))
"""By which torch multiplies gradients, those in double precision, too: its kernel holds the number in single."""


def _hard(input: np.ndarray) -> np.ndarray:
    return _between(input + NUMBERS[input.dtype.char, 3], 0, 6)


@op("hardsigmoid(Tensor input, bool inplace=False) -> Tensor", family="unary", result="same", inplace=True, method=False,
    out=False, namespace="nn.functional", dtypes="float half")
class hardsigmoid:
    """input / 6 + 1 / 2, brought into [0, 1].

    >>> torch.nn.functional.hardsigmoid(torch.tensor([-4., 0., 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """

    lacks = {"float8": "hardsigmoid_cpu"}
    @one_pass("hardsigmoid", exact=True)
    def numpy(input): return _hard(input) / NUMBERS[input.dtype.char, 6]
    mindspore = "ops.HSigmoid"
    check = takes("float", "hardsigmoid_cpu")
    @one_pass_vjp("hardsigmoid_backward", lambda: (_SIXTH,), exact=True)
    def vjp(F, grad, input): return F.where((input > -3) & (input < 3), grad * _SIXTH, 0)
    samples = domain(-5, 5, kinks=(-3, 3))

    def errors(rng):
        yield (np.array([1]),), NotImplementedError, "\"hardsigmoid_cpu\" not implemented for 'Long'"


@op("hardswish(Tensor input, bool inplace=False) -> Tensor", family="unary", result="same", inplace=True, method=False,
    out=False, namespace="nn.functional", dtypes="float half")
class hardswish:
    """input * hardsigmoid(input) (Howard et al., arXiv:1905.02244).

    >>> torch.nn.functional.hardswish(torch.tensor([-4., 1., 4.]))
    tensor([-0.0000, 0.6667, 4.0000])
    """

    lacks = {"float8": "hardswish_cpu"}
    @one_pass("hardswish", exact=True)
    def numpy(input): return input * _hard(input) / NUMBERS[input.dtype.char, 6]
    mindspore = kernels.finite("HSwish")
    def compose(F, input): return input * F.clamp(input + 3, 0, 6) / 6
    check = takes("float", "hardswish_cpu")
    @one_pass_vjp("hardswish_backward", exact=True)
    @in_single
    def vjp(F, grad, input): return F.where(input <= -3, 0, F.where(input >= 3, grad, grad * (input / 3 + 0.5)))
    samples = domain(-5, 5, kinks=(-3, 3))


@op("hardshrink(Tensor input, float lambd=0.5) -> Tensor", family="unary", result="same",
    alias="=nn.functional.hardshrink", dtypes="float half")
class hardshrink:
    """input where it is outside [-lambd, lambd], zero inside.

    >>> torch.hardshrink(torch.tensor([-1., 0.3, 2.]))
    tensor([-1.,  0.,  2.])
    """

    lacks = {"float8": "hardshrink_cpu"}
    out_dtype = FOUND
    @one_pass("hardshrink", exact=True)
    def numpy(input, lambd): return where(np.abs(input) <= lambd, ZERO[input.dtype.char], input)
    def compose(F, input, lambd): return F.where((input >= -lambd) & (input <= lambd), 0, input)
    check = takes("float", "hardshrink_cpu")
    def vjp(F, grad, input, lambd): return F.hardshrink_backward(grad, input, lambd)
    samples = domain(-2, 2, kinks=(-0.5, 0.5))

    def errors(rng):
        yield (np.array([1]),), NotImplementedError, "\"hardshrink_cpu\" not implemented for 'Long'"


@op("softshrink(Tensor input, float lambd=0.5) -> Tensor", family="unary", result="same", method=False, namespace="nn.functional",
    dtypes="float half")
class softshrink:
    """input brought closer to zero by lambd, zero inside [-lambd, lambd].

    >>> torch.nn.functional.softshrink(torch.tensor([-1., 0.3, 2.]))
    tensor([-0.5000,  0.0000,  1.5000])
    """

    home = "_C._nn"
    lacks = {"float8": "softshrink_check"}
    out_dtype = FOUND
    @one_pass("softshrink", lambda lambd: (lambd,) if lambd > 0 else None, exact=True)
    def numpy(input, lambd):
        if lambd < 0:
            raise AutogradError("lambda must not be negative")
        return input - _between(input, -lambd, lambd)
    def compose(F, input, lambd): return F.where(input > lambd, input - lambd, F.where(input < -lambd, input + lambd, input * 0))

    def check(input, lambd):
        if lambd < 0:
            name, top = ("Double", "1.79769e+308") if input._k.dtype.itemsize == 8 else ("Float", "3.40282e+38")
            raise AutogradError(f"lambda must be in range [0, {top}] for input dtype {name}, but found {lambd:g}",
                remedy="pass a non-negative one")
        takes("float", "softshrink_check")(input=input)

    def vjp(F, grad, input, lambd): return F.softshrink_backward(grad, input, lambd)
    samples = domain(-2, 2, kinks=(-0.5, 0.5))

    def errors(rng):
        yield (np.ones(2, np.float32), -1.0), RuntimeError, "lambda must be in range [0, 3.40282e+38] for input dtype Float, but found -1"


@one_pass_vjp("shrink_backward", exact=True)
def _outside(grad_output: np.ndarray, input: np.ndarray, lambd: float) -> np.ndarray:
    return where((input > lambd) | (input < -lambd), grad_output, grad_output.dtype.type(0))


@op("hardshrink_backward(Tensor grad_output, Tensor input, Scalar lambd) -> Tensor", family="binary", result="same", method=False,
    namespace="_internal", out=False)
class hardshrink_backward:
    """grad_output where input is outside [-lambd, lambd], else zero."""

    numpy = _outside
    def compose(F, grad_output, input, lambd): return F.where((input > lambd) | (input < -lambd), grad_output, 0)
    def vjp_grad_output(F, grad, input, lambd): return F.hardshrink_backward(grad, input, lambd)
    def vjp_input(F, grad): return F.zero_gradient(grad)
    def samples(rng): yield rng.standard_normal((2, 3)), np.array([[0.25, -1.5, 2.0], [-0.25, 0.75, -3.0]]), 0.5


@op("softshrink_backward(Tensor grad_output, Tensor input, Scalar lambd) -> Tensor", family="binary", result="same", method=False,
    namespace="_internal", out=False)
class softshrink_backward:
    """The same, as the gradient of softshrink."""

    numpy = _outside
    def compose(F, grad_output, input, lambd): return F.where((input > lambd) | (input < -lambd), grad_output, 0)
    def vjp_grad_output(F, grad, input, lambd): return F.softshrink_backward(grad, input, lambd)
    def vjp_input(F, grad): return F.zero_gradient(grad)
    def samples(rng): yield rng.standard_normal((2, 3)), np.array([[0.25, -1.5, 2.0], [-0.25, 0.75, -3.0]]), 0.5


# -- gates --------------------------------------------------------------------------------------------------------------


def _halves(input: Values, dim: int) -> tuple[int, int]:
    """(dimension, half its size)."""
    if not len(input.shape):
        raise AutogradError("glu does not support scalars because halving size must be even")
    axis = wrap_dim(dim, len(input.shape))
    if input.shape[axis] % 2:
        raise AutogradError(f"Halving dimension must be even, but dimension {axis} is size {input.shape[axis]}",
            remedy="pad or choose another")
    return axis, input.shape[axis] // 2


def _gated_of(x: float, gate: float) -> float:
    return x * (1.0 / (1.0 + exp(-gate)))


def _gated(x: np.ndarray, gate: np.ndarray) -> np.ndarray:
    if x.size >= state.fused:  # which is softplus's gradient, without a threshold
        return fused.softplus_backward(x, gate, 1.0, math.inf)
    y = _sigmoid(gate)
    return np.multiply(x, y, y) if y.dtype == x.dtype and y.strides == x.strides else x * y


_few_gated = few(_gated_of, 2)(_gated)


def _glu(input: np.ndarray, dim: int) -> np.ndarray:
    axis, half = _halves(input, dim)
    if not input.flags.c_contiguous and input.flags.f_contiguous:  # columns are rows of the transposed
        return _of_halves(input.T, input.ndim - 1 - axis, half).T
    return _of_halves(input, axis, half)


def _of_halves(input: np.ndarray, axis: int, half: int) -> np.ndarray:
    found = fused.gated(input, axis)
    if found is not None:
        return found
    if input.dtype.char in "eE":
        return narrow(_glu(widened(input), axis), input.dtype)
    before, in_rows = (slice(None),) * axis, input.flags.c_contiguous
    x, gate = (input[:half], input[half:]) if not axis else (input[*before, :half], input[*before, half:])
    if in_rows and input.size <= state.short and axis:  # copies cost less than steps
        x, gate = contiguous(x), contiguous(gate)
    return (_few_gated if in_rows else _gated)(x, gate)


def _of_gates(formula: Fn) -> Fn:
    """A gradient of gates in one pass, where arrays lie in rows."""
    @wraps(formula)
    def vjp(F: Functions, grad: Values, input: Values, dim: int) -> Values:
        if isinstance(grad, np.ndarray) and isinstance(input, np.ndarray):
            found = fused.gated_backward(grad.view(np.ndarray), input.view(np.ndarray), _halves(input, dim)[0])
            if found is not None:
                return found
        return formula(F, grad, input, dim)

    return vjp


@op("glu(Tensor input, int dim=-1) -> Tensor", result="same", promotion="promote",
    method=False, out=False, namespace="nn.functional", dtypes="float half")
class glu:
    """The first half of a dimension times the sigmoid of the second (Dauphin et al., arXiv:1612.08083).

    >>> torch.nn.functional.glu(torch.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """

    lacks = {"float8": "glu_cpu"}
    sharding = "along dim"
    meta_layout = "input"
    numpy = fused.takes_half(_glu)
    def shape(input, dim):
        d = dim % len(input)
        return (*input[:d], input[d] // 2, *input[d + 1:])

    @takes_floats
    def check(input, dim):
        _halves(input, dim)
        takes("float", "glu_cpu")(input=input)

    def compose(F, input, dim):
        axis, half = _halves(input, dim)
        return F.slice(input, axis, 0, half) * F.sigmoid(F.slice(input, axis, half, 2 * half))

    @_of_gates
    @in_single
    def vjp(F, grad, input, dim):
        axis, half = _halves(input, dim)
        a, s = F.slice(input, axis, 0, half), F.sigmoid(F.slice(input, axis, half, 2 * half))
        return F.cat([grad * s, grad * a * s * (1 - s)], axis)

    def jvp(F, outputs, arguments, tangents):
        input, t = arguments["input"], tangents["input"]
        no_half("glu_jvp_cpu", input)
        axis, half = _halves(input, arguments["dim"])
        a, s = F.slice(input, axis, 0, half), F.sigmoid(F.slice(input, axis, half, 2 * half))
        return s * (F.slice(t, axis, 0, half) + a * (1 - s) * F.slice(t, axis, half, 2 * half))
    batch = batches.view

    def samples(rng):
        yield (rng.standard_normal((2, 4)),)
        yield rng.standard_normal((4, 3)), 0

    def errors(rng):
        yield (np.ones(3),), RuntimeError, "Halving dimension must be even, but dimension 0 is size 3"
        yield (np.ones((2, 4)), 5), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 5)"
        yield (np.ones(()),), RuntimeError, "glu does not support scalars because halving size must be even"
