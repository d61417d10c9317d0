"""torch.cuda where there is no CUDA: says so, and refuses what would need it."""

from __future__ import annotations

from typing import Any

from autograd_tape.annotations import DeviceLike

from ._calls.absent import absences as _absences


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def _refuse(*args: object, **kwargs: object) -> Any:
    raise AssertionError("Torch not compiled with CUDA enabled")


init = current_device = get_device_name = get_device_capability = get_device_properties = set_device = current_stream = _refuse


def synchronize(device: DeviceLike | None = None) -> None:
    """Refuses: there is no device to wait for."""
    _refuse()


def manual_seed(seed: int) -> None:
    """Nothing to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing to seed."""


def empty_cache() -> None:
    """Nothing is cached."""


def memory_allocated(device: DeviceLike | None = None) -> int:
    """0."""
    return 0


def max_memory_allocated(device: DeviceLike | None = None) -> int:
    """0."""
    return 0


__getattr__ = _absences(__name__)
