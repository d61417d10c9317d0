"""torch.utils.deterministic: whether deterministic mode fills memory that nobody wrote."""

from __future__ import annotations

import sys
import types

from .._calls import determinism


class _Deterministic(types.ModuleType):
    """The module with its flag."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether it does."""
        return determinism.fill_uninitialized_memory

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        determinism.fill_uninitialized_memory = mode


sys.modules[__name__].__class__ = _Deterministic
