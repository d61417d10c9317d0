"""Writing into a tensor's memory: copy_, fill_, zero_."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...annotations import Functions, Values
from ...dtypes import CPU_KINDS, DType, bfloat16, fitting, float16, number_array
from ...errors import ArgumentError, AutogradError
from ...dims import broadcast_shape
from ...executors.kernels._common import COPIED, FILLED
from ...executors.kernels.changes import Change, nothing
from ...executors.kernels.handy import Handy
from ...executors.kernels.sharing import BIG, copy_into, fill as fill_with, set_all
from ...record import no_derivative, op
from ...functions.namespace import REALS
from ...strided import storage_offset, strided
from ...tensor import TensorRef
from .._host import on_host
from .._samples import check_number
from .create import WORD, half_bits
from .scatter import is_plain


def _everywhere(F: Functions, tangent: TensorRef, output: TensorRef) -> TensorRef:
    """The tangent of what is written, as the written tensor has it."""
    return F.cast(F.expand(tangent, tuple(output.shape)), output._k.dtype)


def _copy(input: np.ndarray, src: np.ndarray) -> np.ndarray:
    if src.dtype.kind == "c" and input.dtype.kind != "c":
        src = src.real
    try:
        return np.broadcast_to(src, input.shape)
    except ValueError:
        raise AutogradError(f"output with shape {list(input.shape)} doesn't match the broadcast shape "
                            f"{list(broadcast_shape(input.shape, src.shape))}") from None


_HALVES = frozenset([float16.np, bfloat16.np])
_SET_ALIKE = frozenset("fdl?")  # dtypes that NumPy sets to plain numbers of theirs as torch does
_FEW, _SHORT = 4096, 16  # elements that NumPy copies as quickly, whatever their rows, and those of a short row
_U2 = np.dtype("u2")  # as what half precision is moved


@op("copy(Tensor input, Operand other, bool non_blocking=False) -> Tensor", family="store", result="same", quiet="all", method=False,
    inplace=True, out=False, node="CopyBackwards", namespace="_internal", dtypes="float")
class copy:
    """`input` overwritten with the values of `other`, which may be on another device, or a number; `Tensor.copy_`.

    >>> torch.zeros(2).copy_(torch.tensor([1., 2.]))
    tensor([1., 2.])
    """

    changes = {1: Change(COPIED)}
    def sharding(call): return call.elementwise()
    def numpy(input, other, non_blocking=False): return _copy(input, other)
    def store(a, other):
        if other.ndim > a.ndim:
            raise ValueError("NumPy would drop leading dimensions of size one")
        if other.dtype is not a.dtype:
            a[...] = fitting(other, a.dtype)
            return
        if a.dtype.isbuiltin != 1:
            a, other = a.view(_U2), other.view(_U2)
        if a.size > _FEW and other.shape != a.shape and 1 < a.shape[-1] < _SHORT and a.flags.c_contiguous:  # NumPy begins each row anew
            copy_into(np.broadcast_to(other, a.shape), a)
        else:
            a[...] = other
    may_share = "same"
    method_ = True
    aten = "copy.default"

    def compose(F, input, other, non_blocking=False): return _copy(input, other)
    def shape(input, other, non_blocking=False):
        both = tuple(broadcast_shape(input, other))
        if both != tuple(input):
            raise AutogradError(f"output with shape {list(input)} doesn't match the broadcast shape {list(both)}")
        return input

    def place(values): return values["input"]._k.device
    def vjp_input(F, grad): return F.zero_gradient(grad)
    def vjp_other(F, grad, other_shape): return F.reduce_to_shape(grad, tuple(other_shape))
    def jvp(F, outputs, arguments, tangents): return _everywhere(F, tangents["other"], outputs[0]) if "other" in tangents else None
    no_vmap_ = "arithmetic"
    def samples(rng):
        yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
        yield rng.standard_normal((2, 3)), rng.standard_normal(3)


_filled, _AS, _SOME = Handy("arithmetic", "fill"), {"E": "H", "e": "H", "l": "d"}, 256
"""What sets many elements of dtypes that NumPy sets slower, as what it takes them, and elements that NumPy sets as soon."""
_patterns: dict[tuple[str, Any], Any] = {}  # numbers as these kernels take them, but zeros, which are equal


def _pattern(value: Any, dtype: np.dtype) -> Any:
    pattern = number_array(value, DType.by_np[dtype]).view(_AS[dtype.char]).item()
    if value and value == value:
        if len(_patterns) > 1000:
            _patterns.clear()
        _patterns[dtype.char, value] = pattern
    return pattern


def _set(a: np.ndarray, value: Any) -> None:
    """Sets all elements to a number."""
    dtype, n = a.dtype, a.size
    char = dtype.char
    if char in "fd" and ((flags := a.flags).carray or n < _FEW):
        set_all(a, value)
    elif n >= _SOME and (char in "eE" or char == "l" and n >= _FEW) and n < BIG and (flags := a.flags).forc and flags.aligned and (
            run := _filled.of(_AS[char], n)) is not None:
        pattern, rows = _patterns.get((char, value)), a if flags.c_contiguous else a.T
        run(n, 1, rows if char == "E" else rows.view(_AS[char]), _pattern(value, dtype) if pattern is None else pattern)
    elif value.__class__ is float or value.__class__ is int or value.__class__ is bool:
        k = CPU_KINDS[a.dtype]
        number = k.scalars.get(value)
        fill_with(a, k.scalar(value) if number is None else number)
    else:  # others round twice, have codes, or wrap numbers around that NumPy refuses
        fill_with(a, number_array(value, DType.by_np[a.dtype]))


@op("fill(Tensor input, Operand value) -> Tensor", family="store", quiet="all", inplace=True, out=False, node="FillBackward1")
class fill:
    """A tensor like `input` with every element `value`.

    >>> torch.fill(torch.zeros(2), 3.)
    tensor([3., 3.])
    """

    def sharding(call): return call.elementwise()
    meta_layout = "input"
    number_fits = True
    numbers = {"value": "FillBackward0"}
    node_, numbers_ = "FillBackward3", {"value": "FillBackward2"}

    def numpy(input, value):
        result = np.empty(input.shape, input.dtype) if input.flags.c_contiguous else np.empty_like(input)
        if value.__class__ is float or value.__class__ is int:
            _set(result, value)
        elif value.dtype is result.dtype:
            fill_with(result, value)
        else:
            fill_with(result, np.asarray(fitting(value, input.dtype), input.dtype))
        return result
    store = _set
    may_share = "itself others"
    def check(input, value): check_number(value, input.dtype)
    def compose(F, input, value): return np.full(input.shape, value, input.dtype)
    def shape(input, value): return input
    def vjp_input(F, grad): return F.zero_gradient(grad)
    def vjp_value(F, grad): return F.sum(grad)
    def jvp(F, outputs, arguments, tangents):
        return _everywhere(F, tangents["value"], outputs[0]) if "value" in tangents else F.zeros_like(outputs[0])
    no_vmap_ = "name"
    def samples(rng): yield rng.standard_normal((2, 3)), 1.5


@op("zero(Tensor input) -> Tensor", family="store", quiet="all", inplace=True, out=False, method=False, namespace="_internal")
class zero:
    """A tensor like `input` with every element zero; `Tensor.zero_`.

    >>> torch.ones(2).zero_()
    tensor([0., 0.])
    """

    changes = {0: Change(FILLED, nothing)}
    any_dtype = True
    passes_partial = "all"
    def sharding(call): return call.elementwise()

    def numpy(input): return np.zeros(input.shape, input.dtype)
    def store(a): a.fill(0) if a.dtype.isbuiltin == 1 else fill_with(a, np.zeros((), a.dtype))
    may_share = "itself"
    method_ = True
    def compose(F, input): return np.zeros(input.shape, input.dtype)
    def shape(input): return input
    def vjp(F, grad): return F.zero_gradient(grad)
    aten = "zero"
    def samples(rng): yield (rng.standard_normal((2, 3)),)


@op("drawn(Tensor input, Tensor numbers, str by) -> Tensor", family="store", quiet="all", inplace=True, out=False, method=False,
    namespace="_internal")
class drawn:
    """A tensor like `input` with `numbers` in its place that have no derivative by what was there: random ones, or those of a comparison,
    by the method `by`.
    """

    def sharding(call): return call.elementwise()
    nodes = {f"by == '{by}'": node for by, node in (
        ("uniform_", "UniformBackward0"), ("normal_", "NormalBackward0"), ("bernoulli_", "BernoulliBackward2"),
        ("exponential_", "ExponentialBackward0"), ("cauchy_", "CauchyBackward0"), ("log_normal_", "LogNormalBackward0"),
        ("geometric_", "GeometricBackward0"), ("random_", "RandomBackward2"), ("eq_", "EqBackward1"), ("ne_", "NeBackward1"),
        ("lt_", "LtBackward1"), ("le_", "LeBackward1"), ("gt_", "GtBackward1"), ("ge_", "GeBackward1"))}

    def numpy(input, numbers, by): return _copy(input, numbers)
    def store(a, numbers, by): a[...] = numbers
    def compose(F, input, numbers, by): return _copy(input, numbers)
    def shape(input, numbers, by): return input
    def vjp_input(F, grad): return F.zero_gradient(grad)
    def samples(rng): yield rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), "normal_"


_WITHOUT = {"bernoulli(p)": "bernoulli", "binomial": "binomial", "_sample_dirichlet": "_sample_dirichlet"}
"""The ways of drawing whose derivative torch refuses, and the operation that it names."""


def _zero(F: Functions, grad: Values, by: str) -> Values:
    return no_derivative(_WITHOUT[by])(F, grad) if by in _WITHOUT else F.zero_gradient(grad)


@op("sampled(Tensor numbers, Tensor parameter, Tensor? other, str by) -> Tensor", family="ternary", promotion="none", result="same",
    quiet="all", broadcasts=True, out=False, method=False, namespace="_internal")
class sampled:
    """Random `numbers`, drawn by `by` with parameters that are tensors. The parameters' gradients are zeros: numbers drawn are taken to
    be constants.
    """

    nodes = {f"by == '{by}'": node for by, node in (
        ("bernoulli", "BernoulliBackward0"), ("poisson", "PoissonBackward0"), *((by, "NotImplemented") for by in _WITHOUT),
        ("normal(mean)", "NormalBackward1"), ("normal(std)", "NormalBackward2"), ("normal(mean, std)", "NormalBackward3"))}

    def numpy(numbers, parameter, other, by):
        parameters = [p.shape for p in (parameter, other) if p is not None]
        return np.broadcast_to(numbers, np.broadcast_shapes(numbers.shape, *parameters)).copy()

    compose = on_host(numpy)
    def shape(numbers, parameter, other, by): return np.broadcast_shapes(*[s for s in (numbers, parameter, other) if s is not None])
    def no_forward(by, **_): return f"aten::{_WITHOUT[by]}" if by in _WITHOUT else None
    vjp_parameter = vjp_other = _zero
    def samples(rng): yield rng.standard_normal((2, 3)), rng.uniform(0, 1, (2, 3)), rng.uniform(0, 1, (3,)), "normal(mean, std)"


@op("fill_diagonal_(Tensor input, Scalar fill_value, bool wrap=False) -> Tensor", namespace="Tensor", out=False)
class fill_diagonal_:
    """The main diagonal overwritten with a number: elements whose indices are all equal. With `wrap`, the diagonal of a tall matrix
    begins anew a row after its end.

    >>> torch.zeros(2, 2).fill_diagonal_(3.)
    tensor([[3., 0.],
            [0., 3.]])
    """

    def overwrites(a, fill_value, wrap):
        shape = a.shape
        if wrap is not False or len(shape) < 2 or len(shape) > 2 and len({*shape}) > 1 or not a.size or not is_plain(fill_value, a.dtype):
            return False
        n, step = min(shape[:2]), (sum(a.strides),)
        diagonal = np.ndarray(n, a.dtype, a, 0, step) if a.flags.c_contiguous else strided(a, (n,), step)
        if fill_value and a.dtype in _HALVES:
            diagonal.view(WORD).fill(half_bits(CPU_KINDS[a.dtype], fill_value))
            return True
        diagonal.fill(fill_value) if a.dtype.char in _SET_ALIKE else _set(diagonal, fill_value)
        return True

    def function(F, input, fill_value, wrap=False):
        data = input._data
        shape, n = data.shape, data.ndim
        if not isinstance(fill_value, (int, float, complex, np.generic, TensorRef)):
            found = type(fill_value).__name__
            raise ArgumentError(f"fill_diagonal_(): argument 'fill_value' (position 1) must be Number, not {found}", expected="a number",
                                found=found)
        if n < 2:
            raise AutogradError("dimensions must larger than 1")
        if n > 2 and len({*shape}) > 1:
            raise AutogradError("all dimensions of input must be of equal length")
        k = input._k
        if fill_value.__class__ in REALS and (not wrap or n == 2 and data.flags.c_contiguous) and input._node is None and (
                input._base is None or input._base._node is None) and (k in F.namespace["Q_ALL"] or k in F.namespace["Q_HALF"]):
            F.check_inplace(input, [])
            if not -1 < fill_value < 128:  # which all dtypes hold
                check_number(fill_value, k.dtype)
            number = k.scalars.get(fill_value)
            if number is None:
                number = k.scalar(fill_value)
            if wrap and data.size:
                fill_with(data.reshape(-1)[::shape[1] + 1], number)
            elif data.size:
                diagonal = np.ndarray(min(shape[:2]), data.dtype, data, 0, (sum(data.strides),)) if data.flags.c_contiguous else (
                    strided(data, (min(shape[:2]),), (sum(data.strides),)))
                fill_with(diagonal, number)
            F.bump(input)
            return input
        steps = [s // data.itemsize for s in data.strides]
        offset = storage_offset(data) if data.size else 0
        length, step = min(shape[:2]), sum(steps)
        F.fill_(F.as_strided(input, (length,), (step,), offset), fill_value)
        height, width = shape[:2]
        if wrap and n == 2 and height > width + 1:
            again = -(-data.size // (width + 1)) - length
            F.fill_(F.as_strided(input, (again,), (step,), offset + steps[0] * (width + 1)), fill_value)
        return input

    def samples(rng):
        yield rng.standard_normal((3, 3)), 2.0
        yield rng.integers(0, 9, (7, 2)), -1, True

    def errors(rng):
        yield (np.ones(3), 1), RuntimeError, "dimensions must larger than 1"
        yield (np.ones((2, 3, 2)), 1), RuntimeError, "all dimensions of input must be of equal length"
