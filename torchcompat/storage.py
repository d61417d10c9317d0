"""Storages: the memory behind tensors. Made only when somebody asks; tensors themselves hold strided NumPy arrays."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_tape.annotations import DeviceLike
from autograd_tape.dtypes import CPU, DType, Device
from autograd_tape.executors import executor_for
from autograd_tape.executors.meta import meta_array
from autograd_tape.strided import address, owner_of

from ._memory import shared

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor

_by_owner: "weakref.WeakValueDictionary[int, UntypedStorage]" = weakref.WeakValueDictionary()


class UntypedStorage:
    """A block of bytes.

    >>> import torchcompat as torch
    >>> torch.zeros(2, 3).untyped_storage().nbytes()
    24
    """

    __slots__ = ("_owner", "_bytes", "device", "__weakref__")

    def __init__(self, size: int | np.ndarray = 0, *, device: Device = CPU) -> None:
        self._owner = np.zeros(size, np.uint8) if isinstance(size, int) else size
        self.device = device
        # A buffer without data may be larger than all memory; its storage has its size, and zeros.
        self._bytes = np.broadcast_to(np.uint8(0), (_reach(self._owner),)) if device.type == "meta" else _as_bytes(self._owner)

    @staticmethod
    def of(array: np.ndarray, device: Device = CPU) -> "UntypedStorage":
        """The storage behind an array; the same object for all arrays over the same memory.

        Raises:
            RuntimeError: it is the buffer of a sharded tensor, which lies in several places.
        """
        if not isinstance(array, np.ndarray):
            raise RuntimeError("a sharded tensor has no storage in one place: gather() it first")
        owner = owner_of(array)
        found = _by_owner.get(id(owner))
        if found is None or found._owner is not owner:
            found = UntypedStorage(owner, device=device)
            _by_owner[id(owner)] = found
        return found

    @staticmethod
    def from_file(filename: str, shared: bool = False, nbytes: int = 0) -> "UntypedStorage":
        """The bytes of a file, mapped."""
        return UntypedStorage(np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(nbytes,) if nbytes else None))

    @staticmethod
    def _new_shared(size: int, *, device: Device = CPU) -> "UntypedStorage":
        """Zeros in memory that processes share."""
        return UntypedStorage(size, device=device).share_memory_()

    def _moved(self, owner: np.ndarray) -> None:
        """From now on the storage is the memory of `owner`, which holds the same bytes."""
        if _by_owner.get(id(self._owner)) is self:
            del _by_owner[id(self._owner)]
            _by_owner[id(owner)] = self
        self._owner, self._bytes = owner, owner[:self._bytes.nbytes]

    def _whole(self) -> np.ndarray:
        """All bytes of the owner, of which `resize_` may have left fewer."""
        return _as_bytes(self._owner)

    def _needs_data(self) -> None:
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")

    def nbytes(self) -> int:
        """The size in bytes."""
        return self._bytes.nbytes

    size = __len__ = nbytes

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return 0 if self.device.type == "meta" else address(self._owner)

    def __getitem__(self, index: Any) -> Any:
        self._needs_data()
        found = self._bytes[index]
        return UntypedStorage(found, device=self.device) if isinstance(index, slice) else int(found)

    def __setitem__(self, index: object, value: object) -> None:
        self._needs_data()
        self._bytes[index] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr() and self.nbytes() == other.nbytes()

    def __hash__(self) -> int:
        return id(self._owner)

    def tolist(self) -> list[int]:
        """The bytes as ints."""
        self._needs_data()
        return self._bytes.tolist()

    def untyped(self) -> "UntypedStorage":
        """Itself."""
        return self

    def clone(self) -> "UntypedStorage":
        """A copy, on the same device."""
        return UntypedStorage(self._owner if self.device.type == "meta" else self._bytes.copy(), device=self.device)

    def copy_(self, source: "UntypedStorage", non_blocking: bool = False) -> "UntypedStorage":
        """Copies the bytes of another, which may be on another device."""
        if self.device.type != "meta":
            self._bytes[:] = _with_data(source)._bytes
        return self

    def resize_(self, size: int) -> "UntypedStorage":
        """Changes the size. Tensors over the old memory keep it; RuntimeError where it would have to grow under them."""
        if size > self.nbytes():
            raise RuntimeError("Trying to resize storage that is not resizable")
        self._bytes = self._bytes[:size]
        return self

    def is_shared(self) -> bool:
        """Whether the memory is shared between processes."""
        return self.device.type == "cuda" or shared.is_shared(self._owner)

    def share_memory_(self) -> "UntypedStorage":
        """Moves the memory to where processes share it, with all tensors that look at it.

        Raises:
            RuntimeError: it is on a device that has no memory of this process.
        """
        self._share()
        return self

    def _share(self, *tensors: Tensor) -> None:
        """The same, told which tensors look at the memory: if they are all, no others are looked for."""
        if self.device.type == "meta":
            raise RuntimeError("_share_fd_: only available on CPU")
        if self.device.type == "cpu":
            shared.share([self], tensors)

    def is_pinned(self, device: DeviceLike | None = None) -> bool:
        """Whether the memory is page-locked; never here."""
        return False

    def pin_memory(self, device: DeviceLike | None = None) -> "UntypedStorage":
        """Refuses: no device here reads page-locked memory."""
        raise RuntimeError("Cannot access accelerator device when none is available.")

    @property
    def is_cuda(self) -> bool:
        """Whether it lives on a CUDA device."""
        return self.device.type == "cuda"

    def to(self, *, device: DeviceLike, non_blocking: bool = False) -> "UntypedStorage":
        """Itself, or a copy on another device."""
        device = Device(device)
        if device == self.device:
            return self
        if device.type == "meta":
            raise AssertionError("META device module is not loaded")
        executor_for(device)  # says what is missing where the device cannot be used
        return UntypedStorage(_with_data(self)._bytes.copy(), device=device)

    def cpu(self) -> "UntypedStorage":
        """Itself, or a copy on the CPU."""
        return self.to(device=CPU)

    def cuda(self, device: DeviceLike | None = None, non_blocking: bool = False) -> "UntypedStorage":
        """Itself, or a copy on a CUDA device."""
        return self.to(device="cuda" if device is None else device)

    def __repr__(self) -> str:
        values = "..." if self.device.type == "meta" else "\n".join(f" {v}" for v in self._bytes[:1000])
        return f"{values}\n[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def _with_data(storage: UntypedStorage) -> UntypedStorage:
    if storage.device.type == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    return storage


def _as_bytes(owner: np.ndarray) -> np.ndarray:
    """All bytes of an owner's memory, whatever its strides."""
    if owner.flags.c_contiguous:
        return owner.reshape(-1).view(np.uint8) if owner.ndim else owner.reshape(1).view(np.uint8)
    order = sorted(range(owner.ndim), key=lambda i: -abs(owner.strides[i]))
    dense = owner.transpose(order)
    return dense.reshape(-1).view(np.uint8) if dense.flags.c_contiguous else np.ascontiguousarray(owner).reshape(-1).view(np.uint8)


def fits(t: Any, size: tuple[int, ...]) -> bool:
    """Whether a tensor of another size can begin where `t` does in its memory."""
    owner = owner_of(t._data)
    return owner.flags.c_contiguous and t.storage_offset() + math.prod(size) <= owner.nbytes // t._data.itemsize


def resize(t: Any, size: tuple[int, ...]) -> None:
    """Gives `t` another size, in its memory where that suffices."""
    n = math.prod(size)
    data = t._data
    if data.shape == tuple(size):
        return
    if t._k.device.type == "meta":
        t._data = meta_array(tuple(size), data.dtype)
        return
    UntypedStorage.of(data, t._k.device)  # raises where there is none
    if fits(t, size):
        owner, offset = owner_of(data), t.storage_offset()
        flat = owner.reshape(-1).view(data.dtype) if owner.dtype != data.dtype else owner.reshape(-1)
        t._data = flat[offset: offset + n].reshape(size)
    else:
        fresh = np.empty(size, data.dtype)
        old = data.ravel()[:n]
        fresh.reshape(-1)[: old.size] = old
        t._data = fresh


LONGEST = 2**63 - 1  # what sizes, strides and places are counted in


def check_geometry(dtype: DType, offset: int, size: Sequence[int], stride: Sequence[int], nbytes: int | None) -> None:
    """Whether a tensor of these sizes, strides and this offset (in elements) lies within `nbytes` bytes of memory; where that is None, in
    as much memory as it takes. RuntimeError where not."""
    if len(size) != len(stride):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if not 0 <= offset <= LONGEST:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    count, reach, widest = 1, 1, 1
    for n, step in zip(size, stride):
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
        if step < 0:
            raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
        count *= n
        reach += (n - 1) * step
        widest = max(widest, n, step)
    item = dtype.itemsize
    if max(count, widest) * item > LONGEST:
        raise RuntimeError("numel: integer multiplication overflow")
    if not count:
        return
    if (offset + reach) * item > LONGEST:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if nbytes is not None and (offset + reach) * item > nbytes:
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} "
                           f"requiring a storage size of {(offset + reach) * item} are out of bounds for storage of size {nbytes}")


def view_of(storage: UntypedStorage, dtype: DType, offset: int, size: Sequence[int], stride: Sequence[int]) -> np.ndarray:
    """The elements of a storage at these places; RuntimeError where some lie outside of it.

    >>> view_of(UntypedStorage(np.arange(4.)), DType.by_name["float64"], 1, (2,), (2,)).tolist()
    [1.0, 3.0]
    """
    memory, item = storage._bytes, dtype.itemsize
    # NumPy compares with the size of the memory, too, but not where that is 0.
    check_geometry(dtype, offset, size, stride, memory.nbytes)
    try:
        return np.ndarray(tuple(size), dtype.np, memory, 0 if 0 in size else offset * item, tuple([step * item for step in stride]))
    except ValueError as error:  # more dimensions than NumPy has
        raise RuntimeError(f"sizes {list(size)} cannot be had: {error}") from None


def _reach(a: np.ndarray) -> int:
    """The number of bytes from the first element of an array to the end of the last, in memory that starts at the first."""
    return a.itemsize + sum((n - 1) * step for n, step in zip(a.shape, a.strides)) if a.size else 0


class TypedStorage:
    """A storage read as elements of one dtype (what `tensor.storage()` gives)."""

    def __init__(self, storage: UntypedStorage, dtype: DType) -> None:
        self._untyped_storage, self.dtype = storage, dtype

    def _array(self) -> np.ndarray:
        self._untyped_storage._needs_data()
        memory = self._untyped_storage._bytes
        return memory[: memory.nbytes // self.dtype.itemsize * self.dtype.itemsize].view(self.dtype.np)

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def size(self) -> int:
        """The number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    __len__ = size

    def nbytes(self) -> int:
        """The size in bytes."""
        return self._untyped_storage.nbytes()

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    def element_size(self) -> int:
        """Bytes an element."""
        return self.dtype.itemsize

    @property
    def device(self) -> Device:
        """The device."""
        return self._untyped_storage.device

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._array().tolist()

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        found = self._array()[index]
        return found.tolist() if isinstance(index, slice) else found.item()

    def __setitem__(self, index: object, value: object) -> None:
        self._array()[index] = value

    def fill_(self, value: object) -> "TypedStorage":
        """Sets all elements."""
        self._array()[...] = value
        return self

    def _new_shared(self, size: int) -> "TypedStorage":
        return TypedStorage(UntypedStorage._new_shared(size * self.dtype.itemsize), self.dtype)

    def is_shared(self) -> bool:
        """Whether the memory is shared between processes."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> "TypedStorage":
        """Moves the memory to where processes share it; see `UntypedStorage.share_memory_`."""
        self._untyped_storage.share_memory_()
        return self

    def clone(self) -> "TypedStorage":
        """A copy, on the same device."""
        return TypedStorage(self._untyped_storage.clone(), self.dtype)

    def cpu(self) -> "TypedStorage":
        """Itself, or a copy on the CPU."""
        return self if self.device == CPU else TypedStorage(self._untyped_storage.cpu(), self.dtype)

    def __repr__(self) -> str:
        values = "\n".join(f" {v}" for v in self.tolist())
        return f"{values}\n[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"
