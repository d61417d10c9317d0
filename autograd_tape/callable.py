"""Modules that can be called: `autograd_tape.grad` is a module with a function of that name, and calling the one calls the other."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


def be_callable(name: str, function: Callable[..., Any]) -> None:
    """Makes calls of the module `name` calls of `function`: `import package.name as module` gives the module however it is imported,
    and nobody has to choose between the two."""

    class CallableModule(ModuleType):
        __slots__ = ()
        __call__ = staticmethod(function)

        def __reduce__(self) -> Any:
            return import_module, (self.__name__,)

    module: Any = sys.modules[name]
    module.__class__ = CallableModule
    module.__signature__ = inspect.signature(function)
