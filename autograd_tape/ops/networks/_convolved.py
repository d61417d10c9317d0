"""What convolutions, and columns of windows, of plain arrays are: their geometry, checked once for each; of what the checks shall see
there is no plan, but a `ValueError`."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any
from collections.abc import Callable

import numpy as np

from ...executors.kernels import conv as fused
from ...executors.kernels._on_demand import is_half
from ...executors.kernels.halves import narrow, widened
from ...tensor import TensorRef
from ._windows import as_keys, settled

Ints = tuple[int, ...]
Made = Callable[..., np.ndarray]


def _spread(value: int | Ints, n: int) -> Ints:
    value = (value,) if isinstance(value, int) else value
    if len(value) not in (1, n):
        raise ValueError
    return value * n if len(value) == 1 else value


def _demand(*conditions: bool) -> None:
    if not all(conditions):
        raise ValueError


@lru_cache(512, typed=True)
def conv_plan(n: int, x: Ints, w: Ints, b: Ints | None, stride: Any, padding: Any, dilation: Any, groups: Any) -> tuple[Any, ...]:
    """What a convolution takes beyond arrays."""
    stride, dilation = _spread(stride, n), _spread(dilation, n)
    if type(padding) is str:  # what is filled up on one side alone takes a longer way
        several = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, w[2:])]
        _demand(padding in ("same", "valid"), padding == "valid" or min(stride) == max(stride) == 1, all([m % 2 == 0 for m in several]))
        padding = tuple([m // 2 for m in several])
    padding = _spread(padding, n)
    _demand(len(x) == len(w) == n + 2, 0 < n < 4, type(groups) is int, min(groups, *stride, *dilation) > 0, min(padding) >= 0)
    _demand(w[0] >= groups, w[0] % groups == 0, x[1] == w[1] * groups, 0 not in x and 0 not in w, b is None or b == w[:1])
    _demand(min(fused.conv_output_size(x[2:], w[2:], stride, padding, dilation)) > 0)
    return stride, padding, dilation, groups


@lru_cache(512, typed=True)
def transposed_plan(n: int, x: Ints, w: Ints, b: Ints | None, stride: Any, padding: Any, more: Any, groups: Any, dilation: Any
                     ) -> tuple[Any, ...]:
    """What the transpose of one takes: the shape of the result first."""
    stride, padding, more, dilation = [_spread(v, n) for v in (stride, padding, more, dilation)]
    _demand(len(x) == len(w) == n + 2, 0 < n < 4, type(groups) is int, min(groups, *stride, *dilation) > 0, min(*padding, *more) >= 0)
    _demand(w[0] >= groups, w[0] % groups == 0, x[1] == w[0], 0 not in x and 0 not in w, b is None or b == (w[1] * groups,))
    _demand(*[o < s or o < d for o, s, d in zip(more, stride, dilation)])
    size = [(m - 1) * s - 2 * p + d * (k - 1) + o + 1 for m, k, s, p, o, d in zip(x[2:], w[2:], stride, padding, more, dilation)]
    _demand(min(size) > 0)
    return (x[0], w[1] * groups, *size), stride, padding, dilation, groups


def planned(plan: Callable[..., tuple[Any, ...]], n: int, input: TensorRef, weight: TensorRef, bias: TensorRef | None, *rest: Any
            ) -> tuple[Any, ...] | None:
    """The plan for tensors of one dtype that nothing is refused of; None where there is more to say of them."""
    if weight._k is not input._k or bias is not None and bias._k is not input._k:
        return None
    try:
        shapes = [None if t is None else tuple(t._data.shape) for t in (input, weight, bias)]
        return plan(n, *shapes, *settled(*rest))
    except (ValueError, TypeError):
        return None


def _alike(input: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> bool:
    """Whether all are of one dtype, and no truth values."""
    dtype = input.dtype
    return dtype.kind != "b" and weight.dtype is dtype and (bias is None or bias.dtype is dtype)


def _alone(x: np.ndarray) -> np.ndarray:
    """A batch of one sample; what lies in rows without a step of 0, which would be seen as expanded."""
    return x.reshape(1, *x.shape) if x.flags.c_contiguous else x[None]


def _in_rows(input: np.ndarray, weight: np.ndarray) -> bool:
    """Whether neither has its channels innermost, nor might seem to, so that the result lies in rows, too."""
    return input.flags.c_contiguous and weight.flags.c_contiguous and input.strides[1] > input.strides[-1] and (
        weight.strides[1] > weight.strides[-1])


#: By dimensions, how a number for each channel is looked at beside images.
_BEHIND: list[Any] = [(slice(None), *[None] * max(0, n - 2)) for n in range(6)]


def quick_conv(n: int, kernel: Made) -> Made:
    """The convolution of plain arrays by `kernel`; `n` is 0 for as many dimensions as there are."""
    def quick(input, weight, bias, stride, padding, dilation, groups):
        if not _alike(input, weight, bias):
            return None
        if alone := input.ndim == weight.ndim - 1:
            input = _alone(input)
        stride, dilation = as_keys(stride, dilation)
        if padding.__class__ is not int and (padding.__class__ is not str or is_half(input.dtype)):
            (padding,) = settled(padding)
        plan = conv_plan(n or input.ndim - 2, input.shape, weight.shape, None if bias is None else bias.shape, stride, padding, dilation,
                         groups)
        if _in_rows(input, weight) and (y := fused.tiled_at_once(input, weight, bias, *plan)) is not None:
            return y[0] if alone else y
        if not is_half(input.dtype):
            y = kernel(input, weight, bias, *plan)
        else:
            y = narrow(kernel(widened(input), widened(weight), None if bias is None else widened(bias), *plan), input.dtype)
        return y[0] if alone else y

    return quick


def quick_transposed(n: int, kernel: Made) -> Made:
    """The transpose of a convolution, likewise."""
    def quick(input, weight, bias, stride, padding, output_padding, groups, dilation):
        if not _alike(input, weight, bias):
            return None
        if alone := input.ndim == weight.ndim - 1:
            input = _alone(input)
        *several, dilation = as_keys(stride, padding, output_padding, dilation)
        plan = transposed_plan(n or input.ndim - 2, input.shape, weight.shape, None if bias is None else bias.shape, *several, groups,
                                dilation)
        if _in_rows(input, weight) and (y := fused.input_grad_of_few(input, weight, *plan)) is not None:
            pass
        elif not is_half(input.dtype):
            y = kernel(input, weight, *plan)
        else:
            y = narrow(kernel(widened(input), widened(weight), *plan), input.dtype)
        if bias is not None:
            np.add(y, bias[_BEHIND[y.ndim]], y)
        return y[0] if alone else y

    return quick


@lru_cache(512, typed=True)
def _column_plan(size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    """Sizes, kernel, dilation, padding, stride and the windows' numbers of images."""
    size, kernel, dilation, padding, stride = [_spread(v, 2) for v in (size, kernel, dilation, padding, stride)]
    _demand(min(*size, *kernel, *dilation, *stride) > 0, min(padding) >= 0)
    blocks = fused.conv_output_size(size, kernel, stride, padding, dilation)
    _demand(min(blocks) > 0)
    return size, kernel, dilation, padding, stride, blocks


def quick_unfold(made: Made) -> Made:
    """Windows of plain images as columns, as `made` of a batch."""
    def quick(input, kernel_size, dilation, padding, stride):
        if input.ndim not in (3, 4) or 0 in input.shape or input.dtype.kind in "iub":
            return None
        _, *plan = _column_plan(input.shape[-2:], *as_keys(kernel_size, dilation, padding, stride))
        return made(input, *plan) if input.ndim == 4 else made(input[None], *plan)[0]

    return quick


def quick_fold(made: Made) -> Made:
    """Columns added up to images, likewise."""
    def quick(input, output_size, kernel_size, dilation, padding, stride):
        if input.ndim not in (2, 3) or 0 in input.shape or input.dtype.kind in "iub":
            return None
        size, kernel, *rest = plan = _column_plan(*as_keys(output_size, kernel_size, dilation, padding, stride))
        if input.shape[-2] % prod(kernel) or input.shape[-1] != prod(plan[-1]):
            return None
        x = widened(input) if input.dtype.itemsize == 2 else input
        y = made(x, *plan) if input.ndim == 3 else made(x[None], *plan)[0]
        return y if x is input else narrow(y, input.dtype)

    return quick
