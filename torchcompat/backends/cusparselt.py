"""torch.backends.cusparselt: this build has none."""

from __future__ import annotations


def version() -> int | None:
    """None."""
    return None


def is_available() -> bool:
    """False."""
    return False


def get_max_alg_id() -> int | None:
    """None."""
    return None
