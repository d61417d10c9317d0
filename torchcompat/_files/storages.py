"""The storages of a file by their keys, where `map_location` wants them: of archives, and of files without one."""

from __future__ import annotations

import pickle
import struct
import sys
from typing import Any, IO

import numpy as np
import numpy.typing as npt

from autograd_tape.dtypes import SCALAR_TYPE_NAMES, DType, bool_

from ..storage import TypedStorage, UntypedStorage
from .archive import Archive
from .places import mover
from .rebuild import StorageType

Array = npt.NDArray[Any]
PIECE = 1 << 24


def text(part: Any) -> Any:
    """A string, of Python 2 too, whose strings are bytes where nobody decodes them."""
    if not isinstance(part, bytes):
        return part
    try:
        return part.decode("ascii")
    except UnicodeDecodeError as error:
        raise pickle.UnpicklingError(str(error)) from None


class Storages:
    """Storages by key. Those who derive from it say how one is made, and whether persistent ids say what a storage is a view of.

    Args:
        map_location: where storages go.
        empty: whether their bytes are left zeros, as in `skip_data`.
    """

    parts: tuple[type, ...] = (str, StorageType, str, str, int)

    def __init__(self, map_location: Any, empty: bool) -> None:
        self.move, self.empty = mover(map_location), empty
        self.on_meta = str(getattr(map_location, "type", map_location)) == "meta" and not callable(map_location)
        self.loaded: dict[str, tuple[TypedStorage, StorageType, int]] = {}

    def made(self, key: str, dtype: DType, count: int) -> Array:
        """The elements of a storage."""
        raise NotImplementedError

    def storage(self, saved: object) -> Any:
        """The storage of a persistent id ``("storage", type, key, location, count)``, made once.

        Raises:
            pickle.UnpicklingError: it is no such id.
            RuntimeError: the file does not hold such a storage, or what is declared of it now is not what was declared before.
        """
        if not isinstance(saved, tuple):
            raise AssertionError(f"saved_id must be a tuple, got {type(saved).__name__}")
        saved = tuple(map(text, saved))
        if not saved or saved[0] != "storage":
            raise AssertionError(f"Unknown typename for persistent_load, expected 'storage' but got '{saved[0] if saved else None}'")
        if tuple([type(part) for part in saved[:5]]) != self.parts or len(saved) != 5:
            raise pickle.UnpicklingError(
                "a storage is saved as its type, key, location and number of elements, "
                f"but got ({', '.join(type(part).__name__ for part in saved[1:])})"
            )
        _, kind, key, location, count = saved
        if key not in self.loaded:
            storage = UntypedStorage.of(self.made(key, kind.dtype, count))
            storage = UntypedStorage(storage.nbytes(), device="meta") if self.on_meta else self.move(storage, location)
            if isinstance(storage, TypedStorage):
                storage = storage.untyped()
            self.loaded[key] = TypedStorage.of(storage, kind.dtype), kind, count
        found, *declared = self.loaded[key]
        if count == declared[1] == 0:
            return TypedStorage.of(found.untyped(), kind.dtype)  # nothing in common but that they are empty
        if declared != [kind, count]:
            raise RuntimeError(
                f"storage {key} is declared as {count} elements of {kind.dtype}, and before as {found.size()} of {found.dtype}"
            )
        return found


class Records(Storages):
    """The storages of an archive, each a record.

    Args:
        order: the byte order of its numbers.
    """

    def __init__(self, archive: Archive, order: str, map_location: Any, empty: bool) -> None:
        super().__init__(map_location, empty)
        self.archive, self.swap = archive, order != sys.byteorder

    def made(self, key: str, dtype: DType, count: int) -> Array:
        """The elements of a record, which must hold as many."""
        name, item = f"data/{key}", dtype.itemsize
        size = self.archive.size(name)
        if not 0 <= size - count * item < item:
            raise RuntimeError(
                f"record size ({size} bytes) does not match expected size ({count * item} bytes = {count} elements * "
                f"{item} bytes/element) for dtype {SCALAR_TYPE_NAMES[dtype.name]}"
            )
        if self.empty or self.on_meta:
            return np.zeros(count, dtype.np)
        out = self.archive.array(name, dtype.np, count, mapped=not self.swap)
        turned(out, dtype, self.swap)
        return out


def turned(out: Array, dtype: DType, swap: bool) -> None:
    """Makes elements that were read what this machine takes them for."""
    part = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if swap and part > 1:
        out.view(f"u{part}").byteswap(inplace=True)
    # Everything that looks at bools takes them to be 0 or 1; a file can hold anything.
    if dtype is bool_ and (raw := out.view(np.uint8)).max(initial=0) > 1:
        np.not_equal(raw, 0, out=out)


class Following(Storages):
    """The storages of a file without an archive: declared by its pickle, and filled from what follows that.

    Args:
        file: stands behind the records before the pickle.
        limit: what of the file is left, which all storages together cannot be longer than.
    """

    def __init__(self, file: IO[bytes], limit: int, map_location: Any, empty: bool) -> None:
        super().__init__(map_location, empty)
        self.file, self.limit = file, limit
        self.views: dict[str, tuple[tuple[object, ...], TypedStorage]] = {}

    def made(self, key: str, dtype: DType, count: int) -> Array:
        """Zeros, which `fill` fills."""
        if count < 0:
            raise RuntimeError(f"storage {key} is declared as {count} elements")
        size = count * dtype.itemsize
        if not self.empty:
            if size > self.limit:
                raise RuntimeError(f"unexpected EOF, expected {size - self.limit} more bytes. The file might be corrupted.")
            self.limit -= size
        elif size > 1 << 47:
            raise RuntimeError(f"storage {key} is declared as {count} elements")
        return np.zeros(count, dtype.np)

    def storage(self, saved: object) -> Any:
        """The storage, or the part of one, of a persistent id: a sixth entry is None, or the key, offset and size of a part."""
        if not isinstance(saved, tuple) or len(saved) != 6:
            if isinstance(saved, tuple) and saved and text(saved[0]) != "storage":
                raise RuntimeError(f"Unknown saved id type: {saved[0]!s:.80}")
            return super().storage(saved)
        root = super().storage(saved[:5])
        view = saved[5]
        if view is None:
            return root
        if type(view) is not tuple or [type(part) for part in view] not in ([str, int, int], [bytes, int, int]):
            raise pickle.UnpicklingError("a part of a storage is saved as its key, offset and size")
        key, offset, count = text(view[0]), *view[1:]
        declared = (text(saved[2]), offset, count)
        if key not in self.views:
            self.views[key] = declared, part_of(root, offset, count)
        before, found = self.views[key]
        if before != declared:
            raise RuntimeError(f"the part {key} of a storage is declared in two ways")
        return found

    def fill(self, keys: object, swap: bool) -> None:
        """Reads the elements of these storages, each behind its number of elements."""
        if type(keys) is not list:
            raise pickle.UnpicklingError(f"the keys of storages are a list, but got {type(keys).__name__}")
        for key in keys:
            if type(key) not in (str, bytes) or text(key) not in self.loaded:
                raise pickle.UnpicklingError(f"storage key {key!r:.80} not found in deserialized_objects")
            storage, kind, count = self.loaded[text(key)]
            (said,) = struct.unpack("<q", read(self.file, 8))
            if said != count:
                raise RuntimeError(f"storage has wrong byte size: expected {count * kind.dtype.itemsize} got {said * kind.dtype.itemsize}")
            memory = storage.untyped()
            if memory.nbytes() != count * kind.dtype.itemsize:
                raise RuntimeError("map_location gave a storage of another size")
            if memory.device.type != "cpu":
                self.file.seek(memory.nbytes(), 1)
                continue
            fill(self.file, memory._bytes)
            turned(memory._bytes.view(kind.dtype.np), kind.dtype, swap)


def part_of(root: TypedStorage, offset: int, count: int) -> TypedStorage:
    """Elements of a storage as a storage of their own, over the same memory. RuntimeError where there are fewer."""
    item = root.dtype.itemsize
    if not 0 <= offset <= offset + count <= root.size():
        raise RuntimeError(f"{count} elements from {offset} on are no part of a storage of {root.size()}")
    return TypedStorage.of(root.untyped()[offset * item: (offset + count) * item], root.dtype)


def read(file: IO[bytes], count: int) -> bytes:
    """So many bytes. RuntimeError where the file has fewer."""
    found = file.read(count)
    if len(found) < count:
        raise RuntimeError(f"unexpected EOF, expected {count - len(found)} more bytes. The file might be corrupted.")
    return found


def fill(file: IO[bytes], out: Array) -> None:
    """Fills bytes from a file, which may have no `readinto`. RuntimeError where it ends before."""
    view, done = memoryview(out), 0  # type: ignore[arg-type]  # arrays are buffers
    into = getattr(file, "readinto", None)
    while done < len(view):
        piece = view[done: done + PIECE]
        if into is None:
            data = file.read(len(piece))
            got = len(data)
            piece[:got] = data
        else:
            got = into(piece)
        if not got:
            raise RuntimeError(f"unexpected EOF, expected {len(view) - done} more bytes. The file might be corrupted.")
        done += got
