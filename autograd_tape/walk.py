"""What a backward pass goes through under an explicit tape.

Entries hold their inputs' entries, so a pass could walk on without any tape. Where a tape is named it decides: what is not on it is
refused, what it has recorded by hand in the place of something else is taken, and what other tapes hold is left whole.
"""

from __future__ import annotations

from typing import Any
from collections.abc import Iterable, Sequence

from .annotations import Functions
from .errors import ArgumentError, NoGradError
from .modes import settle_tapes
from .node import Edge, Origin, OutputEdge, TapeEntry, freed
from .tape import WEAK_TAPE, DefaultTape, Tape, get_default_tape
from .tensor import TapeId, TensorRef


class StandIn(TapeEntry):
    """An entry as one tape sees it: the inputs are those that the tape recorded."""

    __slots__ = ("entry",)
    entry: TapeEntry
    frees = False

    def __init__(self, entry: TapeEntry, id: int) -> None:
        self.entry, self.id, self.edges, self.saved, self.meta = entry, TapeId(id), (), (), entry.meta
        self.n_outputs, self.hooks, self.takes_undefined = entry.n_outputs, entry.hooks, entry.takes_undefined

    def raw(self, grad: Any, F: Functions) -> Sequence[Any]:
        """As the entry does it."""
        return self.entry.raw(grad, F)

    def recorded(self, grad: Any, F: Functions) -> Sequence[Any]:
        """As the entry does it."""
        return self.entry.recorded(grad, F)


class Walk:
    """The entries behind some tensors that a pass under a tape goes through.

    Args:
        tape: an explicit tape.
        outputs: where the pass starts.
        inputs: where it ends; all leaves where None.

    Attributes:
        entries: in the order of the pass.

    Raises:
        NoGradError: neither an output nor anything it was computed from is on the tape, or an entry on the way is on other tapes only.
        ArgumentError: what was recorded by hand is an input of itself.
    """

    def __init__(self, tape: Tape, outputs: Sequence[TensorRef], inputs: Sequence[TensorRef] | None = None) -> None:
        settle_tapes()
        self.tape = tape
        self.substituted = False
        self.stand_ins: dict[TapeEntry, StandIn] = {}
        self.ends = None if inputs is None else {edge.id for edge in map(_edge, inputs) if edge is not None}
        roots = [edge for edge in map(_edge, outputs) if edge is not None and edge._tag != 1]
        for edge in roots:
            if self._on_tape(edge) is None and not (self.ends and edge.id in self.ends):
                if self._entry(edge).holders:
                    raise self._missing(edge)
                found = self._order([edge])
                if not any([tape._entries.get(entry.id) is entry for entry in found]):
                    raise next((freed(entry) for entry in found if entry.saved is None and entry.frees), self._missing(edge))
        self.entries = self._order(roots)
        if self.substituted:
            at = 0
            for entry in reversed(self.entries):
                at += max(entry.n_outputs, 1)  # as the counter does it: a number for each output, the last of them the entry's own
                self.stand_ins[entry] = StandIn(entry, at)
            for entry, stand_in in self.stand_ins.items():
                stand_in.edges = tuple([self.edge(e) for e in entry.edges])

    # -- what the tape has ----------------------------------------------------------------------------------------

    def _on_tape(self, edge: Edge) -> TapeEntry | None:
        """The entry on the tape of the value behind an edge."""
        return self.tape.entry_behind(edge)

    def _entry(self, edge: Origin) -> TapeEntry:
        """What the pass comes to through an edge that leads to no leaf."""
        found = self._on_tape(edge)
        entry: TapeEntry = edge.entry if edge._tag == 2 else edge
        if found is None or found is entry:
            return entry
        self.substituted = True
        return found

    def edge(self, edge: Edge | None) -> Any:
        """An edge as the tape has it; None where the pass does not go."""
        if edge is None or edge._tag == 1 or not self.substituted:
            return edge
        entry = self._entry(edge)
        stand_in = self.stand_ins.get(entry)
        if stand_in is None:
            return edge if self.ends is not None and edge.id in self.ends else None
        if entry.n_outputs == 1:
            return stand_in
        return OutputEdge(stand_in, (getattr(edge, "stands_for", None) or edge.id) - entry.id + entry.n_outputs - 1)

    # -- the walk -------------------------------------------------------------------------------------------------

    def _order(self, roots: Sequence[Any]) -> list[TapeEntry]:
        """The entries, each after all that use it."""
        before: list[TapeEntry] = []
        state: dict[TapeEntry, int] = {}  # 1: being looked at, 2: done
        for root in roots:
            stack = [self._entry(root)]
            while stack:
                entry = stack[-1]
                if state.get(entry) is None:
                    state[entry] = 1
                    for edge in self._ways(entry):
                        behind = self._entry(edge)
                        if state.get(behind) == 1:  # one of those that led here
                            raise ArgumentError(f"'{behind.op_name}', recorded by hand, is computed from its own output",
                                                expected="inputs that do not depend on the output", found=f"tensor {edge.id} among them",
                                                remedy="record it with the inputs that the output was really computed from")
                        if state.get(behind) is None:
                            stack.append(behind)
                    continue
                stack.pop()
                if state[entry] == 1:
                    state[entry] = 2
                    before.append(entry)
        return before[::-1] if self.substituted else sorted(before, key=lambda entry: -entry.id)

    def _ways(self, entry: TapeEntry) -> Iterable[Any]:
        """The edges of an entry that the pass follows."""
        for edge in entry.edges:
            if edge is None or edge._tag == 1:
                continue
            behind = self._entry(edge)
            if self._on_tape(edge) is None and behind.holders:  # on other tapes only: theirs to walk
                if any([e is not None for e in behind.edges]) if self.ends is None else self._leads_to_end(behind):
                    raise self._missing(edge, entry)
                continue
            yield edge

    def _leads_to_end(self, entry: TapeEntry) -> bool:
        """Whether an input that the pass ends at lies behind an entry that it cannot go through."""
        ends, seen, stack = self.ends or (), {entry}, [entry]
        while stack:
            for edge in stack.pop().edges:
                if edge is None:
                    continue
                if edge.id in ends:
                    return True
                behind = None if edge._tag == 1 else edge.entry if edge._tag == 2 else edge
                if behind is not None and behind not in seen:
                    seen.add(behind)
                    stack.append(behind)
        return False

    def _missing(self, edge: Origin, user: TapeEntry | None = None) -> NoGradError:
        entry = edge.entry if edge._tag == 2 else edge
        what = f"Tensor {edge.id}, the output of '{entry.op_name}'" + (f" that '{user.op_name}' takes" if user is not None else "")
        return NoGradError(f"{what}, is not on this tape",
                           expected="what is differentiated, and all that it was computed from, on the tape",
                           found=f"a tape of {len(self.tape)} entries" + (", cleared or not used" if not len(self.tape) else "") + (
                               f", and the tensor on {entry.holders} other tapes" if entry.holders else ""),
                           remedy="pass the tape that recorded it, or none; or end at it with `inputs`")

    def free(self) -> None:
        """Lets go of what the entries saved, but where another tape holds them."""
        for entry in self.entries:
            if entry.saved and entry.frees and entry.holders <= (self.tape._entries.get(entry.id) is entry):
                entry.saved = None


def _edge(ref: TensorRef) -> Any:
    node = ref._node
    return None if node is None else ref if ref.is_leaf and not node.blank else node


def chosen(tape: Tape | None, outputs: Sequence[TensorRef]) -> Tape:
    """The tape of a pass: the one that was named, else the thread's, unless that is explicit and does not hold the outputs.

    Raises:
        ArgumentError: it is no tape.
    """
    if tape is None:
        found = get_default_tape()
        held = isinstance(found, DefaultTape) or all([o.is_leaf or found.get_entry_for_tensor(o) is not None for o in outputs])
        return _whole(found, outputs) if held else WEAK_TAPE
    if not isinstance(tape, Tape):
        raise ArgumentError("A backward pass takes a tape", expected="a Tape, or None", found=type(tape).__name__,
                            remedy="pass the tape that recorded the outputs")
    return _whole(tape, outputs)


def _whole(tape: Tape, outputs: Sequence[TensorRef]) -> Tape:
    """The tape itself.

    Raises:
        NoGradError: it is a default tape, and an output was made before it was cleared.
    """
    cleared = tape.cleared if isinstance(tape, DefaultTape) else 0
    for output in outputs if cleared else ():
        if not output.is_leaf and output.id <= cleared:
            raise NoGradError(f"Tensor {output.id} is not on this tape", expected="an output recorded since the tape was cleared",
                              found="one from before", remedy="compute it again, or clear the default tape after the backward pass")
    return tape
