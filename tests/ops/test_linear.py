"""Linear algebra as torch has it where it has ways of its own."""

from __future__ import annotations

import pytest
from tests.ops.linear_cases import TABLE

import torchcompat as torch


@pytest.mark.parametrize("group", range(10))
def test_as_torch(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, 10))


def test_star_imports_of_modules_of_operations() -> None:
    names: dict[str, object] = {}
    exec("from torchcompat.fft import *; from torchcompat.special import *", names)
    assert {"fft", "fftshift", "rfftfreq", "Tensor", "expm1", "airy_ai"} <= names.keys()
