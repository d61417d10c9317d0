"""Dimensions: wrapping negative ones, their errors, broadcasting, and the way back from a reduction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .errors import AutogradError, IndexRangeError, ShapeMismatchError
from .annotations import Dims, Functions, Shape, Values

_min = np.minimum.reduce
_FEW = 64  # elements up to which a list is quicker


def wrap_dim(dim: int, ndim: int) -> int:
    """`dim` counted from the front; IndexRangeError in PyTorch's words where it is out of range. A 0-dim tensor counts as 1-dim.

    >>> wrap_dim(-1, 3)
    2
    """
    n = ndim or 1
    if -n <= dim < n:
        return dim + n if dim < 0 else dim
    raise IndexRangeError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})",
                          expected=f"{-n} to {n - 1}", found=str(dim), remedy="choose a dimension the tensor has")


def normalize_dims(dim: int | Sequence[int] | None, ndim: int) -> Shape | None:
    """NumPy's axis argument for a reduction over `dim`: None or an empty tuple mean all."""
    if dim is None:
        return None
    if isinstance(dim, int):
        return (wrap_dim(dim, ndim),) if ndim else None
    if not dim:
        return None
    if not ndim:
        for d in dim:
            wrap_dim(d, 0)
        return None
    axes = tuple([wrap_dim(d, ndim) for d in dim])
    if len(set(axes)) != len(axes):
        seen = next(d for i, d in enumerate(axes) if d in axes[:i])
        raise AutogradError(f"dim {seen} appears multiple times in the list of dims", expected="each dimension once", found=str(tuple(dim)),
                            remedy="remove the repetition")
    return axes


def expand_reduced(F: Functions, grad: Values, shape: Sequence[int], dim: Dims, keepdim: bool) -> Values:
    """The gradient of a reduction's result spread over the dimensions that were reduced."""
    if dim is None:
        return F.expand(grad, shape)
    if not keepdim and shape:
        dims = (dim,) if isinstance(dim, int) else dim
        if dims:
            axes = {d % len(shape) for d in dims}
            grad = F.reshape(grad, tuple([1 if i in axes else n for i, n in enumerate(shape)]))
    return F.expand(grad, tuple(shape))


def within(index: np.ndarray, n: int, d: int) -> np.ndarray:
    """An index into a dimension `d` of `n` elements, which its owner may have written to since it was checked; IndexRangeError where it
    is negative, which NumPy would count from the end. What is too large NumPy refuses.

    >>> within(np.array([0, 2]), 3, 0)
    array([0, 2])
    """
    least = min(index.ravel().tolist(), default=0) if index.size <= _FEW else _min(index, None)
    if least < 0:
        raise IndexRangeError(f"index {least} is out of bounds for dimension {d} with size {n}", expected=f"0 to {n - 1}", found=str(least),
                              remedy="leave the index as it is until the backward pass is done")
    return index


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that `shapes` broadcast to; ShapeMismatchError in PyTorch's words where they do not.

    >>> broadcast_shape((2, 1), (3,))
    (2, 3)
    """
    result: tuple[int, ...] = tuple(shapes[0]) if shapes else ()
    for shape in shapes[1:]:
        a, b = result, tuple(shape)
        if a == b:
            continue
        n = max(len(a), len(b))
        out = []
        for i in reversed(range(n)):
            x = a[i - n + len(a)] if i - n + len(a) >= 0 else 1
            y = b[i - n + len(b)] if i - n + len(b) >= 0 else 1
            if x != y and x != 1 and y != 1:
                raise ShapeMismatchError(
                    f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {i}",
                    expected=f"shapes that broadcast with {list(a)}", found=str(list(b)),
                    remedy="reshape or expand one of them; sizes must be equal or 1, compared from the right")
            out.append(y if x == 1 else x)
        result = tuple(reversed(out))
    return result
