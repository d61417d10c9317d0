"""Parameters that are updated by one call of machine code for all of them, against one after the other."""

from __future__ import annotations

from typing import Any

import pytest

import torchcompat as torch
from autograd_tape.executors.kernels._on_demand import available
from torchcompat.optim import _rule, adam, sgd

pytestmark = pytest.mark.skipif(not available(), reason="Numba is not installed: parameters are updated one after the other")
_CHARS = {torch.float32: "f", torch.float64: "d", torch.bfloat16: "E", torch.float16: "e"}
OPTIONS: list[tuple[Any, Any, dict[str, Any]]] = [
    (torch.optim.SGD, sgd, {}), (torch.optim.SGD, sgd, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    (torch.optim.SGD, sgd, {"momentum": 0.5, "dampening": 0.3, "maximize": True}), (torch.optim.Adam, adam, {"weight_decay": 0.1}),
    (torch.optim.Adam, adam, {"amsgrad": True, "maximize": True}), (torch.optim.Adam, adam, {"betas": (0.3, 0.5)}),
    (torch.optim.AdamW, adam, {})]


@pytest.mark.parametrize("dtype", _CHARS, ids=str)
@pytest.mark.parametrize(("kind", "module", "options"), OPTIONS)
def test_the_same_bits(monkeypatch: pytest.MonkeyPatch, kind: Any, module: Any, options: dict[str, Any], dtype: torch.dtype) -> None:
    module._LISTED.surely(_CHARS[dtype])
    taken: list[bool] = []

    def noted(*given: Any) -> bool:
        taken.append(_rule.at_once(*given))
        return taken[-1]

    results = []
    for way in (noted, lambda *given: False):
        monkeypatch.setattr(module, "at_once", way)
        torch.manual_seed(0)
        params = [torch.nn.Parameter(torch.randn(shape).to(dtype)) for shape in ((3, 5), (7,), (1,), (0,), (30, 40))]
        optimizer = kind(params, lr=0.01, fused=True, **options)
        for _ in range(3):
            for p in params:
                p.grad = torch.randn(p.shape).to(dtype)
            optimizer.step()
        kept = [x for p in params for x in optimizer.state[p].values() if x is not None]
        results.append([(x.shape, x.detach()._data.tobytes()) for x in (*params, *kept)])
    assert results[0] == results[1]
    assert taken == [True] * 3


def test_what_does_not_go_together_is_updated_one_after_the_other() -> None:
    params = [torch.nn.Parameter(torch.ones(2, dtype=dtype)) for dtype in (torch.float32, torch.float64)]
    other = torch.nn.Parameter(torch.ones(3, 2).T)
    for p in (*params, other):
        p.grad = torch.ones_like(p)
    sgd._LISTED.surely("f")
    torch.optim.SGD([*params, other], lr=0.5).step()
    assert all([x == 0.5 for p in (*params, other) for x in p.detach().reshape(-1).tolist()])


@pytest.mark.parametrize("dtype", _CHARS, ids=str)
@pytest.mark.parametrize("options", [{}, {"weight_decay": 0.1, "lr_decay": 0.2}, {"maximize": True, "initial_accumulator_value": 0.5}])
def test_a_fused_loop_of_one_parameter_gives_the_bits_of_its_rule(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any],
                                                                  dtype: torch.dtype) -> None:
    kind = torch.optim.Adagrad
    assert kind.kernel is not None and kind.in_half
    run, taken, results = kind.kernel._few.surely(_CHARS[dtype]), [], []
    for compiled in (True, False):
        over = (lambda *given: taken.append(given) or run) if compiled else lambda *given: None
        monkeypatch.setattr(type(kind.kernel), "over", over)
        torch.manual_seed(0)
        params = [torch.nn.Parameter(torch.randn(shape).to(dtype)) for shape in ((3, 5), (7,), (0,), (30, 40))]
        optimizer = kind(params, lr=0.01, fused=True, **options)
        for _ in range(3):
            for p in params:
                p.grad = torch.randn(p.shape).to(dtype)
            optimizer.step()
        results.append([(x.shape, x.detach()._data.tobytes()) for p in params for x in (p, *optimizer.state[p].values())])
    assert results[0] == results[1]
    assert len(taken) == 12
