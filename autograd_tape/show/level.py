"""One level of a layered drawing: items in rows, edges from row to row, each edge on a way of its own between the items.

Rows come from longest paths; what is passed by an edge gets a *bend* in its row, so that edges join neighbouring rows only. Rows are put
into an order with few crossings by sweeps of barycentres, and their members to where their neighbours are: the least squares of the
distances, with the order kept. Everything is decided by the order of items and edges alone, so the same graph gives the same drawing.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from heapq import heappop, heappush

from dataclasses import dataclass

Run = tuple[float, float, float]
"""A vertical piece of an edge: x, from y, to y. Curves join one run's end to the next one's begin, in the gap between two rows."""

SPACE, BEND, GAP = 18.0, 8.0, 22.0
"""Between neighbours in a row, the width of a bend, and the least height of the gap between rows."""
WORK = 300_000
"""About how many steps a level may spend on the order of its rows."""
BENDS = 30_000
"""How many a level may have: where edges pass more rows than that, the longest go around everything."""


class Circle(Exception):
    """The items are not in an order: `items` are those that lead to each other."""

    def __init__(self, items: list[int]) -> None:
        self.items = items


@dataclass(slots=True)
class Edge:
    """From item `a` to item `b`. Edges of one `key` come from the same place, and share their way as far as it goes.

    `leaves` and `enters` are where along the items' width, None for the middle.
    """

    key: int
    a: int
    b: int
    leaves: float | None = None
    enters: float | None = None


class Level:
    """Items of given sizes, arranged.

    Args:
        sizes: (width, height) of each item.
        edges: what joins them; at most one of the same key and end.
        top, bottom: items that stand on the edge of the drawing, where other levels go on.
        head: the height that is kept free above the first row.

    Attributes:
        x, y: of each item, its left upper corner.
        rows: the row of each item.
        width, height: of all.

    Raises:
        Circle: there is no order in which all edges go down.
    """

    def __init__(self, sizes: Sequence[tuple[float, float]], edges: Sequence[Edge], top: Sequence[int] = (), bottom: Sequence[int] = (),
                 head: float = 0.0) -> None:
        self.items = len(sizes)
        self.sizes, self.edges, self.top, self.bottom = list(sizes), edges, set(top), set(bottom)
        self.rows = self._rows()
        self.before: dict[int, int] = {}  # from a bend to the one before it, or the item
        self.last: dict[tuple[int, int], int] = {}  # from (key, item) to the last bend on the way to it, or the item that it comes from
        self._gone: set[int] = set()  # bends that a way goes through
        self.around = self._around()
        self.links: list[tuple[int, int, float, float]] = []  # (upper, lower, where it leaves and enters from the middle)
        self._bend()
        self.order = self._ordered()
        self._place(head)

    # -- rows -----------------------------------------------------------------------------------------------------

    def _rows(self) -> list[int]:
        n = len(self.sizes)
        after: list[list[int]] = [[] for _ in range(n)]
        before: list[list[int]] = [[] for _ in range(n)]
        for edge in self.edges:
            after[edge.a].append(edge.b)
            before[edge.b].append(edge.a)
        rows, missing = [1 if self.top and i not in self.top else 0 for i in range(n)], [len(b) for b in before]
        order = [i for i in range(n) if not missing[i]]
        for i in order:
            for j in after[i]:
                rows[j] = max(rows[j], rows[i] + 1)
                missing[j] -= 1
                if not missing[j]:
                    order.append(j)
        if len(order) < n:
            raise Circle([i for i in range(n) if missing[i]])
        last = 1 + max([rows[i] for i in range(n) if i not in self.bottom], default=0)
        for i in self.bottom:
            rows[i] = last
        for i in reversed(order):  # down to what uses it, where that makes edges shorter
            if after[i] and i not in self.top and len(after[i]) >= len(before[i]):
                rows[i] = min([rows[j] for j in after[i]]) - 1
        used = {row: at for at, row in enumerate(sorted(set(rows)))}
        return [used[row] for row in rows]

    def _around(self) -> dict[tuple[int, int], int]:
        """(key, item) of what comes from items and goes around all rows, with the number of its track beside them."""
        ends: dict[tuple[int, int], int] = {}
        for edge in self.edges:
            ends[edge.key, edge.a] = max(self.rows[edge.b], ends.get((edge.key, edge.a), 0))
        bends, found = sum([end - self.rows[a] - 1 for (_, a), end in ends.items()]), {}
        for start in sorted(ends, key=lambda start: self.rows[start[1]] - ends[start]):
            if bends <= BENDS:
                break
            bends -= ends[start] - self.rows[start[1]] - 1
            found[start] = 0
        free: list[int] = []
        taken: list[tuple[int, int]] = []  # (the row where it ends, track)
        for start in sorted(found, key=lambda start: (self.rows[start[1]], start)):
            while taken and taken[0][0] <= self.rows[start[1]]:
                heappush(free, heappop(taken)[1])
            found[start] = heappop(free) if free else len(taken)
            heappush(taken, (ends[start], found[start]))
        return found

    def _bend(self) -> None:
        """Cuts edges into links from row to row, with a bend in each row that they pass. Edges of one key share them."""
        chains: dict[tuple[int, int], list[int]] = {}  # from (key, item) to where its edges go on from, row by row
        for edge in self.edges:
            start = edge.key, edge.a
            if start in self.around:
                continue
            leaves, enters = [0.0 if at is None else at - self.sizes[i][0] / 2 for at, i in ((edge.leaves, edge.a), (edge.enters, edge.b))]
            chain = chains.setdefault(start, [edge.a])
            while len(chain) < self.rows[edge.b] - self.rows[edge.a]:
                bend = len(self.sizes)
                self.sizes.append((BEND, 0.0))
                self.rows.append(self.rows[edge.a] + len(chain))
                self.before[bend] = chain[-1]
                self.links.append((chain[-1], bend, leaves if chain[-1] == edge.a else 0.0, 0.0))
                chain.append(bend)
            last = chain[self.rows[edge.b] - self.rows[edge.a] - 1]
            self.last[edge.key, edge.b] = last
            self.links.append((last, edge.b, leaves if last == edge.a else 0.0, enters))

    # -- the order of rows ----------------------------------------------------------------------------------------

    def _ordered(self) -> list[list[int]]:
        order: list[list[int]] = [[] for _ in range(max(self.rows, default=-1) + 1)]
        for i, row in enumerate(self.rows):
            order[row].append(i)
        # What a row's members are joined to, above and below, and where along it: a part of its rank.
        self.joined: tuple[list[list[tuple[int, float]]], list[list[tuple[int, float]]]] = tuple(  # type: ignore[assignment]  # two of them
            [[] for _ in self.rows] for _ in range(2))
        for upper, lower, leaves, enters in self.links:
            self.joined[0][lower].append((upper, leaves / (self.sizes[upper][0] + 1)))
            self.joined[1][upper].append((lower, enters / (self.sizes[lower][0] + 1)))
        best, fewest = [list(row) for row in order], None
        for _ in range(max(2, min(12, WORK // (len(self.links) + len(self.rows) + 1)))):
            for side, rows in ((0, order), (1, order[::-1])):
                self._sweep(rows, self.joined[side])
            crossings = self._crossings(order)
            if fewest is not None and crossings >= fewest:
                break
            best, fewest = [list(row) for row in order], crossings
            if not crossings:
                break
        return best

    @staticmethod
    def _sweep(rows: Sequence[list[int]], joined: list[list[tuple[int, float]]]) -> None:
        rank: dict[int, float] = {}
        for row in rows:
            middle = {i: sum([rank[j] + at for j, at in joined[i]]) / len(joined[i]) if joined[i] and rank else float(nr)
                      for nr, i in enumerate(row)}
            row.sort(key=middle.__getitem__)  # a stable sort: what is equal stays as it was
            rank = {i: float(nr) for nr, i in enumerate(row)}

    def _crossings(self, order: Sequence[Sequence[int]]) -> int:
        rank = [0.0] * len(self.rows)
        for row in order:
            for nr, i in enumerate(row):
                rank[i] = nr
        found = 0
        for row in order:
            seen: list[float] = []
            for i in row:
                ends = [rank[j] + enters for j, enters in self.joined[1][i]]
                found += sum([len(seen) - bisect_right(seen, end) for end in ends])
                for end in ends:
                    insort(seen, end)
        return found

    # -- places ---------------------------------------------------------------------------------------------------

    def _place(self, head: float) -> None:
        self._middle = [0.0] * len(self.rows)
        for row in self.order:
            at = 0.0
            for i in row:
                self._middle[i] = at + self.sizes[i][0] / 2
                at += self.sizes[i][0] + SPACE
        n = len(self.sizes)
        real = [i < self.items for i in range(n)]
        up: list[list[tuple[int, float, float]]] = [[] for _ in range(n)]
        down: list[list[tuple[int, float, float]]] = [[] for _ in range(n)]
        fed = {edge.b for edge in self.edges} | self.top
        for upper, lower, leaves, enters in self.links:
            # Long edges are to be straight, and what goes on below what it comes from: beginnings stand beside that.
            weight = 0.2 if real[upper] and upper not in fed else 1.0 if real[upper] and real[lower] else 2.0 if (
                real[upper] or real[lower]) else 8.0
            up[lower].append((upper, leaves - enters, weight))
            down[upper].append((lower, enters - leaves, weight))
        sweeps = max(2, min(5, WORK // (8 * n + 1)))
        for above, below in [(up, down)] * sweeps + [([a + b for a, b in zip(up, down)],) * 2]:
            for row in self.order:
                self._settle(row, above)
            for row in reversed(self.order):
                self._settle(row, below)
            self._straighten(down)
        left = min([m - w / 2 for m, (w, _) in zip(self._middle, self.sizes)], default=0.0)
        self._middle = [round(m - left, 1) for m in self._middle]
        self.width = max([m + w / 2 for m, (w, _) in zip(self._middle, self.sizes)], default=0.0)
        self._track = self.width + SPACE
        self.width += SPACE + BEND * (1 + max(self.around.values())) if self.around else 0.0
        self._stack(head)
        self.x = [m - w / 2 for m, (w, _) in zip(self._middle, self.sizes)]

    def _straighten(self, down: Sequence[Sequence[tuple[int, float, float]]]) -> None:
        """Moves whole rows such that long edges, and those between items, go straight down on the average: of many rows, each a bit beside
        the one above, comes no staircase."""
        middle, shift, n = self._middle, 0.0, self.items
        for row in self.order:
            joined = [(middle[j] + by - middle[i], w) for i in row for j, by, w in down[i] if (i < n) is (j < n)]
            for i in row:
                middle[i] += shift
            shift -= sum([d * w for d, w in joined]) / (sum([w for _, w in joined]) or 1.0)

    def _settle(self, row: Sequence[int], joined: Sequence[Sequence[tuple[int, float, float]]]) -> None:
        """Moves a row's members to where their neighbours want them, as near as their order allows: least squares."""
        middle, blocks, shift, before = self._middle, [], 0.0, None
        for i in row:
            if before is not None:
                shift += (self.sizes[before][0] + self.sizes[i][0]) / 2 + SPACE
            wanted = joined[i]
            weight = sum([w for _, _, w in wanted]) or 0.05
            goal = sum([(middle[j] + by) * w for j, by, w in wanted]) / weight if wanted else middle[i]
            blocks.append([(goal - shift) * weight, weight, 1])
            while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] > blocks[-1][0] * blocks[-2][1]:
                total, weight, count = blocks.pop()
                blocks[-1] = [blocks[-1][0] + total, blocks[-1][1] + weight, blocks[-1][2] + count]
            before = i
        members, shift, before = iter(row), 0.0, None
        for total, weight, count in blocks:
            for _ in range(int(count)):
                i = next(members)
                if before is not None:
                    shift += (self.sizes[before][0] + self.sizes[i][0]) / 2 + SPACE
                middle[i], before = total / weight + shift, i

    def _stack(self, head: float) -> None:
        """Heights of rows, and of the gaps between them: higher where edges go far to the side."""
        far = [0.0] * (len(self.order) + 1)
        for upper, lower, leaves, enters in self.links:
            side = abs(self._middle[upper] + leaves - self._middle[lower] - enters)
            far[self.rows[upper]] = max(far[self.rows[upper]], side)
        at = 0.0 if self.top else head
        self.begins, self.ends = [], []
        for nr, row in enumerate(self.order):
            self.begins.append(at)
            at += max([self.sizes[i][1] for i in row])
            self.ends.append(at)
            if nr + 1 < len(self.order):
                gap = GAP + min(0.12 * far[nr], 60.0)
                at = round(at + (max(gap, head) if self.top and nr == 0 else gap), 1)
        self.height = at
        self.y = [round(self.begins[row] + (self.ends[row] - self.begins[row] - h) / 2, 1) for row, (_, h) in zip(self.rows, self.sizes)]

    # -- edges ----------------------------------------------------------------------------------------------------

    def way(self, edge: Edge, enters: float | None = None) -> tuple[bool, list[Run]]:
        """(whether it goes on from the way of an edge of the same key, the vertical runs) of an edge.

        They begin at the lower side of its first item, or where it leaves a way that was asked for before, and end at the upper side of its
        last item, entered at `enters`.
        """
        a, b, (wa, ha), (wb, _) = edge.a, edge.b, self.sizes[edge.a], self.sizes[edge.b]
        above, below = self.rows[a], self.rows[b]
        enters = edge.enters if enters is None else enters
        end = self.x[b] + (wb / 2 if enters is None else enters), self.begins[below], self.y[b]
        start = self.x[a] + (wa / 2 if edge.leaves is None else edge.leaves), self.y[a] + ha, self.ends[above]
        if (edge.key, a) in self.around:
            track = self._track + BEND * self.around[edge.key, a]
            return False, [start, *[(track, self.begins[above + 1], self.ends[below - 1])] * (below - above > 1), end]
        runs, at = [end], self.last[edge.key, b]
        while at != a:
            begin = self.ends[self.rows[at]] if at in self._gone else self.begins[self.rows[at]]
            runs.append((self._middle[at], begin, self.ends[self.rows[at]]))
            if at in self._gone:
                return True, runs[::-1]
            self._gone.add(at)
            at = self.before[at]
        return False, [start, *runs[::-1]]

    def comes_from(self, edge: Edge) -> float:
        """Where an edge is in the row above its end, from the left."""
        if (edge.key, edge.a) in self.around and self.rows[edge.b] - self.rows[edge.a] > 1:
            return self._track
        last = self.last.get((edge.key, edge.b), edge.a)
        return self._middle[last] if last != edge.a or edge.leaves is None else self.x[last] + edge.leaves
