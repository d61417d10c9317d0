"""Histograms: how many points fall into the boxes of a grid, or the sum of their weights."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, prod

import numpy as np

from ...dtypes import BOOL, FLOATING, c_name
from ...errors import AutogradError, MissingKernelError
from ...executors.kernels.order import boxed
from ...functions.out import OutRule
from ...functions.overloads import no_match
from ...functions.refusals import no_kernel, on_meta
from ...record import Sample, get_record, op
from ...tensor import TensorRef
from .._host import values_of
from ..data.create import _line
from ..networks._losses import constant
from .counting import bisect, no_derivative_node

_OUT = "torch.histogram: input tensor and {} tensor should have the same dtype, but got input {{wanted_c}} and {} {{found_c}}"
_HISTOGRAM = no_derivative_node("NotImplemented", AutogradError, "derivative for aten::histogram is not implemented")
_HISTOGRAMDD = no_derivative_node("NotImplemented", AutogradError, "derivative for aten::_histogramdd_bin_edges is not implemented")
_MORE = "tuple of floats range = None, Tensor weight = None, bool density = False"
_SIGNATURES = (f"Tensor input, Tensor bins, *, {_MORE.partition(', ')[2]}, tuple of Tensors out = None",
               f"Tensor input, int bins = 100, *, {_MORE}, tuple of Tensors out = None")
_SIGNATURES_DD = tuple([f"Tensor input, {kind} bins, {_MORE}" for kind in ("int", "tuple of ints", "tuple of Tensors")])


def _values(input: TensorRef) -> np.ndarray:
    """The elements. The result's shape does not depend on them, but torch gives no histogram of meta tensors either."""
    if on_meta(input):
        raise MissingKernelError("A histogram counts values, and a meta tensor has none", expected="a tensor with data",
                                 found="a meta tensor", remedy="run it on another device")
    return values_of(input)


def _number(x: float) -> str:
    return f"{x:g}"


def _edges(points: np.ndarray, counts: Sequence[int], span: Sequence[float] | None) -> list[np.ndarray]:
    """The edges of boxes of equal width, so many along each dimension of `points`, over a range, or over all points."""
    n = points.shape[-1]
    if span is not None and len(span) != 2 * n:
        raise AutogradError(f"torch.histogramdd: for a {n}-dimensional histogram range should have {2 * n} elements, but got {len(span)}")
    found = []
    for d, count in enumerate(counts):
        if count < 1:
            raise AutogradError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {d}")
    for d, count in enumerate(counts):
        here = points[:, d]
        low, high = (float(span[2 * d]), float(span[2 * d + 1])) if span is not None else (
            (float(np.minimum.reduce(here)), float(np.maximum.reduce(here))) if here.size else (0.0, 1.0))
        if not (isfinite(low) and isfinite(high)):
            raise AutogradError(f"torch.histogramdd: dimension {d}'s range [{_number(low)}, {_number(high)}] is not finite")
        if low > high:
            raise AutogradError(f"torch.histogramdd: min should not exceed max, but got min {_number(low)} max {_number(high)} for "
                                f"dimension {d}")
        if low == high:
            low, high = low - 0.5, high + 0.5
        found.append(_line(low, high, count + 1, here.dtype))
    return found


def _check_range(input: TensorRef, range: object) -> None:
    """Raises where torch has no kernel for the borders: that which looks for the least and the largest element, or that between them."""
    if range is None and input._data.size and input._k.dtype.name not in ("float32", "float64"):
        no_kernel("histogramdd", input)
    if input._k.dtype.category == BOOL:
        no_kernel("linspace_cpu", input)


def _check_edges(input: TensorRef, n: int, bins: Sequence[TensorRef]) -> list[np.ndarray]:
    if len(bins) != n:
        raise AutogradError(f"torch.histogramdd: expected {n} sequences of bin edges for a {n}-dimensional histogram but got {len(bins)}")
    for d, edges in enumerate(bins):
        if edges._k.dtype is not input._k.dtype:
            raise AutogradError("torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
                                f"{c_name(input._k.dtype)} and bins for dimension {d} with dtype {c_name(edges._k.dtype)}")
        if edges.ndim != 1:
            raise AutogradError(f"torch.histogramdd: bins tensor should have one dimension, but got {edges.ndim} dimensions in the bins "
                                f"tensor for dimension {d}")
        if not edges._data.size:
            raise AutogradError("torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for "
                                f"dimension {d}")
        if edges._data.size < 2:
            raise AutogradError(f"torch.histogram(): bins must be > 0, but got 0 for dimension {d}")
    return [values_of(edges) for edges in bins]


def _weights(input: TensorRef, shape: Sequence[int], weight: TensorRef | None, flat: bool = False) -> np.ndarray | None:
    """One number for each point, elements along the last dimension of `shape`; `flat` if in any shape."""
    if weight is None:
        return None
    if weight._k.dtype is not input._k.dtype:
        raise AutogradError("torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
                            f"dtype, but got input({c_name(input._k.dtype)}), and weight({c_name(weight._k.dtype)})")
    sizes = [weight._data.size] if flat else list(weight.shape)
    if sizes != list(shape[:-1]):
        raise AutogradError("torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
                            f"excluding its innermost dimension, but got input with shape {list(shape)} and weight with shape {sizes}")
    return values_of(weight).reshape(-1)


def _check_counts(input: TensorRef) -> None:
    if input._k.dtype.category != FLOATING or input._k.dtype.group:
        no_kernel("histogram_cpu", input)


def _counted(points: np.ndarray, edges: list[np.ndarray], weights: np.ndarray | None, density: bool, regular: bool) -> np.ndarray:
    """The histogram of points (n, dimensions), between edges that lie regularly or not."""
    given = points.dtype
    if points.itemsize == 2:
        points, edges = points.astype(np.float32), [border.astype(np.float32) for border in edges]
    sizes, at = [len(border) - 1 for border in edges], None
    if regular or not any([np.count_nonzero(border[1:] >= border[:-1]) + 1 < len(border) for border in edges]):
        at = boxed(points, edges, regular)
    if at is not None:
        inside = at >= 0
    else:
        inside, at = np.ones(len(points), bool), np.zeros(len(points), np.int64)
        for d, border in enumerate(edges):
            here = points[:, d]
            inside &= (here >= border[0]) & (here <= border[-1])
            # The last box has its right border, too.
            at = at * (len(border) - 1) + np.minimum(bisect(border, here, True) - 1, len(border) - 2)
    if np.count_nonzero(inside) < inside.size:
        at, weights = at[inside], None if weights is None else weights[inside]
    found = np.bincount(at, weights, prod(sizes)).reshape(sizes)
    if density:
        found = found / found.sum()
        for d, border in enumerate(edges):
            found = found / np.diff(border.astype(np.float64)).reshape([-1 if e == d else 1 for e in range(len(edges))])
    return found.astype(given)


@op("histogram(Tensor input, Any bins=100, *, Any range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
    dtypes="float")
class histogram:
    """(how many elements fall into each box, the edges of the boxes): so many boxes of equal width, or those between given edges.

    >>> torch.histogram(torch.tensor([1., 2., 1.]), bins=4, range=(0., 3.)).hist
    tensor([0., 2., 1., 0.])
    """

    out_dtype = OutRule(_OUT.format("hist", "hist")), OutRule(_OUT.format("bin_edges", "bin_edges"))
    reads = "input bins weight"
    quick_named, quick_if = True, "(bins.__class__ is int or bins._k is _k)"
    def quick(input, bins, range, weight, density):
        if input.dtype.char not in "fd" or weight is not None and (weight.dtype is not input.dtype or weight.size != input.size):
            return None
        points, regular = input.reshape(-1, 1), bins.__class__ is int
        edges = _edges(points, [bins], range) if regular else [bins._data]
        if edges[0].ndim == 1 and edges[0].size > 1:
            counts = _counted(points, edges, None if weight is None else weight.reshape(-1), density, regular)
            return counts, edges[0] if regular else edges[0].copy()

    def function(F, input, bins=100, *, range=None, weight=None, density=False):
        if not isinstance(bins, (int, TensorRef)) or isinstance(bins, bool):
            raise no_match("histogram", _SIGNATURES, (input, bins))
        points = _values(input).reshape(-1, 1)
        shape = (input._data.size, 1)
        if isinstance(bins, TensorRef):
            edges = _check_edges(input, 1, [bins])
        else:
            _check_range(input, range)
            edges = _edges(points, [bins], range)
        weights = _weights(input, shape, weight, True)
        _check_counts(input)
        counts = _counted(points, edges, weights, density, not isinstance(bins, TensorRef))
        found = [_HISTOGRAM.behind(constant(F, input, a), input) for a in (counts, edges[0].copy())]
        return F.returned(get_record("histogram"))(*found)

    def samples(rng):
        yield Sample((rng.standard_normal(20), 5), no_gradient="torch counts without derivative")
        yield Sample((rng.standard_normal(20), np.array([-1.0, 0.0, 2.0])), no_gradient="torch counts without derivative")

    def errors(rng):
        yield (np.ones(3), 0), RuntimeError, "torch.histogram(): bins must be > 0, but got 0 for dimension 0"


@op("histogramdd(Tensor input, Any bins, Any range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
    out=False, dtypes="float")
class histogramdd:
    """(how many points fall into each box of a grid, the edges of the boxes along each dimension); points lie along the last dimension.

    >>> torch.histogramdd(torch.tensor([[0., 1.], [1., 0.], [1., 0.]]), [2, 2]).hist
    tensor([[0., 1.],
            [2., 0.]])
    """

    gives = "Any"
    reads = "input bins weight"

    def function(F, input, bins, range=None, weight=None, density=False):
        sequence = isinstance(bins, (list, tuple))
        if not (sequence and (all([isinstance(b, int) for b in bins]) or all([isinstance(b, TensorRef) for b in bins]))
                or isinstance(bins, int)):
            raise no_match("histogramdd", _SIGNATURES_DD, (input, bins))
        if input.ndim < 2:
            raise AutogradError("torch.histogramdd: input tensor should have at least 2 dimensions")
        points, n = _values(input), input.shape[-1]
        if sequence and bins and isinstance(bins[0], TensorRef):
            edges = _check_edges(input, n, bins)
        else:
            counts = list(bins) if sequence else [bins] * n
            if len(counts) != n:
                raise AutogradError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
            _check_range(input, range)
            edges = _edges(points.reshape(-1, n), counts, range)
        weights = _weights(input, input.shape, weight)
        _check_counts(input)
        counted = _counted(points.reshape(-1, n), edges, weights, density, not (sequence and bins and isinstance(bins[0], TensorRef)))
        hist, *borders = [_HISTOGRAMDD.behind(constant(F, input, a), input) for a in (counted, *[e.copy() for e in edges])]
        return F.returned(get_record("histogramdd"))(hist, tuple(borders))

    def samples(rng): yield Sample((rng.standard_normal((10, 2)), [2, 3]), no_gradient="torch counts without derivative")
    def errors(rng): yield (np.ones(3), [2]), RuntimeError, "torch.histogramdd: input tensor should have at least 2 dimensions"
