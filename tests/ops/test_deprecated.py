"""torch's deprecated signatures, with numbers among the tensors, against torch: results, refusals, and the warning that comes once."""

from __future__ import annotations

import gzip
import json
import warnings

import deprecated_cases
import pytest

import torchcompat as torch
from autograd_tape.ops import RECORDS
from autograd_tape.functions import overloads as _overloads

RECORDED = json.loads(gzip.decompress(deprecated_cases.PATH.read_bytes()))


@pytest.mark.parametrize("name", deprecated_cases.SHAPES)
@pytest.mark.parametrize("way", deprecated_cases.WAYS)
def test_as_torch(name: str, way: str) -> None:
    differ = []
    keys = [key for key in RECORDED["outcomes"] if key.startswith(f"{name}, {way}, ")]
    assert keys and any(not isinstance(RECORDED["outcomes"][key], str) for key in keys)
    for key in keys:
        found, wanted = deprecated_cases.outcome(torch, *key.split(", ")), RECORDED["outcomes"][key]
        if found != wanted:
            differ.append(f"{key}\n  torch {wanted}\n  here  {found}")
    assert not differ, "\n".join(differ)


def test_all_records_are_in_the_table() -> None:
    assert {rec.name for rec in RECORDS.values() if rec.field("deprecated")} == set(deprecated_cases.SHAPES)


@pytest.mark.parametrize("call", RECORDED["warnings"])
def test_warning(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_overloads, "_warned", False)
    assert deprecated_cases.warned(torch, *call.split(", ")) == RECORDED["warnings"][call]
    assert deprecated_cases.warned(torch, *call.split(", ")) == [], "once in a process"


def test_warning_names_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_overloads, "_warned", False)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        torch.ones(2).add_(2, torch.ones(2))
    assert [w.filename for w in found] == [__file__]


def test_gradients_flow() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    torch.add(x, 3, y).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([1, 1], [3, 3])
    z = x.detach().clone()
    z.addcmul_(3, x, y)
    assert z.grad_fn.name() == "AddcmulBackward0"
