"""The points of Sobol sequences, in the order of Gray codes (see `ops/data/quasirandom.py`), some dimensions at a time."""

from __future__ import annotations

from .base import EXACT, kernel

_BITS = 30


@kernel("Q1[>=dimension] q2[>=dimension,>=30] w2[n,dimension] i i (dimension>=0) (first>=0) (float(first)+n<1073741824) :dimension", EXACT)
def draw(last, directions, points, dimension, first, start, stop):
    """The next points after the integers of the one of number ``first``, which become those of the last one."""
    for i in range(points.shape[0]):
        number, bit = first + i, 0
        while number >> bit & 1:
            bit += 1
        for d in range(start, stop):
            last[d] ^= directions[d, bit]
            points[i, d] = last[d] * 2.0**-_BITS


@kernel("Q1[>=dimension] q2[>=dimension,>=30] i i i (dimension>=0) (first>=0) (n>=0) (float(first)+n<1073741824) :dimension", EXACT)
def forward(last, directions, dimension, first, n, start, stop):
    """The integers after so many points: of each bit in which the codes at the ends of the way differ, which changes an odd number of
    times."""
    end = first + n
    changed = first ^ first >> 1 ^ end ^ end >> 1
    for bit in range(_BITS):
        if changed >> bit & 1:
            for d in range(start, stop):
                last[d] ^= directions[d, bit]
