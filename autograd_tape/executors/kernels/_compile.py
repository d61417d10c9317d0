"""Lazy compilation of the fused kernels, and the rule that says when they are used at all.

The kernels live in ``compiled/`` as plain loops; that folder imports Numba, so nothing imports it until an array is big
enough to pay for it.  The choice depends on the array's size only, never on what ran before, so a program computes the
same bits on every run.

========================================  ==============================================================================
``AUTOGRAD_TAPE_KERNELS``                 ``auto`` (default): compiled kernels for big arrays where Numba is installed;
                                          ``numba``: for arrays of every size; ``numpy``: never
``AUTOGRAD_TAPE_CACHE_DIR``               where machine code is kept (default ``~/.cache/autograd_tape``)
========================================  ==============================================================================
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

__all__ = ["Kernel", "LazyModule", "available", "compile_all", "compute_array", "contiguous", "use_numba", "uses_numba"]

#: The smallest number of elements for which ``auto`` picks a compiled kernel over cheap NumPy ufuncs ...
SIZE_CHEAP = 32768
#: ... and over NumPy compositions of many passes (gelu, softmax, norms, losses).
SIZE_FUSED = 8192
_NEVER = 1 << 62

_MODES = ("auto", "numba", "numpy")
_lock = RLock()
_announced = False


class _State:
    """Thresholds as plain attributes: the quiet path reads one attribute and compares."""

    __slots__ = ("cheap", "fused", "mode")

    def __init__(self) -> None:
        self.mode = ""
        self.cheap = self.fused = _NEVER


state = _State()


def available() -> bool:
    """Whether Numba is installed (it is not imported to find out)."""
    return find_spec("numba") is not None


def use_numba(flag: bool | str) -> str:
    """Choose the kernels: ``True``/``"numba"``, ``False``/``"numpy"`` or ``"auto"``; return the previous mode.

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
    if mode == "numba":
        state.cheap = state.fused = 1
    elif mode == "auto" and available():
        state.cheap, state.fused = SIZE_CHEAP, SIZE_FUSED
    else:
        state.cheap = state.fused = _NEVER
    state.mode = mode
    return previous


def uses_numba(size: int) -> bool:
    """Whether a fused kernel over ``size`` elements runs compiled in the present mode."""
    return size >= state.fused


def _mode_from_environment() -> str:
    mode = os.environ.get("AUTOGRAD_TAPE_KERNELS", "").lower() or "auto"
    if mode not in _MODES:
        raise ValueError(f"environment variable AUTOGRAD_TAPE_KERNELS: expected one of {_MODES}, got {mode!r}")
    return mode


use_numba(_mode_from_environment())


def _after_fork() -> None:
    """A lock that another thread held at the fork would never open in the child."""
    global _lock
    _lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def compute_array(x: np.ndarray) -> np.ndarray:
    """``x`` as float32 or float64: half precision computes in float32, integers and bool too (torch's rule)."""
    char = x.dtype.char
    if (char == "f" or char == "d") and x.dtype.isnative:
        return x
    return x.astype(np.float64 if x.dtype.kind == "f" and x.dtype.itemsize >= 8 else np.float32)


def is_half(dtype: np.dtype) -> bool:
    """Whether ``dtype`` is float16 or bfloat16 (which NumPy sees as a dtype of unknown kind)."""
    return dtype.itemsize == 2 and dtype.kind not in "iub"


def contiguous(x: np.ndarray) -> np.ndarray:
    """``x`` itself when C-contiguous and aligned (what compiled kernels take), else a copy that is."""
    flags = x.flags
    if flags.c_contiguous and flags.aligned:
        return x
    return x.copy(order="C")


class LazyModule:
    """``compiled.<name>``, imported at the first attribute; attributes then live on this object itself."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # inspection is no reason to import a compiler
            raise AttributeError(attribute)
        module = importlib.import_module(f"{__package__}.compiled.{self._name}")
        value = getattr(module, attribute)
        setattr(self, attribute, value)
        return value


class _Compiled(dict[str, Callable[..., Any]]):
    """Machine code by dtype character, compiled when it is first asked for."""

    def __missing__(self, char: str) -> Callable[..., Any]:
        with _lock:
            if char not in self:
                self[char] = self._compile(char)
        return self[char]

    def _compile(self, char: str) -> Callable[..., Any]:
        raise NotImplementedError


class Kernel(_Compiled):
    """A loop in Python, compiled for one dtype at a time: ``kernel["f"](...)`` for float32, ``kernel["d"]`` for
    float64.

    ``spec`` names the arguments, separated by blanks: ``r2`` a read-only, ``w2`` a writable C-contiguous 2-d array of
    the kernel's dtype; ``q1``/``Q1`` the same of int64, ``b1``/``B1`` of bool, ``u1``/``U1`` of uint32, ``d1``/``D1``
    of float64; ``i`` an int64 and ``s`` a float64 scalar.  Explicit signatures spare the type inference of every call.
    """

    registry: dict[str, Kernel] = {}

    def __init__(self, function: Callable[..., Any], spec: str, fastmath: frozenset[str]) -> None:
        super().__init__()
        self.function = function
        self.spec = spec.split()
        self.fastmath = fastmath
        self.shared = Shared(self)
        Kernel.registry[f"{function.__module__.rpartition('.')[2]}.{function.__name__}"] = self

    def _compile(self, char: str) -> Callable[..., Any]:
        return _machine_code(self.function, self.types(char), self.fastmath)

    def types(self, char: str) -> list[Any]:
        """The compiler's types of the arguments."""
        from numba import types

        dtypes = {"q": types.int64, "b": types.boolean, "u": types.uint32, "d": types.float64}
        own = {"f": types.float32, "d": types.float64}[char]

        def numba_type(token: str) -> Any:
            if token == "i":
                return types.int64
            if token == "s":
                return types.float64
            kind, ndim = token[0], int(token[1:])
            dtype = own if kind in "rw" else dtypes[kind.lower()]
            return types.Array(dtype, ndim, "C", readonly=kind != "w" and kind.islower())

        return [numba_type(token) for token in self.spec]


class Shared(_Compiled):
    """A kernel whose last arguments are ``start, stop``, for threads that share its items: ``kernel.shared["f"](cells,
    items, chunks, ...)``, with the kernel's other arguments; see ``compiled/team.py``."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.kernel = kernel

    def _compile(self, char: str) -> Callable[..., Any]:
        from numba import types

        from .compiled.team import binder, share

        function, inner = self.kernel.function, self.kernel.types(char)[:-2]
        names = ", ".join(f"a{i}" for i in range(len(inner)))
        name = f"{function.__name__}_shared"
        text = f"def {name}(cells, items, chunks, {names}): share(cells, items, chunks, *bind(({names},)))"
        namespace = {"__name__": function.__module__, "share": share, "bind": binder(self.kernel[char])}
        # Under the name of the kernel's file, where the compiler looks whether what it has kept is still good.
        exec(compile(text, function.__code__.co_filename, "exec"), namespace)
        counts = [types.Array(types.int64, 1, "C"), types.int64, types.int64]
        return _machine_code(namespace[name], counts + inner, frozenset())


def _machine_code(function: Callable[..., Any], arguments: list[Any], fastmath: frozenset[str]) -> Callable[..., Any]:
    """``function`` compiled for arguments of the given types, or loaded from where it was kept."""
    import numba
    from numba import njit, types

    config: Any = numba.config
    flags: Any = set(fastmath) or False
    dispatcher: Any = njit(nogil=True, fastmath=flags, error_model="numpy")(function)
    folder = cache_dir()
    if _writable(folder):
        previous = config.CACHE_DIR  # read when caching is switched on, so other users of Numba see no change
        try:
            config.CACHE_DIR = folder
            dispatcher.enable_caching()
        finally:
            config.CACHE_DIR = previous
        _announce_on_miss(dispatcher, folder)
    else:
        _announce(f"not cached: {folder} is not writable")
    dispatcher.compile(types.void(*arguments))
    dispatcher.disable_compile()
    return dispatcher


@cache
def _sources() -> str:
    """A digest of all compiled sources."""
    digest = hashlib.sha256()
    for path in sorted((Path(__file__).parent / "compiled").glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def cache_dir() -> str:
    """The folder of this version's machine code.

    Numba checks only the file a kernel is in for changes, not the helpers that were inlined into it, so the folder's
    name is a digest of all the sources.
    """
    base = os.environ.get("AUTOGRAD_TAPE_CACHE_DIR")
    if not base:
        base = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "autograd_tape")
    return os.path.join(base, f"kernels-{_sources()}")


def _writable(folder: str) -> bool:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def _announce(where: str) -> None:
    global _announced
    if not _announced:
        _announced = True
        print(f"autograd_tape: compiling CPU kernels (first use only, {where})", file=sys.stderr, flush=True)


def _announce_on_miss(dispatcher: Any, folder: str) -> None:
    """Say once that a compilation begins, and only when the cache does not have the code."""
    load = dispatcher._cache.load_overload

    def load_overload(signature: Any, target: Any) -> Any:
        cached = load(signature, target)
        if cached is None:
            _announce(f"cached in {folder}")
        return cached

    dispatcher._cache.load_overload = load_overload


def compile_all(dtypes: str = "fd") -> int:
    """Compile every kernel for the dtype characters in ``dtypes`` (to fill the cache of an image); return how many."""
    folder = Path(__file__).parent / "compiled"
    for path in sorted(folder.glob("*.py")):
        if path.stem != "__init__":
            importlib.import_module(f"{__package__}.compiled.{path.stem}")
    for kernel in Kernel.registry.values():
        for char in dtypes:
            if kernel.spec[-2:] == ["i", "i"]:
                kernel.shared[char]  # which compiles the kernel itself, too
            else:
                kernel[char]
    return len(Kernel.registry) * len(dtypes)
