"""Selection and sorting of items that leave equal ones where torch does: those of the GNU C++ library (`nth_element`, `sort`,
`partial_sort`: Musser's introselect and introsort) for `topk` and `mode`, and a quickselect of its own (Hoare's, median of three) for
`kthvalue`.  Values do not depend on it, positions do.

Items are keys `v`, in ascending order, and positions `at` that go along with them: two lists, or in compiled code (`compiled/order.py`)
two arrays.  Both are changed in place.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Items = list[int] | npt.NDArray[np.int64]
"""What is sorted, or goes along."""


def top(v: Items, at: Items, k: int, ordered: bool) -> None:
    """Brings the `k` least to the front, in order where it should be.

    >>> at = [0, 1, 2, 3, 4, 5]
    >>> top([-1, -2, -2, -2, -1, -2], at, 2, True)
    >>> at[:2]
    [3, 5]
    """
    n = len(v)
    if k * 64 <= n:
        heap_select(v, at, 0, k, n)
        sort_heap(v, at, 0, k)
    else:
        nth_element(v, at, k - 1)
        if ordered:
            sort(v, at, 0, k - 1)


def kth(v: Items, at: Items, k: int) -> None:
    """Brings the `k`-th least (from 0) to its place."""
    low, high = 0, len(v) - 1
    while high > low:
        if high == low + 1:
            if v[low] > v[high]:
                swap(v, at, low, high)
            break
        swap(v, at, low + (high - low) // 2, low + 1)
        if v[low + 1] > v[high]:
            swap(v, at, low + 1, high)
        if v[low] > v[high]:
            swap(v, at, low, high)
        if v[low + 1] > v[low]:
            swap(v, at, low + 1, low)
        i, j, pivot = low + 1, high, v[low]
        while True:
            i += 1
            while pivot > v[i]:
                i += 1
            j -= 1
            while v[j] > pivot:
                j -= 1
            if j < i:
                break
            swap(v, at, i, j)
        swap(v, at, low, j)
        if j <= k:
            low = i
        if j >= k:
            high = j - 1


def swap(v: Items, at: Items, i: int, j: int) -> None:
    v[i], v[j] = v[j], v[i]
    at[i], at[j] = at[j], at[i]


def nth_element(v: Items, at: Items, nth: int) -> None:
    first, last, depth = 0, len(v), twice_log(len(v))
    while last - first > 3:
        if not depth:
            heap_select(v, at, first, nth + 1, last)
            swap(v, at, first, nth)
            return
        depth -= 1
        cut = partition(v, at, first, last)
        if cut <= nth:
            first = cut
        else:
            last = cut
    insertion_sort(v, at, first, last)


def twice_log(n: int) -> int:
    depth = 0
    while n > 1:
        n >>= 1
        depth += 2
    return depth


def sort(v: Items, at: Items, first: int, last: int) -> None:
    """Introsort: parts of more than 16 items are split around a median of three, at last all are sorted by insertion."""
    if last - first <= 16:
        insertion_sort(v, at, first, last)
        return
    waiting = np.empty((130, 3), np.int64)  # parts; the depth is at most 126
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = first, last, twice_log(last - first)
    count = 1
    while count:
        count -= 1
        low, high, depth = int(waiting[count, 0]), int(waiting[count, 1]), int(waiting[count, 2])
        while high - low > 16:
            if not depth:
                heap_select(v, at, low, high, high)
                sort_heap(v, at, low, high)
                break
            depth -= 1
            cut = partition(v, at, low, high)
            waiting[count, 0], waiting[count, 1], waiting[count, 2] = cut, high, depth
            count += 1
            high = cut
    insertion_sort(v, at, first, last)


def sorted_at(v: Items, at: Items, place: int) -> None:
    """Brings the item to its place that `sort` would bring there: only the parts that hold the place are split."""
    low, high, depth = 0, len(v), twice_log(len(v))
    while high - low > 16:
        if not depth:
            heap_select(v, at, low, high, high)
            sort_heap(v, at, low, high)
            return
        depth -= 1
        cut = partition(v, at, low, high)
        if cut <= place:
            low = cut
        else:
            high = cut
    insertion_sort(v, at, low, high)


def partition(v: Items, at: Items, first: int, last: int) -> int:
    x, y, z = first + 1, first + (last - first) // 2, last - 1
    if v[x] < v[y]:
        middle = y if v[y] < v[z] else z if v[x] < v[z] else x
    else:
        middle = x if v[x] < v[z] else z if v[y] < v[z] else y
    swap(v, at, first, middle)
    pivot, i, j = v[first], first + 1, last
    while True:
        while v[i] < pivot:
            i += 1
        j -= 1
        while pivot < v[j]:
            j -= 1
        if i >= j:
            return i
        swap(v, at, i, j)
        i += 1


def insertion_sort(v: Items, at: Items, first: int, last: int) -> None:
    for i in range(first + 1, last):
        value, place, j = v[i], at[i], i
        while j > first and value < v[j - 1]:
            v[j], at[j] = v[j - 1], at[j - 1]
            j -= 1
        v[j], at[j] = value, place


def heap_select(v: Items, at: Items, first: int, middle: int, last: int) -> None:
    n = middle - first
    for parent in range((n - 2) // 2, -1, -1):
        adjust(v, at, first, parent, n, v[first + parent], at[first + parent])
    for i in range(middle, last):
        if v[i] < v[first]:
            value, place = v[i], at[i]
            v[i], at[i] = v[first], at[first]
            adjust(v, at, first, 0, n, value, place)


def sort_heap(v: Items, at: Items, first: int, last: int) -> None:
    while last - first > 1:
        last -= 1
        value, place = v[last], at[last]
        v[last], at[last] = v[first], at[first]
        adjust(v, at, first, 0, last - first, value, place)


def adjust(v: Items, at: Items, first: int, hole: int, n: int, value: int, place: int) -> None:
    root = child = hole
    while child < (n - 1) // 2:
        child = 2 * (child + 1)
        if v[first + child] < v[first + child - 1]:
            child -= 1
        v[first + hole], at[first + hole] = v[first + child], at[first + child]
        hole = child
    if not n & 1 and child == (n - 2) // 2:
        child = 2 * (child + 1)
        v[first + hole], at[first + hole] = v[first + child - 1], at[first + child - 1]
        hole = child - 1
    parent = (hole - 1) // 2
    while hole > root and v[first + parent] < value:
        v[first + hole], at[first + hole] = v[first + parent], at[first + parent]
        hole, parent = parent, (parent - 1) // 2
    v[first + hole], at[first + hole] = value, place
