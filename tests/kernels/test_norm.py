"""Normalizations against formulas in double precision, and their vjps against finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_tape.dtypes import bfloat16
from autograd_tape.executors.kernels import norm

EPS = 1e-5


def _normalize(x, axes, eps=EPS):
    x = x.astype(np.float64)
    m = x.mean(axes, keepdims=True)
    return (x - m) / np.sqrt(((x - m) ** 2).mean(axes, keepdims=True) + eps)


def _check_vjp(f, vjp, arrays, rng, dtype):
    """The directional derivative of ``sum(f * g)`` by central differences, for each input on its own."""
    g = rng.standard_normal(f(*arrays).shape)
    grads = vjp(g.astype(dtype), *arrays)
    for i, a in enumerate(arrays):
        if a is None:
            continue
        assert grads[i].shape == a.shape
        assert grads[i].dtype == dtype
        step = rng.standard_normal(a.shape)
        up, down = list(arrays), list(arrays)
        up[i], down[i] = a.astype(np.float64) + 1e-5 * step, a.astype(np.float64) - 1e-5 * step
        wide = [[v if v is None else v.astype(np.float64) for v in side] for side in (up, down)]
        slope = (g * (f(*wide[0]) - f(*wide[1]))).sum() / 2e-5
        np.testing.assert_allclose(
            (grads[i] * step).sum(),
            slope,
            rtol=2e-3 if dtype == np.float32 else 1e-5,
            atol=2e-3 if dtype == np.float32 else 1e-6,
        )


@pytest.mark.parametrize(("shape", "n_dims"), [((6, 40), 1), ((3, 4, 5), 2), ((37, 17), 1), ((7,), 1), ((2, 9000), 1)])
@pytest.mark.parametrize("affine", ["both", "weight", "bias", "none"])
def test_layer_norm(shape, n_dims, affine, kernels, dtype, rng, close):
    x = (rng.standard_normal(shape) * 2 + 3).astype(dtype)
    w = rng.standard_normal(shape[-n_dims:]).astype(dtype) if affine in ("both", "weight") else None
    b = rng.standard_normal(shape[-n_dims:]).astype(dtype) if affine in ("both", "bias") else None
    axes = tuple(range(-n_dims, 0))
    y, mean, rstd = norm.layer_norm(x, n_dims, w, b, EPS)
    close(y, _normalize(x, axes) * (1 if w is None else w) + (0 if b is None else b), 16)
    close(mean, x.mean(axes, keepdims=True, dtype=np.float64), 2)
    close(rstd, 1 / np.sqrt(x.var(axes, keepdims=True, dtype=np.float64) + EPS), 4)

    def vjp(g, x, w, b):
        _, mean, rstd = norm.layer_norm(x, n_dims, w, b, EPS)
        return norm.layer_norm_backward(g, x, mean, rstd, w, n_dims)

    _check_vjp(lambda *a: norm.layer_norm(a[0], n_dims, a[1], a[2], EPS)[0], vjp, [x, w, b], rng, dtype)


def test_layer_norm_needs_strides_empty_nan(kernels, dtype, rng, close):
    base = rng.standard_normal((30, 20)).astype(dtype)
    w = rng.standard_normal(30).astype(dtype)
    y, mean, rstd = norm.layer_norm(base.T, 1, w, None, EPS)
    close(y, norm.layer_norm(base.T.copy(), 1, w, None, EPS)[0])
    full = norm.layer_norm_backward(base.T, base.T, mean, rstd, w, 1)
    for needs in ((True, False, False), (False, True, False), (False, False, True)):
        part = norm.layer_norm_backward(base.T, base.T, mean, rstd, w, 1, needs)
        for i in range(3):
            if needs[i]:
                np.testing.assert_array_equal(part[i], full[i])
            else:
                assert part[i] is None
    y, mean, rstd = norm.layer_norm(np.zeros((0, 4), dtype), 1, None, None, EPS)
    assert y.shape == (0, 4)
    dx, dw, db = norm.layer_norm_backward(y, y, mean, rstd, None, 1)
    assert dx.shape == (0, 4)
    close(dw, np.zeros(4))
    x = np.ones((3, 5), dtype)
    x[1, 2] = np.nan
    y = norm.layer_norm(x, 1, None, None, EPS)[0]
    assert np.isnan(y[1]).all()
    close(y[[0, 2]], np.zeros((2, 5)))


def test_parameter_gradients_do_not_depend_on_threads(dtype, rng):
    from autograd_tape.executors.kernels import sharing

    x, g = rng.standard_normal((2, 900, 300)).astype(dtype)
    y, mean, rstd = norm.layer_norm(x, 1)
    before = sharing.get_num_threads()
    try:
        results = []
        for n in (1, 2, 3):
            sharing.set_num_threads(n)
            results.append(norm.layer_norm_backward(g, x, mean, rstd, None, 1))
        for result in results[1:]:
            for a, b in zip(results[0], result, strict=True):
                np.testing.assert_array_equal(a, b)
    finally:
        sharing.set_num_threads(before)


SHAPES = [(6, 4), (4, 3, 5), (2, 6, 5, 7), (3, 2, 2, 3, 4), (5, 3, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(shape, affine, training, kernels, dtype, rng, close):
    x = (rng.standard_normal(shape) * 2 + 3).astype(dtype)
    channels = shape[1]
    column = (1, channels) + (1,) * (len(shape) - 2)
    axes = (0, *range(2, len(shape)))
    w, b = rng.standard_normal((2, channels)).astype(dtype) if affine else (None, None)
    run_mean, run_var = rng.standard_normal(channels).astype(dtype), rng.random(channels).astype(dtype) + 0.5
    old_mean, old_var = run_mean.copy(), run_var.copy()
    y, mean, rstd = norm.batch_norm(x, w, b, run_mean, run_var, training, 0.3, EPS)
    wide = x.astype(np.float64)
    if training:
        expected = _normalize(x, axes)
        close(run_mean, 0.3 * wide.mean(axes) + 0.7 * old_mean)
        close(run_var, 0.3 * wide.var(axes, ddof=1) + 0.7 * old_var, 4)
    else:
        expected = (wide - old_mean.reshape(column)) / np.sqrt(old_var.reshape(column) + EPS)
        np.testing.assert_array_equal(run_mean, old_mean)
    if affine:
        expected = expected * w.reshape(column) + b.reshape(column)
    close(y, expected, 16)

    def f(x, w, b):
        return norm.batch_norm(x, w, b, old_mean.copy(), old_var.copy(), training, 0.3, EPS)[0]

    def vjp(g, x, w, b):
        _, mean, rstd = norm.batch_norm(x, w, b, old_mean.copy(), old_var.copy(), training, 0.3, EPS)
        return norm.batch_norm_backward(g, x, mean, rstd, w, training)

    _check_vjp(f, vjp, [x, w, b], rng, dtype)


def test_batch_norm_far_from_zero(kernels, dtype, rng):
    x = (rng.standard_normal((8, 3, 40)) + 1000).astype(dtype)
    y, mean, rstd = norm.batch_norm(x, None, None, None, None, True, 0.1, EPS)
    np.testing.assert_allclose(y, _normalize(x, (0, 2)), atol=2e-4 if dtype == np.float32 else 1e-10)
    with pytest.raises(ValueError, match="running_mean and running_var"):
        norm.batch_norm(x, None, None, None, None, False, 0.1, EPS)


@pytest.mark.parametrize("shape", [(2, 6), (3, 6, 5), (2, 6, 3, 4), (1, 12, 40)])
@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("affine", [True, False])
def test_group_norm(shape, groups, affine, kernels, dtype, rng, close):
    x = (rng.standard_normal(shape) * 2 + 3).astype(dtype)
    n, channels = shape[:2]
    column = (1, channels) + (1,) * (len(shape) - 2)
    w, b = rng.standard_normal((2, channels)).astype(dtype) if affine else (None, None)
    y, mean, rstd = norm.group_norm(x, groups, w, b, EPS)
    expected = _normalize(x.reshape(n, groups, -1), (2,)).reshape(shape)
    if affine:
        expected = expected * w.reshape(column) + b.reshape(column)
    close(y, expected, 32)
    close(mean, x.reshape(n, groups, -1).mean(2, dtype=np.float64))
    if x[0, 0].size * channels // groups < 2:
        return  # the variance of one element is zero: no derivative to compare

    def vjp(g, x, w, b):
        _, mean, rstd = norm.group_norm(x, groups, w, b, EPS)
        return norm.group_norm_backward(g, x, mean, rstd, groups, w)

    _check_vjp(lambda x, w, b: norm.group_norm(x, groups, w, b, EPS)[0], vjp, [x, w, b], rng, dtype)


def test_group_norm_rejects_groups():
    with pytest.raises(RuntimeError, match="divisible by num_groups"):
        norm.group_norm(np.zeros((2, 6), np.float32), 4)


HALVES = {"batch": lambda x, w, b: norm.batch_norm(x, w, b, None, None, True, 0.1, EPS),
          "group": lambda x, w, b: norm.group_norm(x, 2, w, b, EPS)}
HALVES_BACK = {"batch": lambda g, x, m, r, w: norm.batch_norm_backward(g, x, m, r, w, True),
               "group": lambda g, x, m, r, w: norm.group_norm_backward(g, x, m, r, 2, w)}


@pytest.mark.parametrize("shape", [(40, 6), (5, 6, 3), (4, 6, 50), (2, 4, 5000)])
@pytest.mark.parametrize("name", [*HALVES])
@pytest.mark.parametrize("half", [np.float16, bfloat16.np])
def test_half_precision_is_rounded_once(name, shape, half, kernels, rng):
    """Results and gradients are those of the same numbers in double precision, as near as their digits."""
    x, g = (rng.standard_normal((2, *shape)) * 2 + 3).astype(half)
    w, b = rng.standard_normal((2, shape[1])).astype(half)
    digits = 2.0**-10 if half is np.float16 else 2.0**-7
    y, mean, rstd = HALVES[name](x, w, b)
    wide = [v.astype(np.float64) for v in (g, x, w, b)]
    expected = HALVES[name](*wide[1:])
    assert y.dtype == half and mean.dtype == rstd.dtype == np.float32
    np.testing.assert_allclose(y.astype(np.float64), expected[0], rtol=digits, atol=digits / 4)
    gradients = HALVES_BACK[name](wide[0], wide[1], *expected[1:], wide[2])
    for found, exact in zip(HALVES_BACK[name](g, x, mean, rstd, w), gradients, strict=True):
        assert found.dtype == half
        np.testing.assert_allclose(found.astype(np.float64), exact, rtol=digits, atol=digits * np.abs(exact).max() / 16)


def test_rms_norm(kernels, dtype, rng, close):
    for shape, size in (((3, 5), 5), ((2, 3, 700), 700), ((2, 3, 4), 12), ((5, 1), 1)):
        x = (rng.standard_normal(shape) * 2).astype(dtype)
        w = rng.standard_normal(size).astype(dtype)
        rows = x.reshape(-1, size).astype(np.float64)
        expected = rows / np.sqrt((rows**2).mean(1, keepdims=True) + EPS)
        close(norm.rms_norm(x, size, None, EPS), expected.reshape(shape), 8)
        close(norm.rms_norm(x, size, w, EPS), (expected * w).reshape(shape), 8)
