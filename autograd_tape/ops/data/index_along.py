"""Elements, rows, slices picked and stored by an index along one dimension: index_select, index_add, index_copy, ..."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...dims import broadcast_shape, wrap_dim
from ...dtypes import BOOL, COMPLEX, INT64_KIND, INTEGER, SCALAR_TYPE_NAMES, DType, as_bits, fitting, number_array
from ...errors import ArgumentError, AutogradError, IndexRangeError, type_name
from ...executors.kernels.folds import within
from ...executors.kernels.embedding import ONE_PART, PARTS, how_added, index_add as index_add_, put_others
from ...executors.kernels.select import where
from ...executors.kernels.sharing import copy
from ...functions.namespace import KIND_SETS
from ...functions.refusals import no_kernel, on_meta
from ...functions.out import EXPECTED, SELF_AND_RESULT
from ...record import op
from ...strided import contiguous_strides, laid_out
from ...tensor import TensorRef
from .. import _batch as batches
from .. import _shapes as shapes
from .._host import data_dependent, on_host
from .._samples import IN_ALL, check_number, refuse_complex_gradient, takes_floats
from ..networks._losses import constant
from ...warned import warn_once
from .index import is_index_apart, is_plain_apart, put
from .scatter import _in_range, _reduce_along, _reduce_vjp, copied, how_of, is_plain, long_alone, one_of
from ...annotations import Fn, Functions
from .._batch import BatchedCall


def _index_of_all(F: Functions, call: BatchedCall, dim: int, shape: tuple[int, ...]) -> Any:
    """An index vector for each example, along `dim` of a batch of `shape`, as an index for every element."""
    index = call.lifted("index")
    return F.expand(F.reshape(index, (call.size, *[index.shape[1] if d == dim else 1 for d in range(1, len(shape))])),
                    (*shape[:dim], index.shape[1], *shape[dim + 1:]))


def _batched_store(F: Functions, call: BatchedCall, scatter: Any) -> Any:
    """Along one dimension further; by an index for each example, element by element with `scatter`."""
    if call.ranks["index"] > 1 or bool(call.ranks["input"]) != bool(call.ranks["source"]):
        return NotImplemented
    x, source, dim = call.lifted("input"), call.lifted("source"), batches.shifted(call.dim, call.ranks["input"])
    if not call.is_batched["index"]:
        return call.lowered(call(input=x, source=source, dim=dim), "input")
    index = _index_of_all(F, call, dim, tuple(x.shape))
    return call.lowered(scatter(x, dim, index, source), "input") if index.shape == source.shape else NotImplemented


def _batched_fill(F: Functions, call: BatchedCall) -> Any:
    """Along one dimension further; by an index, or with a value, for each example element by element."""
    if call.ranks["index"] > 1 or call.ranks.get("value"):
        return NotImplemented
    x, dim = call.lifted("input"), batches.shifted(call.dim, call.ranks["input"])
    if not call.is_batched["index"] and not call.is_batched["value"]:
        return call.lowered(call(input=x, dim=dim), "input")
    index = _index_of_all(F, call, dim, tuple(x.shape))
    if "value" not in call.ranks:
        return call.lowered(F.scatter_value(x, dim, index, call.value), "input")
    value = F.cast(call.whole("value"), x.dtype)
    value = F.expand(F.reshape(value, (call.size, *(1,) * (x.ndim - 1))), tuple(index.shape))
    return call.lowered(F.scatter_src(x, dim, index, value), "input")


# -- index_* ----------------------------------------------------------------------------------------------------------------


def _index_select(input: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    if index.ndim > 1:
        raise IndexRangeError("index_select(): Index is supposed to be a vector")
    if not input.ndim:
        wrap_dim(dim, 0)
        if index.size != 1 or index.reshape(()) != 0:
            raise IndexRangeError("index out of range in self")
        return input.copy()
    d = wrap_dim(dim, input.ndim)
    try:
        flat = index if index.ndim and index.dtype.char == "l" else index.reshape(-1).astype(np.int64)
        if not within(flat, input.shape[d]):
            raise IndexError
        return input.take(flat, d) if d else _taken(input, flat, d)
    except IndexRangeError:
        raise
    except IndexError:
        n = input.shape[d]
        if input.ndim == 1 or input.size and d != 1:
            raise IndexRangeError("index out of range in self") from None
        if not n:
            raise AutogradError("index_select(): self indexing axis dim should be positive") from None
        bad = [i for i in index.reshape(-1).tolist() if not 0 <= i < n]
        raise AutogradError(f"INDICES element is out of DATA bounds, id={bad[0]} axis_dim={n}") from None


_MANY = 65536  # elements from which on columns are read as they lie, and of a block of rows that is made of them


def _taken(input: np.ndarray, index: np.ndarray, d: int) -> np.ndarray:
    """Parts in rows; of columns NumPy would copy all first."""
    if d or input.size < _MANY or input.flags.c_contiguous or not input.flags.f_contiguous:
        return input.take(index, d)
    columns, n = as_bits(input).T, input.shape[0]
    result = np.empty((index.size, *input.shape[1:]), columns.dtype)
    rows = max(_MANY * n // input.size, 1)
    for at in range(0, index.size, rows):
        copy(columns.take(index[at:at + rows], -1).T, result[at:at + rows])
    return result.view(input.dtype)


@op("index_select(Tensor input, int dim, Index index) -> Tensor", quiet="all")
class index_select:
    """The parts at positions of a dimension.

    >>> torch.index_select(torch.tensor([[1., 2.], [3., 4.]]), 0, torch.tensor([1, 1]))
    tensor([[3., 4.],
            [3., 4.]])
    """

    lacks = {"uint": lambda input, **_: "index_select" if input.ndim < 2 else None}
    out_apart = "whole single"
    sharding = "picks dim index"
    out_dtype = SELF_AND_RESULT
    numpy = _index_select
    shape = shapes.indexed
    compose = on_host(_index_select)

    @takes_floats
    def check(input, dim, index):
        if index._k.dtype.name not in ("int32", "int64"):
            raise AutogradError("index_select(): Expected dtype int32 or int64 for index", expected="int64", found=index._k.dtype.name)

    def vjp(F, grad, input_shape, dim, index): return F.index_add(F.zeros_for(grad, tuple(input_shape)), dim, index, grad)
    jvp = "linear"

    def batch(F, call):
        """Along one dimension further; an index for each example picks element by element."""
        if not call.ranks["input"] or call.ranks["index"] > 1:
            return NotImplemented
        dim = batches.shifted(call.dim, call.ranks["input"])
        if not call.is_batched["index"]:
            return call(dim=dim)
        x = call.whole("input")
        return F.gather(x, dim, _index_of_all(F, call, dim, tuple(x.shape)))

    def samples(rng):
        yield rng.standard_normal((3, 4)), 0, np.array([2, 0, 2])
        yield rng.standard_normal((3, 4)), -1, np.array([1])

    def errors(rng):
        yield (np.ones((3, 4)), 0, np.zeros((1, 1), np.int64)), IndexError, "index_select(): Index is supposed to be a vector"
        yield (np.ones((3, 4)), 0, np.array([7])), IndexError, "index out of range in self"


def _same_parts(target: np.ndarray, d: int, index: np.ndarray, source: np.ndarray) -> None:
    """Keeps NumPy from broadcasting where torch does not; the general path words the error."""
    if source.shape != target.shape[:d] + (index.size,) + target.shape[d + 1:]:
        raise ValueError("source has another shape than the parts")


def _restrided(target: np.ndarray, d: int, index: np.ndarray) -> None:
    """Raises torch's error for positions along a dimension without elements: it would lay as many in their place, each at the first."""
    if index.size and not target.shape[d] and target.size == 0 < math.prod(target.shape[:d] + target.shape[d + 1:]):
        item = target.itemsize
        sizes = (*target.shape[:d], index.size, *target.shape[d + 1:])
        steps = [0 if k == d else s for k, s in enumerate(contiguous_strides(target.shape))]
        wanted = (1 + sum([(n - 1) * s for n, s in zip(sizes, steps)])) * item
        raise AutogradError(f"setStorage: sizes {list(sizes)}, strides {steps}, storage offset 0, and itemsize {item} requiring a storage "
                            f"size of {wanted} are out of bounds for storage of size 0")


def _is_vector(index: np.ndarray) -> None:
    """Keeps kernels from positions in rows; the general path words the error."""
    if index.ndim > 1:
        raise ValueError("positions in rows")


def _parts(a: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> tuple[np.ndarray, int, np.ndarray, np.ndarray]:
    """(`a` with a dimension at least, which one is meant, the index, `source`) for a sum or reduction of parts."""
    if a.ndim != source.ndim:
        raise ValueError("source has another rank than its target")
    _is_vector(index)
    target, source = (a, source) if a.ndim else (a.reshape(1), source.reshape(1))
    d, flat = wrap_dim(dim, a.ndim), index.reshape(-1)
    _same_parts(target, d, flat, source)
    if target.ndim == 1 and not within(flat, target.size):
        raise IndexRangeError("index out of range in self")
    return target, d, flat, source


def _index_add(input: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    result = copied(input)
    _add_part(result, dim, index, source)
    return result


_UNSHARED = 16384  # elements that threads do not share


def _put_parts(a: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, how: int | None = None, kept: bool = True, by: int = PARTS
               ) -> bool:
    """Whether a kernel put parts into plain arrays, or reduced them; False where something is unusual, or wrong."""
    try:
        return put_others(a, dim, index, source, how, kept, by)
    except IndexError:
        return False


def _add_part(a: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> None:
    if source.size < _UNSHARED and _put_parts(a, dim, index, source, how_added(a.dtype)):
        return
    target, d, flat, source = _parts(a, dim, index, source)
    if target.size:
        try:
            index_add_(target, d, flat, source)
        except IndexError:
            _in_range(flat, target.shape[d], d)
            raise


@takes_floats
def _check_index_fill(input: TensorRef, dim: int, index: TensorRef) -> None:
    wrap_dim(dim, input.ndim)
    if index._k.dtype.name != "int64" and not on_meta(index):
        raise IndexRangeError("index_fill_(): Expected dtype int64 for index.", expected="int64", found=index._k.dtype.name)
    if index.ndim > 1:
        raise AutogradError("Index has to be a vector/scalar")


@takes_floats
def _check_index_copy(input: TensorRef, dim: int, index: TensorRef, source: TensorRef) -> None:
    d = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexRangeError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if input.ndim and source.ndim and input.ndim != source.ndim:
        raise IndexRangeError("index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
                              f"dimensionality ({source.ndim}), destination dimensionality ({input.ndim})")
    if not source.ndim and index._data.size != 1:
        raise IndexRangeError(f"index_copy_(): When source is scalar, index should have one element (got {index._data.size})")
    long_alone(index, "index_copy_")
    if source._k.dtype is not input._k.dtype:
        own, given = [SCALAR_TYPE_NAMES[t._k.dtype.name] for t in (input, source)]
        raise AutogradError(f"index_copy_(): self and source expected to have the same dtype, but got (self) {own} and (source) {given}")
    n = source.shape[d] if source.ndim else 1
    if index._data.size != n:
        raise IndexRangeError(f"index_copy_(): Number of indices ({index._data.size}) should be equal to source.size(dim) ({n})")
    rest_in, rest_src = [tuple(x.shape[:d] + x.shape[d + 1:]) for x in (input, source)]
    if input.ndim and rest_in != rest_src:
        raise AutogradError("index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
                            f"{' '.join(map(str, rest_in))} at dimension {d} and source slice shape: {' '.join(map(str, rest_src))} at "
                            "dimension 0.")


def _check_parts(name: str) -> Fn:
    """The check of an operation of this name that adds parts, or reduces them."""
    @takes_floats
    def check(input: TensorRef, dim: int, index: TensorRef, source: TensorRef) -> None:
        d, kind = wrap_dim(dim, input.ndim), SCALAR_TYPE_NAMES[index._k.dtype.name]
        if index.ndim > 1:
            raise IndexRangeError(f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {kind} and size: "
                                  f"{list(index.shape)}")
        if index._k.dtype.name not in ("int32", "int64") and not on_meta(index):
            raise AutogradError(f"{name}(): Expected dtype int32/int64 for index but got: {kind}", expected="int64")
        if source._k.dtype is not input._k.dtype:
            own, given = [SCALAR_TYPE_NAMES[t._k.dtype.name] for t in (input, source)]
            raise AutogradError(f"{name}(): self ({own}) and source ({given}) must have the same scalar type")
        n = source.shape[d] if source.ndim else 1
        if index._data.size != n:
            raise AutogradError(f"{name}(): Number of indices ({index._data.size}) should be equal to source.size(dim): ({n}), for dim: "
                                f"{d}")
        rest_in, rest_src = [tuple(x.shape[:d] + x.shape[d + 1:]) for x in (input, source)]
        if input.ndim != source.ndim or rest_in != rest_src:
            raise AutogradError("source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
                                f"{list(input.shape)} source.shape = {list(source.shape)}")

    return check


@op("index_add_scaled(Tensor input, int dim, Index index, Tensor source) -> Tensor", quiet="all", method=False, namespace="_internal",
    inplace=True, node="IndexAddBackward0")
class index_add_scaled:
    """`input` with the parts of `source` added at positions of a dimension."""

    may_share = "nothing"
    sharding = "adds dim index"
    out_dtype = EXPECTED
    saved_as = {"source_shape": None}
    numpy = _index_add
    store_part = _add_part
    compose = on_host(_index_add)
    def shape(input, dim, index, source): return input
    check = _check_parts("index_add_")
    def vjp_input(F, grad): return grad
    def vjp_source(F, grad, dim, index, source_shape): return F.reshape(F.index_select(grad, dim, index), tuple(source_shape))
    jvp = "linear"
    def batch(F, call): return _batched_store(F, call, F.scatter_add)
    aten = "index_add"
    no_vmap_ = "name"

    def samples(rng):
        yield rng.standard_normal((3, 4)), 0, np.array([2, 0, 2]), rng.standard_normal((3, 4))
        yield rng.standard_normal((3, 4)), 1, np.array([1]), rng.standard_normal((3, 1))


def _scaled(F: Functions, input: TensorRef, source: TensorRef, alpha: complex) -> TensorRef:
    """`source` times a number that is cast to the dtype of both before; `source` where they have two, which is refused."""
    dtype = input._k.dtype
    if source._k.dtype is not dtype:
        return source
    check_number(alpha, dtype)
    if dtype.category == BOOL:
        return source if alpha else F.zeros_like(source)
    return source * (int(alpha.real) if dtype.category == INTEGER else alpha)


@op("index_add(Tensor input, int dim, Index index, Tensor source, *, Scalar alpha=1) -> Tensor", inplace=True)
class index_add:
    """`input` with `alpha` times the parts of `source` added at positions of a dimension.

    >>> torch.index_add(torch.zeros(3), 0, torch.tensor([2, 2]), torch.tensor([1., 2.]))
    tensor([0., 0., 3.])
    """

    lacks = {"uint float8": lambda input, **_: "scatter_gather_tensor_cpu" if input.ndim > 1 else "index_add_"}
    out_dtype = EXPECTED
    numpy = _index_add  # what gradients call on buffers, without alpha

    def overwrites(a, dim, index, source, alpha):
        return alpha.__class__ is int and alpha == 1 and is_index_apart(index, a) and is_plain_apart(source, a) and (
            source._data.size < _UNSHARED) and _put_parts(a, dim, index._data, source._data, how_added(a.dtype))

    def function(F, input, dim, index, source, *, alpha=1, out=None):
        return F.index_add_scaled(input, dim, index, source if alpha == 1 else _scaled(F, input, source, alpha), out=out)

    def function_(F, input, dim, index, source, *, alpha=1):
        return F.index_add_scaled_(input, dim, index, source if alpha == 1 else _scaled(F, input, source, alpha))

    compose = on_host(_index_add)
    def samples(rng): yield rng.standard_normal((3, 4)), 0, np.array([2, 0, 2]), rng.standard_normal((3, 4))

    def errors(rng):
        yield (np.ones((3, 4)), 0, np.array([0, 1]), np.ones((3, 4))), RuntimeError, (
            "index_add_(): Number of indices (2) should be equal to source.size(dim): (3), for dim: 0")
        yield (np.ones((3, 4)), 0, np.array([9]), np.ones((1, 4))), RuntimeError, "index 9 is out of bounds for dimension 0 with size 3"


def _index_copy(input: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    result = copied(input)
    _copy_part(result, dim, index, source)
    return result


def _copy_part(a: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> None:
    if _put_parts(a, dim, index, source):
        return
    target = a if a.ndim else a.reshape(1)
    d, flat = wrap_dim(dim, a.ndim), index.reshape(-1)
    source = source if source.ndim else source.reshape(1)
    _is_vector(index)
    _same_parts(target, d, flat, source)
    _restrided(target, d, flat)
    if not target.size:
        return
    flat = flat if flat.dtype.char == "l" else flat.astype(np.int64)
    if not within(flat, target.shape[d]):
        _in_range(flat, target.shape[d], d, IndexRangeError, "index_copy_(): ")
    if target.dtype.isbuiltin == 2 and source.dtype == target.dtype:  # moved as they are
        target, source = target.view(f"u{target.itemsize}"), source.view(f"u{target.itemsize}")
    target[(slice(None),) * d + (flat,)] = source


@op("index_copy(Tensor input, int dim, Index index, Tensor source) -> Tensor", quiet="all", inplace=True)
class index_copy:
    """`input` with the parts of `source` put at positions of a dimension.

    >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1., 2.]))
    tensor([2., 0., 1.])
    """

    may_share = "nothing"
    lacks = {"uint float8": "index_copy_cpu"}
    sharding = "puts dim index"
    out_dtype = EXPECTED
    amp = "widest"
    saved_as = {"source_shape": None}
    numpy = _index_copy
    store_part = _copy_part
    compose = on_host(_index_copy)
    def shape(input, dim, index, source): return input
    check = _check_index_copy
    def vjp_input(F, grad, dim, index): return F.index_fill_value(grad, dim, index, 0)
    def vjp_source(F, grad, dim, index, source_shape): return F.reshape(F.index_select(grad, dim, index), tuple(source_shape))
    jvp = "linear"
    def batch(F, call): return _batched_store(F, call, F.scatter_src)
    def samples(rng): yield rng.standard_normal((3, 4)), 0, np.array([2, 0]), rng.standard_normal((2, 4))

    def errors(rng):
        yield (np.ones((3, 4)), 0, np.array([0, 1]), np.ones((3, 4))), IndexError, (
            "index_copy_(): Number of indices (2) should be equal to source.size(dim) (3)")


def _index_fill(input: np.ndarray, dim: int, index: np.ndarray, value: float | np.ndarray | bool) -> np.ndarray:
    if input.flags.c_contiguous or 0 in input.strides:
        result = copied(input)
    else:
        result = np.array(input, order="K")
    _fill_part(result, dim, index, value)
    return result


_FEW = 4096  # positions that are put one by one


def _put_number(a: np.ndarray, dim: int, index: np.ndarray, value: Any) -> bool:
    """Whether a kernel put a number at positions."""
    if value.__class__ is not np.ndarray:
        if not is_plain(value, a.dtype):
            return False
        value = one_of(value, a.dtype)
    return _put_parts(a, dim, index, value, None, True, ONE_PART)


def _check_positions(target: np.ndarray, d: int, index: np.ndarray) -> None:
    n = target.shape[d]
    if target.size and not (index.dtype.char == "l" and within(index, n)) and index.size and (index.min() < -n or index.max() >= n):
        bad = index[(index < -n) | (index >= n)].reshape(-1)[0]
        raise IndexRangeError(f"index {bad} is out of bounds for dimension {d} with size {n}")


def _fill_part(a: np.ndarray, dim: int, index: np.ndarray, value: float | np.ndarray | bool) -> None:
    if index.size < _FEW and _put_number(a, dim, index, value):
        return
    if isinstance(value, np.ndarray) and value.ndim:
        raise ValueError("the value is no number")
    target = a if a.ndim else a.reshape(1)
    _is_vector(index)
    d, flat = wrap_dim(dim, a.ndim), index.reshape(-1)
    _restrided(target, d, flat)
    if not target.size:
        return
    _check_positions(target, d, flat)
    if flat.size > target.shape[d]:  # each once
        named = np.zeros(target.shape[d], bool)
        named[flat] = True
        flat = named.nonzero()[0]
        if _put_number(a, d, flat, value):
            return
    if isinstance(value, np.ndarray):
        value = value if value.dtype is a.dtype else value.item()  # torch, too, takes it for a number
    if value.__class__ is not float or a.dtype.kind != "f" or abs(value) > IN_ALL:
        check_number(value, DType.by_np[a.dtype])
    if a.dtype.isbuiltin == 2:  # the number as its bits
        number = value if isinstance(value, np.ndarray) else number_array(value, DType.by_np[a.dtype])
        target, value = target.view(f"u{a.itemsize}"), number.view(f"u{a.itemsize}")
    else:
        value = fitting(value, a.dtype)
    target[(slice(None),) * d + (flat,)] = value


@op("index_fill_value(Tensor input, int dim, Index index, Scalar value) -> Tensor", quiet="all", inplace=True, method=False,
    namespace="_internal", node="IndexFillBackward0", out=False)
class index_fill_value:
    """`input` with a number put at positions of a dimension."""

    sharding = "puts dim index"
    layout = "input"
    numpy = _index_fill
    may_share = "itself nothing"
    warns_expanded = "index_fill_", "tensor[mask] = scalar"
    store_part = _fill_part
    compose = on_host(_index_fill)
    def shape(input, dim, index, value): return input
    def check(input, dim, index, value):
        _check_index_fill(input, dim, index)
        if isinstance(value, complex) and not input.dtype.is_complex:
            raise AutogradError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
        check_number(value, input.dtype)

    def vjp(F, grad, dim, index): return F.index_fill_value(grad, dim, index, 0)
    batch = _batched_fill
    aten = "index_fill.int_Scalar"
    no_vmap_ = "name"
    def samples(rng): yield rng.standard_normal((3, 4)), 1, np.array([2, 0]), 1.5


@op("index_fill_tensor(Tensor input, int dim, Index index, Tensor value) -> Tensor", quiet="all", inplace=True, method=False,
    namespace="_internal", node="IndexFillBackward1", out=False)
class index_fill_tensor:
    """`input` with a 0-dim tensor's value put at positions of a dimension."""

    sharding = "puts dim index"
    layout = "input"
    numpy = _index_fill
    may_share = "itself nothing"
    warns_expanded = "index_fill_", "tensor[mask] = scalar"
    store_part = _fill_part
    compose = on_host(_index_fill)
    def shape(input, dim, index, value): return input

    def check(input, dim, index, value):
        if value.ndim:
            raise AutogradError("index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                                f"{value.ndim} dimension(s).")
        _check_index_fill(input, dim, index)
        if value._k.dtype.is_complex and not input._k.dtype.is_complex and not on_meta(input):
            raise AutogradError("index_fill_(): Converting complex Scalar to non-complex type is not supported")

    def vjp_input(F, grad, dim, index): return F.index_fill_value(grad, dim, index, 0)
    def vjp_value(F, grad, dim, index): return F.sum(F.index_select(grad, dim, F.unique_index(index)))
    batch = _batched_fill
    aten = "index_fill.int_Tensor"
    no_vmap_ = "name"
    def samples(rng): yield rng.standard_normal((3, 4)), 1, np.array([2, 0, 2]), rng.standard_normal(())


@op("unique_index(Index index) -> Tensor", result="int64", method=False, namespace="_internal", out=False)
class unique_index:
    """The positions of an index, each once."""

    def numpy(index): return np.unique(index)
    meta = data_dependent
    compose = on_host(numpy)
    def samples(rng): yield (np.array([2, 0, 2]),)


@op("index_fill(Tensor input, int dim, Index index, Any value) -> Tensor", inplace=True, out=False)
class index_fill:
    """`input` with one value put at positions of a dimension.

    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([2]), 5)
    tensor([0., 0., 5.])
    """

    lacks = {"uint float8": "index_fill_cpu"}

    def quick(input, dim, index, value):
        if isinstance(value, TensorRef):
            if value._node is not None or value._k.np is not input.dtype or value._k not in KIND_SETS["Q_ANY"]:
                return None
            value = value._data
        elif not is_plain(value, input.dtype):
            return None
        if index.dtype.char != "l":
            return None
        found = _index_fill(input, dim, index, value)
        return found if input.flags.c_contiguous else laid_out(found, input)

    def overwrites(a, dim, index, value):
        if not is_index_apart(index, a) or index._data.ndim > 1:
            return False
        if not is_plain(value, a.dtype):
            if not is_plain_apart(value, a) or value._data.ndim:
                return False
            value = value._data
        _fill_part(a, dim, index._data, value)
        return True

    def function(F, input, dim, index, value):
        return (F.index_fill_tensor if isinstance(value, TensorRef) else F.index_fill_value)(input, dim, index, value)

    def function_(F, input, dim, index, value):
        return (F.index_fill_tensor_ if isinstance(value, TensorRef) else F.index_fill_value_)(input, dim, index, value)

    def samples(rng):
        yield rng.standard_normal((3, 4)), 1, np.array([2, 0]), 1.5
        yield rng.standard_normal((3, 4)), 0, np.array([2]), rng.standard_normal(())

    def errors(rng):
        yield (np.ones((3, 4)), 0, np.array([9]), 1.0), IndexError, "index 9 is out of bounds for dimension 0 with size 3"


_REDUCTIONS = ("prod", "mean", "amax", "amin")
_BETA = "index_reduce() is in beta and the API may change at any time."


def _index_reduce(input: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, reduce: str, include_self: bool) -> np.ndarray:
    result = copied(input)
    _reduce_part(result, dim, index, source, reduce, include_self)
    return result


def _reduce_part(a: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, reduce: str, include_self: bool) -> None:
    if reduce not in _REDUCTIONS or reduce == "mean" and a.dtype.char == "?":
        raise ValueError("no such reduction")
    warn_once(_BETA)
    if (how := how_of(reduce, a.dtype)) >= 0 and _put_parts(a, dim, index, source, how, include_self):
        return
    if not include_self and a.ndim:  # where torch begins by filling what is to be reduced to
        d = wrap_dim(dim, a.ndim)
        _restrided(a, d, index)
        _check_positions(a, d, index)
    target, d, flat, source = _parts(a, dim, index, source)
    if flat.size and not target.shape[d]:
        raise IndexRangeError(f"select(): index 0 out of range for tensor of size {list(a.shape)} at dimension {d}")
    flat = flat if flat.dtype.char == "l" else flat.astype(np.int64)
    if not within(flat, target.shape[d]):
        raise IndexRangeError("index out of range in self")
    _reduce_along(target, d, flat, source, reduce, include_self)


def _reducing_kernel(include_self: bool) -> str:
    return "index_func_" if include_self else "index_reduce_func_exclude_input_init"


@op("index_reduce(Tensor input, int dim, Index index, Tensor source, str reduce, *, bool include_self=True) -> Tensor", quiet="all",
    inplace=True, complex="no gradient")
class index_reduce:
    """`input` with the parts of `source` at positions of a dimension reduced into it: prod, mean, amax or amin.

    >>> torch.index_reduce(torch.ones(2), 0, torch.tensor([0, 0]), torch.tensor([3., 2.]), "amax")
    tensor([3., 1.])
    """

    may_share = "nothing"
    lacks = {"rare": lambda include_self, **_: _reducing_kernel(include_self)}
    sharding = "puts dim index"
    out_dtype = EXPECTED
    no_forward = "index_reduce"
    refuses_bool = True
    def complex_kernel(input, index, source, reduce, **_):
        fits = input._k.dtype is source._k.dtype and index._k.dtype.category == INTEGER
        return {"amax": "maximum_cpu", "amin": "minimum_cpu"}.get(reduce) if fits else None
    numpy = _index_reduce
    store_part = _reduce_part
    compose = on_host(_index_reduce)
    def shape(input, dim, index, source, reduce, include_self): return input

    @takes_floats
    def check(input, dim, index, source, reduce, include_self):
        if reduce not in _REDUCTIONS:
            raise AutogradError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
        _check_parts("index_reduce_")(input, dim, index, source)
        warn_once(_BETA)
        refuse_complex_gradient("index_reduce", input, source)
        category = input.dtype.category
        if category in (BOOL, COMPLEX) and input.ndim < 2 or category == BOOL and reduce == "mean":
            no_kernel(_reducing_kernel(include_self), input)

    def vjp(F, grad, input, source, result, dim, index, reduce, include_self):
        return _reduce_vjp(F, grad, input, source, result, reduce, include_self,
                           lambda x: F.index_select(x, dim, index), lambda x, v: F.index_add(x, dim, index, v),
                           lambda x: F.index_fill_value(x, dim, index, 0), lambda g: g, lambda x: x,
                           lambda a, b: F.index_reduce(a, dim, index, b, reduce, include_self=include_self),
                           "index_reduce(): Double backward is unsupported for source when >1 zeros in source are scattered to the same "
                           "position in self")

    def batch(F, call):
        return _batched_store(F, call, lambda *a: F.scatter_reduce(*a, call.values["reduce"], include_self=call.include_self))

    def samples(rng):
        for reduce in ("mean", "prod", "amax", "amin"):
            yield rng.uniform(0.5, 2, (3, 4)), 0, np.array([0, 2, 0]), rng.uniform(0.5, 2, (3, 4)), reduce
        yield rng.uniform(0.5, 2, (3, 4)), 0, np.array([0, 2, 0]), rng.uniform(0.5, 2, (3, 4)), "mean", False


# -- at indices where a mask is set -----------------------------------------------------------------------------------------------------


def _clamped(F: Functions, input: TensorRef, indices: Any) -> tuple[Any, ...]:
    """Indices for each dimension that are in range; those that are not stand where the mask is not set."""
    if not isinstance(indices, (tuple, list)) or any([not isinstance(i, TensorRef) for i in indices]):
        wrong = next((i, x) for i, x in enumerate(indices) if not isinstance(x, TensorRef))
        raise ArgumentError(f"expected Tensor as element {wrong[0]} in argument 2, but got {type_name(wrong[1])}")
    for i in indices:
        if i._k.dtype.name not in ("int32", "int64"):
            raise AutogradError(f"_unsafe_masked_index found unexpected index type {SCALAR_TYPE_NAMES[i._k.dtype.name]}")
    return tuple([F.clamp(i, -n, n - 1) for i, n in zip(indices, input.shape)])


def _plain_places(input: np.ndarray, mask: np.ndarray, indices: Any) -> tuple[np.ndarray, ...] | None:
    """The same of an array in rows, with an index of int64 for each dimension, as large as a mask of truth values; None of others."""
    if (indices.__class__ is not list and indices.__class__ is not tuple) or len(indices) != input.ndim or not input.ndim or (
            not input.flags.c_contiguous or not input.size or not mask.size or mask.dtype.char != "?"):
        return None
    if [i for i in indices if i._k is not INT64_KIND or i._data.shape != mask.shape]:
        return None
    return tuple([i._data if within(i._data, n) else np.minimum(np.maximum(i._data, -n), n - 1) for i, n in zip(indices, input.shape)])


def _set(F: Functions, mask: TensorRef) -> TensorRef:
    """Where a mask of any dtype is set."""
    found: TensorRef = mask if mask._k.dtype.category == BOOL else F.ne(mask, 0)
    return found


@op("_unsafe_masked_index(Tensor input, Tensor mask, Any indices, Scalar fill) -> Tensor", method=False, out=False)
class _unsafe_masked_index:
    """The elements at index tensors where `mask` is set, `fill` elsewhere.

    >>> torch._unsafe_masked_index(torch.tensor([1., 2.]), torch.tensor([True, False]), [torch.tensor([1, 9])], -1.)
    tensor([ 2., -1.])
    """

    lacks = {"uint float8": "masked_fill"}

    def quick(input, mask, indices, fill):
        key = _plain_places(input, mask, indices)
        if key is not None and -1 < fill < 128:
            return np.ascontiguousarray(where(mask, input[key], np.asarray(fill).astype(input.dtype)))

    def function(F, input, mask, indices, fill):
        if 0 in mask.shape:
            return F.full(broadcast_shape(mask.shape, *[i.shape for i in indices]), fill, dtype=input._k.dtype, device=input._k.device)
        picked = F.getitem(input, _clamped(F, input, indices))
        check_number(fill, input._k.dtype)
        return F.where(_set(F, mask), picked, constant(F, input, np.asarray(fill).astype(input._k.np)))

    def samples(rng): yield rng.standard_normal(4), np.array([True, False, True]), [np.array([1, 9, 0])], 0.5


@op("_unsafe_masked_index_put_accumulate(Tensor input, Tensor mask, Any indices, Tensor values) -> Tensor", method=False, out=False)
class _unsafe_masked_index_put_accumulate:
    """`input` with the values where `mask` is set added at index tensors.

    >>> torch._unsafe_masked_index_put_accumulate(torch.zeros(2), torch.tensor([True, False]), [torch.tensor([1, 9])], torch.ones(2))
    tensor([0., 1.])
    """

    lacks = {"uint float8": "masked_fill"}

    def quick(input, mask, indices, values):
        key = _plain_places(input, mask, indices)
        if key is not None and values.dtype is input.dtype and values.shape == mask.shape:
            result = input.copy()
            put(result, key, where(mask, values, np.zeros((), values.dtype)), True)
            return result

    def function(F, input, mask, indices, values):
        if 0 in mask.shape:
            return F.clone(input)
        given = F.where(_set(F, mask), values, constant(F, values, np.zeros((), values._k.np)))
        return F.index_put(input, _clamped(F, input, indices), given, True)

    def samples(rng): yield rng.standard_normal(4), np.array([True, False, True]), [np.array([1, 9, 0])], rng.standard_normal(3)
