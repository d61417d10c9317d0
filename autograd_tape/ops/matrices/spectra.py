"""The Fourier transforms of `torch.fft`, made of those of `fourier` as ATen makes them: what is real is made complex where need be, lengths
are cut or filled with zeros, and norms have names."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np

from ..data.create import ALL_SINGLE, counted, emptied, finish
from ..data.rearrange import pad_constant, roll_array
from ...annotations import Functions, Shape
from ...dtypes import COMPLEX, FLOATING, SCALAR_TYPE_NAMES, DType, Kind, default_dtype
from ...errors import AutogradError
from ...executors.kernels.fourier import frequencies
from ...functions.out import OutRule
from ...functions.refusals import on_meta
from ...record import op
from ...strided import copy_like
from ...tensor import TensorRef, as_dtype
from .fourier import Route, by_route, c2c_by, c2r_by, r2c_by, wrap_dims
from ...warned import ignoring

_NORMS = {("backward", True): 0, ("backward", False): 2, ("ortho", True): 1, ("ortho", False): 1,
          ("forward", True): 2, ("forward", False): 0}
"""What ATen calls a norm, by its name and whether the transform is no inverse."""
_ONE = "(Tensor input, int? n=None, int dim=-1, str? norm=None) -> Tensor"
_TWO = "(Tensor input, int[]? s=None, int[] dim=(-2, -1), str? norm=None) -> Tensor"
_MANY = "(Tensor input, int[]? s=None, int[]? dim=None, str? norm=None) -> Tensor"


def _to_complex(name: str) -> OutRule:
    return OutRule(f"{name} expects a complex output tensor, but got {{found}}", lambda result, out: out.is_complex)


def _to_real(name: str) -> OutRule:
    return OutRule(f"{name} expects a floating point output tensor, but got {{found}}", lambda result, out: out.category == FLOATING)


def _normalization(norm: str | None, forward: bool) -> int:
    found = _NORMS.get((norm or "backward", forward))
    if found is None:
        raise AutogradError(f'Invalid normalization mode: "{norm}"', expected="backward, ortho or forward", found=repr(norm))
    return found


def _computed(F: Functions, input: TensorRef, complex: bool) -> TensorRef:
    """A tensor in the dtype in which it is transformed, which with `complex` is complex."""
    found: DType = input._k.dtype
    wanted = default_dtype() if found.category < FLOATING else found
    if wanted.name not in ("float32", "float64", "complex64", "complex128") and not (
            wanted.name == "float16" and input._k.device.type == "meta"):
        raise AutogradError(f"Unsupported dtype {SCALAR_TYPE_NAMES[wanted.name]}", expected="single or double precision", found=wanted.name,
                            remedy="convert the tensor first")
    if complex and wanted.category < COMPLEX:
        wanted = wanted.to_complex()
    return input if wanted is found else F.cast(input, wanted)


_Lengths = Callable[[Shape, Any, Any], tuple[list[int], list[int], int]]
"""What says, for a shape, lengths and dimensions as they are given: (the dimensions, how many elements are transformed along each, how many
numbers the last one has in all)."""


@lru_cache(1024)
def _cut(shape: Shape, s: Any, dim: Any, lengths: _Lengths) -> tuple[Shape, int, dict[int, int], Shape]:
    """(dimensions, how many numbers the last one has in all, of which so many elements are left, how many zeros come before and after the
    last dimension, the one before it, ...)."""
    dims, sizes, count = lengths(shape, s, dim)
    cut: dict[int, int] = {}
    pad = [0] * (2 * len(shape))
    for d, n in zip(dims, sizes):
        if n < shape[d]:
            cut[d] = n
        pad[2 * (len(shape) - 1 - d) + 1] = max(n - shape[d], 0)
    return tuple(dims), count, cut, tuple(pad) if any(pad) else ()


def _fitted(F: Functions, x: TensorRef, s: Any, dim: Any, lengths: _Lengths, complex: bool | None = None
            ) -> tuple[TensorRef, Shape, int]:
    """(the first so many elements along dimensions, zeros after the last, in the dtype in which they are transformed unless that is theirs;
    the dimensions; how many numbers the last one has in all)."""
    dims, count, cut, pad = (_cut if s is None and dim.__class__ is int else _cut.__wrapped__)(x.shape, s, dim, lengths)
    x = x if complex is None else _computed(F, x, complex)
    for d, n in cut.items():
        x = F.slice(x, d, 0, n)
    x = F.constant_pad_nd(x, pad) if pad else x
    if 0 in x.shape and not on_meta(x):
        raise no_elements(x)
    return x, dims, count


def _conjugates(F: Functions, x: TensorRef) -> TensorRef:
    """Conjugates to be read at once: no view of what has no history, which would be copied on a longer way."""
    return F.conj(x) if x._node is not None or on_meta(x) else F.conj_physical(x)


def no_elements(x: TensorRef) -> AutogradError:
    """torch's error for transforms of nothing."""
    return AutogradError("MKL FFT error: Intel oneMKL DFTI ERROR: Inconsistent configuration parameters",
                         expected="elements to transform", found=f"shape {list(x.shape)}")


def _check_count(n: int) -> None:
    if n < 1:
        raise AutogradError(f"Invalid number of data points ({n}) specified", expected="1 or more", found=str(n))


# -- of plain arrays ----------------------------------------------------------------------------------------------------------------------


def _fitted_array(route: Route, a: np.ndarray, s: Any, dim: Any, lengths: _Lengths, complex: bool, default: DType | None
                  ) -> tuple[np.ndarray, Shape, int]:
    """What `_fitted` makes of a tensor in the dtype in which it is transformed, of a plain array; TypeError where that says no."""
    found = a.dtype
    wanted = found if default is None else default.np
    wanted = _WITH_COMPLEX[wanted.char] if complex else wanted
    if wanted.char not in _WITH_COMPLEX or not a.size:
        raise TypeError
    dims, count, cut, pad = _cut(a.shape, s, dim, lengths)
    first = itemgetter(tuple([slice(cut.get(d)) for d in range(a.ndim)])) if cut else None
    late = 1 in cut.values()  # the step along a dimension of one element says where it lies, and a copy has another
    if first is not None and not late:
        a = route(a, first)
    if wanted is not found:
        a = route(a if 0 not in a.strides else route(a, copy_like), methodcaller("astype", wanted))
    if first is not None and late:
        a = route(a, first)
    return route(a, partial(pad_constant, pad=pad, value=0)) if pad else a, dims, count


def _quick(way: Callable[..., np.ndarray], *fixed: Any) -> Callable[..., np.ndarray]:
    """The field `quick` of a transform of plain arrays along `way`."""
    def quick(input: np.ndarray, s: Any, dim: Any, norm: str | None) -> np.ndarray:
        default = default_dtype() if input.dtype.kind in "biu" else None
        return by_route(way, input, tuple(s) if s.__class__ is list else s, tuple(dim) if dim.__class__ is list else dim, norm, default,
                        *fixed)

    return quick


_WITH_COMPLEX = {c: np.dtype(c.upper()) for c in "fdFD"}


# -- along one dimension ----------------------------------------------------------------------------------------------------------------


def _length(shape: Shape, n: int | None, dim: int) -> tuple[list[int], list[int], int]:
    """(the dimension, its length, which is `n` where that is given, and again)."""
    dims = wrap_dims((dim,), len(shape))
    count = shape[dims[0]] if n is None else n
    _check_count(count)
    return dims, [count], count


def _half_length(shape: Shape, n: int | None, dim: int) -> tuple[list[int], list[int], int]:
    """The same of a first half, and how many numbers there are in all."""
    dims = wrap_dims((dim,), len(shape))
    have = shape[dims[0]]
    count = 2 * (have - 1) if n is None else n
    _check_count(count)
    return dims, [have if n is None else n // 2 + 1], count


def _spectrum(name: str, forward: bool, real: bool) -> tuple[Callable[..., TensorRef], Callable[..., np.ndarray]]:
    """`function` and `quick` of a transform to complex numbers: of any, or, where `real`, of real ones to the first half. The inverse of
    real numbers is a view of conjugates, and `quick` gives what those are of."""
    def function(F: Functions, input: TensorRef, n: int | None = None, dim: int = -1, norm: str | None = None) -> TensorRef:
        is_complex = input._k.dtype.is_complex
        if real and is_complex:
            raise AutogradError(f"{name} expects a real input tensor, but got {SCALAR_TYPE_NAMES[input._k.dtype.name]}")
        x, dims, _ = _fitted(F, _computed(F, input, False), n, dim, _length)
        kind = _normalization(norm, forward)
        if is_complex:
            return F._fft_c2c(x, dims, kind, forward)
        result = F._fft_r2c(x, dims, kind, real)
        return result if forward else F.conj(result)

    def way(route: Route, input: np.ndarray, n: int | None, dim: int, norm: str | None, default: DType | None) -> np.ndarray:
        x, dims, _ = _fitted_array(route, input, n, dim, _length, False, default)
        kind = _NORMS[norm or "backward", forward]
        return c2c_by(route, x, dims, kind, forward) if input.dtype.kind == "c" else r2c_by(route, x, dims, kind, real)

    return function, _quick(way)


def _signal(forward: bool) -> tuple[Callable[..., TensorRef], Callable[..., np.ndarray]]:
    """`function` and `quick` of a transform of the first half to real numbers."""
    def function(F: Functions, input: TensorRef, n: int | None = None, dim: int = -1, norm: str | None = None) -> TensorRef:
        x, dims, count = _fitted(F, _computed(F, input, True), n, dim, _half_length)
        kind = _normalization(norm, forward)
        return F._fft_c2r(_conjugates(F, x) if forward else x, dims, kind, count)

    def way(route: Route, input: np.ndarray, n: int | None, dim: int, norm: str | None, default: DType | None) -> np.ndarray:
        x, dims, count = _fitted_array(route, input, n, dim, _half_length, True, default)
        return c2r_by(route, x, dims, _NORMS[norm or "backward", forward], count, forward)

    return function, _quick(way)


def _samples_of(real: bool, half: bool) -> Callable[..., Any]:
    """Samples along one dimension; where `real`, of transforms that take real numbers alone, and where `half`, of those that give them."""
    def samples(rng: Any) -> Any:
        yield (rng.standard_normal((2, 5)),)
        yield rng.standard_normal((3, 4)), 6, 0, "ortho"
        yield rng.standard_normal((3, 4)), 3, -1, "forward"
        if not real:
            yield (rng.standard_normal((2, 4)) + 1j * rng.standard_normal((2, 4)),)
            yield rng.standard_normal((2, 4)) + 1j * rng.standard_normal((2, 4)), 5 if half else 3, -2, "forward"

    return samples


def _errors(rng: Any) -> Any:
    yield (np.ones((2, 3)), 0), RuntimeError, "Invalid number of data points (0) specified"
    yield (np.ones((2, 3)), None, 2), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 2)"
    yield (np.ones(()),), IndexError, "Dimension specified as -1 but tensor has no dimensions"
    yield (np.ones((2, 3)), None, -1, "no"), RuntimeError, 'Invalid normalization mode: "no"'


@op("fft_fft" + _ONE, namespace="_internal", alias="fft.fft", method=False)
class fft_fft:
    """The discrete Fourier transform along a dimension, of `n` numbers.

    >>> torch.fft.fft(torch.tensor([1., 0., 0., 0.]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.-0.j])
    """

    amp = "float32"
    out_dtype = _to_complex("fft")
    function, quick = _spectrum("fft", True, False)
    quick_complex = True
    samples, errors = _samples_of(False, False), _errors


@op("fft_ifft" + _ONE, namespace="_internal", alias="fft.ifft", method=False)
class fft_ifft:
    """The inverse of `torch.fft.fft`.

    >>> torch.fft.ifft(torch.fft.fft(torch.tensor([1., 2.])))
    tensor([1.+0.j, 2.+0.j])
    """

    amp = "float32"
    out_dtype = _to_complex("ifft")
    function, quick = _spectrum("ifft", False, False)
    quick_complex = quick_conjugates = True
    samples, errors = _samples_of(False, False), _errors


@op("fft_rfft" + _ONE, namespace="_internal", alias="fft.rfft", method=False)
class fft_rfft:
    """The first half of the Fourier transform of real numbers, which tells the other.

    >>> torch.fft.rfft(torch.tensor([1., 0., 0., 0.]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j])
    """

    amp = "float32"
    out_dtype = _to_complex("rfft")
    function, quick = _spectrum("rfft", True, True)
    samples, errors = _samples_of(True, False), _errors


@op("fft_irfft" + _ONE, namespace="_internal", alias="fft.irfft", method=False)
class fft_irfft:
    """The inverse of `torch.fft.rfft`: `n` real numbers, two for each element but the first where left out.

    >>> torch.fft.irfft(torch.fft.rfft(torch.tensor([1., 2., 3.])), 3)
    tensor([1., 2., 3.])
    """

    amp = "float32"
    out_dtype = _to_real("irfft")
    function, quick = _signal(False)
    quick_complex = True
    samples, errors = _samples_of(False, True), _errors


@op("fft_hfft" + _ONE, namespace="_internal", alias="fft.hfft", method=False)
class fft_hfft:
    """The Fourier transform of numbers whose second half is the conjugate of the first, which is given: real numbers.

    >>> torch.fft.hfft(torch.tensor([1., 0., 0.]))
    tensor([1., 1., 1., 1.])
    """

    amp = "float32"
    out_dtype = _to_real("hfft")
    function, quick = _signal(True)
    quick_complex = True
    samples, errors = _samples_of(False, True), _errors


@op("fft_ihfft" + _ONE, namespace="_internal", alias="fft.ihfft", method=False)
class fft_ihfft:
    """The inverse of `torch.fft.hfft`: the first half.

    >>> torch.fft.ihfft(torch.tensor([1., 1., 1., 1.]))
    tensor([1.-0.j, 0.-0.j, 0.-0.j])
    """

    amp = "float32"
    out_dtype = _to_complex("ihfft")
    function, quick = _spectrum("ihfft", False, True)
    quick_conjugates = True
    samples, errors = _samples_of(True, False), _errors


# -- along several dimensions -----------------------------------------------------------------------------------------------------------


def _sizes(shape: Shape, s: Any, dim: Any) -> tuple[list[int], list[int], int]:
    """(dimensions, lengths, the last of them) of transforms along several dimensions: `dim`, or the last ones that `s` has lengths for, or
    all."""
    ndim, s = len(shape), (s,) if isinstance(s, int) else s
    dims = None if dim is None else wrap_dims((dim,) if isinstance(dim, int) else dim, ndim)
    if dims is not None and len({*dims}) < len(dims):
        raise AutogradError("FFT dims must be unique", found=str(dim), remedy="name each dimension once")
    if s is not None:
        if dims is not None and len(dims) != len(s):
            raise AutogradError("When given, dim and shape arguments must have the same length", expected=f"{len(dims)} lengths",
                                found=str(len(s)))
        if len(s) > ndim:
            raise AutogradError(f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
    if dims is None:
        dims = list(range(ndim - (ndim if s is None else len(s)), ndim))
    sizes = [shape[d] if s is None or s[i] == -1 else int(s[i]) for i, d in enumerate(dims)]
    for n in sizes:
        _check_count(n)
    return dims, sizes, sizes[-1] if sizes else 0


def _sizes_of_some(name: str) -> _Lengths:
    """The same of a transform along one dimension at least."""
    def lengths(shape: Shape, s: Any, dim: Any) -> tuple[list[int], list[int], int]:
        found = _sizes(shape, s, dim)
        if not found[0]:
            raise AutogradError(f"{name} must transform at least one axis", expected="dimensions", found="none")
        return found

    return lengths


def _half_sizes(name: str) -> _Lengths:
    """The same of a first half, and how many numbers the last dimension has in all."""
    of_some = _sizes_of_some(name)

    def lengths(shape: Shape, s: Any, dim: Any) -> tuple[list[int], list[int], int]:
        dims, sizes, count = of_some(shape, s, dim)
        s = (s,) if isinstance(s, int) else s
        count = 2 * (shape[dims[-1]] - 1) if s is None or s[-1] == -1 else count
        _check_count(count)
        return dims, [*sizes[:-1], count // 2 + 1], count

    return lengths


_RFFT_SIZES, _IRFFT_SIZES, _HFFT_SIZES, _IHFFT_SIZES = (
    _sizes_of_some("rfftn"), _half_sizes("irfftn"), _half_sizes("hfftn"), _sizes_of_some("ihfftn"))


def _of_all(forward: bool) -> tuple[Callable[..., TensorRef], Callable[..., np.ndarray]]:
    def transformed(F: Functions, input: TensorRef, s: Any, dim: Any, norm: str | None) -> TensorRef:
        x, dims, _ = _fitted(F, input, s, dim, _sizes, True)
        return F._fft_c2c(x, dims, _normalization(norm, forward), forward)

    def way(route: Route, input: np.ndarray, s: Any, dim: Any, norm: str | None, default: DType | None) -> np.ndarray:
        x, dims, _ = _fitted_array(route, input, s, dim, _sizes, True, default)
        return c2c_by(route, x, dims, _NORMS[norm or "backward", forward], forward)

    return transformed, way


def _rfftn(F: Functions, input: TensorRef, s: Any, dim: Any, norm: str | None) -> TensorRef:
    if input._k.dtype.is_complex:
        raise AutogradError(f"rfftn expects a real-valued input tensor, but got {SCALAR_TYPE_NAMES[input._k.dtype.name]}")
    x, dims, _ = _fitted(F, input, s, dim, _RFFT_SIZES, False)
    return F._fft_r2c(x, dims, _normalization(norm, True), True)


def _rfftn_of_array(route: Route, input: np.ndarray, s: Any, dim: Any, norm: str | None, default: DType | None) -> np.ndarray:
    x, dims, _ = _fitted_array(route, input, s, dim, _RFFT_SIZES, False, default)
    return r2c_by(route, x, dims, _NORMS[norm or "backward", True], True)


def _irfftn(F: Functions, input: TensorRef, s: Any, dim: Any, norm: str | None) -> TensorRef:
    x, dims, count = _fitted(F, input, s, dim, _IRFFT_SIZES, True)
    return F._fft_c2r(x, dims, _normalization(norm, False), count)


def _irfftn_of_array(route: Route, input: np.ndarray, s: Any, dim: Any, norm: str | None, default: DType | None) -> np.ndarray:
    x, dims, count = _fitted_array(route, input, s, dim, _IRFFT_SIZES, True, default)
    return c2r_by(route, x, dims, _NORMS[norm or "backward", False], count)


def _hfftn(F: Functions, input: TensorRef, s: Any, dim: Any, norm: str | None) -> TensorRef:
    x, dims, count = _fitted(F, input, s, dim, _HFFT_SIZES, True)
    kind = _normalization(norm, True)
    if len(dims) > 1:
        x = F._fft_c2c(x, dims[:-1], kind, True)
    return F._fft_c2r(_conjugates(F, x), dims[-1:], kind, count)


def _hfftn_of_array(route: Route, input: np.ndarray, s: Any, dim: Any, norm: str | None, default: DType | None) -> np.ndarray:
    x, dims, count = _fitted_array(route, input, s, dim, _HFFT_SIZES, True, default)
    kind = _NORMS[norm or "backward", True]
    if len(dims) > 1:
        x = c2c_by(route, x, dims[:-1], kind, True)
    return c2r_by(route, x, dims[-1:], kind, count, True)


def _ihfftn(F: Functions, input: TensorRef, s: Any, dim: Any, norm: str | None) -> TensorRef:
    x, dims, _ = _fitted(F, input, s, dim, _IHFFT_SIZES, False)
    kind = _normalization(norm, False)
    half = F._fft_r2c(x, dims[-1:], kind, True)
    return F.conj(half) if len(dims) == 1 else F._fft_c2c(F.conj_physical(half), dims[:-1], kind, False)


def _ihfftn_of_array(route: Route, input: np.ndarray, s: Any, dim: Any, norm: str | None, default: DType | None) -> np.ndarray:
    x, dims, _ = _fitted_array(route, input, s, dim, _IHFFT_SIZES, False, default)
    if len(dims) == 1:  # which is a view of conjugates
        raise TypeError
    kind = _NORMS[norm or "backward", False]
    return c2c_by(route, r2c_by(route, x, dims[-1:], kind, True, True), dims[:-1], kind, False)


def _two_or_many(transformed: Callable[..., TensorRef], way: Callable[..., np.ndarray]) -> tuple[Any, Any]:
    """The fields `function` and `quick` of a transform along two dimensions, and along several."""
    quick = _quick(way)
    def two(F, input, s=None, dim=(-2, -1), norm=None): return transformed(F, input, s, dim, norm)
    def many(F, input, s=None, dim=None, norm=None): return transformed(F, input, s, dim, norm)
    return (two, quick), (many, quick)


_FFT2, _FFTN = _two_or_many(*_of_all(True))
_IFFT2, _IFFTN = _two_or_many(*_of_all(False))
_RFFT2, _RFFTN = _two_or_many(_rfftn, _rfftn_of_array)
_IRFFT2, _IRFFTN = _two_or_many(_irfftn, _irfftn_of_array)
_HFFT2, _HFFTN = _two_or_many(_hfftn, _hfftn_of_array)
_IHFFT2, _IHFFTN = _two_or_many(_ihfftn, _ihfftn_of_array)


def _samples_of_several(real: bool) -> Callable[..., Any]:
    def samples(rng: Any) -> Any:
        yield (rng.standard_normal((3, 4)),)
        yield rng.standard_normal((2, 3, 4)), (3, 5), (2, 0), "ortho"
        if not real:
            yield rng.standard_normal((2, 3, 4)) + 1j * rng.standard_normal((2, 3, 4)), (2, -1), (0, 1), "forward"

    return samples


def _several_errors(rng: Any) -> Any:
    yield (np.ones((2, 3)), (2, 0)), RuntimeError, "Invalid number of data points (0) specified"
    yield (np.ones((2, 3)), None, (0, 2)), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 2)"
    yield (np.ones((2, 3)), None, (0, -2)), RuntimeError, "FFT dims must be unique"
    yield (np.ones((2, 3)), (2,), (0, 1)), RuntimeError, "When given, dim and shape arguments must have the same length"
    yield (np.ones((2, 3)), None, (0, 1), "no"), RuntimeError, 'Invalid normalization mode: "no"'


@op("fft_fft2" + _TWO, namespace="_internal", alias="fft.fft2", method=False)
class fft_fft2:
    """`torch.fft.fft` along the last two dimensions.

    >>> torch.fft.fft2(torch.eye(2)).real
    tensor([[2., 0.],
            [0., 2.]])
    """

    amp = "float32"
    out_dtype = _to_complex("fftn")
    function, quick = _FFT2
    quick_complex = True
    samples, errors = _samples_of_several(False), _several_errors


@op("fft_ifft2" + _TWO, namespace="_internal", alias="fft.ifft2", method=False)
class fft_ifft2:
    """The inverse of `torch.fft.fft2`."""

    amp = "float32"
    out_dtype = _to_complex("fftn")
    function, quick = _IFFT2
    quick_complex = True
    samples, errors = _samples_of_several(False), _several_errors


@op("fft_rfft2" + _TWO, namespace="_internal", alias="fft.rfft2", method=False)
class fft_rfft2:
    """`torch.fft.rfft` along the last dimension, and `torch.fft.fft` along the one before it.

    >>> torch.fft.rfft2(torch.ones(2, 2)).shape
    torch.Size([2, 2])
    """

    amp = "float32"
    out_dtype = _to_complex("rfftn")
    function, quick = _RFFT2
    samples, errors = _samples_of_several(True), _several_errors


@op("fft_irfft2" + _TWO, namespace="_internal", alias="fft.irfft2", method=False)
class fft_irfft2:
    """The inverse of `torch.fft.rfft2`."""

    amp = "float32"
    out_dtype = _to_real("irfftn")
    function, quick = _IRFFT2
    quick_complex = True
    samples, errors = _samples_of_several(False), _several_errors


@op("fft_hfft2" + _TWO, namespace="_internal", alias="fft.hfft2", method=False)
class fft_hfft2:
    """`torch.fft.fft` along the last dimension but one, and `torch.fft.hfft` along the last."""

    out_dtype = _to_real("hfftn")
    function, quick = _HFFT2
    quick_complex = True
    samples, errors = _samples_of_several(False), _several_errors


@op("fft_ihfft2" + _TWO, namespace="_internal", alias="fft.ihfft2", method=False)
class fft_ihfft2:
    """The inverse of `torch.fft.hfft2`."""

    out_dtype = _to_complex("ihfftn")
    function, quick = _IHFFT2
    samples, errors = _samples_of_several(True), _several_errors


@op("fft_fftn" + _MANY, namespace="_internal", alias="fft.fftn", method=False)
class fft_fftn:
    """`torch.fft.fft` along several dimensions, all where none are named.

    >>> torch.fft.fftn(torch.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """

    amp = "float32"
    out_dtype = _to_complex("fftn")
    function, quick = _FFTN
    quick_complex = True
    samples, errors = _samples_of_several(False), _several_errors


@op("fft_ifftn" + _MANY, namespace="_internal", alias="fft.ifftn", method=False)
class fft_ifftn:
    """The inverse of `torch.fft.fftn`."""

    amp = "float32"
    out_dtype = _to_complex("fftn")
    function, quick = _IFFTN
    quick_complex = True
    samples, errors = _samples_of_several(False), _several_errors


@op("fft_rfftn" + _MANY, namespace="_internal", alias="fft.rfftn", method=False)
class fft_rfftn:
    """`torch.fft.rfft` along the last of several dimensions, and `torch.fft.fft` along the others."""

    amp = "float32"
    out_dtype = _to_complex("rfftn")
    function, quick = _RFFTN
    samples, errors = _samples_of_several(True), _several_errors


@op("fft_irfftn" + _MANY, namespace="_internal", alias="fft.irfftn", method=False)
class fft_irfftn:
    """The inverse of `torch.fft.rfftn`.

    >>> torch.fft.irfftn(torch.fft.rfftn(torch.eye(2)))
    tensor([[1., 0.],
            [0., 1.]])
    """

    amp = "float32"
    out_dtype = _to_real("irfftn")
    function, quick = _IRFFTN
    quick_complex = True
    samples, errors = _samples_of_several(False), _several_errors


@op("fft_hfftn" + _MANY, namespace="_internal", alias="fft.hfftn", method=False)
class fft_hfftn:
    """`torch.fft.hfft` along the last of several dimensions, after `torch.fft.fft` along the others."""

    out_dtype = _to_real("hfftn")
    function, quick = _HFFTN
    quick_complex = True
    samples, errors = _samples_of_several(False), _several_errors


@op("fft_ihfftn" + _MANY, namespace="_internal", alias="fft.ihfftn", method=False)
class fft_ihfftn:
    """The inverse of `torch.fft.hfftn`."""

    out_dtype = _to_complex("ihfftn")
    function, quick = _IHFFTN
    samples, errors = _samples_of_several(True), _several_errors


# -- order of frequencies ---------------------------------------------------------------------------------------------------------------


@lru_cache(512)
def _shifts(shape: Shape, dim: Any, up: bool) -> tuple[Shape, Shape]:
    """(how far elements go, along which dimensions)."""
    dims = wrap_dims(range(len(shape)) if dim is None else (dim,) if isinstance(dim, int) else dim, len(shape))
    return tuple([(shape[d] + up) // 2 for d in dims]), tuple(dims)


def _shift(up: bool) -> tuple[Callable[..., TensorRef], Callable[..., np.ndarray]]:
    """`function` and `quick` of a shift by half of the elements, rounded `up` or down."""
    def function(F, input, dim=None): return F.roll(input, *_shifts.__wrapped__(input.shape, dim, up))
    def quick(input, dim): return roll_array(input, *_shifts(input.shape, tuple(dim) if dim.__class__ is list else dim, up))
    return function, quick


def _shift_samples(rng: Any) -> Any:
    yield (rng.standard_normal((3, 4)),)
    yield rng.standard_normal((2, 3, 5)), (2, 0)
    yield rng.standard_normal((2, 3)), -1


@op("fft_fftshift(Tensor input, int[]? dim=None) -> Tensor", namespace="_internal", alias="fft.fftshift", method=False, out=False)
class fft_fftshift:
    """The frequencies of a transform in order, that of zero in the middle.

    >>> torch.fft.fftshift(torch.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """

    function, quick = _shift(False)
    quick_complex = True
    samples = _shift_samples


@op("fft_ifftshift(Tensor input, int[]? dim=None) -> Tensor", namespace="_internal", alias="fft.ifftshift", method=False, out=False)
class fft_ifftshift:
    """The inverse of `torch.fft.fftshift`.

    >>> torch.fft.ifftshift(torch.tensor([-0.5, -0.25, 0., 0.25]))
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """

    function, quick = _shift(True)
    quick_complex = True
    samples = _shift_samples


_OPTIONS = "int n, float d=1.0, *, dtype? dtype=None, Any layout=None, Any device=None, bool? pin_memory=False, bool? requires_grad=False"


def _multiples(n: int, d: float, half: bool, dtype: np.dtype) -> np.ndarray:
    """The frequencies of a transform of `n` numbers, `d` apart, in a row."""
    count = int(n / 2) + 1 if half else n
    rising = count if half else (n + 1) // 2
    step = 1.0 / (n * d) if n * d else np.inf if n else np.nan
    found = frequencies(count, rising, step, dtype)
    if found is not None:
        return found
    with ignoring():
        if dtype.itemsize == 4 and count <= ALL_SINGLE:
            numbers = np.empty(count, dtype)
            counted(numbers[:rising], 0, step)
            counted(numbers[rising:], rising - n, step)
            return numbers
        numbers = np.arange(count, dtype=dtype)
        if not half:
            numbers[rising:] -= dtype.type(n)
        numbers *= dtype.type(step)
        return numbers


def _frequencies(name: str, half: bool) -> tuple[Callable[..., TensorRef], Callable[..., np.ndarray | None]]:
    """`function` and `fresh` of the frequencies of a transform of `n` numbers, `d` apart."""
    def function(F: Functions, n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
                 pin_memory: bool = False, requires_grad: bool = False) -> TensorRef:
        wanted = as_dtype(dtype) if dtype is not None else default_dtype() if out is None else out._k.dtype
        if wanted.category < FLOATING:
            raise AutogradError(f"{name} requires a floating point or complex dtype", expected="a floating-point dtype", found=wanted.name)
        count = int(n / 2) + 1 if half else n
        if count < 0:
            raise AutogradError(f"Trying to create tensor with negative dimension {count}: [{count}]", expected="0 or more", found=str(n))
        if out is None and not wanted.group and wanted.category == FLOATING:
            return finish(F, _multiples(n, d, half, wanted.np), device, requires_grad, None, layout)
        step = 1.0 / (n * d) if n * d else np.inf if n else np.nan
        result = F.arange(count, dtype=wanted, layout=layout, device=device)
        if not half:
            behind = F.slice(result, 0, (n + 1) // 2, n)
            F.sub_(behind, n)
        result = F.mul_(result, step)
        if out is not None:
            emptied(out, count)
            return F.write_out(None, out, [result])
        return result.requires_grad_() if requires_grad else result

    def fresh(k: Kind, n: int, d: float) -> np.ndarray | None:
        plain = n.__class__ is int and n >= 0 and (d.__class__ is float or d.__class__ is int) and k.np.char in "fd"
        return _multiples(n, d, half, k.np) if plain else None

    return function, fresh


@op(f"fft_fftfreq({_OPTIONS}) -> Tensor", namespace="_internal", alias="fft.fftfreq", method=False)
class fft_fftfreq:
    """The frequencies of `torch.fft.fft` of `n` numbers, `d` apart.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """

    function, fresh = _frequencies("fftfreq", False)
    def samples(rng): yield from ((5,), (4, 0.5))


@op(f"fft_rfftfreq({_OPTIONS}) -> Tensor", namespace="_internal", alias="fft.rfftfreq", method=False)
class fft_rfftfreq:
    """The frequencies of `torch.fft.rfft` of `n` numbers, `d` apart.

    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """

    function, fresh = _frequencies("rfftfreq", True)
    def samples(rng): yield from ((5,), (4, 0.5))
