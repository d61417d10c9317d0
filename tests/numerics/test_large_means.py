"""Sums, variances and normalizations where the mean is large beside the spread, where all numbers are equal, and where sums are long."""

from __future__ import annotations

import itertools
from functools import cache

from tests.numerics import half_cases
import ml_dtypes
import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels import _on_demand
from autograd_tape.executors.kernels.moments import moments
from autograd_tape.executors.kernels.reduce import add

F = torch.nn.functional
# Below and above the sizes from which a dot product, a composition, a compiled kernel and the pool do it.
SIZES = [(3, 5), (16, 32), (2, 300), (40, 300), (300, 40), (3, 100_000), (100_000, 3)]
LAYOUTS = {
    "rows": lambda a: a,
    "columns": lambda a: np.asfortranarray(a),
    "strided": lambda a: np.repeat(a, 2, 1)[:, ::2],
}


@pytest.fixture(params=["numpy", "auto"])
def kernels(request):
    previous = _on_demand.use_numba(request.param)
    yield
    _on_demand.use_numba(previous)


def data(shape: tuple[int, ...], mean: float, dtype: str, layout: str = "rows") -> np.ndarray:
    return LAYOUTS[layout]((np.random.default_rng(7).standard_normal(shape) + mean).astype(dtype))


@pytest.mark.parametrize("dtype, mean, tolerance", [("float32", 1e6, 1e-6), ("float32", -1e4, 1e-6), ("float64", 1e12, 1e-6)])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SIZES)
def test_variance(shape, layout, dtype, mean, tolerance, kernels):
    array = data(shape, mean, dtype, layout)
    x, wide = torch.from_numpy(array), array.astype(np.longdouble)
    for dim in (None, 0, 1):
        exact = ((wide - wide.mean(dim, keepdims=True)) ** 2).sum(dim) / ((wide.size if dim is None else shape[dim]) - 1)
        centre = wide.mean(dim)
        var, std = torch.var(x, dim).numpy(), torch.std(x, dim).numpy()
        np.testing.assert_allclose(var, exact.astype(float), rtol=tolerance)
        np.testing.assert_allclose(std, np.sqrt(exact).astype(float), rtol=tolerance)
        both = torch.var_mean(x, dim), torch.std_mean(x, dim)
        np.testing.assert_allclose(both[0][0].numpy(), var, rtol=tolerance)
        np.testing.assert_allclose(both[1][0].numpy(), std, rtol=tolerance)
        for found in (both[0][1], both[1][1], torch.mean(x, dim)):
            np.testing.assert_allclose(found.numpy(), centre.astype(float), rtol=4 * np.finfo(dtype).eps)


def normalizations(x, n, c):
    """(name, result) of each way to normalize `x` (n, c)."""
    yield "layer_norm", F.layer_norm(x, (c,))
    yield "layer_norm with weight", F.layer_norm(x, (c,), torch.ones(c, dtype=x.dtype), torch.zeros(c, dtype=x.dtype))
    yield "layer_norm of two dimensions", F.layer_norm(x.reshape(1, n, c), (n, c))
    yield "group_norm", F.group_norm(x.reshape(1, 1, n * c), 1)
    yield "group_norm of several", F.group_norm(x.reshape(n, 1, c), 1)
    yield "instance_norm", F.instance_norm(x.reshape(1, n, c))
    yield "batch_norm", F.batch_norm(x, None, None, training=True)
    yield "batch_norm of images", F.batch_norm(x.reshape(1, n, c), None, None, training=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("value", [0.1, 1e6 + 0.1, -3e8])
@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("shape", SIZES)
def test_equal_numbers_normalize_to_zero(shape, layout, value, dtype, kernels):
    x = torch.from_numpy(LAYOUTS[layout](np.full(shape, value, dtype)))
    for name, result in normalizations(x, *shape):
        if dtype == "float64" and name.startswith("batch_norm"):  # torch's is not 0, either
            assert float(result.abs().max()) <= 1e-4, name
        else:
            assert float(result.abs().max()) == 0, name
    for dim in (None, 0, 1):
        assert not torch.var(x, dim).numpy().any() and not torch.std(x, dim).numpy().any()


@pytest.mark.parametrize("shape", SIZES[1:-1])
def test_normalization_far_from_zero(shape, kernels):
    """As exact as the rounding of the mean to float32 allows, which is saved and used by gradients."""
    array = data(shape, 1e6, "float32")
    exact = {name: r.numpy() for name, r in normalizations(torch.from_numpy(array.astype(np.float64)), *shape)}
    for name, result in normalizations(torch.from_numpy(array), *shape):
        np.testing.assert_allclose(result.numpy(), exact[name], atol=0.0313 / 0.5, err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moments_of_every_choice_of_axes(dtype, kernels):
    for shape in [(7,), (2, 300, 3), (2, 3, 1, 40), (30, 40, 10)]:
        for count in range(1, len(shape) + 1):
            for axes in itertools.combinations(range(len(shape)), count):
                for order in ("C", "F"):
                    x = np.asarray(data(shape, 1e5, dtype), order=order)
                    wide = x.astype(np.longdouble)
                    mean, variance = moments(x, axes)
                    exact = wide.mean(axes, keepdims=True)
                    assert mean.shape == variance.shape == exact.shape
                    np.testing.assert_allclose(mean, exact.astype(float), rtol=1e-14)
                    np.testing.assert_allclose(variance, wide.var(axes, keepdims=True).astype(float), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "complex64"])
def test_sums_over_every_choice_of_axes(dtype):
    for shape in [(7,), (1000, 3), (3, 1000), (300, 2, 20), (5, 270, 2), (0, 4), (300, 0)]:
        base = np.random.default_rng(3).uniform(0.5, 1.5, shape)
        for count in range(1, len(shape) + 1):
            for axes in itertools.combinations(range(len(shape)), count):
                x = base.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
                wide = np.dtype(np.float32) if x.dtype.itemsize == 2 else None
                stretched = np.broadcast_to(x[..., :1], (*shape[:-1], 400 if x.size else 0))
                for view in (x, np.asfortranarray(x), x[::-1], np.repeat(x, 2, 0)[::2], stretched):
                    exact = view.astype(np.complex128).sum(axes)
                    for keepdims in (False, True):
                        found = add(view, axes, wide, keepdims)
                        assert found.shape == view.sum(axes, keepdims=keepdims, dtype=np.complex64).shape
                        np.testing.assert_allclose(found.reshape(exact.shape), exact, rtol=2e-6 if dtype != "float64" else 1e-14)


SUMS = ("sum", "mean", "nansum", "nanmean", "cumsum", "logcumsumexp", "logsumexp", "norm", "var", "std", "var_mean", "std_mean", "add",
        "sub", "expand", "broadcast_to", "linear", "vector_norm", "sum_to_size", "cumulative_trapezoid")


@pytest.mark.parametrize("name", [n for n in half_cases.CASES if n.replace(",", " ").split()[0] in SUMS])
def test_errors_do_not_grow_with_the_length(name):
    """Results over 5,000 float32 numbers around 10,000 differ from those in float64 by a few units in the last place, along any axis."""

    def filled(shape, dtype):
        values = np.random.default_rng(1).uniform(0.5, 1.5, shape) + 1e4
        return torch.tensor(values.astype(np.float32)).to(dtype)

    exact = half_cases.CASES[name](torch, torch.float64, filled)
    for nr, (a, b) in enumerate(zip(half_cases.CASES[name](torch, torch.float32, filled), exact, strict=True)):
        a, b = a.numpy(), b.numpy()
        worst = np.max(np.abs(a - b)) / np.max(np.abs(b)) / 2**-24
        limit = LOSES_DIGITS if nr and name.split()[0] in CENTRED else blas_loses() if name.startswith("linear") else 24
        assert worst < limit, f"number {nr}: off by {worst:.0f}"


@cache
def blas_loses() -> float:
    """Units in the last place that the library's products of small matrices lose over so many numbers: some kernels add one by one."""
    rng = np.random.default_rng(1)
    x, y = (np.asarray(rng.uniform(0.5, 1.5, (half_cases.N, n)) + 1e4, np.float32) for n in (3, 2))
    exact = x.T.astype(float) @ y.astype(float)
    return max(24, 2 * float(np.max(np.abs(x.T @ y - exact)) / np.max(exact) / 2**-24))


# Gradients that subtract the mean, which is rounded to float32, or the rounded logarithm: torch's are no better.
CENTRED, LOSES_DIGITS = ("var", "std", "var_mean", "std_mean", "logcumsumexp", "logsumexp"), np.inf
