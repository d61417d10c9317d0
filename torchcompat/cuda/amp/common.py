"""torch.cuda.amp.common."""

from __future__ import annotations

from ..._calls.absent import absences as _absences

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """True: there is no CUDA."""
    return True


_absences(__name__)
