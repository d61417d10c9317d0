"""Where an object comes from."""

from __future__ import annotations

from types import ModuleType

from .._mangling import is_mangled


def is_from_package(obj: object) -> bool:
    """Whether a module, or the class of an object, was loaded from a package."""
    return is_mangled(obj.__name__ if type(obj) is ModuleType else type(obj).__module__)
