"""torch.distributed.checkpoint.state_dict, as torch has it in one process."""

from __future__ import annotations

import torchcompat as torch
from tests.nn.state_cases import CASES, TABLE


def test_as_torch() -> None:
    TABLE.assert_as_torch(torch, *CASES)
