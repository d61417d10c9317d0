"""Declared operations (`OpSpec`): among operations that are carried out at once, and again with other data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.ops.op_cases import bind, is_array, samples, tree_map
from tests.tape.test_replay_all_records import NAMES

import autograd_tape as at
from autograd_tape import F, OpSpec, Tape, TensorRef, backward, cpu_executor
from autograd_tape.held import tensors_in
from autograd_tape.ops import RECORDS

EX, KEEP = cpu_executor(), at.BackwardOptions(retain_graph=True)
W = np.array([3.0, 4.0])


@pytest.mark.parametrize("name", NAMES)
def test_operations_take_what_was_declared(name: str) -> None:
    """Whatever an operation does with data it does with an OpSpec's output, which is computed then."""
    def result(make: Any) -> list[np.ndarray]:
        with at.no_grad(), np.errstate(all="ignore"):
            call = bind(RECORDS[name], next(iter(samples(RECORDS[name]))))
            args, kwargs = tree_map(lambda x: make(np.asarray(x)) if is_array(x) else x, call)
            found = F.function(name)(*args, **kwargs)
            return [t.numpy() for t in tensors_in(args[0] if found is None else found)] or [np.asarray(found)]

    def declared(a: np.ndarray) -> TensorRef:
        return OpSpec("clone", [TensorRef.of(a)]).output

    for found, wanted in zip(result(declared), result(TensorRef.of), strict=True):
        if RECORDS[name].field("fused"):
            np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-14)
        else:
            np.testing.assert_array_equal(found, wanted)


def test_what_cannot_be_computed_says_so() -> None:
    y = OpSpec("neg", [TensorRef.declare((2,), "float64")]).output
    for function in (F.exp, F.ravel, lambda t: F.cat([t, t]), lambda t: t + 1.0):
        with pytest.raises(at.NoGradError, match="has no data.*bind it"):
            function(y)
    assert not y.has_data


def mixed(x: TensorRef, w: TensorRef) -> tuple[Tape, TensorRef, TensorRef]:
    """A tape of declared and other operations: sum(exp(x * w) * (w * 2)), and exp's output."""
    with Tape(retain_graph=True) as tape:
        product = OpSpec("mul", [x, w])
        tape.record(product)
        power = OpSpec("exp", [product.output])
        tape.record(power)
        twice = w * 2.0
        weighted = OpSpec("mul", [power.output, twice])
        tape.record(weighted)
        loss = OpSpec("sum", [weighted.output])
        tape.record(loss)
    return tape, power.output, loss.output


def check(loss: TensorRef, tape: Tape | None, x: TensorRef, w: TensorRef, data: np.ndarray) -> None:
    np.testing.assert_allclose(loss.item(), (np.exp(data * W) * 2 * W).sum())
    grads = backward(loss, tape)
    np.testing.assert_allclose(grads[x], np.exp(data * W) * 2 * W * W)
    np.testing.assert_allclose(grads[w], np.exp(data * W) * 2 * (data * W + 1))


@pytest.mark.parametrize("look", [True, False], ids=["value first", "gradient first"])
def test_a_declared_tape_runs_again(look: bool) -> None:
    x, w = TensorRef.declare((2,), "float64", requires_grad=True), TensorRef.of(W, requires_grad=True)
    tape, _, loss = mixed(x, w)
    names = [entry.op_name for entry in tape.entries]
    for data in ([0.1, 0.2], [0.3, 0.4], [0.1, 0.2]):
        EX.bind(x, data)
        if look:
            check(loss, tape, x, w, np.array(data))
        else:
            grads = backward(loss, tape)
            np.testing.assert_allclose(grads[x], np.exp(np.array(data) * W) * 2 * W * W)
            check(loss, tape, x, w, np.array(data))
        assert [entry.op_name for entry in tape.entries] == names and tape.get_creator(loss) is loss.creator
        assert [entry.holders for entry in tape.entries] == [1] * 5
        np.testing.assert_allclose(tape.to_graph(loss).replay()[0], loss.numpy())


def test_several_leaves_bound_anew() -> None:
    x, y = TensorRef.declare((2,), "float64", requires_grad=True), TensorRef.declare((2,), "float64", requires_grad=True)
    with Tape(retain_graph=True) as tape:
        z = OpSpec("mul", [x, y])
        tape.record(z)
    for a, b in (([1, 2], [3, 4]), ([5, 6], [7, 8])):
        EX.bind(x, a), EX.bind(y, b)
        assert z.output.tolist() == [a[0] * b[0], a[1] * b[1]]
        assert backward(z.output, tape, grad_outputs=np.ones(2))[x].tolist() == b


def test_without_a_tape() -> None:
    x = TensorRef.of([1.0, 2.0])
    y = OpSpec("neg", [OpSpec("exp", [x]).output]).output
    y.numpy()
    EX.bind(x, [0.0, 0.0])
    assert not y.has_data and y.tolist() == [-1.0, -1.0]


def test_what_was_computed_at_once_keeps_its_value_and_says_so() -> None:
    x, w = TensorRef.declare((2,), "float64", requires_grad=True), TensorRef.of(W, requires_grad=True)
    tape, power, loss = mixed(x, w)
    EX.bind(x, [1.0, 1.0])
    at_once = F.sum(power * 1.0)
    before = at_once.item()
    np.testing.assert_allclose(backward(at_once, options=KEEP)[x], np.exp(W) * W)
    EX.bind(x, [0.5, 0.5])
    assert at_once.item() == before
    for output in (at_once, F.add(at_once, loss)):
        with pytest.raises(at.AutogradError, match="modified by an inplace operation"):
            backward(output, options=KEEP)
    anew = F.sum(power * 1.0)
    np.testing.assert_allclose(backward(anew, options=KEEP)[x], np.exp(0.5 * W) * W)
    check(loss, tape, x, w, np.array([0.5, 0.5]))


def test_updates_in_place_are_no_new_data() -> None:
    x = TensorRef.of([1.0, 2.0], requires_grad=True)
    with Tape() as tape:
        y = OpSpec("mul", [x, x])
        tape.record(y)
    assert y.output.tolist() == [1.0, 4.0]
    with at.no_grad():
        x.mul_(2.0)
    assert y.output.tolist() == [1.0, 4.0]
    with pytest.raises(at.AutogradError, match="modified by an inplace operation"):
        backward(y.output, tape, grad_outputs=[np.ones(2)])


def test_views_of_a_value_stay_with_it() -> None:
    x = TensorRef.of([1.0, 2.0])
    y = OpSpec("neg", [x]).output
    y.numpy()
    first = y[:1]
    EX.bind(x, [5.0, 6.0])
    assert first.tolist() == [-1.0] and y.tolist() == [-5.0, -6.0] and first.tolist() == [-1.0]
