"""torch.xpu where there is no XPU: says so, and refuses what would need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from autograd_tape.annotations import DeviceLike

from .._calls.absent import on_demand as _on_demand
from .._calls.devices import functions as _functions, giving as _giving, raising as _raising, refusing as _refusing
from .graphs import XPUGraph as XPUGraph, graph as graph, graph_pool_handle as graph_pool_handle
from .graphs import is_current_stream_capturing as is_current_stream_capturing, make_graphed_callables as make_graphed_callables
from .memory import *
from .random import *
from .streams import Event as Event, Stream as Stream

if TYPE_CHECKING:
    from .._calls.of_xpu import *

default_generators = ()
_PYZES = _raising(ImportError, "pyzes is required; install it with 'pip install pyzes'.")
globals().update(_functions("torch.xpu", [
    (_giving(bool), "is_available(); is_initialized(); is_bf16_supported(including_emulation=True); is_tf32_supported(); _is_compiled()"),
    (_giving(int), "device_count()"), (_giving(list), "get_arch_list()"), (_giving(str), "get_gencode_flags()"),
    (_refusing("xpu"), """init(); _lazy_init(); can_device_access_peer(device, peer); current_device(); current_stream(device=None);
        get_device_capability(device=None); get_device_name(device=None); get_device_properties(device=None);
        get_stream_from_external(data_ptr, device=None); synchronize(device=None)"""),
    (_PYZES, """clock_rate(device=None); device_memory_used(device=None); memory_usage(device=None); power_draw(device=None);
        temperature(device=None); utilization(device=None)"""),
]))


def _index(device: object) -> int:
    """The number of a device of this type; -1 of none."""
    from ..cuda import _index as index

    try:
        return -1 if device is None else index(device)
    except ValueError as error:
        raise ValueError(str(error).replace("cuda", "xpu")) from None


def set_device(device: DeviceLike | None) -> None:
    """Refuses: AssertionError."""
    _refusing("xpu")("")


def set_stream(stream: object) -> None:
    """Refuses: AssertionError."""
    if stream is not None:
        _refusing("xpu")("")


class device:
    """A block on a device: refused where it is entered with one, none is there."""

    def __init__(self, device: object) -> None:
        self.idx, self.prev_idx = _index(device), -1

    def __enter__(self) -> None:
        raise NotImplementedError("PyTorch was compiled without XPU support")

    def __exit__(self, *exc: object) -> Literal[False]:
        return False


class device_of(device):
    """A block on the device of a tensor: that of one on the CPU changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_xpu else -1)


class StreamContext:
    """A block of a stream; None, and any where there is no XPU, changes nothing."""

    def __init__(self, stream: object) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


def stream(stream: object) -> StreamContext:
    """A block of a stream; None, and any where there is no XPU, changes nothing."""
    return StreamContext(stream)


_on_demand(__name__)
