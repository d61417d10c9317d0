"""The layers of both packages: no module imports one of a layer above its own, and none import each other in a circle.

The graph is drawn from the source: imports inside functions count, those for type checking alone do not. A name that a package shows of
one of its modules (`from .ops import RECORDS`) counts as imported from the module that defines it, so that a package's face is no
way around the table in `specs/layers.md`.
"""

from __future__ import annotations

import ast
import inspect
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from tests import sources

import autograd_tape as at
import torchcompat.func  # noqa: F401  # whose package names what it imports later
from autograd_tape import TensorRef
from torchcompat._calls.above import Above, above

ROOT = Path(__file__).parents[2]
PACKAGES = ("autograd_tape", "torchcompat")


def modules_of(package: str, root: Path = ROOT) -> dict[str, Path]:
    """From a module's name to its file."""
    names = {path: ".".join(path.relative_to(root).with_suffix("").parts) for path in (root / package).rglob("*.py")}
    return {name.removesuffix(".__init__"): path for path, name in names.items()}


def imports_in(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that are carried out, wherever they stand."""
    test = node.test if isinstance(node, ast.If) else None
    checking = getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"
    for part in ("orelse",) if checking else ("body", "handlers", "orelse", "finalbody", "cases"):
        for inner in getattr(node, part, ()):
            if isinstance(inner, (ast.Import, ast.ImportFrom)):
                yield inner
            else:
                yield from imports_in(inner)


class Graph:
    """Which module of a package imports which."""

    def __init__(self, modules: dict[str, Path]) -> None:
        self.modules = modules
        with sources.kept():
            self.trees = {name: ast.parse(path.read_text()) for name, path in modules.items()}
            self.arrows = {name: set(self.imported(name)) - {name} for name in modules}

    def base(self, module: str, node: ast.ImportFrom) -> str:
        """The module, or package, that a statement imports from."""
        if not node.level:
            return node.module or ""
        package = module if self.modules[module].name == "__init__.py" else module.rpartition(".")[0]
        parts = package.split(".")[:len(package.split(".")) - node.level + 1]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def imported(self, module: str) -> Iterator[str]:
        """What a module imports, and what it reaches as attributes of a package that it imports: `torch.nn.Parameter`."""
        packages = {}
        for node in imports_in(self.trees[module]):
            if isinstance(node, ast.Import):
                for name in node.names:
                    if name.name in self.modules:
                        packages[name.asname or name.name] = name.name
                        yield name.name
            else:
                base = self.base(module, node)
                for name in node.names:
                    found = self.definer(base, name.name)
                    if found is not None:
                        yield found
        for attribute in ast.walk(self.trees[module]) if packages else ():
            steps = []
            while isinstance(attribute, ast.Attribute):
                steps.insert(0, attribute.attr)
                attribute = attribute.value
            found = packages.get(attribute.id) if isinstance(attribute, ast.Name) else None
            for step in steps:
                found = found and self.definer(found, step)
            if found is not None:
                yield found

    def definer(self, base: str, name: str) -> str | None:
        """The module that `from base import name` leads to, through the faces of packages."""
        if f"{base}.{name}" in self.modules:
            return f"{base}.{name}"
        if base in self.modules and self.modules[base].name == "__init__.py":
            for node in self.trees[base].body:
                if isinstance(node, ast.ImportFrom) and any((a.asname or a.name) == name for a in node.names):
                    return self.definer(self.base(base, node), next(a.name for a in node.names if (a.asname or a.name) == name))
            later = getattr(sys.modules.get(base), "_LAZY", {}).get(name)
            if later is not None:
                return f"{base}.{later}"
        return base if base in self.modules else None

    def circles(self) -> list[list[str]]:
        """Sets of modules that lead to each other."""
        reached = {name: self.behind(name) for name in self.arrows}
        found = {frozenset([name, *[other for other in reached[name] if name in reached[other]]]) for name in self.arrows
                 if name in reached[name]}
        return [sorted(circle) for circle in found]

    def behind(self, module: str) -> set[str]:
        """All that a module leads to."""
        seen: set[str] = set()
        stack = [*self.arrows[module]]
        while stack:
            name = stack.pop()
            if name not in seen:
                seen.add(name)
                stack += self.arrows[name]
        return seen


@cache
def graph() -> Graph:
    """That of both packages: the tape lies below all of torchcompat."""
    return Graph({name: path for package in PACKAGES for name, path in modules_of(package).items()})


@cache
def layers() -> list[list[str]]:
    """The rows of the tables: patterns of names; `__init__` is the package itself."""
    rows: list[list[str]] = []
    for package in PACKAGES:
        table = (ROOT / "specs/layers.md").read_text().split(f"| modules of `{package}` |")[1].split("\n\n")[0]
        rows += [[f"{package}.{pattern}".removesuffix(".__init__") for pattern in re.findall(r"`([\w.*]+)`", row)]
                 for row in re.findall(r"(?m)^\| \d+ \|[^|]*\|([^|]*)\|$", table)]
    return rows


@cache
def layer_of(module: str) -> int:
    """The number of a module's row; -1 where there is none."""
    return next((i for i, row in enumerate(layers()) if any(fnmatchcase(module, pattern) for pattern in row)), -1)


def test_every_module_has_a_layer() -> None:
    assert len(layers()) > 20
    assert not [name for name in graph().modules if layer_of(name) < 0]


def test_every_row_names_modules_that_exist() -> None:
    for row in layers():
        for pattern in row:
            assert any(fnmatchcase(name, pattern) for name in graph().modules), pattern


def test_no_arrow_goes_up() -> None:
    up = [f"{name} -> {other}" for name, others in graph().arrows.items() for other in others if layer_of(other) > layer_of(name)]
    assert not up


def test_no_circles() -> None:
    assert not graph().circles()


@cache
def askers() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """(who asks for it, who puts it there or is announced to have it), of each name that `Above` declares."""
    asked: dict[str, set[str]] = {name: set() for name in Above.__annotations__}
    put: dict[str, set[str]] = {name: set() for name in asked}
    for module, tree in graph().trees.items():
        for node in ast.walk(tree) if module.startswith("torchcompat") else ():
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id.lstrip("_") == "above":
                if node.attr != "later":
                    (put if isinstance(node.ctx, ast.Store) else asked)[node.attr].add(module)
            elif getattr(getattr(node, "func", None), "attr", "") == "later" and ast.unparse(node.func).endswith("above.later"):
                announced, *names = [f"torchcompat.{node.args[0].value}", *[argument.value for argument in node.args[1:]]]
                for name in names:
                    put[name].add(announced)
    return asked, put


@pytest.mark.parametrize("name", Above.__annotations__)
def test_what_is_asked_of_above_is_put_there_by_one_higher_module(name: str) -> None:
    asked, put = askers()[0][name], [*askers()[1][name]]
    assert asked and len(put) == 1
    assert layer_of(put[0]) > max(map(layer_of, asked))
    module, found = import_module(put[0]), getattr(above, name)
    assert found is not None and (found.__module__ != Above.__module__ or callable(getattr(module, name)))


def test_modules_find_what_they_ask_of_above_from_the_start() -> None:
    """What only modules ask that are imported later may come later, too."""
    code = ("import json, sys, torchcompat; from torchcompat._calls.above import Above, above; "
            "print(json.dumps([[name for name in Above.__annotations__ if not hasattr(above, name)], [*sys.modules]]))")
    missing, loaded = json.loads(subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=120, capture_output=True).stdout)
    assert not [name for name in missing if askers()[0][name] & set(loaded)]


def test_the_graph_sees_what_it_should(tmp_path: Path) -> None:
    """Imports inside functions, in `else` of type checking, relative, of modules, through faces and attributes; none for type checking."""
    for name, text in {
        "__init__": "from .a import one", "a": "def one():\n    from .sub import two\n    return two",
        "b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import one\nelse:\n    import pack.c\n",
        "c": "from . import one, b\n", "d": "x = 1\n",
        "sub/__init__": "from .deep import two as two, three\n", "sub/deep": "from .. import c\nfrom ..d import x\n",
        "e": "import pack as p\ndef f():\n    return p.sub.deep.y(p.one, f.d)\n",
    }.items():
        path = tmp_path / "pack" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = Graph(modules_of("pack", tmp_path))
    assert found.arrows == {"pack": {"pack.a"}, "pack.a": {"pack.sub.deep"}, "pack.b": {"pack.c"}, "pack.c": {"pack.a", "pack.b"},
                            "pack.sub": {"pack.sub.deep"}, "pack.sub.deep": {"pack.c", "pack.d"}, "pack.d": set(),
                            "pack.e": {"pack", "pack.sub", "pack.sub.deep", "pack.a"}}
    assert found.circles() == [["pack.a", "pack.b", "pack.c", "pack.sub.deep"]]


@pytest.mark.parametrize("name", ["backward", "grad"])
def test_a_public_module_is_a_module_and_can_be_called(name: str) -> None:
    import autograd_tape.backward as B
    import autograd_tape.grad as G

    module = {"backward": B, "grad": G}[name]
    assert module is sys.modules[f"autograd_tape.{name}"] is getattr(at, name)
    x = TensorRef.of([1.0, 2.0], requires_grad=True)
    y = at.F.sum(x * x)
    found = module(y)[x.id] if name == "backward" else module(y, [x])[0]
    assert found.tolist() == [2.0, 4.0]
    assert pickle.loads(pickle.dumps(module)) is deepcopy(module) is module
    assert "grad_outputs" in inspect.signature(module).parameters


@pytest.mark.parametrize("first", ["autograd_tape.grad", "autograd_tape.backward", "autograd_tape.ops", "autograd_tape.tensor",
                                   "autograd_tape.executors", "autograd_tape.frontend"])
def test_any_module_can_be_imported_first(first: str) -> None:
    code = f"import {first} as M, types, autograd_tape as at; assert isinstance(M, types.ModuleType); assert callable(at.grad), at.grad"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=120).returncode == 0
