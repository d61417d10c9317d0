"""Tensors made of other tensors: other data types and devices; pickles."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from types import NoneType
from typing import Any, overload

import numpy as np

from autograd_tape.calls import HERE, TO_ALL
from autograd_tape.dtypes import (
    DType, Device, bfloat16, bool_, complex32, complex64, complex128, float16, float32, float64, int8, int16, int32, int64, kind,
    result_dtype, uint8,
)
from autograd_tape.errors import type_name
from autograd_tape.strided import suggests_channels_last
from autograd_tape.warned import made

from .._calls.above import above
from .._memory.layout import _Named, memory_format
from .._tensor import Tensor, _blank, frontend
from ..overrides import met


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


_FLAGS = {"non_blocking": frozenset([bool]), "copy": frozenset([bool])}
_DTYPES = frozenset([DType])
_TO_DEVICE = {"device": frozenset([NoneType, str, Device, int]), "dtype": _DTYPES | {NoneType}, **_FLAGS}
_PLACES = frozenset(["device", "dtype"])
_TO_DTYPE = {"dtype": _DTYPES, **_FLAGS}
_TO_TENSOR = {"tensor": frozenset([Tensor]), **_FLAGS}
"""The parameters of the signatures of `to`, and the types they take."""


def parse_to(*args: Any, memory_format: memory_format | None = None,
             **named: Any) -> tuple[DType | None, Device | None, bool, memory_format | None]:
    """(dtype, device, copy, memory format) of the arguments of `to`.

    Raises:
        TypeError: they fit none of its signatures.
    """
    first: Any = args[0] if args else named.get("tensor")
    kind_of = first.__class__
    if not named and len(args) == 1:  # the usual calls first, for speed alone
        if kind_of is DType:
            return first, None, False, memory_format
        if kind_of is str or kind_of is Device:
            return None, Device(first), False, memory_format
        if kind_of is Tensor:
            return first._k.dtype, first._k.device, False, memory_format
    elif not args and named.keys() <= _PLACES:
        device, dtype = named.get("device"), named.get("dtype")
        if (device is None or device.__class__ is Device) and (dtype is None or dtype.__class__ is DType):
            return dtype, device, False, memory_format
    is_dtype = kind_of is DType or isinstance(first, type) and first in _PYTHON
    takes = _TO_TENSOR if isinstance(first, Tensor) else _TO_DTYPE if is_dtype else _TO_DEVICE
    given = dict(zip(takes, args))
    fits = len(given) == len(args) and given.keys().isdisjoint(named)
    given |= named
    for name, value in given.items():
        kinds = takes.get(name)
        if kinds is None or value.__class__ not in kinds and not (
                isinstance(value, Tensor) and Tensor in kinds or DType in kinds and isinstance(value, type) and value in _PYTHON):
            fits = False
    if fits:
        dtype, device = (first._k.dtype, first._k.device) if takes is _TO_TENSOR else (given.get("dtype"), given.get("device"))
        return checked_dtype(dtype, "to"), None if device is None else Device(device), given.get("copy", False), memory_format
    shown = [_shown(v) for v in args] + [f"{name}={_shown(v)}" for name, v in named.items()] + [""] * (bool(named) and not args)
    raise TypeError(f"to() received an invalid combination of arguments - got ({', '.join(shown)}), but expected one of:\n"
                    " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, "
                    "torch.memory_format memory_format = None)\n * (torch.dtype dtype, bool non_blocking = False, bool copy = False, "
                    "*, torch.memory_format memory_format = None)\n * (Tensor tensor, bool non_blocking = False, bool copy = False, *, "
                    "torch.memory_format memory_format = None)\n")


def _shown(value: object) -> str:
    """What the message calls an argument's type."""
    kind = type(value)
    name = {DType: "dtype", Device: "device"}.get(kind, kind.__name__)
    return f"torch.{name}" if kind in (DType, Device) or isinstance(value, _Named) else name


def _suggested(t: Tensor) -> str:
    """The memory format that the strides suggest: by this, and not by whether elements lie densely, torch decides whether to convert."""
    last = {4: "channels_last", 5: "channels_last_3d"}.get(t.ndim)
    return last if last and t._data.__class__ is np.ndarray and suggests_channels_last(t._data) else "contiguous_format"


def convert(t: Tensor, dtype: DType | None, device: Device | None, copy: bool, memory_format: memory_format | None) -> Tensor:
    """`t.to(...)`."""
    dtype = checked_dtype(dtype, "to")
    k = t._k
    if device is not None and device != k.device:
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex) and t._node is not None:
            t = t.detach()  # numbers without a gradient have no history either
        t, dtype, copy = frontend.to_device(t, device, dtype), None, False
    ordered = memory_format is not None and memory_format.name != "preserve_format" and (
        copy or dtype not in (None, k.dtype) or _suggested(t) != memory_format.name)
    if dtype is not None and dtype is not k.dtype:
        t = t if dtype.is_floating_point or dtype.is_complex or t._node is None else t.detach()
        made(dtype.group)
        return frontend.cast(t.contiguous(memory_format=memory_format) if ordered else t, dtype)
    if ordered:
        return t.clone(memory_format=memory_format)
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
            if TO_ALL and (found := met(method, (self,), {"memory_format": memory_format} if memory_format else {})) is not HERE:
                return found
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


def result_type(*operands: object, **named: object) -> DType:
    """The dtype of an operation on two operands, tensors or numbers: `tensor` and `other`, `scalar` and `tensor`, `scalar1` and `scalar2`.

    >>> import torchcompat as torch
    >>> torch.result_type(scalar=1.5, tensor=torch.tensor([1]))
    torch.float32
    """
    signatures = [("tensor", "other"), ("scalar", "tensor"), ("scalar1", "scalar2")]
    found = next((names for names in signatures if len(operands) < 3 and set(named) == set(names[len(operands):])), None)
    both = [*operands, *[named[name] for name in found[len(operands):]]] if found else []
    if found is None or any([not isinstance(x, (Tensor, Number)) for x in both]):
        given = [*map(type_name, operands), *[f"{name}={type_name(x)}" for name, x in named.items()]]
        raise TypeError(f"result_type() received an invalid combination of arguments - got ({', '.join(given)}{',' * (len(given) < 2)})")
    return result_dtype([(x._k.dtype, x.ndim) for x in both if isinstance(x, Tensor)],
                                [x for x in both if not isinstance(x, Tensor)])
