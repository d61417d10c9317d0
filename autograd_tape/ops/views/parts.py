"""Parts of a tensor, as views: positions, ranges, diagonals, windows, pieces, and any geometry."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any
from collections.abc import Callable, Sequence

import numpy as np

from ...codegen import execute
from ...dims import wrap_dim
from ...dtypes import INTEGER, SCALAR_TYPE_NAMES
from ...errors import AutogradError, IndexRangeError, ShapeMismatchError
from ...executors.kernels.reduce import add_at, overlapped
from ...executors.kernels.sharing import copy
from ...executors.meta import meta_array
from ...functions.words import signature_of, spelled_too, words_of
from ...functions.nodes import node_class
from ...functions.overloads import SPLIT, no_match
from ...record import RECORDS, op
from ...strided import address, contiguous_strides, may_overlap, owner_of, positions, reach, storage_offset as start_of, strided
from ...tensor import TensorRef
from ...version import made
from ...views import TOGETHER, watch_history
from .. import _shapes as shapes
from .._host import need_values, on_host
from ...annotations import Fn, Functions, Keywords, Values

if TYPE_CHECKING:
    from ...functions.general import General

_ALL = slice(None)
_ndarray = np.ndarray
_MOST = 1024  # geometries that are kept
_INTEGERS = frozenset([int])


# -- parts ----------------------------------------------------------------------------------------------------------------


def _select(input: np.ndarray, dim: int, index: int) -> np.ndarray:
    n = input.ndim
    if n == 0:
        raise IndexRangeError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, n)
    try:
        return input[(_ALL,) * d + (index, ...)]
    except IndexError:
        raise IndexRangeError(f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {d}") from None


@op("select(Tensor input, int dim, int index) -> Tensor", family="view", quiet="all", result="same")
class select:
    """The part at one position of a dimension, without that dimension.

    >>> torch.tensor([[1., 2.], [3., 4.]]).select(1, -1)
    tensor([2., 4.])
    """

    numpy = _select

    def vjp(F, grad, input_shape, dim, index):
        return F.basic_index_backward(grad, input_shape, (_ALL,) * (dim % len(input_shape)) + (index,))
    aten = ".int"
    def put_back(F, base, new, nr, dim, index): return "select_scatter", dim, index

    def samples(rng):
        yield rng.standard_normal((2, 3)), 1, -1
        yield rng.standard_normal(3), 0, 1

    def errors(rng):
        yield (np.ones((3, 4)), 0, 5), IndexError, "select(): index 5 out of range for tensor of size [3, 4] at dimension 0"


def _slice(input: np.ndarray, dim: int, start: int | None, end: int | None, step: int) -> np.ndarray:
    if step <= 0:
        raise AutogradError("slice step must be positive")
    if 0 <= dim < min(input.ndim, 2):
        return input[:, start:end:step] if dim else input[start:end:step]
    if not input.ndim:
        raise IndexRangeError("slice() cannot be applied to a 0-dim tensor.")
    return input[(_ALL,) * wrap_dim(dim, input.ndim) + (slice(start, end, step),)]


@op("slice(Tensor input, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor", family="view", quiet="all", result="same",
    method=False, namespace="_internal")
class slice_:
    """A range of a dimension."""

    numpy = _slice

    def vjp(F, grad, input_shape, dim, start, end, step):
        return F.basic_index_backward(grad, input_shape, (_ALL,) * (dim % len(input_shape)) + (slice(start, end, step),))
    aten = ".Tensor"
    def put_back(F, base, new, nr, *where): return "slice_scatter", *where

    def samples(rng):
        yield rng.standard_normal((5, 3)), 0, 1, 4, 2
        yield rng.standard_normal((2, 5)), -1, -2


@op("narrow(Tensor input, int dim, Any start, int length) -> Tensor", out=False)
class narrow:
    """`length` positions of a dimension from `start` on.

    >>> torch.arange(5.).narrow(0, 1, 3)
    tensor([1., 2., 3.])
    """

    composite = "narrow"
    def shown(input, dim, start, length):
        if start.__class__ is int and -1 < start and -1 < length and start + length <= input.shape[dim]:
            return _slice(input, dim, start, start + length, 1)

    def function(F, input, dim, start, length):
        shape = input._data.shape
        if not shape:
            raise AutogradError("narrow() cannot be applied to a 0-dim tensor.")
        if length < 0:
            raise AutogradError("narrow(): length must be non-negative.")
        if isinstance(start, TensorRef) and (start.ndim or start._k.dtype.category != INTEGER):
            raise AutogradError("start must be an 0-dim integral Tensor.")
        n = shape[wrap_dim(dim, len(shape))]
        start = int(start)
        if not -n <= start <= n:
            raise IndexRangeError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
        first = start + n if start < 0 else start
        if first + length > n:
            raise AutogradError(f"start ({first}) + length ({length}) exceeds dimension size ({n}).")
        return F.slice(input, dim, first, first + length)

    def samples(rng): yield rng.standard_normal((2, 5)), -1, 1, 3

    def errors(rng):
        yield (np.ones((3, 4)), 0, 2, 3), RuntimeError, "start (2) + length (3) exceeds dimension size (3)."
        yield (np.ones((3, 4)), 0, 0, -1), RuntimeError, "narrow(): length must be non-negative."


def _diagonal(input: np.ndarray, offset: int, dim1: int, dim2: int) -> np.ndarray:
    try:
        found = input.diagonal(offset, dim1, dim2)
        if found.size:  # else torch says where it begins
            found.setflags(True)  # to write, at a third of what the attribute costs
            return found
    except (TypeError, ValueError):
        pass  # which is told below
    shape, steps, start = _diagonal_of(input.shape, input.strides, offset, dim1, dim2)
    return strided(input, shape, steps, start) if input.size else input.reshape(-1)[:0].reshape(shape)


@lru_cache(_MOST, typed=True)
def _diagonal_of(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dim1: int,
                 dim2: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """The sizes, the strides and the offset (in bytes) of a diagonal."""
    n = len(shape)
    a, b = wrap_dim(dim1, n), wrap_dim(dim2, n)
    if a == b:
        raise AutogradError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = max(min(shape[a], shape[b] - offset) if offset >= 0 else min(shape[a] + offset, shape[b]), 0)
    start = 0 if not size else offset * strides[b] if offset >= 0 else -offset * strides[a]
    keep = [i for i in range(n) if i not in (a, b)]
    return (*[shape[i] for i in keep], size), (*[strides[i] for i in keep], strides[a] + strides[b]), start


@op("diagonal(Tensor input, int offset=0, int dim1=0, int dim2=1) -> Tensor", family="view", quiet="all", result="same",
    alias="linalg.diagonal")
class diagonal:
    """The elements on a diagonal of two dimensions, as the last dimension.

    >>> torch.tensor([[1., 2.], [3., 4.]]).diagonal()
    tensor([1., 4.])
    """

    def sharding(call):
        n = len(call.shape("input"))
        given = [None if d in (call["dim1"] % n, call["dim2"] % n) else d for d in range(n)]
        return call.propagate([given], [[*[d for d in given if d is not None], None]])

    numpy = _diagonal
    def vjp(F, grad, input_shape, offset, dim1, dim2): return F.diagonal_backward(grad, input_shape, offset, dim1, dim2)
    def put_back(F, base, new, nr, *where): return "diagonal_scatter", *where

    def samples(rng):
        yield (rng.standard_normal((3, 3)),)
        yield rng.standard_normal((2, 3, 4)), 1, 0, 2
        yield rng.standard_normal((2, 3, 4)), -1, -1, 1

    def errors(rng):
        yield (np.ones((3, 4)), 0, 1, 1), RuntimeError, "diagonal dimensions cannot be identical 1, 1"


def _diagonal_backward(grad: np.ndarray, shape: Sequence[int], offset: int, dim1: int, dim2: int) -> np.ndarray:
    result = np.zeros(shape, grad.dtype)
    _diagonal(result, offset, dim1, dim2)[...] = grad
    return result


@op("diagonal_backward(Tensor grad, int[] shape, int offset, int dim1, int dim2) -> Tensor", quiet="all", method=False,
    namespace="_internal", out=False)
class diagonal_backward:
    """Zeros with `grad` on a diagonal."""

    def sharding(call):
        shape, n = call["shape"], len(call["shape"])
        made = [None if d in (call["dim1"] % n, call["dim2"] % n) else d for d in range(n)]
        return call.sized(call.propagate([[*[d for d in made if d is not None], None]], [made], shapes=[shape]), "shape", shape)

    numpy = _diagonal_backward
    shape = shapes.like_second
    compose = on_host(numpy)
    def vjp(F, grad, offset, dim1, dim2): return F.diagonal(grad, offset, dim1, dim2)
    jvp = "linear"
    compose = on_host(_diagonal_backward)
    def samples(rng): yield rng.standard_normal((2, 2)), (3, 2, 3), 1, 0, 2


def unfold_array(input: np.ndarray, dimension: int, size: int, step: int) -> np.ndarray:
    return strided(input, *_windows(input.shape, input.strides, input.itemsize, dimension, size, step))


@lru_cache(_MOST, typed=True)
def _windows(shape: tuple[int, ...], strides: tuple[int, ...], item: int, dim: int, size: int,
             step: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes and strides (in bytes) of all windows along a dimension."""
    n = len(shape)
    d = wrap_dim(dim, n)
    have = shape[d] if n else 1
    if size > have:
        raise AutogradError(f"maximum size for tensor at dimension {d} is {have} but size is {size}")
    if size < 0:
        raise AutogradError(f"size is {size} but must be >= 0")
    if step <= 0:
        raise AutogradError(f"step is {step} but must be > 0")
    if not n:
        return (size,), (item,)
    at = strides[d]
    return ((*shape[:d], (have - size) // step + 1, *shape[d + 1:], size), (*strides[:d], at * step, *strides[d + 1:], at))


@op("unfold(Tensor input, int dimension, int size, int step) -> Tensor", family="view", quiet="all", result="same", out=False)
class unfold:
    """All windows of `size` along a dimension, `step` apart; the window is the last dimension. (`Tensor.unfold`.)

    >>> torch.arange(5.).unfold(0, 2, 1)
    tensor([[0., 1.],
            [1., 2.],
            [2., 3.],
            [3., 4.]])
    """

    numpy = unfold_array
    def vjp(F, grad, input_shape, dimension, size, step): return F.unfold_backward(grad, input_shape, dimension, size, step)

    def samples(rng):
        yield rng.standard_normal(5), 0, 2, 1
        yield rng.standard_normal((2, 5, 3)), 1, 3, 2

    def errors(rng):
        yield (np.ones((3, 4)), 0, 4, 1), RuntimeError, "maximum size for tensor at dimension 0 is 3 but size is 4"
        yield (np.ones((3, 4)), 0, 2, 0), RuntimeError, "step is 0 but must be > 0"


def add_windows(grad: np.ndarray, shape: Sequence[int], dim: int, size: int, step: int) -> np.ndarray:
    if len(shape) and dim % len(shape) == len(shape) - 1 and (found := overlapped(grad, shape[-1], step)) is not None:
        return found
    result = np.zeros(shape, grad.dtype)
    if not result.ndim:
        return result + grad[..., 0]
    dim %= result.ndim
    before, count = (slice(None),) * dim, grad.shape[dim]
    parts, rows = -(-size // step), grad.size // max(size, 1)
    if count < parts:  # window by window
        pieces = np.moveaxis(grad, (dim, -1), (0, dim + 1))
        for i in reversed(range(count)):  # in the order of the sums below
            part = result[(*before, slice(i * step, i * step + size))]
            part += pieces[i]
        return result
    windows = unfold_array(result, dim, size, step)
    # Positions of one offset into the window never coincide, nor do those of as many offsets as windows are apart, of which each row takes
    # NumPy some nanoseconds more than an element, as each call takes it hundreds.
    width = step if parts * (600 + 7 * rows) < size * (600 + 1.5 * rows) else 1
    for i in range(0, size, width):
        part = windows[..., i:i + width]
        part += grad[..., i:i + width]
    return result


@op("unfold_backward(Tensor grad, int[] shape, int dim, int size, int step) -> Tensor", quiet="all", method=False, namespace="_internal",
    out=False)
class unfold_backward:
    """Windows added back to where they came from."""

    def sharding(call):
        shape = call["shape"]
        made = [None if d == call["dim"] % len(shape) else d for d in range(len(shape))]
        return call.sized(call.propagate([[*made, None]], [made], shapes=[shape]), "shape", shape)

    numpy = add_windows
    shape = shapes.like_second
    compose = on_host(numpy)
    def vjp(F, grad, dim, size, step): return F.unfold(grad, dim, size, step)
    jvp = "linear"
    compose = on_host(add_windows)
    def samples(rng): yield rng.standard_normal((3, 2)), (4,), 0, 2, 1


# -- any geometry -----------------------------------------------------------------------------------------------------------


def _as_strided(input: np.ndarray, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None, *,
                here: int | None = None) -> np.ndarray:
    """The view; `here` is where the first element of the input lies in its storage, if that is known."""
    item, base = input.itemsize, input.base
    owner = input if base is None else base if base.__class__ is _ndarray and base.base is None else owner_of(input)
    if sum(stride).__class__ is not int:  # what is kept does not tell numbers from integers
        raise TypeError("strides are integers")
    if storage_offset is not None:
        at = storage_offset
    elif here is not None:
        at = here
    else:
        at = here = 0 if owner is input or not input.size or input.nbytes == owner.nbytes and input.flags.c_contiguous else (
            (address(input) - address(owner)) // item)
    need, steps = _as_laid(tuple(size), tuple(stride), at, item)
    if need > owner.nbytes:
        raise ShapeMismatchError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {at}, and itemsize {item} "
                            f"requiring a storage size of {need} are out of bounds for storage of size {owner.nbytes}")
    if need:
        try:
            return _ndarray(size, input.dtype, owner, at * item, steps)
        except (TypeError, ValueError):  # not one block
            pass
    if here is None:
        here = start_of(input) if input.size and owner is not input else 0
    return strided(input, size, steps, (at - here) * item)


def laid_anew(input: np.ndarray, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> np.ndarray:
    """The same, but the input itself where it has that geometry."""
    if storage_offset is None and input.shape == size and stride.__class__ is tuple and _INTEGERS.issuperset(map(type, size + stride)) and (
            _in_bytes(stride, input.itemsize) == input.strides):
        return input
    return _as_strided(input, size, stride, storage_offset)


@lru_cache(_MOST)
def _in_bytes(stride: tuple[int, ...], item: int) -> tuple[int, ...]:
    return tuple([s * item for s in stride])


@lru_cache(_MOST)
def _as_laid(size: tuple[int, ...], stride: tuple[int, ...], at: int, item: int) -> tuple[int, tuple[int, ...]]:
    """How many bytes of storage a geometry needs, and its strides in bytes."""
    if len(size) != len(stride):
        raise AutogradError("mismatch in length of strides and shape")
    if any([s < 0 for s in stride]):
        raise AutogradError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if at < 0:
        raise AutogradError(f"Tensor: invalid storage offset {at}")
    return 0 if 0 in size else (at + reach(size, stride)) * item, tuple([s * item for s in stride])


@op("as_strided_view(Tensor input, int[] size, int[] stride, int? storage_offset, Any geometry) -> Tensor", family="view", quiet="all",
    result="same", method=False, namespace="_internal", node="AsStridedBackward0")
class as_strided_view:
    """`as_strided` of an input of the given geometry, (shape, strides, offset)."""

    def sharding(call):
        """Anything of what the tensor, perhaps a view itself, has its memory of."""
        size, stride, offset = call["size"], call["stride"], call["storage_offset"]
        at = call["input"].offset if offset is None else offset
        return call.view_of_root(lambda root: _as_strided(root, size, stride, at))
    saved_as = {"geometry": None}

    def numpy(input, size, stride, storage_offset, geometry):
        return _as_strided(input, size, stride, storage_offset, here=geometry and geometry[2])

    def meta(input, size, stride, storage_offset, geometry):
        # torch's meta tensors reach beyond their storage, too, since there is none.

        try:
            return _as_strided(input, size, stride, storage_offset)
        except ShapeMismatchError:
            return meta_array(tuple(size), input.dtype, tuple([s * input.itemsize for s in stride]))

    def vjp(F, grad, size, stride, storage_offset, geometry):
        at = geometry[2] if storage_offset is None else storage_offset
        result = F.restride(grad, (tuple(size), tuple(stride), at), geometry)
        if may_overlap(*geometry[:2]):
            # Each element of the input that shares its memory with others takes an equal part.
            result = result / F.restride(F.ones_for(grad, geometry[0]), geometry, geometry)
        return result

    def batch(F, call):
        """Strides of an example, and that of the batch before them."""
        x = call.input
        start = x.storage_offset()
        at = start if call.storage_offset is None else call.storage_offset
        size, stride = tuple(call.values["size"]), tuple(call.stride)
        if len(size) != len(stride):
            raise RuntimeError("Tensor.as_strided(size, stride, ...): size and stride must have the same length! Got size "
                               f"{list(size)} and stride {list(stride)}")
        reach = [sum([(n - 1) * s for n, s in zip(sizes, steps)]) for sizes, steps in ((size, stride), (x.shape[1:], x.stride()[1:]))]
        if prod(size) and (at < start or at + reach[0] > start + reach[1]):
            raise RuntimeError(f"result = tensor.as_strided({list(size)}, {list(stride)}, {at}) can access memory outside of `tensor`. "
                               f"`result` can access some memory in range [{at}, {at + reach[0]}], but `tensor` can only access some "
                               f"memory in range [{start}, {start + reach[1]}]. This is not supported inside of vmap, please try to "
                               "rewrite the `as_strided` call as a sequence of PyTorch view operations")
        return F.as_strided(x, (call.size, *size), (x.stride(0), *stride), at)
    aten = "as_strided(input, list(size), list(stride), *[storage_offset] * (storage_offset is not None))"
    def put_back(F, base, new, nr, size, stride, offset, geometry): return "as_strided_scatter", tuple(size), tuple(stride), offset

    def samples(rng):
        yield rng.standard_normal((2, 3)), (2, 2), (1, 2), 1, ((2, 3), (3, 1), 0)
        yield rng.standard_normal(4), (3, 2), (1, 1), None, ((4,), (1,), 0)


@lru_cache(_MOST)
def _geometry(shape: tuple[int, ...], strides: tuple[int, ...], item: int, offset: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Sizes and strides, which are given in bytes, and offset, in elements."""
    return shape, tuple([s // item for s in strides]), offset


@op("as_strided(Tensor input, int[] size, int[] stride, int? storage_offset=None) -> Tensor", out=False)
class as_strided:
    """A view of the storage with any sizes, strides and offset.

    >>> torch.arange(6.).as_strided((2, 2), (1, 2), 1)
    tensor([[1., 3.],
            [2., 4.]])
    """

    shown = _as_strided

    def function(F, input, size, stride, storage_offset=None):
        data = input._data
        offset = start_of(data) if data.size else 0
        geometry = _geometry(data.shape, data.strides, data.itemsize, offset)
        return F.as_strided_view(input, tuple(size), tuple(stride), storage_offset, geometry)

    def samples(rng):
        yield rng.standard_normal((2, 3)), (2, 2), (1, 2), 1
        yield rng.standard_normal(4), (3, 2), (1, 1)

    def errors(rng):
        yield (np.ones((3, 4), np.float32), (3, 3), (5, 5)), RuntimeError, (
            "setStorage: sizes [3, 3], strides [5, 5], storage offset 0, and itemsize 4 requiring a storage size of 84 are out of bounds "
            "for "
            "storage of size 48")
        yield (np.ones((3, 4)), (2,), (1, 1)), RuntimeError, "mismatch in length of strides and shape"
        yield (np.ones((3, 4)), (2,), (-1,)), RuntimeError, (
            "as_strided: Negative strides are not supported at the moment, got strides: [-1]")


def _restride(input: np.ndarray, source: Any, target: Any) -> np.ndarray:
    backwards, size, adds, is_whole, in_rows = _restriding(source, target)
    if backwards:
        at, to = positions(*source), positions(*target)
        storage = np.zeros(int(max(at.max(initial=-1), to.max(initial=-1))) + 1, input.dtype)
        add_at(storage, at.reshape(-1), input.reshape(-1))
        return storage[to]
    if in_rows and input.flags.c_contiguous:
        return copy(_seen(input, *target))
    storage = np.zeros(size, input.dtype)
    if adds:
        add_at(storage, positions(*source).reshape(-1), input.reshape(-1))
    elif input.size:
        _seen(storage, *source)[...] = input
    if 0 in target[0]:
        return np.empty(target[0], input.dtype)
    found = _seen(storage, *target)
    return found if is_whole and found.size == size else copy(found)


@lru_cache(_MOST)
def _restriding(source: Any, target: Any) -> tuple[bool, int, bool, bool, bool]:
    """Whether memory runs backwards in one of the geometries, how many elements of it both reach, whether those of the source may share
    theirs, whether each of the target has its own, and whether all of them lie in rows of the source."""
    if min((*source[1], *target[1]), default=0) < 0:
        return True, 0, True, False, False
    size = max(0 if 0 in shape else at + reach(shape, steps) for shape, steps, at in (source, target))
    return False, size, may_overlap(*source[:2]), not may_overlap(*target[:2]), 0 not in target[0] and (
        (*source[1:], size) == (contiguous_strides(source[0]), 0, prod(source[0])))


def _seen(storage: np.ndarray, shape: Sequence[int], steps: Sequence[int], at: int) -> np.ndarray:
    """A geometry of memory in elements."""
    return np.ndarray(shape, storage.dtype, storage, at * storage.itemsize, [s * storage.itemsize for s in steps])


@op("restride(Tensor input, Any source, Any target) -> Tensor", quiet="all", method=False, namespace="_internal", out=False)
class restride:
    """`input` added into storage by one geometry (shape, strides, offset), and read from there by another."""

    numpy = _restride
    compose = on_host(numpy)
    def vjp(F, grad, source, target): return F.restride(grad, target, source)
    jvp = "linear"

    def batch(F, call):
        """Storage for each example, one behind the other."""
        reach = max(offset + 1 + sum([(n - 1) * s for n, s in zip(shape, strides)]) for shape, strides, offset in (call.source, call.target)
                    if 0 not in shape or not shape)
        return call(**{name: ((call.size, *shape), (reach, *strides), offset)
                       for name, (shape, strides, offset) in (("source", call.source), ("target", call.target))})

    compose = on_host(_restride)
    def samples(rng): yield rng.standard_normal((3, 2)), ((3, 2), (1, 1), 0), ((4,), (1,), 0)


# -- pieces -----------------------------------------------------------------------------------------------------------------


def _pieces(F: Functions, grads: Sequence[Values | None], shapes: Sequence[Sequence[int]]) -> list[Values]:
    """The gradients of pieces, zeros where there is none."""
    like = next(g for g in grads if g is not None)
    return [F.zeros_for(like, shape) if g is None else g for g, shape in zip(grads, shapes)]


def _split_dim(shape: Sequence[int], dim: int, name: str) -> int:
    if not shape:
        raise AutogradError(f"{name} expects at least a 1-dimensional tensor")
    return wrap_dim(dim, len(shape))


def _split_at(input: np.ndarray, sizes: Sequence[int], d: int) -> list[np.ndarray]:
    return [input[key] for key in _keys(tuple(sizes), d)]


@lru_cache(_MOST)
def _keys(sizes: tuple[int, ...], d: int) -> list[Any]:
    """The indices of pieces of so many positions of a dimension, one after the other."""
    ends = [0, *accumulate(sizes)]
    found = [slice(a, b) for a, b in zip(ends, ends[1:])]
    return [(*(_ALL,) * d, key) for key in found] if d else found


@lru_cache(_MOST)
def _equal_keys(shape: tuple[int, ...], split_size: int, dim: int) -> list[Any]:
    """The indices of pieces of `split_size`, the last perhaps smaller."""
    n, d = shape[dim], dim % len(shape)
    return _keys(tuple([min(split_size, n - i) for i in range(0, n, split_size)]), d)


def _split_equal(input: np.ndarray, split_size: int, dim: int) -> list[np.ndarray]:
    shape = input.shape
    if split_size > 0 and -len(shape) <= dim < len(shape) and (n := shape[dim]):
        if n <= 64 * split_size and dim.__class__ is int:
            return [input[key] for key in _equal_keys(shape, split_size, dim)]
        if dim == 0:
            return [input[i:i + split_size] for i in range(0, n, split_size)]
        lead = (_ALL,) * (dim % len(shape))
        return [input[(*lead, slice(i, i + split_size))] for i in range(0, n, split_size)]
    d = _split_dim(shape, dim, "split")
    if split_size < 0:
        raise AutogradError(f"split expects split_size be non-negative, but got split_size={split_size}")
    n = shape[d]
    if split_size == 0 and n:
        raise AutogradError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
    count = max((n + split_size - 1) // split_size, 1) if split_size else 1
    return _split_at(input, [split_size] * (count - 1) + [n - split_size * (count - 1)], d)


def _split_shapes(shape: Sequence[int], sizes: Sequence[int], dim: int) -> list[tuple[int, ...]]:
    d = dim % len(shape)
    return [(*shape[:d], n, *shape[d + 1:]) for n in sizes]


def _several_views(name: str, parameter: str) -> Callable[[Any, Any, Any], Fn]:
    """A `make` field: the quiet path of a view with several outputs, `name(input, [parameter,] dim=0)`."""
    def make(F: Functions, namespace: Keywords, general: General | Fn) -> Callable[..., Any]:
        rec = RECORDS[name]
        given = f"{parameter}, " if parameter else ""
        head, first = ["input", *([parameter] if parameter else []), "dim=0"], [""]
        plain = head
        words: Keywords = {}
        if F.numpy_words and (table := words_of(rec, [p.name for p in rec.params])):
            head, first, words = spelled_too(head, first, table)
        text = f"""def make(general, kernel, Node, link_view, several, together, watch_history, {', '.join([*words, '_defaults'])}):
    def {name}({', '.join(head)}):
        {"; ".join(first[:1])}
        try:
            k = input._k
            if k is Q_F32 or k in Q_ALL or k in Q_HALF:
                arrays = kernel(input._data, {given}dim)
                node, views = input._node, []
                if grad_mode() is ENABLED:
                    v, base = input._v, input._base
                    if v is None: input._v = {made('v')}
                    if base is None: base = input
                    if node is None:
                        for a in arrays:
                            t = new(Tensor); t._data = a; t._k = k; t._v = v; t._base = base; t._node = None; t._info = together
                            views.append(t)
                        v.add_views(views)
                        return several(views)
                    n = new(Node)
                    for _ in arrays[1:]: next_id()
                    n.id, n.n_outputs, n.meta = next_id(), len(arrays), None
                    n.edges, n.saved = (input if node is LEAF else node,), (input._data.shape, {given}dim)
                    for a in arrays:  # each with a node which tells that it is one of several
                        t = new(Tensor); t._data = a; t._k = k; t._v = v; t._base = base; t._node = Edge(n, len(views))
                        views.append(t)
                    v.add_views(views)
                    watch_history(base)
                    return several(views)
                for a in arrays:
                    t = new(Tensor); t._data = a; t._k = k; t._node = None
                    link_view(t, input, True)
                    views.append(t)
                return several(views)
        except STUMBLES: pass
        {"; ".join(first[1:-1])}
        return general((input, {given}dim))
    _this = {name}
    return _this
"""
        function: Fn = execute(text, "make", f"<{name}: {F.name}>", namespace)(
            general, rec.field("numpy"), node_class(rec), F.link_view, F.list_type(rec), TOGETHER, watch_history,
            *words.values(), rec.defaults)
        if words:
            function.__signature__ = signature_of(plain, rec.defaults)  # type: ignore[attr-defined]  # functions may have it
        return function

    return make


@op("split_equal(Tensor input, int split_size, int dim=0) -> Tensor[]", family="view", quiet="all", method=False, namespace="_internal",
    node="SplitBackward0")
class split_equal:
    """Pieces of `split_size` along a dimension, the last perhaps smaller."""

    numpy = _split_equal
    shown_as = "split"
    make = _several_views("split_equal", "split_size")

    def vjp(F, grad, input_shape, split_size, dim):
        n = input_shape[dim % len(input_shape)]
        sizes = [split_size] * (len(grad) - 1) + [n - split_size * (len(grad) - 1)]
        return F.cat(_pieces(F, grad, _split_shapes(input_shape, sizes, dim)), dim)
    aten = "split.Tensor"
    def put_back(F, base, new, nr, size, dim): return "slice_scatter", dim, nr * size, nr * size + new.shape[dim], 1

    def samples(rng): yield rng.standard_normal((5, 2)), 2


def _split_with_sizes(input: np.ndarray, split_sizes: Sequence[int], dim: int) -> list[np.ndarray]:
    sizes = (split_sizes,) if split_sizes.__class__ is int else tuple(split_sizes)
    if sum(sizes).__class__ is not int:  # what is kept does not tell numbers from integers
        raise TypeError("sizes are integers")
    return [input[key] for key in _pieces_of(input.shape, sizes, dim if dim.__class__ is int else index(dim))]


@lru_cache(_MOST)
def _pieces_of(shape: tuple[int, ...], sizes: tuple[int, ...], dim: int) -> list[Any]:
    """The indices of pieces of these sizes, which make up a dimension."""
    d = _split_dim(shape, dim, "split")
    n = shape[d]
    if min(sizes, default=0) < 0:
        raise AutogradError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}")
    if sum(sizes) != n:
        raise AutogradError(f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {dim}), but got "
                            f"split_sizes={list(sizes)}")
    return _keys(sizes, d)


@op("split_with_sizes(Tensor input, int[] split_sizes, int dim=0) -> Tensor[]", family="view", quiet="all")
class split_with_sizes:
    """Pieces of the given sizes along a dimension.

    >>> torch.split_with_sizes(torch.arange(3.), [1, 2])
    (tensor([0.]), tensor([1., 2.]))
    """

    def sharding(call):
        n = len(call.shape("input"))
        kept = [None if d == call["dim"] % n else d for d in range(n)] if n else []
        return call.propagate([kept], [kept] * len(call["split_sizes"]))

    numpy = _split_with_sizes
    make = _several_views("split_with_sizes", "split_sizes")
    def vjp(F, grad, input_shape, split_sizes, dim): return F.cat(_pieces(F, grad, _split_shapes(input_shape, split_sizes, dim)), dim)
    def put_back(F, base, new, nr, sizes, dim): return "slice_scatter", dim, sum(sizes[:nr]), sum(sizes[:nr + 1]), 1

    def samples(rng):
        yield rng.standard_normal((5, 2)), [2, 0, 3]
        yield rng.standard_normal((2, 5)), [1, 4], -1

    def errors(rng):
        yield (np.ones((3, 4)), [1, 1]), RuntimeError, (
            "split_with_sizes expects split_sizes to sum exactly to 3 (input tensor's size at dimension 0), but got split_sizes=[1, 1]")


@op("split(Tensor input, Any split_size_or_sections, int dim=0) -> Tensor[]", out=False)
class split:
    """Pieces along a dimension, of one size, or of the sizes given.

    >>> torch.arange(5.).split(2)
    (tensor([0., 1.]), tensor([2., 3.]), tensor([4.]))
    """

    home = "functional"
    def function(F, tensor, split_size_or_sections, dim=0):
        if split_size_or_sections.__class__ is int:
            return F.split_equal(tensor, split_size_or_sections, dim)
        if isinstance(split_size_or_sections, (list, tuple)):
            return F.split_with_sizes(tensor, split_size_or_sections, dim)
        return F.split_equal(tensor, int(split_size_or_sections), dim)

    def method(F, self, split_size, dim=0):
        if split_size.__class__ is int:
            return F.split_equal(self, split_size, dim)
        if isinstance(split_size, (list, tuple)):
            return F.split_with_sizes(self, split_size, dim)
        return F.split_equal(self, int(split_size), dim)

    def samples(rng):
        yield rng.standard_normal((5, 2)), 2
        yield rng.standard_normal((2, 5)), [1, 4], 1

    def errors(rng):
        yield (np.ones((3, 4)), 0), RuntimeError, "split_size can only be 0 if dimension size is 0, but got dimension size of 3"
        yield (np.ones((3, 4)), -1), RuntimeError, "split expects split_size be non-negative, but got split_size=-1"
        yield (np.ones(()), 1), RuntimeError, "split expects at least a 1-dimensional tensor"


@op("chunk(Tensor input, int chunks, int dim=0) -> Tensor[]", out=False)
class chunk:
    """At most `chunks` pieces of equal size along a dimension, the last perhaps smaller.

    >>> torch.arange(5.).chunk(2)
    (tensor([0., 1., 2.]), tensor([3., 4.]))
    """

    composite = "chunk"
    together = True
    def shown(input, chunks, dim):
        n = input.shape[dim]
        return _split_equal(input, (n + chunks - 1) // chunks, dim) if n and chunks > 0 else None

    def function(F, input, chunks, dim=0):
        shape = input._data.shape
        if not shape:
            raise AutogradError("chunk expects at least a 1-dimensional tensor")
        if chunks <= 0:
            raise AutogradError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        n = shape[wrap_dim(dim, len(shape))]
        return F.split_equal(input, (n + chunks - 1) // chunks, dim) if n else F.split_with_sizes(input, (0,) * chunks, dim)

    def samples(rng):
        yield rng.standard_normal((5, 2)), 2
        yield rng.standard_normal((2, 6)), 4, -1

    def errors(rng):
        yield (np.ones((3, 4)), 0), RuntimeError, "chunk expects `chunks` to be greater than 0, got: 0"
        yield (np.ones(()), 1), RuntimeError, "chunk expects at least a 1-dimensional tensor"


def _section_bounds(sections: int | Sequence[int], n: int) -> list[tuple[int, int]]:
    """(start, end) of each part: of `sections` parts as equal as can be, or between the given indices."""
    if isinstance(sections, int):
        if sections <= 0:
            raise AutogradError(f"number of sections must be larger than 0, got {sections}")
        small, extra = divmod(n, sections)
        ends = [small * i + min(i, extra) for i in range(sections + 1)]
        return list(zip(ends, ends[1:]))
    ends = [0, *sections]
    return [(a, b) for a, b in zip(ends, [*ends[1:], n])]


_kept_bounds = lru_cache(_MOST)(_section_bounds)


def _sections(input: np.ndarray, sections: int | Sequence[int], dim: int) -> list[np.ndarray] | None:
    """The parts of a dimension as arrays, where nothing is unusual about their number or bounds."""
    if sections.__class__ is int:
        bounds = _kept_bounds(sections, input.shape[dim])
    elif sections.__class__ is tuple or sections.__class__ is list:
        bounds = _section_bounds(sections, input.shape[dim])
    else:
        return None
    lead = (_ALL,) * (dim % input.ndim)
    return [input[(*lead, slice(a, b))] for a, b in bounds] if lead else [input[a:b] for a, b in bounds]


def _even_sections(input: np.ndarray, sections: int | Sequence[int], dim: int) -> list[np.ndarray] | None:
    """The same of parts which, if their number is given, are all of one size."""
    return None if sections.__class__ is int and input.shape[dim] % sections else _sections(input, sections, dim)


def _cut(F: Functions, input: TensorRef, sections: int | Sequence[int], dim: int) -> Any:
    """The parts of a dimension."""
    slice_, bounds = F.slice, _kept_bounds if sections.__class__ is int else _section_bounds
    return F.list_type(RECORDS["tensor_split"])([slice_(input, dim, a, b) for a, b in bounds(sections, input._data.shape[dim])])


@op("tensor_split(Tensor input, Any indices_or_sections, int dim=0) -> Tensor[]", out=False)
class tensor_split:
    """A number of parts as equal as can be, or the parts between given indices.

    >>> torch.arange(5.).tensor_split(2)
    (tensor([0., 1., 2.]), tensor([3., 4.]))
    """

    words = {"sections": "indices_or_sections", "indices": "indices_or_sections", "tensor_indices_or_sections": "indices_or_sections"}
    def shown(input, indices_or_sections, dim): return _sections(input, indices_or_sections, dim)

    def function(F, input, indices_or_sections, dim=0):
        shape = input._data.shape
        if not shape:
            raise AutogradError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
        sections = indices_or_sections
        if sections.__class__ is int:
            pass
        elif isinstance(sections, TensorRef):
            if sections._k.dtype.name != "int64":
                raise AutogradError("tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                                    f"{SCALAR_TYPE_NAMES[sections._k.dtype.name]}", expected="int64")
            if sections.ndim > 1:
                raise AutogradError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, "
                                    f"but got a tensor with {sections.ndim} dims")
            sections = need_values(sections).tolist()
        elif hasattr(sections, "tolist"):
            sections = sections.tolist()
        return _cut(F, input, sections, wrap_dim(dim, len(shape)))

    def samples(rng):
        yield rng.standard_normal((5, 2)), 3
        yield rng.standard_normal((2, 5)), (1, 3), -1

    def errors(rng):
        yield (np.ones((3, 4)), 0), RuntimeError, "number of sections must be larger than 0, got 0"


def _named_split(F: Functions, name: str, least: int, dim: int, input: TensorRef, sections: int | Sequence[int]) -> tuple[TensorRef, ...]:
    shape = input._data.shape
    n = len(shape)
    if n < least:
        raise AutogradError(f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor "
                            f"with {n} dimensions!")
    if not isinstance(sections, (int, tuple, list)):
        raise no_match(name, SPLIT, (input, sections))
    if isinstance(sections, int) and (sections <= 0 or shape[dim] % sections):
        raise AutogradError(f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {shape[dim]} is "
                            f"not "
                            f"divisible by the split_size {sections}!")
    return _cut(F, input, sections, dim) if sections.__class__ is int else F.tensor_split(input, sections, dim)


@op("hsplit(Tensor input, Any indices_or_sections) -> Tensor[]", varargs="indices_or_sections", out=False)
class hsplit:
    """Parts side by side: along dimension 1, or 0 of a vector.

    >>> torch.arange(4.).hsplit(2)
    (tensor([0., 1.]), tensor([2., 3.]))
    """

    words = {"sections": "indices_or_sections", "indices": "indices_or_sections"}
    def shown(input, indices_or_sections): return _even_sections(input, indices_or_sections, 0 if input.ndim == 1 else 1)

    def function(F, input, indices_or_sections):
        return _named_split(F, "hsplit", 1, 0 if len(input._data.shape) == 1 else 1, input, indices_or_sections)

    def samples(rng): yield rng.standard_normal((2, 4)), 2

    def errors(rng):
        yield (np.ones((3, 4)), 3), RuntimeError, (
            "torch.hsplit attempted to split along dimension 1, but the size of the dimension 4 is not divisible by the split_size 3!")
        yield (np.ones(()), 1), RuntimeError, (
            "torch.hsplit requires a tensor with at least 1 dimension, but got a tensor with 0 dimensions!")


@op("vsplit(Tensor input, Any indices_or_sections) -> Tensor[]", varargs="indices_or_sections", out=False)
class vsplit:
    """Parts along dimension 0.

    >>> torch.zeros(4, 2).vsplit(2)[0].shape
    torch.Size([2, 2])
    """

    words = {"sections": "indices_or_sections", "indices": "indices_or_sections"}
    def shown(input, indices_or_sections): return _even_sections(input, indices_or_sections, 0) if input.ndim > 1 else None
    def function(F, input, indices_or_sections): return _named_split(F, "vsplit", 2, 0, input, indices_or_sections)
    def samples(rng): yield rng.standard_normal((4, 2)), (1, 3)


@op("dsplit(Tensor input, Any indices_or_sections) -> Tensor[]", varargs="indices_or_sections", out=False)
class dsplit:
    """Parts along dimension 2.

    >>> torch.zeros(2, 2, 4).dsplit(2)[0].shape
    torch.Size([2, 2, 2])
    """

    words = {"sections": "indices_or_sections", "indices": "indices_or_sections"}
    def shown(input, indices_or_sections): return _even_sections(input, indices_or_sections, 2)
    def function(F, input, indices_or_sections): return _named_split(F, "dsplit", 3, 2, input, indices_or_sections)
    def samples(rng): yield rng.standard_normal((2, 2, 4)), 2

    def errors(rng):
        yield (np.ones((2, 2)), 2), RuntimeError, (
            "torch.dsplit requires a tensor with at least 3 dimension, but got a tensor with 2 dimensions!")


def _unbind(input: np.ndarray, dim: int) -> list[np.ndarray]:
    if not input.ndim:
        raise IndexRangeError(f"Dimension specified as {dim} but tensor has no dimensions")
    if dim == 0 and input.ndim > 1:
        return list(input)
    lead = (_ALL,) * wrap_dim(dim, input.ndim)
    return [input[lead + (i, ...)] for i in range(input.shape[len(lead)])]


@op("unbind(Tensor input, int dim=0) -> Tensor[]", family="view", quiet="all")
class unbind:
    """The parts at each position of a dimension.

    >>> torch.tensor([[1., 2.], [3., 4.]]).unbind()
    (tensor([1., 2.]), tensor([3., 4.]))
    """

    saved_as = {"input_shape": None}
    numpy = _unbind
    make = _several_views("unbind", "")

    def vjp(F, grad, input_shape, dim):
        d = dim % len(input_shape)
        return F.stack(_pieces(F, grad, [input_shape[:d] + input_shape[d + 1:]] * len(grad)), d)
    aten = ".int"
    def put_back(F, base, new, nr, dim): return "select_scatter", dim, nr

    def samples(rng):
        yield (rng.standard_normal((3, 2)),)
        yield rng.standard_normal((2, 3)), -1

    def errors(rng):
        yield (np.ones(()),), IndexError, "Dimension specified as 0 but tensor has no dimensions"


def _on_their_own(pieces: Sequence[TensorRef]) -> Any:
    """Pieces that autograd takes for no views: each may be changed in place, whatever becomes of the others. Their node says so, but where
    it is a special one, as on a mesh."""
    for piece in pieces:
        piece._base = piece._v = None
    if pieces and pieces[0]._node is None:
        return pieces
    entry = pieces[0].creator if pieces else None
    op = None if entry is None else entry.op
    if op is not None and entry.__class__ is node_class(op) and entry.__class__.__name__.startswith("Split"):
        entry.__class__ = node_class(op._overload(f"Unsafe{entry.__class__.__name__}"))
    return pieces


@op("unsafe_chunk(Tensor input, int chunks, int dim=0) -> Tensor[]", result="same", out=False)
class unsafe_chunk:
    """`chunk`, whose pieces may be changed in place.

    >>> torch.arange(4.).unsafe_chunk(2)
    (tensor([0., 1.]), tensor([2., 3.]))
    """

    def quick(input, chunks, dim):
        n = input.shape[dim]
        return _split_equal(input, (n + chunks - 1) // chunks, dim) if chunks > 0 and n else None

    def function(F, input, chunks, dim=0): return _on_their_own(F.chunk(input, chunks, dim))
    def samples(rng): yield rng.standard_normal((5, 2)), 2


@op("unsafe_split_with_sizes(Tensor input, int[] split_sizes, int dim=0) -> Tensor[]", result="same", out=False)
class unsafe_split_with_sizes:
    """`split_with_sizes`, whose pieces may be changed in place.

    >>> torch.arange(3.).unsafe_split_with_sizes((1, 2))
    (tensor([0.]), tensor([1., 2.]))
    """

    no_vmap = "aten::unsafe_split_with_sizes"
    def quick(input, split_sizes, dim):
        sizes = (split_sizes,) if split_sizes.__class__ is int else tuple(split_sizes)
        return [input[key] for key in _pieces_of(input.shape, sizes, dim)]

    def function(F, input, split_sizes, dim=0): return _on_their_own(F.split_with_sizes(input, list(split_sizes), dim))
    def samples(rng): yield rng.standard_normal((5, 2)), [2, 3]


@op("unsafe_split(Tensor input, int split_size, int dim=0) -> Tensor[]", result="same", out=False)
class unsafe_split:
    """`split`, whose pieces may be changed in place.

    >>> torch.arange(4.).unsafe_split(2)
    (tensor([0., 1.]), tensor([2., 3.]))
    """

    def quick(input, split_size, dim): return _split_equal(input, split_size, dim)
    def function(F, input, split_size, dim=0): return _on_their_own(F.split_equal(input, split_size, dim))
    def samples(rng): yield rng.standard_normal((5, 2)), 2
