"""Programs of what is scripted: Python source made into TorchScript's language, for `save`, `.code` and `.graph`.

The language is so near to Python that most of a source stays as it is. What names stand for is found out here: operations get ATen's names
and arguments (`_forms`), constants are written out, modules are reached by their paths, functions become functions of the program, loops
over submodules are unrolled, and branches whose conditions are known are taken.
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import math
import textwrap
import types
import typing
import warnings
from typing import Any

from dataclasses import dataclass

from autograd_tape import warned
from autograd_tape.annotations import Keywords
import torchcompat as torch
from autograd_tape.ops import ALIASES, RECORDS
from torchcompat._calls.kinds import kind_of
from torchcompat._jit_internal import (
    FunctionModifiers, _qualified_name, boolean_dispatched, get_torchscript_modifier, is_ignored_fn, should_drop,
)
from torchcompat.nn import Module

from . import _code, _operators, frontend
from ._forms import FORMS, defaults_of, spelled, written
from ._known import UNKNOWN, Bound, Field, Known, Ref, of_jit
from ._library import LIBRARY
from ._schema import annotation

_TABLES = frozenset(Module().__dict__)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A function in TorchScript's language, and the program that it is of."""

    node: ast.FunctionDef
    program: Program


def expression(text: str) -> ast.expr:
    """The source of an expression, read."""
    return ast.parse(text, mode="eval").body


def call(path: str, *args: ast.expr, **kwargs: ast.expr) -> ast.Call:
    """A call in the language."""
    return ast.Call(expression(path), list(args), [ast.keyword(n, v) for n, v in kwargs.items()])


class Program:
    """The functions and classes of an archive.

    Attributes:
        constants: the tensors that they name.
    """

    def __init__(self) -> None:
        self.constants: list[Any] = []
        self.functions: dict[str, ast.FunctionDef | None] = {}
        self.names: dict[int, str] = {}
        self.classes: dict[str, list[str]] = {}
        self.faces: dict[int, str] = {}
        self.methods: dict[int, dict[str, ast.FunctionDef | None]] = {}
        self.stands: dict[str, type] = {}
        self.held: list[Any] = []

    @property
    def unit(self) -> _code.Unit:
        """What carries the functions out."""
        unit = _code.Unit(lambda name: None, tuple(self.constants))
        for name, node in self.functions.items():
            assert node is not None
            unit.known[name] = _code.Function(node, unit, name.rpartition(".")[0])
        for name, lines in self.classes.items():
            if lines[0].startswith("class "):
                found = ast.parse("\n".join(lines)).body[0]
                assert isinstance(found, ast.ClassDef)
                unit.known[name] = _code.Class(name, unit, found)
        return unit

    # -- constants and functions

    def constant(self, value: object) -> ast.expr:
        """How a tensor is named."""
        for i, known in enumerate(self.constants):
            if known is value:
                return expression(f"CONSTANTS.c{i}")
        self.constants.append(value)
        return expression(f"CONSTANTS.c{len(self.constants) - 1}")

    def function(self, function: object) -> str:
        """The name of a Python function in the program."""
        function = getattr(function, "__original_fn", function)
        known = self.names.get(id(function))
        if known is None:
            name = self.free(_qualified_name(function))
            self.names[id(function)] = known = name
            self.held.append(function)
            self.functions[name] = None
            node = Compiler(self, function, None).function(name.rpartition(".")[2])
            del self.functions[name]
            self.functions[name] = node
        return known

    def free(self, name: str) -> str:
        """A name that no function or class has."""
        home, _, last = name.rpartition(".")
        found, i = name, 0
        while found in self.functions or found in self.classes:
            found, i = f"{home}.___torch_mangle_{i}.{last}", i + 1
        return found

    def adopted(self, node: ast.FunctionDef, unit: _code.Unit) -> ast.FunctionDef:
        """A function of another program, its constants and all it calls now in this one."""
        program = self

        class Move(ast.NodeTransformer):
            def visit_Attribute(self, inner: ast.Attribute) -> ast.expr:
                path = ast.unparse(inner)
                if path.startswith("CONSTANTS.c") and path[11:].isdigit():
                    return program.constant(unit.constants[int(path[11:])])
                if path.startswith("__torch__."):
                    return program.moved(path, inner, unit)
                self.generic_visit(inner)
                return inner

        moved = Move().visit(copy.deepcopy(node))
        assert isinstance(moved, ast.FunctionDef)
        return ast.fix_missing_locations(moved)

    def moved(self, path: str, node: ast.expr, unit: _code.Unit) -> ast.expr:
        """The name of a function or class of another program in this one."""
        try:
            found: Any = unit.find(path)
        except _code.Refused:
            return node
        if isinstance(found, _code.Function):
            if id(found) not in self.names:
                self.names[id(found)] = name = self.free(path)
                self.held.append(found)
                self.functions[name] = None
                self.functions[name] = self.adopted(found.node, found.unit)
            return expression(self.names[id(found)])
        if isinstance(found, _code.Class):
            if found.node is not None and found.kind != "Module" and path not in self.classes:  # modules' classes are made of modules
                self.classes[path] = _class_lines(found.node)
            return node
        return expression(self.function(found.function) if not isinstance(found.function, _code.Function) else self.moved_function(found))

    def moved_function(self, found: Any) -> str:
        """The name of a traced or loaded function in this program."""
        if id(found) not in self.names:
            self.names[id(found)] = name = self.free(found.qualified_name)
            self.held.append(found)
            self.functions[name] = self.adopted(found.function.node, found.function.unit)
        return self.names[id(found)]

    # -- modules

    def method(self, face: object, name: str, function: object) -> str:
        """Sees to it that a module's class has a method; gives its name."""
        held = self.methods.setdefault(id(face), {})
        if name not in held:
            held[name] = None
            if isinstance(function, _code.Function):
                node = self.adopted(function.node, function.unit)
            else:
                node = Compiler(self, function, Ref(face, ast.Name("self", ast.Load()))).function(name)
            del held[name]
            held[name] = node
        return name

    def module(self, face: Any) -> str:
        """The class of a module in the program."""
        if id(face) in self.faces:
            return self.faces[id(face)]
        base = face._class.qualified_name
        children = {name: self.module(child) for name, child in face._modules.items() if child is not None}
        for name, method in face._methods.items():
            called = method.function
            if name == "forward" or isinstance(called, _code.Function) or get_torchscript_modifier(called) is FunctionModifiers.EXPORT:
                self.method(face, name, called)
        fields = {n: v for n, v in self.fields(face).items()}
        lines = ["__parameters__ = [" + "".join([f'"{n}", ' for n, p in face._parameters.items() if p is not None]) + "]",
                 "__buffers__ = [" + "".join([f'"{n}", ' for n, b in face._buffers.items() if b is not None]) + "]"]
        for name, value in [*face._parameters.items(), *face._buffers.items()]:
            lines.append(f"{name} : {'NoneType' if value is None else 'Tensor'}")
        lines += ["training : bool", "_is_full_backward_hook : NoneType"]
        lines += [f"{name} : {kind_of(value)}" for name, value in fields.items()]
        lines += [f"{name} : {kind}" if name.isidentifier() else f'__annotations__["{name}"] = {kind}' for name, kind in children.items()]
        lines += [f"{name} : Final[{kind_of(value)}] = {written(value)}" for name, value in face._class.constants.items()]
        i = 0
        home, _, last = base.rpartition(".")
        while True:
            name = base if not i else f"{home}.___torch_mangle_{i - 1}.{last}"
            text = list(lines)
            for node in self.methods.get(id(face), {}).values():
                assert node is not None
                text += frontend.printed(node, True, name).rstrip("\n").split("\n")
            if name not in self.classes or self.classes[name] == text:
                break
            i += 1
        self.classes[name] = text
        self.faces[id(face)] = name
        self.held.append(face)
        return name

    def fields(self, face: Any) -> Keywords:
        """The attributes of a module that are neither tensors nor modules, where files have room for them."""
        held = face._fields if face._actual is None else {
            n: v for n, v in face._actual.__dict__.items() if n not in _TABLES and n not in face._actual._modules}
        found = {}
        for name, value in held.items():
            if name.isidentifier() and not name.startswith("__") and kind_of(value) is not None and not isinstance(value, types.MethodType):
                found[name] = value
        return found

    def state(self, face: Any) -> Any:
        """A module as it is pickled."""
        made: dict[int, Any] = {}
        tensors: dict[int, Any] = {}

        def tensor(value: Any) -> Any:
            if value is None:
                return None
            if id(value) not in tensors:
                bare = value.detach()
                tensors[id(value)] = bare.requires_grad_(True) if value.requires_grad and value.is_leaf else bare
                self.held.append(value)
            return tensors[id(value)]

        def plain(value: object) -> Any:
            if isinstance(value, torch.Tensor):
                return tensor(value)
            if isinstance(value, (list, dict)):
                inner = [plain(x) for x in value] if isinstance(value, list) else {k: plain(v) for k, v in value.items()}
                return _Tagged(inner, kind_of(value))
            if isinstance(value, tuple):
                return tuple([plain(x) for x in value])
            return _operators.number_of(value) if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)) else value

        def one(face: Any) -> Any:
            if id(face) in made:
                return made[id(face)]
            name = self.faces[id(face)]
            cls = self.stands.get(name)
            if cls is None:
                cls = self.stands[name] = type("Stand", (), {"__torchscript__": name})
            instance = made[id(face)] = cls()
            state = {n: tensor(v) for n, v in [*face._parameters.items(), *face._buffers.items()]}
            state |= {"training": bool(face.__dict__.get("training", False)), "_is_full_backward_hook": None}
            state |= {n: plain(v) for n, v in self.fields(face).items()}
            state |= {n: one(c) for n, c in face._modules.items() if c is not None}
            instance.__dict__.update(state)
            return instance

        return one(face)

    def sources(self) -> dict[str, str]:
        """The sources by module."""
        found: dict[str, list[str]] = {}
        for name, lines in self.classes.items():
            home, _, last = name.rpartition(".")
            if lines and lines[0].startswith("class "):
                found.setdefault(home, []).append("\n".join(lines))
            else:
                found.setdefault(home, []).append(f"class {last}(Module):\n" + textwrap.indent("\n".join(lines), "  "))
        for name, node in self.functions.items():
            assert node is not None
            found.setdefault(name.rpartition(".")[0], []).append(frontend.printed(node, False).rstrip("\n"))
        return {home: "\n".join(parts) + "\n" for home, parts in found.items()}


class _Tagged:
    """A list or dictionary whose type the file says."""

    def __init__(self, value: object, kind: str | None) -> None:
        self.value, self.kind = value, kind

    def __reduce__(self) -> Any:
        from ._pickle import restore_type_tag

        return restore_type_tag, (self.value, self.kind)


class Compiler(Known):
    """Makes one Python function one of the language.

    Args:
        ref: the module that it is a method of.
    """

    def __init__(self, program: Program, function: Any, ref: Ref | None) -> None:
        self.program, self.ref, self.original = program, ref, function
        self.python = inspect.unwrap(getattr(function, "__func__", function))
        self.home = self.owner()
        self.written = False
        ours = (self.python.__module__ or "").partition(".")[0] == "torchcompat"
        text = LIBRARY.get(self.python.__qualname__) if ours else None
        if text is not None:
            text = text if isinstance(text, str) else text(ref.face._actual if ref is not None else None)
            self.written = True  # its annotations, too, are as the language has them
            body = ast.parse(textwrap.dedent(text)).body[0]
            assert isinstance(body, ast.FunctionDef)
            self.tree, self.file, self.first = body, "", 1
        else:
            found, _, self.file, self.first = frontend.tree(self.python)
            self.tree = copy.deepcopy(found)
        self.globals = dict(vars(builtins)) | self.python.__globals__
        if self.python.__closure__:
            for name, cell in zip(self.python.__code__.co_freevars, self.python.__closure__):
                try:
                    self.globals[name] = cell.cell_contents
                except ValueError:
                    continue
        self.bound = {}
        self.fresh = 0

    # -- functions

    def function(self, name: str) -> ast.FunctionDef:
        """The function."""
        node = self.tree
        given = node.args
        self.own = given.args[0].arg if self.ref is not None and given.args else None
        self.local = {a.arg for a in [*given.args, *given.kwonlyargs]} | {
            n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        try:
            hints = {} if self.written else typing.get_type_hints(self.python)
        except Exception:  # what names nothing that is here says nothing
            hints = {}
        args = []
        for a in given.args:
            if a.arg == self.own:
                args.append(ast.arg("self"))
            else:
                said = a.annotation if self.written else None
                args.append(ast.arg(a.arg, expression(self.kind(hints[a.arg], a)) if a.arg in hints else said or expression("Tensor")))
        keyword = [ast.arg(a.arg, expression(self.kind(hints[a.arg], a)) if a.arg in hints else None) for a in given.kwonlyargs]
        body = self.block(node.body)
        returns = None
        if "return" in hints:
            returns = expression(self.kind(hints["return"], node))
        made = ast.FunctionDef(name, ast.arguments(posonlyargs=[], args=args, kwonlyargs=keyword,
                                                   kw_defaults=[None if d is None else self.visit(d) for d in given.kw_defaults],
                                                   defaults=[self.visit(d) for d in given.defaults]), body or [ast.Pass()], [], returns)
        return ast.fix_missing_locations(made)

    def kind(self, hint: object, node: ast.AST) -> str:
        """An annotation as the language writes it."""
        try:
            found = annotation(hint)
        except LookupError as error:
            self.refuse(node, str(error))
        if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
            self.program_class(hint)
        return found

    # -- statements

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, without docstrings, and without what comes after a return."""
        found: list[ast.stmt] = []
        for node in body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            method = getattr(self, "do_" + type(node).__name__, None)
            if method is None:
                self.refuse(node, f"{type(node).__name__} aren't supported")
            made = method(node)
            found += made if isinstance(made, list) else [made]
            if found and isinstance(found[-1], ast.Return):
                break
        return found

    def do_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        if self.static(node.value) is not UNKNOWN:
            return []
        return [ast.Expr(self.visit(node.value))]

    def do_Pass(self, node: ast.Pass) -> ast.stmt:
        return ast.Pass()

    do_Break: Any = lambda self, node: node
    do_Continue: Any = lambda self, node: node

    def do_Return(self, node: ast.Return) -> ast.stmt:
        return ast.Return(None if node.value is None else self.visit(node.value))

    def do_Delete(self, node: ast.Delete) -> ast.stmt:
        return ast.Delete([self.target(t) for t in node.targets])

    def do_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.static(node.value)
        one = node.targets[0]
        if len(node.targets) == 1 and isinstance(one, ast.Name) and (isinstance(value, (Ref, Bound)) or isinstance(value, list) and value
                                                                     and isinstance(value[0], Ref) or callable(value)):
            self.bound[one.id] = value
            return []
        if isinstance(one, (ast.Tuple, ast.List)) and isinstance(value, (list, tuple)) and any([isinstance(v, Ref) for v in value]):
            return [s for t, v in zip(one.elts, value) for s in self.given(t, v)]
        return [ast.Assign([self.target(t) for t in node.targets], self.visit(node.value))]

    def given(self, target: ast.expr, value: Any) -> list[ast.stmt]:
        """What gives a variable of an unrolled loop its value."""
        if isinstance(target, ast.Name) and isinstance(value, (Ref, Bound)):
            self.bound[target.id] = value
            return []
        if isinstance(target, (ast.Tuple, ast.List)):
            return [s for t, v in zip(target.elts, value) for s in self.given(t, v)]
        if isinstance(target, ast.Name):
            self.bound.pop(target.id, None)
        return [ast.Assign([self.target(target)], self.emit(value, target))]

    def do_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        if node.value is None:
            return []
        try:
            hint = annotation(self.named(node.annotation))
        except LookupError as error:
            self.refuse(node, str(error))
        return [ast.Assign([self.target(node.target)], call("annotate", expression(hint), self.visit(node.value)))]

    def do_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        target = self.target(node.target)
        assert isinstance(target, (ast.Name, ast.Attribute, ast.Subscript))
        return ast.AugAssign(target, node.op, self.visit(node.value))

    def do_If(self, node: ast.If) -> list[ast.stmt]:
        test = self.static(node.test)
        if isinstance(test, Field):
            test = UNKNOWN
        if test is not UNKNOWN:
            return self.block(node.body if test else node.orelse)
        return [ast.If(self.visit(node.test), self.branch(node.body), self.branch(node.orelse, True))]

    def branch(self, body: list[ast.stmt], empty: bool = False) -> list[ast.stmt]:
        found = self.block(body)
        return found or ([] if empty else [ast.Pass()])

    def do_While(self, node: ast.While) -> ast.stmt:
        return ast.While(self.visit(node.test), self.branch(node.body), [])

    def do_For(self, node: ast.For) -> list[ast.stmt]:
        items = self.static(node.iter)
        if isinstance(items, Ref):
            items = self.children(items, node)
        if isinstance(items, (list, tuple)) and any([isinstance(x, Ref) or isinstance(x, tuple) and any([isinstance(y, Ref) for y in x])
                                                     for x in items]):
            if any([isinstance(n, (ast.Break, ast.Continue)) for n in ast.walk(node)]):
                self.refuse(node, "break and continue in loops over modules aren't supported")
            return [s for item in items for s in [*self.given(node.target, item), *self.block(copy.deepcopy(node.body))]]
        if isinstance(items, (list, tuple)) and not items:
            return []
        return [ast.For(self.target(node.target), self.visit(node.iter), self.branch(node.body), [])]

    def do_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        if self.static(node.test) is not UNKNOWN and not isinstance(self.static(node.test), Field) and self.static(node.test):
            return []
        text = ast.Constant("") if node.msg is None else self.visit(node.msg)
        return [ast.If(self.visit(node.test), [ast.Pass()], [ast.Expr(call(
            "ops.prim.RaiseException", call("torch.add", ast.Constant("AssertionError: "), text)))])]

    def do_Raise(self, node: ast.Raise) -> ast.stmt:
        raised = node.exc
        kind = self.static(raised.func if isinstance(raised, ast.Call) else raised) if raised is not None else UNKNOWN
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            self.refuse(node, "only exceptions can be raised")
        args = raised.args if isinstance(raised, ast.Call) else []
        text = self.visit(args[0]) if args else ast.Constant("")
        return ast.Expr(call("ops.prim.RaiseException", text, ast.Constant(f"{kind.__module__}.{kind.__qualname__}")))

    def do_With(self, node: ast.With) -> list[ast.stmt]:
        shown = [item.context_expr for item in node.items]
        held = [self.static(one.func if isinstance(one, ast.Call) else one) for one in shown]
        if all([h is torch.profiler.record_function or h is torch.autograd.profiler.record_function for h in held]):
            return self.block(node.body)
        self.refuse(node, "with statements aren't supported")

    # -- expressions

    def emit(self, value: object, node: ast.AST) -> ast.expr:
        """A known value in the language."""
        if isinstance(value, Ref):
            return value.node
        if isinstance(value, torch.Tensor):
            return self.program.constant(value)
        try:
            return expression(written(value))
        except LookupError:
            name = getattr(value, "__name__", type(value).__name__)
            self.refuse(node, f"Python value of type '{type(value).__name__}' ({name}) cannot be used as a value")

    def visit(self, node: ast.expr) -> ast.expr:
        """An expression in the language."""
        value = self.static(node)
        if value is not UNKNOWN and not isinstance(value, (Field, Bound)) and not isinstance(node, ast.Constant):
            return self.emit(value, node)
        if isinstance(value, Field):
            if kind_of(value.value) is None:
                self.refuse(node, f"module attribute of type '{type(value.value).__name__}' cannot be saved")
            if isinstance(node, ast.Attribute):
                base = self.static(node.value)
                if isinstance(base, Ref) and (base.face._actual is None or node.attr in base.face._actual.__dict__):
                    return ast.Attribute(self.visit(node.value), node.attr, ast.Load())
            return self.emit(value.value, node)
        method = getattr(self, "of_" + type(node).__name__, None)
        if method is None:
            self.refuse(node, f"{type(node).__name__} aren't supported")
        found: ast.expr = method(node)
        return found

    def target(self, node: ast.expr) -> ast.expr:
        """What is assigned to."""
        if isinstance(node, ast.Name):
            self.bound.pop(node.id, None)
            return ast.Name(node.id, ast.Store())
        if isinstance(node, (ast.Tuple, ast.List)):
            return ast.Tuple([self.target(e) for e in node.elts], ast.Store())
        if isinstance(node, ast.Attribute):
            return ast.Attribute(self.visit(node.value), node.attr, ast.Store())
        if isinstance(node, ast.Subscript):
            return ast.Subscript(self.visit(node.value), self.key(node.slice), ast.Store())
        if isinstance(node, ast.Starred):
            self.refuse(node, "starred targets aren't supported")
        self.refuse(node, f"cannot assign to {type(node).__name__}")

    def key(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Slice):
            return ast.Slice(*[None if p is None else self.visit(p) for p in (node.lower, node.upper, node.step)])
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self.key(e) for e in node.elts], ast.Load())
        return self.visit(node)

    def of_Constant(self, node: ast.Constant) -> ast.expr:
        return node

    def of_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(node.id, ast.Load())

    def of_Attribute(self, node: ast.Attribute) -> ast.expr:
        base = self.static(node.value)
        if isinstance(base, Ref) and isinstance(self.static(node), Bound):
            self.refuse(node, "methods are called, not held")
        return ast.Attribute(self.visit(node.value), node.attr, ast.Load())

    def of_Subscript(self, node: ast.Subscript) -> ast.expr:
        return ast.Subscript(self.visit(node.value), self.key(node.slice), ast.Load())

    def of_BinOp(self, node: ast.BinOp) -> ast.expr:
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            return call("torch.percentFormat", node.left, *[self.visit(v) for v in values])
        return ast.BinOp(self.visit(node.left), node.op, self.visit(node.right))

    def of_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        return ast.UnaryOp(node.op, self.visit(node.operand))

    def of_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        parts = [p for p in node.values if not isinstance(self.static(p), bool)]  # those that are known decide nothing here
        return self.visit(parts[0]) if len(parts) == 1 else ast.BoolOp(node.op, [self.visit(p) for p in parts])

    def of_Compare(self, node: ast.Compare) -> ast.expr:
        return ast.Compare(self.visit(node.left), node.ops, [self.visit(c) for c in node.comparators])

    def of_IfExp(self, node: ast.IfExp) -> ast.expr:
        test = self.static(node.test)
        if test is not UNKNOWN and not isinstance(test, Field):
            return self.visit(node.body if test else node.orelse)
        return ast.IfExp(self.visit(node.test), self.visit(node.body), self.visit(node.orelse))

    def of_List(self, node: ast.List) -> ast.expr:
        return ast.List([self.visit(e) for e in node.elts], ast.Load())

    def of_Tuple(self, node: ast.Tuple) -> ast.expr:
        return ast.Tuple([self.visit(e) for e in node.elts], ast.Load())

    def of_Dict(self, node: ast.Dict) -> ast.expr:
        return ast.Dict([None if k is None else self.visit(k) for k in node.keys], [self.visit(v) for v in node.values])

    def of_Starred(self, node: ast.Starred) -> ast.expr:
        return ast.Starred(self.visit(node.value), ast.Load())

    def of_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        text, values = "", []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                if part.format_spec is not None:
                    self.refuse(node, "Don't support formatting in JoinedStr")
                text += "{}"
                values.append(self.visit(part.value))
            else:
                assert isinstance(part, ast.Constant)
                text += str(part.value)
        return call("torch.format", ast.Constant(text), *values)

    def of_ListComp(self, node: ast.ListComp) -> ast.expr:
        one = node.generators[0]
        items = self.static(one.iter)
        items = self.children(items, node) if isinstance(items, Ref) else items
        if isinstance(items, list) and items and isinstance(items[0], (Ref, tuple)) and len(node.generators) == 1 and not one.ifs:
            found = []
            for item in items:
                before = dict(self.bound)
                if self.given(one.target, item):
                    self.refuse(node, "comprehensions over modules and numbers aren't supported")
                found.append(self.visit(copy.deepcopy(node.elt)))
                self.bound = before
            return ast.List(found, ast.Load())
        made = ast.comprehension(self.target(one.target), self.visit(one.iter), [self.visit(t) for t in one.ifs], 0)
        return ast.ListComp(self.visit(node.elt), [made])

    def of_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self.of_ListComp(ast.ListComp(node.elt, node.generators))

    def of_DictComp(self, node: ast.DictComp) -> ast.expr:
        one = node.generators[0]
        made = ast.comprehension(self.target(one.target), self.visit(one.iter), [self.visit(t) for t in one.ifs], 0)
        return ast.DictComp(self.visit(node.key), self.visit(node.value), [made])

    # -- calls

    def of_Call(self, node: ast.Call) -> ast.expr:
        function = self.static(node.func)
        if function is UNKNOWN:
            return self.on_value(node)
        if isinstance(function, Field):
            self.refuse(node, "a value is called")
        if isinstance(function, (Ref, Bound)):
            return self.on_module(function, node)
        return self.on_function(function, node)

    def arguments(self, node: ast.Call) -> tuple[list[ast.expr], dict[str, ast.expr]]:
        """The arguments in the language."""
        if any([k.arg is None for k in node.keywords]):
            self.refuse(node, "Unpacking dictionaries into arguments isn't supported")
        return [self.visit(a) for a in node.args], {k.arg: self.visit(k.value) for k in node.keywords if k.arg}

    def on_value(self, node: ast.Call) -> ast.expr:
        """A method of a value."""
        if not isinstance(node.func, ast.Attribute):
            self.refuse(node, "a value is called")
        args, kwargs = self.arguments(node)
        name = node.func.attr
        if name == "format" and isinstance(node.func.value, ast.Constant):
            return call("torch.format", node.func.value, *args)
        return ast.Call(ast.Attribute(self.visit(node.func.value), name, ast.Load()), args, [ast.keyword(n, v) for n, v in kwargs.items()])

    def on_module(self, function: Ref | Bound, node: ast.Call) -> ast.expr:
        """A module, or a method of one."""
        args, kwargs = self.arguments(node)
        ref = function if isinstance(function, Ref) else function.ref
        name = "forward" if isinstance(function, Ref) else function.name
        if isinstance(function, Ref):
            methods = ref.face._methods
            if "forward" not in methods:
                self.refuse(node, f"Module '{ref.face.original_name}' has no forward")
            self.program.method(ref.face, "forward", methods["forward"].function)
        elif is_ignored_fn(function.function):
            if should_drop(function.function):
                return call("ops.prim.RaiseException",
                            ast.Constant("This Python function is annotated to be ignored and cannot be run"))
            self.refuse(node, f"Could not export Python function call '{function.name}'. Remove calls to Python functions before "
                              f"export. Did "
                        "you forget to add @script or @script_method annotation? If this is a nn.ModuleList, add it to __constants__")
        else:
            self.program.method(ref.face, name, function.function)
        return ast.Call(ast.Attribute(ref.node, name, ast.Load()), args, [ast.keyword(n, v) for n, v in kwargs.items()])

    def on_function(self, function: Any, node: ast.Call) -> ast.expr:
        """A function, class, or operation."""
        name = getattr(function, "__name__", "")
        jit = of_jit(function)
        if jit == "annotate" or function is typing.cast:
            value = self.visit(node.args[1])
            return call("annotate", expression(self.evaluated(node.args[0])), value) if jit else value
        if function is isinstance or jit in ("isinstance", "_isinstance"):
            kinds = node.args[1].elts if isinstance(node.args[1], (ast.Tuple, ast.List)) else [node.args[1]]
            listed = [expression(self.evaluated(k)) for k in kinds]
            return call("isinstance", self.visit(node.args[0]), listed[0] if len(listed) == 1 else ast.Tuple(listed, ast.Load()))
        args, kwargs = self.arguments(node)
        if jit == "_unwrap_optional":
            return call("ops.prim.unchecked_unwrap_optional", *args)
        if function is getattr(builtins, name, None) and name in _operators.BUILTINS:
            return call(name, *args, **kwargs)
        if getattr(math, name, None) is function:
            return call(f"torch.{name}", *args)
        if any([function is one for one in (warnings.warn, warned.warn, warned.warn_once)]):
            return call("torch.warn", args[0])
        if function in (torch.device, torch.Size):
            return call("torch.device", *args) if function is torch.device else args[0]
        if jit in ("fork", "wait"):
            return call(name, *args, **kwargs)
        if isinstance(getattr(function, "qualified_name", None), str):
            if isinstance(function.function, _code.Function):
                return call(self.program.moved_function(function), *args, **kwargs)
            function = function.function
        if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
            order = [*args, *[kwargs[n] for n in function._fields[len(args):]]]
            return call(self.program_class(function), *order)
        operation = self.operation(function, name)
        if operation is not None:
            return self.spelled(operation, function, args, kwargs, node)
        if isinstance(function, types.FunctionType):
            if is_ignored_fn(function):
                if should_drop(function):
                    return call("ops.prim.RaiseException",
                                ast.Constant("This Python function is annotated to be ignored and cannot be run"))
                self.refuse(node, f"Could not export Python function call '{name}'. Remove calls to Python functions before export. "
                                  f"Did you "
                            "forget to add @script or @script_method annotation? If this is a nn.ModuleList, add it to __constants__")
            chosen = boolean_dispatched.get(function)
            if chosen is not None:
                given = node.args[chosen["index"]] if chosen["index"] < len(node.args) else next(
                    (k.value for k in node.keywords if k.arg == chosen["arg_name"]), None)
                value = chosen["default"] if given is None else self.static(given)
                function = chosen["if_true" if value else "if_false"]
            return call(self.program.function(function), *args, **kwargs)
        packet = getattr(function, "_qualified_op_name", None) or getattr(function, "_name", None)
        if isinstance(packet, str):
            space, _, inner = packet.partition("::")
            return call(f"ops.{space}.{inner.partition('.')[0]}", *args, **kwargs)
        self.refuse(node, f"Python builtin {function} is currently not supported in Torchscript")

    def evaluated(self, node: ast.expr) -> str:
        """A type that a program names, as the language writes it."""
        found = self.named(node)
        if found in (list, dict, tuple):
            return str(found.__name__)
        return self.kind(found, node)

    def named(self, node: ast.expr) -> Any:
        """A type that a program's own source names, which has been run when it was loaded."""
        return eval(compile(ast.fix_missing_locations(ast.Expression(copy.deepcopy(node))), "<type>", "eval"), self.globals)  # noqa: S307

    def program_class(self, cls: Any) -> str:
        """The name of a named tuple's class in the program."""
        name = _qualified_name(cls)
        if name not in self.program.classes:
            hints = typing.get_type_hints(cls)
            fields = [f"  {n} : {annotation(hints[n]) if n in hints else 'Tensor'}" for n in cls._fields]
            self.program.classes[name] = [f"class {name.rpartition('.')[2]}(NamedTuple):", *fields]
        return name

    def operation(self, function: object, name: str) -> tuple[str, str] | None:
        """(the public name of an operation, its record's namespace); None where a function is none."""
        module = getattr(function, "__module__", None) or ""
        if not module.startswith("torchcompat") and not module.startswith("torch.") and module != "torch":
            return None
        base = name[:-1] if name.endswith("_") and not name.endswith("__") else name
        for home in ("linalg", "fft", "special"):
            if getattr(getattr(torch, home), name, None) is function:
                return f"{home}_{name}", ""
        if name in _operators.FOREIGN:
            return name, "nn.functional"
        for one in (name, base):
            record = RECORDS.get(ALIASES.get(one, one))
            if record is not None:
                return name, record.namespace
        if getattr(torch.nn.functional, name, None) is function:
            return name, "nn.functional" if name in FORMS else "foreign"
        return (name, "") if name in _operators.WITHOUT_RECORD or getattr(torch, name, None) is function and name == "tensor" else None

    def spelled(self, operation: tuple[str, str], function: Any, args: list[ast.expr], kwargs: dict[str, ast.expr],
                node: ast.Call) -> ast.expr:
        """A call of an operation, with ATen's name and arguments."""
        name, space = operation
        if any([isinstance(a, ast.Starred) for a in args]):
            self.refuse(node, "starred arguments of operations aren't supported")
        if space == "foreign":
            return call(f"ops.torchcompat.{name}", *args, **kwargs)
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            return call(f"torch.{name}", *args, **kwargs)
        at = next((i for i, p in enumerate(parameters) if p.kind is p.VAR_POSITIONAL), None)
        if at is not None:  # ATen takes a list: of tensors, or of sizes, of which a single one may be such a list
            several = args[at:]
            single = len(several) == 1 and not isinstance(several[0], (ast.List, ast.Tuple))
            if len(several) > 1 or single and _operators.takes_tensors(name, at):
                args = [*args[:at], ast.List(several, ast.Load())]
            return call(f"torch.{name}", *args, **kwargs)
        order = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        given = {n: ast.unparse(ast.fix_missing_locations(a)) for n, a in zip(order, args)} | {
            n: ast.unparse(ast.fix_missing_locations(v)) for n, v in kwargs.items()}
        if given.get("inplace") == "False":
            del given["inplace"]
        for n, a in [*zip(order, node.args), *[(k.arg or "", k.value) for k in node.keywords]]:
            known = self.static(a)
            if isinstance(known, Field) and n in ("reduction", "padding_idx"):  # ATen has other values for them
                given[n] = "-1" if known.value is None else repr(known.value)
        base = name[:-1] if name.endswith("_") else name
        described = [_Described(p) for p in parameters]
        inplace = given.get("inplace")
        if inplace is not None and inplace != "True":
            others = {n: v for n, v in given.items() if n != "inplace"}
            shown = [(d.name, d.keyword) for d in described]
            yes, no = [spelled(base, space, shown, dict(others), defaults_of(described), one) for one in (True, False)]
            return expression(f"{yes} if {inplace} else {no}")
        return expression(spelled(base, space, [(d.name, d.keyword) for d in described], given, defaults_of(described), name != base))


class _Described:
    """A parameter of a Python function, as `defaults_of` asks for it."""

    def __init__(self, p: inspect.Parameter) -> None:
        self.name, self.default = p.name, p.default
        self.has_default, self.keyword = p.default is not p.empty, p.kind is p.KEYWORD_ONLY


def _class_lines(node: ast.ClassDef) -> list[str]:
    """A class that is no module's, as files have it."""
    lines = [ast.unparse(ast.ClassDef(node.name, node.bases, [], [ast.Pass()], [])).split("\n")[0]]
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            lines += ["  " + line for line in frontend.printed(part, True).rstrip("\n").split("\n")]
        elif isinstance(part, ast.AnnAssign):
            value = "" if part.value is None else f" = {ast.unparse(part.value)}"
            lines.append(f"  {ast.unparse(part.target)} : {ast.unparse(part.annotation)}{value}")
        else:
            lines += ["  " + line for line in ast.unparse(part).split("\n")]
    return lines


def compiled(method: Any) -> Compiled:
    """A scripted function, or a method of a scripted module, with the program that it is of."""
    program = Program()
    if method._owner is None:
        name = program.function(method.function)
        node = program.functions[name]
    else:
        name = program.method(method._owner, method.name, method.function)
        node = program.methods[id(method._owner)][name]
    assert node is not None
    return Compiled(node, program)
