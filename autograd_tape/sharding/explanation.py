"""How a program lies over a mesh, and what it moves: a table of its operations and collectives, made without computing anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dataclasses import dataclass

from ..annotations import Fn
from ..show.tables import SHOWN, Table, Tabular, without_middle
from ..show.text import plural, size_text
from .array import Carried, Collective
from .mesh import Mesh
from .rehearsal import Rehearsal, rehearse


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an explanation.

    Attributes:
        name: of the operation, or the kind of the collective.
        collective: whether it is one.
        backward: whether it is part of the backward pass.
        output: shapes and dtypes of the results, the shape of what is moved.
        sharding: how the results lie; of a collective the axes it goes over.
        bytes: what each device sends; None for operations.
        cause: what an operation is part of, the operation that needed a collective.
    """

    name: str
    collective: bool
    backward: bool
    output: str
    sharding: str
    bytes: float | None
    cause: str


@dataclass(frozen=True, repr=False, slots=True)
class Explanation(Tabular):
    """What a program does on a mesh: `str` of it is text, Jupyter shows HTML, and `rows` are the data.

    Attributes:
        mesh: the mesh.
        rows: operations in order, below each the collectives that it needed.
    """

    mesh: Mesh
    rows: tuple[Line, ...]
    ends = 4 * SHOWN

    @property
    def collectives(self) -> tuple[Line, ...]:
        """The rows of collectives."""
        return tuple([r for r in self.rows if r.collective])

    @property
    def bytes(self) -> float:
        """What each device sends in all."""
        return sum([r.bytes or 0.0 for r in self.rows])

    def table(self, shown: int | None = None) -> Table:
        lines = [[("  " if r.collective else "") + r.name, r.output, f"over {r.sharding}" if r.collective else r.sharding,
                  "" if r.bytes is None else size_text(round(r.bytes)), r.cause if r.collective or r.cause != r.name else ""]
                 for r in self.rows]
        count = len(self.collectives)
        return Table(f"{repr(self.mesh)}: {plural(len(self.rows) - count, 'operation')}, {plural(count, 'collective')}",
                     ["operation", "output", "sharding", "sent:", "cause"],
                     [*without_middle(lines, shown, 0), ["total", "", "", size_text(round(self.bytes)), ""]])


def explained(found: Rehearsal) -> Explanation:
    """The table of a program that was rehearsed."""
    rows: list[Line] = []
    waiting: list[Line] = []
    for nr, event in enumerate(found.events):
        back = nr >= found.forward
        if isinstance(event, Collective):
            waiting.append(Line(event.kind, True, back, str(list(event.shape)), ", ".join(event.axes), event.bytes, event.cause))
        else:
            rows += [_line(event, back), *waiting]
            waiting = []
    return Explanation(found.mesh, (*rows, *waiting))


def _line(event: Carried, back: bool) -> Line:
    shardings = [s.text.removeprefix("; ") or "whole" for _, _, s in event.outputs if s is not None]
    return Line(event.operation, False, back, ", ".join([f"{dtype}{list(shape)}" for shape, dtype, _ in event.outputs]),
                " | ".join(shardings), None, event.cause)


def explain(function: Fn, mesh: Mesh | Mapping[str, int], in_shardings: Sequence[tuple[str | None, ...]] | None = None,
            inputs: Sequence[str | tuple[int, ...]] | None = None, *, params: Mapping[str, object] | None = None,
            wrt: Sequence[int] | None = None, backward: bool = False) -> Explanation:
    """How each operation of a program lies over a mesh, and each collective with its cause. Nothing is computed, and no arrays are needed.

    Args:
        function, mesh, in_shardings, inputs, params, wrt: see `rehearse`: a function of tensors and the shapes of its inputs, or a module
            of torchcompat with `params`, the shardings of its parameters.
        backward: with the gradients' operations.

    Raises:
        ArgumentError: an input that is none, or another number of shardings.

    >>> from autograd_tape import F
    >>> print(explain(lambda x, w: F.relu(x @ w), {"data": 2, "model": 2}, [(None, "model"), ("model", None)], [(4, 6), (6, 8)]))
    Mesh(data=2, model=2): 2 operations, 1 collective
    operation     output         sharding                        sent  cause
    ------------  -------------  -----------------------------  -----  -----
    matmul        float32[4, 8]  -, -; partial sums over model
    relu          float32[4, 8]  -, -
      all_reduce  [4, 8]         over model                     128 B  relu
    total                                                       128 B
    """
    return explained(rehearse(function, mesh, in_shardings, inputs, params=params, wrt=wrt, back=backward))


__all__ = ["Explanation", "Line", "explain", "explained"]
