"""Loops over many small matrices give what LAPACK does in double precision, and leave to LAPACK what they do not take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels import _on_demand, small
from autograd_tape.ops.matrices.general import _COEFFICIENTS, _matrix_exp

pytestmark = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there are no compiled kernels")


@pytest.fixture
def compiled() -> Iterator[None]:
    previous = _on_demand.use_numba("numba")
    yield
    _on_demand.use_numba(previous)


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rows": np.ascontiguousarray, "columns": lambda a: a.swapaxes(-2, -1).copy().swapaxes(-2, -1),
    "apart": lambda a: a.repeat(2, -1)[..., ::2], "expanded": lambda a: np.broadcast_to(a[:1], a.shape)}


def definite(a: np.ndarray) -> np.ndarray:
    return a @ a.swapaxes(-2, -1) + np.eye(a.shape[-1], dtype=a.dtype)


def expected(a: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        previous = _on_demand.use_numba("numpy")
        try:
            return _matrix_exp(a)
        finally:
            _on_demand.use_numba(previous)


def factor(a: np.ndarray, upper: bool) -> np.ndarray:
    found = small.cholesky(definite(a), upper)
    assert found is not None and not found[1].any()
    return found[0]


CASES: dict[str, tuple[Callable[[np.ndarray], Any], Callable[[np.ndarray], Any]]] = {
    "cholesky": (lambda a: factor(a, False), lambda a: np.linalg.cholesky(definite(a))),
    "upper": (lambda a: factor(a, True), lambda a: np.linalg.cholesky(definite(a)).swapaxes(-2, -1)),
    "inverse": (small.solve, np.linalg.inv),
    "solve": (lambda a: small.solve(a, a[..., :2]), lambda a: np.linalg.solve(a, a[..., :2])),
    "solve, columns": (lambda a: small.solve(a, a[..., :2, :].swapaxes(-2, -1)),
                       lambda a: np.linalg.solve(a, a[..., :2, :].swapaxes(-2, -1))),
    "determinant": (small.determinants, np.linalg.det),
    "sign": (lambda a: small.determinants(a, True)[0], lambda a: np.linalg.slogdet(a)[0]),
    "logarithm": (lambda a: small.determinants(a, True)[1], lambda a: np.linalg.slogdet(a)[1]),
    "values": (small.singular_values, lambda a: np.linalg.svd(a, compute_uv=False)),
    "values, tall": (lambda a: small.singular_values(a[..., :2]), lambda a: np.linalg.svd(a[..., :2], compute_uv=False)),
    "values, wide": (lambda a: small.singular_values(a[..., :2, :]), lambda a: np.linalg.svd(a[..., :2, :], compute_uv=False)),
    "exponential": (lambda a: small.exponentials(a, _COEFFICIENTS), expected)}


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES)
def test_as_lapack(case: str, layout: str, char: str, rng: np.random.Generator, compiled: None) -> None:
    ours, theirs = CASES[case]
    for n in (2, 3, 5, 8, 11):
        a = rng.standard_normal((9, n, n)) + 2 * np.eye(n)
        a = LAYOUTS[layout](a.astype(char))
        found, wanted = ours(a), theirs(a.astype(np.float64))
        assert found.dtype == a.dtype and found.shape == wanted.shape
        near = 2e-6 if char == "f" else 1e-11
        np.testing.assert_allclose(found, wanted, rtol=100 * near, atol=near * np.abs(wanted).max())


@pytest.mark.parametrize("char", "fdl")
def test_powers(char: str, rng: np.random.Generator, compiled: None) -> None:
    x = (rng.standard_normal((5, 7)) * 9).astype(char)
    for a in (x, x.T, x[:, ::2], x[:0]):
        for n, turned in ((2, False), (5, True)):
            expected = np.power(a[..., None].astype(np.float64), np.arange(n)[::-1] if turned else np.arange(n))
            np.testing.assert_allclose(small.powers(a, n, turned), expected, rtol=1e-6)  # type: ignore[arg-type]


def test_large_and_little_numbers(compiled: None) -> None:
    a = np.random.default_rng(0).standard_normal((9, 3, 2))
    for factor in (1e-300, 1e-200, 1e200, 1e300):
        found = small.singular_values(a * factor)
        assert found is not None
        np.testing.assert_allclose(found, np.linalg.svd(a * factor, compute_uv=False), rtol=1e-12)
    assert not small.singular_values(a * 0).any()  # type: ignore[union-attr]


def test_left_to_lapack(compiled: None) -> None:
    one = np.broadcast_to(np.eye(3), (9, 3, 3))
    spoiled = one.copy()
    spoiled[4, 1, 2] = np.nan
    singular = one.copy()
    singular[7, 1] = 0
    for left in (one * 1j, spoiled, one[:, :0, :0], np.broadcast_to(np.eye(99), (9, 99, 99)), one[:0]):
        assert small.solve(left) is None and small.determinants(left) is None and small.exponentials(left, _COEFFICIENTS) is None
    assert small.solve(singular) is None and small.cholesky(singular) is None and small.cholesky(-one) is None
    assert small.singular_values(spoiled) is None and small.singular_values(one * 1j) is None
    assert small.determinants(singular, True) is None and small.determinants(singular) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [2, 3, 6])
def test_what_rounding_hides_is_singular(n: int, dtype: torch.dtype) -> None:
    """Equal columns leave a pivot that is zero, or what rounding left of it: both are refused as one matrix is."""
    A = torch.tensor(np.random.default_rng(n).standard_normal((64, n, n)), dtype=dtype)
    A[:, :, 0] = A[:, :, 1]
    alone = [int(torch.linalg.inv_ex(a)[1]) for a in A]
    assert any(alone)
    assert torch.linalg.inv_ex(A)[1].tolist() == alone
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.linalg.inv(A)
