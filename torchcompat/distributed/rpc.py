"""torch.distributed.rpc of a torch that was built without it: says so, and has nothing else."""

from __future__ import annotations

from .._calls.absent import absences as _absences

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether processes can call each other's functions: they cannot."""
    return False


_absences(__name__)
