"""Graphs: nodes in the order of computation, and the Python code that computes them."""

from __future__ import annotations

import builtins
import contextlib
import copy
import inspect
import keyword
import math
import re
import types
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from collections.abc import Callable, Iterator

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Keywords
import torchcompat as torch
from torchcompat._calls.absent import absences as _absences
from torchcompat.utils import _pytree as pytree

from . import _pytree as fx_pytree
from .node import (
    Node, Target, _get_qualified_name, _type_repr, find_torch, inplace_methods, magic_methods, map_arg, public_module,
    reflectable_magic_methods,
)

if TYPE_CHECKING:
    from .graph_module import GraphModule

__all__ = ["PythonCode", "CodeGen", "Graph", "reflectable_magic_methods"]

class _CustomBuiltin(NamedTuple):
    """Something that the code of every graph may use: the line that imports it, and itself."""

    import_str: str
    obj: object


_custom_builtins = {
    "inf": _CustomBuiltin("from math import inf", math.inf),
    "nan": _CustomBuiltin("from math import nan", math.nan),
    "NoneType": _CustomBuiltin("NoneType = type(None)", type(None)),
    "torch": _CustomBuiltin("import torch", torch),
    "device": _CustomBuiltin("from torch import device", torch.device),
    "fx_pytree": _CustomBuiltin("import torch.fx._pytree as fx_pytree", fx_pytree),
    "pytree": _CustomBuiltin("import torch.utils._pytree as pytree", pytree),
}


def _is_from_torch(obj: object) -> bool:
    """Whether code reaches it as `torch...`."""
    module, name = getattr(obj, "__module__", None), getattr(obj, "__name__", None)
    if module is not None:
        return public_module(module).split(".")[0] == "torch"
    return name is not None and any([getattr(home, name, None) is obj for home in (torch, torch.nn.functional)])


def _snake_case(s: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", s).lower()


class _Namespace:
    """Names for objects: each object has one, no two the same, none that hides a built-in or what all code uses."""

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: object) -> str:
        """A new name like `candidate`; the one it has for an object that has one."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = re.fullmatch(r"([a-zA-Z_][0-9a-zA-Z_]*?)(?:_(\d+))?", candidate)
        assert match is not None
        base, digits = match.groups()
        if digits is None or candidate in self._used_names:
            number = self._base_count.get(base, 0)
            if self._hides(candidate, obj):
                number += 1
                candidate = f"{base}_{number}"
        else:
            number = int(digits)
        while candidate in self._used_names:
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    @staticmethod
    def _hides(name: str, obj: object) -> bool:
        if name in _custom_builtins:
            return _custom_builtins[name].obj is not obj
        return keyword.iskeyword(name) or name in builtins.__dict__ and builtins.__dict__[name] is not obj

    def associate_name_with_obj(self, name: str, obj: object) -> None:
        """Notes the name of an object that has none."""
        if self._obj_to_name.setdefault(obj, name) is not name:
            raise AssertionError("obj is already associated")

    def _rename_object(self, obj: object, name: str) -> None:
        if obj not in self._obj_to_name:
            raise AssertionError(f"Object {obj} is not in _obj_to_name")
        self._obj_to_name[obj] = name
        self._used_names.add(name)


@dataclass
class PythonCode:
    """The source of a function, the names that it uses, and from which node each line is."""

    src: str
    globals: Keywords
    _lineno_map: dict[int, int | None] | None
    _prologue_start: int = 0


def _format_target(base: str, target: str) -> str:
    for name in target.split("."):
        base = f"{base}.{name}" if name.isidentifier() else f'getattr({base}, "{name}")'
    return base


class _node_list:
    """The nodes of a graph, in order; they may be changed while one goes through them."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> Iterator[Node]:
        return iter(_node_list(self.graph, "_prev" if self.direction == "_next" else "_next"))


class CodeGen:
    """Writes the function of a graph; subclasses change its head, its inputs and its output."""

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line of `def`."""
        names = free_vars if free_vars and free_vars[0].split(" ")[0] == "self" else ["self", *free_vars]
        return f"def {self._func_name}({', '.join(names)}){maybe_return_annotation}:"

    def generate_output(self, output_args: object, *, descs: object = None, repr_fn: Callable[[Any], str] = repr) -> str:
        """The statement that returns."""
        return f"return {repr_fn(output_args)}"

    def process_inputs(self, *args: object) -> Any:
        """What the graph's inputs are of the function's arguments."""
        return args

    def process_outputs(self, outputs: object) -> Any:
        """What the function returns of the graph's output."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """(name, object) of what the code uses besides."""
        return []

    def _gen_python_code(self, nodes: Any, root_module: str, namespace: _Namespace, *, verbose: bool = False,
                         include_stride: bool = False, include_device: bool = False) -> PythonCode:
        writer = _Writer(namespace, root_module, verbose, include_stride, include_device)
        for name, value in self.additional_globals():
            writer.known(name, value)
        writer.globals.update({name: known.obj for name, known in _custom_builtins.items()})
        for node in nodes:
            writer.write(node, self)
        body = writer.body if writer.count else ["pass\n"]
        if self._body_transformer:
            body = self._body_transformer(body)
        wraps = [f'torch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped]
        wrap_text = "\n".join(wraps) + "\n" if wraps else "\n"
        prologue = self.gen_fn_def(writer.free_vars, writer.returned)
        text = "".join(body)
        indented = "\n".join(["    " + line for line in text.split("\n")])
        lines: dict[int, int | None] = {}
        total = 0
        for index, written in enumerate(body):
            for _ in range(written.count("\n")):
                total += 1
                lines[total] = writer.numbers[index] if index < len(writer.numbers) else None
        lines[total + 1] = writer.count - 1 if writer.count else None
        return PythonCode(f"\n{wrap_text}\n{prologue}\n{indented}", writer.globals, lines, wrap_text.count("\n") + 3)


def _takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function, which a program may have written for less, has a parameter."""
    parameters = inspect.signature(function).parameters
    return name in parameters or any([p.kind is p.VAR_KEYWORD for p in parameters.values()])


class _Writer:
    """The lines of a function, node by node."""

    def __init__(self, namespace: _Namespace, root: str, verbose: bool = False, strides: bool = False, devices: bool = False) -> None:
        self.namespace, self.root = namespace, root
        self.verbose, self.strides, self.devices, self.told = verbose, strides, devices, ""
        self.globals: Keywords = {}
        self.free_vars: list[str] = []
        self.wrapped: dict[str, None] = {}
        self.body: list[str] = []
        self.numbers: list[int | None] = []
        self.returned = ""
        self.count = 0

    def known(self, hint: str, obj: object) -> str:
        """How the code names an object: as it is reached from torch, or by a global name."""
        if _is_from_torch(obj) and obj is not torch.device:
            path = self.path_of(obj)
            if path is not None:
                return path
        name = self.namespace.create_name(hint.replace("<", "_").replace(">", "_") if "<" in hint else hint, obj)
        self.globals.setdefault(name, obj)
        return name

    @staticmethod
    def path_of(obj: object) -> str | None:
        """The dotted name below `torch` that leads to the object, if one does."""
        try:
            path = _get_qualified_name(obj)
        except (AttributeError, RuntimeError):
            return None
        candidates = [path, f"torch.{path.rpartition('.')[2]}", f"torch.{getattr(obj, '__qualname__', '')}"]
        found = next((p for p in candidates if p.split(".")[0] == "torch" and find_torch(p) is obj), None)
        single = found is None and path.split(".")[0] == "torch" and find_torch(path) is type(obj)  # a value with the name of its class
        return path if single else found

    def type_text(self, o: object) -> str:
        """An annotation as code."""
        if o == ():
            return "()"
        origin = getattr(o, "__origin__", None)
        if origin is None and isinstance(o, types.UnionType):
            origin = typing.Union
        named: object = {list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet,  # noqa: UP006
                 tuple: typing.Tuple}.get(origin, origin)  # type: ignore[arg-type]  # noqa: UP006
        if named is not None:
            head = self.known(_type_repr(named), named)
            args = [self.type_text(arg) for arg in getattr(o, "__args__", ())]
            return f"{head}[{','.join(args)}]" if args else head
        return self.known(_type_repr(o), o)

    def text(self, arg: object) -> str:
        """An argument as code."""
        if isinstance(arg, tuple):
            inner = ", ".join([self.text(a) for a in arg]) + "," * (len(arg) == 1)
            if hasattr(arg, "_fields"):
                return f"{self.known(_type_repr(type(arg)), type(arg))}({inner.rstrip(',')})"
            return f"({inner})"
        if isinstance(arg, list):
            return "[" + ", ".join([self.text(a) for a in arg]) + "]"
        if isinstance(arg, dict):
            return "{" + ", ".join([f"{k!r}: {self.text(v)}" for k, v in arg.items()]) + "}"
        if isinstance(arg, slice):
            return f"slice({self.text(arg.start)}, {self.text(arg.stop)}, {self.text(arg.step)})"
        if isinstance(arg, type):
            return self.type_text(arg)
        if isinstance(arg, torch.device):
            return repr(arg)
        if isinstance(arg, (types.FunctionType, types.BuiltinFunctionType)) or type(arg).__name__ == "OpOverload":
            return self.known(_get_qualified_name(arg), arg)
        import enum

        if isinstance(arg, enum.Enum):
            return f"{self.known(_type_repr(type(arg)), type(arg))}.{arg.name}"
        return repr(arg)

    def call_text(self, node: Node) -> str:
        """The arguments of a call as code."""
        return ", ".join([*[self.text(a) for a in node.args], *[f"{k} = {self.text(v)}" for k, v in node.kwargs.items()]])

    def write(self, node: Node, codegen: CodeGen) -> None:
        """Writes the line of a node, and forgets there what nobody uses after it."""
        typed = (self.value_text(node) if self.verbose else "") or ("" if node.type is None else f" : {self.type_text(node.type)}")
        if self.verbose and node.op not in ("placeholder", "output"):
            self.tell_origin(node)
        index, self.count = self.count, self.count + 1
        name, target, text = repr(node), node.target, ""
        if node.op == "placeholder":
            default = f" = {self.text(node.args[0])}" if node.args else ""
            self.free_vars.append(f"{target}{typed}{default}")
            raw = target.replace("*", "")
            if raw != name:
                self.body.append(f"{name} = {raw}\n")
                self.numbers.append(index)
            return
        if node.op == "output":
            if node.type is not None:
                self.returned = f" -> {self.type_text(node.type)}"
            told = {"repr_fn": self.text} if _takes(codegen.generate_output, "repr_fn") else {}
            self.body.append(codegen.generate_output(node.args[0], **told) + "\n")
            self.numbers.append(index)
            return
        if node.op == "call_method":
            first, *others = node.args
            rest = ", ".join([*[self.text(a) for a in others], *[f"{k} = {self.text(v)}" for k, v in node.kwargs.items()]])
            text = f"{name}{typed} = {_format_target(self.text(first), target)}({rest})"
        elif node.op == "call_module":
            text = f"{name}{typed} = {_format_target(self.root, target)}({self.call_text(node)})"
        elif node.op == "get_attr":
            text = f"{name}{typed} = {_format_target(self.root, target)}"
        else:
            text = self.function_text(node, name, typed)
        self.body.append(text + self.forgotten(node) + "\n")
        self.numbers.append(index)

    def value_text(self, node: Node) -> str:
        """What is known of the tensor that a node gives, as an annotation."""
        value: Any = node.meta.get("val", node.meta.get("tensor_meta"))
        seen = isinstance(value, torch.Tensor)
        if not seen and not hasattr(value, "memory_format"):  # which what `ShapeProp` notes of a tensor has
            return ""
        text = f"{_short(value.dtype)}[{', '.join(node.meta.get('sizes') or map(str, value.shape))}]"
        if seen:
            text += str(list(value.stride())) * self.strides + "cpu" * self.devices
        return f': "{text}"'

    def tell_origin(self, node: Node) -> None:
        """Writes where in the program a node was made, where that is not where the one before it was."""
        lines = [line for line in (node.stack_trace or "").split("\n") if line.strip()]
        found = next((m for line in reversed(lines) if (m := re.match(r'\s*File "(.+)", line (\d+), in (.+)', line))), None)
        if found is None:
            text = "# No stacktrace found for following nodes\n"
        else:
            text = f"# File: {found[1]}:{found[2]} in {found[3]}, code: {lines[-1].strip()}\n"
        if text != self.told:
            self.body.append(("\n" * (found is not None and bool(self.body))) + text)
            self.numbers.append(None)
            self.told = text

    def function_text(self, node: Node, name: str, typed: str) -> str:
        """The call of a function, as an operator where it is one."""
        target, args = node.target, node.args
        own, module = getattr(target, "__name__", ""), getattr(target, "__module__", "")
        if module == "_operator" and own in magic_methods and not node.kwargs and len(args) == magic_methods[own].count("{}"):
            return f"{name}{typed} = {magic_methods[own].format(*[self.text(a) for a in args])}"
        if module == "_operator" and own in inplace_methods and len(args) == 2:
            return f"{inplace_methods[own].format(*[self.text(a) for a in args])};  {name}{typed} = {self.text(args[0])}"
        if module == "_operator" and own == "getitem" and len(args) == 2:
            return f"{name}{typed} = {self.text(args[0])}[{self.text(args[1])}]"
        qualified = _get_qualified_name(target)
        global_name = self.known(qualified, target)
        if (global_name == "getattr" and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier()
                and not keyword.iskeyword(args[1])):
            return f"{name}{typed} = {_format_target(self.text(args[0]), args[1])}"
        if node.meta.get("is_wrapped"):
            self.wrapped.setdefault(global_name)
        return f"{name}{typed} = {global_name}({self.call_text(node)})"

    def forgotten(self, node: Node) -> str:
        """The end of the line that drops the values that this node is the last to use."""
        last = [n for n in self.last_uses(node) if n.op != "output"]
        return f";  {' = '.join([*[repr(n) for n in last], 'None'])}" if last else ""

    @staticmethod
    def last_uses(node: Node) -> list[Node]:
        """The arguments that nobody uses after `node`, and itself where nobody uses it."""
        ends = [n for n in node.all_input_nodes if n.graph is node.graph and not _used_after(n, node)]
        return ends if node.users else [*ends, node]


def _short(dtype: torch.dtype) -> str:
    """A dtype in a few letters: `f32`, `bf16`, `i64`, `b8`."""
    name = str(dtype).removeprefix("torch.")
    match = re.fullmatch(r"(bfloat|uint|int|float|complex)(\d+)(?:_(\w+))?", name)
    return "b8" if name == "bool" else name if match is None else (
        {"bfloat": "bf", "uint": "u", "int": "i", "float": "f", "complex": "c"}[match[1]] + match[2] + (match[3] or ""))


def _used_after(value: Node, node: Node) -> bool:
    """Whether one of the users of a value comes behind a node."""
    others = set(value.users) - {node}
    if not others:
        return False
    order = node.graph._order()
    return any([order.get(user, -1) > order[node] for user in others])


class _PyTreeInfo(NamedTuple):
    """How the arguments of a function are made of the graph's inputs, and its result of the output."""

    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


class _PyTreeCodeGen(CodeGen):
    """Of a function whose arguments and result are containers."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        """The leaves of the arguments."""
        return pytree.arg_tree_leaves(*inputs) if hasattr(pytree, "arg_tree_leaves") else pytree.tree_leaves(inputs)

    def process_outputs(self, out: object) -> Any:
        """The leaves put together."""
        if self.pytree_info.out_spec is None:
            return out
        return pytree.tree_unflatten(out if isinstance(out, (list, tuple)) else [out], self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The head, and the statement that takes the arguments apart."""
        args = list(self.pytree_info.orig_args)
        if args and args[0] == "self":
            args = args[1:]
        head = super().gen_fn_def(args, maybe_return_annotation)
        if not free_vars:
            return head
        bare = [v.split(":")[0].split("=")[0].strip() for v in free_vars]
        return f"{head}\n    {', '.join(bare)}, = fx_pytree.tree_flatten_spec([{', '.join(args)}], self._in_spec)"

    def generate_output(self, output_args: object, *, descs: object = None, repr_fn: Callable[[Any], str] = repr) -> str:
        """The statement that puts the result together."""
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({repr_fn(output_args)}, self._out_spec)"


class Graph:
    """Nodes in the order of computation.

    >>> from torchcompat import fx
    >>> graph = fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_method("relu", (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_method[target=relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(self, owning_module: GraphModule | None = None, tracer_cls: Any = None, tracer_extras: Keywords | None = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._used_names: dict[str, int] = {}
        self._graph_namespace = _Namespace()
        self._owning_module, self._owners = owning_module, 0
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()
        self._positions: dict[Node, int] | None = None

    @property
    def owning_module(self) -> GraphModule | None:
        """The module whose graph it is."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: GraphModule | None) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> Any:
        """The nodes, in order; `reversed` goes through them from the end."""
        return _node_list(self)

    def _order(self) -> dict[Node, int]:
        """The place of each node: kept only while code is written."""
        return self._positions if self._positions is not None else {node: i for i, node in enumerate(self.nodes)}

    def output_node(self) -> Node:
        """The node of the output."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, for calls of functions of a target, in order."""
        if op == "call_function" and target is None:
            raise ValueError("target must be specified for call_function nodes")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copies the nodes of another graph to where nodes are inserted.

        Args:
            val_map: nodes of `g` that stand for nodes here; the copies are noted in it.

        Returns:
            the value of the other graph's output, and its node where asked for; None without an output.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda n: val_map[n])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        memo = memo if memo else {}
        copied = Graph(tracer_cls=self._tracer_cls)
        values: dict[Node, Node] = {}
        found = copied.graph_copy(self, values, return_output_node=True)
        copied._codegen = copy.deepcopy(self._codegen)
        if found is not None:
            value, old = found
            node = copied.output(value, type_expr=old.type)
            node.meta = copy.copy(old.meta)
        return copied

    def create_node(self, op: str, target: Target, args: Arguments | None = None, kwargs: Keywords | None = None,
                    name: str | None = None, type_expr: object = None) -> Node:
        """A new node where nodes are inserted.

        Raises:
            AssertionError: there is no such kind of nodes, or the arguments are no tuple and dictionary.
        """
        if op not in ("call_function", "call_method", "get_attr", "call_module", "placeholder", "output"):
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        args, kwargs = args if args is not None else (), kwargs if kwargs is not None else {}
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        name = self._graph_namespace.create_name(name if name is not None else self._target_to_str(target), None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        return node

    def process_inputs(self, *args: object) -> Any:
        """The values of the graph's inputs for the arguments of the function."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: object) -> Any:
        """The result of the function for the value of the graph's output."""
        return self._codegen.process_outputs(out)

    def erase_node(self, to_erase: Node) -> None:
        """Takes out a node that nobody uses.

        Raises:
            RuntimeError: somebody does, or it is of another graph.
        """
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                               f"{to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:

            warned.warn(f"erase_node({to_erase}) on an already erased node")
            return
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs((), {})

    def inserting_before(self, n: Node | None = None) -> Any:
        """From now on, or inside a `with`, new nodes come before `n`, by default at the beginning."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """From now on, or inside a `with`, new nodes come behind `n`, by default at the end."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    def placeholder(self, name: str, type_expr: object = None, default_value: object = ...) -> Node:
        """An input."""
        args = () if default_value is ... or default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: object = None) -> Node:
        """The value of an attribute of the module; UserWarning where the module has none of that name."""
        if self.owning_module is not None and not _has_attribute(self.owning_module, qualified_name):

            warned.warn("Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                        "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the necessary "
                        "Parameter, or nn.Module.register_buffer to add the necessary buffer")
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: Arguments | None = None, kwargs: Keywords | None = None,
                    type_expr: object = None) -> Node:
        """A call of a submodule; UserWarning where the module has none of that name."""
        if self.owning_module is not None and not _has_attribute(self.owning_module, module_name):

            warned.warn("Attempted to insert a call_module Node with no underlying reference in the owning GraphModule! Call "
                        "GraphModule.add_submodule to add the necessary submodule")
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: Arguments | None = None, kwargs: Keywords | None = None,
                    type_expr: object = None) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function: Target, args: Arguments | None = None, kwargs: Keywords | None = None,
                      type_expr: object = None, name: str | None = None) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: object, type_expr: object = None) -> Node:
        """What the graph computes."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A copy of a node of another graph, its arguments by `arg_transform`."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = copy.copy(node.meta)
        return copied

    def _target_to_str(self, target: Target) -> str:
        if callable(target):
            op = target.__name__
        else:
            op = target[2:-2] if target.startswith("__") and target.endswith("__") else target
        return _snake_case(op)

    def python_code(self, root_module: str, *, verbose: bool = False, include_stride: bool = False, include_device: bool = False,
                    colored: bool = False, expanded_def: bool = False, record_func: bool = False,
                    additional_meta: object = None) -> PythonCode:
        """The Python code of the graph, where `root_module` is the name of the module."""
        namespace = _Namespace()
        saved = {node: node._repr_fn for node in self.nodes}
        for node in self.nodes:
            node._repr_fn = lambda n: namespace.create_name(n.name, n)
        self._positions = {node: i for i, node in enumerate(self.nodes)}
        try:
            return self._codegen._gen_python_code(self.nodes, root_module, namespace, verbose=verbose, include_stride=include_stride,
                                                  include_device=include_device)
        finally:
            self._positions = None
            for node, before in saved.items():
                node._repr_fn = before

    def __str__(self) -> str:
        lines = [node.format_node() for node in self.nodes]
        return "graph():" + "".join(["\n    " + line for line in lines if line])

    def print_tabular(self) -> None:
        """Prints the nodes as a table, by `tabulate`.

        Raises:
            ImportError: that package is not installed.
        """
        try:
            from tabulate import tabulate
        except ImportError:
            print("`print_tabular` relies on the library `tabulate`, which could not be found on this machine. Run `pip install tabulate` "
                  "to install the library.")
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    def lint(self) -> None:
        """Holds the graph to its rules: nodes after their arguments, names once, targets that the module has.

        Raises:
            RuntimeError: one is broken.
        """
        names: set[str] = set()
        seen: set[Node] = set()

        def check(arg: Node, node: Node) -> None:
            if arg.graph is not self:
                raise RuntimeError(f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was used as an argument! If you "
                                   "are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values"
                                   f"\n{self}")
            if arg not in seen:
                raise RuntimeError(f"Argument '{arg}' of Node '{node}' was used before it has been defined! Please check that Nodes in the "
                                   f"graph are topologically ordered\n{self}")

        for node in self.nodes:
            if node.op not in ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output"):
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for arg in node.all_input_nodes:
                check(arg, node)
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                if node.op == "call_function" and not callable(node.target):
                    raise ValueError(f"Node {node} target {node.target} has type {torch.typename(node.target)} but a Callable is expected")
                if node.op in ("get_attr", "call_module"):
                    self._check_target(node)

    def _check_target(self, node: Node) -> None:
        value: object = self.owning_module
        for i, name in enumerate(path := node.target.split(".")):
            if not hasattr(value, name):
                raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {name} of {'.'.join(path[:i])}")
            value = getattr(value, name)
            if i == len(path) - 1 and node.op == "call_module" and not isinstance(value, torch.nn.Module):
                raise RuntimeError(f"Node {node} target {node.target} {'.'.join(path[:i])} of {torch.typename(value)} does not "
                                   "reference an nn.Module")

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Takes out what nobody uses and what only computes; whether there was any."""
        self.lint()
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not (is_impure_node(node) if is_impure_node is not None else node.is_impure()):
                self.erase_node(node)
                changed = True
        return changed

    def set_codegen(self, codegen: CodeGen) -> None:
        """Lets another object write the code."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> Any:
        """Lets a function change the lines of the code: `make_transformer` gets the one that did so far, or None. In a `with` statement
        the one before comes back at the end."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def restoring() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return restoring()


class _InsertPoint:
    """New nodes go elsewhere from now on, or until the end of a `with` statement."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self.graph._insert = self.before


def _has_attribute(module: Any, path: str) -> bool:
    for name in path.split("."):
        if not hasattr(module, name):
            return False
        module = getattr(module, name)
    return module is not None


_absences(__name__)
