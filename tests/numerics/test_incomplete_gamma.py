"""The incomplete gamma functions at parameters so large that their series would take a term for every few units of sqrt(a)."""

from __future__ import annotations

import math

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.ops.elementwise import gamma

STEPS = np.array([-6.0, -3.0, -1.0, -0.2, 0.0, 0.2, 1.0, 3.0, 6.0])


@pytest.mark.parametrize("a", [1e6, 1e7])
def test_the_uniform_expansion_meets_the_series(a: float) -> None:
    for x in (a + STEPS * math.sqrt(a)).tolist():
        series = gamma._series if x <= a else gamma._fraction
        assert gamma._uniform(a, x) == pytest.approx(series(a, x, 2.0**-53), rel=2e-9)


@pytest.mark.parametrize("a", [2e8, 1e12, 1e20, 1e30])
def test_large_parameters_follow_the_normal_distribution(a: float) -> None:
    x = a + STEPS * math.sqrt(a)
    steps = (x - a) / math.sqrt(a)  # what is left of them in double precision
    lower, upper = (f(torch.full((9,), a, dtype=torch.float64), torch.tensor(x)).numpy() for f in (torch.igamma, torch.igammac))
    np.testing.assert_allclose(upper, [0.5 * math.erfc(s / math.sqrt(2)) for s in steps], rtol=100 / math.sqrt(a) + 1e-12)
    np.testing.assert_allclose(lower + upper, 1.0, rtol=1e-15)
    assert torch.igamma(torch.tensor(a), torch.tensor(a)).item() == pytest.approx(0.5, abs=1e-4)
