"""Elementwise operations on half precision, and their gradients, have torch's bits."""

from __future__ import annotations

import pytest
import torchcompat as torch

from .half_cases import TABLE


@pytest.mark.parametrize("group", range(4))
def test_bits_are_torchs(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, 4))
