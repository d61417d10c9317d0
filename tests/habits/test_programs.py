"""Random programs of NumPy's functions: the same numbers from tensors as from arrays, and the gradient of differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import autograd_tape as at
import autograd_tape.numpy as anp

Step = Callable[[Any, Any, list[Any]], Any]

# Each step takes the values computed so far, all of one shape (3, 3) and of the size of 1, and makes another.
UNARY: dict[str, Step] = {
    "sin": lambda np, a, v: np.sin(a), "cos": lambda np, a, v: np.cos(a), "tanh": lambda np, a, v: np.tanh(a),
    "exp": lambda np, a, v: np.exp(-a * a), "sqrt": lambda np, a, v: np.sqrt(1 + a ** 2), "log1p": lambda np, a, v: np.log1p(a * a),
    "arctan": lambda np, a, v: np.arctan(a),
    "T": lambda np, a, v: a.T, "flip": lambda np, a, v: a[::-1], "roll": lambda np, a, v: np.roll(a, 1, 0),
    "softmax": lambda np, a, v: np.exp(a) / np.sum(np.exp(a), axis=1, keepdims=True), "cumsum": lambda np, a, v: np.cumsum(a, axis=1) / 3,
    "mean": lambda np, a, v: a - np.mean(a, axis=0), "std": lambda np, a, v: a / (1 + np.std(a, axis=-1, keepdims=True)),
    "norm": lambda np, a, v: a / (1 + np.linalg.norm(a)), "inv": lambda np, a, v: np.linalg.inv(a @ a.T + 2 * np.eye(3)),
    "solve": lambda np, a, v: np.linalg.solve(a @ a.T + np.eye(3), a), "fft": lambda np, a, v: np.real(np.fft.fft(a)) / 3,
    "rfft": lambda np, a, v: np.fft.irfft(np.fft.rfft(a, axis=0), 3, axis=0) * a, "take": lambda np, a, v: np.take(a, [2, 0, 0], axis=0),
    "pick": lambda np, a, v: a[:, [1, 2, 1]] + a[0], "reshape": lambda np, a, v: np.reshape(np.ravel(a), (3, 3), order="F"),
    "tril": lambda np, a, v: np.tril(a) + 0.5 * np.triu(a, 1), "diag": lambda np, a, v: np.diag(np.diag(a)) - a / 2,
    "pad": lambda np, a, v: np.pad(a, 1)[1:-1, :-2] + a, "split": lambda np, a, v: np.concatenate(np.split(a, [1], axis=1)[::-1], axis=1),
    "stack": lambda np, a, v: np.stack([a[0], a[1], np.sum(a, axis=0) / 2]), "einsum": lambda np, a, v: np.einsum("ij,kj->ik", a, a) / 3,
    "list": lambda np, a, v: np.array([[np.sum(a[i]) * a[j, 0] / 3 for j in range(3)] for i in range(3)]),
}
BINARY: dict[str, Step] = {
    "+": lambda np, a, v: a + v[-1], "-": lambda np, a, v: v[-1] - 0.5 * a, "*": lambda np, a, v: a * v[-1],
    "/": lambda np, a, v: a / (1 + v[-1] ** 2), "@": lambda np, a, v: a @ v[-1] / 3, "hypot": lambda np, a, v: np.hypot(a, v[-1] + 3),
    "where": lambda np, a, v: np.where(v[0] > 100, a, v[-1]), "logaddexp": lambda np, a, v: np.logaddexp(a, v[-1]),
    "power": lambda np, a, v: np.power(1 + a ** 2, np.tanh(v[-1])), "outer": lambda np, a, v: np.outer(a[0], v[-1][1]),
    "arctan2": lambda np, a, v: np.arctan2(a, 3 + v[-1] ** 2), "array": lambda np, a, v: np.full((3, 3),
    0.5) * a + np.float64(0.25) * v[-1],
}
STEPS = UNARY | BINARY


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9)), min_size=1, max_size=7), st.integers(0, 2 ** 32 - 1))
def test_programs(program: list[tuple[str, int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, direction = rng.standard_normal((3, 3)), rng.standard_normal((3, 3))

    def f(x: Any) -> Any:
        values = [x]
        for name, which in program:
            values.append(STEPS[name](anp, values[which % len(values)], values))
        return anp.sum(anp.sin(values[-1])) + anp.sum(values[len(values) // 2] ** 2) / 9

    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        value, gradient = at.value_and_grad(f)(x)
        assert np.isclose(value, f(x), rtol=1e-12)
        slope = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
        assert np.isclose(np.sum(gradient * direction), slope, rtol=1e-4, atol=1e-5)
        _, pushed = at.jvp(f, (x,), (direction,))
        assert np.isclose(pushed, np.sum(gradient * direction), rtol=1e-8, atol=1e-10)


def test_every_step_runs_in_some_program() -> None:
    """The strategy draws steps at random; here each runs for certain, twice differentiated."""
    x = np.random.default_rng(3).standard_normal((3, 3))
    for name, step in STEPS.items():
        f = lambda t, step=step: anp.sum(anp.sin(step(anp, t, [t, anp.cos(t)])))
        g = at.transforms.grad(f)
        along = lambda t, g=g: np.sum(np.asarray(g(t)) * x)
        product = at.transforms.grad(lambda t, g=g: anp.sum(g(t) * x))(x)
        slope = (along(x + 1e-6 * x.T) - along(x - 1e-6 * x.T)) / 2e-6
        assert np.isclose(np.sum(product * x.T), slope, rtol=1e-4, atol=1e-4), name
