"""Dtypes, devices, and the *kind* of a tensor: the (dtype, device) pair that operations test with one identity check.

Dtype promotion is decided here and nowhere else; the rule is PyTorch's
(https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc): a category (bool < integer < floating <
complex) wins first, and within a category dimensioned tensors win over zero-dimensional ones, which win over Python
numbers.
"""

from __future__ import annotations

import math
import re
from typing import Any
from collections.abc import Iterable

import ml_dtypes
import numpy as np
from .annotations import Number
from .encodings import COMPLEX32, HALVES, Code, Float8

Array = np.ndarray  # in the class below `np` is a dtype
OPAQUE, BOOL, INTEGER, FLOATING, COMPLEX = range(-1, 4)
"""Categories of promotion, in their order. What is opaque has elements that nothing computes with: bits, quantized and packed numbers."""
_CATEGORIES = {"b": BOOL, "i": INTEGER, "u": INTEGER, "f": FLOATING, "c": COMPLEX}


class DType:
    """A data type. Instances are singletons, and all there is to know about one is said where it is made, in the table below.

    Args:
        name: torch's.
        np: the NumPy dtype of its arrays, its own: where NumPy and ml_dtypes have none, one of records, which can be moved and compared.
        category: of promotion.
        scalar: what torch's messages call it.
        group: "" for what every operation may have a kernel for; "uint", "float8" and "chalf" for what few have one for; "bits",
            "quantized", "packed" and "float4" for what none has.
        code: how its elements are written and read, where NumPy does not know or does it otherwise than torch.

    >>> float32.itemsize, float32.is_floating_point, float32.is_complex
    (4, True, False)

    Where it is NumPy's (see `give_to`) it equals NumPy's dtype, and stands for it:

    >>> import subprocess, sys
    >>> program = "import numpy as np; from autograd_tape import float32; print(float32 == np.float32, np.zeros(2, float32).dtype)"
    >>> subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
    'True float32\\n'
    """

    __slots__ = ("name", "np", "category", "itemsize", "is_floating_point", "is_complex", "scalar", "group", "code", "__weakref__")
    _torchs_name = "torch.dtype"
    by_name: dict[str, "DType"] = {}
    by_np: dict[np.dtype, "DType"] = {}

    name: str
    np: np.dtype
    category: int
    itemsize: int
    is_floating_point: bool
    is_complex: bool
    scalar: str
    group: str
    code: Code | None
    home = "autograd_tape"
    """Where programs find them by name: torchcompat, where it is imported, has them as its own."""

    def __new__(cls, name: str, np_type: Any = None, scalar: str = "", category: int | None = None, group: str = "",
                code: Code | None = None) -> "DType":
        if np_type is None:
            raise TypeError(f"cannot create '{name}' instances: the dtypes are fixed; pick one by its name")
        self = object.__new__(cls)
        self.name, self.np, self.scalar, self.group, self.code = name, np.dtype(np_type), scalar, group, code
        self.category = _CATEGORIES[self.np.kind] if category is None else category
        self.itemsize = self.np.itemsize
        self.is_floating_point = self.category == FLOATING or group == "float4"
        self.is_complex = self.category == COMPLEX
        cls.by_name[name] = cls.by_np[self.np] = self
        return self

    def __repr__(self) -> str:
        return f"{self.home}.{self.name}"

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, (np.dtype, type)) and bool(self.np == other)

    __hash__ = object.__hash__

    @property
    def dtype(self) -> Any:
        """NumPy's dtype, which it finds here wherever it takes one."""
        return self.np

    @classmethod
    def give_to(cls, home: str) -> None:
        """Makes them another package's: they are called by its name, and are no longer what NumPy takes for a dtype."""
        cls.home = home
        for habit in ("__eq__", "__hash__", "dtype"):
            if habit in vars(cls):
                delattr(cls, habit)

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (_dtype_named, (self.name,))

    @property
    def is_signed(self) -> bool:
        """Whether there are numbers below zero; RuntimeError where elements are no numbers."""
        if self.group == "bits":
            raise RuntimeError("Bits types are undefined")
        if self.group == "quantized":
            raise RuntimeError("isSignedType not supported for quantized types")
        return self.name != "float8_e8m0fnu" and (self.is_floating_point or self.is_complex or self.name.startswith("int"))

    def missing(self, kernel: str) -> NotImplementedError:
        """The error, in torch's words, where it has no such kernel for this dtype."""
        return NotImplementedError(f"\"{kernel}\" not implemented for '{self.scalar}'")

    def numbers(self, array: Array) -> Array:
        """The elements of an array of this dtype in one that NumPy computes in; NotImplementedError where they are no numbers."""
        if self.category == OPAQUE:
            raise self.missing("_local_scalar_dense_cpu")
        return self.code.read(array) if self.code is not None else array.astype(np.float32) if self is bfloat16 else array

    def to_complex(self) -> "DType":
        """The complex dtype whose parts have this precision; RuntimeError for what is no part of complex numbers."""
        if self.is_complex:
            return self
        found = {"float16": complex32, "bfloat16": complex64, "float32": complex64, "float64": complex128}.get(self.name)
        if found is None:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.scalar}")
        return found

    def to_real(self) -> "DType":
        """The dtype of a real part."""
        return {4: float16, 8: float32, 16: float64}[self.itemsize] if self.is_complex else self


def _dtype_named(name: str) -> DType:
    return DType.by_name[name]


# -- the table ---------------------------------------------------------------------------------------------------------

bool_ = DType("bool", np.bool_, "Bool")
uint8 = DType("uint8", "u1", "Byte")
int8, int16 = DType("int8", "i1", "Char"), DType("int16", "i2", "Short")
int32, int64 = DType("int32", "i4", "Int"), DType("int64", "i8", "Long")
float16, float32, float64 = DType("float16", "f2", "Half"), DType("float32", "f4", "Float"), DType("float64", "f8", "Double")
bfloat16 = DType("bfloat16", ml_dtypes.bfloat16, "BFloat16", FLOATING)
complex64, complex128 = DType("complex64", "c8", "ComplexFloat"), DType("complex128", "c16", "ComplexDouble")
uint16, uint32, uint64 = (DType(f"uint{n}", f"u{n // 8}", f"UInt{n}", group="uint") for n in (16, 32, 64))
complex32 = DType("complex32", COMPLEX32, "ComplexHalf", COMPLEX, "chalf", HALVES)
float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu = (
    DType(name, getattr(ml_dtypes, name), name.title()[0] + name[1:], FLOATING, "float8", Float8(getattr(ml_dtypes, name)))
    for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"))
float4_e2m1fn_x2 = DType("float4_e2m1fn_x2", [("float4_e2m1fn_x2", "u1")], "Float4_e2m1fn_x2", OPAQUE, "float4")
qint8, quint8, qint32, quint4x2, quint2x4 = (
    DType(name, [(name, of)], scalar, OPAQUE, "quantized")
    for name, of, scalar in (("qint8", "i1", "QInt8"), ("quint8", "u1", "QUInt8"), ("qint32", "i4", "QInt32"),
                             ("quint4x2", "u1", "QUInt4x2"), ("quint2x4", "u1", "QUInt2x4")))
bits1x8, bits2x4, bits4x2, bits8, bits16 = (
    DType(name, [(name, "u2" if name == "bits16" else "u1")], name.capitalize(), OPAQUE, "bits")
    for name in ("bits1x8", "bits2x4", "bits4x2", "bits8", "bits16"))
int1, int2, int3, int4, int5, int6, int7 = (DType(f"int{n}", [(f"int{n}", "i1")], f"Int{n}", OPAQUE, "packed") for n in range(1, 8))
uint1, uint2, uint3, uint4, uint5, uint6, uint7 = (
    DType(f"uint{n}", [(f"uint{n}", "u1")], f"UInt{n}", OPAQUE, "packed") for n in range(1, 8))
SCALAR_TYPE_NAMES = {d.name: d.scalar for d in DType.by_name.values()}
TENSOR_TYPE_NAMES = {d.name: f"CPU{d.scalar}Type" if d.is_complex or d.group or d.name in ("bool", "bfloat16") else
                     f"torch.{d.scalar}Tensor" for d in DType.by_name.values()}
"""What some messages of torch call tensors of each dtype: the older ones by the types that tensors once had."""
C_NAMES = {"bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int",
           "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int", "float16": "c10::Half",
           "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
           "complex128": "c10::complex<double>", "complex32": "c10::complex<c10::Half>"}
"""What other messages of torch call dtypes: as the compiler names the types of C++."""


def c_name(dtype: DType) -> str:
    """A dtype in those messages; torch's name where C++ has none.

    >>> c_name(int64), c_name(float8_e5m2)
    ('long int', 'float8_e5m2')
    """
    return C_NAMES.get(dtype.name, dtype.name)


def converted(array: np.ndarray, to: np.dtype) -> np.ndarray:
    """A new array of the same numbers in another dtype, rounded and cut off as torch does (of float64 to float16 by way of float32);
    NotImplementedError where there is no such conversion.

    >>> converted(np.array([1e9, -0.3, np.nan], "f4"), float8_e4m3fn.np)
    array([448, -0.3125, nan], dtype='float8_e4m3fn')
    """
    own = array.dtype
    if own.isbuiltin == to.isbuiltin == 1 or own == to:
        return array.astype(to) if to.char != "e" or own.char != "d" else array.astype("f4").astype(to)
    into, of = DType.by_np[to], dtype_of(array)
    for dtype in (into, of):
        if dtype.category == OPAQUE:
            if dtype.group == "quantized":
                raise RuntimeError("empty_strided not supported on quantized tensors yet see https://github.com/pytorch/pytorch/issues/74540")
            raise dtype.missing("copy_kernel" if dtype.group == "float4" else "copy_")
    if of.code is not None:
        array = of.code.read(array)
    if of.is_complex and not into.is_complex and into is not bool_:
        array = array.real
    return array.astype(to) if into.code is None else into.code.write(array.astype(into.code.wide))


def fitting(numbers: Any, dtype: np.dtype) -> Any:
    """A number, or an array of them, of which NumPy makes those of another dtype as torch does, which leaves out imaginary parts, and
    rounds float64 to float32 on the way to float16.

    >>> fitting(np.array([1 + 2j]), np.dtype("f4")), fitting(np.array(0.029121397), np.dtype("f2")).astype("f2")
    (array([1.]), array(0.02911, dtype=float16))
    """
    if not isinstance(numbers, np.ndarray):
        if dtype.char != "e":
            return numbers
        numbers = np.asarray(numbers)
    if numbers.dtype.kind == "c" and dtype.kind != "c":
        numbers = numbers.real
    return numbers.astype("f4") if dtype.char == "e" and numbers.dtype.char == "d" else numbers


def write_numbers(into: np.ndarray, numbers: np.ndarray) -> None:
    """Writes numbers over an array of the same shape, or that they broadcast to, in its dtype."""
    if into.dtype != numbers.dtype and (into.dtype.isbuiltin != 1 or into.dtype.char == "e") or numbers.dtype.isbuiltin == 0:
        numbers = converted(numbers, into.dtype)
    np.copyto(into, numbers, casting="unsafe")


def as_bits(x: np.ndarray) -> np.ndarray:
    """An array whose elements NumPy moves as they are, not one by one through a function of their dtype."""
    return x if x.dtype.isbuiltin == 1 else x.view(f"u{x.itemsize}")


def added(a: Any, b: Any) -> Any:
    """The sum of two gradients."""
    code = DType.by_np[a.dtype].code if a.dtype.__class__ is not DType and a.dtype.isbuiltin == 0 else None
    return a + b if code is None else code.write(code.read(a) + code.read(b))


def number_array(value: Any, dtype: DType) -> np.ndarray:
    """A 0-dim array of a dtype that holds a Python number, or nested lists of them as an array; TypeError where there are no numbers."""
    if dtype.category == OPAQUE:
        raise TypeError(f"elements of {dtype!r} are no numbers")
    if dtype.code is not None:
        return dtype.code.write(np.array(value, dtype.code.wide))
    try:
        return np.array(value, dtype.np) if dtype is not float16 else np.array(value, "f4").astype(dtype.np)
    except OverflowError:  # as NumPy 2 says of a number below 0 for an unsigned dtype, which before it wrapped around, as torch does
        return np.array(value).astype(dtype.np)


_default_float = float32


def default_dtype() -> DType:
    """The dtype of Python floats, float32 unless changed."""
    return _default_float


def floating() -> np.dtype:
    """The same as NumPy's."""
    return _default_float.np


def set_default_dtype(dtype: DType) -> None:
    """Changes the dtype that Python floats become."""
    global _default_float
    if not (isinstance(dtype, DType) and dtype.is_floating_point and not dtype.group):
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
    """The dtype of a result of `a` and `b` operands of equal rank; RuntimeError where torch has none.

    >>> [promote(a, b).name for a, b in ((int64, float16), (uint8, int8), (bfloat16, float16), (complex64, float64), (complex32, bfloat16))]
    ['float16', 'int16', 'float32', 'complex128', 'complex64']
    """
    if a is b:
        return a
    if a.group or b.group:
        found = _promote_rare(a, b)
        if found is not None:
            return found
    if a.category < b.category:
        a, b = b, a
    if a.category == COMPLEX:
        return a if b.category < FLOATING else max((a, b.to_complex()), key=lambda d: d.itemsize)
    if a.category > b.category:
        return a
    if a.category == FLOATING and a.itemsize == b.itemsize:
        return float32  # float16 with bfloat16
    if a.category == INTEGER and uint8 in (a, b):
        other = b if a is uint8 else a
        return int16 if other is int8 else other
    return a if a.itemsize > b.itemsize else b


_UNSIGNED = ("uint", "packed")


def _promote_rare(a: DType, b: DType) -> DType | None:
    """The same where one is of a group; None where that makes no difference."""
    groups = (a.group, b.group)
    if "quantized" in groups:
        raise RuntimeError("promoteTypes with quantized numbers is not handled yet; figure out what the correct rules should be, "
                           f"offending types: {a.scalar} {b.scalar}")
    if "bits" in groups:
        raise RuntimeError(f"Promotion from {a.scalar} and {b.scalar} is unsupported.")
    if "float8" in groups:
        raise RuntimeError(f"Promotion for Float8 Types is not supported, attempted to promote {a.scalar} and {b.scalar}")
    if any(d.group in _UNSIGNED and not d.is_signed for d in (a, b)):
        for d in (a, b):
            if d.is_floating_point:
                return d
        raise RuntimeError(f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {a.scalar} and {b.scalar}")
    if OPAQUE in (a.category, b.category):
        raise RuntimeError(f"Promotion of {a.scalar} and {b.scalar} is not there: elements of one of them are no numbers")
    return None


def can_cast(a: DType, b: DType) -> bool:
    """Whether numbers of `a` may become numbers of `b` without being asked for: within a category, or to a higher one.

    >>> can_cast(int64, float16), can_cast(float16, int64), can_cast(float64, float8_e5m2)
    (True, False, True)
    """
    if a.is_complex and not b.is_complex or a.is_floating_point and b.category == INTEGER:
        return False
    return b is not bool_ or a is bool_


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
    result = _combined(levels[0], _combined(levels[1], levels[2]))
    if result is None:
        raise ValueError("result_dtype needs at least one operand")
    return result


def _combined(higher: DType | None, lower: DType | None) -> DType | None:
    """The dtype of operands of which some rank above the others: their category decides, and the precision of those that rank higher."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.is_complex or higher.is_floating_point:
        return higher.to_complex() if lower.is_complex and not higher.is_complex else higher
    if lower.is_complex:
        return lower
    if lower.is_floating_point and higher.group in ("bits", "packed") and higher.name[0] != "u":
        raise RuntimeError("unsupported scalarType")
    return promote(higher, lower) if higher is bool_ or lower.is_floating_point else higher


_DEVICE = re.compile(r"([A-Za-z_]+)(?::(0|[1-9][0-9]*))?")
"""The type, and the index, in a device's name."""


class Device:
    """Where a tensor lives: a type ("cpu", "cuda", "npu", "meta", "mesh") and an optional index. Compared by value, hashable.

    >>> Device("cuda:1"), Device("cpu") == Device("cpu"), Device("cuda", 0).index
    (device(type='cuda', index=1), True, 0)
    """

    __slots__ = ("type", "index", "__weakref__")
    _torchs_name = "torch.device"
    TYPES = ("cpu", "cuda", "npu", "meta", "mps", "xpu", "xla", "hpu", "mtia", "privateuseone", "ipu", "maia", "lazy", "vulkan", "mesh")

    type: str
    index: int | None

    def __new__(cls, type: "str | int | Device" = "cpu", index: int | None = None) -> "Device":
        if isinstance(type, Device):
            return type
        if isinstance(type, int) and not isinstance(type, bool):
            return Device("cuda", type)
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        if ":" in type and index is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
        if not type:
            raise RuntimeError("Device string must not be empty")
        if type not in cls.TYPES:
            parts = _DEVICE.fullmatch(type)
            if parts is None:
                raise RuntimeError(f"Invalid device string: '{type}'")
            type, index = parts[1], int(parts[2]) if parts[2] else index
        if type not in cls.TYPES:
            raise RuntimeError(
                "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, "
                f"meta, hpu, mtia, privateuseone device type at start of device string: {type}"
            )
        if index is not None:
            if index < 0:
                raise RuntimeError("Device index must not be negative")
            index = (index + 128) % 256 - 128  # torch keeps a byte of it, of which -1 says that there is none
            index = None if index == -1 else index
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
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index & 0xffff})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Device, (self.type, self.index))


CPU = Device("cpu")
META = Device("meta")


def home(device: Device) -> Device:
    """Where memory asked for on a device is: there is one "cpu" and one "meta", whatever number they are named with."""
    return device if device.index is None or device.type not in ("cpu", "meta") else CPU if device.type == "cpu" else META


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
        array = number_array(value, self.dtype)
        # 0.0 and -0.0 are equal keys, so zero is never cached; the bound keeps changing constants from growing the cache.
        if value and not (isinstance(value, float) and math.isnan(value)):
            if len(self.scalars) > 1000:
                self.scalars.clear()
            self.scalars[value] = array
        return array


_kinds: dict[tuple[DType, Device, Any, bool], Kind] = {}


def kind(dtype: DType, device: Device = CPU, special: Any = None, inference: bool = False) -> Kind:
    """The one Kind of these, on the device's home."""
    key = (dtype, device, special, inference)
    found = _kinds.get(key)
    if found is None:
        place = home(device)
        found = _kinds.setdefault(key, Kind(*key) if place is device else kind(dtype, place, special, inference))
    return found


CPU_KINDS: dict[np.dtype, Kind] = {d.np: kind(d) for d in DType.by_name.values()}
BOOL_KIND, INT64_KIND = CPU_KINDS[bool_.np], CPU_KINDS[int64.np]


def inference_kind(k: Kind, inference: bool = True) -> Kind:
    """The kind of tensors that are like those of `k` but were (or were not) made in inference mode."""
    return k if k.inference is inference else kind(k.dtype, k.device, k.special, inference)
