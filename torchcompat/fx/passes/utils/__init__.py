"""What passes are made of: patterns found in graphs, and parts of graphs made modules."""

from torchcompat._calls.absent import on_demand as _on_demand

from .common import HolderModule, compare_graphs, lift_subgraph_as_module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]

_on_demand(__name__)
