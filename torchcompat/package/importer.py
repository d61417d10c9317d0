"""Where modules come from, and by what names objects are found in them."""

from __future__ import annotations

import importlib
import logging
import pickle
from abc import ABC, abstractmethod
from functools import reduce
from types import ModuleType
from typing import Any

from ._mangling import demangle, get_mangle_prefix, is_mangled

__all__ = ["ObjNotFoundError", "ObjMismatchError", "Importer", "OrderedImporter"]
log = logging.getLogger(__name__)


class ObjNotFoundError(Exception):
    """An importer finds no object of that name."""


class ObjMismatchError(Exception):
    """An importer finds another object of the same name."""


def attribute(module: ModuleType, name: str) -> Any:
    """What a name with dots stands for in a module; AttributeError where it is nothing."""
    return reduce(getattr, name.split("."), module)


class Importer(ABC):
    """Modules by name. What `get_name` gives for an object leads back to it: `getattr(importer.import_module(module), name)`."""

    modules: dict[str, ModuleType]

    @abstractmethod
    def import_module(self, module_name: str) -> ModuleType:
        """The module of a name; ModuleNotFoundError where there is none."""

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """The names of the module that has an object, and of it there.

        Args:
            name: the object's own name, where it is known better than the object tells.

        Raises:
            ObjNotFoundError: there is nothing of that name.
            ObjMismatchError: there is something else.
        """
        name = name or _told(obj) or getattr(obj, "__qualname__", None) or obj.__name__
        module_name = demangle(self.whichmodule(obj, name))
        try:
            found = attribute(self.import_module(module_name), name)
        except (ImportError, KeyError, AttributeError):
            raise ObjNotFoundError(f"{obj} was not found as {module_name}.{name}") from None
        if found is obj:
            return module_name, name
        (mine, my_place, my_importer), (other, other_place, other_importer) = [self._origin(o, name) for o in (obj, found)]
        raise ObjMismatchError(
            f"\n\nThe object provided is from '{mine}', which is coming from {my_place}.\nHowever, when we import '{other}', it's coming "
            f"from {other_place}.\nTo fix this, make sure this 'PackageExporter's importer lists {my_importer} before {other_importer}.")

    def _origin(self, obj: object, name: str) -> tuple[str, str, str]:
        """(module, place, importer) of an object, in words."""
        module = self.whichmodule(obj, name)
        if not is_mangled(module):
            return module, "the current Python environment", "'sys_importer'"
        return module, get_mangle_prefix(module), f"the importer for {get_mangle_prefix(module)}"

    def whichmodule(self, obj: Any, name: str) -> str:
        """The name of the module that an object says it is of, or that has it; "__main__" where there is none."""
        said = getattr(obj, "__module__", None)
        if said is not None:
            return str(said)
        for module_name, module in self.modules.copy().items():
            if module is None or module_name in ("__main__", "__mp_main__"):
                continue
            try:
                if attribute(module, name) is obj:
                    return module_name
            except AttributeError:
                continue
        return "__main__"


def _told(obj: object) -> str | None:
    """The name that an object gives for itself where it is pickled by name."""
    if obj is None or type(obj) in pickle._Pickler.dispatch or not hasattr(obj, "__reduce__"):
        return None
    try:
        found = obj.__reduce__()
    except Exception:  # a class, whose method wants an instance, or what cannot be pickled
        return None
    return found if isinstance(found, str) else None


def outside(name: str) -> ModuleType:
    """A module that is no package's; torch is this package, whether or not it goes by that name."""
    if name == "torch" or name.startswith("torch."):
        return importlib.import_module("torchcompat" + name.removeprefix("torch"))
    return importlib.import_module(name)


class _SysImporter(Importer):
    """The modules of Python itself."""

    def import_module(self, module_name: str) -> ModuleType:
        """As `importlib.import_module`."""
        return outside(module_name)

    def whichmodule(self, obj: object, name: str) -> str:
        """As pickles name it."""
        said = getattr(obj, "__module__", None)
        return str(pickle.whichmodule(obj, name) if said is None else said)  # type: ignore[attr-defined]  # which the module has


sys_importer = _SysImporter()


class OrderedImporter(Importer):
    """Several importers: the first that finds a module, or an object, gives it."""

    def __init__(self, *args: Importer) -> None:
        self._importers = list(args)

    def get_name(self, obj: object, name: str | None = None) -> tuple[str, str]:
        """The names by the first importer that has any; ObjNotFoundError where none has."""
        for importer in self._importers:
            try:
                return importer.get_name(obj, name)
            except (ObjNotFoundError, ObjMismatchError) as error:
                log.warning("Tried to call get_name with obj %s, and name %s on %s and got %s", obj, name, importer, error)
        raise ObjNotFoundError(f"Could not find obj {obj} and name {name} in any of the importers {self._importers}")

    def import_module(self, module_name: str) -> ModuleType:
        """The module of the first importer that has one with code, for a package has empty ones above what it holds.

        Raises:
            TypeError: one of them is no importer.
            ModuleNotFoundError: none has it.
        """
        last: ModuleNotFoundError | None = None
        for importer in self._importers:
            if not isinstance(importer, Importer):
                raise TypeError(f"{importer} is not a Importer. All importers in OrderedImporter must inherit from Importer.")
            try:
                module = importer.import_module(module_name)
            except ModuleNotFoundError as error:
                last = error
                continue
            made = getattr(module, "__torch_package__", False) and hasattr(module, "__path__")
            if not made or getattr(module, "__file__", None) is not None:
                return module
        raise last or ModuleNotFoundError(module_name)

    def whichmodule(self, obj: object, name: str) -> str:
        """By the first importer that knows."""
        found = [importer.whichmodule(obj, name) for importer in self._importers]
        return next((module for module in found if module != "__main__"), "__main__")
