"""Values that leave the graph: numbers that Python reads out of tensors inside transforms and traces, and arrays that come from and go
to the caller."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograd_tape as at
from autograd_tape import F, GradManager, Tape, TensorRef, backward, hessian, jacobian, jvp, no_grad, trace, value_and_grad, vjp
from autograd_tape.backward import BackwardOptions
from autograd_tape.errors import AutogradError, NoGradError
from autograd_tape.transforms import backward_on_trace, grad

X = np.array([0.5, -1.0, 2.0])

# Everything that makes a Python or NumPy value of a tensor of one element.
READS: dict[str, Callable[[TensorRef], Any]] = {
    "item": lambda s: s.item(), "numpy": lambda s: s.numpy(), "tolist": lambda s: s.tolist(), "float": float, "int": int,
    "complex": complex,
    "asarray": np.asarray, "ufunc": lambda s: np.sin(np.asarray(s)), "reduction": lambda s: np.max(np.asarray(s)), "math": math.exp,
    "numpy_array": lambda s: np.array([float(s)]), "a number as an argument": lambda s: F.full((2,), s),
    "a slope": lambda s: F.leaky_relu(TensorRef.of(X), s), "a format": lambda s: f"{float(s):.2f}",
}
TRANSFORMS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "grad": lambda f: grad(f)(X), "value_and_grad": lambda f: value_and_grad(f)(X), "vjp": lambda f: vjp(f, X),
    "jvp": lambda f: jvp(f, (X,), (X,)), "jacobian": lambda f: jacobian(f)(X), "hessian": lambda f: hessian(f)(X),
    "argnums": lambda f: grad(lambda _, x: f(x), 1)(1.0, X), "nested": lambda f: grad(lambda x: grad(lambda y: f(x) * y)(2.0))(X),
    "on tensors": lambda f: grad(f)(TensorRef.of(X, requires_grad=True)), "in a tree": lambda f: grad(lambda t: f(t["a"][0]))({"a": (X,)}),
}


class TestNumbersInTransforms:
    @pytest.mark.parametrize("read", READS)
    @pytest.mark.parametrize("transform", TRANSFORMS)
    def test_a_number_of_a_differentiated_value_is_refused_where_it_is_read(self, transform: str, read: str) -> None:
        def f(x: Any) -> Any:
            READS[read](F.sum(x * x))  # the line
            return F.sum(x)

        with pytest.raises(NoGradError, match=r"gradient would be lost.*test_leaving.py:\d+ \("):
            TRANSFORMS[transform](f)
        TRANSFORMS[transform](lambda x: F.sum(x * x * x))  # nothing is left behind

    def test_the_line_is_named(self) -> None:
        def f(x: Any) -> Any:
            return x * x.sum().item()  # here

        with pytest.raises(NoGradError, match=r"by item\(\) in 'f', at .*test_leaving.py:\d+ \(return x \* x.sum\(\).item\(\)  # here\)"):
            jacobian(f)(X)

    @pytest.mark.parametrize("read", READS)
    def test_a_constant_may_be_read(self, read: str) -> None:
        outside = TensorRef.of(X, requires_grad=True)

        def f(x: Any) -> Any:
            READS[read](F.sum(outside * 2.0))
            READS[read](F.sum(TensorRef.of(X)))
            with no_grad():
                READS[read](F.sum(x))
                READS[read](x[0])
            return F.sum(x * x)

        np.testing.assert_array_equal(grad(f)(X), 2 * X)

    def test_branches_are_taken(self) -> None:
        f = lambda x: x * x if x > 1.0 and bool(x) else -x
        assert grad(f)(3.0) == 6.0 and grad(f)(0.5) == -1.0
        assert grad(lambda x: F.sum(x) if F.equal(x, x) else x[0])(X).tolist() == [1.0, 1.0, 1.0]

    @pytest.mark.parametrize("kind", [np.int64, np.uint8, np.bool_, lambda x: np.asarray(x, np.int32), lambda x: np.array(x, bool)])
    def test_whole_numbers_and_truths_may_be_read(self, kind: Callable[..., Any]) -> None:
        x = np.array([1.0, 2.0, 0.0])
        assert grad(lambda x: F.sum(x * TensorRef.of(np.asarray(kind(x), np.float64))))(x).tolist() == kind(x).tolist()
        with pytest.raises(NoGradError):
            grad(lambda x: F.sum(x * np.asarray(x, np.float32)))(x)
        with pytest.raises(AutogradError, match="A trace cannot follow"):
            trace(lambda x: F.sum(x * TensorRef.of(np.asarray(kind(x), np.float64))), x)

    def test_every_operation_can_be_called_on_differentiated_values(self) -> None:
        f = lambda x: F.sum(F.cross_entropy(F.reshape(x, (1, 3)), TensorRef.of([1])) + F.gaussian_nll_loss(x, x, x * x) + F.std(x)
                            + x[x > 0][0])
        assert np.isfinite(grad(f)(X)).all()


class TestNumbersInTraces:
    @pytest.mark.parametrize("read", [*READS, "bool", "index", "size"])
    def test_a_number_that_depends_on_an_input_is_refused(self, read: str) -> None:
        reads = {**READS, "bool": lambda s: bool(s > 0), "index": lambda s: operator.index(F.argmax(s)), "size": lambda s: s[s > 0].shape}

        def f(x: Any) -> Any:
            with no_grad():
                reads[read](F.sum(x * x))
            return x * 1.0

        if read in ("a number as an argument", "a slope"):  # the operation is recorded with the tensor, and reads it again
            def g(x: Any) -> Any:
                return F.sum(x) * reads[read](x[0])

            np.testing.assert_array_equal(trace(g, X).refresh_graph_values(2 * X), g(TensorRef.of(2 * X)).numpy())
            return
        with pytest.raises(AutogradError, match=r"trace cannot follow.*test_leaving.py:\d+ \("):
            trace(f, X)

    @pytest.mark.parametrize("read", READS)
    def test_a_constant_may_be_read(self, read: str) -> None:
        def f(x: Any) -> Any:
            READS[read](F.sum(TensorRef.of(X) * 2.0))
            return x * 2.0

        np.testing.assert_array_equal(trace(f, X).refresh_graph_values(3 * X), 6 * X)

    def test_sizes_that_values_decide_reach_operations_only(self) -> None:
        t = trace(lambda x: F.sum(x[x > 0]) / F.sum(F.ones_like(x[x > 0])), X)
        assert t.refresh_graph_values(np.array([1.0, 2.0, 6.0])) == 3.0
        for size in (lambda s: s.shape, len, lambda s: s.ndim, list):
            with pytest.raises(AutogradError, match="the size of this tensor, which depends on values"):
                trace(lambda x, size=size: (size(x[x > 0]), x * 1.0)[1], X)

    def test_arrays_as_results_are_refused(self) -> None:
        with pytest.raises(AutogradError, match="A traced function returns tensors.*found ndarray"):
            trace(lambda x: (x * 2.0, np.ones(2)), X)


# -- arrays of the caller's -----------------------------------------------------------------------------------------------

W = np.array([1.0, 2.0])


def changed(w: np.ndarray) -> None:
    w -= 0.5


def by_of(w: np.ndarray) -> Any:
    x = TensorRef.of(w, requires_grad=True)
    y = F.sum(x * x)
    changed(w)
    return backward(y)[x.id]


def by_constructor(w: np.ndarray) -> Any:
    x = TensorRef(w, requires_grad=True)
    y = F.sum(x * x)
    changed(w)
    return backward(y)[x.id]


def by_bind(w: np.ndarray) -> Any:
    x = at.cpu_executor().bind(TensorRef.declare((2,), "float64", requires_grad=True), w)
    y = F.sum(x * x)
    changed(w)
    return backward(y)[x.id]


def by_argument(w: np.ndarray) -> Any:
    x = TensorRef.of(W, requires_grad=True)
    y = F.sum(F.mul(x, w)) + F.sum(x * w) + F.sum(w * x) - F.sum(F.mul(x, w))
    changed(w)
    return backward(y)[x.id]


def by_index(w: np.ndarray) -> Any:
    x, index = TensorRef.of(2 * W, requires_grad=True), np.array([0, 1])
    y = F.sum(x[index] * TensorRef.of(W) * 2.0 * TensorRef.of([1.0, 1.0]))
    index[:] = 0
    return backward(y)[x.id]


def by_vjp(w: np.ndarray) -> Any:
    _, pull = vjp(lambda x: x * x, w)
    changed(w)
    return pull(np.ones(2))[0]


def by_vjp_of_a_tensor(w: np.ndarray) -> Any:
    x = TensorRef.of(w)
    _, pull = vjp(lambda a: a * a, x)
    x.sub_(0.5)
    return pull(np.ones(2))[0].numpy()


def by_vjp_of_a_closure(w: np.ndarray) -> Any:
    _, pull = vjp(lambda x: x * w * 2.0, W)
    changed(w)
    return pull(np.ones(2))[0]


def by_vjp_output(w: np.ndarray) -> Any:
    y, pull = vjp(lambda x: F.exp(x) * 1.0, np.log(2 * W))
    y -= 0.5
    return pull(np.ones(2))[0]


def by_cotangent(w: np.ndarray) -> Any:
    x, c = TensorRef.of(W, requires_grad=True), np.array([1.0, 1.0])
    (g,) = at.grad(x * x, [x], grad_outputs=c, create_graph=True)
    c -= 0.5
    return at.grad(F.sum(g * x), [x])[0] / 2  # d(2 x * c * x)


def by_trace(w: np.ndarray) -> Any:
    t = trace(lambda x: F.sum(x * x), w)
    changed(w)
    return backward_on_trace(t)[t.inputs[0].id]


def by_refresh(w: np.ndarray) -> Any:
    t = trace(lambda x: F.sum(x * x), 3 * w)
    t.refresh_graph_values(w)
    changed(w)
    t.recompute()
    return backward_on_trace(t)[t.inputs[0].id]


def by_trace_of_a_tensor(w: np.ndarray) -> Any:
    x = TensorRef.of(w)
    t = trace(lambda a, b: F.sum(a * a * b["c"]), x, {"c": np.ones(2)})
    x.sub_(0.5)
    t.recompute()
    return backward_on_trace(t)[t.inputs[0].id]


def by_set_grad(w: np.ndarray) -> Any:
    gm, x = GradManager(), TensorRef.of(W)
    given = 2 * w
    gm.set_grad(x, given)
    changed(given)
    return gm.get_grad(x)


def by_accumulate(w: np.ndarray) -> Any:
    gm, x = GradManager(), TensorRef.of(W)
    given = 2 * w
    gm.accumulate(x, given)
    changed(given)
    return gm.get_grad(x)


def by_an_operation_of_its_own(w: np.ndarray) -> Any:
    x = TensorRef.of(W, requires_grad=True)
    with Tape() as tape:
        y = at.OpSpec("mul", [x, TensorRef.of(2 * w)])
        tape.record(y)
    changed(w)
    return backward(y.output, tape, grad_outputs=[np.ones(2)])[x.id]


@pytest.mark.parametrize("entrance", [
    by_of, by_constructor, by_bind, by_argument, by_index, by_vjp, by_vjp_of_a_tensor, by_vjp_of_a_closure, by_vjp_output, by_cotangent,
    by_trace, by_refresh, by_trace_of_a_tensor, by_set_grad, by_accumulate, by_an_operation_of_its_own])
def test_a_change_of_the_callers_array_changes_no_gradient(entrance: Callable[[np.ndarray], Any]) -> None:
    np.testing.assert_allclose(entrance(W.copy()), 2 * W)


IDENTITIES: dict[str, Callable[[Any], Any]] = {"itself": lambda x: x, "a view": lambda x: F.reshape(x, (2, 1)), "a part": lambda x: x[:1],
                                               "an alias": lambda x: F.contiguous(x), "through": lambda x: x * 1.0}


@pytest.mark.parametrize("name", IDENTITIES)
def test_results_share_no_memory_with_what_the_caller_passed(name: str) -> None:
    f, w = IDENTITIES[name], W.copy()
    y, pull = vjp(f, w)
    c = np.ones(np.shape(y))
    out, dot = jvp(f, (w,), (c_ := np.ones(2),))
    t = trace(f, w)
    (value, aux), g = value_and_grad(lambda x: (F.sum(f(x)), f(x)), has_aux=True)(w)
    shared = [y, pull(c)[0], out, dot, jacobian(f)(w), t.refresh_graph_values(w), value, aux, g,
              *backward_on_trace(t, c).values(), *backward(f(x := TensorRef.of(w, requires_grad=True)), grad_outputs=[c],
                                                           options=BackwardOptions(inputs=[x])).values()]
    for result in shared:
        assert not any(np.shares_memory(result, given) for given in (w, c, c_)), name


def test_over_shares_and_of_copies() -> None:
    array = np.zeros(2)
    assert TensorRef.over(array).numpy() is array
    for made in (TensorRef.of(array), TensorRef(array), TensorRef.of([0.0, 0.0])):
        assert not np.shares_memory(made.numpy(), array)
    transposed = np.arange(6.0).reshape(2, 3).T
    assert TensorRef.of(transposed).numpy().strides == transposed.strides, "the order in memory is kept"
