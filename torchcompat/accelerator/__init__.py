"""torch.accelerator where there is none: says so, and refuses what would need it.

>>> import torchcompat as torch
>>> torch.accelerator.is_available(), torch.accelerator.current_accelerator(), torch.accelerator.device_count()
(False, None, 0)
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NoReturn

from autograd_tape import warned
from autograd_tape.annotations import DeviceLike

from .._calls.absent import on_demand as _on_demand
from .._calls.devices import raising as _raising
from .graphs import Graph as Graph
from .memory import *

if TYPE_CHECKING:
    from .._calls.of_accelerator import *

_NONE = "Cannot access accelerator device when none is available."


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """None."""


def current_device_index() -> NoReturn:
    """Refuses: there is no device to be current."""
    raise RuntimeError(_NONE)


def set_device_index(device: DeviceLike | None, /) -> NoReturn:
    """Refuses: there is no device to choose."""
    if device is None:
        raise ValueError("Expected a torch.device with a specified index or an integer, but got:None")
    _refuse(device)


def _old(name: str, function: Any) -> Any:
    """A function by a name that torch warns of."""

    @functools.wraps(function)
    def old(*args: object, **kwargs: object) -> object:
        warned.warn(f"Use `{function.__name__}` instead.", FutureWarning)
        return function(*args, **kwargs)

    old.__name__ = name
    return old


current_device_idx, set_device_idx = _old("current_device_idx", current_device_index), _old("set_device_idx", set_device_index)


class device_index:
    """A block on a device; that of None does nothing, any other is refused."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            raise RuntimeError(_NONE)

    def __exit__(self, *exc: object) -> None:
        pass


_SEVERAL = _raising(RuntimeError, _NONE)


def _refuse(device: DeviceLike | None) -> NoReturn:
    """Refuses: RuntimeError, of a device by its name because it is not there."""
    raise RuntimeError(_NONE if device is None or isinstance(device, int) else "Accelerator expected")


def get_device_capability(device: DeviceLike | None = None, /) -> NoReturn:
    """Refuses: RuntimeError."""
    _refuse(device)


def current_stream(device: DeviceLike | None = None, /) -> NoReturn:
    """Refuses: RuntimeError."""
    _refuse(device)


def synchronize(device: DeviceLike | None = None, /) -> NoReturn:
    """Refuses: RuntimeError."""
    _refuse(device)


def set_stream(stream: object) -> None:
    """Refuses: TypeError or RuntimeError."""
    from .._calls.streams import Stream

    if not isinstance(stream, Stream):
        raise TypeError("_accelerator_setStream(): incompatible function arguments. The following argument types are supported:\n"
                        f"    1. (arg0: torch.Stream) -> None\n\nInvoked with: {stream!r}")
    _SEVERAL("")


_on_demand(__name__)
