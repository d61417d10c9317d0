"""torch.xpu.graphs where there is no XPU: nothing is captured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._calls.absent import absences as _absences
from .._calls.devices import dummy, functions, raising

if TYPE_CHECKING:
    from .._calls.of_xpu import *

__all__ = ["XPUGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]
XPUGraph = dummy("torch.xpu.graphs", "XPUGraph", """capture_begin(self, pool=None); capture_end(self); debug_dump(self, debug_path);
    enable_debug_mode(self); instantiate(self); pool(self); raw_xpu_graph(self); raw_xpu_graph_exec(self); replay(self); reset(self)""",
                      signature="keep_graph=False")
globals().update(functions("torch.xpu.graphs", [
    (raising(RuntimeError, "Tried to instantiate dummy base class _xpu_graph_pool_handle"), "graph_pool_handle()"),
    (raising(RuntimeError, "Tried to instantiate dummy base class _xpu_isCurrentStreamCapturing"), "is_current_stream_capturing()"),
    (raising(RuntimeError, "Tried to instantiate dummy base class Stream"),
     "make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None)"),
]))


class graph:
    """A block whose operations are captured; making one refuses, as making its stream does."""

    def __init__(self, xpu_graph: object, pool: object = None, stream: object = None) -> None:
        from .streams import Stream

        Stream()


_absences(__name__)
