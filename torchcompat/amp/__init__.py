"""Automatic mixed precision: operations in lower precision (`autocast`), and gradients that do not vanish in it (`GradScaler`)."""

from __future__ import annotations

from .._calls.absent import absences as _absences
from .autocast_mode import _enter_autocast as _enter_autocast, _exit_autocast as _exit_autocast
from .autocast_mode import autocast as autocast, custom_bwd as custom_bwd, custom_fwd as custom_fwd
from .autocast_mode import is_autocast_available as is_autocast_available
from .grad_scaler import GradScaler as GradScaler

_absences(__name__)
