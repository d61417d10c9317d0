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

    text = sys.modules[name].__doc__

    class CallableModule(ModuleType):
        __slots__ = ()
        __call__ = staticmethod(function)
        # What `help` shows: the function, and nothing else that the module has.
        __all__ = property(lambda self: (function.__name__,), lambda self, names: None)
        __doc__ = property(lambda self: f"{name}(...) calls the function below.\n\nThe module: {text}")

        def __reduce__(self) -> tuple[object, ...]:
            return import_module, (self.__name__,)

    module: Any = sys.modules[name]
    module.__class__ = CallableModule
    module.__signature__ = inspect.signature(function)
