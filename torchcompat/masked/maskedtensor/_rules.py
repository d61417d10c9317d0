"""What operations do to masked tensors: one rule for each family of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from collections.abc import Callable, Sequence

import torchcompat as torch
from autograd_tape.annotations import Dims, Fn
from autograd_tape.dtypes import DType
from torchcompat._tensor import Tensor

from .. import _ops as masked
from .core import MaskedTensor, as_masked_tensor, is_masked_tensor

if TYPE_CHECKING:
    from torchcompat.autograd.function import Context

Rule = Fn

# Operations carried out on data and mask alike.
_ALIKE = ("select transpose split t slice slice_backward select_backward index expand view _unsafe_view _reshape_alias cat unsqueeze "
          "unfold unfold_backward im2col col2im stack split_with_sizes unbind basic_index_backward").split()
# Operations on data; the mask stays.
_UNARY = ("abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil clamp clip "
          "conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma log log10 log1p log2 logit i0 "
          "isnan nan_to_num neg negative positive pow rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt square "
          "tan tanh trunc").split()
_UNARY_IN_PLACE = [f"{name}_" for name in _UNARY if name not in ("angle", "isnan", "positive", "signbit", "conj_physical")]
# Operations on two operands, whose masks must be the same.
_BINARY = ("add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide floor_divide fmod "
           "logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge greater greater_equal gt "
           "less_equal lt less maximum minimum fmax fmin not_equal").split()
_BINARY_IN_PLACE = [f"{name}_" for name in _BINARY if name not in ("logaddexp", "logaddexp2", "fmin", "minimum", "maximum", "fmax")]
_REDUCTIONS = "sum mean amin amax argmin argmax prod all norm var std".split()


def _mapped(x: object, part: Callable[[MaskedTensor], Tensor]) -> Any:
    if is_masked_tensor(x):
        return part(x)
    if isinstance(x, (list, tuple)):
        return type(x)([_mapped(y, part) for y in x])
    return {k: _mapped(y, part) for k, y in x.items()} if isinstance(x, dict) else x


def _data_of(x: object) -> Any:
    return _mapped(x, lambda m: m._masked_data)


def _mask_of(x: object) -> Any:
    return _mapped(x, lambda m: m._masked_mask)


def _made(data: object, mask: Any) -> object:
    """Masked tensors of both, one by one where there are several."""
    if isinstance(data, (list, tuple)):
        return type(data)([_made(d, m) for d, m in zip(data, mask)])
    return MaskedTensor(cast(Tensor, data), mask)


def _alike(function: Rule) -> Rule:
    return lambda *args, **kwargs: _made(function(*_data_of(args), **_data_of(kwargs)), function(*_mask_of(args), **_mask_of(kwargs)))


def _on_data(function: Rule) -> Rule:
    return lambda x, *args, **kwargs: MaskedTensor(function(_data_of(x), *args, **kwargs), _mask_of(x))


def _given_back(result: Tensor, into: MaskedTensor, mask: Tensor) -> MaskedTensor:
    into._set_data_mask(result, mask)
    return into


def _unary(function: Rule, in_place: bool) -> Rule:
    def rule(*args: object, **kwargs: object) -> MaskedTensor:
        if kwargs:
            raise ValueError("MaskedTensor unary ops require that len(kwargs) == 0. If you need support for this, please open an issue on "
                             "Github.")
        if any(isinstance(a, Tensor) for a in args[1:]):
            raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
        result, mask = function(*_data_of(args)), _mask_of(args[0])
        return _given_back(result, cast(MaskedTensor, args[0]), mask) if in_place else MaskedTensor(result, mask)

    return rule


def same_masks(*operands: object) -> bool:
    """Whether all masked tensors among the operands have one mask."""
    masks = [_mask_of(x) for x in operands if is_masked_tensor(x)]
    return all(m.dim() == masks[0].dim() and bool((m == masks[0]).all()) for m in masks[1:])


def _binary(function: Rule, in_place: bool) -> Rule:
    def rule(*args: object, **kwargs: object) -> MaskedTensor:
        if kwargs:
            raise ValueError("len(kwargs) must equal 0")
        if any(isinstance(a, Tensor) for a in args[2:]):
            raise TypeError("MaskedTensor binary ops do not support Tensor arguments aside from the lhs and rhs")
        if not same_masks(*args[:2]):
            raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
        result = function(*_data_of(args))
        mask = _mask_of(args[0] if is_masked_tensor(args[0]) else args[1])
        return _given_back(result, cast(MaskedTensor, args[0]), mask) if in_place else MaskedTensor(result, mask.expand_as(result))

    return rule


def _all(x: Tensor, dim: Dims = None, keepdim: bool = False, *, mask: Tensor, dtype: DType | None = None) -> Tensor:
    filled = _data_of(x).masked_fill(~mask, True)
    return filled.all() if dim is None else filled.all(dim=dim, keepdim=keepdim)


def _any_along(mask: Tensor, dim: int | Sequence[int], keepdim: bool) -> Tensor:
    for d in sorted((dim,) if isinstance(dim, int) else dim, reverse=True):
        mask = mask.any(dim=d, keepdim=keepdim)
    return mask


def _reduction(name: str) -> Rule:
    function: Rule = _all if name == "all" else getattr(masked, name)

    def along(x: object, dim: int | Sequence[int], keepdim: bool = False, dtype: DType | None = None) -> MaskedTensor:
        if not is_masked_tensor(x):
            raise TypeError("Input to reduce_dim must be a MaskedTensor")
        mask = x.get_mask()
        return as_masked_tensor(function(x, dim=dim, keepdim=keepdim, dtype=dtype, mask=mask), _any_along(mask, dim, keepdim))

    def rule(*args: Any, **kwargs: Any) -> MaskedTensor:
        if name in ("var", "std") and len(args) > 2:
            args = (*args[:2], *args[3:])  # the third of the schema's arguments is a correction, which there is not
        if len(args) > 1 or kwargs:
            return along(*args, **kwargs)
        mask = args[0].get_mask()
        return as_masked_tensor(function(args[0], mask=mask), mask.any())

    return rule


def _where(condition: Tensor, *operands: Tensor) -> MaskedTensor:
    if not isinstance(condition, Tensor):
        raise ValueError("__torch_dispatch__, aten.where: expected args[0] to be a tensor")
    data = _data_of(operands)
    mask = [_mask_of(x) if is_masked_tensor(x) else torch.ones_like(x, dtype=torch.bool) for x in operands]
    return MaskedTensor(torch.where(condition, *data), torch.where(condition, *mask))


class _Where(torch.autograd.Function):
    """`where`, with gradients masked out where they belong to the other operand."""

    @staticmethod
    def forward(ctx: Context, condition: Tensor, input: Tensor, other: Tensor) -> MaskedTensor:
        ctx.save_for_backward(condition)
        return _where(condition, input, other)

    @staticmethod
    def backward(ctx: Context, *grads: MaskedTensor) -> tuple[None, MaskedTensor, MaskedTensor]:
        (condition,), (grad,) = ctx.saved_tensors, grads
        out = MaskedTensor(grad.get_data(), torch.zeros_like(grad.get_mask()))
        return None, _where(condition, grad, out), _where(condition, out, grad)


def _where_of(*args: object, **kwargs: object) -> Tensor:
    for expected, given, what in ((3, args, "args"), (0, kwargs, "kwargs")):
        if len(given) != expected:
            raise ValueError(f"__torch_function__, torch.where: len({what}) must be {expected} but got {len(given)}")
    return cast(MaskedTensor, _Where.apply(*args))


class _Contiguous(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: MaskedTensor) -> MaskedTensor:
        return x if x._masked_data.is_contiguous() else MaskedTensor(x._masked_data.contiguous(), x._masked_mask.contiguous())

    @staticmethod
    def backward(ctx: object, *grads: Tensor) -> Tensor:
        return grads[0]


def _to_copy(x: Tensor, *args: object, **kwargs: object) -> Tensor:
    copy = torch.ops.aten._to_copy
    return MaskedTensor(copy(_data_of(x), *args, **kwargs), copy(_mask_of(x), *args, **{**kwargs, "dtype": torch.bool}))


def _item(x: Tensor) -> object:
    if not _mask_of(x):
        raise ValueError("__torch_dispatch__, aten._local_scalar_dense: expected a mask tensor")
    return _data_of(x).item()


def _copy_(into: Tensor, x: Tensor, non_blocking: bool = False) -> Tensor:
    if not same_masks(into, x):
        raise ValueError("args[0] mask and args[1] mask must match but do not")
    _data_of(into).copy_(_data_of(x))
    return into


def _softmax(x: Tensor, dim: int, half_to_float: bool = False) -> MaskedTensor:
    """0 where masked, nan where all of a slice is."""
    return MaskedTensor(masked.softmax(_data_of(x), dim, mask=_mask_of(x)), _mask_of(x))


def _softmax_backward(grad: Tensor, output: Tensor, dim: int, input_dtype: DType | None) -> MaskedTensor:
    name = "__torch_dispatch__, aten._softmax_backward_data"
    if not (is_masked_tensor(grad) and is_masked_tensor(output)):
        raise ValueError(f"{name}: grad and output must both be MaskedTensors")
    if not same_masks(grad, output):
        raise ValueError(f"{name}: expected the masks of grad and output to match")
    mask, weights = _mask_of(grad), _data_of(output)
    inner = (_data_of(grad) * weights).masked_fill(~mask, 0)
    return MaskedTensor((inner - weights * inner.sum(dim, keepdim=True)).masked_fill(~mask, 0), mask)


_REST: dict[str, Rule] = {"where": _where, "_to_copy": _to_copy, "_local_scalar_dense": _item, "copy_": _copy_, "_softmax": _softmax,
                          "_softmax_backward_data": _softmax_backward, "contiguous": _Contiguous.apply,
                          "is_same_size": lambda a, b: _data_of(a).is_same_size(_data_of(b))}
_KEPT = ("detach", "clone", "ones_like")
_found: dict[str, Rule | None] = {}


def rule(packet: Fn) -> Rule | None:
    """What carries out an operation of ATen on masked tensors; None where nothing does."""
    name = packet.__name__
    if name not in _found:
        _found[name] = _rule_for(name, packet)
    return _found[name]


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> MaskedTensor:
        output, ctx.dim = _softmax(x, dim), dim
        ctx.save_for_backward(output._masked_data, output._masked_mask)
        return output

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[MaskedTensor, None]:
        return _softmax_backward(grads[0], MaskedTensor(*ctx.saved_tensors), ctx.dim, None), None


def _softmax_of(input: Tensor, dim: int, dtype: DType | None = None, **kwargs: object) -> MaskedTensor:
    return cast(MaskedTensor, _Softmax.apply(input if dtype is None else input.to(dtype), dim))


def _no_norm(*args: object, **kwargs: object) -> Tensor:
    raise TypeError("_reduce_dim_args() got an unexpected keyword argument 'p'")


def _rule_for(name: str, function: Rule) -> Rule | None:
    if name in _REST:
        return _REST[name]
    if name in _REDUCTIONS:
        return _reduction(name)
    for names, made in ((_ALIKE, _alike), (_KEPT, _on_data)):
        if name in names:
            return made(function)
    for (usual, in_place), family in (((_UNARY, _UNARY_IN_PLACE), _unary), ((_BINARY, _BINARY_IN_PLACE), _binary)):
        if name in usual or name in in_place:
            return family(function, name in in_place)
    return None


# What is looked at above autograd: its gradient is that of other operations.
MaskedTensor.functions = {
    **{getattr(place, name): _reduction(name) for name in _REDUCTIONS for place in (torch, Tensor)},
    torch.norm: _no_norm, Tensor.norm: _no_norm,  # torch asks for an order that its rule does not take
    torch.softmax: _softmax_of, Tensor.softmax: _softmax_of, torch.nn.functional.softmax: _softmax_of,
    torch.where: _where_of, Tensor.where: _where_of, Tensor.contiguous: lambda x, *args, **kwargs: _Contiguous.apply(x),
}
MaskedTensor.rule = staticmethod(rule)
