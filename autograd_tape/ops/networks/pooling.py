"""Pooling: maxima, means and powers of windows, and of evenly spread cells (adaptive).

Means are linear, so each pooling and its transpose are each other's gradients; so are picking maxima by their indices and
adding at these indices.
"""

from __future__ import annotations

from math import prod
from typing import Any
from collections.abc import Sequence

import numpy as np

from ...dims import within
from ...dtypes import SCALAR_TYPE_NAMES, default_dtype, float32
from ...errors import AutogradError, ShapeMismatchError
from ...executors.kernels import pooling as fused
from ...executors.kernels._on_demand import contiguous, state, within as inside
from ...executors.kernels.embedding import gather, scatter
from ...executors.kernels.elementwise import narrow, takes_half, widened
from ...executors.kernels.sharing import BIG
from ...functions.out import EXPECTED
from ...functions.refusals import on_meta
from ...record import Sample, op
from ...strided import in_format, suggests_channels_last
from .. import _batch as batches
from .. import _mindspore as kernels
from .._host import on_host
from .._samples import takes, takes_floats
from ..elementwise.arithmetic import pow_few, pow_half
from ._axes import along_axes, cell_matrix, window_matrix
from ._losses import buffer, constant
from ._windows import (ONES, adaptive_plan, adaptive_size, as_keys, avg_geometry, avg_plan, max_geometry, max_plan, output_sizes,
                       settled, settled_size, sizes_of, stride_of, unpooled_size)
from ...annotations import Functions
from ...tensor import TensorRef
from .._batch import BatchedCall

Ints = Sequence[int]


# -- maxima -----------------------------------------------------------------------------------------------------------


def _like(n: int, input: np.ndarray, *results: np.ndarray) -> Any:
    """What is made of windows of `input`, in memory as that is."""
    if not (input.flags.c_contiguous and input.strides[1] > input.strides[-1]):
        innermost = input.ndim == n + 2 and suggests_channels_last(input)
        results = tuple([in_format(n, y, input) if innermost else np.ascontiguousarray(y) for y in results])
    return results[0] if len(results) == 1 else results


@takes_half
def _max_pool(input: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> tuple[np.ndarray,
              np.ndarray]:
    plan = fused.max_plan(input.shape, tuple(kernel), tuple(stride), tuple(padding), tuple(dilation), ceil_mode)
    found = fused.maxima(input, plan, True)
    return _largest(input, plan, len(kernel)) if found is None else found


def _largest(input: np.ndarray, plan: fused.Plan, n: int, places: bool = True) -> Any:
    """Maxima of windows without a kernel, and where they are, if somebody asks for the `places`."""
    found = fused.composed_maxima(input, plan, places)
    if places:
        return _like(n, input, *found)
    return found if n == 1 else _like(n, input, found)


@op("max_pool_nd(Tensor input, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> (Tensor values, "
    "Index indices)", namespace="_internal", method=False, out=False, node="MaxPool2DWithIndicesBackward0")
class max_pool_nd:
    """The maxima of windows over the last dimensions, and where they are: flat indices within these dimensions."""

    def sharding(call): return call.leading(len(call["kernel_size"]))
    saved_as = {"indices": "result1", "input_shape": None}
    nodes = {"len(kernel_size) == 3": "MaxPool3DWithIndicesBackward0"}
    def complex_kernel(input, kernel_size, **_): return f"max_pool{max(len(kernel_size), 2)}d"
    numpy = _max_pool
    mindspore = kernels.max_pool
    compose = on_host(_max_pool)
    def shape(input, kernel_size, stride, padding, dilation, ceil_mode):
        n = len(kernel_size)
        out = (*input[:-n], *output_sizes(input[-n:], kernel_size, stride, padding, dilation, ceil_mode))
        return out, out
    def vjp_input(F, grad, indices, input_shape, kernel_size):
        return F.spread_picked(grad, indices, tuple(input_shape), len(kernel_size))
    batch = batches.matrices

    def aten(kernel_size, **_):
        n = len(kernel_size)
        return (f"max_pool{n}d_with_indices(input, *but([list(kernel_size), list(stride), list(padding), list(dilation), ceil_mode], "
                f"[list(kernel_size), [0] * {n}, [1] * {n}, False]))")
    known_as = "max_pool2d_with_indices"

    def decompose(F, input, kernel_size, stride, padding, dilation, ceil_mode):
        if len(kernel_size) > 1:
            return NotImplemented
        sizes = [(n, *s) for n, s in zip((1, 1, 0, 1), (kernel_size, stride, padding, dilation))]
        return tuple([F.squeeze(t, -2) for t in F.max_pool_nd(F.unsqueeze(input, -2), *sizes, ceil_mode)])



    def samples(rng):
        yield rng.permutation(24).reshape(2, 12) * 0.1, (3,), (2,), (1,), (1,), False
        yield rng.permutation(60).reshape(1, 2, 5, 6) * 0.1, (2, 3), (2, 1), (1, 1), (1, 2), True
        yield rng.permutation(64).reshape(1, 4, 4, 4) * 0.1, (2, 2, 2), (1, 2, 1), (0, 1, 0), (1, 1, 2), False


def _spread_picked(grad: np.ndarray, indices: np.ndarray, size: Ints, n: int) -> np.ndarray:
    return fused.max_pool2d_backward(grad, indices, tuple(size), n)


@op("spread_picked(Tensor grad, Index indices, int[] size, int n) -> Tensor", namespace="_internal", method=False, out=False)
class spread_picked:
    """Zeros of shape `size` with `grad` added at flat indices into its last `n` dimensions."""

    def sharding(call): return call.leading(call["n"], "size")
    numpy = _spread_picked
    def shape(grad, indices, size, n): return tuple(size)
    compose = on_host(_spread_picked)
    def vjp_grad(F, grad, indices, n): return F.picked(grad, indices, n)
    jvp = "linear"
    batch = batches.together
    def samples(rng): yield rng.standard_normal((2, 3)), np.array([[0, 4, 4], [1, 2, 3]]), (2, 5), 1


@op("max_pool_backward(Tensor grad_output, Tensor input, Index indices, int n) -> Tensor", namespace="_internal", method=False, out=False,
    node="MaxPool2DWithIndicesBackwardBackward0")
class max_pool_backward:
    """`spread_picked` over an input, of which nothing but the shape and the layout counts: its gradient is zeros."""

    def sharding(call): return call.leading(call["n"])
    nodes = {"n == 3": "MaxPool3DWithIndicesBackwardBackward0"}
    def numpy(grad_output, input, indices, n):
        return in_format(n, _spread_picked(grad_output, indices, input.shape, n), input)
    def shape(grad_output, input, indices, n): return input
    def compose(F, grad_output, input, indices, n): return F.spread_picked(grad_output, indices, tuple(input.shape), n)
    def vjp_grad_output(F, grad, indices, n): return F.picked(grad, indices, n)
    def vjp_input(F, grad): return constant(F, grad, np.zeros(grad.shape, buffer(grad).dtype))
    batch = batches.together
    def samples(rng): yield rng.standard_normal((2, 3)), rng.standard_normal((2, 5)), np.array([[0, 4, 4], [1, 2, 3]]), 1


def _flattened(x: np.ndarray, n: int) -> np.ndarray:
    """`x` with its last `n` dimensions as one."""
    lead = x.ndim - n
    return x.reshape(*x.shape[:lead], prod(x.shape[lead:]))


@takes_half
def _picked(input: np.ndarray, indices: np.ndarray, n: int) -> np.ndarray:
    given = _flattened(input, n)
    length = given.shape[-1]
    rows, where = given.reshape(-1, length), _flattened(indices, n).reshape(-1, prod(indices.shape[indices.ndim - n:]))
    if indices.dtype.char == "l" and len(rows) == len(where):
        try:
            return gather(rows, 1, where).reshape(indices.shape)
        except IndexError:  # which is told below
            pass
    return np.take_along_axis(given, within(_flattened(indices, n), length, given.ndim - 1), -1).reshape(indices.shape)


@op("picked(Tensor input, Index indices, int n) -> Tensor", namespace="_internal", method=False, out=False)
class picked:
    """Elements of `input` at flat indices into its last `n` dimensions."""

    def sharding(call): return call.leading(call["n"])
    numpy = _picked
    def shape(input, indices, n): return indices
    compose = on_host(_picked)
    def vjp_input(F, grad, indices, input_shape, n): return F.spread_picked(grad, indices, tuple(input_shape), n)
    jvp = "linear"
    batch = batches.together
    def samples(rng): yield rng.standard_normal((2, 5)), np.array([[0, 4, 4], [1, 2, 3]]), 1


@takes_half
def _max_unpool(input: np.ndarray, indices: np.ndarray, size: Ints, n: int) -> np.ndarray:
    size, lead = tuple(size), len(size) - n
    spatial, index = size[lead:], np.asarray(indices, np.int64)
    length, rows, given, channels = prod(spatial), prod(size[:lead]), input, 1
    inner = fused.innermost(input, n) if n == 2 else None
    if inner is not None:  # so do the results' channels
        rows, channels, given = size[0], size[1], inner
        index = index.transpose(0, *range(2, n + 2), 1) * channels
        index += np.arange(channels)
    y, shape = np.zeros((rows, length * channels), input.dtype), (rows, input.size // max(rows, 1))
    try:
        scatter(y, 1, np.ascontiguousarray(index).reshape(shape), np.ascontiguousarray(given).reshape(shape))
    except IndexError:
        within(indices, length, 1)
        raise
    if inner is not None:
        return y.reshape(rows, *spatial, channels).transpose(0, n + 1, *range(1, n + 1))
    made = y.reshape(size)
    return in_format(n, made, input) if n == 2 else made


@op("max_unpool_nd(Tensor input, Index indices, int[] size, int n) -> Tensor", namespace="_internal", method=False, out=False)
class max_unpool_nd:
    """Zeros of shape `size` with `input` put at flat indices into its last `n` dimensions."""

    def sharding(call): return call.leading(call["n"], "size")
    def complex_kernel(n, **_): return f"max_unpool{max(n, 2)}d"
    numpy = _max_unpool
    def shape(input, indices, size, n): return tuple(size)
    compose = on_host(_max_unpool)
    def vjp_input(F, grad, indices, n): return F.picked(grad, indices, n)
    jvp = "linear"
    batch = batches.together
    def samples(rng): yield rng.standard_normal((2, 3)), np.array([[0, 4, 1], [1, 2, 3]]), (2, 5), 1


# -- means ------------------------------------------------------------------------------------------------------------


@takes_half
def _avg_pool(input: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, include: bool,
              divisor: int | None) -> np.ndarray:
    geometry = tuple(kernel), tuple(stride), tuple(padding), ceil_mode, include, divisor
    if divisor == 0:
        raise AutogradError("divisor must be not zero")
    y = fused.means(input, fused.mean_plan(input.shape, *geometry))
    return _mean(input, *geometry) if y is None else y


def _mean(input: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, include: bool, divisor: int | None) -> np.ndarray:
    """Means of windows without a kernel."""
    n = len(kernel)
    if n == 3:
        plan = fused.mean_plan(input.shape, kernel, stride, padding, ceil_mode, include, divisor)
        return np.ascontiguousarray(fused.mean_windows(input, plan.windows, plan.divisors))
    if n == 1:
        return in_format(n, fused.avg_pool1d(input, kernel[0], stride[0], padding[0], ceil_mode, include, divisor), input)
    return in_format(n, fused.avg_pool2d(input, tuple(kernel), tuple(stride), tuple(padding), ceil_mode, include, divisor), input)


@takes_half
def _avg_pool_grad(grad: np.ndarray, size: Ints, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, include: bool,
                   divisor: int | None) -> np.ndarray:
    n, size = len(kernel), tuple(size)
    if n == 2:
        return fused.avg_pool2d_backward(grad, size, tuple(kernel), tuple(stride), tuple(padding), include, divisor)
    geometry = size[-n:], grad.shape[-n:], tuple(kernel), tuple(stride), tuple(padding)
    return fused.mean_windows_backward(grad, fused.windows(*geometry, ONES[n]), fused.counts(*geometry, include, divisor))


_AVG = "int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, int? divisor_override"


@op(f"avg_pool_nd(Tensor input, {_AVG}) -> Tensor", namespace="_internal", method=False, out=False, node="AvgPool2DBackward0")
class avg_pool_nd:
    """The means of windows over the last dimensions."""

    def sharding(call): return call.leading(len(call["kernel_size"]))
    saved_as = {"input_shape": None}
    nodes = {"len(kernel_size) == 3": "AvgPool3DBackward0"}
    def complex_kernel(kernel_size, **_): return "avg_pool3d_out_frame" if len(kernel_size) == 3 else "avg_pool2d"
    numpy = _avg_pool
    def compose(F, input, kernel, stride, padding, ceil_mode, include, divisor):
        size = input.shape[-len(kernel):]
        out = output_sizes(size, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
        total = along_axes(F, input, [window_matrix(*v) for v in zip(size, out, kernel, stride, padding)])
        divisors = fused.counts(tuple(size), out, tuple(kernel), tuple(stride), tuple(padding), include, divisor)
        return (total / divisors.astype(input.dtype)).astype(input.dtype)
    def shape(input, kernel, stride, padding, ceil_mode, include, divisor):
        n = len(kernel)
        return (*input[:-n], *output_sizes(input[-n:], kernel, stride, padding, (1,) * n, ceil_mode))
    def vjp_input(F, grad, input_shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        return F.avg_pool_nd_grad(grad, tuple(input_shape), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    jvp = "linear"
    batch = batches.matrices

    def aten(kernel_size, **_):
        n = len(kernel_size)
        return (f"avg_pool{n}d(input, *but([list(kernel_size), list(stride), list(padding), ceil_mode, count_include_pad, "
                f"divisor_override], [list(kernel_size), [0] * {n}, False, True, None]))")
    known_as = "avg_pool2d"


    def samples(rng):
        yield rng.standard_normal((2, 7)), (3,), (2,), (1,), True, False, None
        yield rng.standard_normal((1, 2, 5, 6)), (2, 3), (2, 2), (1, 1), True, True, None
        yield rng.standard_normal((1, 4, 4, 4)), (2, 2, 2), (1, 2, 1), (0, 1, 0), False, True, 3


@op(f"avg_pool_nd_grad(Tensor grad, int[] size, {_AVG}) -> Tensor", namespace="_internal", method=False, out=False)
class avg_pool_nd_grad:
    """The transpose of `avg_pool_nd`: each window's share spread over it."""

    def sharding(call): return call.leading(len(call["kernel_size"]), "size")
    numpy = _avg_pool_grad
    def compose(F, grad, size, kernel, stride, padding, ceil_mode, include, divisor):
        size, out = tuple(size)[-len(kernel):], grad.shape[-len(kernel):]
        divisors = fused.counts(size, tuple(out), tuple(kernel), tuple(stride), tuple(padding), include, divisor)
        share = grad / divisors.astype(grad.dtype)
        return along_axes(F, share, [window_matrix(*v).T for v in zip(size, out, kernel, stride, padding)])
    def shape(grad, size, kernel, stride, padding, ceil_mode, include, divisor): return tuple(size)
    def vjp_grad(F, grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        return F.avg_pool_nd(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    jvp = "linear"
    def samples(rng): yield rng.standard_normal((2, 4)), (2, 7), (3,), (2,), (1,), True, False, None


@takes_half
def _adaptive_avg(input: np.ndarray, size: Ints) -> np.ndarray:
    n = len(size)
    if 0 in size:
        return np.empty((*input.shape[:-n], *size), input.dtype)
    if n == 2:
        return _like(n, input, fused.adaptive_avg_pool2d(input, tuple(size)))
    y = fused.mean_windows(input, fused.cells(input.shape[input.ndim - n:], tuple(size)))
    return _like(n, input, y) if n < 3 else np.ascontiguousarray(y)


@takes_half
def _adaptive_avg_grad(grad: np.ndarray, size: Ints, n: int) -> np.ndarray:
    return fused.mean_windows_backward(grad, fused.cells(tuple(size)[-n:], grad.shape[-n:]))


@op("adaptive_avg_pool_nd(Tensor input, int[] size) -> Tensor", namespace="_internal", method=False, out=False,
    node="AdaptiveAvgPool2DBackward0")
class adaptive_avg_pool_nd:
    """The means of `size` evenly spread cells of the last dimensions."""

    def sharding(call): return call.leading(len(call["size"]))
    saved_as = {"input_shape": None, "size": None}
    nodes = {"len(size) == 3": "AdaptiveAvgPool3DBackward0"}
    def complex_kernel(size, **_): return "adaptive_avg_pool3d_cpu" if len(size) == 3 else "adaptive_avg_pool2d"
    @takes_floats
    def check(input, size):
        takes("float complex", "adaptive_avg_pool3d_cpu" if len(size) == 3 else "adaptive_avg_pool2d")(input=input)

    numpy = _adaptive_avg
    def compose(F, input, size): return along_axes(F, input, [cell_matrix(n, m) for n, m in zip(input.shape[-len(size):], size)])
    def shape(input, size): return (*input[:len(input) - len(size)], *size)
    def vjp_input(F, grad, input_shape, size): return F.adaptive_avg_pool_nd_grad(grad, tuple(input_shape), len(size))
    jvp = "linear"
    batch = batches.matrices

    def decompose(F, input, size):
        return F.mean(input, tuple(range(-1, -len(size) - 1, -1)), True) if all([s == 1 for s in size]) else NotImplemented


    def samples(rng):
        yield rng.standard_normal((2, 7)), (3,)
        yield rng.standard_normal((2, 5, 6)), (2, 4)
        yield rng.standard_normal((2, 3, 4, 5)), (2, 2, 3)


@op("adaptive_avg_pool_nd_grad(Tensor grad, int[] size, int n) -> Tensor", namespace="_internal", method=False, out=False)
class adaptive_avg_pool_nd_grad:
    """The transpose of `adaptive_avg_pool_nd` for an input of shape `size`."""

    def sharding(call): return call.leading(call["n"], "size")
    numpy = _adaptive_avg_grad
    def compose(F, grad, size, n): return along_axes(F, grad, [cell_matrix(m, k).T for m, k in zip(tuple(size)[-n:], grad.shape[-n:])])
    def shape(grad, size, n): return tuple(size)
    def vjp_grad(F, grad, grad_shape, n): return F.adaptive_avg_pool_nd(grad, tuple(grad_shape)[len(grad_shape) - n:])
    jvp = "linear"
    def samples(rng): yield rng.standard_normal((2, 3)), (2, 7), 1


@takes_half
def _adaptive_max(input: Any, size: Ints, places: bool = True) -> tuple[np.ndarray, np.ndarray]:
    n = len(size)
    y, index = fused.max_windows(input, fused.cells(input.shape[input.ndim - n:], tuple(size)), places)
    if not places:
        return _like(n, input, y) if n < 3 else np.ascontiguousarray(y), index
    return _like(n, input, y, index) if n < 3 else (np.ascontiguousarray(y), np.ascontiguousarray(index))


@op("adaptive_max_pool_nd(Tensor input, int[] size) -> (Tensor values, Index indices)", namespace="_internal", method=False, out=False,
    node="AdaptiveMaxPool2DBackward0")
class adaptive_max_pool_nd:
    """The maxima of `size` evenly spread cells of the last dimensions, and their flat indices."""

    def sharding(call): return call.leading(len(call["size"]))
    saved_as = {"indices": "result1", "input_shape": None, "size": None}

    def complex_kernel(size, **_): return "adaptive_max_pool3d_cpu" if len(size) == 3 else "adaptive_max_pool2d"
    numpy = _adaptive_max
    compose = on_host(_adaptive_max)
    def shape(input, size): return ((*input[:len(input) - len(size)], *size),) * 2
    def vjp_input(F, grad, indices, input_shape, size): return F.spread_picked(grad, indices, tuple(input_shape), len(size))
    batch = batches.matrices

    def samples(rng):
        yield rng.permutation(14).reshape(2, 7) * 0.1, (3,)
        yield rng.permutation(60).reshape(2, 5, 6) * 0.1, (2, 4)


# -- pooling as torch spells it ---------------------------------------------------------------------------------------

def _pooled_max(F: Functions, n: int, input: TensorRef, kernel_size: int, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
                indices: bool = False) -> max_pool_nd:
    shape = tuple(input._data.shape)
    given: tuple[Any, ...] = (kernel_size, stride, padding, dilation)
    if list in map(type, given):
        given = tuple([tuple(v) if isinstance(v, list) else v for v in given])
    return F.max_pool_nd(input, *max_geometry(n, shape, *given, ceil_mode, indices), ceil_mode)


def _pooled_avg(F: Functions, n: int, input: TensorRef, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None,
                padding: int | Sequence[int], ceil_mode: bool, count_include_pad: bool, divisor_override: int | None) -> TensorRef:
    given: tuple[Any, ...] = (kernel_size, stride, padding)
    if list in map(type, given):
        given = tuple([tuple(v) if isinstance(v, list) else v for v in given])
    geometry = avg_geometry(n, tuple(input._data.shape), *given, ceil_mode, divisor_override == 0)
    return F.avg_pool_nd(input, *geometry, ceil_mode, count_include_pad, divisor_override)


def _quick_max(n: int, listed: bool) -> Any:
    """Maxima of plain arrays; `listed` is whether indices are always given."""
    def quick(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices=False):
        if not (kernel_size.__class__ is padding.__class__ is dilation.__class__ is int and (stride is None or stride.__class__ is int)):
            kernel_size, stride, padding, dilation = as_keys(kernel_size, stride, padding, dilation)
        places = listed or return_indices
        plan = max_plan(n, input.shape, kernel_size, stride, padding, dilation, ceil_mode, places)
        found = fused.maxima(input, plan, places)
        if found is not None:
            return found
        return _largest(input, plan, n, places)

    return quick


def _quick_avg(n: int) -> Any:
    def quick(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None):
        if not (kernel_size.__class__ is padding.__class__ is int and (stride is None or stride.__class__ is int)):
            kernel_size, stride, padding = as_keys(kernel_size, stride, padding)
        plan, geometry = avg_plan(n, input.shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        found = fused.means(input, plan)
        return found if found is not None else _mean(input, *geometry)

    return quick


_MAX = "(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool ceil_mode=False"


def _permuted(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Samples without ties, where a maximum would have no gradient."""
    return rng.permutation(prod(shape)).reshape(shape) * 0.1


_lacks_both = {"int": lambda return_indices=False, **_: "" if return_indices else "max_pool1d_impl",
               "bool rare": lambda return_indices=False, **_: "max_pool2d" if return_indices else "max_pool1d_impl"}
"""Of `max_pool1d`: indices come from the kernel for two dimensions."""


def _max_record(n: int, sample: tuple[int, ...]) -> None:
    """`max_pool{n}d`, with its two-output and its nn.functional forms."""
    letters = ["L", "H, W", "D, H, W"][n - 1]
    example = "torch.arange(4.).reshape(" + ", ".join(["1"] * (n + 1)) + ", 4), (" + "1, " * (n - 1) + "2" + ("," if n == 1 else "") + ")"
    shown = "tensor(" + "[" * (n + 2) + "1., 3." + "]" * (n + 2) + ")"

    def doc(text: str, call: str) -> str:
        return f"{text}\n\n>>> {call}({example})\n{shown}"

    def values(F, input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
        return _pooled_max(F, n, input, kernel_size, stride, padding, dilation, ceil_mode)[0]

    def both(F, input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        result = _pooled_max(F, n, input, kernel_size, stride, padding, dilation, ceil_mode, bool(return_indices))
        return (result[0], result[1]) if return_indices else result[0]

    def always(F, input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        result = _pooled_max(F, n, input, kernel_size, stride, padding, dilation, ceil_mode, True)
        return result[0], result[1]

    def samples(rng):
        yield _permuted(rng, *sample), 2
        yield Sample((_permuted(rng, *sample), 3), {"stride": 2, "padding": 1, "ceil_mode": True})

    def errors(rng):
        yield (np.ones(4 if n == 1 else (2,) * n), 2), RuntimeError, (
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:[4]" if n == 1 else
            f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")

    given = f"[[] if stride is None else many({n}, stride), many({n}, padding), many({n}, dilation), ceil_mode]"
    said = f"max_pool{n}d(input, many({n}, kernel_size), *but({given}, [[], [0] * {n}, [1] * {n}, False]))"
    lacks = {"int bool rare": "max_pool1d_impl"} if n == 1 else {"bool uint float8": f"max_pool{n}d"}
    text = f"The maxima of windows of (N, C, {letters}); NaN wins."
    amp = "float32" if n == 3 else None
    op(f"max_pool{n}d{_MAX}) -> Tensor", method=False, out=False)(
        type(f"max_pool{n}d", (), {"__doc__": doc(text, f"torch.max_pool{n}d"), "__module__": __name__, "function": values,
                                   "quick": _quick_max(n, False),
                                   "lacks": lacks, "amp": amp, "samples": samples, "errors": errors}))
    op(f"nn_functional_max_pool{n}d{_MAX}, bool return_indices=False) -> Tensor", namespace="_internal",
       alias=f"nn.functional.max_pool{n}d",
       method=False, out=False)(
        type(f"nn_functional_max_pool{n}d", (), {
            "__doc__": doc(text + " With `return_indices` also where they are.", f"torch.nn.functional.max_pool{n}d"),
            "__module__": __name__, "function": both, "quick": _quick_max(n, False),
            "lacks": _lacks_both if n == 1 else lacks, "samples": samples,
            "amp": amp and (lambda *args: None if args[-1] else "float32"), "composite": lambda *args: None if args[-1] else said,
            "gives": {"return_indices": "(Tensor, Tensor)"}}))
    op(f"max_pool{n}d_with_indices{_MAX}, bool return_indices=False) -> (Tensor values, Index indices)",
       alias=(f"nn.functional.max_pool{n}d_with_indices",), namespace="" if n == 1 else "_internal", method=False, out=False)(
        type(f"max_pool{n}d_with_indices", (), {
            "__doc__": doc(f"The maxima of windows of (N, C, {letters}) and their flat indices within the last dimensions.",
                           f"torch.nn.functional.max_pool{n}d_with_indices").replace(shown, f"({shown}, tensor({'[' * (n + 2)}1, "
                                                                                            f"3{']' * (n + 2)}))"),
            "__module__": __name__, "function": always, "quick": _quick_max(n, True), "samples": samples,
            "lacks": {"bool uint float8": f"max_pool{max(n, 2)}d"}}))


for _n, _sample in ((1, (2, 2, 7)), (2, (1, 2, 5, 6)), (3, (1, 1, 4, 4, 5))):
    _max_record(_n, _sample)


@op("avg_pool1d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool count_include_pad=True) "
    "-> "
    "Tensor", method=False, out=False, alias="=nn.functional.avg_pool1d")
class avg_pool1d:
    """The means of windows of (N, C, L).

    >>> torch.nn.functional.avg_pool1d(torch.arange(4.).reshape(1, 1, 4), 2)
    tensor([[[0.5000, 2.5000]]])
    """

    composite = ("avg_pool1d(input, many(1, kernel_size), *but([[] if stride is None else many(1, stride), many(1, padding), ceil_mode, "
                 "count_include_pad], [[], [0], False, True]))")
    lacks = {"short bool uint float8": "avg_pool2d"}
    quick = _quick_avg(1)
    def function(F, input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        return _pooled_avg(F, 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

    def samples(rng):
        yield rng.standard_normal((2, 2, 7)), 2
        yield rng.standard_normal((2, 7)), 3, 2, 1, True, False


_AVG_ARGS = ("(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool count_include_pad=True, "
             "int? divisor_override=None) -> Tensor")


@op("avg_pool2d" + _AVG_ARGS, namespace="nn.functional", method=False)
class avg_pool2d:
    """The means of windows of (N, C, H, W).

    >>> torch.nn.functional.avg_pool2d(torch.arange(4.).reshape(1, 1, 2, 2), 2)
    tensor([[[[1.5000]]]])
    """

    home = "_C._nn"
    lacks = {"short bool uint float8": "avg_pool2d"}
    out_dtype = EXPECTED
    quick = _quick_avg(2)
    def function(F, input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        return _pooled_avg(F, 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    def samples(rng):
        yield rng.standard_normal((1, 2, 5, 6)), 2
        yield rng.standard_normal((2, 5, 6)), 3, 2, 1, True, False
        yield rng.standard_normal((2, 5, 6)), 3, 2, 1, False, True, 5

    def errors(rng):
        yield (np.ones((1, 1, 2, 2)),
               3), RuntimeError, "Given input size: (1x2x2). Calculated output size: (1x0x0). Output size is too small"


@op("avg_pool3d" + _AVG_ARGS, namespace="nn.functional", method=False)
class avg_pool3d:
    """The means of windows of (N, C, D, H, W).

    >>> torch.nn.functional.avg_pool3d(torch.ones(1, 1, 2, 2, 2), 2)
    tensor([[[[[1.]]]]])
    """

    home = "_C._nn"
    lacks = {"half short bool uint float8": "avg_pool3d_out_frame"}
    out_dtype = EXPECTED
    amp = "float32"
    quick = _quick_avg(3)
    def function(F, input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        return _pooled_avg(F, 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    def samples(rng):
        yield rng.standard_normal((1, 2, 3, 4, 5)), 2
        yield rng.standard_normal((1, 3, 4, 5)), 2, 1, 1, True, False


def _adaptive_records(n: int, sample: tuple[int, ...], size: int | tuple[int, ...]) -> None:
    """`adaptive_avg_pool{n}d` and `adaptive_max_pool{n}d`."""
    letters = ["L", "H, W", "D, H, W"][n - 1]
    example = "torch.arange(4.).reshape(" + ", ".join(["1"] * (n + 1)) + ", 4), " + ("2" if n == 1 else "(" + "1, " * (n - 1) + "2)")
    opened, closed = "tensor(" + "[" * (n + 2), "]" * (n + 2) + ")"
    avg, largest = f"adaptive_avg_pool{n}d", f"adaptive_max_pool{n}d"

    def mean(F, input, output_size):
        return F.adaptive_avg_pool_nd(input, adaptive_size(tuple(input.shape), output_size, n, avg, on_meta(input)))

    def maximum(F, input, output_size, return_indices=False):
        result = F.adaptive_max_pool_nd(input, adaptive_size(tuple(input.shape), output_size, n, largest))
        return (result[0], result[1]) if return_indices else result[0]

    def both(F, input, output_size):
        result = F.adaptive_max_pool_nd(input, adaptive_size(tuple(input.shape), output_size, n, largest))
        return result[0], result[1]

    def quick_mean(input, output_size):
        if input.dtype.kind in "iub":
            return None
        plan, size = adaptive_plan(input.shape, settled_size(output_size), n, avg)
        found = plan and fused.means(input, plan)
        return found if found is not None else _adaptive_avg(input, size)

    def quick_largest(input, output_size, return_indices=False):
        plan, size = adaptive_plan(input.shape, settled_size(output_size), n, largest)
        found = plan and fused.maxima(input, plan, return_indices)
        if found is not None:
            return found
        found = _adaptive_max(input, size, return_indices)
        return found if return_indices else found[0]

    def quick_both(input, output_size):
        return quick_largest(input, output_size, True)

    def samples(rng):
        yield _permuted(rng, *sample), size
        yield _permuted(rng, *sample), 2 if n == 1 else (None, *size[1:])

    lacks = {"int bool uint float8": "adaptive_max_pool3d_cpu" if n == 3 else "adaptive_max_pool2d"}
    amp = "float32" if n == 3 else None
    where: dict[str, Any] = {"namespace": "", "alias": f"=nn.functional.{avg}"} if n == 1 else {"namespace": "nn.functional"}
    op(f"{avg}(Tensor input, int[] output_size) -> Tensor", method=False, out=False, **where)(
        type(avg, (), {"__module__": __name__, "function": mean, "quick": quick_mean, "amp": amp, "samples": samples,
                       "composite": f"{avg}(input, many({n}, output_size))",
                       "lacks": {"float8": "adaptive_avg_pool3d_cpu" if n == 3 else "adaptive_avg_pool2d"},
                       "__doc__": f"The means of evenly spread cells of (N, C, {letters}).\n\n>>> torch.nn.functional.{avg}({example})\n"
                                  f"{opened}0.5000, 2.5000{closed}"}))
    op(f"{largest}(Tensor input, int[] output_size, bool return_indices=False) -> Tensor", namespace="nn.functional", method=False,
       out=False)(
        type(largest, (), {"__module__": __name__, "function": maximum, "quick": quick_largest, "lacks": lacks,
                           "amp": amp, "samples": samples,
                           "gives": {"return_indices": "(Tensor, Tensor)"},
                           "__doc__": f"The maxima of evenly spread cells of (N, C, {letters}).\n\n>>> torch.nn.functional.{largest}"
                                      f"({example})\n{opened}1., 3.{closed}"}))
    op(f"{largest}_with_indices(Tensor input, int[] output_size) -> (Tensor values, Index indices)", namespace="_internal", method=False,
       out=False, alias=f"nn.functional.{largest}_with_indices")(
        type(f"{largest}_with_indices", (), {"__module__": __name__, "function": both, "quick": quick_both, "lacks": lacks, "amp": amp,
                                             "samples": samples,
                                             "__doc__": f"The maxima of evenly spread cells of (N, C, {letters}) and their flat indices."}))


for _n, _sample, _size in ((1, (2, 2, 7), 3), (2, (1, 2, 5, 6), (2, 4)), (3, (1, 1, 3, 4, 5), (2, 2, 3))):
    _adaptive_records(_n, _sample, _size)


# -- powers, and back from maxima -------------------------------------------------------------------------------------


def _lp_pool(F: Functions, n: int, input: TensorRef, norm_type: float, kernel_size: int, stride: int | None, ceil_mode: bool) -> TensorRef:
    kernel = sizes_of(kernel_size, n, f"lp_pool{n}d", "kernel_size")
    x = F.pow(input, norm_type)
    mean = _pooled_avg(F, n, x, kernel, stride, 0, ceil_mode, True, None)
    return F.pow(F.sign(mean) * F.relu(F.abs(mean)) * prod(kernel), 1.0 / norm_type)


def _lp_record(n: int, sample: tuple[int, ...]) -> None:
    def function(F, input, norm_type, kernel_size, stride=None, ceil_mode=False):
        return _lp_pool(F, n, input, norm_type, kernel_size, stride, ceil_mode)

    def quick(input, norm_type, kernel_size, stride, ceil_mode):
        squares = norm_type == 2  # which are the same, however an array lies; other powers of half precision are not
        if input.dtype.char == "l" and squares and norm_type.__class__ is float and default_dtype() is float32:
            input = input.astype(np.float32)
        if input.size >= (BIG if squares else state.fused) or input.dtype.char not in ("fdeE" if squares else "fdE"):
            return None
        if squares and not (input.flags.c_contiguous or suggests_channels_last(input)):
            input = contiguous(input)
        power = pow_half if input.dtype.char in "eE" else pow_few
        kernel = sizes_of(*settled(kernel_size), n, f"lp_pool{n}d", "kernel_size")
        plan, geometry = avg_plan(n, input.shape, kernel, *settled(stride), 0, ceil_mode, True, None)
        powers = power(input, norm_type)
        found = fused.means(powers, plan)
        mean = _mean(powers, *geometry) if found is None else found
        total = narrow(widened(mean) * prod(kernel), mean.dtype) if power is pow_half else mean * mean.dtype.type(prod(kernel))
        total += 0  # of -0. the sign is 0.
        return power(total, 1.0 / norm_type)

    def samples(rng): yield rng.uniform(0.5, 2, sample), 2.0, 2

    shape = ", ".join(["1"] * (n + 1))
    op(f"lp_pool{n}d(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False) -> Tensor",
       namespace="nn.functional", method=False, out=False)(
        type(f"lp_pool{n}d", (), {"__module__": __name__, "function": function, "quick": quick, "samples": samples,
                                  "amp": "float32" if n == 3 else None,
                                  "lacks": {"float8 chalf": "pow"} | ({"half": "avg_pool3d_out_frame"} if n == 3 else {}), "__doc__":
             f"The sums of powers of windows, and the root of that: (sum x^p)^(1/p).\n\n>>> torch.nn.functional.lp_pool{n}d("
             f"torch.tensor([3., 4.]).reshape({shape}, 2), 2, {'2' if n == 1 else '(' + '1, ' * (n - 1) + '2)'})\n"
             f"tensor({'[' * (n + 2)}5.{']' * (n + 2)})"}))


for _n, _sample in ((1, (2, 2, 6)), (2, (1, 2, 4, 5)), (3, (1, 1, 4, 4, 4))):
    _lp_record(_n, _sample)


def _unpool(F: Functions, n: int, input: TensorRef, indices: TensorRef, kernel_size: int, stride: Any, padding: Any,
            output_size: Any) -> TensorRef:
    name = f"max_unpool{n}d"
    kernel = sizes_of(kernel_size, n, name, "kernel_size")
    stride, padding = stride_of(stride, kernel, n, name), sizes_of(padding, n, name, "padding")
    shape = tuple(input.shape)
    lead, spatial = shape[:len(shape) - n], shape[len(shape) - n:]
    usual = unpooled_size(n, shape, kernel, stride, padding)
    if output_size is None:
        size = usual
    else:
        size = tuple(output_size)[len(output_size) - n:] if len(output_size) == n + 2 else tuple(output_size)
        if len(size) != n:
            raise ValueError(f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of "
                             f"'{len(output_size)}'")
        for d, (got, middle, s) in enumerate(zip(size, usual, stride)):
            if not middle - s < got < middle + s:
                raise ValueError(f"invalid output_size \"{list(size)}\" (dim {d} must be between {middle - s} and {middle + s})")
    flat = (1,) * (n == 1)  # torch unpools lines as planes
    planes = n + len(flat)
    if len(spatial) < n:
        raise IndexError("tuple index out of range")
    if indices._k.dtype.name != "int64":
        raise AutogradError("elements in indices should be type int64" + f" but got: {SCALAR_TYPE_NAMES[indices._k.dtype.name]}"
                            * (planes == 2))
    if len(lead) not in (1, 2):
        raise ShapeMismatchError(f"Input to max_unpooling{planes}d should be a {planes + 1}d or {planes + 2}d Tensor, but got a tensor "
                                 f"with {len(shape) + len(flat)} dimensions.")
    if tuple(indices.shape) != shape:
        raise ShapeMismatchError(f"Expected shape of indices to be same as that of the input tensor ({[*shape, *flat]}) but got indices "
                                 f"tensor with shape: {[*indices.shape, *flat]}")
    if 0 in shape[1:]:
        shown, where = (*shape, *flat), shape.index(0, 1)
        raise ShapeMismatchError(f"max_unpooling{planes}d_forward_out_cpu(): Expected input to have non-zero size for non-batch "
                                 f"dimensions, but got {list(shown)} with dimension {where} being empty.")
    index = indices._data
    if index.size and not (inside(index, prod(size)) if index.__class__ is np.ndarray else 0 <= index.min() and index.max() < prod(size)):
        bad = int(index.min()) if index.min() < 0 else int(index.max())
        raise AutogradError(f"Found an invalid max index: {bad} (output volumes are of size {'x'.join(map(str, (*size, *flat)))})")
    return F.max_unpool_nd(input, indices, (*lead, *size), n)


def _unpool_record(n: int, sample: tuple[int, ...]) -> None:
    def function(F, input, indices, kernel_size, stride=None, padding=0, output_size=None):
        return _unpool(F, n, input, indices, kernel_size, stride, padding, output_size)

    def quick(input, indices, kernel_size, stride, padding, output_size):
        if output_size is not None or indices.dtype.char != "l" or indices.shape != input.shape or input.ndim not in (n + 1, n + 2):
            return None
        size = unpooled_size(n, input.shape, *settled(kernel_size, stride, padding))
        if not input.size or min(size) < 1:
            return None
        return _max_unpool(input, indices, input.shape[:input.ndim - n] + size, n)

    def samples(rng):
        spatial = sample[len(sample) - n:]
        full = prod([2 * m for m in spatial])
        index = np.stack([rng.permutation(full)[:prod(spatial)] for _ in range(prod(sample[:len(sample) - n]))]).reshape(sample)
        yield rng.standard_normal(sample), index, 2

    ones, size = "1, " * (n + 1), "(" + "1, " * (n - 1) + "2" + ("," if n == 1 else "") + ")"
    doc = ("Zeros with `input` put where max pooling found it.\n\n"
           f">>> torch.nn.functional.max_unpool{n}d(torch.ones({ones}1), torch.ones({ones}1, dtype=torch.int64), {size})\n"
           f"tensor({'[' * (n + 2)}0., 1.{']' * (n + 2)})")
    def batch(F: Functions, call: BatchedCall) -> Any:
        """A bigger batch."""
        size = None if call.output_size is None else tuple(call.output_size)[-n:]
        if not call.size or call.ranks["input"] != call.ranks["indices"] or call.ranks["input"] not in (n + 1, n + 2):
            return NotImplemented
        x, indices = call.whole("input"), call.whole("indices")
        if call.ranks["input"] == n + 1:
            return call(input=x, indices=indices, output_size=size)
        return batches.parted(F, call, call(input=batches.merged(F, x), indices=batches.merged(F, indices), output_size=size))

    op(f"max_unpool{n}d(Tensor input, Index indices, int[] kernel_size, int[]? stride=None, int[] padding=0, int[]? output_size=None) -> "
       "Tensor",
       namespace="nn.functional", method=False, out=False)(
        type(f"max_unpool{n}d", (), {"__module__": __name__, "function": function, "quick": quick, "batch": batch, "amp": "float32",
                                     "samples": samples, "__doc__": doc,
                                     "undetermined": lambda **_: f"max_unpooling{max(n, 2)}d_forward_out",
                                     "lacks": {"int bool uint float8": f"max_unpool{max(n, 2)}d if any"}}))


for _n, _sample in ((1, (2, 2, 3)), (2, (1, 2, 2, 3)), (3, (1, 1, 2, 2, 2))):
    _unpool_record(_n, _sample)
