"""Sums of rows."""

from __future__ import annotations

from .base import kernel, row_total


@kernel("r2 w1 i i")
def sum_rows(x, y, start, stop):
    for r in range(start, stop):
        y[r] = row_total(x[r])
