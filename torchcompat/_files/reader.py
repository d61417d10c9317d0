"""The records of an archive as torch's reader of them has it (`torch._C.PyTorchFileReader`)."""

from __future__ import annotations

import os
from typing import IO, Any

import numpy as np

from autograd_tape.dtypes import DType

import torchcompat as torch

from .archive import Archive


class PyTorchFileReader:
    """Reads the records of an archive at a path or in a file object.

    Raises:
        RuntimeError: it is no archive of `torch.save`, or there is no such record.
    """

    def __init__(self, file: str | os.PathLike[str] | IO[bytes]) -> None:
        self._file: Any = open(file, "rb") if isinstance(file, (str, os.PathLike)) else file
        self._archive = Archive(self._file)
        self._archive.check_version()

    def get_all_records(self) -> list[str]:
        """The names of the records."""
        return list(self._archive.records)

    def has_record(self, name: str) -> bool:
        """Whether there is a record of this name."""
        return name in self._archive

    def get_record(self, name: str) -> bytes:
        """The content of a record."""
        return self._archive.read(name)

    def get_record_size(self, name: str) -> int:
        """The length of the content of a record."""
        return self._archive.size(name)

    def get_record_offset(self, name: str) -> int:
        """Where in the file the content of a record starts."""
        return self._archive.place(name)[1]

    def get_record_header_offset(self, name: str) -> int:
        """Where in the file a record starts."""
        return self._archive.place(name)[0]

    def get_storage_from_record(self, name: str, count: int, dtype: DType | type) -> Any:
        """A tensor of the first elements of a record; of bytes for a storage class."""
        kind = dtype if isinstance(dtype, DType) else torch.uint8
        size = count * kind.itemsize
        if size > self._archive.size(name):
            raise RuntimeError(f"record {name} holds {self._archive.size(name)} bytes, not {size}")
        return torch.Tensor.over(np.frombuffer(bytearray(self._archive.read(name)[:size]), kind.np))

    def serialization_id(self) -> str:
        """What the file says that it is; empty where it does not."""
        return self.get_record(".data/serialization_id").decode() if ".data/serialization_id" in self._archive else ""
