"""In-place updates through views of TensorRefs: the same numbers as torchcompat, as finite differences, and on every tape."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings

import torchcompat as torch
from autograd_tape import AutogradError, BackwardOptions, F, GradManager, Tape, TensorRef, backward, get_default_tape, grad, no_grad
from autograd_tape.errors import NoGradError

from .view_programs import UPDATES, VIEWS, programs, run

START = np.array([[-2.0, 0.7, 1.3], [0.4, -0.9, 2.1]])
CONSTANT = np.array([[0.2, -0.6, 0.9], [1.1, 0.3, -0.4]])


def leaf(*values: float) -> TensorRef:
    return TensorRef.of(np.array(values), requires_grad=True)


def message(error: Exception) -> str:
    return getattr(error, "message", str(error))


def on_tensorrefs(program: list[Any], explicit: bool, twice: bool) -> Any:
    x = TensorRef.of(START.copy(), requires_grad=True)
    tape = Tape() if explicit else None
    with nullcontext() if tape is None else tape:
        loss, refused = run(program, x, TensorRef.of(CONSTANT.copy()), no_grad)
        try:
            if not twice:
                found = backward(loss, tape)[x.id]
            else:
                (g,) = grad(loss, [x], tape, create_graph=True)
                found = [g.numpy(), *([] if not g.requires_grad else grad(F.sum(g * g), [x], tape))]
        except AutogradError as error:
            found = message(error)
    return loss.numpy(), refused, found


def on_tensors(program: list[Any], twice: bool) -> Any:
    x = torch.tensor(START.tolist(), dtype=torch.float64, requires_grad=True)
    loss, refused = run(program, x, torch.tensor(CONSTANT.tolist(), dtype=torch.float64), torch.no_grad)
    try:
        if not twice:
            loss.backward()
            found = x.grad.numpy()
        else:
            (g,) = torch.autograd.grad(loss, [x], create_graph=True)
            found = [g.detach().numpy()]
            if g.requires_grad:
                (second,) = torch.autograd.grad((g * g).sum(), [x], allow_unused=True)
                found.append(None if second is None else second.numpy())
    except RuntimeError as error:
        found = message(error)
    return loss.detach().numpy(), refused, found


def assert_same(mine: Any, theirs: Any) -> None:
    assert mine[1] == theirs[1], "what is refused, and why"
    np.testing.assert_array_equal(mine[0], theirs[0])
    if isinstance(theirs[2], str) or isinstance(mine[2], str):
        assert mine[2] == theirs[2]
    else:
        for a, b in zip(mine[2] if isinstance(mine[2], list) else [mine[2]], theirs[2] if isinstance(theirs[2], list) else [theirs[2]],
                        strict=True):
            np.testing.assert_array_equal(np.zeros(()) if a is None else a, np.zeros(()) if b is None else b)


@settings(max_examples=150, deadline=None)
@given(programs(modes=True))
def test_both_front_ends_agree_to_the_last_bit_on_every_tape(program: list[Any]) -> None:
    theirs = on_tensors(program, False)
    for explicit in (False, True):
        assert_same(on_tensorrefs(program, explicit, False), theirs)


@settings(max_examples=60, deadline=None)
@given(programs())
def test_both_front_ends_agree_on_second_derivatives(program: list[Any]) -> None:
    theirs = on_tensors(program, True)
    for explicit in (False, True):
        assert_same(on_tensorrefs(program, explicit, True), theirs)


@settings(max_examples=60, deadline=None)
@given(programs())
@example([("view", "expand", 0, 0, False), ("update", "set all", 2, 0, False)])
def test_gradients_agree_with_finite_differences(program: list[Any]) -> None:
    # What `as_strided` reads of its base beside the view that it is called on has no gradient, as in torch.
    assume(not any([name == "strided" for _, name, *_ in program]))
    _, refused, found = on_tensorrefs(program, False, False)
    if isinstance(found, str):
        assert "modified by an inplace operation" in found or "is a view and" in found or "refers to a single memory location" in found
        return

    def value(array: np.ndarray) -> float:
        x = TensorRef.of(array, requires_grad=True)  # so that the same is refused
        total, again = run(program, x, TensorRef.of(CONSTANT.copy()), no_grad)
        assert again == refused
        return total.item()

    eps = 1e-6
    for at in np.ndindex(START.shape):
        up, down = START.copy(), START.copy()
        up[at] += eps
        down[at] -= eps
        np.testing.assert_allclose(found[at], (value(up) - value(down)) / (2 * eps), rtol=1e-4, atol=1e-6)


class TestByHand:
    """One program of each kind, its gradient worked out on paper."""

    def test_a_number_written_into_a_computed_tensor(self) -> None:
        x = leaf(-2.0, 2.0)
        y = x * 1.0
        y[0] = 5.0
        np.testing.assert_array_equal(backward(F.sum(y * y))[x.id], [0.0, 4.0])

    def test_a_tensor_written_into_a_computed_one(self) -> None:
        x = leaf(-2.0, 2.0)
        y = x * 1.0
        y[0] = x[1] * 3.0
        np.testing.assert_array_equal(backward(F.sum(y * y))[x.id], [0.0, 2 * 6.0 * 3.0 + 4.0])

    def test_a_tensor_written_into_a_plain_one(self) -> None:
        x, b = leaf(-2.0, 2.0), TensorRef.of(np.zeros(2))
        b[0] = x[0]
        assert b.requires_grad and not b.is_leaf
        np.testing.assert_array_equal(backward(F.sum(b * b))[x.id], [-4.0, 0.0])

    def test_a_view_used_after_its_base_changed(self) -> None:
        x = leaf(1.0, 2.0)
        y = x * 1.0
        v = y[0:1]
        y.mul_(3.0)
        np.testing.assert_array_equal(backward(F.sum(v * v))[x.id], [18.0, 0.0])

    def test_a_chain_of_views(self) -> None:
        x = TensorRef.of(np.arange(12.0).reshape(3, 4), requires_grad=True)
        y = x * 1.0
        v = y[1:]
        w = v.transpose(0, 1)
        w[2].mul_(10.0)
        v.diagonal().fill_(0.0)
        expected = np.ones((3, 4))
        expected[1:, 2] = 10.0
        expected[1, 0] = expected[2, 1] = 0.0
        np.testing.assert_array_equal(backward(F.sum(y))[x.id], expected)

    def test_a_view_written_to_a_base_without_history_has_one_afterwards(self) -> None:
        x, b = leaf(3.0, 4.0), TensorRef.of(np.zeros(4))
        half, other = b[:2], b[2:]
        b.reshape(2, 2)[0].copy_(x)
        assert half.requires_grad and other.requires_grad
        np.testing.assert_array_equal(backward(F.sum(half * half))[x.id], [6.0, 8.0])

    def test_memory_that_runs_backwards(self) -> None:
        x, b = leaf(3.0, 4.0), TensorRef.over(np.arange(8.0)[::-2])
        v = b[1:3]
        v.copy_(x)
        np.testing.assert_array_equal(b.numpy(), [7.0, 3.0, 4.0, 1.0])
        for t in (b, v):
            np.testing.assert_array_equal(backward(F.sum(t * t), options=BackwardOptions(retain_graph=True))[x.id], [6.0, 8.0])

    def test_memory_between_other_fields_is_refused_before_anything_changes(self) -> None:
        records = np.zeros(3, np.dtype([("flag", "i1"), ("value", "f8")]))
        b, x = TensorRef.over(records["value"]), leaf(3.0)
        with pytest.raises(AutogradError, match="steps are no multiple.*copy"):
            b[0:1].copy_(x)
        assert not records["value"].any() and not b.requires_grad

    def test_one_number_in_several_places_is_refused(self) -> None:
        y = leaf(1.0, 2.0) * 1.0
        wide = y.unsqueeze(0).expand((3, 2))
        with pytest.raises(AutogradError, match="more than one element of the written-to tensor"):
            wide.mul_(2.0)


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_leaves_and_their_views_refuse_updates_and_stay_as_they_are(view: str) -> None:
    x = TensorRef.of(START.copy(), requires_grad=True)
    try:
        v = VIEWS[view](x)
    except (AutogradError, ValueError):
        v = VIEWS[view](x := TensorRef.of(START[:1].copy(), requires_grad=True))
    for target, text in ((x, "a leaf"), (v, "leaf|view")):
        for update in UPDATES.values():
            before = x.numpy().copy()
            with pytest.raises((AutogradError, IndexError), match=text + "|memory location|out of range|shape|too many|invalid index"):
                update(target, TensorRef.of(np.ones(()), requires_grad=False))
            np.testing.assert_array_equal(x.numpy(), before)
    with no_grad():
        x.mul_(2.0)


class TestTapes:
    def test_every_history_is_on_the_tape(self) -> None:
        x = leaf(1.0, 2.0, 3.0)
        with Tape() as tape:
            y = x * 1.0
            v, w = y[:2], y[1:]
            v.mul_(x[0])
            loss = F.sum(y * y)
        for t in (y, v, w, loss):
            assert tape.get_creator(t) is t.creator is tape.get_entry(t.id)
        assert [e.id for e in tape.entries] == sorted(e.id for e in tape.entries)
        np.testing.assert_array_equal(backward(loss, tape)[x.id], [4 * 1.0 + 2 * 4 * 1.0, 4.0, 6.0])

    def test_each_of_two_nested_tapes_holds_it(self) -> None:
        x = leaf(1.0, 2.0)
        with Tape() as outer, Tape() as inner:
            y = x * 2.0
            y[0] *= 3.0
            loss = F.sum(y)
        for tape in (inner, outer):
            np.testing.assert_array_equal(backward(loss, tape, options=BackwardOptions(retain_graph=True))[x.id], [6.0, 2.0])

    def test_changing_what_was_saved_is_an_error_through_any_view(self) -> None:
        for view in (lambda t: t[0:1], lambda t: t.reshape(1, 2)[0]):
            x = leaf(1.0, 2.0)
            y = x * 1.0
            loss = F.sum(y * y)
            view(y).mul_(2.0)
            with pytest.raises(AutogradError, match="modified by an inplace operation"):
                backward(loss)

    def test_a_view_with_a_gradient_of_its_own_refuses_updates(self) -> None:
        x = leaf(1.0, 2.0)
        with Tape() as tape:
            y = x * 1.0
            v = y[0:1]
            tape.record("slice", [y], v, lambda g, saved: [np.array([100.0, 0.0]) * g])
            assert backward(F.sum(v * 1.0), tape, options=None)[x.id].tolist() == [100.0, 0.0]
        with pytest.raises(AutogradError, match="custom Function"):
            v.mul_(2.0)

    def test_a_changed_tensor_keeps_a_custom_gradient_from_before(self) -> None:
        x = leaf(1.0, 2.0)
        y = x * 1.0
        get_default_tape().record("mul", [x, x], y, lambda g, saved: [g * 10.0, None])
        y[0] = 0.0
        np.testing.assert_array_equal(backward(F.sum(y))[x.id], [0.0, 10.0])

    def test_retained_gradients_follow_the_tensor(self) -> None:
        manager, x = GradManager(), leaf(1.0, 2.0)
        y = x * 1.0
        manager.retain_grad(y)
        y[0:1].mul_(3.0)
        manager.retain_grad(y)
        manager.backward(F.sum(y * y))
        np.testing.assert_array_equal(manager.get_grad(y), [6.0, 4.0])

    def test_views_made_without_recording(self) -> None:
        x = leaf(1.0, 2.0)
        y = x * 1.0
        with no_grad():
            v = y[0:1]
        assert v.requires_grad and v.is_leaf
        with pytest.raises(AutogradError, match="A view was created in no_grad mode and is being modified inplace"):
            v.mul_(2.0)
        with pytest.raises(NoGradError, match="does not require grad"):
            with no_grad():
                w = x * 2.0
            backward(w)
