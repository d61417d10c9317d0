"""Automatic mixed precision: `autocast` runs matrix products and convolutions in a lower precision, sensitive operations in float32."""

from __future__ import annotations

import functools
from typing import Any

from autograd_tape import warned
from autograd_tape.annotations import Fn
from autograd_tape.dtypes import DType, Device, bfloat16, float16, float64

from .._calls.absent import absences as _absences
from .._calls.autocast import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
    set_autocast_dtype,
    state,
    type_name,
)
from .._tensor import Tensor

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_NO_MODULE = (
    "Tried to use AMP with the `privateuseone` backend, but the backend has not registered a module or  the module miss some necessary "
    "funcs. The backend should register a module by `torch._register_device_module`, and the module must have these funcs: \n"
    "`get_amp_supported_dtype() -> List[torch.dtype]`. \n")


def _no_string(device_type: object) -> ValueError:
    shown = f"<class '{type_name(device_type)}'>" if isinstance(device_type, (Device, DType)) else type(device_type)
    return ValueError(f"Expected `device_type` of type `str`, got: `{shown}`")


class autocast:
    """Mixed precision for a block or a function.

    Args:
        device_type: whose operations are cast: "cpu"; those of devices that are not there are never met.
        dtype: the lower precision, bfloat16 or float16; by default bfloat16 on the CPU.
        enabled: False switches it off, inside a block where it is on, too.
        cache_enabled: whether weights that are used several times in the block are cast once; as it is around the block by default.

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
            raise _no_string(device_type)
        fast = get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        if device_type == "privateuseone":
            raise AssertionError(_NO_MODULE)
        if enabled and device_type == "cuda":
            warned.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", UserWarning)
            enabled = False
        if enabled and fast not in (bfloat16, float16):
            name = device_type.upper()
            warned.warn(f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only supports "
                        "dtypes of torch.bfloat16, torch.float16 currently.", UserWarning)
            enabled = False
        self.device, self.fast_dtype, self._enabled = device_type, fast, enabled
        self._cache_enabled = state.cache if cache_enabled is None else cache_enabled

    def __enter__(self) -> "autocast":
        if not isinstance(self.fast_dtype, DType):
            set_autocast_dtype(self.device, self.fast_dtype)  # which raises
        device = Device(self.device).type
        state.blocks.append((device, state.enabled.get(device, False), state.dtypes.get(device), state.cache))
        autocast_increment_nesting()
        state.set(device, self._enabled, self.fast_dtype)
        state.cache = self._cache_enabled
        return self

    def __exit__(self, *exc: object) -> None:
        device, enabled, dtype, state.cache = state.blocks.pop()
        state.set(device, enabled, dtype)
        if not autocast_decrement_nesting():
            clear_autocast_cache()

    def __call__(self, function: Fn) -> Fn:
        return autocast_decorator(self, function)


def autocast_decorator(autocast_instance: autocast, func: Fn) -> Fn:
    """`func`, each call of it in the block."""

    @functools.wraps(func)
    def decorate_autocast(*args: object, **kwargs: object) -> object:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


def _enter_autocast(*vals: Any) -> autocast:
    """A block that is entered, of the arguments of `autocast`; for `_exit_autocast`."""
    mode = autocast(*vals)
    mode.__enter__()
    return mode


def _exit_autocast(mode: autocast) -> None:
    """Ends what `_enter_autocast` began."""
    mode.__exit__(None, None, None)


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
        raise _no_string(device_type)
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
        raise _no_string(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    backward = bwd

    @functools.wraps(backward)
    def decorate(*args: Any, **kwargs: object) -> object:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return backward(*args, **kwargs)

    return decorate


_absences(__name__)
