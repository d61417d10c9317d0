"""What is done to graphs, against torch's."""

from __future__ import annotations

import pytest

import torchcompat as torch

from .passes_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_programs(case: str) -> None:
    TABLE.assert_as_torch(torch, case)
