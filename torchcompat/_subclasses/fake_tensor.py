"""torch._subclasses.fake_tensor: what tells tensors from those that only stand for one."""

from __future__ import annotations

from .._calls.absent import absences as _absences


def is_fake(x: object) -> bool:
    """Whether a tensor has a device's name and no data: none has, here."""
    return False


_absences(__name__)
