"""Settings of torch's own compiler, which is not here."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from torchcompat._calls.absent import absences as _absences, submodules as _submodules


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> object:
        if name in _submodules(__name__):
            return _import_module(f".{name}", __name__)
        return _absences(__name__)(name)
