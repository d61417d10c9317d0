"""torch.cuda.comm: `torch.nn.parallel.comm` by its old name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> Any:
        from importlib import import_module

        return getattr(import_module(f"{__name__.partition('.')[0]}.nn.parallel.comm"), name)
