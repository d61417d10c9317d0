"""Where storages are, as files say it: functions by device that name the place of a storage, and put one there."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from autograd_tape.dtypes import Device
import torchcompat as torch

from .._calls.shown import shown_in
from ..storage import TypedStorage, UntypedStorage

Storage = TypedStorage | UntypedStorage
Tagger = Callable[[Any], str | None]
Deserializer = Callable[[Any, str], Any]
Move = Callable[[UntypedStorage, str], Any]


def _tag(kind: str, storage: Storage) -> str | None:
    return str(storage.device) if storage.device.type == kind else None


def _cpu(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    return storage if location == "cpu" else None


def _meta(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    return UntypedStorage(storage.nbytes(), device="meta") if location == "meta" else None


def _mps(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    return UntypedStorage(0, device=location) if location.startswith("mps") else None  # which refuses


def _device(kind: str, storage: UntypedStorage, location: str) -> UntypedStorage | None:
    if location != kind and not re.match(f"{kind}(:|[0-9]+)", location):
        return None
    _checked(kind, location)
    return storage.to(device=location)


def _checked(kind: str, location: str) -> Device:
    """The device of a location. RuntimeError where it is not here."""
    advice = ("If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') "
              "to map your storages to the CPU.")
    module = getattr(torch, kind, None)
    if module is None:
        raise RuntimeError(f"The {kind.upper()} device module is not registered. {advice}")
    if hasattr(module, "is_available") and not module.is_available():
        raise RuntimeError(f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}.is_available() is False. "
                           f"{advice}")
    return Device(location)


def validate_cuda_device(location: str) -> int | None:
    """The number of the CUDA device that a location names. RuntimeError where it is not here."""
    return _checked("cuda", location).index


def validate_hpu_device(location: str) -> int | None:
    """The number of the HPU that a location names. RuntimeError where it is not here."""
    return _checked("hpu", location).index


registry: list[tuple[int, Tagger, Deserializer]] = [
    (10, functools.partial(_tag, "cpu"), _cpu), (20, functools.partial(_tag, "cuda"), functools.partial(_device, "cuda")),
    (21, functools.partial(_tag, "mps"), _mps), (22, functools.partial(_tag, "meta"), _meta),
    *[(priority, functools.partial(_tag, kind), functools.partial(_device, kind))
      for priority, kind in ((23, "npu"), (24, "hpu"), (25, "xpu"), (26, "mtia"))],
]


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Adds functions for storages of a device; those of lower priority numbers are asked first.

    Args:
        priority: 10 is the CPU's, 20 CUDA's.
        tagger: gives the name that a storage's place has in files, None for storages of others.
        deserializer: puts a storage where the name says, None for names of others.
    """
    registry.append((priority, tagger, deserializer))
    registry.sort(key=lambda entry: entry[0])


def location_tag(storage: Storage) -> str:
    """What files call the place of a storage. RuntimeError where nobody knows."""
    for _, tagger, _ in registry:
        if location := tagger(storage):
            return location
    raise RuntimeError(f"don't know how to determine data location of {torch.typename(storage)}")


def default_restore_location(storage: Any, location: str) -> Any:
    """A storage, in the memory of the CPU, put where a file says. RuntimeError where nobody knows, or that is not here."""
    for _, _, deserializer in registry:
        if (found := deserializer(storage, location)) is not None:
            return found
    raise RuntimeError(f"don't know how to restore data location of {torch.typename(storage)} (tagged with {location})")


def mover(map_location: Any) -> Move:
    """The function that puts a storage, saved at a place, where `map_location` wants it."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes, Device)):
        target: Any = str(map_location) if isinstance(map_location, Device) else map_location
        return lambda storage, location: default_restore_location(storage, target)

    def move(storage: UntypedStorage, location: str) -> Any:
        moved = map_location(storage, location)
        return default_restore_location(storage, location) if moved is None else moved

    return move


shown_in("torchcompat.serialization", register_package, location_tag, default_restore_location, validate_cuda_device, validate_hpu_device)
