"""Recurrences against steps in double precision, their gradients against finite differences, and arguments that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.executors.kernels import recurrent
from autograd_tape.executors.kernels._on_demand import use_numba

SIZES = {"whole": (3, 3, 3, 3), "packed": (3, 3, 2, 1), "one step": (3,)}


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _reference(mode, x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, sizes, reverse):
    """Each sequence by itself, one step after another."""
    starts = np.cumsum([0, *sizes])
    y, last_h, last_c = np.zeros((len(x), h.shape[1])), h.copy(), None if c is None else c.copy()
    for i in range(len(h)):
        steps = [t for t, n in enumerate(sizes) if i < n]
        for t in reversed(steps) if reverse else steps:
            a, b = w_ih @ x[starts[t] + i], w_hh @ last_h[i]
            a, b = a if b_ih is None else a + b_ih, b if b_hh is None else b + b_hh
            if mode == "LSTM":
                gi, gf, gg, go = np.split(a + b, 4)
                last_c[i] = _sigmoid(gf) * last_c[i] + _sigmoid(gi) * np.tanh(gg)
                new = _sigmoid(go) * np.tanh(last_c[i])
                last_h[i] = new if w_hr is None else w_hr @ new
            elif mode == "GRU":
                (ar, az, an), (br, bz, bn) = np.split(a, 3), np.split(b, 3)
                z, new = _sigmoid(az + bz), np.tanh(an + _sigmoid(ar + br) * bn)
                last_h[i] = (1 - z) * new + z * last_h[i]
            else:
                last_h[i] = np.tanh(a + b) if mode == "RNN_TANH" else np.maximum(a + b, 0)
            y[starts[t] + i] = last_h[i]
    return y, last_h, last_c


def _arguments(rng, mode, sizes, biases=True, projects=False, size=4, features=3):
    gates, out, n = recurrent.GATES[mode] * size, 2 if projects else size, sizes[0]
    r = rng.standard_normal
    return [r((sum(sizes), features)), r((n, out)), r((n, size)) if mode == "LSTM" else None, r((gates, features)), r((gates, out)),
            r(gates) if biases else None, r(gates) if biases else None, r((out, size)) if projects else None]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("mode", ["LSTM", "LSTM projected", "GRU", "RNN_TANH", "RNN_RELU"])
@pytest.mark.parametrize("one_by_one", [False, True])
def test_steps_and_gradients(mode, name, reverse, one_by_one, kernels, dtype, rng, close, monkeypatch):
    if one_by_one:  # as with many sequences
        monkeypatch.setattr(recurrent, "_ONE", 0)
        monkeypatch.setattr(recurrent, "_FEW", 0)
    mode, projects = mode.split()[0], " " in mode
    sizes = SIZES[name]
    for biases in (True, False):
        wide = _arguments(rng, mode, sizes, biases, projects)
        given = [None if a is None else a.astype(dtype) for a in wide]
        wide = [None if a is None else a.astype(np.float64) for a in given]
        y, h, c, gates, kept = recurrent.forward(mode, *given, sizes, reverse)
        expected = _reference(mode, *wide, sizes, reverse)
        for found, e in zip((y, h, c), expected):
            if e is not None:
                close(found, e, 8)
        weights = [None if e is None else rng.standard_normal(e.shape) for e in expected]
        needs = [a is not None for a in given]
        grads = recurrent.backward(mode, *[None if w is None else w.astype(dtype) for w in weights], *given[:5], given[7], y, gates, kept,
                                   sizes, reverse, needs)

        def loss(values):
            return sum((e * w).sum() for e, w in zip(_reference(mode, *values, sizes, reverse), weights) if w is not None)

        for i, a in enumerate(wide):
            if a is None:
                assert grads[i] is None
                continue
            direction = rng.standard_normal(a.shape)
            step = 1e-6
            ends = [loss([*wide[:i], a + sign * step * direction, *wide[i + 1:]]) for sign in (1, -1)]
            slope = (ends[0] - ends[1]) / (2 * step)
            assert grads[i].dtype == dtype and grads[i].shape == a.shape
            np.testing.assert_allclose((grads[i] * direction).sum(), slope, rtol=2e-3 if dtype == np.float32 else 1e-5,
                                       atol=1e-3 if dtype == np.float32 else 1e-6)


def test_nothing_given_is_no_gradient(kernels, dtype, rng):
    x, h, c, w_ih, w_hh, b_ih, b_hh, _ = [None if a is None else a.astype(dtype) for a in _arguments(rng, "LSTM", (2, 2))]
    y, _, _, gates, kept = recurrent.forward("LSTM", x, h, c, w_ih, w_hh, b_ih, b_hh, None, (2, 2), False)
    grads = recurrent.backward("LSTM", None, None, None, x, h, c, w_ih, w_hh, None, y, gates, kept, (2, 2), False, (True,) * 7 + (False,))
    assert all([not g.any() for g in grads[:7]])


def test_a_nan_stays_in_its_sequence(kernels, dtype, rng):
    for mode in recurrent.GATES:
        x, *rest = [None if a is None else a.astype(dtype) for a in _arguments(rng, mode, (2, 2))]
        x[0] = np.nan
        y, *_ = recurrent.forward(mode, x, *rest, (2, 2), False)
        assert np.isnan(y[0::2]).all() and np.isfinite(y[1::2]).all()


@pytest.mark.parametrize("change", range(1, 7))
def test_shapes_that_do_not_fit_are_refused(change, kernels, dtype, rng):
    given = [None if a is None else a.astype(dtype) for a in _arguments(rng, "LSTM", (3, 2))]
    given[change] = given[change][:-1]
    with pytest.raises(ValueError, match="do not fit"):
        recurrent.forward("LSTM", *given, (3, 2), False)


@pytest.mark.parametrize("sizes", [(2, 3), (5, 0), (3, 3), (4, 1, -0)])
def test_sizes_that_do_not_fit_are_refused(sizes, kernels, dtype, rng):
    given = [None if a is None else a.astype(dtype) for a in _arguments(rng, "GRU", (3, 2))]
    with pytest.raises(ValueError, match="do not fit"):
        recurrent.forward("GRU", *given, sizes, False)


def test_other_dtypes_are_refused(kernels, rng):
    given = _arguments(rng, "GRU", (3, 2))
    with pytest.raises(TypeError, match="all in one"):
        recurrent.forward("GRU", given[0].astype("f4"), *given[1:], (3, 2), False)


@pytest.mark.parametrize("projects", [False, True])
@pytest.mark.parametrize("mode", recurrent.GATES)
def test_steps_of_bfloat16_have_the_bits_of_their_operations(mode, projects, rng):
    """Whether one kernel computes a step, or each operation rounds, and whatever is recorded."""
    projects = projects and mode == "LSTM"
    given = _arguments(rng, mode, (5, 5, 5), True, projects)
    x, h, c, *weights = [None if a is None else torch.tensor(a, dtype=torch.bfloat16) for a in given]
    own = [w for w in weights if w is not None]
    states = h[None] if c is None else (h[None], c[None])
    found = []
    for kernels in ("numba", "numpy"):
        before = use_numba(kernels)
        try:
            for recorded in (False, True):
                params = [w.clone().requires_grad_(recorded) for w in own]
                results = getattr(torch, mode.lower())(x.reshape(3, 5, 3), states, params, True, 1, 0.0, False, False, False)
                found.append([t.detach().float().numpy() for t in results])
        finally:
            use_numba(before)
    for others in found[1:]:
        for a, b in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(a, b)
