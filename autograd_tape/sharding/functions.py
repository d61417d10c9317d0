"""Putting tensors on meshes, taking them off, and moving them there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..annotations import Functions, Values
from ..dtypes import CPU
from ..errors import ArgumentError, type_name
from ..ops._host import on_host
from ..record import op
from ..tensor import TensorRef
from .array import ShardedArray, gathered, placed
from .mesh import Mesh, Sharding, needs_reshard
from .rules import Plan

if TYPE_CHECKING:
    import numpy as np


def _moved(array: np.ndarray | ShardedArray, sharding: Sharding | None) -> Any:
    return gathered(array) if sharding is None else placed(array, sharding)


@op("reshard(Tensor input, Any sharding) -> Tensor", family="generic", promotion="none", namespace="_internal", method=False, out=False,
    quiet="all")
class reshard_op:
    """The same values, lying as `sharding` says; a plain tensor where that is None. The gradient is the same values, too: where it is
    accumulated it is moved to where the input lies, so that a sum is spread and a gathering summed."""

    any_dtype = True
    numpy = _moved
    compose = on_host(_moved)
    jvp = "linear"

    def place(values: Any) -> Any:
        if values["sharding"] is not None:
            return values["sharding"].mesh.device
        here = values["input"]._k.device
        return CPU if here.type == "mesh" else here

    def batch(F: Functions, call: Any) -> Any:
        """The examples are whole, or lie, as each of them does."""
        at = call.sharding
        return call(sharding=None if at is None else Sharding(at.mesh, [(), *at.dims], at.partial_sum_axes))

    def sharding(call: Any) -> Any:
        return Plan(run=lambda values: _moved(values["input"], values["sharding"]))

    def vjp(F: Functions, grad: Values) -> Values:
        return grad

    def samples(rng: Any) -> Any:
        yield rng.standard_normal((2, 3)), None


def _tensor(value: Any, what: str) -> TensorRef:
    if isinstance(value, TensorRef):
        return value
    if isinstance(value, ShardedArray):
        return TensorRef._front_end.wrap(value)
    try:
        return TensorRef.of(value)
    except (TypeError, ValueError, ArgumentError):
        raise ArgumentError(f"{what}() takes a tensor", expected="a tensor or an array", found=type_name(value),
                            remedy="pass a tensor") from None


def moved(t: TensorRef, sharding: Sharding | None) -> TensorRef:
    """A tensor that lies as `sharding` says, on no mesh where that is None: itself where it does."""
    return t._front_end.function("reshard")(t, sharding) if needs_reshard(sharding_of(t), sharding) else t


def shard(t: Values, mesh: Mesh, dims: Iterable[str | tuple[str, ...] | None], partial_sum_axes: Iterable[str] = ()) -> TensorRef:
    """A tensor over a mesh.

    Args:
        t: a tensor, or an array: the whole, of which each process has the same.
        dims: for each dimension the axis of the mesh that splits it, a tuple of axes, the first the outermost, or None.
        partial_sum_axes: axes over which devices are to hold parts of a sum: the first has the value, others zeros.

    Returns:
        A tensor of the same values. One that requires grad passes it on to `t`; a leaf of its own is `shard(t.detach(), ...)` with
        `requires_grad` set.

    Raises:
        ArgumentError: axes that the mesh has not, or twice.
        ShapeMismatchError: not one entry for each dimension.

    >>> import numpy as np
    >>> from autograd_tape.sharding import Mesh, gather, shard
    >>> mesh = Mesh({"data": 2})
    >>> x = shard(np.arange(4.0), mesh, ("data",))
    >>> x.sharding, gather(x * x)
    (Sharding(data over data=2), TensorRef([0., 1., 4., 9.], dtype=float64))
    """
    return reshard(t, Sharding(mesh, dims, partial_sum_axes))


def reshard(t: Values, sharding: Sharding) -> TensorRef:
    """The tensor sharded as `sharding`, by the cheapest chain of slice, all_gather, all_to_all, reduce_scatter and all_reduce (`chain`).

    Raises:
        ShapeMismatchError: the sharding is of another number of dimensions.
        AutogradError: it is over another mesh.
    """
    if not isinstance(sharding, Sharding):
        raise ArgumentError("reshard() takes a sharding", expected="Sharding", found=type_name(sharding),
                            remedy="pass Sharding(mesh, (...))")
    t = _tensor(t, "reshard")
    sharding.check(t.shape)
    if t._k.device.type == "meta" and sharding.mesh.carrier.empty:  # whose parts have no elements either
        return t._front_end.wrap(placed(t._data, sharding))
    return moved(t, sharding)


def gather(t: TensorRef) -> TensorRef:
    """The whole as a plain tensor, in every process; a tensor on no mesh as it is."""
    return moved(_tensor(t, "gather"), None)


def all_reduce(t: Any, axes: Iterable[str] | None = None) -> Any:
    """The tensor with its partial sums added, over all axes of them or over some; one without partial sums as it is."""
    t = _tensor(t, "all_reduce")
    at = sharding_of(t)
    if at is None or not at.partial_sum_axes:
        return t
    gone = at.partial_sum_axes if axes is None else at.partial_sum_axes.intersection(axes)
    return reshard(t, Sharding(at.mesh, at.dims, at.partial_sum_axes - gone))


def constrain(t: TensorRef, sharding: Sharding) -> TensorRef:
    """The tensor, moved to lie as `sharding` says; so is its gradient. For use within a program, to say where to communicate: gathering
    parameters of a fully sharded model just before their use, say."""
    return reshard(t, sharding)


def sharding_of(t: Values) -> Sharding | None:
    """How a tensor lies, None where it is on no mesh."""
    data = t._data if isinstance(t, TensorRef) else t
    return data.sharding if isinstance(data, ShardedArray) else None


__all__ = ["all_reduce", "constrain", "gather", "needs_reshard", "reshard", "shard", "sharding_of"]
