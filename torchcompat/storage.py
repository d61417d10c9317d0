"""Storages: the memory behind tensors. Made only when somebody asks; tensors themselves hold strided NumPy arrays."""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_tape.annotations import DeviceLike
from autograd_tape.dtypes import CPU, DType, Device, SCALAR_TYPE_NAMES, converted, default_dtype, home
from autograd_tape.errors import check_rank
from autograd_tape.executors.meta import meta_array
from autograd_tape.strided import address, owner_of, too_large

from ._calls.devices import there
from ._memory import shared
from autograd_tape.warned import ignoring

if TYPE_CHECKING:
    from torchcompat._tensor import Tensor

_by_owner: "weakref.WeakValueDictionary[int, UntypedStorage]" = weakref.WeakValueDictionary()
_lent: "weakref.WeakValueDictionary[int, np.ndarray]" = weakref.WeakValueDictionary()
"""Memory that NumPy's arrays look at, too, by the address of its owner: it must stay where it is."""


def lent(array: np.ndarray) -> np.ndarray:
    """An array that came from NumPy and is a tensor's from now on, whose memory therefore does not grow. (`Tensor.numpy` does not note that
    it lends: growing moves the tensor to memory of its own, and noting it would cost more than all the rest of that call.)

    >>> import numpy as np, torchcompat as torch
    >>> torch.from_numpy(np.zeros(2)).untyped_storage().resizable()
    False
    """
    owner = owner_of(array)
    _lent[id(owner)] = owner
    return array


class UntypedStorage:
    """A block of bytes.

    >>> import torchcompat as torch
    >>> torch.zeros(2, 3).untyped_storage().nbytes()
    24
    """

    __slots__ = ("_owner", "_bytes", "device", "__weakref__")

    def __init__(self, size: int | Sequence[int] | np.ndarray = 0, *, device: Device | str = CPU) -> None:
        self.device = device = _device(device)
        given = isinstance(size, np.ndarray)
        self._owner: np.ndarray = size if isinstance(size, np.ndarray) else _made_of(size, device)
        if device.type != "meta":
            self._bytes = _as_bytes(self._owner)
        else:  # a buffer without data may be larger than all memory; its storage has its size, and zeros
            self._bytes = np.broadcast_to(np.uint8(0), (_reach(self._owner),)) if given else self._owner

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

    @property
    def _cdata(self) -> int:
        """A number for the memory, the same as long as it is there."""
        return id(self._owner)

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
        return UntypedStorage(self.nbytes() if self.device.type == "meta" else self._bytes.copy(), device=self.device)

    def copy_(self, source: "UntypedStorage", non_blocking: bool = False) -> "UntypedStorage":
        """Copies the bytes of another, which may be on another device."""
        if self.device.type != "meta":
            self._bytes[:] = _with_data(source)._bytes
        return self

    def resize_(self, size: int) -> "UntypedStorage":
        """Changes the size. Tensors over the old memory keep it; RuntimeError where it would have to grow under them, or is lent."""
        if self.device.type == "meta":
            self._owner = self._bytes = np.broadcast_to(np.uint8(0), (size,))
            return self
        self._check_resizable(size)
        if size <= self._owner.nbytes:
            self._bytes = self._whole()[:size]
        else:
            shared.grow(self, size)
        return self

    def resizable(self) -> bool:
        """Whether `resize_` can make it larger: not where processes share the memory, or NumPy's arrays look at it."""
        return not self.is_shared() and id(self._owner) not in _lent

    def _check_resizable(self, size: int) -> None:
        if not (self.resizable() or self.is_shared() and size <= self._owner.nbytes):
            raise RuntimeError("Trying to resize storage that is not resizable")

    def element_size(self) -> int:
        """1: elements are bytes."""
        return 1

    def fill_(self, value: int) -> "UntypedStorage":
        """Sets all bytes."""
        if self.device.type != "meta":
            self._bytes[...] = value
        return self

    def type(self, dtype: DType | str | type | None = None, non_blocking: bool = False) -> Any:
        """The name of its class."""
        if dtype is not None:
            raise TypeError("a storage of bytes has no other type: TypedStorage(wrap_storage=...) reads it as one")
        return "torch.storage.UntypedStorage"

    def byteswap(self, dtype: DType) -> None:
        """Turns the bytes of each element of a dtype around; the halves of complex ones by themselves."""
        item = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        elements = self._bytes[: self.nbytes() // item * item].reshape(-1, item)
        elements[...] = elements[:, ::-1].copy()

    @staticmethod
    def from_buffer(buffer: Any, *args: Any, **kwargs: Any) -> "UntypedStorage":
        """A copy of the elements in a buffer, `from_buffer(buffer, byte_order, count=-1, offset=0, *, dtype)`; see `TypedStorage`."""
        return _from_buffer(buffer, *args, **kwargs)

    def get_device(self) -> int:
        """The number of the device, -1 of the CPU."""
        return -1 if self.device.type == "cpu" else self.device.index or 0

    is_sparse = is_sparse_csr = is_hpu = False

    def __copy__(self) -> "UntypedStorage":
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> "UntypedStorage":
        # By the array that owns the memory: tensors in it are copied to the same place.
        return UntypedStorage.of(deepcopy(self._owner, memo), self.device) if self.device == CPU else self.clone()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

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
        there(device)
        return UntypedStorage(_with_data(self)._bytes.copy(), device=device)

    def cpu(self) -> "UntypedStorage":
        """Itself, or a copy on the CPU."""
        return self.to(device=CPU)

    def cuda(self, device: DeviceLike | None = None, non_blocking: bool = False) -> "UntypedStorage":
        """Itself, or a copy on a CUDA device."""
        return self.to(device="cuda" if device is None else device)

    def __repr__(self) -> str:
        values = "..." if self.device.type == "meta" else "\n".join(f" {v}" for v in self._bytes[:1000]) or " "
        return f"{values}\n[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def _device(device: Any) -> Device:
    """A device that storages can be on; RuntimeError where there is none."""
    try:
        device = Device(device)
    except RuntimeError:
        raise RuntimeError(f"torch.UntypedStorage(): Storage device not recognized: {device}") from None
    if device.type not in ("cpu", "meta", "cuda", "npu"):
        raise RuntimeError(f"torch.UntypedStorage(): Storage device not recognized: {device.type}")
    there(device)
    return home(device)


def _made_of(size: Any, device: Device) -> np.ndarray:
    """Memory of so many bytes, or of these."""
    if isinstance(size, (int, np.integer)) and not isinstance(size, bool):
        return np.broadcast_to(np.uint8(0), (int(size),)) if device.type == "meta" else np.zeros(size, np.uint8)
    if not hasattr(size, "__len__") or not hasattr(size, "__getitem__"):
        raise TypeError(f"torch.UntypedStorage() received an invalid combination of arguments - got ({type(size).__name__})")
    for item in size:
        if not isinstance(item, (int, np.integer)) or isinstance(item, bool):
            raise RuntimeError(f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(size).__name__}), but one of "
                               f"the items was of type {type(item).__name__} instead of int")
    return np.array(size, np.int64).astype(np.uint8)


def _from_buffer(buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0, *, dtype: DType) -> UntypedStorage:
    """The bytes of elements of a dtype in a buffer, in this machine's order.

    Raises:
        RuntimeError: no order is given for elements of several bytes.
        ValueError: it is no order, or the buffer holds no whole number of elements.
    """
    item = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if byte_order is None and dtype.itemsize > 1:
        raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
    if byte_order not in (None, "big", "little", "native"):
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
    memory = np.frombuffer(buffer, np.uint8)[offset:] if len(memoryview(buffer)) else np.empty(0, np.uint8)
    if count >= 0:
        memory = memory[: count * dtype.itemsize]
    if memory.nbytes % dtype.itemsize:
        raise ValueError(f"buffer size ({memory.nbytes}) must be a multiple of element size ({dtype.itemsize})")
    if byte_order not in (None, "native", sys.byteorder):
        memory = memory.reshape(-1, item)[:, ::-1].reshape(-1)
    if dtype.name == "bool":
        memory = memory != 0
    return UntypedStorage(np.array(memory).view(np.uint8))


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
    check_rank(len(size), plain=True)
    n = math.prod(size)
    data = t._data
    if data.shape == tuple(size):
        return
    if n > LONGEST:
        raise RuntimeError("numel: integer multiplication overflow")
    if t._k.device.type == "meta":
        t._data = meta_array(tuple(size), data.dtype)
        return
    storage = UntypedStorage.of(data, t._k.device)  # raises where there is none
    if fits(t, size):
        owner, offset = owner_of(data), t.storage_offset()
        flat = owner.reshape(-1).view(data.dtype) if owner.dtype != data.dtype else owner.reshape(-1)
        t._data = flat[offset: offset + n].reshape(size)
    else:
        storage._check_resizable(storage.nbytes() + 1)
        try:
            fresh = np.empty(size, data.dtype)
        except (ValueError, MemoryError):
            raise RuntimeError(str(too_large(size, data.itemsize))) from None
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
    if memory.strides == (0,) and memory.nbytes > 1:  # of a buffer without data, which has as much memory unless that was not to be had
        memory = storage._owner
    try:
        return np.ndarray(tuple(size), dtype.np, memory, 0 if 0 in size else offset * item, tuple([step * item for step in stride]))
    except ValueError as error:  # more dimensions than NumPy has
        raise RuntimeError(f"sizes {list(size)} cannot be had: {error}") from None


def _reach(a: np.ndarray) -> int:
    """The number of bytes from the first element of an array to the end of the last, in memory that starts at the first."""
    return a.itemsize + sum((n - 1) * step for n, step in zip(a.shape, a.strides)) if a.size else 0


class TypedStorage:
    """A storage read as elements of one dtype (what `tensor.storage()` gives).

    `TypedStorage(size)`, `TypedStorage(sequence)`, both with `dtype` and `device`; `TypedStorage(wrap_storage=..., dtype=...)` reads a
    storage of bytes.

    >>> import torchcompat as torch
    >>> torch.TypedStorage([1, 2], dtype=torch.float32).nbytes()
    8

    Raises:
        RuntimeError: other arguments.
        TypeError: one of another type.
    """

    is_sparse = is_hpu = False

    def __init__(self, *args: object, device: DeviceLike | None = None, dtype: DType | None = None,
                 wrap_storage: UntypedStorage | None = None) -> None:
        wrong = ("TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
                 " * (*, torch.device device, torch.dtype dtype)\n"
                 " * (int size, *, torch.device device, torch.dtype dtype)\n"
                 " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
                 " * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n")
        if wrap_storage is not None:
            if args:
                raise RuntimeError(wrong + "No positional arguments should be given when using 'wrap_storage'")
            if dtype is None:
                raise RuntimeError(wrong + "Argument 'dtype' must be specified")
            if not isinstance(dtype, DType):
                raise TypeError(wrong + f"Argument 'dtype' must be torch.dtype, not {type(dtype)}")
            if device is not None:
                raise RuntimeError(wrong + "Argument 'device' should not be specified when 'wrap_storage' is given")
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(wrong + f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
            self._untyped_storage, self.dtype = wrap_storage, dtype
            return
        self.dtype = default_dtype() if dtype is None else dtype
        if not isinstance(self.dtype, DType):
            raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
        device = _device(CPU if device is None else device)
        if len(args) > 1:
            raise RuntimeError(wrong + "Too many positional arguments")
        size = args[0] if args else 0
        if isinstance(size, str):
            raise TypeError("new(): invalid data type 'str'")
        if isinstance(size, int) and not isinstance(size, bool):
            self._untyped_storage = UntypedStorage(size * self.dtype.itemsize, device=device)
        elif isinstance(size, Sequence):
            memory = _elements(np.asarray(size), self.dtype)
            self._untyped_storage = UntypedStorage(len(size) * self.dtype.itemsize if device.type == "meta" else memory, device=device)
        else:
            raise TypeError(wrong + f"Argument type not recognized: {type(size)}")

    @classmethod
    def of(cls, storage: UntypedStorage, dtype: DType) -> "TypedStorage":
        """Storage of bytes, read as elements of a dtype."""
        made = object.__new__(TypedStorage)
        made._untyped_storage, made.dtype = storage, dtype
        return made

    def _array(self) -> np.ndarray:
        self._untyped_storage._needs_data()
        memory = self._untyped_storage._bytes
        kind = f"i{self.dtype.itemsize}" if self.dtype.group == "quantized" else self.dtype.np  # the numbers that stand for quantities
        return memory[: memory.nbytes // self.dtype.itemsize * self.dtype.itemsize].view(kind)

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

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def element_size(self) -> int:
        """Bytes an element."""
        return self.dtype.itemsize

    @property
    def device(self) -> Device:
        """The device."""
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        """Whether it lives on a CUDA device."""
        return self.device.type == "cuda"

    def get_device(self) -> int:
        """The number of the device, -1 of the CPU."""
        return self._untyped_storage.get_device()

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._array().tolist()

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __getitem__(self, index: object) -> Any:
        self._untyped_storage._needs_data()
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {TypedStorage} with {type(index)}")
        if not -self.size() <= index < self.size():
            raise IndexError(f"index {index} out of range for storage of size {self.size()}")
        return self._array()[index].item()

    def __setitem__(self, index: object, value: object) -> None:
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {TypedStorage} with {type(index)}")
        if isinstance(value, (TypedStorage, UntypedStorage)):
            raise RuntimeError(f"cannot set item with value type <class 'torch.storage.{type(value).__name__}'>")
        if isinstance(value, (str, list)):
            raise TypeError(f"can't assign a {type(value).__name__} to a torch.{SCALAR_TYPE_NAMES[self.dtype.name]}Tensor")
        if isinstance(index, int) and not -self.size() <= index < self.size():
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {self.size()}")
        self._array()[index] = value

    def fill_(self, value: object) -> "TypedStorage":
        """Sets all elements."""
        if self.device.type != "meta":
            self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> "TypedStorage":
        """Copies the bytes of another storage, whatever they mean there.

        Raises:
            RuntimeError: it has another number of bytes.
        """
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
        self._untyped_storage.copy_(source.untyped(), bool(non_blocking))
        return self

    def resize_(self, size: int) -> "TypedStorage":
        """Changes the number of elements."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def resizable(self) -> bool:
        """Whether it can be made larger."""
        return self._untyped_storage.resizable()

    def _new_shared(self, size: int) -> "TypedStorage":
        return TypedStorage.of(UntypedStorage._new_shared(size * self.dtype.itemsize), self.dtype)

    def is_shared(self) -> bool:
        """Whether the memory is shared between processes."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> "TypedStorage":
        """Moves the memory to where processes share it; see `UntypedStorage.share_memory_`."""
        self._untyped_storage.share_memory_()
        return self

    def is_pinned(self, device: DeviceLike | None = None) -> bool:
        """Whether the memory is page-locked; never here."""
        return False

    def pin_memory(self, device: DeviceLike | None = None) -> "TypedStorage":
        """Refuses: no device here reads page-locked memory."""
        self._untyped_storage.pin_memory(device)
        return self

    def clone(self) -> "TypedStorage":
        """A copy, on the same device."""
        return TypedStorage.of(self._untyped_storage.clone(), self.dtype)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def __copy__(self) -> "TypedStorage":
        return self.clone()

    def __deepcopy__(self, memo: dict[int, object]) -> "TypedStorage":
        return TypedStorage.of(self._untyped_storage.__deepcopy__(memo), self.dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self.dtype is other.dtype and self._untyped_storage == other._untyped_storage

    def __hash__(self) -> int:
        return hash(self._untyped_storage)

    def cpu(self) -> "TypedStorage":
        """Itself, or a copy on the CPU."""
        return self if self.device == CPU else TypedStorage.of(self._untyped_storage.cpu(), self.dtype)

    def cuda(self, device: DeviceLike | None = None, non_blocking: bool = False) -> "TypedStorage":
        """Itself, or a copy on a CUDA device."""
        return TypedStorage.of(self._untyped_storage.cuda(device), self.dtype)

    def to(self, *, device: Any, non_blocking: bool = False) -> "TypedStorage":
        """Itself, or a copy on another device."""
        found = self._untyped_storage.to(device=device)
        return self if found is self._untyped_storage else TypedStorage.of(found, self.dtype)

    def _to(self, dtype: DType) -> "TypedStorage":
        """A copy with the elements converted; itself where they are of that dtype."""
        if dtype is self.dtype:
            return self
        if self.device.type == "meta":
            return TypedStorage(self.size(), dtype=dtype, device=self.device)
        return TypedStorage.of(UntypedStorage(_elements(self._array(), dtype)), dtype)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the class of its dtype, `torch.FloatStorage`; with one of these, or its name, a copy of that dtype."""
        if dtype is None:
            found = CLASSES.get(self.dtype)
            return "torch.storage.TypedStorage" if found is None else f"torch.{found.__name__}"
        named = dtype.rpartition(".")[2] if isinstance(dtype, str) else dtype.__name__
        return self._to(_storage_type_to_dtype_map()[named])

    def pickle_storage_type(self) -> str:
        """The name of the class of its dtype, as pickles have it.

        Raises:
            KeyError: the dtype has none.
        """
        return _dtype_to_storage_type_map()[self.dtype]

    _pickle_storage_type = pickle_storage_type

    @classmethod
    def from_buffer(cls, *args: Any, **kwargs: Any) -> "TypedStorage":
        """A copy of the elements in a buffer: `torch.IntStorage.from_buffer(buffer, byte_order, count=-1, offset=0)`.

        Raises:
            RuntimeError: no order is given for elements of several bytes.
            ValueError: it is no order, or the buffer holds no whole number of elements.
        """
        dtype = getattr(cls, "dtype", None) or kwargs.pop("dtype", None) or default_dtype()
        return TypedStorage.of(_from_buffer(*args, dtype=dtype, **kwargs), dtype)

    @classmethod
    def from_file(cls, filename: str, shared: bool, size: int) -> "TypedStorage":
        """The elements of a file, mapped; `torch.FloatStorage.from_file`.

        Raises:
            RuntimeError: called of `TypedStorage` itself, which has no dtype.
        """
        if cls is TypedStorage:
            raise RuntimeError("from_file can only be called on derived classes")
        dtype: DType = vars(cls)["dtype"]
        return TypedStorage.of(UntypedStorage.from_file(filename, shared, size * dtype.itemsize), dtype)

    def __repr__(self) -> str:
        values = "..." if self.device.type == "meta" else "\n".join(f" {v}" for v in self.tolist()) or " "
        return f"{values}\n[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"

    def __reduce__(self) -> Any:
        return _load_typed, (self.dtype, bytes(self._untyped_storage._bytes))


def _elements(numbers: np.ndarray, dtype: DType) -> np.ndarray:
    """Numbers as the bytes of elements of a dtype, of quantized ones as those of the integers that stand for them."""
    if numbers.dtype.kind == "c" and not dtype.is_complex and dtype.name != "bool":
        numbers = numbers.real
    with ignoring():
        found = numbers.astype(f"i{dtype.itemsize}") if dtype.group == "quantized" else converted(numbers, dtype.np)
    return np.ascontiguousarray(found).view(np.uint8)


def _load_typed(dtype: DType, data: bytes) -> TypedStorage:
    """A storage from a pickle."""
    return TypedStorage.of(UntypedStorage(np.frombuffer(bytearray(data), np.uint8)), dtype)


class _LegacyStorageMeta(type):
    """Classes of storages of one dtype: a `TypedStorage` of that dtype is an instance."""

    dtype: DType

    def __instancecheck__(cls, instance: object) -> bool:
        return type(instance) is TypedStorage and cls is not _LegacyStorage and (instance.dtype, instance.device) == (cls.dtype, CPU)


class _LegacyStorage(TypedStorage, metaclass=_LegacyStorageMeta):
    """What `torch.FloatStorage` and its kin derive from: calling them gives a `TypedStorage`."""

    def __new__(cls, *args: object, wrap_storage: UntypedStorage | None = None, **kwargs: object) -> TypedStorage:  # type: ignore[misc]
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        wrong = (f"<class 'torch.{cls.__name__}'>.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n"
                 " * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n")
        for name in ("device", "dtype"):
            if name in kwargs:
                raise RuntimeError(wrong + f"Keyword argument '{name}' cannot be specified")
        if kwargs:
            raise TypeError(f"TypedStorage.__new__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if wrap_storage is not None:
            if args:
                raise RuntimeError(wrong + "No positional arguments should be given when using 'wrap_storage'")
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(wrong + f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
            return TypedStorage.of(wrap_storage, cls.dtype)
        if len(args) > 1:
            raise RuntimeError(wrong + "Too many positional arguments")
        if args and isinstance(args[0], str):
            raise TypeError("new(): invalid data type 'str'")
        if args and not isinstance(args[0], (int, Sequence)):
            raise TypeError(wrong + f"Argument type not recognized: {type(args[0])}")
        return TypedStorage(*args, dtype=cls.dtype)


CLASSES: dict[DType, _LegacyStorageMeta] = {
    DType.by_name[dtype]: _LegacyStorageMeta(f"{name}Storage", (_LegacyStorage,), {
        "dtype": DType.by_name[dtype], "__module__": "torch", "__doc__": f"Storages of {dtype}, as torch used to name them."})
    for dtype, name in SCALAR_TYPE_NAMES.items() if dtype in (
        "float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool", "bfloat16", "complex128", "complex64", "qint8",
        "qint32", "quint8", "quint4x2", "quint2x4")}
"""The classes of storages of one dtype, those that torch has."""
for _dtype, _method in (("float64", "double"), ("float32", "float"), ("float16", "half"), ("int64", "long"), ("int32", "int"),
                        ("int16", "short"), ("int8", "char"), ("uint8", "byte"), ("bool", "bool"), ("bfloat16", "bfloat16"),
                        ("complex128", "complex_double"), ("complex64", "complex_float"), ("float8_e5m2", "float8_e5m2"),
                        ("float8_e4m3fn", "float8_e4m3fn"), ("float8_e5m2fnuz", "float8_e5m2fnuz"),
                        ("float8_e4m3fnuz", "float8_e4m3fnuz")):
    def _conversion(self: TypedStorage, _dtype: DType = DType.by_name[_dtype]) -> TypedStorage:
        return self._to(_dtype)

    _conversion.__name__, _conversion.__doc__ = _method, f"A copy as {_dtype}; itself where it is that."
    setattr(TypedStorage, _method, _conversion)


def _dtype_to_storage_type_map() -> dict[DType, str]:
    """The names of the classes by dtype."""
    return {dtype: cls.__name__ for dtype, cls in CLASSES.items()}


def _storage_type_to_dtype_map() -> dict[str, DType]:
    """The dtypes by name of their classes."""
    return {cls.__name__: dtype for dtype, cls in CLASSES.items()}
