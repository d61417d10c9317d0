"""Dtypes, devices, and the *kind* of a tensor: the (dtype, device) pair that operations test with one identity check.

Dtype promotion is decided here and nowhere else; the rule is PyTorch's
(https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc): a category (bool < integer < floating <
complex) wins first, and within a category dimensioned tensors win over zero-dimensional ones, which win over Python
numbers.
"""

from __future__ import annotations

import math
from typing import Any
from collections.abc import Iterable

import ml_dtypes
import numpy as np
from .annotations import Number

BOOL, INTEGER, FLOATING, COMPLEX = range(4)
_CATEGORIES = {"b": BOOL, "i": INTEGER, "u": INTEGER, "f": FLOATING, "c": COMPLEX}


class DType:
    """A data type: its torch name, its NumPy dtype and its promotion category. Instances are singletons.

    >>> float32.itemsize, float32.is_floating_point, float32.is_complex
    (4, True, False)
    """

    __slots__ = ("name", "np", "category", "itemsize", "is_floating_point", "is_complex", "is_signed", "__weakref__")
    by_name: dict[str, "DType"] = {}
    by_np: dict[np.dtype, "DType"] = {}

    name: str
    np: np.dtype
    category: int
    itemsize: int
    is_floating_point: bool
    is_complex: bool
    is_signed: bool
    home = "autograd_tape"
    """Where programs find them by name: torchcompat, where it is imported, has them as its own."""

    def __new__(cls, name: str, np_type: Any = None, category: int | None = None) -> "DType":
        if np_type is None:
            raise TypeError(f"cannot create '{name}' instances: the dtypes are fixed; pick one by its name")
        self = object.__new__(cls)
        self.name, self.np = name, np.dtype(np_type)
        self.category = _CATEGORIES[self.np.kind] if category is None else category
        self.itemsize = self.np.itemsize
        self.is_floating_point = self.category == FLOATING
        self.is_complex = self.category == COMPLEX
        self.is_signed = self.category >= FLOATING or self.np.kind == "i"
        cls.by_name[name] = cls.by_np[self.np] = self
        return self

    def __repr__(self) -> str:
        return f"{self.home}.{self.name}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (_dtype_named, (self.name,))

    def to_complex(self) -> "DType":
        """The complex dtype whose parts have this precision."""
        return {2: complex64, 4: complex64, 8: complex128}[self.itemsize] if not self.is_complex else self

    def to_real(self) -> "DType":
        """The dtype of a real part."""
        return {8: float32, 16: float64}[self.itemsize] if self.is_complex else self


def _dtype_named(name: str) -> DType:
    return DType.by_name[name]


bool_ = DType("bool", np.bool_)
uint8, uint16, uint32, uint64 = (DType(f"uint{n}", f"u{n // 8}") for n in (8, 16, 32, 64))
int8, int16, int32, int64 = (DType(f"int{n}", f"i{n // 8}") for n in (8, 16, 32, 64))
float16, float32, float64 = (DType(f"float{n}", f"f{n // 8}") for n in (16, 32, 64))
bfloat16 = DType("bfloat16", ml_dtypes.bfloat16, FLOATING)
complex64, complex128 = DType("complex64", "c8"), DType("complex128", "c16")
float8_e4m3fn = DType("float8_e4m3fn", ml_dtypes.float8_e4m3fn, FLOATING)
float8_e4m3fnuz = DType("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, FLOATING)
float8_e5m2 = DType("float8_e5m2", ml_dtypes.float8_e5m2, FLOATING)
float8_e5m2fnuz = DType("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, FLOATING)
float8_e8m0fnu = DType("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, FLOATING)

_default_float = float32


def default_dtype() -> DType:
    """The dtype of Python floats, float32 unless changed."""
    return _default_float


def set_default_dtype(dtype: DType) -> None:
    """Changes the dtype that Python floats become."""
    global _default_float
    if not (isinstance(dtype, DType) and dtype.is_floating_point and dtype.itemsize > 1):
        raise TypeError(f"only floating-point types are supported as the default type, got {dtype!r}")
    _default_float = dtype


def dtype_of(array: np.ndarray) -> DType:
    """The DType of a NumPy array; TypeError where there is none."""
    try:
        return DType.by_np[array.dtype]
    except KeyError:
        native = DType.by_np.get(array.dtype.newbyteorder("="))
        if native is not None:
            return native
        raise TypeError(
            f"can't convert np.ndarray of type {array.dtype.type.__module__}.{array.dtype.type.__name__}. The only supported types "
            "are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        ) from None




def promote(a: DType, b: DType) -> DType:
    """The dtype of a result of `a` and `b` operands of equal rank.

    >>> [promote(a, b).name for a, b in ((int64, float16), (uint8, int8), (bfloat16, float16), (complex64, float64))]
    ['float16', 'int16', 'float32', 'complex128']
    """
    if a is b:
        return a
    if a.category < b.category:
        a, b = b, a
    if a.category > b.category:
        if a.category == COMPLEX and b is float64:
            return complex128
        return a
    if a.category == FLOATING and a.itemsize == b.itemsize:
        return float32  # float16 with bfloat16
    if a.category == INTEGER:
        unsigned, signed = (a, b) if a.np.kind == "u" else (b, a)
        if unsigned.np.kind == "u" and signed.np.kind == "i":
            if unsigned is not uint8:
                raise RuntimeError(f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                                   f"{_scalar_name(a)} and {_scalar_name(b)}")
            return int16 if signed is int8 else signed
    return a if a.itemsize > b.itemsize else b


def _scalar_name(dtype: DType) -> str:
    return {"uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64"}.get(dtype.name) or SCALAR_TYPE_NAMES[dtype.name]


SCALAR_TYPE_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "float16": "Half",
    "float32": "Float", "float64": "Double", "bfloat16": "BFloat16", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float8_e4m3fn": "Float8_e4m3fn",
    "float8_e5m2": "Float8_e5m2", "float8_e4m3fnuz": "Float8_e4m3fnuz", "float8_e5m2fnuz": "Float8_e5m2fnuz",
    "float8_e8m0fnu": "Float8_e8m0fnu",
}


def scalar_dtype(value: Number) -> DType:
    """The dtype a Python number has on its own."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return _default_float
    if isinstance(value, complex):
        return _default_float.to_complex()
    if isinstance(value, np.generic):
        return scalar_dtype(value.item())
    raise TypeError(f"unsupported number type {type(value).__name__}")


def result_dtype(tensors: Iterable[tuple[DType, int]], scalars: Iterable[Any] = ()) -> DType:
    """The promoted dtype of tensors, given as (dtype, ndim), and Python numbers.

    >>> result_dtype([(int32, 1), (int64, 0)]).name, result_dtype([(int64, 2)], [1.5]).name, result_dtype([(float16, 1)], [2.0]).name
    ('int32', 'float32', 'float16')
    """
    levels: list[DType | None] = [None, None, None]
    for dtype, ndim in tensors:
        level = 0 if ndim else 1
        seen = levels[level]
        levels[level] = dtype if seen is None else promote(seen, dtype)
    for value in scalars:
        dtype, seen = scalar_dtype(value), levels[2]
        levels[2] = dtype if seen is None else promote(seen, dtype)
    result: DType | None = None
    for dtype_ in levels:
        if dtype_ is None:
            continue
        if result is None:
            result = dtype_
        elif dtype_.category > result.category:
            # A lower-ranked operand of a higher category decides the category but not the precision of a complex result.
            if dtype_.category == COMPLEX and result.category == FLOATING:
                result = complex128 if result is float64 else complex64
            else:
                result = dtype_
    if result is None:
        raise ValueError("result_dtype needs at least one operand")
    return result


class Device:
    """Where a tensor lives: a type ("cpu", "cuda", "npu", "meta", "mesh") and an optional index. Compared by value, hashable.

    >>> Device("cuda:1"), Device("cpu") == Device("cpu"), Device("cuda", 0).index
    (device(type='cuda', index=1), True, 0)
    """

    __slots__ = ("type", "index", "__weakref__")
    TYPES = ("cpu", "cuda", "npu", "meta", "mps", "xpu", "xla", "hpu", "mtia", "privateuseone", "ipu", "lazy", "vulkan", "mesh")

    type: str
    index: int | None

    def __new__(cls, type: "str | int | Device" = "cpu", index: int | None = None) -> "Device":
        if isinstance(type, Device):
            return type
        if isinstance(type, int) and not isinstance(type, bool):
            return Device("cuda", type)
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        if ":" in type:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
            type, _, digits = type.partition(":")
            if not digits.isdigit() or (len(digits) > 1 and digits[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}:{digits}'")
            index = int(digits)
        if type not in cls.TYPES:
            raise RuntimeError(
                "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, "
                f"meta, hpu, mtia, privateuseone device type at start of device string: {type}"
            )
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        self = object.__new__(cls)
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "index", index)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Device, (self.type, self.index))


CPU = Device("cpu")
META = Device("meta")


class Kind:
    """A (dtype, device) pair as one object, so that `a._k is b._k` says "same dtype, same device, nothing special".

    A kind with `special` set belongs to tensors that must leave the quiet path always (subclasses that override torch
    functions, tensors of a transform); it is in no quiet set. Those with `inference` set belong to tensors made in inference
    mode; they are in the quiet sets while that mode is on.
    """

    __slots__ = ("dtype", "np", "device", "special", "inference", "scalars", "__weakref__")

    def __init__(self, dtype: DType, device: Device, special: Any = None, inference: bool = False) -> None:
        self.dtype, self.np, self.device, self.special, self.inference = dtype, dtype.np, device, special, inference
        self.scalars: dict[Any, np.ndarray] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return kind, (self.dtype, self.device, self.special, self.inference)  # kinds are told apart by identity

    def __repr__(self) -> str:
        return f"Kind({self.dtype!r}, {self.device}{'' if self.special is None else ', ' + repr(self.special)})"

    def scalar(self, value: Number) -> np.ndarray:
        """`value` as a 0-dim array of this dtype, cached: NumPy takes an array operand faster than a Python number."""
        array = np.array(value, self.np)
        # 0.0 and -0.0 are equal keys, so zero is never cached; the bound keeps changing constants from growing the cache.
        if value and not (isinstance(value, float) and math.isnan(value)):
            if len(self.scalars) > 1000:
                self.scalars.clear()
            self.scalars[value] = array
        return array


_kinds: dict[tuple[DType, Device, Any, bool], Kind] = {}


def kind(dtype: DType, device: Device = CPU, special: Any = None, inference: bool = False) -> Kind:
    """The one Kind of these."""
    key = (dtype, device, special, inference)
    found = _kinds.get(key)
    if found is None:
        found = _kinds.setdefault(key, Kind(*key))
    return found


CPU_KINDS: dict[np.dtype, Kind] = {d.np: kind(d) for d in DType.by_name.values()}
BOOL_KIND, INT64_KIND = CPU_KINDS[bool_.np], CPU_KINDS[int64.np]


def inference_kind(k: Kind, inference: bool = True) -> Kind:
    """The kind of tensors that are like those of `k` but were (or were not) made in inference mode."""
    return k if k.inference is inference else kind(k.dtype, k.device, k.special, inference)
