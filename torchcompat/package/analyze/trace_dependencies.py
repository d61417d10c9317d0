"""The modules whose functions a call carries out."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

from autograd_tape.annotations import Fn

__all__ = ["trace_dependencies"]


def trace_dependencies(callable: Fn, inputs: Iterable[tuple[Any, ...]]) -> list[str]:
    """The names of the modules whose functions are called while `callable` is called with each of `inputs`."""
    used: dict[str, None] = {}

    def note(frame: FrameType, event: str, arg: object) -> None:
        if event != "call":
            return
        name = frame.f_code.co_name
        for names in (frame.f_globals, frame.f_locals):
            if name in names:
                called = names[name]
                break
        else:
            called = getattr(frame.f_locals.get("self"), name, None)
        module = getattr(called, "__module__", None)
        if isinstance(module, str):
            used[module] = None

    sys.setprofile(note)
    try:
        for given in inputs:
            callable(*given)
    finally:
        sys.setprofile(None)
    return list(used)
