"""Tensors print as torch prints them, to the character."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.core.repr_cases import CASES, TABLE, brief

from torchcompat import _tensor_str


def text_of(case: dict[str, Any]) -> str:
    name, default = case["dtype"], case.get("default", "float32")
    values = np.asarray(case["values"])
    if name == "bfloat16" or name.startswith("float"):
        values = values.astype(np.float64)
    with np.errstate(over="ignore"):
        array = values.astype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    default_complex = "complex128" if default == "float64" else "complex64"
    subclass = case.get("subclass", False)
    text = _tensor_str.tensor_str(
        None if case.get("meta") else array,
        dtype_name="torch." + name,
        is_default_dtype=name in (default, default_complex, "int64", "bool"),
        is_default_float=name == default,
        device="meta" if case.get("meta") else None,
        requires_grad=case.get("requires_grad", False),
        grad_fn_name="MulBackward0" if case.get("grad_fn") else None,
        shape=array.shape,
        class_name="tensor" if not subclass else "MyParameter" if case.get("parameter") else "MyTensor",
        is_parameter=case.get("parameter", False),
    )
    return "Parameter containing:\n" + text if case.get("parameter") and not subclass else text


@pytest.mark.parametrize("name", TABLE.recorded)
def test_text_equals_torch(name: str) -> None:
    case = CASES[name]
    with _tensor_str.printoptions(**case.get("options", {})):
        assert brief(text_of(case)) == TABLE.recorded[name]


def test_options_come_back() -> None:
    before = _tensor_str.get_printoptions()
    with _tensor_str.printoptions(profile="short", sci_mode=True):
        assert _tensor_str.get_printoptions() == {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80, "sci_mode": True}
    assert _tensor_str.get_printoptions() == before


def test_setting_anything_resets_sci_mode() -> None:
    with _tensor_str.printoptions():
        _tensor_str.set_printoptions(sci_mode=True)
        _tensor_str.set_printoptions(precision=3)
        assert _tensor_str.get_printoptions()["sci_mode"] is None


def test_tangent_comes_last() -> None:
    text = _tensor_str.tensor_str(
        np.ones(1, np.float32), dtype_name="torch.float32", is_default_dtype=True, requires_grad=True, tangent="tensor([2.])"
    )
    assert text == "tensor([1.], requires_grad=True, tangent=tensor([2.]))"
