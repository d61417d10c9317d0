"""torch.cuda.graphs where there is no CUDA: nothing is captured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._calls.absent import absences as _absences
from .._calls.devices import dummy, functions, raising

if TYPE_CHECKING:
    from .._calls.of_cuda import *

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]
CUDAGraph = dummy("torch.cuda.graphs", "CUDAGraph", """
    capture_begin(self, pool=None, capture_error_mode='global', check_input_liveness=False); capture_end(self);
    debug_dump(self, debug_path); enable_debug_mode(self); get_graph_data(self); instantiate(self); pool(self); raw_cuda_graph(self);
    raw_cuda_graph_exec(self); replay(self); reset(self)""", signature="keep_graph=False")
globals().update(functions("torch.cuda.graphs", [
    (raising(RuntimeError, "Tried to instantiate dummy base class _graph_pool_handle"), "graph_pool_handle()"),
    (raising(RuntimeError, "Tried to instantiate dummy base class _cuda_isCurrentStreamCapturing"), "is_current_stream_capturing()"),
    (raising(RuntimeError, "torch.cuda.Stream requires CUDA support"),
     "make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None)"),
]))


class graph:
    """A block whose operations are captured; making one refuses, as making its stream does."""

    def __init__(self, cuda_graph: object, pool: object = None, stream: object = None, capture_error_mode: str = "global",
                 enable_annotations: bool = False, check_input_liveness: bool = False) -> None:
        from .streams import Stream

        Stream()


_absences(__name__)
