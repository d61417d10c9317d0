"""Optimizer steps over ``[start, stop)`` of flat arrays, in the operation order of torch's single-tensor loops."""

from __future__ import annotations

import math

from numba import njit

from .base import kernel, like, rounded, wide

_EXACT: frozenset[str] = frozenset()  # no fused multiply-add: the result is to equal the sequence of array operations


@njit(inline="always")
def _decayed(grad, param, decay):
    """The gradient with weight decay; without, an infinite parameter does not matter."""
    return grad + decay * param if decay != 0 else grad


@njit(inline="always")
def _between(start, end, weight, rest):
    """As ``lerp`` has it, from the nearer end; ``rest`` is 1 - weight."""
    return start + weight * (end - start) if weight < rest else end - (end - start) * rest


@kernel("w0[n] r0[n] w0[n]? s s s s i i i ((momentum==0.0)|(buf.size==n)) :n", _EXACT, lists=True)
def sgd(param, grad, buf, lr, momentum, keep, weight_decay, first, nesterov, maximize, start, stop):
    """``keep`` is 1 - dampening; ``buf`` is empty without momentum, and written as the gradient at the ``first``
    step. Half precision computes in single, and is rounded where it is kept."""
    ps, gs, bs = param[start:stop], grad[start:stop], buf[start:stop]
    if ps.size == 0:
        return
    one = wide(ps[0])
    rate, mu, damp, decay = like(one, -lr), like(one, momentum), like(one, keep), like(one, weight_decay)
    sign = like(one, -1) if maximize else like(one, 1)
    if momentum == 0:
        for i in range(ps.size):
            p = wide(ps[i])
            ps[i] = rounded(ps, p + rate * _decayed(sign * wide(gs[i]), p, decay))
    elif first:
        for i in range(ps.size):
            p = wide(ps[i])
            d = _decayed(sign * wide(gs[i]), p, decay)
            bs[i] = rounded(bs, d)
            ps[i] = rounded(ps, p + rate * (d + mu * d if nesterov else d))
    else:
        for i in range(ps.size):
            p = wide(ps[i])
            d = _decayed(sign * wide(gs[i]), p, decay)
            b = wide(bs[i]) * mu + damp * d
            bs[i] = rounded(bs, b)
            ps[i] = rounded(ps, p + rate * (d + mu * b if nesterov else b))


@kernel("w0[n] r0[n] w0[n] w0[n] w0[n]? s s s s s s s i :n", _EXACT, lists=True)
def adam(param, grad, avg, sq, sq_max, shrink, decay, beta1, beta2, eps, step_size, root, maximize, start, stop):
    """``shrink`` multiplies the parameter first (AdamW), ``decay`` adds to the gradient (Adam); ``root`` is the square
    root of the second bias correction; ``sq_max`` is empty without amsgrad. Half precision as above."""
    ps, gs, ms, vs = param[start:stop], grad[start:stop], avg[start:stop], sq[start:stop]
    if ps.size == 0:
        return
    amsgrad = sq_max.size > 0
    xs = sq_max[start:stop]
    one = wide(ps[0])
    s, d, b2, c2, e = like(one, shrink), like(one, decay), like(one, beta2), like(one, 1.0 - beta2), like(one, eps)
    w1, rate, r = like(one, 1.0 - beta1), like(one, -step_size), like(one, root)
    rest = like(one, 1) - w1
    sign = like(one, -1) if maximize else like(one, 1)
    if amsgrad:
        for i in range(ps.size):
            p = wide(ps[i]) * s
            g = _decayed(sign * wide(gs[i]), p, d)
            m = _between(wide(ms[i]), g, w1, rest)
            v = wide(vs[i]) * b2 + c2 * g * g
            ms[i] = rounded(ms, m)
            vs[i] = rounded(vs, v)
            most = wide(xs[i])
            top = v if (v > most or v != v) else most
            xs[i] = rounded(xs, top)
            ps[i] = rounded(ps, p + rate * m / (math.sqrt(top) / r + e))
    else:
        for i in range(ps.size):
            p = wide(ps[i]) * s
            g = _decayed(sign * wide(gs[i]), p, d)
            m = _between(wide(ms[i]), g, w1, rest)
            v = wide(vs[i]) * b2 + c2 * g * g
            ms[i] = rounded(ms, m)
            vs[i] = rounded(vs, v)
            ps[i] = rounded(ps, p + rate * m / (math.sqrt(v) / r + e))


@kernel("w1[n] r1[n] w1[n] w1[n] s s s s s i :n", _EXACT)
def adadelta(param, grad, square, steps, rate, rho, keep, eps, decay, maximize, start, stop):
    """``keep`` is 1 - rho, ``rate`` minus the learning rate, as below."""
    T = param.dtype.type
    ps, gs, vs, us = param[start:stop], grad[start:stop], square[start:stop], steps[start:stop]
    lr, r, k, e, d = T(rate), T(rho), T(keep), T(eps), T(decay)
    sign = T(-1) if maximize else T(1)
    for i in range(ps.size):
        g = _decayed(sign * gs[i], ps[i], d)
        v = vs[i] * r + g * k * g
        delta = math.sqrt(us[i] + e) / math.sqrt(v + e) * g
        vs[i] = v
        us[i] = us[i] * r + delta * k * delta
        ps[i] += delta * lr


@kernel("w0[n] r0[n] w0[n] s s s i :n", _EXACT)
def adagrad(param, grad, total, rate, eps, decay, maximize, start, stop):
    """``rate`` with the learning rate's own decay. Half precision as above."""
    ps, gs, ts = param[start:stop], grad[start:stop], total[start:stop]
    if ps.size == 0:
        return
    one = wide(ps[0])
    lr, e, d = like(one, rate), like(one, eps), like(one, decay)
    sign = like(one, -1) if maximize else like(one, 1)
    for i in range(ps.size):
        p = wide(ps[i])
        g = _decayed(sign * wide(gs[i]), p, d)
        t = wide(ts[i]) + g * g
        ts[i] = rounded(ts, t)
        ps[i] = rounded(ps, p + g * lr / (math.sqrt(t) + e))


@kernel("w1[n] r1[n] w1[n] w1[n] s s s s s i :n", _EXACT)
def adamax(param, grad, avg, norm, rate, weight, beta2, eps, decay, maximize, start, stop):
    """``weight`` is 1 - beta1, ``rate`` with its bias correction."""
    T = param.dtype.type
    ps, gs, ms, xs = param[start:stop], grad[start:stop], avg[start:stop], norm[start:stop]
    lr, w, b2, e, d = T(rate), T(weight), T(beta2), T(eps), T(decay)
    sign = T(-1) if maximize else T(1)
    for i in range(ps.size):
        g = _decayed(sign * gs[i], ps[i], d)
        m = _between(ms[i], g, w, T(1) - w)
        size, old = abs(g) + e, xs[i] * b2
        x = size if (size > old or size != size) else old
        ms[i] = m
        xs[i] = x
        ps[i] += m * lr / x


@kernel("w1[n] r1[n] w1[n] s s s s i :n", _EXACT)
def asgd(param, grad, average, rate, shrink, weight, decay, maximize, start, stop):
    """``weight`` is that of the newest parameters in the average."""
    T = param.dtype.type
    ps, gs, xs = param[start:stop], grad[start:stop], average[start:stop]
    lr, s, w, d = T(rate), T(shrink), T(weight), T(decay)
    sign = T(-1) if maximize else T(1)
    for i in range(ps.size):
        p = ps[i] * s + _decayed(sign * gs[i], ps[i], d) * lr
        xs[i] = p if w == T(1) else xs[i] + (p - xs[i]) * w
        ps[i] = p


@kernel("w1[n] r1[n] w1[n] w1[n] s s s s s s s s s i :n", _EXACT)
def nadam(param, grad, avg, sq, rate, rate_avg, weight, beta2, keep, correction, eps, shrink, decay, maximize, start, stop):
    """``rate`` is for the gradient, ``rate_avg`` for its mean; ``correction`` is the second one's."""
    T = param.dtype.type
    ps, gs, ms, vs = param[start:stop], grad[start:stop], avg[start:stop], sq[start:stop]
    lr, lm, w, b2, c2, c, e, s, d = (T(rate), T(rate_avg), T(weight), T(beta2), T(keep), T(correction), T(eps), T(shrink), T(decay))
    sign = T(-1) if maximize else T(1)
    for i in range(ps.size):
        p = ps[i] * s
        g = _decayed(sign * gs[i], p, d)
        m = _between(ms[i], g, w, T(1) - w)
        v = vs[i] * b2 + g * c2 * g
        root = math.sqrt(v / c) + e
        ms[i] = m
        vs[i] = v
        ps[i] = p + g * lr / root + m * lm / root


@kernel("w1[n] r1[n] w1[n] w1[n] s s s s s s s s s s i :n", _EXACT)
def radam(param, grad, avg, sq, lr, correction1, weight, beta2, keep, root, rectify, eps, shrink, decay, maximize, start, stop):
    """``root`` is the square root of the second bias correction, ``rectify`` 0 at steps that do not look at squares."""
    T = param.dtype.type
    ps, gs, ms, vs = param[start:stop], grad[start:stop], avg[start:stop], sq[start:stop]
    rate, c1, w, b2, c2, c, r, e, s, d = (
        T(lr), T(correction1), T(weight), T(beta2), T(keep), T(root), T(rectify), T(eps), T(shrink), T(decay))
    sign = T(-1) if maximize else T(1)
    for i in range(ps.size):
        p = ps[i] * s
        g = _decayed(sign * gs[i], p, d)
        m = _between(ms[i], g, w, T(1) - w)
        v = vs[i] * b2 + g * c2 * g
        ms[i] = m
        vs[i] = v
        update = m / c1 * rate
        ps[i] = p - (update * (T(1) / (math.sqrt(v) + e) * c) * r if r != T(0) else update)


@kernel("w1[n] r1[n] w1[n] w1[n]? w1[n]? s s s s s s i :n", _EXACT)
def rmsprop(param, grad, sq, avg, buf, rate, alpha, keep, eps, momentum, decay, maximize, start, stop):
    """``avg`` is empty where squares are not centered, ``buf`` without momentum."""
    T = param.dtype.type
    ps, gs, vs, ms, bs = param[start:stop], grad[start:stop], sq[start:stop], avg[start:stop], buf[start:stop]
    lr, a, k, e, mu, d = T(rate), T(alpha), T(keep), T(eps), T(momentum), T(decay)
    sign = T(-1) if maximize else T(1)
    centered, kept = avg.size > 0, buf.size > 0
    for i in range(ps.size):
        g = _decayed(sign * gs[i], ps[i], d)
        v = vs[i] * a + g * k * g
        vs[i] = v
        if centered:
            m = _between(ms[i], g, k, T(1) - k)
            ms[i] = m
            v = v - m * m
        root = math.sqrt(v) + e
        if kept:
            b = bs[i] * mu + g / root
            bs[i] = b
            ps[i] += b * lr
        else:
            ps[i] += g * lr / root


@kernel("w1[n] r1[n] w1[n] w1[n] s s s s i :n", _EXACT)
def rprop(param, grad, before, size, shrink, grow, least, most, maximize, start, stop):
    """Where the sign changed, ``size`` shrinks, and the parameter waits a step; so it does where there is no sign."""
    T = param.dtype.type
    ps, gs, bs, zs = param[start:stop], grad[start:stop], before[start:stop], size[start:stop]
    down, up, low, high = T(shrink), T(grow), T(least), T(most)
    sign = T(-1) if maximize else T(1)
    for i in range(ps.size):
        g = sign * gs[i]
        agreement = g * bs[i]
        z = zs[i] * (up if agreement > T(0) else down if agreement < T(0) else T(1))
        z = low if z < low else z
        z = high if z > high else z
        if agreement < T(0):
            g = T(0)
        zs[i] = z
        ps[i] -= (T(1) if g > T(0) else T(-1) if g < T(0) else T(0)) * z
        bs[i] = g
