"""Which functions `__torch_function__` sees, by what they are called: what `torch.overrides` tells of all of them at once."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any, cast

from autograd_tape.annotations import Fn
from autograd_tape.codegen import execute
import torchcompat as torch

from .._tensor import Tensor
from .aten import OpOverload, OpOverloadPacket


def _spaces() -> list[tuple[str, object]]:
    """Where programs find functions, in the order in which they are named by them."""
    return [("torch", torch), ("torch.functional", torch.functional), ("torch.nn.functional", torch.nn.functional),
            ("torch.nn.init", torch.nn.init), ("torch.Tensor", Tensor), ("torch.linalg", torch.linalg), ("torch.fft", torch.fft),
            ("torch.special", torch.special)]


def _takes_tensors(function: object) -> bool:
    """Whether a function is one that classes of its arguments may carry out: what only makes tensors has no such arguments."""
    rec = getattr(function, "record", None)
    if rec is not None:
        return bool(rec.tensor_params)
    return hasattr(function, "door") and any([p.name in ("input", "tensor", "self") for p in function.door.params]) or hasattr(
        function, "overridable")


def _functions(space: str, home: object) -> Iterator[tuple[str, Any]]:
    """(name, function) of what may be one to override: public functions that change nothing, and all that tensors have."""
    for name in dir(home):
        found = inspect.getattr_static(home, name) if home is Tensor and isinstance(
            inspect.getattr_static(home, name), (property, staticmethod, classmethod)) else getattr(home, name, None)
        if isinstance(found, (types.ModuleType, type)) or getattr(object, name, None) is found or found is None:
            continue
        if home is not Tensor and (name.startswith("_") or name.endswith("_") or not name[0].islower()):
            continue
        if callable(found) or hasattr(found, "__get__") and not isinstance(found, (staticmethod, classmethod)):
            yield name, found


@functools.cache
def overridable_functions() -> dict[object, list[object]]:
    """By their namespaces the functions that may be overridden; by itself each property, for what reads it. A method that is a function,
    too, is listed as such."""
    found: dict[object, list[object]] = {}
    for space, home in _spaces():
        for name, function in _functions(space, home):
            if home is Tensor and function in found.get(torch, ()):
                continue
            if not callable(function):
                found.setdefault(function, []).append(function.__get__)
            elif home is Tensor and not name.startswith("_") or _takes_tensors(function):
                found.setdefault(home, []).append(function)
    return found


@functools.cache
def ignored_functions() -> frozenset[object]:
    """The functions that nobody can override: they make tensors of none, or are about other things."""
    known = {id(f) for several in overridable_functions().values() for f in several}
    return frozenset([f for space, home in _spaces() for _, f in _functions(space, home)
                      if isinstance(f, types.FunctionType) and id(f) not in known])


@functools.cache
def _names() -> dict[object, str]:
    found: dict[object, str] = {}
    for space, home in _spaces():
        for name, function in _functions(space, home):
            if callable(function):
                found.setdefault(function, f"{space}.{name}")
            else:
                found.setdefault(function.__get__, f"{space}.{name}.__get__")
    return found


def name_of(function: object) -> str | None:
    """What a program calls a function, None where it is none of torch's."""
    if isinstance(function, (OpOverload, OpOverloadPacket)):
        return str(function)
    return _names().get(function)


def _like(function: Fn) -> Fn | None:
    """A function of the same parameters that returns -1; None where nobody can say what these are."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    head: list[str] = []
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not any([h[0] == "*" for h in head]):
            head.append("*")
        stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        head.append(f"{stars}{p.name}" + ("" if stars or p.default is p.empty else "=None"))
    made: Fn = execute(f"def like({', '.join(head)}): return -1\n", "like", f"<like {function!r}>", {})
    return made


@functools.cache
def testing_overrides() -> dict[object, Fn]:
    """For each function that may be overridden one of the same parameters, which returns -1."""
    made = {f: _like(cast("Fn", f)) for several in overridable_functions().values() for f in several}
    return {f: like for f, like in made.items() if like is not None}


def methods() -> list[object]:
    """Those that tensors alone have."""
    return overridable_functions()[Tensor]


def nowrap_functions() -> frozenset[object]:
    """What reads the properties whose values keep their class."""
    return frozenset([vars(Tensor)[name].__get__ for name in ("_base", "grad", "_grad") if isinstance(vars(Tensor).get(name), property)])
