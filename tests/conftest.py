"""A test over the operation records that compared nothing has not passed.

Counted are the numbers that `numpy.testing` compared in each test that goes over the records, whatever it asks for. Two fixtures are for
those that have none: `excused`, by which a test says why a record has nothing to compare, after it has made sure that this is so; and
`compared`, for numbers compared in a way of its own. A test that compares something else than numbers is marked with what that is.
"""

from __future__ import annotations

import functools
import gc
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import numpy as np
import pytest
from _pytest.runner import runtestprotocol

from autograd_tape.ops import RECORDS

# Modules are compiled once, not in each of the processes that tests start: whoever wants no bytecode wants it for his own programs.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# No test fails for being slow, whatever else the machine does.
hypothesis.settings.register_profile("patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("patient")


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """What a test, or a snippet, registers with `torch.library` is gone after it: others look at all records there are.

    After the fixtures of the test itself; a hook, since a fixture costs each of all the tests as much as the shortest of them takes.
    """
    library = sys.modules.get("torchcompat._library.operator")
    if library is not None:
        for operator in list(library.OPERATORS.values()):
            library.unregister(operator)


class Count:
    """What the test that runs has compared."""

    numbers = 0
    excuses: list[str] = []


def _counted(check: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(check)
    def counting(actual: Any, desired: Any, *args: Any, **kwargs: Any) -> None:
        check(actual, desired, *args, **kwargs)
        Count.numbers += min(np.size(actual), np.size(desired))

    return counting


for _name in ("assert_allclose", "assert_array_equal", "assert_equal", "assert_array_almost_equal"):
    setattr(np.testing, _name, _counted(getattr(np.testing, _name)))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "no_numbers(reason): a test over records that compares something else than numbers")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """Tests and recorded tables are a million objects that stay: none of them is garbage, and no collection, of the many that tests ask
    for, has to look at them again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


_REPORTED = 1000
_done = itertools.count(1)


def pytest_runtest_logreport() -> None:
    """Reports and modules loaded meanwhile stay, too: millions of objects at the end, in which one collection took ten seconds."""
    if next(_done) % _REPORTED == 0:
        gc.collect()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A process of several (pytest-xdist) sends one report of a test that passed: those of its start, of what was set up and taken down,
    and of its end say nothing more, and five messages cost both processes more than the test does."""
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    if nextitem is None:
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture
def excused() -> Callable[[str], None]:
    """Called with the reason why a record has no numbers to compare, which the caller has checked."""
    return Count.excuses.append


@pytest.fixture
def compared() -> Callable[[int], None]:
    """Called with the number of numbers that a test compares in a way of its own."""
    def add(numbers: int) -> None:
        Count.numbers += numbers

    return add


TABLE = 50
"""Parameters from which a test that takes nothing but names of records goes over the table of operations."""


def over_records(item: pytest.Function) -> bool:
    """Whether a test is one over the table of operations, run once for each record."""
    for marker in item.iter_markers("parametrize"):
        if len(marker.args) > 1 and marker.args[0] == "name" and len(marker.args[1]) >= TABLE and all(n in RECORDS for n in marker.args[1]):
            return True
    return False


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    Count.numbers = 0
    Count.excuses.clear()  # the list itself is what `excused` adds to
    result = yield
    if not Count.numbers and not Count.excuses and over_records(pyfuncitem) and pyfuncitem.get_closest_marker("no_numbers") is None:
        pytest.fail(f"{pyfuncitem.name} has compared no number", pytrace=False)
    return result
