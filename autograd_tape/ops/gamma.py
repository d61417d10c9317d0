"""The regularized incomplete gamma functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import COMPLEX, FLOATING
from ..modes import current_engine
from ._host import on_host
from ._record import op
from ._refusals import no_kernel
from ._samples import category
from .special import _lgamma

_EPSILON, _TINY = 2.0 ** -53, 1e-300


def _prefactor(a: Any, x: Any) -> Any:
    """x**a * exp(-x) / gamma(a + 1). For large `a` as a power of x / a, whose logarithm is taken of what they differ by, with
    Stirling's series: the terms of the plain form would cancel."""
    u = (x - a) / a
    stirling = 1 / (12 * a) - 1 / (360 * a ** 3)
    large = np.exp(a * (np.log1p(u) - u) - stirling) / np.sqrt(2 * math.pi * a)
    return np.where(a > 200, large, np.exp(a * np.log(x) - x - _lgamma(a + 1)))


def _series(a: Any, x: Any) -> Any:
    """P(a, x) = x**a * exp(-x) / gamma(a + 1) * (1 + x / (a + 1) + x**2 / ((a + 1) (a + 2)) + ...)."""
    total, term, n = np.ones_like(a), np.ones_like(a), a
    for _ in range(100000):
        n = n + 1
        term = term * (x / n)
        total = total + term
        if not (np.abs(term) > np.abs(total) * _EPSILON).any():
            break
    return _prefactor(a, x) * total


def _fraction(a: Any, x: Any) -> Any:
    """Q(a, x) by its continued fraction, evaluated from the front (Lentz's method)."""
    b = x + 1 - a
    c, d = np.full_like(a, 1 / _TINY), 1 / b
    value = d
    for i in range(1, 100000):
        b = b + 2
        factor = i * (a - i)
        d = factor * d + b
        d = 1 / np.where(np.abs(d) < _TINY, _TINY, d)
        c = b + factor / c
        c = np.where(np.abs(c) < _TINY, _TINY, c)
        value = value * (c * d)
        if not (np.abs(c * d - 1) > 4 * _EPSILON).any():  # rounding may keep it a unit in the last place from 1 for good
            break
    return _prefactor(a, x) * a * value


def _complement_near_zero(a: Any, x: Any) -> Any:
    """Q(a, x) for small x: 1 - x**a / gamma(a + 1) * (1 + a * sum (-x)**n / (n! (a + n))), with the terms near 1 left out."""
    power = a * np.log(x) - _lgamma(a + 1)
    total, term = np.zeros_like(a), np.ones_like(a)
    for n in range(1, 60):
        term = term * (-x / n)
        total = total + term / (a + n)
    return -np.expm1(power) - np.exp(power) * a * total


def _incomplete(a: Any, x: Any, upper: bool) -> Any:
    """P(a, x), or Q(a, x) with `upper`: whichever is computed without cancellation, and the other from it."""
    dtype = np.result_type(a, x)
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    result = np.full(a.shape, np.nan)
    with np.errstate(all="ignore"):
        result[(a == 0) & (x > 0) | (a >= 0) & np.isposinf(x) & np.isfinite(a)] = 0.0 if upper else 1.0
        result[(a > 0) & (x == 0) | np.isposinf(a) & (x >= 0) & np.isfinite(x)] = 1.0 if upper else 0.0
        inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        below = (x <= 1.1) | (x < a)
        near = inside & below & upper & (x <= 1.1) & (x > 0.5 * a)
        for where, method, gives_upper in ((inside & below & ~near, _series, False), (inside & ~below, _fraction, True),
                                           (near, _complement_near_zero, True)):
            if where.any():
                value = method(a[where], x[where])
                result[where] = value if gives_upper is upper else 1 - value
    return result.astype(dtype)[()]


def _check(name: str) -> Any:
    def check(input: Any, other: Any) -> None:
        highest = max(category(input), category(other))
        if highest < FLOATING or highest == COMPLEX:
            no_kernel(f"{name}_cpu", input)

    return check


def _no_gradient(name: str) -> Any:
    def vjp(F: Any, grad: Any) -> Any:
        engine = current_engine()
        if engine is not None and engine.entry is not None and not engine.needs(engine.entry.edges[0]):
            return None
        raise NotImplementedError(f"the derivative for '{name}: input' is not implemented.")

    return vjp


def _density(F: Any, input: Any, other: Any) -> Any:
    return F.exp((input - 1) * F.log(other) - other - F.lgamma(F.cast_like(input, other)))


def _samples(rng: Any) -> Any:
    # Integers stand for a tensor without gradient, which `input` must be here.
    yield np.array([1, 2, 10]), np.array([0.3, 4.0, 9.0])
    yield np.array([[2], [5]]), np.array([0.3, 4.0, 9.0])


@op("igamma(Tensor input, Tensor other) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True,
    alias="special.gammainc", dtypes="float", complex="igamma_cpu")
class igamma:
    """The regularized lower incomplete gamma function P(input, other): the integral of t**(input - 1) * exp(-t) / gamma(input) from 0 to
    other (Abramowitz and Stegun, 6.5).

    >>> torch.igamma(torch.tensor([4.]), torch.tensor([3.]))
    tensor([0.3528])
    """

    def numpy(input, other): return _incomplete(input, other, False)
    compose = on_host(numpy)
    check = _check("igamma")
    samples = _samples
    no_forward = "igamma"
    vjp_input = _no_gradient("igamma")
    def vjp_other(F, grad, input, other): return grad * _density(F, input, other)
    def errors(rng): yield (np.array([1]), np.array([2])), NotImplementedError, "\"igamma_cpu\" not implemented for 'Long'"


@op("igammac(Tensor input, Tensor other) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True,
    alias="special.gammaincc", dtypes="float", complex="igammac_cpu")
class igammac:
    """The regularized upper incomplete gamma function, 1 - igamma(input, other).

    >>> torch.igammac(torch.tensor([4.]), torch.tensor([3.]))
    tensor([0.6472])
    """

    def numpy(input, other): return _incomplete(input, other, True)
    compose = on_host(numpy)
    check = _check("igammac")
    samples = _samples
    no_forward = "igammac"
    vjp_input = _no_gradient("igammac")
    def vjp_other(F, grad, input, other): return -grad * _density(F, input, other)
    def errors(rng): yield (np.array([1]), np.array([2])), NotImplementedError, "\"igammac_cpu\" not implemented for 'Long'"
