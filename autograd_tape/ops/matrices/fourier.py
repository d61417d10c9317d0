"""Discrete Fourier transforms along dimensions: of complex numbers, of real ones, and back to real ones. `spectra` makes all others of
these three.

`normalization` is ATen's number: 0 leaves sums as they are, 1 divides them by the root of how many numbers each is of, 2 by that number.
All is computed in double precision, so that results in single precision are rounded once along a dimension.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np

from ...annotations import Shape
from ...dims import wrap_dim
from ...dtypes import COMPLEX, FLOATING, SCALAR_TYPE_NAMES
from ...errors import AutogradError, IndexRangeError
from ...executors.kernels._on_demand import state
from ...executors.kernels.fourier import transform_of
from ...executors.meta import meta_array
from ...record import op
from ...strided import contiguous_strides, copy_like, laid_out
from ...tensor import TensorRef
from .._host import on_host
from .._shapes import like_first


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
    return _in_order(a.strides, a.flags.c_contiguous, dims, last)


def _in_order(strides: Shape, in_rows: bool, dims: list[int], last: int) -> list[int]:
    at, every = len(dims) - last, list(range(len(strides)))
    if in_rows and dims == every[len(every) - len(dims):]:
        return every

    def step(d: int) -> int:
        return -strides[d]

    return [*sorted([d for d in every if d not in dims], key=step), *sorted(dims[:at], key=step), *dims[at:]]


def _shape(a: np.ndarray, d: int, n: int) -> Shape:
    return (*a.shape[:d], n, *a.shape[d + 1:])


def _geometry(a: np.ndarray, dim: Any, last: int = 0) -> tuple[list[int], list[int] | None, list[int] | None, int]:
    """(the dimensions transformed, those of the result in their order in memory, the way back, how many numbers a sum is of); None for
    orders that change nothing."""
    dims = _dims(dim, a.ndim)
    order = _in_order(a.strides, a.flags.c_contiguous, dims, min(last, len(dims)))
    every = list(range(a.ndim))
    count = math.prod([a.shape[d] for d in dims])
    return (dims, None, None, count) if order == every else (dims, order, sorted(every, key=order.__getitem__), count)


def factor_of(normalization: int, count: int) -> float:
    return 1.0 if not normalization else 1 / (math.sqrt(count) if normalization == 1 else count)


# -- step by step -------------------------------------------------------------------------------------------------------------------------


_Step = Callable[[np.ndarray], np.ndarray]


class Route(list[_Step]):
    """What is done to arrays of one geometry, noted while the first of them takes it."""

    def __call__(self, a: np.ndarray, step: _Step) -> np.ndarray:
        self.append(step)
        return step(a)


def by_route(way: Callable[..., np.ndarray], a: np.ndarray, *arguments: Any) -> np.ndarray:
    """`way(route, a, *arguments)`, which takes its steps by `route`; arrays of the same geometry take these at once."""
    route = _route(way, a.shape, a.strides, a.dtype, state.fused, arguments)
    if route:
        for step in route:
            a = step(a)
        return a
    noted = Route()
    a = way(noted, a, *arguments)
    route[:] = noted
    return a


@lru_cache(2048)
def _route(*_: Any) -> list[_Step]:
    return []


try:
    from numpy.fft._pocketfft_internal import execute as _of_lines

    def _pocketfft(lines: np.ndarray, axis: int, n: int, real: bool, forward: bool, factor: float) -> _Step:
        """What transforms such lines of `n` numbers along a dimension, times a factor: real numbers to the first half and, where not
        `forward`, from it."""
        def transform(lines: np.ndarray) -> np.ndarray:
            have, lines = lines.shape[axis], lines.swapaxes(axis, -1)
            if have < n:  # the first half, which is followed by anything
                half, lines = lines, np.empty((*lines.shape[:-1], n), lines.dtype)
                lines[..., :have] = half
            found: np.ndarray = _of_lines(lines, real, forward, factor)  # which leaves the factor out where a line is one number
            return (found if n > 1 or factor == 1 else found * factor).swapaxes(axis, -1)

        return transform
except ImportError:  # NumPy 2
    from numpy.fft import _pocketfft_umath as _loops  # type: ignore[attr-defined]

    _ONE = np.asarray(1.0)

    def _pocketfft(lines: np.ndarray, axis: int, n: int, real: bool, forward: bool, factor: float) -> _Step:
        """As NumPy 1's own transforms go, by the loops below the public functions, which look at their arguments for thrice the time."""
        shape, one, dtype = lines.shape, lines.real.dtype, lines.dtype
        single, last, times = one.itemsize == 4, axis == lines.ndim - 1, np.asarray(factor, one)
        if real:
            loop = _loops.irfft if not forward else _loops.rfft_n_odd if n % 2 else _loops.rfft_n_even
            dtype, shape = (_complex(one), (*shape[:-1], n // 2 + 1)) if forward else (one, (*shape[:-1], n))
        else:
            loop = _loops.fft if forward else _loops.ifft
        double = methodcaller("astype", np.result_type(lines.dtype, np.float64), "C")  # the loops' buffers take longer

        def of_real(lines: np.ndarray) -> np.ndarray:
            found: np.ndarray = loop(double(lines) if single else lines, _ONE, np.empty(shape, dtype))
            return found if factor == 1 else np.multiply(found, times, found)

        def of_complex(lines: np.ndarray) -> np.ndarray:
            found: np.ndarray = double(lines if last else lines.swapaxes(axis, -1))
            loop(found, _ONE, found)
            if single or not last:
                found = (found if last else found.swapaxes(axis, -1)).astype(dtype, "C")
            return found if factor == 1 else np.multiply(found, times, found)

        return of_real if real else of_complex


def _along(route: Route, lines: np.ndarray, axis: int, forward: bool, factor: float, own: bool) -> np.ndarray:
    """The transforms of complex lines along a dimension, times a factor; what is the caller's `own` may be overwritten."""
    n = lines.shape[axis]
    if n == 1 and factor == 1:
        return lines if own else route(lines, np.ndarray.copy)
    step = transform_of(lines, axis, n, n, lines.dtype, not forward, factor, own)
    return route(lines, step or _pocketfft(lines, axis, n, False, forward, factor))


def _laid_out(route: Route, lines: np.ndarray, back: list[int] | None, dtype: Any) -> np.ndarray:
    """Lines as a result, in one block of memory."""
    if lines.dtype is not dtype or lines.strides != contiguous_strides(lines.shape, lines.itemsize):
        lines = route(lines, methodcaller("astype", dtype, "C"))
    return _transposed(route, lines, back)


def _transposed(route: Route, a: np.ndarray, order: list[int] | None) -> np.ndarray:
    return a if order is None else route(a, methodcaller("transpose", order))


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


def c2c(input: np.ndarray, dim: Any, normalization: int, forward: bool) -> np.ndarray:
    return by_route(c2c_by, input, tuple(dim) if dim.__class__ is list else dim, normalization, forward)


def c2c_by(route: Route, input: np.ndarray, dim: Any, normalization: int, forward: bool) -> np.ndarray:
    if input.dtype.kind != "c":
        raise TypeError  # `check` says so on the general path
    dims, order, back, count = _geometry(input, dim)
    if not dims:
        return route(input, np.ndarray.copy)
    lines, last, own = _transposed(route, input, order), input.ndim - 1, False
    for axis in range(last + 1 - len(dims), last):
        if lines.shape[axis] > 1:  # one number is its own transform
            lines, own = _along(route, lines, axis, forward, 1.0, own), True
    return _laid_out(route, _along(route, lines, last, forward, factor_of(normalization, count), own), back, input.dtype)


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
    numpy = c2c
    compose = on_host(c2c)
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


def r2c(input: np.ndarray, dim: Any, normalization: int, onesided: bool, conjugate: bool = False) -> np.ndarray:
    return by_route(r2c_by, input, tuple(dim) if dim.__class__ is list else dim, normalization, onesided, conjugate)


def r2c_by(route: Route, input: np.ndarray, dim: Any, normalization: int, onesided: bool, conjugate: bool = False) -> np.ndarray:
    dims, order, back, count = _geometry(input, dim, 1)
    if not dims:
        _real_dims(dim, input.ndim)
    factor, several, last = factor_of(normalization, count), len(dims) > 1, input.ndim - 1
    n, dtype = input.shape[dims[-1]], _complex(input.dtype)
    first, lines = 1.0 if several else factor, _transposed(route, input, order)
    step = transform_of(lines, last, n, n // 2 + 1 if onesided else n, dtype, conjugate, first)
    if step is not None:
        found = route(lines, step)
    else:
        found = route(lines, _pocketfft(lines, last, n, True, True, first))
        if conjugate:
            found = route(found, _conjugated)
        if not onesided:
            found = route(found, _whole(found, n, found.dtype if several else dtype))
    for axis in range(last + 1 - len(dims), last):
        found = _along(route, found, axis, True, factor if axis == last - 1 else 1.0, True)
    return _laid_out(route, found, back, dtype)


def _conjugated(own: np.ndarray) -> np.ndarray:
    return np.conjugate(own, out=own)


def _whole(half: np.ndarray, n: int, dtype: np.dtype) -> _Step:
    """What makes `n` numbers, of a dtype, of the first half of the transform of real ones."""
    h, shape = half.shape[-1], (*half.shape[:-1], n)
    first, mirrored, second = (..., slice(h)), (..., slice(n - h, 0, -1)), (..., slice(h, n))

    def whole(half: np.ndarray) -> np.ndarray:
        found = np.empty(shape, dtype)
        found[first] = half
        if n > h:
            np.conjugate(half[mirrored], found[second])
        return found

    return whole


def _real_dims(dim: Any, ndim: int) -> list[int]:
    dims = _dims(dim, ndim)
    if not dims:
        raise AutogradError("ArrayRef: attempted to access back() of empty list", expected="dimensions to transform", found="none")
    return dims


_SINGLE, _DOUBLE = np.dtype(np.complex64), np.dtype(np.complex128)
_REAL: dict[str, Any] = {"F": np.dtype(np.float32), "D": np.dtype(np.float64)}


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
    numpy = r2c
    compose = on_host(r2c)
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


def c2r(input: np.ndarray, dim: Any, normalization: int, last_dim_size: int, conjugate: bool = False) -> np.ndarray:
    return by_route(c2r_by, input, tuple(dim) if dim.__class__ is list else dim, normalization, last_dim_size, conjugate)


def c2r_by(route: Route, input: np.ndarray, dim: Any, normalization: int, last_dim_size: int, conjugate: bool = False) -> np.ndarray:
    *others, last = _real_dims(dim, input.ndim)
    _check_half(input.shape[last], last_dim_size)
    count = math.prod([input.shape[d] for d in others]) * last_dim_size
    if input.dtype.kind != "c":
        raise TypeError  # `check` says so on the general path
    if others:
        input = c2c_by(route, input, others, 0, False)
    elif conjugate and (0 in input.strides or 1 in input.shape):  # results lie in the order in which conjugates do
        input, conjugate = route(input, _conjugates_like), False
    _, order, back, _ = _geometry(input, last)
    lines, n, h = _transposed(route, input, order), last_dim_size, last_dim_size // 2 + 1
    if lines.shape[-1] != h:
        lines = route(lines, itemgetter((..., slice(h))))
    factor, dtype = factor_of(normalization, count), _REAL[input.dtype.char]
    step = transform_of(lines, input.ndim - 1, n, n, dtype, not conjugate, factor)
    if step is None:
        if conjugate:
            lines = route(lines, np.conjugate)
        step = _pocketfft(lines, input.ndim - 1, n, True, False, factor)
    return _laid_out(route, route(lines, step), back, dtype)


def _conjugates_like(a: np.ndarray) -> np.ndarray:
    return laid_out(np.conjugate(a), a)


def _check_half(found: int, n: int) -> None:
    if found not in (n, n // 2 + 1) or not n:
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
    numpy = c2r
    compose = on_host(c2r)
    meta = _c2r_on_meta
    check = _check_dtype("complex", COMPLEX)
    jvp = "linear"

    def vjp(F, grad, dim, normalization):
        last = dim if isinstance(dim, int) else dim[-1]
        return F._fft_with_mirrored(F._fft_r2c(grad, dim, normalization, True), last, grad.shape[last])

    def samples(rng):
        for shape, dim, n in (((3,), (0,), 5), ((2, 3), (-1,), 4), ((2, 3, 3), (2, 0), 3)):
            for normalization in (0, 1, 2):
                yield rng.standard_normal(shape) + 1j * rng.standard_normal(shape), dim, normalization, n

    def errors(rng):
        yield (np.ones((2, 3)), (1,), 0, 4), RuntimeError, "Only supports complex dtypes, but found: Double"


def _with_mirrored(half: np.ndarray, dim: int, n: int) -> np.ndarray:
    found = copy_like(half)
    both = found[(slice(None),) * (dim % half.ndim) + (slice(1, n - half.shape[dim] + 1),)]
    both += both
    return found


@op("_fft_with_mirrored(Tensor half, int dim, int n) -> Tensor", quiet="all", method=False, namespace="_internal", out=False,
    dtypes="complex", complex="explicit")
class _fft_with_mirrored:
    """The first half along a dimension of transforms to `n` real numbers, twice what also stands for numbers of the second half.

    >>> import autograd_tape as at
    >>> at.F._fft_with_mirrored(at.TensorRef.of([1.0, 1.0, 0j + 1]), 0, 4).tolist()
    [(1+0j), (2+0j), (1+0j)]
    """

    sharding = "along dim"
    numpy = _with_mirrored
    compose = on_host(_with_mirrored)
    shape = like_first
    def vjp(F, grad, dim, n): return F._fft_with_mirrored(grad, dim, n)
    jvp = "linear"

    def samples(rng):
        for shape, dim, n in (((3,), 0, 5), ((2, 3), -1, 4), ((1, 2), 0, 1)):
            yield rng.standard_normal(shape) + 1j * rng.standard_normal(shape), dim, n
