"""Schemas of ATen's operations, made of what records say, and functions that classes override."""

from __future__ import annotations

import pytest

import torchcompat as torch
from torchcompat._library.schemas import forms, schema_of
from torchcompat.fx.operator_schemas import normalize_function
from torchcompat.utils._python_dispatch import TorchDispatchMode
from tests.core.schema_cases import TABLE


@pytest.mark.parametrize("group", range(4))
def test_what_torch_says_of_overloads(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, 4))


def test_most_are_torchs_to_the_letter() -> None:
    assert len(TABLE.differ) < 0.35 * len(TABLE.recorded)


def test_every_form_is_a_schema() -> None:
    for name, overloads in forms().items():
        for overload in overloads:
            schema = schema_of(name, overload)
            assert schema is not None and str(torch._C.parse_schema(str(schema))) == str(schema)


def test_what_modes_are_shown_fits_its_schema() -> None:
    shown = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            bound = normalize_function(func, args, kwargs or {}, normalize_to_only_use_kwargs=True)
            assert bound is not None and not bound.args
            shown.append(func._schema.name)
            return func(*args, **(kwargs or {}))

    with Mode():
        x = torch.ones(2, 3)
        torch.nn.functional.layer_norm(x @ x.T, (2,)).sum(0).unsqueeze(0).squeeze(0).add_(1).softmax(0).mean()
        torch.nn.functional.avg_pool1d(x, 2), x.split(1), x.to(torch.float64), torch.cat([x, x]), torch.where(x > 0, x, 0.0)
    assert shown[0] == "aten::ones" and len(shown) > 12
