"""Type stubs from the records: the functions of `torchcompat` and the methods of its Tensor, for editors and type checkers.

`python -m torchcompat stubs -o torchcompat/_ops.pyi` writes those of the package. Tests say when they are out of date.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
from pathlib import Path
from collections.abc import Sequence

from ..frontend import OPERATORS, REFLECTED
from ..record import RECORDS, Record

_TYPES = {
    "Tensor": "Tensor", "Operand": "Tensor | Number", "Index": "Tensor", "Mask": "Tensor", "Tensor[]": "Sequence[Tensor]",
    "Scalar": "Number",
    "int": "int", "float": "float", "bool": "bool", "str": "str", "dtype": "dtype", "Generator": "Any", "device": "Any", "Any": "Any",
    "memory_format": "Any",
}
HEADER = '''"""The operations' functions and methods. Generated from the operation records by `python -m torchcompat stubs`."""

import builtins
from collections.abc import Sequence
from typing import Any

from autograd_tape.dtypes import DType as dtype
from ._tensor import Tensor

Number = int | float | builtins.complex | bool
inf: float

'''


def type_of(schema_type: str) -> str:
    """The Python type of a schema type.

    >>> type_of("int[]?"), type_of("Operand")
    ('int | Sequence[int] | None', 'Tensor | Number')
    """
    optional = schema_type.endswith("?")
    base = schema_type.removesuffix("?")
    known = _TYPES.get(base) or ("int | Sequence[int]" if base.startswith("int[") else f"Sequence[{base[:-2]}]" if base.endswith("[]")
                                 else "Any")
    return known + (" | None" if optional else "")


def returns(rec: Record) -> str:
    """The type of the result."""
    if rec.returns_list:
        return "tuple[Tensor, ...]"
    return "Tensor" if len(rec.returns) == 1 else f"tuple[{', '.join('Tensor' for _ in rec.returns)}]"


def signature(rec: Record, *, method: bool, inplace: bool = False) -> str:
    """One stub."""
    parts, star = [], False
    for i, p in enumerate(rec.params):
        if p.keyword_only and not star:
            parts.append("*")
            star = True
        name = "self" if method and i == 0 else p.name
        annotation = "" if name == "self" else ": " + (type_of(p.type) if p.default != "None" or p.type.endswith("?")
                                                       else type_of(p.type) + " | None")
        if method and p.name == rec.varargs:
            parts.append(f"*{p.name}: Any")
            star = True
            continue
        parts.append(name + annotation + ("" if p.default is None else f" = {p.default}"))
    if rec.out and not method and not inplace and rec.family != "view":
        parts += ([] if star else ["*"]) + ["out: Any = None"]
    name = rec.name + ("_" if inplace else "")
    return f"def {name}({', '.join(parts)}) -> {'Tensor' if inplace else returns(rec)}: ..."


def _wrapped(line: str, margin: str = "") -> str:
    """A definition, broken after commas where it is too long for a line."""
    whole = line.replace(" ", "\xa0").replace(",\xa0", ", ")  # only the spaces after commas may break
    broken = textwrap.wrap(whole, 140, initial_indent=margin, subsequent_indent=margin + "        ", break_on_hyphens=False)
    return "\n".join(broken).replace("\xa0", " ")


def _irregular(rec: Record, method: bool) -> str:
    function = rec.field("function")
    if function is None:
        return f"def {rec.name}({'self, ' if method else ''}*args: Any, **kwargs: Any) -> Any: ..."
    parts, star = [], False
    for i, p in enumerate(list(inspect.signature(function).parameters.values())[1:]):
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        mark = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        star = star or p.kind is p.VAR_POSITIONAL
        parts.append("self" if method and i == 0 else f"{mark}{p.name}: Any" + ("" if p.default is p.empty else " = ..."))
    return f"def {rec.name}({', '.join(parts)}) -> Any: ..."


def _operators() -> list[str]:
    """The operators, which take whatever the operation behind them takes."""
    found = ["def __getitem__(self, index: Any) -> Tensor: ...", "def __setitem__(self, index: Any, value: Any) -> None: ..."]
    for name in (*OPERATORS, *REFLECTED, "__rtruediv__"):
        if name not in ("__getitem__", "__setitem__"):
            other = "" if name in ("__neg__", "__abs__", "__pos__", "__invert__") else ", other: Any"
            reason = "  # type: ignore[override]  # comparison makes tensors" if name in ("__eq__", "__ne__") else ""
            found.append(f"def {name}(self{other}) -> Tensor: ...{reason}")
    return found


def render() -> str:
    """The whole stub file."""
    functions, methods = [], []
    for name in sorted(RECORDS):
        rec = RECORDS[name]
        irregular = rec.field("function") is not None or rec.field("make") is not None
        if rec.namespace == "":
            functions.append(_irregular(rec, False) if irregular else signature(rec, method=False))
        if rec.method:
            methods.append(_irregular(rec, True) if irregular else signature(rec, method=True))
        if rec.inplace_method:
            methods.append(signature(rec, method=True, inplace=True))
        for alias in rec.alias:
            if "." not in alias:
                functions += [f"{alias} = {rec.name}"] if rec.namespace == "" else []
                methods += [f"{alias} = {rec.name}"] if rec.method else []
    own = [_wrapped(m, "    ") for m in methods + _operators()]
    return HEADER + "\n".join(map(_wrapped, functions)) + "\n\nclass TensorMethods:\n" + "\n".join(own) + "\n"


def path() -> Path:
    """Where the stub file belongs."""
    return Path(__file__).parents[2] / "torchcompat" / "_ops.pyi"


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m torchcompat stubs", description="the operations' type stubs, as the records are")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to write them; printed without it")
    parser.add_argument("--check", action="store_true", help="only say whether those that lie beside the package are up to date")
    options = parser.parse_args(arguments)
    text = render()
    if options.check:
        target = path()
        current = target.exists() and target.read_text() == text
        print("up to date" if current else f"{target.name} is out of date; run python -m torchcompat stubs -o {target}")
        return 0 if current else 1
    if options.output is None:
        sys.stdout.write(text)
        return 0
    options.output.write_text(text)
    print(f"wrote {options.output}: {text.count('def ')} definitions")
    return 0
