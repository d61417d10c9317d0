"""Special functions, and element-wise operations on the representation of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from ...dtypes import COMPLEX, FLOATING, DType, Kind, number_array, result_dtype
from ...errors import AutogradError
from ...executors.kernels._in_place import FINITE
from ...executors.kernels.changes import Alone, rounded
from ...executors.kernels import elementwise as fused
from ...executors.kernels._on_demand import is_half, state
from ...executors.kernels.formulas import (
    Scalar, Split, binary, copysign as copysign_, erf as erf_, erfc as erfc_, exp, few, like, log, log1p, many_of_single, polynomial,
    sqrt, unary)
from ...executors.kernels.halves import by_element, narrow, ufunc, widened
from ...executors.kernels.pairs import halved, pairwise
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
from . import _double as double, _single as single
from ._double import log as log_double
from ._elementary import log1p as log1p_double, log1p_single, log_single as log_in_single
from ._single import log as log_single, to_single
from ...annotations import Fn, Functions, Values
from ...warned import ignoring

_2_SQRTPI, _SQRT1_2, _SQRT2 = 2 / math.sqrt(math.pi), math.sqrt(0.5), math.sqrt(2)
_SQRT1_PI, _SQRT_HALF_PI = 1 / math.sqrt(math.pi), math.sqrt(math.pi / 2)


# -- error functions, all but erf formulas of one number (`executors/kernels/formulas.py`) --------------------------------


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
    numpy = few(erf_)(fused.erf)
    mindspore = "ops.Erf"
    @in_single(steps=True)
    def vjp(F, grad, input): return F.exp(-(input * input)) * _2_SQRTPI * grad
    samples = domain(-2, 2)


_erfc = unary(erfc_, single=single.erfc, fused=True)


@op("erfc(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="special.erfc",
    dtypes="float int half", complex="erfc_vml_cpu")
class erfc:
    """1 - erf(input), accurate for large input.

    >>> torch.erfc(torch.tensor([0., 1.]))
    tensor([1.0000, 0.1573])
    """

    lacks = {"float8": "erfc_vml_cpu"}
    scipy = "erfc"
    numpy = _erfc
    mindspore = "ops.Erfc"
    def vjp(F, grad, input): return grad * (F.exp(-(input * input)) * -_2_SQRTPI)
    samples = domain(-2, 2)


_GILES_NEAR = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
               0.246640727, 1.50140941)
_GILES_FAR = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406,
              2.83297682)


def _giles(w: float) -> float:
    """The inverse of erf at x over x, of w = -log(1 - x**2), to seven places (Giles, "Approximating the erfinv function", 2010)."""
    return polynomial(_GILES_NEAR, w - 2.5) if w < 5.0 else polynomial(_GILES_FAR, sqrt(w) - 3.0)


def _polished(y: float, residual: float) -> float:
    """A step of Halley's method, which triples the places of `y` where erf misses a value by `residual`."""
    step = residual / (_2_SQRTPI * exp(-y * y))
    return y - step / (1.0 + y * step)


def _erfinv_of(x: float) -> float:
    a = abs(x)
    if a >= 1.0 or a != a:
        return copysign_(math.inf, x) if a == 1.0 else math.nan
    y = _giles(-log((1.0 - a) * (1.0 + a))) * a
    if a < 0.5:
        return copysign_(_polished(y, erf_(y) - a), x)
    # In the tail erf(y) - x would cancel, so the residual is taken of the complements; it converges slower at the end.
    y = _polished(y, (1.0 - a) - erfc_(y))
    return copysign_(_polished(y, (1.0 - a) - erfc_(y)) if a > 0.9999999 else y, x)


_erfinv = unary(double.erfinv(_erfinv_of), single=single.erfinv, fused=True)


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
    numpy = unary(lambda x: 0.5 * erfc_(x * -_SQRT1_2), single=single.ndtr, fused=True)
    @by_element
    def half(input):  # rounded where torch, whose operations these are, rounds it
        scaled = narrow(widened(input) * np.float32(_SQRT1_2), input.dtype)
        return (fused.erf(scaled) + input.dtype.type(1)) * input.dtype.type(0.5)

    def compose(F, input): return F.erfc(input * -_SQRT1_2) * 0.5

    def vjp(F, grad, input):
        scaled = input * _SQRT1_2
        return F.exp(-(scaled * scaled)) * _2_SQRTPI * (grad * 0.5) * _SQRT1_2

    samples = domain(-2, 2)


# Cody's rational approximations of erfcx up to 4 and beyond ("Rational Chebyshev approximations for the error function", 1969).
_MID_P, _MID_Q, _FAR_P, _FAR_Q = fused.COMPLEMENT


def _erfcx_of(x: float) -> float:
    """exp(x^2) erfc(x): the product near 0 and below, rational functions of x, and of 1 / x^2, from there."""
    if x > 4.0:
        z = 1.0 / (x * x)
        return (_SQRT1_PI - z * (polynomial(_FAR_P, z) / polynomial(_FAR_Q, z))) / x
    if x > 0.46875:
        return polynomial(_MID_P, x) / polynomial(_MID_Q, x)
    return exp(x * x) * erfc_(x)


_erfcx = unary(_erfcx_of)


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


def _log_ndtr_of(x: float) -> float:
    if x < -1.0:
        return log(_erfcx_of(x * -_SQRT1_2) / 2.0) - x * x / 2.0
    return log1p(erfc_(x * _SQRT1_2) * -0.5)


_log_ndtr = unary(_log_ndtr_of)


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


def _ndtri_of(p: float) -> float:
    """Of the lower half, which the upper one mirrors, by the inverse of erfc, polished as that of erf; far out by Newton's method on the
    logarithm, which is concave, from a bound (Chernoff's)."""
    if not (p > 0.0 and p < 1.0):
        return -math.inf if p == 0.0 else math.inf if p == 1.0 else math.nan
    low = p if p < 0.5 else 1.0 - p
    if low > 1e-6:
        a = 1.0 - 2.0 * low
        y = _giles(-log(4.0 * low * (1.0 - low))) * a
        x = -_SQRT2 * _polished(y, erf_(y) - a if a < 0.5 else 2.0 * low - erfc_(y))
    else:
        wanted = log(low)
        x = -sqrt(-2.0 * wanted)
        for _ in range(8):
            x = x - (_log_ndtr_of(x) - wanted) * _erfcx_of(x * -_SQRT1_2) * _SQRT_HALF_PI
    return -x if p >= 0.5 else x


_ndtri = unary(double.ndtri(_ndtri_of), single=single.ndtri, fused=True)


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


def _is_far(y: float) -> bool:
    """Whether `_double.log` is not for this number, which has a logarithm."""
    return y > 0.0 and y < 1e-290 or y > 1e300


def _log_of(y: float) -> float:
    """Of numbers that are not far, infinite at 0 and NaN below."""
    value = log_double(y if y >= 1e-290 else 1.0)
    return value if y > 0.0 else -math.inf if y == 0.0 else math.nan


def _log_of_single(y: float) -> float:
    value = log_single(1e-46 if not y > 1e-46 else 1e39 if y > 1e39 else y)
    value = math.inf if y == math.inf else value
    return value if y > 0.0 else -math.inf if y == 0.0 else math.nan


def _logit_by(log: Scalar) -> Scalar:
    def logit(x: float, low: float, high: float) -> float:
        x = low if x < low else high if x > high else x
        value = log(x / (1.0 - x) if x > 0.0 and x < 1.0 else 1.0)
        return value if x > 0.0 and x < 1.0 else -math.inf if x == 0.0 else math.inf if x == 1.0 else math.nan

    return logit


def logit_in_steps(x: float, low: float, high: float) -> float:
    """Of single precision, in steps that are rounded, as torch's."""
    x = low if x < low else high if x > high else x
    value = log_single(to_single(x / to_single(1.0 - x)) if x > 0.0 and x < 1.0 else 1.0)
    return value if x > 0.0 and x < 1.0 else -math.inf if x == 0.0 else math.inf if x == 1.0 else math.nan


def _bounded_logit(input: np.ndarray, low: float, high: float) -> np.ndarray:
    if low > 0 or high < 1:
        input = np.minimum(np.maximum(input, input.dtype.type(low)), input.dtype.type(high))
    with ignoring():
        return np.log(input / (1 - input))


_in_one_pass = few(Split(_logit_by(_log_of), ((lambda x, low, high: x < 1e-290 and x > 0.0, _logit_by(log)),)), numbers=2, exact=True,
                   single=logit_in_steps)(_bounded_logit)


def _logit_of_single(x: float, low: float, high: float) -> float:
    """In single precision, in torch's steps."""
    y = like(x, low) if x < like(x, low) else like(x, high) if x > like(x, high) else x
    return log_in_single(y / (like(y, 1.0) - y))


_logit_of_many = many_of_single(_logit_of_single, 2)
_SOME = 4096  # float32 numbers beyond which this takes less than a formula in double precision


def _logit(input: np.ndarray, low: float, high: float) -> np.ndarray:
    if input.size <= _SOME or input.dtype.char != "f":
        found: np.ndarray = _in_one_pass(input, low, high)
        return found
    return (_logit_of_many if input.size >= state.fused else _bounded_logit)(input, float(low), float(high))


@lru_cache(1024)
def _ends_of(number: Callable[[float], Any], eps: float) -> tuple[float, float]:
    """The numbers that arguments of a dtype are kept between."""
    return float(number(eps)), float(number(1 - eps))


def _logit_rate(grad: float, x: float) -> float:
    one = like(x, 1.0)
    return grad / (x * (one - x)) if not (x < like(x, 0.0) or x > one) else like(x, math.nan)


_logit_rates = binary(_logit_rate, own=True)


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
    @by_element
    def numpy(input, eps):  # of half precision each step rounds, as torch's do
        if eps is None:
            return _logit(input, -math.inf, math.inf)
        return _logit(input, *_ends_of(input.dtype.type, eps))

    numpy.slow_from = 0  # type: ignore[attr-defined]
    half = numpy
    def compose(F, input, eps):
        if eps is not None:
            input = F.clamp(input, eps, 1 - eps)
        return F.log(input / (1 - input))

    def vjp(F, grad, input, eps):
        at_once = grad.__class__ is np.ndarray and grad.dtype.char in "fd" and grad.dtype is input.dtype and grad.size >= state.fused
        rate = _logit_rates(grad, input) if at_once else grad / (input * (1 - input))
        if at_once and eps is None:
            return rate
        low, high = (0, 1) if eps is None else (eps, 1 - eps)
        return F.where((input < low) | (input > high), math.nan if eps is None else 0, rate)

    def samples(rng):
        yield (rng.uniform(0.2, 0.8, (2, 3)),)
        yield np.array([0.05, 0.3, 0.6, 0.95]), 0.1


def _xlogy_of(x: float, y: float) -> float:
    if y != y:
        return y
    if x == 0.0:
        return 0.0
    return x * log(y) if y > 0.0 else x * -math.inf if y == 0.0 else math.nan


def _xlogy(log: Scalar) -> Scalar:
    def xlogy(x: float, y: float) -> float:
        return y if y != y else 0.0 if x == 0.0 else x * log(y)

    return xlogy


def _xlog1py(log1p: Scalar) -> Scalar:
    def xlog1py(x: float, y: float) -> float:
        value = log1p(y if y > -1.0 else 0.0)
        value = value if y > -1.0 else -math.inf if y == -1.0 else math.nan
        return y if y != y else 0.0 if x == 0.0 else x * value

    return xlog1py


def _rounded_log1p(y: float) -> float:
    value = log1p_single(y)
    return to_single(value) if value < math.inf else value


xlog1py_in_steps = _xlog1py(_rounded_log1p)


def _entr_of(x: float) -> float:
    return -x * log(x) if x > 0.0 else x if x != x else 0.0 if x == 0.0 else -math.inf


def _entr(log: Scalar) -> Scalar:
    def entr(x: float) -> float:
        value = -x * log(x)
        return value if x > 0.0 else x if x != x else 0.0 if x == 0.0 else -math.inf

    return entr


def _times_logarithm(logarithm: np.ufunc) -> Fn:
    def kernel(input: np.ndarray, other: np.ndarray) -> np.ndarray:
        other = np.asarray(other, getattr(other, "dtype", input.dtype))
        other = other if other.itemsize >= input.itemsize else other.astype(input.dtype)  # as precise as what is beside it
        with ignoring():
            if input.dtype is other.dtype and is_half(input.dtype):  # rounded after each of two steps
                product = halved(np.multiply, input, ufunc(logarithm, other))
                return np.where(ufunc(np.isnan, other), other, np.where(ufunc(np.logical_not, input), input.dtype.type(0), product))
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
    half = _times_logarithm(np.log)  # which rounds the logarithm of half precision, as torch does
    numpy = few(Split(_xlogy(_log_of), ((lambda _, y: _is_far(y), _xlogy_of),)), 2, exact=True, single=_xlogy(_log_of_single))(half)
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
    half = _times_logarithm(np.log1p)
    numpy = few(Split(_xlog1py(log1p_double), ((lambda _, y: y > 1e300, _xlog1py(log1p)),)), 2, exact=True,
                single=xlog1py_in_steps)(half)
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
    @by_element
    def half(input):
        with ignoring():
            rest = np.where(input == 0, input.dtype.type(0), input.dtype.type(-np.inf))
            return np.where(np.isnan(input), input, np.where(input > 0, -input * np.log(input), rest))

    numpy = few(Split(_entr(_log_of), ((_is_far, _entr_of),)), exact=True, single=_entr(_log_of_single))(half)

    def compose(F, input): return F.where(input > 0, -input * F.log(input), F.where(F.isnan(input), input,
                                                                                    F.where(input == 0, 0, -math.inf)))
    def vjp(F, grad, input): return grad * (-F.log(input) - 1)
    samples = domain(0.2, 2)


# -- the representation of numbers ------------------------------------------------------------------------------------


def _without_nan_of(x: float, nan: float, top: float, low: float) -> float:
    return nan if x != x else top if x == math.inf else low if x == -math.inf else x


@few(_without_nan_of, numbers=3, exact=True)
def _without_nan(input: np.ndarray, nan: float, top: float, low: float) -> np.ndarray:
    T = input.dtype.type
    with ignoring():
        result = np.where(np.isnan(input), T(nan), input)
        result = np.where(input == np.inf, T(top), result)
        return np.where(input == -np.inf, T(low), result)


@cache
def _top(kind: Kind) -> float:
    return float(ml_dtypes.finfo(kind.np).max)


_TOP = {"f": float(np.finfo(np.float32).max), "d": float(np.finfo(np.float64).max)}


@op("nan_to_num(Tensor input, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", family="unary", result="same",
    quiet="all", inplace=True,
    dtypes="float int bool half", complex="no gradient")
class nan_to_num:
    """NaN and infinities replaced, by default by zero and by the extremes of the dtype.

    >>> torch.nan_to_num(torch.tensor([float('nan'), 1.]))
    tensor([0., 1.])
    """

    keeps = "Q_INTEGER"
    changes = {0: Alone(FINITE, lambda kind, nan, posinf, neginf: (
        -_top(kind) if neginf is None else rounded(neginf, kind), _top(kind) if posinf is None else rounded(posinf, kind),
        rounded(0.0 if nan is None else nan, kind)))}
    lacks = {"float8 chalf": "nan_to_num"}
    out_dtype = OutRule("nan_to_num: dtype of out: {found} should be same as input: {wanted}")
    sparse = "in order"
    def numpy(input, nan, posinf, neginf):
        if input.dtype.kind in "biu":
            return copy_like(input)
        if (char := input.dtype.char) == "f" or char == "d":
            top = _TOP[char]
            return _without_nan(input, 0.0 if nan is None else nan, top if posinf is None else posinf, -top if neginf is None else neginf)
        if input.dtype.kind != "c":
            top = float(ml_dtypes.finfo(input.dtype).max)
            number = lambda n: number_array(n, DType.by_np[input.dtype])  # bfloat16 has no common dtype with a Python number
            result = np.where(np.isnan(input), number(0.0 if nan is None else nan), input)
            result = np.where(input == np.inf, number(top if posinf is None else posinf), result)
            return np.where(input == -np.inf, number(-top if neginf is None else neginf), result).astype(input.dtype)
        return np.nan_to_num(input, True, 0.0 if nan is None else nan, posinf, neginf)  # complex: part by part

    def compose(F, input, nan, posinf, neginf):
        if input.dtype.kind != "f":
            return input + 0 if input.dtype.kind != "b" else input | input
        top = float(np.finfo(input.dtype).max)
        input = F.where(F.isnan(input), 0.0 if nan is None else nan, input)
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


@op("heaviside(Tensor input, Tensor values) -> Tensor", family="binary", promotion="promote", result="same", quiet="all",
    broadcasts=True, inplace=True, node="NotImplemented",
    dtypes="float int half", complex="RuntimeError: heaviside is not yet implemented for complex tensors.")
class heaviside:
    """0 below zero, 1 above, `values` at zero.

    >>> torch.heaviside(torch.tensor([-1., 0., 2.]), torch.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    lacks = {"uint float8": "heaviside_cpu"}
    out_dtype = OutRule("heaviside is not yet implemented for tensors with different dtypes.")
    ufunc = np.heaviside
    @pairwise("heaviside", "fdeEl")
    def numpy(input, values):
        if input.dtype.char == "?" == values.dtype.char:
            return np.logical_or(input, values)
        return np.where(input == 0, values, (input > 0).astype(input.dtype))  # 0 for NaN, as in torch

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
