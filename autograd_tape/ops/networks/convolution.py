"""Convolution in one, two and three dimensions, its transpose, and the windows it is made of.

Convolution, its gradient for the input and its gradient for the weight are three faces of one trilinear form, so each one's
gradients are the other two, to any order.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import prod
from typing import Any
from collections.abc import Callable, Sequence

import numpy as np

from ...dtypes import FLOATING, SCALAR_TYPE_NAMES, TENSOR_TYPE_NAMES, bfloat16, bool_, c_name, float32
from ...errors import AutogradError, ShapeMismatchError
from ...executors.kernels import conv as fused
from ...executors.kernels._on_demand import KEPT, state
from ...executors.kernels.blas import integers
from ...executors.kernels.sharing import get_num_threads
from ...functions.refusals import no_kernel, on_meta
from ...record import Sample, op
from ...strided import in_format
from .. import _batch as batches
from .. import _shapes as shapes
from .._host import on_host
from .._samples import refuse_complex_gradient
from ..matrices.products import product_plus, same_scalar_type
from ._convolved import Ints, conv_plan, planned, quick_conv, quick_fold, quick_transposed, quick_unfold, transposed_plan
from ...annotations import Functions, Values
from ...tensor import TensorRef

#: So many products of digits of 16 bits have sums below 2**53, which double precision holds.
_SUMMED = 1 << 21
_NARROW, _COLUMNS = 4, 1 << 20  # up to how wide images of integers are narrow, and how many elements their columns are to have


def _in_format(kernel: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A kernel of an input and a weight, whose result lies in memory as that of torch."""
    def run(input: np.ndarray, weight: np.ndarray, *rest: Any) -> np.ndarray:
        result, n = kernel(input, weight, *rest), input.ndim - 2
        if n == 3 and input.flags.c_contiguous and weight.flags.c_contiguous and input.strides[1] > input.strides[4] and (
                weight.strides[1] > weight.strides[4]):
            return result
        if n == 2 or n == 3 and _blocked(input, weight, rest[-1]):
            return in_format(n, result, input, weight)
        return in_format(n, result, weight) if n == 1 else result  # of one dimension torch makes rows of the input first

    return run


def _blocked(input: np.ndarray, weight: np.ndarray, groups: int) -> bool:
    """Whether torch leaves a convolution in three dimensions to the library that knows of channels-last memory, on a CPU without
    arithmetic in half precision."""
    return input.dtype.char in "fF" and (groups > 1 or len(input) > 1 or min(weight.shape[-2:]) > 3 or prod(input.shape[:4]) > 20480)


# -- the three faces --------------------------------------------------------------------------------------------------


def _by_parts(kernel: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A bilinear kernel for real arrays, carried on to complex ones by their real and imaginary parts."""
    def run(a: np.ndarray, b: np.ndarray, *rest: object) -> np.ndarray:
        if a.dtype.kind != "c":
            return kernel(a, b, *rest)
        a_real, a_imag, b_real, b_imag = (np.ascontiguousarray(x) for x in (a.real, a.imag, b.real, b.imag))
        real, imag, bare = ([part(x) if isinstance(x, np.ndarray) else x for x in rest] for part in (np.real, np.imag, lambda x: None))
        result = kernel(a_real, b_real, *real).astype(a.dtype)
        result.real -= kernel(a_imag, b_imag, *bare)
        result.imag = kernel(a_real, b_imag, *imag) + kernel(a_imag, b_real, *bare)
        return result

    return run


def _exactly(kernel: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A bilinear kernel for floating point, carried on to integers: in double precision where no sum can reach 2**53, else by their
    digits, whose sums cannot."""
    def run(a: np.ndarray, b: np.ndarray, *rest: object) -> np.ndarray:
        if a.dtype.kind not in "iub":
            return kernel(a, b, *rest)
        biased = [v for v in rest if v.__class__ is np.ndarray]
        bare = [None if v.__class__ is np.ndarray else v for v in rest] if biased else rest
        x, y = a.astype(np.float64), b.astype(np.float64)
        if _square(x) * _square(y) < 2.0 ** 104:  # no sum of products is larger than the root of this
            total = kernel(x, y, *bare).astype(np.int64)
        else:
            bits = 16 if b.size < _SUMMED else 8
            total = np.zeros((), np.int64)
            for i, j in combinations_with_replacement(range(64 // bits), 2):  # of digits i and j - i
                total = total + (kernel(_digit(a, i, bits), _digit(b, j - i, bits), *bare).astype(np.int64) << j * bits)
        result = total.astype(a.dtype, copy=False)
        for bias in biased:
            result += bias.reshape(-1, *(1,) * (a.ndim - 2))
        return result

    return run


def _of_any_numbers(kernel: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A bilinear kernel for floating point, carried on to complex numbers and integers."""
    others = _by_parts(_exactly(kernel))

    def run(a: np.ndarray, b: np.ndarray, *rest: object) -> np.ndarray:
        return kernel(a, b, *rest) if a.dtype.kind == "f" else others(a, b, *rest)

    return run


def _square(x: np.ndarray) -> float:
    flat = x.ravel("K")
    return float(flat.dot(flat))


def _digit(x: np.ndarray, place: int, bits: int) -> np.ndarray:
    return (x.astype(np.int64).view(np.uint64) >> np.uint64(place * bits) & np.uint64((1 << bits) - 1)).astype(np.float64)


@_in_format
@_of_any_numbers
def _forward(input: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, stride: tuple[int, ...], padding: tuple[int, ...],
             dilation: tuple[int, ...],
             groups: int) -> np.ndarray:
    if input.ndim == 4:
        return fused.conv2d(input, weight, bias, stride, padding, dilation, groups)
    return fused.convnd(input, weight, bias, stride, padding, dilation, groups)


@_in_format
def _input_grad(grad: np.ndarray, weight: np.ndarray, size: Sequence[int], stride: tuple[int, ...], padding: tuple[int, ...],
                dilation: tuple[int, ...], groups: int) -> np.ndarray:
    if grad.dtype.char == "l":  # sums of few integers need not be made of others
        total = fused.input_grad_of_few(grad, weight, tuple(size), stride, padding, dilation, groups)
        if total is not None:
            return total
        if grad.shape[-1] <= _NARROW and state.fused <= KEPT:
            return _narrow_input_grad(grad, weight, size, stride, padding, dilation, groups)
    return _any_input_grad(grad, weight, size, stride, padding, dilation, groups)


@_exactly
def _narrow_input_grad(grad: np.ndarray, weight: np.ndarray, size: Sequence[int], stride: tuple[int, ...], padding: tuple[int, ...],
                       dilation: tuple[int, ...], groups: int) -> np.ndarray:
    """By columns that are all made at once, as the tiles of narrow images are of few elements; of integers, whose sums are exact."""
    total = fused.input_grad_of_few(grad, weight, tuple(size), stride, padding, dilation, groups, _COLUMNS)
    return _any_input_grad(grad, weight, size, stride, padding, dilation, groups) if total is None else total


@_of_any_numbers
def _any_input_grad(grad: np.ndarray, weight: np.ndarray, size: Sequence[int], stride: tuple[int, ...], padding: tuple[int, ...],
                    dilation: tuple[int, ...], groups: int) -> np.ndarray:
    function = fused.conv2d_input_grad if grad.ndim == 4 else fused.convnd_input_grad
    return function(grad, weight, tuple(size), stride, padding, dilation, groups)


@_by_parts
def _weight_grad(input: np.ndarray, grad: np.ndarray, size: Sequence[int], stride: tuple[int, ...], padding: tuple[int, ...],
                 dilation: tuple[int, ...], groups: int) -> np.ndarray:
    function = fused.conv2d_backward if input.ndim == 4 else fused.convnd_backward
    weight = np.empty(tuple(size), input.dtype)  # only its shape and dtype matter
    result = function(grad, input, weight, stride, padding, dilation, groups, (False, True, False))[1]
    assert result is not None  # it was asked for
    return result


def _cropped(F: Functions, x: Values, size: Sequence[int]) -> Values:
    """`x` without the rows that an output padding beyond the stride makes."""
    for d in range(2, len(size)):
        if x.shape[d] != size[d]:
            x = F.slice(x, d, 0, size[d])
    return x


def _columns_product(F: Functions, input: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, stride: Sequence[int],
                     padding: Sequence[int], dilation: Sequence[int], groups: int) -> np.ndarray:
    """Convolution as a product with the gathered windows, for executors without a kernel."""
    shape, n = tuple(weight.shape), len(stride)
    size = fused.conv_output_size(tuple(input.shape)[2:], shape[2:], tuple(stride), tuple(padding), tuple(dilation))
    columns = F.im2col(input, shape[2:], tuple(dilation), tuple(padding), tuple(stride))
    batch, rows, length = tuple(columns.shape)
    columns = F.reshape(columns, (batch, groups, rows // groups, length))
    y = F.matmul(F.reshape(weight, (1, groups, shape[0] // groups, prod(shape[1:]))), columns)
    y = F.reshape(y, (batch, shape[0], *size))
    return y if bias is None else y + F.reshape(bias, (1, shape[0]) + (1,) * n)


def _shared_out(call: Any, alone: str, grouped: str, size: str = "", **options: Any) -> Any:
    """How one face of the form is shared among devices: as `alone` says where there is one group, else as `grouped`, groups staying whole.

    Args:
        size: the parameter that gives the shape of the result.
    """
    groups = call["groups"]
    if groups > 1:
        for (p, _), term in zip(call.operands, grouped.split(",")):
            if "g" in term.split() and call.even("g", (p.name, term.split().index("g")), of=groups) != "g":
                grouped = grouped.replace("g", "W")
    plan = call.letters(alone if groups == 1 else grouped, linear="each", **options)
    out, shape = plan.outputs[0], size and tuple(call[size])
    count = call.mesh.count(out.dims[grouped.split("->")[1].split().index("g")]) if groups > 1 and "g" in grouped else 1

    def arguments(device: int, values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "groups": groups // count, **({size: out.local_shape(shape, device)} if size else {})}

    plan.arguments = arguments
    return plan


@op("convolution_nd(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> Tensor",
    namespace="_internal", method=False, out=False, node="ConvolutionBackward0")
class convolution_nd:
    """Cross-correlation of (N, C, ...) with (O, C / groups, ...)."""

    def flops(result, weight, **_): return 2.0 * result.size * weight.size / max(len(weight), 1)
    def sharding(call):
        o = "" if call["bias"] is None else ", o"
        return _shared_out(call, f"n c *S, o c *K{o} -> n o *S", f"n g *S, g C *K{o.replace('o', 'g')} -> n g *S", added=(2,))
    saved_as = {"input_shape": None, "input": "input", "weight_shape": None}
    numpy = _forward
    shape = shapes.convolution
    compose = _columns_product
    def vjp_input(F, grad, weight, input_shape, stride, padding, dilation, groups):
        return F.convolution_nd_input(grad, weight, tuple(input_shape), stride, padding, dilation, groups)
    def vjp_weight(F, grad, input, weight_shape, stride, padding, dilation, groups):
        return F.convolution_nd_weight(input, grad, tuple(weight_shape), stride, padding, dilation, groups)
    def vjp_bias(F, grad): return F.sum(grad, (0, *range(2, grad.ndim)))

    def batch(F, call):
        """A bigger batch where the weights are shared, more groups where each example has its own."""
        x, weight, bias = call.input, call.weight, call.bias
        if not call.size or call.ranks["input"] != call.ranks["weight"]:
            return NotImplemented
        if not call.is_batched["weight"] and not call.is_batched["bias"]:
            return batches.parted(F, call, call(input=batches.merged(F, x)))
        x, weight = call.whole("input"), call.whole("weight")
        bias = None if bias is None else F.reshape(call.whole("bias"), (-1,))
        result = call(input=batches.as_channels(F, x), weight=batches.merged(F, weight), bias=bias, groups=call.groups * call.size)
        return batches.from_channels(F, call, result)
    aten = "convolution(input, weight, bias, list(stride), list(padding), list(dilation), False, [0] * len(stride), groups)"

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 3, 6)), r((4, 3, 3)), r(4), (2,), (1,), (1,), 1
        yield r((2, 4, 5, 5)), r((4, 2, 3, 2)), r(4), (1, 2), (1, 0), (2, 1), 2
        yield r((1, 2, 3, 4, 3)), r((2, 2, 2, 2, 2)), None, (1, 1, 1), (0, 0, 0), (1, 1, 1), 1


@op("convolution_nd_input(Tensor input, Tensor weight, int[] size, int[] stride, int[] padding, int[] dilation, int groups) -> Tensor",
    namespace="_internal", method=False, out=False, node="ConvolutionBackward0")
class convolution_nd_input:
    """The gradient of `convolution_nd` for an input of shape `size`; also the transposed convolution."""

    def flops(result, input, weight, **_): return 2.0 * input.size * weight.size / max(len(weight), 1)
    def sharding(call): return _shared_out(call, "n o *S, o c *K -> n c *S", "n g *S, g C *K -> n g *S", "size")
    saved_as = {"input_shape": None, "input": "input", "weight_shape": None}
    numpy = _input_grad
    def shape(grad, weight, size, *rest): return tuple(size)
    def compose(F, input, weight, size, stride, padding, dilation, groups):
        shape = tuple(weight.shape)
        batch, out = tuple(input.shape)[:2]
        length = prod(tuple(input.shape)[2:])
        w = F.transpose(F.reshape(weight, (1, groups, out // groups, prod(shape[1:]))), 2, 3)
        columns = F.matmul(w, F.reshape(input, (batch, groups, out // groups, length)))
        columns = F.reshape(columns, (batch, groups * prod(shape[1:]), length))
        return F.col2im(columns, tuple(size)[2:], shape[2:], tuple(dilation), tuple(padding), tuple(stride), tuple(input.shape)[2:])
    def vjp_input(F, grad, weight, input_shape, stride, padding, dilation, groups):
        return _cropped(F, F.convolution_nd(grad, weight, None, stride, padding, dilation, groups), tuple(input_shape))
    def vjp_weight(F, grad, input, weight_shape, stride, padding, dilation, groups):
        return F.convolution_nd_weight(grad, input, tuple(weight_shape), stride, padding, dilation, groups)

    def batch(F, call):
        """A bigger batch where the weights are shared, more groups where each example has its own."""
        size = tuple(call.values["size"])
        if not call.size:
            return NotImplemented
        if not call.is_batched["weight"]:
            return batches.parted(F, call, call(input=batches.merged(F, call.input), size=(call.size * size[0], *size[1:])))
        result = call(input=batches.as_channels(F, call.whole("input")), weight=batches.merged(F, call.weight),
                      size=(size[0], call.size * size[1], *size[2:]),
                      groups=call.groups * call.size)
        return batches.from_channels(F, call, result)

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 4, 3)), r((4, 3, 3)), (2, 3, 6), (2,), (1,), (1,), 1
        yield r((1, 2, 2, 2)), r((2, 2, 2, 2)), (1, 2, 5, 4), (2, 2), (0, 0), (2, 1), 1


@op("convolution_nd_weight(Tensor input, Tensor output, int[] size, int[] stride, int[] padding, int[] dilation, int groups) -> Tensor",
    namespace="_internal", method=False, out=False, node="ConvolutionBackward0")
class convolution_nd_weight:
    """The gradient of `convolution_nd` for a weight of shape `size`."""

    def flops(result, output, **_): return 2.0 * output.size * result.size / max(len(result), 1)
    def sharding(call): return _shared_out(call, "n c *S, n o *S -> o c *S", "n g *S, n g *S -> g C *S", "size")
    numpy = _weight_grad
    def shape(input, grad, size, *rest): return tuple(size)
    def compose(F, input, output, size, stride, padding, dilation, groups):
        size, batch = tuple(size), input.shape[0]
        columns = F.im2col(input, size[2:], tuple(dilation), tuple(padding), tuple(stride), tuple(output.shape)[2:])
        length = prod(tuple(output.shape)[2:])
        columns = F.reshape(columns, (batch, groups, prod(size[1:]), length))
        g = F.reshape(output, (batch, groups, size[0] // groups, length))
        return F.reshape(F.sum(F.matmul(g, F.transpose(columns, 2, 3)), 0), size)
    def vjp_input(F, grad, output, input_shape, stride, padding, dilation, groups):
        return F.convolution_nd_input(output, grad, tuple(input_shape), stride, padding, dilation, groups)
    def vjp_output(F, grad, input, output_shape, stride, padding, dilation, groups):
        return _cropped(F, F.convolution_nd(input, grad, None, stride, padding, dilation, groups), tuple(output_shape))

    def batch(F, call):
        """More groups."""
        size = tuple(call.values["size"])
        if not call.size:
            return NotImplemented
        result = call(input=batches.as_channels(F, call.whole("input")), output=batches.as_channels(F, call.whole("output")),
                      size=(call.size * size[0], *size[1:]), groups=call.groups * call.size)
        return batches.parted(F, call, result)

    def samples(rng):
        r = rng.standard_normal
        yield r((2, 3, 6)), r((2, 4, 3)), (4, 3, 3), (2,), (1,), (1,), 1


# -- windows ----------------------------------------------------------------------------------------------------------


def _im2col(input: np.ndarray, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints, blocks: Ints | None = None) -> np.ndarray:
    size = blocks or fused.conv_output_size(input.shape[2:], kernel_size, stride, padding, dilation)
    columns = fused._columns(input, tuple(kernel_size), tuple(size), tuple(stride), tuple(padding), tuple(dilation), 1)
    return np.ascontiguousarray(columns.reshape(columns.shape[0], *columns.shape[2:]))


def _col2im(input: np.ndarray, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints,
            blocks: Ints | None = None) -> np.ndarray:
    size = blocks or fused.conv_output_size(tuple(output_size), kernel_size, stride, padding, dilation)
    shape = (input.shape[0], input.shape[1] // prod(kernel_size), *output_size)
    return fused._add_columns(input, shape, tuple(kernel_size), tuple(size), tuple(stride), tuple(padding), tuple(dilation))


@op("im2col(Tensor input, int[] kernel_size, int[] dilation, int[] padding, int[] stride, Any blocks=None) -> Tensor",
    namespace="_internal",
    method=False, out=False, node="Im2ColBackward0")
class im2col:
    """The windows of (N, C, ...) as columns (N, C * prod(kernel), number of windows)."""

    def sharding(call):
        channels = call.even("c", ("input", 1))
        return call.letters(f"n {channels} *S -> n {channels} L")
    saved_also = {"self_sym_argsize_minus_1": "input_shape[-1]", "self_sym_argsize_minus_2": "input_shape[-2]"}
    saved_as = {"input_shape": None, "blocks": None}

    numpy = _im2col
    compose = on_host(_im2col)
    def vjp_input(F, grad, input_shape, kernel_size, dilation, padding, stride, blocks):
        blocks = blocks or fused.conv_output_size(tuple(input_shape)[2:], kernel_size, stride, padding, dilation)
        return F.col2im(grad, tuple(input_shape)[2:], kernel_size, dilation, padding, stride, blocks)
    jvp = "linear"
    batch = batches.images

    def samples(rng): yield rng.standard_normal((2, 2, 5, 4)), (2, 3), (2, 1), (1, 0), (1, 2)


@op("col2im(Tensor input, int[] output_size, int[] kernel_size, int[] dilation, int[] padding, int[] stride, Any blocks=None) -> Tensor",
    namespace="_internal", method=False, out=False, node="Col2ImBackward0")
class col2im:
    """Columns added up where their windows lie: the transpose of `im2col`."""

    def sharding(call):
        channels = call.even("c", ("input", 1), of=call.shape("input")[1] // prod(call["kernel_size"]))
        return call.letters(f"n {channels} L -> n {channels} " + "S " * len(call["output_size"]))
    numpy = _col2im
    compose = on_host(_col2im)
    def vjp_input(F, grad, kernel_size, dilation, padding, stride, blocks):
        return F.im2col(grad, kernel_size, dilation, padding, stride, blocks)
    jvp = "linear"
    batch = batches.images

    def samples(rng): yield rng.standard_normal((2, 8, 12)), (4, 5), (2, 2), (1, 1), (0, 0), (1, 1)


def several(value: Any, n: int, name: str, what: str = "convolution dimensions") -> tuple[int, ...]:
    """One number for each of `n` dimensions."""
    if value.__class__ is int:
        return (value,) * n
    value = tuple([int(v) for v in value]) if isinstance(value, (tuple, list)) else (int(value),)
    if len(value) == 1:
        return value * n
    if len(value) != n:
        raise AutogradError(f"expected {name} to be a single integer value or a list of {n} values to match the {what}, but got "
                            f"{name}={list(value)}")
    return value


def _check_windows(values: dict[str, tuple[int, ...]]) -> None:
    for name, words, short, low in (("kernel_size", "kernel size should be greater than zero", "kernel", 1),
                                    ("dilation", "dilation should be greater than zero", "dilation", 1),
                                    ("padding", "padding should be non-negative", "pad", 0),
                                    ("stride", "stride should be greater than zero", "stride", 1)):
        if len(values[name]) != 2:
            raise AutogradError(f"It is expected {name} equals to 2, but got size {len(values[name])}")
        if min(values[name]) < low:
            raise AutogradError(f"{words}, but got {short}_height: {values[name][0]} {short}_width: {values[name][1]}")


def _two(value: int | Sequence[int]) -> tuple[int, ...]:
    return (value, value) if isinstance(value, int) else tuple(value) * (2 if len(value) == 1 else 1)


def _shown(values: Sequence[int]) -> str:
    return "(" + ", ".join(map(str, values)) + ")"


@op("nn_functional_unfold(Tensor input, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1) -> Tensor",
    namespace="_internal",
    alias="nn.functional.unfold", method=False, out=False)
class nn_functional_unfold:
    """The windows of images (N, C, H, W) as columns (N, C * prod(kernel_size), number of windows).

    >>> torch.nn.functional.unfold(torch.arange(4.).reshape(1, 1, 2, 2), (1, 2))
    tensor([[[0., 2.],
             [1., 3.]]])
    """

    lacks = {"int rare": "im2col_out_cpu"}
    quick = quick_unfold(_im2col)
    def function(F, input, kernel_size, dilation=1, padding=0, stride=1):
        values = {"kernel_size": _two(kernel_size), "dilation": _two(dilation), "padding": _two(padding), "stride": _two(stride)}
        _check_windows(values)
        if input.ndim not in (3, 4) or 0 in input.shape[input.ndim - 3:]:
            raise ShapeMismatchError("Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
                                     f"input, but got: {list(input.shape)}")
        batched = input if input.ndim == 4 else F.unsqueeze(input, 0)
        kernel, dilation, padding, stride = values.values()
        size = tuple(batched.shape)[2:]
        blocks = fused.conv_output_size(size, kernel, stride, padding, dilation)
        if min(blocks) < 1:
            raise ShapeMismatchError(f"Given input with spatial size {_shown(size)}, kernel_size={_shown(kernel)}, "
                                     f"dilation={_shown(dilation)}, "
                                     f"padding={_shown(padding)}, calculated shape of the array of sliding blocks as {_shown(blocks)}, but "
                                     "its "
                                     "components must be at least one.")
        result = F.im2col(batched, kernel, dilation, padding, stride)
        return result if input.ndim == 4 else F.squeeze(result, 0)

    def samples(rng):
        yield rng.standard_normal((2, 2, 4, 4)), 2
        yield rng.standard_normal((2, 4, 5)), (2, 3), 1, 1, 2


@op("fold(Tensor input, int[] output_size, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1) -> Tensor",
    namespace="nn.functional", method=False, out=False)
class fold:
    """Columns (N, C * prod(kernel_size), windows) added up to images (N, C, *output_size) where their windows lie.

    >>> torch.nn.functional.fold(torch.ones(1, 2, 2), (1, 3), (1, 2))
    tensor([[[[1., 2., 1.]]]])
    """

    lacks = {"int rare": "col2im_out_cpu"}
    quick = quick_fold(_col2im)
    def function(F, input, output_size, kernel_size, dilation=1, padding=0, stride=1):
        values = {"kernel_size": _two(kernel_size), "dilation": _two(dilation), "padding": _two(padding), "stride": _two(stride)}
        _check_windows(values)
        if not isinstance(output_size, int) and len(output_size) != 2:
            raise ShapeMismatchError(f"It is expected output_size equals to 2, but got size {len(output_size)}")
        output_size = _two(output_size)
        kernel, dilation, padding, stride = values.values()
        if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
            raise ShapeMismatchError("Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions "
                                     "for "
                                     f"input, but got: {list(input.shape)}")
        batched = input if input.ndim == 3 else F.unsqueeze(input, 0)
        rows, length = tuple(batched.shape)[1:]
        if rows % prod(kernel):
            raise ShapeMismatchError("Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
                                     f"input.size(1)={rows} and kernel_size={_shown(kernel)}.")
        blocks = fused.conv_output_size(output_size, kernel, stride, padding, dilation)
        given = (f"Given output_size={_shown(output_size)}, kernel_size={_shown(kernel)}, dilation={_shown(dilation)}, "
                 f"padding={_shown(padding)}, stride={_shown(stride)}, ")
        if prod(blocks) != length:
            raise ShapeMismatchError(f"{given}expected size of input's dimension 2 to match the calculated number of sliding blocks "
                                     f"{blocks[0]} * {blocks[1]} = {prod(blocks)}, but got input.size(2)={length}.")
        if min(blocks) < 1:
            raise ShapeMismatchError(f"{given}calculated shape of the array of sliding blocks as {_shown(blocks)}, which is too small "
                                     "(non-positive)")
        result = F.col2im(batched, output_size, kernel, dilation, padding, stride)
        return result if input.ndim == 3 else F.squeeze(result, 0)

    def samples(rng):
        yield rng.standard_normal((2, 8, 9)), (4, 4), 2
        yield rng.standard_normal((8, 6)), (3, 4), 2


# -- convolutions as torch spells them --------------------------------------------------------------------------------


def _batched(F: Functions, input: TensorRef, n: int, name: str) -> TensorRef:
    if input.ndim == n + 2:
        return input
    if input.ndim != n + 1:
        raise ShapeMismatchError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: "
                                 f"{list(input.shape)}")
    return F.unsqueeze(input, 0)


def _check_arguments(input: TensorRef, weight: TensorRef, bias: TensorRef | None, stride: tuple[int, ...], padding: tuple[int, ...],
                     dilation: tuple[int, ...],
                     groups: int, transposed: bool, output_padding: tuple[int, ...] = ()) -> None:
    if min(groups, *stride, *dilation) < 1 or min((*padding, *output_padding)) < 0:
        if min(dilation) < 0:
            raise AutogradError("dilation should be greater than zero")
        for low, value, what in ((0, min(padding), "negative padding"), (0, min(output_padding, default=0), "negative output_padding"),
                                 (1, min(stride), "non-positive stride"), (1, min(dilation), "non-positive dilation"),
                                 (1, groups, "non-positive groups")):
            if value < low:
                raise AutogradError(f"{what} is not supported")
    w = list(weight.shape)
    if w[0] < groups:
        raise ShapeMismatchError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
                                 f"{w} "
                                 "instead")
    if w[0] % groups:
        raise ShapeMismatchError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
                                 "size "
                                 f"[{w}] instead")
    channels = w[0] if transposed else w[1] * groups
    if input.shape[1] != channels:
        head = f"Given transposed=1, weight of size {w}" if transposed else f"Given groups={groups}, weight of size {w}"
        raise ShapeMismatchError(f"{head}, expected input{list(input.shape)} to have {channels} channels, but got {input.shape[1]} "
                                 "channels "
                                 "instead")
    out = w[1] * groups if transposed else w[0]
    if bias is not None and (bias.ndim != 1 or bias.shape[0] != out):
        head = f"Given transposed={int(transposed)}, weight of size {w}" if transposed else f"Given weight of size {w}"
        raise ShapeMismatchError(f"{head}, expected bias to be 1-dimensional with {out} elements, but got bias of size {list(bias.shape)} "
                                 "instead")
    if not transposed:
        size = tuple(input.shape)[2:]
        if min(fused.conv_output_size(size, tuple(w[2:]), stride, padding, dilation)) < 1:
            padded = " x ".join([str(s + 2 * p) for s, p in zip(size, padding)])
            reach = " x ".join([str(d * (k - 1) + 1) for k, d in zip(w[2:], dilation)])
            raise ShapeMismatchError(f"Calculated padded input size per channel: ({padded}). Kernel size: ({reach}). Kernel size can't be "
                                     "greater than actual input size")


def of_onednn(input: TensorRef, weight: TensorRef, stride: Sequence[int], dilation: Sequence[int], groups: int) -> bool:
    """Whether torch gives a convolution of float32 to oneDNN: where that is quicker than its own loops."""
    shape, kernel = ((1,) * (4 - t.ndim) + tuple(t.shape[2:]) for t in (input, weight))
    worth = any([s != 1 for s in (*stride, *dilation)]) or input.shape[0] >= 16 or kernel[-2:] != (1, 1) or get_num_threads() > 1
    large = groups > 1 or min(kernel[-2:]) > 3 or input.shape[0] > 1 or prod((*input.shape[:2], *shape[:2])) > 20480
    return input.dtype is float32 and worth and large


def _check_same_type(input: TensorRef, others: dict[str, TensorRef | None], more: str = "") -> None:
    for name, t in others.items():
        if t is not None and t.dtype is not input.dtype:
            a, b = TENSOR_TYPE_NAMES[input.dtype.name], TENSOR_TYPE_NAMES[t.dtype.name]
            raise AutogradError(f"Input type ({a}) and {name} type ({b}) should be the same{more.format(name=name)}",
                                remedy="convert one of them with .to(dtype)")


def _check_bias_type(input: TensorRef, bias: TensorRef | None) -> None:
    """What torch looks at first of all, unless it pads by a word or transposes."""
    if bias is not None and bias.dtype is not input.dtype:
        a, b = [c_name(t.dtype) for t in (input, bias)]
        raise AutogradError(f"Input type ({a}) and bias type ({b}) should be the same", remedy="convert one of them with .to(dtype)")


def _of_one_dtype(F: Functions, input: TensorRef, weight: TensorRef, bias: TensorRef | None, stride: tuple[int, ...],
                  dilation: tuple[int, ...], groups: int, transposed: bool) -> tuple[TensorRef, TensorRef, TensorRef | None]:
    """Arguments whose dtypes differ, in one; raises as what torch would leave them to does, which is oneDNN or a kernel of its own. Some
    of the latter take a bias of any dtype: they begin with it, or add it in place."""
    if on_meta(input, weight):
        return input, weight, bias
    if 0 in (*input.shape[:2], *weight.shape):  # torch multiplies by one element of the weight, which is as strong as a number
        dtype = max((input.dtype, weight.dtype), key=lambda d: d.category)
        return F.cast(input, dtype), F.cast(weight, dtype), None if bias is None else F.cast(bias, dtype)
    if input.dtype is bfloat16 or of_onednn(input, weight, stride, dilation, groups):
        _check_same_type(input, {"weight": weight, "bias": bias}, " or input should be a MKLDNN tensor and {name} is a dense tensor")
    deep, dilated = len(stride) == 3, any([d != 1 for d in dilation])
    if input.dtype is bool_ or (transposed or dilated) and input.dtype.category < FLOATING and input.dtype.itemsize < 8:
        no_kernel(f"slow_conv_transpose{2 + deep}d_out_cpu" if transposed else "slow_conv_dilated<>" if dilated else
                  "compute_columns3d" if deep else "slow_conv2d_cpu", input)
    for t in (weight, bias) if transposed and deep else (weight,):
        if t is not None:
            same_scalar_type(input, t)
    if transposed and bias is not None and bias.dtype.category > input.dtype.category:
        raise AutogradError(f"result type {SCALAR_TYPE_NAMES[bias.dtype.name]} can't be cast to the desired output type "
                            f"{SCALAR_TYPE_NAMES[input.dtype.name]}")
    return input, weight, None if bias is None else F.cast(bias, input.dtype)


def _are_mixed(input: TensorRef, weight: TensorRef, bias: TensorRef | None) -> bool:
    return input.dtype is not weight.dtype or bias is not None and bias.dtype is not input.dtype


def _lacking(kernel: str) -> Callable[..., str]:
    """What has no kernel for a dtype that all tensors have; `_of_one_dtype` refuses the rest."""
    def said(input: TensorRef, weight: TensorRef, bias: TensorRef | None, **_: object) -> str:
        return "" if _are_mixed(input, weight, bias) else kernel

    return said


def _string_padding(F: Functions, input: TensorRef, padding: str, kernel: tuple[int, ...], stride: tuple[int, ...],
                    dilation: tuple[int, ...]) -> tuple[TensorRef, tuple[int, ...]]:
    """(input, padding) for 'valid' and 'same'; where 'same' is odd, the input gets the extra zeros at its end."""
    if padding == "valid":
        return input, (0,) * len(kernel)
    if padding != "same":
        raise AutogradError(f"Invalid padding string: '{padding}'")
    if any([s != 1 for s in stride]):
        raise AutogradError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for k, d in zip(kernel, dilation)]
    for i, t in enumerate(total):
        if t % 2:
            shape = list(input.shape)
            shape[2 + i] = 1
            input = F.cat([input, F.wrap(np.zeros(shape, input._k.np), input._k)], 2 + i)
    return input, tuple([t // 2 for t in total])


def _convolve(F: Functions, name: str, n: int, input: TensorRef, weight: TensorRef, bias: TensorRef | None, stride: int | Sequence[int],
              padding: Any, dilation: int | Sequence[int], groups: int) -> TensorRef:
    batch = F.unsqueeze(input, 0) if input._data.ndim == n + 1 else input
    if (plan := planned(conv_plan, n, batch, weight, bias, stride, padding, dilation, groups)) is not None:
        result = F.convolution_nd(batch, weight, bias, *plan)
        return result if batch is input else F.squeeze(result, 0)
    if weight.ndim != n + 2:
        if isinstance(padding, str):
            k = weight.ndim
            raise ShapeMismatchError(f"Expected {k}-dimensional input for {k}-dimensional weight{list(weight.shape)}, but got "
                                     f"{input.ndim}-dimensional "
                                     f"input of size {list(input.shape)} instead")
        if weight.ndim < 3:
            raise ShapeMismatchError("weight should have at least three dimensions")
        several((1,) * n if isinstance(stride, int) else stride, weight.ndim - 2, "stride")
    stride = several(stride, n, "stride")
    dilation = several(dilation, len(stride), "dilation")
    mixed = _are_mixed(input, weight, bias)
    if mixed and name != "convolution" and not isinstance(padding, str):
        _check_bias_type(input, bias)
    x = _batched(F, input, n, name)
    if mixed and x.dtype.is_complex:
        _check_same_type(x, {"weight": weight, "bias": bias})
    if isinstance(padding, str):
        x, padding = _string_padding(F, x, padding, tuple(weight.shape)[2:], stride, dilation)
    else:
        padding = several(padding, len(stride), "padding")
    _check_arguments(x, weight, bias, stride, padding, dilation, groups, False)
    if mixed:
        x, weight, bias = _of_one_dtype(F, x, weight, bias, stride, dilation, groups, False)
    result = F.convolution_nd(x, weight, bias, stride, padding, dilation, groups)
    if not x._data.shape[1]:  # of no channels torch makes none, whatever the weight says
        result = F.slice(result, 1, 0, 0)
    return result if x.ndim == input.ndim else F.squeeze(result, 0)


def _transposed(F: Functions, name: str, n: int, input: TensorRef, weight: TensorRef, bias: TensorRef | None, stride: int | tuple[int, ...],
                padding: int | Sequence[int], output_padding: int | tuple[int, ...], groups: int,
                dilation: int | tuple[int, ...]) -> TensorRef:
    batch = F.unsqueeze(input, 0) if input._data.ndim == n + 1 else input
    plan = planned(transposed_plan, n, batch, weight, bias, stride, padding, output_padding, groups, dilation)
    if plan is not None:
        result = F.convolution_nd_input(batch, weight, *plan)
        result = result if bias is None else result + F.reshape(bias, (1, plan[0][1]) + (1,) * n)
        return result if batch is input else F.squeeze(result, 0)
    stride, padding = several(stride, n, "stride"), several(padding, n, "padding")
    dilation, output_padding = several(dilation, n, "dilation"), several(output_padding, n, "output_padding")
    x = _batched(F, input, n, name)
    mixed = _are_mixed(x, weight, bias)
    if mixed and x.dtype.is_complex:
        _check_same_type(x, {"weight": weight, "bias": bias})
    _check_arguments(x, weight, bias, stride, padding, dilation, groups, True, output_padding)
    if any([o >= s and o >= d for o, s, d in zip(output_padding, stride, dilation)]):
        axes = ("height", "width") if n < 3 else ("depth", "height", "width")
        shown = []
        for label, values, lead in (("output_padding", output_padding, 0), ("stride", stride, 1), ("dilation", dilation, 1)):
            values = (lead, *values) if n == 1 else values
            shown += [f"{label}_{axis}: {v}" for axis, v in zip(axes, values)]
        raise AutogradError("output padding must be smaller than either stride or dilation, but got " + " ".join(shown))
    size = tuple([(m - 1) * s - 2 * p + d * (k - 1) + o + 1 for m, k, s, p, o, d in
                  zip(tuple(x.shape)[2:], tuple(weight.shape)[2:], stride, padding, output_padding, dilation)])
    if min(size) < 1:
        sizes = ["(" + " x ".join([str(m) for m in (*[1] * (n == 1), *found)]) + ")" for found in (tuple(x.shape)[2:], size)]
        raise ShapeMismatchError(f"Given input size per channel: {sizes[0]}. Calculated output size per channel: {sizes[1]}. "
                                 "Output size is too small")
    if mixed:
        x, weight, bias = _of_one_dtype(F, x, weight, bias, stride, dilation, groups, True)
    out = weight.shape[1] * groups
    result = F.convolution_nd_input(x, weight, (x.shape[0], out, *size), stride, padding, dilation, groups)
    if bias is not None:
        result = result + F.reshape(bias, (1, out) + (1,) * n)
    return result if x.ndim == input.ndim else F.squeeze(result, 0)


_CONV = "(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, Any padding=0, int[] dilation=1, int groups=1) -> Tensor"
_CONV_TRANSPOSE = ("(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] output_padding=0, int "
                   "groups=1, "
                   "int[] dilation=1) -> Tensor")


def _composite(n: int, transposed: bool = False) -> Callable[..., str]:
    """What torch is asked for before it convolves along `n` dimensions."""
    ones, zeros = f"[1] * {n}", f"[0] * {n}"
    if transposed:
        given = f"[bias, many({n}, stride), many({n}, padding), many({n}, output_padding), groups, many({n}, dilation)]"
        text = f"conv_transpose{n}d{'.input' * (n > 1)}(input, weight, *but({given}, [None, {ones}, {zeros}, {zeros}, 1, {ones}]))"
        return lambda *args: text

    def said(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        rest, end = f"many({n}, dilation), groups", f"{ones}, 1"
        if isinstance(padding, str):
            return f"conv{n}d.padding(input, weight, *but([bias, many({n}, stride), padding, {rest}], [None, {ones}, 'valid', {end}]))"
        return f"conv{n}d(input, weight, *but([bias, many({n}, stride), many({n}, padding), {rest}], [None, {ones}, {zeros}, {end}]))"

    return said


@op("conv1d" + _CONV, method=False, out=False, alias="=nn.functional.conv1d")
class conv1d:
    """Cross-correlation of (N, C, L) with weights (O, C / groups, K).

    >>> torch.nn.functional.conv1d(torch.arange(4.).reshape(1, 1, 4), torch.ones(1, 1, 2))
    tensor([[[1., 3., 5.]]])
    """

    composite = _composite(1)
    lacks = {"bool uint float8": _lacking("slow_conv2d_cpu")}
    amp = "lower"
    quick = quick_conv(1, _forward)
    def function(F, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return _convolve(F, "conv1d", 1, input, weight, bias, stride, padding, dilation, groups)

    def samples(rng):
        yield rng.standard_normal((2, 3, 6)), rng.standard_normal((4, 3, 3)), rng.standard_normal(4)
        yield rng.standard_normal((3, 6)), rng.standard_normal((2, 3, 2)), None, 1, "same"


@op("conv2d" + _CONV, method=False, out=False, alias="=nn.functional.conv2d")
class conv2d:
    """Cross-correlation of (N, C, H, W) with weights (O, C / groups, KH, KW).

    >>> torch.nn.functional.conv2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2))
    tensor([[[[4.]]]])
    """

    composite = _composite(2)
    lacks = {"bool uint float8": _lacking("slow_conv2d_cpu")}
    amp = "lower"
    quick = quick_conv(2, _forward)
    def function(F, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return _convolve(F, "conv2d", 2, input, weight, bias, stride, padding, dilation, groups)

    def samples(rng):
        yield Sample((rng.standard_normal((2, 3, 5, 5)), rng.standard_normal((4, 3, 3, 3)), rng.standard_normal(4)),
                     {"stride": 2, "padding": 1})
        yield rng.standard_normal((2, 2, 4, 4)), rng.standard_normal((2, 1, 2, 3)), None, 1, "same", 1, 2

    def errors(rng):
        yield (np.ones((2, 3, 5, 5)), np.ones((4, 2, 3, 3))), RuntimeError, (
            "Given groups=1, weight of size [4, 2, 3, 3], expected input[2, 3, 5, 5] to have 2 channels, but got 3 channels instead")
        yield (np.ones((5, 5)), np.ones((4, 3, 3, 3))), RuntimeError, (
            "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [5, 5]")
        yield (np.ones((2, 3, 2, 2)), np.ones((4, 3, 3, 3))), RuntimeError, (
            "Calculated padded input size per channel: (2 x 2). Kernel size: (3 x 3). Kernel size can't be greater than actual input size")


@op("conv3d" + _CONV, method=False, out=False, alias="=nn.functional.conv3d")
class conv3d:
    """Cross-correlation of (N, C, D, H, W) with weights (O, C / groups, KD, KH, KW).

    >>> torch.nn.functional.conv3d(torch.ones(1, 1, 1, 2, 2), torch.ones(1, 1, 1, 2, 2))
    tensor([[[[[4.]]]]])
    """

    composite = _composite(3)
    lacks = {"bool uint float8": _lacking("compute_columns3d")}
    amp = "lower"
    quick = quick_conv(3, _forward)
    def function(F, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return _convolve(F, "conv3d", 3, input, weight, bias, stride, padding, dilation, groups)

    def samples(rng): yield rng.standard_normal((1, 2, 3, 4, 3)), rng.standard_normal((2, 2, 2, 2, 2)), rng.standard_normal(2), 1, 1


@op("conv_transpose1d" + _CONV_TRANSPOSE, method=False, out=False, alias="=nn.functional.conv_transpose1d")
class conv_transpose1d:
    """The transpose of `conv1d`: (N, C, L) with weights (C, O / groups, K).

    >>> torch.nn.functional.conv_transpose1d(torch.ones(1, 1, 2), torch.ones(1, 1, 2))
    tensor([[[1., 2., 1.]]])
    """

    composite = _composite(1, True)
    lacks = {"short bool uint float8": _lacking("slow_conv_transpose2d_out_cpu")}
    amp = "lower"
    quick = quick_transposed(1, _input_grad)
    def function(F, input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return _transposed(F, "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)

    def samples(rng): yield rng.standard_normal((2, 3, 4)), rng.standard_normal((3, 2, 3)), rng.standard_normal(2), 2, 1, 1


@op("conv_transpose2d" + _CONV_TRANSPOSE, method=False, out=False, alias="=nn.functional.conv_transpose2d")
class conv_transpose2d:
    """The transpose of `conv2d`: (N, C, H, W) with weights (C, O / groups, KH, KW).

    >>> torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 1, 2), torch.ones(1, 1, 1, 2))
    tensor([[[[1., 2., 1.]]]])
    """

    composite = _composite(2, True)
    lacks = {"short bool uint float8": _lacking("slow_conv_transpose2d_out_cpu")}
    amp = "lower"
    quick = quick_transposed(2, _input_grad)
    def function(F, input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return _transposed(F, "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)

    def samples(rng):
        yield rng.standard_normal((2, 4, 3, 3)), rng.standard_normal((4, 2, 3, 2)), rng.standard_normal(4), 2, (1, 0), 1, 2
        yield Sample((rng.standard_normal((2, 3, 3)), rng.standard_normal((2, 2, 2, 2))), {"dilation": 2, "output_padding": 1})

    def errors(rng):
        yield (np.ones((2, 3, 5, 5)), np.ones((4, 2, 3, 3))), RuntimeError, (
            "Given transposed=1, weight of size [4, 2, 3, 3], expected input[2, 3, 5, 5] to have 4 channels, but got 3 channels instead")


@op("conv_transpose3d" + _CONV_TRANSPOSE, method=False, out=False, alias="=nn.functional.conv_transpose3d")
class conv_transpose3d:
    """The transpose of `conv3d`: (N, C, D, H, W) with weights (C, O / groups, KD, KH, KW).

    >>> torch.nn.functional.conv_transpose3d(torch.ones(1, 1, 1, 1, 2), torch.ones(1, 1, 1, 1, 2))
    tensor([[[[[1., 2., 1.]]]]])
    """

    composite = _composite(3, True)
    lacks = {"short bool uint float8": _lacking("slow_conv_transpose3d_out_cpu")}
    amp = "lower"
    quick = quick_transposed(3, _input_grad)
    def function(F, input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return _transposed(F, "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)

    def samples(rng): yield rng.standard_normal((1, 2, 2, 3, 2)), rng.standard_normal((2, 2, 2, 2, 2)), rng.standard_normal(2), 2


_any_conv, _any_transposed = quick_conv(0, _forward), quick_transposed(0, _input_grad)


@op("convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, "
    "int[] output_padding, int groups) -> Tensor", method=False, out=False)
class convolution:
    """Convolution, or its transpose, in as many dimensions as the weight has.

    >>> torch.convolution(torch.ones(1, 1, 2), torch.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)
    tensor([[[2.]]])
    """

    lacks = {"bool uint float8": _lacking("slow_conv2d_cpu")}
    def quick(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
        if transposed is False:
            return _any_conv(input, weight, bias, stride, padding, dilation, groups)
        return _any_transposed(input, weight, bias, stride, padding, output_padding, groups, dilation) if transposed is True else None

    def function(F, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
        n = weight.ndim - 2
        if input.dtype.is_complex:  # `conv2d` and its kin take complex numbers apart before they come here
            name = "slow_conv3d_cpu" if n == 3 else "slow_conv2d_cpu"
            no_kernel(name, input)
        if transposed:
            return _transposed(F, "convolution", n, input, weight, bias, stride, padding, output_padding, groups, dilation)
        return _convolve(F, "convolution", n, input, weight, bias, stride, padding, dilation, groups)

    def samples(rng): yield rng.standard_normal((2, 3, 6)), rng.standard_normal((4, 3, 3)), None, [1], [0], [1], False, [0], 1


@op("conv_tbc(Tensor input, Tensor weight, Tensor bias, int pad=0) -> Tensor", alias="=nn.functional.conv_tbc", method=False, out=False)
class conv_tbc:
    """Convolution along the first dimension of (time, batch, channels), padded by `pad`, with a weight (width, channels, outputs).

    >>> torch.conv_tbc(torch.ones(3, 1, 1), torch.ones(2, 1, 1), torch.zeros(1)).reshape(-1)
    tensor([2., 2.])
    """

    no_forward = "conv_tbc"

    def quick(input, weight, bias, pad):
        if not input.dtype is weight.dtype is bias.dtype or input.dtype.char not in "fdl" or input.ndim != 3 or weight.ndim != 3:
            return None
        (time, rows, channels), (width, inputs, outputs) = input.shape, weight.shape
        length = time + 2 * pad - width + 1
        if pad < 0 or length < 1 or not width or inputs != channels or bias.shape != (outputs,) or not input.size:
            return None
        padded = input
        if pad:
            padded = np.zeros((time + 2 * pad, rows, channels), input.dtype)
            padded[pad:pad + time] = input
        if input.dtype.char == "l":  # sums of integers are the same in any order
            windows = np.concatenate([padded[k:k + length].reshape(length * rows, channels) for k in range(width)], 1)
            total = integers(windows, weight.reshape(width * channels, outputs))
            total += bias
            return total.reshape(length, rows, outputs)
        found = bias
        for k in range(width):
            found = product_plus(padded[k:k + length].reshape(length * rows, channels), weight[k], found)
        return found.reshape(length, rows, outputs)

    def function(F, input, weight, bias, pad=0):
        for holds, text in ((input.ndim == 3, "Input must have 3 dims: time, batch, in_channel"),
                            (weight.ndim == 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."),
                            (bias.ndim == 1, "Bias must be 1-D")):
            if not holds:
                raise AutogradError(text)
        if input.shape[2] != weight.shape[1]:
            raise ShapeMismatchError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
        if weight.shape[2] != bias.shape[0]:
            raise ShapeMismatchError("Bias size must equal dim 2 in the weight tensor (output channels).")
        refuse_complex_gradient("conv_tbc", input, weight, bias)
        time, rows, channels = input.shape
        width, outputs = weight.shape[0], weight.shape[2]
        length = time + 2 * pad - width + 1
        if length < 0:
            raise AutogradError(f"Trying to create tensor with negative dimension {length}: {[length, rows, outputs]}",
                                expected="an input that is at least as long as the weight", found=str(time))
        padded = F.constant_pad_nd(input, (0, 0, 0, 0, pad, pad)) if pad else input
        found = F.expand(bias, (length * rows, outputs))
        if not width:  # gradients of zero, nonetheless
            found = F.cat([F.matmul(F.reshape(F.narrow(padded, 0, 0, 0), (0, channels)), F.sum(weight, 0)), found])
        for k in range(width):  # one product at a time, each of which rounds half precision
            found = F.addmm(found, F.reshape(F.narrow(padded, 0, k, length), (length * rows, channels)), F.select(weight, 0, k))
        return F.contiguous(F.reshape(found, (length, rows, outputs)))

    def samples(rng):
        r = rng.standard_normal
        yield r((5, 2, 3)), r((2, 3, 4)), r(4)
        yield r((3, 2, 1)), r((3, 1, 2)), r(2), 1

    def errors(rng):
        yield (np.ones((2, 3, 4)), np.ones((2, 3, 5)), np.ones(5)), RuntimeError, (
            "Input dim 2 (input channels) is not == dim 1 in the weight tensor")
