"""Rounding, bounds, and the larger and smaller of two, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...dtypes import BOOL, COMPLEX, FLOATING, INTEGER, DType, result_dtype, scalar_dtype
from ...errors import AutogradError, UnsupportedDTypeError
from ...executors.kernels import _common
from ...executors.kernels._common import AT_LEAST, AT_MOST, CEILED, FLOORED, ROUNDED, TRUNCATED
from ...executors.kernels import _in_place
from ...executors.kernels.changes import Alone, Change
from ...executors.kernels import halves
from ...executors.kernels.elementwise import BOUNDED, LARGER, SMALLER, difference_vjp, of_integers, one_pass
from ... import modes
from ...functions.constants import NUMBERS
from ...functions.out import FOUND
from ...functions.overloads import TENSOR_OR_NUMBER
from ...functions.refusals import no_kernel, on_meta, subtracted
from ...modes import recordings
from ...record import op
from ...strided import copy_like
from ...tensor import TensorRef
from .. import _mindspore as kernels
from .._samples import IN_ALL, category, check_number, domain, pairs, scalar_like, takes
from .arithmetic import broadcast_shapes
from ...annotations import Fn, Functions, Values

_core: Any = getattr(np, "core" if np.__version__.startswith("1.") else "_core")
_clip = _core.umath.clip  # the ufunc behind np.clip

# -- rounding -------------------------------------------------------------------------------------------------------


def _rounding(ufunc: np.ufunc) -> Fn:
    """A kernel that rounds floating-point numbers and leaves integers as they are."""
    @halves.simply(ufunc)
    def kernel(input: np.ndarray) -> np.ndarray:
        char = input.dtype.char
        if char == "f" or char == "d":
            return ufunc(input)
        return np.positive(input) if input.dtype.kind in "iu" else halves.ufunc(ufunc, input)

    return kernel


_ROUNDED = domain(-5, 5, kinks=range(-6, 7))


@op("ceil(Tensor input) -> Tensor", family="unary", result="same", quiet="all", inplace=True, dtypes="float int half",
    complex="NotImplementedError: ceil is not supported for complex inputs")
class ceil:
    """The next integer up.

    >>> torch.ceil(torch.tensor([1.5, -1.5]))
    tensor([ 2., -1.])
    """

    changes = {0: Change(CEILED, few=np.ceil)}
    keeps = "Q_INT"
    lacks = {"float8": "ceil_vml_cpu"}
    out_dtype = FOUND
    ufunc = np.ceil
    sparse = "in order"
    numpy = _rounding(np.ceil)
    mindspore = "ops.Ceil"

    def compose(F, input):  # for the integers, which MindSpore's kernel refuses
        return F.clone(input) if input.dtype.kind in "iu" else -F.floor(-input)

    check, refuses_bool = takes("int float", "ceil_vml_cpu"), True
    def vjp(F, grad): return F.zero_gradient(grad)
    samples = _ROUNDED

    def errors(rng):
        yield (np.array([True]),), NotImplementedError, "\"ceil_vml_cpu\" not implemented for 'Bool'"


@op("floor(Tensor input) -> Tensor", family="unary", result="same", quiet="all", inplace=True, dtypes="float int half",
    complex="NotImplementedError: floor is not supported for complex inputs")
class floor:
    """The next integer down.

    >>> torch.floor(torch.tensor([1.5, -1.5]))
    tensor([ 1., -2.])
    """

    changes = {0: Change(FLOORED, few=np.floor)}
    keeps = "Q_INT"
    lacks = {"float8": "floor_vml_cpu"}
    out_dtype = FOUND
    ufunc = np.floor
    sparse = "in order"
    numpy = _rounding(np.floor)
    mindspore = "ops.Floor"

    def compose(F, input):  # for the integers, which MindSpore's kernel refuses
        return F.clone(input) if input.dtype.kind in "iu" else F.where(F.gt(F.trunc(input), input), F.trunc(input) - 1, F.trunc(input))

    check, refuses_bool = takes("int float", "floor_vml_cpu"), True
    def vjp(F, grad): return F.zero_gradient(grad)
    samples = _ROUNDED


@op("trunc(Tensor input) -> Tensor", family="unary", result="same", quiet="all", inplace=True, alias="fix",
    dtypes="float int half", complex="NotImplementedError: trunc is not supported for complex inputs")
class trunc:
    """The next integer towards zero.

    >>> torch.trunc(torch.tensor([1.5, -1.5]))
    tensor([ 1., -1.])
    """

    changes = {0: Change(TRUNCATED, few=np.trunc)}
    keeps = "Q_INT"
    lacks = {"float8": "trunc_vml_cpu"}
    out_dtype = FOUND
    ufunc = np.trunc
    sparse = "in order"
    numpy = _rounding(np.trunc)
    mindspore = "ops.Trunc"

    def compose(F, input):  # for the integers, which MindSpore's kernel refuses
        return F.clone(input) if input.dtype.kind in "iu" else F.where(F.ge(input, 0), F.floor(input), F.ceil(input))

    check, refuses_bool = takes("int float", "trunc_vml_cpu"), True
    def vjp(F, grad): return F.zero_gradient(grad)
    samples = _ROUNDED


@op("frac(Tensor input) -> Tensor", family="unary", result="same", inplace=True, dtypes="float half")
class frac:
    """input - trunc(input).

    >>> torch.frac(torch.tensor([1.5, -1.5]))
    tensor([ 0.5000, -0.5000])
    """

    lacks = {"float8": "frac_cpu"}
    out_dtype = FOUND
    sparse = "in order"
    changes = {0: Alone(_in_place.FRACTION)}
    @one_pass("frac", simple=True)
    def numpy(input): return input - np.trunc(input)

    def compose(F, input): return input - F.trunc(input)
    check = takes("float", "frac_cpu", subtracted)
    def vjp(F, grad): return grad
    samples = _ROUNDED

    def errors(rng):
        yield (np.array([1]),), NotImplementedError, "\"frac_cpu\" not implemented for 'Long'"


def _round(input: np.ndarray, decimals: int | None = None) -> np.ndarray:
    if input.dtype.kind in "iu":
        return copy_like(input)
    if decimals:
        return _to_digits(input, 10.0 ** max(decimals, -decimals), float(decimals < 0))
    return np.rint(input) if input.itemsize > 2 else halves.ufunc(np.rint, input)


halves.simply(np.rint)(_round).takes_half = True  # type: ignore[attr-defined]


@one_pass("digits", exact=True)
def _to_digits(input: np.ndarray, number: float, before: float) -> np.ndarray:
    scale = input.dtype.type(number)
    return np.rint(input / scale) * scale if before else np.rint(input * scale) / scale


@op("round(Tensor input, *, int? decimals=None) -> Tensor", family="unary", result="same", inplace=True, alias="special.round",
    dtypes="float int half")
class round:
    """The nearest integer, or the nearest number with `decimals` digits; half-way cases go to the even one.

    >>> torch.round(torch.tensor([0.5, 1.5, 2.345]))
    tensor([0., 2., 2.])
    >>> torch.round(torch.tensor([2.345]), decimals=1)
    tensor([2.3000])
    """

    changes = {0: Change(ROUNDED, few=np.rint)}
    keeps = "Q_INT"
    lacks = {"float8": lambda input, decimals: "round_cpu" if decimals else "round_vml_cpu"}
    out_dtype = FOUND
    nodes = {"decimals is not None": "RoundBackward1"}

    def complex_kernel(decimals, **_): return "round_cpu" if decimals else "round_vml_cpu"
    ufunc = np.rint
    sparse = "in order"
    numpy = _round
    def mindspore(ms, input, decimals): return ms.ops.round(input, decimals=decimals or 0)  # which takes no digits but 0

    def compose(F, input, decimals):
        decimals = decimals or 0
        scale = 10.0 ** max(decimals, -decimals)
        return F.round(input * scale) / scale if decimals > 0 else F.round(input / scale) * scale

    def check(input, decimals):
        takes("int float" if decimals is None else "float", "round_cpu" if decimals else "round_vml_cpu")(input=input)

    def vjp(F, grad): return F.zero_gradient(grad)

    def samples(rng):
        yield (np.array([[0.3, -1.7], [2.2, 3.9]]),)
        yield np.array([0.3333, -1.2345]), 2
        yield np.array([333.3, -1234.5]), -2

    def errors(rng):
        yield (np.array([True]),), NotImplementedError, "\"round_vml_cpu\" not implemented for 'Bool'"
        yield (np.array([1]), 1), NotImplementedError, "\"round_cpu\" not implemented for 'Long'"
        yield (np.array([1]), 0), NotImplementedError, "\"round_vml_cpu\" not implemented for 'Long'"
        yield (np.array([True]), 1), NotImplementedError, "\"round_cpu\" not implemented for 'Bool'"


# -- bounds ---------------------------------------------------------------------------------------------------------


def _wider(input: TensorRef, *bounds: Any) -> bool:
    """Whether a bound is a tensor, or a number of a higher category than the input's, so that dtypes are promoted."""
    if not isinstance(input, TensorRef):
        return False
    own = input._k.dtype.category
    for bound in bounds:
        if bound is not None and (isinstance(bound, TensorRef) or scalar_like(bound) and scalar_dtype(bound).category > own):
            return True
    return False


class _Bounds(type(NUMBERS)):  # type: ignore[misc]  # its name is the other module's own
    """NUMBERS, but AutogradError for one beyond the dtype's range."""

    def __missing__(self, key: tuple[str, float]) -> np.ndarray:
        check_number(key[1], DType.by_name[np.dtype(key[0]).name])
        return super().__missing__(key)


_BOUNDS = _Bounds()


def _bound(input: np.ndarray, value: Any) -> np.ndarray:
    """A bound in the dtype of `input`, which Python's numbers beyond its range would change. Of integers they wrap around, as in torch."""
    if value.__class__ is int and input.dtype.kind in "iu":
        return np.asarray(value).astype(input.dtype)
    return _BOUNDS[input.dtype.char, value] if input.dtype.char in "fd" and not isinstance(value, np.ndarray) else value


def _check_bounds(input: TensorRef, *bounds: object) -> None:
    """Raises for numbers that the dtype of the result does not hold."""
    numbers = [b for b in bounds if scalar_like(b)]
    if not numbers:
        return
    dtype = result_dtype([(x._k.dtype, x.ndim) for x in (input, *bounds) if isinstance(x, TensorRef)], numbers)
    if dtype.category in (INTEGER, FLOATING):
        for b in numbers:
            check_number(b, dtype)


def _check_bound(input: TensorRef, **bound: object) -> None:
    if category(input) == BOOL and not _wider(input, *bound.values()):
        no_kernel(f"clamp_{next(iter(bound))}_scalar_cpu", input)
    _check_bounds(input, *bound.values())


_NO_COMPLEX = "NotImplementedError: clamp is not supported for complex types"


def _redirect(name: str) -> Fn:
    """A `redirect` to the operation with tensors for bounds where a bound has another category. `clamp` takes a complex bound
    that is real."""
    def redirect(input: Any, *bounds: Any) -> tuple[str, tuple[TensorRef | float | None, ...]] | None:
        if not _wider(input, *bounds):
            return None
        if name == "clamp" and category(input) == FLOATING and any([isinstance(b, complex) for b in bounds]):
            for b in bounds:
                if isinstance(b, complex):
                    check_number(b, DType.by_name["float64"])
            return name, (input, *[b.real if isinstance(b, complex) else b for b in bounds])
        found = _by_one(input, *bounds) if name == "clamp" and any([b is None for b in bounds]) else None
        return found or (f"{name}_tensor", (input, *bounds))

    return redirect


def _by_one(input: TensorRef, min: Any, max: Any) -> tuple[str, tuple[TensorRef | float | None, ...]] | None:
    """Of real numbers and one bound, where nobody looks or asks for a gradient, what brings them to one side of it."""
    name, bound = ("clamp_max_tensor", max) if min is None else ("clamp_min_tensor", min)
    tensors = [input, bound] if isinstance(bound, TensorRef) else [input]
    if recordings or modes.watched or bound.__class__ is bool or not all([
            t._node is None and t._k.special is None and t._k.dtype.name in _USUAL for t in tensors]) or (
            len(tensors) > 1 and np.may_share_memory(*[t._data for t in tensors])):  # which `clamp` refuses in place
        return None
    return name, (input, bound)


_USUAL = frozenset(["float32", "float64", "bfloat16", "float16", "int64", "int32", "int16", "int8", "uint8"])


def _check_clamp(input: TensorRef, min: TensorRef | None, max: TensorRef | None) -> None:
    if min is None and max is None:
        raise AutogradError("torch.clamp: At least one of 'min' or 'max' must not be None", remedy="pass a bound")
    if any(category(x) == COMPLEX for x in (input, min, max) if x is not None) and not on_meta(input):
        kernel = "minimum_cpu" if min is None else "maximum_cpu" if max is None else "clamp_cpu"
        bound = next((x for x in (min, max) if isinstance(x, TensorRef) and category(x) == COMPLEX), None)
        if category(input) != COMPLEX and bound is not None:
            no_kernel(kernel, bound)
        raise UnsupportedDTypeError("clamp is not supported for complex types", remedy="clamp real and imaginary parts")
    if category(input) == BOOL and not _wider(input, min, max):
        no_kernel("clamp_scalar_cpu" if None not in (min, max) else f"clamp_{'max' if min is None else 'min'}_scalar_cpu", input)
    _check_bounds(input, min, max)


_ENDS = np.iinfo(np.int64)


def _clamp(input: np.ndarray, min: np.ndarray | float | None = None, max: np.ndarray | float | None = None) -> np.ndarray:
    low, high = _ENDS.min if min is None else min, _ENDS.max if max is None else max
    if low.__class__ is int and high.__class__ is int and (found := of_integers(BOUNDED, input, low, high)) is not None:
        return found
    # by an array of no dimension, NumPy's ufunc of one bound takes no vectors
    if input.dtype.kind in "iu" and not isinstance(min, np.ndarray) and not isinstance(max, np.ndarray):
        ends = np.iinfo(input.dtype)
        return _clip(input, _bound(input, ends.min if min is None else min), _bound(input, ends.max if max is None else max))
    if min is not None:
        input = np.maximum(input, _bound(input, min))
    return input if max is None else np.minimum(input, _bound(input, max))


def _ends(min: object, max: object) -> tuple[float, float] | None:
    """The bounds as numbers of the compiled function; None where one is no number that all dtypes hold, or there is none."""
    ends: list[float] = []
    for bound, nothing in ((min, -math.inf), (max, math.inf)):
        if bound is None:
            ends.append(nothing)
        elif isinstance(bound, (int, float)) and -IN_ALL <= bound <= IN_ALL:
            ends.append(float(bound))
        else:
            return None
    return (ends[0], ends[1]) if min is not max else None


_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def _whole_ends(min: object, max: object) -> tuple[int, int] | None:
    """The bounds as int64; None where one is no such."""
    low, high = _LEAST if min is None else min, _MOST if max is None else max
    if low.__class__ is int and high.__class__ is int and _LEAST <= low and high <= _MOST and low <= _MOST and high >= _LEAST:
        return (low, high) if min is not max else None
    return None


def _keep(F: Functions, grad: Values, inside: Values) -> Values:
    """`grad` where `inside`, else zero."""
    return F.where(inside, grad, 0)


def _tangent(choice: Fn) -> Fn:
    """A `jvp` that chooses among the operands' tangents: `choice(F, operands, tangents)`, where an operand without a
    tangent has zeros. Of equal operands, and of NaN, torch's tangents are one operand's, or the mean of both,
    whatever their gradients are."""
    def jvp(F: Functions, outputs: Any, arguments: Any, tangents: Any) -> Any:
        return choice(F, *arguments.values(), *[tangents[n] if n in tangents else F.zeros_like(outputs[0]) for n in arguments])

    return jvp


def _clamp_tangent(F: Functions, input: Any, min: Any, max: Any, t: Any, at_min: Any, at_max: Any) -> Any:
    """The tangent of a clamp between tensors; a bound may be None."""
    if min is None or max is None:
        return F.where(input < max, t, at_max) if min is None else F.where(input > min, t, at_min)
    return F.where(min > max, at_max, F.where(input < min, at_min, F.where(input > max, at_max, t)))


@op("clamp(Tensor input, Scalar? min=None, Scalar? max=None) -> Tensor", family="unary", result="same", inplace=True, alias="clip",
    dtypes="float int half", node="ClampBackward1")
class clamp:
    """Elements brought into [min, max]; either bound may be None, a number or a tensor.

    >>> torch.clamp(torch.tensor([-1., 0.5, 2.]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """

    lacks = {"float8": "clamp_scalar_cpu"}
    out_dtype = FOUND
    changes = {0: Alone(_in_place.BOUNDED, lambda kind, min, max: (*ends, 0.0) if (ends := _ends(min, max)) else None, _whole_ends)}
    @one_pass("clamp", lambda min, max: _ends(min, max), simple=True)
    def numpy(input, min, max):
        if min is None and max is None:
            raise AutogradError("torch.clamp: At least one of 'min' or 'max' must not be None")
        if min is not None and max is not None and input.dtype.char in "fd":
            return _clip(input, _BOUNDS[input.dtype.char, min], _BOUNDS[input.dtype.char, max])
        return _clamp(input, min, max)

    def compose(F, input, min, max):
        input = input if min is None else F.maximum(input, min)
        return input if max is None else F.minimum(input, max)

    redirect = _redirect("clamp")
    check = _check_clamp

    def vjp(F, grad, input, min, max):
        if min is None or max is None:
            return _keep(F, grad, input <= max if min is None else input >= min)
        return _keep(F, grad, (input >= min) & (input <= max))

    def samples(rng):
        yield np.array([[-1.5, 0.25, 0.75, 2.0]]), -0.5, 0.5
        yield np.array([[-1.5, 0.25, 0.75, 2.0]]), None, 0.5
        yield np.array([[-1.5, 0.25, 0.75, 2.0]]), 0.5

    def errors(rng):
        yield (np.ones(2),), RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not be None"
        yield (np.ones(2, complex), 0, 1), NotImplementedError, "clamp is not supported for complex types"


@op("clamp_tensor(Tensor input, Operand min=None, Operand max=None) -> Tensor", promotion="promote", result="same", quiet="all",
    broadcasts=True, inplace=True, method=False, namespace="_internal", node="ClampBackward0", dtypes="float int half")
class clamp_tensor:
    """`clamp` with tensors for bounds, which broadcast and get gradients."""

    lacks = {"uint float8": "clamp_cpu", "bool": lambda min, max, **_: None if min is None or max is None else "clamp_cpu"}
    numpy = _clamp
    check = _check_clamp
    shape = broadcast_shapes

    def compose(F, input, min, max):
        input = input if min is None else F.maximum(input, min)
        return input if max is None else F.minimum(input, max)

    def vjp_input(F, grad, input, min, max):
        if min is None or max is None:
            return _keep(F, grad, input <= max if min is None else input >= min)
        return _keep(F, grad, (input >= min) & (input <= max))

    def vjp_min(F, grad, input, min, max): return _keep(F, grad, input < min if max is None else (min < max) & (input < min))
    def vjp_max(F, grad, input, min, max): return _keep(F, grad, input > max if min is None else (input > max) | (max < min))
    jvp = _tangent(_clamp_tangent)
    aten = "clamp.Tensor"

    def samples(rng):
        x = np.array([[-1.5, 0.25, 0.75, 2.0]])
        yield x, np.array([[-0.5], [0.6]]), np.array([1.0, 1.0, 0.5, 0.4])
        yield x, np.array(0.5), None
        yield x, None, np.array(0.5)


@op("clamp_min(Tensor input, Scalar min) -> Tensor", family="unary", result="same", inplace=True, dtypes="float int half",
    complex=_NO_COMPLEX)
class clamp_min:
    """Elements not below `min`, a number or a tensor.

    >>> torch.clamp_min(torch.tensor([-1., 2.]), 0)
    tensor([0., 2.])
    """

    changes = {0: Change(AT_LEAST, whole=(_in_place.BOUNDED, lambda value: (value, _MOST))), 1: Change(_common.LARGER)}
    lacks = {"float8": "clamp_min_scalar_cpu"}
    out_dtype = FOUND
    overloads = tuple([s.replace("other", "min") for s in TENSOR_OR_NUMBER])
    @one_pass("clamp", lambda min: _ends(min, None), simple=True)
    def numpy(input, min): return _clamp(input, min)
    def compose(F, input, min): return F.maximum(input, min)
    redirect = _redirect("clamp_min")
    check = _check_bound
    def vjp(F, grad, input, min): return _keep(F, grad, input >= min)
    def samples(rng): yield np.array([[-1.5, 0.25, 0.75, 2.0]]), 0.5


@op("clamp_max(Tensor input, Scalar max) -> Tensor", family="unary", result="same", inplace=True, dtypes="float int half",
    complex=_NO_COMPLEX)
class clamp_max:
    """Elements not above `max`, a number or a tensor.

    >>> torch.clamp_max(torch.tensor([-1., 2.]), 0)
    tensor([-1.,  0.])
    """

    changes = {0: Change(AT_MOST, whole=(_in_place.BOUNDED, lambda value: (_LEAST, value))), 1: Change(_common.SMALLER)}
    lacks = {"float8": "clamp_max_scalar_cpu"}
    out_dtype = FOUND
    overloads = tuple([s.replace("other", "max") for s in TENSOR_OR_NUMBER])
    @one_pass("clamp", lambda max: _ends(None, max), simple=True)
    def numpy(input, max): return _clamp(input, None, max)
    def compose(F, input, max): return F.minimum(input, max)
    redirect = _redirect("clamp_max")
    check = _check_bound
    def vjp(F, grad, input, max): return _keep(F, grad, input <= max)
    def samples(rng): yield np.array([[-1.5, 0.25, 0.75, 2.0]]), 0.5


@op("clamp_min_tensor(Tensor input, Operand min) -> Tensor", promotion="promote", result="same", quiet="all", broadcasts=True, inplace=True,
    method=False, namespace="_internal", node="ClampMinBackward1", dtypes="float int half",
    complex="maximum_cpu")
class clamp_min_tensor:
    """`clamp_min` with a tensor, which broadcasts and gets a gradient."""

    lacks = {"uint float8": "maximum_cpu"}
    def complex_kernel(input, min): return _NO_COMPLEX if min.__class__ is complex else "maximum_cpu"
    numpy = np.maximum
    check = _check_bound
    def compose(F, input, min): return F.maximum(input, min)
    shape = broadcast_shapes
    def vjp_input(F, grad, input, min): return _keep(F, grad, input >= min)
    def vjp_min(F, grad, input, min): return _keep(F, grad, input < min)
    jvp = _tangent(lambda F, x, y, t, u: F.where(x >= y, t, u))

    def samples(rng):
        yield np.array([[-1.5, 0.25, 0.75, 2.0]]), np.array([[-0.5], [0.6]])
        yield np.array([[-1.5, 0.25, 0.75, 2.0]]), np.array(0.5)


@op("clamp_max_tensor(Tensor input, Operand max) -> Tensor", promotion="promote", result="same", quiet="all", broadcasts=True, inplace=True,
    method=False, namespace="_internal", node="ClampMaxBackward1", dtypes="float int half",
    complex="minimum_cpu")
class clamp_max_tensor:
    """`clamp_max` with a tensor, which broadcasts and gets a gradient."""

    lacks = {"uint float8": "minimum_cpu"}
    def complex_kernel(input, max): return _NO_COMPLEX if max.__class__ is complex else "minimum_cpu"
    numpy = np.minimum
    check = _check_bound
    def compose(F, input, max): return F.minimum(input, max)
    shape = broadcast_shapes
    def vjp_input(F, grad, input, max): return _keep(F, grad, input <= max)
    def vjp_max(F, grad, input, max): return _keep(F, grad, input > max)
    jvp = _tangent(lambda F, x, y, t, u: F.where(x <= y, t, u))

    def samples(rng):
        yield np.array([[-1.5, 0.25, 0.75, 2.0]]), np.array([[-0.5], [0.6]])
        yield np.array([[-1.5, 0.25, 0.75, 2.0]]), np.array(0.5)


def _no_complex(name: str) -> Fn:
    def check(input: TensorRef, other: TensorRef) -> None:
        if COMPLEX in (category(input), category(other)) and not on_meta(input, other):
            raise AutogradError(f"{name} not implemented for complex tensors.", remedy="compare absolute values")

    return check


@op("maximum(Tensor input, Tensor other) -> Tensor", family="binary", promotion="promote", result="same", quiet="all", broadcasts=True,
    dtypes="float int bool half")
class maximum:
    """The larger of two elements; NaN where either is. Equal ones share the gradient.

    >>> torch.maximum(torch.tensor([1., 4.]), torch.tensor([3., 2.]))
    tensor([3., 4.])
    """

    changes = {0: Change(AT_LEAST), 1: Change(_common.LARGER)}
    lacks = {"uint float8": "maximum_cpu"}
    numpy = np.maximum
    mindspore = kernels.without_nan("Maximum")
    def compose(F, input, other): return F.where(F.logical_or(F.ge(input, other), F.ne(input, input)), input, other)
    check = _no_complex("maximum")
    @difference_vjp(LARGER)
    def vjp_input(F, grad, input, other): return F.masked_fill(F.where(input == other, grad / 2, grad), input < other, 0)
    @difference_vjp(LARGER)
    def vjp_other(F, grad, other, input): return F.masked_fill(F.where(input == other, grad / 2, grad), input > other, 0)
    jvp = _tangent(lambda F, x, y, t, u: F.where(x == y, u + (t - u) / 2, F.where(x > y, t, u)))
    samples = pairs(apart=True)

    def errors(rng):
        yield (np.ones(2), 2), TypeError, "maximum(): argument 'other' (position 2) must be Tensor, not int"
        yield (np.ones(2), np.ones(2, complex)), RuntimeError, "maximum not implemented for complex tensors."


@op("minimum(Tensor input, Tensor other) -> Tensor", family="binary", promotion="promote", result="same", quiet="all", broadcasts=True,
    dtypes="float int bool half")
class minimum:
    """The smaller of two elements; NaN where either is. Equal ones share the gradient.

    >>> torch.minimum(torch.tensor([1., 4.]), torch.tensor([3., 2.]))
    tensor([1., 2.])
    """

    changes = {0: Change(AT_MOST), 1: Change(_common.SMALLER)}
    lacks = {"uint float8": "minimum_cpu"}
    numpy = np.minimum
    mindspore = kernels.without_nan("Minimum")
    def compose(F, input, other): return F.where(F.logical_or(F.le(input, other), F.ne(input, input)), input, other)
    check = _no_complex("minimum")
    @difference_vjp(SMALLER)
    def vjp_input(F, grad, input, other): return F.masked_fill(F.where(input == other, grad / 2, grad), input > other, 0)
    @difference_vjp(SMALLER)
    def vjp_other(F, grad, other, input): return F.masked_fill(F.where(input == other, grad / 2, grad), input < other, 0)
    jvp = _tangent(lambda F, x, y, t, u: F.where(x == y, u + (t - u) / 2, F.where(x < y, t, u)))
    samples = pairs(apart=True)


@op("fmax(Tensor input, Tensor other) -> Tensor", family="binary", promotion="promote", result="same", quiet="all", broadcasts=True,
    dtypes="float int bool half")
class fmax:
    """The larger of two elements, and the number where one of them is NaN.

    >>> torch.fmax(torch.tensor([1., 4.]), torch.tensor([3., float('nan')]))
    tensor([3., 4.])
    """

    lacks = {"uint": "maximum_cpu", "float8": "fmax_cpu"}
    numpy = np.fmax
    def compose(F, input, other): return F.where(F.isnan(other) | (input >= other), input, other)
    check = _no_complex("fmax")
    def vjp_input(F, grad, input, other): return _keep(F, grad, (input >= other) | F.isnan(other))
    def vjp_other(F, grad, input, other): return F.masked_fill(grad, (input >= other) | F.isnan(other), 0)
    jvp = _tangent(lambda F, x, y, t, u: F.where((x > y) | F.isnan(y), t, u))
    samples = pairs(apart=True)


@op("fmin(Tensor input, Tensor other) -> Tensor", family="binary", promotion="promote", result="same", quiet="all", broadcasts=True,
    dtypes="float int bool half")
class fmin:
    """The smaller of two elements, and the number where one of them is NaN.

    >>> torch.fmin(torch.tensor([1., 4.]), torch.tensor([3., float('nan')]))
    tensor([1., 4.])
    """

    lacks = {"uint": "minimum_cpu", "float8": "fmin_cpu"}
    numpy = np.fmin
    def compose(F, input, other): return F.where(F.isnan(other) | (input <= other), input, other)
    check = _no_complex("fmin")
    def vjp_input(F, grad, input, other): return _keep(F, grad, (input <= other) | F.isnan(other))
    def vjp_other(F, grad, input, other): return F.masked_fill(grad, (input <= other) | F.isnan(other), 0)
    jvp = _tangent(lambda F, x, y, t, u: F.where((x <= y) | F.isnan(y), t, u))
    samples = pairs(apart=True)
