"""Max and average pooling with their vjps, and the adaptive kinds.

Shapes are torch's: (N, C, H, W) or (C, H, W) for the 2-d functions, (N, C, L) or (C, L) for the 1-d ones, which are the
2-d ones with one row.  Indices of maxima are int64, flat within each plane.  Compiled for big inputs, else composed of
one NumPy pass per window position.
"""

from __future__ import annotations

from math import prod

import numpy as np

from . import reduce
from ._on_demand import LazyModule, compute_array, contiguous, state, within
from .sharing import share_rows

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_avg_pool2d_backward",
    "adaptive_max_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool2d_backward",
    "max_pool1d",
    "max_pool2d",
    "max_pool2d_backward",
    "pool_output_size",
]

_compiled = LazyModule("pooling")
_BAD_INDEX = "max_pool2d_backward: an index is outside of the {} elements of a plane"
Pair = tuple[int, ...]  # of two


def pool_output_size(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """Windows along an axis of length ``n``; with ``ceil_mode`` the last may overhang but must start inside.

    >>> pool_output_size(6, 3, 2, 0, 1, False), pool_output_size(6, 3, 2, 0, 1, True)
    (2, 3)
    """
    span = n + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)
    size = span // stride + 1
    if ceil_mode and (size - 1) * stride >= n + padding:
        size -= 1
    return size


def _output(x: np.ndarray, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool) -> Pair:
    for k, s, p, d in zip(kernel, stride, padding, dilation, strict=True):
        if k < 1 or s < 1 or d < 1:
            raise RuntimeError("pooling: kernel size, stride and dilation must be greater than zero")
        if p < 0 or 2 * p > d * (k - 1) + 1:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={p}, kernel_size={k} and dilation={d}"
            )
    out = [pool_output_size(*v, ceil_mode) for v in zip(x.shape[-2:], kernel, stride, padding, dilation, strict=True)]
    if min(out) < 1:
        channels = x.shape[-3]
        raise RuntimeError(
            f"Given input size: ({channels}x{x.shape[-2]}x{x.shape[-1]}). Calculated output size: "
            f"({channels}x{out[0]}x{out[1]}). Output size is too small"
        )
    return out[0], out[1]


def _planes(x: np.ndarray) -> np.ndarray:
    return x.reshape(prod(x.shape[:-2]), *x.shape[-2:])


def _taps(
    shape: Pair, out: Pair, offset: Pair, stride: Pair, padding: Pair
) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Where window position ``offset`` of the windows lies: slices of the outputs it exists for, and of the input."""
    outs, ins = [], []
    for n, m, o, s, p in zip(shape, out, offset, stride, padding, strict=True):
        shift = o - p
        low = min(m, max(0, -(shift // s)))
        high = max(low, min(m, -((shift - n) // s)))
        outs.append(slice(low, high))
        first = low * s + shift
        ins.append(slice(first, first + (high - low - 1) * s + 1, s) if high > low else slice(0, 0))
    return (outs[0], outs[1]), (ins[0], ins[1])


def max_pool2d(
    x: np.ndarray, kernel: Pair, stride: Pair, padding: Pair = (0, 0), dilation: Pair = (1, 1), ceil_mode: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Maxima of windows and their indices; a NaN in a window is its maximum.

    >>> y, index = max_pool2d(np.array([[[1.0, 3.0], [2.0, 0.0]]]), (2, 2), (2, 2))
    >>> y, index
    (array([[[3.]]]), array([[[1]]]))
    """
    out = _output(x, kernel, stride, padding, dilation, ceil_mode)
    c = contiguous(x if x.dtype.kind in "iu" else compute_array(x))
    planes = _planes(c)
    y = np.empty((planes.shape[0], *out), c.dtype)
    index = np.empty(y.shape, np.int64)
    if y.size * prod(kernel) >= state.fused and c.dtype.char in "fd":
        geometry = (*kernel, *stride, *padding, *dilation)
        work = prod(out) * prod(kernel)
        share_rows(_compiled.max_pool, c.dtype.char, len(planes), work, 2, planes, y, index, *geometry)
    else:
        height, width = planes.shape[1:]
        y[...] = -np.inf if c.dtype.kind == "f" else np.iinfo(c.dtype).min
        firsts = []
        for m, s, p, d in zip(out, stride, padding, dilation, strict=True):
            begin = np.arange(m) * s - p
            firsts.append(begin + np.maximum(0, -(begin // d)) * d)
        index[...] = firsts[0][:, None] * width + firsts[1]
        positions = np.arange(height * width).reshape(height, width)
        for i in range(kernel[0]):
            for j in range(kernel[1]):
                offset = i * dilation[0], j * dilation[1]
                where, source = _taps((height, width), out, offset, stride, padding)
                values, best = planes[:, *source], y[:, *where]
                better = (values > best) | (values != values)
                np.copyto(best, values, where=better)
                np.copyto(index[:, *where], positions[source], where=better)
    shape = (*x.shape[:-2], *out)
    return y.reshape(shape).astype(x.dtype, copy=False), index.reshape(shape)


def max_pool2d_backward(grad: np.ndarray, index: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The gradient for an input of ``shape``: ``grad`` added at the indices.  Serves every kind of max pooling."""
    g = contiguous(compute_array(grad))
    n, length = prod(shape[:-2]), prod(shape[-2:])
    gs, ks = g.reshape(n, g.size // max(n, 1)), np.ascontiguousarray(index, np.int64).reshape(n, index.size // max(n, 1))
    if g.size >= state.fused:
        dx = np.empty((n, length), g.dtype)
        try:
            share_rows(_compiled.max_pool_backward, g.dtype.char, n, length, 2, gs, ks, dx)
        except IndexError:
            raise IndexError(_BAD_INDEX.format(length)) from None
    elif not within(ks, length):
        raise IndexError(_BAD_INDEX.format(length))
    else:
        flat = (ks + np.arange(n)[:, None] * length).reshape(-1)
        dx = np.bincount(flat, gs.reshape(-1), n * length).astype(g.dtype)
    return dx.reshape(shape).astype(grad.dtype, copy=False)


def _counts(
    shape: Pair, out: Pair, kernel: Pair, stride: Pair, padding: Pair, include: bool, divisor: int
) -> np.ndarray:
    """What each window's sum is divided by."""
    if divisor:
        return np.full(out, divisor)
    lengths = []
    for n, m, k, s, p in zip(shape, out, kernel, stride, padding, strict=True):
        begin = np.arange(m) * s - p
        end = np.minimum(begin + k, n + p)
        lengths.append(end - begin if include else np.minimum(end, n) - np.maximum(begin, 0))
    return lengths[0][:, None] * lengths[1]


def avg_pool2d(
    x: np.ndarray,
    kernel: Pair,
    stride: Pair,
    padding: Pair = (0, 0),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray:
    """Means of windows; padding counts as zeros, or not at all without ``count_include_pad``.

    >>> avg_pool2d(np.array([[[1.0, 3.0], [2.0, 0.0]]]), (2, 2), (2, 2))
    array([[[1.5]]])
    """
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    out = _output(x, kernel, stride, padding, (1, 1), ceil_mode)
    divisor = divisor_override or 0
    c = contiguous(compute_array(x))
    planes = _planes(c)
    y = np.empty((planes.shape[0], *out), c.dtype)
    if y.size * prod(kernel) >= state.fused:
        args = (*kernel, *stride, *padding, count_include_pad, divisor)
        work = prod(out) * prod(kernel)
        share_rows(_compiled.avg_pool, c.dtype.char, len(planes), work, 1, planes, y, *args)
    else:
        shape = planes.shape[1], planes.shape[2]
        y[...] = 0
        for offset in np.ndindex(*kernel):
            where, source = _taps(shape, out, (offset[0], offset[1]), stride, padding)
            y[:, *where] += planes[:, *source]
        y /= _counts(shape, out, kernel, stride, padding, count_include_pad, divisor).astype(c.dtype)
    return y.reshape(*x.shape[:-2], *out).astype(x.dtype, copy=False)


def avg_pool2d_backward(
    grad: np.ndarray,
    shape: tuple[int, ...],
    kernel: Pair,
    stride: Pair,
    padding: Pair = (0, 0),
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray:
    """The gradient for an input of ``shape``: every window's share spread over its pixels."""
    divisor = divisor_override or 0
    g = _planes(contiguous(compute_array(grad)))
    out = g.shape[1], g.shape[2]
    dx = np.empty((g.shape[0], *shape[-2:]), g.dtype)
    if g.size * prod(kernel) >= state.fused:
        args = (*kernel, *stride, *padding, count_include_pad, divisor)
        work = prod(out) * prod(kernel)
        share_rows(_compiled.avg_pool_backward, g.dtype.char, len(g), work, 1, g, dx, *args)
    else:
        size = dx.shape[1], dx.shape[2]
        share = g / _counts(size, out, kernel, stride, padding, count_include_pad, divisor).astype(g.dtype)
        dx[...] = 0
        for offset in np.ndindex(*kernel):
            where, source = _taps(size, out, (offset[0], offset[1]), stride, padding)
            dx[:, *source] += share[:, *where]
    return dx.reshape(shape).astype(grad.dtype, copy=False)


def max_pool1d(
    x: np.ndarray, kernel: int, stride: int, padding: int = 0, dilation: int = 1, ceil_mode: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """``max_pool2d`` over one row (for the vjp, insert the row axis into the shapes likewise)."""
    y, index = max_pool2d(x[..., None, :], (1, kernel), (1, stride), (0, padding), (1, dilation), ceil_mode)
    return y[..., 0, :], index[..., 0, :]


def avg_pool1d(
    x: np.ndarray, kernel: int, stride: int, padding: int = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> np.ndarray:
    """``avg_pool2d`` over one row (for the vjp, insert the row axis into the shapes likewise)."""
    return avg_pool2d(x[..., None, :], (1, kernel), (1, stride), (0, padding), ceil_mode, count_include_pad)[..., 0, :]


# Adaptive pooling: window i of m over n pixels is [floor(i n / m), ceil((i + 1) n / m)).


def _cells(n: int, m: int) -> list[slice]:
    return [slice(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]


def adaptive_avg_pool2d(x: np.ndarray, size: Pair) -> np.ndarray:
    """Means over ``size`` evenly spread windows.

    >>> adaptive_avg_pool2d(np.arange(4.0).reshape(1, 1, 4), (1, 2))
    array([[[0.5, 2.5]]])
    """
    height, width = x.shape[-2:]
    if size == (1, 1):
        return reduce.mean(compute_array(x), (-2, -1), keepdims=True).astype(x.dtype, copy=False)
    if height % size[0] == 0 and width % size[1] == 0 and 0 not in size:
        kernel = height // size[0], width // size[1]
        return avg_pool2d(x, kernel, kernel) if min(kernel) else x.copy()
    c = compute_array(x)
    y = np.empty((*x.shape[:-2], *size), c.dtype)
    columns = _cells(width, size[1])
    with np.errstate(all="ignore"):  # for lines in NumPy
        for i, rows in enumerate(_cells(height, size[0])):
            for j, cols in enumerate(columns):
                c[..., rows, cols].mean((-2, -1), out=y[..., i, j])
    return y.astype(x.dtype, copy=False)


def adaptive_avg_pool2d_backward(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The gradient for an input of ``shape``."""
    g = compute_array(grad)
    height, width = shape[-2:]
    dx = np.zeros(shape, g.dtype)
    columns = _cells(width, g.shape[-1])
    for i, rows in enumerate(_cells(height, g.shape[-2])):
        for j, cols in enumerate(columns):
            count = (rows.stop - rows.start) * (cols.stop - cols.start)
            dx[..., rows, cols] += g[..., i : i + 1, j : j + 1] / g.dtype.type(count)
    return dx.astype(grad.dtype, copy=False)


def adaptive_max_pool2d(x: np.ndarray, size: Pair) -> tuple[np.ndarray, np.ndarray]:
    """Maxima over ``size`` evenly spread windows, and their indices (for ``max_pool2d_backward``).

    >>> adaptive_max_pool2d(np.arange(4.0).reshape(1, 1, 4), (1, 2))
    (array([[[1., 3.]]]), array([[[1, 3]]]))
    """
    height, width = x.shape[-2:]
    y = np.empty((*x.shape[:-2], *size), x.dtype)
    index = np.empty(y.shape, np.int64)
    columns = _cells(width, size[1])
    for i, rows in enumerate(_cells(height, size[0])):
        for j, cols in enumerate(columns):
            window = x[..., rows, cols]
            across = cols.stop - cols.start
            flat = window.reshape(*x.shape[:-2], window.shape[-2] * across)
            # argmax takes the first of equals and the first NaN
            at = flat.argmax(-1)
            y[..., i, j] = np.take_along_axis(flat, at[..., None], -1)[..., 0]
            index[..., i, j] = (rows.start + at // across) * width + cols.start + at % across
    return y, index
