"""torch.backends.mps: this build has none."""

from __future__ import annotations

from .._calls.absent import absences as _absences


def is_built() -> bool:
    """False."""
    return False


def is_available() -> bool:
    """False."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Refuses: RuntimeError."""
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Refuses: RuntimeError."""
    return is_macos_or_newer(13, minor)


def get_name() -> str:
    """Refuses: AttributeError."""
    raise AttributeError("module 'torch._C' has no attribute '_mps_get_name'")


def get_core_count() -> int:
    """Refuses: AttributeError."""
    raise AttributeError("module 'torch._C' has no attribute '_mps_get_core_count'")


_absences(__name__)
