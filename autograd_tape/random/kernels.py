"""Compiled kernels for large draws; every one computes the same bits as its NumPy composition in this package.

The loops are in `executors/kernels/compiled/random.py`, and those from words to an array of any dtype in `drawn.py` beside it, under the
same rules and in the same store of machine code as all others.
The first large draw asks `load` for them, which imports the compiler (numba) unless their machine code was kept.  Without numba `load`
answers ``None`` and the compositions serve every size.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

WORTH_IMPORTING = 1 << 18  # draws below this size do not pay for importing the compiler,
WORTH_LOADING = 1 << 12  # nor below this one for loading the compiled code where the compiler is imported already, or not needed

PATIENCE = 5000  # as many small draws take as long without the compiled code as importing the compiler does,
LESS_PATIENCE = 300  # as many as loading the code alone does, and so do
WORDS = 512  # so many times as many words

_loaded: Kernels | None = None
_tried = False
_small_draws = 0


class Kernels:
    """The compiled functions as attributes, each loaded when it is first asked for."""

    def __init__(self) -> None:
        from ..executors.kernels._on_demand import LazyModule

        self._modules = {name: LazyModule(name) for name in ("random", "drawn")}
        self._found: dict[tuple[str, str, str], Any] = {}

    def __getattr__(self, name: str) -> Any:
        found = self.of(name, "f")
        setattr(self, name, found)
        return found

    def of(self, name: str, char: str, module: str = "random") -> Any:
        """The kernel for a dtype's character."""
        if (found := self._found.get((name, char, module))) is not None:
            return found
        from ..executors.kernels._kernel import KeptKernel, Kernel

        kernel = getattr(self._modules[module], name, None)
        if not isinstance(kernel, (Kernel, KeptKernel)):
            raise AttributeError(name)
        found = self._found[name, char, module] = kernel[char]
        return found


def _links() -> bool:
    """Whether machine code that was kept is being linked, for which no compiler is imported."""
    found = sys.modules.get("autograd_tape.executors.kernels._on_demand")
    return found is not None and found.state.linking


def load(size: int) -> Kernels | None:
    """The compiled kernels, or ``None`` where the draw is too small to pay for them or numba is absent."""
    global _loaded, _tried, _small_draws
    if _tried:
        return _loaded
    _small_draws += 1 + size // WORDS
    ready = sys.modules.get("numba") is not None or _links()
    if size >= (WORTH_LOADING if ready else WORTH_IMPORTING) or _small_draws > (LESS_PATIENCE if ready else PATIENCE):
        _loaded = Kernels() if find_spec("numba") is not None else None
        _tried = True
    return _loaded
