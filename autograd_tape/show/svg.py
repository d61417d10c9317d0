"""Boxes, groups and edges as SVG: text alone, which needs no other program, and the same text for the same picture."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

from dataclasses import dataclass

from ..errors import ArgumentError
from .layout import Box, Layout, layout
from .level import Run
from .text import columns, escape, plain

SIZE, LINE, CHARACTER = 12, 15.0, 7.4
"""The size of letters, the height of a line, and the width of a column of it."""
BORDER = 14.0
"""Around everything, and within boxes beside the text."""
COLOURS = {"input": ("#dbeafe", "#3b82f6"), "constant": ("#e5e7eb", "#9ca3af"), "operation": ("#fffbeb", "#d97706"),
           "output": ("#dcfce7", "#16a34a")}
"""What boxes are filled and framed with."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A box: its lines, the first one its name, and what it is (one of `COLOURS`). `tip` is shown where somebody points at it."""

    kind: str
    lines: tuple[str, ...]
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn.

    Attributes:
        shapes: the boxes.
        edges: pairs of their numbers.
        owners: the number of each one's group, or -1.
        groups: (the group's name, the number of the group around it, or -1).
        title: of the whole.
    """

    shapes: Sequence[Shape]
    edges: Sequence[tuple[int, int]]
    owners: Sequence[int] = ()
    groups: Sequence[tuple[str, int]] = ()
    title: str = ""


class Document:
    """What is a picture in SVG: Jupyter shows it, `save` writes it."""

    __slots__ = ()

    @property
    def svg(self) -> str:
        """The picture as an SVG document."""
        raise NotImplementedError

    def save(self, file: object) -> None:
        """Writes the picture to a file whose name ends in .svg, or to a file object.

        Raises:
            ArgumentError: another kind of file.
        """
        check_file(file)
        write(self.svg, file)

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True, repr=False, slots=True)
class Drawing(Document):
    """A picture with everything in its place: Jupyter shows it, `save` writes it.

    Attributes:
        picture: what is drawn.
        layout: where.
        svg: the text of the SVG document.
    """

    picture: Picture
    layout: Layout
    svg: str

    @classmethod
    def of(cls, picture: Picture) -> Drawing:
        """A picture, arranged."""
        widest = [max(columns(plain(line)) for line in shape.lines) for shape in picture.shapes]
        sizes = [(round(wide * CHARACTER + BORDER, 1), len(shape.lines) * LINE + 8) for wide, shape in zip(widest, picture.shapes)]
        found = layout(sizes, picture.edges, picture.owners, [p for _, p in picture.groups],
                       [columns(plain(name)) * CHARACTER for name, _ in picture.groups])
        return cls(picture, found, _document(picture, found))

    def __repr__(self) -> str:
        return f"<Drawing: {self.picture.title}>"


def check_file(file: object) -> None:
    """ArgumentError for what a drawing cannot be written to."""
    if hasattr(file, "write"):
        return
    expected, remedy = "a file name ending in .svg, or a file object", "name the file ….svg; other programs make other formats of it"
    if not isinstance(file, (str, os.PathLike)):
        raise ArgumentError("A drawing cannot be written to this", expected=expected, found=type(file).__name__, remedy=remedy)
    if os.path.splitext(os.fspath(file))[1].lower() not in (".svg", b".svg"):
        raise ArgumentError("Drawings are SVG", expected=expected, found=repr(os.fspath(file)), remedy=remedy)


def write(svg: str, file: Any) -> None:
    """Writes an SVG document to a file that `check_file` accepts."""
    if not hasattr(file, "write"):
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(svg)
    elif isinstance(file, (io.RawIOBase, io.BufferedIOBase)) or "b" in str(getattr(file, "mode", "")):
        file.write(svg.encode())
    else:
        file.write(svg)


def document(title: str, wide: float, high: float, body: str) -> str:
    """An SVG document of what is drawn, on white: words are dark, and pages may be, too."""
    width, height = _number(wide), _number(high)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
            f'<title>{escape(title)}</title>\n<rect class="ground" width="{width}" height="{height}" fill="#ffffff"/>\n{body}\n</svg>\n')


def _document(picture: Picture, found: Layout) -> str:
    parts = [f'<g transform="translate({_number(BORDER)} {_number(BORDER)})" font-family="monospace" '
             f'font-size="{SIZE}" fill="#1f2937">', '<g fill="#64748b" fill-opacity="0.06" stroke="#94a3b8">']
    named = [(name, box) for (name, _), box in zip(picture.groups, found.groups) if box is not None]
    parts += [f'<rect class="group" {_rectangle(box)} rx="6"/>' for _, box in named]
    parts += ["</g>", '<g fill="none" stroke="#64748b">']
    parts += [f'<path class="edge" data-from="{u}" data-to="{v}" d="{_curve(way)}"/>' for (u, v), way in zip(picture.edges, found.ways)]
    heads = "".join([f"M{_number(x - 3)} {_number(y - 6)}h6l-3 6z" for x, _, y in (way[-1] for way in found.ways)])
    parts += ["</g>", f'<path fill="#64748b" d="{heads}"/>' if heads else ""]
    parts += [f'<text x="{_number(box.x + 7)}" y="{_number(box.y + 14)}" fill="#475569" font-style="italic">{escape(name)}</text>'
              for name, box in named]
    parts += [_shape(nr, shape, box) for nr, (shape, box) in enumerate(zip(picture.shapes, found.boxes))]
    return document(picture.title, found.width + 2 * BORDER, found.height + 2 * BORDER, "\n".join([p for p in [*parts, "</g>"] if p]))


def _shape(nr: int, shape: Shape, box: Box) -> str:
    fill, frame = COLOURS[shape.kind]
    radius = 2 if shape.kind in ("operation", "output") else 10
    middle = _number(box.x + box.width / 2)
    lines = "".join([f'<text x="{middle}" y="{_number(box.y + LINE * (i + 1))}"' + (' font-weight="bold"' if not i else "")
                     + f">{escape(line)}</text>" for i, line in enumerate(shape.lines)])
    tip = f"<title>{escape(shape.tip)}</title>" if shape.tip else ""
    return (f'<g class="{shape.kind}" data-nr="{nr}" text-anchor="middle">{tip}<rect {_rectangle(box)} rx="{radius}" fill="{fill}" '
            f'stroke="{frame}"/>{lines}</g>')


def _rectangle(box: Box) -> str:
    return f'x="{_number(box.x)}" y="{_number(box.y)}" width="{_number(box.width)}" height="{_number(box.height)}"'


def _curve(way: Sequence[Run]) -> str:
    """A way as the path of a pen: straight along the runs, and in curves that start and end downwards between them."""
    (x, y, at), *rest = way
    text = [f"M{_number(x)} {_number(y)}"]
    if at != y:
        text.append(f"V{_number(at)}")
    for x1, y0, y1 in rest:
        if x1 == x:
            text.append(f"V{_number(y0)}" if y0 != at else "")
        else:
            middle = _number((at + y0) / 2)
            text.append(f"C{_number(x)} {middle} {_number(x1)} {middle} {_number(x1)} {_number(y0)}")
        if y1 != y0:
            text.append(f"V{_number(y1)}")
        x, at = x1, y1
    return "".join(text)


def _number(value: float) -> str:
    """A length: a tenth of a unit is enough."""
    return f"{value:.1f}".removesuffix(".0")
