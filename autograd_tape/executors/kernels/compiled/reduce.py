"""Sums and extrema of rows."""

from __future__ import annotations

from .base import extreme, kernel, row_total


@kernel("r2 w1 i i")
def sum_rows(x, y, start, stop):
    for r in range(start, stop):
        y[r] = row_total(x[r])


@kernel("r2 w1 i i i")
def extreme_rows(x, y, smallest, start, stop):
    """The maximum of each row (or the minimum); NaN if there is one."""
    for r in range(start, stop):
        y[r] = extreme(x[r], smallest)
