"""Graphs of sources in TorchScript's language (`_code`), read when somebody asks; nothing is carried out by them.

A variable that is assigned again is another value; what a branch or a loop assigns is an output of its node, as in torch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

import torchcompat as torch
from torchcompat._library.schema import Type
from torchcompat._calls.aten import OpOverload

from ._graph import Block, Graph, GraphType, Node, TensorType, Value, shown

__all__ = ["graph_of"]

_OPERATORS = {"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "div", "FloorDiv": "floordiv", "Mod": "remainder", "Pow": "pow",
              "MatMult": "matmul", "BitAnd": "__and__", "BitOr": "__or__", "BitXor": "__xor__", "LShift": "__lshift__",
              "RShift": "__rshift__", "USub": "neg", "Not": "__not__", "Invert": "bitwise_not", "Eq": "eq", "NotEq": "ne", "Lt": "lt",
              "LtE": "le", "Gt": "gt", "GtE": "ge", "Is": "__is__", "IsNot": "__isnot__", "In": "__contains__", "NotIn": "__contains__"}
"""ATen's names of Python's operators."""
_CASTS = {"int": ("aten::Int", "int"), "float": ("aten::Float", "float"), "bool": ("aten::Bool", "bool"), "str": ("aten::str", "str"),
          "len": ("aten::len", "int"), "print": ("prim::Print", "NoneType"), "isinstance": ("prim::isinstance", "bool"),
          "list": ("aten::list", "t[]"), "range": ("aten::range", "int[]"), "abs": ("aten::abs", ""), "max": ("prim::max", ""),
          "min": ("prim::min", ""), "ord": ("aten::ord", "int"), "chr": ("aten::chr", "str"), "round": ("aten::round", ""),
          "sorted": ("aten::sorted", ""), "enumerate": ("aten::enumerate", ""), "zip": ("aten::zip", ""), "tuple": ("aten::tuple", ""),
          "dict": ("aten::dict", ""), "hash": ("aten::hash", "int"), "pow": ("aten::pow", ""), "divmod": ("aten::divmod", "")}
"""Functions of Python: (operation, the type that it gives)."""
_FIELDS = {"shape": "int[]", "device": "Device", "dtype": "int", "layout": "int", "requires_grad": "bool", "ndim": "int", "is_cuda": "bool",
           "grad": "Tensor?", "itemsize": "int", "nbytes": "int"}
"""Of tensors, that are none."""
_Scope = dict[str, Value]
Inner = Callable[[str], tuple[ast.FunctionDef, Mapping[str, Type], tuple[Any, ...]] | None]


class _Builder:
    """Reads a function.

    Args:
        graph: gets the nodes.
        types: of values by the names that the function has for them, where a trace saw them.
        constants: the tensors that the program names.
        inner: the function that a path of a module's method leads to, for graphs in which calls are carried out in place.
        field: what a path that begins with `self` leads to.
    """

    def __init__(self, graph: Graph, types: Mapping[str, Type], constants: tuple[Any, ...], scripted: bool,
                 inner: Inner | None, field: Callable[[str], Any]) -> None:
        self.graph, self.types, self.constants, self.scripted, self.inner = graph, types, constants, scripted, inner
        self.field = field
        self.block: Block = graph

    # -- nodes

    def value(self, node: Node, kind: Type, wish: str = "", known: bool = False) -> Value:
        """A new output of a node; its type is `known`, or may be that which a trace saw."""
        made = Value(node, self.graph._name(wish, self.scripted and bool(wish), known), kind if known else self.types.get(wish, kind),
                     self.graph._count)
        node._outputs.append(made)
        return made

    def node(self, kind: str, inputs: list[Value], gives: str | Type | None, attributes: Mapping[str, Any] | None = None,
             wish: str = "") -> Value:
        """A new node, and its output."""
        made = Node(self.block, kind, inputs, attributes)
        self.block._nodes.append(made)
        if gives is None:
            return Value(made, "", Type("NoneType"), 0)  # which nobody names
        return self.value(made, _typed(gives) if isinstance(gives, str) else gives, wish, kind == "prim::GetAttr")

    def constant(self, value: Any) -> Value:
        """A constant."""
        kind = next((name for name, type_ in (("bool", bool), ("int", int), ("float", float), ("str", str), ("complex", complex))
                     if isinstance(value, type_)), "NoneType" if value is None else "Tensor" if isinstance(value, torch.Tensor) else "Any")
        gives: Any = TensorType(value) if isinstance(value, torch.Tensor) else kind
        return self.node("prim::Constant", [], gives, {"value": value})

    def wrapped(self, value: Value) -> Value:
        """A number as the tensor that operations on tensors make of it; any other value as it is."""
        made = value.node()
        number = made._attributes.get("value")
        if made.kind() == "prim::Constant" and isinstance(number, (bool, int, float, complex)):
            made._number = number
            made._attributes["value"] = torch.tensor(number, dtype=torch.float64 if isinstance(number, float) else None)
            value.setType(TensorType(made._attributes["value"]))
        return value

    def listed(self, values: list[Value], kind: str = "", wish: str = "") -> Value:
        """A list."""
        one = kind or (values[0]._type.str() if values else "Tensor")
        return self.node("prim::ListConstruct", values, f"{one}[]", None, wish)

    def aten(self, name: str, inputs: list[Value], named: Mapping[str, Value], wish: str = "", gives: str = "") -> Value:
        """A call of ATen's, with all arguments of the schema that fits."""
        if name in ("size", "stride"):
            return self.node(f"aten::{name}", [*inputs, *named.values()], "int[]" if len(inputs) + len(named) == 1 else "int", None, wish)
        overload = _fitting(name, inputs, named)
        if overload is None:
            kinds = [v._type for v in inputs]
            one = kinds[0].is_list if kinds else False
            plain = kinds[0].str() if one else "Tensor" if any(k.is_tensor for k in kinds) or not kinds else kinds[0].str()
            compared = name in ("eq", "ne", "lt", "le", "gt", "ge", "__is__", "__isnot__", "__not__", "__contains__")
            truth = compared and (plain != "Tensor" or name.startswith("__"))
            return self.node(f"aten::{name}", [*inputs, *named.values()], gives or ("bool" if truth else plain), None, wish)
        if not self.scripted and overload._overloadname == "Scalar" and hasattr(getattr(torch.ops.aten, name), "Tensor"):
            overload = getattr(torch.ops.aten, name).Tensor  # which programs call with numbers, too: they are tensors to traces
            inputs = [self.wrapped(v) for v in inputs]
        given = list[Value]()
        for i, argument in enumerate(overload._schema.arguments):
            found = inputs[i] if i < len(inputs) else named.get(argument.name)
            if found is None:
                default = argument.default_value
                found = self.listed([self.constant(x) for x in default], "int") if isinstance(default, (list, tuple)) \
                    else self.constant(default)
            elif len(argument.type.wrappers) and argument.type.is_list and found._type.str() in ("int", "float", "bool"):
                found = self.listed([found])
            given.append(found)
        returns = overload._schema.returns
        if not returns:
            return self.node(f"aten::{name}", given, None)
        if len(returns) > 1:
            value = self.node(f"aten::{name}", given, returns[0].type)
            made = value.node()
            made._schema = str(overload._schema)
            rest = [self.value(made, r.type) for r in returns[1:]]
            return self.node("prim::TupleConstruct", [value, *rest], _tuple([value, *rest]), None, wish)
        value = self.node(f"aten::{name}", given, returns[0].type, None, wish)
        value.node()._schema = str(overload._schema)
        return value

    # -- expressions

    def read(self, node: ast.expr, scope: _Scope, wish: str = "") -> Value:
        """The value of an expression."""
        method = getattr(self, f"of_{type(node).__name__}", None)
        if method is None:
            return self.node(f"prim::{type(node).__name__}", [self.read(n, scope) for n in ast.iter_child_nodes(node)
                                                             if isinstance(n, ast.expr)], "Any", None, wish)
        found: Value = method(node, scope, wish)
        return found

    def of_Constant(self, node: ast.Constant, scope: _Scope, wish: str) -> Value:
        return self.constant(node.value)

    def of_Name(self, node: ast.Name, scope: _Scope, wish: str) -> Value:
        found = scope.get(node.id)
        return self.node("prim::Constant", [], "Any", {"name": node.id}) if found is None else found

    def of_Attribute(self, node: ast.Attribute, scope: _Scope, wish: str) -> Value:
        path = ast.unparse(node)
        if path in scope:
            return scope[path]
        if path.startswith("CONSTANTS.c"):
            return self.constant(self.constants[int(path.removeprefix("CONSTANTS.c"))])
        if path.startswith("torch."):
            return self.constant(getattr(torch, node.attr, None))
        owner = self.read(node.value, scope)
        if owner._type.name == "Tensor" and not owner._type.wrappers:
            if node.attr == "shape":
                return self.aten("size", [owner], {}, wish, "int[]")
            return self.node(f"prim::{node.attr}", [owner], _FIELDS.get(node.attr, "Tensor"), None, wish)
        return self.attribute(owner, node.attr, path, scope)

    def attribute(self, owner: Value, name: str, path: str, scope: _Scope) -> Value:
        """A field of a module, read once in each block."""
        value = self.field(path)
        kind = "Tensor"
        if isinstance(value, torch.nn.Module):
            kind = str(getattr(value, "_type", lambda: type(value).__name__)())
        elif not isinstance(value, torch.Tensor):
            kind = next((n for n, t in (("bool", bool), ("int", int), ("float", float), ("str", str)) if isinstance(value, t)), "Any")
            if isinstance(value, (list, tuple)) and value and isinstance(value[0], int):
                kind = "int[]"
        found = scope[path] = self.node("prim::GetAttr", [owner], kind, {"name": name}, name if name.isidentifier() else "_" + name)
        return found

    def of_Call(self, node: ast.Call, scope: _Scope, wish: str) -> Value:
        path, args = ast.unparse(node.func), node.args
        if path == "getattr" and len(args) == 2 and isinstance(args[1], ast.Constant):
            whole = ast.unparse(node)
            return scope[whole] if whole in scope else self.attribute(self.read(args[0], scope), str(args[1].value), whole, scope)
        if path in ("annotate", "unchecked_cast"):
            found = self.read(args[1], scope, wish)
            return found if found.node().kind() == "prim::Constant" else found.setType(_typed(ast.unparse(args[0])))
        given = [self.read(a.value if isinstance(a, ast.Starred) else a, scope) for a in args]
        named = {str(k.arg): self.read(k.value, scope) for k in node.keywords}
        if path in _CASTS:
            kind, result = _CASTS[path]
            return self.node(kind, given, result or (given[0]._type.str() if given else "Any"), None, wish)
        space, _, name = path.rpartition(".")
        if space in ("torch", "ops.aten"):
            return self.aten(name, given, named, wish)
        if space.startswith("ops."):
            gives = None if name == "RaiseException" else "Tensor"
            return self.node(f"{space[4:]}::{name}", [*given, *named.values()], gives, None, wish)
        if path.startswith("__torch__") or not isinstance(node.func, ast.Attribute):
            if self.inner is None or (done := self.inlined(path, given, named, wish)) is None:
                function = self.node("prim::Constant", [], "Function", {"name": path.rpartition(".")[2]})
                return self.node("prim::CallFunction", [function, *given, *named.values()], "Tensor", None, wish)
            return done
        owner = self.read(node.func.value, scope)
        if owner._type.name.startswith("__torch__"):
            if self.inner is not None and (done := self.inlined(path, [owner, *given], named, wish)) is not None:
                return done
            return self.node("prim::CallMethod", [owner, *given, *named.values()], "Tensor", {"name": name}, wish)
        return self.aten(name, [owner, *given], named, wish)

    def inlined(self, path: str, given: list[Value], named: Mapping[str, Value], wish: str) -> Value | None:
        """What a method gives, its operations put in the place of the call; None: it is not known."""
        assert self.inner is not None
        found = self.inner(path)
        if found is None:
            return None
        node, types, constants = found
        home = path.rpartition(".")[0]

        def deeper(inside: str) -> Any:
            assert self.inner is not None
            own = inside.startswith("__torch__")
            return self.inner(inside if own else re.sub(r"(?<![\w.])self(?!\w)", lambda _: home, inside, count=1))

        reader = _Builder(self.graph, types, constants, self.scripted, deeper, lambda inside: self.field(
            re.sub(r"(?<![\w.])self(?!\w)", lambda _: home, inside, count=1)))
        reader.block = self.block
        scope = {**dict(zip([a.arg for a in node.args.args], given)), **named}
        for a, default in zip(reversed(node.args.args), reversed(node.args.defaults)):
            if a.arg not in scope:
                scope[a.arg] = reader.read(default, {})
        result = reader.body(node.body, scope)
        return self.constant(None) if result is None else result

    def of_BinOp(self, node: ast.BinOp, scope: _Scope, wish: str) -> Value:
        name = _OPERATORS[type(node.op).__name__]
        left, right = self.read(node.left, scope), self.read(node.right, scope)
        if left._type.is_list:
            return self.node(f"aten::{name}", [left, right], left._type, None, wish)
        numbers = not left._type.is_tensor and not right._type.is_tensor
        kinds = {left._type.str(), right._type.str()}
        gives = "float" if numbers and (name == "div" or "float" in kinds) else left._type.str() if numbers else "Tensor"
        first, second = (left, right) if left._type.is_tensor or numbers or name not in ("add", "mul") else (right, left)
        if numbers:
            return self.plain_operation(name, [first, second], gives, wish)
        return self.aten(name, [first, second], {}, wish)

    def plain_operation(self, name: str, pair: list[Value], gives: str, wish: str) -> Value:
        """An operation on two values that are no tensors."""
        found = self.node(f"aten::{name}", pair, gives, None, wish)
        kinds = [v._type.str() for v in pair]
        overload = f".{kinds[0]}" if kinds[0] == kinds[1] else f".{'_'.join(kinds)}"
        found.node()._schema = f"aten::{name}{overload}({kinds[0]} a, {kinds[1]} b) -> {gives}"
        return found

    def of_UnaryOp(self, node: ast.UnaryOp, scope: _Scope, wish: str) -> Value:
        inner = node.operand
        if isinstance(node.op, ast.USub) and isinstance(inner, ast.Constant) and isinstance(inner.value, (int, float)):
            return self.constant(-inner.value)
        found = self.read(inner, scope)
        name = _OPERATORS[type(node.op).__name__]
        return self.node(f"aten::{name}", [found], "bool" if name == "__not__" else found._type, None, wish)

    def of_BoolOp(self, node: ast.BoolOp, scope: _Scope, wish: str) -> Value:
        first = self.read(node.values[0], scope)
        rest = node.values[1] if len(node.values) == 2 else ast.BoolOp(node.op, node.values[1:])
        both = isinstance(node.op, ast.And)
        return self.chosen(first, lambda s: self.read(rest, s) if both else self.constant(True),
                           lambda s: self.constant(False) if both else self.read(rest, s), scope, wish)

    def of_IfExp(self, node: ast.IfExp, scope: _Scope, wish: str) -> Value:
        return self.chosen(self.read(node.test, scope), lambda s: self.read(node.body, s), lambda s: self.read(node.orelse, s), scope, wish)

    def chosen(self, test: Value, first: Callable[[_Scope], Value | None], second: Callable[[_Scope], Value | None], scope: _Scope,
               wish: str = "") -> Value:
        """The value of one of two, which are read in blocks of their own."""
        made = Node(self.block, "prim::If", [test])
        self.block._nodes.append(made)
        for branch in (first, second):
            block, before = Block(made), self.block
            made._blocks.append(block)
            self.block = block
            found = branch(dict(scope))
            block._outputs = [found if found is not None else self.constant(None)]
            self.block = before
        return self.value(made, made._blocks[0]._outputs[0]._type, wish)

    def of_Compare(self, node: ast.Compare, scope: _Scope, wish: str) -> Value:
        left, right = self.read(node.left, scope), self.read(node.comparators[0], scope)
        op = type(node.ops[0]).__name__
        pair = [right, left] if op in ("In", "NotIn") else [left, right]
        if any(v._type.is_tensor and not v._type.wrappers for v in pair) and op[:2] not in ("Is", "In", "No"):
            return self.aten(_OPERATORS[op], pair, {}, wish)
        found = self.plain_operation(_OPERATORS[op], pair, "bool", wish)
        return self.node("aten::__not__", [found], "bool", None, wish) if op == "NotIn" else found

    def of_Subscript(self, node: ast.Subscript, scope: _Scope, wish: str) -> Value:
        base = self.read(node.value, scope)
        kind = base._type
        made = base.node()
        if made.kind() == "prim::TupleConstruct" and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            return list(made.inputs())[node.slice.value]
        if kind.name != "Tensor" or kind.wrappers:
            if isinstance(node.slice, ast.Slice):
                return self.node("aten::slice", [base, *self.slice(node.slice, scope)], kind, None, wish)
            at, said = self.read(node.slice, scope), kind.str()
            inner = re.match(r"Dict\(\w+, (.*)\)$", said)
            parts, place = said[1:-1].split(", ") if said[0] == "(" else [], at.toIValue()
            gives = said[:-2] if kind.wrappers else inner.group(1) if inner else \
                parts[place] if isinstance(place, int) and -len(parts) <= place < len(parts) else "Tensor"
            return self.node("prim::TupleIndex" if said[0] == "(" else "aten::__getitem__", [base, at], gives, None, wish)
        dim = 0
        for key in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            if isinstance(key, ast.Slice):
                if key.lower is not None or key.upper is not None or key.step is not None:
                    base = self.aten("slice", [base, self.constant(dim), *self.slice(key, scope)], {})
                dim += 1
            elif isinstance(key, ast.Constant) and key.value is None:
                base, dim = self.aten("unsqueeze", [base, self.constant(dim)], {}), dim + 1
            elif isinstance(key, ast.Constant) and key.value is Ellipsis:
                dim = -1
            else:
                at = self.read(key, scope)
                base = self.aten("index", [base, self.listed([at], "Tensor?")], {}, "", "Tensor") if at._type.is_tensor \
                    else self.aten("select", [base, self.constant(dim), at], {})
        return base

    def slice(self, key: ast.Slice, scope: _Scope) -> list[Value]:
        """Beginning, end and step."""
        step = self.constant(1) if key.step is None else self.read(key.step, scope)
        return [*[self.constant(None) if bound is None else self.read(bound, scope) for bound in (key.lower, key.upper)], step]

    def of_List(self, node: ast.List, scope: _Scope, wish: str) -> Value:
        return self.listed([self.read(n, scope) for n in node.elts], "", wish)

    def of_Tuple(self, node: ast.Tuple, scope: _Scope, wish: str) -> Value:
        values = [self.read(n, scope) for n in node.elts]
        return self.node("prim::TupleConstruct", values, _tuple(values), None, wish)

    def of_Dict(self, node: ast.Dict, scope: _Scope, wish: str) -> Value:
        values = [self.read(n, scope) for pair in zip(node.keys, node.values) for n in pair if n is not None]
        kinds = ", ".join([v._type.str() for v in values[:2]]) or "str, Tensor"
        return self.node("prim::DictConstruct", values, f"Dict({kinds})", None, wish)

    def of_ListComp(self, node: ast.ListComp, scope: _Scope, wish: str) -> Value:
        (part,) = node.generators
        made = self.listed([], "", wish)
        body: list[ast.stmt] = [ast.Expr(node.elt)]

        def add(inner: _Scope) -> None:
            self.node("aten::append", [made, self.read(node.elt, inner)], None)

        self.loop(part.target, part.iter, body, dict(scope), add)
        return made

    # -- statements

    def body(self, statements: list[ast.stmt], scope: _Scope) -> Value | None:
        """Reads statements; gives what they return, None where they do not."""
        for i, statement in enumerate(statements):
            if isinstance(statement, ast.Return):
                return self.constant(None) if statement.value is None else self.read(statement.value, scope)
            if isinstance(statement, ast.If):
                rest = statements[i + 1:]
                if any(isinstance(inner, ast.Return) for part in (statement.body, statement.orelse) for inner in part):
                    first, second = [part if part and isinstance(part[-1], ast.Return) else [*part, *rest]
                                     for part in (statement.body, statement.orelse)]
                    return self.chosen(self.read(statement.test, scope), lambda s: self.body(first, s),
                                       lambda s: self.body(second, s), scope)
                self.branch(statement, scope)
            elif isinstance(statement, ast.For):
                self.loop(statement.target, statement.iter, statement.body, scope)
            elif isinstance(statement, ast.While):
                self.loop(None, statement.test, statement.body, scope)
            elif isinstance(statement, ast.With):
                found = self.body(statement.body, scope)
                if found is not None:
                    return found
            else:
                self.plain(statement, scope)
        return None

    def plain(self, statement: ast.stmt, scope: _Scope) -> None:
        """Reads a statement without others in it."""
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                wish = target.id if isinstance(target, ast.Name) else ""
                self.give(target, self.read(statement.value, scope, wish), scope)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            value = self.read(statement.value, scope)
            if value.node().kind() in ("prim::ListConstruct", "prim::DictConstruct"):
                value.setType(_typed(ast.unparse(statement.annotation)))
            self.give(statement.target, value, scope)
        elif isinstance(statement, ast.AugAssign):
            old, value = self.read(statement.target, scope), self.read(statement.value, scope)
            wish = statement.target.id if isinstance(statement.target, ast.Name) else ""
            name = _OPERATORS[type(statement.op).__name__]
            if old._type.is_list or old._type.is_tensor:
                found = self.aten(f"{name}_", [old, value], {}, wish, old._type.str())
            else:
                found = self.node(f"aten::{name}", [old, value], old._type, None, wish)
            self.give(statement.target, found, scope)
        elif isinstance(statement, ast.Raise):
            self.node("prim::RaiseException", [] if statement.exc is None else [self.read(statement.exc, scope)], None)
        elif isinstance(statement, ast.Assert):
            empty = ast.Raise(ast.Constant("AssertionError: ") if statement.msg is None else statement.msg)
            self.branch(ast.If(statement.test, [], [empty]), scope)
        elif isinstance(statement, (ast.Break, ast.Continue)):
            self.node(f"prim::{type(statement).__name__}Stmt", [], None)
        elif isinstance(statement, ast.Expr):
            self.read(statement.value, scope)

    def give(self, target: ast.expr, value: Value, scope: _Scope) -> None:
        """Assigns."""
        if isinstance(target, ast.Name):
            scope[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            made = value.node()
            values = list(made.inputs()) if made.kind() == "prim::TupleConstruct" else []
            if len(values) != len(target.elts):
                kinds = re.match(r"\((.*)\)$", value._type.str())
                parts = kinds.group(1).split(", ") if kinds else []
                unpack = Node(self.block, f"prim::{'Tuple' if kinds else 'List'}Unpack", [value])
                self.block._nodes.append(unpack)
                inner = Type(value._type.name, value._type.wrappers[:-1])
                values = [self.value(unpack, _typed(parts[i]) if i < len(parts) else inner) for i in range(len(target.elts))]
            for part, one in zip(target.elts, values):
                self.give(part, one, scope)
        elif isinstance(target, ast.Attribute):
            self.node("prim::SetAttr", [self.read(target.value, scope), value], None, {"name": target.attr})
            scope[ast.unparse(target)] = value
        elif isinstance(target, ast.Subscript):
            base = self.read(target.value, scope)
            if base._type.name == "Tensor" and not base._type.wrappers:
                place = self.of_Subscript(target, scope, "")
                self.aten("copy_", [place, value], {}) if value._type.is_tensor else self.aten("fill_", [place, value], {})
            else:
                self.node("aten::_set_item", [base, self.read(target.slice, scope), value], None)

    def branch(self, statement: ast.If, scope: _Scope) -> None:
        """A branch, whose outputs are the variables that one of its blocks assigns."""
        made = Node(self.block, "prim::If", [self.read(statement.test, scope)])
        self.block._nodes.append(made)
        scopes = list[_Scope]()
        before = self.block
        for part in (statement.body, statement.orelse):
            block, inner = Block(made), dict(scope)
            made._blocks.append(block)
            self.block = block
            self.body(part, inner)
            scopes.append(inner)
        self.block = before
        for name in scopes[0]:
            first, second = scopes[0][name], scopes[1].get(name)
            if second is not None and name.isidentifier() and (first is not scope.get(name) or second is not scope.get(name)):
                for block, value in zip(made._blocks, (first, second)):
                    block._outputs.append(value)
                scope[name] = self.value(made, first._type, name)

    def loop(self, target: ast.expr | None, source: ast.expr, body: list[ast.stmt], scope: _Scope,
             last: Callable[[_Scope], None] | None = None) -> None:
        """A loop; what it assigns of what was there before goes from turn to turn."""
        true = self.constant(True)
        assigned = [n.id for statement in body for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        carried = [name for name in dict.fromkeys(assigned) if name in scope]
        over = None
        if target is None:
            count, first = self.constant(9223372036854775807), self.read(source, scope)
        else:
            first = true
            bounds = source.args if isinstance(source, ast.Call) and ast.unparse(source.func) == "range" else None
            if bounds is not None and len(bounds) == 1:
                count = self.read(bounds[0], scope)
            else:
                over = self.read(source, scope)
                count = self.node("aten::len", [over], "int")
        made = Node(self.block, "prim::Loop", [count, first, *[scope[name] for name in carried]])
        self.block._nodes.append(made)
        block, inner, before = Block(made), dict(scope), self.block
        made._blocks.append(block)
        holder = Node(block, "prim::Param", [])
        turn = self.value(holder, Type("int"), target.id if isinstance(target, ast.Name) and over is None else "")
        for name in carried:
            inner[name] = self.value(holder, scope[name]._type, name)
        block._inputs = list(holder.outputs())
        self.block = block
        if over is not None:
            gives = over._type.str()
            inner_kind = gives[:-2] if gives.endswith("[]") else "Tensor"
            turn = self.node("aten::__getitem__", [over, turn], inner_kind, None, target.id if isinstance(target, ast.Name) else "")
        if target is not None:
            self.give(target, turn, inner)
        if last is None:
            self.body(body, inner)
        else:
            last(inner)
        block._outputs = [true if target is not None else self.read(source, inner), *[inner[name] for name in carried]]
        self.block = before
        for name in carried:
            scope[name] = self.value(made, scope[name]._type, name)


def _typed(text: str) -> Type:
    """The type that an annotation, or a schema, names."""
    match = re.fullmatch(r"Optional\[(.*)\]", text)
    if match:
        inner = _typed(match.group(1))
        return GraphType(inner.name, (*inner.wrappers, "?"))
    match = re.fullmatch(r"List\[(.*)\]", text) or re.fullmatch(r"(.*)\[\]", text)
    if match:
        inner = _typed(match.group(1))
        return GraphType(inner.name, (*inner.wrappers, "[]"))
    match = re.fullmatch(r"Tuple\[(.*)\]", text)
    if match:
        return GraphType(f"({match.group(1)})")
    match = re.fullmatch(r"Dict\[(\w+), (.*)\]", text)
    return GraphType(f"Dict({match.group(1)}, {_typed(match.group(2)).str()})") if match else GraphType(text[:-1], ("?",)) \
        if text.endswith("?") else GraphType(text)


def _tuple(values: list[Value]) -> Type:
    return GraphType(f"({', '.join([shown(v._type) for v in values])})")


def _fits(kind: Type, value: Value) -> bool:
    found = value._type
    if kind.is_list:
        if found.is_list:
            return found.name == kind.name or {found.name, kind.name} <= {"int", "SymInt"} or not value.node()._inputs
        wrapper = next(w for w in kind.wrappers if w != "?")
        return found.str() in ("int", "float") and len(wrapper) > 2 or found.name == "NoneType" and kind.wrappers[-1] == "?"
    if found.name == "NoneType":
        return "?" in kind.wrappers
    wanted = kind.str().rstrip("?")
    shown = "Tensor" if found.is_tensor and not found.is_list else found.str().rstrip("?")
    return (wanted == shown or wanted == "Scalar" and shown in ("int", "float", "bool", "complex") or wanted == "float" and shown == "int"
            or wanted in ("SymInt", "int") and shown in ("int", "bool") or shown in ("Any", "t"))


def _fitting(name: str, inputs: list[Value], named: Mapping[str, Value]) -> OpOverload | None:
    """The first overload that takes such arguments; None: there is none."""
    packet = getattr(torch.ops.aten, name, None)
    for overload in [] if packet is None else packet.overloads():
        found = getattr(packet, overload)
        arguments = found._schema.arguments
        fits = [_fits(a.type, inputs[i]) if i < len(inputs) else a.name in named or a.has_default_value()
                for i, a in enumerate(arguments)]
        if len(inputs) <= len(arguments) and set(named) <= {a.name for a in arguments} and all(fits):
            return found
    return None


def graph_of(node: ast.FunctionDef, home: str | None, types: Mapping[str, Type], constants: tuple[Any, ...], scripted: bool,
             inner: Inner | None, field: Callable[[str], Any]) -> Graph:
    """The graph of a function.

    Args:
        node: its source in TorchScript's language.
        home: the name of the class that it is a method of; None: it is none.
        types: of values by their names, where they are known.
        constants: the tensors that it names.
        scripted: it was not traced, so its values are named as torch does it there.
        inner: what a path of a method or function leads to; None: calls stay calls.
        field: what a path that begins with `self` leads to.
    """
    graph = Graph()
    builder = _Builder(graph, types, constants, scripted, inner, field)
    scope: _Scope = {}
    for i, a in enumerate(node.args.args):
        kind = GraphType(home) if home is not None and not i else _typed("Tensor" if a.annotation is None else ast.unparse(a.annotation))
        scope[a.arg] = builder.value(graph._params, kind, a.arg)
        if home is not None and not i and not scripted:
            scope[a.arg].setDebugName(f"{a.arg}.1")
    graph._inputs = list(graph._params.outputs())
    result = builder.body(node.body, scope)
    graph._outputs = [builder.constant(None) if result is None else result]
    graph._end = Node(graph, "prim::Return", graph._outputs)
    return graph
