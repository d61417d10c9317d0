"""Every option of every optimizer in torch's database of them, over many steps, and what each refuses."""

from __future__ import annotations

import pytest

import torchcompat as torch

from .database_cases import DATABASE, REFUSED

GROUPS = 16


@pytest.mark.parametrize("group", range(GROUPS))
def test_steps_of_the_database(group: int) -> None:
    DATABASE.assert_as_torch(torch, *DATABASE.part(group, GROUPS))


@pytest.mark.parametrize("case", REFUSED.recorded)
def test_refused(case: str) -> None:
    REFUSED.assert_as_torch(torch, case)
