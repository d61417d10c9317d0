"""Which samples of plain tensors reach the general path, where a call takes 20 to 40 times what it takes on a quiet one: counted, since a
clock would say it only on a quiet machine."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import torchcompat as torch
from autograd_tape.functions.general import General
from autograd_tape.ops import RECORDS
from autograd_tape.samples import bind, samples

BY_INTEGERS = "products of integers by matrices are NumPy's, whose overflow is looked at"
LEFT = {
    "addmm": "scaled by beta and alpha in half precision or integers", "_addmm_activation": "as addmm",
    "linear": BY_INTEGERS, "rnn_relu": BY_INTEGERS,
    "rnn_tanh_cell": BY_INTEGERS, "rnn_relu_cell": BY_INTEGERS, "conv1d": "padded to the same size, of integers", "conv2d": "as conv1d",
    "_grouped_mm": "has no quiet path", "_scaled_mm": "dtypes of eight bits are converted", "_scaled_mm_v2": "as _scaled_mm",
}
"""What does, and why."""


def _tensors(value: Any, dtype: Any) -> Any:
    if isinstance(value, np.ndarray):
        found = torch.from_numpy(value.copy())
        whole = not dtype.is_floating_point
        return (found * 3 if whole else found).to(dtype) if value.dtype.kind == "f" else found
    return type(value)([_tensors(x, dtype) for x in value]) if type(value) in (list, tuple) else value


def _taken(function: Any, args: Any, kwargs: dict[str, Any], dtype: str) -> bool:
    """Makes the call; False where this dtype is refused, or where the sample stands for no call of torch's."""
    try:
        function(*_tensors(args, getattr(torch, dtype)), **_tensors_of(kwargs, dtype))
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError):
        return False
    return True


@pytest.mark.no_numbers("which path is taken")
def test_plain_samples_reach_no_general_path(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: set[str] = set()
    run = General.run
    monkeypatch.setattr(General, "run", lambda self, *args, **kwargs: (reached.add(self.rec.name), run(self, *args, **kwargs))[1])
    found: dict[str, list[str]] = {}
    for inplace, dtype in itertools.product((False, True), ("float32", "bfloat16", "int64")):
        calls = 0
        for name, rec in RECORDS.items():
            function = getattr(torch.Tensor, f"{name}_", None) if inplace and rec.inplace else None if inplace else next(filter(None, [
                getattr(at, name, None) for at in (torch, torch.nn.functional, torch.Tensor)]), None)
            for sample in samples(rec) if function is not None and rec.field("samples") is not None else ():
                args, kwargs = bind(rec, sample)
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    # The first call finds out what operands have in common.
                    taken = _taken(function, args, kwargs, dtype) and not reached.clear() and _taken(function, args, kwargs, dtype)
                calls += taken
                if taken and reached:
                    found[name + "_" * inplace] = sorted(reached)
        assert calls > (100 if inplace else 700)
    assert {name: by for name, by in found.items() if name not in LEFT} == {}
    assert sorted(LEFT) == sorted(found)  # what is left is left


def _tensors_of(kwargs: dict[str, Any], dtype: str) -> dict[str, Any]:
    return {key: _tensors(value, getattr(torch, dtype)) for key, value in kwargs.items()}


@pytest.mark.no_numbers("which path is taken")
def test_mixed_operands_truth_values_and_out_reach_none(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[str] = []
    run = General.run
    monkeypatch.setattr(General, "run", lambda self, *args, **kwargs: (reached.append(self.rec.name), run(self, *args, **kwargs))[1])
    x, b, i, m = torch.rand(2, 3), torch.rand(2, 3).bfloat16(), torch.arange(6).reshape(2, 3), torch.tensor([True, False, True])
    z, half, number = torch.empty(2, 3), torch.empty(2, 3, dtype=torch.bfloat16), torch.tensor(0.5)
    for call in (lambda: b + i, lambda: b * x, lambda: x - b, lambda: b * number, lambda: b * True, lambda: x * True, lambda: m.eq(False),
                 lambda: i.float().add_(i), lambda: b.clone().mul_(x), lambda: x.clone().gt_(x), lambda: b.clone().eq_(b),
                 lambda: torch.logical_and(x, i), lambda: number.clone().sigmoid_(), lambda: number.clone().floor_(),
                 lambda: torch.add(x, x, out=z), lambda: torch.exp(b, out=half), lambda: torch.matmul(x, x.t(), out=torch.empty(2, 2))):
        call()
        reached.clear()
        call()
        assert reached == []


@pytest.mark.parametrize("index", [0, slice(1, None), (..., slice(None, 2)), (slice(None), None), (0, slice(None), None), (1, 2)])
def test_half_precision_is_sliced_at_once(index, monkeypatch):
    x = torch.arange(12.0).reshape(3, 4)
    half = x.bfloat16()
    monkeypatch.setattr("autograd_tape.ops.data.index._get", None)
    assert half[index].stride() == x[index].stride() and torch.equal(half[index].float(), x[index])


def test_parameters_without_a_recording():
    x, weight = torch.randn(2, 3), torch.nn.Parameter(torch.rand(1))  # which the quick way takes, too
    expected = torch.nn.functional.prelu(x, weight.detach())
    with torch.no_grad():
        found = torch.nn.functional.prelu(x, weight)
    assert torch.equal(found, expected) and not found.requires_grad
    assert torch.nn.functional.prelu(x, weight).requires_grad


def test_targets_of_too_few_dimensions():
    for dtype in (torch.float32, torch.bfloat16):
        with pytest.raises(RuntimeError, match="only batches of spatial targets supported"):
            torch.nn.functional.nll_loss(torch.zeros(2, 3, 4, 5, dtype=dtype), torch.zeros(2, dtype=torch.int64), reduction="none")
