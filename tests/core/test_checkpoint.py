"""Checkpoints: what is run again, and when, as torch 2.13 does it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import torchcompat as torch
from tests.core.checkpoint_cases import TABLE
from torchcompat.utils import checkpoint



@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_the_inputs_of_an_inner_checkpoint_are_not_kept() -> None:
    refs = []

    def inner(x: Any) -> Any:
        return x.sin()

    def outer(x: Any) -> Any:
        y = x.exp()
        refs.append(weakref.ref(y))
        return checkpoint.checkpoint(inner, y, use_reentrant=False)

    x = torch.ones(2, requires_grad=True)
    z = checkpoint.checkpoint(outer, x, use_reentrant=False)
    gc.collect()
    assert refs[0]() is None
    z.sum().backward()
    assert torch.allclose(x.grad, torch.ones(2).exp().cos() * torch.ones(2).exp())


def test_debug_tells_the_operations_of_both_runs() -> None:
    runs = []

    def function(x: Any) -> Any:
        runs.append(1)
        return (x.sin() if len(runs) == 1 else torch.cat([x, x]).sin()).exp().sum()

    x = torch.ones(2, requires_grad=True)
    for switch in (lambda: checkpoint.checkpoint(function, x, use_reentrant=False, debug=True), None):
        runs.clear()
        if switch is None:
            with checkpoint.set_checkpoint_debug_enabled(True):
                y = checkpoint.checkpoint(function, x, use_reentrant=False)
        else:
            y = switch()
        with pytest.raises(checkpoint.CheckpointError, match="because you passed `debug=True`") as caught:
            y.backward()
        first, again = str(caught.value).split("Operators that ran during recomputation:")
        assert "aten.sin.default(torch.float32[2])" in first and "aten.cat" not in first
        assert "aten.cat" in again and "different metadata" in again
