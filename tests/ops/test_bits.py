"""Conjugate and negative views, against what torch did: values, bits, histories, gradients, errors."""

from __future__ import annotations

import json
import math
from typing import Any

import bits_cases
import pytest

import torchcompat as torch
from torchcompat._tensor import frontend

RECORDED = json.loads(bits_cases.PATH.read_text())


def same(found: Any, expected: Any, where: str) -> None:
    if isinstance(expected, dict):
        assert isinstance(found, dict) and found.keys() == expected.keys(), f"{where}: {found} where torch gives {expected}"
        for key in expected:
            same(found[key], expected[key], f"{where}.{key}")
    elif isinstance(expected, list):
        assert isinstance(found, (list, tuple)) and len(found) == len(expected), f"{where}: {found} where torch gives {expected}"
        for i, (a, b) in enumerate(zip(found, expected)):
            same(a, b, f"{where}[{i}]")
    elif isinstance(expected, float):
        assert math.isclose(found, expected, rel_tol=2e-5, abs_tol=2e-5), f"{where}: {found} where torch gives {expected}"
    else:
        assert found == expected, f"{where}: {found!r} where torch gives {expected!r}"


@pytest.mark.parametrize("name", bits_cases.CASES)
def test_as_torch(name: str) -> None:
    same(bits_cases.outcome(torch, name), RECORDED[name], name)


def test_the_quiet_path_knows_no_bits() -> None:
    """No quiet set holds a kind with bits, and operations on other tensors make none."""
    z = torch.tensor([1 + 2j])
    assert z._k in frontend.namespace["Q_ALL"] and z.conj()._k not in frontend.namespace["Q_ALL"]
    assert (z.conj() + 1)._k is z._k and z.conj().conj()._k is z._k
    assert torch.ones(2).conj().is_conj() is False


def test_modes_see_conjugation_as_an_operation() -> None:
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Mode():
        z = torch.tensor([1 + 2j]).conj()
    assert "conj" in "".join(seen) and z.tolist() == [1 - 2j]
