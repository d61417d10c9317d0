"""The workloads, in the order in which they are reported."""

from benchmarks.workloads import kernels, small, steps
from benchmarks.workloads.registry import Workload, registered

__all__ = ["Workload", "kernels", "registered", "small", "steps"]
