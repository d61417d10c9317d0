"""Modules that consist of operations alone: `torch.linalg`, `torch.special`."""

from __future__ import annotations

import sys
from typing import Any

from autograd_tape.annotations import Fn
from autograd_tape.ops import ALIASES, RECORDS

from .._tensor import frontend
from .absent import absent


def operations(module: str) -> tuple[Fn, Fn]:
    """(`__getattr__`, `__dir__`) of a module. It has the operations whose record names it as `namespace` or has an alias there, each
    compiled at first use.

    >>> __getattr__, __dir__ = operations("torchcompat.special")
    >>> __getattr__("expm1").__name__, "i1e" in __dir__()
    ('expm1', True)
    """
    namespace = module.partition(".")[2]

    def named(name: str) -> str | None:
        if f"{namespace}.{name}" in ALIASES:
            return f"{namespace}.{name}"
        record = RECORDS.get(name)
        return name if record is not None and record.namespace == namespace else None

    def get(name: str) -> Any:
        found = named(name)
        if found is None:
            raise absent(module, name)
        value = frontend.function(found)
        if module in sys.modules:
            setattr(sys.modules[module], name, value)
        return value

    def names() -> list[str]:
        here = {alias.rpartition(".")[2] for alias in ALIASES if alias.rpartition(".")[0] == namespace}
        return sorted(here | {name for name, record in RECORDS.items() if record.namespace == namespace})

    return get, names
