"""Element-wise functions and their vjps, over ``[start, stop)`` of flat arrays."""

from __future__ import annotations

import numpy as np

from .base import erf as erf_
from .base import exp as exp_
from .base import kernel, log1p_unit
from .base import sigmoid as sigmoid_
from .base import tanh as tanh_

_SQRT1_2 = 0.7071067811865476
_SQRT1_2PI = 0.3989422804014327  # 1 / sqrt(2 pi), the normal density at 0
_SQRT2_PI = 0.7978845608028654
_CUBIC = 0.044715


@kernel("r1[n] w1[n] :n")
def exp(x, y, start, stop):
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = exp_(xs[i])


@kernel("r1[n] w1[n] :n")
def tanh(x, y, start, stop):
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = tanh_(xs[i])


@kernel("r1[n] w1[n] :n")
def sigmoid(x, y, start, stop):
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = sigmoid_(xs[i])


@kernel("r1[n] w1[n] :n")
def silu(x, y, start, stop):
    T = x.dtype.type
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = xs[i] / (T(1) + exp_(-xs[i]))


@kernel("r1[n] w1[n] :n")
def erf(x, y, start, stop):
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = erf_(xs[i])


@kernel("r1[n] w1[n] :n")
def gelu(x, y, start, stop):
    T = x.dtype.type
    half, scale = T(0.5), T(_SQRT1_2)
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = half * xs[i] * (T(1) + erf_(xs[i] * scale))


@kernel("r1[n] w1[n] :n")
def gelu_tanh(x, y, start, stop):
    T = x.dtype.type
    half, beta, kappa = T(0.5), T(_SQRT2_PI), T(_CUBIC)
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        v = xs[i]
        ys[i] = half * v * (T(1) + tanh_(beta * (v + kappa * v * v * v)))


@kernel("r1[n] w1[n] s s :n")
def softplus(x, y, beta, threshold, start, stop):
    T = x.dtype.type
    b, limit = T(beta), T(threshold)
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        v = xs[i]
        z = v * b
        # log(1 + exp(z)) = max(z, 0) + log(1 + exp(-|z|)), whose logarithm has an argument in [1, 2]
        soft = ((z if z > T(0) else T(0)) + log1p_unit(exp_(-abs(z)))) / b
        ys[i] = v if (z > limit or z != z) else soft


@kernel("r1[n] w1[n] :n")
def relu(x, y, start, stop):
    T = x.dtype.type
    xs, ys = x[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = T(0) if xs[i] < T(0) else xs[i]


@kernel("r1[n] r1[n] w1[n] s :n")
def threshold_backward(grad, x, dx, threshold, start, stop):
    T = x.dtype.type
    limit = T(threshold)
    gs, xs, ds = grad[start:stop], x[start:stop], dx[start:stop]
    for i in range(ds.size):
        ds[i] = T(0) if xs[i] <= limit else gs[i]


@kernel("r1[n] r1[n] w1[n] :n")
def tanh_backward(grad, y, dx, start, stop):
    T = y.dtype.type
    gs, ys, ds = grad[start:stop], y[start:stop], dx[start:stop]
    for i in range(ds.size):
        ds[i] = gs[i] * (T(1) - ys[i] * ys[i])


@kernel("r1[n] r1[n] w1[n] :n")
def sigmoid_backward(grad, y, dx, start, stop):
    T = y.dtype.type
    gs, ys, ds = grad[start:stop], y[start:stop], dx[start:stop]
    for i in range(ds.size):
        ds[i] = gs[i] * (T(1) - ys[i]) * ys[i]


@kernel("r1[n] r1[n] w1[n] :n")
def silu_backward(grad, x, dx, start, stop):
    T = x.dtype.type
    gs, xs, ds = grad[start:stop], x[start:stop], dx[start:stop]
    for i in range(ds.size):
        s = sigmoid_(xs[i])
        ds[i] = gs[i] * s * (T(1) + xs[i] * (T(1) - s))


@kernel("r1[n] r1[n] w1[n] :n")
def erf_backward(grad, x, dx, start, stop):
    T = x.dtype.type
    scale = T(1.1283791670955126)  # 2 / sqrt(pi)
    gs, xs, ds = grad[start:stop], x[start:stop], dx[start:stop]
    for i in range(ds.size):
        ds[i] = gs[i] * scale * exp_(-(xs[i] * xs[i]))


@kernel("r1[n] r1[n] w1[n] :n")
def gelu_backward(grad, x, dx, start, stop):
    T = x.dtype.type
    half, scale, density = T(0.5), T(_SQRT1_2), T(_SQRT1_2PI)
    gs, xs, ds = grad[start:stop], x[start:stop], dx[start:stop]
    for i in range(ds.size):
        v = xs[i]
        cdf = half * (T(1) + erf_(v * scale))
        ds[i] = gs[i] * (cdf + v * (density * exp_(-half * v * v)))


@kernel("r1[n] r1[n] w1[n] :n")
def gelu_tanh_backward(grad, x, dx, start, stop):
    T = x.dtype.type
    half, beta, kappa = T(0.5), T(_SQRT2_PI), T(_CUBIC)
    gs, xs, ds = grad[start:stop], x[start:stop], dx[start:stop]
    for i in range(ds.size):
        v = xs[i]
        t = tanh_(beta * (v + kappa * v * v * v))
        inner = beta * (T(1) + T(3) * kappa * v * v)
        ds[i] = gs[i] * (half * (T(1) + t) + half * v * (T(1) - t * t) * inner)


@kernel("r1[n] r1[n] w1[n] s s :n")
def softplus_backward(grad, x, dx, beta, threshold, start, stop):
    T = x.dtype.type
    b, limit = T(beta), T(threshold)
    gs, xs, ds = grad[start:stop], x[start:stop], dx[start:stop]
    for i in range(ds.size):
        z = xs[i] * b
        ds[i] = gs[i] if z > limit else gs[i] * sigmoid_(z)


@kernel("r1[n] b1[n] w1[n] s :n")
def mask_scale(x, keep, y, scale, start, stop):
    T = x.dtype.type
    s = T(scale)
    xs, ks, ys = x[start:stop], keep[start:stop], y[start:stop]
    for i in range(ys.size):
        ys[i] = xs[i] * (s if ks[i] else T(0))


@kernel("r1[n] u1[n] w1[n] B1[n] s i :n")
def dropout_bits(x, bits, y, keep, scale, limit, start, stop):
    T = x.dtype.type
    s = T(scale)
    xs, us, ys, ks = x[start:stop], bits[start:stop], y[start:stop], keep[start:stop]
    for i in range(ys.size):
        k = np.int64(us[i]) < limit
        ks[i] = k
        ys[i] = xs[i] * (s if k else T(0))
