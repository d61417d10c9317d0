"""Checkpoints: what is run again, and when, as torch 2.13 does it."""

from __future__ import annotations

import gc
import importlib.util
import json
import pathlib
import weakref
from typing import Any

import pytest

import torchcompat as torch
from torchcompat.utils import checkpoint

_spec = importlib.util.spec_from_file_location("checkpoint_cases", pathlib.Path(__file__).with_name("checkpoint_cases.py"))
assert _spec is not None and _spec.loader is not None
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)
RECORDED = json.loads(pathlib.Path(__file__).with_name("checkpoint_recorded.json").read_text())


def test_every_case_is_recorded() -> None:
    assert list(cases.CASES) == list(RECORDED)


@pytest.mark.parametrize("name", list(RECORDED))
def test_as_torch(name: str) -> None:
    assert json.loads(json.dumps(cases.outcome(torch, checkpoint, name))) == RECORDED[name]


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
