"""Graphs of programs: traced from functions and modules, changed, and turned into Python code again.

>>> from torchcompat import fx
>>> def f(x, y):
...     return (x + y).relu()
>>> traced = fx.symbolic_trace(f)
>>> for node in traced.graph.nodes:
...     if node.op == "call_method":
...         node.target = "neg"
>>> _ = traced.recompile()
>>> print(traced.code.strip())
def forward(self, x, y):
    add = x + y;  x = y = None
    relu = add.neg();  add = None
    return relu
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchcompat._calls.absent import on_demand as _on_demand

from . import immutable_collections
from .node import Node, has_side_effect, map_arg
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .proxy import Proxy
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .interpreter import Interpreter, Transformer
from .subgraph_rewriter import replace_pattern

if TYPE_CHECKING:
    from . import experimental as experimental, passes as passes, tensor_type as tensor_type

__all__ = ["symbolic_trace", "Tracer", "wrap", "Graph", "GraphModule", "Interpreter", "Transformer", "Node", "Proxy", "replace_pattern",
           "has_side_effect", "map_arg"]

_on_demand(__name__)
