"""Graphs split into modules by the tags of their nodes."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from torchcompat._calls.absent import absences as _absences
from torchcompat.nn import ModuleList

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from ..proxy import Proxy
from .utils import HolderModule, lift_subgraph_as_module

__all__ = ["getattr_recursive", "setattr_recursive", "Component", "split_by_tags"]


def getattr_recursive(obj: Any, name: str) -> Any:
    """What an object has at a path; None where that is nothing."""
    for layer in name.split("."):
        if isinstance(obj, ModuleList):
            obj = obj._modules.get(layer)
        else:
            obj = getattr(obj, layer, None)
        if obj is None:
            return None
    return obj


def setattr_recursive(obj: Any, attr: str, value: object) -> None:
    """Puts something at a path."""
    first, _, rest = attr.partition(".")
    if rest:
        setattr_recursive(getattr(obj, first), rest, value)
    else:
        setattr(obj, attr, value)


@dataclass
class Component:
    """A part of a graph on its way to become a module.

    Attributes:
        order: its place among the parts.
        input_placeholders: its inputs, for the nodes of the whole graph that are `orig_inputs`.
        orig_outputs: the nodes of the whole graph that it gives.
        getattr_maps: from nodes of attributes in the whole graph to those here.
    """

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None

    def input(self, node: Node) -> Node:
        """The input that stands for a node of the whole graph."""
        if node not in self.orig_inputs:
            self.orig_inputs.append(node)
            made = self.graph.placeholder(node.name, type_expr=node.type)
            made.meta = copy.copy(node.meta)
            self.input_placeholders.append(made)
        return self.input_placeholders[self.orig_inputs.index(node)]

    def attribute(self, node: Node) -> Node:
        """The node of an attribute."""
        if node not in self.getattr_maps:
            made = self.getattr_maps[node] = self.graph.get_attr(node.target, type_expr=node.type)
            made.meta = copy.copy(node.meta)
        return self.getattr_maps[node]


def split_by_tags(gm: GraphModule, tags: list[str], return_fqn_mapping: bool = False, return_tuple: bool = False,
                  GraphModuleCls: type[GraphModule] = GraphModule) -> Any:
    """A module that calls one module for each of the `tags`, in their order: it computes the nodes that have it as `node.tag`.

    Args:
        return_fqn_mapping: whether the names of modules and attributes in them are returned, too, by those in `gm`.
        return_tuple: whether a single result of a part is a tuple.

    Raises:
        AssertionError: a node that calls something has no tag, or comes behind one that it is computed of by the order of `tags`.
        RuntimeError: the graph has no output, or several.
    """
    parts = {tag: Component(Graph(), i, f"{tag}") for i, tag in enumerate(tags)}
    main = Graph()
    part_of: dict[Node, Component] = {}
    copies: dict[Node, Node] = {}
    in_main: dict[Node, Node] = {}
    used: dict[Node, None] = {}
    output: Node | None = None
    for node in gm.graph.nodes:
        if node.op == "output":
            if output is not None:
                raise RuntimeError("Multiple output nodes in graph!")
            output = node
        elif node.op == "placeholder":
            in_main[node] = main.placeholder(node.name, type_expr=node.type)
            in_main[node].meta = copy.copy(node.meta)
        elif node.op != "get_attr":
            if not hasattr(node, "tag"):
                raise AssertionError(f"Node does not have tag: {node.format_node()}")
            part = part_of[node] = parts[node.tag]
            last = max([part_of[n].order for n in node.all_input_nodes if n.op not in ("placeholder", "get_attr")], default=0)
            if part.order < last:
                raise AssertionError(f"Component {part.name} order must be >= max of its upstream components, order={part.order} and "
                                     f"max={last}")

            def moved(n: Node, part: Component = part) -> Node:
                if n.op == "get_attr":
                    return part.attribute(n)
                if n.op != "placeholder" and part_of[n] is part:
                    return copies[n]
                used[n] = None
                return part.input(n)

            copies[node] = part.graph.node_copy(node, moved)
            copies[node].tag = node.tag  # type: ignore[attr-defined]
    if output is None:
        raise RuntimeError("Graph had no output node!")
    attributes = [node for node in output.all_input_nodes if node.op == "get_attr"]
    for node in attributes:
        in_main[node] = main.get_attr(node.name, type_expr=node.type)
    used.update({node: None for node in output.all_input_nodes if node.op != "get_attr"})
    for node in used:
        if node.op != "placeholder":
            part_of[node].orig_outputs.append(node)
    names: dict[str, str] = {}
    for part in parts.values():
        results = tuple([copies[node] for node in part.orig_outputs])
        single = len(results) == 1 and not return_tuple
        part.graph.output(results[0] if single else results)
        part.gm, moved_names = lift_subgraph_as_module(gm, subgraph=part.graph, comp_name=part.name)
        names.update(moved_names)
        called = main.call_module(part.name, tuple([in_main[node] for node in part.orig_inputs]))
        for i, node in enumerate(part.orig_outputs):
            in_main[node] = called if single else Proxy(called)[i].node  # type: ignore[index]
    main.output(map_arg(output.args[0], in_main.__getitem__))
    main._codegen = gm.graph._codegen
    root = HolderModule({part.name: part.gm for part in parts.values()})
    for node in attributes:
        setattr(root, node.name, getattr_recursive(gm, node.target))
    made = GraphModuleCls(root, main)
    return (made, names) if return_fqn_mapping else made


_absences(__name__)
