"""Bounds of `clamp`, `clamp_min` and `clamp_max` that the dtype does not hold, and `nan_to_num` in each dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import torchcompat as torch

NAMES = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16"}
FUNCTIONS: dict[str, Any] = {
    "clamp_max": torch.clamp_max, "clamp_min": torch.clamp_min, "max": lambda x, b: torch.clamp(x, max=b),
    "min": lambda x, b: torch.clamp(x, b), "both": lambda x, b: torch.clamp(x, b, b), "max_": lambda x, b: x.clone().clamp_max_(b),
    "out": lambda x, b: torch.clamp_min(x, b, out=torch.empty_like(x))}


@pytest.mark.parametrize("dtype", list(NAMES))
@pytest.mark.parametrize("name", list(FUNCTIONS))
@pytest.mark.parametrize("size", [1, 40, 9000])
def test_bounds(name: str, dtype: str, size: int) -> None:
    """Beyond the range refused in torch's words; infinite, NaN and the last that fits taken, in the tensor's own dtype."""
    x, top = torch.ones(size, dtype=getattr(torch, dtype)), torch.finfo(getattr(torch, dtype)).max
    for beyond in (1e40, -1e40) if dtype != "float64" else ():
        with pytest.raises(RuntimeError, match=f"^value cannot be converted to type {NAMES[dtype]} without overflow$"):
            FUNCTIONS[name](x, beyond)
    with pytest.raises((RuntimeError, NotImplementedError)):
        FUNCTIONS[name](x, 1j)
    for bound in (float("inf"), float("-inf"), top, -top, 0, True, 0.5):
        result = FUNCTIONS[name](x, bound)
        assert result.dtype is x.dtype and result._data.dtype == x._data.dtype


def test_bool_has_no_kernel() -> None:
    x = torch.ones(2, dtype=torch.bool)
    for call, kernel in ((lambda: x.clamp(True, True), "clamp_scalar_cpu"), (lambda: x.clamp(True), "clamp_min_scalar_cpu"),
                         (lambda: x.clamp(max=True), "clamp_max_scalar_cpu"), (lambda: x.clamp_max(True), "clamp_max_scalar_cpu")):
        with pytest.raises(NotImplementedError, match=f"^\"{kernel}\" not implemented for 'Bool'$"):
            call()


@pytest.mark.parametrize("dtype", list(NAMES))
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("given", [(), (1, 2, 3), (None, 2.5, None)])
def test_nan_to_num(dtype: str, columns: bool, given: tuple[Any, ...]) -> None:
    kind = getattr(torch, dtype)
    values = [[1.0, float("nan"), float("inf")], [float("-inf"), 0.0, -2.0]]
    x = torch.tensor(values, dtype=kind)
    x = x.t().contiguous().t() if columns else x
    top = torch.finfo(kind).max
    nan, high, low = [d if g is None else g for g, d in zip((*given, None, None, None), (0.0, top, -top))]
    expected = torch.tensor([[1.0, nan, high], [low, 0.0, -2.0]], dtype=kind)
    result = torch.nan_to_num(x, *given)
    assert result.dtype is kind and result.stride() == x.stride() and np.array_equal(result.double().numpy(), expected.double().numpy())
    assert x.clone().nan_to_num_(*given).equal(expected)
