"""Optimizer steps against the update rules written out in double precision."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from autograd_tape.executors.kernels import optim

STEPS = 3


@pytest.mark.parametrize(
    ("momentum", "dampening", "decay", "nesterov", "maximize"),
    [
        (0, 0, 0, False, False),
        (0, 0, 0.1, False, True),
        (0.9, 0, 0, False, False),
        (0.9, 0.3, 0.1, False, True),
        (0.9, 0, 0.1, True, False),
    ],
)
@pytest.mark.parametrize("shape", [(0,), (1,), (50, 7)])
def test_sgd(momentum, dampening, decay, nesterov, maximize, shape, kernels, dtype, rng, close):
    param = rng.standard_normal(shape).astype(dtype)
    buf = np.full(shape, np.nan, dtype) if momentum else None
    p, b = param.astype(np.float64), None
    for step in range(STEPS):
        grad = rng.standard_normal(shape).astype(dtype)
        kept = grad.copy()
        optim.sgd_step(param, grad, buf, 0.1, momentum, dampening, decay, nesterov, maximize, first=step == 0)
        np.testing.assert_array_equal(grad, kept)
        d = (-1 if maximize else 1) * grad.astype(np.float64) + decay * p
        if momentum:
            b = d if b is None else momentum * b + (1 - dampening) * d
            d = d + momentum * b if nesterov else b
        p = p - 0.1 * d
        close(param, p, 4)
    if momentum:
        close(buf, b, 4)


@pytest.mark.parametrize(
    ("decoupled", "amsgrad", "maximize", "decay"), list(itertools.product(*[[False, True]] * 3, [0.0, 0.1]))
)
def test_adam(decoupled, amsgrad, maximize, decay, kernels, dtype, rng, close):
    shape = (40, 5)
    param = rng.standard_normal(shape).astype(dtype)
    avg, sq, top = np.zeros((3, *shape), dtype)
    p, m, v, x = param.astype(np.float64), 0.0, 0.0, 0.0
    lr, beta1, beta2, eps = 0.01, 0.9, 0.99, 1e-8
    step_fn = optim.adamw_step if decoupled else optim.adam_step
    for step in range(1, STEPS + 1):
        grad = (rng.standard_normal(shape) / step).astype(dtype)
        step_fn(param, grad, avg, sq, top if amsgrad else None, step, lr, beta1, beta2, eps, decay, amsgrad, maximize)
        g = (-1 if maximize else 1) * grad.astype(np.float64)
        if decoupled:
            p = p * (1 - lr * decay)
        else:
            g = g + decay * p
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        x = np.maximum(x, v)
        corrected = (x if amsgrad else v) / (1 - beta2**step)
        p = p - lr * m / (1 - beta1**step) / (np.sqrt(corrected) + eps)
        close(param, p, 8)
    close(avg, m, 4)
    close(sq, v, 4)
    if amsgrad:
        close(top, x, 4)


def test_several_parameters_and_strides(kernels, dtype, rng):
    base = rng.standard_normal((3, 30, 20)).astype(dtype)
    views = [base[0].T, base[1, ::2], base[2].reshape(-1)]
    copies = [v.copy() for v in views]
    grads = [rng.standard_normal(v.shape).astype(dtype) for v in views]
    for params in (views, copies):
        state = [[np.zeros(v.shape, dtype) for v in views] for _ in range(3)]
        optim.adam_steps(params, grads, state[0], state[1], None, [1, 1, 1], 0.1, 0.9, 0.99, 1e-8)
        optim.adamw_steps(params, grads, *state, [2, 2, 2], 0.1, 0.9, 0.99, 1e-8, amsgrad=True)
        optim.sgd_steps(params, grads, state[0], 0.1, momentum=0.9, nesterov=True)
    for view, copy in zip(views, copies, strict=True):
        np.testing.assert_allclose(view, copy, rtol=1e-4 if dtype == np.float32 else 1e-11)


def test_compiled_equals_composed_bit_for_bit_for_sgd(dtype, rng):
    from autograd_tape.executors.kernels import _on_demand

    if not _on_demand.available():
        pytest.skip("Numba is not installed: there are no compiled kernels to compare")
    start, grad = rng.standard_normal((2, 999)).astype(dtype)
    results = []
    for mode in ("numpy", "numba"):
        previous = _on_demand.use_numba(mode)
        p, b = start.copy(), grad.copy()
        optim.sgd_step(p, grad, b, 0.1, 0.9, 0.1, 0.01)
        _on_demand.use_numba(previous)
        results.append(p)
    np.testing.assert_array_equal(*results)


def test_momentum_needs_a_buffer():
    with pytest.raises(ValueError, match="momentum_buf must be an array"):
        optim.sgd_step(np.zeros(2), np.zeros(2), None, 0.1, 0.9)


def test_nan_reaches_the_parameter(kernels, dtype):
    param = np.ones(20, dtype)
    avg, sq, top = np.zeros((3, 20), dtype)
    grad = np.ones(20, dtype)
    grad[3] = math.nan
    optim.adam_step(param, grad, avg, sq, top, 1, 0.1, 0.9, 0.99, 1e-8, amsgrad=True)
    assert np.isnan(param).tolist() == np.isnan(grad).tolist()
    assert np.isnan(top[3])
