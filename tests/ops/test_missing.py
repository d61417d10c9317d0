"""Calls without their arguments get torch's error."""

from __future__ import annotations

import pytest
from tests.ops.missing_cases import TABLE

import torchcompat as torch


@pytest.mark.no_numbers("what is said of missing arguments")
def test_as_torch() -> None:
    TABLE.assert_as_torch(torch, *TABLE.recorded)


def test_most_are() -> None:
    assert len(TABLE.recorded) > 500 and len(TABLE.differ) < len(TABLE.recorded) / 4
