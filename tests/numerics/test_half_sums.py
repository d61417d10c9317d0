"""Sums over half precision, forward and in gradients, round once: 5,000 ones make 5,000, whatever adds them up."""

from __future__ import annotations

from tests.numerics import half_cases
import numpy as np
import pytest

import torchcompat as torch

EPS = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
# What the same function gives in float64 is right; these gradients are computed from results that half precision rounded.
TOLERANCE = 5.0


def values(name: str, dtype: str) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return [t.double().numpy() for t in half_cases.CASES[name](torch, getattr(torch, dtype))]


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize("name", [name for name in half_cases.CASES if name not in half_cases.ONE_BY_ONE])
def test_sum_is_rounded_once(name: str) -> None:
    exact = values(name, "float64")
    for dtype, eps in EPS.items():
        found = values(name, dtype)
        assert [a.shape for a in found] == [a.shape for a in exact]
        for nr, (a, b) in enumerate(zip(found, exact, strict=True)):
            largest = float(np.max(np.abs(b), initial=0.0))
            if dtype == "float16" and (largest > 65504 or np.isinf(found[0]).any()):
                assert np.isinf(a[np.abs(b) > 65504]).all()  # what follows from an infinite result means nothing
                continue
            # Where everything cancels, the scale is that of the ones that do.
            scale = largest if largest > 1e-9 else 1.0
            assert not np.isnan(a).any()
            worst = float(np.max(np.abs(a - b), initial=0.0)) / (scale * eps)
            assert worst <= TOLERANCE, f"{dtype}, number {nr}: off by {worst:.1f} units in the last place"


@pytest.mark.parametrize("name", half_cases.ONE_BY_ONE)
def test_gradients_of_several_users_are_added_in_their_dtype(name: str) -> None:
    """As in torch: 256 + 1 is 256 in bfloat16, which has 8 bits."""
    found, exact = values(name, "bfloat16")[-1], values(name, "float64")[-1]
    assert exact.max() > 256
    np.testing.assert_array_equal(found, np.minimum(exact, 256))
