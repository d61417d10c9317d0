"""Attention against the formula in double precision, and its vjp against finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autograd_tape.executors.kernels import attention


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
