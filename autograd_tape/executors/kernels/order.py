"""Orders along an axis by compiled code.  Numbers of every dtype become int64 keys in the same order, so that there is one kernel of each
kind: NaN is the largest and equal to itself, -0 is 0.

Results are those of the NumPy compositions in `ops/reductions/order.py`, so kernels that are at hand already serve small arrays, too.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from . import sharing
from ._on_demand import _NEVER, HAS_VECTORS, LazyModule, at_hand, contiguous, keep, state
from .handy import LITTLE, Handy, Run
from ...strided import empty_in_order

__all__ = ["arranged", "bisect", "boxed", "fits", "keys", "kth", "median", "modes", "ordered", "picked", "rows_of", "runs", "selected",
           "top"]

_compiled = LazyModule("order")


def fits(size: int) -> bool:
    """Whether compiled code is worth its loading for so many elements, or loaded."""
    return size >= state.fused or size >= 64 and state.mode in ("auto", "kept") and at_hand()


def keys(x: np.ndarray) -> np.ndarray:
    """Integers (int64) in the order of real numbers.

    >>> keys(np.array([0.0, -0.0, -np.nan], np.float32)).tolist()
    [0, 0, 2139095041]
    """
    if x.dtype.kind == "u" and x.itemsize == 8:
        return (x ^ np.uint64(1 << 63)).view(np.int64)
    if x.dtype.kind in "iub":
        return x.astype(np.int64, copy=False)
    wide: np.ndarray = x if x.dtype.char in "fd" and x.dtype.isnative else x.astype(np.float64 if x.itemsize > 4 else np.float32)
    if wide.flags.carray and (fits(wide.size) or _keys.of(wide.dtype.char, wide.size) is not None):
        made = np.empty(wide.shape, np.int64)
        if wide.size < state.fused:
            _keys.surely(wide.dtype.char)(wide.size, 1, wide.reshape(-1), made.reshape(-1))
        else:
            sharing.share_elements(_compiled.keys_of, wide.dtype.char, wide.size, wide.reshape(-1), made.reshape(-1))
        return made
    single = wide.itemsize == 4
    bits: np.ndarray = (wide + 0.0).view(np.int32 if single else np.int64)  # -0 + 0 is 0
    found: np.ndarray = bits >> (31 if single else 63)
    found &= 0x7FFFFFFF if single else 0x7FFFFFFFFFFFFFFF
    found ^= bits
    nan = 0x7F800001 if single else 0x7FF0000000000001  # one above infinity
    if found.size and (np.maximum.reduce(found, None) >= nan or np.minimum.reduce(found, None) <= -nan):
        np.putmask(found, wide != wide, nan)
    return found.astype(np.int64, copy=False)


_selected, _runs = Handy("lines", "selected"), Handy("lines", "runs")


def selected(x: np.ndarray, k: int) -> np.ndarray | None:
    """The element at place ``k`` of the order of all of an array that lies closely. None where something is no number, or no kernel is at
    hand.

    >>> (found := selected(np.array([3, 1, 2]), 1)) is None or int(found) == 2
    True
    """
    char, flags = x.dtype.char, x.flags
    if char not in "fdleEB" or not flags.forc or not flags.behaved or (run := _selected.of(char, x.size)) is None:
        return None
    y, missing = _empty((), x.dtype), _empty(1, _INT64)
    run(1, 1, x if flags.c_contiguous else x.T, y, missing, k, x.itemsize)
    return None if missing[0] else y


def runs(line: np.ndarray, inverse: bool, counts: bool) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None] | None:
    """The first elements of runs of equal ones, which run each element is in, and how long they are; None where that is not asked for.
    None for all where no kernel is at hand.

    >>> (found := runs(np.array([2.0, 2.0, 1.0]), False, True)) is None or found[0].tolist() == [2, 1]
    True
    """
    given, n = line.dtype, line.size
    if (char := given.char) in "?bhi":
        line = line.view(np.uint8) if given.itemsize == 1 else line.astype(np.int64)
        char = line.dtype.char
    if char not in "fdlEeB" or not n or not line.flags.carray or (run := _runs.of(char, n)) is None:
        return None
    values, many = _empty(n, line.dtype), _empty(1, _INT64)
    places, lengths = [_empty(n if asked else 0, _INT64) for asked in (inverse, counts)]
    run(1, 1, line, values, places, lengths, many)
    k = int(many[0])
    values = values[:k].copy()
    return (values.view(given) if line.itemsize == 1 else values.astype(given, copy=False), places if inverse else None,
            lengths[:k].copy() if counts else None)


def rows_of(x: np.ndarray, d: int) -> np.ndarray:
    """(rows, elements) with the axis `d` last, C-contiguous."""
    if d != x.ndim - 1:
        x = x.transpose(*range(d), *range(d + 1, x.ndim), d)
    return np.ascontiguousarray(x).reshape(prod(x.shape[:-1]), x.shape[-1])


def picked(rows: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The elements of each row at the places in the same row of `index`, or at its one place."""
    if len(rows) > 1:
        index = index + (np.arange(len(rows)) * rows.shape[1]).reshape((-1,) + (1,) * (index.ndim - 1))
    return rows.reshape(-1).take(index)


#: Lengths of rows whose keys are sorted together with their places where NumPy sorts integers in vectors, or nothing is compiled.
_PACKED = range(8, 2048)
#: Lengths of rows of bytes that NumPy sorts sooner as they are.
_BYTES = 256
#: Lengths up to which the kernel counts what comes before each, which is quicker than NumPy with vectors, too.
_COUNTED = 64


def ordered(rows: np.ndarray, descending: bool) -> np.ndarray:
    """The places of each row's elements in order, equal ones as they come."""
    if (found := arranged(rows, 1, descending, False)) is not None:
        return found[1]
    if rows.dtype.itemsize == 1 and rows.shape[1] >= _BYTES and rows.dtype.kind in "iub":  # which NumPy counts
        return (~rows if descending else rows).argsort(1, kind="stable")
    key = keys(rows)
    if descending:
        key = ~key
    if rows.shape[1] in _PACKED and (places := _packed(key, rows.dtype)) is not None:
        return places
    return key.argsort(1, kind="stable")


#: What holds the numbers of other dtypes than the kernel's.
_HELD = {c: np.dtype(np.int64) for c in "bhHiIq"} | {"?": np.dtype(np.uint8)}
#: Lengths of rows of integers of one or two bytes that NumPy sorts sooner, whose keys no longer stay in the cache.
_DIGITS = 1 << 16
#: Elements that nobody shares.
_ALONE = 2048


def arranged(x: np.ndarray, d: int, descending: bool, values: bool = True, places: bool = True) -> tuple[np.ndarray, np.ndarray] | None:
    """The elements along `d` in order, equal ones as they come, and where they were, both laid out like `x`; an empty array in place of
    what is not asked for. None where a kernel is not worth its loading, or NumPy is quicker."""
    given, shape, size = x.dtype, x.shape, x.size
    kind, n = given, shape[d]
    if given.itemsize <= 2 and given.kind in "iu" and n >= _DIGITS and x.flags.c_contiguous and d == x.ndim - 1:
        return _by_digits(x, descending, values, places)
    if (char := given.char) not in "fdlEeB":
        if (kind := _HELD.get(char, given)) is given:
            return None
        char = kind.char
    if not size or n > _COUNTED and (n >= 1 << 31 or HAS_VECTORS and n in _PACKED):
        return None
    if (run := _arranged.of(char, size)) is None and not fits(size):
        return None
    found: tuple[np.ndarray, np.ndarray]
    flags = x.flags
    if flags.carray:
        found = lying = _empty(shape if values else 0, kind), _empty(shape if places else 0, _INT64)
    elif flags.fnc and flags.behaved and 1 not in shape:
        x, d = x.T, len(shape) - 1 - d
        shape = x.shape
        lying = _empty(shape if values else 0, kind), _empty(shape if places else 0, _INT64)
        found = lying[0].T, lying[1].T
    else:  # rows of what lies as the results do
        found = (empty_in_order(x, kind) if values else _empty(0, kind)), (empty_in_order(x, _INT64) if places else _empty(0, _INT64))
        order = _by_steps(found[not values].strides)
        x, d = np.ascontiguousarray(x.transpose(order)), order.index(d)
        shape, lying = x.shape, (found[0].transpose(order) if values else found[0], found[1].transpose(order) if places else found[1])
    if kind is not given:
        x = x.view(kind) if char == "B" else x.astype(kind)
    outer, inner = prod(shape[:d]), prod(shape[d + 1:])
    if run is not None and size <= _ALONE:
        run(outer * inner, 1, x, *lying, outer, n, inner, descending)
    else:
        _arranged.share(char, outer * inner, n, 16, x, *lying, outer, n, inner, descending)
    if kind is not given and values:
        return found[0].view(given) if char == "B" else found[0].astype(given), found[1]
    return found


@lru_cache(512)
def _by_steps(strides: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of an array from the one with the longest steps on."""
    return tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))


def _by_digits(x: np.ndarray, descending: bool, values: bool, places: bool) -> tuple[np.ndarray, np.ndarray]:
    """`arranged` rows of integers of one or two bytes, which NumPy sorts digit by digit."""
    if not places:
        found = np.sort(x, -1, kind="stable")
        return np.ascontiguousarray(found[..., ::-1]) if descending else found, _empty(0, _INT64)
    at = (~x if descending else x).argsort(-1, kind="stable")
    if not values:
        return _empty(0, x.dtype), at
    n = x.shape[-1]
    return picked(x.reshape(-1, n), at.reshape(-1, n)).reshape(x.shape), at


_empty, _INT64 = np.empty, np.dtype(np.int64)


def _packed(key: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """The order of rows of a dtype by one sort of integers whose last bits are the place. Where keys are too wide for that they lose as
    many, and the order is looked at: None where that was not enough.

    >>> _packed(np.array([[5, -1, 5, 0]]), np.dtype(np.int64)).tolist()
    [[1, 3, 0, 2]]
    """
    n = key.shape[1]
    if not key.size:
        return np.empty(key.shape, np.int64)
    bits = (n - 1).bit_length()
    places, mask, narrow = np.arange(n), (1 << bits) - 1, dtype.itemsize < 8
    if not narrow and dtype.kind != "f":
        low, high = int(np.minimum.reduce(key, None)), int(np.maximum.reduce(key, None))
        if narrow := high - low < 1 << (63 - bits):
            key = key - low
    packed = key << bits if narrow else key & ~mask
    packed |= places
    packed.sort(1)
    packed &= mask
    if not narrow:
        found = picked(key, packed)
        if np.count_nonzero(found[:, 1:] < found[:, :-1]):
            return None
    return packed


_SIMILAR = {c: np.dtype(np.int64) for c in "?bBhHiIqQ"}
"""The dtypes that hold what others do of which the kernels below know nothing: they take floating-point numbers and int64."""


_Way = tuple[Run, np.dtype, int, tuple[int, ...], tuple[int, int, int]]
"""What runs a kernel, the dtype that it takes, how many rows there are, the shape of what is found, and (outer, size, inner)."""
_ways: dict[tuple[Any, ...], _Way] = {}  # by all that they depend on, which costs one look


def _found(hand: Handy, x: np.ndarray, d: int, sizes: tuple[int, ...], *numbers: int,
           beside: tuple[np.ndarray, ...] = ()) -> tuple[np.ndarray, np.ndarray] | None:
    """What a kernel finds along `d`, so that the results have `sizes` there, and the places; None where that is not worth its loading. It
    may need arrays `beside` the given one."""
    if state.fused == _NEVER:
        return None
    given = x.dtype
    key = hand, x.shape, given.char, d, sizes
    if (way := _ways.get(key)) is None:
        shape = x.shape[:d] + sizes + x.shape[d + 1:]
        if x.shape[d] == 1:  # each is all there is
            return np.array(x, order="C").reshape(shape), np.zeros(shape, np.int64)
        if (way := _to_find(key, x, shape)) is None:
            return None
    run, kind, rows, shape, lines = way
    if kind is not given:
        x = x.astype(kind, "C")
    elif not (flags := x.flags).c_contiguous or not flags.behaved:
        x = x.copy()
    values, index = _empty(shape, kind), _empty(shape, _INT64)
    run(rows, 1, x, values, index, *beside, *lines, *numbers)
    return values if kind is given else values.astype(given), index


def _to_find(key: tuple[Any, ...], x: np.ndarray, shape: tuple[int, ...]) -> _Way | None:
    """The way to a kernel that `_found` calls, which is kept; None where it is not worth its loading."""
    hand, had, char, d, _ = key
    kind = x.dtype if char in "fdEel" else _SIMILAR.get(char)
    if kind is None or hand.of(kind.char, x.size) is None and not fits(x.size):
        return None
    run, lines = hand.surely(kind.char), (prod(had[:d]), had[d], prod(had[d + 1:]))
    if x.size * 8 >= LITTLE:
        def run(rows: int, _: int, *given: Any) -> None:
            hand.share(kind.char, rows, lines[1], 8, *given)
    return keep(_ways, key, (run, kind, lines[0] * lines[2], shape, lines), 1024)


def top(x: np.ndarray, d: int, k: int, largest: bool, in_order: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """The `k` best along `d`, and their places, as torch finds them; None where a kernel is not worth its loading."""
    return _found(_top, x, d, (k,), k, largest, in_order)


def kth(x: np.ndarray, d: int, k: int, sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray] | None:
    """The element at place `k` of the order along `d`, and its place, as torch finds it; None as above."""
    return _found(_kth, x, d, sizes, k, 0)


def median(x: np.ndarray, d: int, sizes: tuple[int, ...], skip_nan: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """The lower median along `d`, and its place, the first in the stable order: NaN where there is one, unless they are skipped."""
    return _found(_kth, x, d, sizes, (x.shape[d] - 1) // 2, 2 if skip_nan else 1)


def modes(x: np.ndarray, d: int, sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray] | None:
    """The most frequent element along `d`, and its place, as torch finds it; of numbers that are none NaN, or few."""
    ordered = _UNORDERED
    # Of shorter rows all are sorted by insertion, and integers that lie close are counted.
    if x.shape[d] in _PACKED and x.shape[d] > 16 and fits(x.size) and not (x.dtype.kind in "iub" and _lie_close(x)):
        ordered = np.sort(keys(rows_of(x, d)), 1)
    return _found(_modes, x, d, sizes, beside=(ordered,))


_UNORDERED = np.empty(0, np.int64)


def _lie_close(x: np.ndarray) -> bool:
    """Whether few different integers can be among these."""
    return x.itemsize == 1 or int(np.maximum.reduce(x, None)) - int(np.minimum.reduce(x, None)) < _COUNTS


_COUNTS = 64


def bisect(sequence: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray | None:
    """Where values go into a sequence, or those of each row into its row; of one dtype."""
    char, many, size = sequence.dtype.char, values.size, sequence.shape[-1]
    if char not in "fdEel" or values.dtype is not sequence.dtype or not many:
        return None
    if (run := _bisected.of(char, many)) is None and not fits(many):
        return None
    found = _empty(values.shape, _INT64)
    if run is not None and many <= _ALONE and sequence.ndim == 1 and sequence.flags.carray and values.flags.carray:
        run(many, 1, sequence, values, found, 1, size, many, right)
        return found
    rows = sequence.size // size if size and sequence.ndim > 1 else 1
    if many % rows:
        return None
    _bisected.share(char, many, 1, 8, contiguous(sequence), contiguous(values), found, rows, size, many // rows, right)
    return found


def boxed(points: np.ndarray, edges: list[np.ndarray], regular: bool) -> np.ndarray | None:
    """In which box of a grid each point (n, dimensions) is, -1 for none; `edges` are in order along each dimension, or `regular`. None
    where a kernel is not worth its loading."""
    char, (n, dims) = points.dtype.char, points.shape
    if char not in "fd" or _boxed.of(char, points.size) is None and not fits(points.size):
        return None
    points, at = contiguous(points), np.zeros(n, np.int64)
    for d, border in enumerate(edges):
        _boxed.share(char, n, 1, 8, points, contiguous(border), at, dims, d, regular)
    return at


_top, _kth, _modes, _bisected, _keys, _arranged, _boxed = [
    Handy("order", name) for name in ("top", "kth", "modes", "bisected", "keys_of", "arranged", "boxed")]
