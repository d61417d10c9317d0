"""The status of every operation on every executor, computed from the records: `python -m torchcompat ops`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..errors import ExecutorUnavailableError, UnknownOperationError
from ..executors import Executor, get_executor
from ..record import RECORDS, Record, get_record
from .compile import source


def executors() -> dict[str, Executor | str]:
    """Executor by name, or why it cannot be used here. Statuses are read from records, so an unusable one has none."""
    found: dict[str, Executor | str] = {}
    for name in ("numpy", "mindspore", "meta"):
        try:
            found[name] = get_executor(name, "meta" if name == "meta" else "cpu")
        except ExecutorUnavailableError as error:
            found[name] = str(error)
    return found


def row(rec: Record, available: dict[str, Executor | str]) -> list[str]:
    """One line of the table."""
    derived = [word for word, has in (("grad", rec.has_gradient), ("method", rec.method), ("in-place", rec.inplace), ("out", rec.out))
               if has]
    return [rec.name, rec.module.rpartition(".")[2], *["unavailable" if isinstance(e, str) else e.status(rec) for e in available.values()],
            " ".join(derived)]


def render(records: Sequence[Record]) -> str:
    """The table as text, with totals.

    >>> print(render([get_record("exp")]).splitlines()[0].split()[:3])
    ['operation', 'family', 'numpy']
    """
    available = executors()
    header = ["operation", "family", *available, "also"]
    rows = [row(rec, available) for rec in records]
    widths = [max(len(r[i]) for r in [header, *rows]) for i in range(len(header))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(r, widths)).rstrip() for r in [header, ["-" * w for w in widths], *rows]]
    lines.append("")
    for i, (name, executor) in enumerate(available.items()):
        if isinstance(executor, str):
            lines.append(f"{name}: unavailable ({executor})")
            continue
        statuses = [r[2 + i] for r in rows]
        counts = ", ".join(f"{statuses.count(s)} {s}" for s in ("native", "composite", "host", "missing") if s in statuses)
        lines.append(f"{name}: {counts}")
    lines.append(f"{len(rows)} operations, {sum(rec.has_gradient for rec in records)} with a gradient of their own")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """The command line; 1 where an operation is unknown or missing on an executor."""
    parser = argparse.ArgumentParser(prog="python -m torchcompat ops", description="the status of each operation on each executor")
    parser.add_argument("names", nargs="*", help="operations to show (all where left out)")
    parser.add_argument("--missing", action="store_true", help="only those that an executor lacks")
    options = parser.parse_args(arguments)
    try:
        records = [get_record(n) for n in options.names] or [RECORDS[n] for n in sorted(RECORDS)]
    except UnknownOperationError as error:
        print(f"python -m torchcompat ops: {error}", file=sys.stderr)
        return 1
    if options.missing:
        available = [e for e in executors().values() if not isinstance(e, str)]
        records = [r for r in records if any(e.status(r) == "missing" for e in available)]
        if not records:
            print("no operation is missing on any executor that can be used here")
            return 0
    print(render(records))
    if len(options.names) == 1:
        rec = records[0]
        print(f"\n{rec.schema}\n\n{rec.doc}")
        if rec.field("function") is None and rec.field("make") is None:
            print(f"\nCompiled to:\n\n{source(rec.name)}")
    return 0
