"""Strided views of NumPy arrays: the arithmetic of shapes and strides that views are made of.

NumPy's own `as_strided` costs several microseconds and hides the owner of the memory; an array constructed over its owner's
buffer costs a fraction of that, keeps `.base` an array, and is checked against the bounds of the memory.
"""

from __future__ import annotations

import ctypes
import sys
from copy import deepcopy
from functools import lru_cache
from math import prod
from typing import Any
from collections.abc import Sequence

import numpy as np

from .errors import AutogradError

_ndarray = np.ndarray
_new = np.ndarray.__new__


def owner_of(a: np.ndarray) -> np.ndarray:
    """The array that owns the memory of `a`: its storage."""
    base = a.base
    while isinstance(base, _ndarray):
        a, base = base, base.base
    return a


def address(a: np.ndarray) -> int:
    """Where the first element of `a` lies; of what is no array, its geometry."""
    if a.__class__ is _ndarray and _READS_HEADS:
        return _word(id(a) + _HEAD).value or 0
    return (a if isinstance(a, _ndarray) else a.geometry).__array_interface__["data"][0]


def pointer(a: np.ndarray) -> ctypes.c_void_p:
    """The address as functions of C take it, for as long as the array is there."""
    return _word(id(a) + _HEAD) if a.__class__ is _ndarray and _READS_HEADS else ctypes.c_void_p(address(a))


#: An array's object begins with Python's own part, then says where its memory is. To ask NumPy for that costs two microseconds.
_HEAD, _word = object.__basicsize__, ctypes.c_void_p.from_address
_TRIED = np.zeros(3)[1:]
_READS_HEADS = sys.implementation.name == "cpython" and _word(id(_TRIED) + _HEAD).value == _TRIED.__array_interface__["data"][0]


def storage_offset(a: np.ndarray) -> int:
    """Where the first element of `a` lies in its storage, in elements. What has a geometry and no memory tells it itself (`offset`).

    >>> storage_offset(np.arange(6)[2:])
    2
    """
    if not isinstance(a, _ndarray):
        return a.offset
    if a.base is None:
        return 0
    owner = owner_of(a)
    if a.nbytes == owner.nbytes and a.flags.c_contiguous:  # all of it
        return 0
    if not owner.size:
        return 0
    return (address(a) - address(owner)) // a.itemsize


def _in_memory_order(a: np.ndarray) -> np.ndarray:
    """A dense array with its axes as they lie in memory: row-major."""
    return a.transpose(sorted(range(a.ndim), key=lambda d: -a.strides[d]))


def strided(a: np.ndarray, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> np.ndarray:
    """A view of the storage of `a`; `strides` and `offset` in bytes, the offset from the first element of `a`.

    >>> strided(np.arange(6), (3,), (16,)).tolist()
    [0, 2, 4]
    """
    if offset >= 0 and a.__class__ is _ndarray and ((flags := a.flags).c_contiguous or flags.f_contiguous):
        try:
            return _new(_ndarray, shape, a.dtype, a if flags.c_contiguous else a.T, offset, strides)
        except (TypeError, ValueError):
            pass  # reaches beyond `a` itself
    owner = owner_of(a)
    flat = owner if owner.flags.c_contiguous else _in_memory_order(owner)
    if 0 in shape and flat.flags.c_contiguous:
        return _new(_ndarray, shape, a.dtype, flat, 0, strides)  # an offset may lie behind the last element then
    if flat.flags.c_contiguous and a.size:
        return _new(_ndarray, shape, a.dtype, flat, address(a) - address(owner) + offset, strides)
    view = np.lib.stride_tricks.as_strided(a, shape, strides)
    if offset:
        raise ValueError("no offset into memory that is not one block")
    return view


def stretch(a: np.ndarray, span: int) -> np.ndarray:
    """So many elements of memory from the first of `a` on, flat.

    >>> stretch(np.arange(6).reshape(2, 3)[:, 1:], 5).tolist()
    [1, 2, 3, 4, 5]
    """
    owner = a.base
    if owner.__class__ is _ndarray and owner.base is None and owner.flags.c_contiguous and a.__class__ is _ndarray and _READS_HEADS:
        return _new(_ndarray, (span,), a.dtype, owner, _word(id(a) + _HEAD).value - _word(id(owner) + _HEAD).value)  # type: ignore[operator]
    return strided(a, (span,), (a.itemsize,))


def too_large(shape: Sequence[int], itemsize: int) -> AutogradError:
    """What torch says of a tensor that NumPy has no memory for.

    >>> too_large((2**62,), 8)
    AutogradError('Storage size calculation overflowed with sizes=[4611686018427387904]')
    """
    size = prod(shape) * itemsize
    if size >= 2 ** 63:
        return AutogradError(f"Storage size calculation overflowed with sizes={list(shape)}")
    return AutogradError(f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {size} bytes. Error code 12 (Cannot allocate "
                         "memory)")


def contiguous_strides(shape: Sequence[int], step: int = 1) -> tuple[int, ...]:
    """Row-major strides in units of `step`.

    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides = []
    for n in reversed(shape):
        strides.append(step)
        step *= n if n > 1 else 1
    return tuple(reversed(strides))


def dense_strides(shape: Sequence[int], *operands: Sequence[int]) -> tuple[int, ...]:
    """Strides (in elements) of a dense tensor whose dimensions are in the order of the operands' strides, the first that tells;
    where none does, as with expanded dimensions, the given order. (The rule of torch's `infer_dense_strides` and TensorIterator.)

    >>> dense_strides((2, 3), (1, 2)), dense_strides((2, 3), (0, 1))
    ((1, 2), (3, 1))
    """
    found, step = [0] * len(shape), 1
    for d in memory_order(shape, *operands)[0]:
        found[d] = step
        step *= max(shape[d], 1)
    return tuple(found)


def memory_order(shape: Sequence[int], *operands: Sequence[int]) -> tuple[list[int], bool]:
    """(the dimensions in the order of the operands' strides, the innermost first; whether there were two that no operand tells apart).

    >>> memory_order((2, 3), (1, 2)), memory_order((2, 3), (0, 1)), memory_order((2, 3), (-3, -1))
    (([0, 1], True), ([1, 0], False), ([1, 0], True))
    """
    n, told = len(shape), True
    order = list(range(n - 1, -1, -1))
    operands = tuple([[abs(s) for s in strides] for strides in operands])  # backwards, too, a longer step is further out

    def before(a: int, b: int) -> int:
        for strides in operands:
            if strides[a] == 0 or strides[b] == 0:
                continue
            if strides[a] != strides[b]:
                return -1 if strides[a] < strides[b] else 1
            if shape[a] > shape[b]:
                return 1
        return 0

    for i in range(1, n):
        at = i
        for j in range(i - 1, -1, -1):
            c = before(order[j], order[at])
            if c > 0:
                order[j], order[at] = order[at], order[j]
                at = j
            elif c < 0:
                break
            else:
                told = False
    return order, told


def by_memory(a: np.ndarray) -> tuple[int, ...]:
    """The dimensions of `a`, that with the longest steps first: the order in which torch draws random numbers.

    >>> by_memory(np.ones((2, 3, 4)).transpose(1, 2, 0))
    (2, 0, 1)
    """
    strides = dense_strides(a.shape, [s // a.itemsize for s in a.strides])
    return tuple(sorted(range(a.ndim), key=lambda d: (-strides[d], d)))


def _descends(strides: Sequence[int]) -> bool:
    """Whether no dimension has a longer step than one before it, those without a step aside."""
    last = 0
    for s in strides:
        if s:
            if s < 0:
                s = -s
            if last and s > last:
                return False
            last = s
    return True


def laid_out(result: np.ndarray, *operands: np.ndarray) -> np.ndarray:
    """What an elementwise operation computed of `operands`, in memory as torch has it: in the order of the first operand that has one.

    >>> x = np.ones((2, 3), order="F")
    >>> laid_out(x + np.ones((2, 3)), x, np.ones((2, 3))).strides
    (8, 16)
    """
    shape, flags, first = result.shape, result.flags, operands[0]
    if len(shape) < 2:
        return result
    if first.shape == shape and first.flags.f_contiguous and 1 not in shape and 0 not in shape:  # columns
        return result if flags.f_contiguous else result.copy("F")
    if flags.c_contiguous and all([a.flags.c_contiguous or _descends(a.strides) for a in operands]):
        return result  # the common case: slices, and expanded tensors
    strides, steps, order, back = _steps_of_first(shape, result.itemsize, tuple([(a.shape, a.strides, a.itemsize) for a in operands]))
    if result.strides == steps:
        return result
    if order is not None:
        return result.transpose(order).copy().transpose(back)
    copy = empty_strided(shape, strides, result.dtype)
    np.copyto(copy, result)
    return copy


@lru_cache(1024)
def _steps_of_first(shape: tuple[int, ...], item: int, operands: tuple[tuple[tuple[int, ...], tuple[int, ...], int], ...]
                    ) -> tuple[Sequence[int], tuple[int, ...], tuple[int, ...] | None, tuple[int, ...]]:
    """Dense strides in the order of the first operand that has one, in elements and in bytes, the order of dimensions that NumPy would lay
    out so, if there is one, and the way back. Operands are (shape, strides in bytes, bytes of an element)."""
    steps = []
    for own, strides, size in operands:
        if own:
            lead = len(shape) - len(own)
            steps.append([0] * lead + [0 if n == 1 != m else s // size for n, m, s in zip(own, shape[lead:], strides)])
    found = dense_strides(shape, *steps)
    order = tuple(sorted(range(len(shape)), key=lambda d: -found[d]))
    back = tuple([order.index(d) for d in range(len(shape))])
    laid = contiguous_strides([shape[d] for d in order])
    return found, tuple([s * item for s in found]), order if [laid[d] for d in back] == [*found] else None, back


def empty_strided(shape: Sequence[int], strides: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Fresh memory laid out by `strides`, in elements."""
    memory = np.empty(reach(shape, strides), dtype)
    step = memory.itemsize
    return _new(_ndarray, shape, dtype, memory, 0, [s * step for s in strides])


def reach(shape: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements of memory a geometry takes: one where it has none.

    >>> reach((2, 3), (4, 1)), reach((0, 3), (4, 1))
    (7, 1)
    """
    size = 1
    for n, s in zip(shape, strides):
        if not n:
            return 1
        size += (n - 1) * s
    return size


def empty_in_order(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Fresh memory of the shape of `a`, dense, with the dimensions in the order in which those of `a` lie."""
    shape, strides = a.shape, a.strides
    if a.__class__ is _ndarray and 1 not in shape and 0 not in shape and len(frozenset(strides)) == len(strides) \
            and min(strides, default=1) > 0:
        return np.empty_like(a, dtype, "K", False)  # NumPy goes by the steps, too, where they tell
    return empty_strided(a.shape, dense_strides(a.shape, [s // a.itemsize for s in a.strides]), dtype)


def copy_like(a: np.ndarray) -> np.ndarray:
    """A copy with the layout torch's `clone` gives: the same strides where they are dense, else dense in the same order."""
    if a.flags.c_contiguous:
        return a.copy()
    if 0 not in a.strides:
        return a.copy("K")
    result = empty_in_order(a, a.dtype)
    np.copyto(result, a)
    return result


def deep_copy(a: np.ndarray, memo: dict[int, Any]) -> np.ndarray:
    """A copy for `copy.deepcopy`: of the whole storage, once in `memo`, so that arrays that share memory do so afterwards."""
    owner = owner_of(a)
    if owner is a or a.__class__ is not _ndarray or not owner.flags.forc or owner.dtype.hasobject:
        return deepcopy(a, memo)
    whole = deepcopy(owner, memo)
    flat = whole if whole.flags.c_contiguous else whole.T
    return _new(_ndarray, a.shape, a.dtype, flat, address(a) - address(owner) if a.size else 0, a.strides)


def suggests_channels_last(a: np.ndarray) -> bool:
    """Whether the strides of (N, C, ...) are those of channels-last memory, dense or not. (The rule of torch's
    `is_channels_last_strides`.)"""
    return _suggests_channels_last(a.shape, a.strides, a.flags.c_contiguous)


@lru_cache(1024)
def _suggests_channels_last(shape: tuple[int, ...], strides: tuple[int, ...], in_rows: bool) -> bool:
    low = 0
    if not strides[1]:
        return False
    told = not in_rows  # by dimensions of several elements; the step of a column of pixels is what NumPy chose
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        if told and d > 1 and shape[d] == 1:
            continue
        if not shape[d] or strides[d] < low or not d and low == strides[1]:
            return False
        low = strides[d] * max(shape[d], 1)
    return True


def channels_last_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of (N, C, ...) with the channels innermost.

    >>> channels_last_strides((2, 3, 4, 5))
    (60, 1, 15, 3)
    """
    n, c, *space = shape
    inner = contiguous_strides((n, *space, c))
    return (inner[0], 1, *inner[1:-1])


@lru_cache(1024)
def _channels_innermost(shape: tuple[int, ...], item: int) -> tuple[tuple[int, ...], int]:
    """`channels_last_strides` in bytes, of elements of so many, and how many elements of memory they take."""
    strides = channels_last_strides(shape)
    return tuple([n * item for n in strides]), reach(shape, strides)


def in_format(space: int, result: np.ndarray, *operands: np.ndarray) -> np.ndarray:
    """The result of an operation on (N, C, ...), with `space` more dimensions: with the channels innermost in memory where those of an
    operand are. (torch's rule for convolution, pooling, resampling and normalization: that of `suggest_memory_format`.)

    >>> images = np.ones((2, 4, 5, 3)).transpose(0, 3, 1, 2)
    >>> in_format(2, np.ones((2, 6, 2, 2)), images).strides
    (192, 8, 96, 48)
    """
    for a in operands:
        if a.flags.c_contiguous and a.strides[1] > a.strides[-1]:
            continue
        if a.ndim == space + 2 and suggests_channels_last(a):
            steps, size = _channels_innermost(result.shape, result.itemsize)
            if result.strides != steps:
                given, memory = result, np.empty(size, result.dtype)
                result = _new(_ndarray, given.shape, given.dtype, memory, 0, steps)
                pair = (result, given) if given.dtype.isbuiltin == 1 else [a.view(f"u{a.itemsize}") for a in (result, given)]
                np.copyto(*pair)  # half precision as bits, or NumPy would call a function for each element
            break
    return result


def positions(shape: Sequence[int], strides: Sequence[int], offset: int) -> np.ndarray:
    """The position in storage of each element of a geometry, in elements.

    >>> positions((2, 2), (2, 1), 1).tolist()
    [[1, 2], [3, 4]]
    """
    at: Any = np.full((), offset, np.intp)
    for n, s in zip(shape, strides):
        at = at[..., None] + np.arange(n, dtype=np.intp) * s
    return at


def may_overlap(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two elements of a geometry may share memory (torch's `geometry may overlap` test: exact for nested dimensions)."""
    reach = 0
    for s, n in sorted((s, n) for n, s in zip(shape, strides) if n != 1):
        if n == 0:
            return False
        if s <= reach:
            return True
        reach += s * (n - 1)
    return False


def view_strides(shape: Sequence[int], strides: Sequence[int], size: Sequence[int]) -> tuple[int, ...] | None:
    """Strides with which `size` is a view of a geometry, or None where it takes a copy. (The rule of torch's `computeStride`.)

    >>> view_strides((2, 3), (1, 2), (2, 3, 1)), view_strides((2, 3), (1, 2), (6,))
    ((1, 2, 2), None)
    """
    if not shape:
        return (1,) * len(size)
    found = [0] * len(size)
    at, base, tensor_count, view_count = len(size) - 1, strides[-1], 1, 1
    for d in range(len(shape) - 1, -1, -1):
        tensor_count *= shape[d]
        if d == 0 or (shape[d - 1] != 1 and strides[d - 1] != tensor_count * base):
            while at >= 0 and (view_count < tensor_count or size[at] == 1):
                found[at] = view_count * base
                view_count *= size[at]
                at -= 1
            if view_count != tensor_count:
                return None
            if d > 0:
                base, tensor_count, view_count = strides[d - 1], 1, 1
    return tuple(found) if at == -1 else None
