"""torch.cpu.amp.autocast_mode: `torch.amp.autocast("cpu")` by old names."""

from __future__ import annotations


from autograd_tape import warned
from autograd_tape.dtypes import DType, bfloat16

from ... import amp
from ..._calls.absent import absences as _absences

__all__ = ["autocast"]


class autocast(amp.autocast):
    """`torch.amp.autocast("cpu")`, with torch's warning of the old name."""

    def __init__(self, enabled: bool = True, dtype: DType = bfloat16, cache_enabled: bool = True) -> None:
        warned.warn("`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
                    FutureWarning)
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


_absences(__name__)
