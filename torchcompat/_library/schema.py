"""Schemas of operations: read from text, shown as torch shows them, and made to fit arguments to."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any
from collections.abc import Callable, Sequence

from dataclasses import dataclass

from autograd_tape.annotations import Arguments, Keywords
from autograd_tape.dtypes import Device, DType
from autograd_tape.locks import cached_property
from autograd_tape.tensor import TensorRef

import torchcompat as torch

from .._tensor import Tensor

PYTHON_NAMES = {"SymInt": "int", "Scalar": "number", "ScalarType": "int", "Layout": "int", "MemoryFormat": "int"}
"""What messages call types, where that is not the schema's name."""
DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64", "complex128", "bool")
"""Dtypes by the numbers that schemas show."""
_MAKERS: dict[str, Callable[[Any], Any]] = {"int": int, "SymInt": int, "float": float, "bool": bool, "complex": complex}
_PLAIN = ("Unable to cast Python instance of type {} to C++ type '?' (#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode "
          "for details)")
Text = str  # which `Type` has a method of the name of
_NUMBERED = frozenset(["SymInt", "ScalarType", "Layout", "MemoryFormat"])
_KINDS = {"int": "IntType", "float": "FloatType", "bool": "BoolType", "str": "StringType", "complex": "ComplexType", "Scalar": "NumberType",
          "Device": "DeviceObjType", **dict.fromkeys(_NUMBERED, "IntType")}
_NAMES = frozenset("Tensor SymInt int float bool str complex Scalar ScalarType Device Layout MemoryFormat Generator Storage Stream "
                   "Any".split())


class Misfit(Exception):
    """A value is not of a schema's type; the text says why."""


@dataclass(frozen=True, slots=True)
class Type:
    """A type of a schema: `wrappers` are "?" and "[]" or "[n]", inner ones first."""

    name: Text
    wrappers: tuple[Text, ...] = ()

    def __str__(self) -> Text:
        return self.python

    @property
    def spelled(self) -> Text:
        """What a schema says: `int[2]?`."""
        return self.name + "".join(self.wrappers)

    def str(self) -> Text:
        """The same without lengths, and by the type that values have: `int[]?`, and `int?` for `ScalarType?`."""
        name = "int" if self.name in _NUMBERED else self.name
        return name + "".join([wrapper if wrapper == "?" else "[]" for wrapper in self.wrappers])

    def kind(self) -> Text:
        """What kind of type it is: `ListType`."""
        if self.wrappers:
            return "OptionalType" if self.wrappers[-1] == "?" else "ListType"
        return _KINDS.get(self.name, f"{self.name}Type")

    @property
    def annotation_str(self) -> Text:
        """What Python would say of it."""
        return self.python

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether each value of it is one of another type."""
        if self.str() == other.str() or other.name == "Any" and not other.wrappers:
            return True
        if other.wrappers and other.wrappers[-1] == "?":
            inner = self.wrappers[:-1] if self.wrappers and self.wrappers[-1] == "?" else self.wrappers
            return Type(self.name, inner).isSubtypeOf(Type(other.name, other.wrappers[:-1]))
        numbers = ("IntType", "FloatType", "ComplexType")
        return not self.wrappers and not other.wrappers and other.name == "Scalar" and self.kind() in numbers

    @property
    def python(self) -> Text:
        """What messages call it: `Optional[List[int]]`."""
        shown = PYTHON_NAMES.get(self.name, self.name)
        for wrapper in self.wrappers:
            shown = f"Optional[{shown}]" if wrapper == "?" else f"List[{shown}]"
        return shown

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor, perhaps, or a list of them."""
        return self.name == "Tensor"

    @property
    def is_list(self) -> bool:
        """Whether it is a list, perhaps."""
        return any([w != "?" for w in self.wrappers])

    def fit(self, value: object) -> Any:
        """The value as what torch makes of it: tuples as lists, integers as floats where those are wanted.

        Raises:
            Misfit: it cannot be one.
        """
        return self._fit(value, len(self.wrappers))

    def _fit(self, value: object, depth: int) -> Any:
        if not depth:
            return self._single(value)
        wrapper = self.wrappers[depth - 1]
        if wrapper == "?":
            return None if value is None else self._fit(value, depth - 1)
        if isinstance(value, Tensor) and self.is_tensor and self.wrappers[:depth - 1] and value.dim():
            value = list(value)
        if not isinstance(value, (list, tuple)):
            if len(wrapper) > 2 and not isinstance(value, str):  # a number stands for as many
                return [self._fit(value, depth - 1)] * int(wrapper[1:-1])
            integers = self.name in ("int", "SymInt")
            why = f"\n Python error details: TypeError: '{type(value).__name__}' object is not iterable"
            raise Misfit(why if integers else _PLAIN.format(type(value)))
        try:
            return [self._fit(x, depth - 1) for x in value]
        except Misfit:
            if self.name in ("int", "SymInt") or self.wrappers[:depth - 1]:
                raise
            raise Misfit(_PLAIN.format(type(value))) from None

    def _single(self, value: object) -> Any:
        kind = value.__class__
        if self.name == "Tensor":
            if value is None or isinstance(value, Tensor):
                return value
            raise Misfit(f"Unable to cast {value} to Tensor")
        if self.name == "Scalar":
            if isinstance(value, (bool, int, float, complex)):
                return value
            if isinstance(value, Tensor) and value._data.ndim == 0:
                return value.item()
            raise Misfit(f"Cannot cast {value} to number")
        if self.name in _MAKERS:
            integral = self.name in ("int", "SymInt")
            if isinstance(value, Tensor) and value._data.size == 1 and not value._node:
                value = value.item()
            if isinstance(value, (bool, int)) or hasattr(kind, "__index__") and not isinstance(value, Tensor) or (
                    isinstance(value, float) and not integral) or isinstance(value, complex) and self.name == "complex":
                return _MAKERS[self.name](value)
        elif self.name == "str" and isinstance(value, str) or self.name == "ScalarType" and isinstance(value, DType):
            return value
        elif self.name == "Device" and isinstance(value, (str, Device)):
            return Device(value)
        elif self.name not in ("str", "ScalarType", "Device"):
            return value
        raise Misfit(_PLAIN.format(kind))


@dataclass(frozen=True, slots=True)
class AliasInfo:
    """The annotation of a tensor's memory: "a!"."""

    text: str

    @property
    def is_write(self) -> bool:
        """Whether it is written to."""
        return "!" in self.text

    @property
    def before_set(self) -> set[str]:
        """Which memory it is."""
        return set(self.text.split("->")[0].replace("!", "").strip().split("|"))


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument, or a return value."""

    name: str
    type: Type
    alias_info: AliasInfo | None = None
    default: Any = ...
    kwarg_only: bool = False

    @property
    def is_write(self) -> bool:
        """Whether it is changed."""
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def default_value(self) -> Any:
        """Its default, None where there is none."""
        return None if self.default is ... else self.default

    @property
    def is_out(self) -> bool:
        """Whether results are written to it."""
        return self.kwarg_only and self.is_write

    @property
    def N(self) -> int | None:
        """How long a list is that one number stands for."""
        last = next((wrapper for wrapper in reversed(self.type.wrappers) if wrapper != "?"), "")
        return int(last[1:-1]) if len(last) > 2 else None

    def has_default_value(self) -> bool:
        """Whether it may be left out."""
        return self.default is not ...

    def __str__(self) -> str:
        first, *rest = self.type.name, *self.type.wrappers
        alias = "" if self.alias_info is None else f"({self.alias_info.text})"
        named = f" {self.name}" if self.name else ""
        return first + alias + "".join(rest) + named + ("" if self.default is ... else f"={self._shown(self.default)}")

    def _shown(self, value: object) -> str:
        if isinstance(value, list):
            if len(value) > 1 and self.type.name in ("int", "SymInt") and len(set(value)) == 1:
                return self._shown(value[0])
            return f"[{', '.join(map(self._shown, value))}]"
        if isinstance(value, str):
            return f'"{value}"'
        if isinstance(value, float):
            return f"{int(value)}." if isfinite(value) and value == int(value) and abs(value) < 1e10 else f"{value:.17g}"
        if isinstance(value, DType):
            name = str(value).removeprefix("torch.")
            return str(DTYPES.index(name)) if name in DTYPES else str(value)
        return str(value)


def listed(arguments: Sequence[Argument], spell: Callable[[Argument], str]) -> str:
    """Arguments as a schema has them, with a star before those by keyword."""
    shown: list[str] = []
    for a in arguments:
        if a.kwarg_only and "*" not in shown:
            shown.append("*")
        shown.append(spell(a))
    return ", ".join(shown)


@dataclass(frozen=True, repr=False)
class FunctionSchema:
    """What an operation takes and returns."""

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    is_vararg: bool = False
    is_varret: bool = False

    @property
    def qualname(self) -> str:
        """The full name, with that of the overload."""
        return self.name + (f".{self.overload_name}" if self.overload_name else "")

    @cached_property
    def is_mutable(self) -> bool:
        """Whether an argument is changed."""
        return any([a.is_write for a in self.arguments])

    def _is_view_op(self) -> bool:
        """Whether a result looks at the memory of an argument."""
        return any([a.alias_info is not None and not a.is_write for a in self.arguments])

    def is_functional(self, allow_view: bool = False) -> bool:
        """Whether it changes nothing, returns something, and no views; but for one of its only tensor where those are allowed."""
        if self.is_mutable or not self.returns:
            return False
        if any([r.alias_info is not None and not r.is_write for r in self.returns]):
            tensors = [[a for a in x if a.type.spelled == "Tensor"] for x in (self.arguments, self.returns)]
            return allow_view and [len(x) for x in tensors] == [1, 1]
        return True

    def is_backward_compatible_with(self, old: FunctionSchema) -> bool:
        """Whether each call that fits an older schema fits this one, and gives what it gave."""
        if not _alike(self, old) or len(self.arguments) < len(old.arguments):
            return False
        own, theirs = _first_out(self), _first_out(old)
        moved = own - theirs
        pairs = [(self.arguments[i + (moved if i >= theirs else 0)], a) for i, a in enumerate(old.arguments)
                 if i + (moved if i >= theirs else 0) < len(self.arguments)]
        return (len(pairs) == len(old.arguments) and all([_takes(a, b) for a, b in pairs])
                and all([_takes(b, a) for a, b in zip(self.returns, old.returns)])
                and all([a.has_default_value() for a in self.arguments[theirs:own]]))

    def check_forward_compatible_with(self, old: FunctionSchema) -> tuple[bool, str]:
        """Whether a call that fits this schema can be written as one that fits an older one, which knows defaults, and else why not."""
        own, theirs = _first_out(self), _first_out(old)
        if not _alike(self, old):
            return False, ""
        if len(self.arguments) - own != len(old.arguments) - theirs:
            return False, "Function schema should have the same number of out arguments"
        for a, b in zip(self.arguments[:own], old.arguments[:theirs]):
            if not _written(a, b):
                return False, f"'{a.name}' is not forward compatible with the older version of the schema"
        for a in self.arguments[theirs:own]:
            new = f"Function schema is not forward compatible since the new argument '{a.name}' of type {a.type.str()} "
            if not a.has_default_value():
                return False, f"{new}did not provide a default value."
            if isinstance(a.default, (list, dict)):
                return False, f"{new}has a container type as its default value."
        for i, (a, b) in enumerate(zip(self.arguments[own:], old.arguments[theirs:])):
            if not _written(a, b):
                return False, f"Out argument ''{self.arguments[theirs + i].name} is not FC with the older version of the schema"
        return True, ""

    def __str__(self) -> str:
        returns = ", ".join([*map(str, self.returns), *["..."] * self.is_varret])
        bare = len(self.returns) == 1 and not self.returns[0].name or self.is_varret and not self.returns
        given = ", ".join([*[x for x in [listed(self.arguments, str)] if x], *["..."] * self.is_vararg])
        return f"{self.qualname}({given}) -> {returns if bare else f'({returns})'}"

    __repr__ = __str__


def _alike(a: FunctionSchema, b: FunctionSchema) -> bool:
    """Whether two schemas have a name in common, and as many results."""
    parts = [(s.name, s.overload_name, s.is_vararg, s.is_varret, len(s.returns)) for s in (a, b)]
    return parts[0] == parts[1]


def _first_out(schema: FunctionSchema) -> int:
    return next((i for i, a in enumerate(schema.arguments) if a.is_out), len(schema.arguments))


def _same_place(new: Argument, old: Argument) -> bool:
    """Whether two arguments are found in one way."""
    return (new.name, new.N, new.alias_info) == (old.name, old.N, old.alias_info) and not (new.kwarg_only and not old.kwarg_only)


def _takes(new: Argument, old: Argument) -> bool:
    """Whether what was given for an argument can be given for a new one in its place."""
    return (_same_place(new, old) and old.type.isSubtypeOf(new.type)
            and (not old.has_default_value() or new.default_value == old.default_value))


def _written(new: Argument, old: Argument) -> bool:
    """Whether what is given for a new argument can be given for the old one."""
    defaults = [(a.has_default_value(), a.default_value) for a in (new, old)]
    return _same_place(new, old) and new.type.isSubtypeOf(old.type) and defaults[0] == defaults[1]


def bound(schema: FunctionSchema, args: Sequence[object], kwargs: Keywords) -> Arguments:
    """The arguments of a call in the order of a schema, as what its types are.

    Raises:
        RuntimeError: they do not fit it.
    """
    arguments = schema.arguments
    if len(args) > len(arguments):
        raise RuntimeError(f"{schema.name}() expected at most {len(arguments)} argument(s) but received {len(args)} argument(s). "
                           f"Declaration: {schema}")
    positional = sum([not a.kwarg_only for a in arguments])
    if len(args) > positional:
        raise RuntimeError(f"{schema.name}() takes {positional} positional argument(s) but {len(args)} was/were given.  "
                           f"Declaration: {schema}")
    for name in kwargs:
        at = next((i for i, a in enumerate(arguments) if a.name == name), None)
        if at is None:
            raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{schema.name}'. Schema: {schema}")
        if at < len(args):
            raise RuntimeError(f"Argument '{name}' specified both as positional and keyword argument. Schema: {schema}")
    found = []
    for i, a in enumerate(arguments):
        if i >= len(args) and a.name not in kwargs:
            if a.default is ...:
                raise RuntimeError(f"{schema.name}() is missing value for argument '{a.name}'. Declaration: {schema}")
            found.append(a.default)
            continue
        value = args[i] if i < len(args) else kwargs[a.name]
        if value.__class__ is not TensorRef and (not isinstance(value, TensorRef) or a.type.wrappers or a.type.name != "Tensor"):
            try:
                value = a.type.fit(value)
            except Misfit as e:
                if not hasattr(type(value), "__torch_function__") or isinstance(value, TensorRef):
                    detail = str(e) if str(e).startswith("\n") else f"\nCast error details: {e}"
                    raise RuntimeError(
                        f"{schema.name}() Expected a value of type '{a.type.python}' for argument '{a.name}' but instead found type "
                        f"'{type(value).__name__}'.\nPosition: {i}\nValue: {value!r}\nDeclaration: {schema}{detail}") from None
        found.append(value)
    return tuple(found)


# -- reading ----------------------------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"""\s*(?:(?P<arrow>->)|(?P<number>-?\d+\.?\d*(?:[eE][-+]?\d+)?)|(?P<ident>[A-Za-z_]\w*)|(?P<string>"[^"]*"|'[^']*')|"""
                    r"""(?P<other>[^\s]))""")


class _Reader:
    """Reads a schema, one token after the other."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_TOKEN.finditer(text))
        self.at = 0

    @property
    def kind(self) -> str:
        """The kind of the next token; of a sign, itself."""
        if self.at == len(self.tokens):
            return "eof"
        kind = self.tokens[self.at].lastgroup or ""
        return self.tokens[self.at]["other"] if kind == "other" else kind

    def take(self, kind: str) -> str:
        """The next token, which must be of this kind."""
        if self.kind != kind:
            self.fail(f"expected {kind} but found '{self.kind}' here")
        token = self.tokens[self.at]
        self.at += 1
        return token[token.lastgroup or 0]

    def skip(self, kind: str) -> bool:
        """Whether the next token is of this kind, and is now taken."""
        found = self.kind == kind
        self.at += found
        return found

    def fail(self, what: str) -> None:
        """Raises torch's error, which points at the token."""
        here = f"{what}:\n{self.text}"
        if self.at < len(self.tokens):
            token = self.tokens[self.at]
            start, end = token.span(token.lastgroup or 0)
            here += "\n" + " " * start + "~" * (end - start) + " <--- HERE\n"
        raise RuntimeError(here)

    def name(self) -> tuple[str, str]:
        """(name, name of the overload)."""
        name = self.take("ident")
        if self.skip(":"):
            self.take(":")
            name += "::" + self.take("ident")
        return name, self.take("ident") if self.skip(".") else ""

    def schema(self) -> FunctionSchema:
        name, overload = self.name()
        if self.kind == "eof":
            raise RuntimeError("Tried to parse a function schema but only the operator name was given")
        self.take("(")
        arguments: list[Argument] = []
        keyword_only = variable = False
        while not self.skip(")"):
            if arguments or keyword_only:
                if self.kind != ",":
                    self.take(")")
                self.take(",")
            if self.skip("*"):
                keyword_only = True
                continue
            if self.dots():
                variable = True
                self.take(")")
                if any([a.has_default_value() for a in arguments]):
                    self.fail("\nschemas with vararg (...) can't have default value args")
                break
            arguments.append(self.argument(keyword_only))
        self.take("arrow")
        if several := self.dots():
            returns = []
        elif not self.skip("("):
            returns = [self.returned()]
        else:
            returns = []
            while not self.skip(")"):
                if returns:
                    self.take(",")
                returns.append(self.returned())
        if self.kind != "eof":
            self.take("eof")
        return FunctionSchema(name, overload, tuple(arguments), tuple(returns), variable, several)

    def dots(self) -> bool:
        """Whether the next tokens are three dots, and are now taken."""
        found = self.text[self.tokens[self.at].start("other"):].startswith("...") if self.kind == "." else False
        self.at += 3 * found
        return found

    def type(self) -> tuple[Type, AliasInfo | None]:
        """A type, and the annotation of its memory."""
        if self.kind == "ident" and self.tokens[self.at]["ident"] not in _NAMES:
            self.fail("\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; for a full "
                      "list, "
                      "please see https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func ")
        name, alias = self.take("ident"), None
        if self.kind == "(" and name == "Tensor":
            self.take("(")
            text = ""
            while not self.skip(")"):
                if self.kind == "eof":
                    self.take(")")
                token = self.tokens[self.at]
                text += " -> " if self.kind == "arrow" else token[token.lastgroup or 0]
                self.at += 1
            alias = AliasInfo(text)
        wrappers = []
        while self.kind in ("?", "["):
            if self.skip("?"):
                wrappers.append("?")
            else:
                self.take("[")
                wrappers.append(f"[{self.take('number') if self.kind == 'number' else ''}]")
                self.take("]")
        return Type(name, tuple(wrappers)), alias

    def argument(self, keyword_only: bool) -> Argument:
        type_, alias = self.type()
        name = self.take("ident")
        return Argument(name, type_, alias, self.default(type_) if self.skip("=") else ..., keyword_only)

    def returned(self) -> Argument:
        if self.skip("("):  # a tuple of one
            found = self.returned()
            self.take(")")
            return found
        type_, alias = self.type()
        return Argument(self.take("ident") if self.kind == "ident" else "", type_, alias)

    def default(self, type_: Type) -> Any:
        if type_.is_tensor and self.kind != "[":
            if self.kind != "ident":
                self.fail(f"expected None but found '{self.kind}' here")
            self.take("ident")
            return None
        value = self.value()
        if value is None:
            return None
        if type_.name in _MAKERS and isinstance(value, str):
            self.fail("\ninvalid numeric default value")
        if type_.name == "ScalarType" and isinstance(value, str):
            return getattr(torch, value)
        return type_.fit(value)

    def value(self) -> Any:
        if self.skip("["):
            values: list[Any] = []
            while not self.skip("]"):
                if values:
                    self.take(",")
                values.append(self.value())
            return values
        if self.kind == "number":
            text = self.take("number")
            return float(text) if any([c in text for c in ".eE"]) else int(text)
        if self.kind == "string":
            return self.take("string")[1:-1]
        word = self.take("ident")
        return {"None": None, "True": True, "False": False, "inf": float("inf"), "Mean": 1}.get(word, word)


def parse_schema(text: str) -> FunctionSchema:
    """Reads a schema such as "f(Tensor(a!) x, int[] n=[1], *, float? w=None) -> (Tensor, Tensor)".

    >>> schema = parse_schema("mylib::f(Tensor x, *, float w=1) -> Tensor")
    >>> str(schema), schema.arguments[1].default_value
    ('mylib::f(Tensor x, *, float w=1.) -> Tensor', 1.0)

    Raises:
        RuntimeError: it is none.
    """
    return _Reader(text).schema()
