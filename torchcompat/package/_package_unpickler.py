"""Pickles of packages, whose classes and functions an importer finds."""

from __future__ import annotations

import pickle
from typing import IO, Any

from .._files.rebuild import torchs
from .importer import Importer, attribute


class PackageUnpickler(pickle._Unpickler):
    """An unpickler; torch's names are this package's."""

    def __init__(self, importer: Importer, file: IO[bytes], **kwargs: Any) -> None:
        super().__init__(file, **kwargs)
        self._importer = importer

    def find_class(self, module: str, name: str) -> Any:
        """What a pickle names."""
        if module == "torch" or module.startswith("torch."):
            return torchs(module, name)
        return attribute(self._importer.import_module(module), name)
