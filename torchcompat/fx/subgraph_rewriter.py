"""Parts of graphs replaced by others, wherever a pattern fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from torchcompat._calls.absent import absences as _absences
from torchcompat.utils._pytree import PyTree
from torchcompat.nn import Module

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attr, _has_attr
from .node import Node

__all__ = ["Match", "replace_pattern", "replace_pattern_with_filters", "ReplacedPatterns"]


class Match(NamedTuple):
    """Where a pattern fits: the node of the pattern that its output is, and the nodes of the graph for those of the pattern."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A match and the nodes that came into its place."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def _graph_of(pattern: PyTree) -> Graph:
    if isinstance(pattern, Graph):
        return pattern
    return pattern.graph if isinstance(pattern, GraphModule) else symbolic_trace(pattern).graph


def replace_pattern(gm: GraphModule, pattern: PyTree, replacement: PyTree) -> list[Match]:
    """Replaces each part of a module's graph that is computed as `pattern` computes; parts that overlap one before them stay.

    Args:
        pattern, replacement: functions, or modules of graphs, of as many arguments.

    Returns:
        the matches, in order.

    >>> from torchcompat import fx
    >>> import torchcompat as torch
    >>> traced = fx.symbolic_trace(lambda x: torch.neg(torch.relu(x)))
    >>> len(replace_pattern(traced, lambda x: torch.relu(x), lambda x: torch.sigmoid(x)))
    1
    """
    return [Match(m.anchor, m.nodes_map) for m in _replace(gm, pattern, replacement, [], False)]


def replace_pattern_with_filters(gm: GraphModule, pattern: PyTree, replacement: PyTree = None,
                                 match_filters: list[Callable[..., bool]] | None = None, ignore_literals: bool = False,
                                 replacement_callback: Callable[..., Graph] | None = None,
                                 node_name_match: str = "") -> list[ReplacedPatterns]:
    """As `replace_pattern`, where all filters agree.

    Args:
        match_filters: they get the match (`passes.utils.matcher_utils.InternalMatch`), the graph and the pattern's graph.
        ignore_literals: whether all that is no node fits all that is none.
        replacement_callback: gives, for the same, a graph that comes into the match's place.
        node_name_match: nodes with this in their name fit the pattern's results whatever they compute.

    Raises:
        AssertionError: there is nothing to put into a match's place, or it has other inputs or results.
    """
    return _replace(gm, pattern, replacement, match_filters or [], ignore_literals, replacement_callback, node_name_match)


def _replace(gm: GraphModule, pattern: PyTree, replacement: PyTree, filters: list[Callable[..., bool]], ignore_literals: bool,
             callback: Callable[..., Graph] | None = None, node_name_match: str = "") -> list[ReplacedPatterns]:
    from .passes.utils.matcher_utils import SubgraphMatcher

    graph, wanted = gm.graph, _graph_of(pattern)
    matches = [match for match in SubgraphMatcher(wanted, ignore_literals=ignore_literals).match(graph, node_name_match=node_name_match)
               if all([accept(match, graph, wanted) for accept in filters])]
    common = None
    if replacement is not None:
        common = _graph_of(replacement)
    elif callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    done: list[ReplacedPatterns] = []
    moved: dict[Node, Any] = {}
    for match in matches:
        new = callback(match, graph, wanted) if callback is not None else common
        assert new is not None
        inputs = [n for n in new.nodes if n.op == "placeholder"]
        if len(match.placeholder_nodes) != len(inputs):
            raise AssertionError(f"Placeholder count mismatch: {len(match.placeholder_nodes)} vs {len(inputs)}")
        match.placeholder_nodes = [moved.get(n, n) if isinstance(n, Node) else n for n in match.placeholder_nodes]
        match.nodes_map.update({p: moved[n] for p, n in match.nodes_map.items()
                                if p.op == "placeholder" and isinstance(n, Node) and n in moved})
        values = dict(zip(inputs, match.placeholder_nodes))
        with graph.inserting_before(_insertion(graph, match.returning_nodes)):
            results = graph.graph_copy(new, values)
        results = (results,) if isinstance(results, Node) else results
        if len(match.returning_nodes) != len(results):
            raise AssertionError(f"Returning nodes count mismatch: {len(match.returning_nodes)} vs {len(results)}")
        added = [n for n in values.values() if n not in match.placeholder_nodes]
        for old, result in zip(match.returning_nodes, results):
            old.replace_all_uses_with(result)
            moved[old] = result
        for node in reversed(wanted.nodes):
            if node.op not in ("placeholder", "output"):
                graph.erase_node(match.nodes_map[node])
        done.append(ReplacedPatterns(match.anchors[0], match.nodes_map, added))
    gm.recompile()
    if isinstance(replacement, Module):
        _take_over(gm, replacement)
    return done


def _insertion(graph: Graph, returned: list[Node]) -> Node:
    """The first node that uses one of some values; where nobody does, the one behind the last of them."""
    users = {user for node in returned for user in node.users}
    first = next((node for node in graph.nodes if node in users), None)
    return first if first is not None else next(node for node in reversed(graph.nodes) if node in returned).next


def _take_over(gm: GraphModule, replacement: Module) -> None:
    """Gives a module what the replacement's nodes refer to."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op in ("call_module", "get_attr") and not _has_attr(gm, node.target):
            if not _has_attr(replacement, node.target):
                raise RuntimeError(f"Attempted to create a \"{node.op}\" node during subgraph rewriting with target {node.target}, but the "
                                   "referenced attribute does not exist in the replacement GraphModule")
            _copy_attr(replacement, gm, node.target)
    gm.graph.lint()


_absences(__name__)
