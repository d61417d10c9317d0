"""torch._utils: the helpers of torch that libraries import."""

from __future__ import annotations

import os
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from autograd_tape import warned
from autograd_tape.dtypes import DType
import torchcompat as torch

from ._calls.streams import get_device_module as _get_device_module_of
from ._files.rebuild import _rebuild_meta_tensor_no_storage as _rebuild_meta_tensor_no_storage
from ._files.rebuild import _rebuild_parameter as _rebuild_parameter
from ._files.rebuild import _rebuild_parameter_with_state as _rebuild_parameter_with_state
from ._files.rebuild import _rebuild_sparse_tensor as _rebuild_sparse_tensor
from ._files.rebuild import _rebuild_tensor as _rebuild_tensor
from ._files.rebuild import _rebuild_tensor_v2 as _rebuild_tensor_v2
from ._files.rebuild import _rebuild_tensor_v3 as _rebuild_tensor_v3

if TYPE_CHECKING:
    from ._tensor import Tensor


def _element_size(dtype: DType) -> int:
    """Bytes an element of a dtype.

    Raises:
        RuntimeError: it is no dtype.
    """
    if not isinstance(dtype, DType):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of all tensors, one behind the other."""
    found: Tensor = torch.cat([t.reshape(-1) for t in tensors])
    return found


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of `flat` in the shapes of `tensors`, one behind the other."""
    sizes = [t.numel() for t in tensors]
    return tuple([part.view(t.shape) for part, t in zip(flat.split(sizes), tensors)])


def _flatten_sparse_tensors(tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The places of all elements of tensors of coordinates and values, one tensor behind the other, and their values."""
    return (_flatten_dense_tensors([t._indices() for t in tensors]), _flatten_dense_tensors([t._values() for t in tensors]))


def _unflatten_sparse_tensors(flat: tuple[Tensor, Tensor], tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Tensors like `tensors` of what `_flatten_sparse_tensors` gave."""
    places = _unflatten_dense_tensors(flat[0], [t._indices() for t in tensors])
    values = _unflatten_dense_tensors(flat[1], [t._values() for t in tensors])
    return tuple([t.new(p, v, t.size()) for t, p, v in zip(tensors, places, values)])


def _handle_complex(tensor: Tensor) -> Tensor:
    """Complex numbers as pairs of real ones; a real tensor itself."""
    return torch.view_as_real(tensor) if not isinstance(tensor, torch.nn.UninitializedParameter) and tensor.is_complex() else tensor


def _import_dotted_name(name: str) -> Any:
    """What a name with dots stands for, of a module that is imported first."""
    parts = name.split(".")
    found: Any = __import__(parts[0])
    for part in parts[1:]:
        found = getattr(found, part)
    return found


def _get_obj_state(obj: object) -> Any:
    """What `pickle` keeps of an object without a method for that: its attributes, or a pair of them and those of slots."""
    if hasattr(obj, "__getstate__"):
        return obj.__getstate__()
    import copyreg

    slots: list[str] = copyreg._slotnames(type(obj))  # type: ignore[attr-defined]
    kept = {name: getattr(obj, name) for name in slots if hasattr(obj, name)}
    return (obj.__dict__, kept) if kept else obj.__dict__


def _set_obj_state(obj: Any, state: Any) -> Any:
    """Gives an object what `_get_obj_state` kept of another.

    Raises:
        RuntimeError: it is no pair.
    """
    parts = state if isinstance(state, tuple) else (state, None)
    if len(parts) != 2:
        raise RuntimeError(f"Invalid serialized state: {state}")
    for part in parts:
        for name, value in (part or {}).items():
            setattr(obj, name, value)
    return obj


def render_call(fn: Any, args: Sequence[object], kwargs: dict[str, object]) -> str:
    """A call as a program would write it; tensors as they print, with "..." for their elements."""
    called = f"{fn.__module__}.{fn.__name__}".replace("torchcompat.", "torch.") if hasattr(fn, "__name__") else str(fn)
    said = [repr(a) for a in args] + [f"{key}={value!r}" for key, value in kwargs.items()]
    return f"{called}({', '.join(said)})"


class classproperty:
    """A property of a class, of which it is asked, or its instances."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self.func(type(instance) if owner is None else owner)


def is_compiling() -> bool:
    """False: nothing is compiled. (Out of date: `torch.compiler.is_compiling`.)"""
    warned.warn("`torch._utils.is_compiling` is deprecated. Use `torch.compiler.is_compiling` instead.")
    return False


def _get_available_device_type() -> str | None:
    """The kind of devices beside the CPU; None."""
    return None


def _get_all_device_indices() -> list[int] | None:
    """The numbers of the devices beside the CPU; None."""
    return None


def _get_device_module(device_type: str) -> Any:
    """The module that speaks of a kind of devices.

    Raises:
        RuntimeError: there is none.
    """
    if not hasattr(torch, device_type):
        raise RuntimeError(f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'.")
    return _get_device_module_of(device_type)


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int | None:
    """The number of a device, or of its name; -1 of the CPU.

    Args:
        device: it, its name, or the number itself; None for the current one where `optional`.
        allow_cpu: whether it may be the CPU.

    Raises:
        ValueError: it is the CPU, or has no number.
    """
    if isinstance(device, str):
        device = torch.device(device)
    number = None
    if isinstance(device, torch.device):
        if not allow_cpu and device.type == "cpu":
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        number = -1 if device.type == "cpu" else device.index
    if isinstance(device, int):
        number = device
    if number is None and not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return number


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Groups of tensors of one type whose bytes together reach the limit, then what is left of each type."""
    groups: dict[str, list[Tensor]] = defaultdict(list)
    sizes: dict[str, int] = defaultdict(int)
    for tensor in tensors:
        kind, size = tensor.type(), tensor.numel() * tensor.element_size()
        if groups[kind] and sizes[kind] + size > size_limit:
            yield groups.pop(kind)
            sizes[kind] = 0
        groups[kind].append(tensor)
        sizes[kind] += size
    yield from [group for group in groups.values() if group]


def _reorder_tensors_as(tensors: Iterable[Tensor], ordered_tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """`tensors`, which are in any order by type, in the order of the types of `ordered_tensors`."""
    by_type: dict[str, list[Tensor]] = defaultdict(list)
    for tensor in tensors:
        by_type[tensor.type()].append(tensor)
    iterators = {kind: iter(group) for kind, group in by_type.items()}
    return tuple([next(iterators[t.type()]) for t in ordered_tensors])


def cpu_count() -> int | None:
    """How many processors this process may use; None where nobody knows."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


class KeyErrorMessage(str):
    """A text that a KeyError, which shows its argument's repr, shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception, with its traceback as text, on its way to another thread or process.

    Args:
        exc_info: type, exception and traceback; of the exception that is being handled where None.
        where: in which thread or process it was raised.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        info: Any = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any
        self.exc_type, self.where = info[0], where
        self.exc_msg = "".join(traceback.format_exception(*info))

    def reraise(self) -> NoReturn:
        """Raises an exception of the same type whose message says where, with the traceback; a RuntimeError where the type cannot be made
        of a message."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            text = KeyErrorMessage(text)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            error = self.exc_type(text)
        except Exception:
            raise RuntimeError(text) from None
        raise error
