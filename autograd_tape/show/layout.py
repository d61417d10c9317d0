"""Where the boxes of a graph go, those of groups around their members, and the edges between them.

A group is arranged by itself first (`level.Level`) and then stands as one item in the group around it, so boxes overlap only where one
is in the other. An edge that leaves a group does so through a port in its lower side, one that enters through a port in its upper side: it
has a way between the boxes on each level, and so never crosses one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dataclasses import dataclass

from .level import Circle, Edge, Level, Run

HEAD, SIDE = 24.0, 12.0
"""What a group keeps free above its first row, for its name, and beside its members."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, by its left upper corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Layout:
    """Everything's place.

    Attributes:
        boxes: of the nodes.
        groups: of the groups; None for those that have no box: they are empty, or their members do not stand together.
        ways: of the edges, the vertical runs from the lower side of the first node's box to the upper side of the second's. In between
            they go from one run's end to the next one's begin, where no box is. Edges of one node go together as far as they can: the later
            ones begin where they leave the earlier ones.
        width, height: of all.
    """

    boxes: list[Box]
    groups: list[Box | None]
    ways: list[list[Run]]
    width: float
    height: float


def layout(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]], groups: Sequence[int] = (),
           parents: Sequence[int] = (), names: Sequence[float] = ()) -> Layout:
    """Arranges nodes in rows, such that all edges go down.

    Args:
        sizes: (width, height) of each node.
        edges: pairs of nodes, which may be the same pair twice. They form no circle.
        groups: the number of each node's group, -1 outside of all; of all nodes where empty.
        parents: the number of the group around each group, -1 outside of all. It is smaller than the group's own.
        names: the width of each group's name.

    >>> found = layout([(40, 20), (40, 20)], [(0, 1)])
    >>> found.boxes
    [Box(x=0.0, y=0.0, width=40, height=20), Box(x=0.0, y=42.0, width=40, height=20)]
    >>> found.ways
    [[(20.0, 20.0, 20.0), (20.0, 42.0, 42.0)]]
    """
    owner, around = list(groups) or [-1] * len(sizes), list(parents)
    boxless: set[int] = set()
    while True:
        try:
            return _Nested(sizes, edges, owner, around, names, boxless).result()
        except _Apart as error:  # members of these groups come before and after other nodes
            boxless |= error.groups
            outer = {g: next(p for p in _outwards(g, around) if p not in boxless) for g in error.groups}
            owner = [outer.get(g, g) for g in owner]
            around = [outer.get(p, p) for p in around]


def _outwards(group: int, parents: Sequence[int]) -> Iterable[int]:
    while group >= 0:
        group = parents[group]
        yield group


class _Apart(Exception):
    """Groups that cannot each have one box."""

    def __init__(self, groups: set[int]) -> None:
        self.groups = groups


Item = tuple[str, int]
"""("node", number), ("group", number), or ("in", node), ("out", node): the port of the edges that come from the node."""


class _Nested:
    """The levels of a drawing: that of each group, and the outermost, whose number is -1."""

    def __init__(self, sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]], owner: Sequence[int],
                 parents: Sequence[int], names: Sequence[float], boxless: set[int]) -> None:
        self.sizes, self.names, self.owner = sizes, names, owner
        paths: dict[int, tuple[int, ...]] = {-1: (-1,)}
        for g, p in enumerate(parents):
            if g not in boxless:
                paths[g] = (*paths[p], g)
        self.items: dict[int, dict[Item, int]] = {g: {} for g in paths}
        self.edges: dict[int, dict[tuple[int, Item], Edge]] = {g: {} for g in paths}
        self.legs: list[list[tuple[int, Edge]]] = []  # of each edge: the levels that it goes through
        for v, g in enumerate(owner):
            self._item(g, ("node", v))
            for outer, inner in zip(paths[g], paths[g][1:]):
                self._item(outer, ("group", inner))
        for u, v in edges:
            self.legs.append(self._legs(u, v, paths[owner[u]], paths[owner[v]]))
        self.levels: dict[int, Level] = {}
        for g in sorted([g for g in paths if self.items[g] or g < 0], key=lambda g: -len(paths[g])):
            self._arrange(g)
        self.count = len(parents)

    def _item(self, group: int, item: Item) -> int:
        return self.items[group].setdefault(item, len(self.items[group]))

    def _edge(self, group: int, key: int, a: Item, b: Item) -> tuple[int, Edge]:
        found = self.edges[group].get((key, b))
        if found is None:
            found = self.edges[group][key, b] = Edge(key, self._item(group, a), self._item(group, b))
        return group, found

    def _legs(self, u: int, v: int, start: tuple[int, ...], end: tuple[int, ...]) -> list[tuple[int, Edge]]:
        common = sum([a == b for a, b in zip(start, end)])  # paths are alike up to somewhere
        a: list[Item] = [*[("group", g) for g in start[1:]], ("node", u)]
        b: list[Item] = [*[("group", g) for g in end[1:]], ("node", v)]
        return [*[self._edge(start[i], u, a[i], ("out", u)) for i in reversed(range(common, len(start)))],
                self._edge(end[common - 1], u, a[common - 1], b[common - 1]),
                *[self._edge(end[i], u, ("in", u), b[i]) for i in range(common, len(end))]]

    def _arrange(self, group: int) -> None:
        items = list(self.items[group])
        sizes = [(0.0, 0.0)] * len(items)
        for i, (what, nr) in enumerate(items):
            if what == "node":
                sizes[i] = self.sizes[nr]
            elif what == "group":
                inner = self.levels[nr]
                sizes[i] = max(inner.width, self.names[nr]) + 2 * SIDE, inner.height + (0 if inner.bottom else SIDE)
        for edge in self.edges[group].values():
            for side, i in (("out", edge.a), ("in", edge.b)):
                what, nr = items[i]
                if what == "group":
                    at = SIDE + self.levels[nr].x[self.items[nr][side, edge.key]]
                    if side == "out":
                        edge.leaves = at
                    else:
                        edge.enters = at
        ports = {side: [i for i, (what, _) in enumerate(items) if what == side] for side in ("in", "out")}
        try:
            self.levels[group] = Level(sizes, list(self.edges[group].values()), ports["in"], ports["out"], HEAD if group >= 0 else 0.0)
        except Circle as error:
            apart = {items[i][1] for i in error.items if items[i][0] == "group"}
            if not apart:
                raise ValueError("these edges form a circle") from None
            raise _Apart(apart) from None

    def result(self) -> Layout:
        """The places, from the outermost level to the innermost."""
        boxes: list[Any] = [None] * len(self.sizes)
        groups: list[Box | None] = [None] * self.count
        origin: dict[int, tuple[float, float]] = {-1: (0.0, 0.0)}
        for g in reversed(self.levels):  # they were arranged from the innermost
            level, (left, above) = self.levels[g], origin[g]
            for (what, nr), i in self.items[g].items():
                box = Box(left + level.x[i], above + level.y[i], *level.sizes[i])
                if what == "node":
                    boxes[nr] = box
                elif what == "group":
                    groups[nr] = box
                    origin[nr] = box.x + SIDE, box.y
        outermost = self.levels[-1]
        return Layout(boxes, groups, self._ways(origin), outermost.width, outermost.height)

    def _ways(self, origin: dict[int, tuple[float, float]]) -> list[list[Run]]:
        arriving: dict[tuple[int, int], list[tuple[float, int]]] = {}
        for nr, legs in enumerate(self.legs):
            group, edge = legs[-1]
            arriving.setdefault((group, edge.b), []).append((self.levels[group].comes_from(edge), nr))
        enters: dict[int, float] = {}
        for edges in arriving.values():  # side by side, as they come
            for place, (_, nr) in enumerate(sorted(edges), 1):
                group, edge = self.legs[nr][-1]
                enters[nr] = round(self.levels[group].sizes[edge.b][0] * place / (len(edges) + 1), 1)
        ways: list[list[Run]] = []
        done: set[int] = set()
        for nr, legs in enumerate(self.legs):
            way: list[Run] = []
            for group, edge in legs:
                if id(edge) in done and edge is not legs[-1][1]:
                    way = []
                    continue
                done.add(id(edge))
                left, above = origin[group]
                goes_on, runs = self.levels[group].way(edge, enters[nr] if edge is legs[-1][1] else None)
                moved = [(round(x + left, 1), round(y0 + above, 1), round(y1 + above, 1)) for x, y0, y1 in runs]
                way = moved if goes_on else way + moved
            ways.append(way)
        return ways
