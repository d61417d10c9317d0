"""Comparisons, logical and bitwise operations, tests of elements, and selection by masks."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from ...annotations import Fn, Number
from ...dtypes import BOOL, COMPLEX, SCALAR_TYPE_NAMES, bfloat16
from ...errors import AutogradError, UnsupportedDTypeError
from ...executors.kernels import halves
from ...executors.kernels._in_place import (
    ALL_BITS, ALL_TRUE, ANY_BITS, ANY_TRUE, EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, NOT_EQUAL, ONE_BIT, ONE_TRUE, SHIFTED_LEFT,
    SHIFTED_RIGHT,
)
from ...executors.kernels.changes import Beside, by_bits
from ...executors.kernels.elementwise import same
from ...executors.kernels.pairs import LEAST, halved, ufunc2
from ...functions.constants import NUMBERS, SMALL
from ...functions.out import FOUND, ONLY_BOOL
from ...functions.overloads import EITHER_NUMBER_WITHOUT_OUT, TENSOR_OR_NUMBER
from ...functions.refusals import no_kernel, on_meta
from ...record import op
from ...strided import empty_in_order
from .._host import NO_ITEM, data_dependent, values_of
from .._samples import category, integer_pairs, pairs, takes
from .arithmetic import broadcast_shapes
from ...warned import ignoring

if TYPE_CHECKING:
    from ...tensor import TensorRef

LARGE = 1 << 18  # elements from which the shared kernels are worth their set-up
_HEAD = 4096  # elements that are compared at once, before the rest
_FEW = 16  # elements that are compared as Python's numbers
_ALIKE = "fdEel?"  # dtypes that machine code compares

# -- comparisons --------------------------------------------------------------------------------------------------------


@op("eq(Tensor input, Operand other) -> Tensor", family="compare", promotion="promote", result="bool", quiet="all", broadcasts=True,
    inplace=True, dtypes="float int bool half")
class eq:
    """Whether elements are equal.

    >>> torch.eq(torch.tensor([1., 2., 3.]), 2)
    tensor([False,  True, False])
    """

    node_ = "EqBackward1"

    overloads = TENSOR_OR_NUMBER
    changes = dict.fromkeys((0, 1), Beside(EQUAL))
    numpy = np.equal
    mindspore = "ops.Equal"
    samples = pairs(number=0.5)

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((2, 4))), RuntimeError, (
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1")

@op("ne(Tensor input, Operand other) -> Tensor", family="compare", promotion="promote", result="bool", quiet="all", broadcasts=True,
    inplace=True, alias="not_equal", dtypes="float int bool half")
class ne:
    """Whether elements differ.

    >>> torch.ne(torch.tensor([1., 2., 3.]), 2)
    tensor([ True, False,  True])
    """

    node_ = "NeBackward1"

    overloads = TENSOR_OR_NUMBER
    changes = dict.fromkeys((0, 1), Beside(NOT_EQUAL))
    numpy = np.not_equal
    mindspore = "ops.NotEqual"
    samples = pairs(number=0.5)

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((2, 4))), RuntimeError, (
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1")

@op("lt(Tensor input, Operand other) -> Tensor", family="compare", promotion="promote", result="bool", quiet="all", broadcasts=True,
    inplace=True, alias="less", dtypes="float int bool half", complex="lt_cpu")
class lt:
    """Whether input is less than other.

    >>> torch.lt(torch.tensor([1., 2., 3.]), 2)
    tensor([ True, False, False])
    """

    lacks = {"uint float8": "lt_cpu"}
    node_ = "LtBackward1"

    overloads = TENSOR_OR_NUMBER
    changes = dict.fromkeys((0, 1), Beside(LESS))
    numpy = np.less
    mindspore = "ops.Less"
    samples = pairs(number=0.5)

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((2, 4))), RuntimeError, (
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1")
        yield (np.ones(2, np.complex64), 1), NotImplementedError, "\"lt_cpu\" not implemented for 'ComplexFloat'"

@op("le(Tensor input, Operand other) -> Tensor", family="compare", promotion="promote", result="bool", quiet="all", broadcasts=True,
    inplace=True, alias="less_equal", dtypes="float int bool half", complex="le_cpu")
class le:
    """Whether input is less than or equal to other.

    >>> torch.le(torch.tensor([1., 2., 3.]), 2)
    tensor([ True,  True, False])
    """

    lacks = {"uint float8": "le_cpu"}
    node_ = "LeBackward1"

    overloads = TENSOR_OR_NUMBER
    changes = dict.fromkeys((0, 1), Beside(LESS_EQUAL))
    numpy = np.less_equal
    mindspore = "ops.LessEqual"
    samples = pairs(number=0.5)

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((2, 4))), RuntimeError, (
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1")
        yield (np.ones(2, np.complex64), 1), NotImplementedError, "\"le_cpu\" not implemented for 'ComplexFloat'"

@op("gt(Tensor input, Operand other) -> Tensor", family="compare", promotion="promote", result="bool", quiet="all", broadcasts=True,
    inplace=True, alias="greater", dtypes="float int bool half", complex="gt_cpu")
class gt:
    """Whether input is greater than other.

    >>> torch.gt(torch.tensor([1., 2., 3.]), 2)
    tensor([False, False,  True])
    """

    lacks = {"uint float8": "gt_cpu"}
    node_ = "GtBackward1"

    overloads = TENSOR_OR_NUMBER
    changes = dict.fromkeys((0, 1), Beside(GREATER))
    numpy = np.greater
    mindspore = "ops.Greater"
    samples = pairs(number=0.5)

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((2, 4))), RuntimeError, (
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1")
        yield (np.ones(2, np.complex64), 1), NotImplementedError, "\"gt_cpu\" not implemented for 'ComplexFloat'"

@op("ge(Tensor input, Operand other) -> Tensor", family="compare", promotion="promote", result="bool", quiet="all", broadcasts=True,
    inplace=True, alias="greater_equal", dtypes="float int bool half", complex="ge_cpu")
class ge:
    """Whether input is greater than or equal to other.

    >>> torch.ge(torch.tensor([1., 2., 3.]), 2)
    tensor([False,  True,  True])
    """

    lacks = {"uint float8": "ge_cpu"}
    node_ = "GeBackward1"

    overloads = TENSOR_OR_NUMBER
    changes = dict.fromkeys((0, 1), Beside(GREATER_EQUAL))
    numpy = np.greater_equal
    mindspore = "ops.GreaterEqual"
    samples = pairs(number=0.5)

    def errors(rng):
        yield (np.ones((2, 3)), np.ones((2, 4))), RuntimeError, (
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1")
        yield (np.ones(2, np.complex64), 1), NotImplementedError, "\"ge_cpu\" not implemented for 'ComplexFloat'"

def _isclose(input: np.ndarray, other: np.ndarray, rtol: float, atol: float, equal_nan: bool) -> np.ndarray:
    close: np.ndarray = input == other
    if rtol or atol:  # without tolerances the numbers themselves are compared, integers beyond 2**53 among them
        if input.dtype.kind in "biu":
            input, other = input.astype(np.float64), other.astype(np.float64)
            return close | (np.abs(input - other) <= np.abs(other * rtol) + atol)
        with ignoring():
            allowed = _size(np.multiply(other, other.dtype.type(rtol)))
            close = close | np.isfinite(input) & np.isfinite(other) & (_size(input - other) <= allowed + allowed.dtype.type(atol))
    return close | np.isnan(input) & np.isnan(other) if equal_nan and input.dtype.kind not in "biu" else close


def _size(x: np.ndarray) -> np.ndarray:
    """Absolute values, of complex numbers rounded once: NumPy's own are an ulp off for a third of them, which decides where the
    difference is as large as the tolerance."""
    return np.hypot(x.real, x.imag) if x.dtype.kind == "c" else np.abs(x)


@op("isclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor", result="bool", out=False,
    broadcasts=True, dtypes="float int")
class isclose:
    """Whether |input - other| <= atol + rtol * |other|.

    >>> torch.isclose(torch.tensor([1., 2.]), torch.tensor([1., 2.1]))
    tensor([ True, False])
    """

    lacks = {"float8": "mul_cpu_reduced_float"}
    def numpy(input, other, rtol, atol, equal_nan):
        if rtol < 0 or atol < 0:
            raise ValueError  # which `check` words
        return _isclose(input, other, rtol, atol, equal_nan)

    def compose(F, input, other, rtol, atol, equal_nan):
        close = F.isfinite(input) & F.isfinite(other) & (F.abs(input - other) <= F.abs(other * rtol) + atol) | (input == other)
        return close | F.isnan(input) & F.isnan(other) if equal_nan else close

    shape = broadcast_shapes

    def check(input, other, rtol, atol, equal_nan):
        if input._k.dtype is not other._k.dtype:
            names = [SCALAR_TYPE_NAMES[x._k.dtype.name] for x in (input, other)]
            raise AutogradError(f"{names[0]} did not match {names[1]}", remedy="convert one of them")
        for name, value in (("rtol", rtol), ("atol", atol)):
            if value < 0:
                raise AutogradError(f"{name} must be greater than or equal to zero, but got {value:g}")

    def samples(rng):
        x = rng.standard_normal((2, 3))
        yield x, x + np.array([0, 1e-7, 1e-3])
        yield np.array([np.nan, np.inf, 1.0]), np.array([np.nan, np.inf, 1.0]), 0.0, 0.0, True

    def errors(rng):
        yield (np.ones(2, np.float32), np.ones(2, int)), RuntimeError, "Float did not match Long"


@op("allclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Any", out=False)
class allclose:
    """Whether all elements are close, as a bool.

    >>> torch.allclose(torch.tensor([1., 2.]), torch.tensor([1., 2.1]))
    False
    """

    gives = "bool"
    lacks = {"float8": "mul_cpu_reduced_float"}
    no_vmap = "vmap over torch.allclose isn't supported yet."

    def function(F, input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
        if on_meta(input, other):
            raise AutogradError(NO_ITEM)
        return bool(values_of(F.isclose(input, other, rtol, atol, equal_nan)).all())

    def samples(rng): yield np.ones(3), np.ones(3)


@op("equal(Tensor input, Tensor other) -> Any", out=False)
class equal:
    """Whether two tensors have one shape and the same elements, as a bool.

    >>> torch.equal(torch.tensor([1., 2.]), torch.tensor([1., 2.]))
    True
    """

    gives = "bool"
    lacks = {"chalf": "equal_cpu"}
    no_vmap = "aten::equal"

    def function(F, input, other):
        if on_meta(input, other):
            data_dependent()
        if input.shape != other.shape:
            return False
        same = values_of(F.eq(input, other))
        return b"\0" not in same.tobytes() if same.size <= SMALL else bool(same.all())

    def quick(input, other):
        dtype = input.dtype
        if dtype is not other.dtype:
            return None
        if input.shape != other.shape:
            return False
        n, char = input.size, dtype.char
        if n <= _FEW and char in "fdl?":
            return input.tolist() == other.tolist()
        if input is other and dtype.kind in "biu":
            return True
        if n and char in _ALIKE:
            if input.item(0) != other.item(0):  # most tensors that differ do so at once
                return False
            if (found := same(input, other)) is not None:
                return found
        if n <= _HEAD:
            return b"\0" not in np.equal(input, other).tobytes("A")
        some = max(len(input) * _HEAD // n, 1)  # most tensors that differ do so soon
        return None if b"\0" not in np.equal(input[:some], other[:some]).tobytes("A") else False

    def samples(rng): yield np.ones(3), np.ones(3)


# -- tests of elements --------------------------------------------------------------------------------------------------


def _equals(value: float) -> Fn:
    def kernel(input: np.ndarray) -> np.ndarray:
        dtype = input.dtype
        if (word := words.get(dtype.char)) is not None and dtype.isnative and 0 not in input.strides:
            return np.equal(input.view(_WORD), word)
        if (kind := dtype.kind) == "f":
            return np.equal(input, NUMBERS[dtype.char, value])
        return halved(np.equal, input, number(dtype)) if kind == "V" else _never(input, kind)

    number = lru_cache(partial(np.array, value))
    words = {half.char: np.array(value, half).view(_WORD) for half in (np.dtype(np.float16), bfloat16.np)}
    return kernel


_WORD = np.dtype(np.uint16)
"""The bits of half precision, of which infinities of one sign have the same."""


def _never(input: np.ndarray, kind: str) -> np.ndarray:
    """False for each number of a kind that has no infinities; complex ones are for `check`."""
    if kind == "c":
        raise TypeError("complex numbers have no sign")
    return _all(input, False)


_BOOL = np.dtype(bool)


def _all(input: np.ndarray, value: bool) -> np.ndarray:
    """The same for each element, laid out as what is found out element by element."""
    found = np.empty(input.shape, bool) if input.flags.c_contiguous else empty_in_order(input, _BOOL)
    found.fill(value)
    return found


def _isreal(input: np.ndarray) -> np.ndarray:
    if input.dtype.kind == "c":
        return np.equal(input.imag, 0)
    found = np.empty(input.shape, bool) if input.flags.c_contiguous else empty_in_order(input, _BOOL)
    found.fill(True)
    return found


def _signbit(input: np.ndarray) -> np.ndarray:
    kind = input.dtype.kind
    if kind in "iu":
        return (np.less if input.size < LEAST else partial(ufunc2, np.less))(input, NUMBERS[input.dtype.char, 0])
    if kind in "fV":
        return np.signbit(input) if input.itemsize > 2 or input.size < _BY_BITS else halves.ufunc(np.signbit, input)
    return _never(input, kind)


_BY_BITS = 512  # numbers of half precision whose bits are sooner compared


def _real_only(error: AutogradError, kernel: bool = False) -> Fn:
    def check(input: TensorRef) -> None:
        if category(input) == COMPLEX and not (kernel and on_meta(input)):
            raise error

    return check


@op("isnan(Tensor input) -> Tensor", family="unary", result="bool", quiet="all", out=False, dtypes="float int bool half")
class isnan:
    """Whether elements are NaN.

    >>> torch.isnan(torch.tensor([1., float("nan")]))
    tensor([False,  True])
    """

    sparse = "in order"
    numpy = np.isnan
    mindspore = "ops.IsNan"
    def compose(F, input): return F.ne(input, input)
    def samples(rng): yield (np.array([[1.0, -np.inf, np.nan], [np.inf, -0.0, -2.0]]),)

@op("isinf(Tensor input) -> Tensor", family="unary", result="bool", quiet="all", out=False, dtypes="float int bool half")
class isinf:
    """Whether elements are infinite.

    >>> torch.isinf(torch.tensor([1., float("-inf")]))
    tensor([False,  True])
    """

    lacks = {"float8_e4m3fn float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu": "isinf"}
    sparse = "in order"
    numpy = np.isinf
    def compose(F, input): return F.abs(input) == math.inf
    def samples(rng): yield (np.array([[1.0, -np.inf, np.nan], [np.inf, -0.0, -2.0]]),)

@op("isfinite(Tensor input) -> Tensor", family="unary", result="bool", quiet="all", out=False, dtypes="float int bool half")
class isfinite:
    """Whether elements are neither infinite nor NaN.

    >>> torch.isfinite(torch.tensor([1., float("nan")]))
    tensor([ True, False])
    """

    lacks = {"float8_e4m3fn float8_e4m3fnuz float8_e5m2fnuz": "isfinite"}
    numpy = np.isfinite

    def decompose(F, input):
        if not input._k.dtype.is_floating_point:
            return NotImplemented
        bounded = F.ne(F.abs(input), float("inf"))
        return F.mul(F.eq(input, input), bounded)

    mindspore = "ops.IsFinite"
    def samples(rng): yield (np.array([[1.0, -np.inf, np.nan], [np.inf, -0.0, -2.0]]),)

@op("isposinf(Tensor input) -> Tensor", family="unary", result="bool", quiet="all", dtypes="float int bool half")
class isposinf:
    """Whether elements are plus infinity.

    >>> torch.isposinf(torch.tensor([float("inf"), float("-inf")]))
    tensor([ True, False])
    """

    lacks = {"float8": "isposinf_cpu"}
    out_dtype = ONLY_BOOL
    sparse = "in order"
    numpy = _equals(np.inf)
    def compose(F, input): return input == math.inf
    check = _real_only(AutogradError("isposinf does not support complex inputs."))
    def samples(rng): yield (np.array([[1.0, -np.inf, np.nan], [np.inf, -0.0, -2.0]]),)

    def errors(rng):
        yield (np.ones(2, complex),), RuntimeError, "isposinf does not support complex inputs."

@op("isneginf(Tensor input) -> Tensor", family="unary", result="bool", quiet="all", dtypes="float int bool half")
class isneginf:
    """Whether elements are minus infinity.

    >>> torch.isneginf(torch.tensor([float("inf"), float("-inf")]))
    tensor([False,  True])
    """

    lacks = {"float8": "isneginf_cpu"}
    out_dtype = ONLY_BOOL
    sparse = "in order"
    numpy = _equals(-np.inf)
    def compose(F, input): return input == -math.inf
    check = _real_only(AutogradError("isneginf does not support complex inputs."))
    def samples(rng): yield (np.array([[1.0, -np.inf, np.nan], [np.inf, -0.0, -2.0]]),)

@op("signbit(Tensor input) -> Tensor", family="unary", result="bool", quiet="all", dtypes="float int bool half")
class signbit:
    """Whether the sign bit is set, as it is in -0.

    >>> torch.signbit(torch.tensor([1., -0.]))
    tensor([False,  True])
    """

    lacks = {"float8": "signbit_cpu"}
    out_dtype = ONLY_BOOL
    ufunc = np.signbit
    sparse = "in order"
    numpy = _signbit
    def compose(F, input): return (input < 0) | (input == 0) & (1 / input < 0) if input.dtype.kind == "f" else input < 0
    check = _real_only(UnsupportedDTypeError("signbit is not implemented for complex tensors."), True)
    def samples(rng): yield (np.array([[1.0, -np.inf, np.nan], [np.inf, -0.0, -2.0]]),)

    def errors(rng):
        yield (np.ones(2, complex),), NotImplementedError, "signbit is not implemented for complex tensors."

@op("isreal(Tensor input) -> Tensor", family="unary", result="bool", quiet="all", out=False, dtypes="float int bool half")
class isreal:
    """Whether elements have no imaginary part.

    >>> torch.isreal(torch.tensor([1+1j, 2+0j]))
    tensor([False,  True])
    """

    numpy, moves = _isreal, True
    def compose(F, input): return input == input.real if input.dtype.kind == "c" else F.isnan(input) | F.eq(input, input)
    def samples(rng): yield (np.array([[1.0, -np.inf, np.nan], [np.inf, -0.0, -2.0]]),)


# -- logical and bitwise operations -------------------------------------------------------------------------------------


@op("logical_and(Tensor input, Tensor other) -> Tensor", family="generic", promotion="promote", result="bool", quiet="all", broadcasts=True,
    inplace=True, dtypes="float int bool half")
class logical_and:
    """Whether both elements are true (not zero).

    >>> torch.logical_and(torch.tensor([1, 0]), torch.tensor([2., 0.]))
    tensor([ True, False])
    """

    lacks = {"rare": "logical_and_cpu"}
    changes = {1: Beside(ALL_TRUE)}
    numpy = np.logical_and
    mindspore = "ops.LogicalAnd"
    shape = broadcast_shapes
    no_vmap_ = "arithmetic"
    samples = integer_pairs(-1, 2)

    def errors(rng):
        yield (np.ones(2), 1), TypeError, "logical_and(): argument 'other' (position 2) must be Tensor, not int"

@op("logical_or(Tensor input, Tensor other) -> Tensor", family="generic", promotion="promote", result="bool", quiet="all", broadcasts=True,
    inplace=True, dtypes="float int bool half")
class logical_or:
    """Whether one of two elements is true (not zero).

    >>> torch.logical_or(torch.tensor([1, 0]), torch.tensor([2., 0.]))
    tensor([ True, False])
    """

    lacks = {"rare": "logical_or_cpu"}
    changes = {1: Beside(ANY_TRUE)}
    numpy = np.logical_or
    mindspore = "ops.LogicalOr"
    shape = broadcast_shapes
    no_vmap_ = "arithmetic"
    samples = integer_pairs(-1, 2)

@op("logical_xor(Tensor input, Tensor other) -> Tensor", family="generic", promotion="promote", result="bool", quiet="all", broadcasts=True,
    inplace=True, dtypes="float int bool half")
class logical_xor:
    """Whether exactly one of two elements is true (not zero).

    >>> torch.logical_xor(torch.tensor([1, 0]), torch.tensor([2., 0.]))
    tensor([False, False])
    """

    lacks = {"rare": "logical_xor_cpu"}
    changes = {1: Beside(ONE_TRUE)}
    numpy = np.logical_xor
    mindspore = "ops.LogicalXor"
    shape = broadcast_shapes
    samples = integer_pairs(-1, 2)

@op("logical_not(Tensor input) -> Tensor", family="unary", result="bool", quiet="all", inplace=True, dtypes="float int bool half")
class logical_not:
    """Whether elements are false (zero).

    >>> torch.logical_not(torch.tensor([1, 0]))
    tensor([False,  True])
    """

    lacks = {"rare": "logical_not_cpu"}
    changes = {0: Beside(EQUAL, chars="Ee", number=0)}  # NumPy converts half precision
    numpy = np.logical_not
    mindspore = "ops.LogicalNot"
    def samples(rng): yield (rng.integers(-1, 2, (2, 3)),)


@op("bitwise_and(Operand input, Operand other) -> Tensor", family="binary", promotion="promote", result="same", quiet="all",
    broadcasts=True,
    inplace=True, dtypes="int bool")
class bitwise_and:
    """Bitwise and; logical for bool.

    >>> torch.bitwise_and(torch.tensor([5, 3]), 6)
    tensor([4, 2])
    """

    overloads = EITHER_NUMBER_WITHOUT_OUT
    changes = dict.fromkeys((0, 1), by_bits(ALL_BITS))
    numpy = np.bitwise_and
    no_vmap_ = "shape"
    mindspore = "ops.BitwiseAnd"
    check = takes("bool int", "bitwise_and_cpu")
    samples = integer_pairs(number=3)

    def errors(rng):
        yield (np.ones(2, np.float32), np.ones(2, np.float32)), NotImplementedError, "\"bitwise_and_cpu\" not implemented for 'Float'"

@op("bitwise_or(Operand input, Operand other) -> Tensor", family="binary", promotion="promote", result="same", quiet="all",
    broadcasts=True,
    inplace=True, dtypes="int bool")
class bitwise_or:
    """Bitwise or; logical for bool.

    >>> torch.bitwise_or(torch.tensor([5, 3]), 6)
    tensor([7, 7])
    """

    overloads = EITHER_NUMBER_WITHOUT_OUT
    changes = dict.fromkeys((0, 1), by_bits(ANY_BITS))
    numpy = np.bitwise_or
    no_vmap_ = "shape"
    mindspore = "ops.BitwiseOr"
    check = takes("bool int", "bitwise_or_cpu")
    samples = integer_pairs(number=3)

    def errors(rng):
        yield (np.ones(2, np.float32), np.ones(2, np.float32)), NotImplementedError, "\"bitwise_or_cpu\" not implemented for 'Float'"

@op("bitwise_xor(Operand input, Operand other) -> Tensor", family="binary", promotion="promote", result="same", quiet="all",
    broadcasts=True,
    inplace=True, dtypes="int bool")
class bitwise_xor:
    """Bitwise exclusive or; logical for bool.

    >>> torch.bitwise_xor(torch.tensor([5, 3]), 6)
    tensor([3, 5])
    """

    overloads = EITHER_NUMBER_WITHOUT_OUT
    changes = dict.fromkeys((0, 1), by_bits(ONE_BIT))
    numpy = np.bitwise_xor
    no_vmap_ = "shape"
    mindspore = "ops.BitwiseXor"
    check = takes("bool int", "bitwise_xor_cpu")
    samples = integer_pairs(number=3)

    def errors(rng):
        yield (np.ones(2, np.float32), np.ones(2, np.float32)), NotImplementedError, "\"bitwise_xor_cpu\" not implemented for 'Float'"

@op("bitwise_not(Tensor input) -> Tensor", family="unary", result="same", quiet="all", inplace=True, dtypes="int bool")
class bitwise_not:
    """Bitwise complement; logical for bool.

    >>> torch.bitwise_not(torch.tensor([0, 5]))
    tensor([-1, -6])
    """

    lacks = {"uint": "bitwise_not_cpu"}
    out_dtype = FOUND
    numpy = np.invert
    mindspore = "ops.Invert"
    def compose(F, input): return F.logical_not(input) if input.dtype.kind == "b" else -input - 1
    check = takes("bool int", "bitwise_not_cpu")
    def samples(rng): yield (rng.integers(-9, 9, (2, 3)),)

    def errors(rng):
        yield (np.ones(2, np.float32),), NotImplementedError, "\"bitwise_not_cpu\" not implemented for 'Float'"


def _shifts(kernel: str) -> Fn:
    """A `check` field for integers; bools are some beside a number alone."""
    numbers = takes("bool int", kernel)

    def check(input: TensorRef | Number, other: TensorRef | Number) -> None:
        numbers(input=input, other=other)
        if all([x is True or x is False or hasattr(x, "_k") and x._k.dtype.category == BOOL for x in (input, other)]):
            no_kernel(kernel, next(x for x in (input, other) if not isinstance(x, (int, float, complex))))

    return check


@op("bitwise_left_shift(Operand input, Operand other) -> Tensor", family="binary", promotion="promote", result="same", quiet="all",
    broadcasts=True, inplace=True, dtypes="int")
class bitwise_left_shift:
    """Bits moved up by `other` places; 0 beyond the width.

    >>> torch.bitwise_left_shift(torch.tensor([1, 3]), 2)
    tensor([ 4, 12])
    """

    lacks = {"uint": "lshift_cpu"}
    overloads = EITHER_NUMBER_WITHOUT_OUT
    changes = dict.fromkeys((0, 1), by_bits(SHIFTED_LEFT, chars="l"))
    numpy = np.left_shift
    mindspore = "ops.LeftShift"
    check, refuses_bool = _shifts("lshift_cpu"), True
    samples = integer_pairs(0, 5, number=2)

    def errors(rng):
        yield (np.ones(2, np.float32), 1), NotImplementedError, "\"lshift_cpu\" not implemented for 'Float'"

@op("bitwise_right_shift(Operand input, Operand other) -> Tensor", family="binary", promotion="promote", result="same", quiet="all",
    broadcasts=True, inplace=True, dtypes="int")
class bitwise_right_shift:
    """Bits moved down by `other` places, keeping the sign.

    >>> torch.bitwise_right_shift(torch.tensor([1, 3]), 2)
    tensor([0, 0])
    """

    lacks = {"uint": "rshift_cpu"}
    overloads = EITHER_NUMBER_WITHOUT_OUT
    changes = dict.fromkeys((0, 1), by_bits(SHIFTED_RIGHT, chars="l"))
    numpy = np.right_shift
    mindspore = "ops.RightShift"
    check, refuses_bool = _shifts("rshift_cpu"), True
    samples = integer_pairs(0, 5, number=2)

    def errors(rng):
        yield (np.ones(2, np.float32), 1), NotImplementedError, "\"rshift_cpu\" not implemented for 'Float'"

@op("gcd(Tensor input, Tensor other) -> Tensor", family="binary", promotion="promote", result="same", quiet="all", broadcasts=True,
    inplace=True, dtypes="int")
class gcd:
    """The greatest common divisor.

    >>> torch.gcd(torch.tensor([12, 7]), torch.tensor([18, 14]))
    tensor([6, 7])
    """

    lacks = {"uint": "gcd_cpu"}
    numpy = np.gcd
    no_vmap_ = "shape"
    mindspore = "ops.Gcd"
    check = takes("int", "gcd_cpu")
    samples = integer_pairs()

    def errors(rng):
        yield (np.ones(2, np.float32), np.ones(2, np.float32)), NotImplementedError, "\"gcd_cpu\" not implemented for 'Float'"


@op("lcm(Tensor input, Tensor other) -> Tensor", family="binary", promotion="promote", result="same", quiet="all", broadcasts=True,
    inplace=True, dtypes="int")
class lcm:
    """The least common multiple.

    >>> torch.lcm(torch.tensor([4, 7]), torch.tensor([6, 14]))
    tensor([12, 14])
    """

    lacks = {"uint": "lcm_cpu"}
    numpy = np.lcm
    mindspore = "ops.Lcm"
    check = takes("int", "lcm_cpu")
    samples = integer_pairs()
