"""torch's functions below their Python wrappers: those of `torch` but for the few that the wrappers give other results."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._tensor import Tensor, frontend


def _all_results(found: Any, *asked: bool) -> tuple[Tensor, ...]:
    """`found` with empty tensors in the places of what was not asked for."""
    results = iter(found if isinstance(found, tuple) else (found,))
    return (next(results), *[next(results) if a else frontend.wrap(np.zeros(0, np.int64)) for a in asked])


def _unique(input: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, ...]:
    """The distinct elements and where each element went, which is empty where it was not asked for."""
    return _all_results(frontend.unique(input, sorted, return_inverse), return_inverse)


def _unique2(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> tuple[Tensor, ...]:
    """The same, and how often each occurs."""
    return _all_results(frontend.unique(input, sorted, return_inverse, return_counts), return_inverse, return_counts)


def unique_dim(input: Tensor, dim: int, sorted: bool = True, return_inverse: bool = True, return_counts: bool = False
               ) -> tuple[Tensor, ...]:
    """The distinct parts along a dimension; always with where each went and how often it occurs."""
    return _all_results(frontend.unique(input, sorted, True, True, dim), True, True)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    import torchcompat

    return getattr(torchcompat, name)
