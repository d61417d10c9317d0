"""Programs of torch.nn.attention against what torch made of them."""

from __future__ import annotations

import pytest

import torchcompat as torch

from . import attention_cases


@pytest.mark.parametrize("group", range(4))
def test_as_torch(group: int) -> None:
    attention_cases.TABLE.assert_as_torch(torch, *attention_cases.TABLE.part(group, 4))
