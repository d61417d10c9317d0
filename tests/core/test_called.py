"""Classes and functions call themselves as torch's do, and are found again by it."""

from __future__ import annotations

import pickle
from importlib import import_module
from typing import Any

import pytest
from tests.core import class_name_cases, function_name_cases
from tests.core.function_name_cases import _resolve
from tests.recording import Table

import torchcompat as torch

TABLES = pytest.mark.parametrize(("table", "least", "share"), [(class_name_cases.TABLE, 300, 5), (function_name_cases.TABLE, 400, 4)],
                                 ids=["classes", "functions"])


@TABLES
@pytest.mark.no_numbers("what classes and functions are called")
def test_as_torch(table: Table, least: int, share: int) -> None:
    table.assert_as_torch(torch, *table.recorded)


@TABLES
def test_most_are(table: Table, least: int, share: int) -> None:
    assert len(table.recorded) > least and len(table.differ) < len(table.recorded) / share


def found_again(called: Any) -> bool:
    """Whether what a thing says of its place leads to it."""
    module = called.__module__.replace("torch", "torchcompat", 1) if called.__module__.split(".")[0] == "torch" else called.__module__
    return _resolve(import_module(module), called.__qualname__) is called


@TABLES
@pytest.mark.no_numbers("what classes and functions are called")
def test_where_they_say_they_are_they_are(table: Table, least: int, share: int) -> None:
    for name in table.recorded.keys() - table.differ.keys():
        called = _resolve(torch, name)
        if "<locals>" not in called.__qualname__:
            assert found_again(called), name
            assert isinstance(called, type) or pickle.loads(pickle.dumps(called)) is called, name
