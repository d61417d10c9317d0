"""A function of each slice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torchcompat as torch

from ..utils import _pytree as pytree

__all__ = ["map"]


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """`f(slice, *args)` for each slice of `xs` along dimension 0, its results stacked.

    Args:
        xs: a tensor, or tensors in lists, tuples and dicts, of one length along dimension 0.
        args: given to each call as they are.

    Raises:
        RuntimeError: `xs` holds other things than tensors, or tensors of no dimensions or of different lengths.
    """
    leaves, spec = pytree.tree_flatten(xs)
    if not leaves or not all(isinstance(x, torch.Tensor) for x in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    lengths = {x.shape[0] if x.ndim else None for x in leaves}
    if len(lengths) > 1 or lengths & {None, 0}:
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent and not 0. Got shapes {[x.shape for x in leaves]}.")
    found = [pytree.tree_flatten(f(pytree.tree_unflatten([x[i] for x in leaves], spec), *args)) for i in range(len(leaves[0]))]
    return pytree.tree_unflatten([torch.stack(parts) for parts in zip(*[each for each, _ in found])], found[0][1])
