"""The legacy types of tensors on CUDA, and of sparse ones: what has no objects where there is no CUDA."""

from __future__ import annotations

from typing import Any, NoReturn

from autograd_tape import dtypes

_DTYPES = {"BFloat16": dtypes.bfloat16, "Bool": dtypes.bool_, "Byte": dtypes.uint8, "Char": dtypes.int8, "Double": dtypes.float64,
           "Float": dtypes.float32, "Half": dtypes.float16, "Int": dtypes.int32, "Long": dtypes.int64, "Short": dtypes.int16,
           "ComplexDouble": dtypes.complex128, "ComplexFloat": dtypes.complex64}


class _NoTensors(type):
    """What nothing is an instance of."""

    def __instancecheck__(cls, instance: object) -> bool:
        return False

    def __call__(cls, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError(f"type {cls.__module__}.{cls.__name__} not available. Torch not compiled with CUDA enabled.")


def tensors(module: str) -> dict[str, Any]:
    """The types of tensors of a module."""
    return {f"{name}Tensor": _NoTensors(f"{name}Tensor", (), {
        "__module__": module, "dtype": dtype, "is_cuda": True, "is_sparse": module.endswith("sparse")}) for name, dtype in _DTYPES.items()
        if not name.startswith("Complex") and (name != "Bool" or not module.endswith("sparse"))}


def storages() -> dict[str, Any]:
    """The types of storages."""
    from .._calls.devices import dummy, refusing

    return {f"{name}Storage": dummy("torch.cuda", f"{name}Storage", error=refusing("cuda")) for name in _DTYPES}
