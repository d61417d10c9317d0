"""Passes over graphs: what one is, and in which order several are carried out."""

from torchcompat._calls.absent import on_demand as _on_demand

from . import pass_base, pass_manager

__all__: list[str] = []

_on_demand(__name__)
