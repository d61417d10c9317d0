"""torch.distributions is torch's."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torchcompat as torch
from tests.distributions.distribution_cases import DISTRIBUTIONS, DIVERGENCES, TABLE
from tests.distributions.transform_cases import TABLE as TRANSFORMS


@pytest.mark.parametrize("name", [*DISTRIBUTIONS, ""])
def test_equals_torch(name: str) -> None:
    codes = DISTRIBUTIONS.get(name, [])
    cases = [case for case in TABLE.recorded if case.rpartition(" | ")[0] in codes or not name and case.endswith(" | ")]
    TABLE.assert_as_torch(torch, *cases)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_divergences_equal_torchs(name: str) -> None:
    cases = [case for case in DIVERGENCES.recorded if name in case.split()[:2]]
    if cases:
        DIVERGENCES.assert_as_torch(torch, *cases)


@pytest.mark.parametrize("kind", ["transform", "set", "other", "program"])
def test_transforms_sets_and_programs_equal_torchs(kind: str) -> None:
    TRANSFORMS.assert_as_torch(torch, *[case for case in TRANSFORMS.recorded if case.startswith(f"{kind}: ")])


def test_is_imported_at_first_use() -> None:
    code = "import sys, torchcompat; print('torchcompat.distributions' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout == "False\n"
