"""Copies of columns as rows."""

from __future__ import annotations

import numpy as np

from .._common import TILE
from .base import kernel, u8
from .simd import LANES, turn

#: Elements of a plane up to which it is copied by a table of places: loops over short rows cost more to enter than to run.
_TABLE = 512


@kernel("r0[o*n*m] w0[o*n*m] i i i (o>=0) (n>0) (m>0) (float(o)*n*m<9e18) :o*((n+63)//64)", dtypes="fdHB")
def transpose(x, y, o, n, m, start, stop):
    """``y[k, i, j] = x[k, j, i]`` of ``o`` planes of ``n`` rows and ``m`` columns; items are blocks of TILE rows."""
    blocks, by_eight = (n + TILE - 1) // TILE, n >= LANES and m >= LANES
    table = np.empty(0 if by_eight or blocks > 1 or n * m > _TABLE else n * m, np.int64)
    for at in range(table.size):
        table[at] = at % m * n + at // m
    for item in range(start, stop):
        plane, first = item // blocks * n * m, item % blocks * TILE
        last = min(first + TILE, n)
        if by_eight:  # those that are left over are the last eight, which are turned twice
            for j in range(0, m, LANES):
                column = min(j, m - LANES)
                for i in range(first, last, LANES):
                    row = min(i, n - LANES)
                    turn(x, plane + column * n + row, n, LANES, y, plane + row * m + column, m, LANES)
        elif table.size > 0:
            for at in range(table.size):
                y[u8(plane + at)] = x[u8(plane + table[u8(at)])]
        elif m < last - first:
            for j in range(m):
                for i in range(first, last):
                    y[u8(plane + i * m + j)] = x[u8(plane + j * n + i)]
        else:
            for i in range(first, last):
                for j in range(m):
                    y[u8(plane + i * m + j)] = x[u8(plane + j * n + i)]
