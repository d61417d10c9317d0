"""torch.mtia.mtia_graph where there is no MTIA device: nothing is captured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._calls.absent import absences as _absences
from .._calls.devices import dummy, functions, raising

if TYPE_CHECKING:
    from .._calls.of_mtia import *

__all__ = ["MTIAGraph", "graph", "graph_pool_handle"]
MTIAGraph = dummy("torch.mtia.mtia_graph", "MTIAGraph", """capture_begin(self, pool); capture_end(self); instantiate(self); pool(self);
    replay(self); reset(self)""", raising(RuntimeError, "Cannot execute mtiagraphCreate() without MTIA backend."), "keep_graph=False")
globals().update(functions("torch.mtia.mtia_graph", [
    (raising(RuntimeError, "Cannot execute graphPoolHandle() without MTIA backend."), "graph_pool_handle()")]))


class graph:
    """A block whose operations are captured: making one refuses."""

    def __init__(self, mtia_graph: object, pool: object = None, stream: object = None) -> None:
        raise RuntimeError("Cannot execute getCurrentDevice() without MTIA backend.")


_absences(__name__)
