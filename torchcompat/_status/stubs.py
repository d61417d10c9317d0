"""Type stubs from the records and the functions made of them, for editors and type checkers: the operations that are functions of torch and
methods of its Tensor (`torchcompat/_ops.pyi`, which also says what else torch has at its top), those of `nn.functional`, `linalg`, `fft`
and `special`, and the named tuples of results (`torchcompat/_calls/of_*.pyi`).

`python -m torchcompat stubs -o torchcompat/_ops.pyi` writes those of the package. Tests say when they are out of date.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

import torchcompat as torch
from autograd_tape.annotations import Fn
from autograd_tape.dtypes import DType
from autograd_tape.frontend import OPERATORS, REFLECTED
from autograd_tape.ops import ALIASES
from autograd_tape.record import RECORDS, Param, Record

from .. import _tensor
from .._memory import metadata
from .._tensor import Tensor

_TYPES = {
    "Tensor": "Tensor", "Operand": "Tensor | _Number", "Index": "Tensor", "Mask": "Tensor", "Tensor[]": "Sequence[Tensor]",
    "Scalar": "_Number", "int": "_int", "float": "_float", "bool": "_bool", "str": "_str", "dtype": "_dtype",
}
_OPTIONS = {
    "out": "Any", "dtype": "_dtype | None", "device": "_DeviceLike | None", "layout": "_layout | None", "pin_memory": "_bool | None",
    "requires_grad": "_bool", "generator": "_Generator | None", "memory_format": "_memory_format | None",
}
"""Of what functions take beside a schema's parameters, or what a schema calls `Any`."""
PLACES = ("nn.functional", "linalg", "fft", "special", "cuda", "xpu", "mtia", "mps", "accelerator")
"""The modules that have more than their source shows."""
HEADER = '''"""{}. Generated from the operation records by `python -m torchcompat stubs`."""

from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Sequence
from typing import Any, Literal, overload

from autograd_tape.annotations import DeviceLike as _DeviceLike
from autograd_tape.dtypes import DType as _dtype
from torchcompat._calls import of_return_types as _results
from torchcompat._memory.layout import layout as _layout, memory_format as _memory_format
from torchcompat._tensor import Tensor
from torchcompat.random import Generator as _Generator

_Number = _int | _float | _complex | _bool

'''


def type_of(schema_type: str) -> str:
    """The Python type of a schema type; a name of Python's has an underscore, since torch gives the name to a dtype or a function.

    >>> type_of("int[]?"), type_of("Operand")
    ('_int | Sequence[_int] | None', 'Tensor | _Number')
    """
    base = schema_type.removesuffix("?")
    known = _TYPES.get(base) or ("_int | Sequence[_int]" if base.startswith("int[") else f"Sequence[{_TYPES.get(base[:-2], 'Any')}]"
                                 if base.endswith("[]") else "Any")
    return known + " | None" * (base != schema_type and known != "Any")


def returns(rec: Record) -> str:
    """The type of the result: of several, the named tuple, but that of a composition without `out=` is a plain one."""
    if rec.returns_list:
        return "tuple[Tensor, ...]"
    if len(rec.returns) > 1 and rec.field("function") is not None and not rec.out:
        return f"tuple[{', '.join(['Tensor'] * len(rec.returns))}]"
    return "Tensor" if len(rec.returns) == 1 else f"_results.{rec.name.removesuffix('_along')}"


def _given(schema_type: str) -> str:
    """The type of a result that a record's `gives` says."""
    if schema_type.startswith("("):
        return f"tuple[{schema_type[1:-1]}]"
    return "tuple[Tensor, ...]" if schema_type == "Tensor[]" else type_of(schema_type)


def _taken(p: inspect.Parameter, rec: Record) -> str:
    """The type of a parameter of a function."""
    words = rec.field("words") or {}
    said: Param | None = next((q for q in rec.params if p.name in (q.name, words.get(q.name))), None)
    found = type_of(said.type) if said is not None else "Any"
    found = _OPTIONS.get(p.name, "Any") if found == "Any" else found
    return found + " | None" * (p.default is None and found != "Any" and "None" not in found)


def _parameters(function: Fn, rec: Record, method: bool, named: str = "", flags: Mapping[str, str] | None = None) -> str:
    """A parameter list. `named` is a parameter that functions take as several arguments, here as one; `flags` have types of their own."""
    parts: list[str] = []
    star = False
    for i, p in enumerate(inspect.signature(function).parameters.values()):
        if p.kind is p.VAR_KEYWORD:
            continue
        if method and i == 0:
            parts.append("self")
            continue
        if p.kind is p.VAR_POSITIONAL and p.name != named:
            parts.append(f"*{p.name}: " + ("Tensor" if _type_named(rec, p.name) == "Tensor[]" else
                                           "_int" if _type_named(rec, p.name).startswith("int[]") else "Any"))
            star = True
            continue
        if flags and p.name in flags:
            needed = flags[p.name] != "Literal[False]"
            parts += ["*"] * (needed and not star) + [f"{p.name}: {flags[p.name]}" + " = ..." * (not needed)]
            star = star or needed
            continue
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        if p.name == named:
            parts.append(f"{named}: {'Sequence[Tensor]' if _type_named(rec, named) == 'Tensor[]' else 'Sequence[_int]'}")
        else:
            first = i == 0 and type_of(rec.params[0].type) == "Tensor"
            parts.append(f"{p.name}: {'Tensor' if first else _taken(p, rec)}" + (" = ..." if p.default is not p.empty else ""))
    return ", ".join(parts)


def _type_named(rec: Record, name: str) -> str:
    return next((p.type for p in rec.params if p.name == name), "Any")


def stubs_of(name: str, function: Fn, rec: Record, *, method: bool = False) -> list[str]:
    """The stubs of the function of a record, several where it is called in several ways."""
    gives = rec.field("gives") or {}
    result = "Tensor" if name.endswith("_") and rec.inplace else _given(gives) if isinstance(gives, str) else returns(rec)
    several = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.VAR_POSITIONAL]
    forms = [(_parameters(function, rec, method), result)]
    along = RECORDS.get(f"{name}_along")
    if along is not None and along.field("overloads"):
        first = "self" if method else "input: Tensor"
        two = any(["Tensor other" in s for s in along.field("overloads") or ()])
        forms = [(f"{first}{more}, *, out: Any = ...", given) for more, given in (
            (", dim: _int, keepdim: _bool = ...", returns(along)), ("", "Tensor"), *((", other: Tensor", "Tensor"),) * two)]
    elif several and _type_named(rec, several[0]) != "Any":
        forms.append((_parameters(function, rec, method, named=several[0]), result))
        forms += [("self, dtype: _dtype", "Tensor")] * ("dtype" in (rec.field("keywords") or {}))
    elif gives and isinstance(gives, dict):
        forms = [(_parameters(function, rec, method, flags={flag: kind for flag in gives}), given) for kind, given in (
            ("Literal[False]", result), ("Literal[True]", _given(*gives.values())), ("_bool", "Any"))]
    return ["@overload\n" * (len(forms) > 1) + f"def {name}({parameters}) -> {given}: ..." for parameters, given in forms]


def _wrapped(stub: str, margin: str = "") -> str:
    """A definition, broken after commas where it is too long for a line."""
    lines = []
    for line in stub.split("\n"):
        whole = line.replace(" ", "\xa0").replace(",\xa0", ", ")  # only the spaces after commas may break
        lines += textwrap.wrap(whole, 140, initial_indent=margin, subsequent_indent=margin + "        ", break_on_hyphens=False)
    return "\n".join(lines).replace("\xa0", " ")


def _operators() -> Iterator[str]:
    """The operators, which take numbers and tensors."""
    yield "def __getitem__(self, index: Any) -> Tensor: ..."
    yield "def __setitem__(self, index: Any, value: Any) -> None: ..."
    for name in (*OPERATORS, *REFLECTED, "__rtruediv__"):
        if name in ("__eq__", "__ne__"):
            yield f"def {name}(self, other: object) -> Tensor: ...  # type: ignore[override]  # comparison makes tensors"
        elif name not in ("__getitem__", "__setitem__"):
            other = "" if name in ("__neg__", "__abs__", "__pos__", "__invert__") else ", other: Any"
            yield f"def {name}(self{other}) -> Tensor: ..."


def _methods() -> Iterator[str]:
    """Those of the Tensor that are operations, and then whatever else the class was given that its source does not show."""
    known = _defined(_file(_tensor), "Tensor") | _defined(_file(metadata), "Metadata")
    for name, rec in _named(Tensor.__dict__, ""):
        if name not in known:
            yield from stubs_of(name, getattr(Tensor, name), rec, method=True)
            known.add(name)
    for name in sorted(vars(Tensor).keys() - known - {*OPERATORS, *REFLECTED}):
        if not name.startswith("_") and inspect.isfunction(getattr(Tensor, name)):
            made = "Tensor" if name.endswith("_") else _result_of(getattr(Tensor, name))
            yield f"def {name}(self{_shown(getattr(Tensor, name))}) -> {made}: ..."


def _result_of(function: Fn) -> str:
    """The type of the result of a function without a record."""
    said = str(inspect.signature(function).return_annotation).replace("inspect._empty", "Any")
    return said if said in ("Any", "None", "Tensor") else "_" + said if said in ("int", "bool", "str") else "Any"


def _shown(function: Fn, first: int = 1) -> str:
    """The parameters of a function without a record, from the one of that number on."""
    parts: list[str] = []
    for p in list(inspect.signature(function).parameters.values())[first:]:
        mark = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        parts += ["*"] * (p.kind is p.KEYWORD_ONLY and not any([part.startswith("*") for part in parts]))
        parts.append(f"{mark}{p.name}: {_OPTIONS.get(p.name, 'Any')}" + " = ..." * (p.default is not p.empty))
    return "".join([f", {part}" for part in parts])


def _named(names: Iterable[str], place: str) -> Iterator[tuple[str, Record]]:
    """(name, record) of what of `names` is an operation at a place."""
    for name in sorted(names):
        for wanted in (name, name[:-1]) if name.endswith("_") else (name,):
            rec = RECORDS.get(ALIASES.get(f"{place}.{wanted}".strip("."), wanted))
            if rec is not None:
                yield name, rec
                break


def _file(module: ModuleType) -> Path:
    return Path(inspect.getfile(module))


def _defined(path: Path, cls: str = "") -> set[str]:
    """What the source of a module, or of a class in it, shows to be there."""
    body = ast.parse(path.read_text()).body
    if cls:
        body = next((node.body for node in body if isinstance(node, ast.ClassDef) and node.name == cls), [])
    found = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {part.id for target in targets for part in ast.walk(target)
                      if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return found


def _functions(place: str) -> Iterator[str]:
    """Those of a module that are operations, or are made of a table, and that its source does not define; the same of classes."""
    module = import_module(f"torchcompat.{place}".strip("."))
    own = _defined(_file(module))
    for name, value in sorted(vars(module).items()) if place in PLACES[4:] else ():
        home = getattr(value, "__module__", "").replace("torch.", "torchcompat.", 1)
        if name.startswith("_") or name in own or not callable(value) or not home.startswith(module.__name__) or name in _defined(
                _file(import_module(home))):
            continue
        if isinstance(value, type):
            methods = ["__call__", *[m for m in dir(value) if not m.startswith("_") and callable(getattr(value, m))]]
            yield f"class {name}:\n" + "\n".join([f"    def {m}(self, *args: Any, **kwargs: Any) -> Any: ..." for m in methods])
        else:
            yield f"def {name}({_shown(value, 0)[2:]}) -> {_result_of(value)}: ..."
    for name, rec in _named(set(dir(module)) | {f"{name}_" for name in dir(module)}, place):
        if name not in own and inspect.isfunction(function := getattr(module, name, None)):
            yield from stubs_of(name, function, rec)


def _results() -> Iterator[str]:
    """The named tuples."""
    for name in sorted({rec.name.removesuffix("_along") for rec in RECORDS.values() if len(rec.returns) > 1}):
        rec = RECORDS.get(f"{name}_along") or RECORDS[name]
        for end in ("", "_out") if rec.out else ("",):
            yield f"class {name}{end}(NamedTuple):\n" + "\n".join([f"    {field}: Tensor" for _, field in rec.returns])


def _exports(operations: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What torch has at its top beside its operations, and the statement that imports it from where it is."""
    path = _file(torch)
    there = _defined(path) | {*operations}
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.col_offset in (0, 4) and node.module not in ("typing", "__future__", "_ops"):
            home = "torchcompat" * node.level + "." * bool(node.level and node.module) + (node.module or "")
            names = [(name.name, name.asname or name.name) for name in node.names]
            if names == [("*", "*")]:
                names = [(name, name) for name in _defined(_file(import_module(home)))]
            # checkers take an import for private where it renames
            for name, own in [(name, own) for name, own in names if not own.startswith("_") and own in vars(torch)]:
                renamed = f"{own}: _dtype" if isinstance(getattr(torch, own), DType) else (
                    f"from {home} import {name} as _torch_{own}\n{own} = _torch_{own}")
                found[own] = f"from {home} import {name} as {own}" if name == own else renamed
    for name, home in torch._LAZY.items():
        homes = [f"torchcompat.{home}", getattr(getattr(torch, name), "__module__", None) or ""]
        homes[1] = re.sub(r"^torch\b", "torchcompat", homes[1])
        homes += sorted([module for module in sys.modules if module.startswith(f"{homes[0]}.")])  # what a package is made of
        shown = [module for module in homes if module in sys.modules and name in _defined(_file(sys.modules[module]))]
        found[name] = (f"from {shown[0]} import {name} as {name}" if shown else
                       f"def {name}({_shown(getattr(torch, name), 0)[2:]}) -> {_result_of(getattr(torch, name))}: ...")
    found |= {m.name: f"from torchcompat import {m.name} as {m.name}" for m in pkgutil.iter_modules(torch.__path__)}
    for name in (vars(torch).keys() & set(dir(torch))) - there - found.keys() - {"annotations", "TYPE_CHECKING"}:
        bases = [cls.__name__ for cls in getattr(vars(torch)[name], "__mro__", ()) if cls.__name__ in found]
        found[name] = f"{name}: type[{bases[0]}]" if bases else f"{name}: Any"
    yield from [(name, line if "import" in line else _wrapped(line)) for name, line in sorted(found.items())
                if name not in there and (name in torch._LAZY or not name.startswith("_"))]


def render() -> dict[str, str]:
    """The stub files, by their paths from the package."""
    functions = list(_functions(""))
    methods = [_wrapped(m, "    ") for m in (*_methods(), *_operators())]
    header = HEADER.format("What is at torch's top, and the methods of its tensors").replace("import Tensor", "import Tensor as Tensor")
    names = {stub.partition("(")[0].rpartition(" ")[2] for stub in functions}
    exports = dict(_exports(names))
    shown = _wrapped(f"__all__ = [{', '.join(map(repr, sorted(names | exports.keys())))}]")
    files = {"_ops.pyi": header + shown + "\n\n" + "\n".join([*exports.values(), ""])
             + "\n".join(map(_wrapped, functions)) + "\n\nclass TensorMethods:\n" + "\n".join(methods) + "\n",
             "_calls/of_return_types.pyi": HEADER.format("The named tuples of results").partition("\n")[0] + (
                 "\n\nfrom typing import NamedTuple\n\nfrom torchcompat._tensor import Tensor\n\n" + "\n".join(_results()) + "\n")}
    for place in PLACES:
        files[f"_calls/of_{place.rpartition('.')[2]}.pyi"] = (
            HEADER.format(f"The operations of torch.{place}") + "\n".join(map(_wrapped, _functions(place))) + "\n")
    return files


def path() -> Path:
    """Where the first of the stub files belongs."""
    return Path(__file__).parents[1] / "_ops.pyi"


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m torchcompat stubs", description="the operations' type stubs, as the records are")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help="where to write them, those of submodules into the folder _calls beside it; printed without it")
    parser.add_argument("--check", action="store_true", help="only say whether those that lie in the package are up to date")
    options = parser.parse_args(arguments)
    files = render()
    if options.check:
        old = [name for name, text in files.items() if not (target := path().parent / name).exists() or target.read_text() != text]
        print(f"{', '.join(old)} out of date; run python -m torchcompat stubs -o {path()}" if old else "up to date")
        return 1 if old else 0
    if options.output is None:
        sys.stdout.write("\n".join(files.values()))
        return 0
    for name, text in files.items():
        target = options.output if name == "_ops.pyi" else options.output.parent / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    print(f"wrote {options.output} and {len(files) - 1} more: {sum([text.count('def ') for text in files.values()])} definitions")
    return 0
