"""What nodes call exchanged, and how much memory they take."""

from __future__ import annotations

from typing import NamedTuple

import torchcompat as torch
from torchcompat._calls.absent import absences as _absences

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, Target, map_arg
from .shape_prop import ShapeProp, TensorMetadata

__all__ = ["replace_target_nodes_with", "size_bytes", "get_size_of_all_nodes", "get_tensor_meta", "get_size_of_node"]


def replace_target_nodes_with(fx_module: GraphModule, old_op: str, old_target: Target, new_op: str, new_target: Target) -> None:
    """Puts nodes of one kind and target in the place of those of another."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            args, kwargs = map_arg(node.args, lambda n: copies[n]), map_arg(node.kwargs, lambda n: copies[n])
            copies[node] = graph.create_node(new_op, new_target, args, kwargs, node.name)
        else:
            copies[node] = graph.node_copy(node, lambda n: copies[n])
    fx_module.graph = graph


class size_bytes(NamedTuple):
    """The bytes of what a node gives, and with the parameters of its module."""

    output_size: int
    total_size: int


def get_size_of_all_nodes(fx_module: GraphModule, args: list[torch.Tensor] | None = None) -> None:
    """Gives each node but the output its `size_bytes`; with `args`, the graph is carried out for that."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            return
        node.size_bytes = get_size_of_node(fx_module, node)


def get_tensor_meta(node: Node) -> TensorMetadata:
    """What `ShapeProp` has noted of a node. RuntimeError: nothing."""
    found: TensorMetadata | None = node.meta.get("tensor_meta")
    if not found:
        raise RuntimeError(f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run.")
    return found


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """The bytes of what a node gives, and with the parameters of its module. RuntimeError: nothing is noted of it."""
    held = 0
    if node.op == "call_module":
        held = sum([p.numel() for p in fx_module.get_submodule(node.target).parameters()])
    meta = get_tensor_meta(node)
    each, count = torch.tensor([], dtype=meta.dtype).element_size(), meta.shape.numel()
    return size_bytes(each * count, each * (held + count))


_absences(__name__)
