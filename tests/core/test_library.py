"""Operations that programs register, as torch 2.13 has them."""

from __future__ import annotations

import importlib.util
import json
import pathlib

import pytest

import torchcompat as torch

_spec = importlib.util.spec_from_file_location("library_cases", pathlib.Path(__file__).with_name("library_cases.py"))
assert _spec is not None and _spec.loader is not None
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)
RECORDED = json.loads(pathlib.Path(__file__).with_name("library_recorded.json").read_text())


def test_every_case_is_recorded() -> None:
    assert list(cases.CASES) == list(RECORDED)


@pytest.mark.parametrize("name", list(RECORDED))
def test_as_torch(name: str) -> None:
    assert json.loads(json.dumps(cases.outcome(torch, name))) == RECORDED[name]
