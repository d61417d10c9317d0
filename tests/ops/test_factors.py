"""Factorizations as LAPACK leaves them, as torch gives them; and that they are factors."""

from __future__ import annotations

import numpy as np
import pytest

import torchcompat as torch
from tests.ops.factor_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
@pytest.mark.filterwarnings("ignore:torch.triangular_solve")
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 17, 90])
def test_indefinite_systems_are_solved(n: int, hermitian: bool) -> None:
    rng = np.random.default_rng(n)
    a = rng.standard_normal((3, n, n)) + 1j * rng.standard_normal((3, n, n))
    a = a + (a.conj() if hermitian else a).swapaxes(-2, -1)
    a[1:] *= 1 - np.eye(n) * (n > 1)  # nothing to begin with but blocks of 2
    A, X = torch.tensor(a), torch.tensor(rng.standard_normal((3, n, 2)) + 0j)
    found = torch.linalg.ldl_solve(*torch.linalg.ldl_factor(A, hermitian=hermitian), A @ X, hermitian=hermitian)
    np.testing.assert_allclose(found.numpy(), X.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (2, 7, 3), (40, 33)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_reflectors_are_those_of_q(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(3)
    A = torch.tensor((rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype[0] == "c" else 0)).astype(dtype))
    a, tau = torch.geqrf(A)
    Q, R = torch.linalg.householder_product(a, tau), a.triu()[..., :shape[-1], :]
    np.testing.assert_allclose((Q @ R).numpy(), A.numpy(), atol=1e-12)
    np.testing.assert_allclose((Q.mH @ Q).numpy(), np.broadcast_to(np.eye(shape[-1]), (*shape[:-2], shape[-1], shape[-1])), atol=1e-12)
    np.testing.assert_allclose(torch.ormqr(a, tau, A, transpose=True).numpy(), a.triu().numpy(), atol=1e-12)
    np.testing.assert_allclose(torch.ormqr(a, tau, A.mH, left=False).mH.resolve_conj().numpy(), a.triu().numpy(), atol=1e-12)


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_gradients_of_eigenvectors_are_hermitian(uplo: str) -> None:
    """As those of any function of a Hermitian matrix, of which either triangle may be read."""
    rng = np.random.default_rng(4)
    a = rng.standard_normal((2, 4, 4)) + 1j * rng.standard_normal((2, 4, 4))
    for array in (a, a.real):
        A = torch.tensor(array + array.conj().swapaxes(-2, -1), requires_grad=True)
        values, vectors = torch.linalg.eigh(A, UPLO=uplo)
        g, = torch.autograd.grad((vectors.abs() * torch.tensor(rng.random((2, 4, 4)))).sum() + values.sum(), A)
        np.testing.assert_allclose(g.mH.resolve_conj().numpy(), g.numpy(), atol=1e-13)


@pytest.mark.parametrize("shape", [(9, 6), (6, 9), (2, 8, 5)])
def test_few_singular_values_are_found(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    A = torch.tensor(rng.standard_normal((*shape[:-1], 2)) @ rng.standard_normal((*shape[:-2], 2, shape[-1])))
    U, S, V = torch.svd_lowrank(A, q=2)
    np.testing.assert_allclose((U * S[..., None, :] @ V.mH).numpy(), A.numpy(), atol=1e-12)
    np.testing.assert_allclose(S.numpy(), torch.linalg.svdvals(A)[..., :2].numpy())
    U, S, V = torch.svd_lowrank(A, q=3, M=A.mean(-2, keepdim=True))
    np.testing.assert_allclose(torch.pca_lowrank(A, q=3)[1].numpy(), S.numpy(), atol=1e-12)


@pytest.mark.parametrize("shape", [(9000, 2), (2, 6000, 3), (1, 17000, 1)])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_long_matrices_have_inverses(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(6)
    a = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype[0] == "c" else 0)
    a[..., -1] = a[..., 0]  # and so of lower rank, where there are two columns
    A = torch.tensor(a.astype(dtype))
    P, tolerance = torch.linalg.pinv(A), 1e-4 if dtype == "float32" else 1e-12
    small = P @ A
    np.testing.assert_allclose((A @ small).numpy(), A.numpy(), atol=tolerance)
    np.testing.assert_allclose(small.numpy(), small.mH.resolve_conj().numpy(), atol=tolerance)
    np.testing.assert_allclose((small @ P).numpy(), P.numpy(), atol=tolerance)
