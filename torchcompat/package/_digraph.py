"""Graphs of what depends on what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class DiGraph:
    """Nodes with attributes, and edges between them, in the order in which they were added."""

    def __init__(self) -> None:
        self._node: dict[str, dict[str, Any]] = {}
        self._succ: dict[str, dict[str, bool]] = {}
        self._pred: dict[str, dict[str, bool]] = {}

    def add_node(self, n: str, **kwargs: Any) -> None:
        """Adds a node, or attributes to one."""
        self._node.setdefault(n, {}).update(kwargs)
        self._succ.setdefault(n, {})
        self._pred.setdefault(n, {})

    def add_edge(self, u: str, v: str) -> None:
        """Adds an edge, and its nodes where they are missing."""
        self.add_node(u)
        self.add_node(v)
        self._succ[u][v] = self._pred[v][u] = True

    def _neighbours(self, edges: Mapping[str, Mapping[str, bool]], n: str) -> Iterator[str]:
        if n not in edges:
            raise ValueError(f"The node {n} is not in the digraph.")
        return iter(edges[n])

    def successors(self, n: str) -> Iterator[str]:
        """Where edges of a node lead; ValueError where there is no such node."""
        return self._neighbours(self._succ, n)

    def predecessors(self, n: str) -> Iterator[str]:
        """Where edges to a node come from; ValueError where there is no such node."""
        return self._neighbours(self._pred, n)

    @property
    def edges(self) -> Iterator[tuple[str, str]]:
        """All edges."""
        return ((u, v) for u, following in self._succ.items() for v in following)

    @property
    def nodes(self) -> dict[str, dict[str, Any]]:
        """The attributes by node."""
        return self._node

    def __iter__(self) -> Iterator[str]:
        return iter(self._node)

    def __contains__(self, n: object) -> bool:
        try:
            return n in self._node
        except TypeError:  # what cannot be a node
            return False

    def _reached(self, edges: Mapping[str, Mapping[str, bool]], start: str) -> dict[str, None]:
        found, waiting = {start: None}, [start]
        while waiting:
            for n in self._neighbours(edges, waiting.pop(0)):
                if n not in found:
                    found[n] = None
                    waiting.append(n)
        return found

    def forward_transitive_closure(self, src: str) -> set[str]:
        """All nodes that edges lead to from a node, and itself."""
        return set(self._reached(self._succ, src))

    def backward_transitive_closure(self, src: str) -> set[str]:
        """All nodes that edges lead from to a node, and itself."""
        return set(self._reached(self._pred, src))

    def all_paths(self, src: str, dst: str) -> str:
        """All paths from one node to another as a drawing; without edges where there are none."""
        found, forward = DiGraph(), self.forward_transitive_closure(src)
        if dst in forward:
            for n in self._reached(self._pred, dst):
                for before in self._pred[n]:
                    if before in forward:
                        found.add_edge(before, n)
        return found.to_dot()

    def first_path(self, dst: str) -> list[str]:
        """The nodes by which a node came into the graph, from the first on: each was the earliest that leads to the next."""
        order = {n: i for i, n in enumerate(self._node)}
        path = [dst]
        while before := [n for n in self._pred[path[0]] if n not in path]:
            path.insert(0, min(before, key=order.__getitem__))
        return path

    def to_dot(self) -> str:
        """The graph in the language of Graphviz."""
        edges = "\n".join([f'"{u}" -> "{v}";' for u, v in self.edges])
        return f"digraph G {{\nrankdir = LR;\nnode [shape=box];\n{edges}\n}}\n"
