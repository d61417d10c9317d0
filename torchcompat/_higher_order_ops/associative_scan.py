"""Running results of an associative function, in a logarithmic number of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torchcompat as torch

from ..utils import _pytree as pytree

__all__ = ["associative_scan"]
Combine = Callable[[list[torch.Tensor], list[torch.Tensor]], list[torch.Tensor]]


def associative_scan(combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False,
                     combine_mode: str = "pointwise") -> Any:
    """The running results of `combine_fn` along a dimension: its first, its first two combined, and so on.

    Args:
        combine_fn: takes two parts of `xs`, of any length along `dim`, and gives what is like each; it has to be associative.
        xs: a tensor, or tensors in lists, tuples and dicts, of one length along `dim`.
        reverse: from the end on.
        combine_mode: "generic"; "pointwise" is for devices that are not here.

    Raises:
        ValueError: `combine_fn` is no function, or the mode not "generic".
        IndexError: there is no such dimension.

    Source: Blelloch, Prefix sums and their applications (1990): pairs are combined, the scan of these gives every second result, and one
    more combination those between.

    >>> associative_scan(lambda a, b: a * b, torch.tensor([1., 2., 3., 4.]), 0, combine_mode="generic")
    tensor([ 1.,  2.,  6., 24.])
    """
    leaves, spec = pytree.tree_flatten(xs)
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if combine_mode == "pointwise":
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    rank = leaves[0].ndim
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")

    def combine(first: list[torch.Tensor], second: list[torch.Tensor]) -> list[torch.Tensor]:
        found = pytree.tree_leaves(combine_fn(pytree.tree_unflatten(first, spec), pytree.tree_unflatten(second, spec)))
        assert len(found) == len(leaves), (
            f"Combine_fn received wrong number of arguments, expected {2 * len(leaves)}, but got {len(leaves) + len(found)}")
        return found

    dim %= rank
    found = _scan(combine, [torch.flip(x, [dim]) for x in leaves] if reverse else leaves, dim)
    return pytree.tree_unflatten([torch.flip(x, [dim]) for x in found] if reverse else found, spec)


def _scan(combine: Combine, xs: list[torch.Tensor], dim: int) -> list[torch.Tensor]:
    n = xs[0].shape[dim]
    if n < 2:
        return list(xs)
    pairs = combine(_every_second(xs, dim, 0, n - 1), _every_second(xs, dim, 1, n))
    odd = _scan(combine, pairs, dim)
    even = [x.narrow(dim, 0, 1) for x in xs]
    if n > 2:
        before = [x.narrow(dim, 0, (n - 1) // 2) for x in odd]
        even = [torch.cat(both, dim) for both in zip(even, combine(before, _every_second(xs, dim, 2, n)))]
    return [_alternating(*both, dim) for both in zip(even, odd)]


def _every_second(xs: list[torch.Tensor], dim: int, start: int, end: int) -> list[torch.Tensor]:
    return [x[(slice(None),) * dim + (slice(start, end, 2),)] for x in xs]


def _alternating(even: torch.Tensor, odd: torch.Tensor, dim: int) -> torch.Tensor:
    """Elements of both in turn; there may be one even element more."""
    shared = odd.shape[dim]
    found = torch.stack([even.narrow(dim, 0, shared), odd], dim + 1).flatten(dim, dim + 1)
    return found if even.shape[dim] == shared else torch.cat([found, even.narrow(dim, shared, 1)], dim)
