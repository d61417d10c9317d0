"""Numbers that do not fit, norms in other dtypes, and outputs that cannot be written to, against what torch 2.13 makes of them."""

from __future__ import annotations

import pytest

import torchcompat as torch
from tests.core.fitting_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_no_transform_takes_part_while_they_are_disabled() -> None:
    def drawn(x: torch.Tensor) -> torch.Tensor:
        guard = torch._C._DisableFuncTorch()
        order = torch.randperm(2)
        del guard
        return x[order].sum() + torch.rand(()) * 0

    with pytest.raises(RuntimeError, match="vmap: called random operation"):
        torch.func.vmap(drawn)(torch.ones(3, 2))
