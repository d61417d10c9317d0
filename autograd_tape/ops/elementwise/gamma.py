"""The gamma family: lgamma, its derivatives, and the regularized incomplete gamma functions, as formulas of one number or two
(`executors/kernels/formulas.py`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...dtypes import BOOL, COMPLEX, FLOATING
from ...errors import AutogradError
from ...executors.kernels.halves import narrow, widened
from ...executors.kernels.formulas import (
    Scalar, Split, binary, copysign, erfc, exp, expm1, floor, going, log, log1p, polynomial, power, rint, settled, sin, sqrt, tan, unary)
from ...functions.overloads import EITHER_NUMBER
from ...functions.refusals import no_kernel
from ...modes import current_engine
from ...record import RECORDS, op
from .. import _mindspore as kernels
from .._host import on_host
from .._samples import category, domain
from . import _double as double, _single as single
from ...annotations import Fn, Functions, Values
from ...tensor import TensorRef
from ...warned import ignoring

# B_2k / (2k (2k - 1)) of Stirling's series, and B_2k / 2k of its derivative (Abramowitz and Stegun 6.1.41, 6.3.18).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
_PSI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _zeta_minus_one(n: int) -> float:
    """zeta(n) - 1 by direct summation, and Euler and Maclaurin's formula for the tail, exact to the last place or two."""
    m = 40
    tail = [m ** (1 - n) / (n - 1), 0.5 * m ** -n]
    for k, b in enumerate(_BERNOULLI[:4], 1):  # B_2k / (2k)! times the derivatives of order 2k - 1
        tail.append(b / math.factorial(2 * k) * math.prod(range(n, n + 2 * k - 1)) * m ** -(n + 2 * k - 1.0))
    return math.fsum([*[k ** -n for k in range(2, m)], *tail])


_ZETA = tuple(_zeta_minus_one(n) for n in range(2, 40))
_EULER = 0.57721566490153286


def _series_of_lgamma(centre: int) -> tuple[float, ...]:
    """Of lgamma(centre + t) + (2 - centre) log1p(t), from the highest power down: t (1 - euler) + sum (-1)^k (zeta(k) - 1) t^k / k."""
    return (*[(-1) ** k * _ZETA[k - 2] / k for k in range(len(_ZETA) + 1, 1, -1)], 1 - _EULER, 0.0)


_NEAR = _series_of_lgamma(2)
_STIRLING_DOWN, _PSI_DOWN = tuple(reversed(_STIRLING)), tuple(reversed(_PSI))
_LOG_PI, _HALF_LOG_2PI = math.log(math.pi), 0.5 * math.log(2 * math.pi)


def _lgamma_from_half(y: float) -> float:
    """Stirling's series from 10 up, the recurrence below. Near the zeros at 1 and 2 the terms cancel, those of a series there do not."""
    if abs(y - 1.0) < 0.2:
        return polynomial(_NEAR, y - 1.0) - log1p(y - 1.0)
    if abs(y - 2.0) < 0.2:
        return polynomial(_NEAR, y - 2.0)
    if y < 10.0:
        product, z = y, y + 1.0
        while going(z < 10.0):
            product, z = product * z, z + 1.0
        return (z - 0.5) * log(z) - z + _HALF_LOG_2PI + polynomial(_STIRLING_DOWN, 1.0 / (z * z)) / z - log(product)
    if y == math.inf:
        return math.inf
    return (y - 0.5) * log(y) - y + _HALF_LOG_2PI + polynomial(_STIRLING_DOWN, 1.0 / (y * y)) / y


def _lgamma_of(x: float) -> float:
    """log |gamma|, with reflection below 1/2; infinite at the poles, and so for all large negative numbers."""
    if x >= 0.5 or x != x:
        return _lgamma_from_half(x)
    if x == -math.inf or x == floor(x):
        return math.inf
    return _LOG_PI - log(abs(sin(math.pi * (x - rint(x))))) - _lgamma_from_half(1.0 - x)


def _digamma_from_half(y: float) -> float:
    """The recurrence up to 10, the asymptotic series from there."""
    offset, z = 0.0, y
    while going(z < 10.0):
        offset, z = offset - 1.0 / z, z + 1.0
    square = 1.0 / (z * z)
    return log(z) - 0.5 / z - polynomial(_PSI_DOWN, square) * square + offset


def _digamma_of(x: float) -> float:
    if x == math.inf:
        return math.inf
    if x >= 0.5 or x != x:
        return _digamma_from_half(x)
    if x == 0.0:
        return copysign(math.inf, -x)
    if x == -math.inf or x == floor(x):
        return math.nan
    return _digamma_from_half(1.0 - x) - math.pi / tan(math.pi * (x - rint(x)))


_lgamma, _digamma = unary(_lgamma_of, single=single.lgamma, fused=True), unary(_digamma_of, single=single.digamma, fused=True)


def _hurwitz(s: float, q: float) -> float:
    """Hurwitz zeta(s, q) for q > 0 and s > 1 by Euler and Maclaurin's formula."""
    total, z = power(q, -s), q + 1.0
    for _ in range(9):
        total, z = total + power(z, -s), z + 1.0
    last = power(z, -s)
    total = total + last * z / (s - 1.0) + 0.5 * last
    factor, term, square = s / 2.0, last / z, z * z
    total = total + _BERNOULLI[0] * factor * term
    for k in range(2, 8):
        factor = factor * (s + (2.0 * k - 3.0)) * (s + (2.0 * k - 2.0)) / (2.0 * k * (2.0 * k - 1.0))
        term = term / square
        total = total + _BERNOULLI[k - 1] * factor * term
    return total


_NEAR_0 = 16.0  # how far below zero terms are added up one by one


def _zeta_of(s: float, q: float) -> float:
    """Hurwitz' zeta function. Far below zero, the sum over all integers depends on the fraction f of `other` alone, so that, where it is
    real for integers s, zeta(s, q) = zeta(s, f) + (-1)**s (zeta(s, 1 - f) - zeta(s, 1 - q))."""
    if s == 1.0:
        return math.inf
    if s < 1.0:
        return math.nan
    low = floor(q)
    if q <= 0.0 and q == low:
        return math.inf
    if q < 0.0 and s != floor(s) or abs(q) == math.inf:
        return math.nan  # as torch has it, though its limit is 0
    if q > 0.0 or q != q or s != s:
        return power(q, -s) if s == math.inf else _hurwitz(s, q)
    if q > -_NEAR_0 and s < math.inf:
        total = 0.0
        while q < 0.0:
            total, q = total + power(q, -s), q + 1.0
        return total + _hurwitz(s, q)
    f = q - low
    if s == math.inf:
        return power(f, -s)
    mirrored = _hurwitz(s, 1.0 - f) - _hurwitz(s, 1.0 - q)
    return _hurwitz(s, f) + (mirrored if s % 2.0 == 0.0 else -mirrored)


def _not_near(s: float, q: float) -> bool:
    return not (s > 1.0 and s <= 300.0 and q > 0.0 and q < 1e30)


_zeta = binary(_zeta_of, 8, single=Split(single.hurwitz, ((_not_near, _zeta_of),)), fused=True)


def _trigamma_from_half(y: float) -> float:
    """The recurrence up to 10, the asymptotic series from there (Abramowitz and Stegun 6.4.12)."""
    total, z = 0.0, y
    while going(z < 10.0):
        total, z = total + 1.0 / (z * z), z + 1.0
    square = 1.0 / (z * z)
    return total + (1.0 + 0.5 / z + polynomial(_TRIGAMMA, square) * square) / z


_TRIGAMMA = (*reversed(_BERNOULLI),)


def _trigamma_of(x: float) -> float:
    if x >= 0.5 or x != x:
        return 0.0 if x == math.inf else _trigamma_from_half(x)
    sine = sin(math.pi * (x - rint(x)))
    return math.pi * math.pi / (sine * sine) - _trigamma_from_half(1.0 - x)


def _polygamma_of(x: float, n: float) -> float:
    """The n-th derivative of digamma for n > 1: (-1)**(n + 1) n! zeta(n + 1, x), from 1/2 up."""
    factorial, k = 1.0, 1.0
    while k <= n:
        factorial, k = factorial * k, k + 1.0
    if n % 2.0 == 0.0:
        factorial = -factorial
    return factorial * _hurwitz(n + 1.0, x)


_trigamma, _polygamma_right = unary(_trigamma_of, single=single.trigamma, fused=True), binary(_polygamma_of, 8)


def _cotangent_derivative(n: int, x: np.ndarray) -> np.ndarray:
    """The n-th derivative of pi cot(pi x), as a polynomial in the cotangent: d/dx c = -pi (1 + c^2)."""
    c = 1 / np.tan(np.pi * (x - np.rint(x)))
    derivative = np.polynomial.Polynomial([0, 1])
    for _ in range(n):
        derivative = derivative.deriv() * np.polynomial.Polynomial([-1, 0, -1])
    return np.pi ** (n + 1) * derivative(c)


def _polygamma_half(n: int, input: np.ndarray) -> np.ndarray:
    """Of half precision torch rounds the sum before it multiplies it by n!."""
    factor = math.factorial(n)
    if n < 2:
        return _polygamma(n, input.astype(np.float32)).astype(input.dtype)
    sums = (_polygamma(n, input.astype(np.float32)) / factor).astype(input.dtype)
    return (sums.astype(np.float32) * float(input.dtype.type(factor))).astype(input.dtype)


def _polygamma(n: int, input: np.ndarray) -> np.ndarray:
    if n <= 0:
        if n < 0:  # which `check` has a text for
            raise ValueError(n)
        return _digamma(input)
    with ignoring():
        if n == 1:
            result = _trigamma(input)
            if not np.maximum.reduce(result, None, initial=0.0) < np.inf:
                # Below 0 torch reflects with the sine of a multiple of a rounded pi, which is not quite 0.
                pole = (input < 0) & (input == np.rint(input))
                if np.logical_or.reduce(pole, None):
                    height = np.square(np.pi / double.sines((input.dtype.type(np.pi) * input).astype(np.float64)))
                    result = np.where(pole, height, result).astype(input.dtype)
            return result
        pole = (input <= 0) & (input == np.rint(input))
        flip = input < 0.5
        if not flip.any():
            return _polygamma_right(input, input.dtype.type(n))
        x = input.astype(np.float64)
        result = _polygamma_right(np.where(flip, 1 - x, x), np.float64(n))
        result = np.where(flip, (-1) ** n * result - _cotangent_derivative(n, x), result)
        return np.where(pole, (-1) ** (n + 1) * np.inf, result).astype(input.dtype)


@op("lgamma(Tensor input) -> Tensor", family="unary", promotion="float", result="same", inplace=True, alias="special.gammaln",
    dtypes="float int half", complex="lgamma_vml_cpu")
class lgamma:
    """The logarithm of the absolute value of the gamma function.

    >>> torch.lgamma(torch.tensor([1., 4.]))
    tensor([0.0000, 1.7918])
    """

    lacks = {"float8": "lgamma_vml_cpu"}
    scipy = "gammaln"
    numpy = _lgamma
    mindspore = "ops.Lgamma"
    def vjp(F, grad, input): return grad * F.digamma(input)
    samples = domain(0.5, 4)


@op("digamma(Tensor input) -> Tensor", family="unary", promotion="float", result="same",
    inplace=True, alias=("special.digamma", "special.psi"),
    dtypes="float int half", complex="digamma")
class digamma:
    """The derivative of lgamma.

    >>> torch.digamma(torch.tensor([1., 0.5]))
    tensor([-0.5772, -1.9635])
    """

    lacks = {"float8": "digamma"}
    scipy = "psi"
    numpy = _digamma
    mindspore = kernels.in_single("Digamma")
    compose = on_host(_digamma)
    def vjp(F, grad, input): return grad * F.polygamma(1, input)
    samples = domain(0.5, 4)


@op("polygamma(int n, Tensor input) -> Tensor", family="unary", promotion="float", result="same", alias="special.polygamma",
    inplace=True, dtypes="float int")
class polygamma:
    """The n-th derivative of digamma.

    >>> torch.polygamma(1, torch.tensor([1., 0.5]))
    tensor([1.6449, 4.9348])
    """

    def complex_kernel(n, **_): return {0: "digamma", 1: "trigamma"}.get(n, "polygamma")
    lacks = {"float8": complex_kernel}
    saved_as = {"input": None}
    layout = "input"
    numpy = _polygamma
    half = _polygamma_half
    def mindspore(ms, n, input): return ms.ops.polygamma(ms.Tensor(n, ms.int32), input)
    def shape(n, input): return input
    def method(F, input, n): return F.polygamma(n, input)
    def function_(F, input, n):
        result = F.polygamma(n, F.clone(input))
        F.check_store(RECORDS["polygamma"], input, result._data, result._k)
        return F.copy_(input, result)

    def check(n, input):
        if n < 0:
            raise AutogradError("polygamma(n, x) does not support negative n.")

    def vjp(F, grad, n, input): return grad * F.polygamma(n + 1, input)

    def samples(rng):
        yield 1, rng.uniform(0.5, 4, (2, 3))
        yield 2, rng.uniform(0.5, 4, 3)

    def errors(rng):
        yield (-1, np.ones(2)), RuntimeError, "polygamma(n, x) does not support negative n."


def _mvlgamma_constant(p: int) -> float:
    return p * (p - 1) * math.log(math.pi) / 4


def _no_gradient(name: str) -> Fn:
    def vjp(F: Functions, grad: np.ndarray) -> object:
        engine = current_engine()
        edge = None if engine is None or engine.entry is None else engine.entry.edges[0]
        if engine is not None and edge is not None and not engine.needs(edge):
            return None
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return vjp


@op("zeta(Operand input, Operand other) -> Tensor", family="binary", promotion="float", result="same", broadcasts=True, method=False,
    namespace="special", dtypes="float int", complex="zeta_cpu", node="SpecialZetaBackward0")
class zeta:
    """Hurwitz' zeta function, the sum of (k + other)**-input over k >= 0 (Apostol, "Introduction to Analytic Number Theory", 12).

    >>> torch.special.zeta(torch.tensor([2., 4.]), 1)
    tensor([1.6449, 1.0823])
    """

    numbers = {"input": "SpecialZetaBackward1", "other": "SpecialZetaBackward2"}
    overloads = EITHER_NUMBER
    lacks = {"half float8": "zeta_cpu"}
    numpy = _zeta
    compose = on_host(_zeta)
    no_forward = "special_zeta"
    vjp_input = _no_gradient("zeta")
    def vjp_other(F, grad, input, other): return grad * -input * F.zeta(input + 1, other)

    def samples(rng):  # integers, which have no gradient
        yield np.array([2, 3, 4]), rng.uniform(0.5, 3, (2, 3))
        yield np.array([[2], [5]]), rng.uniform(-3, 3, 3)
        yield np.array([2, 3]), 1.5


@op("mvlgamma(Tensor input, int p) -> Tensor", family="unary", promotion="float", result="same", alias="special.multigammaln", inplace=True,
    dtypes="float int half", complex="arange_cpu")
class mvlgamma:
    """The logarithm of the multivariate gamma function of dimension `p`: p (p - 1) log(pi) / 4 + the sum of lgamma(input - k / 2) for k < p
    (Abramowitz and Stegun know p = 1 alone; A. T. James, 1964).

    >>> torch.mvlgamma(torch.tensor([3., 4.]), 2)
    tensor([1.5502, 3.5651])
    """

    lacks = {"float8": "arange_cpu"}
    layout = "rows"
    def numpy(input, p): return (sum([_lgamma(input - k / 2) for k in range(p)]) + _mvlgamma_constant(p)).astype(input.dtype)
    def half(input, p):
        total = sum([widened(_lgamma(input - input.dtype.type(k / 2))) for k in range(p)])
        return narrow(total, input.dtype) + input.dtype.type(_mvlgamma_constant(p))

    def compose(F, input, p): return sum([F.lgamma(input - k / 2) for k in range(p)]) + _mvlgamma_constant(p)

    def check(input, p):
        if category(input) == BOOL:
            raise AutogradError("The input tensor may not be a boolean tensor.")
        if p < 1:
            raise AutogradError("p has to be greater than or equal to 1")

    def vjp(F, grad, input, p):
        return grad * F.sum(F.stack([F.digamma(input - k / 2) for k in range(p)], 0), [0])

    def samples(rng): yield rng.uniform(2, 4, (2, 3)), 3
    def errors(rng): yield (np.ones(2), 0), RuntimeError, "p has to be greater than or equal to 1"


_EPSILON, _TINY = 2.0 ** -53, 1e-300
_SETTLED = 1e-11  # what terms are in sums that are rounded to single precision


#: Of gamma(2 + t) for t from 0 to 1, by a quotient of polynomials (Moshier 1989, "Methods and Programs for Mathematical Functions").
_GAMMA = (1.60119522476751861407e-4, 1.19135147006586384913e-3, 1.04213797561761569935e-2, 4.76367800457137231464e-2,
          2.07448227648435975150e-1, 4.94214826801497100753e-1, 9.99999999999999996796e-1)
_GAMMA_UNDER = (-2.31581873324120129819e-5, 5.39605580493303397842e-4, -4.45641913851797240494e-3, 1.18139785222060435552e-2,
                3.58236398605498653373e-2, -2.34591795718243348568e-1, 7.14304917030273074085e-2, 1.00000000000000000320)


def _gamma_from_one(y: float) -> float:
    """From 1 up to some small number: no logarithms, of which Stirling's series takes two there."""
    if y < 2.0:
        return polynomial(_GAMMA, y - 1.0) / (polynomial(_GAMMA_UNDER, y - 1.0) * y)
    product = 1.0
    while y >= 3.0:
        y = y - 1.0
        product = product * y
    return product * polynomial(_GAMMA, y - 2.0) / polynomial(_GAMMA_UNDER, y - 2.0)


def _prefactor(a: float, x: float) -> float:
    """x**a * exp(-x) / gamma(a + 1). For large `a` as a power of x / a, whose logarithm is taken of what they differ by, with
    Stirling's series: the terms of the plain form would cancel."""
    if a > 200.0:
        u = (x - a) / a
        stirling = 1.0 / (12.0 * a) - 1.0 / (360.0 * (a * a * a))
        return exp(a * (log1p(u) - u) - stirling) / sqrt(2.0 * math.pi * a)
    if a < 10.0:
        return exp(a * log(x) - x) / _gamma_from_one(a + 1.0)
    return exp(a * log(x) - x - _lgamma_from_half(a + 1.0))


def _series(a: float, x: float, epsilon: float) -> float:
    """P(a, x) = x**a * exp(-x) / gamma(a + 1) * (1 + x / (a + 1) + x**2 / ((a + 1) (a + 2)) + ...)."""
    total, term, n = 1.0, 1.0, a
    for _ in range(100000):
        n = n + 1.0
        term = term * (x / n)
        total = total + term
        if settled(abs(term) <= abs(total) * epsilon):
            break
    return _prefactor(a, x) * total


def _not_zero(x: float) -> float:
    return _TINY if abs(x) < _TINY else x


def _fraction(a: float, x: float, epsilon: float) -> float:
    """Q(a, x) by its continued fraction, evaluated from the front (Lentz's method)."""
    b = x + 1.0 - a
    c, d = 1.0 / _TINY, 1.0 / b
    value = d
    for i in range(1, 100000):
        b = b + 2.0
        factor = i * (a - i)
        d = 1.0 / _not_zero(factor * d + b)
        c = _not_zero(b + factor / c)
        value = value * (c * d)
        if settled(abs(c * d - 1.0) <= 4.0 * epsilon):  # rounding may keep it a unit in the last place from 1 for good
            break
    return _prefactor(a, x) * a * value


_UNIFORM = 1e8
"""From where the first term of the uniform expansion is exact, and series would take thousands of terms."""
_MU_SERIES = (*[(-1.0) ** n / n for n in range(11, 1, -1)], 0.0, 0.0)


def _uniform(a: float, x: float) -> float:
    """For large `a`, P(a, x) up to a, and Q(a, x) beyond: erfc(|eta| sqrt(a / 2)) / 2 -+ exp(-a eta**2 / 2) / sqrt(2 pi a) *
    (1 / mu - 1 / eta), where mu = (x - a) / a and eta**2 / 2 = mu - log(1 + mu) (Temme 1979, "The asymptotic expansion of the incomplete
    gamma functions")."""
    mu = (x - a) / a
    half = polynomial(_MU_SERIES, mu) if abs(mu) < 0.01 else mu - log1p(mu)  # whose terms cancel near 0
    eta = copysign(sqrt(2.0 * half), mu)
    if abs(eta) < 0.01:
        first = -1.0 / 3.0 + eta / 12.0 - eta * eta * 2.0 / 135.0 + eta * eta * eta / 864.0
    else:
        first = 1.0 / mu - 1.0 / eta
    rest = exp(-a * half) / sqrt(2.0 * math.pi * a) * first
    return 0.5 * erfc(abs(eta) * sqrt(a / 2.0)) + (rest if x > a else -rest)


def _complement_near_zero(a: float, x: float, epsilon: float) -> float:
    """Q(a, x) for small x: 1 - x**a / gamma(a + 1) * (1 + a * sum (-x)**n / (n! (a + n))), with the terms near 1 left out."""
    exponent = a * log(x) - (_lgamma_from_half(a + 1.0) if a < 0.2 else log(_gamma_from_one(a + 1.0)))  # whose terms cancel near 0
    total, term = 0.0, 1.0
    for n in range(1, 60):
        term = term * (-x / n)
        total = total + term / (a + n)
        if settled(abs(term) <= abs(total) * epsilon):
            break
    less = expm1(exponent)
    return -less - (1.0 + less) * a * total


def _incomplete(upper: bool, epsilon: float) -> Scalar:
    """P(a, x), or Q(a, x) with `upper`: whichever is computed without cancellation, and the other from it, to terms of `epsilon`."""
    at_zero, at_infinity = (1.0, 0.0) if upper else (0.0, 1.0)

    def function(a: float, x: float) -> float:
        if not (a >= 0.0 and x >= 0.0):
            return math.nan
        if a == math.inf:
            return at_zero if x < math.inf else math.nan
        if x == math.inf:
            return at_infinity
        if x == 0.0:
            return at_zero if a > 0.0 else math.nan
        if a == 0.0:
            return at_infinity
        if a > _UNIFORM:
            value = _uniform(a, x)
            return value if (x > a) == upper else 1.0 - value
        if x <= 1.1 or x < a:
            if upper and x <= 1.1 and x > 0.5 * a:
                return _complement_near_zero(a, x, epsilon)
            return 1.0 - _series(a, x, epsilon) if upper else _series(a, x, epsilon)
        return _fraction(a, x, epsilon) if upper else 1.0 - _fraction(a, x, epsilon)

    return function


def _check(name: str) -> Fn:
    def check(input: TensorRef, other: TensorRef) -> None:
        highest = max(category(input), category(other))
        if highest < FLOATING or highest == COMPLEX:
            no_kernel(f"{name}_cpu", input)

    return check


def _density(F: Functions, input: Values, other: Values) -> Values:
    return F.exp((input - 1) * F.log(other) - other - F.lgamma(F.cast_like(input, other)))


def _samples(rng: object) -> Any:
    # Integers stand for a tensor without gradient, which `input` must be here.
    yield np.array([1, 2, 10]), np.array([0.3, 4.0, 9.0])
    yield np.array([[2], [5]]), np.array([0.3, 4.0, 9.0])


@op("igamma(Tensor input, Tensor other) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True, inplace=True,
    alias="special.gammainc", dtypes="float", complex="igamma_cpu")
class igamma:
    """The regularized lower incomplete gamma function P(input, other): the integral of t**(input - 1) * exp(-t) / gamma(input) from 0 to
    other (Abramowitz and Stegun, 6.5).

    >>> torch.igamma(torch.tensor([4.]), torch.tensor([3.]))
    tensor([0.3528])
    """

    lacks = {"float8": "igamma_cpu"}
    scipy = "gammainc"
    numpy = binary(_incomplete(False, _EPSILON), 8, single=_incomplete(False, _SETTLED))
    compose = on_host(numpy)
    check = _check("igamma")
    samples = _samples
    no_forward = "igamma"
    vjp_input = _no_gradient("igamma: input")
    def vjp_other(F, grad, input, other): return grad * _density(F, input, other)
    def errors(rng): yield (np.array([1]), np.array([2])), NotImplementedError, "\"igamma_cpu\" not implemented for 'Long'"


@op("igammac(Tensor input, Tensor other) -> Tensor", family="binary", promotion="promote", result="same", broadcasts=True, inplace=True,
    alias="special.gammaincc", dtypes="float", complex="igammac_cpu")
class igammac:
    """The regularized upper incomplete gamma function, 1 - igamma(input, other).

    >>> torch.igammac(torch.tensor([4.]), torch.tensor([3.]))
    tensor([0.6472])
    """

    lacks = {"float8": "igammac_cpu"}
    scipy = "gammaincc"
    numpy = binary(_incomplete(True, _EPSILON), 8, single=_incomplete(True, _SETTLED))
    compose = on_host(numpy)
    check = _check("igammac")
    samples = _samples
    no_forward = "igammac"
    vjp_input = _no_gradient("igammac: input")
    def vjp_other(F, grad, input, other): return -grad * _density(F, input, other)
    def errors(rng): yield (np.array([1]), np.array([2])), NotImplementedError, "\"igammac_cpu\" not implemented for 'Long'"
