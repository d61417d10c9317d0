"""Classes call themselves as torch's do, and are found again by it."""

from __future__ import annotations

from importlib import import_module

import pytest
from tests.core.class_name_cases import TABLE
from tests.core.function_name_cases import _resolve

import torchcompat as torch


@pytest.mark.no_numbers("what classes are called")
def test_as_torch() -> None:
    TABLE.assert_as_torch(torch, *TABLE.recorded)


def test_most_are() -> None:
    assert len(TABLE.recorded) > 300 and len(TABLE.differ) < len(TABLE.recorded) / 5


@pytest.mark.no_numbers("what classes are called")
def test_where_they_say_they_are_they_are() -> None:
    for name in TABLE.recorded.keys() - TABLE.differ.keys():
        cls = _resolve(torch, name)
        module = cls.__module__
        if "<locals>" not in cls.__qualname__:
            module = module.replace("torch", "torchcompat", 1) if module.split(".")[0] == "torch" else module
            assert _resolve(import_module(module), cls.__qualname__) is cls, name
