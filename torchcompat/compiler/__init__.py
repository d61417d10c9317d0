"""torch.compiler: what programs say to whoever compiles them, and ask.

>>> import torchcompat as torch
>>> torch.compiler.is_compiling()
False
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchcompat._calls.absent import on_demand as _on_demand
from torchcompat._dynamo.external_utils import is_compiling, is_exporting, wrap_numpy

if TYPE_CHECKING:
    from torchcompat._dynamo.backends.registry import list_backends
    from torchcompat._dynamo.decorators import allow_in_graph, assume_constant_result, set_stance, substitute_in_graph
    from torchcompat._dynamo.eval_frame import compile, disable, get_default_backend, reset, set_default_backend

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "get_default_backend",
           "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends", "nested_compile_region", "reset",
           "set_default_backend", "set_enable_guard_collectives", "set_stance", "substitute_in_graph", "wrap_numpy"]

_HOMES = {
    **dict.fromkeys(["compile", "disable", "get_default_backend", "reset", "set_default_backend"], ".._dynamo.eval_frame"),
    **dict.fromkeys(["allow_in_graph", "assume_constant_result", "set_stance", "substitute_in_graph"], ".._dynamo.decorators"),
    "list_backends": ".._dynamo.backends.registry",
}


def is_dynamo_compiling() -> bool:
    """Whether the program's Python is being compiled: it never is, it runs."""
    return False


def cudagraph_mark_step_begin() -> None:
    """Says that a new step begins, for graphs on another device than there is."""


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Whether processes are to agree on what they compile: there is one. Returns what it was before."""
    global _collectives
    before, _collectives = _collectives, enabled
    return before


_collectives = False


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """Marks a function that is the same wherever it is called; also a decorator. It is part of the graph of its caller."""
    return nested_compile_region if fn is None else fn


_on_demand(__name__, _HOMES)
