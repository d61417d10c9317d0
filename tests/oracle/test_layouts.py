"""Strides of results of operands that do not lie in memory by rows, against what torch gave."""

from __future__ import annotations

import pytest
from tests.oracle.layout_cases import DRAW_TABLE, TABLE

import torchcompat as torch

DIFFERENT = {
    # Two operands that both broadcast against each other, the second one in columns; what torch gives follows neither.
    "ldexp": ["float32-6 columns", "float32-6 others"],
    "nn.functional.binary_cross_entropy_with_logits": ["float32-7 first", "float32-7 others"],
    # torch refuses to view the product as a matrix; here it is copied.
    "kron": ["float32-0 first", "float32-0 others"],
}


@pytest.mark.parametrize("operation", TABLE.recorded)
def test_strides_of_results(operation: str) -> None:
    ours, theirs = TABLE.found(torch, operation), TABLE.recorded[operation]
    different = [key for key, strides in theirs.items() if ours.get(key) != strides]
    assert different == DIFFERENT.get(operation, []), {key: (ours.get(key), theirs[key]) for key in different}


def test_the_record_holds_many_layouts() -> None:
    assert sum(len(cases) for cases in TABLE.recorded.values()) > 4000


@pytest.mark.parametrize("case", DRAW_TABLE.recorded)
def test_random_numbers_are_drawn_in_the_order_of_memory(case: str) -> None:
    DRAW_TABLE.assert_as_torch(torch, case)
