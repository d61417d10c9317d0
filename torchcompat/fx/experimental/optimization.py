"""Modules made quicker for inference: layers put together, and left out."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from autograd_tape.annotations import Arguments, Keywords
from torchcompat import nn
from torchcompat._calls.absent import absences as _absences
from torchcompat.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..interpreter import Transformer
from ..node import Node

__all__ = ["matches_module_pattern", "replace_node_module", "fuse", "remove_dropout", "extract_subgraph", "UnionFind"]


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: dict[str, nn.Module]) -> bool:
    """Whether a node calls a module of the second class with what one of the first gives."""
    return bool(node.args) and all([
        isinstance(one, Node) and one.op == "call_module" and type(modules.get(one.target)) is kind
        for kind, one in zip(pattern, (node.args[0], node))])


def replace_node_module(node: Node, modules: dict[str, nn.Module], new_module: nn.Module) -> None:
    """Puts a module in the place of the one that a node calls; `modules` are those of the graph's, by name.

    Raises:
        AssertionError: the node calls a function.
    """
    if not isinstance(node.target, str):
        raise AssertionError(f"Expected str target, got {type(node.target)}")
    parent, _, name = node.target.rpartition(".")
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> nn.Module:
    """A module that computes what `model` does in evaluation, each batch norm part of the convolution or linear layer before it.

    Args:
        inplace: whether the layers of `model` itself change.
        no_trace: whether a `GraphModule` is taken as it is.
    """
    if not inplace:
        model = copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for kinds in ((nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d), (nn.Linear, nn.BatchNorm1d)):
        for node in graph.nodes:
            if not matches_module_pattern(kinds, node, modules) or len(node.args[0].users) > 1:
                continue
            first, norm = modules[node.args[0].target], modules[node.target]
            if norm.track_running_stats:
                fused = fuse_linear_bn_eval if kinds[0] is nn.Linear else fuse_conv_bn_eval
                replace_node_module(node.args[0], modules, fused(first, norm))
                node.replace_all_uses_with(node.args[0])
                graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model: nn.Module) -> nn.Module:
    """The module without its layers of dropout."""
    class DropoutRemover(Transformer):
        """Gives what goes into dropout."""

        def call_module(self, target: str, args: Arguments, kwargs: Keywords) -> object:
            """The result of a submodule."""
            if not isinstance(self.submodules[target], nn.Dropout):
                return super().call_module(target, args, kwargs)
            if len(args) != 1:
                raise AssertionError(f"Expected 1 arg for Dropout, got {len(args)}")
            return args[0]

    return DropoutRemover(symbolic_trace(model)).transform()


def extract_subgraph(orig_module: nn.Module, nodes: list[Node], inputs: list[Node], outputs: list[Node]) -> GraphModule:
    """A module that computes some nodes of a graph, of the values of `inputs`; it gives a list."""
    graph = Graph()
    copies: dict[Node, Node] = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        copies[node] = graph.node_copy(node, lambda n: copies[n])
    graph.output([copies[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)


class UnionFind:
    """Sets of the numbers below `n`, which are joined."""

    def __init__(self, n: int) -> None:
        self.parent: list[Any] = [None] * n
        self.size = [0] * n

    def make_set(self, v: int) -> None:
        """A set of one number."""
        self.parent[v], self.size[v] = v, 1

    def find(self, v: int) -> int:
        """The number that stands for the set of `v`. AssertionError: it is in none."""
        if self.parent[v] is None:
            raise AssertionError("Parent is None")
        while self.parent[v] != v:
            self.parent[v] = self.parent[self.parent[v]]
            v = self.parent[v]
        return v

    def join(self, a: int, b: int) -> int | None:
        """Makes one set of two; the number that stands for it where it was one."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return a
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        return None


_absences(__name__)
