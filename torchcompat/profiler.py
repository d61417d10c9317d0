"""torch.profiler: profiles of steps, on a schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from autograd_tape.annotations import Fn
from ._calls.absent import absences as _absences
from .autograd.profiler import profile as _profile
from .autograd.profiler import record_function

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule"]


class ProfilerActivity(Enum):
    """What is profiled."""

    CPU = 0
    CUDA = 2


class ProfilerAction(Enum):
    """What a profiler does with a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0) -> Callable[[int], ProfilerAction]:
    """From step number to action: after `skip_first` steps, `wait` idle, `warmup` and `active` ones in turn, `repeat` times (0: always).

    >>> [schedule(wait=1, warmup=0, active=2, repeat=1)(step).name for step in range(4)]
    ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError("Invalid profiler schedule arguments")

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        cycle = wait + warmup + active
        if step < 0 or repeat and step >= cycle * repeat:
            return ProfilerAction.NONE
        at = step % cycle
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


class profile:
    """Profiles a block, or those of its steps that a schedule chooses.

    Args:
        schedule: from step number to ProfilerAction; every step is recorded where None.
        on_trace_ready: called with this object when a recording is complete.
        record_shapes: whether to note the shapes of arguments.
    """

    def __init__(self, *, activities: Iterable[ProfilerActivity] | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready: Fn | None = None, record_shapes: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_flops: bool = False, with_modules: bool = False) -> None:
        if activities is not None and ProfilerActivity.CUDA in activities:
            raise RuntimeError("CUDA activities cannot be profiled: this build has no CUDA")
        self.schedule, self.on_trace_ready, self.record_shapes = schedule, on_trace_ready, record_shapes
        self.step_num = 0
        self.profiler: _profile | None = None
        self._running = False

    def _action(self) -> ProfilerAction:
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(self.step_num)

    def start(self) -> None:
        """Begins."""
        self._follow()

    def stop(self) -> None:
        """Ends, and hands over what was recorded."""
        if self._running:
            self._finish()

    def step(self) -> None:
        """The next step begins."""
        if self._running and self._action() is ProfilerAction.RECORD_AND_SAVE:
            self._finish()
        self.step_num += 1
        self._follow()

    def _follow(self) -> None:
        recording = self._action() in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if recording and not self._running:
            self.profiler, self._running = _profile(record_shapes=self.record_shapes), True
            self.profiler.__enter__()

    def _finish(self) -> None:
        assert self.profiler is not None
        self.profiler.__exit__(None, None, None)
        self._running = False
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def __enter__(self) -> "profile":
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _finished(self) -> _profile:
        if self.profiler is None:
            raise AssertionError("nothing was profiled")
        return self.profiler

    def events(self) -> Any:
        """The events of the last recording."""
        return self._finished().function_events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> Any:
        """The events added up by name."""
        return self._finished().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str) -> None:
        """Writes a file for chrome://tracing."""
        self._finished().export_chrome_trace(path)


__getattr__ = _absences(__name__)
