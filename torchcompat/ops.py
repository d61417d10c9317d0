"""torch.ops: operations by their names in ATen, and by those that programs gave them, and their overloads.

>>> import torchcompat as torch
>>> torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2))
tensor([2., 2.])
"""

from __future__ import annotations

import ctypes as _ctypes  # a namespace of operations may have any name
import importlib as _importlib
import os as _os
import types
from typing import TYPE_CHECKING

from .autograd.profiler import record_function
from ._calls.aten import aten as aten, namespace

if TYPE_CHECKING:
    from torchcompat._calls.aten import _OpNamespace


def _enter(name: str, args: str | None = None) -> record_function:
    return record_function(name, args).__enter__()


def _exit(record: record_function) -> None:
    record.__exit__(None, None, None)


loaded_libraries: set[str] = set()
"""The paths of shared libraries that programs loaded."""


_extensions: dict[str, object] = {}
"""The operations that are ours of compiled libraries that cannot be loaded, by packages."""


def load_library(path: str | _os.PathLike[str]) -> None:
    """Loads a shared library, which runs what it does when it is loaded. torchvision's cannot be, since it wants torch's own: its
    operations are ours.

    Raises:
        TypeError: that is no path.
        OSError: there is none at that path, or it needs what is not there.
    """
    whole = _os.path.realpath(path)
    if _os.path.basename(_os.path.dirname(whole)) == "torchvision" and _os.path.basename(whole).startswith("_C."):
        if "torchvision" not in _extensions:
            _extensions["torchvision"] = _importlib.import_module("._library.vision", __package__).define()
        loaded_libraries.add(whole)
        return
    try:
        _ctypes.CDLL(whole)
    except Exception as error:
        raise OSError(f"Could not load this library: {whole}") from error
    loaded_libraries.add(whole)


def import_module(module: str) -> None:
    """Imports a module, for the operations that it registers."""
    _importlib.import_module(module)


profiler = types.SimpleNamespace(_record_function_enter_new=_enter, _record_function_exit=_exit)


def __getattr__(name: str) -> _OpNamespace:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
    return namespace(name)
