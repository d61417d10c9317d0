"""torch.nested: tensors whose parts have sizes of their own.

>>> import torchcompat as torch
>>> sentences = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)])
>>> sentences.is_nested, sentences.size(0), sentences.size(2)
(True, 2, 3)
>>> torch.nested.to_padded_tensor(sentences * 2, 0.0)[1]
tensor([[2., 2., 2.],
        [0., 0., 0.]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_tape import warned
from autograd_tape.annotations import DeviceLike
from autograd_tape.dtypes import FLOATING, DType

from .. import _making
from .._calls.absent import absences as _absences
from .._memory.layout import jagged, strided
from .._tensor import Tensor
from . import _methods, _operations as _operations
from ._methods import to_padded_tensor as to_padded_tensor

__all__ = ["to_padded_tensor", "as_nested_tensor", "nested_tensor"]
_PROTOTYPE = ("The PyTorch API of nested tensors is in prototype stage and will change in the near future. We recommend specifying "
              "layout=torch.jagged when constructing a nested tensor, as this layout receives active development, has better operator "
              "coverage, "
              "and works with torch.compile.")


def nested_methods() -> Any:
    """What nested tensors do where others do something else."""
    return _methods


def _check_layout(layout: object) -> None:
    if layout is jagged:
        raise NotImplementedError("nested tensors of layout torch.jagged are not here: leave out `layout` for one of strided parts")
    if layout is not None and layout is not strided:
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout!r}")


def as_nested_tensor(ts: Tensor | Sequence[Tensor], dtype: DType | None = None, device: DeviceLike | None = None,
                     layout: Any = None) -> Tensor:
    """A nested tensor of tensors, with their history; of one tensor, of its rows.

    Args:
        ts: of as many dimensions.
        dtype: of the elements; that of the first where None.

    Raises:
        TypeError: `ts` is something else.
        RuntimeError: they have not as many dimensions.
    """
    if not isinstance(ts, Tensor) and not (isinstance(ts, (tuple, list)) and all([isinstance(t, Tensor) for t in ts])):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    _check_layout(layout)
    if isinstance(ts, Tensor):
        if ts.is_nested:
            raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        if ts.dim() < 2:
            raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
        ts = list(ts.unbind())
    return _methods._nested_tensor_from_tensor_list([t if device is None else t.to(device) for t in ts], dtype)


def nested_tensor(tensor_list: Sequence[Any], *, dtype: DType | None = None, layout: Any = None, device: DeviceLike | None = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A nested tensor of copies of tensors, or of nested lists of numbers, without history.

    Args:
        dtype: of the elements; that of the first where None.
        requires_grad: whether operations on it are recorded.

    Raises:
        TypeError: `tensor_list` is no list.
        RuntimeError: they have not as many dimensions.
    """
    _check_layout(layout)
    if not isinstance(tensor_list, list):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    warned.warn_once(_PROTOTYPE)
    tensors = [t.detach() if isinstance(t, Tensor) else _making.creation.tensor(t, dtype=dtype) for t in tensor_list]
    made = _methods._nested_tensor_from_tensor_list([t if device is None else t.to(device) for t in tensors], dtype)
    if requires_grad and made._k.dtype.category < FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.requires_grad_(requires_grad)


_absences(__name__)
