"""Functions of torch.masked: what torch composes of `where` and its own operations.

Each puts the identity of its reduction in the places that the mask leaves out, and reduces all. Names, arguments and errors are torch's;
the gradients are those of the operations.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar, cast
from collections.abc import Callable

import torchcompat as torch
from autograd_tape.annotations import Fn, Number
from autograd_tape.dtypes import DType
from torchcompat._calls.absent import absences as _absences

from . import _sparse
from .maskedtensor.core import MaskedTensor, is_masked_tensor
from .maskedtensor.creation import as_masked_tensor
from torchcompat._tensor import Tensor

if TYPE_CHECKING:
    from torchcompat.autograd.function import Context
    class _Named(Context):
        """A context that keeps a name."""

        reduction: str
    Dims = int | tuple[int, ...] | list[int] | None

__all__ = ["sum", "prod", "cumsum", "cumprod", "amax", "amin", "argmax", "argmin", "mean", "median", "logsumexp", "norm", "var", "std",
           "softmax", "log_softmax", "softmin", "normalize"]
_Function = TypeVar("_Function", bound=Fn)

_LAYOUTS = (torch.strided, torch.sparse_coo, torch.sparse_csr)
_ARGUMENTS = {
    "dim": "the dimensions that are reduced, all of them where it is None or (); or the one along which the function works.",
    "keepdim": "whether reduced dimensions stay, with size 1.",
    "dtype": "the dtype of the result; by default the input's (int64 for sums and products of smaller integers).",
    "mask": "which elements of the input count: a boolean tensor that broadcasts to the input's shape. None lets all of them in.",
    "ord": "the order of the norm, also inf and -inf.",
    "unbiased": "whether the divisor is one less than the number of elements; an older name of correction=1.",
    "correction": "what is subtracted from the number of elements in the divisor; 1 by default.",
    "eps": "the least divisor.",
    "other": "the second operand.", "input_mask": "which elements of the input count.", "other_mask": "which elements of other count.",
}


def _documented(function: _Function) -> _Function:
    """The function with its arguments explained in its docstring."""
    names = function.__code__.co_varnames[1:function.__code__.co_argcount + function.__code__.co_kwonlyargcount]
    explained = "".join(f"\n        {name}: {_ARGUMENTS[name]}" for name in names)
    function.__doc__ = f"{function.__doc__}\n\n    Args:\n        input: any shape.{explained}\n    "
    return function


def _extreme(input: Tensor, sign: int) -> float | None:
    """The greatest number of the input's dtype, or with sign -1 the least; None where torch has no such number."""
    if input.is_floating_point():
        return sign * math.inf
    if not input.is_signed() and input.dtype != torch.uint8:
        return None
    info = torch.iinfo(input.dtype)
    return info.max if sign > 0 else info.min


def _norm_identity(input: Tensor, ord: float = 2) -> float:
    if ord != -math.inf:
        return 0
    if not input.is_floating_point():
        raise AssertionError(f"input must be floating point, got {input.dtype}")
    return math.inf


_IDENTITIES: dict[str, Callable[..., Number | None]] = {
    **dict.fromkeys(("sum", "cumsum"), lambda x: 0), **dict.fromkeys(("prod", "cumprod"), lambda x: 1),
    **dict.fromkeys(("amax", "argmax", "logaddexp"), lambda x: _extreme(x, -1)),
    **dict.fromkeys(("amin", "argmin"), lambda x: _extreme(x, 1)),
    "logsumexp": lambda x: complex(-math.inf) if x.is_complex() else _extreme(x, -1), "norm": _norm_identity, "median": lambda x: math.nan,
}


def _reduction_identity(op_name: str, input: Tensor, *args: object) -> Tensor | None:
    """What leaves a reduction as it is where it is one element more; None for means, which have none.

    Raises:
        NotImplementedError: there is none for the dtype, as for the maximum of complex numbers.
    """
    name = op_name.rpartition(".")[2]
    if name in ("mean", "var", "std"):
        return None
    found = _IDENTITIES[name](input, *args) if name in _IDENTITIES else None
    if found is None:
        raise NotImplementedError(f"identity of {name} on {input.dtype} input")
    dtype = torch.float32 if name == "median" and not input.is_floating_point() else input.dtype
    return torch.tensor(found, dtype=dtype, device=input.device)


def _canonical_dim(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The dimensions, counted from the front and sorted; all where none is named.

    Raises:
        RuntimeError: one is named twice.
        IndexError: one is outside.
    """
    if dim is None or dim == ():
        return tuple(range(ndim))
    ndim = max(ndim, 1)
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -ndim <= d < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})")
        found.append(d % ndim)
    return tuple(sorted(found))


def _input_mask(input: Tensor, *args: object, mask: Tensor | None = None, **kwargs: object) -> Tensor:
    """The mask as booleans of the input's shape and layout.

    Raises:
        ValueError: no mask, or a layout other than strided and COO and CSR.
        IndexError: it has more dimensions than the input.
    """
    if input.layout not in _LAYOUTS:
        raise ValueError(f"_input_mask expects strided or sparse COO or sparse CSR tensor but got {input.layout}")
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
        lay = mask.layout
        mask = torch.broadcast_to(mask.to_dense() if lay != torch.strided else mask.clone(), input.shape).to(torch.bool)
        mask = mask if lay == torch.strided else mask.to_sparse(layout=lay)
    if mask.layout != input.layout:
        if input.layout == torch.strided:
            mask = mask.to_dense()
        elif input.layout == torch.sparse_coo:
            dims = (input.sparse_dim(),) if mask.layout == torch.strided else ()
            mask = mask.to_sparse(*dims)
        else:
            mask = mask.to_sparse_csr()
    return (mask.coalesce() if mask.layout == torch.sparse_coo else mask).to(torch.bool)


def _where(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    """The input where the mask lets it in, fill_value elsewhere. A sparse one has the elements that the mask lets in, zeros where the
    input has none; what it does not have was masked.

    Raises:
        ValueError: the mask is not strided, nor in coordinates (COO) or rows (CSR).
        AssertionError: sparse mask and input do not fit each other.
    """
    if mask.layout == torch.strided:
        return torch.where(mask, input, fill_value)
    if mask.layout not in _LAYOUTS:
        raise ValueError(f"_where expects strided or sparse COO or sparse CSR tensor but got {mask.layout}")
    return _sparse.where(mask, input, fill_value)


_REDUCTIONS = frozenset(["sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std", "logsumexp"])
_NORMALIZATIONS = frozenset(["softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod"])


def _output_mask(op: Fn, input: Tensor, *args: object, dim: Dims = None, keepdim: bool | None = False, mask: Tensor | None = None,
                 **kwargs: object) -> Tensor:
    """Which elements of `op(input, *args, **kwargs)` come of at least one element that the mask lets in."""
    if not callable(op):
        raise ValueError(f"_output_mask expected masked operation (got {type(op).__name__} object)")
    name = op.__name__
    if name in _REDUCTIONS:
        rest = args[1:] if name == "norm" else args
        found = _input_mask(input, mask=mask)
        for d in reversed(_canonical_dim(cast("Dims", rest[0]) if rest else dim, input.ndim)):
            found = found.any(dim=d, keepdim=bool(keepdim))
        return found
    if name in _NORMALIZATIONS:
        return _input_mask(input, mask=mask)
    raise ValueError(f"_output_mask expected masked operation (got callable {op.__module__}.{name})")


class _Unwrapped(torch.autograd.Function):
    """The data of a MaskedTensor with the identity where it is masked; its gradient is a MaskedTensor again."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, mask: Tensor, filled: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        ctx.save_for_backward(mask)
        return filled(input, mask)

    @staticmethod
    def backward(ctx: Context, *grads: Tensor) -> tuple[MaskedTensor, None, None]:
        (mask,) = ctx.saved_tensors
        grad = grads[0]
        return as_masked_tensor(grad.get_data() if is_masked_tensor(grad) else grad, mask), None, None


def _combine_input_and_mask(op: Fn, input: Tensor, mask: Tensor | None, *args: object) -> Tensor:
    """The input with the identity of `op` wherever the mask leaves it out."""

    def filled(input: Tensor, mask: Tensor | None) -> Tensor:
        if mask is None:
            return input
        whole = _input_mask(input, mask=mask)
        if not callable(op):
            raise ValueError(f"_combine_input_and_mask expected masked operation (got {type(op).__name__} object)")
        return _where(whole, input, _reduction_identity(op.__name__, input, *args))  # type: ignore[arg-type]  # none only of means

    if is_masked_tensor(input):
        return cast("Tensor", _Unwrapped.apply(input.get_data(), input.get_mask(), filled))
    return filled(input, mask)


def _strided(input: Tensor, name: str) -> None:
    if input.layout != torch.strided:
        raise ValueError(f"masked {name} expects strided tensor (got {input.layout} tensor)")


_SMALL = (torch.uint8, torch.bool, torch.int8, torch.int16, torch.int32)


def _summed_dtype(input: Tensor, dtype: DType | None) -> DType:
    return dtype or (torch.int64 if input.dtype in _SMALL else input.dtype)


class _NoGradient(torch.autograd.Function):
    """What is not differentiable, though its input is: torch has no formula for reductions of rows."""

    @staticmethod
    def forward(ctx: _Named, input: Tensor, name: str, found: Tensor) -> Tensor:
        ctx.reduction = name
        return found

    @staticmethod
    def backward(ctx: _Named, *grads: Tensor) -> tuple[None, None, None]:
        raise RuntimeError(f"derivative for aten::{ctx.reduction} is not implemented")


def _reduced(name: str, filled: Tensor, dim: Dims, keepdim: bool | None, dtype: DType, mask: Tensor | None) -> Tensor:
    """What a reduction makes of a sparse tensor, already masked. The result has no history, or one that refuses to go back.

    Raises:
        ValueError: another layout, or no mask, where the elements that are not there would count.
        RuntimeError: rows (CSR) are to lose a dimension; of some reductions an AssertionError.
    """
    dims, rows = _canonical_dim(dim, filled.ndim), filled.layout == torch.sparse_csr
    if filled.layout not in _LAYOUTS[(1 if name != "mean" else 2):]:
        either = "strided" if name == "mean" else "strided, sparse_coo"
        raise ValueError(f"masked {name} expects {either} or sparse_csr tensor (got {filled.layout} tensor)")
    if mask is None and name != "sum":
        named = "amax" if name == "amin" and not rows else name  # as torch says it
        raise ValueError(f"masked {named} expects explicit mask for {filled.layout.name} tensor input")
    if rows and not keepdim:
        error = RuntimeError if name in ("sum", "prod") else AssertionError
        raise error("reduction operations on CSR tensors with keepdim=False is unsupported")
    with torch.no_grad():
        if not rows:
            identity = _reduction_identity(name, filled) if name in ("amax", "amin") else None
            return cast("Tensor", _sparse.reduced_coordinates(name, filled, dims, bool(keepdim), dtype, identity))
        found = _sparse.reduced_rows(name, filled, dims, dtype)
    torchs = f"_sparse_csr_{name}" if name in ("sum", "prod") else "_coalesced_"
    return cast("Tensor", _NoGradient.apply(filled, torchs, found)) if filled.requires_grad else found


@_documented
def sum(input: Tensor, dim: Dims = None, *, keepdim: bool | None = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Sums; 0 of nothing."""
    dtype = _summed_dtype(input, dtype)
    dims = _canonical_dim(dim, input.ndim)
    filled = _combine_input_and_mask(sum, input, mask)
    if filled.layout != torch.strided:
        return _reduced("sum", filled, dims, keepdim, dtype, mask)
    return torch.sum(filled, dims, bool(keepdim), dtype=dtype)


@_documented
def prod(input: Tensor, dim: Dims = None, *, keepdim: bool | None = False, dtype: DType | None = None,
         mask: Tensor | None = None) -> Tensor:
    """Products; 1 of nothing."""
    dtype = _summed_dtype(input, dtype)
    dims = _canonical_dim(dim, input.ndim)
    filled = _combine_input_and_mask(prod, input, mask)
    if filled.layout != torch.strided:
        return _reduced("prod", filled, dims, keepdim, dtype, mask)
    result = filled.to(dtype=dtype)
    for d in reversed(dims):
        result = result.prod(dim=d, keepdim=bool(keepdim))
    return result


def _along(name: str, input: Tensor, dim: int, dtype: DType | None, mask: Tensor | None, identity: Fn, function: Fn) -> Tensor:
    """`function` along one dimension of the input with the identity of another function where it is masked."""
    d = _canonical_dim(dim, input.ndim)[0]
    filled = _combine_input_and_mask(identity, input, mask)
    _strided(filled, name)
    return cast("Tensor", function(filled, d, dtype=dtype or input.dtype))


@_documented
def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Sums of each element and those before it along a dimension."""
    return _along("cumsum", input, dim, dtype, mask, sum, torch.cumsum)


@_documented
def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Products of each element and those before it along a dimension."""
    return _along("cumprod", input, dim, dtype, mask, prod, torch.cumprod)


@_documented
def softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """exp(x) over its sum along a dimension: 0 where masked, nan where all of it is."""
    return _along("softmax", input, dim, dtype, mask, amax, torch.nn.functional.softmax)


@_documented
def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Logarithms of softmax: -inf where masked, nan where all of a slice is."""
    return _along("log_softmax", input, dim, dtype, mask, amax, torch.nn.functional.log_softmax)


@_documented
def softmin(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """exp(-x) over its sum along a dimension: 0 where masked, nan where all of it is."""
    return _along("softmin", input, dim, dtype, mask, amin, torch.nn.functional.softmin)


@_documented
def amax(input: Tensor, dim: Dims = None, *, keepdim: bool | None = False, dtype: DType | None = None,
         mask: Tensor | None = None) -> Tensor:
    """Maxima; -inf, or the least integer, of nothing."""
    filled = _combine_input_and_mask(amax, input, mask)
    if filled.layout != torch.strided:
        return _reduced("amax", filled, dim, keepdim, dtype or input.dtype, mask)
    return torch.amax(filled, _canonical_dim(dim, filled.ndim), bool(keepdim)).to(dtype=dtype or input.dtype)


@_documented
def amin(input: Tensor, dim: Dims = None, *, keepdim: bool | None = False, dtype: DType | None = None,
         mask: Tensor | None = None) -> Tensor:
    """Minima; inf, or the greatest integer, of nothing."""
    filled = _combine_input_and_mask(amin, input, mask)
    if filled.layout != torch.strided:
        return _reduced("amin", filled, dim, keepdim, dtype or input.dtype, mask)
    return torch.amin(filled, _canonical_dim(dim, filled.ndim), bool(keepdim)).to(dtype=dtype or input.dtype)


@_documented
def argmax(input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: DType | None = None,
           mask: Tensor | None = None) -> Tensor:
    """Where maxima lie, as numbers of the input's dtype."""
    filled = _combine_input_and_mask(argmax, input, mask)
    _strided(filled, "argmax")
    return torch.argmax(filled, dim, bool(keepdim)).to(dtype=dtype or input.dtype)


@_documented
def argmin(input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: DType | None = None,
           mask: Tensor | None = None) -> Tensor:
    """Where minima lie, as numbers of the input's dtype."""
    filled = _combine_input_and_mask(argmin, input, mask)
    _strided(filled, "argmin")
    return torch.argmin(filled, dim, bool(keepdim)).to(dtype=dtype or input.dtype)


def _sum_and_count(input: Tensor, dim: Dims, keepdim: bool, dtype: DType | None, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Sums, and of how many elements."""
    if mask is None:
        count = sum(torch.ones(input.shape, dtype=torch.int64, device=input.device), dim, keepdim=keepdim)
    else:
        count = mask.sum(dim=dim, keepdim=keepdim)
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask), count


@_documented
def mean(input: Tensor, dim: Dims = None, *, keepdim: bool | None = False, dtype: DType | None = None,
         mask: Tensor | None = None) -> Tensor:
    """Means; nan of nothing."""
    source, dtype = ("Input", input.dtype) if dtype is None else ("Optional", dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
                         f"Got: {dtype}")
    if input.layout != torch.strided:
        rows = input.layout == torch.sparse_csr
        return _reduced("mean", _combine_input_and_mask(mean, input, mask) if rows else input, dim, keepdim, dtype, mask)
    total, count = _sum_and_count(input, dim, bool(keepdim), dtype, None if mask is None else _input_mask(input, mask=mask))
    return total / count


@_documented
def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Medians, the lower of two; nan of nothing."""
    d, floating = _canonical_dim(dim, input.ndim)[0], input.is_floating_point()
    filled = _combine_input_and_mask(median, input if floating else input.to(torch.float32), mask)
    _strided(filled, "median")
    found = torch.nanmedian(filled, d, keepdim).values
    if floating:
        return found
    if torch.isnan(found).any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(dtype=dtype or input.dtype)


@_documented
def logsumexp(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Logarithms of sums of exp(x); -inf of nothing."""
    dims = _canonical_dim(dim, input.ndim)
    filled = _combine_input_and_mask(logsumexp, input, mask)
    _strided(filled, "logsumexp")
    return torch.logsumexp(filled, dims, keepdim=keepdim).to(dtype=dtype or input.dtype)


@_documented
def logaddexp(input: Tensor, other: Tensor, *, dtype: DType | None = None, input_mask: Tensor | None = None,
              other_mask: Tensor | None = None) -> Tensor:
    """Logarithms of exp(input) + exp(other), of two masked operands."""
    if input.layout != torch.strided or other.layout != torch.strided:
        raise ValueError(f"masked logaddexp expects strided tensors (got {input.layout} tensor for input, {other.layout} for other)")
    left, right = [_combine_input_and_mask(logaddexp, x, mask) for x, mask in ((input, input_mask), (other, other_mask))]
    return torch.logaddexp(left, right).to(dtype=dtype or input.dtype)


@_documented
def norm(input: Tensor, ord: float | None = 2.0, dim: Dims = None, *, keepdim: bool | None = False, dtype: DType | None = None,
         mask: Tensor | None = None) -> Tensor:
    """Norms of vectors; 0 of nothing, or inf if ord is -inf."""
    filled = _combine_input_and_mask(norm, input, mask, ord)
    _strided(filled, "norm")
    return torch.linalg.vector_norm(filled, ord, _canonical_dim(dim, input.ndim), bool(keepdim),  # type: ignore[arg-type]
                                    dtype=None if dtype == input.dtype else dtype)


@_documented
def normalize(input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The input over its norm along a dimension, or over eps where that is greater; 0 where masked."""
    filled = _combine_input_and_mask(sum, input, mask)
    _strided(filled, "normalize")
    length = norm(input, ord, dim, keepdim=True, dtype=dtype or input.dtype, mask=mask)
    return torch.divide(filled, torch.maximum(length, length.new_full([], eps)))


def _variance(input: Tensor, dim: Dims, unbiased: bool | None, correction: float | None, keepdim: bool | None, dtype: DType | None,
              mask: Tensor | None) -> Tensor:
    """Mean squared distances from the mean, over the number of elements less the correction (but not less than zero)."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    less = float(correction) if correction is not None else 1.0 if unbiased is None or unbiased else 0.0
    inexact = lambda d: d.is_floating_point or d.is_complex
    dtype = dtype or (input.dtype if inexact(input.dtype) else torch.float32)
    computed = dtype if inexact(dtype) else torch.float32
    _strided(input, "std/var")
    mask = None if mask is None else _input_mask(input, mask=mask)
    total, count = _sum_and_count(input, dim, True, dtype, mask)
    distance = torch.subtract(input, torch.divide(total, count))
    total = sum(distance * distance.conj(), dim, keepdim=keepdim, dtype=computed, mask=mask)
    if not keepdim:
        count = count.reshape(total.shape)
    if less != 0:
        count = torch.subtract(count.to(computed.to_real()), less)
        count = torch.maximum(count, count.new_zeros([]))
    return torch.divide(total, count).to(dtype=dtype)


@_documented
def var(input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None, keepdim: bool | None = False,
        dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Variances; nan of nothing."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


@_documented
def std(input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None, keepdim: bool | None = False,
        dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Standard deviations; nan of nothing."""
    return torch.sqrt(_variance(input, dim, unbiased, correction, keepdim, dtype, mask))


_absences(__name__)
