"""Writes down how each test ends; a plugin of pytest that is not imported as part of this repository, whose `tests` others have, too.

A line of JSON in the file that OUTCOMES names: the test (or the file that could not be read), how it ended, and why.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def pytest_runtest_logreport(report: Any) -> None:
    """A test has been set up, called or torn down (a part of it, where it has such)."""
    if report.when == "call" or report.outcome != "passed":
        crash = getattr(report.longrepr, "reprcrash", None)
        why = crash.message if crash else str(report.longrepr or "")[-300:]
        _write(report.nodeid, "failed as expected" if hasattr(report, "wasxfail") else report.outcome, why)


def pytest_collectreport(report: Any) -> None:
    """A file has been read."""
    if report.outcome == "failed":
        _write(report.nodeid, "failed", str(report.longrepr)[-300:])


def _write(test: str, outcome: str, why: str) -> None:
    with Path(os.environ["OUTCOMES"]).open("a") as file:
        print(json.dumps([test, outcome, why[:300]]), file=file)
