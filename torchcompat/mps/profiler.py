"""torch.mps.profiler where there is no MPS: refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._calls.absent import absences as _absences
from .._calls.devices import functions, lacking, raising

__all__ = ["is_capturing_metal", "is_metal_capture_enabled", "metal_capture", "profile", "start", "stop"]
_STOP = raising(RuntimeError, "Cannot execute profilerStopTrace() without MPS backend.")
globals().update(functions("torch.mps.profiler", [
    (lacking("_mps_isCapturing"), "is_capturing_metal()"), (lacking("_mps_isCaptureEnabled"), "is_metal_capture_enabled()"),
    (_STOP, "stop()"),
]))


def start(mode: str = "interval", wait_until_completed: bool = False) -> None:
    """Refuses: RuntimeError."""
    mode.lower()
    raise RuntimeError("Cannot execute profilerStartTrace() without MPS backend.")


@contextmanager
def profile(mode: str = "interval", wait_until_completed: bool = False) -> Iterator[None]:
    """A block that refuses to be entered: RuntimeError."""
    try:
        start(mode, wait_until_completed)
        yield
    finally:
        _STOP("stop")


@contextmanager
def metal_capture(fname: str) -> Iterator[None]:
    """A block that refuses to be entered: AttributeError."""
    lacking("_mps_startCapture")("metal_capture")
    yield


_absences(__name__)
