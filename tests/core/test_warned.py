"""Warnings that torch gives once in a process, or each time where it is told to."""

from __future__ import annotations

import pytest
from tests.core.warned_cases import CASES, TABLE

import torchcompat as torch
from autograd_tape import warned


@pytest.mark.parametrize("case", CASES)
def test_as_often_as_torch(case: str) -> None:
    warned.forget()  # each case was recorded in a process of its own
    TABLE.assert_as_torch(torch, case)
