"""Bessel functions of the orders 0 and 1, and the Airy function.

Each is computed in double precision, by ranges: a polynomial near zero, from which zeros are divided out, and the asymptotic form with
polynomials for its series elsewhere (`_expansions`). torch has gradients for i0, i1 and their scaled forms alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...executors.kernels import elementwise as fused
from ...record import Sample, op
from .._host import on_host
from .._precision import no_half
from .._samples import domain
from . import _expansions as table

_EULER = 0.57721566490153286
_SMALL = 1e-4
_ORDERS = (0, 1)


def _polynomial(coefficients: tuple[float, ...], s: np.ndarray) -> np.ndarray:
    result = np.full_like(s, coefficients[0])
    for c in coefficients[1:]:
        result *= s
        result += c
    return result


def _ranges(limit: float, below: Callable[[np.ndarray], np.ndarray], beyond: Callable[[np.ndarray], np.ndarray],
            ) -> Callable[[np.ndarray], np.ndarray]:
    """`below` up to the limit, `beyond` from there; NaN stays."""

    def function(x: np.ndarray) -> np.ndarray:
        near, far = x <= limit, x > limit
        if near.all() or far.all():
            return below(x) if near.any() else beyond(x)
        result = x.copy()
        result[near] = below(x[near])
        result[far] = beyond(x[far])
        return result

    return function


def _kernel(function: Callable[[np.ndarray], np.ndarray], symmetry: str = "") -> Callable[[np.ndarray], np.ndarray]:
    """The kernel that computes `function`, which is "even" or "odd", and only asked for what is not negative then."""

    def of_sizes(x: np.ndarray) -> np.ndarray:
        result = function(np.abs(x))
        return result if symmetry == "even" else np.copysign(result, x * result)

    return lambda input: fused.in_blocks(input, of_sizes if symmetry else function)


# -- of the first and second kind -----------------------------------------------------------------------------------------


def _j_near(order: int, x: np.ndarray) -> np.ndarray:
    square = x * x
    result = _polynomial(table.J[order], square / 32 - 1)
    for high, low in table.ZEROS[order]:
        result *= (x - high - low) * (x + high)
    return result * x if order else np.where(x < _SMALL, 1 - square / 4, result)


def _y_near(order: int, x: np.ndarray) -> np.ndarray:
    rest = _polynomial(table.Y[order], x * x / 32 - 1)
    logarithm = np.log(x) * _j_near(order, x)
    if order == 0:
        return rest + 2 / math.pi * logarithm
    return np.where(x == 0, -math.inf, rest * x + 2 / math.pi * (logarithm - 1 / x))


def _hankel(order: int, second: bool, x: np.ndarray) -> np.ndarray:
    """sqrt(2 / (pi x)) times P cos(chi) - Q sin(chi), or P sin(chi) + Q cos(chi), with chi = x - (2 order + 1) pi / 4."""
    w = 128 / (x * x) - 1
    p, q = _polynomial(table.P[order], w), _polynomial(table.Q[order], w) / x
    sine, cosine = np.sin(x), np.cos(x)
    cosine, sine = (cosine + sine, sine - cosine) if order == 0 else (sine - cosine, -sine - cosine)  # of chi, times sqrt(2)
    wave = p * sine + q * cosine if second else p * cosine - q * sine
    return wave / np.sqrt(math.pi * x)


_J = [_ranges(8, partial(_j_near, n), partial(_hankel, n, False)) for n in _ORDERS]
_Y = [_ranges(8, partial(_y_near, n), partial(_hankel, n, True)) for n in _ORDERS]

# -- modified -------------------------------------------------------------------------------------------------------------

_TERMS = range(26, -1, -1)  # of power series in (x / 2)**2 up to 16
_HARMONIC = np.concatenate([[0.0], np.cumsum(1 / np.arange(1.0, 28))])
_I_SERIES = [tuple([1.0 / (math.factorial(k) * math.factorial(k + n)) for k in _TERMS]) for n in _ORDERS]
_K_SERIES = [tuple([(_HARMONIC[k] + _HARMONIC[k + n]) / (math.factorial(k) * math.factorial(k + n)) for k in _TERMS]) for n in _ORDERS]


def _i_near(order: int, x: np.ndarray) -> np.ndarray:
    half = 0.5 * x
    result = _polynomial(_I_SERIES[order], half * half)
    return result * half if order else result


def _i_scaled_far(order: int, x: np.ndarray) -> np.ndarray:
    return _polynomial(table.I[order], 16 / x - 1) / np.sqrt(x)


def _k_near(order: int, x: np.ndarray) -> np.ndarray:
    """(log(x / 2) + euler) I and a series, of both signs of order 1, where 1 / x is added (Abramowitz and Stegun 9.6.11)."""
    half = 0.5 * x
    series = 0.5 * _polynomial(_K_SERIES[order][-14:], half * half)
    logarithm = (np.log(half) + _EULER) * _i_near(order, x)
    if order == 0:
        return np.where(x == 0, math.inf, series - logarithm)
    return np.where(x == 0, math.inf, logarithm - half * series + 1 / x)


def _k_scaled_far(order: int, x: np.ndarray) -> np.ndarray:
    return _polynomial(table.K[order], 2 / x - 1) / np.sqrt(x)


def _scaled(function: Callable[[int, np.ndarray], np.ndarray], exponent: int, order: int, x: np.ndarray) -> np.ndarray:
    return np.exp(exponent * x) * function(order, x)


_I = [_ranges(8, partial(_i_near, n), partial(_scaled, _i_scaled_far, 1, n)) for n in _ORDERS]
_I_SCALED = [_ranges(8, partial(_scaled, _i_near, -1, n), partial(_i_scaled_far, n)) for n in _ORDERS]
_K = [_ranges(1, partial(_k_near, n), partial(_scaled, _k_scaled_far, -1, n)) for n in _ORDERS]
_K_SCALED = [_ranges(1, partial(_scaled, _k_near, 1, n), partial(_k_scaled_far, n)) for n in _ORDERS]

# -- Airy's and the spherical one -------------------------------------------------------------------------------------------


def _zeta(x: np.ndarray) -> np.ndarray:
    return 2 / 3 * x * np.sqrt(x)


def _airy_decaying(x: np.ndarray) -> np.ndarray:
    zeta = _zeta(x)
    wave = _polynomial(table.AI_DECAYING, 2 * _zeta(np.array(2.0)) / zeta - 1) / np.sqrt(np.sqrt(x))
    return np.where(np.isinf(x), math.nan, np.exp(-zeta) * wave)  # as torch has it


def _airy_waves(x: np.ndarray) -> np.ndarray:
    zeta = _zeta(-x)
    w = 2 * (_zeta(np.array(4.0)) / zeta) ** 2 - 1
    sine, cosine = np.sin(zeta), np.cos(zeta)  # of zeta + pi / 4, times sqrt(2), are their sum and difference
    wave = (sine + cosine) * _polynomial(table.AI_SINE, w) - (cosine - sine) * _polynomial(table.AI_COSINE, w) / zeta
    return wave * math.sqrt(0.5 / math.pi) / np.sqrt(np.sqrt(-x))


def _airy_left(x: np.ndarray) -> np.ndarray:
    high, low = table.AI_ZERO
    return (x - high - low) * _polynomial(table.AI_LEFT, x * 0.5 + 1)


_AIRY = _ranges(0, _ranges(-4, _airy_waves, _airy_left), _ranges(2, lambda x: _polynomial(table.AI_RIGHT, x - 1), _airy_decaying))


def _sinc(x: np.ndarray) -> np.ndarray:
    return np.where(np.isinf(x), 0, np.where(x == 0, 1, np.sin(x) / x))


# -- the operations -----------------------------------------------------------------------------------------------------


def _domain(low: float, high: float) -> Callable[[Any], Iterator[Sample]]:
    def samples(rng: object) -> Iterator[Sample]:
        for args in domain(low, high)(rng):
            yield Sample(args, no_gradient="torch has none")

    return samples


@op("i0(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="special.i0",
    dtypes="float int half", complex="i0_vml_cpu")
class i0:
    """The modified Bessel function of order 0.

    >>> torch.i0(torch.tensor([0., 1.]))
    tensor([1.0000, 1.2661])
    """

    lacks = {"float8": "i0_vml_cpu"}
    scipy = "i0"
    numpy = _kernel(_I[0], "even")
    mindspore = "ops.BesselI0"
    def vjp(F, grad, input): return grad * F.i1(input)
    samples = domain(-2, 2)


@op("i1(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    dtypes="float int half", complex="i1_cpu", node="SpecialI1Backward0")
class i1:
    """The modified Bessel function of order 1.

    >>> torch.special.i1(torch.tensor([0., 1.]))
    tensor([0.0000, 0.5652])
    """

    lacks = {"float8": "i1_cpu"}
    scipy = "i1"
    numpy = _kernel(_I[1], "odd")
    mindspore = "ops.BesselI1"
    def vjp(F, grad, input, result):  # which is finite at 0, and so are its derivatives
        no_half("i1_backward", input)
        return grad * F.where(input == 0, 0.5, F.i0(input) - result / F.where(input == 0, 1, input))
    samples = domain(0.5, 2)


@op("i0e(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    dtypes="float int half", complex="i0e_cpu", node="SpecialI0EBackward0")
class i0e:
    """i0(input) * exp(-|input|).

    >>> torch.special.i0e(torch.tensor([0., 1.]))
    tensor([1.0000, 0.4658])
    """

    lacks = {"float8": "i0e_cpu"}
    scipy = "i0e"
    numpy = _kernel(_I_SCALED[0], "even")
    mindspore = "ops.BesselI0e"
    def vjp(F, grad, input, result): return grad * (F.i1e(input) - F.sgn(input) * result)
    samples = domain(-2, 2, kinks=(0,))


@op("i1e(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    dtypes="float int half", complex="i1e_cpu", node="SpecialI1EBackward0")
class i1e:
    """i1(input) * exp(-|input|).

    >>> torch.special.i1e(torch.tensor([0., 1.]))
    tensor([0.0000, 0.2079])
    """

    lacks = {"float8": "i1e_cpu"}
    scipy = "i1e"
    numpy = _kernel(_I_SCALED[1], "odd")
    mindspore = "ops.BesselI1e"
    def vjp(F, grad, input, result):
        no_half("i1e_backward", input)
        return grad * F.where(input == 0, 0.5, F.i0e(input) - result * (F.sgn(input) + 1 / F.where(input == 0, 1, input)))
    samples = domain(0.5, 2)


@op("bessel_j0(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    differentiable=False, dtypes="float int", complex="bessel_j0_cpu")
class bessel_j0:
    """The Bessel function of the first kind of order 0.

    >>> torch.special.bessel_j0(torch.tensor([1., 3.]))
    tensor([ 0.7652, -0.2601])
    """

    lacks = {"half float8": "bessel_j0_cpu"}
    scipy = "j0"
    numpy = _kernel(_J[0], "even")
    compose = on_host(numpy)
    samples = _domain(-12, 12)


@op("bessel_j1(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    differentiable=False, dtypes="float int", complex="bessel_j1_cpu")
class bessel_j1:
    """The Bessel function of the first kind of order 1.

    >>> torch.special.bessel_j1(torch.tensor([1., 3.]))
    tensor([0.4401, 0.3391])
    """

    lacks = {"half float8": "bessel_j1_cpu"}
    scipy = "j1"
    numpy = _kernel(_J[1], "odd")
    compose = on_host(numpy)
    samples = _domain(-12, 12)


@op("bessel_y0(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    differentiable=False, dtypes="float int", complex="bessel_y0_cpu")
class bessel_y0:
    """The Bessel function of the second kind of order 0: minus infinity at 0, NaN below.

    >>> torch.special.bessel_y0(torch.tensor([1., 3.]))
    tensor([0.0883, 0.3769])
    """

    lacks = {"half float8": "bessel_y0_cpu"}
    scipy = "y0"
    numpy = _kernel(_Y[0])
    compose = on_host(numpy)
    samples = _domain(0.5, 12)


@op("bessel_y1(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    differentiable=False, dtypes="float int", complex="bessel_y1_cpu")
class bessel_y1:
    """The Bessel function of the second kind of order 1: minus infinity at 0, NaN below.

    >>> torch.special.bessel_y1(torch.tensor([1., 3.]))
    tensor([-0.7812,  0.3247])
    """

    lacks = {"half float8": "bessel_y1_cpu"}
    scipy = "y1"
    numpy = _kernel(_Y[1])
    compose = on_host(numpy)
    samples = _domain(0.5, 12)


@op("modified_bessel_i0(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    differentiable=False, dtypes="float int", complex="modified_bessel_i0_cpu")
class modified_bessel_i0:
    """The modified Bessel function of the first kind of order 0: i0, without a gradient.

    >>> torch.special.modified_bessel_i0(torch.tensor([1., 3.]))
    tensor([1.2661, 4.8808])
    """

    lacks = {"half float8": "modified_bessel_i0_cpu"}
    numpy = _kernel(_I[0], "even")
    compose = on_host(numpy)
    samples = _domain(-10, 10)


@op("modified_bessel_i1(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    differentiable=False, dtypes="float int", complex="modified_bessel_i1_cpu")
class modified_bessel_i1:
    """The modified Bessel function of the first kind of order 1: i1, without a gradient.

    >>> torch.special.modified_bessel_i1(torch.tensor([1., 3.]))
    tensor([0.5652, 3.9534])
    """

    lacks = {"half float8": "modified_bessel_i1_cpu"}
    numpy = _kernel(_I[1], "odd")
    compose = on_host(numpy)
    samples = _domain(-10, 10)


@op("modified_bessel_k0(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    differentiable=False, dtypes="float int", complex="modified_bessel_k0_cpu")
class modified_bessel_k0:
    """The modified Bessel function of the second kind of order 0: infinity at 0, NaN below.

    >>> torch.special.modified_bessel_k0(torch.tensor([1., 3.]))
    tensor([0.4210, 0.0347])
    """

    lacks = {"half float8": "modified_bessel_k0_cpu"}
    scipy = "k0"
    numpy = _kernel(_K[0])
    compose = on_host(numpy)
    samples = _domain(0.5, 4)


@op("modified_bessel_k1(Tensor input) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    differentiable=False, dtypes="float int", complex="modified_bessel_k1_cpu")
class modified_bessel_k1:
    """The modified Bessel function of the second kind of order 1: infinity at 0, NaN below.

    >>> torch.special.modified_bessel_k1(torch.tensor([1., 3.]))
    tensor([0.6019, 0.0402])
    """

    lacks = {"half float8": "modified_bessel_k1_cpu"}
    scipy = "k1"
    numpy = _kernel(_K[1])
    compose = on_host(numpy)
    samples = _domain(0.5, 4)


@op("scaled_modified_bessel_k0(Tensor x) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    differentiable=False, dtypes="float int", complex="scaled_modified_bessel_k0_cpu")
class scaled_modified_bessel_k0:
    """modified_bessel_k0(x) * exp(x), which does not vanish for large x.

    >>> torch.special.scaled_modified_bessel_k0(torch.tensor([1., 3.]))
    tensor([1.1445, 0.6978])
    """

    lacks = {"half float8": "scaled_modified_bessel_k0_cpu"}
    scipy = "k0e"
    numpy = _kernel(_K_SCALED[0])
    compose = on_host(numpy)
    samples = _domain(0.5, 4)


@op("scaled_modified_bessel_k1(Tensor x) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    differentiable=False, dtypes="float int", complex="scaled_modified_bessel_k1_cpu")
class scaled_modified_bessel_k1:
    """modified_bessel_k1(x) * exp(x), which does not vanish for large x.

    >>> torch.special.scaled_modified_bessel_k1(torch.tensor([1., 3.]))
    tensor([1.6362, 0.8066])
    """

    lacks = {"half float8": "scaled_modified_bessel_k1_cpu"}
    scipy = "k1e"
    numpy = _kernel(_K_SCALED[1])
    compose = on_host(numpy)
    samples = _domain(0.5, 4)


@op("spherical_bessel_j0(Tensor x) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    differentiable=False, dtypes="float int", complex="spherical_bessel_j0_cpu")
class spherical_bessel_j0:
    """The spherical Bessel function of the first kind of order 0: sin(x) / x.

    >>> torch.special.spherical_bessel_j0(torch.tensor([1., 3.]))
    tensor([0.8415, 0.0470])
    """

    lacks = {"half float8": "spherical_bessel_j0_cpu"}
    numpy = _kernel(_sinc)
    compose = on_host(numpy)
    samples = _domain(-6, 6)


@op("airy_ai(Tensor x) -> Tensor", family="unary", promotion="float", result="same", method=False, namespace="special",
    differentiable=False, dtypes="float int", complex="airy_ai_cpu")
class airy_ai:
    """The Airy function Ai, a solution of y'' = x y.

    >>> torch.special.airy_ai(torch.tensor([1., 3.]))
    tensor([0.1353, 0.0066])
    """

    lacks = {"half float8": "airy_ai_cpu"}
    numpy = _kernel(_AIRY)
    compose = on_host(numpy)
    samples = _domain(-6, 4)
