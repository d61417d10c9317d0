"""LAPACK's routines, called by name, do what is done where NumPy's library does not show them, and refuse what they would write beyond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autograd_tape.executors.kernels import matrices, routines
from autograd_tape.ops.matrices.factorization import singular

CHARS = "fdFD"


def drawn(rng: np.random.Generator, char: str, *shape: int) -> np.ndarray:
    found = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if char in "FD" else 0)
    return found.astype(char)


def definite(a: np.ndarray) -> np.ndarray:
    return np.linalg.cholesky(a @ a.conj().swapaxes(1, 2) + np.eye(a.shape[1])).astype(a.dtype)


def lu(a: np.ndarray) -> tuple[np.ndarray, ...]:
    return (a, *matrices.lu(a))


def triangle(layout: Callable[[np.ndarray], np.ndarray], upper: bool, unit: bool) -> Callable[[np.ndarray], Any]:
    def solved(a: np.ndarray) -> np.ndarray:
        t = a / a.shape[1] + 2 * np.eye(a.shape[1], dtype=a.dtype)
        return matrices.solve_triangles(a[..., :3].copy(), (layout(t), upper, unit))

    return solved


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rows": np.ascontiguousarray, "columns": lambda a: a.swapaxes(1, 2).copy().swapaxes(1, 2),
    "apart": lambda a: a.repeat(2, 2)[..., ::2], "part": lambda a: np.concatenate([a, a], 2)[..., a.shape[2]:],
    "reversed": lambda a: a[:, ::-1].copy()[:, ::-1], "expanded": lambda a: np.broadcast_to(a[:1], a.shape)}
CASES: dict[str, Callable[[np.ndarray], Any]] = {
    "lu": lu, "long": lambda a: lu(a.reshape(2, 2, -1)), "wide": lambda a: lu(a[:, :-7].copy()),
    "tall": lambda a: lu(a[..., :-7].copy()),
    "not finite": lambda a: lu(np.where(np.arange(a.size).reshape(a.shape) % 97, a, np.nan)),
    "inverse": lambda a: matrices.invert_definite(definite(a), False),
    "inverse, upper": lambda a: matrices.invert_definite(definite(a).conj().swapaxes(1, 2), True),
    "qr": lambda a: matrices.qr(a, a.shape[1], True),
    "qr, reduced": lambda a: matrices.qr(a[..., :-7], a.shape[2] - 7, True),
    "qr, complete": lambda a: matrices.qr(a[..., :-7], a.shape[1], True),
    "reflectors": lambda a: matrices.reflectors(a[:, :-7]),
    **{f"product of {k} reflectors, {n}": lambda a, k=k, n=n: matrices.reflected(a / 9, 1 + a[:, 0, :k] / 9, n)
       for k, n in ((5, 5), (5, 9), (5, 70), (70, 70))},
    **{f"{name} {upper} {unit}": triangle(layout, upper, unit)
       for name, layout in LAYOUTS.items() for upper in (False, True) for unit in (False, True)}}


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("case", CASES)
def test_as_without_it(case: str, char: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    a = drawn(rng, char, 2, 70, 70)
    found = CASES[case](a.copy())
    if case.startswith("inverse"):
        known = definite(a)
        expected: Any = np.linalg.inv(known @ known.conj().swapaxes(1, 2)).swapaxes(1, 2)
    else:
        monkeypatch.setattr(routines, "shown", lambda char: False)
        expected = CASES[case](a.copy())
    tolerance = 1e-3 if char in "fF" else 1e-10
    for x, y in zip(*[r if isinstance(r, tuple) else (r,) for r in (found, expected)]):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", [(9000, 2), (2, 2, 9000), (1, 300), (3, 300, 1), (700, 30)])
@pytest.mark.parametrize("char", CHARS)
def test_singular_values_of_long_matrices(char: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    a = drawn(rng, char, *shape)
    k, exact = min(shape[-2:]), a.astype(np.complex128 if char in "FD" else np.float64)
    sizes = np.linalg.svd(exact, compute_uv=False)
    eps = 300 * np.finfo(char).eps
    for full in (False, True) if max(shape) < 1000 else (False,):
        u, s, vh = singular(a, full)
        assert u.dtype == vh.dtype == a.dtype
        np.testing.assert_allclose(s, sizes, rtol=eps)
        np.testing.assert_allclose((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, atol=eps * sizes.max())
        for q in (u, vh.conj().swapaxes(-2, -1)):
            np.testing.assert_allclose(q.conj().swapaxes(-2, -1) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2],
                                                                                      *q.shape[-1:] * 2)), atol=eps)
    np.testing.assert_allclose(singular(a, compute_uv=False), sizes, rtol=eps)


def test_what_they_refuse() -> None:
    a, pivots = np.eye(3), np.zeros(3, np.int64)
    frozen = np.eye(3)
    frozen.setflags(write=False)
    wrong: list[Callable[[], object]] = [
        lambda: routines.lu(a[:, ::-1], pivots), lambda: routines.lu(frozen, pivots), lambda: routines.lu(a, pivots[:2]),
        lambda: routines.lu(a, pivots.astype(np.int32)), lambda: routines.substitute(np.eye(2), a, True, True),
        lambda: routines.substitute(np.eye(3, dtype=np.float32), a, True, True), lambda: routines.substitute(a, frozen, True, True),
        lambda: routines.factor_symmetric(np.ones((2, 3)), pivots, False), lambda: routines.factor_symmetric(a, pivots[:2], False),
        lambda: routines.invert_definite(np.ones((2, 3)), False), lambda: routines.invert_definite(frozen, False),
        lambda: routines.reflect(frozen, np.ones(3)), lambda: routines.reflect(a, np.ones(2)), lambda: routines.reflect(a, pivots),
        lambda: routines.multiply_reflectors(np.ones((3, 2)), np.ones(2)), lambda: routines.multiply_reflectors(a, np.ones(4)),
        lambda: routines.multiply_reflectors(a, pivots), lambda: routines.multiply_reflectors(frozen, np.ones(3))]
    for call in wrong:
        with pytest.raises(ValueError, match="expected"):
            call()
    np.testing.assert_array_equal(a, np.eye(3))
