"""Copies of columns as rows, and of rows without the gaps between them."""

from __future__ import annotations

import numpy as np

from .._common import TILE
from .base import kernel, u8
from .simd import LANES, turn

#: Elements of a plane up to which it is copied by a table of places: loops over short rows cost more to enter than to run.
_TABLE = 512
_SOME = 512  # short rows that stay in the first cache


@kernel("r0[o*n*m] w0[o*n*m] i i i (o>=0) (n>0) (m>0) :o*((n+63)//64)", dtypes="fdHB")
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


@kernel("r1[span] w0[n1*n2*n3] i i i i i (n1>0) (n2>0) (n3>0) (s1>=0) (s2>=0) ((n1-1)*s1+(n2-1)*s2+n3<=span) :n1*n2",
        dtypes="fdHB", fresh=True)
def packed(x, y, n1, n2, n3, s1, s2, start, stop):
    """Planes of rows with gaps between them, copied without."""
    line = start
    while line < stop:
        plane, row = line // n2, line % n2
        count = min(n2 - row, stop - line, _SOME)
        at, to = u8(plane * s1 + row * s2), u8(line * n3)
        if n3 < LANES and count >= LANES:  # one place of all rows after another
            for i in range(u8(n3)):
                for r in range(u8(count)):
                    y[to + u8(r) * u8(n3) + u8(i)] = x[at + u8(r) * u8(s2) + u8(i)]
        else:
            for _ in range(count):
                for i in range(u8(n3)):
                    y[to + u8(i)] = x[at + u8(i)]
                at, to = at + u8(s2), to + u8(n3)
        line += count
