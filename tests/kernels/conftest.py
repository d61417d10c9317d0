"""Fixtures of the kernel tests: each test that takes ``kernels`` runs compiled and composed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from autograd_tape.executors.kernels import _on_demand


@pytest.fixture(params=["numpy", "numba"])
def kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test once with the NumPy compositions and once with compiled kernels for arrays of every size."""
    if request.param == "numba" and not _on_demand.available():
        pytest.skip("Numba is not installed: there are no compiled kernels to test")
    previous = _on_demand.use_numba(request.param)
    yield request.param
    _on_demand.use_numba(previous)


@pytest.fixture(params=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> np.dtype:
    return np.dtype(request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.fixture
def close(dtype: np.dtype) -> Any:
    """Equality to rounding in ``dtype``, NaN and infinities included, and of shape and dtype."""

    def check(actual: np.ndarray, expected: np.ndarray, scale: float = 1.0) -> None:
        assert actual.dtype == dtype
        assert actual.shape == np.shape(expected)
        eps = float(np.finfo(dtype).eps)
        np.testing.assert_allclose(actual, expected, rtol=16 * eps * scale, atol=16 * eps * scale)

    return check
