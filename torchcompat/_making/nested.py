"""Nested lists of numbers as arrays, by torch's rules.

Lists of plain numbers are NumPy's to read. Where there is anything else among them, or lists differ in length, each element is read by
itself (`read`): torch looks at the first element of each list for the sizes, at all for the dtype, and then stores one after another.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from autograd_tape.dtypes import (
    BOOL, COMPLEX, DType, FLOATING, INTEGER, OPAQUE, default_dtype, dtype_of, number_array, promote, scalar_dtype,
)
from autograd_tape.errors import check_rank
from autograd_tape.warned import warn_once

from .._tensor import Tensor

_PLAIN = frozenset([int, float, bool, complex])


def plain(data: object, foreign: list[object]) -> Any:
    """Nested lists, of whatever else has a length and elements, too; what is no number is noted in `foreign`."""
    if isinstance(data, (list, tuple)):
        for x in data:
            if x.__class__ not in _PLAIN:
                if any([y is data for y in data]):
                    raise TypeError("new(): self-referential lists are incompatible")
                return [plain(y, foreign) for y in data]
        return data
    if isinstance(data, (Tensor, np.ndarray, np.generic, str, bytes, dict)):
        foreign.append(data)
    elif hasattr(data, "__len__") and hasattr(data, "__getitem__"):
        try:
            return [plain(data[i], foreign) for i in range(len(data))]
        except Exception as error:  # whatever it raises, this is no sequence
            raise ValueError(f"could not determine the shape of object type '{type(data).__name__}'") from error
    elif data.__class__ not in _PLAIN:
        foreign.append(data)
    return data


def is_regular(data: object) -> bool:
    """Whether lists side by side have the same length, and no number stands beside a list.

    >>> is_regular([[1, 2], [3, 4]]), is_regular([[1, 2], [3]]), is_regular([1, [2]])
    (True, False, False)
    """
    shape: list[int] = []
    level = data
    while isinstance(level, (list, tuple)):
        shape.append(len(level))
        if not level:
            break
        level = level[0]
    check_rank(len(shape), plain=True)
    return _fits(data, shape, 0)


def _fits(data: Any, shape: Sequence[int], depth: int) -> bool:
    if depth + 1 == len(shape):
        return len(data) == shape[depth] and not any([isinstance(x, (list, tuple)) for x in data])
    return len(data) == shape[depth] and all([isinstance(x, (list, tuple)) and _fits(x, shape, depth + 1) for x in data])


def read(data: object, dtype: DType | None, foreign: Sequence[object]) -> np.ndarray:
    """Nested lists with tensors, arrays or anything else among the numbers, element by element.

    Raises:
        TypeError, ValueError, RuntimeError: as torch has it: an element is no number or does not fit, or a list is of another length.

    >>> read([np.float16(2), 1], None, ())
    array([2., 1.], dtype=float16)
    """
    shape = _sizes(data)
    if any([isinstance(x, np.ndarray) for x in foreign]):
        warn_once("Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a single "
                  "numpy.ndarray with numpy.array() before converting to a tensor.")
    dtype = _inferred(data) if dtype is None else dtype
    if dtype.category == OPAQUE:
        raise RuntimeError("store_scalar: invalid type")
    elements: list[Any] = []
    _gather(data, shape, 0, dtype, elements)
    return (integers if dtype.category == INTEGER else numbers)(elements, dtype).reshape(shape)


def _sizes(data: Any) -> tuple[int, ...]:
    """The sizes that the first elements of lists tell."""
    shape: list[int] = []
    while isinstance(data, (list, tuple, np.ndarray)):
        shape.append(len(data))
        check_rank(len(shape), plain=True)
        if not len(data):
            break
        data = data[0]
    if isinstance(data, str):
        raise ValueError("too many dimensions 'str'")
    return tuple(shape)


def _inferred(data: object) -> DType:
    """The dtype of nested lists: that of numbers, tensors and arrays in them together, all of which count alike.

    >>> _inferred([1, np.float16(2)]).name, _inferred([[1.5, np.int8(2)], [np.float64(1), True]]).name
    ('float16', 'float64')
    """
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, (np.ndarray, np.generic)):
        return dtype_of(np.asarray(data))
    if isinstance(data, (bool, int, float, complex)):
        return scalar_dtype(data)
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if isinstance(data, (list, tuple)):
        return functools.reduce(promote, [_inferred(x) for x in data]) if data else default_dtype()
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _gather(data: object, shape: tuple[int, ...], depth: int, dtype: DType, elements: list[Any]) -> None:
    if depth == len(shape):
        elements.append(_element(data, dtype))
        return
    if not isinstance(data, (list, tuple)) and not (isinstance(data, (Tensor, np.ndarray)) and data.ndim):
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    if isinstance(data, np.ndarray) and data.shape == shape[depth:] and data.dtype.kind in ("iu" if dtype.category <= INTEGER else "biuf"):
        elements += data.ravel().tolist()
        return
    for x in data:
        _gather(x, shape, depth + 1, dtype, elements)


def _element(x: Any, dtype: DType) -> Any:
    """One element as a Python number; Python itself words what is none."""
    if x.__class__ in _PLAIN:
        return x
    if dtype.name == "uint64":
        if not isinstance(x, (int, np.integer)):
            raise TypeError("an integer is required")
        return int(x)
    if dtype.category < FLOATING:
        if isinstance(x, (float, complex)):  # of NumPy's, too
            return x
        if isinstance(x, np.bool_):
            if dtype.category != BOOL:
                raise TypeError("'numpy.bool' object cannot be interpreted as an integer")  # NumPy 1 lets it be one
            return bool(x)
        return operator.index(x)
    if isinstance(x, Tensor) and x.dtype.is_complex and x.numel() == 1:
        number = x.item()
        if number.imag and dtype.category != COMPLEX:
            raise RuntimeError("value cannot be converted to type double without overflow")
        return number if dtype.category == COMPLEX else number.real
    if isinstance(x, np.complexfloating):
        return complex(x) if dtype.category == COMPLEX else float(x.real)
    if isinstance(x, np.ndarray) and x.ndim:  # NumPy 1 makes a number of a lone element
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return x if isinstance(x, complex) else math.ldexp(x, 0)


def numbers(data: object, dtype: DType) -> np.ndarray:
    """Nested lists of Python numbers as elements of a dtype; TypeError where one is complex and the dtype is not."""
    try:
        return number_array(data, dtype)
    except TypeError:
        raise TypeError("must be real number, not complex") from None


def integers(data: object, dtype: DType) -> np.ndarray:
    """Nested lists of Python numbers as integers of a dtype, where they fit."""
    limits, array = np.iinfo(dtype.np), np.array(data)
    if array.size:
        fits = array.dtype.kind in "iufb" and limits.min <= array.min().item() and array.max().item() <= limits.max
        if not fits or limits.max > 1 << 62 and array.dtype.kind != "i":  # which float64 does not tell exactly
            for x in _leaves(data):
                _check_integer(x, dtype, int(limits.min), int(limits.max))
    if array.dtype.kind == "O":  # numbers that have no common dtype
        return np.array([int(x) for x in _leaves(data)], dtype.np).reshape(array.shape)
    return array.astype(dtype.np)


def _leaves(data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        for x in data:
            yield from _leaves(x)
    else:
        yield data


def _check_integer(x: float | complex, dtype: DType, low: int, high: int) -> None:
    """Raises torch's error for a number that cannot be an integer of a dtype; negative ones wrap where it is unsigned, but for 64 bits."""
    whole = isinstance(x, (int, np.integer, np.bool_))
    if dtype.name == "uint64":
        if isinstance(x, complex) or not whole:
            raise TypeError("an integer is required")
        if x < 0:
            raise OverflowError("can't convert negative int to unsigned")
        if x > high:
            raise OverflowError("int too big to convert")
        return
    if isinstance(x, complex):
        raise TypeError("'complex' object cannot be interpreted as an integer")
    if whole and not -1 << 63 <= x < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    if not (-high if whole and low == 0 else low) <= x <= high:
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
