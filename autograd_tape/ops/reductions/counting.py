"""Distinct elements, counts in bins, and search in sorted sequences."""

from __future__ import annotations

from math import isfinite, prod
from typing import Any

import numpy as np

from ...dims import wrap_dim
from ...dtypes import BOOL, COMPLEX, FLOATING, INTEGER, SCALAR_TYPE_NAMES, promote
from ...errors import AutogradError, type_name
from ...executors.kernels import folds, order, reduce
from ...executors.kernels.halves import widened
from ...executors.kernels.moved import places
from ...executors.kernels.pairs import neighbours
from ...functions.out import EXPECTED, POSITIONS, OutRule
from ...functions.overloads import no_match
from ...functions.refusals import no_kernel
from ...modes import GradMode, grad_mode
from ...node import TapeEntry, edge_of
from ...record import Sample, dynamic_shape, op
from ...tensor import TensorRef, next_id
from .._host import need_values, values_of
from ..networks._losses import constant
from ...annotations import Functions, Number, Values
from .extremes import _aminmax
from .running import _cumsum


# -- distinct elements ------------------------------------------------------------------------------------------------------------


class _NoDerivative(TapeEntry):
    """The history of values that are not differentiated: it refuses."""

    __slots__ = ()
    frees = False
    error: type[Exception]
    text: str

    def raw(self, grad: Values, F: Functions) -> Any:
        """Raises."""
        raise self.error(self.text)

    recorded = raw

    @classmethod
    def behind(cls, result: TensorRef, input: TensorRef) -> TensorRef:
        """`result`, with this history where `input` has one."""
        if input._node is not None and grad_mode() is GradMode.ENABLED:
            entry = cls()
            entry.id, entry.edges, entry.saved, entry.meta = next_id(), (edge_of(input),), (), None
            result._node = entry
        return result


def no_derivative_node(name: str, error: type[Exception], text: str) -> type[_NoDerivative]:
    """The class of nodes called `name` that refuse a gradient with such an error."""
    return type(name, (_NoDerivative,), {"__slots__": (), "error": error, "text": text})


_Unique2, _UniqueDim, _UniqueConsecutive = [
    no_derivative_node(f"{node}Backward0", NotImplementedError, f"the derivative for '{what}' is not implemented.")
    for node, what in (("Unique2", "_unique2"), ("UniqueDim", "unique_dim"), ("UniqueConsecutive", "unique_consecutive"))]
_Bincount = no_derivative_node("NotImplemented", AutogradError, "derivative for aten::bincount is not implemented")


def _results(F: Functions, parts: tuple[Any, ...], wanted: tuple[bool, ...], input: TensorRef, node: type[_NoDerivative]) -> Any:
    found = tuple([F.wrap(p, input._k if i == 0 else None) for i, (p, w) in enumerate(zip(parts, wanted)) if w])
    node.behind(found[0], input)
    return found if len(found) > 1 else found[0]


def _check_zero_sizes(data: np.ndarray, d: int) -> None:
    """torch's refusals of slices without elements, which it cannot tell apart."""
    if data.shape.count(0) > 1:
        raise AutogradError("Number of zero sized dimensions is more than one, so unique cannot be applied ")
    if not data.size and data.shape[d]:
        raise AutogradError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")


_MANY = 256  # elements from which the kernel that sorts is quicker than NumPy's sorts


def _distinct(data: np.ndarray, return_inverse: bool, return_counts: bool) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """The distinct elements in order, where each element went, and how often each occurs, what is not asked for perhaps None. Each NaN is
    distinct, as NaN equals nothing."""
    line = data.reshape(-1)
    if data.dtype.char == "?":
        count = int(np.count_nonzero(line))
        counted = np.array([line.size - count, count])
        held = counted != 0
        of_each = (line & held[0]).astype(np.int64).reshape(data.shape) if return_inverse else None
        return np.array([False, True])[held], of_each, counted[held]
    if line.dtype.kind in "iu" and line.size >= _MANY and (span := _span(line)) is not None:
        return _distinct_close(line, *span, data.shape if return_inverse else None)
    if line.size >= _MANY and order.fits(line.size):
        at = order.ordered(line.reshape(1, -1), False)[0]
        line = line[at]
    elif return_inverse:
        at = line.argsort(kind="stable") if data.dtype.char != "E" else line.astype(np.float32).argsort(kind="stable")
        line = line[at]
    else:
        line = np.sort(line) if data.dtype.char != "E" else np.sort(line.astype(np.float32)).astype(data.dtype)
    inverse: np.ndarray | None = None
    if (runs := order.runs(line, return_inverse, return_counts)) is not None:
        values, of, counts = runs
        if of is not None:
            inverse = np.empty(line.size, np.int64)
            inverse[at] = of
            inverse = inverse.reshape(data.shape)
        return values, inverse, counts
    first = _changes(line)
    if return_inverse:
        inverse = np.empty(line.size, np.int64)
        inverse[at] = (_cumsum(first, 0) if line.size >= _MANY << 4 else np.add.accumulate(first, dtype=np.int64)) - 1
        inverse = inverse.reshape(data.shape)
    starts = _starts(first)
    return line.take(starts), inverse, _lengths(starts, line.size) if return_counts else None


def _span(line: np.ndarray) -> tuple[int, int] | None:
    """The least of integers, and how many there are up to the largest; None where they are more than the line is long."""
    low, high = int(np.minimum.reduce(line)), int(np.maximum.reduce(line))
    return (low, high - low + 1) if high - low < line.size else None


def _distinct_close(line: np.ndarray, low: int, bins: int, shape: tuple[int, ...] | None) -> tuple[
        np.ndarray, np.ndarray | None, np.ndarray]:
    """`_distinct` of integers that lie close, which are counted; where each went in a ``shape``."""
    counts = reduce.counted(line, bins, low)
    held = counts.nonzero()[0]
    inverse = None
    if shape is not None:
        ranks = np.empty(bins, np.int64)
        ranks[held] = np.arange(held.size)
        inverse = ranks.take(line.astype(np.int64, copy=False) - low).reshape(shape)
    return (held + low).astype(line.dtype, copy=False), inverse, counts.take(held)


def _runs(data: np.ndarray, return_inverse: bool, return_counts: bool) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """The first elements of runs of equal ones, which run each element is in, and how long they are; None as above."""
    line = data.reshape(-1)
    if (found := order.runs(line, return_inverse, return_counts)) is not None:
        values, inverse, counts = found
        return values, None if inverse is None else inverse.reshape(data.shape), counts
    first = _changes(line)
    first[:1] = False
    inverse = _cumsum(first, 0).reshape(data.shape) if return_inverse else None
    first[:1] = True
    at = _starts(first)
    return line.take(at), inverse, _lengths(at, line.size) if return_counts else None


def _changes(line: np.ndarray) -> np.ndarray:
    """Where another element than the one before begins, as the first does."""
    first = np.empty(line.size, bool)
    first[:1] = True
    if line.dtype.char in "eE" and line.size > 1:
        first[1:] = neighbours(np.not_equal, line, 0)
    else:
        np.not_equal(line[1:], line[:-1], first[1:])
    return first


def _starts(first: np.ndarray) -> np.ndarray:
    """Where a mask is set."""
    return first.nonzero()[0] if (found := places(first)) is None else found[0]


def _lengths(starts: np.ndarray, size: int) -> np.ndarray:
    """How long the runs are that begin at these places of so many."""
    found = np.empty(starts.size, np.int64)
    np.subtract(starts[1:], starts[:-1], found[:-1])
    found[-1:] = size - starts[-1:]
    return found


def _asked(found: tuple[np.ndarray | None, ...]) -> Any:
    """The results that there are: one as it is."""
    wanted = tuple([f for f in found if f is not None])
    return wanted if len(wanted) > 1 else wanted[0]


_SIGN = np.uint64(1 << 63)


def _distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct parts along the first dimension, in order, where each went, and how many there are of each. Integers, whose bytes from
    the first on are in their order, are sorted as strings, where NumPy's structures compare number by number."""
    n, flat = len(rows), np.ascontiguousarray(rows).reshape(len(rows), -1) if rows.size else rows
    if not rows.size or not (flat.dtype.kind in "iub" or flat.dtype.char in "fd") or flat.dtype.kind == "f" and (
            (flat != flat).any() or ((flat == 0) & np.signbit(flat)).any()):  # equal ones differ
        return np.unique(rows, return_inverse=True, return_counts=True, axis=0)
    words = (order.keys(flat).view(np.uint64) ^ _SIGN).byteswap()
    at = words.view(f"S{8 * flat.shape[1]}").reshape(n).argsort(kind="stable")
    words, changes = words[at], np.ones(n, bool)
    np.logical_or.reduce(words[1:] != words[:-1], 1, None, changes[1:])
    begins, inverse = changes.nonzero()[0], np.empty(n, np.int64)
    inverse[at] = changes.cumsum() - 1
    return flat[at[begins]].reshape(-1, *rows.shape[1:]), inverse, np.diff(begins, append=n)


@op("unique(Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor", out=False,
    dtypes="float int bool")
class unique:
    """The distinct elements, in order; where asked also where each element went, and how often each occurs.

    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """

    gives = "Any"
    home = "functional"
    lacks = {"complex chalf float8": "unique"}
    def no_forward(dim, **_): return "_unique2" if dim is None else "unique_dim"
    def no_vmap(dim, **_): return dynamic_shape("_unique2" if dim is None else "unique_dim")

    def quick(input, sorted, return_inverse, return_counts, dim):
        if dim is None:
            found = _distinct(input, return_inverse, return_counts)
            return _asked(found if return_counts else found[:2])

    def function(F, input, sorted=True, return_inverse=False, return_counts=False, dim=None):
        data = need_values(input)
        if dim is None:
            return _results(F, _distinct(data, return_inverse, return_counts), (True, return_inverse, return_counts), input, _Unique2)
        d = wrap_dim(dim, data.ndim)
        if not data.ndim:
            return _results(F, (data.copy(), np.zeros((), np.int64), np.ones((), np.int64)), (True, return_inverse, return_counts),
                            input, _UniqueDim)
        _check_zero_sizes(data, d)
        # torch moves the dimension to the front, and what it returns is a view that moves it back.
        values, inverse, counts = _distinct_rows(np.moveaxis(data, d, 0))
        values = np.moveaxis(np.ascontiguousarray(values), 0, d)
        return _results(F, (values, inverse.reshape(-1), counts), (True, return_inverse, return_counts), input, _UniqueDim)

    def samples(rng):
        yield rng.integers(0, 3, (2, 4)), True, True, True
        yield Sample((rng.integers(0, 3, (2, 4)) / 2, True), no_gradient="torch differentiates no sets")
        yield rng.integers(0, 2, (4, 2)), True, True, True, 0

    def errors(rng):
        yield (np.ones((2, 3)), True, False, False, 9), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 9)"


@op("unique_consecutive(Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor", out=False,
    dtypes="float int bool")
class unique_consecutive:
    """The elements without repetitions of the one before; where asked also where each went, and how often it was repeated.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """

    gives = "Any"
    home = "functional"
    lacks = {"complex chalf float8": "unique"}
    no_forward = "unique_consecutive"
    no_vmap = dynamic_shape("unique_consecutive")

    def quick(input, return_inverse, return_counts, dim):
        if dim is None:
            return _asked(_runs(input, return_inverse, return_counts))

    def function(F, input, return_inverse=False, return_counts=False, dim=None):
        data = need_values(input)
        if dim is None:
            return _results(F, _runs(data, return_inverse, return_counts), (True, return_inverse, return_counts), input, _UniqueConsecutive)
        if data.ndim:
            _check_zero_sizes(data, wrap_dim(dim, data.ndim))
        rows = np.moveaxis(data, wrap_dim(dim, data.ndim), 0) if data.ndim else data.reshape(1)
        n = rows.shape[0]
        changes = np.ones(n, bool)
        if n > 1:
            changes[1:] = (rows[1:] != rows[:-1]).reshape(n - 1, -1).any(1)
        at = np.flatnonzero(changes)
        inverse = np.cumsum(changes) - 1
        values = np.moveaxis(np.ascontiguousarray(rows[at]), 0, wrap_dim(dim, data.ndim))
        return _results(F, (values, inverse, np.diff(np.append(at, n))), (True, return_inverse, return_counts), input, _UniqueConsecutive)

    def samples(rng):
        yield rng.integers(0, 2, (2, 4)), True, True
        # By position torch forgets the inverse.
        yield Sample((rng.integers(0, 2, (2, 4)) / 2,), {"return_inverse": True}, no_gradient="torch differentiates no sets")
        yield rng.integers(0, 2, (4, 1)), True, True, 0


# -- counting in bins -------------------------------------------------------------------------------------------------------------


@op("bincount(Tensor input, Tensor? weights=None, int minlength=0) -> Tensor", out=False, dtypes="int")
class bincount:
    """How often each number from 0 on occurs, or the sum of its weights.

    >>> torch.bincount(torch.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """

    lacks = {"bool uint": "bincount_cpu"}
    no_forward = "aten::bincount"
    reads = "input weights"

    def quick(input, weights, minlength):
        if input.ndim != 1 or not input.size or minlength.__class__ is not int or minlength < 0:
            return None
        if weights is None:
            if input.dtype.char not in "Bbhil":
                return None
            low, high = map(int, folds.whole_ends(input, "<>") or (np.minimum.reduce(input), np.maximum.reduce(input)))
            return reduce.counted(input, max(high + 1, minlength)) if low >= 0 else None
        if input.dtype.char == "l" and weights.shape == input.shape and weights.dtype.char in "fdeE?l":
            found = np.bincount(input, weights if weights.itemsize != 2 else widened(weights), minlength)  # who refuses negative numbers
            return found if weights.dtype.char != "f" else found.astype(np.float32)

    def function(F, input, weights=None, minlength=0):
        if input._k.dtype.category not in (INTEGER, BOOL):
            no_kernel("bincount_cpu", input)
        data = need_values(input)
        if data.ndim != 1 or data.size and data.min() < 0:
            raise AutogradError("bincount only supports 1-d non-negative integral inputs.")
        if minlength < 0:
            raise AutogradError("minlength should be >= 0")
        if not data.size:
            return constant(F, input, np.zeros(minlength, np.int64))
        if weights is not None and weights.shape != input.shape:
            raise AutogradError("weights should be 1-d and have the same length as input")
        result = np.bincount(data.astype(np.int64, copy=False), None if weights is None else values_of(weights).real, minlength)
        single = weights is not None and weights._k.dtype.name == "float32"
        result = constant(F, input, result.astype(np.float32) if single else result)
        return result if weights is None else _Bincount.behind(result, weights)

    def samples(rng):
        yield (rng.integers(0, 4, 6),)
        yield Sample((rng.integers(0, 4, 6), rng.random(6), 7), no_gradient="torch differentiates no weights")

    def errors(rng):
        yield (np.array([-1]),), RuntimeError, "bincount only supports 1-d non-negative integral inputs."


@op("histc(Tensor input, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", dtypes="float")
class histc:
    """How many elements fall into each of `bins` bins of equal width from `min` to `max`, or over all elements where these are equal.

    >>> torch.histc(torch.tensor([1., 2., 1.]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """

    lacks = {"rare": "aminmax_cpu"}
    out_dtype = OutRule("torch.histogram: input tensor and hist tensor should have the same dtype, but got input {wanted_c} and hist "
                        "{found_c}")
    reads = "input"

    def quick(input, bins, min, max):
        if bins > 0 and input.dtype.char in "fd" and input.size:
            low, high = [float(end) for end in ((min, max) if min != max else _aminmax(input, None, False))]
            if low < high and isfinite(high - low):
                return reduce.binned(input, bins, low, high).astype(input.dtype)

    def function(F, input, bins=100, min=0, max=0):
        if input._k.dtype.category != FLOATING:
            no_kernel("histogram_cpu", input)
        if bins <= 0:
            raise AutogradError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
        data = values_of(input)
        low, high = float(min), float(max)
        if low == high and data.size:
            low, high = float(data.min()), float(data.max())
        if low == high:
            low, high = low - 1, high + 1
        if not (np.isfinite(low) and np.isfinite(high)):
            raise AutogradError(f"torch.histc: range of [{low}, {high}] is not finite")
        if low > high:
            raise AutogradError("torch.histc: max must be larger than min")
        return F.wrap(reduce.binned(data, bins, low, high).astype(data.dtype), input._k)

    def samples(rng):
        yield rng.standard_normal(20), 5
        yield rng.standard_normal(20), 4, -1, 1

    def errors(rng):
        yield (np.ones(3), 0), RuntimeError, "torch.histogram(): bins must be > 0, but got 0 for dimension 0"
        yield (np.ones(3), 5, 3, 1), RuntimeError, "torch.histc: max must be larger than min"


# -- search -------------------------------------------------------------------------------------------------------------------------


def bisect(sequence: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray:
    """Where `values` would go into `sequence`, or those of each row into its row: before equal elements, or behind where `right`.

    Where `sequence` is not sorted, or has NaN, halving finds the place that it finds in torch; NumPy's search would find another.

    >>> bisect(np.array([1.0, np.nan, np.nan]), np.array([1.0, 5.0]), False)
    array([3, 3])
    """
    if (found := order.bisect(sequence, values, right)) is not None:
        return found
    if sequence.dtype.char == "E":  # NumPy loses its way behind NaN
        sequence, values = sequence.astype(np.float32), values.astype(np.float32)
    n = sequence.shape[-1]
    if sequence.ndim > 1 and n > 1 and values.shape[-1] >= 16 and (sequence[..., 1:] >= sequence[..., :-1]).all():
        found = np.empty(values.shape, np.int64)
        for row, sought, places in zip(sequence.reshape(-1, n), values.reshape(-1, values.shape[-1]), found.reshape(-1, values.shape[-1])):
            places[:] = row.searchsorted(sought, "right" if right else "left")
        return found
    if sequence.ndim == 1 and (sequence[1:] >= sequence[:-1]).all() and not (n == 1 and sequence[0] != sequence[0]):
        return np.searchsorted(sequence, values, "right" if right else "left")
    low, high = np.zeros(values.shape, np.int64), np.full(values.shape, n)
    for _ in range(n.bit_length()):
        middle = low + high >> 1
        at = np.minimum(middle, n - 1)
        element = sequence[at] if sequence.ndim == 1 else np.take_along_axis(sequence, at, -1)
        behind = element > values if right else element >= values
        low, high = np.where(behind | (low == high), low, middle + 1), np.where(behind, middle, high)
    return low


_SEARCH = "bool out_int32 = False, bool right = False"
_SIDES = f"{_SEARCH}, str side = None, Tensor sorter = None, Tensor out = None"
SEARCHSORTED = (f"Tensor sorted_sequence, Tensor input, *, {_SIDES}", f"Tensor sorted_sequence, Number self, *, {_SIDES}")
BUCKETIZE = (f"Tensor input, Tensor boundaries, *, {_SEARCH}, Tensor out = None", f"Number self, Tensor boundaries, *, {_SEARCH}")


def _sought(name: str, overloads: tuple[str, ...], given: tuple[TensorRef, ...], at: int, dtype: np.dtype | None = None) -> np.ndarray:
    """The values that `name` is to find: argument `at` of `given`, a tensor or a number."""
    value = given[at]
    if isinstance(value, TensorRef):
        return values_of(value)
    if not isinstance(value, (int, float, complex, np.number)) or not isinstance(given[1 - at], TensorRef):
        raise no_match(name, overloads, given, [type_name(v) for v in given])
    if isinstance(value, (complex, np.complexfloating)):
        raise NotImplementedError("\"searchsorted_out_cpu\" not implemented for 'ComplexFloat'")
    return np.asarray(value).astype(dtype)


def _compared(sequence: TensorRef, values: TensorRef) -> tuple[np.ndarray, np.ndarray]:
    """A sequence and the values to find in it, in the dtype in which they are compared."""
    common = promote(sequence._k.dtype, values._k.dtype)
    if common.category in (BOOL, COMPLEX) and sequence._data.size and values._data.size:
        no_kernel("searchsorted_out_cpu", sequence, common)
    return values_of(sequence).astype(common.np, copy=False), values_of(values).astype(common.np, copy=False)


def _search_lacks(*given: object, **named: object) -> str | None:
    """Of a tensor and a number; two tensors are compared in one dtype, which `_compared` asks for."""
    operands = [*given, *named.values()][:2]
    return None if all([isinstance(o, TensorRef) for o in operands]) else "searchsorted_out_cpu if any"


@op("searchsorted(Tensor sorted_sequence, Operand input, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) "
    "-> Tensor",
    method=False, complex="analytic")
class searchsorted:
    """Where each value would go into the sorted last dimension, before equal elements, or behind where `right`.

    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    tensor([1, 3])
    """

    lacks = {"bool complex": _search_lacks, "rare": "searchsorted_out_cpu if any"}
    out_dtype = POSITIONS

    def quick(sequence, values, out_int32, right, side, sorter):
        if sequence.dtype is values.dtype and sequence.ndim and side is sorter is None and not out_int32 and (
                sequence.ndim == 1 or sequence.shape[:-1] == values.shape[:-1]):
            return bisect(sequence, values, right) if (found := order.bisect(sequence, values, right)) is None else found

    def function(F, sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
        if side not in (None, "left", "right"):
            raise AutogradError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
        if side == "left" and right:
            raise AutogradError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True")
        side = "right" if right or side == "right" else "left"
        sequence = values_of(sorted_sequence)
        values = _sought("searchsorted", SEARCHSORTED, (sorted_sequence, input), 1, sequence.dtype)
        if isinstance(input, TensorRef):
            sequence, values = _compared(sorted_sequence, input)
        if sequence.ndim == 0:
            raise AutogradError("torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension")
        if sorter is not None:
            if sorter.shape != sorted_sequence.shape:
                raise AutogradError(f"torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                                    f"{list(sequence.shape)}and got sorter tensor {list(sorter.shape)}")
            if sorter._k.dtype.name != "int64":
                raise AutogradError("torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
                                    f"{SCALAR_TYPE_NAMES[sorter._k.dtype.name]}", remedy="convert it with .long()")
            at = values_of(sorter)
            if at.size and not 0 <= at.min() <= at.max() < at.shape[-1]:
                raise AutogradError("torch.searchsorted(): sorter index out of range")
            sequence = np.take_along_axis(sequence, at, -1)
        if sequence.ndim > 1 and (values.ndim != sequence.ndim or values.shape[:-1] != sequence.shape[:-1]):
            raise AutogradError(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
                f"value tensor must match, but we got boundaries tensor {list(sequence.shape)} and input value tensor "
                f"{list(values.shape)}")
        found = bisect(sequence, values, side == "right")
        return constant(F, sorted_sequence, np.asarray(found, np.int32 if out_int32 else np.int64))

    def batch(F, call):
        """Rows of sequences, with as many rows of values."""
        sequence, values, rank = call.sorted_sequence, call.input, call.ranks["sorted_sequence"]
        if not call.is_batched["sorted_sequence"] and not call.is_batched["sorter"] and rank == 1:
            return call()
        if not rank or rank > 1 and call.ranks.get("input") != rank:
            return NotImplemented
        sequence = call.whole("sorted_sequence")
        if "input" not in call.ranks:
            values = F.full((call.size,), values, dtype=sequence.dtype)
        else:
            values = call.whole("input")
        shape = tuple(values.shape)
        if rank == 1:
            values = F.reshape(values, (call.size, prod(shape[1:])))
        return F.reshape(call(sorted_sequence=sequence, input=values, sorter=None if call.sorter is None else call.whole("sorter")), shape)

    def samples(rng):
        yield np.arange(5.0), rng.uniform(-1, 6, (2, 3))
        yield np.sort(rng.standard_normal((2, 5))), rng.standard_normal((2, 3))

    def errors(rng):
        yield (np.ones((3, 4)), np.ones(4)), RuntimeError, (
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
            "value tensor must match, but we got boundaries tensor [3, 4] and input value tensor [4]")


@op("bucketize(Operand input, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", method=False, dtypes="float int",
    complex="analytic")
class bucketize:
    """The bucket each value falls into; bucket i ends with boundary i, or begins behind it where `right`.

    >>> torch.bucketize(torch.tensor([3., 6.]), torch.tensor([1., 3., 5.]))
    tensor([1, 3])
    """

    lacks = {"bool complex": _search_lacks, "rare": "searchsorted_out_cpu if any"}
    out_dtype = POSITIONS

    def quick(values, sequence, out_int32, right):
        if sequence.dtype is values.dtype and sequence.ndim == 1 and not out_int32:
            return bisect(sequence, values, right) if (found := order.bisect(sequence, values, right)) is None else found

    def function(F, input, boundaries, *, out_int32=False, right=False):
        if boundaries.ndim != 1:
            raise AutogradError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
        values = _sought("bucketize", BUCKETIZE, (input, boundaries), 0)
        sequence, values = _compared(boundaries, input) if isinstance(input, TensorRef) else (values_of(boundaries), values)
        found = bisect(sequence, values, right)
        result = constant(F, boundaries, np.asarray(found, np.int32 if out_int32 else np.int64))
        return result

    def batch(F, call):
        """Boundaries of each example are sequences to search."""
        if call.ranks["boundaries"] != 1:
            return NotImplemented
        if not call.is_batched["boundaries"]:
            return call()
        boundaries = call.boundaries
        values = call.whole("input") if "input" in call.ranks else F.full((call.size,), call.input, dtype=boundaries.dtype)
        if values.dtype is not boundaries.dtype:
            return NotImplemented
        shape = tuple(values.shape)
        flat = F.reshape(values, (call.size, prod(shape[1:])))
        return F.reshape(F.searchsorted(boundaries, flat, out_int32=call.out_int32, right=call.right), shape)

    def samples(rng): yield rng.uniform(-1, 6, (2, 3)), np.arange(5.0)
    def errors(rng): yield (np.ones(3), np.ones((2, 2))), RuntimeError, "boundaries tensor must be 1 dimension, but got dim(2)"


def _inside(a: np.ndarray, b: np.ndarray, assume_unique: bool, invert: bool) -> np.ndarray:
    """Whether each element of `a` is in `b`, or where `invert`, is not."""
    if b.size == 1:
        inside = (np.not_equal if invert else np.equal)(a, b.reshape(()))
    elif 0 < a.size * b.size <= 64 and a.dtype is b.dtype and a.dtype.char in "fdlihbB" and a.flags.carray:  # Python knows it
        among = b.ravel().tolist()
        inside = np.array([(v in among) is not invert for v in a.ravel().tolist()], bool).reshape(a.shape)
    elif 0 < a.size * b.size <= 64:  # np.isin takes ten times as long to say how it will look
        inside = np.logical_or.reduce(np.equal(a[..., None], b.reshape(-1)), -1)
        inside = ~inside if invert else inside
    else:
        inside = np.isin(a, b, assume_unique=assume_unique and a.ndim == 1, invert=invert)
    return np.asarray(inside, order="C")


def _isin_lacks(elements: TensorRef, test_elements: TensorRef | Number, **_: object) -> str | None:
    """torch compares each with each, or sorts where there are many to look for; a number it compares with by `eq`."""
    if not isinstance(test_elements, TensorRef):
        return None
    if test_elements._data.size < 10 * elements._data.size ** 0.145:
        return "isin_default_cpu"
    return None if elements._k.dtype.group == "uint" else "unique"


@op("isin(Operand elements, Operand test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor", method=False,
    dtypes="float int")
class isin:
    """Whether each element is among the test elements.

    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 3]))
    tensor([False,  True,  True])
    """

    words = {"element": "elements", "test_element": "test_elements"}
    lacks = {"bool complex64 complex128": "RuntimeError: Unsupported input type encountered for isin(): {dtype}",
             "rare": _isin_lacks}
    out_dtype = EXPECTED
    reads = "elements test_elements"

    def quick(elements, test_elements, assume_unique, invert):
        if elements.__class__ is test_elements.__class__ is np.ndarray and test_elements.dtype is elements.dtype and (
                elements.dtype.char != "?"):
            return _inside(elements, test_elements, assume_unique, invert)

    def function(F, elements, test_elements, *, assume_unique=False, invert=False):
        if not isinstance(test_elements, TensorRef):
            return (F.ne if invert else F.eq)(elements, test_elements)
        if test_elements._k.dtype.category in (BOOL, COMPLEX):
            raise AutogradError("Unsupported input type encountered for isin(): "
                                f"{SCALAR_TYPE_NAMES[test_elements._k.dtype.name]}")
        a, b = [values_of(x) if isinstance(x, TensorRef) else np.asarray(x) for x in (elements, test_elements)]
        like = elements if isinstance(elements, TensorRef) else test_elements
        found = constant(F, like, _inside(a, b, assume_unique, invert))
        return found

    def samples(rng): yield rng.integers(0, 9, (2, 3)), rng.integers(0, 9, 4)
