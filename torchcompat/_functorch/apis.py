"""vmap, vmap by parts, grad, grad_and_value."""

from __future__ import annotations

import functools
from typing import Any

from autograd_tape.annotations import Fn
from .._calls.absent import absences as _absences
from ..func import grad as grad, grad_and_value as grad_and_value, vmap as vmap
from ..func._vmap import check_randomness, mapped

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]


def chunk_vmap(func: Fn, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2) -> Fn:
    """vmap that takes a batch in `chunks` parts, which are as long as those of `Tensor.chunk`.

    >>> import torchcompat as torch
    >>> from torchcompat._functorch.apis import chunk_vmap
    >>> chunk_vmap(torch.dot, chunks=3)(torch.ones(4, 2), torch.ones(4, 2))
    tensor([2., 2., 2., 2.])

    Raises:
        RuntimeError: there is no such `randomness`.
    """
    check_randomness(randomness)

    @functools.wraps(func, updated=())
    def wrapped(*args: Any, **kwargs: object) -> Any:
        return mapped(func, in_dims, out_dims, randomness, lambda size: -(-size // chunks), args, kwargs)

    return vmap(func, in_dims=in_dims, out_dims=out_dims, randomness=randomness) if chunks == 1 else wrapped


_absences(__name__)
