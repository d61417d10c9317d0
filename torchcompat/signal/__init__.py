"""torch.signal: `windows`, by which pieces of signals are multiplied."""

from . import windows as windows

__all__ = ["windows"]
