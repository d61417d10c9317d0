"""The records of a ``.pt`` file: a ZIP archive, read so that nothing it says of itself is believed.

What an archive declares (sizes, places, names, checksums) is compared with what is there before any memory is taken for it. Everything that
does not fit is a RuntimeError. Records may be stored or deflated; nothing else occurs in files of ``torch.save``.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from typing import IO, NamedTuple, NoReturn

import numpy as np

STORED, DEFLATED = 0, 8
ENCRYPTED, SIZES_FOLLOW, HIDDEN = 0x1, 0x8, 0x2060  # flags: 0x20 patches, 0x40 strong encryption, 0x2000 masked headers
LONG = 0xFFFFFFFF
PIECE = 1 << 18  # bytes read at once: their checksum is taken while they are in the cache
EXPANSION, FREE_EXPANSION = 100, 1 << 26
"""Deflated records may together unpack to so many times the size of the file, or to so many bytes where that is more."""

_END, _END64, _LOCATOR64 = struct.Struct("<4s4H2LH"), struct.Struct("<4sQ2H2L4Q"), struct.Struct("<4sLQL")
_ENTRY, _LOCAL = struct.Struct("<4s6H3L5H2L"), struct.Struct("<4s5H3L2H")


class Record(NamedTuple):
    """What the directory says of a record, where the next one starts, and where in the directory this is said."""

    name: bytes
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    header: int
    limit: int
    entry: int


CORRUPTED = (
    "There is a high likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was not saved properly, "
    "was transferred incorrectly, or the file was modified after saving."
)


def _broken(why: str, start: str = "T") -> NoReturn:
    raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {why}. {start}{CORRUPTED[1:]}")


class Archive:
    """The records of an archive by name, without the folder they all lie in.

    Args:
        file: the open file; the archive starts where the file does.
        access: how stored records are mapped into memory (`mmap.ACCESS_COPY`, `mmap.ACCESS_WRITE`) instead of read, which None is. The file
            must be one of the system's.

    Raises:
        RuntimeError: the file is not a sound archive, or not one of torch's.
    """

    def __init__(self, file: IO[bytes], access: int | None = None) -> None:
        self.file = file
        self.length = file.seek(0, 2)
        start, size, count = self._directory()
        self.records = self._entries(self._at(start, size), count, start)
        expanded = sum(record.size for record in self.records.values() if record.method == DEFLATED)
        if expanded > max(FREE_EXPANSION, EXPANSION * self.length):
            _broken(f"{self.length} bytes would unpack to {expanded}")
        self.shared = access == mmap.ACCESS_WRITE
        self.map = None if access is None else mmap.mmap(file.fileno(), 0, access=access)

    # -- where things are -----------------------------------------------------------------------------------------

    def _at(self, place: int, size: int) -> bytes:
        if not 0 <= place <= place + size <= self.length:
            _broken("a part of it lies outside of the file")
        self.file.seek(place)
        found = self.file.read(size)
        if len(found) != size:
            _broken("the file ends early")
        return found

    def _directory(self) -> tuple[int, int, int]:
        """The start and size of the directory, and its number of entries."""
        tail = self._at(max(0, self.length - _END.size - 0xFFFF), min(self.length, _END.size + 0xFFFF))
        found = tail.rfind(b"PK\5\6")
        if found < 0 or found + _END.size > len(tail):
            _broken("failed finding central directory", "This is an internal miniz error. If you are seeing this error, t")
        end = self.length - len(tail) + found
        _, disk, first, here, count, size, start, _ = _END.unpack_from(tail, found)
        if end >= _LOCATOR64.size:
            mark, disk64, place, disks = _LOCATOR64.unpack(self._at(end - _LOCATOR64.size, _LOCATOR64.size))
            if mark == b"PK\6\7":
                if disk64 or disks != 1:
                    _broken("it is one of several parts")
                end = place
                mark, _, _, _, disk, first, here, count, size, start = _END64.unpack(self._at(place, _END64.size))
                if mark != b"PK\6\6":
                    _broken("failed finding central directory", "This is an internal miniz error. If you are seeing this error, t")
        if disk or first or here != count:
            _broken("it is one of several parts")
        if start + size > end or count * _ENTRY.size > size:
            _broken("its directory does not fit into it")
        return start, size, count

    def _entries(self, directory: bytes, count: int, start: int) -> dict[str, Record]:
        found = []
        at = 0
        for _ in range(count):
            if at + _ENTRY.size > len(directory):
                _broken("its directory ends early")
            mark, _, _, flags, method, _, _, crc, packed, size, named, extra, comment, _, _, _, header = _ENTRY.unpack_from(directory, at)
            place = start + at
            at += _ENTRY.size
            if mark != b"PK\1\2" or at + named + extra + comment > len(directory):
                _broken("its directory is damaged")
            name = directory[at : at + named]
            if LONG in (packed, size, header):
                packed, size, header = _long_fields(directory[at + named : at + named + extra], size, packed, header)
            at += named + extra + comment
            if header + _LOCAL.size + named + packed > start:
                _broken("a record lies outside of it")
            if method == STORED and size != packed:
                _broken("a stored record has two sizes")
            found.append(Record(name, flags, method, crc, packed, size, header, 0, place))
        found.sort(key=lambda record: record.header)
        limits = [record.header for record in found[1:]] + [start]
        records: dict[str, Record] = {}
        folder = None
        for record, limit in zip(found, limits):
            if record.header + _LOCAL.size + len(record.name) + record.packed > limit:
                _broken("its records overlap")
            try:
                path = record.name.decode()
            except UnicodeDecodeError:
                _broken("the name of a record is not UTF-8")
            lead, slash, rest = path.partition("/")
            if not slash:
                _broken(f"file in archive is not in a subdirectory: {path}")
            if folder is None:
                folder = lead
            if lead != folder or "\0" in path or ".." in rest.split("/"):
                _broken(f"a record has the name {path!r}")
            if rest in records:
                _broken(f"two records have the name {path!r}")
            records[rest] = record._replace(limit=limit)
        return records

    def _content(self, name: str) -> tuple[Record, int]:
        """A record, and where its content starts."""
        record = self.records.get(name)
        if record is None:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found. {CORRUPTED}")
        local = self._at(record.header, _LOCAL.size + len(record.name))
        mark, _, flags, method, _, _, crc, packed, size, named, extra = _LOCAL.unpack_from(local)
        start = record.header + _LOCAL.size + named + extra
        if mark != b"PK\3\4" or local[_LOCAL.size :] != record.name or named != len(record.name):
            _broken(f"{name} is not where the directory says")
        if flags != record.flags or method != record.method:
            _broken(f"the directory and the header of {name} disagree")
        if not flags & SIZES_FOLLOW and (crc != record.crc or packed not in (record.packed, LONG) or size not in (record.size, LONG)):
            _broken(f"the directory and the header of {name} disagree")
        if flags & (ENCRYPTED | HIDDEN) or method not in (STORED, DEFLATED):
            _broken(f"{name} is encrypted, or packed in a way that torch does not use")
        if start + record.packed > record.limit:
            _broken("its records overlap")
        return record, start

    # -- what they hold -------------------------------------------------------------------------------------------

    def __contains__(self, name: str) -> bool:
        return name in self.records

    def check_version(self) -> None:
        """Whether it says one of the versions of the format: 1 to 10, as in torch 2.13. RuntimeError where not."""
        record = self.read(".data/version" if ".data/version" in self else "version")
        try:
            version = int(record[:20])
        except ValueError:
            raise RuntimeError(f"Couldn't parse the version {record[:20]!r} as Long Long.") from None
        if not 1 <= version <= 10:
            which, bound = ("minimum", 1) if version < 1 else ("maximum", 10)
            raise RuntimeError(f"Attempted to read a PyTorch file with version {version}, but the {which} supported version for reading is "
                               f"{bound}.")

    def place(self, name: str) -> tuple[int, int]:
        """Where the header of a record starts, and where its content."""
        record, start = self._content(name)
        return record.header, start

    def size(self, name: str) -> int:
        """How many bytes the record holds when unpacked; no more than `EXPANSION` times the file's."""
        return self._content(name)[0].size

    def read(self, name: str) -> bytes:
        """The content of a record."""
        record, start = self._content(name)
        out = bytearray(record.size)
        self._fill(name, record, start, memoryview(out))
        return bytes(out)

    def array(self, name: str, dtype: np.dtype, count: int, mapped: bool = True) -> np.ndarray:
        """The first `count` elements of a record, which holds no more than a part of another: memory of its own, or mapped from the file
        where that is allowed and the record starts where elements may."""
        record, start = self._content(name)
        if not 0 <= record.size - count * dtype.itemsize < max(dtype.itemsize, 1):
            raise ValueError(f"{name} holds {record.size} bytes, not {count} elements of {dtype}")
        if self.map is not None and mapped and count and record.method == STORED and start % dtype.alignment == 0:
            if self.shared:  # who writes to it writes to the file, and no checksum
                for place in (record.header + 14, record.entry + 16):
                    self.map[place: place + 4] = bytes(4)
            return np.frombuffer(self.map, dtype, count, start)
        out = np.empty(count, dtype) if record.size == count * dtype.itemsize else np.empty(record.size, np.uint8)
        self._fill(name, record, start, memoryview(out.view(np.uint8)))  # type: ignore[arg-type]  # arrays are buffers
        return out[: count * dtype.itemsize].view(dtype) if out.dtype != dtype else out

    def _fill(self, name: str, record: Record, start: int, out: memoryview) -> None:
        """Fills `out`, which has the record's size."""
        self.file.seek(start)
        crc = (self._stored if record.method == STORED else self._deflated)(name, record, out)
        # torch writes 0 where it was told not to compute checksums.
        if record.crc and crc != record.crc:
            _broken(f"the content of {name} does not have its checksum")

    def _stored(self, name: str, record: Record, out: memoryview) -> int:
        crc = done = 0
        read_into = getattr(self.file, "readinto", None)
        while done < len(out):
            part = out[done : done + PIECE]
            if read_into is None:
                data = self.file.read(len(part))
                got = len(data)
                part[:got] = data
            else:
                got = read_into(part)
            if not got:
                _broken(f"{name} ends early")
            if record.crc:
                crc = zlib.crc32(part[:got], crc)
            done += got
        return crc

    def _deflated(self, name: str, record: Record, out: memoryview) -> int:
        crc = done = taken = 0
        unpack = zlib.decompressobj(-15)
        rest = b""
        while done < len(out) or not unpack.eof:
            if not rest:
                rest = self.file.read(min(PIECE, record.packed - taken))
                taken += len(rest)
            try:
                data = unpack.decompress(rest, min(PIECE, len(out) - done) or 1)
            except zlib.error as error:
                _broken(f"{name} cannot be unpacked ({error})")
            if not data and not rest or len(data) > len(out) - done:
                _broken(f"{name} does not unpack to its size")
            rest = unpack.unconsumed_tail
            out[done : done + len(data)] = data
            crc = zlib.crc32(data, crc)
            done += len(data)
            if unpack.eof and done < len(out):
                _broken(f"{name} does not unpack to its size")
        return crc


def _long_fields(extra: bytes, size: int, packed: int, header: int) -> tuple[int, int, int]:
    """The packed size, size and place of a record, those that do not fit into 32 bits taken from its extra field."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            longs = [size == LONG, packed == LONG, header == LONG]
            if length < 8 * sum(longs) or at + 4 + length > len(extra):
                break
            fields = iter(struct.unpack_from(f"<{sum(longs)}Q", extra, at + 4))
            size, packed, header = (next(fields) if long else short for long, short in zip(longs, (size, packed, header)))
            return packed, size, header
        at += 4 + length
    _broken("a long record does not say how long it is")
