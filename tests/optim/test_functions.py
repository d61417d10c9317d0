"""Optimizers as functions of lists, their hooks, and state dicts of older versions."""

from __future__ import annotations

import pytest

import torchcompat as torch

from .function_cases import FUNCTIONS, HOOKS, OLDER


@pytest.mark.parametrize("case", FUNCTIONS.recorded)
def test_functions_of_lists(case: str) -> None:
    FUNCTIONS.assert_as_torch(torch, case)


@pytest.mark.parametrize("case", OLDER.recorded)
def test_older_state_dicts(case: str) -> None:
    OLDER.assert_as_torch(torch, case)


@pytest.mark.parametrize("case", HOOKS.recorded)
def test_hooks(case: str) -> None:
    HOOKS.assert_as_torch(torch, case)
