"""torch.accelerator.memory where there is none: refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._calls.absent import absences as _absences
from .._calls.devices import functions, raising

if TYPE_CHECKING:
    from .._calls.of_accelerator import *

_ABOUT = functions("torch.accelerator.memory", [(raising(RuntimeError, "Cannot access accelerator device when none is available."), """
    empty_cache(); empty_host_cache(); get_memory_info(device_index=None, /); max_memory_allocated(device_index=None, /);
    max_memory_reserved(device_index=None, /); memory_allocated(device_index=None, /); memory_reserved(device_index=None, /);
    memory_stats(device_index=None, /); reset_accumulated_memory_stats(device_index=None, /);
    reset_peak_memory_stats(device_index=None, /)""")])
globals().update(_ABOUT)
__all__ = list(_ABOUT)
_absences(__name__)
