"""torch's grammar of calls: which arguments its signatures take, and what it says where none takes them.

The signatures are recorded (`tests/core/signature_cases.py`). They are read where a call has failed, and at no other time: whatever an
operation stumbled over, torch looks at the types of all arguments before.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autograd_tape.calls import Door
from autograd_tape.dtypes import INTEGER, Device, DType
from autograd_tape.errors import type_name
from autograd_tape.functions.words import OPERANDS, WORDS
from autograd_tape.tensor import TensorRef

from .callsite import given, name_at, public_frame
from .._memory.layout import layout, memory_format

OPTIONS = ("dtype? dtype=None, layout? layout=None, device? device=None, bool? pin_memory=False, bool? requires_grad=False")
"""What "..." stands for in what is recorded: the options of functions that make tensors."""
_SHOWN = {"Scalar": "Number", "dtype": "torch.dtype", "layout": "torch.layout", "device": "torch.device", "Generator": "torch.Generator",
          "memory_format": "torch.memory_format", "Storage": "torch.Storage", "Stream": "torch.Stream", "ScalarList": "tuple of Scalars"}
_LISTS = {"int": "ints", "float": "floats", "Tensor": "Tensors", "Tensor?": "Tensors", "Scalar": "Scalars"}
_NATIVE = {"int": ("int",), "float": ("float", "int")}
"""The types that torch's marks of wrong arguments know by several names."""
_OTHER_WORDS: dict[str, list[str]] = {}
for _word, _name in (WORDS | OPERANDS).items():
    _OTHER_WORDS.setdefault(_name, []).append(_word)


class ElementError(TypeError):
    """A list of tensors holds something else, which ends the search for a signature."""


class Parameter:
    """A parameter of a signature.

    Attributes:
        kind: its type, "Tensor", "int", "int[]".
        size: how many a list is of where one number stands for them all, "" of other lists.
        default: as source, None where it must be given.
        nullable: whether it takes None.
    """

    def __init__(self, text: str, keyword_only: bool) -> None:
        said, self.keyword_only = text, keyword_only
        said, has_default, default = said.partition("=")
        kind, _, self.name = said.rpartition(" ")
        self.default = default if has_default else None
        self.nullable = kind.endswith("?") or default == "None"
        found = re.fullmatch(r"(.*)\[(\d*)\]", kind.removesuffix("?"))
        self.kind, self.size = (f"{found[1]}[]", found[2]) if found else (kind.removesuffix("?"), "")
        self.shown = f"tuple of {_LISTS[self.kind[:-2]]}" if found else _SHOWN.get(self.kind, self.kind)
        self.names = [self.name, *_OTHER_WORDS.get(self.name, ())]

    def __str__(self) -> str:
        return f"{self.shown} {self.name}" + ("" if self.default is None else f" = {self.default}")

    def takes(self, value: object, numbers: bool, at: int) -> bool:
        """Whether it takes a value, as number `at` of all parameters; with `numbers` also one in the place of a tensor.

        Raises:
            ElementError: it is a list of tensors that holds something else.
        """
        if value is None and self.nullable:
            return True
        return _TAKES[self.kind](self, value, numbers, at) or (not isinstance(value, TensorRef) and hasattr(value, "__torch_function__"))


def is_int(value: object) -> bool:
    """Whether torch takes a value for a whole number: a tensor also, of one integer without a dimension."""
    return is_index(value) or (isinstance(value, TensorRef) and value.ndim == 0 and value.dtype.category == INTEGER
                               and value._node is None)


def is_index(value: object) -> bool:
    """The same without tensors."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) or "SymInt" in type(value).__name__


def _is_number(value: object) -> bool:
    return (isinstance(value, (int, float, np.number)) and not isinstance(value, np.complexfloating) or "Sym" in type(value).__name__
            or isinstance(value, TensorRef) and value.ndim == 0 and value._node is None)


def _is_scalar(value: object) -> bool:
    return isinstance(value, (complex, np.generic)) or _is_number(value)


def _takes_tensors(p: Parameter, value: object, numbers: bool, at: int) -> bool:
    if not isinstance(value, (tuple, list)):
        return False
    for i, x in enumerate(value):
        if not isinstance(x, TensorRef) and not hasattr(x, "__torch_function__"):
            raise ElementError(f"expected Tensor as element {i} in argument {at}, but got {type_name(x)}")
    return True


def _takes_ints(p: Parameter, value: object, numbers: bool, at: int) -> bool:
    if isinstance(value, (tuple, list)):
        return not value or _is_element(value[0])
    return bool(p.size) and is_int(value)


def _is_element(value: object) -> bool:
    """Whether it is the first of a list of whole numbers."""
    if isinstance(value, TensorRef):
        return value.dtype.category == INTEGER and value.numel() == 1  # type: ignore[attr-defined]  # of torchcompat's
    return is_index(value) or not isinstance(value, (bool, np.bool_)) and hasattr(value, "__index__")


def _takes_tensor(p: Parameter, value: object, numbers: bool, at: int) -> bool:
    return isinstance(value, TensorRef) or numbers and isinstance(value, (int, float, complex, np.generic))


def _of(*types: type) -> Any:
    return lambda p, value, numbers, at: isinstance(value, types)


_TAKES: Mapping[str, Any] = {
    "Tensor": _takes_tensor, "Tensor[]": _takes_tensors, "Tensor?[]": _takes_tensors, "int[]": _takes_ints,
    "int": lambda p, value, numbers, at: is_int(value),
    "float": lambda p, value, numbers, at: _is_number(value),
    "Scalar": lambda p, value, numbers, at: _is_scalar(value),
    "bool": _of(bool, np.bool_), "str": _of(str), "layout": _of(layout), "memory_format": _of(memory_format),
    "dtype": lambda p, value, numbers, at: isinstance(value, DType) or value in (float, int, bool, complex),
    "device": lambda p, value, numbers, at: isinstance(value, (str, Device)) or is_index(value),
    "Generator": lambda p, value, numbers, at: type(value).__name__ == "Generator",
    "float[]": lambda p, value, numbers, at: isinstance(value, (tuple, list)) and (not value or _is_scalar(value[0])),
    "Scalar[]": lambda p, value, numbers, at: isinstance(value, (tuple, list)) and all([_is_scalar(v) for v in value]),
    "ScalarList": lambda p, value, numbers, at: isinstance(value, (tuple, list)) and all([_is_scalar(v) for v in value]),
}


class Signature:
    """One way to call a function; a `hidden` one is taken, but not spoken of."""

    def __init__(self, text: str) -> None:
        self.hidden = text.endswith("!")
        keyword_only, self.params = False, []
        for part in text.removesuffix("!").replace("...", OPTIONS).split(", ") if text else ():
            if part == "*":
                keyword_only = True
            else:
                self.params.append(Parameter(part, keyword_only))
        self.by_position = sum([not p.keyword_only for p in self.params])
        self.least = sum([p.default is None for p in self.params])

    def __str__(self) -> str:
        parts = [str(p) for p in self.params]
        return ", ".join(parts if self.by_position == len(parts) else [*parts[:self.by_position], "*", *parts[self.by_position:]])

    def misfit(self, name: str, args: Sequence[object], kwargs: Mapping[str, object], numbers: bool) -> str | None:
        """What torch says where it has only this signature; None where that takes the arguments."""
        loose = self.by_position == 1 and self.params[0].kind == "int[]"  # its list may be several arguments
        if len(args) > self.by_position and not loose:
            return self._too_many(name, len(args))
        at, left = 0, dict(kwargs)
        for i, p in enumerate(self.params):
            word = None
            if at < len(args):
                if p.keyword_only:
                    return self._too_many(name, len(args))
                value = args[at]
            else:
                word = next((n for n in p.names if n in kwargs), None)
                if word is None:
                    if p.default is None:
                        return self._missing(name, i)
                    continue
                value = left.pop(word)
            if p.takes(value, numbers, i):
                at += word is None
            elif loose and at == 0 and word is None and _takes_ints(p, args, False, 0):
                at = len(args)
            elif loose and word is None and len(args) > 1:
                return self._too_many(name, len(args))
            else:
                where = f" (position {at + 1})" if word is None else ""
                found = f"not {type_name(value)}"
                if word is None and p.kind == "int[]" and isinstance(value, (tuple, list)):
                    found = f"but found element of type {type_name(value[0])} at pos 0"
                return f"{name}(): argument '{p.name}'{where} must be {p.shown}, {found}"
        if at < len(args):  # of a list that was given whole, with more behind it
            return self._too_many(name, len(args))
        if left:
            word = next(iter(left))
            known = any([p.name == word for p in self.params[:len(args)]])
            return f"{name}() got " + (f"multiple values for argument '{word}'" if known else f"an unexpected keyword argument '{word}'")
        return None

    def _too_many(self, name: str, given: int) -> str:
        if self.least != self.by_position:
            return f"{name}() takes from {self.least} to {self.by_position} positional arguments but {given} were given"
        return (f"{name}() takes {self.by_position} positional argument{'s' * (self.by_position != 1)} but {given} "
                f"{'was' if given == 1 else 'were'} given")

    def _missing(self, name: str, start: int) -> str:
        names = [f'"{p.name}"' for p in self.params[start:] if p.default is None]
        return f"{name}() missing {len(names)} required positional argument{'s' * (len(names) == 1)}: {', '.join(names)}"

    def unreadable(self, name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> Exception | None:
        """What torch says of the elements of lists, and of numbers out of range, where this signature takes the arguments by type."""
        for i, p in enumerate(self.params):
            spread = self.by_position == 1 and i == 0 and p.kind == "int[]" and args and not isinstance(args[0], (tuple, list))
            value = args if spread else args[i] if i < len(args) and not p.keyword_only else next(
                (kwargs[n] for n in p.names if n in kwargs), None)
            if p.kind == "int[]" and isinstance(value, (tuple, list)):
                for at, x in enumerate(value, 1):
                    if not _is_element(x) and not isinstance(x, bool):
                        said = f"type must be tuple of ints,but got {type_name(x)}"
                    elif isinstance(x, int) and not -2 ** 63 <= x < 2 ** 63:
                        said = "Overflow when unpacking long long"
                    else:
                        continue
                    return TypeError(f"{name}(): argument '{p.name}' failed to unpack the object at pos {at} with error \"{said}\"")
            elif p.kind in ("int", "int[]") and isinstance(value, int) and not -2 ** 63 <= value < 2 ** 63:
                return ValueError("Overflow when unpacking long long")
            elif p.kind in ("Scalar", "Tensor") and isinstance(value, int) and not -2 ** 63 <= value < 2 ** 64:
                return OverflowError("int too big to convert" if value > 0 else "can't convert negative int to unsigned")
        return None


def _described(value: object) -> str:
    """A type as torch marks it: of a list with the types of its elements."""
    if value.__class__ in (tuple, list):
        assert isinstance(value, (tuple, list))
        inner = ", ".join([type_name(v) for v in value])
        return f"tuple of ({inner})" if isinstance(value, tuple) else f"list of [{inner}]"
    return type_name(value)


def _marked(parts: Sequence[str], args: Sequence[object], named: Sequence[tuple[str, object]]) -> str:
    """The types of arguments beside the parts of a signature as it is written, those of other types in marks; torch reads its own text,
    in which "*" is a part, and what has a default is of a type of its own."""
    kinds = [part.rpartition(" ")[0] if " " in part else part for part in parts]
    names = {part.rpartition(" ")[2]: kind for part, kind in zip(parts, kinds)}
    marks: list[str] = []
    for value, kind in zip(args, kinds):
        shown = _described(value)
        marks.append(shown if shown in _NATIVE.get(kind, (kind,)) else f"!{shown}!")
    for word, value in named:
        shown, kind = f"{word}={_described(value)}", names.get(word, "")
        marks.append(shown if _described(value) in _NATIVE.get(kind, (kind,)) else f"!{shown}!")
    return _listed(marks, bool(args))


def _listed(parts: Sequence[str], positional: bool) -> str:
    return "(" + (", ".join(parts) if positional else "".join([f"{part}, " for part in parts])) + ")"


def _unknown(parts: Sequence[str], named: Sequence[tuple[str, object]]) -> list[str]:
    """The keywords that a signature as it is written does not have among its last parts."""
    names = [part.rpartition(" ")[2] for part in parts[max(len(parts) - len(named), 0):]]
    return [word for word, _ in named if word not in names]


def no_match(name: str, signatures: Sequence[str], args: Sequence[object], kwargs: Mapping[str, object]) -> str:
    """What torch says where several signatures might be meant, as they are written, or where one takes as many arguments.

    >>> print(no_match("pow", ["Tensor input, Number exponent"], (2, 3), {}))
    pow() received an invalid combination of arguments - got (!int!, !int!), but expected (Tensor input, Number exponent)
    """
    named = [*kwargs.items()][::-1]  # torch walks through them from the last one
    got = _listed([type_name(v) for v in args] + [f"{word}={type_name(v)}" for word, v in named], bool(args))
    start, count = f"{name}() received an invalid combination of arguments - got ", len(args) + len(named)
    split = [s.split(", ") for s in signatures]  # torch, too, takes nothing for a part
    if len(signatures) == 1:
        unknown = _unknown(split[0], named)
        if unknown:
            return f"{start}unrecognized keyword arguments: {', '.join(unknown)}"
        return f"{start}{_marked(split[0], args, named) if len(split[0]) == count else got}, but expected ({signatures[0]})"
    lines = [f"{start}{got}, but expected one of:"]
    for signature, parts in zip(signatures, split):
        lines.append(f" * ({signature})")
        if len(parts) == count:
            unknown = _unknown(parts, named)
            lines.append("      didn't match because some of the " + (
                f"keywords were incorrect: {', '.join(unknown)}" if unknown else
                f"arguments have invalid types: {_marked(parts, args, named)}"))
    return "\n".join(lines) + "\n"


def refusal(name: str, signatures: Sequence[Signature], args: Sequence[object], kwargs: Mapping[str, object],
            numbers: bool = False) -> Exception | None:
    """torch's error for a call of a function, None where one of its signatures takes the arguments.

    >>> print(refusal("cumsum", [Signature("Tensor input, int dim, *, dtype? dtype=None")], (), {"dim": 1}))
    cumsum() missing 2 required positional argument: "input", "dim"
    """
    try:
        said = None
        for signature in signatures:
            said = signature.misfit(name, args, kwargs, numbers)
            if said is None:
                return signature.unreadable(name, args, kwargs)
        if len(signatures) > 1:
            given = len(args) + len(kwargs)
            plausible = [s for s in signatures if s.least <= given <= len(s.params) and not s.hidden]
            said = (plausible[0].misfit(name, args, kwargs, numbers) if len(plausible) == 1 else
                    no_match(name, [str(s) for s in signatures if not s.hidden], args, kwargs))
        return TypeError(said)
    except ElementError as error:
        return TypeError(str(error))


# -- what is recorded -------------------------------------------------------------------------------------------------------


@cache
def _recorded() -> dict[str, str]:
    text = gzip.decompress(Path(__file__).with_name("signatures.json.gz").read_bytes())
    return dict(json.loads(text))


@cache
def signatures(name: str) -> list[Signature] | None:
    """Those of a function, by its name after `torch.` with "nn." before what is in `torch._C._nn`; None where torch has none."""
    said = _recorded().get(name)
    if said is None and name.startswith("Tensor."):
        function = _recorded().get(name.removeprefix("Tensor."))
        said = None if function is None else "|".join([_of_method(s) for s in function.split("|")])
    return None if said is None else [Signature(s) for s in said.split("|")]


def _of_method(signature: str) -> str:
    """The signature of a method from that of the function: without its tensor and `out`."""
    parts = [p for p in signature.removesuffix("!").split(", ") if p != "Tensor input" and not p.endswith(" out=None")]
    return ", ".join(parts[:-1] if parts[-1:] == ["*"] else parts) + "!" * signature.endswith("!")


def known() -> Iterator[str]:
    """The names of all functions that are recorded."""
    yield from _recorded()




# -- calls that have failed ---------------------------------------------------------------------------------------------------

_SPACES = {"": "", "linalg": "linalg.", "fft": "fft.", "special": "special.", "nn.functional": "nn."}


class _Bare:
    """What stands for the record of a function that has none."""

    in_python, namespace, public = False, "", None
    alias: tuple[str, ...] = ()
    params: tuple[Any, ...] = ()

    def __init__(self, name: str) -> None:
        self.name, self.defaults = name, dict[str, object]()


def refused(door: Door, inplace: bool) -> Exception | None:
    """torch's error for a call that is passing a door; None where torch takes its arguments, or where nobody knows how it was made."""
    rec: Any = _Bare(door.rec.name) if door.unrecorded else door.rec
    if rec.in_python:  # whatever torch says of it is not its parser's
        return None
    frame = public_frame(rec.name, door.frontend.name, getattr(getattr(door, "front", None), "__code__", None))
    if frame is None:
        return None
    args, kwargs, bound = given(frame, rec.defaults | {p.name: p.default for p in door.params if p.has_default} | {"out": None})
    named = dict(zip([p.name for p in rec.params], args)) | kwargs
    if "inplace" in named and not bound and len(args) <= len(rec.params):  # torch's function of Python, around its own
        if rec.params[0].name not in named or {*named} - {p.name for p in rec.params}:
            return None
        inplace = bool(named.pop("inplace"))
        args, kwargs, bound = [named[p.name] for p in rec.params if p.name in named], {}, False
    end = "_" * inplace
    names = [_SPACES.get(rec.namespace, f"{rec.namespace}.") + (rec.public or rec.name) + end,
             *[a.replace("nn.functional.", "nn.") + end for a in rec.alias]]
    names = [n.removeprefix("Tensor.") for n in names]
    if len(names) > 1:
        own, place = name_at(frame, {n.rpartition(".")[2] for n in names})
        names.sort(key=lambda n: (n.rpartition(".")[2] != own, n != f"{place}.{own}", "." in n))
    methods = [f"Tensor.{n}" for n in names if "." not in n]
    if bound is None:  # as far as the function itself tells
        bound = bool(args) and (getattr(door, "method", False) or rec.namespace == "Tensor")
    name = next((n for n in (methods if bound else names) if signatures(n)), None)
    if name is None and not bound and args and isinstance(args[0], TensorRef):  # a method that is called as a function
        bound, name = True, next((n for n in methods if signatures(n)), None)
    if name is None:
        return None
    found = signatures(name) or []
    if bound and [str(s) for s in found] == [""]:  # which Python itself reads the arguments of
        said = "keyword arguments" if kwargs else f"arguments ({len(args) - 1} given)" if args[1:] else None
        return None if said is None else TypeError(f"TensorBase.{name.removeprefix('Tensor.')}() takes no {said}")
    shown = name.removeprefix("Tensor.").removeprefix("nn.").replace(".", "_")
    return refusal(shown, found, args[bound:], kwargs, any([p.type == "Operand" for p in rec.params]))
