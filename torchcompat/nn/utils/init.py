"""Modules made without the cost of initial values."""

from __future__ import annotations

import inspect
from typing import Any

from torchcompat.nn.modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module of `module_cls` whose parameters and buffers hold whatever is in memory.

    Args:
        module_cls: a Module class whose constructor takes `device` and hands it to all its parameters.
        args, kwargs: for the constructor; `device` is where the module ends up.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
