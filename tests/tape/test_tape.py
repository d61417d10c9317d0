"""Tapes: recording, looking, thread-local defaults, lifetimes, OpSpecs."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import autograd_tape as at
from autograd_tape import F, GradMode, OpSpec, Tape, TensorRef, backward, cpu_executor, no_grad
from autograd_tape.errors import ArgumentError, DTypeError, NoGradError, ShapeMismatchError, TapeNotRecordingError
from autograd_tape.tape import DefaultTape, clear_default_tape, get_default_tape, set_default_tape
from autograd_tape.modes import grad_mode


def leaf(*values: float) -> TensorRef:
    return TensorRef.of(np.array(values), requires_grad=True)


class TestRecording:
    def test_a_block_records_what_needs_a_gradient_and_nothing_else(self) -> None:
        x, c = leaf(1.0, 2.0), TensorRef.of([3.0, 4.0])
        with Tape() as tape:
            y = x * c
            _ = c * c
            z = F.sum(y)
        _ = x * x
        assert [e.op_name for e in tape.entries] == ["mul", "sum"]
        assert [e.op_name for e in tape] == ["mul", "sum"] and len(tape) == 2
        first, second = tape.entries
        assert first.inputs[0] is x and first.inputs[1] is c and first.output is y
        assert second.inputs == (y,) and second.output is z and first.id < second.id

    def test_ids_are_found_and_grow(self) -> None:
        x = leaf(1.0)
        with Tape() as tape:
            y = x * x
            z = y * x
        assert tape.get_entry_for_tensor(y) is tape.get_entry(y.id) is tape.get_creator(y) is y.creator
        assert tape.tensor_to_entry == {y.id: y.creator.id, z.id: z.creator.id}
        assert tape.get_creator(x) is None
        assert tape.requires_grad(z) and tape.requires_grad(x) and not tape.requires_grad(TensorRef.of([1.0]))
        with pytest.raises(KeyError, match="among 2"):
            tape.get_entry(10**9)

    def test_dependencies_are_all_ancestors_nearest_first(self) -> None:
        x, w = leaf(1.0), leaf(2.0)
        with Tape() as tape:
            y = x * w
            z = y * y
            loss = F.sum(z)
        found = tape.get_dependencies(loss)
        assert [id(t) for t in found] == [id(z), id(y), id(x), id(w)]
        assert tape.get_dependencies(x) == []

    def test_start_and_stop(self) -> None:
        x, tape = leaf(1.0), Tape()
        assert not tape.is_recording
        tape.start_recording()
        assert tape.is_recording
        y = x * x
        tape.stop_recording()
        x * x
        assert [e.output for e in tape.entries] == [y]
        tape.clear()
        assert tape.entries == [] and tape.tensor_to_entry == {}

    def test_an_exception_ends_the_block(self) -> None:
        tape, outer = Tape(), get_default_tape()
        with pytest.raises(ZeroDivisionError), tape:
            raise ZeroDivisionError
        assert not tape.is_recording and get_default_tape() is outer

    def test_no_grad_inside_a_block_records_nothing(self) -> None:
        x = leaf(1.0)
        with Tape() as tape, no_grad():
            y = x * x
        assert not y.requires_grad and len(tape) == 0

    def test_both_of_two_nested_tapes_record_and_one_clear_spares_the_other(self) -> None:
        x = leaf(3.0)
        with Tape() as outer, Tape() as inner:
            y = F.sum(x * x)
        inner.clear()
        assert [e.op_name for e in outer.entries] == ["mul", "sum"]
        assert outer.entries[1].output is y and outer.entries[0].inputs[0] is x
        assert backward(y, outer)[x.id] == 6.0

    def test_recording_a_block_twice_continues_the_tape(self) -> None:
        x, tape = leaf(1.0), Tape()
        with tape:
            y = x * x
        with tape:
            F.sum(y)
        assert [e.op_name for e in tape.entries] == ["mul", "sum"]

    def test_in_place_operations_make_new_values(self) -> None:
        x = leaf(1.0, 2.0)
        with Tape() as tape:
            y = x * x
            before = y.id
            y.mul_(2.0)
        assert y.id != before
        assert tape.entries[1].value_ids == ((before,), (y.id,))


class TestRecordByHand:
    def test_values_are_computed_when_asked_for(self) -> None:
        ex = cpu_executor()
        x, w = TensorRef.declare((2, 2), "float64", requires_grad=True), TensorRef.declare((2, 2), "float64", requires_grad=True)
        with Tape() as tape:
            y = OpSpec("mul", [x, w]).output
            id = tape.record("mul", [x, w], y)
            loss = OpSpec("sum", [y]).output
            tape.record("sum", [y], loss)
        assert not y.has_data and y.shape == (2, 2) and loss.shape == () and tape.get_entry(id).op_name == "mul"
        ex.bind(x, [[1, 2], [3, 4]]), ex.bind(w, [[5, 6], [7, 8]])
        grads = backward(loss, tape, ex)
        np.testing.assert_array_equal(grads[x.hash], [[5, 6], [7, 8]])
        np.testing.assert_array_equal(grads[w.hash], [[1, 2], [3, 4]])
        assert loss.item() == 70.0

    def test_only_what_is_needed_is_computed(self) -> None:
        x, y = TensorRef.declare((3,), "float64"), TensorRef.declare((3,), "float64")
        total, other = OpSpec("sum", [x]).output, OpSpec("sum", [y]).output
        cpu_executor().bind(x, np.ones(3))
        assert total.item() == 3.0
        with pytest.raises(NoGradError, match="has no data"):
            other.numpy()

    def test_further_arguments_reach_the_kernel_and_the_gradient(self) -> None:
        x = TensorRef.of(np.arange(6.0).reshape(2, 3), requires_grad=True)
        with Tape() as tape:
            spec = OpSpec("sum", [x], dim=1, keepdim=True)
            tape.record(spec)
        assert spec.output.shape == (2, 1)
        grads = backward(spec.output, tape, grad_outputs=[np.array([[1.0], [10.0]])])
        np.testing.assert_array_equal(grads[x.id], [[1, 1, 1], [10, 10, 10]])

    def test_a_long_lazy_chain_does_not_recurse(self) -> None:
        x = TensorRef.declare((1,), "float64", requires_grad=True)
        y = x
        with Tape() as tape:
            for _ in range(3000):
                spec = OpSpec("neg", [y])
                tape.record(spec)
                y = spec.output
        cpu_executor().bind(x, [2.0])
        assert y.numpy() == 2.0
        assert backward(y, tape)[x.id] == 1.0

    def test_on_the_default_tape(self) -> None:
        x = leaf(1.0, 2.0)
        y = OpSpec("mul", [x, x]).output
        at.get_default_tape().record("mul", [x, x], y)
        assert at.get_default_tape().get_creator(y) is y.creator
        np.testing.assert_array_equal(backward(F.sum(y * 1.0) if y.has_data else y, grad_outputs=[np.ones(2)])[x.id], [2.0, 4.0])

    def test_it_takes_the_place_of_what_the_front_end_recorded(self) -> None:
        x = leaf(3.0)
        with Tape() as tape:
            y = x * x
            tape.record("mul", [x, x], y, lambda g, saved: [g * 100, None])
        assert len(tape) == 1
        assert backward(y, tape)[x.id] == 100.0

    def test_a_stopped_tape_refuses(self) -> None:
        x = leaf(1.0)
        with pytest.raises(TapeNotRecordingError, match="Expected a recording tape, found a stopped one. To fix it, record inside"):
            Tape().record("mul", [x, x], TensorRef.declare((1,)))

    def test_bad_arguments(self) -> None:
        x, y = leaf(1.0), TensorRef.declare((1,), "float64")
        with Tape() as tape:
            with pytest.raises(ArgumentError, match="argument 0 is none. Expected TensorRef, found ndarray"):
                tape.record("neg", [np.ones(1)], y)
            with pytest.raises(ArgumentError, match="also its input"):
                tape.record("neg", [x], x)
            with pytest.raises(ArgumentError, match="cannot be called"):
                tape.record("neg", [x], y, grad_fn=3)
            with pytest.raises(ArgumentError, match="needs the inputs and the output"):
                tape.record("neg")

    def test_a_declared_shape_that_is_wrong_is_found(self) -> None:
        x, y = leaf(1.0, 2.0), TensorRef.declare((3,), "float64")
        with Tape() as tape:
            tape.record("neg", [x], y)
        with pytest.raises(ShapeMismatchError, match=r"Expected \(2,\), found \(3,\)"):
            y.numpy()


class TestOpSpec:
    def test_shape_errors_come_when_it_is_made(self) -> None:
        with pytest.raises(at.AutogradError, match="size|shape"):
            OpSpec("mul", [TensorRef.declare((2, 3)), TensorRef.declare((2, 4))])

    def test_unknown_operations(self) -> None:
        with pytest.raises(at.AutogradError, match="no operation 'matmull'.*use"):
            OpSpec("matmull", [TensorRef.declare((2, 3))])

    def test_inputs_must_be_tensors_and_as_many_as_the_schema_has(self) -> None:
        with pytest.raises(ArgumentError, match="input 0 of 'neg' is none"):
            OpSpec("neg", [np.ones(2)])
        with pytest.raises(ArgumentError, match="needs more tensors.*found 1"):
            OpSpec("mul", [TensorRef.declare((2,))])
        with pytest.raises(ArgumentError, match="fewer tensors"):
            OpSpec("neg", [TensorRef.declare((2,)), TensorRef.declare((2,))])

    def test_bind_checks_shape_and_dtype(self) -> None:
        ex, x = cpu_executor(), TensorRef.declare((2, 3), "float32")
        with pytest.raises(ShapeMismatchError, match=r"Expected \(2, 3\), found \(3, 2\)"):
            ex.bind(x, np.ones((3, 2), np.float32))
        with pytest.raises(DTypeError, match=r"Expected float32, found float64. To fix it, convert it with array.astype\('float32'\)"):
            ex.bind(x, np.ones((2, 3)))
        array = np.ones((2, 3), np.float32)
        bound = ex.bind(x, array)
        array += 1.0
        np.testing.assert_array_equal(bound.numpy(), np.ones((2, 3)), err_msg="the caller's array is copied")
        with pytest.raises(ArgumentError, match="bind data to the leaves"):
            ex.bind(OpSpec("neg", [x]).output, array)
        with pytest.raises(ArgumentError, match="takes a tensor"):
            ex.bind(array, array)

    def test_repr_shows_the_call(self) -> None:
        assert repr(OpSpec("sum", [TensorRef.declare((2, 3))], dim=1)) == "OpSpec(sum(float32[2, 3], dim=1) -> float32[2])"


class TestDefaultTape:
    def test_nesting_restores_the_previous_tape(self) -> None:
        base, a, b = get_default_tape(), Tape(), Tape()
        with a:
            assert get_default_tape() is a
            with b:
                assert get_default_tape() is b
            assert get_default_tape() is a
        assert get_default_tape() is base

    def test_set_and_clear(self) -> None:
        base, tape = get_default_tape(), Tape()
        set_default_tape(tape)
        assert get_default_tape() is tape
        clear_default_tape()
        assert get_default_tape() is not tape and isinstance(get_default_tape(), DefaultTape)
        set_default_tape(base)
        with pytest.raises(ArgumentError, match="takes a Tape"):
            set_default_tape("tape")

    def test_each_thread_has_its_own(self) -> None:
        found = []
        with Tape() as tape:
            thread = threading.Thread(target=lambda: found.append((get_default_tape(), grad_mode(), F.sum(leaf(1.0) * 2.0))))
            with no_grad():
                thread.start()
                thread.join()
        other, mode, result = found[0]
        assert other is not tape and mode is GradMode.ENABLED and result.requires_grad
        assert len(tape) == 0, "another thread's operations are not recorded here"

    def test_a_graph_dies_with_its_outputs(self) -> None:
        x = leaf(1.0, 2.0)
        y = x * x
        entry, middle = weakref.ref(y.creator), y * 2.0
        gc.disable()
        try:
            del y
            assert entry() is not None, "the graph of `middle` needs it"
            del middle
            assert entry() is None, "nothing holds it, and no garbage collection was necessary"
        finally:
            gc.enable()

    def test_its_entries_are_the_live_ones(self) -> None:
        x = leaf(1.0)
        y = x * x
        assert y.creator in get_default_tape().entries
        assert get_default_tape().get_entry(y.id) is y.creator
        id = y.id
        del y
        with pytest.raises(KeyError, match="no live entry"):
            get_default_tape().get_entry(id)

    def test_stopping_it_is_no_grad(self) -> None:
        tape = get_default_tape()
        try:
            tape.stop_recording()
            assert not tape.is_recording and not (leaf(1.0) * 2.0).requires_grad
        finally:
            tape.start_recording()
        assert tape.is_recording

    @pytest.mark.parametrize("explicit", [False, True])
    def test_a_training_step_leaves_no_garbage(self, explicit: bool) -> None:
        w, data = leaf(1.0, 2.0), TensorRef.of([3.0, 4.0])
        gm = at.GradManager()
        gm.set_requires_grad(w, True)

        def step() -> None:
            if explicit:
                with Tape() as tape:
                    loss = F.sum(w * data * w)
                backward(loss, tape)
            else:
                backward(F.sum(w * data * w))
            gm.clip_grad_norm([w], 1.0)
            gm.clear_all_grads()

        step()
        gc.collect()
        gc.disable()
        try:
            step()
            assert gc.collect() == 0
        finally:
            gc.enable()


def test_the_modes_nest_and_decorate() -> None:
    @no_grad()
    def mode() -> GradMode:
        return grad_mode()

    assert mode() is GradMode.DISABLED and grad_mode() is GradMode.ENABLED
    with no_grad():
        with at.GradManager().enable_grad():
            assert grad_mode() is GradMode.ENABLED
        assert grad_mode() is GradMode.DISABLED
