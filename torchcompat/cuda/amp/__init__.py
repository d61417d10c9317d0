"""torch.cuda.amp: names that `torch.amp` has taken over."""

from __future__ import annotations

from ..._calls.absent import absences as _absences
from .autocast_mode import autocast as autocast, custom_bwd as custom_bwd, custom_fwd as custom_fwd
from .common import amp_definitely_not_available as amp_definitely_not_available
from .grad_scaler import GradScaler as GradScaler

_absences(__name__)
