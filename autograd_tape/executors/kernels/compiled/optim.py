"""Optimizer steps over ``[start, stop)`` of flat arrays, in the operation order of torch's single-tensor loops."""

from __future__ import annotations

import math

from .base import kernel

_EXACT: frozenset[str] = frozenset()  # no fused multiply-add: the result is to equal the sequence of array operations


@kernel("w1[n] r1[n] w1[n]? s s s s i i i ((momentum==0.0)|(buf.size==n)) :n", _EXACT)
def sgd(param, grad, buf, lr, momentum, keep, weight_decay, first, nesterov, maximize, start, stop):
    """``keep`` is 1 - dampening; ``buf`` is empty without momentum, and written as the gradient at the ``first``
    step."""
    T = param.dtype.type
    rate, mu, damp, decay = T(-lr), T(momentum), T(keep), T(weight_decay)
    ps, gs, bs = param[start:stop], grad[start:stop], buf[start:stop]
    sign = T(-1) if maximize else T(1)
    if mu == T(0):
        for i in range(ps.size):
            ps[i] += rate * (sign * gs[i] + decay * ps[i])
    elif first:
        for i in range(ps.size):
            d = sign * gs[i] + decay * ps[i]
            bs[i] = d
            ps[i] += rate * (d + mu * d if nesterov else d)
    else:
        for i in range(ps.size):
            d = sign * gs[i] + decay * ps[i]
            b = bs[i] * mu + damp * d
            bs[i] = b
            ps[i] += rate * (d + mu * b if nesterov else b)


@kernel("w1[n] r1[n] w1[n] w1[n] w1[n]? s s s s s s s i :n", _EXACT)
def adam(param, grad, avg, sq, sq_max, shrink, decay, beta1, beta2, eps, step_size, root, maximize, start, stop):
    """``shrink`` multiplies the parameter first (AdamW), ``decay`` adds to the gradient (Adam); ``root`` is the square
    root of the second bias correction; ``sq_max`` is empty without amsgrad."""
    T = param.dtype.type
    ps, gs, ms, vs = param[start:stop], grad[start:stop], avg[start:stop], sq[start:stop]
    amsgrad = sq_max.size > 0
    xs = sq_max[start:stop]
    s, d, b2, c2, e = T(shrink), T(decay), T(beta2), T(1.0 - beta2), T(eps)
    w1, rate, r = T(1.0 - beta1), T(-step_size), T(root)
    sign = T(-1) if maximize else T(1)
    if amsgrad:
        for i in range(ps.size):
            p = ps[i] * s
            g = sign * gs[i] + d * p
            m = ms[i] + w1 * (g - ms[i])
            v = vs[i] * b2 + c2 * g * g
            ms[i] = m
            vs[i] = v
            top = v if (v > xs[i] or v != v) else xs[i]
            xs[i] = top
            ps[i] = p + rate * m / (math.sqrt(top) / r + e)
    else:
        for i in range(ps.size):
            p = ps[i] * s
            g = sign * gs[i] + d * p
            m = ms[i] + w1 * (g - ms[i])
            v = vs[i] * b2 + c2 * g * g
            ms[i] = m
            vs[i] = v
            ps[i] = p + rate * m / (math.sqrt(v) / r + e)
