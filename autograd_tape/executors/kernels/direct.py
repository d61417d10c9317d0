"""Convolution and its gradients by compiled tiles (see ``compiled/direct.py``), without columns, in one to three dimensions.

Arrays have three spatial axes here; what has fewer gets axes of one element first.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from . import sharing
from ._on_demand import LazyModule
from .handy import Handy

__all__ = ["Call", "forward", "input_grad", "run", "weight_grad"]

_compiled, _convolve = LazyModule("direct"), Handy("direct", "convolve")
#: Parts of a weight's gradient, added up in order: the result does not depend on the threads.
_PARTS = 8
_TILE = 8

Ints = tuple[int, ...]


def _up(n: int, size: int) -> int:
    return -(-n // size) * size


@lru_cache(256)
def _geometry(spatial: Ints, taps: Ints, per_group: int, stride: Ints, padding: Ints, dilation: Ints) -> tuple[np.ndarray, Ints]:
    """Where taps lie in planes, and the sizes of a channel's planes."""
    deep, high, wide = (-(-(n + 2 * p) // s) for n, p, s in zip(spatial, padding, stride, strict=True))
    size = deep * high * wide
    at: np.ndarray = np.zeros((1, 1, 1), np.int64)
    for axis, (k, s, d, pitch) in enumerate(zip(taps, stride, dilation, (high * wide, wide, 1), strict=True)):
        steps = np.arange(k) * d
        at = at + (steps % s * prod(stride[axis + 1 :]) * size + steps // s * pitch).reshape([-1 if i == axis else 1 for i in range(3)])
    shifts = (np.arange(per_group)[:, None] * (prod(stride) * size) + at.reshape(-1)).reshape(-1)
    return np.ascontiguousarray(shifts, np.int64), (deep, high, wide)


@lru_cache(64)
def _count(n: int) -> np.ndarray:
    return np.arange(n)


def _parts(n: int, tiles: int, threads: int) -> int:
    """Parts of each sample's channels: for few samples more than one, so that threads find work. Results do not depend on it."""
    return 1 if threads == 1 or n >= 4 * threads else max(1, min(tiles, -(-4 * threads // max(n, 1))))


class Call(NamedTuple):
    """What the kernel takes beyond arrays: samples and parts of them, the work of each, where taps and weights lie, and numbers."""

    items: int
    work: int
    shifts: np.ndarray
    places: np.ndarray
    numbers: Ints


def _call(n: int, channels: int, groups: int, threads: int, shifts: np.ndarray, places: np.ndarray, steps: Ints, stride: Ints,
          padding: Ints, sizes: Ints, counts: Ints, every: Ints, first: Ints) -> Call:
    parts = _parts(n, groups * -(-(channels // groups) // _TILE), threads)
    numbers = groups, parts, *steps, *stride, *padding, *sizes, *counts, *every, *first
    return Call(n * parts, channels * prod(counts) * max(shifts.size, 1) // parts, shifts, places, numbers)


def run(x: np.ndarray, w: np.ndarray, b: np.ndarray | None, y: np.ndarray, call: Call) -> None:
    """Writes to ``y`` what ``call`` says of ``x`` and ``w``, plus ``b``: all C-contiguous and of one dtype."""
    bias = np.empty(0, x.dtype) if b is None else b
    _convolve.share(x.dtype.char, call.items, call.work, 1, x, w.reshape(-1), bias, call.shifts, call.places, y, *call.numbers)


def forward(x: Ints, w: Ints, y: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int, threads: int) -> Call:
    """The convolution of (N, C, D, H, W) with (O, C // groups, KD, KH, KW), of these shapes."""
    shifts, sizes = _geometry(x[2:], w[2:], w[1], stride, padding, dilation)
    steps = w[0] // groups * shifts.size, shifts.size
    return _call(x[0], y[1], groups, threads, shifts, _count(shifts.size), steps, stride, padding, sizes, y[2:], (1, 1, 1), (0, 0, 0))


def _phases(n: int, k: int, stride: int, padding: int, dilation: int) -> list[tuple[list[int], int, int, int]]:
    """For each place of a pixel between strides: the taps that reach it, the first quotient, how many, and the first pixel."""
    found = []
    for rest in range(stride):
        first = max(0, -(-(padding - rest) // stride))
        count = (n - 1 + padding - rest) // stride - first + 1
        if count > 0:
            taps = [j for j in range(k) if j * dilation % stride == rest]
            found.append((taps, first, count, stride * first + rest - padding))
    return found


def _transposed(spatial: Ints, size: Ints, taps: Ints, per_group: int, of_group: int, stride: Ints, padding: Ints, dilation: Ints
                ) -> tuple[Ints, Ints, list[tuple[np.ndarray, np.ndarray, Ints, Ints]]]:
    """The zeros before cotangents (their ``size`` along each axis) and the sizes of their planes; and for each place between strides the
    shifts of taps, where their weights lie, how many pixels of the input there are, and which is the first."""
    axes = []
    before, extents = [], []
    for n, m, k, s, p, d in zip(spatial, size, taps, stride, padding, dilation, strict=True):
        phases = _phases(n, k, s, p, d)
        front = max([0, *[j * d // s - first for found, first, _, _ in phases for j in found]])
        extents.append(front + max([m, *[first + count for _, first, count, _ in phases]]))
        before.append(front)
        axes.append([([(j, first - j * d // s + front) for j in found], count, at) for found, first, count, at in phases])
    deep, high, wide = extents
    whole, each = deep * high * wide, prod(taps)
    parts: list[tuple[np.ndarray, np.ndarray, Ints, Ints]] = []
    for (zs, nz, az), (rs, nr, ar), (cs, nc, ac) in product(*axes):
        reached = [(z * high * wide + r * wide + c, (i * taps[1] + j) * taps[2] + k) for i, z in zs for j, r in rs for k, c in cs]
        shift, place = np.array(reached, np.int64).reshape(-1, 2).T
        outs = np.arange(of_group)[:, None]
        shifts = np.ascontiguousarray((outs * whole + shift).reshape(-1), np.int64)
        places = np.ascontiguousarray((outs * (per_group * each) + place).reshape(-1), np.int64)
        parts.append((shifts, places, (nz, nr, nc), (az, ar, ac)))
    return tuple(before), (deep, high, wide), parts


@lru_cache(256)
def _backward(grad: Ints, w: Ints, dx: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int, threads: int) -> list[Call]:
    out, per_group, taps = w[0], w[1], prod(w[2:])
    before, sizes, parts = _transposed(dx[2:], grad[2:], w[2:], per_group, out // groups, stride, padding, dilation)
    steps = out // groups * per_group * taps, taps
    return [_call(grad[0], dx[1], groups, threads, shifts, places, steps, (1, 1, 1), before, sizes, counts, stride, first)
            for shifts, places, counts, first in parts]


def input_grad(grad: np.ndarray, w: np.ndarray, dx: np.ndarray, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> None:
    """Writes the gradient for an input to ``dx`` (N, C, D, H, W), all of it. Where ``w`` is not finite, neither need be what it should
    not touch."""
    for call in _backward(grad.shape, w.shape, dx.shape, stride, padding, dilation, groups, sharing.get_num_threads()):
        run(grad, w, None, dx, call)


def weight_grad(
    grad: np.ndarray, x: np.ndarray, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The gradient for a weight of ``shape``.  Where ``x`` is not finite, neither need be what it should not touch."""
    shifts, sizes = _geometry(x.shape[2:], shape[2:], shape[1], stride, padding, dilation)
    n = len(x)
    # Adding up the vectors of a part takes as long as some hundred pixels: fewer parts where there are few.
    n_parts = min(n, _PARTS if n * prod(grad.shape[2:]) >= 512 * _PARTS else _PARTS // 2)
    bounds = np.array([n * i // n_parts for i in range(n_parts + 1)])
    parts = np.empty((n_parts, shape[0], shape[1], prod(shape[2:])), x.dtype)
    pieces = _parts(n_parts, groups * -(-(shape[0] // groups) // 4), sharing.get_num_threads())
    work = -(-n // n_parts) * prod(grad.shape[1:]) * shifts.size // pieces
    sharing.share_rows(_compiled.weight_grad, x.dtype.char, n_parts * pieces, work, 1, grad, x, parts, shifts, bounds, groups, pieces,
                       *stride, *padding, *sizes)
    return (parts[0] if n_parts == 1 else parts.sum(0)).reshape(shape)


