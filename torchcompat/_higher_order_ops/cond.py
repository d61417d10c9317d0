"""One of two functions, by a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torchcompat as torch

__all__ = ["cond"]


def cond(pred: bool | float | torch.Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any],
         operands: tuple[Any, ...] | list[Any] = ()) -> Any:
    """`true_fn(*operands)` where `pred`, a number or a tensor of one element, is true, else `false_fn(*operands)`.

    Raises:
        RuntimeError: `pred` is neither.
    """
    if isinstance(pred, torch.Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not isinstance(pred, (bool, int, float, torch.Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    return (true_fn if pred else false_fn)(*operands)
