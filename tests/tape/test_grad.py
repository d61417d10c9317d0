"""GradManager, the grad modes, the gradient functions by name, and operations of one's own."""

from __future__ import annotations

import gc
import importlib.util
import math
import sys
import threading
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd_tape as at
import torchcompat as torch
from autograd_tape import F, GradManager, GradMode, Operation, OpSpec, Tape, TensorRef, backward, get_grad_fn, has_grad_fn, register_grad_fn
from autograd_tape import modes
from autograd_tape.errors import ArgumentError, NoGradError, NoGradFnError, ShapeMismatchError
from autograd_tape.ops import RECORDS
from autograd_tape.record import OPERATIONS
from autograd_tape.registry import RecordGradFn, unregister_grad_fn
from autograd_tape.manual import vjp_rule


def managed(gm: GradManager, *arrays: np.ndarray) -> list[TensorRef]:
    refs = [TensorRef.of(np.array(a, float)) for a in arrays]
    for ref in refs:
        gm.set_requires_grad(ref, True)
    return refs


class TestModes:
    def test_one_mode_per_thread_for_everybody(self) -> None:
        a, b = GradManager(), GradManager()
        assert a.get_mode() is GradMode.ENABLED
        a.set_mode(GradMode.DISABLED)
        try:
            assert b.mode is GradMode.DISABLED
            found: list[GradMode] = []
            thread = threading.Thread(target=lambda: found.append(b.get_mode()))
            thread.start()
            thread.join()
            assert found == [GradMode.ENABLED]
        finally:
            a.set_mode(GradMode.ENABLED)

    def test_blocks(self) -> None:
        gm = GradManager()
        (x,) = managed(gm, [1.0])
        with gm.disable_grad():
            assert gm.mode is GradMode.DISABLED and not (x * 2.0).requires_grad
            with gm.enable_grad():
                assert (x * 2.0).requires_grad
            with gm.inference_mode():
                assert gm.mode is GradMode.INFERENCE and not (x * 2.0).requires_grad
        with at.no_grad():
            assert gm.mode is GradMode.DISABLED
        assert gm.mode is GradMode.ENABLED


class TestManager:
    def test_backward_brings_gradients_and_adds_them_up(self) -> None:
        gm = GradManager()
        x, w = managed(gm, [1.0, 2.0], [3.0, 4.0])
        other = TensorRef.of([5.0, 6.0], requires_grad=True)
        grads = backward(F.sum(x * w * other))
        np.testing.assert_array_equal(gm.get_grad(x), grads[x.id])
        assert gm.get_grad(other) is not None and set(gm.gradients) == {x.id, w.id}
        backward(F.sum(x * w * other))
        np.testing.assert_array_equal(gm.get_grad(x), 2 * grads[x.id])
        np.testing.assert_array_equal(grads[x.id], [15, 24])
        grads = backward(F.sum(w * 2.0))
        grads[w.id] *= 100
        assert gm.get_grad(w).max() < 100, "what backward returned is the caller's alone"

    def test_its_own_backward_takes_everything(self) -> None:
        gm, other = GradManager(), GradManager()
        x = TensorRef.of([2.0], requires_grad=True)
        (w,) = managed(other, [3.0])
        grads = gm.backward(F.sum(x * w))
        assert gm.get_grad(x) == 3.0 == grads[x.id] and gm.get_grad(w) == 2.0 and other.get_grad(w) == 2.0
        gm.backward(F.sum(x * w))
        assert gm.get_grad(x) == 6.0, "once, although the manager knows the tensor by now"

    def test_set_clear_zero(self) -> None:
        gm = GradManager()
        x, w = managed(gm, [1.0, 2.0], [3.0])
        gm.set_grad(x, [5.0, 6.0])
        gm.zero_grad([x, w])
        np.testing.assert_array_equal(gm.get_grad(x), [0.0, 0.0])
        assert gm.get_grad(w) is None
        gm.set_grad(w, np.array([1.0]))
        gm.clear_grad(x)
        assert gm.get_grad(x) is None and gm.get_grad(w) == 1.0
        gm.set_grad(w, None)
        assert gm.get_grad(w) is None
        gm.set_grad(x, [1.0, 1.0])
        gm.clear_all_grads()
        assert gm.gradients == {} and set(gm.grad_info) == {x.id, w.id}
        with pytest.raises(ShapeMismatchError, match=r"Expected \(2,\), found \(3,\)"):
            gm.set_grad(x, np.ones(3))

    def test_requires_grad_of_leaves_only(self) -> None:
        gm = GradManager()
        (x,) = managed(gm, [1.0])
        y = x * 2.0
        assert gm.requires_grad(x) and gm.requires_grad(y)
        gm.set_requires_grad(x, False)
        assert not gm.requires_grad(x) and not (x * 2.0).requires_grad
        with pytest.raises(NoGradError, match="you can only change requires_grad flags of leaf.*found the output of 'mul'.*To fix it"):
            gm.set_requires_grad(y, False)
        with pytest.raises(ArgumentError, match="floating point and complex.*found int64"):
            gm.set_requires_grad(TensorRef.of([1, 2]), True)
        with pytest.raises(ArgumentError, match="Expected TensorRef, found ndarray"):
            gm.set_requires_grad(np.ones(2), True)

    def test_retain_grad(self) -> None:
        gm = GradManager()
        (x,) = managed(gm, [2.0])
        y = x * 3.0
        z = y * y
        gm.retain_grad(y), gm.retain_grad(y)
        backward(F.sum(z))
        assert gm.get_grad(y) == 12.0 and gm.get_grad(z) is None and gm.get_grad(x) == 36.0
        info = gm.grad_info[y.id]
        assert info.retain_grad and not info.is_leaf and info.requires_grad and info.tensor_ref is y and info.grad_ref.numpy() == 12.0
        assert gm.grad_info[x.id].is_leaf and not gm.grad_info[x.id].retain_grad
        with pytest.raises(NoGradError, match="can't retain_grad"):
            gm.retain_grad(TensorRef.of([1.0]))

    def test_two_managers_may_retain_the_same(self) -> None:
        a, b = GradManager(), GradManager()
        (x,) = managed(a, [2.0])
        y = x * 3.0
        a.retain_grad(y), b.retain_grad(y)
        backward(F.sum(y * y))
        assert a.get_grad(y) == b.get_grad(y) == 12.0

    def test_it_keeps_nothing_alive(self) -> None:
        gm = GradManager()
        x, w = managed(gm, [1.0], [2.0])
        y = x * w
        gm.retain_grad(y)
        backward(F.sum(y))
        assert len(gm.gradients) == 3
        del x, y
        gc.collect()
        assert set(gm.gradients) == {w.id} == set(gm.grad_info)
        import weakref

        me = weakref.ref(gm)
        del gm
        assert me() is None
        backward(F.sum(w * 2.0))

    def test_gradients_of_gradients(self) -> None:
        gm = GradManager()
        (x,) = managed(gm, [2.0])
        backward(F.sum(x * x * x), options=at.BackwardOptions(create_graph=True))
        held = gm.get_grad(x)
        assert isinstance(held, TensorRef) and held.numpy() == 12.0
        assert at.grad(F.sum(held), [x])[0] == 12.0

    def test_from_many_threads(self) -> None:
        gm = GradManager()
        (x,) = managed(gm, [1.0])
        threads = [threading.Thread(target=lambda: [backward(F.sum(x * 2.0)) for _ in range(25)]) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert gm.get_grad(x) == 200.0

    def test_repr(self) -> None:
        assert repr(GradManager()) == "<GradManager: 0 tensors, 0 gradients, mode enabled>"


class TestOneHome:
    """A gradient is kept on its tensor, and a manager shows it."""

    def test_whoever_looks_finds_the_same(self) -> None:
        gm, other = GradManager(), GradManager()
        (x,) = managed(gm, [1.0, 2.0])
        other.set_requires_grad(x)
        F.sum(x * x).backward()
        grads = backward(F.sum(x * x))
        np.testing.assert_array_equal(x.grad.numpy(), [4.0, 8.0])
        for found in (gm.get_grad(x), other.get_grad(x), gm.gradients[x], gm.gradients[x.id], gm.grad_info[x.id].grad_ref.numpy()):
            np.testing.assert_array_equal(found, x.grad.numpy())
        np.testing.assert_array_equal(grads[x], [2.0, 4.0])
        gm.clip_grad_norm([x], 1.0)
        np.testing.assert_allclose(np.linalg.norm(x.grad.numpy()), 1.0, rtol=1e-6)
        other.zero_grad(x)
        np.testing.assert_array_equal(gm.get_grad(x), [0.0, 0.0])
        x.grad = [5.0, 6.0]
        np.testing.assert_array_equal(gm.get_grad(x), [5.0, 6.0])
        gm.clear_grad(x)
        assert x.grad is None and not other.gradients

    def test_the_live_table(self) -> None:
        gm = GradManager()
        x, w = managed(gm, [1.0], [2.0])
        table = gm.gradients
        assert dict(table) == {} and len(table) == 0 and repr(table) == "{}"
        backward(F.sum(x * w))
        assert set(table) == {x.id, w.id} and table[x] == 2.0
        table[x] = [7.0]
        assert x.grad.numpy() == 7.0
        del table[x.id]
        assert x.grad is None and x not in table and w in table
        with pytest.raises(KeyError):
            table[TensorRef.of([1.0])]
        with pytest.raises(KeyError):
            del table[x]

    def test_the_mode_can_be_set(self) -> None:
        gm = GradManager()
        gm.mode = GradMode.DISABLED
        assert at.modes.grad_mode() is GradMode.DISABLED
        gm.mode = GradMode.ENABLED
        with pytest.raises(ArgumentError, match="Expected GradMode.ENABLED, DISABLED or INFERENCE, found 7"):
            gm.mode = 7

    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
    def test_gradients_have_the_dtype_of_their_tensor(self, dtype: str) -> None:
        gm = GradManager()
        x = TensorRef.of(np.ones(2, dtype), requires_grad=True)
        for grad in (np.ones(2), np.ones(2, np.int64), TensorRef.of([1.0, 1.0])):
            gm.accumulate(x, grad)
            assert x.grad.dtype is x.dtype and gm.get_grad(x).dtype == dtype
        gm.set_grad(x, TensorRef.of([1.0, 1.0]))
        assert x.grad.dtype is x.dtype
        np.testing.assert_array_equal(gm.get_grad(x), np.ones(2, dtype))

    def test_of_computed_tensors(self) -> None:
        gm = GradManager()
        (x,) = managed(gm, [2.0])
        y = x * 3.0
        gm.set_requires_grad(y, True)
        keep = at.BackwardOptions(retain_graph=True)
        backward(F.sum(y * y), options=keep)
        assert gm.get_grad(y) is None and y.grad is None, "only what is retained is kept"
        gm.set_grad(y, [1.0])
        assert gm.get_grad(y) == 1.0 and gm.gradients[y] == 1.0
        gm.retain_grad(y)
        backward(F.sum(y * y), options=keep)
        assert y.grad.numpy() == 13.0
        grads = gm.backward(F.sum(y * x), options=at.BackwardOptions(inputs=[y]))
        assert grads[y] == 2.0 and y.grad.numpy() == 15.0, "once"

    def test_hooks(self) -> None:
        x = TensorRef.of([2.0], requires_grad=True)
        y = x * 3.0
        seen: list[float] = []
        y.register_hook(lambda g: seen.append(g.item()))
        x.register_hook(lambda g: g * 10.0)
        x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.item()))
        F.sum(y).backward()
        assert seen == [1.0, 30.0]
        for tensor, register in ((TensorRef.of([1.0]), "register_hook"), (TensorRef.of([1.0]), "register_post_accumulate_grad_hook"),
                                 (y, "register_post_accumulate_grad_hook"), (TensorRef.of([1.0]), "retain_grad")):
            with pytest.raises(NoGradError, match="To fix it"):
                getattr(tensor, register)(*() if register == "retain_grad" else (print,))
        with pytest.raises(ArgumentError, match="found int"):
            x.register_hook(3)

    @pytest.mark.parametrize("value, error", [("abc", ArgumentError), (np.ones(3), ShapeMismatchError), (object(), ArgumentError)])
    def test_what_is_no_gradient(self, value: object, error: type[Exception]) -> None:
        x = TensorRef.of([1.0], requires_grad=True)
        for put in (lambda: setattr(x, "grad", value), lambda: GradManager().set_grad(x, value),
                    lambda: GradManager().accumulate(x, value)):
            with pytest.raises(error, match="To fix it"):
                put()
            assert x.grad is None
        with pytest.raises(ArgumentError):
            TensorRef.of([1]).grad = [1]


class TestClipping:
    @settings(deadline=None)
    @given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=4), min_size=1, max_size=3), st.floats(0.01, 10.0),
           st.sampled_from([1.0, 1.5, 2.0, 3.0, math.inf]))
    def test_norm(self, arrays: list[list[float]], max_norm: float, p: float) -> None:
        gm = GradManager()
        refs = managed(gm, *arrays)
        for ref, a in zip(refs, arrays):
            gm.set_grad(ref, a)
        everything = np.concatenate([np.array(a) for a in arrays])
        expected = np.linalg.norm(everything, p)
        assert gm.clip_grad_norm(refs, max_norm, p) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        factor = min(1.0, max_norm / (expected + 1e-6))
        for ref, a in zip(refs, arrays):
            np.testing.assert_allclose(gm.get_grad(ref), np.array(a) * factor, rtol=1e-9)

    def test_a_norm_below_the_limit_changes_nothing(self) -> None:
        gm = GradManager()
        (x,) = managed(gm, [3.0, 4.0])
        grad = np.array([0.3, 0.4])
        gm.set_grad(x, grad)
        held = gm.get_grad(x)
        assert gm.clip_grad_norm([x], 1.0) == pytest.approx(0.5)
        assert gm.get_grad(x) is held and (held == grad).all()

    def test_tensors_without_gradient_and_repetitions(self) -> None:
        gm = GradManager()
        x, w = managed(gm, [3.0], [4.0])
        assert gm.clip_grad_norm([x, w], 1.0) == 0.0
        gm.set_grad(x, [3.0])
        assert gm.clip_grad_norm([x, x, w], 10.0) == 3.0

    def test_gradients_keep_their_dtype_and_halves_do_not_overflow(self) -> None:
        gm = GradManager()
        x = TensorRef.of(np.zeros(4, np.float16))
        gm.set_grad(x, np.full(4, 300, np.float16))
        assert gm.clip_grad_norm([x], 1.0) == pytest.approx(600.0)
        assert gm.get_grad(x).dtype == np.float16
        np.testing.assert_allclose(gm.get_grad(x), 0.5, rtol=1e-2)

    def test_nan_spoils_all_as_in_torch(self) -> None:
        gm = GradManager()
        x, w = managed(gm, [1.0], [2.0])
        gm.set_grad(x, [math.nan]), gm.set_grad(w, [2.0])
        assert math.isnan(gm.clip_grad_norm([x, w], 1.0))
        assert math.isnan(gm.get_grad(w)[0])

    def test_value(self) -> None:
        gm = GradManager()
        x, w = managed(gm, [1.0, 2.0, 3.0], [1.0])
        gm.set_grad(x, [-5.0, 0.5, 5.0])
        gm.clip_grad_value([x, w], 1.0)
        np.testing.assert_array_equal(gm.get_grad(x), [-1.0, 0.5, 1.0])

    def test_bad_limits(self) -> None:
        gm = GradManager()
        (x,) = managed(gm, [1.0])
        with pytest.raises(ArgumentError, match="max_norm must not be negative. Expected a number >= 0, found -1"):
            gm.clip_grad_norm([x], -1.0)
        with pytest.raises(ArgumentError, match="norm_type must be positive"):
            gm.clip_grad_norm([x], 1.0, 0.0)
        with pytest.raises(ArgumentError, match="clip_value"):
            gm.clip_grad_value([x], -0.1)

    def test_check_grad_gives_a_bool(self) -> None:
        gm = GradManager()
        assert gm.check_grad(lambda a, b: F.sum(a * b), [np.ones(2), np.ones(2)]) is True
        assert gm.check_grad(lambda a: TensorRef.of(a.numpy() * 2.0), [np.ones(2)]) is False


class TestGradFunctions:
    @pytest.mark.no_numbers("whether it exists")
    @pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "neg", "exp", "log", "matmul", "relu", "sigmoid", "tanh", "sum", "mean",
                                      "softmax", "log_softmax", "cross_entropy", "mse_loss", "pow", "sqrt", "reshape", "cat"])
    def test_there_is_one_for(self, name: str) -> None:
        assert has_grad_fn(name)
        assert getattr(at, f"grad_{name}") is getattr(sys.modules["autograd_tape.grad"], f"grad_{name}") is get_grad_fn(name)

    def test_every_differentiable_record_has_one(self) -> None:
        differentiable = [rec.name for rec in RECORDS.values() if rec.has_gradient]
        assert len(differentiable) > 30 and all(has_grad_fn(name) for name in differentiable)
        assert not has_grad_fn("eq") and not has_grad_fn("nothing") and get_grad_fn("nothing") is None
        with pytest.raises(AttributeError):
            _ = at.grad_nothing

    def test_arrays_in_arrays_out(self) -> None:
        a, b, g = np.random.default_rng(0).standard_normal((3, 2, 2))
        da, db = at.grad_matmul(g, [a, b])
        np.testing.assert_allclose(da, g @ b.T)
        np.testing.assert_allclose(db, a.T @ g)
        assert type(da) is np.ndarray
        np.testing.assert_array_equal(at.grad_relu(np.ones(3), [np.array([-1.0, 0.0, 2.0])])[0], [0, 0, 1])
        da, db = at.grad_add(np.ones((2, 3)), [np.zeros((2, 3)), np.zeros(3)])
        np.testing.assert_array_equal(db, [2, 2, 2])

    def test_outputs_may_be_given_or_computed(self) -> None:
        x, g = np.array([0.1, 0.7]), np.array([1.0, -2.0])
        y = np.exp(x) / np.exp(x).sum()
        expected = y * (g - (g * y).sum())
        np.testing.assert_allclose(at.grad_softmax(g, [x])[0], expected)
        np.testing.assert_allclose(at.grad_softmax(g, [x, y])[0], expected)
        np.testing.assert_allclose(at.grad_exp(g, [x, np.zeros(2)])[0], [0, 0], err_msg="a given output is used, not recomputed")

    def test_cross_entropy(self) -> None:
        x, target = np.random.default_rng(0).standard_normal((3, 4)), np.array([0, 3, 1])
        dx, nothing = at.grad_cross_entropy(np.array(1.0), [x, target])
        p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
        p[np.arange(3), target] -= 1
        np.testing.assert_allclose(dx, p / 3)
        assert nothing is None

    def test_tensors_are_recorded(self) -> None:
        x, g = TensorRef.of([2.0], requires_grad=True), TensorRef.of([1.0])
        (dx, _) = at.grad_mul(g, [x, x])
        assert isinstance(dx, TensorRef) and at.grad(dx, [x])[0] == 1.0
        (ds,) = at.grad_softmax(TensorRef.of([1.0, 0.0]), [TensorRef.of([1.0, 2.0], requires_grad=True)])
        assert ds.requires_grad

    def test_bound_parameters(self) -> None:
        assert at.grad_mul.bind(other=3.0)(np.ones(2), [np.zeros(2)])[0].tolist() == [3.0, 3.0]
        np.testing.assert_array_equal(at.grad_sum.bind(dim=0, keepdim=True)(np.ones((1, 2)), [np.zeros((3, 2))])[0], np.ones((3, 2)))
        with pytest.raises(ArgumentError, match="no parameter 'axis'"):
            at.grad_sum.bind(axis=0)
        with pytest.raises(ArgumentError, match="needs more tensors"):
            at.grad_mul(np.ones(2), [np.ones(2)])
        with pytest.raises(ArgumentError, match="too many saved"):
            at.grad_neg(np.ones(2), [np.ones(2)] * 4)
        with pytest.raises(ArgumentError, match=r"needs 'shape'.*bind it: grad_reshape.bind\(shape=...\)"):
            at.grad_reshape(np.ones(2), [np.ones(2)])

    def test_repr_and_name(self) -> None:
        assert at.grad_mul.__name__ == "grad_mul" and "mul(Tensor input, Operand other)" in repr(at.grad_mul)
        assert isinstance(at.grad_mul, RecordGradFn)


class TestRegistry:
    def test_register_use_unregister(self) -> None:
        @register_grad_fn("times_ten")
        def rule(g: np.ndarray, saved: list[np.ndarray]) -> list[np.ndarray]:
            return [g * 10]

        try:
            assert has_grad_fn("times_ten") and get_grad_fn("times_ten") is rule
            x = TensorRef.of([1.0], requires_grad=True)
            with Tape() as tape:
                y = TensorRef.of(x.numpy() * 10)
                tape.record("times_ten", [x], y)
            assert backward(y, tape)[x.id] == 10.0
        finally:
            unregister_grad_fn("times_ten")
        assert not has_grad_fn("times_ten")

    @pytest.mark.parametrize("name", ["neg", "negative"])
    def test_a_registered_function_wins_everywhere(self, name: str) -> None:
        x, t = TensorRef.of([1.0], requires_grad=True), torch.tensor([1.0], requires_grad=True)
        before = -x
        register_grad_fn(name, lambda g, saved: [g * 7])
        try:
            assert backward(before)[x] == -1.0, "what is recorded stays"
            assert backward(-x)[x] == 7.0 and at.grad(F.sum(-x), [x], create_graph=True)[0].numpy() == 7.0
            (-t).backward()
            assert t.grad.item() == 7.0 and at.grad(lambda x: F.sum(-x))(np.ones(1)) == 7.0
            with Tape() as tape:
                spec = OpSpec("neg", [x])
                tape.record(spec)
                y = -x
            assert [entry.op_name for entry in tape.entries] == ["neg", "neg"] and tape.to_graph().replay()[1] == -1.0
            assert backward(spec.output, tape, options=at.BackwardOptions(retain_graph=True))[x] == 7.0 == backward(y, tape)[x]
            assert vjp_rule("neg")((np.ones(1),), np.ones(1), None)[0] == 7.0 and has_grad_fn("neg")
            assert not (-TensorRef.of([1.0])).requires_grad
            with pytest.raises(at.AutogradError, match="'neg_' in place has no gradient while another is registered.*unregister_grad_fn"):
                (x * 1.0).neg_()
        finally:
            unregister_grad_fn("neg")
        assert isinstance(get_grad_fn("neg"), RecordGradFn) and backward(-x)[x] == -1.0
        assert modes.loudness() == (0, 0)

    def test_one_of_an_operation_too(self) -> None:
        class Twice(Operation):
            def execute(self, x: np.ndarray) -> np.ndarray:
                return x * 2

            def vjp_rule(self, primals: tuple, cotangent: object, output: object) -> object:
                return cotangent * 2

        op = Twice()
        x = TensorRef.of([1.0], requires_grad=True)
        assert has_grad_fn("twice") and get_grad_fn("twice")(np.ones(1), [np.ones(1)]) == [2.0]
        register_grad_fn("twice", lambda g, saved: [g * 30])
        try:
            assert backward(op(x))[x] == 30.0 and vjp_rule("twice")((np.ones(1),), np.ones(1), None)[0] == 30.0
        finally:
            unregister_grad_fn("twice")
        assert backward(op(x))[x] == 2.0
        with pytest.raises(ArgumentError, match="There is an operation 'twice' already.*choose another name"):
            Twice()
        with pytest.raises(ArgumentError, match="Expected a str, found 3"):
            register_grad_fn(3, print)

    def test_it_must_be_callable(self) -> None:
        with pytest.raises(ArgumentError, match="'x' cannot be called. Expected a callable, found int"):
            register_grad_fn("x", 3)  # type: ignore[arg-type]  # wrong on purpose

    def test_vjp_rule(self) -> None:
        rule = vjp_rule("exp")
        (dx,) = rule((np.array([1.0]),), np.array([2.0]), None)
        np.testing.assert_allclose(dx, 2 * np.exp([1.0]))
        assert rule((np.array([1.0]),), np.array([2.0]), np.array([10.0]))[0] == 20.0
        assert vjp_rule("sum", dim=0)((np.zeros((2, 3)),), np.ones(3), None)[0].shape == (2, 3)
        with pytest.raises(NoGradFnError):
            vjp_rule("eq")


class TestOperation:
    @pytest.fixture(autouse=True)
    def forget(self) -> object:
        before = dict(OPERATIONS)
        yield
        OPERATIONS.clear()
        OPERATIONS.update(before)

    def make(self) -> Operation:
        class Scaled(Operation):
            def execute(self, x: np.ndarray, y: np.ndarray, *, power: int = 1) -> np.ndarray:
                return x**power * y

            def vjp_rule(self, primals: tuple, cotangent: object, output: object, *, power: int = 1) -> tuple:
                x, y = primals
                return cotangent * y * x ** (power - 1) * float(power), cotangent * x**power

        return Scaled()

    def test_first_and_second_order_with_broadcasting(self, ) -> None:
        op = self.make()
        rng = np.random.default_rng(0)
        at.check_grad(lambda x, y: op(x, y, power=3), [rng.standard_normal((2, 3)), rng.standard_normal(3)], order=2, raise_exception=True)
        assert op.name == "scaled" and vjp_rule("scaled", power=2)((np.array(3.0), np.array(1.0)), np.array(1.0), None)[0] == 6.0

    def test_it_is_recorded_and_replayed(self) -> None:
        op = self.make()
        x, y = TensorRef.of([2.0], requires_grad=True), TensorRef.of([5.0])
        with Tape() as tape:
            z = F.sum(op(x, y, power=2))
        assert tape.to_graph().replay([np.array([3.0])])[0] == 45.0
        assert backward(z, tape)[x.id] == 20.0
        t = at.trace(lambda a: op(a, y, power=2), np.array([2.0]))
        assert t.refresh_graph_values(np.array([3.0])) == 45.0
        assert at.backward_on_trace(t)[t.inputs[0].id] == 30.0

    def test_without_a_rule_or_with_a_taken_name(self) -> None:
        class Bare(Operation):
            def execute(self, x: np.ndarray) -> np.ndarray:
                return x

        x = TensorRef.of([2.0], requires_grad=True)
        with pytest.raises(NoGradFnError, match="'bare' has no vjp_rule. .*define it in Bare"):
            backward(Bare()(x))
        with pytest.raises(ArgumentError, match="There is an operation 'mul' already"):
            Bare("mul")
        assert not Bare()(TensorRef.of([1.0])).requires_grad


def example(name: str) -> ModuleType:
    path = Path(__file__).parents[2] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestExamples:
    def test_tape_basics(self, capsys: pytest.CaptureFixture[str]) -> None:
        found = example("tape_basics").main()
        rng = np.random.default_rng(0)
        x, w = rng.standard_normal((2, 3)).astype(np.float32), rng.standard_normal((3, 4)).astype(np.float32)
        y = x @ w
        mask = (y > 0).astype(np.float32)
        np.testing.assert_allclose(found["loss"], y[y > 0].sum(), rtol=1e-5)
        np.testing.assert_allclose(found["dx"], mask @ w.T, rtol=1e-5)
        np.testing.assert_allclose(found["dw"], x.T @ mask, rtol=1e-5)
        np.testing.assert_allclose(found["norm"], math.sqrt((found["dx"] ** 2).sum() + (found["dw"] ** 2).sum()), rtol=1e-5)
        assert "after clipping 1.0000" in capsys.readouterr().out
