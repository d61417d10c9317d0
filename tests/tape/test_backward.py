"""backward, grad, topological_order, and the engine behind them."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd_tape as at
from autograd_tape import (
    BackwardContext,
    BackwardOptions,
    F,
    OpSpec,
    Tape,
    TensorRef,
    accumulate_cotangent,
    backward,
    grad,
    reduce_to_shape,
    topological_order,
)
from autograd_tape.errors import ArgumentError, NoGradError, NoGradFnError, ShapeMismatchError

from .random_programs import programs, run


def leaf(*values: float) -> TensorRef:
    return TensorRef.of(np.array(values), requires_grad=True)


class TestBackward:
    def test_leaves_get_gradients_of_their_shape_and_dtype(self) -> None:
        x = TensorRef.of(np.float32([[1, 2, 3]]), requires_grad=True)
        w = TensorRef.of(np.float32([[2], [3]]), requires_grad=True)
        grads = backward(F.sum(x * w))
        assert set(grads) == {x.id, w.id}
        np.testing.assert_array_equal(grads[x.id], np.float32([[5, 5, 5]]))
        np.testing.assert_array_equal(grads[w.id], np.float32([[6], [6]]))
        assert grads[x.id].dtype == np.float32

    def test_gradients_may_be_changed_by_their_owner(self) -> None:
        x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
        cotangent = np.ones(2)
        grads = backward(x + y, grad_outputs=[cotangent])
        grads[x.id] *= 5
        np.testing.assert_array_equal(grads[y.id], [1, 1])
        np.testing.assert_array_equal(cotangent, [1, 1])
        grads = backward(F.sum(x))
        grads[x.id] *= 5
        np.testing.assert_array_equal(grads[x.id], [5, 5])

    def test_several_outputs_with_cotangents(self) -> None:
        x = leaf(1.0, 2.0)
        y, z = x * 2.0, x * x
        grads = backward([y, z], grad_outputs=[np.array([1.0, 10.0]), np.array([100.0, 1000.0])])
        np.testing.assert_array_equal(grads[x.id], [2 + 200, 20 + 4000])
        options = BackwardOptions(grad_outputs=[np.array([1.0, 10.0]), np.array([100.0, 1000.0])])
        np.testing.assert_array_equal(backward([x * 2.0, x * x], options=options)[x.id], [202, 4020])

    def test_inputs_may_be_intermediate_and_prune_the_rest(self) -> None:
        x, w = leaf(2.0), leaf(3.0)
        y = x * w
        grads = backward(F.sum(y * y), options=BackwardOptions(inputs=[y, w]))
        assert set(grads) == {y.id, w.id} and grads[y.id] == 12.0 and grads[w.id] == 24.0

    def test_a_tape_is_cleared_unless_retained(self) -> None:
        x = leaf(3.0)
        with Tape() as tape:
            loss = F.sum(x * x)
        backward(loss, tape, options=BackwardOptions(retain_graph=True))
        assert len(tape) == 2
        assert backward(loss, tape)[x.id] == 6.0
        assert len(tape) == 0
        with pytest.raises(NoGradError, match="a second time"):
            backward(loss, tape)
        with Tape(retain_graph=True) as kept:
            loss = F.sum(x * x)
        backward(loss, kept), backward(loss, kept)
        assert len(kept) == 2

    def test_a_hand_recorded_graph_is_freed_as_well(self) -> None:
        x = leaf(3.0)
        with Tape() as tape:
            spec = OpSpec("mul", [x, x])
            tape.record(spec)
        assert backward(spec.output, tape)[x.id] == 6.0
        with pytest.raises(NoGradError, match="a second time"):
            backward(spec.output, tape)

    def test_shared_subexpressions_are_visited_once(self) -> None:
        calls = []

        def rule(g: np.ndarray, saved: list[np.ndarray]) -> list[np.ndarray]:
            calls.append(float(g[0]))
            return [g * 2]

        x = leaf(1.0)
        with Tape() as tape:
            y = TensorRef.of(x.numpy() * 2)
            tape.record("twice", [x], y, rule)
            loss = F.sum(y * 3.0 + y * 4.0)
        assert backward(loss, tape)[x.id] == 14.0
        assert calls == [7.0]

    def test_a_none_gradient_ends_a_path(self) -> None:
        x, w = leaf(1.0), leaf(2.0)
        with Tape() as tape:
            y = TensorRef.of([2.0])
            tape.record("odd", [x, w], y, lambda g, saved: [None, g])
        assert set(backward(y, tape)) == {w.id}

    def test_hand_written_gradients_are_reduced_to_their_input(self) -> None:
        x = leaf(5.0)
        with Tape() as tape:
            y = TensorRef.of(np.full((2, 3), 5.0))
            tape.record("spread", [x], y, lambda g, saved: [g])
        assert backward(y, tape, grad_outputs=[np.ones((2, 3))])[x.id] == 6.0

    def test_what_is_wrong_with_a_hand_written_gradient_is_said(self) -> None:
        x = leaf(5.0, 6.0)

        def run(rule: object) -> None:
            with Tape() as tape:
                y = TensorRef.of([1.0, 2.0])
                tape.record("mine", [x], y, rule)  # type: ignore[arg-type]  # wrong on purpose
            backward(y, tape, grad_outputs=[np.ones(2)])

        with pytest.raises(ShapeMismatchError, match=r"'mine' with respect to input 0.*Expected \(2,\), found \(3,\).*To fix it"):
            run(lambda g, saved: [np.ones(3)])
        with pytest.raises(ShapeMismatchError, match="returned 2 gradients for 1 inputs"):
            run(lambda g, saved: [g, g])
        with pytest.raises(ArgumentError, match="must return a list.*found ndarray"):
            run(lambda g, saved: g)

    def test_an_operation_nobody_can_differentiate(self) -> None:
        x = leaf(1.0)
        with Tape() as tape:
            y = TensorRef.of([1.0])
            tape.record("mystery", [x], y)
        with pytest.raises(NoGradFnError, match=r"'mystery'. Expected a registered GradFn, found none. To fix it, call "
                                                r"register_grad_fn\('mystery'"):
            backward(y, tape)

    def test_bad_calls(self) -> None:
        x = leaf(1.0, 2.0)
        with pytest.raises(NoGradError, match="only for scalar outputs.*found shape"):
            backward(x * x)
        with pytest.raises(NoGradError, match="does not require grad"):
            backward(F.sum(TensorRef.of([1.0])))
        with pytest.raises(ShapeMismatchError, match=r"Expected \(2,\), found \(3,\)"):
            backward(x * x, grad_outputs=[np.ones(3)])
        with pytest.raises(ArgumentError, match="at least one tensor"):
            backward([])
        with pytest.raises(ArgumentError, match="found ndarray"):
            backward([np.ones(2)])
        with pytest.raises(ArgumentError, match="2 cotangents"):
            backward([x * x, x * x], grad_outputs=[np.ones(2)])

    def test_in_place_changes_of_saved_tensors_are_noticed(self) -> None:
        x = leaf(1.0, 2.0)
        y = x * 2.0
        z = F.sum(y * y)
        y.mul_(3.0)
        with pytest.raises(at.AutogradError, match="modified by an inplace operation.*at version 1; expected version 0"):
            backward(z)


class TestForms:
    """Both forms of the specification, and what is taken for what."""

    def test_cotangents_of_one_output_and_of_several(self) -> None:
        x = leaf(1.0, 2.0)
        cotangent = np.array([1.0, 10.0])
        for held in ([cotangent], cotangent, TensorRef.of(cotangent), [TensorRef.of(cotangent)]):
            for call in (lambda g: backward(x * x, grad_outputs=g), lambda g: backward([x * x], grad_outputs=g),
                         lambda g: backward(x * x, None, None, g), lambda g: backward([x * x], None, at.cpu_executor(), g),
                         lambda g: backward(x * x, options=BackwardOptions(grad_outputs=g))):
                np.testing.assert_array_equal(call(held)[x], [2.0, 40.0])
        np.testing.assert_array_equal(backward([x * x, x * 3.0], None, None, [cotangent, cotangent])[x.id], [5.0, 70.0])
        assert backward(F.sum(x * x), grad_outputs=2.0)[x][1] == 8.0

    def test_no_inputs_are_all(self) -> None:
        x, w = leaf(2.0), leaf(3.0)
        for inputs in (None, [], ()):
            assert set(backward(x * w, options=BackwardOptions(inputs=inputs))) == {x.id, w.id}
        assert set(backward(x * w, options=BackwardOptions(inputs=x))) == {x.id}

    @pytest.mark.parametrize("call", [
        lambda x: backward(None), lambda x: backward(3), lambda x: backward("abc"), lambda x: backward([x, None]), lambda x: backward([]),
        lambda x: backward(np.ones(1)), lambda x: backward(x * x, 3), lambda x: backward(x * x, None, 3),
        lambda x: backward(x * x, None, None, 3.5), lambda x: backward(x * x, None, None, BackwardOptions(), "abc"),
        lambda x: backward(x * x, None, None, {"retain_graph": True}), lambda x: BackwardOptions(inputs=3),
        lambda x: BackwardOptions(inputs=[np.ones(1)]), lambda x: BackwardOptions(grad_outputs="abc"),
        lambda x: backward(x * x, None, None, [np.ones(1)], [np.ones(1)]),
        lambda x: grad(None, [x]), lambda x: grad(x * x, 3), lambda x: grad(x * x, [3]), lambda x: topological_order(None, 3),
        lambda x: topological_order(3, x), lambda x: at.BackwardContext().accumulate_grad(3, np.ones(1)),
        lambda x: at.BackwardContext().get_grad(3),
    ])
    def test_misuse_is_an_argument_error_that_says_what_to_do(self, call: Any) -> None:
        with pytest.raises(ArgumentError) as caught:
            call(leaf(1.0))
        assert None not in (caught.value.expected, caught.value.found, caught.value.remedy)


class TestGrad:
    def test_in_the_order_of_the_inputs_and_none_for_the_unused(self) -> None:
        x, w, unused = leaf(2.0), leaf(3.0), leaf(4.0)
        dw, nothing, dx = grad(F.sum(x * x * w), [w, unused, x])
        assert dw == 4.0 and nothing is None and dx == 12.0

    def test_nothing_is_accumulated(self) -> None:
        x, gm = leaf(2.0), at.GradManager()
        gm.set_requires_grad(x, True)
        grad(F.sum(x * x), [x])
        assert gm.get_grad(x) is None

    def test_cotangent_and_retained_graph(self) -> None:
        x = leaf(1.0, 2.0)
        y = x * x
        for _ in range(2):
            (dx,) = grad(y, [x], grad_outputs=np.array([1.0, 10.0]), retain_graph=True)
            np.testing.assert_array_equal(dx, [2.0, 40.0])

    def test_any_order(self) -> None:
        x = leaf(2.0)
        value = F.sum(x * x * x * x)
        for expected in (32.0, 48.0, 48.0, 24.0):
            (value,) = grad(value, [x], create_graph=True)
            assert value.numpy() == expected
            value = F.sum(value)

    def test_second_order_through_hand_recorded_operations(self) -> None:
        x = leaf(2.0)
        with Tape(retain_graph=True) as tape:
            spec = OpSpec("mul", [x, x])
            tape.record(spec)
            loss = F.sum(spec.output * x) if spec.output.numpy() is not None else None
            (dx,) = grad(loss, [x], tape, create_graph=True)
        assert dx.numpy() == 12.0
        assert grad(F.sum(dx), [x], tape)[0] == 12.0

    def test_a_cotangent_that_requires_grad(self) -> None:
        x, v = leaf(3.0), leaf(5.0)
        (dx,) = grad(x * x, [x], grad_outputs=v, create_graph=True)
        assert grad(F.sum(dx), [v])[0] == 6.0

    def test_bad_calls(self) -> None:
        x = leaf(1.0)
        with pytest.raises(NoGradError, match="does not require grad"):
            grad(F.sum(x * x), [TensorRef.of([1.0])])
        with pytest.raises(ArgumentError, match="at least one tensor"):
            grad(F.sum(x * x))
        with pytest.raises(ArgumentError, match="no such option"):
            grad(F.sum(x * x), [x], has_aux=True)

    def test_a_function_gives_the_transform(self) -> None:
        assert at.grad(lambda a, b: a * b)(2.0, 3.0) == 3.0
        assert at.grad(lambda a, b: a * b, 1)(2.0, 3.0) == 2.0
        assert at.grad(lambda a, b: (a * b, "aux"), (0, 1), has_aux=True)(2.0, 3.0) == ((3.0, 2.0), "aux")


class TestOrder:
    def test_descending_ids_of_what_is_behind_the_outputs(self) -> None:
        x = leaf(1.0)
        with Tape() as tape:
            a = x * 2.0
            b = a * 3.0
            x * 7.0
            c = a * b
        assert topological_order(tape, [c]) == sorted([a.id, b.id, c.id], reverse=True)
        assert topological_order(tape, [b]) == [b.id, a.id] and topological_order(None, [x]) == []

    def test_an_entry_comes_before_those_it_depends_on(self) -> None:
        x = leaf(1.0)
        y = x
        made = []
        for i in range(20):
            y = y * x if i % 2 else y + y
            made.append(y)
        order = topological_order(None, [y])
        place = {id: i for i, id in enumerate(order)}
        for tensor in made:
            for edge in tensor.creator.edges:
                if edge is not None and edge._tag == 0:
                    assert place[tensor.id] < place[edge.id]


class TestContext:
    def test_accumulates_and_checks(self) -> None:
        x, context = leaf(1.0, 2.0), BackwardContext()
        assert context.get_grad(x) is None
        context.accumulate_grad(x, np.ones(2))
        context.accumulate_grad(x, np.ones(2))
        np.testing.assert_array_equal(context.get_grad(x), [2, 2])
        with pytest.raises(ShapeMismatchError, match=r"Expected \(2,\), found \(3,\)"):
            context.accumulate_grad(x, np.ones(3))

    def test_accumulate_cotangent_does_not_write_to_what_it_was_given(self) -> None:
        x, first, table = leaf(1.0), np.ones(1), {}
        accumulate_cotangent(table, x, first)
        accumulate_cotangent(table, x, np.ones(1))
        assert table[x.id] == 2.0 and first == 1.0

    @given(st.lists(st.sampled_from([1, 2, 3]), max_size=4), st.integers(0, 4), st.data())
    def test_reduce_to_shape_is_the_adjoint_of_broadcasting(self, shape: list[int], lead: int, data: st.DataObject) -> None:
        big = tuple(data.draw(st.integers(1, 3)) for _ in range(min(lead, 2))) + tuple(
            data.draw(st.integers(1, 3)) if n == 1 else n for n in shape)
        rng = np.random.default_rng(0)
        x, g = rng.standard_normal(shape), rng.standard_normal(big)
        reduced = reduce_to_shape(g, shape)
        assert reduced.shape == tuple(shape)
        np.testing.assert_allclose(np.vdot(np.broadcast_to(x, big), g), np.vdot(x, reduced), atol=1e-12)
        as_tensor = reduce_to_shape(TensorRef.of(g), shape)
        np.testing.assert_allclose(as_tensor.numpy(), reduced)

    def test_reduce_to_shape_refuses_what_broadcasting_cannot_explain(self) -> None:
        with pytest.raises(ShapeMismatchError, match="broadcasts to"):
            reduce_to_shape(np.ones((2, 3)), (4, 3))
        with pytest.raises(ShapeMismatchError):
            reduce_to_shape(np.ones(3), (1, 1, 3))


@pytest.mark.parametrize("name", ["numpy", "mindspore"])
def test_on_each_executor(name: str) -> None:
    reason = at.available_executors()[name]
    if reason:
        with pytest.raises(at.AutogradError):
            at.get_executor(name)
        return
    executor = at.get_executor(name)
    rng = np.random.default_rng(0)
    x, w = TensorRef.declare((2, 3), "float32", requires_grad=True), TensorRef.declare((3, 4), "float32", requires_grad=True)
    a, b = (executor.bind(t, rng.standard_normal(t.shape).astype(np.float32)).numpy() for t in (x, w))
    with Tape() as tape:
        result = None
        for op, inputs in (("matmul", [x, w]), ("relu", None), ("sum", None)):
            spec = OpSpec(op, inputs or [result])
            tape.record(spec)
            result = spec.output
    grads = backward(result, tape, executor)
    mask = (a @ b > 0).astype(np.float32)
    np.testing.assert_allclose(grads[x.id], mask @ b.T, rtol=1e-5)
    np.testing.assert_allclose(grads[w.id], a.T @ mask, rtol=1e-5)
    np.testing.assert_allclose(spec.output.numpy(), (a @ b * mask).sum(), rtol=1e-5)


class TestScale:
    def test_a_chain_of_a_million_operations(self) -> None:
        x = leaf(1.0)
        y = x
        for _ in range(1_000_000):
            y = -y
        assert backward(F.sum(y))[x.id] == 1.0
        del y
        gc.collect()

    def test_a_wide_sum_adds_up(self) -> None:
        x = leaf(1.0)
        total = x * 0.0
        for i in range(1000):
            total = total + x * float(i)
        assert backward(total)[x.id] == sum(range(1000))

    def test_several_threads_through_one_graph_and_through_their_own(self) -> None:
        x = leaf(*np.linspace(0.1, 1.0, 50))
        shared = F.sum(F.exp(x) * x)
        expected = np.exp(x.numpy()) * (1 + x.numpy())
        found: list[np.ndarray] = []
        errors: list[BaseException] = []

        def work() -> None:
            try:
                for _ in range(10):
                    found.append(backward(shared, options=BackwardOptions(retain_graph=True))[x.id])
                    own = TensorRef.of(x.numpy(), requires_grad=True)
                    with Tape() as tape:
                        loss = F.sum(F.exp(own) * own)
                    found.append(backward(loss, tape)[own.id])
                    assert len(tape) == 0
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert not errors and len(found) == 80
        for g in found:
            np.testing.assert_allclose(g, expected)


# -- random expression graphs -----------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(programs(), st.integers(0, 1000))
def test_random_graphs_agree_with_central_differences(program: list[tuple], seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = [rng.standard_normal((2, 3)), rng.standard_normal((1, 3)), rng.standard_normal((2, 1))]
    assert at.check_grad(lambda *leaves: run(program, *leaves), inputs, raise_exception=True).rows


@settings(deadline=None, max_examples=25)
@given(programs(), st.integers(0, 1000))
def test_every_way_to_a_gradient_gives_the_same(program: list[tuple], seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = [rng.standard_normal((2, 3)), rng.standard_normal((1, 3)), rng.standard_normal((2, 1))]
    leaves = [TensorRef.of(x, requires_grad=True) for x in inputs]
    plain = backward(run(program, *leaves))
    with Tape() as tape:
        loss = run(program, *leaves)
    taped = backward(loss, tape)
    recorded = grad(run(program, *leaves), leaves, create_graph=True)
    functional = at.grad(lambda *args: run(program, *args), (0, 1, 2))(*inputs)
    for x, g, array in zip(leaves, recorded, functional):
        expected = plain.get(x.id)
        assert (expected is None) == (g is None) == (taped.get(x.id) is None)
        if expected is None:
            assert not array.any()
        else:
            np.testing.assert_allclose(taped[x.id], expected, rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(g.numpy(), expected, rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(array, expected, rtol=1e-12, atol=1e-14)


def test_gradients_of_computed_tensors_beside_what_they_were_computed_from() -> None:
    from autograd_tape.engine import gradients
    from autograd_tape.executors import get_executor

    x = TensorRef.of([2.0], requires_grad=True)
    y = x * 3.0
    z = F.sum(y * y)
    for inputs, expected in (([y, x], [12.0, 36.0]), ([x], [36.0]), ([y], [12.0]), ([x, x], [36.0, 36.0])):
        found = gradients([z], [None], inputs, get_executor("numpy").F, retain_graph=True)
        np.testing.assert_array_equal(np.concatenate(found), expected)
        np.testing.assert_array_equal(np.concatenate(at.grad(z, inputs, retain_graph=True)), expected)
    assert gradients([z], [None], [x, x], get_executor("numpy").F)[0] is not None and x.grad is None
