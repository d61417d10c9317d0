"""Derivatives that torch refuses, of every operation: refused here in the same words, or listed as known to be carried out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.ops.derivative_cases import TABLE, superset

import torchcompat as torch

GROUPS = 8
DEVIATIONS = (Path(__file__).parents[2] / "specs" / "deviations.md").read_text()


@pytest.mark.parametrize("group", range(GROUPS))
def test_as_torch(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, GROUPS))


def test_what_is_carried_out_though_torch_refuses_it_is_told() -> None:
    """The list of the known differences is that which is seen."""
    row = next(line for line in DEVIATIONS.splitlines() if line.startswith("| Second derivatives of `") and "torch has none" in line)
    found = superset()
    assert re.findall(r"`(\w+)`", row.partition(" | ")[0]) == sorted(found["twice"])
    assert not found["backward"] and not found["dual"]


def test_torch_refuses_many() -> None:
    assert sum(len(found) for found in TABLE.recorded.values()) > 80 and len(TABLE.differ) < 10
