"""Page-locked memory for batches, where a device reads it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import torchcompat as torch

__all__: list[str] = []


def pin_memory(data: Any, device: object = None) -> Any:
    """`data` with all tensors in it, and objects that have such a method, pinned (`Tensor.pin_memory`).

    Raises:
        RuntimeError: there is a tensor in it, and no accelerator that would read it.
    """
    if isinstance(data, torch.Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        pairs = {key: pin_memory(value, device) for key, value in data.items()}
        try:
            if not isinstance(data, MutableMapping):
                return type(data)(pairs)  # type: ignore[call-arg]
            clone = copy.copy(data)
            clone.update(pairs)
            return clone
        except TypeError:
            return pairs
    if isinstance(data, tuple):
        values = [pin_memory(value, device) for value in data]
        return type(data)(*values) if hasattr(data, "_fields") else type(data)(values)
    if isinstance(data, Sequence):
        values = [pin_memory(value, device) for value in data]
        try:
            if not isinstance(data, MutableSequence):
                return type(data)(values)  # type: ignore[call-arg]
            many = copy.copy(data)
            for i, value in enumerate(values):
                many[i] = value
            return many
        except TypeError:
            return values
    return data
