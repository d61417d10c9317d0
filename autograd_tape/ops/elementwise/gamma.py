"""The gamma family: lgamma, its derivatives, and the regularized incomplete gamma functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...dtypes import BOOL, COMPLEX, FLOATING
from ...errors import AutogradError
from ...executors.kernels import elementwise as fused
from ...functions.overloads import EITHER_NUMBER
from ...functions.refusals import no_kernel
from ...modes import current_engine
from ...record import RECORDS, op
from .. import _mindspore as kernels
from .._host import on_host
from .._samples import category, domain
from ...annotations import Fn, Functions, Values
from ...tensor import TensorRef

# B_2k / (2k (2k - 1)) of Stirling's series, and B_2k / 2k of its derivative (Abramowitz and Stegun 6.1.41, 6.3.18).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
_PSI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_SHIFT = 10


def _lgamma(input: np.ndarray) -> np.ndarray:
    """log |gamma|: Stirling's series from 10 up, the recurrence below, reflection for negative numbers."""
    x = np.asarray(input, np.float64)
    with np.errstate(all="ignore"):
        flip = x < 0.5
        y = np.where(flip, 1 - x, x)
        product, z = np.ones_like(y), y
        for _ in range(_SHIFT):
            small = z < _SHIFT
            product = np.where(small, product * z, product)
            z = np.where(small, z + 1, z)
        series = np.polyval(_STIRLING[::-1], 1 / (z * z)) / z
        result = (z - 0.5) * np.log(z) - z + 0.5 * math.log(2 * math.pi) + series - np.log(product)
        # Near the zeros at 1 and 2 the terms cancel; the series of lgamma(1 + t) does not.
        for centre in (1, 2):
            t = y - centre
            result = np.where(np.abs(t) < 0.2, _lgamma_near(t, centre), result)
        sine = np.abs(np.sin(np.pi * (x - np.rint(x))))
        result = np.where(flip, math.log(math.pi) - np.log(sine) - result, result)
        result = np.where(np.isinf(x) | (flip & (x == np.rint(x))), np.inf, result)  # the poles, and all large negative numbers
    return result.astype(input.dtype)


def _zeta_minus_one(n: int) -> float:
    """zeta(n) - 1 by direct summation, and Euler and Maclaurin's formula for the tail, exact to the last place or two."""
    m = 40
    tail = [m ** (1 - n) / (n - 1), 0.5 * m ** -n]
    for k, b in enumerate(_BERNOULLI[:4], 1):  # B_2k / (2k)! times the derivatives of order 2k - 1
        tail.append(b / math.factorial(2 * k) * math.prod(range(n, n + 2 * k - 1)) * m ** -(n + 2 * k - 1.0))
    return math.fsum([*[k ** -n for k in range(2, m)], *tail])


_ZETA = tuple(_zeta_minus_one(n) for n in range(2, 40))
_EULER = 0.57721566490153286


def _lgamma_near(t: np.ndarray, centre: int) -> np.ndarray:
    """lgamma(centre + t) for small t: -log1p(t) + t (1 - euler) + sum (-1)^k (zeta(k) - 1) t^k / k, less -log1p(t) at 2."""
    series = np.zeros_like(t)
    for k in range(len(_ZETA) + 1, 1, -1):
        series = series * t + (-1) ** k * _ZETA[k - 2] / k
    tail = t * (1 - _EULER) + series * t * t
    return tail - np.log1p(t) if centre == 1 else tail


def _digamma(input: np.ndarray) -> np.ndarray:
    """The recurrence up to 10, the asymptotic series from there; reflection for negative numbers."""
    x = np.asarray(input, np.float64)
    with np.errstate(all="ignore"):
        flip = x < 0.5
        y = np.where(flip, 1 - x, x)
        offset, z = np.zeros_like(y), y
        for _ in range(_SHIFT):
            small = z < _SHIFT
            offset = np.where(small, offset - 1 / z, offset)
            z = np.where(small, z + 1, z)
        square = 1 / (z * z)
        result = np.log(z) - 0.5 / z - np.polyval(_PSI[::-1], square) * square + offset
        result = np.where(flip, result - np.pi / np.tan(np.pi * (x - np.rint(x))), result)
        result = np.where(x == 0, -np.copysign(np.inf, x), np.where((x < 0) & (x == np.rint(x)), np.nan, result))
    return np.where(np.isposinf(x), np.inf, result).astype(input.dtype)


def _hurwitz(s: Any, q: np.ndarray) -> np.ndarray:
    """Hurwitz zeta(s, q) for q > 0 and s > 1 by Euler and Maclaurin's formula."""
    total, z = np.zeros_like(q), q
    for _ in range(_SHIFT):
        total, z = total + z ** -s, z + 1
    total = total + z ** (1 - s) / (s - 1) + 0.5 * z ** -s
    factor, power = 1.0, z ** (-s - 1)
    for k, b in enumerate(_BERNOULLI, 1):
        factor = s / 2 if k == 1 else factor * (s + 2 * k - 3) * (s + 2 * k - 2) / (2 * k * (2 * k - 1))
        total, power = total + b * factor * power, power / (z * z)
    return total


def _zeta(input: Any, other: Any) -> np.ndarray:
    """Hurwitz' zeta function. The sum over all integers depends on the fraction f of `other` alone, so that below zero, where it is
    real for integers s, zeta(s, q) = zeta(s, f) + (-1)**s (zeta(s, 1 - f) - zeta(s, 1 - q))."""
    dtype = np.result_type(input, other)
    s, q = np.broadcast_arrays(np.asarray(input, np.float64), np.asarray(other, np.float64))
    with np.errstate(all="ignore"):
        low = np.floor(q)
        f = np.where(q > 0, q, q - low)
        result = _hurwitz(s, f)
        below = (q < 0) & (f > 0) & (s == np.floor(s)) & (s > 1)
        if below.any():
            s_, f_, q_ = s[below], f[below], q[below]
            mirrored = _hurwitz(s_, 1 - f_) - _hurwitz(s_, 1 - q_)
            result = result.copy() if isinstance(result, np.ndarray) else np.array(result)
            result[below] += np.where(s_ % 2 == 0, mirrored, -mirrored)
        result = np.where(np.isposinf(s), f ** -s, result)
        result = np.where((q < 0) & (s != np.floor(s)) | np.isinf(q), np.nan, result)  # as torch has it, though its limit is 0
        result = np.where((q <= 0) & (q == low), np.inf, result)
        return np.where(s == 1, np.inf, np.where(s < 1, np.nan, result)).astype(dtype)


def _cotangent_derivative(n: int, x: np.ndarray) -> np.ndarray:
    """The n-th derivative of pi cot(pi x), as a polynomial in the cotangent: d/dx c = -pi (1 + c^2)."""
    c = 1 / np.tan(np.pi * (x - np.rint(x)))
    polynomial = np.polynomial.Polynomial([0, 1])
    for _ in range(n):
        polynomial = polynomial.deriv() * np.polynomial.Polynomial([-1, 0, -1])
    return np.pi ** (n + 1) * polynomial(c)


def _polygamma_half(n: int, input: np.ndarray) -> np.ndarray:
    """Of half precision torch rounds the sum before it multiplies it by n!."""
    factor = math.factorial(n)
    if n < 2:
        return _polygamma(n, input.astype(np.float32)).astype(input.dtype)
    sums = (_polygamma(n, input.astype(np.float32)) / factor).astype(input.dtype)
    return (sums.astype(np.float32) * float(input.dtype.type(factor))).astype(input.dtype)


def _polygamma(n: int, input: np.ndarray) -> np.ndarray:
    if n == 0:
        return _digamma(input)
    x = np.asarray(input, np.float64)
    with np.errstate(all="ignore"):
        flip = x < 0.5
        y = np.where(flip, 1 - x, x)
        result = (-1.0) ** (n + 1) * math.factorial(n) * _hurwitz(n + 1, y)
        result = np.where(flip, (-1) ** n * result - _cotangent_derivative(n, x), result)
        pole = (x <= 0) & (x == np.rint(x))
        # Of n = 1 torch reflects with the sine of a multiple of a rounded pi, which is not quite 0.
        height = np.square(np.pi / np.sin((input.dtype.type(np.pi) * input).astype(np.float64))) if n == 1 else (-1) ** (n + 1) * np.inf
        result = np.where(pole, height, result)
    return result.astype(input.dtype)


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
        total = sum([_lgamma(input - input.dtype.type(k / 2)).astype(np.float32) for k in range(p)])
        return total.astype(input.dtype) + input.dtype.type(_mvlgamma_constant(p))

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


def _prefactor(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x**a * exp(-x) / gamma(a + 1). For large `a` as a power of x / a, whose logarithm is taken of what they differ by, with
    Stirling's series: the terms of the plain form would cancel."""
    u = (x - a) / a
    stirling = 1 / (12 * a) - 1 / (360 * a ** 3)
    large = np.exp(a * (np.log1p(u) - u) - stirling) / np.sqrt(2 * math.pi * a)
    return np.where(a > 200, large, np.exp(a * np.log(x) - x - _lgamma(a + 1)))


def _series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """P(a, x) = x**a * exp(-x) / gamma(a + 1) * (1 + x / (a + 1) + x**2 / ((a + 1) (a + 2)) + ...)."""
    total, term, n = np.ones_like(a), np.ones_like(a), a
    for _ in range(100000):
        n = n + 1
        term = term * (x / n)
        total = total + term
        if not (np.abs(term) > np.abs(total) * _EPSILON).any():
            break
    return _prefactor(a, x) * total


def _fraction(a: np.ndarray, x: np.ndarray) -> np.ndarray:
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


_UNIFORM = 1e8
"""From where the first term of the uniform expansion is exact, and series would take thousands of terms."""


def _uniform(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """For large `a`, P(a, x) up to a, and Q(a, x) beyond: erfc(|eta| sqrt(a / 2)) / 2 -+ exp(-a eta**2 / 2) / sqrt(2 pi a) *
    (1 / mu - 1 / eta), where mu = (x - a) / a and eta**2 / 2 = mu - log(1 + mu) (Temme 1979, "The asymptotic expansion of the incomplete
    gamma functions")."""
    mu = (x - a) / a
    near = np.abs(mu) < 0.01
    series = np.polynomial.polynomial.polyval(np.where(near, mu, 0.0), [0, 0, *[(-1.0) ** n / n for n in range(2, 12)]])
    half = np.where(near, series, mu - np.log1p(mu))  # whose terms cancel near 0
    eta = np.copysign(np.sqrt(2 * half), mu)
    first = np.where(np.abs(eta) < 0.01, -1 / 3 + eta / 12 - eta ** 2 * 2 / 135 + eta ** 3 / 864, 1 / mu - 1 / eta)
    rest = np.exp(-a * half) / np.sqrt(2 * math.pi * a) * first
    result: np.ndarray = 0.5 * fused.erfc(np.abs(eta) * np.sqrt(a / 2)) + np.where(x > a, rest, -rest)
    return result


def _complement_near_zero(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Q(a, x) for small x: 1 - x**a / gamma(a + 1) * (1 + a * sum (-x)**n / (n! (a + n))), with the terms near 1 left out."""
    power = a * np.log(x) - _lgamma(a + 1)
    total, term = np.zeros_like(a), np.ones_like(a)
    for n in range(1, 60):
        term = term * (-x / n)
        total = total + term / (a + n)
    return -np.expm1(power) - np.exp(power) * a * total


def _incomplete(a: np.ndarray, x: np.ndarray, upper: bool) -> np.ndarray:
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
        large = inside & (a > _UNIFORM)
        inside &= ~large
        for where, method, gives_upper in ((inside & below & ~near, _series, False), (inside & ~below, _fraction, True),
                                           (near, _complement_near_zero, True), (large & (x <= a), _uniform, False),
                                           (large & (x > a), _uniform, True)):
            if where.any():
                value = method(a[where], x[where])
                result[where] = value if gives_upper is upper else 1 - value
    return result.astype(dtype)[()]


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
    def numpy(input, other): return _incomplete(input, other, False)
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
    def numpy(input, other): return _incomplete(input, other, True)
    compose = on_host(numpy)
    check = _check("igammac")
    samples = _samples
    no_forward = "igammac"
    vjp_input = _no_gradient("igammac: input")
    def vjp_other(F, grad, input, other): return -grad * _density(F, input, other)
    def errors(rng): yield (np.array([1]), np.array([2])), NotImplementedError, "\"igammac_cpu\" not implemented for 'Long'"
