"""Places of boxes and ways of edges: what holds of every drawing, on graphs of all kinds."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

import pytest

from autograd_tape import F, Tape, TensorRef, sharding
from autograd_tape.sharding.plot import Line, Panel, Plot
from autograd_tape.show import level
from autograd_tape.show.layout import Box, Layout, layout

Graph = tuple[list[tuple[float, float]], list[tuple[int, int]], list[int], list[int]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Nodes, edges from smaller numbers to larger ones, and nested groups: of neighbours in a row, or of any nodes."""
    n = draw(st.integers(1, 14))
    sizes = [(draw(st.sampled_from([20.0, 61.5, 140.0])), draw(st.sampled_from([18.0, 60.0]))) for _ in range(n)]
    edges = [(i, j) for i, j in draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=24)) if i < j]
    count = draw(st.integers(0, 4))
    parents = [draw(st.integers(-1, g - 1)) for g in range(count)]
    groups = [draw(st.integers(-1, count - 1)) for _ in range(n)]
    return sizes, edges, sorted(groups) if draw(st.booleans()) else groups, parents


def apart(a: Box, b: Box) -> bool:
    return a.x + a.width <= b.x + 0.11 or b.x + b.width <= a.x + 0.11 or a.y + a.height <= b.y + 0.11 or b.y + b.height <= a.y + 0.11


def within(a: Box, b: Box) -> bool:
    return (b.x - 0.11 <= a.x and a.x + a.width <= b.x + b.width + 0.11 and b.y - 0.11 <= a.y
            and a.y + a.height <= b.y + b.height + 0.11)


def check(graph: Graph, found: Layout) -> None:
    """Everything that a drawing promises."""
    sizes, edges, groups, parents = graph
    whole = Box(0, 0, found.width, found.height)
    assert [(b.width, b.height) for b in found.boxes] == sizes and all(within(b, whole) for b in found.boxes)
    assert all(apart(a, b) for i, a in enumerate(found.boxes) for b in found.boxes[:i])

    def around(g: int) -> set[int]:
        chain = set()
        while g >= 0:
            chain.add(g)
            g = parents[g]
        return chain

    for g, box in enumerate(found.groups):
        if box is not None:
            for v, other in enumerate(found.boxes):
                assert within(other, box) if g in around(groups[v]) else apart(other, box)
            for h, other in enumerate(found.groups[:g]):
                assert other is None or (within(box, other) if h in around(g) else apart(box, other))

    assert len(found.ways) == len(edges)
    gone: dict[int, list[tuple[float, float, float]]] = {}
    for (u, v), way in zip(edges, found.ways):
        a, b = found.boxes[u], found.boxes[v]
        x, y, at = way[0]
        own = y == pytest.approx(a.y + a.height, abs=0.11) and a.x - 0.11 <= x <= a.x + a.width + 0.11
        assert own or any(abs(x - x1) <= 0.11 and y0 - 0.11 <= y <= y1 + 0.11 for x1, y0, y1 in gone.get(u, []))
        gone.setdefault(u, []).extend(way)
        assert way[-1][2] == pytest.approx(b.y, abs=0.11) and b.x - 0.11 <= way[-1][0] <= b.x + b.width + 0.11
        for x1, y0, y1 in way[1:]:
            assert y - 0.11 <= at <= y0 + 0.11 and y0 <= y1 + 0.11  # always down
            if abs(x1 - x) > 0.11:  # a curve, which nothing is in the way of
                assert y0 > at
                gap = Box(min(x, x1), at, abs(x - x1), y0 - at)
                assert all(apart(gap, other) for other in found.boxes)
            x, y, at = x1, y0, y1
        for x, y0, y1 in way:
            assert all(apart(Box(x, y0, 0, y1 - y0), other) or w in (u, v) for w, other in enumerate(found.boxes))


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_what_holds_of_every_drawing(graph: Graph) -> None:
    sizes, edges, groups, parents = graph
    found = layout(sizes, edges, groups, parents, [30.0] * len(parents))
    check(graph, found)
    assert found == layout(sizes, edges, groups, parents, [30.0] * len(parents))


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_long_edges_around_everything(graph: Graph) -> None:
    before, level.BENDS = level.BENDS, 1
    try:
        check(graph, layout(*graph, [30.0] * len(graph[3])))
    finally:
        level.BENDS = before


def test_members_that_stand_together_have_a_box() -> None:
    sizes = [(20.0, 20.0)] * 4
    assert None not in layout(sizes, [(0, 1), (1, 2), (2, 3), (0, 3)], [-1, 0, 0, -1], [-1], [30.0]).groups
    assert layout(sizes, [(0, 1), (1, 2)], [0, -1, 0, -1], [-1], [30.0]).groups == [None]  # another node comes in between


def test_rows_follow_the_edges_and_keep_them_short() -> None:
    found = layout([(20.0, 20.0)] * 5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    rows = [box.y for box in found.boxes]
    assert rows[0] < rows[1] < rows[2] < rows[3] and rows[4] == rows[2]


def test_crossings_are_taken_out() -> None:
    """Two pairs drawn in the wrong order, and a fan."""
    found = layout([(20.0, 20.0)] * 6, [(0, 3), (1, 2), (1, 4), (0, 5)])
    x = [box.x for box in found.boxes]
    assert (x[0] < x[1]) == (max(x[3], x[5]) < min(x[2], x[4]))


def test_circles_are_refused() -> None:
    with pytest.raises(ValueError, match="circle"):
        layout([(20.0, 20.0)] * 2, [(0, 1), (1, 0)])


def test_a_chain_of_thousands() -> None:
    n = 2000
    edges = [(i, i + 1) for i in range(n - 1)] + [(i, i + 7) for i in range(0, n - 7, 5)]
    found = layout([(60.0, 30.0)] * n, edges)
    assert all(a.y + a.height < b.y for a, b in zip(found.boxes, found.boxes[1:]))


def test_a_long_program_that_uses_one_thing_in_every_step_goes_straight_down() -> None:
    """As a recurrent network its weight: steps of five, the third and fifth of which, and a branch, take what comes first."""
    def steps(n: int) -> list[tuple[int, int]]:
        edges = []
        for step in range(n):
            weight, last = 0, 5 * step
            turned, scaled, product, grown, bent = range(5 * step + 1, 5 * step + 6)
            edges += [(weight, turned), (turned, scaled), (scaled, product), (last, product), (weight, grown), (product, grown),
                      (grown, bent)]
        return edges

    few, many = [layout([(100.0, 40.0)] * (5 * n + 1), steps(n)) for n in (2, 40)]
    assert many.height > 10 * few.height and many.width < 2.5 * few.width


def test_every_drawing_is_on_white() -> None:
    x = TensorRef.of([1.0], requires_grad=True)
    with Tape() as tape:
        F.sum(x * x)
    mesh = sharding.Mesh({"data": 2})
    plot = Plot([Panel("a panel", str, (Line("a line", ((1.0, 1.0), (2.0, 3.0))),))], "devices")
    for drawing in (tape.draw(), sharding.Sharding(mesh, ("data",)).draw((4,)), plot):
        root = ElementTree.fromstring(drawing.svg)
        title, ground = root[0], root[1]
        assert title.text and ground.get("class") == "ground" and ground.get("fill") == "#ffffff"
        assert [ground.get(side) for side in ("width", "height")] == [root.get(side) for side in ("width", "height")]
        assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
