"""torch.mtia where there is no MTIA device: says so, and refuses what would need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from autograd_tape.annotations import DeviceLike

from .._calls.absent import on_demand as _on_demand
from .._calls.devices import functions as _functions, giving as _giving, nothing as _nothing, raising as _raising, refusing as _refusing
from ..cuda.random import manual_seed as manual_seed, manual_seed_all as manual_seed_all, set_rng_state as _set
from ..cuda.random import set_rng_state_all as set_rng_state_all
from .memory import max_memory_allocated as max_memory_allocated, memory_allocated as memory_allocated
from .memory import memory_stats as memory_stats, reset_peak_memory_stats as reset_peak_memory_stats
from .mtia_graph import MTIAGraph as MTIAGraph, graph as graph, graph_pool_handle as graph_pool_handle

if TYPE_CHECKING:
    from .._calls.of_mtia import *
    from .._calls.streams import Event as Event, Stream as Stream


def _without(call: str) -> Any:
    return _raising(RuntimeError, f"Cannot execute {call}() without MTIA backend.")


globals().update(_functions("torch.mtia", [
    (_giving(bool), "is_available(); is_initialized(); _is_compiled()"),
    (_giving(lambda: True), "is_bf16_supported(including_emulation=True)"),
    (_giving(int), "device_count()"), (_giving(list), "get_rng_state_all()"),
    (_nothing, "record_memory_history(enabled='all', stacks='python', max_entries=0); seed(); seed_all()"),
    (_without("getCurrentDevice"), "current_device()"), (_without("emptyCache"), "empty_cache()"),
    (_without("memorySnapshot"), "snapshot()"), (_refusing("mtia"), "init(); get_rng_state(device='mtia'); initial_seed()"),
]))


def _of(device: DeviceLike | None, call: str) -> None:
    """Refuses, of the device that would be current where none is given: RuntimeError."""
    _without("getCurrentDevice" if device is None else call)("")


def current_stream(device: DeviceLike | None = None) -> None:
    """Refuses: RuntimeError, AssertionError where a device is given."""
    (_without("getCurrentDevice") if device is None else _refusing("mtia"))("")


def default_stream(device: DeviceLike | None = None) -> None:
    """Refuses: RuntimeError, AssertionError where a device is given."""
    current_stream(device)


def get_device_capability(device: DeviceLike | None = None) -> None:
    """Refuses: RuntimeError."""
    _of(device, "getDeviceCapability")


def get_device_properties(device: DeviceLike | None = None) -> None:
    """Refuses: RuntimeError."""
    _of(device, "getDeviceProperties")


def synchronize(device: DeviceLike | None = None) -> None:
    """Refuses: RuntimeError."""
    _of(device, "maybeExchangeDevice")


def set_device(device: DeviceLike | None) -> None:
    """Refuses: RuntimeError."""
    _without("setCurrentDevice")("")


def set_rng_state(new_state: object, device: DeviceLike = "mtia") -> None:
    """Nothing has a state."""
    _set(new_state)


def attach_out_of_memory_observer(observer: object) -> None:
    """Refuses: TypeError or RuntimeError."""
    if not callable(observer):
        raise TypeError("_mtia_attachOutOfMemoryObserver(): incompatible function arguments. The following argument types are supported:\n"
                        f"    1. (arg0: collections.abc.Callable) -> None\n\nInvoked with: {observer!r}")
    _without("attachOutOfMemoryObserver")("")


def set_stream(stream: object) -> None:
    """Refuses: TypeError or RuntimeError."""
    if stream is None:
        return
    from .._calls.streams import Stream

    if not isinstance(stream, Stream):
        raise TypeError("_mtia_setCurrentStream(): incompatible function arguments. The following argument types are supported:\n"
                        f"    1. (arg0: torch.Stream) -> None\n\nInvoked with: {stream!r}")
    _without("setCurrentStream")("")


class device:
    """A block on a device: refused where it is entered with one, none is there."""

    def __init__(self, device: object) -> None:
        from ..cuda import _index

        self.idx, self.prev_idx = -1 if device is None else _index(device), -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            _without("maybeExchangeDevice")("")

    def __exit__(self, *exc: object) -> Literal[False]:
        return False


class StreamContext:
    """A block of a stream: making one refuses, as there is no device to be current."""

    def __init__(self, stream: object) -> None:
        _without("getCurrentDevice")("")


def stream(stream: object) -> StreamContext:
    """A block of a stream: refused."""
    return StreamContext(stream)


_on_demand(__name__, {"Event": "..", "Stream": ".."})
