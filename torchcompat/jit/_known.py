"""What is known of a Python function before it runs: what its names stand for, which modules it reaches, which conditions are constant.

`UNKNOWN` is what only a run tells. Whoever scripts a function (`_compiler`) takes the branches, unrolls the loops and writes the constants
that are found here.
"""

from __future__ import annotations

import ast
import inspect
import types
from typing import Any, NoReturn

from dataclasses import dataclass

from autograd_tape.annotations import Keywords
import torchcompat as torch

from . import _code, frontend

UNKNOWN: Any = object()
"""What stands for: this is known only when the program runs."""
_CHOSEN = (torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ModuleDict)


@dataclass(frozen=True, slots=True)
class Ref:
    """A module, and how it is reached."""

    face: Any
    node: ast.expr

    def child(self, name: str) -> Ref:
        """One of its submodules."""
        return Ref(self.face._modules[name], step(self.node, name))


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute of a module: its value now, which tests of constants may use."""

    value: Any


@dataclass(frozen=True, slots=True)
class Bound:
    """A method of a module."""

    ref: Ref
    name: str
    function: Any


def step(node: ast.expr, name: str) -> ast.expr:
    """`node.name`, as files write it."""
    if name.isidentifier():
        return ast.Attribute(node, name, ast.Load())
    return ast.Call(ast.Name("getattr", ast.Load()), [node, ast.Constant(name)], [])


def of_jit(function: object) -> str | None:
    """The name of one of the functions that programs use to speak of scripting; None of others."""
    module = getattr(function, "__module__", None) or ""
    return function.__name__ if module.startswith(("torchcompat.jit", "torchcompat._jit_internal")) and isinstance(
        function, types.FunctionType) else None


class Super:
    """`super()` in a method of a module."""

    def __init__(self, ref: Ref, classes: list[type]) -> None:
        self.ref, self.classes = ref, classes


class Known:
    """A Python function, of which it is asked what its expressions stand for.

    Attributes:
        ref: the module that it is a method of, `own` its name for that, and `home` the class that it stands in.
        globals, local, bound: the values of names around it, the names that it gives values, and what is known of these.
        python, file, first: the function, the file that it is in, and its first line there.
    """

    ref: Ref | None
    own: str | None
    home: type | None
    globals: Keywords
    local: set[str]
    bound: Keywords
    python: Any
    file: str
    first: int

    def owner(self) -> type | None:
        """The class that a method is defined in."""
        if self.ref is None or self.ref.face._actual is None:
            return None
        return next((c for c in type(self.ref.face._actual).__mro__ if self.python in vars(c).values()), None)

    def refuse(self, node: ast.AST, why: str) -> NoReturn:
        """Raises for what has no place in the language."""
        line = self.first + getattr(node, "lineno", 1) - 1
        shown = ast.unparse(node).split("\n")[0][:120]
        raise frontend.NotSupportedError(f'  File "{self.file}", line {line}\n    {shown}\n    {"~" * len(shown)} <--- HERE\n', why)

    def static(self, node: ast.expr | None) -> Any:
        """What an expression stands for, where that is known; `UNKNOWN` where it is not."""
        method = getattr(self, "known_" + type(node).__name__, None)
        return UNKNOWN if method is None else method(node)

    def known_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def known_Name(self, node: ast.Name) -> Any:
        if node.id in self.bound:
            return self.bound[node.id]
        if node.id == self.own:
            return self.ref
        if node.id in self.local:
            return UNKNOWN
        if node.id not in self.globals:
            if node.id == "__class__":
                return self.home
            self.refuse(node, f"undefined value {node.id}")
        return self.globals[node.id]

    def known_Attribute(self, node: ast.Attribute) -> Any:
        base = self.static(node.value)
        if base is UNKNOWN:
            return UNKNOWN
        if isinstance(base, Field):
            return UNKNOWN
        if isinstance(base, Ref):
            return self.known_field(base, node.attr)
        if isinstance(base, Super):
            for cls in base.classes:
                if node.attr in vars(cls):
                    return Bound(base.ref, f"{node.attr}_of_{cls.__name__}", vars(cls)[node.attr])
        if isinstance(base, (int, float, str, list, dict, tuple, torch.Tensor)) or base is None:
            return UNKNOWN
        return getattr(base, node.attr, UNKNOWN)

    def known_field(self, ref: Ref, name: str) -> Any:
        """`module.name`."""
        face = ref.face
        if name in face._modules:
            return None if face._modules[name] is None else ref.child(name)
        if name in face._parameters or name in face._buffers:
            return None if face._parameters.get(name, face._buffers.get(name)) is None else UNKNOWN
        if name == "training":
            return UNKNOWN
        actual = face._actual
        if actual is None:
            if name in face._methods:
                return Bound(ref, name, face._methods[name].function)
            return Field(face._fields[name]) if name in face._fields else UNKNOWN
        if name in actual.__dict__:
            value = actual.__dict__[name]
            if isinstance(value, types.MethodType):
                return Bound(ref, name, value.__func__)
            if callable(value) and not isinstance(value, (torch.Tensor, torch.dtype)) or value is None:
                return value
            return Field(value)
        found = inspect.getattr_static(type(actual), name, None)
        if isinstance(found, types.FunctionType):
            return Bound(ref, name, found)
        if isinstance(found, staticmethod):
            return found.__func__
        if isinstance(found, property):
            return Field(getattr(actual, name))
        return getattr(actual, name, UNKNOWN)

    def children(self, ref: Ref, node: ast.AST) -> list[Ref]:
        """The submodules of a container."""
        if ref.face.original_name not in ("ModuleList", "Sequential") and not isinstance(ref.face._actual, _CHOSEN):
            self.refuse(node, f"'{ref.face.original_name}' object is not iterable")
        return [ref.child(name) for name in ref.face._modules]

    def known_Subscript(self, node: ast.Subscript) -> Any:
        base = self.static(node.value)
        if isinstance(base, Ref):
            if isinstance(node.slice, ast.Slice):
                parts = [None if p is None else self.static(p) for p in (node.slice.lower, node.slice.upper, node.slice.step)]
                return self.children(base, node)[slice(*[getattr(p, "value", p) for p in parts])]
            key = self.static(node.slice)
            key = key.value if isinstance(key, Field) else key
            if isinstance(key, str):
                return base.child(key)
            if isinstance(key, int):
                return self.children(base, node)[key]
            return UNKNOWN
        if isinstance(base, list) and base and isinstance(base[0], Ref):
            key = self.static(node.slice)
            return UNKNOWN if key is UNKNOWN else base[key]
        return UNKNOWN

    def known_Tuple(self, node: ast.Tuple) -> Any:
        parts = [self.static(e) for e in node.elts]
        return UNKNOWN if any([p is UNKNOWN or isinstance(p, Field) for p in parts]) else tuple(parts)

    def known_List(self, node: ast.List) -> Any:
        parts = [self.static(e) for e in node.elts]
        return parts if parts and all([isinstance(p, Ref) for p in parts]) else UNKNOWN

    def known_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.static(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(value, (int, float)):
            return -value
        return not value if isinstance(node.op, ast.Not) and value is not UNKNOWN and not isinstance(value, (Field, Ref)) else UNKNOWN

    def known_BoolOp(self, node: ast.BoolOp) -> Any:
        stop = isinstance(node.op, ast.Or)
        unknown = False
        for part in node.values:
            value = self.static(part)
            if value is UNKNOWN or isinstance(value, Field):
                unknown = True
            elif bool(value) is stop:
                return value if not unknown or isinstance(value, bool) and not unknown else UNKNOWN
        return UNKNOWN if unknown else not stop

    def known_Compare(self, node: ast.Compare) -> Any:
        left, right = self.static(node.left), self.static(node.comparators[0])
        if len(node.ops) != 1:
            return UNKNOWN
        if isinstance(node.ops[0], (ast.Is, ast.IsNot)) and right is None:
            if left is UNKNOWN and isinstance(node.left, ast.Attribute) and isinstance(self.static(node.left.value), Ref):
                ref = self.static(node.left.value)
                if node.left.attr in ref.face._parameters or node.left.attr in ref.face._buffers:
                    return isinstance(node.ops[0], ast.IsNot)
            if left is UNKNOWN:
                return UNKNOWN
            return (left is None or isinstance(left, Field) and left.value is None) is isinstance(node.ops[0], ast.Is)
        values = [v.value if isinstance(v, Field) and isinstance(v.value, str) else v for v in (left, right)]
        if any([v is UNKNOWN or isinstance(v, (Field, Ref)) for v in values]):
            return UNKNOWN
        compare = _code._COMPARED[type(node.ops[0])]
        try:
            return compare(*values)
        except TypeError:
            return UNKNOWN

    def known_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            base = self.static(node.func.value)
            if isinstance(base, Ref) and node.func.attr in ("children", "values", "keys", "items", "named_children", "modules") and (
                    isinstance(base.face._actual, _CHOSEN)) and not node.args:
                names = list(base.face._modules)
                return {"children": lambda: [base.child(n) for n in names], "values": lambda: [base.child(n) for n in names],
                        "keys": lambda: names, "items": lambda: [(n, base.child(n)) for n in names],
                        "named_children": lambda: [(n, base.child(n)) for n in names]}.get(node.func.attr, lambda: UNKNOWN)()
        function = self.static(node.func)
        if function is UNKNOWN or isinstance(function, (Ref, Bound, Field)) or not callable(function):
            return UNKNOWN
        if of_jit(function) == "is_scripting":
            return True
        if of_jit(function) == "is_tracing" or getattr(function, "__name__", "") in (
                "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic", "is_compiling", "is_exporting"):
            return False
        if function is super and self.ref is not None:
            mro = type(self.ref.face._actual).__mro__
            cls = self.static(node.args[0]) if node.args else self.home
            return Super(self.ref, list(mro[mro.index(cls) + 1:]))
        args = [self.static(a) for a in node.args]
        if function is hasattr and isinstance(args[0], Ref):
            return hasattr(args[0].face, args[1]) or hasattr(args[0].face._actual, args[1])
        if function is getattr and isinstance(args[0], Ref) and isinstance(args[1], str):
            return self.known_field(args[0], args[1])
        if function is isinstance and isinstance(args[0], Ref):
            return isinstance(args[0].face._actual, args[1])
        if function is len and isinstance(args[0], Ref):
            return len(args[0].face._modules)
        lists = [self.children(a, node) if isinstance(a, Ref) else a for a in args]
        if function in (enumerate, zip, reversed, list, tuple) and any([isinstance(a, list) and a and isinstance(a[0], (Ref, tuple))
                                                                        for a in lists]):
            lists = [a.value if isinstance(a, Field) else a for a in lists]
            if any([a is UNKNOWN for a in lists]):
                self.refuse(node, "modules are gone through together with what is not known")
            return list(function(*lists))
        return UNKNOWN
