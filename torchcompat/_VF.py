"""torch's functions below their Python wrappers: those of `torch` but for the few that the wrappers give other results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_tape.annotations import Fn
from autograd_tape.dtypes import float64

from ._tensor import Tensor, frontend

if TYPE_CHECKING:
    from torchcompat.random import Generator


def _all_results(found: object, *asked: bool) -> tuple[Tensor, ...]:
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


def _compute_linear_combination(input: Tensor, coefficients: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sums over k of coefficients[i, k] * input[k]; with `out`, added to what is there, as in torch."""
    found: Tensor = frontend.tensordot(coefficients.to(input.dtype), input, 1)
    return found if out is None else out.add_(found)


def _rrelu(name: str) -> Fn:
    def function(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
                 generator: Generator | None = None) -> Tensor:
        if lower > upper:
            raise RuntimeError("Lower bound should be less than or equal to the upper bound")
        slopes = None
        if training:
            if input._k.dtype.group or input.is_complex():
                raise input._k.dtype.missing("rrelu_with_noise_out_cpu")
            slopes = frontend.ones_like(input, requires_grad=False)
            negative = input.detach() <= 0
            # One number for each element that needs it, in double precision: the numbers that torch draws.
            drawn = frontend.empty((int(negative.sum()),), dtype=float64).uniform_(lower, upper, generator=generator)
            slopes[negative] = drawn.to(input.dtype)
        result: Tensor = frontend.function(name)(input, slopes, lower, upper, training)
        return result

    function.__name__ = function.__qualname__ = name.replace("_with_noise", "")
    function.__doc__ = """input where it is positive, else input times a slope, which is drawn anew for each element in training, and the
    mean of the bounds otherwise (Xu et al., 2015)."""
    return function


rrelu, rrelu_ = _rrelu("rrelu_with_noise"), _rrelu("rrelu_with_noise_")
embedding_renorm_ = frontend.embedding_renorm_


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    import torchcompat

    return getattr(torchcompat, name)
