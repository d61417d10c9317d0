"""Max and average pooling with their vjps, and the adaptive kinds.

Shapes are torch's: (N, C, H, W) or (C, H, W) for the 2-d functions, (N, C, L) or (C, L) for the 1-d ones, which are the
2-d ones with one row.  Indices of maxima are int64, flat within each plane.  Compiled for big inputs, else composed of
one NumPy pass per window position.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from . import reduce
from ._on_demand import LazyModule, compute_array, contiguous, state, within
from .handy import Handy
from .sharing import share_rows
from ...warned import ignoring

__all__ = [
    "Plan",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool2d_backward",
    "adaptive_max_pool2d",
    "added_at",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool2d_backward",
    "cells",
    "counts",
    "few_maxima",
    "few_means",
    "max_pool1d",
    "max_pool2d",
    "max_pool2d_backward",
    "is_few",
    "max_windows",
    "mean_windows",
    "mean_windows_backward",
    "plan",
    "pool_output_size",
    "windows",
]

_compiled = LazyModule("pooling")
_max_windows, _mean_windows, _max_pool = Handy("pooling", "max_windows"), Handy("pooling", "mean_windows"), Handy("pooling", "max_pool")
_mean_windows_backward, _max_pool_backward = Handy("pooling", "mean_windows_backward"), Handy("pooling", "max_pool_backward")
_BAD_INDEX = "max_pool2d_backward: an index is outside of the {} elements of a plane"
Pair = tuple[int, ...]  # of two
Sizes = tuple[int, ...]
Arrays = tuple[np.ndarray, ...]
#: Bounds of the one window over a dimension of size 1 that is not there.
_NONE, _ONE, _NOWHERE = np.zeros(1, np.int64), np.ones(1, np.int64), np.empty(0, np.int64)
#: Elements of windows that NumPy gathers at once; and of one window, that it adds up one after another, as torch does.
_PART, _IN_TURN = 1 << 16, 64
#: Elements of windows up to which NumPy gathers them; of more, it goes through an array for each element that windows have.
_FEW = 1 << 15


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
    x: np.ndarray, kernel: Pair, stride: Pair, padding: Pair = (0, 0), dilation: Pair = (1, 1), ceil_mode: bool = False,
    places: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Maxima of windows and their indices (of no meaning without ``places``); a NaN in a window is its maximum.

    >>> y, index = max_pool2d(np.array([[[1.0, 3.0], [2.0, 0.0]]]), (2, 2), (2, 2))
    >>> y, index
    (array([[[3.]]]), array([[[1]]]))
    """
    out = _output(x, kernel, stride, padding, dilation, ceil_mode)
    sees = prod(x.shape[:-2]) * prod(out) * prod(kernel)
    if sees < min(state.fused, _FEW) or sees >= state.fused and _channels_innermost(x, 2):
        return max_windows(x, windows(x.shape[-2:], out, kernel, stride, padding, dilation), places)
    compiled = sees >= state.fused
    c = contiguous(x if x.dtype.kind in "iu" or compiled and x.dtype.char == "E" else compute_array(x))
    planes = _planes(c)
    y = np.empty((planes.shape[0], *out), c.dtype)
    index = np.empty(y.shape, np.int64) if places or not compiled else _NOWHERE.reshape(0, 0, 0)
    if compiled and (c.dtype.char in "fdE" or c.itemsize < 8 or _fits_double(c)):
        if c.dtype.char not in "fdE":
            planes, y = planes.astype(np.float64), np.empty(y.shape)
        geometry = (*kernel, *stride, *padding, *dilation)
        work = prod(out) * prod(kernel)
        _max_pool.share(planes.dtype.char, len(planes), work, 2, planes, y, index, *geometry)
    else:
        index = np.empty(y.shape, np.int64)
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
    return y.reshape(shape).astype(x.dtype, copy=False), index.reshape(shape) if places else index


def max_pool2d_backward(grad: np.ndarray, index: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The gradient for an input of ``shape``: ``grad`` added at the indices.  Serves every kind of max pooling."""
    g = contiguous(compute_array(grad))
    n, length = prod(shape[:-2]), prod(shape[-2:])
    gs, ks = g.reshape(n, g.size // max(n, 1)), np.ascontiguousarray(index, np.int64).reshape(n, index.size // max(n, 1))
    run = None if g.size >= state.fused else _max_pool_backward.of(g.dtype.char, g.size)
    if run is not None or g.size >= state.fused:
        dx = np.empty((n, length), g.dtype)
        try:
            if run is not None:
                run(n, 1, gs, ks, dx)
            else:
                share_rows(_compiled.max_pool_backward, g.dtype.char, n, length, 2, gs, ks, dx)
        except IndexError:
            raise IndexError(_BAD_INDEX.format(length)) from None
    elif not within(ks, length):
        raise IndexError(_BAD_INDEX.format(length))
    else:
        dx = added_at(n * length, (ks + np.arange(n)[:, None] * length).reshape(-1), gs.reshape(-1))
    return dx.reshape(shape).astype(grad.dtype, copy=False)


@lru_cache(256)
def counts(
    size: Sizes, out: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, include: bool, divisor: int | None
) -> np.ndarray:
    """What each window's sum is divided by, an array of shape ``out`` in double precision that is not to be changed."""
    if divisor:
        return np.full(out, divisor, np.float64)
    total = np.ones((), np.int64)
    for n, m, k, s, p in zip(size, out, kernel, stride, padding, strict=True):
        begin = np.arange(m) * s - p
        end = np.minimum(begin + k, n + p)
        total = total[..., None] * (end - begin if include else np.minimum(end, n) - np.maximum(begin, 0))
    return total.astype(np.float64)


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
    sees = prod(x.shape[:-2]) * prod(out) * prod(kernel)
    given = compute_array(x)
    if sees < min(state.fused, _FEW) or sees >= state.fused and _channels_innermost(given, 2):
        geometry = x.shape[-2:], out, kernel, stride, padding
        y = mean_windows(given, windows(*geometry, (1, 1)), counts(*geometry, count_include_pad, divisor))
        return y.astype(x.dtype, copy=False)
    c = contiguous(given)
    planes = _planes(c)
    y = np.empty((planes.shape[0], *out), c.dtype)
    if sees >= state.fused:
        args = (*kernel, *stride, *padding, count_include_pad, divisor)
        work = prod(out) * prod(kernel)
        share_rows(_compiled.avg_pool, c.dtype.char, len(planes), work, 1, planes, y, *args)
    else:
        shape = planes.shape[1], planes.shape[2]
        y[...] = 0
        for offset in np.ndindex(*kernel):
            where, source = _taps(shape, out, (offset[0], offset[1]), stride, padding)
            y[:, *where] += planes[:, *source]
        y /= counts(shape, out, kernel, stride, padding, count_include_pad, divisor).astype(c.dtype)
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
    sees = g.size * prod(kernel)
    if sees < min(state.fused, _FEW):
        geometry = shape[-2:], out, kernel, stride, padding
        dx = mean_windows_backward(g, windows(*geometry, (1, 1)), counts(*geometry, count_include_pad, divisor))
        return dx.reshape(shape).astype(grad.dtype, copy=False)
    dx = np.empty((g.shape[0], *shape[-2:]), g.dtype)
    if sees >= state.fused:
        args = (*kernel, *stride, *padding, count_include_pad, divisor)
        work = prod(out) * prod(kernel)
        share_rows(_compiled.avg_pool_backward, g.dtype.char, len(g), work, 1, g, dx, *args)
    else:
        size = dx.shape[1], dx.shape[2]
        share = g / counts(size, out, kernel, stride, padding, count_include_pad, divisor).astype(g.dtype)
        dx[...] = 0
        for offset in np.ndindex(*kernel):
            where, source = _taps(size, out, (offset[0], offset[1]), stride, padding)
            dx[:, *source] += share[:, *where]
    return dx.reshape(shape).astype(grad.dtype, copy=False)


def max_pool1d(
    x: np.ndarray, kernel: int, stride: int, padding: int = 0, dilation: int = 1, ceil_mode: bool = False, places: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """``max_pool2d`` over one row (for the vjp, insert the row axis into the shapes likewise)."""
    y, index = max_pool2d(x[..., None, :], (1, kernel), (1, stride), (0, padding), (1, dilation), ceil_mode, places)
    return y[..., 0, :], index[..., 0, :] if places else index


def avg_pool1d(
    x: np.ndarray, kernel: int, stride: int, padding: int = 0, ceil_mode: bool = False, count_include_pad: bool = True
) -> np.ndarray:
    """``avg_pool2d`` over one row (for the vjp, insert the row axis into the shapes likewise)."""
    return avg_pool2d(x[..., None, :], (1, kernel), (1, stride), (0, padding), ceil_mode, count_include_pad)[..., 0, :]


# Windows of any number of dimensions, by what each of them sees: those of pooling in three dimensions, adaptive ones (window i of m over
# n pixels is [floor(i n / m), ceil((i + 1) n / m))), and few of any kind.


class Windows:
    """What the windows over each dimension see: element ``begin``, every ``step``-th, below ``end``; arrays of the windows' number.

    ``table`` are flat positions (windows, taps): where a window has fewer taps than others, its last element comes again, and ``whole``
    is False there (None: nowhere).
    """

    __slots__ = ("begins", "bounds", "count", "divisors", "empty", "ends", "full_out", "full_size", "number", "out", "pixels", "size",
                 "steps", "table", "taps", "whole")

    table: np.ndarray
    whole: np.ndarray | None

    def __init__(self, size: Sizes, begins: Arrays, ends: Arrays, steps: Sizes) -> None:
        self.size, self.begins, self.ends, self.steps = size, begins, ends, steps
        self.out = tuple([len(b) for b in begins])
        numbers = [-(-(e - b) // s) for b, e, s in zip(begins, ends, steps, strict=True)]
        self.taps = tuple([int(max(t.max(initial=0), 1)) for t in numbers])
        self.empty = any([bool((t < 1).any()) for t in numbers])
        #: How many windows there are, taps of the largest, elements of the input.
        self.count, self.number, self.pixels = prod(self.out), prod(self.taps), prod(size)
        #: What compiled loops over three dimensions take: bounds and steps, the sizes of the input and of the result.
        more = 3 - len(size)
        bounds = [a for pair in zip((_NONE,) * more + begins, (_ONE,) * more + ends, strict=True) for a in pair]
        self.bounds: tuple[np.ndarray | int, ...] = (*bounds, *(1,) * more, *steps)
        self.full_size, self.full_out = (1,) * more + size, (1,) * more + self.out
        #: What sums are divided by to make means, by dtype and what else decides.
        self.divisors: dict[object, np.ndarray] = {}

    def __getattr__(self, name: str) -> object:
        """``table`` and ``whole``, made when they are first asked for."""
        if name not in ("table", "whole"):
            raise AttributeError(name)
        n, flat, whole = len(self.size), np.zeros((), np.int64), np.ones((), bool)
        for d, (size, begin, end, step, taps) in enumerate(zip(self.size, self.begins, self.ends, self.steps, self.taps, strict=True)):
            number = -(-(end - begin) // step)
            tap = np.minimum(np.arange(taps), np.maximum(number - 1, 0)[:, None])
            shape = [1] * (2 * n)
            shape[d], shape[n + d] = tap.shape
            flat = flat * size + np.minimum(begin[:, None] + tap * step, size - 1).reshape(shape)
            whole = whole & (np.arange(taps) < number[:, None]).reshape(shape)
        self.table = np.ascontiguousarray(flat).reshape(prod(self.out), prod(self.taps))
        self.whole = None if whole.all() else np.ascontiguousarray(whole).reshape(self.table.shape)
        return getattr(self, name)

    def starts(self) -> np.ndarray:
        """The flat position of each window's first element."""
        flat = np.zeros((), np.int64)
        for size, begin in zip(self.size, self.begins, strict=True):
            flat = flat[..., None] * size + begin
        return flat

    def lengths(self) -> np.ndarray:
        """How many elements each window has."""
        total = np.ones((), np.int64)
        for begin, end, step in zip(self.begins, self.ends, self.steps, strict=True):
            total = total[..., None] * -(-(end - begin) // step)
        return total


class Plan:
    """Windows over the last dimensions of arrays of one shape, for kernels of few numbers.

    Attributes:
        windows: over a plane.
        shape: of the results.
        sees: how many elements they see; none where the result's layout is to be thought about, or there is nothing to see.
        planes: how many there are.
        arguments: what compiled loops take beyond arrays.
        divisors: what sums are divided by to make means.
    """

    __slots__ = ("arguments", "divisors", "planes", "sees", "shape", "windows")

    def __init__(self, shape: Sizes, w: Windows, divisors: np.ndarray | None = None) -> None:
        n = len(w.size)
        lead = shape[: len(shape) - n]
        self.windows, self.planes, self.shape = w, prod(lead), lead + w.out
        clear = len(lead) != 2 or w.pixels > 1  # else C-contiguous images may have their channels innermost, too
        self.sees = self.planes * w.count * w.number if clear and w.pixels else 0
        self.arguments = (self.planes, *w.full_size, 1, *w.bounds)
        self.divisors = _divisors(w) if divisors is None else divisors


def few_maxima(x: np.ndarray, plan: Plan, places: bool) -> Any:
    """What ``max_windows`` gives, of few numbers where machine code is at hand, or else None; the maxima alone without ``places``."""
    char, sees = x.dtype.char, plan.sees
    if 0 < sees < state.fused and char in "fdE" and x.flags.c_contiguous and (run := _max_windows.of(char, sees)) is not None:
        y = np.empty(plan.shape, x.dtype)
        if not places:
            run(plan.planes, 1, x, y, _NOWHERE, *plan.arguments)
            return y
        index = np.empty(plan.shape, np.int64)
        run(plan.planes, 1, x, y, index, *plan.arguments)
        return y, index
    return None


def few_means(x: np.ndarray, plan: Plan) -> np.ndarray | None:
    """What ``mean_windows`` gives, likewise."""
    char, sees = x.dtype.char, plan.sees
    if 0 < sees < state.fused and char in "fdE" and plan.windows.number <= _IN_TURN and x.flags.c_contiguous:
        run = _mean_windows.of(char, sees)
        if run is not None:
            y = np.empty(plan.shape, x.dtype)
            run(plan.planes, 1, x, y, plan.divisors, *plan.arguments)
            return y
    return None


@lru_cache(512)
def cells(size: Sizes, out: Sizes) -> Windows:
    """The windows of adaptive pooling."""
    begins, ends = [], []
    for n, m in zip(size, out, strict=True):
        i = np.arange(m)
        begins.append(i * n // max(m, 1))
        ends.append(-(-(i + 1) * n // max(m, 1)))
    return Windows(size, tuple(begins), tuple(ends), (1,) * len(size))


@lru_cache(512)
def plan(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Windows:
    """The windows of pooling, as many as there are."""
    out = tuple([pool_output_size(*v, ceil_mode) for v in zip(size, kernel, stride, padding, dilation, strict=True)])
    return windows(size, out, kernel, stride, padding, dilation)


@lru_cache(512)
def windows(size: Sizes, out: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Windows:
    """The windows of pooling, without their padding."""
    begins, ends = [], []
    for n, m, k, s, p, d in zip(size, out, kernel, stride, padding, dilation, strict=True):
        begin = np.arange(m) * s - p
        ends.append(np.minimum(begin + (k - 1) * d + 1, n))
        begins.append(begin + np.maximum(0, -(begin // d)) * d)
    return Windows(size, tuple(begins), tuple(ends), dilation)


def is_few(x: np.ndarray, w: Windows, width: int) -> bool:
    """Whether windows of an array are seen by their bounds whatever its layout, and not plane by plane, where loops run over rows of
    results: there are few, or less than ``width`` in a row."""
    return w.out[-1] < width or len(w.size) == 3 or x.size // (w.pixels or 1) * w.count * w.number < min(state.fused, _FEW)


def max_windows(x: np.ndarray, w: Windows, places: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Maxima of windows of the last dimensions, and their flat indices within these (of no meaning without ``places``); of NaNs, the last.

    >>> max_windows(np.arange(4.0), cells((4,), (2,)))
    (array([1., 3.]), array([1, 3]))
    """
    n, char, flags = len(w.size), x.dtype.char, x.flags
    lead = x.shape[: x.ndim - n]
    p = x.size // w.pixels if w.pixels else prod(lead)
    sees = p * w.count * w.number
    if char in "fdE" and flags.c_contiguous and flags.aligned and x.dtype.isnative:
        run = None if sees >= state.fused else _max_windows.of(char, sees)
        if run is not None or sees >= state.fused:
            y = np.empty(lead + w.out, x.dtype)
            index = np.empty(y.shape, np.int64) if places else _NOWHERE
            if run is not None:
                run(p, 1, x, y, index, p, *w.full_size, 1, *w.bounds)
            else:
                _max_windows.share(char, p, w.count * w.number, 2, x, y, index, p, *w.full_size, 1, *w.bounds)
            return y, index
    given = x if x.dtype.kind in "iu" else compute_array(x)
    char = given.dtype.char if given.dtype.char in "fd" else "d"
    run = None if sees >= state.fused else _max_windows.of(char, sees)
    if (run is not None or sees >= state.fused) and (given.dtype.char in "fd" or not w.empty and _fits_double(given)):
        f, channels = _planes_or_images(given if given.dtype.char in "fd" else given.astype(np.float64), n)
        p //= channels
        y = np.empty((p, *w.out, channels), f.dtype)
        index = np.empty(y.shape, np.int64) if places else _NOWHERE
        _max_windows.share(char, p, w.count * w.number * channels, 2, f, y, index, p, *w.full_size, channels, *w.bounds)
        y = y.astype(x.dtype, copy=False)
        if channels > 1:
            return np.moveaxis(y, -1, 1), np.moveaxis(index, -1, 1) if places else index
    else:
        c = contiguous(given)
        table, planes = w.table, c.reshape(p, w.pixels)
        y, index = np.empty((p, w.count), c.dtype), np.empty((p, w.count), np.int64)
        step = max(1, _PART // max(table.size, 1))
        rows = np.arange(0, table.size, w.number)
        for i in range(0, p, step):
            values = planes[i : i + step].take(table, 1)
            at = values.argmax(-1)  # the first of equals and the first NaN
            at += rows
            best = values.reshape(len(values), table.size)[np.arange(len(values))[:, None], at]
            if c.dtype.kind == "f" and (lost := best != best).any():
                at = np.where(lost, rows + w.number - 1 - (values != values)[..., ::-1].argmax(-1), at)
            y[i : i + step], index[i : i + step] = best, table.take(at)
        if w.empty:
            none = (w.lengths() < 1).reshape(-1)
            y[:, none] = -np.inf if c.dtype.kind == "f" else np.iinfo(c.dtype).min
            index[:, none] = w.starts().reshape(-1)[none]
    return y.reshape(*lead, *w.out).astype(x.dtype, copy=False), index.reshape(*lead, *w.out) if places else index


def _fits_double(x: np.ndarray) -> bool:
    """Whether float64 has all of the integers ``x``, and what stands for nothing among them is not one of them."""
    return x.itemsize < 8 or int(np.maximum.reduce(np.abs(x), None, initial=0)) < 1 << 53 and int(x.min(initial=0)) > -(1 << 53)


def _planes_or_images(x: np.ndarray, n: int) -> tuple[np.ndarray, int]:
    """``x`` in the order of its memory where that is (N, ..., C), and C; or else contiguous, and 1."""
    return (np.moveaxis(x, 1, -1), x.shape[1]) if _channels_innermost(x, n) else (contiguous(x), 1)


def _channels_innermost(x: np.ndarray, n: int) -> bool:
    return not x.flags.c_contiguous and x.ndim == n + 2 and np.moveaxis(x, 1, -1).flags.c_contiguous and x.flags.aligned


def mean_windows(x: np.ndarray, w: Windows, divisors: np.ndarray | None = None) -> np.ndarray:
    """Sums of windows of the last dimensions, divided by ``divisors``, or else by the windows' sizes.

    >>> mean_windows(np.arange(4.0), cells((4,), (2,)))
    array([0.5, 2.5])
    """
    n, taps = len(w.size), w.number
    lead = x.shape[: x.ndim - n]
    p = x.size // w.pixels if w.pixels else prod(lead)
    divisors = _divisors(w) if divisors is None else divisors
    sees, char, flags = p * w.count * taps, x.dtype.char, x.flags
    c = x.astype(np.float64) if x.dtype.kind in "iu" else x if char == "E" and flags.c_contiguous else compute_array(x)
    char = c.dtype.char
    run = _mean_windows.of(char, sees) if sees < state.fused and taps <= _IN_TURN else None
    if run is not None or sees >= state.fused:
        f, channels = _planes_or_images(c, n)
        if channels == 1:
            y = np.empty(lead + w.out, c.dtype)
        else:
            p //= channels
            y = np.empty((p, *w.out, channels), c.dtype)
        if run is not None:
            run(p, 1, f, y, divisors, p, *w.full_size, channels, *w.bounds)
        else:
            _mean_windows.share(char, p, w.count * taps * channels, 1, f, y, divisors, p, *w.full_size, channels, *w.bounds)
        y = y if channels == 1 else np.moveaxis(y, -1, 1)
        return y if y.dtype is x.dtype else y.astype(x.dtype, copy=False)
    c = compute_array(c)
    table = w.table if w.whole is None else np.where(w.whole, w.table, w.pixels)
    planes = contiguous(c).reshape(p, w.pixels)
    if w.whole is not None:
        planes = np.concatenate([planes, np.zeros((p, 1), c.dtype)], 1)
    step = max(1, _PART // max(table.size, 1))
    parts = [planes[i : i + step] for i in range(0, max(p, 1), step)]
    with ignoring():  # for lines in NumPy
        if taps > _IN_TURN:
            sums = [np.add.reduce(part.take(table, 1), 2) for part in parts]
        elif w.count > 1:  # one after another, from 0 on, as compiled
            sums = [np.add.reduce(part.take(table.T, 1), 1, initial=0) for part in parts]
        else:  # where NumPy would add up pairs
            sums = [np.add.accumulate(part.take(table, 1), 2)[..., -1] + c.dtype.type(0) for part in parts]
        y = sums[0] if len(sums) == 1 else np.concatenate(sums)
        y /= divisors.reshape(-1).astype(c.dtype)
    return y.reshape(*lead, *w.out).astype(x.dtype, copy=False)


def _divisors(w: Windows) -> np.ndarray:
    """The windows' sizes, in double precision, which are kept."""
    found = w.divisors.get(None)
    if found is None:
        found = w.divisors[None] = w.lengths().astype(np.float64)
    return found


def mean_windows_backward(grad: np.ndarray, w: Windows, divisors: np.ndarray | None = None) -> np.ndarray:
    """The transpose of ``mean_windows``: every window's share spread over its elements."""
    n = len(w.size)
    lead = grad.shape[: grad.ndim - n]
    g = contiguous(compute_array(grad))
    p, taps = g.size // w.count if w.count else prod(lead), w.number
    divisors = _divisors(w) if divisors is None else divisors
    sees, char = p * w.count * taps, g.dtype.char
    run = None if sees >= state.fused else _mean_windows_backward.of(char, sees)
    if run is not None or sees >= state.fused:
        dx = np.empty((*lead, *w.size), g.dtype)
        if run is not None:
            run(p, 1, g, dx, divisors, p, *w.full_size, *w.bounds)
        else:
            _mean_windows_backward.share(char, p, w.count * taps, 1, g, dx, divisors, p, *w.full_size, *w.bounds)
        return dx if dx.dtype is grad.dtype else dx.astype(grad.dtype, copy=False)
    with ignoring():
        share = (g / divisors.astype(g.dtype)).reshape(p, w.count, 1)
        places = np.arange(p)[:, None, None] * w.pixels + w.table
        share = np.broadcast_to(share, places.shape)
        if w.whole is not None:
            chosen = np.broadcast_to(w.whole, places.shape)
            places, share = places[chosen], share[chosen]
        dx = added_at(p * w.pixels, places.reshape(-1), share.reshape(-1))
    return dx.reshape(*lead, *w.size).astype(grad.dtype, copy=False)


def added_at(size: int, places: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Zeros with ``values`` added at ``places``, one after another, as compiled loops do.

    >>> added_at(3, np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]))
    array([1., 0., 5.])
    """
    if values.dtype.char == "d":
        return np.bincount(places, values, size)
    total = np.zeros(size, values.dtype)
    np.add.at(total, places, values)
    return total


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
    return mean_windows(x, cells((height, width), size))


def adaptive_avg_pool2d_backward(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The gradient for an input of ``shape``."""
    return mean_windows_backward(grad, cells(shape[-2:], grad.shape[-2:]))


def adaptive_max_pool2d(x: np.ndarray, size: Pair) -> tuple[np.ndarray, np.ndarray]:
    """Maxima over ``size`` evenly spread windows, and their indices (for ``max_pool2d_backward``).

    >>> adaptive_max_pool2d(np.arange(4.0).reshape(1, 1, 4), (1, 2))
    (array([[[1., 3.]]]), array([[[1, 3]]]))
    """
    return max_windows(x, cells(x.shape[-2:], size))
