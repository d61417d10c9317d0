"""What was scripted or traced, and who is told of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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


def _add_script_class(python_class: type, script_class: type) -> None:
    """Notes a class that was scripted."""
    _script_classes[python_class] = script_class


def _get_script_class(python_class: type) -> type | None:
    """What a class was scripted to; None of others."""
    return _script_classes.get(python_class)


def _clear_class_state() -> None:
    """Forgets classes that were scripted."""
    _script_classes.clear()
