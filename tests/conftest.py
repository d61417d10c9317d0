"""A test over the operation records that compared nothing has not passed.

Counted are the numbers that `numpy.testing` compared, for tests that ask for one of the fixtures: `excused`, by which a test says why a
record has nothing to compare, after it has made sure that this is so; or `compared`, for numbers compared in a way of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autograd_tape.ops import RECORDS


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


def over_records(item: pytest.Function) -> bool:
    """Whether a test runs once for each record and counts what it compares."""
    callspec = getattr(item, "callspec", None)
    return callspec is not None and callspec.params.get("name") in RECORDS and not {"excused", "compared"}.isdisjoint(item.fixturenames)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    Count.numbers = 0
    Count.excuses.clear()  # the list itself is what `excused` adds to
    result = yield
    if not Count.numbers and not Count.excuses and over_records(pyfuncitem) and pyfuncitem.get_closest_marker("no_numbers") is None:
        pytest.fail(f"{pyfuncitem.name} has compared no number", pytrace=False)
    return result
