"""Softmax, log-softmax and cross entropy with their vjps.

Rows with a NaN, with +inf, or with nothing but -inf become NaN, as in torch.  Any axis and any input strides; results
are in C order.  Half precision computes in float32.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from . import loops
from ._on_demand import LazyModule, contiguous, state
from .halves import compute_array
from .handy import Handy
from .sharing import share_rows
from ...warned import ignoring

__all__ = [
    "backward",
    "cross_entropy",
    "cross_entropy_backward",
    "forward",
    "log_softmax",
    "log_softmax_backward",
    "softmax",
    "softmax_backward",
]

_compiled = LazyModule("softmax")
_TILE = 128  # columns of a tile in the compiled middle-axis kernels
_softmax, _softmax_backward = Handy("softmax", "softmax"), Handy("softmax", "softmax_backward")
_log_softmax, _log_softmax_backward = Handy("softmax", "log_softmax"), Handy("softmax", "log_softmax_backward")
_middle, _middle_backward, _rounded, _rounded_backward, _middle_rounded = (
    Handy("softmax", f"softmax_{name}") for name in ("middle", "middle_backward", "rounded", "rounded_backward", "middle_rounded"))


def _split(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """(outer, classes, inner) sizes around ``axis``."""
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


def _axis(x: np.ndarray, axis: int) -> int:
    ndim = x.ndim or 1
    if not -ndim <= axis < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {axis})")
    return axis % ndim


def forward(x: np.ndarray, axis: int, log: bool | int) -> np.ndarray:
    """The softmax, or its logarithm, of floats in single, double or half precision (some, of one dimension or more) by kernels."""
    if not x.flags.carray:
        x = contiguous(x)
    shape, dtype, size = x.shape, x.dtype, x.size
    y, char = np.empty(shape, dtype), dtype.char
    last = axis == -1 or axis == len(shape) - 1
    outer, classes, inner = (size // shape[-1], shape[-1], 1) if last else _split(shape, _axis(x, axis))
    if char == "f" or char == "d":
        if inner == 1:
            (_log_softmax if log else _softmax).share(char, outer, classes, 2, x, y, classes)
        else:
            _middle.share(char, outer * -(-inner // _TILE), classes * min(inner, _TILE), 2, x, y, classes, inner, log)
    elif last:
        _rounded.share(char, outer, classes, 4, x, y, classes, log)
    else:  # which is rounded otherwise, even where only axes of one element follow
        _middle_rounded.share(char, outer * -(-inner // _TILE), classes * min(inner, _TILE), 4, x, y, classes, inner, log)
    return y


def backward(grad: np.ndarray, y: np.ndarray, axis: int, log: bool | int) -> np.ndarray:
    """The gradient from results ``y``, computed in single or double precision and rounded once; both are of one dtype and shape."""
    if not y.flags.carray:
        y = contiguous(y)
    if not grad.flags.carray:
        grad = contiguous(grad)
    shape, dtype, size = y.shape, y.dtype, y.size
    dx, char = np.empty(shape, dtype), dtype.char
    if axis == -1 or axis == len(shape) - 1:
        outer, classes, inner = size // shape[-1], shape[-1], 1
    else:
        outer, classes, inner = _split(shape, _axis(y, axis))
    if inner > 1:
        _middle_backward.share(char, outer * -(-inner // _TILE), classes * min(inner, _TILE), 2, grad, y, dx, classes, inner, log)
    elif char == "f" or char == "d":
        (_log_softmax_backward if log else _softmax_backward).share(char, outer, classes, 2, grad, y, dx, classes)
    else:
        _rounded_backward.share(char, outer, classes, 4, grad, y, dx, classes, log)
    return dx


def _forward(x: np.ndarray, axis: int, log: bool) -> np.ndarray:
    axis = _axis(x, axis)
    c = compute_array(x)
    if c.ndim == 0:
        return _forward(c.reshape(1), 0, log).reshape(()).astype(x.dtype, copy=False)
    if c.size >= state.fused:
        return forward(c, axis, log).astype(x.dtype, copy=False)
    with ignoring():
        shifted = c - c.max(axis, keepdims=True) if c.size else c.copy()
        if log:
            shifted -= np.log(np.exp(shifted).sum(axis, keepdims=True))
        else:
            np.exp(shifted, out=shifted)
            shifted /= shifted.sum(axis, keepdims=True)
    return shifted.astype(x.dtype, copy=False)


def _backward(grad: np.ndarray, y: np.ndarray, axis: int, log: bool) -> np.ndarray:
    axis = _axis(y, axis)
    c = compute_array(y)
    g = grad.astype(c.dtype, copy=False)
    if c.ndim == 0:
        return _backward(g.reshape(1), c.reshape(1), 0, log).reshape(()).astype(y.dtype, copy=False)
    if c.size >= state.fused:
        return backward(g, c, axis, log).astype(y.dtype, copy=False)
    with ignoring():
        if log:
            dx = g - np.exp(c) * g.sum(axis, keepdims=True)
        else:
            dx = c * (g - (g * c).sum(axis, keepdims=True))
    return np.ascontiguousarray(dx.astype(y.dtype, copy=False))


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    """``exp(x) / sum(exp(x))`` along ``axis``, computed after subtracting the maximum.

    >>> softmax(np.array([[0.0, 0.0], [0.0, -np.inf]]), 1)
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    return _forward(x, axis, False)


def softmax_backward(grad: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    """``y * (grad - sum(grad * y))`` along ``axis`` for ``y = softmax(x)``."""
    return _backward(grad, y, axis, False)


def log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    """``x - log(sum(exp(x)))`` along ``axis``, computed after subtracting the maximum.

    >>> log_softmax(np.array([0.0, 0.0]), 0)
    array([-0.69314718, -0.69314718])
    """
    return _forward(x, axis, True)


def log_softmax_backward(grad: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    """``grad - exp(y) * sum(grad)`` along ``axis`` for ``y = log_softmax(x)``."""
    return _backward(grad, y, axis, True)


def _table(x: np.ndarray) -> np.ndarray:
    """Logits (N, C, d1, ...) as a C-contiguous (N, C, d1 * ...); (C,) as one sample."""
    c = contiguous(x)
    if c.ndim == 1:
        return c.reshape(1, -1, 1)
    return c.reshape(c.shape[0], c.shape[1], prod(c.shape[2:]))


def _rows(table: np.ndarray) -> np.ndarray:
    """(N, C, inner) as rows (N * inner, C)."""
    return np.ascontiguousarray(table.swapaxes(1, 2)).reshape(table.shape[0] * table.shape[2], table.shape[1])


_SHORT = 512  # numbers of which a sum is a product with ones
_ONES = {char: np.ones(_SHORT, char) for char in "fd"}
_forward_few, _backward_few = loops.Loop(loops.cross_entropy, 3, 4, 5, 6), loops.Loop(loops.cross_entropy_backward, 6)


def _geometry(logits: np.ndarray) -> tuple[int, int]:
    """How many classes there are, and how many elements follow each."""
    shape = logits.shape
    return (shape[0], 1) if len(shape) == 1 else (shape[1], prod(shape[2:]))


def sum_of(x: np.ndarray) -> Any:
    """The sum of a row, of a few numbers by a product with ones, which takes a third of the time."""
    return x.dot(_ONES[x.dtype.char][: x.size]) if x.size <= _SHORT else np.add.reduce(x)


def reduced(
    losses: np.ndarray, counts: np.ndarray, shape: tuple[int, ...], reduction: str
) -> tuple[np.ndarray, np.ndarray]:
    """(loss, what the sum is divided by) of flat losses and what they count; nothing that counts makes NaN."""
    dtype = losses.dtype
    if reduction == "none":
        return losses.reshape(shape), np.ones((), dtype)
    total = np.asarray(sum_of(losses), dtype)
    if reduction == "sum":
        return total, np.ones((), dtype)
    if reduction != "mean":
        raise ValueError(f"{reduction} is not a valid value for reduction")
    count = np.asarray(sum_of(counts), dtype)
    return np.asarray(np.divide(total, count), dtype), count


def _few(
    logits: np.ndarray, target: np.ndarray, weight: np.ndarray | None, ignore_index: int, reduction: str, label_smoothing: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    dtype, (classes, inner) = logits.dtype, _geometry(logits)
    index = np.ascontiguousarray(target, np.int64).reshape(-1)
    losses, counts, top, log_total = np.empty((4, index.size), dtype)
    factors = np.empty(0, dtype) if weight is None else np.ascontiguousarray(weight, dtype)
    x = contiguous(logits).reshape(-1)
    arguments = x, index, factors, losses, counts, top, log_total, classes, inner, ignore_index, label_smoothing
    try:
        _forward_few(dtype.char, index.size, logits.size, *arguments)
    except IndexError:
        _check_target(index, classes, ignore_index)
        raise
    loss, denominator = reduced(losses, counts, target.shape, reduction)
    return loss, top, log_total, denominator


def _few_backward(
    grad: np.ndarray, logits: np.ndarray, target: np.ndarray, top: np.ndarray, log_total: np.ndarray, denominator: np.ndarray,
    weight: np.ndarray | None, ignore_index: int, label_smoothing: float,
) -> np.ndarray:
    dtype, (classes, inner) = logits.dtype, _geometry(logits)
    index = np.ascontiguousarray(target, np.int64).reshape(-1)
    factors = np.empty(0, dtype) if weight is None else np.ascontiguousarray(weight, dtype)
    g = contiguous(np.asarray(np.divide(grad, denominator), dtype)).reshape(-1)
    out, total = np.empty(logits.shape, dtype), float(classes if weight is None else factors.sum())
    arguments = (g, contiguous(logits).reshape(-1), index, factors, top, log_total, out.reshape(-1), classes, inner, ignore_index,
                 label_smoothing, total)
    try:
        _backward_few(dtype.char, index.size, logits.size, *arguments)
    except IndexError:  # the target has changed since the loss was computed
        _check_target(index, classes, ignore_index)
        raise
    return out


def cross_entropy(
    logits: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cross entropy of ``logits`` (C,), (N, C) or (N, C, d1, ...) with class indices ``target`` (), (N,) or (N, d1,
    ...).

    Returns ``(loss, top, log_total, denominator)``: the loss (0-d, or of the target's shape for ``"none"``), and three
    arrays that ``cross_entropy_backward`` takes (per row the maximum and the log of the shifted sum of exponentials,
    and 0-d what the mean divided by).  Raises ``IndexError`` for a class index outside ``[0, C)`` other than
    ``ignore_index``.

    >>> loss, *saved = cross_entropy(np.zeros((2, 4)), np.array([1, 3]))
    >>> float(loss)
    1.3862943611198906
    """
    if 0 < logits.size <= state.short and logits.dtype.char in "fd":
        return _few(logits, target, weight, ignore_index, reduction, label_smoothing)
    c = compute_array(logits)
    table = _table(c)
    outer, classes, inner = table.shape
    n = outer * inner
    index = np.ascontiguousarray(target, np.int64).reshape(-1)
    w = None if weight is None else np.ascontiguousarray(weight, c.dtype)
    loss, top, log_total = (np.empty(n, c.dtype) for _ in range(3))
    if table.size >= state.fused:
        w1 = np.empty(0, c.dtype) if w is None else w
        options = int(ignore_index), float(label_smoothing)
        if inner == 1:
            rows = table.reshape(n, classes)
            args: tuple[Any, ...] = (rows, index, w1, loss, top, log_total, *options)
            _share_targets(_compiled.cross_entropy, index, n, classes, ignore_index, *args)
        else:
            kernel = _compiled.cross_entropy_middle
            parts = (v.reshape(outer, inner) for v in (loss, top, log_total))
            args = (table, index.reshape(outer, inner), w1, *parts, *options)
            width = min(inner, _TILE)
            _share_targets(kernel, index, outer * -(-inner // _TILE), classes * width, ignore_index, *args)
    else:
        _check_target(index, classes, ignore_index)
        _cross_entropy_rows(_rows(table), index, w, loss, top, log_total, ignore_index, label_smoothing)
    kept = index != ignore_index
    if reduction == "none":
        value = loss.reshape(target.shape)
        denominator = np.ones((), c.dtype)
    elif reduction == "sum":
        value = np.add.reduce(loss)
        denominator = np.ones((), c.dtype)
    elif reduction == "mean":
        count: Any = np.count_nonzero(kept) if w is None else w[index[kept]].sum()
        denominator = np.asarray(count, c.dtype)
        with ignoring():
            value = np.add.reduce(loss) / denominator  # nothing kept: 0 / 0 is NaN, as in torch
    else:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return np.asarray(value, logits.dtype), top, log_total, denominator


def cross_entropy_backward(
    grad: np.ndarray,
    logits: np.ndarray,
    target: np.ndarray,
    top: np.ndarray,
    log_total: np.ndarray,
    denominator: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> np.ndarray:
    """The gradient for ``logits`` from that for the loss (0-d, or of the target's shape for reduction ``"none"``)."""
    if 0 < logits.size <= state.short and logits.dtype.char in "fd":
        return _few_backward(grad, logits, target, top, log_total, denominator, weight, ignore_index, label_smoothing)
    c = compute_array(logits)
    table = _table(c)
    outer, classes, inner = table.shape
    n = outer * inner
    index = np.ascontiguousarray(target, np.int64).reshape(-1)
    w = None if weight is None else np.ascontiguousarray(weight, c.dtype)
    with ignoring():
        g = np.empty(n, c.dtype)
        g[:] = (grad.astype(c.dtype, copy=False) / denominator).reshape(-1)
    dx = np.empty(table.shape, c.dtype)
    weight_sum = float(classes if w is None else w.sum())
    if table.size >= state.fused:
        w1 = np.empty(0, c.dtype) if w is None else w
        options = int(ignore_index), float(label_smoothing), weight_sum
        if inner == 1:
            rows, out = table.reshape(n, classes), dx.reshape(n, classes)
            args: tuple[Any, ...] = (rows, index, w1, g, top, log_total, out, *options)
            _share_targets(_compiled.cross_entropy_backward, index, n, classes, ignore_index, *args)
        else:
            kernel = _compiled.cross_entropy_middle_backward
            parts = (v.reshape(outer, inner) for v in (index, g, top, log_total))
            where, *parts3 = parts
            args = (table, where, w1, *parts3, dx, *options)
            width = min(inner, _TILE)
            _share_targets(kernel, index, outer * -(-inner // _TILE), classes * width, ignore_index, *args)
    elif table.size:
        _check_target(index, classes, ignore_index)
        rows = _rows(table)
        flat = np.empty_like(rows)
        _cross_entropy_rows_backward(rows, index, w, g, top, log_total, flat, ignore_index, label_smoothing, weight_sum)
        dx[...] = flat.reshape(outer, inner, classes).swapaxes(1, 2)
    return dx.reshape(logits.shape).astype(logits.dtype, copy=False)


def _share_targets(kernel: Any, index: np.ndarray, items: int, cols: int, ignore_index: int, table: np.ndarray, *args: Any) -> None:
    """``share_rows`` for a kernel that checks the targets ``index`` of ``table`` itself."""
    try:
        share_rows(kernel, table.dtype.char, items, cols, 2, table, *args)
    except IndexError:
        _check_target(index, table.shape[1], ignore_index)
        raise


def _check_target(index: np.ndarray, classes: int, ignore_index: int) -> None:
    if index.size and (index.min() < 0 or index.max() >= classes):
        bad = index[((index < 0) | (index >= classes)) & (index != ignore_index)]
        if bad.size:
            raise IndexError(f"Target {bad[0]} is out of bounds.")


def _cross_entropy_rows(
    rows: np.ndarray,
    index: np.ndarray,
    w: np.ndarray | None,
    loss: np.ndarray,
    top: np.ndarray,
    log_total: np.ndarray,
    ignore: int,
    smoothing: float,
) -> None:
    """The NumPy composition of the compiled kernel of the same purpose; fills ``loss``, ``top`` and ``log_total``."""
    if not rows.size:
        top[:] = log_total[:] = loss[:] = np.nan  # no class at all
        return
    T = rows.dtype.type
    kept = index != ignore
    safe = np.where(kept, index, 0)
    with ignoring():
        rows.max(1, out=top)
        shifted = rows - top[:, None]
        np.log(np.exp(shifted).sum(1), out=log_total)
        nll = -(np.take_along_axis(shifted, safe[:, None], 1)[:, 0] - log_total)
        if w is not None:
            nll *= w[safe]
        if smoothing > 0:
            spread = log_total[:, None] - shifted
            spread = spread.sum(1) if w is None else (spread * w).sum(1)
            nll = T(1 - smoothing) * nll + T(smoothing / rows.shape[1]) * spread
    loss[:] = np.where(kept, nll, T(0))


def _cross_entropy_rows_backward(
    rows: np.ndarray,
    index: np.ndarray,
    w: np.ndarray | None,
    g: np.ndarray,
    top: np.ndarray,
    log_total: np.ndarray,
    dx: np.ndarray,
    ignore: int,
    smoothing: float,
    weight_sum: float,
) -> None:
    T = rows.dtype.type
    kept = np.nonzero(index != ignore)[0]
    dx[:] = 0
    t, g = index[kept], g[kept]
    with ignoring():
        hit = np.full(t.shape, T(1 - smoothing)) if w is None else T(1 - smoothing) * w[t]
        rest = T(smoothing / max(1, rows.shape[1]))
        p = np.exp((rows[kept] - top[kept, None]) - log_total[kept, None])
        p *= (g * (hit + rest * T(weight_sum)))[:, None]
        if smoothing > 0:
            p -= (g * rest)[:, None] * (T(1) if w is None else w)
        p[np.arange(t.size), t] -= g * hit
    dx[kept] = p
