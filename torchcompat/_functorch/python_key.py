"""Graphs of what functions do to given values, under functorch's names."""

from __future__ import annotations

from .._calls.absent import absences as _absences
from ..fx.experimental.proxy_tensor import PythonKeyTracer as PythonKeyTracer, dispatch_trace as dispatch_trace, make_fx as make_fx

__all__ = ["make_fx", "dispatch_trace", "PythonKeyTracer"]

_absences(__name__)
