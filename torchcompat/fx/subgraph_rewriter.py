"""Parts of graphs replaced by others, wherever a pattern fits."""

from __future__ import annotations

from typing import Any, NamedTuple
from collections.abc import Callable

from autograd_tape.annotations import Keywords
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


class ReplacedPatterns:
    """A match and the nodes that came into its place."""

    def __init__(self, anchor: Node, nodes_map: dict[Node, Node], replacements: list[Node]) -> None:
        self.anchor, self.nodes_map, self.replacements = anchor, nodes_map, replacements


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
                                 replacement_callback: Any = None, node_name_match: str = "") -> list[ReplacedPatterns]:
    """As `replace_pattern`, where all filters agree: they get the match, the graph and the pattern's graph."""
    return _replace(gm, pattern, replacement, match_filters or [], ignore_literals, replacement_callback)


class _Matcher:
    """Fits one pattern to nodes."""

    def __init__(self, pattern: Graph, ignore_literals: bool) -> None:
        self.pattern, self.ignore_literals = pattern, ignore_literals
        self.inputs = [n for n in pattern.nodes if n.op == "placeholder"]
        self.outputs = pattern.output_node().all_input_nodes

    def match(self, anchor: Node) -> dict[Node, Node] | None:
        """The nodes for those of the pattern where its output is `anchor`, if it fits."""
        found: dict[Node, Node] = {}
        self.literals: list[PyTree] = []
        if len(self.outputs) != 1 or not self.fits(self.outputs[0], anchor, found):
            return None
        inner = {graph for pattern, graph in found.items() if pattern.op != "placeholder"}
        for pattern, node in found.items():  # values inside are used inside only
            if pattern.op not in ("placeholder", "get_attr") and pattern is not self.outputs[0] and not set(node.users) <= inner:
                return None
        return found

    def fits(self, pattern: PyTree, value: object, found: dict[Node, PyTree]) -> bool:
        """Whether a value of the graph may stand for one of the pattern."""
        if isinstance(pattern, (list, tuple)):
            return (isinstance(value, (list, tuple)) and len(pattern) == len(value)
                    and all([self.fits(p, v, found) for p, v in zip(pattern, value)]))
        if isinstance(pattern, dict):
            return isinstance(value, dict) and pattern.keys() == value.keys() and all(
                [self.fits(p, value[k], found) for k, p in pattern.items()])
        if not isinstance(pattern, Node):
            return self.ignore_literals and not isinstance(value, Node) or type(pattern) is type(value) and bool(pattern == value)
        if pattern in found:
            return found[pattern] is value
        if pattern.op == "placeholder":
            found[pattern] = value
            return True
        if not isinstance(value, Node) or pattern.op != value.op or value in found.values() and pattern.op != "get_attr":
            return False
        if not self.same_target(pattern, value):
            return False
        found[pattern] = value
        mine, theirs = _normal(pattern), _normal(value)
        return self.fits(mine[0], theirs[0], found) and self.fits(mine[1], theirs[1], found)

    @staticmethod
    def same_target(pattern: Node, value: Node) -> bool:
        """Whether two nodes call the same."""
        if pattern.op in ("call_function", "call_method"):
            return bool(pattern.target == value.target)
        mine, theirs = pattern.graph.owning_module, value.graph.owning_module
        if mine is None or theirs is None:
            return bool(pattern.target == value.target)
        one, other = _at(mine, pattern.target), _at(theirs, value.target)
        return type(one) is type(other)


def _at(module: object, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name, None)
    return module


def _normal(node: Node) -> tuple[list[PyTree], Keywords]:
    return list(node.args), dict(node.kwargs)


def _replace(gm: GraphModule, pattern: PyTree, replacement: PyTree, filters: list[Callable[..., bool]], ignore_literals: bool,
             callback: Any = None) -> list[ReplacedPatterns]:
    graph, wanted = gm.graph, _graph_of(pattern)
    new = _graph_of(replacement) if replacement is not None else None
    matcher = _Matcher(wanted, ignore_literals)
    matches: list[tuple[Node, dict[Node, PyTree]]] = []
    taken: set[Node] = set()
    for node in list(graph.nodes):
        found = matcher.match(node)
        if found is None:
            continue
        inner = {n for p, n in found.items() if p.op != "placeholder"}
        if inner & taken:
            continue
        if all([accept(Match(node, found), graph, wanted) for accept in filters]):
            matches.append((node, found))
            taken |= inner
    done: list[ReplacedPatterns] = []
    moved: dict[Node, PyTree] = {}
    for anchor, found in matches:
        given = [moved.get(value, value) if isinstance(value, Node) else value for value in [found.get(p) for p in matcher.inputs]]
        own = new if new is not None else callback(Match(anchor, found), graph, wanted)
        values = dict(zip([n for n in own.nodes if n.op == "placeholder"], given))
        before = set(graph.nodes)
        with graph.inserting_before(anchor):
            result = graph.graph_copy(own, values)
        added = [n for n in graph.nodes if n not in before]
        if isinstance(result, (list, tuple)) and len(result) == 1:
            result = result[0]
        if isinstance(result, Node):
            anchor.replace_all_uses_with(result)
            moved[anchor] = result
        spent = [n for p, n in found.items() if p.op != "placeholder"]
        for node in reversed(list(graph.nodes)):
            if node in spent and not node.users:
                graph.erase_node(node)
        done.append(ReplacedPatterns(matcher.outputs[0], found, added))
    gm.recompile()
    if isinstance(replacement, Module):
        _take_over(gm, replacement)
    return done


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
