"""A package that was unpacked into a folder, read as its archive would be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from autograd_tape.dtypes import DType

from ..storage import UntypedStorage

_ID = ".data/serialization_id"


class _HasStorage:
    """What has a storage, as a tensor would."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def storage(self) -> Any:
        """It."""
        return self._storage

    _typed_storage = storage


class DirectoryReader:
    """Reads the files of a folder as records."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = os.fspath(directory)

    def get_record(self, name: str) -> bytes:
        """The content of a file."""
        return Path(self.directory, name).read_bytes()

    def get_storage_from_record(self, name: str, numel: int, dtype: DType) -> _HasStorage:
        """A storage over a file."""
        return _HasStorage(UntypedStorage.from_file(os.path.join(self.directory, name), False, numel * dtype.itemsize))

    def has_record(self, path: str) -> bool:
        """Whether there is a file."""
        return os.path.isfile(os.path.join(self.directory, path))

    def get_all_records(self) -> list[str]:
        """The paths of all files but hidden ones."""
        root = Path(self.directory)
        paths = [path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file()]
        return [path.as_posix() for path in paths if not any([part.startswith(".") for part in path.parts])]

    def serialization_id(self) -> str:
        """What the package says that it is; empty where it does not."""
        return self.get_record(_ID).decode() if self.has_record(_ID) else ""
