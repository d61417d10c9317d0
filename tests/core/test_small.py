"""Small modules, against what was recorded from torch."""

from __future__ import annotations

import pytest
from tests.core.small_cases import TABLE

import torchcompat as torch

GROUPS = 4


@pytest.mark.parametrize("group", range(GROUPS))
def test_small_modules_do_as_torchs(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, GROUPS))
