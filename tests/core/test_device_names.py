"""Devices that are not there, by all their names, against what a build of torch 2.13 for the CPU does with them."""

from __future__ import annotations

import pytest

import torchcompat as torch
from tests.core.device_cases import TABLE
from torchcompat._calls.devices import NOT_COMPILED


@pytest.mark.parametrize("group", range(12))
def test_as_torch(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, 12))


@pytest.mark.parametrize("device", NOT_COMPILED)
def test_the_error_notes_what_would_serve_the_device(device: str) -> None:
    with pytest.raises(AssertionError, match="^Torch not compiled with") as error:
        torch.ones(2, device=device)
    assert "To fix it, " in error.value.__notes__[0]
