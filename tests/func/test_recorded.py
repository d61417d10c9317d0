"""Function transforms against what torch 2.13 itself gave."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import sys
from typing import Any

import numpy as np
import pytest

import torchcompat as torch

HERE = pathlib.Path(__file__).parent


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cases, record = load("func_cases"), load("record")
RECORDED = json.loads((HERE / "recorded.json").read_text())


def test_every_case_is_recorded() -> None:
    assert list(cases.CASES) == list(RECORDED)


def compare(found: Any, expected: Any) -> None:
    if isinstance(expected, dict) and "shape" in expected:
        assert (found["shape"], found["dtype"]) == (expected["shape"], expected["dtype"].replace("torch.", "torch."))
        tolerance = 1e-9 if expected["dtype"] == "torch.float64" else 2e-5
        np.testing.assert_allclose(found["data"], expected["data"], rtol=tolerance, atol=tolerance)
    elif isinstance(expected, dict) and "dict" in expected:
        assert list(found["dict"]) == list(expected["dict"])
        for k in expected["dict"]:
            compare(found["dict"][k], expected["dict"][k])
    elif isinstance(expected, list):
        assert isinstance(found, list) and len(found) == len(expected), (found, expected)
        for f, e in zip(found, expected):
            compare(f, e)
    else:
        assert found == expected


@pytest.mark.parametrize("name", list(RECORDED))
def test_as_torch(name: str) -> None:
    compare(record.outcome(torch, name), RECORDED[name])
