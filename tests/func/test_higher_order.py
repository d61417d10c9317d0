"""Operations that take functions do what torch's do."""

from __future__ import annotations

import pytest

import torchcompat as torch
from tests.func.higher_order_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)
