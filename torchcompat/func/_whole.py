"""Tangents, and the way between examples and whole batches: tensors with and without the dimensions that vmap levels hide."""

from __future__ import annotations

import weakref
from typing import Any
from collections.abc import Sequence

from autograd_tape.dtypes import kind
from autograd_tape.tensor import NOTHING, table_of
from autograd_tape.version import Version

from .._memory.bits import Bits
from .._memory.layout import layout
from .._tensor import carries_out, frontend
from ._batched import BatchedTensor, batched
from ._levels import Level, below, state, tensors_in
from torchcompat._tensor import Tensor
from autograd_tape.node import TapeEntry

# -- tangents ---------------------------------------------------------------------------------------------------------------


def _table(t: Any) -> dict[Level, Tensor]:
    return getattr(t, "_info", NOTHING).tangents or {}


def tangents_of(t: Tensor) -> dict[Level, Tensor]:
    """The tangents of a tensor that is no example, by active forward level. A view of a base that got one later has the same view
    of it."""
    own, base = _table(t), t._base
    if not own and base is None:
        return own
    if base is not None:
        for level, tangent in _table(base).items():
            if level not in own and level.alive and tangent is not None and base._k.dtype is t._k.dtype:
                with below(level):
                    set_tangent(t, level, same_view(t, base, tangent))
        own = _table(t)
    return {level: x for level, x in own.items() if x is not None and level.alive}


def tangent_of(t: Tensor, level: Level) -> Tensor | None:
    """The tangent of a tensor at a level, or None; that of an example is the example of the batch's."""
    if isinstance(t, BatchedTensor):
        whole = tangent_of(t._value, level)
        return None if whole is None else hide(t._level, whole, t._bdim)
    return tangents_of(t).get(level)


def has_tangents(value: object) -> bool:
    """Whether a tensor among arguments, or the batch that it is an example of, has tangents that are looked at now."""
    return any([level.number < state.ceiling for t in tensors_in(value) for level in tangents_of(innermost(t))])


def set_tangent(t: Tensor, level: Level, tangent: Tensor | None) -> None:
    """Gives a tensor a tangent; None says that it has none, whatever its base has."""
    if isinstance(t, BatchedTensor):
        if tangent is not None:
            tangent = show(t._level, tangent)
            if t._bdim:
                dims = list(range(1, tangent._data.ndim))
                dims.insert(t._bdim, 0)
                tangent = frontend.permute(tangent, tuple(dims))
        set_tangent(t._value, level, tangent)
        return
    table = table_of(t, "tangents")
    if level not in table:
        level.duals.append(weakref.ref(t))
    table[level] = tangent


def same_view(view: Any, base: Any, tangent: Any) -> Tensor:
    """The view of `tangent` that `view` is of `base`, whose layout the tangent has."""
    return frontend.as_strided(tangent, tuple(view.shape), tuple(view.stride()), view.storage_offset() - base.storage_offset()
                               + tangent.storage_offset())


# -- whole batches ------------------------------------------------------------------------------------------------------------


def front(t: BatchedTensor) -> Tensor:
    """The batch that an example is of, with the examples along dimension 0."""
    value, bdim = t._value, t._bdim
    if not bdim:
        return value
    dims = list(range(value._data.ndim))
    dims.insert(0, dims.pop(bdim))
    return frontend.permute(value, tuple(dims))


def show(level: Level, t: Any) -> Tensor:
    """A tensor with the examples of a vmap level along dimension 0: the batch it is an example of, or itself expanded."""
    if isinstance(t, BatchedTensor):
        if t._level is level:
            return front(t)
        if t._level.number > level.number:
            return batched(t._level, show(level, t._value), t._bdim + 1)
    tangents = {f: tangent_of(t, f) for f in tangents_of(innermost(t))}
    shape = t._data.shape
    with below(None):
        result = frontend.expand(frontend.unsqueeze(t, 0), (level.size, *shape))
    for f, tangent in tangents.items():
        set_tangent(result, f, show(level, tangent))
    return result


def hide(level: Level, t: Tensor, dim: int) -> BatchedTensor:
    """The example of a vmap level along dimension `dim` of `t`, which may itself be an example at levels above."""
    if not isinstance(t, BatchedTensor) or t._level.number < level.number:
        return batched(level, t, dim)
    b = t._bdim
    at = dim if dim < b else dim + 1
    return batched(t._level, hide(level, t._value, at), b - 1 if at < b else b)


def innermost(t: Tensor) -> Tensor:
    """The batch of batches that an example is of."""
    while isinstance(t, BatchedTensor):
        t = t._value
    return t


def levels_of(values: Any) -> set[Level]:
    """The active vmap levels that tensors among `values` take part in, themselves or by a tangent."""
    found: set[Level] = set()
    stack = list(tensors_in(values))
    while stack:
        t = stack.pop()
        if isinstance(t, BatchedTensor):
            found.add(t._level)
            stack.append(t._value)
        else:
            stack += tangents_of(t).values()
    return found


def physical(t: Tensor, levels: Sequence[Level]) -> Tensor:
    """A tensor with a leading dimension per vmap level of `levels` (outermost first)."""
    for level in reversed(levels):
        t = show(level, t)
    return t


def logical(t: Tensor, levels: Sequence[Level]) -> Tensor:
    """The example of a tensor with a leading dimension per vmap level: the inverse of `physical`."""
    for level in levels:
        t = hide(level, t, 0)
    return t


def made_like(model: Tensor, t: Tensor) -> Tensor:
    """A fresh tensor for each example of the vmap levels that `model` is an example of."""
    levels: list[Level] = []
    inner = model
    while isinstance(inner, BatchedTensor):
        levels.insert(0, inner._level)
        inner = inner._value
    with below(None):
        whole, like = physical(t, levels), physical(model.detach(), levels)
        if whole._data.shape == like._data.shape and not like._data.flags.c_contiguous:
            return logical(frontend.empty_like(like, dtype=t.dtype, device=t.device).copy_(whole), levels)
        return logical(frontend.clone(whole), levels)


def shadow(t: Tensor, node: TapeEntry | None = None) -> Tensor:
    """Another tensor over the same memory, with the same tangents and version counter but another history."""
    if isinstance(t, BatchedTensor):
        return batched(t._level, shadow(t._value, node), t._bdim)
    if hasattr(t, "_shadow"):
        return t._shadow(node)
    if t._k.special is not None and carries_out(type(t)):  # an instance of the class, with all that it holds
        s = frontend.bare(t)
        s._node = node
    else:
        s = frontend.wrap(t._data, t._k, node)
    if t._k.special.__class__ in (Bits, layout):  # what its memory is to be read as
        s._k = kind(t._k.dtype, t._k.device, t._k.special, s._k.inference)
    s._v = Version.of(t)
    for level, tangent in tangents_of(t).items():
        set_tangent(s, level, tangent)
    return s
