"""Where programs for the functorch of old find what torch has elsewhere."""

from __future__ import annotations

from ...._calls.absent import on_demand as _on_demand

_on_demand(__name__)
