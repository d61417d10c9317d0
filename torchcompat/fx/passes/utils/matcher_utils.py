"""Patterns found in graphs: where nodes compute what those of another graph compute."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchcompat import Tensor
from torchcompat._calls.absent import absences as _absences
from torchcompat.utils._pytree import PyTree

from ...graph import Graph
from ...graph_module import _get_attr
from ...node import Node
from ..tools_common import validate_partition

__all__ = ["SubgraphMatcher", "InternalMatch"]


@dataclass
class InternalMatch:
    """Where a pattern fits.

    Attributes:
        anchors: the nodes of the pattern that it was found from.
        nodes_map: from the pattern's nodes to those of the graph.
        placeholder_nodes, returning_nodes: what stands for the pattern's inputs and results.
        name_node_map: nodes by the names that a pattern gives them.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[PyTree] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(self.anchors, self.nodes_map.copy(), self.placeholder_nodes.copy(), self.returning_nodes.copy())


class SubgraphMatcher:
    """Finds a pattern in graphs.

    Args:
        pattern: a graph.
        match_output: whether its output must be the graph's.
        match_placeholder: whether its inputs must be inputs; otherwise they stand for any value.
        remove_overlapping_matches: whether of matches that share nodes only the first is given.
        ignore_literals: whether all that is no node fits all that is none.

    Raises:
        ValueError: the pattern is empty.
        AssertionError: nobody uses one of its values.
    """

    def __init__(self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False,
                 remove_overlapping_matches: bool = True, ignore_literals: bool = False) -> None:
        self.pattern, self.match_output, self.match_placeholder = pattern, match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        if any([not node.users for node in pattern.nodes if node.op != "output" and not node.is_impure()]):
            raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        output = next(iter(reversed(pattern.nodes)))
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        self.pattern_returning_nodes: list[Node] = output.all_input_nodes
        self.pattern_anchors: list[Node] = [output] if match_output else [n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Where the pattern fits, in the graph's order; values inside of it are used inside only.

        Args:
            node_name_match: nodes with this in their name fit the pattern's results whatever they compute.
        """
        candidates = [(anchor, [n for n in graph.nodes if self._nodes_are_equal(anchor, n, node_name_match)])
                      for anchor in self.pattern_anchors]
        tried = [(anchor, nodes) for anchor, nodes in candidates if nodes]
        found = [] if len(tried) < len(candidates) or not tried else [
            m for m in self._joint(tried, InternalMatch(self.pattern_anchors), node_name_match) if self._is_contained(m.nodes_map)]
        if not self.remove_overlapping_matches:
            return found
        taken: set[Node] = set()
        chosen = []
        for match in found:
            inner = {gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")}
            if validate_partition(list(inner)) and not inner & taken:  # what needs itself cannot become one
                chosen.append(match)
                taken |= inner
        return chosen

    def _joint(self, anchors: list[tuple[Node, list[Node]]], match: InternalMatch, name: str) -> Iterator[InternalMatch]:
        """The ways in which all anchors fit together."""
        if not anchors:
            match.placeholder_nodes = [match.nodes_map[pn] for pn in self.pattern_placeholder_nodes]
            match.returning_nodes = [match.nodes_map[pn] for pn in self.pattern_returning_nodes]
            yield match
            return
        (anchor, nodes), *others = anchors
        for node in nodes:
            attempt = copy.copy(match)
            if self._match_nodes(anchor, node, attempt, name):
                yield from self._joint(others, attempt, name)

    def _nodes_are_equal(self, pn: Node, gn: Node, node_name_match: str = "") -> bool:
        """Whether two nodes, without their arguments, are the same."""
        if pn.op == "placeholder" and not self.match_placeholder or node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op == "get_attr":
            return self._match_attributes(pn, gn)
        return pn.op in ("placeholder", "output") or bool(pn.target == gn.target)

    def _match_attributes(self, pn: Node, gn: Node) -> bool:
        """Whether two attributes are tensors; which, does not matter."""
        found = []
        for name, node in (("pn", pn), ("gn", gn)):
            if node.graph.owning_module is None:
                raise AssertionError(f"{name}.graph.owning_module must not be None")
            found.append(_get_attr(node.graph.owning_module, node.target))
        mine, theirs = found
        if type(mine) is not type(theirs):
            return False
        if not isinstance(mine, Tensor):
            raise RuntimeError(f"Unsupported type {mine} when matching attributes")
        return True

    def _is_contained(self, nodes_map: dict[Node, PyTree]) -> bool:
        """Whether what is used elsewhere are results of the pattern."""
        inner = {gn: pn for pn, gn in nodes_map.items() if pn.op != "placeholder"}
        return all([user in inner for gn, pn in inner.items() if pn not in self.pattern_returning_nodes for user in gn.users])

    def _match_nodes(self, pn: Node, gn: Node, match: InternalMatch, node_name_match: str = "") -> bool:
        """Whether a node of the pattern fits one of the graph, with all that they are computed of; which is noted in `match`."""
        known = match.nodes_map
        if pn in known:
            return bool(known[pn] == gn)
        if gn in known.values() or not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        known[pn] = gn
        if pn.op == "placeholder":
            return True
        same = len(pn.args) == len(gn.args) and list(pn.kwargs) == list(gn.kwargs)
        if not same and pn.op == "call_function" and hasattr(pn.target, "_schema"):
            return self._match_args(_all_arguments(pn), _all_arguments(gn), match)
        return same and self._match_args([*pn.args, *pn.kwargs.values()], [*gn.args, *gn.kwargs.values()], match)

    def _match_args(self, mine: Sequence[PyTree], theirs: Sequence[PyTree], match: InternalMatch) -> bool:
        return len(mine) == len(theirs) and all([self._match_arg(a, b, match) for a, b in zip(mine, theirs)])

    def _match_arg(self, a: Any, b: Any, match: InternalMatch) -> bool:
        if isinstance(a, Node) and isinstance(b, Node):
            return self._match_nodes(a, b, match)
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            return self._match_args(a, b, match)
        return self._match_literals(a, b, match) or self.ignore_literals

    def _match_literals(self, pn: Any, gn: Any, match: InternalMatch) -> bool:
        """Whether a value that is no node fits: as an input of the pattern, or as the same value."""
        if isinstance(pn, Node) and isinstance(gn, Node):
            raise AssertionError("pn and gn cannot both be Node")
        if isinstance(pn, Node):
            return pn.op == "placeholder" and bool(match.nodes_map.setdefault(pn, gn) == gn)
        return not isinstance(gn, Node) and type(gn) is type(pn) and bool(gn == pn)


def _all_arguments(node: Node) -> list[PyTree]:
    """The arguments of an operation of `torch.ops` in the order of its schema, defaults among them."""
    return [node.kwargs[a.name] if a.name in node.kwargs else node.args[i] if not a.kwarg_only and i < len(node.args) else a.default_value
            for i, a in enumerate(node.target._schema.arguments)]


_absences(__name__)
