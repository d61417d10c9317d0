"""The names that stand at the top of torch: its modules, and what it puts among them; and the names of all that works in place."""

from __future__ import annotations

import pkgutil
import sys
from typing import Any

from tests.recording import Table


def names(torch: Any, case: str) -> list[str]:
    """The names in order."""
    return sorted({m.name for m in pkgutil.iter_modules(torch.__path__)} | {n.split(".")[1] for n in sys.modules if n.startswith("torch.")})


TABLE = Table("module_names", ["torch"], names)


def in_place(torch: Any, place: str) -> list[str]:
    """The names of functions and methods that work in place."""
    home = torch
    for part in filter(None, place.split(".")):
        home = getattr(home, part)
    return [name for name in dir(home) if name.endswith("_") and not name.startswith("_")]


IN_PLACE = Table("in_place_names", ["", "Tensor", "nn.functional", "nn.init"], in_place)
