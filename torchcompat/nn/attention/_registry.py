"""Implementations of flash attention that programs register, of which one may be active."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from functools import partial
from typing import Literal, NoReturn, Protocol

from ..._calls.shown import shown_in

logger = logging.getLogger(__name__)


class FlashAttentionHandle(Protocol):
    """What keeps an implementation in place."""

    def remove(self) -> None:
        """Takes it away."""


_RegisterFn = Callable[..., FlashAttentionHandle | None]
_FlashAttentionImpl = Literal["FA3", "FA4"]
_impls: dict[str, _RegisterFn] = {}
_active: list[tuple[str, FlashAttentionHandle]] = []
"""The one that is in place, if any."""


def register_flash_attention_impl(impl: str, *, register_fn: _RegisterFn) -> None:
    """Names an implementation; `register_fn` puts it in place and returns a handle, or None."""
    _impls[impl] = register_fn


def activate_flash_attention_impl(impl: str) -> None:
    """Puts an implementation in the place of the one before.

    Raises:
        ValueError: none of this name is registered.
    """
    restore_flash_attention_impl(_raise_warn=False)
    if impl not in _impls:
        raise ValueError(f"Unknown flash attention impl '{impl}'. Available implementations: {list_flash_attention_impls()}")
    handle = _impls[impl]()
    if handle is not None:
        _active.append((impl, handle))


def list_flash_attention_impls() -> list[str]:
    """The names of those that are registered."""
    return sorted(_impls)


def current_flash_attention_impl() -> str | None:
    """The name of the one in place, None where it is the own one."""
    return _active[0][0] if _active else None


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Takes away what was put in place."""
    if _active:
        _active.pop()[1].remove()
    elif _raise_warn:
        logger.warning("Trying to restore default FA2 impl when no custom impl was activated")


def _gpu_library(version: str, module_path: str) -> NoReturn:
    """Refuses: the library is missing, or has nothing for the devices that are here."""
    importlib.import_module(module_path)
    raise RuntimeError(f"Module '{module_path}' does not expose {version} kernels")


for _version, _path in (("FA3", "flash_attn_interface"), ("FA4", "flash_attn.cute.interface")):
    register_flash_attention_impl(_version, register_fn=partial(_gpu_library, _version, _path))
shown_in("torch.nn.attention", register_flash_attention_impl, activate_flash_attention_impl, list_flash_attention_impls,
         current_flash_attention_impl, restore_flash_attention_impl)
