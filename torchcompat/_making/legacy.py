"""What programs older than the merge of Variable and Tensor do with tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograd_tape import warned
from autograd_tape.annotations import Fn
from autograd_tape.dtypes import DType, SCALAR_TYPE_NAMES, default_dtype
from autograd_tape.errors import type_name
from autograd_tape.node import watch_entries
from autograd_tape.tensor import NOTHING, info_of

from .._calls.above import above
from .._tensor import Tensor, _blank, default_np, frontend
from .creation import tensor, to_array
from .._memory.size import Size
from ..overrides import DisableTorchFunction
from ..storage import TypedStorage, UntypedStorage


def legacy_tensor(cls: Any, *args: Any, dtype: DType | None = None, **kwargs: Any) -> Tensor:
    """`torch.Tensor(2, 3)`, `torch.FloatTensor([1, 2])`, and what subclasses pass: an uninitialized tensor of a size, or one of given data.

    Args:
        cls: the class of the result.
        args: sizes, a `Size` (also as `size=`), a sequence of numbers, a tensor, or a storage.
        dtype: of the result; None for the default dtype.

    Raises:
        TypeError: it is none of these; or a tensor of another dtype.
    """
    kwargs.pop("device", None)
    want = default_np() if dtype is None else dtype.np
    if "size" in kwargs:
        args = (Size(kwargs.pop("size")),)
    if len(args) == 1 and isinstance(args[0], Tensor):
        source = args[0]
        if dtype is not None and source._k.dtype is not dtype:
            raise TypeError(f"expected TensorOptions(dtype={dtype}, device=cpu) (got TensorOptions(dtype={source._k.dtype}, "
                            f"device={source._k.device}))")
        with DisableTorchFunction():
            return source.as_subclass(cls)
    if len(args) == 1 and isinstance(args[0], (UntypedStorage, TypedStorage)):
        if isinstance(args[0], TypedStorage) and args[0].dtype.np != want:
            raise RuntimeError(f"Expected a Storage of type {SCALAR_TYPE_NAMES[(dtype or default_dtype()).name]} or an UntypedStorage, but "
                               f"got type {SCALAR_TYPE_NAMES[args[0].dtype.name]} for argument 1 'storage'")
        return _blank(cls, np.empty(0, want)).set_(args[0])
    if not args:
        return _blank(cls, np.empty(0, want))
    if all(isinstance(a, (int, np.integer)) and not isinstance(a, bool) for a in args):
        return _unset(cls, args, want)
    if len(args) == 1 and isinstance(args[0], Size):
        return _unset(cls, args[0], want)
    return _blank(cls, to_array(_given(args[0]), dtype).astype(want, copy=False))


def _given(data: Any) -> Any:
    """Data that old constructors take: a sequence, which is whatever has elements by number.

    Raises:
        TypeError: it is none, or text.
    """
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type_name(data)}'")
    if isinstance(data, dict) or not hasattr(type(data), "__getitem__") or isinstance(data, np.generic):
        raise TypeError(f"new(): data must be a sequence (got {type_name(data)})")
    return data if isinstance(data, (list, tuple, np.ndarray)) else list(data)


def _unset(cls: Any, size: Any, want: Any) -> Any:
    """A tensor whose memory nobody wrote."""
    made = _blank(cls, np.empty(size, want))
    if above.fill is not None:
        above.fill(made)
    return made


above.legacy_tensor = legacy_tensor


def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """An uninitialized tensor of a size, or one with given data, of this tensor's dtype and device: `x.new(2, 3)`, `x.new([1, 2])`."""
    if self.is_sparse:
        return above.sparse_methods().new(self, *args, **kwargs)
    device = kwargs.pop("device", None) or self.device
    if len(args) == 1 and isinstance(args[0], Tensor):
        if args[0].dtype != self.dtype:
            raise TypeError(f"expected TensorOptions(dtype={self.dtype}, device={device}) (got TensorOptions(dtype={args[0].dtype}, "
                            f"device={args[0].device}))")
        return args[0].detach()
    if len(args) == 1 and isinstance(args[0], (UntypedStorage, TypedStorage)):
        return frontend.empty(0, dtype=self.dtype, device=device).set_(args[0])
    if len(args) == 1 and not isinstance(args[0], Size) and (isinstance(args[0], bool) or not isinstance(args[0], (int, np.integer))):
        return tensor(_given(args[0]), dtype=self.dtype, device=device)
    size = kwargs.pop("size", args)
    return frontend.empty(*(size or (0,)), dtype=self.dtype, device=device)


def _refuse_deletion(message: str) -> Fn:
    def delete(self: Tensor) -> None:
        raise RuntimeError(message)

    return delete


def _volatile(self: Tensor) -> bool:
    """False; `torch.no_grad` took its place."""
    warned.warn("volatile was removed (Variable.volatile is always False)", UserWarning)
    return False


Tensor.new = new  # type: ignore[assignment,method-assign]  # attributes set at run time
Tensor.volatile = property(_volatile)  # type: ignore[attr-defined]  # attributes set at run time
Tensor.data = Tensor.data.deleter(_refuse_deletion("Deleting tensor data is not allowed. Delete tensor instead!"))  # type: ignore[attr-defined,method-assign]
Tensor.requires_grad = Tensor.requires_grad.deleter(_refuse_deletion("requires_grad must be a bool"))  # type: ignore[method-assign]
Tensor._grad_fn = property(lambda self: self.grad_fn, None,  # type: ignore[attr-defined]  # attributes set at run time
                           _refuse_deletion("Deletion of _grad_fn not allowed. Detach tensor instead!"))


def _set_backward_hooks(self: Tensor, hooks: Any) -> None:
    watch_entries()
    info_of(self).hooks = hooks


Tensor._backward_hooks = property(lambda self: getattr(self, "_info", NOTHING).hooks, _set_backward_hooks,  # type: ignore[attr-defined]
                                  _refuse_deletion("Deletion of _backwards_hooks not allowed!"))
