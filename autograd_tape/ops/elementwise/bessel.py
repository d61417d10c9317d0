"""Bessel functions of the orders 0 and 1, and the Airy function.

Each is computed in double precision, by ranges: a polynomial near zero, from which zeros are divided out, and the asymptotic form with
polynomials for its series elsewhere (`_expansions`). The functions here are formulas of one number
(`executors/kernels/formulas.py`). torch has gradients for i0, i1 and their scaled forms alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import accumulate
from types import ModuleType
from typing import Any, NamedTuple


from ...executors.kernels.formulas import Scalar, Split, copysign, cos, exp, log, polynomial, sin, sqrt, unary
from ...record import Sample, op
from .._host import on_host
from .._precision import no_half
from .._samples import domain
from ...annotations import Fn
from ...warned import ignoring
from . import _double as double, _expansions as table, _expansions_single as table_of_single, _single as single

_EULER = 0.57721566490153286
_SMALL = 1e-4
_LEAST = 1e-290
"""What logarithms are of that are found side by side."""


def _kernel(function: Scalar, symmetry: str = "", of_single: Scalar | None = None) -> Fn:
    """The kernel that computes `function`, which is "even" or "odd", and only asked for what is not negative then; `of_single` of single
    precision."""
    return unary(_symmetric(function, symmetry), single=of_single and _symmetric(of_single, symmetry), fused=True)


def _symmetric(function: Scalar, symmetry: str) -> Scalar:
    def even(x: float) -> float:
        return function(abs(x))

    def odd(x: float) -> float:
        return function(abs(x)) * copysign(1.0, x)

    return {"": function, "even": even, "odd": odd}[symmetry]


def _waves(made: Callable[..., Scalar], split: Callable[..., Split], *options: int, symmetry: str = "", least: float = -math.inf) -> Fn:
    """The kernel of a function with sines, for which `split` is side by side, from the `least` number on."""
    whole = made(*options)

    def up_to(by: _Functions, largest: float) -> Split:
        function, beyond = split(*options, by)
        beyond = ((lambda x: abs(x) > largest or x < least, whole), *beyond)
        return Split(_symmetric(function, symmetry), tuple([
            (test if symmetry == "" else _symmetric(test, "even"), _symmetric(other, symmetry)) for test, other in beyond]))

    return unary(up_to(_SIDE_BY_SIDE, double.LARGEST), single=up_to(_SINGLE, single.LARGEST), fused=True)


class _Functions(NamedTuple):
    """What formulas are made of."""

    exp: Scalar
    log: Scalar
    sin: Scalar
    cos: Scalar
    table: ModuleType


_DOUBLE = _Functions(exp, log, sin, cos, table)
_SIDE_BY_SIDE = _Functions(exp, double.log, double.sin, double.cos, table)
_SINGLE = _Functions(single.exp, single.log, single.sin, single.cos, table_of_single)


# -- of the first and second kind -----------------------------------------------------------------------------------------


def _of_first_kind_near(order: int, by: _Functions) -> Scalar:
    """Up to 8."""
    coefficients = by.table.J[order]
    (high, low), (high2, low2) = table.ZEROS[order]

    def zeroth(x: float) -> float:
        square = x * x
        if x < _SMALL:
            return 1.0 - square / 4.0
        return polynomial(coefficients, square / 32.0 - 1.0) * ((x - high - low) * (x + high)) * ((x - high2 - low2) * (x + high2))

    def first(x: float) -> float:
        return polynomial(coefficients, x * x / 32.0 - 1.0) * ((x - high - low) * (x + high)) * ((x - high2 - low2) * (x + high2)) * x

    return first if order else zeroth


def _hankel(order: int, second: bool, by: _Functions) -> Scalar:
    """sqrt(2 / (pi x)) times P cos(chi) - Q sin(chi), or P sin(chi) + Q cos(chi), with chi = x - (2 order + 1) pi / 4."""
    above, below, sin, cos = by.table.P[order], by.table.Q[order], by.sin, by.cos

    def wave(x: float) -> float:
        w = 128.0 / (x * x) - 1.0
        p, q = polynomial(above, w), polynomial(below, w) / x
        s, c = sin(x), cos(x)
        if order == 0:  # of chi, times sqrt(2)
            cosine, sine = c + s, s - c
        else:
            cosine, sine = s - c, -s - c
        if second:
            return (p * sine + q * cosine) / sqrt(math.pi * x)
        return (p * cosine - q * sine) / sqrt(math.pi * x)

    return wave


def _of_first_kind(order: int, by: _Functions = _DOUBLE) -> Scalar:
    near, far = _of_first_kind_near(order, by), _hankel(order, False, by)

    def function(x: float) -> float:
        return near(x) if x <= 8.0 else far(x)

    return function


def _of_second_kind_near(order: int, by: _Functions) -> Scalar:
    """From 0 to 8."""
    j, rest, log = _of_first_kind_near(order, by), by.table.Y[order], by.log

    def function(x: float) -> float:
        logarithm = log(x) * j(x)
        if order == 0:
            return polynomial(rest, x * x / 32.0 - 1.0) + 2.0 / math.pi * logarithm
        return polynomial(rest, x * x / 32.0 - 1.0) * x + 2.0 / math.pi * (logarithm - 1.0 / x)

    return function


def _of_second_kind(order: int, by: _Functions = _DOUBLE) -> Scalar:
    near, far = _of_second_kind_near(order, by), _hankel(order, True, by)

    def function(x: float) -> float:
        if x <= 0.0:
            return -math.inf if x == 0.0 else math.nan
        return far(x) if x > 8.0 else near(x)

    return function


def _is_far(x: float) -> bool:
    return x > 8.0


def _first_kind_split(order: int, by: _Functions) -> Split:
    return Split(_of_first_kind_near(order, by), ((_is_far, _hankel(order, False, by)),))


def _second_kind_split(order: int, by: _Functions) -> Split:
    return Split(_of_second_kind_near(order, by), ((_is_far, _hankel(order, True, by)),))


# -- modified -------------------------------------------------------------------------------------------------------------

_TERMS = range(26, -1, -1)  # of power series in (x / 2)**2 up to 16
_HARMONIC = [0.0, *accumulate([1 / k for k in range(1, 28)])]
_I_SERIES = [tuple([1.0 / (math.factorial(k) * math.factorial(k + n)) for k in _TERMS]) for n in (0, 1)]
_K_SERIES = [tuple([(_HARMONIC[k] + _HARMONIC[k + n]) / (math.factorial(k) * math.factorial(k + n)) for k in _TERMS]) for n in (0, 1)]


def _modified_near(order: int) -> Scalar:
    series = _I_SERIES[order]

    def function(x: float) -> float:
        half = 0.5 * x
        if order == 0:
            return polynomial(series, half * half)
        return polynomial(series, half * half) * half

    return function


def _modified_near_single(order: int) -> Scalar:
    coefficients = table_of_single.I_NEAR[order]

    def function(x: float) -> float:
        value = polynomial(coefficients, x * x / 32.0 - 1.0)
        return value if order == 0 else value * 0.5 * x

    return function


def _of_i(order: int, scaled: bool, by: _Functions = _DOUBLE) -> Scalar:
    near, far, exp = (_modified_near if by is _DOUBLE else _modified_near_single)(order), by.table.I[order], by.exp

    def function(x: float) -> float:
        if x > 8.0:
            value = polynomial(far, 16.0 / x - 1.0) / sqrt(x)
            return value if scaled else exp(x) * value
        return exp(-x) * near(x) if scaled else near(x)

    return function


def _of_k(order: int, scaled: bool) -> Scalar:
    """Near 0 (log(x / 2) + euler) I and a series, of both signs of order 1, where 1 / x is added (Abramowitz and Stegun 9.6.11)."""
    i, series, far = _modified_near(order), _K_SERIES[order][-14:], table.K[order]

    def function(x: float) -> float:
        if x <= 0.0:
            return math.inf if x == 0.0 else math.nan
        if x > 1.0:
            value = polynomial(far, 2.0 / x - 1.0) / sqrt(x)
            return value if scaled else exp(-x) * value
        half = 0.5 * x
        rest, logarithm = 0.5 * polynomial(series, half * half), (log(half) + _EULER) * i(x)
        value = rest - logarithm if order == 0 else logarithm - half * rest + 1.0 / x
        return exp(x) * value if scaled else value

    return function


# -- Airy's and the spherical one -------------------------------------------------------------------------------------------


def _zeta(x: float) -> float:
    return 2.0 / 3.0 * x * sqrt(x)


_AT_2, _AT_4 = _zeta(2.0), _zeta(4.0)
_ZERO, _ZERO_LOW = table.AI_ZERO
_DECAYING, _RIGHT, _LEFT, _SINE, _COSINE = table.AI_DECAYING, table.AI_RIGHT, table.AI_LEFT, table.AI_SINE, table.AI_COSINE


def _airy(x: float) -> float:
    if x > 2.0:
        if x == math.inf:
            return math.nan  # as torch has it
        zeta = _zeta(x)
        return exp(-zeta) * (polynomial(_DECAYING, 2.0 * _AT_2 / zeta - 1.0) / sqrt(sqrt(x)))
    if x > 0.0:
        return polynomial(_RIGHT, x - 1.0)
    if x > -4.0:
        return (x - _ZERO - _ZERO_LOW) * polynomial(_LEFT, x * 0.5 + 1.0)
    zeta = _zeta(-x)
    ratio = _AT_4 / zeta
    w = 2.0 * (ratio * ratio) - 1.0
    sine, cosine = sin(zeta), cos(zeta)  # of zeta + pi / 4, times sqrt(2), are their sum and difference
    wave = (sine + cosine) * polynomial(_SINE, w) - (cosine - sine) * polynomial(_COSINE, w) / zeta
    return wave * math.sqrt(0.5 / math.pi) / sqrt(sqrt(-x))


def _sinc(by: _Functions = _DOUBLE) -> Scalar:
    sin = by.sin

    def function(x: float) -> float:  # numbers without branches, or there would be no vectors
        value = sin(x) / (x if x != 0.0 else 1.0)
        return 0.0 if abs(x) == math.inf else value if x != 0.0 else 1.0

    return function


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
    numpy = _kernel(_of_i(0, False), "even", _of_i(0, False, _SINGLE))
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
    numpy = _kernel(_of_i(1, False), "odd", _of_i(1, False, _SINGLE))
    mindspore = "ops.BesselI1"
    def vjp(F, grad, input, result):  # which is finite at 0, and so are its derivatives
        no_half("i1_backward", input)
        with ignoring():  # infinity less infinity
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
    numpy = _kernel(_of_i(0, True), "even", _of_i(0, True, _SINGLE))
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
    numpy = _kernel(_of_i(1, True), "odd", _of_i(1, True, _SINGLE))
    mindspore = "ops.BesselI1e"
    def vjp(F, grad, input, result):
        no_half("i1e_backward", input)
        with ignoring():
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
    numpy = _waves(_of_first_kind, _first_kind_split, 0, symmetry="even")
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
    numpy = _waves(_of_first_kind, _first_kind_split, 1, symmetry="odd")
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
    numpy = _waves(_of_second_kind, _second_kind_split, 0, least=_LEAST)
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
    numpy = _waves(_of_second_kind, _second_kind_split, 1, least=_LEAST)
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
    numpy = _kernel(_of_i(0, False), "even", _of_i(0, False, _SINGLE))
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
    numpy = _kernel(_of_i(1, False), "odd", _of_i(1, False, _SINGLE))
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
    numpy = _kernel(_of_k(0, False))
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
    numpy = _kernel(_of_k(1, False))
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
    numpy = _kernel(_of_k(0, True))
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
    numpy = _kernel(_of_k(1, True))
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
    numpy = _waves(_sinc, lambda by: Split(_sinc(by), ()))
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
    numpy = _kernel(_airy)
    compose = on_host(numpy)
    samples = _domain(-6, 4)
