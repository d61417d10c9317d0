"""Sharded tensors: how a tensor lies over a mesh of devices, and operations on it."""

from importlib import import_module

from . import executor, gradients, lookup
from .array import Collective, collectives
from .carriers import Carrier, Simulated
from .chain import chain
from .executor import ReplicationWarning, replications
from .functions import all_reduce, constrain, gather, needs_reshard, reshard, shard
from .mesh import Mesh, Sharding
from .ranks import CollectiveError

_later = {"draw_sharding": "draw", "explain": "explanation", "plan": "planning", "sweep": "planning"}
"""What is imported when it is first asked for, and from where."""

__all__ = ["Carrier", "Collective", "CollectiveError", "Mesh", "ReplicationWarning", "Sharding", "Simulated", "all_reduce", "chain",
           "collectives", "constrain", "draw_sharding", "executor", "gather", "gradients", "lookup", "needs_reshard", "replications",
           "reshard", "shard"]


def __getattr__(name: str) -> object:
    if name not in _later:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_later[name]}"), name)
