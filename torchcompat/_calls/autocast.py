"""What autocast does to operations, and each thread's settings of it. See `amp`.

What is done to which operation says the field `amp` of its record. Operations are met at the door (`autograd_tape.calls`).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from autograd_tape import warned
from autograd_tape.annotations import Arguments, Fn
from autograd_tape.calls import Door, Interceptor, ask, listen, unlisten
from autograd_tape.dtypes import Device, DType, Kind, bfloat16, float16, float32, float64
from autograd_tape.errors import type_name
from autograd_tape.functions.general import General
from autograd_tape.record import Record, get_record

from .._tensor import Tensor, frontend
from ..dispatch import ENABLED_BY, DispatchKey, is_excluded

DTYPES = {**dict.fromkeys(["cuda", "ipu", "xpu", "mps", "mtia", "privateuseone", "npu"], float16),
          **dict.fromkeys(["cpu", "hpu", "maia", "xla"], bfloat16)}
"""From the device types that know autocast to the lower precision that is used where none was set."""


class _Loud:
    """Looks at calls, until it is dropped or its thread has ended."""

    def __init__(self) -> None:
        listen(CASTING)
        weakref.finalize(self, unlisten, CASTING).atexit = False


class State(threading.local):
    """What is set on a thread."""

    cache = True
    nesting = 0
    busy = False  # an operation is carried out with cast arguments
    loud: _Loud | None = None  # there where autocast is on for some device

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, DType] = {}
        self.blocks: list[tuple[str, bool, DType | None, bool]] = []  # what was set before each block that is entered

    def dtype(self, device_type: str) -> DType:
        """The lower precision of a device type."""
        return self.dtypes.get(device_type) or DTYPES.get(device_type, float16)

    def set(self, device_type: str, enabled: bool, dtype: DType | None) -> None:
        """Switches autocast on or off for a device type, and sets its lower precision, or with None the usual one."""
        self.enabled[device_type] = enabled
        if dtype is None:
            self.dtypes.pop(device_type, None)
        else:
            self.dtypes[device_type] = dtype
        if not any(self.enabled.values()):
            self.loud = None
        elif self.loud is None:
            self.loud = _Loud()


state = State()


def _device_type(function: str, value: object) -> str:
    """The device type that a string names; TypeError and RuntimeError as torch's."""
    if not isinstance(value, str):
        raise TypeError(f"{function}(): argument 'device_type' (position 1) must be str, not {type_name(value)}")
    return Device(value).type


def _known(device_type: str) -> str:
    if device_type not in DTYPES:
        raise RuntimeError("unknown device type for autocast in get_autocast_dispatch_key_from_device_type")
    return device_type


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for a device type on this thread.

    Raises:
        TypeError: `device_type` is no string.
        RuntimeError: there is no such device type, or none that knows autocast.
    """
    return state.enabled.get(_known(_device_type("is_autocast_enabled", device_type)), False)


def set_autocast_enabled(*args: object, **kwargs: object) -> None:
    """`set_autocast_enabled(device_type, enabled)` switches autocast on or off on this thread; without a device type for "cuda".

    >>> import torchcompat as torch
    >>> torch.set_autocast_enabled("cpu", True)
    >>> (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
    torch.bfloat16
    >>> torch.set_autocast_enabled("cpu", False)
    """
    values = {**dict(zip(("device_type", "enabled") if len(args) + len(kwargs) > 1 else ("enabled",), args)), **kwargs}
    if not kwargs.keys() <= {"device_type", "enabled"} or "enabled" not in values or len(values) != len(args) + len(kwargs):
        given = ", ".join([*map(type_name, args), *[f"{k}={type_name(v)}" for k, v in kwargs.items()]])
        raise TypeError(f"set_autocast_enabled() received an invalid combination of arguments - got ({given}), but expected one of:\n"
                        " * (str device_type, bool enabled)\n * (bool enabled)\n")
    device_type = _device_type("set_autocast_enabled", values["device_type"]) if "device_type" in values else "cuda"
    if not isinstance(values["enabled"], bool):
        raise TypeError(f"set_autocast_enabled(): argument 'enabled' (position {len(values)}) must be bool, not "
                        f"{type_name(values['enabled'])}")
    state.set(_known(device_type), values["enabled"], state.dtypes.get(device_type))


def get_autocast_dtype(device_type: str) -> DType:
    """The lower precision of a device type on this thread."""
    known = _device_type("get_autocast_dtype", device_type)
    if known not in DTYPES and known not in state.dtypes:
        raise RuntimeError("unsupported scalarType")
    return state.dtype(known)


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Sets the lower precision of a device type on this thread; a block of `autocast` puts it back at its end."""
    known = _device_type("set_autocast_dtype", device_type)
    if not isinstance(dtype, DType):
        raise TypeError(f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {type_name(dtype)}")
    state.dtypes[known] = dtype


def is_autocast_available(device_type: str) -> bool:
    """Whether operations of this device type could be cast, were it there."""
    return Device(device_type).type in DTYPES


def is_any_autocast_enabled() -> bool:
    """Whether autocast is on for some device type on this thread."""
    return state.loud is not None


def is_autocast_cache_enabled() -> bool:
    """Whether weights that are used several times in a block are cast once."""
    return state.cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Whether weights that are used several times in a block are to be cast once."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type_name(enabled)})")
    state.cache = enabled


def clear_autocast_cache() -> None:
    """Forgets the weights that were cast; so does the end of the outermost block."""
    _casts.kept.clear()


def autocast_increment_nesting() -> int:
    """One more block around what follows; their number."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """One block less; the number of those that are left."""
    state.nesting -= 1
    return state.nesting


def _old_name(name: str, device_type: str) -> Fn:
    """A setting that has its device type in the name, which torch warns of."""
    present = name.replace(f"_{'gpu' if device_type == 'cuda' else device_type}", "")
    parameter = present.rpartition("_")[2] if name.startswith("set") else ""
    of = f"'{device_type}', {parameter}" if parameter else f"'{device_type}'"

    def setting(*args: object) -> object:
        if len(args) != bool(parameter):
            raise TypeError(f"torch.{name}() takes {'exactly one argument' if parameter else 'no arguments'} ({len(args)} given)")
        wanted = DType if parameter == "dtype" else bool
        if parameter and not isinstance(args[0], wanted):
            raise TypeError(f"{parameter} must be a {'torch.dtype' if wanted is DType else 'bool'} (got {type_name(args[0])})")
        warned.warn(f"torch.{name}({parameter}) is deprecated. Please use torch.{present}({of}) instead.", DeprecationWarning)
        return globals()[present](device_type, *args)

    setting.__name__ = setting.__qualname__ = name
    setting.__doc__ = f"`{present}({of})`."
    return setting


OLD_NAMES = {name: _old_name(name, device)
             for short, device in (("cpu", "cpu"), ("gpu", "cuda"), ("ipu", "ipu"), ("xla", "xla"))
             for name in (f"is_autocast_{short}_enabled", f"set_autocast_{short}_enabled", f"get_autocast_{short}_dtype",
                          f"set_autocast_{short}_dtype")
             if name not in ("is_autocast_gpu_enabled", "set_autocast_gpu_enabled")}
globals().update(OLD_NAMES)


# -- casting ----------------------------------------------------------------------------------------------------------


def _target(rec: Record, kinds: Iterable[Kind], args: Arguments) -> DType | str | None:
    """What an operation's tensors, of these kinds, are cast to by its `amp`, "whole" where they stay as they are but its parts must not
    be looked at; None where autocast does not concern it."""
    enabled = state.enabled
    for k in kinds:
        device = k.device.type
        if enabled.get(device):
            break
    else:
        return None
    field: str | dict[str, DType] | Fn = rec.field("amp")
    policy: str | dict[str, DType] | None = field(*args) if callable(field) else field
    if policy == "lower":
        return state.dtype(device)
    if policy == "widest":
        return _widest(state.dtype(device), args)
    return float32 if policy == "float32" else policy.get(device) if isinstance(policy, dict) else policy  # dtypes by device


def _widest(lower: DType, args: Arguments) -> DType | str:
    """What an operation's tensors are cast to that have to be alike: float32 where there is one of it. Before the first such one others may
    be of the lower precision alone; float64 does not count."""
    widest = lower
    for x in [x for a in args for x in (a if isinstance(a, (tuple, list)) else (a,)) if isinstance(x, Tensor)]:
        own = x._k.dtype
        if own is float32:
            widest = float32
        elif own.is_floating_point and own is not float64 and widest is not float32 and own is not lower:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return float32 if widest is float32 else "whole"


class _Casting(Interceptor):
    """Casts the arguments of operations, and then lets them proceed; what they are made of is left as it is."""

    place, frontend = "autocast", frontend
    all_functions = False

    def concerns(self, door: Door) -> bool:
        return door.rec.field("amp") is not None

    def meet(self, door: Door, args: Arguments, out: object, inplace: bool, asked: tuple[Interceptor, ...], at: int) -> Any:
        own = state.__dict__  # this thread's, quicker than attribute after attribute
        if own.get("loud") is None or own.get("busy") or out is not None or inplace or is_excluded(DispatchKey.AutocastCPU):
            return NotImplemented
        kinds: dict[Kind, None] = {}
        for a in args:
            if isinstance(a, Tensor):
                kinds[a._k] = None
            elif a.__class__ is tuple or a.__class__ is list:
                kinds.update([(x._k, None) for x in a if isinstance(x, Tensor)])
        target = _target(door.rec, kinds, args)
        if target is None:
            return NotImplemented
        own["busy"] = True
        try:
            for k in kinds if target != "whole" else ():
                if k.dtype is not target and k.dtype in _CAST:
                    args = tuple([_cast(a, target, target is not float32) for a in args])
                    break
            result = ask(door, args, None, False, asked, at) if at < len(asked) else NotImplemented
            if result is not NotImplemented:
                return result
            # Half precision is on no quiet path but its own.
            return door.carry_out(args, None, False) if target is float32 or target == "whole" else door.rest(args, None, False)
        finally:
            own["busy"] = False


CASTING = _Casting()


def _enabled_keys(tensors: Sequence[Tensor]) -> list[DispatchKey]:
    return [key for device, key in (("cpu", DispatchKey.AutocastCPU), ("cuda", DispatchKey.AutocastGPU))
            if state.enabled.get(device) and any([t._k.device.type == device for t in tensors])]


ENABLED_BY.append(_enabled_keys)


_CAST = frozenset([float32, bfloat16, float16])


_convert = General(get_record("cast"), frontend)


class _Casts:
    """Weights in the lower precision. A weight that is used again in a block is not cast again, so that what its uses give it is added up
    in that precision, as in torch; nor is it where it was written to, or the block's precision is another one."""

    def __init__(self) -> None:
        self.kept: dict[int, tuple[weakref.ref[Tensor], Tensor]] = {}

    def __call__(self, value: Tensor, dtype: DType) -> Tensor:
        found = self.kept.get(id(value))
        if found is not None and found[0]() is value:
            return found[1]
        cast: Tensor = _convert((value, dtype))
        if cast.requires_grad:
            self.kept[id(value)] = weakref.ref(value), cast
        return cast


_casts = _Casts()


def _cast(value: Tensor | int, dtype: Any, lower: bool) -> Any:
    if isinstance(value, Tensor):
        own = value._k.dtype
        if own is dtype or own not in _CAST:
            return value
        if lower and own is float32 and state.cache and value.requires_grad and value.is_leaf and not value._is_view():
            return _casts(value, dtype)
        return _convert((value, dtype))
    if isinstance(value, (tuple, list)) and any(isinstance(v, Tensor) for v in value):
        return type(value)(_cast(v, dtype, lower) for v in value)
    return value


def in_float32(value: Tensor) -> Tensor:
    """A tensor as an operation gets it that autocast casts to float32, for those that are no records."""
    own = state.__dict__
    if own.get("loud") is None or own.get("busy") or not state.enabled.get(value._k.device.type):
        return value
    found: Tensor = _cast(value, float32, False)
    return found
