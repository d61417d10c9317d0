"""Sample arguments for the tests, and argument checks shared by families of element-wise operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from ..annotations import Arguments, Fn
from ..dtypes import BOOL, COMPLEX, FLOATING, INTEGER, DType, result_dtype, scalar_dtype
from ..errors import AutogradError
from ..functions.refusals import MetaRefusal, no_kernel
from ..modes import GradMode, grad_mode
from ..tensor import TensorRef

_CATEGORY_NAMES = {"bool": BOOL, "int": INTEGER, "float": FLOATING, "complex": COMPLEX}


C_TYPE_NAMES = {"bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long",
                "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
                "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}
"""What those messages of PyTorch call dtypes that know them by themselves; `dtypes.c_name` is what the others do, that ask the compiler."""
IN_ALL = 65504.0
"""The largest number that all floating-point dtypes with 16 bits or more hold."""


@cache
def _limits(dtype: DType) -> tuple[float, float]:
    """The least and the greatest number of a dtype."""
    if dtype.category == INTEGER:
        return int(np.iinfo(dtype.np).min), int(np.iinfo(dtype.np).max)
    limits = ml_dtypes.finfo(dtype.np)
    return float(limits.min), float(limits.max)


def check_number(value: Any, dtype: DType, name: str = "") -> None:
    """Raises where a dtype cannot hold a Python number, as torch does; `name` is what its message calls the type.

    >>> check_number(-200, DType.by_name["uint8"])  # which wraps
    >>> check_number(1j, DType.by_name["float32"])
    Traceback (most recent call last):
    autograd_tape.errors.AutogradError: value cannot be converted to type float without overflow
    """
    if not isinstance(value, (int, float, complex)) or dtype.category == BOOL:
        return
    fits = True
    if isinstance(value, complex) and dtype.category < COMPLEX:
        fits, value = value.imag == 0, value.real
    if dtype.category == INTEGER:
        least, most = _limits(dtype)
        low = least if dtype.is_signed or not isinstance(value, int) else -most  # integers wrap
        fits = fits and value == value and low <= value <= most
    elif dtype.category == FLOATING and not math.isinf(value):
        fits = fits and not abs(value) > _limits(dtype)[1]
    elif dtype.group == "float8" and dtype.name != "float8_e5m2":
        fits = False  # there is no infinity
    if not fits:
        if dtype.group == "float8":
            name = name or f"c10::{dtype.scalar}"
        name = name or _NUMBER_NAMES.get(dtype.name, C_TYPE_NAMES.get(dtype.name, dtype.name))
        raise AutogradError(f"value cannot be converted to type {name} without overflow")


def beside_number(kernel: str) -> Callable[..., str]:
    """The kernel of an operation with a second operand, as it is called where that is a number, or a tensor of a single one: a value of
    the field `lacks`. "" stands for none."""
    return lambda other, **_: f"{kernel}_cpu_reduced_float" if not getattr(other, "ndim", 0) else f"{kernel}_cpu" if kernel != "mul" else ""


def check_factor(name: str, value: float, highest: int) -> None:
    """Raises where a factor of tensors of at most this category is bool, or no integer, and they are not so."""
    if isinstance(value, bool) and highest != BOOL:
        raise AutogradError(f"Boolean {name} only supported for Boolean results.", remedy="pass a number")
    if isinstance(value, (float, complex)) and highest <= INTEGER:
        raise AutogradError(f"For integral input tensors, argument {name} must not be a floating point number.", remedy="pass an int")


_NUMBER_NAMES = {"uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int64": "int64_t", "uint16": "uint16_t", "uint32": "uint32_t",
                 "uint64": "uint64_t"}


def category(value: float | TensorRef) -> int:
    """The promotion category of a tensor or number."""
    return value._k.dtype.category if isinstance(value, TensorRef) else scalar_dtype(value).category


def scalar_like(value: object) -> bool:
    """Whether `value` is a number, which a commutative operation also takes first."""
    return isinstance(value, (int, float, complex, np.generic))


def away(x: np.ndarray, kinks: Sequence[float], distance: float = 0.1) -> np.ndarray:
    """`x` with the elements near a kink moved off it, so that central differences are right."""
    for kink in kinks:
        x = np.where(np.abs(x - kink) < distance, kink + 2 * distance, x)
    return x


def domain(low: float, high: float, *rest: object, kinks: Sequence[float] = ()) -> Callable[[Any], Iterator[Arguments]]:
    """A `samples` field: one matrix, one scalar and one transposed tensor from [low, high], followed by `rest`."""
    def samples(rng: np.random.Generator) -> Iterator[Arguments]:
        yield away(rng.uniform(low, high, (2, 3)), kinks), *rest
        yield away(rng.uniform(low, high, ()), kinks), *rest
        yield away(rng.uniform(low, high, (3, 2)), kinks).T, *rest

    return samples


def pairs(low: float = -2, high: float = 2, *, other: tuple[float, float] | None = None, number: float | None = None,
          apart: bool = False) -> Callable[[Any], Iterator[tuple[Any, ...]]]:
    """A `samples` field for two tensors: equal shapes, broadcast shapes, 0-dim, and a Python number where there is one to give."""
    second = other or (low, high)

    def samples(rng: np.random.Generator) -> Iterator[Arguments]:
        for a, b in (((2, 3), (2, 3)), ((2, 1, 3), (4, 1)), ((), (2,))):
            x, y = rng.uniform(low, high, a), rng.uniform(*second, b)
            if apart:  # no ties, where the gradient of a maximum jumps
                x, y = np.round(x, 1), np.round(y, 1) + 0.05
            yield x, y
        if number is not None:
            yield rng.uniform(low, high, (2, 3)), number

    return samples


def integer_pairs(low: int = -9, high: int = 9, *, number: int | None = None) -> Callable[[Any], Iterator[Arguments]]:
    """A `samples` field for two integer tensors."""
    def samples(rng: np.random.Generator) -> Iterator[Arguments]:
        for a, b in (((2, 3), (2, 3)), ((2, 1, 3), (4, 1))):
            yield rng.integers(low, high, a), rng.integers(low, high, b)
        if number is not None:
            yield rng.integers(low, high, (2, 3)), number

    return samples


def takes(categories: str, kernel: str, meta: MetaRefusal | None = None) -> Callable[..., None]:
    """A `check` field that refuses other dtypes, in PyTorch's words.

    Args:
        categories: those it takes: a subset of "bool int float complex".
        kernel: the name that PyTorch's message gives.
        meta: what its meta function refuses all the same.
    """
    allowed = {_CATEGORY_NAMES[c] for c in categories.split()}

    def check(**values: object) -> None:
        tensors = [v for v in values.values() if isinstance(v, TensorRef)]
        dtype = max([t._k.dtype for t in tensors], key=lambda d: d.category, default=None)
        number = next((v for v in values.values() if isinstance(v, complex)), None)
        if dtype is not None and (number is not None or dtype.category not in allowed):
            dtype = result_dtype([(t._k.dtype, t.ndim) for t in tensors], [] if number is None else [number])
            if dtype.category not in allowed:
                no_kernel(kernel, tensors[0], dtype, meta)

    return takes_floats(check) if FLOATING in allowed else check


def takes_floats(check: Fn) -> Fn:
    """Marks a check that refuses no dtype: where kernels look at shapes and indices themselves, half precision needs it no more than
    others."""
    check.takes_floats = True  # type: ignore[attr-defined]  # which functions may have
    return check


def refuse_complex_gradient(name: str, *tensors: TensorRef) -> None:
    """Raises torch's error for an operation that it does not record for complex numbers."""
    is_complex = any([t._k.dtype.is_complex for t in tensors])
    if is_complex and grad_mode() is GradMode.ENABLED and any([t._node is not None for t in tensors]):
        raise AutogradError(f"{name} does not support automatic differentiation for outputs with complex dtype.",
                            remedy="detach its inputs")


def zero_divisor(values: Any) -> bool:
    """Whether an array of integers, or an integer, contains a zero."""
    array = np.asarray(values)
    return array.dtype.kind in "iub" and not array.all()
