"""Views share memory and version; in-place updates through them reach the base and its history."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import torchcompat as torch
from autograd_tape.ops import RECORDS

VIEWS: dict[str, Callable[[Any], Any]] = {
    "view": lambda x: x.view(4, 6), "transpose": lambda x: x.transpose(0, 2), "permute": lambda x: x.permute(2, 0, 1),
    "select": lambda x: x[1], "slice": lambda x: x[:, 1:], "step": lambda x: x[..., ::2], "none": lambda x: x[:, None],
    "expand": lambda x: x[:1].expand(3, 3, 4), "diagonal": lambda x: x.diagonal(dim1=1, dim2=2), "unfold": lambda x: x.unfold(2, 2, 1),
    "squeeze": lambda x: x[:, :1].squeeze(1), "unsqueeze": lambda x: x.unsqueeze(0), "flatten": lambda x: x.flatten(),
    "narrow": lambda x: x.narrow(2, 1, 2), "unbind": lambda x: x.unbind(1)[2], "split": lambda x: x.split(2, dim=2)[1],
    "as_strided": lambda x: x.as_strided((2, 2), (12, 1), 3), "T": lambda x: x.mT, "detach": lambda x: x.detach(),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory_and_version(name: str) -> None:
    x = torch.arange(24.0).reshape(2, 3, 4).clone()
    v = VIEWS[name](x)
    assert v.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert v.storage_offset() * 4 == v.data_ptr() - x.data_ptr()
    x.add_(1)
    assert v._version == x._version == 1
    assert (v.sum() == VIEWS[name](x.clone()).sum()).item()
    if name != "detach":
        assert v._base is x


@pytest.mark.parametrize("name", [n for n in VIEWS if n not in ("expand", "unfold", "detach", "unbind", "split")])
def test_in_place_through_a_view_is_in_the_bases_history(name: str) -> None:
    x = torch.arange(24.0).reshape(2, 3, 4).clone().requires_grad_()
    base = x * 1
    view = VIEWS[name](base)
    view.mul_(3)
    assert type(base.grad_fn).__name__ == "CopySlices"
    weights = torch.arange(24.0).reshape(2, 3, 4) + 1
    (base * weights).sum().backward()
    expected = weights.clone()
    VIEWS[name](expected).mul_(3)
    assert x.grad.tolist() == expected.tolist()


def test_views_made_before_follow_their_base() -> None:
    x = torch.ones(4, requires_grad=True)
    base = x * 1
    view = base[1:3]
    base.mul_(5)
    assert type(view.grad_fn).__name__ == "AsStridedBackward0"
    view.sum().backward()
    assert x.grad.tolist() == [0, 5, 5, 0]


def test_a_view_of_a_plain_base_gets_a_history_when_the_base_does() -> None:
    w = torch.ones(4, requires_grad=True)
    base = torch.zeros(4)
    view = base[:2]
    assert not view.requires_grad
    base.copy_(w * 3)
    assert view.requires_grad
    view.sum().backward()
    assert w.grad.tolist() == [3, 3, 0, 0]


def test_setitem_records() -> None:
    w = torch.ones(2, requires_grad=True)
    out = torch.zeros(3, 2)
    for i in range(3):
        out[i] = w * (i + 1)
    out.sum().backward()
    assert w.grad.tolist() == [6, 6]


def test_second_derivative_through_an_update_of_a_view() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    y[1:].mul_(x[1:])
    (g,) = torch.autograd.grad((y ** 2).sum(), x, create_graph=True)
    assert torch.allclose(g, torch.stack([2 * x[0], 4 * x[1] ** 3, 4 * x[2] ** 3]))
    g.sum().backward()
    assert torch.allclose(x.grad, torch.tensor([2.0, 48.0, 108.0]))


def test_outputs_of_multi_views_refuse_updates() -> None:
    x = torch.ones(4, requires_grad=True)
    first, _ = (x * 1).unbind(0)[:2]
    with pytest.raises(RuntimeError, match="^Output 0 of Unbind is a view and is being modified inplace. This view is the output of a "
                                           "function that returns multiple views."):
        first.mul_(2)


def test_a_training_step_leaves_no_garbage() -> None:
    x = torch.ones(4, requires_grad=True)

    def step() -> None:
        y = x * 2
        y[1:].mul_(3)
        y.sum().backward()

    step()
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            step()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_graphs_die_with_their_outputs() -> None:
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_a_million_operations_differentiate() -> None:
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + x
    y.backward()
    assert x.grad.item() == 1_000_001


@pytest.mark.parametrize("name", [n for n, r in RECORDS.items() if r.inplace and not r.differentiable and r.field("node_")])
@pytest.mark.parametrize("part", [False, True])
def test_in_place_comparisons_end_the_history_of_what_was_there(name: str, part: bool, compared: Callable[[int], None]) -> None:
    compared(3)
    leaf = torch.tensor([0.3, 0.7, 0.5], requires_grad=True)
    x = leaf * 2
    target = x[:2] if part else x
    expected = getattr(target.detach(), name)(0.9).float()
    found = getattr(target, name + "_")(0.9)
    assert found is target and torch.equal(target, expected) and x.requires_grad
    x.sum().backward()
    assert leaf.grad.tolist() == ([0, 0, 2] if part else [0, 0, 0])
