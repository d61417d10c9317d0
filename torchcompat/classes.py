"""torch.classes: classes that libraries of C++ register with torch, by namespace; no library can register any here.

>>> import torchcompat as torch
>>> hasattr(torch.classes.sets, "__wrapped__")
False
>>> torch.classes.sets.Stack
Traceback (most recent call last):
RuntimeError: Tried to instantiate class 'sets.Stack', but it does not exist! Ensure that it is registered via torch::class_
"""

from __future__ import annotations

from typing import NoReturn

from .ops import load_library as load_library, loaded_libraries as loaded_libraries


class _ClassNamespace:
    """The classes of a namespace."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # what Python's own modules ask of everything that they meet, such as __wrapped__
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        raise RuntimeError(f"Tried to instantiate class '{self.name}.{name}', but it does not exist! Ensure that it is registered via "
                           "torch::class_")


def __getattr__(name: str) -> _ClassNamespace:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.classes' has no attribute '{name}'")
    found = globals()[name] = _ClassNamespace(name)
    return found
