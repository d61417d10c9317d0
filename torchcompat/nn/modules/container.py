"""Modules that hold other modules, or parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NoReturn, Self, overload

from autograd_tape import warned
from autograd_tape.annotations import Fn
import torchcompat as torch
from torchcompat._tensor import Tensor

from ..parameter import Parameter
from .module import Module, _addindent

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """Modules by keyword; deprecated in torch long ago."""

    def __init__(self, **kwargs: Any) -> None:
        warned.warn("`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that instead.",
                    FutureWarning)
        super().__init__()
        for key, value in kwargs.items():
            self.add_module(key, value)


def _position(index: int, size: int) -> int:
    """A place in a list from an index that may count from the end."""
    index = operator.index(index)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range")
    return index % size


class _Numbered(Module):
    """What Sequential and ModuleList have in common: modules named "0", "1", ... and used as a list."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def _get_abs_string_index(self, index: int) -> str:
        return list(self._modules)[_position(index, len(self))]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._get_abs_string_index(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        for key in list(self._modules)[idx] if isinstance(idx, slice) else [self._get_abs_string_index(idx)]:
            delattr(self, key)
        self.__dict__["_modules"] = {str(i): module for i, module in enumerate(self._modules.values())}

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Module:
        """Removes a module (a slice of them) and returns it."""
        module = self[key]  # type: ignore[index]  # an item is a module
        del self[key]
        return module

    def _shift_in(self, index: int, module: Module) -> None:
        for i in range(len(self._modules), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module


class Sequential(_Numbered):
    """Modules called one after the other.

    Args:
        args: the modules, or one OrderedDict of them by name.

    >>> torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    @overload
    def __init__(self, *args: Module) -> None: ...
    @overload
    def __init__(self, arg: OrderedDict[str, Module], /) -> None: ...
    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else ((str(i), m) for i, m in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Tensor) -> Tensor:
        """The last module's output."""
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, idx: int | slice) -> Module:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._get_abs_string_index(idx)]

    def _other(self, other: Module) -> "Sequential":
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return other

    def __add__(self, other: Module) -> "Sequential":
        return Sequential(*self, *self._other(other))

    def __iadd__(self, other: Module) -> "Sequential":
        return self.extend(list(self._other(other)))

    def _times(self, other: int) -> int:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other

    def __mul__(self, other: int) -> "Sequential":
        return Sequential(*list(self) * self._times(other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> "Sequential":
        return self.extend(list(self) * (self._times(other) - 1))

    def insert(self, index: int, module: Module) -> "Sequential":
        """Puts a module before place `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        self._shift_in(index + n if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> "Sequential":
        """Adds modules at the end."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(_Numbered):
    """A list of modules, registered with the module that holds it.

    Args:
        modules: the first ones.
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _get_abs_string_index(self, index: int) -> str:
        return str(_position(index, len(self)))

    def __getitem__(self, idx: int | slice) -> Module:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[self._get_abs_string_index(idx)]

    def __iadd__(self, modules: Iterable[Module]) -> "ModuleList":
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> "ModuleList":
        return ModuleList(chain(self, other))

    def insert(self, index: int, module: Module) -> None:
        """Puts a module before place `index`."""
        self._shift_in(index, module)

    def extend(self, modules: Iterable[Module]) -> "ModuleList":
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for i, module in enumerate(modules, len(self)):
            self.add_module(str(i), module)
        return self

    def __repr__(self) -> str:
        """Equal neighbours are shown once, with their number."""
        runs: list[list[Any]] = []  # [first, last, text]
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}" for first, last, text in runs]
        return f"{self._get_name()}(\n  " + "\n  ".join(_addindent(line, 2) for line in lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules, registered with the module that holds it.

    Args:
        modules: the first ones, by name.
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Removes all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Removes a module and returns it."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """(name, module) pairs."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module]) -> None:
        """Adds modules from a mapping, or from (name, module) pairs."""
        for key, module in _pairs(modules, "ModuleDict"):
            self[key] = module


def _pairs(items: object, owner: str) -> Iterable[tuple[Any, Any]]:
    """The (key, value) pairs of a mapping or of a sequence of pairs."""
    if not isinstance(items, Iterable):
        what = "ModuleDict.update" if owner == "ModuleDict" else "ParametersDict.update"
        raise TypeError(f"{what} should be called with an iterable of key/value pairs, but got {type(items).__name__}")
    if isinstance(items, (Mapping, ModuleDict, ParameterDict)):
        plain = owner == "ParameterDict" and not isinstance(items, (OrderedDict, Module))  # whose order torch does not trust
        return sorted(items.items()) if plain else list(items.items())
    pairs = []
    for i, item in enumerate(items):
        if not isinstance(item, Iterable):
            raise TypeError(f"{owner} update sequence element #{i} should be Iterable; is{type(item).__name__}")
        item = tuple(item)
        if len(item) != 2:
            raise ValueError(f"{owner} update sequence element #{i} has length {len(item)}; 2 is required")
        pairs.append(item)
    return pairs


def _as_parameter(value: Tensor | str | int) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _describe(items: Iterable[tuple[object, object]], type_of: Fn) -> str:
    """One line for each parameter or other object of a list or dict, with what `type_of` makes of a tensor's type."""
    lines = []
    for key, value in items:
        if isinstance(value, Tensor):
            kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
            where = f" ({value.device})" if value.device.type not in ("cpu", "meta") else ""
            lines.append(f"  ({key}): {kind} containing: [{type_of(value)} of size {'x'.join(map(str, value.size()))}{where}]")
        else:
            lines.append(f"  ({key}): Object of type: {type(value).__name__}")
    return "\n".join(lines)


class ParameterList(Module):
    """A list of parameters (tensors become parameters) and of anything else.

    Args:
        values: the first ones.
    """

    def __init__(self, values: Iterable[object] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(self[i] for i in range(*idx.indices(len(self))))
        return getattr(self, str(_position(idx, len(self))))

    def __setitem__(self, idx: int, param: Tensor | str) -> None:
        setattr(self, str(_position(idx, len(self))), _as_parameter(param))

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, parameters: Iterable[object]) -> "ParameterList":
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def append(self, value: Any) -> "ParameterList":
        """Adds a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[object]) -> "ParameterList":
        """Adds values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """One line for each value."""
        return _describe(enumerate(self), lambda t: t.dtype)

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters (tensors become parameters) and of anything else.

    Args:
        parameters: the first ones: a mapping, or pairs.
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _name(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}'). "
                            "Open an issue on github if you need non-string keys.")
        # Attributes may not contain dots, and a class attribute of the same name would hide the parameter.
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._name(key))

    def __setitem__(self, key: str, value: Tensor | int) -> None:
        self._keys[key] = None
        setattr(self, self._name(key), _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._name(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> "ParameterDict":
        """Another ParameterDict of the same parameters."""
        return ParameterDict(OrderedDict((key, self[key]) for key in self._keys))

    def setdefault(self, key: str, default: Any = None) -> Tensor:
        """The value of `key`, which is set to `default` where there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Removes everything."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Tensor:
        """Removes a value and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Tensor]:
        """Removes the last (key, value) pair and returns it."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: object = None) -> Any:
        """The value of `key`, or `default`."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> "ParameterDict":
        """A ParameterDict with `default` under each key."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """The keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """(key, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Adds values from a mapping, or from (key, value) pairs."""
        for key, value in _pairs(parameters, "ParameterDict"):
            self[key] = value

    def extra_repr(self) -> str:
        """One line for each value."""
        return _describe(self.items(), torch.typename)

    def __call__(self, input: object) -> NoReturn:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: "ParameterDict") -> "ParameterDict":
        both = self.copy()
        both.update(other)
        return both

    def __ror__(self, other: "ParameterDict") -> "ParameterDict":
        both = other.copy()
        both.update(self)
        return both

    def __ior__(self, other: "ParameterDict") -> "ParameterDict":
        self.update(other)
        return self
