"""What was timed, how long it took, and how sure that is."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import textwrap
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from ...._calls.absent import absences as _absences

T = TypeVar("T", bound=Hashable)

__all__ = ["TaskSpec", "Measurement", "select_unit", "unit_to_english", "trim_sigfig", "ordered_unique", "set_torch_threads"]

_MAX_SIGNIFICANT_FIGURES, _MIN_CONFIDENCE_INTERVAL = 4, 25e-9
_IQR_WARN_THRESHOLD, _IQR_GROSS_WARN_THRESHOLD = 0.1, 0.25
_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3), "s": ("second", 1)}


@dataclasses.dataclass(repr=False, frozen=True)
class TaskSpec:
    """What is timed, and what it is called in tables: a row by `sub_label`, a column by `description`, a table by `label`."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or else the statement, and the label below it."""
        below = f": {self.sub_label}" if self.sub_label else ""
        if self.label is not None or "\n" not in self.stmt:
            return (self.stmt if self.label is None else self.label) + below
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """What runs before, as text."""
        if not self.setup or self.setup == "pass":
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, a line each."""
        parts = [part for part in (self.title, self.description or "", self.setup_str()) if part]
        return "\n".join([f"{part}\n" if "\n" in part else part for part in parts])


_TASKSPEC_FIELDS = tuple([field.name for field in dataclasses.fields(TaskSpec)])


@dataclasses.dataclass(repr=False)
class Measurement:
    """Times of a statement.

    Args:
        number_per_run: how often it ran in each.
        raw_times: seconds of each.
        task_spec: what ran; its fields are attributes here, too.
        metadata: what else the program wants to keep.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _TASKSPEC_FIELDS:
            return getattr(self.task_spec, name)
        return super().__getattribute__(name)

    def _quantile(self, q: float) -> float:
        return float(np.quantile(np.array(self.times), q)) if self.raw_times else -1.0

    @property
    def times(self) -> list[float]:
        """Seconds of a run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """Their median."""
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        """Their mean."""
        return float(np.mean(sorted(self.times))) if self.raw_times else -1.0

    @property
    def iqr(self) -> float:
        """From their first to their third quartile."""
        return self._quantile(0.75) - self._quantile(0.25) if self.raw_times else 0.0

    @property
    def significant_figures(self) -> int:
        """How many digits of the median mean something, 1 to 4: with the middle half taken for a normal distribution."""
        n, ordered = len(self.raw_times), sorted(self.times)
        middle = np.array(ordered[n // 4:int(np.ceil(np.float32(3 * n / 4)))], np.float32)
        interval = max(1.645 * float(middle.std()) / float(np.sqrt(np.float32(len(middle)))), _MIN_CONFIDENCE_INTERVAL)
        figures = math.floor(_log10(self.median / interval))
        return min(max(figures, 1), _MAX_SIGNIFICANT_FIGURES)

    def meets_confidence(self, threshold: float = _IQR_WARN_THRESHOLD) -> bool:
        """Whether the quartiles lie within this part of the median."""
        return self.iqr / self.median < threshold

    @property
    def _warnings(self) -> list[str]:
        if not self.raw_times or self.meets_confidence(_IQR_WARN_THRESHOLD):
            return []
        says = "could indicate system fluctuation" if self.meets_confidence(_IQR_GROSS_WARN_THRESHOLD) else (
            "suggests significant environmental influence")
        share = self.iqr / self.median * 100
        return [f"  WARNING: Interquartile range is {share:.1f}% of the median measurement.\n           This {says}."]

    @property
    def has_warnings(self) -> bool:
        """Whether times vary by more than a tenth."""
        return bool(self._warnings)

    @property
    def title(self) -> str:
        """What was timed."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """What its row in a table is called."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        n, (unit, scale) = len(self.raw_times), select_unit(self.median)
        lines = [object.__repr__(self), self.task_spec.summarize(), f"  {'Median: ' if n > 1 else ''}{self.median / scale:.2f} {unit}"]
        if n >= 4:
            low, high = self._quantile(0.25) / scale, self._quantile(0.75) / scale
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        lines.append(f"  {n} measurement{'s' if n > 1 else ''}, {self.number_per_run} runs {'per measurement,' if n > 1 else ','} "
                     f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}")
        return "\n".join([*lines, *self._warnings]).strip()

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Those of the same task as one."""
        groups: dict[TaskSpec, list[float]] = {}
        for m in measurements:
            groups.setdefault(m.task_spec, []).extend(m.times)
        return [Measurement(number_per_run=1, raw_times=times, task_spec=task) for task, times in groups.items()]


def _log10(x: float) -> float:
    """The logarithm in single precision, rounded once, so that powers of ten have whole ones."""
    return float(np.float32(math.log10(np.float32(x))))


def select_unit(t: float) -> tuple[str, float]:
    """The unit that fits so many seconds, and how many seconds it has.

    >>> select_unit(2e-5)
    ('us', 1e-06)
    """
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(_log10(t) // 3) if t > 0 else 0, "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u: str) -> str:
    """The name of a unit."""
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """A number with `n` digits that mean something.

    >>> trim_sigfig(1234.0, 2)
    1200.0
    """
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    scale = 10 ** (math.ceil(_log10(abs(x))) - n)
    return float(np.round(np.float32(x / scale)) * np.float32(scale))


def ordered_unique(elements: Iterable[T]) -> list[T]:
    """Each element once, where it was first."""
    return [*dict.fromkeys(elements)]


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Inside, operations use so many threads."""
    import torchcompat as torch

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(n)
        yield
    finally:
        torch.set_num_threads(before)


_absences(__name__)
