"""Classes of tensors, against torch."""

from __future__ import annotations

from tests.core.subclass_rule_cases import TABLE

import torchcompat as torch


def test_as_in_torch() -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(0, 1))


def test_nothing_differs() -> None:
    assert not TABLE.differ
