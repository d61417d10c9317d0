"""The types that scripting gives modules: those of one class, with attributes and submodules of the same types, have one."""

from __future__ import annotations

from typing import Any

from dataclasses import dataclass, field

from torchcompat._calls.absent import absences as _absences
from torchcompat._calls.kinds import kind_of
from torchcompat._jit_internal import _qualified_name
from torchcompat.nn import Module

from ._script import Face, RecursiveScriptModule, wrapped

__all__ = ["ConcreteModuleType", "ConcreteTypeStore", "concrete_type_store", "get_module_concrete_type", "wrap_cpp_module"]

_TABLES = frozenset(Module().__dict__)


@dataclass(frozen=True, slots=True)
class ConcreteModuleType:
    """What scripting makes of modules.

    Attributes:
        py_class: their class.
        jit_type: its name in TorchScript's language.
    """

    py_class: type
    jit_type: str = field(compare=False)
    _attributes: tuple[tuple[str, str | None, bool], ...]
    _modules: tuple[tuple[str, ConcreteModuleType], ...]

    def get_attributes(self) -> dict[str, tuple[str | None, bool]]:
        """From names of parameters, buffers and attributes to their type, and whether it is a parameter."""
        return {name: (kind, parameter) for name, kind, parameter in self._attributes}

    def get_modules(self) -> list[tuple[str, ConcreteModuleType]]:
        """The types of submodules, by their names."""
        return list(self._modules)

    def equals(self, other: ConcreteModuleType) -> bool:
        """Whether modules of both are of one type."""
        return self == other


class ConcreteTypeStore:
    """The types of modules that were asked for, each once.

    Attributes:
        type_store: from modules' classes to their types.
    """

    def __init__(self) -> None:
        self.type_store: dict[type, list[ConcreteModuleType]] = {}

    def get_or_create_concrete_type(self, nn_module: Module) -> ConcreteModuleType:
        """The type of a module: another one for other types of attributes, with another name."""
        cls, own = type(nn_module), nn_module.__dict__
        attributes: list[tuple[str, str | None, bool]] = [
            (name, "Tensor", table == "_parameters") for table in ("_parameters", "_buffers") for name in own[table]]
        attributes += [(name, kind_of(value), False) for name, value in own.items() if name not in _TABLES or name == "training"]
        modules = tuple([(name, self.get_or_create_concrete_type(m)) for name, m in nn_module._modules.items() if m is not None])
        known = self.type_store.setdefault(cls, [])
        home, _, last = _qualified_name(cls).rpartition(".")
        name = f"{home}.___torch_mangle_{len(known) - 1}.{last}" if known else f"{home}.{last}"
        found = ConcreteModuleType(cls, name, tuple(attributes), modules)
        if found not in known:
            known.append(found)
        return known[known.index(found)]


concrete_type_store = ConcreteTypeStore()


def get_module_concrete_type(nn_module: Module, share_types: bool = True) -> ConcreteModuleType:
    """The type of a module; with `share_types`, that of others that are like it."""
    return (concrete_type_store if share_types else ConcreteTypeStore()).get_or_create_concrete_type(nn_module)


def wrap_cpp_module(cpp_module: Module) -> Any:
    """The scripted module of what `_c` of one is."""
    return cpp_module if isinstance(cpp_module, Face) else wrapped(cpp_module, {}, RecursiveScriptModule)


_absences(__name__)
