"""Old constructors, of data of all kinds, against torch."""

from __future__ import annotations

import pytest

import torchcompat as torch

from .given_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)
