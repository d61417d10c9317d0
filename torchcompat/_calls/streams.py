"""`torch.Stream` and `torch.Event` of the CPU, where whatever was called is done when the call returns."""

from __future__ import annotations

from types import ModuleType
from typing import NoReturn

from autograd_tape.annotations import DeviceLike
from autograd_tape.dtypes import Device

_TYPES = ("cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia", "xla", "vulkan", "metal", "xpu", "mps", "meta",
          "hpu", "ve", "lazy", "ipu", "mtia", "privateuseone")
"""By their numbers."""


def _cpu(device: DeviceLike | None) -> Device:
    """The device of a stream or an event; RuntimeError where it has none."""
    if isinstance(device, int):
        raise RuntimeError("Cannot access accelerator device when none is available.")
    found = Device("cpu" if device is None else device)
    if found.type != "cpu":
        raise RuntimeError(f"PyTorch is not linked with support for {found.type} devices")
    return found


class Stream:
    """Work in the order it was called.

    Raises:
        RuntimeError: there is no such device.

    >>> Stream().query(), Stream("cpu") == Stream()
    (True, True)
    """

    __module__ = "torch"

    def __init__(self, device: DeviceLike | None = None, *, priority: int = 0, stream_id: int | None = None,
                 device_index: int | None = None, device_type: int | None = None) -> None:
        if stream_id is None or device_index is None or device_type is None:
            self.device, self.stream_id, self.device_index, self.device_type = _cpu(device), 0, -1, 0
        else:
            self.stream_id, self.device_index, self.device_type = stream_id, device_index, device_type
            self.device = Device(_TYPES[device_type], device_index)

    def query(self) -> bool:
        """Whether all is done: True."""
        return True

    def synchronize(self) -> None:
        """Waits for nothing."""

    def is_capturing(self) -> bool:
        """False."""
        return False

    def wait_event(self, event: Event) -> None:
        """Waits for nothing."""

    def wait_stream(self, stream: Stream) -> NoReturn:
        """Refuses, as `record_event`: RuntimeError."""
        self.record_event()

    def record_event(self, event: Event | None = None) -> NoReturn:
        """Refuses: RuntimeError."""
        raise RuntimeError(f"{self.device.type} backend doesn't support events.")

    @property
    def native_handle(self) -> NoReturn:
        """Refuses: RuntimeError."""
        raise RuntimeError("Backend doesn't support getting stream native handle.")

    def _key(self) -> tuple[int, int, int]:
        return self.stream_id, self.device_index, self.device_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __repr__(self) -> str:
        return f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id={self.stream_id}"


class Event:
    """A point in the work of a stream.

    Raises:
        RuntimeError: there is no such device.
    """

    __module__ = "torch"

    def __init__(self, device: DeviceLike | None = None, *, enable_timing: bool = False, blocking: bool = False,
                 interprocess: bool = False) -> None:
        self.device, self.event_id, self._flag = _cpu(device), 0, int(enable_timing)

    def query(self) -> bool:
        """Whether the work until here is done: True."""
        return True

    def synchronize(self) -> None:
        """Waits for nothing."""

    def wait(self, stream: Stream | None = None) -> None:
        """Makes nothing wait."""

    def record(self, stream: Stream | None = None) -> NoReturn:
        """Refuses: RuntimeError."""
        Stream().record_event()

    def elapsed_time(self, other: Event) -> NoReturn:
        """Refuses: nothing was recorded."""
        if not (self._flag and other._flag):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        raise ValueError("Both events must be recorded before calculating elapsed time.")

    @classmethod
    def from_ipc_handle(cls, device: DeviceLike, ipc_handle: bytes) -> NoReturn:
        """Refuses: NotImplementedError."""
        raise NotImplementedError("torch.Event ipc is not supported yet, please open an issue if you need this!")

    def ipc_handle(self) -> NoReturn:
        """Refuses: NotImplementedError."""
        raise NotImplementedError("torch.Event ipc is not supported yet, please open an issue if you need this!")

    def __repr__(self) -> str:
        return f"torch.Event device_type={self.device.type}, device_index=-1, event_flag={self._flag}, event_id={self.event_id}"


class AcceleratorError(RuntimeError):
    """An accelerator failed; there is none."""

    __module__ = "torch"


class OutOfMemoryError(RuntimeError):
    """The memory of an accelerator is full; there is none."""

    __module__ = "torch"


def get_device_module(device: object = None) -> ModuleType:
    """The module of a device type: `torch.cuda`, `torch.cpu`, ...

    Raises:
        RuntimeError: `device` is no device, or torch has no module for it.
    """
    from importlib import import_module

    package = __name__.partition(".")[0]
    if not isinstance(device, (str, Device)) and device is not None:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    kind = "cpu" if device is None else Device(device).type
    found: ModuleType | None = getattr(import_module(package), kind, None)
    if found is None:
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return found
