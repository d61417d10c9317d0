"""torch.nn.utils._expanded_weights.expanded_weights_utils: what functions of expanded weights are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torchcompat as torch
from autograd_tape.annotations import Arguments, Fn, Keywords

from ...._calls.absent import absences as _absences
from .expanded_weights_impl import ExpandedWeight, unpacked

_MIXED = ("ExpandedWeights currently does not support a mixture of ExpandedWeight parameters and normal Parameters. Please file and issue "
          "with pytorch/pytorch")


def standard_kwargs(kwarg_names: Sequence[str], expanded_args: Arguments) -> tuple[Arguments, Keywords]:
    """Positional arguments as (positional, by keyword): the last of them have the names.

    >>> standard_kwargs(["bias"], (1, 2, 3))
    ((1, 2), {'bias': 3})
    """
    at = len(expanded_args) - len(kwarg_names)
    return expanded_args[:at], dict(zip(kwarg_names, expanded_args[at:]))


def forward_helper(func: Fn, expanded_args: Arguments, expanded_kwargs: Keywords) -> Any:
    """What a function gives, of the weights themselves.

    Raises:
        RuntimeError: the first argument is no batch, or one of another size than the weights say.
    """
    check_batch(func, (*expanded_args, *expanded_kwargs.values()))
    return func(*map(unpacked, expanded_args), **{name: unpacked(value) for name, value in expanded_kwargs.items()})


def check_batch(func: Any, values: Arguments) -> None:
    """RuntimeError where the first of these is no batch, or one of another size than expanded weights among the others say."""
    name, batch = func.__name__, values[0]
    if isinstance(batch, ExpandedWeight):
        raise RuntimeError("Expanded Weights do not support inputs that are also ExpandedWeights. "
                           f"Input must be a Tensor, got {type(batch).__name__} in function {name}")
    if not isinstance(batch, torch.Tensor):
        raise RuntimeError("Expanded Weights requires a Tensor as the first input to get the batch dimension, got "
                           f"{type(batch).__name__} in function {name}")
    if not batch.shape:
        raise RuntimeError(f"Expanded Weights requires a batch dimension but got an input of size 0 in function {name}")
    if not batch.shape[0]:
        raise RuntimeError(f"0 is not a valid batch size for Expanded Weights but got input tensor of {batch} in function {name}")
    for value in values:
        if isinstance(value, ExpandedWeight):
            size = batch.shape[value.batch_dim]
            if size != value.batch_size and not (value.allow_smaller_batches and size < value.batch_size):
                raise RuntimeError("Expected ExpandedWeights to have batch size matching input but got input batch size of "
                                   f"{size} with ExpandedWeight of batch size {value.batch_size}")


def set_grad_sample_if_exists(maybe_expanded_weight: object, per_sample_grad_fn: Callable[[Any], Any]) -> None:
    """Adds what the function gives of an expanded weight to the `grad_sample` of its parameter; nothing for what needs no gradient.

    Raises:
        RuntimeError: it is a tensor that requires grad and is no expanded weight.
    """
    value = unpacked(maybe_expanded_weight)
    if value is maybe_expanded_weight:
        if isinstance(value, torch.Tensor) and value.requires_grad:
            raise RuntimeError(_MIXED)
        return
    assert isinstance(maybe_expanded_weight, ExpandedWeight)  # which alone are unpacked
    found = maybe_scale_by_batch_size(per_sample_grad_fn(maybe_expanded_weight), maybe_expanded_weight)
    known = getattr(value, "grad_sample", None)
    value.grad_sample = found if known is None else known + found


def maybe_scale_by_batch_size(grad_sample: Any, expanded_weight: ExpandedWeight) -> Any:
    """Gradients of examples, of a loss that is their mean as if it were their sum."""
    return grad_sample * expanded_weight.batch_size if expanded_weight.loss_reduction == "mean" else grad_sample


def unpack_expanded_weight_or_tensor(maybe_expanded_weight: object, func: Callable[[Any], Any] = lambda x: x) -> Any:
    """`func` of a tensor, of an expanded weight's parameter; None of anything else.

    Raises:
        RuntimeError: it is a tensor that requires grad and is no expanded weight.
    """
    value = unpacked(maybe_expanded_weight)
    if value is maybe_expanded_weight and isinstance(value, torch.Tensor) and value.requires_grad:
        raise RuntimeError(_MIXED)
    return func(value) if isinstance(value, torch.Tensor) else None


def sum_over_all_but_batch_and_last_n(tensor: torch.Tensor, n_dims: int) -> torch.Tensor:
    """The sums over all dimensions but the first and the last `n_dims`."""
    between = tuple(range(1, tensor.dim() - n_dims))
    return tensor.sum(between) if between else tensor


_absences(__name__)
