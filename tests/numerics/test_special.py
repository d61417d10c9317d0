"""Bessel functions, the Airy function, orthogonal polynomials and Hurwitz' zeta function: identities that hold over their whole ranges, and
numbers that torch gives where they end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels._on_demand import use_numba

special = torch.special
# Around the limits of ranges, and everywhere else.
X = np.unique(np.concatenate([np.geomspace(1e-8, 700, 4000), np.linspace(0.9, 1.1, 101), np.linspace(7.9, 8.1, 101)]))


@pytest.fixture(autouse=True)
def side_by_side() -> Iterator[None]:
    """Number by number, and compiled, formulas give the bits of one another: `tests/kernels/test_formulas.py`."""
    previous = use_numba("numpy")
    yield
    use_numba(previous)


def of(function: Callable[[Any], Any], x: Any = X) -> np.ndarray:
    found: np.ndarray = function(torch.tensor(x)).numpy()
    return found


def test_wronskians_of_bessel_functions() -> None:
    """Abramowitz and Stegun 9.1.16, 9.6.15."""
    j0, j1, y0, y1 = (of(getattr(special, f"bessel_{name}")) for name in ("j0", "j1", "y0", "y1"))
    np.testing.assert_allclose((j1 * y0 - j0 * y1) * X * (math.pi / 2), 1, atol=4e-14)
    for scaled in ("", "scaled_"):
        i0, i1 = (of(getattr(special, name)) for name in (("i0e", "i1e") if scaled else ("modified_bessel_i0", "modified_bessel_i1")))
        k0, k1 = (of(getattr(special, f"{scaled}modified_bessel_{name}")) for name in ("k0", "k1"))
        np.testing.assert_allclose((i0 * k1 + i1 * k0) * X, 1, rtol=2e-15 if scaled else 1e-14)


@pytest.mark.parametrize(("name", "x", "exact"), [
    ("bessel_j0", [0.5, 5.0, 2.404825557695773, 1e4],
     [0.9384698072408129, -0.1775967713143383, -6.10876525973673e-17, -0.007096160353388801]),
    ("bessel_j1", [0.5, 5.0, 1e4], [0.24226845767487387, -0.3275791375914652, 0.0036474507555295803]),
    ("bessel_y0", [0.5, 5.0, 1e4], [-0.44451873350670656, -0.30851762524903376, 0.003647805558986606]),
    ("bessel_y1", [0.5, 5.0, 1e4], [-1.471472392670243, 0.14786314339122684, 0.007096342752536495]),
    ("modified_bessel_k0", [0.1, 2.0, 50.0], [2.4270690247020166, 0.11389387274953344, 3.4101677497894956e-23]),
    ("modified_bessel_k1", [0.1, 2.0, 50.0], [9.853844780870606, 0.13986588181652243, 3.444102226717555e-23]),
    ("airy_ai", [-20.0, -5.0, -4.0, -1.0, 1.0, 2.0, 10.0], [
        -0.17640612707798468, 0.3507610090241142, -0.07026553294928964, 0.5355608832923521, 0.13529241631288141, 0.03492413042327437,
        1.1047532552898686e-10]),
    ("spherical_bessel_j0", [0.0, 1e-9, 2.0, math.inf], [1.0, 1.0, 0.45464871341284085, 0.0]),
])
def test_known_numbers(name: str, x: list[float], exact: list[float]) -> None:
    np.testing.assert_allclose(of(getattr(special, name), np.float64(x)), exact, rtol=3e-14, atol=3e-16)
    np.testing.assert_allclose(of(getattr(special, name), np.float32(x)), of(getattr(special, name), np.float64(np.float32(x))), rtol=1e-7)


def test_airys_function_solves_its_equation() -> None:
    """y'' = x y by differences of the sixth order; across the limits of the ranges, too."""
    h = 1e-2
    x = np.linspace(-6, 4, 1001)
    y = np.stack([of(special.airy_ai, x + k * h) for k in range(-3, 4)])
    second = np.array([2, -27, 270, -490, 270, -27, 2]) @ y / (180 * h * h)
    np.testing.assert_allclose(second, x * y[3], atol=1e-10)


@pytest.mark.parametrize(("name", "series"), [
    ("chebyshev_polynomial_t", np.polynomial.chebyshev.chebval), ("hermite_polynomial_h", np.polynomial.hermite.hermval),
    ("hermite_polynomial_he", np.polynomial.hermite_e.hermeval), ("laguerre_polynomial_l", np.polynomial.laguerre.lagval),
    ("legendre_polynomial_p", np.polynomial.legendre.legval),
])
def test_polynomials_as_numpy_has_them(name: str, series: Callable[..., Any]) -> None:
    x = np.linspace(-1.5, 1.5, 61)
    degrees = np.array([0, 1, 2, 3, 6, 7, 8, 20])
    found = getattr(special, name)(torch.tensor(x)[:, None], torch.tensor(degrees))
    exact = np.stack([series(x, np.eye(21)[n]) for n in degrees], 1)
    np.testing.assert_allclose(found.numpy(), exact, rtol=1e-11, atol=1e-12)
    assert getattr(special, name)(torch.tensor(x), -1).tolist() == [0.0] * 61


def test_chebyshevs_kinds_are_of_one_another() -> None:
    """Their differences (Mason and Handscomb, "Chebyshev Polynomials", 1.2), and the shifted ones at 2 x - 1."""
    x, n = torch.linspace(-1.25, 1.25, 101, dtype=torch.float64), torch.arange(1, 30)[:, None]
    t, u, v, w = (getattr(special, f"chebyshev_polynomial_{kind}") for kind in "tuvw")
    scale = 1e-13 * u(x, n).abs().max(1, keepdim=True)[0]
    for found, wanted in ((u(x, n) - u(x, n - 1), v(x, n)), (u(x, n) + u(x, n - 1), w(x, n)), (u(x, n) - x * u(x, n - 1), t(x, n))):
        assert ((found - wanted).abs() <= scale).all()
    for kind in "tuvw":
        shifted = getattr(special, f"shifted_chebyshev_polynomial_{kind}")((x + 1) / 2, n)
        assert ((shifted - getattr(special, f"chebyshev_polynomial_{kind}")(x, n)).abs() <= 100 * scale).all()
    assert u(torch.tensor([1.0, -1.0]), 41).tolist() == [42.0, -42.0] and w(torch.tensor([1.0, -1.0]), 9).tolist() == [19.0, -1.0]


def test_degrees_that_are_no_degrees() -> None:
    x = torch.tensor([0.5, 2.0])
    p = special.laguerre_polynomial_l
    assert p(x, math.nan).tolist() == p(x, math.inf).tolist() == p(x, -1).tolist() == [0.0, 0.0]
    assert p(2.0, torch.tensor([1.0, 2.0])).tolist() == [-1.0, -1.0] and p(2, torch.tensor([1, 2])).dtype is torch.float32
    assert p(x, 2.9).tolist() == p(x, 2).tolist() and p(x, -0.5).tolist() == [1.0, 1.0]
    assert not p(torch.tensor([2.0], requires_grad=True), 2).requires_grad
    assert special.hermite_polynomial_h(torch.tensor([3.0]), 100).isnan().all()  # beyond float32


def test_zeta_by_its_recurrence_and_its_reflection() -> None:
    s, q = torch.arange(2, 12, dtype=torch.float64)[:, None], torch.linspace(-7.3, 9.1, 53, dtype=torch.float64)
    np.testing.assert_allclose(special.zeta(s, q).numpy(), (q ** -s + special.zeta(s, q + 1)).numpy(), rtol=1e-13)
    np.testing.assert_allclose(special.zeta(s[:3:2, 0], 1).numpy(), [math.pi ** 2 / 6, math.pi ** 4 / 90], rtol=1e-15)
    ends = [(1.0, 2.0, math.inf), (0.5, 2.0, math.nan), (2.0, -3.0, math.inf), (2.5, -0.5, math.nan), (2.0, math.inf, math.nan)]
    for s_, q_, expected in ends:
        np.testing.assert_equal(special.zeta(s_, torch.tensor(q_)).item(), expected)


def test_zeta_has_torchs_gradients() -> None:
    q = torch.tensor([0.5, 3.0], dtype=torch.float64, requires_grad=True)
    first, = torch.autograd.grad(special.zeta(3, q).sum(), q, create_graph=True)
    np.testing.assert_allclose(first.detach().numpy(), -3 * special.zeta(4, q.detach()).numpy())
    np.testing.assert_allclose(torch.autograd.grad(first.sum(), q)[0].numpy(), 12 * special.zeta(5, q.detach()).numpy())
    with pytest.raises(NotImplementedError, match="the derivative for 'zeta' is not implemented."):
        special.zeta(q, 3).sum().backward()


@pytest.mark.parametrize("name", ["i1", "i1e"])
def test_derivatives_of_modified_bessel_functions_at_zero(name: str) -> None:
    x = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    first, = torch.autograd.grad(getattr(special, name)(x), x, create_graph=True)
    assert first.item() == 0.5 and torch.autograd.grad(first, x)[0].item() == 0
