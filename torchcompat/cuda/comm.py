"""torch.cuda.comm: `torch.nn.parallel.comm` by its old name."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from importlib import import_module

    return getattr(import_module(f"{__name__.partition('.')[0]}.nn.parallel.comm"), name)
