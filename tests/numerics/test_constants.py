"""Numbers that torch's kernels hold in single precision are rounded so in double precision, too."""

from __future__ import annotations

import numpy as np
import pytest

import torchcompat as torch


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_slope_of_hardsigmoid_is_a_sixth_in_single_precision(dtype: torch.dtype) -> None:
    x = torch.tensor([-3.5, -1.0, 2.0], dtype=dtype, requires_grad=True)
    torch.nn.functional.hardsigmoid(x).backward(torch.tensor([7.0, 7.0, 1.0], dtype=dtype))
    sixth = float(np.float32(1 / 6))
    assert x.grad.tolist() == [0.0, sixth * 7 if dtype == torch.float64 else float(np.float32(sixth * 7)), sixth]
