"""Parts of a program by name, for those who look at a tape: blocks that the program names, and what else has names, such as modules.

Ids grow along a program, so a part of it is a range of ids: nothing is noted on operations, and nothing at all while no tape records.

>>> from autograd_tape import Tape, TensorRef
>>> x = TensorRef.of([1.0], requires_grad=True)
>>> with Tape() as tape:
...     with scope("double"):
...         y = x + x
...     z = y * y
>>> [node.scope for node in tape.to_graph().nodes]
[('double',), ()]
"""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dataclasses import dataclass

from .locks import fork_safe_lock
from .modes import active_tapes
from .tensor import next_id

if TYPE_CHECKING:
    from torchcompat.nn.modules.module import Module


@dataclass(eq=False, slots=True)
class Scope:
    """A part: its name, or what has one; the part around it; and the ids from its begin to its end, None while it is open."""

    what: Any
    around: Scope | None
    first: int
    last: int | None = None
    name: str = ""


class Scopes:
    """The parts of what a tape recorded."""

    def __init__(self) -> None:
        self.all: list[Scope] = []
        self.inner: Scope | None = None

    def enter(self, what: str | Module) -> None:
        """A part begins within those that are open."""
        self.inner = Scope(what, self.inner, next_id())
        self.all.append(self.inner)

    def leave(self, what: str | Module) -> None:
        """The innermost open part that is `what` ends, and what is open within; nothing does where none is (it began before the tape)."""
        found = self.inner
        while found is not None and found.what is not what:
            found = found.around
        while found is not None and self.inner is not found.around:
            assert self.inner is not None
            self.inner.last, self.inner = next_id(), self.inner.around

    def end(self) -> None:
        """All parts end."""
        while self.inner is not None:
            self.leave(self.inner.what)

    def paths(self, ids: Sequence[int]) -> list[tuple[str, ...]]:
        """The names of the parts that operations with these ids lie in, the outermost first. Parts of one name are numbered."""
        self._name()
        firsts = [scope.first for scope in self.all]
        found = []
        for id in ids:
            at = bisect_right(firsts, id)
            scope = self.all[at - 1] if at else None
            while scope is not None and scope.last is not None and scope.last < id:
                scope = scope.around
            path: list[str] = []
            while scope is not None:
                path.append(scope.name)
                scope = scope.around
            found.append(tuple(reversed(path)))
        return found

    def _name(self) -> None:
        taken: dict[tuple[int, str], int] = {}
        children: dict[int, dict[int, str]] = {}
        for scope in self.all:
            name = scope.what if isinstance(scope.what, str) else _name_of(scope, children)
            nr = taken[id(scope.around), name] = taken.get((id(scope.around), name), 0) + 1
            scope.name = name if nr == 1 else f"{name} #{nr}"


def _name_of(scope: Scope, known: dict[int, dict[int, str]]) -> str:
    """What a module is called in the one around it, and its class."""
    kind, outer = type(scope.what).__name__, scope.around
    while outer is not None:
        if hasattr(outer.what, "named_modules"):
            names = known.get(id(outer.what))
            if names is None:
                names = known[id(outer.what)] = {id(module): name for name, module in outer.what.named_modules()}
            if names.get(id(scope.what)):
                return f"{names[id(scope.what)]}: {kind}"
        outer = outer.around
    return kind


@contextlib.contextmanager
def scope(name: str) -> Iterator[None]:
    """A block whose operations stand together, under this name, in graphs and drawings of the tapes that record it."""
    tapes = active_tapes()
    what = str(name)
    for tape in tapes:
        tape.scopes.enter(what)
    try:
        yield
    finally:
        for tape in tapes:
            tape.scopes.leave(what)


# -- who else has names -----------------------------------------------------------------------------------------------

_recording = 0
_told: list[Callable[[bool], None]] = []
_lock = fork_safe_lock()


def tell_of_recording(told: Callable[[bool], None]) -> None:
    """`told(True)` is called when a first tape records, and `told(False)` when none does any more: names are wanted in between."""
    with _lock:
        _told.append(told)
        if _recording:
            told(True)


def count_recording(change: int) -> None:
    """A tape starts recording (1), or stops (-1)."""
    global _recording
    with _lock:
        before, _recording = _recording, _recording + change
        if not before or not _recording:
            for told in _told:
                told(bool(_recording))
