"""torch.mps where there is no MPS: says so, and refuses what would need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograd_tape.annotations import DeviceLike

from .._calls.absent import on_demand as _on_demand
from .._calls.devices import functions as _functions, giving as _giving, raising as _raising

if TYPE_CHECKING:
    from .._calls.of_mps import *
    from . import event as event, profiler as profiler
    from .event import Event as Event


def _without(call: str) -> Any:
    return _raising(RuntimeError, f"Cannot execute {call}() without MPS backend.")


globals().update(_functions("torch.mps", [
    (_giving(bool), "is_available()"), (_giving(int), "device_count()"),
    (_without("getCurrentAllocatedMemory"), "current_allocated_memory()"),
    (_without("getDriverAllocatedMemory"), "driver_allocated_memory()"),
    (_without("emptyCache"), "empty_cache()"), (_without("getDefaultGenerator"), "get_rng_state(device='mps'); seed()"),
    (_without("getRecommendedMaxMemory"), "recommended_max_memory()"), (_without("deviceSynchronize"), "synchronize()"),
    (_raising(RuntimeError, "MPS is not available"), "compile_shader(source)"),
]))


def manual_seed(seed: int) -> None:
    """Nothing to seed."""
    int(seed)


def set_rng_state(new_state: Any, device: DeviceLike = "mps") -> None:
    """Refuses: RuntimeError."""
    new_state.clone()
    _without("getDefaultGenerator")("")


def set_per_process_memory_fraction(fraction: float) -> None:
    """Refuses: TypeError, ValueError or RuntimeError."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if fraction < 0 or fraction > 2:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~2")
    _without("setMemoryFraction")("")


def load_metallib(source: object) -> None:
    """Refuses: TypeError or RuntimeError."""
    import os

    if not isinstance(source, (bytes, str, os.PathLike)):
        raise TypeError(f"expected bytes or path, got {type(source).__name__}")
    raise RuntimeError("MPS is not available")


_on_demand(__name__, {"Event": "event"})
