"""Entries, tapes and graphs as text and as tables of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dataclasses import dataclass

from ..annotations import Arguments
from ..calls import same
from ..graph import Graph, argument_text, spelled
from ..held import tensors_in
from ..node import TapeEntry
from ..record import Record
from ..saved import saved_arrays, saved_bytes
from ..tape import DefaultTape, Tape
from ..tensor import TensorRef
from .draw import graph_of, picture_of
from .svg import Drawing
from .text import columns, escape, plain, plural, shortened, size_text, time_text, type_of

if TYPE_CHECKING:
    from ..dtypes import DType

SHOWN = 10
"""How many entries the short form of a tape shows."""
ROWS = 200
"""How many rows of a table, or boxes of a drawing, a notebook shows unasked."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of text, below a title and a head. Columns whose name ends in a colon hold numbers, and stand to the right."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        """The table as lines of text."""
        lines = [[name.rstrip(":") for name in self.head], *[[plain(cell) for cell in row] for row in self.rows]]
        widths = [max(columns(line[i]) for line in lines) for i in range(len(self.head))]
        lines.insert(1, ["-" * w for w in widths])

        def padded(cell: str, i: int) -> str:
            space = " " * (widths[i] - columns(cell))
            return space + cell if self.head[i].endswith(":") else cell + space

        return "\n".join([plain(self.title), *["  ".join([padded(cell, i) for i, cell in enumerate(line)]).rstrip() for line in lines]])

    def print(self, file: Any = None) -> None:
        """Prints the table (to standard output where `file` is None), by `rich` where it is installed; nothing is cut off."""
        if find_spec("rich") is None:
            return print(self.text(), file=file)
        from rich.console import Console

        console = Console(file=file)
        if not console.is_terminal:  # whose lines have no end; there are three columns between cells, and two at either side
            console.width = max(console.width, *[columns(line) + len(self.head) + 3 for line in self.text().splitlines()])
        console.print(self)

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        made = RichTable()
        for name in self.head:
            made.add_column(Text(name.rstrip(":")), justify="right" if name.endswith(":") else "left", overflow="fold")
        for row in self.rows:
            made.add_row(*[Text(plain(cell)) for cell in row])
        return Group(Text(plain(self.title)), made)

    def html(self) -> str:
        """The table as HTML."""
        def cells(tag: str, row: Sequence[str]) -> str:
            return "".join([f'<{tag} style="text-align: {"right" if self.head[i].endswith(":") else "left"}">{escape(cell)}</{tag}>'
                            for i, cell in enumerate(row)])

        head = f"<thead><tr>{cells('th', [name.rstrip(':') for name in self.head])}</tr></thead>"
        body = "".join([f"<tr>{cells('td', row)}</tr>" for row in self.rows])
        return f"<div><p>{escape(self.title)}</p><table>{head}<tbody>{body}</tbody></table></div>"


class Tabular:
    """What has a table: `str` of it is the whole as text, `repr` the ends of it, and Jupyter shows HTML."""

    __slots__ = ()
    ends = 2 * SHOWN
    """How many lines `repr` shows."""

    def table(self, shown: int | None = None) -> Table:
        """The table; with at most about `shown` rows, the first and the last ones."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.table().text()

    def __repr__(self) -> str:
        return self.table(self.ends).text()

    def _repr_html_(self) -> str:
        return self.table(ROWS).html()


def without_middle(lines: list[list[str]], shown: int | None, column: int) -> list[list[str]]:
    """At most about `shown` rows, the first and the last ones; `column` says how many are left out."""
    if shown is None or len(lines) <= shown:
        return lines
    half = shown // 2
    more = [f"{len(lines) - 2 * half} more" if i == column else "..." for i in range(len(lines[0]))]
    return [*lines[:half], more, *lines[-half:]]


# -- entries ----------------------------------------------------------------------------------------------------------


def _operand(x: TensorRef | None) -> str:
    return "-" if x is None else type_of(x) if isinstance(x, TensorRef) else f"{x.op_name} {x.id}"


def entry_line(entry: TapeEntry) -> str:
    """What an entry did: `sum(float64[2, 3], dim=1) -> float64[2]`. Of one that no tape keeps, the entries that its inputs came from."""
    _, outputs, arguments = entry._kept() or ((), (), {})
    inputs = [_operand(x) for x in entry.inputs]
    defaults = entry.op.defaults if isinstance(entry.op, Record) else {}
    further = [name + shortened(argument_text(x, inputs), 24) for name, x in spelled(arguments)
               if not tensors_in(x) and not same(x, defaults.get(name[:-1]))]
    made = ", ".join([type_of(x) for x in outputs])
    return plain(f"{entry.op_name}({', '.join([*inputs, *further])})" + (f" -> {made}" if made else ""))


def entry_text(entry: TapeEntry) -> str:
    """An entry on one line.

    >>> from autograd_tape import Tape, TensorRef
    >>> x = TensorRef.of([1.0, 2.0], requires_grad=True)
    >>> with Tape() as tape:
    ...     y = x * 3.0
    >>> y.creator
    <MulBackward0 ...: mul(float64[2], other=3.0) -> float64[2]>
    """
    return f"<{type(entry).__name__} {entry.id}: {entry_line(entry)}>"


def entry_html(entry: TapeEntry) -> str:
    """An entry for a notebook."""
    return f"<code>{escape(entry_text(entry))}</code>"


# -- tapes and graphs -------------------------------------------------------------------------------------------------


def _head(tape: Tape) -> str:
    others = len(tape.held.operations) - len(tape)
    return (f"Tape of {plural(len(tape), 'entry')}" + (f" and {plural(others, 'operation')} without gradient" if others > 0 else "")
            + (", recording" if tape.is_recording else ""))


def tape_text(tape: Tape) -> str:
    """A tape's head, and a line for each of the first and last entries.

    >>> from autograd_tape import F, Tape, TensorRef
    >>> x = TensorRef.of([1.0, 2.0], requires_grad=True)
    >>> with Tape() as tape:
    ...     y = F.sum(x * x)
    >>> tape
    Tape of 2 entries
        ...: mul(float64[2], float64[2]) -> float64[2]
        ...: sum(float64[2]) -> float64[]
    """
    if isinstance(tape, DefaultTape):  # whose entries are found by a walk through all objects
        return f"<{type(tape).__name__} of a thread" + (", recording>" if tape.is_recording else ">")
    return "\n".join([_head(tape), *[f"    {line}" for line in _ends([f"{e.id}: {entry_line(e)}" for e in tape.entries])]])


def _ends(lines: Sequence[str]) -> list[str]:
    half = SHOWN // 2
    return list(lines) if len(lines) <= SHOWN else [*lines[:half], f"... {len(lines) - SHOWN} more", *lines[-half:]]


def tape_html(tape: Tape) -> str:
    """A tape for a notebook: its summary."""
    return f"<code>{escape(tape_text(tape))}</code>" if isinstance(tape, DefaultTape) else summary(tape)._repr_html_()


def graph_html(graph: Graph) -> str:
    """A graph for a notebook: a drawing of a small one, the table of a large one."""
    if len(graph.nodes) <= ROWS:
        return f"<div>{Drawing.of(picture_of(graph, {})).svg}</div>"
    return summary(graph)._repr_html_()


# -- summaries --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """One operation in a summary.

    Attributes:
        id: that of its entry, None in the row of totals.
        operation: its name.
        outputs: (shape, dtype's name) of each, where they are known.
        saved: how many bytes it saved for its gradient; None where they were freed, or it has none.
        forward, backward: seconds, where they were measured.
        scope: the names of the parts of the program that it ran in.
        shardings: how the outputs lie over a mesh (`sharding.Sharding`), None for those on none.
        moved: ("forward" or "backward", collective) of what was moved between devices for it (see `sharding.Collective`), in the row of
            totals of all.
    """

    id: int | None
    operation: str
    outputs: tuple[tuple[tuple[int, ...], str], ...]
    saved: int | None
    forward: float | None
    backward: float | None
    scope: tuple[str, ...] = ()
    shardings: Arguments = ()
    moved: tuple[tuple[str, Any], ...] = ()

    @property
    def sent(self) -> int | None:
        """How many bytes each device sent for it, None where nothing was moved."""
        return round(sum([c.bytes for _, c in self.moved])) if self.moved else None

    @property
    def output(self) -> str:
        """The outputs as text: `float64[2], int64[2]`."""
        return ", ".join([f"{dtype}{list(shape)}" for shape, dtype in self.outputs])


@dataclass(frozen=True, repr=False, slots=True)
class Summary(Tabular):
    """What ran, as a table: `str` of it is text, Jupyter shows HTML, and `rows` are the data.

    Attributes:
        rows: of the operations, in order.
        totals: the sums. Memory that several operations saved counts once.
    """

    title: str
    rows: tuple[Row, ...]
    totals: Row

    def __len__(self) -> int:
        return len(self.rows)

    def table(self, shown: int | None = None) -> Table:
        all_rows = [*self.rows, self.totals]
        optional = {"scope": any([r.scope for r in all_rows]), "sharding": any([any(r.shardings) for r in all_rows]),
                    "sent:": any([r.moved for r in all_rows]), "forward:": any([r.forward is not None for r in all_rows]),
                    "backward:": any([r.backward is not None for r in all_rows])}
        names = ("id:", "operation", "output", "sharding", "saved:", "sent:", "forward:", "backward:", "scope")
        head = [name for name in names if optional.get(name, True)]

        def cells(r: Row) -> list[str]:
            found = {"id:": "" if r.id is None else str(r.id), "operation": r.operation, "output": r.output, "saved:": size_text(r.saved),
                     "forward:": time_text(r.forward), "backward:": time_text(r.backward), "scope": " / ".join(r.scope),
                     "sharding": "  ".join([s.text.removeprefix("; ") for s in r.shardings if s is not None]), "sent:": size_text(r.sent)}
            return [found[name] for name in head]

        def below(when: str, collective: Any) -> list[str]:
            found = {"operation": f"  {collective.kind} over {', '.join(collective.axes)}" + f" ({when})" * (when == "backward"),
                     "sent:": size_text(round(collective.bytes))}
            return [found.get(name, "") for name in head]

        lines = [line for r in self.rows for line in (cells(r), *[below(*one) for one in r.moved])]
        return Table(self.title, head, [*without_middle(lines, shown, head.index("operation")), cells(self.totals)])


def _kind(shape: Any, dtype: DType) -> tuple[tuple[int, ...], str]:
    return tuple(shape), dtype.name


def _total(values: Iterable[float | None]) -> float | None:
    known = [x for x in values if x is not None]
    return sum(known) if known else None


def _saved_once(entries: Sequence[TapeEntry]) -> int:
    arrays = [a for entry in entries for a in saved_arrays(entry)]
    return sum({(a.__array_interface__["data"][0] if hasattr(a, "__array_interface__") else id(a), a.nbytes): a.nbytes
                for a in arrays}.values())


def summary(what: Tape | Graph | TensorRef | Sequence[TensorRef]) -> Summary:
    """The operations of an explicit tape (all that it holds), of a graph, or of what tensors were computed by.

    >>> from autograd_tape import F, Tape, TensorRef
    >>> x = TensorRef.of([1.0, 2.0], requires_grad=True)
    >>> with Tape() as tape:
    ...     y = F.sum(x * x)
    >>> [(row.operation, row.output, row.saved) for row in summary(tape).rows]
    [('mul', 'float64[2]', 16), ('sum', 'float64[]', 0)]
    >>> print("\\n".join([line[-28:] for line in str(summary(tape)).splitlines()[1:]]))
    operation  output      saved
    ---------  ----------  -----
    mul        float64[2]   16 B
    sum        float64[]     0 B
    total                   16 B
    """
    if isinstance(what, Tape) and not isinstance(what, DefaultTape):
        held = what.held.operations
        ids = [o.entry.id for o in held]
        times, moved = what.clock.times(ids) if what.clock is not None else {}, what.held.moved()
        rows = [Row(id, o.op_name + "_" * o.inplace, tuple([_kind(t.shape, t.dtype) for t in o.refs[1]]), _saved(what, o.entry),
                    *times.get(id, (None, None)), scope, tuple([t.sharding for t in o.refs[1]]), moved.get(id, ()))
                for id, o, scope in zip(ids, held, what.scopes.paths(ids))]
        once = _saved_once([o.entry for o in held]) or _total([r.saved for r in rows])
        freed = any([o.entry.saved is None and o.entry.frees for o in held])
        title = _head(what) + (", which freed what they saved" if freed else "")
    else:
        graph = graph_of(what)
        kinds = graph.values
        rows = [Row(n.id, n.op + "_" * n.inplace,
                    tuple([_kind(v.shape, v.dtype) for v in [kinds[o] for o in n.outputs] if v.dtype is not None]),
                    n.saved, *n.times, n.scope, moved=n.moved) for n in graph.nodes]
        once, title = _total([r.saved for r in rows]), f"Graph of {plural(len(rows), 'operation')}"
    totals = Row(None, "total", (), None if once is None else int(once), _total([r.forward for r in rows]),
                 _total([r.backward for r in rows]), moved=tuple([one for r in rows for one in r.moved]))
    return Summary(title, tuple(rows), totals)


def _saved(tape: Tape, entry: TapeEntry) -> int | None:
    found = saved_bytes(entry) if entry.edges else None
    return found if found is not None or tape.clock is None else tape.clock.saved.get(entry.id)
