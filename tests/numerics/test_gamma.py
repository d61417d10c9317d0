"""The gamma family in double precision, and how long its series go on."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels._on_demand import use_numba
from autograd_tape.ops.elementwise import gamma


def test_lgamma_is_exact_to_its_last_places() -> None:
    x = np.concatenate([np.linspace(0.01, 12, 5000), -np.linspace(0.013, 11.97, 1001), np.linspace(1.79, 1.81, 101)])
    found, exact = torch.lgamma(torch.tensor(x)).numpy(), np.array([math.lgamma(v) for v in x.tolist()])
    assert np.max(np.abs(found - exact) / np.maximum(1, np.abs(exact))) < 1e-14


def test_halves_of_the_incomplete_gamma_function_of_one_are_exponentials() -> None:
    x = torch.linspace(0.01, 30, 1000, dtype=torch.float64)
    np.testing.assert_allclose(torch.igammac(torch.ones_like(x), x).numpy(), np.exp(-x.numpy()), rtol=1e-13)
    np.testing.assert_allclose(torch.igamma(torch.ones_like(x), x).numpy(), -np.expm1(-x.numpy()), rtol=1e-13)


@pytest.mark.parametrize("largest", [10, 100, 10000])
def test_series_end_soon_after_they_settle(monkeypatch: pytest.MonkeyPatch, largest: int, request: pytest.FixtureRequest) -> None:
    previous = use_numba("numpy")
    request.addfinalizer(lambda: use_numba(previous))
    rounds: list[int] = []

    def counted(*bounds: int) -> Iterator[int]:
        rounds.append(0)
        for i in range(*bounds):
            rounds[-1] += 1
            yield i

    monkeypatch.setattr(gamma, "range", counted, raising=False)
    rng = np.random.default_rng(0)
    a, x = torch.tensor(rng.uniform(0, largest, 5000)), torch.tensor(rng.uniform(0, largest, 5000))
    np.testing.assert_allclose((torch.igamma(a, x) + torch.igammac(a, x)).numpy(), 1, rtol=1e-11)
    assert rounds and max(rounds) < 100 + 10 * math.sqrt(largest)
