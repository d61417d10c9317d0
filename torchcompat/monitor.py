"""torch.monitor: events of a program, who is told of them, and numbers added up over spans of time."""

from __future__ import annotations

import datetime
import enum
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from autograd_tape.locks import fork_safe_lock

from ._calls.absent import absences as _absences
from torchcompat.utils.tensorboard import SummaryWriter

STAT_EVENT = "torch.monitor.Stat"


class Aggregation(enum.Enum):
    """What is said of numbers. The last of them (VALUE) is not: torch takes the word and leaves it out, too."""

    VALUE, MEAN, COUNT, SUM, MAX, MIN = 0, 2, 3, 4, 5, 6


for _aggregation in Aggregation:
    globals()[_aggregation.name] = _aggregation


class data_value_t:
    """What an event may say: str, float, int or bool, which becomes a float. Nothing is of this class, and none can be made."""

    def __init__(self, *args: object) -> None:
        raise TypeError("torch._C._monitor.data_value_t: No constructor defined!")


def _refuse(what: str, signature: str, *given: object) -> NoReturn:
    kind = "constructor" if what == "__init__" else "function"
    raise TypeError(f"{what}(): incompatible {kind} arguments. The following argument types are supported:\n    1. {signature}\n\n"
                    f"Invoked with: {', '.join([repr(g) for g in given])}")


class Event:
    """Something that happened.

    Args:
        name: what kind of thing.
        timestamp: when.
        data: what there is to say, by name.

    Raises:
        TypeError: something is of another type.
    """

    def __init__(self, name: str, timestamp: datetime.datetime, data: Mapping[str, str | float]) -> None:
        if not isinstance(timestamp, datetime.datetime) or not isinstance(name, str) or not isinstance(
                data, Mapping) or not all([isinstance(v, (str, int, float)) for v in data.values()]):
            _refuse("__init__", "torch._C._monitor.Event(name: str, timestamp: datetime.datetime, data: "
                    "collections.abc.Mapping[str, data_value_t])", name, timestamp, data)
        self.name, self.timestamp = name, timestamp
        self.data = {k: float(v) if isinstance(v, bool) else v for k, v in data.items()}


class EventHandlerHandle:
    """Of a handler that is registered."""

    def __init__(self, handler: Callable[[Event], object]) -> None:
        self.handler = handler


_handlers: list[EventHandlerHandle] = []
_lock = fork_safe_lock()


def register_event_handler(callback: Callable[[Event], object]) -> EventHandlerHandle:
    """From now on `callback` is told of every event. TypeError where it cannot be called."""
    if not callable(callback):
        _refuse("register_event_handler", "(callback: collections.abc.Callable[[torch._C._monitor.Event], None]) -> "
                "torch._C._monitor.EventHandlerHandle", callback)
    handle = EventHandlerHandle(callback)
    with _lock:
        _handlers.append(handle)
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """It is told no more."""
    with _lock:
        if handler in _handlers:
            _handlers.remove(handler)


def log_event(event: Event) -> None:
    """Tells all handlers of an event. TypeError where it is none."""
    if not isinstance(event, Event):
        _refuse("log_event", "(event: torch._C._monitor.Event) -> None", event)
    with _lock:
        told = list(_handlers)
    for handle in told:
        handle.handler(event)


_MOST = (1 << 63) - 1
_SAID: dict[Aggregation, Callable[[list[float]], float]] = {
    Aggregation.MIN: lambda v: min(v, default=0.0), Aggregation.MAX: lambda v: max(v, default=0.0), Aggregation.SUM: math.fsum,
    Aggregation.COUNT: lambda v: float(len(v)), Aggregation.MEAN: lambda v: math.fsum(v) / len(v) if v else 0.0}


class Stat:
    """Adds up numbers over spans of time, and tells each span's as an event, "name.sum": when the next begins, or this object ends.

    Args:
        name: what they are.
        aggregations: what is told of them.
        window_size: how long a span is.
        max_samples: after how many numbers a span is told at once; what comes after them in the same span is left out.
    """

    def __init__(self, name: str, aggregations: Sequence[Aggregation], window_size: datetime.timedelta, max_samples: int = _MOST) -> None:
        self.name = name
        self._said, self._most = [a for a in _SAID if a in aggregations], max_samples
        self._length = max(int(window_size / datetime.timedelta(microseconds=1)), 1)
        self._values: list[float] = []
        self._before: list[float] = []
        self._window, self._told = self._now(), False

    def _now(self) -> int:
        return time.time_ns() // 1000 // self._length

    def _tell(self) -> None:
        self._before, self._values = self._values, []
        if self._before:
            said = {f"{self.name}.{a.name.lower()}": _SAID[a](self._before) for a in self._said}
            log_event(Event(STAT_EVENT, datetime.datetime.now(), said))

    def _follow(self) -> None:
        """A new span begins where it is time."""
        now = self._now()
        if now != self._window:
            if not self._told:
                self._tell()
            self._window, self._told = now, False

    def add(self, v: float) -> None:
        """One more number. TypeError where it is none."""
        if not isinstance(v, (int, float)) and not hasattr(v, "__float__"):
            _refuse("add", "(self: torch._C._monitor.Stat, v: typing.SupportsFloat | typing.SupportsIndex) -> None", self, v)
        self._follow()
        if not self._told:
            self._values.append(float(v))
            if len(self._values) >= self._most:
                self._tell()
                self._told = True

    @property
    def count(self) -> int:
        """How many numbers this span has."""
        self._follow()
        return len(self._values)

    def get(self) -> dict[Aggregation, float]:
        """What was told of the span before."""
        self._follow()
        return {a: _SAID[a](self._before) for a in self._said}

    def __del__(self) -> None:
        if getattr(self, "_values", None):
            self._tell()


class TensorboardEventHandler:
    """A handler that writes the numbers of `Stat` to TensorBoard."""

    def __init__(self, writer: SummaryWriter) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == STAT_EVENT:
            for k, v in event.data.items():
                self._writer.add_scalar(k, v, walltime=event.timestamp.timestamp())


_absences(__name__)
