"""Windows: numbers that fall off towards both ends, by which pieces of a signal are multiplied before they are transformed."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from operator import add, iadd, imul, isub, mul, sub
from typing import Any

import numpy as np

from ...annotations import Fn, Functions
from ...dtypes import CPU, CPU_KINDS, FLOATING, DType, c_name, default_dtype
from ...errors import AutogradError
from ...executors import executor_for
from ...executors.kernels._on_demand import state
from ...executors.kernels.sharing import parallel_for
from ...record import op
from ...tensor import TensorRef, as_dtype, leaf_node
from .create import ALL_SINGLE, counted

_OPTIONS = "*, dtype? dtype=None, Any layout=None, Any device=None, bool? pin_memory=False, bool? requires_grad=False"
_PLAIN = "int window_length, bool periodic=True, "


def _checked(F: Functions, name: str, window_length: int, dtype: Any, layout: object, device: object) -> Any:
    """The dtype of a window; torch's errors for what no window has."""
    wanted = default_dtype() if dtype is None else as_dtype(dtype)
    if wanted.category < FLOATING:
        at = "cpu" if device is None and F.default_device is None else device or F.default_device
        kind = "Strided" if layout is not None else "Strided (default)"
        raise AutogradError(f"{name} expects floating point dtypes, got: TensorOptions(dtype={c_name(wanted)}, device={at}, "
                            f"layout={kind}, requires_grad=false (default), pinned_memory=false, memory_format=(nullopt))",
                            expected="a floating-point dtype", found=wanted.name)
    if window_length < 0:
        raise AutogradError(f"{name} requires non-negative window_length, got window_length={window_length}", expected="0 or more",
                            found=str(window_length))
    return wanted


Rounding = Callable[[float], float]
Fall = Callable[[Any, Any, int, Rounding], Any]
#: Numbers of a window that is kept, and of a part of a long one, which stays in the cache.
_FEW, _BLOCK = 4098, 16384


def _made(F: Functions, name: str, window_length: int, periodic: bool, options: tuple[object, ...], fall: Fall,
          exact: bool = False) -> TensorRef:
    """The window that `fall` makes, by the operations given first, of the numbers from 0 on, of the last of them, and of what rounds
    numbers to the dtype, as torch does with those by which it multiplies half precision here. A `periodic` window is a period of one that
    is longer by one number, at which the next period begins. An `exact` one is rounded once. Where nobody hears of the operations, these
    are the kernels, on an array.
    """
    dtype, layout, device, requires_grad = options
    wanted = _checked(F, name, window_length, dtype, layout, device)
    if window_length < 2:
        result = F.ones(window_length, dtype=wanted, layout=layout, device=device)
    else:
        n = window_length + bool(periodic)
        used = DType.by_name["float32"] if exact and wanted.itemsize == 2 else wanted
        rounded: Rounding = _as_it_is if used.itemsize > 2 else (lambda x: float(wanted.np.type(x)))
        if used.itemsize > 2 and layout is None and device is None and F.default_device is None and (
                k := CPU_KINDS[used.np]) in F.namespace["Q_FLOAT"]:
            numbers = _few(fall, n, used.np, state.mode).copy() if n < _FEW else _falling(fall, n, used.np)
            result = F.wrap(numbers, k)
        else:
            result = fall(F, F.arange(n, dtype=used, layout=layout, device=device), n - 1, rounded)
        result = result if used is wanted else F.cast(result, wanted)
        if n > window_length:
            result = F.wrap(result._data[:window_length], result._k)
    if requires_grad:
        result._node = leaf_node(result._k.dtype, True)
    return result


def _falling(fall: Fall, n: int, dtype: np.dtype) -> Any:
    F = executor_for(CPU).F

    def of(start: int, stop: int, memory: Any) -> Any:
        numbers = counted(memory, start) if dtype.char == "f" and n <= ALL_SINGLE else np.arange(start, stop, dtype=dtype)
        return fall(F, numbers, n - 1, _as_it_is)

    window = np.empty(n, dtype)
    if n < 2 * _BLOCK or fall is _triangle:
        return of(0, n, window)

    def part(start: int, stop: int) -> None:
        while start < stop:
            end = start + _BLOCK if stop - start >= 2 * _BLOCK else stop
            window[start:end] = of(start, end, window[start:end])
            start = end

    parallel_for(n, _BLOCK, part)
    return window


@lru_cache(64)
def _few(fall: Fall, n: int, dtype: np.dtype, mode: str) -> Any:
    """A short window, which is kept; with machine code it may have other bits."""
    return _falling(fall, n, dtype)


def _as_it_is(x: float) -> float:
    return x


def _steps(x: Any) -> tuple[Fn, Fn, Fn]:
    """A product, a sum and a difference, which are written to their first operand where that is an array, of which nobody knows."""
    return (imul, iadd, isub) if x.__class__ is np.ndarray else (mul, add, sub)


@lru_cache(64)
def _hamming(alpha: float, beta: float) -> Fall:
    def fall(F: Functions, x: Any, last: int, rounded: Rounding) -> Any:
        times, plus, _ = _steps(x)
        return plus(times(F.cos(times(x, rounded(2 * math.pi / last))), rounded(-beta)), rounded(alpha))

    return fall


@lru_cache(64)
def _kaiser(beta: float) -> Fall:
    def fall(F: Functions, x: Any, last: int, rounded: Rounding) -> Any:
        away = x * (2.0 / last) - 1
        return F.i0(F.sqrt(F.clamp(1 - away * away, min=0)) * beta) / F.i0(F.slice(x, 0, 0, 1) * 0 + beta)

    return fall


def _triangle(F: Functions, x: Any, last: int, rounded: Rounding) -> Any:
    x *= rounded(2.0 / last)
    if x.__class__ is np.ndarray:
        falling = x[last // 2 + 1:]
        np.subtract(2, falling, falling)
        return x
    falling = F.slice(x, 0, last // 2 + 1)
    falling *= -1
    falling += 2
    return x


def _blackman(F: Functions, x: Any, last: int, rounded: Rounding) -> Any:
    times, plus, minus = _steps(x)
    x = times(x, rounded(math.pi / last))
    wide, narrow = [times(F.cos(x * k), rounded(f)) for k, f in ((2, 0.5), (4, 0.08))]
    return plus(minus(narrow, wide), rounded(0.42))


def _samples(rng: object) -> Any:
    yield (5,)
    yield 6, False


def _errors(name: str) -> Fn:
    def errors(rng: object) -> object:
        yield (-1,), RuntimeError, f"{name} requires non-negative window_length, got window_length=-1"

    return errors


@op(f"bartlett_window({_PLAIN}{_OPTIONS}) -> Tensor", method=False, out=False)
class bartlett_window:
    """A triangle.

    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    def function(F, window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
        return _made(F, "bartlett_window", window_length, periodic, (dtype, layout, device, requires_grad), _triangle)

    samples, errors = _samples, _errors("bartlett_window")


@op(f"blackman_window({_PLAIN}{_OPTIONS}) -> Tensor", method=False, out=False)
class blackman_window:
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N).

    >>> torch.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """

    def function(F, window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
        return _made(F, "blackman_window", window_length, periodic, (dtype, layout, device, requires_grad), _blackman)

    samples, errors = _samples, _errors("blackman_window")


@op(f"hamming_window({_PLAIN}float alpha=0.54, float beta=0.46, {_OPTIONS}) -> Tensor", method=False, out=False)
class hamming_window:
    """alpha - beta cos(2 pi n / N).

    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """

    def function(F, window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None, pin_memory=False,
                 requires_grad=False):
        return _made(F, "hamming_window", window_length, periodic, (dtype, layout, device, requires_grad), _hamming(alpha, beta))

    samples, errors = _samples, _errors("hamming_window")


@op(f"hann_window({_PLAIN}{_OPTIONS}) -> Tensor", method=False, out=False)
class hann_window:
    """0.5 - 0.5 cos(2 pi n / N).

    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    def function(F, window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
        return _made(F, "hann_window", window_length, periodic, (dtype, layout, device, requires_grad), _hamming(0.5, 0.5))

    samples, errors = _samples, _errors("hann_window")


@op(f"kaiser_window({_PLAIN}float beta=12.0, {_OPTIONS}) -> Tensor", method=False, out=False)
class kaiser_window:
    """The Bessel function I0 of beta times a half circle, 1 in the middle.

    >>> torch.kaiser_window(4, beta=0.)
    tensor([1., 1., 1., 1.])
    """

    def function(F, window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None, pin_memory=False,
                 requires_grad=False):
        return _made(F, "kaiser_window", window_length, periodic, (dtype, layout, device, requires_grad), _kaiser(beta), True)

    samples, errors = _samples, _errors("kaiser_window")
