"""Executors: what carries out operations on a device's buffers."""

from .base import Executor, RawOps
from .choose import available_executors, cpu_executor, executor_for, get_executor, set_executor

__all__ = ["Executor", "RawOps", "available_executors", "cpu_executor", "executor_for", "get_executor", "set_executor"]
