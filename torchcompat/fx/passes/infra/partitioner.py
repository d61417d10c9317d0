"""Nodes that a compiler takes put together, as many as can be carried out at once."""

from __future__ import annotations

import collections
import itertools
import operator
from collections.abc import Iterable, Sequence

from torchcompat._calls.absent import absences as _absences

from ...graph_module import GraphModule
from ...node import Node, _get_qualified_name
from ..operator_support import OperatorSupportBase
from ..utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """Some nodes.

    Attributes:
        nodes: from nodes to their places, counted from the graph's end.
    """

    def __init__(self, id: int | None = None, nodes: Iterable[Node] | None = None, node_orders: Iterable[int] | None = None) -> None:
        self.id = id
        held = list(nodes or ())
        orders: list[int | None] = [None] * len(held) if node_orders is None else list(node_orders)
        if len(orders) != len(held):
            raise AssertionError("nodes and node_orders must have the same length")
        self.nodes: dict[Node, int | None] = dict(zip(held, orders))

    def __repr__(self) -> str:
        return str(self.nodes)

    def add_node(self, node: Node, node_order: int | None = None) -> None:
        """One more."""
        self.nodes[node] = node_order

    def remove_node(self, node: Node) -> None:
        """One less."""
        del self.nodes[node]

    def size(self) -> int:
        """How many there are."""
        return len(self.nodes)


def _downstream(graph_module: GraphModule) -> dict[Node, set[Node]]:
    """From each node to all that is computed of its value."""
    found: dict[Node, set[Node]] = {}
    for node in reversed(graph_module.graph.nodes):
        found[node] = set(node.users).union(*[found.get(user, ()) for user in node.users])
    return found


class _Proposal:
    """Partitions while they are being made.

    Attributes:
        of: from nodes to the numbers of their partitions.
        order: from numbers to those of the node that the partition was made for first.
        users: the nodes behind a partition.
        reaches: the partitions behind a partition.
    """

    def __init__(self, downstream: dict[Node, set[Node]]) -> None:
        self.downstream = downstream
        self.of: dict[Node, int] = {}
        self.parts: dict[int, Partition] = {}
        self.order: dict[int, int] = {}
        self.users: dict[int, set[Node]] = {}
        self.reaches: dict[int, set[int]] = collections.defaultdict(set)

    def behind(self, users: Iterable[Node]) -> set[int]:
        """The partitions that are computed of some nodes."""
        direct = {self.of[n] for user in users for n in (user, *self.downstream[user]) if n in self.of}
        return direct.union(*[self.reaches[i] for i in direct])

    def start(self, node: Node, place: int, number: int) -> None:
        """A partition of one node."""
        self.of[node] = self.order[number] = number
        self.parts[number] = Partition(number, [node], [place])
        self.users[number] = set(node.users)
        self.reaches[number] |= self.behind(node.users) - {number}

    def merge(self, one: int, other: int) -> int:
        """Puts two partitions together unless something lies between them; the number of the one, or of both."""
        mine, theirs = self.parts[one].nodes, self.parts[other].nodes
        users = {n for n in self.users[one] | self.users[other] if n not in mine and n not in theirs}
        if {one, other} & self.behind(users):
            return one
        kept, gone = (other, one) if len(mine) < len(theirs) else (one, other)
        self.parts[kept].nodes.update(self.parts[gone].nodes)
        self.of.update(dict.fromkeys(self.parts.pop(gone).nodes, kept))
        self.order[kept] = min(self.order[kept], self.order.pop(gone))
        self.users[kept] = users
        del self.users[gone]
        self.reaches[kept] = (self.reaches[kept] | self.reaches.pop(gone) | self.behind(users)) - {kept, gone}
        return kept

    def move(self, node: Node, number: int | None) -> None:
        """Puts a node into another partition, or into none."""
        if node in self.of:
            self.parts[self.of.pop(node)].remove_node(node)
        if number is not None:
            self.of[node] = number
            self.parts[number].add_node(node)


class CapabilityBasedPartitioner:
    """Puts nodes that `operator_support` takes together, where the graph stays one without circles.

    Args:
        allows_single_node_partition: whether partitions of one call of a function stay.
        non_compute_ops: dotted names of functions that do not count as such.
        allowed_single_node_partition_ops: dotted names of functions that may be alone.
        skip_horizontal_fusion: whether only nodes that use one another's values come together.
    """

    def __init__(self, graph_module: GraphModule, operator_support: OperatorSupportBase, allows_single_node_partition: bool = False,
                 non_compute_ops: Sequence[str] | None = None, allowed_single_node_partition_ops: Sequence[str] | None = None,
                 skip_horizontal_fusion: bool = False) -> None:
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops if non_compute_ops is not None else []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.skip_horizontal_fusion = skip_horizontal_fusion
        self._downstream = _downstream(graph_module)

    def _is_node_supported(self, node: Node) -> bool:
        return self.operator_support.is_node_supported(dict(self.graph_module.named_modules()), node)

    def propose_partitions(self) -> list[Partition]:
        """The partitions: from the graph's end on, each node that is taken is put to those that it can be put to."""
        made, numbers = _Proposal(self._downstream), itertools.count()
        for place, node in enumerate(reversed(self.graph_module.graph.nodes)):
            candidates: list[int] = []
            if self._is_node_supported(node):
                number = next(numbers)
                made.start(node, place, number)
                candidates = [number, *([made.of[user] for user in node.users if user in made.of] if self.skip_horizontal_fusion else ())]
            if not self.skip_horizontal_fusion:
                candidates += sorted(made.order, key=made.order.__getitem__)
            first, *others = dict.fromkeys(candidates) or (-1,)
            for other in others:
                first = made.merge(first, other)
        for part in made.parts.values():
            part.nodes = dict(sorted(part.nodes.items(), key=operator.itemgetter(1), reverse=True))
        self._keep_tuples(made)
        return [part for part in made.parts.values() if part.size() and (self.allows_single_node_partition or self._calls(part) > 1)]

    def _keep_tuples(self, made: _Proposal) -> None:
        """Puts the nodes that take tuples apart to those that give them."""
        while True:
            moved = {user: made.of.get(node) for node in self.graph_module.graph.nodes
                     if all([user.op == "call_function" and user.target is operator.getitem for user in node.users])
                     for user in node.users if made.of.get(user) != made.of.get(node)}
            if not moved:
                return
            for node, number in moved.items():
                made.move(node, number)

    def _calls(self, part: Partition) -> int:
        """How many functions a partition calls; those that may be alone count twice."""
        idle = {"torch.ops.aten.view", "_operator.getitem", *self.non_compute_ops}
        names = [_get_qualified_name(node.target) for node in part.nodes if node.op == "call_function"]
        return sum([(name not in idle) + (name in self.allowed_single_node_partition_ops) for name in names])

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """Makes each partition a module, which the graph calls."""
        return fuse_by_partitions(self.graph_module, [partition.nodes for partition in partitions], prefix=prefix)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Proposes partitions, and makes each a module."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions: list[Partition]) -> None:
        """Takes `non_compute_ops` out of partitions where nothing else comes before, or after them."""
        idle = set(self.non_compute_ops)
        known: dict[tuple[Node, bool], bool] = {}

        def is_idle(node: Node) -> bool:
            return node.op == "call_function" and _get_qualified_name(node.target) in idle

        def at_edge(node: Node, up: bool, inner: set[Node], gone: set[Node]) -> bool:
            if node.op == "placeholder" or node not in inner or node in gone:
                return True
            if (node, up) not in known:
                near = node.all_input_nodes if up else node.users
                known[node, up] = is_idle(node) and all(at_edge(n, up, inner, gone) for n in near)
            return known[node, up]

        for partition in partitions:
            inner, gone = set(partition.nodes), set[Node]()
            for node in partition.nodes:
                if is_idle(node) and (at_edge(node, True, inner, gone) or at_edge(node, False, inner, gone)):
                    gone.add(node)
            for node in gone:
                del partition.nodes[node]


_absences(__name__)
