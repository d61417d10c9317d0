"""A function over slices that carries something on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torchcompat as torch

from ..utils import _pytree as pytree

__all__ = ["scan"]


def scan(combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple[Any, Any]:
    """Calls `combine_fn(carried, slice)`, which gives what is carried on and an output, for each slice of `xs` along `dim`.

    Args:
        init: what is carried first: a tensor, or tensors in lists, tuples and dicts.
        xs: as `init`, of one length along `dim`.
        reverse: from the last slice on; outputs stay where their slices are.

    Returns:
        what is carried last, and the outputs, stacked along `dim`.

    Raises:
        RuntimeError: `combine_fn` is no function, or does not return two.
        IndexError: there is no such dimension.

    >>> scan(lambda total, x: (total + x, total), torch.tensor(0.), torch.tensor([1., 2., 3.]))
    (tensor(6.), tensor([0., 1., 3.]))
    """
    if not callable(combine_fn):
        raise RuntimeError("Combine_fn must be a callable")
    leaves, spec = pytree.tree_flatten(xs)
    if not leaves:
        raise RuntimeError("torch.scan: xs leaves must not be empty")
    slices = [x.unbind(dim) for x in leaves]
    if not slices[0]:
        raise RuntimeError("torch.scan: the dimension along which is scanned is empty")
    carried, outputs, out_spec = init, [], spec
    steps = range(len(slices[0]))
    for i in reversed(steps) if reverse else steps:
        found = combine_fn(carried, pytree.tree_unflatten([s[i] for s in slices], spec))
        if not isinstance(found, tuple) or len(found) != 2:
            raise RuntimeError(f"torch.scan: Expect combine_fn to return a tuple (next_carry, y) but got {found}")
        carried, output = found
        each, out_spec = pytree.tree_flatten(output)
        outputs.append(each)
    joined = [torch.stack(parts, dim) for parts in zip(*(outputs[::-1] if reverse else outputs))]
    return carried, pytree.tree_unflatten(joined, out_spec)
