"""torch.ops: operations by their names in ATen, and their overloads.

>>> import torchcompat as torch
>>> torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2))
tensor([2., 2.])
"""

from __future__ import annotations

import types
from typing import Any

from .autograd.profiler import record_function
from .utils._aten import function as _function
from .utils._python_dispatch import OpOverload, overload_of


class OpOverloadPacket:
    """All overloads of one operation; calling it picks the one that the arguments fit."""

    def __init__(self, name: str, function: Any) -> None:
        self.__name__, self._function = name, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("_"):
            raise AttributeError(overload)
        found = overload_of(self.__name__, overload, self._function)
        setattr(self, overload, found)
        return found

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, (OpOverloadPacket, str)) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class _Aten:
    """`torch.ops.aten`."""

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        function = _function(name)
        if not callable(function):
            raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
        packet = OpOverloadPacket(name, function)
        setattr(self, name, packet)
        return packet


def _enter(name: str, args: str | None = None) -> record_function:
    return record_function(name, args).__enter__()


def _exit(record: record_function) -> None:
    record.__exit__(None, None, None)


aten = _Aten()
profiler = types.SimpleNamespace(_record_function_enter_new=_enter, _record_function_exit=_exit)
