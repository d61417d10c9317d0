"""Compiling: a function is captured as a graph when it is called, and a compiler is given the graph.

Where the compiler is one of those that a program runs without ("inductor", "eager"), the function is called as it is. `eval_frame` is where
programs are captured, `backends.registry` where compilers are found.
"""

from __future__ import annotations

from torchcompat._calls.absent import on_demand as _on_demand

_HOMES = {
    **dict.fromkeys(["OptimizedModule", "disable", "explain", "optimize", "optimize_assert", "reset", "reset_code_caches", "run"],
                    "eval_frame"),
    **dict.fromkeys(["allow_in_graph", "assume_constant_result", "disallow_in_graph", "forbid_in_graph", "graph_break",
                     "mark_dynamic", "mark_static", "mark_static_address", "mark_unbacked", "maybe_mark_dynamic", "nonstrict_trace",
                     "set_stance", "skip_frame", "substitute_in_graph"], "decorators"),
    **dict.fromkeys(["list_backends", "lookup_backend", "register_backend"], "backends.registry"),
    "is_compiling": "external_utils",
}
"""Where names are."""
__all__ = ["allow_in_graph", "assume_constant_result", "config", "disallow_in_graph", "exc", "explain", "forbid_in_graph",
           "graph_break", "is_compiling", "list_backends", "lookup_backend", "mark_dynamic", "mark_static", "mark_static_address",
           "maybe_mark_dynamic", "optimize", "optimize_assert", "OptimizedModule", "register_backend", "reset", "run",
           "substitute_in_graph"]

_on_demand(__name__, _HOMES)
