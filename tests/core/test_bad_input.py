"""Bad input: torch's exception type and text, and nothing half-changed afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import torchcompat as torch


def snapshot(*tensors: Any) -> list[Any]:
    """All that an operation could change about tensors."""
    return [(t.tolist(), t._version, t.shape, t.stride(), t.requires_grad, t.grad_fn, None if t.grad is None else t.grad.tolist())
            for t in tensors]


def leaf(*shape: int) -> Any:
    return torch.ones(*shape, requires_grad=True)


CASES: dict[str, tuple[Callable[[Any, Any], Any], type[Exception], str]] = {
    "shapes that do not broadcast": (
        lambda a, b: a + torch.ones(4), RuntimeError,
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"),
    "in place, shapes": (
        lambda a, b: b.add_(torch.ones(4)), RuntimeError,
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"),
    "in place, broadcast larger": (
        lambda a, b: b.add_(torch.ones(5, 2, 3)), RuntimeError,
        "output with shape [2, 3] doesn't match the broadcast shape [5, 2, 3]"),
    "matmul": (lambda a, b: a @ b, RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    "float result into int": (
        lambda a, b: torch.ones(2, dtype=torch.int64).add_(0.5), RuntimeError,
        "result type Float can't be cast to the desired output type Long"),
    "argument type": (lambda a, b: torch.add("x", 1), TypeError, "add(): argument 'input' (position 1) must be Tensor, not str"),
    "operand type": (lambda a, b: torch.mul(a, "x"), TypeError, "mul(): argument 'other' (position 2) must be Tensor, not str"),
    "dimension": (lambda a, b: a.sum(2), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
    "dimension twice": (lambda a, b: a.sum((0, 0)), RuntimeError, "dim 0 appears multiple times in the list of dims"),
    "index": (lambda a, b: b[2], IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    "indices": (lambda a, b: b[0, 0, 0], IndexError, "too many indices for tensor of dimension 2"),
    "index to write": (lambda a, b: b.__setitem__(2, 1.0), IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    "view": (lambda a, b: b.view(4), RuntimeError, "shape '[4]' is invalid for input of size 6"),
    "view of strides": (
        lambda a, b: b.t().view(6), RuntimeError,
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
        "subspaces). Use .reshape(...) instead."),
    "leaf in place": (lambda a, b: a.mul_(2), RuntimeError,
                      "a leaf Variable that requires grad is being used in an in-place operation."),
    "view of leaf in place": (lambda a, b: a.view(6).mul_(2), RuntimeError,
                              "a view of a leaf Variable that requires grad is being used in an in-place operation."),
    "backward of many": (lambda a, b: (a * b).backward(), RuntimeError, "grad can be implicitly created only for scalar outputs"),
    "backward without grad": (lambda a, b: b.sum().backward(), RuntimeError,
                              "element 0 of tensors does not require grad and does not have a grad_fn"),
    "gradient's shape": (
        lambda a, b: (a * b).backward(torch.ones(3)), RuntimeError,
        "Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a shape of torch.Size([2, 3])."),
    "item of many": (lambda a, b: b.item(), RuntimeError, "a Tensor with 6 elements cannot be converted to Scalar"),
    "bool of many": (lambda a, b: bool(b), RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
    "numpy with grad": (lambda a, b: a.numpy(), RuntimeError,
                        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."),
    "integers with grad": (lambda a, b: torch.ones(2, dtype=torch.int64, requires_grad=True), RuntimeError,
                           "Only Tensors of floating point and complex dtype can require gradients"),
    "grad's shape": (lambda a, b: setattr(a, "grad", torch.ones(2)), RuntimeError, "attempting to assign a gradient of size '[2]' to a "
                     "tensor of size '[2, 3]'. Please ensure that the gradient and the tensor are the same size"),
    "grad's type": (lambda a, b: setattr(a, "grad", 1), TypeError, "assigned grad expected to be a Tensor or None but got grad of type "
                                                                   "int"),
    "out with grad": (
        lambda a, b: torch.add(a, b, out=torch.ones(2, 3)), RuntimeError,
        "add(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."),
    "unknown function": (lambda a, b: torch.no_such_operation, AttributeError, "module 'torch' has no attribute 'no_such_operation'"),
    "unknown method": (lambda a, b: b.no_such_method(), AttributeError, "'Tensor' object has no attribute 'no_such_method'"),
    "meta data": (lambda a, b: torch.ones(1, device="meta").item(), RuntimeError, "Tensor.item() cannot be called on meta tensors"),
    "ragged lists": (lambda a, b: torch.tensor([[1, 2], [3]]), ValueError, "expected sequence of length 2 at dim 1 (got 1)"),
    "negative size": (lambda a, b: torch.zeros(-1), RuntimeError, "zeros: Dimension size must be non-negative."),
}


@pytest.mark.parametrize("name", CASES)
def test_raises_what_torch_raises_and_changes_nothing(name: str) -> None:
    call, kind, text = CASES[name]
    a, b = leaf(2, 3), torch.arange(6.0).reshape(2, 3)
    before = snapshot(a, b)
    with pytest.raises(kind) as caught:
        call(a, b)
    assert type(caught.value) is kind
    assert str(caught.value) == text
    assert snapshot(a, b) == before


def test_unknown_device_starts_with_torchs_words() -> None:
    with pytest.raises(RuntimeError, match="^Expected one of cpu, cuda, .* device type at start of device string: nowhere$"):
        torch.ones(1, device="nowhere")


def test_backward_twice() -> None:
    x = leaf(3)
    loss = (x * x).sum()
    loss.backward()
    before = snapshot(x)
    with pytest.raises(RuntimeError, match="^Trying to backward through the graph a second time"):
        loss.backward()
    assert snapshot(x) == before


def test_changed_saved_tensor() -> None:
    x = leaf(3)
    y = x * 2
    loss = (y * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError) as caught:
        loss.backward()
    assert str(caught.value) == (
        "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [3]], which is "
        "output 0 of Add, is at version 1; expected version 0 instead. Hint: enable anomaly detection to find the operation that failed to "
        "compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).")
    assert x.grad is None


def test_an_executor_that_cannot_be_had_changes_nothing() -> None:
    with pytest.raises(RuntimeError, match="There is no executor 'abacus'"):
        torch.set_executor("cpu", "abacus")
    assert (torch.ones(2) + 1).tolist() == [2, 2]
