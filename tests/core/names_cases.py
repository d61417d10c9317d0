"""The public names of torch's modules, and what parameters they take: recorded for `python -m torchcompat status`.

A module's names are its `__all__`; where it has none, what its source defines, what its own modules gave it, and native functions.
Of classes also the methods of their own, and of tensors all attributes. Parameters of what is written in Python are those of its
signature; of native functions those of all overloads in the type stubs that torch ships, or else in ATen's schemas.
"""

from __future__ import annotations

import ast
import gzip
import inspect
import json
import pkgutil
import types
import warnings
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.recording import FIXTURES, Recording

FILE = "../../torchcompat/_status/torch_names.json.gz"
"""It ships with the package, whose command reads it."""
MARKS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def modules(torch: Any) -> dict[str, types.ModuleType]:
    """Public modules that can be imported, by their names after `torch.`."""
    found = {"": torch}
    for module in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        if not any(part.startswith("_") for part in module.name.split(".")):
            try:
                found[module.name[6:]] = import_module(module.name)
            except (ImportError, AssertionError, RuntimeError):  # what this system lacks: torch alone knows which libraries
                continue
    for path, name in ((path, name) for path, home in list(found.items()) for name in dir(home)):
        made = getattr(found[path], name)
        if isinstance(made, types.ModuleType) and not name.startswith("_") and made.__name__ == f"torch.{path}.{name}".replace("..", "."):
            found.setdefault(made.__name__[6:], made)
    return dict(sorted(found.items()))


def defined(module: types.ModuleType) -> set[str]:
    """The names that a module's source gives something."""
    file = getattr(module, "__file__", None) or ""
    names: set[str] = set()
    for node in ast.parse(Path(file).read_text()).body if file.endswith(".py") and Path(file).is_absolute() else ():
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return names


def public(path: str, module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """The names of a module and what they stand for."""
    listed = set(vars(module).get("__all__", ()))
    own = set() if listed and path else defined(module)
    home = f"torch.{path}".rstrip(".")
    for name in sorted(listed | set(dir(module))):
        value = getattr(module, name, None)
        if name.startswith("_") or isinstance(value, (types.ModuleType, type(Iterator))) or isinstance(value, type(annotations)):
            continue
        origin = getattr(value, "__module__", None) or ""
        given = origin == home or origin.startswith(f"{home}.") or isinstance(value, types.BuiltinFunctionType) and origin != "builtins"
        if name in listed or not (listed and path) and (name in own or given):
            yield name, value


def parameters(signature: inspect.Signature) -> str:
    """The names of parameters; "=" after those that may be left out, "*" before those that take the rest.

    >>> parameters(inspect.signature(lambda a, b=1, *c, d, **e: None))
    'a b= *c d **e'
    """
    told, keywords = [], False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not keywords:
            told += [] if any(word.startswith("*") for word in told) else ["*"]
            keywords = True
        told.append(MARKS.get(p.kind, "") + p.name + ("" if p.default is p.empty else "="))
    return " ".join(told)


def refused(torch: Any, function: Any, overload: str) -> set[str]:
    """The keywords that a native function does not know, whatever the stubs say: asked with arguments that none can be."""
    words = {word.rstrip("=") for word in overload.split() if not word.startswith("*")} - {"self"}
    found = set()
    for word in words:
        try:
            function(*[torch.ones(1)] * overload.startswith("self"), **{word: object()})
        except (TypeError, RuntimeError, ValueError) as error:
            if "takes no keyword arguments" in str(error):
                return words
            if f"unexpected keyword argument '{word}'" in str(error):
                found.add(word)
    return found


def said(overload: str, without: set[str]) -> str:
    """An overload without keywords: by position alone what has no default."""
    return " ".join([word for word in overload.split() if word.rstrip("=") not in without])


def stubs(torch: Any) -> dict[str, dict[str, list[str]]]:
    """From "function", "Tensor", "nn" and names to the overloads in the stubs that torch ships."""
    found: dict[str, dict[str, list[str]]] = {kind: defaultdict(list) for kind in ("function", "Tensor", "nn")}
    folder = Path(torch.__file__).parent / "_C"
    trees = {kind: ast.parse((folder / file).read_text()).body for kind, file in
             (("function", "_VariableFunctions.pyi"), ("Tensor", "__init__.pyi"), ("nn", "_nn.pyi"))}
    trees["Tensor"] = next(node for node in trees["Tensor"] if isinstance(node, ast.ClassDef) and node.name == "TensorBase").body
    for kind, body in trees.items():
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found[kind][node.name].append(overload(node.args, kind == "function"))
    return found


def overload(args: ast.arguments, function: bool) -> str:
    """The same as `parameters`, of a function's source. Deprecated overloads of functions call the first operand as methods do."""
    plain = [*args.posonlyargs, *args.args]
    needed = len(plain) - len(args.defaults)
    told = [("input" if function and p.arg == "self" else p.arg) + "=" * (i >= needed) for i, p in enumerate(plain)]
    told += [f"*{args.vararg.arg}"] if args.vararg else ["*"] * bool(args.kwonlyargs)
    told += [p.arg + "=" * (default is not None) for p, default in zip(args.kwonlyargs, args.kw_defaults)]
    return " ".join(told + ([f"**{args.kwarg.arg}"] if args.kwarg else []))


def schemas(torch: Any) -> dict[str, list[str]]:
    """From names of ATen to the overloads, `out=` among the keywords."""
    found: dict[str, list[str]] = defaultdict(list)
    everything = [schema for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("aten::")]
    into = [schema for schema in everything
            if any(a.kwarg_only and a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)]
    with_out = {schema.name for schema in into}
    for schema in everything:
        if schema in into or "Dimname" in str(schema):
            continue
        plain = [f"{'input' if a.name == 'self' else a.name}{'=' * a.has_default_value()}" for a in schema.arguments if not a.kwarg_only]
        words = [f"{a.name}{'=' * a.has_default_value()}" for a in schema.arguments if a.kwarg_only]
        words += ["out="] * (schema.name in with_out) + ["requires_grad="] * ("pin_memory=" in words)
        found[schema.name[6:]].append(" ".join(plain + ["*"] * bool(words) + words))
    return found


def record(torch: Any) -> None:
    """Writes, for each module and name, the overloads; None for what cannot be called, or does not say."""
    native, aten = stubs(torch), schemas(torch)

    def taken(path: str, name: str, value: Any) -> list[str] | None:
        kind = {"": "function", "Tensor": "Tensor", "nn.functional": "nn"}.get(path)
        if not isinstance(value, (types.FunctionType, type)) and callable(value) and (kind or path.islower()):
            found = native[kind].get(name) if kind else None
            found = found or aten.get(f"{path}_{name}" if path else name) or native["function"].get(name)
            if found:
                return [said(overload, refused(torch, value, overload)) for overload in dict.fromkeys(found)]
        try:
            return [parameters(inspect.signature(value))] if callable(value) else None
        except (TypeError, ValueError):
            return None

    def home(cls: type, path: str) -> bool:
        place = f"{cls.__module__}."
        return place.startswith("torch.") and (place == "torch.") == (not path) and place.startswith(f"torch.{path}".rstrip(".") + ".")

    def methods(cls: type) -> Iterator[tuple[str, Any]]:
        for name in sorted({n for base in cls.__mro__[:-1] for n in vars(base)} if cls is torch.Tensor else vars(cls)):
            value = getattr(cls, name, None)
            if not name.startswith("_") and (callable(value) and not isinstance(value, cls) or cls is torch.Tensor):
                yield name, value

    names: dict[str, dict[str, list[str] | None]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path, module in modules(torch).items():
            names[path] = {}
            for name, value in public(path, module):
                names[path][name] = taken(path, name, value)
                if type(value) is not type(torch.FloatTensor) and isinstance(value, type) and path != "return_types" and home(value, path):
                    for method, function in methods(value):
                        names[path][f"{name}.{method}"] = taken(name, method, function)
    text = json.dumps(names, separators=(",", ":")).encode()
    (FIXTURES / FILE).write_bytes(gzip.compress(text, 9, mtime=0))


NAMES = Recording("torch_names", FILE, record)
