"""torch.backends.openmp: this build has none; kernels share their work over threads of their own."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False
