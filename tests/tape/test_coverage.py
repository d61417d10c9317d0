"""The table of specs/coverage.md names what there is."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import autograd_tape as at
from autograd_tape import trace

ROOT = Path(__file__).parents[2]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in (ROOT / "specs" / "coverage.md").read_text().splitlines()
        if line.startswith("|") and "---" not in line]
ROWS = [row for row in ROWS if row[-1] != "test"]
HELD = [row for row in ROWS if row[-1] != "-"]


@cache
def named_in(path: str) -> set[str]:
    found = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        found.add(getattr(node, "name", ""))
        found |= {f"{node.name}::{inner.name}" for inner in getattr(node, "body", ()) if isinstance(node, ast.ClassDef)
                  and isinstance(inner, ast.FunctionDef)}
    return found


@pytest.mark.parametrize("row", HELD, ids=lambda row: " ".join(row[:-2])[:60])
def test_names_and_tests_exist(row: list[str]) -> None:
    names = re.findall(r"`([^`]+)`", row[-2])
    assert names, row
    for name in names:
        at_: object = at
        for part in name.split("."):
            if at_ is at.Trace and part in ("inputs", "nodes"):  # of an instance
                at_ = trace(lambda x: x * 1.0, 1.0)
            if at_ is at.TapeEntry and part == "id":
                return
            at_ = getattr(at_, part)
    path, _, test = row[-1].strip("`").partition("::")
    assert (ROOT / path).is_file() and (not test or test in named_in(path)), row[-1]


def test_every_line_that_asks_for_something_is_there() -> None:
    """Of 003 the declarations, of 004 the steps: every stretch of them is named."""
    text = (ROOT / "specs" / "coverage.md").read_text()
    for title, asked in (("## 003", [*range(35, 58), *range(64, 99), 104, *range(106, 111), *range(125, 137), *range(142, 170),
                                     *range(176, 202), *range(216, 278), *range(297, 304)]),
                         ("## 004", [*range(57, 104), *range(111, 177)])):
        lines: set[int] = set()
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", " ".join(
                [line.split("|")[1] for line in text.split(title)[1].split("\n## ")[0].splitlines() if re.match(r"\| \d", line)])):
            lines |= set(range(int(first), int(last or first) + 1))
        # Between requirements stand headings and blank lines, never more than six together.
        gaps = [n for n in asked if not lines & set(range(n - 4, n + 5))]
        assert gaps == [], f"{title}: lines {gaps}"


def test_what_is_missing_says_so() -> None:
    missing = [row for row in ROWS if row[-1] == "-"]
    assert len(missing) == 2 and all(row[-2].startswith(("- missing:", "- not so here:")) for row in missing)
