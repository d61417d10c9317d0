"""What a profile consists of: events, their tree, averages over equal ones, and tables of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from .._calls.absent import absences as _absences

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


def _format_time(time_us: float) -> str:
    """Microseconds in a unit that fits.

    >>> _format_time(1234.5)
    '1.234ms'
    """
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3f}s"
    return f"{time_us / 1e3:.3f}ms" if time_us >= 1e3 else f"{time_us:.3f}us"


def _format_time_share(time_us: float, total_time_us: float) -> str:
    return "NaN" if total_time_us == 0 else f"{time_us * 100.0 / total_time_us:.2f}%"


def _format_memory(nbytes: int) -> str:
    """Bytes in a unit that fits.

    >>> _format_memory(40000)
    '39.06 KB'
    """
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if abs(nbytes) >= unit:
            return f"{nbytes / unit:.2f} {name}"
    return f"{nbytes} B"


class Interval:
    """From one time to another, in microseconds."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start


class _Times:
    """Averages and their wording, for events and for groups of events."""

    cpu_time_total: float
    self_cpu_time_total: float
    count: int
    device_time_total = self_device_time_total = cuda_time_total = self_cuda_time_total = 0
    device_memory_usage = self_device_memory_usage = 0

    @property
    def cpu_time(self) -> float:
        """Microseconds a call."""
        return 0.0 if self.count == 0 else self.cpu_time_total / self.count

    cpu_time_str = property(lambda self: _format_time(self.cpu_time))
    cpu_time_total_str = property(lambda self: _format_time(self.cpu_time_total))
    self_cpu_time_total_str = property(lambda self: _format_time(self.self_cpu_time_total))


class FunctionEvent(_Times):
    """One operation, one node of a backward pass, or one `record_function` block."""

    count = 1

    def __init__(self, id: int, name: str, thread: int, start_us: float, end_us: float, fwd_thread: int | None = None,
                 input_shapes: object = None,
                 stack: object = None, scope: int = 0, is_async: bool = False, sequence_nr: int = -1, node_id: int = -1,
                 cpu_memory_usage: int = 0) -> None:
        self.id, self.node_id, self.name, self.thread, self.fwd_thread = id, node_id, name, thread, fwd_thread
        self.time_range = Interval(start_us, end_us)
        self.input_shapes, self.stack, self.scope, self.is_async, self.sequence_nr = input_shapes, stack, scope, is_async, sequence_nr
        self.cpu_memory_usage = cpu_memory_usage
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds with everything inside."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds without what other events inside took."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes of new tensors without those that other events inside made."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def append_cpu_child(self, child: "FunctionEvent") -> None:
        """Notes an event inside this one."""
        self.cpu_children.append(child)

    def __repr__(self) -> str:
        return (f"<FunctionEvent id={self.id} name={self.name} thread={self.thread} cpu_time={self.cpu_time_str} cpu_start_us="
                f"{self.time_range.start} cpu_end_us={self.time_range.end} cpu_children={[child.id for child in self.cpu_children]} "
                f"input_shapes={self.input_shapes}>")


class FunctionEventAvg(_Times):
    """Events of one name, or of one name and input shapes, added up."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: Any = None
        self.stack: Any = None
        self.cpu_parent: FunctionEvent | None = None

    def add(self, other: FunctionEvent) -> "FunctionEventAvg":
        """Adds an event, or a group of events."""
        if self.key is None:
            self.key, self.input_shapes, self.stack, self.cpu_parent = other.key, other.input_shapes, other.stack, other.cpu_parent
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.count += other.count
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} "
                f"input_shapes={self.input_shapes}>")


class EventList(list):
    """Events, in the order they began."""

    def __init__(self, events: Iterable[object] = (), profile_memory: bool = False, use_device: str | None = None) -> None:
        super().__init__(events)
        self.profile_memory = profile_memory

    def _populate_cpu_children(self) -> None:
        """Finds out, thread by thread, which event ran inside which: the innermost open one that lasts at least as long."""
        open_by_thread: dict[int, list[FunctionEvent]] = {}
        for event in sorted((e for e in self if not e.is_async), key=lambda e: (e.thread, e.time_range.start, -e.time_range.end)):
            stack = open_by_thread.setdefault(event.thread, [])
            while stack and (event.time_range.start >= stack[-1].time_range.end or event.time_range.end > stack[-1].time_range.end):
                stack.pop()
            if stack:
                stack[-1].append_cpu_child(event)
                event.cpu_parent = stack[-1]
            stack.append(event)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, none counted twice."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0) -> "EventList":
        """Events added up by name, or by name and input shapes."""
        groups: dict[object, FunctionEventAvg] = {}
        for event in self:
            key = event.key, str(event.input_shapes) if group_by_input_shapes else "", tuple((event.stack or ())[:group_by_stack_n])
            group = groups.setdefault(key, FunctionEventAvg())
            group.add(event)
            group.stack = list(key[2])
        if not group_by_input_shapes:
            for group in groups.values():
                group.input_shapes = ""
        return EventList(groups.values(), self.profile_memory)

    def total_average(self) -> FunctionEventAvg:
        """All events added up."""
        total = FunctionEventAvg()
        for event in self:
            total += event
            total.key = None
        total.key = "Total"
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75, max_name_column_width: int = 55,
              max_shapes_column_width: int = 80, header: str | None = None, top_level_events_only: bool = False) -> str:
        """The events as text, a row each, those with the largest `sort_by` first."""
        if not self:
            return ""
        events = [e for e in self if not top_level_events_only or e.cpu_parent is None]
        if sort_by is not None:
            events.sort(key=lambda e: getattr(e, sort_by), reverse=True)
        total = self.self_cpu_time_total
        shapes = any(e.input_shapes for e in events)
        columns: list[tuple[str, Callable[[Any], str]]] = [
            ("Name", lambda e: _cut(e.key, max_name_column_width)),
            ("Self CPU %", lambda e: _format_time_share(e.self_cpu_time_total, total)),
            ("Self CPU", lambda e: e.self_cpu_time_total_str),
            ("CPU total %", lambda e: _format_time_share(e.cpu_time_total, total)),
            ("CPU total", lambda e: e.cpu_time_total_str),
            ("CPU time avg", lambda e: e.cpu_time_str),
        ]
        if self.profile_memory:
            columns += [("CPU Mem", lambda e: _format_memory(e.cpu_memory_usage)),
                        ("Self CPU Mem", lambda e: _format_memory(e.self_cpu_memory_usage))]
        columns.append(("# of Calls", lambda e: str(e.count)))
        if shapes:
            columns.append(("Input Shapes", lambda e: _cut(str(e.input_shapes), max_shapes_column_width)))
        if any(e.stack for e in events):
            columns.append(("Source Location", lambda e: _cut(e.stack[0] if e.stack else "", max_src_column_width)))
        rows = [[show(e) for _, show in columns] for e in (events if row_limit < 0 else events[:row_limit])]
        widths = [max(len(title), *(len(row[i]) for row in rows)) if rows else len(title) for i, (title, _) in enumerate(columns)]
        rule = "  ".join("-" * w for w in widths)
        lines = [rule] if header is None else ["=" * len(rule), header, rule]
        lines += ["  ".join(title.rjust(w) for (title, _), w in zip(columns, widths)), rule]
        lines += ["  ".join(cell.rjust(w) for cell, w in zip(row, widths)) for row in rows]
        return "\n".join([*lines, rule, f"Self CPU time total: {_format_time(total)}", ""])

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events as a file for chrome://tracing."""
        with open(path, "w") as file:
            json.dump([{"name": e.name, "ph": "X", "ts": e.time_range.start, "dur": e.time_range.elapsed_us(), "tid": e.thread,
                        "pid": "CPU functions", "args": {}} for e in self], file)

    def supported_export_stacks_metrics(self) -> list[str]:
        """What stacks could be weighted with."""
        return ["self_cpu_time_total"]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


__getattr__ = _absences(__name__)
