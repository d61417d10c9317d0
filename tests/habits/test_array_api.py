"""The array API standard's functions give what `array_api_strict` gave: values, dtypes, shapes, and an error where it raised one."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autograd_tape as at
import autograd_tape.array_api as xp
from autograd_tape import TensorRef
from tests.habits.array_api_cases import CALLS, arrays, plain

RECORDED = json.loads(Path(__file__).with_name("array_api_recorded.json").read_text())
EXTRA = {"get_array_api_strict_flags", "set_array_api_strict_flags"}


def test_every_call_was_recorded() -> None:
    assert list(RECORDED) == list(dict.fromkeys(CALLS))


def same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, list) and theirs and isinstance(theirs[0], dict):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            same(a, b)
    elif isinstance(theirs, dict):
        assert (ours["dtype"], ours["shape"]) == (theirs["dtype"], theirs["shape"])
        np.testing.assert_allclose(ours["values"], theirs["values"], rtol=2e-6 if ours["dtype"] in ("float32", "complex64") else 1e-10,
                                   atol=1e-12)
    else:
        assert ours == theirs


@pytest.mark.parametrize("call", RECORDED)
def test_calls(call: str) -> None:
    recorded, names = RECORDED[call], {"xp": xp, **arrays(xp)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(recorded, dict) and "error" in recorded:
            with pytest.raises((TypeError, ValueError, IndexError, RuntimeError, at.AutogradError)):
                eval(call, names)
            return
        same(plain(eval(call, names)), recorded)


def test_the_namespace_is_reached_from_tensors() -> None:
    x = TensorRef.of([1.0])
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2022.12") is xp
    with pytest.raises(ValueError, match="1999.1"):
        x.__array_namespace__(api_version="1999.1")
    info = xp.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] is xp.float64 and set(info.dtypes(kind="bool")) == {"bool"}
    assert info.devices() == [info.default_device()] and xp.zeros(2, device="cpu").shape == (2,)


def test_functions_record() -> None:
    x = TensorRef.of([0.5, 1.5], requires_grad=True)
    y = xp.sum(xp.pow(xp.concat([x, xp.flip(x)]), 2.0)) + xp.linalg.vector_norm(x)
    assert np.allclose(at.backward(y)[x.id], 4 * x._data + x._data / np.linalg.norm(x._data))
