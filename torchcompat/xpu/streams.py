"""torch.xpu.streams where there is no XPU: classes that make no objects."""

from __future__ import annotations

from typing import Any

from .._calls.absent import absences as _absences
from .._calls.devices import dummy

__all__ = ["Event", "Stream"]
Stream: Any = dummy("torch.xpu.streams", "Stream", """query(self); record_event(self, event=None); synchronize(self);
    wait_event(self, event); wait_stream(self, stream)""", signature="device=None, priority=0, **kwargs")
Event = dummy("torch.xpu.streams", "Event", """elapsed_time(self, end_event); query(self); record(self, stream=None);
    synchronize(self); wait(self, stream=None)""", signature="enable_timing=False")
_absences(__name__)
