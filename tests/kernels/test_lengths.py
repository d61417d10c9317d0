"""Powers that norms add up, and what scales vectors down, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import torchcompat as torch


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("p", [3, 1.5])
def test_norms_of_these_orders(dtype: str, p: float, rng: np.random.Generator, kernels: str) -> None:
    x = torch.tensor(20 * rng.standard_normal((40, 30))).to(getattr(torch, dtype))
    places = {"float32": 1e-6, "float64": 1e-14, "bfloat16": 8e-3}[dtype]
    for a in (x, x.mT.contiguous().mT, x[:, ::2], x[:2, :3]):
        exact = np.abs(a.double().numpy())
        found = torch.linalg.vector_norm(a, p, 1)
        np.testing.assert_allclose(found.double().numpy(), (exact**p).sum(1) ** (1 / p), places)
        np.testing.assert_allclose(torch.dist(a, torch.zeros_like(a), p).item(), (exact**p).sum() ** (1 / p), places)
    for v in (float("inf"), float("nan")):
        assert str(torch.linalg.vector_norm(torch.tensor([1.0, v], dtype=x.dtype), p).item()) == str(v)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_vectors_are_scaled_down(dtype: str, rng: np.random.Generator, kernels: str) -> None:
    x = torch.tensor(rng.standard_normal((50, 20)) * np.logspace(-3, 3, 50)[:, None]).to(getattr(torch, dtype))
    number = x.numpy().dtype.type
    lengths = torch.linalg.vector_norm(x, 2, 1, True).numpy()
    factors = np.where(lengths > 1.5, number(1.5) / (lengths + number(1e-7)), number(1))
    assert torch.renorm(x, 2, 0, 1.5).tolist() == (x.numpy() * factors).tolist()
    for d, a in ((1, x.reshape(2, 25, 20)), (0, x.reshape(5, 2, 100)), (1, x.mT), (-2, x[:, ::2])):
        others = tuple(i for i in range(a.ndim) if i != d % a.ndim)
        lengths = torch.linalg.vector_norm(a, 2, others, True).numpy()
        factors = np.where(lengths > 1.5, number(1.5) / (lengths + number(1e-7)), number(1))
        assert torch.renorm(a, 2, d, 1.5).tolist() == (a.numpy() * factors).tolist()
