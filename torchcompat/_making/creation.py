"""Tensors from data: tensor, as_tensor, from_numpy, asarray, from_dlpack, frombuffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_tape.annotations import DeviceLike
from autograd_tape.calls import HERE, TO_ALL, below, passed
from autograd_tape.dtypes import (
    CPU, CPU_KINDS, DType, Device, FLOATING, OPAQUE, SCALAR_TYPE_NAMES, converted, default_dtype, dtype_of, float32, inference_kind,
    number_array,
)
from autograd_tape.modes import GradMode, grad_mode
from autograd_tape.tensor import LEAF

from .conversion import checked_dtype, convert
from .._tensor import Tensor, frontend
from .._memory.bits import values
from ..storage import TypedStorage, UntypedStorage

if TYPE_CHECKING:
    from torchcompat._memory.layout import layout

_new = object.__new__


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
            RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    if isinstance(data, (list, tuple)) or hasattr(data, "__len__") and not hasattr(data, "__array__"):
        data = _plain(data)
        _check_nesting(data)
    elif not isinstance(data, (bool, int, float, complex)):
        if hasattr(data, "__array__"):
            return to_array(np.asarray(data), dtype)
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    if dtype is not None:
        if dtype.category == OPAQUE:
            raise RuntimeError("store_scalar: invalid type")
        try:
            return number_array(data, dtype)
        except OverflowError:
            raise RuntimeError(f"value cannot be converted to type {dtype.name}_t without overflow") from None
    try:
        array = np.array(data)
    except OverflowError:
        raise RuntimeError("Overflow when unpacking long long") from None
    if array.dtype == object:
        raise RuntimeError(f"Could not infer dtype of {_first_leaf_type(data)}") if _has_foreign(data) else \
            RuntimeError("Overflow when unpacking long long")
    if array.dtype.kind in "US":
        raise ValueError("too many dimensions 'str'")
    if array.dtype.kind == "f" and array.size == 0 or array.dtype == np.float64 and not _has_numpy_double(data):
        return array.astype(default_dtype().np)
    if array.dtype == np.complex128:
        return array.astype(default_dtype().to_complex().np)
    if array.dtype.kind == "u" and not _has_numpy_double(data):
        raise RuntimeError("Overflow when unpacking long long")
    return array


def _plain(data: object) -> Any:
    """Nested lists with tensors and arrays inside replaced by numbers."""
    if isinstance(data, (list, tuple)):
        for x in data:
            if x.__class__ not in _PLAIN:
                return [_plain(y) for y in data]
        return data
    if isinstance(data, Tensor):
        return data.tolist()
    if isinstance(data, np.ndarray):
        return data.tolist()
    if isinstance(data, np.generic):
        return data
    if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes)):
        return [_plain(data[i]) for i in range(len(data))]
    return data


_PLAIN = frozenset([int, float, bool, complex])


def _check_nesting(data: Any) -> None:
    """Raises torch's ValueError where nested lists are ragged."""
    shape: list[int] = []
    level = data
    while isinstance(level, (list, tuple)):
        shape.append(len(level))
        if not level:
            break
        level = level[0]
    if len(shape) > 1:
        _check_level(data, shape, 0)
    elif any(isinstance(x, (list, tuple)) for x in data):
        bad = next(x for x in data if isinstance(x, (list, tuple)))
        raise TypeError("not a sequence") if not isinstance(bad,
                                                            (list, tuple)) else TypeError(f"must be real number, not {type(bad).__name__}")


def _check_level(data: Any, shape: list[int], depth: int) -> None:
    if depth == len(shape):
        if isinstance(data, (list, tuple)):
            raise TypeError(f"must be real number, not {type(data).__name__}")
        return
    if not isinstance(data, (list, tuple)):
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    if depth + 1 < len(shape):
        for x in data:
            _check_level(x, shape, depth + 1)


def _leaves(data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        for x in data:
            yield from _leaves(x)
    else:
        yield data


def _has_numpy_double(data: Any) -> bool:
    return isinstance(next(_leaves(data), None), np.generic)


def _has_foreign(data: Any) -> bool:
    return any(not isinstance(x, (int, float, complex, bool)) for x in _leaves(data))


def _first_leaf_type(data: Any) -> str:
    return next(type(x).__name__ for x in _leaves(data) if not isinstance(x, (int, float, complex, bool)))


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
    return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


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
            if array.ndim != 1 or complex in map(type, data):
                array = to_array(data, None)
        except (TypeError, ValueError):
            array = to_array(data, None)
    else:
        if isinstance(data, Tensor):
            import warnings

            warnings.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                          "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).", UserWarning,
                          stacklevel=2)
        if isinstance(data, (TypedStorage, UntypedStorage)):
            data = of_storage(data, dtype)
        array = to_array(data, dtype)
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
        import warnings

        warnings.warn("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to "
                      "this tensor will result in undefined behavior. You may want to copy the array to protect its data or make it "
                      "writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program.",
                      UserWarning, stacklevel=2)
    if array.__class__ is not np.ndarray:
        array = array.view(np.ndarray)
    # Quiet paths tell dtypes apart by identity; unpickled arrays, for one, have dtypes of their own.
    return frontend.wrap(array if array.dtype is dtype else array.view(dtype))


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
    elif hasattr(obj, "__dlpack__") and not isinstance(obj, np.generic):
        result = from_dlpack(obj)
    elif isinstance(obj, (bytes, bytearray, memoryview)):
        result = frombuffer(obj, dtype=dtype or default_dtype())
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)
    target = convert(result, dtype, None if device is None else Device(device), False, None)
    if copy and target._data is result._data:
        target = target.clone()
    elif copy is False and target._data is not result._data:
        raise ValueError("can't alias tensor with dtype or device change.")
    return target.requires_grad_() if requires_grad else target


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A one-dimensional tensor over the memory of a buffer."""
    size = memoryview(buffer).nbytes
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
    array = np.frombuffer(buffer, dtype.np, count, offset)
    t = frontend.wrap(array)
    return t.requires_grad_() if requires_grad else t


def from_dlpack(ext: Any, *, device: DeviceLike | None = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of a DLPack exporter."""
    if isinstance(ext, Tensor):
        return ext.detach()
    array = np.from_dlpack(ext if hasattr(ext, "__dlpack__") else _Capsule(ext))
    if not array.flags.writeable:
        array = np.asarray(_Writable(array))
    return frontend.wrap(array)


class _Writable:
    """An imported array with leave to write: NumPy 1.x marks all imports read-only, torch none, and exporters refuse what really is."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


class _Capsule:
    """A bare DLPack capsule as an exporter."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **kwargs: object) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def to_dlpack(t: Tensor) -> Any:
    """A DLPack capsule of a tensor's memory."""
    return t.__dlpack__()


@frontend.passing
def scalar_tensor(value: float, *, dtype: DType | None = None, layout: layout | None = None, device: DeviceLike | None = None,
                  pin_memory: bool = False, requires_grad: bool = False) -> Tensor:
    """A zero-dimensional tensor of the default dtype."""
    if TO_ALL and (found := passed(scalar_tensor, (value, dtype, layout, device, pin_memory, requires_grad))) is not HERE: return found
    made: Tensor = below(tensor)(value, dtype=dtype or default_dtype(), device=device, requires_grad=requires_grad)
    return made


__all__ = ["as_tensor", "asarray", "from_dlpack", "from_numpy", "frombuffer", "scalar_tensor", "tensor", "to_array", "to_dlpack"]


Tensor.new_tensor = new_tensor  # type: ignore[attr-defined]  # made of what stands above tensors
