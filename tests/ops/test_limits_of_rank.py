"""What counts as zero in `linalg.pinv` and `linalg.matrix_rank`, of Hermitian matrices too, and norms of matrices without elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import torchcompat as torch

LIMITS = (None, 0.5, (0.3, 0.9))


def _matrices() -> Any:
    a = np.random.default_rng(0).standard_normal((2, 4, 4))
    return torch.from_numpy(a + a.swapaxes(-1, -2))


def _limit(limit: Any, nr: int | None = None) -> Any:
    """A number for all matrices; or a tensor with one for each, or that of one of them."""
    if not isinstance(limit, tuple):
        return limit if limit is None else torch.tensor(limit, dtype=torch.float64)
    return torch.tensor(limit, dtype=torch.float64) if nr is None else limit[nr]


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("atol", LIMITS)
@pytest.mark.parametrize("rtol", LIMITS)
@pytest.mark.parametrize("name", ["pinv", "matrix_rank"])
def test_tensors_of_limits_hold_matrix_by_matrix(name: str, rtol: Any, atol: Any, hermitian: bool) -> None:
    function, a = getattr(torch.linalg, name), _matrices()
    found = function(a, atol=_limit(atol), rtol=_limit(rtol), hermitian=hermitian)
    numbers = [[float(x) if isinstance(x, torch.Tensor) else x for x in (_limit(atol, nr), _limit(rtol, nr))] for nr in range(2)]
    for one, matrix, (absolute, relative) in zip(found, a, numbers):
        np.testing.assert_allclose(one.numpy(), function(matrix, atol=absolute, rtol=relative, hermitian=hermitian).numpy(), atol=1e-12)
        sizes = np.linalg.svd(matrix.numpy(), compute_uv=False)
        relative = (0 if absolute else 4 * np.finfo(float).eps) if relative is None else relative
        rank = (sizes > max(absolute or 0, relative * sizes.max())).sum()
        assert np.linalg.matrix_rank(one.numpy(), tol=1e-9) == rank if name == "pinv" else int(one) == rank


@pytest.mark.parametrize("name", ["pinv", "matrix_rank"])
def test_of_hermitian_matrices_the_lower_triangle_is_read(name: str) -> None:
    function, a = getattr(torch.linalg, name), _matrices()
    np.testing.assert_allclose(function(a.tril(), hermitian=True).numpy(), function(a, hermitian=True).numpy(), atol=1e-12)


@pytest.mark.parametrize("name", ["pinv", "matrix_rank"])
@pytest.mark.parametrize("limit", ["atol", "rtol"])
def test_other_limits_are_refused(name: str, limit: str) -> None:
    with pytest.raises(TypeError, match=rf"linalg_{name}\(\) received an invalid combination of arguments - got \(Tensor, {limit}=str\)"):
        getattr(torch.linalg, name)(_matrices(), **{limit: "none"})


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3), (3, 0)])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("order", [1, 2, float("inf"), "fro", "nuc"])
def test_norms_of_no_elements_are_zero(order: Any, keepdim: bool, shape: tuple[int, ...]) -> None:
    found = torch.linalg.matrix_norm(torch.zeros(shape), order, keepdim=keepdim)
    assert found.shape == shape[:-2] + (1, 1) * keepdim and not found.any()


def test_no_gradient_of_a_phase_at_nothing() -> None:
    r = torch.tensor([0.0, 2.0], dtype=torch.float64, requires_grad=True)
    z = torch.polar(r, torch.tensor([1.0, 0.0], dtype=torch.float64))
    assert torch.autograd.grad(z, r, torch.ones_like(z))[0].tolist() == [0.0, 1.0]


def test_nan_passes_the_gradient_of_celu_on() -> None:
    x = torch.tensor([float("nan"), 1.0, 0.0], requires_grad=True)
    torch.nn.functional.celu(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("dims", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_filled_tensors_lie_as_their_input(dims: tuple[int, ...]) -> None:
    x = torch.zeros(2, 3, 4).permute(dims)
    assert torch.fill(x, 2.0).stride() == x.stride()
