"""torch.xpu.memory where there is no XPU: no bytes are in use, and what would need a device refuses."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from contextlib import contextmanager
from autograd_tape.annotations import DeviceLike
from typing import TYPE_CHECKING

from .._calls.absent import absences as _absences
from .._calls.devices import dummy, functions, giving, lacking, nothing, refusing

if TYPE_CHECKING:
    from .._calls.of_xpu import *

_NONE = functions("torch.xpu.memory", [
    (giving(int), """memory_allocated(device=None); max_memory_allocated(device=None); memory_reserved(device=None);
        max_memory_reserved(device=None)"""),
    (giving(collections.OrderedDict), "memory_stats(device=None)"), (giving(dict), "memory_stats_as_nested_dict(device=None)"),
    (giving(list), "memory_snapshot(mempool_id=None)"), (nothing, "empty_cache()"),
    (refusing("xpu"), """get_per_process_memory_fraction(device=None); mem_get_info(device=None);
        set_per_process_memory_fraction(fraction, device=None)"""),
    (lacking("_xpu_changeCurrentAllocator"), "change_current_allocator(allocator)"),
    (lacking("_xpu_resetAccumulatedMemoryStats"), "reset_accumulated_memory_stats(device=None)"),
    (lacking("_xpu_resetPeakMemoryStats"), "reset_peak_memory_stats(device=None)"),
])
globals().update(_NONE)
__all__ = ["MemPool", "XPUPluggableAllocator", "use_mem_pool"] + list(_NONE)


@contextmanager
def use_mem_pool(pool: object, device: DeviceLike | None = None) -> Iterator[None]:
    """A block that refuses to be entered: AssertionError."""
    refusing("xpu")("use_mem_pool")
    yield


class XPUPluggableAllocator:
    """An allocator from a library, which a build without XPUs does not load: AttributeError or the linker's OSError."""

    def __init__(self, path_to_lib_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        import ctypes

        getattr(ctypes.CDLL(path_to_lib_file), alloc_fn_name)
        lacking("_xpu_customAllocator")("")


MemPool = dummy("torch.xpu.memory", "MemPool", "snapshot(self); use_count(self)")
_absences(__name__)
