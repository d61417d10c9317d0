"""What small calls give, warn of and refuse, as recorded from torch."""

from __future__ import annotations

import pytest
from tests.core.said_cases import CASES, GROUPS, TABLE

import torchcompat as torch


@pytest.mark.parametrize("group", GROUPS)
def test_said_as_torch_does(group: str) -> None:
    TABLE.assert_as_torch(torch, *[case for case in CASES if case.startswith(f"{group}: ")])


def test_every_case_is_recorded() -> None:
    assert set(TABLE.recorded) == set(CASES)
