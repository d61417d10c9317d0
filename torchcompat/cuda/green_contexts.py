"""torch.cuda.green_contexts where there is no CUDA: parts of a device, which there are none of."""

from __future__ import annotations

from typing import Any

from .._calls.absent import absences as _absences
from .._calls.devices import functions, raising

__all__ = ["GreenContext"]
_NEEDS = raising(RuntimeError, "PyTorch was not built with Green Context support")
GreenContext: Any = type("GreenContext", (), {"__module__": "torch.cuda.green_contexts", "__doc__": "A part of a device's processors."} | {
    name: staticmethod(function) if name in ("create", "max_workqueue_concurrency") else function for name, function in functions(
        "torch.cuda.green_contexts", [(_NEEDS, """create(*, num_sms=None, workqueue_scope=None, workqueue_concurrency_limit=None,
        device_id=None); max_workqueue_concurrency(device_id=None); set_context(self); pop_context(self); Stream(self)""")]).items()})
_absences(__name__)
