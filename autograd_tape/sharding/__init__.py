"""Sharded tensors: how a tensor lies over a mesh of devices, and operations on it."""

from . import executor, gradients
from .array import Collective, collectives
from .carriers import Carrier, Simulated
from .chain import chain
from .executor import ReplicationWarning, replications
from .functions import all_reduce, constrain, gather, needs_reshard, reshard, shard
from .mesh import Mesh, Sharding

__all__ = ["Carrier", "Collective", "Mesh", "ReplicationWarning", "Sharding", "Simulated", "all_reduce", "chain", "collectives",
           "constrain", "executor", "gather", "gradients", "needs_reshard", "replications", "reshard", "shard"]
