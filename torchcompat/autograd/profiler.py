"""Profiles of operations, of the nodes of backward passes, and of blocks of a program.

>>> import torchcompat as torch
>>> with torch.autograd.profiler.profile() as prof:
...     y = torch.ones(2) * 2 + 1
>>> [event.name for event in prof.function_events]
['aten::mul', 'aten::add']
"""

from __future__ import annotations

import functools
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

from autograd_tape.tape import TapeEntry, enter_quiet_path, leave_quiet_path

from .._tensor import Tensor, frontend
from . import engine
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "emit_itt", "emit_nvtx", "kineto_available", "profile", "record_function"]

_active: list["profile"] = []
_threads: dict[int, int] = {}
_lock = threading.Lock()
_clock = time.perf_counter_ns


class _State(threading.local):
    passing: Any = None  # the operation that was looked at and is now carried out


_state = _State()


def kineto_available() -> bool:
    """Whether Kineto is there: it is not, profiles are taken in Python."""
    return False


def _profiler_enabled() -> bool:
    return bool(_active)


def _thread_number() -> int:
    """1, 2, ...: this thread, in the order threads were first seen."""
    ident = threading.get_ident()
    with _lock:
        return _threads.setdefault(ident, len(_threads) + 1)


def _shapes(values: tuple[Any, ...]) -> list[list[int]]:
    return [list(v.shape) if isinstance(v, Tensor) else [] for v in values]


def _look(F: Any, general: Any, args: tuple[Any, ...], out: Any, inplace: bool) -> Any:
    """Times an operation."""
    if _state.passing is general or general.rec.namespace == "_internal":
        return NotImplemented
    before, _state.passing = _state.passing, general
    started = _clock()
    try:
        result = general(args, out, inplace)
    finally:
        ended = _clock()
        _state.passing = before
    node = result.creator if isinstance(result, Tensor) else None
    _note("aten::" + general.rec.name + ("_" if inplace else ""), started, ended, args, fwd_thread=0,
          sequence_nr=-1 if node is None or before is not None else node.id)
    return result


def _note(name: str, started: int, ended: int, args: tuple[Any, ...] = (), **more: Any) -> None:
    thread = _thread_number()
    for p in _active:
        p._raw.append((name, thread, started, ended, _shapes(args) if p.record_shapes and args else None, more))


def _look_backward(entry: TapeEntry, grad: Any, compute: Callable[[], Any]) -> Any:
    """Times a node of a backward pass."""
    outer = _clock()
    thread = entry.metadata.get("forward_thread")
    try:
        return compute()
    finally:
        ended = _clock()
        _note(f"autograd::engine::evaluate_function: {entry.name()}", outer, ended + 1, fwd_thread=thread, sequence_nr=entry.id)
        _note(entry.name(), outer + 1, ended, fwd_thread=thread, sequence_nr=entry.id)


def _note_thread(entry: TapeEntry) -> None:
    if _active:
        entry.metadata["forward_thread"] = _thread_number()


class profile:
    """Notes, for a block, what operations ran and how long they took.

    Args:
        enabled: whether to do anything.
        record_shapes: whether to note the shapes of arguments.
    """

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None, record_shapes: bool = False,
                 with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
                 use_kineto: bool = False, use_cpu: bool = True, experimental_config: Any = None) -> None:
        self.enabled, self.record_shapes, self.entered = enabled, record_shapes, False
        self.function_events: EventList | None = None
        self._raw: list[tuple[Any, ...]] = []

    def __enter__(self) -> "profile":
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        leave_quiet_path()
        if not _active:
            frontend.interceptors.insert(0, _look)
            frontend.savers.append(_note_thread)
            engine.observers.append(_look_backward)
        _active.append(self)
        self._began = _clock()
        return self

    def __exit__(self, *exc: object) -> None:
        if not self.enabled:
            return
        _active.remove(self)
        if not _active:
            frontend.interceptors.remove(_look)
            frontend.savers.remove(_note_thread)
            engine.observers.remove(_look_backward)
        enter_quiet_path()
        numbers = itertools.count(1)
        ordered = sorted(self._raw, key=lambda raw: (raw[2], -raw[3]))
        self.function_events = EventList(
            FunctionEvent(next(numbers), name, thread, (started - self._began) / 1e3, (ended - self._began) / 1e3, input_shapes=shapes,
                          **more)
            for name, thread, started, ended, shapes, more in ordered)
        self.function_events._populate_cpu_children()

    def _events(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def table(self, **options: Any) -> str:
        """The events as text; see `EventList.table`."""
        return self._events().table(**options)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The events added up by name."""
        return self._events().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """All events added up."""
        return self._events().total_average()

    def export_chrome_trace(self, path: str) -> None:
        """Writes a file for chrome://tracing."""
        self._events().export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, none counted twice."""
        return self._events().self_cpu_time_total

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else repr(self.function_events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else str(self.function_events)


class record_function:
    """Names a block, or a function, in profiles."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._started: list[int] = []

    def __enter__(self) -> "record_function":
        self._started.append(_clock())
        return self

    def __exit__(self, *exc: object) -> None:
        started = self._started.pop()
        if _active:
            _note(self.name, started, _clock(), scope=7)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return wrapper


class emit_nvtx:
    """Ranges for NVIDIA's profiler, which needs CUDA."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> "emit_nvtx":
        if self.enabled:
            raise RuntimeError("NVTX is not available: this build has no CUDA")
        return self

    def __exit__(self, *exc: object) -> None:
        pass


class emit_itt(emit_nvtx):
    """Ranges for Intel's profiler, which needs its runtime."""

    def __enter__(self) -> "emit_itt":
        if self.enabled:
            raise RuntimeError("ITT is not available: this build has no ITT runtime")
        return self


