"""One world: every transform over functions of either front end, on tensors of either kind and on both, gives results of the kind that went
in; what looks at operations sees those of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograd_tape as at
import torchcompat as torch
from autograd_tape import F, GradManager, Operation, Tape, TensorRef, backward, check_grad
from autograd_tape.tree import leaves as tree_leaves
from torchcompat._tensor import frontend as torch_functions

X, W = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.25, -0.5])
KINDS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "arrays": (np.array, np.array),
    "TensorRef": (TensorRef.of, TensorRef.of),
    "torch": (torch.tensor, torch.tensor),
    "TensorRef with torch": (TensorRef.of, torch.tensor),
    "torch with TensorRef": (torch.tensor, TensorRef.of),
    "array with torch": (np.array, torch.tensor),
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "of F": lambda x, w: F.sin(x) * w + F.exp(w),
    "of torch": lambda x, w: torch.sin(x) * w + torch.exp(w),
    "of both": lambda x, w: torch.sin(x) * w + F.exp(w),
    "of operators": lambda x, w: x * x * w + 2.0 * w,
    "of views and updates": lambda x, w: _updated(x * 1.0) * w[:3].reshape((3,)),
    "of torch.nn": lambda x, w: torch.nn.functional.gelu(x * w),
}
ONES = np.ones(3)
WEIGHTS = TensorRef.of([1.0, 2.0, 3.0])


def _updated(y: Any) -> Any:
    y[0] = y[1] * 2.0
    return y


def total(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: (f(*args) * WEIGHTS).sum()


TRANSFORMS: dict[str, Callable[[Callable[..., Any], Any, Any], Any]] = {
    "grad": lambda f, x, w: at.grad(total(f), (0, 1))(x, w),
    "value_and_grad": lambda f, x, w: at.value_and_grad(total(f), (0, 1))(x, w),
    "vjp": lambda f, x, w: at.vjp(f, x, w)[1](ONES),
    "jvp": lambda f, x, w: at.jvp(f, (x, w), (ONES, ONES)),
    "jacobian": lambda f, x, w: at.jacobian(f, (0, 1))(x, w),
    "hessian": lambda f, x, w: at.hessian(total(f), (0, 1))(x, w),
    "grad of grad": lambda f, x, w: at.grad(lambda x: at.grad(total(f), 0)(x, w).sum())(x),
    "trace": lambda f, x, w: at.trace(f, x, w).refresh_graph_values(x, w),
}


def leaves(result: Any) -> list[Any]:
    return [leaf for part in result for leaf in leaves(part)] if isinstance(result, (tuple, list)) else [result]


def elements(x: Any) -> np.ndarray:
    return x.detach().numpy() if isinstance(x, torch.Tensor) else x.numpy() if isinstance(x, TensorRef) else x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_transform_gives_what_went_in(transform: str, function: str, kind: str) -> None:
    f, change = FUNCTIONS[function], TRANSFORMS[transform]
    (of_x, of_w) = KINDS[kind]
    x, w = of_x(X), of_w(W)
    found = leaves(change(f, x, w))
    expected = leaves(change(f, X, W))
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(elements(a), b, rtol=1e-12, atol=1e-12)
    assert all(type(b) is np.ndarray for b in expected)
    wanted = {"arrays": (np.ndarray, np.ndarray), "TensorRef": (TensorRef, TensorRef), "torch": (torch.Tensor, torch.Tensor),
              "TensorRef with torch": (TensorRef, torch.Tensor), "torch with TensorRef": (torch.Tensor, TensorRef),
              "array with torch": (torch.Tensor, torch.Tensor)}[kind]
    if transform in ("grad", "vjp"):
        assert tuple(map(type, found)) == wanted
    elif transform != "grad of grad" and wanted[0] is wanted[1]:
        assert {type(a) for a in found} == {wanted[0]}


@pytest.mark.parametrize("kind", ["TensorRef", "torch", "TensorRef with torch", "torch with TensorRef"])
@pytest.mark.parametrize("function", FUNCTIONS)
class TestPasses:
    def make(self, function: str, kind: str) -> tuple[Any, Any, Callable[[], Any], list[np.ndarray]]:
        x, w = (of(a) for of, a in zip(KINDS[kind], (X, W)))
        x.requires_grad_(), w.requires_grad_()
        return x, w, lambda: total(FUNCTIONS[function])(x, w), leaves(at.grad(total(FUNCTIONS[function]), (0, 1))(X, W))

    def test_all_deliver_to_one_place(self, function: str, kind: str) -> None:
        x, w, loss, expected = self.make(function, kind)
        gm = GradManager()
        gm.set_requires_grad(x)
        for times, run in enumerate((lambda: backward(loss()), lambda: loss().backward(), lambda: backward([loss()]),
                                     lambda: torch.autograd.backward(loss()), lambda: gm.backward(loss())), 1):
            run()
            for leaf, g in zip((x, w), expected):
                np.testing.assert_allclose(elements(leaf.grad), times * g, rtol=1e-12)
                assert type(leaf.grad) is type(leaf)
            np.testing.assert_allclose(gm.get_grad(x), times * expected[0], rtol=1e-12)
        assert gm.gradients[w] is not None and set(gm.gradients) == {x.id, w.id}
        gm.zero_grad([x, w])
        assert not elements(x.grad).any() and not elements(w.grad).any()

    def test_tables_and_lists(self, function: str, kind: str) -> None:
        x, w, loss, expected = self.make(function, kind)
        grads = backward(loss())
        for leaf, g in zip((x, w), expected):
            assert grads[leaf] is grads[leaf.id] is grads[leaf.hash] and leaf in grads
            np.testing.assert_allclose(grads[leaf], g, rtol=1e-12)
        for found, g in zip(at.grad(loss(), [x, w]), expected):
            np.testing.assert_allclose(found, g, rtol=1e-12)
        recorded = at.grad(loss(), [x, w], create_graph=True)
        second = leaves(at.hessian(total(FUNCTIONS[function]))(X, W))[0].sum(0)
        found = backward(recorded[0].sum(), options=at.BackwardOptions(inputs=x)).get(x, np.zeros(3))
        np.testing.assert_allclose(found, second, rtol=1e-9, atol=1e-12)

    def test_explicit_tapes(self, function: str, kind: str) -> None:
        x, w, loss, expected = self.make(function, kind)
        with Tape() as tape:
            y = loss()
        assert tape.get_creator(y).op_name == "sum" and y.id in tape.tensor_to_entry
        assert {id(x), id(w)} <= {id(t) for t in tape.get_dependencies(y)}
        np.testing.assert_allclose(tape.to_graph(y).replay()[0], elements(y), rtol=1e-12)
        grads = backward(y, tape)
        np.testing.assert_allclose(grads[x], expected[0], rtol=1e-12)
        np.testing.assert_allclose(grads[w], expected[1], rtol=1e-12)

    def test_hooks(self, function: str, kind: str) -> None:
        x, w, loss, expected = self.make(function, kind)
        seen: list[Any] = []
        for leaf in (x, w):
            leaf.register_hook(lambda g: g * 10.0)
            leaf.register_post_accumulate_grad_hook(lambda t: seen.append(t))
        for run, times in ((lambda: backward(loss()), 10), (lambda: loss().backward(), 20)):
            run()
            for leaf, g in zip((x, w), expected):
                np.testing.assert_allclose(elements(leaf.grad), times * g, rtol=1e-12)
        assert {id(t) for t in seen} == {id(x), id(w)} and len(seen) == 4

    def test_check_grad(self, function: str, kind: str) -> None:
        x, w = (of(a) for of, a in zip(KINDS[kind], (X, W)))
        assert check_grad(FUNCTIONS[function], [x, w], raise_exception=True).ok


class Scaled(Operation):
    def execute(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        return x * x * w

    def vjp_rule(self, primals: tuple, cotangent: Any, output: Any) -> tuple:
        x, w = primals
        return cotangent * x * w * 2.0, cotangent * x * x


@pytest.mark.parametrize("kind", KINDS)
def test_operations_of_ones_own(kind: str) -> None:
    op = Scaled("scaled_here")
    (of_x, of_w) = KINDS[kind]
    x, w = of_x(X), of_w(W)
    assert isinstance(op(x, w), torch.Tensor) is ("torch" in kind)
    check_grad(op, [x, w], order=2, raise_exception=True)
    for found, g in zip(at.grad(total(op), (0, 1))(x, w), (2 * X * W * np.arange(1, 4), X * X * np.arange(1, 4))):
        np.testing.assert_allclose(elements(found), g)


def test_operations_get_the_elements_of_conjugate_views() -> None:
    op = Scaled("scaled_conjugates")
    z = torch.tensor([1.0 + 2.0j])
    np.testing.assert_array_equal(op(z.conj(), z.conj()).resolve_conj().numpy(), (z.conj() ** 3).resolve_conj().numpy())
    x = torch.tensor([1.0 + 2.0j], requires_grad=True)
    (g,) = at.grad(op(x.conj(), torch.tensor([1.0 + 0j])).real.sum(), [x])
    np.testing.assert_array_equal(g, 2.0 * np.array([1.0 + 2.0j]))  # the rule, which conjugates nothing, got conj(x), and conj gave it back


def test_modules_with_their_parameters() -> None:
    layer = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.Tanh())
    before = {name: p.detach().numpy().copy() for name, p in layer.state_dict().items()}
    report = check_grad(layer, [torch.randn(4, 3)], raise_exception=True)
    assert [row.input for row in report.rows] == ["in0", "0.weight", "0.bias", "1.weight", "1.bias"] and "of Sequential" in repr(report)
    assert all((p.detach().numpy() == before[name]).all() and p.grad is None for name, p in layer.state_dict().items())

    class Forgetful(torch.nn.Linear):
        def forward(self, x: Any) -> Any:
            return torch.nn.functional.linear(x, self.weight.detach(), self.bias)

    assert [row.verdict[:7] for row in check_grad(Forgetful(3, 1), [torch.randn(2, 3)]).rows] == ["ok", "missing", "ok"]


def test_a_torch_leaf_keeps_its_gradient_in_torchs_layout() -> None:
    x = torch.zeros(3, 2).t().requires_grad_()
    backward(x.sum())
    assert x.grad.stride() == x.stride() and x.grad.dtype is torch.float32
    held = x.grad
    backward(x.sum())
    assert x.grad is held and held._version == 1
    backward((x * x).sum(), options=at.BackwardOptions(create_graph=True))
    assert x.grad.requires_grad


ELSEWHERE: dict[str, Callable[[Any, Any], Any]] = {
    "regular": lambda F, x: F.sin(x) * x, "irregular": lambda F, x: F.quantile(F.cat([x, x * 2.0]), 0.3),
    "a list": lambda F, x: F.stack([x, x * x]), "keywords": lambda F, x: F.sum(x * x, dim=0, keepdim=True),
    "an index": lambda F, x: F.getitem(x, slice(1, None)) * 2.0, "a product": lambda F, x: F.matmul(x, x),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_transforms_of_torch_follow_functions_of_the_tape_library(name: str) -> None:
    """Forward mode, vmap and autocast listen to torchcompat's operations; on its tensors, those of `F` are the same."""
    function = ELSEWHERE[name]
    x, t = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64), torch.tensor([1.0, 0.5, -2.0], dtype=torch.float64)
    for run in (lambda f: torch.func.jvp(f, (x,), (t,)), lambda f: torch.func.vmap(f)(torch.stack([x, t, x * t])),
                lambda f: torch.func.vmap(torch.func.jacfwd(f))(torch.stack([x, t]))):
        ours, torchs = (tree_leaves(run(lambda x, front=front: function(front, x))) for front in (at.F, torch_functions))
        for found, expected in zip(ours, torchs, strict=True):
            assert type(found) is torch.Tensor
            np.testing.assert_array_equal(found.numpy(), expected.numpy())
    with torch.autocast("cpu"):
        x = x.float()
        assert function(at.F, x).dtype is function(torch_functions, x).dtype
