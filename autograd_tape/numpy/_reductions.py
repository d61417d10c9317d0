"""NumPy's reductions and what is computed along axes: sums, means, extremes, order, differences."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..annotations import Fn, Keywords
from ..dtypes import FLOATING
from ..frontend import F
from ..tensor import TensorRef
from ._tables import alike, axes_of, axis_of, cast, check_defaults, floating, give, implements, masked, tensor

_UNSET: Any = np._NoValue  # type: ignore[attr-defined]  # NumPy's own word for an argument that was not given


def _accumulated(x: TensorRef, dtype: str | np.dtype | None) -> TensorRef:
    """`x` in the dtype in which NumPy adds: small integers in the platform's."""
    if dtype is not None:
        return cast(x, dtype)
    return x if x._k.dtype.category >= FLOATING else cast(x, np.add.reduce(np.empty(0, x._k.np)).dtype)


def _shaped(result: TensorRef, axes: tuple[int, ...], keepdims: bool) -> TensorRef:
    """A result without the axes that were reduced, or with ones in their place."""
    for axis in sorted(axes) if keepdims else ():
        result = F.unsqueeze(result, axis)
    return result


def _flat_axes(x: TensorRef, axes: tuple[int, ...]) -> TensorRef:
    """These axes as one, the last."""
    rest = [i for i in range(x.ndim) if i not in axes]
    return F.reshape(F.permute(x, (*rest, *axes)), (*[x.shape[i] for i in rest], int(np.prod([x.shape[i] for i in axes]))))


def _quick(a: TensorRef, axis: Sequence[int] | int | None) -> bool:
    """Whether these are a floating-point tensor and an axis of it, or none, which the record takes as they are."""
    return a.__class__ is TensorRef and a._data is not None and a._data.dtype.char in "fd" and (
        axis is None or axis.__class__ is int and -a._data.ndim <= axis < a._data.ndim)


def _given(value: object, default: bool | None) -> Any:
    return default if value is _UNSET else value


@implements("sum")
def sum(a, axis=None, dtype=None, out=None, keepdims=_UNSET, initial=_UNSET, where=_UNSET):
    if out is dtype is None and initial is where is _UNSET and _quick(a, axis):
        return F.sum(a, axis, keepdims is not _UNSET and bool(keepdims))
    x = tensor(a)
    x = masked(_accumulated(x, dtype), _given(where, None), 0)
    axes = axes_of(axis, x.ndim)
    result = cast(F.sum(x, axes, bool(_given(keepdims, False))), x._k.np) if axes else x * 1
    return give(result if initial is _UNSET or initial is None else result + initial, out)


@implements("prod")
def prod(a, axis=None, dtype=None, out=None, keepdims=_UNSET, initial=_UNSET, where=_UNSET):
    x = tensor(a)
    x = masked(_accumulated(x, dtype), _given(where, None), 1)
    axes = axes_of(axis, x.ndim)
    result = _shaped(cast(F.prod(_flat_axes(x, axes), -1), x._k.np), axes, bool(_given(keepdims, False))) if axes else x * 1
    return give(result if initial is _UNSET or initial is None else result * initial, out)


@implements("mean")
def mean(a, axis=None, dtype=None, out=None, keepdims=_UNSET, *, where=_UNSET):
    if out is dtype is None and where is _UNSET and _quick(a, axis):
        return F.mean(a, axis, keepdims is not _UNSET and bool(keepdims))
    x = floating(a) if dtype is None else tensor(a, dtype)
    axes, where = axes_of(axis, x.ndim), _given(where, None)
    keepdims = bool(_given(keepdims, False))
    if where is not None and where is not True:
        held = cast(F.broadcast_to(tensor(where), tuple(x.shape)), x._k.np)
        return give(F.sum(masked(x, where, 0), axes, keepdims) / F.sum(held, axes, keepdims), out)
    return give(F.mean(x, axes, keepdims) if axes else x * 1, out)


@implements("average")
def average(a, axis=None, weights=None, returned=False, *, keepdims=_UNSET):
    x = tensor(a)
    keepdims = bool(_given(keepdims, False))
    if weights is None:
        result: Any = mean(x, axis, keepdims=keepdims)
        count = np.array(x._data.size / builtins.max(result._data.size, 1), result._k.np)
        return (result, F.expand(TensorRef.of(count), tuple(result.shape))) if returned else result
    x, w = alike([floating(x), floating(weights)])
    if tuple(w.shape) != tuple(x.shape):
        axis = axis_of(axis, x.ndim)
        w = F.reshape(w, (*w.shape, *[1] * (x.ndim - 1 - axis)))
    total = sum(F.broadcast_to(w, tuple(x.shape)), axis, keepdims=keepdims)
    if not total._data.all():
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    result = sum(x * w, axis, keepdims=keepdims) / total
    return (result, total) if returned else result


def _moment(a: TensorRef, axis: int | tuple[int, ...] | None, dtype: str | None, ddof: float, keepdims: object, where: Any) -> TensorRef:
    x = floating(a) if dtype is None else tensor(a, dtype)
    axes, keepdims, where = axes_of(axis, x.ndim), bool(_given(keepdims, False)), _given(where, None)
    held = None if where is None or where is True else F.broadcast_to(cast(tensor(where), bool), tuple(x.shape))
    x = masked(x, held, 0)  # what is left out may be nan, and so would be its gradient
    away = x - mean(x, axes, keepdims=True, where=_UNSET if held is None else held)
    squares = away * away if x._k.np.kind != "c" else F.square(F.real(away)) + F.square(F.imag(away))
    count = int(np.prod([x.shape[i] for i in axes]))
    if held is not None:
        count = sum(cast(held, squares._k.np), axes, keepdims=keepdims)
    left = count - ddof
    return sum(masked(squares, held, 0), axes, keepdims=keepdims) / (
        F.clamp(left, min=0) if isinstance(left, TensorRef) else TensorRef.of(np.asarray(builtins.max(left, 0), squares._k.np)))


@implements("var")
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=_UNSET, *, where=_UNSET, **more):
    return give(_moment(a, axis, dtype, _correction(ddof, more), keepdims, where), out)


@implements("std")
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=_UNSET, *, where=_UNSET, **more):
    squared = _moment(a, axis, dtype, _correction(ddof, more), keepdims, where)
    if squared.requires_grad:  # where nothing deviates, the gradient is zero, not nan
        flat = squared._data == 0
        if flat.any():
            root = F.sqrt(F.where(TensorRef.of(flat), TensorRef.of(np.ones((), squared._k.np)), squared))
            return give(F.where(TensorRef.of(flat), squared, root), out)
    return give(F.sqrt(squared), out)


def _correction(ddof: float, more: Keywords) -> float:
    """The number that the count is diminished by, under either of its names."""
    correction = more.pop("correction", _UNSET)
    if more:
        raise TypeError(f"unexpected keyword argument {next(iter(more))!r}")
    return ddof if correction is _UNSET else correction


def _extreme(name: str) -> Fn:
    reduce, pick, join = F.function(f"a{name}"), F.function(f"arg{name}"), F.function(f"{name}imum")
    lowest = {"max": -np.inf, "min": np.inf}[name]

    def extreme(a, axis=None, out=None, keepdims=_UNSET, initial=_UNSET, where=_UNSET):
        x = tensor(a)
        axes, keepdims = axes_of(axis, x.ndim), bool(_given(keepdims, False))
        started = initial is not _UNSET and initial is not None
        if where is not _UNSET and where is not True:
            if not started:
                raise ValueError(f"reduction operation '{name}imum' does not have an identity, so to use a where mask one has to specify "
                                 "'initial'")
            x = masked(x, where, initial)
        if x._data.size == 0 and started and np.prod([x.shape[i] for i in axes]) == 0:
            shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
            return give(TensorRef.of(np.full(shape, initial, x._k.np)), out)
        if x._k.np.kind == "c":  # ordered by their real parts, then by their imaginary parts
            flat = _flat_axes(x, axes)
            order = np.expand_dims(getattr(np, f"arg{name}")(flat._read("an index"), -1), -1)
            result = _shaped(F.squeeze(F.gather(flat, -1, TensorRef.of(order)), -1), axes, keepdims) if axes else x * 1
        elif not axes:
            result = x * 1
        else:
            if not np.prod([x.shape[i] for i in axes]):
                raise ValueError(f"zero-size array to reduction operation {name}imum which has no identity")
            result = reduce(x, axes, keepdims)
        return give(join(result, TensorRef.of(np.asarray(initial, x._k.np))) if started else result, out)

    extreme.__name__ = name
    extreme.pick, extreme.lowest = pick, lowest  # type: ignore[attr-defined]
    return extreme


max = implements("max", "amax")(_extreme("max"))
min = implements("min", "amin")(_extreme("min"))


@implements("ptp")
def ptp(a, axis=None, out=None, keepdims=_UNSET):
    return give(max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims), out)


def _truth(name: str) -> Fn:
    reduce = F.function(name)

    def truth(a, axis=None, out=None, keepdims=_UNSET, *, where=_UNSET):
        x = masked(cast(tensor(a), bool), _given(where, None), name == "all")
        axes = axes_of(axis, x.ndim)
        return give(reduce(x, axes, bool(_given(keepdims, False))) if axes else x, out)

    truth.__name__ = name
    return truth


all = implements("all")(_truth("all"))
any = implements("any")(_truth("any"))


def _place(name: str) -> Fn:
    pick = F.function(name)

    def place(a, axis=None, out=None, *, keepdims=_UNSET):
        x, keepdims = tensor(a), bool(_given(keepdims, False))
        if x._data.size == 0:
            raise ValueError(f"attempt to get {name} of an empty sequence")
        x = cast(x, np.uint8) if x._k.np.kind == "b" else x
        if x._k.np.kind == "c":
            result = TensorRef.of(getattr(np, name)(x._read("an index"), axis))
        else:
            result = pick(x, None if axis is None else axis_of(axis, x.ndim))
        return give(_shaped(result, axes_of(axis, x.ndim), keepdims), out)

    place.__name__ = name
    return place


argmax = implements("argmax")(_place("argmax"))
argmin = implements("argmin")(_place("argmin"))


@implements("count_nonzero")
def count_nonzero(a, axis=None, *, keepdims=False):
    return sum(cast(tensor(a), bool), axis, keepdims=keepdims)


def _without_nan(reduce: Fn, instead: int) -> Fn:
    def nan(a, axis=None, *args, **kwargs):
        x = tensor(a)
        if x._k.dtype.category < FLOATING:
            return reduce(x, axis, *args, **kwargs)
        return reduce(F.where(F.isnan(x), TensorRef.of(np.asarray(instead, x._k.np)), x), axis, *args, **kwargs)

    nan.__name__ = f"nan{reduce.__name__}"
    return nan


nansum = implements("nansum")(_without_nan(sum, 0))
nanprod = implements("nanprod")(_without_nan(prod, 1))


def _of_numbers(reduce: Fn) -> Fn:
    def nan(a, axis=None, *args, where=_UNSET, **kwargs):
        x = floating(a)
        held = F.logical_not(F.isnan(x))
        if where is not _UNSET and where is not True:
            held = F.logical_and(held, cast(tensor(where), bool))
        return reduce(x, axis, *args, where=held, **kwargs)

    nan.__name__ = f"nan{reduce.__name__}"
    return nan


nanmean, nanvar, nanstd = [implements(f"nan{f.__name__}")(_of_numbers(f)) for f in (mean, var, std)]


def _nan_extreme(extreme: Fn) -> Fn:
    def nan(a, axis=None, out=None, keepdims=_UNSET, **kwargs):
        x = tensor(a)
        if x._k.dtype.category < FLOATING:
            return extreme(x, axis, out, keepdims, **kwargs)
        missing = F.isnan(x)
        result = extreme(F.where(missing, TensorRef.of(np.asarray(extreme.lowest, x._k.np)), x), axis, None, keepdims, **kwargs)
        nothing = all(missing, axis, keepdims=keepdims)
        return give(F.where(nothing, TensorRef.of(np.asarray(np.nan, x._k.np)), result), out)

    nan.__name__ = f"nan{extreme.__name__}"
    return nan


nanmax = implements("nanmax")(_nan_extreme(max))
nanmin = implements("nanmin")(_nan_extreme(min))


# -- along an axis ------------------------------------------------------------------------------------------------------


def _running(name: str) -> Fn:
    scan = F.function(name)

    def running(a, axis=None, dtype=None, out=None):
        x = _accumulated(tensor(a), dtype)
        x = F.reshape(x, (-1,)) if axis is None else x
        return give(cast(scan(x, 0 if axis is None else axis_of(axis, x.ndim)), x._k.np), out)

    running.__name__ = name
    return running


cumsum = implements("cumsum")(_running("cumsum"))
cumprod = implements("cumprod")(_running("cumprod"))
nancumsum = implements("nancumsum")(_without_nan(cumsum, 0))
nancumprod = implements("nancumprod")(_without_nan(cumprod, 1))


def _along(a: TensorRef, axis: int) -> tuple[TensorRef, int]:
    """A tensor and the axis to go along; flattened where there is none."""
    x = tensor(a)
    return (F.reshape(x, (-1,)), 0) if axis is None else (x, axis_of(axis, x.ndim))


@implements("argsort")
def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    check_defaults("argsort", order=(order, (None,)))
    x, axis = _along(a, axis)
    if x._k.np.kind == "c" or not x.ndim:
        return TensorRef.over(np.asarray(np.argsort(x._read("an index"), axis, "stable")))
    return F.sort(x, axis, stable=True)[1]


@implements("sort")
def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    check_defaults("sort", order=(order, (None,)))
    x, axis = _along(a, axis)
    return F.gather(x, axis, argsort(x, axis)) if x._k.np.kind == "c" else F.sort(x, axis, stable=True)[0] if x.ndim else F.clone(x)


@implements("msort")
def msort(a):
    return sort(a, 0)


@implements("argpartition")
def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    check_defaults("argpartition", order=(order, (None,)))
    x, axis = _along(a, axis)
    return TensorRef.over(np.argpartition(x._read("an index"), kth, axis))


@implements("partition")
def partition(a, kth, axis=-1, kind="introselect", order=None):
    x, axis = _along(a, axis)
    return F.gather(x, axis, argpartition(x, kth, axis, kind, order))


def _quantile(scale: float, nan: bool) -> Fn:
    carry_out = F.function("nanquantile" if nan else "quantile")

    def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, **more):
        check_defaults("quantile", method=(method, ("linear", "lower", "higher", "nearest", "midpoint")), **{
            key: (value, (None,)) for key, value in more.items()})
        x = floating(a)
        if x._k.np.itemsize == 2:  # computed in single precision
            return give(cast(quantile(cast(x, np.float32), q, axis, None, False, method, keepdims), x._k.np), out)
        axes, keepdims = axes_of(axis, x.ndim), bool(_given(keepdims, False))
        at = np.asarray(np.asarray(q, np.float64) / scale, x._k.np)
        if at.size and not (0 <= at.min() and at.max() <= 1):
            raise ValueError("Quantiles must be in the range [0, 1]" if scale == 1 else "Percentiles must be in the range [0, 100]")
        result = carry_out(_flat_axes(x, axes), TensorRef.of(at.reshape(-1)), -1, interpolation=method)
        parts = [_shaped(part, axes, keepdims) for part in F.unbind(result, 0)]
        return give(F.reshape(F.stack(parts), (*at.shape, *parts[0].shape)) if parts else result, out)

    return quantile


quantile, nanquantile = implements("quantile")(_quantile(1.0, False)), implements("nanquantile")(_quantile(1.0, True))
percentile, nanpercentile = implements("percentile")(_quantile(100.0, False)), implements("nanpercentile")(_quantile(100.0, True))


@implements("median")
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    return quantile(a, 0.5, axis, out, keepdims=keepdims)


@implements("nanmedian")
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    return nanquantile(a, 0.5, axis, out, keepdims=keepdims)


@implements("diff")
def diff(a, n=1, axis=-1, prepend=_UNSET, append=_UNSET):
    x = tensor(a)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    axis = axis_of(axis, x.ndim)
    parts = []
    for part in (prepend, x, append):
        if part is not _UNSET:
            part = tensor(part)
            parts.append(part if part.ndim else F.expand(part, tuple([1 if i == axis else s for i, s in enumerate(x.shape)])))
    x = F.cat(alike(parts), axis) if len(parts) > 1 else x
    for _ in range(n):
        length = x.shape[axis]
        after = F.narrow(x, axis, builtins.min(1, length), builtins.max(length - 1, 0))
        before = F.narrow(x, axis, 0, builtins.max(length - 1, 0))
        x = F.ne(after, before) if x._k.np.kind == "b" else after - before
    return x if n else F.clone(x)


@implements("ediff1d")
def ediff1d(ary, to_end=None, to_begin=None):
    parts = [F.reshape(tensor(p), (-1,)) for p in (to_begin, diff(F.reshape(tensor(ary), (-1,))), to_end) if p is not None]
    return F.cat(alike(parts)) if len(parts) > 1 else parts[0]


@implements("gradient")
def gradient(f, *varargs, axis=None, edge_order=1):
    check_defaults("gradient", edge_order=(edge_order, (1,)))
    x = floating(f)
    axes = axes_of(axis, x.ndim)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    spacings = varargs if len(varargs) == len(axes) else (varargs or (1.0,)) * len(axes)
    found = [_slope(x, a, s) for a, s in zip(axes, spacings)]
    return found[0] if axis is not None and not isinstance(axis, (tuple, list)) or len(found) == 1 else found


def _slope(x: TensorRef, axis: int, spacing: float | np.ndarray) -> TensorRef:
    length = x.shape[axis]
    if length < 2:
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required.")
    part = lambda start, count: F.narrow(x, axis, start, count)
    first, last = part(1, 1) - part(0, 1), part(length - 1, 1) - part(length - 2, 1)
    h = tensor(spacing)
    if not h.ndim:
        return F.cat([first / h, (part(2, length - 2) - part(0, length - 2)) / (2.0 * h), last / h], axis)
    wide = (-1, *[1] * (x.ndim - 1 - axis))
    d = diff(floating(h))
    before, after = F.reshape(d[:-1], wide), F.reshape(d[1:], wide)
    middle = (part(0, length - 2) * (-after / (before * (before + after))) + part(1, length - 2) * ((after - before) / (before * after))
              + part(2, length - 2) * (before / (after * (before + after))))
    return F.cat([first / d[0], middle, last / d[-1]], axis)


@implements("trapz", "trapezoid")
def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = floating(y)
    axis = axis_of(axis, y.ndim)
    return F.trapezoid(y, dim=axis, dx=dx) if x is None else F.trapezoid(y, cast(tensor(x), y._k.np), dim=axis)


@implements("cov")
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    check_defaults("cov", fweights=(fweights, (None,)), aweights=(aweights, (None,)))
    x = _observations(floating(m) if dtype is None else tensor(m, dtype), rowvar)
    if y is not None:
        x = F.cat(alike([x, _observations(floating(y), rowvar)]))
    result = F.cov(x, correction=int((0 if bias else 1) if ddof is None else ddof))
    return F.squeeze(result)


def _observations(x: TensorRef, rowvar: bool) -> TensorRef:
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    x = F.reshape(x, (1, -1)) if x.ndim < 2 else x
    return x if rowvar or x.shape[0] == 1 else F.transpose(x, 0, 1)


@implements("corrcoef")
def corrcoef(x, y=None, rowvar=True, bias=_UNSET, ddof=_UNSET, *, dtype=None):
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    s = F.sqrt(F.real(F.diagonal(c)))
    return c / F.reshape(s, (-1, 1)) / s
