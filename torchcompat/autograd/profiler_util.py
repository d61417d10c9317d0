"""What a profile consists of: events, their tree, averages over equal ones, tables of them, and files."""

from __future__ import annotations

import enum
import json
import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from autograd_tape.warned import warn
from .._calls.absent import absences as _absences

if TYPE_CHECKING:
    class _MemRecord:
        def start_ns(self) -> int: ...


__all__ = ["EventList", "FormattedTimesMixin", "Interval", "Kernel", "FunctionEvent", "FunctionEventAvg", "StringTable", "MemRecordsAcc"]

MEMORY_EVENT_NAME, OUT_OF_MEMORY_EVENT_NAME = "[memory]", "[OutOfMemory]"


class DeviceType(enum.Enum):
    """What events ran on."""

    CPU, CUDA, MKLDNN, OPENGL, OPENCL, IDEEP, HIP, FPGA, MAIA, XLA, Vulkan, Metal, XPU, MPS = range(14)
    MTIA = 19
    Meta, HPU, VE, Lazy, IPU = range(14, 19)
    PrivateUse1 = 20


def _format_time(time_us: float) -> str:
    """Microseconds in a unit that fits.

    >>> _format_time(1234.5)
    '1.234ms'
    """
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3f}s"
    return f"{time_us / 1e3:.3f}ms" if time_us >= 1e3 else f"{time_us:.3f}us"


def _format_time_share(time_us: float, total_time_us: float) -> str:
    """A part of a whole in percent, "NaN" of nothing.

    Raises:
        AssertionError: the whole is nothing, and the part is not.
    """
    if total_time_us == 0:
        if time_us != 0:
            raise AssertionError(f"Expected time_us == 0 but got {time_us}")
        return "NaN"
    return f"{time_us * 100.0 / total_time_us:.2f}%"


def _format_memory(nbytes: float) -> str:
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


class Kernel(NamedTuple):
    """What ran on another device."""

    name: str
    device: int
    duration: float


def _shown(name: str) -> Any:
    return property(lambda self: _format_time(getattr(self, name)))


def _deprecated(name: str, instead: str) -> Any:
    """A property under an older name."""

    def get(self: object) -> object:
        warn(f"`{name}` is deprecated{',' if name == 'cuda_time' else '.'} {'please use' if name == 'cuda_time' else 'Use'} `{instead}` "
             f"instead.", FutureWarning)
        return getattr(self, instead)

    return property(get)


class FormattedTimesMixin:
    """Averages and their wording, for events and for groups of events."""

    count: int
    cpu_time_total: Any  # a number of microseconds: an attribute here, a property there
    device_time_total: Any
    cpu_time_str, device_time_str = _shown("cpu_time"), _shown("device_time")
    cpu_time_total_str, device_time_total_str = _shown("cpu_time_total"), _shown("device_time_total")
    self_cpu_time_total_str, self_device_time_total_str = _shown("self_cpu_time_total"), _shown("self_device_time_total")

    @property
    def cpu_time(self) -> float:
        """Microseconds a call."""
        return 0.0 if self.count == 0 else 1.0 * self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        """The same on another device."""
        return 0.0 if self.count == 0 else 1.0 * self.device_time_total / self.count

    cuda_time = _deprecated("cuda_time", "device_time")


class FunctionEvent(FormattedTimesMixin):
    """One operation, one node of a backward pass, or one `record_function` block."""

    def __init__(self, id: int, name: str, thread: int, start_us: float, end_us: float, overload_name: str | None = None,
                 fwd_thread: int | None = None, input_shapes: Sequence[Sequence[int]] | None = None, stack: list[str] | None = None,
                 scope: int = 0, use_device: str | None = None, cpu_memory_usage: int = 0, device_memory_usage: int = 0,
                 is_async: bool = False, is_remote: bool = False, sequence_nr: int = -1, node_id: int = -1,
                 device_type: DeviceType = DeviceType.CPU, device_index: int = 0, device_resource_id: int | None = None,
                 is_legacy: bool = False, flops: int | None = None, trace_name: str | None = None,
                 concrete_inputs: list[object] | None = None, kwinputs: dict[str, object] | None = None, is_user_annotation: bool = False,
                 is_python_function: bool = False, activity_type: str | None = None, metadata_json: str | None = None,
                 **more: object) -> None:
        self.id, self.node_id, self.name, self.overload_name, self.trace_name = id, node_id, name, overload_name, trace_name
        self.time_range, self.thread, self.fwd_thread, self.count = Interval(start_us, end_us), thread, fwd_thread, 1
        self.kernels: list[Kernel] = []
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes, self.concrete_inputs, self.kwinputs, self.stack = input_shapes, concrete_inputs, kwinputs, stack
        self.scope, self.use_device, self.is_async, self.is_remote, self.sequence_nr = scope, use_device, is_async, is_remote, sequence_nr
        self.cpu_memory_usage, self.device_memory_usage = cpu_memory_usage, device_memory_usage
        self.device_type, self.device_index = device_type, device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.is_legacy, self.flops, self.is_user_annotation = is_legacy, flops, is_user_annotation
        self.is_python_function, self.activity_type = is_python_function, activity_type
        self.self_cpu_percent: str | int = -1
        self.total_cpu_percent: str | int = -1
        self.total_device_percent: str | int = -1
        self._metadata_json = metadata_json
        for key, default in _MORE.items():
            setattr(self, key, more.pop(key, default))
        if more:
            raise TypeError(f"FunctionEvent.__init__() got an unexpected keyword argument '{next(iter(more))}'")

    def _on_cpu(self) -> bool:
        return not self.is_async and self.device_type == DeviceType.CPU

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Notes what it ran on another device."""
        if self.device_type != DeviceType.CPU:
            raise AssertionError("Expected device_type to be CPU")
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Notes an event inside this one."""
        self._check_relative(child, "child")
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Notes the event around this one."""
        self._check_relative(parent, "parent")
        self.cpu_parent = parent

    def _check_relative(self, other: object, what: str) -> None:
        if self.device_type != DeviceType.CPU:
            raise AssertionError("Expected device_type to be CPU")
        if not isinstance(other, FunctionEvent):
            raise AssertionError(f"Expected {what} to be a FunctionEvent")
        if other.device_type != DeviceType.CPU:
            raise AssertionError(f"Expected {what} device_type to be CPU")

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    @property
    def cpu_time_total(self) -> float:
        """Microseconds with everything inside."""
        return self.time_range.elapsed_us() if self.device_type == DeviceType.CPU else 0

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds without what other events inside took."""
        return self.cpu_time_total - sum([child.cpu_time_total for child in self.cpu_children]) if self._on_cpu() else 0

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes of new tensors without those that other events inside made."""
        return self.cpu_memory_usage - sum([child.cpu_memory_usage for child in self.cpu_children]) if self._on_cpu() else 0

    @property
    def self_device_memory_usage(self) -> int:
        """The same on another device."""
        return self.device_memory_usage - sum([child.device_memory_usage for child in self.cpu_children]) if self._on_cpu() else 0

    @property
    def device_time_total(self) -> float:
        """Microseconds on another device with everything inside."""
        if self.is_async or not self.use_device:
            return 0
        inside = 0 if self.is_legacy else sum([child.device_time_total for child in self.cpu_children])
        return sum([kernel.duration for kernel in self.kernels]) + inside if self._on_cpu() else self.time_range.elapsed_us()

    @property
    def self_device_time_total(self) -> float:
        """The same without what other events inside took."""
        if self.is_async or not self.use_device:
            return 0
        return self.device_time_total - sum([child.device_time_total for child in self.cpu_children])

    metadata_json = property(lambda self: self._metadata_json)
    cuda_time_total = _deprecated("cuda_time_total", "device_time_total")
    self_cuda_time_total = _deprecated("self_cuda_time_total", "self_device_time_total")
    self_cuda_memory_usage = _deprecated("self_cuda_memory_usage", "self_device_memory_usage")

    def __repr__(self) -> str:
        device = self.use_device
        return (f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} device_type={self.device_type} "
                f"node_id={self.node_id} cpu_time={self.cpu_time_str} start_us={self.time_range.start} end_us={self.time_range.end} "
                f"cpu_children={[child.id for child in self.cpu_children]} {device}_time={self.device_time_str} name={self.name} "
                f"thread={self.thread} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
                f"{device}_memory_usage={self.device_memory_usage} is_async={self.is_async} is_remote={self.is_remote} "
                f"seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>")


_MORE: dict[str, object] = {
    **dict.fromkeys(["flow_id", "flow_type", "flow_start", "extra_meta", "structured_input_shapes", "structured_input_strides",
                     "input_dtypes"]), "external_id": 0, "linked_correlation_id": 0, "python_id": -1, "python_parent_id": -1,
    "python_module_id": -1}
"""What else may be known of an event, and what it is where it is not."""


class FunctionEventAvg(FormattedTimesMixin):
    """Events of one name, or of one name and input shapes, added up."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = self.node_id = 0
        self.is_async = self.is_remote = self.is_legacy = self.is_user_annotation = False
        self.use_device: str | None = None
        self.cpu_time_total: float = 0
        self.self_cpu_time_total: float = 0
        self.device_time_total: float = 0
        self.self_device_time_total: float = 0
        self.cpu_memory_usage = self.self_cpu_memory_usage = self.device_memory_usage = self.self_device_memory_usage = 0
        self.input_shapes: object = None
        self.overload_name: str | None = None
        self.stack: list[str] | None = None
        self.scope: int | None = None
        self.cpu_children: list[FunctionEvent] | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type = DeviceType.CPU
        self.flops: int | None = 0

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Adds an event, or a group of events.

        Raises:
            AssertionError: it is none, or one of another name.
        """
        if self.key is None:
            for name in ("key", "node_id", "is_async", "is_remote", "cpu_parent", "cpu_children", "overload_name", "input_shapes", "stack",
                         "scope", "device_type", "is_legacy", "use_device", "is_user_annotation"):
                setattr(self, name, getattr(other, name))
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in ("cpu_time_total", "device_time_total", "self_cpu_time_total", "self_device_time_total", "cpu_memory_usage",
                     "device_memory_usage", "self_cpu_memory_usage", "self_device_memory_usage", "count"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops = other.flops if self.flops is None else self.flops + (other.flops or 0)
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str} "
                f" self_{device}_time={self.self_device_time_total_str} {device}_time={self.device_time_str} "
                f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} {device}_memory_usage="
                f"{self.device_memory_usage}>")


class StringTable(defaultdict[str, str]):
    """Names as they are shown."""

    def __missing__(self, key: str) -> str:
        self[key] = key
        return key


class MemRecordsAcc:
    """Records of memory (pairs, the first with a `start_ns()`), found by time."""

    def __init__(self, mem_records: Sequence[tuple[_MemRecord, bool]]) -> None:
        ordered = sorted([(record[0].start_ns(), i) for i, record in enumerate(mem_records)])
        self._mem_records = mem_records
        self._start_nses, self._indices = [start for start, _ in ordered], [i for _, i in ordered]

    def in_interval(self, start_ns: int, end_ns: int) -> Iterator[tuple[_MemRecord, bool]]:
        """Those from one time to another, both included."""
        for i in range(bisect_left(self._start_nses, start_ns), bisect_right(self._start_nses, end_ns)):
            yield self._mem_records[self._indices[i]]


_METRICS = ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]


def _of_device(metric: str) -> str:
    """The attribute that a metric, which may name a device, is kept in."""
    return metric.replace("cuda", "device").replace("xpu", "device").replace("privateuse1", "device")


class EventList(list[Any]):
    """Events in the order they began, or groups of them."""

    def __init__(self, events: Iterable[object] = (), *, use_device: str | None = None, profile_memory: bool = False,
                 with_flops: bool = False) -> None:
        super().__init__(events)
        self._use_device, self._profile_memory, self._with_flops, self._tree_built = use_device, profile_memory, with_flops, False

    def _build_tree(self) -> None:
        self._populate_cpu_children()
        self._remove_dup_nodes()
        self._set_backward_stacktraces()
        self._tree_built = True

    def _populate_cpu_children(self) -> None:
        """Finds out, thread by thread, which event ran inside which: the innermost open one that lasts at least as long."""
        open_by_thread: dict[object, list[FunctionEvent]] = {}
        events = [e for e in self if not e.is_async and e.device_type == DeviceType.CPU]
        for event in sorted(events, key=lambda e: (e.thread, e.time_range.start, -e.time_range.end)):
            stack = open_by_thread.setdefault((event.thread, event.node_id), [])
            while stack and (event.time_range.start >= stack[-1].time_range.end or event.time_range.end > stack[-1].time_range.end):
                stack.pop()
            if stack:
                stack[-1].append_cpu_child(event)
                if event.cpu_parent is not None:
                    raise AssertionError(f"There is already a CPU parent event for {event.key}")
                event.set_cpu_parent(stack[-1])
            stack.append(event)

    def _remove_dup_nodes(self) -> None:
        """Takes out events that are all there is in an event of the same name."""
        kept: list[FunctionEvent] = []
        for event in self:
            parent = event.cpu_parent
            if parent is not None and parent.name == event.name and len(parent.cpu_children) == 1:
                parent.cpu_children, parent.kernels = event.cpu_children, event.kernels
                for child in event.cpu_children:
                    child.cpu_parent = parent
            else:
                kept.append(event)
        self[:] = kept

    def _set_backward_stacktraces(self) -> None:
        """Events of backward passes are where the program called the operation they differentiate."""

        def node_of(event: FunctionEvent | None) -> FunctionEvent | None:
            while event is not None and event.scope != 1:
                event = event.cpu_parent
            return event

        stacks: dict[tuple[int, int | None], list[str]] = {}
        for event in self:
            if event.stack is not None and node_of(event) is None:
                stacks.setdefault((event.sequence_nr, event.thread), event.stack)
        for event in self:
            node = node_of(event)
            if node is not None:
                event.stack = stacks.get((node.sequence_nr, node.fwd_thread), [])

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, none counted twice."""
        return sum([event.self_cpu_time_total for event in self])

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """Events added up by name, and by input shapes, overload, or that many innermost lines of the program, too.

        Raises:
            AssertionError: these are groups already.
        """
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        groups: dict[object, FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for event in self:
            groups[(event.key, event.node_id, event.device_type, event.is_legacy, event.is_user_annotation,
                    group_by_overload_name and event.overload_name, group_by_input_shapes and str(event.input_shapes),
                    tuple((event.stack or ())[:group_by_stack_n]))].add(event)
        for group in groups.values():
            group.stack = (group.stack or [])[:group_by_stack_n]
            group.input_shapes = group.input_shapes if group_by_input_shapes else ""
            group.overload_name = group.overload_name if group_by_overload_name else ""
        return self._like(groups.values())

    def _like(self, events: Iterable[object]) -> EventList:
        return EventList(events, use_device=self._use_device, profile_memory=self._profile_memory, with_flops=self._with_flops)

    def total_average(self) -> FunctionEventAvg:
        """All events added up."""
        total = FunctionEventAvg()
        for event in self:
            total += event
            total.key = None
        total.key = "Total"
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int | None = 75,
              max_name_column_width: int | None = 55, max_shapes_column_width: int | None = 80, header: str | None = None,
              top_level_events_only: bool = False, time_unit: str | None = None) -> str:
        """The events as text, a row each.

        Args:
            sort_by: an attribute of theirs, the largest first; where None, the order they have.
            row_limit: how many rows; -1 for all.
            max_src_column_width, max_name_column_width, max_shapes_column_width: of these columns, None for as much as they take.
            header: a line above.
            top_level_events_only: whether events inside others are left out.
            time_unit: "s", "ms" or "us" for all times; where None, what fits each.
        """
        if not self:
            return ""
        events = self if sort_by is None else sorted(self, key=lambda e: getattr(e, _of_device(sort_by)), reverse=True)
        return _Table(self, events, max_src_column_width, max_name_column_width, max_shapes_column_width, time_unit).text(
            row_limit, header, top_level_events_only)

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events as a file for chrome://tracing."""
        with open(path, "w") as file:
            json.dump([{"name": e.trace_name, "ph": "X", "ts": e.time_range.start, "dur": e.time_range.elapsed_us(), "tid": e.thread,
                        "pid": "CPU functions", "args": {}} for e in self if e.trace_name is not None], file)

    def supported_export_stacks_metrics(self) -> list[str]:
        """What stacks can be weighted with."""
        return list(_METRICS)

    def export_stacks(self, path: str, metric: str) -> None:
        """Writes a line for each event with a stack, outermost first, and its `metric`: as programs that draw flame graphs read them.

        Raises:
            ValueError: it is no metric.
        """
        if metric not in _METRICS:
            raise ValueError("metric should be one of: " + str(_METRICS))
        blank = str.maketrans(" ;\t\n", "____")
        with open(path, "w") as file:
            for event in self:
                weight = int(getattr(event, _of_device(metric)))
                if event.stack and weight > 0:
                    file.write(";".join([entry.translate(blank) for entry in reversed(event.stack)]) + f" {weight}\n")


class _Table:
    """The rows and columns of a table of events."""

    def __init__(self, whole: EventList, events: list[Any], source_width: int | None, name_width: int | None, shapes_width: int | None,
                 time_unit: str | None) -> None:
        self.events, self.name_width, self.time_unit = events, name_width, time_unit
        self.total = sum([e.self_cpu_time_total for e in events])
        named = self._width([e.key for e in events], name_width)
        columns: list[tuple[str, int, Callable[[Any], object]]] = [("Name", named, lambda e: self._name(e.key))]
        if any([e.overload_name for e in events]):
            columns.append(("Overload Name", named, lambda e: self._name(e.overload_name)))
        columns += [("Self CPU %", 12, lambda e: e.self_cpu_percent), ("Self CPU", 12, lambda e: self.time(e.self_cpu_time_total)),
                    ("CPU total %", 12, lambda e: e.total_cpu_percent), ("CPU total", 12, lambda e: self.time(e.cpu_time_total)),
                    ("CPU time avg", 12, lambda e: self.time(e.cpu_time))]
        if whole._profile_memory:
            columns += [("CPU Mem", 12, lambda e: _format_memory(e.cpu_memory_usage)),
                        ("Self CPU Mem", 12, lambda e: _format_memory(e.self_cpu_memory_usage))]
        columns.append(("# of Calls", 12, lambda e: e.count))
        if any([e.node_id != -1 for e in events]):
            columns.append(("Node ID", 12, lambda e: e.node_id))
        if any([e.input_shapes for e in events]):
            shapes = self._width([str(e.input_shapes) for e in events], shapes_width)
            columns.append(("Input Shapes", shapes, lambda e: str(e.input_shapes)[:shapes]))
        entries = [entry for e in events for entry in e.stack or ()]
        self.source = self._width(entries, source_width) if entries else 0
        flops = [e.flops for e in events if e.flops] if whole._with_flops else []
        if flops:
            step = int(max(0, min(math.log10(min(flops)) / 3, 5)))
            columns.append((f"Total {'FLOPs KFLOPs MFLOPs GFLOPs TFLOPs PFLOPs'.split()[step]}", 12,
                            lambda e: f"{e.flops * 10 ** (step * -3.0):8.3f}" if e.flops else "--"))
        self.columns = columns

    @staticmethod
    def _width(texts: list[str], limit: int | None) -> int:
        width = max([len(text) for text in texts]) + 4
        return width if limit is None else min(width, limit)

    def _name(self, name: str) -> str:
        limit = self.name_width
        return name if limit is None or len(name) < limit - 3 else name[:limit - 3] + "..."

    def time(self, microseconds: float) -> str:
        unit = {"s": 1e6, "ms": 1e3, "us": 1.0}.get(self.time_unit or "")
        return _format_time(microseconds) if unit is None else f"{microseconds / unit:.3f}{self.time_unit}"

    def _path(self, path: str) -> str:
        cut = path[-self.source:]
        return cut if len(path) <= self.source or self.source <= 3 else "..." + cut[3:]

    def text(self, row_limit: int, header: str | None, top_level_events_only: bool) -> str:
        """All of it."""
        sides = [(title, width, ">") for title, width, _ in self.columns]
        if self.source:  # before the last column, as torch has it where there are numbers of operations
            at = len(sides) - (sides[-1][0].endswith("FLOPs"))
            sides.insert(at, ("Source Location", self.source, "<"))
        rule = "".join(["-" * width + "  " for _, width, _ in sides])
        long = "=" * (len(rule) - 2)

        def line(cells: Sequence[object]) -> str:
            return "".join([f"{cell!s:{side}{width}}  " for cell, (_, width, side) in zip(cells, sides)])

        lines = [] if header is None else [long, header]
        lines += [long, "This report only display top-level ops statistics"] if top_level_events_only else []
        lines += [rule, line([title for title, _, _ in sides]), rule]
        shown = [e for e in self.events if not top_level_events_only or e.cpu_parent is None]
        for e in shown if row_limit < 0 else shown[:row_limit]:
            e.self_cpu_percent = _format_time_share(e.self_cpu_time_total, self.total)
            e.total_cpu_percent = 0 if e.is_async else _format_time_share(e.cpu_time_total, self.total)
            cells = [show(e) for _, _, show in self.columns]
            if not self.source:
                lines.append(line(cells))
                continue
            at = [title for title, _, _ in sides].index("Source Location")
            for i, entry in enumerate([*(e.stack or [""]), ""]):
                row = cells if i == 0 else [""] * len(cells)
                lines.append(line([*row[:at], self._path(entry), *row[at:]]))
        return "\n".join([*lines, rule, f"Self CPU time total: {self.time(self.total)}", ""])


def _filter_name(name: str) -> bool:
    """Whether events of this name are left out."""
    return name in (MEMORY_EVENT_NAME, OUT_OF_MEMORY_EVENT_NAME)


def _rewrite_name(name: str, with_wildcard: bool = False) -> str:
    """The name under which events are added up: all steps under one."""
    return "ProfilerStep*" if with_wildcard and name.startswith("ProfilerStep#") else name


_absences(__name__)
