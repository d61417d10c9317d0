"""The language of TorchScript's files, and who carries it out.

It looks like Python, and Python's parser reads it, but nothing of it is ever given to Python to run: each form that the language has is
carried out here, and all others are refused when a function is read. A program in it reaches tensors, numbers, strings, lists, tuples,
dictionaries, and the operations of `_operators`: it cannot name a module, and `value.name` is never an attribute of a Python object, but a
field of a module or named tuple of its own, one of `FIELDS` of a tensor, or an operation whose first argument is the value.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import NoReturn, Any

from autograd_tape.annotations import Arguments, Fn, Keywords
import torchcompat as torch

from . import _operators
from ._async import _fork
from ._state import Error

Scope = Keywords
Expression = Callable[[Scope], Any]
Statement = Callable[[Scope], Any]

FIELDS = frozenset("shape device dtype ndim T H mT mH data grad requires_grad is_leaf layout real imag itemsize nbytes is_cuda is_cpu "
                   "is_meta "
                   "is_sparse is_sparse_csr is_mkldnn is_quantized is_mps is_xpu is_vulkan is_nested".split())
"""The attributes of tensors that programs read."""
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift}
_IN_PLACE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.iadd, ast.Sub: operator.isub, ast.Mult: operator.imul, ast.Div: operator.itruediv}
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert}
_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.In: lambda x, y: x in y, ast.NotIn: lambda x, y: x not in y}
_WORDS: Keywords = {"inf": float("inf"), "nan": float("nan"), "infj": complex(0, float("inf")), "nanj": complex(0, float("nan"))}
_ROOTS = ("torch", "ops", "CONSTANTS", "__torch__")


class Modules:
    """What modules are to programs; `_script`, which knows them, puts its functions here."""

    field: Callable[[Any, str], Any]
    set_field: Callable[[Any, str, Any], None]
    method: Callable[[Any, str], Fn]
    is_function: Callable[[Any], bool]


MODULES: Any = Modules


class Refused(RuntimeError):
    """Source that is not of the language."""


def refuse(node: ast.AST, why: str = "") -> NoReturn:
    """Refuses a piece of source."""
    raise Refused(f"line {getattr(node, 'lineno', '?')}: {why or type(node).__name__ + ' is not of the language'}")


# -- what programs are made of ----------------------------------------------------------------------------------------------------------


class Function:
    """A function of a program.

    Attributes:
        node: its source.
        parameters: the names of its parameters, with `self` where it is a method.
    """

    def __init__(self, node: ast.FunctionDef, unit: Unit, home: str = "") -> None:
        given = node.args
        if given.vararg or given.kwarg or given.posonlyargs or node.decorator_list:
            refuse(node, "functions have plain parameters and no decorators")
        self.node, self.unit, self.name = node, unit, node.name
        self.qualified_name = f"{home}.{node.name}" if home else node.name
        both = [*given.args, *given.kwonlyargs]
        self.parameters = [a.arg for a in both]
        first = len(given.args) - len(given.defaults)
        self.defaults = {a.arg: constant(d) for a, d in [*zip(given.args[first:], given.defaults),
                                                                 *zip(given.kwonlyargs, given.kw_defaults)] if d is not None}
        self.types = {a.arg: a.annotation for a in both}
        self._body: Statement | None = None
        self.value_types: Keywords = {}  # of tensors, where a trace saw them

    def check(self) -> None:
        """Reads the body. Refused: it is not of the language."""
        if self._body is None:
            self._body = _Reader(self.unit, self.node).block(self.node.body)

    def bound(self, args: Arguments, kwargs: Mapping[str, Any]) -> Scope:
        """The scope of a call."""
        names = self.parameters
        shown = f"{self.name}()"
        if len(args) > len(names):
            own = names[:1] == ["self"]
            raise RuntimeError(f"{shown} expected at most {len(names) - own} argument(s) but received {len(args) - own} argument(s). "
                               f"Declaration: {signature(self)}")
        scope = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in names:
                raise RuntimeError(f"Unknown keyword argument '{name}' for operator '{self.name}'. Schema: {signature(self)}")
            if name in scope:
                raise RuntimeError(f"{shown} got multiple values for argument '{name}'")
            scope[name] = value
        for name in names[len(args):]:
            if name not in scope:
                if name not in self.defaults:
                    raise RuntimeError(f"{shown} is missing value for argument '{name}'. Declaration: {signature(self)}")
                default = self.defaults[name]
                scope[name] = list(default) if isinstance(default, list) else default
        return scope

    def __call__(self, *args: object, **kwargs: object) -> Any:
        scope = self.bound(args, kwargs)
        self.check()
        assert self._body is not None
        left = self._body(scope)
        return left[1] if left.__class__ is tuple else None


class Class:
    """A class of a program: of a module, a named tuple, or plain objects.

    Attributes:
        fields: the types of its attributes.
        constants: attributes that are the same in all instances.
        kind: "Module", "NamedTuple", or "" .
    """

    def __init__(self, name: str, unit: Unit, node: ast.ClassDef | None = None, kind: str = "Module") -> None:
        self.qualified_name, self.unit, self.node, self.kind = name, unit, node, kind
        self.name = name.rpartition(".")[2]
        self.fields: dict[str, ast.expr | None] = {}
        self.constants: Keywords = {}
        self.methods: dict[str, Function] = {}
        self.parameters: list[str] = []
        self.buffers: list[str] = []
        if node is not None:
            self._read(node)
        if self.kind == "NamedTuple":
            from collections import namedtuple

            self.tuple = namedtuple(self.name, list(self.fields))  # type: ignore[misc]

    def _read(self, node: ast.ClassDef) -> None:
        bases = [b.id for b in node.bases if isinstance(b, ast.Name)]
        self.kind = bases[0] if bases else ""
        if len(bases) != len(node.bases) or self.kind not in ("", "Module", "NamedTuple") or node.decorator_list or node.keywords:
            refuse(node, f"a class of {ast.unparse(node)[:60]!r}")
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                self.methods[part.name] = Function(part, self.unit, self.qualified_name)
            elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                self.fields[part.target.id] = part.annotation
                if part.value is not None:
                    self.constants[part.target.id] = constant(part.value)
            elif isinstance(part, ast.Assign) and len(part.targets) == 1 and isinstance(part.targets[0], ast.Subscript):
                self.fields[ast.literal_eval(part.targets[0].slice)] = part.value
            elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
                name = part.targets[0].id
                if name in ("__parameters__", "__buffers__"):
                    setattr(self, name.strip("_"), [str(x) for x in ast.literal_eval(part.value)])
            elif not isinstance(part, ast.Pass):
                refuse(part)


class Object:
    """An instance of a class that is no module."""

    def __init__(self, cls: Class) -> None:
        self.cls, self.attributes = cls, Keywords()


def constant(node: ast.expr) -> Any:
    """The value of a constant of a class."""
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.device":
        return torch.device(*[ast.literal_eval(a) for a in node.args])
    try:
        return ast.literal_eval(node)
    except ValueError:
        refuse(node, "a constant that is none")


class Unit:
    """Functions and classes by their full names, read from sources when they are first asked for.

    Args:
        source: the source of a module by its name (`__torch__.torch.nn`), None where there is none.
        constants: what `CONSTANTS.c0` and so on are.
    """

    def __init__(self, source: Callable[[str], str | None] = lambda name: None, constants: Arguments = ()) -> None:
        self.source, self.constants = source, constants
        self.known: dict[str, Function | Class] = {}
        self.read: set[str] = set()

    def find(self, name: str) -> Function | Class:
        """What a full name stands for. Refused: there is no such."""
        if name not in self.known:
            self._load(name.rpartition(".")[0])
        if name not in self.known:
            raise Refused(f"Unknown type name '{name}'")
        return self.known[name]

    def _load(self, module: str) -> None:
        if module in self.read:
            return
        self.read.add(module)
        text = self.source(module)
        if text is None:
            return
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise Refused(f"{module} cannot be read: {error}") from None
        for node in tree.body:
            name = f"{module}.{getattr(node, 'name', '')}"
            if isinstance(node, ast.ClassDef):
                self.known[name] = Class(name, self, node)
            elif isinstance(node, ast.FunctionDef):
                self.known[name] = Function(node, self, module)
            elif not isinstance(node, ast.Import) and not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).startswith("op_")):
                refuse(node)

    def made(self, cls: Class, args: Arguments) -> Any:
        """An instance of a class. Refused: it is a module, which programs do not make."""
        if cls.kind == "NamedTuple":
            return cls.tuple(*args)
        if cls.kind == "Module":
            raise Refused(f"a program makes a {cls.qualified_name}")
        made = Object(cls)
        if "__init__" in cls.methods:
            cls.methods["__init__"](made, *args)
        return made


def signature(function: Function) -> str:
    """A function's schema, as messages show it."""
    parts = []
    for name in function.parameters:
        kind = function.types[name]
        shown = "__torch__.self" if name == "self" else "Tensor" if kind is None else schema_type(kind)
        parts.append(f"{shown} {name}" + (f"={function.defaults[name]!r}" if name in function.defaults else ""))
    back = function.node.returns
    return f"{function.name}({', '.join(parts)}) -> {_returns(back)}"


def _returns(node: ast.expr | None) -> str:
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Tuple":
        return schema_type(node)
    return f"({'Tensor' if node is None else schema_type(node)})" if node is None or not isinstance(node, ast.Constant) else "()"


def schema_type(node: ast.expr) -> str:
    """A type as schemas write it: `int[]`, `Tensor?`."""
    if isinstance(node, ast.Subscript):
        name, inner = ast.unparse(node.value), node.slice
        parts = [schema_type(p) for p in (inner.elts if isinstance(inner, ast.Tuple) else [inner])]
        if name in ("List", "Optional"):
            return parts[0] + ("[]" if name == "List" else "?")
        return f"({', '.join(parts)})" if name == "Tuple" else f"{name}({', '.join(parts)})"
    return ast.unparse(node)


# -- attributes and methods of values ---------------------------------------------------------------------------------------------------


def attribute(value: object, name: str) -> Any:
    """`value.name` in a program."""
    if isinstance(value, torch.Tensor):
        if name not in FIELDS:
            raise RuntimeError(f"'Tensor' object has no attribute or method '{name}'.")
        return getattr(value, name) if name != "shape" else list(value.shape)
    if isinstance(value, Object):
        found = value.attributes if name in value.attributes else value.cls.constants
        if name not in found:
            raise RuntimeError(f"Tried to access nonexistent attribute or method '{name}' of type '{value.cls.qualified_name}'.")
        return found[name]
    if isinstance(value, torch.nn.Module):
        return MODULES.field(value, name)
    if isinstance(value, tuple) and name in getattr(value, "__match_args__", ()):
        return value[value.__match_args__.index(name)]  # type: ignore[attr-defined]  # of one with names
    if isinstance(value, torch.device) and name in ("type", "index"):
        return getattr(value, name)
    if isinstance(value, complex) and name in ("real", "imag"):
        return value.real if name == "real" else value.imag
    raise RuntimeError(f"'{_operators.type_name(value)}' object has no attribute or method '{name}'.")


def call_method(value: object, name: str, args: list[Any], kwargs: Keywords) -> Any:
    """`value.name(...)` in a program."""
    if isinstance(value, Object):
        if name not in value.cls.methods:
            raise RuntimeError(f"Tried to access nonexistent attribute or method '{name}' of type '{value.cls.qualified_name}'.")
        return value.cls.methods[name](value, *args, **kwargs)
    if isinstance(value, torch.nn.Module):
        return MODULES.method(value, name)(*args, **kwargs)
    if len(args) > 1 and isinstance(value, torch.Tensor) and (method := _operators.spread_method(name)) is not None:
        return method(value, *args, **kwargs)
    return _operators.found(name)(value, *args, **kwargs)


# -- reading ----------------------------------------------------------------------------------------------------------------------------


_BREAK, _CONTINUE = object(), object()


class _Reader:
    """Makes functions of scopes of the source of one function."""

    def __init__(self, unit: Unit, node: ast.FunctionDef) -> None:
        self.unit = unit
        names = (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        self.local = {*names, *[a.arg for a in ast.walk(node) if isinstance(a, ast.arg)]}

    # statements

    def block(self, body: list[ast.stmt]) -> Statement:
        """Several statements: what leaves them early is `_BREAK`, `_CONTINUE`, or the tuple (True, what is returned)."""
        try:
            steps = [self.statement(s) for s in body]
        except RecursionError:
            raise Refused("source that is nested too deeply") from None

        def run(scope: Scope) -> Any:
            for step in steps:
                left = step(scope)
                if left is not None:
                    return left
            return None

        return run

    def statement(self, node: ast.stmt) -> Statement:
        method = getattr(self, "do_" + type(node).__name__, None)
        if method is None:
            refuse(node)
        found: Statement = method(node)
        return found

    def do_Expr(self, node: ast.Expr) -> Statement:
        value = self.expression(node.value)

        def run(scope: Scope) -> None:
            value(scope)

        return run

    def do_Pass(self, node: ast.Pass) -> Statement:
        return lambda scope: None

    def do_Break(self, node: ast.Break) -> Statement:
        return lambda scope: _BREAK

    def do_Continue(self, node: ast.Continue) -> Statement:
        return lambda scope: _CONTINUE

    def do_Return(self, node: ast.Return) -> Statement:
        if node.value is None:
            return lambda scope: (True, None)
        value = self.expression(node.value)
        return lambda scope: (True, value(scope))

    def do_Assign(self, node: ast.Assign) -> Statement:
        value, targets = self.expression(node.value), [self.target(t) for t in node.targets]

        def run(scope: Scope) -> None:
            found = value(scope)
            for target in targets:
                target(scope, found)

        return run

    def do_AnnAssign(self, node: ast.AnnAssign) -> Statement:
        if node.value is None:
            return lambda scope: None
        value, target = self.expression(node.value), self.target(node.target)
        return lambda scope: target(scope, value(scope))

    def do_AugAssign(self, node: ast.AugAssign) -> Statement:
        function = _IN_PLACE.get(type(node.op)) or _BINARY.get(type(node.op)) or refuse(node.op)
        load = {ast.Name: lambda t: ast.Name(t.id, ast.Load()), ast.Attribute: lambda t: ast.Attribute(t.value, t.attr, ast.Load()),
                ast.Subscript: lambda t: ast.Subscript(t.value, t.slice, ast.Load())}[type(node.target)](node.target)
        before, value, target = self.expression(load), self.expression(node.value), self.target(node.target)
        return lambda scope: target(scope, function(before(scope), value(scope)))

    def do_If(self, node: ast.If) -> Statement:
        test, body, other = self.expression(node.test), self.block(node.body), self.block(node.orelse)
        return lambda scope: (body if test(scope) else other)(scope)

    def do_While(self, node: ast.While) -> Statement:
        test = self.expression(node.test)

        def rounds(scope: Scope) -> Iterator[None]:
            while test(scope):
                yield

        return self.loop(node, rounds)

    def do_For(self, node: ast.For) -> Statement:
        items, target = self.expression(node.iter), self.target(node.target)

        def rounds(scope: Scope) -> Iterator[None]:
            for item in _items(items(scope)):
                target(scope, item)
                yield

        return self.loop(node, rounds)

    def loop(self, node: ast.While | ast.For, rounds: Callable[[Scope], Iterator[None]]) -> Statement:
        """The body of a loop, carried out in each of its rounds."""
        if node.orelse:
            refuse(node)
        body = self.block(node.body)

        def run(scope: Scope) -> Any:
            for _ in rounds(scope):
                left = body(scope)
                if left is _BREAK:
                    break
                if left is not None and left is not _CONTINUE:
                    return left
            return None

        return run

    def do_Assert(self, node: ast.Assert) -> Statement:
        test, text = self.expression(node.test), None if node.msg is None else self.expression(node.msg)

        def run(scope: Scope) -> None:
            if not test(scope):
                raise Error(f"AssertionError: {'' if text is None else text(scope)}")

        return run

    def do_Raise(self, node: ast.Raise) -> Statement:
        named = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if not isinstance(named, ast.Name):
            refuse(node)
        kind = named.id
        parts = [self.expression(a) for a in node.exc.args] if isinstance(node.exc, ast.Call) else []

        def run(scope: Scope) -> NoReturn:
            raise Error(f"{kind}: {', '.join([str(p(scope)) for p in parts])}")

        return run

    def do_Delete(self, node: ast.Delete) -> Statement:
        places = [(self.expression(t.value), self.expression(t.slice)) for t in node.targets if isinstance(t, ast.Subscript)]
        if len(places) != len(node.targets):
            refuse(node)

        def run(scope: Scope) -> None:
            for holder, key in places:
                del holder(scope)[key(scope)]

        return run

    def do_With(self, node: ast.With) -> Statement:
        held, body = [self.expression(item.context_expr) for item in node.items], self.block(node.body)
        if [item for item in node.items if item.optional_vars is not None and not isinstance(item.optional_vars, ast.Name)]:
            refuse(node)

        def run(scope: Scope) -> Any:
            import contextlib

            with contextlib.ExitStack() as stack:
                for one in held:
                    value = one(scope)
                    if not isinstance(value, Object):
                        raise RuntimeError("With item expression must return an object")
                    stack.callback(call_method, value, "__exit__", [None, None, None], {})
                    call_method(value, "__enter__", [], {})
                return body(scope)

        return run

    def target(self, node: ast.expr) -> Callable[[Scope, Any], None]:
        """What gives a target its value."""
        if isinstance(node, ast.Name):
            name = node.id
            return lambda scope, value: scope.__setitem__(name, value)
        if isinstance(node, (ast.Tuple, ast.List)):
            parts = [self.target(t) for t in node.elts]

            def unpack(scope: Scope, value: object) -> None:
                values = list(_items(value))
                if len(values) != len(parts):
                    raise RuntimeError(f"Provided {len(values)} values for {len(parts)} targets")
                for part, item in zip(parts, values):
                    part(scope, item)

            return unpack
        if isinstance(node, ast.Subscript):
            holder, key = self.expression(node.value), self.key(node.slice)
            return lambda scope, value: _set_item(holder(scope), key(scope), value)
        if isinstance(node, ast.Attribute):
            owner, name = self.expression(node.value), node.attr
            return lambda scope, value: _set_field(owner(scope), name, value)
        refuse(node)

    # expressions

    def expression(self, node: ast.expr) -> Expression:
        method = getattr(self, "of_" + type(node).__name__, None)
        if method is None:
            refuse(node)
        found: Expression = method(node)
        return found

    def several(self, nodes: list[ast.expr]) -> Callable[[Scope], list[Any]]:
        parts = [(isinstance(n, ast.Starred), self.expression(n.value if isinstance(n, ast.Starred) else n)) for n in nodes]

        def run(scope: Scope) -> list[Any]:
            found: list[Any] = []
            for spread, part in parts:
                found.extend(_items(part(scope))) if spread else found.append(part(scope))
            return found

        return run

    def of_Constant(self, node: ast.Constant) -> Expression:
        value = node.value
        if value.__class__ not in (int, float, str, bool, complex, type(None), type(Ellipsis)):
            refuse(node)
        return lambda scope: value

    def of_Name(self, node: ast.Name) -> Expression:
        name = node.id
        if name not in self.local:
            if name not in _WORDS:
                refuse(node, f"undefined value {name}")
            word = _WORDS[name]
            return lambda scope: word

        def read(scope: Scope) -> Any:
            if name not in scope:
                raise RuntimeError(f"{name} is not defined in the false branch")
            return scope[name]

        return read

    def of_Attribute(self, node: ast.Attribute) -> Expression:
        path = self.path(node)
        if path is None:
            owner, name = self.expression(node.value), node.attr
            return lambda scope: attribute(owner(scope), name)
        root, _, rest = path.partition(".")
        if root == "CONSTANTS" and rest[:1] == "c" and rest[1:].isdecimal() and int(rest[1:]) < len(self.unit.constants):
            value = self.unit.constants[int(rest[1:])]
            return lambda scope: value
        if root == "__torch__":
            return self.function(path, node)
        refuse(node, f"{path} is no value")

    def path(self, node: ast.expr) -> str | None:
        """`torch.a.b` of a name that is not a variable's; None of a value."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.insert(0, node.attr)
            node = node.value
        return ".".join([node.id, *names]) if isinstance(node, ast.Name) and node.id in _ROOTS and node.id not in self.local else None

    def function(self, path: str, node: ast.AST) -> Expression:
        """What a path stands for that is called; a `__torch__` one may be held in a variable."""
        root, _, rest = path.partition(".")
        if root == "__torch__":
            unit, found = self.unit, self.unit.find(path)
            value = (lambda *args: unit.made(found, args)) if isinstance(found, Class) else found
            return lambda scope: value
        if root == "CONSTANTS":
            refuse(node)
        called = _operators.found(rest) if root == "torch" else _operators.of_namespace(*rest.partition(".")[::2])
        return lambda scope: called

    def of_Call(self, node: ast.Call) -> Expression:
        func = node.func
        if isinstance(func, ast.Name) and func.id not in self.local:
            special = getattr(self, "call_" + func.id, None)
            if special is not None:
                found: Expression = special(node)
                return found
        args = self.several(node.args)
        if any([k.arg is None for k in node.keywords]):
            refuse(node)
        named = [(k.arg, self.expression(k.value)) for k in node.keywords]

        def options(scope: Scope) -> dict[Any, Any]:
            return {name: value(scope) for name, value in named}

        if isinstance(func, ast.Attribute):
            path = self.path(func)
            if path is None:
                owner, name = self.expression(func.value), func.attr
                return lambda scope: call_method(owner(scope), name, args(scope), options(scope))
            called = self.function(path, node)
            return lambda scope: called(scope)(*args(scope), **options(scope))
        if not isinstance(func, ast.Name):
            refuse(node)
        if func.id in self.local:
            held = self.of_Name(func)
            return lambda scope: _callable(held(scope))(*args(scope), **options(scope))
        builtin = _operators.BUILTINS.get(func.id) or refuse(node, f"undefined value {func.id}")
        return lambda scope: builtin(*args(scope), **options(scope))

    def call_annotate(self, node: ast.Call) -> Expression:
        return self.expression(node.args[1])

    call_unchecked_cast = call_annotate

    def call_uninitialized(self, node: ast.Call) -> Expression:
        return lambda scope: None

    def call_getattr(self, node: ast.Call) -> Expression:
        owner, name = self.expression(node.args[0]), ast.literal_eval(node.args[1])
        if type(name) is not str or len(node.args) != 2:
            refuse(node)
        return lambda scope: attribute(owner(scope), name)

    def call_isinstance(self, node: ast.Call) -> Expression:
        value, kinds = self.expression(node.args[0]), node.args[1]
        tests = [self.test(k) for k in (kinds.elts if isinstance(kinds, (ast.Tuple, ast.List)) else [kinds])]
        return lambda scope: any([test(value(scope)) for test in tests])

    def call_fork(self, node: ast.Call) -> Expression:
        function, args = self.expression(node.args[0]), self.several(node.args[1:])
        return lambda scope: _fork(_callable(function(scope)), *args(scope))

    def test(self, node: ast.expr) -> Callable[[Any], bool]:
        """Whether a value is of a type."""
        if isinstance(node, ast.Subscript):
            name = ast.unparse(node.value)
            inner = [self.test(p) for p in (node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])]
            if name == "List":
                return lambda value: isinstance(value, list) and all([inner[0](x) for x in value])
            if name == "Dict":
                return lambda value: isinstance(value, dict) and all([inner[0](k) and inner[1](v) for k, v in value.items()])
            if name == "Tuple":
                return lambda value: isinstance(value, tuple) and len(value) == len(inner) and all([t(x) for t, x in zip(inner, value)])
            if name in ("Optional", "Union"):
                return lambda value: name == "Optional" and value is None or any([t(value) for t in inner])
            refuse(node)
        path = ast.unparse(node)
        kind = _operators.TYPES.get(path)
        if kind is not None:
            return lambda value: type(value) is kind if kind in (int, bool, float) else isinstance(value, kind)
        if path.startswith("__torch__."):
            cls = self.unit.find(path)
            return lambda value: getattr(value, "cls", None) is cls or isinstance(value, getattr(cls, "tuple", Object)) and isinstance(
                value, tuple)
        refuse(node, f"Unknown type name '{path}'")

    def of_BinOp(self, node: ast.BinOp) -> Expression:
        function, left, right = _BINARY.get(type(node.op)) or refuse(node.op), self.expression(node.left), self.expression(node.right)
        return lambda scope: function(left(scope), right(scope))

    def of_UnaryOp(self, node: ast.UnaryOp) -> Expression:
        function, value = _UNARY[type(node.op)], self.expression(node.operand)
        return lambda scope: function(value(scope))

    def of_BoolOp(self, node: ast.BoolOp) -> Expression:
        parts, until = [self.expression(v) for v in node.values], isinstance(node.op, ast.Or)

        def run(scope: Scope) -> Any:
            value: Any = None
            for part in parts:
                value = part(scope)
                if bool(value) is until:
                    break
            return value

        return run

    def of_Compare(self, node: ast.Compare) -> Expression:
        first, rest = self.expression(node.left), [(_COMPARED[type(o)], self.expression(c)) for o, c in zip(node.ops, node.comparators)]

        def run(scope: Scope) -> Any:
            left, found = first(scope), True
            for compare, part in rest:
                right = part(scope)
                found = compare(left, right)
                if len(rest) > 1 and not found:
                    break
                left = right
            return found

        return run

    def of_IfExp(self, node: ast.IfExp) -> Expression:
        test, yes, no = self.expression(node.test), self.expression(node.body), self.expression(node.orelse)
        return lambda scope: yes(scope) if test(scope) else no(scope)

    def of_List(self, node: ast.List) -> Expression:
        return self.several(node.elts)

    def of_Tuple(self, node: ast.Tuple) -> Expression:
        parts = self.several(node.elts)
        return lambda scope: tuple(parts(scope))

    def of_Dict(self, node: ast.Dict) -> Expression:
        parts = [(self.expression(k if k is not None else refuse(node)), self.expression(v)) for k, v in zip(node.keys, node.values)]
        return lambda scope: {key(scope): value(scope) for key, value in parts}

    def of_JoinedStr(self, node: ast.JoinedStr) -> Expression:
        if [p for p in node.values if isinstance(p, ast.FormattedValue) and (p.format_spec is not None or p.conversion != -1)]:
            refuse(node)
        parts = [self.expression(p.value if isinstance(p, ast.FormattedValue) else p) for p in node.values]
        return lambda scope: "".join([_operators.text(part(scope)) for part in parts])

    def comprehension(self, node: ast.ListComp | ast.DictComp, made: Callable[[Scope], Any]) -> Callable[[Scope], Iterator[Any]]:
        if len(node.generators) != 1 or node.generators[0].is_async:
            refuse(node)
        one = node.generators[0]
        items, target, tests = self.expression(one.iter), self.target(one.target), [self.expression(t) for t in one.ifs]

        def run(scope: Scope) -> Iterator[Any]:
            inner = dict(scope)
            for item in _items(items(scope)):
                target(inner, item)
                if all([test(inner) for test in tests]):
                    yield made(inner)

        return run

    def of_ListComp(self, node: ast.ListComp) -> Expression:
        found = self.comprehension(node, self.expression(node.elt))
        return lambda scope: list(found(scope))

    of_GeneratorExp: Any = of_ListComp

    def of_DictComp(self, node: ast.DictComp) -> Expression:
        key, value = self.expression(node.key), self.expression(node.value)
        found = self.comprehension(node, lambda scope: (key(scope), value(scope)))
        return lambda scope: dict(found(scope))

    def of_Subscript(self, node: ast.Subscript) -> Expression:
        holder, key = self.expression(node.value), self.key(node.slice)
        return lambda scope: _item(holder(scope), key(scope))

    def key(self, node: ast.expr) -> Expression:
        """What stands in brackets."""
        if isinstance(node, ast.Slice):
            parts = [(lambda scope: None) if p is None else self.expression(p) for p in (node.lower, node.upper, node.step)]
            return lambda scope: slice(*[p(scope) for p in parts])
        if isinstance(node, ast.Tuple):
            keys = [self.key(k) for k in node.elts]
            return lambda scope: tuple([k(scope) for k in keys])
        return self.expression(node)


def _items(value: object) -> Any:
    """What is gone through."""
    if isinstance(value, (list, tuple, dict, str, range, torch.Tensor, _operators.Items)):
        return value
    if isinstance(value, torch.nn.Module):
        return list(value.children())
    raise RuntimeError(f"'{_operators.type_name(value)}' object is not iterable")


def _item(holder: Any, key: Any) -> Any:
    if isinstance(holder, (list, str, tuple, dict, torch.Tensor, range)):
        if isinstance(holder, dict) and key not in holder:
            raise RuntimeError("Argument passed to at() was not in the map.")
        try:
            return holder[key]
        except IndexError as error:
            raise error if isinstance(holder, torch.Tensor) else IndexError(f"{type(holder).__name__} index out of range") from None
    if isinstance(holder, torch.nn.Module):
        return list(holder.children())[key] if isinstance(key, int) else attribute(holder, key)
    if isinstance(holder, Object):
        return call_method(holder, "__getitem__", [key], {})
    raise RuntimeError(f"'{_operators.type_name(holder)}' object is not subscriptable")


def _set_item(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, (list, dict, torch.Tensor)):
        holder[key] = value
    elif isinstance(holder, Object):
        call_method(holder, "__setitem__", [key, value], {})
    else:
        raise RuntimeError(f"'{_operators.type_name(holder)}' object does not support item assignment")


def _set_field(owner: object, name: str, value: object) -> None:
    if isinstance(owner, Object):
        owner.attributes[name] = value
    elif isinstance(owner, torch.nn.Module) and not name.startswith("__"):
        MODULES.set_field(owner, name, value)
    elif isinstance(owner, torch.Tensor) and name in ("requires_grad", "grad", "data"):
        setattr(owner, name, value)
    else:
        raise RuntimeError(f"'{_operators.type_name(owner)}' object has no attribute '{name}'")


def _callable(value: Any) -> Fn:
    if isinstance(value, Function) or MODULES.is_function(value):
        return value
    if isinstance(value, torch.nn.Module):
        return MODULES.method(value, "forward")
    raise RuntimeError(f"cannot call a value of type {_operators.type_name(value)}")


__all__ = ["Class", "Function", "Object", "Refused", "Unit", "attribute", "call_method", "constant", "schema_type", "signature"]
