"""torch.cuda.nvtx where there is no CUDA: ranges of NVIDIA's profiler, which refuse."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from .._calls.absent import absences as _absences
from .._calls.devices import functions, raising

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]
_NONE = functions("torch.cuda.nvtx", [
    (raising(RuntimeError, "NVTX functions not installed. Are you sure you have a CUDA build?"), "mark(msg); range_pop(); range_push(msg)"),
    (raising(AttributeError, "'_NVTXStub' object has no attribute 'rangeEnd'"), "range_end(range_id)"),
    (raising(AttributeError, "'_NVTXStub' object has no attribute 'rangeStartA'"), "range_start(msg)"),
])
globals().update(_NONE)


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """A block that refuses to be entered: RuntimeError."""
    _NONE["range_push"](msg.format(*args, **kwargs))
    yield


_absences(__name__)
