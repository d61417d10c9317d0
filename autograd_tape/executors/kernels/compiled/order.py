"""Orders of rows by int64 keys: stable sorting, selections that leave equal keys where torch does (`kernels/selection.py`), and search."""

from __future__ import annotations

from types import FunctionType

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from .. import selection
from ....annotations import Fn
from .base import kernel, wide
from .simd import borrowed

#: Elements of a row up to which each is compared with all others, those of a run that is merged with another, and those of a row for each
#: byte by which it takes sorting not to merge runs.
COUNTED, RUN, SCANNED = 64, 32, 64
#: The last of all keys.
LAST = np.int64(2**63 - 1)
#: How many best of a row are kept on the way, and between how many keys equal ones are counted.
FEW, COUNTS = 8, 1024
#: Equal ones among the best so far after which some are taken to be left at the end.
TIES = 3
#: Keys of a row from which it is narrowed to those between two of a sample, how many that has, and how far from the wanted those two are.
NARROWED, SAMPLE, NEAR = 256, 64, 6
BLOCK = 256  # elements of a row among which one is counted before it is looked for
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


def room(x, n):
    """Room for so many keys of an array's numbers: of 32 bits where that is enough."""
    return np.empty(n, i8)


@overload(room, strict=False)
def _room(x, n):
    kind = i4 if x.dtype.bitwidth <= 32 else i8
    return lambda x, n: np.empty(n, kind)


@register_jitable(forceinline=True)
def apart(k, p, m, q):
    """Two keys in order, with their places."""
    later = m < k
    return (m, q, k, p) if later else (k, p, m, q)


# Places below are unsigned: of others it would be asked each time whether they count from the end.


@register_jitable
def counted(v, at, low, m, w, to, some, place, taken):
    """Puts up to ``COUNTED`` keys from ``low`` on in order: each behind as many as are less, which is counted for eight at a time in
    vectors and without branches, and behind its equals that come earlier."""
    for i in range(m):
        some[i], taken[i] = v[u8(low + i)], 0
    for b in range(0, m, 8):
        r, p = some[b : b + 8], place[b : b + 8]
        a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = i4(0)
        r0, r1, r2, r3, r4, r5, r6, r7 = r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]
        for j in range(m):
            k = some[j]
            a0, a1, a2, a3 = a0 + i4(k < r0), a1 + i4(k < r1), a2 + i4(k < r2), a3 + i4(k < r3)
            a4, a5, a6, a7 = a4 + i4(k < r4), a5 + i4(k < r5), a6 + i4(k < r6), a7 + i4(k < r7)
        p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7] = a0, a1, a2, a3, a4, a5, a6, a7
    for i in range(m):
        p0 = u8(place[i])
        q = u8(low) + p0 + u8(taken[p0])
        taken[p0] += 1
        w[q], to[q] = v[u8(low + i)], at[u8(low + i)]


@register_jitable
def merged(v, at, left, middle, high, w, to):
    """Merges two runs without branches, which nobody could foresee; those of one length from both ends at once."""
    i, j, k = u8(left), u8(middle), u8(left)
    i1, j1, k1 = u8(middle) - u8(1), u8(high) - u8(1), u8(high) - u8(1)
    if middle - left == high - middle:
        for _ in range(high - middle):
            a, b = v[i], v[j]
            first = a <= b
            w[k], to[k] = (a if first else b), (at[i] if first else at[j])
            i, j, k = i + u8(first), j + u8(not first), k + u8(1)
            a, b = v[i1], v[j1]
            last = a <= b
            w[k1], to[k1] = (b if last else a), (at[j1] if last else at[i1])
            i1, j1, k1 = i1 - u8(not last), j1 - u8(last), k1 - u8(1)
        return
    while i < u8(middle) and j < u8(high):
        first = v[i] <= v[j]
        p = i if first else j
        w[k], to[k] = v[p], at[p]
        i, j, k = i + u8(first), j + u8(not first), k + u8(1)
    i = i if i < u8(middle) else j
    while k < u8(high):
        w[k], to[k] = v[i], at[i]
        i, k = i + u8(1), k + u8(1)


@register_jitable
def scanned(v, at, low, shift, w, to, places):
    """Sorts by a byte of the distance from the least key."""
    for i in range(256):
        places[i] = 0
    for i in range(v.size):
        places[((u8(i8(v[i])) - low) >> shift) & u8(255)] += 1
    total = 0
    for i in range(256):
        total, places[i] = total + places[i], total
    for i in range(v.size):
        digit = ((u8(i8(v[i])) - low) >> shift) & u8(255)
        place = u8(places[digit])
        w[place], to[place] = v[i], at[i]
        places[digit] += 1


@register_jitable
def _arranged(keys, marks, x, values, index, size, inner, flip, start, stop):
    x, values, index, step, n = borrowed(x), borrowed(values), borrowed(index), u8(inner), max(size, 4)
    v, w, some = borrowed(keys[:n]), borrowed(keys[n : 2 * n]), borrowed(keys[2 * n :])
    at, to, rest = borrowed(marks[:n]), borrowed(marks[n : 2 * n]), marks[2 * n :]
    taken, place, places = borrowed(rest[:COUNTED]), borrowed(rest[COUNTED : 2 * COUNTED]), borrowed(rest[2 * COUNTED :])
    some[:] = 0
    part = start // max(inner, 1)
    column = start - part * inner
    for _ in range(start, stop):
        first = u8(part * size * inner + column)
        column += 1
        if column == inner:
            part, column = part + 1, 0
        if size <= 4:  # in registers: neighbours are exchanged, and what is not there stays behind
            last = u8(size - 1)
            k = key(wide(x[first])) ^ flip
            l = key(wide(x[first + min(u8(1), last) * step])) ^ flip if size > 1 else LAST
            m = key(wide(x[first + min(u8(2), last) * step])) ^ flip if size > 2 else LAST
            o = key(wide(x[first + last * step])) ^ flip if size > 3 else LAST
            k, p, l, q = apart(k, u8(0), l, u8(1))
            m, r, o, s = apart(m, u8(2), o, u8(3))
            l, q, m, r = apart(l, q, m, r)
            k, p, l, q = apart(k, p, l, q)
            m, r, o, s = apart(m, r, o, s)
            l, q, m, r = apart(l, q, m, r)
            at[0], at[1], at[2], at[3] = p, q, r, s
        else:
            near = first
            for i in range(size):
                v[i], at[i] = key(wide(x[near])) ^ flip, i
                near += step
        if 4 < size <= COUNTED:
            counted(v, at, 0, size, w, to, some, place, taken)
            v, w, at, to = w, v, to, at
        elif size > COUNTED:
            low = v[0]
            for i in range(size):
                low = min(low, v[i])
            differ, passes = u8(0), 0  # of small numbers few bytes differ from the least's, whatever their signs
            for i in range(size):
                differ |= u8(i8(v[i])) - u8(i8(low))
            for byte in range(8):
                passes += 1 if (differ >> u8(8 * byte)) & u8(255) else 0
            if passes * SCANNED > size:
                run, left = RUN, 0
                while left < size:
                    counted(v, at, left, min(run, size - left), w, to, some, place, taken)
                    left += run
                v, w, at, to = w, v, to, at
                while run < size:
                    left = 0
                    while left < size:
                        merged(v, at, left, min(left + run, size), min(left + 2 * run, size), w, to)
                        left += 2 * run
                    v, w, at, to = w, v, to, at
                    run *= 2
            else:
                for byte in range(8):
                    if (differ >> u8(8 * byte)) & u8(255):
                        scanned(v, at, u8(i8(low)), u8(8 * byte), w, to, places)
                        v, w, at, to = w, v, to, at
        near = first
        for i in range(size if index.size else 0):
            index[near] = at[i]
            near += step
        near = first
        for i in range(size if values.size else 0):
            values[near] = x[first + u8(at[i]) * step]
            near += step


# Below, elements of rows lie `inner` apart, and a row after a row: an array (outer, size, inner), whose middle dimension is the rows'.


@kernel("r0[outer*size*inner] w0[outer*size*inner]? Q0[outer*size*inner]? i i i i (outer>=0) (inner>=0) (size>0) (size<2147483648) "
        ":outer*inner", dtypes="fdlEeB")
def arranged(x, values, index, outer, size, inner, descending, start, stop):
    """The numbers of each row in order, equal ones as they come, and where they were; either may be left out. Few are exchanged, or
    counted; runs of them are merged, and of long rows bytes sorted."""
    n = 2 * max(size, 4)
    keys, marks = room(x, n + COUNTED), np.empty(n + 2 * COUNTED + (256 if size > COUNTED else 0), i4)
    _arranged(keys, marks, x, values, index, size, inner, i8(-1) if descending else i8(0), start, stop)


@register_jitable
def keyed(x, first, size, inner, flip, v):
    """Puts the keys of a row one after the other, and gives how many are no numbers."""
    missing = 0
    if inner == 1:  # in vectors
        xs = x[first : first + size]
        for i in range(xs.size):
            value = wide(xs[i])
            v[i] = key(value) ^ flip
            missing += value != value
    else:
        for i in range(size):
            value = wide(x[first + i * inner])
            v[i] = key(value) ^ flip
            missing += value != value
    return missing


@register_jitable
def _top(scratch, x, values, index, size, inner, k, flip, in_order, start, stop):
    x, values, index = borrowed(x), borrowed(values), borrowed(index)
    kept = 1 if k == 1 and size >= 64 else min(k + 1, size)  # a heap of one keeps the first
    v, at, rest = borrowed(scratch[:size]), borrowed(scratch[size : 2 * size]), scratch[2 * size :]
    best, place = borrowed(rest[: FEW + 1]), borrowed(rest[FEW + 1 :])
    for r in range(start, stop):
        first, to = r // inner * size * inner + r % inner, r // inner * k * inner + r % inner
        if k <= FEW and (in_order or k == 1 or k * 64 <= size):  # one more than are asked for; where none is another's equal
            worst, count, ties, limit = i8(0), 0, 0, wide(x[first])
            for i in range(size):
                value = wide(x[first + i * inner])
                if count == kept and (value <= limit if flip else value >= limit):  # sooner than by keys; NaN is neither
                    continue
                w = key(value) ^ flip
                if count == kept and w >= worst:
                    continue
                j = min(count, kept - 1)
                count = j + 1
                while j > 0 and w < best[j - 1]:
                    best[j], place[j] = best[j - 1], place[j - 1]
                    j -= 1
                best[j], place[j] = w, i
                ties += j > 0 and best[j - 1] == w
                if ties == TIES:
                    break
                worst, limit = best[count - 1], wide(x[first + place[count - 1] * inner])
            equal = ties == TIES
            for i in range(1, count):
                equal |= best[i] == best[i - 1]
            if not equal:
                for i in range(k):
                    values[to + i * inner], index[to + i * inner] = x[first + place[i] * inner], place[i]
                continue
        keyed(x, first, size, inner, flip, v)
        for i in range(size):
            at[i] = i
        top_of(v, at, k, in_order != 0)
        for i in range(k):
            values[to + i * inner], index[to + i * inner] = x[first + at[i] * inner], at[i]


@kernel("r0[outer*size*inner] w0[outer*k*inner] Q0[outer*k*inner] i i i i i i (outer>=0) (inner>=0) (k>0) (k<=size) :outer*inner")
def top(x, values, index, outer, size, inner, k, largest, in_order, start, stop):
    """The least, or largest, of each row and their places, which are torch's among equal ones."""
    scratch = np.empty(2 * size + 2 * FEW + 2, i8)
    _top(scratch, x, values, index, size, inner, k, i8(-1) if largest else i8(0), in_order, start, stop)


@register_jitable
def narrowed(v, w, sample, n, k):
    """The key at place ``k`` of the order of the first ``n`` of ``v``, how many are less, and how many equal. Those between two of a sample
    are what is looked at next, in ``w`` and in ``v`` by turns; where neighbours in it are equal, those that are not equal to one."""
    before, alike = 0, False
    while n > SAMPLE:
        for i in range(SAMPLE):
            key, j = v[u8(i * n // SAMPLE)], u8(i)
            while j > u8(0) and sample[j - u8(1)] > key:
                sample[j] = sample[j - u8(1)]
                j -= u8(1)
            sample[j] = key
        at = k * SAMPLE // n
        low = high = sample[u8(at)]
        if not alike and low != sample[u8(max(at - 1, 0))] and low != sample[u8(min(at + 1, SAMPLE - 1))]:
            low, high = sample[u8(max(at - NEAR, 0))], sample[u8(min(at + NEAR, SAMPLE - 1))]
        less, within, m = 0, 0, u8(0)
        if low == high:
            for i in range(n):
                less += v[u8(i)] < low
                within += v[u8(i)] == low
            if less <= k < less + within:
                return low, before + less, within
        else:
            for i in range(n):
                key = v[u8(i)]
                less += key < low
                w[m] = key
                m += u8((key >= low) & (key <= high))
            within = i8(m)
        alike = within == n  # nothing was left out
        if less <= k < less + within:
            before, k, n = before + less, k - less, within
        else:
            below, m = k < less, u8(0)
            for i in range(n):
                key = v[u8(i)]
                w[m] = key
                m += u8(key < low if below else key > high)
            if not below:
                before, k = before + less + within, k - less - within
            n = i8(m)
        v, w = w, v
    for i in range(1, n):
        key, j = v[u8(i)], u8(i)
        while j > u8(0) and v[j - u8(1)] > key:
            v[j] = v[j - u8(1)]
            j -= u8(1)
        v[j] = key
    found, less, equal = v[u8(k)], 0, 0
    for i in range(n):
        less += v[u8(i)] < found
        equal += v[u8(i)] == found
    return found, before + less, equal


@register_jitable
def _kth(scratch, x, values, index, size, inner, k, what, start, stop):
    x, values, index = borrowed(x), borrowed(values), borrowed(index)
    v, at, sample = borrowed(scratch[:size]), borrowed(scratch[size : 2 * size]), borrowed(scratch[2 * size :])
    for r in range(start, stop):
        first, place = r // inner * size * inner + r % inner, k
        missing = keyed(x, first, size, inner, i8(0), v)
        if what == 1 and missing > 0:
            place = size - missing
        elif what == 2:
            place = max(size - missing - 1, 0) // 2
        found, before = 0, 0
        if what and size >= NARROWED:
            wanted, before, _ = narrowed(v, at, sample, size, place)
        else:
            for i in range(size):
                at[i] = i
            kth_of(v, at, place)
            found, wanted = at[place], v[place]
            for i in range(size if what else 0):
                before += v[i] < wanted
        if what:  # where equal keys were left does not matter
            found = 0
            while found < size:
                last, hits = min(found + BLOCK, size), 0
                for i in range(found, last):
                    hits += key(wide(x[u8(first + i * inner)])) == wanted
                if before + hits > place:
                    break
                before, found = before + hits, last
            for i in range(found, size):
                if key(wide(x[first + i * inner])) == wanted:
                    if before == place:
                        found = i
                        break
                    before += 1
        values[r], index[r] = x[first + found * inner], found


@kernel("r0[outer*size*inner] w0[outer*inner] Q0[outer*inner] i i i i i (outer>=0) (inner>=0) (k>=0) (k<size) :outer*inner")
def kth(x, values, index, outer, size, inner, k, what, start, stop):
    """The element that comes at place `k` in the order of each row, and its place: torch's among equal ones, or where `what` is not 0 the
    first. Of rows with NaN it is the first NaN where `what` is 1; where it is 2 they are taken without, and the middle."""
    scratch = np.empty(2 * size + SAMPLE, i8)
    _kth(scratch, x, values, index, size, inner, k, what, start, stop)


@register_jitable
def _modes(scratch, x, values, index, ordered, size, inner, start, stop):
    x, values, index, ordered = borrowed(x), borrowed(values), borrowed(index), borrowed(ordered)
    v, at, count = borrowed(scratch[:size]), borrowed(scratch[size : 2 * size]), borrowed(scratch[2 * size :])
    for r in range(start, stop):
        first, numbers = r // inner * size * inner + r % inner, size
        low = high = key(wide(x[first]))
        for i in range(size):
            value = wide(x[first + i * inner])
            k = key(value)
            v[i], at[i], low, high = k, i, min(low, k), max(high, k)
            numbers -= value != value
        longest, run, last = 0, 0, 0
        few = numbers == size and u8(high) - u8(low) < u8(min(COUNTS, 4 * size))  # which are counted
        if few:
            several = high - low + 1
            for i in range(several):
                count[i] = 0
            for i in range(size):
                count[v[i] - low] += 1
            for i in range(several):
                run += count[i]
                if count[i] > longest:
                    longest, last = count[i], run - 1
        else:
            row = ordered[r * size : r * size + size] if ordered.size else v
            if not ordered.size:
                sort(v, at, 0, size)
            for i in range(size):
                run = run + 1 if i > 0 and row[i] == row[i - 1] and i < numbers else 1
                if run > longest:
                    longest, last = run, i
        if few or ordered.size:
            sorted_at(v, at, last)
        index[r] = at[last]
        values[r] = x[first + at[last] * inner]


@kernel("r0[outer*size*inner] w0[outer*inner] Q0[outer*inner] q0[n] i i i (outer>=0) (inner>=0) (size>0) "
        "(n==0)|(n==outer*size*inner) :outer*inner")
def modes(x, values, index, ordered, outer, size, inner, start, stop):
    """The most frequent element of each row, the least of several, and its place: the last one after torch's sort. NaN, of which none is
    another's equal, come last. The keys of each row may have been sorted; those that lie close are counted."""
    scratch = np.empty(2 * size + COUNTS, i8)
    _modes(scratch, x, values, index, ordered, size, inner, start, stop)


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


@kernel("r0[n*dims] r1[m] Q1[n] i i i (m>1) (dims>0) (d>=0) (d<dims) :n")
def boxed(x, edges, at, dims, d, regular, start, stop):
    """The box of each point in a grid, so far as the dimensions before tell, with that along one more, between edges in order: -1 for none.
    Where those lie regularly a division finds it but for a neighbour, else halving."""
    last, step, lines = u8(edges.size - 2), u8(dims), i8(edges.size - 1)
    low, high = edges[0], edges[edges.size - 1]
    scale = lines / (np.float64(high) - np.float64(low)) if high > low else 0.0
    near = u8(start) * step + u8(d)
    for i in range(u8(start), u8(stop)):
        v, before = x[near], at[i]
        near += step
        place = u8(0)
        if before < 0 or not (low <= v <= high):
            at[i] = -1
            continue
        if regular:
            guess = (np.float64(v) - np.float64(low)) * scale
            place = min(u8(guess) if guess > 0.0 else u8(0), last)
            while place > u8(0) and edges[place] > v:
                place -= u8(1)
            while place < last and edges[place + u8(1)] <= v:
                place += u8(1)
        else:
            left = last + u8(1)  # edges among which the last that is not above it lies
            while left > u8(1):
                half = left >> u8(1)
                place = place + half if edges[place + half] <= v else place
                left -= half
        at[i] = before * lines + i8(place)
