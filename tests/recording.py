"""What torch makes of cases: recorded where torch is, replayed where it is not.

A file of cases stands beside the test that replays them, and is named in `tests/record.py`, whose command records. It has a `Table`: cases
that have names, and what comes of each as JSON has it. A `Recording` is what no table can hold: arrays, and files that torch wrote.
"""

from __future__ import annotations

import gzip
import json
import math
import operator
import os
import warnings
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from dataclasses import dataclass
import numpy as np

FIXTURES = Path(__file__).parent / "fixtures"


@dataclass(frozen=True, slots=True)
class Recording:
    """Files in `fixtures` and the function of torch that writes them."""

    name: str
    files: str
    """A pattern."""
    record: Callable[[Any], None]


@dataclass(eq=False)
class Table:
    """Outcomes of cases, recorded from torch, and of those that are known to differ.

    Args:
        name: of the files: `fixtures/<name>.json`, and `fixtures/<name>_differ.json` where anything is known to differ.
        cases: their names; or a function that gives them, for tables whose cases depend on what torch has.
        outcome: what a case gives, of the package that plays torch and the case's name.
        tolerance: by how much floating-point numbers may differ, relative to torch's and absolutely.
        doubles: the same of numbers whose dtype, which the outcome names beside them, is float64.
        same: whether anything else is as torch's.
        digits: how many of a floating-point number are recorded; all where it is 0.
        zipped: the first file is compressed.
        apart: how many cases are recorded in one process, where torch may write beside the memory of tensors and end it; 0 where not.
    """

    name: str
    cases: Iterable[str] | Callable[[Any], Iterable[str]]
    outcome: Callable[[Any, str], Any]
    tolerance: tuple[float, float] = (0.0, 0.0)
    doubles: tuple[float, float] | None = None
    same: Callable[[Any, Any], bool] = operator.eq
    digits: int = 0
    zipped: bool = False
    apart: int = 0

    @property
    def files(self) -> str:
        """The files in `fixtures`, as a pattern."""
        return f"{self.name}.json{'.gz' * self.zipped}"

    @cached_property
    def recorded(self) -> dict[str, Any]:
        """torch's outcomes by case."""
        content = (FIXTURES / self.files).read_bytes()
        return json.loads(gzip.decompress(content) if self.zipped else content)

    @property
    def differ_path(self) -> Path:
        return FIXTURES / f"{self.name}_differ.json"

    @cached_property
    def differ(self) -> dict[str, Any]:
        """Our outcomes where they are known to differ."""
        return json.loads(self.differ_path.read_text()) if self.differ_path.exists() else {}

    def part(self, group: int, groups: int) -> list[str]:
        """The cases of one group of several: for tests that deal them out."""
        return list(self.recorded)[group::groups]

    def found(self, torch: Any, case: str) -> Any:
        """The outcome of a case, as it would be read back."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return json.loads(json.dumps(self.outcome(torch, case)))

    def difference(self, expected: Any, found: Any, where: str, dtype: str = "") -> str:
        """Where two outcomes first differ, and how; "" where they are the same."""
        if isinstance(expected, dict) and isinstance(found, dict) and list(expected) == list(found):
            dtype = str(expected.get("dtype", dtype))
            parts = [self.difference(expected[key], found[key], f"{where}[{key!r}]", dtype) for key in expected]
        elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
            parts = [self.difference(e, f, f"{where}[{i}]", dtype) for i, (e, f) in enumerate(zip(expected, found))]
        else:
            limits = self.doubles if self.doubles is not None and dtype.endswith("float64") else self.tolerance
            same = self.same(expected, found) or expected != expected and found != found  # NaN
            if not same and isinstance(expected, float) and isinstance(found, (int, float)):
                same = abs(expected - found) <= limits[1] + limits[0] * abs(expected) < math.inf
            return "" if same else f"{where}: {found!r} where torch gives {expected!r}"
        return next(filter(None, parts), "")

    def assert_as_torch(self, torch: Any, *cases: str) -> None:
        """Cases give what torch gave, or what is known to differ."""
        told = []
        for case in cases:
            found = self.found(torch, case)
            if case in self.differ:
                other = self.difference(self.differ[case], found, case)  # to rounding, which is not the same on every processor
                told.append(f"{case}: {found!r}, which is known to give {self.differ[case]!r}" if other else "")
            else:
                told.append(self.difference(self.recorded[case], found, case))
        assert cases and not any(told), "\n".join(filter(None, told))

    def record(self, torch: Any) -> None:
        """Writes what torch makes of all cases."""
        cases = list(self.cases(torch) if callable(self.cases) else self.cases)
        found = [self.found(torch, case) for case in cases] if not self.apart else [
            x for i in range(0, len(cases), self.apart) for x in self.found_apart(torch, cases[i:i + self.apart])]
        text = lines({case: rounded(x, self.digits) for case, x in zip(cases, found)}).encode()
        (FIXTURES / self.files).write_bytes(gzip.compress(text, 9, mtime=0) if self.zipped else text)

    def found_apart(self, torch: Any, cases: list[str]) -> list[Any]:
        """The outcomes of cases in a process of their own; "the process ends" where it does."""
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            with open(writing, "wb") as file:
                file.write(json.dumps([self.found(torch, case) for case in cases]).encode())
            os._exit(0)
        os.close(writing)
        with open(reading, "rb") as file:
            found = file.read()
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
            return json.loads(found)
        half = len(cases) // 2
        return self.found_apart(torch, cases[:half]) + self.found_apart(torch, cases[half:]) if half else ["the process ends"]

    def write_differences(self, torch: Any) -> None:
        """Writes down what we give instead of what torch gave, to be looked through before it is kept."""
        found = {case: self.found(torch, case) for case in self.recorded}
        different = {case: found[case] for case, expected in self.recorded.items() if self.difference(expected, found[case], case)}
        if different:
            self.differ_path.write_text(lines(different))
        else:
            self.differ_path.unlink(missing_ok=True)


def rounded(value: Any, digits: int) -> Any:
    """An outcome with floating-point numbers of so many digits."""
    if isinstance(value, dict):
        return {key: rounded(v, digits) for key, v in value.items()}
    if isinstance(value, list):
        return [rounded(v, digits) for v in value]
    return float(f"{value:.{digits}g}") if digits and isinstance(value, float) else value


def lines(outcomes: dict[str, Any]) -> str:
    """JSON with a line for each case."""
    return "{\n" + ",\n".join([f"{json.dumps(case)}: {json.dumps(outcome)}" for case, outcome in outcomes.items()]) + "\n}\n"


def attempted(function: Callable[[], Any]) -> Any:
    """What a function gives; of an error its type and text."""
    try:
        return function()
    except Exception as error:  # any exception is an outcome
        return {"error": type(error).__name__, "text": str(error)}
