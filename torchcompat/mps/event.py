"""torch.mps.event where there is no MPS."""

from __future__ import annotations

from .._calls.absent import absences as _absences
from .._calls.devices import dummy, raising

Event = dummy("torch.mps.event", "Event", "elapsed_time(self, end_event); query(self); record(self); synchronize(self); wait(self)",
                   raising(RuntimeError, "Cannot execute acquireEvent() without MPS backend."), "enable_timing=False")
_absences(__name__)
