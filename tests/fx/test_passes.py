"""What is done to graphs, against torch's."""

from __future__ import annotations

import pytest

import torchcompat as torch

from .passes_cases import TABLE
from .users_cases import TABLE as USERS


@pytest.mark.parametrize("case", TABLE.recorded)
def test_programs(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


@pytest.mark.parametrize("case", USERS.recorded)
def test_programs_of_users(case: str) -> None:
    USERS.assert_as_torch(torch, case)
