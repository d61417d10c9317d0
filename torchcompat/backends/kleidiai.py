"""torch.backends.kleidiai: this build has none."""

from __future__ import annotations


def is_available() -> bool:
    """False."""
    return False
