"""MaskedTensor: a tensor beside a boolean mask of its shape.

Operations are recorded as those on any tensor; what carries them out, forward and backward,
is `__torch_dispatch__` with the rules of `_rules`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeGuard, cast

import torchcompat as torch
from autograd_tape.annotations import Arguments, Fn, Keywords, Number
from torchcompat._tensor import Tensor

if TYPE_CHECKING:
    from torchcompat._tensor import _TensorMeta
    from torchcompat.autograd.function import Context
    from torchcompat._calls.aten import OpOverload

__all__ = ["MaskedTensor", "is_masked_tensor"]

_DTYPES = frozenset([torch.float16, torch.float32, torch.float64, torch.bool, torch.int8, torch.int16, torch.int32, torch.int64])
_REPORT = ("If you would like this operator to be supported, please file an issue for a feature request at "
           "https://github.com/pytorch/maskedtensor/issues with a minimal reproducible code snippet.\n"
           "In the case that the semantics for the operator are not trivial, it would be appreciated to also include a proposal for the "
           "semantics.")


def is_masked_tensor(obj: object, /) -> TypeGuard[MaskedTensor]:
    """Whether `obj` is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


def _shown(data: Tensor, mask: Tensor) -> str:
    """The elements in brackets, with -- for those that the mask leaves out."""
    if data.dim() > 1:
        rows = [_shown(d, m).replace("\n", "\n  ") for d, m in zip(data, mask)]
        return "[\n" + ",\n".join("  " + row for row in rows) + "\n]"
    texts = [_element(x) for x in data.tolist()]
    width = max(len(text) if m else 8 for text, m in zip(texts, mask.tolist()))
    return "[" + ", ".join(text if m else "--".rjust(width) for text, m in zip(texts, mask.tolist())) + "]"


def _element(x: Number) -> str:
    return f"{x:8.4f}" if isinstance(x, float) else str(x)


class MaskedTensor(Tensor):
    """A tensor of which only the elements count that the mask lets in.

    Args:
        data: the elements; copied.
        mask: booleans of the same shape; copied.
        requires_grad: whether gradients of it are recorded.

    Raises:
        TypeError: data or mask is no plain tensor, the mask not bool, or the dtype or layout of data not supported.
        ValueError: they differ in shape.
    """

    functions: ClassVar[dict[Fn, Fn]] = {}
    """What is carried out above autograd, by function; `_rules` puts it here."""
    rule: ClassVar[Callable[[Fn], Fn | None]]
    """What carries out an operation of ATen below it; from there, too."""
    _masked_data: Tensor
    _masked_mask: Tensor

    @staticmethod
    def __new__(cls, data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
        for name, x in (("data", data), ("mask", mask)):
            if is_masked_tensor(x) or not isinstance(x, Tensor):
                raise TypeError(f"{name} must be a Tensor")
        warnings.warn("The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github "
                      "issue for features requests and see our documentation on the torch.masked module for further information about "
                      "the project.", stacklevel=2)
        if data.requires_grad:
            warnings.warn("It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use "
                          "data.detach().clone()", stacklevel=2)
        made = Tensor._make_wrapper_subclass(cls, data.size(), device=data.device, dtype=data.dtype, layout=data.layout,
                                             requires_grad=requires_grad)
        return cast(MaskedTensor, made)

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False) -> None:
        if data.layout != mask.layout:
            raise TypeError("data and mask must have the same layout.")
        self._set_data_mask(data.clone(), mask.clone())

    def _set_data_mask(self, data: Tensor, mask: Tensor) -> None:
        if type(data) is not type(mask):
            raise TypeError(f"data and mask must have the same type. Got {type(data)} and {type(mask)}")
        if data.layout != torch.strided:
            raise TypeError(f"data layout of {data.layout} is not supported.")
        if mask.dtype != torch.bool:
            raise TypeError("mask must have dtype bool.")
        if data.dtype not in _DTYPES:
            raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
        if data.dim() != mask.dim():
            raise ValueError("data.dim() must equal mask.dim()")
        if data.size() != mask.size():
            raise ValueError("data.size() must equal mask.size()")
        self._masked_data, self._masked_mask = data, mask

    @staticmethod
    def _from_values(data: Tensor, mask: Tensor) -> MaskedTensor:
        return cast(MaskedTensor, _Made.apply(data, mask))

    def __repr__(self, *, tensor_contents: object = None) -> str:  # type: ignore[override]
        data, mask = self._masked_data.detach(), self._masked_mask
        if self.dim() == 0:
            return f"MaskedTensor({_element(data.item()) if mask.item() else '--'}, {mask.item()})"
        return "MaskedTensor(\n  " + _shown(data, mask).replace("\n", "\n  ") + "\n)"

    @classmethod
    def __torch_function__(cls, func: Fn, types: Sequence[_TensorMeta], args: Arguments = (), kwargs: Keywords | None = None) -> object:
        kwargs = kwargs or {}
        if func in cls.functions:
            return cls.functions[func](*args, **kwargs)
        return super().__torch_function__(func, types, args, kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: OpOverload, types: Sequence[type], args: Arguments = (), kwargs: Keywords | None = None) -> object:
        found = cls.rule(func.overloadpacket)
        if found is None:
            warnings.warn(f"{func.overloadpacket.__name__} is not implemented in __torch_dispatch__ for MaskedTensor.\n{_REPORT}",
                          stacklevel=2)
            return NotImplemented
        return found(*args, **(kwargs or {}))

    def __lt__(self, other: object) -> MaskedTensor:
        return MaskedTensor(self.get_data() < (other.get_data() if is_masked_tensor(other) else other), self.get_mask())

    def to_tensor(self, value: Number | Tensor) -> Tensor:
        """The data with `value` where it is masked."""
        return self.get_data().masked_fill(~self.get_mask(), value)

    def get_data(self) -> Tensor:
        """The data, masked elements and all; its gradient is a MaskedTensor."""
        return cast(Tensor, _Data.apply(self))

    def get_mask(self) -> Tensor:
        """Which elements count."""
        return self._masked_mask

    def is_sparse_coo(self) -> bool:
        """Whether the data are sparse, in coordinates: never here."""
        return self.layout == torch.sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether the data are sparse, in rows: never here."""
        return self.layout == torch.sparse_csr


class _Data(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, masked: MaskedTensor) -> Tensor:
        ctx.save_for_backward(masked._masked_mask)
        return masked._masked_data.detach()

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> MaskedTensor:
        (mask,), (grad,) = ctx.saved_tensors, grads
        return grad if is_masked_tensor(grad) else MaskedTensor(grad, mask)


class _Made(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, data: Tensor, mask: Tensor) -> MaskedTensor:
        return MaskedTensor(data, mask)

    @staticmethod
    def backward(ctx: object, *grads: Tensor) -> tuple[Tensor, None]:
        return grads[0], None


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A MaskedTensor of copies of data and mask through which gradients reach data, as `torch.as_tensor` makes."""
    return MaskedTensor._from_values(data, mask)
