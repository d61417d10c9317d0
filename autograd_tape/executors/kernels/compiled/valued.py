"""Functions of integers by a table of what they give (see `kernels/valued.py`)."""

from __future__ import annotations

from .base import EXACT, kernel


@kernel("x0[n] r1[m] w0[n] i :n", EXACT)
def looked_up(x, table, y, low, start, stop):
    """What a table has of integers from `low` on; False where one of them is not there."""
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        place = xs[i] - low
        if not 0 <= place < table.size:
            return False
        ys[i] = table[place]
    return True
