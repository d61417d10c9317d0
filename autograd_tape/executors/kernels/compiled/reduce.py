"""Sums and maxima of rows."""

from __future__ import annotations

import math

import numpy as np

from .base import kernel, row_total

#: Running maxima side by side: enough independent ones to keep several SIMD registers busy.
_LANES = 64


@kernel("r2 w1 i i")
def sum_rows(x, y, start, stop):
    for r in range(start, stop):
        y[r] = row_total(x[r])


@kernel("r2 w1 i i i")
def extreme_rows(x, y, smallest, start, stop):
    """The maximum of each row (or the minimum), of at least ``_LANES`` elements; NaN if there is one."""
    T = x.dtype.type
    lanes, nans = np.empty(_LANES, x.dtype), np.empty(_LANES, np.int32)
    for r in range(start, stop):
        row = x[r]
        lanes[:] = row[:_LANES]
        nans[:] = 0
        for block in range((row.size + _LANES - 1) // _LANES):
            # The last block ends with the row: it may overlap the one before, which a maximum does not mind.
            first = min(block * _LANES, row.size - _LANES)
            part = row[first : first + _LANES]
            if smallest:
                for i in range(_LANES):
                    v = part[i]
                    lanes[i] = v if v < lanes[i] else lanes[i]
                    nans[i] |= v != v
            else:
                for i in range(_LANES):
                    v = part[i]
                    lanes[i] = v if v > lanes[i] else lanes[i]
                    nans[i] |= v != v
        y[r] = T(math.nan) if nans.any() else (lanes.min() if smallest else lanes.max())
