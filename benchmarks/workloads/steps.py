"""Whole training steps: zero the gradients, forward, loss, backward, optimizer step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.workloads.registry import fill_parameters, floats, integers, workload

Call = Callable[[], Any]


def training_step(torch: Any, model: Any, optimizer: Any, inputs: Any, targets: Any, loss: Callable[..., Any]) -> Call:
    """The step as every tutorial writes it; it returns the loss, detached."""

    def run() -> Any:
        optimizer.zero_grad()
        value = loss(model(inputs), targets)
        value.backward()
        optimizer.step()
        return value.detach()

    return run


def mnist_mlp(torch: Any) -> Any:
    """784-512-10, the classic multi-layer perceptron."""
    nn = torch.nn
    return fill_parameters(torch, nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)))


def mnist_step(torch: Any) -> Call:
    """One SGD step of :func:`mnist_mlp` on 64 images."""
    model = mnist_mlp(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images, labels = floats(torch, 64, 784), integers(torch, 10, 64)
    return training_step(torch, model, optimizer, images, labels, torch.nn.functional.cross_entropy)


workload("steps", "training step", "MNIST MLP 784-512-10, batch 64, SGD")(mnist_step)


@workload("steps", "training step", "tiny MLP 4-16-16-1, batch 16, SGD")
def tiny_mlp(torch: Any) -> Call:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
    fill_parameters(torch, model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return training_step(
        torch, model, optimizer, floats(torch, 16, 4), floats(torch, 16, 1, seed=1), torch.nn.functional.mse_loss
    )


@workload("steps", "training step", "LeNet, batch 64, SGD momentum")
def lenet(torch: Any) -> Call:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    fill_parameters(torch, model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = floats(torch, 64, 1, 28, 28), integers(torch, 10, 64)
    return training_step(torch, model, optimizer, images, labels, torch.nn.functional.cross_entropy)


@workload("steps", "training step", "residual CNN 32x32, batch 16, SGD momentum")
def residual_cnn(torch: Any) -> Call:
    nn = torch.nn
    functional = torch.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]  # nn is whichever module is measured
        def __init__(self, channels_in: int, channels: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(channels_in, channels, 3, stride=stride, padding=1, bias=False)
            self.norm1 = nn.BatchNorm2d(channels)
            self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.norm2 = nn.BatchNorm2d(channels)
            self.shortcut = nn.Conv2d(channels_in, channels, 1, stride=stride, bias=False)

        def forward(self, x: Any) -> Any:
            y = functional.relu(self.norm1(self.conv1(x)))
            return functional.relu(self.norm2(self.conv2(y)) + self.shortcut(x))

    class Network(nn.Module):  # type: ignore[misc, name-defined]  # nn is whichever module is measured
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.Sequential(Block(3, 16, 1), Block(16, 32, 2), Block(32, 64, 2))
            self.head = nn.Linear(64, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.blocks(x).mean((2, 3)))

    model = fill_parameters(torch, Network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = floats(torch, 16, 3, 32, 32), integers(torch, 10, 16)
    return training_step(torch, model, optimizer, images, labels, functional.cross_entropy)


@workload("steps", "training step", "transformer encoder 2x64, 8x32 tokens, AdamW")
def transformer(torch: Any) -> Call:
    nn = torch.nn
    functional = torch.nn.functional
    width, heads, vocabulary, batch, length = 64, 4, 100, 8, 32

    class Layer(nn.Module):  # type: ignore[misc, name-defined]  # nn is whichever module is measured
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
            self.project = nn.Linear(width, width)
            self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def split(self, x: Any) -> Any:
            return x.view(batch, length, heads, width // heads).transpose(1, 2)

        def forward(self, x: Any) -> Any:
            y = self.norm1(x)
            q, k, v = self.split(self.query(y)), self.split(self.key(y)), self.split(self.value(y))
            weights = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / (width // heads) ** 0.5, dim=-1)
            y = torch.matmul(weights, v).transpose(1, 2).reshape(batch, length, width)
            x = x + self.project(y)
            return x + self.narrow(functional.gelu(self.widen(self.norm2(x))))

    class Encoder(nn.Module):  # type: ignore[misc, name-defined]  # nn is whichever module is measured
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.layers = nn.Sequential(Layer(), Layer())
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

        def forward(self, tokens: Any) -> Any:
            x = self.tokens(tokens) + self.positions(torch.arange(length))
            return self.head(self.norm(self.layers(x))).view(-1, vocabulary)

    model = fill_parameters(torch, Encoder())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = integers(torch, vocabulary, batch, length)
    return training_step(torch, model, optimizer, tokens, tokens.view(-1), functional.cross_entropy)


def recurrent(torch: Any, kind: str, batch: int, packed: bool = False, length: int = 50, width: int = 128, **options: Any) -> Call:
    """One SGD step of a recurrent layer 64 -> `width` over sequences of up to `length` steps."""
    nn = torch.nn
    model = fill_parameters(torch, getattr(nn, kind)(64, width, **options))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = floats(torch, length, batch, 64)
    if packed:
        inputs = nn.utils.rnn.pack_padded_sequence(inputs, [length - i * (length // 2) // batch for i in range(batch)])

    def loss(found: Any, _: Any) -> Any:
        y = found[0].data if packed else found[0]
        return (y * y).mean()

    return training_step(torch, model, optimizer, inputs, None, loss)


for _kind in ("LSTM", "GRU", "RNN"):
    for _name, _batch, _options in (
        ("batch 32", 32, {}), ("batch 1", 1, {}), ("batch 32, packed", 32, {"packed": True}),
        ("batch 32, 2 layers, bidirectional", 32, {"num_layers": 2, "bidirectional": True}),
    ):  # fmt: skip
        workload("steps", "training step", f"{_kind} 64-128, 50 steps, {_name}, SGD")(
            lambda torch, kind=_kind, batch=_batch, options=_options: recurrent(torch, kind, batch, **options)
        )


@workload("steps", "inference", "MLP 1024-1024-10, batch 4")
def wide_mlp(torch: Any) -> Call:
    """A large weight and a few rows, as models that are served have."""
    nn = torch.nn
    model = fill_parameters(torch, nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))).eval()
    return inference(torch, model, floats(torch, 4, 1024))


def inference(torch: Any, model: Any, inputs: Any) -> Call:
    """A forward pass without gradients."""

    def run() -> Any:
        with torch.no_grad():
            found = model(inputs)
        return found[0] if isinstance(found, tuple) else found

    return run


for _kind in ("LSTM", "GRU", "RNN"):
    for _batch in (1, 32):
        workload("steps", "inference", f"{_kind} 64-128, 50 steps, batch {_batch}")(
            lambda torch, kind=_kind, batch=_batch: inference(
                torch, fill_parameters(torch, getattr(torch.nn, kind)(64, 128)), floats(torch, 50, batch, 64)
            )
        )


class _Samples:
    """512 pairs of 64 numbers and a label."""

    def __init__(self, torch: Any) -> None:
        self.numbers, self.labels = floats(torch, 512, 64), integers(torch, 10, 512)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Any:
        return self.numbers[index], self.labels[index]


for _workers in (0, 2):

    @workload("steps", "data loader", f"512 pairs, batch 32, {_workers} workers")
    def data_loader(torch: Any, workers: int = _workers) -> Call:
        """One epoch, in order; workers stay for the next."""
        loader = torch.utils.data.DataLoader(_Samples(torch), 32, num_workers=workers, persistent_workers=workers > 0)

        def run() -> Any:
            total = torch.zeros(())
            for numbers, labels in loader:
                total += numbers.sum() + labels.sum()
            return total

        return run
