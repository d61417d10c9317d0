"""Automatic mixed precision: `autocast` runs matrix products and convolutions in a lower precision, sensitive operations in float32."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from autograd_tape.annotations import Fn
from autograd_tape.dtypes import DType, Device, bfloat16, float16, float64

from .._calls.absent import absences as _absences
from .._calls.autocast import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
    state,
)
from .._tensor import Tensor

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]



class autocast:
    """Mixed precision for a block or a function.

    Args:
        device_type: whose operations are cast: "cpu"; those of devices that are not there are never met.
        dtype: the lower precision, bfloat16 or float16; by default bfloat16 on the CPU.
        enabled: False switches it off, inside a block where it is on, too.
        cache_enabled: accepted; casts of weights are not kept.

    Raises:
        ValueError: `device_type` is no string.
        RuntimeError: there is no such device type.

    >>> import torchcompat as torch
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
    torch.bfloat16
    """

    def __init__(self, device_type: str, dtype: DType | None = None, enabled: bool = True, cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        usual = state.dtype(Device(device_type).type)
        if enabled and device_type == "cuda":
            warnings.warn("User provided device_type of 'cuda', but CUDA is not available. Disabling", UserWarning, stacklevel=2)
            enabled = False
        if enabled and device_type == "cpu" and dtype not in (None, bfloat16, float16):
            warnings.warn("In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only supports dtype "
                          "of torch.bfloat16, torch.float16 currently.", UserWarning, stacklevel=2)
            enabled = False
        self.device, self.fast_dtype, self._enabled = device_type, dtype or usual, enabled
        self._cache_enabled = state.cache if cache_enabled is None else cache_enabled

    def __enter__(self) -> "autocast":
        state.blocks.append((self.device, state.enabled.get(self.device, False), state.dtypes.get(self.device), state.cache))
        autocast_increment_nesting()
        state.set(self.device, self._enabled, self.fast_dtype)
        state.cache = self._cache_enabled
        return self

    def __exit__(self, *exc: object) -> None:
        device, enabled, dtype, state.cache = state.blocks.pop()
        state.set(device, enabled, dtype)
        autocast_decrement_nesting()

    def __call__(self, function: Fn) -> Fn:
        return autocast_decorator(self, function)


def autocast_decorator(autocast_instance: autocast, func: Fn) -> Fn:
    """`func`, each call of it in the block."""

    @functools.wraps(func)
    def decorate_autocast(*args: object, **kwargs: object) -> object:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


def _cast_inputs(value: object, device_type: str, dtype: DType) -> Any:
    if isinstance(value, Tensor):
        k = value._k
        return value.to(dtype) if k.dtype.is_floating_point and k.device.type == device_type and k.dtype is not float64 else value
    if isinstance(value, dict):
        return {_cast_inputs(k, device_type, dtype): _cast_inputs(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_cast_inputs(v, device_type, dtype) for v in value)
    return value


def custom_fwd(fwd: Fn | None = None, *, device_type: str, cast_inputs: DType | None = None) -> Fn:
    """For the `forward` of a custom Function: under autocast, its inputs are cast to `cast_inputs` and it runs without autocast; where that
    is None, it runs as it is called. See `custom_bwd`."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    forward = fwd

    @functools.wraps(forward)
    def decorate(*args: Any, **kwargs: object) -> object:
        args[0]._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return forward(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return forward(*_cast_inputs(args, device_type, cast_inputs), **_cast_inputs(kwargs, device_type, cast_inputs))

    return decorate


def custom_bwd(bwd: Fn | None = None, *, device_type: str) -> Fn:
    """For the `backward` of a custom Function whose `forward` has `custom_fwd`: it runs under the autocast that forward ran under."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    backward = bwd

    @functools.wraps(backward)
    def decorate(*args: Any, **kwargs: object) -> object:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return backward(*args, **kwargs)

    return decorate


__getattr__ = _absences(__name__)
