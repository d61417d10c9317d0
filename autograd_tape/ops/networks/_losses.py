"""What losses share: reductions, torch's retired arguments for them, and constants among tensors."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import warned
from ...dims import broadcast_shape
from ...dtypes import CPU, dtype_of, kind, promote
from ...errors import ShapeMismatchError
from ...executors.choose import executor_for
from ...executors.kernels._on_demand import contiguous
from ...functions.out import CASTS
from ...modes import GradMode, grad_mode
from ...tensor import TensorRef, foreign
from ...annotations import Functions, Values

REDUCTIONS = ("none", "mean", "sum")


def constant(F: Functions, like: Values, array: np.ndarray) -> Values:
    """`array` as what `like` is: a buffer, or a tensor on its device that requires no gradient."""
    if not isinstance(like, TensorRef):
        return _beside(like, array)
    return F.wrap(_beside(like._data, array), kind(dtype_of(array), like._k.device))


def _beside(buffer: Any, array: np.ndarray) -> Any:
    return buffer.beside(array) if foreign(buffer) and array.__class__ is np.ndarray else array


def buffer(x: Values | tuple[int, ...]) -> Any:
    """The buffer of a tensor; buffers unchanged."""
    return x._data if isinstance(x, TensorRef) else x


def elements(x: Any) -> Any:
    """The elements of a tensor or buffer in one array, to be read; where they lie over a mesh, gathered."""
    data = buffer(x)
    return data.whole() if hasattr(data, "whole") else data


def plain(F: Functions, *tensors: TensorRef) -> bool:
    """Whether tensors are of one quiet kind in single or double precision, nothing is to be recorded, and nobody listens: then their
    arrays may be computed with at once."""
    k = tensors[0]._k
    if k not in F.namespace["Q_FLOAT"]:
        return False
    for t in tensors:
        if t._k is not k or t._node is not None and grad_mode() is GradMode.ENABLED:
            return False
    return True


def aligned(*arrays: np.ndarray, half: bool = False) -> tuple[np.ndarray, ...] | None:
    """Arrays, as a quick way gets them, of one floating dtype and shape in the order in which the first lies, which may be in rows or in
    columns; None where they are not such. `half`: also of half precision."""
    first = arrays[0]
    dtype, shape, strides, flags = first.dtype, first.shape, first.strides, first.flags
    if dtype.char not in ("fdeE" if half else "fd") or not shape or not first.size or not flags.forc:
        return None
    for a in arrays:
        if a.dtype is not dtype or a.shape != shape:
            return None
        if a.strides != strides:
            return in_order_of(first, *arrays)
    return arrays


def in_order_of(first: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Arrays of the shape of the first, which lies in rows or in columns, as they are or copied, so that they lie as it does."""
    return tuple([contiguous(a) if first.flags.c_contiguous else contiguous(a.T).T for a in arrays])


def arrays_only() -> Functions:
    """The operations on plain arrays, for a quick way made of several."""
    return executor_for(CPU).F


def size_text(x: Any) -> str:
    """A shape as torch prints it."""
    return f"torch.Size({list(x.shape)})"


def reduction_name(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The reduction, checked, after the retired `size_average` and `reduce`.

    >>> reduction_name("mean")
    'mean'
    """
    if size_average is not None or reduce is not None:
        averaged = size_average is None or size_average
        reduction = ("mean" if averaged else "sum") if reduce is None or reduce else "none"
        warned.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(F: Functions, loss: TensorRef, reduction: str) -> TensorRef:
    """The loss after its reduction."""
    if reduction == "mean":
        return F.mean(loss)
    return F.sum(loss) if reduction == "sum" else loss


def share_of(x: Any, other: Any, reduction: str, factor: float = 1.0, single: bool = False) -> float:
    """`factor` times what an element counts in a loss of two tensors, as the dtype of `x` holds it; with `single`, half precision is
    computed with in float32."""
    if reduction != "mean":
        return factor
    dtype = x._k.np if isinstance(x, TensorRef) else x.dtype
    shape = x.shape if x.shape == other.shape else broadcast_shape(tuple(x.shape), tuple(other.shape))
    share = factor / max(prod(shape), 1)
    return share if dtype.itemsize > 2 or single else float(np.asarray(share, np.float32).astype(dtype))


def sharded(call: Any) -> Any:
    """The sharding of a loss of elements, of which the last argument is its `reduction`."""
    if call["reduction"] == "none":
        return call.elementwise()
    name = call.rec.name
    return call.of(lambda F, reduction, **others: reduced(F, getattr(F, name)(*others.values(), "none"), reduction))


def check_fits(input: TensorRef, target: TensorRef) -> None:
    """Raises torch's error where a loss that it writes in the dtype of `input` has one, of both, that cannot be cast to it."""
    CASTS.check("", promote(input._k.dtype, target._k.dtype), input._k.dtype)


def weighed(F: Functions, loss: TensorRef, weight: TensorRef) -> TensorRef:
    """`loss` times `weight` in the shape and the dtype of `loss`, in whose memory torch multiplies."""
    result = loss * weight
    if result.dtype is not loss.dtype:
        CASTS.check("", result.dtype, loss.dtype)
        result = F.cast(result, loss.dtype)
    if tuple(result.shape) != tuple(loss.shape):
        raise ShapeMismatchError(f"output with shape {list(loss.shape)} doesn't match the broadcast shape {list(result.shape)}")
    return result


def warn_sizes(input: TensorRef, target: TensorRef) -> None:
    """torch's warning about losses whose arguments would be broadcast."""
    if tuple(input.shape) != tuple(target.shape):
        warned.warn(f"Using a target size ({size_text(target)}) that is different to the input size ({size_text(input)}). This will "
                    "likely "
                    "lead to incorrect results due to broadcasting. Please ensure they have the same size.")
