"""Outer products, what is added to products, and Kronecker products have NumPy's bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from autograd_tape.executors.kernels import _on_demand, blas

pytestmark = pytest.mark.skipif(not _on_demand.available(), reason="Numba is not installed: there are no compiled kernels to test")


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    """Machine code of every kernel, for arrays of any size."""
    previous = _on_demand.use_numba("numba")
    yield
    _on_demand.use_numba(previous)


@pytest.mark.parametrize("char", "fdl")
@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 2), (40, 31)])
def test_outer_products_are_numpys(n: int, m: int, char: str) -> None:
    rng = np.random.default_rng(0)
    a, b, row, whole = [(9 * rng.standard_normal(shape)).astype(char) for shape in (n, m, (1, m), (n, m))]
    for x in (row, row[0], whole):
        found = blas.outer_added(a, b, x)
        assert found is not None and np.array_equal(found, np.outer(a, b) + x)
    expected = np.outer(a, b) + whole
    assert blas.add_outer(a, b, whole) and np.array_equal(whole, expected)
    assert blas.outer_added(a, b, np.ones((n + 1, m + 1), char)) is None and not blas.add_outer(a, b, np.ones((n, m + 1), char))


@pytest.mark.parametrize("char", "fdl")
def test_kronecker_products_are_numpys(char: str) -> None:
    rng = np.random.default_rng(0)
    for shapes in (((3,), (2,)), ((9, 13), (13, 9)), ((2, 3), (4,)), ((), (2, 3))):
        x, z = [np.asarray(9 * rng.standard_normal(s)).astype(char) for s in shapes]
        found = blas.kron(x, z)
        assert found is not None and found.shape == np.kron(x, z).shape and np.array_equal(found, np.kron(x, z))
    assert blas.kron(np.ones((0, 2), char), np.ones(2, char)) is None
