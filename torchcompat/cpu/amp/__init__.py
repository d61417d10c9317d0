"""torch.cpu.amp: names that `torch.amp` has taken over."""

from __future__ import annotations

from ..._calls.absent import absences as _absences
from .autocast_mode import autocast as autocast
from .grad_scaler import GradScaler as GradScaler

_absences(__name__)
