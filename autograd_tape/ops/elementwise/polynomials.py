"""Orthogonal polynomials, without gradients, as torch has them: Chebyshev's of four kinds, also shifted, Hermite's, Laguerre's, Legendre's.

The degree is a number like the argument: its fraction is cut off, and polynomials of negative degree, or of a degree that no integer is,
are zero. All come of their recurrence in the dtype of the arguments (Abramowitz and Stegun 22.7), which leaves a dtype's range for NaN, as
in torch; Chebyshev's, from a degree on that is torch's, of cosines within [-1, 1] (22.3.15). Their formulas are of one argument and one
degree (`executors/kernels/formulas.py`), in which a number is made by `like`, lest float32 be widened.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...executors.kernels.formulas import Scalar, Split, acos, binary, cos, like, sin, trunc, wide
from ...functions.overloads import EITHER_NUMBER
from ...record import Sample, op
from .._host import on_host
from . import _single as single

_OVERLOADS = tuple([s.replace("input", "x").replace("self", "x").replace("other", "n") for s in EITHER_NUMBER])


_MOST = 9
"""Degrees up to which polynomials are found side by side, all of them going on to the highest."""
_ALL = 2.0 ** 63
"""What degrees are below, as integers are."""
_OF_SINGLE = 1e7
"""Degrees up to which cosines of single precision are of numbers that these take."""


class _Chebyshev(NamedTuple):
    """A kind of Chebyshev's polynomials: the first, that of cosines by the functions sin, cos and acos, from which degree on torch takes
    it, of shifted ones from another, and by how much it grows with the degree at 1, and at -1 but for the sign."""

    first: Scalar
    of_cosines: Callable[[Scalar, Scalar, Scalar], Scalar]
    degree: float
    shifted_degree: float
    at_one: float
    at_minus_one: float


def _kernel(first: Scalar, step: Scalar, kind: _Chebyshev | None = None, shifted: bool = False) -> Callable[..., np.ndarray]:
    """The kernel of the polynomials of a recurrence: 1, `first(x)`, and `step(k, x, q, p)` of degree k + 1 from those before it; those of
    high degree within [-1, 1] of cosines, where there is a `kind`. `shifted` ones are the others at 2 x - 1."""

    def argument(x: float) -> float:
        return x + x - like(x, 1.0) if shifted else x

    def low(x: float, n: float) -> float:
        y, n = argument(x), trunc(n)
        p, q, k = like(y, 1.0), first(y), like(y, 1.0)
        found = p if n < k else q
        for _ in range(_MOST - 1):
            p, q, k = q, step(k, y, q, p), k + like(y, 1.0)
            found = q if n >= k else found
        return found if n >= like(n, 0.0) and n < like(n, _ALL) else like(y, 0.0)

    def high(x: float, n: float) -> float:
        y, n = argument(x), trunc(n)
        p, q, k = like(y, 1.0), first(y), like(y, 1.0)
        while k < n and q == q:
            p, q, k = q, step(k, y, q, p), k + like(y, 1.0)
        return q

    def is_high(x: float, n: float) -> bool:
        return n >= like(n, _MOST + 1.0) and n < like(n, _ALL)

    if kind is None:
        return binary(Split(low, ((is_high, high),)), 2, own=True)
    least, at_one, at_minus_one = kind.shifted_degree if shifted else kind.degree, kind.at_one, kind.at_minus_one
    cosines, cosines_of_single = kind.of_cosines(sin, cos, acos), kind.of_cosines(single.sin, single.cos, single.acos)

    def is_at_end(x: float, n: float) -> bool:
        return abs(argument(x)) == like(x, 1.0) and n >= like(n, least) and n < like(n, _ALL)

    def end(x: float, n: float) -> float:
        n = wide(trunc(n))
        if argument(x) > like(x, 0.0):
            return at_one * n + 1.0
        return at_minus_one * n + 1.0 if n % 2.0 == 0.0 else -(at_minus_one * n + 1.0)

    def is_within(x: float, n: float) -> bool:
        return abs(argument(x)) < like(x, 1.0) and n >= like(n, least) and n < like(n, _ALL)

    def within(x: float, n: float) -> float:
        return cosines(wide(argument(x)), wide(trunc(n)))

    def is_single(x: float, n: float) -> bool:
        return abs(argument(x)) < like(x, 1.0) and n >= like(n, least) and n < like(n, _OF_SINGLE)

    def of_single(x: float, n: float) -> float:
        return cosines_of_single(wide(argument(x)), wide(trunc(n)))

    beyond = ((is_within, within), (is_at_end, end), (is_high, high))
    return binary(Split(low, beyond), 2, own=True, single=Split(low, ((is_single, of_single), *beyond)))


def _twice_less(k: float, x: float, q: float, p: float) -> float:
    return (x + x) * q - p


def _t(sin: Scalar, cos: Scalar, acos: Scalar) -> Scalar:
    return lambda y, n: cos(n * acos(y))


def _u(sin: Scalar, cos: Scalar, acos: Scalar) -> Scalar:
    def function(y: float, n: float) -> float:
        t = acos(y)
        return sin((n + 1.0) * t) / sin(t)

    return function


def _v(sin: Scalar, cos: Scalar, acos: Scalar) -> Scalar:
    def function(y: float, n: float) -> float:
        t = acos(y)
        return cos((n + 0.5) * t) / cos(t / 2.0)

    return function


def _w(sin: Scalar, cos: Scalar, acos: Scalar) -> Scalar:
    def function(y: float, n: float) -> float:
        t = acos(y)
        return sin((n + 0.5) * t) / sin(t / 2.0)

    return function


def _twice(x: float) -> float:
    return x + x


def _twice_and_less(x: float) -> float:
    return x + x - like(x, 1.0)


def _twice_and_more(x: float) -> float:
    return x + x + like(x, 1.0)


def _itself(x: float) -> float:
    return x


def _one_less(x: float) -> float:
    return like(x, 1.0) - x


_KINDS = {
    "t": _Chebyshev(_itself, _t, 7.0, 7.0, 0.0, 0.0), "u": _Chebyshev(_twice, _u, 9.0, 7.0, 1.0, 1.0),
    "v": _Chebyshev(_twice_and_less, _v, 9.0, 7.0, 0.0, 2.0), "w": _Chebyshev(_twice_and_more, _w, 9.0, 5.0, 2.0, 0.0)}


def _chebyshevs(name: str, shifted: bool = False) -> Callable[..., np.ndarray]:
    return _kernel(_KINDS[name].first, _twice_less, _KINDS[name], shifted)


def _hermite(k: float, x: float, q: float, p: float) -> float:
    return (x + x) * q - (k + k) * p


def _hermite_of_probability(k: float, x: float, q: float, p: float) -> float:
    return x * q - k * p


def _laguerre(k: float, x: float, q: float, p: float) -> float:
    return ((k + k + like(k, 1.0) - x) * q - k * p) / (k + like(k, 1.0))


def _legendre(k: float, x: float, q: float, p: float) -> float:
    return ((k + k + like(k, 1.0)) * x * q - k * p) / (k + like(k, 1.0))


def _samples(rng: Any) -> Iterator[Sample]:
    for args in ((rng.uniform(-1.5, 1.5, (2, 3)), np.array([[0, 1, 2], [3, 5, 9]])), (rng.uniform(0, 1, (2, 3)), 4),
                 (rng.uniform(-1, 1, (2, 1)), np.array([-1.0, 2.0, 8.5, math.nan]))):
        yield Sample(args, no_gradient="torch has none")


@op("chebyshev_polynomial_t(Operand x, Operand n) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True,
    method=False, namespace="special", differentiable=False, dtypes="float int", complex="chebyshev_polynomial_t_cpu")
class chebyshev_polynomial_t:
    """Chebyshev's polynomial of the first kind: cos(n t) at cos(t).

    >>> torch.special.chebyshev_polynomial_t(torch.tensor([0.25, 2.]), 3)
    tensor([-0.6875, 26.0000])
    """

    overloads = _OVERLOADS
    lacks = {"half float8": "chebyshev_polynomial_t_cpu"}
    numpy = _chebyshevs("t")
    compose = on_host(numpy)
    samples = _samples


@op("chebyshev_polynomial_u(Operand x, Operand n) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True,
    method=False, namespace="special", differentiable=False, dtypes="float int", complex="chebyshev_polynomial_u_cpu")
class chebyshev_polynomial_u:
    """Chebyshev's polynomial of the second kind: sin((n + 1) t) / sin(t) at cos(t).

    >>> torch.special.chebyshev_polynomial_u(torch.tensor([0.25, 2.]), 3)
    tensor([-0.8750, 56.0000])
    """

    overloads = _OVERLOADS
    lacks = {"half float8": "chebyshev_polynomial_u_cpu"}
    numpy = _chebyshevs("u")
    compose = on_host(numpy)
    samples = _samples


@op("chebyshev_polynomial_v(Operand x, Operand n) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True,
    method=False, namespace="special", differentiable=False, dtypes="float int", complex="chebyshev_polynomial_v_cpu")
class chebyshev_polynomial_v:
    """Chebyshev's polynomial of the third kind: cos((n + 1/2) t) / cos(t / 2) at cos(t).

    >>> torch.special.chebyshev_polynomial_v(torch.tensor([0.25, 2.]), 3)
    tensor([-0.1250, 41.0000])
    """

    overloads = _OVERLOADS
    lacks = {"half float8": "chebyshev_polynomial_v_cpu"}
    numpy = _chebyshevs("v")
    compose = on_host(numpy)
    samples = _samples


@op("chebyshev_polynomial_w(Operand x, Operand n) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True,
    method=False, namespace="special", differentiable=False, dtypes="float int", complex="chebyshev_polynomial_w_cpu")
class chebyshev_polynomial_w:
    """Chebyshev's polynomial of the fourth kind: sin((n + 1/2) t) / sin(t / 2) at cos(t).

    >>> torch.special.chebyshev_polynomial_w(torch.tensor([0.25, 2.]), 3)
    tensor([-1.6250, 71.0000])
    """

    overloads = _OVERLOADS
    lacks = {"half float8": "chebyshev_polynomial_w_cpu"}
    numpy = _chebyshevs("w")
    compose = on_host(numpy)
    samples = _samples


@op("shifted_chebyshev_polynomial_t(Operand x, Operand n) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True,
    method=False, namespace="special", differentiable=False, dtypes="float int", complex="shifted_chebyshev_polynomial_t_cpu")
class shifted_chebyshev_polynomial_t:
    """Chebyshev's polynomial of the first kind at 2 x - 1, for [0, 1].

    >>> torch.special.shifted_chebyshev_polynomial_t(torch.tensor([0.25, 2.]), 3)
    tensor([ 1., 99.])
    """

    overloads = _OVERLOADS
    lacks = {"half float8": "shifted_chebyshev_polynomial_t_cpu"}
    numpy = _chebyshevs("t", True)
    compose = on_host(numpy)
    samples = _samples


@op("shifted_chebyshev_polynomial_u(Operand x, Operand n) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True,
    method=False, namespace="special", differentiable=False, dtypes="float int", complex="shifted_chebyshev_polynomial_u_cpu")
class shifted_chebyshev_polynomial_u:
    """Chebyshev's polynomial of the second kind at 2 x - 1, for [0, 1].

    >>> torch.special.shifted_chebyshev_polynomial_u(torch.tensor([0.25, 2.]), 3)
    tensor([  1., 204.])
    """

    overloads = _OVERLOADS
    lacks = {"half float8": "shifted_chebyshev_polynomial_u_cpu"}
    numpy = _chebyshevs("u", True)
    compose = on_host(numpy)
    samples = _samples


@op("shifted_chebyshev_polynomial_v(Operand x, Operand n) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True,
    method=False, namespace="special", differentiable=False, dtypes="float int", complex="shifted_chebyshev_polynomial_v_cpu")
class shifted_chebyshev_polynomial_v:
    """Chebyshev's polynomial of the third kind at 2 x - 1, for [0, 1].

    >>> torch.special.shifted_chebyshev_polynomial_v(torch.tensor([0.25, 2.]), 3)
    tensor([  1., 169.])
    """

    overloads = _OVERLOADS
    lacks = {"half float8": "shifted_chebyshev_polynomial_v_cpu"}
    numpy = _chebyshevs("v", True)
    compose = on_host(numpy)
    samples = _samples


@op("shifted_chebyshev_polynomial_w(Operand x, Operand n) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True,
    method=False, namespace="special", differentiable=False, dtypes="float int", complex="shifted_chebyshev_polynomial_w_cpu")
class shifted_chebyshev_polynomial_w:
    """Chebyshev's polynomial of the fourth kind at 2 x - 1, for [0, 1].

    >>> torch.special.shifted_chebyshev_polynomial_w(torch.tensor([0.25, 2.]), 3)
    tensor([  1., 239.])
    """

    overloads = _OVERLOADS
    lacks = {"half float8": "shifted_chebyshev_polynomial_w_cpu"}
    numpy = _chebyshevs("w", True)
    compose = on_host(numpy)
    samples = _samples


@op("hermite_polynomial_h(Operand x, Operand n) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True,
    method=False, namespace="special", differentiable=False, dtypes="float int", complex="hermite_polynomial_h_cpu")
class hermite_polynomial_h:
    """Hermite's polynomial of the physicists, whose weight is exp(-x^2).

    >>> torch.special.hermite_polynomial_h(torch.tensor([0.25, 2.]), 3)
    tensor([-2.8750, 40.0000])
    """

    overloads = _OVERLOADS
    lacks = {"half float8": "hermite_polynomial_h_cpu"}
    numpy = _kernel(_twice, _hermite)
    compose = on_host(numpy)
    samples = _samples


@op("hermite_polynomial_he(Operand x, Operand n) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True,
    method=False, namespace="special", differentiable=False, dtypes="float int", complex="hermite_polynomial_he_cpu")
class hermite_polynomial_he:
    """Hermite's polynomial of the probabilists, whose weight is exp(-x^2 / 2).

    >>> torch.special.hermite_polynomial_he(torch.tensor([0.25, 2.]), 3)
    tensor([-0.7344,  2.0000])
    """

    overloads = _OVERLOADS
    lacks = {"half float8": "hermite_polynomial_he_cpu"}
    numpy = _kernel(_itself, _hermite_of_probability)
    compose = on_host(numpy)
    samples = _samples


@op("laguerre_polynomial_l(Operand x, Operand n) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True,
    method=False, namespace="special", differentiable=False, dtypes="float int", complex="laguerre_polynomial_l_cpu")
class laguerre_polynomial_l:
    """Laguerre's polynomial, whose weight is exp(-x) from 0 on.

    >>> torch.special.laguerre_polynomial_l(torch.tensor([0.25, 2.]), 3)
    tensor([ 0.3411, -0.3333])
    """

    overloads = _OVERLOADS
    lacks = {"half float8": "laguerre_polynomial_l_cpu"}
    numpy = _kernel(_one_less, _laguerre)
    compose = on_host(numpy)
    samples = _samples


@op("legendre_polynomial_p(Operand x, Operand n) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True,
    method=False, namespace="special", differentiable=False, dtypes="float int", complex="legendre_polynomial_p_cpu")
class legendre_polynomial_p:
    """Legendre's polynomial, whose weight is 1 from -1 to 1.

    >>> torch.special.legendre_polynomial_p(torch.tensor([0.25, 2.]), 3)
    tensor([-0.3359, 17.0000])
    """

    overloads = _OVERLOADS
    lacks = {"half float8": "legendre_polynomial_p_cpu"}
    numpy = _kernel(_itself, _legendre)
    compose = on_host(numpy)
    samples = _samples
