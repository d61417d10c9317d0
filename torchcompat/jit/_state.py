"""Whether scripting is on, whether a thread carries out what was scripted, what is traced on it, and who is told of what was compiled."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Error(RuntimeError):
    """What a scripted program raises."""


Error.__module__ = "torchcompat.jit"


class EnabledProxy:
    """Whether functions and modules are scripted and traced, or stay what they are: the variable PYTORCH_JIT of the environment says so.

    Raises:
        ValueError: it says neither.
    """

    def __init__(self) -> None:
        self.enabled = self.parse_env("PYTORCH_JIT", True, "> Using PyTorch JIT", "> PyTorch JIT DISABLED")

    def parse_env(self, name: str, default: bool, true_message: str, false_message: str) -> bool:
        """What a variable says; with `v` behind it, it is printed."""
        value = os.environ.get(name)
        if value is None:
            return default
        found = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "1v": True, "0v": False}.get(value.lower())
        if found is None or value == value.upper() and value.endswith("V"):
            raise ValueError(f"Unknown setting of {name}. Try using 0 or 1.")
        if value.endswith("v"):
            print(true_message if found else false_message)
        return found

    def __bool__(self) -> bool:
        return self.enabled


_enabled = EnabledProxy()


def disable() -> None:
    """From now on, functions and modules stay what they are."""
    _enabled.enabled = False


def enable() -> None:
    """From now on, functions and modules are scripted and traced."""
    _enabled.enabled = True


class _State(threading.local):
    scripting = False
    tracer: Any = None  # the `_trace.Recorder` that is at work


state = _State()


@contextmanager
def scripting(on: bool = True) -> Iterator[None]:
    """A block that is carried out as scripted, or, within such, as Python."""
    before, state.scripting = state.scripting, on
    try:
        yield
    finally:
        state.scripting = before


# -- what was compiled ------------------------------------------------------------------------------------------------------------------


class EmitHooks:
    """Who is told of modules and functions that were scripted or traced, as soon as they are complete."""

    module: Callable[[Any], object] | None = None
    function: Callable[[Any], object] | None = None

    @classmethod
    def told(cls, made: Any, is_module: bool) -> Any:
        """`made`, of which the hooks are told, a module's submodules first."""
        hook = cls.module if is_module else cls.function
        if hook is not None:
            for one in reversed(list(made.modules())) if is_module else (made,):
                hook(one)
        return made


_script_classes: dict[type, type] = {}
_name_to_pyclass: dict[str, type] = {}


def _add_script_class(python_class: type, script_class: type) -> None:
    """Notes a class that was scripted."""
    from torchcompat._jit_internal import _qualified_name

    _script_classes[python_class] = script_class
    _name_to_pyclass[_qualified_name(script_class)] = python_class


def _get_script_class(python_class: type) -> type | None:
    """What a class was scripted to; None of others."""
    return _script_classes.get(python_class)


def _get_python_class(qualified_name: str) -> type | None:
    """The class that was scripted by this name; None where there is none."""
    return _name_to_pyclass.get(qualified_name)


def _clear_class_state() -> None:
    """Forgets classes that were scripted."""
    _script_classes.clear()
    _name_to_pyclass.clear()
