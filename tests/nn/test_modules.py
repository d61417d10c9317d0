"""Every module against what real torch made of it: text, initial weights from the same seed, outputs, gradients, buffers."""

from __future__ import annotations

import pytest

import torchcompat as torch

from .module_cases import CASES, TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_every_module_class_is_covered() -> None:
    """A module that no case constructs would go untested."""
    import re

    named = set(re.findall(r"nn\.(\w+)", " ".join(expression for expression, _ in CASES)))
    elsewhere = {
        # bases, deprecated names, and what other test files construct
        "Module", "Container", "RNNBase", "RNNCellBase", "NLLLoss2d", "SyncBatchNorm", "CTCLoss", "MaxUnpool1d", "MaxUnpool2d",
        "MaxUnpool3d",
    }
    missing = {name for name in torch.nn.modules.__all__ if not name.startswith("Lazy")} - named - elsewhere
    assert not missing
