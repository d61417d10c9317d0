"""Passes over graphs: what one is, and in which order several are carried out."""

from torchcompat._calls.absent import absences as _absences

from . import pass_base, pass_manager

__all__: list[str] = []

_absences(__name__)
