"""An array over a mesh as a picture: which devices hold which block, in text, SVG, and notebooks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from dataclasses import dataclass

from ..errors import ArgumentError, type_name
from ..show.svg import CHARACTER, Document, document
from ..show.text import columns, escape
from ..tensor import TensorRef
from .mesh import Sharding

SHOWN = 16
"""How many blocks along a dimension are drawn; of more the first and the last ones."""
COLOURS = ("#bfdbfe", "#fecaca", "#bbf7d0", "#fde68a", "#ddd6fe", "#fbcfe8", "#a5f3fc", "#fed7aa")
GONE = -1  # the number of blocks that are left out


@dataclass(frozen=True, slots=True)
class Block:
    """A block of an array.

    Attributes:
        bounds: its elements.
        parts: the devices that hold it: of each part of a sum those that have it, which are replicas. A whole block is one part.
    """

    bounds: tuple[slice, ...]
    parts: tuple[tuple[int, ...], ...]

    @property
    def text(self) -> str:
        """`0,1 + 2,3`: two devices have the same part of a sum, two others the other one."""
        return " + ".join([devices_text(devices) for devices in self.parts])


def devices_text(devices: Sequence[int]) -> str:
    """Numbers of devices, runs of them in short.

    >>> devices_text([3]), devices_text([0, 4]), devices_text([0, 1, 2, 3]), devices_text([0, 8, 16, 24])
    ('3', '0,4', '0-3', '0,8..24')
    """
    steps = {b - a for a, b in zip(devices, devices[1:])}
    if len(devices) > 2 and steps == {1}:
        return f"{devices[0]}-{devices[-1]}"
    if len(devices) > 3 and len(steps) == 1:
        return f"{devices[0]},{devices[1]}..{devices[-1]}"
    return ",".join(map(str, devices)) if len(devices) <= 8 else f"{','.join(map(str, devices[:4]))}..{devices[-1]} ({len(devices)})"


@dataclass(frozen=True, repr=False, slots=True)
class ShardingDrawing(Document):
    """A picture of how an array lies: `str` of it is text, Jupyter shows SVG, and `save` writes that.

    Attributes:
        sharding, shape: what is drawn.
        blocks: by the number of each along each dimension.
    """

    sharding: Sharding
    shape: tuple[int, ...]
    blocks: dict[tuple[int, ...], Block]

    @classmethod
    def of(cls, sharding: Sharding, shape: Sequence[int]) -> ShardingDrawing:
        """The picture of an array of this shape."""
        sharding.check(shape)
        mesh, found = sharding.mesh, dict[tuple[int, ...], dict[tuple[int, ...], list[int]]]()
        for device in range(mesh.size):
            at = mesh.coordinates(device)
            number = []
            for axes in sharding.dims:
                n = 0
                for axis in axes:
                    n = n * mesh.axes[axis] + at[axis]
                number.append(n)
            part = tuple([at[a] for a in sharding.partial])
            found.setdefault(tuple(number), {}).setdefault(part, []).append(device)
        return cls(sharding, tuple(shape), {
            number: Block(sharding.bounds(shape, next(iter(parts.values()))[0]), tuple([tuple(d) for d in parts.values()]))
            for number, parts in sorted(found.items())})

    @property
    def title(self) -> str:
        """What is drawn, in words."""
        first = next(iter(self.blocks.values()))
        replicas, parts = len(first.parts[0]), len(first.parts)
        return (f"{list(self.shape)} {self.sharding}" + (f"; {replicas} replicas of each block" if replicas > 1 else "")
                + (f"; sums of {parts} parts" if parts > 1 else ""))

    def _panels(self) -> Iterator[tuple[str, list[int], list[int], dict[tuple[int, int], Block]]]:
        """(title, numbers of rows, those of columns, blocks by both) for each block along the leading dimensions."""
        counts = [self.sharding.mesh.count(axes) for axes in self.sharding.dims]
        lead, flat = counts[:-2], [1] * (2 - len(counts)) + counts[-2:]
        for number in itertools.islice(itertools.product(*map(range, lead)), SHOWN):
            rows, cols = map(_some, flat)
            cells = {(i, j): self.blocks[(*number, i, j)[2 - min(len(counts), 2):]] for i in rows for j in cols if GONE not in (i, j)}
            where = [_range(b) for b in next(iter(cells.values())).bounds[:len(lead)]]
            yield f"[{', '.join([*where, ':', ':'])}]" if lead else "", rows, cols, cells
        if (more := math.prod(lead) - SHOWN) > 0:
            yield f"... {more} more", [], [], {}

    def _sides(self, rows: list[int], cols: list[int], cells: dict[tuple[int, int], Block]) -> tuple[list[str], list[str]]:
        """The bounds of rows and columns."""
        first = next(i for i in rows if i != GONE), next(j for j in cols if j != GONE)
        ups = ["..." if i == GONE else _range(cells[i, first[1]].bounds[-2]) if len(self.shape) > 1 else "" for i in rows]
        sides = ["..." if j == GONE else _range(cells[first[0], j].bounds[-1]) if self.shape else "" for j in cols]
        return ups, sides

    def __str__(self) -> str:
        lines = [self.title]
        for title, rows, cols, cells in self._panels():
            lines += [title] if title else []
            if not rows:
                continue
            ups, sides = self._sides(rows, cols, cells)
            texts = [["..." if GONE in (i, j) else cells[i, j].text for j in cols] for i in rows]
            margin = max(map(len, ups))
            widths = [max(len(side), *[columns(row[n]) for row in texts]) + 2 for n, side in enumerate(sides)]
            lines.append((" " * (margin + 2) + " ".join([side.center(w) for side, w in zip(sides, widths)])).rstrip())
            for n, (up, row) in enumerate(zip(ups, texts)):
                lines.append(_rule("├┼┤" if n else "┌┬┐", margin, widths))
                lines.append(f"{up:>{margin}} │" + "│".join([text.center(w) for text, w in zip(row, widths)]) + "│")
            lines.append(_rule("└┴┘", margin, widths))
        return "\n".join([line for line in lines if line])

    __repr__ = __str__

    @property
    def svg(self) -> str:
        """The picture as an SVG document: blocks as large as their sizes want, as far as the words in them allow."""
        made, y, wide = list[str](), 24.0, columns(self.title) * CHARACTER
        colours: dict[tuple[tuple[int, ...], ...], str] = {}
        for title, rows, cols, cells in self._panels():
            if title:
                made.append(f'<text x="0" y="{y:.0f}">{escape(title)}</text>')
                y += 14
            if not rows:
                continue
            ups, sides = self._sides(rows, cols, cells)
            x0 = max(map(len, ups)) * CHARACTER + 6
            texts = {at: block.text for at, block in cells.items()}
            whole = max(self.shape[-2:], default=1) or 1
            widths = [max(24.0, 260 * _size(cells, -1, j, 1) / whole,
                          *[CHARACTER * columns(t) + 10 for t in [sides[n], *[text for (_, c), text in texts.items() if c == j]]])
                      for n, j in enumerate(cols)]
            heights = [max(22.0, 260 * _size(cells, -2, i, 0) / whole) if len(self.shape) > 1 else 26.0 for i in rows]
            x = x0
            for side, w in zip(sides, widths):
                made.append(_words(x + w / 2, y, side, "#64748b"))
                x += w
            wide, y = max(wide, x), y + 6
            for i, up, h in zip(rows, ups, heights):
                made.append(f'<text x="{x0 - 4:.1f}" y="{y + h / 2 + 4:.1f}" text-anchor="end" fill="#64748b">{escape(up)}</text>')
                x = x0
                for j, w in zip(cols, widths):
                    block = cells.get((i, j))
                    fill = "none" if block is None else colours.setdefault(block.parts, COLOURS[len(colours) % len(COLOURS)])
                    dash = ' stroke-dasharray="4 3"' if block is not None and len(block.parts) > 1 else ""
                    made += [f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" fill="{fill}" stroke="#334155"{dash}/>',
                             _words(x + w / 2, y + h / 2 + 4, "..." if block is None else texts[i, j])]
                    x += w
                y += h
            y += 22
        made.insert(0, '<g transform="translate(10 16)" font-family="monospace" font-size="12" fill="#1f2937">'
                    f'<text x="0" y="0">{escape(self.title)}</text>')
        return document(self.title, wide + 20, y + 16, "\n".join([*made, "</g>"]))

    def _repr_html_(self) -> str:
        return f"<div>{self.svg}</div>"


def _some(count: int) -> list[int]:
    """The numbers of the blocks that are drawn."""
    return [*range(count)] if count <= SHOWN else [*range(SHOWN // 2), GONE, *range(count - SHOWN // 2, count)]


def _range(bounds: slice) -> str:
    return f"{bounds.start}:{bounds.stop}"


def _size(cells: dict[tuple[int, int], Block], dim: int, number: int, side: int) -> int:
    found = next((block.bounds for at, block in cells.items() if at[side] == number), ())
    return found[dim].stop - found[dim].start if len(found) >= -dim else 0


def _rule(corners: str, margin: int, widths: Sequence[int]) -> str:
    return " " * (margin + 1) + corners[0] + corners[1].join(["─" * w for w in widths]) + corners[2]


def _words(x: float, y: float, text: str, fill: str = "#1f2937") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="{fill}">{escape(text)}</text>'


def draw_sharding(what: Any, shape: Sequence[int] | None = None, file: object = None) -> ShardingDrawing:
    """A picture of how an array lies over a mesh: a box for each block, with the numbers of the devices that hold it. Replicas are listed
    ("0,1"), and the parts of a sum that is still to be made added ("0 + 1").

    Args:
        what: a tensor on a mesh, or a sharding.
        shape: the shape of what is sharded so, for a sharding.
        file: a name ending in .svg, or a file object, to write it to.

    Raises:
        ArgumentError: the tensor is on no mesh, or a sharding comes without a shape.
        ShapeMismatchError: the shape has another number of dimensions than the sharding.

    >>> from autograd_tape.sharding import Mesh
    >>> mesh = Mesh({"data": 2, "model": 2})
    >>> draw_sharding(Sharding(mesh, ("data", None)), (3, 4))
    [3, 4] Sharding(data, - over data=2, model=2); 2 replicas of each block
          0:4
        ┌─────┐
    0:2 │ 0,1 │
        ├─────┤
    2:3 │ 2,3 │
        └─────┘
    >>> draw_sharding(Sharding(mesh, ("model",), ["data"]), (5,))
    [5] Sharding(model; partial sums over data; over data=2, model=2); sums of 2 parts
        0:3     3:5
     ┌───────┬───────┐
     │ 0 + 2 │ 1 + 3 │
     └───────┴───────┘
    """
    sharding = what.sharding if isinstance(what, TensorRef) else what
    if not isinstance(sharding, Sharding):
        raise ArgumentError("draw_sharding() takes a tensor on a mesh, or a sharding", expected="TensorRef with a sharding, or Sharding",
                            found="a tensor on no mesh" if isinstance(what, TensorRef) else type_name(what), remedy="shard() it first")
    if shape is None and not isinstance(what, TensorRef):
        raise ArgumentError("A sharding alone has no sizes to draw", expected="a shape", found="none",
                            remedy="pass the shape of what is sharded so")
    made = ShardingDrawing.of(sharding, tuple(what.shape) if shape is None else shape)
    if file is not None:
        made.save(file)
    return made


__all__ = ["Block", "ShardingDrawing", "devices_text", "draw_sharding"]
