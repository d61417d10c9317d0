"""Operations on the data of one masked tensor; its mask stays."""

from __future__ import annotations

import torchcompat as torch
from autograd_tape.annotations import Arguments, Fn, Keywords
from torchcompat._calls.absent import absences as _absences
from torchcompat._tensor import Tensor

from .core import MaskedTensor, _map_mt_args_kwargs, _wrap_result

__all__: list[str] = []

UNARY_NAMES = ("abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil clamp "
               "clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma log log10 log1p log2 "
               "logit i0 isnan nan_to_num neg negative positive pow rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh "
               "sqrt square tan tanh trunc").split()
INPLACE_UNARY_NAMES = [f"{name}_" for name in UNARY_NAMES if name not in ("angle", "isnan", "positive", "signbit")]
UNARY_NAMES_UNSUPPORTED = ("atan2 arctan2 bitwise_left_shift bitwise_right_shift copysign float_power fmod frexp gradient imag ldexp lerp "
                           "logical_not hypot igamma igammac mvlgamma nextafter polygamma real remainder true_divide xlogy").split()


def _with_values(function: Fn, data: Tensor, sized: bool) -> Tensor:
    """The data with `function` of its values; a CSR tensor, where not `sized`, of the size that its indices tell."""
    if data.layout == torch.sparse_coo:
        return torch.sparse_coo_tensor(data.indices(), function(data.values()), data.size())
    if data.layout == torch.sparse_csr:
        size = (data.size(),) if sized else ()
        return torch.sparse_csr_tensor(data.crow_indices(), data.col_indices(), function(data.values()), *size)
    found: Tensor = function(data)
    return found


def _unary_helper(fn: Fn, args: Arguments, kwargs: Keywords, inplace: bool) -> MaskedTensor:
    """A MaskedTensor of what an operation makes of the first argument's data, or that argument, changed.

    Raises:
        ValueError: there are keyword arguments.
        TypeError: another argument is a tensor.
    """
    if kwargs:
        raise ValueError("MaskedTensor unary ops require that len(kwargs) == 0. If you need support for this, please open an issue on "
                         "Github.")
    if any(isinstance(a, Tensor) for a in args[1:]):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    (data, *rest), _ = _map_mt_args_kwargs(args, kwargs, lambda x: x._masked_data)
    masked, mask = args[0], args[0]._masked_mask
    result = _with_values(lambda values: fn(values, *rest), data.coalesce() if data.layout == torch.sparse_coo else data, False)
    if not inplace:
        return _wrap_result(result, mask)
    masked._set_data_mask(result, mask)
    return masked


def _rule(name: str, inplace: bool) -> Fn:
    fn = getattr(torch.ops.aten, name)
    return lambda *args, **kwargs: _unary_helper(fn, args, kwargs, inplace)


NATIVE_UNARY_MAP = {getattr(torch.ops.aten, name): _rule(name, False) for name in UNARY_NAMES}
NATIVE_INPLACE_UNARY_MAP = {getattr(torch.ops.aten, name): _rule(name, True) for name in INPLACE_UNARY_NAMES}
NATIVE_UNARY_FNS, NATIVE_INPLACE_UNARY_FNS = list(NATIVE_UNARY_MAP), list(NATIVE_INPLACE_UNARY_MAP)


def _is_native_unary(fn: object) -> bool:
    """Whether an operation of ATen is one of these."""
    return fn in NATIVE_UNARY_MAP or fn in NATIVE_INPLACE_UNARY_MAP


def _apply_native_unary(fn: Fn, *args: object, **kwargs: object) -> object:
    """What one of these operations gives; NotImplemented of others."""
    rule = NATIVE_UNARY_MAP.get(fn) or NATIVE_INPLACE_UNARY_MAP.get(fn)
    return NotImplemented if rule is None else rule(*args, **kwargs)


_absences(__name__)
