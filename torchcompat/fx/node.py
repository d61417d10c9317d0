"""A node of a graph: one call, input, attribute or output, with the nodes that its arguments come from and those that use it."""

from __future__ import annotations

import builtins
import inspect
import types
from typing import TYPE_CHECKING, Any
from collections.abc import Callable, Iterator, Sequence

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Fn, Keywords
import torchcompat as torch
from torchcompat._calls.absent import absences as _absences
from torchcompat.utils._pytree import PyTree

from .immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Node", "map_arg", "map_aggregate", "has_side_effect"]

base_types = (str, int, float, bool, complex, torch.dtype, torch.Tensor, torch.device, torch.memory_format, torch.layout)
BaseArgumentTypes = (str | int | float | complex | torch.dtype | torch.Tensor | torch.device | torch.memory_format | torch.layout)
Target = Fn | str
Argument = BaseArgumentTypes | tuple[object, ...] | list[object] | dict[str, object] | slice | range | None
KINDS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
_legal_ops = dict.fromkeys(KINDS)
_BINARY = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>",
           "and_": "&", "or_": "|", "xor": "^", "matmul": "@"}
reflectable_magic_methods = {name: f"{{}} {sign} {{}}" for name, sign in _BINARY.items()}
magic_methods = {"eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}", "pos": "+{}",
                 "neg": "-{}", "invert": "~{}"} | reflectable_magic_methods
inplace_methods = {f"i{name.rstrip('_')}": f"{{}} {sign}= {{}}" for name, sign in _BINARY.items()}
"""How operators are written, by their names in `operator`."""
_side_effectful_functions: set[Fn] = {torch._assert, torch._assert_async, setattr}


def has_side_effect(fn: Any) -> Any:
    """Marks a function that `eliminate_dead_code` must leave although nobody uses its result."""
    _side_effectful_functions.add(fn)
    return fn


def public_module(module: str) -> str:
    """The module as programs know it: ours are torch's."""
    return "torch" + module[11:] if module.split(".")[0] == "torchcompat" else module


def find_torch(path: str) -> Any:
    """What a dotted name that begins with `torch` stands for, None where that is nothing."""
    found: Any = torch
    for part in path.split(".")[1:]:
        found = getattr(found, part, None)
    return found if path.split(".")[0] == "torch" else None


def _type_repr(obj: object) -> str:
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        return obj.__qualname__ if obj.__module__ == "builtins" else f"{public_module(obj.__module__)}.{obj.__qualname__}"
    return "..." if obj is ... else obj.__name__ if isinstance(obj, types.FunctionType) else repr(obj)


def _get_qualified_name(func: Any) -> str:
    """The dotted name by which programs reach a function.

    Raises:
        RuntimeError: there is no module that it is said to be of, or it is a lambda without a name.
    """
    name = func.__name__
    if getattr(builtins, name, None) is func:
        return str(name)
    if name == "<lambda>":
        try:
            name = inspect.getsource(func).split("=")[0].strip()
        except Exception as error:
            raise RuntimeError("Unable to represent lambda") from error
    module = getattr(func, "__module__", None)
    if module is None:
        if getattr(torch.Tensor, name, None) is func:
            return f"torch.Tensor.{name}"
        raise RuntimeError(f"cannot find module for {func}")
    module = public_module(module)
    if module == "torch._ops":  # an operator: its name says of which namespace
        return f"torch.ops.{func}"
    return f"{module.replace('torch._ops', 'torch.ops')}.{name}"


def _format_arg(arg: object, max_list_len: float = float("inf")) -> str:
    if hasattr(arg, "_custom_fx_repr_fn"):
        return str(arg._custom_fx_repr_fn())
    if isinstance(arg, (list, tuple)):
        inner = ", ".join([_format_arg(a) for i, a in enumerate(arg) if i < max_list_len])
        inner += "," * (isinstance(arg, tuple) and len(arg) == 1)
        inner += "" if len(arg) < max_list_len + 1 else f", ...[total_len={len(arg)}]"
        return f"[{inner}]" if isinstance(arg, list) else f"({inner})"
    if isinstance(arg, dict):
        return "{" + ", ".join([f"{k}: {_format_arg(v)}" for k, v in arg.items()]) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


def map_aggregate(a: PyTree, fn: Callable[[PyTree], PyTree]) -> PyTree:
    """`a` with `fn` of each value in its tuples, lists, dictionaries and slices; lists and dictionaries become immutable ones."""
    if isinstance(a, tuple):
        mapped = [map_aggregate(x, fn) for x in a]
        named = hasattr(a, "_fields")
        return type(a)(*mapped) if named else tuple(mapped)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: PyTree, fn: Callable[[Node], PyTree]) -> PyTree:
    """`a` with `fn` of each node in it.

    Raises:
        AssertionError: `fn` cannot be called.
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


class Node:
    """A value in a graph and how it is computed.

    Attributes:
        op: one of placeholder, get_attr, call_function, call_module, call_method, output.
        target: the function, or the name of the input, attribute, module or method.
        users: the nodes that use it, as keys.
        type: the annotation of its value, or None.
        meta: what passes note about it.

    Raises:
        ValueError: the target is not of the kind that `op` needs.
    """

    target: Any
    _prev: Node
    _next: Node
    _args: Arguments
    _kwargs: Keywords
    _input_nodes: dict[Node, None]

    def __init__(self, graph: Graph, name: str, op: str, target: Any, args: Arguments, kwargs: Keywords,
                 return_type: object = None) -> None:
        if op == "call_function" and not callable(target):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {torch.typename(target)} "
                             "but a Callable is expected")
        if op not in KINDS:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {torch.typename(target)} "
                             "but a str is expected")
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self.meta: Keywords = {}
        self._input_nodes = {}
        self._update_args_kwargs(args, kwargs)

    @property
    def next(self) -> Node:
        """The node after it in the order of computation."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before it in the order of computation."""
        return self._prev

    def __lt__(self, other: Node) -> bool:
        return other in _from(self._next) and self is not other

    def __gt__(self, other: Node) -> bool:
        return other < self

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return other <= self

    def prepend(self, x: Node) -> None:
        """Moves `x` to the place before this node.

        Raises:
            AssertionError: `x` is of another graph.
        """
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:

            warned.warn("Trying to prepend a node to itself. This behavior has no effect on the graph.")
            return
        x._remove_from_list()
        x._prev, x._next = self._prev, self
        self._prev._next = self._prev = x

    def append(self, x: Node) -> None:
        """Moves `x` to the place behind this node."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    @property
    def args(self) -> Arguments:
        """The arguments by position; assigning others keeps the users of nodes up to date."""
        return self._args

    @args.setter
    def args(self, a: Arguments) -> None:
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self) -> Keywords:
        """The arguments by name; assigning others keeps the users of nodes up to date."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: Keywords) -> None:
        self._update_args_kwargs(self._args, k)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def _update_args_kwargs(self, args: Arguments, kwargs: Keywords) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._input_nodes = {}

        def note(node: Node) -> Node:
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node

        self._args = map_arg(tuple(args), note)
        self._kwargs = map_arg(dict(kwargs), note)

    def update_arg(self, idx: int, arg: object) -> None:
        """Replaces the argument at a position."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: object) -> None:
        """Puts an argument before the one at a position.

        Raises:
            AssertionError: there are fewer arguments than that.
        """
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: object) -> None:
        """Replaces, or adds, the argument of a name."""
        self.kwargs = {**self.kwargs, key: arg}

    @property
    def stack_trace(self) -> str | None:
        """Where in the traced program the node was made, if the tracer notes it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    @staticmethod
    def _pretty_print_target(target: Target) -> str:
        if isinstance(target, str):
            return target
        module, name = getattr(target, "__module__", None), getattr(target, "__name__", None)
        if name is not None and module in ("builtins", "_operator"):
            return f"{module.lstrip('_')}.{name}"
        return _get_qualified_name(target)

    def format_node(self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None, *,
                    include_tensor_metadata: bool = False) -> str | None:
        """One line that says all about the node; None for an input whose text went to `placeholder_names`."""
        typed = f"{_type_repr(self.type)} " if self.type is not None else ""
        start = f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "placeholder":
            if placeholder_names:
                placeholder_names.append(self.target + (f"{self.target}: {_type_repr(self.type)}" if self.type else ""))
                return None
            return start + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return start
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        return f"{start}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"

    def replace_all_uses_with(self, replace_with: Node, delete_user_cb: Callable[[Node], bool] | None = None, *,
                              propagate_meta: bool = False) -> list[Node]:
        """Puts another node in its place wherever it is an argument, or where `delete_user_cb` of the user says so.

        Returns:
            the users that changed.

        Raises:
            AssertionError: `propagate_meta` asks for `meta` to be copied over some that is there.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError("Called node.replace_all_uses_with(replace_with, propagate_meta=True), "
                                     "but replace_with already has .meta keys")
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Puts one node in the place of another in the arguments."""
        for hook in getattr(self.graph.owning_module, "_replace_hooks", None) or ():
            hook(old=old_input, new=new_input.name, user=self)

        def replaced(node: Node) -> Node:
            return new_input if node is old_input else node

        self._update_args_kwargs(map_arg(self.args, replaced), map_arg(self.kwargs, replaced))

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it does more than to compute a value, so that it must stay although nobody uses the value."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            module = self.graph.owning_module
            if module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return bool(getattr(module.get_submodule(self.target), "_is_impure", False))
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            if self.target in _side_effectful_functions or name in inplace_methods or name == "setitem":
                return True
            return impure_random and _draws(self.target)
        return False

    def normalized_arguments(self, root: torch.nn.Module, arg_types: Arguments | None = None,
                             kwarg_types: Keywords | None = None, normalize_to_only_use_kwargs: bool = False) -> Any:
        """The arguments as the signature of the function or module has them, defaults filled in; None where that cannot be told."""
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)


def _from(node: Node) -> Iterator[Node]:
    """The nodes from one to the end of its graph."""
    while node.op != "root":
        yield node
        node = node._next


def _draws(function: object) -> bool:
    """Whether a function draws random numbers: its record says so."""
    from autograd_tape.ops import RECORDS

    record = RECORDS.get(getattr(function, "__name__", ""))
    return bool(record is not None and record.field("random"))


def all_nodes(values: Sequence[PyTree]) -> list[Node]:
    """The nodes in arguments, in order."""
    found: list[Node] = []
    map_arg(tuple(values), lambda n: found.append(n) or n)  # type: ignore[func-returns-value]
    return found


_absences(__name__)
