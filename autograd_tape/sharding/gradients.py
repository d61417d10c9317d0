"""Gradients of sharded tensors: what the entries of operations on meshes do.

Their formulas run on tensors always, so that each of their operations goes by its own rule. Every gradient is moved before it is
accumulated (`accumulated`), so that what the engine adds lies alike.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..annotations import Fn, Functions
from ..dtypes import Device
from ..node import TapeEntry
from ..tensor import TensorRef, above
from .array import Collective, ShardedArray, cause, collectives, sharded
from .functions import moved, reshard_op, sharding_of
from .mesh import Sharding, mesh_of, replicated


def accumulated(cotangent: TensorRef, target: Sharding | None) -> TensorRef:
    """A cotangent as it is added to others of a tensor that lies as `target`: partial sums are added where the target has none, and stay
    where it has some; then it is split as that is. It becomes a plain tensor where that is None."""
    at = sharding_of(cotangent)
    if target is not None:
        waiting = at.partial_sum_axes.difference(target.split) if at is not None and target.partial_sum_axes else ()
        target = target.with_dims(target.dims, waiting)
    return moved(cotangent, target)


def whole_on(device: Device, array: np.ndarray) -> ShardedArray:
    """An array that every device of a mesh has whole."""
    return sharded(array, replicated(mesh_of(device), array.ndim))


def accumulated_buffer(cotangent: np.ndarray, ref: TensorRef) -> Any:
    """A cotangent, buffer or tensor, as it is added to others of a tensor."""
    target = sharding_of(ref)
    if target is None and sharding_of(cotangent) is None:
        return cotangent
    return accumulated(_wrapped(ref._front_end, cotangent), target)


def _wrapped(F: Functions, g: Any) -> Any:
    if g is None or isinstance(g, TensorRef):
        return g
    return F.wrap(g)


class _Sharded(TapeEntry):
    """What an entry has beside those of its operation.

    Attributes:
        targets: how the inputs lie, None for those on no mesh.
        seeds: how gradients of the outputs are to lie.
        moved: the collectives of the last pass through it.
    """

    __slots__ = ()
    targets: Sequence[Sharding | None]
    seeds: Sequence[Sharding | None]
    moved: Sequence[Collective]


def _waiting(t: TensorRef, at: Sharding) -> Sharding:
    """How the cotangents of a tensor are to lie: as it does; where it was but moved there, any sums in them wait, so that they are spread
    on the way back, not made everywhere."""
    if getattr(t._node, "op", None) is not reshard_op:
        return at
    return at.with_dims(at.dims, set(at.mesh.names).difference(at.split))


_classes: dict[type[TapeEntry], type[TapeEntry]] = {}


def sharded_class(plain: type[TapeEntry], inputs: Sequence[Any], outputs: Sequence[TensorRef]) -> Any:
    """What makes an entry of class `plain` for these inputs and outputs, None where none is on a mesh.

    Args:
        inputs: the differentiable inputs, None for numbers.
    """
    found = [sharding_of(t) if isinstance(t, TensorRef) else None for t in (*inputs, *outputs)]
    if not any([s is not None for s in found]):
        return None
    targets, seeds = [s and _waiting(t, s) for t, s in zip(inputs, found)], [s and s.summed for s in found[len(inputs):]]
    cls = _classes.get(plain)
    if cls is None:
        cls = _classes[plain] = type(plain.__name__, (plain,), {
            "__slots__": (), "__module__": plain.__module__, "recorded": _recorded(plain), "raw": _raw})

    def made() -> TapeEntry:
        entry = cls()
        entry.__dict__.update(targets=targets, seeds=seeds)
        return entry

    return made


def _recorded(plain: type[TapeEntry]) -> Fn:
    def recorded(self: Any, grad: Any, F: Functions) -> Any:
        several = isinstance(grad, (list, tuple))
        given = [g if g is None or sharding_of(g) is not None or s is None else moved(g, s)
                 for g, s in zip(grad if several else [grad], self.seeds)]
        with cause(f"gradient of {self.op_name}"), collectives() as self.moved:
            made = plain.recorded(self, given if several else given[0], F)
            return [None if g is None else accumulated(g, s) for g, s in zip(made, self.targets)]

    return recorded


def _raw(self: Any, grad: ShardedArray | np.ndarray | list[ShardedArray], F: Functions) -> list[ShardedArray | np.ndarray | None]:
    tensors = self.front_end
    grads = [_wrapped(tensors, g) for g in grad] if isinstance(grad, (list, tuple)) else _wrapped(tensors, grad)
    return [None if g is None else g._data for g in self.recorded(grads, tensors)]


above.sharded = sys.modules[__name__]
above.entry_classes.append(sharded_class)

__all__ = ["accumulated", "accumulated_buffer", "sharded_class", "whole_on"]
