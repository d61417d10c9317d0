"""grad, value_and_grad, vjp, jvp, jacobian, hessian and traces."""

from __future__ import annotations

import gc
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd_tape as at
from autograd_tape import F, Tape, TensorRef, backward_on_trace, hessian, jacobian, jvp, no_grad, trace, value_and_grad, vjp
from autograd_tape.errors import ArgumentError, DTypeError, NoGradError, ShapeMismatchError
from autograd_tape.modes import aside
from autograd_tape.transforms import grad
from autograd_tape.tree import leaves, rebuild, structure, tree_map

X, Y = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.3, -0.7])


class Params(NamedTuple):
    w: Any
    b: Any


class TestTree:
    trees = st.recursive(st.integers() | st.none(), lambda t: st.lists(t, max_size=3) | st.tuples(t, t) | st.dictionaries(
        st.text(max_size=2), t, max_size=3), max_leaves=8)

    @given(trees)
    def test_taking_apart_and_putting_together(self, tree: Any) -> None:
        assert rebuild(tree, iter(leaves(tree))) == tree
        assert structure(tree_map(lambda x: [x], tree)) != structure(tree) or not leaves(tree)
        assert leaves(tree_map(lambda x: str(x), tree)) == [str(x) for x in leaves(tree)]

    def test_named_tuples_stay_named(self) -> None:
        assert tree_map(lambda a, b: a + b, Params(1, [2]), Params(10, [20])) == Params(11, [22])


class TestGrad:
    def test_arrays_in_arrays_out_in_the_structure_of_the_argument(self) -> None:
        def loss(params: dict, x: Any) -> Any:
            return F.sum(params["w"] * x) + params["bias"][0] * params["bias"][1].c

        class Pair(NamedTuple):
            c: Any

        params = {"w": X, "bias": [2.0, Pair(3.0)], "unused": (np.ones(2), None)}
        value, g = value_and_grad(loss)(params, Y)
        assert type(value) is np.ndarray and value == X @ Y + 6
        np.testing.assert_array_equal(g["w"], Y)
        assert g["bias"][0] == 3.0 and g["bias"][1] == Pair(2.0) and type(g["bias"][1]) is Pair
        np.testing.assert_array_equal(g["unused"][0], np.zeros(2))
        assert g["unused"][1] is None

    def test_argnums(self) -> None:
        f = lambda a, b, c: F.sum(a * b * b * c)
        np.testing.assert_allclose(grad(f)(X, Y, 2.0), Y * Y * 2)
        np.testing.assert_allclose(grad(f, 1)(X, Y, 2.0), 4 * X * Y)
        _, dc = grad(f, (0, -1))(X, Y, 2.0)
        np.testing.assert_allclose(dc, np.sum(X * Y * Y))
        for bad in (3, (0, "x"), (0, 0), (0, -3)):
            with pytest.raises(ArgumentError, match="argnums names an argument"):
                grad(f, bad)(X, Y, 2.0)

    def test_keyword_arguments_are_constants(self) -> None:
        assert grad(lambda x, *, scale: F.sum(x * scale))(X, scale=Y).tolist() == Y.tolist()

    def test_aux(self) -> None:
        def f(x: Any) -> Any:
            return F.sum(x * x), {"doubled": x * 2.0, "label": "text"}

        g, aux = grad(f, has_aux=True)(X)
        np.testing.assert_array_equal(aux["doubled"], 2 * X)
        assert aux["label"] == "text" and g.tolist() == (2 * X).tolist()
        (value, aux), g = value_and_grad(f, has_aux=True)(X)
        assert value == np.sum(X * X) and type(aux["doubled"]) is np.ndarray
        with pytest.raises(ArgumentError, match=r"return \(value, aux\)"):
            grad(lambda x: F.sum(x), has_aux=True)(X)

    def test_dtypes_are_kept(self) -> None:
        assert grad(lambda x: F.sum(x * x))(np.ones(2, np.float32)).dtype == np.float32

    def test_any_order(self) -> None:
        f = lambda x: x * x * x * x
        for n, expected in enumerate([16.0, 32.0, 48.0, 48.0, 24.0, 0.0]):
            assert f(TensorRef.of(2.0)).numpy() == expected if n == 0 else value_of(f, n) == expected

    def test_inner_and_outer_variables_are_not_confused(self) -> None:
        assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(3.0) == 1.0
        assert grad(lambda x: x * grad(lambda y: x * y)(x))(3.0) == 6.0
        assert grad(lambda x: grad(lambda y: x * y * y)(x))(3.0) == 12.0

    def test_a_constant_function_has_a_zero_gradient(self) -> None:
        assert grad(lambda x: TensorRef.of(5.0))(2.0) == 0.0
        assert grad(lambda x: 5.0)(2.0) == 0.0
        with_no_grad = grad(lambda x: detached(x) * x)
        assert with_no_grad(3.0) == 3.0

    def test_called_on_tensors_it_returns_tensors(self) -> None:
        plain = grad(lambda x: F.sum(x * x))(TensorRef.of(X))
        assert isinstance(plain, TensorRef) and not plain.requires_grad
        x = TensorRef.of(X, requires_grad=True)
        value, g = value_and_grad(lambda a: F.sum(a * a * a))(x)
        assert value.requires_grad and g.requires_grad
        np.testing.assert_allclose(at.grad(F.sum(g), [x])[0], 6 * X)

    def test_works_under_no_grad_and_inside_a_tape(self) -> None:
        with no_grad():
            assert grad(lambda x: x * x)(3.0) == 6.0
        with Tape() as tape:
            y = F.sum(TensorRef.of(X, requires_grad=True) * 2.0)
            assert grad(lambda x: x * x)(3.0) == 6.0
        assert tape.get_entry_for_tensor(y) is not None, "the caller's tape was not cleared"

    def test_the_users_arrays_are_left_alone(self) -> None:
        x = X.copy()
        g = grad(lambda a: F.sum(a * a))(x)
        g += 100
        np.testing.assert_array_equal(x, X)
        g = grad(lambda a: F.sum(a))(x)
        g += 1

    def test_bad_input(self) -> None:
        with pytest.raises(ArgumentError, match="Expected a callable, found int"):
            grad(3)(1.0)
        with pytest.raises(ArgumentError, match="floating-point.*found int64"):
            grad(lambda x: F.sum(x))(np.array([1, 2]))
        with pytest.raises(ArgumentError, match="found str"):
            grad(lambda x: x)("text")
        with pytest.raises(NoGradError, match=r"'f' must return one element.*found shape \(3,\)"):
            grad(f := named(lambda x: x * 2.0))(X)
        with pytest.raises(NoGradError, match="must return one tensor"):
            grad(lambda x: (x, x))(2.0)
        with pytest.raises(ArgumentError, match="returned something that is no tensor.*found str"):
            grad(lambda x: "text")(2.0)
        del f

    def test_no_garbage(self) -> None:
        f = value_and_grad(lambda p: F.sum(p["w"] * p["w"]))
        f({"w": X})
        gc.collect()
        f({"w": X})
        assert gc.collect() == 0


def named(f: Any) -> Any:
    f.__name__ = "f"
    return f


def value_of(f: Any, n: int) -> Any:
    for _ in range(n):
        f = grad(f)
    return f(2.0)


def detached(x: TensorRef) -> TensorRef:
    with no_grad():
        return TensorRef.of(x.numpy())


class TestVjpJvp:
    def test_vjp_of_trees(self) -> None:
        out, pull = vjp(lambda a, b: {"product": a * b, "sum": (F.sum(a),)}, X, Y)
        np.testing.assert_allclose(out["product"], X * Y)
        for _ in range(2):
            da, db = pull({"product": np.ones(3), "sum": (np.array(10.0),)})
            np.testing.assert_allclose(da, Y + 10)
            np.testing.assert_allclose(db, X)
        with pytest.raises(ArgumentError, match="differ in structure"):
            pull((np.ones(3), np.array(1.0)))
        with pytest.raises(ShapeMismatchError, match=r"Expected \(3,\), found \(2,\)"):
            pull({"product": np.ones(2), "sum": (np.array(10.0),)})

    def test_vjp_aux(self) -> None:
        _, pull, aux = vjp(lambda a: (a * a, a * 3.0), X, has_aux=True)
        np.testing.assert_allclose(aux, X * 3)
        np.testing.assert_allclose(pull(np.ones(3))[0], 2 * X)

    def test_jvp(self) -> None:
        t = np.array([1.0, 10.0, 100.0])
        out, dot = jvp(lambda a, b: (F.exp(a) * b, F.sum(b)), (X, Y), (t, 2 * t))
        np.testing.assert_allclose(out[0], np.exp(X) * Y)
        np.testing.assert_allclose(dot[0], np.exp(X) * Y * t + np.exp(X) * 2 * t)
        np.testing.assert_allclose(dot[1], 222.0)
        with pytest.raises(ShapeMismatchError, match="tangent"):
            jvp(lambda a: a, (X,), (np.ones(2),))

    def test_jvp_of_what_is_linear_or_constant(self) -> None:
        assert jvp(lambda a: a * 3.0, (2.0,), (5.0,)) == (6.0, 15.0)
        assert jvp(lambda a: TensorRef.of(4.0), (2.0,), (5.0,)) == (4.0, 0.0)
        _, dot = jvp(lambda a, b: a * 1.0, (2.0, 3.0), (0.0, 5.0))
        assert dot == 0.0

    def test_gradient_of_a_directional_derivative(self) -> None:
        f = lambda x: F.sum(x * x * x)
        v = np.array([1.0, 2.0, 3.0])
        np.testing.assert_allclose(grad(lambda x: jvp(f, (x,), (v,))[1])(X), 6 * X * v)
        np.testing.assert_allclose(jvp(grad(f), (X,), (v,))[1], 6 * X * v)

    @settings(deadline=None, max_examples=30)
    @given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 4))
    def test_jvp_and_vjp_are_adjoint(self, seed: int, n: int, m: int) -> None:
        rng = np.random.default_rng(seed)
        a, x, t, g = rng.standard_normal((m, n)), rng.standard_normal(n), rng.standard_normal(n), rng.standard_normal(m)
        f = lambda z: F.tanh(F.matmul(TensorRef.of(a), z)) * F.sum(z * z)
        _, dot = jvp(f, (x,), (t,))
        _, pull = vjp(f, x)
        np.testing.assert_allclose(g @ dot, pull(g)[0] @ t, atol=1e-10)


class TestJacobianHessian:
    def test_jacobian_of_trees(self) -> None:
        j = jacobian(lambda p, s: {"a": p["w"] * s, "b": F.sum(p["w"])}, (0, 1))({"w": X}, 2.0)
        np.testing.assert_allclose(j["a"][0]["w"], 2 * np.eye(3))
        np.testing.assert_allclose(j["a"][1], X)
        np.testing.assert_allclose(j["b"][0]["w"], np.ones(3))
        assert j["b"][1].shape == () and j["b"][1] == 0.0

    def test_shapes_are_output_then_input(self) -> None:
        a = np.random.default_rng(0).standard_normal((2, 3))
        j = jacobian(lambda x: F.matmul(x, F.transpose(x, 0, 1)))(a)
        assert j.shape == (2, 2, 2, 3)
        eps = 1e-6
        for i in range(2):
            for k in range(3):
                d = np.zeros_like(a)
                d[i, k] = eps
                np.testing.assert_allclose(j[:, :, i, k], ((a + d) @ (a + d).T - (a - d) @ (a - d).T) / (2 * eps), atol=1e-6)

    def test_empty_and_constant(self) -> None:
        assert jacobian(lambda x: x * 2.0)(np.ones((0, 2))).shape == (0, 2, 0, 2)
        np.testing.assert_array_equal(jacobian(lambda x: TensorRef.of([1.0, 2.0]))(X), np.zeros((2, 3)))

    def test_hessian(self) -> None:
        a = np.random.default_rng(0).standard_normal((3, 3))
        f = lambda x: F.sum(x * F.matmul(TensorRef.of(a), x)) + F.sum(F.exp(x))
        np.testing.assert_allclose(hessian(f)(X), a + a.T + np.diag(np.exp(X)), atol=1e-12)
        h = hessian(lambda p: F.sum(p["a"] * p["b"]))({"a": X, "b": Y})
        np.testing.assert_allclose(h["a"]["b"], np.eye(3))
        np.testing.assert_allclose(h["a"]["a"], np.zeros((3, 3)))

    def test_jacobian_of_a_jacobian(self) -> None:
        jj = jacobian(jacobian(lambda x: x * x * x))(np.array([1.0, 2.0]))
        expected = np.zeros((2, 2, 2))
        expected[0, 0, 0], expected[1, 1, 1] = 6.0, 12.0
        np.testing.assert_allclose(jj, expected)

    def test_aux(self) -> None:
        j, aux = jacobian(lambda x: (x * x, "label"), has_aux=True)(X)
        np.testing.assert_allclose(j, np.diag(2 * X))
        assert aux == "label"


class TestTrace:
    def test_nodes_lead_to_the_outputs_in_order(self) -> None:
        def f(x: Any, y: Any) -> Any:
            F.exp(x)
            return F.sum(x * y), F.tanh(y)

        t = trace(f, X, Y)
        assert [n.op_name for n in t.nodes] == ["mul", "sum", "tanh"]
        assert len(t.inputs) == len(t.outputs) == 2 and "graph(x0: float64[3], x1: float64[3])" in repr(t)

    def test_values_are_computed_anew_with_the_original_arguments(self) -> None:
        t = trace(lambda x: F.sum(x * 2.0, dim=1, keepdim=True), np.ones((2, 3)))
        out = t.outputs[0]
        found = t.refresh_graph_values(np.full((2, 3), 10.0))
        np.testing.assert_array_equal(found, [[60.0], [60.0]])
        assert t.outputs[0] is out and out.shape == (2, 1) and out.numpy()[0, 0] == 60.0
        np.testing.assert_array_equal(t.recompute(), found)

    def test_gradients_before_and_after_refreshing(self) -> None:
        t = trace(lambda x, y: F.sum(F.exp(x * y)), X, Y)
        for x in (X, 2 * X, Y):
            t.refresh_graph_values(x, Y)
            found = backward_on_trace(t)
            np.testing.assert_allclose(found[t.inputs[0].id], Y * np.exp(x * Y))
            np.testing.assert_allclose(found[t.inputs[1].id], x * np.exp(x * Y))

    def test_in_place_operations(self) -> None:
        def f(x: Any) -> Any:
            y = x * 1.0
            y.mul_(x)
            y.add_(1.0)
            return F.sum(y)

        t = trace(f, X)
        np.testing.assert_allclose(t.refresh_graph_values(Y), np.sum(Y * Y + 1))
        np.testing.assert_allclose(backward_on_trace(t)[t.inputs[0].id], 2 * Y)

    def test_hand_recorded_operations(self) -> None:
        def f(x: Any) -> Any:
            with aside():  # what is computed here is recorded by hand
                y = TensorRef.of(-x.numpy())
            at.get_default_tape().record("neg", [x], y, lambda g, saved: [g * -1.0])
            return F.sum(y * y)

        t = trace(f, X)
        np.testing.assert_allclose(t.refresh_graph_values(Y), np.sum(Y * Y))
        np.testing.assert_allclose(backward_on_trace(t)[t.inputs[0].id], 2 * Y)

    def test_cotangents_structure_and_zero_gradients(self) -> None:
        t = trace(lambda x, y: {"a": x * 2.0, "b": x * 3.0}, X, Y)
        found = backward_on_trace(t, {"a": np.ones(3), "b": 10 * np.ones(3)})
        np.testing.assert_array_equal(found[t.inputs[0].id], np.full(3, 32.0))
        np.testing.assert_array_equal(found[t.inputs[1].id], np.zeros(3))
        with pytest.raises(ArgumentError, match="differ in structure"):
            backward_on_trace(t, [np.ones(3)])

    def test_create_graph(self) -> None:
        t = trace(lambda x: F.sum(x * x * x), X)
        (g,) = backward_on_trace(t, create_graph=True).values()
        np.testing.assert_allclose(at.grad(F.sum(g), [t.inputs[0]])[0], 6 * X)

    def test_inputs_must_fit(self) -> None:
        t = trace(lambda x, n: x * n, X, 2)
        with pytest.raises(ShapeMismatchError, match=r"Expected \(3,\), found \(2,\)"):
            t.refresh_graph_values(np.ones(2), 2)
        with pytest.raises(DTypeError):
            t.refresh_graph_values(np.ones(3, np.float32), 2)
        with pytest.raises(ArgumentError, match="structure"):
            t.refresh_graph_values(X)
        with pytest.raises(ArgumentError, match="trace the function again"):
            t.refresh_graph_values(X, 3)
        with pytest.raises(ArgumentError, match="takes a function"):
            trace(3, X)

    def test_no_floating_point_input(self) -> None:
        t = trace(lambda x: x * 2, np.array([1, 2]))
        with pytest.raises(NoGradError, match="no input to differentiate"):
            backward_on_trace(t, np.array([1, 1]))
