"""Element-wise arithmetic: sums and products, division and remainders, powers."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from ...dtypes import BOOL, COMPLEX, FLOATING, INTEGER, SCALAR_TYPE_NAMES, DType, c_name, complex128, float64, result_dtype
from ...errors import AutogradError, UnsupportedDTypeError
from ...executors.kernels._common import DIVIDED, INVERTED, MAGNITUDE, MORE, MULTIPLIED, NEGATED, OVER, RAISED, SIGNED, TIMES
from ...executors.kernels import _in_place, integers
from ...executors.kernels.changes import Alone, ByNumber, Change, by_two, lowered, rounded
from ...executors.kernels._on_demand import HAS_VECTORS, is_half
from ...executors.kernels.elementwise import one_pass
from ...executors.kernels.halves import ufunc
from ...executors.kernels.handy import Exact
from ...executors.kernels.pairs import FEW, Pairs, gives_many, halved, pairwise, ufunc2
from ...executors.kernels.sharing import BIG, fill
from ...executors.kernels.triples import BETWEEN, PRODUCT, QUOTIENT, SCALED, WEIGHED, of_halves, triple
from ...executors.numpy import narrow, widened
from ...functions.constants import typed
from ...functions.out import FOUND, OutRule
from ...functions.overloads import EITHER_NUMBER_WITHOUT_OUT, POWER, TENSOR_OR_NUMBER, no_match
from ...functions.refusals import on_meta
from ...record import no_derivative, op
from ...strided import copy_like, empty_in_order
from ...tensor import TensorRef
from .. import _mindspore as kernels
from .._host import on_host
from .._precision import reciprocal_root
from .._samples import beside_number, category, check_factor, check_number, domain, pairs, scalar_like, takes, takes_floats, zero_divisor
from . import _elementary as elementary
from ...annotations import Fn, Functions, Values
from ...warned import ignoring

_SIZES = "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"


def broadcast_shapes(*shapes: object) -> tuple[int, ...]:
    """A `shape` field for operations whose tensors broadcast; numbers and None among the arguments are passed over."""
    return np.broadcast_shapes(*[s for s in shapes if isinstance(s, tuple)])


def is_complex(x: Values) -> bool:
    """Whether a tensor, buffer or number is complex."""
    return (x._k.np if isinstance(x, TensorRef) else x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype).kind == "c"


def _zeros(input: np.ndarray) -> np.ndarray:
    """Rows of zeros are the system's; like others NumPy makes them number by number."""
    return np.zeros(input.shape, input.dtype) if input.flags.c_contiguous else np.zeros_like(input)


_zeros.simple = True  # type: ignore[attr-defined]


@op("zero_gradient(Tensor input) -> Tensor", family="unary", result="same", quiet="all", method=False, namespace="_internal", out=False)
class zero_gradient:
    """Zeros in place of a cotangent: the gradient of a function that is constant almost everywhere. They have no history, as in torch."""

    numpy = _zeros
    mindspore = "ops.ZerosLike"
    samples = domain(-2, 2)


# -- sums and products ----------------------------------------------------------------------------------------------


def _check_alpha(input: TensorRef, other: float | TensorRef, alpha: float = 1) -> None:
    highest = max(category(input), category(other))
    check_factor("alpha", alpha, highest)
    if isinstance(alpha, complex) and highest < COMPLEX:
        raise AutogradError("For non-complex input tensors, argument alpha must not be a complex number.", remedy="pass a real number")
    if highest == INTEGER and not -127 <= alpha <= 127 and not on_meta(input, other):
        given = (input, other)
        check_number(alpha, result_dtype([(x._k.dtype, x.ndim) for x in given if isinstance(x, TensorRef)],
                                         [x for x in given if not isinstance(x, TensorRef)]))


def _check_value(input: TensorRef, value: float) -> None:
    if input.dtype.category == FLOATING:
        check_number(value, input.dtype)


def _check_subtraction(input: TensorRef, other: TensorRef | float, alpha: float = 1) -> None:
    bools = [category(x) == BOOL for x in (input, other)]
    if all(bools):
        raise AutogradError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
                            "operator instead.")
    if any(bools) and not on_meta(input, other):
        raise AutogradError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use "
                            "the `~` or `logical_not()` operator instead.")
    _check_alpha(input, other, alpha)


@op("add(Operand input, Operand other, *, Scalar alpha=1) -> Tensor", family="binary", promotion="promote", result="same",
    quiet="all", broadcasts=True, inplace=True, dtypes="float int bool half")
class add:
    """input + alpha * other, element by element.

    >>> torch.add(torch.tensor([1., 2.]), torch.tensor([10., 20.]), alpha=2)
    tensor([21., 42.])
    """

    changes = {0: Change(RAISED, rounded), 1: Change(MORE, rounded)}
    lacks = {"uint float8": "add_stub"}
    deprecated = ("input alpha other",)
    numpy = np.add
    mindspore = "ops.Add"
    mindspore_takes = "complex"
    opmath = "alpha"
    check = _check_alpha
    def vjp_input(F, grad): return grad
    def vjp_other(F, grad, alpha): return grad if alpha == 1 else grad * typed(grad, alpha)
    aten = ".Tensor"
    no_vmap_ = "shape"
    samples = pairs(number=2.5)

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((2, 4))), RuntimeError, _SIZES
        yield (np.ones(2), "a"), TypeError, "add(): argument 'other' (position 2) must be Tensor, not str"


@op("sub(Operand input, Operand other, *, Scalar alpha=1) -> Tensor", family="binary", promotion="promote", result="same",
    quiet="all", broadcasts=True, inplace=True, alias="subtract", dtypes="float int half")
class sub:
    """input - alpha * other, element by element.

    >>> torch.sub(torch.tensor([1., 2.]), 3)
    tensor([-2., -1.])
    """

    changes = {0: Change(RAISED, lowered), 1: Change(MORE, lowered)}
    lacks = {"uint float8": "add_stub"}
    deprecated = ("input alpha other",)
    numpy = np.subtract
    mindspore = "ops.Sub"
    mindspore_takes = "complex"
    opmath = "alpha"
    check = _check_subtraction
    def vjp_input(F, grad): return grad
    def vjp_other(F, grad, alpha): return -grad if alpha == 1 else grad * typed(grad, -alpha)
    aten = ".Tensor"
    no_vmap_ = "arithmetic"
    samples = pairs(number=2.5)

    def errors(rng):
        yield (np.array([True]), np.array([True])), RuntimeError, (
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.")
        yield (np.array([True]), 1), RuntimeError, (
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
            "`logical_not()` operator instead.")


@op("rsub(Tensor input, Operand other, *, Scalar alpha=1) -> Tensor", family="generic", promotion="promote", result="same", quiet="all",
    broadcasts=True, method=False, out=False, dtypes="float int half")
class rsub:
    """other - alpha * input: what `2 - x` calls.

    >>> torch.rsub(torch.tensor([1., 2.]), 3)
    tensor([2., 1.])
    """

    lacks = {"uint float8": "add_stub"}
    saved_also = {"alpha": "1"}
    layout = "other input"
    overloads = ("Tensor input, Tensor other, *, Number alpha = 1", "Tensor input, Number other, Number alpha = 1")
    numbers = {"other": "RsubBackward1"}

    def numpy(input, other):
        if input.itemsize == 2:
            return halved(np.subtract, other, input)
        few = input.size < (FEW if other.ndim else BIG)  # of which a number makes no big result, and few numbers seldom
        return np.subtract(other, input) if few else ufunc2(np.subtract, other, input)

    def redirect(input, other, alpha): return None if alpha == 1 else ("rsub_scaled", (input, other, alpha))
    def mindspore(ms, input, other): return ms.ops.Sub()(other, input)
    check = _check_subtraction
    shape = broadcast_shapes
    def vjp_input(F, grad): return -grad
    def vjp_other(F, grad): return grad
    samples = pairs(number=2.5)


@op("rsub_scaled(Tensor input, Operand other, Any alpha) -> Tensor", promotion="promote", result="same", broadcasts=True, method=False,
    namespace="_internal", out=False, node="RsubBackward0", dtypes="float int half")
class rsub_scaled:
    """`rsub` with a factor other than 1."""

    layout = "other input"
    numbers = {"other": "RsubBackward1"}

    def numpy(input, other, alpha): return np.subtract(other, input * input.dtype.type(alpha))
    def compose(F, input, other, alpha): return other - input * alpha
    check = _check_subtraction
    shape = lambda input, other, alpha: broadcast_shapes(input, other)
    def vjp_input(F, grad, alpha): return grad * typed(grad, -alpha)
    def vjp_other(F, grad): return grad

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal(3), 2
        yield rng.standard_normal((2, 3)), 2.5, 3


@op("mul(Tensor input, Operand other) -> Tensor", family="binary", promotion="promote", result="same", quiet="all", broadcasts=True,
    inplace=True, alias="multiply", dtypes="float int bool half")
class mul:
    """input * other, element by element.

    >>> torch.mul(torch.tensor([1., 2.]), 3)
    tensor([3., 6.])
    """

    changes = {0: Change(MULTIPLIED), 1: Change(TIMES)}
    lacks = {"float8": beside_number("mul")}
    numpy = np.multiply
    mindspore = "ops.Mul"
    mindspore_takes = "complex"
    opmath = "number"
    def redirect(input, other): return ("mul", (other, input)) if isinstance(other, TensorRef) and scalar_like(input) else None
    def vjp_input(F, grad, other): return grad * other
    def vjp_other(F, grad, input): return grad * input
    aten = ".Tensor"
    no_vmap_ = "arithmetic"
    samples = pairs(number=2.5)

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((2, 4))), RuntimeError, _SIZES


@op("neg(Tensor input) -> Tensor", family="unary", promotion="promote", result="same", quiet="all", inplace=True, alias="negative",
    dtypes="float int half")
class neg:
    """-input.

    >>> torch.neg(torch.tensor([1., -2.]))
    tensor([-1.,  2.])
    """

    changes = {0: Change(NEGATED)}
    lacks = {"uint float8": "neg_cpu"}
    out_dtype = FOUND
    sparse = "as they are"
    numpy = np.negative
    by_parts = True
    mindspore = "ops.Neg"
    mindspore_takes = "complex"

    @takes_floats
    def check(input):
        if input._k.dtype.category == BOOL:
            raise AutogradError("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
                                "use the `~` or `logical_not()` operator instead.")

    def vjp(F, grad): return -grad
    samples = domain(-2, 2)

    def errors(rng):
        yield (np.array([True]),), RuntimeError, (
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
            "`logical_not()` operator instead.")


@op("positive(Tensor input) -> Tensor", out=False)
class positive:
    """The tensor itself.

    >>> torch.positive(torch.tensor([1., -2.]))
    tensor([ 1., -2.])
    """

    ufunc = np.positive
    def function(F, input):
        if input._k.dtype.category == BOOL:
            raise AutogradError("The `+` operator, on a bool tensor is not supported.")
        return input

    samples = domain(-2, 2)

    def errors(rng):
        yield (np.array([True]),), RuntimeError, "The `+` operator, on a bool tensor is not supported."


@op("abs(Tensor input) -> Tensor", family="unary", result="numpy", inplace=True, alias="absolute", dtypes="float int half")
class abs:
    """The absolute value.

    >>> torch.abs(torch.tensor([1., -2.]))
    tensor([1., 2.])
    """

    changes = {0: Change(MAGNITUDE, whole=(_in_place.MAGNITUDE, lambda value: (0, 0)))}
    lacks = {"uint float8_e8m0fnu": "abs_cpu"}
    out_dtype = FOUND
    ufunc = np.fabs
    sparse = "in order"
    numpy = np.absolute
    mindspore = "ops.Abs"
    check = takes("int float complex", "abs_cpu")
    def vjp(F, grad, input): return grad * F.sgn(input)

    def jvp(F, outputs, arguments, tangents):
        sign, tangent = F.sgn(arguments["input"]), tangents["input"]
        return F.real(F.conj(sign) * tangent) if is_complex(sign) else sign * tangent

    samples = domain(-2, 2, kinks=(0,))

    def errors(rng):
        yield (np.array([True]),), NotImplementedError, "\"abs_cpu\" not implemented for 'Bool'"


@one_pass("sign", exact=True)
def _sign(input: np.ndarray) -> np.ndarray:
    """The sign; zero for NaN, unlike np.sign."""
    dtype = input.dtype
    if dtype.kind in "bi":
        return np.bitwise_or(input, input) if dtype.kind == "b" else np.sign(input)
    if dtype.kind == "c":
        raise TypeError("complex numbers have no sign")
    return np.asarray(np.subtract(np.greater(input, 0).view(np.int8), np.less(input, 0).view(np.int8)), dtype)


@op("sign(Tensor input) -> Tensor", family="unary", result="same", quiet="all", inplace=True, dtypes="float int bool half")
class sign:
    """-1, 0 or 1 by the sign.

    >>> torch.sign(torch.tensor([0.5, -2., 0.]))
    tensor([ 1., -1.,  0.])
    """

    changes = {0: Change(SIGNED, whole=(_in_place.SIGNED, lambda value: (0, 0)))}
    keeps = "Q_BOOL"
    lacks = {"uint float8": "sign_cpu"}
    out_dtype = FOUND
    ufunc = np.sign
    sparse = "in order"
    numpy = _sign
    mindspore = "ops.Sign"

    def check(input):
        if input._k.dtype.category == COMPLEX and not on_meta(input):
            raise UnsupportedDTypeError("Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn "
                                        "instead.")

    def vjp(F, grad): return F.zero_gradient(grad)
    samples = domain(-2, 2, kinks=(0,))


@op("sgn(Tensor input) -> Tensor", family="unary", result="same", inplace=True, dtypes="float int bool half", complex="explicit")
class sgn:
    """The sign, and for complex numbers input / |input|.

    >>> torch.sgn(torch.tensor([3+4j]))
    tensor([0.6000+0.8000j])
    """

    changes = {0: Change(SIGNED, whole=(_in_place.SIGNED, lambda value: (0, 0)))}
    keeps = "Q_BOOL"
    lacks = {"uint float8": "sign_cpu"}
    out_dtype = FOUND
    sparse = "in order"
    def numpy(input):
        if input.dtype.kind == "c":
            size = np.absolute(input)
            return np.where(size == 0, 0, input / np.where(size == 0, 1, size))
        return _sign(input)

    mindspore = "ops.Sign"

    def vjp(F, grad, input):
        if not is_complex(input):
            return F.zero_gradient(grad)
        sign, size = F.sgn(input), F.abs(input)
        turned = grad - sign * F.real_part(grad * F.conj(sign))  # what is left once the part along the number is taken out
        return F.where(size == 0, 0, turned / F.where(size == 0, 1, size))

    samples = domain(-2, 2, kinks=(0,))


@op("square(Tensor input) -> Tensor", family="unary", promotion="promote", result="same", inplace=True, node="PowBackward0",
    dtypes="float int half")
class square:
    """input * input.

    >>> torch.square(torch.tensor([1., -2.]))
    tensor([1., 4.])
    """

    changes = {0: Alone(_in_place.SQUARED, chars="Ee")}
    lacks = {"rare": "pow"}
    saved_also = {"exponent": "2"}
    numpy = np.square
    mindspore = "ops.Square"
    def redirect(input): return ("pow", (input, 2)) if isinstance(input, TensorRef) and input._k.dtype.category == BOOL else None
    def vjp(F, grad, input): return grad * (input * 2)
    def decompose(F, input): return F.pow(input, 2)
    samples = domain(-2, 2)


@op("addcmul(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", promotion="promote", result="same",
    broadcasts=True, inplace=True, dtypes="float int half")
class addcmul:
    """input + value * tensor1 * tensor2.

    >>> torch.addcmul(torch.tensor([1.]), torch.tensor([2.]), torch.tensor([3.]), value=10)
    tensor([61.])
    """

    changes = {2: by_two(PRODUCT, half=SCALED)}
    lacks = {"bool uint float8": "addcmul_cpu_out"}
    deprecated = ("input value tensor1 tensor2",)

    def numpy(input, tensor1, tensor2, value):
        found = triple(PRODUCT, value, input, tensor1, tensor2)
        if found is None:
            scaled = tensor1 if value == 1 else tensor1 * input.dtype.type(value)
            found = ufunc2(np.add, input, ufunc2(np.multiply, scaled, tensor2))
        return found

    def half(input, tensor1, tensor2, value):
        found = triple(SCALED, value, input, tensor1, tensor2)
        if found is not None:
            return found
        a, b, c = (x.astype(np.float32) for x in (input, tensor1, tensor2))
        return (a + np.float32(value) * (b * c)).astype(input.dtype)

    def compose(F, input, tensor1, tensor2, value): return input + tensor1 * value * tensor2
    shape = broadcast_shapes
    def check(input, tensor1, tensor2, value): _check_value(input, value)
    def vjp_input(F, grad): return grad
    def vjp_tensor1(F, grad, tensor2, value): return grad * (tensor2 * value)
    def vjp_tensor2(F, grad, tensor1, value): return grad * (tensor1 * value)

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
        yield rng.standard_normal((2, 3)), rng.standard_normal(3), rng.standard_normal((2, 1)), 2


@op("addcdiv(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", promotion="promote", result="same",
    broadcasts=True, inplace=True, dtypes="float half")
class addcdiv:
    """input + value * tensor1 / tensor2.

    >>> torch.addcdiv(torch.tensor([1.]), torch.tensor([6.]), torch.tensor([3.]), value=10)
    tensor([21.])
    """

    changes = {2: by_two(QUOTIENT)}
    lacks = {"float8 chalf": "addcdiv_cpu_out"}
    deprecated = ("input value tensor1 tensor2",)

    @of_halves
    def numpy(input, tensor1, tensor2, value):
        found = triple(QUOTIENT, value, input, tensor1, tensor2)
        if found is None and 2 not in (input.itemsize, tensor1.itemsize, tensor2.itemsize):
            found = input + (tensor1 / tensor2 if value == 1 else tensor1 * input.dtype.type(value) / tensor2)
        return found

    def compose(F, input, tensor1, tensor2, value): return input + tensor1 * value / tensor2
    shape = broadcast_shapes

    def check(input, tensor1, tensor2, value):
        _check_value(input, value)
        if max(category(tensor1), category(tensor2)) < FLOATING:
            raise AutogradError(
                "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of "
                "tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / tensor2))."
                "to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv "
                "behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes.")

    def vjp_input(F, grad): return grad
    def vjp_tensor1(F, grad, tensor2, value): return grad * (value / tensor2)
    def vjp_tensor2(F, grad, tensor1, tensor2, value): return -grad * (tensor1 * value / (tensor2 * tensor2))

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), rng.uniform(1, 2, (2, 3))
        yield rng.standard_normal((2, 3)), rng.standard_normal(3), rng.uniform(1, 2, (2, 1)), 2


@op("lerp(Tensor input, Tensor end, Operand weight) -> Tensor", result="same", promotion="promote", broadcasts=True, inplace=True,
    dtypes="float half", node="LerpBackward1")
class lerp:
    """input + weight * (end - input).

    >>> torch.lerp(torch.tensor([0., 10.]), torch.tensor([10., 20.]), 0.5)
    tensor([ 5., 15.])
    """

    changes = {1: by_two(BETWEEN), 2: by_two(WEIGHED)}
    lacks = {"float8 chalf": "lerp_kernel_scalar"}
    numbers = {"weight": "LerpBackward0"}

    @of_halves
    def numpy(input, end, weight):
        # From the nearer end, so that weight = 1 gives exactly `end`.
        if 2 in (input.itemsize, end.itemsize, weight.itemsize):
            if not weight.ndim:
                return triple(BETWEEN, float(weight), input, end, end)
            return triple(WEIGHED, 1, input, end, weight)
        if not weight.ndim and weight.dtype.kind == "f":
            found = triple(BETWEEN, weight.item(), input, end, end)
            if found is not None:
                return found
            return input + weight * (end - input) if -0.5 < float(weight) < 0.5 else end - (end - input) * (1 - weight)
        found = triple(WEIGHED, 1, input, end, weight)
        if found is not None:
            return found
        change = end - input
        return np.where(np.abs(weight) < 0.5, input + weight * change, end - change * (1 - weight))

    def compose(F, input, end, weight): return input + weight * (end - input)
    shape = broadcast_shapes
    opmath = "number"

    def check(input, end, weight):
        for name, x in (("end", end), ("weight", weight)):
            if hasattr(x, "_k") and x._k.dtype is not input._k.dtype:
                raise AutogradError(f"expected dtype {c_name(input._k.dtype)} for `{name}` but got dtype "
                                    f"{c_name(x._k.dtype)}", remedy="convert it")
        takes("float complex", "lerp_kernel_tensor" if hasattr(weight, "_k") else "lerp_kernel_scalar")(input=input)
        check_number(weight, input.dtype)

    def vjp_input(F, grad, weight): return grad * (1 - weight)
    def vjp_end(F, grad, weight): return grad * weight
    def vjp_weight(F, grad, input, end): return grad * (end - input)

    def jvp(F, outputs, arguments, tangents):
        """As torch: the tangents by the same operation, which rounds half precision once."""
        input, end, weight = arguments["input"], arguments["end"], arguments["weight"]
        t, u = [t if (t := tangents.get(n)) is not None else F.zeros_like(arguments[n]) for n in ("input", "end")]
        t = F.lerp(t, u, weight)
        return t if (v := tangents.get("weight")) is None else t + v * (end - input)

    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), 0.3
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), rng.uniform(0.1, 0.9, 3)
        yield rng.standard_normal((2, 1, 3)), rng.standard_normal((4, 1)), rng.uniform(0.1, 0.9, ())

    def errors(rng):
        yield (np.ones(2, np.float32), np.ones(2), 0.5), RuntimeError, "expected dtype float for `end` but got dtype double"
        yield (np.ones(2, np.float32), np.ones(2, np.float32), np.ones(2, int)), RuntimeError, (
            "expected dtype float for `weight` but got dtype long int")


# -- division -------------------------------------------------------------------------------------------------------


def _check_zero(input: TensorRef, other: TensorRef | float) -> None:
    integers = BOOL < max(category(input), category(other)) <= INTEGER  # of masks only there is no kernel
    if integers and not on_meta(other) and zero_divisor(other._data if isinstance(other, TensorRef) else other):
        raise AutogradError("ZeroDivisionError", expected="non-zero integers to divide by", found="a zero",
                            remedy="convert to floating point")


def _no_zero_errors(rng: object) -> Any:
    yield (np.array([1, 2]), 0), RuntimeError, "ZeroDivisionError"


@op("div(Operand input, Operand other, *, str? rounding_mode=None) -> Tensor", family="binary", promotion="float", result="same",
    broadcasts=True, inplace=True, alias=("divide", "true_divide"), dtypes="float int half")
class div:
    """input / other, element by element; rounded with rounding_mode="floor" or "trunc".

    >>> torch.div(torch.tensor([1, -7]), 2)
    tensor([ 0.5000, -3.5000])
    >>> torch.div(torch.tensor([1, -7]), 2, rounding_mode="floor")
    tensor([ 0, -4])
    """

    changes = {0: Change(DIVIDED), 1: Change(OVER)}
    lacks = {"float8": beside_number("div"), "chalf": "div_cpu"}
    passes_partial = "0"
    numpy = np.divide  # a rounding mode, which is no array to write to, sends the call to the general path
    mindspore = kernels.quotient("Div", of_infinities=True)
    opmath = "number"
    compose = on_host(lambda input, other, rounding_mode=None: np.divide(input, other))

    def redirect(input, other, rounding_mode):
        if rounding_mode is None:
            return None
        if rounding_mode not in ("floor", "trunc"):
            raise AutogradError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
        return f"div_{rounding_mode}", (input, other)

    def vjp_input(F, grad, other): return grad / other
    def vjp_other(F, grad, input, other): return -grad * ((input / other) / other)

    def jvp(F, outputs, arguments, tangents):
        """As torch: one division, of which half precision loses less."""
        t, u = tangents.get("input"), tangents.get("other")
        if u is not None:
            t = -(u * outputs[0]) if t is None else t - u * outputs[0]
        return t / arguments["other"]
    aten = ".Tensor"
    no_vmap_ = "arithmetic"
    samples = pairs(other=(1, 2), number=2.5)

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((2, 4))), RuntimeError, _SIZES


@pairwise("floor_divide", "fd")
def _floor_divide(input: np.ndarray, other: np.ndarray) -> np.ndarray:
    with ignoring():
        return np.floor_divide(input, other)


def _divide_trunc(input: np.ndarray, other: np.ndarray) -> np.ndarray:
    with ignoring():
        if np.asarray(input).dtype.kind == "f" or np.asarray(other).dtype.kind == "f":
            return np.trunc(np.divide(input, other))
        return integers.trunc_divide(np.asarray(input), np.asarray(other))


def _half_quotient(whole: Fn, steps: Fn, name: str) -> Fn:
    """The kernel of a rounded quotient of half precision: in float32 by one number, in steps that are rounded by several, as in torch.
    `name`: that of the compiled functions."""
    by_one, by_several = Pairs(f"{name}_divide", "eE"), Pairs(f"{name}_steps", "eE")

    def kernel(input: np.ndarray, other: np.ndarray) -> np.ndarray:
        x, y = np.asarray(input), np.asarray(other)
        found = (by_one if y.size == 1 else by_several)(x, y)
        if found is not None:
            return found
        dtype = x.dtype if is_half(x.dtype) else y.dtype
        with ignoring():
            if y.size == 1:
                return narrow(whole(widened(x), np.asarray(y, np.float32)), dtype)
            return np.asarray(steps(x.astype(dtype), y.astype(dtype)))

    kernel.takes_number = True  # type: ignore[attr-defined]  # in single precision, beside them
    return kernel


def _floor_steps(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    rest = np.fmod(x, y)
    quotient = (x - rest) / y
    quotient = np.where((rest != 0) & ((rest < 0) != (y < 0)), quotient - x.dtype.type(1), quotient)
    down = np.floor(quotient)
    down = np.where(quotient - down > x.dtype.type(0.5), down + x.dtype.type(1), down)
    exact = x / y
    return np.where(y == 0, exact, np.where(quotient == 0, np.copysign(x.dtype.type(0), exact), down))


_half_floor = _half_quotient(_floor_divide, _floor_steps, "floor")
_half_trunc = _half_quotient(_divide_trunc, lambda x, y: np.trunc(x / y), "trunc")


def _quotient_samples(rng: object) -> Any:
    yield np.array([[5.5, -5.5, 7.2]]), np.array([[2.0], [-3.1]])
    yield np.array([5.5, -5.5]), 1.3


@op("div_floor(Operand input, Operand other) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True, inplace=True,
    method=False, namespace="_internal", node="DivBackward2", dtypes="float int half", complex="div_floor_cpu")
class div_floor:
    """The quotient rounded down: `div(..., rounding_mode="floor")`."""

    lacks = {"bool uint": "div_floor_cpu", "float8": beside_number("div_floor")}
    ufunc = np.floor_divide
    numpy = _floor_divide
    half = _half_floor
    opmath = "number"
    mindspore = kernels.quotient("FloorDiv")
    compose = on_host(numpy)
    check = _check_zero
    def vjp_input(F, grad): return F.zero_gradient(grad)
    def vjp_other(F, grad): return F.zero_gradient(grad)
    errors = _no_zero_errors
    samples = _quotient_samples


@op("div_trunc(Operand input, Operand other) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True, inplace=True,
    method=False, namespace="_internal", node="DivBackward2", dtypes="float int half", complex="div_trunc_cpu")
class div_trunc:
    """The quotient rounded to zero: `div(..., rounding_mode="trunc")`."""

    lacks = {"bool uint": "div_trunc_cpu", "float8": beside_number("div_trunc")}
    numpy = _divide_trunc
    half = _half_trunc
    opmath = "number"
    mindspore = kernels.quotient("TruncateDiv")
    compose = on_host(numpy)
    check = _check_zero
    def vjp_input(F, grad): return F.zero_gradient(grad)
    def vjp_other(F, grad): return F.zero_gradient(grad)
    errors = _no_zero_errors
    samples = _quotient_samples


@op("floor_divide(Operand input, Operand other) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True,
    inplace=True, node="NotImplemented", dtypes="float int half", complex="div_floor_cpu")
class floor_divide:
    """The quotient rounded down.

    >>> torch.floor_divide(torch.tensor([7, -7]), 2)
    tensor([ 3, -4])
    """

    lacks = {"bool uint": "div_floor_cpu", "float8": beside_number("div_floor")}
    complex_on_meta = "RuntimeError: {dtype} not supported for floor_divide"
    numbers = {"other": "NotImplemented", "input": "NotImplemented"}
    numpy = _floor_divide
    half = _half_floor
    opmath = "number"
    mindspore = kernels.quotient("FloorDiv")
    compose = on_host(numpy)
    check = _check_zero
    vjp = no_derivative("floor_divide")
    aten = ".default"
    errors = _no_zero_errors
    samples = _quotient_samples


@pairwise("remainder")
def _remainder(input: np.ndarray, other: np.ndarray) -> np.ndarray:
    x, y = np.asarray(input), np.asarray(other)
    if x.dtype.kind in "iu" and x.dtype is y.dtype:
        return integers.remainder(x, y)
    rest = np.fmod(input, other)
    # Unlike np.remainder, an exact division keeps the dividend's sign on its zero.
    return np.where((rest != 0) & ((rest < 0) != (np.asarray(other) < 0)), rest + other, rest)


@pairwise("fmod")
def _fmod(input: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.fmod(input, other)


def _remainder_samples(rng: object) -> Any:
    yield np.array([[5.5, -5.5, 7.2]]), np.array([[2.0], [-3.1]])
    yield np.array([5.5, -5.5]), 1.3
    yield np.array([7, -7]), 4


@op("remainder(Operand input, Operand other) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True, inplace=True,
    dtypes="float int half", complex="remainder_cpu", node="RemainderBackward1")
class remainder:
    """What division leaves, with the sign of the divisor, as Python's %.

    >>> torch.remainder(torch.tensor([7, -7]), 4)
    tensor([3, 1])
    """

    lacks = {"bool uint float8": "remainder_cpu"}
    numbers = {"other": "RemainderBackward0"}
    overloads = EITHER_NUMBER_WITHOUT_OUT
    ufunc = np.remainder
    numpy = _remainder
    mindspore = kernels.quotient("FloorMod", of_floats=False)
    compose = on_host(numpy)
    check = _check_zero
    def vjp_input(F, grad): return grad
    def vjp_other(F, grad, input, other): return -grad * F.div_floor(input, other)
    samples = _remainder_samples
    errors = _no_zero_errors


@op("fmod(Tensor input, Operand other) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True, inplace=True,
    dtypes="float int half", complex="fmod_cpu", node="FmodBackward1")
class fmod:
    """What division leaves, with the sign of the dividend, as C's fmod.

    >>> torch.fmod(torch.tensor([7, -7]), 4)
    tensor([ 3, -3])
    """

    lacks = {"bool uint float8": "fmod_cpu"}
    numbers = {"other": "FmodBackward0"}
    overloads = TENSOR_OR_NUMBER
    ufunc = np.fmod
    numpy = _fmod
    mindspore = kernels.quotient("Mod", of_floats=False)
    compose = on_host(numpy)
    check = _check_zero
    def vjp_input(F, grad): return grad
    def vjp_other(F, grad, input, other): return -grad * F.div_trunc(input, other)
    samples = _remainder_samples
    errors = _no_zero_errors


@op("reciprocal(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, dtypes="float int half")
class reciprocal:
    """1 / input.

    >>> torch.reciprocal(torch.tensor([1., 4.]))
    tensor([1.0000, 0.2500])
    """

    changes = {0: Change(INVERTED)}
    lacks = {"float8 chalf": "reciprocal_cpu"}
    numpy = np.reciprocal
    mindspore = "ops.Reciprocal"
    def vjp(F, grad, result): return -grad * (result * result)
    samples = domain(0.5, 2)


# -- powers ---------------------------------------------------------------------------------------------------------

_OF_UFUNC: dict[object, np.ufunc] = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal}
_POWERS: dict[object, Fn] = {**_OF_UFUNC, 1: np.positive, 3: lambda x: x * x * x,
           0: np.ones_like, -2: lambda x: np.reciprocal(x * x), -0.5: lambda x: np.reciprocal(np.sqrt(x))}


def _powers_of_many(input: np.ndarray | float, exponent: np.ndarray | float) -> np.ndarray | None:
    """Powers of many numbers of single precision; None of others."""
    both: list[Any] = [np.asarray(x, np.float32) if x.__class__ in (int, float) and math.fabs(x) < _MOST else x for x in (input, exponent)]
    if not all([x.__class__ is np.ndarray and x.dtype.char == "f" for x in both]) or not gives_many(*both):
        return None
    return elementary.powers(*both)


#: Numbers that single precision has no larger ones than.
_MOST = 3e38


def _square_of_complex(input: np.ndarray) -> np.ndarray | None:
    """Squares of complex numbers as torch makes them, and NumPy's powers, which take their time: products of NumPy's round once for two
    steps. None where NumPy is to serve."""
    if not input.flags.forc or not input.flags.aligned or not input.dtype.isnative or (
            run := _square.over(input.real.dtype.char, input.size)) is None:
        return None
    result = np.empty_like(input)
    run(input.size, 1, *[(a if a.flags.c_contiguous else a.T).reshape(-1).view(a.real.dtype) for a in (input, result)], input.size)
    return result


_square = Exact("complexes", "square")


def pow_few(input: np.ndarray, exponent: np.ndarray | float) -> np.ndarray:
    single = exponent.item() if exponent.__class__ is np.ndarray and exponent.ndim == 0 else exponent
    if single.__class__ is not np.ndarray and single == 2 and input.__class__ is np.ndarray and input.dtype.char in "FD" and (
            found := _square_of_complex(input)) is not None:
        return found
    if single.__class__ is not np.ndarray and input.__class__ is np.ndarray and input.dtype.kind == "f":
        quick = _POWERS.get(single)
        if quick is not None:
            return quick(input)
    if not HAS_VECTORS and (found := _powers_of_many(input, single)) is not None:
        return found
    return np.power(input, exponent)


def _pow_rate(F: Functions, grad: Values, input: Values, exponent: Values | float) -> Values:
    """grad * exponent * input ** (exponent - 1), zero where the exponent is."""
    if isinstance(exponent, (int, float, complex)):
        if exponent == 0:
            return F.zero_gradient(grad)
        return grad * (input * 2) if exponent == 2 else grad * (F.pow(input, exponent - 1) * exponent)
    return F.where(exponent == 0, F.zero_gradient(grad), grad * (exponent * F.pow(input, exponent - 1)))


def real_part_of(F: Functions, x: Values) -> Any:
    return F.real_part(x) if is_complex(x) and not isinstance(x, complex) else x.real if isinstance(x, complex) else x


def _pow_growth(F: Functions, grad: Values, input: Values | float, exponent: Values, result: Values) -> Values:
    """grad * result * log(input), zero where input is zero and the exponent is not negative. So are its derivatives: no logarithm of zero
    is part of what is recorded there."""
    if isinstance(input, (int, float, complex)):
        if input == 0:
            flat = real_part_of(F, exponent) >= 0
            return F.where(flat, F.zero_gradient(grad), grad * (result * F.where(flat, 0.0, -np.inf)))
        if isinstance(input, complex):
            return grad * (result * cmath.log(input))
        return grad * (result * math.log(input)) if input > 0 else grad * result * math.nan
    base = input if input.dtype == result.dtype else F.cast(
        input, result.dtype if result.dtype.__class__ is DType else DType.by_np[result.dtype])
    zero = base == 0
    flat = zero & (real_part_of(F, exponent) >= 0)
    if base.shape == result.shape:
        log = F.log(F.where(flat, 1, base))
    else:  # of fewer numbers than results, into which gradients are added up before they are divided by them, as in torch
        log = F.where(flat, 0, F.masked_fill(F.log(F.masked_fill(base, zero, 1)), zero, -np.inf))
    return F.where(flat, F.zero_gradient(grad), grad * (result * log))


def _product(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    return x * z if x.size < FEW else halved(np.multiply, x, z)


def pow_half(input: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """In float32, but for powers that torch's kernel of bfloat16 multiplies out, rounding after each step."""
    base, power = np.asarray(input), np.asarray(exponent)
    if not power.ndim:
        number = float(power)
        if not number and base.dtype.char in "eE":
            result = empty_in_order(base, base.dtype)
            fill(result, np.ones((), base.dtype))
            return result
        if number == 1 and base.dtype.char in "eE":
            return copy_like(base)
        if number in (3, -2, -0.5) and base.dtype.char == "E":
            if number == -0.5:
                return reciprocal_root(base, 64)
            square = _product(base, base)
            return _product(square, base) if number == 3 else narrow(1 / widened(square), base.dtype)
        if number in _OF_UFUNC and base.dtype.char in "eE":
            return ufunc(_OF_UFUNC[number], base)
        if number in _POWERS and base.itemsize == 2:
            return narrow(_POWERS[number](widened(base)), base.dtype)
    dtype = base.dtype if base.dtype.itemsize == 2 else power.dtype
    return np.asarray(pow_few(widened(base), widened(power))).astype(dtype)


def _check_pow(input: float, exponent: TensorRef) -> None:
    if category(input) == BOOL and category(exponent) == BOOL and not on_meta(input, exponent) and exponent.__class__ is not bool:
        raise UnsupportedDTypeError("\"pow\" not implemented for 'Bool'", remedy="convert one operand first")
    if not isinstance(exponent, TensorRef) and exponent.__class__ is int and exponent < 0 and category(input) <= INTEGER \
            and not on_meta(input):
        raise AutogradError("Integers to negative integer powers are not allowed.", remedy="convert to floating point")
    if exponent.__class__ is int and category(input) == INTEGER and not on_meta(input):
        check_number(exponent, input._k.dtype)


@pairwise("power", "l")
def _pow_integers(input: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Powers of integers; negative exponents round to zero, which only 1 and -1 escape."""
    magnitude = np.power(input, np.maximum(exponent, 0))
    if np.min(exponent, initial=0) >= 0:
        return magnitude
    odd = np.where(np.asarray(exponent) % 2 == 0, 1, -1)
    return np.where(np.asarray(exponent) >= 0, magnitude, np.where(input == 1, 1, np.where(input == -1, odd, 0)))


@op("pow(Operand input, Operand exponent) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True, inplace=True,
    dtypes="float int half", node="PowBackward1")
class pow:
    """input to the power of exponent; either may be a number.

    >>> torch.pow(torch.tensor([1., 2., 3.]), 2)
    tensor([1., 4., 9.])
    >>> torch.pow(2, torch.tensor([1., 2., 3.]))
    tensor([2., 4., 8.])
    """

    changes = {0: ByNumber({2: (np.square, Alone(_in_place.SQUARED)), 0.5: (np.sqrt, Alone(_in_place.ROOTED)),
                             -1: (np.reciprocal, Alone(_in_place.INVERTED))})}
    lacks = {"rare": "pow"}
    numbers = {"exponent": "PowBackward0", "input": "PowBackward2"}
    overloads = POWER
    ufunc = np.power
    def numpy(input, exponent):
        if exponent.__class__ is bool:
            return input.copy() if exponent else np.ones_like(input)
        if np.asarray(exponent).dtype.kind in "iu" and np.asarray(input).dtype.kind in "iu":
            return _pow_integers(input, exponent)
        return pow_few(input, exponent)

    half = pow_half
    mindspore = "ops.Pow"
    check = _check_pow
    def vjp_input(F, grad, input, exponent): return _pow_rate(F, grad, input, exponent)
    def vjp_exponent(F, grad, input, exponent, result): return _pow_growth(F, grad, input, exponent, result)

    def aten(input, exponent, **_):
        kinds = ["Tensor" if hasattr(x, "_k") else "Scalar" for x in (input, exponent)]
        return ".Scalar" if kinds[0] == "Scalar" else "." + "_".join(kinds)


    def samples(rng):
        yield rng.uniform(0.5, 2, (2, 3)), rng.uniform(-2, 2, (2, 3))
        yield rng.uniform(0.5, 2, (2, 1, 3)), rng.uniform(-2, 2, (4, 1))
        for exponent in (2, 3, -1, 0.5, 1.5, 0):
            yield rng.uniform(0.5, 2, (2,)), exponent
        yield 2.5, rng.uniform(-2, 2, (2, 3))

    def errors(rng):
        yield (np.array([1, 2]), -1), RuntimeError, "Integers to negative integer powers are not allowed."
        yield (np.array([True]), np.array([True])), NotImplementedError, "\"pow\" not implemented for 'Bool'"


@op("float_power(Operand input, Operand exponent) -> Tensor", inplace=True)
class float_power:
    """input to the power of exponent, computed in float64 (complex128 for complex numbers).

    >>> torch.float_power(torch.tensor([1, 2, 3]), 2)
    tensor([1., 4., 9.], dtype=torch.float64)
    """

    out_dtype = OutRule("the output given to float_power has dtype {found} but the operation's result requires dtype {wanted}")
    ufunc = np.float_power
    def function(F, input, exponent):
        kinds = [isinstance(x, TensorRef) for x in (input, exponent)]
        if not any(kinds) or not all([k or isinstance(x, (int, float, complex)) for k, x in zip(kinds, (input, exponent))]):
            raise no_match("float_power", POWER, (input, exponent))
        wide = complex128 if COMPLEX in (category(input), category(exponent)) else float64
        widened = [F.cast(x, wide) if isinstance(x, TensorRef) and x._k.dtype is not wide else x for x in (input, exponent)]
        return F.pow(*widened)

    def function_(F, input, exponent):
        wide = complex128 if COMPLEX in (category(input), category(exponent)) else float64
        if input._k.dtype is not wide:
            raise AutogradError("the base given to float_power_ has dtype "
                                f"{SCALAR_TYPE_NAMES[input._k.dtype.name]} but the operation's result requires dtype "
                                f"{SCALAR_TYPE_NAMES[wide.name]}", remedy="use the out-of-place operation")
        return F.pow_(input, F.cast(exponent, wide) if isinstance(exponent, TensorRef) and exponent._k.dtype is not wide else exponent)

    def samples(rng):
        yield rng.uniform(0.5, 2, (2, 3)), rng.uniform(-2, 2, (2, 3))
        yield rng.uniform(0.5, 2, (2, 3)), 2
