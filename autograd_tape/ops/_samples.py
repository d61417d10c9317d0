"""Sample arguments for the tests, and argument checks shared by families of element-wise operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..dtypes import BOOL, COMPLEX, FLOATING, INTEGER, SCALAR_TYPE_NAMES, scalar_dtype
from ..errors import UnsupportedDTypeError
from ..tensor import TensorRef

_CATEGORY_NAMES = {"bool": BOOL, "int": INTEGER, "float": FLOATING, "complex": COMPLEX}


C_TYPE_NAMES = {"bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long",
                "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
                "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}
"""What PyTorch's messages call the C++ types."""


def category(value: Any) -> int:
    """The promotion category of a tensor or number."""
    return value._k.dtype.category if isinstance(value, TensorRef) else scalar_dtype(value).category


def scalar_like(value: Any) -> bool:
    """Whether `value` is a number, which a commutative operation also takes first."""
    return isinstance(value, (int, float, complex, np.generic))


def away(x: np.ndarray, kinks: Sequence[float], distance: float = 0.1) -> np.ndarray:
    """`x` with the elements near a kink moved off it, so that central differences are right."""
    for kink in kinks:
        x = np.where(np.abs(x - kink) < distance, kink + 2 * distance, x)
    return x


def domain(low: float, high: float, *rest: Any, kinks: Sequence[float] = ()) -> Callable[[Any], Iterator[tuple[Any, ...]]]:
    """A `samples` field: one matrix, one scalar and one transposed tensor from [low, high], followed by `rest`."""
    def samples(rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
        yield away(rng.uniform(low, high, (2, 3)), kinks), *rest
        yield away(rng.uniform(low, high, ()), kinks), *rest
        yield away(rng.uniform(low, high, (3, 2)), kinks).T, *rest

    return samples


def pairs(low: float = -2, high: float = 2, *, other: tuple[float, float] | None = None, number: float | None = None,
          apart: bool = False) -> Callable[[Any], Iterator[tuple[Any, ...]]]:
    """A `samples` field for two tensors: equal shapes, broadcast shapes, 0-dim, and a Python number where there is one to give."""
    second = other or (low, high)

    def samples(rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
        for a, b in (((2, 3), (2, 3)), ((2, 1, 3), (4, 1)), ((), (2,))):
            x, y = rng.uniform(low, high, a), rng.uniform(*second, b)
            if apart:  # no ties, where the gradient of a maximum jumps
                x, y = np.round(x, 1), np.round(y, 1) + 0.05
            yield x, y
        if number is not None:
            yield rng.uniform(low, high, (2, 3)), number

    return samples


def integer_pairs(low: int = -9, high: int = 9, *, number: int | None = None) -> Callable[[Any], Iterator[tuple[Any, ...]]]:
    """A `samples` field for two integer tensors."""
    def samples(rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
        for a, b in (((2, 3), (2, 3)), ((2, 1, 3), (4, 1))):
            yield rng.integers(low, high, a), rng.integers(low, high, b)
        if number is not None:
            yield rng.integers(low, high, (2, 3)), number

    return samples


def takes(categories: str, kernel: str) -> Callable[..., None]:
    """A `check` field that refuses other dtypes, in PyTorch's words.

    Args:
        categories: those it takes: a subset of "bool int float complex".
        kernel: the name that PyTorch's message gives.
    """
    allowed = {_CATEGORY_NAMES[c] for c in categories.split()}

    def check(**values: Any) -> None:
        dtypes = [v._k.dtype for v in values.values() if isinstance(v, TensorRef)]
        dtype = max(dtypes, key=lambda d: d.category, default=None)
        if dtype is not None and dtype.category not in allowed:
            raise UnsupportedDTypeError(f"\"{kernel}\" not implemented for '{SCALAR_TYPE_NAMES[dtype.name]}'",
                                        expected=f"a dtype that is {' or '.join(categories.split())}", found=dtype.name,
                                        remedy="convert the tensor first")

    return check


def zero_divisor(values: Any) -> bool:
    """Whether an array of integers, or an integer, contains a zero."""
    array = np.asarray(values)
    return array.dtype.kind in "iub" and not array.all()
