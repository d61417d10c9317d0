"""Layers: products, convolutions, norms, pooling, resampling, padding, embeddings and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import torchcompat as torch

from autograd_tape.dtypes import bool_, float32, int64
from autograd_tape.ops.networks.resampling import Table

from .._graph import Graph, Ints, Made, Operand, Val, refuse
from .._sizes import Dim
from .._table import row
from .shapes import sliced

# -- products ---------------------------------------------------------------------------------------------------------------------------


@row("linear")
def linear(g: Graph, input: Val, weight: Val, bias: Val | None = None) -> Val:
    if input.rank == 2 and weight.rank == 2 and input.dtype.is_floating_point:
        return g.op("Gemm", input, weight, bias, transB=1)
    product = g.op("MatMul", input, g.op("Transpose", weight, perm=[1, 0]) if weight.rank == 2 else weight)
    return product if bias is None else product + bias


@row("matmul", "mm", "bmm", "mv", "dot", "vdot")
def matmul(g: Graph, input: Val, other: Val | None = None, mat2: Val | None = None, vec: Val | None = None,
           tensor: Val | None = None) -> Val:
    return g.op("MatMul", input, next(v for v in (other, mat2, vec, tensor) if v is not None))


@row("mm_nt")
def mm_nt(g: Graph, input: Val, mat2: Val) -> Val:
    return g.op("MatMul", input, g.op("Transpose", mat2, perm=[1, 0]))


@row("addmm", "baddbmm", "addmv")
def addmm(g: Graph, input: Val, mat1: Val | None = None, mat2: Val | None = None, batch1: Val | None = None, batch2: Val | None = None,
          mat: Val | None = None, vec: Val | None = None, beta: float = 1, alpha: float = 1) -> Val:
    a, b = [x for x in (mat1, mat2, batch1, batch2, mat, vec) if x is not None]
    if g.step.name == "addmm" and input.dtype.is_floating_point:
        return g.op("Gemm", a, b, input, alpha=float(alpha), beta=float(beta))
    product = g.op("MatMul", a, b)
    product = product * alpha if alpha != 1 else product
    return product + (input * beta if beta != 1 else input) if beta != 0 else product


@row("outer")
def outer(g: Graph, input: Val, vec2: Val) -> Val:
    return g.op("Unsqueeze", input, [1]) * vec2


@row("addr", "addbmm")
def addr(g: Graph, input: Val, vec1: Val | None = None, vec2: Val | None = None, batch1: Val | None = None, batch2: Val | None = None,
         beta: Operand = 1, alpha: Operand = 1) -> Val:
    if vec1 is not None and vec2 is not None:
        product = g.op("Unsqueeze", vec1.to(g.out[0].dtype), [1]) * vec2.to(g.out[0].dtype)
    else:
        product = g.reduce("ReduceSum", g.op("MatMul", batch1, batch2), [0], False)
    return input.to(g.out[0].dtype) * beta + product * alpha


@row("linalg_cross")
def cross(g: Graph, input: Val, other: Val, dim: int = -1) -> Val:
    def turned(x: Val, by: Sequence[int]) -> Val:
        found: Val = g.op("Gather", x, g.const(by, int64), axis=dim)
        return found

    return turned(input, [1, 2, 0]) * turned(other, [2, 0, 1]) - turned(input, [2, 0, 1]) * turned(other, [1, 2, 0])


@row("euclidean_distance")
def euclidean_distance(g: Graph, x1: Val, x2: Val) -> Val:
    away = g.op("Unsqueeze", x1, [-2]) - g.op("Unsqueeze", x2, [-3])
    return g.op("Sqrt", g.reduce("ReduceSum", away * away, [-1], False))


@row("einsum")
def einsum(g: Graph, args: Sequence[Operand]) -> Val:
    equation, operands = args[0], [*args[1:]]
    if not isinstance(equation, str):
        raise refuse("einsum of lists of subscripts has no translation; give it an equation")
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = [*operands[0]]
    return g.op("Einsum", *operands, equation=equation.replace(" ", ""))


# -- convolutions -----------------------------------------------------------------------------------------------------------------------


def batched(g: Graph, x: Val, n: int) -> tuple[Val, bool]:
    """(the input with a dimension of examples, whether it had none); `n` is the number of dimensions that windows move in."""
    return (x, False) if x.rank == n + 2 else (g.op("Unsqueeze", x, [0]), True)


def alone(g: Graph, x: Any, was: bool) -> Any:
    """A result without the dimension of examples, if that was added."""
    if isinstance(x, list):
        return [alone(g, v, was) for v in x]
    return g.op("Squeeze", x, [0]) if was else x


def several(value: Any, n: int) -> list[int]:
    """A number for each of `n` dimensions."""
    found = list(value) if isinstance(value, (tuple, list)) else [value]
    return found * n if len(found) == 1 else found


@row("conv1d", "conv2d", "conv3d", "convolution_nd")
def convolution(g: Graph, input: Val, weight: Val, bias: Val | None = None, stride: Ints = 1, padding: Ints = 0, dilation: Ints = 1,
                groups: int = 1) -> Val:
    n = weight.rank - 2
    x, was = batched(g, input, n)
    kernel, dilations = list(weight.sizes[2:]), several(dilation, n)
    if isinstance(padding, str):
        total = [d * (k - 1) if padding == "same" else 0 for k, d in zip(kernel, dilations)]
        pads = [p // 2 for p in total] + [p - p // 2 for p in total]
    else:
        pads = several(padding, n) * 2
    return alone(g, g.op("Conv", x, weight, bias, kernel_shape=kernel, strides=several(stride, n), pads=pads, dilations=dilations,
                         group=groups), was)


@row("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def convolution_transposed(g: Graph, input: Val, weight: Val, bias: Val | None = None, stride: Ints = 1, padding: Ints = 0,
                           output_padding: Ints = 0, groups: int = 1, dilation: Ints = 1) -> Val:
    n = weight.rank - 2
    x, was = batched(g, input, n)
    more = several(output_padding, n)
    return alone(g, g.op("ConvTranspose", x, weight, bias, kernel_shape=list(weight.sizes[2:]), strides=several(stride, n),
                         pads=several(padding, n) * 2, dilations=several(dilation, n), group=groups,
                         output_padding=more if any(more) else None), was)


def windows_inside(g: Graph, x: Val, n: int, ceil_mode: bool) -> Val:
    """What was pooled, without windows that begin behind the input, which torch leaves out."""
    return sliced(g, x, [0] * n, g.result_shape()[-n:], list(range(-n, 0))) if ceil_mode else x


# -- pooling ----------------------------------------------------------------------------------------------------------------------------


@row("max_pool_nd")
def max_pool(g: Graph, input: Val, kernel_size: Sequence[int], stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
             ceil_mode: bool = False) -> Made:
    n = len(kernel_size)
    x, was = batched(g, input, n)
    given: dict[str, Any] = dict(kernel_shape=list(kernel_size), strides=several(stride or kernel_size, n), pads=several(padding, n) * 2,
                 dilations=several(dilation, n), ceil_mode=int(ceil_mode))
    if not g.step.used(1):
        return alone(g, [windows_inside(g, g.op("MaxPool", x, **given), n, ceil_mode)], was)
    found = [windows_inside(g, v, n, ceil_mode) for v in g.op("MaxPool", x, outputs=2, **given)]
    found[1].dtype = int64
    size: Any = 1
    for m in input.sizes[-n:]:
        size = m * size
    return alone(g, [found[0], g.op("Mod", found[1], g.scalar(size, int64))], was)  # ONNX counts through all channels


@row("avg_pool_nd")
def avg_pool(g: Graph, input: Val, kernel_size: Sequence[int], stride: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: int | None = None) -> Val:
    n = len(kernel_size)
    x, was = batched(g, input, n)
    pooled = g.op("AveragePool", x, kernel_shape=list(kernel_size), strides=several(stride or kernel_size, n), pads=several(padding, n) * 2,
                  ceil_mode=int(ceil_mode), count_include_pad=int(count_include_pad or divisor_override is not None))
    pooled = windows_inside(g, pooled, n, ceil_mode)
    return alone(g, pooled * (math.prod(kernel_size) / divisor_override) if divisor_override else pooled, was)


@row("adaptive_avg_pool_nd")
def adaptive_avg_pool(g: Graph, input: Val, size: Any) -> Val:
    n = len(size)
    before = input.sizes[-n:]
    axes = list(range(input.rank - n, input.rank))
    if all([s == 1 for s in size]):
        return g.reduce("ReduceMean", input, axes, True) if input.rank != n + 2 else g.op("GlobalAveragePool", input)
    if any([isinstance(m, Dim) and s != m for m, s in zip(before, size)]):
        raise refuse("adaptive pooling of sizes that vary, to other sizes than 1, has no translation")
    x = input
    for axis, m, s in zip(axes, before, size):
        if s is None or s == m:
            continue
        weights = np.zeros((m, s))
        for i in range(s):
            window = slice(i * m // s, -(-(i + 1) * m // s))
            weights[window, i] = 1 / (window.stop - window.start)
        perm = list(range(input.rank))
        perm[axis], perm[-1] = perm[-1], perm[axis]
        x = g.op("Transpose", g.op("MatMul", g.op("Transpose", x, perm=perm), g.const(weights, input.dtype)), perm=perm)
    return x


@row("adaptive_max_pool_nd")
def adaptive_max_pool(g: Graph, input: Val, size: Any) -> Made:
    n = len(size)
    before = input.sizes[-n:]
    if g.step.used(1):
        raise refuse("the indices of adaptive max pooling have no translation")
    if all([s == 1 for s in size]):
        return [g.reduce("ReduceMax", input, list(range(input.rank - n, input.rank)), True)]
    if any([isinstance(m, Dim) or m % s for m, s in zip(before, size)]):
        raise refuse("adaptive max pooling has a translation only to sizes that divide those of the input")
    x, was = batched(g, input, n)
    kernel = [m // s for m, s in zip(before, size)]
    return alone(g, [g.op("MaxPool", x, kernel_shape=kernel, strides=kernel)], was)


@row("lp_pool1d", "lp_pool2d", "lp_pool3d")
def lp_pool(g: Graph, input: Val, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False) -> Val:
    n = int(g.step.name[7])
    x, was = batched(g, input, n)
    kernel = several(kernel_size, n)
    total = g.op("AveragePool", x ** norm_type, kernel_shape=kernel, strides=several(stride or kernel, n), ceil_mode=int(ceil_mode))
    return alone(g, g.op("Relu", total * math.prod(kernel)) ** (1 / norm_type), was)


# -- norms ------------------------------------------------------------------------------------------------------------------------------


@row("layer_norm")
def layer_norm(g: Graph, input: Val, normalized_shape: Sequence[int], weight: Val | None = None, bias: Val | None = None,
               eps: float = 1e-5) -> Val:
    n = len(normalized_shape)
    if g.opset >= 17:
        scale = weight if weight is not None else g.const(np.ones(tuple(normalized_shape)), input.dtype)
        return g.op("LayerNormalization", input, scale, bias, axis=-n, epsilon=float(eps))
    axes = list(range(input.rank - n, input.rank))
    away = input - g.reduce("ReduceMean", input, axes, True)
    x = away / g.op("Sqrt", g.reduce("ReduceMean", away * away, axes, True) + eps)
    x = x * weight if weight is not None else x
    return x + bias if bias is not None else x


@row("rms_norm")
def rms_norm(g: Graph, input: Val, normalized_shape: Sequence[int], weight: Val | None = None, eps: float | None = None) -> Val:
    n = len(normalized_shape)
    eps = float(np.finfo(input.dtype.np).eps) if eps is None else eps
    mean = g.reduce("ReduceMean", input * input, list(range(input.rank - n, input.rank)), True)
    x = input / g.op("Sqrt", mean + eps)
    return x if weight is None else x * weight


@row("layer_norm_statistics")
def layer_norm_statistics(g: Graph, input: Val, normalized_shape: Sequence[int], weight: Val | None, bias: Val | None, eps: float) -> Made:
    axes = list(range(input.rank - len(normalized_shape), input.rank))
    mean = g.reduce("ReduceMean", input, axes, True)
    away = input - mean
    inverse = 1 / g.op("Sqrt", g.reduce("ReduceMean", away * away, axes, True) + eps)
    x = away * inverse
    x = x * weight if weight is not None else x
    return [x + bias if bias is not None else x, mean, inverse]


def per_channel(g: Graph, v: Val, rank: int) -> Val:
    """A vector in the shape that is broadcast along the channels."""
    return g.op("Reshape", v, [1, -1] + [1] * (rank - 2)) if rank > 2 else v


@row("nn_functional_batch_norm", "batch_norm", "channel_norm")
def batch_norm(g: Graph, input: Val, running_mean: Val | None, running_var: Val | None, weight: Val | None = None, bias: Val | None = None,
               training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Val:
    channels = input.sizes[1]
    if not training and running_mean is not None and running_var is not None:
        scale = weight if weight is not None else g.const(np.ones(channels), running_mean.dtype)
        shift = bias if bias is not None else g.const(np.zeros(channels), running_mean.dtype)
        return g.op("BatchNormalization", input, scale, shift, running_mean, running_var, epsilon=float(eps))
    axes = [d for d in range(input.rank) if d != 1]
    away = input - g.reduce("ReduceMean", input, axes, True)
    x = away / g.op("Sqrt", g.reduce("ReduceMean", away * away, axes, True) + eps)
    x = x * per_channel(g, weight, input.rank) if weight is not None else x
    return x + per_channel(g, bias, input.rank) if bias is not None else x


@row("channel_norm_statistics")
def channel_norm_statistics(g: Graph, input: Val, weight: Val | None, bias: Val | None, running_mean: Val | None, running_var: Val | None,
                            training: bool, momentum: float, eps: float, called: object = None) -> Made:
    if g.step.used(1) or g.step.used(2):
        raise refuse("the statistics of a batch norm have no translation")
    return [batch_norm(g, input, running_mean, running_var, weight, bias, training, momentum, eps), None, None]


@row("nn_functional_instance_norm", "instance_norm")
def instance_norm(g: Graph, input: Val, running_mean: Val | None = None, running_var: Val | None = None, weight: Val | None = None,
                  bias: Val | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> Val:
    if not use_input_stats:
        return batch_norm(g, input, running_mean, running_var, weight, bias, False, momentum, eps)
    channels = input.sizes[1]
    scale = weight if weight is not None else g.const(np.ones(channels), input.dtype)
    shift = bias if bias is not None else g.const(np.zeros(channels), input.dtype)
    return g.op("InstanceNormalization", input, scale, shift, epsilon=float(eps))


@row("nn_functional_group_norm", "group_norm")
def group_norm(g: Graph, input: Val, num_groups: int, weight: Val | None = None, bias: Val | None = None, eps: float = 1e-5) -> Val:
    rows = g.op("Reshape", input, [0, num_groups, -1])
    normed = g.op("InstanceNormalization", rows, g.const(np.ones(num_groups), input.dtype), g.const(np.zeros(num_groups), input.dtype),
                  epsilon=float(eps))
    x = g.op("Reshape", normed, g.shape(input))
    x = x * per_channel(g, weight, input.rank) if weight is not None else x
    return x + per_channel(g, bias, input.rank) if bias is not None else x


@row("local_response_norm")
def local_response_norm(g: Graph, input: Val, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Val:
    if size % 2 == 0:
        raise refuse("local_response_norm of an even size has no translation")
    x = g.op("Unsqueeze", input, [3]) if input.rank == 3 else input
    if x is not input or input.rank == 4:
        made = g.op("LRN", x, size=size, alpha=float(alpha), beta=float(beta), bias=float(k))
        return made if x is input else g.op("Squeeze", made, [3])
    raise refuse("local_response_norm has a translation of inputs of three and four dimensions")


@row("group_norm_statistics", "native_group_norm")
def group_norm_statistics(g: Graph, input: Val, weight: Val | None, bias: Val | None, N: Operand, C: Operand, HxW: Operand, group: int,
                          eps: float) -> Made:
    if g.step.used(1) or g.step.used(2):
        raise refuse("the statistics of a group norm have no translation")
    return [group_norm(g, input, group, weight, bias, eps), None, None]


# -- resampling, padding ----------------------------------------------------------------------------------------------------------------


@row("interpolate")
def interpolate(g: Graph, input: Val, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
                recompute_scale_factor: bool | None = None, antialias: bool = False) -> Val:
    n = input.rank - 2
    if mode == "area":
        return adaptive_avg_pool(g, input, g.result_shape()[2:])
    if antialias:
        return by_matrices(g, input, [*input.sizes[2:]], g.result_shape()[2:], mode, align_corners)
    smooth = mode not in ("nearest", "nearest-exact")
    places = "align_corners" if align_corners else "half_pixel" if smooth or mode == "nearest-exact" else "asymmetric"
    kind = {"bicubic": "cubic"}.get(mode, "linear" if smooth else "nearest")
    given: dict[str, Any] = dict(mode=kind, coordinate_transformation_mode=places, cubic_coeff_a=-0.75 if kind == "cubic" else None,
                 nearest_mode=None if smooth else "floor" if mode == "nearest" else "round_prefer_ceil")
    if size is None and not recompute_scale_factor:
        scales = g.const([1.0, 1.0, *[float(s) for s in several(scale_factor, n)]], float32)
        return g.op("Resize", input, None, scales, **given)
    whole = [*input.sizes[:2], *g.result_shape()[2:]]
    return g.op("Resize", input, None, None, whole, **given)


@row("resample")
def resample(g: Graph, input: Val, steps: Sequence[tuple[int, Table, Table | None, Operand]]) -> Val:
    """Along one dimension after the other, by a matrix."""
    for dim, index, weight, length in steps:
        if not isinstance(length, int):
            raise refuse("resampling sizes that vary, by ATen's own operations, has no translation; call interpolate")
        matrix = np.zeros((length, len(index)))
        for i in range(len(index)):
            for tap, at in enumerate(index.array[i]):
                matrix[at, i] += 1.0 if weight is None else weight.array[i, tap]
        perm = list(range(input.rank))
        perm[dim], perm[-1] = perm[-1], perm[dim]
        input = g.op("Transpose", g.op("MatMul", g.op("Transpose", input, perm=perm), g.const(matrix, input.dtype)), perm=perm)
    return input


def by_matrices(g: Graph, x: Val, before: Sequence[int], after: Sequence[int], mode: str, align_corners: bool | None) -> Val:
    """Resampling with the filter of its own that torch has, one dimension after the other: what it makes of unit vectors is a matrix."""
    if not all([isinstance(n, int) for n in (*before, *after)]):
        raise refuse("antialiased resampling of sizes that vary has no translation")
    for i, (n, m) in enumerate(zip(before, after)):
        unit = torch.eye(n, dtype=torch.float64).view(1, n, n, 1)
        matrix = torch.nn.functional.interpolate(unit, (m, 1), mode=mode, align_corners=align_corners, antialias=True)
        perm = list(range(len(before) + 2))
        perm[2 + i], perm[-1] = perm[-1], perm[2 + i]
        x = g.op("Transpose", g.op("MatMul", g.op("Transpose", x, perm=perm), g.const(matrix.numpy()[0, ..., 0], x.dtype)), perm=perm)
    return x


def padded(g: Graph, x: Val, pad: Sequence[Operand], mode: str, value: Operand | None = None) -> Val:
    """ONNX's Pad of torch's list of pads, the last dimension first."""
    pairs = list(reversed([*zip(pad[::2], pad[1::2])]))
    pairs = [(0, 0)] * (x.rank - len(pairs)) + pairs
    ends = [before for before, _ in pairs] + [after for _, after in pairs]
    return g.op("Pad", x, ends, None if value is None else g.scalar(value, x.dtype), mode=mode)


@row("constant_pad_nd")
def constant_pad(g: Graph, input: Val, pad: Sequence[Operand], value: Operand = 0) -> Val:
    if input.dtype is bool_:
        return padded(g, input.to(int64), pad, "constant", int(bool(value))).to(bool_)
    return padded(g, input, pad, "constant", value)


@row("pad_reflect", "pad_replicate")
def pad_edges(g: Graph, input: Val, pad: Sequence[Operand]) -> Val:
    return padded(g, input, pad, "reflect" if g.step.name == "pad_reflect" else "edge")


@row("pad_circular")
def pad_circular(g: Graph, input: Val, pad: Sequence[int]) -> Val:
    x = input
    for i in range(len(pad) // 2):
        before, after, axis = pad[2 * i], pad[2 * i + 1], input.rank - 1 - i
        parts = [sliced(g, x, [-before], [2 ** 63 - 1], [axis])] if before > 0 else []
        parts += [x, *([sliced(g, x, [0], [after], [axis])] if after > 0 else [])]
        x = g.op("Concat", *parts, axis=axis) if len(parts) > 1 else x
    return x


@row("pixel_shuffle")
def pixel_shuffle(g: Graph, input: Val, upscale_factor: int) -> Val:
    x, was = batched(g, input, 2)
    return alone(g, g.op("DepthToSpace", x, blocksize=upscale_factor, mode="CRD"), was)


@row("grid_sampler_2d", "grid_sampler_3d", "grid_sampler", "grid_sample")
def grid_sample(g: Graph, input: Val, grid: Val, mode: Any = "bilinear", padding_mode: Any = "zeros", align_corners: bool | None = None,
                interpolation_mode: Any = None) -> Val:
    g.needs(16, g.step.known_as)
    mode = mode if interpolation_mode is None else ("bilinear", "nearest", "bicubic")[interpolation_mode]
    padding_mode = padding_mode if isinstance(padding_mode, str) else ("zeros", "border", "reflection")[padding_mode]
    if g.opset >= 20:
        mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return g.op("GridSample", input, grid, mode=mode, padding_mode=padding_mode, align_corners=int(bool(align_corners)))


# -- embeddings, attention --------------------------------------------------------------------------------------------------------------


@row("embedding", "nn_functional_embedding")
def embedding(g: Graph, input: Val | None = None, weight: Operand | None = None, indices: Val | None = None, max_norm: float | None = None,
              norm_type: float = 2.0) -> Val:
    if max_norm is not None:
        raise refuse("an embedding with max_norm, which changes its weights, has no translation")
    return g.op("Gather", weight, indices if input is None else input, axis=0)


@row("scaled_dot_product_attention", "attention")
def attention(g: Graph, query: Val, key: Val, value: Val, attn_mask: Val | None = None, dropout_p: float = 0.0, is_causal: bool = False,
              scale: float | None = None, enable_gqa: bool = False, mask: Val | None = None, bias: Val | None = None,
              causal: bool = False) -> Made:
    attn_mask = next((m for m in (attn_mask, mask, bias) if m is not None), None)
    assert query.shape is not None and key.shape is not None and value.shape is not None
    if enable_gqa:
        key, value = [_heads(g, v, query.sizes[-3] // v.sizes[-3]) for v in (key, value)]
    width = query.sizes[-1]
    factor = 1 / math.sqrt(width) if scale is None else scale
    n = key.rank
    turned = g.op("Transpose", key, perm=[*range(n - 2), n - 1, n - 2])
    scores = g.op("MatMul", query * factor, turned)
    low = g.const(-math.inf, scores.dtype)
    if is_causal or causal:
        rows, columns = [g.op("Range", *[g.scalar(v, int64) for v in (0, m, 1)]) for m in (query.sizes[-2], key.sizes[-2])]
        scores = g.op("Where", columns <= g.op("Unsqueeze", rows, [1]), scores, low, dtype=scores.dtype)
    if attn_mask is not None:
        scores = g.op("Where", attn_mask, scores, low, dtype=scores.dtype) if attn_mask.dtype is bool_ else scores + attn_mask
    weights = g.op("Softmax", scores, axis=-1)
    if attn_mask is not None:  # a row that sees nothing is zero
        weights = g.op("Where", g.op("IsNaN", weights, dtype=bool_), g.const(0, weights.dtype), weights, dtype=weights.dtype)
    if dropout_p:
        weights = g.op("Dropout", weights, g.const(dropout_p, float32), g.const(True, bool_))
    return g.op("MatMul", weights, value)


def _heads(g: Graph, x: Val, times: Any) -> Val:
    """Each head `times` times."""
    shape = x.sizes
    many = g.op("Tile", g.op("Unsqueeze", x, [x.rank - 2]), [*[1] * (x.rank - 2), times, 1, 1])
    made = g.reshape(many, [*shape[:-3], shape[-3] * times, *shape[-2:]])
    made.shape = (*shape[:-3], shape[-3] * times, *shape[-2:])
    return made
