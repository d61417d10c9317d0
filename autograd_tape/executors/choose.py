"""The table of which executor serves which device."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..dtypes import CPU, Device
from ..errors import ArgumentError, ExecutorUnavailableError
from ..locks import fork_safe_lock
from ..modes import enter_quiet_path, leave_quiet_path

if TYPE_CHECKING:
    from .base import Executor


class Registered(NamedTuple):
    """An executor that can be chosen: the device types that it serves, and what makes it for one of them."""

    serves: tuple[str, ...]
    factory: Callable[[str], Executor]


_registered: dict[str, Registered] = {}  # in the order of registration, which is that of preference
_executors: dict[tuple[str, str], Executor] = {}
_chosen: dict[str, Executor] = {}
_lock = fork_safe_lock()


def register_executor(name: str, serves: Sequence[str], factory: Callable[[str], Executor]) -> None:
    """Makes an executor known, which `set_executor` can then choose. A device type that no executor was chosen for is served by the
    executor that was registered for it first.

    Args:
        name: its name, which is also that of the objects that `factory` makes.
        serves: the types of the devices it serves: "cpu", "npu", ...
        factory: makes the `Executor` for a device type when it is first asked for; raises `ExecutorUnavailableError` where that
            cannot be used here.

    Raises:
        ArgumentError: another executor has this name, or `serves` has no device type.
        RuntimeError: `serves` has a device type that does not exist.
    """
    if isinstance(serves, str) or not serves:
        raise ArgumentError(f"The executor '{name}' serves no device type", expected="a sequence of device types", found=repr(serves),
                            remedy='name them, as ("cpu",)')
    types = tuple([Device(type).type for type in serves])
    with _lock:
        if name in _registered:
            raise ArgumentError(f"There is an executor '{name}'", expected="a name that no executor has", found=repr(name),
                                remedy="choose another name")
        _registered[name] = Registered(types, factory)


def _make(name: str, device_type: str) -> Executor:
    key = (name, device_type)
    found = _executors.get(key)
    if found is None:
        if name not in _registered:
            *others, last = _registered
            raise ExecutorUnavailableError(f"There is no executor '{name}'", expected=f"{', '.join(others)} or {last}", found=repr(name),
                                           remedy="choose one of these")
        serves, factory = _registered[name]
        if device_type not in serves:
            raise ExecutorUnavailableError(f"The executor '{name}' does not serve device type '{device_type}'",
                                           expected=" or ".join(serves), found=device_type, remedy="choose another executor or device")
        found = _executors[key] = factory(device_type)
    return found


def executor_for(device: Device) -> Executor:
    """The executor that serves a device now."""
    chosen = _chosen.get(device.type)
    if chosen is None:
        name = os.environ.get(f"AUTOGRAD_TAPE_{device.type.upper()}_EXECUTOR")
        name = name or next((n for n, found in _registered.items() if device.type in found.serves), None)
        if name is None:
            served = dict.fromkeys([type for found in _registered.values() for type in found.serves])
            error = ExecutorUnavailableError(f"No executor serves device type '{device.type}'", expected=", ".join(served),
                                             found=device.type, remedy="use one of these devices")
            error.device_type = device.type
            raise error
        try:
            set_executor(device, name)
        except ExecutorUnavailableError as error:
            error.device_type = device.type
            raise
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
    for name, (serves, _) in _registered.items():
        try:
            get_executor(name, serves[0])
            found[name] = ""
        except ExecutorUnavailableError as error:
            found[name] = str(error)
    return found
