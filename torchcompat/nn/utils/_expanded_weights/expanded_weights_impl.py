"""torch.nn.utils._expanded_weights.expanded_weights_impl: a parameter as a function sees it that keeps the gradients of examples apart."""

from __future__ import annotations

from typing import Any

import torchcompat as torch
from autograd_tape.annotations import Arguments, Keywords

from ...._calls.absent import absences as _absences

HANDLED_FUNCTIONS: dict[Any, Any] = {}
"""What carries functions out on expanded weights."""


def unpacked(value: Any) -> Any:
    """An expanded weight's parameter; anything else as it is."""
    return value.orig_weight if isinstance(value, ExpandedWeight) else value


class ExpandedWeight(torch.Tensor):
    """Stands for a parameter in functions of a batch: their backward passes leave the gradients of the examples as its `grad_sample`.

    Args:
        orig_weight: the parameter.
        batch_size: how many examples a batch has.
        loss_reduction: "sum", or "mean" where the loss is a mean, whose gradients are those of the sum, too.

    Raises:
        RuntimeError: `orig_weight` is no tensor that requires grad; or, of functions of it, that they do not keep examples apart.
    """

    handled_functions = HANDLED_FUNCTIONS
    orig_weight: torch.Tensor
    batch_size: int
    loss_reduction: str
    allow_smaller_batches = False
    batch_dim = 0

    def __init__(self, orig_weight: torch.Tensor, batch_size: int, loss_reduction: str) -> None:
        self.orig_weight, self.batch_size, self.loss_reduction = orig_weight, batch_size, loss_reduction

    def __new__(cls, orig_weight: Any, batch_size: int, loss_reduction: str) -> ExpandedWeight:
        if not isinstance(orig_weight, torch.Tensor):
            raise RuntimeError(f"Can only make Expanded Weights of Tensors, got {type(orig_weight).__name__}")
        if not orig_weight.requires_grad:
            raise RuntimeError("Can only build ExpandedWeights objects of tensors that requires_grad")
        return torch.Tensor._make_subclass(cls, orig_weight, True)  # type: ignore[return-value]  # of that class

    @classmethod
    def __torch_function__(cls, func: Any, types: object, args: Arguments = (), kwargs: Keywords | None = None) -> Any:
        handler = HANDLED_FUNCTIONS.get(func)
        if handler is None:
            raise RuntimeError(f"Expanded Weights encountered but cannot handle function {func.__name__}")
        return handler.of(func, args, kwargs or {})

    def set_allow_smaller_batches(self, is_allow_smaller_batches: bool) -> None:
        """Sets whether a batch may have fewer examples."""
        self.allow_smaller_batches = is_allow_smaller_batches

    def set_batch_first(self, is_batch_first: bool = True) -> None:
        """Sets whether examples lie along the first dimension of a batch, or along the second."""
        self.batch_dim = 0 if is_batch_first else 1


_absences(__name__)
