"""Nodes of a graph put into a module, which the graph then calls."""

from __future__ import annotations

import copy
import heapq

from torchcompat._calls.absent import absences as _absences

from ...graph import Graph
from ...graph_module import GraphModule
from ...node import Node
from ...proxy import Proxy
from ..tools_common import NodeList, stable_topological_sort, validate_partition
from .common import lift_subgraph_as_module

__all__ = ["erase_nodes", "fuse_as_graphmodule", "fuse_by_partitions", "insert_subgm", "topo_sort", "validate_partition"]


def topo_sort(nodes: NodeList) -> NodeList:
    """Nodes behind what they are computed of, otherwise in the order that they have.

    Raises:
        AssertionError: a node needs itself.
    """
    place = {node: i for i, node in enumerate(nodes)}
    missing = {node: sum([n in place for n in node.all_input_nodes]) for node in nodes}
    ready = [place[node] for node in nodes if not missing[node]]
    found: NodeList = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        found.append(node)
        for user in node.users:
            if user in missing:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(ready, place[user])
    if len(found) != len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return found


def fuse_as_graphmodule(gm: GraphModule, nodes: NodeList, module_name: str, partition_lookup_table: dict[Node, int | None] | None = None,
                        *, always_return_tuple: bool = False) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """(a module that computes what nodes compute, the nodes whose values it takes, those whose values it gives).

    Args:
        nodes: in the order of computation.
        module_name: the name of its class.
        always_return_tuple: whether a single result is a tuple, too.

    Raises:
        AssertionError: a node is not of `gm`, or something outside lies between them.
    """
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
        if node.graph is not gm.graph:  # which was made anew
            raise AssertionError(f"{node} is not found in graph module {gm._get_name()}")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    inner = dict.fromkeys(nodes) if partition_lookup_table is None else partition_lookup_table
    graph = Graph()
    inputs: dict[Node, Node] = {}
    copies: dict[Node, Node] = {}

    def moved(node: Node) -> Node:
        if node in inner:
            return copies[node]
        if node not in inputs:
            inputs[node] = graph.placeholder(node.name, type_expr=node.type)
            inputs[node].meta = copy.copy(node.meta)
        return inputs[node]

    for node in nodes:
        copies[node] = graph.node_copy(node, moved)
    outputs = {node: copies[node] for node in nodes if any([user not in inner for user in node.users])}
    results = tuple(outputs.values())
    graph.output(results[0] if len(results) == 1 and not always_return_tuple else results)
    graph.lint()
    return lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)[0], tuple(inputs), tuple(outputs)


def insert_subgm(gm: GraphModule, sub_gm: GraphModule, orig_inputs: tuple[Node, ...], orig_outputs: tuple[Node, ...],
                 insertion_point: Node | None = None) -> GraphModule:
    """Lets the graph of `gm` call a module in the place of nodes that give `orig_outputs`.

    Args:
        insertion_point: the node behind which it is called, by default the last of these.

    Raises:
        AssertionError: there is neither.
    """
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    if insertion_point is None:
        insertion_point = next((node for node in reversed(gm.graph.nodes) if node in orig_outputs), None)
        if insertion_point is None:
            raise AssertionError("Cannot determine insertion point: no insertion_point provided and orig_outputs is empty. Pass the last "
                                 "partition node as insertion_point.")
    with gm.graph.inserting_after(insertion_point):
        called = gm.graph.call_module(name, args=orig_inputs, kwargs=None)
    if len(orig_outputs) == 1 and not isinstance(sub_gm.graph.output_node().args[0], tuple):
        orig_outputs[0].replace_all_uses_with(called, propagate_meta=True)
    elif orig_outputs:
        with gm.graph.inserting_before(called.next):
            for i, output in enumerate(orig_outputs):
                output.replace_all_uses_with(Proxy(called)[i].node, propagate_meta=True)  # type: ignore[index]
        called.meta["val"] = tuple([output.meta.get("val") for output in orig_outputs])
    return gm


def erase_nodes(gm: GraphModule, nodes: NodeList) -> None:
    """Takes nodes, which are in the order of computation, out of the graph."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(gm: GraphModule, partitions: list[dict[Node, int | None]], prefix: str = "fused_",
                       always_return_tuple: bool = False) -> GraphModule:
    """Puts the nodes of each partition into a module `prefix0`, `prefix1` ..., which the graph calls."""
    for i, partition in enumerate(partitions):
        nodes = topo_sort(list(partition))
        inner, inputs, outputs = fuse_as_graphmodule(gm, nodes, f"{prefix}{i}", partition, always_return_tuple=always_return_tuple)
        insert_subgm(gm, inner, inputs, outputs, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    return gm


_absences(__name__)
