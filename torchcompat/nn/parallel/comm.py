"""Tensors from device to device, where there is one: every function refuses, after it looked at its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from ... import Tensor
from ..._calls.absent import absences as _absences

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _refuse(name: str) -> NoReturn:
    raise AttributeError(f"module 'torch._C' has no attribute '{name}'")


def broadcast(tensor: Tensor, devices: Iterable[object] | None = None, *, out: object = None) -> NoReturn:
    """A tensor to several devices."""
    tensor.is_complex()
    if (devices is None) is (out is None):
        raise RuntimeError(f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}")
    _refuse("_broadcast" if devices is not None else "_broadcast_out")


def broadcast_coalesced(tensors: Iterable[Tensor], devices: Iterable[object], buffer_size: int = 10485760) -> NoReturn:
    """Several tensors to several devices."""
    [tensor.is_complex() for tensor in tensors]
    _refuse("_broadcast_coalesced")


def reduce_add(inputs: Sequence[Tensor], destination: object = None) -> NoReturn:
    """The sum of tensors on several devices."""
    inputs[0]
    for i, tensor in enumerate(inputs):
        if tensor.device.type == "cpu":
            raise AssertionError(f"reduce_add expects all inputs to be on GPUs, but input {i} is on CPU")
    raise RuntimeError("reduce_add expects destination to be on GPU")


def reduce_add_coalesced(inputs: Iterable[Sequence[Tensor]], destination: object = None, buffer_size: int = 10485760) -> NoReturn:
    """The sums of tensors on several devices."""
    for together in zip(*inputs):
        reduce_add(together, destination)
    _refuse("_flatten_dense_tensors")


def scatter(tensor: Tensor, devices: Iterable[object] | None = None, chunk_sizes: object = None, dim: int = 0, streams: object = None, *,
            out: object = None) -> NoReturn:
    """Parts of a tensor to several devices."""
    tensor.is_complex()
    if out is None and devices is None:
        raise TypeError("'NoneType' object is not iterable")
    _refuse("_scatter" if out is None else "_scatter_out")


def gather(tensors: Iterable[Tensor], dim: int = 0, destination: object = None, *, out: object = None) -> NoReturn:
    """The parts on several devices as one tensor."""
    [tensor.is_complex() for tensor in tensors]
    if out is not None and destination is not None:
        raise RuntimeError(f"'destination' must not be specified when 'out' is specified, but got destination={destination}")
    _refuse("_gather" if out is None else "_gather_out")


_absences(__name__)
