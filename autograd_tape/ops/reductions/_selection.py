"""Which of several equal elements an unstable selection finds: torch's, which is that of the GNU C++ library (`nth_element`, `sort`,
`partial_sort`: Musser's introselect and introsort) for `topk`, and a quickselect of its own (Hoare's, median of three) for `kthvalue`.

Values do not depend on it, indices do. Items are compared by `before(a, b)` on their values; positions go along.
"""

from __future__ import annotations

from collections.abc import Callable

Items = list[tuple[int, int]]
Before = Callable[[tuple[int, int], tuple[int, int]], bool]


def top(values: list[int], k: int, largest: bool, ordered: bool) -> list[int]:
    """The positions of the `k` largest, or smallest, in the order torch gives them in.

    >>> top([1, 2, 2, 2, 1, 2], 2, True, True)
    [3, 5]
    """
    items: Items = [(v, i) for i, v in enumerate(values)]
    before: Before = (lambda a, b: a[0] > b[0]) if largest else (lambda a, b: a[0] < b[0])
    n = len(items)
    if not k:
        return []
    if k * 64 <= n:
        _heap_select(items, 0, k, n, before)
        _sort_heap(items, 0, k, before)
    else:
        _nth_element(items, k - 1, before)
        if ordered:
            _sort(items, 0, k - 1, before)
    return [i for _, i in items[:k]]


def kth(values: list[int], k: int) -> int:
    """The position of the `k`-th smallest (from 0)."""
    v, at = list(values), list(range(len(values)))

    def swap(i: int, j: int) -> None:
        v[i], v[j], at[i], at[j] = v[j], v[i], at[j], at[i]

    low, high = 0, len(v) - 1
    while high > low:
        if high == low + 1:
            if v[low] > v[high]:
                swap(low, high)
            break
        swap(low + (high - low) // 2, low + 1)
        if v[low + 1] > v[high]:
            swap(low + 1, high)
        if v[low] > v[high]:
            swap(low, high)
        if v[low + 1] > v[low]:
            swap(low + 1, low)
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
            swap(i, j)
        swap(low, j)
        if j <= k:
            low = i
        if j >= k:
            high = j - 1
    return at[k]


# -- selection and sorting as the GNU C++ library does them -----------------------------------------------------------------


def _nth_element(a: Items, nth: int, before: Before) -> None:
    first, last = 0, len(a)
    depth = 2 * (len(a).bit_length() - 1)
    while last - first > 3:
        if not depth:
            _heap_select(a, first, nth + 1, last, before)
            a[first], a[nth] = a[nth], a[first]
            return
        depth -= 1
        cut = _partition(a, first, last, before)
        if cut <= nth:
            first = cut
        else:
            last = cut
    _insertion_sort(a, first, last, before)


def _sort(a: Items, first: int, last: int, before: Before) -> None:
    if first == last:
        return
    _introsort(a, first, last, 2 * ((last - first).bit_length() - 1), before)
    if last - first > 16:
        _insertion_sort(a, first, first + 16, before)
        for i in range(first + 16, last):
            _insert(a, i, before)
    else:
        _insertion_sort(a, first, last, before)


def _introsort(a: Items, first: int, last: int, depth: int, before: Before) -> None:
    while last - first > 16:
        if not depth:
            _heap_select(a, first, last, last, before)
            _sort_heap(a, first, last, before)
            return
        depth -= 1
        cut = _partition(a, first, last, before)
        _introsort(a, cut, last, depth, before)
        last = cut


def _partition(a: Items, first: int, last: int, before: Before) -> int:
    x, y, z = first + 1, first + (last - first) // 2, last - 1
    if before(a[x], a[y]):
        middle = y if before(a[y], a[z]) else z if before(a[x], a[z]) else x
    else:
        middle = x if before(a[x], a[z]) else z if before(a[y], a[z]) else y
    a[first], a[middle] = a[middle], a[first]
    pivot, i, j = a[first], first + 1, last
    while True:
        while before(a[i], pivot):
            i += 1
        j -= 1
        while before(pivot, a[j]):
            j -= 1
        if i >= j:
            return i
        a[i], a[j] = a[j], a[i]
        i += 1


def _insertion_sort(a: Items, first: int, last: int, before: Before) -> None:
    for i in range(first + 1, last):
        if before(a[i], a[first]):
            a.insert(first, a.pop(i))
        else:
            _insert(a, i, before)


def _insert(a: Items, i: int, before: Before) -> None:
    item, j = a[i], i - 1
    while before(item, a[j]):
        a[j + 1] = a[j]
        j -= 1
    a[j + 1] = item


def _heap_select(a: Items, first: int, middle: int, last: int, before: Before) -> None:
    n = middle - first
    for parent in range((n - 2) // 2, -1, -1):
        _adjust(a, first, parent, n, a[first + parent], before)
    for i in range(middle, last):
        if before(a[i], a[first]):
            item, a[i] = a[i], a[first]
            _adjust(a, first, 0, n, item, before)


def _sort_heap(a: Items, first: int, last: int, before: Before) -> None:
    while last - first > 1:
        last -= 1
        item, a[last] = a[last], a[first]
        _adjust(a, first, 0, last - first, item, before)


def _adjust(a: Items, first: int, hole: int, n: int, item: tuple[int, int], before: Before) -> None:
    root = child = hole
    while child < (n - 1) // 2:
        child = 2 * (child + 1)
        if before(a[first + child], a[first + child - 1]):
            child -= 1
        a[first + hole] = a[first + child]
        hole = child
    if not n & 1 and child == (n - 2) // 2:
        child = 2 * (child + 1)
        a[first + hole] = a[first + child - 1]
        hole = child - 1
    parent = (hole - 1) // 2
    while hole > root and before(a[first + parent], item):
        a[first + hole] = a[first + parent]
        hole, parent = parent, (parent - 1) // 2
    a[first + hole] = item
