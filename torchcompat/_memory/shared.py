"""Memory that processes share: blocks without a name, and how storages are moved into them.

A block is a file that has no name (any more), mapped. A forked child inherits it; any other process is handed its descriptor, or a name
that is the file's until it has been opened (`torchcompat.multiprocessing`). It lives as long as somebody holds it. Whoever is sent a block
twice, or one of his own, has one block for it, and one array for each part of it.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import mmap
import os
import weakref
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from autograd_tape.ownership import holders
from autograd_tape.strided import address, owner_of
from autograd_tape.tensor import TensorRef

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor
    from torchcompat.storage import UntypedStorage

_ALIGNMENT = 64  # bytes; what vector instructions like best


_FOLDER = "/dev/shm"  # where files lie in memory
LARGE = 1 << 19
"""Bytes from which on a block is cheaper to send than the bytes themselves."""
by_name = False
"""Whether blocks that are made from now on are handed over by a name; by their descriptor else."""
in_worker = False
"""Whether this process is the worker of a loader, which is done with what it sends."""
_numbers = itertools.count()


class Block(mmap.mmap):
    """Memory that processes share, `fd` being the file's descriptor."""

    fd: int
    _owners: weakref.WeakValueDictionary[tuple[int, int], np.ndarray]

    def __new__(cls, size: int, fd: int | None = None) -> "Block":
        """A new block of zeros, or the one whose descriptor another process sent, which becomes this object's.

        Raises:
            OSError: there is no memory left for it, or no descriptor.
        """
        if fd is None:
            fd = _unnamed_file(size)
        status = os.fstat(fd)
        here = _blocks.get((status.st_dev, status.st_ino))
        if here is not None:
            os.close(fd)
            return here
        block = super().__new__(cls, fd, size)
        block.fd, block._owners = fd, weakref.WeakValueDictionary()
        weakref.finalize(block, os.close, fd)
        _blocks[status.st_dev, status.st_ino] = block
        return block

    def array(self, offset: int, size: int) -> np.ndarray:
        """Bytes of it, as an array that owns its memory as far as tensors are concerned."""
        owner = self._owners.get((offset, size))
        if owner is None:
            owner = self._owners[offset, size] = np.frombuffer(self, np.uint8, size, offset)
        return owner

    def name(self) -> str | None:
        """A name for who shall open the block, in its folder; None where the file can have none."""
        name = f"torch_{os.getpid()}_{next(_numbers)}"
        try:
            os.link(f"/proc/self/fd/{self.fd}", f"{_FOLDER}/{name}", src_dir_fd=self.fd)  # which has the link followed
        except OSError:
            return None
        return name


_blocks: weakref.WeakValueDictionary[tuple[int, int], Block] = weakref.WeakValueDictionary()  # by device and number of the file


def opened(name: str, size: int) -> Block:
    """The block that another process gave a name, which it has no more.

    Raises:
        FileNotFoundError: the process that sent it has ended, or somebody has opened it.
    """
    path = f"{_FOLDER}/{os.path.basename(name)}"
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    os.unlink(path)
    return Block(size, fd)


def forget_names(pids: Iterable[int]) -> None:
    """Takes the names away that processes gave, which end, and that nobody opened."""
    starts = tuple([f"torch_{pid}_" for pid in pids])
    for name in os.listdir(_FOLDER) if os.path.isdir(_FOLDER) else ():
        if name.startswith(starts):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{_FOLDER}/{name}")


def _unnamed_file(size: int) -> int:
    fd = _file_to_name(size) if by_name else None
    if fd is not None:
        return fd
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("torch", os.MFD_CLOEXEC)
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.ftruncate(fd, size)
    return fd


def _file_to_name(size: int) -> int | None:
    """A file that can be given a name; None where there is no such thing, or no memory left for it."""
    try:
        fd = os.open(_FOLDER, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except (OSError, AttributeError):
        return None
    try:
        os.posix_fallocate(fd, 0, size)  # fails here, not when the memory is first written to, which would end the process
    except OSError:
        os.close(fd)
        return None
    return fd


def rows(like: Tensor, count: int) -> Tensor:
    """A tensor of `count` tensors of one dtype and shape, side by side in a new block, not filled."""
    size = like._data.nbytes * count
    made = like.detach().new_empty(0)
    made._data = np.ndarray((count, *like._data.shape), like._data.dtype, Block(max(size, 1)).array(0, size))
    return made


def block_of(owner: np.ndarray) -> Block | None:
    """The block that an owner of memory lies in, None where processes do not share it."""
    base = owner.base
    return base.obj if isinstance(base, memoryview) and isinstance(base.obj, Block) else None


def is_shared(owner: np.ndarray) -> bool:
    """Whether processes share the memory of an owner."""
    return isinstance(owner, np.memmap) and owner.mode != "c" or block_of(owner) is not None


def share(storages: Iterable[UntypedStorage], tensors: Iterable[TensorRef] = ()) -> None:
    """Moves storages into one block, with every tensor that looks at them, under whatever name: views, detached tensors, `.data`. Arrays
    that were made of them (`tensor.numpy()`) keep the memory that was. Where nobody holds the memory but `tensors`, no others are looked
    for among all objects there are."""
    moving = {id(s._owner): s for s in storages if not is_shared(s._owner)}
    if not moving:
        return
    known = {id(t): t for t in tensors}
    looking = [*known.values()] if _alone(moving, known.values()) else _tensors()
    starts, end = {}, 0
    contents = {}
    for key, storage in moving.items():
        contents[key] = content = storage._whole()
        if not np.may_share_memory(content, storage._owner) and content.size:
            raise RuntimeError("share_memory_() needs a storage whose elements lie in memory without gaps")
        starts[key] = end
        end += -(-storage._owner.nbytes // _ALIGNMENT) * _ALIGNMENT
    block = Block(max(end, 1))
    moved = {}
    for key, storage in moving.items():
        moved[key] = new = block.array(starts[key], storage._owner.nbytes)
        new[...] = contents[key]
    _follow(moving, moved, looking)


def grow(storage: UntypedStorage, size: int) -> None:
    """Gives a storage more bytes, in other memory, with every tensor that looks at it; arrays made of these keep the memory that was."""
    moving = {id(storage._owner): storage}
    looking = [] if _alone(moving, ()) else _tensors()
    bytes_, new = storage._whole(), np.empty(size, np.uint8)
    new[: bytes_.nbytes] = bytes_
    _follow(moving, {id(storage._owner): new}, looking)
    storage._bytes = new


def _follow(moving: dict[int, UntypedStorage], moved: dict[int, np.ndarray], looking: Iterable[TensorRef]) -> None:
    """Lets tensors look at the memory to which storages have moved, and the storages themselves."""
    for tensor in looking:
        owner = owner_of(tensor._data)
        to = moved.get(id(owner))
        if to is not None and moving[id(owner)]._owner is owner:
            data = tensor._data
            tensor._data = np.ndarray(data.shape, data.dtype, to, address(data) - address(owner) if data.size else 0, data.strides)
    for key, storage in moving.items():
        storage._moved(moved[key])


def _alone(storages: dict[int, UntypedStorage], tensors: Collection[TensorRef]) -> bool:
    """Whether storages, by the address of their owner, have no holders but themselves and some tensors."""
    arrays = Counter([id(t._data) for t in tensors])
    held = {key: 1 + (s._bytes is s._owner or s._bytes.base is s._owner) for key, s in storages.items()}
    for t in {id(t._data): t for t in tensors}.values():
        key, times = id(owner_of(t._data)), arrays[id(t._data)]
        if key == id(t._data):
            held[key] = held.get(key, 0) + times
        elif id(t._data.base) == key and holders([t._data]) == times:
            held[key] = held.get(key, 0) + 1
        else:
            return False
    return all([holders([s._owner]) == held[key] for key, s in storages.items()])


def _tensors() -> list[Tensor]:
    """All tensors there are."""
    frozen = gc.get_freeze_count()
    if frozen:
        gc.unfreeze()
    objects = gc.get_objects()
    classes = {cls for cls in set(map(type, objects)) if issubclass(cls, TensorRef)}
    found = [t for t in compress(objects, map(classes.__contains__, map(type, objects)))
             if isinstance(getattr(t, "_data", None), np.ndarray)]
    if frozen:
        gc.freeze()
    return found
