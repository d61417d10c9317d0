"""torch.cuda.memory where there is no CUDA: no bytes are in use, and what would need a device refuses."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from contextlib import contextmanager
from autograd_tape import warned
from autograd_tape.annotations import DeviceLike
from typing import TYPE_CHECKING

from .._calls.absent import absences as _absences
from .._calls.devices import dummy, functions, giving, lacking, nothing, raising, refusing

if TYPE_CHECKING:
    from .._calls.of_cuda import *

_NONE = [
    (giving(int), """memory_allocated(device=None); max_memory_allocated(device=None); memory_reserved(device=None);
        max_memory_reserved(device=None)"""),
    (giving(collections.OrderedDict), "memory_stats(device=None); host_memory_stats()"),
    (giving(dict), "memory_stats_as_nested_dict(device=None); host_memory_stats_as_nested_dict()"),
    (nothing, "empty_cache(); caching_allocator_enable(value=True)"),
    (refusing("cuda"), """caching_allocator_alloc(size, device=None, stream=None); get_per_process_memory_fraction(device=None);
        mem_get_info(device=None); set_per_process_memory_fraction(fraction, device=None)"""),
    (lacking("_cuda_cudaCachingAllocator_raw_delete"), "caching_allocator_delete(mem_ptr)"),
    (lacking("_cuda_changeCurrentAllocator"), "change_current_allocator(allocator)"),
    (lacking("_cuda_getAllocatorBackend"), "get_allocator_backend()"),
    (lacking("_cuda_memorySnapshot"), "memory_snapshot(mempool_id=None, include_traces=True)"),
    (lacking("_cuda_resetAccumulatedHostMemoryStats"), "reset_accumulated_host_memory_stats()"),
    (lacking("_cuda_resetAccumulatedMemoryStats"), "reset_accumulated_memory_stats(device=None)"),
    (lacking("_cuda_resetPeakHostMemoryStats"), "reset_peak_host_memory_stats()"),
    (lacking("_cuda_resetPeakMemoryStats"), "reset_peak_memory_stats(device=None)"),
    (raising(KeyError, "allocated_bytes.all.current"), "memory_summary(device=None, abbreviated=False)"),
    (giving(lambda: "pynvml module not found, please install nvidia-ml-py"), "list_gpu_processes(device=None)"),
]
globals().update(functions("torch.cuda.memory", _NONE))
__all__ = ["CUDAPluggableAllocator", "MemPool", "caching_allocator_disabled", "max_memory_cached", "memory_cached",
         "reset_max_memory_allocated", "reset_max_memory_cached", "use_mem_pool"]
__all__ += list(functions("torch.cuda.memory", _NONE))


def _renamed(old: str, new: str) -> None:
    warned.warn(f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`", FutureWarning)


def memory_cached(device: DeviceLike | None = None) -> int:
    """0."""
    _renamed("memory_cached", "memory_reserved")
    return 0


def max_memory_cached(device: DeviceLike | None = None) -> int:
    """0."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return 0


def reset_max_memory_allocated(device: DeviceLike | None = None) -> None:
    """Refuses, as `reset_peak_memory_stats`, which it calls."""
    warned.warn("torch.cuda.reset_max_memory_allocated now calls torch.cuda.reset_peak_memory_stats, which resets /all/ "
                "peak memory stats.", FutureWarning)
    globals()["reset_peak_memory_stats"](device=device)


def reset_max_memory_cached(device: DeviceLike | None = None) -> None:
    """Refuses, as `reset_peak_memory_stats`, which it calls."""
    warned.warn("torch.cuda.reset_max_memory_cached now calls torch.cuda.reset_peak_memory_stats, which resets /all/ "
                "peak memory stats.", FutureWarning)
    globals()["reset_peak_memory_stats"](device=device)


@contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """A block that refuses to be entered: AttributeError."""
    lacking("_cuda_cudaCachingAllocator_is_enabled")("caching_allocator_disabled")
    yield


@contextmanager
def use_mem_pool(pool: object, device: DeviceLike | None = None) -> Iterator[None]:
    """A block that refuses to be entered: AssertionError."""
    refusing("cuda")("use_mem_pool")
    yield


class CUDAPluggableAllocator:
    """An allocator from a library, which a build without CUDA does not load: RuntimeError or the linker's OSError."""

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        import ctypes

        getattr(ctypes.CDLL(path_to_so_file), alloc_fn_name)
        lacking("_cuda_customAllocator")("")


MemPool = dummy("torch.cuda.memory", "MemPool", "snapshot(self, include_traces=True); use_count(self)")
_absences(__name__)
