"""Gradients of the examples of a batch, against what was recorded from torch."""

from __future__ import annotations

import pytest
from tests.nn.per_sample_cases import TABLE

import torchcompat as torch

GROUPS = 4


@pytest.mark.parametrize("group", range(GROUPS))
def test_gradients_of_examples_are_torchs(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, GROUPS))
