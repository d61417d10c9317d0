"""torch.nn: modules, parameters, and functions for neural networks.

>>> import torchcompat as torch
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
>>> model(torch.ones(3, 4)).shape
torch.Size([3, 2])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograd_tape.annotations import Keywords

from .._calls.absent import absent, submodules
from .parameter import Buffer as Buffer, Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer, UninitializedParameter as UninitializedParameter
from .modules import *
from . import functional as functional, init as init, modules as modules, utils as utils

if TYPE_CHECKING:
    from . import attention as attention, grad as grad, parallel as parallel
    from .parallel import DataParallel as DataParallel



def factory_kwargs(kwargs: Keywords | None) -> Keywords:
    """The arguments `device`, `dtype` and `memory_format` among those of a layer, and in its argument `factory_kwargs`.

    Raises:
        TypeError: there are others, or one is given twice.
    """
    if kwargs is None:
        return {}
    known = {"device", "dtype", "memory_format"}
    if not kwargs.keys() <= known | {"factory_kwargs"}:
        raise TypeError(f"unexpected kwargs {kwargs.keys() - known - {'factory_kwargs'}}")
    made = dict(kwargs.get("factory_kwargs", {}))
    for name in known & kwargs.keys():
        if name in made:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        made[name] = kwargs[name]
    return made


_LATER = ("attention", "grad", "parallel")


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> Any:
        if name in _LATER and name in submodules(__name__):
            from importlib import import_module

            return import_module(f"{__name__}.{name}")
        if name == "DataParallel":
            from .parallel import DataParallel

            return DataParallel
        raise absent(__name__, name)
