"""Arguments to several devices, and results from them, where there is one: refused as soon as a tensor is met."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import Tensor
from ..._calls.absent import absences as _absences
from . import comm

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter(inputs: Any, target_gpus: Sequence[object], dim: int = 0) -> Any:
    """For each device its part of the tensors in a structure, and all else as it is."""
    if isinstance(inputs, Tensor):
        comm.scatter(inputs, target_gpus, None, dim)
    if isinstance(inputs, tuple) and hasattr(inputs, "_fields"):
        return [type(inputs)(*parts) for parts in zip(*[scatter(v, target_gpus, dim) for v in inputs])]
    if isinstance(inputs, (tuple, list)) and inputs:
        found = zip(*[scatter(v, target_gpus, dim) for v in inputs])
        return list(found) if isinstance(inputs, tuple) else [list(parts) for parts in found]
    if isinstance(inputs, dict) and inputs:
        return [type(inputs)(parts) for parts in zip(*[scatter(v, target_gpus, dim) for v in inputs.items()])]
    return [inputs for _ in target_gpus]


def scatter_kwargs(inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[object], dim: int = 0) -> Any:
    """Positional arguments and keywords for each device, as many of each."""
    found, named = [scatter(value, target_gpus, dim) if value else [] for value in (inputs, kwargs)]
    size = max(len(found), len(named))
    return tuple([*found, *[()] * (size - len(found))]), tuple([*named, *[{}] * (size - len(named))])


def gather(outputs: Any, target_device: object, dim: int = 0) -> Any:
    """The results of several devices, whose first is like the others, as one."""
    first = outputs[0]
    if isinstance(first, Tensor):
        raise AssertionError("Gather function not implemented for CPU tensors")
    if first is None:
        return None
    if isinstance(first, dict):
        if not all([len(first) == len(out) for out in outputs]):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((k, gather([out[k] for out in outputs], target_device, dim)) for k in first)
    parts = [gather(part, target_device, dim) for part in zip(*outputs)]
    return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)


_absences(__name__)
