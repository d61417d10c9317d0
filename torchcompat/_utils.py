"""torch._utils: the helpers of torch that libraries import."""

from __future__ import annotations

import os
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from autograd_tape.dtypes import DType

from ._files.rebuild import _rebuild_parameter as _rebuild_parameter
from ._files.rebuild import _rebuild_tensor as _rebuild_tensor
from ._files.rebuild import _rebuild_tensor_v2 as _rebuild_tensor_v2

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
    import torchcompat as torch

    found: Tensor = torch.cat([t.reshape(-1) for t in tensors])
    return found


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of `flat` in the shapes of `tensors`, one behind the other."""
    sizes = [t.numel() for t in tensors]
    return tuple([part.view(t.shape) for part, t in zip(flat.split(sizes), tensors)])


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
