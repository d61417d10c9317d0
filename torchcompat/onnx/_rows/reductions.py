"""Reductions, sorting and searching."""

from __future__ import annotations

import math

from autograd_tape.dtypes import DType, bool_, int32, int64

from .._graph import Graph, Ints, Made, Operand, Val, refuse
from .._sizes import Dim
from .._table import row
from .elementwise import promoted


def axes_of(x: Val, dim: Ints | None) -> list[int] | None:
    """The dimensions of a reduction; None for all."""
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return None
    return [d % max(x.rank, 1) for d in ([dim] if isinstance(dim, int) else dim)]


def count(g: Graph, x: Val, dim: Ints | None) -> Dim | int:
    """How many elements are reduced to one."""
    axes = axes_of(x, dim)
    n: Dim | int = 1
    for i, size in enumerate(x.sizes):
        if axes is None or i in axes:
            n = size * n if not isinstance(size, int) else n * size
    return n


@row("sum", "mean", "prod", "amax", "amin", "logsumexp")
def reduced(g: Graph, input: Val, dim: Ints | None = None, keepdim: bool = False, dtype: DType | None = None) -> Val:
    if not input.rank:
        return input.to(g.out[0].dtype)
    x, name = input.to(g.out[0].dtype), g.step.name
    op = {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd", "amax": "ReduceMax", "amin": "ReduceMin",
          "logsumexp": "ReduceLogSumExp"}[name]
    if x.dtype is bool_:
        return g.reduce(op, input.to(int32), axes_of(input, dim), keepdim).to(bool_)
    return g.reduce(op, x, axes_of(input, dim), keepdim)


@row("all", "any", "count_nonzero")
def truth(g: Graph, input: Val, dim: Ints | None = None, keepdim: bool = False) -> Val:
    x = input.to(bool_).to(int64)
    if not input.rank:
        return x.to(g.out[0].dtype)
    op = {"all": "ReduceMin", "any": "ReduceMax", "count_nonzero": "ReduceSum"}[g.step.name]
    return g.reduce(op, x, axes_of(input, dim), keepdim).to(g.out[0].dtype)


@row("var_of", "std_of", "var_mean_of", "std_mean_of")
def variance(g: Graph, input: Val, dim: Ints | None = None, correction: float = 1, keepdim: bool = False) -> Made:
    axes = axes_of(input, dim)
    mean = g.reduce("ReduceMean", input, axes, True)
    away = input - mean
    total, n = g.reduce("ReduceSum", away * away, axes, keepdim), count(g, input, dim)
    found = total / (n - correction if isinstance(n, int) else g.scalar(n, input.dtype) - correction)
    if g.step.name.startswith("std"):
        found = g.op("Sqrt", found)
    return [found, g.reduce("ReduceMean", input, axes, keepdim)] if "mean" in g.step.name else found


@row("linalg_vector_norm")
def vector_norm(g: Graph, x: Val, ord: float = 2, dim: Ints | None = None, keepdim: bool = False, dtype: DType | None = None) -> Val:
    x = x.to(g.out[0].dtype)
    axes = axes_of(x, dim)
    if ord in (1, 2):
        return g.reduce(f"ReduceL{int(ord)}", x, axes, keepdim)
    size = g.op("Abs", x)
    if math.isinf(ord):
        return g.reduce("ReduceMax" if ord > 0 else "ReduceMin", size, axes, keepdim)
    if ord == 0:
        return g.reduce("ReduceSum", (~x.equals(0)).to(x.dtype), axes, keepdim)
    return g.reduce("ReduceSum", size ** ord, axes, keepdim) ** (1 / ord)


@row("argmax", "argmin")
def argmax(g: Graph, input: Val, dim: int | None = None, keepdim: bool = False) -> Val:
    op = "ArgMax" if g.step.name == "argmax" else "ArgMin"
    if dim is None or not input.rank:
        found = g.op(op, g.op("Reshape", input, [-1]), axis=0, keepdims=0, dtype=int64)
        return g.op("Reshape", found, [1] * input.rank) if keepdim else found
    return g.op(op, input, axis=dim, keepdims=int(keepdim), dtype=int64)


@row("max", "min", "max_all", "min_all", "max_along", "min_along")
def extreme(g: Graph, input: Val, dim: Ints | None = None, keepdim: bool = False) -> Made:
    if isinstance(dim, Val):  # of two tensors
        return g.op("Max" if "max" in g.step.name else "Min", *[v.to(g.out[0].dtype) for v in (input, dim)])
    word = "Max" if "max" in g.step.name else "Min"
    x = input.to(int32) if input.dtype is bool_ else input
    if not input.rank:
        return [input, g.const(0, int64)] if dim is not None else input
    found = g.reduce(f"Reduce{word}", x, axes_of(input, dim), keepdim).to(input.dtype)
    return found if dim is None else [found, g.op(f"Arg{word}", x, axis=dim, keepdims=int(keepdim), dtype=int64)]


@row("aminmax")
def aminmax(g: Graph, input: Val, dim: int | None = None, keepdim: bool = False) -> Made:
    return [g.reduce(op, input, axes_of(input, dim), keepdim) if input.rank else input for op in ("ReduceMin", "ReduceMax")]


@row("nansum")
def nansum(g: Graph, input: Val, dim: Ints | None = None, keepdim: bool = False, dtype: DType | None = None) -> Val:
    x = input.to(g.out[0].dtype)
    kept = g.op("Where", g.op("IsNaN", x, dtype=bool_), g.const(0, x.dtype), x, dtype=x.dtype) if x.dtype.is_floating_point else x
    return g.reduce("ReduceSum", kept, axes_of(input, dim), keepdim) if input.rank else kept


@row("median_all", "median_along", "kthvalue")
def kthvalue(g: Graph, input: Val, k: Operand | None = None, dim: int | None = None, keepdim: bool = False) -> Made:
    if not input.rank:
        return [input, g.const(0, int64)][:len(g.out)]
    dim = 0 if dim is None and k is None else -1 if dim is None else dim
    x = g.op("Reshape", input, [-1]) if g.step.name == "median_all" else input
    n = g.scalar(count(g, input, None if x is not input else dim), int64)
    which = (n - 1) / 2 if k is None else g.scalar(k, int64) - 1
    values, indices = g.op("TopK", x, g.op("Reshape", n, [1]), axis=dim, largest=0, sorted=1, outputs=2)
    indices.dtype = int64
    at = g.op("Reshape", which, [1]) if keepdim else which
    return [g.op("Gather", v, at, axis=dim) for v in (values, indices)][:len(g.out)]


@row("cumprod")
def cumprod(g: Graph, input: Val, dim: int, dtype: DType | None = None) -> Val:
    x = input.to(g.out[0].dtype)
    if not input.rank:
        return x
    dim %= input.rank
    places = g.op("Range", g.const(0, int64), g.scalar(input.sizes[dim], int64), g.const(1, int64))
    reached = g.op("Unsqueeze", places, [1]) >= places  # of each place, the places up to it
    after = input.rank - dim - 1
    reached = g.op("Unsqueeze", reached, [2 + i for i in range(after)]) if after else reached
    factors = g.op("Where", reached, g.op("Unsqueeze", x, [dim]), g.const(1, x.dtype), dtype=x.dtype)
    return g.reduce("ReduceProd", factors, [dim + 1], False)


@row("searchsorted", "bucketize")
def searchsorted(g: Graph, input: Operand, sorted_sequence: Val | None = None, boundaries: Val | None = None, out_int32: bool = False,
                 right: bool = False, side: str | None = None) -> Val:
    places = boundaries if sorted_sequence is None else sorted_sequence
    assert places is not None
    if places.rank != 1:
        raise refuse("searchsorted in several sequences has no translation")
    x = g.op("Unsqueeze", g.scalar(input, promoted(places, input)), [-1])
    before = (places <= x) if right or side == "right" else (places < x)
    return g.reduce("ReduceSum", before.to(int64), [-1], False).to(g.out[0].dtype)


@row("isin")
def isin(g: Graph, elements: Operand, test_elements: Operand, invert: bool = False) -> Val:
    dtype = promoted(elements, test_elements) if isinstance(elements, Val) else promoted(test_elements, elements)
    x, y = [g.scalar(v, dtype) for v in (elements, test_elements)]
    equal = g.op("Unsqueeze", x, [-1]).equals(g.op("Reshape", y, [-1])).to(int64)
    found = g.reduce("ReduceMax", equal, [-1], False).to(bool_)
    return ~found if invert else found


@row("det")
def det(g: Graph, input: Val) -> Val:
    return g.op("Det", input)


@row("topk")
def topk(g: Graph, input: Val, k: Operand, dim: int = -1, largest: bool = True, sorted: bool = True) -> Made:
    values, indices = g.op("TopK", input, [k], axis=dim, largest=int(largest), sorted=int(sorted), outputs=2)
    indices.dtype = int64
    return [values, indices]


@row("sort", "sort_along", "argsort", "msort")
def sort(g: Graph, input: Val, dim: int = -1, descending: bool = False) -> Made:
    dim = 0 if g.step.name == "msort" else dim
    if not input.rank:
        return g.const(0, int64) if g.step.name == "argsort" else [input, g.const(0, int64)]
    x = input.to(int32) if input.dtype is bool_ else input
    found = g.op("TopK", x, [input.sizes[dim]], axis=dim, largest=int(descending), sorted=1, outputs=2)
    found[1].dtype = int64
    return found[1] if g.step.name == "argsort" else [found[0].to(input.dtype), found[1]][:1 + (g.step.name != "msort")]


@row("cumsum")
def cumsum(g: Graph, input: Val, dim: int, dtype: DType | None = None) -> Val:
    x = input.to(g.out[0].dtype)
    return g.op("CumSum", x, g.const(dim, int64)) if input.rank else x


@row("nonzero")
def nonzero(g: Graph, input: Val, as_tuple: bool = False) -> Made:
    found = g.op("NonZero", input, dtype=int64)
    if not as_tuple:
        return g.op("Transpose", found, perm=[1, 0])
    return [g.op("Gather", found, g.const(i, int64), axis=0) for i in range(input.rank)]


@row("one_hot")
def one_hot(g: Graph, input: Val, num_classes: int = -1) -> Val:
    if num_classes == -1:
        raise refuse("one_hot without num_classes: the number of classes would depend on the values")
    return g.op("OneHot", input, g.ints([num_classes]), g.const([0, 1], int64), axis=-1, dtype=int64)


@row("cross_entropy", "nll_loss")
def cross_entropy(g: Graph, input: Val, target: Val, weight: Val | None = None, ignore_index: int = -100, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Val:
    if label_smoothing or target.dtype.is_floating_point or input.rank < 2:
        raise refuse(f"{g.step.known_as} of probabilities, smoothed or of one example has no translation")
    op = "NegativeLogLikelihoodLoss" if g.step.name == "nll_loss" else "SoftmaxCrossEntropyLoss"
    return g.op(op, input, target, weight, ignore_index=ignore_index, reduction=reduction)


@row("huber_loss", "soft_margin_loss")
def other_loss(g: Graph, input: Val, target: Val, reduction: str = "mean", delta: float = 1.0) -> Val:
    x, y = input.to(g.out[0].dtype), target.to(g.out[0].dtype)
    if g.step.name == "soft_margin_loss":
        found = g.op("Log", g.op("Exp", -y * x) + 1)
    else:
        away = g.op("Abs", x - y)
        found = g.op("Where", away <= delta, away * away * 0.5, (away - 0.5 * delta) * delta, dtype=x.dtype)
    return found if reduction == "none" else g.reduce("ReduceMean" if reduction == "mean" else "ReduceSum", found, None)


@row("mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits")
def loss(g: Graph, input: Val, target: Val, reduction: str = "mean", beta: float = 1.0, weight: Val | None = None,
         pos_weight: Val | None = None) -> Val:
    x, y, name = input.to(g.out[0].dtype), target.to(g.out[0].dtype), g.step.name
    if name == "binary_cross_entropy":
        least = g.const(-100, x.dtype)
        found = -(y * g.op("Max", g.op("Log", x), least) + (1 - y) * g.op("Max", g.op("Log", 1 - x), least))
    elif name == "binary_cross_entropy_with_logits":
        found = (1 - y) * x + g.op("Softplus", -x) * (1 if pos_weight is None else y * (pos_weight - 1) + 1)
    else:
        away = g.op("Abs", x - y)
        found = away if name == "l1_loss" or not beta and name == "smooth_l1_loss" else away * away
        if name == "smooth_l1_loss" and beta:
            found = g.op("Where", away < beta, found * (0.5 / beta), away - 0.5 * beta, dtype=x.dtype)
    found = found if weight is None else found * weight
    return found if reduction == "none" else g.reduce("ReduceMean" if reduction == "mean" else "ReduceSum", found, None)

