"""Scaled gradients, against torch 2.13's."""

from __future__ import annotations

import pytest

import torchcompat as torch
from tests.core.scaler_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)
