"""Tensors from data: tensor, as_tensor, from_numpy, asarray, from_dlpack, frombuffer."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_tape import warned
from autograd_tape.annotations import DeviceLike
from autograd_tape.calls import HERE, TO_ALL, below, passed
from autograd_tape.dtypes import (
    CPU, CPU_KINDS, DType, Device, FLOATING, INTEGER, OPAQUE, SCALAR_TYPE_NAMES, converted, default_dtype, dtype_of, float32,
    inference_kind,
)
from autograd_tape.errors import AutogradError
from autograd_tape.modes import GradMode, grad_mode
from autograd_tape.ops._samples import check_number
from autograd_tape.tensor import LEAF
from autograd_tape.warned import made, warn_once

from .conversion import checked_dtype, convert
from .nested import integers, is_regular, numbers, plain, read
from .._calls.above import above
from .._tensor import Tensor, frontend
from .._memory.bits import values
from ..storage import TypedStorage, UntypedStorage, lent
from .._calls.shown import shown_in
from torchcompat._memory.layout import layout

_new = object.__new__
_REALS = frozenset([int, float, bool])


def _no_number(data: object, dtype: DType | None) -> Exception:
    """The error for an object that is no number, of which a dtype may be asked."""
    name = type(data).__name__
    if dtype is None:
        return RuntimeError(f"Could not infer dtype of {name}")
    return TypeError(f"must be real number, not {name}" if dtype.category >= FLOATING else
                     f"'{name}' object cannot be interpreted as an integer")


def to_array(data: Any, dtype: DType | None) -> np.ndarray:
    """A new array from nested lists, numbers, arrays or tensors, with torch's dtype rule."""
    if isinstance(data, Tensor):
        data._needs_data("to_array")
        array = values(data)
        return converted(array, array.dtype if dtype is None else dtype.np)
    if isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
        own = dtype_of(array)
        return converted(array, (own if dtype is None else dtype).np)
    if isinstance(data, (str, bytes)) or data is None or callable(data) or isinstance(data, dict):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'") if isinstance(data, (str, bytes)) else \
            _no_number(data, dtype)
    if isinstance(data, (list, tuple)) or hasattr(data, "__len__") and not hasattr(data, "__array__"):
        foreign: list[object] = []
        data = plain(data, foreign)
        if foreign or not is_regular(data):
            return read(data, dtype, foreign)
    elif not isinstance(data, (bool, int, float, complex)):
        if hasattr(data, "__array__"):
            return to_array(np.asarray(data), dtype)
        raise _no_number(data, dtype)
    if dtype is not None:
        if dtype.category == OPAQUE:
            raise RuntimeError("store_scalar: invalid type")
        if dtype.category == INTEGER:
            return integers(data, dtype)
        return numbers(data, dtype)
    try:
        array = np.array(data)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    if array.dtype == object:
        raise ValueError("Overflow when unpacking long long")
    if array.dtype == np.float64:
        return array.astype(default_dtype().np)
    if array.dtype == np.complex128:
        return array.astype(default_dtype().to_complex().np)
    if array.dtype.kind == "u":
        raise ValueError("Overflow when unpacking long long")
    return array


def of_storage(storage: TypedStorage | UntypedStorage, dtype: DType | None) -> np.ndarray:
    """A storage's elements, of bytes as a dtype.

    Raises:
        RuntimeError: they are of another dtype.
    """
    if isinstance(storage, UntypedStorage):
        return TypedStorage.of(storage, dtype or default_dtype())._array()
    if dtype not in (None, storage.dtype):
        raise RuntimeError(f"Expected a Storage of type {SCALAR_TYPE_NAMES[dtype.name]} or an UntypedStorage, but got "
                           f"{SCALAR_TYPE_NAMES[storage.dtype.name]}")
    return storage._array()


def new_tensor(self: Tensor, data: object, *, dtype: DType | None = None, device: object = None, requires_grad: bool = False,
               layout: object = None, pin_memory: bool = False) -> Tensor:
    """A new tensor with a copy of `data`, of this tensor's dtype and device where none are given.

    >>> import torchcompat as torch
    >>> torch.ones(1, dtype=torch.float64).new_tensor([1, 2])
    tensor([1., 2.], dtype=torch.float64)
    """
    return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)  # type: ignore[arg-type]


@frontend.passing
def tensor(data: Any, *, dtype: DType | None = None, device: DeviceLike | None = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:
    """A new tensor with a copy of `data`: nested lists, numbers, an array, or a tensor.

    >>> import torchcompat as torch
    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if TO_ALL and (found := passed(tensor, (data, dtype, device, requires_grad, pin_memory))) is not HERE: return found
    t = _new(Tensor)
    if dtype is not None and dtype.__class__ is not DType:
        dtype = checked_dtype(dtype, "tensor")
    if data.__class__ is float and dtype is None:
        array = np.array(data, default_dtype().np)
    elif data.__class__ is list and dtype is None and data and data[0].__class__ is float:
        try:
            array = np.array(data, default_dtype().np)
            if array.ndim != 1 or not _REALS.issuperset(map(type, data)):
                array = to_array(data, None)
        except (TypeError, ValueError):
            array = to_array(data, None)
    else:
        if isinstance(data, Tensor):

            warned.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                        "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).", UserWarning)
        if isinstance(data, (TypedStorage, UntypedStorage)):
            data = of_storage(data, dtype)
        array = to_array(data, dtype)
        if dtype is not None and dtype.group:
            made(dtype.group)
    t._data = array
    t._k = CPU_KINDS[array.dtype] if grad_mode() is not GradMode.INFERENCE else inference_kind(CPU_KINDS[array.dtype])
    t._node = t._v = t._base = None
    device = frontend.default_device if device is None else Device(device)
    if device is not None and device != CPU:
        t = convert(t, None, device, False, None)
    if requires_grad:
        t._node = LEAF if t._k.dtype.category >= FLOATING else frontend.leaf_node(t, True)
    return t


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor over the memory of an array.

    >>> import numpy as np, torchcompat as torch
    >>> a = np.zeros(2)
    >>> torch.from_numpy(a)[0] = 1.
    >>> a
    array([1., 0.])
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    if any(s < 0 for s in array.strides):
        raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
                         "supported. (You can probably work around this by making a copy of your array  with array.copy().) ")
    if not array.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between byte orders is "
                         "currently not supported.")
    if any(s % array.itemsize for s in array.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
                         "memory.")
    dtype = dtype_of(array).np
    if not array.flags.writeable:
        warn_once("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to "
                  "this tensor will result in undefined behavior. You may want to copy the array to protect its data or make it "
                  "writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program.")
    if array.__class__ is not np.ndarray:
        array = array.view(np.ndarray)
    lent(array)
    # Quiet paths tell dtypes apart by identity; unpickled arrays, for one, have dtypes of their own.
    found = frontend.wrap(array if array.dtype is dtype else array.view(dtype))
    return lifted(found) if TO_ALL else found


def lifted(t: Tensor) -> Any:
    """A tensor of the program's own numbers, or what the innermost mode makes of it."""
    return t if above.lifted is None else above.lifted(t)


@frontend.passing
def as_tensor(data: object, dtype: DType | None = None, device: DeviceLike | None = None) -> Tensor:
    """`data` as a tensor, without copying where possible."""
    if TO_ALL and (found := passed(as_tensor, (data, dtype, device))) is not HERE: return found
    if isinstance(data, Tensor):
        return convert(data, dtype, None if device is None else Device(device), False, None)
    if isinstance(data, np.ndarray) and data.dtype.isnative:
        return convert(from_numpy(data), dtype, None if device is None else Device(device), False, None)
    return below(tensor)(data, dtype=dtype, device=device)


def asarray(obj: object, *, dtype: DType | None = None, device: DeviceLike | None = None, copy: bool | None = None,
            requires_grad: bool = False) -> Tensor:
    """`obj` as a tensor: shares memory with tensors, arrays, storages, DLPack exporters and buffers unless `copy`."""
    dtype = checked_dtype(dtype, "asarray")
    if isinstance(obj, Tensor):
        result = obj if obj._node is None or requires_grad else obj.detach()
    elif isinstance(obj, np.ndarray):
        result = from_numpy(obj)
    elif isinstance(obj, (TypedStorage, UntypedStorage)):
        result = frontend.wrap(of_storage(obj, dtype))
    elif hasattr(obj, "__dlpack__") and not isinstance(obj, np.generic) or type(obj).__name__ == "PyCapsule":
        result = from_dlpack(obj)
    elif not isinstance(obj, np.generic) and _is_buffer(obj):
        result = frombuffer(obj, dtype=dtype or default_dtype())
    else:
        if copy is False:
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ") if isinstance(
                obj, np.generic) else ValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)
    target = convert(result, dtype, None if device is None else Device(device), False, None)
    if copy and target._data is result._data:
        target = target.clone()
    elif copy is False and target._data is not result._data:
        own = result._k
        raise ValueError(f"can't alias tensor from device '{own.device}' to '{target._k.device}'." if target._k.device != own.device else
                         f"can't alias tensor with dtype '{own.dtype.scalar}' into dtype '{target._k.dtype.scalar}'.")
    return target.requires_grad_() if requires_grad else target


def _is_buffer(obj: object) -> bool:
    """Whether an object lends its memory: bytes, `array.array`, ctypes' arrays."""
    try:
        memoryview(obj)  # type: ignore[arg-type]  # that is what is asked
    except TypeError:
        return False
    return True


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A one-dimensional tensor over the memory of a buffer.

    Raises:
        ValueError: it is none, is empty, or too short.

    >>> frombuffer(bytearray(b"ab"), dtype=dtype_of(np.zeros(1, np.uint8)))
    tensor([97, 98], dtype=torch.uint8)
    """
    try:
        memory = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    size = memory.nbytes
    dtype = checked_dtype(dtype, "frombuffer") or float32
    item = dtype.itemsize
    if size == 0 or count == 0:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1")
    if count < 0 and (size - offset) % item:
        raise ValueError(f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({item})")
    if count > 0 and offset + count * item > size:
        raise ValueError(f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must not be greater than actual "
                         f"buffer length ({size} bytes)")
    if memory.readonly:
        warned.warn_once("The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write to "
                         "the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its "
                         "data or make it writable before converting it to a tensor. This type of warning will be suppressed for the rest "
                         "of this program.")
    array = np.frombuffer(buffer, dtype.np, count, offset)
    t = frontend.wrap(lent(array))
    return t.requires_grad_() if requires_grad else t


def from_dlpack(ext_tensor: Any, *, device: DeviceLike | None = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of a DLPack exporter, or of a capsule, which is used up by this.

    >>> import numpy as np, torchcompat as torch
    >>> array = np.zeros(2)
    >>> torch.from_dlpack(array)[0] = 1
    >>> array
    array([1., 0.])

    Args:
        device: where the tensor is to be; the exporter's device where left out.
        copy: whether to copy the memory always, or (False) never.

    Raises:
        RuntimeError: `ext_tensor` is no exporter, and no capsule or one that is used up.
        BufferError: the exporter does not give its memory.
    """
    from .._memory.capsules import DLDeviceType, unpacked

    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError("device and copy kwargs not supported when ext_tensor is already a DLPack capsule.")
        return frontend.wrap(lent(unpacked(ext_tensor)))
    if device is not None and not isinstance(device, (str, Device)):
        raise AssertionError(f"from_dlpack: unsupported device type: {type(device)}")
    source = ext_tensor.__dlpack_device__()
    wanted = Device(device or "cpu")
    if wanted.type == "meta":
        raise BufferError("Cannot pack tensors on meta")
    if source[0] != DLDeviceType.kDLCPU:
        raise BufferError(f"Unsupported device_type: {source[0]}")
    moves = wanted.type != "cpu"
    if moves and copy is False:
        raise ValueError(f"cannot move DLPack tensor from device {source} to {wanted} without copying. Set copy=None or copy=True.")
    try:
        capsule = ext_tensor.__dlpack__(**{} if copy is None else {"copy": copy})
        copied = copy is True
    except TypeError:  # of before there was `copy`
        capsule, copied = ext_tensor.__dlpack__(), False
    t: Tensor = frontend.wrap(lent(unpacked(capsule)))
    return t.to(wanted) if moves else t.clone() if copy and not copied else t


def to_dlpack(t: Tensor) -> Any:
    """A DLPack capsule of a tensor's memory."""
    if not isinstance(t, Tensor):
        raise TypeError(f"_to_dlpack(): argument 'data' (position 1) must be Tensor, not {type(t).__name__}")
    return t.detach().__dlpack__()


@frontend.passing
def scalar_tensor(s: float, *, dtype: DType | None = None, layout: layout | None = None, device: DeviceLike | None = None,
                  pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A zero-dimensional tensor of the default dtype."""
    if TO_ALL and (found := passed(scalar_tensor, (s, dtype, layout, device, pin_memory, requires_grad))) is not HERE: return found
    dtype = checked_dtype(dtype or default_dtype(), "scalar_tensor")
    if isinstance(s, int) and abs(s) >> 64:
        raise OverflowError("int too big to convert")
    try:
        check_number(s, dtype)
    except AutogradError as error:
        raise frontend.error(error) from None
    if dtype.category == INTEGER and isinstance(s, int) and s < 0 <= np.iinfo(dtype.np).min:
        s += np.iinfo(dtype.np).max + 1
    if dtype.name == "uint64" and isinstance(s, float):
        s = int(s)  # it fills, where `tensor` reads whole numbers
    made: Tensor = below(tensor)(s, dtype=dtype, device=device, requires_grad=requires_grad)
    return made


__all__ = ["as_tensor", "asarray", "from_dlpack", "from_numpy", "frombuffer", "scalar_tensor", "tensor", "to_array", "to_dlpack"]


Tensor.new_tensor = new_tensor  # type: ignore[assignment,method-assign]  # made of what stands above tensors


shown_in("torchcompat.utils.dlpack", from_dlpack)
