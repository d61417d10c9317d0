"""Tensors in oneDNN's layout, as torch has them, and which convolutions torch gives to oneDNN."""

from __future__ import annotations

import copy
import pickle

import pytest

import torchcompat as torch
from torchcompat import nn

from .opaque_cases import TABLE


@pytest.mark.parametrize("group", range(4))
def test_as_torch(group: int) -> None:
    TABLE.assert_as_torch(torch, *TABLE.part(group, 4))


def test_what_is_answered_is_of_the_layout_or_refused() -> None:
    """No element of such a tensor gets out but by `to_dense`."""
    for case, expected in TABLE.differ.items():
        assert "error" in expected, f"{case}: where torch refuses or answers, {expected} is answered"


def test_memory_is_told_apart() -> None:
    x = torch.ones(2, 3)
    m = x.to_mkldnn()
    m.add_(m)
    assert x.sum() == 6 and m.to_dense().sum() == 12 and m._version == 1
    m.to_dense().zero_()
    assert m.to_dense().sum() == 12
    t = m.transpose(0, 1)
    t.zero_()
    assert m.to_dense().sum() == 12 and t.shape == (3, 2)
    assert m.detach().mul_(2) is not m and m.to_dense().sum() == 24  # the same memory


def test_changes_after_saving_are_found() -> None:
    a = torch.ones(2, 3, requires_grad=True)
    m = a.to_mkldnn()
    y = m * m
    m.detach().add_(m.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.to_dense().sum().backward()


def test_gradient_of_a_leaf_is_of_the_layout() -> None:
    m = torch.ones(2, 3).to_mkldnn().requires_grad_()
    for _ in range(2):
        (m * 3).to_dense().sum().backward()
    assert m.grad.is_mkldnn and m.grad.to_dense().sum() == 36


def test_modules_pickle() -> None:
    layer = torch.utils.mkldnn.to_mkldnn(nn.Linear(3, 2).eval())
    twin = pickle.loads(pickle.dumps(layer))
    x = torch.randn(4, 3)
    assert torch.equal(twin(x), layer(x)) and twin.weight.is_mkldnn
    with pytest.raises(NotImplementedError, match="Cannot access storage of OpaqueTensorImpl"):
        copy.deepcopy(layer.weight.detach())


# (input, weight, stride, dilation, groups, whether transposed, threads) -> torch's choice
CHOICES = [
    ((2, 6, 7, 8), (12, 6, 3, 3), 1, 1, 1, False, 2, "Mkldnn"), ((1, 6, 7, 8), (12, 6, 3, 3), 1, 1, 1, False, 2, "Slow2d"),
    ((1, 6, 7, 8), (12, 6, 4, 4), 1, 1, 1, False, 1, "Mkldnn"), ((2, 6, 7, 8), (12, 6, 1, 1), 1, 1, 1, False, 1, "Slow2d"),
    ((2, 6, 7, 8), (12, 6, 1, 1), 2, 1, 1, False, 1, "Mkldnn"), ((1, 6, 7, 8), (12, 2, 3, 3), 1, 1, 3, False, 1, "Mkldnn"),
    ((1, 6, 80, 80), (12, 6, 3, 3), 1, 1, 1, False, 1, "Mkldnn"), ((2, 6, 7, 8), (6, 12, 3, 3), 1, 1, 1, True, 1, "MkldnnTranspose"),
    ((1, 6, 7), (12, 6, 4), 1, 2, 1, False, 1, "SlowDilated2d"), ((2, 6, 7), (12, 6, 4), 1, 2, 1, False, 1, "Mkldnn"),
    ((0, 6, 7), (12, 6, 4), 1, 1, 1, False, 1, "Empty"), ((1, 6, 7, 7, 7), (12, 6, 3, 3, 3), 1, 1, 1, False, 1, "Slow3d"),
]


@pytest.mark.parametrize(("size", "weight", "stride", "dilation", "groups", "transposed", "threads", "expected"), CHOICES)
def test_choice_of_convolutions(size, weight, stride, dilation, groups, transposed, threads, expected) -> None:
    n, before = len(size) - 2, torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        rest = torch.zeros(weight), None, [stride] * n, [0] * n, [dilation] * n, transposed, [0] * n, groups
        assert torch._C._select_conv_backend(torch.zeros(size), *rest).name == expected
        with torch.backends.mkldnn.flags(enabled=False):
            assert "Mkldnn" not in torch._C._select_conv_backend(torch.zeros(size), *rest).name
        if 0 not in size:
            assert torch._C._select_conv_backend(torch.zeros(size).to_mkldnn(), *rest).name.startswith("Mkldnn")
    finally:
        torch.set_num_threads(before)
