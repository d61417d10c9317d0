"""The array API standard's functions for tensors: what `x.__array_namespace__()` gives.

https://data-apis.org/array-api: functions of the standard under its names and with its signatures, on `TensorRef`s; all that compute with
floating-point numbers record. Most are NumPy's functions of another name; dtypes are `autograd_tape.DType`s.

>>> import autograd_tape as at
>>> x = at.TensorRef.of([0.0, 1.0], requires_grad=True)
>>> xp = x.__array_namespace__()
>>> y = xp.sum(xp.concat([xp.pow(x, 3.0), xp.asarray([5.0])]))
>>> y.dtype == xp.float64, at.backward(y)[x.id]
(True, array([0., 3.]))
"""

from __future__ import annotations

import sys
from collections import namedtuple
from types import ModuleType, SimpleNamespace
from collections.abc import Sequence
from typing import Any

import numpy as np

from .annotations import Fn, Keywords
from .dtypes import CPU, INTEGER, Device, DType
from .frontend import F
from .numpy._tables import FUNCTIONS, cast, find, tensor
from .numpy._protocol import array_ufunc
from .tensor import TensorRef, as_dtype

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
__array_api_version__ = VERSIONS[-1]

e, inf, nan, pi, newaxis = np.e, np.inf, np.nan, np.pi, None
bool = DType.by_name["bool"]
int8, int16, int32, int64 = [DType.by_name[f"int{n}"] for n in (8, 16, 32, 64)]
uint8, uint16, uint32, uint64 = [DType.by_name[f"uint{n}"] for n in (8, 16, 32, 64)]
float32, float64, complex64, complex128 = [DType.by_name[n] for n in ("float32", "float64", "complex64", "complex128")]

# -- functions that are NumPy's -------------------------------------------------------------------------------------------------

ELEMENTWISE = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
    "conj": "conjugate", "pow": "power", **{name: name for name in (
        "add bitwise_and bitwise_or bitwise_xor ceil copysign cos cosh divide equal exp expm1 floor floor_divide greater "
        "greater_equal hypot isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or "
        "logical_xor matmul maximum minimum multiply negative nextafter not_equal positive reciprocal remainder sign signbit sin sinh "
        "sqrt square subtract tan tanh trunc").split()}}
"""From the standard's name to that of NumPy's ufunc."""

SAME = {"concat": "concatenate", "permute_dims": "transpose", **{name: name for name in (
    "all any argmax argmin broadcast_arrays broadcast_to clip count_nonzero diff expand_dims flip imag isin max mean min moveaxis nonzero "
    "ones_like prod real repeat reshape roll round searchsorted squeeze stack sum take take_along_axis tensordot tile tril triu where "
    "zeros_like empty_like full_like").split()}}
"""From the standard's name to that of a function of NumPy's that takes the standard's arguments."""

_LINALG = ("cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matrix_power", "matrix_rank", "outer", "pinv", "qr",
           "slogdet", "solve", "svd", "trace", "tensordot")
_FFT = ("fft", "ifft", "fftn", "ifftn", "rfft", "irfft", "rfftn", "irfftn", "hfft", "ihfft", "fftshift", "ifftshift")


def _needs_tensors(name: str, args: Sequence[TensorRef]) -> None:
    if not any_(args):
        raise TypeError(f"{name} takes tensors, not {', '.join([type(a).__name__ for a in args]) or 'nothing'}; make them with asarray")


def any_(args: Sequence[TensorRef]) -> list[TensorRef]:
    """Whether there is a tensor among arguments, or in a list among them."""
    return [a for a in args if isinstance(a, TensorRef) or isinstance(a, (list, tuple)) and any_(a)]


def _elementwise(name: str, theirs: str) -> Fn:
    ufunc = getattr(np, theirs)
    rounds = name in ("ceil", "floor", "trunc")

    def function(*args: Any) -> TensorRef:
        _needs_tensors(name, args)
        first = next(a for a in args if isinstance(a, TensorRef))
        if rounds and first._k.dtype.category <= INTEGER:
            return F.clone(first)  # whole numbers stay what they are
        return array_ufunc(first, ufunc, "__call__", *args)

    function.__name__, function.__doc__ = name, f"`numpy.{theirs}` of tensors."
    return function


def _same(name: str, theirs: str) -> Fn:
    ours = FUNCTIONS[find(theirs)]

    def function(*args: Any, **kwargs: Any) -> object:
        _needs_tensors(name, args)
        device = kwargs.pop("device", None)
        if kwargs.get("dtype") is not None:
            kwargs["dtype"] = as_dtype(kwargs["dtype"]).np
        _check_device(device)
        result = ours(*args, **kwargs)
        return tuple(result) if isinstance(result, list) else result

    function.__name__, function.__doc__ = name, f"`numpy.{theirs}` of tensors."
    return function


globals().update({name: _elementwise(name, theirs) for name, theirs in ELEMENTWISE.items()})
globals().update({name: _same(name, theirs) for name, theirs in SAME.items()})


def _n(name: str) -> Fn:
    """One of the functions that stand for NumPy's."""
    return FUNCTIONS[find(name)]


# -- making tensors ----------------------------------------------------------------------------------------------------------------


def _check_device(device: Any) -> None:
    if device is not None and Device(device) != CPU:
        raise ValueError(f"tensors are made on the device 'cpu' here, not on {device!r}")


def _made(array: np.ndarray, dtype: DType | None, device: str | None) -> TensorRef:
    _check_device(device)
    return TensorRef.of(array, dtype)


def asarray(obj: np.ndarray, /, *, dtype: Any = None, device: object = None, copy: object = None) -> TensorRef:
    """A tensor of an array, a number or nested lists; a tensor itself, unless a copy is asked for."""
    _check_device(device)
    if isinstance(obj, TensorRef):
        made = obj if dtype is None else cast(obj, as_dtype(dtype).np)
        return F.clone(made) if copy and made is obj else made
    if copy is False:
        raise ValueError("a tensor of this has memory of its own: copy=False is not possible")
    return tensor(obj, None if dtype is None else as_dtype(dtype).np)


def _filled(name: str) -> Fn:
    def fill(shape: int | tuple[int, ...], *, dtype: DType | None = None, device: str | None = None) -> TensorRef:
        return _made(getattr(np, name)(shape), float64 if dtype is None else dtype, device)

    fill.__name__, fill.__doc__ = name, f"`numpy.{name}`, a tensor."
    return fill


zeros, ones, empty = [_filled(name) for name in ("zeros", "ones", "empty")]


def full(shape: tuple[int, ...], fill_value: Any, *, dtype: Any = None, device: Any = None) -> TensorRef:
    """A tensor of one value."""
    return _made(np.full(shape, fill_value), dtype, device)


def arange(start: float, /, stop: float | None = None, step: float = 1, *, dtype: DType | None = None, device: Any = None) -> TensorRef:
    """The numbers from `start`, or 0, to below `stop`."""
    return _made(np.arange(start, stop, step) if stop is not None else np.arange(0, start, step), dtype, device)


def linspace(start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: Any = True) -> TensorRef:
    """Numbers at equal distances."""
    return _made(np.linspace(start, stop, num, endpoint=endpoint), dtype, device)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> TensorRef:
    """Ones on a diagonal."""
    return _made(np.eye(n_rows, n_cols, k), float64 if dtype is None else dtype, device)


def meshgrid(*arrays: TensorRef, indexing: str = "xy") -> tuple[TensorRef, ...]:
    """Coordinates of the points of a grid."""
    return tuple(F.meshgrid(list(arrays), indexing=indexing))


def from_dlpack(x: Any, /, *, device: object = None, copy: object = None) -> TensorRef:
    """A tensor of what another library's array holds; shares its memory unless a copy is asked for."""
    _check_device(device)
    array = np.from_dlpack(x)
    return TensorRef.of(array) if copy else TensorRef.over(array)


# -- dtypes -------------------------------------------------------------------------------------------------------------------------

_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("b",), "signed integer": ("i",), "unsigned integer": ("u",), "integral": ("i", "u"), "real floating": ("f",),
    "complex floating": ("c",), "numeric": ("i", "u", "f", "c")}
"""The kinds of NumPy dtypes that the standard's words for kinds stand for."""


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is another, of a kind, or one of several of these.

    Raises:
        ValueError: no kind is called so.
    """
    if isinstance(kind, tuple):
        return True in [isdtype(dtype, k) for k in kind]
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"a kind of dtypes is one of {', '.join(_KINDS)}, not {kind!r}")
        return as_dtype(dtype).np.kind in _KINDS[kind]
    return as_dtype(dtype) is as_dtype(kind)


def _np_of(x: TensorRef | DType) -> np.dtype:
    return x._k.np if isinstance(x, TensorRef) else x.np if isinstance(x, DType) else x


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that dtypes, those of tensors, and Python numbers are promoted to; numbers are weak."""
    numbers = [x for x in arrays_and_dtypes if type(x) in (int, float, complex)]
    found = np.result_type(*[_np_of(x) for x in arrays_and_dtypes if type(x) not in (int, float, complex)])
    for x in numbers:
        found = np.result_type(found, np.array(0, found).dtype.type(0) * 0 + type(x)(0)) if found.kind in "fc" else found
    return as_dtype(found)


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether every value of one dtype is one of the other."""
    return np.can_cast(_np_of(from_), _np_of(to))


_FInfo = namedtuple("_FInfo", "bits eps max min smallest_normal dtype")
_IInfo = namedtuple("_IInfo", "bits max min dtype")


def finfo(type: DType, /) -> _FInfo:
    """The limits of a floating-point dtype."""
    dtype = type.dtype if isinstance(type, TensorRef) else as_dtype(type)
    found = np.finfo(dtype.np)
    return _FInfo(found.bits, float(found.eps), float(found.max), float(found.min), float(found.smallest_normal), dtype.to_real())


def iinfo(type: DType, /) -> _IInfo:
    """The limits of an integer dtype."""
    dtype = type.dtype if isinstance(type, TensorRef) else as_dtype(type)
    found = np.iinfo(dtype.np)
    return _IInfo(found.bits, int(found.max), int(found.min), dtype)


def astype(x: TensorRef, dtype: Any, /, *, copy: Any = True, device: Any = None) -> TensorRef:
    """A tensor in another dtype."""
    _check_device(device)
    return x.astype(dtype, copy=copy)  # given by `numpy._protocol`


# -- functions whose arguments are others than NumPy's ---------------------------------------------------------------------------------


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to."""
    return np.broadcast_shapes(*shapes)


def std(x: TensorRef, /, *, axis: Any = None, correction: float = 0.0, keepdims: Any = False) -> TensorRef:
    """The standard deviation."""
    return _n("std")(x, axis, ddof=correction, keepdims=keepdims)


def var(x: TensorRef, /, *, axis: Any = None, correction: float = 0.0, keepdims: Any = False) -> TensorRef:
    """The variance."""
    return _n("var")(x, axis, ddof=correction, keepdims=keepdims)


def _cumulative(name: str, start: int) -> Fn:
    def cumulative(x: TensorRef, /, *, axis: int | None = None, dtype: Any = None, include_initial: Any = False) -> TensorRef:
        if axis is None:
            if x.ndim != 1:
                raise ValueError("axis must be given for tensors of other than one dimension")
            axis = 0
        result = _n(name)(x, axis, None if dtype is None else as_dtype(dtype).np)
        if include_initial:
            shape = [1 if i == axis % x.ndim else n for i, n in enumerate(x.shape)]
            result = F.cat([TensorRef.over(np.full(shape, start, result._k.np)), result], axis % x.ndim)
        return result

    return cumulative


cumulative_sum, cumulative_prod = _cumulative("cumsum", 0), _cumulative("cumprod", 1)


def sort(x: TensorRef, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> TensorRef:
    """Elements in order along an axis."""
    return F.sort(x, axis, descending=descending, stable=stable)[0]


def argsort(x: TensorRef, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> TensorRef:
    """Where the elements in order come from."""
    return F.sort(x, axis, descending=descending, stable=stable)[1]


def matrix_transpose(x: TensorRef, /) -> TensorRef:
    """The last two axes exchanged."""
    return x.mT


def unstack(x: TensorRef, /, *, axis: int = 0) -> tuple[TensorRef, ...]:
    """The parts along an axis."""
    return tuple(F.unbind(x, axis))


def vecdot(x1: TensorRef, x2: TensorRef, /, *, axis: int = -1) -> TensorRef:
    """Products of vectors along an axis, the first conjugated."""
    if axis >= 0:
        raise ValueError("vecdot: the standard takes axes from -1 down, which broadcasting does not move")
    return F.linalg_vecdot(*F.broadcast_tensors(*_alike(x1, x2)), dim=axis)


def _alike(*xs: TensorRef) -> list[TensorRef]:
    dtype = np.result_type(*[x._k.np for x in xs])
    return [cast(x, dtype) for x in xs]


_Unique = namedtuple("_Unique", "values indices inverse_indices counts")
_UniqueCounts = namedtuple("_UniqueCounts", "values counts")
_UniqueInverse = namedtuple("_UniqueInverse", "values inverse_indices")


def unique_all(x: TensorRef, /) -> _Unique:
    """The different elements, where each is first, which of them each element is, and how often they come."""
    values, first, inverse, counts = _n("unique")(x, True, True, True, equal_nan=False)
    return _Unique(values, first, F.reshape(inverse, tuple(x.shape)), counts)


def unique_counts(x: TensorRef, /) -> _UniqueCounts:
    """The different elements, and how often they come."""
    return _UniqueCounts(*_n("unique")(x, return_counts=True, equal_nan=False))


def unique_inverse(x: TensorRef, /) -> _UniqueInverse:
    """The different elements, and which of them each element is."""
    values, inverse = _n("unique")(x, return_inverse=True, equal_nan=False)
    return _UniqueInverse(values, F.reshape(inverse, tuple(x.shape)))


def unique_values(x: TensorRef, /) -> TensorRef:
    """The different elements."""
    return _n("unique")(x, equal_nan=False)


# -- extensions ---------------------------------------------------------------------------------------------------------------------


def _vector_norm(x: TensorRef, /, *, axis: tuple[int, ...] | int | None = None, keepdims: Any = False, ord: Any = 2) -> TensorRef:
    x = tensor(x)
    axes = None if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    return F.linalg_vector_norm(x, ord, axes, keepdims)


def _matrix_norm(x: TensorRef, /, *, keepdims: Any = False, ord: Any = "fro") -> TensorRef:
    return _n("linalg.norm")(x, ord, (-2, -1), keepdims)


def _diagonal(x: TensorRef, /, *, offset: int = 0) -> TensorRef:
    return F.diagonal(x, offset, -2, -1)


def _trace(x: TensorRef, /, *, offset: int = 0, dtype: Any = None) -> TensorRef:
    return _n("sum")(_diagonal(x, offset=offset), -1, None if dtype is None else as_dtype(dtype).np)


def _pinv(x: TensorRef, /, *, rtol: object = None) -> TensorRef:
    return F.linalg_pinv(x, rtol=float(max_(x.shape[-2:]) * np.finfo(x._k.np).eps) if rtol is None else rtol)


def _rank(x: TensorRef, /, *, rtol: object = None) -> TensorRef:
    tol = max_(x.shape[-2:]) * np.finfo(x._k.np).eps if rtol is None else rtol
    values = np.linalg.svd(x._data, compute_uv=False)
    return TensorRef.of((values > tol * values.max(-1, keepdims=True)).sum(-1))


def max_(sizes: Sequence[int]) -> int:
    """The largest of some sizes."""
    return sorted(sizes)[-1]


def _svdvals(x: TensorRef, /) -> TensorRef:
    return F.linalg_svdvals(x)


def _cross(x1: TensorRef, x2: TensorRef, /, *, axis: int = -1) -> TensorRef:
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError("cross products are of vectors of three elements")
    return F.linalg_cross(*F.broadcast_tensors(*_alike(x1, x2)), dim=axis)


linalg = SimpleNamespace(
    **{name: _same(f"linalg.{name}", name if find(f"linalg.{name}") not in FUNCTIONS else f"linalg.{name}")
       for name in _LINALG if name not in ("cross", "diagonal", "trace", "pinv", "matrix_rank")},
    cross=_cross, diagonal=_diagonal, trace=_trace, pinv=_pinv, matrix_rank=_rank, svdvals=_svdvals, vector_norm=_vector_norm,
    matrix_norm=_matrix_norm, matrix_transpose=matrix_transpose, matmul=globals()["matmul"], vecdot=vecdot)
"""The standard's extension `linalg`."""


def _frequencies(name: str) -> Fn:
    def frequencies(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> TensorRef:
        return _made(getattr(np.fft, name)(n, d), dtype, device)

    return frequencies


fft = SimpleNamespace(**{name: _same(f"fft.{name}", f"fft.{name}") for name in _FFT},
                      **{name: _frequencies(name) for name in ("fftfreq", "rfftfreq")})
"""The standard's extension `fft`."""


class _Info:
    """What the standard lets programs ask of a library."""

    def capabilities(self) -> Keywords:
        """Whether results' shapes may depend on values."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Where tensors are made."""
        return CPU

    def devices(self) -> list[Device]:
        """Where tensors can be made."""
        return [CPU]

    def default_dtypes(self, *, device: object = None) -> dict[str, DType]:
        """The dtypes of numbers of which nothing is said."""
        return {"real floating": float64, "complex floating": complex128, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: object = None, kind: str | None = None) -> dict[str, DType]:
        """The standard's dtypes, of a kind or all."""
        names = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128").split()
        return {n: DType.by_name[n] for n in names if kind is None or isdtype(DType.by_name[n], kind)}


def __array_namespace_info__() -> _Info:
    return _Info()


def array_namespace(self: TensorRef, *, api_version: str | None = None) -> ModuleType:
    """The functions of the array API standard for tensors.

    Raises:
        ValueError: a version of the standard that is not known.
    """
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(f"the array API standard's versions known here are {', '.join(VERSIONS)}, not {api_version!r}")
    return sys.modules[f"{__package__}.array_api"]


TensorRef.__array_namespace__ = array_namespace  # type: ignore[assignment]
