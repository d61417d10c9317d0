"""Facts about dtypes, sizes and strides, against what was recorded from torch."""

from __future__ import annotations

from tests.core.prims_common_cases import TABLE

import torchcompat as torch


def test_facts_are_torchs() -> None:
    TABLE.assert_as_torch(torch, *TABLE.recorded)
