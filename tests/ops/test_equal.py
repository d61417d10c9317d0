"""`equal` finds each difference, wherever it is, in each dtype and layout, though it looks at the first elements first."""

from __future__ import annotations

from typing import Any

import pytest

import torchcompat as torch
from autograd_tape.ops.elementwise.comparison import _HEAD

DTYPES = ["float32", "float64", "bfloat16", "float16", "int64", "uint8", "bool", "complex64"]
SHAPES = [(), (1,), (7,), (3, 5), (_HEAD,), (_HEAD + 1,), (2, _HEAD), (_HEAD, 3)]
LAYOUTS = {"rows": lambda x: x, "columns": lambda x: x.t().contiguous().t() if x.ndim == 2 else x,
           "gaps": lambda x: torch.stack([x, x], -1)[..., 0]}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_each_difference_is_found(dtype: str, layout: str) -> None:
    for shape in SHAPES:
        x = torch.arange(int(torch.tensor(shape).prod()) if shape else 1).remainder(2).reshape(shape).to(getattr(torch, dtype))
        y = LAYOUTS[layout](x.clone())
        assert torch.equal(x, y) is True and torch.equal(x, x) is True and x.equal(y) is True
        for place in {0, x.numel() // 2, x.numel() - 1}:
            z = x.clone()
            z.view(-1)[place] = 1 - z.view(-1)[place].int()
            assert torch.equal(y, z) is False and torch.equal(z, y) is False, (shape, place)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "complex64"])
@pytest.mark.parametrize("n", [1, 9, _HEAD + 1])
def test_no_nan_equals_itself_and_zeros_have_no_sign(dtype: str, n: int) -> None:
    x: Any = torch.zeros(n, dtype=getattr(torch, dtype))
    assert torch.equal(x, -x) is True
    x[n - 1] = float("nan")
    assert torch.equal(x, x) is False and torch.equal(x, x[:]) is False


def test_shapes_and_empty_tensors() -> None:
    assert torch.equal(torch.zeros(0, 3), torch.ones(0, 3)) is True
    assert torch.equal(torch.zeros(0, 3), torch.zeros(3, 0)) is False
    assert torch.equal(torch.zeros(2, 1), torch.zeros(2)) is False
    assert torch.equal(torch.zeros(3).expand(2000, 3), torch.zeros(2000, 3)) is True
