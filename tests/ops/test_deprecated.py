"""torch's deprecated signatures, with numbers among the tensors, against torch: results, refusals, and the warning that comes once."""

from __future__ import annotations

import warnings

from tests.ops.deprecated_cases import SHAPES, TABLE, WARNING_TABLE, WAYS, warned
import pytest

import torchcompat as torch
from autograd_tape.ops import RECORDS
from autograd_tape import warned as _warned


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("way", WAYS)
def test_as_torch(name: str, way: str) -> None:
    cases = [case for case in TABLE.recorded if case.startswith(f"{name}, {way}, ")]
    assert any(not isinstance(TABLE.recorded[case], str) for case in cases)
    TABLE.assert_as_torch(torch, *cases)


def test_all_records_are_in_the_table() -> None:
    assert {rec.name for rec in RECORDS.values() if rec.field("deprecated")} == set(SHAPES)


@pytest.mark.parametrize("case", WARNING_TABLE.recorded)
def test_warning(case: str) -> None:
    _warned.forget()
    WARNING_TABLE.assert_as_torch(torch, case)
    assert warned(torch, case) == [], "once in a process"


def test_warning_names_the_caller() -> None:
    _warned.forget()
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
