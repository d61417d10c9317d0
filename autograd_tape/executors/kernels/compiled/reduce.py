"""Sums and extrema of rows."""

from __future__ import annotations

import math

from .base import kernel, largest, least, row_total


@kernel("r2 w1 i i")
def sum_rows(x, y, start, stop):
    for r in range(start, stop):
        y[r] = row_total(x[r])


@kernel("r2 w1 i i i")
def extreme_rows(x, y, smallest, start, stop):
    """The maximum of each row, or the minimum; NaN if there is one."""
    T = x.dtype.type
    for r in range(start, stop):
        row = x[r]
        nans = 0
        for i in range(row.size):
            nans += row[i] != row[i]
        if nans:
            y[r] = T(math.nan)
        elif smallest:
            y[r] = least(row)
        else:
            y[r] = largest(row)
