"""torch.cpu: the CPU by the names that devices have. It is there, and whatever was called is done when the call returns."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from autograd_tape.annotations import DeviceLike

from .._calls.absent import on_demand as _on_demand

if TYPE_CHECKING:
    from . import amp as amp

__all__ = ["Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "get_capabilities", "is_available",
           "is_initialized", "set_device", "stream", "synchronize"]


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """Its name."""
    return "cpu"


def set_device(device: DeviceLike | None) -> None:
    """There is no other to choose."""


def synchronize(device: DeviceLike | None = None) -> None:
    """Waits for nothing."""


class Event:
    """A point in the work of a stream, which is done."""

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Notes nothing."""

    def synchronize(self) -> None:
        """Waits for nothing."""

    def wait(self, stream: Stream | None = None) -> None:
        """Makes nothing wait."""


class Stream:
    """Work in the order it was called."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Stream) -> None:
        """Waits for nothing."""

    def wait_event(self, event: Event) -> None:
        """Waits for nothing."""

    def record_event(self) -> None:
        """Notes nothing."""


_stream: Stream = Stream()


def current_stream(device: DeviceLike | None = None) -> Stream:
    """The stream of the block that runs."""
    return _stream


class StreamContext:
    """A block of a stream."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream, self._before = stream, _stream

    def __enter__(self) -> None:
        global _stream
        if self.stream is not None:
            self._before, _stream = _stream, self.stream

    def __exit__(self, *exc: object) -> None:
        global _stream
        if self.stream is not None:
            _stream = self._before


def stream(stream: Stream) -> StreamContext:
    """A block of a stream."""
    return StreamContext(stream)


_FLAGS = {"bmi": "bmi1", "fma3": "fma", "lzcnt": "abm", "sha": "sha_ni", "sse3": "pni",
          **{f"avx512_{part}": f"avx512{part}" for part in ("f", "cd", "dq", "bw", "vl", "ifma", "vbmi")}}
"""From torch's names of what processors can do to Linux's, where these are not the same."""


def _can(name: str) -> bool:
    """Whether the processor can, as Linux says; False where there is nothing to be read."""
    try:
        with open("/proc/cpuinfo") as file:
            line = next((line for line in file if line.startswith("flags")), "")
    except OSError:
        return False
    return _FLAGS.get(name, name) in line.split()


def get_capabilities() -> Mapping[str, Any]:
    """What the processor can do, by names of groups of its instructions."""
    import os
    import platform

    names = """sse sse2 sse3 ssse3 sse4_1 sse4_2 sse4a avx avx2 avx_vnni avx_vnni_int8 avx_vnni_int16 avx_ne_convert avx512_f avx512_cd
        avx512_dq avx512_bw avx512_vl avx512_ifma avx512_vbmi avx512_vbmi2 avx512_bitalg avx512_vpopcntdq avx512_vnni avx512_bf16
        avx512_fp16 avx512_vp2intersect avx512_4vnniw avx512_4fmaps avx10_1 avx10_2 amx_bf16 amx_tile amx_int8 amx_fp16 f16c fma3 fma4 bmi
        bmi2 lzcnt popcnt aes sha clflush clflushopt clwb""".split()
    found: dict[str, Any] = {name: _can(name) for name in names}
    return MappingProxyType({**found, "architecture": platform.machine(), "num_logical_cores": os.cpu_count()})


def _is_avx2_supported() -> bool:
    """Whether the processor has AVX2."""
    return _can("avx2")


def _is_avx512_supported() -> bool:
    """Whether the processor has AVX512."""
    return all([_can(f"avx512_{part}") for part in ("f", "vl", "bw", "dq")])


def _is_avx512_bf16_supported() -> bool:
    """Whether it multiplies bfloat16."""
    return _can("avx512_bf16")


def _is_vnni_supported() -> bool:
    """Whether it multiplies bytes."""
    return _can("avx512_vnni")


def _is_amx_tile_supported() -> bool:
    """Whether it multiplies tiles."""
    return _can("amx_tile")


def _is_amx_fp16_supported() -> bool:
    """Whether it multiplies tiles of float16."""
    return _can("amx_fp16")


_on_demand(__name__)
