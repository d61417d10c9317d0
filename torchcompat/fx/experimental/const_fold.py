"""What a graph computes of attributes alone, computed once before its first call.

>>> import torchcompat as torch
>>> from torchcompat.fx.experimental.const_fold import split_const_subgraphs
>>> class Scaled(torch.nn.Module):
...     def __init__(self):
...         super().__init__()
...         self.w = torch.nn.Parameter(torch.ones(2))
...     def forward(self, x):
...         return x * (self.w + 1)
>>> folded = split_const_subgraphs(Scaled())
>>> print(folded.code.strip())
def forward(self, x):
    _fx_const_folded_attrs = self._FX_CONST_FOLDED_ATTRS
    mul = x * _fx_const_folded_attrs;  x = _fx_const_folded_attrs = None
    return mul
>>> folded(torch.ones(2)).tolist()
[2.0, 2.0]
"""

from __future__ import annotations

import operator
import re
import sys
from typing import Any
from collections.abc import Callable

import torchcompat as torch
from torchcompat._calls.absent import absences as _absences
from torchcompat.fx._symbolic_trace import symbolic_trace
from torchcompat.fx.graph import Graph
from torchcompat.fx.graph_module import GraphModule
from torchcompat.fx.node import Node, map_arg
from torchcompat.nn import Module

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A module that carries out a graph of attributes before its first call, and keeps the results as an attribute.

    Args:
        const_subgraph: the graph of attributes; None where nothing is folded.
        fx_const_folded_attrs_name: the attribute for its results.
        device_for_folded_attrs: where results that are numbers go.
    """

    def __init__(self, root: Module, graph: Graph, const_subgraph: Graph | None = None, fx_const_folded_attrs_name: str | None = None,
                 device_for_folded_attrs: str = "cuda") -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args)

    def run_folding(self) -> None:
        """Computes what is folded.

        Raises:
            AssertionError: it is computed already.
        """
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("Folding has already been run")
        self.has_folding_been_run = True
        found = self.const_subgraph_module()

        def kept(value: Any) -> torch.nn.Parameter:
            if isinstance(value, int):
                return torch.nn.Parameter(torch.Tensor([value]).to(device=self.device_for_folded_attrs), requires_grad=False)
            return torch.nn.Parameter(value.detach().clone(), requires_grad=value.requires_grad)

        attribute = torch.nn.ParameterList([kept(value) for value in found]) if isinstance(found, tuple) else kept(found)
        setattr(self, self.fx_const_folded_attrs_name, attribute)


def get_unique_attr_name_in_module(mod_traced: GraphModule, name: str) -> str:
    """A name for an attribute, like the given one, that the module does not have."""
    name = re.sub("[^0-9a-zA-Z_]+", "_", name)
    name = f"_{name}" if name[0].isdigit() else name
    while hasattr(mod_traced, name):
        numbered = re.match(r"(.*)_(\d+)$", name)
        name = f"{name}_1" if numbered is None else f"{numbered[1]}_{int(numbered[2]) + 1}"
    return name


def _acts(module: Module) -> bool:
    """Whether a graph, or one inside it, does more than to compute values."""
    return isinstance(module, GraphModule) and any(
        [node.op == "call_function" and node.is_impure() or node.op == "call_module" and _acts(module.get_submodule(node.target))
         for node in module.graph.nodes])


def _constants(traced: GraphModule, skip: Callable[[Node], bool] | None) -> set[Node]:
    """The nodes of which the value is the same at each call."""
    sympy = sys.modules.get("sympy")
    found: set[Node] = set()
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "output") or node.op != "get_attr" and not found.issuperset(node.all_input_nodes):
            continue
        if skip is not None and skip(node) or node.is_impure() or node.op == "call_module" and _acts(traced.get_submodule(node.target)):
            continue
        if sympy is None or not isinstance(node.kwargs.get("fill_value"), sympy.Expr):
            found.add(node)
    return found


def split_const_subgraphs(module: Module, skip_folding_node_fn: Callable[[Node], bool] | None = None,
                          device_for_folded_attrs: str = "cpu") -> FoldedGraphModule:
    """A module that computes once what depends on attributes alone, and at each call the rest.

    Args:
        skip_folding_node_fn: whether a node is computed at each call in any case.
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant = _constants(traced, skip_folding_node_fn)
    computed = [node for node in traced.graph.nodes if node in constant and node.op != "get_attr"]
    if not computed:
        return FoldedGraphModule(traced, traced.graph)
    once, each = Graph(), Graph()
    inside: dict[Node, Node] = {}
    for node in traced.graph.nodes:
        if node in constant:
            taken = [once.placeholder(node.name)] if node.op == "get_attr" else []  # so the attribute's node gets another name, as in torch
            inside[node] = once.get_attr(node.target) if taken else once.node_copy(node, inside.__getitem__)
            inside[node].meta = node.meta.copy()
            for stand_in in taken:
                once.erase_node(stand_in)
    results = list(dict.fromkeys([used for node in traced.graph.nodes if node not in constant for used in node.all_input_nodes
                                  if used in constant and used.op != "get_attr"]))
    once.output(inside[results[0]] if len(results) == 1 else tuple([inside[node] for node in results]))
    once.eliminate_dead_code()
    values: dict[Node, Node] = {}
    for node in traced.graph.nodes:
        if node.op == "placeholder" or node.op == "get_attr" and any([user not in constant for user in node.users]):
            values[node] = each.node_copy(node)
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    folded = each.get_attr(name)
    for i, node in enumerate(results):
        values[node] = folded if len(results) == 1 else each.call_function(operator.getitem, (folded, i))
        values[node].meta = node.meta.copy()
    for node in traced.graph.nodes:
        if node.op == "output":
            each.output(map_arg(node.args[0], values.__getitem__), node.type)
        elif node not in values and node not in constant:
            values[node] = each.node_copy(node, values.__getitem__)
    setattr(traced, name, torch.nn.Parameter(torch.empty(0)) if len(results) == 1 else torch.nn.ParameterList())
    try:
        return FoldedGraphModule(traced, each, once, name, device_for_folded_attrs)
    finally:
        delattr(traced, name)


_absences(__name__)
