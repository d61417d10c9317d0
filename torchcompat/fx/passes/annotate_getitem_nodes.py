"""Types of the nodes that take tuples and lists apart."""

from __future__ import annotations

import operator
import typing

from torchcompat._calls.absent import absences as _absences

from ..graph import Graph

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph: Graph) -> None:
    """Gives nodes that take a part of a tuple, list or named tuple that part's type, as far as its type tells."""
    for node in graph.nodes:
        if node.op != "call_function" or node.target is not operator.getitem:
            continue
        whole, index = node.args
        kind = whole.type
        if kind is None:
            continue
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin is tuple:
            if index == slice(None, None, None) or len(inner) == 2 and inner[1] is ...:
                node.type = inner[0]
            else:
                node.type = inner[index]
        elif origin is list:
            node.type = inner[0]
        elif isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
            node.type = list(kind.__annotations__.values())[index]


_absences(__name__)
