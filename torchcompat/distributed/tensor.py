"""torch.distributed.tensor: the kind of tensor that lies on several processes, of which there are none.

>>> import torchcompat as torch
>>> from torchcompat.distributed.tensor import DTensor
>>> isinstance(torch.ones(2), DTensor)
False

Programs that run on one process or many ask that of each tensor before they go on.
"""

from __future__ import annotations

from typing import NoReturn

from .._calls.absent import absences as _absences
from .._tensor import Tensor

__all__ = ["DTensor"]


class DTensor(Tensor):
    """What a tensor over several processes is an instance of; none can be made."""

    def __new__(cls, *args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError("Distributed package doesn't have DTensor built in: processes do not work on one model together")


_absences(__name__)
