"""Python's operators on tensors: what they cannot do they leave to the other operand, as in torch."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import torchcompat as torch


class Other:
    """Answers operators that come to it from the right."""

    def __radd__(self, other: Any) -> str:
        return "radd"

    def __rmatmul__(self, other: Any) -> str:
        return "rmatmul"

    def __gt__(self, other: Any) -> str:
        return "gt"


def test_the_other_operand_has_its_turn() -> None:
    x = torch.ones(2)
    assert (x + Other(), x @ Other(), x < Other()) == ("radd", "rmatmul", "gt")
    x += Other()
    assert x == "radd"


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_equality_with_anything_is_false(dtype: Any) -> None:
    x = torch.ones(2, dtype=dtype)
    assert (x == None) is False and (x != None) is True and (x == "x") is False and x not in ["x", None]  # noqa: E711  # the operators are what is tested


@pytest.mark.parametrize(
    "function, text",
    [
        (operator.add, "unsupported operand type(s) for +: 'Tensor' and 'NoneType'"),
        (operator.truediv, "unsupported operand type(s) for /: 'Tensor' and 'NoneType'"),
        (operator.pow, "unsupported operand type(s) for ** or pow(): 'Tensor' and 'NoneType'"),
        (operator.matmul, "unsupported operand type(s) for @: 'Tensor' and 'NoneType'"),
        (operator.lt, "'<' not supported between instances of 'Tensor' and 'NoneType'"),
        (operator.iadd, "unsupported operand type(s) for +=: 'Tensor' and 'NoneType'"),
        (lambda x, y: y / x, "unsupported operand type(s) for /: 'NoneType' and 'Tensor'"),
        (lambda x, y: y % x, "unsupported operand type(s) for %: 'NoneType' and 'Tensor'"),
    ],
)
def test_errors(function: Any, text: str) -> None:
    with pytest.raises(TypeError) as caught:
        function(torch.ones(2), None)
    assert str(caught.value) == text


def test_other_errors_pass() -> None:
    with pytest.raises(RuntimeError, match="The size of tensor a"):
        torch.ones(2) + torch.ones(3)
    with pytest.raises(TypeError) as caught:
        torch.Tensor.__radd__(2, 3)
    assert str(caught.value) == "descriptor '__radd__' for 'torch._C.TensorBase' objects doesn't apply to a 'int' object"


def test_arrays() -> None:
    x, a = torch.ones(2), np.array([1.0, 2.0])
    assert (x == a).tolist() == [True, False]
    assert isinstance(x + a, torch.Tensor) and (x + a).tolist() == [2, 3]
    with pytest.raises(TypeError, match="unsupported operand type"):
        a * x


def test_names() -> None:
    x = torch.ones(2)
    assert (x + 1).tolist() == [2, 2]
    assert torch.Tensor.__add__.__name__ == "__add__" and torch.Tensor.add.__name__ == "add"


def test_what_has_no_derivative_says_so() -> None:
    x = torch.ones(2, requires_grad=True)
    for name, args in (("floor_divide", (2,)), ("heaviside", (torch.ones(2),))):
        y = getattr(torch, name)(x, *args)
        assert y.requires_grad
        with pytest.raises(RuntimeError) as caught:
            y.sum().backward()
        assert str(caught.value) == f"derivative for aten::{name} is not implemented"
    gradients = torch.autograd.grad(torch.nextafter(x, torch.tensor([2.0, 1.0])).sum(), x)
    assert gradients[0].tolist() == [1, 0]
