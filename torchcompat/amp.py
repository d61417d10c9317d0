"""Automatic mixed precision: `autocast` runs matrix products and convolutions in a lower precision, sensitive operations in float32.

What is done to which operation says the field `amp` of its record. Operations are met at the door (`autograd_tape.calls`).
"""

from __future__ import annotations

import functools
import warnings
from typing import Any
from collections.abc import Callable

from autograd_tape.calls import Call, Door, Interceptor
from autograd_tape.dtypes import DType, Device, bfloat16, float16, float32, float64

from ._above import above
from ._autocast import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
    state,
)
from ._tensor import Tensor, frontend
from .dispatch import ENABLED_BY, DispatchKey, is_excluded

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]



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
        self.device, self.fast_dtype, self.enabled = device_type, dtype or usual, enabled
        self.cache_enabled = state.cache if cache_enabled is None else cache_enabled

    def __enter__(self) -> "autocast":
        state.blocks.append((self.device, state.enabled.get(self.device, False), state.dtypes.get(self.device), state.cache))
        autocast_increment_nesting()
        state.set(self.device, self.enabled, self.fast_dtype)
        state.cache = self.cache_enabled
        return self

    def __exit__(self, *exc: object) -> None:
        device, enabled, dtype, state.cache = state.blocks.pop()
        state.set(device, enabled, dtype)
        autocast_decrement_nesting()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapper


def _cast_inputs(value: Any, device_type: str, dtype: DType) -> Any:
    if isinstance(value, Tensor):
        k = value._k
        return value.to(dtype) if k.dtype.is_floating_point and k.device.type == device_type and k.dtype is not float64 else value
    if isinstance(value, dict):
        return {_cast_inputs(k, device_type, dtype): _cast_inputs(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_cast_inputs(v, device_type, dtype) for v in value)
    return value


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: DType | None = None) -> Callable[..., Any]:
    """For the `forward` of a custom Function: under autocast, its inputs are cast to `cast_inputs` and it runs without autocast; where that
    is None, it runs as it is called. See `custom_bwd`."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    forward = fwd

    @functools.wraps(forward)
    def decorate(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        args[0]._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return forward(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return forward(*_cast_inputs(args, device_type, cast_inputs), **_cast_inputs(kwargs, device_type, cast_inputs))

    return decorate


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """For the `backward` of a custom Function whose `forward` has `custom_fwd`: it runs under the autocast that forward ran under."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    backward = bwd

    @functools.wraps(backward)
    def decorate(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return backward(*args, **kwargs)

    return decorate


# -- casting ----------------------------------------------------------------------------------------------------------


def _target(policy: str, args: Any) -> DType | str | None:
    """What the tensors among an operation's arguments are cast to by its `amp`, "whole" where they stay as they are but its parts must not
    be looked at; None where autocast does not concern it."""
    if state.loud is None or state.busy or is_excluded(DispatchKey.AutocastCPU):
        return None
    kinds = dict.fromkeys([t._k for t in _tensors(args)])
    device = next((k.device.type for k in kinds if state.enabled.get(k.device.type)), None)
    if device is None:
        return None
    if policy == "lower":
        return state.dtype(device)
    if policy == "widest":
        return float32 if float32 in [k.dtype for k in kinds] else "whole"
    return float32 if policy == "float32" else policy


class _Casting(Interceptor):
    """Casts the arguments of operations, and then lets them proceed; what they are made of is left as it is."""

    place, frontend = "autocast", frontend
    all_functions = False

    def concerns(self, door: Door) -> bool:
        return door.rec.field("amp") is not None

    def __call__(self, call: Call) -> Any:
        if call.out is not None or call.inplace:
            return NotImplemented
        target = _target(call.rec.field("amp"), call.args)
        if target is None:
            return NotImplemented
        state.busy = True
        try:
            return call.proceed(None if target == "whole" else tuple([_cast(a, target) for a in call.args]))
        finally:
            state.busy = False


CASTING = _Casting()


def _enabled_keys(tensors: Any) -> list[DispatchKey]:
    return [key for device, key in (("cpu", DispatchKey.AutocastCPU), ("cuda", DispatchKey.AutocastGPU)) if state.enabled.get(device)]


ENABLED_BY.append(_enabled_keys)


_NUMBERS = frozenset([type(None), bool, int, float, str])
_CAST = frozenset([float32, bfloat16, float16])


def _tensors(args: Any) -> list[Tensor]:
    return [x for a in args if a.__class__ not in _NUMBERS
            for x in (a if isinstance(a, (tuple, list)) else (a,)) if isinstance(x, Tensor)]


def _cast(value: Any, dtype: Any) -> Any:
    if value.__class__ in _NUMBERS:
        return value
    if isinstance(value, Tensor):
        return above.convert(value, dtype, None, False, None) if value._k.dtype in _CAST and value._k.dtype is not dtype else value
    if isinstance(value, (tuple, list)) and any(isinstance(v, Tensor) for v in value):
        return type(value)(_cast(v, dtype) for v in value)
    return value
