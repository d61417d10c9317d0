"""The cross entropy of a linear map's outputs, at once or for some rows at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torchcompat as torch
from torchcompat._tensor import frontend as F
from torchcompat.autograd.function import Function, once_differentiable
from autograd_tape import warned
from ..overrides import overridable
from .._calls.shown import shown_in

if TYPE_CHECKING:
    from autograd_tape.dtypes import DType
    from torchcompat._tensor import Tensor
    from torchcompat.autograd.function import FunctionCtx
    from .modules.linear_cross_entropy_options import LinearCrossEntropyOptions

    class _Context(FunctionCtx):
        gradients: tuple[Tensor | None, ...] | None
        keep: bool
        rows: _Rows
        saved_tensors: tuple[Tensor, ...]

__all__ = ["linear_cross_entropy"]

_HALF = (torch.float16, torch.bfloat16)


class _Rows:
    """A batch of which some rows at a time are computed.

    Args:
        input, linear_weight, target, linear_bias, weight: (N, in), (C, in), (N,), (C,) and (C,), the last two or None.
        reduction, ignore_index: as of `cross_entropy`.
        size: how many rows.
        dtype: what is computed in.
    """

    def __init__(self, input: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None, weight: Tensor | None,
                 reduction: str, ignore_index: int, size: int, dtype: DType) -> None:
        if input.dtype != dtype and not (input.dtype in _HALF and dtype == torch.float32):
            raise RuntimeError("linear_cross_entropy supports float32 acc_dtype with float16/bfloat16 inputs, but got "
                               f"{dtype} acc_dtype and {input.dtype} inputs.")
        self.input, self.dtype, self.size = input, dtype, size
        self.linear_weight = linear_weight if linear_weight.dtype != input.dtype else linear_weight.to(dtype)
        self.linear_bias = None if linear_bias is None else linear_bias.to(dtype)
        ignored = target == ignore_index
        self.target = torch.where(ignored, 0, target)
        counts = (~ignored).to(dtype) if weight is None else torch.where(ignored, 0.0, weight.to(dtype).index_select(0, self.target))
        if reduction == "mean":
            total = counts.sum()
            counts = counts / torch.where(total == 0, math.nan, total)
        self.counts = counts

    def losses(self, scale: Tensor | None, wanted: tuple[bool, ...]) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        """(the loss of each row, times what it counts, the gradients of the sum of losses, each times `scale`, for the input, the weight
        and the bias, None for those not wanted)."""
        n, dtype = len(self.input), self.dtype
        counts = self.counts if scale is None else self.counts * scale
        losses = torch.empty(n, dtype=dtype)
        of_input = torch.empty_like(self.input, dtype=dtype) if wanted[0] else None
        of_weight = torch.zeros_like(self.linear_weight) if wanted[1] else None
        of_bias = torch.zeros(len(self.linear_weight), dtype=dtype) if wanted[2] else None
        for start in range(0, n, self.size):
            count = min(self.size, n - start)
            x, target, share = [t.narrow(0, start, count) for t in (self.input, self.target, counts)]
            x = x.to(dtype)
            found = F.log_softmax(F.linear(x, self.linear_weight, self.linear_bias), 1)
            column = target.unsqueeze(1)
            losses[start:start + count] = found.gather(1, column).squeeze(1).neg() * self.counts[start:start + count]
            if not any(wanted):
                continue
            slopes = found.exp_()
            slopes.scatter_add_(1, column, torch.full_like(column, -1, dtype=dtype))
            slopes *= share.unsqueeze(1)
            if of_input is not None:
                of_input[start:start + count] = slopes @ self.linear_weight
            if of_weight is not None:
                of_weight.addmm_(slopes.t(), x)
            if of_bias is not None:
                of_bias += slopes.sum(0)
        return losses, tuple([None if g is None else g.to(self.input.dtype) for g in (of_input, of_weight, of_bias)])


class _Reduced(Function):
    """The sum of the losses, with the gradients, which the pass only scales."""

    @staticmethod
    def forward(ctx: _Context, input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None, rows: _Rows, keep: bool) -> Tensor:
        losses, ctx.gradients = rows.losses(None, ctx.needs_input_grad[:3])
        ctx.keep = keep
        return losses.sum().to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, grad: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.gradients is None:
            raise RuntimeError("linear_cross_entropy chunked backward called twice; retain_graph=True / double backward are not supported.")
        found = [None if g is None else g * grad if ctx.keep else g.mul_(grad) for g in ctx.gradients]
        if not ctx.keep:
            ctx.gradients = None
        return (*found, None, None)


class _Each(Function):
    """The losses; the pass computes the gradients."""

    @staticmethod
    def forward(ctx: _Context, input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None, rows: _Rows) -> Tensor:
        ctx.save_for_backward(input, linear_weight, *([] if linear_bias is None else [linear_bias]))
        ctx.rows = rows
        return rows.losses(None, (False, False, False))[0].to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: _Context, grad: Tensor) -> tuple[Tensor | None, ...]:
        assert ctx.saved_tensors is not None  # what was overwritten in between is refused here
        return (*ctx.rows.losses(grad.to(ctx.rows.dtype), ctx.needs_input_grad[:3])[1], None)


@overridable
def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
                         weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
                         label_smoothing: float = 0.0, options: LinearCrossEntropyOptions | None = None) -> Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`.

    Args:
        input: (in_features,) or (N, in_features).
        linear_weight: (C, in_features), or (C, d1, ..., dk, in_features) for targets (N, d1, ..., dk).
        target: class numbers, or probabilities in the shape of the logits.
        linear_bias: in the shape of `linear_weight` without its last dimension.
        weight: (C,), what each class counts.
        reduction: "mean", "sum" or "none".
        ignore_index: a target that does not count; left out, -100. Not beside probabilities.
        label_smoothing: the part of each target spread evenly over all classes.
        options: to compute some rows at a time, so that there are never all logits. Its gradients have none of their own.

    Raises:
        RuntimeError: shapes do not fit.

    >>> torch.nn.functional.linear_cross_entropy(torch.zeros(1, 2), torch.ones(4, 2), torch.tensor([3]))
    tensor(1.3863)
    """
    if not 1 <= input.dim() <= 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    rows, features = tuple(input.shape[:-1]), input.shape[-1]
    if linear_weight.shape[-1] != features:
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), got "
                           f"{features} and {linear_weight.shape[-1]}, respectively")
    classes, *places = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *places):
        raise RuntimeError(f"expected linear_bias shape {(classes, *places)}, got {tuple(linear_bias.shape)}")
    if places and not rows:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
                           f"(N, {features}), got unbatched input with shape {tuple(input.shape)}")
    if tuple(target.shape) == (*rows, classes, *places) and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None:
        if reduction in ("mean", "sum", "none") and label_smoothing == 0 and target.dtype == torch.int64 and not places:
            return _in_rows(input, linear_weight, target, linear_bias, weight, reduction, ignored, options)
        warned.warn("linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, label_smoothing "
                    f"== 0, target.dtype == int64, out_features == (). Got reduction={reduction!r}, label_smoothing={label_smoothing}, "
                    f"target.dtype={target.dtype}, out_features={tuple(places)}, tracing=False, linear_bias.shape="
                    f"{None if linear_bias is None else tuple(linear_bias.shape)}.")
    flat = math.prod(places, start=classes)
    logits = F.linear(input, linear_weight.reshape(flat, features), None if linear_bias is None else linear_bias.reshape(flat))
    found: Tensor = F.cross_entropy(logits.reshape(*rows, classes, *places), target, weight=weight, reduction=reduction,
                                    ignore_index=ignored, label_smoothing=label_smoothing)
    return found


def _in_rows(input: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None, weight: Tensor | None, reduction: str,
             ignored: int, options: LinearCrossEntropyOptions) -> Tensor:
    single = input.dim() == 1
    if single:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    chosen = options._adjust(len(input), input.shape[1], len(linear_weight), input.dtype, input.device)
    with torch.no_grad():
        rows = _Rows(input.detach(), linear_weight.detach(), target, None if linear_bias is None else linear_bias.detach(), weight,
                     reduction, ignored, chosen.batch_chunk_size or 1, chosen.acc_dtype or input.dtype)
    if reduction == "none":
        found: Tensor = _Each.apply(input, linear_weight, linear_bias, rows)
    else:
        found = _Reduced.apply(input, linear_weight, linear_bias, rows, chosen.allow_retain_graph)
    return found.squeeze(0) if single else found


shown_in("torchcompat.nn.functional", linear_cross_entropy)
