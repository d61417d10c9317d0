"""By which way a convolution is computed: what each would take, estimated from its geometry alone.

Numbers are nanoseconds on one core in float32, fitted to measurements; what they are compared by is their ratio, which hardly depends
on the dtype. Of the processor it depends on AVX-512: without, tiles have four channels at most, and OpenBLAS lays out columns before it
multiplies, however few they are. ``tests/kernels/test_ways.py`` holds what they choose against what ``python -m benchmarks.ways`` measured.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

from ._on_demand import HAS_VECTORS

__all__ = ["Geometry", "estimate", "tiles_win"]

Ints = tuple[int, ...]

#: Multiply-adds in a nanosecond: by tiles of so many channels, of a weight's gradient, by BLAS.
_RATES = {8: 40.0, 4: 28.0, 1: 12.0} if HAS_VECTORS else {4: 38.0, 1: 12.0}
_DOTS, _BLAS = 37.0, 30.0 if HAS_VECTORS else 33.0
#: An element copied into planes, by the stride of columns; and to where it belongs, one after another or between strides.
_SPREAD, _SPREAD_2, _SPREAD_FAR = 0.3, 0.6, 2.0
_WRITTEN, _WRITTEN_FAR = 0.4, 1.5
#: An element of columns, gathered or added back: compiled in two dimensions, by NumPy in three.
_GATHERED, _ADDED, _GATHERED_3D, _ADDED_3D = 0.35, 0.6, 2.0, 2.5
#: An element of columns, laid out by OpenBLAS.
_PACKED = 0.0 if HAS_VECTORS else 0.8
#: A product by itself; a tile of a weight's gradient added up; a row of results written, of fewer than eight in scalars.
_CALL, _TOTALS, _ROW, _SHORT_ROW = 1000.0 if HAS_VECTORS else 3300.0, 70.0, 10.0, 20.0


class Geometry(NamedTuple):
    """A convolution: samples, the input's and the result's sizes along three axes, the weight's shape (O, C / groups, KD, KH, KW)."""

    n: int
    spatial: Ints
    size: Ints
    weight: Ints
    stride: Ints
    padding: Ints
    groups: int


def _rows(channels: int) -> int:
    return 1 if channels == 1 else 4 if channels <= 4 else max(_RATES)


def _up(n: int, unit: int) -> int:
    return -(-n // unit) * unit


@lru_cache(1024)
def estimate(face: str, way: str, g: Geometry) -> float:
    """Nanoseconds for the result (``forward``) or a gradient (``input``, ``weight``), by ``tiles`` or ``columns``."""
    out, per_group, *kernel = g.weight
    taps, pixels, phases = prod(kernel), prod(g.size), prod(g.stride)
    of_group, channels, sums = out // g.groups, per_group * g.groups, per_group * taps
    x, y = g.n * channels * prod(g.spatial), g.n * out * pixels
    if way == "columns":
        elements = g.n * channels * taps * pixels
        flat = g.spatial[0] == 1 and kernel[0] == 1
        moved = (_ADDED if flat else _ADDED_3D) if face == "input" else _GATHERED if flat else _GATHERED_3D
        if g.stride[2] > 2:
            moved *= 2
        return y * sums / _BLAS + elements * (moved + _PACKED) + (x if face == "input" else y) * _WRITTEN + g.n * g.groups * _CALL + (
            g.n * out * sums * 0.5 if face == "weight" else 0)
    spread = _SPREAD if g.stride[2] == 1 else _SPREAD_2 if g.stride[2] == 2 else _SPREAD_FAR
    wide = -(-(g.spatial[2] + 2 * g.padding[2]) // g.stride[2])
    span = _up((g.size[1] - 1) * wide + g.size[2], 8)
    if face == "forward":
        rows = _rows(of_group)
        written = y * _WRITTEN + y / g.size[2] * (_ROW if g.size[2] >= 8 else _SHORT_ROW)
        return g.n * g.size[0] * span * g.groups * _up(of_group, rows) * sums / _RATES[rows] + x * spread + written
    if face == "weight":
        steps = g.n * g.size[0] * span
        whole = _up(of_group, 4) * g.groups * _up(sums, 6)
        return steps * whole / _DOTS + whole / 24 * -(-steps // 1024) * _TOTALS + x * spread + y * _WRITTEN
    rows = _rows(per_group)
    deep, high, across = (-(-n // s) for n, s in zip(g.spatial, g.stride, strict=True))
    span = _up(high * (across + (kernel[2] - 1) // g.stride[2]), 8)
    work = g.n * deep * span * g.groups * _up(per_group, rows) * of_group * taps
    return work / _RATES[rows] * (1 if phases == 1 else 1.2) + phases * y * _SPREAD + x * (_WRITTEN if phases == 1 else _WRITTEN_FAR)


@lru_cache(1024)
def tiles_win(face: str, g: Geometry) -> bool:
    """Whether tiles are expected to take less time than columns.

    >>> tiles_win("forward", Geometry(1, (1, 28, 28), (1, 28, 28), (64, 64, 1, 3, 3), (1, 1, 1), (0, 1, 1), 1))
    True
    """
    return estimate(face, "tiles", g) < estimate(face, "columns", g)
