"""Whether scripting is on, whether a thread carries out what was scripted, and what is traced on it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torchcompat._calls.emitted import (
    _add_script_class as _add_script_class, _clear_class_state as _clear_class_state, _get_script_class as _get_script_class,
)


class Error(RuntimeError):
    """What a scripted program raises."""


Error.__module__ = "torchcompat.jit"


class EnabledProxy:
    """Whether functions and modules are scripted and traced, or stay what they are: the variable PYTORCH_JIT of the environment says so.

    Raises:
        ValueError: it says neither.
    """

    def __init__(self) -> None:
        self.enabled = self.parse_env("PYTORCH_JIT", True, "> Using PyTorch JIT", "> PyTorch JIT DISABLED")

    def parse_env(self, name: str, default: bool, true_message: str, false_message: str) -> bool:
        """What a variable says; with `v` behind it, it is printed."""
        value = os.environ.get(name)
        if value is None:
            return default
        found = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "1v": True, "0v": False}.get(value.lower())
        if found is None or value == value.upper() and value.endswith("V"):
            raise ValueError(f"Unknown setting of {name}. Try using 0 or 1.")
        if value.endswith("v"):
            print(true_message if found else false_message)
        return found

    def __bool__(self) -> bool:
        return self.enabled


_enabled = EnabledProxy()


def disable() -> None:
    """From now on, functions and modules stay what they are."""
    _enabled.enabled = False


def enable() -> None:
    """From now on, functions and modules are scripted and traced."""
    _enabled.enabled = True


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
