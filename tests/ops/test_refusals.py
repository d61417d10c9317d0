"""What is refused for its dtype or for numbers that do not fit, against torch."""

from __future__ import annotations

import json

import pytest
import refusal_cases

import torchcompat as torch
from autograd_tape.dtypes import DType
from autograd_tape.errors import AutogradError
from autograd_tape.ops._samples import check_number

RECORDED = json.loads(refusal_cases.PATH.read_text())


@pytest.mark.parametrize("call", refusal_cases.CASES)
def test_as_torch(call: str) -> None:
    assert refusal_cases.outcome(torch, call) == RECORDED[call]


def test_some_are_refused_and_some_are_not() -> None:
    carried_out = sum(found == "carried out" for found in RECORDED.values())
    assert 40 < carried_out < len(RECORDED) - 40


@pytest.mark.parametrize("dtype, value, type_name", [
    ("uint8", 300, "uint8_t"), ("uint8", -200, None), ("uint8", float("nan"), "uint8_t"), ("int8", -200, "int8_t"),
    ("int16", 65520.0, "int16_t"), ("int32", 3e9, "int"), ("int32", True, None), ("int64", 1e40, "int64_t"),
    ("float16", 65520.0, "c10::Half"), ("float16", float("inf"), None), ("float32", float("nan"), None),
    ("float64", 1e300, None), ("complex64", 1j, None), ("bool", 5, None),
])
def test_numbers_that_do_not_fit(dtype: str, value: float, type_name: str | None) -> None:
    t = torch.zeros(2, dtype=DType.by_name[dtype])
    if type_name is None:
        check_number(value, t.dtype)
        t.fill_(value)
    else:
        with pytest.raises(AutogradError, match=f"value cannot be converted to type {type_name} without overflow"):
            check_number(value, t.dtype)
        with pytest.raises(RuntimeError, match="without overflow"):
            t.fill_(value)
