"""Optimizers against what real torch made of the same parameters: steps, state dicts, text; and their errors."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from torchcompat import optim

from .optim_cases import MISFIT_TABLE, TABLE, run_misfit


@pytest.mark.parametrize("case", TABLE.recorded)
def test_steps(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


@pytest.mark.parametrize("case", MISFIT_TABLE.recorded)
def test_state_and_gradients_that_do_not_fit(case: str) -> None:
    MISFIT_TABLE.assert_as_torch(torch, case)
    for misfit, found in MISFIT_TABLE.recorded[case].items():
        small = run_misfit(torch, case, misfit, (13, 10), (10, 5))
        assert small[0] == found[0] if isinstance(found[0], str) else small[1:] == found[1:], (misfit, small, found)


def parameters() -> list[Any]:
    return [torch.nn.Parameter(torch.tensor([1.0, 2.0])), torch.nn.Parameter(torch.tensor([[3.0]]))]


def set_grads(params: list[Any]) -> None:
    for p in params:
        p.grad = torch.full_like(p, 0.5, requires_grad=False)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"])
def test_state_dict_continues_where_it_was(name: str) -> None:
    options = {"momentum": 0.9} if name == "SGD" else {}
    a, b = parameters(), parameters()
    first, second = (getattr(optim, name)(params, lr=0.1, **options) for params in (a, b))
    for _ in range(2):
        set_grads(a)
        first.step()
    for p, q in zip(a, b, strict=True):
        q.data.copy_(p.data)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for params, opt in ((a, first), (b, second)):
        set_grads(params)
        opt.step()
    assert all(torch.equal(p, q) for p, q in zip(a, b, strict=True))


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_kernel_equals_rule(name: str) -> None:
    """The step on buffers and the rule in tensor operations, which other devices and differentiable steps use."""
    options = {"momentum": 0.9, "nesterov": True} if name == "SGD" else {"amsgrad": True}
    results = []
    for differentiable in (False, True):
        params = parameters()
        opt = getattr(optim, name)(params, lr=0.1, weight_decay=0.1, differentiable=differentiable, **options)
        for p in params:
            p.requires_grad_(not differentiable)
        for _ in range(3):
            set_grads(params)
            opt.step()
        results.append([p.detach() for p in params])
    for a, b in zip(*results, strict=True):
        assert torch.allclose(a, b, rtol=1e-4)  # the rule that gradients flow through counts steps in float32


def test_step_counts_as_in_place_update() -> None:
    p = torch.nn.Parameter(torch.ones(2))
    loss = (p * p).sum()
    opt = optim.SGD([p], lr=0.1)
    p.grad = torch.ones(2)
    before = p._version
    opt.step()
    assert p._version == before + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_double_and_half_parameters() -> None:
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float16, 1e-3), (torch.bfloat16, 1e-2)):
        p = torch.nn.Parameter(torch.tensor([1.0, 2.0], dtype=dtype))
        p.grad = torch.tensor([1.0, -1.0], dtype=dtype)
        opt = optim.AdamW([p], lr=0.1, weight_decay=0.0)
        opt.step()
        assert p.dtype is dtype and opt.state[p]["exp_avg"].dtype is dtype and opt.state[p]["step"].dtype is torch.float32
        np.testing.assert_allclose(p.detach().double().numpy(), [0.9, 2.1], rtol=max(tolerance, 1e-7))


def test_parameters_without_gradient_are_left_alone() -> None:
    a, b = parameters()
    a.grad = torch.ones(2)
    opt = optim.Adam([a, b])
    opt.step()
    assert b.tolist() == [[3.0]] and b not in opt.state
    opt.zero_grad()
    assert a.grad is None


def raises(error: type[Exception], text: str) -> Any:
    return pytest.raises(error, match=f"^{re.escape(text)}$")


def test_errors() -> None:
    p = torch.nn.Parameter(torch.ones(1))
    with raises(ValueError, "optimizer got an empty parameter list"):
        optim.SGD([])
    with raises(TypeError, "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor"):
        optim.SGD(p)
    with raises(TypeError, "optimizer can only optimize Tensors, but one of the params is int"):
        optim.SGD([3])
    with raises(ValueError, "can't optimize a non-leaf Tensor"):
        optim.SGD([p * 2])
    with raises(ValueError, "some parameters appear in more than one parameter group"):
        optim.SGD([{"params": [p]}, {"params": [p]}])
    with raises(ValueError, "Invalid learning rate: -1"):
        optim.Adam([p], lr=-1)
    with raises(ValueError, "Invalid beta parameter at index 1: 1.5"):
        optim.Adam([p], betas=(0.9, 1.5))
    with raises(ValueError, "Nesterov momentum requires a momentum and zero dampening"):
        optim.SGD([p], nesterov=True)
    with raises(ValueError, "loaded state dict has a different number of parameter groups"):
        optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []})
    with raises(ValueError, "LBFGS doesn't support per-parameter options (parameter groups)"):
        optim.LBFGS([{"params": [p]}, {"params": [torch.nn.Parameter(torch.ones(1))]}])


def test_names_and_groups() -> None:
    model = torch.nn.Linear(2, 1)
    opt = optim.SGD(model.named_parameters(), lr=0.1)
    assert opt.param_groups[0]["param_names"] == ["weight", "bias"] and opt.param_groups[0]["params"][0] is model.weight
    assert opt.state_dict()["param_groups"][0]["params"] == [0, 1]
    with pytest.raises(ValueError, match="should be with/without names"):
        opt.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]})


def test_step_hooks() -> None:
    log: list[str] = []
    p = torch.nn.Parameter(torch.ones(1))
    opt = optim.SGD([p], lr=0.1)
    with opt.register_step_pre_hook(lambda o, args, kwargs: log.append("pre")), \
            opt.register_step_post_hook(lambda o, args, kwargs: log.append("post")):
        opt.step()
    opt.step()
    assert log == ["pre", "post"]


def test_closure_and_clipping() -> None:
    p = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
    opt = optim.SGD([p], lr=1.0)

    def closure() -> Any:
        opt.zero_grad()
        loss = (p * p).sum() / 2
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_([p], 1.0)
        assert norm.item() == 5.0
        return loss

    assert opt.step(closure).item() == 12.5
    np.testing.assert_allclose(p.detach().numpy(), [2.4, 3.2], rtol=1e-5)
    p.grad = torch.tensor([5.0, -5.0])
    torch.nn.utils.clip_grad_value_([p], 2.0)
    assert p.grad.tolist() == [2.0, -2.0]
    vector = torch.nn.utils.parameters_to_vector([p])
    torch.nn.utils.vector_to_parameters(vector * 0, [p])
    assert p.tolist() == [0.0, 0.0]
