"""Special functions, and element-wise operations on the representation of numbers."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from ...dtypes import COMPLEX, FLOATING, DType, number_array, result_dtype
from ...errors import AutogradError
from ...executors.kernels import elementwise as fused
from ...functions.out import OutRule
from ...functions.overloads import EITHER_NUMBER, TENSOR_OR_NUMBER
from ...functions.refusals import no_kernel, on_meta
from ...record import no_derivative, op
from ...strided import copy_like
from .. import _batch as batches
from .. import _mindspore as kernels
from .._host import on_host
from .._precision import in_single
from .._samples import category, domain, pairs
from ...annotations import Fn, Functions, Values

_2_SQRTPI, _SQRT1_2 = 2 / math.sqrt(math.pi), math.sqrt(0.5)


# -- error functions ----------------------------------------------------------------------------------------------------


@op("erf(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="special.erf",
    dtypes="float int half", complex="erf_vml_cpu")
class erf:
    """The error function.

    >>> torch.erf(torch.tensor([0., 1.]))
    tensor([0.0000, 0.8427])
    """

    lacks = {"float8": "erf_vml_cpu"}
    layout = "input"
    scipy = "erf"
    sparse = "in order"
    numpy = fused.erf
    mindspore = "ops.Erf"
    @in_single(steps=True)
    def vjp(F, grad, input): return F.exp(-(input * input)) * _2_SQRTPI * grad
    samples = domain(-2, 2)


@op("erfc(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="special.erfc",
    dtypes="float int half", complex="erfc_vml_cpu")
class erfc:
    """1 - erf(input), accurate for large input.

    >>> torch.erfc(torch.tensor([0., 1.]))
    tensor([1.0000, 0.1573])
    """

    lacks = {"float8": "erfc_vml_cpu"}
    scipy = "erfc"
    numpy = fused.erfc
    mindspore = "ops.Erfc"
    def vjp(F, grad, input): return grad * (F.exp(-(input * input)) * -_2_SQRTPI)
    samples = domain(-2, 2)


def _erfinv(input: np.ndarray) -> np.ndarray:
    """Giles' approximation ("Approximating the erfinv function", 2010) polished by two Newton steps on erfc."""
    x = np.asarray(input, np.float64)
    with np.errstate(all="ignore"):
        w = -np.log((1 - x) * (1 + x))
        near, far = w - 2.5, np.sqrt(np.where(w < 5, 5, w)) - 3
        p = np.where(w < 5, np.polyval((2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
                                        -0.00417768164, 0.246640727, 1.50140941), near),
                     np.polyval((-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
                                 0.00943887047, 1.00167406, 2.83297682), far))
        y = p * x
        for _ in range(2):
            # In the tail erf(y) - x would cancel, so the residual is taken of the complements.
            residual = np.where(np.abs(x) < 0.5, fused.erf(y) - x, np.sign(x) * ((1 - np.abs(x)) - fused.erfc(np.abs(y))))
            y = y - residual / (_2_SQRTPI * np.exp(-y * y))
    y = np.where(np.abs(x) == 1, np.copysign(np.inf, x), np.where(np.abs(x) < 1, y, np.nan))
    return y.astype(input.dtype)


@op("erfinv(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="special.erfinv",
    dtypes="float int half", complex="erfinv_vml_cpu")
class erfinv:
    """The inverse of erf; infinite at -1 and 1, NaN outside.

    >>> torch.erfinv(torch.tensor([0., 0.5]))
    tensor([0.0000, 0.4769])
    """

    lacks = {"float8": "erfinv_vml_cpu"}
    saved_as = {"result": None}
    layout = "input"
    scipy = "erfinv"
    sparse = "in order"
    numpy = _erfinv
    mindspore = "ops.Erfinv"
    def vjp(F, grad, result): return grad * (F.exp(result * result) / _2_SQRTPI)
    samples = domain(-0.8, 0.8)


@op("ndtr(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    dtypes="float int half", complex="erf_vml_cpu")
class ndtr:
    """The normal distribution function.

    >>> torch.special.ndtr(torch.tensor([0., 1.]))
    tensor([0.5000, 0.8413])
    """

    lacks = {"float8": "mul_cpu_reduced_float"}
    scipy = "ndtr"
    def numpy(input): return fused.erfc(input * input.dtype.type(-_SQRT1_2)) * input.dtype.type(0.5)
    def half(input):  # rounded where torch, whose operations these are, rounds it
        scaled = (input.astype(np.float32) * _SQRT1_2).astype(input.dtype)
        return (fused.erf(scaled.astype(np.float32)).astype(input.dtype) + input.dtype.type(1)) * input.dtype.type(0.5)

    def compose(F, input): return F.erfc(input * -_SQRT1_2) * 0.5

    def vjp(F, grad, input):
        scaled = input * _SQRT1_2
        return F.exp(-(scaled * scaled)) * _2_SQRTPI * (grad * 0.5) * _SQRT1_2

    samples = domain(-2, 2)


def _erfcx(input: np.ndarray) -> np.ndarray:
    """exp(x^2) erfc(x): the product up to 4, the continued fraction beyond (Abramowitz and Stegun 7.1.14)."""
    x = np.asarray(input, np.float64)
    with np.errstate(all="ignore"):
        near = np.minimum(x, 4)
        result, large = np.exp(near * near) * fused.erfc(near), np.maximum(x, 4)
        tail = large
        for k in range(40, 0, -1):
            tail = large + 0.5 * k / tail
        result = np.where(x > 4, 1 / (math.sqrt(math.pi) * tail), result)
    return result.astype(input.dtype)


@op("erfcx(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    node="SpecialErfcxBackward0", dtypes="float int", complex="erfcx_cpu")
class erfcx:
    """exp(input^2) * erfc(input), which neither overflows nor vanishes for large input.

    >>> torch.special.erfcx(torch.tensor([0., 10.]))
    tensor([1.0000, 0.0561])
    """

    lacks = {"half float8": "erfcx_cpu"}
    scipy = "erfcx"
    numpy = _erfcx
    compose = on_host(_erfcx)
    def vjp(F, grad, input, result): return grad * (2 * input * result - _2_SQRTPI)
    samples = domain(-2, 2)


def _log_ndtr(input: np.ndarray) -> np.ndarray:
    x = np.asarray(input, np.float64)
    with np.errstate(all="ignore"):
        low = np.log(_erfcx(x * -math.sqrt(0.5)) / 2) - x * x / 2
        return np.where(x < -1, low, np.log1p(fused.erfc(x * math.sqrt(0.5)) * -0.5)).astype(input.dtype)


@op("log_ndtr(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    node="SpecialLogNdtrBackward0", dtypes="float int", complex="log_ndtr_cpu")
class log_ndtr:
    """The logarithm of the normal distribution function, accurate in both tails.

    >>> torch.special.log_ndtr(torch.tensor([0., -10.]))
    tensor([ -0.6931, -53.2313])
    """

    lacks = {"half float8": "log_ndtr_cpu"}
    scipy = "log_ndtr"
    numpy = _log_ndtr
    compose = on_host(_log_ndtr)
    def vjp(F, grad, input): return grad * (math.sqrt(2 / math.pi) / F.erfcx(input * -math.sqrt(0.5)))
    samples = domain(-2, 2)


def _ndtri(input: np.ndarray) -> np.ndarray:
    """Newton's method on the logarithm, which is concave, from a bound on the lower half (Chernoff's); the upper half mirrors it."""
    p = np.asarray(input, np.float64)
    with np.errstate(all="ignore"):
        wanted = np.log(np.minimum(p, 1 - p))
        x = -np.sqrt(-2 * wanted)
        for _ in range(8):
            x = x - (_log_ndtr(x) - wanted) * _erfcx(x * -math.sqrt(0.5)) * math.sqrt(math.pi / 2)
        x = np.where(p == 0.5, 0.0, np.where(p > 0.5, -x, x))
        x = np.where((p == 0) | (p == 1), np.where(p == 0, -np.inf, np.inf), x)
    return x.astype(input.dtype)


@op("ndtri(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    node="SpecialNdtriBackward0", dtypes="float int", complex="ndtri_cpu")
class ndtri:
    """The inverse of ndtr: the argument at which the normal distribution function has the value `input`.

    >>> torch.special.ndtri(torch.tensor([0.5, 0.975]))
    tensor([0.0000, 1.9600])
    """

    lacks = {"half float8": "ndtri_cpu"}
    scipy = "ndtri"
    numpy = _ndtri
    compose = on_host(_ndtri)
    def vjp(F, grad, result): return grad * (F.exp(result * result * 0.5) * math.sqrt(2 * math.pi))
    samples = domain(0.1, 0.9)


# -- logarithmic forms --------------------------------------------------------------------------------------------------


@op("logit(Tensor input, float? eps=None) -> Tensor", family="unary", promotion="float", result="same", inplace=True,
    alias="special.logit",
    dtypes="float int half", complex="logit_cpu")
class logit:
    """log(x / (1 - x)), of x brought into [eps, 1 - eps] where eps is given.

    >>> torch.logit(torch.tensor([0.5, 0.75]))
    tensor([0.0000, 1.0986])
    """

    lacks = {"float8": "logit_cpu"}
    scipy = "logit"
    def numpy(input, eps):
        if eps is not None:
            input = np.minimum(np.maximum(input, input.dtype.type(eps)), input.dtype.type(1 - eps))
        with np.errstate(all="ignore"):
            return np.log(input / (1 - input))

    half = numpy  # each step of which rounds, as torch's do
    def compose(F, input, eps):
        if eps is not None:
            input = F.clamp(input, eps, 1 - eps)
        return F.log(input / (1 - input))

    def vjp(F, grad, input, eps):
        low, high = (0, 1) if eps is None else (eps, 1 - eps)
        return F.where((input < low) | (input > high), math.nan if eps is None else 0, grad / (input * (1 - input)))

    def samples(rng):
        yield (rng.uniform(0.2, 0.8, (2, 3)),)
        yield np.array([0.05, 0.3, 0.6, 0.95]), 0.1


def _times_logarithm(logarithm: np.ufunc) -> Fn:
    def kernel(input: np.ndarray, other: np.ndarray) -> np.ndarray:
        other = np.asarray(other, getattr(other, "dtype", input.dtype))
        other = other if other.itemsize >= input.itemsize else other.astype(input.dtype)  # as precise as what is beside it
        with np.errstate(all="ignore"):
            return np.where(np.isnan(other), other, np.where(input == 0, input.dtype.type(0), input * logarithm(other)))

    return kernel


@op("xlogy(Operand input, Operand other) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True, inplace=True,
    alias="special.xlogy", dtypes="float int half", complex="xlogy_cpu")
class xlogy:
    """input * log(other), and 0 where input is 0.

    >>> torch.xlogy(torch.tensor([0., 2.]), torch.tensor([0., 1.5]))
    tensor([0.0000, 0.8109])
    """

    lacks = {"float8": "xlogy_cpu"}
    numbers = {"input": "XlogyBackward1", "other": "XlogyBackward2"}
    overloads = EITHER_NUMBER
    scipy = "xlogy"
    numpy = half = _times_logarithm(np.log)  # which rounds the logarithm of half precision, as torch does
    def compose(F, input, other): return F.where(F.isnan(other), other, F.where(input == 0, 0, input * _log(F, other)))
    def vjp_input(F, grad, input, other): return F.masked_fill(F.xlogy(grad, other), (input == 0) & (other <= 0), 0)
    def vjp_other(F, grad, input, other): return grad * input / other
    samples = pairs(0.5, 2, number=1.5)


def _log(F: Functions, x: Values | float) -> Any:
    """The logarithm of a tensor or of a number."""
    if isinstance(x, (int, float)):
        return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan
    return F.log(x)


def _log1p(F: Functions, x: Values | float) -> Any:
    """The same of one more."""
    if isinstance(x, (int, float)):
        return math.log1p(x) if x > -1 else _log(F, x + 1)
    return F.log1p(x)


@op("xlog1py(Operand input, Operand other) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True, method=False,
    namespace="special", dtypes="float int half", complex="xlog1py_cpu", node="SpecialXlog1PyBackward0")
class xlog1py:
    """input * log1p(other), and 0 where input is 0.

    >>> torch.special.xlog1py(torch.tensor([0., 2.]), torch.tensor([-1., 0.5]))
    tensor([0.0000, 0.8109])
    """

    lacks = {"float8": "xlog1py_cpu"}
    numbers = {"input": "SpecialXlog1PyBackward1", "other": "SpecialXlog1PyBackward2"}
    overloads = EITHER_NUMBER
    scipy = "xlog1py"
    numpy = half = _times_logarithm(np.log1p)
    def compose(F, input, other): return F.where(F.isnan(other), other, F.where(input == 0, 0, input * _log1p(F, other)))
    def vjp_input(F, grad, input, other): return F.masked_fill(F.xlog1py(grad, other), (input == 0) & (other <= -1), 0)
    def vjp_other(F, grad, input, other): return grad * input / (other + 1)
    samples = pairs(0.5, 2, number=1.5)


@op("entr(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    dtypes="float int half", complex="entr_cpu", node="SpecialEntrBackward0")
class entr:
    """-input * log(input); 0 at 0, minus infinity below.

    >>> torch.special.entr(torch.tensor([0., 0.5]))
    tensor([0.0000, 0.3466])
    """

    lacks = {"float8": "entr_cpu"}
    scipy = "entr"
    def numpy(input):
        with np.errstate(all="ignore"):
            rest = np.where(input == 0, input.dtype.type(0), input.dtype.type(-np.inf))
            return np.where(np.isnan(input), input, np.where(input > 0, -input * np.log(input), rest))

    half = numpy

    def compose(F, input): return F.where(input > 0, -input * F.log(input), F.where(F.isnan(input), input,
                                                                                    F.where(input == 0, 0, -math.inf)))
    def vjp(F, grad, input): return grad * (-F.log(input) - 1)
    samples = domain(0.2, 2)


# -- the representation of numbers ------------------------------------------------------------------------------------


@op("nan_to_num(Tensor input, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", family="unary", result="same",
    quiet="all", inplace=True,
    dtypes="float int bool half", complex="no gradient")
class nan_to_num:
    """NaN and infinities replaced, by default by zero and by the extremes of the dtype.

    >>> torch.nan_to_num(torch.tensor([float('nan'), 1.]))
    tensor([0., 1.])
    """

    lacks = {"float8 chalf": "nan_to_num"}
    out_dtype = OutRule("nan_to_num: dtype of out: {found} should be same as input: {wanted}")
    sparse = "in order"
    def numpy(input, nan, posinf, neginf):
        if input.dtype.kind in "biu":
            return copy_like(input)
        if input.dtype.kind != "c":
            top = float(ml_dtypes.finfo(input.dtype).max)
            number = lambda n: number_array(n, DType.by_np[input.dtype])  # bfloat16 has no common dtype with a Python number
            result = np.where(np.isnan(input), number(nan or 0.0), input)
            result = np.where(input == np.inf, number(top if posinf is None else posinf), result)
            return np.where(input == -np.inf, number(-top if neginf is None else neginf), result).astype(input.dtype)
        return np.nan_to_num(input, True, nan or 0.0, posinf, neginf)  # complex: part by part

    def compose(F, input, nan, posinf, neginf):
        if input.dtype.kind != "f":
            return input + 0 if input.dtype.kind != "b" else input | input
        top = float(np.finfo(input.dtype).max)
        input = F.where(F.isnan(input), nan or 0.0, input)
        input = F.where(input == math.inf, top if posinf is None else posinf, input)
        return F.where(input == -math.inf, -top if neginf is None else neginf, input)

    def vjp(F, grad, input): return F.where(F.isfinite(input), grad, 0)

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3)), 1.0, 2.0, 3.0


@op("copysign(Tensor input, Operand other) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True, inplace=True,
    dtypes="float int half", complex="copysign_cpu")
class copysign:
    """The magnitude of input with the sign of other.

    >>> torch.copysign(torch.tensor([1., -2.]), torch.tensor([-1., 1.]))
    tensor([-1.,  2.])
    """

    lacks = {"float8": "copysign_cpu"}
    numbers = {"other": "CopysignBackward1"}
    overloads = TENSOR_OR_NUMBER
    numpy = np.copysign
    def compose(F, input, other): return F.where((other < 0) | ((other == 0) & (1 / other < 0)), -F.abs(input), F.abs(input))
    def vjp_input(F, grad, input, result): return F.masked_fill(grad * (result / input), input == 0, 0)
    def vjp_other(F, grad): return F.zero_gradient(grad)
    no_vmap_ = "shape"
    without_tangents = ("other",)

    def samples(rng):
        yield np.array([[1.5, -0.5, 2.0]]), np.array([[-1.0], [2.0]])
        yield np.array([[1.5, -0.5, 2.0]]), -1.0


@op("heaviside(Tensor input, Tensor values) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True,
    inplace=True, node="NotImplemented",
    dtypes="float int half", complex="RuntimeError: heaviside is not yet implemented for complex tensors.")
class heaviside:
    """0 below zero, 1 above, `values` at zero.

    >>> torch.heaviside(torch.tensor([-1., 0., 2.]), torch.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    lacks = {"uint float8": "heaviside_cpu"}
    out_dtype = OutRule("heaviside is not yet implemented for tensors with different dtypes.")
    ufunc = np.heaviside
    def numpy(input, values): return np.where(input == 0, values, (input > 0).astype(input.dtype))  # 0 for NaN, as in torch

    mindspore = kernels.without_nan("Heaviside")
    compose = on_host(numpy)

    def check(input, values):
        if input._k.dtype is not values._k.dtype:
            raise AutogradError("heaviside is not yet implemented for tensors with different dtypes.", remedy="convert one of them")
        if category(input) == COMPLEX and not on_meta(input):
            raise AutogradError("heaviside is not yet implemented for complex tensors.")

    vjp = no_derivative("heaviside")

    def samples(rng):
        yield np.array([[-1.5, 0.0, 2.0]]), np.array([[0.5], [0.25]])
        yield np.array([[-1.5, 0.0, 2.0]]), np.array([0.5])

    def errors(rng):
        yield (np.ones(2), np.ones(2, int)), RuntimeError, "heaviside is not yet implemented for tensors with different dtypes."


@op("nextafter(Tensor input, Tensor other) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True,
    inplace=True,
    dtypes="float", complex="nextafter_cpu")
class nextafter:
    """The next representable number after input in the direction of other.

    >>> torch.nextafter(torch.tensor([1.]), torch.tensor([2.])) > 1
    tensor([True])
    """

    lacks = {"float8": "nextafter_cpu"}
    numpy = np.nextafter

    compose = on_host(numpy)  # ops.NextAfter broadcasts wrongly, and changes nothing at infinities and large numbers
    def vjp_input(F, grad, input, other): return F.masked_fill(grad, input == other, 0)
    def vjp_other(F, grad): return F.zero_gradient(grad)
    without_tangents = ("other",)

    def check(input, other):
        if max(category(input), category(other)) < FLOATING:
            no_kernel("nextafter_cpu", input, result_dtype([(t._k.dtype, t.ndim) for t in (input, other)]))

    samples = pairs()

    def errors(rng):
        yield (np.array([1]), np.array([2])), NotImplementedError, "\"nextafter_cpu\" not implemented for 'Long'"


@op("frexp(Tensor input) -> (Tensor mantissa, Int32 exponent)", dtypes="float")
class frexp:
    """(mantissa, exponent) with input = mantissa * 2 ** exponent and the mantissa in (-1, -0.5] or [0.5, 1); NaN, infinities and zero
    have the exponent 0.

    >>> torch.frexp(torch.tensor([3., 0.5]))
    torch.return_types.frexp(
    mantissa=tensor([0.7500, 0.5000]),
    exponent=tensor([2, 0], dtype=torch.int32))
    """

    lacks = {"float8": "frexp_cpu"}
    sharding = "*a -> *a, *a"
    out_dtype = (OutRule("torch.frexp() expects mantissa to have dtype {wanted_c} but got {found_c}"),
                 OutRule("torch.frexp() expects exponent to have int dtype but got {found_c}"))
    numpy = np.frexp
    compose = on_host(numpy)
    def shape(input): return input, input

    def check(input):
        if category(input) != FLOATING:
            raise AutogradError("torch.frexp() only supports floating-point dtypes", remedy="convert the tensor")

    # mantissa / input is 2 ** -exponent, in the dtype of the gradient.
    def vjp(F, grad, exponent): return grad / F.exp2(F.cast_like(exponent, grad))
    def jvp(F, outputs, arguments, tangents): return tangents["input"] / F.exp2(outputs[1]), None  # as torch, in float32 of half precision
    batch = batches.as_is

    def samples(rng): yield (rng.standard_normal((2, 3)),)

    def errors(rng):
        yield (np.array([1]),), RuntimeError, "torch.frexp() only supports floating-point dtypes"
