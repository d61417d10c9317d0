"""Profiles of operations, of the nodes of backward passes, and of blocks of a program.

>>> import torchcompat as torch
>>> with torch.autograd.profiler.profile() as prof:
...     y = torch.ones(2) * 2 + 1
>>> [event.name for event in prof.function_events]
['aten::ones', 'aten::empty', 'aten::fill_', 'aten::mul', 'aten::add']

Functions that make tensors are carried out in torch's steps while a profile is taken, so that these can be timed.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg

if TYPE_CHECKING:
    import numpy as np

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "emit_itt", "emit_nvtx", "kineto_available", "profile", "record_function"]

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
    """Whether Kineto is there: it is not, profiles are taken in Python."""
    return False


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
            return _timed(name, call.proceed, call.args, before is None)
        finally:
            _state.passing = before


_TIMING = _Timing()


def _timed(name: str, compute: Callable[[], Any], args: Arguments, numbered: bool = False) -> Any:
    """Times what `compute` does, and counts the memory of the tensors it makes."""
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
    _note(name, started, ended, args, fwd_thread=0, sequence_nr=-1 if node is None else node.id,
          cpu_memory_usage=_state.allocated - allocated)
    if outermost:
        _state.counted.clear()
    return result


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


def _note(name: str, started: int, ended: int, args: tuple[object, ...] = (), **more: object) -> None:
    thread, stack = _thread_number(), None
    if any([p.with_stack for p in _active]):
        stack = _stack()
    for p in _active:
        p._raw.append((name, thread, started, ended, _shapes(args) if p.record_shapes and args else None,
                       {**more, "stack": stack if p.with_stack else None}))


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
        profile_memory: whether to count the bytes of new tensors.
        with_stack: whether to note where in the program operations were called.
    """

    def __init__(self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None, record_shapes: bool = False,
                 with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False, with_modules: bool = False,
                 use_kineto: bool = False, use_cpu: bool = True, experimental_config: object = None) -> None:
        self.enabled, self.record_shapes, self.entered = enabled, record_shapes, False
        self.profile_memory, self.with_stack = profile_memory, with_stack
        self.function_events: EventList | None = None
        self._raw: list[Arguments] = []

    def __enter__(self) -> "profile":
        if not self.enabled:
            return self
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        leave_quiet_path()
        listen(_TIMING)
        if not _active:
            frontend.savers.append(_note_thread)
            observers.append(_look_backward)
        _active.append(self)
        self._began = _clock()
        return self

    def __exit__(self, *exc: object) -> None:
        if not self.enabled:
            return
        _active.remove(self)
        if not _active:
            frontend.savers.remove(_note_thread)
            observers.remove(_look_backward)
        unlisten(_TIMING)
        enter_quiet_path()
        numbers = itertools.count(1)
        ordered = sorted(self._raw, key=lambda raw: (raw[2], -raw[3]))
        self.function_events = EventList(
            FunctionEvent(next(numbers), name, thread, (started - self._began) / 1e3, (ended - self._began) / 1e3, input_shapes=shapes,
                          **more)
            for name, thread, started, ended, shapes, more in ordered)
        self.function_events.profile_memory = self.profile_memory
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

    def __call__(self, function: Fn) -> Fn:
        @functools.wraps(function)
        def wrapper(*args: object, **kwargs: object) -> object:
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




__getattr__ = _absences(__name__)
