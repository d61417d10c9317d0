"""Steps by every optimizer of the package: on a network, on the function of Rosenbrock in double precision, their states
saved and loaded."""

import torch
import torch_optimizer

PACKAGES = ("torch-optimizer",)
NAMES = ("A2GradExp", "A2GradInc", "A2GradUni", "AccSGD", "AdaBelief", "AdaBound", "AdaMod", "Adafactor", "Adahessian", "AdamP", "AggMo",
         "Apollo", "DiffGrad", "Lamb",
         "Lookahead", "MADGRAD", "NovoGrad", "PID", "QHAdam", "QHM", "RAdam", "Ranger", "RangerQH", "RangerVA", "SGDP", "SGDW", "SWATS",
         "Shampoo", "Yogi")


def optimizer(name: str, parameters: list) -> object:
    kind = getattr(torch_optimizer, name)
    if name == "Lookahead":
        return kind(torch.optim.SGD(parameters, 0.1), k=2)
    return kind(parameters) if name.startswith("A2Grad") else kind(parameters, lr=1e-2, **{"momentum": 0.9} if name == "QHM" else {})


def network(name: str) -> list:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    x, y, losses = torch.randn(16, 4), torch.randint(2, (16,)), []
    steps = optimizer(name, list(net.parameters()))

    def train() -> None:
        steps.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward(create_graph=name == "Adahessian")
        steps.step()
        losses.append(loss.item())

    for _ in range(4):
        train()
    kept = {} if name == "Lookahead" else steps.state_dict()  # which it cannot say on torch
    if kept:
        steps = optimizer(name, list(net.parameters()))
        steps.load_state_dict(kept)
    train()
    return [losses, [p.detach() for p in net.parameters()], sorted({key for state in kept.get("state", {}).values() for key in state},
                                                                   key=str)]


def rosenbrock(name: str) -> list:
    torch.manual_seed(0)
    place = torch.tensor([[-1.5, 1.2]], dtype=torch.float64, requires_grad=True)
    steps, path = optimizer(name, [place]), []
    for _ in range(6):
        steps.zero_grad()
        x, y = place[0]
        ((1 - x) ** 2 + 10 * (y - x * x) ** 2).backward(create_graph=name == "Adahessian")
        steps.step()
        path.append(place.detach().clone())
    return path


CASES = {**{name: lambda name=name: network(name) for name in NAMES},
         **{f"{name}, Rosenbrock": lambda name=name: rosenbrock(name) for name in NAMES if name != "Adafactor"}}
