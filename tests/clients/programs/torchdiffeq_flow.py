"""Differential equations by eleven methods, a right-hand side trained through the solver and by the adjoint, and the time of an event."""

import torch
from torchdiffeq import odeint, odeint_adjoint, odeint_event

PACKAGES = ("torchdiffeq",)
METHODS = ("dopri5", "dopri8", "bosh3", "adaptive_heun", "euler", "midpoint", "rk4", "explicit_adams", "implicit_adams", "fehlberg2",
           "heun3")
START, TIMES = torch.tensor([[2.0, 0.0]]), torch.linspace(0, 1, 5)


class Flow(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))

    def forward(self, time: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.net(y ** 3)


def trained(solve: object) -> list:
    flow, losses = Flow(), []
    optimizer = torch.optim.Adam(flow.parameters(), 0.01)
    target = torch.randn(5, 1, 2)
    for _ in range(3):
        loss = (solve(flow, START, TIMES) - target).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def fallen() -> torch.Tensor:
    start = torch.tensor([1.0, 0.0])
    return odeint_event(lambda t, y: torch.stack([y[1], torch.tensor(-9.8)]), start, torch.tensor(0.0), event_fn=lambda t, y: y[0])[0]


CASES = {"methods": lambda: {method: odeint(Flow(), START, TIMES, method=method) for method in METHODS},
         "through the solver": lambda: trained(odeint), "by the adjoint": lambda: trained(odeint_adjoint), "event": fallen}
