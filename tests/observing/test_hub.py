"""torch.hub, against what torch 2.13 does without a network."""

from __future__ import annotations

import pytest

import torchcompat as torch
from tests.observing.hub_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)
