"""Reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._dims import expand_reduced, normalize_dims
from ._record import op


def _sum(input: np.ndarray, dim: Any, keepdim: bool) -> Any:
    if dim is None:
        return np.add.reduce(input, None, None, None, keepdim)
    return np.add.reduce(input, normalize_dims(dim, input.ndim), None, None, keepdim)


@op("sum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor", quiet="all")
class sum:
    """The sum of all elements, or along dimensions.

    >>> torch.sum(torch.tensor([[1., 2.], [3., 4.]]), dim=0)
    tensor([4., 6.])
    """

    numpy = _sum
    mindspore = None
    def vjp(F, grad, input_shape, dim, keepdim): return expand_reduced(F, grad, input_shape, dim, keepdim)

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3, 4)), 1
        yield rng.standard_normal((2, 3, 4)), (0, 2), True
