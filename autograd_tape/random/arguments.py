"""Checks of what the distributions are called with, in torch's words."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import warned
from ..dtypes import C_NAMES, DType
from .polynomials import F32, F64

Array = npt.NDArray[Any]
Shape = tuple[int, ...] | int
_FEW = 32
_ALL_HOLD = 1 << 24  # up to here every dtype of four bytes or more holds all integers
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1

_DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}  # bits of significand, the hidden one included
_LARGEST = {"float64": 1.7976931348623157e308, "float32": 3.4028234663852886e38, "float16": 65504.0,
            "bfloat16": 3.3895313892515355e38}  # fmt: skip


@functools.cache
def digits_of(dtype: np.dtype) -> int:
    """Bits of significand of a real floating dtype, 0 for any other."""
    return _DIGITS.get(dtype.name, 0)


@functools.cache
def limits_of(dtype: np.dtype) -> tuple[float, float]:
    """The smallest and the largest number `Tensor.random_` may name for `dtype`."""
    if largest := _LARGEST.get(dtype.name):
        return -largest, largest
    if dtype == np.bool_:
        return 0, 1
    if dtype == np.uint64:
        return 0, INT64_MAX
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def as_uint64(seed: int) -> int:
    seed = int(seed)
    if not INT64_MIN <= seed < 1 << 64:
        raise ValueError("Overflow when unpacking long long")
    return seed & 0xFFFFFFFFFFFFFFFF


def shape_of(shape: Shape) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def part_of(dtype: np.dtype) -> np.dtype:
    """The dtype of the parts of complex numbers."""
    return DType.by_np[dtype].to_real().np


def scalar_name(dtype: np.dtype) -> str:
    """What torch's messages call a dtype."""
    return DType.by_np[dtype].scalar


def number(value: float) -> str:
    return f"{value:.6g}"


def check_floating(dtype: np.dtype, name: str, kernel: str) -> None:
    if not digits_of(dtype):
        raise DType.by_np[dtype].missing(kernel)


def check_continuous(dtype: np.dtype, name: str, kernel: str, shown: str) -> None:
    """Refuses dtypes without digits: integers in words of their own, and what has a floating point, but no kernel."""
    if DType.by_np[dtype].group == "float8":
        check_floating(dtype, name, kernel)
    if not digits_of(dtype):
        raise RuntimeError(f"{name} distribution is a continuous probability distribution. "
                           f"dtype must be a floating point but you specified {shown}")


def check_numbers(dtype: np.dtype, kernel: str, *, bools: bool = True) -> None:
    """Refuses complex dtypes and those that torch has no kernel of random numbers for."""
    known = DType.by_np[dtype]
    if known.group or known.is_complex or known.name == "bool" and not bools:
        raise known.missing(kernel)


def check_bounded(dtype: np.dtype) -> None:
    """Refuses dtypes that have no integers between bounds."""
    known = DType.by_np[dtype]
    if known.is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if known.group == "float8":
        raise known.missing("random_update_from_to")


def check_wide(dtype: np.dtype, kernel: str) -> None:
    if dtype not in (F32, F64):
        raise DType.by_np[dtype].missing(kernel)


def check_uniform_bounds(low: float, high: float, dtype: np.dtype) -> None:
    largest = _LARGEST[dtype.name]
    for value, name in ((low, "from"), (high, "to")):
        if not -largest <= value <= largest:
            raise RuntimeError(f"{name} is out of bounds for {C_NAMES[dtype.name]}")
    if not low <= high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={number(low)} > to={number(high)}"
        )
    if not high - low <= largest:
        kind = scalar_name(dtype)
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{kind}>::max(), but found to={number(high)} and "
            f"from={number(low)} which result in to-from to exceed the limit"
        )


def is_plain(low: int, high: int, dtype: np.dtype) -> bool:
    """Whether there is nothing to say of the range of integers from `low` to below `high`: `dtype` has them all."""
    if dtype.itemsize == 2 and (digits := digits_of(dtype)):
        return -(1 << digits) < low < high < 1 << digits
    return dtype.itemsize >= 4 and -_ALL_HOLD <= low < high <= _ALL_HOLD and dtype.kind in "if"


def integer_bounds(low: int, high: int | None, dtype: np.dtype) -> tuple[int, int]:
    """The half-open range of integers that `dtype` can hold without rounding out of it, checked as torch checks it."""
    if high.__class__ is int and is_plain(low, high, dtype):
        return low, high
    digits = digits_of(dtype)
    if high is None:
        last = 1 << digits if digits else int(limits_of(dtype)[1])
        if digits:
            low = _round_up(low, dtype)
            if not low < last:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, "
                    f"but got from={low} > to_inc={last}"
                )
        _check_in_range(low, last, dtype)
        return low, last + 1
    high = int(high)
    if not low < high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if digits:
        low, high = _round_up(low, dtype), _round_down(high, dtype)
        if not low < high:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                f"but got from={low} >= to={high}"
            )
    _check_in_range(low, high - 1, dtype)
    return low, high


def _check_in_range(low: int, last: int, dtype: np.dtype) -> None:
    smallest, largest = limits_of(dtype)
    bounds = ((low, "from"), (last, "to - 1"))
    for value, argument in bounds:
        if not smallest <= value <= largest:
            raise RuntimeError(f"{argument} is out of bounds for {C_NAMES[dtype.name]}")
    if not (digits := digits_of(dtype)):
        return
    for value, argument in bounds:
        if abs(value) > 1 << digits:
            warned.warn(
              f"{argument} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
              f"{C_NAMES[dtype.name]} can support discrete uniform distribution only within this range. "
              "This warning will become an error in version 1.7 release, please fix the code in advance")


def _cast(value: int, dtype: np.dtype) -> int:
    return int(np.array(float(value)).astype(F64).astype(dtype).astype(F64))


def _round_up(low: int, dtype: np.dtype) -> int:
    following = _cast(low + 1, dtype)
    if following < low:
        low = following + (1 << (abs(low + 1).bit_length() - 1 - digits_of(dtype) + 1))
    return low


def _round_down(high: int, dtype: np.dtype) -> int:
    preceding = _cast(high - 1, dtype)
    if preceding >= high:
        high = preceding - (1 << (abs(high - 1).bit_length() - 1 - digits_of(dtype) + 1))
    return high


def check_weights(weights: Array, count: int, replacement: bool) -> None:
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if DType.by_np[weights.dtype].group == "float8":
        check_floating(weights.dtype, "multinomial", "aminmax_cpu")
    if not digits_of(weights.dtype):
        kind = scalar_name(weights.dtype)
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {kind}")
    if count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and count > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if weights.shape[-1] > 1 << 24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    plain = weights.astype(F32) if weights.dtype.itemsize == 2 else weights
    few = plain.ravel().tolist() if 0 < plain.size < _FEW else None  # which Python compares before NumPy has begun
    if weights.size and (min(few) >= 0 and max(few) < np.inf and sum(few) >= 0 if few else
                         np.minimum.reduce(plain, None) >= 0 and np.maximum.reduce(plain, None) < np.inf):
        if not (replacement and count > 1) and not plain.any(-1).all():
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        return
    if replacement and count > 1:
        wrong = ~((weights >= 0) & (weights.astype(F64) < np.inf))
        if wrong.any():
            what = "= infinity or NaN" if weights[wrong][0] > 0 else "< 0"  # which NaN counts as, too
            raise RuntimeError(f"invalid multinomial distribution (encountering probability entry {what})")
        return
    if not ((weights >= 0) & (weights.astype(F64) < np.inf)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (weights.astype(F64).sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
