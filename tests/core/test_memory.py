"""Sizes, memory and indices, in torch's words."""

from __future__ import annotations

import pytest
from tests.core.memory_cases import CASES, TABLE

import torchcompat as torch


@pytest.mark.parametrize("case", CASES)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)
