"""Hooks on tensors' gradients, with torch's errors: the tape's are `autograd_tape.hooks`."""

from __future__ import annotations

from typing import Any
from collections.abc import Callable

from autograd_tape import hooks
from autograd_tape.errors import AutogradError
from autograd_tape.node import RemovableHandle
from autograd_tape.dtypes import kind

from .._tensor import Tensor, frontend
from .._memory.layout import contiguous_format


def _asked(question: Callable[[Any], Any], tensor: Tensor) -> Any:
    try:
        return question(tensor)
    except AutogradError as error:
        raise error.as_builtin() from None


def register_tensor_hook(tensor: Any, hook: Callable[[Any], Any]) -> RemovableHandle:
    """`Tensor.register_hook`."""
    return RemovableHandle.add(_asked(hooks.hooks_on, tensor), hook)


def register_post_accumulate_hook(tensor: Any, hook: Callable[[Any], None]) -> RemovableHandle:
    """`Tensor.register_post_accumulate_grad_hook`."""
    return RemovableHandle.add(_asked(hooks.hooks_after, tensor), hook)


def retain_grad(tensor: Tensor) -> None:
    """`Tensor.retain_grad`."""
    _asked(hooks.retain_grad, tensor)


def keep_grad(target: Tensor, gradient: Tensor) -> None:
    """Adds what a pass gave to a computed tensor to its `.grad`."""
    if gradient._k.dtype is not target._k.dtype:
        gradient = gradient.to(target._k.dtype)
    if gradient._k.device != target._k.device:  # buffers know no device
        gradient = frontend.wrap(gradient._data, kind(target._k.dtype, target._k.device))
    have = getattr(target, "_grad", None)
    target._grad = gradient.clone(memory_format=contiguous_format) if have is None else have + gradient
