"""torch.nn.attention: which kernels `scaled_dot_product_attention` may use, and attention with masks and scores of one's own.

>>> import torchcompat as torch
>>> from torchcompat.nn.attention import SDPBackend, sdpa_kernel
>>> x = torch.ones(1, 1, 2, 2)
>>> with sdpa_kernel(SDPBackend.MATH):
...     torch.nn.functional.scaled_dot_product_attention(x, x, x).shape
torch.Size([1, 1, 2, 2])
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import cast

from autograd_tape.warned import warn
from autograd_tape.modes import attention_kernels, attention_priority

from ..._calls.absent import absences as _absences
from ..._calls.numbered import Numbered
from ...backends.cuda import SDPAParams, can_use_efficient_attention, can_use_flash_attention
from ._registry import (
    _FlashAttentionImpl as _FlashAttentionImpl, _RegisterFn as _RegisterFn, activate_flash_attention_impl, current_flash_attention_impl,
    list_flash_attention_impls, register_flash_attention_impl, restore_flash_attention_impl,
)

__all__ = ["SDPBackend", "sdpa_kernel", "WARN_FOR_UNFUSED_KERNELS", "register_flash_attention_impl", "activate_flash_attention_impl",
           "list_flash_attention_impls", "current_flash_attention_impl", "restore_flash_attention_impl"]
_absences(__name__)

WARN_FOR_UNFUSED_KERNELS = False
"""Whether `CausalBias` warns where no kernel takes it and the mask is made instead."""


class SDPBackend(Numbered, native="torch._C._SDPBackend"):
    """Kernels for `scaled_dot_product_attention`. The CPU has two of them: MATH, and FLASH_ATTENTION for what it takes."""

    __slots__ = ()
    __module__, __qualname__ = "torch.nn.attention", "_SDPBackend"
    ERROR: SDPBackend
    MATH: SDPBackend
    FLASH_ATTENTION: SDPBackend
    EFFICIENT_ATTENTION: SDPBackend
    CUDNN_ATTENTION: SDPBackend
    OVERRIDEABLE: SDPBackend


SDPBackend.number(ERROR=-1, MATH=0, FLASH_ATTENTION=1, EFFICIENT_ATTENTION=2, CUDNN_ATTENTION=3, OVERRIDEABLE=4)


_backend_names = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION", "mem_efficient": "EFFICIENT_ATTENTION", "math": "MATH",
                  "overrideable": "OVERRIDEABLE"}


def _backend_from_string(name: str) -> SDPBackend:
    """The kernel of this name."""
    return cast(SDPBackend, SDPBackend.__members__[name])


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The kernels that may be used, the preferred first if asked."""
    allowed = [_backend_from_string(name) for kind, name in _backend_names.items() if attention_kernels[kind]]
    return sorted(allowed, key=lambda b: attention_priority.index(b.value)) if with_priority else allowed


def _sdpa_kernel(backends: Sequence[SDPBackend], set_priority: bool = False) -> None:
    """Allows these kernels alone; puts them first, in their order, if asked."""
    for kind, name in _backend_names.items():
        attention_kernels[kind] = SDPBackend.__members__[name] in backends
    if set_priority:
        first = [b.value for b in backends]
        # As many places as there are kernels: one that is none of them (ERROR) pushes the last one out.
        attention_priority[:] = [*first, *[b for b in attention_priority if b not in first]][:len(attention_priority)]


@contextlib.contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[dict[str, object]]:
    """A block, or a decorator, in which `scaled_dot_product_attention` may use these kernels alone.

    Args:
        backends: one or a list.
        set_priority: keeps their order as that of preference, which no kernel of the CPU asks for.

    Raises:
        AssertionError: they are neither.
        RuntimeError: of a call within that none of them takes.
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
                             f"{type(backends).__name__}")
    wanted = list(dict.fromkeys(backends if isinstance(backends, list) else [backends]))
    before = _cur_sdpa_kernel_backends(with_priority=set_priority)
    try:
        _sdpa_kernel(wanted, set_priority)
        yield {}
    finally:
        _sdpa_kernel(before, set_priority)


@contextlib.contextmanager
def _sdpa_kernel_variadic(*backends: SDPBackend) -> Iterator[None]:
    """`sdpa_kernel` of its arguments."""
    with sdpa_kernel(list(backends)):
        yield


def _raise_kernel_warnings(params: SDPAParams) -> None:
    """Warns of the kernels that do not take a call, where `WARN_FOR_UNFUSED_KERNELS` is set."""
    if WARN_FOR_UNFUSED_KERNELS:
        for name, can_use in (("Efficient", can_use_efficient_attention), ("Flash", can_use_flash_attention)):
            if not can_use(params):
                warn(f"{name} attention can't be used because:")
                can_use(params, True)


def _get_flash_version() -> str:
    """The version of flash attention that torch names."""
    return "2.5.7"
