"""Elements gathered from, and scattered to, positions along a dimension, or of the flattened tensor."""

from __future__ import annotations

from math import prod
from typing import Any
from collections.abc import Sequence

import numpy as np

from ...dims import broadcast_shape, wrap_dim
from ...dtypes import BOOL, CPU_KINDS, SCALAR_TYPE_NAMES, fitting
from ...errors import AutogradError, IndexRangeError
from ...executors.kernels import embedding as elements
from ...executors.kernels._on_demand import is_half
from ...executors.kernels.folds import within
from ...executors.kernels.embedding import ELEMENTS, FLAT, ONE, PARTS, how_added, put_others
from ...executors.kernels.moved import lying
from ...executors.kernels.reduce import add_at
from ...executors.kernels.sharing import copy, fill
from ...functions.namespace import KIND_SETS, REALS
from ...functions.out import EXPECTED, OutRule
from ...functions.refusals import no_kernel, on_meta
from ...record import op
from ...strided import copy_like
from ...tensor import TensorRef, above
from .. import _batch as batches
from .. import _shapes as shapes
from .._host import on_host, values_of
from .._samples import IN_ALL, check_number, takes_floats
from ..networks._losses import constant
from .index import is_index_apart, is_plain_apart
from ...annotations import Fn, Functions, Values
from .._batch import BatchedCall


class _RangeError(AutogradError, IndexError):
    """An index out of range, which torch reports as a RuntimeError here."""


def _is_index(index: TensorRef, name: str) -> None:
    if index._k.dtype.name not in ("int32", "int64") and index._data.size:
        raise AutogradError(f"{name}(): Expected dtype int32/int64 for index", expected="int64", found=index._k.dtype.name,
                            remedy="convert the index with .long()")


def long_alone(index: TensorRef, name: str) -> None:
    """Raises torch's error for positions that are no int64, which its kernels, and so not those of meta tensors, look for."""
    if index._k.dtype.name != "int64" and not on_meta(index):
        raise AutogradError(f"{name}(): Expected a long tensor for index, but got {SCALAR_TYPE_NAMES[index._k.dtype.name]}",
                            expected="int64", remedy="convert the index with .long()")


def _in_range(index: np.ndarray, n: int, d: int, error: type[AutogradError] = _RangeError, place: str = "") -> None:
    if index.size and (index.min() < 0 or index.max() >= n):
        bad = index[(index < 0) | (index >= n)].reshape(-1)[0]
        raise error(f"{place}index {bad} is out of bounds for dimension {d} with size {n}", expected=f"0 to {n - 1}", found=str(bad))


def _positions(index: np.ndarray, d: int) -> tuple[np.ndarray, ...]:
    """The NumPy index whose coordinate `d` is `index`, the others the element's own."""
    grid = [np.arange(n).reshape((n,) + (1,) * (index.ndim - 1 - i)) for i, n in enumerate(index.shape)]
    grid[d] = index
    return tuple(grid)


# -- gather and scatter ---------------------------------------------------------------------------------------------------


def _check_rank(input: TensorRef, index: TensorRef, other: str = "input") -> None:
    if max(input.ndim, 1) != max(index.ndim, 1) and index._data.size:
        raise AutogradError(f"Index tensor must have the same number of dimensions as {other} tensor", expected=f"{input.ndim} dimensions",
                            found=f"{index.ndim}")


def _gather(input: np.ndarray, dim: int, index: np.ndarray, sparse_grad: bool = False) -> np.ndarray:
    try:
        if (found := elements.gathered(input, dim, index)) is not None:
            return found
    except IndexError:
        d = wrap_dim(dim, input.ndim)
        _in_range(index, input.shape[d], d)
        raise
    if (d := elements.plain_axis(input.shape, dim, index.shape)) >= 0 and index.dtype.char == "l":
        try:
            return elements.gather(input, d, index)
        except IndexError:
            _in_range(index, input.shape[d], d)
            raise
    if not index.size:
        return np.empty(index.shape, input.dtype)
    if not input.ndim or not index.ndim:
        wrap_dim(dim, input.ndim)
        flat = input.reshape(-1)
        _in_range(index, flat.size, 0)
        return flat[index]
    if index.ndim != input.ndim and index.size:
        raise ValueError("the ranks differ")
    d = wrap_dim(dim, input.ndim)
    if not _fits(index, input, d):
        raise ValueError("the index is larger than the input")
    try:
        return elements.gather(input, d, index if index.dtype == np.int64 else index.astype(np.int64))
    except IndexError:
        _in_range(index, input.shape[d], d)
        raise


def _fits(index: np.ndarray, of: np.ndarray, d: int) -> bool:
    """Whether an index is no larger than what it picks of, apart from dimension `d`."""
    have = of.shape
    for i, n in enumerate(index.shape):
        if n > have[i] and i != d:
            return False
    return True


def _flat_positions(F: Functions, call: BatchedCall, n: int) -> Any:
    """Positions in flattened examples, (batch, count), those from the end counted from the start."""
    index = call.whole("index")
    index = F.reshape(index, (call.size, prod(index.shape[1:])))
    return F.where(F.lt(index, 0), index + n, index)


@op("gather(Tensor input, int dim, Index index, *, bool sparse_grad=False) -> Tensor", quiet="all")
class gather:
    """The elements at `index` along a dimension: `result[i][j] = input[index[i][j]][j]` for dim 0.

    >>> torch.gather(torch.tensor([[1., 2.], [3., 4.]]), 1, torch.tensor([[0], [1]]))
    tensor([[1.],
            [4.]])
    """

    out_apart = "whole"
    lacks = {"rare": "scatter_gather_tensor_cpu"}
    sharding = "gathers dim index"
    out_dtype = EXPECTED
    layout = "rows"
    numpy = _gather
    compose = on_host(_gather)
    def shape(input, dim, index, sparse_grad): return index

    @takes_floats
    def check(input, dim, index, sparse_grad):
        _is_index(index, "gather")
        _check_rank(input, index)
        d = wrap_dim(dim, input.ndim)
        if any([n > m and i != d for i, (n, m) in enumerate(zip(index.shape, input.shape))]):
            at = next(i for i, (n, m) in enumerate(zip(index.shape, input.shape)) if n > m and i != d)
            raise AutogradError(f"Size does not match at dimension {at} expected index {list(index.shape)} to be no larger than self "
                                f"{list(input.shape)} apart from dimension {d}")

    def vjp(F, grad, input, dim, index, sparse_grad):
        if sparse_grad and above.sparse_elements is not None:
            return above.sparse_elements(grad, dim, index, tuple(input.shape))
        return F.scatter_add(F.zeros_for(grad, tuple(input.shape)), dim, index, grad)

    jvp = "linear"

    def batch(F, call):
        """One dimension further, both with a batch dimension."""
        result = call(input=call.lifted("input"), index=call.lifted("index"), dim=batches.shifted(call.dim, call.ranks["input"]))
        return call.lowered(result, "index")

    def samples(rng):
        yield rng.standard_normal((3, 4)), 1, rng.integers(0, 4, (3, 2))
        yield rng.standard_normal((3, 4)), 0, rng.integers(0, 3, (5, 2))
        yield rng.standard_normal(()), 0, np.zeros((), np.int64)

    def errors(rng):
        yield (np.ones((3, 4)), 0, np.zeros(1, np.int64)), RuntimeError, (
            "Index tensor must have the same number of dimensions as input tensor")
        yield (np.ones((3, 4)), 0, np.full((1, 1), 7)), RuntimeError, "index 7 is out of bounds for dimension 0 with size 3"
        yield (np.ones((3, 4)), 0, np.zeros((1, 9), np.int64)), RuntimeError, (
            "Size does not match at dimension 1 expected index [1, 9] to be no larger than self [3, 4] apart from dimension 0")


def _scatter_parts(input: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray | float) -> tuple[np.ndarray, int, np.ndarray, Any]:
    """(`input` with a dimension at least, which one is meant, the index, the part of `src` that is used)."""
    d = wrap_dim(dim, input.ndim)
    target = input if input.ndim else input.reshape(1)
    if not index.size:
        index = np.zeros((0,) * target.ndim, np.int64)
    elif index.ndim != target.ndim:
        if max(index.ndim, 1) != target.ndim:
            raise ValueError("the ranks differ")
        index = index.reshape(-1)
    if not _fits(index, target, d):
        raise ValueError("the index is larger than the target")
    if not within(index := index if index.dtype == np.int64 else index.astype(np.int64), target.shape[d]):
        _in_range(index, target.shape[d], d)
    if isinstance(src, np.ndarray) and not src.ndim and index.ndim > 1:
        raise ValueError("the ranks differ")
    part = src if isinstance(src, np.ndarray) and src.dtype is input.dtype else fitting(src, input.dtype)
    if isinstance(part, np.ndarray) and part.ndim:
        if not index.size:
            part = np.empty(index.shape, part.dtype)
        elif part.shape != index.shape:
            part = part[tuple([slice(0, n) for n in index.shape])]
            if part.shape != index.shape:
                raise ValueError("the index is larger than the source")
    return target, d, index, part


def copied(input: np.ndarray) -> np.ndarray:
    """A copy in rows."""
    if input.__class__ is not np.ndarray:
        return np.array(input)  # a reduction's NumPy scalar would stay one under copy()
    return input.copy() if input.flags.c_contiguous else copy(input)


def _put_at(a: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray, how: int | None = None, kept: bool = True, by: int = ELEMENTS
            ) -> bool:
    """`put_others`, but for the words of an error."""
    try:
        return put_others(a, dim, index, src, how, kept, by)
    except IndexError:
        d = wrap_dim(dim, a.ndim)
        _in_range(index, a.shape[d], d)
        raise


def is_plain(number: Any, dtype: np.dtype) -> bool:
    """Whether a number is one that all dtypes of a kind can hold, those of integers without its fraction."""
    kind = number.__class__
    if dtype.kind in "iub":
        return (kind is int or kind is bool) and -1 < number < 128 or kind is float and 0 <= number < 128
    return (kind is float or kind is int or kind is bool) and -IN_ALL <= number <= IN_ALL


def one_of(number: Any, dtype: np.dtype) -> np.ndarray:
    """A number as a 0-dim array of a dtype."""
    kind = CPU_KINDS[dtype]
    found = kind.scalars.get(number)
    return kind.scalar(number) if found is None else found


def _all_of(number: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array of one number."""
    found = np.empty(shape, dtype)
    if dtype.isbuiltin == 1 and found.size < _FEW:
        found.fill(fitting(number, dtype))
    else:
        fill(found, np.asarray(fitting(number, dtype)).astype(dtype))
    return found


_FEW = 4096  # numbers that NumPy sets as quickly


def _scatter(input: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray | float) -> np.ndarray:
    found = copied(input)
    _scatter_part(found, dim, index, src)
    return found


def _scatter_part(a: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray | float) -> None:
    if src.__class__ is np.ndarray:
        if _put_at(a, dim, index, src):
            return
    elif is_plain(src, a.dtype) and _put_at(a, dim, index, one_of(src, a.dtype), by=ONE):
        return
    else:
        src = _all_of(src, index.shape, a.dtype)
    _scatter_elements(a, dim, index, src)


def _scatter_elements(a: np.ndarray, dim: int, index: np.ndarray, src: Any) -> None:
    target, d, index, part = _scatter_parts(a, dim, index, src)
    if index.size:
        elements.scatter(target, d, index, part)


@takes_floats
def _check_scatter(input: TensorRef, dim: int, index: TensorRef, src: TensorRef | None = None, **rest: object) -> None:
    _is_index(index, "scatter")
    _check_rank(input, index, "self")
    d = wrap_dim(dim, input.ndim)
    if src is not None:
        if src._k.dtype is not input._k.dtype:
            raise AutogradError("scatter(): Expected self.dtype to be equal to src.dtype", expected=input.dtype.name,
                                found=src.dtype.name)
        _check_rank(src, index, "src")
    if not index._data.size:
        return
    for i, n in enumerate(index.shape):
        if i < input.ndim and (i != d and n > input.shape[i] or src is not None and n > src.shape[i]):
            raise AutogradError(f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from "
                                f"dimension {d}"
                                + (f" and to be no larger size than src {list(src.shape)}" if src is not None else ""))


def _zeroed(F: Functions, grad: Values, dim: int, index: Values) -> Values:
    return F.scatter_value(grad, dim, index, 0)


def _batched_scatter(F: Functions, call: BatchedCall) -> Any:
    """One dimension further, all with a batch dimension."""
    more = {"src": call.lifted("src")} if "src" in call.ranks else {}
    result = call(input=call.lifted("input"), index=call.lifted("index"), dim=batches.shifted(call.dim, call.ranks["input"]), **more)
    return call.lowered(result, "input")


@op("scatter_src(Tensor input, int dim, Index index, Tensor src) -> Tensor", quiet="all", method=False, namespace="_internal", inplace=True,
    node="ScatterBackward0")
class scatter_src:
    """`input` with the elements of `src` put at `index` along a dimension."""

    may_share = "nothing"
    sharding = "puts dim index"
    out_dtype = EXPECTED
    saved_as = {"src_shape": None}
    numpy = _scatter
    store_part = _scatter_part
    compose = on_host(_scatter)
    def shape(input, dim, index, src): return input
    check = _check_scatter
    def vjp_input(F, grad, dim, index): return _zeroed(F, grad, dim, index)
    def vjp_src(F, grad, src_shape, dim, index): return _to_source(F, F.gather(grad, dim, index), src_shape)
    jvp = "linear"
    batch = _batched_scatter
    aten = "scatter.src"

    def samples(rng):
        yield rng.standard_normal((3, 4)), 1, np.array([[0, 2], [1, 3]]), rng.standard_normal((2, 2))
        yield rng.standard_normal((3, 4)), 0, np.array([[0, 2, 1]]), rng.standard_normal((2, 3))


def _to_source(F: Functions, part: Values, shape: Sequence[int]) -> Values:
    """The gradient of the part of `src` that was used, with zeros for the rest."""
    if tuple(part.shape) == tuple(shape):
        return part
    if not shape or not part.shape:
        return F.reshape(part, tuple(shape))
    return F.basic_index_backward(part, tuple(shape), tuple([slice(0, n) for n in part.shape]))


@op("scatter_value(Tensor input, int dim, Index index, Scalar value) -> Tensor", quiet="all", method=False, namespace="_internal",
    inplace=True,
    node="ScatterBackward1")
class scatter_value:
    """`input` with a number put at `index` along a dimension."""

    may_share = "nothing"
    sharding = "puts dim index"
    out_dtype = EXPECTED
    numpy = _scatter
    def store_part(a, dim, index, value): _scatter_part(a, dim, index, value)
    compose = on_host(_scatter)
    def shape(input, dim, index, value): return input
    number_fits = True
    def check(input, dim, index, value):
        _check_scatter(input, dim, index)
        check_number(value, input.dtype)

    def vjp(F, grad, dim, index): return _zeroed(F, grad, dim, index)
    batch = _batched_scatter
    aten = "scatter.value"
    def samples(rng): yield rng.standard_normal((3, 4)), 1, np.array([[0, 2], [1, 3]]), 2.5


def _scatter_any(F: Functions, suffix: str, input: TensorRef, dim: int, index: TensorRef, src: float | TensorRef, value: object,
                 reduce: str | None, out: object) -> TensorRef:
    src = value if src is None else src
    kwargs = {} if suffix else {"out": out}
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise AutogradError("reduce argument must be either add or multiply.")
        if not isinstance(src, TensorRef):
            src = F.expand(constant(F, input, np.asarray(src, input._k.np)), index.shape)
        result = F.scatter_reduce(input, dim, index, src, "sum" if reduce == "add" else "prod")
        return F.copy_(input, result) if suffix else result if out is None else F.give("scatter", out, result)
    if isinstance(src, TensorRef):
        return getattr(F, "scatter_src" + suffix)(input, dim, index, src, **kwargs)
    return getattr(F, "scatter_value" + suffix)(input, dim, index, src, **kwargs)


@op("scatter(Tensor input, int dim, Index index, Any src, *, str? reduce=None) -> Tensor", inplace=True)
class scatter:
    """`input` with elements of `src`, or a number, put at `index` along a dimension; or added or multiplied where `reduce` says so.

    >>> torch.scatter(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1., 2.]))
    tensor([2., 0., 1.])
    """

    lacks = {"rare": "scatter_gather_tensor_cpu"}
    out_dtype = EXPECTED
    def no_forward(reduce, **_): return None if reduce is None else "aten::scatter"

    def quick(input, dim, index, src, value, reduce):
        if reduce is None and value is None and index.dtype.char == "l":
            if is_plain(src, input.dtype):
                result = copied(input)
                return result if _put_at(result, dim, index, one_of(src, input.dtype), by=ONE) else None
            if isinstance(src, TensorRef) and src._node is None and src._k.np is input.dtype and src._k in KIND_SETS["Q_ANY"]:
                result = copied(input)
                return result if _put_at(result, dim, index, src._data) else None

    def overwrites(a, dim, index, src, value, reduce):
        if reduce is not None or value is not None or not is_index_apart(index, a):
            return False
        if src.__class__ in REALS:
            return is_plain(src, a.dtype) and _put_at(a, dim, index._data, one_of(src, a.dtype), by=ONE)
        return is_plain_apart(src, a) and _put_at(a, dim, index._data, src._data)

    def function(F, input, dim, index, src=None, *, value=None, reduce=None, out=None):
        return _scatter_any(F, "", input, dim, index, src, value, reduce, out)

    def function_(F, input, dim, index, src=None, *, value=None, reduce=None):
        return _scatter_any(F, "_", input, dim, index, src, value, reduce, None)

    def samples(rng):
        yield rng.standard_normal((3, 4)), 1, np.array([[0, 2], [1, 3]]), rng.standard_normal((2, 2))
        yield rng.standard_normal((3, 4)), 1, np.array([[0, 2], [1, 3]]), 2.5

    def errors(rng):
        yield (np.ones((3, 4)), 0, np.full((1, 1), 7), 1.0), RuntimeError, "index 7 is out of bounds for dimension 0 with size 3"
        yield (np.ones((3, 4)), 0, np.zeros(1, np.int64), 1.0), RuntimeError, (
            "Index tensor must have the same number of dimensions as self tensor")
        yield (np.ones((3, 4)), 0, np.zeros((2, 9), np.int64), np.ones((3, 4))), RuntimeError, (
            "Expected index [2, 9] to be no larger than self [3, 4] apart from dimension 0 and to be no larger size than src [3, 4]")


def _scatter_add(input: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray) -> np.ndarray:
    found = copied(input)
    _scatter_add_part(found, dim, index, src)
    return found


def _scatter_add_part(a: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray) -> None:
    if not _put_at(a, dim, index, src, how_added(a.dtype)):
        _add_elements(a, dim, index, src)


def _add_elements(a: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray) -> None:
    if index.size:
        target, d, index, part = _scatter_parts(a, dim, index, src)
        elements.scatter_add(target, d, index, part if part.ndim else np.broadcast_to(part, index.shape))


@op("scatter_add(Tensor input, int dim, Index index, Tensor src) -> Tensor", quiet="all", inplace=True)
class scatter_add:
    """`input` with the elements of `src` added at `index` along a dimension.

    >>> torch.scatter_add(torch.zeros(3), 0, torch.tensor([2, 2]), torch.tensor([1., 2.]))
    tensor([0., 0., 3.])
    """

    may_share = "nothing"
    lacks = {"rare": "scatter_gather_tensor_cpu"}
    sharding = "adds dim index"
    out_dtype = EXPECTED
    saved_as = {"src_shape": None}
    numpy = _scatter_add
    store_part = _scatter_add_part
    compose = on_host(_scatter_add)
    def shape(input, dim, index, src): return input
    check = _check_scatter
    def vjp_input(F, grad): return grad
    def vjp_src(F, grad, src_shape, dim, index): return _to_source(F, F.gather(grad, dim, index), src_shape)
    jvp = "linear"
    batch = _batched_scatter
    no_vmap_ = "name"

    def samples(rng):
        yield rng.standard_normal((3, 4)), 1, np.array([[0, 0], [1, 3]]), rng.standard_normal((2, 2))
        yield rng.standard_normal((3, 4)), 0, np.array([[0, 2, 0], [0, 1, 0]]), rng.standard_normal((2, 4))

    def errors(rng):
        yield (np.ones((3, 4)), 0, np.zeros((4, 4), np.int64), np.ones((3, 4))), RuntimeError, (
            "Expected index [4, 4] to be no larger than self [3, 4] apart from dimension 0 and to be no larger size than src [3, 4]")


_REDUCERS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}
_HOW = {"sum": 0, "mean": elements.MEAN, "prod": 1, "amax": 2, "amin": 3}
_HOW_TRUE = {"sum": 2, "prod": 3, "amax": 2, "amin": 3}
"""What one kernel does, in whose numbers; of truth values, too."""


def how_of(reduce: str, dtype: np.dtype) -> int:
    """The number of a reduction that the kernel does; -1 where there is none."""
    return (_HOW_TRUE if dtype.char == "?" else _HOW).get(reduce, -1)


def _first_zeros(result: np.ndarray, before: np.ndarray, at: Any, part: np.ndarray) -> None:
    """Gives extremes that are zero the sign of the first zero, as torch does; NumPy takes the last."""
    places = np.arange(result.size).reshape(result.shape)[at]
    part = np.broadcast_to(part, places.shape)
    zeros = (part == 0) & (result[at] == 0)
    line = result.reshape(-1)
    line[places[zeros][::-1]] = part[zeros][::-1]
    result[...] = np.where((result == 0) & (before == 0), before, line.reshape(result.shape))


def _reduce_at(result: np.ndarray, at: Any, part: np.ndarray, reduce: str, include_self: bool) -> np.ndarray:
    """`part` reduced into `result` at a NumPy index, in place."""
    if not include_self:
        result[at] = elements.neutral_of(_HOW[reduce], result.dtype)
    reducer: Any = _REDUCERS[reduce]
    if reduce == "mean" and is_half(result.dtype):
        wide = _reduce_at(result.astype(np.float32), at, np.asarray(part).astype(np.float32), reduce, include_self)
        result[...] = wide
        return result
    if reducer is np.add:
        add_at(result, at, part)
    else:
        before = result.copy() if reducer in (np.maximum, np.minimum) and result.dtype.kind not in "iub" else None
        reducer.at(result, at, part)
        if before is not None and not result.all():
            _first_zeros(result, before, at, part)
    if reduce == "mean":
        counts = np.full(result.shape, int(include_self), np.int64)
        np.add.at(counts, at, 1)
        if not include_self:
            counts[counts == 0] = 1
        if result.dtype.kind in "iu":
            np.floor_divide(result, counts.astype(result.dtype), out=result)
        else:
            np.divide(result, counts.astype(result.dtype), out=result)
    return result


def _reduce_along(target: np.ndarray, d: int, index: np.ndarray, part: np.ndarray, reduce: str, include_self: bool) -> None:
    """`part` reduced into `target`, in place, at positions along a dimension, which are there: of each element, or a vector."""
    if not part.ndim:
        part = np.broadcast_to(part, index.shape)
    vector = index.ndim != target.ndim
    how = how_of(reduce, target.dtype)
    if how >= 0 and put_others(target, d, index, part, how, include_self, PARTS if vector else ELEMENTS):
        return
    if vector:
        _reduce_at(np.moveaxis(target, d, 0), index, np.moveaxis(part, d, 0), reduce, include_self)
    else:
        _reduce_at(target, _positions(index, d), part, reduce, include_self)


def _scatter_reduce(input: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray, reduce: str, include_self: bool) -> np.ndarray:
    found = copied(input)
    _scatter_reduce_part(found, dim, index, src, reduce, include_self)
    return found


def _scatter_reduce_part(a: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray, reduce: str, include_self: bool) -> None:
    how = how_of(reduce, a.dtype)
    if how < 0 or not _put_at(a, dim, index, src, how, include_self):
        _reduce_elements(a, dim, index, src, reduce, include_self)


def _reduce_elements(a: np.ndarray, dim: int, index: np.ndarray, src: np.ndarray, reduce: str, include_self: bool) -> None:
    target, d, at, part = _scatter_parts(a, dim, index, src)
    if index.size:
        if reduce not in _REDUCERS or reduce == "mean" and a.dtype.char == "?":
            raise ValueError("no such reduction")
        _reduce_along(target, d, at, part, reduce, include_self)


def _check_reduce(reduce: str) -> None:
    if reduce not in _REDUCERS:
        raise AutogradError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}",
                            expected="one of these", found=reduce)


@op("scatter_reduce(Tensor input, int dim, Index index, Tensor src, str reduce, *, bool include_self=True) -> Tensor", quiet="all",
    inplace=True, complex="no gradient")
class scatter_reduce:
    """`input` with the elements of `src` at `index` along a dimension reduced into it: sum, prod, mean, amax or amin.

    >>> torch.scatter_reduce(torch.ones(2), 0, torch.tensor([0, 0]), torch.tensor([3., 2.]), "amax")
    tensor([3., 1.])
    """

    may_share = "nothing"
    lacks = {"rare": "scatter_gather_tensor_cpu"}
    sharding = "puts dim index"
    out_dtype = EXPECTED
    def complex_kernel(input, src, reduce, **_):
        return f"scatter_gather_tensor_cpu_reduce_{reduce}" if reduce in ("amax", "amin") and input._k.dtype is src._k.dtype else None
    numpy = _scatter_reduce
    store_part = _scatter_reduce_part
    compose = on_host(_scatter_reduce)
    def shape(input, dim, index, src, reduce, include_self): return input

    @takes_floats
    def check(input, dim, index, src, reduce, include_self):
        _check_scatter(input, dim, index, src)
        _check_reduce(reduce)
        if reduce == "mean" and input.dtype.category == BOOL:
            no_kernel("scatter_gather_tensor_cpu_reduce_mean", input)

    def vjp(F, grad, input, src, result, dim, index, reduce, include_self):
        return _reduce_vjp(F, grad, input, src, result, reduce, include_self,
                           lambda x: F.gather(x, dim, index), lambda x, v: F.scatter_add(x, dim, index, v),
                           lambda x: _zeroed(F, x, dim, index), lambda g: _to_source(F, g, src.shape),
                           lambda x: _used(F, x, index), lambda a, b: F.scatter_reduce(a, dim, index, b, reduce, include_self=include_self),
                           "scatter_reduce(): Double backward is unsupported for src when >1 zeros in src are scattered to the same "
                           "position in self")
    batch = _batched_scatter

    def samples(rng):
        index, src = np.array([[0, 0], [1, 3]]), rng.uniform(0.5, 2, (2, 2))
        for reduce in ("sum", "mean", "prod", "amax", "amin"):
            yield rng.uniform(0.5, 2, (3, 4)), 1, index, src, reduce
        yield rng.uniform(0.5, 2, (3, 4)), 1, index, src, "mean", False
        yield rng.uniform(0.5, 2, (3, 4)), 1, index, src, "prod", False

    def errors(rng):
        yield (np.ones((3, 4)), 0, np.zeros((1, 1), np.int64), np.ones((3, 4)), "foo"), RuntimeError, (
            "reduce argument must be either sum, prod, mean, amax or amin, got foo")


def _used(F: Functions, src: Values, index: Values) -> Values:
    """The part of `src` that an index as large or smaller uses."""
    for d, n in enumerate(index.shape):
        if src.shape[d] != n:
            src = F.slice(src, d, 0, n)
    return src


def _reduce_vjp(F: Functions, grad: Values, input: Values, src: Values, result: Values, reduce: str, include_self: bool,
                gather: Fn, add: Fn, zeroed: Fn,
                restore: Fn, used: Fn, again: Fn, refusal: str = "") -> tuple[Values, Values]:
    """Gradients of a reduction at indices: `gather` reads at them, `add` adds at them, `zeroed` clears them, `again` reduces."""
    shape = tuple(input.shape)
    part = used(src)
    if reduce == "sum":
        g_input, g_src = grad, gather(grad)
    elif reduce == "mean":
        counts = add(F.ones_for(grad, shape) if include_self else F.zeros_for(grad, shape), F.ones_for(grad, tuple(part.shape)))
        counts = F.masked_fill(counts, F.eq(counts, 0), 1)
        g_input, g_src = grad / counts, gather(grad / counts)
    elif reduce == "prod":
        # A factor of zero gets the product of the others: the product again with ones in the place of such factors.
        ones = F.masked_fill(input, F.eq(input, 0), 1)
        g_input = grad * again(ones, src) / ones
        zero = F.eq(part, 0)
        zeros = gather(add(F.zeros_for(grad, shape), F.cast_like(zero, grad)))
        alone = F.logical_and(zero, F.eq(zeros, 1))
        without = again(input, F.masked_fill(part, alone, 1))
        g_src = F.where(alone, gather(grad * without), gather(grad * result) / F.masked_fill(part, zero, 1))
        if isinstance(g_src, TensorRef):
            g_src = F.once_where(g_src, F.le(zeros, 1), refusal)
    else:
        # Equal extremes share the gradient.
        same = F.cast_like(F.eq(part, gather(result)), grad)
        kept = F.cast_like(F.eq(input, result), grad)
        if not include_self:
            kept = zeroed(kept)
        counts = add(kept, same)
        counts = F.masked_fill(counts, F.eq(counts, 0), 1)
        g_input, g_src = grad * kept / counts, same * gather(grad / counts)
    if not include_self:
        g_input = zeroed(g_input)
    return g_input, restore(g_src)


def _once(F: Functions, grad: Values, condition: Values, refusal: str) -> Values:
    if not F.all(condition):
        raise AutogradError(refusal, remedy="keep zeros apart")
    return grad


@op("once_where(Tensor input, Mask condition, str refusal) -> Tensor", quiet="all", broadcasts=True, method=False, out=False,
    namespace="_internal", node="Error")
class once_where:
    """A gradient that may be differentiated where the condition holds everywhere; else that is refused with the text given."""

    numpy = lambda input, condition, refusal: input
    compose = on_host(numpy)
    def shape(input, condition, refusal): return input
    vjp = _once
    def samples(rng): yield rng.standard_normal(3), np.ones(3, bool), "no"


@op("cast_like(Tensor input, Tensor like) -> Tensor", quiet="all", method=False, namespace="_internal", out=False)
class cast_like:
    """A mask as numbers of the dtype of `like`."""

    def sharding(call):
        n = call["input"].ndim
        return call.propagate([range(n), [None] * call["like"].ndim], [range(n)], linear="")

    def numpy(input, like): return input.astype(like.dtype)
    shape = shapes.like_first
    compose = on_host(numpy)

    def batch(F, call):
        """Only the dtype of the second argument matters."""
        return call() if call.is_batched["input"] else call.expanded(F.cast(call.input, call.like.dtype), False)

    def samples(rng): yield np.array([True, False]), rng.standard_normal(3)


# -- positions in the flattened tensor --------------------------------------------------------------------------------------------


def _coordinates(index: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Where positions of the flattened tensor, those from the end too, are in one of a shape: what is outside is so in the first."""
    found: list[np.ndarray] = []
    for n in shape[:0:-1]:
        index, last = np.divmod(index, n)
        found.insert(0, last)
    return index, *found


def _take(input: np.ndarray, index: np.ndarray) -> np.ndarray:
    try:
        if not input.flags.c_contiguous and 4 * index.size <= input.size:
            if (at := lying(index.reshape(-1), input)) is not None:
                return elements.memory(input).reshape(-1)[at].reshape(index.shape)
            return input[_coordinates(index, input.shape)]
        return (input if input.flags.c_contiguous else copy(input)).reshape(-1)[index]
    except IndexError:
        bad = index[(index < -input.size) | (index >= input.size)].reshape(-1)[0]
        raise IndexRangeError(f"out of range: tried to access index {bad} on a tensor of {input.size} elements.") from None


@op("take(Tensor input, Index index) -> Tensor", quiet="all")
class take:
    """The elements at positions of the flattened tensor.

    >>> torch.take(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([0, 3]))
    tensor([1., 4.])
    """

    out_apart = "whole single"
    lacks = {"rare": "take_cpu"}
    sharding = "flat"
    out_dtype = OutRule("take(): self and out expected to have the same dtype, but got self.dtype = {wanted} and out.dtype = {found}")
    saved_as = {"input_shape": None}
    numpy = _take
    compose = on_host(_take)
    def shape(input, index): return index
    @takes_floats
    def check(input, index):
        long_alone(index, "take")
        if index._data.size and not input._data.size:
            raise IndexRangeError("take(): tried to take from an empty tensor")
    def vjp(F, grad, input_shape, index): return F.put(F.zeros_for(grad, tuple(input_shape)), index, grad, True)
    jvp = "linear"

    def batch(F, call):
        """Along the flattened examples."""
        x = call.whole("input")
        n = prod(x.shape[1:])
        result = F.gather(F.reshape(x, (call.size, n)), 1, _flat_positions(F, call, n))
        return F.reshape(result, (call.size, *call.whole("index").shape[1:]))

    def samples(rng): yield rng.standard_normal((3, 4)), np.array([[0, -1], [5, 0]])
    def errors(rng): yield (np.ones((3, 4)), np.array([99])), IndexError, (
        "out of range: tried to access index 99 on a tensor of 12 elements.")


def _put(input: np.ndarray, index: np.ndarray, source: np.ndarray, accumulate: bool) -> np.ndarray:
    result = copied(input) if input.flags.c_contiguous else copy_like(input)
    _put_part(result, index, source, accumulate)
    return result


def _put_part(a: np.ndarray, index: np.ndarray, source: np.ndarray, accumulate: bool) -> None:
    if index.size != source.size:
        raise ValueError("the sizes differ")
    how = how_added(a.dtype) if accumulate else None
    try:
        # Sums of half precision are those of a vector.
        if how is None or a.itemsize > 2 or a.flags.c_contiguous or (at := lying(index.reshape(-1), a)) is None:
            if put_others(a, 0, index, source, how, True, FLAT):
                return
        elif put_others(elements.memory(a), 0, at, source, how, True, FLAT):
            return
    except IndexError:
        pass  # positions from the end, or outside
    n, (index, source) = a.size, [(x if x.flags.c_contiguous else copy(x)).reshape(-1) for x in (index, source)]
    if index.size and not n:
        raise IndexRangeError("put_(): Tried to put elements into an empty tensor")
    try:
        if (at := lying(index, a)) is None:
            at = _lying(index, a)
    except IndexError:
        bad = index[(index < -n) | (index >= n)][0]
        raise IndexRangeError(f"out of range: tried to access index {bad} on a tensor of {n} elements.") from None
    flat = elements.memory(a).reshape(-1)
    if index.size and not put_others(flat, 0, at, source, how, True, FLAT):
        if accumulate:
            add_at(flat, at, source)
        else:
            elements.scatter(flat, 0, at, source)


def _lying(index: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Where elements lie that are counted in rows, or from the end."""
    n, at = a.size, np.zeros(index.size, np.int64)
    if index.size and (index.min() < -n or index.max() >= n):
        raise IndexError
    rest = index + n * (index < 0)
    for size, step in zip(a.shape[::-1], a.strides[::-1]):
        rest, last = np.divmod(rest, size)
        at += last * (step // a.itemsize)
    return at


@op("put(Tensor input, Index index, Tensor source, bool accumulate=False) -> Tensor", quiet="all", inplace=True, out=False)
class put:
    """`input` with the elements of `source` put, or added, at positions of the flattened tensor.

    >>> torch.put(torch.zeros(3), torch.tensor([2, 0]), torch.tensor([1., 2.]))
    tensor([2., 0., 1.])
    """

    may_share = "nothing"
    lacks = {"rare": "take_put_cpu"}
    sharding = "flat"
    saved_as = {"source_shape": None}
    layout = "input"
    def undetermined(accumulate, **_): return None if accumulate else "put_"  # which of several numbers for one place stays
    numpy = _put
    store_part = _put_part
    compose = on_host(_put)
    def shape(input, index, source, accumulate): return input

    @takes_floats
    def check(input, index, source, accumulate):
        long_alone(index, "put_")
        if source.dtype is not input.dtype:
            raise AutogradError("put_(): self and source expected to have the same dtype, but got self.dtype = "
                                f"{SCALAR_TYPE_NAMES[input.dtype.name]} and source.dtype = {SCALAR_TYPE_NAMES[source.dtype.name]}")
        if source._data.size != index._data.size:
            raise IndexRangeError("put_(): Expected source and index to have the same number of elements, but got source.numel() = "
                                  f"{source._data.size}, index.numel() = {index._data.size}")

    def vjp_input(F, grad, index, accumulate, source_shape):
        return grad if accumulate else F.put(grad, index, F.zeros_for(grad, tuple(index.shape)), False)

    def vjp_source(F, grad, index, source_shape): return F.reshape(F.take(grad, index), tuple(source_shape))
    jvp = "linear"

    def batch(F, call):
        """Along the flattened examples."""
        x, source = call.whole("input"), call.whole("source")
        n, count = prod(x.shape[1:]), prod(source.shape[1:])
        index = _flat_positions(F, call, n)
        if index.shape[1] != count or source.dtype is not x.dtype:
            return NotImplemented
        store = F.scatter_add if call.accumulate else F.scatter_src
        return F.reshape(store(F.reshape(x, (call.size, n)), 1, index, F.reshape(source, (call.size, count))), tuple(x.shape))

    def samples(rng):
        yield rng.standard_normal((3, 4)), np.array([0, 5]), rng.standard_normal(2)
        yield rng.standard_normal((3, 4)), np.array([0, 5, 0]), rng.standard_normal(3), True

    def errors(rng):
        yield (np.ones((3, 4)), np.array([0, 1]), np.ones(1)), IndexError, (
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = 1, index.numel() = 2")


@op("take_along_dim(Tensor input, Index indices, int? dim=None) -> Tensor")
class take_along_dim:
    """The elements at `indices` along a dimension, the other dimensions broadcast; in the flattened tensor without one.

    >>> torch.take_along_dim(torch.tensor([[3., 1.], [2., 4.]]), torch.tensor([[1], [0]]), 1)
    tensor([[1.],
            [2.]])
    """

    lacks = {"rare": "scatter_gather_tensor_cpu"}
    out_dtype = EXPECTED
    reads = "indices"

    def quick(input, indices, dim):
        if indices.dtype.char != "l":
            return None
        if dim is None:
            rows = input.flags.c_contiguous and indices.flags.c_contiguous  # of others torch wants a view
            return _gather(input.reshape(-1), 0, indices.reshape(-1)) if rows else None
        i, j = input.shape, indices.shape
        if len(i) != len(j):
            return None
        d = wrap_dim(dim, len(i))
        if i[:d] != j[:d] or i[d + 1:] != j[d + 1:]:
            return None
        found = _gather(input, d, indices)  # which refuses positions from the end
        return found if found.flags.c_contiguous else np.ascontiguousarray(found)

    def function(F, input, indices, dim=None, *, out=None):
        if dim is None:
            return F.gather(F.view(input, (-1,)), 0, F.view(indices, (-1,)), out=out)
        if input.ndim != indices.ndim:
            raise AutogradError("torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
                                f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
        if indices._k.dtype.name != "int64":
            raise AutogradError("torch.take_along_dim(): dtype of indices should be Long but got "
                                f"{SCALAR_TYPE_NAMES[indices._k.dtype.name]}", expected="int64", remedy="convert the index with .long()")
        d = wrap_dim(dim, input.ndim)
        if indices._data.size and values_of(indices).min() < 0:
            indices = F.where(F.lt(indices, 0), indices + input.shape[d], indices)
        i, j = [s[:d] + (1,) + s[d + 1:] for s in (tuple(input.shape), tuple(indices.shape))]
        common = broadcast_shape(i, j)
        sized = lambda x: common[:d] + (x.shape[d],) + common[d + 1:]
        return F.gather(F.expand(input, sized(input)), d, F.expand(indices, sized(indices)), out=out)

    def samples(rng):
        yield rng.standard_normal((3, 4)), np.array([[2], [0], [3]]), 1
        yield rng.standard_normal((3, 4)), np.array([5, 0])

    def errors(rng):
        yield (np.ones((3, 4)), np.zeros(3, np.int64), 0), RuntimeError, (
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got 2 dimensions for input, and 1 "
            "dimensions for indices")
