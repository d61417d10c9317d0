"""Encoders leave out what is padded where torch's do, and warn where they cannot."""

from __future__ import annotations

import pytest
import torchcompat as torch

from .encoder_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)
