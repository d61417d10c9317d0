"""Anomaly detection: where in forward the operation was whose backward failed, and whether gradients are nan."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any
from collections.abc import Callable

import numpy as np

import autograd_tape
from autograd_tape import warned
from autograd_tape.engine import observers
from autograd_tape.modes import current_engine, enter_quiet_path, leave_quiet_path
from autograd_tape.node import TapeEntry

from .._tensor import Tensor, frontend

__all__ = ["detect_anomaly", "set_detect_anomaly"]

_PACKAGES = tuple(os.path.dirname(os.path.abspath(file)) + os.sep for file in (os.path.dirname(os.path.abspath(__file__)),
                                                                               autograd_tape.__file__))


class _State:
    enabled = False
    check_nan = True


def is_anomaly_enabled() -> bool:
    """Whether anomalies are looked for."""
    return _State.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether nan gradients are anomalies."""
    return _State.check_nan


def _set(enabled: bool, check_nan: bool = True) -> None:
    if enabled != _State.enabled:
        (leave_quiet_path if enabled else enter_quiet_path)()
        (observers.append if enabled else observers.remove)(watch)
    _State.enabled, _State.check_nan = enabled, check_nan


def note_forward(entry: TapeEntry) -> None:
    """Keeps the stack of the caller, and the node whose backward makes this one."""
    if not _State.enabled:
        return
    frames = traceback.extract_stack()
    # Down to the caller: operations are compiled under names such as "<mul: torch>".
    while frames and (frames[-1].filename.startswith(_PACKAGES) or frames[-1].filename.startswith("<") and ": " in frames[-1].filename):
        frames.pop()
    entry.metadata["traceback_"] = traceback.format_list(frames)
    engine = current_engine()
    if engine is not None and engine.entry is not None:
        entry.metadata["parent_"] = engine.entry


frontend.savers.append(note_forward)


def _report(entry: TapeEntry) -> None:
    """Warns of where an entry was made, and those whose backward made it."""
    head, found = "Error detected in", "Traceback of forward call that caused the error:\n"
    node: TapeEntry | None = entry
    while node is not None:
        stack = node.metadata.get("traceback_")
        _warn(f"{head} {node.name()}. " + (found + "".join(stack) if stack else
              "No forward pass information available. Enable detect anomaly during forward pass for more information."))
        head = "\n\nPrevious calculation was induced by"
        found = "Traceback of forward call that induced the previous calculation:\n"
        node = node.metadata.get("parent_")


def _warn(text: str) -> None:
    try:
        warned.warn(text, UserWarning)
    except Warning:  # where warnings are errors, it is the failure that must come through
        print(text, file=sys.stderr)


def watch(entry: TapeEntry, grad: Tensor, compute: Callable[[], Any]) -> list[np.ndarray | None]:
    """Computes an entry's gradients; says where the entry was made if that fails or gives nan."""
    try:
        grads = compute()
        if _State.check_nan:
            for i, g in enumerate(grads):
                data = g._data if isinstance(g, Tensor) else g
                if data is not None and data.dtype.kind in "fcV" and bool(np.isnan(data).any()):
                    raise RuntimeError(f"Function '{entry.name()}' returned nan values in its {i}th output.")
    except Exception:
        _report(entry)
        raise
    return grads


class detect_anomaly:
    """Inside, a failing backward shows where in forward its operation was, and nan gradients raise.

    Args:
        check_nan: whether nan is an anomaly.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warned.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.")

    def __enter__(self) -> None:
        self.before = (_State.enabled, _State.check_nan)
        _set(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        _set(*self.before)


class set_detect_anomaly:
    """Anomaly detection on or off: at once as a function, for a block as a context."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = (_State.enabled, _State.check_nan)
        _set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _set(*self.before)
