"""Orthogonal polynomials, without gradients, as torch has them: Chebyshev's of four kinds, also shifted, Hermite's, Laguerre's, Legendre's.

The degree is a number like the argument: its fraction is cut off, and polynomials of negative degree, or of a degree that no integer is,
are zero. All come of their recurrence in the dtype of the arguments (Abramowitz and Stegun 22.7), which leaves a dtype's range for NaN, as
in torch; Chebyshev's, of some degree, of cosines within [-1, 1] (22.3.15).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...annotations import Arguments
from ...functions.overloads import EITHER_NUMBER
from ...record import Sample, op
from .._host import on_host

Step = Callable[[int, np.ndarray, np.ndarray, np.ndarray], Any]
_OF_COSINES = 7
_OVERLOADS = tuple([s.replace("input", "x").replace("self", "x").replace("other", "n") for s in EITHER_NUMBER])


def _degrees(n: np.ndarray) -> np.ndarray:
    """Degrees as integers, -1 where there is none."""
    return np.where((n > -1) & (n < 2.0 ** 63), n, -1).astype(np.int64)


def _recurrence(x: np.ndarray, degrees: np.ndarray, first: Callable[[np.ndarray], Any], step: Step) -> np.ndarray:
    """The polynomial of each degree at each number: 1, `first(x)`, and `step(k, x, q, p)` of degree k + 1 from those before it."""
    result = np.where(degrees == 0, x.dtype.type(1), np.where(degrees > 0, first(x), x.dtype.type(0)))
    live = np.flatnonzero(degrees > 1)
    x, degrees, q = x[live], degrees[live], result[live]
    p, k = np.ones_like(q), 1
    while live.size:
        p, q, k = q, step(k, x, q, p), k + 1
        ends = (degrees == k) | np.isnan(q)
        if ends.any():
            result[live[ends]] = q[ends]
            x, degrees, p, q, live = (a[~ends] for a in (x, degrees, p, q, live))
    return result


def _kernel(first: Callable[[np.ndarray], Any], step: Step, cosines: Callable[[np.ndarray, np.ndarray], Any] | None = None,
            ends: Callable[[np.ndarray], tuple[Any, Any]] | None = None, shifted: bool = False) -> Callable[[Any, Any], np.ndarray]:
    """The kernel of the polynomials of a recurrence; with `cosines(angle, degree)` those of some degree at cos(angle), and with `ends` at
    1 and -1 for even degrees; `shifted` ones are the others at 2 x - 1."""

    def kernel(x: Any, n: Any) -> np.ndarray:
        dtype = np.result_type(x, n)
        arguments, numbers = np.broadcast_arrays(np.asarray(x, dtype), np.asarray(n, dtype))
        flat, degrees = arguments.reshape(-1), _degrees(numbers.reshape(-1))
        with np.errstate(all="ignore"):
            flat = flat * 2 - 1 if shifted else flat
            inside = (np.abs(flat) <= 1) & (degrees >= _OF_COSINES)
            if cosines is None or ends is None or not inside.any():
                return _recurrence(flat, degrees, first, step).reshape(arguments.shape)
            result = np.empty_like(flat)
            result[~inside] = _recurrence(flat[~inside], degrees[~inside], first, step)
            y, n_ = flat[inside].astype(np.float64), degrees[inside]
            right, left = ends(n_)
            result[inside] = np.where(y == 1, right, np.where(y == -1, np.where(n_ % 2, -left, left), cosines(np.arccos(y), n_)))
            return result.reshape(arguments.shape)

    return kernel


_KINDS: dict[str, Arguments] = {
    "t": (lambda x: x, lambda t, n: np.cos(n * t), lambda n: (np.ones_like(n), np.ones_like(n))),
    "u": (lambda x: 2 * x, lambda t, n: np.sin((n + 1) * t) / np.sin(t), lambda n: (n + 1, n + 1)),
    "v": (lambda x: 2 * x - 1, lambda t, n: np.cos((n + 0.5) * t) / np.cos(t / 2), lambda n: (np.ones_like(n), 2 * n + 1)),
    "w": (lambda x: 2 * x + 1, lambda t, n: np.sin((n + 0.5) * t) / np.sin(t / 2), lambda n: (2 * n + 1, np.ones_like(n))),
}


def _chebyshevs(kind: str, shifted: bool = False) -> Callable[[Any, Any], np.ndarray]:
    first, cosines, ends = _KINDS[kind]
    return _kernel(first, lambda k, x, q, p: 2 * x * q - p, cosines, ends, shifted)


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
    numpy = _kernel(lambda x: 2 * x, lambda k, x, q, p: 2 * x * q - 2 * k * p)
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
    numpy = _kernel(lambda x: x, lambda k, x, q, p: x * q - k * p)
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
    numpy = _kernel(lambda x: 1 - x, lambda k, x, q, p: ((2 * k + 1 - x) * q - k * p) / (k + 1))
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
    numpy = _kernel(lambda x: x, lambda k, x, q, p: ((2 * k + 1) * x * q - k * p) / (k + 1))
    compose = on_host(numpy)
    samples = _samples
