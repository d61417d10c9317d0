"""`segment_reduce` and its gradients, and what it refuses, against torch."""

from __future__ import annotations

import pytest
from tests.ops.segment_cases import REFUSED, TABLE

import torchcompat as torch


@pytest.mark.parametrize("group", range(8))
def test_as_torch(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, 8))


@pytest.mark.parametrize("case", REFUSED.recorded)
def test_calls(case: str) -> None:
    REFUSED.assert_as_torch(torch, case)


def test_segments_beyond_the_data_are_refused() -> None:
    x = torch.ones(3, 2)
    for keywords in ({"lengths": torch.tensor([4]), "unsafe": True}, {"offsets": torch.tensor([0, 4])}, {"offsets": torch.tensor([-1, 2])},
                     {"lengths": torch.tensor([2**62, 2**62, 2**62, 2**62]), "unsafe": True}):
        with pytest.raises(RuntimeError, match="within the 3 elements"):
            torch.segment_reduce(x, "sum", **keywords)
    with pytest.raises(RuntimeError, match="for each of"):
        torch.segment_reduce(x, "sum", lengths=torch.tensor([[1, 1]] * 2), axis=1, unsafe=True)
