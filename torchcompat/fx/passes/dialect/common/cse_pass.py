"""What a graph computes several times, computed once."""

from __future__ import annotations

from typing import Any

import torchcompat as torch
from torchcompat._calls.absent import absences as _absences
from torchcompat.fx.graph import Graph
from torchcompat.fx.graph_module import GraphModule
from torchcompat.fx.node import Node, map_arg
from torchcompat.fx.passes.infra.pass_base import PassBase, PassResult
from torchcompat.utils._pytree import tree_flatten

aten = torch.ops.aten


def _packets(names: str) -> set[Any]:
    """Operations by their names; those that ATen does not have here are in no graph."""
    return {packet for name in names.split() if (packet := getattr(aten, name, None)) is not None}


rand_ops = _packets("dropout _fused_dropout _standard_gamma bernoulli multinomial native_dropout normal poisson binomial rrelu rand_like "
                    "rand randint randn randperm")
"""Operations that give something else each time."""
inplace_ops = _packets("add_ sub_ mul_ div_ pow_ lerp_ relu_ sigmoid_ tanh_")


def get_CSE_banned_ops() -> set[Any]:
    """The operations that must be carried out as often as a program asks for them."""
    return rand_ops | inplace_ops


class CSEPass(PassBase):
    """Puts the first of several nodes with the same target and arguments in the place of the others.

    Args:
        banned_ops: operations of which every node stays.
    """

    def __init__(self, banned_ops: set[Any] | None = None) -> None:
        self.banned_ops = set() if banned_ops is None else banned_ops

    def call(self, graph_module: GraphModule) -> PassResult:
        """A new module, or the given one where nothing is computed twice."""
        graph = Graph()
        copies: dict[Node, Node] = {}
        first: dict[tuple[Any, ...], list[tuple[Any, Node]]] = {}
        modified = False
        for node in graph_module.graph.nodes:
            packet = getattr(node.target, "overloadpacket", node.target)
            stays = node.op in ("placeholder", "output", "get_attr") or packet in self.banned_ops
            found = None
            if not stays:
                leaves, spec = tree_flatten((map_arg(node.args, copies.__getitem__), map_arg(node.kwargs, copies.__getitem__)))
                alike = first.setdefault((node.op, node.target, *leaves), [])
                found = next((same for known, same in alike if known == spec), None)
            if found is not None:
                modified, copies[node] = True, found
                continue
            copies[node] = graph.node_copy(node, copies.__getitem__)
            if not stays:
                alike.append((spec, copies[node]))
        return PassResult(GraphModule(graph_module, graph), True) if modified else PassResult(graph_module, False)


_absences(__name__)
