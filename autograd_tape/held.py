"""Operations as an explicit tape holds them: all that ran while it recorded, so that they can run again.

Entries are the graph of gradients: they come from operations on tensors that require grad, one for each step that has a formula. What
is held here is the program: each call as it was made, differentiable or not, under `no_grad` or not, in place or not, with tensors
wherever they stood among its arguments. An operation that others carry out is held whole, so that it may look at values as it likes.

Values are told apart by the tensor object, not by its id: an object that is changed in place takes a new value, and keeps its id.
"""

from __future__ import annotations

import linecache
import os
import sys
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dataclasses import dataclass, replace
import numpy as np

from .annotations import Fn, Keywords
from .calls import Call, Door, Interceptor
from .dtypes import DType, Device
from .errors import AutogradError
from .indices import Indices
from .modes import GradMode, Notes, active_tapes, grad_mode, in_loop, noting
from .node import TapeEntry
from .tensor import LEAF, TensorRef, listeners, next_id

if TYPE_CHECKING:
    from .record import Record
    from .tape import Tape

@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a tensor among the arguments of an operation: its input with this number."""

    index: int


@dataclass(frozen=True, eq=False, slots=True)
class Operation:
    """A call that a tape holds.

    Attributes:
        entry: the entry of its gradient, or one without gradient that stands for the call.
        op: the record, or the name of an operation recorded by hand.
        arguments: by parameter name, without the tensors that stand where the schema says; `Slot`s stand for the others. Under "*"
            those by position where the schema does not name them.
        inputs, outputs: ids of values. Inputs that the call wrote to follow the tensors it returned.
        refs: their tensors.
        written: the numbers of the inputs that it wrote to.
        inplace: whether it is the variant with an underscore.
        mode: the grad mode under which it ran.
        reads, writes: the memory that its tensors lie in, and that of what it wrote to (see `memory_of`).
    """

    entry: TapeEntry
    op: Record | str
    arguments: dict[str, Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    refs: tuple[tuple[TensorRef, ...], tuple[TensorRef, ...]]
    written: tuple[int, ...]
    inplace: bool
    mode: Any
    reads: frozenset[int]
    writes: frozenset[int]

    @property
    def op_name(self) -> str:
        """The operation's name."""
        return self.op if isinstance(self.op, str) else self.op.name


@dataclass(frozen=True, slots=True)
class Read:
    """A number read out of a value: before which operation, from which sources it came, and where in the program."""

    before: int
    sources: frozenset[int]
    place: str


# -- whose a recording is -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a recording is: a thread, and the task of asyncio that runs on it, if one does."""

    thread: threading.Thread
    task: Any

    @classmethod
    def here(cls) -> Owner:
        """Who is running now."""
        if in_loop():
            return cls(threading.current_thread(), sys.modules["asyncio"].current_task())
        if _mine.owner is None:
            _mine.owner = cls(threading.current_thread(), None)
        return _mine.owner

    @property
    def gone(self) -> bool:
        """Whether it ended, and so can end its recording no more."""
        return not self.thread.is_alive() or self.task is not None and self.task.done()

    def __str__(self) -> str:
        return f"thread '{self.thread.name}'" + ("" if self.task is None else f", task '{self.task.get_name()}'")


class _Mine(threading.local):
    owner: Owner | None = None  # this thread, without a task


_mine = _Mine()


# -- memory -----------------------------------------------------------------------------------------------------------


def root_of(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory, or comes nearest to it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def memory_of(t: TensorRef) -> int:
    """What a tensor shares with its views: a number for its memory; for itself, where it has no data yet."""
    return id(t) if t._data is None else id(root_of(t._data))


class Copies:
    """Copies of memory, one of each piece, in which arrays that shared memory share it again."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def __contains__(self, memory: int) -> bool:
        return memory in self._made

    def keep(self, array: np.ndarray) -> None:
        """Copies the memory of `array` as it is now, unless that was done before."""
        root = root_of(array)
        if id(root) not in self._made:
            packed = root.flags.c_contiguous or root.flags.f_contiguous
            self._made[id(root)] = root, (root.ravel(order="K").view(np.uint8) if packed and root.size else root).copy()

    def of(self, array: np.ndarray) -> np.ndarray:
        """`array` over the copy of its memory; a copy of a buffer that is no NumPy array."""
        if not isinstance(array, np.ndarray):
            return array.copy()
        self.keep(array)
        root, copy = self._made[id(root_of(array))]
        if array is root or copy.dtype != np.uint8 or not root.size:
            if copy.shape == root.shape and copy.dtype == root.dtype:
                return copy if array is root else array.copy()
        offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        return np.ndarray(array.shape, array.dtype, copy, offset if array.size else 0, array.strides)


# -- one call ---------------------------------------------------------------------------------------------------------


class Given:
    """What a call that changes something was given: its arguments, its tensors and for each tape their ids, as it was called. They are
    looked up before anything is written to.

    Attributes:
        written: the memory that it writes to.
    """

    __slots__ = ("arguments", "inputs", "ids", "written")

    def __init__(self, notes: Notes, out: object = None) -> None:
        door, args = notes[notes.at][:2]
        given, named = door.spelled(args)
        self.arguments, self.inputs = take_apart(door.rec, given, named if out is None else named | {"out": out}, door.spreads)
        self.ids = [tape.held.ids_of(self.inputs) for tape in notes.tapes]
        self.written: dict[int, np.ndarray] = {}


def within() -> bool:
    """Whether what runs on this thread is part of a call that is held whole."""
    notes = noting.calls
    return notes is not None and notes.at >= 0


def _note_number(tensor: TensorRef, how: str) -> None:
    """A number of `tensor` is given to Python: tapes note it, unless it is read within an operation."""
    if not within():
        for tape in active_tapes():
            tape.held.left(tensor, how)


listeners.append(_note_number)


def note_write(target: TensorRef) -> None:
    """Called before the memory of `target` is written to."""
    notes = noting.calls
    while notes is not None:
        if notes.at >= 0 and target._data is not None:
            root = root_of(target._data)
            if notes.given is None:
                notes.given = Given(notes)
            notes.given.written[id(root)] = root
            for tape in notes.tapes:
                tape.held.before_write(target._data)
        notes = notes.around


def note_other_memory(target: TensorRef) -> None:
    """Called before a tensor takes other memory, or its own in another shape, and a history: its value keeps those that it had."""
    if noting.calls is not None:
        noting.calls.enter()
    for tape in active_tapes():
        held = tape.held
        (known,) = held.ids_of([target])
        held.buffers.setdefault(known, target._data)


def note_size() -> None:
    """Called where values decide the shape of a result."""
    notes = noting.calls
    while notes is not None:
        if notes.at >= 0:
            notes[notes.at][6] = True
        notes = notes.around


def settle() -> None:
    """Called before something changes that noted calls were made with: the tapes that record this thread take them in."""
    if noting.calls:
        for tape in noting.calls.tapes:
            tape.held  # noqa: B018  # which takes them in


def hold(door: Door, args: tuple[object, ...], function: Fn, given: Sequence[object], out: object = None, inplace: bool = False
         ) -> Any:
    """`function(*given)`, which carries out the call of an operation with `args`, held by the tapes that record as a whole: what it calls
    in turn is part of it.

    Args:
        out: what it writes its result to.
        inplace: it is the variant with an underscore.
    """
    notes = noting.calls
    if within():
        return function(*given)
    if notes is not None and not in_loop():
        return held_in(notes, door, args, function, given, door.at_once or inplace or out is not None, out, inplace)
    tapes = active_tapes()
    if not tapes:
        return function(*given)
    noting.calls = Notes(tapes)
    try:
        return held_in(noting.calls, door, args, function, given, True, out, inplace)
    finally:
        noting.calls = notes


def held_in(notes: Notes, door: Door, args: tuple[object, ...], function: Fn, given: Sequence[object], at_once: bool = False,
            out: object = None, inplace: bool = False) -> Any:
    """The same for the tapes that `notes` are for, none of whose calls runs; as a note where it need not be held `at_once`, nor writes."""
    args = as_it_is(args)
    notes.at = len(notes)
    notes.append(note := [door, args, None, None, (), grad_mode(), False])
    try:
        if at_once:
            notes.given = Given(notes, out)
            for target in tensors_in(out) if out is not None else notes.given.inputs[:1] if inplace or door.writes else ():
                note_write(target)
        note[2] = result = function(*given)
        if notes.given is not None:
            notes.enter()
            _add(notes, note, inplace)
            notes.pop()
            return result
        if len(notes) > (first := notes.at + 1):
            note[4] = notes[first:]
            del notes[first:]
        note[3] = result._node or next_id() if isinstance(result, TensorRef) else [o._node or next_id() for o in tensors_in(result)]
        return result
    except BaseException:
        del notes[notes.at:]
        raise
    finally:
        notes.at, notes.given = -1, None


def _add(notes: Notes, note: list[Any], inplace: bool) -> None:
    """Adds a call that ran, and changed something, to the tapes."""
    given: Given = notes.given
    door, _, result, _, _, mode, sized = note
    for tape, before in zip(notes.tapes, given.ids):
        if any([p == "Any" for p, _ in door.rec.returns]):  # a number that values decide, `equal`
            for x in given.inputs:
                tape.held.left(x, f"{door.rec.name}()")
        tape.held.add(tape, door.rec, given.arguments, before, given.inputs, tensors_in(result), given.written, inplace, mode, sized)


def made_by(nodes: Sequence[Any]) -> TapeEntry | None:
    """The entry that a noted call made, from the nodes of its outputs."""
    return next((node if node._tag == 0 else node.entry for node in nodes if node.__class__ is not int and node is not LEAF), None)


_KEPT: set[type] = {bool, int, float, complex, str, type(None), slice, type(...), DType, Device, TensorRef}
"""What holds nothing that may change behind a tape's back, and needs no copy."""


def as_it_is(value: object) -> Any:
    """An argument as it is now: lists, dicts and arrays may change."""
    if value.__class__ in _KEPT:
        return value
    if value.__class__ is tuple or value.__class__ is list:
        if _KEPT.issuperset(map(type, value)):
            return value if value.__class__ is tuple else value[:]
        return type(value)([as_it_is(x) for x in value])
    if isinstance(value, TensorRef):
        _KEPT.add(value.__class__)
    if isinstance(value, dict):
        return {k: as_it_is(x) for k, x in value.items()}
    return value.copy() if isinstance(value, np.ndarray) else value


class _Holding(Interceptor):
    """Calls of irregular operations, held whole by the tapes that record. (Regular ones are held on the general path.)"""

    place = "tape"
    all_functions = False

    def concerns(self, door: Door) -> bool:
        return door.irregular

    def idle(self, args: tuple[object, ...]) -> bool:
        return within()

    def __call__(self, call: Call) -> Any:
        return hold(call.door, call.args, call.proceed, (), out=call.out, inplace=call.inplace)


HOLDING = _Holding()


def tensors_in(tree: object) -> list[TensorRef]:
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(tree, TensorRef):
        return [tree]
    if isinstance(tree, dict):
        tree = tree.values()
    elif not isinstance(tree, (tuple, list)):
        return []
    found: list[TensorRef] = []
    for item in tree:
        if isinstance(item, TensorRef):
            found.append(item)
        elif isinstance(item, (tuple, list, dict)):
            found += tensors_in(item)
    return found


def take_apart(rec: Record, args: Sequence[object], kwargs: Keywords, positional: bool = False
               ) -> tuple[dict[str, Any], list[TensorRef]]:
    """A call's arguments as an `Operation` has them, and its tensors."""
    names = [p.name for p in rec.params]
    tensors: list[TensorRef] = []

    def stored(value: object) -> object:
        if isinstance(value, TensorRef):
            tensors.append(value)
            return Slot(len(tensors) - 1)
        return value.copy() if isinstance(value, np.ndarray) else value

    if positional or len(args) > len(names) or any([name in names[:len(args)] for name in kwargs]):
        return {"*": _mapped(stored, tuple(args)), **_mapped(stored, dict(kwargs))}, tensors
    given = {**dict(zip(names, args)), **kwargs}
    arguments: dict[str, Any] = {}
    lists = [i for i, p in enumerate(rec.params) if p.type == "Tensor[]"]
    # Where it could be any of several tensors, which of them a list has is said.
    several = len(lists) > 1 or any([p.is_tensor and p.default is not None and given.get(p.name) is not None
                                     for i in lists for p in rec.params[i + 1:]])
    defaults = rec.defaults
    for p in rec.params:
        if p.name not in given:
            if p.is_tensor and p.default == "None":
                arguments[p.name] = None  # so that no other tensor is taken for it
            continue
        value = given.pop(p.name)
        if p.is_tensor and isinstance(value, TensorRef) and p.type != "Tensor[]":
            tensors.append(value)
        elif p.type == "Tensor[]" and not several and isinstance(value, (tuple, list)) and value \
                and all([isinstance(x, TensorRef) for x in value]):
            tensors += value
        elif p.is_tensor or p.default is None or type(defaults[p.name]) is not type(value) or not _same(defaults[p.name], value):
            arguments[p.name] = _mapped(stored, value)
    return {**arguments, **_mapped(stored, given)}, tensors


def _same(a: object, b: object) -> bool:
    return bool(a == b) if not isinstance(b, (np.ndarray, TensorRef)) else False


def put_together(arguments: Keywords, tensors: Sequence[TensorRef]) -> tuple[Keywords, list[TensorRef]]:
    """The inverse of `take_apart`: the arguments with tensors in the slots, and the tensors that have none."""
    taken: set[int] = set()

    def filled(value: bool | float | Slot | None) -> object:
        if isinstance(value, Slot):
            taken.add(value.index)
            return tensors[value.index]
        return value

    found = _mapped(filled, dict(arguments))
    return found, [t for i, t in enumerate(tensors) if i not in taken]


def _mapped(function: Callable[[Any], Any], value: object) -> Any:
    """`function` on a value, or on what a container holds."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_mapped(function, x) for x in value])
    if isinstance(value, tuple) and hasattr(value, "n_fields"):  # made of one sequence
        return type(value)([_mapped(function, x) for x in value])
    if isinstance(value, (tuple, list)):
        return (tuple if isinstance(value, tuple) else list)([_mapped(function, x) for x in value])
    if isinstance(value, dict):
        return {k: _mapped(function, x) for k, x in value.items()}
    if isinstance(value, slice):
        return slice(_mapped(function, value.start), _mapped(function, value.stop), _mapped(function, value.step))
    return value.mapped(function) if isinstance(value, Indices) else function(value)


# -- all calls on a tape ----------------------------------------------------------------------------------------------


class Held:
    """The operations that a tape holds, and what is known of their values."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self.operations: list[Operation] = []
        self.reads: list[Read] = []
        self.collectives: list[tuple[int, object]] = []  # of sharded tensors, with an id before that of the operation that needed it
        self.sources: dict[int, tuple[TensorRef, bool]] = {}  # from id to the tensor and whether it is a variable
        self.initial = Copies()
        self.plain: dict[int, TapeEntry] = {}
        self._objects: dict[int, tuple[TensorRef, int]] = {}
        self._used: set[int] = set()
        self._claimed: set[int] = set()
        self._made: set[int] = set()  # memory that operations made
        self._roots: dict[int, Any] = {}  # keeps alive what numbers stand for
        self.buffers: dict[int, Any] = {}  # from the ids of values, of tensors that have other memory by now
        self._origins: dict[int, frozenset[int]] = {}  # from memory, and from tensors, to the sources they come from
        self._sized: set[int] = set()

    # values

    def id_of(self, t: TensorRef) -> int | None:
        """The id of a tensor's value, or None where no operation on the tape had to do with it."""
        known = self._objects.get(id(t))
        if known is not None:
            return known[1]
        node = t._node
        return node.id if node is not None and not t.is_leaf and node.id in self._used else None

    def ids_of(self, tensors: Iterable[TensorRef]) -> tuple[int, ...]:
        """The ids of tensors' values; what the tape has not seen before is a source."""
        found = []
        for t in tensors:
            known = self.id_of(t)
            if known is None:
                known = self._named(t, t.id)
                self.sources[known] = t, t.requires_grad or t._data is None
                self._spread((t,), frozenset([known]))
            found.append(known)
        return tuple(found)

    def _named(self, t: TensorRef, id_: int) -> int:
        if id_ in self._used:
            id_ = next_id()
        self._used.add(id_)
        self._objects[id(t)] = t, id_
        return id_

    def _spread(self, tensors: Iterable[TensorRef], origins: frozenset[int]) -> None:
        for t in tensors:
            memory = t if t._data is None else root_of(t._data)
            for key, kept in ((id(t), t), (id(memory), memory)):
                self._roots[key] = kept
                self._origins[key] = self._origins.get(key, frozenset()) | origins

    def origins_of(self, t: TensorRef) -> frozenset[int]:
        """The sources that a tensor's values come from."""
        nothing: frozenset[int] = frozenset()
        return self._origins.get(id(t), nothing) | self._origins.get(memory_of(t), nothing)

    # operations

    def take_in(self, tape: Tape, notes: Sequence[Any]) -> None:
        """Adds calls that were noted."""
        for note in notes:
            door, args, result, nodes, *whole = note
            rec, outputs = door.rec, tensors_in(result)
            nodes = [nodes] if isinstance(result, TensorRef) else nodes
            if whole:
                given, named = door.spelled(args)
                arguments, inputs = take_apart(rec, given, named, door.spreads)
                mode, sized = whole[1:]
            else:
                arguments, inputs = take_apart(rec, args, {})
                made = made_by(nodes)
                recorded = (not made.blank if made is not None else
                            not rec.differentiable or not any([x._node is not None for x in inputs]))
                mode, sized = GradMode.ENABLED if recorded else GradMode.DISABLED, door.sized_by(args)
            self.add(tape, rec, arguments, self.ids_of(inputs), inputs, outputs, {}, False, mode, sized, nodes=nodes)

    def before_write(self, array: np.ndarray) -> None:
        """Keeps what was in the memory of a source before it is written to."""
        if id(root_of(array)) not in self._made:
            self.initial.keep(array)

    def shape_of(self, id_: int, t: TensorRef) -> tuple[int, ...]:
        """The shape of a value of `t`, which may have another by now."""
        return tuple(t.shape if id_ not in self.buffers else self.buffers[id_].shape)

    def data_of(self, id_: int, t: TensorRef) -> np.ndarray | None:
        """The data of a source as the first operation found it."""
        data: Any = self.buffers.get(id_, t._data)
        return data if data is None or id(root_of(data)) not in self.initial else self.initial.of(data)

    def add(self, tape: Tape, op: Record | str, arguments: dict[str, Any], ids: tuple[int, ...], inputs: Sequence[TensorRef],
            outputs: Sequence[TensorRef], written: dict[int, np.ndarray], inplace: bool, mode: Any, sized: bool = False,
            entry: TapeEntry | None = None, nodes: Sequence[Any] | None = None) -> Operation:
        """Adds a call; `written` is the memory that it wrote to, `nodes` those of its outputs, or ids for them, where they were noted."""
        changed: tuple[int, ...] = ()
        if written:
            returned = {id(o) for o in outputs}
            changed = tuple([i for i, x in enumerate(inputs) if x._data is not None and memory_of(x) in written and id(x) not in returned
                             and id(x) not in {id(y) for y in inputs[:i]}])
            outputs = [*outputs, *[inputs[i] for i in changed]]
        if entry is None:
            entry = self._entry(tape, op, tuple(inputs), tuple(outputs), arguments, nodes)
        given = {id(x) for x in inputs}
        lying = {memory_of(x) for x in inputs}
        origins: frozenset[int] = frozenset().union(*[self.origins_of(x) for x in inputs])
        made = []
        for i, o in enumerate(outputs):
            if id(o) not in given and memory_of(o) not in lying:
                self._made.add(memory_of(o))
            node = None if nodes is None or i >= len(nodes) or nodes[i].__class__ is int or nodes[i] is LEAF else nodes[i]
            if node is not None:  # of an output that may have another by now
                made.append(self._named(o, node.id))
            elif o._node is not None and not o.is_leaf or id(o) not in given and hasattr(o, "_id"):
                made.append(self._named(o, o.id))
            else:  # an object that was changed keeps its id, and takes another value
                made.append(self._named(o, entry.id if entry.id in self.plain else next_id()))
                if id(o) not in given:
                    o._id = made[-1]
        self._spread(outputs, origins)
        for key, root in written.items():
            self._roots[key] = root
            self._origins[key] = self._origins.get(key, frozenset()) | origins
        if sized or self._sized and any([id(x) in self._sized for x in inputs]):
            self._sized.update([id(o) for o in outputs if o._data is not None and o._data.ndim])
        if entry.value_ids is None:
            entry.value_ids = ids, tuple(made)
        operation = Operation(entry, op, arguments, ids, tuple(made), (tuple(inputs), tuple(outputs)), changed, inplace, mode,
                              frozenset(lying), frozenset(written))
        self.operations.append(operation)
        return operation

    def _entry(self, tape: Tape, op: Record | str, inputs: tuple[TensorRef, ...], outputs: tuple[TensorRef, ...],
               arguments: Keywords, nodes: Sequence[Any] | None) -> TapeEntry:
        """The entry that the call made, or one that stands for it."""
        for made in [o.creator for o in outputs] if nodes is None else [made_by(nodes)]:
            if made is not None and tape._entries.get(made.id) is made and made.id not in self._claimed:
                self._claimed.add(made.id)
                return made
        entry = TapeEntry()
        # The id that the call got when it was noted: that tells where in the program it stands.
        noted: Any = next((node for node in nodes or () if node.__class__ is int), None) or next(
            (node.id for node in nodes or () if node.__class__ is not int and node.blank and node.id not in self.plain), None)
        entry.id, entry.op, entry.edges, entry.saved, entry.meta = noted or next_id(), op, (), (), None
        entry.refs = inputs, outputs, arguments
        self.plain[entry.id] = entry
        return entry

    def renew(self, entries: Mapping[TapeEntry, TapeEntry]) -> None:
        """Knows entries by others."""
        self.operations = [replace(o, entry=entries[o.entry]) if o.entry in entries else o for o in self.operations]

    def replace(self, output: TensorRef) -> None:
        """Forgets the operation that made a tensor, for another is recorded in its place."""
        id_ = self.id_of(output)
        self.operations = [operation for operation in self.operations if id_ not in operation.outputs]
        self._objects.pop(id(output), None)
        self._used.discard(id_ if id_ is not None else -1)

    def moved(self) -> dict[int, tuple[tuple[str, Any], ...]]:
        """From the ids of entries to what was moved between devices for them: ("forward" or "backward", `sharding.Collective`)."""
        found: dict[int, list[tuple[str, object]]] = {}
        entries, ids = [o.entry for o in self.operations], sorted([o.entry.id for o in self.operations])
        for before, collective in self.collectives:
            if (at := bisect_right(ids, before)) < len(ids):
                found.setdefault(ids[at], []).append(("forward", collective))
        seen = {id(c) for _, c in self.collectives}
        for entry in entries:
            found.setdefault(entry.id, []).extend([("backward", c) for c in getattr(entry, "moved", ()) if id(c) not in seen])
        return {id: tuple(moved) for id, moved in found.items() if moved}

    # numbers that leave

    def left(self, t: TensorRef, how: str) -> None:
        """A number of `t` is read: noted, for a replay on other data cannot know what it did."""
        if how == "shape" and id(t) not in self._sized:
            return
        self.ids_of([t])
        self.reads.append(Read(len(self.operations), self.origins_of(t), place()))

    def leading_to(self, ids: Iterable[int], memory: Iterable[int]) -> list[Operation]:
        """The operations that decide values and what lies in memory at the end, in order."""
        needed, lying = set(ids), set(memory)
        found = []
        for operation in reversed(self.operations):
            if needed.intersection(operation.outputs) or lying.intersection(operation.writes):
                found.append(operation)
                needed.update(operation.inputs)
                lying |= operation.reads
        return found[::-1]


class Traced(Held):
    """What a trace holds: a number that depends on its inputs must not leave.

    Args:
        inputs: the tensors that later calls replace.
    """

    def __init__(self, inputs: Sequence[TensorRef]) -> None:
        super().__init__()
        self.inputs = frozenset(self.ids_of(inputs))

    def left(self, t: TensorRef, how: str) -> None:
        """Raises where the number depends on an input."""
        if how == "shape" and id(t) not in self._sized or not self.origins_of(t) & self.inputs:
            return
        what = "the size of this tensor, which depends on values," if how == "shape" else f"the values read by {how}"
        raise AutogradError(f"A trace cannot follow {what} into Python, at {place()}", expected="operations on tensors, which are "
                            "recorded and run again on other inputs", found=f"{how} of {t.dtype.name}{list(t._data.shape)}",
                            remedy="compute with the operations of autograd_tape.F (where, comparisons, indices are recorded too), "
                            "or pass the number in as an argument")


# -- where ------------------------------------------------------------------------------------------------------------

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _user_frames() -> Iterator[Any]:
    at: Any = sys._getframe(2)
    while at is not None:
        name = at.f_code.co_filename
        if not name.startswith((_HERE, "<")) or name.startswith(("<stdin", "<string", "<doctest", "<ipython")):
            yield at
        at = at.f_back


def place() -> str:
    """The line of the program that called into this package: `file:line`, and its text where there is one."""
    for at in _user_frames():
        text = linecache.getline(at.f_code.co_filename, at.f_lineno).strip()
        return f"{at.f_code.co_filename}:{at.f_lineno}" + (f" ({text})" if text else "")
    return "an unknown line"
