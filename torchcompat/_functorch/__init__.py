"""The functions of functions as `functorch` names them, the package that comes with torch (`_functorch.functorch`), and what it has of its
own."""

from __future__ import annotations

from .._calls.absent import on_demand as _on_demand

_on_demand(__name__)
