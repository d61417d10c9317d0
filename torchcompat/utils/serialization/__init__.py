"""torch.utils.serialization: how files are written and read where a call does not say (`config`)."""

from __future__ import annotations

from ..._calls.absent import absences as _absences
from . import config as config

__all__ = ["config"]
_absences(__name__)
