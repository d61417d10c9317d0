"""Lazy compilation of the fused kernels, and the rule that says when they are used at all.

The kernels live in ``compiled/`` as plain loops; that folder imports Numba, so nothing imports it until an array is big
enough to pay for it.  The choice depends on the array's size only, never on what ran before, so a program computes the
same bits on every run.

========================================  ==============================================================================
``AUTOGRAD_TAPE_KERNELS``                 ``auto`` (default): compiled kernels for big arrays where Numba is installed;
                                          ``kept``: for smaller ones, too, where ``python -m autograd_tape compile`` has made
                                          them; ``numba``: for arrays of every size; ``numpy``: never
``AUTOGRAD_TAPE_CACHE_DIR``               where machine code is kept (default ``~/.cache/autograd_tape``), see ``_store``
========================================  ==============================================================================
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

__all__ = [
    "LazyModule", "available", "compiled_kernels", "contiguous", "keep", "note_compiled", "use_numba", "uses_numba", "within",
]

T = TypeVar("T")
#: The smallest number of elements for which ``auto`` picks a compiled kernel over cheap NumPy ufuncs ...
SIZE_CHEAP = 32768
#: ... and over NumPy compositions of many passes (gelu, softmax, norms, losses).
SIZE_FUSED = 8192
#: The largest number of elements that loops take in double precision, in Python until they are worth being compiled, and not NumPy.
SIZE_SHORT = 64
#: The smallest number of elements of half precision, which NumPy converts one by one, for which functions are compiled.
SIZE_HALF = SIZE_FUSED // 16
#: What these are where the machine code was made beforehand, so that nobody waits for it.
_KEPT = SIZE_CHEAP // 16, SIZE_FUSED // 16, 8 * SIZE_SHORT, 1
#: Up to which `state.fused` machine code was made beforehand.
KEPT = _KEPT[1]
#: Seconds spent on few numbers without machine code after which it is worth being loaded, where it was kept, and being compiled: a
#: millisecond, and one or two seconds, but once for all processes to come.
LOADED, COMPILED = 5e-4, 0.5
_NEVER = 1 << 62
_FEW = 48  # numbers that Python compares before NumPy has begun

_MODES = ("auto", "kept", "numba", "numpy")


class Compiled(NamedTuple):
    """How many functions were compiled, and in how many seconds."""

    count: int  # type: ignore[assignment]  # of tuples it is a method, for which nobody asks here
    seconds: float


_compiled = Compiled(0, 0.0)


def keep(ways: dict[Any, T], key: object, way: T, most: int = 2048) -> T:
    """Keeps what was found for a key, which is given back; of too many all are forgotten, since new ones come as often as old ones then.

    >>> keep({}, "key", 3)
    3
    """
    if len(ways) >= most:
        ways.clear()
    ways[key] = way
    return way


def compiled_kernels() -> Compiled:
    """How many functions this process has compiled so far, and the seconds that took; what was compiled before and kept is not counted.

    >>> compiled_kernels().count >= 0
    True
    """
    return _compiled


def note_compiled(seconds: float) -> None:
    """Count a function that was compiled; the lock under which all are compiled is held."""
    global _compiled
    _compiled = Compiled(_compiled.count + 1, _compiled.seconds + seconds)


class _State:
    """Thresholds as plain attributes: the quiet path reads one attribute and compares."""

    __slots__ = ("cheap", "copied", "fused", "half", "linking", "mode", "short")

    def __init__(self) -> None:
        #: A copy of many elements in rows, by NumPy until kernels are there (`sharing.copy`).
        self.copied: Callable[[np.ndarray], np.ndarray] = lambda x: x.copy(order="C")
        self.mode, self.linking = "", False
        self.cheap = self.fused = self.half = _NEVER
        self.short = 0


state = _State()


@cache
def available() -> bool:
    """Whether Numba is installed (it is not imported to find out)."""
    return find_spec("numba") is not None


def at_hand() -> bool:
    """Whether little is needed for one compiled kernel more: the compiler is imported, or what was kept is being linked."""
    return state.linking or sys.modules.get("numba") is not None


def use_numba(flag: bool | str) -> str:
    """Choose the kernels: ``True``/``"numba"``, ``False``/``"numpy"``, ``"kept"`` or ``"auto"``; return the previous mode.

    >>> previous = use_numba("numpy")
    >>> use_numba(previous)
    'numpy'
    """
    mode = ("numba" if flag else "numpy") if isinstance(flag, bool) else flag
    if mode not in _MODES:
        raise ValueError(f"use_numba: expected True, False or one of {_MODES}, got {flag!r}")
    if mode == "numba" and not available():
        raise ModuleNotFoundError(
            "use_numba: compiled kernels were asked for, but Numba is not installed; "
            "install the optional extra with `pip install autograd-tape[fast]`"
        )
    previous = state.mode
    state.short = 0
    if mode == "numba":
        state.cheap = state.fused = state.half = 1
    elif mode == "auto" and available():
        state.cheap, state.fused, state.short, state.half = SIZE_CHEAP, SIZE_FUSED, SIZE_SHORT, SIZE_HALF
    elif mode == "kept" and available():
        state.cheap, state.fused, state.short, state.half = _KEPT
    else:
        state.cheap = state.fused = state.half = _NEVER
    state.mode = mode
    return previous


def worth(spent: float, is_kept: Callable[[], bool]) -> bool:
    """Whether machine code for few numbers is worth having for those who have spent so many seconds without it."""
    return state.mode == "numba" or spent >= COMPILED or spent >= LOADED and is_kept()


def uses_numba(size: int) -> bool:
    """Whether a fused kernel over ``size`` elements runs compiled in the present mode."""
    return size >= state.fused


def _mode_from_environment() -> str:
    mode = os.environ.get("AUTOGRAD_TAPE_KERNELS", "").lower() or "auto"
    if mode not in _MODES:
        raise ValueError(f"environment variable AUTOGRAD_TAPE_KERNELS: expected one of {_MODES}, got {mode!r}")
    return mode


use_numba(_mode_from_environment())


def is_half(dtype: np.dtype) -> bool:
    """Whether ``dtype`` is float16 or bfloat16 (which NumPy sees as a dtype of unknown kind)."""
    return dtype.itemsize == 2 and dtype.kind not in "iub"


def contiguous(x: np.ndarray) -> np.ndarray:
    """``x`` itself when C-contiguous and aligned (what compiled kernels take), else a copy that is."""
    flags = x.flags
    if flags.c_contiguous and flags.aligned:
        return x
    return x.copy(order="C") if x.size < state.cheap else state.copied(x)


def within(index: np.ndarray, size: int) -> bool:
    """Whether all of ``index`` (int64) lies in ``range(size)``; seen as unsigned, negative numbers are large.

    >>> within(np.array([0, 2]), 3), within(np.array([0, -1]), 3)
    (True, False)
    """
    if index.size < _FEW:
        found = index.ravel().tolist()
        return not found or min(found) >= 0 and max(found) < size
    return int(np.maximum.reduce(index.view(np.uint64), None)) < size


def _has_vectors() -> bool:
    numpys = sys.modules.get("numpy._core._multiarray_umath") or sys.modules["numpy.core._multiarray_umath"]
    return sys.platform == "linux" and bool(numpys.__cpu_features__.get("AVX512_SKX"))


HAS_VECTORS = _has_vectors()
"""Whether NumPy computes elementary functions, and sorts integers, in vectors: by libraries for AVX-512 that it has on Linux."""


class LazyModule:
    """``compiled.<name>``, imported at the first attribute; attributes then live on this object itself.

    Kernels whose machine code was kept are found without the module, and so without the compiler that it imports.
    """

    #: What finds them by the module's name and their own, else None (see ``_kernel``).
    kept: ClassVar[Callable[[str, str], object]]

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # inspection is no reason to import a compiler
            raise AttributeError(attribute)
        value: Any = LazyModule.kept(self._name, attribute)
        if value is None:
            value = getattr(importlib.import_module(f"{__package__}.compiled.{self._name}"), attribute)
        setattr(self, attribute, value)
        return value
