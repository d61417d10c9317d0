"""Discrete Fourier transforms along dimensions: of complex numbers, of real ones, and back to real ones. `spectra` makes all others of
these three.

`normalization` is ATen's number: 0 leaves sums as they are, 1 divides them by the root of how many numbers each is of, 2 by that number.
NumPy computes in double precision, so that results in single precision are rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...annotations import Functions, Shape, Values
from ...dims import wrap_dim
from ...dtypes import COMPLEX, FLOATING, SCALAR_TYPE_NAMES
from ...errors import AutogradError, IndexRangeError
from ...executors.meta import meta_array
from ...record import op
from ...strided import contiguous_strides
from ...tensor import TensorRef
from .._host import on_host


def wrap_dims(dim: Sequence[int], ndim: int) -> list[int]:
    """Dimensions counted from the front; IndexRangeError where there are none, or not these."""
    if dim and not ndim:
        raise IndexRangeError(f"Dimension specified as {dim[0]} but tensor has no dimensions")
    return [wrap_dim(d, ndim) for d in dim]


def _dims(dim: int | Sequence[int], ndim: int) -> list[int]:
    dims = wrap_dims((dim,) if isinstance(dim, int) else dim, ndim)
    if len({*dims}) < len(dims):
        raise AutogradError("FFT dims must be unique", found=str(dim), remedy="name each dimension once")
    return dims


def _order(a: np.ndarray, dims: list[int], last: int = 0) -> list[int]:
    """The dimensions as the result has them in memory: those transformed innermost, and each group by its steps in `a`. The `last` ones
    stay last."""
    at, every = len(dims) - last, list(range(a.ndim))
    if a.flags.c_contiguous and dims == every[a.ndim - len(dims):]:
        return every

    def step(d: int) -> int:
        return -a.strides[d]

    return [*sorted([d for d in every if d not in dims], key=step), *sorted(dims[:at], key=step), *dims[at:]]


def _shape(a: np.ndarray, d: int, n: int) -> Shape:
    return (*a.shape[:d], n, *a.shape[d + 1:])


def _laid_out(lines: np.ndarray, order: list[int], dtype: Any, normalization: int, count: int) -> np.ndarray:
    """Lines along the last of the dimensions in `order` as a result: normalized sums of `count` numbers each, in one block of memory."""
    if not normalization:
        result = np.ascontiguousarray(lines, dtype)
    else:
        result = np.empty(lines.shape, dtype)
        np.multiply(lines, 1 / (math.sqrt(count) if normalization == 1 else count), out=result, casting="same_kind")
    return result.transpose(sorted(range(len(order)), key=order.__getitem__))


def _on_meta(shape: Shape, order: list[int], dtype: Any) -> np.ndarray:
    strides = dict(zip(order, contiguous_strides([shape[d] for d in order], np.dtype(dtype).itemsize)))
    return meta_array(shape, dtype, tuple([strides[d] for d in range(len(shape))]))


def _check_dtype(wanted: str, category: int) -> Callable[..., None]:
    """A `check` of the dtype."""
    def check(input: TensorRef, **_: Any) -> None:
        dtype = input._k.dtype
        if dtype.category != category:
            raise AutogradError(f"Only supports {wanted} dtypes, but found: {SCALAR_TYPE_NAMES[dtype.name]}", expected=f"a {wanted} dtype",
                                found=dtype.name, remedy="convert the tensor first")

    return check


def _c2c(input: np.ndarray, dim: Any, normalization: int, forward: bool) -> np.ndarray:
    dims = _dims(dim, input.ndim)
    if input.dtype.kind != "c":
        raise TypeError  # `check` says so on the general path
    if not dims:
        return input.copy()
    order = _order(input, dims)
    lines = input.transpose(order)
    for axis in range(input.ndim - len(dims), input.ndim):
        lines = np.fft.fft(lines, axis=axis) if forward else np.fft.ifft(lines, axis=axis, norm="forward")
    return _laid_out(lines, order, input.dtype, normalization, math.prod([input.shape[d] for d in dims]))


def _c2c_on_meta(input: np.ndarray, dim: Any, normalization: int, forward: bool) -> np.ndarray:
    return _on_meta(input.shape, _order(input, _dims(dim, input.ndim)), input.dtype)


@op("_fft_c2c(Tensor input, int[] dim, int normalization, bool forward) -> Tensor", quiet="all", method=False, dtypes="complex",
    node="FftC2CBackward0")
class _fft_c2c:
    """The discrete Fourier transform of complex numbers along dimensions, or its inverse.

    >>> import autograd_tape as at
    >>> at.F._fft_c2c(at.TensorRef.of([1.0, 0.0, 0.0, 0j]), (0,), 0, True).tolist()
    [(1+0j), (1+0j), (1+0j), (1+0j)]
    """

    sharding = "along dim"
    numpy = _c2c
    compose = on_host(_c2c)
    meta = _c2c_on_meta
    check = _check_dtype("complex", COMPLEX)
    jvp = "linear"
    def vjp(F, grad, dim, normalization, forward): return F._fft_c2c(grad, dim, normalization, not forward)  # the conjugate transpose

    def samples(rng):
        for shape, dim in (((3,), (0,)), ((2, 4), (-1,)), ((2, 3, 2), (2, 0))):
            for normalization, forward in ((0, True), (2, False), (1, False)):
                yield rng.standard_normal(shape) + 1j * rng.standard_normal(shape), dim, normalization, forward

    def errors(rng):
        yield (np.ones((2, 3)), (1,), 0, True), RuntimeError, "Only supports complex dtypes, but found: Double"
        yield (np.ones((2, 3)) + 0j, (1, -1), 0, True), RuntimeError, "FFT dims must be unique"
        yield (np.ones((2, 3)) + 0j, (2,), 0, True), IndexError, \
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)"


def _r2c(input: np.ndarray, dim: Any, normalization: int, onesided: bool) -> np.ndarray:
    dims = _real_dims(dim, input.ndim)
    n = input.shape[dims[-1]]
    order = _order(input, dims, 1)
    lines = np.fft.rfft(input.transpose(order))
    if not onesided:
        half, lines = lines, np.empty((*lines.shape[:-1], n), lines.dtype)
        lines[..., :half.shape[-1]] = half
        np.conjugate(half[..., (n - 1) // 2:0:-1], out=lines[..., half.shape[-1]:])
    for axis in range(input.ndim - len(dims), input.ndim - 1):
        lines = np.fft.fft(lines, axis=axis)
    return _laid_out(lines, order, _complex(input.dtype), normalization, math.prod([input.shape[d] for d in dims]))


def _real_dims(dim: Any, ndim: int) -> list[int]:
    dims = _dims(dim, ndim)
    if not dims:
        raise AutogradError("ArrayRef: attempted to access back() of empty list", expected="dimensions to transform", found="none")
    return dims


_SINGLE, _DOUBLE = np.dtype(np.complex64), np.dtype(np.complex128)


def _complex(dtype: Any) -> Any:
    return _DOUBLE if dtype.itemsize > 4 else _SINGLE


def _r2c_on_meta(input: np.ndarray, dim: Any, normalization: int, onesided: bool) -> np.ndarray:
    dims = _real_dims(dim, input.ndim)
    n = input.shape[dims[-1]]
    return _on_meta(_shape(input, dims[-1], n // 2 + 1 if onesided else n), _order(input, dims, 1), _complex(input.dtype))


@op("_fft_r2c(Tensor input, int[] dim, int normalization, bool onesided) -> Tensor", method=False, dtypes="float",
    node="FftR2CBackward0", complex="explicit")
class _fft_r2c:
    """The discrete Fourier transform of real numbers along dimensions; `onesided`, the first half of the last one, which tells the other.

    >>> torch._fft_r2c(torch.tensor([1., 0., 0., 0.]), (0,), 0, True)
    tensor([1.+0.j, 1.+0.j, 1.+0.j])
    """

    sharding = "along dim"
    numpy = _r2c
    compose = on_host(_r2c)
    lacks = {"half": "RuntimeError: MKL FFT doesn't support tensors of type: {dtype}"}
    meta = _r2c_on_meta
    check = _check_dtype("floating-point", FLOATING)
    jvp = "linear"

    def vjp(F, grad, dim, normalization, onesided, input):
        last = dim if isinstance(dim, int) else dim[-1]
        missing = input.shape[last] - grad.shape[last]
        if missing:
            grad = F.constant_pad_nd(grad, (*(0, 0) * (-last - 1 if last < 0 else len(input.shape) - 1 - last), 0, missing))
        return F.real_part(F._fft_c2c(grad, dim, normalization, False))

    def samples(rng):
        for shape, dim in (((5,), (0,)), ((2, 4), (-1,)), ((2, 3, 4), (2, 0))):
            for normalization, onesided in ((0, True), (1, False), (2, True)):
                yield rng.standard_normal(shape), dim, normalization, onesided

    def errors(rng):
        yield (np.ones((2, 3), np.int64), (1,), 0, True), RuntimeError, "Only supports floating-point dtypes, but found: Long"
        yield (np.ones((2, 3)), (), 0, True), RuntimeError, "ArrayRef: attempted to access back() of empty list"


def _c2r(input: np.ndarray, dim: Any, normalization: int, last_dim_size: int) -> np.ndarray:
    *others, last = _real_dims(dim, input.ndim)
    if input.dtype.kind != "c":
        raise TypeError  # `check` says so on the general path
    _check_half(input.shape[last], last_dim_size)
    count = math.prod([input.shape[d] for d in others]) * last_dim_size
    if others:
        input = _c2c(input, others, 0, False)
    order = _order(input, [last])
    lines = np.fft.irfft(input.transpose(order), last_dim_size, norm="forward")
    return _laid_out(lines, order, input.real.dtype, normalization, count)


def _check_half(found: int, n: int) -> None:
    if found not in (n, n // 2 + 1):
        raise AutogradError(f"_fft_c2r: {n} real numbers have {n // 2 + 1} complex ones, not {found}", expected=str(n // 2 + 1),
                            found=str(found))


def _c2r_on_meta(input: np.ndarray, dim: Any, normalization: int, last_dim_size: int) -> np.ndarray:
    *others, last = _real_dims(dim, input.ndim)
    _check_half(input.shape[last], last_dim_size)
    if others:
        input = _c2c_on_meta(input, others, 0, False)
    return _on_meta(_shape(input, last, last_dim_size), _order(input, [last]), input.real.dtype)


@op("_fft_c2r(Tensor input, int[] dim, int normalization, int last_dim_size) -> Tensor", quiet="all", method=False, dtypes="complex",
    complex="explicit", node="FftC2RBackward0")
class _fft_c2r:
    """The inverse of the Fourier transform of real numbers from the first half of its last dimension, which has `last_dim_size` in all.

    >>> torch._fft_c2r(torch.ones(3, dtype=torch.complex64), (0,), 2, 4)
    tensor([1., 0., 0., 0.])
    """

    sharding = "along dim"
    numpy = _c2r
    compose = on_host(_c2r)
    meta = _c2r_on_meta
    check = _check_dtype("complex", COMPLEX)
    jvp = "linear"

    def vjp(F, grad, dim, normalization):
        last = dim if isinstance(dim, int) else dim[-1]
        return _twice(F, F._fft_r2c(grad, dim, normalization, True), last, grad.shape[last])

    def samples(rng):
        for shape, dim, n in (((3,), (0,), 5), ((2, 3), (-1,), 4), ((2, 3, 3), (2, 0), 3)):
            for normalization in (0, 1, 2):
                yield rng.standard_normal(shape) + 1j * rng.standard_normal(shape), dim, normalization, n

    def errors(rng):
        yield (np.ones((2, 3)), (1,), 0, 4), RuntimeError, "Only supports complex dtypes, but found: Double"


def _twice(F: Functions, half: Values, dim: int, n: int) -> Values:
    """The first half along a dimension of a transform to `n` numbers, with what also stands for others of the second half doubled."""
    h = half.shape[dim]
    if n - h < 1:
        return half
    parts = [F.slice(half, dim, 0, 1), F.slice(half, dim, 1, n - h + 1) * 2]
    return F.cat(parts if n - h + 1 == h else [*parts, F.slice(half, dim, h - 1, h)], dim)
