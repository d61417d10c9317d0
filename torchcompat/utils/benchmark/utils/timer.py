"""Times of statements, warmed up, in blocks that are long enough to be timed."""

from __future__ import annotations

import enum
import textwrap
import timeit
from collections.abc import Callable
from statistics import median
from typing import Any, NoReturn

import torchcompat as torch

from ...._calls.absent import absences as _absences
from .common import Measurement, TaskSpec, set_torch_threads

__all__ = ["Timer", "timer", "Language"]

Callback = Callable[[int, float], object]
timer = timeit.default_timer  # there is no device to wait for


class Language(enum.Enum):
    """What a statement is written in."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Times a statement.

    Args:
        stmt, setup: Python; `torch` is known to them.
        timer: gives seconds.
        globals: what else they know.
        label, sub_label, description, env: what it is called in tables (see `TaskSpec`).
        num_threads: how many threads operations use.
        language: C++ needs a compiler's extensions, which are not built here.

    Raises:
        ValueError: the statement is no text, the language unknown, or `global_setup` given for Python.
    """

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Callable[[], float] = timer,
                 globals: dict[str, Any] | None = None, label: str | None = None, sub_label: str | None = None,
                 description: str | None = None, env: str | None = None, num_threads: int = 1,
                 language: Language | str = Language.PYTHON) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.PYTHON, "py", "python"):
            self._language = Language.PYTHON
            if global_setup:
                raise ValueError(f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`.")
        elif language in (Language.CPP, "cpp", "c++"):
            self._language, setup = Language.CPP, "" if setup == "pass" else setup
            if globals:
                raise ValueError("C++ timing does not support globals.")
        else:
            raise ValueError(f"Invalid language `{language}`.")
        stmt, setup = [textwrap.dedent(text).removeprefix("\n").rstrip() for text in (stmt, setup)]
        self._globals = {"torch": torch, **(globals or {})}
        if self._language is Language.PYTHON:
            self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=self._globals)
        self._task_spec = TaskSpec(stmt=stmt, setup=setup, global_setup=global_setup, label=label, sub_label=sub_label,
                                   description=description, env=env, num_threads=num_threads)

    def _timeit(self, number: int) -> float:
        if self._language is Language.CPP:
            raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")
        return max(self._timer.timeit(number), 1e-9)

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number_per_run=number, raw_times=times, task_spec=self._task_spec)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Runs it so often at once, after a hundredth of that to warm up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(int(number // 100), 2))
            return self._measured(number, [self._timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Not to be used. NotImplementedError."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callback | None = None) -> NoReturn:
        """Not to be used. NotImplementedError."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time: float) -> int:
        """How many runs, a power of ten, make what the timer itself takes one part in ten thousand, and last a thousandth of the time."""
        with set_torch_threads(self._task_spec.num_threads):
            overhead, number = median([self._timeit(0) for _ in range(5)]), 1
            while True:
                taken = self._timeit(number)
                if overhead / taken <= 1e-4 and taken >= min_run_time / 1000 or taken > min_run_time or number * 10 > 2147483647:
                    return number
                number *= 10

    def _blocks(self, number: int, enough: Callable[[list[float]], bool], min_run_time: float, max_run_time: float | None,
                callback: Callback | None) -> Measurement:
        times: list[float] = []
        with set_torch_threads(self._task_spec.num_threads):
            while sum(times) < min_run_time or not enough(times):
                times.append(self._timeit(number))
                if callback:
                    callback(number, times[-1])
                if max_run_time and sum(times) > max_run_time:
                    break
        return self._measured(number, times)

    def blocked_autorange(self, callback: Callback | None = None, min_run_time: float = 0.2) -> Measurement:
        """Runs blocks of it for so many seconds; `callback(number, time)` is told of each."""
        return self._blocks(self._block_size(min_run_time), bool, min_run_time, None, callback)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
                           callback: Callback | None = None) -> Measurement:
        """Runs blocks of it, at least four, until the quartiles lie within `threshold` of the median, or for `max_run_time` seconds."""
        number = self._block_size(0.05)

        def enough(times: list[float]) -> bool:
            return len(times) > 3 and self._measured(number, times).meets_confidence(threshold)

        return self._blocks(number, enough, min_run_time, max_run_time, callback)

    def collect_callgrind(self, number: int = 100, *, repeats: int | None = None, collect_baseline: bool = True,
                          retain_out_file: bool = False) -> NoReturn:
        """Would count instructions with Valgrind, whose marks are not in this build.

        Raises:
            ValueError: there are no repeats.
            OSError: else.
        """
        if repeats is not None and repeats < 1:
            raise ValueError("If specified, `repeats` must be >= 1")
        self._timeit(1)
        raise OSError("Valgrind is not supported on this platform.")


_absences(__name__)
