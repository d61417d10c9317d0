"""What changes a graph, and says whether it did."""

from __future__ import annotations

import abc
from typing import NamedTuple

from torchcompat._calls.absent import absences as _absences
from torchcompat.fx.graph_module import GraphModule
from torchcompat.nn import Module

__all__ = ["PassResult", "PassBase"]


class PassResult(NamedTuple):
    """The module after a pass, and whether the pass changed it."""

    graph_module: Module
    modified: bool


class PassBase(abc.ABC):
    """A pass: called, it checks what it needs, does its work, and checks what it promises."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """The work on a module."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raises where the module is not fit for the pass; a pass that says nothing is fit for all."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raises where the pass has not done what it promises."""


_absences(__name__)
