"""The schemas of ATen's operations, as records say what they are: `torch.ops.aten.add.Tensor._schema`.

A record has one signature for all that a program may write; ATen has an overload for each way. What a schema says more than a record,
whether a list is as long as a dimension's number, or a size may be a symbol, follows from what parameters are called.
"""

from __future__ import annotations

import ast
import copy
import inspect
import re
from collections.abc import Iterator
from functools import cache
from types import CodeType
from typing import Any

from autograd_tape.annotations import Keywords
from autograd_tape.ops import RECORDS
from autograd_tape.ops._host import data_dependent
from autograd_tape.record import Param, Record

import torchcompat as torch

from .._calls.aten import FUNCTIONS, OpOverload, namespace
from .schema import FunctionSchema, bound, parse_schema
from .tag import Tag


_TYPES = {"Index": "Tensor", "Mask": "Tensor", "dtype": "ScalarType", "Operand": "Tensor"}
_OPTIONS = ("dtype", "layout", "device", "pin_memory")
_RETURNED = frozenset(["Tensor[]", "bool", "int", "float"])
_OF_OPTIONS = {"generator": "Generator?", "dtype": "ScalarType?", "layout": "Layout?", "device": "Device?", "pin_memory": "bool?",
               "memory_format": "MemoryFormat?"}
_SIZES = frozenset("size shape stride storage_offset start end length padding output_size normalized_shape repeats sizes split_size "
                   "split_sizes pad output_padding groups dilation kernel_size num_classes num_groups ignore_index".split())
"""Parameters that are sizes of tensors, which torch also takes as symbols."""


_NOT_ATENS = frozenset(["inplace", "requires_grad"])
"""Parameters that ATen knows nothing of."""


_OF_HINTS = {"Tensor": "Tensor", "int": "int", "bool": "bool", "float": "float", "Sequence[int]": "SymInt[]", "str": "str"}
_AS_SCHEMAS_WRITE = str.maketrans("()'", '[]"')
_OF_LAYERS = frozenset(["weight", "hx", "train", "grid", "normalized_shape"])


class Form:
    """One of ATen's ways to call a record's operation.

    Attributes:
        given: what a record's `aten` says of its arguments; None where they are the record's own.
        operand: the type of the last parameter that takes a tensor or a number.
        change: "_" of the variant in place, "out" of the one that writes to its last arguments, "copy" of a view's.
        whole: whether it is of all dimensions, of which others take some.
    """

    def __init__(self, rec: Record, name: str, overload: str, given: str | None, operand: str = "Tensor", change: str = "") -> None:
        self.rec, self.name, self.overload, self.given, self.operand, self.change = rec, name, overload, given, operand, change
        self.whole = False

    def params(self) -> list[tuple[Param, str | None]]:
        """The parameters, and the types of those that are not the record's own."""
        own = {p.name: p for p in self.rec.params if p.name not in _NOT_ATENS}
        if own.get("device") and own.get("dtype"):  # factories take all options
            options = [own.pop(n) if n in own else Param(n, "Any", "None", True) for n in _OPTIONS]
            layout = [own.pop("memory_format")] if "memory_format" in own else []
            own |= {p.name: p for p in [*options, *layout]}
        if self.whole:
            own = {name: p for name, p in own.items() if name not in ("dim", "keepdim", "unbiased")}
        if self.given is None:
            return [(p, None) for p in own.values()]
        call = ast.parse(f"f({self.given})", mode="eval").body
        assert isinstance(call, ast.Call)
        found = [self._read(node, i, own, default) for i, (node, default) in enumerate(_arguments(call))] + [
            (Param(k.arg or "", own[k.arg].type if k.arg in own else "Any", "None", True), None) for k in call.keywords]
        taken: set[str] = set()
        for i, (p, kind) in enumerate(found):
            if p.name in taken:
                found[i] = Param(f"{p.name}{i}", p.type, p.default, p.keyword_only), kind
            taken.add(p.name)
        for i in range(len(found) - 1, 0, -1):  # what comes before an argument that must be given has no default
            if found[i][0].default is None and found[i - 1][0].default is not None and not found[i][0].keyword_only:
                p, kind = found[i - 1]
                found[i - 1] = Param(p.name, p.type + "?" * (p.default == "None" and p.type[-1] != "?"), None), kind
        return found

    @staticmethod
    def _read(node: ast.expr, at: int, own: dict[str, Param], default: str | None) -> tuple[Param, str | None]:
        named = next((n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in own), None)
        if named is not None:
            p = own[named] if default is None else Param(named, own[named].type, default)
            if isinstance(node, ast.Starred) and p.default is None:  # which is left out where it says nothing
                p = Param(p.name, p.type, "'mean'" if p.name == "reduction" else "None")
            numbered = p.name == "reduction" and (isinstance(node, ast.Starred) or
                                                  isinstance(node, ast.Call) and ast.unparse(node.func) == "number")
            return p, "int" if numbered else None
        value = node.value if isinstance(node, ast.Constant) else None
        kind = {bool: "bool", int: "int", float: "float"}.get(type(value), "Tensor?" if value is None else "Scalar")
        return Param(f"arg{at}", kind, default), None

    @property
    def layer(self) -> bool:
        """Whether it is one of networks' layers, whose first argument has torch's own name in ATen, too."""
        names = {p.name for p in self.rec.params}
        return self.rec.module.rpartition(".")[0].endswith("networks") and bool(names & _OF_LAYERS) and "target" not in names

    def type(self, p: Param) -> str:
        """The type of a parameter."""
        base, optional = p.type.removesuffix("?"), "?" * (p.type.endswith("?") or p.default == "None")
        if base == "Any":
            return _OF_OPTIONS.get(p.name, ("str" if (p.default or "")[:1] in "'\"" and p.default else "Scalar") + optional)
        if base == "Operand":
            return self.operand if p is operand_of(self.rec) else "Tensor"
        if p.name == "reduction" and base == "str":
            return "int"
        if base == "int[]":
            symbol = "SymInt" if p.name in _SIZES else "int"
            rank = re.search(r"([123])d(?:_|$)", self.name)
            if p.name in ("dim", "dims") and optional:
                return f"{symbol}[1]?"
            return symbol + (f"[{rank[1]}]" if rank else "[]") + optional
        if base == "int" and p.name in _SIZES:
            base = "SymInt"
        return _TYPES.get(base, base) + optional

    def tags(self) -> list[object]:
        """What torch says of it, as far as records know."""
        rec, change = self.rec, self.change
        found = [Tag.inplace] * (change == "_") + [Tag.out] * (change == "out")
        found += [Tag.data_dependent_output] * any([t == "Any" for t, _ in rec.returns])
        found += [Tag.dynamic_output_shape] * (rec.field("meta") is data_dependent)
        found += [Tag.pointwise] * (rec.elementwise and rec.family not in ("view", "view?"))
        return sorted([*found, Tag.pt2_compliant_tag])

    def __str__(self) -> str:
        rec, change = self.rec, self.change
        views, several = rec.family in ("view", "view?") and not change, rec.returns_list
        parts: list[str] = []
        for i, (p, kind) in enumerate(self.params()):
            if p.keyword_only and "*" not in parts:
                parts.append("*")
            kind = kind or self.type(p)
            if not i and kind.startswith("Tensor"):
                alias = "(a!)" if change == "_" or rec.name.endswith("_") else "(a -> *)" if views and several else "(a)" * views
                kind = f"Tensor{alias}{kind[6:]}"
            shown = "self" if not i and p.name == "input" and not self.layer else p.name
            default = "" if p.default is None else "=1" if kind == "int" and p.name == "reduction" else "=None" if p.name == "pin_memory" \
                else "=" + p.default.translate(_AS_SCHEMAS_WRITE)
            if kind.endswith("[]") and default[1:].isdigit():
                default = f"=[{default[1:]}]"
            parts.append(f"{kind} {shown}{default}")
        names = [n for _, n in rec.returns]
        kinds = [t if t in _RETURNED else "Tensor" for t, _ in rec.returns]
        if change == "out":
            kinds = [f"Tensor({chr(ord('a') + i)}!)" for i in range(len(names))]
            parts += [*["*"] * ("*" not in parts), *[f"{k} {n}" for k, n in zip(kinds, ["out"] if len(names) == 1 else names)]]
        elif change == "_" or rec.name.endswith("_"):
            kinds = ["Tensor(a!)"]
        elif views:
            kinds = ["Tensor(a)" + "[]" * several]
        back = kinds[0] if len(kinds) == 1 else "(" + ", ".join([f"{t} {n}" for t, n in zip(kinds, names)]) + ")"
        return f"aten::{self.name}{'.' * bool(self.overload)}{self.overload}({', '.join(parts)}) -> {back}"


def _arguments(call: ast.Call) -> Iterator[tuple[ast.expr, str | None]]:
    """The arguments of a form, and the defaults of those that `but` says them of."""
    for node in call.args:
        said = node.value if isinstance(node, ast.Starred) else None
        if isinstance(said, ast.Call) and isinstance(said.func, ast.Name) and said.func.id == "but":
            values, defaults = [part.elts for part in said.args if isinstance(part, ast.List)]
            yield from [(value, str(eval(ast.unparse(default), {}))) for value, default in zip(values, defaults)]  # such as [0] * 2
        else:
            yield node, None


def operand_of(rec: Record) -> Param | None:
    """The last parameter that takes a tensor or a number, of which there are overloads."""
    return next((p for p in rec.params[:0:-1] if p.type == "Operand"), None)


_FORM = re.compile(r"(\w*)(?:\.(\w+))?(?:\((.*)\))?(?:\[0\])?")


def _texts(code: object) -> Iterator[str]:
    """The texts in a function that may be forms."""
    for constant in code.co_consts if isinstance(code, CodeType) else ():
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _texts(constant)


def _said(rec: Record) -> list[tuple[str, str, str | None]]:
    """(name, overload, arguments) that a record's `aten` and `composite` name; all that they may, where they tell it of the arguments."""
    found = []
    for said in (rec.field("aten"), rec.field("composite")):
        if callable(said):
            cells = [c.cell_contents for c in getattr(said, "__closure__", None) or ()]
            texts = [*_texts(said.__code__), *[c for c in cells if isinstance(c, str)]]
            texts = [t for t in texts if t != said.__doc__ and (t[:1] == "." or "(" in t or t in cells)]
        else:
            texts = [] if said is None else [said]
        for text in texts:
            match = _FORM.fullmatch(text)
            if match is not None:
                bare = match[1] and callable(said) and not match[2] and match[3] is None
                found.append(("", match[1], None) if bare else (match[1], match[2] or "", match[3]))
    return found


def _forms(rec: Record) -> Iterator[Form]:
    """Those of one record."""
    if rec.public is None and not _said(rec):
        return
    prefix = f"{rec.namespace}_" if rec.namespace in ("linalg", "fft", "special") else ""
    own = prefix + (rec.public or rec.name)
    operand = operand_of(rec)
    said = _said(rec)
    if not said or callable(rec.field("aten")) or not any([name in ("", rec.name) for name, *_ in said]):
        said.append(("", "", None))
    partial = any([o.startswith(("dim", "correction")) for _, o, _ in said])
    aliases = [a.replace(".", "_") for a in rec.alias if a.rpartition(".")[0] in ("", "linalg", "fft", "special")]
    for name, overload, given in [*said, *[(a, o, g) for n, o, g in said if n in ("", rec.name) for a in aliases]]:
        name = {"": own, rec.name: own}.get(name, name)
        overload = "" if overload == "default" else overload
        choices = ("Tensor", "Scalar") if operand is not None and overload in ("", "Tensor") and given is None else ("",)
        for choice in choices:
            called, kind = choice or overload, choice or "Tensor"
            first = Form(rec, name, called, given, kind)
            first.whole = not called and given is None and partial
            yield first
            if rec.inplace:
                yield Form(rec, name + "_", called, given, kind, "_")
            if rec.out:
                yield Form(rec, name, "out" if called in ("", "Tensor") else f"{called}_out", given, kind, "out")
            if rec.family in ("view", "view?"):
                copy = Form(rec, name + "_copy", called, given, kind)
                copy.change = "copy"
                yield copy


@cache
def forms() -> dict[str, dict[str, Form]]:
    """ATen's overloads by name, of all records."""
    found: dict[str, dict[str, Form]] = {}
    for rec in RECORDS.values():
        for form in _forms(rec):
            known = found.setdefault(form.name, {})
            if form.overload not in known or form.given is None and "*" in (known[form.overload].given or ""):
                known[form.overload] = form
    return found


@cache
def schema_of(name: str, overload: str) -> FunctionSchema | None:
    """The schema of ATen's operation `name.overload`, "" of the default; None where no record has it."""
    form = _form(name, overload)
    return None if form is None else parse_schema(str(form))


def _form(name: str, overload: str) -> Form | None:
    """The form of an overload; where records do not know it, that of another of its operation, under its name."""
    known = forms().get(name, {})
    if overload in known or not known:
        return known.get(overload)
    found = copy.copy(known.get("") or next(iter(known.values())))
    found.overload = overload
    return found


def _shown_default(value: object) -> str:
    """A default as schemas write it, "" of what they have no word for."""
    if isinstance(value, str):
        return f'"{value}"'
    return "[]" if value == () else str(value) if value is None or isinstance(value, (bool, int, float)) else ""


def _of_function(overload: OpOverload) -> FunctionSchema:
    """The schema of an operation that is in ATen alone, or that is shown as no record says it is, from what carries it out."""
    parameters: list[inspect.Parameter] = []
    for function in (overload.function, getattr(torch, overload.name_, None)):
        if function is not None:
            parameters = list(inspect.signature(function).parameters.values())
            if not any([p.kind is p.VAR_POSITIONAL for p in parameters]):
                break
    parts: list[str] = []
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        if p.kind is p.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        said = str(p.annotation).removesuffix(" | None")
        kind = _OF_HINTS.get(said) or _OF_OPTIONS.get(p.name) or ("Tensor" if p.default is p.empty and not parts else "Any")
        shown = _shown_default(p.default)
        if shown == "[]":
            kind = f"{'int' if kind == 'Any' else kind.removesuffix('[]')}[]"
        optional = "?" * (p.default is None and kind[-1] != "?")
        parts.append(f"{kind}{optional} {'self' if p.name == 'input' and not parts else p.name}{'=' * bool(shown)}{shown}")
    return parse_schema(f"{overload.name()}({', '.join(parts)}) -> Tensor")


def of_overload(name: str, overload: OpOverload) -> Any:
    """A property of an overload: `_schema`, `tags`, or whether it is `composite`."""
    own = "" if overload.overload == "default" else overload.overload
    form = _form(overload.name_, own)
    if name == "_schema":
        alone = FUNCTIONS.get(overload.name_)
        hinted = alone is not None and alone.__annotations__ and "args" not in alone.__code__.co_varnames
        return (None if hinted else schema_of(overload.name_, own)) or _of_function(overload)
    if name == "tags":
        return [] if form is None else form.tags()
    return form is not None and any([form.rec.field(f) is not None for f in ("function", "composite", "decompose")])


def overloads_of(name: str) -> list[str]:
    """The overloads of an operation that records have."""
    found = list(forms().get(name, {}))
    return [*[o for o in found if o], *["default"] * ("" in found or not found)]


def has_overload(name: str, overload: str) -> bool:
    """Whether an operation has an overload, as far as records tell: all that write to `out`, and any of what no record says more of."""
    known = overloads_of(name)
    return (overload in known or known == ["default"] or "out" in overload
            or any([callable(f.rec.field("aten")) for f in forms()[name].values()]))


def fit_schema(schema: FunctionSchema, args: tuple[object, ...], kwargs: Keywords) -> None:
    """Raises where arguments do not fit a schema."""
    given = {("self" if k == "input" else k): v for k, v in kwargs.items()}
    bound(schema, args, given)


def _jit_get_schemas_for_operator(name: str) -> list[FunctionSchema]:
    """The schemas of all overloads of an operation, by its full name; none where there is none."""
    space, _, own = name.partition("::")
    if space != "aten":
        packet = getattr(namespace(space), own, None)
        return [o._schema for o in (getattr(packet, "own", None) or {}).values()]
    return [s for o in forms().get(own, {}) if (s := schema_of(own, o)) is not None]


def _jit_get_all_schemas() -> list[FunctionSchema]:
    """Those of all operations."""
    return [s for name in forms() for s in _jit_get_schemas_for_operator(f"aten::{name}")]


def _get_schema(name: str, overload: str) -> FunctionSchema:
    """The schema of an operation by its full name.

    Raises:
        RuntimeError: there is none.
    """
    found = next((s for s in _jit_get_schemas_for_operator(name) if s.overload_name == overload), None)
    if found is None:
        raise RuntimeError("Found no matching schema")
    return found
