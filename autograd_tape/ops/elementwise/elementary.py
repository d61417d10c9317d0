"""Elementary functions: roots, exponentials, logarithms, trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

import math

import numpy as np

from ...executors.kernels._common import MULTIPLIED, ROOTED
from ...executors.kernels._in_place import ROOT_INVERTED
from ...executors.kernels.changes import Alone, Change
from ...executors.kernels import elementwise as fused
from ...executors.kernels._on_demand import HAS_VECTORS, is_half, state
from ...executors.kernels.elementwise import one_pass, one_pass_vjp
from ...executors.kernels.formulas import exp as exp_, few, log10 as log10_, sin as sin_, unary, up_to
from ...executors.kernels.halves import by_element, narrow, single, ufunc as on_halves, widened
from ...executors.kernels.pairs import FEW, gives_many, halved, pairwise, ufunc2
from ...functions.constants import BLOCKS, ONE, SMALL, block
from ...functions.out import castable, OutRule
from ...dtypes import BOOL
from ...functions.refusals import no_kernel, subtracted
from ...record import op
from ...tensor import TensorRef
from .._precision import in_single, reciprocal_root
from .._samples import domain, pairs, takes
from . import _double as double
from . import _elementary as elementary
from ._double import sin as sin_double
from ._single import LARGEST, to_single
from ._single import sin as sin_single
from .arithmetic import is_complex
from ...annotations import Fn, Functions, Values
from ...warned import ignoring

_LN2, _LN10 = math.log(2), math.log(10)


def _tanh(input: np.ndarray) -> np.ndarray:
    return np.tanh(input) if input.size < state.cheap or input.dtype.kind == "c" else fused.tanh(input)


def _tanh_over(input: np.ndarray) -> bool:
    """Writes what NumPy gives for few numbers over them; whether it did."""
    if input.size >= state.cheap:
        return False
    np.tanh(input, input)
    return True


_tanh.over = _tanh_over  # type: ignore[attr-defined]
_ndarray = np.ndarray
_reciprocal, _add, _subtract, _exp, _negative = np.reciprocal, np.add, np.subtract, np.exp, np.negative


_few_sigmoids = unary(lambda x: 1.0 / (1.0 + exp_(-x)))


def _sigmoid(input: np.ndarray) -> np.ndarray:
    if input.size >= state.fused and input.dtype.kind != "c":
        return fused.sigmoid(input)
    if (not input.shape or input.dtype.char == "d") and input.size <= SMALL and input.dtype.char in "fd":
        return _few_sigmoids(input)
    return _sigmoid_in_passes(input)


def _sigmoid_over(input: np.ndarray) -> bool:
    """Writes what NumPy's passes give for few numbers over them; whether it did."""
    char = input.dtype.char
    if input.size >= state.fused or char != "f" and (char != "d" or input.size <= SMALL) or not input.shape:
        return False
    _negative(input, input)
    _exp(input, input)
    _reciprocal(_add(input, ONE[char], input), input)
    return True


_sigmoid.over = _sigmoid_over  # type: ignore[attr-defined]


def _sigmoid_in_passes(input: np.ndarray) -> np.ndarray:
    try:
        one = BLOCKS[input.shape]
    except KeyError:
        one = block(input.shape)
    if one is not None:
        y = _negative(input)
        _exp(y, y)
        return _reciprocal(_add(y, one, y), y)
    y = _negative(input)
    if y.__class__ is not _ndarray:
        return _reciprocal(_add(_exp(y), 1))
    _exp(y, y)
    return _reciprocal(_add(y, ONE.get(y.dtype.char, 1), y), y)


def _by_single(kernel: Fn) -> Fn:
    """The kernel of half precision of one whose few numbers go another way, which tables must not know."""
    @by_element
    def half(input: np.ndarray) -> np.ndarray:
        found = single(kernel, input)
        return narrow(kernel(widened(input)), input.dtype) if found is None else found

    return half


# -- roots, exponentials, logarithms ----------------------------------------------------------------------------------


@op("sqrt(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, dtypes="float int half")
class sqrt:
    """The square root.

    >>> torch.sqrt(torch.tensor([1., 4.]))
    tensor([1., 2.])
    """

    changes = {0: Change(ROOTED)}
    lacks = {"float8 chalf": "sqrt_vml_cpu"}
    sparse = "in order"
    numpy = np.sqrt
    mindspore = "ops.Sqrt"
    def vjp(F, grad, result): return grad / (result * 2)
    samples = domain(0.5, 2)


@one_pass("rsqrt", exact=True)
def _one_over_root(input: np.ndarray) -> np.ndarray:
    return np.reciprocal(np.sqrt(input))


@op("rsqrt(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, dtypes="float int half")
class rsqrt:
    """1 / sqrt(input).

    >>> torch.rsqrt(torch.tensor([1., 4.]))
    tensor([1.0000, 0.5000])
    """

    changes = {0: Alone(ROOT_INVERTED, chars="fd")}  # half precision is rounded twice, in places
    lacks = {"float8 chalf": "rsqrt_cpu"}
    def numpy(input): return _one_over_root(input)
    half = reciprocal_root
    mindspore = "ops.Rsqrt"
    def vjp(F, grad, result): return grad * -0.5 * F.pow(result, 3)
    samples = domain(0.5, 2)


@op("exp(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, dtypes="float int half")
class exp:
    """e to the power of each element.

    >>> torch.exp(torch.tensor([0., 1.]))
    tensor([1.0000, 2.7183])
    """

    lacks = {"float8 chalf": "exp_vml_cpu"}
    numpy = np.exp
    many = elementary.exponentials
    mindspore = "ops.Exp"
    def vjp(F, grad, result): return grad * result
    samples = domain(-2, 2)

    def errors(rng):
        yield ("a",), TypeError, "exp(): argument 'input' (position 1) must be Tensor, not str"


@op("exp2(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="special.exp2",
    dtypes="float int half")
class exp2:
    """2 to the power of each element.

    >>> torch.exp2(torch.tensor([0., 3.]))
    tensor([1., 8.])
    """

    lacks = {"float8 chalf": "exp2"}
    scipy = "exp2"
    numpy = np.exp2
    many = elementary.powers_of_2
    def compose(F, input): return F.exp(input * _LN2)
    def vjp(F, grad, result): return grad * result * _LN2
    samples = domain(-2, 2)


@op("expm1(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="special.expm1",
    dtypes="float int half")
class expm1:
    """exp(input) - 1, accurate near zero.

    >>> torch.expm1(torch.tensor([0., 1.]))
    tensor([0.0000, 1.7183])
    """

    lacks = {"float8 chalf": "expm1_vml_cpu"}
    scipy = "expm1"
    sparse = "in order"
    numpy = np.expm1
    many = elementary.exponentials_less_1
    def compose(F, input):  # Kahan's: the rounding of exp cancels
        u = F.exp(input)
        v, w = u - 1, F.log(u)
        return F.where(F.logical_or(F.eq(w, 0), F.eq(v, 0)), input, F.where(F.logical_and(F.isfinite(u), v > -0.9), v * (input / w), v))
    def vjp(F, grad, result): return grad * (result + 1)
    samples = domain(-2, 2)


@op("log(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, dtypes="float int half")
class log:
    """The natural logarithm.

    >>> torch.log(torch.tensor([1., 10.]))
    tensor([0.0000, 2.3026])
    """

    lacks = {"float8 chalf": "log_vml_cpu"}
    numpy = np.log
    many = elementary.logarithms
    mindspore = "ops.Log"
    def vjp(F, grad, input): return grad / input
    samples = domain(0.5, 2)


@op("log2(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, dtypes="float int half")
class log2:
    """The logarithm to the base 2.

    >>> torch.log2(torch.tensor([1., 8.]))
    tensor([0., 3.])
    """

    lacks = {"float8 chalf": "log2_vml_cpu"}
    numpy = np.log2
    many = elementary.logarithms_2
    def compose(F, input): return F.log(input) / _LN2
    def vjp(F, grad, input): return grad / (input * _LN2)
    samples = domain(0.5, 2)


def _log10(input: np.ndarray) -> np.ndarray:
    if input.size >= state.fused and input.dtype.char in "fd":
        return elementary.logarithms_10(input)
    # Vectorized float32 logarithms of NumPy miss whole powers of ten by an ulp on some machines; torch's do not.
    return np.log10(input, dtype=np.float64).astype(np.float32) if input.dtype.char == "f" else np.log10(input)


def _log10_of(x: float) -> float:
    return log10_(x)


@op("log10(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, dtypes="float int half")
class log10:
    """The logarithm to the base 10.

    >>> torch.log10(torch.tensor([1., 1000.]))
    tensor([0., 3.])
    """

    lacks = {"float8 chalf": "log10_vml_cpu"}
    ufunc = np.log10
    numpy = few(_log10_of)(_log10)
    half = _by_single(_log10)
    def compose(F, input): return F.log(input) / _LN10
    def vjp(F, grad, input): return grad / (input * _LN10)
    samples = domain(0.5, 2)


@op("log1p(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="special.log1p",
    dtypes="float int half")
class log1p:
    """log(1 + input), accurate near zero.

    >>> torch.log1p(torch.tensor([0., 1.]))
    tensor([0.0000, 0.6931])
    """

    lacks = {"float8 chalf": "log1p_vml_cpu"}
    scipy = "log1p"
    sparse = "in order"
    numpy = np.log1p
    many = elementary.logarithms_of_1_more
    def compose(F, input):  # Kahan's: the rounding of 1 + input cancels
        u = input + 1
        v = u - 1
        return F.where(F.eq(v, 0), input, F.where(F.isfinite(u), F.log(u) * (input / v), F.log(u)))
    def vjp(F, grad, input): return grad / (input + 1)
    samples = domain(-0.5, 2)


@op("logaddexp(Tensor input, Tensor other) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True,
    dtypes="float half")
class logaddexp:
    """log(exp(input) + exp(other)) without overflow.

    >>> torch.logaddexp(torch.tensor([0., 100.]), torch.tensor([0., 100.]))
    tensor([  0.6931, 100.6931])
    """

    lacks = {"float8": "logaddexp_cpu"}
    ufunc = np.logaddexp
    numpy = pairwise("logaddexp", exact=False)(ufunc)
    def compose(F, input, other):
        gap = F.where(F.eq(input, other), 0, F.abs(input - other))  # infinities of one sign are no distance apart
        return F.maximum(input, other) + F.log1p(F.exp(-gap))
    def redirect(input, other):
        return ("logaddexp_complex", (input, other)) if any(isinstance(x, TensorRef) and is_complex(x) for x in (input, other)) else None

    check = takes("float", "logaddexp_cpu", subtracted)
    def vjp_input(F, grad, input, other): return grad / (1 + F.exp(other - input))
    def vjp_other(F, grad, input, other): return grad / (1 + F.exp(input - other))
    samples = pairs()

    def errors(rng):
        yield (np.array([1]), np.array([1])), NotImplementedError, "\"logaddexp_cpu\" not implemented for 'Long'"


@op("logaddexp_complex(Tensor input, Tensor other) -> Tensor", namespace="_internal", method=False)
class logaddexp_complex:
    """`logaddexp` of complex numbers, computed from the one with the greater real part."""

    def function(F, input, other):
        swap = F.real(input) < F.real(other)
        high, low = F.where(swap, other, input), F.where(swap, input, other)
        return high + F.log(F.exp(low - high) + 1)

    def samples(rng):
        z = rng.standard_normal((2, 2, 3)) + 1j * rng.standard_normal((2, 2, 3))
        yield z[0], z[1]


@op("logaddexp2(Tensor input, Tensor other) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True,
    dtypes="float half", complex="logaddexp2_cpu")
class logaddexp2:
    """log2(2 ** input + 2 ** other) without overflow.

    >>> torch.logaddexp2(torch.tensor([0., 3.]), torch.tensor([0., 3.]))
    tensor([1., 4.])
    """

    lacks = {"float8": "logaddexp2_cpu"}
    complex_on_meta = "RuntimeError: logaddexp2 doesn't support complex dtypes"
    ufunc = np.logaddexp2
    numpy = pairwise("logaddexp2", exact=False)(ufunc)
    def compose(F, input, other):
        gap = F.where(F.eq(input, other), 0, F.abs(input - other))
        return F.maximum(input, other) + F.log1p(F.exp2(-gap)) / _LN2
    check = takes("float complex", "logaddexp2_cpu", subtracted)
    @in_single(steps=True)
    def vjp_input(F, grad, input, other): return grad / (1 + F.exp2(other - input))
    @in_single(steps=True)
    def vjp_other(F, grad, input, other): return grad / (1 + F.exp2(input - other))
    samples = pairs()


def _ldexp(input: np.ndarray, other: np.ndarray) -> np.ndarray:
    other = np.asarray(other)
    if is_half(other.dtype):
        return halved(np.multiply, np.asarray(input), np.asarray(on_halves(np.exp2, other)))
    # Few powers as torch's, by the C library, many by NumPy's vectors, as near to those of torch's.
    powers = np.power(other.dtype.type(2), other) if other.size < 16 else np.exp2(other)
    return np.multiply(input, powers) if input.size < FEW else ufunc2(np.multiply, input, np.asarray(powers))


@op("ldexp(Tensor input, Tensor other) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True, inplace=True,
    dtypes="float int half")
class ldexp:
    """input * 2 ** other.

    >>> torch.ldexp(torch.tensor([1., 2.]), torch.tensor([3, -1]))
    tensor([8., 1.])
    """

    lacks = {"float8 chalf": "pow"}
    out_dtype = OutRule("ldexp can't be cast to the desired output type {found}", castable)
    ufunc = np.ldexp
    def check(input, other):
        if other._k.dtype.category == BOOL and input._k.dtype.is_floating_point:
            no_kernel("ldexp_cpu_exp", other)

    numpy = half = _ldexp
    def compose(F, input, other): return input * 2 ** other
    def vjp_input(F, grad, other): return grad * F.pow(2.0, other)
    @in_single(steps=True)
    def vjp_other(F, grad, result): return grad * result * _LN2
    samples = pairs()


# -- trigonometry -------------------------------------------------------------------------------------------------------


@op("sin(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, dtypes="float int half")
class sin:
    """The sine.

    >>> torch.sin(torch.tensor([0., 1.]))
    tensor([0.0000, 0.8415])
    """

    lacks = {"float8 chalf": "sin_vml_cpu"}
    sparse = "in order"
    numpy = np.sin
    many = double.sines
    mindspore = "ops.Sin"
    def vjp(F, grad, input): return grad * F.cos(input)
    samples = domain(-2, 2)


@op("cos(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, dtypes="float int half")
class cos:
    """The cosine.

    >>> torch.cos(torch.tensor([0., 1.]))
    tensor([1.0000, 0.5403])
    """

    lacks = {"float8 chalf": "cos_vml_cpu"}
    numpy = np.cos
    many = double.cosines
    mindspore = "ops.Cos"
    def vjp(F, grad, input): return grad * -F.sin(input)
    samples = domain(-2, 2)


@op("tan(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, dtypes="float int half")
class tan:
    """The tangent.

    >>> torch.tan(torch.tensor([0., 1.]))
    tensor([0.0000, 1.5574])
    """

    lacks = {"float8 chalf": "tan_vml_cpu"}
    sparse = "in order"
    numpy = np.tan
    many = elementary.tangents
    mindspore = "ops.Tan"
    def vjp(F, grad, result): return grad * (result * result + 1)
    samples = domain(-1, 1)


@op("asin(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="arcsin", dtypes="float int half")
class asin:
    """The inverse sine; NaN outside [-1, 1].

    >>> torch.asin(torch.tensor([0., 1.]))
    tensor([0.0000, 1.5708])
    """

    lacks = {"float8 chalf": "asin_vml_cpu"}
    sparse = "in order"
    numpy = np.arcsin
    many = elementary.inverse_sines
    mindspore = "ops.Asin"
    def vjp(F, grad, input): return grad * F.rsqrt(1 - input * input)
    samples = domain(-0.8, 0.8)


@op("acos(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="arccos", dtypes="float int half")
class acos:
    """The inverse cosine; NaN outside [-1, 1].

    >>> torch.acos(torch.tensor([0., 1.]))
    tensor([1.5708, 0.0000])
    """

    lacks = {"float8 chalf": "acos_vml_cpu"}
    numpy = np.arccos
    many = elementary.inverse_cosines
    mindspore = "ops.ACos"
    def vjp(F, grad, input): return grad * -F.rsqrt(1 - input * input)
    samples = domain(-0.8, 0.8)


@op("atan(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="arctan", dtypes="float int half")
class atan:
    """The inverse tangent.

    >>> torch.atan(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7854])
    """

    lacks = {"float8 chalf": "atan_vml_cpu"}
    sparse = "in order"
    numpy = np.arctan
    many = elementary.inverse_tangents
    mindspore = "ops.Atan"
    def vjp(F, grad, input): return grad / (input * input + 1)
    samples = domain(-2, 2)


@in_single(steps=True)
def _atan2_rate(F: Functions, grad: Values, numerator: Values, input: Values, other: Values) -> Values:
    square = input * input + other * other
    return F.masked_fill(grad * numerator * F.reciprocal(square), square == 0, 0)


_TINY = float(np.finfo(np.float32).tiny)
_LOOKED = 32
"""Numbers of many that are looked at before all are."""
_MANY = 2048


def _has_denormals(x: np.ndarray) -> bool:
    """Whether more than one of some of many numbers of single precision is denormal."""
    some = np.abs(x.ravel("K")[:: x.size // _LOOKED])
    return int(np.count_nonzero(some < _TINY) + np.count_nonzero(some)) > some.size + 1


def _atan2(input: np.ndarray, other: np.ndarray) -> np.ndarray:
    char = input.dtype.char
    if HAS_VECTORS:
        if input.size < _MANY and other.size < _MANY:
            return np.arctan2(input, other)
        if char == "f" and other.dtype is input.dtype and input.flags.forc and input.size >= _MANY and _has_denormals(input):
            # There come to rest those that are changed in place again and again, and NumPy's vectors leave them to a function that takes
            # ten times as long. Points that are further away by a power of two have the same angles, but not all are rounded alike that
            # are not near an axis.
            scale = np.where((np.abs(input) < _TINY) & (np.abs(other) > _TINY * 2.0**40), np.float32(2.0**64), np.float32(1))
            with ignoring():
                input, other = input * scale, other * scale
    elif char in "fd" and other.dtype is input.dtype and gives_many(input, other):
        return elementary.angles(input, other)
    return ufunc2(np.arctan2, input, other)


@op("atan2(Tensor input, Tensor other) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True, inplace=True,
    alias="arctan2", dtypes="float int half", complex="atan2_cpu")
class atan2:
    """The angle of the point (other, input), in (-pi, pi].

    >>> torch.atan2(torch.tensor([1., -1.]), torch.tensor([1., -1.]))
    tensor([ 0.7854, -2.3562])
    """

    lacks = {"float8": "atan2_cpu"}
    ufunc = np.arctan2
    numpy = _atan2
    mindspore = "ops.Atan2"
    def vjp_input(F, grad, input, other): return _atan2_rate(F, grad, other, input, other)
    def vjp_other(F, grad, input, other): return _atan2_rate(F, grad, -input, input, other)
    no_vmap_ = "shape"
    samples = pairs(0.5, 2)

    def errors(rng):
        yield (np.ones(2), 2.0), TypeError, "atan2(): argument 'other' (position 2) must be Tensor, not float"


@pairwise("hypot", "feE")
def _hypot(input: np.ndarray, other: np.ndarray) -> np.ndarray:
    if input.dtype.char == "d" and other.dtype is input.dtype and gives_many(input, other):
        return double.lengths(input, other)
    return np.hypot(input, other)


@op("hypot(Tensor input, Tensor other) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True, inplace=True,
    dtypes="float half", complex="hypot_cpu")
class hypot:
    """sqrt(input**2 + other**2) without overflow.

    >>> torch.hypot(torch.tensor([3.]), torch.tensor([4.]))
    tensor([5.])
    """

    lacks = {"float8": "hypot_cpu"}
    ufunc = np.hypot
    numpy = _hypot
    mindspore = "ops.Hypot"
    def compose(F, input, other): return F.sqrt(input * input + other * other)
    check = takes("float complex", "hypot_cpu")
    def vjp_input(F, grad, input, result): return grad * input / result
    def vjp_other(F, grad, other, result): return grad * other / result
    samples = pairs(0.5, 2)

    def errors(rng):
        yield (np.array([1]), np.array([1])), NotImplementedError, "\"hypot_cpu\" not implemented for 'Long'"


def _sinc_of(x: float) -> float:
    y = x * math.pi
    return sin_(y) / y if y != 0.0 else 1.0


def _sinc_near(x: float) -> float:
    y = x * math.pi
    value = sin_double(y) / (y if y != 0.0 else 1.0)
    return value if y != 0.0 else 1.0


_PI_SINGLE = float(np.float32(math.pi))
_LARGEST_SINGLE = float(np.finfo(np.float32).max)


def sinc_in_steps(x: float) -> float:
    """Of single precision, in steps that are rounded, as torch's."""
    y = to_single(x * _PI_SINGLE)
    value = to_single(sin_single(y)) / (y if y != 0.0 else 1.0)
    return value if y != 0.0 else 1.0


def _sinc_far(x: float) -> float:
    y = to_single(x * _PI_SINGLE)
    return math.nan if abs(y) > _LARGEST_SINGLE else to_single(sin_(y)) / y  # where the product is infinite


_SINC_OF_SINGLE = up_to(LARGEST / 4, sinc_in_steps, _sinc_far)
_sinc_of_many = unary(up_to(double.LARGEST / 4, _sinc_near, _sinc_of), single=_SINC_OF_SINGLE)


def _sinc(input: np.ndarray) -> np.ndarray:
    if input.size >= state.fused and input.dtype.char in "fd":
        return _sinc_of_many(input)
    x = input * np.pi
    if x.__class__ is np.ndarray and x.dtype.kind == "f":
        with ignoring():
            found = np.divide(np.sin(x), x)
        np.copyto(found, 1, where=np.equal(x, 0))
        return found
    return np.where(x == 0, 1, np.sin(x) / np.where(x == 0, 1, x))


@op("sinc(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="special.sinc",
    dtypes="float int half")
class sinc:
    """sin(pi x) / (pi x), and 1 at zero.

    >>> torch.sinc(torch.tensor([0., 0.5]))
    tensor([1.0000, 0.6366])
    """

    lacks = {"float8 chalf": "sinc_cpu"}
    numpy = few(_sinc_of, single=_SINC_OF_SINGLE)(_sinc)
    half = _by_single(_sinc)
    mindspore = "ops.Sinc"

    def vjp(F, grad, input):
        x = input * math.pi
        square = input * input * math.pi
        return F.masked_fill(grad * ((x * F.cos(x) - F.sin(x)) / square), square == 0, 0)

    samples = domain(0.2, 2)


@op("deg2rad(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, dtypes="float int half",
    complex="RuntimeError: deg2rad is not supported for complex tensors.")
class deg2rad:
    """Degrees as radians.

    >>> torch.deg2rad(torch.tensor([180., 90.]))
    tensor([3.1416, 1.5708])
    """

    lacks = {"float8": "mul_cpu_reduced_float"}
    complex_on_meta = True
    ufunc = (np.deg2rad, np.radians)
    sparse = "in order"
    changes = {0: Change(MULTIPLIED, lambda value, kind: math.pi / 180)}
    def numpy(input): return input * input.dtype.type(math.pi / 180)
    def compose(F, input): return input * (math.pi / 180)
    def vjp(F, grad): return grad * (math.pi / 180)
    samples = domain(-180, 180)


@op("rad2deg(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, dtypes="float int half",
    complex="RuntimeError: rad2deg is not supported for complex tensors.")
class rad2deg:
    """Radians as degrees.

    >>> torch.rad2deg(torch.tensor([1.]))
    tensor([57.2958])
    """

    lacks = {"float8": "mul_cpu_reduced_float"}
    complex_on_meta = True
    ufunc = (np.rad2deg, np.degrees)
    sparse = "in order"
    changes = {0: Change(MULTIPLIED, lambda value, kind: 180 / math.pi)}
    def numpy(input): return input * input.dtype.type(180 / math.pi)
    def compose(F, input): return input * (180 / math.pi)
    def vjp(F, grad): return grad * (180 / math.pi)
    samples = domain(-2, 2)


# -- hyperbolic functions -----------------------------------------------------------------------------------------------


@op("sinh(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, dtypes="float int half")
class sinh:
    """The hyperbolic sine.

    >>> torch.sinh(torch.tensor([0., 1.]))
    tensor([0.0000, 1.1752])
    """

    lacks = {"float8 chalf": "sinh_cpu"}
    sparse = "in order"
    numpy = np.sinh
    many = elementary.hyperbolic_sines
    mindspore = "ops.Sinh"
    def vjp(F, grad, input): return grad * F.cosh(input)
    samples = domain(-2, 2)


@op("cosh(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, dtypes="float int half")
class cosh:
    """The hyperbolic cosine.

    >>> torch.cosh(torch.tensor([0., 1.]))
    tensor([1.0000, 1.5431])
    """

    lacks = {"float8 chalf": "cosh_cpu"}
    numpy = np.cosh
    many = elementary.hyperbolic_cosines
    mindspore = "ops.Cosh"
    def vjp(F, grad, input): return grad * F.sinh(input)
    samples = domain(-2, 2)


@op("tanh(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="nn.functional.tanh",
    dtypes="float int half")
class tanh:
    """The hyperbolic tangent.

    >>> torch.tanh(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7616])
    """

    lacks = {"float8 chalf": "tanh_vml_cpu"}
    ufunc = np.tanh
    sparse = "in order"
    numpy = _tanh
    def compose(F, input):  # MindSpore's Tanh is off by 1e-4
        e = F.expm1(F.abs(input) * -2)
        return F.sign(input) * (-e / (e + 2))

    def vjp(F, grad, result): return F.tanh_backward(grad, result)
    samples = domain(-2, 2)


def _tanh_backward(grad: np.ndarray, result: np.ndarray) -> np.ndarray:
    if result.size < state.cheap or result.dtype.kind == "c":
        return grad * (1 - result * result)
    return fused.tanh_backward(grad, result)


@op("tanh_backward(Tensor grad_output, Tensor result) -> Tensor", family="binary", promotion="promote", result="same", method=False,
    namespace="_internal", out=False)
class tanh_backward:
    """The gradient of tanh, from its result."""

    saved_as = {"grad_output": "grad_output", "result": "output"}
    numpy = _tanh_backward
    def compose(F, grad_output, result): return grad_output * (1 - result * result)
    def vjp_grad_output(F, grad, result): return F.tanh_backward(grad, result)
    def vjp_result(F, grad, grad_output, result): return grad * grad_output * (result * -2)
    def samples(rng): yield rng.standard_normal((2, 3)), rng.uniform(-0.9, 0.9, (2, 3))


@op("sigmoid(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True,
    alias=("special.expit", "nn.functional.sigmoid"), dtypes="float int half")
class sigmoid:
    """1 / (1 + exp(-input)).

    >>> torch.sigmoid(torch.tensor([0., 1.]))
    tensor([0.5000, 0.7311])
    """

    lacks = {"float8": "sigmoid_cpu_reduced_float", "chalf": "sigmoid_cpu"}
    scipy = "expit"
    numpy, half = _sigmoid, _by_single(_sigmoid)
    mindspore = "ops.Sigmoid"
    def vjp(F, grad, result): return F.sigmoid_backward(grad, result)
    samples = domain(-2, 2)


def _steps(grad: np.ndarray, result: np.ndarray) -> np.ndarray:
    rest = _subtract(ONE.get(result.dtype.char, 1), result)
    return grad * rest * result


_SOME = 512  # numbers from which on one pass takes less than three, and the way to it
_in_one_pass = one_pass_vjp("sigmoid_backward", exact=True)(lambda grad, result: _steps(grad, result))


def _sigmoid_backward(grad: np.ndarray, result: np.ndarray) -> np.ndarray:
    found: np.ndarray = _in_one_pass(grad, result) if result.size >= _SOME else _steps(grad, result)
    return found


def _sigmoid_backward_half(grad: np.ndarray, result: np.ndarray) -> np.ndarray:
    """In steps that are rounded for float16, in float32 for bfloat16, as torch."""
    return _steps(grad, result) if result.dtype.char == "e" else np.asarray(_in_one_pass(grad, result))


@op("sigmoid_backward(Tensor grad_output, Tensor result) -> Tensor", family="binary", promotion="promote", result="same", method=False,
    namespace="_internal", out=False)
class sigmoid_backward:
    """The gradient of sigmoid, from its result."""

    numpy = _sigmoid_backward
    half = _sigmoid_backward_half
    def compose(F, grad_output, result): return grad_output * (1 - result) * result
    def vjp_grad_output(F, grad, result): return F.sigmoid_backward(grad, result)
    def vjp_result(F, grad, grad_output, result): return grad * grad_output * (1 - result * 2)
    def samples(rng): yield rng.standard_normal((2, 3)), rng.uniform(0.1, 0.9, (2, 3))


@op("asinh(Tensor input) -> Tensor", family="unary", promotion="float", result="same",
    inplace=True, alias="arcsinh", dtypes="float int half")
class asinh:
    """The inverse hyperbolic sine.

    >>> torch.asinh(torch.tensor([0., 1.]))
    tensor([0.0000, 0.8814])
    """

    lacks = {"float8 chalf": "asinh_cpu"}
    node_, no_derivative_ = "AsinhBackward1", True
    sparse = "in order"
    numpy = np.arcsinh
    many = elementary.inverse_hyperbolic_sines
    mindspore = "ops.Asinh"
    def vjp(F, grad, input): return grad * F.rsqrt(input * input + 1)
    samples = domain(-2, 2)


@op("acosh(Tensor input) -> Tensor", family="unary", promotion="float", result="same",
    inplace=True, alias="arccosh", dtypes="float int half")
class acosh:
    """The inverse hyperbolic cosine; NaN below 1.

    >>> torch.acosh(torch.tensor([1., 2.]))
    tensor([0.0000, 1.3170])
    """

    lacks = {"float8 chalf": "acosh_cpu"}
    node_, no_derivative_ = "AcoshBackward1", True
    numpy = np.arccosh
    many = elementary.inverse_hyperbolic_cosines
    mindspore = "ops.Acosh"
    def vjp(F, grad, input):
        if is_complex(input):  # in two roots: one of the product is on the wrong branch left of the imaginary axis
            return grad * (F.rsqrt(input - 1) * F.rsqrt(input + 1))
        return grad * F.rsqrt(input * input - 1)

    samples = domain(1.5, 3)


@op("atanh(Tensor input) -> Tensor", family="unary", promotion="float", result="same",
    inplace=True, alias="arctanh", dtypes="float int half")
class atanh:
    """The inverse hyperbolic tangent; NaN outside [-1, 1].

    >>> torch.atanh(torch.tensor([0., 0.5]))
    tensor([0.0000, 0.5493])
    """

    lacks = {"float8 chalf": "atanh_cpu"}
    node_, no_derivative_ = "AtanhBackward1", True
    sparse = "in order"
    numpy = np.arctanh
    many = elementary.inverse_hyperbolic_tangents
    mindspore = "ops.Atanh"
    def vjp(F, grad, input): return grad / (1 - input * input)
    samples = domain(-0.8, 0.8)
