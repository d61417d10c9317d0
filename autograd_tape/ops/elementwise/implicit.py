"""How random numbers move with the parameters of their distribution, by implicit differentiation: for a number x whose cumulative
distribution function is F(x; a), dx/da = -(dF/da) / (dF/dx).

Source: M. Jankowiak and F. Obermeyer, Pathwise derivatives beyond the reparameterization trick, 2018; its expansions, and the coefficients
that torch fitted to the middle ground between them, since a gradient that is right to more places than torch's is another number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...annotations import Functions, Values
from ...dtypes import FLOATING, SCALAR_TYPE_NAMES
from ...errors import AutogradError
from ...functions.refusals import no_kernel
from ...record import no_derivative, no_formula, op
from ...tensor import TensorRef
from .._host import on_host
from .gamma import _digamma

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


def _polynomial(coefficients: Sequence[object], *variables: np.ndarray) -> np.ndarray:
    """A polynomial in several variables; the first runs over the outermost level of the coefficients."""
    x, *rest = variables
    value: np.ndarray = np.zeros_like(x)
    for inner in reversed(coefficients):
        value = value * x + (_polynomial(inner, *rest) if rest else inner)  # type: ignore[arg-type]
    return value


def _gamma_near_zero(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """For x < 0.8: the power series of the incomplete gamma function, and of its derivative, to the fifth power."""
    term, series, squares = np.ones_like(x), 1 / a, 1 / (a * a)
    for i in range(1, 6):
        term = term * (-x / i)
        series, squares = series + term / (a + i), squares + term / ((a + i) * (a + i))
    power = x ** a
    slope = (np.log(x) - _digamma(a)) * (power * series) - power * squares
    return np.nan_to_num(-slope / (x ** (a - 1) * np.exp(-x)), nan=0.0, posinf=np.inf, neginf=-np.inf)


def _gamma_saddle(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """For a > 8: the saddle point expansion; near x = a, where its terms cancel, the limit of it."""
    polynomial = 1440 * a * a + 6 * x * (53 - 120 * x) - 65 * x * x / a + a * (107 + 3600 * x)
    middle = (1 + 24 * a * (1 + 12 * a)) * polynomial / (1244160 * (a * a) * (a * a))
    root, ratio = np.sqrt(8 * a), np.log(x / a)
    near, far = root / (a - x), (x - a - a * ratio) ** -1.5
    bracket = ratio * np.where(x < a, near - far, near + far) - np.sqrt(2 / a) * (a + x) / ((a - x) * (a - x))
    stirling = 1 + 1 / (12 * a) * (1 + 1 / (24 * a))
    inside = (float(np.float32(0.9)) * a <= x) & (x <= float(np.float32(1.1)) * a)
    return np.where(inside, middle, -stirling * x * bracket / root)


def _gamma_between(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    numerator, denominator = [_polynomial(c, np.log(x / a), np.log(a)) for c in _GAMMA]
    return np.exp(numerator / denominator)


def _standard_gamma_gradient(input: np.ndarray, output: np.ndarray) -> np.ndarray:
    a, x = np.broadcast_arrays(input.astype(np.float64), output.astype(np.float64))
    low, large = x < float(np.float32(0.8)), a > 8
    result = np.empty(a.shape)
    with np.errstate(all="ignore"):
        for where, method in ((low, _gamma_near_zero), (~low & large, _gamma_saddle), (~low & ~large, _gamma_between)):
            if where.any():
                result[where] = method(a[where], x[where])
        return result.astype(input.dtype)


def _without_nan(x: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x), x.dtype.type(0), x)


def _beta_near_zero(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """By the first parameter, near 0: ten terms of the power series in x, in the precision of the numbers."""
    factor = _digamma(a) - _digamma(a + b) - np.log(x)
    term = np.ones_like(x)
    series = term / a * (factor + 1 / a)
    for i in range(1, 11):
        term = term * ((i - b) * x / i)
        series = series + term / (a + i) * (factor + 1 / (a + i))
    return _without_nan(x * (1 - x) ** -b * series)


def _beta_by_second(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """By the second parameter, near 0: eight terms."""
    factor = _digamma(a + b) - _digamma(b)
    term, product, slope, series = np.ones_like(x), np.ones_like(x), np.zeros_like(x), factor / a
    for i in range(1, 9):
        term = term * (-x / i)
        slope, product = slope * (b - i) + product, product * (b - i)
        series = series + term / (a + i) * (slope + factor * product)
    return _without_nan(-(1 - x) ** (1 - b) * series)


def _beta_saddle(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """By the first parameter, where both are large: the saddle point expansion; near the mean its limit."""
    total = a + b
    mean, std = a / total, np.sqrt(a * b / (total + 1)) / total
    b2, y = b * b, 1 - x
    polynomial = 47 * x * b2 * b2 + a * ((43 + 20 * (16 + 27 * b) * x) * b2 * b + a * (3 * (59 + 180 * b - 90 * x) * b2 + a * (
        (453 + 1620 * b * y - 455 * x) * b + a * (8 * y * (135 * b - 11)))))
    near = (1 + 12 * a) * (1 + 12 * b) / (total * total) / y * polynomial / (12960 * a * a * a * b2 * (1 + 12 * total))
    stirling = _stirling(a) * _stirling(b) / _stirling(total)
    off = a * (x - 1) + b * x
    first = (2 * (a * a) * (x - 1) + a * b * (x - 1) - x * b2) / (np.sqrt(2 * a / b) * total ** 1.5 * off * off)
    second = np.sqrt(8 * a * b / total) / off
    third = (b * np.log(b / (total * y)) + a * np.log(a / (total * x))) ** -1.5
    bracket = first + 0.5 * np.log(a / (total * x)) * (second + np.where(x < mean, third, -third))
    far = stirling * (-x / np.sqrt(2 * a * b / total)) * bracket
    return np.where((mean - 0.1 * std <= x) & (x <= mean + 0.1 * std), near, far)


def _stirling(a: np.ndarray) -> np.ndarray:
    return 1 + 1 / (12 * a) + 1 / (288 * a * a)


def _beta_between(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    total, u = a + b, np.log(x)
    v = np.log(a) - u
    numerator, denominator = [_polynomial(c, u, v, np.log(total) - v) for c in _BETA]
    return numerator / denominator * (x * (_digamma(total) - _digamma(a)) / b)


def _dirichlet_gradient(x: np.ndarray, alpha: np.ndarray, total: np.ndarray) -> np.ndarray:
    x, a, total = np.broadcast_arrays(x, alpha, total)
    wide = [t.astype(np.float64) for t in (x, a, total)]
    result = np.empty(x.shape, x.dtype)
    with np.errstate(all="ignore"):
        b = total - a
        boundary = total * x * (1 - x)
        low = (x <= 0.5) & (boundary < 2.5)
        high = ~low & (x >= 0.5) & (boundary < 0.75)
        large = ~low & ~high & (a > 6) & (b > 6)
        if low.any():
            result[low] = _beta_near_zero(x[low], a[low], b[low])
        if high.any():
            result[high] = -_beta_by_second(1 - x[high], b[high], a[high])
        for where, method in ((large, _beta_saddle), (~low & ~high & ~large, _beta_between)):
            if where.any():
                x_, a_, total_ = [t[where] for t in wide]
                result[where] = method(x_, a_, total_ - a_)
    return result


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
