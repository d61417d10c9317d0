"""Networks of torchcompat, trained over a mesh: batches split, parameters split or whole; the same losses and weights as on one device."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.sharding import Mesh, gather, shard
from torchcompat import nn

MESH = Mesh({"data": 2, "model": 2})


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(6, 8, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.layer(x)[0]


def words() -> Any:
    return torch.randint(0, 12, (4, 5))


NETWORKS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 4)), lambda: torch.randn(8, 6)),
    "transformer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True), lambda: torch.randn(4, 5, 8)),
    "convolutions": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                           nn.Linear(128, 4)), lambda: torch.randn(4, 3, 8, 8)),
    "language": (lambda: nn.Sequential(nn.Embedding(12, 8), nn.LayerNorm(8), nn.Linear(8, 12), nn.LogSoftmax(-1)), words),
    "recurrent": (Recurrent, lambda: torch.randn(4, 5, 6)),
    "groups": (lambda: nn.Sequential(nn.Conv1d(4, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(), nn.Dropout(0.2)), lambda: torch.randn(4, 4, 9)),
}


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def trained(model: Any, x: Any) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(3):
        torch.manual_seed(step)  # dropout draws the same wherever tensors lie
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("split", ["data", "model"])
@pytest.mark.filterwarnings("ignore::autograd_tape.sharding.ReplicationWarning")
def test_training(name: str, split: str) -> None:
    torch.manual_seed(0)
    make, inputs = NETWORKS[name]
    plain, x = make(), inputs()
    laid = copy.deepcopy(plain)
    for path, parameter in list(laid.named_parameters()):
        if split == "model" and parameter.ndim > 1:
            *module, last = path.split(".")
            owner = laid.get_submodule(".".join(module))
            setattr(owner, last, nn.Parameter(shard(parameter.detach(), MESH, ("model",) + (None,) * (parameter.ndim - 1))))
    expected = trained(plain, x)
    np.testing.assert_allclose(trained(laid, shard(x, MESH, ("data",) + (None,) * (x.ndim - 1))), expected, 1e-12)
    for p, q in zip(laid.parameters(), plain.parameters()):
        np.testing.assert_allclose(gather(p).detach().numpy(), q.detach().numpy(), 1e-10, 1e-12)
        assert p.grad is None or p.grad.sharding == p.sharding
