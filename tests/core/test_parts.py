"""What programs find below torch's public names is torch's."""

from __future__ import annotations

import pytest
import torchcompat as torch
from tests.core.part_cases import TABLE


@pytest.mark.parametrize("code", TABLE.recorded)
def test_as_torch(code: str) -> None:
    TABLE.assert_as_torch(torch, code)
