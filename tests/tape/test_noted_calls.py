"""What a tape holds does not depend on when somebody looks at it: calls are noted as they run, and taken in later."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd_tape import F, Tape, TensorRef, backward, backward_on_trace, no_grad, trace, value_and_grad
from autograd_tape.dtypes import DType
from autograd_tape.modes import noting
from autograd_tape.tape import aside

STEPS: dict[str, Callable[[list[Any]], Any]] = {
    "mul": lambda v: v[-1] * v[0],
    "number": lambda v: 1.0 - v[-1] * 2,
    "exp": lambda v: F.exp(v[-1] * 0.1),
    "compare": lambda v: F.where(v[-1] > 0, v[-1], v[0]),
    "list": lambda v: F.sum(F.stack(list(v[-2:])), 0),
    "several": lambda v: F.max(F.reshape(v[-1], (2, 2)), 1)[0][F.argmax(v[-1]) % 2] + v[-1],
    "view": lambda v: F.reshape(F.transpose(F.reshape(v[-1], (2, 2)), 0, 1), (4,)),
    "part": lambda v: F.cat([v[-1][2:], v[-1][:2]]),
    "without": lambda v: _without(v),
    "in place": lambda v: F.mul_(v[-1] * 1.0, v[0]),
    "written": lambda v: _written(v),
    "through a view": lambda v: _through_a_view(v),
    "irregular": lambda v: v[-1] / (1 + F.norm(v[-1])),
    "by hand": lambda v: _aside(v),
}


def _without(v: list[Any]) -> Any:
    with no_grad():
        constant = v[-1] * 0.5
    return v[-1] + constant


def _written(v: list[Any]) -> Any:
    y = v[-1] * 1.0
    y[1:3] = v[0][:2]
    return y


def _through_a_view(v: list[Any]) -> Any:
    y = v[-1] * 1.0
    part = y[1:]
    before = part * 2
    part.mul_(3.0)
    return y + F.sum(before)


def _aside(v: list[Any]) -> Any:
    with aside():
        constant = TensorRef.of(v[-1].numpy() * 2.0)
    return v[-1] + constant


LOOKS: dict[str, Callable[[Tape, list[Any]], Any]] = {
    "never": lambda tape, v: None,
    "entries": lambda tape, v: tape.entries,
    "length": lambda tape, v: len(tape),
    "graph": lambda tape, v: tape.to_graph(),
    "dependencies": lambda tape, v: tape.get_dependencies(v[-1]),
    "creator": lambda tape, v: v[-1].creator and v[-1].creator.inputs,
    "a number": lambda tape, v: v[-1].shape,
}


def _recorded(steps: list[str], look: str) -> tuple[tuple[Any, ...], list[np.ndarray]]:
    """What a tape holds of a program, as text and numbers."""
    x = TensorRef.of([0.5, -1.0, 2.0, 0.3], requires_grad=True)
    values = [x]
    with Tape(retain_graph=True) as tape:
        for name in steps:
            values.append(STEPS[name](values))
            LOOKS[look](tape, values)
        loss = F.sum(values[-1] * values[-1])
    graph = tape.to_graph(loss)
    text = ([entry.op_name for entry in tape.entries], len(tape.tensor_to_entry), graph.to_dot(),
            [(o.op_name, o.inplace, o.mode, o.written) for o in tape.held.operations])
    again = graph.replay([np.array([1.0, -0.5, 0.1, 0.7])]) if len(graph.inputs) == 1 else []
    return text, [backward(loss, tape)[x.id], *graph.replay(), *again]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5), st.sampled_from(sorted(LOOKS)))
def test_a_tape_holds_the_same_whenever_it_is_looked_at(steps: list[str], look: str) -> None:
    (text, arrays), (other_text, other_arrays) = _recorded(steps, "never"), _recorded(steps, look)
    assert other_text == text
    for array, other in zip(arrays, other_arrays, strict=True):
        np.testing.assert_array_equal(other, array)


@pytest.mark.parametrize("step", STEPS)
def test_what_was_noted_replays(step: str) -> None:
    def program(x: Any) -> Any:
        return F.sum(STEPS[step]([x * 1.0, x]))

    x = TensorRef.of([0.5, -1.0, 2.0, 0.3], requires_grad=True)
    with Tape(retain_graph=True) as tape:
        y = program(x)
    np.testing.assert_array_equal(tape.to_graph(y).replay()[0], y.numpy())
    other = np.array([-0.2, 0.4, 0.1, 3.0])
    if step != "by hand":  # which no tape keeps
        np.testing.assert_allclose(tape.to_graph(y).replay([other])[0], program(TensorRef.of(other)).numpy(), rtol=1e-12)
    np.testing.assert_array_equal(backward(y, tape)[x.id], backward(program(x_ := TensorRef.of(x.numpy(), requires_grad=True)))[x_.id])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(sorted(set(STEPS) - {"by hand"})), min_size=1, max_size=5), st.booleans())
def test_a_trace_runs_again_as_the_function_does(steps: list[str], looks: bool) -> None:
    def program(x: Any) -> Any:
        values = [x]
        for name in steps:
            values.append(STEPS[name](values))
        return F.sum(values[-1] * values[-1])

    t = trace(program, np.array([0.5, -1.0, 2.0, 0.3]))
    for other in np.array([[-0.2, 0.4, 0.1, 3.0], [1.5, -0.5, 0.2, 0.1]]):
        value, gradient = value_and_grad(program)(other)
        np.testing.assert_array_equal(t.refresh_graph_values(other), value)
        if looks:
            assert [node.op_name for node in t.nodes][-2:] == ["mul", "sum"] and t.outputs[0].creator is t.nodes[-1]
        np.testing.assert_array_equal(backward_on_trace(t)[t.inputs[0]], gradient)
        np.testing.assert_array_equal(backward_on_trace(t)[t.inputs[0]], gradient)


def test_a_trace_that_fails_to_run_again_keeps_its_values() -> None:
    calls = []

    def program(x: Any) -> Any:
        return F.sum(F.linalg_inv(x)) if hasattr(F, "linalg_inv") else F.sum(F.inverse(x))

    t = trace(program, np.eye(2))
    calls.append(backward_on_trace(t)[t.inputs[0]])
    with pytest.raises(Exception, match="singular"):
        t.refresh_graph_values(np.zeros((2, 2)))
    np.testing.assert_array_equal(t.output.numpy(), 2.0)
    np.testing.assert_array_equal(backward_on_trace(t)[t.inputs[0]], calls[0])


def test_a_trace_that_draws_draws_once_each_time() -> None:
    from autograd_tape.random import default_generator

    t = trace(lambda x: F.sum(F.dropout(x, 0.5, True)), np.ones(50))
    default_generator.manual_seed(3)
    first, after = t.refresh_graph_values(), default_generator.get_state()
    assert t.nodes and np.array_equal(default_generator.get_state(), after)
    np.testing.assert_array_equal(t.output.numpy(), first)


def test_a_list_is_held_as_it_was() -> None:
    a, b = TensorRef.of([1.0], requires_grad=True), TensorRef.of([2.0])
    parts = [a, b]
    with Tape() as tape:
        y = F.cat(parts)
        parts[0] = b
    (operation,) = tape.held.operations
    assert operation.refs[0] == (a, b) and tape.entries[0].inputs == (a, b) and y.shape == (2,)


def test_entries_are_those_that_the_calls_made_though_the_tensor_was_changed_since() -> None:
    x = TensorRef.of([1.0, 2.0], requires_grad=True)
    with Tape() as tape:
        y = x * 3.0
    made = y.creator
    F.mul_(y, TensorRef.of([2.0, 2.0]))
    assert tape.entries == [made] and y.creator is not made


def test_what_raised_is_not_held() -> None:
    x = TensorRef.of([1.0, 2.0], requires_grad=True)
    with Tape() as tape:
        with pytest.raises(Exception, match="must match the size"):
            x * TensorRef.of([1.0, 2.0, 3.0])
        x * 2.0
    assert [o.op_name for o in tape.held.operations] == ["mul"]


def test_clearing_lets_go_of_what_was_noted() -> None:
    import weakref

    x = TensorRef.of([1.0], requires_grad=True)
    with Tape() as tape:
        gone = weakref.ref(x * 2.0)
        assert gone() is not None
        tape.clear()
        assert gone() is None and not tape.entries
        kept = x * 3.0
    assert [entry.id for entry in tape.entries] == [kept.id]


def test_several_tapes_take_in_what_ran_while_they_recorded() -> None:
    x = TensorRef.of([1.0], requires_grad=True)
    with Tape() as outer:
        x * 2.0
        with Tape() as inner:
            F.exp(x)
            inner.clear()
            F.sin(x)
        x + 1.0
    assert [e.op_name for e in outer.entries] == ["mul", "exp", "sin", "add"] and [e.op_name for e in inner.entries] == ["sin"]
    assert noting.calls is None


def test_calls_of_others_are_not_noted() -> None:
    x = TensorRef.of([1.0], requires_grad=True)

    async def task() -> None:
        x + 1.0

    with Tape() as tape:
        thread = threading.Thread(target=lambda: x * 2.0)
        thread.start()
        thread.join()
        asyncio.run(task())
        with aside():
            F.exp(x)
        F.sin(x)
    assert [o.op_name for o in tape.held.operations] == ["sin"]


def test_a_tape_opened_within_a_held_call_takes_nothing_from_those_around_it() -> None:
    import torchcompat as torch

    inner: list[Tape] = []

    def twice(x: Any) -> Any:
        with Tape() as tape:
            inner.append(tape)
            y = x * 2.0
            z = y.var()
            z.add_(1.0)
        return z + y.exp()

    library = torch.library.Library("tapes_within", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", twice, "CompositeImplicitAutograd")
    x = torch.ones(3, requires_grad=True)
    with Tape(retain_graph=True) as outer:
        y = torch.ops.tapes_within.twice(x * 3.0) * 2.0
    assert [o.op_name for o in outer.held.operations] == ["mul", "tapes_within::twice", "mul"]
    assert [e.op_name for e in outer.entries] == ["mul", "mul", "var_of", "add", "exp", "add", "mul"]
    assert [o.op_name for o in inner[0].held.operations] == ["mul", "var", "add"]
    assert [e.op_name for e in inner[0].entries] == ["mul", "var_of", "add"]
    assert noting.calls is None
    assert [node.op for node in outer.to_graph(y).nodes] == ["mul", "tapes_within::twice", "mul"]


@pytest.mark.parametrize("raises", [lambda x: F.norm(x, p="no norm"), lambda x: F.mul_(x, TensorRef.of([1.0, 2.0, 3.0])),
                                    lambda x: x + TensorRef.of([1.0, 2.0, 3.0]), lambda x: F.cat([x, 1.0]), lambda x: x[5],
                                    lambda x: F.index(x, [TensorRef.of([9])])])
def test_a_call_that_raises_leaves_the_block_as_it_was(raises: Callable[[Any], Any]) -> None:
    x = TensorRef.of([1.0, 2.0], requires_grad=True)
    with Tape() as tape:
        y = x * 2.0
        with pytest.raises(Exception):  # noqa: B017  # of whatever kind
            raises(y)
        z = F.var(y)
    assert [o.op_name for o in tape.held.operations] == ["mul", "var"] and noting.calls is None
    np.testing.assert_array_equal(backward(z, tape)[x], [-4.0, 4.0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_replays(dtype: str) -> None:
    x = TensorRef.of(np.array([0.5, 2.0]).astype(DType.by_name[dtype].np), requires_grad=True)
    with Tape() as tape:
        y = F.exp(x * x)
    np.testing.assert_array_equal(tape.to_graph(y).replay()[0], y.numpy())
