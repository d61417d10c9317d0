"""Modules as functions: functional_call, stack_module_state, and what goes with them."""

from __future__ import annotations

import pytest

import torchcompat as torch
from torchcompat import nn
from torchcompat.func import functional_call, functionalize, grad, replace_all_batch_norm_modules_, stack_module_state, vmap


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def test_functional_call_leaves_the_module_alone() -> None:
    net = nn.Linear(1, 1)
    before = net.weight.item()
    assert functional_call(net, {"weight": torch.ones(1, 1), "bias": torch.zeros(1)}, torch.tensor([[3.0]])).item() == 3.0
    assert net.weight.item() == before
    two = functional_call(net, ({"weight": torch.ones(1, 1)}, {"bias": torch.ones(1)}), (torch.tensor([[3.0]]),))
    assert two.item() == 4.0


def test_per_sample_gradients_are_those_of_single_samples() -> None:
    net = network()
    params = dict(net.named_parameters())
    x, y = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])

    def loss(p: dict, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(functional_call(net, p, (x.unsqueeze(0),)), y.unsqueeze(0))

    found = vmap(grad(loss), (None, 0, 0))(params, x, y)
    for i in range(5):
        net.zero_grad()
        nn.functional.cross_entropy(net(x[i:i + 1]), y[i:i + 1]).backward()
        for name, p in net.named_parameters():
            assert torch.allclose(found[name][i], p.grad, atol=1e-6)


def test_an_ensemble_in_one_call() -> None:
    models = [network() for _ in range(3)]
    params, buffers = stack_module_state(models)
    assert buffers == {} and params["0.weight"].shape == (3, 4, 3) and params["0.weight"].is_leaf and params["0.weight"].requires_grad
    x = torch.randn(6, 3)
    found = vmap(lambda p, b, x: functional_call(models[0], (p, b), (x,)), (0, 0, None))(params, buffers, x)
    for i, model in enumerate(models):
        assert torch.allclose(found[i], model(x), atol=1e-6)


def test_functionalize_computes_the_same() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[0] = 1
        return y.add_(1)

    assert functionalize(f)(torch.zeros(2)).tolist() == [2.0, 1.0]
    with pytest.raises(RuntimeError, match="received invalid argument for remove=all"):
        functionalize(f, remove="all")


def test_batch_norm_without_running_statistics() -> None:
    net = nn.Sequential(nn.BatchNorm1d(2))
    replace_all_batch_norm_modules_(net)
    assert net[0].running_mean is None and not net[0].track_running_stats
    assert vmap(net)(torch.randn(3, 4, 2)).shape == (3, 4, 2)


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: stack_module_state([]), RuntimeError, "stack_module_state: Expected at least one model, got 0."),
    (lambda: stack_module_state([nn.Linear(1, 1), nn.ReLU()]), RuntimeError, "Expected all models to be of the same class."),
    (lambda: stack_module_state([nn.Linear(1, 1), nn.Linear(1, 1).eval()]), RuntimeError, "to have the same training/eval mode."),
    (lambda: functional_call(nn.Linear(1, 1), ({"weight": 1}, {"weight": 2}), ()), ValueError, "appeared in multiple dictionaries"),
])
def test_errors(call, error: type[Exception], text: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=text):
        call()
