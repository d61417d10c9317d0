"""Settings of the whole process: those that change what is made, and those that are kept and given back."""

from __future__ import annotations

from typing import Any

from autograd_tape import warned
from autograd_tape.dtypes import CPU, DType, set_default_dtype
from autograd_tape.errors import type_name

from ..backends._flags import matmul_precision as get_float32_matmul_precision
from ..backends._flags import set_matmul_precision as set_float32_matmul_precision
from .._calls.shown import shown_in

__all__ = ["get_float32_matmul_precision", "set_float32_matmul_precision"]
_interop = 1


def set_warn_always(b: bool) -> None:
    """Whether warnings that torch gives once are to be given each time.

    Raises:
        RuntimeError: `b` is no bool.
    """
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type_name(b)}")
    warned.always = b


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was given last."""
    return warned.always


def set_flush_denormal(mode: bool) -> bool:
    """Whether numbers too small to be normal were made zeros: False, this build cannot."""
    if not isinstance(mode, bool):
        raise TypeError(f"flush_denormal expects a bool, but got {type_name(mode)}")
    return False


def get_num_interop_threads() -> int:
    """The number of operations that may be carried out at once: what was set, 1 at first."""
    return _interop


def set_num_interop_threads(num_interop_threads: int) -> None:
    """Sets that number, which is kept.

    Raises:
        RuntimeError: it is no positive int.
    """
    global _interop
    if not isinstance(num_interop_threads, int) or isinstance(num_interop_threads, bool):
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {type_name(num_interop_threads)}")
    if num_interop_threads <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    _interop = num_interop_threads


def set_default_tensor_type(t: Any) -> None:
    """Deprecated: sets the default dtype by a tensor class, `torch.DoubleTensor`, or its name.

    Raises:
        TypeError: it is no class of tensors, not of floating-point ones, or of a device that this build has not.
    """
    import importlib

    warned.warn("torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
                "torch.set_default_device() as alternatives.", UserWarning)
    if isinstance(t, str):
        module, _, name = t.rpartition(".")
        module = f"torchcompat{module[5:]}" if module.split(".")[0] == "torch" else module
        t = getattr(importlib.import_module(module or name), name)
    dtype, device = getattr(t, "dtype", None), getattr(t, "device", CPU)
    if not isinstance(dtype, DType):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if getattr(device, "type", device) != "cpu":
        raise TypeError(f"type {t.__module__}.{t.__name__} not available. Torch not compiled with CUDA enabled.")
    if not dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    set_default_dtype(dtype)


shown_in("torchcompat", is_warn_always_enabled, set_default_tensor_type, set_warn_always)
