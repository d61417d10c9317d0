"""Errors for names that are not here: in torch's words, and for names that torch has, why they are not, and where to look.

Programs probe with `hasattr`. So the words are found when somebody reads the error, not when it is raised.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from types import FrameType, ModuleType
from typing import NoReturn


@cache
def submodules(package: str) -> frozenset[str]:
    """The modules that lie in a package: what it may import when it is asked for them. (`find_spec` takes a hundred times as long.)"""
    from pkgutil import iter_modules

    return frozenset([module.name for module in iter_modules(sys.modules[package].__path__)])


class Words(str):
    """A text that goes on, where torch has the name, with why it is not here; which is found out when somebody reads it.

    >>> str(Words.of("no attribute 'cond'", "cond")).split(": ")[1]
    'torch 2.13 has torch.cond, torchcompat has not. See `python -m torchcompat status torch.cond`'
    """

    dotted: str

    @classmethod
    def of(cls, text: str, dotted: str) -> Words:
        """Words about a name of torch's, by its name after `torch.`."""
        words = cls(text)
        words.dotted = dotted
        return words

    def __str__(self) -> str:
        from .._status.names import is_torchs, told

        text = str.__str__(self)
        return f"{text}: {told(self.dotted)}" if is_torchs(self.dotted) else text

    def __repr__(self) -> str:
        return repr(str(self))

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def absent(module: str, name: str) -> AttributeError:
    """The error where a module, by torchcompat's name of it, has no such name."""
    path = module.removeprefix("torchcompat").removeprefix("torch")  # the drop-in's modules are called torch
    shown = path[12:] if path.startswith("._functorch.functorch") else f"torch{path}"  # a package of its own, which comes with torch
    text = f"module '{shown}' has no attribute '{name}'"
    return AttributeError(text if name.startswith("__") else Words.of(text, f"{path}.{name}".strip(".")))


def absences(module: str) -> Callable[[str], NoReturn]:
    """Gives a module that has all it has from the start its `__getattr__`, which checkers of types do not see: to them, too, no other name
    is there. Returns it."""

    def __getattr__(name: str) -> NoReturn:
        raise absent(module, name)

    sys.modules[module].__dict__.setdefault("__getattr__", __getattr__)
    return __getattr__


def on_demand(module: str, homes: Mapping[str, str] | None = None) -> None:
    """Gives a package its `__getattr__`, which checkers of types do not see: its submodules, imported when they are asked for, and the
    names of `homes`, from the modules that have them. No other name is there.

    Args:
        module: the package.
        homes: modules of the package by names that they have; those that begin with dots lie above it, as in imports.
    """

    def __getattr__(name: str) -> object:
        if homes is not None and name in homes:
            home = homes[name]
            return getattr(import_module(home if home[0] == "." else f".{home}", module), name)
        if name in submodules(module):
            return import_module(f".{name}", module)
        raise absent(module, name)

    sys.modules[module].__dict__["__getattr__"] = __getattr__


class AbsentAttribute:
    """An attribute of torch's Tensor that tensors do not have here: `hasattr` says no, and the error why."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        text = f"type object '{owner.__name__}' has no attribute" if instance is None else f"'{owner.__name__}' object has no attribute"
        raise AttributeError(Words.of(f"{text} '{self.name}'", f"Tensor.{self.name}"))


class AbsentModules:
    """The last of the finders of modules: says of names that only torch has why they are not here.

    A look-up (`importlib.util.find_spec`) finds nothing, as always. `import` and `from ... import` get the error, which look-ups must not
    raise: who asks is told by the functions of importlib that lead here.
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        """Nothing; an ImportError where something is imported that torch has."""
        package, _, inner = name.partition(".")
        if not inner or package != "torchcompat" and not (
                package == "torch" and getattr(sys.modules.get("torch"), "__torchcompat__", False)):
            return None
        frame: FrameType | None = sys._getframe(1)
        callers = []
        while frame is not None and "importlib" in frame.f_code.co_filename:
            callers.append(frame.f_code.co_name)
            frame = frame.f_back
        if "_find_and_load_unlocked" not in callers[:2]:
            return None
        from .._status.names import is_torchs, told

        if is_torchs(inner) and callers[-1] == "_handle_fromlist" and callers.count("_find_and_load_unlocked") == 1:
            home, _, last = name.rpartition(".")
            raise ImportError(f"cannot import name {last!r} from {home!r}: {told(inner)}", name=home)
        if is_torchs(inner):
            raise ModuleNotFoundError(f"No module named {name!r}: {told(inner)}", name=name)
        return None
