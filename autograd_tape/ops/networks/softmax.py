"""Softmax and its logarithm. Big tensors go to the fused kernels; small ones take the fewest NumPy calls."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import warned
from ...dims import wrap_dim
from ...dtypes import FLOATING, SCALAR_TYPE_NAMES, float64
from ...errors import AutogradError, ShapeMismatchError
from ...executors.kernels import loops, softmax as fused
from ...executors.kernels._on_demand import contiguous, state
from ...executors.kernels.loops import ALONE
from ...executors.kernels.sharing import ufunc1
from ...executors.kernels.halves import narrow, signed, widened
from ...functions.constants import NARROW, SMALL, SQUARES
from ...functions.out import EXPECTED
from ...functions.refusals import no_kernel, on_meta, subtracted
from ...record import get_record, op
from .. import _batch as batches
from .. import _mindspore as kernels
from .._precision import in_halves, in_single
from .._samples import takes_floats
from ...annotations import Fn, Functions

if TYPE_CHECKING:
    from ...dtypes import DType
    from ...tensor import TensorRef

_exp, _log, _max, _min, _sum, _divide = np.exp, np.log, np.maximum.reduce, np.minimum.reduce, np.add.reduce, np.divide
_ones: dict[tuple[int, str], np.ndarray] = {}


def ones_column(n: int, char: str, value: float = 1.0) -> np.ndarray:
    """(n, 1) of `value`, kept: a product with it sums rows in half the time of a reduction."""
    key = (n, char) if value == 1.0 else (-n, char)
    column = _ones.get(key)
    if column is None:
        if len(_ones) > 1000:
            _ones.clear()
        column = _ones[key] = np.full((n, 1), value, char)
    return column


# The exponentials of numbers whose squares sum up to less neither overflow nor vanish, so that no maximum need be subtracted.
_MODERATE = 2000.0
_forward = loops.Loop(loops.softmax, 1, chars="fdeE")
_backward = loops.Loop(loops.softmax_backward, 2, chars="fdeE")
_HALF = {"E": 1, "e": 2}  # as the loop has them
_PLAIN = frozenset("fd")
_empty = np.empty


def _along(shape: tuple[int, ...], dim: int) -> tuple[int, int]:
    """How many classes there are, and how many elements follow each."""
    dim = wrap_dim(dim, len(shape))
    return shape[dim], prod(shape[dim + 1:])


def _few(input: np.ndarray, dim: int, log: int, half: int = 0) -> np.ndarray:
    """The softmax of few numbers, or its logarithm, by the loop, which is called at once where its machine code is at hand."""
    dtype, shape, size, char = input.dtype, input.shape, input.size, input.dtype.char
    classes, inner = (shape[-1], 1) if dim == -1 or dim == len(shape) - 1 else _along(shape, dim)
    out = _empty(shape, dtype)
    if (run := _forward.ready.get(char)) is None:
        _forward(char, size // classes, size, input if input.flags.carray else input.copy(), out, classes, inner, log, half)
    else:
        run(ALONE, size // classes, 1, input if input.flags.carray else input.copy(), out, classes, inner, log, half)
    return out


def _few_backward(grad: np.ndarray, output: np.ndarray, dim: int, log: int) -> np.ndarray:
    dtype, shape, size, char = output.dtype, output.shape, output.size, output.dtype.char
    classes, inner = (shape[-1], 1) if dim == -1 or dim == len(shape) - 1 else _along(shape, dim)
    out, single = _empty(shape, dtype), 0 if char == "d" else 1
    g = grad if grad.dtype is dtype else grad.astype(dtype)
    g, y = g if g.flags.carray else g.copy(), output if output.flags.carray else output.copy()
    if (run := _backward.ready.get(char)) is None:
        _backward(char, size // classes, size, g, y, out, classes, inner, log, single)
    else:
        run(ALONE, size // classes, 1, g, y, out, classes, inner, log, single)
    return out


def softmax_values(input: np.ndarray, dim: int) -> np.ndarray:
    size = input.size
    if 0 < size <= state.short and input.ndim:
        return _few(input, dim, 0)
    if size >= state.fused or not size or not input.ndim:
        return fused.forward(input, dim, 0) if input.dtype.char in _PLAIN and size and input.ndim else fused.softmax(input, dim)
    if _moderate(input):
        y = _exp(input)
        return _divide(y, _totals(y, dim), y)
    y = input - _max(input, dim, None, None, True)
    _exp(y, y)
    return _divide(y, _totals(y, dim), y)


def _moderate(x: np.ndarray) -> bool:
    """Whether exponentials neither overflow nor vanish, so that no maximum need be subtracted; false for NaN."""
    flat = x.ravel("K")
    return float(flat.dot(flat)) < _MODERATE or x.size > SMALL and -40 < _min(flat) and _max(flat) < 40


def _totals(e: np.ndarray, dim: int) -> np.ndarray:
    """Sums along `dim`, which keep it."""
    shape = e.shape
    if (dim == -1 or dim == len(shape) - 1) and e.flags.c_contiguous:
        if e.size <= SMALL and shape[-1] <= NARROW:
            return e.dot(SQUARES[e.dtype.char, shape[-1]])
        return e.dot(ones_column(shape[-1], e.dtype.char))
    return _sum(e, dim, None, None, True)


def _log_softmax_values(input: np.ndarray, dim: int) -> np.ndarray:
    size = input.size
    if 0 < size <= state.short and input.ndim:
        return _few(input, dim, 1)
    if size >= state.fused or not size or not input.ndim:
        return fused.forward(input, dim, 1) if input.dtype.char in _PLAIN and size and input.ndim else fused.log_softmax(input, dim)
    if _moderate(input):
        y = _exp(input)
        return _log(_divide(y, _totals(y, dim), y), y)
    y = input - _max(input, dim, None, None, True)
    y -= _log(_totals(_exp(y), dim))
    return y


def _softmax_half(input: np.ndarray, dim: int) -> np.ndarray:
    """`softmax` of half precision; torch keeps exponentials in half precision where `dim` is not the last."""
    last = dim == -1 or wrap_dim(dim, input.ndim) >= input.ndim - 1 or not input.size
    if 0 < input.size <= state.short and input.ndim and input.dtype.isnative:
        return _few(input, dim, 0, 0 if last else _HALF[input.dtype.char])
    if _for_kernels(input):
        return fused.forward(input, dim, 0)
    wide = widened(input)
    if last:
        return narrow(softmax_values(wide, dim), input.dtype)
    e = _exp(wide - _max(wide, dim, None, None, True))
    return narrow(widened(narrow(e, input.dtype)) / _sum(e, dim, None, None, True), input.dtype)


def _log_softmax_half(input: np.ndarray, dim: int) -> np.ndarray:
    """`log_softmax` of half precision; torch rounds the sum of exponentials and its logarithm where `dim` is the last."""
    last = (dim == -1 or wrap_dim(dim, input.ndim) >= input.ndim - 1) and input.size and input.ndim
    if 0 < input.size <= state.short and input.ndim and input.dtype.isnative:
        return _few(input, dim, 1, _HALF[input.dtype.char] if last else 0)
    if _for_kernels(input):
        return fused.forward(input, dim, 1)
    wide, half = widened(input), input.dtype
    if not last:
        return narrow(_log_softmax_values(wide, dim), half)
    wide = wide - _max(wide, dim, None, None, True)
    e = _exp(wide)
    total = _sum(e, dim, None, None, True).astype(half).astype(np.float32)
    wide -= _log(total).astype(half).astype(np.float32)
    return narrow(wide, half)


def _for_kernels(x: np.ndarray) -> bool:
    """Whether half precision, of which fewer numbers are many, is for a kernel."""
    return x.size >= state.fused >> 4 and x.size > 0 and x.ndim > 0 and x.dtype.isnative


def _backward_half(grad: np.ndarray, output: np.ndarray, dim: int) -> np.ndarray:
    return _in_half(grad, output, dim, 0, _softmax_backward)


def _log_backward_half(grad: np.ndarray, output: np.ndarray, dim: int) -> np.ndarray:
    return _in_half(grad, output, dim, 1, _log_softmax_backward)


def _in_half(grad: np.ndarray, output: np.ndarray, dim: int, log: int, plain: Fn) -> np.ndarray:
    """The gradient of half precision, rounded once."""
    if output.ndim and grad.dtype == output.dtype and output.dtype.isnative:
        if 0 < grad.size <= state.short:
            return _few_backward(grad, output, dim, log)
        if _for_kernels(output):
            return fused.backward(grad, output, dim, log)
    return narrow(plain(widened(grad), widened(output), dim), output.dtype)


def _softmax_backward(grad: np.ndarray, output: np.ndarray, dim: int) -> np.ndarray:
    if 0 < grad.size <= state.short and output.ndim and output.dtype.char in "fd":
        return _few_backward(grad, output, dim, 0)
    if grad.size >= state.fused and grad.ndim and grad.dtype is output.dtype and grad.dtype.char in _PLAIN and grad.shape == output.shape:
        return fused.backward(grad, output, dim, 0)
    if grad.size >= state.fused or not grad.size or not grad.ndim:
        return fused.softmax_backward(grad, output, dim)
    dx = grad * output
    dx -= output * _totals(dx, dim)
    return dx


def _log_softmax_backward(grad: np.ndarray, output: np.ndarray, dim: int) -> np.ndarray:
    if 0 < grad.size <= state.short and output.ndim and output.dtype.char in "fd":
        return _few_backward(grad, output, dim, 1)
    if grad.size >= state.fused and grad.ndim and grad.dtype is output.dtype and grad.dtype.char in _PLAIN and grad.shape == output.shape:
        return fused.backward(grad, output, dim, 1)
    if grad.size >= state.fused or not grad.size or not grad.ndim:
        return fused.log_softmax_backward(grad, output, dim)
    dx = _exp(output)
    dx *= _totals(grad, dim)
    return np.subtract(grad, dx, dx)


def _check(kernel: str) -> Any:
    @takes_floats
    def check(input: TensorRef, dim: int, dtype: DType | None) -> None:
        wrap_dim(dim, input.ndim)
        d = input.dtype if dtype is None else dtype
        if d.category < FLOATING or d.is_complex:
            last = "lastdim_" if wrap_dim(dim, input.ndim) == max(input.ndim - 1, 0) else ""
            if not input._data.size:
                return
            no_kernel(f"{kernel}_{last}kernel_impl", input, d, subtracted if kernel == "log_softmax" else None)

    return check


def _refused(name: str, input: TensorRef, dim: int, dtype: DType | None) -> str | None:
    """The kernel that torch names where it refuses complex numbers; None where they become a `dtype` first, which `_check` looks at."""
    if dtype is not None:
        return None
    return f"{name}_{'lastdim_' if dim in (-1, input.ndim - 1) else ''}kernel_impl"


def _mean_tangent(F: Functions, outputs: Any, arguments: Any, tangents: Any) -> Any:
    """(the tangent, less its mean in the proportions of the softmax), in torch's steps, each of which rounds half precision."""
    (t, input), dim = [F.cast(x["input"], outputs[0].dtype) for x in (tangents, arguments)], arguments["dim"]
    if not t.numel():
        return t
    e = F.exp(input - F.amax(input.detach(), dim, True))
    return t - F.sum(e * t, dim, True) / F.sum(e, dim, True)


def _samples(rng: np.random.Generator) -> Any:
    yield rng.standard_normal((2, 3)), 1
    yield rng.standard_normal((2, 3, 4)), -2
    yield rng.standard_normal(3), 0


@op("softmax(Tensor input, int dim, dtype? dtype=None) -> Tensor", alias="special.softmax")
class softmax:
    """exp(input) / sum(exp(input)) along `dim`, computed after subtracting the maximum.

    >>> torch.softmax(torch.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """

    composite = "softmax.int"
    lacks = {"float8": "softmax_lastdim_kernel_impl"}
    sharding = "along dim or composed"
    out_dtype = EXPECTED
    layout = "rows"
    def complex_kernel(input, dim, dtype=None, **_): return _refused("softmax", input, dim, dtype)
    numpy = softmax_values
    half = _softmax_half
    mindspore = kernels.along("Softmax")
    def compose(F, input, dim):
        e = F.exp(input - F.amax(input, dim, True))
        return e / F.sum(e, dim, True)
    check = _check("softmax")
    def shape(input, dim): return input
    def vjp(F, grad, result, dim): return F.softmax_backward(grad, result, dim)
    def jvp(F, outputs, arguments, tangents): return outputs[0] * _mean_tangent(F, outputs, arguments, tangents)
    aten = "_softmax(cast(input, dtype), dim, False)"
    samples = _samples

    def errors(rng):
        yield (np.ones(2), 3), IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got 3)"
        yield (np.array([1, 2]), 0), NotImplementedError, "\"softmax_lastdim_kernel_impl\" not implemented for 'Long'"


@op("log_softmax(Tensor input, int dim, dtype? dtype=None) -> Tensor", alias="special.log_softmax")
class log_softmax:
    """input - log(sum(exp(input))) along `dim`, computed after subtracting the maximum.

    >>> torch.log_softmax(torch.tensor([0., 0.]), dim=0)
    tensor([-0.6931, -0.6931])
    """

    composite = "log_softmax.int"
    lacks = {"float8": "log_softmax_lastdim_kernel_impl"}
    sharding = "along dim or composed"
    out_dtype = EXPECTED
    layout = "rows"
    def complex_kernel(input, dim, dtype=None, **_): return _refused("log_softmax", input, dim, dtype)
    numpy = _log_softmax_values
    half = _log_softmax_half
    mindspore = kernels.along("LogSoftmax", single=True)
    def compose(F, input, dim):
        y = input - F.amax(input, dim, True)
        return y - F.log(F.sum(F.exp(y), dim, True))
    check = _check("log_softmax")
    def shape(input, dim): return input
    def vjp(F, grad, result, dim): return F.log_softmax_backward(grad, result, dim)
    jvp = _mean_tangent
    aten = "_log_softmax(cast(input, dtype), dim, False)"
    samples = _samples

    def errors(rng):
        yield (np.array([1, 2]), 0), NotImplementedError, "\"log_softmax_lastdim_kernel_impl\" not implemented for 'Long'"


# Gradients of the gradients are in torch's steps, each of which rounds half precision.


@op("softmax_backward(Tensor cotangent, Tensor output, int dim) -> Tensor", namespace="_internal", method=False, out=False,
    node="SoftmaxBackwardDataBackward0")
class softmax_backward:
    """output * (cotangent - sum(cotangent * output)) along `dim`."""

    batch = batches.alike_along_dim
    sharding = "along dim or composed"
    layout = "rows"
    numpy = _softmax_backward
    half = _backward_half
    def shape(cotangent, output, dim): return output
    def compose(F, cotangent, output, dim): return output * (cotangent - F.sum(cotangent * output, dim, True))
    def vjp_cotangent(F, grad, output, dim): return F.softmax_backward(grad, output, dim)
    @in_halves
    def vjp_output(F, grad, cotangent, output, dim):
        return cotangent * grad - F.sum(output * cotangent, dim, True) * grad - cotangent * F.sum(output * grad, dim, True)
    def samples(rng): yield rng.standard_normal((2, 3)), rng.uniform(0.1, 0.9, (2, 3)), 1


@op("log_softmax_backward(Tensor cotangent, Tensor output, int dim) -> Tensor", namespace="_internal", method=False, out=False,
    node="LogSoftmaxBackwardDataBackward0")
class log_softmax_backward:
    """cotangent - exp(output) * sum(cotangent) along `dim`."""

    batch = batches.alike_along_dim
    sharding = "along dim or composed"
    layout = "rows"
    numpy = _log_softmax_backward
    half = _log_backward_half
    def shape(cotangent, output, dim): return output
    def compose(F, cotangent, output, dim): return cotangent - F.exp(output) * F.sum(cotangent, dim, True)
    @in_halves
    def vjp_cotangent(F, grad, output, dim): return grad - F.sum(grad * F.exp(output), dim, True)
    @in_halves
    def vjp_output(F, grad, cotangent, output, dim): return -F.sum(cotangent, dim, True) * F.exp(output) * grad
    def samples(rng): yield rng.standard_normal((2, 3)), -rng.uniform(0.1, 0.9, (2, 3)), 1


# -- as ATen has them -------------------------------------------------------------------------------------------------


def _at_once(single: Fn, half: Fn, log: int) -> Fn:
    """What a softmax is of a plain array: by the loop of few numbers or the kernel of many, in which it ends in any case, else as the
    operation finds it."""
    def values(input: np.ndarray, dim: int) -> np.ndarray:
        size, char = input.size, input.dtype.char
        if char in _PLAIN:
            if 0 < size <= state.short and input.ndim:
                return _few(input, dim, log)
            if state.fused <= size and size and input.ndim:
                return fused.forward(input, dim, log)
            return contiguous(single(input, dim))
        return contiguous(half(input, dim))
    return values


def _quickly(values: Fn) -> Fn:
    """The same of a function as ATen has it."""
    def quick(input: np.ndarray, dim: int, half_to_float: bool) -> np.ndarray | None:
        return None if half_to_float or input.dtype.char not in "fdeE" else values(input, dim)
    return quick


def _quickly_named(values: Fn, log: int, negative: bool = False) -> Fn:
    """The same of functions that find out the dimension where none is given; with `negative`, of -input."""
    def quick(input: np.ndarray, dim: int | None, _stacklevel: int, dtype: DType | None) -> np.ndarray | None:
        char = input.dtype.char
        if dim is None or dtype is not None or char not in "fdeE":
            return None
        if negative:
            if char in "eE":
                input = signed(np.negative, input)
            else:
                input = np.negative(input) if input.size < state.cheap and input.flags.c_contiguous else ufunc1(np.negative, input)
        elif char in _PLAIN and 0 < input.size <= state.short and input.ndim:  # a frame less
            return _few(input, dim, log)
        return values(input, dim)
    return quick


_softmax_at_once = _at_once(softmax_values, _softmax_half, 0)
_log_softmax_at_once = _at_once(_log_softmax_values, _log_softmax_half, 1)


def _is_narrower(char: str, input_dtype: DType) -> bool:
    """Whether a gradient is of single precision, and the input of float16: the one pair that torch refuses."""
    return char == "f" and input_dtype.name == "float16"


def _quickly_backward(single: Fn, half: Fn, log: int) -> Fn:
    """The same of its gradient."""
    def quick(grad_output: np.ndarray, output: np.ndarray, dim: int, input_dtype: DType) -> np.ndarray | None:
        dtype, char, shape = output.dtype, output.dtype.char, output.shape
        if grad_output.dtype is not dtype or char not in "fdeE" or grad_output.shape != shape or char == "f" and (
                _is_narrower(char, input_dtype)):
            return None
        size = output.size
        if 0 < size <= state.short and shape:
            return _few_backward(grad_output, output, dim, log)
        if size >= state.fused and size and shape:
            return fused.backward(grad_output, output, dim, log)
        return contiguous((single if char in "fd" else half)(grad_output, output, dim))
    return quick


@op("_softmax(Tensor input, int dim, bool half_to_float) -> Tensor", method=False)
class _softmax:
    """The softmax along `dim`; no CPU makes float32 of half precision on the way.

    >>> torch._softmax(torch.tensor([0., 0.]), 0, False)
    tensor([0.5000, 0.5000])
    """

    lacks = get_record("softmax").field("lacks")
    quick = _quickly(_softmax_at_once)
    def function(F, input, dim, half_to_float):
        _refuse_widening("softmax", half_to_float)
        return F.softmax(input, dim)

    def samples(rng): yield rng.standard_normal((2, 3)), 1, False


@op("_log_softmax(Tensor input, int dim, bool half_to_float) -> Tensor", method=False)
class _log_softmax:
    """The logarithm of the softmax along `dim`; no CPU makes float32 of half precision on the way.

    >>> torch._log_softmax(torch.tensor([0., 0.]), 0, False)
    tensor([-0.6931, -0.6931])
    """

    lacks = get_record("log_softmax").field("lacks")
    quick = _quickly(_log_softmax_at_once)
    def function(F, input, dim, half_to_float):
        _refuse_widening("log_softmax", half_to_float)
        return F.log_softmax(input, dim)

    def samples(rng): yield rng.standard_normal((2, 3)), 1, False


def _refuse_widening(name: str, half_to_float: bool) -> None:
    if half_to_float:
        raise AutogradError(f"{name} with half to float conversion is not supported on CPU", remedy="convert the tensor")


def _as_operations(name: str) -> Fn:
    """The gradient of a softmax, made of other operations, in float32 where it is half precision."""
    of_three = in_single(get_record(name).field("compose"))
    def function(F: Functions, grad_output: TensorRef, output: TensorRef, dim: int, input_dtype: DType) -> TensorRef:
        wanted = grad_output._k.dtype
        wider = input_dtype is not None and _is_narrower(wanted.np.char, input_dtype)  # torch's result is of that dtype
        if not wider and output._k is grad_output._k and wanted.category == FLOATING and wanted.itemsize > 1 and (
                output._data.shape == grad_output._data.shape):
            at_once: TensorRef = getattr(F, name)(grad_output, output, dim)
            return at_once
        if wanted.category != FLOATING:
            last = wrap_dim(dim, grad_output.ndim) == max(grad_output.ndim, 1) - 1
            no_kernel(f"{name}{'_lastdim' * last}_kernel_impl", grad_output)
        found = input_dtype if wider else output._k.dtype
        if wanted is not found and not on_meta(grad_output):
            raise AutogradError(f"expected scalar type {SCALAR_TYPE_NAMES[wanted.name]} but found {SCALAR_TYPE_NAMES[found.name]}")
        result: TensorRef = of_three(F, grad_output, output, dim)
        return result
    return function


@op("_softmax_backward_data(Tensor grad_output, Tensor output, int dim, dtype input_dtype) -> Tensor", method=False, out=False)
class _softmax_backward_data:
    """The gradient of `softmax` from that of its output, and the output.

    >>> torch._softmax_backward_data(torch.tensor([1., 0.]), torch.tensor([0.5, 0.5]), 0, torch.float32)
    tensor([ 0.2500, -0.2500])
    """

    lacks = get_record("softmax").field("lacks")
    quick = _quickly_backward(_softmax_backward, _backward_half, 0)
    function = _as_operations("softmax_backward")
    def samples(rng): yield rng.standard_normal((2, 3)), rng.uniform(0.1, 0.9, (2, 3)), 1, float64


@op("_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, dtype input_dtype) -> Tensor", method=False, out=False)
class _log_softmax_backward_data:
    """The gradient of `log_softmax` from that of its output, and the output.

    >>> torch._log_softmax_backward_data(torch.tensor([1., 0.]), torch.tensor([0., -999.]), 0, torch.float32)
    tensor([0., 0.])
    """

    lacks = get_record("log_softmax").field("lacks")
    quick = _quickly_backward(_log_softmax_backward, _log_backward_half, 1)
    function = _as_operations("log_softmax_backward")
    def samples(rng): yield rng.standard_normal((2, 3)), -rng.uniform(0.1, 0.9, (2, 3)), 1, float64


def _rounded_once(input: np.ndarray, dim: int) -> np.ndarray:
    """The softmax of half precision, of whose vectors torch rounds no exponentials."""
    if dim != -1 and wrap_dim(dim, input.ndim) < input.ndim - 1 and _along(input.shape, dim)[1] >= _VECTOR:
        return narrow(softmax_values(widened(input), dim), input.dtype)
    return _softmax_half(input, dim)


_VECTOR = 16  # numbers of half precision in a vector of torch's


#: The bits of -inf by dtype.
_NOTHING = {"E": np.array(0xFF80, np.uint16), "e": np.array(0xFC00, np.uint16), "f": np.array(0xFF800000, np.uint32),
            "d": np.array(0xFFF << 52, np.uint64)}


def _safe(values: Fn) -> Fn:
    """`softmax`, zeros where all along `dim` is -inf, which makes NaN of all that is there."""
    def safe(input: np.ndarray, dim: int) -> np.ndarray:
        y = values(input, dim)
        if not y.size:
            return y
        dim = wrap_dim(dim, y.ndim)
        first = y[(*[slice(None)] * dim, 0)] if y.ndim else y
        unknown = first != first
        if not np.count_nonzero(unknown):
            return y
        bits = f"u{input.itemsize}"  # compared as which NumPy knows half precision, too
        words, nothing = input.view(bits), _NOTHING[input.dtype.char]
        alone = state.short < input.size < state.fused  # by NumPy, whose steps depend on all numbers
        if not alone and dim == y.ndim - 1 > 0 and y.flags.c_contiguous and input.flags.c_contiguous:  # rows that became NaN are looked at
            at = np.flatnonzero(unknown)
            y.view(bits).reshape(-1, y.shape[-1])[at[np.logical_and.reduce(words.reshape(-1, y.shape[-1])[at] == nothing, 1)]] = 0
            return y
        empty = (words == nothing).all(dim, keepdims=True)
        if alone:
            zero = input.dtype.type(0)
            return np.where(empty, zero, values(np.where(empty, zero, input), dim))
        np.copyto(y.view(f"u{y.itemsize}"), 0, where=empty)
        return y
    return safe


@op("_safe_softmax(Tensor input, int dim, dtype? dtype=None) -> Tensor", method=False, node="SafeSoftmaxBackward0")
class _safe_softmax:
    """The softmax along `dim`, zeros where there is nothing but -inf: what attention makes of rows that are all masked.

    >>> torch._safe_softmax(torch.tensor([[0., 0.], [-torch.inf, -torch.inf]]), 1)
    tensor([[0.5000, 0.5000],
            [0.0000, 0.0000]])
    """

    lacks = get_record("softmax").field("lacks")
    complex_kernel = get_record("softmax").field("complex_kernel")
    sharding = "along dim or composed"
    layout = "rows"
    check = _check("softmax")
    numpy = _safe(softmax_values)
    half = _safe(_rounded_once)
    def compose(F, input, dim):
        empty = F.all(F.eq(input, -float("inf")), dim, True)
        return F.where(empty, 0.0, F.softmax(F.where(empty, 0.0, input), dim))
    def shape(input, dim): return input
    vjp = get_record("softmax").field("vjp")

    def samples(rng):
        x = rng.standard_normal((2, 3))
        yield x, 1
        yield np.where([[True], [False]], x, -np.inf), -1


def _mask_type(input: TensorRef | np.ndarray, mask: TensorRef | np.ndarray, mask_type: int | None) -> int | None:
    """Types 0 and 1 are for matrices as masks of four dimensions, any other is 2."""
    return mask_type if mask.ndim == 2 and input.ndim == 4 else 2


def _mask_shape(shape: tuple[int, ...], kind: int | None) -> tuple[int, ...]:
    return shape[-2:] if kind == 0 else (shape[0], shape[-1]) if kind == 1 else shape


def _check_masked(input: TensorRef, mask: TensorRef, dim: int | None, mask_type: int | None) -> None:
    if mask._k.dtype.name != "bool":
        raise AutogradError("Mask should be a boolean tensor")
    kind, shape = _mask_type(input, mask, mask_type), tuple(input.shape)
    if kind not in (0, 1, 2):
        raise AutogradError("Mask Type should be defined" if kind is None else
                            "Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 (default_mask)")
    if tuple(mask.shape) != _mask_shape(shape, kind):
        told = ("mask shape should be (L, L)", "mask shape should be (B, L)", "mask shape should match input shape")[kind]
        raise ShapeMismatchError(f"For mask_type == {kind} {told}")
    wrap_dim(-1 if dim is None else dim, input.ndim)


def _full_mask(F: Functions, input: TensorRef, mask: TensorRef, mask_type: int | None) -> TensorRef:
    """A mask that the input's shape broadcasts with."""
    full: TensorRef = F.unsqueeze(F.unsqueeze(mask, 1), 1) if _mask_type(input, mask, mask_type) == 1 else mask
    return full


def _masked(input: np.ndarray, mask: np.ndarray, dim: int | None = None, mask_type: int | None = None) -> np.ndarray:
    kind = _mask_type(input, mask, mask_type)
    if mask.shape != _mask_shape(input.shape, kind):
        raise ValueError("a mask of the scores' shape expected")  # `check` says so in torch's words
    left = input.copy("C")
    if kind == 0:  # matrices as rows
        rows = left.reshape(*left.shape[:-2], -1)
        np.copyto(rows, rows.dtype.type(-np.inf), where=mask.reshape(-1))
    else:
        np.copyto(left, left.dtype.type(-np.inf), where=mask[:, None, None] if kind == 1 else mask)
    return softmax_values(left, -1 if dim is None else dim)


@op("_masked_softmax(Tensor input, Mask mask, int? dim=None, int? mask_type=None) -> Tensor", method=False, out=False,
    node="MaskedSoftmaxBackward0")
class _masked_softmax:
    """The softmax along `dim`, by default the last, of what `mask` leaves, and zeros where it is True; NaN where nothing is left.

    Args:
        mask: of the input's shape; of an input (b, h, l, l) also (l, l) where `mask_type` is 0, or (b, l) where it is 1.

    >>> torch._masked_softmax(torch.zeros(3), torch.tensor([True, False, False]))
    tensor([0.0000, 0.5000, 0.5000])
    """

    lacks = {"int bool rare": "masked_softmax"}
    layout = "rows"
    check = _check_masked
    no_forward = "_masked_softmax"
    numpy = _masked
    def half(input, *rest): return narrow(_masked(widened(input), *rest), input.dtype)
    def compose(F, input, mask, dim=None, mask_type=None):
        left = F.masked_fill(input, _full_mask(F, input, mask, mask_type), -np.inf)
        return F.softmax(left, -1 if dim is None else dim)
    def shape(input, mask, dim, mask_type): return input

    def sharding(call):
        n, at = len(call.shape("input")), -1 if call["dim"] is None else call["dim"]
        if n and call.is_split("input", (at,)) or call.is_split("mask", range(len(call.shape("mask")))):
            return call.composed()
        given = [None if d == wrap_dim(at, n) else d for d in range(n)]
        kind = _mask_type(call["input"], call["mask"], call["mask_type"])
        return call.propagate([given, given[-2:] if kind == 0 else [given[0], given[-1]] if kind == 1 else given], [given])

    def batch(F, call):
        rank, kind = call.ranks["input"], call.mask_type if (call.ranks["mask"], call.ranks["input"]) == (2, 4) else 2
        input, mask = call.lifted("input"), call.lifted("mask")
        for _ in range(2 if kind < 2 else 0):
            mask = F.unsqueeze(mask, kind + 1)
        if kind < 2:
            mask = F.expand(mask, tuple(input.shape))
        dim = batches.shifted(-1 if call.dim is None else call.dim, rank)
        return call.lowered(call(input=input, mask=mask, dim=dim, mask_type=2), "input")

    def vjp(F, grad, result, mask, dim, mask_type):
        left = F.masked_fill(result, _full_mask(F, result, mask, mask_type), 0.0)
        return left * (grad - F.sum(left * grad, (-1 if dim is None else dim,), True))

    def samples(rng):
        x = rng.standard_normal((2, 2, 3, 3))
        yield x, np.eye(3, dtype=bool), 3, 0
        yield x, np.array([[True, False, False], [False, False, True]]), None, 1
        yield x[0, 0], np.eye(3, dtype=bool), 0


def _implicit_dim(name: str, ndim: int) -> int:
    """The dimension that torch's deprecated default picks."""
    warned.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if ndim in (0, 1, 3) else 1


@op("nn_functional_softmax(Tensor input, int? dim=None, int _stacklevel=3, dtype? dtype=None) -> Tensor", namespace="_internal",
    alias="nn.functional.softmax", method=False, out=False)
class nn_functional_softmax:
    """exp(input) / sum(exp(input)) along `dim`.

    >>> torch.nn.functional.softmax(torch.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """

    lacks = {"float8": "softmax_lastdim_kernel_impl"}
    quick = _quickly_named(_softmax_at_once, 0)
    def function(F, input, dim=None, _stacklevel=3, dtype=None):
        if dim is None:
            dim = _implicit_dim("softmax", input.ndim)
        return F.softmax(input, dim) if dtype is None else F.softmax(input, dim, dtype)

    samples = _samples


@op("nn_functional_log_softmax(Tensor input, int? dim=None, int _stacklevel=3, dtype? dtype=None) -> Tensor", namespace="_internal",
    alias="nn.functional.log_softmax", method=False, out=False)
class nn_functional_log_softmax:
    """The logarithm of softmax along `dim`.

    >>> torch.nn.functional.log_softmax(torch.tensor([0., 0.]), dim=0)
    tensor([-0.6931, -0.6931])
    """

    lacks = {"float8": "log_softmax_lastdim_kernel_impl"}
    quick = _quickly_named(_log_softmax_at_once, 1)
    def function(F, input, dim=None, _stacklevel=3, dtype=None):
        if dim is None:
            dim = _implicit_dim("log_softmax", input.ndim)
        return F.log_softmax(input, dim) if dtype is None else F.log_softmax(input, dim, dtype)

    samples = _samples


@op("softmin(Tensor input, int? dim=None, int _stacklevel=3, dtype? dtype=None) -> Tensor", namespace="nn.functional", method=False,
    out=False)
class softmin:
    """The softmax of -input.

    >>> torch.nn.functional.softmin(torch.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """

    lacks = {"uint float8": "neg_cpu"}
    quick = _quickly_named(_softmax_at_once, 0, negative=True)
    def function(F, input, dim=None, _stacklevel=3, dtype=None):
        if dim is None:
            dim = _implicit_dim("softmin", input.ndim)
        return F.softmax(-input, dim) if dtype is None else F.softmax(-input, dim, dtype)

    samples = _samples
