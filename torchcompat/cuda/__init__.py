"""torch.cuda where there is no CUDA: says so, and refuses what would need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from autograd_tape.annotations import DeviceLike
from autograd_tape.dtypes import Device as _Device

from .._calls.absent import on_demand as _on_demand
from .._calls.devices import functions as _functions, giving as _giving, raising as _raising, refusing as _refusing
from .._calls.devices import lacking as _lacking
from . import _types
from .graphs import CUDAGraph as CUDAGraph, graph as graph, graph_pool_handle as graph_pool_handle
from .graphs import is_current_stream_capturing as is_current_stream_capturing, make_graphed_callables as make_graphed_callables
from .memory import *
from .random import *
from .streams import Event as Event, ExternalStream as ExternalStream, Stream as Stream

if TYPE_CHECKING:
    from .._calls.of_cuda import *
    from .._calls.streams import AcceleratorError as AcceleratorError, OutOfMemoryError as OutOfMemoryError
    from . import amp as amp, comm as comm, gds as gds, green_contexts as green_contexts, jiterator as jiterator, memory as memory
    from . import nccl as nccl, nvtx as nvtx, profiler as profiler, random as random, sparse as sparse, tunable as tunable
    from .green_contexts import GreenContext as GreenContext

has_half, has_magma, default_generators = True, False, ()
_NVML = _raising(ModuleNotFoundError, "nvidia-ml-py does not seem to be installed or it can't be imported.")
globals().update(_types.tensors("torch.cuda"), **_types.storages(), **_functions("torch.cuda", [
    (_giving(bool), "is_available(); is_initialized(); is_bf16_supported(including_emulation=True); is_tf32_supported(); _is_compiled()"),
    (_giving(int), "device_count()"), (_giving(list), "get_arch_list()"), (_giving(str), "get_gencode_flags()"),
    (_refusing("cuda"), """init(); _lazy_init(); cudart(); current_blas_handle(); current_device(); current_solver_handle();
        current_stream(device=None); default_stream(device=None); get_device_capability(device=None); get_device_name(device=None);
        get_device_properties(device=None); get_stream_from_external(data_ptr, device=None); get_sync_debug_mode(); ipc_collect();
        set_sync_debug_mode(debug_mode); synchronize(device=None); can_device_access_peer(device, peer_device)"""),
    (_NVML, """clock_rate(device=None); device_memory_used(device=None); memory_usage(device=None); power_draw(device=None);
        temperature(device=None); utilization(device=None)"""),
    (_raising(AttributeError, "'NoneType' object has no attribute 'cudaError'"), "check_error(res)"),
]))


def _index(device: object, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device of this type; -1 of none."""
    if isinstance(device, str):
        device = _Device(device)
    if isinstance(device, _Device):
        if device.type not in ("cuda", "cpu") or device.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a {'cuda or cpu' if allow_cpu else 'cuda'} device, but got: {device}")
        device = -1 if device.type == "cpu" else device.index
    if isinstance(device, int):
        return device
    if device is None and optional:
        return -1
    if device is None:
        _refusing("cuda")("")
    raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")


def set_device(device: DeviceLike | None) -> None:
    """Refuses: AttributeError, but of a negative number, which changes nothing."""
    if _index(device) >= 0:
        _lacking("_cuda_setDevice")("")


def set_stream(stream: object) -> None:
    """Refuses: AttributeError."""
    if stream is not None:
        getattr(stream, "stream_id")  # noqa: B009  # what is none has no such attribute
        _lacking("_cuda_setStream")("")


class device:
    """A block on a device: refused where it is entered with one, none is there."""

    def __init__(self, device: object) -> None:
        self.idx, self.prev_idx = _index(device, optional=True), -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise RuntimeError("PyTorch was compiled without CUDA support")

    def __exit__(self, *exc: object) -> Literal[False]:
        return False


class device_of(device):
    """A block on the device of a tensor: that of one on the CPU changes nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


class StreamContext:
    """A block of a stream; None, and any where there is no CUDA, changes nothing."""

    def __init__(self, stream: object) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


def stream(stream: object) -> StreamContext:
    """A block of a stream; None, and any where there is no CUDA, changes nothing."""
    return StreamContext(stream)


class cudaStatus:
    """Numbers of errors."""

    SUCCESS: int = 0
    ERROR_NOT_READY: int = 34


class CudaError(RuntimeError):
    """An error of CUDA's by its number."""

    def __init__(self, code: int) -> None:
        raise AttributeError("'NoneType' object has no attribute 'cudaGetErrorString'")


class DeferredCudaCallError(Exception):
    """A call that waited for CUDA failed."""

_on_demand(__name__, {"OutOfMemoryError": "..", "AcceleratorError": "..", "GreenContext": "green_contexts"})
