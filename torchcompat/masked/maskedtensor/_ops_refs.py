"""What functions and operations do to masked tensors: the tables, and the rules that belong to no family.

`_MASKEDTENSOR_FUNCTION_TABLE` is looked at above autograd, where a rule's gradient is that of what it calls; `_MASKEDTENSOR_DISPATCH_TABLE`
below, where operations, and what passes are made of, are carried out.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

import torchcompat as torch
from autograd_tape.annotations import Arguments, Fn, Keywords
from autograd_tape.dtypes import DType
from torchcompat._calls.absent import absences as _absences
from torchcompat._tensor import Tensor

from .binary import NATIVE_BINARY_FNS, NATIVE_INPLACE_BINARY_FNS, _apply_native_binary
from .core import MaskedTensor, _get_data, _masks_match, _maybe_get_mask, is_masked_tensor
from .passthrough import PASSTHROUGH_FNS, _apply_pass_through_fn
from .reductions import NATIVE_REDUCE_FNS, TENSOR_REDUCE_FNS, TORCH_REDUCE_FNS, _apply_reduction
from .unary import NATIVE_INPLACE_UNARY_FNS, NATIVE_UNARY_FNS, _apply_native_unary

if TYPE_CHECKING:
    from torchcompat._memory.layout import layout
    from torchcompat.autograd.function import Context

    class _Kept(Context):
        """A context with what these functions keep on it."""

        came_in: layout
        dim: int

__all__: list[str] = []

_MASKEDTENSOR_FUNCTION_TABLE, _MASKEDTENSOR_DISPATCH_TABLE = MaskedTensor.functions, MaskedTensor.operations
aten = torch.ops.aten


def _registering(table: dict[Fn, Fn], ops: Iterable[Fn]) -> Callable[[Fn], Fn]:
    def register(rule: Fn) -> Fn:
        table.update({op: functools.partial(rule, op) for op in ops})
        return rule

    return register


def register_function_func(ops: Iterable[Fn]) -> Callable[[Fn], Fn]:
    """A decorator: the function carries out these functions of torch, above autograd. It is given which of them, and the arguments."""
    return _registering(_MASKEDTENSOR_FUNCTION_TABLE, ops)


def register_dispatch_func(aten_ops: Iterable[Fn]) -> Callable[[Fn], Fn]:
    """A decorator: the function carries out these operations of ATen, below autograd. It is given which of them, and the arguments."""
    return _registering(_MASKEDTENSOR_DISPATCH_TABLE, aten_ops)


def _check_args_kwargs_length(args: Arguments, kwargs: Keywords, error_prefix: str, len_args: int | None = None,
                              len_kwargs: int | None = None) -> None:
    """Raises a ValueError where there are not as many arguments as that."""
    for given, expected, what in ((args, len_args, "args"), (kwargs, len_kwargs, "kwargs")):
        if expected is not None and len(given) != expected:
            raise ValueError(f"{error_prefix}: len({what}) must be {expected} but got {len(given)}")


# -- families -----------------------------------------------------------------------------------------------------------------------------

register_function_func([*NATIVE_REDUCE_FNS, *TORCH_REDUCE_FNS, *TENSOR_REDUCE_FNS])(_apply_reduction)
register_dispatch_func([*NATIVE_REDUCE_FNS, *TORCH_REDUCE_FNS, *TENSOR_REDUCE_FNS])(_apply_reduction)
register_dispatch_func(PASSTHROUGH_FNS)(_apply_pass_through_fn)
register_dispatch_func([*NATIVE_UNARY_FNS, *NATIVE_INPLACE_UNARY_FNS])(_apply_native_unary)
register_dispatch_func([*NATIVE_BINARY_FNS, *NATIVE_INPLACE_BINARY_FNS])(_apply_native_binary)


# -- where --------------------------------------------------------------------------------------------------------------------------------


@register_dispatch_func([aten.where])
def _where(func: Fn, *args: Tensor, **kwargs: object) -> MaskedTensor:
    """Elements of both, each with its mask; what has none is let in."""
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=3, len_kwargs=0)
    condition, *operands = args
    if not isinstance(condition, Tensor):
        raise ValueError(f"__torch_dispatch__, {func}: expected args[0] to be a tensor")
    masks = [x.get_mask() if is_masked_tensor(x) else torch.ones_like(x, dtype=torch.bool) for x in operands]
    return MaskedTensor(func(condition, *map(_get_data, operands)), func(condition, *masks))


class _MaskedWhere(torch.autograd.Function):
    """`where`, with gradients masked out where they belong to the other operand."""

    @staticmethod
    def forward(ctx: Context, condition: Tensor, input: Tensor, other: Tensor) -> MaskedTensor:
        ctx.mark_non_differentiable(condition)
        ctx.save_for_backward(condition)
        return _where(aten.where, condition, input, other)

    @staticmethod
    def backward(ctx: Context, *grads: MaskedTensor) -> tuple[None, MaskedTensor, MaskedTensor]:
        (condition,), (grad,) = ctx.saved_tensors, grads
        out = MaskedTensor(grad.get_data(), torch.zeros_like(grad.get_mask()))
        return None, _where(aten.where, condition, grad, out), _where(aten.where, condition, out, grad)


@register_function_func([torch.where, Tensor.where])
def _function_where(func: Fn, *args: object, **kwargs: object) -> Tensor:
    _check_args_kwargs_length(args, kwargs, "__torch_function__, torch.where", len_args=3, len_kwargs=0)
    return cast(MaskedTensor, _MaskedWhere.apply(*args))


# -- memory and layouts -------------------------------------------------------------------------------------------------------------------


class _MaskedContiguous(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: MaskedTensor) -> MaskedTensor:
        return x if x.is_contiguous() else MaskedTensor(x.get_data().contiguous(), x.get_mask().contiguous())

    @staticmethod
    def backward(ctx: object, *grads: Tensor) -> Tensor:
        return grads[0]


class _Converted(torch.autograd.Function):
    """A masked tensor in another layout; gradients come back in the first."""

    @staticmethod
    def forward(ctx: _Kept, x: MaskedTensor, to: layout) -> MaskedTensor:
        ctx.came_in = x.layout
        if x.layout == to:
            return x
        data, mask = x.get_data(), x.get_mask()
        if to == torch.strided:
            return MaskedTensor(data.to_dense(), mask.to_dense())
        mask = mask.to_sparse_coo().coalesce() if to == torch.sparse_coo else mask.to_sparse_csr()
        return MaskedTensor(data.sparse_mask(mask), mask)

    @staticmethod
    def backward(ctx: _Kept, *grads: Tensor) -> tuple[Tensor, None]:
        to = {torch.sparse_coo: "to_sparse_coo", torch.sparse_csr: "to_sparse_csr"}.get(ctx.came_in, "to_dense")
        return getattr(grads[0], to)(), None


@register_function_func([Tensor.contiguous])
def _function_contiguous(func: Fn, x: MaskedTensor, *args: object, **kwargs: object) -> Tensor:
    return cast(Tensor, _MaskedContiguous.apply(x))


@register_function_func([Tensor.to_dense])
def _function_to_dense(func: Fn, x: MaskedTensor, *args: object, **kwargs: object) -> Tensor:
    return cast(Tensor, _Converted.apply(x, torch.strided))


@register_function_func([Tensor.to_sparse])
def _function_to_sparse(func: Fn, x: MaskedTensor, *args: object, **kwargs: object) -> Tensor:
    return cast(Tensor, _Converted.apply(x, torch.sparse_coo))


@register_function_func([Tensor.to_sparse_csr])
def _function_to_sparse_csr(func: Fn, x: MaskedTensor, *args: object, **kwargs: object) -> Tensor:
    if x.ndim != 2:
        raise ValueError(f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {x.size()}")
    return cast(Tensor, _Converted.apply(x, torch.sparse_csr))


@register_dispatch_func([aten.is_contiguous])
def _is_contiguous(func: Fn, x: Tensor, *args: object, **kwargs: object) -> bool:
    data = _get_data(x)
    if data.is_sparse:
        raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
    return bool(func(data, *args, **kwargs))


@register_dispatch_func([aten.contiguous])
def _contiguous(func: Fn, x: Tensor, *args: object, **kwargs: object) -> Tensor:
    if _get_data(x).layout != torch.strided:
        raise ValueError("MaskedTensors with sparse data do not have contiguous")
    return cast(Tensor, _MaskedContiguous.apply(x))


# -- what concerns the data, while the mask stays -----------------------------------------------------------------------------------------


@register_dispatch_func([aten.detach, aten.clone])
def _on_data(func: Fn, x: Tensor, *args: object, **kwargs: object) -> MaskedTensor:
    return MaskedTensor(func(_get_data(x)), cast(Tensor, _maybe_get_mask(x)))


@register_dispatch_func([aten.ones_like])
def _ones_like(func: Fn, *args: Tensor, **kwargs: object) -> MaskedTensor:
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=1)
    return MaskedTensor(func(_get_data(args[0]), **kwargs), cast(Tensor, _maybe_get_mask(args[0])))


@register_dispatch_func([aten.new_empty_strided])
def _new_empty_strided(func: Fn, *args: Any, **kwargs: object) -> MaskedTensor:
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=3)
    data = _get_data(args[0])
    for i, (given, name) in enumerate(zip(args[1:], ("size", "stride")), 1):
        if tuple(given) != tuple(getattr(data, name)()):
            raise ValueError(f"__torch_dispatch__, {func}: args[{i}] expected to be the same as data.{name}()")
    return MaskedTensor(func(data, *args[1:], **kwargs), cast(Tensor, _maybe_get_mask(args[0])))


@register_dispatch_func([aten._to_copy])
def _to_copy(func: Fn, x: Tensor, *args: object, **kwargs: object) -> MaskedTensor:
    return MaskedTensor(func(_get_data(x), *args, **kwargs), func(_maybe_get_mask(x), *args, **{**kwargs, "dtype": torch.bool}))


@register_dispatch_func([aten._local_scalar_dense])
def _local_scalar_dense(func: Fn, x: Tensor) -> object:
    if not _maybe_get_mask(x):
        raise ValueError(f"__torch_dispatch__, {func}: expected a mask tensor")
    return func(_get_data(x))


@register_dispatch_func([aten.copy_])
def _copy_(func: Fn, *args: Tensor, **kwargs: object) -> Tensor:
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=2)
    if not _masks_match(*args):
        raise ValueError("args[0] mask and args[1] mask must match but do not")
    func(_get_data(args[0]), _get_data(args[1]))
    return args[0]


@register_dispatch_func([aten.is_same_size])
def _is_same_size(func: Fn, *args: Tensor, **kwargs: object) -> bool:
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=2)
    return bool(_get_data(args[0]).is_same_size(_get_data(args[1])))


# -- softmax ------------------------------------------------------------------------------------------------------------------------------


@register_dispatch_func([aten._softmax])
def _softmax(func: Fn, *args: Any, **kwargs: object) -> MaskedTensor:
    """0 where masked, nan where all of a slice is."""
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=3, len_kwargs=0)
    data, mask = _get_data(args[0]), cast(Tensor, _maybe_get_mask(args[0]))
    return MaskedTensor(torch.softmax(data.masked_fill(~mask, -math.inf), args[1]), mask)


@register_dispatch_func([aten._softmax_backward_data])
def _softmax_backward_data(func: Fn, *args: Any, **kwargs: object) -> MaskedTensor:
    _check_args_kwargs_length(args, kwargs, f"__torch_dispatch__, {func}", len_args=4)
    grad, output, dim, _ = args
    if not (is_masked_tensor(grad) and is_masked_tensor(output)):
        raise ValueError(f"__torch_dispatch__, {func}: grad and output must both be MaskedTensors")
    if not _masks_match(grad, output):
        raise ValueError(f"__torch_dispatch__, {func}: expected the masks of grad and output to match")
    mask, weights = grad.get_mask(), _get_data(output)
    inner = (_get_data(grad) * weights).masked_fill(~mask, 0)
    return MaskedTensor((inner - weights * inner.sum(dim, keepdim=True)).masked_fill(~mask, 0), mask)


class _MaskedSoftmax(torch.autograd.Function):
    """`softmax` above autograd, whose record's formula has no operation for its gradient."""

    @staticmethod
    def forward(ctx: _Kept, x: Tensor, dim: int) -> MaskedTensor:
        output, ctx.dim = _softmax(aten._softmax, x, dim, False), dim
        ctx.save_for_backward(output._masked_data, output._masked_mask)
        return cast(MaskedTensor, output)

    @staticmethod
    def backward(ctx: _Kept, *grads: Tensor) -> tuple[MaskedTensor, None]:
        data, mask = ctx.saved_tensors
        return _softmax_backward_data(aten._softmax_backward_data, grads[0], MaskedTensor(data, mask), ctx.dim, None), None


@register_function_func([torch.softmax, Tensor.softmax, torch.nn.functional.softmax])
def _function_softmax(func: Fn, input: Tensor, dim: int, dtype: DType | None = None, **kwargs: object) -> MaskedTensor:
    return cast(MaskedTensor, _MaskedSoftmax.apply(input if dtype is None else input.to(dtype), dim))


_absences(__name__)
