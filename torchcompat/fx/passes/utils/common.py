"""Parts of graphs as modules of their own, and graphs compared."""

from __future__ import annotations

from torchcompat._calls.absent import absences as _absences
from torchcompat.nn import Module

from ...graph import Graph
from ...graph_module import GraphModule
from .matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "lift_subgraph_as_module", "compare_graphs"]


class HolderModule(Module):
    """A module that only holds others, by their names."""

    def __init__(self, d: dict[str, Module | None]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(gm: GraphModule, subgraph: Graph, comp_name: str = "",
                            class_name: str = "GraphModule") -> tuple[GraphModule, dict[str, str]]:
    """A module of a graph whose nodes are copies of some of `gm`'s, with the modules and attributes that they refer to.

    Returns:
        the module, and from the names of what it refers to in `gm` to those below `comp_name`.
    """
    root = HolderModule({})
    moved: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        *path, last = node.target.split(".")
        here: Module = root
        there: Module = gm
        for name in path:
            if not hasattr(here, name):
                here.add_module(name, HolderModule({}))
            here, there = getattr(here, name), getattr(there, name)
        setattr(here, last, getattr(there, last))
        moved[node.target] = f"{comp_name}.{node.target}"
    return GraphModule(root, subgraph, class_name), moved


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs compute the same in the same way, of as many inputs."""
    return bool(SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right))


_absences(__name__)
