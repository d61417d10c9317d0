"""Losses of elements that are made of several steps, in one pass: a formula of numbers each, in one loop for all of them.

Half precision is rounded after each step, as where each is an operation of its own; and so is a number that is added; nothing is
fused or reordered.
"""

from __future__ import annotations

from typing import Any

from numba.extending import register_jitable

from ....annotations import Fn
from .._kernel import Kernel
from .base import EXACT, exp, f4, i4, kernel, like, log1p_unit, rounded, u4, wide

_INLINE: Any = {"nogil": True, "error_model": "numpy", "forceinline": True}
_ROOT_HALF, _LN2 = 0x3F3504F3, 0.6931471805599453
"""The bits of the root of 1/2 in single precision, and the logarithm of 2."""


def _log(v):
    """Of single precision: what is left of a number beside a power of 2 is between the roots of 1/2 and of 2."""
    small = v < f4(1.1754943508222875e-38)
    u = f4(v * f4(33554432.0) if small else v).view(u4)  # 2**25
    n = i4(u - u4(_ROOT_HALF)) >> i4(23)
    near = u4(u4(u) - (u4(n) << u4(23))).view(f4)
    found = f4(n - i4(25) if small else n) * f4(_LN2) + log1p_unit(near - f4(1))
    found = f4(-float("inf")) if v == f4(0) else f4(float("nan")) if v < f4(0) else found
    return found if v < f4(float("inf")) else v  # NaN, too


def _log_of_1_more(v):
    """Of numbers that are not negative."""
    more = v + f4(1)
    found = _log_(more) + (v - (more - f4(1))) / more
    return found if v < f4(float("inf")) else v


def _step(y, v):
    return wide(rounded(y, v))


_log_, step = register_jitable(**_INLINE)(_log), register_jitable(**_INLINE)(_step)
_log1p = register_jitable(**_INLINE)(_log_of_1_more)


def two(formula: Fn) -> Kernel:
    """The kernel of ``formula(x, t, y, a, b)``, of half precision."""
    number = register_jitable(**_INLINE)(formula)

    def loop(x, t, y, a, b, start, stop):
        xs, ts, ys = x[start:stop], t[start:stop], y[start:stop]
        for i in range(ys.size):
            ys[i] = rounded(ys, number(wide(xs[i]), wide(ts[i]), ys, a, b))

    loop.__name__ = loop.__qualname__ = formula.__name__
    return kernel("r0[n] r0[n] w0[n] s s :n", EXACT, "eE")(loop)


def three(formula: Fn, dtypes: str = "eE") -> Kernel:
    """The kernel of ``formula(x, t, v, y, a, b)``."""
    number = register_jitable(**_INLINE)(formula)

    def loop(x, t, v, y, a, b, start, stop):
        xs, ts, vs, ys = x[start:stop], t[start:stop], v[start:stop], y[start:stop]
        for i in range(ys.size):
            ys[i] = rounded(ys, number(wide(xs[i]), wide(ts[i]), wide(vs[i]), ys, a, b))

    loop.__name__ = loop.__qualname__ = formula.__name__
    return kernel("r0[n] r0[n] r0[n] w0[n] s s :n", EXACT, dtypes)(loop)


@two
def divergence(x, t, y, a, b):
    """t * (log(t) - x), of which nothing is left of 0 times a logarithm."""
    product = step(y, t * step(y, _log_(t)))
    return (product if t != f4(0) else f4(0)) - step(y, t * x)


@two
def divergence_of_log(x, t, y, a, b):
    return step(y, exp(t)) * step(y, t - x)


@two
def rate_of_log(x, t, y, a, b):
    """exp(x) - t * x."""
    return step(y, exp(x)) - step(y, t * x)


@two
def rate(x, t, y, a, b):
    """x - t * log(x + a)."""
    return x - step(y, t * step(y, _log_(step(y, x + step(y, like(x, a))))))


@two
def stirling(x, t, y, a, b):
    """A loss and what approximates the logarithm of the factorial of its target, where that is above 1."""
    main = step(y, step(y, t * step(y, _log_(t))) - t)
    rest = step(y, like(x, 0.5) * step(y, _log_(step(y, t * like(x, a)))))
    return x + (f4(0) if t <= f4(1) else step(y, main + rest))


@two
def soft_margin(x, t, y, a, b):
    """log(1 + exp(-t * x))."""
    return _log1p(step(y, exp(step(y, -x * t))))


@three
def gaussian(x, t, v, y, a, b):
    """Half of log(v) + (x - t)^2 / v, for v of at least ``a``, and ``b``."""
    least = step(y, like(x, a))
    v = step(y, v + step(y, (least if v < least else v) - v))
    d = step(y, x - t)
    d = step(y, step(y, d * d) / v)
    return step(y, like(x, 0.5) * step(y, step(y, _log_(v)) + d)) + step(y, like(x, b))


def _ranked(x, t, v, y, a, b):
    """max(0, a - v * (x - t))."""
    z = step(y, step(y, -v * step(y, x - t)) + step(y, like(x, a)))
    return like(x, 0) if z < like(x, 0) else z


ranked = three(_ranked, "fdeE")


@kernel("r0[n] q0[n] w0[n] s :n", EXACT, "fdeE")
def hinge(x, t, y, margin, start, stop):
    """max(0, margin - x) but where the target is 1, and x but where it is -1."""
    xs, ts, ys = x[start:stop], t[start:stop], y[start:stop]
    for i in range(ys.size):
        v = wide(xs[i])
        z = step(ys, step(ys, like(v, margin)) - v)
        z = like(v, 0) if (z < like(v, 0)) | (ts[i] == 1) else z  # not `or`, a branch that keeps the loop from vectors
        ys[i] = rounded(ys, z + (v if ts[i] != -1 else like(v, 0)))
