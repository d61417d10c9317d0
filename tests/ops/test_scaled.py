"""Products of groups of matrices, and of 8-bit floats with scales, are torch's."""

from __future__ import annotations

import pytest
import torchcompat as torch
from tests.ops.scaled_cases import TABLE


@pytest.mark.parametrize("code", TABLE.recorded)
def test_as_torch(code: str) -> None:
    TABLE.assert_as_torch(torch, code)


@pytest.mark.no_numbers("which offsets are taken")
@pytest.mark.parametrize("offs", [[4, 8, 20], [-2, 4, 16]])
def test_offsets_past_the_end_are_refused(offs: list[int]) -> None:
    with pytest.raises(RuntimeError, match="offs must lie between 0 and 16"):
        torch._grouped_mm(torch.ones(16, 16), torch.ones(3, 16, 8), torch.tensor(offs, dtype=torch.int32))
