"""torch.cuda.nccl where there is no CUDA: nothing is sent between its devices."""

from __future__ import annotations

import collections.abc
from typing import NoReturn

from .._calls.absent import absences as _absences

__all__ = ["all_gather", "all_reduce", "broadcast", "reduce", "reduce_scatter"]


def _refuse(inputs: object) -> NoReturn:
    if not isinstance(inputs, collections.abc.Container) or hasattr(inputs, "dtype"):
        raise TypeError("Inputs should be a collection of tensors")
    raise AttributeError("module 'torch._C' has no attribute '_nccl_all_reduce'")


def all_reduce(inputs: object, outputs: object = None, op: int = 0, streams: object = None, comms: object = None) -> None:
    """Refuses."""
    _refuse(inputs)


def reduce(inputs: object, output: object = None, root: int = 0, op: int = 0, streams: object = None, comms: object = None, *,
           outputs: object = None) -> None:
    """Refuses."""
    _refuse(inputs)


def broadcast(inputs: object, root: int = 0, streams: object = None, comms: object = None) -> None:
    """Refuses."""
    _refuse(inputs)


def all_gather(inputs: object, outputs: object, streams: object = None, comms: object = None) -> None:
    """Refuses."""
    _refuse(inputs)


def reduce_scatter(inputs: object, outputs: object, op: int = 0, streams: object = None, comms: object = None) -> None:
    """Refuses."""
    _refuse(inputs)


_absences(__name__)
