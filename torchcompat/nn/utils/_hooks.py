"""The hooks by which parameters are computed from others before each call."""

from __future__ import annotations

from collections.abc import Callable
from torchcompat.nn.modules.module import Module


def undone(module: Module, sought: Callable[[object], bool]) -> bool:
    """Takes the first forward pre-hook that is `sought` off a module, and what it made of the parameter back; False where there is none."""
    for key, hook in module._forward_pre_hooks.items():
        if sought(hook):
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return True
    return False
