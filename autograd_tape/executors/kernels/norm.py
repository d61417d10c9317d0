"""Layer, batch and group normalization with their vjps.

Each forward returns ``(y, mean, rstd)``; the statistics have the compute precision (float32 for half inputs) and are
what the vjp needs besides the input.  Variances are biased, and exact however large the mean is.  ``needs`` in the vjps says which of the
gradients for ``(x, weight, bias)`` to compute; the others are ``None``.

Sources: Ba et al. (arXiv:1607.06450), Ioffe and Szegedy (arXiv:1502.03167), Wu and He (arXiv:1803.08494).
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ...dims import normalize_dims
from ...dtypes import bfloat16
from ._on_demand import _NEVER, SIZE_FUSED, LazyModule, available, contiguous, state
from .halves import compute_array, recast, widened
from .handy import LITTLE, Handy, Run
from .moments import join, moments, of_rows
from .sharing import BIG, share_rows
from .reduce import RUN, add
from ...warned import ignoring

__all__ = [
    "batch_norm",
    "batch_norm_backward",
    "group_norm",
    "group_norm_backward",
    "layer_norm",
    "layer_norm_backward",
    "layer_norm_of_few",
    "rms_norm",
]

_compiled = LazyModule("norm")
_normalize, _normalize_gradients = Handy("norm", "normalize"), Handy("norm", "normalize_gradients")
_many, _many_gradients = Handy("norm", "normalize_many"), Handy("norm", "normalize_many_gradients")
_columns, _columns_gradients = Handy("norm", "normalize_columns"), Handy("norm", "normalize_columns_gradients")
_layers, _root_mean_square = Handy("norm", "layer_norm"), Handy("norm", "root_mean_square")
#: Blocks, at least, of rows whose parameter gradients are summed apart: fixed, so that the result depends on no thread count.
_BLOCKS = 16
#: Rows shorter than this are not worth a kernel over rows; of channels so short, columns are done, so many at a time.
_SHORT, _TILE = 8, 128

Grads = tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]
Needs = tuple[bool, bool, bool]


def _as(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return x if x.dtype == dtype else recast(x, dtype)


def _flat(parameter: np.ndarray | None, dtype: np.dtype) -> np.ndarray:
    """A weight or bias as a flat array of the compute dtype; empty for ``None``."""
    if parameter is None:
        return _NOTHING[dtype.char]
    if parameter.ndim == 1:
        return parameter.astype(dtype) if parameter.dtype is not dtype else parameter if parameter.flags.carray else parameter.copy()
    return contiguous(parameter.astype(dtype, copy=False)).reshape(-1)


def layer_norm(
    x: np.ndarray, n_dims: int, weight: np.ndarray | None = None, bias: np.ndarray | None = None, eps: float = 1e-5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normalize over the last ``n_dims`` axes; ``weight`` and ``bias`` have the shape of those axes.

    ``mean`` and ``rstd`` have the shape of ``x`` with those axes of size 1.

    >>> y, mean, rstd = layer_norm(np.array([[1.0, 3.0]]), 1, eps=0.0)
    >>> y
    array([[-1.,  1.]])
    """
    if 0 < x.size < state.fused <= SIZE_FUSED:
        return layer_norm_of_few(_own(x), n_dims, weight, bias, eps)
    c = x if x.dtype.char in "fd" and x.dtype.isnative and x.flags.carray else contiguous(compute_array(x))
    dtype, (_, numbers, (_, *kept)) = c.dtype, _rows(c.shape, n_dims, False)
    n, size = numbers[0], numbers[3]
    rows = c if c.ndim == 2 and n_dims == 1 else c.reshape(n, size)
    w, b = _flat(weight, dtype), _flat(bias, dtype)
    y = np.empty(rows.shape, dtype)
    mean, rstd = np.empty(n, dtype), np.empty(n, dtype)
    if c.size >= state.fused:
        _layers.share(dtype.char, n, size, 1, rows, w, b, y, mean, rstd, float(eps))
    elif c.size:
        with ignoring():
            _normalize_small(rows, eps, y, mean, rstd)
            if w.size:
                y *= w
            if b.size:
                y += b
    if rows is not c:
        y = y.reshape(c.shape)
    return y if c is x else _as(y, x.dtype), mean.reshape(kept), rstd.reshape(kept)


def layer_norm_of_few(
    c: np.ndarray, n_dims: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``layer_norm`` of few numbers in order, where the kernel may be at hand."""
    sizes, numbers, kept = _rows(c.shape, n_dims, weight is None and bias is None)
    run = _normalize.at_hand.get(c.dtype.char) or _normalize.of(c.dtype.char, c.size)
    if run is not None:
        return _of_few(run, c, numbers, kept, weight, bias, eps)
    y, mean, rstd, _ = _normalized(c, sizes, weight, bias, eps)
    return y, mean.reshape(kept[1:]), rstd.reshape(kept[1:])


def _of_few(
    run: Run, c: np.ndarray, numbers: tuple[int, ...], kept: tuple[int, ...], weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Few numbers of a writable array in order by the loop for them, and their moments in a shape that is kept."""
    dtype, rows = c.dtype, numbers[0]
    char, y, found = dtype.char, np.empty(c.shape, dtype), np.empty((3, rows))
    w = _NOTHING[char] if weight is None else weight if weight.dtype is dtype and weight.flags.carray else _flat(weight, dtype)
    b = _NOTHING[char] if bias is None else bias if bias.dtype is dtype and bias.flags.carray else _flat(bias, dtype)
    run(rows, 1, c, w, b, y, found, *numbers[1:], eps, False)
    moments = (found if char == "d" else found.astype(_SINGLE)).reshape(kept)
    return y, moments[0], moments[2]


def _of_many(
    x: np.ndarray, groups: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups of many numbers of a writable array in order, as `_normalized` has them, at once."""
    dtype, shape = x.dtype, x.shape
    char, (rows, row, numbers, times, kept) = dtype.char, _spread_groups(shape, groups, weight is None and bias is None)
    y, found = np.empty(shape, dtype), np.empty(kept)
    w = _NOTHING["d"] if weight is None else _flat(weight, _DOUBLE)
    b = _NOTHING["d"] if bias is None else _flat(bias, _DOUBLE)
    if times > 1:
        w, b = w.repeat(times), b.repeat(times)
    run = _many.at_hand.get(char)
    if run is None or x.size >= LITTLE:
        _many.share(char, rows, row, 1, x, w, b, y, found.reshape(3, -1), *numbers, eps, False)
    else:
        run(rows, 1, x, w, b, y, found.reshape(3, -1), *numbers, eps, False)
    if char != "d":
        found = found.astype(_SINGLE)
    return y, found[0], found[2]


Sizes = tuple[int, int, int, int, int]


@lru_cache(512)
def _spread_groups(shape: tuple[int, ...], groups: int, plain: bool) -> tuple[int, int, tuple[int, ...], int, tuple[int, ...]]:
    """Of groups of channels, ``plain`` without parameters: (rows, numbers of each, what the kernel of many takes, how often each parameter
    is repeated, the shape of moments). Channels of few positions become as many of one."""
    (_, rows, k, m, _), _, kept = _groups(shape, groups)
    row, times = k * m, 1
    if plain:
        k, m = 1, row
    if m < _SHORT:
        k, m, times = k * m, 1, m
    return rows, row, (1, rows * row, row, k, m, groups), times, kept


@lru_cache(512)
def _rows(shape: tuple[int, ...], n_dims: int, plain: bool) -> tuple[Sizes, tuple[int, ...], tuple[int, ...]]:
    """What `_normalized` and its loop take of the sizes of rows, without parameters if they are ``plain``, and the shape of moments."""
    kept = shape[: len(shape) - n_dims] + (1,) * n_dims
    n, row = prod(kept), prod(shape[len(shape) - n_dims :])
    sizes = (1, n, 1, row, 1) if plain else (1, n, row, 1, 1)
    return sizes, (n, 1, n * row, row, *sizes[2:]), (3, *kept)


@lru_cache(512)
def _groups(shape: tuple[int, ...], groups: int) -> tuple[Sizes, tuple[int, ...], tuple[int, ...]]:
    """The same of groups of channels."""
    n, channels, *rest = shape
    if groups < 1 or channels % groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(shape)} and num_groups={groups}"
        )
    width, positions = channels // groups, prod(rest)
    rows, row = n * groups, width * positions
    return (1, rows, width, positions, groups), (rows, 1, rows * row, row, width, positions, groups), (3, n, groups)


def _normalize_small(rows: np.ndarray, eps: float, y: np.ndarray, mean: np.ndarray, rstd: np.ndarray) -> None:
    """``y = (rows - mean) * rstd``. Around the first number of each row: equal numbers become 0, and large means cost no digits."""
    np.subtract(rows, rows[:, :1], out=y)
    y.mean(1, out=mean)
    y -= mean[:, None]
    mean += rows[:, 0]
    np.add((y * y).mean(1), rows.dtype.type(eps), out=rstd)
    np.divide(1, np.sqrt(rstd, out=rstd), out=rstd)
    y *= rstd[:, None]


def layer_norm_backward(
    grad: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    n_dims: int,
    needs: Needs = (True, True, True),
) -> Grads:
    """Gradients for ``(x, weight, bias)``; those of the parameters have the shape of the normalized axes."""
    c = contiguous(compute_array(x))
    lead = c.ndim - n_dims
    normalized = c.shape[lead:]
    size = prod(normalized)
    n = prod(c.shape[:lead])
    xs = c.reshape(n, size)
    gs = contiguous(_as(grad, c.dtype)).reshape(n, size)
    m, s, w = _flat(mean, c.dtype), _flat(rstd, c.dtype), _flat(weight, c.dtype)
    dx: np.ndarray | None = None
    dw: np.ndarray | None = None
    db: np.ndarray | None = None
    if c.size >= state.fused:
        char = c.dtype.char
        if needs[0]:
            dx = np.empty(xs.shape, c.dtype)
            share_rows(_compiled.layer_norm_dx, char, n, size, 2, gs, xs, m, s, w, dx)
        if needs[1] or needs[2]:
            per_block = min(-(-n // _BLOCKS), RUN)
            blocks = -(-n // per_block)
            dw_parts, db_parts = np.empty((blocks, size), c.dtype), np.empty((blocks, size), c.dtype)
            sums = _compiled.layer_norm_params
            share_rows(sums, char, blocks, per_block * size, 1, gs, xs, m, s, dw_parts, db_parts, per_block)
            dw, db = add(dw_parts, (0,)), add(db_parts, (0,))
    else:
        with ignoring():
            normal = (xs - m[:, None]) * s[:, None]
            if needs[0]:
                v = gs * w if w.size else gs
                a, b = v.mean(1, keepdims=True), (v * normal).mean(1, keepdims=True)
                dx = s[:, None] * (v - a - normal * b) if size else np.empty(xs.shape, c.dtype)
            if needs[1]:
                dw = add(gs * normal, (0,))
            if needs[2]:
                db = add(gs, (0,))
    parameter_dtype = x.dtype if weight is None else weight.dtype
    return (
        None if dx is None else _as(dx.reshape(c.shape), x.dtype),
        dw.reshape(normalized).astype(parameter_dtype, copy=False) if needs[1] and dw is not None else None,
        db.reshape(normalized).astype(parameter_dtype, copy=False) if needs[2] and db is not None else None,
    )


# Pieces: (O, N, K * M) for O pieces of each of N rows, which are of K channels with M numbers each; row r belongs to group r % G, whose
# channels follow one another in weight and bias. Of few numbers NumPy and a loop make the same bits (see `compiled/norm.py`); many are one
# kernel each way.


def _in_pieces(x: np.ndarray, rows: int, positions: int) -> bool:
    """Whether ``x`` is normalized at once: few numbers, and many where there is machine code, unless many threads would share few rows."""
    if state.fused == _NEVER:
        return 0 < x.size < (SIZE_FUSED if positions < _SHORT else SIZE_FUSED << 2)
    return 0 < x.size < BIG or x.size > 0 and (positions < _SHORT or rows >= _BLOCKS)


def _sums(v: np.ndarray) -> np.ndarray:
    """The sums of each row of (N, O, M), each piece of it in four lanes, as the loop has it; without Numba in NumPy's order."""
    n, o, m = v.shape
    if not available():
        return np.add.reduce(v.reshape(n, -1), 1)
    if m % 4:
        v, given = np.zeros((n, o, m + -m % 4)), v
        v[..., :m] = given
    lanes = np.add.reduce(v.reshape(n, -1, 4), 1)
    return lanes[:, 0] + lanes[:, 1] + (lanes[:, 2] + lanes[:, 3]) + 0.0


def _normalized(
    c: np.ndarray, sizes: tuple[int, int, int, int, int], weight: np.ndarray | None, bias: np.ndarray | None, eps: float,
    moments: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """``c`` normalized, and each row's mean, 1 / standard deviation, and mean and variance in double precision, which may be given."""
    o, n, k, m, groups = sizes
    y, char = np.empty(c.shape, c.dtype), c.dtype.char
    found = np.empty((3, n))
    if moments is not None:
        found[0], found[1] = moments
    run = _normalize.of(char, c.size) if c.size < state.fused else None
    if run is not None:
        w, b = [_NOTHING[char] if p is None else p if p.flags.carray and p.dtype is c.dtype else _flat(p, c.dtype) for p in (weight, bias)]
        run(n, 1, c, w, b, y, found, o, n * k * m, k * m, k, m, groups, eps, moments is not None)
    elif c.size >= state.fused and o > 1 and m < _SHORT:
        w, b = _double_flat(weight, bias)
        _columns.share(char, -(-n // (_TILE // m)), o * _TILE, 1, c, w, b, y, found, o, m, n, eps, moments is not None)
    elif c.size >= state.fused:
        row = k * m
        if weight is None and bias is None:  # of which channels are none the other way
            k, m = 1, row
        k, m, w, b = _spread(k, m, weight, bias)
        _many.share(char, n, o * row, 1, c, w, b, y, found, o, n * row, row, k, m, groups, eps, moments is not None)
    else:
        w, b = _flat(weight, c.dtype), _flat(bias, c.dtype)
        wide = c.reshape(o, n, k * m).transpose(1, 0, 2).astype(np.float64, order="C")
        with ignoring():
            if moments is None:
                count = o * k * m
                first = _sums(wide) / count
                d = wide - first[:, None, None]
                shift = _sums(d) / count
                d *= d
                variance = _sums(d) / count - shift * shift
                found[0], found[1] = first + shift, np.where(variance < 0, 0, variance)
            scale = found[2] = 1 / np.sqrt(found[1] + eps)
            wide -= found[0][:, None, None]
            parts = wide.reshape(n // groups, groups, o, k, m)
            parts *= scale.reshape(-1, groups, 1, 1, 1) * (w.reshape(groups, 1, k, 1).astype(np.float64) if w.size else 1.0)
            parts += b.reshape(groups, 1, k, 1).astype(np.float64) if b.size else 0.0
            y.reshape(o, n, k * m)[...] = (wide if c.itemsize != 2 else wide.astype(np.float32)).transpose(1, 0, 2)
    if char == "d":
        return y, found[0], found[2], found
    single = found.astype(np.float32)
    return y, single[0], single[2], found


def _double_flat(*parameters: np.ndarray | None) -> list[np.ndarray]:
    return [_NOTHING["d"] if p is None else _flat(p, _DOUBLE) for p in parameters]


def _spread(k: int, m: int, *parameters: np.ndarray | None) -> tuple[Any, ...]:
    """(channels, positions, parameters in double precision); channels of few positions become as many of one."""
    flat = _double_flat(*parameters)
    if m >= _SHORT:
        return k, m, *flat
    return k * m, 1, *[p if m == 1 else p.repeat(m) for p in flat]


_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_NOTHING = {char: np.empty(0, dtype) for char, dtype in (("f", np.float32), ("d", np.float64), ("e", np.float16), ("E", bfloat16.np))}


def _own(x: np.ndarray) -> np.ndarray:
    """``x`` in rows, in a dtype that the kernel of few numbers takes."""
    return contiguous(x if x.dtype.char in "fdeE" and x.dtype.isnative else compute_array(x))


def _normalized_backward(
    g: np.ndarray, c: np.ndarray, mean: np.ndarray, rstd: np.ndarray, sizes: tuple[int, int, int, int, int], weight: np.ndarray | None,
    found: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradient of ``c``, and for each row's channels the sums of ``g`` and of ``g * (c - mean)``, in double precision."""
    o, n, k, m, groups = sizes
    dx, char = np.empty(c.shape, c.dtype), c.dtype.char
    if c.size >= state.fused and o > 1 and m < _SHORT:
        totals, dots = np.empty(n), np.empty(n)
        parts = *_double_flat(mean, rstd, weight), dx, totals, dots
        _columns_gradients.share(char, -(-n // (_TILE // m)), o * _TILE, 2, g, c, *parts, o, m, n, found)
        return dx, totals, dots
    if c.size >= state.fused:
        row, (channels, positions, w) = k * m, _spread(k, m, weight)
        totals, dots = np.empty((n, channels)), np.empty((n, channels))
        _many_gradients.share(char, n, o * row, 2, g, c, *_double_flat(mean, rstd), w, dx, totals, dots, o, n * row, row, channels,
                              positions, groups, found)
        return (dx, totals, dots) if channels == k else (dx, totals.reshape(n, k, m).sum(2), dots.reshape(n, k, m).sum(2))
    totals, dots, w = np.empty((n, k)), np.empty((n, k)), _flat(weight, c.dtype)
    means, s = _flat(mean, c.dtype), _flat(rstd, c.dtype)
    run = _normalize_gradients.of(char, c.size)
    if run is not None:
        rows = o, n, k * m
        run(n, 1, g.reshape(rows), c.reshape(rows), means, s, w, dx.reshape(rows), totals, dots, k, m, groups, found)
        return dx, totals, dots

    def wide(x: np.ndarray) -> np.ndarray:
        return x.reshape(o, n, k, m).transpose(1, 2, 0, 3).astype(np.float64, order="C")

    with ignoring():
        gs, xs, s = wide(g), wide(c), s.astype(np.float64)
        xs -= means.reshape(n, 1, 1, 1).astype(np.float64)
        totals[...] = _sums(gs.reshape(n * k, o, m)).reshape(n, k)
        dots[...] = _sums((gs * xs).reshape(n * k, o, m)).reshape(n, k)
        by = np.tile(w.reshape(groups, k).astype(np.float64) if w.size else np.ones((groups, k)), (n // groups, 1))
        dx_rows = dx.reshape(o, n, k, m)
        gs *= (by * s[:, None])[:, :, None, None]
        if found:
            total, dot = [np.add.accumulate(by * v, 1)[:, -1] + 0.0 for v in (totals, dots)]
            count = o * k * m
            xs *= (-(s * s * s * dot) / count).reshape(n, 1, 1, 1)
            gs += xs
            gs += (-(s * total) / count).reshape(n, 1, 1, 1)
        else:
            xs *= 0.0
            gs += xs
            gs += 0.0
        dx_rows[...] = gs.transpose(2, 0, 1, 3)
    return dx, totals, dots


# Few rows of very many numbers are done one step after another, each of which many threads share. A row is one channel of one sample, and
# the statistics of several rows are combined here, on arrays of N * C numbers, in double precision.


def _scale_shift(rows: np.ndarray, centre: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """``(rows - centre) * scale + shift`` with one coefficient each, in double precision, per row of one of the samples that they are."""
    dtype, count = rows.dtype, len(centre)
    rounded = centre.astype(dtype)
    shift = shift - (centre - rounded) * scale  # what the centre loses by rounding
    parts = [v.astype(dtype, copy=False) for v in (rounded, scale, shift)]
    y = np.empty(rows.shape, dtype)
    if rows.size >= state.fused and rows.shape[1] >= _SHORT:
        parts = [contiguous(v) if count == len(rows) else np.tile(v, len(rows) // count) for v in parts]
        share_rows(_compiled.scale_shift, dtype.char, *rows.shape, 1, rows, *parts, y)
    elif count:
        samples = y.reshape(len(rows) // count, count, rows.shape[1])
        rounded, scale, shift = [v[:, None] for v in parts]
        np.subtract(rows.reshape(samples.shape), rounded, samples)
        samples *= scale
        samples += shift
    return y


def _grad_sums(grad: np.ndarray, rows: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Float64 sums of ``grad`` and of ``grad * (rows - centre)`` of each row."""
    centre = np.ascontiguousarray(centre, rows.dtype)
    total, dot = np.empty(rows.shape[0]), np.empty(rows.shape[0])
    if rows.size >= state.fused and rows.shape[1] >= _SHORT:
        share_rows(_compiled.grad_sums, rows.dtype.char, *rows.shape, 1, grad, rows, centre, total, dot)
    else:
        grad.sum(1, dtype=np.float64, out=total)
        (grad * (rows - centre[:, None])).sum(1, dtype=np.float64, out=dot)
    return total, dot


def _grad_affine(
    grad: np.ndarray, rows: np.ndarray, centre: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray
) -> np.ndarray:
    """``a * grad + b * (rows - centre) + c`` with one coefficient each per row."""
    dtype = rows.dtype
    centre, a, b, c = (np.ascontiguousarray(v, dtype) for v in (centre, a, b, c))
    dx = np.empty(rows.shape, dtype)
    if rows.size >= state.fused and rows.shape[1] >= _SHORT:
        share_rows(_compiled.grad_affine, dtype.char, *rows.shape, 1, grad, rows, centre, a, b, c, dx)
    else:
        np.subtract(rows, centre[:, None], out=dx)
        dx *= b[:, None]
        dx += a[:, None] * grad
        dx += c[:, None]
    return dx


def _double(parameter: np.ndarray | None, n: int, default: float) -> np.ndarray:
    return np.full(n, default) if parameter is None else parameter.astype(np.float64).reshape(-1)


def _channels(x: np.ndarray) -> tuple[np.ndarray, int, int]:
    """``x`` of shape (N, C, ...) as rows (N * C, ...), with N and C."""
    n, channels = x.shape[0], x.shape[1]
    return x.reshape(n * channels, prod(x.shape[2:])), n, channels


def _move(
    running_mean: np.ndarray | None, running_var: np.ndarray | None, mean: np.ndarray, variance: np.ndarray, momentum: float, count: int
) -> None:
    """Moves running statistics towards those of a batch of ``count`` numbers."""
    if running_mean is not None:
        running_mean[...] = momentum * mean + (1 - momentum) * running_mean
    if running_var is not None:
        running_var[...] = momentum * (count / max(count - 1, 1)) * variance + (1 - momentum) * running_var


def batch_norm(
    x: np.ndarray,
    weight: np.ndarray | None,
    bias: np.ndarray | None,
    running_mean: np.ndarray | None,
    running_var: np.ndarray | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normalize each channel of ``x`` (N, C, ...) over the other axes; ``mean`` and ``rstd`` have shape (C,).

    In training the statistics are the batch's, and the running ones (if given) move in place by ``momentum`` towards
    them (the variance towards the unbiased one); else they are the running ones.

    >>> y, mean, rstd = batch_norm(np.array([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0)
    >>> y.ravel(), mean
    (array([-1.,  1.]), array([2.]))
    """
    at_once = _in_pieces(x, x.shape[1], prod(x.shape[2:]))
    c = _own(x) if at_once else contiguous(compute_array(x))
    rows, n, channels = _channels(c)
    count = n * rows.shape[1]
    if not training and (running_mean is None or running_var is None):
        raise ValueError("Expected running_mean and running_var to be defined when training=False")
    if at_once:
        given = None if training or running_mean is None or running_var is None else (running_mean, running_var)
        y, mean, rstd, moments_ = _normalized(c, (n, channels, 1, rows.shape[1], channels), weight, bias, eps, given)
        if training:
            _move(running_mean, running_var, moments_[0], moments_[1], momentum, count)
        return y if y.dtype is x.dtype else y.astype(x.dtype, copy=False), mean, rstd
    with ignoring():
        if training:
            if n and rows.shape[1] >= _SHORT:
                means, variances = (v.reshape(1, n, channels) for v in moments(rows, (1,)))
                mean, var = (v[0] for v in join(means, variances, np.ones((n, 1))))
            else:  # few positions: whole columns at a time
                mean, var = (v.reshape(-1) for v in moments(c.reshape(n, channels, rows.shape[1]), (0, 2)))
            _move(running_mean, running_var, mean, var, momentum, count)
        else:
            assert running_mean is not None
            assert running_var is not None
            mean, var = running_mean.astype(np.float64), running_var.astype(np.float64)
        rstd = 1 / np.sqrt(var + eps)
        scale = rstd * _double(weight, channels, 1.0)
        shift = _double(bias, channels, 0.0)
        y = _scale_shift(rows, mean, scale, shift)
    return (
        _as(y.reshape(c.shape), x.dtype),
        mean.astype(c.dtype),
        rstd.astype(c.dtype),
    )


def batch_norm_backward(
    grad: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    training: bool,
    needs: Needs = (True, True, True),
) -> Grads:
    """Gradients for ``(x, weight, bias)``, from the statistics that the forward pass returned."""
    at_once = _in_pieces(x, x.shape[1], prod(x.shape[2:]))
    c = _own(x) if at_once and x.size >= state.fused else contiguous(compute_array(x))
    rows, n, channels = _channels(c)
    gs = contiguous(_as(grad, c.dtype)).reshape(rows.shape)
    if at_once:
        sizes = n, channels, 1, rows.shape[1], channels
        given, totals, dots = _normalized_backward(gs, c, mean, rstd, sizes, weight, training)
        return _found(given, dots.reshape(-1) * rstd, totals.reshape(-1), x, weight, needs)
    count = n * rows.shape[1]
    s, w = rstd.astype(np.float64), _double(weight, channels, 1.0)
    dx: np.ndarray | None = None
    with ignoring():
        centre = np.tile(mean, n)
        total, dot = (v.reshape(n, channels).sum(0) for v in _grad_sums(gs, rows, centre))
        if needs[0]:
            a = w * s
            if training:
                b, shift = -a * s * s * dot / count, -a * total / count
            else:
                b = shift = np.zeros(channels)
            dx = _grad_affine(gs, rows, centre, np.tile(a, n), np.tile(b, n), np.tile(shift, n))
            dx = _as(dx.reshape(c.shape), x.dtype)
    parameter_dtype = x.dtype if weight is None else weight.dtype
    return (
        dx,
        (dot * s).astype(parameter_dtype) if needs[1] else None,
        total.astype(parameter_dtype) if needs[2] else None,
    )


def group_norm(
    x: np.ndarray,
    groups: int,
    weight: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    eps: float = 1e-5,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normalize each of the ``groups`` groups of channels of ``x`` (N, C, ...); ``mean``, ``rstd`` are (N, groups).

    >>> y, mean, rstd = group_norm(np.array([[1.0, 3.0]]), 1, eps=0.0)
    >>> y
    array([[-1.,  1.]])
    """
    size, char = x.size, x.dtype.char
    if 0 < size < BIG and char in "fdeE" and x.flags.carray:
        if size >= state.fused:
            return _of_many(x, groups, weight, bias, eps)
        if (run := _normalize.of(char, size)) is not None:
            return _of_few(run, x, *_groups(x.shape, groups)[1:], weight, bias, eps)
    sizes, _, kept = _groups(x.shape, groups)
    shape = kept[1:]
    n, channels, width = shape[0], x.shape[1], sizes[2]
    if _in_pieces(x, sizes[1], sizes[3]):
        y, mean, rstd, _ = _normalized(_own(x), sizes, weight, bias, eps)
        return y if y.dtype is x.dtype else y.astype(x.dtype, copy=False), mean.reshape(shape), rstd.reshape(shape)
    c = contiguous(compute_array(x))
    rows = _channels(c)[0]
    with ignoring():
        mean, var = of_rows(rows.reshape(n * groups, width * rows.shape[1]))
        rstd = 1 / np.sqrt(var + eps)
        scale, shift = rstd.repeat(width), _double(bias, channels, 0.0)
        if weight is not None:
            scale *= np.tile(_double(weight, channels, 1.0), n) if n != 1 else _double(weight, channels, 1.0)
        y = _scale_shift(rows, mean.repeat(width), scale, np.tile(shift, n) if n != 1 else shift)
    return (
        _as(y.reshape(c.shape), x.dtype),
        mean.astype(c.dtype).reshape(shape),
        rstd.astype(c.dtype).reshape(shape),
    )


def group_norm_backward(
    grad: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    groups: int,
    weight: np.ndarray | None,
    needs: Needs = (True, True, True),
) -> Grads:
    """Gradients for ``(x, weight, bias)``, from the statistics that the forward pass returned."""
    at_once = _in_pieces(x, x.shape[0] * groups, prod(x.shape[2:]))
    c = _own(x) if at_once and x.size >= state.fused else contiguous(compute_array(x))
    rows, n, channels = _channels(c)
    gs = contiguous(_as(grad, c.dtype)).reshape(rows.shape)
    width = channels // groups
    if at_once:
        sizes = 1, n * groups, width, rows.shape[1], groups
        given, totals, dots = _normalized_backward(gs, c, mean, rstd, sizes, weight, True)
        dots *= rstd.reshape(-1, 1)
        db, dw = [add(v.reshape(n, channels), (0,)) if n > 1 else v.reshape(-1) for v in (totals, dots)]
        return _found(given, dw, db, x, weight, needs)
    count = width * rows.shape[1]
    s = rstd.astype(np.float64).reshape(n, groups, 1)
    w = _double(weight, channels, 1.0).reshape(1, groups, width)
    dx: np.ndarray | None = None
    with ignoring():
        centre = np.repeat(mean.reshape(-1), width)
        total, dot = (v.reshape(n, groups, width) for v in _grad_sums(gs, rows, centre))
        if needs[0]:
            a = w * s
            b = -(s**3) * (w * dot).sum(2, keepdims=True) / count
            shift = -s * (w * total).sum(2, keepdims=True) / count
            full = (n, groups, width)
            coefficients = (np.broadcast_to(v, full).reshape(-1) for v in (a, b, shift))
            dx = _as(_grad_affine(gs, rows, centre, *coefficients).reshape(c.shape), x.dtype)
    parameter_dtype = x.dtype if weight is None else weight.dtype
    return (
        dx,
        (dot * s).sum(0).reshape(channels).astype(parameter_dtype) if needs[1] else None,
        total.sum(0).reshape(channels).astype(parameter_dtype) if needs[2] else None,
    )


def length_gradients(grad: np.ndarray, x: np.ndarray, lengths: np.ndarray, dim: Any) -> np.ndarray | None:
    """``x / lengths * grad`` for lengths along ``dim``, half precision rounded at both steps, and nothing where one is 0; None where it is
    NumPy's."""
    char, n = x.dtype.char, x.size
    if not n or char not in "fdeE" or not x.dtype.isnative or grad.dtype is not x.dtype or lengths.dtype is not x.dtype:
        return None
    if not x.flags.carray:
        turned = x.T  # columns are rows of the transposed
        if x.ndim != 2 or not turned.flags.carray:
            return None
        axes = normalize_dims(dim, x.ndim)
        found = length_gradients(grad.T, turned, lengths.T, None if axes is None else tuple([x.ndim - 1 - a for a in axes]))
        return None if found is None else found.T
    sizes = _around(x.shape, dim if dim is None or dim.__class__ is int else tuple(dim))
    if sizes is None or n < (state.fused >> 4 if x.itemsize == 2 else state.fused) and _length_gradients.of(char, n) is None:
        return None
    dx = np.empty(x.shape, x.dtype)
    _length_gradients.share(char, sizes[0], sizes[1] * sizes[2], 1, x, *map(np.ascontiguousarray, (lengths, grad)), dx, *sizes)
    return dx


_length_gradients = Handy("norm", "length_gradients")


@lru_cache(1024)
def _around(shape: tuple[int, ...], dim: Any) -> tuple[int, int, int] | None:
    """How many elements are before dimensions that lie side by side, in them, and behind them; None of others."""
    axes = normalize_dims(dim, len(shape))
    if axes is None:
        return 1, prod(shape), 1
    first, last = min(axes), max(axes)
    return (prod(shape[:first]), prod(shape[first : last + 1]), prod(shape[last + 1 :])) if last - first == len(axes) - 1 else None


def rms_norm(x: np.ndarray, size: int, weight: np.ndarray | None, eps: float) -> np.ndarray:
    """``x / sqrt(mean(x**2) + eps) * weight`` over the last axes, of ``size`` numbers; half precision is rounded once.

    >>> rms_norm(np.array([[3.0, 4.0]]), 2, None, 0.0).round(3)
    array([[0.849, 1.131]])
    """
    c, n, half = _own(x), x.size // size, x.itemsize == 2
    if c.size >= (state.fused >> 4 if half else state.fused):
        y = np.empty(c.shape, c.dtype)
        _root_mean_square.share(c.dtype.char, n, size, 1, c, *_double_flat(weight), y, n, size, eps)
        return y
    wide = widened(c).reshape(n, size) if half else c.reshape(n, size)
    with ignoring():
        scale = np.add.reduce(wide * wide, 1, None, None, True) / wide.dtype.type(size) + wide.dtype.type(eps)
        y = wide * np.reciprocal(np.sqrt(scale))
        if weight is not None:
            y *= (widened(weight) if half else weight).reshape(size)
    return _as(y.reshape(c.shape), x.dtype)


def _found(dx: np.ndarray, dw: np.ndarray, db: np.ndarray, x: np.ndarray, weight: np.ndarray | None, needs: Needs) -> Grads:
    """The gradients that are needed, in the dtypes of the input and of its parameters."""
    dtype = x.dtype if weight is None else weight.dtype
    return (
        _as(dx.reshape(x.shape), x.dtype) if needs[0] else None,
        dw.astype(dtype) if needs[1] else None,
        db.astype(dtype) if needs[2] else None,
    )
