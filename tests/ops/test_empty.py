"""Operations and modules on tensors without elements against torch: functions, methods, in place, with `out=`, backward."""

from __future__ import annotations

import pytest
from tests.ops.empty_cases import TABLE, odd
from tests.ops.public_calls import INNER, refused

import torchcompat as torch


def test_differences_are_refusals_in_other_words_or_results_for_refusals() -> None:
    fewer = {call: found for call, found in TABLE.differ.items() if not refused(TABLE.recorded[call]) and not odd(call)}
    assert not fewer, fewer
    assert not [call for call, found in TABLE.differ.items() if found.startswith(INNER)]
    assert len(TABLE.differ) < 0.07 * len(TABLE.recorded)


def test_all_kinds_of_calls_are_there() -> None:
    for kind, least in (("backward(", 800), ("trained(nn.", 80), (", out=", 700), ("_(", 500)):
        assert sum(kind in call for call in TABLE.recorded) > least, kind
    done = sum(not refused(found) for found in TABLE.recorded.values())
    assert 0.5 * len(TABLE.recorded) < done < 0.95 * len(TABLE.recorded)


@pytest.mark.parametrize("shape", [(0, 3), (2, 3, 0), (0, 3, 2, 2)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_batch_norm_of_nothing_learns_nothing(shape: tuple[int, ...], dtype: str) -> None:
    """Statistics of no elements are NaN, which must reach neither the running statistics nor the gradients."""
    x, w, b = [torch.ones(s, dtype=getattr(torch, dtype)).requires_grad_() for s in (shape, 3, 3)]
    mean, var = torch.arange(3.0), torch.arange(3.0) + 1
    result = torch.nn.functional.batch_norm(x, mean, var, w, b, training=True)
    result.sum().backward()
    assert result.shape == x.grad.shape == shape and w.grad.tolist() == b.grad.tolist() == [0.0] * 3
    assert mean.tolist() == [0.0, 1.0, 2.0] and var.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("call", ["torch.arange(4., out={})", "torch.linspace(0, 3, 4, out={})", "torch.logspace(0, 3, 4, out={})"])
def test_numbers_in_a_row_keep_the_shape_of_an_out_with_as_many_elements(call: str) -> None:
    rows = eval(call.format("torch.empty(0)"), {"torch": torch})
    for shape in ((2, 2), (4,), (1, 4, 1), (3, 2), (2, 0)):
        out = torch.zeros(shape)
        kept = shape if out.numel() == 4 else (4,)
        found = eval(call.format("out"), {"torch": torch, "out": out})
        assert found is out and found.shape == kept and found.flatten().tolist() == rows.tolist()
    empty = torch.zeros(2, 0)
    assert torch.linspace(0, 3, 0, out=empty).shape == (2, 0)
