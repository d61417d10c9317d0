"""Data parallelism inside one process. Without GPUs there is one place to compute, so a module simply runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_tape.annotations import DeviceLike, Keywords
from ..._calls.absent import absences as _absences
from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Runs a module on several GPUs; where there are none, as it is, whatever devices are named.

    >>> import torchcompat as torch
    >>> torch.nn.parallel.DataParallel(torch.nn.Identity())(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, module: Module, device_ids: Sequence[int | DeviceLike] | None = None, output_device: int | DeviceLike | None = None,
                 dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: object, **kwargs: object) -> Any:
        """The module's result."""
        return self.module(*inputs, **kwargs)

    def replicate(self, module: Module, device_ids: Sequence[object]) -> list[Module]:
        """A module for each device."""
        return replicate(module, device_ids)

    def scatter(self, inputs: tuple[Any, ...], kwargs: Keywords | None, device_ids: Sequence[object]) -> Any:
        """Arguments for each device."""
        return scatter_kwargs(inputs, kwargs, device_ids)

    def parallel_apply(self, replicas: Sequence[Module], inputs: Sequence[object], kwargs: Any) -> list[Any]:
        """The results of all modules."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[:len(replicas)])

    def gather(self, outputs: Any, output_device: int | DeviceLike) -> Any:
        """The results on one device."""
        return gather(outputs, output_device)


def data_parallel(module: Module, inputs: object, device_ids: Sequence[int | DeviceLike] | None = None,
                  output_device: int | DeviceLike | None = None, dim: int = 0, module_kwargs: object = None) -> Any:
    """Runs a module on several GPUs, which are not there: RuntimeError."""
    raise RuntimeError("device type could not be determined")


_absences(__name__)
