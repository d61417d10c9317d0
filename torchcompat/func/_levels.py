"""The stack of active transforms.

Each `vmap`, `jvp` or `forward_ad.dual_level` that is being carried out is a `Level`; those entered later lie higher. A tensor takes
part in a vmap level by being a `BatchedTensor` of it, in a forward level by having a tangent there. An operation on examples is
carried out on whole batches first, level by level, whatever else there is: tangents are examples like their primals, so that those of
a batch are whole batches too, and a BatchedTensor has no tangents but those of its batch. An operation on tensors with tangents is
carried out without them, and then on them, the innermost level first; meanwhile tangents of that level and those above are not
looked at (`ceiling`). Reverse mode needs no tensors of its own: `grad` marks where its inputs begin on the tape, see `_pull`.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any
from collections.abc import Iterator

from autograd_tape.calls import listen, unlisten
from autograd_tape.indices import Indices
from autograd_tape.tensor import TensorRef

from .._calls.above import above
from ..autograd.engine import run_on_tensors

VMAP, FORWARD, REVERSE, FUNCTIONAL = "vmap", "jvp", "grad", "functionalize"
_NO_CEILING = 1 << 30


class Level:
    """One transform being carried out.

    Attributes:
        kind: VMAP, FORWARD, REVERSE or FUNCTIONAL.
        number: its place in the stack, from 1.
        alive: whether it is still being carried out.
        size: of a vmap, how many examples there are.
        randomness: of a vmap, "error", "same" or "different"; of functionalize, what it removes.
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
            listen(above.transform)
            if self.kind is FORWARD:
                run_on_tensors(1)
        return self

    def leave(self) -> None:
        """Takes the level off the stack; tangents of it are forgotten."""
        state.stack = tuple([level for level in state.stack if level is not self])
        self.alive = False
        if self.kind is not REVERSE:
            unlisten(above.transform)
            if self.kind is FORWARD:
                run_on_tensors(-1)
        for ref in self.duals:
            t = ref()
            if t is not None:
                (t._info.tangents or {}).pop(self, None)
        self.duals.clear()

    __enter__ = enter

    def __exit__(self, *exc: object) -> None:
        self.leave()


class _State(threading.local):
    stack: tuple[Level, ...] = ()
    ceiling = _NO_CEILING


state = _State()


def change_levels(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    """Puts a stack in the place of this thread's, and gives what was there."""
    before, state.stack = state.stack, levels
    return before


above.change_levels = change_levels


class below:
    """A block in which tangents of `level`, and of those above it, are not looked at; of none where it is None."""

    __slots__ = ("number", "before")

    def __init__(self, level: Level | None) -> None:
        self.number = 0 if level is None else level.number

    def __enter__(self) -> None:
        self.before, state.ceiling = state.ceiling, min(self.number, state.ceiling)

    def __exit__(self, *exc: object) -> None:
        state.ceiling = self.before


def transforming() -> bool:
    """Whether any transform is being carried out on this thread."""
    return bool(state.stack)


DUAL = "dual"
"""What a forward level is that `dual_level` entered, which is no function transform."""


def transforming_functions() -> bool:
    """Whether a function is being transformed on this thread."""
    return any([level.kind is not FUNCTIONAL and level.randomness is not DUAL for level in state.stack])


def vmap_levels() -> list[Level]:
    """The active vmap levels below the ceiling, outermost first."""
    return [level for level in state.stack if level.kind is VMAP and level.number < state.ceiling]


def tensors_in(value: object) -> Iterator[Any]:
    """The tensors an argument holds: itself, those of a list, or those that index arrays came from."""
    if isinstance(value, TensorRef):
        yield value
    elif isinstance(value, (tuple, list)):
        for x in value:
            yield from tensors_in(x)
    elif isinstance(value, Indices):
        for x, _ in value.sources:
            yield x
