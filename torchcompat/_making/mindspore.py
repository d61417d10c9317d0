"""Crossing to MindSpore and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_tape import warned
from autograd_tape.dtypes import bfloat16

from .._calls.above import above
from .._tensor import Tensor, frontend

_warn = False


def set_interop_warning(enabled: bool) -> None:
    """Warns at each crossing to or from MindSpore, to find them in a code base."""
    global _warn
    _warn = bool(enabled)


def _notice(what: str) -> None:
    if _warn:
        warned.warn(f"{what}: gradients do not cross to MindSpore and back")


def to_mindspore(tensor: Tensor) -> Any:
    """A MindSpore tensor: over the same memory where `tensor` is contiguous, else over a copy. Gradient history stays behind.

    Raises:
        ExecutorUnavailableError: MindSpore is missing or unusable here.
    """
    from autograd_tape.executors.mindspore import load

    _notice("to_mindspore")
    ms = load()
    tensor._needs_data("numpy")
    tensor = tensor.resolve_conj().resolve_neg()
    flags = tensor._data.flags
    # MindSpore writes to what it shares, and copies other layouts without a word.
    array = tensor._data if flags.c_contiguous and flags.writeable else np.array(tensor._data, order="C")
    if tensor._k.dtype is bfloat16:
        return ms.Tensor.from_numpy(array.astype(np.float32)).astype(ms.bfloat16)
    return ms.Tensor.from_numpy(array)


def from_mindspore(value: object, copy: bool = True) -> Tensor:
    """A tensor from a MindSpore tensor: a copy, or with `copy=False` over the same memory. Gradient history stays behind.

    Raises:
        TypeError: `value` is no MindSpore tensor.
        ValueError: `copy=False`, but the memory is on another device, or holds bfloat16, which MindSpore keeps in a form of its own.
    """
    from autograd_tape.executors.mindspore import load

    _notice("from_mindspore")
    ms = load()
    if not isinstance(value, ms.Tensor):
        raise TypeError(f"from_mindspore() takes a mindspore.Tensor, not {type(value).__name__}")
    if not copy and (value.dtype == ms.bfloat16 or not value.device.startswith("CPU")):
        raise ValueError(f"from_mindspore() cannot share the memory of a {value.dtype} tensor on {value.device}; pass copy=True")
    if value.dtype == ms.bfloat16:
        return frontend.wrap(value.astype(ms.float32).asnumpy().astype(bfloat16.np))
    array = value.asnumpy()
    return frontend.wrap(array.copy() if copy else array)


above.to_mindspore = to_mindspore
