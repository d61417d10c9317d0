"""Schemas, and which may take the place of which, against torch."""

from __future__ import annotations

import pytest
from tests.core.schema_pairs_cases import TABLE

import torchcompat as torch


@pytest.mark.parametrize("group", range(4))
def test_as_in_torch(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, 4))


def test_nothing_differs() -> None:
    assert not TABLE.differ
