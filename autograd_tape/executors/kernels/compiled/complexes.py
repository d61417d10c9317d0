"""Complex numbers, which are pairs of real ones here."""

from __future__ import annotations

from .base import EXACT, kernel


@kernel("r0[n] w0[n] i (m>=0) (n==2*m) :m", EXACT, "fd", fresh=True)
def square(x, y, m, start, stop):
    """Products of ``m`` numbers with themselves, each part rounded after each step."""
    xs, ys = x[2 * start : 2 * stop], y[2 * start : 2 * stop]
    for i in range(0, ys.size, 2):
        a, b = xs[i], xs[i + 1]
        ys[i], ys[i + 1] = a * a - b * b, a * b + b * a
