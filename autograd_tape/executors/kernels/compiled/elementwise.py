"""Element-wise functions and their vjps, over ``[start, stop)`` of flat arrays: a formula of numbers each, in one loop for all of them.

Formulas compute in float32 or float64; half precision is widened and rounded in registers. ``a`` and ``b`` are the function's numbers,
of which most have none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from ....annotations import Fn
from .._kernel import Kernel
from .base import FUSE
from .base import erf as erf_
from .base import exp as exp_
from .base import expm1_pos, kernel, like, log1p_unit, rounded, wide
from .base import sigmoid as sigmoid_
from .base import tanh as tanh_

_SQRT1_2 = 0.7071067811865476
_SQRT1_2PI = 0.3989422804014327  # 1 / sqrt(2 pi), the normal density at 0
_SQRT2_PI = 0.7978845608028654
_CUBIC = 0.044715
_INLINE: Any = {"nogil": True, "fastmath": set(FUSE), "error_model": "numpy", "forceinline": True}


def unary(formula: Fn) -> Kernel:
    """The kernel of ``formula(v, a, b)``."""
    number = register_jitable(**_INLINE)(formula)

    def loop(x, y, a, b, start, stop):
        xs, ys = x[start:stop], y[start:stop]
        for i in range(ys.size):
            ys[i] = rounded(ys, number(wide(xs[i]), a, b))

    return _named(loop, formula, "r0[n] w0[n] s s :n")


def vjp(formula: Fn) -> Kernel:
    """The kernel of ``formula(g, v, a, b)``, of cotangents and what was saved."""
    number = register_jitable(**_INLINE)(formula)

    def loop(grad, x, dx, a, b, start, stop):
        gs, xs, ds = grad[start:stop], x[start:stop], dx[start:stop]
        for i in range(ds.size):
            ds[i] = rounded(ds, number(wide(gs[i]), wide(xs[i]), a, b))

    return _named(loop, formula, "r0[n] r0[n] w0[n] s s :n")


def _named(loop: Fn, formula: Fn, spec: str) -> Kernel:
    loop.__name__ = loop.__qualname__ = formula.__name__
    return kernel(spec)(loop)


@kernel("r0[n] E0[n] :n")
def widen(x, y, start, stop):
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = wide(xs[i])


@kernel("e0[n] w0[n] :n")
def narrow(x, y, start, stop):
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = rounded(ys, xs[i])


@kernel("r0[n] r1[65536] w0[n] :n", dtypes="Ee")
def lookup(x, table, y, start, stop):
    """What a table has of half precision, by its bits."""
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = table[np.uint16(xs[i])]


# -- functions ----------------------------------------------------------------------------------------------------------


@unary
def exp(v, a, b):
    return exp_(v)


@unary
def tanh(v, a, b):
    return tanh_(v)


@unary
def sigmoid(v, a, b):
    return sigmoid_(v)


@unary
def silu(v, a, b):
    return v / (like(v, 1) + exp_(-v))


@unary
def erf(v, a, b):
    return erf_(v)


@unary
def gelu(v, a, b):
    return like(v, 0.5) * v * (like(v, 1) + erf_(v * like(v, _SQRT1_2)))


@unary
def gelu_tanh(v, a, b):
    return like(v, 0.5) * v * (like(v, 1) + tanh_(like(v, _SQRT2_PI) * (v + like(v, _CUBIC) * v * v * v)))


@unary
def softplus(v, a, b):
    z = v * like(v, a)
    # log(1 + exp(z)) = max(z, 0) + log(1 + exp(-|z|)), whose logarithm has an argument in [1, 2]
    soft = ((z if z > like(v, 0) else like(v, 0)) + log1p_unit(exp_(-abs(z)))) / like(v, a)
    return v if (z > like(v, b) or z != z) else soft


@unary
def logsigmoid(v, a, b):
    soft = (v if v < like(v, 0) else like(v, 0)) - log1p_unit(exp_(-abs(v)))
    return v if v != v else soft


@unary
def mish(v, a, b):
    e = exp_(v if v < like(v, 20) else like(v, 20))  # beyond it tanh(softplus(v)) rounds to 1, in single precision and in double
    n = e * (e + like(v, 2))
    return v * (n / (n + like(v, 2))) if v < like(v, 20) else v


@unary
def elu(v, a, b):
    """``a * expm1(v * b)`` below zero."""
    return _expm1_neg(v * like(v, b)) * like(v, a) if v < like(v, 0) else v


@unary
def selu(v, a, b):
    return _expm1_neg(v) * like(v, b) if v < like(v, 0) else v * like(v, a)


@register_jitable(**_INLINE)
def _expm1_neg(v):
    """exp(v) - 1 for v <= 0, by that of -v, which loses no digits."""
    e = expm1_pos(-v)
    return -(e / (like(v, 1) + e))


@unary
def relu(v, a, b):
    return like(v, 0) if v < like(v, 0) else v


@unary
def rsqrt(v, a, b):
    return like(v, 1) / np.sqrt(v)


@unary
def plus(v, a, b):
    return v + like(v, a)


@unary
def less(v, a, b):
    return v - like(v, a)


@unary
def from_number(v, a, b):
    return like(v, a) - v


@unary
def times(v, a, b):
    return v * like(v, a)


@unary
def over(v, a, b):
    return v / like(v, a)


@unary
def under(v, a, b):
    return like(v, a) / v


@unary
def clamp(v, a, b):
    low = like(v, a) if v < like(v, a) else v
    return like(v, b) if low > like(v, b) else low


@unary
def floor(v, a, b):
    return np.floor(v)


@unary
def ceil(v, a, b):
    return np.ceil(v)


@unary
def trunc(v, a, b):
    return np.trunc(v)


@unary
def rint(v, a, b):
    return np.rint(v)


@unary
def square(v, a, b):
    return v * v


@unary
def reciprocal(v, a, b):
    return like(v, 1) / v


@unary
def sqrt(v, a, b):
    return np.sqrt(v)


@unary
def frac(v, a, b):
    return v - np.trunc(v)


@unary
def digits(v, a, b):
    """The nearest number with so many digits behind the point, where ``a`` is ten to their power, or before it, where ``b`` is not zero."""
    scale = like(v, a)
    return np.rint(v / scale) * scale if b else np.rint(v * scale) / scale


@unary
def leaky_relu(v, a, b):
    return v if v > like(v, 0) else v * like(v, a)


@unary
def threshold(v, a, b):
    return like(v, b) if v <= like(v, a) else v


@unary
def hardsigmoid(v, a, b):
    return _clipped(v + like(v, 3)) / like(v, 6)


@unary
def hardswish(v, a, b):
    return v * _clipped(v + like(v, 3)) / like(v, 6)


@register_jitable(**_INLINE)
def _clipped(v):
    """Between 0 and 6."""
    low = like(v, 0) if v < like(v, 0) else v
    return like(v, 6) if low > like(v, 6) else low


@unary
def hardshrink(v, a, b):
    return like(v, 0) if v >= -like(v, a) and v <= like(v, a) else v


@unary
def softshrink(v, a, b):
    inside = abs(v) * like(v, 0)  # which keeps NaN
    return v - like(v, a) if v > like(v, a) else (v + like(v, a) if v < -like(v, a) else inside)


@unary
def sign(v, a, b):
    return like(v, 1) if v > like(v, 0) else (like(v, -1) if v < like(v, 0) else like(v, 0))


@unary
def angle(v, a, b):
    return v if v != v else (like(v, a) if v < like(v, 0) else like(v, 0))


@kernel("r0[n] r0[n] B0[1] :n", dtypes="fdEelB")
def same(x, z, y, start, stop):
    """Whether all elements are equal; what follows a block of which some are not is not looked at."""
    y[0], at = 1, start
    while at < stop:
        xs, zs = x[at : min(at + 1024, stop)], z[at : min(at + 1024, stop)]
        differ = False
        for i in range(xs.size):
            differ |= wide(xs[i]) != wide(zs[i])
        if differ:
            y[0] = 0
            return
        at += 1024


# -- vjps ---------------------------------------------------------------------------------------------------------------


@vjp
def huber(x, t, a, b):
    """d * m - m**2 / 2 for the difference's size d and m, the lesser of it and ``a``."""
    d = abs(x - t)
    m = like(x, a) if d > like(x, a) else d
    return (d - m * like(x, 0.5)) * m


@vjp
def logits_loss(x, t, a, b):
    return (x if x > like(x, 0) else like(x, 0)) - x * t + log1p_unit(exp_(-abs(x))) if x == x else x


# Gradients of losses of differences, and of the larger or the smaller of two, where ``g`` is one number or as many as ``x``: kinds 0 to 6,
# as `kernels/elementwise.py` has them.
# ``w`` is what an element counts in the loss, or by how many it is divided; half precision is rounded where torch rounds it.


@register_jitable(**_INLINE)
def _slope(kind, g, x, t, a, w, dx):
    d = x - t
    if kind == 0:
        d = wide(rounded(dx, d))
        return wide(rounded(dx, w * (-a if d < -a else a if d > a else d))) * g
    if kind == 1:
        d /= a
        return w * (like(x, -1) if d < like(x, -1) else like(x, 1) if d > like(x, 1) else d) * g
    if kind == 2:
        return wide(rounded(dx, w * wide(rounded(dx, d)))) * g
    if kind == 4:
        d = wide(rounded(dx, wide(rounded(dx, sigmoid_(x))) - t))
        return wide(rounded(dx, d * g)) / w
    if kind >= 5:  # the larger of the two, or the smaller
        other = x < t if kind == 5 else x > t
        return like(x, 0) if other else g * like(x, 0.5) if x == t else g
    low = wide(rounded(dx, wide(rounded(dx, like(x, 1) - x)) * x))
    d = wide(rounded(dx, g * wide(rounded(dx, d))))
    return wide(rounded(dx, d / (like(x, 1e-12) if low < like(x, 1e-12) else low))) / w


@register_jitable(**_INLINE)
def _fill(kind, grad, xs, ts, ds, a, w, start):
    if grad.size == 1 and ds.size > 0:
        g = wide(grad[0])
        c, b = like(g, a), like(g, w)
        for i in range(ds.size):
            ds[i] = rounded(ds, _slope(kind, g, wide(xs[i]), wide(ts[i]), c, b, ds))
        return
    gs = grad[start : start + ds.size]
    for i in range(ds.size):
        g = wide(gs[i])
        ds[i] = rounded(ds, _slope(kind, g, wide(xs[i]), wide(ts[i]), like(g, a), like(g, w), ds))


@kernel("r0[m] r0[n] r0[n] w0[n] i s s ((m==1)|(m==n)) :n")
def difference_backward(grad, x, t, dx, kind, a, w, start, stop):
    xs, ts, ds = x[start:stop], t[start:stop], dx[start:stop]
    if kind == 0:
        _fill(0, grad, xs, ts, ds, a, w, start)
    elif kind == 1:
        _fill(1, grad, xs, ts, ds, a, w, start)
    elif kind == 2:
        _fill(2, grad, xs, ts, ds, a, w, start)
    elif kind == 3:
        _fill(3, grad, xs, ts, ds, a, w, start)
    elif kind == 4:
        _fill(4, grad, xs, ts, ds, a, w, start)
    elif kind == 5:
        _fill(5, grad, xs, ts, ds, a, w, start)
    else:
        _fill(6, grad, xs, ts, ds, a, w, start)


@vjp
def threshold_backward(g, v, a, b):
    return like(g, 0) if v <= like(v, a) else g


@vjp
def hardtanh_backward(g, v, a, b):
    return g if v > like(v, a) and v < like(v, b) else like(g, 0)


@vjp
def shrink_backward(g, v, a, b):
    return g if v > like(v, a) or v < -like(v, a) else like(g, 0)


@vjp
def leaky_relu_backward(g, v, a, b):
    return g if v > like(v, 0) else g * like(v, a)


@vjp
def tanh_backward(g, y, a, b):
    return g * (like(y, 1) - y * y)


@vjp
def sigmoid_backward(g, y, a, b):
    return g * (like(y, 1) - y) * y


@vjp
def silu_backward(g, v, a, b):
    s = sigmoid_(v)
    return g * s * (like(v, 1) + v * (like(v, 1) - s))


@vjp
def erf_backward(g, v, a, b):
    return g * like(v, 1.1283791670955126) * exp_(-(v * v))  # 2 / sqrt(pi)


@vjp
def gelu_backward(g, v, a, b):
    half = like(v, 0.5)
    cdf = half * (like(v, 1) + erf_(v * like(v, _SQRT1_2)))
    return g * (cdf + v * (like(v, _SQRT1_2PI) * exp_(-half * v * v)))


@vjp
def gelu_tanh_backward(g, v, a, b):
    half, beta, kappa = like(v, 0.5), like(v, _SQRT2_PI), like(v, _CUBIC)
    t = tanh_(beta * (v + kappa * v * v * v))
    inner = beta * (like(v, 1) + like(v, 3) * kappa * v * v)
    return g * (half * (like(v, 1) + t) + half * v * (like(v, 1) - t * t) * inner)


@vjp
def softplus_backward(g, v, a, b):
    z = v * like(v, a)
    return g if z > like(v, b) else g * sigmoid_(z)


@vjp
def elu_backward(g, v, a, b):
    return g if v > like(v, 0) else g * like(v, a) * exp_(v)


@vjp
def celu_backward(g, v, a, b):
    return g * exp_(v * like(v, b)) if v <= like(v, 0) else g


@kernel("r0[n] r0[n] w0[n] s s :n")
def logsigmoid_backward(grad, x, dx, a, b, start, stop):
    """By exp(-|x|), which torch keeps from the forward pass, rounded."""
    gs, xs, ds = grad[start:stop], x[start:stop], dx[start:stop]
    for i in range(ds.size):
        v = wide(xs[i])
        small = wide(rounded(ds, exp_(-abs(v))))
        rate = small / (small + like(v, 1))
        ds[i] = rounded(ds, wide(gs[i]) * (like(v, 1) - rate if v < like(v, 0) else rate))


@vjp
def prelu_weight(g, v, a, b):
    return like(g, 0) if v >= like(v, 0) else g * v


@vjp
def selu_backward(g, v, a, b):
    return g * like(v, a) if v > like(v, 0) else g * like(v, b) * exp_(v)


@vjp
def mish_backward(g, v, a, b):
    e = exp_(v if v < like(v, 20) else like(v, 20))
    n = e * (e + like(v, 2))
    t = n / (n + like(v, 2))
    return g * (t + v * sigmoid_(v) * (like(v, 1) - t * t))


@vjp
def hardsigmoid_backward(g, v, a, b):
    return g * like(v, a) if v > like(v, -3) and v < like(v, 3) else like(g, 0)


@vjp
def hardswish_backward(g, v, a, b):
    return like(g, 0) if v <= like(v, -3) else (g if v >= like(v, 3) else g * (v / like(v, 3) + like(v, 0.5)))


# -- gates --------------------------------------------------------------------------------------------------------------


@kernel("r0[n] w0[m] i (half>0) (n==2*m) (m%half==0) :m")
def gated(x, y, half, start, stop):
    """What lies first in pieces of two halves, times the sigmoid of what lies behind it."""
    at = start
    while at < stop:
        piece, begin = at // half, at % half
        count = min(half - begin, stop - at)
        first = 2 * piece * half + begin
        xs, gates, ys = x[first : first + count], x[first + half : first + half + count], y[at : at + count]
        for i in range(ys.size):
            ys[i] = rounded(ys, wide(xs[i]) * sigmoid_(wide(gates[i])))
        at += count


@kernel("r0[m] r0[n] w0[n] i (half>0) (n==2*m) (m%half==0) :m", fresh=True)
def gated_backward(grad, x, dx, half, start, stop):
    at = start
    while at < stop:
        piece, begin = at // half, at % half
        count = min(half - begin, stop - at)
        first = 2 * piece * half + begin
        gs, xs, gates = grad[at : at + count], x[first : first + count], x[first + half : first + half + count]
        ds, dgates = dx[first : first + count], dx[first + half : first + half + count]
        for i in range(gs.size):
            g, s = wide(gs[i]), sigmoid_(wide(gates[i]))
            ds[i] = rounded(ds, g * s)
            dgates[i] = rounded(ds, g * wide(xs[i]) * s * (like(g, 1) - s))
        at += count


# -- dropout ------------------------------------------------------------------------------------------------------------


@kernel("r0[n] b0[n] w0[n] s :n")
def mask_scale(x, keep, y, scale, start, stop):
    T = x.dtype.type
    s = T(scale)
    xs, ks, ys = x[start:stop], keep[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = xs[i] * (s if ks[i] else T(0))


@kernel("r0[n] u0[n] w0[n] B0[n] s i :n")
def dropout_bits(x, bits, y, keep, scale, limit, start, stop):
    T = x.dtype.type
    s = T(scale)
    xs, us, ys, ks = x[start:stop], bits[start:stop], y[start:stop], keep[start:stop]
    for i in range(ys.size):
        k = np.int64(us[i]) < limit
        ks[i] = k
        ys[i] = xs[i] * (s if k else T(0))
