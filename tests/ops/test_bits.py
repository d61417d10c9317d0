"""Conjugate and negative views, against what torch did: values, bits, histories, gradients, errors."""

from __future__ import annotations

from typing import Any

from tests.ops.bits_cases import TABLE
import pytest

import torchcompat as torch
from torchcompat._tensor import frontend

@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


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
