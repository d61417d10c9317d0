"""The tape: entries, tapes, and the thread's recording state.

An entry *is* the graph node. An output tensor holds its entry (`_node`); an entry holds the entries, or the leaf tensors,
of its inputs (`edges`). Ids come from one monotonic counter, so an entry's id is larger than those of all its inputs and
descending ids are a valid backward order: nothing has to be sorted, and nothing recurses.
"""

from __future__ import annotations

import gc
import itertools
import weakref
from contextvars import ContextVar
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NewType, cast
from collections.abc import Callable, Iterator, Sequence

import attrs
import numpy as np

from .dtypes import FLOATING, inference_kind
from .errors import ArgumentError, ShapeMismatchError, TapeNotRecordingError
from .held import Held, Owner, recordings
from .locks import fork_safe_lock
from .tensor import LEAF, TensorRef, watchers

if TYPE_CHECKING:
    from .graph import Graph
    from .lazy import OpSpec

TapeId = NewType("TapeId", int)
GradFn = Callable[[Any, Sequence[Any]], Sequence[Any]]
"""`grad_fn(grad_output, saved_tensors) -> gradients with respect to each input` (None where there is none)."""

next_id = cast("Callable[[], TapeId]", itertools.count(1).__next__)


class GradMode(IntEnum):
    """What a thread does with operations on tensors that require grad."""

    DISABLED = 0
    ENABLED = 1
    INFERENCE = 2


_mode: ContextVar[GradMode] = ContextVar("autograd_tape.grad_mode", default=GradMode.ENABLED)
grad_mode: Callable[[], GradMode] = _mode.get
"""The grad mode of this thread. Operations call this at most once each, and only where an input requires grad."""


class TapeEntry:
    """One recorded operation. Each compiled operation has a subclass of its own (`MulBackward0`), whose methods `raw`
    and `recorded` turn the cotangent of the output into those of the inputs, on buffers and on tensors."""

    # id     from the counter
    # edges  per differentiable input: None, an entry, an OutputEdge, or a leaf tensor
    # saved  what the gradient needs, or None once freed
    # meta   per edge what its gradient must be fitted to, (shape, dtype); None where all have the output's
    __slots__ = ("id", "edges", "saved", "meta", "__dict__", "__weakref__")
    _tag = 0  # 0: an entry, 1: a leaf tensor, 2: one output of an entry
    n_outputs = 1
    takes_undefined = False  # whether it wants to be called where all its outputs' gradients are undefined
    forbids: str | None = None  # why nothing may be computed from its output any more
    blank = False            # whether it stands for no history: that of a view made without recording
    frees = True             # whether it saves tensors, which a backward pass frees; numbers and shapes are kept
    op: Any = None
    # Set on an instance only when used:
    hooks: Any = None          # functions that see or replace the gradients, see backward.Hooks
    refs: Any = None           # (inputs, outputs, arguments) where an explicit tape keeps them alive
    holders: int = 0           # explicit tapes that keep it
    value_ids: Any = None      # (ids of the inputs, ids of the outputs) then
    grad_fn: Any = None        # the GradFn of an entry recorded by hand

    id: TapeId
    edges: tuple[Any, ...]
    saved: Any
    meta: Any

    def raw(self, grad: Any, F: Any) -> Sequence[Any]:
        """Cotangents of the inputs, on buffers."""
        raise NotImplementedError

    def recorded(self, grad: Any, F: Any) -> Sequence[Any]:
        """Cotangents of the inputs, on tensors, recording what it does."""
        raise NotImplementedError

    @property
    def op_name(self) -> str:
        """The operation's name."""
        return self.op if isinstance(self.op, str) else self.op.name if self.op is not None else type(self).__name__

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The input tensors where a tape keeps them; else leaves, and entries in the place of intermediate tensors."""
        if self.refs is not None:
            return self.refs[0]
        return tuple(e.entry if e is not None and e._tag == 2 else e for e in self.edges)

    @property
    def output(self) -> Any:
        """The output tensor, where a tape keeps it."""
        return self.refs[1][0] if self.refs is not None and self.refs[1] else None

    @property
    def saved_tensors(self) -> tuple[TensorRef, ...]:
        """The tensors saved for backward."""
        return tuple(s for s in self.saved or () if isinstance(s, TensorRef))

    # The graph as torch's programs look at it (torchviz and others):

    def name(self) -> str:
        """The node's name."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """(node, output number) per differentiable input; a leaf is an `AccumulateGrad`, an input without gradient (None, 0)."""
        return tuple((None, 0) if e is None or e.__class__ is NoGradView else (e, 0) if e._tag == 0 else (e.entry, e.nr) if e._tag == 2 else
                     (accumulate_node(e), 0)
                     for e in self.edges)

    @property
    def metadata(self) -> dict[str, Any]:
        """A dictionary for whoever wants to note something on the node."""
        return self.__dict__.setdefault("_metadata", {})

    def _sequence_nr(self) -> int:
        return self.id

    def _hooks(self) -> Any:
        from .backward import Hooks

        if self.hooks is None:
            self.hooks = Hooks()
        return self.hooks

    def register_hook(self, fn: Callable[..., Any]) -> "RemovableHandle":
        """`fn(grad_inputs, grad_outputs)` runs after the node; what it returns replaces the gradients of the inputs."""
        return RemovableHandle.add(self._hooks().post, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> "RemovableHandle":
        """`fn(grad_outputs)` runs before the node; what it returns replaces the gradients of the outputs."""
        return RemovableHandle.add(self._hooks().pre, fn)

    def __call__(self, *grads: Any) -> Any:
        """The gradients of the inputs, given those of the outputs: a tensor, or a tuple where there are several inputs."""
        from .backward import freed
        from .frontend import Frontend

        if len(grads) != self.n_outputs:
            raise TypeError(f"expected {self.n_outputs} arguments, got {len(grads)} instead")
        for g in grads:
            if g is not None and not isinstance(g, TensorRef):
                raise TypeError(f"expected Variable or None (got {type(g).__name__})")
        if self.saved is None and self.frees:
            raise freed(self).as_builtin()
        results = tuple(self.recorded(grads[0] if self.n_outputs == 1 else list(grads), Frontend.latest))
        return results[0] if len(results) == 1 else results

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {hex(id(self))}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")


class AccumulateGrad(TapeEntry):
    """A leaf as a graph node: where its gradient arrives. Made when somebody looks; entries hold the leaf itself."""

    __slots__ = ("variable",)
    edges = ()
    saved = ()
    meta = None
    id = TapeId((1 << 63) - 1)

    def __init__(self, variable: TensorRef) -> None:
        self.variable = variable

    def name(self) -> str:
        """The node's name, as torch spells it."""
        return "torch::autograd::AccumulateGrad"

    def _hooks(self) -> Any:
        # The leaf keeps the hooks, since this node may come and go.
        hooks = super()._hooks()
        self.variable._info["node_hooks"] = hooks
        return hooks

    def raw(self, grad: Any, F: Any) -> Sequence[Any]:
        """Nothing lies behind a leaf."""
        return ()

    recorded = raw


def accumulate_node(leaf: TensorRef) -> AccumulateGrad:
    """The `AccumulateGrad` of a leaf; the same object as long as somebody holds it, or has hooked it."""
    info = getattr(leaf, "_info", None)
    if info is None:
        leaf._info = info = {}
    ref = info.get("accumulate_node")
    node = None if ref is None else ref()
    if node is None:
        node = AccumulateGrad(leaf)
        node.hooks = info.get("node_hooks")
        info["accumulate_node"] = weakref.ref(node)
    return node


class NoGradView(TapeEntry):
    """The history of a view that was made without recording, of a tensor that requires grad: so does the view, but no gradient goes
    through. Also that of a view that was made (while recording, `recorded_view`) before the tensor was told to require grad."""

    __slots__ = ("recorded_view",)
    edges = saved = ()
    meta = None
    frees = False
    blank = True

    def __init__(self, recorded_view: bool = False) -> None:
        self.id, self.recorded_view = next_id(), recorded_view

    def raw(self, grad: Any, F: Any) -> Sequence[Any]:
        """Nothing lies behind it."""
        return ()

    recorded = raw


class RemovableHandle:
    """What a `register_..._hook` returns; `remove()` takes the hook away."""

    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        # Plain dicts take no weak references; those of entries and tensors live as long as their owner, which holds no handle.
        self._table: Callable[[], Any] = weakref.ref(hooks_dict) if hasattr(hooks_dict, "__weakref__") else lambda: hooks_dict

    @classmethod
    def add(cls, table: dict[int, Any], hook: Callable[..., Any]) -> "RemovableHandle":
        """Puts `hook` into a table of hooks."""
        handle = cls(table)
        table[handle.id] = hook
        return handle

    def remove(self) -> None:
        """Takes the hook away; a second call does nothing."""
        table = self._table()
        if table is not None:
            table.pop(self.id, None)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class OutputEdge:
    """Output `nr` of an entry that has several."""

    __slots__ = ("entry", "nr")
    _tag = 2
    blank = False

    def __init__(self, entry: TapeEntry, nr: int) -> None:
        self.entry, self.nr = entry, nr

    @property
    def id(self) -> int:
        # Entries with several outputs take one id per output from the counter, the last of them their own.
        return self.entry.id - self.entry.n_outputs + 1 + self.nr


class ManualEntry(TapeEntry):
    """An entry recorded by hand, with a gradient function of the caller's, or the one registered for the operation's name."""

    __slots__ = ()
    versions: Any = ()  # of the saved tensors when the entry was recorded
    stands_for: int | None = None  # the id that the output had from the entry in whose place this one is

    def _prepared(self) -> tuple[GradFn, tuple[Any, ...]]:
        """The gradient function and what was saved for it."""
        from .backward import freed, stale

        if self.saved is None:
            raise freed(self)
        for tensor, version in zip(self.saved, self.versions):
            if version_of(tensor) != version:
                raise stale(self, tensor, version)
        if self.grad_fn is None:
            from .registry import required_grad_fn

            self.grad_fn = required_grad_fn(self.op_name)
        return self.grad_fn, self.saved

    def _cotangents(self, grad: Any, saved: list[Any], F: Any) -> Sequence[Any]:
        from .registry import RecordGradFn

        grad_fn, inputs = self.grad_fn, self.refs[0]
        # A gradient function derived from a record can work on any executor; others do their own arithmetic.
        grads = grad_fn.apply(F, grad, saved, self.refs[2]) if isinstance(grad_fn, RecordGradFn) else grad_fn(grad, saved)
        if not isinstance(grads, (list, tuple)):
            raise ArgumentError(f"The gradient function of '{self.op_name}' must return a list",
                                expected=f"{len(inputs)} gradients in a list",
                                found=type(grads).__name__, remedy="return one gradient per input, None where there is none")
        if len(grads) != len(inputs):
            raise ShapeMismatchError(f"The gradient function of '{self.op_name}' returned {len(grads)} gradients for {len(inputs)} inputs",
                                     expected=str(len(inputs)), found=str(len(grads)),
                                     remedy="return one gradient per input, None where there is none")
        return [None if g is None or e is None else fit_cotangent(F, g, x, i, self.op_name)
                for i, (g, x, e) in enumerate(zip(grads, inputs, self.edges))]

    def raw(self, grad: Any, F: Any) -> Sequence[Any]:
        """Calls the gradient function with the saved buffers, computing those that nobody has asked for yet."""
        from .lazy import evaluate

        _, saved = self._prepared()
        executor = getattr(F, "_executor", None)
        return self._cotangents(grad, [evaluate(s, executor) if isinstance(s, TensorRef) else s for s in saved], F)

    def recorded(self, grad: Any, F: Any) -> Sequence[Any]:
        """Calls the gradient function with the saved tensors, so that what it does is recorded."""
        from .lazy import evaluate

        _, saved = self._prepared()
        for s in saved:
            if isinstance(s, TensorRef):
                evaluate(s)
        return self._cotangents(grad, list(saved), F)


def version_of(tensor: Any) -> int:
    """How often a tensor's data has been replaced or changed in place."""
    return tensor._v[0] if isinstance(tensor, TensorRef) and tensor._v else 0


def fit_cotangent(F: Any, grad: Any, primal: TensorRef, position: int, op: str) -> Any:
    """What a hand-written gradient function returned for one input, with the input's shape: summed over what broadcasting
    added; ShapeMismatchError where no broadcasting explains the difference."""
    shape = tuple(primal.shape)
    found = tuple(np.shape(grad)) if not isinstance(grad, TensorRef) else tuple(grad.shape)
    if found != shape:
        lead = len(found) - len(shape)
        if lead < 0 or any(n not in (1, m) for n, m in zip(shape, found[lead:])):
            raise ShapeMismatchError(f"The gradient of '{op}' with respect to input {position} has the wrong shape", expected=str(shape),
                                     found=str(found), remedy="return a gradient of the input's shape from the gradient function")
    if getattr(F, "_executor", None) is None:  # a front end: gradients are tensors
        return F.fit(grad if isinstance(grad, TensorRef) else F.wrap(np.asarray(grad)), shape, primal._k.np)
    return F.fit(grad._data if isinstance(grad, TensorRef) else np.asarray(grad), shape, primal._k.np)


# -- modes that leave the quiet path --------------------------------------------------------------------------------

_quiet_lock = fork_safe_lock()
_loud = 0
_inferring = 0
_quiet_sets: list[tuple[dict[str, Any], dict[str, Any]]] = []


def register_quiet_sets(namespace: dict[str, Any], sets: dict[str, Any]) -> None:
    """Compiled operations read their quiet sets, and the kinds of their results, from `namespace`. While a mode is active anywhere
    the sets are empty, so that every operation takes the general path, where modes are looked at. While inference mode is on
    anywhere, they hold the kinds of inference tensors, and operations among these are quiet."""
    with _quiet_lock:
        _quiet_sets.append((namespace, sets))
        _set_quiet(namespace, sets)


def _set_quiet(namespace: dict[str, Any], sets: dict[str, Any]) -> None:
    if _inferring:
        sets = {name: _inferred(value) for name, value in sets.items()}
    namespace.update({name: frozenset() if _loud and name.startswith("Q_") else value for name, value in sets.items()})


def _inferred(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: inference_kind(k) for key, k in value.items()}
    return frozenset([inference_kind(k) for k in value]) if isinstance(value, frozenset) else inference_kind(value)


def _change_quiet(loud: int, inferring: int) -> None:
    global _loud, _inferring
    with _quiet_lock:
        before = (bool(_loud), bool(_inferring))
        _loud, _inferring = _loud + loud, _inferring + inferring
        if (bool(_loud), bool(_inferring)) != before:
            for namespace, sets in _quiet_sets:
                _set_quiet(namespace, sets)


def leave_quiet_path() -> None:
    """Sends all operations through the general path until `enter_quiet_path`. Calls nest."""
    _change_quiet(1, 0)


def enter_quiet_path() -> None:
    """Undoes one `leave_quiet_path`."""
    _change_quiet(-1, 0)


def enter_inference() -> None:
    """Makes the quiet path that of inference tensors until `exit_inference`. Calls nest."""
    _change_quiet(0, 1)


def exit_inference() -> None:
    """Undoes one `enter_inference`."""
    _change_quiet(0, -1)


# -- tapes ----------------------------------------------------------------------------------------------------------


@attrs.frozen
class RecordingContext:
    """An open `with tape:`: what it restores at its end, and whose it is."""

    tape: Tape
    prev_tape: Tape | None
    was_recording: bool = False
    owner: Owner = attrs.field(factory=Owner.here)


_default: ContextVar[Tape | None] = ContextVar("autograd_tape.default_tape", default=None)
_active: ContextVar[tuple[Tape, ...]] = ContextVar("autograd_tape.active_tapes", default=())
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

    >>> from autograd_tape import Tape, TensorRef, F
    >>> x = TensorRef.of([1.0, 2.0], requires_grad=True)
    >>> with Tape() as tape:
    ...     y = F.sum(x * x)
    >>> [entry.op_name for entry in tape.entries], tape.requires_grad(y)
    (['mul', 'sum'], True)
    """

    def __init__(self, *, retain_graph: bool = False) -> None:
        self.retain_graph = retain_graph
        self._entries: dict[int, TapeEntry] = {}
        self._tensor_to_entry: dict[int, int] = {}
        self._owner: Owner | None = None
        self.held = Held()

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
            recordings.pop()
            watchers.pop()
            enter_quiet_path()

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
            leave_quiet_path()

    def stop_recording(self) -> None:
        """Stops recording; what was recorded stays.

        Raises:
            TapeNotRecordingError: the tape records for another thread or task, which alone may stop it.
        """
        if self._own("stop_recording()") is not None:
            _active.set(tuple([t for t in _active.get() if t is not self]))
            self._release()

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
        for entry in self._entries.values():
            self._let_go(entry)
        self._entries.clear()
        self._tensor_to_entry.clear()
        self.held.clear()

    @staticmethod
    def _let_go(entry: TapeEntry) -> None:
        entry.holders -= 1
        if not entry.holders:
            # An entry and its output hold each other; without this they would wait for the garbage collector.
            entry.refs = (entry.refs[0], (), entry.refs[2]) if isinstance(entry, ManualEntry) else None

    def __del__(self) -> None:
        # What a forgotten tape held is nobody's any more.
        for entry in getattr(self, "_entries", {}).values():
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
            later = attrs.evolve(later[0], prev_tape=ended.prev_tape), *later[1:]
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
        from .lazy import OpSpec, spec_of

        if isinstance(op, OpSpec):
            inputs, output = op.inputs if inputs is None else inputs, op.output if output is None else output
            op = op.op
        if inputs is None or output is None:
            raise ArgumentError(f"record() needs the inputs and the output of '{op}'", expected="inputs and output",
                                found="no " + ("inputs" if inputs is None else "output"), remedy="pass both, or an OpSpec")
        inputs = [inputs] if isinstance(inputs, TensorRef) else inputs
        saved_tensors = [saved_tensors] if isinstance(saved_tensors, TensorRef) else saved_tensors
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
        entry = ManualEntry()
        # An entry in the place of another is of the same value: whatever was computed from it, and on whichever tape, finds it by that id.
        replaces = None if output.is_leaf else output.id
        same = replaces is not None and output._node._tag == 0 and all([x.is_leaf or x.id < replaces for x in inputs])
        entry.id = TapeId(output.id) if same else next_id()
        entry.op, entry.stands_for = op, replaces
        entry.grad_fn = grad_fn
        entry.edges = tuple(edge_of(x) for x in inputs)
        entry.saved, entry.versions = saved, tuple(version_of(s) for s in saved)
        entry.meta = None
        spec = spec_of(output)
        if grad_mode() is GradMode.ENABLED and any(e is not None for e in entry.edges) and output._k.dtype.category >= FLOATING:
            if output._base is not None:
                from .views import IN_CUSTOM_FUNCTION, mark

                mark(output, IN_CUSTOM_FUNCTION)  # an update of the base would pass by `grad_fn`
            output._node = entry
        arguments = {} if spec is None else spec.arguments
        self.add(entry, tuple(inputs), (output,), arguments)
        if not isinstance(self, DefaultTape):
            ids = self.held.ids_of(inputs)
            self.held.replace(output)
            self.held.add(self, op, dict(arguments), ids, inputs, [output], {}, False, grad_mode(), entry=entry)
        if replaces is not None:
            self._tensor_to_entry[replaces] = entry.id
        return entry.id

    def add(self, entry: TapeEntry, inputs: tuple[Any, ...], outputs: tuple[Any, ...], arguments: dict[str, Any],
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
        """The entry with this id; KeyError where the tape has none."""
        try:
            return self._entries[id] if id in self._entries else self.held.plain[id]
        except KeyError:
            raise KeyError(f"the tape has no entry {id}; it holds {len(self._entries)} entries. Was it cleared?") from None

    def get_entry_for_tensor(self, ref: TensorRef) -> TapeEntry | None:
        """The entry on this tape that made `ref`, or None."""
        return self.entry_behind(ref if ref.is_leaf else ref._node)

    def entry_behind(self, edge: Any) -> TapeEntry | None:
        """The entry on this tape of the value of a leaf tensor, an entry, or an output of one; or None."""
        at = self._tensor_to_entry.get(edge.id)
        if at is None and edge.__class__ is ManualEntry:  # recorded on another tape
            at = self._tensor_to_entry.get(edge.stands_for or -1)
        return None if at is None else self._entries.get(at)

    def requires_grad(self, ref: TensorRef) -> bool:
        """Whether gradients flow to `ref`."""
        return ref.requires_grad

    def get_creator(self, ref: TensorRef) -> TapeEntry | None:
        """The operation that made `ref`, or None for a leaf."""
        return self.get_entry_for_tensor(ref)

    def get_dependencies(self, ref: TensorRef) -> list[TensorRef]:
        """All tensors that `ref` was computed from, nearest first."""
        seen: dict[int, TensorRef] = {}
        queue = [ref]
        for tensor in queue:
            entry = self.get_entry_for_tensor(tensor)
            for source in () if entry is None else entry.inputs:
                if isinstance(source, TensorRef) and source.id not in seen:
                    seen[source.id] = source
                    queue.append(source)
        return list(seen.values())

    def to_graph(self, outputs: TensorRef | Sequence[TensorRef] | None = None) -> "Graph":
        """This tape as an IR graph: values, nodes, DOT and JSON export, replay (see `autograd_tape.graph`)."""
        from .graph import Graph

        return Graph.from_tape(self, outputs)


class DefaultTape(Tape):
    """A thread's own tape, always recording. It holds its entries weakly: a graph lives as long as its outputs."""

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

    def add(self, entry: TapeEntry, inputs: tuple[Any, ...], outputs: tuple[Any, ...], arguments: dict[str, Any],
            ids: tuple[tuple[int, ...] | None, tuple[int, ...] | None] = (None, None)) -> None:
        """Nothing to keep: the outputs hold the entry."""
        if isinstance(entry, ManualEntry):
            # What was recorded by hand may have no data yet when backward runs; it needs its inputs to compute them.
            entry.refs = (inputs, (), arguments)

    @property
    def entries(self) -> list[TapeEntry]:
        """The live entries, by id. A query for people: it walks all objects of the process."""
        # type(), for isinstance would ask a weak proxy for the class of its dead referent.
        return sorted((o for o in gc.get_objects() if issubclass(type(o), TapeEntry)), key=lambda entry: entry.id)

    def get_entry(self, id: TapeId | int) -> TapeEntry:
        """The live entry with this id."""
        for entry in self.entries:
            if entry.id == id:
                return entry
        raise KeyError(f"no live entry {id}; the default tape holds entries only as long as their outputs live")

    def get_entry_for_tensor(self, ref: TensorRef) -> TapeEntry | None:
        """The entry that made `ref`, or None."""
        return ref.creator


def active_tapes() -> tuple[Tape, ...]:
    """The explicit tapes that record this thread, or this task of asyncio. A task that was started within a block inherits what is active
    there, but its operations are its own."""
    found = _active.get()
    return tuple([tape for tape in found if tape.is_recording]) if found else found


def _own_blocks() -> tuple[RecordingContext, ...]:
    """The open blocks of this thread and task. A task of asyncio starts with those of who started it, which are closed for it here."""
    blocks = _blocks.get()
    if blocks and blocks[0].owner != (here := Owner.here()):
        _default.set(blocks[0].prev_tape)
        blocks = tuple([b for b in blocks if b.owner == here])
        _blocks.set(blocks)
    return blocks


def keep_on_tapes(entry: TapeEntry, inputs: tuple[Any, ...], outputs: tuple[Any, ...], arguments: dict[str, Any],
                  came: tuple[int, ...] | None = None, went: tuple[int, ...] | None = None) -> None:
    """Gives an entry to the explicit tapes that record this thread; see `Tape.add`."""
    for tape in active_tapes():
        tape.add(entry, inputs, outputs, arguments, (came, went))


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


class aside:
    """A block whose operations no explicit tape keeps."""

    def __enter__(self) -> None:
        self.token = _active.set(())

    def __exit__(self, *exc: object) -> None:
        _active.reset(self.token)


def edge_of(x: TensorRef) -> Any:
    """What an entry holds of an input: None, the leaf itself, or the entry (output) that made it."""
    node = x._node
    return x if node is LEAF else node


class _ModeContext:
    """A grad mode for a block, as a context manager or a decorator."""

    __slots__ = ("mode", "tokens")

    def __init__(self, mode: GradMode) -> None:
        self.mode, self.tokens = mode, []  # type: ignore[var-annotated]  # tokens of a context variable

    def __enter__(self) -> None:
        self.tokens.append(grad_mode())
        _mode.set(self.mode)

    def __exit__(self, *exc: object) -> None:
        _mode.set(self.tokens.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        import functools

        mode = self.mode

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with _ModeContext(mode):
                return function(*args, **kwargs)

        return wrapper


def no_grad() -> _ModeContext:
    """A block, or a decorated function, without recording.

    >>> from autograd_tape import TensorRef, no_grad
    >>> x = TensorRef.of([2.0], requires_grad=True)
    >>> with no_grad():
    ...     y = x * x
    >>> y.requires_grad
    False
    """
    return _ModeContext(GradMode.DISABLED)


def set_grad_mode(mode: GradMode) -> None:
    """Sets this thread's grad mode."""
    _mode.set(GradMode(mode))
