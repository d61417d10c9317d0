"""torch.nn.grad, and the groups of torch.utils._foreach_utils."""

from __future__ import annotations

import pytest

import torchcompat as torch
from torchcompat.utils._foreach_utils import _group_tensors_by_device_and_dtype, _has_foreach_support


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("stride, padding, dilation, groups", [(1, 0, 1, 1), (2, 1, 1, 2), (3, 2, 2, 1)])
def test_gradients_of_convolutions(n: int, stride: int, padding: int, dilation: int, groups: int) -> None:
    x = torch.randn(2, 4, *range(7, 7 + n), dtype=torch.float64, requires_grad=True)
    w = torch.randn(6, 4 // groups, *range(2, 2 + n), dtype=torch.float64, requires_grad=True)
    y = getattr(torch.nn.functional, f"conv{n}d")(x, w, None, stride, padding, dilation, groups)
    grad = torch.randn_like(y)
    dx, dw = torch.autograd.grad(y, [x, w], grad)
    of_input, of_weight = [getattr(torch.nn.grad, f"conv{n}d_{which}") for which in ("input", "weight")]
    torch.testing.assert_close(of_input(x.shape, w, grad, stride, padding, dilation, groups), dx)
    torch.testing.assert_close(of_weight(x, w.shape, grad, stride, (padding,) * n, dilation, groups), dw)


def test_a_gradient_of_another_output_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"Expected a tensor of dimension 4 and tensor.size\[2\] == 2 but got: dimension 4 and tensor"):
        torch.nn.grad.conv2d_input((1, 1, 3, 3), torch.ones(1, 1, 2, 2), torch.ones(1, 1, 5, 5))
    with pytest.raises(RuntimeError, match=r"Expected a tensor of dimension 3 and tensor.size\[1\] == 2 but got"):
        torch.nn.grad.conv1d_weight(torch.ones(1, 1, 3), (2, 1, 2), torch.ones(1, 3, 2))


def test_groups_of_tensors() -> None:
    a, b, c = torch.ones(2), torch.ones(2, dtype=torch.float64), torch.zeros(3)
    found = _group_tensors_by_device_and_dtype([[a, b, c], [None, b, a], []], True)
    assert {dtype: indices for (_, dtype), (_, indices) in found.items()} == {torch.float32: [0, 2], torch.float64: [1]}
    lists, indices = found[torch.device("cpu"), torch.float32]
    assert lists[0][1] is c and lists[1] == [None, a] and lists[2] == [] and indices == [0, 2]
    assert _has_foreach_support([a, None], a.device) and not _has_foreach_support([torch.nn.Parameter(a)], a.device)
