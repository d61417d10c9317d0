"""How random numbers move with the parameters of their distribution, by implicit differentiation: for a number x whose cumulative
distribution function is F(x; a), dx/da = -(dF/da) / (dF/dx).

Source: M. Jankowiak and F. Obermeyer, Pathwise derivatives beyond the reparameterization trick, 2018; its expansions, and the coefficients
that torch fitted to the middle ground between them, since a gradient that is right to more places than torch's is another number.
"""

from __future__ import annotations

import numpy as np

from ...annotations import Functions, Values
from ...dtypes import FLOATING, SCALAR_TYPE_NAMES
from ...errors import AutogradError
from ...executors.kernels.formulas import Scalar, binary, exp, log, polynomial, power, sqrt, ternary
from ...functions.refusals import no_kernel
from ...record import no_derivative, no_formula, op
from ...tensor import TensorRef
from .._host import on_host
from .gamma import _digamma_of

# Powers of log(x / a) downwards, powers of log(a) along each row; first of the numerator, then of the denominator.
_GAMMA = (
    ((0.16009398, -0.094634809, 0.025146376, -0.0030648343), (0.53487893, 0.1298071, 0.065735949, -0.0015649758),
     (0.040121004, -0.0065914022, -0.0026286047, -0.0013441777)),
    ((1, 0.32668115, 0.10406089, 0.0014179084), (0.16639465, 0.020070113, -0.0035938915, -0.00058392623),
     (0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07)),
)
# Powers of log(x), of log(a / x), of log(total x / a); of the numerator and of the denominator.
_BETA = (
    (((1.003668233, -0.01061107488, -0.0657888334, 0.01201642863), (0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033),
      (-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013)),
     ((0.221950385, -0.3187676331, 0.01799915743, 0.01074823814), (-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057),
      (0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05)),
     ((-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565), (0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181),
      (0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05))),
    (((1, -0.02924021934, -0.04438342661, 0.007285809825), (0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521),
      (-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149)),
     ((0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273), (0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956),
      (-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05)),
     ((0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05),
      (0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05),
      (-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06))),
)


def _gamma_near_zero(a: float, x: float) -> float:
    """For x < 0.8: the power series of the incomplete gamma function, and of its derivative, to the fifth power."""
    term, series, squares = 1.0, 1.0 / a, 1.0 / (a * a)
    for i in range(1, 6):
        term = term * (-x / i)
        series, squares = series + term / (a + i), squares + term / ((a + i) * (a + i))
    root = power(x, a)
    slope = (log(x) - _digamma_of(a)) * (root * series) - root * squares
    value = -slope / (power(x, a - 1.0) * exp(-x))
    return value if value == value else 0.0


def _gamma_saddle(a: float, x: float) -> float:
    """For a > 8: the saddle point expansion; near x = a, where its terms cancel, the limit of it."""
    if _LOW * a <= x and x <= _HIGH * a:
        terms = 1440.0 * a * a + 6.0 * x * (53.0 - 120.0 * x) - 65.0 * x * x / a + a * (107.0 + 3600.0 * x)
        return (1.0 + 24.0 * a * (1.0 + 12.0 * a)) * terms / (1244160.0 * (a * a) * (a * a))
    root, ratio = sqrt(8.0 * a), log(x / a)
    near, far = root / (a - x), power(x - a - a * ratio, -1.5)
    bracket = ratio * (near - far if x < a else near + far) - sqrt(2.0 / a) * (a + x) / ((a - x) * (a - x))
    stirling = 1.0 + 1.0 / (12.0 * a) * (1.0 + 1.0 / (24.0 * a))
    return -stirling * x * bracket / root


def _in_two(rows: tuple[tuple[float, ...], ...]) -> Scalar:
    """A polynomial in two variables; the first runs over the rows of the coefficients."""
    first, second, third = [tuple([float(c) for c in reversed(row)]) for row in rows]

    def function(u: float, v: float) -> float:
        return (polynomial(third, v) * u + polynomial(second, v)) * u + polynomial(first, v)

    return function


_LOW, _HIGH, _EIGHT_TENTHS = [float(np.float32(c)) for c in (0.9, 1.1, 0.8)]
_GAMMA_ABOVE, _GAMMA_BELOW = [_in_two(rows) for rows in _GAMMA]


def _gamma_between(a: float, x: float) -> float:
    u, v = log(x / a), log(a)
    return exp(_GAMMA_ABOVE(u, v) / _GAMMA_BELOW(u, v))


def _gamma_gradient(a: float, x: float) -> float:
    if x < _EIGHT_TENTHS:
        return _gamma_near_zero(a, x)
    return _gamma_saddle(a, x) if a > 8.0 else _gamma_between(a, x)


_standard_gamma_gradient = binary(_gamma_gradient, 3)


def _beta_near_zero(x: float, a: float, b: float) -> float:
    """By the first parameter, near 0: ten terms of the power series in x."""
    factor = _digamma_of(a) - _digamma_of(a + b) - log(x)
    term = 1.0
    series = term / a * (factor + 1.0 / a)
    for i in range(1, 11):
        term = term * ((i - b) * x / i)
        series = series + term / (a + i) * (factor + 1.0 / (a + i))
    value = x * power(1.0 - x, -b) * series
    return value if value == value else 0.0


def _beta_by_second(x: float, a: float, b: float) -> float:
    """By the second parameter, near 0: eight terms."""
    factor = _digamma_of(a + b) - _digamma_of(b)
    term, product, slope, series = 1.0, 1.0, 0.0, factor / a
    for i in range(1, 9):
        term = term * (-x / i)
        slope, product = slope * (b - i) + product, product * (b - i)
        series = series + term / (a + i) * (slope + factor * product)
    value = -power(1.0 - x, 1.0 - b) * series
    return value if value == value else 0.0


def _beta_saddle(x: float, a: float, b: float) -> float:
    """By the first parameter, where both are large: the saddle point expansion; near the mean its limit."""
    total = a + b
    mean, std = a / total, sqrt(a * b / (total + 1.0)) / total
    b2, y = b * b, 1.0 - x
    if mean - 0.1 * std <= x and x <= mean + 0.1 * std:
        terms = 47.0 * x * b2 * b2 + a * ((43.0 + 20.0 * (16.0 + 27.0 * b) * x) * b2 * b + a * (
            3.0 * (59.0 + 180.0 * b - 90.0 * x) * b2 + a * (
                (453.0 + 1620.0 * b * y - 455.0 * x) * b + a * (8.0 * y * (135.0 * b - 11.0)))))
        scale = (1.0 + 12.0 * a) * (1.0 + 12.0 * b) / (total * total) / y
        return scale * terms / (12960.0 * a * a * a * b2 * (1.0 + 12.0 * total))
    stirling = _stirling(a) * _stirling(b) / _stirling(total)
    off = a * (x - 1.0) + b * x
    first = (2.0 * (a * a) * (x - 1.0) + a * b * (x - 1.0) - x * b2) / (sqrt(2.0 * a / b) * power(total, 1.5) * off * off)
    second = sqrt(8.0 * a * b / total) / off
    third = power(b * log(b / (total * y)) + a * log(a / (total * x)), -1.5)
    bracket = first + 0.5 * log(a / (total * x)) * (second + (third if x < mean else -third))
    return stirling * (-x / sqrt(2.0 * a * b / total)) * bracket


def _stirling(a: float) -> float:
    return 1.0 + 1.0 / (12.0 * a) + 1.0 / (288.0 * a * a)


_BETA_ABOVE, _BETA_BELOW = [[_in_two(rows) for rows in part] for part in _BETA]
_ABOVE_0, _ABOVE_1, _ABOVE_2 = _BETA_ABOVE
_BELOW_0, _BELOW_1, _BELOW_2 = _BETA_BELOW


def _beta_between(x: float, a: float, b: float) -> float:
    total, u = a + b, log(x)
    v = log(a) - u
    w = log(total) - v
    above = (_ABOVE_2(v, w) * u + _ABOVE_1(v, w)) * u + _ABOVE_0(v, w)
    below = (_BELOW_2(v, w) * u + _BELOW_1(v, w)) * u + _BELOW_0(v, w)
    return above / below * (x * (_digamma_of(total) - _digamma_of(a)) / b)


def _beta_gradient(x: float, a: float, total: float) -> float:
    b = total - a
    boundary = total * x * (1.0 - x)
    if x <= 0.5 and boundary < 2.5:
        return _beta_near_zero(x, a, b)
    if x >= 0.5 and boundary < 0.75:
        return -_beta_by_second(1.0 - x, b, a)
    return _beta_saddle(x, a, b) if a > 6.0 and b > 6.0 else _beta_between(x, a, b)


_dirichlet_gradient = ternary(_beta_gradient, 3)


def _check_kinds(name: str, first: TensorRef, *others: TensorRef) -> None:
    """torch's errors for dtypes: float32 and float64 have kernels, and all are of one dtype."""
    names = [SCALAR_TYPE_NAMES[t._k.dtype.name] for t in (first, *others)]
    if first._k.dtype.category != FLOATING or first._k.dtype.itemsize < 4:
        no_kernel(name, first)
    for found in names[1:]:
        if found != names[0]:
            raise AutogradError(f"Found dtype {found} but expected {names[0]}")


@op("_standard_gamma_grad(Tensor input, Tensor output) -> Tensor", family="binary", promotion="none", result="same", broadcasts=True,
    out=False, method=False, node="StandardGammaGradBackward0")
class _standard_gamma_grad:
    """The derivative of gamma numbers `output` of scale 1 by their shape parameters `input`, with float32 or float64.

    >>> torch._standard_gamma_grad(torch.tensor([2.]), torch.tensor([1.5]))
    tensor([0.9366])
    """

    lacks = {"float8": "_standard_gamma_grad_cpu"}
    numpy = _standard_gamma_gradient
    compose = on_host(numpy)
    def check(input, output): _check_kinds("_standard_gamma_grad_cpu", input, output)
    no_forward = "_standard_gamma_grad"
    vjp = no_formula("_standard_gamma_grad")
    def samples(rng): yield np.array([0.5, 2.0, 9.0]), np.array([0.3, 1.5, 10.0])
    def errors(rng): yield (np.array([1]), np.array([2])), NotImplementedError, "\"_standard_gamma_grad_cpu\" not implemented for 'Long'"


@op("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", family="ternary", promotion="none", result="same", broadcasts=True,
    out=False, method=False, node="NotImplemented")
class _dirichlet_grad:
    """The derivative of shares `x` of Dirichlet vectors by their parameters `alpha`, which sum to `total`, over 1 - x; float32 or float64.

    >>> torch._dirichlet_grad(torch.tensor([0.3]), torch.tensor([2.]), torch.tensor([5.]))
    tensor([0.1993])
    """

    lacks = {"float8": "_dirichlet_grad_cpu"}
    numpy = _dirichlet_gradient
    compose = on_host(numpy)
    def check(x, alpha, total): _check_kinds("_dirichlet_grad_cpu", x, alpha, total)
    no_forward = "_dirichlet_grad"
    vjp = no_derivative("_dirichlet_grad")
    def samples(rng): yield np.array([0.3, 0.2, 0.5]), np.array([0.5, 2.0, 3.0]), np.array([5.5, 5.5, 5.5])


@op("sampled_gamma(Tensor numbers, Tensor parameter) -> Tensor", family="binary", promotion="none", result="same", quiet="all",
    out=False, method=False, namespace="_internal", node="StandardGammaBackward0")
class sampled_gamma:
    """Gamma `numbers` of scale 1, drawn with the shape parameter `parameter`, along which they move."""

    no_differences = "numbers are drawn anew with another parameter"
    def numpy(numbers, parameter): return np.broadcast_arrays(numbers, parameter)[0].copy()
    compose = on_host(numpy)
    no_forward = "_standard_gamma"
    def vjp_numbers(F: Functions, grad: Values) -> Values: return F.zero_gradient(grad)
    def vjp_parameter(F: Functions, grad: Values, numbers: Values, parameter: Values) -> Values:
        return grad * F._standard_gamma_grad(parameter, numbers)
    def samples(rng):
        yield np.array([1, 2, 10]), np.array([2, 3, 9])
