"""Nested tensors do what torch's do."""

from __future__ import annotations

import pytest

import torchcompat as torch
from tests.nested.nested_cases import TABLE


@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


@pytest.mark.parametrize(("sizes", "strides", "offsets"), [
    ([[4]], [[1]], [3]), ([[-1]], [[1]], [0]), ([[2]], [[-1]], [1]), ([[2]], [[1]], [-1]), ([[2**40]], [[2**40]], [0]), ([[2]], [[1]], [0,
        1]),
    ([[2]], [[1, 1]], [0]),
])
def test_parts_lie_in_the_memory(sizes: list[list[int]], strides: list[list[int]], offsets: list[int]) -> None:
    with pytest.raises((RuntimeError, ValueError)):
        torch._nested_view_from_buffer(torch.ones(6), torch.tensor(sizes), torch.tensor(strides), torch.tensor(offsets))
