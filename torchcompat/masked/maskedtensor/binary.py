"""Operations on two operands, of which one at least is a masked tensor: masks must be the same."""

from __future__ import annotations

import torchcompat as torch
from autograd_tape.annotations import Arguments, Fn, Keywords
from torchcompat._calls.absent import absences as _absences
from torchcompat._tensor import Tensor

from .core import MaskedTensor, _map_mt_args_kwargs, _masks_match, _parts, _tensors_match, _wrap_result, is_masked_tensor
from .unary import _with_values

__all__: list[str] = []

BINARY_NAMES = ("add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide floor_divide fmod "
                "logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge greater greater_equal gt "
                "less_equal lt less maximum minimum fmax fmin not_equal").split()
INPLACE_BINARY_NAMES = [f"{name}_" for name in BINARY_NAMES
                        if name not in ("logaddexp", "logaddexp2", "fmin", "minimum", "maximum", "fmax")]


def _get_at_least_one_mask(a: object, b: object) -> Tensor:
    """The mask of two operands.

    Raises:
        TypeError: neither has one.
        ValueError: they have different ones.
    """
    if not (is_masked_tensor(a) or is_masked_tensor(b)):
        raise TypeError("At least one of `a` and `b` must be a MaskedTensor")
    if not _masks_match(a, b):
        raise ValueError("a and b must have matching masks")
    return (a if is_masked_tensor(a) else b).get_mask()  # type: ignore[attr-defined]


def _binary_helper(fn: Fn, args: Arguments, kwargs: Keywords, inplace: bool) -> MaskedTensor:
    """A MaskedTensor of what an operation makes of the operands' data, or the first operand, changed.

    Raises:
        ValueError: there are keyword arguments; masks, or the places of sparse data, differ.
        TypeError: an argument beside the operands is a tensor.
    """
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    if any(isinstance(a, Tensor) for a in args[2:]):
        raise TypeError("MaskedTensor binary ops do not support Tensor arguments aside from the lhs and rhs")
    if not _masks_match(*args[:2]):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    (data, other, *rest), _ = _map_mt_args_kwargs(args, kwargs, lambda x: x.get_data())
    layout = getattr(data, "layout", torch.strided)
    if layout != torch.strided and isinstance(other, Tensor) and other.layout == layout:
        if not all(_tensors_match(x, y) for x, y in zip(_parts(data)[:-1], _parts(other)[:-1])):
            raise ValueError(f"{layout.name} indices must match. If you need support for this, please open an issue on Github.")
        if layout == torch.sparse_coo and data.size() != other.size():
            raise ValueError("input1 and input2 must have the same size for binary functions.")
        other = other.values()
    result = fn(data, other, *rest) if layout == torch.strided else _with_values(lambda values: fn(values, other, *rest), data, True)
    if inplace:
        args[0]._set_data_mask(result, args[0].get_mask())
        return args[0]
    mask = _get_at_least_one_mask(*args[:2])
    return _wrap_result(result, mask.expand_as(result) if layout == torch.strided else mask)


def _rule(name: str, inplace: bool) -> Fn:
    fn = getattr(torch.ops.aten, name)
    return lambda *args, **kwargs: _binary_helper(fn, args, kwargs, inplace)


NATIVE_BINARY_MAP = {getattr(torch.ops.aten, name): _rule(name, False) for name in BINARY_NAMES}
NATIVE_INPLACE_BINARY_MAP = {getattr(torch.ops.aten, name): _rule(name, True) for name in INPLACE_BINARY_NAMES}
NATIVE_BINARY_FNS, NATIVE_INPLACE_BINARY_FNS = list(NATIVE_BINARY_MAP), list(NATIVE_INPLACE_BINARY_MAP)


def _is_native_binary(fn: object) -> bool:
    """Whether an operation of ATen is one of these."""
    return fn in NATIVE_BINARY_MAP or fn in NATIVE_INPLACE_BINARY_MAP


def _apply_native_binary(fn: Fn, *args: object, **kwargs: object) -> object:
    """What one of these operations gives; NotImplemented of others."""
    rule = NATIVE_BINARY_MAP.get(fn) or NATIVE_INPLACE_BINARY_MAP.get(fn)
    return NotImplemented if rule is None else rule(*args, **kwargs)


_absences(__name__)
