"""Reductions of masked tensors, by the functions of torch.masked."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torchcompat as torch
from autograd_tape import warned
from autograd_tape.annotations import Arguments, Dims, Fn
from autograd_tape.dtypes import DType
from torchcompat._calls.absent import absences as _absences
from torchcompat._tensor import Tensor

from .. import _ops as masked
from .core import _REPORT, MaskedTensor, is_masked_tensor
from .creation import as_masked_tensor, masked_tensor

__all__: list[str] = []

REDUCE_NAMES = "sum mean amin amax argmin argmax prod all norm var std".split()


def _all(data: Tensor, dim: Dims = None, keepdim: bool = False, *, mask: Tensor | None = None) -> Tensor:
    """Whether all elements are true that a mask lets in."""
    filled = data if mask is None else data.masked_fill(~mask, True)
    return filled.all() if dim is None else filled.all(dim=dim, keepdim=keepdim)


def _any_along(mask: Tensor, dim: int | Sequence[int], keepdim: bool) -> Tensor:
    for d in sorted((dim,) if isinstance(dim, int) else dim, reverse=True):
        mask = mask.any(dim=d, keepdim=keepdim)
    return mask


def _reduce_all(name: str, x: MaskedTensor) -> MaskedTensor:
    """The reduction of all elements. Where a sparse tensor's least or greatest lies is its place among all, as a float."""
    data, mask = x.get_data(), x.get_mask()
    if not x.is_sparse:
        result = _all(data, mask=mask) if name == "all" else getattr(masked, name)(x, mask=mask)
        return as_masked_tensor(result, mask.any())
    mask = mask.values()
    if name == "all":
        result = _all(data, mask=mask)
    elif name in ("argmin", "argmax") and x.is_sparse_coo():
        place = getattr(masked, name)(data.values(), mask=mask).to(dtype=torch.int)
        steps = data.numel() / torch.tensor(data.size(), device=data.device).cumprod(0)
        result = (data.indices().unbind(1)[place] * steps).sum()
    else:
        result = getattr(masked, name)(masked_tensor(data.values(), mask))
    return as_masked_tensor(result, mask.any())


def _reduce_along(name: str, x: object, dim: int | Sequence[int], keepdim: bool = False, dtype: DType | None = None) -> object:
    """The reduction along dimensions; NotImplemented of sparse tensors."""
    if getattr(x, "is_sparse", False):
        warned.warn(f"The sparse version of {name} is not implemented in reductions.\n{_REPORT}")
        return NotImplemented
    if not is_masked_tensor(x):
        raise TypeError("Input to reduce_dim must be a MaskedTensor")
    mask = x.get_mask()
    result = (_all(x.get_data(), dim, keepdim, mask=mask) if name == "all" else
              getattr(masked, name)(x, dim=dim, keepdim=keepdim, dtype=dtype, mask=mask))
    return as_masked_tensor(result, _any_along(mask, dim, keepdim))


def _reduce_dim_args(input: object, dim: int | Sequence[int], keepdim: bool = False, dtype: DType | None = None) -> Arguments:
    """What reductions take as arguments."""
    return input, dim, keepdim, dtype


def _reduce(name: str, *args: Any, **kwargs: Any) -> object:
    """One of the reductions, called as `torch.sum`."""
    if len(args) == 1 and not kwargs:
        return _reduce_all(name, args[0])
    if name in ("var", "std") and len(args) > 2:
        args = (*args[:2], *args[3:])  # the third of the schema's arguments is a correction, which there is not
    return _reduce_along(name, *_reduce_dim_args(*args, **kwargs))


def _no_norm(*args: object, **kwargs: object) -> Tensor:
    raise TypeError("_reduce_dim_args() got an unexpected keyword argument 'p'")  # which torch.norm always passes on


def _of(place: object) -> dict[Fn, Fn]:
    return {getattr(place, name): _no_norm if name == "norm" and place is not torch.ops.aten else functools.partial(_reduce, name)
            for name in REDUCE_NAMES}


NATIVE_REDUCE_MAP, TORCH_REDUCE_MAP, TENSOR_REDUCE_MAP = _of(torch.ops.aten), _of(torch), _of(Tensor)
NATIVE_REDUCE_FNS, TORCH_REDUCE_FNS, TENSOR_REDUCE_FNS = list(NATIVE_REDUCE_MAP), list(TORCH_REDUCE_MAP), list(TENSOR_REDUCE_MAP)
_RULES = NATIVE_REDUCE_MAP | TORCH_REDUCE_MAP | TENSOR_REDUCE_MAP


def _is_reduction(fn: object) -> bool:
    """Whether a function, or an operation of ATen, is one of these."""
    return fn in _RULES


def _apply_reduction(fn: Fn, *args: object, **kwargs: object) -> object:
    """What one of these gives; NotImplemented of others."""
    return _RULES[fn](*args, **kwargs) if fn in _RULES else NotImplemented


_absences(__name__)
