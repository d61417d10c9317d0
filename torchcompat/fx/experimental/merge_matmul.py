"""Products of matrices with one and the same put together into one product."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import torchcompat as torch
from torchcompat._calls.absent import absences as _absences
from torchcompat.nn import Module

from .._symbolic_trace import symbolic_trace
from ..graph_module import GraphModule
from ..node import Node
from ..passes.tools_common import legalize_graph
from ..proxy import Proxy

__all__ = ["are_nodes_independent", "may_depend_on", "merge_matmul", "split_result_tensors"]


def split_result_tensors(result: Any, inputs: list[Any]) -> Any:
    """A product taken apart into those of the `inputs`, which were put together along their rows."""
    return torch.split(result, [0 if isinstance(result, Proxy) else x.shape[0] for x in inputs])


def may_depend_on(a: Node, b: Node, search_depth: int = 6) -> bool:
    """Whether a node is computed of another, or may be: it is looked for over so many nodes."""
    if a == b:
        return True
    if not a.all_input_nodes:
        return False
    return search_depth == 0 or any([may_depend_on(n, b, search_depth - 1) for n in a.all_input_nodes])


def are_nodes_independent(nodes: list[Node]) -> bool:
    """Whether none of them is computed of another."""
    return not any([may_depend_on(a, b) or may_depend_on(b, a) for a, b in itertools.combinations(nodes, 2)])


def merge_matmul(in_mod: Module) -> GraphModule:
    """A module that multiplies once where `in_mod` multiplies several matrices by the same one."""
    gm = symbolic_trace(in_mod)
    graph = gm.graph
    users: dict[Node | str, list[Node]] = {}
    for node in graph.nodes:
        if node.op == "call_function" and node.target is torch.matmul:
            right = node.args[1]
            users.setdefault(right.target if right.op == "get_attr" else right, []).append(node)
    for key, products in users.items():
        if len(products) < 2 or not are_nodes_independent(products):
            continue
        lefts = [graph.get_attr(n.target) if n.op == "get_attr" else n for n in [product.args[0] for product in products]]
        right = graph.get_attr(key) if isinstance(key, str) else key
        product = graph.call_function(torch.matmul, (graph.call_function(torch.cat, (lefts,)), right))
        parts = graph.call_function(split_result_tensors, (product, lefts))
        for old, new in zip(products, [graph.call_function(operator.getitem, (parts, i)) for i in range(len(lefts))]):
            old.replace_all_uses_with(new)
            graph.erase_node(old)
        graph = legalize_graph(gm).graph
    gm.recompile()
    gm.graph.lint()
    return gm


_absences(__name__)
