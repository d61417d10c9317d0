"""The names that stand at the top of torch: its modules, and what it puts among them."""

from __future__ import annotations

import pkgutil
import sys
from typing import Any

from tests.recording import Table


def names(torch: Any, case: str) -> list[str]:
    """The names in order."""
    return sorted({m.name for m in pkgutil.iter_modules(torch.__path__)} | {n.split(".")[1] for n in sys.modules if n.startswith("torch.")})


TABLE = Table("module_names", ["torch"], names)
