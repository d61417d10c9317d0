"""The schema of a function, from its annotations."""

# ruff: noqa: UP006, UP007, UP035, UP045  # annotations are looked up in the forms that programs write
from __future__ import annotations

import collections.abc
import inspect
import typing
from typing import Any, List, NoReturn, Optional, Sequence, Union
from collections.abc import Iterable
from types import GenericAlias

from autograd_tape.annotations import Arguments, Fn
from autograd_tape.dtypes import Device, DType

from .._tensor import Tensor
from ..types import Number
from .tag import Tag, as_tags
from .._calls.shown import shown_in

_KINDS: tuple[tuple[object, str, bool, bool, bool], ...] = (
    # type, the schema's name, whether lists of it, lists of what may be None, lists that may be None are known
    (Tensor, "Tensor", True, True, False), (int, "SymInt", True, False, True), (float, "float", True, False, True),
    (bool, "bool", True, False, True), (str, "str", False, False, False), (Number, "Scalar", True, False, False),
    (DType, "ScalarType", False, False, False), (Device, "Device", False, False, False))


def _lists_of(item: Any) -> Arguments:
    return Sequence[item], List[item], GenericAlias(collections.abc.Sequence, (item,)), GenericAlias(list, (item,))


def _supported() -> dict[Any, str]:
    found: dict[Any, str] = {}
    for kind, name, lists, of_optional, optional in _KINDS:
        found |= {kind: name, Optional[kind]: f"{name}?"}
        found |= dict.fromkeys(_lists_of(kind) if lists else (), f"{name}[]")
        found |= dict.fromkeys(_lists_of(Optional[kind]) if of_optional else (), f"{name}?[]")
        found |= dict.fromkeys([Optional[several] for several in _lists_of(kind)] if optional else (), f"{name}[]?")
    return found


PARAMETERS = _supported()
RETURNS = {Tensor: "Tensor", List[Tensor]: "Tensor[]", list[Tensor]: "Tensor[]", int: "SymInt", float: "float",
           bool: "bool", Number: "Scalar"}


class _Inference:
    """The schema of one function."""

    def __init__(self, function: Fn, mutates: str | Iterable[str], tags: tuple[object, ...]) -> None:
        self.function, self.tags = function, tags
        self.signature = inspect.signature(function)
        self.mutates = mutates if isinstance(mutates, str) else tuple(mutates)
        self.changed: list[tuple[str, str]] = []  # (name, alias) of the parameters that are

    def fail(self, what: str) -> NoReturn:
        """Raises torch's error."""
        raise ValueError(f"infer_schema(func): {what} Got func with signature {self.signature})")

    def annotation(self, given: object) -> Any:
        """An annotation, evaluated where it is text."""
        if not isinstance(given, str):
            origin = typing.get_origin(given)
            if origin is None or not any([isinstance(a, str) for a in typing.get_args(given)]):
                return given
            return GenericAlias(origin, tuple([self.annotation(a) for a in typing.get_args(given)]))
        try:
            return eval(given, self.function.__globals__)
        except NameError as e:
            self.fail(f"Unsupported type annotation {given}. It is not a type. ({e}). If you are using 'from __future__ import "
                      "annotations', "
                      "note that annotations are evaluated lazily as strings; make sure all types referenced in annotations are importable "
                      "at module scope, not only inside a local function.")
        except Exception as e:  # whatever the text raises
            self.fail(f"Unsupported type annotation {given}. It is not a type. ({type(e).__name__}: {e})")

    def type(self, p: inspect.Parameter) -> str:
        """The schema's type of a parameter."""
        if p.annotation is p.empty:
            self.fail(f"Parameter {p.name} must have a type annotation.")
        found = self.annotation(p.annotation)
        if found in PARAMETERS:
            return PARAMETERS[found]
        text = f"Parameter {p.name} has unsupported type {p.annotation}. "
        if typing.get_origin(found) is tuple:
            of = set(typing.get_args(found)) - {...}
            instead: Any = List[Union.__getitem__(tuple(of))] if of else List  # type: ignore[misc]
            text += ("We do not support Tuple inputs in schema. As a workaround, please try to use List instead. "
                     + (f"For example, {instead}.\n\n" if instead in PARAMETERS else "\n\n"))
        self.fail(f"{text}The valid types are: {PARAMETERS.keys()}.")

    def parameter(self, nr: int, p: inspect.Parameter) -> str:
        """A parameter as the schema has it."""
        shown = self.type(p)
        mutated = p.name in self.mutates
        if isinstance(self.mutates, str):
            if self.mutates != "unknown":
                raise ValueError("mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
                                 "'unknown'. ")
            mutated = shown.startswith("Tensor")
        if mutated:
            if not shown.startswith("Tensor"):
                self.fail(f"Parameter {p.name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
            shown = f"Tensor(a{nr}!){shown.removeprefix('Tensor')}"
            if Tag.out in self.tags:
                if p.kind is not p.KEYWORD_ONLY:
                    self.fail("torch.Tag.out requires mutable arguments to be keyword-only.")
                if not shown.endswith("!)"):
                    self.fail("torch.Tag.out only supports mutable keyword-only Tensor arguments.")
            self.changed.append((p.name, f"a{nr}"))
        shown += f" {p.name}"
        if p.default is p.empty:
            return shown
        if isinstance(p.default, (str, Device)):
            return f'{shown}="{p.default}"'
        if p.default is None or isinstance(p.default, (int, float, bool)):
            return f"{shown}={p.default}"
        if isinstance(p.default, DType):
            return f"{shown}={str(p.default).removeprefix('torch.')}"
        self.fail(f"Parameter {p.name} has an unsupported default value type {type(p.default)}. Please file an issue on GitHub so we can "
                  "prioritize this.")

    def parameters(self) -> str:
        """All of them."""
        shown: list[str] = []
        for nr, p in enumerate(self.signature.parameters.values()):
            if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
                self.fail("We do not support positional-only args, varargs, or varkwargs.")
            if p.kind is p.KEYWORD_ONLY and "*" not in shown:
                shown.append("*")
            shown.append(self.parameter(nr, p))
        unknown = set() if isinstance(self.mutates, str) else set(self.mutates) - set(self.signature.parameters)
        if unknown:
            self.fail(f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the names of "
                      "all "
                      "args that the custom op mutates, or just the string 'unknown' if you don't know.")
        return ", ".join(shown)

    def returns(self) -> str:
        """What is returned."""
        found = self.annotation(self.signature.return_annotation)
        if found is None:
            return "()"
        if found is inspect.Parameter.empty:
            self.fail("No return type annotation was provided. Please add one.")
        several = typing.get_origin(found) is tuple
        kinds = typing.get_args(found) if several else (found,)
        if any([k not in RETURNS for k in kinds]):
            self.fail(f"Return has unsupported type {found}. The valid types are: {RETURNS}.")
        shown = ", ".join([RETURNS[k] for k in kinds])
        return f"(({shown}))" if several and len(kinds) == 1 else f"({shown})" if several else shown

    def in_place(self) -> str:
        """What the variant in place returns: its first argument."""
        first = next((p for p in self.signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD), None)
        if first is None:
            self.fail("torch.Tag.inplace requires a positional Tensor argument.")
        if self.type(first) != "Tensor":
            self.fail("torch.Tag.inplace requires the first positional argument to be a Tensor.")
        if isinstance(self.mutates, str) or set(self.mutates) != {first.name}:
            self.fail(f"torch.Tag.inplace requires mutates_args to contain exactly the first positional argument, got {self.mutates}.")
        if self.returns() != "Tensor":
            self.fail("torch.Tag.inplace requires the return annotation to be torch.Tensor.")
        return f"Tensor({self.changed[0][1]}!)"

    def into_out(self) -> str:
        """What a function with out= returns: the tensors that it wrote to."""
        if not self.changed:
            self.fail("torch.Tag.out requires at least one mutable keyword-only Tensor argument.")
        found = self.annotation(self.signature.return_annotation)
        if (typing.get_args(found) if len(self.changed) > 1 else (found,)) != (Tensor,) * len(self.changed):
            self.fail("torch.Tag.out requires the return annotation to match the mutable keyword-only Tensor arguments "
                      f"{tuple([n for n, _ in self.changed])}.")
        shown = ", ".join([f"Tensor({alias}!)" for _, alias in self.changed])
        return shown if len(self.changed) == 1 else f"({shown})"


def infer_schema(prototype_function: Fn, /, *, mutates_args: str | Iterable[str], op_name: str | None = None,
                 tags: object = ()) -> str:
    """The schema of a function with annotations.

    >>> import torchcompat as torch
    >>> def scaled(x: torch.Tensor, by: float = 2.0) -> torch.Tensor: ...
    >>> infer_schema(scaled, mutates_args=(), op_name="scaled")
    'scaled(Tensor x, float by=2.0) -> Tensor'

    Args:
        mutates_args: the names of the parameters that it changes, or "unknown": all tensors may be.
        op_name: what the schema is to begin with.
        tags: `Tag.inplace` or `Tag.out` of operations that return what they changed.

    Raises:
        ValueError: a parameter has no annotation, or one that schemas do not know, and the like.
    """
    inference = _Inference(prototype_function, mutates_args, as_tags(tags))
    parameters = inference.parameters()
    returns = inference.in_place() if Tag.inplace in inference.tags else inference.into_out() if Tag.out in inference.tags else \
        inference.returns()
    return f"{op_name or ''}({parameters}) -> {returns}"


shown_in("torchcompat.library", infer_schema)
