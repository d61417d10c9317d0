"""torch.accelerator.graphs where there is none: nothing is captured."""

from __future__ import annotations

from .._calls.absent import absences as _absences
from .._calls.devices import dummy, raising

__all__ = ["Graph"]
Graph = dummy("torch.accelerator.graphs", "Graph", """capture_begin(self); capture_end(self); debug_dump(self, path);
    enable_debug_mode(self); instantiate(self); pool(self); replay(self); reset(self)""",
                   raising(RuntimeError, "Cannot access accelerator device when none is available."),
                   "keep_graph=False, *, pool=None, capture_error_mode='default'")
_absences(__name__)
