"""torch.ops: operations by their names in ATen, and by those that programs gave them, and their overloads.

>>> import torchcompat as torch
>>> torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2))
tensor([2., 2.])
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

from .autograd.profiler import record_function
from ._calls.aten import aten as aten, namespace

if TYPE_CHECKING:
    from torchcompat._calls.aten import _OpNamespace


def _enter(name: str, args: str | None = None) -> record_function:
    return record_function(name, args).__enter__()


def _exit(record: record_function) -> None:
    record.__exit__(None, None, None)


profiler = types.SimpleNamespace(_record_function_enter_new=_enter, _record_function_exit=_exit)


def __getattr__(name: str) -> _OpNamespace:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
    return namespace(name)
