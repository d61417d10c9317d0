"""AdamW, under the module name that torch gives it."""

from __future__ import annotations

from .._calls.absent import absences as _absences
from .adam import AdamW

__all__ = ["AdamW"]

__getattr__ = _absences(__name__)
