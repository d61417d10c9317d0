"""MaskedTensor: a tensor beside a boolean mask of its shape and layout.

Operations are recorded as those on any tensor; what carries them out, forward and backward, is `__torch_dispatch__` with the table of
`_ops_refs`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard, cast

import torchcompat as torch
from autograd_tape import warned
from autograd_tape.annotations import Arguments, Fn, Keywords, Number
from torchcompat._calls.absent import absences as _absences
from torchcompat._tensor import Tensor

if TYPE_CHECKING:
    from torchcompat._tensor import _TensorMeta
    from torchcompat.autograd.function import Context
    from torchcompat._calls.aten import OpOverload

__all__ = ["MaskedTensor", "is_masked_tensor"]

_DTYPES = frozenset([torch.float16, torch.float32, torch.float64, torch.bool, torch.int8, torch.int16, torch.int32, torch.int64])
_LAYOUTS = (torch.strided, torch.sparse_coo, torch.sparse_csr)
_REPORT = ("If you would like this operator to be supported, please file an issue for a feature request at "
           "https://github.com/pytorch/maskedtensor/issues with a minimal reproducible code snippet.\n"
           "In the case that the semantics for the operator are not trivial, it would be appreciated to also include a proposal for the "
           "semantics.")


def is_masked_tensor(obj: object, /) -> TypeGuard[MaskedTensor]:
    """Whether `obj` is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


def _parts(x: Tensor) -> tuple[Tensor, ...]:
    """The tensors that a tensor is made of, values last; itself where it is strided."""
    if x.layout == torch.sparse_coo:
        return x.indices(), x.values()
    return (x.crow_indices(), x.col_indices(), x.values()) if x.layout == torch.sparse_csr else (x,)


def _tensors_match(a: Tensor, b: Tensor, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08) -> bool:
    """Whether two tensors have the same elements, or, not `exact`, nearly; sparse ones at the same places.

    Raises:
        ValueError: one is a MaskedTensor, or their layouts differ.
    """
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("Neither `a` nor `b` can be a MaskedTensor.")
    if a.layout != b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    if a.dtype != b.dtype:
        b = b.type(a.dtype)
    if a.layout in _LAYOUTS[1:]:  # whose tolerance is the usual one
        return all(_tensors_match(x, y, exact) for x, y in zip(_parts(a), _parts(b)))
    return a.dim() == b.dim() and bool((a == b).all() if exact else torch.allclose(a, b, rtol=rtol, atol=atol))


def _masks_match(a: object, b: object) -> bool:
    """Whether two MaskedTensors have one mask; what is none fits any."""
    return not (is_masked_tensor(a) and is_masked_tensor(b)) or _tensors_match(a.get_mask(), b.get_mask())


def _mapped(x: object, part: Callable[[MaskedTensor], Tensor]) -> Any:
    """`part` of a MaskedTensor, and of those in lists, tuples and dicts."""
    if is_masked_tensor(x):
        return part(x)
    if isinstance(x, (list, tuple)):
        return type(x)([_mapped(y, part) for y in x])
    return {k: _mapped(y, part) for k, y in x.items()} if isinstance(x, dict) else x


def _map_mt_args_kwargs(args: Sequence[object], kwargs: Keywords | None, map_fn: Callable[[MaskedTensor], Tensor]
                        ) -> tuple[list[Any], Keywords]:
    """(arguments, keyword arguments) with `map_fn` of each MaskedTensor in its place."""
    return _mapped(list(args), map_fn), _mapped(kwargs or {}, map_fn)


def _get_data(a: object) -> Any:
    """The data of a MaskedTensor, and anything else as it is."""
    return a._masked_data if is_masked_tensor(a) else a


def _maybe_get_mask(a: object) -> Tensor | None:
    """The mask of a MaskedTensor; None of anything else."""
    return a.get_mask() if is_masked_tensor(a) else None


def _wrap_result(result_data: object, result_mask: Any) -> Any:
    """MaskedTensors of data and masks, one by one where there are several; NotImplemented where the data is no tensor."""
    if isinstance(result_data, (list, tuple)):
        return type(result_data)([_wrap_result(d, m) for d, m in zip(result_data, result_mask)])
    return MaskedTensor(result_data, result_mask) if isinstance(result_data, Tensor) else NotImplemented


def _element(x: Number) -> str:
    return f"{x:8.4f}" if isinstance(x, float) else str(x)


def _shown(data: Tensor, mask: Tensor) -> str:
    """The elements in brackets, with -- for those that the mask leaves out."""
    if data.dim() > 1:
        rows = [_shown(d, m).replace("\n", "\n  ") for d, m in zip(data, mask)]
        return "[\n" + ",\n".join("  " + row for row in rows) + "\n]"
    texts = [_element(x) for x in data.tolist()]
    width = max(len(text) if m else 8 for text, m in zip(texts, mask.tolist()))
    return "[" + ", ".join(text if m else "--".rjust(width) for text, m in zip(texts, mask.tolist())) + "]"


class MaskedTensor(Tensor):
    """A tensor of which only the elements count that the mask lets in.

    Args:
        data: the elements, strided or in coordinates (COO) or rows (CSR); copied. A sparse one that has not as many elements as the mask
            gets those of the mask.
        mask: booleans of the same shape and layout; copied.
        requires_grad: whether gradients of it are recorded.

    Raises:
        TypeError: data or mask is no plain tensor, the mask not bool, or the dtype or layout of data not supported.
        ValueError: they differ in shape, or in the places of elements.
    """

    functions: ClassVar[dict[Fn, Fn]] = {}
    """What is carried out above autograd, by function; `_ops_refs` fills it."""
    operations: ClassVar[dict[Fn, Fn]] = {}
    """What carries out an operation of ATen below it; from there, too."""
    _masked_data: Tensor
    _masked_mask: Tensor

    @staticmethod
    def __new__(cls, data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
        for name, x in (("data", data), ("mask", mask)):
            if is_masked_tensor(x) or not isinstance(x, Tensor):
                raise TypeError(f"{name} must be a Tensor")
        warned.warn("The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github "
                    "issue for features requests and see our documentation on the torch.masked module for further information about "
                    "the project.")
        if data.requires_grad:
            warned.warn("It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use "
                        "data.detach().clone()")
        made = Tensor._make_wrapper_subclass(cls, data.size(), device=data.device, dtype=data.dtype, layout=data.layout,
                                             requires_grad=requires_grad, dispatch_sizes_strides_policy="strides", dispatch_layout=True)
        return cast(MaskedTensor, made)

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False) -> None:
        if data.layout != mask.layout:
            raise TypeError("data and mask must have the same layout.")
        if data.layout == torch.sparse_coo:
            data, mask = data.coalesce(), mask.coalesce()
        if data.layout in _LAYOUTS[1:] and data._nnz() != mask._nnz():
            from .._sparse import where

            data = where(mask, data, torch.tensor(0))
        self._set_data_mask(data.clone(), mask.clone())

    def _set_data_mask(self, data: Tensor, mask: Tensor) -> None:
        self._masked_data, self._masked_mask = data, mask
        if type(data) is not type(mask):
            raise TypeError(f"data and mask must have the same type. Got {type(data)} and {type(mask)}")
        if data.layout not in _LAYOUTS:
            raise TypeError(f"data layout of {data.layout} is not supported.")
        if any(not _tensors_match(x, y) for x, y in zip(_parts(data)[:-1], _parts(mask)[:-1])):
            raise ValueError("data and mask are both sparse COO tensors but do not have the same indices."
                             if data.layout == torch.sparse_coo else
                             "data and mask are both sparse CSR tensors but do not share either crow or col indices.")
        if mask.dtype != torch.bool:
            raise TypeError("mask must have dtype bool.")
        if data.dtype not in _DTYPES:
            raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
        if data.dim() != mask.dim():
            raise ValueError("data.dim() must equal mask.dim()")
        if data.size() != mask.size():
            raise ValueError("data.size() must equal mask.size()")

    @staticmethod
    def _from_values(data: Tensor, mask: Tensor) -> MaskedTensor:
        return cast(MaskedTensor, _Made.apply(data, mask))

    def __repr__(self, *, tensor_contents: object = None) -> str:  # type: ignore[override]
        data, mask = self._masked_data.detach(), self._masked_mask
        if self.dim() == 0:
            return f"MaskedTensor({_element(data.item()) if mask.item() else '--'}, {mask.item()})"
        if data.layout != torch.strided:
            data, mask = data.to_dense(), mask.to_dense()
        return "MaskedTensor(\n  " + _shown(data, mask).replace("\n", "\n  ") + "\n)"

    @classmethod
    def __torch_function__(cls, func: Fn, types: Sequence[_TensorMeta], args: Arguments = (), kwargs: Keywords | None = None) -> object:
        kwargs = kwargs or {}
        if func in cls.functions:
            return cls.functions[func](*args, **kwargs)
        return super().__torch_function__(func, types, args, kwargs)

    @classmethod
    def unary(cls, fn: Fn, data: Tensor, mask: Tensor) -> MaskedTensor:
        """A MaskedTensor of `fn(data)` under the same mask."""
        return MaskedTensor(fn(data), mask)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # this one is given overloads alone
            cls, func: OpOverload, types: Sequence[type], args: Arguments = (), kwargs: Keywords | None = None) -> object:
        found = cls.operations.get(func.overloadpacket)
        if found is None:
            warned.warn(f"{func.overloadpacket.__name__} is not implemented in __torch_dispatch__ for MaskedTensor.\n{_REPORT}")
            return NotImplemented
        return found(*args, **(kwargs or {}))

    def __lt__(self, other: object) -> MaskedTensor:
        return MaskedTensor(self.get_data() < _get_data(other), self.get_mask())

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
        """Whether data and mask are in coordinates."""
        return self.layout == torch.sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether data and mask are in rows."""
        return self.layout == torch.sparse_csr

    @property
    def is_sparse(self) -> bool:
        """Whether data and mask are in coordinates or in rows."""
        return self.is_sparse_coo() or self.is_sparse_csr()


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


_absences(__name__)
