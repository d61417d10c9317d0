"""What passes ask of nodes, and graphs put in order."""

from __future__ import annotations

import collections
import heapq
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torchcompat import Tensor
from torchcompat._calls.absent import absences as _absences
from torchcompat.nn import Module

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, _get_qualified_name, public_module

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "FxNetAccFusionsFinder", "legalize_graph",
           "stable_topological_sort"]

Tensors = tuple[Tensor] | list[Tensor]
TensorOrTensors = Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k: str | type) -> str:
    """The dotted name of a class or function; a text itself."""
    if isinstance(k, str):
        return k
    module = public_module(k.__module__ or "")
    return f"acc_ops.{k.__name__}" if "acc_ops" in module else f"{module.replace('torch._ops', 'torch.ops')}.{k.__name__}"


def get_node_target(submodules: Mapping[str, Module], node: Node) -> str:
    """What a node calls: the dotted name of a function or of a module's class, the name of a method.

    Raises:
        AssertionError: it calls nothing.
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(CALLABLE_NODE_OPS)}, but found {node.op}")
    if node.op == "call_module":
        module = submodules[node.target]
        return get_acc_ops_name(getattr(module, "_base_class_origin", type(module)))
    if node.op == "call_method":
        return str(node.target)
    ours = "acc_ops" in (getattr(node.target, "__module__", None) or "")
    return f"acc_ops.{node.target.__name__}" if ours else _get_qualified_name(node.target)


def is_node_output_tensor(node: Node) -> bool:
    """Whether a node gives a tensor, as far as `ShapeProp` has noted it."""
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, Tensor)


def validate_partition(partition: NodeList) -> bool:
    """Whether nodes can be carried out at once: nothing outside lies between them."""
    inner = set(partition)
    todo = [user for node in inner for user in node.users if user not in inner]
    seen: set[Node] = set()
    while todo:
        node = todo.pop()
        if node in inner:
            return False
        seen.add(node)
        todo += [user for user in node.users if user not in seen]
    return True


class FxNetAccFusionsFinder:
    """Finds groups of accelerated nodes that give one another something else than tensors, and so stay together.

    Called, it gives the group of each node that is in one; groups that lead to nodes that are not accelerated are taken out of `acc_nodes`.
    """

    @dataclass
    class FusionGroup:
        """One group.

        Attributes:
            top_node_idx: the place of its first node.
            inputs: the nodes outside that it takes values of.
            nodes_need_process: those of its nodes whose neighbours were not looked at.
        """

        top_node_idx: int
        nodes: NodeSet
        inputs: NodeSet
        nodes_need_process: NodeSet

        def add_node(self, node: Node) -> None:
            """One more node."""
            if node in self.nodes:
                return
            self.nodes_need_process.add(node)
            self.nodes.add(node)
            self.inputs.discard(node)
            self.inputs.update([n for n in node.all_input_nodes if n.op in CALLABLE_NODE_OPS and n not in self.nodes])

    def __init__(self, module: GraphModule, acc_nodes: NodeSet) -> None:
        self.module, self.acc_nodes, self.nodes = module, acc_nodes, list(module.graph.nodes)
        self.node_index = {node: i for i, node in enumerate(self.nodes)}

    def recursive_add_node(self, fusion_group: FusionGroup, inputs: NodeSet | NodeList, visited: NodeSet | None = None) -> bool:
        """Adds what lies between nodes of a group and `inputs`; whether one of these is computed of the group's."""
        for node in list(inputs):
            if visited is not None:
                if node in visited:
                    continue
                visited.add(node)
            if node.op not in CALLABLE_NODE_OPS or self.node_index[node] < fusion_group.top_node_idx:
                continue
            if node in fusion_group.nodes:
                return True
            if self.recursive_add_node(fusion_group, node.all_input_nodes, visited):
                fusion_group.add_node(node)
                return True
        return False

    def __call__(self) -> dict[Node, NodeSet]:
        found: dict[Node, NodeSet] = {}
        for start in list(self.acc_nodes):
            if start in found or start.op not in CALLABLE_NODE_OPS or "tensor_meta" in start.meta or start not in self.acc_nodes:
                continue
            group = self.FusionGroup(self.node_index[start], {start}, set(start.all_input_nodes), {start})
            while group.nodes_need_process:
                node = group.nodes_need_process.pop()
                self.recursive_add_node(group, group.inputs, set())
                below = [] if "tensor_meta" in node.meta else list(node.users)
                above = [n for n in node.all_input_nodes if "tensor_meta" not in n.meta]
                for near in (*below, *above):
                    if near.op in CALLABLE_NODE_OPS and near not in group.nodes:
                        group.add_node(near)
                        group.top_node_idx = min(group.top_node_idx, self.node_index[near])
                        self.recursive_add_node(group, group.inputs, set())
            if group.nodes <= self.acc_nodes:
                found.update(dict.fromkeys(group.nodes, group.nodes))
            else:
                self.acc_nodes -= group.nodes
        return found


_EARLY = (operator.add, operator.mul, operator.sub, operator.floordiv, operator.truediv, operator.mod, operator.le, operator.lt,
          operator.ge, operator.gt, operator.eq, operator.ne)
"""What assertions of sizes are made of: these come as early as they can."""


def _in_order(gm: GraphModule, put: Callable[[Node], None], take: Callable[[], Node | None]) -> list[Node]:
    """Gives a module its graph anew, each node behind its arguments: those that are ready are `put`, the next is `take`n. Returns the
    nodes that are never ready."""
    nodes = list(gm.graph.nodes)
    missing = {node: len(node.all_input_nodes) for node in nodes}
    graph = Graph()
    copies: dict[Node, Node] = {}
    for node in nodes:
        if not missing[node]:
            put(node)
    while (node := take()) is not None:
        copies[node] = graph.node_copy(node, lambda n: copies[n])
        for user in node.users:
            missing[user] -= 1
            if not missing[user]:
                put(user)
    if len(copies) == len(nodes):
        graph._codegen = gm.graph._codegen
        gm.graph = graph
    return [node for node in nodes if missing[node]]


def legalize_graph(gm: GraphModule) -> GraphModule:
    """The module, each node of its graph behind its arguments, layer by layer.

    Raises:
        RuntimeError: a node needs itself.
    """
    ready: collections.deque[Node] = collections.deque()
    started = False

    def put(node: Node) -> None:
        early = started and node.op == "call_function" and node.target in _EARLY
        (ready.appendleft if early else ready.append)(node)

    def take() -> Node | None:
        nonlocal started
        started = True
        return ready.popleft() if ready else None

    left = _in_order(gm, put, take)
    if left:
        raise RuntimeError(f"Input graph has cycles, unable to add {left}")
    return gm


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """The module, each node of its graph behind its arguments, otherwise in the order that they have.

    Raises:
        AssertionError: a node needs itself.
    """
    nodes = list(gm.graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    ready: list[int] = []
    left = _in_order(gm, lambda node: heapq.heappush(ready, place[node]), lambda: nodes[heapq.heappop(ready)] if ready else None)
    if left:
        raise AssertionError(f"Input graph has cycles, unable to add {left}")
    return gm


_absences(__name__)
