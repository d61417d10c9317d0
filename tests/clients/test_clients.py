"""Programs of packages that need torch give what they give on torch, where the packages are installed."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import pytest
from tests.clients import runs, suites


@pytest.mark.parametrize("name", runs.clients())
def test_as_on_torch(name: str) -> None:
    client = runs.clients()[name]
    if missing := client.missing():
        pytest.skip(f"{missing[0]} is missing: pip install .[clients]")
    known = runs.recorded(name)["here"]["differ"]
    cases = client.in_suite or list(runs.recorded(name)["cases"])
    found = runs.outcomes(name, cases)
    assert list(found) == list(cases) and {case: what for case, what in runs.differing(name, found).items() if case not in known} == {}


@pytest.mark.parametrize("expected, found, same", [
    ([1.0, [2, "a"]], [1.00005, [2, "a"]], True), ([1.0], [1.01], False), ([1.0], [float("nan")], False), ([2], [3], False),
    ([float("nan")], [float("nan")], True), ([1.0], [1.0, 2.0], False), (True, 1, False), ("ValueError: a", "ValueError: b", False),
    ([1.0], None, False), ({"a": 1}, {"b": 1}, False),
    ({"close": [1.0]}, {"close": [1.09]}, True), ({"far": [1.0]}, {"far": [1.09]}, False),
    ({"tensor": "float32[2]", "size": 9.0, "numbers": [1e-3]}, {"tensor": "float32[2]", "size": 9.0, "numbers": [1.5e-3]}, True),
    ([1e-7], [-1e-7], True),
    ({"tensor": "float32[2]", "size": 9.0, "numbers": [1e-3]}, {"tensor": "float64[2]", "size": 9.0, "numbers": [1e-3]}, False),
])
def test_agreement(expected: object, found: object, same: bool) -> None:
    assert (runs.difference(expected, found, {"close": 0.1, "": 1e-4}) == "") is same


def test_every_client_is_recorded_and_works_on_torch() -> None:
    for name in runs.clients():
        told = runs.recorded(name)
        assert told["cases"] and [case for case, value in told["cases"].items() if isinstance(value, str)] == [], name
        assert told["here"]["agree"] + len(told["here"]["differ"]) == len(told["cases"]), f"{name}: python -m tests.clients report {name}"
        assert set(runs.clients()[name].in_suite) <= set(told["cases"])


def test_the_page_is_current() -> None:
    assert runs.PAGE.read_text() == runs.page(), "python -m tests.clients page"


def test_what_is_counted_of_suites_is_of_suites_that_there_are() -> None:
    for name, told in suites.recorded().items():
        assert name in suites.SUITES and 0 < told["here"] <= told["passed"] and len(told["worse"]) == min(10, told["passed"] - told["here"])


def test_a_test_ends_as_its_worst_part(tmp_path: Path) -> None:
    path = tmp_path / "ended.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (["a", "passed", ""], ["a", "failed", "why"], ["a", "passed", ""],
                                                                 ["b", "skipped", "no"])))
    assert suites.read(path) == {"a": ("failed", "why"), "b": ("skipped", "no")}


def test_the_source_of_a_package_is_found_by_the_name_that_its_folder_has(tmp_path: Path) -> None:
    version = importlib.metadata.version("pytest-xdist")
    (tmp_path / f"Pytest_xdist-{version}").mkdir()
    assert suites.source(tmp_path, "pytest-xdist").name == f"Pytest_xdist-{version}"
