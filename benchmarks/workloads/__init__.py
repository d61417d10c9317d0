"""The workloads, in the order in which they are reported."""

from benchmarks.workloads import kernels, layers, listening, small, steps, tape
from benchmarks.workloads.registry import Workload, registered

__all__ = ["Workload", "kernels", "layers", "listening", "registered", "small", "steps", "tape"]
