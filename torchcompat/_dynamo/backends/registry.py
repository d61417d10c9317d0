"""Compilers by name: functions of a graph's module and example inputs that give what is to be called in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchcompat._calls.absent import absences as _absences

from ..exc import InvalidBackend

__all__ = ["CompilerFn", "list_backends", "lookup_backend", "register_backend", "register_debug_backend",
           "register_experimental_backend"]

CompilerFn = Callable[..., Any]
AS_IT_IS = {"aot_eager": ("debug",), "cudagraphs": (), "eager": ("debug",), "inductor": ()}
"""torch's compilers in whose place a program runs as it is, and their tags."""
_registered: dict[str, tuple[CompilerFn, tuple[str, ...]]] = {}


def register_backend(compiler_fn: CompilerFn | None = None, name: str | None = None, tags: Sequence[str] = ()) -> Any:
    """Gives a compiler a name, its own where none is given; also a decorator.

    Raises:
        AssertionError: there is one of that name.
    """
    if compiler_fn is None:
        return lambda given: register_backend(given, name, tags)
    if not callable(compiler_fn):
        raise AssertionError(f"compiler_fn must be callable, got {type(compiler_fn)}")
    name = name or compiler_fn.__name__
    if name in _registered or name in AS_IT_IS:
        raise AssertionError(f"duplicate name: {name}")
    _registered[name] = compiler_fn, tuple(tags)
    return compiler_fn


def register_debug_backend(compiler_fn: CompilerFn | None = None, name: str | None = None) -> Any:
    """`register_backend` of one that is for debugging."""
    return register_backend(compiler_fn, name, ("debug",))


def register_experimental_backend(compiler_fn: CompilerFn | None = None, name: str | None = None) -> Any:
    """`register_backend` of one that is tried out."""
    return register_backend(compiler_fn, name, ("experimental",))


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names of the compilers that have none of these tags."""
    tagged = AS_IT_IS | {name: tags for name, (_, tags) in _registered.items()}
    return sorted([name for name, tags in tagged.items() if not set(tags) & set(exclude_tags or ())])


def lookup_backend(compiler_fn: str | CompilerFn) -> CompilerFn | None:
    """The compiler of a name; None for one in whose place programs run as they are.

    Raises:
        InvalidBackend: there is none of that name.
    """
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn in _registered:
        return _registered[compiler_fn][0]
    if compiler_fn not in AS_IT_IS:
        raise InvalidBackend(name=compiler_fn)
    return None


_absences(__name__)
