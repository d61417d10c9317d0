"""Profiles of a program's steps: which of them are recorded, and what comes of it."""

from __future__ import annotations

import gzip
import os
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum

from autograd_tape.warned import warn
from autograd_tape.annotations import Fn
from .._calls.absent import absences as _absences
from ..autograd import profiler as prof
from ..autograd.profiler import ProfilerActivity, _ExperimentalConfig, _supported_activities
from ..autograd.profiler_util import EventList

__all__ = ["supported_activities", "ProfilerAction", "schedule", "tensorboard_trace_handler", "profile"]

PROFILER_STEP_NAME = "ProfilerStep"
_CLEARED = ("Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be reported. To keep events "
            "across cycles, set acc_events=True.")
_warned: set[str] = set()
Activities = Iterable["ProfilerActivity | Mapping[ProfilerActivity, Sequence[str]]"]


def supported_activities() -> set[ProfilerActivity]:
    """What can be profiled: what runs on the CPU."""
    return _supported_activities()


def _parse_activities(activities: Activities) -> tuple[set[ProfilerActivity], dict[ProfilerActivity, set[str]]]:
    """(what is profiled, which kinds of events of it).

    Raises:
        ValueError: something is named twice.
        TypeError: something is no activity.
    """
    found: set[ProfilerActivity] = set()
    filters: dict[ProfilerActivity, set[str]] = {}
    for item in activities:
        if not isinstance(item, (ProfilerActivity, dict)):
            raise TypeError(f"Expected ProfilerActivity or dict, got {type(item)}")
        for activity in item if isinstance(item, dict) else (item,):
            if activity in found:
                raise ValueError(f"Activity {activity} specified more than once")
            found.add(activity)
        filters |= {key: set(kinds) for key, kinds in item.items()} if isinstance(item, dict) else {}
    return found, filters


class _KinetoProfile:
    """A profile that is begun and ended by hand.

    Args:
        activities: what is profiled; all that can be where None.
        acc_events: whether the events of all rounds are kept, or those of the last.
        others: as of `torch.autograd.profiler.profile`.
    """

    def __init__(self, *, activities: Activities | None = None, record_shapes: bool = False, profile_memory: bool = False,
                 with_stack: bool = False, with_flops: bool = False, with_modules: bool = False,
                 experimental_config: _ExperimentalConfig | None = None, execution_trace_observer: object = None, acc_events: bool = False,
                 custom_trace_id_callback: Callable[[], str] | None = None, post_processing_timeout_s: float | None = None) -> None:
        self.activities, self.activity_filters = (supported_activities(), {}) if activities is None else _parse_activities(activities)
        self.record_shapes, self.with_flops, self.profile_memory = record_shapes, with_flops, profile_memory
        self.with_stack, self.with_modules, self.experimental_config = with_stack, with_modules, experimental_config
        self.execution_trace_observer, self.acc_events = execution_trace_observer, acc_events
        self.custom_trace_id_callback, self.post_processing_timeout_s = custom_trace_id_callback, post_processing_timeout_s
        self.profiler: prof.profile | None = None
        self.preset_metadata: dict[str, str] = {}
        self._trace_metadata: dict[str, str] = {}
        others = ("CUDA", "XPU", "MTIA", "HPU")
        self.use_device = next((name.lower() for name in others if ProfilerActivity[name] in self.activities), None)

    def start(self) -> None:
        """Begins."""
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        """Ends."""
        self.stop_trace()

    def prepare_trace(self) -> None:
        """Makes ready to begin."""
        if self.profiler is not None and not self.acc_events and _CLEARED not in _warned:
            _warned.add(_CLEARED)
            warn(_CLEARED)
        if self.profiler is None or not self.acc_events:
            self.profiler = prof.profile(
                use_cpu=ProfilerActivity.CPU in self.activities, use_device=self.use_device, record_shapes=self.record_shapes,
                with_flops=self.with_flops, profile_memory=self.profile_memory, with_stack=self.with_stack,
                with_modules=self.with_modules, use_kineto=True, experimental_config=self.experimental_config, acc_events=self.acc_events,
                custom_trace_id_callback=self.custom_trace_id_callback, post_processing_timeout_s=self.post_processing_timeout_s,
                activity_filters=self.activity_filters or None)
        self.profiler._prepare_trace()

    def start_trace(self) -> None:
        """Begins what was made ready."""
        self._prepared("starting trace")._start_trace()
        for name in ("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops"):
            if getattr(self, name):
                self.add_metadata_json(name, "1")
        for key, value in self.preset_metadata.items():
            self.add_metadata_json(key, value)

    def stop_trace(self) -> None:
        """Ends."""
        self._prepared("stopping trace").__exit__(None, None, None)

    def _prepared(self, what: str) -> prof.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {what}")
        return self.profiler

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Writes a trace for chrome://tracing, compressed where the path ends in ".gz"."""
        profiler = self._prepared("exporting chrome trace")
        profiler.export_chrome_trace(path, self._trace_metadata)
        if path.endswith(".gz"):
            with open(path, "rb") as file:
                content = file.read()
            with gzip.open(path, "wb") as packed:
                packed.write(content)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes where the program was, for flame graphs."""
        self._prepared("exporting stacks").export_stacks(path, metric)

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """From now on nothing is noted, or it is again."""
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> EventList:
        """The events added up by name, and by what else is asked for."""
        return self._prepared("getting key averages").key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def events(self) -> EventList:
        """The events."""
        return self._prepared("accessing events")._events()

    def add_metadata(self, key: str, value: str) -> None:
        """Says something of the trace, as text."""
        self.add_metadata_json(key, '"' + value.replace('"', '\\"') + '"')

    def add_metadata_json(self, key: str, value: str) -> None:
        """Says something of the trace, as JSON."""
        self._trace_metadata[key] = value
        prof._add_metadata_json(key, value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """Says something of every trace to come, as JSON."""
        self.preset_metadata[key] = value


class ProfilerAction(Enum):
    """What a profiler does with a step."""

    NONE, WARMUP, RECORD, RECORD_AND_SAVE, DEVICE_STOPPED = range(5)


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """From step number to action: after `skip_first` steps, `wait` idle, `warmup` and `active` ones in turn, `repeat` times (0: always).

    Args:
        skip_first_wait: 1 where the first round does not wait.

    Raises:
        AssertionError: a number is negative, or nothing is active.

    >>> [schedule(wait=1, warmup=1, active=1, repeat=1)(step).name for step in range(4)]
    ['NONE', 'WARMUP', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), active={active} (need > 0), "
            f"repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0).")
    if warmup == 0:
        warn("Profiler won't be using warmup, this can skew profiler results")

    def schedule_fn(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        at, round_ = step - skip_first + (wait if skip_first_wait != 0 else 0), wait + warmup + active
        if step < skip_first or repeat > 0 and at / round_ >= repeat or at % round_ < wait:
            return ProfilerAction.NONE
        if at % round_ < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at % round_ < round_ - 1 else ProfilerAction.RECORD_AND_SAVE

    return schedule_fn


def _default_schedule_fn(_: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False,
                              use_python_export: bool = False) -> Callable[[_KinetoProfile], None]:
    """A function for `on_trace_ready` that writes traces to a folder, where TensorBoard finds them, a file each.

    Args:
        worker_name: how files begin; the names of machine and process where None.
        use_gzip: whether they are compressed.
    """

    def handler_fn(prof: _KinetoProfile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except Exception as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        file = f"{name}.{time.time_ns()}.pt.trace.json{'.gz' * use_gzip}"
        prof.export_chrome_trace(os.path.join(dir_name, file), use_python_export=use_python_export)

    return handler_fn


class profile(_KinetoProfile):
    """Profiles a block, or those of its steps that a schedule chooses.

    Args:
        schedule: from step number to ProfilerAction; every step is recorded where None.
        on_trace_ready: called with this object when a recording is complete.
        others: as of `_KinetoProfile`.
    """

    def __init__(self, *, activities: Activities | None = None, schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready: Fn | None = None, record_shapes: bool = False, profile_memory: bool = False, with_stack: bool = False,
                 with_flops: bool = False, with_modules: bool = False, experimental_config: _ExperimentalConfig | None = None,
                 execution_trace_observer: object = None, acc_events: bool = False, use_cuda: bool | None = None,
                 custom_trace_id_callback: Callable[[], str] | None = None, post_processing_timeout_s: float | None = None) -> None:
        given = None if activities is None else list(activities)
        named = supported_activities() if given is None else {
            a for item in given if isinstance(item, (ProfilerActivity, dict)) for a in (item if isinstance(item, dict) else (item,))}
        if use_cuda is not None:
            warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning)
            (named.add if use_cuda else named.discard)(ProfilerActivity.CUDA)
        if not named:
            raise AssertionError("No valid profiler activities found")
        super().__init__(activities=given, record_shapes=record_shapes, profile_memory=profile_memory, with_stack=with_stack,
                         with_flops=with_flops, with_modules=with_modules, experimental_config=experimental_config,
                         execution_trace_observer=execution_trace_observer, acc_events=acc_events,
                         custom_trace_id_callback=custom_trace_id_callback, post_processing_timeout_s=post_processing_timeout_s)
        self.schedule, self.record_steps = schedule or _default_schedule_fn, bool(schedule)
        self.on_trace_ready, self.step_num = on_trace_ready, 0
        self.step_rec_fn: prof.record_function | None = None
        self.current_action = self._scheduled(0)
        prof.KinetoStepTracker.init_step_count(PROFILER_STEP_NAME)

    def _scheduled(self, step: int) -> ProfilerAction:
        action = self.schedule(step)
        if action == ProfilerAction.DEVICE_STOPPED:
            raise ValueError("ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be returned by a user-provided "
                             "schedule")
        return action

    def __enter__(self) -> "profile":
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
        prof.KinetoStepTracker.erase_step_count(PROFILER_STEP_NAME)

    def start(self) -> None:
        """Begins, with step 0."""
        self._transit_action(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """Ends, and hands over what is being recorded."""
        self._end_step()
        self._transit_action(self.current_action, None)

    def step(self) -> None:
        """The next step begins."""
        self._end_step()
        before = self.current_action
        self.current_action = self._scheduled(self.step_num + 1)
        self.step_num += 1
        self._transit_action(before, self.current_action)
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = prof.record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _transit_action(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """What is to do between two steps, or at the end, where `after` is None. A recording goes on to the step that saves it."""
        none, warm, record, save = (ProfilerAction.NONE, ProfilerAction.WARMUP, ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        ends = before is save or before is record and after is None
        if before in (warm, record) and after in (none, warm) and before is not after:
            warn(f"Incorrect schedule: {before.name} followed by {after.name}")
        if before is warm and after is not warm:
            self.start_trace()
        if ends or before is record and after in (none, warm) or before is warm and after in (none, None):
            self.stop_trace()
        if ends:
            self._trace_ready()
        if after in (warm, record, save) and (before is none or before is save):
            self.prepare_trace()
            if after is not warm:
                self.start_trace()

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Traces to come are named so."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        """The name of the trace."""
        return None if self.profiler is None else self.profiler.trace_id

    def _trace_ready(self) -> None:
        if self.on_trace_ready:
            self.on_trace_ready(self)


_absences(__name__)
