"""What is done to whole graphs."""

from typing import TYPE_CHECKING

from torchcompat._calls.absent import absent as _absent, submodules as _submodules
from importlib import import_module as _import_module

from . import shape_prop, split_module

if TYPE_CHECKING:
    from . import dialect as dialect, infra as infra

__all__ = ["shape_prop", "split_module"]


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> object:
        if name in _submodules(__name__):
            return _import_module(f".{name}", __name__)
        raise _absent(__name__, name)
