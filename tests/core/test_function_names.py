"""Functions call themselves as torch's do, and are found again by it."""

from __future__ import annotations

import pickle
from importlib import import_module

import pytest
from tests.core.function_name_cases import TABLE, _resolve

import torchcompat as torch


@pytest.mark.no_numbers("what functions are called")
def test_as_torch() -> None:
    TABLE.assert_as_torch(torch, *TABLE.recorded)


def test_most_are() -> None:
    assert len(TABLE.recorded) > 400 and len(TABLE.differ) < len(TABLE.recorded) / 4


@pytest.mark.no_numbers("what functions are called")
def test_where_they_say_they_are_they_are() -> None:
    for name in TABLE.recorded.keys() - TABLE.differ.keys():
        function = _resolve(torch, name)
        if "<locals>" not in function.__qualname__:
            assert _resolve(import_module(function.__module__), function.__qualname__) is function, name
            assert pickle.loads(pickle.dumps(function)) is function, name
