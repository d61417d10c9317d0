"""Entries that do the work of several of torch's operations look like these to programs that walk the graph, and passes do not mind."""

from __future__ import annotations

from typing import Any
from collections.abc import Callable

import numpy as np
import pytest

import torchcompat as torch
import torchcompat.nn.functional as F
from autograd_tape import Tape

# The graph as torch has it, AccumulateGrad as "*".
GRAPHS: dict[str, tuple[Callable[[Any, Any, Any], Any], str]] = {
    "linear": (lambda x, w, b: F.linear(x, w, b), "Addmm(*, *, T(*))"),
    "linear of a function": (lambda x, w, b: F.linear(x.exp(), w, b), "Addmm(*, Exp(*), T(*))"),
    "linear without bias": (lambda x, w, b: F.linear(x, w), "Mm(*, T(*))"),
    "linear of constant weights": (lambda x, w, b: F.linear(x.exp(), w.detach(), b.detach()), "Addmm(None, Exp(*), None)"),
    "linear of constants": (lambda x, w, b: F.linear(x.detach(), w, b), "Addmm(*, None, T(*))"),
    "linear of sequences": (lambda x, w, b: F.linear(x.view(2, 2, 3), w, b), "View(Addmm(*, View(View(*)), T(*)))"),
    "linear of sequences without bias": (lambda x, w, b: F.linear(x.view(2, 2, 3), w), "UnsafeView(Mm(View(View(*)), T(*)))"),
    "matmul": (lambda x, w, b: x @ w.T, "Mm(*, Permute(*))"),
    "matmul of vectors": (lambda x, w, b: x[0] @ w[0], "Dot(Select(*), Select(*))"),
    "matmul of batches": (lambda x, w, b: x.view(2, 2, 3) @ w.T, "UnsafeView(Mm(View(View(*)), Permute(*)))"),
    "reshape that copies": (lambda x, w, b: x.T.reshape(2, 6), "UnsafeView(Clone(Permute(*)))"),
    "flatten that copies": (lambda x, w, b: w.T[1:].flatten(), "UnsafeView(Clone(Slice(Permute(*))))"),
    "reshape": (lambda x, w, b: x.reshape(2, 6), "View(*)"),
    "index": (lambda x, w, b: x[0, 1:], "Slice(Select(*))"),
    "cross entropy": (lambda x, w, b: F.cross_entropy(x, torch.tensor([0, 1, 2, 0])), "NllLoss(LogSoftmax(*))"),
    "cross entropy of sums": (lambda x, w, b: F.cross_entropy(x, torch.tensor([0, 1, 2, 0]), torch.ones(3, dtype=torch.float64),
                                                       reduction="sum"),
                              "NllLoss(LogSoftmax(*))")}


_GATES = "UnsafeSplit(Add(Addmm(*, None, T(*)), Addmm(*, *, T(*))))"
CELLS: dict[str, str] = {
    "LSTMCell": f"Mul(Sigmoid({_GATES}), Tanh(Add(Mul(Sigmoid({_GATES}), None), Mul(Sigmoid({_GATES}), Tanh({_GATES})))))",
    "RNNCell": "Tanh(Add(Addmm(*, None, T(*)), Addmm(*, *, T(*))))",
    "GRUCell": "Add(Mul(Sub(None, Tanh(Add(UnsafeSplit(Addmm(*, *, T(*))), Mul(UnsafeSplit(Addmm(*, None, T(*))), Sigmoid(Add("
               "UnsafeSplit(Addmm(*, None, T(*))), UnsafeSplit(Addmm(*, *, T(*))))))))), Sigmoid(Add(UnsafeSplit(Addmm(*, None, T(*))), "
               "UnsafeSplit(Addmm(*, *, T(*)))))), Tanh(Add(UnsafeSplit(Addmm(*, *, T(*))), Mul(UnsafeSplit(Addmm(*, None, T(*))), "
               "Sigmoid(Add(UnsafeSplit(Addmm(*, None, T(*))), UnsafeSplit(Addmm(*, *, T(*)))))))))"}


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("hook", [False, True])
def test_cells_look_like_their_steps(name: str, hook: bool) -> None:
    def gradients(hook: bool) -> list[Any]:
        torch.manual_seed(0)
        cell = getattr(torch.nn, name)(3, 2)
        x = torch.ones(2, 3, requires_grad=True)
        found = cell(x)
        h, c = found if isinstance(found, tuple) else (found, found)
        assert text(h.grad_fn) == CELLS[name]
        assert h.output_nr == 0 and (c is h or c.grad_fn is h.grad_fn.next_functions[1][0].next_functions[0][0])
        calls: list[None] = []
        if hook:
            h.grad_fn.register_hook(lambda *_: calls.append(None))
            c.grad_fn.next_functions[0][0].register_hook(lambda *_: calls.append(None))
        (h.sum() + (2 * c).sum()).backward()
        assert len(calls) == 2 * hook
        return [x.grad, *[p.grad for p in cell.parameters()]]

    for a, b in zip(gradients(False), gradients(hook)):
        assert torch.allclose(a, b, rtol=1e-5, atol=1e-7)


def inputs() -> list[Any]:
    rng = np.random.default_rng(0)
    return [torch.tensor(rng.standard_normal(shape), requires_grad=True) for shape in ((4, 3), (5, 3), (5,))]


def text(node: Any) -> str:
    name = type(node).__name__
    if node is None or name == "AccumulateGrad":
        return "None" if node is None else "*"
    return f"{name.partition('Backward')[0]}({', '.join([text(n) for n, _ in node.next_functions])})"


@pytest.mark.parametrize("name", GRAPHS)
def test_the_graph_is_torchs(name: str) -> None:
    call, expected = GRAPHS[name]
    assert text(call(*inputs()).grad_fn) == expected


@pytest.mark.parametrize("name", GRAPHS)
def test_gradients_are_the_same_whoever_looked_or_hooked(name: str) -> None:
    found = []
    for look in (False, True, "hook"):
        tensors = inputs()
        result = GRAPHS[name][0](*tensors)
        result.grad_fn.name()
        if look:
            text(result.grad_fn)
        calls: list[None] = []
        if look == "hook":
            node = result.grad_fn
            while node is not None and node.name() != "torch::autograd::AccumulateGrad":
                node.register_hook(lambda *_: calls.append(None))
                node = next((n for n, _ in node.next_functions if n is not None), None)
        (result * torch.arange(1.0, result.numel() + 1).view(result.shape)).sum().backward()
        assert bool(calls) == (look == "hook")
        found.append([None if t.grad is None else t.grad.tolist() for t in tensors])
    assert found[0] == found[1]  # to the last bit: looking changes nothing
    for a, b in zip(found[0], found[2]):
        assert (a is None) == (b is None) and (a is None or np.allclose(a, b, rtol=1e-12))


def test_a_node_deep_inside_can_be_hooked() -> None:
    x, w, b = inputs()
    result = F.linear(x.view(2, 2, 3), w)
    product = result.grad_fn.next_functions[0][0]
    transpose = product.next_functions[1][0]
    seen: list[Any] = []
    for node in (transpose, product):
        node.register_hook(lambda gradients, given: seen.append((gradients[0].shape, given[0].shape)))
    F.linear(x, w).sum().backward()
    alone = w.grad.clone()
    w.grad = None
    result.sum().backward()
    assert seen == [((4, 3), (4, 5)), ((5, 3), (3, 5))] and torch.equal(w.grad, alone)
    assert text(result.grad_fn) == "UnsafeView(Mm(View(View(*)), T(*)))"


def test_saved_tensors_of_the_view_are_those_of_the_node() -> None:
    x, w, b = inputs()
    node = F.cross_entropy(x, torch.tensor([0, 1, 2, 0])).grad_fn
    assert torch.allclose(node._saved_self, x.log_softmax(1)) and node._saved_total_weight.tolist() == 4 and node._saved_reduction == 1
    assert node.next_functions[0][0]._saved_result.shape == (4, 3)
    result = F.linear(x, w)
    assert result.grad_fn._saved_mat2.tolist() == w.T.tolist()
    result.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        print(result.grad_fn._saved_mat2)
    with pytest.raises(AttributeError, match="'MmBackward0' object has no attribute '_saved_other'"):
        print(F.linear(x, w).grad_fn._saved_other)


def test_what_was_changed_freed_or_kept_looks_like_itself() -> None:
    x, w, b = inputs()
    y = x.exp()
    changed = F.linear(y, w)
    with torch.no_grad():
        y.add_(1)
    assert text(changed.grad_fn) == "Mm(Exp(*), *, None)"
    freed = F.linear(x, w)
    freed.sum().backward()
    assert text(freed.grad_fn) == "Addmm(*, *, None)"
    with Tape() as tape:
        F.linear(x, w)
    assert [type(e).__name__ for e in tape.entries] == ["AddmmBackward0"]


def test_modes_and_grad_modes_do_not_see_the_looking() -> None:
    x, w, b = inputs()
    result = F.linear(x, w, b)
    with torch.no_grad(), Tape() as tape:
        assert text(result.grad_fn) == "Addmm(*, *, T(*))"
    assert not tape.entries
