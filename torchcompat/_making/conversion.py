"""Tensors made of other tensors: other data types and devices; pickles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from autograd_tape.dtypes import (
    DType, Device, bfloat16, bool_, complex32, complex64, complex128, float16, float32, float64, int8, int16, int32, int64, kind, uint8,
)

from .._calls.above import above
from .._tensor import Tensor, _blank, frontend

if TYPE_CHECKING:
    from torchcompat._memory.layout import memory_format


_PYTHON = {int: int64, float: float64, bool: bool_, complex: complex128}


@overload
def checked_dtype(dtype: DType | type, function: str) -> DType: ...
@overload
def checked_dtype(dtype: None, function: str) -> None: ...
def checked_dtype(dtype: Any, function: str) -> DType | None:
    """`dtype` as a DType or None: Python's number types stand for the widest of their kind; TypeError for what is no dtype.

    >>> checked_dtype(int, "to"), checked_dtype(None, "to")
    (torch.int64, None)
    """
    if dtype is None or isinstance(dtype, DType):
        return dtype
    found = _PYTHON.get(dtype) if isinstance(dtype, type) else None
    if found is None:
        raise TypeError(f"{function}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return found


def parse_to(*args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False,
             memory_format: Any = None, other: Any = None) -> tuple[DType | None, Device | None, bool, Any]:
    """(dtype, device, copy, memory format) of the arguments of `to`."""
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    if other is not None:
        dtype, device = other._k.dtype, other._k.device
    elif rest and (isinstance(rest[0], DType) or rest[0] in (int, float, bool, complex)):
        dtype = rest.pop(0)
    elif rest and (isinstance(rest[0], (str, Device, int)) and not isinstance(rest[0], bool) or rest[0] is None):
        device = rest.pop(0)
        if rest and (isinstance(rest[0], DType) or rest[0] is None or rest[0] in (int, float, bool, complex)):
            dtype = rest.pop(0) or dtype
    elif rest and not isinstance(rest[0], bool):
        raise TypeError(f"to() received an invalid combination of arguments - got ({type(rest[0]).__name__}), but expected one of:\n"
                        " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, "
                        "torch.memory_format memory_format = None)\n * (torch.dtype dtype, bool non_blocking = False, bool copy = False, "
                        "*, torch.memory_format memory_format = None)\n * (Tensor tensor, bool non_blocking = False, bool copy = False, *, "
                        "torch.memory_format memory_format = None)\n")
    if rest:
        rest.pop(0)  # non_blocking
    if rest:
        copy = rest.pop(0)
    return checked_dtype(dtype, "to"), None if device is None else Device(device), copy, memory_format


def convert(t: Tensor, dtype: DType | None, device: Device | None, copy: bool, memory_format: memory_format | None) -> Tensor:
    """`t.to(...)`."""
    dtype = checked_dtype(dtype, "to")
    k = t._k
    if device is not None and device != k.device:
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex) and t._node is not None:
            t = t.detach()  # numbers without a gradient have no history either
        t, dtype, copy = frontend.to_device(t, device, dtype), None, False
    ordered = memory_format is not None and memory_format.name != "preserve_format"
    if dtype is not None and dtype is not k.dtype:
        t = t if dtype.is_floating_point or dtype.is_complex or t._node is None else t.detach()
        return frontend.cast(t.contiguous(memory_format=memory_format) if ordered else t, dtype)
    if ordered:
        t, before = t.contiguous(memory_format=memory_format), t
        copy = copy and t is before
    return t if not copy else t.clone() if t.is_conj() or t.is_neg() else frontend.cast(t, t._k.dtype)


def rebuild(cls: type | None, data: bytes, dtype: str, shape: tuple[int, ...], device: str, requires_grad: bool,
            state: dict[str, list[str]]) -> Tensor:
    """The tensor that was pickled."""
    d = DType.by_name[dtype]
    t = _blank(cls or Tensor, np.frombuffer(bytearray(data), d.np).reshape(shape), kind(d, Device(device)))
    t._node = frontend.leaf_node(t, requires_grad)
    t.__dict__.update(state)
    return t


def _make_conversions() -> None:
    """float(), half(), long(), ...: one method per dtype."""
    def conversion(name: str, dtype: DType) -> Callable[..., Tensor]:
        def method(self: Tensor, memory_format: memory_format | None = None) -> Tensor:
            return self if self._k.dtype is dtype and memory_format is None else convert(self, dtype, None, False, memory_format)

        method.__name__ = method.__qualname__ = name
        method.__doc__ = f"Converted to {dtype.name}."
        return method

    for name, dtype in {"float": float32, "double": float64, "half": float16, "bfloat16": bfloat16, "int": int32, "long": int64,
                        "short": int16, "char": int8, "byte": uint8, "bool": bool_, "chalf": complex32, "cfloat": complex64,
                        "cdouble": complex128}.items():
        setattr(Tensor, name, conversion(name, dtype))


_make_conversions()
above.convert, above.parse_to, above.rebuild = convert, parse_to, rebuild
