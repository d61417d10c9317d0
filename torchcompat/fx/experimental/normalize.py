"""Calls of one thing in one way: arguments by keyword, operators of Python for functions of torch."""

from __future__ import annotations

import operator
from typing import Any

import torchcompat as torch
from autograd_tape.annotations import Arguments, Fn, Keywords
from torchcompat._calls.absent import absences as _absences

from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Node, Target, map_aggregate
from ..operator_schemas import create_type_hint, normalize_function, normalize_module

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Gives functions of torch and its modules their arguments with defaults filled in, by keyword unless told otherwise."""

    def __init__(self, module: GraphModule, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[object, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        """A stand-in for a node in the new graph, which has its notes and its type."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)

        def kind(arg: object) -> object:
            return n.meta.get("type") if isinstance(arg, Node) else type(arg)

        if n.op == "call_function":
            kinds = tuple([create_type_hint(k) for k in map_aggregate(n.args, kind)])
            out: Any = self.call_function(n.target, args, kwargs, kinds, {k: kind(v) for k, v in kwargs.items()})
        else:
            out = super().run_node(n)
        if n.op != "output":
            self.node_map[out] = n
            out.node.meta, out.node.type = n.meta, n.type
        return out

    def call_function(self, target: Target, args: Arguments, kwargs: Keywords, arg_types: Arguments | None = None,
                      kwarg_types: Keywords | None = None) -> Any:
        """A call of a function. AssertionError: it cannot be called."""
        if not callable(target):
            raise AssertionError(f"Expected callable target, got {type(target)}")
        found = normalize_function(target, args, kwargs, arg_types, kwarg_types, self.normalize_to_only_use_kwargs)
        if not found:
            return super().call_function(target, args, kwargs)
        return self.tracer.create_proxy("call_function", target, found[0], found[1])

    def call_module(self, target: str, args: Arguments, kwargs: Keywords) -> Any:
        """A call of a module."""
        found = normalize_module(self.module, target, args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(found or (args, kwargs)))


class NormalizeOperators(Transformer):
    """Puts Python's operators in the place of torch's functions of two arguments."""

    binary_magic_method_remap: dict[Fn, Fn] = {
        torch.add: operator.add, torch.mul: operator.mul, torch.sub: operator.sub, torch.div: operator.truediv,
        torch.floor_divide: operator.floordiv, torch.remainder: operator.mod, torch.eq: operator.eq, torch.ne: operator.ne,
        torch.lt: operator.lt, torch.le: operator.le, torch.gt: operator.gt, torch.ge: operator.ge}

    def call_function(self, target: Target, args: Arguments, kwargs: Keywords) -> object:
        """A call of a function. AssertionError: it cannot be called."""
        if not callable(target):
            raise AssertionError(f"Expected callable target, got {type(target)}")
        if target in self.binary_magic_method_remap and len(args) == 2:
            return super().call_function(self.binary_magic_method_remap[target], args, {})
        return super().call_function(target, args, kwargs)


_absences(__name__)
