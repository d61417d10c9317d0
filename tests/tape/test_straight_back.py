"""The backward pass of a trace as a straight function: what the engine gives, or nothing where the graph is another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd_tape.engine as engine
from autograd_tape import F, TensorRef, backward_on_trace, no_grad, trace, vjp
from autograd_tape.dtypes import float32, float64
from autograd_tape.executors import get_executor
from autograd_tape.straight import straight_back

X, Y = np.array([0.5, -1.0, 2.0, 0.3]), np.array([[0.2], [0.7]])

STEPS: dict[str, Callable[[list[Any]], Any]] = {
    "mul": lambda v: v[-1] * v[0],
    "square": lambda v: v[-1] * v[-1],
    "broadcast": lambda v: F.sum(v[1] * v[-1] + v[1], 0),
    "several": lambda v: F.cat(F.split(v[-1], 2)[::-1]),
    "one of several": lambda v: F.unbind(F.reshape(v[-1], (2, 2)))[1][F.argmax(v[0]) % 2] + v[-1],
    "sum of many": lambda v: F.sum(F.stack([v[-1]] * 4), 0) + v[-1] + v[-1],
    "index": lambda v: v[-1] + v[0][1] * v[0][1:2],
    "narrow": lambda v: F.cast(F.cast(v[-1], float32), float64),
    "number": lambda v: 1.0 - F.tanh(v[-1]) * 2,
    "constant": lambda v: v[-1] * WEIGHT,
}
WEIGHT = TensorRef.of([1.0, 2.0, 3.0, 4.0], requires_grad=True)


@pytest.fixture(autouse=True, scope="module")
def unwatched() -> Iterator[None]:
    """No entry has hooks yet, of other tests'."""
    before, engine.WATCHED[:] = [*engine.WATCHED], []
    yield
    engine.WATCHED[:] = before


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6), st.booleans())
def test_as_the_engine(steps: list[str], refreshed: bool) -> None:
    def program(x: Any, y: Any) -> Any:
        values = [x, y, x * 1.0]
        for name in steps:
            values.append(STEPS[name](values))
        return values[-1], values[2]

    t = trace(program, X, Y)
    wanted = vjp(program, X, Y)[1]((X, X[::-1]))
    for nr in range(4):
        found = backward_on_trace(t, (X, X[::-1]))
        for x, g in zip(t.inputs, wanted):
            np.testing.assert_array_equal(found[x], g)
            assert found[x].dtype == g.dtype and found[x].flags.writeable
            found[x][:] = np.nan  # which is nobody else's
        if refreshed and nr == 2:
            t.refresh_graph_values(X * 0.5, Y)
            wanted = vjp(program, X * 0.5, Y)[1]((X, X[::-1]))
    assert t._pull is not None and WEIGHT.grad is None


def pulled(made: Any, x: TensorRef, run: Any, cotangents: Any = None) -> Any:
    """What the straight function made for one graph gives for another."""
    outputs = [made] if isinstance(made, TensorRef) else list(made)
    others = [run] if isinstance(run, TensorRef) else list(run)
    pull = straight_back([o._node for o in outputs], [x])
    assert pull is not None
    found = pull(get_executor("numpy").F, [o._node for o in others], [np.ones(o.shape) for o in others])
    if found is not None:
        wanted = engine.gradients(others, [np.ones(o.shape) for o in others], [x], get_executor("numpy").F, retain_graph=True)
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-15)
    return found


def test_another_graph_is_refused() -> None:
    x, other = TensorRef.of(X, requires_grad=True), TensorRef.of(X, requires_grad=True)
    shared = F.exp(x)
    graphs = [x * 2.0, x * TensorRef.of(X), x * x, x * other, x + x, (x * 2.0) * (x * 2.0), shared * shared, F.exp(x) * F.exp(x),
              F.cat([x, x]), F.cat([x, x, x]), F.split(x, 2)[0], F.split(x, 2)[1], F.unbind(x)[3], F.unbind(x[:2])[1],
              (F.split(x, 2)[0], F.split(x, 2)[1]), F.split(x, 2)]
    for i, made in enumerate(graphs):
        for j, run in enumerate(graphs):
            several = not isinstance(made, TensorRef), not isinstance(run, TensorRef)
            if several[0] is several[1]:
                # A number and a constant are one to the gradient, and an entry that is used twice may stand for two.
                right = i == j or {i, j} == {0, 1} or (i, j) in ((7, 6), (14, 15))
                assert (pulled(made, x, run) is not None) is right, (i, j)


def test_what_it_does_not_do_is_left_to_the_engine() -> None:
    x, weight = TensorRef.of(X, requires_grad=True), TensorRef.of(X, requires_grad=True)
    assert straight_back([(x * (weight * 2.0))._node], [x]) is None, "what leads to no input need not stay as it is"
    y = x * 1.0
    y[0] = 2.0
    assert straight_back([(y * y)._node], [x]) is None, "entries of updates in place are not of records"
    t = trace(lambda a: F.sum(a * (weight * weight)), X)
    for _ in range(3):
        np.testing.assert_array_equal(backward_on_trace(t)[t.inputs[0]], X * X)
    assert t._pull is None


def test_who_looks_at_passes_sees_them(monkeypatch: pytest.MonkeyPatch) -> None:
    t = trace(lambda a: F.sum(F.exp(a)), X)
    plain = [backward_on_trace(t)[t.inputs[0]] for _ in range(3)]
    seen = []
    monkeypatch.setattr(engine, "observers", engine.observers)
    engine.observers.append(lambda entry, grad, compute: seen.append(entry.op_name) or compute())
    try:
        found = backward_on_trace(t)[t.inputs[0]]
    finally:
        engine.observers.pop()
    assert seen == ["sum", "exp"]
    np.testing.assert_array_equal(found, plain[0])
    np.testing.assert_array_equal(plain[2], plain[0])


def test_hooks_are_called() -> None:
    t = trace(lambda a: F.sum(F.exp(a)), X)
    seen = []
    before = [backward_on_trace(t)[t.inputs[0]] for _ in range(2)][1]
    t.outputs[0].register_hook(lambda g: seen.append(g) or g * 2.0)
    np.testing.assert_array_equal(backward_on_trace(t)[t.inputs[0]], 2.0 * before)
    assert len(seen) == 1
    engine.WATCHED.clear()


def test_what_was_changed_since_is_told() -> None:
    t = trace(lambda a: F.sum(F.exp(a)), X)
    for _ in range(2):
        backward_on_trace(t)
    with no_grad():
        F.mul_(t.outputs[0].creator.inputs[0], 2.0)  # the exponential, which it saved
    with pytest.raises(Exception, match="modified by an inplace operation"):
        backward_on_trace(t)
