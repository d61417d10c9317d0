"""NumPy's functions of elements that are no ufuncs, and what compares or describes arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frontend import F
from ..tensor import TensorRef
from ._tables import VALUES, alike, cast, find, floating, give, implements, tensor

VALUES.update(f for f in map(find, (
    "shape", "ndim", "size", "iscomplexobj", "isrealobj", "result_type", "can_cast", "common_type", "min_scalar_type", "may_share_memory",
    "shares_memory", "array_equal", "array_equiv", "allclose", "array_repr", "array_str", "array2string", "isscalar", "lexsort",
    "ravel_multi_index", "unravel_index", "save", "savetxt", "ix_")) if f is not None)

# What a tensor is asked for without reading it.
implements("shape")(lambda a: tuple(tensor(a).shape))
implements("ndim")(lambda a: tensor(a).ndim)
implements("size")(lambda a, axis=None: int(np.prod(tensor(a).shape)) if axis is None else tensor(a).shape[axis])
implements("iscomplexobj")(lambda x: tensor(x)._k.np.kind == "c")
implements("isrealobj")(lambda x: tensor(x)._k.np.kind != "c")
implements("result_type")(lambda *xs: np.result_type(*[x._k.np if isinstance(x, TensorRef) else x for x in xs]))
implements("can_cast")(lambda from_, to, casting="safe": np.can_cast(from_._k.np if isinstance(from_, TensorRef) else from_, to, casting))


@implements("clip")
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None, **kwargs):
    x, low, high = tensor(a), a_min if min is None else min, a_max if max is None else max
    if kwargs:
        raise TypeError(f"numpy.clip: {', '.join(kwargs)}= is not supported on tensors")
    given = [x if b is None else b for b in (low, high)]
    dtype = np.result_type(*[b._k.np if isinstance(b, TensorRef) else b if np.isscalar(b) else np.asarray(b) for b in (x, *given)])
    low, high = [None if b is None else tensor(b, dtype) for b in (low, high)]
    x = cast(x, dtype)
    if low is not None:
        x = F.maximum(x, low) if low.ndim else F.clamp_min(x, low.item())
    if high is not None:
        x = F.minimum(x, high) if high.ndim else F.clamp_max(x, high.item())
    return give(x, out)


@implements("real")
def real(val):
    return F.real(tensor(val))


@implements("imag")
def imag(val):
    return tensor(val).imag


@implements("angle")
def angle(z, deg=False):
    result = F.angle(floating(z))
    return F.rad2deg(result) if deg else result


@implements("real_if_close")
def real_if_close(a, tol=100):
    x = tensor(a)
    return F.real(x) if x._k.np.kind == "c" and not np.iscomplexobj(np.real_if_close(x._data, tol)) else x


@implements("nan_to_num")
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    return F.nan_to_num(tensor(x), nan, posinf, neginf)


@implements("sinc")
def sinc(x):
    return F.sinc(floating(x))


@implements("i0")
def i0(x):
    return F.i0(floating(x))


@implements("round", "around", "round_")
def round(a, decimals=0, out=None):
    x = tensor(a)
    if x._k.np.kind == "c":
        return give(F.complex(F.round(F.real(x), decimals=decimals), F.round(F.imag(x), decimals=decimals)), out)
    return give(F.round(x, decimals=decimals) if x._k.np.kind == "f" else TensorRef.over(np.round(x._data, decimals)), out)


@implements("fix")
def fix(x, out=None):
    return give(F.trunc(floating(x)), out)


@implements("isposinf")
def isposinf(x, out=None):
    return give(F.isposinf(tensor(x)), out)


@implements("isneginf")
def isneginf(x, out=None):
    return give(F.isneginf(tensor(x)), out)


@implements("isreal")
def isreal(x):
    return F.isreal(tensor(x))


@implements("iscomplex")
def iscomplex(x):
    return F.logical_not(F.isreal(tensor(x)))


@implements("isclose")
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return TensorRef.over(np.asarray(np.isclose(tensor(a)._data, tensor(b)._data, rtol, atol, equal_nan)))


@implements("in1d")
def in1d(ar1, ar2, assume_unique=False, invert=False, *, kind=None):
    return isin(F.reshape(tensor(ar1), (-1,)), ar2, assume_unique, invert)


@implements("isin")
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    return F.isin(*alike([tensor(element), tensor(test_elements)]), assume_unique=assume_unique, invert=invert)


@implements("polyval")
def polyval(p, x):
    coefficients, at = alike([tensor(p), tensor(x)])
    result: Any = at * 0
    for c in F.unbind(coefficients, 0):
        result = result * at + c
    return result


@implements("vander")
def vander(x, N=None, increasing=False):
    return F.vander(tensor(x), N, increasing)
