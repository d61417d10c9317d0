"""Hooks on tensors' gradients."""

from __future__ import annotations

import weakref
from typing import Any
from collections.abc import Callable

from autograd_tape.node import Hooks, NoGradView, RemovableHandle
from autograd_tape.dtypes import kind
from autograd_tape.tensor import LEAF, info_of
from autograd_tape.views import Poisoned

from .._tensor import frontend
from .._memory.layout import contiguous_format

add = RemovableHandle.add


def register_tensor_hook(tensor: Any, hook: Callable[[Any], Any]) -> RemovableHandle:
    """`Tensor.register_hook`."""
    node = tensor._node
    if node is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if node is LEAF or node.__class__ is NoGradView:
        Hooks()  # from now on backward passes look for hooks
        info = info_of(tensor)
        if info.hooks is None:
            info.hooks = {}
        return add(info.hooks, hook)
    nr = node.nr if node._tag == 2 else 0
    return add(tensor.grad_fn._hooks().tensor_pre.setdefault(nr, {}), hook)


def register_post_accumulate_hook(tensor: Any, hook: Callable[[Any], None]) -> RemovableHandle:
    """`Tensor.register_post_accumulate_grad_hook`."""
    if tensor._node is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not tensor.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    Hooks()
    info = info_of(tensor)
    if info.post_accumulate is None:
        info.post_accumulate = {}
    return add(info.post_accumulate, hook)


def retain_grad(tensor: Any) -> None:
    """`Tensor.retain_grad`."""
    node = tensor._node
    if not tensor.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if node.__class__ is Poisoned and node.bare or tensor.is_leaf or tensor.retains_grad:
        return
    info_of(tensor).retains_grad = True
    ref = weakref.ref(tensor)

    def keep(gradient: Any) -> None:
        target = ref()
        if target is not None:
            if gradient._k.dtype is not target._k.dtype:
                gradient = gradient.to(target._k.dtype)
            if gradient._k.device != target._k.device:  # buffers know no device
                gradient = frontend.wrap(gradient._data, kind(target._k.dtype, target._k.device))
            have = getattr(target, "_grad", None)
            target._grad = gradient.clone(memory_format=contiguous_format) if have is None else have + gradient

    tensor.creator._hooks().retain[node.nr if node._tag == 2 else 0] = keep
