"""NumPy's functions that move, join, cut and pick elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..annotations import Fn, Values
from ..frontend import F
from ..tensor import TensorRef, as_dtype
from ._tables import alike, axes_of, axis_of, cast, check_defaults, floating, give, holds_tensors, implements, tensor

_UNSET: Any = np._NoValue  # type: ignore[attr-defined]  # NumPy's own word for an argument that was not given


# -- the same elements under another shape ------------------------------------------------------------------------------


@implements("reshape")
def reshape(a, newshape=_UNSET, order="C", *, shape=_UNSET, copy=None):
    x, sizes = tensor(a), shape if newshape is _UNSET else newshape
    sizes = tuple([int(n) for n in (sizes if isinstance(sizes, (tuple, list)) else (sizes,))])
    if order in ("C", "A", "K"):
        result = F.reshape(x, sizes)
    elif order == "F":
        result = _reversed(F.reshape(_reversed(x), sizes[::-1]))
    else:
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return F.clone(result) if copy else result


def _reversed(x: TensorRef) -> TensorRef:
    return F.permute(x, tuple(range(x.ndim))[::-1])


@implements("ravel")
def ravel(a, order="C"):
    return reshape(a, -1, order)


@implements("transpose", "permute_dims")
def transpose(a, axes=None):
    x = tensor(a)
    if axes is None:
        return _reversed(x)
    if len(axes) != x.ndim:
        raise ValueError("axes don't match array")
    return F.permute(x, axes_of(tuple(axes), x.ndim))


@implements("matrix_transpose", "linalg.matrix_transpose")
def matrix_transpose(x, /):
    return tensor(x).mT


@implements("swapaxes")
def swapaxes(a, axis1, axis2):
    x = tensor(a)
    return F.transpose(x, axis_of(axis1, x.ndim), axis_of(axis2, x.ndim))


@implements("moveaxis")
def moveaxis(a, source, destination):
    x = tensor(a)
    source, destination = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    if len(source) != len(destination):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    return F.movedim(x, source, destination)


@implements("rollaxis")
def rollaxis(a, axis, start=0):
    x = tensor(a)
    axis = axis_of(axis, x.ndim)
    start = start + x.ndim if start < 0 else start
    if not 0 <= start <= x.ndim:
        raise np.exceptions.AxisError(start, x.ndim + 1)
    order = [i for i in range(x.ndim) if i != axis]
    order.insert(start - (axis < start), axis)
    return F.permute(x, tuple(order))


@implements("expand_dims")
def expand_dims(a, axis):
    x = tensor(a)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    for one in sorted(axes_of(axes, x.ndim + len(axes))):
        x = F.unsqueeze(x, one)
    return x


@implements("squeeze")
def squeeze(a, axis=None):
    x = tensor(a)
    if axis is None:
        return F.squeeze(x)
    axes = axes_of(axis, x.ndim)
    if any([x.shape[i] != 1 for i in axes]):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return F.squeeze(x, axes) if axes else x


@implements("broadcast_to")
def broadcast_to(array, shape, subok=False):
    x = tensor(array)
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    np.broadcast_to(np.empty(()), sizes), np.broadcast_to(x._data, sizes)  # NumPy's error where it does not fit
    return F.broadcast_to(x, sizes)


@implements("broadcast_arrays")
def broadcast_arrays(*args, subok=False):
    tensors = [tensor(a) for a in args]
    sizes = np.broadcast_shapes(*[t.shape for t in tensors])
    return [F.broadcast_to(t, sizes) for t in tensors]


def _at_least(n: int) -> Fn:
    def lift(x: TensorRef) -> TensorRef:
        x = tensor(x)
        if n == 3 and 0 < x.ndim < 3:
            return F.reshape(x, (1, *x.shape, 1) if x.ndim == 1 else (*x.shape, 1))
        return x if x.ndim >= n else F.reshape(x, (*[1] * (n - x.ndim), *x.shape))

    def at_least(*arys):
        found = [lift(x) for x in arys]
        return found[0] if len(found) == 1 else found

    return at_least


atleast_1d, atleast_2d, atleast_3d = [implements(f"atleast_{n}d")(_at_least(n)) for n in (1, 2, 3)]


# -- joining and cutting --------------------------------------------------------------------------------------------------


def _join(tensors: list[TensorRef], axis: int, dtype: object = None) -> TensorRef:
    if len({t.ndim for t in tensors}) > 1:
        raise ValueError("all the input array dimensions must match, but they have " + ", ".join([str(t.ndim) for t in tensors]))
    if not tensors[0].ndim:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = axis_of(axis, tensors[0].ndim)
    if len({(*t.shape[:axis], *t.shape[axis + 1:]) for t in tensors}) > 1:
        raise ValueError("all the input array dimensions except for the concatenation axis must match exactly, but the shapes are "
                         + ", ".join([str(t.shape) for t in tensors]))
    return F.cat(alike(tensors, dtype), axis)


def _each(arrays: Sequence[TensorRef]) -> list[TensorRef]:
    found = [tensor(a) for a in arrays]
    if not found:
        raise ValueError("need at least one array to concatenate")
    return found


@implements("concatenate", "concat", sequence=True)
def concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    found = _each(arrays)
    return give(_join([ravel(t) for t in found], 0, dtype) if axis is None else _join(found, axis, dtype), out)


@implements("stack", sequence=True)
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    found = _each(arrays)
    if len({t.shape for t in found}) > 1:
        raise ValueError("all input arrays must have the same shape")
    return give(F.stack(alike(found, dtype), axis_of(axis, found[0].ndim + 1)), out)


@implements("vstack", "row_stack", sequence=True)
def vstack(tup, *, dtype=None, casting="same_kind"):
    return _join([atleast_2d(t) for t in _each(tup)], 0, dtype)


@implements("hstack", sequence=True)
def hstack(tup, *, dtype=None, casting="same_kind"):
    found = [atleast_1d(t) for t in _each(tup)]
    return _join(found, 0 if found[0].ndim == 1 else 1, dtype)


@implements("dstack", sequence=True)
def dstack(tup):
    return _join([atleast_3d(t) for t in _each(tup)], 2)


@implements("column_stack", sequence=True)
def column_stack(tup):
    return _join([t if t.ndim > 1 else F.reshape(t, (-1, 1)) for t in _each(tup)], 1)


@implements("append")
def append(arr, values, axis=None):
    return concatenate((arr, values), axis)


@implements("block", sequence=True)
def block(arrays):
    depth = _depth(arrays)
    ndim = max(depth, *[tensor(a).ndim for a in _leaves(arrays)])

    def build(part: Any, level: int) -> TensorRef:
        if isinstance(part, list):
            return _join([build(p, level + 1) for p in part], level - depth)
        x = tensor(part)
        return F.reshape(x, (*[1] * (ndim - x.ndim), *x.shape))

    return build(arrays, 0)


def _depth(arrays: Any) -> int:
    return 1 + max([_depth(a) for a in arrays]) if isinstance(arrays, list) else 0


def _leaves(arrays: Any) -> list[TensorRef]:
    return [x for a in arrays for x in _leaves(a)] if isinstance(arrays, list) else [arrays]


@implements("array_split")
def array_split(ary, indices_or_sections, axis=0):
    x = tensor(ary)
    axis = axis_of(axis, x.ndim)
    n = x.shape[axis]
    if isinstance(indices_or_sections, (int, np.integer)):
        if indices_or_sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        bounds = [0, *np.cumsum([n // indices_or_sections + (i < n % indices_or_sections) for i in range(indices_or_sections)])]
    else:
        bounds = [0, *indices_or_sections, n]
    ends = [slice(a, b).indices(n)[:2] for a, b in zip(bounds, bounds[1:])]
    return [F.narrow(x, axis, int(a), max(int(b - a), 0)) for a, b in ends]


@implements("split")
def split(ary, indices_or_sections, axis=0):
    x = tensor(ary)
    if isinstance(indices_or_sections, (int, np.integer)) and x.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(x, indices_or_sections, axis)


@implements("vsplit")
def vsplit(ary, indices_or_sections):
    return split(_enough(ary, 2, "vsplit"), indices_or_sections, 0)


@implements("hsplit")
def hsplit(ary, indices_or_sections):
    x = _enough(ary, 1, "hsplit")
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


@implements("dsplit")
def dsplit(ary, indices_or_sections):
    return split(_enough(ary, 3, "dsplit"), indices_or_sections, 2)


def _enough(a: TensorRef, ndim: int, name: str) -> TensorRef:
    x = tensor(a)
    if x.ndim < ndim:
        raise ValueError(f"{name} only works on arrays of {ndim} or more dimensions")
    return x


@implements("unstack")
def unstack(x, /, *, axis=0):
    return tuple(F.unbind(tensor(x), axis))


# -- elements in another order, or several times ---------------------------------------------------------------------------


@implements("flip")
def flip(m, axis=None):
    x = tensor(m)
    return F.flip(x, axes_of(axis, x.ndim))


@implements("fliplr")
def fliplr(m):
    return flip(_enough(m, 2, "fliplr"), 1)


@implements("flipud")
def flipud(m):
    return flip(_enough(m, 1, "flipud"), 0)


@implements("roll")
def roll(a, shift, axis=None):
    x = tensor(a)
    if axis is None:
        return F.reshape(F.roll(F.reshape(x, (-1,)), int(shift), 0), tuple(x.shape))
    shifts, axes = np.broadcast_arrays(shift, axis)
    for by, along in zip(shifts.reshape(-1).tolist(), axes.reshape(-1).tolist()):
        x = F.roll(x, by, axis_of(along, x.ndim))
    return x


@implements("rot90")
def rot90(m, k=1, axes=(0, 1)):
    return F.rot90(tensor(m), k, tuple(axes))


@implements("repeat")
def repeat(a, repeats, axis=None):
    x = tensor(a)
    if axis is None:
        x, axis = F.reshape(x, (-1,)), 0
    axis = axis_of(axis, x.ndim)
    return F.index_select(x, axis, TensorRef.over(np.repeat(np.arange(x.shape[axis]), np.asarray(repeats))))


@implements("tile")
def tile(A, reps):
    return F.tile(tensor(A), tuple([int(n) for n in np.atleast_1d(reps)]))


@implements("pad")
def pad(array, pad_width, mode="constant", **kwargs):
    check_defaults("pad", mode=(mode, ("constant", "edge", "reflect", "symmetric", "wrap")))
    x = tensor(array)
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2))
    if mode != "constant":  # each index says where its element comes from
        for axis, (before, after) in enumerate(widths.tolist()):
            index = np.pad(np.arange(x.shape[axis]), (before, after), mode, **kwargs)
            x = F.index_select(x, axis, TensorRef.over(index))
        return x
    values = np.broadcast_to(np.asarray(kwargs.get("constant_values", 0)), (x.ndim, 2))
    for axis, ((before, after), (first, last)) in enumerate(zip(widths.tolist(), values.tolist())):
        shape = list(x.shape)
        parts = []
        for n, value in ((before, first), (None, None), (after, last)):
            parts.append(x if n is None else TensorRef.over(np.full([*shape[:axis], n, *shape[axis + 1:]], value, x._k.np)))
        x = F.cat(parts, axis)
    return x


@implements("resize")
def resize(a, new_shape):
    x = F.reshape(tensor(a), (-1,))
    sizes = tuple(new_shape) if isinstance(new_shape, (tuple, list)) else (new_shape,)
    index = np.resize(np.arange(x.shape[0]), sizes)
    return F.reshape(F.index_select(x, 0, TensorRef.over(index.reshape(-1))), sizes)


# -- picking ---------------------------------------------------------------------------------------------------------------


@implements("where")
def where(condition, x=None, y=None, /):
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    dtype = np.result_type(*[v._k.np if isinstance(v, TensorRef) else v if np.isscalar(v) else np.asarray(v) for v in map(_listed, (x, y))])
    return F.where(cast(tensor(condition), bool), tensor(x, dtype), tensor(y, dtype))


def _listed(x: TensorRef | float) -> Any:
    """Lists that hold tensors as one tensor."""
    return tensor(x) if isinstance(x, (list, tuple)) and holds_tensors(x) else x


@implements("nonzero")
def nonzero(a):
    return tuple(F.nonzero(tensor(a), as_tuple=True))


@implements("flatnonzero")
def flatnonzero(a):
    return nonzero(ravel(a))[0]


@implements("argwhere")
def argwhere(a):
    return F.stack(nonzero(a), 1)


def _indices(index: Values | list[int | list[int]]) -> np.ndarray:
    """Indices as an array of integers."""
    array = index._read("an index") if isinstance(index, TensorRef) else np.asarray(index)
    if array.dtype.kind not in "iub" and array.size:
        raise TypeError(f"indices must be integers, not {array.dtype}")
    return array.astype(np.int64)


def _in_range(index: np.ndarray, n: int, mode: str) -> np.ndarray:
    if mode == "raise":
        if index.size and (index.min() < -n or index.max() >= n):
            raise IndexError(f"an index is out of bounds for axis with size {n}")
        return index + n * (index < 0)
    return index % n if mode == "wrap" else np.clip(index, 0, n - 1)


@implements("take")
def take(a, indices, axis=None, out=None, mode="raise"):
    x = tensor(a)
    if axis is None:
        x, axis = F.reshape(x, (-1,)), 0
    axis = axis_of(axis, x.ndim)
    index = _in_range(_indices(indices), x.shape[axis], mode)
    picked = F.index_select(x, axis, TensorRef.over(index.reshape(-1)))
    return give(F.reshape(picked, (*x.shape[:axis], *index.shape, *x.shape[axis + 1:])), out)


@implements("take_along_axis")
def take_along_axis(arr, indices, axis=-1):
    x, index = tensor(arr), _indices(indices)
    if axis is None:
        x, axis = F.reshape(x, (-1,)), 0
    if index.ndim != x.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    axis = axis_of(axis, x.ndim)
    index = _in_range(index, x.shape[axis], "raise")
    sizes = np.broadcast_shapes(*[(*s[:axis], 1, *s[axis + 1:]) for s in (x.shape, index.shape)])
    wide = lambda n: (*sizes[:axis], n, *sizes[axis + 1:])
    return F.gather(F.broadcast_to(x, wide(x.shape[axis])), axis, TensorRef.of(np.broadcast_to(index, wide(index.shape[axis]))))


@implements("compress")
def compress(condition, a, axis=None, out=None):
    return give(take(a, np.flatnonzero(np.asarray(condition)), axis), out)


@implements("extract")
def extract(condition, arr):
    return take(ravel(arr), flatnonzero(condition))


@implements("delete")
def delete(arr, obj, axis=None):
    x = tensor(arr)
    if axis is None:
        x, axis = F.reshape(x, (-1,)), 0
    return take(x, np.delete(np.arange(x.shape[axis]), obj), axis)


@implements("choose")
def choose(a, choices, out=None, mode="raise"):
    options = broadcast_arrays(a, *choices)
    joined = F.stack(alike(options[1:]), 0)
    index = _in_range(_indices(options[0]), len(options) - 1, mode)
    return give(F.squeeze(F.gather(joined, 0, TensorRef.of(index[None])), 0), out)


@implements("select")
def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    result: Any = default
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        result = where(condition, choice, result)
    return result


@implements("diagonal")
def diagonal(a, offset=0, axis1=0, axis2=1):
    return F.diagonal(_enough(a, 2, "diagonal"), offset, axis1, axis2)


@implements("linalg.diagonal")
def diagonal_of_last(x, /, *, offset=0):
    return diagonal(x, offset, -2, -1)


@implements("diag")
def diag(v, k=0):
    x = tensor(v)
    if x.ndim not in (1, 2):
        raise ValueError("Input must be 1- or 2-d.")
    return F.diag(x, k)


@implements("diagflat")
def diagflat(v, k=0):
    return F.diag(F.reshape(tensor(v), (-1,)), k)


@implements("tril")
def tril(m, k=0):
    return F.tril(_square_of(m), k)


@implements("triu")
def triu(m, k=0):
    return F.triu(_square_of(m), k)


def _square_of(m: TensorRef) -> TensorRef:
    x = tensor(m)
    return x if x.ndim != 1 else F.expand(x, (x.shape[0], x.shape[0]))


@implements("searchsorted")
def searchsorted(a, v, side="left", sorter=None):
    return _found(np.searchsorted, a, v, side, sorter)


@implements("digitize")
def digitize(x, bins, right=False):
    return _found(np.digitize, x, bins, right)


@implements("bincount")
def bincount(x, weights=None, minlength=0):
    index = _indices(x)
    if weights is None:
        return TensorRef.over(np.bincount(index, minlength=minlength))
    w = tensor(weights, np.float64)
    return F.bincount(TensorRef.of(index), w, minlength) if not w.requires_grad else F.index_add(
        TensorRef.over(np.zeros(max(int(index.max(initial=-1)) + 1, minlength))), 0, TensorRef.of(index), w)


def _found(function: Fn, *args: object) -> TensorRef:
    """Indices, which have no gradient, that a function of NumPy's finds by values."""
    return TensorRef.over(np.asarray(function(*[a._read("an index") if isinstance(a, TensorRef) else a for a in args])))


@implements("unique")
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, **more):
    x = tensor(ar)
    _, first, *found = np.unique(x._read("an index"), True, return_inverse, return_counts, axis, equal_nan=equal_nan, **more)
    values = take(x, first, axis)
    others = [TensorRef.over(np.asarray(f)) for f in ([first] if return_index else []) + found]
    return (values, *others) if others else values


# -- like an array ---------------------------------------------------------------------------------------------------------


def _like(name: str) -> Fn:
    fill = getattr(np, name)

    def like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
        x = tensor(a)
        return TensorRef.over(fill(np.empty(x.shape if shape is None else shape, x._k.np if dtype is None else as_dtype(dtype).np)))

    like.__name__ = name
    return like


zeros_like, ones_like, empty_like = [implements(name)(_like(name)) for name in ("zeros_like", "ones_like", "empty_like")]


@implements("full_like")
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    x = tensor(a)
    sizes, wanted = tuple(x.shape) if shape is None else tuple(np.empty(shape).shape), x._k.np if dtype is None else as_dtype(dtype).np
    return F.clone(F.broadcast_to(tensor(fill_value, wanted), sizes))


@implements("linspace")
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    first, last = alike([floating(start), floating(stop)])
    first, last = broadcast_arrays(first, last)
    steps = num - 1 if endpoint else num
    at = np.arange(num, dtype=first._k.np).reshape(-1, *[1] * first.ndim)
    step = (last - first) / max(steps, 1)
    result = first + TensorRef.over(at) * step
    if endpoint and num > 1:
        result = F.cat([result[:-1], F.unsqueeze(last, 0)])  # the end itself, not what rounding makes of it
    result = F.movedim(result, 0, axis_of(axis, result.ndim))
    result = result if dtype is None else cast(result, dtype)
    return (result, step) if retstep else result


@implements("copy")
def copy(a, order="K", subok=False):
    return F.clone(tensor(a))


@implements("astype")
def astype(x, dtype, /, *, copy=True, device=None):
    return x.astype(dtype, copy=copy)
