"""The tape: entries, tapes, and the thread's recording state.

An entry *is* the graph node. An output tensor holds its entry (`_node`); an entry holds the entries, or the leaf tensors,
of its inputs (`edges`). Ids come from one monotonic counter, so an entry's id is larger than those of all its inputs and
descending ids are a valid backward order: nothing has to be sorted, and nothing recurses.
"""

from __future__ import annotations

import builtins
import gc
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from dataclasses import dataclass, field, replace

from .annotations import Keywords
from .dtypes import FLOATING
from .calls import listen, unlisten
from .errors import ArgumentError, TapeNotRecordingError, UnknownEntryError, type_name
from .held import HOLDING, Held, Owner, made_by
from .lazy import OpSpec, follow, spec_of
from .manual import ManualEntry, OpKind
from .modes import (
    GradMode, Notes, _active, _mode, active_tapes, aside, grad_mode, no_grad, noting, recordings, set_grad_mode, unsettled, unwatch_calls,
    watch_calls,
)
from .node import Edge, AccumulateGrad, GradFn, TapeEntry, edge_of
from .scopes import Scopes, count_recording
from .tensor import LEAF, TapeId, TensorRef, above, next_id, watchers
from .views import IN_CUSTOM_FUNCTION, mark

if TYPE_CHECKING:
    from .graph import Graph
    from .show import Clock, Drawing, Summary
    from .backward import Gradients

__all__ = ["DefaultTape", "GradFn", "GradMode", "RecordingContext", "Tape", "TapeEntry", "TapeId", "aside", "clear_default_tape",
           "current_tape", "get_default_tape", "grad_mode", "no_grad", "set_default_tape", "set_grad_mode"]


# -- tapes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordingContext:
    """An open `with tape:`: what it restores at its end, and whose it is."""

    tape: Tape
    prev_tape: Tape | None
    was_recording: bool = False
    owner: Owner = field(default_factory=Owner.here)


_default: ContextVar[Tape | None] = ContextVar("autograd_tape.default_tape", default=None)
_blocks: ContextVar[tuple[RecordingContext, ...]] = ContextVar("autograd_tape.blocks", default=())


class Tape:
    """An explicit record of operations.

    `with tape:` records every operation inside that has an input requiring grad, and keeps inputs and outputs alive until
    `clear()`, or until `backward` without `retain_graph`. `record` adds an operation by hand. All operations, also those without
    gradient, are held (`autograd_tape.held`) for `to_graph`, which can replay them.

    A recording belongs to the thread that started it, and within asyncio to the task: their operations are recorded, and they alone may
    stop it. The same thread may enter a tape again while it records.

    Args:
        retain_graph: keep the entries after a backward pass.
        measure: time the operations, forward and backward, for `summary` and drawings; the entries are kept, too.

    >>> from autograd_tape import Tape, TensorRef, F
    >>> x = TensorRef.of([1.0, 2.0], requires_grad=True)
    >>> with Tape() as tape:
    ...     y = F.sum(x * x)
    >>> [entry.op_name for entry in tape.entries], tape.requires_grad(y)
    (['mul', 'sum'], True)
    """

    def __init__(self, *, retain_graph: bool = False, measure: bool = False) -> None:
        self.retain_graph = retain_graph or measure
        self.clock: Clock | None = above.show.Clock(self) if measure else None
        self._made: dict[int, TapeEntry] = {}
        self._made_by: dict[int, int] = {}
        self._owner: Owner | None = None
        self._held = Held()
        self._notes: Notes | None = None  # where the thread notes what it does
        self.noted: list[Any] = []
        self._to_hold: list[Any] = []
        self.scopes = Scopes()

    # recording

    def _own(self, what: str) -> Owner | None:
        """The owner of the recording, if there is one; TapeNotRecordingError where that is somebody else."""
        owner = self._owner
        if owner is not None and owner != (here := Owner.here()):
            if not owner.gone:
                raise TapeNotRecordingError(f"{what}: this tape records for another thread or task", expected=f"to be called by {owner}",
                                            found=str(here), remedy="make a tape for each thread and each task")
            self._release()
            owner = None
        return owner

    def _release(self) -> None:
        if self._owner is not None:
            self._owner = None
            if self._notes is not None:
                self._notes.hand_over()
                self._notes = None
            recordings.pop()
            watchers.pop()
            self.scopes.end()
            count_recording(-1)
            if self.clock is not None:
                self.clock.stop()
            unlisten(HOLDING, everything=False)
            unwatch_calls()

    def start_recording(self) -> None:
        """From now on the operations of this thread, or of this task of asyncio, are recorded here.

        Raises:
            TapeNotRecordingError: the tape records for another thread or task.
        """
        if self._own("start_recording()") is None:
            self._owner = Owner.here()
            _active.set((*_active.get(), self))
            recordings.append(None)
            watchers.append(None)
            count_recording(1)
            if self.clock is not None:
                self.clock.start()
            listen(HOLDING, everything=False)
            watch_calls()  # regular operations note theirs themselves
            unsettled.add(self)
            _note_anew()

    def stop_recording(self) -> None:
        """Stops recording; what was recorded stays.

        Raises:
            TapeNotRecordingError: the tape records for another thread or task, which alone may stop it.
        """
        if self._own("stop_recording()") is not None:
            _active.set(tuple([t for t in _active.get() if t is not self]))
            self._release()
            _note_anew()

    @property
    def is_recording(self) -> bool:
        """Whether the operations of this thread and task are being recorded."""
        owner = self._owner
        return owner is not None and owner == Owner.here()

    def clear(self) -> None:
        """Forgets all entries, and with them what they kept alive.

        Raises:
            TapeNotRecordingError: the tape records for another thread or task.
        """
        self._own("clear()")
        if self._notes is not None:
            self._notes.hand_over()
        self.noted.clear()
        self._to_hold.clear()
        for entry in self._made.values():
            self._let_go(entry)
        self._made.clear()
        self._made_by.clear()
        self._held.clear()
        self.scopes = Scopes()

    @staticmethod
    def _let_go(entry: TapeEntry) -> None:
        entry.holders -= 1
        if not entry.holders:
            # An entry and its output hold each other; without this they would wait for the garbage collector.
            entry.refs = (entry.refs[0], (), entry.refs[2]) if isinstance(entry, ManualEntry) else None

    def __del__(self) -> None:
        # What a forgotten tape held is nobody's any more.
        for entry in getattr(self, "_made", {}).values():
            self._let_go(entry)

    def __enter__(self) -> "Tape":
        was_recording = self._own("with tape") is not None
        _blocks.set((*_own_blocks(), RecordingContext(self, _default.get(), was_recording)))
        _default.set(self)
        self.start_recording()
        return self

    def __exit__(self, *exc: object) -> None:
        """Ends the block that was opened last on this tape. Blocks of several tapes may end in any order, as those of generators do."""
        self._own("leaving `with tape`")
        blocks = _own_blocks()
        at = next((i for i in reversed(range(len(blocks))) if blocks[i].tape is self), None)
        if at is None:
            raise TapeNotRecordingError("leaving `with tape`: no block of this tape is open here", expected="the thread and the task that "
                                        "opened it", found=str(Owner.here()), remedy="leave the block where it was opened")
        ended, later = blocks[at], blocks[at + 1:]
        if not later:
            _default.set(ended.prev_tape)
        elif later[0].prev_tape is self:  # what would be restored at the end of the next block is over
            later = replace(later[0], prev_tape=ended.prev_tape), *later[1:]
        _blocks.set((*blocks[:at], *later))
        if not ended.was_recording and self._owner is not None:
            self.stop_recording()

    def record(self, op: "str | OpSpec", inputs: Sequence[TensorRef] | None = None, output: TensorRef | None = None,
               grad_fn: GradFn | None = None, saved_tensors: Sequence[TensorRef] | None = None) -> TapeId:
        """Adds an operation that the caller carried out, or will, or leaves to the executor.

        Args:
            op: the operation's name, or an `OpSpec`, which knows its inputs and output.
            inputs: its input tensors.
            output: its output tensor. Data it does not have yet is computed when first needed.
            grad_fn: `grad_fn(grad_output, saved_tensors)` -> a gradient (or None) per input. The gradient function registered for
                the name, or the record's, where left out.
            saved_tensors: what `grad_fn` needs; the inputs where left out.

        Raises:
            TapeNotRecordingError: outside `with tape:` / `start_recording()`.
            ArgumentError: an input or the output is no TensorRef.

        >>> from autograd_tape import OpSpec, Tape, TensorRef, backward
        >>> x = TensorRef.of([1.0, 2.0], requires_grad=True)
        >>> with Tape() as tape:
        ...     y = OpSpec("mul", [x, x])
        ...     loss = OpSpec("sum", [y.output])
        ...     ids = tape.record(y), tape.record(loss)
        >>> backward(loss.output, tape)[x.id]
        array([2., 4.])
        """
        self._own("record()")
        if not self.is_recording:
            raise TapeNotRecordingError("The tape is not recording", expected="a recording tape", found="a stopped one",
                                        remedy="record inside `with tape:` or call tape.start_recording() first")

        if isinstance(op, OpSpec):
            inputs, output = op.inputs if inputs is None else inputs, op.output if output is None else output
            op = op.op
        if inputs is None or output is None:
            raise ArgumentError(f"record() needs the inputs and the output of '{op}'", expected="inputs and output",
                                found="no " + ("inputs" if inputs is None else "output"), remedy="pass both, or an OpSpec")
        if not isinstance(op, str) or not op:
            raise ArgumentError("record() takes the name of an operation", expected="a str, an OpKind or an OpSpec",
                                found="an empty one" if isinstance(op, str) else type_name(op),
                                remedy="pass record('name', inputs, output)")
        inputs = [inputs] if isinstance(inputs, TensorRef) else inputs
        saved_tensors = [saved_tensors] if isinstance(saved_tensors, TensorRef) else saved_tensors
        for given in (inputs, () if saved_tensors is None else saved_tensors):
            if not isinstance(given, (list, tuple)):
                raise ArgumentError("record() takes its tensors in a list", expected="a list of tensors, or one", found=type_name(given),
                                    remedy="pass [x, y]")
        saved = tuple(inputs if saved_tensors is None else saved_tensors)
        for position, ref in enumerate((*inputs, output, *saved)):
            if not isinstance(ref, TensorRef):
                raise ArgumentError(f"record() takes tensors, argument {position} is none", expected="TensorRef",
                                    found=type(ref).__name__, remedy="wrap arrays with TensorRef.of(array)")
            if ref is output and position < len(inputs):
                raise ArgumentError(f"The output of '{op}' is also its input {position}", expected="an output of its own",
                                    found="the same TensorRef", remedy="make a new TensorRef for the output")
        if grad_fn is not None and not callable(grad_fn):
            raise ArgumentError(f"The gradient function of '{op}' cannot be called", expected="a callable", found=type(grad_fn).__name__,
                                remedy="pass grad_fn(grad_output, saved_tensors)")
        inputs = tuple(inputs)
        spec = spec_of(output)
        arguments = {} if spec is None else spec.arguments
        if grad_mode() is not GradMode.ENABLED:  # it is held as an operation, and has no part in gradients
            ids = self.held.ids_of(inputs)
            return self.held.add(self, op, dict(arguments), ids, inputs, [output], {}, False, grad_mode()).entry.id
        entry = ManualEntry()
        # An entry in the place of another is of the same value: whatever was computed from it, and on whichever tape, finds it by that id.
        replaces = None if output.is_leaf else output.id
        same = replaces is not None and output._node._tag == 0 and all([x.is_leaf or x.id < replaces for x in inputs])
        entry.id = TapeId(output.id) if same else next_id()
        entry.op, entry.stands_for = OpKind(op), replaces
        entry.grad_fn = grad_fn
        entry.edges = tuple(edge_of(x) for x in inputs)
        entry.saved, entry.meta, entry.tape = saved, None, weakref.ref(self)
        if output._data is None:
            follow(output, inputs)
        else:
            entry.computed()
        if any(e is not None for e in entry.edges) and output._k.dtype.category >= FLOATING:
            if output._base is not None:
                mark(output, IN_CUSTOM_FUNCTION)  # an update of the base would pass by `grad_fn`
            output._node = entry
        self.add(entry, inputs, (output,), arguments)
        if not isinstance(self, DefaultTape):
            ids = self.held.ids_of(inputs)
            self.held.replace(output)
            self.held.add(self, op, dict(arguments), ids, inputs, [output], {}, False, grad_mode(), entry=entry)
        if replaces is not None:
            self._tensor_to_entry[replaces] = entry.id
        return entry.id

    # what was noted

    def settle(self) -> None:
        """Takes in the entries of the calls that were noted."""
        if self._notes is not None:
            self._notes.hand_over()
        noted, self.noted = self.noted, []
        self._to_hold += noted
        for note in noted:
            self.enter(note)
        if self._notes is None:
            unsettled.discard(self)

    def enter(self, note: list[Any]) -> None:
        """Takes in the entries of a call that was noted."""
        door, args, result, nodes, *whole = note
        if whole and whole[0] is not None:
            for part in whole[0]:
                self.enter(part)
            return
        outputs, nodes = ((result,), (nodes,)) if isinstance(result, TensorRef) else (tuple(result), nodes)
        entry = made_by(nodes)
        if entry is not None and not entry.blank and not any([o is a for o in outputs for a in args]):
            values, tensors = door.recorded(entry, args)
            self.add(entry, tuple(tensors), outputs, values, (None, tuple(
                [o.id if node.__class__ is int or node is LEAF else node.id for o, node in zip(outputs, nodes)])))

    @property
    def _entries(self) -> dict[int, TapeEntry]:
        if self.noted or self._notes:
            self.settle()
        return self._made

    @property
    def _tensor_to_entry(self) -> dict[int, int]:
        if self.noted or self._notes:
            self.settle()
        return self._made_by

    @property
    def held(self) -> Held:
        """All operations, so that they can run again (`autograd_tape.held`)."""
        if self.noted or self._notes:
            self.settle()
        if self._to_hold:
            notes, self._to_hold = self._to_hold, []
            self._held.take_in(self, notes)
        return self._held

    @held.setter
    def held(self, held: Held) -> None:
        self._held = held

    def add(self, entry: TapeEntry, inputs: tuple[TensorRef, ...], outputs: tuple[TensorRef, ...], arguments: Keywords,
            ids: tuple[tuple[int, ...] | None, tuple[int, ...] | None] = (None, None)) -> None:
        """Keeps an entry together with its tensors.

        `ids` are those of the values that came in and went out, where the tensors have others by now, or do not have them yet.
        """
        entry.refs = (inputs, outputs, arguments)
        entry.holders += 1
        # Ids as they are now: a later in-place operation gives a tensor another.
        came, went = ids
        entry.value_ids = (tuple(x.id for x in inputs) if came is None else came, tuple(o.id for o in outputs) if went is None else went)
        replaced = self._entries.get(entry.id)
        if replaced is not None:
            self._let_go(replaced)
        self._entries[entry.id] = entry
        for id in entry.value_ids[1]:
            self._tensor_to_entry[id] = entry.id

    def renew(self, entries: Mapping[TapeEntry, TapeEntry]) -> None:
        """Holds entries in the place of others, whose outputs are computed anew. What else was computed from those does not lead here."""
        mine = {old: new for old, new in entries.items() if self._entries.get(old.id) is old}
        for old, new in mine.items():
            old.holders, new.holders = old.holders - 1, new.holders + 1
            new.value_ids = old.value_ids[0], (new.id,)
            for id in old.value_ids[1]:
                self._tensor_to_entry.pop(id, None)
            self._tensor_to_entry[new.id] = new.id
        now = [mine.get(entry, entry) for entry in self._entries.values()]
        self._made = {entry.id: entry for entry in now}
        self.held.renew(mine)

    # looking

    @property
    def entries(self) -> list[TapeEntry]:
        """The entries in the order they were recorded."""
        return list(self._entries.values())

    @property
    def tensor_to_entry(self) -> dict[int, int]:
        """From tensor id to entry id."""
        return dict(self._tensor_to_entry)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[TapeEntry]:
        return iter(self.entries)

    def get_entry(self, id: TapeId | int) -> TapeEntry:
        """The entry with this id.

        Raises:
            UnknownEntryError: the tape has none.
        """
        found = self._entries.get(id) or self.held.plain.get(id)
        if found is None:
            raise UnknownEntryError(f"The tape has no entry {id!r}", expected="the id of one of its entries", found=f"{id!r} among "
                                    f"{len(self._entries)}", remedy="look before the tape is cleared: a pass does that, too")
        return found

    def get_entry_for_tensor(self, ref: TensorRef) -> TapeEntry | None:
        """The entry on this tape that made `ref`, or None."""
        _checked(ref, "get_entry_for_tensor")
        return self.entry_behind(ref if ref.is_leaf else ref._node)

    def entry_behind(self, edge: Edge) -> TapeEntry | None:
        """The entry on this tape of the value of a leaf tensor, an entry, or an output of one; or None."""
        at = self._tensor_to_entry.get(edge.id)
        if at is None and edge.__class__ is ManualEntry:  # recorded on another tape
            at = self._tensor_to_entry.get(edge.stands_for or -1)
        return None if at is None else self._entries.get(at)

    def requires_grad(self, ref: TensorRef) -> bool:
        """Whether gradients flow to `ref`."""
        return _checked(ref, "requires_grad").requires_grad

    def get_creator(self, ref: TensorRef) -> TapeEntry | None:
        """The operation that made `ref`, or None for a leaf."""
        return self.get_entry_for_tensor(ref)

    def get_dependencies(self, ref: TensorRef) -> list[TensorRef]:
        """All tensors that `ref` was computed from, nearest first."""
        entry = self.get_entry_for_tensor(_checked(ref, "get_dependencies"))
        found: dict[int, TensorRef] = {}
        waiting = [] if entry is None else [entry]
        queued = set(waiting)
        for at in waiting:
            for source, behind in self._sources(at):
                if isinstance(source, TensorRef):
                    found.setdefault(builtins.id(source), source)
                if behind is not None and behind not in queued:
                    queued.add(behind)
                    waiting.append(behind)
        return [x for x in found.values() if x is not ref]

    def _sources(self, entry: TapeEntry) -> list[tuple[Any, TapeEntry | None]]:
        """The tensors that an entry's outputs were computed from, each with the entry of the value that it had then."""
        return [(x, self._entries.get(self._tensor_to_entry.get(id, -1))) for x, id in zip(entry.refs[0], entry.value_ids[0])]

    def to_graph(self, outputs: TensorRef | Sequence[TensorRef] | None = None) -> "Graph":
        """This tape as an IR graph: values, nodes, DOT and JSON export, replay (see `autograd_tape.graph`)."""
        graph: Graph = above.graph_of(self, outputs)
        return graph

    # for people

    def draw(self, file: Any = None, outputs: TensorRef | Sequence[TensorRef] | None = None, *,
             grads: Gradients | None = None) -> "Drawing":
        """`to_graph(outputs)` as a picture; see `Graph.draw`."""
        return self.to_graph(outputs).draw(file, grads=grads)

    def summary(self) -> "Summary":
        """All operations as a table: output, saved bytes, and the times if they are measured."""
        found: Summary = above.show.summary(self)
        return found

    def __repr__(self) -> str:
        text: str = above.show.tape_text(self)
        return text

    def _repr_html_(self) -> str:
        text: str = above.show.tape_html(self)
        return text


class DefaultTape(Tape):
    """A thread's own tape, always recording. It holds its entries weakly: a graph lives as long as its outputs, and an intermediate tensor
    as long as somebody else holds it."""

    cleared = 0  # ids up to this were cleared

    def start_recording(self) -> None:
        """Recording resumes (see `stop_recording`)."""
        _mode.set(GradMode.ENABLED)

    def stop_recording(self) -> None:
        """Stops recording on this thread: the same as grad mode disabled."""
        _mode.set(GradMode.DISABLED)

    @property
    def is_recording(self) -> bool:
        """Whether this thread records."""
        return grad_mode() is GradMode.ENABLED

    def add(self, entry: TapeEntry, inputs: tuple[TensorRef, ...], outputs: tuple[TensorRef, ...], arguments: Keywords,
            ids: tuple[tuple[int, ...] | None, tuple[int, ...] | None] = (None, None)) -> None:
        """Nothing to keep: the outputs hold the entry."""
        if isinstance(entry, ManualEntry):
            # What was recorded by hand may have no data yet when backward runs; it needs its inputs to compute them.
            entry.refs = (inputs, (), arguments)

    @property
    def entries(self) -> list[TapeEntry]:
        """The live entries since the last `clear`, by id. A query for people: it walks all objects of the process, and finds the entries of
        all its threads, since entries do not say whose they are."""
        # type(), for isinstance would ask a weak proxy for the class of its dead referent.
        return sorted((o for o in gc.get_objects() if issubclass(type(o), TapeEntry) and hasattr(o, "id") and o.id > self.cleared),
                      key=lambda entry: entry.id)

    @property
    def tensor_to_entry(self) -> dict[int, int]:
        """From the id of each output of a live entry to the entry's."""
        return {output: entry.id for entry in self.entries if not isinstance(entry, AccumulateGrad)
                for output in range(entry.id - max(entry.n_outputs, 1) + 1, entry.id + 1)}

    def clear(self) -> None:
        """Forgets the entries up to now: queries pass them by, and a backward pass that starts at one of their outputs raises."""
        self.cleared = next_id()

    def get_entry(self, id: TapeId | int) -> TapeEntry:
        """The live entry with this id.

        Raises:
            UnknownEntryError: there is none.
        """
        for entry in self.entries:
            if entry.id == id:
                return entry
        raise UnknownEntryError(f"There is no live entry {id!r}", expected="the id of an entry whose output lives", found=repr(id),
                                remedy="keep the output: the default tape holds entries only as long as that lives")

    def get_entry_for_tensor(self, ref: TensorRef) -> TapeEntry | None:
        """The entry that made `ref`, or None."""
        entry = _checked(ref, "get_entry_for_tensor").creator
        return None if entry is None or entry.id <= self.cleared else entry

    def _sources(self, entry: TapeEntry) -> list[tuple[Any, TapeEntry | None]]:
        """Leaves, and intermediate tensors that live; None in the place of others, behind whose entries the query goes on."""
        found: list[tuple[Any, TapeEntry | None]] = []
        for edge in entry.edges:
            if edge is None or edge._tag == 1:
                found.append((edge, None))
                continue
            behind = edge.entry if edge._tag == 2 else edge
            live = [o for o in gc.get_referrers(edge) if issubclass(type(o), TensorRef) and o._node is edge]
            found.append((live[0] if live else None, behind if behind.id > self.cleared else None))
        return found


def _checked(ref: TensorRef, query: str) -> TensorRef:
    if not isinstance(ref, TensorRef):
        raise ArgumentError(f"{query}() takes a tensor", expected="TensorRef", found=type_name(ref),
                            remedy="pass the tensor, not its data or id")
    return ref


def _note_anew() -> None:
    """This thread notes its calls for the tapes that record it, from now on. Those for which a call runs that is held whole keep their
    notes: what others record meanwhile is part of it."""
    notes, around = noting.calls, None
    if notes is not None:
        notes.hand_over()
        around = notes if notes.at >= 0 else notes.around
        for tape in notes.tapes if notes is not around else ():
            tape._notes = None
    others: Notes | None = around
    tapes = active_tapes()
    while others is not None:
        tapes, others = tuple([tape for tape in tapes if tape not in others.tapes]), others.around
    by_thread = tapes and all([tape._owner is not None and tape._owner.task is None for tape in tapes])
    noting.calls = notes = Notes(tapes, around) if by_thread else around  # tasks take turns on a thread
    if by_thread:
        for tape in tapes:
            tape._notes = notes


def _own_blocks() -> tuple[RecordingContext, ...]:
    """The open blocks of this thread and task. A task of asyncio starts with those of who started it, which are closed for it here."""
    blocks = _blocks.get()
    if blocks and blocks[0].owner != (here := Owner.here()):
        _default.set(blocks[0].prev_tape)
        blocks = tuple([b for b in blocks if b.owner == here])
        _blocks.set(blocks)
    return blocks


def current_tape() -> Tape | None:
    """The tape that this thread's operations are recorded on by name: that of the innermost `with tape:`, or what was set; None where there
    is only the thread's own, which `get_default_tape` makes.

    >>> with Tape() as tape:
    ...     current_tape() is tape
    True
    """
    _own_blocks()
    found = _default.get()
    return None if isinstance(found, DefaultTape) else found


def get_default_tape() -> Tape:
    """This thread's tape: the innermost `with tape:`, or the one set, or a weak one made on first use."""
    _own_blocks()
    found = _default.get()
    if found is None:
        found = DefaultTape()
        _default.set(found)
    return found


def set_default_tape(tape: Tape) -> None:
    """Makes `tape` this thread's default tape; it records if it is recording."""
    if not isinstance(tape, Tape):
        raise ArgumentError("set_default_tape() takes a Tape", expected="Tape", found=type(tape).__name__, remedy="pass Tape()")
    _own_blocks()
    _default.set(tape)


def clear_default_tape() -> None:
    """Forgets this thread's default tape; the next use makes a new one."""
    _own_blocks()
    _default.set(None)


WEAK_TAPE = DefaultTape()
"""For backward passes that are nobody's business but their own: they clear no tape of the caller's."""
