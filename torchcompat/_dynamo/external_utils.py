"""Whether a program is being compiled, as programs ask that run while it is."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from torchcompat._calls.absent import absences as _absences


class _State(threading.local):
    compiling = 0
    exporting = 0


_state = _State()


def is_compiling() -> bool:
    """Whether a program runs that was compiled, or is being compiled or exported."""
    return _state.compiling > 0 or _state.exporting > 0


def is_exporting() -> bool:
    """Whether a program is being exported."""
    return _state.exporting > 0


@contextlib.contextmanager
def compiling(change: int = 1) -> Iterator[None]:
    """Inside, a compiled program runs; with a `change` of 0 none does."""
    before = _state.compiling
    _state.compiling = before + change if change else 0
    try:
        yield
    finally:
        _state.compiling = before


@contextlib.contextmanager
def exporting() -> Iterator[None]:
    """Inside, a program is being exported."""
    _state.exporting += 1
    try:
        yield
    finally:
        _state.exporting -= 1


def wrap_numpy(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's arrays as one of tensors."""
    import functools

    import torchcompat as torch
    from torchcompat.utils import _pytree as pytree

    @functools.wraps(f)
    def wrapped(*args: object, **kwargs: object) -> Any:
        given, named = pytree.tree_map_only(torch.Tensor, lambda x: x.numpy(), (args, kwargs))
        import numpy as np

        return pytree.tree_map_only(np.ndarray, torch.as_tensor, f(*given, **named))

    return wrapped


_absences(__name__)
