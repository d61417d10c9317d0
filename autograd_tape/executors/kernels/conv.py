"""Convolution with its vjp: windows gathered into columns, then one matrix product per sample and group.

Shapes are torch's: input (N, C, *spatial), weight (O, C // groups, *kernel), bias (O,).  ``convnd`` handles any number
of spatial axes in NumPy; ``conv2d`` adds compiled gathering, a depthwise kernel, and 1x1 windows without columns.
Transposed convolution is the vjp of convolution for its input.  Half precision computes in float32.

Source: Chellapilla, Puri and Simard, "High performance convolutional neural networks for document processing" (2006).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import isfinite, prod
from typing import Any, NamedTuple

import numpy as np

from ...strided import strided
from . import blas, direct, halves, sharing, ways
from ._on_demand import HAS_VECTORS, LazyModule, contiguous, state
from .halves import compute_array
from .handy import Handy
from .scratch import scratch
from .sharing import parallel_for, share_rows

__all__ = [
    "conv2d",
    "conv2d_backward",
    "conv_output_size",
    "conv_transposend",
    "conv_transposend_backward",
    "convnd",
    "convnd_backward",
]

_compiled, _added = LazyModule("conv"), Handy("conv", "add_columns")
#: Elements of columns that are made and multiplied at a time.
_CACHED = 1 << 17
#: Pixels up to which a weight's gradient is one product with plain columns.
_FEW_PIXELS = 256
#: Multiply-adds up to which OpenBLAS does not pack matrices; without AVX-512 it packs them all.
_UNPACKED = 1_000_000 if HAS_VECTORS else 0

Ints = tuple[int, ...]
Needs = tuple[bool, bool, bool]
Grads = tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]


def conv_output_size(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """The spatial output shape.

    >>> conv_output_size((28, 28), (3, 3), (2, 2), (1, 1), (1, 1))
    (14, 14)
    """
    return tuple([
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
    ])


@lru_cache(512)
def _check(x: Ints, w: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Ints:
    """The spatial output shape of an input and a weight of these shapes, after the checks that torch makes."""
    if x[1] != w[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w)}, expected input{list(x)} to have "
            f"{w[1] * groups} channels, but got {x[1]} channels instead"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size {list(w)} instead"
        )
    size = conv_output_size(x[2:], w[2:], stride, padding, dilation)
    if min(size, default=1) < 1:
        padded = " x ".join(str(n + 2 * p) for n, p in zip(x[2:], padding, strict=True))
        reach = " x ".join(str(d * (k - 1) + 1) for k, d in zip(w[2:], dilation, strict=True))
        raise RuntimeError(
            f"Calculated padded input size per channel: ({padded}). Kernel size: ({reach}). "
            "Kernel size can't be greater than actual input size"
        )
    return size


def _as(y: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """``y`` in the dtype of what it was computed from."""
    return y if y.dtype is dtype or y.dtype == dtype else halves.recast(y, dtype)


def _is_finite(w: np.ndarray) -> bool:
    """Whether all numbers are finite, as they are where their squares add up to something finite."""
    if w.dtype.char in "fd":
        flat = w.ravel("K")
        if isfinite(flat.dot(flat)):
            return True
    return bool(np.isfinite(w).all())


def _pad(x: np.ndarray, padding: Ints) -> np.ndarray:
    """``x`` with zeros around its spatial axes."""
    if not any(padding):
        return x
    shape, inner = _inner(x.shape, padding)
    padded = np.zeros(shape, x.dtype)
    padded[inner] = x
    return padded


@lru_cache(512)
def _inner(shape: Ints, padding: Ints) -> tuple[Ints, tuple[slice, ...]]:
    """The padded shape, and where in it an array of ``shape`` lies."""
    sizes = [*zip(shape[2:], padding, strict=True)]
    return shape[:2] + tuple([n + 2 * p for n, p in sizes]), (slice(None), slice(None), *[slice(p, p + n) for n, p in sizes])


def _columns(
    x: np.ndarray, kernel: Ints, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """Windows of ``x`` as (N, groups, C // groups * prod(kernel), prod(size))."""
    x = _pad(x, padding)
    n, c = x.shape[:2]
    if n and (places := _places_of(x.shape[1:], kernel, size, stride, dilation, groups)) is not None and n * places.size <= _FEW:
        return x.reshape(n, -1).take(places, 1)
    spatial = x.strides[2:]
    windows = strided(
        x,
        (n, c, *kernel, *size),
        x.strides[:2]
        + tuple([d * step for d, step in zip(dilation, spatial, strict=True)])
        + tuple([s * step for s, step in zip(stride, spatial, strict=True)]),
    )
    return windows.reshape(n, groups, c // groups * prod(kernel), prod(size))


#: Elements of columns of a sample that are taken by a kept table of places, and of all samples.
_TABLE, _FEW = 1 << 12, 1 << 14


@lru_cache(64)
def _places_of(shape: Ints, kernel: Ints, size: Ints, stride: Ints, dilation: Ints, groups: int) -> np.ndarray | None:
    """Where the numbers of columns lie in a sample (C, ...): (groups, C // groups * prod(kernel), prod(size)); None of many."""
    channels, axes = shape[0], len(kernel)
    if not 0 < channels * prod(kernel) * prod(size) <= _TABLE:
        return None
    at = np.zeros((), np.int64)
    for k, m, s, d, n in zip(kernel, size, stride, dilation, shape[1:], strict=True):
        at = at[..., None, None] * n + np.arange(k)[:, None] * d + np.arange(m) * s
    at = at.transpose(*range(0, 2 * axes, 2), *range(1, 2 * axes, 2))
    places = np.arange(channels).reshape(channels, *(1,) * at.ndim) * prod(shape[1:]) + at
    return np.ascontiguousarray(places).reshape(groups, channels // groups * prod(kernel), prod(size))


@lru_cache(512)
def _added_up(space: Ints, kernel: Ints, size: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """What adding columns up takes: geometry of up to three dimensions as that of three."""
    given = (space, 1), (kernel, 1), (size, 1), (stride, 1), (padding, 0), (dilation, 1)
    return tuple([n for values, fill in given for n in _three(values, fill)])


def _add_columns(
    cols: np.ndarray, shape: Ints, kernel: Ints, size: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> np.ndarray:
    """The transpose of ``_columns``: an array of ``shape`` with every window entry added where it came from."""
    n, c = shape[:2]
    char = cols.dtype.char
    if len(shape) < 6 and char in "fdl" and (cols.size >= state.fused or _added.of(char, cols.size) is not None):
        dx = np.empty(shape, cols.dtype)
        _added.share(char, n * c, max(1, cols.size // max(1, n * c)), 1, contiguous(cols), dx, n * c,
                     *_added_up(shape[2:], kernel, size, stride, padding, dilation))
        return dx
    padded = np.zeros((n, c, *(m + 2 * p for m, p in zip(shape[2:], padding, strict=True))), cols.dtype)
    parts = cols.reshape(n, c, *kernel, *size)
    every: Any = slice(None)
    for offset in np.ndindex(*kernel):
        where: tuple[Any, ...] = tuple(
            slice(o * d, o * d + s * (m - 1) + 1, s) for o, d, s, m in zip(offset, dilation, stride, size, strict=True)
        )
        padded[(every, every, *where)] += parts[(every, every, *offset)]
    inner = tuple(slice(p, p + m) for m, p in zip(shape[2:], padding, strict=True))
    return padded[(slice(None), slice(None), *inner)].copy()  # contiguous or not: its strides shall be a copy's


def convnd(
    x: np.ndarray, w: np.ndarray, b: np.ndarray | None, stride: Ints, padding: Ints, dilation: Ints, groups: int = 1
) -> np.ndarray:
    """Convolution (cross-correlation) over any number of spatial axes; returns (N, O, *size).

    >>> convnd(np.arange(4.0).reshape(1, 1, 4), np.ones((1, 1, 2)), None, (1,), (0,), (1,))
    array([[[1., 3., 5.]]])
    """
    size, work, tiles = _plan(x.shape, w.shape, stride, padding, dilation, groups, sharing.get_num_threads())
    if work >= state.fused and tiles is not None and ways.tiles_win("forward", tiles.geometry):
        return _tiled(x, w, b, size, tiles)
    if x.ndim == 3 and x.shape[0] * prod(size) * w.size >= state.fused:
        return conv2d(_flat(x), _flat(w), b, (1, *stride), (0, *padding), (1, *dilation), groups)[:, :, 0]
    if _is_flat(x.shape, w.shape, stride, padding):
        return conv2d(_rows(x), _rows(w), b, (1, 1), (0, 0), (1, 1), groups).reshape(len(x), len(w), *size)
    return _by_columns(x, w, b, size, stride, padding, dilation, groups)


def _by_columns(
    x: np.ndarray,
    w: np.ndarray,
    b: np.ndarray | None,
    size: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> np.ndarray:
    c, weight = compute_array(x), compute_array(w)
    n, out = x.shape[0], w.shape[0]
    cols = _columns(c, w.shape[2:], size, stride, padding, dilation, groups)
    y = np.matmul(weight.reshape(groups, out // groups, prod(w.shape[1:])), cols).reshape(n, out, *size)
    if b is not None:
        y += b.astype(y.dtype, copy=False).reshape(out, *(1,) * len(size))
    return _as(y, x.dtype)


def _input_columns_grad(g: np.ndarray, w: np.ndarray, groups: int) -> np.ndarray:
    """Gradients of the columns (N, groups, K, L) from ``g`` (N, groups, O // groups, L)."""
    flat = w.reshape(groups, w.shape[0] // groups, prod(w.shape[1:]))
    return np.matmul(flat.swapaxes(1, 2), g)


def convnd_backward(
    grad: np.ndarray,
    x: np.ndarray,
    w: np.ndarray,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int = 1,
    needs: Needs = (True, True, True),
) -> Grads:
    """Gradients for ``(x, w, b)`` of ``convnd`` (those not needed are ``None``)."""
    size, kernel = grad.shape[2:], w.shape[2:]
    if x.ndim == 3 and x.shape[0] * prod(size) * w.size >= state.fused:
        dx, dw, db = conv2d_backward(_flat(grad), _flat(x), _flat(w), (1, *stride), (0, *padding), (1, *dilation), groups, needs)
        return (None if dx is None else dx[:, :, 0]), (None if dw is None else dw[:, :, 0]), db
    if _is_flat(x.shape, w.shape, stride, padding):
        dx, dw, db = conv2d_backward(_rows(grad), _rows(x), _rows(w), (1, 1), (0, 0), (1, 1), groups, needs)
        return None if dx is None else dx.reshape(x.shape), None if dw is None else dw.reshape(w.shape), db
    c, weight = compute_array(x), compute_array(w)
    n, out = grad.shape[:2]
    g = contiguous(compute_array(grad).astype(c.dtype, copy=False)).reshape(n, groups, out // groups, prod(size))
    dx = dw = db = None
    if needs[0] and x.ndim == 5:
        dx = _as(convnd_input_grad(g.reshape(grad.shape), weight, x.shape, stride, padding, dilation, groups), x.dtype)
    elif needs[0]:
        cols = _input_columns_grad(g, weight, groups)
        dx = _add_columns(cols, x.shape, kernel, size, stride, padding, dilation).astype(x.dtype, copy=False)
    if needs[1] and x.ndim == 5 and _by_tiles("weight", x.shape, w.shape, size, stride, padding, groups):
        dw = _tiled_weight_grad(g.reshape(grad.shape), contiguous(c), w.shape, stride, padding, dilation, groups)
        dw = None if dw is None else _as(dw, w.dtype)
    if needs[1] and dw is None:
        cols = _columns(c, kernel, size, stride, padding, dilation, groups)
        if n * w.size <= _FEW:
            total = np.add.reduce(np.matmul(g, cols.swapaxes(2, 3)), 0)
        else:
            total = np.zeros((groups, out // groups, prod(w.shape[1:])), c.dtype)
            for sample in range(n):
                total += np.matmul(g[sample], cols[sample].swapaxes(1, 2))
        dw = total.reshape(w.shape).astype(w.dtype, copy=False)
    if needs[2]:
        db = g.sum((0, 3)).reshape(out).astype(w.dtype, copy=False)
    return dx, dw, db


def conv_transposend(
    x: np.ndarray,
    w: np.ndarray,
    b: np.ndarray | None,
    stride: Ints,
    padding: Ints,
    output_padding: Ints,
    dilation: Ints,
    groups: int = 1,
) -> np.ndarray:
    """Transposed convolution: ``x`` (N, C, *spatial), ``w`` (C, O // groups, *kernel), result (N, O, *size).

    >>> conv_transposend(np.ones((1, 1, 2)), np.ones((1, 1, 2)), None, (1,), (0,), (0,), (1,))
    array([[[1., 2., 1.]]])
    """
    kernel = w.shape[2:]
    size = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, k, s, p, o, d in zip(x.shape[2:], kernel, stride, padding, output_padding, dilation, strict=True)
    )
    shape = (x.shape[0], w.shape[1] * groups, *size)
    backward = conv2d_input_grad if len(size) == 2 else convnd_input_grad
    y = backward(x, w, shape, stride, padding, dilation, groups)
    if b is not None:
        y += b.astype(y.dtype, copy=False).reshape(-1, *(1,) * len(size))
    return y


def conv_transposend_backward(
    grad: np.ndarray,
    x: np.ndarray,
    w: np.ndarray,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int = 1,
    needs: Needs = (True, True, True),
) -> Grads:
    """Gradients for ``(x, w, b)`` of ``conv_transposend``: a convolution of ``grad``, and the one of roles
    exchanged."""
    forward, backward = (conv2d, conv2d_backward) if grad.ndim == 4 else (convnd, convnd_backward)
    # Rows and columns that output_padding added beyond the last window get no gradient through the windows.
    dx = forward(grad, w, None, stride, padding, dilation, groups) if needs[0] else None
    if dx is not None and dx.shape != x.shape:
        dx = np.ascontiguousarray(dx[tuple(slice(0, n) for n in x.shape)])
    dw = backward(x, grad, w, stride, padding, dilation, groups, (False, True, False))[1] if needs[1] else None
    db = grad.sum((0, *range(2, grad.ndim))) if needs[2] else None
    return dx, dw, db


#: Multiply-adds up to which columns are few: what ways for many set up takes longer than to make and to add up all of them at once.
_LITTLE = 1 << 14


class _Few(NamedTuple):
    """What adding up few columns takes beyond arrays: their product's multiply-adds and size, whether there are more than a kernel would
    be compiled for and yet few, the shapes of its factors, how many planes there are, and the kernel's numbers."""

    work: int
    size: int
    several: bool
    weight: Ints
    grad: Ints
    planes: int
    steps: Ints


@lru_cache(512)
def _few(grad: Ints, w: Ints, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> _Few | None:
    """None of nothing, of more than three axes, and of pixels that go their own way."""
    n, out, *size = grad
    rows, pixels = prod(w[1:]), prod(size)
    if len(shape) > 5 or not n * out * rows * pixels or _is_flat(shape, w, stride, padding):
        return None
    factors = (groups, out // groups, rows), (n, groups, out // groups, pixels)
    steps = _added_up(shape[2:], w[2:], tuple(size), stride, padding, dilation)
    work = n * out * rows * pixels
    several = groups == 1 < prod(w[2:]) and work < _LITTLE
    return _Few(work, n * groups * rows * pixels, several, *factors, n * shape[1], steps)


def input_grad_of_few(
    grad: np.ndarray, w: np.ndarray, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int, most: int = 0
) -> np.ndarray | None:
    """The gradient for an input by one product and one kernel; None of many columns, of more than `most` elements, and where there is no
    such kernel."""
    dtype, few = grad.dtype, _few(grad.shape, w.shape, shape, stride, padding, dilation, groups)
    if few is None or w.dtype is not dtype or dtype.char not in "fdl" or not (little := few.work < state.fused) and not (
            few.several or few.size < most):
        return None
    exact = not most and (little or dtype.char == "l")  # else the bits of what else there is may differ
    add = _added.of(dtype.char, few.size) if exact else _added.surely(dtype.char)
    if add is None:
        return None
    if few.grad[0] == groups == 1:  # the same product, at once
        cols = w.reshape(few.weight[1:]).T.dot(contiguous(grad).reshape(few.grad[2:]))
    else:
        cols = np.matmul(w.reshape(few.weight).swapaxes(1, 2), contiguous(grad).reshape(few.grad))
    total = np.empty(shape, dtype)
    add(few.planes, 1, cols, total, few.planes, *few.steps)
    return total


def convnd_input_grad(
    grad: np.ndarray, w: np.ndarray, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The gradient for an input of ``shape`` alone, in NumPy."""
    total = input_grad_of_few(grad, w, shape, stride, padding, dilation, groups)
    if total is not None:
        return total
    n, out = grad.shape[:2]
    size = grad.shape[2:]
    if grad.ndim == 3 and n * prod(size) * w.size >= state.fused:
        row = (*shape[:2], 1, shape[2])
        return conv2d_input_grad(_flat(grad), _flat(w), row, (1, *stride), (0, *padding), (1, *dilation), groups)[:, :, 0]
    if _is_flat(shape, w.shape, stride, padding):
        flat = conv2d_input_grad(_rows(grad), _rows(w), (*shape[:3], prod(shape[3:])), (1, 1), (0, 0), (1, 1), groups)
        return flat.reshape(shape)
    if grad.ndim == 5 and _by_tiles("input", shape, w.shape, size, stride, padding, groups):
        dx = _tiled_input_grad(grad, w, shape, stride, padding, dilation, groups)
        if dx is not None:
            return dx
    g, weight = contiguous(compute_array(grad)), compute_array(w)
    cols = _input_columns_grad(g.reshape(n, groups, out // groups, prod(size)), weight, groups)
    return _add_columns(cols, shape, w.shape[2:], size, stride, padding, dilation).astype(grad.dtype, copy=False)


def _three(sizes: Ints, fill: int) -> Ints:
    """Sizes along three axes, the first of which may not be there."""
    return (fill,) * (3 - len(sizes)) + tuple(sizes)


@lru_cache(512)
def _in_three(stride: Ints, padding: Ints, dilation: Ints) -> tuple[Ints, Ints, Ints]:
    return _three(stride, 1), _three(padding, 0), _three(dilation, 1)


def _volume(a: np.ndarray) -> np.ndarray:
    """The array with three spatial axes."""
    if a.ndim == 4:
        return a[:, :, None]
    return a if a.ndim == 5 else a.reshape(*a.shape[:2], *_three(a.shape[2:], 1))


def _by_tiles(face: str, x_shape: Ints, w_shape: Ints, size: Ints, stride: Ints, padding: Ints, groups: int) -> bool:
    """Whether tiles are the way (see ``ways``), of results or gradients that count."""
    macs = x_shape[0] * prod(size) * prod(w_shape)
    return macs >= state.fused and ways.tiles_win(face, _geometry(x_shape, w_shape, size, stride, padding, groups))


@lru_cache(512)
def _geometry(x_shape: Ints, w_shape: Ints, size: Ints, stride: Ints, padding: Ints, groups: int) -> ways.Geometry:
    weight = (*w_shape[:2], *_three(w_shape[2:], 1))
    return ways.Geometry(x_shape[0], _three(x_shape[2:], 1), _three(size, 1), weight, _three(stride, 1), _three(padding, 0), groups)


class _Tiles(NamedTuple):
    """A convolution by tiles: what is estimated of it, what the kernel takes, and the shapes of input and result along three axes."""

    geometry: ways.Geometry
    call: direct.Call
    input: Ints
    result: Ints


class _Plan(NamedTuple):
    """A convolution's size, its multiply-adds, and how tiles compute it; None where they do not."""

    size: Ints
    work: int
    tiles: _Tiles | None


@lru_cache(512)
def _plan(x: Ints, w: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int, threads: int) -> _Plan:
    """What there is to know of a convolution of these shapes; other ways are there for kernels of one tap, for one channel in each of
    several groups, and for taps that meet nothing."""
    size = _check(x, w, stride, padding, dilation, groups)
    work = x[0] * prod(size) * prod(w)
    plain = prod(w[2:]) == 1 and not any(padding) or w[1] == 1 and groups > 1
    if not work or len(x) > 5 or len(x) < 5 and (plain or _idle(x[2:], w[2:], size, stride, padding, dilation)):
        return _Plan(size, work, None)
    if _is_flat(x, w, stride, padding):
        return _Plan(size, work, None)
    input, weight, result = (*x[:2], *_three(x[2:], 1)), (*w[:2], *_three(w[2:], 1)), (x[0], w[0], *_three(size, 1))
    call = direct.forward(input, weight, result, *_in_three(stride, padding, dilation), groups, threads)
    return _Plan(size, work, _Tiles(_geometry(x, w, size, stride, padding, groups), call, input, result))


def _tiled(x: np.ndarray, w: np.ndarray, b: np.ndarray | None, size: Ints, tiles: _Tiles) -> np.ndarray:
    c = contiguous(compute_array(x))
    weight = contiguous(compute_array(w).astype(c.dtype, copy=False))
    bias = None if b is None else contiguous(compute_array(b).astype(c.dtype, copy=False))
    y = np.empty((len(x), len(w), *size), c.dtype)
    direct.run(c.reshape(tiles.input), weight, bias, y.reshape(tiles.result), tiles.call)
    return _as(y, x.dtype)


def tiled_at_once(
    x: np.ndarray, w: np.ndarray, b: np.ndarray | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray | None:
    """The convolution of arrays in rows by tiles, without a look at what they might be else; None where it is done in another way."""
    dtype = x.dtype
    char = dtype.char
    if char != "f" and char != "d" or w.dtype is not dtype or not x.flags.carray or not w.flags.carray or b is not None and (
            b.dtype is not dtype or not b.flags.carray):
        return None
    size, work, tiles = _plan(x.shape, w.shape, stride, padding, dilation, groups, sharing.get_num_threads())
    if tiles is None or work < state.fused or not ways.tiles_win("forward", tiles.geometry):
        return None
    y = np.empty(tiles.result, dtype)
    direct.run(x if x.ndim == 5 else x.reshape(tiles.input), w, b, y, tiles.call)
    return y if x.ndim == 5 else y.reshape(len(x), len(w), *size)


def _tiled_input_grad(grad: np.ndarray, w: np.ndarray, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
                      ) -> np.ndarray | None:
    """None where the weight is not finite: zeros around the cotangents must stay zeros."""
    g = contiguous(compute_array(grad))
    weight = contiguous(compute_array(w).astype(g.dtype, copy=False))
    if not _is_finite(weight):
        return None
    dx = np.empty(shape, g.dtype)
    direct.input_grad(_volume(g), _volume(weight), _volume(dx), *_in_three(stride, padding, dilation), groups)
    return _as(dx, grad.dtype)


def _tiled_weight_grad(g: np.ndarray, c: np.ndarray, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
                       ) -> np.ndarray | None:
    """None where it is not finite: infinity times the zeros that fill up rows is NaN, so that it is to be computed without them."""
    volume = (*shape[:2], *_three(shape[2:], 1))
    total = direct.weight_grad(_volume(g), _volume(c), volume, *_in_three(stride, padding, dilation), groups)
    return total.reshape(shape) if np.isfinite(total).all() else None


def _is_flat(shape: Ints, w_shape: Ints, stride: Ints, padding: Ints) -> bool:
    """Whether each pixel of a volume goes its own way, so that volumes may as well be images."""
    return len(shape) == 5 and w_shape[2:] == (1, 1, 1) == stride and padding == (0, 0, 0)


def _rows(a: np.ndarray) -> np.ndarray:
    return contiguous(a).reshape(*a.shape[:3], -1)


def _flat(a: np.ndarray) -> np.ndarray:
    """An array of one spatial axis, as images of one row."""
    return a[:, :, None]


# Two spatial axes: compiled.


@lru_cache(512)
def _idle(space: Ints, kernel: Ints, size: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints | None:
    """How many taps at either end of a kernel, along each axis, meet nothing but padding; None where all meet something."""
    found = []
    for n, k, m, s, p, d in zip(space, kernel, size, stride, padding, dilation, strict=True):
        before, after = (p - (m - 1) * s + d - 1) // d, k - 1 - (n - 1 + p) // d  # tap j meets places from j * d - p on
        found.append(max(0, min(before, after, p // d, (k - 1) // 2)))
    return tuple(found) if any(found) else None


def _busy(idle: Ints, padding: Ints, dilation: Ints) -> tuple[tuple[slice, ...], Ints]:
    """Where a kernel's other taps lie in its weight, and the padding that these have."""
    inner = tuple([slice(t, -t or None) for t in idle])
    return (slice(None), slice(None), *inner), tuple([p - t * d for t, p, d in zip(idle, padding, dilation, strict=True)])


def _samples(n: int, work: int, fn: object) -> None:
    """``fn(start, stop)`` over samples: whole samples per thread with BLAS on one thread each, if there are enough."""
    if n >= sharing.get_num_threads() > 1 and n * work > 1 << 16:
        with blas.one_blas_thread() as controlled:
            if controlled:
                parallel_for(n, 1, fn)  # type: ignore[arg-type]  # there is one where this is reached
                return
    fn(0, n)  # type: ignore[operator]  # there is one where this is reached


def _is_depthwise(w: np.ndarray, groups: int) -> bool:
    return w.shape[1] == 1 and groups > 1


def _pointwise(kernel: Ints, stride: Ints, padding: Ints) -> bool:
    return kernel == (1, 1) and stride == (1, 1) and padding == (0, 0)


def _pixels(a: np.ndarray) -> np.ndarray | None:
    """(pixels, channels) of images (N, C, H, W) whose channels lie innermost, as a view; None of others."""
    turned = a.transpose(0, 2, 3, 1)
    if a.flags.c_contiguous or not turned.flags.c_contiguous:
        return None
    return turned.reshape(-1, a.shape[1])


def _images(pixels: np.ndarray, shape: Ints) -> np.ndarray:
    """The inverse of ``_pixels``, of shape (N, C, H, W)."""
    n, _, height, width = shape
    return pixels.reshape(n, height, width, -1).transpose(0, 3, 1, 2)


def _wide(width: int, ow: int, stride: Ints, padding: Ints) -> int:
    """The row length of wide columns (see ``compiled.conv``); 0 where they do not serve, or waste too much: where matrices are packed
    anyway, columns are not worth being wider."""
    if not _UNPACKED:
        return 0
    wide = -(-(width + 2 * padding[1]) // stride[1])
    return wide if wide <= 2 * ow else 0


def _chunks(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """Slices of samples whose columns, ``size`` elements each, stay in the cache together."""
    step = max(1, _CACHED // size)
    for first in range(start, stop, step):
        yield first, min(first + step, stop)


def _outer(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """``np.matmul(a, b, out=out)``, without BLAS where there is nothing to sum up."""
    if a.shape[-1] > 1:
        np.matmul(a, b, out=out)
        return
    np.multiply(a, b, out=out)
    out += 0  # a sum from 0 on has no negative zeros


def _product(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """``np.matmul(a, b, out=out)``, cut into products that are small enough for BLAS to leave matrices unpacked.

    Rows of ``a`` are cut if there are enough of them, else columns of ``b``.
    """
    rows, columns = a.shape[-2], b.shape[-1]
    pieces = -(-rows * a.shape[-1] * columns // _UNPACKED) if _UNPACKED else 1
    cut = next((n for n in range(pieces, 2 * pieces) if rows % n == 0 and rows >= 4 * n), 1)
    if cut > 1:
        a = a.reshape(*a.shape[:-2], cut, rows // cut, a.shape[-1])
        b, out = b[..., None, :, :], out.reshape(*out.shape[:-2], cut, rows // cut, columns)
    elif pieces > 1 and columns >= 64 * pieces:
        cut = next((n for n in range(pieces, 2 * pieces) if columns % n == 0), 1)
        b, out = (v.reshape(*v.shape[:-1], cut, columns // cut).swapaxes(-2, -3) for v in (b, out))
        a = a[..., None, :, :]
    np.matmul(a, b, out=out)


def _widened(g: np.ndarray, wide: int) -> np.ndarray:
    """``g`` (N, O, H, W) with its rows filled up with zeros to length ``wide``, in a scratch array."""
    out = scratch((*g.shape[:3], wide), g.dtype, "wide")
    out[..., : g.shape[3]] = g
    out[..., g.shape[3] :] = 0
    return out


def _widened_pixels(g: np.ndarray, wide: int) -> np.ndarray:
    """``_widened``, with the channels last: (N, H, wide, O)."""
    n, out, height, width = g.shape
    pixels = scratch((n, height, wide, out), g.dtype, "wide")
    pixels[:, :, :width] = g.transpose(0, 2, 3, 1)
    pixels[:, :, width:] = 0
    return pixels


def conv2d(
    x: np.ndarray, w: np.ndarray, b: np.ndarray | None, stride: Ints, padding: Ints, dilation: Ints, groups: int = 1
) -> np.ndarray:
    """Convolution of ``x`` (N, C, H, W) with ``w`` (O, C // groups, KH, KW).

    >>> conv2d(np.ones((1, 1, 2, 2)), np.ones((1, 1, 2, 2)), None, (1, 1), (0, 0), (1, 1))
    array([[[[4.]]]])
    """
    size, work, tiles = _plan(x.shape, w.shape, stride, padding, dilation, groups, sharing.get_num_threads())
    if work >= state.fused and tiles is not None and ways.tiles_win("forward", tiles.geometry):
        return _tiled(x, w, b, size, tiles)
    n, channels, height, width = x.shape
    out, per_group, kh, kw = w.shape
    length, taps = size[0] * size[1], kh * kw
    if work < state.fused or not work:
        return _by_columns(x, w, b, size, stride, padding, dilation, groups)
    if any(padding) and (idle := _idle(x.shape[2:], w.shape[2:], size, stride, padding, dilation)) and _is_finite(w):
        inner, padding = _busy(idle, padding, dilation)
        return conv2d(x, np.ascontiguousarray(w[inner]), b, stride, padding, dilation, groups)
    pointwise = (kh, kw) == (1, 1) and padding == (0, 0)
    if pointwise and stride != (1, 1):
        return conv2d(np.ascontiguousarray(x[:, :, :: stride[0], :: stride[1]]), w, b, (1, 1), padding, dilation, groups)
    if pointwise and groups == 1 and (pixels := _pixels(compute_array(x))) is not None:
        y = pixels @ contiguous(compute_array(w)).reshape(out, channels).T
        if b is not None:
            y += compute_array(b)
        return _as(_images(y, x.shape), x.dtype)
    c = contiguous(compute_array(x))
    weight = contiguous(compute_array(w).astype(c.dtype, copy=False))
    y = np.empty((n, out, *size), c.dtype)
    geometry = (*stride, *padding, *dilation)
    if per_group == 1 and groups > 1 and not _pointwise((kh, kw), stride, padding):
        planes = c.reshape(n * channels, height, width), weight.reshape(out, kh, kw), y.reshape(n * out, *size)
        bias = None if b is None else contiguous(b.astype(c.dtype, copy=False))
        _depthwise(*planes, bias, out // channels, stride, padding, dilation)
        return _as(y, x.dtype)
    else:
        flat = weight.reshape(groups, out // groups, per_group * taps)
        ys = y.reshape(n, groups, out // groups, length)
        wide = _wide(width, size[1], stride, padding)
        if wide and not _pointwise((kh, kw), stride, padding):
            gather, span, rows = _compiled.im2col_wide[c.dtype.char], size[0] * wide, channels * taps
            geometry = (kh, kw, *geometry, size[0], rows * span, span)
            shift = 0 if b is None else b.astype(c.dtype, copy=False).reshape(out, 1, 1)
            b = None

            def run_chunks(start: int, stop: int) -> None:
                for first, last in _chunks(start, stop, rows * span):
                    m = last - first
                    cols = scratch((m, rows * span), c.dtype, "columns")
                    gather(c, cols.reshape(-1), *geometry, first, last)
                    result = scratch((m, groups, out // groups, span), c.dtype, "wide")
                    _product(flat, cols.reshape(m, groups, per_group * taps, span), result)
                    np.add(result.reshape(m, out, size[0], wide)[..., : size[1]], shift, out=y[first:last])

            _samples(n, channels * taps * length, run_chunks)
        elif _pointwise((kh, kw), stride, padding):
            xs = c.reshape(n, groups, per_group, length)
            _samples(n, channels * length, lambda start, stop: _outer(flat, xs[start:stop], ys[start:stop]))
        else:
            gather = _compiled.im2col[c.dtype.char]

            def run_samples(start: int, stop: int) -> None:
                cols = scratch((channels, taps, length), c.dtype, "columns")
                for sample in range(start, stop):
                    gather(c[sample], cols, kh, kw, *geometry, *size, 0, channels)
                    np.matmul(flat, cols.reshape(groups, per_group * taps, length), out=ys[sample])

            _samples(n, channels * taps * length, run_samples)
    if b is not None:
        y += b.astype(c.dtype, copy=False).reshape(out, 1, 1)
    return _as(y, x.dtype)


def _in_rows(width: int, ow: int) -> bool:
    """Whether the depthwise kernels over rows serve."""
    return min(width, ow) >= 8


def _depthwise(
    x: np.ndarray,
    w: np.ndarray,
    y: np.ndarray,
    b: np.ndarray | None,
    multiplier: int,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
) -> None:
    """Planes ``y`` (N C multiplier, H', W') of a depthwise convolution from planes ``x`` (N C, H, W)."""
    cols, char = y.shape[1] * y.shape[2] * w.shape[1] * w.shape[2], x.dtype.char
    if _in_rows(x.shape[2], y.shape[2]):
        bias = np.empty(0, x.dtype) if b is None else b
        share_rows(_compiled.depthwise_rows, char, len(y), cols, 1, x, w, bias, y, multiplier, *stride, *padding, *dilation)
        return
    share_rows(_compiled.depthwise, char, len(y), cols, 1, x, w, y, multiplier, *stride, *padding, *dilation)
    if b is not None:
        y.reshape(-1, len(b), *y.shape[1:])[...] += b.reshape(-1, 1, 1)


def conv2d_input_grad(
    grad: np.ndarray, w: np.ndarray, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The gradient for an input of ``shape`` (N, C, H, W) alone."""
    if (total := input_grad_of_few(grad, w, shape, stride, padding, dilation, groups)) is not None:
        return total
    n, out, *rest = grad.shape
    size = tuple(rest)
    _, per_group, kh, kw = w.shape
    length, taps, channels = size[0] * size[1], kh * kw, per_group * groups
    if (kh, kw) == (1, 1) and padding == (0, 0) and (stride != (1, 1) or tuple(shape[2:]) != size):  # zeros between, or behind them
        sparse = sharing.zeros(shape, grad.dtype)
        picked = conv2d_input_grad(grad, w, (n, w.shape[1] * groups, *size), (1, 1), padding, dilation, groups)
        sparse[:, :, : size[0] * stride[0] : stride[0], : size[1] * stride[1] : stride[1]] = picked
        return sparse
    if any(padding) and (idle := _idle(tuple(shape[2:]), w.shape[2:], size, stride, padding, dilation)) and _is_finite(w):
        inner, padding = _busy(idle, padding, dilation)
        return conv2d_input_grad(grad, np.ascontiguousarray(w[inner]), shape, stride, padding, dilation, groups)
    depthwise = _is_depthwise(w, groups) and not _pointwise((kh, kw), stride, padding)
    if n * out * length * per_group * taps < state.fused or not n * out * per_group * taps:
        return convnd_input_grad(grad, w, shape, stride, padding, dilation, groups)
    if depthwise and not _is_finite(w):  # zeros around the cotangents must stay zeros
        return convnd_input_grad(grad, w, shape, stride, padding, dilation, groups)
    if _pointwise((kh, kw), stride, padding) and groups == 1 and (pixels := _pixels(compute_array(grad))) is not None:
        return _as(_images(pixels @ contiguous(compute_array(w)).reshape(out, channels), grad.shape), grad.dtype)
    if not depthwise and (kh, kw) != (1, 1) and _by_tiles("input", shape, w.shape, size, stride, padding, groups):
        found = _tiled_input_grad(grad, w, shape, stride, padding, dilation, groups)
        if found is not None:
            return found
    g = contiguous(compute_array(grad))
    weight = contiguous(compute_array(w).astype(g.dtype, copy=False))
    dx = np.empty(shape, g.dtype)
    geometry = (*stride, *padding, *dilation)
    if depthwise:
        planes = g.reshape(n * out, *size), weight.reshape(out, kh, kw), dx.reshape(n * channels, *shape[2:])
        multiplier = out // channels
        around = dilation[0] * (kh - 1) - padding[0], dilation[1] * (kw - 1) - padding[1]
        if multiplier == 1 and stride == (1, 1) and min(around) >= 0:
            flipped = contiguous(planes[1][:, ::-1, ::-1])
            _depthwise(planes[0], flipped, planes[2], None, 1, stride, around, dilation)
            return _as(dx, grad.dtype)
        work = multiplier * length * taps
        share_rows(_compiled.depthwise_dx, g.dtype.char, n * channels, work, 1, *planes, multiplier, *geometry)
        return _as(dx, grad.dtype)
    flat = weight.reshape(groups, out // groups, per_group * taps).swapaxes(1, 2)
    gs = g.reshape(n, groups, out // groups, length)
    if _pointwise((kh, kw), stride, padding):
        xs = dx.reshape(n, groups, per_group, length)
        _samples(n, channels * length, lambda start, stop: _outer(flat, gs[start:stop], xs[start:stop]))
        return _as(dx, grad.dtype)
    wide = _wide(shape[3], size[1], stride, padding)
    if wide and _is_finite(weight):  # the zeros that fill up rows stay zeros
        add, span, rows = _compiled.col2im_wide[g.dtype.char], size[0] * wide, channels * taps
        steps, flat = (kh, kw, *geometry, size[0], rows * span, span), contiguous(flat)

        def run_chunks(start: int, stop: int) -> None:
            for first, last in _chunks(start, stop, rows * span):
                m = last - first
                cols = scratch((m, groups, per_group * taps, span), g.dtype, "columns")
                _product(flat, _widened(g[first:last], wide).reshape(m, groups, out // groups, span), cols)
                add(cols.reshape(-1), dx, *steps, first, last)

        _samples(n, channels * taps * length, run_chunks)
        return _as(dx, grad.dtype)
    scatter = _compiled.col2im[g.dtype.char]

    def run_samples(start: int, stop: int) -> None:
        cols = scratch((channels, taps, length), g.dtype, "columns")
        for sample in range(start, stop):
            np.matmul(flat, gs[sample], out=cols.reshape(groups, per_group * taps, length))
            scatter(cols, dx[sample], kh, kw, *geometry, *size, 0, channels)

    _samples(n, channels * taps * length, run_samples)
    return _as(dx, grad.dtype)


def _weight_grad(
    g: np.ndarray, c: np.ndarray, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The gradient for a weight of ``shape`` (O, C // groups, KH, KW) from C-contiguous ``g`` and ``c``."""
    n, out, *rest = g.shape
    size = tuple(rest)
    channels, height, width = c.shape[1:]
    _, per_group, kh, kw = shape
    length, taps = size[0] * size[1], kh * kw
    if (kh, kw) == (1, 1) and padding == (0, 0) and (stride != (1, 1) or c.shape[2:] != size):  # what lies behind has no part in it
        picked = np.ascontiguousarray(c[:, :, : size[0] * stride[0] : stride[0], : size[1] * stride[1] : stride[1]])
        return _weight_grad(g, picked, shape, (1, 1), padding, dilation, groups)
    if any(padding) and (idle := _idle(c.shape[2:], (kh, kw), size, stride, padding, dilation)) and np.isfinite(g).all():
        inner, padding = _busy(idle, padding, dilation)
        whole = np.zeros(shape, c.dtype)
        whole[inner] = _weight_grad(g, c, whole[inner].shape, stride, padding, dilation, groups)
        return whole
    geometry = (*stride, *padding, *dilation)
    if per_group == 1 and groups > 1 and not _pointwise((kh, kw), stride, padding):
        dw = np.empty((out, kh, kw), c.dtype)
        planes = g.reshape(n * out, *size), c.reshape(n * channels, height, width), dw
        multiplier = out // channels
        kernel = _compiled.depthwise_rows_dw if _in_rows(width, size[1]) else _compiled.depthwise_dw
        share_rows(kernel, c.dtype.char, out, n * length * taps, 1, *planes, n, multiplier, *geometry)
        if np.isfinite(dw).all():
            return dw.reshape(shape)
        # Infinity times the zeros that fill up rows is NaN: once more without them.
        exact = convnd_backward(g, c, np.empty(shape, c.dtype), stride, padding, dilation, groups, (False, True, False))[1]
        assert exact is not None  # it was asked for
        return exact
    if (kh, kw) != (1, 1) and _by_tiles("weight", c.shape, shape, size, stride, padding, groups):
        found = _tiled_weight_grad(g, c, shape, stride, padding, dilation, groups)
        if found is not None:
            return found
    gs = g.reshape(n, groups, out // groups, length)
    pointwise = _pointwise((kh, kw), stride, padding)
    gather = None if pointwise else _compiled.im2col[c.dtype.char]
    # A fixed number of partial sums, added up in order: the result does not depend on which thread was faster.
    n_parts = min(n, 8)
    bounds = [n * i // n_parts for i in range(n_parts + 1)]
    # Of few pixels, sums that are added up afterwards would take longer than they.
    wide = 0 if pointwise or n * length < _FEW_PIXELS else _wide(width, size[1], stride, padding)
    if wide:
        collect, span, rows = _compiled.im2col_wide[c.dtype.char], size[0] * wide, channels * taps
        transposed = np.zeros((n_parts, groups, per_group * taps, out // groups), c.dtype)

        def run_wide(start: int, stop: int) -> None:
            for part in range(start, stop):
                for first, last in _chunks(bounds[part], bounds[part + 1], rows * span):
                    m = last - first
                    cols = scratch((m, groups, per_group * taps, span), c.dtype, "columns")
                    collect(c, cols.reshape(-1), kh, kw, *geometry, size[0], rows * span, span, first, last)
                    if rows < 64 * groups:  # too few for channels last to pay
                        pixels = _widened(g[first:last], wide).reshape(m, groups, out // groups, span).swapaxes(2, 3)
                    else:
                        pixels = _widened_pixels(g[first:last], wide)
                        pixels = pixels.reshape(m, span, groups, out // groups).swapaxes(1, 2)
                    each = scratch((m, *transposed.shape[1:]), c.dtype, "each")
                    _product(cols, pixels, each)
                    transposed[part] += each[0] if m == 1 else each.sum(0)

        _samples(n_parts, channels * taps * length, run_wide)
        total = transposed.sum(0)
        if np.isfinite(total).all():
            return np.ascontiguousarray(total.swapaxes(1, 2)).reshape(shape)
        # Infinity times the zeros that fill up rows is NaN: once more without them.

    parts = np.empty((n_parts, groups, out // groups, per_group * taps), c.dtype)

    def run_parts(start: int, stop: int) -> None:
        cols = None if pointwise else scratch((channels, taps, length), c.dtype, "columns")
        for part in range(start, stop):
            for sample in range(bounds[part], bounds[part + 1]):
                if cols is None or gather is None:
                    flat = c[sample].reshape(groups, per_group, length)
                else:
                    gather(c[sample], cols, kh, kw, *geometry, *size, 0, channels)
                    flat = cols.reshape(groups, per_group * taps, length)
                if sample == bounds[part]:
                    np.matmul(gs[sample], flat.swapaxes(1, 2), out=parts[part])
                else:
                    parts[part] += np.matmul(gs[sample], flat.swapaxes(1, 2))

    _samples(n_parts, channels * taps * length, run_parts)
    return (parts[0] if n_parts == 1 else parts.sum(0)).reshape(shape)


def conv2d_backward(
    grad: np.ndarray,
    x: np.ndarray,
    w: np.ndarray,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int = 1,
    needs: Needs = (True, True, True),
) -> Grads:
    """Gradients for ``(x, w, b)`` of ``conv2d`` (those not needed are ``None``)."""
    n, out, *rest = grad.shape
    work = n * out * prod(rest) * prod(w.shape[1:])
    if work < state.fused:
        return convnd_backward(grad, x, w, stride, padding, dilation, groups, needs)
    dx = dw = db = None
    if groups == 1 and _pointwise(w.shape[2:], stride, padding) and x.shape[2:] == grad.shape[2:]:
        inputs, cotangents = _pixels(compute_array(x)), _pixels(compute_array(grad))
        if inputs is not None and cotangents is not None:
            if needs[0]:
                dx = _as(conv2d_input_grad(grad, w, x.shape, stride, padding, dilation, groups), x.dtype)
            if needs[1]:
                dw = _as((cotangents.T @ inputs).reshape(w.shape), w.dtype)
            return dx, dw, _as(cotangents.sum(0), w.dtype) if needs[2] else None
    c = contiguous(compute_array(x))
    g = contiguous(compute_array(grad).astype(c.dtype, copy=False))
    if needs[0]:
        dx = _as(conv2d_input_grad(g, w, x.shape, stride, padding, dilation, groups), x.dtype)
    if needs[1]:
        dw = _as(_weight_grad(g, c, w.shape, stride, padding, dilation, groups), w.dtype)
    if needs[2]:
        db = g.reshape(n, out, -1).sum(2).sum(0).astype(w.dtype, copy=False)
    return dx, dw, db
