"""Lines over a logarithmic plane as SVG: text alone, which needs no other program."""

from __future__ import annotations

import math
from collections.abc import Callable

from dataclasses import dataclass

from ..show.svg import Document, document
from ..show.text import escape

WIDTH, HEIGHT, LEFT, TOP = 360.0, 240.0, 76.0, 40.0
COLOURS = ("#1d4ed8", "#d97706", "#16a34a", "#9333ea", "#dc2626")


@dataclass(frozen=True, slots=True)
class Line:
    """A named line through points; those that are not positive have no place on it."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines that share their axes; `text` writes a value."""

    title: str
    text: Callable[[float], str]
    lines: tuple[Line, ...]


@dataclass(frozen=True, repr=False, slots=True)
class Plot(Document):
    """Panels side by side: Jupyter shows SVG, `save` writes it."""

    panels: tuple[Panel, ...]
    below: str

    @property
    def svg(self) -> str:
        """The picture as an SVG document."""
        wide = (LEFT + WIDTH + 30) * len(self.panels)
        body = "".join([_panel(panel, (LEFT + WIDTH + 30) * i + LEFT, self.below) for i, panel in enumerate(self.panels)])
        return document(", ".join([panel.title for panel in self.panels]), wide, TOP + HEIGHT + 50,
                        f'<g font-family="sans-serif" font-size="11" fill="#1f2937">\n{body}</g>')

    def __repr__(self) -> str:
        return f"<Plot: {', '.join([panel.title for panel in self.panels])}>"


def _panel(panel: Panel, left: float, below: str) -> str:
    shown = [(x, y) for line in panel.lines for x, y in line.points if x > 0 and y > 0] or [(1.0, 1.0)]
    x0, x1 = min(x for x, _ in shown), max(x for x, _ in shown)
    y0, y1 = 10.0 ** math.floor(math.log10(min(y for _, y in shown))), 10.0 ** math.ceil(math.log10(max(y for _, y in shown)))
    y1 = y1 if y1 > y0 else 10 * y0

    def across(x: float) -> float:
        return left + WIDTH * (math.log(x / x0) / math.log(x1 / x0) if x1 > x0 else 0.5)

    def down(y: float) -> float:
        return TOP + HEIGHT * (1 - math.log(y / y0) / math.log(y1 / y0))

    made = [f'<text x="{left:.1f}" y="{TOP - 22:.1f}" font-weight="bold" font-size="13">{escape(panel.title)}</text>',
            f'<rect x="{left:.1f}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#94a3b8"/>']
    for power in range(round(math.log10(y0)), round(math.log10(y1)) + 1):
        y = down(10.0 ** power)
        made += [f'<path d="M{left:.1f} {y:.1f}h{WIDTH}" stroke="#e2e8f0"/>',
                 f'<text x="{left - 5:.1f}" y="{y + 4:.1f}" text-anchor="end">{escape(panel.text(10.0 ** power))}</text>']
    ticks = sorted({x for x, _ in shown})
    step = max(1, math.ceil(len(ticks) / 8))
    made += [f'<text x="{across(x):.1f}" y="{TOP + HEIGHT + 16:.1f}" text-anchor="middle">{x:g}</text>' for x in ticks[::-1][::step]]
    made.append(f'<text x="{left + WIDTH / 2:.1f}" y="{TOP + HEIGHT + 34:.1f}" text-anchor="middle">{escape(below)}</text>')
    for nr, (line, colour) in enumerate(zip(panel.lines, COLOURS)):
        points = [(across(x), down(y)) for x, y in line.points if x > 0 and y > 0]
        way = " ".join([f"{x:.1f},{y:.1f}" for x, y in points])
        made += [f'<polyline class="line" points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>',
                 *[f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in points],
                 f'<text x="{left + nr * 88:.1f}" y="{TOP - 6:.1f}" fill="{colour}">{escape(line.name)}</text>']
    return "\n".join(made) + "\n"


__all__ = ["Line", "Panel", "Plot"]
