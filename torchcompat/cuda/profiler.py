"""torch.cuda.profiler where there is no CUDA: refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._calls.absent import absences as _absences
from .._calls.devices import functions, refusing

__all__ = ["profile", "start", "stop"]
globals().update(functions("torch.cuda.profiler", [(refusing("cuda"), "start(); stop()")]))


@contextmanager
def profile() -> Iterator[None]:
    """A block that refuses to be entered: AssertionError."""
    refusing("cuda")("profile")
    yield


_absences(__name__)
