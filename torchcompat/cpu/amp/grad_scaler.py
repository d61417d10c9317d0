"""torch.cpu.amp.grad_scaler: `torch.amp.GradScaler("cpu")` by its old name."""

from __future__ import annotations


from autograd_tape import warned
from ... import amp
from ..._calls.absent import absences as _absences

__all__ = ["GradScaler"]


class GradScaler(amp.GradScaler):
    """`torch.amp.GradScaler("cpu")`, with torch's warning of the old name."""

    def __init__(self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5, growth_interval: int = 2000,
                 enabled: bool = True) -> None:
        warned.warn("`torch.cpu.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('cpu', args...)` instead.",
                    FutureWarning)
        super().__init__("cpu", init_scale=init_scale, growth_factor=growth_factor, backoff_factor=backoff_factor,
                         growth_interval=growth_interval, enabled=enabled)


_absences(__name__)
