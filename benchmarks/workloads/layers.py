"""Layers at the sizes at which a program calls them most: served one sample at a time, stepped in loops of Python, or many and small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.workloads.registry import add, fill_parameters, floats, integers

Call = Callable[[], Any]
Build = Callable[[Any], tuple[Any, Any]]
"""torch -> (model, its arguments)"""


def _layer(name: str, build: Build, trained: bool = True) -> None:
    """Inference, and a forward and a backward pass through all outputs."""

    def inference(torch: Any) -> Call:
        model, inputs = build(torch)
        fill_parameters(torch, model).eval()

        def run() -> Any:
            with torch.no_grad():
                found = model(*inputs)
            return found[0] if isinstance(found, tuple) else found

        return run

    def training(torch: Any) -> Call:
        model, inputs = build(torch)
        fill_parameters(torch, model)

        def run() -> Any:
            model.zero_grad()
            found = model(*inputs)
            (found[0] if isinstance(found, tuple) else found).sum().backward()
            return [p.grad for p in model.parameters()]

        return run

    add("layers", "inference", name, inference)
    if trained:
        add("layers", "forward and backward", name, training)


def _recurrent(kind: str, sizes: tuple[int, int], *shape: int, **options: Any) -> Build:
    return lambda torch: (getattr(torch.nn, kind)(*sizes, **options), (floats(torch, *shape, sizes[0]),))


def _packed(kind: str) -> Build:
    def build(torch: Any) -> tuple[Any, Any]:
        nn = torch.nn

        class Packed(nn.Module):  # type: ignore[misc, name-defined]  # nn is whichever module is measured
            def __init__(self) -> None:
                super().__init__()
                self.layer = getattr(nn, kind)(16, 32)

            def forward(self, x: Any) -> Any:
                return self.layer(nn.utils.rnn.pack_padded_sequence(x, [20, 17, 12, 5]))[0].data

        return Packed(), (floats(torch, 20, 4, 16),)

    return build


def _loop(kind: str, batch: int) -> Build:
    """A cell, called for each of 20 steps."""

    def build(torch: Any) -> tuple[Any, Any]:
        nn = torch.nn

        class Loop(nn.Module):  # type: ignore[misc, name-defined]  # nn is whichever module is measured
            def __init__(self) -> None:
                super().__init__()
                self.cell = getattr(nn, kind)(16, 32)

            def forward(self, x: Any) -> Any:
                state = None
                for step in x:
                    state = self.cell(step, state)
                return state

        return Loop(), (floats(torch, 20, batch, 16),)

    return build


for _kind in ("LSTM", "GRU", "RNN"):
    _layer(f"{_kind} 8-16, 10 steps, batch 1", _recurrent(_kind, (8, 16), 10, 1))
    _layer(f"{_kind} 16-32, 20 steps, batch 4, 2 layers, bidirectional",
           _recurrent(_kind, (16, 32), 20, 4, num_layers=2, bidirectional=True))
    _layer(f"{_kind} 16-32, up to 20 steps, batch 4, packed", _packed(_kind))
    _layer(f"{_kind}Cell 16-32, 20 steps, batch 4", _loop(f"{_kind}Cell", 4))

_layer("MultiheadAttention 32, 4 heads, 2x10",
       lambda torch: (torch.nn.MultiheadAttention(32, 4, batch_first=True), (floats(torch, 2, 10, 32),) * 3))
_layer("MultiheadAttention 32, 4 heads, 2x10, no weights", lambda torch: (
    torch.nn.MultiheadAttention(32, 4, batch_first=True), (*(floats(torch, 2, 10, 32),) * 3, None, False)))
_layer("TransformerEncoderLayer 32, 4 heads, 2x10", lambda torch: (
    torch.nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True), (floats(torch, 2, 10, 32),)))
_layer("TransformerDecoderLayer 32, 4 heads, 2x10", lambda torch: (
    torch.nn.TransformerDecoderLayer(32, 4, 64, 0.0, batch_first=True), (floats(torch, 2, 10, 32),) * 2))
_layer("Embedding, Linear, batch 1", lambda torch: (
    torch.nn.Sequential(torch.nn.Embedding(50, 16), torch.nn.Linear(16, 10)), (integers(torch, 50, 1),)))
_layer("EmbeddingBag, Linear, batch 1", lambda torch: (
    torch.nn.Sequential(torch.nn.EmbeddingBag(50, 16), torch.nn.Linear(16, 10)), (integers(torch, 50, 1, 5),)))
_layer("BatchNorm1d(16), batch 4", lambda torch: (torch.nn.BatchNorm1d(16), (floats(torch, 4, 16),)))
_layer("BatchNorm2d(8), 1x8x8x8", lambda torch: (torch.nn.BatchNorm2d(8), (floats(torch, 1, 8, 8, 8),)))
_layer("GroupNorm(4, 8), 1x8x8x8", lambda torch: (torch.nn.GroupNorm(4, 8), (floats(torch, 1, 8, 8, 8),)))
_layer("InstanceNorm2d(8), 1x8x8x8", lambda torch: (torch.nn.InstanceNorm2d(8, affine=True), (floats(torch, 1, 8, 8, 8),)))
_layer("RMSNorm(32), 4x32", lambda torch: (torch.nn.RMSNorm(32), (floats(torch, 4, 32),)))
_layer("Conv1d(8, 16, 3), 1x8x32", lambda torch: (torch.nn.Conv1d(8, 16, 3), (floats(torch, 1, 8, 32),)))
_layer("Conv2d(4, 8, 3), 1x4x8x8", lambda torch: (torch.nn.Conv2d(4, 8, 3), (floats(torch, 1, 4, 8, 8),)))
_layer("ConvTranspose2d(4, 8, 3), 1x4x8x8", lambda torch: (torch.nn.ConvTranspose2d(4, 8, 3), (floats(torch, 1, 4, 8, 8),)))
_layer("Bilinear(8, 8, 4), batch 4", lambda torch: (torch.nn.Bilinear(8, 8, 4), (floats(torch, 4, 8), floats(torch, 4, 8, seed=1))))
_layer("Conv2d, ReLU, MaxPool2d, AdaptiveAvgPool2d, Flatten, Linear, 1x3x16x16", lambda torch: (
    torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.AdaptiveAvgPool2d(1),
                        torch.nn.Flatten(), torch.nn.Linear(8, 10)), (floats(torch, 1, 3, 16, 16),)))


def _many(torch: Any) -> list[Any]:
    """100 parameters of 64 numbers, with gradients."""
    parameters = [floats(torch, 8, 8, seed=i, grad=True) for i in range(100)]
    for i, p in enumerate(parameters):
        p.grad = floats(torch, 8, 8, seed=100 + i)
    return parameters


def _optimizer(kind: str, **options: Any) -> None:
    def setup(torch: Any) -> Call:
        parameters = _many(torch)
        optimizer = getattr(torch.optim, kind)(parameters, lr=1e-4, **options)

        def run() -> Any:
            optimizer.step()
            return parameters[:4]

        return run

    add("layers", "optimizers, 100 parameters", " ".join([kind, *options]), setup)


for _kind in ("SGD", "Adam", "AdamW", "RMSprop", "NAdam", "RAdam", "Adagrad", "Adamax", "Adadelta"):
    _optimizer(_kind)
_optimizer("SGD", momentum=0.9)
_optimizer("Adam", amsgrad=True)


def _clipped(torch: Any) -> Call:
    parameters = _many(torch)
    return lambda: torch.nn.utils.clip_grad_norm_(parameters, 1e9)


add("layers", "optimizers, 100 parameters", "clip_grad_norm_", _clipped)
add("layers", "optimizers, 100 parameters", "zero_grad(set_to_none=False)", lambda torch: _zeroed(torch))


def _zeroed(torch: Any) -> Call:
    parameters = _many(torch)
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    return lambda: optimizer.zero_grad(set_to_none=False)
