"""Parameters as one vector and back."""

from __future__ import annotations

from collections.abc import Iterable

import torchcompat as torch
from torchcompat._tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _check_devices(tensors: Iterable[Tensor]) -> None:
    if len({t.device for t in tensors}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters, one after the other.

    >>> parameters_to_vector([torch.ones(2), torch.zeros(1, 1)])
    tensor([1., 1., 0.])
    """
    listed = list(parameters)
    _check_devices(listed)
    return torch.cat([p.reshape(-1) for p in listed])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes slices of `vec` the data of the parameters; TypeError where it is no tensor."""
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {torch.typename(vec)}")
    listed = list(parameters)
    _check_devices(listed)
    start = 0
    for param in listed:
        stop = start + param.numel()
        param.data = vec[start:stop].view_as(param).data
        start = stop
