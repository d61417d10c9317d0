"""finfo, iinfo, and the legacy typed tensor constructors."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import IO, Any, Union

import ml_dtypes
import numpy as np

from autograd_tape.dtypes import DType, Device as _device, SCALAR_TYPE_NAMES, default_dtype

from ._calls.absent import absences as _absences
from ._calls.keys import DispatchKey
from ._calls.symbols import SymBool, SymFloat, SymInt
from ._making.conversion import checked_dtype
from ._making.legacy import legacy_tensor
from ._memory.layout import layout
from ._memory.size import Size
from ._tensor import Tensor

Number = int | float | bool
_Number = (int, float, bool)
_int, _float, _bool, _str, _bytes, _complex = int, float, bool, str, bytes, complex
_dtype, _layout = DType, layout
_size = Size | list[int] | tuple[int, ...]
_symsize = Size | Sequence[int | SymInt]
_dispatchkey = str | DispatchKey
_TensorOrTensors = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors = Tensor | Sequence[Tensor | None]
IntLikeType, FloatLikeType, BoolLikeType = int | SymInt, float | SymFloat, bool | SymBool
PySymType = SymInt | SymFloat | SymBool
py_sym_types = SymInt, SymFloat, SymBool
Device = _device | str | int | None
FileLike = Union[str, os.PathLike[str], IO[bytes]]  # noqa: UP007  # torch's prints so


class Storage:
    """What annotations call any storage: the methods that all have."""

    _cdata: int
    device: _device
    dtype: DType
    _torch_load_uninitialized: bool

    def element_size(self) -> int:
        """How many bytes an element has."""
        raise NotImplementedError

    def is_shared(self) -> bool:
        """Whether other processes may see the memory."""
        raise NotImplementedError

    def share_memory_(self) -> Storage:
        """Moves the elements into memory that other processes may see."""
        raise NotImplementedError

    def nbytes(self) -> int:
        """How many bytes it has."""
        raise NotImplementedError

    def cpu(self) -> Storage:
        """Its elements in memory of the CPU."""
        raise NotImplementedError

    def data_ptr(self) -> int:
        """The address of the memory."""
        raise NotImplementedError

    def from_file(self, filename: str, shared: bool = False, nbytes: int = 0) -> Storage:
        """A storage over the bytes of a file."""
        raise NotImplementedError


class finfo:
    """The limits of a floating dtype.

    >>> import torchcompat as torch
    >>> torch.finfo(torch.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: DType | None = None) -> None:
        type = checked_dtype(type, "finfo") or default_dtype()
        if not (type.is_floating_point or type.is_complex):
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        if type.group == "float4":
            raise TypeError(f"torch.finfo() knows no limits of {type!r}, whose elements are two numbers each")
        info = ml_dtypes.finfo(type.to_real().np)
        self.dtype = type.to_real().name
        self.bits = type.to_real().itemsize * 8
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = 10.0 ** -int(-math.log10(self.eps))  # the decimal digits that every number keeps

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    __hash__ = None  # type: ignore[assignment]


class iinfo:
    """The limits of an integer dtype."""

    def __init__(self, type: DType) -> None:
        type = checked_dtype(type, "iinfo")
        if type.group == "quantized":
            raise type.missing("dtype")
        if type.category != 1:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"
                            if type.category else "torch.bool is not supported by torch.iinfo")
        info = np.iinfo(type.np)
        self.dtype, self.bits, self.max, self.min = type.name, info.bits, int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    __hash__ = None  # type: ignore[assignment]


class _TypedMeta(type):
    dtype: DType

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> "_TypedMeta":
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type")
        return super().__new__(mcs, name, bases, namespace)

    def __instancecheck__(cls, instance: object) -> bool:
        return (isinstance(instance, Tensor) and instance._k.dtype is cls.dtype and instance._k.device.type == "cpu"
                and instance._k.special.__class__ is not layout)

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        return legacy_tensor(Tensor, *args, dtype=cls.dtype, **kwargs)


def _typed(name: str, dtype: DType) -> type:
    return _TypedMeta(name, (), {"dtype": dtype, "__module__": "torch", "__doc__": f"Tensors of {dtype.name}, as torch used to name them."})


_made = {f"{SCALAR_TYPE_NAMES[d.name]}Tensor": _typed(f"{SCALAR_TYPE_NAMES[d.name]}Tensor", d)
         for d in DType.by_name.values() if d.name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
                                                       "bfloat16")}
globals().update(_made)
FloatTensor = _made["FloatTensor"]

__all__ = ["finfo", "iinfo"] + list(_made)

_absences(__name__)
