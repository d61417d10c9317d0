"""Calls of functions as programs write them, against what torch made of them."""

from __future__ import annotations

import pytest

import torchcompat as torch
from tests.ops.call_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)
