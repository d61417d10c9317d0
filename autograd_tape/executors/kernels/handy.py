"""Kernels for few numbers: machine code that is at hand already, of kernels whose results have the same bits as NumPy's.

Below ``state.fused`` a kernel is not worth being compiled, but once it is, a call of it costs less than one of NumPy's ufuncs on few
numbers. Which of the two serves may depend on what ran before only where both give the same bits, so this is for such kernels alone: those
that choose elements, or add them up one after another in the order in which NumPy does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import numpy as np

from ._kernel import AnyKernel
from ._on_demand import _NEVER, LazyModule, state, worth
from .sharing import get_num_threads, share_elements, share_rows

__all__ = ["Exact", "Handy", "Listed"]

#: Seconds that NumPy takes for a few calls, and for a number in each.
CALL, NUMBER = 1e-5, 5e-9

#: Work of a kernel that nobody shares, in elements against a copy.
LITTLE = 32768
Run = Callable[..., object]
"""``run(items, 1, *arguments)`` does all of a kernel's items on this thread."""


class Handy:
    """A shared kernel for few numbers.

    >>> from autograd_tape.executors.kernels._on_demand import use_numba
    >>> previous = use_numba("numpy")
    >>> Handy("pooling", "max_windows").of("f", 100) is None
    True
    >>> _ = use_numba(previous)
    """

    __slots__ = ("_kept", "_module", "_name", "_ready", "_spent", "_whole")
    _variant = "shared"

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name, self._spent = module, name, 0.0
        self._whole: AnyKernel | None = None
        self._ready: dict[str, Run] = {}
        self._kept: dict[str, bool] = {}

    @property
    def at_hand(self) -> dict[str, Run]:
        """The kernel by dtype, where machine code was loaded; whether it is to serve, `state.fused` says."""
        return self._ready

    def of(self, char: str, n: int) -> Run | None:
        """The kernel for a dtype where its machine code is at hand, or is worth having after what has been asked for; `n` numbers are
        to be computed."""
        if state.fused == _NEVER:
            return None
        return self._ready.get(char) or self._asked(char, n)

    def surely(self, char: str) -> Run:
        """The kernel, loaded or compiled if need be."""
        return self._ready.get(char) or self._loaded(char)

    def _asked(self, char: str, n: int) -> Run | None:
        self._spent += CALL + n * NUMBER
        return self._loaded(char) if worth(self._spent, lambda: self._is_kept(char)) else None

    def _loaded(self, char: str) -> Run:
        self._ready[char] = run = partial(self._kernel.shared[char], np.zeros(128, np.int64))
        return run

    @property
    def _kernel(self) -> AnyKernel:
        if self._whole is None:  # found once: what was kept is loaded by whoever finds it
            self._whole = getattr(LazyModule(self._module), self._name)
        kernel: AnyKernel = self._whole
        return kernel

    def share(self, char: str, rows: int, cols: int, work: int, *arguments: object) -> None:
        """`share_rows`, whose search of somebody to share with is spared where there is little to do, or nobody. The kernel is loaded if
        need be."""
        if rows * cols * work < LITTLE or rows == 1 or get_num_threads() == 1:
            (self._ready.get(char) or self._loaded(char))(rows, 1, *arguments)
        else:
            share_rows(self._kernel, char, rows, cols, work, *arguments)

    def _is_kept(self, char: str) -> bool:
        """Whether the machine code is on disk."""
        if char not in self._kept:
            from ._store import Store, file_name

            self._kept[char] = os.path.exists(Store(file_name(f"{self._module}.{self._name}", self._variant, char)).path)
        return self._kept[char]


class Listed(Handy):
    """A kernel over the arrays of lists: ``run = kernel.of("f", n)``, and then ``run(*arguments)`` with a tuple for each array. Nothing is
    written where it raises, unless memory that it was given has changed since."""

    __slots__ = ()
    _variant = "listed"

    def rows(self, char: str, n: int) -> Run | None:
        """The kernel for a dtype, as `of` gives it, where `n` rows take NumPy a call each."""
        return self.of(char, int(n * CALL / NUMBER))

    def _loaded(self, char: str) -> Run:
        run: Run = self._ready.setdefault(char, self._kernel.listed[char])
        return run


class Exact:
    """A kernel over elements for many numbers and for few: ``run = kernel.over("f", n)``, and then ``run(n, 1, *arguments)``."""

    __slots__ = ("_at_hand", "_few", "_many", "_module", "_name")

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name, self._few = module, name, Handy(module, name)
        self._at_hand = self._few.at_hand
        self._many: dict[str, Run] = {}

    @property
    def at_hand(self) -> dict[str, Run]:
        """The kernel by dtype, for few, as `Handy.at_hand`."""
        return self._few.at_hand

    def over(self, char: str, n: int, many: int | None = None) -> Run | None:
        """What runs it, for so `many` elements surely; None where NumPy is to."""
        if n < LITTLE and (run := self._at_hand.get(char)) is not None and state.fused != _NEVER:
            return run
        if n < (state.fused if many is None else many):
            return self._few.of(char, n)
        if n < LITTLE:
            return self._few.surely(char)
        return self._many.get(char) or self._shared(char)

    def _shared(self, char: str) -> Run:
        kernel = getattr(LazyModule(self._module), self._name)

        def run(n: int, _: int, *arguments: object) -> None:
            share_elements(kernel, char, n, *arguments)

        return self._many.setdefault(char, run)
