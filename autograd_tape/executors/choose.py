"""The table of which executor serves which device."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..dtypes import CPU, Device
from ..errors import ExecutorUnavailableError
from ..locks import fork_safe_lock
from ..modes import enter_quiet_path, leave_quiet_path
from .meta import MetaExecutor
from .numpy import NumpyExecutor

if TYPE_CHECKING:
    from .base import Executor

_executors: dict[tuple[str, str], Executor] = {}
_chosen: dict[str, Executor] = {}
_lock = fork_safe_lock()
DEFAULTS = {"cpu": "numpy", "meta": "meta", "npu": "mindspore", "cuda": "mindspore"}
SERVES = {"numpy": ("cpu",), "mindspore": ("cpu", "npu", "cuda"), "meta": ("meta",)}


def _make(name: str, device_type: str) -> Executor:
    key = (name, device_type)
    found = _executors.get(key)
    if found is None:
        if name not in SERVES:
            raise ExecutorUnavailableError(f"There is no executor '{name}'", expected="numpy, mindspore or meta", found=repr(name),
                                           remedy="choose one of these")
        if device_type not in SERVES[name]:
            raise ExecutorUnavailableError(f"The executor '{name}' does not serve device type '{device_type}'",
                                           expected=" or ".join(SERVES[name]), found=device_type,
                                           remedy="choose another executor or device")
        if name == "numpy":
            found = NumpyExecutor()
        elif name == "meta":
            found = MetaExecutor()
        else:
            from .mindspore import MindSporeExecutor

            found = MindSporeExecutor(device_type)
        _executors[key] = found
    return found


def executor_for(device: Device) -> Executor:
    """The executor that serves a device now."""
    chosen = _chosen.get(device.type)
    if chosen is None:
        name = os.environ.get(f"AUTOGRAD_TAPE_{device.type.upper()}_EXECUTOR") or DEFAULTS.get(device.type)
        if name is None:
            raise ExecutorUnavailableError(f"No executor serves device type '{device.type}'", expected=", ".join(DEFAULTS),
                                           found=device.type, remedy="use one of these devices")
        set_executor(device, name)
        chosen = _chosen[device.type]
    return chosen


def apply_environment() -> None:
    """Makes the executor that AUTOGRAD_TAPE_CPU_EXECUTOR names serve the CPU; the quiet path would otherwise never ask."""
    if os.environ.get("AUTOGRAD_TAPE_CPU_EXECUTOR"):
        executor_for(Device("cpu"))


def get_executor(name: str, device_type: str = "cpu") -> Executor:
    """An executor by name, whether or not it is the chosen one."""
    with _lock:
        return _make(name, device_type)


def cpu_executor() -> Executor:
    """The executor that serves the CPU now: NumPy's, unless another was chosen."""
    return executor_for(CPU)


def set_executor(device: "Device | str", name: str) -> None:
    """Makes an executor serve a device type: `set_executor("cpu", "mindspore")`.

    The environment variable AUTOGRAD_TAPE_CPU_EXECUTOR does the same from outside.

    Raises:
        ExecutorUnavailableError: it does not exist or cannot be used here; nothing is changed then.
    """
    device_type = Device(device).type
    with _lock:
        executor = _make(name, device_type)
        before = _chosen.get(device_type)
        was_loud = device_type == "cpu" and before is not None and before.name != "numpy"
        _chosen[device_type] = executor
        is_loud = device_type == "cpu" and executor.name != "numpy"
        # The quiet path calls NumPy's kernels itself, so another executor on the CPU must leave it.
        if is_loud and not was_loud:
            leave_quiet_path()
        elif was_loud and not is_loud:
            enter_quiet_path()


def available_executors() -> dict[str, str]:
    """Executor names, each with "" or the reason why it cannot be used here."""
    found = {}
    for name in ("numpy", "mindspore", "meta"):
        try:
            get_executor(name, "meta" if name == "meta" else "cpu")
            found[name] = ""
        except ExecutorUnavailableError as error:
            found[name] = str(error)
    return found
