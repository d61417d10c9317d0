"""Files from before archives: a row of pickles (a number by which to know them, a version, facts about the machine, the object, the keys
of its storages), and then each storage, its number of elements before its bytes. Before those there were tar files of three members.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
import tarfile
import types
from typing import Any, IO

import numpy as np

from autograd_tape import warned
from autograd_tape.annotations import Fn
import torchcompat as torch

from ..storage import TypedStorage, UntypedStorage, view_of
from .pickler import is_own, pickler_class, source_of
from .places import mover
from .rebuild import StorageType, sparse_checked_at_end
from .storages import Following, fill, part_of, read, turned
from .weights_only import UNSAFE_MESSAGE, WeightsUnpickler

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
SHORT_SIZE, INT_SIZE, LONG_SIZE = 2, 4, 4


class SourceChangeWarning(Warning):
    """The source of a module's class is not what it was when the module was saved."""


SourceChangeWarning.__module__ = "torchcompat.serialization"


def save(obj: object, file: IO[bytes], module: types.ModuleType, protocol: int) -> None:
    """Writes such a file."""
    stream = io.BytesIO()
    pickler = pickler_class(module)(stream, protocol=protocol, legacy=True)
    pickler.dump(obj)
    sizes = {"short": SHORT_SIZE, "int": INT_SIZE, "long": LONG_SIZE}
    facts = {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little", "type_sizes": sizes}
    for value in (MAGIC_NUMBER, PROTOCOL_VERSION, facts):
        file.write(pickle.dumps(value, protocol))
    file.write(stream.getvalue())
    keys = sorted(pickler.storages)
    file.write(pickle.dumps(keys, protocol))
    for key in keys:
        storage, dtype = pickler.storages[key]
        file.write(struct.pack("<q", storage.nbytes() // dtype.itemsize))
        file.write(memoryview(storage._bytes))


def load(file: IO[bytes], map_location: Any, empty: bool, module: Any, unpickler: Fn | None, **arguments: Any) -> Any:
    """Reads such a file.

    Args:
        module: what to unpickle with; None for a reader that runs nothing that a file names.
        unpickler: makes an unpickler of `module`, of a file and a function that resolves persistent ids.
        arguments: for it.
    """
    start = file.tell()
    if start == 0 and _is_real(file):
        try:
            with tarfile.open(fileobj=file, mode="r:", format=tarfile.PAX_FORMAT) as members:
                return _load_tar(members, map_location, unpickler, arguments)
        except tarfile.TarError:
            file.seek(0)
    length = file.seek(0, 2)
    file.seek(start)
    following = Following(file, length - start, map_location, empty)
    at, data = 0, b"" if module is not None else file.read()

    def next_object() -> Any:
        nonlocal at
        if module is not None:
            return module.load(file, **arguments)
        reader = WeightsUnpickler(data, following.storage, encoding=arguments["encoding"], start=at)
        result = reader.load()
        at = reader.at
        return result

    if next_object() != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    if (version := next_object()) != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version!s:.80}")
    facts = next_object()
    with sparse_checked_at_end():
        result = next_object() if unpickler is None else unpickler(file, lambda saved: _resolved(following, saved), **arguments).load()
        keys = next_object()
        if module is None:
            file.seek(start + at)
        if not empty:
            little = facts.get("little_endian", facts.get(b"little_endian", True)) if isinstance(facts, dict) else True
            following.fill(keys, bool(little) != (sys.byteorder == "little"))
    return result


def _is_real(file: Any) -> bool:
    """Whether a file object is a file of the system's, and nothing that unpacks one."""
    if getattr(file, "__module__", None) == "gzip" or type(file).__module__ == "gzip":
        return False
    try:
        return bool(file.fileno() >= 0)
    except (io.UnsupportedOperation, AttributeError):
        return False


def _resolved(following: Following, saved: Any) -> Any:
    """What a persistent id stands for: a storage, or the class of a module with its source."""
    if not isinstance(saved, tuple) or not saved or saved[0] not in ("module", b"module"):
        return following.storage(saved)
    _, cls, *source = saved
    if len(source) == 2 and all(source) and isinstance(cls, type) and not is_own(cls):
        _compare(cls, *source)
    return cls


def _compare(cls: Any, file: Any, source: str) -> None:
    """Warns where the source of a class is another than it was, and writes down what was if its class wants that."""
    found = source_of(cls)
    if found is None or found[1] == source:
        return
    advice = ("you can retrieve the original source code by accessing the object's source attribute or set "
              "`torch.nn.Module.dump_patches = True` and use the patch tool to revert the changes.")
    if cls.dump_patches:
        import difflib

        lines = "\n".join(difflib.unified_diff(found[1].split("\n"), source.split("\n"), file, file, lineterm=""))
        name = cls.__name__ + ".patch"
        try:
            with open(name, "a+") as patch:
                size = patch.seek(0, 2)
                patch.seek(0)
                if not size:
                    patch.write(lines)
                elif size != len(lines) or patch.read() != lines:
                    raise OSError
            advice = f"Saved a reverse patch to {name}. Run `patch -p0 < {name}` to revert your changes."
        except OSError:
            advice = (f"Tried to save a patch, but couldn't create a writable file {name}. Make sure it doesn't exist and your working "
                      "directory is writable.")
    warned.warn(f"source code of class '{torch.typename(cls)}' has changed. {advice}", SourceChangeWarning)


def _load_tar(members: tarfile.TarFile, map_location: Any, unpickler: Fn | None, arguments: dict[str, Any]) -> Any:
    """Reads a tar file of storages, tensors over them, and a pickle whose persistent ids are numbers of these."""
    if unpickler is None:
        raise RuntimeError("Cannot use ``weights_only=True`` with files saved in the legacy .tar format. " + UNSAFE_MESSAGE)
    move = mover(map_location)
    found: dict[object, Any] = {}

    def member(name: str) -> IO[bytes]:
        file = members.extractfile(name)
        if file is None:
            raise RuntimeError(f"the tar file has no file {name}")
        return file

    def load(file: IO[bytes]) -> Any:
        return unpickler(file, resolved, **arguments).load()

    def resolved(saved: Any) -> Any:
        if not isinstance(saved, tuple):
            return found[int(saved)]
        if all(saved[1:]) and not is_own(saved[0]):
            _compare(*saved)
        return saved[0]

    file = member("storages")
    for _ in range(load(file)):
        key, location, kind = load(file)
        if not isinstance(kind, StorageType):
            raise RuntimeError(f"a storage cannot be a {kind!r:.80}")
        (count,) = struct.unpack("<q", read(file, 8))
        size = count * kind.dtype.itemsize
        if not 0 <= size <= members.getmember("storages").size:
            raise RuntimeError(f"a storage of {count} elements is larger than the file")
        out = np.empty(size, np.uint8)
        fill(file, out)
        turned(out.view(kind.dtype.np), kind.dtype, False)
        found[key] = TypedStorage.of(move(UntypedStorage(out), location), kind.dtype)
    for target, root, offset, count in load(file):
        found[target] = part_of(found[root], offset, count)
    file = member("tensors")
    for _ in range(load(file)):
        key, storage, _ = load(file)
        rank, _ = struct.unpack("<2i", read(file, 8))
        if not 0 <= rank <= 64:
            raise RuntimeError(f"a tensor cannot have {rank} dimensions")
        numbers = struct.unpack(f"<{2 * rank + 1}q", read(file, 8 * (2 * rank + 1)))
        memory = found[storage]
        found[key] = torch.Tensor.over(view_of(memory.untyped(), memory.dtype, numbers[-1], numbers[:rank], numbers[rank:-1]))
    return load(member("pickle"))
