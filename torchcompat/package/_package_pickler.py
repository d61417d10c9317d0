"""Pickles whose classes and functions are found by an importer."""

from __future__ import annotations

import functools
import pickle
from typing import IO, Any

from .._files.pickler import pickler_class, torch_path
from .importer import Importer, ObjMismatchError, ObjNotFoundError, attribute, sys_importer


@functools.cache
def _class() -> Any:
    base: Any = pickler_class(pickle)

    class PackagePickler(base):
        def __init__(self, importer: Importer, file: IO[bytes], protocol: int, persistent_id: Any) -> None:
            super().__init__(file, protocol)
            self.importer, self._persistent = importer, persistent_id

        def persistent_id(self, obj: object) -> Any:
            return self._persistent(obj)

        def save_global(self, obj: Any, name: str | None = None) -> None:
            if self.importer is sys_importer or torch_path(obj) is not None:
                super().save_global(obj, name)
                return
            try:
                module_name, name = self.importer.get_name(obj, name)
            except (ObjNotFoundError, ObjMismatchError) as error:
                raise pickle.PicklingError(f"Can't pickle {obj}: {error}") from error
            outer, _, last = name.rpartition(".")
            if self.proto >= 4:
                self.save(module_name)
                self.save(name)
                self.write(pickle.STACK_GLOBAL)
            elif outer:
                self.save_reduce(getattr, (attribute(self.importer.import_module(module_name), outer), last))
            else:
                self.write(pickle.GLOBAL + f"{module_name}\n{name}\n".encode())
            self.memoize(obj)

        dispatch = {**base.dispatch, type(_class): save_global}

    return PackagePickler


def create_pickler(file: IO[bytes], importer: Importer, protocol: int, persistent_id: Any) -> Any:
    """A pickler that writes to a file.

    Args:
        importer: who finds what objects are named by.
        persistent_id: from objects to what stands for them, or None.
    """
    return _class()(importer, file, protocol, persistent_id)
