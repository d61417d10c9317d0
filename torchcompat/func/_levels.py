"""The stack of active transforms, and the interceptor that sends operations through them.

Each `vmap`, `jvp` or `forward_ad.dual_level` that is being carried out is a `Level`; those entered later lie higher. A tensor takes
part in a vmap level by being a `BatchedTensor` of it, in a forward level by having a tangent there. An operation is handled by the
highest level any of its arguments takes part in, which carries it out as other operations on what lies below; tangents of levels
at or above the one at work are not looked at meanwhile (`ceiling`). Reverse mode needs no tensors of its own: `grad` marks where its
inputs begin on the tape, see `_pull`.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any
from collections.abc import Iterator

from autograd_tape.tape import enter_quiet_path, leave_quiet_path
from autograd_tape.tensor import TensorRef

from .._tensor import frontend

VMAP, FORWARD, REVERSE = "vmap", "jvp", "grad"
_NO_CEILING = 1 << 30


class Level:
    """One transform being carried out.

    Attributes:
        kind: VMAP, FORWARD or REVERSE.
        number: its place in the stack, from 1.
        alive: whether it is still being carried out.
        size: of a vmap, how many examples there are.
        randomness: of a vmap, "error", "same" or "different".
        duals: of a forward level, weak references to the tensors with a tangent there.
    """

    __slots__ = ("kind", "number", "alive", "size", "randomness", "duals")

    def __init__(self, kind: str, size: int = 0, randomness: str = "error") -> None:
        self.kind, self.size, self.randomness = kind, size, randomness
        self.number, self.alive = 0, False
        self.duals: list[weakref.ref[Any]] = []

    def enter(self) -> "Level":
        """Puts the level on top of the stack."""
        state.stack += (self,)
        self.number, self.alive = len(state.stack), True
        if self.kind is not REVERSE:
            leave_quiet_path()
        return self

    def leave(self) -> None:
        """Takes the level off the stack; tangents of it are forgotten."""
        state.stack = tuple([level for level in state.stack if level is not self])
        self.alive = False
        if self.kind is not REVERSE:
            enter_quiet_path()
        for ref in self.duals:
            t = ref()
            if t is not None:
                t._info.get("tangents", {}).pop(self, None)
        self.duals.clear()

    __enter__ = enter

    def __exit__(self, *exc: object) -> None:
        self.leave()


class _State(threading.local):
    stack: tuple[Level, ...] = ()
    ceiling = _NO_CEILING


state = _State()


class below:
    """A block in which tangents of `level`, and of those above it, are not looked at."""

    __slots__ = ("number", "before")

    def __init__(self, level: Level) -> None:
        self.number = level.number

    def __enter__(self) -> None:
        self.before, state.ceiling = state.ceiling, min(self.number, state.ceiling)

    def __exit__(self, *exc: object) -> None:
        state.ceiling = self.before


def transforming() -> bool:
    """Whether any transform is being carried out on this thread."""
    return bool(state.stack)


def vmap_levels() -> list[Level]:
    """The active vmap levels below the ceiling, outermost first."""
    return [level for level in state.stack if level.kind is VMAP and level.number < state.ceiling]


# -- tangents ---------------------------------------------------------------------------------------------------------------


def tangent_of(t: TensorRef, level: Level) -> Any:
    """The tangent of a tensor at a level, or None. A view of a base that got one later has the same view of it."""
    info = getattr(t, "_info", None)
    table = info.get("tangents") if info else None
    if table and level in table:
        return table[level]
    base = t._base
    if base is None:
        return None
    info = getattr(base, "_info", None)
    if not info or info.get("tangents", {}).get(level) is None or not level.alive or base._k.dtype is not t._k.dtype:
        return None
    with below(level):
        tangent = same_view(t, base, info["tangents"][level])
    set_tangent(t, level, tangent)
    return tangent


def same_view(view: Any, base: Any, tangent: Any) -> Any:
    """The view of `tangent` that `view` is of `base`, whose layout the tangent has."""
    return frontend.as_strided(tangent, tuple(view.shape), tuple(view.stride()), view.storage_offset() - base.storage_offset()
                               + tangent.storage_offset())


def set_tangent(t: Any, level: Level, tangent: Any) -> None:
    """Gives a tensor a tangent; None says that it has none, whatever its base has."""
    info = getattr(t, "_info", None)
    if info is None:
        t._info = info = {}
    table = info.setdefault("tangents", {})
    if level not in table:
        level.duals.append(weakref.ref(t))
    table[level] = tangent


def copy_tangents(source: Any, target: Any) -> None:
    """Gives `target` the tangents of another tensor over the same values."""
    info = getattr(source, "_info", None)
    for level, tangent in dict(info["tangents"]).items() if info and "tangents" in info else ():
        if level.alive and tangent is not None:
            set_tangent(target, level, tangent)


# -- finding the level at work ------------------------------------------------------------------------------------------------


def tensors_in(value: Any) -> Iterator[Any]:
    """The tensors an argument holds: itself, those of a list, or those that index arrays came from."""
    if isinstance(value, TensorRef):
        yield value
    elif isinstance(value, (tuple, list)):
        for x in value:
            yield from tensors_in(x)
    elif value.__class__.__name__ == "Indices":
        for x, _ in value.sources:
            yield x


def top_level(args: Any) -> Level | None:
    """The highest level that tensors among `args` take part in."""
    found: Level | None = None
    number, ceiling = 0, state.ceiling
    for t in tensors_in(args):
        if t.__class__ is BatchedTensor:
            level = t._level
            if not level.alive:
                raise RuntimeError("vmap: a tensor of a function that was mapped is used after the function returned; return it instead, "
                                   "so that vmap gives it back with the mapped dimension")
            if level.number > number:
                found, number = level, level.number
        for source in (t,) if t._base is None else (t, t._base):
            info = getattr(source, "_info", None)
            if info and "tangents" in info:
                for level, tangent in info["tangents"].items():
                    if number < level.number < ceiling and level.alive and tangent is not None and tangent_of(t, level) is not None:
                        found, number = level, level.number
    return found


def transform(fe: Any, general: Any, args: tuple[Any, ...], out: Any, inplace: bool) -> Any:
    """The interceptor: hands an operation to the level at work, NotImplemented where there is none."""
    if not state.stack or overrides.modes:
        return NotImplemented
    from . import _batching, _forward

    if general.rec.name in _batching.RANDOM:
        level = next((level for level in reversed(state.stack) if level.kind is VMAP and level.number < state.ceiling), None)
        if level is not None:
            return _batching.draw(level, general, args)
    level = top_level(args if out is None else (args, out))
    if level is None:
        return NotImplemented
    rec = general.rec
    if not inplace and rec.takes_inplace and args[rec.takes_inplace]:
        return NotImplemented
    redirect = rec.field("redirect")
    if redirect is not None and redirect(*args) is not None:
        return NotImplemented
    if level.kind is VMAP:
        return _batching.run(level, general, args, out, inplace)
    return _forward.run(level, general, args, out, inplace)


from ..overrides import _state as overrides  # noqa: E402  # these need the functions above
from ._batched import BatchedTensor  # noqa: E402

frontend.interceptors.insert(0, transform)

__all__ = ["FORWARD", "Level", "REVERSE", "VMAP", "below", "copy_tangents", "same_view", "set_tangent", "state", "tangent_of",
           "tensors_in", "top_level", "transform", "transforming", "vmap_levels"]
