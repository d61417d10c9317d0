"""Sums of weighted elements at places that differ from sample to sample, with their vjp: what `grid_sample` is made of.

``x`` (N, C, S), places ``index`` (K, N, L) within S, -1 for none, and ``weight`` (K, N, L): the result is (N, C, L), with
K elements added up in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from ._on_demand import LazyModule, contiguous, state
from .halves import bits
from .handy import Handy
from .sharing import share, share_rows

__all__ = ["Plan", "gradients", "plan_of", "read", "resampled", "sampled", "serves", "weighted_sums", "weighted_sums_backward"]

Sizes = tuple[int, ...]
_compiled = LazyModule("sampling")
_grid_sampled, _grid_gradients = Handy("sampling", "grid_sampled"), Handy("sampling", "grid_gradients")
_resampled = Handy("sampling", "resampled")
#: Taps of a block of places, which stay in the cache; of more than one block, machine code adds up gradients, never NumPy.
_TAPS = 1024
#: In how many numbers' time NumPy takes all the steps from a grid to sums, of few places.
_STEPS = 1 << 16
#: Elements that NumPy gathers at once.
_PART = 1 << 16
#: Work that nobody shares.
_LITTLE = 32768
_OUTSIDE = "weighted_sums: an index is outside of {} elements"


class Plan(NamedTuple):
    """How images of a shape and strides are read at the places of a grid: how much is seen, the result's shape, whether images lie in
    rows, or closely in memory at all, shapes of the grid and of the result for the kernel, how its work is shared, what it takes beside
    arrays, and whether there is little to do."""

    sees: int
    shape: Sizes
    in_rows: bool
    lies: bool
    given: Sizes
    made: Sizes
    work: tuple[int, int, int]
    arguments: tuple[int, ...]
    little: bool


def sampled(x: np.ndarray, grid: np.ndarray, taps: int, padding: int, align: bool) -> np.ndarray | None:
    """Images (N, C, ...) at the places of a grid (N, ..., 2 or 3) of their dtype, each of which reads ``taps`` elements along each
    dimension: 1, 2 or 4. ``padding`` is that of zeros, borders or reflection. None where there is no compiled code at hand, which half
    precision has, too."""
    return read(x, grid, plan_of(x.shape, x.strides, x.itemsize, grid.shape, taps, padding, align))


def read(x: np.ndarray, grid: np.ndarray, plan: Plan | None) -> np.ndarray | None:
    """The same by a plan; None where there is none."""
    if plan is None:
        return None
    sees, shape, in_rows, lies, given, made, work, arguments, little = plan
    char, seen = x.dtype.char, grid.flags
    if char not in "fdEe" or not (seen.aligned and x.flags.aligned):
        return None
    run = _grid_sampled.of(char, _STEPS + sees) if (sees if char in "fd" else 32 * sees) < state.fused else _grid_sampled.surely(char)
    if run is None:
        return None
    y = np.empty(shape, x.dtype)
    arrays = ((grid if seen.c_contiguous else contiguous(grid)).reshape(given), x if in_rows else x.ravel("K") if lies else contiguous(x),
              y.reshape(made))
    if little:
        run(work[0], 1, *arrays, *arguments)
    else:
        _grid_sampled.share(char, *work, *arrays, *arguments)
    return y


@lru_cache(512)
def plan_of(shape: Sizes, strides: Sizes, item: int, grid: Sizes, taps: int, padding: int, align: bool) -> Plan | None:
    """How `sampled` reads; None where there is nothing to see."""
    n, channels, *spatial = shape
    s, length = grid[-1], prod(grid[1:-1])
    sees = n * length * taps**s * (channels + 8)
    if not sees or 0 in shape:
        return None
    block = min(length, _TAPS // taps**s)
    blocks = -(-length // block)
    apart = [(m - 1) * t for m, t in zip(shape, strides)]
    lies = min(strides) >= 0 and sum(apart) + item == prod(shape) * item and not any([t % item for t in strides])
    rows = [prod(shape[d + 1 :]) for d in range(s + 2)]
    steps = [t // item for t in strides] if lies else rows
    deep, work = s == 3, (n * blocks, block * taps**s, channels + 8)
    sizes = spatial[0] if deep else 1, *spatial[-2:]
    arguments = (*sizes, taps, padding, align, *steps[:2], steps[2] if deep else 0, *steps[-2:], block, blocks)
    return Plan(sees, (n, channels, *grid[1:-1]), lies and steps == rows, lies, (n, length, s), (n, channels, length), work, arguments,
                prod(work) < _LITTLE)


def resampled(x: np.ndarray, axis: int, index: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
    """Along ``axis``, element i is the sum over t of ``weight[i, t] * x[index[i, t]]``, added up in order; None where there is no compiled
    code at hand. ``x`` is C-contiguous, ``weight`` of its dtype.

    >>> from autograd_tape.executors.kernels._on_demand import use_numba
    >>> previous = use_numba("numpy")
    >>> resampled(np.ones((1, 2)), 1, np.array([[0, 1]]), np.ones((1, 2))) is None
    True
    >>> _ = use_numba(previous)
    """
    shape, char, work = x.shape, x.dtype.char, index.size
    outer, inner = prod(shape[:axis]), prod(shape[axis + 1 :])
    sees = outer * inner * work
    if char not in "fd" or sees < state.fused and _resampled.of(char, sees) is None:
        return None
    y = np.empty((*shape[:axis], len(index), *shape[axis + 1 :]), x.dtype)
    _resampled.share(char, outer, inner * work, 1, x, y, index, weight, outer, shape[axis], inner)
    return y


def serves(x: np.ndarray, grid: np.ndarray, taps: int) -> bool:
    """Whether compiled code takes images and a grid of half precision by their size, whose gradients NumPy would find step by step."""
    return 32 * len(x) * prod(grid.shape[1:-1]) * taps ** grid.shape[-1] * (x.shape[1] + 8) >= state.fused and prod(grid.shape) > 0 < x.size


def gradients(grad: np.ndarray, x: np.ndarray, grid: np.ndarray, taps: int, padding: int, align: bool, needs: tuple[bool, bool]
              ) -> tuple[np.ndarray | None, np.ndarray | None] | None:
    """The gradients of ``sampled`` for the images and the grid, or None where they are not needed; None alone where there is no compiled
    code at hand."""
    n, channels, *spatial = x.shape
    length, s, char = prod(grid.shape[1:-1]), grid.shape[-1], x.dtype.char
    sees = n * length * taps**s * (channels + 8)
    if not (sees and x.size and char in "fdEe" and x.dtype is grid.dtype is grad.dtype):
        return None
    many = sees >= state.fused if char in "fd" else serves(x, grid, taps)
    if not many and (char in "eE" or length == 1 or _grid_gradients.of(char, _STEPS + sees) is None):
        return None
    dx, dgrid = np.empty(x.shape if needs[0] else 0, x.dtype), np.empty(grid.shape if needs[1] else 0, x.dtype)
    size = prod(spatial)
    arrays = [bits(contiguous(a)).reshape(shape) for a, shape in ((grid, (n, length, s)), (grad, (n, channels, length)),
                                                                  (x, (n, channels, size)))]
    out = [bits(a).reshape(shape if needed else (0, 0, 0)) for a, shape, needed in ((dx, (n, channels, size), needs[0]),
                                                                                 (dgrid, (n, length, s), needs[1]))]
    _grid_gradients.share(char, n, length * taps**s, 4 * channels + 8, *arrays, *out, spatial[0] if s == 3 else 1, spatial[-2], spatial[-1],
                          taps, padding, align, min(length, _TAPS // taps**s))
    return dx if needs[0] else None, dgrid if needs[1] else None


def weighted_sums(x: np.ndarray, index: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The sums over k of ``weight[k, n, l] * x[n, c, index[k, n, l]]``.

    >>> weighted_sums(np.array([[[1.0, 2.0, 3.0]]]), np.array([[[0, 2]], [[1, -1]]]), np.full((2, 1, 2), 0.5))
    array([[[1.5, 1.5]]])
    """
    (n, channels, size), (taps, _, length) = x.shape, index.shape
    x = contiguous(x)
    y = np.zeros((n, channels, length), x.dtype)
    if y.size * taps >= state.fused:
        rows = n * channels
        planes, out = x.reshape(rows, size), y.reshape(rows, length)
        try:
            share_rows(_compiled.weighted_sums, x.dtype.char, rows, length * taps, 2, planes, index, weight, out, channels)
        except IndexError:
            raise IndexError(_OUTSIDE.format(size)) from None
        return y
    _check(index, size)
    for values, part in _gathered(x, index):
        values *= weight[part, :, None]
        for k, term in enumerate(values, part.start):  # in order
            if k:
                y += term
            else:
                y[...] = term
    return y


def _check(index: np.ndarray, size: int) -> None:
    if index.size and index.max() >= size:
        raise IndexError(_OUTSIDE.format(size))


def _gathered(x: np.ndarray, index: np.ndarray) -> Iterator[tuple[np.ndarray, slice]]:
    """Some of the K elements at a time, (k, N, C, L), 0 where there is none, and which."""
    (n, channels, size), (taps, _, length) = x.shape, index.shape
    flat, step = x.reshape(-1), max(1, _PART // max(1, n * channels * length))
    first = np.arange(0, flat.size, max(size, 1)).reshape(n, channels, 1)
    for k in range(0, taps, step):
        part = index[k : k + step, :, None]
        outside = part < 0
        values = flat.take(np.maximum(part, 0) + first)
        if outside.any():
            np.copyto(values, 0, where=outside)
        yield values, slice(k, k + step)


def weighted_sums_backward(
    grad: np.ndarray, x: np.ndarray, index: np.ndarray, weight: np.ndarray, needs: tuple[bool, bool]
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The gradients of ``x`` and of ``weight``, or None."""
    (n, channels, size), taps = x.shape, len(index)
    g, x = contiguous(grad), contiguous(x)
    dx: np.ndarray | None = None
    dw: np.ndarray | None = None
    if g.size * taps >= state.fused:
        none = np.empty((0, 0, 0), x.dtype)
        dx = np.empty(x.shape, x.dtype) if needs[0] else none
        dw = np.empty(weight.shape, x.dtype) if needs[1] else none
        try:
            share(_compiled.weighted_sums_backward, x.dtype.char, n, 1, g, x, index, weight, dx, dw)
        except IndexError:
            raise IndexError(_OUTSIDE.format(size)) from None
        return dx if needs[0] else None, dw if needs[1] else None
    _check(index, size)
    if needs[0]:
        kept = index >= 0
        places = (np.maximum(index, 0)[:, :, None] + np.arange(0, x.size, max(size, 1)).reshape(n, channels, 1)).reshape(-1)
        shares = np.where(kept, weight, 0)[:, :, None] * g
        dx = np.bincount(places, shares.reshape(-1), x.size).astype(x.dtype).reshape(x.shape)
    if needs[1]:
        dw = np.empty(weight.shape, x.dtype)
        for values, part in _gathered(x, index):
            values *= g
            np.add.reduce(values, 2, out=dw[part])
    return dx, dw
