"""Orders of rows by int64 keys: stable sorting, selections that leave equal keys where torch does (`kernels/selection.py`), and search."""

from __future__ import annotations

from types import FunctionType

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from .. import selection
from ....annotations import Fn
from .base import kernel, wide

#: Elements of a run that is sorted by insertion, those of a row up to which each is compared with all others, and those of a row for each
#: byte by which it takes sorting not to merge runs.
RUN, COUNTED, SCANNED = 8, 64, 12
#: How many best of a row are kept on the way.
FEW = 8
f4, i4, i8, u8 = np.float32, np.int32, np.int64, np.uint64


def _here(function: Fn) -> Fn:
    return register_jitable(FunctionType(function.__code__, globals()))


# Each after those that it calls: the compiler looks them up here.
swap, twice_log = _here(selection.swap), _here(selection.twice_log)
adjust, insertion_sort, partition = _here(selection.adjust), _here(selection.insertion_sort), _here(selection.partition)
heap_select, sort_heap = _here(selection.heap_select), _here(selection.sort_heap)
nth_element, sort, sorted_at = _here(selection.nth_element), _here(selection.sort), _here(selection.sorted_at)
kth_of, top_of = _here(selection.kth), _here(selection.top)


def _key4(v):
    bits = f4(v + f4(0)).view(i4)  # -0 + 0 is 0
    return i8(0x7F800001) if v != v else i8(bits ^ ((bits >> i4(31)) & i4(0x7FFFFFFF)))


def _key8(v):
    bits = np.float64(v + 0.0).view(i8)
    return i8(0x7FF0000000000001) if v != v else i8(bits ^ ((bits >> i8(63)) & i8(0x7FFFFFFFFFFFFFFF)))


def key(v):
    """An integer in the order of real numbers; NaN above infinity."""
    return _key4(v) if v.dtype == np.float32 else _key8(v) if v.dtype == np.float64 else i8(v)


@overload(key, strict=False)
def _key(v):
    if v == types.float32 or v == types.float64:
        return _by_kind[v]
    return lambda v: i8(v)


_by_kind = {types.float32: _key4, types.float64: _key8}


@kernel("r1[n] Q1[n] :n")
def keys_of(x, keys, start, stop):
    """Integers in the order of real numbers; NaN above infinity."""
    for i in range(start, stop):
        keys[i] = key(x[i])


@kernel("q2[n,m] Q2[n,m] :n")
def ordered(keys, index, start, stop):
    """The places of each row's keys in ascending order, equal ones as they come: of short rows it is counted how many come before each,
    which has no branches and is done in vectors; runs in order are merged, of long rows bytes sorted."""
    m = keys.shape[1]
    if m <= COUNTED:
        row, place = np.zeros((m + 7) >> 3 << 3, i8), np.empty((m + 7) >> 3 << 3, i8)
        for r in range(start, stop):
            for i in range(m):
                row[i] = keys[r, i]
            place[:] = 0
            for j in range(m):
                v = row[j]
                for i in range(place.size):
                    place[i] += i8(v < row[i]) | (i8(v == row[i]) & i8(j < i))
            for i in range(m):
                index[r, place[i]] = i
        return
    v, w, at, to = np.empty(m, u8), np.empty(m, u8), np.empty(m, i8), np.empty(m, i8)
    places = np.empty(256, i8)
    for r in range(start, stop):
        row, out = keys[r], index[r]
        low = row[0] if m else i8(0)
        for i in range(m):
            low = min(low, row[i])
        differ = u8(0)
        for i in range(m):  # the distance from the smallest: of small numbers few bytes differ, whatever their signs
            v[i] = u8(row[i]) - u8(low)
            at[i] = i
            differ |= v[i]
        passes = 0
        for byte in range(8):
            passes += 1 if (differ >> u8(8 * byte)) & u8(255) else 0
        if passes * SCANNED > m:
            left = 0
            while left < m:
                high = min(left + RUN, m)
                insertion_sort(v, at, left, high)
                left = high
            width = RUN
            while width < m:
                left = 0
                while left < m:
                    middle, high = min(left + width, m), min(left + 2 * width, m)
                    i, j, k = left, middle, left
                    while i < middle and j < high:  # without branches, which nobody could foresee
                        first = v[i] <= v[j]
                        p = i if first else j
                        w[k], to[k] = v[p], at[p]
                        i += 1 if first else 0
                        j += 0 if first else 1
                        k += 1
                    i = i if i < middle else j
                    while k < high:
                        w[k], to[k] = v[i], at[i]
                        i += 1
                        k += 1
                    left = high
                v, w, at, to = w, v, to, at
                width *= 2
            for i in range(m):
                out[i] = at[i]
            continue
        for byte in range(8):
            shift = u8(8 * byte)
            if not (differ >> shift) & u8(255):
                continue
            for i in range(256):
                places[i] = 0
            for i in range(m):
                places[i8((v[i] >> shift) & u8(255))] += 1
            total = 0
            for i in range(256):
                total, places[i] = total + places[i], total
            for i in range(m):
                digit = i8((v[i] >> shift) & u8(255))
                place = places[digit]
                w[place], to[place] = v[i], at[i]
                places[digit] = place + 1
            v, w, at, to = w, v, to, at
        for i in range(m):
            out[i] = at[i]


# Below, elements of rows lie `inner` apart, and a row after a row: an array (outer, size, inner), whose middle dimension is the rows'.


@kernel("r0[outer*size*inner] w0[outer*k*inner] Q0[outer*k*inner] i i i i i i (outer>=0) (inner>=0) (k>0) (k<=size) "
        "(float(outer)*size*inner<9e18) :outer*inner")
def top(x, values, index, outer, size, inner, k, largest, in_order, start, stop):
    """The least, or largest, of each row and their places, which are torch's among equal ones."""
    v, at = np.empty(size, i8), np.empty(size, i8)
    flip = i8(-1) if largest else i8(0)
    best, place, kept = np.empty(FEW + 1, i8), np.empty(FEW + 1, i8), min(k + 1, size)
    for r in range(start, stop):
        first, to = r // inner * size * inner + r % inner, r // inner * k * inner + r % inner
        if k <= FEW and (in_order or k == 1 or k * 64 <= size):  # one more than are asked for, as long as none is another's equal
            worst, count, equal = i8(0), 0, False
            for i in range(size):
                w = key(wide(x[first + i * inner])) ^ flip
                if count == kept and w >= worst:
                    continue
                j = min(count, kept - 1)
                count = j + 1
                while j > 0 and w < best[j - 1]:
                    best[j], place[j] = best[j - 1], place[j - 1]
                    j -= 1
                best[j], place[j] = w, i
                worst, equal = best[count - 1], j > 0 and best[j - 1] == w
                if equal:
                    break
            if not equal:
                for i in range(k):
                    values[to + i * inner], index[to + i * inner] = x[first + place[i] * inner], place[i]
                continue
        for i in range(size):
            v[i], at[i] = key(wide(x[first + i * inner])) ^ flip, i
        top_of(v, at, k, in_order != 0)
        for i in range(k):
            values[to + i * inner], index[to + i * inner] = x[first + at[i] * inner], at[i]


@kernel("r0[outer*size*inner] w0[outer*inner] Q0[outer*inner] i i i i i (outer>=0) (inner>=0) (k>=0) (k<size) "
        "(float(outer)*size*inner<9e18) :outer*inner")
def kth(x, values, index, outer, size, inner, k, what, start, stop):
    """The element that comes at place `k` in the order of each row, and its place: torch's among equal ones, or where `what` is not 0 the
    first. Of rows with NaN it is the first NaN where `what` is 1; where it is 2 they are taken without, and the middle."""
    v, at = np.empty(size, i8), np.empty(size, i8)
    for r in range(start, stop):
        first, missing, place = r // inner * size * inner + r % inner, 0, k
        for i in range(size):
            value = wide(x[first + i * inner])
            v[i], at[i] = key(value), i
            missing += value != value
        if what == 1 and missing > 0:
            place = size - missing
        elif what == 2:
            place = max(size - missing - 1, 0) // 2
        kth_of(v, at, place)
        found = at[place]
        if what:
            before, wanted = 0, v[place]
            for i in range(size):
                before += v[i] < wanted
            for i in range(size):
                if key(wide(x[first + i * inner])) == wanted:
                    if before == place:
                        found = i
                        break
                    before += 1
        values[r], index[r] = x[first + found * inner], found


@kernel("r0[outer*size*inner] w0[outer*inner] Q0[outer*inner] q0[n] i i i (outer>=0) (inner>=0) (size>0) (float(outer)*size*inner<9e18) "
        "(n==0)|(n==outer*size*inner) :outer*inner")
def modes(x, values, index, ordered, outer, size, inner, start, stop):
    """The most frequent element of each row, the least of several, and its place: the last one after torch's sort. NaN, of which none is
    another's equal, come last. The keys of each row may have been sorted."""
    v, at = np.empty(size, i8), np.empty(size, i8)
    for r in range(start, stop):
        first, numbers = r // inner * size * inner + r % inner, size
        for i in range(size):
            value = wide(x[first + i * inner])
            v[i], at[i] = key(value), i
            numbers -= value != value
        row = ordered[r * size : r * size + size] if ordered.size else v
        if not ordered.size:
            sort(v, at, 0, size)
        longest, run, last = 0, 0, 0
        for i in range(size):
            run = run + 1 if i > 0 and row[i] == row[i - 1] and i < numbers else 1
            if run > longest:
                longest, last = run, i
        if ordered.size:
            sorted_at(v, at, last)
        index[r] = at[last]
        values[r] = x[first + at[last] * inner]


@kernel("r0[rows*size] r0[rows*each] Q0[rows*each] i i i i (rows>=0) (size>=0) (each>=0) :rows*each")
def bisected(sequence, values, found, rows, size, each, right, start, stop):
    """Where values go into the sequence of their row: before equal elements, or behind. Halving finds one where there is no order, too."""
    for i in range(start, stop):
        first, value = i // each * size, wide(values[i])
        low, high = 0, size
        while low < high:
            middle = (low + high) >> 1
            element = wide(sequence[first + middle])
            if (element > value) if right else (element >= value):
                high = middle
            else:
                low = middle + 1
        found[i] = low
