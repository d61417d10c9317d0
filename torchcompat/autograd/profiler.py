"""Profiles of operations, of the nodes of backward passes, and of blocks of a program.

>>> import torchcompat as torch
>>> with torch.autograd.profiler.profile() as prof:
...     y = torch.ones(2) * 2 + 1
>>> [event.name for event in prof.function_events]
['aten::ones', 'aten::empty', 'aten::fill_', 'aten::mul', 'aten::add']

Functions that make tensors are carried out in torch's steps while a profile is taken, so that these can be timed.
"""

from __future__ import annotations

import enum
import functools
import itertools
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from autograd_tape.warned import warn
from autograd_tape.annotations import Arguments, Fn
from autograd_tape import calls
from autograd_tape.calls import Call, Door, Interceptor, listen, unlisten
from autograd_tape.engine import observers
from autograd_tape.locks import fork_safe_lock
from autograd_tape.modes import enter_quiet_path, leave_quiet_path
from autograd_tape.ops import Record
from autograd_tape.strided import address, owner_of
from autograd_tape.node import TapeEntry

from .._calls.absent import absences as _absences
from .._tensor import Tensor, frontend
from .._calls.factories import makes
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg, MemRecordsAcc, _rewrite_name

if TYPE_CHECKING:
    import numpy as np

__all__ = ["profile", "record_function", "emit_itt", "emit_nvtx", "EnforceUnique", "KinetoStepTracker", "EventList", "FunctionEvent",
           "MemRecordsAcc"]

_active: list["profile"] = []
_threads: dict[int, int] = {}
_lock = fork_safe_lock()
_clock = time.perf_counter_ns


class _State(threading.local):
    passing: str | None = None  # the operation that is being carried out
    depth = 0  # events around what is carried out now
    allocated = 0  # bytes of new tensors so far

    def __init__(self) -> None:
        self.counted: set[int] = set()  # the addresses of their memory, within one outermost event


_state = _State()


def kineto_available() -> bool:
    """Whether profiles of steps, and traces of them, can be taken: always. They are taken in Python, without Kineto."""
    return True


def _profiler_enabled() -> bool:
    return bool(_active)


def _thread_number() -> int:
    """1, 2, ...: this thread, in the order threads were first seen."""
    ident = threading.get_ident()
    with _lock:
        return _threads.setdefault(ident, len(_threads) + 1)


def _shapes(values: tuple[object, ...]) -> list[list[int]]:
    return [list(v.shape) if isinstance(v, Tensor) else [] for v in values]


def _shown(rec: Record) -> str | None:
    """What profiles call an operation; None for those they do not show."""
    if not isinstance(rec, Record):
        return rec.public  # of a function that is no operation
    known = rec.field("known_as")
    return known or None if known is not None else rec.public or (rec.torch_name if rec.field("aten") else None)


class _Timing(Interceptor):
    """Times operations."""

    place, frontend = "profile", frontend

    def concerns(self, door: Door) -> bool:
        return _shown(door.rec) is not None

    def __call__(self, call: Call) -> Any:
        if makes(call.door):
            return _made(call)
        shown = _shown(call.rec)
        before, name = _state.passing, f"{'' if '::' in str(shown) else 'aten::'}{shown}" + ("_" if call.inplace else "")
        if before == name:  # a part of it that is called the same
            return NotImplemented
        _state.passing = name
        try:
            return _timed(name, call.proceed, call.args, before is None, call)
        finally:
            _state.passing = before


_TIMING = _Timing()


def _timed(name: str, compute: Callable[[], Any], args: Arguments, numbered: bool = False, call: Call | None = None) -> Any:
    """Times what `compute` does, and counts the memory of the tensors it makes, and the multiplications and additions of `call`."""
    outermost, allocated = not _state.depth, _state.allocated
    _state.depth += 1
    started = _clock()
    try:
        result = compute()
    finally:
        ended = _clock()
        _state.depth -= 1
    if any([p.profile_memory for p in _active]):
        _count(result, args)
    node = result.creator if numbered and isinstance(result, Tensor) else None
    flops = _products(call, result) if call is not None and any([p.with_flops for p in _active]) else 0
    _note(name, started, ended, args, fwd_thread=0, sequence_nr=-1 if node is None else node.id,
          cpu_memory_usage=_state.allocated - allocated, flops=flops)
    if outermost:
        _state.counted.clear()
    return result


def _products(call: Call, result: object) -> int:
    """The multiplications and additions of a product, as its record tells them; 0 of what is none."""
    from autograd_tape.sharding.planned import products

    if not isinstance(call.rec, Record) or not isinstance(result, Tensor):
        return 0
    values = {p.name: a._data if isinstance(a, Tensor) else a for p, a in zip(call.door.params, call.args)}
    return int(products(call.rec, values, result._data) or 0)


def _count(result: Tensor, args: tuple[int | Tensor, ...]) -> None:
    """Adds the memory of new tensors, each once."""
    given = {address(owner_of(a._data)) for a in args if isinstance(a, Tensor)}
    for t in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(t, Tensor):
            owner = owner_of(t._data)
            if address(owner) not in given | _state.counted:
                _state.counted.add(address(owner))
                _state.allocated += owner.nbytes


def _filled(method: str, *values: int) -> Callable[[Any, Any], Any]:
    return lambda t, generator: getattr(t, method)(*values, **({} if generator is None else {"generator": generator}))


STEPS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    f"{prefix}{what}{suffix}": (f"{prefix}empty{suffix}", fill)
    for prefix, suffix in (("", ""), ("", "_like"), ("new_", ""))
    for what, fill in (("ones", _filled("fill_", 1)), ("zeros", _filled("zero_")), ("rand", _filled("uniform_")),
                       ("randn", _filled("normal_")))}
"""What makes a tensor in two steps: the function that makes it empty, and what fills it."""
SHOWN = {
    "tensor": ("lift_fresh",), "as_tensor": ("lift_fresh",), "__bool__": ("is_nonzero", "item", "_local_scalar_dense"),
    **dict.fromkeys(("item", "__int__", "__float__"), ("item", "_local_scalar_dense"))}
"""What shows as several operations inside one another."""


def _made(call: Call) -> Any:
    """Times a function that makes a tensor, fills one with random numbers, or reads one."""
    name, (args, kwargs) = call.name, call.spelled()

    def compute() -> object:
        if name not in STEPS or call.out is not None or kwargs.get("out") is not None:
            return call.proceed()
        import torchcompat as torch

        inner, fill = STEPS[name]
        empty = getattr(Tensor if name.startswith("new_") else torch, inner)  # which notes itself
        options = {k: v for k, v in kwargs.items() if k not in ("requires_grad", "generator")}
        t = fill(empty(*args, **options), kwargs.get("generator"))
        if kwargs.get("requires_grad"):
            t.requires_grad = True
        return t

    for shown in reversed(SHOWN.get(name, (name,))):
        compute = _around("aten::" + shown, compute, args)
    return compute()


def _around(name: str, compute: Callable[[], Any], args: tuple[object, ...]) -> Callable[[], Any]:
    return lambda: _timed(name, compute, args)


def _note(name: str, started: int, ended: int, args: tuple[object, ...] = (), shapes: list[list[int]] | None = None,
          **more: object) -> None:
    thread, stack = _thread_number(), list[str]()
    if any([p.with_stack for p in _active]):
        stack = _stack()
    for p in _active:
        p._raw.append((name, thread, started, ended, (_shapes(args) if shapes is None else shapes) if p.record_shapes else [],
                       {"flops": 0, **more, "stack": stack if p.with_stack else []}))


def _stack() -> list[str]:
    """Where the program is, the innermost line first: without what belongs to this package."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_HOME) and not code.co_filename.startswith("<"):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back  # type: ignore[assignment]  # None at the end
    return found


_HOME = (os.path.dirname(os.path.dirname(__file__)), os.path.dirname(calls.__file__))


def _look_backward(entry: TapeEntry, grad: np.ndarray, compute: Callable[[], Any]) -> list[np.ndarray]:
    """Times a node of a backward pass, and counts the memory of the gradients it gives."""
    outer, thread, allocated = _clock(), entry.metadata.get("forward_thread"), _state.allocated
    try:
        found: list[np.ndarray] = compute()
        if any([p.profile_memory for p in _active]):
            given = address(owner_of(grad)) if hasattr(grad, "ctypes") else None
            made = {address(owner_of(a)): owner_of(a).nbytes for a in found if hasattr(a, "ctypes")}
            _state.allocated += sum([size for place, size in made.items() if place != given])
        return found
    finally:
        ended = _clock()
        more: dict[str, Any] = {"fwd_thread": thread, "sequence_nr": entry.id, "cpu_memory_usage": _state.allocated - allocated}
        _note(f"autograd::engine::evaluate_function: {entry.name()}", outer, ended + 1, **more)
        _note(entry.name(), outer + 1, ended, shapes=[list(grad.shape)] if hasattr(grad, "shape") else [], scope=1, **more)


def _note_thread(entry: TapeEntry) -> None:
    if _active:
        entry.metadata["forward_thread"] = _thread_number()


class ProfilerActivity(enum.Enum):
    """What is profiled."""

    CPU, XPU, MTIA, CUDA, HPU, PrivateUse1 = 0, 1, 4, 2, 3, 5


class RecordScope(enum.Enum):
    """What kind of thing an event is."""

    (FUNCTION, BACKWARD_FUNCTION, TORCHSCRIPT_FUNCTION, KERNEL_FUNCTION_DTYPE, CUSTOM_CLASS, BUILD_FEATURE, LITE_INTERPRETER, USER_SCOPE,
     STATIC_RUNTIME_OP, STATIC_RUNTIME_MODEL) = range(10)


class _ExperimentalConfig:
    """Options of Kineto's. Two mean something here.

    Args:
        custom_profiler_config: what a program's own profiler is told; kept.
        trace_only: whether only a trace is wanted, and no events.
        options: those that say how devices are looked at, which none are.
    """

    _OPTIONS = frozenset("""
        profiler_metrics profiler_measure_per_kernel verbose performance_events enable_cuda_sync_events adjust_profiler_step
        disable_external_correlation profile_all_threads capture_overload_names record_python_gc_info expose_kineto_event_metadata
        adjust_timestamps""".split())

    def __init__(self, *, custom_profiler_config: str = "", trace_only: bool = False, **options: object) -> None:
        if not options.keys() <= self._OPTIONS:
            raise TypeError("__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                            f"    1. torch._C._profiler._ExperimentalConfig({', '.join(sorted(self._OPTIONS))})")
        self.custom_profiler_config, self.trace_only = custom_profiler_config, trace_only


def _supported_activities() -> set[ProfilerActivity]:
    return {ProfilerActivity.CPU}


_metadata: dict[str, str] = {}  # what programs have to say of the next trace, as JSON


def _add_metadata_json(key: str, value: str) -> None:
    _metadata[key] = value


class profile:
    """Notes, for a block, what operations ran and how long they took.

    Args:
        enabled: whether to do anything.
        use_cuda, use_device, use_cpu, use_kineto: where; the CPU is all there is.
        record_shapes: whether to note the shapes of arguments.
        with_flops: whether to count multiplications and additions of products, and note shapes.
        profile_memory: whether to count the bytes of new tensors.
        with_stack: whether to note where in the program operations were called.
        acc_events: whether events of an earlier block are kept.
        custom_trace_id_callback: gives the name of a trace; else it is a random number.
        with_modules, experimental_config, post_processing_timeout_s, activity_filters: taken.

    Raises:
        AssertionError: nothing is to be profiled.
        ValueError: the timeout is negative.
    """

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None, record_shapes: bool = False,
                 with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
                 use_kineto: bool = False, use_cpu: bool = True, experimental_config: _ExperimentalConfig | None = None,
                 acc_events: bool = False, custom_trace_id_callback: Callable[[], str] | None = None,
                 post_processing_timeout_s: float | None = None,
                 activity_filters: Mapping[ProfilerActivity, set[str]] | None = None) -> None:
        self.enabled = enabled
        if not enabled:
            return
        if use_cuda:
            warn("The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.", FutureWarning)
        self.use_cuda, self.use_device = use_cuda, "cuda" if use_cuda else use_device
        self.record_shapes, self.with_flops, self.entered = record_shapes or with_flops, with_flops, False
        self.profile_memory, self.with_stack, self.with_modules, self.use_cpu = profile_memory, with_stack, with_modules, use_cpu
        self.acc_events, self.custom_trace_id_callback, self.trace_id = acc_events, custom_trace_id_callback, ""
        self.experimental_config = _ExperimentalConfig() if experimental_config is None else experimental_config
        self.post_processing_timeout_s, self.activity_filters = post_processing_timeout_s, activity_filters or {}
        self.kineto_activities = {ProfilerActivity.CPU} if use_cpu else set()
        self._function_events: EventList | None = None
        self._finished = False
        self._raw: list[Arguments] = []
        self._metadata: dict[str, str] = {}
        if not use_cpu and not use_kineto:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        if self.use_device is not None:
            if self.use_device in ("cuda", "xpu", "hpu"):
                name = self.use_device.upper()
                warn(f"{name} is not available, disabling {name} profiling")
            elif self.use_device == "mtia":
                raise AssertionError("Legacy MTIA profiling is not supported. Requires use_kineto=True on MTIA devices.")
            else:
                warn(f"The {self.use_device} is not a valid device option.")
            self.use_device, self.use_cuda = None, False
        if not self.kineto_activities:
            raise AssertionError("No activities specified for the profiler")
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")

    def default_trace_id(self) -> str:
        """A random name: 32 hexadecimal digits."""
        import uuid

        return f"{uuid.uuid4().int:032X}"

    def create_trace_id(self) -> str:
        """The name of a trace."""
        return self.custom_trace_id_callback() if self.custom_trace_id_callback else self.default_trace_id()

    def __enter__(self) -> "profile":
        if not self.enabled:
            return None  # type: ignore[return-value]  # as torch
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._prepare_trace()
        self._start_trace()
        return self

    def _prepare_trace(self) -> None:
        self.entered, self.trace_id = True, self.create_trace_id()
        _metadata.clear()

    def _start_trace(self) -> None:
        self.entered = True
        self._raw = []
        leave_quiet_path()
        listen(_TIMING)
        if not _active:
            frontend.savers.append(_note_thread)
            observers.append(_look_backward)
        _active.append(self)
        self._began = _clock()

    def __exit__(self, *exc: object) -> None:
        if not self.enabled or self not in _active:
            return
        _active.remove(self)
        if not _active:
            frontend.savers.remove(_note_thread)
            observers.remove(_look_backward)
        unlisten(_TIMING)
        enter_quiet_path()
        before = self._function_events if self.acc_events else None
        self._function_events, self._finished = None, True
        self._metadata = dict(_metadata)
        if before is not None:
            self._function_events = self._built()
            self._function_events.extend(before)

    def _built(self) -> EventList:
        numbers = itertools.count(1)
        ordered = sorted(self._raw, key=lambda raw: (raw[2], -raw[3]))
        events = EventList([
            FunctionEvent(next(numbers), _rewrite_name(name, True), thread, (started - self._began) / 1e3, (ended - self._began) / 1e3,
                          overload_name="", trace_name=name, input_shapes=shapes, use_device=self.use_device, concrete_inputs=[],
                          kwinputs={}, activity_type="user_annotation" if more.get("is_user_annotation") else "cpu_op", **more)
            for name, thread, started, ended, shapes, more in ordered],
            use_device=self.use_device, profile_memory=self.profile_memory, with_flops=self.with_flops)
        events._build_tree()
        return events

    @property
    def function_events(self) -> EventList | None:
        """The events, once the block has ended.

        Raises:
            RuntimeError: only a trace was asked for.
        """
        if self.experimental_config.trace_only:
            raise RuntimeError("events() is not available when trace_only=True in ExperimentalConfig. Use export_chrome_trace() instead.")
        if self._function_events is None:
            self._function_events = self._built() if self._finished else EventList(profile_memory=self.profile_memory)
            self._function_events._tree_built = True
        return self._function_events

    def _events(self) -> EventList:
        events = self.function_events
        assert events is not None
        return events

    def table(self, **options: Any) -> str:
        """The events as text; see `EventList.table`."""
        return self._events().table(**options)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """The events added up by name."""
        return self._events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """All events added up."""
        return self._events().total_average()

    def export_chrome_trace(self, path: str, metadata: Mapping[str, str] | None = None, use_python_export: bool = False) -> None:
        """Writes a file for chrome://tracing and its kin: events of operations, blocks and nodes, and what programs said of them."""
        import json
        import socket

        pid, events = os.getpid(), list[dict[str, object]]()
        for e in self._events():
            told: dict[str, object] = {"External id": e.id, "Record function id": 0, "Ev Idx": len(events)}
            if e.sequence_nr >= 0:
                told |= {"Sequence number": e.sequence_nr, "Fwd thread id": e.fwd_thread}
            if e.input_shapes:
                told["Input Dims"] = e.input_shapes
            if e.stack:
                told["Call stack"] = ";".join(e.stack)
            events.append({"ph": "X", "cat": e.activity_type, "name": e.trace_name, "pid": pid, "tid": e.thread,
                           "ts": e.time_range.start, "dur": e.time_range.elapsed_us(), "args": told})
        names = [{"ph": "M", "name": name, "ts": 0, "pid": pid, "tid": 0, "args": args} for name, args in (
            ("process_name", {"name": "python"}), ("process_labels", {"labels": "CPU"}), ("process_sort_index", {"sort_index": pid}))]
        head = {"schemaVersion": 1, "deviceProperties": [], "trace_id": self.trace_id,
                **{key: json.loads(value) for key, value in (self._metadata | dict(metadata or {})).items()}}
        with open(path, "w") as file:
            json.dump({**head, "host_name": socket.gethostname(), "displayTimeUnit": "ms", "baseTimeNanoseconds": 0,
                       "traceEvents": [*names, *events], "traceName": path}, file)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes where the program was, and how long; see `EventList.export_stacks`.

        Raises:
            AssertionError: it was not noted where.
        """
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self._events().export_stacks(path, metric)

    def toggle_collection_dynamic(self, enabled: bool, activities: Iterable[ProfilerActivity]) -> None:
        """From now on nothing is noted, or it is again."""
        if ProfilerActivity.CPU in activities and enabled != (self in _active):
            (_active.append if enabled else _active.remove)(self)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, none counted twice."""
        return self._events().self_cpu_time_total

    def __repr__(self) -> str:
        return repr(self.function_events) if self._finished else "<unfinished torch.autograd.profile>"

    def __str__(self) -> str:
        return str(self.function_events) if self._finished else "<unfinished torch.autograd.profile>"


class record_function:
    """Names a block, or a function, in profiles."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args, self.run_callbacks_on_exit = name, args, True
        self._started: list[tuple[int, int]] = []

    def __enter__(self) -> "record_function":
        self._started.append((_clock(), _state.allocated))
        return self

    def __exit__(self, *exc: object) -> None:
        started, allocated = self._started.pop()
        if _active:
            _note(self.name, started, _clock(), scope=7, fwd_thread=0, is_user_annotation=True,
                  cpu_memory_usage=_state.allocated - allocated)

    def __call__(self, function: Fn) -> Fn:
        @functools.wraps(function)
        def wrapper(*args: object, **kwargs: object) -> object:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return wrapper


class emit_nvtx:
    """Ranges for NVIDIA's profiler, which needs CUDA."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.entered, self.record_shapes = enabled, False, record_shapes

    def __enter__(self) -> "emit_nvtx":
        if not self.enabled:
            return None  # type: ignore[return-value]  # as torch
        raise AssertionError("Torch not compiled with CUDA enabled")

    def __exit__(self, *exc: object) -> None:
        pass


class emit_itt(emit_nvtx):
    """Ranges for Intel's profiler, which needs its runtime."""

    def __enter__(self) -> "emit_itt":
        if not self.enabled:
            return None  # type: ignore[return-value]  # as torch
        raise RuntimeError("ITT is not available: this build has no ITT runtime")


class EnforceUnique:
    """Refuses what it has seen before."""

    def __init__(self) -> None:
        self.seen: set[object] = set()

    def see(self, *key: object) -> None:
        """Notes a key.

        Raises:
            RuntimeError: it was noted before.
        """
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Counts the steps of a program, which several of its parts may count: as many as the part that counts most."""

    _current_step = 0
    _step_dict: dict[str, int] = defaultdict(int)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """A part begins to count, where the others are."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """A part stops; whether it had begun."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """A part counts one more; how many steps there are then."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        most = max(cls._step_dict.values())
        if most - cls._current_step > 1:
            warn(f"Profiler step count has increased more than 1 - current_step = {cls._current_step} step dict =  {cls._step_dict}")
        cls._current_step = max(cls._current_step, most)
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """How many steps there are."""
        return cls._current_step


_absences(__name__)
