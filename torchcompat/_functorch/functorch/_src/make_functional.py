"""Modules as functions."""

from __future__ import annotations

from ...._calls.absent import absences as _absences
from ...make_functional import _swap_state as _swap_state

_absences(__name__)
