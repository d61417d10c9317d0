"""Executors: what carries out operations on a device's buffers."""

from .base import Executor, RawOps
from .choose import available_executors, cpu_executor, executor_for, get_executor, register_executor, set_executor
from .kernels._on_demand import compiled_kernels
from .meta import MetaExecutor
from .numpy import NumpyExecutor

__all__ = [
    "Executor", "RawOps", "available_executors", "compiled_kernels", "cpu_executor", "executor_for", "get_executor", "register_executor",
    "set_executor",
]


def _mindspore(device_type: str) -> Executor:
    from .mindspore import MindSporeExecutor

    return MindSporeExecutor(device_type)


register_executor("numpy", ["cpu"], lambda device_type: NumpyExecutor())
register_executor("mindspore", ["cpu", "npu", "cuda"], _mindspore)
register_executor("meta", ["meta"], lambda device_type: MetaExecutor())
