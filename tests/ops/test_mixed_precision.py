"""Gradients of operands of two precisions: that of the wider operand is as precise as it is, whatever is beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.ops.op_cases import NAMES, samples

import torchcompat as torch
from autograd_tape.ops import RECORDS
from torchcompat import Tensor
from torchcompat._tensor import frontend

AS_IN_TORCH = {"atan2": "squares each operand in its own dtype", "ldexp": "the power of two is of the second's dtype",
               "pow": "subtracts 1 from the exponent in its dtype", "sigmoid_backward": "its operands have one dtype",
               "tanh_backward": "its operands have one dtype"}
"""Operations that are not held to this, and what torch does there."""
PAIRS = [(torch.float64, torch.float32, 1e-12), (torch.float32, torch.bfloat16, 4e-6), (torch.float32, torch.float16, 4e-6)]
MIXABLE = [n for n in NAMES if RECORDS[n].family == "binary" and RECORDS[n].promotion != "none" and RECORDS[n].has_gradient
           and len([p for p in RECORDS[n].params if p.is_tensor]) == 2]


def gradients(name: str, a: Tensor, b: Tensor) -> list[Tensor | None]:
    """Of the sum of an operation's result, by both operands."""
    a, b = a.detach().requires_grad_(), b.detach().requires_grad_()
    result = frontend.function(name)(a, b)
    weights = torch.linspace(0.5, 1.5, result.numel(), dtype=torch.float32).view(result.shape).to(result.dtype)
    return list(torch.autograd.grad(result, [a, b], weights, allow_unused=True))


def pairs_of(name: str) -> Any:
    """Operands of an operation's samples: two arrays of numbers, with dimensions both, or only one would say what the result's dtype is."""
    for sample in samples(RECORDS[name]):
        args = sample.args if hasattr(sample, "args") else sample
        if len(args) == 2 and all([isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size and x.ndim for x in args]):
            yield args


@pytest.mark.no_numbers("precision of gradients")
@pytest.mark.parametrize("name", [n for n in MIXABLE if n not in AS_IN_TORCH and any(pairs_of(n))])
def test_wider_operands_gradient_is_as_precise_as_it_is(name: str) -> None:
    refused = 0
    for wide, narrow, bound in PAIRS:
        for arrays in pairs_of(name):
            for at in (0, 1):
                given = [torch.from_numpy(np.array(x)).to(wide if i == at else narrow) for i, x in enumerate(arrays)]
                exact = gradients(name, *[x.double() for x in given])[at]
                try:
                    found = gradients(name, *given)[at]
                except NotImplementedError as error:  # no kernel for half precision
                    assert wide is torch.float32, error
                    refused += 1
                    continue
                assert (found is None) == (exact is None)
                if found is None or exact is None:
                    continue
                assert found.dtype is wide
                off = ((found.double() - exact).abs() / (exact.abs() + exact.abs().max())).nan_to_num().max().item()
                assert off <= bound, (name, wide, narrow, at, off)
    assert refused <= 2 * 2 * len(list(pairs_of(name)))
