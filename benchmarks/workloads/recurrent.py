"""Recurrent networks over the range of sizes that programs use: training steps, inference, and cells stepped in loops of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.workloads.registry import add, fill_parameters, floats
from benchmarks.workloads.steps import inference, recurrent, training_step

Call = Callable[[], Any]

LAYERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("2 layers", {"num_layers": 2}), ("bidirectional", {"bidirectional": True}),
    ("2 layers, bidirectional", {"num_layers": 2, "bidirectional": True}),
    ("2 layers, dropout", {"num_layers": 2, "dropout": 0.2}),
)  # fmt: skip
SIZES = ((10, 32, 32), (10, 32, 512), (200, 32, 32), (200, 1, 128), (50, 32, 512), (50, 8, 256))
"""Steps, sequences, hidden numbers."""


def _training(name: str, kind: str, batch: int, **options: Any) -> None:
    add("recurrent", "training step", f"{kind} {name}, batch {batch}",
        lambda torch: recurrent(torch, kind, batch, **options), random="dropout" in options)


def _inference(name: str, kind: str, batch: int, length: int, width: int, **options: Any) -> None:
    add("recurrent", "inference", f"{kind} {name}, batch {batch}", lambda torch: inference(
        torch, fill_parameters(torch, getattr(torch.nn, kind)(64, width, **options)).eval(), floats(torch, length, batch, 64)))


def _cell(kind: str, width: int, batch: int, train: bool) -> None:
    """Twenty steps of a cell, and its gradients where it is to `train`."""

    def setup(torch: Any) -> Call:
        cell, inputs = fill_parameters(torch, getattr(torch.nn, kind)(width, width)), floats(torch, 20, batch, width)

        def model(inputs: Any) -> Any:
            state = None
            for step in inputs:
                state = cell(step, state)
            return state[0] if isinstance(state, tuple) else state

        if not train:
            return inference(torch, model, inputs)
        return training_step(torch, model, torch.optim.SGD(cell.parameters(), lr=0.01), inputs, None, lambda y, _: (y * y).mean())

    add("recurrent", "cells, training step" if train else "cells, inference", f"{kind} {width}, batch {batch}", setup)


for _kind in ("LSTM", "GRU", "RNN"):
    for _batch in (1, 32):
        for _name, _options in LAYERS:
            _training(f"64-128, 50 steps, {_name}", _kind, _batch, **_options)
            if "dropout" not in _options:
                _training(f"64-128, 50 steps, {_name}, packed", _kind, _batch, packed=True, **_options)
                _inference(f"64-128, 50 steps, {_name}", _kind, _batch, 50, 128, **_options)
    for _length, _batch, _width in SIZES:
        _training(f"64-{_width}, {_length} steps", _kind, _batch, length=_length, width=_width)
        _inference(f"64-{_width}, {_length} steps", _kind, _batch, _length, _width)
    for _width, _batch in ((16, 1), (64, 32), (256, 4)):
        for _train in (False, True):
            _cell(f"{_kind}Cell", _width, _batch, _train)
for _batch in (1, 32):
    _training("64-128, 50 steps, projected to 64", "LSTM", _batch, proj_size=64)
