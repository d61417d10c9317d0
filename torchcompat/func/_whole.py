"""Between examples and whole batches: tensors with and without the dimensions that vmap levels hide.

A tangent of a forward level above a vmap level is an example like its primal; it follows when the primal's dimensions are shown or
hidden, so that what the tape records about whole batches has whole tangents.
"""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

from .._tensor import frontend
from ._batched import BatchedTensor, batched
from ._levels import Level, below, copy_tangents, set_tangent, tensors_in


def front(t: BatchedTensor) -> Any:
    """The whole of a BatchedTensor, with the examples along dimension 0."""
    value, bdim = t._value, t._bdim
    if not bdim:
        return value
    dims = list(range(value._data.ndim))
    dims.insert(0, dims.pop(bdim))
    result = frontend.permute(value, tuple(dims))
    for level, tangent in tangents_above(value, t._level):
        with below(t._level):
            set_tangent(result, level, frontend.permute(tangent, tuple(dims)))
    return result


def tangents_above(t: Any, level: Level) -> list[tuple[Level, Any]]:
    """(level, tangent) of a tensor at the active forward levels above `level`."""
    info = getattr(t, "_info", None)
    return [(f, x) for f, x in info["tangents"].items() if f.alive and x is not None and
            f.number > level.number] if info and "tangents" in info else []


def show(level: Level, t: Any) -> Any:
    """A tensor with the examples of a vmap level along dimension 0: what it hides there, or itself expanded."""
    above = tangents_above(t, level)
    with below(level):
        if isinstance(t, BatchedTensor) and t._level is level:
            result = front(t)
        elif isinstance(t, BatchedTensor) and t._level.number > level.number:
            result = batched(t._level, show(level, t._value), t._bdim + 1)
        else:
            shape = t._data.shape
            result = frontend.expand(frontend.unsqueeze(t, 0), (level.size, *shape))
    for f, tangent in above:
        set_tangent(result, f, show(level, tangent))
    return result


def hide(level: Level, t: Any, dim: int) -> BatchedTensor:
    """The example of a vmap level along dimension `dim` of `t`, which may itself be an example at levels above."""
    if not isinstance(t, BatchedTensor) or t._level.number < level.number:
        result = batched(level, t, dim)
    else:
        b = t._bdim
        at = dim if dim < b else dim + 1
        result = batched(t._level, hide(level, t._value, at), b - 1 if at < b else b)
    for f, tangent in tangents_above(t, level):
        set_tangent(result, f, hide(level, tangent, dim))
    return result


def levels_of(values: Any) -> list[Level]:
    """The active vmap levels that tensors among `values` take part in, themselves or by a tangent; outermost first."""
    found: set[Level] = set()
    stack = list(tensors_in(values))
    while stack:
        t = stack.pop()
        info = getattr(t, "_info", None)
        if info and "tangents" in info:
            stack += [x for level, x in info["tangents"].items() if level.alive and x is not None]
        if isinstance(t, BatchedTensor):
            found.add(t._level)
            stack.append(t._value)
    return sorted((level for level in found if level.alive), key=lambda level: level.number)


def physical(t: Any, levels: Sequence[Level]) -> Any:
    """A tensor with a leading dimension per vmap level of `levels` (outermost first)."""
    for level in reversed(levels):
        t = show(level, t)
    return t


def logical(t: Any, levels: Sequence[Level]) -> Any:
    """The example of a tensor with a leading dimension per vmap level: the inverse of `physical`."""
    for level in levels:
        t = hide(level, t, 0)
    return t


def shadow(t: Any, node: Any = None) -> Any:
    """Another tensor over the same memory, with the same tangents and version counter but another history."""
    if isinstance(t, BatchedTensor):
        s: Any = batched(t._level, shadow(t._value, node), t._bdim)
    else:
        if t._v is None:
            t._v = [0]
        s = frontend.wrap(t._data, t._k, node)
        s._v = t._v
    copy_tangents(t, s)
    return s
