"""Data parallelism inside one process. Without GPUs there is one place to compute, so a module simply runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_tape.annotations import DeviceLike
from .._calls.absent import absences as _absences
from .modules.module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Runs a module on several GPUs; where there are none, as it is.

    Raises:
        RuntimeError: `device_ids` names devices, which this build does not have.

    >>> import torchcompat as torch
    >>> torch.nn.parallel.DataParallel(torch.nn.Identity())(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, module: Module, device_ids: Sequence[int | DeviceLike] | None = None, output_device: int | DeviceLike | None = None,
                 dim: int = 0) -> None:
        super().__init__()
        if device_ids:
            raise RuntimeError(f"DataParallel cannot use devices {list(device_ids)}: there is no GPU")
        self.module, self.dim = module, dim
        self.device_ids: list[int] = []

    def forward(self, *inputs: object, **kwargs: object) -> Any:
        """The module's result."""
        return self.module(*inputs, **kwargs)


__getattr__ = _absences(__name__)
