"""Passes over graphs of operations of ATen."""

from torchcompat._calls.absent import absences as _absences

__all__: list[str] = []

_absences(__name__)
