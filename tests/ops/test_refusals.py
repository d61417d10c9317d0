"""What is refused for its dtype or for numbers that do not fit, against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.ops.refusal_cases import TABLE

import torchcompat as torch
from autograd_tape.dtypes import DType
from autograd_tape.errors import AutogradError
from autograd_tape.ops import RECORDS
from autograd_tape.record import if_any
from autograd_tape.ops._samples import check_number

@pytest.mark.parametrize("case", TABLE.recorded)
def test_as_torch(case: str) -> None:
    TABLE.assert_as_torch(torch, case)


def test_some_are_refused_and_some_are_not() -> None:
    carried_out = sum(found == "carried out" for found in TABLE.recorded.values())
    assert 40 < carried_out < len(TABLE.recorded) - 40


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


RUNNING = {"running_mean": torch.zeros(3), "running_var": torch.ones(3)}
HAVE_NO_DERIVATIVE: dict[str, Callable[[Any], Any]] = {
    "binary_cross_entropy weight": lambda w: torch.nn.functional.binary_cross_entropy(torch.rand(3), torch.rand(3), w),
    "binary_cross_entropy_with_logits weight": lambda w: torch.nn.functional.binary_cross_entropy_with_logits(
        torch.rand(3), torch.rand(3), w),
    "binary_cross_entropy_with_logits pos_weight": lambda w: torch.nn.functional.binary_cross_entropy_with_logits(
        torch.rand(3), torch.rand(3), pos_weight=w),
    **{f"{name} weight": lambda w, name=name: getattr(torch.nn.functional, name)(torch.rand(2, 3), torch.tensor([0, 1]), w)
       for name in ("nll_loss", "cross_entropy")},
    **{f"linalg_pinv {which}": lambda w, which=which: torch.linalg.pinv(torch.rand(3, 2), **{which: w.mean()})
       for which in ("atol", "rtol")},
    "soft_margin_loss target": lambda w: torch.nn.functional.soft_margin_loss(torch.rand(3), w),
    "multi_margin_loss weight": lambda w: torch.nn.functional.multi_margin_loss(torch.rand(2, 3), torch.tensor([0, 1]), weight=w),
    **{f"{name} {which}": lambda w, function=function, which=which: function(torch.rand(2, 3, 4), **{**RUNNING, which: w})
       for which in ("running_mean", "running_var")
       for name, function in (("nn_functional_batch_norm", torch.nn.functional.batch_norm),
                              ("nn_functional_instance_norm", torch.nn.functional.instance_norm))},
    **{f"{name} {which}": lambda w, name=name, which=which: getattr(torch, name)(
        torch.rand(2, 3, 4), None, None, *{**RUNNING, which: w}.values(), False, 0.1, 1e-5, False)
       for which in ("running_mean", "running_var") for name in ("batch_norm", "instance_norm")},
    **{f"{name} {which}": lambda w, name=name, which=which, training=training: getattr(torch, name)(
        torch.rand(2, 3, 4), None, None, *{**RUNNING, which: w}.values(), *training, 0.1, 1e-5)[0]
       for which in ("running_mean", "running_var")
       for name, training in (("native_batch_norm", [True]), ("_native_batch_norm_legit", [True]),
                              ("_native_batch_norm_legit_no_training", []))}}


def test_all_arguments_without_a_derivative_are_there() -> None:
    assert {*HAVE_NO_DERIVATIVE} == {f"{r.name} {p}" for r in RECORDS.values() for p in r.field("refuses_grad") or ()}


@pytest.mark.parametrize("case", HAVE_NO_DERIVATIVE)
def test_arguments_without_a_derivative_must_not_require_grad(case: str) -> None:
    name, argument = case.split()
    step = RECORDS[name].field("refuses_grad")[argument]
    function = step(torch.rand(2, 3)) if callable(step) else if_any(step)[0]
    weight = torch.rand(3).requires_grad_()
    with pytest.raises(RuntimeError, match=f"The function '{function}' is not differentiable with respect to argument '{argument}'"):
        HAVE_NO_DERIVATIVE[case](weight)
    with torch.no_grad():
        assert HAVE_NO_DERIVATIVE[case](weight).isfinite().all()
    assert HAVE_NO_DERIVATIVE[case](weight.detach()).isfinite().all()
