"""torch.accelerator where there is none: says so, and refuses what would need it.

>>> import torchcompat as torch
>>> torch.accelerator.is_available(), torch.accelerator.current_accelerator(), torch.accelerator.device_count()
(False, None, 0)
"""

from __future__ import annotations

import warnings
from typing import NoReturn

from autograd_tape.annotations import DeviceLike

from ._calls.absent import absences as _absences

_NONE = "Cannot access accelerator device when none is available."


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """None."""


def current_device_index() -> NoReturn:
    """Refuses: there is no device to be current."""
    raise RuntimeError(_NONE)


def set_device_index(device: DeviceLike | None, /) -> NoReturn:
    """Refuses: there is no device to choose."""
    if device is None:
        raise ValueError("Expected a torch.device with a specified index or an integer, but got:None")
    raise RuntimeError(_NONE)


def current_device_idx() -> NoReturn:
    """The old name of `current_device_index`."""
    warnings.warn("Use `current_device_index` instead.", FutureWarning, stacklevel=2)
    current_device_index()


def set_device_idx(device: DeviceLike | None, /) -> NoReturn:
    """The old name of `set_device_index`."""
    warnings.warn("Use `set_device_index` instead.", FutureWarning, stacklevel=2)
    set_device_index(device)


class device_index:
    """A block on a device; that of None does nothing, any other is refused."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            raise RuntimeError(_NONE)

    def __exit__(self, *exc: object) -> None:
        pass


def _of_none() -> NoReturn:
    """Refuses: there is no device."""
    raise RuntimeError(_NONE)


def _of_device(device: DeviceLike | None = None, /) -> NoReturn:
    """Refuses: there is no device."""
    raise RuntimeError(_NONE)


empty_cache = empty_host_cache = _of_none
get_device_capability = current_stream = synchronize = get_memory_info = memory_stats = _of_device
memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = _of_device
reset_accumulated_memory_stats = reset_peak_memory_stats = _of_device

__getattr__ = _absences(__name__)
