"""Files that nobody would write: pickles put together operation by operation, and archives record by record.

Nothing here uses the code under test. An object that `pickled` gets may hold, wherever a value goes, what a pickle would do there:

>>> pickled([Call(Name("torch", "Size"), ((2, 3),)), None])[:4]
b'\\x80\\x02]('
"""

from __future__ import annotations

import io
import pickle
import struct
import zlib
from typing import Any


class Name:
    """A global."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class Call:
    """A function called, or with `new` an object made."""

    def __init__(self, function: Any, arguments: Any, new: bool = False) -> None:
        self.function, self.arguments, self.new = function, arguments, new


class Built:
    """An object that is given a state."""

    def __init__(self, instance: Any, state: Any) -> None:
        self.instance, self.state = instance, state


class Saved:
    """A persistent id."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts


class Raw:
    """Operations as they are."""

    def __init__(self, operations: bytes) -> None:
        self.operations = operations


def operations(value: Any) -> bytes:
    """The operations that leave `value` on the stack."""
    match value:
        case Raw():
            return value.operations
        case Name():
            return f"c{value.module}\n{value.name}\n".encode()
        case Call():
            return operations(value.function) + operations(value.arguments) + (b"\x81" if value.new else b"R")
        case Built():
            return operations(value.instance) + operations(value.state) + b"b"
        case Saved():
            return operations(value.parts) + b"Q"
        case None:
            return b"N"
        case bool():
            return b"\x88" if value else b"\x89"
        case int():
            data = pickle.encode_long(value)
            return b"J" + struct.pack("<i", value) if -(2**31) <= value < 2**31 else b"\x8a" + bytes([len(data)]) + data
        case float():
            return b"G" + struct.pack(">d", value)
        case str():
            data = value.encode()
            return b"X" + struct.pack("<I", len(data)) + data
        case bytes():
            return b"U" + bytes([len(value)]) + value
        case tuple():
            return b"(" + b"".join(map(operations, value)) + b"t"
        case list():
            return b"](" + b"".join(map(operations, value)) + b"e"
        case dict():
            return b"}(" + b"".join(operations(key) + operations(item) for key, item in value.items()) + b"u"
    raise TypeError(type(value))


def pickled(value: Any) -> bytes:
    """A pickle of `value`."""
    return b"\x80\x02" + operations(value) + b"."


EMPTY = Call(Name("collections", "OrderedDict"), ())


def storage(count: Any = 4, kind: Any = "FloatStorage", key: Any = "0", location: Any = "cpu") -> Saved:
    """The persistent id of a storage."""
    return Saved("storage", Name("torch.storage" if kind == "UntypedStorage" else "torch", kind), key, location, count)


def tensor(offset: Any = 0, size: Any = (4,), stride: Any = (1,), requires_grad: Any = False, hooks: Any = EMPTY, *metadata: Any,
           of: Any = None) -> Call:
    """A tensor as torch saves it."""
    return Call(Name("torch._utils", "_rebuild_tensor_v2"),
                (of or storage(), offset, size, stride, requires_grad, hooks, *metadata))


class Entry:
    """A record as its header and the directory describe it; what is given here may be untrue."""

    def __init__(self, name: str | bytes, content: bytes, *, packed: bytes | None = None, **declared: int) -> None:
        self.name = name if isinstance(name, bytes) else name.encode()
        self.packed = content if packed is None else packed
        self.method, self.flags = (0 if packed is None else 8), 0
        self.crc, self.size, self.packed_size = zlib.crc32(content), len(content), len(self.packed)
        self.extra = self.local_extra = b""
        self.header: int | None = None
        self.__dict__.update(declared)

    def local(self) -> bytes:
        return struct.pack("<4s5H3L2H", b"PK\3\4", 20, self.flags, self.method, 0, 0, self.crc, self.packed_size, self.size, len(self.name),
                           len(self.local_extra)) + self.name + self.local_extra + self.packed

    def central(self, header: int) -> bytes:
        return struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, self.flags, self.method, 0, 0, self.crc, self.packed_size, self.size,
                           len(self.name), len(self.extra), 0, 0, 0, 0, header) + self.name + self.extra


def deflated(content: bytes) -> bytes:
    """What a deflated record holds."""
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    return pack.compress(content) + pack.flush()


def archive(entries: list[Entry], **end: int) -> bytes:
    """An archive of these records; `end` are fields of the end record that are untrue."""
    body, directory = b"", b""
    for entry in entries:
        directory += entry.central(len(body) if entry.header is None else entry.header)
        body += entry.local()
    fields = {"disk": 0, "first": 0, "here": len(entries), "count": len(entries), "size": len(directory), "start": len(body), "comment": 0}
    return body + directory + struct.pack("<4s4H2LH", b"PK\5\6", *(fields | end).values())


def file(data: bytes, records: dict[str, bytes] | None = None, **standard: bytes | None) -> io.BytesIO:
    """A sound ``.pt`` file of a pickle and storages; the standard records may be given, or left out with None."""
    contents = {"data.pkl": data, "byteorder": b"little", **{f"data/{key}": content for key, content in (records or {}).items()},
                "version": b"3\n"} | standard
    return io.BytesIO(archive([Entry(f"archive/{name}", content) for name, content in contents.items() if content is not None]))
