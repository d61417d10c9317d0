"""What torch has in torch.functional: functions written in Python, about shapes and indices."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autograd_tape.dtypes import SCALAR_TYPE_NAMES

from ._calls.absent import absent
from ._making.creation import tensor
from ._memory.size import Size
from ._tensor import Tensor, frontend as F
from .overrides import handle_torch_function, has_torch_function, overridable

if TYPE_CHECKING:
    from torchcompat import (
        atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d, block_diag as block_diag,
        broadcast_tensors as broadcast_tensors, cartesian_prod as cartesian_prod, cdist as cdist, chain_matmul as chain_matmul,
        einsum as einsum, istft as istft, lu as lu, meshgrid as meshgrid, norm as norm, pca_lowrank as pca_lowrank, split as split,
        stft as stft, svd_lowrank as svd_lowrank, tensordot as tensordot, unique as unique, unique_consecutive as unique_consecutive,
    )

__all__ = ["broadcast_shapes", "unravel_index"]
_OPERATIONS = frozenset([
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "cdist", "chain_matmul", "einsum",
    "istft", "lu", "meshgrid", "norm", "pca_lowrank", "split", "stft", "svd_lowrank", "tensordot", "unique", "unique_consecutive"])
"""What torch writes in Python, and is an operation, or a module's function, here."""


if not TYPE_CHECKING:  # what stands here is known, and no other name
    def __getattr__(name: str) -> object:
        if name in _OPERATIONS:
            return getattr(sys.modules[__package__], name)
        raise absent(__name__, name)


def _assert(condition: Any, message: Any) -> None:
    """`assert` as a function, which traces of programs can hold.

    Raises:
        AssertionError: the condition is false.
    """
    if type(condition) is not Tensor and has_torch_function((condition,)):
        handle_torch_function(_assert, (condition,), condition, message)
        return
    if not condition:
        raise AssertionError(message)


_assert.__module__ = "torchcompat"


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that shapes broadcast to; a number stands for a shape of one dimension.

    Raises:
        ValueError: a size is negative.
        RuntimeError: they do not broadcast.

    >>> broadcast_shapes((2,), (3, 1), (1, 1, 1))
    torch.Size([1, 3, 2])
    """
    rank = max([1 if isinstance(s, int) else len(s) for s in shapes if isinstance(s, (int, tuple, list))], default=0)
    result = [1] * rank
    for index, shape in enumerate(shapes):
        if shape is None:
            continue
        sizes = (shape,) if isinstance(shape, int) else shape
        if not isinstance(sizes, (tuple, list)):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
        for i in range(-1, -len(sizes) - 1, -1):
            if sizes[i] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if sizes[i] in (1, result[i]):
                continue
            if result[i] != 1:
                raise RuntimeError(f"Attempting to broadcast a dimension of length {sizes[i]} at {i}! Mismatching argument at index "
                                   f"{index} had {sizes}; but expected shape should be broadcastable to {result}")
            result[i] = sizes[i]
    for i, n in enumerate(result):
        if not isinstance(n, int):
            raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is '{type(n).__name__}')")
    return Size(result)


@overridable
def unravel_index(indices: Any, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The indices along each dimension of a tensor of `shape` of the elements at `indices` into the flattened one.

    Raises:
        TypeError: the indices are no integers, or the shape is not made of integers.
        ValueError: a size is negative.

    >>> import torchcompat as torch
    >>> unravel_index(torch.tensor([5, 3]), (2, 3))
    (tensor([1, 1]), tensor([2, 0]))
    """
    if indices.is_complex() or indices.is_floating_point() or indices.dtype.name == "bool":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if indices.dtype.group:
        raise RuntimeError("Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                           f"{SCALAR_TYPE_NAMES[indices.dtype.name]} and Long")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in sizes:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any([n < 0 for n in sizes]):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    if not sizes:
        return ()
    steps = [1]
    for n in sizes[:0:-1]:
        steps.append(steps[-1] * n)
    at = [indices.long() // step for step in steps[::-1]]
    found: tuple[Tensor, ...] = (F.function("stack")(at, -1) % tensor(sizes, dtype=at[0].dtype, device=at[0].device)).unbind(-1)
    return found
