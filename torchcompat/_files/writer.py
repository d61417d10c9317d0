"""The other side of `archive`: a ZIP file of stored records whose contents start at multiples of an alignment."""

from __future__ import annotations

import hashlib
import os
import struct
import sys
import zlib
from typing import IO, Any

from .archive import LONG, _END, _END64, _ENTRY, _LOCAL, _LOCATOR64

DAY = 33  # 1980-01-01, the first day that such files know
UTF8 = 0x800


class PyTorchFileWriter:
    """Writes the records of an archive.

    Args:
        file: a path, or a file object, which is written from where it stands.
        compute_crc32: whether records get their checksums, or 0.
        storage_alignment: what the places of contents are multiples of.
    """

    def __init__(self, file: str | os.PathLike[str] | IO[bytes], compute_crc32: bool = True, storage_alignment: int = 64) -> None:
        path = os.fspath(file) if isinstance(file, (str, os.PathLike)) else None
        parent = os.path.dirname(path or "")
        if parent and not os.path.isdir(parent):
            raise RuntimeError(f"Parent directory {parent} does not exist.")
        self._name = os.path.splitext(os.path.basename(path))[0] if path else "archive"
        self._file: Any = open(path, "wb") if path else file
        self._own, self._at, self._summed, self._aligned = path is not None, 0, compute_crc32, storage_alignment
        self._entries: dict[str, bytes] = {}
        self._checksum, self._version = 0, 3

    def archive_name(self) -> str:
        """The folder that all records lie in: the file's name without its ending."""
        return self._name

    def get_all_written_records(self) -> set[str]:
        """The names of the records so far."""
        return set(self._entries)

    def set_min_version(self, version: int) -> None:
        """The version that the archive will say is at least this."""
        self._version = max(self._version, version)

    def serialization_id(self) -> str:
        """Forty digits: the record names in twenty, their contents in twenty."""
        names = int.from_bytes(hashlib.sha256("\0".join(self._entries).encode()).digest()[:8], "little")
        return f"{names:020d}{self._checksum:020d}"

    def _write(self, data: Any) -> None:
        self._file.write(data)
        self._at += memoryview(data).nbytes

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Writes the first `size` bytes of some text, bytes, or storage. RuntimeError where the name is taken."""
        data = data.encode() if isinstance(data, str) else getattr(data, "_bytes", data)
        self._record(name, memoryview(data).cast("B")[:size] if size else b"", size)

    def write_record_metadata(self, name: str, size: int) -> None:
        """Leaves `size` bytes of room for a record, and says that it has no checksum."""
        self._record(name, None, size)

    def _record(self, name: str, data: Any, size: int) -> None:
        if name in self._entries:
            raise RuntimeError(f"Tried to serialize file twice: {name}")
        path = f"{self._name}/{name}".encode()
        flags = 0 if path.isascii() else UTF8
        crc = zlib.crc32(data) if self._summed and data is not None else 0
        start, long = self._at, size >= LONG
        extra = struct.pack("<2H2Q", 1, 16, size, size) if long else b""
        padding = -(start + _LOCAL.size + len(path) + len(extra) + 4) % self._aligned
        extra += struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        short = LONG if long else size
        self._write(_LOCAL.pack(b"PK\3\4", 45 if long else 20, flags, 0, 0, DAY, crc, short, short, len(path), len(extra)) + path + extra)
        if data is None:
            for done in range(0, size, 1 << 20):
                self._write(bytes(min(1 << 20, size - done)))
        elif size:
            self._write(data)
        far = start >= LONG
        fields = ([size, size] if long else []) + ([start] if far else [])
        more = struct.pack(f"<2H{len(fields)}Q", 1, 8 * len(fields), *fields) if fields else b""
        self._entries[name] = _ENTRY.pack(b"PK\1\2", 45, 45 if more else 20, flags, 0, 0, DAY, crc, short, short, len(path), len(more), 0,
                                          0, 0, 0, LONG if far else start) + path + more
        self._checksum = zlib.crc32(struct.pack("<I", crc), self._checksum)

    def write_end_of_file(self) -> None:
        """Writes the directory, and the records about the archive that are still missing."""
        try:
            place = ".data/version" if self._version >= 6 else "version"
            ours = {place: f"{self._version}\n", "byteorder": sys.byteorder, ".data/serialization_id": ""}
            for name, text in ours.items():
                if name not in self._entries:
                    text = text or self.serialization_id()
                    self.write_record(name, text, len(text))
            start, count = self._at, len(self._entries)
            self._write(b"".join(self._entries.values()))
            end, size = self._at, self._at - start
            if count > 0xFFFE or end >= LONG:
                self._write(_END64.pack(b"PK\6\6", _END64.size - 12, 45, 45, 0, 0, count, count, size, start)
                            + _LOCATOR64.pack(b"PK\6\7", 0, end, 1))
            small = min(count, 0xFFFF)
            self._write(_END.pack(b"PK\5\6", 0, 0, small, small, min(size, LONG), min(start, LONG), 0))
        finally:
            if self._own:
                self._file.close()
