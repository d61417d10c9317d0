"""The workloads, in the order in which they are reported."""

from benchmarks.workloads import clients, convolutions, kernels, layers, listening, optimizers, recurrent, small, steps, tape
from benchmarks.workloads.registry import Workload, registered

__all__ = [
    "Workload", "clients", "convolutions", "kernels", "layers", "listening", "optimizers", "recurrent", "registered", "small", "steps",
    "tape",
]
