"""torch.cuda.amp.autocast_mode: `torch.amp.autocast("cuda")` by old names."""

from __future__ import annotations

import functools

from autograd_tape import warned
from autograd_tape.annotations import Fn
from autograd_tape.dtypes import DType, float16

from ... import amp
from ..._calls.absent import absences as _absences

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """`torch.amp.autocast("cuda")`, with torch's warning of the old name."""

    def __init__(self, enabled: bool = True, dtype: DType = float16, cache_enabled: bool = True) -> None:
        warned.warn("`torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)` instead.",
                    FutureWarning)
        if enabled:
            warned.warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
        super().__init__("cuda", dtype=dtype, enabled=False, cache_enabled=cache_enabled)


def custom_fwd(fwd: Fn | None = None, *, cast_inputs: DType | None = None) -> Fn:
    """The old name of `torch.amp.custom_fwd(device_type="cuda")`."""
    _deprecated("custom_fwd(args...)", "custom_fwd(args..., device_type='cuda')")
    return functools.partial(amp.custom_fwd, device_type="cuda")(fwd=fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd: Fn) -> Fn:
    """The old name of `torch.amp.custom_bwd(device_type="cuda")`."""
    _deprecated("custom_bwd(args...)", "custom_bwd(args..., device_type='cuda')")
    return functools.partial(amp.custom_bwd, device_type="cuda")(bwd)


def _deprecated(old: str, new: str) -> None:
    warned.warn(f"`torch.cuda.amp.{old}` is deprecated. Please use `torch.amp.{new}` instead.", FutureWarning)


_absences(__name__)
