"""The classes that torch once named tensors of coordinates by: `torch.sparse.FloatTensor`."""

from __future__ import annotations

from typing import Any

from autograd_tape.dtypes import Device, DType
from autograd_tape.errors import type_name

from .._memory.layout import sparse_coo
from .._memory.size import Size
from .._tensor import Tensor
from ._coo import sparse_coo_tensor

NAMES = {"FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16", "LongTensor": "int64",
         "IntTensor": "int32", "ShortTensor": "int16", "CharTensor": "int8", "ByteTensor": "uint8"}


class _Typed(type):
    dtype: DType

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance._k.special is sparse_coo and instance._k.dtype is cls.dtype

    def __call__(cls, *args: object, **named: object) -> Tensor:
        return legacy(cls.dtype, "new()", "torch.sparse.SparseTensor(sequence)", args, named)


def legacy(dtype: DType, name: str, sequence: str, args: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
    """A tensor of these indices, values and sizes; of these sizes; or with none.

    Raises:
        TypeError: it is none of these.
        RuntimeError: on another device.
    """
    device = named.pop("device", None)
    if device is not None and Device(device).type != "cpu":
        raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {Device(device).type} was passed")
    args = (*args, *named.values())
    if len(args) > 1 and isinstance(args[0], Tensor) and isinstance(args[1], Tensor):
        return sparse_coo_tensor(*args, dtype=dtype)
    if args and not all([isinstance(a, int) for a in args]) and type(args[0]) is not Size:
        if isinstance(args[0], (list, tuple)):
            raise TypeError(f"{sequence} only accepts sizes.  Please use torch.sparse_coo_tensor() or construct a strided tensor and "
                            "convert it to sparse via to_sparse.")
        raise TypeError(f"{name} received an invalid combination of arguments - got ({', '.join([type_name(a) for a in args])}), but "
                        "expected one of:\n * (*, torch.device device = None)\n * (tuple of ints size, *, torch.device device = None)\n * "
                        "(Tensor indices, Tensor values, *, torch.device device = None)\n")
    return sparse_coo_tensor(Size(args) if args and isinstance(args[0], int) else args[0] if args else (0,), dtype=dtype)


CLASSES = {name: _Typed(name, (), {"dtype": DType.by_name[dtype], "__module__": "torch.sparse",
                                   "__doc__": f"Tensors of coordinates of {dtype}, as torch used to name them."})
           for name, dtype in NAMES.items()}
