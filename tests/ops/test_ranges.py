"""Ranges have torch's numbers to the last bit."""

from __future__ import annotations

import pytest
import torchcompat as torch

from .range_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_bits_are_torchs(case: str) -> None:
    TABLE.assert_as_torch(torch, case)
