"""What scripted functions take and give, and whether the arguments of a call are of these types."""

from __future__ import annotations

import ast
import enum
import inspect
import types
import typing
from collections.abc import Callable

from dataclasses import dataclass

from typing import Any

from autograd_tape.annotations import Arguments, Keywords
import torchcompat as torch

from . import _code

_NAMES: dict[Any, str] = {int: "int", float: "float", bool: "bool", str: "str", complex: "complex", type(None): "NoneType",
                          None: "NoneType",
                          typing.Any: "Any", object: "Any"}


def annotation(kind: object) -> str:
    """An annotation as TorchScript writes it: `List[int]`, `Optional[Tensor]`.

    Raises:
        LookupError: it is of no type that there is.
    """
    if kind in _NAMES if isinstance(kind, typing.Hashable) else False:
        return _NAMES[kind]
    if kind is torch.device:
        return "Device"
    if kind is torch.dtype:
        return "int"
    if kind is torch.Generator:
        return "Generator"
    if isinstance(kind, type) and issubclass(kind, torch.Tensor):
        return "Tensor"
    if isinstance(kind, str):
        return kind
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        inner = [annotation(a) for a in args if a is not type(None)]
        joined = inner[0] if len(inner) == 1 else f"Union[{', '.join(inner)}]"
        return f"Optional[{joined}]" if type(None) in args else joined
    if origin in (list, dict, tuple) and args:
        if origin is tuple and args == ((),):
            return "Tuple[()]"
        return f"{origin.__name__.capitalize()}[{', '.join([annotation(a) for a in args])}]"
    if origin is typing.Final:
        return annotation(args[0])
    if origin is torch.futures.Future or kind is torch.futures.Future:
        return f"Future[{annotation(args[0]) if args else 'Tensor'}]"
    if isinstance(kind, type) and not issubclass(kind, (list, dict)) and kind is not tuple:
        from torchcompat._jit_internal import _qualified_name

        return _qualified_name(kind)
    raise LookupError(f"Unknown type name '{kind}'")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its type as TorchScript writes it, None where nobody said and a tensor is meant."""

    name: str
    kind: str | None
    default: Any = inspect.Parameter.empty
    tests: Callable[[Any], bool] | None = None


@dataclass(frozen=True, slots=True)
class Schema:
    """What a function takes and gives."""

    name: str
    parameters: list[Parameter]
    returns: str | None
    home: str | None = None

    @classmethod
    def of_python(cls, function: Any, name: str, home: str | None) -> Schema:
        """Of a Python function; of a method where `home` is a class's name."""
        try:
            hints = typing.get_type_hints(function)
        except Exception:  # annotations that name what is not there stay unread, as comments
            hints = {n: a for n, a in getattr(function, "__annotations__", {}).items() if not isinstance(a, str)}
        parameters = []
        for p in inspect.signature(function).parameters.values():
            kind = None
            if p.name in hints:
                try:
                    kind = annotation(hints[p.name])
                except LookupError:
                    kind = "Any"
            parameters.append(Parameter(p.name, kind, p.default))
        try:
            returns = annotation(hints["return"]) if "return" in hints else None
        except LookupError:
            returns = "Any"
        return cls(name, parameters, returns, home)

    @classmethod
    def of_code(cls, function: _code.Function) -> Schema:
        """Of a function of a program."""
        parameters = [Parameter(n, None if function.types[n] is None else ast.unparse(function.types[n]),  # type: ignore[arg-type]
                                function.defaults.get(n, inspect.Parameter.empty)) for n in function.parameters]
        back = function.node.returns
        home = function.qualified_name.rpartition(".")[0] if function.parameters[:1] == ["self"] else None
        return cls(function.name, parameters, None if back is None else ast.unparse(back), home)

    def __str__(self) -> str:
        parts = []
        for i, p in enumerate(self.parameters):
            shown = self.home if not i and self.home else schema_name(p.kind or "Tensor")
            default = "" if p.default is inspect.Parameter.empty else f"={_shown(p.default)}"
            parts.append(f"{shown} {p.name}{default}")
        back = schema_name(self.returns or "Tensor")
        return f"{self.name}({', '.join(parts)}) -> {f'({back})' if back.startswith('(') else back}"

    __repr__ = __str__

    def check(self, args: Arguments, kwargs: Keywords) -> None:
        """Whether a call has the arguments that it must have.

        Raises:
            RuntimeError: it has not.
        """
        names = [p.name for p in self.parameters]
        if len(args) > len(names):
            raise RuntimeError(f"{self.name}() expected at most {len(names)} argument(s) but received {len(args)} argument(s). "
                               f"Declaration: {self}")
        for i, p in enumerate(self.parameters):
            if i < len(args):
                self._check(i, p, args[i])
            elif p.name in kwargs:
                self._check(i, p, kwargs[p.name])
            elif p.default is inspect.Parameter.empty:
                raise RuntimeError(f"{self.name}() is missing value for argument '{p.name}'. Declaration: {self}")
        for name in kwargs:
            if name not in names:
                raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{self.name}'. Schema: {self}")
            if name in names[:len(args)]:
                raise RuntimeError(f"{self.name}() got multiple values for argument '{name}'")

    def _check(self, position: int, p: Parameter, value: object) -> None:
        if not position and self.home:
            return
        kind = p.kind or "Tensor"
        if fits(value, kind):
            return
        inferred = f"Inferred '{p.name}' to be of type 'Tensor' because it was not annotated with an explicit type.\n" * (p.kind is None)
        wanted = "Tensor (inferred)" if p.kind is None else kind
        cause = f"Unable to cast {value} to Tensor" if kind == "Tensor" else (
            f"Unable to cast Python instance of type {type(value)} to C++ type '?' (#define PYBIND11_DETAILED_ERROR_MESSAGES or "
            f"compile in debug "
            "mode for details)")
        raise RuntimeError(f"{self.name}() Expected a value of type '{wanted}' for argument '{p.name}' but instead found type "
                           f"'{_type_of(value)}'.\n{inferred}Position: {position}\nValue: {value!r}\nDeclaration: {self}\n"
                           f"Cast error details: {cause}")


def schema_name(kind: str) -> str:
    """A type as schemas write it."""
    try:
        return _code.schema_type(ast.parse(kind, mode="eval").body)
    except SyntaxError:
        return kind


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _type_of(value: object) -> str:
    return "Tensor" if isinstance(value, torch.Tensor) else type(value).__name__


_PLAIN: Keywords = {"Tensor": torch.Tensor, "str": str, "bool": bool, "torch.Tensor": torch.Tensor}


def fits(value: object, kind: str) -> bool:
    """Whether a value is of a type; of types that are not plain ones nothing is asked."""
    if kind in _PLAIN:
        return isinstance(value, _PLAIN[kind]) or kind == "Tensor" and hasattr(type(value), "__torch_function__")
    if kind == "int":
        return isinstance(value, (int, enum.Enum, torch.dtype)) and not isinstance(value, bool) or (
            isinstance(value, torch.Tensor) and not value.is_floating_point()) or isinstance(value, (torch.layout, torch.memory_format))
    if kind == "float":
        return isinstance(value, (float, int, torch.Tensor)) and not isinstance(value, bool)
    if kind.startswith("Optional["):
        return value is None or fits(value, kind[9:-1])
    if kind.startswith("List["):
        return isinstance(value, (list, tuple, torch.Tensor)) and all([fits(x, kind[5:-1]) for x in value])
    if kind.startswith("Dict["):
        return isinstance(value, dict)
    if kind.startswith("Tuple["):
        return isinstance(value, tuple)
    return True


__all__ = ["Parameter", "Schema", "annotation", "fits", "schema_name"]
