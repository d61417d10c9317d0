"""torch.cuda.streams where there is no CUDA: classes that make no objects."""

from __future__ import annotations

from typing import Any

from .._calls.absent import absences as _absences
from .._calls.devices import dummy, raising

__all__ = ["Event", "ExternalStream", "Stream"]
_SUPPORT = raising(RuntimeError, "torch.cuda.Stream requires CUDA support")
Stream: Any = dummy("torch.cuda.streams", "Stream", """query(self); record_event(self, event=None); synchronize(self);
    wait_event(self, event); wait_stream(self, stream)""", _SUPPORT, "device=None, priority=0, **kwargs")
Event = dummy("torch.cuda.streams", "Event", """elapsed_time(self, end_event); from_ipc_handle(cls, device, handle);
    ipc_handle(self); query(self); record(self, stream=None); synchronize(self); wait(self, stream=None)""",
                   signature="enable_timing=False, blocking=False, interprocess=False, external=False")


class ExternalStream(Stream):
    """A stream that another library made; there are none."""

    def __new__(cls, stream_ptr: int, device: object = None, **kwargs: object) -> Any:
        """Refuses: RuntimeError."""
        return _SUPPORT("")


_absences(__name__)
