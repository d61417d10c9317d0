"""Elements rearranged into a new tensor: flip, roll, repeat, triangles, diagonals, padding, pixel shuffle."""

from __future__ import annotations

from functools import cache, lru_cache
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any
from collections.abc import Callable, Sequence

import numpy as np

from ...dtypes import INT64_KIND, DType, as_bits, fitting
from ...dims import normalize_dims, wrap_dim
from ...errors import AutogradError, IndexRangeError, MissingKernelError
from ...executors.kernels.embedding import index_add
from ...executors.kernels.moved import clear_outside, triangle, turned
from ...executors.kernels.select import where
from ...executors.kernels.sharing import copy
from ...executors.meta import elementwise_strides, meta_array
from ...functions.out import EXPECTED
from ...functions.refusals import no_kernel, on_meta
from ...record import get_record, op
from ...strided import contiguous_strides, copy_like, in_format, may_overlap, reach, suggests_channels_last
from ...tensor import TensorRef
from .. import _batch as batches
from .. import _shapes as shapes
from .._batch import BatchedCall
from .._host import need_values, on_host
from .._samples import check_number, refuse_complex_gradient
from ..networks._losses import constant
from ..reductions.sums import finish
from ..views.parts import _diagonal, _diagonal_of
from ...annotations import Arguments, Fn, Functions, Keywords, Number

if TYPE_CHECKING:
    from ...record import Record
    from ...sharding.rules import Call, Plan

_ALL, _BACK = slice(None), slice(None, None, -1)
SHORT = 1024  # elements up to which the fewest calls are the quickest
_BITS = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}  # as what elements are moved, by their bytes


# -- order reversed or turned -------------------------------------------------------------------------------------------


def _flip(input: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    axes, key, back = _turning(input.ndim, dims) if dims.__class__ is int else _turning(input.ndim, *dims)
    flags = input.flags
    if flags.c_contiguous:
        return _rows_turned(input, axes, key)
    if flags.f_contiguous:
        return _rows_turned(input.T, back, key[::-1]).T
    result = np.empty_like(input, subok=False) if 0 not in input.strides else copy_like(input)
    as_bits(result)[...] = as_bits(input)[key]
    return result


def _rows_turned(input: np.ndarray, axes: tuple[int, ...], key: tuple[slice, ...]) -> np.ndarray:
    """An array that lies in rows with the order of some dimensions reversed."""
    if input.size < SHORT:
        return input[key].copy()
    result = turned(input, axes)
    if result is None:
        result = np.empty(input.shape, input.dtype)
        as_bits(result)[...] = as_bits(input)[key]
    return result


@lru_cache(512, typed=True)
def _turning(n: int, *dims: int) -> tuple[tuple[int, ...], tuple[slice, ...], tuple[int, ...]]:
    """(dimensions counted from the front, the index that turns them, these dimensions in an array that is transposed)."""
    axes = normalize_dims(tuple(map(index, dims)), n) or ()
    return axes, tuple([_BACK if d in axes else _ALL for d in range(n)]), tuple([n - 1 - d for d in axes])


def _flip_lacks(input: TensorRef, dims: int | Sequence[int]) -> str | None:
    """torch moves whole rows of any elements; only where the last dimension is turned must a kernel know them."""
    last = max([d for d in range(input.ndim) if input.shape[d] > 1], default=None)
    turned = [d % max(input.ndim, 1) for d in ([dims] if isinstance(dims, int) else dims)]
    return "flip_cpu if any" if last is not None and last in turned else None


@op("flip(Tensor input, int[] dims) -> Tensor", quiet="all", varargs="dims", out=False)
class flip:
    """The order of some dimensions reversed.

    >>> torch.flip(torch.tensor([1., 2., 3.]), [0])
    tensor([3., 2., 1.])
    """

    sharding = "along dims"
    meta_layout = "input"
    numpy = _flip
    moves = True
    def mindspore(ms, input, dims): return ms.ops.flip(input, (dims,) if isinstance(dims, int) else tuple(dims))
    compose = on_host(_flip)
    lacks = {"rare": _flip_lacks}
    def shape(input, dims): return input
    def vjp(F, grad, dims): return F.flip(grad, dims)
    jvp = "linear"

    def samples(rng):
        yield rng.standard_normal((2, 3)), (0,)
        yield rng.standard_normal((2, 3)).T, (0, -1)

    def errors(rng): yield (np.ones((2, 3)), (0, 0)), RuntimeError, "dim 0 appears multiple times in the list of dims"


@op("fliplr(Tensor input) -> Tensor", out=False)
class fliplr:
    """Columns in reverse order.

    >>> torch.fliplr(torch.tensor([[1., 2.]]))
    tensor([[2., 1.]])
    """

    def quick(input): return _flip(input, (1,)) if input.ndim > 1 else None

    def function(F, input):
        if input.ndim < 2:
            raise AutogradError("Input must be >= 2-d.")
        return F.flip(input, (1,))

    def samples(rng): yield (rng.standard_normal((2, 3)),)
    def errors(rng): yield (np.ones(2),), RuntimeError, "Input must be >= 2-d."


@op("flipud(Tensor input) -> Tensor", out=False)
class flipud:
    """Rows in reverse order.

    >>> torch.flipud(torch.tensor([1., 2.]))
    tensor([2., 1.])
    """

    def quick(input): return _flip(input, (0,)) if input.ndim else None

    def function(F, input):
        if input.ndim < 1:
            raise AutogradError("Input must be >= 1-d.")
        return F.flip(input, (0,))

    def samples(rng): yield (rng.standard_normal(3),)


@op("rot90(Tensor input, int k=1, int[] dims=(0, 1)) -> Tensor", out=False)
class rot90:
    """Turned by 90 degrees `k` times, in the plane of two dimensions, from the first to the second.

    >>> torch.rot90(torch.tensor([[1., 2.], [3., 4.]]))
    tensor([[2., 4.],
            [1., 3.]])
    """

    def quick(input, k, dims):
        a, b = dims
        n = input.ndim
        if not (-n <= a < n and -n <= b < n) or (a - b) % n == 0:
            return None
        k %= 4
        if k == 0:
            return copy(input)
        return _flip(input, (a, b)) if k == 2 else _flip(input, (b,) if k == 1 else (a,)).swapaxes(a, b)

    def function(F, input, k=1, dims=(0, 1)):
        if len(dims) != 2:
            raise AutogradError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
        if input.ndim < 2:
            raise AutogradError(f"expected total dims >= 2, but got total dims = {input.ndim}")
        a, b = dims
        if a == b or abs(a - b) == input.ndim:
            raise AutogradError(f"expected rotation dims to be different, but got dim0 = {a} and dim1 = {b}")
        wrap_dim(a, input.ndim), wrap_dim(b, input.ndim)
        k %= 4
        if k == 0:
            return F.clone(input, memory_format="torch.contiguous_format")
        if k == 2:
            return F.flip(input, (a, b))
        return F.transpose(F.flip(input, (b,) if k == 1 else (a,)), a, b)

    def samples(rng):
        for k in (1, 2, 3, 4):
            yield rng.standard_normal((2, 3)), k

    def errors(rng):
        yield (np.ones((2, 3)), 1, (0,)), RuntimeError, "expected total rotation dims == 2, but got dims = 1"
        yield (np.ones((2, 3)), 1, (0, 0)), RuntimeError, "expected rotation dims to be different, but got dim0 = 0 and dim1 = 0"


def _rolled(input: np.ndarray, shift: int, d: int) -> np.ndarray:
    n = input.shape[d]
    at = -shift % n if n else 0
    lead = (_ALL,) * d
    return np.concatenate((input[lead + (slice(at, None),)], input[lead + (slice(None, at),)]), d)


def roll_array(input: np.ndarray, shifts: int | Sequence[int], dims: Sequence[int]) -> np.ndarray:
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = (dims,) if isinstance(dims, int) else tuple(dims or ())
    if not shifts:
        raise AutogradError("`shifts` required")
    if len(dims) != len(shifts) and not (not dims and len(shifts) == 1):
        raise AutogradError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if dims and not input.ndim:
        raise IndexRangeError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    if not dims:
        return _rolled(input.reshape(-1), shifts[0], 0).reshape(input.shape)
    ways = [(shift, wrap_dim(d, input.ndim)) for shift, d in zip(shifts, dims)]
    rolled, shape = input, input.shape
    for shift, d in [(shift, d) for shift, d in ways if shape[d] and shift % shape[d]] or ways:
        rolled = _rolled(rolled, shift, d)
    rolled = finish(rolled, input)
    return in_format(input.ndim - 2, rolled, input) if input.ndim in (4, 5) else rolled


@op("roll(Tensor input, int[] shifts, int[]? dims=()) -> Tensor", quiet="all", out=False)
class roll:
    """Elements shifted along dimensions, what leaves at the end coming in at the start; the flattened tensor without dimensions.

    >>> torch.roll(torch.tensor([1., 2., 3.]), 1)
    tensor([3., 1., 2.])
    """

    sharding = "along dims"
    numpy = roll_array
    moves = True
    compose = on_host(roll_array)
    def shape(input, shifts, dims): return input
    def vjp(F, grad, shifts, dims): return F.roll(grad, -shifts if isinstance(shifts, int) else tuple([-s for s in shifts]), dims)
    jvp = "linear"

    def batch(F, call):
        """Named dimensions, or the flattened example."""
        rank = call.ranks["input"]
        dims = (call.dims,) if isinstance(call.dims, int) else call.dims
        if dims:
            return call(dims=tuple([batches.shifted(d, rank) for d in dims])) if rank else NotImplemented
        x = call.input
        flat = F.reshape(x, (call.size, prod(x.shape[1:])))
        return F.reshape(call(input=flat, dims=(1,)), tuple(x.shape))

    def samples(rng):
        yield rng.standard_normal((2, 3)), 1
        yield rng.standard_normal((2, 3)), (1, -1), (0, 1)

    def errors(rng):
        yield (np.ones((2, 3)), 1, (0, 1)), RuntimeError, "shifts and dimensions must align. shifts: 1, dims:2"


# -- repetition --------------------------------------------------------------------------------------------------------------


def _repeat(input: np.ndarray, repeats: Sequence[int]) -> np.ndarray:
    repeats = (repeats,) if repeats.__class__ is int else tuple(repeats)
    if len(repeats) < input.ndim:
        raise AutogradError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any([r < 0 for r in repeats]):
        raise AutogradError(f"Trying to create tensor with negative dimension {min(repeats)}: {list(repeats)}")
    if input.ndim < len(repeats):
        input = input.reshape((1,) * (len(repeats) - input.ndim) + input.shape)
    shape = input.shape
    result = np.empty([r * n for r, n in zip(repeats, shape)], input.dtype)
    if result.size:
        # One after the other along each dimension: repetition and place in what is repeated.
        apart = as_bits(result).reshape([size for pair in zip(repeats, shape) for size in pair])
        apart[...] = as_bits(input).reshape([size for n in shape for size in (1, n)])
    return result


@op("repeat(Tensor input, int[] repeats) -> Tensor", quiet="all", varargs="repeats", out=False)
class repeat:
    """The tensor repeated along its dimensions, new ones in front.

    >>> torch.tensor([1., 2.]).repeat(2, 2)
    tensor([[1., 2., 1., 2.],
            [1., 2., 1., 2.]])
    """

    def sharding(call):
        shape, repeats = call.shape("input"), call["repeats"]
        repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
        lead = len(repeats) - len(shape)
        given = [d if repeats[lead + d] == 1 else None for d in range(len(shape))]
        return call.propagate([given], [[*[None] * lead, *given]])

    numpy = _repeat
    moves = True
    def shape(input, repeats):
        repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
        return tuple([r * n for r, n in zip(repeats, (1,) * (len(repeats) - len(input)) + tuple(input))])
    compose = on_host(_repeat)

    def vjp(F, grad, input_shape, repeats):
        repeats = (repeats,) if isinstance(repeats, int) else tuple(repeats)
        lead = len(repeats) - len(input_shape)
        split, dims = [], []
        for i, r in enumerate(repeats):
            dims.append(len(split))
            split += [r, input_shape[i - lead]] if i >= lead else [r]
        return F.sum(F.reshape(grad, tuple(split)), tuple(dims)) if split else grad
    jvp = "linear"

    def batch(F, call):
        """New dimensions come after that of the batch."""
        x, lead = call.input, len(call.repeats) - call.ranks["input"]
        if lead < 0:
            return NotImplemented
        for _ in range(lead):
            x = F.unsqueeze(x, 1)
        return call(input=x, repeats=(1, *call.repeats))

    def samples(rng):
        yield rng.standard_normal((2, 3)), (2, 1, 2)
        yield rng.standard_normal(3), (2, 2)
        yield rng.standard_normal(()), (2,)

    def errors(rng):
        yield (np.ones((2, 3)), (2,)), RuntimeError, (
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")


@op("tile(Tensor input, int[] dims) -> Tensor", varargs="dims", out=False)
class tile:
    """The tensor repeated along its last dimensions.

    >>> torch.tile(torch.tensor([1., 2.]), (2,))
    tensor([1., 2., 1., 2.])
    """

    def quick(input, dims):
        dims = (dims,) if dims.__class__ is int else tuple(dims)
        return _repeat(input, (1,) * (input.ndim - len(dims)) + dims)

    def function(F, input, dims):
        dims = (dims,) if isinstance(dims, int) else tuple(dims)
        return F.repeat(input, (1,) * (input.ndim - len(dims)) + dims)

    def samples(rng):
        yield rng.standard_normal((2, 3)), (2,)
        yield rng.standard_normal(3), (2, 2)


def _is_count(repeats: TensorRef) -> None:
    if repeats._k.dtype.name not in ("int32", "int64"):
        no_kernel("repeat_interleave_cpu", repeats)


def _repeated(x: np.ndarray, repeats: object, dim: object) -> np.ndarray | None:
    """Each part as often as a plain number says, or a row of numbers; None for other arguments."""
    if dim is None:
        x, dim = x.reshape(-1), 0
    n = x.ndim
    if isinstance(repeats, TensorRef) and repeats._k is INT64_KIND and dim.__class__ is int and -n <= dim < n:
        counts, many = repeats._data, x.shape[dim]
        if counts.ndim != 1 or counts.size not in (1, many):
            return None
        found = as_bits(x).take(np.arange(many).repeat(counts), dim)  # which refuses what is negative
        return found if x.dtype.isbuiltin == 1 else found.view(x.dtype)
    if repeats.__class__ is not int or dim.__class__ is not int or not -n <= dim < n or repeats < 0:
        return None
    times, d = int(repeats), int(dim) % n
    result = np.empty((*x.shape[:d + 1], times, *x.shape[d + 1:]), x.dtype)
    into, source = [a.view(_BITS[2]) if x.dtype.isbuiltin == 2 else a for a in (result, x)]
    if d == n - 1 and 0 < times <= 8 and x.size > 64:  # long strides sooner than short runs
        for i in range(times):
            into[..., i] = source
    else:
        into[...] = source[(_ALL,) * (d + 1) + (None,)]
    return result.reshape(*x.shape[:d], x.shape[d] * times, *x.shape[d + 1:])


@op("repeat_interleave(Tensor input, Any repeats, int? dim=None, *, int? output_size=None) -> Tensor", out=False)
class repeat_interleave:
    """Each element, or part of a dimension, repeated in its place.

    >>> torch.repeat_interleave(torch.tensor([1., 2.]), 2)
    tensor([1., 1., 2., 2.])
    """

    def reads(repeats, **_): return "input" if repeats is None else "repeats"
    def quick(input, repeats, dim, output_size): return _repeated(input, repeats, dim) if output_size is None else None

    def function(F, input, repeats=None, dim=None, *, output_size=None):
        if repeats is None:
            _is_count(input)
            counts = need_values(input)
            if counts.ndim != 1:
                raise AutogradError("repeat_interleave only accept 1D vector as repeat")
            if (counts < 0).any():
                raise AutogradError("repeats can not be negative")
            return constant(F, input, np.repeat(np.arange(counts.size, dtype=counts.dtype), counts))
        if dim is None:
            input, dim = F.reshape(input, (-1,)), 0
        d = wrap_dim(dim, input.ndim)
        n = input.shape[d] if input.ndim else 1
        if isinstance(repeats, TensorRef):
            if on_meta(repeats):
                if output_size is None:
                    raise AutogradError("cannot repeat_interleave a meta tensor without output_size")
                return F.index_select(input, d, constant(F, input, np.zeros(output_size, np.int64)))
            counts = need_values(repeats).reshape(-1)
            if repeats.ndim > 1:
                raise AutogradError("repeats must be 0-dim or 1-dim tensor")
            if counts.size not in (1, n):
                raise AutogradError("repeats must have the same size as input along dim, but got repeats.size(0) = "
                                    f"{counts.size} and input.size({d}) = {n}")
            _is_count(repeats)
            if (counts < 0).any():
                raise AutogradError("repeats can not be negative")
        else:
            if repeats < 0:
                raise AutogradError("Repeats must be non-negative")
            # One size for all: an expanded dimension, as torch does it, whose gradient is a sum.
            wide = F.expand(F.unsqueeze(input, d + 1), (*input.shape[:d + 1], repeats, *input.shape[d + 1:])) if input.ndim else None
            if wide is not None and output_size in (None, n * repeats):
                return F.view(F.clone(wide, memory_format="torch.contiguous_format"), (*input.shape[:d], n * repeats, *input.shape[d + 1:]))
            counts = np.array([repeats])
        at = np.repeat(np.arange(n), np.broadcast_to(counts, (n,)))
        if output_size is not None and output_size != at.size:
            raise AutogradError("allocated size does not match required size")
        return F.index_select(input, d, constant(F, input, at))

    def samples(rng):
        yield rng.standard_normal((2, 3)), 2
        yield rng.standard_normal((2, 3)), 2, -1
        yield rng.standard_normal((2, 3)), np.array([2, 0, 1]), 1

    def errors(rng):
        yield (np.ones((3, 4)), -1), RuntimeError, "Repeats must be non-negative"
        yield (np.ones((3, 4)), np.array([1, 2]), 0), RuntimeError, (
            "repeats must have the same size as input along dim, but got repeats.size(0) = 2 and input.size(0) = 3")


# -- triangles and diagonals ---------------------------------------------------------------------------------------------------


@lru_cache(64)
def _kept_outside(rows: int, columns: int, k: int, lower: bool) -> np.ndarray:
    return _outside(rows, columns, k, lower)


def _outside(rows: int, columns: int, k: int, lower: bool) -> np.ndarray:
    """True outside of a triangle: above diagonal `k`, or below it."""
    return ~np.tri(rows, columns, k, bool) if lower else np.tri(rows, columns, k - 1, bool)


@lru_cache(64)
def _kept_bits(rows: int, columns: int, k: int, lower: bool, item: int) -> np.ndarray:
    """All bits set within a triangle, none outside, for elements of so many bytes."""
    return np.negative(~_outside(rows, columns, k, lower), dtype=_BITS[item])


_ROWS = 64  # that are written to at once
_MASKED = 4096  # elements up to which what is outside of a triangle is kept
_zero = lru_cache(64)(lambda dtype: np.zeros((), dtype))


def _triangle(name: str, lower: bool) -> tuple[Fn, Fn]:
    def kernel(input: np.ndarray, diagonal: int) -> np.ndarray:
        if input.ndim < 2:
            raise AutogradError(f"{name}: input tensor must have at least 2 dimensions")
        if (found := triangle(input, diagonal, lower)) is not None:
            return found
        if input.size <= _MASKED and (item := input.itemsize) <= 8:
            bits = _BITS[item]
            return np.bitwise_and(input.view(bits), _kept_bits(*input.shape[-2:], diagonal, lower, item), order="C").view(input.dtype)
        return finish(where(outside(input, diagonal), _zero(input.dtype), input), input)

    def outside(input: np.ndarray, diagonal: int) -> np.ndarray:
        rows, columns = input.shape[-2:]
        return (_kept_outside if rows * columns <= _MASKED else _outside)(rows, columns, diagonal, lower)

    def store_part(a: np.ndarray, diagonal: int) -> None:
        if clear_outside(a, diagonal, lower):
            return
        if a.ndim < 2 or a.size <= _MASKED:
            np.copyto(a, 0, where=outside(a, diagonal), casting="unsafe")
            return
        rows, columns = a.shape[-2:]
        for top in range(0, rows, _ROWS):  # all columns of so many rows on one side, and by a mask those that the diagonal crosses
            block = a[..., top:top + _ROWS, :]
            shift, height = top + diagonal + lower, block.shape[-2]
            low, high = [min(max(x, 0), columns) for x in (shift, shift + height - 1)]
            if lower and low == columns:
                return  # all that follows is kept
            if not lower and low == columns:
                a[..., top:, :] = 0
                return
            block[..., slice(high, None) if lower else slice(low)] = 0
            if high > low:
                np.copyto(block[..., low:high], 0, casting="unsafe",
                          where=_kept_outside(height, high - low, top + diagonal - low, lower))

    return kernel, store_part


(_tril, _tril_part), (_triu, _triu_part) = _triangle("tril", True), _triangle("triu", False)


def _triangle_of_part(call: Call) -> Plan:
    """The diagonal as it runs through a device's part."""
    shape = call.shape("input")
    plan = call.letters("*a -> *a")
    at = plan.inputs["input"]

    def arguments(device: int, values: Keywords) -> dict[str, Any]:
        rows, columns = at.bounds(shape, device)[-2:]
        return {**values, "diagonal": values["diagonal"] + rows.start - columns.start}

    if len(shape) > 1 and any(at.dims[-2:]):
        plan.arguments = arguments
    return plan


@op("tril(Tensor input, int diagonal=0) -> Tensor", quiet="all", inplace=True, dtypes="float int bool")
class tril:
    """The lower triangle of matrices, up to a diagonal; the rest zero.

    >>> torch.tril(torch.tensor([[1., 2.], [3., 4.]]))
    tensor([[1., 0.],
            [3., 4.]])
    """

    lacks = {"uint float8": "tril"}
    def sharding(call): return _triangle_of_part(call)
    out_dtype = EXPECTED
    numpy = _tril
    compose = on_host(_tril)
    def shape(input, diagonal): return input
    may_share = "itself"
    store_part = _tril_part
    def vjp(F, grad, diagonal): return F.tril(grad, diagonal)
    jvp = "linear"
    batch = batches.matrices

    def samples(rng):
        yield (rng.standard_normal((3, 3)),)
        yield rng.standard_normal((2, 3, 4)), -1

    def errors(rng): yield (np.ones(3),), RuntimeError, "tril: input tensor must have at least 2 dimensions"


@op("triu(Tensor input, int diagonal=0) -> Tensor", quiet="all", inplace=True, dtypes="float int bool")
class triu:
    """The upper triangle of matrices, from a diagonal on; the rest zero.

    >>> torch.triu(torch.tensor([[1., 2.], [3., 4.]]))
    tensor([[1., 2.],
            [0., 4.]])
    """

    lacks = {"uint float8": "triu"}
    def sharding(call): return _triangle_of_part(call)
    out_dtype = EXPECTED
    numpy = _triu
    compose = on_host(_triu)
    def shape(input, diagonal): return input
    may_share = "itself"
    store_part = _triu_part
    def vjp(F, grad, diagonal): return F.triu(grad, diagonal)
    jvp = "linear"
    batch = batches.matrices

    def samples(rng):
        yield (rng.standard_normal((3, 3)),)
        yield rng.standard_normal((2, 3, 4)), 1


def _diag_embed(input: np.ndarray, offset: int, dim1: int, dim2: int) -> np.ndarray:
    whole, (shape, strides, start) = _embedded(input.shape, input.itemsize, offset, dim1, dim2)
    result = np.zeros(whole, input.dtype)
    if input.size:
        np.ndarray(shape, input.dtype, result, start, strides)[...] = input
    return result


@lru_cache(512, typed=True)
def _embedded(shape: tuple[int, ...], item: int, offset: int, dim1: int, dim2: int) -> tuple[list[int], tuple[Any, Any, int]]:
    """(the sizes with the last dimension as a diagonal of two, where that lies, in bytes)."""
    n = len(shape) + 1
    a, b = wrap_dim(dim1, n), wrap_dim(dim2, n)
    if a == b:
        raise AutogradError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rest = iter(shape[:-1])
    whole = [shape[-1] + abs(offset) if i in (a, b) else next(rest) for i in range(n)]
    return whole, _diagonal_of(tuple(whole), tuple([s * item for s in contiguous_strides(tuple(whole))]), offset, a, b)


@op("diag_embed(Tensor input, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", quiet="all", out=False)
class diag_embed:
    """Matrices with the last dimension of `input` on a diagonal.

    >>> torch.diag_embed(torch.tensor([1., 2.]))
    tensor([[1., 0.],
            [0., 2.]])
    """

    def sharding(call):
        n = len(call.shape("input")) + 1
        rest = iter(range(n - 2))
        made = [None if d in (call["dim1"] % n, call["dim2"] % n) else next(rest) for d in range(n)]
        return call.propagate([[*range(n - 2), None]], [made])

    numpy = _diag_embed
    moves = True
    compose = on_host(_diag_embed)
    def vjp(F, grad, offset, dim1, dim2): return F.diagonal(grad, offset, dim1, dim2)
    jvp = "linear"
    batch = batches.of_result

    def samples(rng):
        yield (rng.standard_normal((2, 3)),)
        yield rng.standard_normal((2, 3)), 1, 0, 2

    def errors(rng): yield (np.ones((2, 3)), 0, 0, 0), RuntimeError, "diagonal dimensions cannot be identical 0, 0"


@op("diag(Tensor input, int diagonal=0) -> Tensor")
class diag:
    """The diagonal of a matrix, or the matrix with a vector on its diagonal.

    >>> torch.diag(torch.tensor([[1., 2.], [3., 4.]])), torch.diag(torch.tensor([1., 2.])).shape
    (tensor([1., 4.]), torch.Size([2, 2]))
    """

    out_dtype = EXPECTED
    def quick(input, diagonal):
        if input.ndim == 1:
            return _diag_embed(input, diagonal, 0, 1)
        return copy(_diagonal(input, diagonal, 0, 1)) if input.ndim == 2 else None

    def function(F, input, diagonal=0):
        if input.ndim not in (1, 2):
            raise AutogradError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
        result = F.diag_embed(input, diagonal) if input.ndim == 1 else F.clone(F.diagonal(input, diagonal))
        return result

    def samples(rng):
        yield rng.standard_normal((3, 4)), 1
        yield rng.standard_normal(3), -1

    def errors(rng): yield (np.ones((2, 2, 2)),), RuntimeError, "diag(): Supports 1D or 2D tensors. Got 3D"


@op("diagflat(Tensor input, int offset=0) -> Tensor", out=False)
class diagflat:
    """The matrix with all elements on its diagonal.

    >>> torch.diagflat(torch.tensor([[1., 2.]])).shape
    torch.Size([2, 2])
    """

    def quick(input, offset): return _diag_embed(input.reshape(-1), offset, 0, 1)
    def function(F, input, offset=0): return F.diag_embed(F.reshape(input, (-1,)), offset)
    def samples(rng): yield rng.standard_normal((2, 2)), 1


@cache
def _showing(view: str) -> Callable[..., np.ndarray]:
    """What shows a view of an array."""
    seen = get_record(view)
    shows: Callable[..., np.ndarray] = seen.field("numpy") or seen.field("shown")
    return shows


def placed(input: np.ndarray, src: np.ndarray, view: str, where: Arguments) -> np.ndarray | None:
    """A copy with `src` in the place of what a view of it shows; None where that has another shape, or another dtype."""
    result = input.copy("K") if view == "as_strided" else copy_like(input)
    place = _showing(view)(result, *where)
    if place.shape != src.shape or result.dtype is not src.dtype:
        return None
    as_bits(place)[...] = as_bits(src)
    return result


@op("place_view(Tensor input, Tensor src, str view, Any where) -> Tensor", quiet="all", method=False, namespace="_internal", out=False,
    node="SliceScatterBackward0")
class place_view:
    """`input` with `src`, which is of its dtype, in the place of what a view of it shows."""

    nodes = {"view == 'select'": "SelectScatterBackward0", "view == 'diagonal'": "DiagonalScatterBackward0",
             "view == 'as_strided'": "AsStridedScatterBackward0"}
    saved_as = {"input_shape": None, "src_shape": None, "view": None, "where": None}
    saved_also = {"SelectScatterBackward0.dim": "where[0] % 2**64", "SelectScatterBackward0.index": "where[1] % 2**64",
                  "SliceScatterBackward0.dim": "where[0] % 2**64", "SliceScatterBackward0.start": "where[1]",
                  "SliceScatterBackward0.end": "where[2]", "SliceScatterBackward0.step": "where[3]",
                  "DiagonalScatterBackward0.offset": "where[0] % 2**64", "DiagonalScatterBackward0.dim1": "where[1] % 2**64",
                  "DiagonalScatterBackward0.dim2": "where[2] % 2**64", "AsStridedScatterBackward0.size": "where[0]",
                  "AsStridedScatterBackward0.stride": "where[1]", "AsStridedScatterBackward0.storage_offset": "where[2]"}
    numpy = placed
    moves = True
    compose = on_host(placed)
    def meta(input, src, view, where):
        steps = None if view == "as_strided" else elementwise_strides(input.shape, [input], input.itemsize)
        return meta_array(input.shape, input.dtype, steps)
    def vjp_input(F, grad, src_shape, view, where): return F.place_view(grad, F.zeros_for(grad, tuple(src_shape)), view, where)

    def vjp_src(F, grad, input_shape, view, where):
        if view != "as_strided":
            return getattr(F, view)(grad, *where)
        shape, (size, stride, at) = tuple(input_shape), where
        return F.restride(grad, (shape, contiguous_strides(shape), 0), (tuple(size), tuple(stride), at or 0))
    jvp = "linear"

    def batch(F, call):
        """The same place one dimension further, or in each example's memory."""
        x, where = call.whole("input"), call.where
        shift = lambda dim: batches.shifted(dim, x.ndim - 1)
        if call.view == "as_strided":
            x = F.contiguous(x)  # each example in rows
            size, stride, at = where
            where = (call.size, *size), (prod(x.shape[1:]), *stride), at or 0
        else:
            where = (where[0], *map(shift, where[1:])) if call.view == "diagonal" else (shift(where[0]), *where[1:])
        return call(input=x, src=call.whole("src"), where=where)

    def aten(input, src, view, where): return f"{view}_scatter(input, src, *where)"

    def samples(rng):
        yield rng.standard_normal((3, 4)), rng.standard_normal(3), "select", (1, -1)
        yield rng.standard_normal((3, 4)), rng.standard_normal((3, 2)), "slice", (1, 0, 4, 2)
        yield rng.standard_normal((3, 4)), rng.standard_normal(3), "diagonal", (1, 0, 1)
        yield rng.standard_normal((3, 4)), rng.standard_normal((2, 2)), "as_strided", ((2, 2), (1, 2), 1)


@op("select_scatter(Tensor input, Tensor src, int dim, int index) -> Tensor", out=False)
class select_scatter:
    """`input` with `src` at one position of a dimension.

    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """

    def quick(input, src, dim, index): return placed(input, src, "select", (dim, index))

    def function(F, input, src, dim, index):
        refuse_complex_gradient("select_scatter", input, src)
        return _place_view(F, input, src, "select", (dim, index))

    def samples(rng): yield rng.standard_normal((3, 4)), rng.standard_normal(3), 1, -1


@op("slice_scatter(Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor")
class slice_scatter:
    """`input` with `src` at a range of a dimension.

    >>> torch.slice_scatter(torch.zeros(3), torch.ones(2), 0, 1)
    tensor([0., 1., 1.])
    """

    out_dtype = EXPECTED
    def quick(input, src, dim, start, end, step): return placed(input, src, "slice", (dim, start, end, step))

    def function(F, input, src, dim=0, start=None, end=None, step=1):
        refuse_complex_gradient("slice_scatter", input, src)
        return _place_view(F, input, src, "slice", (dim, start, end, step))

    def samples(rng): yield rng.standard_normal((3, 4)), rng.standard_normal((3, 2)), 1, 0, 4, 2


@op("diagonal_scatter(Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor", out=False)
class diagonal_scatter:
    """`input` with `src` on a diagonal.

    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    def quick(input, src, offset, dim1, dim2): return placed(input, src, "diagonal", (offset, dim1, dim2))
    def function(F, input, src, offset=0, dim1=0, dim2=1): return _place_view(F, input, src, "diagonal", (offset, dim1, dim2))
    def samples(rng): yield rng.standard_normal((3, 4)), rng.standard_normal(3), 1


def _place_view(F: Functions, input: TensorRef, src: TensorRef, view: str, where: Arguments) -> TensorRef:
    part = getattr(F, view)(input, *where)
    if tuple(part.shape) != tuple(src.shape):
        raise AutogradError(f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
                            f"{list(part.shape)}")
    if input._k.dtype.group:  # which have no kernel that puts elements at places
        whole = F.clone(input)
        F.copy_(getattr(F, view)(whole, *where), src)
        return whole
    return F.place_view(input, src if src._k.dtype is input._k.dtype else F.cast(src, input._k.dtype), view, where)


# -- padding ---------------------------------------------------------------------------------------------------------------------


@lru_cache(512)
def _frames(shape: tuple[int, ...], pad: tuple[int, ...]) -> tuple[list[int], tuple[slice, ...], tuple[slice, ...]]:
    """The shape with what is put around it, what is taken from within, and where that goes."""
    n = len(shape)
    sizes, source, target = list(shape), [_ALL] * n, [_ALL] * n
    for i in range(len(pad) // 2):
        d, before, after = n - 1 - i, pad[2 * i], pad[2 * i + 1]
        size = sizes[d] + before + after
        if size < 0 or -before > sizes[d] or -after > sizes[d]:
            raise AutogradError(f"The input size {sizes[d]}, plus negative padding {before} and {after} resulted in a negative output "
                                f"size, "
                                f"which is invalid. Check dimension {d} of your input.")
        source[d] = slice(max(-before, 0), sizes[d] - max(-after, 0))
        target[d] = slice(max(before, 0), size - max(after, 0))
        sizes[d] = size
    return sizes, tuple(source), tuple(target)


def pad_constant(input: np.ndarray, pad: Sequence[int], value: Number) -> np.ndarray:
    n = input.ndim
    sizes, source, target = _frames(input.shape, tuple(pad))
    if not isinstance(value, complex) and value and input.dtype.kind in "iu":
        check_number(float(value), DType.by_np[input.dtype])  # torch has it as a float
    result = np.zeros(sizes, input.dtype) if value == 0 else np.full(sizes, fitting(np.asarray(value), input.dtype), input.dtype)
    result[target] = input[source]
    return in_format(n - 2, result, input) if n in (4, 5) else result


def _padded_plan(call: Call, n: int, **options: Any) -> Plan:
    """Dimensions that are padded must be whole."""
    pad = call["pad"]
    letters = [None if any(pad[2 * (n - 1 - d):2 * (n - d)]) else d for d in range(n)]
    return call.propagate([letters], [letters], **options)


@op("constant_pad_nd(Tensor input, int[] pad, Scalar value=0) -> Tensor", quiet="all", out=False, method=False)
class constant_pad_nd:
    """A number put around the tensor: `pad` is (before, after) of the last dimension, then of the one before it, and so on.

    >>> torch.constant_pad_nd(torch.tensor([1., 2.]), (1, 2))
    tensor([0., 1., 2., 0., 0.])
    """

    def sharding(call): return _padded_plan(call, len(call.shape("input")), linear="all" if call["value"] == 0 else "")
    numpy = pad_constant
    shape = shapes.padded
    compose = on_host(pad_constant)
    def vjp(F, grad, pad): return F.constant_pad_nd(grad, tuple([-p for p in pad]))
    def jvp(F, outputs, arguments, tangents): return F.constant_pad_nd(tangents["input"], arguments["pad"])
    def batch(F, call): return call() if len(call.pad) <= 2 * call.ranks["input"] else NotImplemented
    aten = "constant_pad_nd(input, list(pad), float(value))"
    number_fits = True

    def check(input, pad, value):
        check_number(value, input.dtype)
        if len(pad) % 2:
            raise AutogradError(f"Length of pad must be even but instead it equals {len(pad)}")
        if len(pad) > 2 * input.ndim:
            raise AutogradError("Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
                                f"{len(pad)} while the input has {input.ndim} dimensions.")

    def samples(rng):
        yield rng.standard_normal((2, 3)), (1, 2)
        yield rng.standard_normal((2, 3)), (-1, 2, 1, 0), 1.5


@lru_cache(256)
def _source_index(n: int, before: int, after: int, mode: str) -> np.ndarray:
    """For each position of a padded dimension, the position it is taken from."""
    at = np.arange(-before, n + after)
    if mode == "replicate":
        return np.clip(at, 0, n - 1)
    if mode == "circular":
        return at % n
    period = max(2 * (n - 1), 1)
    at = np.abs(at) % period
    return np.where(at >= n, period - at, at)


def _pad_by_strips(input: np.ndarray, pad: Sequence[int], mode: str) -> np.ndarray | None:
    """The tensor within a bigger one whose borders are copied from beside them, one dimension after another; None where a dimension is cut,
    or a border longer than what it is a copy of."""
    k, ndim = len(pad) // 2, input.ndim
    befores, afters, sizes = pad[-2::-2], pad[::-2], input.shape[ndim - k:]
    short = 1 if mode == "reflect" else 0
    if min(pad) < 0 or 0 in sizes or mode != "replicate" and any([max(b, a) > n - short for b, a, n in zip(befores, afters, sizes)]):
        return None
    moved = as_bits(input)
    padded = np.empty((*input.shape[:ndim - k], *[b + n + a for b, n, a in zip(befores, sizes, afters)]), moved.dtype)
    inner = [slice(b, b + n) for b, n in zip(befores, sizes)]
    padded[(..., *inner)] = moved
    for i in range(k - 1, -1, -1):
        b, n, a = befores[i], sizes[i], afters[i]
        lead: tuple[Any, ...] = (..., *inner[:i])
        rest: tuple[Any, ...] = (slice(None),) * (k - 1 - i)
        if b:
            source = {"reflect": slice(2 * b, b, -1), "replicate": slice(b, b + 1), "circular": slice(n, n + b)}[mode]
            padded[(*lead, slice(0, b), *rest)] = padded[(*lead, source, *rest)]
        if a:
            end = b + n
            stop = end - 2 - a
            source = {"reflect": slice(end - 2, stop if stop >= 0 else None, -1), "replicate": slice(end - 1, end),
                      "circular": slice(b, b + a)}[mode]
            padded[(*lead, slice(end, end + a), *rest)] = padded[(*lead, source, *rest)]
    return padded if moved is input else padded.view(input.dtype)


_TABLE, _GATHERED = 1 << 12, 1 << 15
"""Elements of what is padded, or of its planes, that are read by a table of positions, and of all planes; more are copied in strips."""


@lru_cache(64)
def _sources(shape: tuple[int, ...], pad: tuple[int, ...], mode: str) -> np.ndarray | None:
    """For each position of what is padded, or of a plane of it, the flat position that it is taken from; None where there are many."""
    k = len(pad) // 2
    lead, sizes = shape[:len(shape) - k], shape[len(shape) - k:]
    plane = prod([max(n + pad[2 * i] + pad[2 * i + 1], 0) for i, n in enumerate(sizes[::-1])])
    if not k or plane > _TABLE or plane * prod(lead) > _GATHERED:
        return None
    flat = np.zeros((), np.int64)
    for i, n in enumerate(sizes):
        at = 2 * (k - 1 - i)
        flat = flat[..., None] * n + _source_index(n, pad[at], pad[at + 1], mode)
    if plane * prod(lead) <= _TABLE:
        firsts = np.arange(prod(lead)).reshape(*lead, *(1,) * k) * prod(sizes)
        flat = firsts + flat
    return flat


def pad_by_index(input: np.ndarray, pad: Sequence[int], mode: str) -> np.ndarray:
    padded = None
    if 0 < input.size <= _GATHERED and (table := _sources(input.shape, tuple(pad), mode)) is not None:
        if table.ndim < input.ndim:
            planes = input.size // prod(input.shape[input.ndim - table.ndim:])
            padded = as_bits(input).reshape(planes, -1).take(table, 1).reshape(*input.shape[:input.ndim - table.ndim], *table.shape)
        else:
            padded = as_bits(input).take(table)
        if padded.dtype is not input.dtype:
            padded = padded.view(input.dtype)
    if padded is None:
        padded = _pad_by_strips(input, pad, mode)
    if padded is not None:
        return padded if mode == "circular" or input.ndim < 4 or input.flags.c_contiguous and input.strides[1] > input.strides[-1] else (
            in_format(input.ndim - 2, padded, input))
    padded = input
    for i in range(len(pad) // 2):
        d = input.ndim - 1 - i
        padded = padded.take(_source_index(input.shape[d], pad[2 * i], pad[2 * i + 1], mode), d)
    padded = np.ascontiguousarray(padded)
    return padded if mode == "circular" or input.ndim < 4 else in_format(input.ndim - 2, padded, input)


def _pad_by_index_backward(grad: np.ndarray, shape: Sequence[int], pad: Sequence[int], mode: str) -> np.ndarray:
    for i in range(len(pad) // 2):
        d = grad.ndim - 1 - i
        result = np.zeros((*grad.shape[:d], shape[d], *grad.shape[d + 1:]), grad.dtype)
        index_add(result, d, _source_index(shape[d], pad[2 * i], pad[2 * i + 1], mode), grad)
        grad = result
    return grad


@op("pad_by_index_backward(Tensor grad, int[] shape, int[] pad, str mode) -> Tensor", method=False, namespace="_internal", out=False)
class pad_by_index_backward:
    """The gradient of padding with the tensor's own elements: each gets what its copies got."""

    def sharding(call): return call.sized(_padded_plan(call, len(call["shape"]), shapes=[call["shape"]]), "shape", call["shape"])
    numpy = _pad_by_index_backward
    compose = on_host(_pad_by_index_backward)
    def vjp(F, grad, pad, mode): return getattr(F, f"pad_{mode}")(grad, pad)
    jvp = "linear"

    def samples(rng):
        for mode in ("reflect", "replicate", "circular"):
            yield rng.standard_normal((1, 2, 6)), (1, 2, 3), (1, 2), mode


def _check_padded(shape: Sequence[int], pad: Sequence[int]) -> None:
    """Raises torch's error where there is nothing to repeat, or nothing left; as in torch one size of 1 or more will do."""
    k = len(pad) // 2
    if 0 in shape[len(shape) - k - 1:]:
        raise AutogradError(f"Expected {k + 1}D or {k + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
                            f"for input, but got: {list(shape)}")
    sizes = shape[len(shape) - k:]
    padded = [n + pad[2 * (k - i) - 2] + pad[2 * (k - i) - 1] for i, n in enumerate(sizes)]
    if max(padded) < 1:
        names = "DHW"[3 - k:]
        raise AutogradError(f"input ({', '.join([f'{d}: {n}' for d, n in zip(names, sizes)])}) is too small. Calculated output "
                            f"{' '.join([f'{d}: {n}' for d, n in zip(names, padded)])}")
    if min(padded) < 0:
        full = [*shape[:len(shape) - k], *padded]
        raise AutogradError(f"Trying to create tensor with negative dimension {min(padded)}: {full}")


def _pad_record(mode: str, node: str, cast: str | Fn | None = None) -> Record:
    name = {"reflect": "reflection", "replicate": "replication"}.get(mode)

    class body:
        amp = cast
        aten = name and (lambda input, pad: f"{name}_pad{len(pad) // 2}d(input, list(pad))")
        nodes = {f"len(pad) == {2 * n}": node.replace("1D", f"{n}D") for n in (2, 3) if "1D" in node}
        saved_as = {"input_shape": None, "pad": "padding" if "1D" in node else None}
        def sharding(call): return _padded_plan(call, len(call.shape("input")))
        def numpy(input, pad): return pad_by_index(input, pad, mode)
        def compose(F, input, pad): return pad_by_index(input, pad, mode)
        def vjp(F, grad, input_shape, pad): return F.pad_by_index_backward(grad, tuple(input_shape), pad, mode)
        jvp = "linear"
        batch = batches.images

        def samples(rng):
            yield rng.standard_normal((2, 3, 4)), (1, 2)
            yield rng.standard_normal((2, 3, 4)), (2, 1, 0, 2)

    body.__doc__ = f"Padding with the tensor's own elements, mode '{mode}'."
    return op(f"pad_{mode}(Tensor input, int[] pad) -> Tensor", quiet="all", method=False, namespace="_internal", node=node,
              out=False)(body)


pad_reflect = _pad_record("reflect", "ReflectionPad1DBackward0", lambda input, pad: "float32" if len(pad) < 6 else None)
pad_replicate = _pad_record("replicate", "ReplicationPad1DBackward0", "float32")
pad_circular = _pad_record("circular", "CopySlices")


_CHECKED: set[tuple[object, ...]] = set()
"""Shapes, paddings and modes that were found in order; as many as `_MOST`."""
_MOST = 512


def _kernel_of(pad: Sequence[int], mode: str = "constant", **others: Any) -> str:
    """What torch calls the kernel of a way to pad, where it has few dtypes."""
    kernel = {"reflect": "reflection", "replicate": "replication"}.get(mode)
    return "" if kernel is None else f"{kernel}_pad{len(pad) // 2}d"


@op("pad(Tensor input, int[] pad, str mode='constant', float? value=None) -> Tensor", method=False, namespace="nn.functional", out=False,
    alias="nn.functional.pad")
class pad:
    """The tensor padded at the ends of its last dimensions, with a number or with elements of its own.

    >>> torch.nn.functional.pad(torch.tensor([[1., 2.]]), (1, 1), mode="replicate")
    tensor([[1., 1., 2., 2.]])
    """

    composite = "pad(input, dims(pad), *but([mode, value], ['constant', None]))"

    def quick(input, pad, mode, value):
        if value or pad.__class__ is int or None in pad:
            return None
        if mode == "constant":
            return None if len(pad) % 2 or len(pad) > 2 * input.ndim else pad_constant(input, pad, 0)
        pad = tuple(pad)
        return pad_by_index(input, pad, mode) if (input.shape, pad, mode) in _CHECKED else None

    lacks = {"bool rare": _kernel_of}
    def function(F, input, pad, mode="constant", value=None):
        pad, n = tuple([int(p) for p in pad]), input._data.ndim
        if len(pad) % 2:
            raise AutogradError("Padding length must be divisible by 2")
        if len(pad) > 2 * n:
            raise AutogradError("Padding length should be less than or equal to two times the input dimension but got padding length "
                                f"{len(pad)} and input of dimension {n}")
        if mode == "constant":
            return F.constant_pad_nd(input, pad, 0 if value is None else value)
        if mode not in ("reflect", "replicate", "circular"):
            raise MissingKernelError(f"Unrecognised padding mode {mode}")
        if value not in (None, 0):
            raise AutogradError(f'Padding mode "{mode}" doesn\'t take in value argument')
        if (geometry := (tuple(input._data.shape), pad, mode)) in _CHECKED:
            return getattr(F, f"pad_{mode}")(input, pad)
        if (len(pad), n) not in ((2, 2), (2, 3), (4, 3), (4, 4), (6, 4), (6, 5)):
            raise MissingKernelError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
        if mode != "circular":
            _check_padded(input.shape, pad)
        for i in range(len(pad) // 2):
            before, after, d = pad[2 * i], pad[2 * i + 1], n - 1 - i
            if mode == "reflect" and max(before, after) >= input.shape[d]:
                raise AutogradError(f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input dimension, but got: "
                                    f"padding ({before}, {after}) at dimension {d} of input {list(input.shape)}")
            if mode == "circular" and max(before, after) > input.shape[d]:
                raise AutogradError("Padding value causes wrapping around more than once.")
        if mode == "circular" and min(pad) < 0:
            # What is cut off goes first here, where the others count positions from the whole tensor's ends.
            input = F.constant_pad_nd(input, tuple([min(p, 0) for p in pad]))
            pad = tuple([max(p, 0) for p in pad])
            for i, p in enumerate(pad):
                if p and not input.shape[n - 1 - i // 2]:
                    raise AutogradError(f"Negative padding leaves nothing of dimension {n - 1 - i // 2} to repeat.")
        elif len(_CHECKED) < _MOST:
            _CHECKED.add(geometry)
        return getattr(F, f"pad_{mode}")(input, pad)

    def samples(rng):
        for mode in ("constant", "reflect", "replicate", "circular"):
            yield rng.standard_normal((1, 2, 3)), (1, 2), mode

    def errors(rng):
        yield (np.ones((3, 4)), (1,)), RuntimeError, "Padding length must be divisible by 2"
        yield (np.ones((3, 4)), (1, 1), "foo"), NotImplementedError, "Unrecognised padding mode foo"
        yield (np.ones((3, 4)), (9, 9), "reflect"), RuntimeError, (
            "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding (9, 9) at dimension 1 of "
            "input [3, 4]")


# -- pixels and channels ------------------------------------------------------------------------------------------------------------


Geometry = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
Geometer = Callable[[tuple[int, ...], int], Geometry]


def _reordered(input: np.ndarray, geometry: Geometer, number: int) -> np.ndarray:
    """The array in other parts, with its dimensions in another order, in another shape, laid out as it is."""
    if 0 < input.size <= SHORT and (found := _origins(geometry, input.shape, input.strides, input.itemsize, number)) is not None:
        result = as_bits(input).ravel("K").take(found[0])
        result = result if found[1] is None else result.transpose(found[1])
        return result if input.dtype.isbuiltin == 1 else result.view(input.dtype)
    moved = as_bits(input)
    result = _carried_out(moved, *_kept_geometry(geometry, input.shape, number))
    return result if moved is input else result.view(input.dtype)


@lru_cache(512, typed=True)
def _kept_geometry(geometry: Geometer, shape: tuple[int, ...], number: int) -> Geometry:
    return geometry(shape, number)


def _carried_out(moved: np.ndarray, parts: tuple[int, ...], order: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray:
    away, n = moved.reshape(parts).transpose(order), moved.ndim
    if moved.flags.c_contiguous or n not in (4, 5) or not suggests_channels_last(moved):
        return copy(away).reshape(shape)
    result = np.empty((shape[0], *shape[2:], shape[1]), moved.dtype).transpose(0, n - 1, *range(1, n - 1))
    apart = result.view()
    apart.shape = away.shape  # each dimension's parts where they lie
    apart[...] = away
    return result


@lru_cache(128)
def _origins(geometry: Geometer, shape: tuple[int, ...], strides: tuple[int, ...], item: int, number: int
             ) -> tuple[np.ndarray, tuple[int, ...] | None] | None:
    """Where in memory few elements come from, as those of the result lie there, and the order of its dimensions, if that is another; None
    where there are gaps in memory."""
    n, steps, whole = prod(shape), [s // item for s in strides], geometry(shape, number)  # which says what is wrong
    if min(steps) < 0 or reach(shape, steps) != n or may_overlap(shape, steps):
        return None
    numbers: np.ndarray = np.ndarray(shape, np.int64, np.arange(n), 0, [8 * s for s in steps])
    found, k = _carried_out(numbers, *whole), len(shape)
    if found.strides == contiguous_strides(found.shape, 8):
        return found, None
    return np.moveaxis(found, 1, -1), (0, k - 1, *range(1, k - 1))


def _in_blocks(call: Call, geometry: Geometry) -> Plan:
    """The plan where every device turns whole blocks of channels into pixels, or back."""
    shape, made = call.shape("input"), geometry[2]
    *lead, c, h, w = range(len(shape))
    kept = [d if call.even("d", ("input", d), of=min(shape[d], made[d])) == "d" else None for d in (c, h, w)]
    return call.propagate([[*lead, *kept]], [[*lead, *kept]], shapes=[made])


def _over_images(F: Functions, call: BatchedCall) -> Any:
    """One dimension more in front, of which all are but the last three."""
    return call() if call.ranks["input"] > 2 else NotImplemented


@lru_cache(512)
def _as_pixels(shape: tuple[int, ...], r: int) -> Geometry:
    if len(shape) < 3:
        raise AutogradError(f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)")
    if r <= 0:
        raise AutogradError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *batch, c, h, w = shape
    if c % (r * r):
        raise AutogradError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
                            f"input.size(-3)={c} is not divisible by {r * r}")
    n, c = len(batch), c // (r * r)
    return (*batch, c, r, r, h, w), (*range(n), n, n + 3, n + 1, n + 4, n + 2), (*batch, c, h * r, w * r)


@lru_cache(512)
def _as_channels(shape: tuple[int, ...], r: int) -> Geometry:
    if len(shape) < 3:
        raise AutogradError(f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)")
    if r <= 0:
        raise AutogradError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *batch, c, h, w = shape
    for name, size, at in (("height", h, -2), ("width", w, -1)):
        if size % r:
            raise AutogradError(f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({at})={size} is not "
                                f"divisible by {r}")
    n = len(batch)
    return (*batch, c, h // r, r, w // r, r), (*range(n), n, n + 2, n + 4, n + 1, n + 3), (*batch, c * r * r, h // r, w // r)


@lru_cache(512)
def _interleaved(shape: tuple[int, ...], groups: int) -> Geometry:
    if len(shape) < 3:
        raise AutogradError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if groups <= 0:
        raise AutogradError("Number of groups to divide channels in must be positive. Value of groups:" + str(groups))
    n, c, *space = shape
    if c % groups:
        raise AutogradError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return (n, groups, c // groups, *space), (0, 2, 1, *range(3, len(shape) + 1)), shape


@op("pixel_shuffle(Tensor input, int upscale_factor) -> Tensor", quiet="all", method=False, out=False, alias="=nn.functional.pixel_shuffle")
class pixel_shuffle:
    """Channels spread out as pixels: (..., c r^2, h, w) to (..., c, h r, w r).

    >>> torch.pixel_shuffle(torch.zeros(1, 8, 2, 2), 2).shape
    torch.Size([1, 2, 4, 4])
    """

    lacks = {"rare": "pixel_shuffle"}
    def sharding(call): return _in_blocks(call, _as_pixels(call.shape("input"), call["upscale_factor"]))
    def numpy(input, upscale_factor): return _reordered(input, _as_pixels, upscale_factor)
    moves = True
    compose = on_host(numpy)
    def shape(input, upscale_factor): return _as_pixels(tuple(input), upscale_factor)[2]
    def vjp(F, grad, upscale_factor): return F.pixel_unshuffle(grad, upscale_factor)
    jvp = "linear"
    batch = _over_images
    def samples(rng): yield rng.standard_normal((1, 8, 2, 3)), 2

    def errors(rng):
        yield (np.ones((2, 3)), 2), RuntimeError, (
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with 2 dimension(s)")
        yield (np.ones((1, 3, 2, 2)), 2), RuntimeError, (
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but input.size(-3)=3 "
            "is "
            "not divisible by 4")


@op("pixel_unshuffle(Tensor input, int downscale_factor) -> Tensor", quiet="all", method=False, out=False,
    alias="=nn.functional.pixel_unshuffle")
class pixel_unshuffle:
    """Pixels gathered into channels: (..., c, h r, w r) to (..., c r^2, h, w).

    >>> torch.pixel_unshuffle(torch.zeros(1, 2, 4, 4), 2).shape
    torch.Size([1, 8, 2, 2])
    """

    lacks = {"rare": "pixel_unshuffle"}
    def sharding(call): return _in_blocks(call, _as_channels(call.shape("input"), call["downscale_factor"]))
    def numpy(input, downscale_factor): return _reordered(input, _as_channels, downscale_factor)
    moves = True
    compose = on_host(numpy)
    def shape(input, downscale_factor): return _as_channels(tuple(input), downscale_factor)[2]
    def vjp(F, grad, downscale_factor): return F.pixel_shuffle(grad, downscale_factor)
    jvp = "linear"
    batch = _over_images
    def samples(rng): yield rng.standard_normal((1, 2, 4, 2)), 2


@op("channel_shuffle(Tensor input, int groups) -> Tensor", quiet="all", method=False, out=False, alias="=nn.functional.channel_shuffle")
class channel_shuffle:
    """Channels of `groups` groups interleaved.

    >>> torch.channel_shuffle(torch.arange(4.).view(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """

    sharding = "n C *s -> n C *s"
    lacks = {"rare": "channel_shuffle"}
    def numpy(input, groups): return _reordered(input, _interleaved, groups)
    moves = True
    compose = on_host(numpy)
    def shape(input, groups): return _interleaved(tuple(input), groups)[2]
    def vjp(F, grad, groups): return F.channel_shuffle(grad, grad.shape[1] // groups if groups else 1)
    jvp = "linear"
    batch = batches.images
    def samples(rng): yield rng.standard_normal((2, 4, 3)), 2
