"""Programs as users write them print what they print with torch."""

from __future__ import annotations

import pytest
import torchcompat as torch

from .script_cases import PROGRAMS, TABLE


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_what_it_prints_with_torch(name: str) -> None:
    TABLE.assert_as_torch(torch, name)


def test_programs_print_enough_to_tell() -> None:
    assert set(TABLE.recorded) == set(PROGRAMS)
    assert all(len(lines) >= 8 and sum(len(numbers) for _, numbers in lines) >= 15 for lines in TABLE.recorded.values())
