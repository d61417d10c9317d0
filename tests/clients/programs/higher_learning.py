"""Gradients through steps of optimizers: eight of them inside a loop that is differentiated, hyperparameters
learned, MAML on sines, networks with other weights."""

import higher
import torch
from torch import nn

PACKAGES = ("higher",)
F = nn.functional
INNER: dict = {"SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True}, "Adam": {"lr": 0.01}, "RMSprop": {"lr": 0.01, "centered": True},
               "Adagrad": {"lr": 0.01}, "Adadelta": {}, "Adamax": {}, "ASGD": {}, "Rprop": {}}


def network(dtype: torch.dtype = torch.float32) -> tuple:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 1))
    return net.to(dtype), torch.randn(10, 3).to(dtype), torch.randn(10, 1).to(dtype)


def through(name: str, dtype: torch.dtype) -> list:
    net, x, y = network(dtype)
    outer, found = torch.optim.Adam(net.parameters(), 1e-2), []
    inner = getattr(torch.optim, name)(net.parameters(), **INNER[name])
    for _ in range(2):
        with higher.innerloop_ctx(net, inner, copy_initial_weights=False) as (model, steps):
            for _ in range(3):
                steps.step(F.mse_loss(model(x[:5]), y[:5]))
            loss = F.mse_loss(model(x[5:]), y[5:])
            outer.zero_grad()
            loss.backward()
        found.append([loss.item(), [p.grad.clone() for p in net.parameters()]])
        outer.step()
    return found


def learned() -> list:
    net, x, y = network()
    rate, momentum = torch.tensor(0.1, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.5)
    with higher.innerloop_ctx(net, optimizer, override={"lr": [rate], "momentum": [momentum]}) as (model, steps):
        for _ in range(3):
            steps.step(F.mse_loss(model(x), y))
        F.mse_loss(model(x), y).backward()
    learnable = higher.optim.get_trainable_opt_params(torch.optim.Adam(net.parameters(), 0.01))
    return [rate.grad, momentum.grad, str(learnable)]


def maml() -> list:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))
    outer, inner, losses = torch.optim.Adam(net.parameters(), 1e-2), torch.optim.SGD(net.parameters(), 0.05), []
    for _ in range(4):
        outer.zero_grad()
        total = 0.0
        for _ in range(3):
            size, shift, x = torch.rand(1) + 0.5, torch.rand(1), 4 * torch.rand(10, 1) - 2
            y = size * torch.sin(x + shift)
            with higher.innerloop_ctx(net, inner, copy_initial_weights=False) as (model, steps):
                for _ in range(2):
                    steps.step(F.mse_loss(model(x[:5]), y[:5]))
                loss = F.mse_loss(model(x[5:]), y[5:])
                loss.backward()
                total += loss.item()
        outer.step()
        losses.append(total)
    return losses


def patched() -> list:
    net, x, y = network()
    model = higher.monkeypatch(net, copy_initial_weights=True, track_higher_grads=False)
    steps = higher.get_diff_optim(torch.optim.Adam(net.parameters(), 0.01), net.parameters(), fmodel=model, track_higher_grads=False)
    losses = []
    for _ in range(3):
        loss = F.mse_loss(model(x), y)
        steps.step(loss)
        losses.append(loss.item())
    parameters = [2 * p.detach() for p in model.parameters()]
    copied = higher.patch.make_functional(net)
    same = torch.equal(copied(x, params=list(net.parameters())), net(x))
    return [losses, model(x, params=parameters), same, type(model).__name__, [p.grad for p in model.parameters()]]


def recurrent() -> list:
    torch.manual_seed(0)
    net, x = nn.LSTM(2, 3), torch.randn(4, 2, 2)
    with higher.innerloop_ctx(net, torch.optim.SGD(net.parameters(), 0.1), copy_initial_weights=False) as (model, steps):
        for _ in range(2):
            steps.step(model(x)[0].square().mean())
        model(x)[0].square().mean().backward()
    return [p.grad for p in net.parameters()]


CASES = {**{name: lambda name=name: through(name, torch.float64) for name in INNER},
         **{f"{name}, float32": lambda name=name: through(name, torch.float32) for name in INNER},
         "learned rates": learned, "MAML": maml, "patched": patched, "recurrent": recurrent}
