"""Whether a thread carries out what was scripted, and what is traced on it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Error(RuntimeError):
    """What a scripted program raises."""


Error.__module__ = "torchcompat.jit"


class _State(threading.local):
    scripting = False
    tracer: Any = None  # the `_trace.Recorder` that is at work


state = _State()


@contextmanager
def scripting(on: bool = True) -> Iterator[None]:
    """A block that is carried out as scripted, or, within such, as Python."""
    before, state.scripting = state.scripting, on
    try:
        yield
    finally:
        state.scripting = before
