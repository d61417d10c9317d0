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

from . import folds, reduce
from ._on_demand import LazyModule, contiguous, state, within
from .halves import compute_array, recast, widened
from .handy import Handy
from .sharing import share_rows
from ...strided import in_format, suggests_channels_last
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
    "cell_plan",
    "composed_maxima",
    "cells",
    "counts",
    "innermost",
    "max_pool1d",
    "max_pool2d",
    "max_pool2d_backward",
    "max_plan",
    "max_windows",
    "maxima",
    "mean_plan",
    "mean_windows",
    "mean_windows_backward",
    "means",
    "plan",
    "pool_output_size",
    "windows",
]

_compiled = LazyModule("pooling")
_max_windows, _mean_windows = Handy("pooling", "max_windows"), Handy("pooling", "mean_windows")
_avg_pool = Handy("pooling", "avg_pool")
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
    _output(x, kernel, stride, padding, dilation, ceil_mode)
    plan = max_plan(x.shape, kernel, stride, padding, dilation, ceil_mode)
    found = maxima(x, plan, places) if x.dtype.isnative else None
    if found is None:
        found = composed_maxima(x, plan, places)
    return found if places else (found, _NOWHERE)


def composed_maxima(x: np.ndarray, plan: Plan, places: bool) -> Any:
    """What ``maxima`` gives, by NumPy, C-contiguous: of few windows by a table, else an array for each element that windows have."""
    if not plan.rows or (plan.planes * plan.work < _FEW if places else plan.planes * plan.windows.count < _FEW >> 5):
        return _maxima_by_table(x, plan, places)
    c = contiguous(x if x.dtype.kind in "iu" else compute_array(x))
    planes = c.reshape(plan.given)
    kh, kw, *more = plan.rows
    kernel, stride, padding, dilation = (kh, kw), tuple(more[:2]), tuple(more[2:4]), tuple(more[4:])
    out = plan.made[1], plan.made[2]
    floating, (height, width) = c.dtype.kind == "f", planes.shape[1:]
    y = np.full(plan.made, -np.inf if floating else np.iinfo(c.dtype).min, c.dtype)
    if places:
        firsts = []
        for m, s, p, d in zip(out, stride, padding, dilation, strict=True):
            begin = np.arange(m) * s - p
            firsts.append(begin + np.maximum(0, -(begin // d)) * d)
        index = np.empty(plan.made, np.int64)
        index[...] = firsts[0][:, None] * width + firsts[1]
        positions = np.arange(height * width).reshape(height, width)
    # Without places it does not matter which of equals is taken, unless zeros have different signs; and of a mask NumPy guesses each bit.
    plain = not places and not (floating and ((planes == 0) & np.signbit(planes)).any())
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            offset = i * dilation[0], j * dilation[1]
            where, source = _taps((height, width), out, offset, stride, padding)
            values, best = planes[:, *source], y[:, *where]
            if plain:
                np.maximum(best, values, out=best)
                continue
            better = values > best
            if floating:
                better |= values != values
            np.copyto(best, values, where=better)
            if places:
                np.copyto(index[:, *where], positions[source], where=better)
    y = y.reshape(plan.shape).astype(x.dtype, copy=False)
    return (y, index.reshape(plan.shape)) if places else y


def innermost(x: np.ndarray, n: int) -> np.ndarray | None:
    """Images (N, C, ...) of `n` more dimensions as (N, ..., C), in the order of memory, where their channels lie innermost."""
    if x.ndim != n + 2 or x.shape[1] == 1 or x.flags.c_contiguous and x.strides[1] > x.strides[-1] or not suggests_channels_last(x):
        return None
    return contiguous(x.transpose(0, *range(2, n + 2), 1))


def max_pool2d_backward(grad: np.ndarray, index: np.ndarray, size: Sizes, n: int) -> np.ndarray:
    """The gradient for an input of ``size``, in memory as ``grad`` is: ``grad`` added at the indices within the last ``n`` dimensions.
    Serves every kind of max pooling."""
    lead = len(size) - n
    rows, length, channels, given = prod(size[:lead]), prod(size[lead:]), 1, compute_array(grad)
    char, many = given.dtype.char, max(grad.size, rows * length) >= state.fused and grad.size > 0
    run = None if many else _max_pool_backward.of(char, grad.size)
    if (many or run is not None) and (inner := innermost(given, n)) is not None:
        rows, channels, given, index = size[0], size[1], inner, index.transpose(0, *range(2, n + 2), 1)
    shape = rows, grad.size // max(rows, 1)
    g, ks = contiguous(given).reshape(shape), np.ascontiguousarray(index, np.int64).reshape(shape)
    if many or run is not None:
        dx = np.empty((rows, length * channels), g.dtype)
        try:
            if run is not None:
                run(rows, 1, g, ks, dx, channels)
            else:
                share_rows(_compiled.max_pool_backward, char, rows, length * channels, 2, g, ks, dx, channels)
        except IndexError:
            raise IndexError(_BAD_INDEX.format(length)) from None
    elif not within(ks, length):
        raise IndexError(_BAD_INDEX.format(length))
    else:
        dx = added_at(rows * length, (ks + np.arange(rows)[:, None] * length).reshape(-1), g.reshape(-1))
    if channels > 1:
        dx = dx.reshape(rows, *size[2:], channels).transpose(0, n + 1, *range(1, n + 1))
    else:
        dx = in_format(n, dx.reshape(size), grad)
    return dx.astype(grad.dtype, copy=False)


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
    y = means(x, mean_plan(x.shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor)) if x.dtype.isnative else None
    if y is not None:
        return y
    if sees < _FEW:
        geometry = x.shape[-2:], out, kernel, stride, padding
        return mean_windows(x, windows(*geometry, (1, 1)), counts(*geometry, count_include_pad, divisor))
    planes = _planes(contiguous(compute_array(x)))
    y = np.empty((planes.shape[0], *out), planes.dtype)
    shape = planes.shape[1], planes.shape[2]
    y[...] = 0
    for offset in np.ndindex(*kernel):
        where, source = _taps(shape, out, (offset[0], offset[1]), stride, padding)
        y[:, *where] += planes[:, *source]
    y /= counts(shape, out, kernel, stride, padding, count_include_pad, divisor).astype(y.dtype)
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
    out = grad.shape[-2], grad.shape[-1]
    sees = grad.size * prod(kernel)
    if sees < min(state.fused, _FEW) or sees >= state.fused and innermost(grad, 2) is not None:
        geometry = shape[-2:], out, kernel, stride, padding
        return mean_windows_backward(grad, windows(*geometry, (1, 1)), counts(*geometry, count_include_pad, divisor))
    g = _planes(contiguous(compute_array(grad)))
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
    return in_format(2, dx.reshape(shape), grad).astype(grad.dtype, copy=False)


def max_pool1d(
    x: np.ndarray, kernel: int, stride: int, padding: int = 0, dilation: int = 1, ceil_mode: bool = False, places: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """``max_pool2d`` over one row (for the vjp, insert the row axis into the shapes likewise)."""
    y, index = max_pool2d(x[..., None, :], (1, kernel), (1, stride), (0, padding), (1, dilation), ceil_mode, places)
    return y[..., 0, :], index[..., 0, :] if places else index


def avg_pool1d(
    x: np.ndarray, kernel: int, stride: int, padding: int = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> np.ndarray:
    """``avg_pool2d`` over one row (for the vjp, insert the row axis into the shapes likewise)."""
    return avg_pool2d(x[..., None, :], (1, kernel), (1, stride), (0, padding), ceil_mode, count_include_pad, divisor_override)[..., 0, :]


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
    """Windows over the last dimensions of arrays of one shape, for kernels.

    Attributes:
        windows: over a plane.
        shape: of the results.
        sees: how many elements they see; none where the result's layout is to be thought about, or there is nothing to see.
        planes: how many there are.
        arguments: what compiled loops over windows take beyond arrays, of planes.
        rows: what those over rows of results take, where there are any for these windows.
        divisors: what sums are divided by to make means.
        lines: whether maxima without places are C-contiguous anyway.
        width: results in a row.
        given, made: shapes with planes of rows.
        inner: the order of dimensions with the channels last, where results are to lie as images do.
        channels, images: what compiled loops take of planes whose channels lie innermost, and the shape of their results.
        innermost: whether channels lie innermost, by strides and an element's bytes.
    """

    __slots__ = ("arguments", "by_rows", "channels", "divisors", "given", "images", "inner", "innermost", "lines", "made", "outer",
                 "planes", "rows", "sees", "shape", "width", "windows", "work")

    def __init__(self, shape: Sizes, w: Windows, divisors: np.ndarray | None = None, rows: Sizes = (), keeps: bool = True) -> None:
        n = len(w.size)
        lead = shape[: len(shape) - n]
        self.windows, self.planes, self.shape = w, prod(lead), lead + w.out
        clear = len(lead) != 2 or w.pixels > 1  # else C-contiguous images may have their channels innermost, too
        self.work = w.count * w.number
        self.sees = self.planes * self.work if clear and w.pixels else 0
        self.arguments = (self.planes, *w.full_size, 1, *w.bounds)
        self.divisors = _divisors(w) if divisors is None else divisors
        self.rows, self.by_rows, self.width = rows, bool(rows) and self.sees >= _SOME, w.out[-1]
        self.lines = False
        self.given, self.made = (self.planes, *w.full_size[1:]), (self.planes, *w.full_out[1:])
        self.inner = (0, *range(2, n + 2), 1) if keeps and len(lead) == 2 else None
        self.outer = (0, n + 1, *range(1, n + 1))
        self.images = (lead[0], *w.out, lead[1]) if self.inner else ()
        self.channels = (lead[0], *w.full_size, lead[1], *w.bounds) if self.inner else ()
        self.innermost: dict[tuple[Sizes, int], bool] = {}


def _in_order(x: np.ndarray, plan: Plan) -> tuple[np.ndarray, int]:
    """``x`` or a copy, in the order of memory; and how many channels lie innermost there, if they do, as those of results are to."""
    key, inner = (x.strides, x.itemsize), plan.inner
    innermost = plan.innermost.get(key)
    if innermost is None:
        closely = inner is not None and x.strides[0] * len(x) >= x.nbytes and x.transpose(inner).flags.c_contiguous
        innermost = plan.innermost[key] = inner is not None and not (x.shape[-1] > 1 and x.strides[1] > x.strides[-1]) and (
            closely and 1 not in x.shape[1:] or suggests_channels_last(x))
    if not innermost:
        return contiguous(x), 0
    return contiguous(x.transpose(inner)), x.shape[1]


def _read_as(c: np.ndarray, char: str) -> np.ndarray:
    return widened(c) if c.dtype.itemsize == 2 and char == "f" else c.astype(char)


#: The dtypes that kernels read windows as, to choose from them and to add them up.
_CHOSEN = {"f": "f", "d": "d", "E": "E", "e": "f"} | dict.fromkeys("bBhil", "l")
_ADDED = _CHOSEN | dict.fromkeys("bBhil", "d")
#: Results in a row from which on means go over rows of them, where windows see so much.
_WIDE, _SOME = 32, 256


def maxima(x: np.ndarray, plan: Plan, places: bool) -> Any:
    """What ``max_windows`` gives, laid out as images are, by a kernel; the maxima alone without ``places``. None where NumPy is to compute
    it: of few numbers without machine code at hand, and of what is not numbers in this machine's order."""
    sees, char = plan.sees, _CHOSEN.get(x.dtype.char)
    if not sees or char is None or char == "l" and plan.windows.empty:
        return None
    few = _max_windows.of(char, sees) if sees < state.fused else None
    if few is None and sees < state.fused:
        return None
    flags, dtype = x.flags, x.dtype
    plain = flags.c_contiguous and flags.aligned
    if few is not None and plain and dtype.char == char:
        y = np.empty(plan.shape, dtype)
        index = np.empty(plan.shape, np.int64) if places else _NOWHERE
        few(plan.planes, 1, x, y, index, *plan.arguments)
        return (y, index) if places else y
    c, channels = (x, 0) if plain else _in_order(x, plan)
    if c.dtype.char != char:
        c = _read_as(c, char)
    if channels:
        y = np.empty(plan.images, c.dtype)
        index = np.empty(plan.images, np.int64) if places else _NOWHERE
        if few is None:
            _max_windows.share(char, len(x), plan.work * channels, 2, c, y, index, *plan.channels)
        else:
            few(len(x), 1, c, y, index, *plan.channels)
        y = (y if y.dtype is dtype else recast(y, dtype)).transpose(plan.outer)
        if places:
            index = index.transpose(plan.outer)
        elif plan.lines:  # torch's loop goes by rows
            y = contiguous(y)
    else:
        y = np.empty(plan.shape, c.dtype)
        index = np.empty(plan.shape, np.int64) if places else _NOWHERE
        if few is None:
            _max_windows.share(char, plan.planes, plan.work, 2, c, y, index, *plan.arguments)
        else:
            few(plan.planes, 1, c, y, index, *plan.arguments)
        y = y if y.dtype is dtype else recast(y, dtype)
    return (y, index) if places else y


def means(x: np.ndarray, plan: Plan) -> np.ndarray | None:
    """What ``mean_windows`` gives, likewise."""
    sees, char = plan.sees, _ADDED.get(x.dtype.char)
    if not sees or char is None or sees < state.fused and plan.windows.number > _IN_TURN:
        return None
    by_rows = plan.by_rows and plan.width >= _WIDE and char != "E"
    kernel = _avg_pool if by_rows else _mean_windows
    few = kernel.of(char, sees) if sees < state.fused else None
    if few is None and sees < state.fused:
        return None
    flags, dtype = x.flags, x.dtype
    plain = flags.c_contiguous and flags.aligned
    if few is not None and plain and dtype.char == char and not by_rows:
        y = np.empty(plan.shape, dtype)
        few(plan.planes, 1, x, y, plan.divisors, *plan.arguments)
        return y
    c, channels = (x, 0) if plain else _in_order(x, plan)
    if c.dtype.char != char:
        c = _read_as(c, char)
    if channels:
        if char == "E" and few is not None:  # turning few twice costs less than converting them
            y = np.empty(plan.shape, dtype)
            few(plan.planes, 1, contiguous(x), y, plan.divisors, *plan.arguments)
            return y.transpose(plan.inner).copy().transpose(plan.outer)
        if char == "E":  # sums are to be rounded once
            c, char = widened(c), "f"
        y = np.empty(plan.images, c.dtype)
        if few is None or by_rows:
            _mean_windows.share(char, len(x), plan.work * channels, 1, c, y, plan.divisors, *plan.channels)
        else:
            few(len(x), 1, c, y, plan.divisors, *plan.channels)
        return (y if y.dtype is dtype else recast(y, dtype)).transpose(plan.outer)
    y = np.empty(plan.shape, c.dtype)
    if by_rows:
        kernel.share(char, plan.planes, plan.work, 1, c.reshape(plan.given), y.reshape(plan.made), *plan.rows)
    elif few is None:
        kernel.share(char, plan.planes, plan.work, 1, c, y, plan.divisors, *plan.arguments)
    else:
        few(plan.planes, 1, c, y, plan.divisors, *plan.arguments)
    return y if y.dtype is dtype else recast(y, dtype)


def _in_two(values: Sizes, one: int) -> Sizes:
    """Geometry of one dimension as that of two."""
    return (one, *values) if len(values) == 1 else values


@lru_cache(512)
def max_plan(shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Plan:
    """The plan of maxima of windows."""
    n = len(kernel)
    rows = () if n > 2 else (*_in_two(kernel, 1), *_in_two(stride, 1), *_in_two(padding, 0), *_in_two(dilation, 1))
    made = Plan(shape, plan(shape[len(shape) - n :], kernel, stride, padding, dilation, ceil_mode), None, rows)
    made.lines = n == 1
    return made


@lru_cache(512)
def mean_plan(shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool, include: bool, divisor: int | None) -> Plan:
    """The plan of means of windows."""
    n = len(kernel)
    w = plan(shape[len(shape) - n :], kernel, stride, padding, (1,) * n, ceil_mode)
    rows = () if n > 2 else (*_in_two(kernel, 1), *_in_two(stride, 1), *_in_two(padding, 0), int(include), divisor or 0)
    return Plan(shape, w, counts(w.size, w.out, kernel, stride, padding, include, divisor), rows, n < 3)


@lru_cache(512)
def cell_plan(shape: Sizes, out: Sizes) -> Plan:
    """The plan of evenly spread cells."""
    n = len(out)
    size = shape[len(shape) - n :]
    kernel = tuple([a // max(b, 1) for a, b in zip(size, out, strict=True)])
    even = n < 3 and 0 not in kernel and all([a == b * k for a, b, k in zip(size, out, kernel, strict=True)])
    rows = (*_in_two(kernel, 1), *_in_two(kernel, 1), 0, 0, 1, 0) if even else ()
    return Plan(shape, cells(size, out), None, rows, n < 3)


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


def max_windows(x: np.ndarray, w: Windows, places: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Maxima of windows of the last dimensions, and their flat indices within these (of no meaning without ``places``); of NaNs, the last.

    >>> max_windows(np.arange(4.0), cells((4,), (2,)))
    (array([1., 3.]), array([1, 3]))
    """
    plan = _plan_of(x.shape, w)
    found = maxima(x, plan, places) if x.dtype.isnative else None
    if found is None:
        found = _maxima_by_table(x, plan, places)
    return found if places else (found, _NOWHERE)


def _maxima_by_table(x: np.ndarray, plan: Plan, places: bool) -> Any:
    w, p = plan.windows, plan.planes
    c = contiguous(x if x.dtype.kind in "iu" else compute_array(x))
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
    y = y.reshape(plan.shape).astype(x.dtype, copy=False)
    return (y, index.reshape(plan.shape)) if places else y


@lru_cache(512)
def _plan_of(shape: Sizes, w: Windows) -> Plan:
    return Plan(shape, w)


def mean_windows(x: np.ndarray, w: Windows, divisors: np.ndarray | None = None) -> np.ndarray:
    """Sums of windows of the last dimensions, divided by ``divisors``, or else by the windows' sizes.

    >>> mean_windows(np.arange(4.0), cells((4,), (2,)))
    array([0.5, 2.5])
    """
    taps = w.number
    lead = x.shape[: x.ndim - len(w.size)]
    p = x.size // w.pixels if w.pixels else prod(lead)
    y = None
    if x.dtype.isnative:
        y = means(x, _plan_of(x.shape, w) if divisors is None else Plan(x.shape, w, divisors))
    if y is not None:
        return y
    divisors = _divisors(w) if divisors is None else divisors
    c = compute_array(x.astype(np.float64) if x.dtype.kind in "iu" else x)
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
    """The transpose of ``mean_windows``: every window's share spread over its elements, in memory as ``grad`` is."""
    n = len(w.size)
    lead, channels = grad.shape[: grad.ndim - n], 1
    given, divisors = compute_array(grad), _divisors(w) if divisors is None else divisors
    sees, char = given.size * w.number, given.dtype.char
    run = None if sees >= state.fused else _mean_windows_backward.of(char, sees)
    if run is not None or sees >= state.fused:
        inner = innermost(given, n) if n < 3 else None  # as torch
        if inner is not None:
            given, lead, channels = inner, lead[:1], lead[1]
        p, dx = prod(lead), np.empty((*lead, *w.size) + (channels,) * (channels > 1), given.dtype)
        arguments = contiguous(given), dx, divisors, p, *w.full_size, channels, *w.bounds
        if run is not None:
            run(p, 1, *arguments)
        else:
            _mean_windows_backward.share(char, p, w.count * w.number * channels, 1, *arguments)
        if channels > 1:
            dx = dx.transpose(0, n + 1, *range(1, n + 1))
        return dx if dx.dtype is grad.dtype else dx.astype(grad.dtype, copy=False)
    g, p = contiguous(given), given.size // w.count if w.count else prod(lead)
    with ignoring():
        share = (g / divisors.astype(g.dtype)).reshape(p, w.count, 1)
        places = np.arange(p)[:, None, None] * w.pixels + w.table
        share = np.broadcast_to(share, places.shape)
        if w.whole is not None:
            chosen = np.broadcast_to(w.whole, places.shape)
            places, share = places[chosen], share[chosen]
        dx = added_at(p * w.pixels, places.reshape(-1), share.reshape(-1)).reshape(*lead, *w.size)
    return (in_format(n, dx, grad) if n < 3 else dx).astype(grad.dtype, copy=False)


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
        whole = folds.fold(x, (-2, -1), True, folds.SUM, height * width) if x.size else None
        if whole is None:
            return reduce.mean(compute_array(x), (-2, -1), keepdims=True).astype(x.dtype, copy=False)
        if x.ndim < 4 or x.flags.c_contiguous and x.strides[1] > x.strides[-1] or not suggests_channels_last(x):
            return whole
        return whole.reshape(len(x), 1, 1, -1).transpose(0, 3, 1, 2)
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
