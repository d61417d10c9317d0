"""What schemas say of memory: which arguments and results may share it, and which arguments are written to.

The values of a call tell more than its schema: two arguments that share memory make whatever one of them may share theirs together.
"""

from __future__ import annotations

from enum import IntEnum


import numpy as np

from autograd_tape.annotations import Keywords
from autograd_tape.tensor import TensorRef

from .._calls.shown import shown_in
from .schema import Argument, FunctionSchema, parse_schema

_IN_TRAINING = ("training", "use_input_stats", "train")
_STATISTICS = ("running_mean", "running_var")


class _SchemaArgType(IntEnum):
    """Whether something is an argument or a result."""

    input, output = 0, 1


class _SchemaArgument:
    """An argument of a schema, or a result, by its place."""

    def __init__(self, type: _SchemaArgType, index: int) -> None:
        self.type, self.index = type, index


def tensors_of(value: object) -> list[TensorRef]:
    """The tensors in a value: itself, or those in tuples, lists and dictionaries."""
    if isinstance(value, TensorRef):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [t for part in parts for t in tensors_of(part)]


def _share(a: TensorRef, b: TensorRef) -> bool:
    """Whether tensors lie in one memory."""
    if a is b:
        return True
    x, y = a._data, b._data
    return isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and (
        np.may_share_memory(x, y) or a._base is not None and (a._base is b or a._base is b._base) or b._base is a)


def _is_alias_of(a: object, b: object) -> bool:
    """Whether two values are of one kind and of the same memory: tensors, or lists of them one by one."""
    if isinstance(a, TensorRef) and isinstance(b, TensorRef):
        return _share(a, b)
    if isinstance(a, (list, tuple, dict)) and isinstance(b, (list, tuple, dict)):
        return a is b and bool(a)
    return False


def _overlaps(a: object, b: object) -> bool:
    """Whether a tensor of one value lies in the memory of one of the other."""
    return any([_share(x, y) for x in tensors_of(a) for y in tensors_of(b)])


class _SchemaInfo:
    """What may be said of the memory of a call.

    >>> info = _SchemaInfo("f(Tensor(a) self, Tensor other) -> Tensor(a)")
    >>> first, second = [_SchemaArgument(_SchemaArgType.input, i) for i in (0, 1)]
    >>> result = _SchemaArgument(_SchemaArgType.output, 0)
    >>> info.may_alias(result, first), info.may_alias(result, second), info.is_mutable(first)
    (True, False, False)
    """

    def __init__(self, schema: FunctionSchema | str) -> None:
        self.schema: FunctionSchema = parse_schema(schema) if isinstance(schema, str) else schema
        self._values: dict[str, object] = {}

    def has_argument(self, name: str) -> bool:
        """Whether there is an argument of that name."""
        return any([a.name == name for a in self.schema.arguments])

    def add_argument_value(self, name: str, value: object) -> None:
        """Tells what an argument is in a call."""
        name = "self" if name == "input" and not self.has_argument(name) else name
        if not self.has_argument(name):
            raise RuntimeError(f"Schema has no argument named {name}")
        self._values[name] = value

    def add_argument_values(self, values: Keywords) -> None:
        """The same of several."""
        for name, value in values.items():
            if self.has_argument("self" if name == "input" and not self.has_argument(name) else name):
                self.add_argument_value(name, value)

    def _of(self, argument: _SchemaArgument) -> Argument:
        places = self.schema.arguments if argument.type == _SchemaArgType.input else self.schema.returns
        if not 0 <= argument.index < len(places):
            raise RuntimeError("Invalid index for schema.")
        return places[argument.index]

    def is_mutable(self, argument: _SchemaArgument | str | None = None) -> bool:
        """Whether an argument is written to, by its place or name; or any, where none is given."""
        if argument is None:
            return any([self.is_mutable(_SchemaArgument(_SchemaArgType.input, i)) for i in range(len(self.schema.arguments))])
        if isinstance(argument, str):
            name = "self" if argument == "input" and not self.has_argument(argument) else argument
            if not self.has_argument(name):
                raise RuntimeError(f"Schema has no argument named {name}")
            argument = _SchemaArgument(_SchemaArgType.input, [a.name for a in self.schema.arguments].index(name))
        own = self._of(argument)
        return self._written(own) or argument.type == _SchemaArgType.input and any(
            [self._written(a) for a in self.schema.arguments if a is not own and self._together(own, a)])

    def _written(self, argument: Argument) -> bool:
        if argument.name in _STATISTICS and (train := next((n for n in _IN_TRAINING if self.has_argument(n)), None)):
            return bool(self._values.get(train, True))
        return argument.is_write

    def _together(self, a: Argument, b: Argument) -> bool:
        return _overlaps(self._values.get(a.name), self._values.get(b.name))

    def _memories(self, argument: _SchemaArgument, inside: bool) -> set[str]:
        """The names of memory that an argument may lie in; `inside` also what it holds."""
        own = self._of(argument)
        found = _named(own, inside)
        for a in self.schema.arguments if argument.type == _SchemaArgType.input else ():
            if a is not own and self._together(own, a):
                found |= _named(a, inside) | {f"value of {a.name}", f"value of {own.name}"}
        if argument.type == _SchemaArgType.input:
            found.add(f"value of {own.name}")
        else:  # whatever shares memory with an argument that the result may look at
            for i, a in enumerate(self.schema.arguments):
                if found & _named(a, True):
                    found |= self._memories(_SchemaArgument(_SchemaArgType.input, i), inside)
        return found

    def may_alias(self, a: _SchemaArgument, b: _SchemaArgument) -> bool:
        """Whether two of them may lie in one memory."""
        return self._meet(a, b, False)

    def may_contain_alias(self, a: _SchemaArgument, b: _SchemaArgument, bidirectional: bool = True) -> bool:
        """Whether two of them, or what they hold, may lie in one memory."""
        return self._meet(a, b, True)

    def _meet(self, a: _SchemaArgument, b: _SchemaArgument, inside: bool) -> bool:
        kinds = [self._of(x).type.is_tensor for x in (a, b)]
        x, y = self._memories(a, inside), self._memories(b, inside)
        return all(kinds) and bool(x & y or "*" in x and "*" in y)


def _named(argument: Argument, inside: bool) -> set[str]:
    if argument.alias_info is None or argument.type.is_list and not inside:
        return set()
    return {part.strip() for side in argument.alias_info.text.replace("!", "").split("->") for part in side.split("|")}


shown_in("torch._C", _SchemaInfo, _SchemaArgument, _SchemaArgType)
