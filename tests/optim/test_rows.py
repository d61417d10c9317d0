"""Parameters of half precision that are updated by the rule of one, over lists, against one after the other."""

from __future__ import annotations

from typing import Any

import pytest

import torchcompat as torch
from torchcompat._calls.lists import LARGE, Rows
from torchcompat.optim._rule import RuleOptimizer

OPTIONS: list[tuple[Any, dict[str, Any]]] = [
    (torch.optim.SGD, {}), (torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "maximize": True}),
    (torch.optim.Adam, {"weight_decay": 0.1, "amsgrad": True}), (torch.optim.AdamW, {"maximize": True}),
    (torch.optim.Adamax, {"weight_decay": 0.1}), (torch.optim.NAdam, {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    (torch.optim.RAdam, {}), (torch.optim.RMSprop, {"centered": True, "momentum": 0.9}), (torch.optim.Adagrad, {"lr_decay": 0.1}),
    (torch.optim.Adadelta, {"weight_decay": 0.1}), (torch.optim.ASGD, {"weight_decay": 0.1})]
SHAPES = [(3, 5), (7,), (), (0,), (LARGE + 3,), (30, 40)]


def _trained(kind: Any, options: dict[str, Any], dtype: torch.dtype) -> list[Any]:
    torch.manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(shape).to(dtype)) for shape in SHAPES]
    params.append(torch.nn.Parameter(torch.randn(4, 3).to(dtype).T))
    optimizer = kind(params, lr=0.01, **options)
    for i in range(7):
        for j, p in enumerate(params):
            p.grad = None if i == 3 and j == 1 else torch.randn(p.shape).to(dtype)  # one is a step behind from then on
        optimizer.step()
    states = [x for p in params for _, x in sorted(optimizer.state[p].items())]
    return [(x._version, x.dtype, x.stride(), x.detach().float().nan_to_num(9.0).tolist()) for x in (*params, *states)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize(("kind", "options"), OPTIONS)
def test_the_same_bits(monkeypatch: pytest.MonkeyPatch, kind: Any, options: dict[str, Any], dtype: torch.dtype) -> None:
    found = _trained(kind, options, dtype)
    monkeypatch.setattr(RuleOptimizer, "update_rows", lambda self, params, group: params)
    assert found == _trained(kind, options, dtype)


def _tied(kind: Any, options: dict[str, Any], how: str) -> list[Any]:
    torch.manual_seed(1)
    params = [torch.nn.Parameter(torch.randn(() if how == "numbers" else (3, 5)).to(torch.bfloat16)) for _ in range(3)]
    if how == "parameters":
        params[1].data = params[0].data
    if how == "parts":
        params[1].data = params[0].data.view(15)[4:9]
    optimizer = kind(params, lr=0.1, **options)
    for i in range(4):
        for p in params:
            p.grad = torch.randn(p.shape).to(torch.bfloat16)
        if how == "gradient":
            params[1].grad = params[0].data
        if how == "numbers" and i < 2:
            params[1].grad = None
        optimizer.step()
        states = [optimizer.state[p] for p in params]
        if how == "states" and i == 1:
            states[1].update(states[0])
        if how == "numbers":  # what counts has the dtype of parameters then
            for state in states:
                state.update({name: x.to(torch.bfloat16) for name, x in state.items() if x is not None and name != "step"})
    return [x.tolist() for x in (*params, *[x for state in states for _, x in sorted(state.items())])]


@pytest.mark.parametrize("how", ["parameters", "parts", "gradient", "states", "numbers"])
@pytest.mark.parametrize(("kind", "options"), OPTIONS)
def test_what_shares_memory_is_updated_in_turn(monkeypatch: pytest.MonkeyPatch, kind: Any, options: dict[str, Any], how: str) -> None:
    found = _tied(kind, options, how)
    monkeypatch.setattr(RuleOptimizer, "update_rows", lambda self, params, group: params)
    assert found == _tied(kind, options, how)


def test_rows_have_a_tensors_methods() -> None:
    a, b = [[torch.tensor([1.0, 4.0]), torch.tensor(9.0)] for _ in range(2)]
    rows = Rows(a)
    found = -(2.0 / (rows.sqrt() + Rows(b) * 0.0 - 1.5) / 2)
    assert [x.tolist() for x in found.tensors] == [[2.0, -2.0], pytest.approx(-1 / 1.5)]
    assert rows.mul_(2) is rows and a[0].tolist() == [2.0, 8.0]
    rows += 1
    rows *= Rows(b)
    assert [x.tolist() for x in a] == [[3.0, 36.0], 171.0]
