"""Orders of rows of int64 keys: stable sorting by radix, and selections that leave equal keys where torch does (`kernels/selection.py`)."""

from __future__ import annotations

from types import FunctionType

import numpy as np
from numba.extending import register_jitable

from .. import selection
from ....annotations import Fn
from .base import _by_type, kernel

#: Elements up to which a row is sorted by insertion.
SHORT = 40
f4, i4, i8, u8 = np.float32, np.int32, np.int64, np.uint64


def _here(function: Fn) -> Fn:
    return register_jitable(FunctionType(function.__code__, globals()))


# Each after those that it calls: the compiler looks them up here.
swap, twice_log = _here(selection.swap), _here(selection.twice_log)
adjust, insertion_sort, partition = _here(selection.adjust), _here(selection.insertion_sort), _here(selection.partition)
heap_select, sort_heap = _here(selection.heap_select), _here(selection.sort_heap)
nth_element, sort, kth_of, top_of = (_here(f) for f in (selection.nth_element, selection.sort, selection.kth, selection.top))


def _key4(v):
    bits = f4(v + f4(0)).view(i4)  # -0 + 0 is 0
    return i8(0x7F800001) if v != v else i8(bits ^ ((bits >> i4(31)) & i4(0x7FFFFFFF)))


def _key8(v):
    bits = np.float64(v + 0.0).view(i8)
    return i8(0x7FF0000000000001) if v != v else i8(bits ^ ((bits >> i8(63)) & i8(0x7FFFFFFFFFFFFFFF)))


key = _by_type(_key4, _key8)


@kernel("r1[n] Q1[n] :n")
def keys_of(x, keys, start, stop):
    """Integers in the order of real numbers; NaN above infinity."""
    for i in range(start, stop):
        keys[i] = key(x[i])


@kernel("q2[n,m] Q2[n,m] :n")
def ordered(keys, index, start, stop):
    """The places of each row's keys in ascending order, equal ones as they come."""
    m = keys.shape[1]
    v, w, at, to = np.empty(m, u8), np.empty(m, u8), np.empty(m, i8), np.empty(m, i8)
    places = np.empty(256, i8)
    for r in range(start, stop):
        row, out = keys[r], index[r]
        if m <= SHORT:
            for i in range(m):
                value, j = row[i], i
                while j > 0 and value < row[out[j - 1]]:
                    out[j] = out[j - 1]
                    j -= 1
                out[j] = i
            continue
        differ = u8(0)
        for i in range(m):
            v[i] = u8(row[i]) ^ u8(0x8000000000000000)
            at[i] = i
            differ |= v[i] ^ v[0]
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


@kernel("q2[n,m] Q2[n,k] i (k>0) (k<=m) :n")
def top(keys, index, in_order, start, stop):
    """The places of the least keys of each row."""
    m = keys.shape[1]
    v, at = np.empty(m, i8), np.empty(m, i8)
    for r in range(start, stop):
        for i in range(m):
            v[i], at[i] = keys[r, i], i
        top_of(v, at, index.shape[1], in_order != 0)
        for i in range(index.shape[1]):
            index[r, i] = at[i]


@kernel("q2[n,m] q1[n] Q1[n] i (m>0) :n")
def kth(keys, wanted, index, stable, start, stop):
    """The place of the key that comes at a place in the order of each row: torch's among equal ones, or that in the stable order."""
    m = keys.shape[1]
    v, at = np.empty(m, i8), np.empty(m, i8)
    for r in range(start, stop):
        k = min(max(wanted[r], 0), m - 1)
        for i in range(m):
            v[i], at[i] = keys[r, i], i
        kth_of(v, at, k)
        index[r] = at[k]
        if stable:
            before, value = 0, v[k]
            for i in range(m):
                before += keys[r, i] < value
            for i in range(m):
                if keys[r, i] == value:
                    if before == k:
                        index[r] = i
                        break
                    before += 1


@kernel("q2[n,m] Q1[n] (m>0) :n")
def modes(keys, index, start, stop):
    """The place of the most frequent key of each row, the least of several: the last one after torch's sort."""
    m = keys.shape[1]
    v, at = np.empty(m, i8), np.empty(m, i8)
    for r in range(start, stop):
        for i in range(m):
            v[i], at[i] = keys[r, i], i
        sort(v, at, 0, m)
        longest, run = 0, 0
        for i in range(m):
            run = run + 1 if i > 0 and v[i] == v[i - 1] else 1
            if run > longest:
                longest = run
                index[r] = at[i]
