"""Deterministic mode: operations that torch has no deterministic implementation of refuse, and memory that nobody wrote is filled.

Everything here gives the same results each time. Programs that are held to determinism elsewhere shall learn of it here, too, so what torch
refuses on the CPU is refused: the records say so (`undetermined`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_tape import warned
from autograd_tape.calls import Call, Door, Interceptor, listen, unlisten

from .._tensor import Tensor
from .above import above
from .shown import shown_in

fill_uninitialized_memory = True
"""Whether memory that nobody wrote is filled in deterministic mode: with NaN, or the largest number that the dtype has."""


class _Watching(Interceptor):
    """Refuses, or warns of, operations without a deterministic implementation, and fills what is left unset."""

    place = "determinism"
    all_functions = warn_only = False

    def concerns(self, door: Door) -> bool:
        return bool(door.rec.field("undetermined") or door.rec.field("unset"))

    def __call__(self, call: Call) -> Any:
        if call.rec.field("unset"):
            result = call.proceed()
            if isinstance(result, Tensor):
                fill(result)
            return result
        name = call.rec.field("undetermined")(**dict(zip([p.name for p in call.door.params], call.args)))
        if name is not None:
            alert(name)
        return NotImplemented


_WATCHING = _Watching()
_mode = False


def alert(name: str) -> None:
    """What deterministic mode says of an operation.

    Raises:
        RuntimeError: unless it only warns.
    """
    told = f"{name} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True"
    help_them = ("file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for this "
                 "operation.")
    if _WATCHING.warn_only:
        warned.warn(f"{told}, warn_only=True)'. You can {help_them}", UserWarning)
        return
    raise RuntimeError(f"{told})'. You can turn off determinism just for this operation, or you can use the 'warn_only=True' option, if "
                       f"that's acceptable for your application. You can also {help_them}")


def fill(tensor: Tensor, start: int = 0) -> None:
    """Fills memory that nobody wrote, of a tensor whose elements from `start` on are new, if the mode asks for it."""
    array = tensor._data
    if not (_mode and fill_uninitialized_memory) or array.__class__ is not np.ndarray:
        return
    kind = array.dtype.kind
    value = True if kind == "b" else np.iinfo(array.dtype).max if kind in "iu" else float("nan")
    if start:
        array.reshape(-1)[start:] = value
    else:
        array[...] = value


above.fill = fill


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Makes operations that have no deterministic implementation in torch refuse, or warn.

    Raises:
        TypeError: `mode` or `warn_only` is no bool.
    """
    global _mode
    for name, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(f"_set_deterministic_algorithms(): argument {name} must be bool, not {type(value).__name__}")
    if mode is not _mode:
        (listen if mode else unlisten)(_WATCHING)
    _mode, _WATCHING.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether the mode is on."""
    return _mode


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it only warns."""
    return _WATCHING.warn_only


def get_deterministic_debug_mode() -> int:
    """0 where the mode is off, 1 where it warns, 2 where it refuses."""
    return 0 if not _mode else 1 if _WATCHING.warn_only else 2


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same as `use_deterministic_algorithms`, by the number or its word: "default", "warn", "error".

    Raises:
        TypeError: it is neither an int nor a string.
        RuntimeError: it is no such number or word.
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    words = ("default", "warn", "error")
    if isinstance(debug_mode, str):
        if debug_mode not in words:
            raise RuntimeError(f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}")
        debug_mode = words.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


shown_in("torchcompat", are_deterministic_algorithms_enabled, get_deterministic_debug_mode,
         is_deterministic_algorithms_warn_only_enabled, set_deterministic_debug_mode, use_deterministic_algorithms)
