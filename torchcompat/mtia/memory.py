"""torch.mtia.memory where there is no MTIA device: no bytes are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._calls.absent import absences as _absences
from .._calls.devices import functions, giving, nothing

if TYPE_CHECKING:
    from .._calls.of_mtia import *

__all__ = ["max_memory_allocated", "memory_allocated", "memory_stats", "reset_peak_memory_stats"]
globals().update(functions("torch.mtia.memory", [
    (giving(int), "memory_allocated(device=None); max_memory_allocated(device=None)"), (giving(dict), "memory_stats(device=None)"),
    (nothing, "reset_peak_memory_stats(device=None)"),
]))
_absences(__name__)
