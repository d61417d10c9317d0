"""Shape rules that several operations share: what the meta executor gives instead of a result. Shapes stand in place of tensors."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from ..annotations import Arguments, Functions
from ..dims import broadcast_shape, normalize_dims, wrap_dim
from ..dtypes import INTEGER
from ..errors import ArgumentError, AutogradError, check_rank, type_name
from ..tensor import TensorRef

Shape = Sequence[int]


def like_first(first: Sequence[int], *rest: object) -> tuple[int, ...]:
    """The first tensor's."""
    return tuple(first)


def like_second(first: Sequence[int], second: Sequence[int], *rest: object) -> tuple[int, ...]:
    """The second tensor's."""
    return tuple(second)


def reduced_pair(input: Shape, target: Shape, *rest: object) -> tuple[int, ...]:
    """Of a loss whose last argument says how it is reduced, or that is not reduced at all."""
    return () if rest and rest[-1] in ("mean", "sum") else broadcast_shape(input, target)


def matmul(input: Shape, other: Shape) -> tuple[int, ...]:
    """Of a matrix product.

    >>> matmul((5, 1, 2, 3), (4, 3, 6)), matmul((3,), (2, 3, 4))
    ((5, 4, 2, 6), (2, 4))
    """
    rows, columns = tuple(input[-2:-1]), tuple(other[-1:]) if len(other) > 1 else ()
    return (*broadcast_shape(input[:-2], other[:-2]), *rows, *columns)


def linear(input: Shape, weight: Shape, bias: Shape | None = None) -> tuple[int, ...]:
    """Of input @ weight^T + bias."""
    return (*input[:-1], *weight[:-1])


def added_product(input: Shape, a: Shape, b: Shape, beta: float = 1) -> tuple[int, ...]:
    """Of baddbmm, addmv: the product's."""
    return matmul(a, b)


def convolution(input: Shape, weight: Shape, bias: Sequence[int] | None, stride: Shape, padding: Shape, dilation: Shape,
                groups: int) -> tuple[int, ...]:
    """Of a cross-correlation.

    >>> convolution((2, 3, 8, 8), (6, 3, 3, 3), None, (2, 2), (1, 1), (1, 1), 1)
    (2, 6, 4, 4)
    """
    spatial = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(input[2:], weight[2:], stride, padding, dilation)]
    return (input[0], weight[0], *spatial)


def cat(tensors: Sequence[Shape], dim: int = 0) -> tuple[int, ...]:
    """Of tensors one after another; those of shape (0,) do not count."""
    real = [s for s in tensors if tuple(s) != (0,)] or [tensors[0]]
    d = wrap_dim(dim, len(real[0]))
    return (*real[0][:d], sum([s[d] for s in real]), *real[0][d + 1:])


def stack(tensors: Sequence[Shape], dim: int = 0) -> tuple[int, ...]:
    """Of tensors side by side along a new dimension."""
    d = wrap_dim(dim, len(tensors[0]) + 1)
    return (*tensors[0][:d], len(tensors), *tensors[0][d:])


def reduced(input: Shape, dim: int | Sequence[int] | None = None, keepdim: bool = False, *rest: object) -> tuple[int, ...]:
    """Of a reduction over `dim`."""
    axes: Sequence[int] | None = normalize_dims(dim, len(input))
    axes = range(len(input)) if axes is None else axes
    return tuple([1 if i in axes else n for i, n in enumerate(input) if keepdim or i not in axes])


def logical(input: Shape, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> tuple[int, ...]:
    """Of all and any, where an empty tuple reduces nothing."""
    return tuple(input) if dim == () else reduced(input, dim, keepdim)


def indexed(input: Shape, dim: int, index: Shape) -> tuple[int, ...]:
    """Of index_select."""
    d = wrap_dim(dim, len(input))
    return (*input[:d], *index, *input[d + 1:]) if input else ()


def topk(input: Shape, k: int, dim: int = -1, *rest: bool) -> tuple[tuple[int, ...], ...]:
    """Of values and indices of the `k` largest."""
    d = wrap_dim(dim, len(input))
    if not 0 <= k <= (input[d] if input else 1):
        raise AutogradError("k not in range for dimension")
    if not input:
        return (), ()
    shape = (*input[:d], k, *input[d + 1:])
    return shape, shape


def padded(input: Shape, pad: Shape, *rest: object) -> tuple[int, ...]:
    """Of padding: (before, after) of the last dimension, then of the one before it."""
    shape = list(input)
    for i in range(len(pad) // 2):
        shape[-1 - i] += pad[2 * i] + pad[2 * i + 1]
    return tuple(shape)


def given_size(F: Functions, name: str, size: Arguments) -> tuple[int, ...]:
    """The sizes given as one sequence or as several numbers; torch's errors for others."""
    dims = size[0] if len(size) == 1 and size[0].__class__ in _SEQUENCES else size
    if len(dims) < 33:
        for n in dims:
            if n.__class__ is not int or n < 0:
                break
        else:
            return tuple(dims)
    dims = size
    if not size or not _is_size(size[0]):
        if len(size) > 1:
            raise ArgumentError(f"{name}() takes 1 positional argument but {len(size)} were given")
        dims = size[0]
        if not isinstance(dims, (tuple, list)):
            raise ArgumentError(f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type_name(dims)}",
                                expected="ints", found=type_name(dims), remedy="pass sizes as ints or one tuple of ints")
    check_rank(len(dims))
    found = []
    for i, n in enumerate(dims):
        if not _is_size(n, i > 0):
            raise ArgumentError(f"{name}(): argument 'size' " + (
                f'failed to unpack the object at pos {i + 1} with error "type must be tuple of ints,but got {type_name(n)}"' if i else
                f"(position 1) must be tuple of ints, but found element of type {type_name(n)} at pos 0"),
                                expected="ints", found=type_name(n))
        found.append(operator.index(n))
    for n in found:
        if n < 0:
            raise AutogradError(f"{name}: Dimension size must be non-negative." if name == "zeros" else
                                f"Trying to create tensor with negative dimension {n}: {found}", expected="sizes of 0 or more",
                                found=str(n))
    return tuple(found)


_SEQUENCES = frozenset([tuple, list])


def _is_size(n: object, bools: bool = False) -> bool:
    """Whether torch takes `n` for one of several sizes; for all but the first it takes bools, too."""
    if isinstance(n, TensorRef):
        return n.ndim == 0 and n._k.dtype.category == INTEGER
    return isinstance(n, (int, np.integer)) and (bools or n.__class__ is not bool)
