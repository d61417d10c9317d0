"""Attention against the formula in double precision, and its vjp against finite differences."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from autograd_tape.executors.kernels import attention, blas
from autograd_tape.executors.kernels._on_demand import use_numba
from autograd_tape.ops.networks import attention as ops


def _reference(q, k, v, mask, causal, scale):
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    s = q @ k.swapaxes(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask
    if causal:
        s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, -np.inf)
    top = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isinf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total) @ v


CASES = {
    "one head": ((5, 4), (7, 4), (7, 3), None, False, None),
    "heads": ((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6), None, False, 0.3),
    "causal": ((2, 6, 4), (2, 6, 4), (2, 6, 4), None, True, None),
    "causal wide": ((2, 3, 4), (2, 6, 4), (2, 6, 4), None, True, None),
    "causal tall": ((2, 6, 4), (2, 3, 4), (2, 3, 4), None, True, None),
    "bool mask": ((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6), (2, 1, 5, 7), False, None),
    "added mask": ((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6), (5, 7), False, None),
    "broadcast": ((2, 3, 5, 4), (3, 7, 4), (1, 7, 6), None, False, None),
}


@pytest.mark.parametrize("name", CASES)
def test_forward_and_vjp(name, kernels, dtype, rng, close):
    *shapes, mask_shape, causal, scale = CASES[name]
    q, k, v = (rng.standard_normal(s).astype(dtype) for s in shapes)
    mask = None
    if mask_shape:
        mask = rng.standard_normal(mask_shape).astype(dtype) if name == "added mask" else rng.random(mask_shape) < 0.7
    y, lse = attention.scaled_dot_product_attention(q, k, v, mask, causal, scale)
    close(y, _reference(q, k, v, mask, causal, scale), 4)
    g = rng.standard_normal(y.shape).astype(dtype)
    needs_mask = name == "added mask"
    grads = attention.scaled_dot_product_attention_backward(g, q, k, v, y, lse, mask, causal, scale, needs_mask)
    arrays = [q, k, v, mask] if needs_mask else [q, k, v]
    assert needs_mask or grads[3] is None
    for i, a in enumerate(arrays):
        assert grads[i].shape == a.shape
        assert grads[i].dtype == dtype
        step = rng.standard_normal(a.shape)
        sides = []
        for sign in (1e-5, -1e-5):
            inputs = [q, k, v, mask]
            inputs[i] = a.astype(np.float64) + sign * step
            sides.append((g * _reference(*inputs, causal, scale)).sum())
        tolerance = 2e-4 if dtype == np.float32 else 1e-7
        np.testing.assert_allclose(
            (grads[i] * step).sum(), (sides[0] - sides[1]) / 2e-5, rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize("name", CASES)
def test_blocks_of_queries(name, kernels, dtype, rng, close, monkeypatch):
    """The same, some queries at a time, with keys left out that none of them may look at."""
    *shapes, mask_shape, causal, scale = CASES[name]
    q, k, v = (rng.standard_normal(s).astype(dtype) for s in shapes)
    mask = rng.standard_normal(mask_shape).astype(dtype) if mask_shape else None
    if mask is not None:
        mask[..., :2, 3:] = mask[..., 2:4, :1] = mask[..., 4:, :] = -np.inf
        if name == "bool mask":
            mask = mask > -0.5
    arguments = mask, causal, scale
    y, lse = attention.scaled_dot_product_attention(q, k, v, *arguments)
    g = rng.standard_normal(y.shape).astype(dtype)
    needs_mask = name == "added mask"
    grads = attention.scaled_dot_product_attention_backward(g, q, k, v, y, lse, *arguments, needs_mask)
    for constant, value in (("_BLOCK", 1), ("_FEWEST", 2), ("_LONG", 1)):
        monkeypatch.setattr(attention, constant, value)
    found, logs = attention.scaled_dot_product_attention(q, k, v, *arguments)
    close(found, y, 4)
    close(np.exp(-logs), np.exp(-lse), 4)
    again = attention.scaled_dot_product_attention_backward(g, q, k, v, found, logs, *arguments, needs_mask)
    for mine, other in zip(again, grads, strict=True):
        assert (mine is None) is (other is None)
        if mine is not None:
            np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)


def test_memory_is_not_quadratic(kernels):
    """Scores of 2048 queries and keys are 16 MB at once; a quarter of that is enough."""
    q = np.ones((1, 2048, 8), np.float32)
    mask = np.ones((1, 2048), bool)
    y, lse = attention.scaled_dot_product_attention(q, q, q, mask)  # compiled by now
    for call in (lambda: attention.scaled_dot_product_attention(q, q, q, mask),
                 lambda: attention.scaled_dot_product_attention_backward(y, q, q, q, y, lse, mask)):
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 << 20


def test_hidden_rows_nan_and_empty(kernels, dtype):
    q, k, v = np.ones((3, 2), dtype), np.ones((4, 2), dtype), np.ones((4, 5), dtype)
    mask = np.ones((3, 4), bool)
    mask[1] = False
    y, lse = attention.scaled_dot_product_attention(q, k, v, mask)
    assert (y[1] == 0).all()
    np.testing.assert_allclose(y[[0, 2]], 1, rtol=1e-6)
    grads = attention.scaled_dot_product_attention_backward(np.ones_like(y), q, k, v, y, lse, mask)
    assert all(np.isfinite(grad).all() for grad in grads[:3])
    assert (grads[0][1] == 0).all()
    q[0, 0] = math.nan
    y, _ = attention.scaled_dot_product_attention(q, k, v, mask)
    assert np.isnan(y[0]).all()
    assert np.isfinite(y[1:]).all()
    y, _ = attention.scaled_dot_product_attention(np.ones((3, 2), dtype), k[:0], v[:0])
    assert y.shape == (3, 5)
    assert (y == 0).all()
    assert attention.scaled_dot_product_attention(q[:0], k, v)[0].shape == (0, 5)


def test_many_heads_share_the_pool(kernels, dtype, rng, close):
    q, k, v = rng.standard_normal((3, 24, 96, 8)).astype(dtype)
    close(attention.scaled_dot_product_attention(q, k, v)[0], _reference(q, k, v, None, False, None), 4)


@pytest.mark.parametrize("rows, keys, size, wide", [(1, 200, 16, 16), (3, 70, 5, 9), (9, 33, 64, 1), (1, 5, 3, 2)])
@pytest.mark.parametrize("masked", ["nothing", "added", "hidden", "both", "causal"])
def test_few_queries(rows, keys, size, wide, masked, kernels, dtype, rng, close):
    """By one kernel, or as few calls of NumPy: with masks that hide all keys of a query, and NaN in one that nobody hides."""
    q, k, v = [rng.standard_normal((2, n, m)).astype(dtype) for n, m in ((rows, size), (keys, size), (keys, wide))]
    bias = rng.standard_normal((rows, keys)).astype(dtype) if masked in ("added", "both") else None
    seen = rng.random((2, 1, keys)) > 0.3 if masked in ("hidden", "both") else None
    y, lse, p = ops._small(q, k, v, 0.5, seen, bias, masked == "causal")
    both = bias if seen is None else np.where(seen, 0 if bias is None else bias, -math.inf).astype(dtype)
    expected = attention.scaled_dot_product_attention(q, k, v, both, masked == "causal", 0.5)[0]
    assert lse is None and y.dtype == p.dtype == dtype
    close(y, expected, 4)
    close(p @ v, expected, 4)
    if masked == "hidden":
        seen[1] = False
        assert not ops._small(q, k, v, 0.5, seen)[0][1].any()
        q[0, 0] = math.nan
        y = ops._small(q, k, v, 0.5, seen)[0]
        assert np.isnan(y[0, 0]).all() and np.isfinite(y[0, 1:]).all() and not y[1].any()


def test_memory_is_not_quadratic_without_kernels():
    previous = use_numba("numpy")
    try:
        assert not ops._is_small(np.ones((1, 2048, 8)), 2048)
    finally:
        use_numba(previous)


def test_blas_uses_as_many_threads_as_it_is_told():
    if blas._openblas() is None:
        pytest.skip("NumPy is not linked to OpenBLAS")
    count, _ = blas._openblas()
    before = count()
    try:
        blas.set_num_threads(1)
        assert count() == 1
        blas.set_num_threads(2)
        with blas.one_blas_thread():
            assert count() == 1
            blas.set_num_threads(1)
        assert count() == 1
    finally:
        blas.set_num_threads(before)


def test_values_of_hidden_keys_count_where_they_are_not_finite(kernels, dtype):
    q, v = np.ones((1, 3, 8), dtype), np.ones((1, 6, 2), dtype)
    v[0, 5, 0] = math.inf
    y = ops._small(q, np.ones((1, 6, 8), dtype), v, 1.0, None, None, True)[0]
    assert np.isnan(y[0, :, 0]).all() and (y[0, :, 1] == 1).all()
