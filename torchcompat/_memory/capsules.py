"""DLPack capsules: memory handed from one library to another, and what is written on them.

NumPy packs and unpacks. What its dtypes lack (bfloat16, float8, complex32) travels as whole numbers of the same width whose label is
changed: the type in the capsule's `DLTensor` struct.
"""

from __future__ import annotations

import ctypes
import enum
from typing import Any

import numpy as np

from autograd_tape.dtypes import DType

_TYPE = 20  # where in a DLTensor its type is, behind the pointer to its data (8), its device (8) and its rank (4)


class DLDeviceType(enum.IntEnum):
    """Devices, as DLPack numbers them."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


class _Type(ctypes.Structure):
    """The type of a DLTensor's elements."""

    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


_CODES = {"bfloat16": (4, 16, 1), "complex32": (5, 32, 1), "float8_e4m3fn": (10, 8, 1), "float8_e4m3fnuz": (11, 8, 1),
          "float8_e5m2": (12, 8, 1), "float8_e5m2fnuz": (13, 8, 1), "float8_e8m0fnu": (14, 8, 1), "float4_e2m1fn_x2": (17, 4, 2)}
"""What NumPy's capsules do not say, by the dtype's name."""
_NAMES = {code: name for name, code in _CODES.items()}


def _label(capsule: object) -> _Type:
    """The type in a capsule, to be read and written.

    Raises:
        RuntimeError: it is none, or its memory was taken already.
    """
    valid, pointer = ctypes.pythonapi.PyCapsule_IsValid, ctypes.pythonapi.PyCapsule_GetPointer
    valid.argtypes = pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    pointer.restype = ctypes.c_void_p
    if not valid(capsule, b"dltensor"):
        raise RuntimeError("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might "
                           "have already constructed a tensor from it once.")
    return _Type.from_address(pointer(capsule, b"dltensor") + _TYPE)


def packed(array: np.ndarray, dtype: DType) -> Any:
    """A capsule of an array's memory.

    Raises:
        BufferError: DLPack has no such elements.
    """
    if array.dtype.isbuiltin == 1:
        return array.__dlpack__()
    code = _CODES.get(dtype.name, (0 if dtype.name.startswith("int") else 1, 8, 1) if dtype.group == "packed" else None)
    if code is None:
        raise BufferError(f"{'Bit' if dtype.name.startswith('bits') else 'QUInt/QInt'} types are not supported by dlpack")
    capsule = array.view(f"u{array.itemsize}").__dlpack__()
    label = _label(capsule)
    label.code, label.bits, label.lanes = code
    return capsule


def unpacked(capsule: object) -> np.ndarray:
    """The memory in a capsule, which is used up by this.

    Raises:
        RuntimeError: it is no capsule, or is used up.
        BufferError: there are no such elements here.
    """
    label = _label(capsule)
    name = _NAMES.get((label.code, label.bits, label.lanes))
    if name is not None:
        label.code, label.bits, label.lanes = 1, label.bits * label.lanes, 1
    array = np.from_dlpack(_Exporter(capsule))
    if not array.flags.writeable:
        array = np.asarray(_Writable(array))
    return array if name is None else array.view(DType.by_name[name].np)


class _Writable:
    """An imported array with leave to write: NumPy 1.x marks all imports read-only, torch none, and exporters refuse what really is."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


class _Exporter:
    """What NumPy takes a capsule from."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **kwargs: object) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (DLDeviceType.kDLCPU, 0)
