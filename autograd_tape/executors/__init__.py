"""Executors: what carries out operations on a device's buffers."""

from .base import Executor, RawOps, available_executors, executor_for, get_executor, set_executor

__all__ = ["Executor", "RawOps", "available_executors", "executor_for", "get_executor", "set_executor"]
