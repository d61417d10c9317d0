"""Drawings of graphs of gradients: their nodes in order, what they carry and what they have saved, and their edges."""

import re

import torch
from torch import nn
from torchviz import make_dot

PACKAGES = ("torchviz",)
torch.manual_seed(0)
X = torch.randn(2, 3, requires_grad=True)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return 2 * x

    @staticmethod
    def backward(ctx: object, gradient: torch.Tensor) -> torch.Tensor:
        return 2 * gradient


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 3))
        self.norm = nn.LayerNorm(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x + self.inner(x))


PICTURES = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 2))
WORDS = nn.Sequential(nn.Embedding(5, 3), nn.Dropout(0.5), nn.Linear(3, 2, bias=False))
NETWORKS = {"perceptron": (nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), X), "residual": (Residual(), X),
            "convolutions": (PICTURES, torch.randn(1, 1, 6, 6)), "recurrent": (nn.LSTMCell(3, 2), X), "GRU": (nn.GRUCell(3, 2), X),
            "transformer": (nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), torch.randn(1, 3, 4)),
            "attention": (nn.MultiheadAttention(4, 2, batch_first=True), tuple(torch.randn(3, 1, 3, 4))),
            "embedding": (WORDS, torch.tensor([[1, 2]])), "bilinear": (nn.Bilinear(3, 3, 2), (X, X))}
VALUES = {"arithmetic": lambda x: ((x + 1) * x.exp() / (x.square() + 2) - x.sigmoid()).mean(),
          "powers": lambda x: (x.abs() ** 2.5).sum(0).prod(),
          "shapes": lambda x: torch.cat([x.T.reshape(2, 3), x[:, :2].expand(2, 2)], 1)[0, 1:].unsqueeze(0),
          "matrices": lambda x: (x @ x.T).logdet() + torch.linalg.norm(x),
          "chosen": lambda x: torch.where(x > 0, x, -x).gather(1, torch.tensor([[0, 1], [2, 0]])).max(1).values.sum(),
          "own": lambda x: Double.apply(x.clamp(-1, 1)).sum(),
          "several": lambda x: sum(part.std() for part in x.split(1)), "in place": lambda x: x.clone().mul_(2).add_(x)[0].sum(),
          "twice": lambda x: torch.autograd.grad(x.tanh().sum(), x, create_graph=True)[0].square().sum(),
          "softmax": lambda x: nn.functional.cross_entropy(x, torch.tensor([0, 2])),
          "cumulative": lambda x: x.cumsum(0).log_softmax(1).logsumexp(1).sum(),
          "sorted": lambda x: x.sort(1).values.topk(2, 1).values.sum(-1).mean()}


def drawn(dot: object) -> dict:
    """The kinds of a drawing's nodes, and its lines, where nodes are called by the order in which they come."""
    names: dict = {}
    text = re.sub(r"(?<![.\d])\d{6,}\b", lambda found: names.setdefault(found.group(), f"n{len(names)}"), dot.source)
    return {"nodes": " ".join(re.findall(r"(\w+)Backward\d?\b", text)), "lines": text.splitlines()}


def network(name: str) -> dict:
    net, given = NETWORKS[name]
    torch.manual_seed(0)
    found = net(*given) if isinstance(given, tuple) else net(given)
    found = found[0] if isinstance(found, tuple) and name == "recurrent" else found
    return drawn(make_dot(found, params=dict(net.named_parameters())))


def value(name: str) -> dict:
    return drawn(make_dot(VALUES[name](X), params={"x": X}, show_attrs=True, show_saved=True))


def short() -> dict:
    found = nn.functional.conv2d(torch.randn(1, 2, 5, 5, requires_grad=True), torch.randn(2, 2, 3, 3))
    return drawn(make_dot(found, show_attrs=True, max_attr_chars=12))


CASES = {**{name: lambda name=name: network(name) for name in NETWORKS}, **{name: lambda name=name: value(name) for name in VALUES},
         "short": short}
