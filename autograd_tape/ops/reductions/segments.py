"""What is taken together of each of the segments that a dimension is cut into."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...annotations import Functions
from ...dims import wrap_dim
from ...dtypes import FLOATING
from ...errors import AutogradError
from ...executors.kernels.embedding import segments, segments_gradient
from ...functions.refusals import no_kernel
from ...record import Sample, no_derivative, op
from ...tensor import TensorRef
from .._batch import BatchedCall, shifted
from .._host import on_host, values_of
from .._samples import check_number
from ...warned import ignoring

_KINDS: dict[str, tuple[np.ufunc, float, int]] = {
    "sum": (np.add, 0.0, 0), "mean": (np.add, 0.0, 4), "prod": (np.multiply, 1.0, 1),
    **dict.fromkeys(("max", "amax"), (np.maximum, -np.inf, 2)), **dict.fromkeys(("min", "amin"), (np.minimum, np.inf, 3))}
"""What joins two elements, what a segment begins with, and what the loop calls it."""

_IMPROVED = "  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"


def _is_half(x: np.ndarray) -> bool:
    return x.dtype.itemsize == 2


def _add_up(lengths: np.ndarray, n: int) -> None:
    if (lengths.sum(-1) != n).any():
        raise AutogradError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.")


def _segments(shape: tuple[int, ...], lengths: np.ndarray | None, offsets: np.ndarray | None, axis: int,
              unsafe: bool) -> tuple[np.ndarray, np.ndarray]:
    """(where segments begin, how long they are), one row for each place before `axis`, in torch's words where they are none."""
    given = lengths if offsets is None else offsets
    axis %= max(len(shape), 1)
    if given is None or given.ndim != axis + 1 or given.dtype not in (np.int32, np.int64):
        raise ValueError("lengths or offsets of int32 or int64 expected, for each place before the axis")
    name, n = "lengths" if offsets is None else "offsets", shape[axis]
    if offsets is None and not unsafe:
        if not given.size:
            raise AutogradError("min(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
                                "'dim' argument.")
        if given.min() < 0:
            raise AutogradError("lengths contains negative value!")
        _add_up(given, n)
    if given.shape[:-1] != shape[:axis] and not prod((*shape[:axis], *shape[axis + 1:])):  # nothing is read
        given = np.zeros((*shape[:axis], given.shape[-1]), np.int64)
        lengths, offsets = (given, None) if offsets is None else (None, given)
    if given.shape[:-1] != shape[:axis]:
        raise AutogradError(f"segment_reduce(): Expected {name} for each of {list(shape[:axis])}, but got {list(given.shape)}",
                            expected="the data's sizes before the axis", found=str(list(given.shape)))
    if offsets is not None and given is offsets and not given.shape[-1]:
        raise AutogradError(f"Trying to create tensor with negative dimension -1: {[*given.shape[:-1], -1, *shape[axis + 1:]]}",
                            expected="one offset or more")
    given = given.reshape(prod(shape[:axis]), given.shape[-1]).astype(np.int64, copy=False)
    counts = given if offsets is None else np.diff(given)
    starts = np.cumsum(given, -1) - given if offsets is None else given[:, :-1]
    if counts.size:
        if counts.min() < 0:
            raise AutogradError(f"Expected segment_length >= 0 to be true, but got false.{_IMPROVED}")
        if starts.min() < 0 or counts.max() > n or (starts + counts).max() > n:  # where torch reads past the end
            raise AutogradError(f"segment_reduce(): Expected segments within the {n} elements along the axis, but {name} reach beyond them",
                                expected=f"at most {n}", found="more")
    return starts, counts


class _Cut:
    """Data (rows, along the axis, the rest) as one column of elements, and the segments of all rows in it one after the other."""

    def __init__(self, data: np.ndarray, lengths: np.ndarray | None, offsets: np.ndarray | None, axis: int, unsafe: bool = True) -> None:
        starts, counts = _segments(data.shape, lengths, offsets, axis, unsafe)
        axis %= data.ndim
        n = data.shape[axis]
        self.rest = prod(data.shape[axis + 1:])
        self.result = (*data.shape[:axis], counts.shape[-1], *data.shape[axis + 1:])
        self.data = data.reshape(len(starts) * n, self.rest)
        self.starts = (starts + n * np.arange(len(starts))[:, None]).ravel()
        self.counts = counts.ravel()

    def spread(self, values: np.ndarray) -> np.ndarray:
        """What each segment has, for each of its elements; 0 for those that are in none."""
        found = np.repeat(values, self.counts, 0)
        if len(found) == len(self.data):  # segments follow on each other
            return found
        before = np.cumsum(self.counts) - self.counts
        whole = np.zeros((len(self.data), *found.shape[1:]), found.dtype)
        whole[np.arange(len(found)) + np.repeat(self.starts - before, self.counts)] = found
        return whole

    def joined(self, ufunc: np.ufunc, x: np.ndarray, start: float) -> np.ndarray:
        """`start` joined with the elements of `x`, which is like `data`, of each segment."""
        found = np.full((len(self.counts), self.rest), start, x.dtype)
        if ufunc in (np.add, np.multiply) and x.dtype.kind not in "iu" or _is_half(x):  # one after another, as torch rounds
            steps = int(self.counts.max(initial=0))
            if steps > len(found):
                for row, first, count in zip(found, self.starts.tolist(), self.counts.tolist()):
                    row[...] = ufunc.accumulate(np.concatenate([row[None], x[first:first + count]]), 0)[-1]
                return found
            order = np.argsort(-self.counts, kind="stable")
            starts, counts = self.starts[order], self.counts[order]
            taken = found[order]
            for step, many in enumerate(np.searchsorted(-counts, -np.arange(steps), "left")):
                taken[:many] = ufunc(taken[:many], x[starts[:many] + step])
            found[order] = taken
            return found
        filled = np.flatnonzero(self.counts)
        if filled.size and self.rest:
            cuts = np.stack([self.starts[filled], (self.starts + self.counts)[filled]], 1).ravel()
            if cuts[-1] == len(x):
                cuts = cuts[:-1]
            found[filled] = ufunc(found[filled], ufunc.reduceat(x, cuts, 0)[::2])
        return found


def _reduced(data: np.ndarray, reduce: str, lengths: np.ndarray | None = None, indices: np.ndarray | None = None,
             offsets: np.ndarray | None = None, axis: int = 0, unsafe: bool = False, initial: float | None = None) -> np.ndarray:
    ufunc, identity, how = _KINDS[reduce]
    if indices is not None:
        raise ValueError("lengths or offsets expected")
    start = identity if initial is None else float(initial)
    if (found := segments(data, how + (reduce == "mean" and initial is not None), lengths, offsets, axis, unsafe, start)) is not None:
        return found
    cut = _Cut(data, lengths, offsets, axis, unsafe)
    with ignoring():
        found = cut.joined(ufunc, cut.data, start)
        if reduce == "mean":
            counts = cut.counts[:, None].astype(data.dtype)
            found = found / (counts if initial is None else np.maximum(counts, np.ones((), data.dtype)))
    return found.reshape(cut.result)


def _others(cut: _Cut, initial: float) -> np.ndarray:
    """The product of `initial` and the other elements of its segment, for each that is 0 or NaN, by which none can be divided."""
    x = cut.data
    nan, zero = np.isnan(x), x == 0
    found = cut.spread(cut.joined(np.multiply, np.where(nan | zero, np.ones((), x.dtype), x), initial))
    for special, factor in ((zero, 0.0), (nan, np.nan)):
        others = cut.spread(cut.joined(np.add, special.astype(np.int32), 0)) > special
        found = np.where(others, found * np.asarray(factor, x.dtype), found)
    return found


def _gradient(grad: np.ndarray, output: np.ndarray, data: np.ndarray, reduce: str, lengths: np.ndarray | None = None,
              offsets: np.ndarray | None = None, axis: int = 0, initial: float | None = None) -> np.ndarray:
    if (made := segments_gradient(grad, output, data, _KINDS[reduce][2], lengths, offsets, axis)) is not None:
        return made
    cut = _Cut(data, lengths, offsets, axis)
    if grad.shape != cut.result or output.shape != cut.result:
        raise ValueError("a gradient of the result's shape expected")
    x = cut.data
    passed, result = grad.reshape(len(cut.counts), cut.rest), output.reshape(len(cut.counts), cut.rest)
    with ignoring():
        if reduce == "sum":
            found = cut.spread(passed)
        elif reduce == "mean":
            found = cut.spread(passed / np.maximum(cut.counts, 1)[:, None].astype(x.dtype))
        elif reduce == "prod":
            found = cut.spread(passed * result) / x
            single = np.isnan(x) | (x == 0)
            if single.any():
                found = np.where(single, cut.spread(passed) * _others(cut, 1.0 if initial is None else initial), found)
                found[cut.spread(np.ones(len(cut.counts), bool)) == 0] = 0
        else:
            hit = (x == cut.spread(result)) | np.isnan(x)
            found = np.where(hit, cut.spread(passed), np.zeros((), x.dtype))
            several = cut.joined(np.add, hit.astype(np.int32), 0)
            if several.max(initial=0) > 1:  # torch shares out what is above 0 alone
                found = np.where(found > 0, found / cut.spread(np.maximum(several, 1).astype(x.dtype)), found)
    return found.reshape(data.shape)


def _check_given(name: str, given: TensorRef, data: TensorRef, axis: int) -> None:
    """torch's refusals of lengths or offsets that are not such for the shape and dtype of the data."""
    if data.ndim < given.ndim:
        raise AutogradError(f"Expected data.dim() >= {name}_value.dim() to be true, but got false.{_IMPROVED}")
    if axis != given.ndim - 1:
        raise AutogradError(f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}.")


def _sharded(call: Any) -> Any:
    """Whatever is split before the axis is so in all tensors, what lies behind it in all but the lengths or offsets."""
    axis, ndim = call["axis"] % len(call.shape("data")), len(call.shape("data"))
    whole = [None if d == axis else d for d in range(ndim)]
    given = [whole[:len(call.shape(p.name))] for p, _ in call.operands]
    return call.propagate(given, [whole])


def _batched(F: Functions, call: BatchedCall) -> Any:
    """Examples are further places before the axis."""
    if not call.size:
        return NotImplemented
    return call(**{name: call.whole(name) for name in call.ranks}, axis=shifted(call.axis, call.ranks["data"]))


@op("segment_reduce(Tensor data, str reduce, *, Index? lengths=None, Index? indices=None, Index? offsets=None, int axis=0, "
    "bool unsafe=False, Scalar? initial=None) -> Tensor", out=False, method=False, alias="=_segment_reduce")
class segment_reduce:
    """The sum, mean, product, largest or smallest of each of the segments that a dimension is cut into.

    `lengths` of segments, or `offsets` where they begin and the last ends, are of int32 or int64, of the data's dimensions up to `axis`.
    Segments without elements are `initial`, or what the reduction begins with (NaN for means).

    >>> torch.segment_reduce(torch.tensor([1., 2., 3.]), "sum", lengths=torch.tensor([1, 2]))
    tensor([1., 5.])
    """

    no_forward = "segment_reduce"
    saved_as = {"data": "data"}
    layout = "rows"
    sharding = _sharded
    batch = _batched
    numpy = half = _reduced
    compose = on_host(_reduced)

    def shape(data, reduce, lengths, indices, offsets, axis, unsafe, initial):
        axis = wrap_dim(axis, len(data))
        return (*data[:axis], lengths[axis] if offsets is None else offsets[axis] - 1, *data[axis + 1:])

    def vjp(F, grad, result, data, reduce, lengths, offsets, axis, initial):
        return F.segment_reduce_backward(grad, result, data, reduce, lengths=lengths, offsets=offsets, axis=axis, initial=initial)

    def check(data, reduce, lengths, indices, offsets, axis, unsafe, initial):
        axis = wrap_dim(axis, data.ndim)
        if indices is not None:
            raise AutogradError("segment_reduce(): indices based reduction is not supported yet.")
        given, name = (lengths, "lengths") if offsets is None else (offsets, "offsets")
        if given is None:
            raise AutogradError("segment_reduce(): Either lengths or offsets must be defined.")
        if reduce not in _KINDS:
            raise AutogradError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
        _check_given(name, given, data, axis)
        if "meta" in (given._k.device.type, data._k.device.type):
            return
        if given._k.dtype.name not in ("int32", "int64"):
            if given is lengths and not unsafe:
                if given._k.dtype.is_complex:
                    no_kernel("min_all", given)
                _add_up(values_of(given), data.shape[axis])
            no_kernel(f"_segment_reduce_{name}_cpu_kernel1", given)
        if data._k.dtype.category != FLOATING or data._k.dtype.group:
            no_kernel("_segment_reduce_cpu", data)
        if initial is not None:
            check_number(initial, data._k.dtype)

    def samples(rng):
        for how in ("sum", "mean", "max", "prod"):
            yield Sample((rng.standard_normal((5, 2)), how), {"lengths": np.array([2, 3])})
        yield Sample((rng.standard_normal((2, 3, 2)), "min"), {"offsets": np.array([[0, 2, 3], [1, 2, 3]]), "axis": 1, "unsafe": True,
                                                               "initial": 2.0})

    def errors(rng):
        yield Sample((np.ones(3), "sum"), {"lengths": np.array([1, 1])}), RuntimeError, (
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.")
        yield Sample((np.ones(3), "sum"), {"lengths": np.array([4]), "unsafe": True}), RuntimeError, (
            "segment_reduce(): Expected segments within the 3 elements along the axis, but lengths reach beyond them")


@op("segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Index? lengths=None, Index? offsets=None, "
    "int axis=0, Scalar? initial=None) -> Tensor", out=False, method=False, namespace="_internal", node="NotImplemented")
class segment_reduce_backward:
    """The gradient of `segment_reduce` with respect to its data, from that of its `output`."""

    aten = "_segment_reduce_backward"
    sharding = _sharded
    batch = _batched
    numpy = half = _gradient
    compose = on_host(_gradient)
    def shape(grad, output, data, *rest): return data
    vjp = no_derivative("_segment_reduce_backward")

    def samples(rng):
        yield Sample((rng.standard_normal(2), rng.standard_normal(2), rng.standard_normal(5), "sum"), {"lengths": np.array([2, 3])},
                     no_gradient="torch has none")
