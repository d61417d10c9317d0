"""What programs older than the merge of Variable and Tensor do with tensors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ._tensor import Tensor, frontend


def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """An uninitialized tensor of a size, or one with given data, of this tensor's dtype and device: `x.new(2, 3)`, `x.new([1, 2])`."""
    device = kwargs.pop("device", None) or self.device
    if len(args) == 1 and isinstance(args[0], Tensor):
        if args[0].dtype != self.dtype:
            raise TypeError(f"expected TensorOptions(dtype={self.dtype}, device={device}) (got TensorOptions(dtype={args[0].dtype}, "
                            f"device={args[0].device}))")
        return args[0].detach()
    if len(args) == 1 and isinstance(args[0], (list, tuple, np.ndarray)) and type(args[0]).__name__ != "Size":
        from .creation import tensor

        return tensor(args[0], dtype=self.dtype, device=device)
    size = kwargs.pop("size", args)
    return frontend.empty(*(size or (0,)), dtype=self.dtype, device=device)


def _refuse_deletion(message: str) -> Any:
    def delete(self: Tensor) -> None:
        raise RuntimeError(message)

    return delete


def _volatile(self: Tensor) -> bool:
    """False; `torch.no_grad` took its place."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


Tensor.new = new  # type: ignore[attr-defined]  # attributes set at run time
Tensor.volatile = property(_volatile)  # type: ignore[attr-defined]  # attributes set at run time
Tensor.data = Tensor.data.deleter(_refuse_deletion("Deleting tensor data is not allowed. Delete tensor instead!"))  # type: ignore[attr-defined,method-assign]
Tensor.requires_grad = Tensor.requires_grad.deleter(_refuse_deletion("requires_grad must be a bool"))  # type: ignore[method-assign]
Tensor._grad_fn = property(lambda self: self.grad_fn, None,  # type: ignore[attr-defined]  # attributes set at run time
                           _refuse_deletion("Deletion of _grad_fn not allowed. Detach tensor instead!"))


def _set_backward_hooks(self: Tensor, hooks: Any) -> None:
    from autograd_tape.node import watch_entries

    from .autograd.hooks import info_of

    watch_entries()
    info_of(self)["hooks"] = hooks


Tensor._backward_hooks = property(lambda self: (getattr(self, "_info", None) or {}).get("hooks"), _set_backward_hooks,  # type: ignore[attr-defined]
                                  _refuse_deletion("Deletion of _backwards_hooks not allowed!"))
