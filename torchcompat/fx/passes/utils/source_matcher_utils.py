"""The nodes that come of one function or module of a program, as notes of tracers tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torchcompat._calls.absent import absences as _absences

from ...graph import Graph
from ...node import Node, public_module

__all__ = ["SourcePartition", "check_subgraphs_connected", "get_source_partitions"]


@dataclass
class SourcePartition:
    """Nodes that come of one call.

    Attributes:
        source: the function or class of modules that was called.
        input_nodes: nodes outside whose values they take, but for attributes.
        output_nodes: those whose values are used outside.
        params: those that are attributes.
    """

    nodes: list[Node]
    source: object
    input_nodes: list[Node] = field(default_factory=list)
    output_nodes: list[Node] = field(default_factory=list)
    params: list[Node] = field(default_factory=list)


def _source(node: Node, wanted: list[object]) -> tuple[object, str] | None:
    """Which of the wanted sources a node comes of, and the name of the call."""
    stack = node.meta.get("source_fn_stack")
    if stack is not None:
        name, source = stack[-1][:2]
        return (source, name) if source in wanted else None
    noted = node.meta.get("torch_fn")
    if noted is not None and noted[1].split(".")[1] in wanted:
        return noted[1].split(".")[1], noted[0]
    modules = node.meta.get("nn_module_stack")
    if node.op != "call_function" or not modules:
        return None
    name, kind = list(modules.values())[-1]
    for source in wanted:
        if isinstance(source, type) and isinstance(kind, type):
            fits = issubclass(kind, source)
        elif isinstance(source, type):
            fits = kind == f"{public_module(source.__module__)}.{source.__qualname__}"
        else:
            fits = kind == source
        if fits:
            return source, name
    return None


def get_source_partitions(graph: Graph, wanted_sources: list[object],
                          filter_fn: Callable[[Node], bool] | None = None) -> dict[object, list[SourcePartition]]:
    """The nodes that come of calls of functions or modules, by these.

    Args:
        filter_fn: a call is left out where this is false of one of its nodes.
    """
    found: dict[object, dict[str, list[Node]]] = {}
    for node in graph.nodes:
        told = _source(node, wanted_sources)
        if told is not None:
            found.setdefault(told[0], {}).setdefault(told[1], []).append(node)
    return {source: [_partition(nodes, source) for nodes in calls.values() if filter_fn is None or all(map(filter_fn, nodes))]
            for source, calls in found.items()}


def _partition(nodes: list[Node], source: object) -> SourcePartition:
    inputs = dict.fromkeys([n for node in nodes for n in node.args if isinstance(n, Node) and n not in nodes and n.op != "get_attr"])
    outputs = [node for node in nodes if node.op != "get_attr" and any([user not in nodes for user in node.users])]
    return SourcePartition(nodes, source, list(inputs), outputs, [node for node in nodes if node.op == "get_attr"])


def check_subgraphs_connected(subgraph1: SourcePartition, subgraph2: SourcePartition) -> bool:
    """Whether the second uses a value of the first."""
    return any([user in subgraph2.nodes for node in subgraph1.nodes for user in node.users])


_absences(__name__)
