"""Tensors to test with: random numbers of any dtype between bounds, in memory of any kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torchcompat as torch

from autograd_tape import warned

_INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64)
_COMPLEX = (torch.complex32, torch.complex64, torch.complex128)
_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64, *_COMPLEX)
_SMALL_FLOATS = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)


def _bounds(dtype: torch.dtype, low: Any, high: Any) -> tuple[Any, Any]:
    """The bounds of the numbers, within what the dtype has.

    Raises:
        ValueError: a bound is NaN, there is nothing between them, or nothing that the dtype has.
    """
    least: Any
    most: Any
    if dtype is torch.bool:
        least, most = 0, 2
    elif dtype in _INTEGERS:  # the upper bound is exclusive; randint takes none beyond int64
        info = torch.iinfo(dtype)
        least, most = info.min, info.max + (dtype is not torch.int64)
    else:
        least, most = torch.finfo(dtype).min, torch.finfo(dtype).max
    default = (0, 2) if dtype is torch.bool else (-9, 10 if dtype in _INTEGERS else 9)
    low, high = default[0] if low is None else low, default[1] if high is None else high
    if any(isinstance(x, float) and math.isnan(x) for x in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and dtype in _FLOATS:
        warned.warn("Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and "
                    "will be removed in 2.3. Use `torch.full(...)` instead.", FutureWarning)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= most:
        raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), "
                         f"but {dtype} only supports [{least}, {most})")
    low, high = min(max(low, least), most), min(max(high, least), most)
    return (math.ceil(low), math.ceil(high)) if dtype in _INTEGERS else (low, high)


def _uniform(tensor: torch.Tensor, low: float, high: float) -> None:
    """Fills a tensor with numbers between bounds; half of both, doubled, where their distance is more than the dtype has."""
    if high - low >= torch.finfo(tensor.dtype).max:
        tensor.uniform_(low / 2, high / 2).mul_(2)
    else:
        tensor.uniform_(low, high)


def make_tensor(*shape: Any, dtype: torch.dtype, device: Any, low: float | None = None, high: float | None = None,
                requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False, memory_format: Any = None) -> Any:
    """A tensor of random numbers in `[low, high)`: torch's for the same seed.

    Args:
        shape: sizes, or one sequence of them.
        dtype, device: of the tensor.
        low, high: bounds; -9 and 9, of integers -9 (0 where they have no sign) and 10, of bools 0 and 2 where left out.
        requires_grad: whether gradients are wanted.
        noncontiguous: whether it is every other element of a larger tensor, where it has two elements or more.
        exclude_zero: whether zeros become ones, or the smallest normal number.
        memory_format: of the tensor, which is not `noncontiguous` then.

    Raises:
        ValueError: bounds without numbers between them, gradients of integers, or both kinds of memory.
        TypeError: a dtype that is not made.

    >>> make_tensor((2, 3), dtype=torch.float32, device="cpu", noncontiguous=True).stride()
    (6, 2)
    """
    sizes = tuple(shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape)
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
                         f"but got {noncontiguous=} and {memory_format=}")
    if requires_grad and dtype in _INTEGERS:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    apart = noncontiguous and math.prod(sizes) > 1
    if apart:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    if dtype in _INTEGERS:
        result = torch.randint(*_bounds(dtype, low, high), sizes, device=device, dtype=dtype)
    elif dtype in _FLOATS or dtype in _SMALL_FLOATS:
        low, high = _bounds(dtype, low, high)
        result = torch.empty(sizes, device=device, dtype=dtype if dtype in _FLOATS else torch.float32)
        _uniform(torch.view_as_real(result) if dtype in _COMPLEX else result, low, high)
        result = result.to(dtype)
    else:
        raise TypeError(f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor(). To request support, file an issue "
                        "at: https://github.com/pytorch/pytorch/issues")
    if apart:
        result = result[..., 1::2]  # an offset, too
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = 1 if dtype in _INTEGERS else torch.finfo(dtype).tiny
    if dtype in _FLOATS:
        result.requires_grad = requires_grad
    return result
