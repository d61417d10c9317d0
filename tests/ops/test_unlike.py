"""Tensors of different dtypes in one call: refused where torch refuses them, in its words."""

from __future__ import annotations

import pytest
from tests.ops.unlike_cases import TABLE

import torchcompat as torch


@pytest.mark.parametrize("group", range(8))
def test_as_torch(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, 8))
