"""The `tape` of a backward pass decides what is walked: whichever tapes hold the output, recorded or by hand, nested, stopped, cleared."""

from __future__ import annotations

import gc
from typing import Any
from collections.abc import Callable

import numpy as np
import pytest

from autograd_tape import (
    BackwardOptions, F, GradManager, NoGradError, OpSpec, Tape, TensorRef, backward, get_default_tape, grad, no_grad, topological_order,
)
from autograd_tape.errors import ArgumentError


def leaf(*values: float) -> TensorRef:
    return TensorRef.of(np.array(values), requires_grad=True)


def rule(factor: float) -> Callable[[Any, Any], list[Any]]:
    """The gradient of `mul(x, x)` as if it were `factor * sum(x)`: to see whose rule was used."""
    return lambda g, saved: [g * factor, None]


KEEP = BackwardOptions(retain_graph=True)
PASSES: dict[str, Callable[[TensorRef, TensorRef, Any], Any]] = {
    "backward": lambda y, x, tape: backward(y, tape)[x.id],
    "backward, retained": lambda y, x, tape: backward(y, tape, options=KEEP)[x.id],
    "backward, several": lambda y, x, tape: backward([y], tape, grad_outputs=[np.ones(())])[x.id],
    "backward, inputs": lambda y, x, tape: backward(y, tape, options=BackwardOptions(inputs=[x]))[x.id],
    "grad": lambda y, x, tape: grad(y, [x], tape)[0],
    "grad, retained": lambda y, x, tape: grad(y, [x], tape, retain_graph=True)[0],
    "grad, recorded": lambda y, x, tape: grad(y, [x], tape, create_graph=True)[0].numpy(),
    "manager": lambda y, x, tape: GradManager().backward(y, tape)[x.id],
    "manager, managed": lambda y, x, tape: managed(y, x, tape),
}


KEEPS = ("backward, retained", "grad, retained", "grad, recorded")
"""Those that leave the tape as it is."""


def managed(y: TensorRef, x: TensorRef, tape: Any) -> Any:
    manager = GradManager()
    manager.set_requires_grad(x)
    manager.clear_grad(x)
    backward(y, tape)
    return manager.get_grad(x)


def square(x: TensorRef) -> TensorRef:
    return F.sum(x * x)


@pytest.mark.parametrize("name", PASSES)
class TestWhoHoldsTheOutput:
    def test_this_tape(self, name: str) -> None:
        x = leaf(3.0)
        with Tape() as tape:
            y = square(x)
        assert PASSES[name](y, x, tape) == 6.0
        assert len(tape) >= 2 if name in KEEPS else len(tape) == 0

    @pytest.mark.parametrize("state", ["used", "empty", "cleared", "stopped", "recording"])
    def test_another_tape_only(self, name: str, state: str) -> None:
        x, tape = leaf(3.0), Tape()
        if state == "recording":
            tape.start_recording()
        if state != "empty":
            with tape:
                other = square(x)
        if state == "cleared":
            tape.clear()
        if state == "recording":
            tape.stop_recording()
        with Tape() as holds:
            y = square(x)
        before = len(tape)
        if state == "recording":
            tape.start_recording()
        try:
            with pytest.raises(NoGradError, match="is not on this tape. Expected .*, found .*To fix it, pass the tape that recorded it"):
                PASSES[name](y, x, tape)
        finally:
            tape.stop_recording()
        assert len(tape) == before and len(holds) == 2, "nothing was cleared"
        assert backward(y, holds)[x.id] == 6.0, "nothing was freed"
        if before:
            assert backward(other, tape)[x.id] == 6.0

    def test_no_tape(self, name: str) -> None:
        x = leaf(3.0)
        y = square(x)
        with Tape() as tape:
            other = square(x)
        with pytest.raises(NoGradError, match="is not on this tape"):
            PASSES[name](y, x, tape)
        assert len(tape) == 2 and backward(other, tape)[x.id] == 6.0 and backward(y)[x.id] == 6.0

    def test_both_tapes(self, name: str) -> None:
        x = leaf(3.0)
        with Tape() as outer, Tape() as inner:
            y = square(x)
        assert PASSES[name](y, x, inner) == 6.0
        assert len(outer) >= 2 and PASSES[name](y, x, outer) == 6.0, "what one frees the other keeps"
        if name not in KEEPS:
            with pytest.raises(NoGradError, match="a second time"):
                PASSES[name](y, x, outer)

    @pytest.mark.parametrize("explicit", [False, True])
    def test_the_default_tape(self, name: str, explicit: bool) -> None:
        x = leaf(3.0)
        if explicit:
            with Tape():
                y = square(x)
        else:
            y = square(x)
        assert PASSES[name](y, x, get_default_tape()) == 6.0

    def test_no_tape_named_inside_a_block(self, name: str) -> None:
        x = leaf(3.0)
        y = square(x)
        with Tape() as tape:
            z = square(x)
            assert PASSES[name](y, x, None) == 6.0, "the block's tape has nothing to do with it"
            assert tape.get_entry_for_tensor(z) is not None
            assert PASSES[name](z, x, None) == 6.0

    def test_a_part_is_on_another_tape(self, name: str) -> None:
        x = leaf(3.0)
        with Tape() as outer:
            h = x * x
            with Tape() as inner:
                y = F.sum(h * h)
        with pytest.raises(NoGradError, match="the output of 'mul' that 'mul' takes, is not on this tape"):
            PASSES[name](y, x, inner)
        assert grad(y, [h], inner, retain_graph=True)[0] == 18.0, "it can end there"
        assert len(inner) == 2 and PASSES[name](y, x, outer) == 4 * 27.0

    def test_a_part_is_on_no_explicit_tape(self, name: str) -> None:
        x = leaf(3.0)
        h = x * x
        with Tape() as tape:
            y = F.sum(h * h)
        assert PASSES[name](y, x, tape) == 4 * 27.0
        with Tape(retain_graph=True) as tape:
            h = x * x
        y = F.sum(h * h)
        assert PASSES[name](y, x, tape) == 4 * 27.0

    def test_each_tape_has_its_own_rule(self, name: str) -> None:
        x = leaf(3.0)
        with Tape() as first, Tape() as second:
            y = x * x
            before = F.sum(y * 1.0)
            first.record("mul", [x, x], y, rule(10.0))
            second.record("mul", [x, x], y, rule(1000.0))
            after = F.sum(y * 1.0)
        for tape, factor in ((second, 1000.0), (first, 10.0)):
            for loss in (before, after):
                assert tape.get_entry_for_tensor(y).grad_fn(1.0, ())[0] == factor
                if "recorded" in name:
                    assert PASSES[name](loss, x, tape) == factor
                else:
                    assert grad(loss, [x], tape, retain_graph=True)[0] == factor
                    assert grad(loss, [y], tape, retain_graph=True)[0] == 1.0
            ids = topological_order(tape, [after])
            assert ids == sorted(ids, reverse=True) and y.id in ids and x.id not in ids
            graph = tape.to_graph([after])
            assert [n.op for n in graph.nodes] == ["mul", "mul", "sum"] and graph.replay()[0] == 9.0
            assert PASSES[name](after, x, tape) == factor

    def test_a_declared_output_on_two_tapes(self, name: str) -> None:
        x = leaf(3.0)
        spec = OpSpec("mul", [x, x])
        y = spec.output
        with Tape() as first:
            first.record("mul", [x, x], y, rule(10.0))
        with Tape() as second:
            second.record("mul", [x, x], y, rule(1000.0))
        y.numpy()
        for tape, factor in ((first, 10.0), (second, 1000.0)):
            found = grad(y, [x], tape, grad_outputs=np.ones(1), create_graph="recorded" in name)[0]
            assert (found.numpy() if isinstance(found, TensorRef) else found) == factor


def test_an_output_of_several_recorded_by_hand_on_one_of_two_tapes() -> None:
    for nr in (0, 1):
        x = leaf(3.0, 4.0)
        with Tape(retain_graph=True) as first, Tape(retain_graph=True) as second:
            parts = (x * 1.0).unbind(0)
            before = parts[0] * parts[1]
            first.record("select", [x], parts[nr], lambda g, saved: [np.array([100.0, 100.0]) * g])
            after = parts[0] * parts[1]
        for loss in (before, after):
            np.testing.assert_array_equal(backward(loss, second)[x.id], [4.0, 3.0])
            own = [[0.0, 3.0], [4.0, 0.0]][nr]
            np.testing.assert_array_equal(backward(loss, first)[x.id], np.array([400.0, 300.0])[nr] + np.array(own))
        assert backward(parts[nr], second)[x.id].tolist() == [[1.0, 0.0], [0.0, 1.0]][nr]


def test_what_is_computed_from_itself_is_refused() -> None:
    x = leaf(3.0)
    with Tape() as tape:
        y = x * x
        z = y * 2.0
        tape.record("mul", [z, x], y, rule(10.0))
    with pytest.raises(ArgumentError, match="computed from its own output.*Expected inputs that do not depend on the output"):
        backward(F.sum(z), tape)


def test_inputs_newer_than_the_output_they_are_recorded_for() -> None:
    x = leaf(3.0)
    with Tape() as tape:
        y = x * x
        z = y * 2.0
        q = x * 5.0
        tape.record("mul", [q, x], y, lambda g, saved: [g * 10.0, None])
        loss = F.sum(z * y * q)
    expected = 2 * 9.0 * 2 * 15.0 * 10.0 * 5.0 + 2 * 81.0 * 5.0
    assert backward(loss, tape, options=KEEP)[x.id] == expected
    assert topological_order(tape, [loss])[0] == loss.id
    assert backward(loss, tape)[x.id] == expected


def test_only_tapes_are_tapes() -> None:
    x = leaf(3.0)
    for wrong in ("tape", 3, Tape):
        with pytest.raises(ArgumentError, match="takes a tape. Expected a Tape, or None"):
            backward(square(x), wrong)  # type: ignore[arg-type]


def test_looking_at_outputs_that_are_not_there() -> None:
    x = leaf(3.0)
    y = square(x)
    with Tape() as tape:
        square(x)
    for look in (lambda: topological_order(tape, [y]), lambda: tape.to_graph([y])):
        with pytest.raises((NoGradError, ArgumentError), match="is not on th"):
            look()
    assert tape.get_entry_for_tensor(y) is None and tape.get_dependencies(y) == []
    assert topological_order(tape, [x]) == []


def test_leaves_and_asked_inputs_are_on_any_tape() -> None:
    x = leaf(3.0)
    h = x * x
    assert backward(x, Tape())[x.id] == 1.0
    assert backward(h, Tape(), options=BackwardOptions(inputs=[h]))[h.id] == 1.0


def test_a_tape_that_is_gone_holds_nothing() -> None:
    x = leaf(3.0)
    with Tape() as forgotten:
        h = x * x
    with Tape() as tape:
        y = F.sum(h * h)
    gc.disable()
    try:
        del forgotten
        assert backward(y, tape)[x.id] == 4 * 27.0
    finally:
        gc.enable()


def test_a_step_inside_no_grad_is_on_no_tape() -> None:
    x = leaf(3.0)
    with Tape() as tape:
        with no_grad():
            h = x * x
        y = F.sum(h * x)
    assert backward(y, tape)[x.id] == 9.0
