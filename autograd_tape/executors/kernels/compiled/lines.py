"""Lines of elements: runs of equal ones, and the one at a place of their order."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from .base import EXACT, kernel, u8, wide
from .folds import rank, ranked

i8 = np.int64
#: Keys among which the one at a place is looked for by putting them in order.
FEW = 12


@kernel("r0[n] w0[n] Q1[n]? Q1[n]? Q1[1] (n>0) :1", EXACT, dtypes="fdlEeB", fresh=True)
def runs(x, values, inverse, counts, many, start, stop):
    """The first elements of runs of equal ones, which run each element is in, how long they are, where asked, and how many there are."""
    at, begin = u8(0), 0
    values[0] = x[0]
    if inverse.size:
        inverse[0] = 0
    for i in range(1, x.size):
        after, other = at + u8(1), wide(x[u8(i)]) != wide(x[u8(i - 1)])
        values[after] = x[u8(i)]  # which stays where it is another one
        if counts.size and other:
            counts[at] = i - begin
            begin = i
        at = after if other else at
        if inverse.size:
            inverse[u8(i)] = i8(at)
    if counts.size:
        counts[at] = x.size - begin
    many[0] = i8(at) + 1


@register_jitable
def _digit(counts, k):
    """The digit of the key at place `k` of the order of all, of which so many have each digit, and its place among those that have it."""
    digit = i8(0)
    while digit < 255 and k >= counts[u8(digit)]:
        k -= counts[u8(digit)]
        digit += 1
    return digit, k


@kernel("r0[n] w0[1] Q1[1] i i (k>=0) (k<n) (size>0) (size<=8) :1", EXACT, dtypes="fdlEeB", fresh=True)
def selected(x, y, missing, k, size, start, stop):
    """The element of `size` bytes at place `k` of the order of all, byte by byte from the first, and how many are no numbers, which are at
    its ends."""
    n, shift, nan = x.size, 8 * size - 8, 0
    room, counts = np.empty(n + 1, np.int64), np.zeros(256, np.int64)
    flip = i8(0 if size == 1 else 128)  # the first byte has a sign, but of bytes
    for i in range(n):
        v = x[u8(i)]
        counts[u8(((i8(rank(v)) >> i8(shift)) & i8(255)) ^ flip)] += 1
        nan += wide(v) != wide(v)
    missing[0] = nan
    digit, k = _digit(counts, k)
    m = u8(0)
    for i in range(n):
        key = i8(rank(x[u8(i)]))
        room[m] = key
        m += u8((((key >> i8(shift)) & i8(255)) ^ flip) == digit)
    left = i8(m)
    while left > FEW:
        first, apart = room[0], i8(0)
        for i in range(1, left):
            apart |= room[u8(i)] ^ first
        if apart == 0:
            k, left = 0, 1
            break
        shift = 0
        while (apart >> i8(shift)) & ~i8(255):  # to the first byte that differs
            shift += 8
        counts[:] = 0
        for i in range(left):
            counts[u8((room[u8(i)] >> i8(shift)) & i8(255))] += 1
        digit, k = _digit(counts, k)
        m = u8(0)
        for i in range(left):
            key = room[u8(i)]
            room[m] = key
            m += u8(((key >> i8(shift)) & i8(255)) == digit)
        left = i8(m)
    for i in range(1, left):
        key, j = room[u8(i)], i
        while j > 0 and room[u8(j - 1)] > key:
            room[u8(j)] = room[u8(j - 1)]
            j -= 1
        room[u8(j)] = key
    found = room[u8(k)]
    y[0] = ranked(x, found, found, found)
