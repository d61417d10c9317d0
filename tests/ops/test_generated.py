"""Everything that is written by programs: compiled for both front ends, every executor and every node, and each global name it reads
must be there. What is generated is found by watching the generators, and the generators by reading the packages' sources."""

from __future__ import annotations

import ast
import builtins
import dis
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest
from tests import sources
from tests.sources import codes

import autograd_tape
import torchcompat
from autograd_tape import codegen, modes, trace
from autograd_tape.executors.choose import available_executors, get_executor
from autograd_tape.executors.kernels import _on_demand as kernels
from autograd_tape.executors.kernels._kernel import Kernel
from autograd_tape.calls import Parameter, speller
from autograd_tape.frontend import OPERATORS, Frontend
from autograd_tape.node import TapeEntry, edge_of
from autograd_tape.ops import RECORDS, Record
from autograd_tape.functions import entries as _entries, general as _general, nodes as _nodes
from autograd_tape.straight import straight_back
from autograd_tape.tensor import TensorRef
from torchcompat._calls.frontend import TorchFrontend
from torchcompat._calls import aten as _aten, devices, overridable as _overridable
from torchcompat.fx.experimental import proxy_tensor as _proxies
from torchcompat.sparse import _compressed
from torchcompat.utils import _python_dispatch as _shown

EVALUATED = {("functions/attributes.py", "_computed_getter"), ("functions/attributes.py", "get"), ("record.py", "nodes"),
             ("record.py", "defaults"), ("_calls/aten.py", "_read"), ("_library/schemas.py", "_arguments"), ("unfolded.py", "_named")}
"""Where expressions of records are evaluated; each has a test below, or, as the defaults in schemas, one that compares all it gives."""
ANNOTATIONS = {("_library/infer_schema.py", "annotation"), ("jit/_compiler.py", "named")}
"""Where types are evaluated that somebody wrote in a function of his own: as text, or in the source of what is scripted."""
EXECUTED = {("codegen.py", "execute"), ("executors/kernels/_kernel.py", "compile_it"), ("fx/experimental/rewriter.py", "rewrite"),
            ("_calls/program.py", "_carry_out"), ("package/package_importer.py", "_make")}
"""Where source is executed: by `execute`, whose callers are watched, for shared kernels, a program's own function as it was with calls
for its assertions, the program that is run, and modules of a package that is imported."""
REBUILT = {("fx/_symbolic_trace.py", "_patch_function"), ("fx/experimental/rewriter.py", "rewrite"),
           ("executors/kernels/compiled/random.py", "_here"), ("executors/kernels/compiled/order.py", "_here"),
           ("executors/kernels/compiled/loops.py", "_here"),
           ("executors/kernels/compiled/formulas.py", "kernel_of"), ("executors/kernels/compiled/formulas.py", "_translated"),
           ("functions/faces.py", "face_of")}
"""Where a function is made of code that is there: an operation's under another of its names; a program's own, which takes `*args` as one
parameter while it is traced, or in whose source assertions became calls; those of rejection, selection and losses, which look for
compiled helpers where the kernels are; and formulas, which do so too, with the loop over their numbers."""


def callers(*names: str) -> set[tuple[str, str]]:
    """(file, innermost function) of all calls of plain `names` in both packages; of Python's own, where the file has no such function."""
    found = set()

    def visit(node: ast.AST, path: str, owner: str, names: set[str]) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            owner = node.name
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            found.add((path, owner))
        for child in ast.iter_child_nodes(node):
            visit(child, path, owner, names)

    for folder, path, tree in sources.trees(having="|".join(names)):
        own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and hasattr(builtins, node.name)}
        visit(tree, str(path.relative_to(folder)), "<module>", {*names} - own)
    return found


def unresolved(function: Callable[..., Any]) -> set[str]:
    """The global names that a function, or one made by it, reads and does not find."""
    read = {i.argval for code in codes(function.__code__) for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return {name for name in read if name not in function.__globals__ and not hasattr(builtins, name)}


def parameters(code: CodeType) -> set[str]:
    """Those of a function."""
    return set(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount])


class Watched:
    """What `execute` made: the functions by file name, and who asked for them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, classes: dict[Any, Any]) -> None:
        self.classes = classes  # of nodes, that others have
        self.hidden: set[tuple[str, str]] = set()  # parameters by whose name it also calls something else
        self.made: dict[str, Callable[..., Any]] = {}
        self.callers: set[tuple[str, str]] = set()
        plain = codegen.execute

        def watching(source: str, name: str, filename: str, namespace: dict[str, Any]) -> Any:
            code = sys._getframe(1).f_code
            folder = next(f for f in sources.FOLDERS if code.co_filename.startswith(str(f)))
            self.callers.add((str(Path(code.co_filename).relative_to(folder)), code.co_name))
            known = {*namespace}
            made = plain(source, name, filename, namespace)
            self.made[filename] = made
            self.hidden |= {(filename, name) for c in codes(made.__code__) for name in known & parameters(c)}
            return made

        for module in [m for n, m in sys.modules.items() if n.startswith(("autograd_tape", "torchcompat"))]:
            if getattr(module, "execute", None) is plain:
                monkeypatch.setattr(module, "execute", watching)


def overloads(rec: Record) -> list[Record]:
    """The record, and those of torch's other signatures."""
    found = [rec, *rec.numbers.values(), *[overload for _, overload, _ in rec.nodes]]
    return found if rec.in_place is rec else found + [rec.in_place, *rec.in_place.numbers.values()]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    for package in (autograd_tape, torchcompat):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and ".executors.mindspore" not in module.name:
                importlib.import_module(module.name)
    classes = _nodes._node_classes
    monkeypatch.setattr(_nodes, "_node_classes", {})
    monkeypatch.setattr(_entries, "_entries", {})
    monkeypatch.setattr(TapeEntry, "front_end", TapeEntry.front_end)
    monkeypatch.setattr(modes, "_quiet_sets", [*modes._quiet_sets])
    return Watched(monkeypatch, classes)


def test_every_global_name_of_generated_functions_resolves(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    for frontend in (Frontend(TensorRef, "first"), TorchFrontend(torchcompat.Tensor, "second")):
        for name, rec in RECORDS.items():
            speller([Parameter.of(p) for p in inspect.signature(frontend.function(name)).parameters.values()])
            _general._reader(rec)
            frontend.method(name)
            if _general.half_operand(rec) is not None:
                frontend.half(_general.General(rec, frontend))
            if rec.inplace:
                frontend.function(name + "_")
        for attribute, name in OPERATORS.items():
            frontend.operator(attribute, name)
    for rec in RECORDS.values():
        if rec.has_vjp:
            for overload in overloads(rec):
                _entries.entry_of(overload)
    # What the library's own front end compiles from here on it keeps: a record's nodes are of one class for all of it.
    monkeypatch.setattr(_nodes, "_node_classes", watched.classes)
    for rec in RECORDS.values():
        if rec.field("function") is None and rec.field("make") is None:
            plan = _aten.Plan(_general.General(rec, torchcompat._tensor.frontend))
            for inplace in {False, rec.inplace}:
                _shown._compiled(plan, inplace)
            if rec.name == "neg":
                plan.form({"input": None})
    # Whose functions are there since the modules are.
    _compressed._factory("made", None, "compressed_indices", "plain_indices")
    devices.function("torch.cuda", "made(device=None)", devices.nothing)
    torchcompat.fx.symbolic_trace(torchcompat.nn.Linear(2, 2))
    _proxies.fake_signature(torchcompat.add, 2)
    if kernels.available():
        loops = importlib.import_module(f"{kernels.__package__}.compiled.formulas")
        # The kernel gives the loop these names.
        assert unresolved(loops.loop_of(2, 0, 1)) == {"formula", "test0", "beyond0", "number", "carray", "cells", "some", "spread", "u8"}
        del watched.made["<formula of 2, 0 and 1>"]
        loops._polynomial((1.0, 2.0), 0.5)
    _overridable.testing_overrides.__wrapped__()
    traced = trace(lambda x: (x * 2.0).exp(), np.ones(2))
    traced.refresh_graph_values()
    assert straight_back([edge_of(o) for o in traced.outputs], traced.inputs) is not None
    for name in available_executors():
        if name != "mindspore":  # whose kernels are functions, and whose frames are the same
            executor = get_executor(name, name if name in ("meta", "mesh") else "cpu")
            for rec in RECORDS.values():
                if executor.status(rec) in ("native", "host"):
                    executor.raw_function(rec)
    assert {filename: names for filename, made in watched.made.items() if (names := unresolved(made))} == {}
    assert watched.hidden == set()
    assert len(watched.made) > 3 * len(RECORDS)
    assert watched.callers == callers("execute")


def generated(kernel: Kernel, variant: str, *names: str) -> Callable[..., Any]:
    """What is compiled around a kernel's loop, with nothing in the place of the names that the kernel gives it."""
    namespace: dict[str, Any] = dict.fromkeys(names)
    exec(getattr(kernel.spec, variant)(), namespace)
    function: Callable[..., Any] = namespace[variant]
    return function


def test_every_global_name_of_kernels_resolves() -> None:
    if not kernels.available():
        pytest.skip("Numba is not installed: there are no compiled kernels to test")
    for module in pkgutil.iter_modules([str(Path(kernels.__file__).parent / "compiled")]):
        importlib.import_module(f"{kernels.__package__}.compiled.{module.name}")
    for kernel in Kernel.registry.values():
        assert unresolved(kernel.function) == set(), kernel.name
        assert unresolved(generated(kernel, "checked", "body")) == set(), kernel.name
        if kernel.spec.is_shared:
            assert unresolved(generated(kernel, "shared", "share", "bind")) == set(), kernel.name
    assert sum(kernel.spec.is_shared for kernel in Kernel.registry.values()) > 20


def test_nothing_else_executes_source() -> None:
    assert callers("exec") == EXECUTED
    assert callers("eval", "compile") == EVALUATED | ANNOTATIONS | EXECUTED
    assert callers("FunctionType", "CodeType") == REBUILT


def test_every_name_in_records_expressions_resolves() -> None:
    """Conditions of overloads read parameters; what nodes show reads what they save; what modes see, parameters and some words; defaults
    read nothing."""
    seen = 0
    for rec in RECORDS.values():
        shown = rec.field("aten")
        if isinstance(shown, str) and (spell := _aten._read(shown, tuple([p.name for p in rec.params]))[2]) is not None:
            assert unresolved(spell) == set(), rec
            seen += 1
        assert rec.defaults.keys() == {p.name for p in rec.params if p.default is not None}
        for _, _, holds in rec.nodes:
            assert unresolved(holds) == set(), rec
            seen += 1
        for overload in overloads(rec):
            for shown, expression in (rec.field("saved_also") or {}).items():
                names = {node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)}
                assert names <= {"prod", *overload.saved_names, *dir(builtins)}, f"{overload.node_name} shows {shown}"
                seen += 1
            for condition in rec.field("seen_as") or {}:
                names = {node.id for node in ast.walk(ast.parse(condition)) if isinstance(node, ast.Name)}
                assert names <= {*overload.saved_names, *dir(builtins)}, f"{overload.node_name} is seen otherwise"
                seen += 1
    assert seen > 20
