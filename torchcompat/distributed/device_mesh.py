"""torch.distributed.device_mesh of a torch that was built without distributed processes: what annotations name.

>>> import torchcompat as torch
>>> isinstance(torch.ones(2), torch.distributed.device_mesh.DeviceMesh)
False
"""

from __future__ import annotations

from typing import NoReturn

from .._calls.absent import absences as _absences

__all__ = ["DeviceMesh", "init_device_mesh"]

_TEXT = "Distributed package doesn't have device meshes built in: processes do not work on one model together"


class DeviceMesh:
    """How the devices of several processes lie; none can be made."""

    def __new__(cls, *args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError(_TEXT)


def init_device_mesh(*args: object, **kwargs: object) -> NoReturn:
    """Raises RuntimeError: there is but this process."""
    raise RuntimeError(_TEXT)


_absences(__name__)
